"""What programs are made of as text and bytes, and back.

The text is JSON: numbers stand for slots, lists for tuples, and what JSON has no words for is a dict with one
name.  Functions are found among those that steps may call, classes among those that are there already, and
none of them is called.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.names import importable_name
from lindiff.programs.described import Unsaveable
from lindiff.programs.keys import structure_of
from lindiff.programs.machine import Form
from lindiff.programs.naming import function_named, name_of_function
from lindiff.programs.operands import Slot
from lindiff.programs.recording import Instruction, Leaving
from lindiff.programs.tree import Branch, Result, Tree

__all__ = ["Reader", "Writer"]


class Writer:
    """Text for trees of runs, and what they share: arrays, names, lines, forms.

    Attributes
    ----------
    shared : dict
        Tables of these, as text.
    blocks : list of bytes
        The contents of the arrays.
    """

    def __init__(self) -> None:
        self.shared: dict[str, list[Any]] = {
            "arrays": [],
            "texts": [],
            "forms": [],
            "memory": [],
            "options": [],
        }
        self.blocks: list[bytes] = []
        self._places: dict[Any, tuple[int, Any]] = {}  # by the identity of what is held there, too

    def tree(self, tree: Tree) -> Any:
        """All branches, each with the numbers of those that follow it."""
        branches, found = [tree.root], []
        for branch in branches:
            outcomes = []
            for outcome, following in branch.outcomes:
                outcomes.append([self.value(outcome), len(branches)])
                branches.append(following)
            found.append(
                {
                    "steps": [self._step(step) for step in branch.steps],
                    "memory": self._memory(branch.forms, branch.roots),
                    "place": self.value(branch.place),
                    "fork": None if branch.fork is None else self._step(branch.fork),
                    "outcomes": outcomes,
                    "result": None if branch.result is None else self._result(branch.result),
                    "confirmed": branch.confirmed,
                }
            )
        return {"ways": tree.ways, "branches": found}

    def _step(self, step: Instruction | Leaving) -> Any:
        function, line = self._function(step.function), self._text(step.line)
        if isinstance(step, Leaving):
            return [function, self.value(step.slot), self.value(step.value), line]
        given = self.value(step.args), self._options(step.kwargs), self.value(step.result)
        return [function, *given, self.value(step.raised), line, step.quiet]

    def _function(self, function: Callable[..., Any]) -> int:
        found = self._places.get(("functions", id(function)))
        if found is None:
            name = name_of_function(function)
            if name is None:
                told = getattr(function, "__name__", function)
                raise Unsaveable(f"it calls {told}, which has no name in a file")
            found = self._places["functions", id(function)] = self._text(name), function
        return found[0]

    def _options(self, kwargs: dict[str, Any]) -> int:
        """The place of keyword arguments: a loop has the same ones in every step."""
        written = self.value(kwargs)
        return self._shared("options", json.dumps(written), None, lambda: written)

    def _memory(self, forms: list[Form], roots: list[Any]) -> int:
        def written() -> Any:
            return [[self._form(form) for form in forms], [list(map(int, root)) for root in roots]]

        return self._shared("memory", (id(forms), id(roots)), (forms, roots), written)

    def _form(self, form: Form) -> int:
        key = form, getattr(form.dtype, "char", "")
        return self._shared("forms", key, form, lambda: self.value(form))

    def _text(self, text: str) -> int:
        return self._shared("texts", text, text, lambda: text)

    def _shared(self, table: str, key: Any, held: Any, written: Callable[[], Any]) -> int:
        """The place in a table of what is written there once."""
        found = self._places.get((table, key))
        if found is None:
            text = written()
            self.shared[table].append(text)
            found = self._places[table, key] = len(self.shared[table]) - 1, held
        return found[0]

    def _result(self, result: Result) -> Any:
        nest = result.unflatten([Slot(0)] * len(result.leaves))
        return [self.value(nest), self.value(result.leaves)]

    # -- values --------------------------------------------------------------------------------------------

    def value(self, x: Any) -> Any:
        """A value of any nesting."""
        kind = type(x)
        if kind is Slot:
            return int(x)
        if x is None or kind in (bool, str, float):
            return x
        if kind is tuple:
            return [self.value(part) for part in x]
        return dict([self._tagged(x, kind)])

    def _tagged(self, x: Any, kind: type) -> tuple[str, Any]:
        if kind is int:
            return "int", x
        if kind is list:
            return "list", [self.value(part) for part in x]
        if kind is dict:
            return "dict", [[self.value(key), self.value(part)] for key, part in x.items()]
        if kind is slice:
            return "slice", [self.value(part) for part in (x.start, x.stop, x.step)]
        if kind is complex:
            return "complex", [x.real, x.imag]
        if kind is bytes:
            return "bytes", x.hex()
        if x is Ellipsis or x is np._NoValue:
            return "constant", "..." if x is Ellipsis else "no value"
        if kind is np.ndarray and not x.dtype.hasobject:
            return "array", self._shared("arrays", id(x), x, lambda: self._array(x))
        if isinstance(x, np.generic) and not isinstance(x, np.void):
            return "number", [_dtype(x.dtype), x.tobytes().hex()]
        if isinstance(x, np.dtype):
            return "dtype", _dtype(x)
        if isinstance(x, type):
            return "class", _class(x)
        if isinstance(x, tuple) and hasattr(x, "_fields") and not getattr(x, "__dict__", None):
            return "named", [_class(kind), [self.value(part) for part in x]]
        if dataclasses.is_dataclass(x) and pytree.is_tree(x):
            names = [field.name for field in dataclasses.fields(x)]
            return "data", [_class(kind), [[name, self.value(getattr(x, name))] for name in names]]
        raise Unsaveable(f"it has a {kind.__name__} in it, which has no form in a file")

    def _array(self, x: np.ndarray[Any, Any]) -> Any:
        """Its dtype, its shape, and the order in which its axes lie in memory."""
        axes = sorted(range(x.ndim), key=lambda k: -x.strides[k])
        self.blocks.append(x.transpose(axes).tobytes())
        described = [_dtype(x.dtype), list(x.shape), axes]
        if _array(described, self.blocks[-1]).strides != x.strides:
            raise Unsaveable("it has a constant array with gaps in its memory")
        return described


class Reader:
    """Trees of runs from what a `Writer` has written.

    Parameters
    ----------
    shared : dict
    content : bytes
        Of all arrays, one behind the other.
    """

    def __init__(self, shared: dict[str, list[Any]], content: bytes) -> None:
        self._texts: list[str] = shared["texts"]
        self._functions: dict[int, Callable[..., Any]] = {}
        self._arrays: list[np.ndarray[Any, Any]] = []
        start = 0
        for described in shared["arrays"]:
            size = _dtype_of(described[0]).itemsize * int(np.prod(described[1], dtype=np.int64))
            self._arrays.append(_array(described, content[start : start + size]))
            start += size
        self._forms = [self.value(form) for form in shared["forms"]]
        self._options: list[dict[str, Any]] = [self.value(options) for options in shared["options"]]
        self._memory = [self._forms_and_roots(*found) for found in shared["memory"]]

    def _forms_and_roots(self, forms: list[int], roots: list[list[int]]) -> tuple[list[Form], list[Any]]:
        return [self._forms[k] for k in forms], [(Slot(a), b, Slot(c)) for a, b, c in roots]

    def tree(self, written: Any) -> Tree:
        """All branches, with their steps."""
        branches = [self._branch(branch) for branch in written["branches"]]
        for branch, told in zip(branches, written["branches"], strict=True):
            branch.outcomes = [(self.value(outcome), branches[k]) for outcome, k in told["outcomes"]]
        tree = Tree.__new__(Tree)
        tree.ways, tree.root = written["ways"], branches[0]
        return tree

    def _branch(self, written: Any) -> Branch:
        made = Branch(*self._memory[written["memory"]])
        made.steps = [self._instruction(*step) for step in written["steps"]]
        made.place = self.value(written["place"])
        fork = written["fork"]
        if fork is not None:
            is_leaving = len(fork) == len(Leaving._fields)
            made.fork = self._leaving(*fork) if is_leaving else self._instruction(*fork)
        if written["result"] is not None:
            nest, leaves = map(self.value, written["result"])
            made.result = Result(structure_of(nest), leaves, pytree.flatten(nest)[1])
        made.confirmed = written["confirmed"]
        return made

    def _instruction(
        self, function: int, args: Any, kwargs: int, result: Any, raised: Any, line: int, quiet: bool
    ) -> Instruction:
        given = self.value(args), self._options[kwargs], self.value(result), self.value(raised)
        return Instruction(self._function(function), *given, self._texts[line], quiet)

    def _leaving(self, function: int, slot: int, value: Any, line: int) -> Leaving:
        return Leaving(self._function(function), Slot(slot), self.value(value), self._texts[line])

    def _function(self, k: int) -> Callable[..., Any]:
        if k not in self._functions:
            self._functions[k] = function_named(self._texts[k])
        return self._functions[k]

    def value(self, x: Any) -> Any:
        """A value of any nesting."""
        kind = type(x)
        if kind is int:
            return Slot(x)
        if kind is list:
            return tuple([self.value(part) for part in x])
        if kind is not dict:
            return sys.intern(x) if kind is str else x
        ((tag, content),) = x.items()
        return _READ[tag](self, content)

    def array(self, k: int) -> np.ndarray[Any, Any]:
        """One of the arrays."""
        return self._arrays[k]

    def named(self, content: Any) -> Any:
        """A named tuple, without any code of its class."""
        return tuple.__new__(_class_named(content[0], tuple), map(self.value, content[1]))

    def data(self, content: Any) -> Any:
        """An object of a data class, without any code of the class."""
        made = object.__new__(_class_named(content[0], object))
        for name, part in content[1]:
            object.__setattr__(made, name, self.value(part))
        return made


_READ: dict[str, Callable[[Reader, Any], Any]] = {
    "int": lambda _, x: int(x),
    "list": lambda of, x: [of.value(part) for part in x],
    "dict": lambda of, x: {of.value(key): of.value(part) for key, part in x},
    "slice": lambda of, x: slice(*map(of.value, x)),
    "complex": lambda _, x: complex(*x),
    "bytes": lambda _, x: bytes.fromhex(x),
    "constant": lambda _, x: {"...": Ellipsis, "no value": np._NoValue}[x],
    "array": Reader.array,
    "number": lambda _, x: np.frombuffer(bytes.fromhex(x[1]), _dtype_of(x[0]))[0],
    "dtype": lambda _, x: _dtype_of(x),
    "class": lambda _, x: _class_named(x, object),
    "named": Reader.named,
    "data": Reader.data,
}


# -- arrays and classes ------------------------------------------------------------------------------------


def _array(described: Any, content: bytes) -> np.ndarray[Any, Any]:
    """An array of its own that holds these bytes."""
    dtype, shape, axes = described
    inside = [shape[k] for k in axes]
    made = np.ndarray(inside, _dtype_of(dtype), content).copy()
    return made.transpose(np.argsort(axes))


def _dtype(x: np.dtype[Any]) -> str:
    """The name of a dtype, from which it can be made: C has several names for integers of one size."""
    name = x.char if x.isnative and x.kind in "biufc" else x.str
    if x.metadata is not None or x.hasobject or x.fields is not None or np.dtype(name) != x:
        raise Unsaveable(f"it has an array of {x!r} in it, which has no form in a file")
    return name


def _dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(str(name))


def _class(x: type) -> str:
    name = importable_name(x)
    if name is None:
        raise Unsaveable(f"it has the class {x.__qualname__} in it, which no module has under its name")
    return f"{x.__module__}:{name}"


def _class_named(text: str, base: type) -> Any:
    module, _, name = text.partition(":")
    try:
        found = functools.reduce(getattr, name.split("."), sys.modules[module])
    except (KeyError, AttributeError):
        raise ValueError(f"the class {text}, which is not here") from None
    if not isinstance(found, type) or not issubclass(found, base):
        raise ValueError(f"{text}, which is no such class")
    return found
