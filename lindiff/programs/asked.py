"""Which attributes code may ask for: by the names that are in it, and what waits until one of them is."""

from __future__ import annotations

import copy
import dataclasses
import dis
import functools
import inspect
import operator
import pickle
import pprint
import re
import string
import types
import typing
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.programs.reads import ATTRIBUTES, CALLS, SILENT, loads_one

__all__ = ["CONSTRUCTING", "TOLD", "Asked", "names_of"]

# Methods that are called where objects are made, where they are copied, where they are turned into text, and
# where their attributes change or are matched: by code that has one of these names or instructions, too.
CONSTRUCTING = frozenset(
    {
        *("__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__", "__set_name__"),
        "__del__",
    }
)
_COPYING = frozenset(
    {
        *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__copy__", "__deepcopy__"),
        *("__getnewargs__", "__getnewargs_ex__", "__replace__", "__dir__"),
    }
)
_TEXT = frozenset({"__repr__", "__str__", "__format__"})
_BY_INSTRUCTION = {
    "STORE_ATTR": "__setattr__",
    "DELETE_ATTR": "__delattr__",
    "MATCH_CLASS": "__match_args__",
}
# What a class or a function has for those who ask for it.
TOLD = frozenset(
    {"__dataclass_fields__", "__annotations__", "__doc__", "__name__", "__qualname__", "__orig_bases__"}
)
_LATE = CONSTRUCTING | _COPYING | _TEXT | TOLD | frozenset(_BY_INSTRUCTION.values())
_MAKERS = {"__class__", "type"}
_CLASSES_BEHIND = {"__self_class__", "__thisclass__", "__objclass__"}
_WRITERS = {
    *("str", "repr", "ascii", "format", "print", "join", "write", "debug", "info", "warn", "warning"),
    *("error", "exception", "critical", "format_map", "substitute", "safe_substitute", "mod", "__mod__"),
    *("str_", "bytes_", "array2string", "array_repr", "array_str"),
}
_FORMATTING = ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE", "BINARY_MODULO")
# What finds attributes by names that code need not have.
_ANY = {
    *(
        "getattr",
        "setattr",
        "delattr",
        "hasattr",
        "attrgetter",
        "methodcaller",
        "__dict__",
        "__getattribute__",
    ),
    *("__getattr__", "getattr_static", "getmembers", "fields", "asdict", "astuple", "replace", "_replace"),
    *("copy", "deepcopy", "dump", "dumps", "pprint", "inspect", "vars", "dir", "__slots__", "partialmethod"),
    *("get_type_hints", "get_annotations", "signature", "getfullargspec"),
}
# What libraries ask of objects that they are given.
_BY_LIBRARIES = {
    *("write", "flush", "read", "readline", "seek", "tell", "close", "keys", "items", "values", "get"),
    *(
        "shape",
        "dtype",
        "size",
        "ndim",
        "matvec",
        "rmatvec",
        "matmat",
        "rmatmat",
        "dot",
        "conjugate",
        "update",
    ),
    *(
        "pdf",
        "logpdf",
        "dpdf",
        "cdf",
        "rvs",
        "random",
        "integers",
        "uniform",
        "standard_normal",
        "real",
        "imag",
    ),
    *("terminal", "direction", "_fields", "constant_fields", "_replace", "_make"),
    *(name for name in dir(np.ndarray) if not name.startswith("__")),
    *(name for name, x in vars(np).items() if isinstance(x, np.ufunc)),
}
# The same by the objects: code may have these under other names, or hand them on.
_BY_OBJECT: dict[int, frozenset[str]] = {
    **{
        id(x): frozenset({"vars"})
        for x in (
            *(getattr, setattr, delattr, hasattr, vars, dir, operator.attrgetter, operator.methodcaller),
            *(copy.copy, copy.deepcopy, dataclasses.replace, dataclasses.asdict, dataclasses.astuple),
            *(dataclasses.fields, functools.partialmethod, inspect.getmembers, inspect.getattr_static),
            *(inspect.signature, typing.get_type_hints, pickle.dump, pickle.dumps, pprint.pprint),
            *(pytree.flatten, pytree.tree_map, pytree.item, pytree.replace),
        )
    },
    **{id(x): _TEXT for x in (str, repr, ascii, format, print, operator.mod, string.Template, np.str_)},
    id(type): frozenset({"type"}),
}

_names: weakref.WeakKeyDictionary[types.CodeType, frozenset[str]] = weakref.WeakKeyDictionary()


