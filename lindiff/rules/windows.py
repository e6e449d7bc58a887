"""Sliding windows, and views by strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import foreign
from lindiff.core.differential import Linear
from lindiff.core.registry import composed, rule
from lindiff.core.variable import Variable, inside, is_recorded
from lindiff.rules._common import along, normalized_axes
from lindiff.rules.indexing.rules import scatter

__all__: list[str] = []

sliding_window_view = np.lib.stride_tricks.sliding_window_view
as_strided = np.lib.stride_tricks.as_strided


def tells_its_base(x: Any) -> bool:
    """Whether windows of ``x`` tell whose memory they share; CuPy's do not, and get their own, while those of
    programs do."""
    return isinstance(x, Variable) or foreign(x) is None or is_recorded(x)


@rule
def windows(x: Any, length: int, axis: int) -> Any:
    """The windows of one length along one axis; a further axis goes through each of them."""
    view = sliding_window_view(x, length, axis)
    return view if tells_its_base(x) else view.copy(), Linear(
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


@rule(sliding_window_view)
def sliding_window_view_(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Windows along several axes are windows of windows."""
    lengths = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = tuple(range(x.ndim)) if axis is None else normalized_axes(axis, x.ndim)
    if len(lengths) != len(axes):
        raise ValueError(
            f"Must provide matching length window_shape and axis; got {len(lengths)} window_shape elements "
            f"and {len(axes)} axes elements."
        )

    def pushforward(x_dot: Any) -> Any:
        for length, k in zip(lengths, axes, strict=True):
            x_dot = windows(x_dot, length, k)
        return x_dot

    def pullback(y_bar: Any) -> Any:
        for k in reversed(axes):
            y_bar = overlapped(y_bar, k)
        return y_bar

    y = sliding_window_view(x, lengths, axes, writeable=writeable) if tells_its_base(x) else pushforward(x)
    return y, Linear((pushforward,), (pullback,))


@composed(as_strided)
def as_strided_(
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
    *,
    check_bounds: bool | None = None,
) -> Any:
    """Any elements of the memory that ``x`` is in, which have to be there: bounds are always checked."""
    of, whole = inside(x), x if x.base is None else x.base
    if not np.may_share_memory(of, inside(whole)):  # it has been written to
        whole = x
    memory = np.ravel(whole, "K")
    start = address(of) - address(inside(memory))
    shape = of.shape if shape is None else tuple(shape) if np.iterable(shape) else (shape,)
    if strides is None:  # NumPy keeps them, but of what is contiguous
        strides = np.empty(shape, of.dtype).strides if of.flags.c_contiguous else of.strides
    if any(step % of.itemsize for step in strides) or not np.shares_memory(inside(memory), inside(whole)):
        raise ValueError("as_strided of a Variable: its memory is not made of such steps, write x.copy()")
    steps = tuple(step // of.itemsize for step in strides)
    places = start // of.itemsize + places_of_steps(shape, steps)
    if places.size and (places.min() < 0 or places.max() >= memory.size):
        raise ValueError("as_strided of a Variable: shape and strides reach outside of its memory")
    may_write = writeable and (x._scalar or x.flags.writeable)  # a scalar becomes an array of its own
    return by_steps(memory, start // of.itemsize, shape, steps, may_write)


def address(x: Any) -> int:
    return int(x.__array_interface__["data"][0])


def places_of_steps(shape: tuple[int, ...], steps: tuple[int, ...]) -> Any:
    """How far from the first each element is."""
    places = np.zeros(shape, int)
    for axis, (length, step) in enumerate(zip(shape, steps, strict=True)):
        places += np.reshape(step * np.arange(length), (length,) + (1,) * (len(shape) - axis - 1))
    return places


@rule
def by_steps(memory: Any, start: int, shape: tuple[int, ...], steps: tuple[int, ...], writeable: bool) -> Any:
    """The elements of a vector from ``start`` on, a step for each axis; the adjoint adds what overlaps."""
    places, n, dtype = start + places_of_steps(shape, steps), len(memory), memory.dtype
    if isinstance(memory, Variable):  # of an outer trace
        y = by_steps(memory, start, shape, steps, writeable)
    else:
        strides = [step * memory.itemsize for step in steps]
        y = as_strided(memory[start:], shape, strides, writeable=writeable)
    return y, Linear(
        (lambda memory_dot: memory_dot[places],),
        (lambda y_bar: scatter(y_bar, (places,), (n,), dtype),),
    )
