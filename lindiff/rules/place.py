"""The user's line: the frame that runs it, the expression under way, and what its names mean there."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import itertools
import linecache
import os
import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.core.constants import users_frame
from lindiff.core.variable import Variable

__all__ = ["RANDOM", "Place", "is_installed", "own_frame"]

RANDOM = (np.random.Generator, np.random.RandomState)
_ATOMS = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.List, ast.Tuple, ast.ListComp)
_KNOWN = (types.ModuleType, type, np.ndarray, *RANDOM)


def own_frame() -> types.FrameType | None:
    """The innermost frame of the user's own code, else the innermost one outside our libraries."""
    innermost = frame = users_frame()
    while frame is not None and is_installed(frame.f_code.co_filename):
        frame = frame.f_back
    return frame or innermost


@functools.cache
def is_installed(filename: str) -> bool:
    """Whether a file belongs to an installed package or the standard library."""
    parts = os.path.normpath(filename).split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts or filename.startswith("<frozen"):
        return True
    return filename.startswith((sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")))


@functools.lru_cache(maxsize=16)
def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:
        return None


class Place:
    """The expression that a frame is at, and what its names mean there."""

    def __init__(self, frame: types.FrameType, variable: Any):
        self.frame = frame
        self.variable = variable
        self.source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
        self.tree = _parsed(self.source)
        self.node = self._find() if self.tree is not None else None

    def _find(self) -> ast.AST | None:
        """The node whose evaluation is under way."""
        assert self.tree is not None
        if sys.version_info >= (3, 11):
            positions = self.frame.f_code.co_positions()
            at = next(itertools.islice(positions, self.frame.f_lasti // 2, None))
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
        line = self.frame.f_lineno
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
        return " ".join((ast.get_source_segment(self.source, node) or ast.unparse(node)).split())

    def operand(self, node: ast.AST) -> str:
        """The text of an expression where something is done to it."""
        return self.text(node) if isinstance(node, _ATOMS) else f"({self.text(node)})"

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
            here = isinstance(node, (ast.Attribute, ast.Subscript)) and node.lineno == self.frame.f_lineno
            if here and type(self.meaning(node)) is Variable:
                yield self.text(node)

    def numpy(self) -> str:
        """What lindiff.numpy is called here, else NumPy."""
        return self.called("lindiff.numpy") or self.called("numpy") or "np"

    def is_ours(self) -> bool:
        """Whether the user has imported lindiff.numpy instead of NumPy."""
        return bool(self.called("lindiff.numpy"))

    def called(self, module: str) -> str | None:
        """The name of a module in the frame."""
        for names in (self.frame.f_globals, self.frame.f_locals):
            for name, meaning in names.items():
                if isinstance(meaning, types.ModuleType) and meaning.__name__ == module:
                    return name
        return None

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
            if isinstance(node, ast.Assign) and first <= node.lineno <= self.frame.f_lineno
            for target, value in _assigned(node)
            if ast.unparse(target) == name
        ]
        return max(values, key=lambda value: value.lineno, default=None)


def _assigned(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What stands left and right in ``a = b = x``, and in ``a, b = x, y`` one by one."""
    for target in node.targets:
        yield target, node.value
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
