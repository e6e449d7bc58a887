"""What a function reads besides its arguments: globals, closures, defaults, attributes.

In a program these are constants.  They are looked at before every run: where one of them is another object,
or has other contents, the program is dropped.  Where there is something that nobody can look into, there is
no program.
"""

from __future__ import annotations

import _thread
import abc
import builtins
import collections
import dataclasses
import datetime
import decimal
import dis
import fractions
import functools
import gc
import importlib
import importlib.util
import io
import logging
import operator
import os
import pathlib
import re
import sys
import sysconfig
import threading
import types
import typing
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

from lindiff.core import pytree
from lindiff.core.variable import Variable
from lindiff.programs.asked import CONSTRUCTING, TOLD, Asked, names_of
from lindiff.programs.matching import Watch
from lindiff.programs.reads import CALLS, Import, Read, asks_for, handles_exceptions, reads
from lindiff.programs.recorded import Recorded
from lindiff.programs.recording import Unrecordable

__all__ = [
    "OF_CLASSES",
    "OF_MODULES",
    "Surroundings",
    "has_attribute",
    "has_content",
    "has_dict",
    "is_empty",
    "is_library_module",
    "is_of_libraries",
    "is_of_library",
    "name_of_import",
    "rounds_as",
    "tells",
]

# What named tuples find their fields by.
_tuplegetter = type(vars(collections.namedtuple("_Named", "field"))["field"])

# Arrays up to so many bytes are compared with a copy; of larger ones a checksum is.
_COMPARED = 1 << 26
# Libraries whose code is taken to depend on nothing but arguments; Python's own is another one.
_LIBRARIES = ("lindiff", "lindiff_cuda", "numpy", "scipy", "cupy")
_STANDARD = tuple(
    {
        folder + os.sep
        for folder in (
            *(sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), os.path.dirname(os.__file__)),
            os.path.join(sys.base_prefix, "DLLs"),  # on Windows
        )
    }
)
_INSTALLED = re.compile(r"[\\/](site|dist)-packages[\\/]")
_MOST = 10_000
_POINTER = 8


class Immutable(abc.ABC):  # noqa: B024  # nothing but a mark
    """What classes of lindiff's are registered as whose objects give the same for the same arguments."""


