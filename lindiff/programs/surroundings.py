"""What a function reads besides its arguments: globals, closures, defaults, attributes.

In a program these are constants.  They are looked at before every run: where one of them is another object,
or has other contents, the program is dropped.  Where there is something that nobody can look into, there is
no program.
"""

from __future__ import annotations

import _thread
import builtins
import collections
import datetime
import decimal
import enum
import fractions
import functools
import logging
import pathlib
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.variable import Variable
from lindiff.programs.matching import Watch
from lindiff.programs.recorded import Recorded
from lindiff.programs.recording import Unrecordable

__all__ = ["Surroundings"]

# Arrays up to so many bytes are compared with a copy; of larger ones a checksum is.
_COMPARED = 1 << 26
# Libraries whose code is taken to depend on nothing but arguments.
_LIBRARIES = ("lindiff", "lindiff_cuda", "numpy", "scipy", "cupy")
_MOST = 10_000

# What never changes, or says nothing of numbers.
_IMMUTABLE = (
    *(int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, slice),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction),
    *(re.Pattern, pathlib.PurePath, enum.Enum, logging.Logger, _thread.LockType, _thread.RLock),
    *(np.generic, np.dtype, np.ufunc, np.random.Generator, np.random.RandomState),
)
_DESCRIPTORS = (
    *(types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, types.MethodWrapperType, types.GenericAlias),
)
_CONTAINERS = {
    *(list, tuple, set, frozenset, dict),
    *(collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque),
}
# Whoever calls these reads what cannot be seen; NumPy's shuffle asks for the class in compiled code.
_UNSEEN = {"globals", "locals", "vars", "eval", "exec", "__import__", "shuffle"}


