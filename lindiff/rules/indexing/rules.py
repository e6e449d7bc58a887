"""Basic and advanced indexing, and its adjoint, the scatter."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lindiff.core.arrays import add_at, on_host
from lindiff.core.differential import Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, another, untraced

__all__ = ["has_repeats", "host_parts", "is_advanced", "last_written", "replaced", "scatter"]


def is_advanced(index: Any) -> bool:
    """Whether an index may name an element twice or gives a copy: arrays, lists and booleans in it."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(
        isinstance(part, (list, tuple, bool, np.bool_))
        or (hasattr(part, "ndim") and not isinstance(part, np.generic))
        for part in parts
    )


@rule
def scatter(y: Any, index: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of zeros with ``y`` added at ``index``: the adjoint of ``x[index]``."""
    if isinstance(y, Variable):  # of an outer trace
        x = scatter(y, index, shape, dtype)
    else:
        x = np.zeros_like(y, shape=shape, dtype=dtype)
        if is_advanced(index):
            add_at(x, index, y)
        else:
            x[index] += y
    return x, Linear(
        (lambda y_dot: scatter(y_dot, index, shape, dtype),),
        (lambda x_bar: x_bar[index],),
    )


def replaced(x: Any, index: Any, y: Any) -> Any:
    """``x`` with ``y`` written at ``index``, as a new array."""
    if isinstance(x, Variable) or isinstance(y, Variable):
        x = another(x) if isinstance(x, Variable) else untraced(x)
    else:
        x = np.copy(x)  # a number becomes an array
    x[index] = y
    return x


def has_repeats(index: Any) -> bool:
    """Whether an index may name an element twice: it has arrays of integers."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(
        isinstance(part, (list, tuple)) or (getattr(part, "ndim", 0) > 0 and part.dtype.kind in "iu")
        for part in parts
    )


def host_parts(index: Any) -> tuple[Any, ...]:
    """An index whose arrays are NumPy's."""
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(on_host(part) if hasattr(part, "ndim") else part for part in parts)


def last_written(index: Any, shape: tuple[int, ...]) -> Any:
    """Of what is written at ``index`` into an array of ``shape``, that which is not written over."""
    places = np.arange(math.prod(shape)).reshape(shape)[host_parts(index)]
    turns = np.arange(places.size).reshape(places.shape)
    last = np.zeros(math.prod(shape), int)
    np.maximum.at(last, places, turns)
    return last[places] == turns
