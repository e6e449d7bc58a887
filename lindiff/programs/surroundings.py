"""What a function reads besides its arguments: globals, closures, defaults, attributes.

In a program these are constants.  They are looked at before every run: where one of them is another object,
or has other contents, the program is dropped.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Surroundings"]

# Arrays up to so many bytes are compared; of larger ones a checksum is.
_COMPARED = 1 << 15
# Libraries whose code is taken to depend on nothing but arguments.
_LIBRARIES = ("lindiff", "lindiff_cuda", "numpy", "scipy", "cupy")
_MOST = 10_000


class Surroundings:
    """A snapshot of what a function and the functions that it calls read besides their arguments."""

    def __init__(self, function: Any, others: list[Any]) -> None:
        self._checks: list[Callable[[], bool]] = []
        self._seen: dict[int, Any] = {}
        self._before: dict[int, Any] = {}
        for x in (function, *others):
            self._look_at(x)

    def unchanged(self) -> bool:
        """Whether all of it is as it was."""
        return all(check() for check in self._checks)

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
            self._checks.append(_contents_check(x))
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
        self._checks.append(_same_objects(lambda: (f.__code__, f.__defaults__, f.__kwdefaults__)))
        self._look_at(f.__defaults__)
        self._look_at(f.__kwdefaults__)
        for cell in f.__closure__ or ():
            self._cell(cell)
        for name in _names(f.__code__):
            if name in f.__globals__:
                self._checks.append(_same_item(f.__globals__, name))
                self._look_at(f.__globals__[name])
            elif name in vars(builtins):
                self._checks.append(_same_item(vars(builtins), name, f.__globals__))

    def _cell(self, cell: types.CellType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            return
        self._checks.append(lambda: cell.cell_contents is content)
        self._look_at(content)

    def _container(self, x: Any) -> None:
        items = list(x.items()) if isinstance(x, dict) else list(x)
        if not isinstance(x, (tuple, frozenset)):
            self._checks.append(lambda: _has_items(x, items))
        for item in items:
            self._look_at(item)

    def _object(self, x: Any) -> None:
        names = getattr(x, "__dict__", None)
        if isinstance(names, dict):
            self._container(names)
        for kind in type(x).__mro__:
            for name in getattr(kind, "__slots__", ()):
                if isinstance(name, str) and hasattr(x, name):
                    value = getattr(x, name)
                    self._checks.append(_same_attribute(x, name, value))
                    self._look_at(value)
            if kind.__module__ != "builtins" and not _is_of_library(kind):
                self._class(kind)

    def _class(self, kind: type) -> None:
        if id(kind) in self._seen:
            return
        self._seen[id(kind)] = kind
        items = list(vars(kind).items())
        self._checks.append(lambda: _has_items(vars(kind), items))
        for _, x in items:
            self._look_at(getattr(x, "__func__", getattr(x, "fget", x)))


def _is_of_library(x: Any) -> bool:
    module = getattr(x, "__module__", None) or type(x).__module__ or ""
    top = module.partition(".")[0]
    return top in _LIBRARIES or (top in sys.stdlib_module_names and top != "__main__")


def _names(code: types.CodeType) -> set[str]:
    """The global names that code, and the functions within it, may read."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _same_objects(now: Callable[[], tuple[Any, ...]]) -> Callable[[], bool]:
    before = now()
    return lambda: all(a is b for a, b in zip(before, now(), strict=True))


def _same_item(
    names: dict[str, Any], name: str, hidden_by: dict[str, Any] | None = None
) -> Callable[[], bool]:
    before = names[name]
    return lambda: names.get(name) is before and (hidden_by is None or name not in hidden_by)


def _same_attribute(x: Any, name: str, before: Any) -> Callable[[], bool]:
    return lambda: getattr(x, name, None) is before


def _has_items(x: Any, items: list[Any]) -> bool:
    if len(x) != len(items):
        return False
    if hasattr(x, "items"):
        return all(a is c and b is d for (a, b), (c, d) in zip(x.items(), items, strict=True))
    return all(a is b for a, b in zip(x, items, strict=True))


def _contents_check(x: np.ndarray[Any, Any]) -> Callable[[], bool]:
    if x.dtype.hasobject:
        items = x.tolist()
        return lambda: x.tolist() == items
    before = _print_of(x)
    return lambda: _print_of(x) == before


def _print_of(x: np.ndarray[Any, Any]) -> Any:
    """Shape and type with the bytes of an array, or a checksum of many."""
    content = (
        x.tobytes()
        if x.nbytes <= _COMPARED
        else zlib.crc32(np.ascontiguousarray(x).reshape(-1).view(np.uint8).data)
    )
    return x.shape, x.dtype, x.strides, content