class Surroundings:
    """A snapshot of what a function and the functions that it calls read besides their arguments.

    Parameters
    ----------
    function : callable
    others : list
        Arguments that are no arrays.

    Attributes
    ----------
    watch : Watch
        Where to look whether it is all as it was.

    Raises
    ------
    Unrecordable
        If there is something that nobody can look into.
    """

    def __init__(self, function: Any, others: list[Any]) -> None:
        self.watch = Watch()
        self._seen: dict[int, Any] = {}
        self._named: set[tuple[int, str]] = set()
        self._before: dict[int, Any] = {}
        self._classes_seen: set[int] = set()
        self._entered: set[tuple[int, frozenset[str]]] = (
            set()
        )  # modules, by the names that code looks for there
        self._pending = [function, *others]
        while self._pending:
            self._look_at(self._pending.pop())

    def unchanged(self) -> bool:
        """Whether all of it is as it was."""
        return self.watch.unchanged()

    def look_at_captured(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        """Look at the contents of constants, too, which more than one recording has come upon."""
        for x in arrays:
            if id(x) in self._before:
                self._look_at(x)
        self._before.update((id(x), x) for x in arrays)

    def _look_at(self, x: Any) -> None:
        if id(x) in self._seen:
            return
        if len(self._seen) >= _MOST:
            raise Unrecordable(f"it can reach more than {_MOST} objects")
        self._seen[id(x)] = x
        kind = type(x)
        if kind is np.ndarray:
            self.watch.add_array(x, _COMPARED)
        elif kind is types.FunctionType:
            self._function(x)
        elif kind in _CONTAINERS or (isinstance(x, tuple) and hasattr(x, "_fields")):
            self._container(x)
        elif isinstance(x, type):
            self._classes(x)
        elif kind is types.ModuleType:
            if not _is_library(x.__name__):
                self._container(vars(x))
        elif kind in (Variable, Recorded):
            raise Unrecordable(f"it reads a {kind.__name__} that is no argument")
        elif not self._parts(x) and not _is_immutable(x):
            self._object(x)

    def _parts(self, x: Any) -> bool:
        """Look at what a callable is made of; False where it is none of these."""
        if isinstance(x, types.BuiltinFunctionType):
            parts = [] if isinstance(x.__self__, types.ModuleType) else [x.__self__]
        elif isinstance(x, types.MethodType):
            parts = [x.__func__, x.__self__]
        elif type(x) is functools.partial:
            parts = [x.func, x.args, x.keywords]
        elif isinstance(x, (staticmethod, classmethod)):
            parts = [x.__func__]
        elif isinstance(x, property):
            parts = [x.fget]
        elif isinstance(x, functools.cached_property):
            parts = [x.func]
        elif isinstance(x, _DESCRIPTORS):
            parts = []
        elif _is_of_library(x) and hasattr(x, "__wrapped__"):
            parts = [x.__wrapped__]
        else:
            return False
        self._pending.extend(parts)
        return True

    def _function(self, f: types.FunctionType) -> None:
        names = _names(f.__code__)
        for cell in f.__closure__ or ():
            self._cell(cell, names)
        if _is_of_library(f):
            return
        self.watch.add_function(f)
        self.watch.add_nest(f.__dict__)
        self._pending += [f.__defaults__, f.__kwdefaults__, *f.__dict__.values()]
        if names & _UNSEEN and not names & _UNSEEN <= f.__globals__.keys():
            raise Unrecordable(f"it calls {min(names & _UNSEEN)}")
        for name in names:
            self._name(f.__globals__, name)
            if name in f.__globals__:
                self._global(f.__globals__[name], names)
            elif name in vars(builtins):
                self._name(vars(builtins), name)
            if name in sys.modules:
                self._global(sys.modules[name], names)

    def _global(self, x: Any, names: set[str]) -> None:
        """What code finds under a name; of a module, what it may find there."""
        if not isinstance(x, types.ModuleType):
            self._pending.append(x)
        elif not _is_library(x.__name__) and (id(x), frozenset(names)) not in self._entered:
            self._entered.add((id(x), frozenset(names)))
            for name in names:
                self._name(vars(x), name)
                if name in vars(x):
                    self._global(vars(x)[name], names)

    def _name(self, names: dict[str, Any], name: str) -> None:
        if (id(names), name) not in self._named:
            self._named.add((id(names), name))
            self.watch.add_name(names, name)

    def _cell(self, cell: types.CellType, names: set[str]) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            self.watch.add_other(lambda: _is_empty(cell))
            return
        self.watch.add_cell(cell)
        self._global(content, names)

    def _container(self, x: Any) -> None:
        if not isinstance(x, (tuple, frozenset)):
            self.watch.add_nest(x)
        if isinstance(x, dict):
            self._pending.extend(x)
            self._pending.extend(x.values())
        else:
            self._pending.extend(x)
        factory = getattr(x, "default_factory", None)
        if factory is not None:
            self._pending.append(factory)

    def _object(self, x: Any) -> None:
        kind = type(x)
        names = getattr(x, "__dict__", None)
        slots = [(of, name) for of in kind.__mro__ for name in _slots_of(of)]
        if names is None and not any("__slots__" in vars(of) for of in kind.__mro__):
            if callable(x) and _is_of_library(x):
                return
            raise Unrecordable(f"it reads a {kind.__name__}, into which nobody can look")
        if isinstance(x, (np.ndarray, list, dict, set, float, int, str, tuple, bytes)):
            raise Unrecordable(f"it reads a {kind.__name__}, of a class of its own")
        if names is not None:
            self.watch.add_other(lambda: x.__dict__ is names and type(x) is kind)
            self._container(names)
        for _, name in slots:
            value = getattr(x, name, None)
            self.watch.add_other(_same_attribute(x, name, value))
            self._pending.append(value)
        self._classes(kind)

    def _classes(self, kind: type) -> None:
        of_kind: Any = type(kind)
        for of in (*kind.__mro__, *of_kind.__mro__):
            if _is_of_library(of) or of.__module__ == "builtins" or id(of) in self._classes_seen:
                continue
            self._classes_seen.add(id(of))
            self.watch.add_class(of)
            self._pending.extend(x for name, x in vars(of).items() if name not in _OF_CLASSES)


# Attributes of classes that say nothing of what they do.
_OF_CLASSES = {"__dict__", "__weakref__", "__doc__", "__module__", "_abc_impl", "__annotations__"}


def _is_immutable(x: Any) -> bool:
    """Whether an object never changes; of the classes themselves, or of one that adds nothing to them."""
    return isinstance(x, _IMMUTABLE) and not (
        isinstance(x, (int, float, str, bytes, complex)) and getattr(x, "__dict__", None)
    )


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def _slots_of(kind: type) -> list[str]:
    """The names of the attributes that a class has room for, as they are found."""
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else list(slots)
    private = f"_{kind.__name__.lstrip('_')}"
    return [
        private + name if name.startswith("__") and not name.endswith("__") else name
        for name in names
        if name not in ("__dict__", "__weakref__")
    ]


def _is_of_library(x: Any) -> bool:
    """Whether code, a class, or the class of an object is a library's; wrappers say to be what they wrap."""
    if isinstance(x, types.FunctionType):
        return _is_library(x.__globals__.get("__name__", ""))
    return _is_library((x if isinstance(x, type) else type(x)).__module__)


def _is_library(module: str) -> bool:
    top = module.partition(".")[0]
    return top in _LIBRARIES or (top in sys.stdlib_module_names and top != "__main__")


def _names(code: types.CodeType) -> set[str]:
    """The names that code, and the functions within it, may read."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            found.add(constant)
    return found


def _same_attribute(x: Any, name: str, before: Any) -> Callable[[], bool]:
    return lambda: getattr(x, name, None) is before
