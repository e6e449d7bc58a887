"""The fields of dataclasses, and what records of them have besides."""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
from typing import Any, NamedTuple

from lindiff.core.likeness import slots_in

__all__ = [
    "RecordClass",
    "besides_of",
    "class_of",
    "is_incomplete",
    "note_incomplete",
    "own_fields",
    "shown_besides",
]


class RecordClass(NamedTuple):
    """What there is to know of a dataclass."""

    given: tuple[str, ...]  # the fields that its constructor takes
    in_tree: tuple[str, ...]  # of these the ones that are not static
    static: tuple[str, ...]  # what its metadata say to be no part of a tree
    others: tuple[str, ...]  # other fields, and slots
    arguments: tuple[str, ...]  # of its constructor, which are no fields
    makes: bool  # whether it makes anything but what it is given
    is_plain: bool  # and what it has is in its ``__dict__``, as it was set


def class_of(record: Any) -> RecordClass:
    """What there is to know of a record's class."""
    kind: Any = type(record)
    return _known(kind)


@functools.lru_cache(maxsize=1024)
def _known(kind: Any) -> RecordClass:
    fields = dataclasses.fields(kind)
    given = tuple(field.name for field in fields if field.init)
    static = tuple(field.name for field in fields if field.metadata.get("static", False))
    in_tree = tuple(name for name in given if name not in static)
    slots = [name for base in kind.__mro__ for name in slots_in(base)]
    others = [*(field.name for field in fields if not field.init), *slots]
    others = [name for name in dict.fromkeys(others) if name not in given and not name.startswith("__")]
    makes = (
        not _is_generated(kind.__init__)
        or hasattr(kind, "__post_init__")
        or any(not field.init for field in fields)
    )
    stored = all(not hasattr(inspect.getattr_static(kind, name, None), "__set__") for name in given)
    is_plain = stored and not (makes or others)
    return RecordClass(given, in_tree, static, tuple(others), _arguments(kind, given), makes, is_plain)


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


def besides_of(record: Any) -> dict[str, Any]:
    """What a record has besides the fields that it was given."""
    of, has = class_of(record), getattr(record, "__dict__", {})
    if of.others:
        has = {name: getattr(record, name) for name in of.others if hasattr(record, name)} | has
    return {name: x for name, x in has.items() if name not in of.given and name != INCOMPLETE}


def shown_besides(record: Any) -> dict[str, Any]:
    """What a record has besides its fields under public names, where there is something."""
    besides = besides_of(record)
    return {name: x for name, x in besides.items() if x is not None and not name.startswith("_")}


def own_fields(record: Any) -> dict[str, Any]:
    """The fields that it was given, as they are now."""
    return {name: getattr(record, name) for name in class_of(record).given if hasattr(record, name)}


# -- derivatives and stacked results -----------------------------------------------------------------------

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
    return tuple(map(id, (type(record), *own_fields(record).values())))
