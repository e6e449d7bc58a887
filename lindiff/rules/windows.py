"""Sliding windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import foreign
from lindiff.core.differential import Linear
from lindiff.core.registry import composed, gives_arrays, rule
from lindiff.core.variable import Variable
from lindiff.rules._common import along, as_array, normalized_axes

__all__: list[str] = []

sliding_window_view = np.lib.stride_tricks.sliding_window_view


def seen(x: Any, length: int, axis: int) -> Any:
    """The windows; CuPy's do not tell whose memory they share, so that they get their own."""
    view = sliding_window_view(x, length, axis)
    return view if isinstance(x, Variable) or foreign(x) is None else view.copy()


@rule
def windows(x: Any, length: int, axis: int) -> Any:
    """The windows of one length along one axis; a further axis goes through each of them."""
    return seen(x, length, axis), Linear(
        (lambda x_dot: windows(x_dot, length, axis),),
        (lambda y_bar: overlapped(y_bar, axis),),
    )


@rule
def overlapped(y: Any, axis: int) -> Any:
    """Windows laid over each other and added: the adjoint of :func:`windows`."""
    count, length = y.shape[axis], y.shape[-1]
    if isinstance(y, Variable):  # of an outer trace
        x = overlapped(y, axis)
    else:
        x = np.zeros_like(y, shape=(*y.shape[:axis], count + length - 1, *y.shape[axis + 1 : -1]))
        for k in range(length):
            x[along(axis, slice(k, k + count))] += y[..., k]
    return x, Linear(
        (lambda y_dot: overlapped(y_dot, axis),),
        (lambda x_bar: windows(x_bar, length, axis),),
    )


@composed(sliding_window_view)
def sliding_window_view_(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Windows along several axes are windows of windows."""
    if writeable:
        raise TypeError("windows of a Variable overlap and cannot be written to: leave out writeable=True")
    x = as_array(x)
    lengths = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = tuple(range(x.ndim)) if axis is None else normalized_axes(axis, x.ndim)
    if len(lengths) != len(axes):
        raise ValueError(
            f"Must provide matching length window_shape and axis; got {len(lengths)} window_shape elements "
            f"and {len(axes)} axes elements."
        )
    for length, k in zip(lengths, axes, strict=True):
        x = windows(x, length, k)
    return x


gives_arrays(sliding_window_view)
