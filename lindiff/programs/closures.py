"""Functions that are made anew in each call of another one, as one function of what they close over."""

from __future__ import annotations

import dis
import functools
import operator
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.sealing import is_refusal
from lindiff.core.variable import Variable, kept_constant
from lindiff.programs.keys import constant_key, is_array, structure_of
from lindiff.programs.program import Program
from lindiff.programs.surroundings import is_empty
from lindiff.programs.tree import Unrepeatable

__all__ = ["Opened", "closed_over", "program_of"]

# Functions whose programs are known.
_MOST = 64

_programs: OrderedDict[Any, Program[..., Any]] = OrderedDict()
_lock = threading.Lock()


def program_of(
    opened: Opened, made: Callable[[Callable[[Any], Any]], Callable[..., Any]]
) -> Program[..., Any]:
    """The program of ``made(opened.closing_over)``, one for all functions of the same code.

    Nobody has asked for it: where there is none, nothing is said.
    """
    key = made, opened.key
    with _lock:
        found = _programs.pop(key, None)
        if found is None:
            found = Program(made(opened.closing_over), warns=False)
        _programs[key] = found
        if len(_programs) > _MOST:
            _programs.popitem(last=False)
    return found


class Contents:
    """Arrays for a function to close over, and the lists, dicts and other trees in which it gets them."""

    def __init__(self, arrays: list[Any]) -> None:
        self._arrays = iter(arrays)
        self._containers: list[tuple[Any, list[Any]]] = []

    def __next__(self) -> Any:
        return next(self._arrays)

    def made(self, container: Any) -> Any:
        """Take notice of a container."""
        self._containers.append((container, _items(container)))
        return container

    def refuse_changes(self) -> None:
        """Raise where the function has changed a container: its own would stay as it was."""
        for container, before in self._containers:
            now = _items(container)
            if len(now) != len(before) or not all(map(operator.is_, now, before)):
                raise Unrepeatable(
                    f"the function changes a {type(container).__name__} that it closes over: give what it "
                    "computes with by arguments"
                )


def _items(container: Any) -> list[Any]:
    """What is in a list, a tuple, a dict or an object of a data class."""
    named = container if type(container) is dict else getattr(container, "__dict__", None)
    return list(container) if named is None else [*named.keys(), *named.values()]


def closed_over(closing_over: Callable[[Any], Any], arrays: list[Any], args: tuple[Any, ...]) -> Any:
    """What a function returns that closes over these arrays.

    Raises
    ------
    Unrepeatable
        If it changes a list or dict that it closes over.
    TypeError
        If it writes into an array that is read-only, as one that it closes over.
    """
    contents = Contents(arrays)
    try:
        result = closing_over(contents)(*args)
    except ValueError as error:
        if not is_refusal(error):
            raise
        raise TypeError(
            f"{error}: the function of a solver or of an integral writes into an array that was made outside "
            f"of it: let it make that array itself, out = np.zeros_like(y), or return np.stack([...])"
        ) from error
    contents.refuse_changes()
    return result


