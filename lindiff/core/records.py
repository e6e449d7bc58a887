"""Dataclasses with other fields.  What they have besides those they were given is made of these, or stays.

A record is copied, not constructed: what its class writes to the fields has been written to them already.
What it has besides is compared with what the class makes of the same fields once more.  What is the same is
made of the other fields, too, and so has their derivatives.  What is not was set later, and stays as it is,
if the class makes it of no fields; else nobody can tell.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any, NamedTuple

import numpy as np

__all__ = ["bare", "check_alike", "derivative", "remade", "shown_besides"]


class _Class(NamedTuple):
    """What there is to know of a dataclass."""

    given: tuple[str, ...]  # the fields that its constructor takes
    others: tuple[str, ...]  # other fields, and slots
    arguments: tuple[str, ...]  # of its constructor, which are no fields
    makes: bool  # whether it makes anything but what it is given


def _of_class(record: Any) -> _Class:
    kind: Any = type(record)
    return _known(kind)


@functools.cache
def _known(kind: Any) -> _Class:
    fields = dataclasses.fields(kind)
    given = tuple(field.name for field in fields if field.init)
    slots = [name for base in kind.__mro__ for name in _slots(base)]
    others = {field.name: None for field in fields if not field.init} | dict.fromkeys(slots)
    arguments = tuple(
        name
        for name, field in kind.__dataclass_fields__.items()
        if field._field_type is vars(dataclasses)["_FIELD_INITVAR"]
    )
    own = kind.__init__.__code__.co_filename != "<string>" if hasattr(kind.__init__, "__code__") else True
    others = {name: None for name in others if name not in given and not name.startswith("__")}
    makes = own or hasattr(kind, "__post_init__") or any(not field.init for field in fields)
    return _Class(given, tuple(others), arguments, makes)


def _slots(base: Any) -> tuple[str, ...]:
    slots = base.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def remade(record: Any, fields: dict[str, Any]) -> Any:
    """A dataclass with other fields.

    Raises
    ------
    TypeError
        If it has numbers besides of which nobody can tell whether they are made of the fields.
    """
    of = _of_class(record)
    own = _own(record, of)
    other = object.__new__(type(record))
    for name, x in (own | fields).items():
        object.__setattr__(other, name, x)
        if fields.get(name) is x and getattr(other, name) is not x:
            raise TypeError(
                f"{type(record).__name__} changes its field {name} where it is set: of other numbers it "
                f"cannot be made again; change it in __post_init__"
            )
    besides = _besides(record, of)
    if besides or of.makes:
        for name, x in _of_others(record, of, own, own | fields, besides).items():
            object.__setattr__(other, name, x)
    return other


def derivative(record: Any, fields: dict[str, Any]) -> Any:
    """A dataclass with derivatives as its fields, without numbers that its class has made of other fields."""
    other = object.__new__(type(record))
    for field in dataclasses.fields(record):
        if field.name in fields:
            object.__setattr__(other, field.name, fields[field.name])
        elif hasattr(record, field.name):
            x = getattr(record, field.name)
            object.__setattr__(other, field.name, x if field.init or not _has_numbers(x) else None)
    return other


def _besides(record: Any, of: _Class) -> dict[str, Any]:
    """What a record has besides the fields that it was given."""
    has = {name: getattr(record, name) for name in of.others if hasattr(record, name)}
    has |= getattr(record, "__dict__", {})
    return {name: x for name, x in has.items() if name not in of.given}


def shown_besides(record: Any) -> dict[str, Any]:
    """The same of public names, where there is something."""
    besides = _besides(record, _of_class(record))
    return {name: x for name, x in besides.items() if x is not None and not name.startswith("_")}


def check_alike(records: list[Any]) -> None:
    """Raise a TypeError where what some records have besides their fields, and stays, differs."""
    of_each = [_that_stays(record) for record in records]
    for name in {name: None for stays in of_each for name in stays}:
        first = of_each[0].get(name)
        if any(name not in stays or not _are_same(stays[name], first) for stays in of_each):
            raise TypeError(
                f"vmap stacks what is in the fields of {type(records[0]).__name__}, and its results have "
                f"different {name}: make it a field that is given"
            )


def _that_stays(record: Any) -> dict[str, Any]:
    of = _of_class(record)
    besides = _besides(record, of)
    return _apart(record, of, _own(record, of), besides)[0] if besides else {}


def _own(record: Any, of: _Class) -> dict[str, Any]:
    return {name: getattr(record, name) for name in of.given if hasattr(record, name)}


def _of_others(
    record: Any, of: _Class, own: dict[str, Any], given: dict[str, Any], besides: dict[str, Any]
) -> dict[str, Any]:
    """What a record with these given fields has besides."""
    stays, made = _apart(record, of, own, besides)
    if not made:
        return stays
    found = _besides(type(record)(**given), of)
    return stays | {name: found[name] for name in made if name in found}


def _apart(
    record: Any, of: _Class, own: dict[str, Any], besides: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """What stays as it is, and the names of what is made of the fields."""
    again, writes = _made_again(record, of, own, besides)
    stays, made = {}, []
    for name, x in besides.items():
        if name not in again:
            if _is_set_on_top(record, name) or not _has_numbers(x):
                stays[name] = x
        elif _are_same(x, again[name]):
            made.append(name)
            _check_argument(record, of, name, own, x)
        elif _is_nothing(again[name]):
            _check_what_came_later(record, name, again[name], x)
            made.append(name)
        elif _has_numbers(x) and (writes or _may_be_made(record, of, name, own, again[name])):
            raise _cannot_be_made_again(record, of, [name])
        else:
            stays[name] = x
    return stays, made


def _made_again(
    record: Any, of: _Class, own: dict[str, Any], besides: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    """What the class makes besides the record's own fields, and whether it writes to these."""
    if not of.makes:
        return {}, False
    try:
        again = type(record)(**own)
    except Exception as error:
        with_numbers = [name for name, x in besides.items() if _has_numbers(x)]
        if with_numbers:
            raise _cannot_be_made_again(record, of, with_numbers) from error
        return {}, False
    writes = any(not _are_same(x, getattr(again, name, None)) for name, x in own.items())
    return _besides(again, of), writes


