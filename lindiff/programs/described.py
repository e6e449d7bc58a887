"""What a function reads besides its arguments, in words that another process can compare.

Within a process, a program is dropped where something that it reads is another object.  Objects do not
outlive their process: in the next one, what they are made of has to be the same, all of it.  What cannot be
told so, or may be another thing in each process (sets, caches, files, the environment), is refused.
"""

from __future__ import annotations

import _thread
import builtins
import collections
import datetime
import dis
import fractions
import functools
import hashlib
import logging
import operator
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.special

from lindiff.core.names import importable_name
from lindiff.programs.calling import Calls
from lindiff.programs.matching import NOT_THERE, Names
from lindiff.programs.reads import SILENT, Import, reads
from lindiff.programs.surroundings import (
    OF_CLASSES,
    OF_MODULES,
    Surroundings,
    has_attribute,
    has_content,
    has_dict,
    is_empty,
    is_library_module,
    is_of_library,
    name_of_import,
    rounds_as,
    tells,
)

__all__ = ["Unsaveable", "described", "name_of_ufunc", "surroundings_of"]


class Unsaveable(ValueError):
    """A program of which another process could not say whether it still holds."""


# Modules whose functions give the same in every process, and what in them does not.
_SAME_EVERYWHERE = {
    *("lindiff", "numpy", "scipy", "builtins", "math", "cmath", "operator", "functools", "itertools"),
    *("collections", "dataclasses", "typing", "types", "enum", "numbers", "fractions", "decimal"),
    *("statistics", "string", "re", "warnings", "contextlib", "copy", "bisect", "heapq", "datetime"),
    *("logging", "_operator", "_functools", "_collections", "_bisect", "_heapq", "_warnings", "_decimal"),
}
_OF_EACH_PROCESS = {
    *("builtins.set", "builtins.frozenset", "builtins.hash", "builtins.id"),
    *("builtins.input", "datetime.datetime", "datetime.date", "numpy.load", "numpy.loadtxt"),
    *("numpy.genfromtxt", "numpy.fromfile", "numpy.fromregex", "numpy.memmap"),
}
_READING = ("scipy.io.", "scipy.datasets.", "numpy.random.", "numpy.ctypeslib.", "numpy.f2py.")

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range)
_TOLD_BY_REPR = (datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone)
_NUMBERS = (int, float, complex, str, bytes)
_NESTS = (list, tuple, set, frozenset, collections.deque)
_DICTS = (
    *(dict, types.MappingProxyType, collections.OrderedDict, collections.defaultdict, collections.Counter),
)
_DESCRIPTORS = (
    *(types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, types.ClassMethodDescriptorType),
)
_tuplegetter = type(vars(collections.namedtuple("_Named", "field"))["field"])
# Of objects of these classes, what they are made of.
_PARTS: dict[type, Callable[[Any], dict[str, Any]]] = {
    functools.partial: lambda x: {"func": x.func, "args": x.args, "keywords": x.keywords},
    types.MethodType: lambda x: {"__func__": x.__func__, "__self__": x.__self__},
    staticmethod: lambda x: {"__func__": x.__func__},
    classmethod: lambda x: {"__func__": x.__func__},
    property: lambda x: {"fget": x.fget, "fset": x.fset, "fdel": x.fdel},
    functools.cached_property: lambda x: {"func": x.func},
    types.GenericAlias: lambda x: {"__origin__": x.__origin__, "__args__": x.__args__},
    slice: lambda x: {"start": x.start, "stop": x.stop, "step": x.step},
    re.Pattern: lambda x: {"pattern": x.pattern, "flags": x.flags},
    typing.TypeVar: lambda x: {"__name__": x.__name__},
    logging.Logger: lambda x: {"name": x.name},
    Decimal: lambda x: {"__str__()": str(x)},
    fractions.Fraction: lambda x: {"__str__()": str(x)},
    _thread.LockType: lambda _: {},
    _thread.RLock: lambda _: {},
    **dict.fromkeys(
        (operator.attrgetter, operator.itemgetter, operator.methodcaller, _tuplegetter),
        lambda x: {"__reduce__()": x.__reduce__()[1]},
    ),
}
_CODE = (
    *("co_name", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_code", "co_names"),
    *("co_varnames", "co_freevars", "co_cellvars", "co_exceptiontable"),
)
_MAKE_SETS = ("BUILD_SET", "SET_ADD", "SET_UPDATE")
# Operators that make sets of dictionaries' keys, and of their items; Python 3.10 has an instruction for each.
_OF_ITEMS = ("&", "|", "^", "AND", "OR", "XOR")
_OF_VIEWS = (*_OF_ITEMS, "-", "SUBTRACT")


def surroundings_of(function: Callable[..., Any], others: list[Any]) -> Surroundings:
    """What the function reads; what libraries import when they are first asked for it is there then."""
    found = Surroundings(function, others)
    places = [(looked.names, *known) for looked in found.watch.names.values() for known in looked.known]
    late = [_is_there_late(names, name) for names, name, x in places if x is NOT_THERE]
    return Surroundings(function, others) if any(late) else found


def _is_there_late(names: dict[str, Any], name: str) -> bool:
    """Whether a library's module has something after it is asked for it."""
    module = sys.modules.get(str(names.get("__name__")))
    if module is None or vars(module) is not names or not is_library_module(module):
        return False
    return getattr(module, name, None) is not None


def described(surroundings: Surroundings) -> list[str]:
    """A line for everything that is looked at before each run: with the same lines it is the same.

    Raises
    ------
    Unsaveable
        If something cannot be told to another process.
    """
    try:
        return _Description(surroundings).lines
    except RecursionError:
        raise Unsaveable("it reads what is nested too deeply") from None


class _Description:
    """The lines, and what is left to be described.

    All that is watched is reached from the function by names, or it is refused.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self.lines: list[str] = []
        self._seen: dict[int, tuple[Any, str]] = {}
        self._surroundings = surroundings
        watch = surroundings.watch
        self._names: dict[int, dict[str, Any]] = collections.defaultdict(dict)
        for looked in watch.names.values():
            self._names[id(looked.names)].update(looked.known)
        self._watched = {
            *((id(known[0]), "cell") for known in watch.cells),
            *((id(known[0]), "function") for known in watch.functions),
            *((id(known[0]), "class") for known in watch.classes),
            *((id(known.names if isinstance(known, Names) else known[0]), "nest") for known in watch.nests),
            *((id(known[0]), "array") for known in watch.arrays),
            *((id(known[0]), "partial") for known in watch.partials),
        }
        self._told: dict[tuple[int, Any], list[tuple[Any, ...]]] = collections.defaultdict(list)
        for other in watch.others:
            self._note(other)
        for k, x in enumerate(surroundings.roots):
            self._describe("the function" if k == 0 else f"argument {k}", x)
        self._describe_names("", vars(builtins))
        self._describe_names("the module ", sys.modules)
        if self._names or self._watched or self._told:
            left = {name for names in self._names.values() for name in names}
            left |= {kind for _, kind in self._watched}
            raise Unsaveable(f"it reads what no name leads to ({', '.join(sorted(left)) or 'attributes'})")

    def _note(self, other: Any) -> None:
        """What is looked at by a function of its own."""
        of = getattr(other, "func", None)
        if of is rounds_as:
            self._say("the rounding of decimal numbers", repr(other.args[0]))
        elif of in (has_attribute, has_content, has_dict, is_empty, tells):
            self._told[id(other.args[0]), of].append(other.args[1:])
        else:
            raise Unsaveable("it reads a cache, or an abstract class, of which each process has its own")

    def _say(self, path: str, text: str) -> None:
        self.lines.append(f"{path} is {text}")

    def _is_watched(self, x: Any, kind: str) -> bool:
        """Whether this is watched; from now on it is described."""
        found = (id(x), kind) in self._watched
        self._watched.discard((id(x), kind))
        return found

    # -- any object ----------------------------------------------------------------------------------------

    def _describe(self, path: str, x: Any) -> None:
        kind = type(x)
        if x is NOT_THERE:
            self._say(path, "not there")
        elif kind in _PLAIN:
            self._say(path, f"{kind.__name__} {x!r}")
        elif kind in _TOLD_BY_REPR:
            self._say(path, repr(x))
        elif isinstance(x, np.dtype):
            self._describe_dtype(path, x)
        elif isinstance(x, np.generic) and is_of_library(kind) and not x.dtype.hasobject:
            self._told.pop((id(x), has_content), None)
            self._describe_dtype(path, x.dtype)
            self._say(path, f"{x!r}, {x.tobytes().hex()}")
        elif id(x) in self._seen:
            self._say(path, f"what {self._seen[id(x)][1]} is")
        else:
            self._seen[id(x)] = x, path
            self._describe_object(path, x, kind)

    def _describe_dtype(self, path: str, x: np.dtype[Any]) -> None:
        self._say(f"{path}.dtype", f"{x!r}, {x.char}")
        if x.metadata is not None:
            self._describe(f"{path}.metadata", dict(x.metadata))

    def _describe_object(self, path: str, x: Any, kind: type) -> None:
        parts = _parts_of(x, kind)
        if parts is not None:
            self._is_watched(x, "partial")
            self._say(path, f"a {kind.__name__}")
            for name, part in parts.items():
                self._describe(f"{path}.{name}", part)
            if kind is logging.Logger:
                self._describe_names(f"{path}.", vars(x))
        elif isinstance(x, types.ModuleType):
            self._describe_module(path, x)
        elif kind is types.FunctionType:
            self._describe_function(path, x)
        elif isinstance(x, type):
            self._describe_class(path, x)
        elif kind is np.ndarray:
            self._describe_array(path, x)
        elif kind in _NESTS or kind in _DICTS:
            self._describe_nest(path, x, kind)
        elif isinstance(x, types.BuiltinMethodType) and not isinstance(x.__self__, types.ModuleType):
            self._say(path, f"its method {x.__name__}")
            self._describe(f"{path}.__self__", x.__self__)
        elif isinstance(x, (np.ufunc, *_DESCRIPTORS)) or _is_librarys_function(x):
            self._say(path, _name_of(path, x))
        else:
            self._describe_attributes(path, x, kind)

    # -- code ----------------------------------------------------------------------------------------------

    def _describe_function(self, path: str, f: types.FunctionType) -> None:
        of_library = is_of_library(f)
        self._say(path, f"{f.__qualname__} with the code {_digest(path, f.__code__, of_library)}")
        if of_library:
            _refuse_of_each_process(path, f"{f.__module__}.{f.__qualname__}")
        else:
            self._is_watched(f, "function")
            for name, told in self._told.pop((id(f), tells), ()):
                self._describe(f"{path}.{name}", told)
        if not of_library or importable_name(f) is None:
            self._describe(f"{path}.__defaults__", f.__defaults__)
            self._describe(f"{path}.__kwdefaults__", f.__kwdefaults__)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            self._describe_cell(f"{name} in {f.__qualname__}", cell)
        if not of_library:
            self._describe(f"{path}.__dict__", f.__dict__)
            if self._is_watched(_annotations(f), "nest"):  # as code asks for them
                self._describe(f"{path}.__annotations__", f.__annotations__)
            self._describe_names("", f.__globals__)
            for read in reads(f.__code__):
                if isinstance(read, Import):
                    name = name_of_import(read, f.__globals__)
                    self._describe(f"the module {name}", sys.modules.get(name, NOT_THERE))

    def _describe_cell(self, path: str, cell: types.CellType) -> None:
        if self._told.pop((id(cell), is_empty), None):
            self._say(path, "not there")
        elif self._is_watched(cell, "cell") and type(cell.cell_contents).__name__ != "WeakKeyDictionary":
            self._describe(path, cell.cell_contents)

    def _describe_names(self, path: str, names: Any) -> None:
        """Those of a module, or of an object, that are asked for."""
        found = self._names.pop(id(names), {})
        for name in sorted(found):
            self._describe(f"{path}{name}", found[name])

    def _describe_module(self, path: str, x: types.ModuleType) -> None:
        self._say(path, f"the module {x.__name__}")
        names = self._names.pop(id(vars(x)), {})
        if self._is_watched(vars(x), "nest"):
            names = {name: part for name, part in vars(x).items() if name not in OF_MODULES}
        for name in sorted(names):
            whole = f"{x.__name__}.{name}"  # a part that is a module may have been imported by others
            part = sys.modules.get(whole, NOT_THERE) if names[name] is NOT_THERE else names[name]
            if is_library_module(x) and _is_librarys_object(part) and not self._surroundings.knows(part):
                self._say(whole, f"the library's {type(part).__name__}")
            else:
                self._describe(whole, part)

    def _describe_class(self, path: str, kind: type) -> None:
        if is_of_library(kind):
            self._say(path, _name_of(path, kind))
            return
        if not self._is_watched(kind, "class"):
            raise Unsaveable(f"{path} is a class, {kind.__name__}, that is not looked into")
        self._say(path, f"the class {kind.__module__}.{kind.__qualname__}")
        for name, told in self._told.pop((id(kind), tells), ()):
            self._describe(f"{path}.{name}", told)
        for of in (type(kind), *kind.__bases__):
            self._describe(f"{path}, of {of.__name__},", of)
        for name, x in vars(kind).items():
            if name in OF_CLASSES or name == "__firstlineno__":
                continue
            if type(x) in _PLAIN or self._surroundings.knows(x):
                self._describe(f"{path}.{name}", x)
            else:  # which no code asks for
                self._say(f"{path}.{name}", f"a {type(x).__name__}")

    # -- data ----------------------------------------------------------------------------------------------

    def _describe_array(self, path: str, x: np.ndarray[Any, Any]) -> None:
        self._describe_dtype(path, x.dtype)
        self._say(path, f"an array {x.shape}, {x.strides}, {'writeable' if x.flags.writeable else 'fixed'}")
        if self._is_watched(x, "array") and x.dtype.hasobject:
            for k, part in enumerate(x.ravel().tolist()):
                self._describe(f"{path}.flat[{k}]", part)
        elif not x.dtype.hasobject:
            content = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
            self._say(f"the content of {path}", hashlib.sha256(content.data).hexdigest())
        if type(x.base) is np.ndarray:
            self._say(f"the place of {path}", f"{_address(x) - _address(x.base)} bytes behind its base")
            self._describe(f"{path}.base", x.base)

    def _describe_nest(self, path: str, x: Any, kind: type) -> None:
        self._is_watched(x, "nest")
        self._say(path, f"a {kind.__name__} of {len(x)}, at most {getattr(x, 'maxlen', None)}")
        if kind is collections.defaultdict:
            self._describe(f"{path}.default_factory", x.default_factory)
        if kind in _DICTS:
            self._names.pop(id(x), None)
            for k, (key, part) in enumerate(x.items()):
                self._describe(f"key {k} of {path}", key)
                self._describe(f"{path}[{key!r}]" if type(key) in _PLAIN else f"{path}[key {k}]", part)
        else:
            for k, part in enumerate(x):
                self._describe(f"{path}[{k}]", part)

    def _describe_attributes(self, path: str, x: Any, kind: type) -> None:
        """An object of the user's class, or of a library's whose attributes are all there is to it."""
        of_dict = self._told.pop((id(x), has_dict), [])
        slots = self._told.pop((id(x), has_attribute), [])
        plain = next((of for of in _NUMBERS if isinstance(x, of)), None)
        if not of_dict and not slots and plain is None and not isinstance(x, tuple):
            raise Unsaveable(f"{path} is a {kind.__name__}, which may be another thing in each process")
        self._say(path, f"a {kind.__name__}")
        self._describe(f"{path}.__class__", kind)
        if isinstance(x, tuple):
            self._is_watched(x, "nest")
            for k, part in enumerate(x):
                self._describe(f"{path}[{k}]", part)
            if hasattr(x, "__dict__"):
                self._describe(f"{path}.__dict__", x.__dict__)
        elif plain is not None:
            self._say(path, plain.__repr__(x))
        for _, names, given in of_dict:
            if given is None:
                self._describe(f"{path}.__dict__", names)
            else:
                self._say(f"{path}.__dict__", f"{', '.join(given)}")
                self._describe_names(f"{path}.", names)
        for name, value in slots:
            self._describe(f"{path}.{name}", value)


def _parts_of(x: Any, kind: type) -> dict[str, Any] | None:
    """What an object is made of, by names; None of one that is not made so."""
    if isinstance(x, Calls):
        return {"function": x.function, "otherwise": vars(x).get("otherwise")}
    made_by = vars(x).get("made_by") if isinstance(x, functools.partial) else None
    if made_by is not None and is_of_library(kind):  # a transform's
        return {"transform": made_by.func, "args": made_by.args, "options": made_by.keywords}
    return _PARTS[kind](x) if kind in _PARTS else None


def _address(x: np.ndarray[Any, Any]) -> int:
    return int(x.__array_interface__["data"][0])


# -- libraries ---------------------------------------------------------------------------------------------


def _is_librarys_function(x: Any) -> bool:
    """Whether this is a function of compiled code, of whatever library."""
    is_compiled = is_of_library(type(x)) or type(x).__name__.startswith("cython")
    return callable(x) and hasattr(x, "__qualname__") and is_compiled


def _is_librarys_object(x: Any) -> bool:
    """Whether this is an object that a library has made, ``scipy.stats.norm``."""
    if isinstance(x, (np.ufunc, np.ndarray)) or type(x).__module__ == "builtins":
        return False
    return is_of_library(type(x)) and not isinstance(x, type) and not hasattr(x, "__qualname__")


def _name_of(path: str, x: Any) -> str:
    """The name of what a library has, which is the same in every process."""
    if isinstance(x, np.ufunc):
        name = name_of_ufunc(x)
    elif isinstance(x, _DESCRIPTORS):
        name = f"{x.__objclass__.__module__}.{x.__qualname__}"
        if not is_of_library(x.__objclass__):
            return name
    else:
        found = importable_name(x)
        name = None if found is None else f"{x.__module__}.{found}"
    if name is None or name.partition(".")[0] not in _SAME_EVERYWHERE:
        raise Unsaveable(f"{path} is {name or x!r}, which may be another thing in each process")
    _refuse_of_each_process(path, name)
    return name


def name_of_ufunc(x: np.ufunc) -> str | None:
    """The module and the name of a ufunc of NumPy's or SciPy's; None of others."""
    of = next((of for of in (np, scipy.special) if vars(of).get(x.__name__) is x), None)
    return None if of is None else f"{of.__name__}.{x.__name__}"


def _refuse_of_each_process(path: str, name: str) -> None:
    if name in _OF_EACH_PROCESS or name.startswith(_READING):
        raise Unsaveable(f"it asks for {name}, which may be another thing in each process")


def _annotations(f: types.FunctionType) -> Any:
    """Those of a function, if they can be computed."""
    try:
        return f.__annotations__
    except Exception:
        return None


# -- what code does ----------------------------------------------------------------------------------------


def _digest(path: str, code: types.CodeType, of_library: bool) -> str:
    """What identifies code; where its lines are does not matter."""
    if not of_library:
        _refuse_sets(path, code)
    return hashlib.sha256("\n".join(_told(path, code)).encode("utf-8", "surrogatepass")).hexdigest()


def _told(path: str, code: types.CodeType) -> Iterator[str]:
    for name in _CODE:
        yield f"{name} {getattr(code, name, None)!r}"
    for x in code.co_consts:
        yield from _constant_told(path, x)


def _constant_told(path: str, x: Any) -> Iterator[str]:
    if isinstance(x, types.CodeType):
        yield "code"
        yield from _told(path, x)
    elif isinstance(x, (tuple, frozenset)):
        yield f"{type(x).__name__} {len(x)}"
        parts = [list(_constant_told(path, part)) for part in x]
        for part in parts if isinstance(x, tuple) else sorted(parts):
            yield from part
    elif type(x) in _PLAIN or type(x) is slice:
        yield f"{type(x).__name__} {x!r}"
    else:
        raise Unsaveable(f"{path} has a {type(x).__name__} in its code")


def _refuse_sets(path: str, code: types.CodeType) -> None:
    """Raise where code may go through a set, whose order is another one in each process."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in SILENT]
    operators = _OF_VIEWS if "keys" in code.co_names else _OF_ITEMS if "items" in code.co_names else ()
    for k, i in enumerate(instructions):
        is_gone_through = isinstance(i.argval, frozenset) and instructions[k + 1].opname != "CONTAINS_OP"
        is_of_views = i.argrepr.rstrip("=") in operators or i.opname.partition("_")[2] in operators
        if i.opname in _MAKE_SETS or is_gone_through or is_of_views:
            raise Unsaveable(f"{path} makes sets, whose order is another one in each process")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _refuse_sets(path, constant)
