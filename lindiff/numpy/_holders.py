"""What holds the objects that code refers to: namespaces, bodies of classes, functions.

A holder gives pairs of a key and the object there, and lets another one be put in its place.
"""

from __future__ import annotations

import abc
import dis
import functools
import importlib.machinery
import itertools
import sys
import types
from collections.abc import Iterable, Iterator, Set
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from lindiff.numpy._types import BUILTINS, OF_NUMPY

__all__ = ["Holder", "Namespace", "Reach"]


class Holder(abc.ABC):
    """What holds objects that code refers to."""

    key: int  # the identity of what it is
    own_types: Set[str]  # types of numbers that are left alone

    @abc.abstractmethod
    def items(self) -> list[tuple[Any, Any]]:
        """Pairs of key and object."""

    @abc.abstractmethod
    def get(self, key: Any) -> Any:
        """The object there now; None where there is none."""

    @abc.abstractmethod
    def put(self, key: Any, value: Any) -> None:
        """Put an object there."""


class Namespace(Holder):
    """The globals of a module, or of code that was generated."""

    def __init__(self, names: dict[str, Any], own_types: Set[str], is_compiled: bool):
        """Types of numbers are left alone where code compares some by identity, ``own_types``, and
        where it is compiled whatever is not NumPy's."""
        self.names = names
        self.key = id(names)
        self.own_types = _TYPES if is_compiled else own_types
        self.is_compiled = is_compiled

    def items(self) -> list[tuple[Any, Any]]:
        return [*self.names.items()]

    def get(self, key: Any) -> Any:
        return self.names.get(key)

    def put(self, key: Any, value: Any) -> None:
        self.names[key] = value

    def drop(self, key: Any) -> None:
        del self.names[key]


class OfClass(Holder):
    """The body of a class; of methods only static ones, for others are given the instance."""

    def __init__(self, kind: type, own_types: Set[str]):
        self.holds: type = kind
        self.own_types = own_types
        self.key = id(kind)

    def items(self) -> list[tuple[Any, Any]]:
        pairs = [(name, _inside(x)) for name, x in vars(self.holds).items()]
        return [(name, x) for name, x in pairs if not _binds(x) or x is not vars(self.holds)[name]]

    def get(self, key: Any) -> Any:
        return _inside(vars(self.holds).get(key))

    def put(self, key: Any, value: Any) -> None:
        static = type(vars(self.holds).get(key)) is staticmethod
        type.__setattr__(self.holds, key, staticmethod(value) if static else value)


def _inside(x: Any) -> Any:
    return x.__func__ if type(x) is staticmethod else x


def _binds(x: Any) -> bool:
    """Whether ``x``, in the body of a class, is a method."""
    return hasattr(type(x), "__get__")


class OfFunction(Holder):
    """The defaults of a function, and the variables that it shares with the function around it."""

    def __init__(self, function: types.FunctionType, own_types: Set[str]):
        self.holds: types.FunctionType = function
        self.own_types = own_types
        self.key = id(function)

    def items(self) -> list[tuple[Any, Any]]:
        f = self.holds
        pairs: list[tuple[Any, Any]] = [*enumerate(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).items()]
        return pairs + [((i,), _content(cell)) for i, cell in enumerate(f.__closure__ or ())]

    def get(self, key: Any) -> Any:
        f = self.holds
        if isinstance(key, int):
            defaults = f.__defaults__ or ()
            return defaults[key] if key < len(defaults) else None
        if isinstance(key, tuple):
            return _content(f.__closure__[key[0]]) if f.__closure__ else None
        return (f.__kwdefaults__ or {}).get(key)

    def put(self, key: Any, value: Any) -> None:
        f = self.holds
        if isinstance(key, int) and f.__defaults__:
            f.__defaults__ = (*f.__defaults__[:key], value, *f.__defaults__[key + 1 :])
        elif isinstance(key, tuple) and f.__closure__:
            f.__closure__[key[0]].cell_contents = value
        elif f.__kwdefaults__:
            f.__kwdefaults__[key] = value


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return None


# -- what is reached from a namespace ------------------------------------------------------------------


_HEAP_TYPE = 1 << 9  # Python's flag of classes that were written in Python
# So many items of a list are looked at.
MOST_PARTS = 100


