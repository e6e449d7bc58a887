"""What functions return: what a program gives, too, and plain arrays in the place of recorded ones."""

from __future__ import annotations

import dataclasses
import enum
import gc
import itertools
import types
from collections import deque
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.programs.recorded import Recorded
from lindiff.programs.recording import Recording, Unrecordable

__all__ = ["can_be_copied", "lowered", "make_plain", "not_given", "own"]

# Results that are no arrays.
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), np.dtype, type)
# Classes that are made by Python code.
_HEAP_TYPE = 1 << 9


class _Empty:
    """As large as an object whose attributes are all in its ``__dict__``."""


def not_given(outcome: Any) -> str | None:
    """Why no program gives such a result; None where it gives the same."""
    kind = type(outcome)
    if outcome is None or not pytree.is_tree(outcome):
        is_known = issubclass(kind, Recorded) or _is_constant(outcome)
        return None if is_known else f"a result that is a {kind.__name__}"
    if kind is dict:
        if not all(map(_is_key, outcome)):
            return "a result with keys that are no constants"
    elif dataclasses.is_dataclass(outcome):
        names = {field.name for field in dataclasses.fields(outcome) if field.init}
        held = set(getattr(outcome, "__dict__", ()))
        if hasattr(outcome, "__post_init__") or held - names or len(names) < len(dataclasses.fields(outcome)):
            return f"a result that is a {kind.__name__}, which is more than what it is made of"
    elif kind not in (tuple, list) and (not hasattr(kind, "_make") or getattr(outcome, "__dict__", None)):
        return f"a result that is a {kind.__name__}"
    return next(filter(None, (not_given(pytree.item(outcome, key)) for key in pytree.keys(outcome))), None)


def _is_constant(x: Any) -> bool:
    """Whether a program can give this itself, or a copy, each time."""
    if isinstance(x, np.ndarray):
        return type(x) is np.ndarray and not x.dtype.hasobject
    return isinstance(x, _CONSTANTS) or (isinstance(x, np.generic) and not isinstance(x, np.void))


def _is_key(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_key, x))
    return isinstance(x, (*_CONSTANTS, enum.Enum, np.generic))


def own(x: Any) -> Any:
    """A copy of an array that is a constant."""
    return x.copy(order="K") if isinstance(x, np.ndarray) else x


def can_be_copied(constants: list[np.ndarray[Any, Any]]) -> bool:
    """Whether copies of these arrays are laid out as they are, and none is a view of another one."""
    arrays = list({id(x): x for x in constants}.values())
    return all(x.flags.writeable and _steps(own(x)) == _steps(x) for x in arrays) and not any(
        np.may_share_memory(x, y) for x, y in itertools.combinations(arrays, 2)
    )


def _steps(x: np.ndarray[Any, Any]) -> list[int]:
    """The strides of axes with neighbours."""
    return [step for step, n in zip(x.strides, x.shape, strict=True) if n > 1] if x.size else []


def lowered(outcome: Any) -> Any:
    """A function's result with plain arrays: the same lists, dicts and objects, which now hold these.

    Raises
    ------
    Unrecordable
        If there is something in it into which nobody can look.
    """
    return _Lowering().of(outcome)


