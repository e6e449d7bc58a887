"""The user's line: the frame that runs it, the expression under way, and what its names mean there."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import itertools
import linecache
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lindiff.core.constants import users_frame
from lindiff.core.files import is_installed, is_standard
from lindiff.core.variable import Variable

__all__ = ["RANDOM", "Place", "own_frame", "package_frame"]

RANDOM = (np.random.Generator, np.random.RandomState)
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.List, ast.Tuple, ast.ListComp)
# Where any expression may stand without parentheses.
_OPEN = (ast.stmt, ast.keyword, ast.List, ast.Tuple, ast.Lambda)
_KNOWN = (types.ModuleType, type, np.ndarray, np.ufunc, *RANDOM)


def own_frame() -> types.FrameType | None:
    """The innermost frame of the user's own code, else the innermost one outside our libraries."""
    innermost = frame = users_frame()
    while frame is not None and is_installed(frame.f_code.co_filename):
        frame = frame.f_back
    return frame or innermost


def package_frame(own: types.FrameType) -> types.FrameType | None:
    """The innermost frame of an installed package that ``own``, the user's frame, has called; None where it
    has called none, or the standard library alone."""
    frame = users_frame()
    while frame is not None and frame is not own and is_standard(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is own else frame


@functools.lru_cache(maxsize=16)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


class Place:
    """The expression that a frame is at, and what its names mean there."""

    def __init__(self, frame: types.FrameType, variable: Any, traceback: types.TracebackType | None = None):
        """Where ``frame`` is, or where it was when the error of ``traceback`` passed it."""
        self.frame = frame
        self.variable = variable
        self.instruction = frame.f_lasti if traceback is None else traceback.tb_lasti
        self.line = frame.f_lineno if traceback is None else traceback.tb_lineno
        self.source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
        self.tree = _parsed(self.source)
        self.node = self._find() if self.tree is not None else None

    def _find(self) -> ast.AST | None:
        """The node whose evaluation is under way."""
        assert self.tree is not None
        if sys.version_info >= (3, 11):
            positions = self.frame.f_code.co_positions()
            at = next(itertools.islice(positions, self.instruction // 2, None))
            for node in ast.walk(self.tree):
                if isinstance(node, (ast.expr, ast.AugAssign)) and at == (
                    node.lineno,
                    node.end_lineno,
                    node.col_offset,
                    node.end_col_offset,
                ):
                    return node
        return self._likely()

    def _likely(self) -> ast.AST | None:
        """Without positions: the first assignment into an array on the line, else the first call."""
        line = self.line
        nodes = [node for node in ast.walk(self.tree) if getattr(node, "lineno", None) == line]  # type: ignore[arg-type]
        stores: list[ast.AST] = [
            n
            for n in nodes
            if isinstance(n, ast.AugAssign) or (isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        ]
        calls: list[ast.AST] = [
            n for n in nodes if isinstance(n, ast.Call) and self.meaning(n.func) is not None
        ]
        return next(iter(stores + calls), None)

    def text(self, node: ast.AST) -> str:
        text = ast.get_source_segment(self.source, node)
        return ast.unparse(node) if text is None or "\n" in text else text

    def operand(self, node: ast.AST) -> str:
        """The text of an expression where something is done to it."""
        return self.text(node) if isinstance(node, _ATOMS) else f"({self.text(node)})"

    def rewritten(self, node: ast.AST, text: str) -> str:
        """``in line 3``, and that line with ``text`` instead of ``node``."""
        first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
        if isinstance(node, ast.expr) and self._needs_parentheses(node, text):
            text = f"({text})"
        lines = [line.encode() for line in self.source.splitlines()]
        before = lines[first - 1][: node.col_offset].decode()  # type: ignore[attr-defined]
        after = lines[last - 1][node.end_col_offset :].decode()  # type: ignore[attr-defined]
        where = f"in line {first}" if first == last else f"in lines {first} to {last}"
        return f"{where}\n    {(before + text + after).strip()}"

    def _needs_parentheses(self, node: ast.expr, text: str) -> bool:
        try:
            written = ast.parse(text, mode="eval").body
        except SyntaxError:
            return False
        if isinstance(written, (*_ATOMS, ast.GeneratorExp)):
            return False
        parent = self._parent(node)
        in_call = isinstance(parent, ast.Call) and parent.func is not node
        return not (in_call or isinstance(parent, _OPEN))

    def _parent(self, node: ast.AST) -> ast.AST | None:
        return next((p for p in ast.walk(self.tree) if node in ast.iter_child_nodes(p)), None)  # type: ignore[arg-type]

    def above(self, text: str, node: ast.AST | None = None) -> str:
        """``above line 3``, and ``text``, to stand before the statement that has ``node``, else this place's.

        In a line that has more than that statement it is written in front of it.
        """
        statement = self.statement(node)
        if statement is None:
            return f"above line {self.line}\n    {text}"
        if self.shares_line(statement):
            return self.rewritten(statement, f"{text}; {self.text(statement)}")
        return f"above line {statement.lineno}\n    {text}"

    def lines(self, changes: Sequence[tuple[ast.expr, str]]) -> list[str]:
        """``in line 3``, and that line with a text for each of several expressions; one entry a line."""
        found: dict[int, list[tuple[ast.expr, str]]] = {}
        for node, text in changes:
            found.setdefault(node.lineno, []).append((node, text))
        entries = []
        for number, here in sorted(found.items()):
            line = self.source.splitlines()[number - 1].encode()
            for node, text in sorted(here, key=lambda change: -change[0].col_offset):
                line = line[: node.col_offset] + text.encode() + line[node.end_col_offset :]
            entries.append(f"in line {number}\n    {line.decode().strip()}")
        return entries

    def header_with(self, function: Any, names: str) -> str | None:
        """``in line 3``, and the head of a function of this file with further parameters; None where it is of
        another file or form."""
        for node in ast.walk(self.tree):  # type: ignore[arg-type]
            if not isinstance(node, ast.FunctionDef) or node.lineno != function.__code__.co_firstlineno:
                continue
            plain = ast.unparse(node.args) == ", ".join(argument.arg for argument in node.args.args)
            if plain and node.returns is None and node.body[0].lineno > node.lineno:
                return f"in line {node.lineno}\n    def {node.name}({ast.unparse(node.args)}, {names}):"
        return None

    def items_of(self, array: ast.expr) -> list[ast.Subscript | ast.Attribute]:
        """What the function that is running takes and stores by the name ``array``: ``t["a"][i]``, whole."""
        name, lines = self.text(array), range(self.frame.f_code.co_firstlineno, self._last_line() + 1)
        found: list[ast.Subscript | ast.Attribute] = []
        inner: set[ast.AST] = set()
        for node in ast.walk(self.tree):  # type: ignore[arg-type]
            if not isinstance(node, (ast.Subscript, ast.Attribute)) or node.lineno not in lines:
                continue
            below: ast.expr = node
            while isinstance(below, (ast.Subscript, ast.Attribute)) and self.text(below) != name:
                below = below.value
                inner.add(below)
            if below is not node and self.text(below) == name:
                found.append(node)
        return [node for node in found if node not in inner and not self._is_method(node)]

    def is_used_whole(self, array: ast.expr, made: ast.stmt) -> bool:
        """Whether the function that is running uses ``array``, after ``made``, otherwise than by items."""
        name = self.text(array)
        bases = set()
        for item in self.items_of(array):
            base: ast.expr = item
            while isinstance(base, (ast.Subscript, ast.Attribute)) and self.text(base) != name:
                base = base.value
            bases.add(base)
        lines = range((made.end_lineno or made.lineno) + 1, self._last_line() + 1)
        return any(
            isinstance(node, type(array)) and node.lineno in lines and self.text(node) == name
            for node in ast.walk(self.tree)  # type: ignore[arg-type]
            if node not in bases
        )

    def has_other_names(self, array: ast.AST) -> bool:
        """Whether the frame knows the array by another name, too."""
        held, name = self.meaning(array), self.text(array)
        known = {**self.frame.f_globals, **self.frame.f_locals}
        return any(x is held and other != name for other, x in known.items())

    def is_shared(self, name: str) -> bool:
        """Whether others than the function that is running read the variable ``name`` around it."""
        mine = range(self.frame.f_code.co_firstlineno, self._last_line() + 1)
        own: set[int] = {*mine}
        for function in ast.walk(self.tree):  # type: ignore[arg-type]
            if isinstance(function, ast.FunctionDef) and function.lineno not in mine:
                lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
                binds = any(_binds(part, name) for part in ast.walk(function))
                if binds and mine.start not in lines:  # a variable of its own
                    own.update(lines)
        return any(
            isinstance(node, ast.Name)
            and node.id == name
            and node.lineno not in own
            and isinstance(node.ctx, ast.Load)
            for node in ast.walk(self.tree)  # type: ignore[arg-type]
        )

    def _is_method(self, node: ast.expr) -> bool:
        """Whether ``node`` is called, or is no more than an attribute of arrays: ``t.shape``."""
        parent = self._parent(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        return called or (isinstance(node, ast.Attribute) and hasattr(np.ndarray, node.attr))

    def _last_line(self) -> int:
        """The last line of the function that is running."""
        return max((line for _, _, line in self.frame.f_code.co_lines() if line is not None), default=0)

    def constant(self, node: ast.AST) -> Any:
        """The value of a constant, or of a name that stands for one."""
        return node.value if isinstance(node, ast.Constant) else self.meaning(node)

    def shares_line(self, statement: ast.stmt) -> bool:
        """Whether something else stands in front of a statement: ``if x > 0: y = x``."""
        return bool(self.source.splitlines()[statement.lineno - 1][: statement.col_offset].strip())

    def transforming(self) -> Place | None:
        """The place, further out, that called the transform which runs this one."""
        frame = self.frame.f_back
        while frame is not None and is_installed(frame.f_code.co_filename):
            frame = frame.f_back
        return None if frame is None else Place(frame, self.variable)

    def statement(self, node: ast.AST | None = None) -> ast.stmt | None:
        """The innermost statement that has ``node``, else this place's expression."""
        node = node or self.node
        while node is not None and not isinstance(node, ast.stmt):
            node = self._parent(node)
        return node

    def beginning(self) -> ast.stmt | None:
        """The first statement of the function that is running, after its docstring and its declarations."""
        code = self.frame.f_code
        for function in ast.walk(self.tree):  # type: ignore[arg-type]
            if (
                isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
                and function.name == code.co_name
            ):
                lines = [function.lineno, *(decorator.lineno for decorator in function.decorator_list)]
                if code.co_firstlineno in lines:
                    return next((s for s in function.body if not _declares(s)), None)
        return None

    def caller_of(self, name: str) -> tuple[Place, ast.expr] | None:
        """The place that called the function that is running, and the argument there that is ``name``."""
        frame = self.frame.f_back
        if frame is None or is_installed(frame.f_code.co_filename):
            return None
        place, held = Place(frame, self.variable), self.frame.f_locals.get(name)
        if not isinstance(place.node, ast.Call):
            return None
        given = [*place.node.args, *(keyword.value for keyword in place.node.keywords)]
        found = next((x for x in given if held is not None and place.meaning(x) is held), None)
        return None if found is None else (place, found)

    def meaning(self, node: ast.AST | None) -> Any:
        """What a name, an attribute or a named item stands for in the frame; None for other expressions."""
        if isinstance(node, ast.Name):
            for names in (self.frame.f_locals, self.frame.f_globals, vars(builtins)):
                if node.id in names:
                    return names[node.id]
        if isinstance(node, ast.Attribute):
            owner = self.meaning(node.value)
            if isinstance(owner, _KNOWN):
                return getattr(owner, node.attr, None)
            fields = getattr(type(owner), "_fields", ())
            if isinstance(owner, tuple) and node.attr in fields:
                return tuple.__getitem__(owner, fields.index(node.attr))
            if owner is not None:  # no code of the user's objects is run
                return inspect.getattr_static(owner, node.attr, None)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            owner = self.meaning(node.value)
            if isinstance(owner, dict):
                return dict.get(owner, node.slice.value)
            if type(owner) in (list, tuple) and type(node.slice.value) is int:
                return dict(enumerate(owner)).get(node.slice.value)
        return None

    def may_vary(self, node: ast.AST) -> bool:
        """Whether a Variable is named in an expression, or something that may be one."""
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        return any(type(self.meaning(name)) in (Variable, type(None)) for name in names)

    def holds_variable(self, node: ast.AST) -> bool:
        """Whether a Variable is named in an expression."""
        return any(type(self.meaning(part)) is Variable for part in ast.walk(node))

    def is_variable(self, node: ast.AST) -> bool:
        """Whether an expression, which has been evaluated, is certainly a Variable."""
        if isinstance(node, ast.BinOp):
            return self.is_variable(node.left) or self.is_variable(node.right)
        if isinstance(node, ast.UnaryOp):
            return self.is_variable(node.operand)
        if isinstance(node, (ast.Subscript, ast.Attribute)) and type(self.meaning(node)) is not Variable:
            return type(self.meaning(node.value)) is Variable
        return type(self.meaning(node)) is Variable

    def like(self, made: ast.AST | None = None) -> str:
        """A Variable to give as ``like=``: an argument of the function if there is one, else one by its name,
        else an item or attribute that the line has; where ``made`` stands, one that is known there."""
        code = self.frame.f_code
        names = {**self.frame.f_globals, **self.frame.f_locals}
        arguments = [name for name in code.co_varnames[: code.co_argcount] if name in names]
        if made is not None:
            names = {name: x for name, x in names.items() if name in arguments or self._is_known(name, made)}
        known = [name for name in (*arguments, *names) if type(names[name]) is Variable]
        this = [name for name in known if names[name] is self.variable]
        named = [n for n in known if n in arguments] + this + known
        return named[0] if named else next(self._parts_that_vary(), "v")

    def _is_known(self, name: str, made: ast.AST) -> bool:
        """Whether ``name`` has its value before ``made``: one of the function's own is bound further up."""
        code = self.frame.f_code
        if name not in (*code.co_varnames, *code.co_cellvars):
            return True
        return any(
            isinstance(node, ast.Name)
            and node.id == name
            and isinstance(node.ctx, ast.Store)
            and code.co_firstlineno <= node.lineno < made.lineno  # type: ignore[attr-defined]
            for node in ast.walk(self.tree)  # type: ignore[arg-type]
        )

    def _parts_that_vary(self) -> Iterator[str]:
        """The attributes and items on the line that are Variables: ``p.scale``, ``p["scale"]``."""
        for node in ast.walk(self.tree):  # type: ignore[arg-type]
            here = isinstance(node, (ast.Attribute, ast.Subscript)) and node.lineno == self.line
            if here and type(self.meaning(node)) is Variable:
                yield self.text(node)

    def numpy(self) -> str:
        """What lindiff.numpy is called here, else NumPy."""
        return self.called("lindiff.numpy") or self.called("numpy") or "np"

    def is_ours(self) -> bool:
        """Whether the user has imported lindiff.numpy instead of NumPy."""
        return bool(self.called("lindiff.numpy"))

    def called(self, module: str) -> str | None:
        """The name of a module in the frame, its own rather than another one."""
        names = {**self.frame.f_globals, **self.frame.f_locals}
        called = [n for n, x in names.items() if isinstance(x, types.ModuleType) and x.__name__ == module]
        return module if module in called else next(iter(called), None)

    def is_given(self, node: ast.AST) -> bool:
        """Whether ``node`` is an argument of the function that is running."""
        code = self.frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        return isinstance(node, ast.Name) and node.id in code.co_varnames[:count]

    def around(self, node: ast.AST) -> Place | None:
        """The place in the function around this one, still running, whose variable the name ``node`` is; None
        where no Variable is known there."""
        if not isinstance(node, ast.Name) or node.id not in self.frame.f_code.co_freevars:
            return None
        held, frame = self.meaning(node), self.frame.f_back
        while frame is not None:
            if node.id in frame.f_code.co_cellvars and frame.f_locals.get(node.id) is held:
                variables = any(type(x) is Variable for x in frame.f_locals.values())
                return Place(frame, self.variable) if variables else None
            frame = frame.f_back
        return None

    def is_outer(self, node: ast.AST) -> bool:
        """Whether ``node`` is a name of the module, or of a function around the one that is running."""
        code = self.frame.f_code
        return (
            isinstance(node, ast.Name)
            and code.co_name != "<module>"
            and node.id not in (*code.co_varnames, *code.co_cellvars)
        )

    def made(self, array: ast.AST) -> ast.expr | None:
        """The expression that gave ``array`` its value, in the last such statement before this place."""
        name = ast.unparse(array)
        first = 1 if self.is_outer(array) else self.frame.f_code.co_firstlineno
        values = [
            value
            for node in ast.walk(self.tree)  # type: ignore[arg-type]
            if isinstance(node, ast.Assign) and first <= node.lineno <= self.line
            for target, value in _assigned(node)
            if ast.unparse(target) == name
        ]
        return max(values, key=lambda value: value.lineno, default=None)


def _binds(node: ast.AST, name: str) -> bool:
    """Whether ``node`` makes ``name`` a variable of the function that it is in."""
    if isinstance(node, ast.arg):
        return node.arg == name
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _declares(statement: ast.stmt) -> bool:
    """Whether a statement is a docstring, or says whose a name is."""
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, (ast.Global, ast.Nonlocal))


def _assigned(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What stands left and right in ``a = b = x``, and in ``a, b = x, y`` one by one."""
    for target in node.targets:
        yield target, node.value
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
