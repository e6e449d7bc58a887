"""What a function reads besides its arguments: globals, closures, defaults, attributes.

In a program these are constants.  They are looked at before every run: where one of them is another object,
or has other contents, the program is dropped.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.programs.matching import Watch

__all__ = ["Surroundings"]

# Arrays up to so many bytes are compared; of larger ones a checksum is.
_COMPARED = 1 << 26
# Libraries whose code is taken to depend on nothing but arguments.
_LIBRARIES = ("lindiff", "lindiff_cuda", "numpy", "scipy", "cupy")
_MOST = 10_000


class Surroundings:
    """A snapshot of what a function and the functions that it calls read besides their arguments."""

    def __init__(self, function: Any, others: list[Any]) -> None:
        self._watch = Watch()
        self._seen: dict[int, Any] = {}
        self._named: set[tuple[int, str]] = set()
        self._before: dict[int, Any] = {}
        for x in (function, *others):
            self._look_at(x)

    def unchanged(self) -> bool:
        """Whether all of it is as it was."""
        return self._watch.unchanged()

    def look_at_captured(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        """Look at the contents of constants, too, which more than one recording has come upon."""
        for x in arrays:
            if id(x) in self._before:
                self._look_at(x)
        self._before.update((id(x), x) for x in arrays)

    def _look_at(self, x: Any) -> None:
        if id(x) in self._seen or isinstance(x, (int, float, complex, str, bytes, type(None))):
            return
        if len(self._seen) >= _MOST:
            return
        self._seen[id(x)] = x
        if isinstance(x, np.ndarray):
            self._watch.add_array(x, _COMPARED)
        elif isinstance(x, types.FunctionType):
            self._function(x)
        elif isinstance(x, types.MethodType):
            self._look_at(x.__func__)
            self._look_at(x.__self__)
        elif isinstance(x, functools.partial):
            for part in (x.func, x.args, x.keywords):
                self._look_at(part)
        elif isinstance(x, (list, tuple, set, frozenset, dict)):
            self._container(x)
        elif isinstance(x, type) and not _is_of_library(x) and x.__module__ != "builtins":
            del self._seen[id(x)]
            for kind in x.__mro__:
                if kind.__module__ != "builtins" and not _is_of_library(kind):
                    self._class(kind)
        elif isinstance(x, (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc, np.dtype)):
            return
        elif not _is_of_library(x):
            self._object(x)
        elif hasattr(x, "__wrapped__"):
            self._look_at(x.__wrapped__)

    def _function(self, f: types.FunctionType) -> None:
        if _is_of_library(f):
            for cell in f.__closure__ or ():
                self._cell(cell)
            return
        self._watch.add_function(f)
        self._look_at(f.__defaults__)
        self._look_at(f.__kwdefaults__)
        for cell in f.__closure__ or ():
            self._cell(cell)
        for name in _names(f.__code__):
            if name in f.__globals__:
                self._name(f.__globals__, name)
                self._look_at(f.__globals__[name])
            elif name in vars(builtins):
                self._name(vars(builtins), name)
                self._name(f.__globals__, name)  # which might hide it

    def _name(self, names: dict[str, Any], name: str) -> None:
        if (id(names), name) not in self._named:
            self._named.add((id(names), name))
            self._watch.add_name(names, name)

    def _cell(self, cell: types.CellType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            return
        self._watch.add_cell(cell)
        self._look_at(content)

    def _container(self, x: Any) -> None:
        if not isinstance(x, (tuple, frozenset)):
            self._watch.add_nest(x)
        for item in list(x.items()) if isinstance(x, dict) else list(x):
            self._look_at(item)

    def _object(self, x: Any) -> None:
        names = getattr(x, "__dict__", None)
        if isinstance(names, dict):
            self._container(names)
        for kind in type(x).__mro__:
            for name in getattr(kind, "__slots__", ()):
                if isinstance(name, str) and hasattr(x, name):
                    value = getattr(x, name)
                    self._watch.add_other(_same_attribute(x, name, value))
                    self._look_at(value)
            if kind.__module__ != "builtins" and not _is_of_library(kind):
                self._class(kind)

    def _class(self, kind: type) -> None:
        if id(kind) in self._seen:
            return
        self._seen[id(kind)] = kind
        self._watch.add_class(kind)
        for x in list(vars(kind).values()):
            self._look_at(getattr(x, "__func__", getattr(x, "fget", x)))


def _is_of_library(x: Any) -> bool:
    """Whether code, a class, or the class of an object is a library's; wrappers say to be what they wrap."""
    if isinstance(x, types.FunctionType):
        module = x.__globals__.get("__name__", "")
    else:
        module = (x if isinstance(x, type) else type(x)).__module__
    top = module.partition(".")[0]
    return top in _LIBRARIES or (top in sys.stdlib_module_names and top != "__main__")


def _names(code: types.CodeType) -> set[str]:
    """The global names that code, and the functions within it, may read."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _same_attribute(x: Any, name: str, before: Any) -> Callable[[], bool]:
    return lambda: getattr(x, name, None) is before