# What never changes, or says nothing of numbers.
_IMMUTABLE = (
    Immutable,
    *(int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, slice),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction),
    *(re.Pattern, pathlib.PurePath, logging.Logger, _thread.LockType, _thread.RLock, typing.TypeVar),
    *(io.TextIOWrapper, io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom),
    *(operator.attrgetter, operator.itemgetter, operator.methodcaller),
    *(np.generic, np.dtype, np.ufunc, np.random.Generator, np.random.RandomState),
)
_DESCRIPTORS = (
    *(types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, _tuplegetter),
)
_CONTAINERS = {
    *(list, tuple, set, frozenset, dict, types.MappingProxyType),
    *(collections.OrderedDict, collections.defaultdict, collections.Counter, collections.deque),
}
# What is equal to nothing else.
_EQUAL_TO_THEMSELVES = {types.FunctionType, types.ModuleType, type, functools.partial}
_OF_LOGGERS = {"isEnabledFor", "getEffectiveLevel", "level", "disabled", "handlers", "hasHandlers"}
COMPARING = {"isinstance": isinstance, "issubclass": issubclass}
_WEAK = (weakref.ReferenceType, *weakref.ProxyTypes)
# Whoever has these reads what cannot be seen.
_UNSEEN = {
    id(x): name
    for name, x in [
        *((f.__name__, f) for f in (globals, locals, vars, eval, exec, __import__)),
        *(("import_module", importlib.import_module), ("sys.modules", sys.modules)),
        *(("sys._getframe", sys._getframe), ("np.geterr", np.geterr)),
        *((f"threading.{f.__name__}", f) for f in (threading.get_ident, threading.current_thread)),
        ("np.get_printoptions", np.get_printoptions),
    ]
}
# What tells recorded arrays from plain ones, and whose code does not (or gives the recording up).
_TELLING = {id(x) for x in (type, id, dir, vars, memoryview, bytearray, getattr, hasattr)}
_EVEN = (*_LIBRARIES, "builtins", "functools", "itertools", "math", "operator", "None")
# Attributes that lead there; NumPy's shuffle asks for the class in compiled code.
_UNSEEN_ATTRIBUTES = {
    *("__globals__", "__builtins__", "__subclasses__", "f_globals", "f_locals", "f_builtins", "shuffle"),
}


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
    roots : list
        The function and the others.
    may_tell_apart : bool
        Whether something in it may tell recorded arrays from plain ones and go on: code that asks for classes
        or handles exceptions, compiled code of other libraries.

    Raises
    ------
    Unrecordable
        If there is something that nobody can look into.
    """

    def __init__(self, function: Any, others: list[Any]) -> None:
        self.watch = Watch()
        self.may_tell_apart = False
        self._seen: dict[int, Any] = {}
        self._named: set[tuple[int, str]] = set()
        self._before: dict[int, Any] = {}
        self._classes_seen: set[int] = set()
        self._comparing: set[types.CodeType] = set()
        self._asked = Asked()
        self._asks_for_registered = False
        self._asks_for_decimals = False
        self._reads_loggers = False
        self.roots = [function, *others]
        self._pending = list(self.roots)
        try:
            while self._pending:
                self._look_at(self._pending.pop())
        except Exception as error:  # of an object's own code, which was asked for its attributes
            raise Unrecordable(f"it reads what raises a {type(error).__name__}: {error}") from error

        if self._reads_loggers and self._asked.has_names(_OF_LOGGERS):
            raise Unrecordable("it asks for what a logger is set to")

    def unchanged(self) -> bool:
        """Whether all of it is as it was."""
        return self.watch.unchanged()

    def restore(self) -> None:
        """Put back what a run has changed that is done again; what it has made, and cannot be taken back,
        stays."""
        self.watch.restore()

    def knows(self, x: Any) -> bool:
        """Whether this is one of the objects that are read."""
        return id(x) in self._seen

    def holds(self, x: Any) -> bool:
        """Whether this is an array in memory that is read."""
        while type(x) is np.ndarray:
            if self.knows(x):
                return True
            x = x.base
        return False

    def look_at_captured(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        """Look at the contents of constants, too, which more than one recording has come upon."""
        for x in arrays:
            if id(x) in self._before and id(x) not in self._seen:
                self._seen[id(x)] = x
                self.watch.add_array(x, _COMPARED)
        self._before.update((id(x), x) for x in arrays)

    def _look_at(self, x: Any) -> None:
        if id(x) in self._seen:
            return
        if len(self._seen) >= _MOST:
            raise Unrecordable(f"it can reach more than {_MOST} objects")
        self._seen[id(x)] = x
        kind = type(x)
        if x is vars(builtins):
            return
        if id(x) in _UNSEEN:
            raise Unrecordable(f"it reads {_UNSEEN[id(x)]}")
        self.may_tell_apart |= _may_tell_apart(x)
        self._asked.ask_by(x)
        if kind is object:
            return
        if x is decimal.Decimal or kind is decimal.Decimal:
            self._decimals()
        if kind in _WEAK:
            raise Unrecordable("it reads a weak reference")
        if kind is np.ndarray:
            self._array(x)
        elif kind is types.FunctionType:
            self._function(x)
        elif kind in _CONTAINERS:
            self._container(x)
        elif isinstance(x, tuple) and hasattr(kind, "_fields"):
            self._container(x)
            if hasattr(x, "__dict__"):
                self._container(x.__dict__)
            self._classes(kind)
        elif isinstance(x, type):
            self._classes(x)
            self._constructing(x)
        elif kind is types.ModuleType:
            self._module(x)
        elif kind is Variable or issubclass(kind, Recorded):
            raise Unrecordable(f"it reads a {kind.__name__} that is no argument")
        elif isinstance(x, np.void):
            self._row(x)
        elif not self._parts(x) and not (isinstance(x, _IMMUTABLE) and is_of_library(kind)):
            self._object(x)

    def _array(self, x: np.ndarray[Any, Any]) -> None:
        if x.dtype.hasobject and x.dtype != object:
            raise Unrecordable("it reads a structured array of objects")
        self.watch.add_array(x, _COMPARED)
        if x.dtype.hasobject:
            self._pending.extend(x.ravel().tolist())

    def _row(self, x: np.void) -> None:
        """Of a structured array: it changes with it."""
        if x.dtype.hasobject:
            raise Unrecordable("it reads a structured array of objects")
        content = x.tobytes()
        self.watch.add_other(functools.partial(has_content, x, content))

    def _module(self, x: types.ModuleType) -> None:
        """All that is in a module of the user's, which is handed on."""
        if not is_library_module(x):
            self.watch.add_nest(vars(x))
            self._pending.extend(value for name, value in vars(x).items() if name not in OF_MODULES)

    def _parts(self, x: Any) -> bool:
        """Look at what a callable is made of; False where it is none of these."""
        if isinstance(x, (operator.attrgetter, operator.methodcaller)):
            self._asked.ask_all()
            return False
        if isinstance(x, (types.BuiltinFunctionType, types.MethodWrapperType)):
            if _may_tell_apart(x):  # compiled code of others
                self._asked.ask_all()
            parts = [] if isinstance(x.__self__, types.ModuleType) else [x.__self__]
        elif isinstance(x, types.MethodType):
            parts = [x.__func__, x.__self__]
        elif type(x) is functools.partial:
            parts = [x.func, x.args, x.keywords]
            self.watch.add_partial(x)
        elif isinstance(x, (staticmethod, classmethod)):
            if isinstance(x, classmethod):  # which may make objects of the class, whatever that is
                self._asked.ask_names(CONSTRUCTING)
            parts = [x.__func__]
        elif isinstance(x, property):
            parts = [x.fget, x.fset, x.fdel]
        elif isinstance(x, functools.cached_property):
            parts = [x.func]
        elif isinstance(x, types.GenericAlias):
            parts = [x.__origin__, x.__args__]
        elif isinstance(x, _DESCRIPTORS):
            parts = []
        elif isinstance(x, operator.itemgetter):
            parts = list(x.__reduce__()[1])
        elif isinstance(x, slice):
            parts = [x.start, x.stop, x.step]
        elif isinstance(x, np.dtype):
            parts = [] if x.metadata is None else [dict(x.metadata)]
        elif isinstance(x, np.ufunc):
            if not any(vars(of).get(x.__name__) is x for of in (np, scipy.special)):
                raise Unrecordable(f"it reads {x}, a ufunc of its own")
            parts = []
        elif type(x) is logging.Logger:
            self._reads_loggers = True
            own = [name for name in vars(x) if name not in vars(logging.getLogger("lindiff"))]
            for name in own:
                self._name(vars(x), name)
            parts = [vars(x)[name] for name in own]
        elif is_of_library(x) and hasattr(x, "__wrapped__"):
            parts = [x.__wrapped__]
            if hasattr(x, "cache_info"):
                self.watch.add_other(_not_cleared(x))
        else:
            return False
        if not is_of_library(type(x)):
            parts.append(getattr(x, "__dict__", None))
            self._classes(type(x))
        self._pending.extend(parts)
        return True

    def _function(self, f: types.FunctionType) -> None:
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        of_library = is_of_library(f)
        for name, cell in cells.items():
            self._cell(cell, of_library, name)
        if of_library:
            return
        if f.__code__ in self._comparing:
            self._asked.compare(f.__code__)
        else:
            self._asked.ask(f.__code__)
        self.watch.add_function(f)
        self.watch.add_nest(f.__dict__)
        for name in ("__name__", "__qualname__", "__doc__"):
            self._asked.when(name, functools.partial(self._told, f, name))
        self._asked.when("__annotations__", lambda: self._pending.append(f.__annotations__))
        self._pending += [f.__defaults__, f.__kwdefaults__, *f.__dict__.values()]
        self.may_tell_apart |= handles_exceptions(f.__code__)
        if asks_for(f.__code__, _UNSEEN_ATTRIBUTES):
            raise Unrecordable(f"it asks for one of {', '.join(sorted(_UNSEEN_ATTRIBUTES))}")
        own = not f.__globals__.keys().isdisjoint(COMPARING) or any(
            vars(builtins).get(name) is not x for name, x in COMPARING.items()
        )
        for read in reads(f.__code__):
            if not isinstance(read, Import) and own:
                read = read._replace(compared=False)
            if isinstance(read, Import):
                self._import(read, f.__globals__)
            elif read.is_global:
                self._global(read, f.__globals__)
            elif read.name in cells and not is_empty(cells[read.name]):
                self._found(cells[read.name].cell_contents, read.attributes, read.compared)

    def _global(self, read: Read, names: dict[str, Any]) -> None:
        self._name(names, read.name)
        if read.name in names:
            self._found(names[read.name], read.attributes, read.compared)
        elif read.name in vars(builtins):
            self._name(vars(builtins), read.name)
            x = vars(builtins)[read.name]
            if x is type:  # asked for by this name
                self.may_tell_apart = True
            else:
                self._found(x, ())

    def _import(self, read: Import, names: dict[str, Any]) -> None:
        name = name_of_import(read, names)
        module = sys.modules.get(name)
        if module is None or not is_library_module(module):
            self._name(sys.modules, name)
        self._found(module, read.attributes)

    def _found(self, x: Any, attributes: tuple[str, ...], compared: bool = False) -> None:
        """What code finds under a name; of modules, what it finds there.

        Of classes that are only ``compared`` to that of an object, none is made.
        """
        in_library = False
        for name in attributes:
            if type(x) is not types.ModuleType or name == "__dict__":
                break
            module, in_library = x, is_library_module(x)
            self._name(vars(module), name)
            if module is decimal:
                self._decimals()
            if name in vars(module):
                x = vars(module)[name]
            elif f"{module.__name__}.{name}" in sys.modules:  # imported after it was looked for
                x = sys.modules[f"{module.__name__}.{name}"]
            else:
                x = None if in_library else vars(module).get("__getattr__")
                break
        if x is builtins or x is sys:  # which lead everywhere
            raise Unrecordable(f"it hands on the module {x.__name__}")
        if x is os.getenv:
            x = os.environ
        self._asked.ask_by(x)
        if callable(x) and in_library:  # whose code may ask for what it is called
            self._asked.ask_names([str(getattr(x, "__name__", ""))])
        if compared and isinstance(x, type) and x is not decimal.Decimal:
            self._classes(x)
        elif not in_library or id(x) in _UNSEEN or x is os.environ or _is_put_there(x) or _may_change(x):
            self._pending.append(x)
        else:
            self.may_tell_apart |= _may_tell_apart(x)

    def _decimals(self) -> None:
        """How Python's decimal numbers are rounded."""
        if not self._asks_for_decimals:
            self._asks_for_decimals = True
            self.watch.add_other(functools.partial(rounds_as, _rounding()))

    def _name(self, names: dict[str, Any], name: str) -> None:
        if (id(names), name) not in self._named:
            self._named.add((id(names), name))
            self.watch.add_name(names, name)

    def _cell(self, cell: types.CellType, of_library: bool, name: str) -> None:
        """What a function closes over; a module by the names that its code asks for, where that is seen."""
        try:
            content = cell.cell_contents
        except ValueError:
            self.watch.add_other(functools.partial(is_empty, cell))
            return
        self.watch.add_cell(cell)
        if of_library and type(content) is weakref.WeakKeyDictionary:
            return  # what functools.singledispatch has found already
        if name == "__class__" and isinstance(content, type):  # for super()
            self._classes(content)
        elif of_library or type(content) is not types.ModuleType:
            self._pending.append(content)

    def _container(self, x: Any) -> None:
        if not isinstance(x, (tuple, frozenset)):
            self.watch.add_nest(x)
        if isinstance(x, (dict, types.MappingProxyType)):
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
        is_immutable = isinstance(x, _IMMUTABLE)
        if names is None and not is_immutable and not any("__slots__" in vars(of) for of in kind.__mro__):
            if callable(x) and is_of_library(x) and kind.__module__ != "functools":
                return
            raise Unrecordable(f"it reads a {kind.__name__}, into which nobody can look")
        if isinstance(x, (np.ndarray, list, dict, set, tuple)):
            raise Unrecordable(f"it reads a {kind.__name__}, of a class of its own")
        if not is_immutable and _holds_more(kind):
            raise Unrecordable(f"it reads a {kind.__name__}, which holds what nobody can look into")
        if pytree.is_tree(x):  # which transforms make anew
            self._constructing(kind)
        if names is not None and _is_plain(kind):
            self._attributes(x, kind, names)
        elif names is not None:
            self.watch.add_other(functools.partial(has_dict, x, kind, names, None))
            self._container(names)
        for _, name in slots:
            value = getattr(x, name, None)
            self.watch.add_other(functools.partial(has_attribute, x, name, value))
            self._pending.append(value)
        self._classes(kind)

    def _attributes(self, x: Any, kind: type, names: dict[str, Any]) -> None:
        """Those of an object of the user's that code asks for; and that there are no others."""
        given = tuple(names)
        self.watch.add_other(functools.partial(has_dict, x, kind, names, given))
        for name in given:
            self._asked.when(
                name,
                functools.partial(self._attribute, names, name),
                functools.partial(self._compared, names, name),
            )
            if pytree.is_tree(x):  # transforms see what is in it
                self._compared(names, name)

    def _compared(self, names: dict[str, Any], name: str) -> None:
        """An attribute that code compares: of functions and classes it is seen whether they are the same."""
        self._name(names, name)
        if type(names[name]) not in _EQUAL_TO_THEMSELVES:
            self._pending.append(names[name])

    def _attribute(self, names: dict[str, Any], name: str) -> None:
        self._name(names, name)
        self._pending.append(names[name])

    def _classes(self, kind: type) -> None:
        is_plain = _is_plain(kind)
        of_kind: Any = type(kind)
        for of in (*kind.__mro__, *of_kind.__mro__):
            if is_of_library(of) or id(of) in self._classes_seen:
                continue
            self._classes_seen.add(id(of))
            self.watch.add_class(of)
            self._comparing.update(_comparing(of))
            for name in ("__name__", "__qualname__"):
                self._asked.when(name, functools.partial(self._told, of, name))
            for name, x in vars(of).items():
                if not is_of_library(type(x)) and hasattr(type(x), "__get__"):
                    self._constructing(kind)  # it is given the class
                if is_plain and name == "__match_args__":
                    self._asked.when(name, functools.partial(self._asked.ask_names, x))
                elif is_plain and name not in OF_CLASSES:
                    self._asked.when(name, functools.partial(self._pending.append, x))
                elif name not in OF_CLASSES and name not in TOLD:
                    self._pending.append(x)
            if isinstance(of, abc.ABCMeta) and not self._asks_for_registered:
                self._asks_for_registered = True
                self.watch.add_other(functools.partial(_is_registered_still, abc.get_cache_token()))

    def _constructing(self, kind: type) -> None:
        """What is called where objects of a class are made."""
        for of in kind.__mro__:
            if not is_of_library(of):
                names = CONSTRUCTING | {"__setattr__"}
                self._pending.extend(x for name, x in vars(of).items() if name in names)

    def _told(self, x: Any, name: str) -> None:
        """What a class or a function says of itself."""
        before = getattr(x, name, None)
        self.watch.add_other(functools.partial(tells, x, name, before))