class Asked:
    """The names that code asks objects of the user's classes for.

    An attribute that no code asks for is not read, whatever is in it.  What it holds waits until code does:
    :meth:`when` has a function for that.  Special methods are asked for without a name, but for those that
    make, copy or print objects.
    """

    def __init__(self) -> None:
        self._names: set[str] = set(_BY_LIBRARIES)
        self._any = False
        self._waiting: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)
        self._compared: set[str] = set()
        self._to_compare: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)

    def when(self, name: str, action: Callable[[], None], compared: Callable[[], None] | None = None) -> None:
        """Do this once a name is asked for, now if it is already; ``compared`` once it is only that."""
        if self._any or name in self._names or (_is_special(name) and name not in _LATE):
            action()
            return
        self._waiting[name].append(action)
        if compared is not None and name in self._compared:
            compared()
        elif compared is not None:
            self._to_compare[name].append(compared)

    def compare(self, code: types.CodeType) -> None:
        """Let what that code asks for be compared, and no more."""
        new = names_of(code) - self._compared
        self._compared |= new
        for name in new:
            for action in self._to_compare.pop(name, ()):
                action()

    def ask(self, code: types.CodeType) -> None:
        """Let all be asked for that code, and functions within it, may ask for."""
        self.ask_names(names_of(code))

    def ask_names(self, names: Iterable[str]) -> None:
        """Let these names be asked for."""
        found = set(names)
        if not found.isdisjoint(_ANY):
            return self.ask_all()
        if not found.isdisjoint(_MAKERS | _CLASSES_BEHIND):
            found |= CONSTRUCTING
        if not found.isdisjoint(_WRITERS):
            found |= _TEXT
        new = found - self._names
        self._names |= new
        for name in new & self._waiting.keys():
            self._let_go(name)
        return None

    def has_names(self, names: set[str]) -> bool:
        """Whether code has one of these names."""
        return not self._names.isdisjoint(names)

    def ask_by(self, x: Any) -> None:
        """Let all be asked for that this object may ask for, whatever code calls it."""
        if id(x) in _BY_OBJECT:
            self.ask_names(_BY_OBJECT[id(x)])
        elif isinstance(x, str):
            if _asks_in_text(x):
                self.ask_all()
        elif isinstance(x, types.BuiltinMethodType) and isinstance(x.__self__, str):
            self.ask_all()

    def ask_all(self) -> None:
        """Let every name be asked for."""
        self._any = True
        for name in list(self._waiting):
            self._let_go(name)

    def _let_go(self, name: str) -> None:
        for action in self._waiting.pop(name):
            action()


def names_of(code: types.CodeType) -> frozenset[str]:
    """The names, and the texts that may be names, in code and in functions within it.

    Examples
    --------
    >>> sorted(names_of((lambda model: model.step(getattr(model, "state"))).__code__))
    ['getattr', 'state', 'step']
    """
    found = _names.get(code)
    if found is None:
        found = _names[code] = frozenset(_found_in(code))
    return found


def _found_in(code: types.CodeType) -> Iterator[str]:
    yield from (name for name in code.co_names if name not in _MAKERS)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_of(constant)
        else:
            yield from _texts(constant)
    instructions = [i for i in dis.get_instructions(code) if i.opname not in SILENT]
    for k, i in enumerate(instructions):
        if i.opname in _FORMATTING or i.argrepr in ("%", "%="):
            yield "format"
        elif i.opname in _BY_INSTRUCTION:
            yield _BY_INSTRUCTION[i.opname]
        elif i.argval in _MAKERS and i.opname != "LOAD_CONST" and not _only_told(instructions, k):
            yield i.argval


def _only_told(instructions: list[dis.Instruction], k: int) -> bool:
    """Whether the class that instruction ``k`` asks for is only compared with another, or asked for its name:
    ``x.__class__ is y.__class__``, ``type(x) is C``."""
    names = [(i.opname, i.argval) for i in instructions[k + 1 : k + 6]]
    if instructions[k].argval == "type":
        called = next((n for n, (name, _) in enumerate(names) if name in CALLS), len(names))
        if called == len(names) or names[called][1] != 1 or not _load_one(names[:called]):
            return False
        names = names[called + 1 :]
    end = next((n for n, (name, _) in enumerate(names) if name == "IS_OP"), None)
    if end is not None and (end == 0 or _load_one(names[:end])):
        return True
    return bool(names) and names[0][0] in ATTRIBUTES and names[0][1] in ("__name__", "__qualname__")


def _load_one(names: list[tuple[str, Any]]) -> bool:
    """Whether instructions load one object, and perhaps attributes of it."""
    return bool(names) and loads_one(names[0][0]) and all(name in ATTRIBUTES for name, _ in names[1:])


def _texts(constant: Any) -> Iterator[str]:
    """In patterns of ``match`` the names are in a tuple."""
    if isinstance(constant, str):
        if constant.isidentifier():
            yield constant
        if _asks_in_text(constant):
            yield "vars"
        if _DTYPE_OF_TEXT.fullmatch(constant):  # np.array([model], "U8")
            yield "format"
    elif isinstance(constant, (tuple, frozenset)):
        for part in constant:
            yield from _texts(part)


def _asks_in_text(text: str) -> bool:
    """Whether a text may ask what it is filled with for attributes: ``"{0.scale}".format(model)``."""
    return _ATTRIBUTE_IN_TEXT.search(text) is not None


_ATTRIBUTE_IN_TEXT = re.compile(r"\{[^{}:!]*[.\[]")
_DTYPE_OF_TEXT = re.compile(r"[<>=|]?[USa]\d*")


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
