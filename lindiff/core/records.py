"""Dataclasses with other fields, and containers of classes of one's own with other items.

A record is what its class makes of its fields.  What it has besides is compared with what the class makes of
the same fields once more.  What is alike is made of the other fields, too, and so has their derivatives; what
the class writes to the fields has been written to them already.  What is not was set later: a switch, a
count, a function stays as it is, and what is missing stays away.  Of numbers nobody can tell whether they are
made of the fields: these are refused, private ones, too; but cached properties are found again.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.likeness import (
    are_alike,
    attributes_of,
    bare,
    has_arrays,
    has_numbers,
    is_number,
    is_value,
    slots_in,
)

__all__ = ["besides_of", "check_alike", "derivative", "remade", "shown_besides", "with_items"]


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


@functools.cache
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
                type(record).__init__(other, **_copied(given))
        except Exception:
            if has_numbers(besides) or all(x is not None for x in besides.values()):
                raise
            stays = besides  # of a derivative, which its class may refuse
        given |= stays
    if has_gaps(record):
        _note_gaps(other)
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
    other = object.__new__(type(record))
    for field in dataclasses.fields(record):
        if field.name in fields:
            object.__setattr__(other, field.name, fields[field.name])
        elif hasattr(record, field.name):
            x = getattr(record, field.name)
            object.__setattr__(other, field.name, x if field.init or not has_numbers(x) else None)
    _note_gaps(other)
    return other


def has_gaps(record: Any) -> bool:
    """Whether it is a derivative, or stacked results, which have None for what the class makes."""
    known = _with_gaps.get(id(record))
    return known is not None and known() is record


_with_gaps: dict[int, Any] = {}


def _note_gaps(record: Any) -> None:
    key = id(record)
    with contextlib.suppress(TypeError):  # slots have no room for a reference
        _with_gaps[key] = weakref.ref(record, lambda _: _with_gaps.pop(key, None))


def check_alike(records: list[Any]) -> None:
    """Raise a TypeError where what some records have besides their numbers, and stays, differs."""
    of_each = [_static(record) | _that_stays(record) for record in records]
    for name in {name: None for stays in of_each for name in stays}:
        first = of_each[0].get(name)
        if any(name not in stays or not are_alike(stays[name], first) for stays in of_each):
            raise TypeError(
                f"vmap stacks what is in the fields of {type(records[0]).__name__}, and its results have "
                f"different {name}: make it a field that is given, and not static"
            )


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
    return {name: x for name, x in has.items() if name not in of.given}


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
        is_made = has_gaps(record) and any(x is None for x in besides.values())
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
            if not (has_arrays(x) or is_value(x) or others.is_made_of_fields(name)):
                stays[name] = x  # it may have a state
        elif x is None:
            if not (has_gaps(record) and has_numbers(makes[name])):
                stays[name] = x
        elif has_numbers(x) or others.is_made_of_fields(name):
            raise _cannot_be_made_again(record, of, [name])
        else:
            stays[name] = x
    away = set() if has_gaps(record) else makes.keys() - besides.keys()
    return stays, away, of.makes


class _Others:
    """What a class makes of other numbers in the fields than those of which it made `again`."""

    def __init__(self, record: Any, of: _Class, own: dict[str, Any], again: Any) -> None:
        self._record, self._of, self._own, self._again = record, of, own, again

    @functools.cached_property
    def _given(self) -> list[dict[str, Any]]:
        return [
            {name: _moved(x, by, of_integers) for name, x in self._own.items()}
            for of_integers in (0, 1)
            for by in MOVES
        ]

    @functools.cached_property
    def _made(self) -> list[Any]:
        made = [_made(self._record, given) for given in self._given]
        return [other for other in made if other is not None]

    def is_made_of_fields(self, name: str) -> bool:
        """Whether the class makes something else of this name of other fields."""
        if not self._made:  # it takes no other numbers
            return has_numbers(_besides(self._again, self._of)[name])
        return not all(self._are_alike(name, self._again, other) for other in self._made)

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


def _copied(x: Any) -> Any:
    """With copies of the arrays in it, to which a class may write."""
    if is_number(x):
        return x.copy() if hasattr(x, "copy") else x
    return _with_parts(x, _copied)


def _with_parts(x: Any, function: Callable[[Any], Any]) -> Any:
    """A tuple, list or dict of what a function makes of its parts."""
    if type(x) in (tuple, list):
        return type(x)(map(function, x))
    if type(x) is dict:
        return {key: function(part) for key, part in x.items()}
    if isinstance(x, tuple) and hasattr(x, "_make"):
        return x._make(map(function, x))
    return x


def _made(record: Any, given: dict[str, Any]) -> Any:
    """What the class makes of these fields; None where it refuses them."""
    try:
        with np.errstate(all="ignore"):
            return type(record)(**_copied(given))
    except Exception:
        return None


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