# Attributes of classes, and of modules, that say nothing of what they do.
OF_CLASSES = {
    *("__dict__", "__weakref__", "__module__", "_abc_impl"),
    *("__parameters__", "__type_params__", "__dataclass_params__"),
}
OF_MODULES = {"__builtins__", "__loader__", "__spec__", "__annotations__"}


# Classes of libraries whose code asks objects for nothing by name.
_BARE = (object, abc.ABC, typing.Generic, typing.Protocol)


def _is_plain(kind: type) -> bool:
    """Whether this is a class of the user's, and so are all that it is derived from: objects have the
    attributes that code in Python gives them, and no other code asks for these."""
    return type(kind) in (type, abc.ABCMeta) and all(
        of in _BARE or not (is_of_library(of) or "__slots__" in vars(of)) for of in kind.__mro__
    )


def _comparing(kind: type) -> Iterator[types.CodeType]:
    """The code of methods of a data class that are made for it and compare all of its fields."""
    if "__dataclass_fields__" in vars(kind):
        fields = vars(kind)["__dataclass_fields__"]
        factories = sum(field.default_factory is not dataclasses.MISSING for field in fields.values())
        stored = len(fields) if vars(kind)["__dataclass_params__"].frozen else 0
        made = stored + factories + hasattr(kind, "__post_init__")
        set_by = 4 if sys.version_info < (3, 12) else 3  # where super() is no call
        calls = {"__init__": made, "__hash__": 1, "__setattr__": set_by, "__delattr__": set_by}
        for name in ("__init__", "__eq__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__", "__setattr__"):
            method = vars(kind).get(name)
            if not isinstance(method, types.FunctionType) or method.__code__.co_filename != "<string>":
                continue
            done = sum(i.opname in CALLS for i in dis.get_instructions(method.__code__))
            if names_of(method.__code__) <= {*fields, *_OF_DATA_CLASSES} and done == calls.get(name, 0):
                yield method.__code__


