"""Whether objects are alike, and whether there are numbers in them, as far as anybody can see."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import pickle
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = [
    "are_alike",
    "attributes_of",
    "bare",
    "has_arrays",
    "has_numbers",
    "holds_values",
    "is_number",
    "numbers_in",
    "parts_held",
    "slots_in",
]

# What arrays have that are not NumPy's: Variables, recorded ones, those of GPUs.
ARRAYS = ("_value", "__lindiff_read_only__", "__cuda_array_interface__")

# What numbers of the same computation may differ by, in units of the last place.
ROUNDING = 64

_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, functools.partial, np.ufunc)
# In which nobody looks for numbers.
_WITHOUT = (type, types.ModuleType, str, bytes, bool, int, enum.Enum, np.dtype, type(None))


def bare(leaf: Any) -> Any:
    """The array of a leaf, without the Variables around it."""
    while hasattr(type(leaf), "_value"):  # the constant of a Variable is plain
        leaf = leaf._value
    return leaf if hasattr(leaf, "dtype") else np.asarray(leaf)


def is_number(x: Any) -> bool:
    """Whether it is a number with a derivative, or an array, of whichever library."""
    if isinstance(x, (float, complex, np.ndarray, np.generic)):
        return True
    kind = type(x)
    return any(hasattr(kind, name) and hasattr(x, name) for name in ARRAYS)


def holds_values(x: Any) -> bool:
    """Whether it has no state: a constant, a function, or a container of such that is not empty."""
    if isinstance(x, (list, dict, set)):
        return bool(x) and all(map(holds_values, dict.values(x) if isinstance(x, dict) else x))
    if isinstance(x, (tuple, frozenset)):
        return all(map(holds_values, x))
    return isinstance(x, (*_WITHOUT, *_FUNCTIONS, slice, range))


def has_numbers(x: Any) -> bool:
    """Whether there are numbers with a derivative in an object, or in what it holds, however far down."""
    return any(getattr(bare(leaf).dtype, "kind", "f") in "fcO" for leaf in numbers_in(x))


def has_arrays(x: Any) -> bool:
    """Whether there are numbers in it that are no bare integers: arrays of integers, too."""
    return next(numbers_in(x), None) is not None


def numbers_in(x: Any) -> Iterator[Any]:
    """Numbers and arrays in an object, or in what it holds."""
    queue, seen = [x], set()
    for each in queue:
        if isinstance(each, _WITHOUT) or id(each) in seen:
            continue
        seen.add(id(each))
        if is_number(each):
            yield each
        else:
            queue.extend(parts_held(each) or ())


def parts_held(x: Any) -> list[Any] | None:
    """What an object holds; None where nobody can look into it."""
    if isinstance(x, types.FunctionType):
        held = [cell.cell_contents for cell in x.__closure__ or () if _is_filled(cell)]
        return [*held, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
    if isinstance(x, types.MethodType):
        return [x.__self__]
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, types.MappingProxyType):
        return list(x.values())
    attributes = list(attributes_of(x).values())
    if isinstance(x, dict):
        return [*dict.values(x), *attributes]
    if isinstance(x, (tuple, list, set, frozenset, deque)):
        return [*x, *attributes]
    if dataclasses.is_dataclass(x) and not attributes:
        return [getattr(x, field.name, None) for field in dataclasses.fields(x)]
    return attributes or None


def attributes_of(x: Any) -> dict[str, Any]:
    """What an object has in its ``__dict__`` and its slots, by names."""
    kind: Any = type(x)
    attributes = getattr(x, "__dict__", None)
    in_slots = {name: getattr(x, name) for name in _slots_of(kind) if hasattr(x, name)}
    return in_slots | attributes if isinstance(attributes, dict) else in_slots


@functools.lru_cache(maxsize=512)
def _slots_of(kind: type) -> tuple[str, ...]:
    """The names of attributes that have no place in a ``__dict__``."""
    found = [name for base in kind.__mro__ for name in slots_in(base)]
    return tuple(name for name in found if not name.startswith("__"))


def slots_in(base: type) -> tuple[str, ...]:
    """What a class says of its slots."""
    slots = base.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is cell or True
    except ValueError:
        return False


def are_alike(x: Any, y: Any, known: dict[tuple[int, int], Any] | None = None) -> bool:
    """Whether two objects are the same, or made the same way of the same, or hide what they hold.

    `known` has pairs of ids that count as such.
    """
    if x is y:
        return True
    known = {} if known is None else known
    if (id(x), id(y)) in known:
        return True
    known[id(x), id(y)] = x, y
    if is_number(x) or is_number(y):
        return _are_same_numbers(x, y)
    if type(x) is not type(y) or isinstance(x, (type, types.ModuleType, enum.Enum)):
        return False
    if isinstance(x, types.FunctionType) and x.__code__ is not y.__code__:
        return False
    if isinstance(x, types.MethodType) and x.__func__ is not y.__func__:
        return False
    if isinstance(x, dict) and list(x) != list(y):
        return False
    if isinstance(x, (set, frozenset)):
        return bool(x == y)
    parts, others = parts_held(x), parts_held(y)
    if parts is not None and others is not None:
        return len(parts) == len(others) and all(
            are_alike(*pair, known) for pair in zip(parts, others, strict=True)
        )
    return _are_equal(x, y)


def _are_equal(x: Any, y: Any) -> bool:
    """Of objects into which nobody can look."""
    if isinstance(x, (types.BuiltinFunctionType, np.ufunc)):
        return False
    with contextlib.suppress(Exception):
        if getattr(type(x), "__eq__", None) is object.__eq__:
            return pickle.dumps(x) == pickle.dumps(y)
        return bool(x == y)
    return True


def _are_same_numbers(x: Any, y: Any) -> bool:
    try:
        a, b = bare(x), bare(y)
        if a.shape != b.shape:
            return False
        if not (a.dtype.kind in "fc" and b.dtype.kind in "fc"):
            return bool(np.array_equal(a, b))
        rounding = ROUNDING * float(np.finfo(a.dtype).eps)  # of what was normalized once more
        size = float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a)))
        return bool(np.allclose(a, b, rtol=rounding, atol=rounding * size, equal_nan=True))
    except (TypeError, ValueError, AttributeError):
        return False