class Opened:
    """A function beside the arrays that it closes over, or has as defaults.

    Parameters
    ----------
    function : callable

    Attributes
    ----------
    key : hashable
        What is no array: functions of the same key are one function of their contents.
    contents : list
        Arrays and Variables, which differ from function to function.
    closing_over : callable
        The function of `Contents` in their places.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.contents: list[Any] = []
        self._within: list[Any] = []
        self._remembers = False
        self.key, self.closing_over = self._opened(function)
        if self._remembers:  # a function among them writes into cells, which others may read
            self.contents = []
            self.key, self.closing_over = self._closed(function)

    def as_it_is(self) -> Callable[..., Any]:
        """The function with what it closes over now, whatever becomes of these names, lists and arrays later.

        What it reads from its module or from objects is what is there when it is called.
        """
        contents = [x if type(x) is Variable else kept_constant(x) for x in self.contents]
        made: Callable[..., Any] = self.closing_over(Contents(contents))
        return made

    def _opened(self, x: Any) -> tuple[Any, Callable[[Any], Any]]:
        """The key of an object, and what makes one like it of `Contents`."""
        if any(x is other for other in self._within):  # a function that calls itself
            return self._closed(x)
        self._within.append(x)
        try:
            if type(x) is Variable or is_array(x):
                self.contents.append(x)
                return (), next
            if type(x) is types.FunctionType:
                return self._opened_function(x)
            if type(x) is types.MethodType:
                return self._opened_method(x)
            if type(x) is functools.partial:
                return self._opened_partial(x)
            if type(x) in (list, tuple, dict):
                return self._opened_container(x)
            if pytree.is_tree(x):
                return self._opened_tree(x)
            return self._closed(x)
        finally:
            self._within.pop()

    def _closed(self, x: Any) -> tuple[Any, Callable[[Any], Any]]:
        return constant_key(x), lambda _: x

    def _opened_container(self, x: Any) -> tuple[Any, Callable[[Any], Any]]:
        kind = type(x)
        if kind is not dict:
            key, make = self._opened_each(x)
            return (kind, key), lambda contents: contents.made(kind(make(contents)))
        names = tuple(x)
        key, make = self._opened_each(x.values())
        return (tuple(map(constant_key, names)), key), lambda contents: contents.made(
            dict(zip(names, make(contents), strict=True))
        )

    def _opened_tree(self, tree: Any) -> tuple[Any, Callable[[Any], Any]]:
        structure = structure_of(tree)
        if structure is None:
            return self._closed(tree)
        leaves, restore = pytree.flatten(tree)
        restore = pytree.flatten(restore([_NOTHING] * len(leaves)))[1]  # it holds the tree
        key, make = self._opened_each(leaves)
        return (structure, key), lambda contents: contents.made(restore(make(contents)))

    def _opened_each(self, parts: Iterable[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
        pairs = [self._opened(part) for part in parts]
        makes = [make for _, make in pairs]
        return tuple(key for key, _ in pairs), lambda contents: [make(contents) for make in makes]

    def _opened_partial(self, f: functools.partial[Any]) -> tuple[Any, Callable[[Any], Any]]:
        if f.__dict__:
            return self._closed(f)
        names = list(f.keywords)
        key, make = self._opened_each([f.func, *f.args, *f.keywords.values()])

        def made(contents: Any) -> Any:
            function, *given = make(contents)
            count = len(given) - len(names)
            return functools.partial(function, *given[:count], **dict(zip(names, given[count:], strict=True)))

        return ("partial", tuple(names), key), made

    def _opened_method(self, f: types.MethodType) -> tuple[Any, Callable[[Any], Any]]:
        key, make = self._opened(f.__func__)
        itself = f.__self__
        return (key, constant_key(itself)), lambda contents: types.MethodType(make(contents), itself)

    def _opened_function(self, f: types.FunctionType) -> tuple[Any, Callable[[Any], Any]]:
        cells, defaults, named = f.__closure__ or (), f.__defaults__ or (), f.__kwdefaults__ or {}
        self._remembers |= _writes_cells(f.__code__)
        if f.__dict__.keys() - {"__wrapped__"} or any(map(is_empty, cells)):
            return self._closed(f)
        parts = [*(cell.cell_contents for cell in cells), *defaults, *named.values()]
        before = len(self.contents)
        if not parts:
            return (f.__code__, constant_key(f.__globals__)), lambda _: f
        key, make = self._opened_each(parts)
        key = (f.__code__, constant_key(f.__globals__), f.__defaults__ is None, tuple(named), key)
        # A program looks at what a function reads: not at what it is given instead.
        like = _function_like(f, make(Contents([_NOTHING] * (len(self.contents) - before))))
        return key, lambda contents: _function_like(like, make(contents))


@functools.cache
def _writes_cells(code: types.CodeType) -> bool:
    """Whether a function assigns to what it closes over: it counts, or remembers."""
    names = set(code.co_freevars)
    return any(
        step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in names
        for step in dis.get_instructions(code)
    )


# In the place of contents.
_NOTHING = np.zeros(1)


def _function_like(f: types.FunctionType, parts: list[Any]) -> types.FunctionType:
    """The same code with other contents in its cells, then its defaults, then those of its keywords."""
    of_cells = len(f.__closure__ or ())
    of_defaults = of_cells + len(f.__defaults__ or ())
    made = types.FunctionType(
        f.__code__,
        f.__globals__,
        f.__name__,
        None if f.__defaults__ is None else tuple(parts[of_cells:of_defaults]),
        tuple(map(types.CellType, parts[:of_cells])),
    )
    if f.__kwdefaults__ is not None:
        made.__kwdefaults__ = dict(zip(f.__kwdefaults__, parts[of_defaults:], strict=True))
    return made
