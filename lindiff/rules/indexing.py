"""Basic and advanced indexing, and its adjoint, the scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable

__all__ = ["is_advanced", "scatter"]


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
            np.add.at(x, index, y)
        else:
            x[index] += y
    return x, Linear(
        (lambda y_dot: scatter(y_dot, index, shape, dtype),),
        (lambda x_bar: x_bar[index],),
    )