# What the code has names of that is made for data classes.
_OF_DATA_CLASSES = {
    *("__class__", "NotImplemented", "hash", "object", "__setattr__", "__post_init__", "FrozenInstanceError"),
    *("type", "super", "format", "_HAS_DEFAULT_FACTORY", "__dataclass_HAS_DEFAULT_FACTORY__"),
    *("__dataclass_builtins_object__", "cannot", "BUILTINS"),
}


def is_empty(cell: types.CellType) -> bool:
    """Whether a variable that a function closes over has no value yet."""
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


def _holds_more(kind: type) -> bool:
    """Whether objects of a class hold more than attributes: C code has made room for it."""
    while kind is not object:
        base: Any = kind.__base__
        added = int(kind.__dictoffset__ != 0 == base.__dictoffset__)
        added += kind.__weakrefoffset__ != 0 == base.__weakrefoffset__
        room = kind.__basicsize__ - base.__basicsize__ - _POINTER * (len(_slots_of(kind)) + added)
        if room > 0 and not str(kind.__module__).startswith(_LIBRARIES):
            return True
        kind = base
    return False


def is_of_library(x: Any) -> bool:
    """Whether code, a class, or the class of an object is a library's; wrappers say to be what they wrap."""
    if isinstance(x, types.FunctionType):
        return is_of_libraries(x.__globals__)
    name = (x if isinstance(x, type) else type(x)).__module__
    return isinstance(name, str) and _is_library(name, vars(sys.modules.get(name, _nothing)))


