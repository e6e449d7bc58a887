"""Sums, means, extremes, products: reductions and cumulative functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Linear
from lindiff.core.registry import rule


def spread(y_bar: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """A reduction's cotangent broadcast back to the shape before it."""
    if axis is not None and not keepdims:
        axes = axis if isinstance(axis, tuple) else (axis,)
        y_bar = np.expand_dims(y_bar, tuple(a % len(shape) for a in axes))
    return np.broadcast_to(y_bar, shape)


@rule(np.sum)
def sum_(x: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
    y = np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)
    return y, Linear(
        lambda x_dot: np.sum(x_dot, axis=axis, dtype=dtype, keepdims=keepdims),
        lambda y_bar: spread(y_bar, x.shape, axis, keepdims),
    )
