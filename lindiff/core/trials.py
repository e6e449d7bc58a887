"""What the class of a record makes of its fields, and of others: found out by trying."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lindiff.core.fields import besides_of, class_of, own_fields
from lindiff.core.likeness import are_alike, attributes_of, bare, has_numbers, is_number, parts_held

__all__ = ["Trials", "cannot_be_made_again", "copied", "is_reading", "made_of"]


class Trials:
    """What a class makes of other numbers in the fields than those of which it made `again`."""

    def __init__(self, record: Any, again: Any) -> None:
        self._record, self._again, self._own = record, again, own_fields(record)

    @functools.cached_property
    def _given(self) -> list[dict[str, Any]]:
        of_integers = any(_has_integers(self._own.get(name)) for name in class_of(self._record).in_tree)
        return [*self._moved_by(0), *(self._moved_by(1) if of_integers else ())]

    def _moved_by(self, of_integers: int) -> Iterator[dict[str, Any]]:
        in_tree = class_of(self._record).in_tree
        for by in MOVES:
            yield {
                name: _moved(x, by, of_integers) if name in in_tree else x for name, x in self._own.items()
            }

    @functools.cached_property
    def _made(self) -> list[Any]:
        made = [made_of(self._record, given) for given in self._given]
        return [other for other in made if other is not None]

    @functools.cached_property
    def _once_more(self) -> Any:
        return made_of(self._record, self._own)

    def is_made_of_fields(self, name: str) -> bool:
        """Whether the class makes something else of this name of other fields, and the same of the same."""
        if not self._made:  # it takes no other numbers
            return has_numbers(besides_of(self._again)[name])
        if all(self._are_alike(name, self._again, other) for other in self._made):
            return False
        once_more = self._once_more
        return once_more is None or self._are_alike(name, self._again, once_more)

    def check_arguments(self, name: str) -> None:
        """Raise unless this shows by which arguments of the constructor, that are no fields, it was made.

        It does where it is another one by others, or where these change it for no fields.
        """
        parameters = inspect.signature(type(self._record).__init__).parameters
        for argument in class_of(self._record).arguments:
            default = parameters[argument].default
            if not isinstance(default, (int, float)):
                raise cannot_be_made_again(self._record, [name])
            other = {argument: not default if isinstance(default, bool) else default * 1.5 + 1}
            if self._shows(name, self._own, other):
                continue
            if any(self._shows(name, given, other) for given in self._given):
                raise cannot_be_made_again(self._record, [name])

    def _shows(self, name: str, given: dict[str, Any], other: dict[str, Any]) -> bool:
        """Whether another argument makes something else of these fields."""
        one, two = made_of(self._record, given), made_of(self._record, given | other)
        if one is None or two is None:
            return one is not two
        return not self._are_alike(name, one, two)

    def _are_alike(self, name: str, one: Any, two: Any) -> bool:
        """Whether two records of the class have the same of this name."""
        x, y = (besides_of(record).get(name) for record in (one, two))
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
        own = own_fields(x)
        made = made_of(x, {name: _moved(y, by, of_integers) for name, y in own.items()})
        return x if made is None else made
    return _with_parts(x, lambda part: _moved(part, by, of_integers))


def _has_integers(x: Any) -> bool:
    """Whether there are integers in it that are numbers of a tree."""
    if is_number(x):
        return bare(x).dtype.kind in "iu"
    if type(x) is int:
        return True
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return any(map(_has_integers, own_fields(x).values()))
    return isinstance(x, (list, tuple, dict)) and any(map(_has_integers, parts_held(x) or ()))


# Classes that were seen to write to no array that they are given, and those that do.
_reading: weakref.WeakSet[Any] = weakref.WeakSet()
_writing: weakref.WeakSet[Any] = weakref.WeakSet()


def is_reading(record: Any) -> bool:
    """Whether its class was seen to write to no array that it is given."""
    return type(record) in _reading


def copied(x: Any) -> Any:
    """With copies of the arrays in it, to which a class may write."""
    if is_number(x):
        return x.copy() if hasattr(x, "copy") else x
    return _with_parts(x, copied)


def _guarded(x: Any) -> Any:
    """With arrays in it to which nobody can write, and copies of what is no NumPy array."""
    if type(x) is np.ndarray:
        view = x.view()
        view.flags.writeable = False
        return view
    return copied(x) if is_number(x) else _with_parts(x, _guarded)


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


def made_of(record: Any, given: dict[str, Any]) -> Any:
    """What the class makes of these fields, to whose arrays it cannot write; None where it refuses them."""
    kind = type(record)
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        made = kind(**(copied(given) if kind in _writing else _guarded(given)))
        if kind not in _writing and any(type(x) is np.ndarray for x in given.values()):
            _reading.add(kind)
        return made
    if kind in _writing:
        return None
    with contextlib.suppress(Exception), np.errstate(all="ignore"):
        made = kind(**copied(given))
        _writing.add(kind)
        _reading.discard(kind)
        return made
    return None


def cannot_be_made_again(record: Any, names: list[str]) -> TypeError:
    """What to raise for numbers of which nobody can tell where they are from."""
    of, name, several = class_of(record), type(record).__name__, ", ".join(names)
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