def _may_tell_apart(x: Any) -> bool:
    """Whether this is code, and not the user's in Python, that may do another thing with recorded arrays."""
    if id(x) in _TELLING:
        return True
    is_users = isinstance(x, types.FunctionType) and not is_of_library(x)
    if is_users or isinstance(x, type) or not callable(x):
        return False
    return all(
        str(getattr(of, "__module__", None)).partition(".")[0] not in places
        for of, places in ((x, _EVEN), (type(x), _LIBRARIES))
    )


def _is_put_there(x: Any) -> bool:
    """Whether what a library's module has is the user's."""
    if isinstance(x, types.FunctionType):  # wrappers say to be what they wrap
        return not is_of_library(x)
    name = getattr(
        x, "__module__", None
    )  # of an object that of its class, but for functions of compiled code
    return type(x) in (functools.partial, types.MethodType) or (
        isinstance(name, str) and not _is_library(name, vars(sys.modules.get(name, _nothing)))
    )


def _may_change(x: Any) -> bool:
    """Whether what a library's module has is written to where it lies, as `sys.argv` may be."""
    return type(x) in _CONTAINERS or type(x) is np.ndarray


def is_library_module(x: types.ModuleType) -> bool:
    return _is_library(x.__name__, vars(x))


def name_of_import(read: Import, names: dict[str, Any]) -> str:
    """The name of the module that code with these globals imports."""
    if not read.level:
        return read.module
    spec = names.get("__spec__")
    package = names.get("__package__") or (spec.parent if spec else names.get("__name__", ""))
    return importlib.util.resolve_name("." * read.level + read.module, package)


