"""Functions applied to vectors and along axes of an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import on_host
from lindiff.core.registry import composed
from lindiff.rules._common import as_array, normalized_axis

__all__: list[str] = []


@composed(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The results take the place of ``axis``."""
    arr = as_array(arr)
    axis = normalized_axis(axis, arr.ndim)
    others = (*arr.shape[:axis], *arr.shape[axis + 1 :])
    if 0 in others:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    vectors = np.reshape(np.moveaxis(arr, axis, -1), (-1, arr.shape[axis]))
    results = np.stack([as_array(func1d(vectors[i], *args, **kwargs)) for i in range(vectors.shape[0])])
    results = np.reshape(results, others + results.shape[1:])
    n, last = len(others), results.ndim
    return np.moveaxis(results, range(n, last), range(axis, axis + last - n))


@composed(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """``func(a, axis)`` for one axis after the other; a result without the axis gets it back."""
    result = as_array(a)
    for axis in on_host(axes).reshape(-1).tolist():
        axis = axis + result.ndim if axis < 0 else axis
        found = func(result, axis)
        if found.ndim != result.ndim:
            found = np.expand_dims(found, axis)
            if found.ndim != result.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        result = found
    return result