class _Lowering:
    """What has been looked into, and what has come of it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}

    def of(self, x: Any) -> Any:
        if isinstance(x, Recorded):
            return x.array
        if isinstance(x, (*_CONSTANTS, np.generic, enum.Enum)) or _is_plain_array(x):
            return x
        if id(x) not in self._known:
            self._known[id(x)] = x, x  # where it holds itself
            self._known[id(x)] = x, self._of_nest(x)
        return self._known[id(x)][1]

    def _of_nest(self, x: Any) -> Any:
        if isinstance(x, tuple):
            return self._of_tuple(x)
        if type(x) is np.ndarray and x.dtype == object and x.flags.writeable and x.ndim:
            for i in np.ndindex(x.shape):
                if (plain := self.of(x[i])) is not x[i]:
                    x[i] = plain
            return x
        if type(x) is list:
            x[:] = map(self.of, x)
        elif isinstance(x, dict):
            self._lower_dict(x)
        elif not _is_made_of_attributes(x):
            raise Unrecordable(f"a result that is a {type(x).__name__}")
        for name, value in [*getattr(x, "__dict__", {}).items(), *_in_slots(x)]:
            if (plain := self.of(value)) is not value:
                object.__setattr__(x, name, plain)
        return x

    def _of_tuple(self, x: Any) -> Any:
        if type(x) is not tuple and not hasattr(x, "_make"):
            raise Unrecordable(f"a result that is a {type(x).__name__}")
        parts = [self.of(part) for part in x]
        if all(part is before for part, before in zip(parts, x, strict=True)):
            return x
        return pytree.rebuild(x, parts)

    def _lower_dict(self, x: dict[Any, Any]) -> None:
        items = [(self.of(key), self.of(value)) for key, value in x.items()]
        if any(key is not before for (key, _), before in zip(items, x, strict=True)):
            if type(x) is not dict:
                raise Unrecordable(f"a result that is a {type(x).__name__}")
            x.clear()
        for key, value in items:
            dict.__setitem__(x, key, value)


def _is_plain_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) and not x.dtype.hasobject


def _is_made_of_attributes(x: Any) -> bool:
    """Whether an object holds nothing besides its attributes."""
    kind = type(x)
    made = all(base.__flags__ & _HEAP_TYPE for base in kind.__mro__[:-1])
    slots = len(_in_slots(x))
    return made and not kind.__itemsize__ and kind.__basicsize__ <= _Empty.__basicsize__ + 8 * slots


def _in_slots(x: Any) -> list[tuple[str, Any]]:
    names = [name for base in type(x).__mro__ for name in _names(vars(base).get("__slots__", ()))]
    return [(name, getattr(x, name)) for name in names if hasattr(x, name)]


def _names(slots: Any) -> list[str]:
    return [slots] if isinstance(slots, str) else list(slots)


# -- arrays that are kept ----------------------------------------------------------------------------------


def make_plain(recording: Recording) -> None:
    """Put plain arrays where a function keeps recorded ones: in lists, dicts, cells, attributes.

    In tuples, and in what C code holds, they stay as they are: they do what their arrays do.
    """
    kept = [x for x in gc.get_referrers(recording) if isinstance(x, Recorded)]
    plain = {id(x): x.array for x in kept}
    holders = [x for x in gc.get_referrers(*kept) if x is not kept]
    dicts = [x for x in holders if type(x) is dict]
    classes = [x for x in gc.get_referrers(*dicts) if isinstance(x, type)] if dicts else []
    of_classes = {id(x) for x in gc.get_referents(*classes)}
    for kind in classes:
        for name, value in [*vars(kind).items()]:
            if id(value) in plain:
                setattr(kind, name, plain[id(value)])
    for holder in holders:
        if id(holder) not in of_classes:
            _replace(holder, plain)


def _replace(holder: Any, plain: dict[int, Any]) -> None:
    """Put plain arrays into an object, by the ids of what they replace."""
    if isinstance(holder, (list, deque)):
        for i, x in enumerate(holder):
            if id(x) in plain:
                holder[i] = plain[id(x)]
    elif isinstance(holder, dict):
        for key, x in [*holder.items()]:
            if id(x) in plain:
                dict.__setitem__(holder, key, plain[id(x)])
    elif isinstance(holder, types.CellType):
        if id(holder.cell_contents) in plain:
            holder.cell_contents = plain[id(holder.cell_contents)]
    elif _is_made_of_attributes(holder):
        for name, x in [*getattr(holder, "__dict__", {}).items(), *_in_slots(holder)]:
            if id(x) in plain:
                object.__setattr__(holder, name, plain[id(x)])
