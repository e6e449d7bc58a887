"""Dataclasses with other fields, and containers of classes of one's own with other items.

A record is what its class makes of its fields.  What it has besides is compared with what the class makes of
the same fields once more.  What is alike is made of the other fields, too, and so has their derivatives; what
the class writes to the fields has been written to them already.  What is not was set later: a switch, a
count, a function stays as it is, and what is missing stays away.  Of numbers nobody can tell whether they are
made of the fields: these are refused, private ones, too; but cached properties are found again.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import inspect
import random
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.likeness import (
    are_alike,
    attributes_of,
    bare,
    has_arrays,
    has_numbers,
    holds_values,
    is_number,
    parts_held,
    slots_in,
)

__all__ = [
    "besides_of",
    "check_alike",
    "derivative",
    "note_incomplete",
    "remade",
    "shown_besides",
    "with_items",
]


class _Class(NamedTuple):
    """What there is to know of a dataclass."""

    given: tuple[str, ...]  # the fields that its constructor takes
    others: tuple[str, ...]  # other fields, and slots
    arguments: tuple[str, ...]  # of its constructor, which are no fields
    makes: bool  # whether it makes anything but what it is given
    is_plain: bool  # and what it has is in its ``__dict__``, as it was set


def _of_class(record: Any) -> _Class:
    kind: Any = type(record)
    return _known(kind)


@functools.lru_cache(maxsize=1024)
def _known(kind: Any) -> _Class:
    fields = dataclasses.fields(kind)
    given = tuple(field.name for field in fields if field.init)
    slots = [name for base in kind.__mro__ for name in slots_in(base)]
    others = [*(field.name for field in fields if not field.init), *slots]
    others = [name for name in dict.fromkeys(others) if name not in given and not name.startswith("__")]
    makes = (
        not _is_generated(kind.__init__)
        or hasattr(kind, "__post_init__")
        or any(not field.init for field in fields)
    )
    stored = all(not hasattr(inspect.getattr_static(kind, name, None), "__set__") for name in given)
    return _Class(given, tuple(others), _arguments(kind, given), makes, stored and not (makes or others))


def _is_generated(constructor: Any) -> bool:
    """Whether a dataclass has got it of its fields."""
    code = getattr(constructor, "__code__", None)
    if code is None or code.co_filename != "<string>":
        return False
    return "__create_fn__" in getattr(code, "co_qualname", "__create_fn__")


def _arguments(kind: Any, given: tuple[str, ...]) -> tuple[str, ...]:
    """Of the constructor, that are no fields."""
    try:
        of_constructor = list(inspect.signature(kind.__init__).parameters)[1:]
    except (TypeError, ValueError):
        return ()
    return tuple(name for name in of_constructor if name not in given)


def remade(record: Any, fields: dict[str, Any]) -> Any:
    """A dataclass with other fields.

    Raises
    ------
    TypeError
        If it has numbers besides of which nobody can tell whether they are made of the fields.
    """
    of = _of_class(record)
    other = object.__new__(type(record))
    if of.is_plain and len(record.__dict__) == len(of.given):
        other.__dict__.update(record.__dict__)
        other.__dict__.update(fields)
        return other
    own = _own(record, of)
    given, besides = own | fields, _besides(record, of)
    away: set[str] = set()
    if besides:
        stays, away, made = _apart(record, of, own, besides)
        try:
            if made:
                type(record).__init__(other, **(given if type(record) in _reading else _copied(given)))
        except Exception:
            if has_numbers(besides) or all(x is not None for x in besides.values()):
                raise
            stays = besides  # of a derivative, which its class may refuse
        given |= stays
    for name in away:
        if hasattr(other, name):
            object.__delattr__(other, name)
    for name, x in given.items():
        object.__setattr__(other, name, x)
        if getattr(other, name) is not x:
            raise TypeError(
                f"{type(record).__name__} changes its field {name} where it is set: of other numbers it "
                f"cannot be made again; change it in __post_init__"
            )
    if any(x is None for x in given.values()) and is_incomplete(record):
        note_incomplete(other)
    return other


def with_items(container: Any, items: Any) -> Any:
    """A container of a class of one's own with other items, of the same keys.

    Raises
    ------
    TypeError
        If it has numbers as attributes which its class does not make of its items.
    """
    attributes = getattr(container, "__dict__", None) or {}
    besides = {} if attributes is container else attributes_of(container)
    if besides:
        again = _made_of_items(container, container)
        if again is not None and are_alike(besides, attributes_of(again)):
            return _made_of_items(container, items)
        if has_arrays(besides):
            raise TypeError(
                f"{type(container).__name__} has {', '.join(besides)} besides its items, which it does not "
                f"make of them: write a dataclass instead, with fields for all of it"
            )
    other: Any
    if isinstance(container, tuple):
        other = tuple.__new__(type(container), items)
        if attributes:
            vars(other).update(attributes)
        return other
    other = copy.copy(container)
    if other is container:
        raise TypeError(
            f"{type(container).__name__} gives itself for a copy, and cannot have other items: write a dict, "
            f"a list or a dataclass instead"
        )
    if isinstance(container, dict):
        dict.update(other, items)
        if attributes is container:
            other.__dict__ = other
    else:
        list.__setitem__(other, slice(None), items)
    return other


def _made_of_items(container: Any, items: Any) -> Any:
    try:
        return type(container)(items)
    except Exception:
        return None


def derivative(record: Any, fields: dict[str, Any]) -> Any:
    """A dataclass with derivatives as its fields, without numbers that its class has made of other fields."""
    other, gaps = object.__new__(type(record)), False
    for field in dataclasses.fields(record):
        if field.name in fields:
            object.__setattr__(other, field.name, fields[field.name])
        elif hasattr(record, field.name):
            x = getattr(record, field.name)
            is_gap = not field.init and has_numbers(x)
            object.__setattr__(other, field.name, None if is_gap else x)
            gaps = gaps or is_gap or (x is None and not field.init)
    if gaps:
        note_incomplete(other)
    return other


# Under this name a record remembers that it is a derivative, or stacked results.
INCOMPLETE = "_lindiff_none_is_made"
_of_slots: collections.OrderedDict[int, tuple[int, ...]] = collections.OrderedDict()
MOST_OF_SLOTS = 4096


def is_incomplete(record: Any) -> bool:
    """Whether it is a derivative, or stacked results, which have None for what the class makes."""
    if hasattr(record, "__dict__"):
        return INCOMPLETE in record.__dict__
    return bool(_of_slots) and _of_slots.get(id(record)) == _ids_of(record)


def note_incomplete(record: Any) -> None:
    """Let a record remember it; of one in slots that is remembered here."""
    if hasattr(record, "__dict__"):
        record.__dict__[INCOMPLETE] = True
        return
    _of_slots[id(record)] = _ids_of(record)
    while len(_of_slots) > MOST_OF_SLOTS:
        _of_slots.popitem(last=False)


def _ids_of(record: Any) -> tuple[int, ...]:
    return tuple(map(id, (type(record), *_own(record, _of_class(record)).values())))


def check_alike(records: list[Any]) -> set[str]:
    """Raise a TypeError where what some records have besides their numbers, and stays, differs.

    Returns
    -------
    set of str
        What they have made of their fields, and differs.
    """
    of_each = [_static(record) | _that_stays(record) for record in records]
    for name in {name: None for stays in of_each for name in stays}:
        first = of_each[0].get(name)
        if any(name not in stays or not are_alike(stays[name], first) for stays in of_each):
            raise TypeError(
                f"vmap stacks what is in the fields of {type(records[0]).__name__}, and its results have "
                f"different {name}: make it a field that is given, and not static"
            )
    made = [besides_of(record) for record in records]
    return {
        name
        for name, x in made[0].items()
        if any(name not in other or not are_alike(other[name], x) for other in made[1:])
    }


def besides_of(record: Any) -> dict[str, Any]:
    """What a record has besides the fields that it was given."""
    return _besides(record, _of_class(record))


def shown_besides(record: Any) -> dict[str, Any]:
    """What a record has besides its fields under public names, where there is something."""
    besides = besides_of(record)
    return {name: x for name, x in besides.items() if x is not None and not name.startswith("_")}


def _that_stays(record: Any) -> dict[str, Any]:
    of = _of_class(record)
    besides = _besides(record, of)
    return _apart(record, of, _own(record, of), besides)[0] if besides else {}


def _static(record: Any) -> dict[str, Any]:
    """The fields that are no part of a tree."""
    static = [field.name for field in dataclasses.fields(record) if field.metadata.get("static", False)]
    return {name: getattr(record, name) for name in static if hasattr(record, name)}


def _own(record: Any, of: _Class) -> dict[str, Any]:
    """The fields that it was given, as they are now."""
    return {name: getattr(record, name) for name in of.given if hasattr(record, name)}


def _besides(record: Any, of: _Class) -> dict[str, Any]:
    """What it has besides."""
    has = getattr(record, "__dict__", {})
    if of.others:
        has = {name: getattr(record, name) for name in of.others if hasattr(record, name)} | has
    return {name: x for name, x in has.items() if name not in of.given and name != INCOMPLETE}


# -- what is made, and what stays --------------------------------------------------------------------------


def _apart(
    record: Any, of: _Class, own: dict[str, Any], besides: dict[str, Any]
) -> tuple[dict[str, Any], set[str], bool]:
    """What stays as it is, what stays away, and whether the rest is made of the fields."""
    again = _made(record, own) if of.makes else None
    if of.makes and again is None:
        numbers = [name for name, x in besides.items() if has_numbers(x)]
        if numbers:
            raise _cannot_be_made_again(record, of, numbers)
        is_made = is_incomplete(record) and any(x is None for x in besides.values())
        return {name: x for name, x in besides.items() if x is not None or not is_made}, set(), is_made
    makes = {} if again is None else _besides(again, of)
    others = _Others(record, of, own, again)
    stays = {}
    for name, x in besides.items():
        if name not in makes:
            if _is_cached_property(record, name):
                continue
            if has_numbers(x):
                raise _cannot_be_made_again(record, of, [name])
            stays[name] = x
        elif are_alike(x, makes[name], {(id(record), id(again)): (record, again)}):
            if of.arguments and others.is_made_of_fields(name):
                others.check_arguments(name)
            if is_cache(name, makes[name]) or has_arrays(x) or holds_values(x):
                continue
            if not others.is_made_of_fields(name):
                stays[name] = x  # it may have a state
        elif is_cache(name, makes[name]) or (x is None and is_incomplete(record)):
            continue
        elif x is None and has_numbers(makes[name]) and not hasattr(record, "__dict__"):
            raise _cannot_be_made_again(record, of, [name])  # or is it a copy of a derivative?
        elif x is not None and not is_random(x) and (has_numbers(x) or others.is_made_of_fields(name)):
            raise _cannot_be_made_again(record, of, [name])
        else:
            stays[name] = x
    away = set() if is_incomplete(record) else makes.keys() - besides.keys()
    return stays, away, of.makes


class _Others:
    """What a class makes of other numbers in the fields than those of which it made `again`."""

    def __init__(self, record: Any, of: _Class, own: dict[str, Any], again: Any) -> None:
        self._record, self._of, self._own, self._again = record, of, own, again

    @functools.cached_property
    def _given(self) -> list[dict[str, Any]]:
        return [*self._moved_by(0), *(self._moved_by(1) if self._has_integers() else ())]

    def _moved_by(self, of_integers: int) -> Iterator[dict[str, Any]]:
        in_tree = self._in_tree()
        for by in MOVES:
            yield {
                name: _moved(x, by, of_integers) if name in in_tree else x for name, x in self._own.items()
            }

    def _in_tree(self) -> set[str]:
        static = _static(self._record)
        return {name for name in self._own if name not in static}

    def _has_integers(self) -> bool:
        return any(_has_integers(self._own[name]) for name in self._in_tree())

    @functools.cached_property
    def _made(self) -> list[Any]:
        made = [_made(self._record, given, is_own=True) for given in self._given]
        return [other for other in made if other is not None]

    @functools.cached_property
    def _once_more(self) -> Any:
        return _made(self._record, self._own)

    def is_made_of_fields(self, name: str) -> bool:
        """Whether the class makes something else of this name of other fields, and the same of the same."""
        if not self._made:  # it takes no other numbers
            return has_numbers(_besides(self._again, self._of)[name])
        if all(self._are_alike(name, self._again, other) for other in self._made):
            return False
        once_more = self._once_more
        return once_more is None or self._are_alike(name, self._again, once_more)

    def check_arguments(self, name: str) -> None:
        """Raise unless this shows by which arguments of the constructor, that are no fields, it was made.

        It does where it is another one by others, or where these change it for no fields.
        """
        parameters = inspect.signature(type(self._record).__init__).parameters
        for argument in self._of.arguments:
            default = parameters[argument].default
            if not isinstance(default, (int, float)):
                raise _cannot_be_made_again(self._record, self._of, [name])
            other = {argument: not default if isinstance(default, bool) else default * 1.5 + 1}
            if self._shows(name, self._own, other):
                continue
            if any(self._shows(name, given, other) for given in self._given):
                raise _cannot_be_made_again(self._record, self._of, [name])

    def _shows(self, name: str, given: dict[str, Any], other: dict[str, Any]) -> bool:
        """Whether another argument makes something else of these fields."""
        one, two = _made(self._record, given), _made(self._record, given | other)
        if one is None or two is None:
            return one is not two
        return not self._are_alike(name, one, two)

    def _are_alike(self, name: str, one: Any, two: Any) -> bool:
        """Whether two records of the class have the same of this name."""
        x, y = (_besides(record, self._of).get(name) for record in (one, two))
        return are_alike(x, y, {(id(one), id(two)): (one, two)})


# By which numbers are moved, in units of them and altogether.
MOVES = ((1.0 + 2**-10, 2.0**-10), (0.73, 0.31), (-1.37, 0.83))


def _moved(x: Any, by: tuple[float, float], of_integers: int) -> Any:
    """Other numbers for those in x; integers become larger by so much."""
    if is_number(x):
        plain = bare(x)
        if plain.dtype.kind in "iu":
            return (plain + np.asarray(of_integers, plain.dtype))[()]
        if plain.dtype.kind not in "fc":
            return x
        each = 1 + 0.3 * np.sin(1.7 * np.arange(plain.size)).reshape(plain.shape)
        moved = np.asarray(plain * by[0] + by[1] * each).astype(plain.dtype)[()]
        return moved if hasattr(x, "dtype") else type(x)(moved)
    if type(x) is int:
        return x + of_integers
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        own = _own(x, _of_class(x))
        made = _made(x, {name: _moved(y, by, of_integers) for name, y in own.items()})
        return x if made is None else made
    return _with_parts(x, lambda part: _moved(part, by, of_integers))


def _has_integers(x: Any) -> bool:
    """Whether there are integers in it that are numbers of a tree."""
    if is_number(x):
        return bare(x).dtype.kind in "iu"
    if type(x) is int:
        return True
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return any(map(_has_integers, _own(x, _of_class(x)).values()))
    return isinstance(x, (list, tuple, dict)) and any(map(_has_integers, parts_held(x) or ()))


# Classes that were seen to write to no array that they are given, and those that do.
_reading: weakref.WeakSet[Any] = weakref.WeakSet()
_writing: weakref.WeakSet[Any] = weakref.WeakSet()


def _copied(x: Any) -> Any:
    """With copies of the arrays in it, to which a class may write."""
    if is_number(x):
        return x.copy() if hasattr(x, "copy") else x
    return _with_parts(x, _copied)


def _guarded(x: Any) -> Any:
    """With arrays in it to which nobody can write, and copies of what is no NumPy array."""
    if type(x) is np.ndarray:
        view = x.view()
        view.flags.writeable = False
        return view
    if is_number(x):
        return x.copy() if hasattr(x, "copy") else x
    return _with_parts(x, _guarded)


def _with_parts(x: Any, function: Callable[[Any], Any]) -> Any:
    """A container or a record like x of what a function makes of its parts."""
    if type(x) in (tuple, list):
        return type(x)(map(function, x))
    if isinstance(x, tuple) and hasattr(x, "_make") and not getattr(x, "__dict__", None):
        return x._make(map(function, x))
    other: Any = x
    if isinstance(x, dict):
        other = copy.copy(x)
        for key, part in dict.items(x):
            dict.__setitem__(other, key, function(part))
    elif isinstance(x, list):
        other = copy.copy(x)
        list.__setitem__(other, slice(None), list(map(function, x)))
    elif isinstance(x, types.SimpleNamespace) or (dataclasses.is_dataclass(x) and not isinstance(x, type)):
        other = copy.copy(x)
        for name, part in attributes_of(x).items():
            object.__setattr__(other, name, function(part))
    return other


def _made(record: Any, given: dict[str, Any], is_own: bool = False) -> Any:
    """What the class makes of these fields; None where it refuses them.

    Of what is its own it may write to the arrays, others are guarded.
    """
    kind = type(record)
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        if is_own or kind in _writing:
            return kind(**(given if is_own else _copied(given)))
        made = kind(**_guarded(given))
        if any(type(x) is np.ndarray for x in given.values()):
            _reading.add(kind)
        return made
    if is_own or kind in _writing:
        return None
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        made = kind(**_copied(given))
        _writing.add(kind)
        _reading.discard(kind)
        return made
    return None


def is_cache(name: str, made: Any) -> bool:
    """Whether this is where methods keep for later what they have found: private, and made empty."""
    return name.startswith("_") and isinstance(made, (dict, list, set)) and not made


def is_random(x: Any) -> bool:
    """Whether it draws numbers, and has their state."""
    return isinstance(x, (np.random.Generator, np.random.RandomState, random.Random))


def _is_cached_property(record: Any, name: str) -> bool:
    return isinstance(inspect.getattr_static(type(record), name, None), functools.cached_property)


def _cannot_be_made_again(record: Any, of: _Class, names: list[str]) -> TypeError:
    name, several = type(record).__name__, ", ".join(names)
    if of.arguments:
        return TypeError(
            f"{name} has made {several} by its arguments {', '.join(of.arguments)}, which are no fields: of "
            f"other numbers it cannot be made again; make fields of them"
        )
    return TypeError(
        f"{name} has {several}, which is not what it makes of the fields that it has now, and may be made of "
        f"them: of other numbers it cannot be made again; make {several} a field that is given, a property, "
        f"or a functools.cached_property"
    )
