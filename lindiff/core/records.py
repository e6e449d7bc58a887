"""Dataclasses with other fields, and containers of classes of one's own with other items.

A record is what its class makes of its fields.  What it has besides is compared with what the class makes of
the same fields once more.  What is alike is made of the other fields, too, and so has their derivatives; what
the class writes to the fields has been written to them already.  What is not was set later: a switch, a
count, a function stays as it is, and what is missing stays away.  Of numbers nobody can tell whether they are
made of the fields: these are refused, private ones, too; but cached properties are found again.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import random
from typing import Any

import numpy as np

from lindiff.core.fields import besides_of, class_of, is_incomplete, note_incomplete, own_fields
from lindiff.core.likeness import are_alike, attributes_of, has_arrays, has_numbers, holds_values
from lindiff.core.trials import Trials, cannot_be_made_again, copied, is_reading, made_of

__all__ = ["check_alike", "derivative", "remade", "with_items"]


def remade(record: Any, fields: dict[str, Any]) -> Any:
    """A dataclass with other fields.

    Raises
    ------
    TypeError
        If it has numbers besides of which nobody can tell whether they are made of the fields.
    """
    of = class_of(record)
    other = object.__new__(type(record))
    if of.is_plain and len(record.__dict__) == len(of.given):
        other.__dict__.update(record.__dict__)
        other.__dict__.update(fields)
        return other
    given, besides = own_fields(record) | fields, besides_of(record)
    away: set[str] = set()
    if besides:
        stays, away, made = _apart(record, besides)
        try:
            if made:
                type(record).__init__(other, **(given if is_reading(record) else copied(given)))
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


def _static(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in class_of(record).static if hasattr(record, name)}


def _that_stays(record: Any) -> dict[str, Any]:
    besides = besides_of(record)
    return _apart(record, besides)[0] if besides else {}


# -- what is made, and what stays --------------------------------------------------------------------------


def _apart(record: Any, besides: dict[str, Any]) -> tuple[dict[str, Any], set[str], bool]:
    """What stays as it is, what stays away, and whether the rest is made of the fields."""
    of = class_of(record)
    again = made_of(record, own_fields(record)) if of.makes else None
    if of.makes and again is None:
        numbers = [name for name, x in besides.items() if has_numbers(x)]
        if numbers:
            raise cannot_be_made_again(record, numbers)
        is_made = is_incomplete(record) and any(x is None for x in besides.values())
        return {name: x for name, x in besides.items() if x is not None or not is_made}, set(), is_made
    makes = {} if again is None else besides_of(again)
    others = Trials(record, again)
    stays = {}
    for name, x in besides.items():
        if name not in makes:
            if _is_cached_property(record, name):
                continue
            if has_numbers(x):
                raise cannot_be_made_again(record, [name])
            stays[name] = x
        elif are_alike(x, makes[name], {(id(record), id(again)): (record, again)}):
            if of.arguments and others.is_made_of_fields(name):
                others.check_arguments(name)
            if _is_cache(name, makes[name]) or has_arrays(x) or holds_values(x):
                continue
            if not others.is_made_of_fields(name):
                stays[name] = x  # it may have a state
        elif _is_cache(name, makes[name]) or (x is None and is_incomplete(record)):
            continue
        elif x is None and has_numbers(makes[name]) and not hasattr(record, "__dict__"):
            raise cannot_be_made_again(record, [name])  # or is it a copy of a derivative?
        elif x is not None and not _is_random(x) and (has_numbers(x) or others.is_made_of_fields(name)):
            raise cannot_be_made_again(record, [name])
        else:
            stays[name] = x
    away = set() if is_incomplete(record) else makes.keys() - besides.keys()
    return stays, away, of.makes


def _is_cache(name: str, made: Any) -> bool:
    """Whether this is where methods keep for later what they have found: private, and made empty."""
    return name.startswith("_") and isinstance(made, (dict, list, set)) and not made


def _is_random(x: Any) -> bool:
    """Whether it draws numbers, and has their state."""
    return isinstance(x, (np.random.Generator, np.random.RandomState, random.Random))


def _is_cached_property(record: Any, name: str) -> bool:
    return isinstance(inspect.getattr_static(type(record), name, None), functools.cached_property)