def is_of_libraries(names: dict[str, Any]) -> bool:
    """Whether code that has these globals is a library's."""
    return _is_library(names.get("__name__"), names)


def _is_library(name: Any, names: dict[str, Any]) -> bool:
    """Whether a module is a library's; one named like Python's own if its file lies there, or it has none."""
    top = str(name).partition(".")[0]
    if top not in sys.stdlib_module_names or name == "__main__":
        return top in _LIBRARIES
    file = names.get("__file__")
    if file is None:
        return names.get("__spec__") is not None
    return file.startswith(_STANDARD) and not _INSTALLED.search(file)


_nothing = types.ModuleType("nothing")


def has_attribute(x: Any, name: str, value: Any) -> bool:
    """Whether an attribute in a slot is this object."""
    return getattr(x, name, None) is value


def has_dict(x: Any, kind: type, names: dict[str, Any], given: tuple[str, ...] | None) -> bool:
    """Whether an object has the class and the attributes that it had; ``given``: no others."""
    return x.__dict__ is names and type(x) is kind and (given is None or tuple(names) == given)


def has_content(x: np.void, content: bytes) -> bool:
    """Whether a row of a structured array is what it was."""
    return x.tobytes() == content


def tells(x: Any, name: str, before: Any) -> bool:
    """Whether a class or a function says the same of itself."""
    return bool(getattr(x, name, None) == before)


def _is_registered_still(token: object) -> bool:
    """Whether no class has been registered as one of another since."""
    return abc.get_cache_token() == token


def _rounding() -> tuple[Any, ...]:
    of = decimal.getcontext()
    return of.prec, of.rounding, of.Emin, of.Emax, of.clamp, dict(of.traps)


def rounds_as(before: tuple[Any, ...]) -> bool:
    """Whether decimal numbers are rounded as they were."""
    return _rounding() == before


def _not_cleared(x: Any) -> Callable[[], bool]:
    """Whether a cache has only been filled: what it gives again would be computed anew after a change.

    One that has been cleared may have been asked as often since: its newest entry is another one then.
    """
    counts = 0, 0
    newest: tuple[Any, Any] | None = None
    entries: dict[Any, Any] = next(
        (part for part in gc.get_referents(x) if type(part) is dict and part is not x.__dict__), {}
    )

    def unchanged() -> bool:
        nonlocal counts, newest
        before, info = counts, x.cache_info()
        counts = info.hits, info.misses
        is_filled = newest is None or entries.get(newest[0]) is newest[1]
        newest = next(reversed(entries.items()), None)
        return is_filled and counts[0] >= before[0] and counts[1] >= before[1]

    return unchanged