def _cannot_be_made_again(record: Any, of: _Class, names: list[str]) -> TypeError:
    name, several = type(record).__name__, ", ".join(names)
    if of.arguments:
        return TypeError(
            f"{name} has made {several} by its arguments {', '.join(of.arguments)}, which are no fields: of "
            f"other numbers it cannot be made again; make fields of them instead of InitVar"
        )
    return TypeError(
        f"{name} has {several}, which it does not make of the fields that it has now: of other numbers it "
        f"cannot be made again; make {several} a property, or do not write to the fields that it is made of"
    )


def _check_argument(record: Any, of: _Class, name: str, own: dict[str, Any], x: Any) -> None:
    """Raise an error where zeros made of fields are the same by any argument that is no field."""
    is_nothing = _has_numbers(x) and not any(np.any(bare(leaf)) for leaf in _numbers(x))
    if of.arguments and is_nothing and _is_made_of(record, of, name, own, x):
        raise _cannot_be_made_again(record, of, [name])


def _may_be_made(record: Any, of: _Class, name: str, own: dict[str, Any], again: Any) -> bool:
    """Whether other numbers than the class makes may be made of the fields, too."""
    if _is_count(again):
        return False
    return bool(of.arguments) or _is_made_of(record, of, name, own, again)


def _is_made_of(record: Any, of: _Class, name: str, own: dict[str, Any], x: Any) -> bool:
    """Whether the class makes x of these fields, and something else of others."""
    moved = {k: _moved(y) for k, y in own.items()}
    try:
        return not _are_same(x, _besides(type(record)(**moved), of).get(name))
    except Exception:
        return True


def _check_what_came_later(record: Any, name: str, nothing: Any, x: Any) -> None:
    """Raise an error for numbers where the class has None; what is private is computed again."""
    if nothing is None and _has_numbers(x) and not name.startswith("_"):
        raise TypeError(
            f"{type(record).__name__} has {name}, where its class has None: whether that is made of its "
            f"fields nobody can tell; make it a field that is given, or a functools.cached_property"
        )


def _is_set_on_top(record: Any, name: str) -> bool:
    """Whether it stands for an attribute of the class."""
    of_class = getattr(type(record), name, None)
    descriptors = property, functools.cached_property, types.MemberDescriptorType
    return hasattr(type(record), name) and not isinstance(of_class, descriptors)


def _is_nothing(x: Any) -> bool:
    return x is None or (isinstance(x, (tuple, list, dict, set)) and not x)


# -- numbers -----------------------------------------------------------------------------------------------


def bare(leaf: Any) -> Any:
    """The array of a leaf, without the Variables around it."""
    while hasattr(leaf, "_value"):  # the constant of a Variable is plain
        leaf = leaf._value
    return leaf if hasattr(leaf, "dtype") else np.asarray(leaf)


def _is_number(x: Any) -> bool:
    return isinstance(x, (float, complex)) or hasattr(x, "dtype")


def _moved(x: Any) -> Any:
    """Other numbers for those in x."""
    if _is_number(x):
        return bare(x) * np.float32(1.5) + np.float32(0.5) if bare(x).dtype.kind in "fc" else x
    if type(x) in (tuple, list):
        return type(x)(map(_moved, x))
    if type(x) is dict:
        return {k: _moved(y) for k, y in x.items()}
    return x


def _is_count(x: Any) -> bool:
    """Whether it is an integer, a switch, or an array of such."""
    return all(bare(leaf).dtype.kind not in "fc" for leaf in _numbers(x))


def _parts(x: Any) -> Any:
    """What is in a container; None for what is none."""
    if isinstance(x, (tuple, list)):
        return x
    if isinstance(x, dict):
        return list(x.values())
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return [getattr(x, field.name, None) for field in dataclasses.fields(x)]
    return None


def _numbers(x: Any) -> list[Any]:
    parts = _parts(x)
    if parts is None:
        return [x] if _is_number(x) else []
    return [number for part in parts for number in _numbers(part)]


def _has_numbers(x: Any) -> bool:
    return bool(_numbers(x))


# -- the same ----------------------------------------------------------------------------------------------


def _are_same(x: Any, y: Any) -> bool:
    """Whether two values are, as far as anybody can tell."""
    if x is y:
        return True
    if _is_number(x) or _is_number(y):
        return _are_same_numbers(x, y)
    parts, others = _parts(x), _parts(y)
    if parts is not None and others is not None:
        keys = not isinstance(x, dict) or not isinstance(y, dict) or list(x) == list(y)
        return keys and len(parts) == len(others) and all(map(_are_same, parts, others))
    if type(x) is not type(y):
        return False
    if isinstance(x, types.FunctionType):
        return x.__code__ is y.__code__
    if isinstance(x, types.MethodType):
        return x.__func__ is y.__func__
    if isinstance(x, functools.partial):
        return _are_same((x.func, x.args, x.keywords), (y.func, y.args, y.keywords))
    if callable(x) and type(x).__module__ in ("builtins", "numpy"):
        return False
    if getattr(type(x), "__eq__", None) is object.__eq__:
        return True
    try:
        return bool(x == y)
    except Exception:
        return True


def _are_same_numbers(x: Any, y: Any) -> bool:
    try:
        a, b = bare(x), bare(y)
        return bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc"))
    except (TypeError, ValueError):
        return False