class Reach:
    """The functions and classes that are reached from a namespace.

    Parameters
    ----------
    names : dict
        The namespace, of a module say.
    values : iterable
        The objects that its names stand for, or the variables of a function that runs in it.
    """

    def __init__(self, names: dict[str, Any], values: Iterable[Any]):
        self.names = names
        self.module = names.get("__name__")
        self.functions: dict[int, types.FunctionType] = {}
        self.classes: dict[int, type] = {}
        for x in [*values]:
            self.visit(x)

    def holders(self) -> Iterator[Holder]:
        """Those that hold anything, and the namespaces of functions that were generated."""
        own_types = self.types_compared()
        for kind in self.classes.values():
            yield OfClass(kind, own_types)
        for f in self.functions.values():
            if f.__defaults__ or f.__kwdefaults__ or f.__closure__:
                yield OfFunction(f, own_types)
            if not self.is_own(f):
                yield Namespace(f.__globals__, _compared(f.__code__), False)

    def namespace(self) -> Namespace:
        """The namespace itself."""
        return Namespace(self.names, self.types_compared(), _is_compiled(self.names))

    def types_compared(self) -> set[str]:
        """The types of numbers that functions compare by ``is``, as in ``type(x) is float``."""
        found: set[str] = set()
        for f in self.functions.values():
            found |= _compared(f.__code__)
        return found

    def visit(self, x: Any, deeper: bool = True) -> None:
        kind = type(x)  # `isinstance` might run code of the object
        if kind in (staticmethod, classmethod):
            x = x.__func__
        elif kind in (functools.partial, functools.cached_property):
            x = x.func
        if type(x) is types.FunctionType:
            self.visit_function(x)
        elif issubclass(kind, type):
            self.visit_class(x)
        elif kind is property:
            for part in (x.fget, x.fset, x.fdel):
                self.visit(part)
        elif deeper:
            self.visit_parts(x)

    def visit_class(self, x: type) -> None:
        is_own = vars(x).get("__module__") == self.module and x.__flags__ & _HEAP_TYPE
        if is_own and id(x) not in self.classes:
            self.classes[id(x)] = x
            for part in [*vars(x).values()]:
                self.visit(part)

    def is_own(self, f: types.FunctionType) -> bool:
        """Whether a function is of the module, or of another one of its package."""
        names = f.__globals__.get("__name__"), self.module
        package, own = (str(name or "").partition(".")[0] for name in names)
        return f.__globals__ is self.names or (package == own != "")

    def visit_function(self, f: types.FunctionType) -> None:
        if id(f) in self.functions or not (self.is_own(f) or _is_generated(f)):
            return
        self.functions[id(f)] = f
        for cell in f.__closure__ or ():
            self.visit(_content(cell), deeper=False)
        self.visit(vars(f).get("__wrapped__"), deeper=False)

    def visit_parts(self, x: Any) -> None:
        """Functions that a short list, a dict or an object of the module's own classes holds."""
        if type(x) in (list, tuple):
            parts: Iterable[Any] = x
        elif type(x) is dict:
            parts = x.values()
        elif type(x).__module__ == self.module:
            parts = getattr(x, "__dict__", {}).values()
        else:
            return
        for part in [*itertools.islice(parts, MOST_PARTS)]:
            if type(part) is types.FunctionType:
                self.visit_function(part)


def _is_generated(f: types.FunctionType) -> bool:
    """Whether the globals of a function are no module's: code that a program has written and run."""
    module = sys.modules.get(f.__globals__.get("__name__", ""))
    return getattr(module, "__dict__", None) is not f.__globals__ and "__file__" not in f.__globals__


_TYPES = {*BUILTINS, *(name for name, x in vars(np).items() if isinstance(x, type) and x in OF_NUMPY)}
_IS = dis.opmap["IS_OP"]


def _is_compiled(names: dict[str, Any]) -> bool:
    """Whether code of a module is, or will be, machine code: an extension, or functions of numba."""
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    made_by_numba = any(type(x).__module__.startswith("numba.") for x in [*names.values()])
    return made_by_numba or str(names.get("__file__")).endswith(suffixes)


# By code, which is the same at every entry and slow to read.
_compared_in: WeakKeyDictionary[types.CodeType, frozenset[str]] = WeakKeyDictionary()


def _compared(code: types.CodeType) -> frozenset[str]:
    """The types of numbers that code compares by ``is``."""
    known = _compared_in.get(code)
    if known is None:
        parts = (_compared(part) for part in code.co_consts if isinstance(part, types.CodeType))
        known = _compared_in[code] = _compared_here(code).union(*parts)
    return known


def _compared_here(code: types.CodeType) -> frozenset[str]:
    """The same, without the functions inside."""
    if _TYPES.isdisjoint(code.co_names) or _IS not in code.co_code[::2]:
        return frozenset()
    return frozenset(_on_lines_of_is(code))


def _on_lines_of_is(code: types.CodeType) -> set[str]:
    """The names of types on lines where ``is`` compares with something else than a constant."""
    line, before = 0, ""
    lines: set[int] = set()
    loaded: dict[str, set[int]] = {}
    started = dict(dis.findlinestarts(code))
    for step in dis.get_instructions(code):
        line = started.get(step.offset) or line
        if step.opname == "IS_OP" and before != "LOAD_CONST":
            lines.add(line)
        if isinstance(step.argval, str) and step.argval in _TYPES:
            loaded.setdefault(step.argval, set()).add(line)
        before = step.opname
    return {name for name, places in loaded.items() if places & lines}
