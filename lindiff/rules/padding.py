"""``np.pad`` in all its modes, one axis after the other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import padded_with_zeros, placed
from lindiff.core.differential import Linear
from lindiff.core.registry import composed, rule
from lindiff.core.variable import Variable
from lindiff.rules._common import along, as_array

__all__: list[str] = []

KEYWORDS: dict[Any, Any] = {
    "constant": "constant_values",
    "edge": None,
    "empty": None,
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "wrap": None,
}
STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": np.max,
    "mean": np.mean,
    "median": np.median,
    "minimum": np.min,
}


@composed(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if array.ndim == 0:
        return np.copy(array)
    widths = pad_widths(pad_width, array.ndim)
    if callable(mode):
        return pad_by_function(array, widths, mode, kwargs)
    if mode not in KEYWORDS:
        raise ValueError(f"mode '{mode}' is not supported")
    if set(kwargs) - {KEYWORDS[mode]}:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {set(kwargs) - {KEYWORDS[mode]}}")
    option = kwargs.get(KEYWORDS[mode])
    if mode == "empty":
        return pad_with_constant(array, widths, 0)
    if mode == "constant":
        option = as_array(0 if option is None else option)
        if not isinstance(option, Variable):
            return pad_with_constant(array, widths, option)
    elif array.size == 0:
        if any(n == 0 and any(width) for n, width in zip(array.shape, widths, strict=True)):
            raise ValueError("can't extend an empty axis using modes other than 'constant' or 'empty'")
        return pad_with_constant(array, widths, 0)
    for axis, width in enumerate(widths):
        if any(width):
            array = pad_axis(array, axis, width, mode, option)
    return array


def pad_widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """The widths before and after every axis."""
    if isinstance(pad_width, dict):  # NumPy 2.4
        by_axis = {axis % ndim: width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(by_axis.get(axis, 0), 2) for axis in range(ndim)]
    if np.asarray(pad_width).dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    widths = [(before, after) for before, after in np.broadcast_to(pad_width, (ndim, 2)).tolist()]
    if any(min(width) < 0 for width in widths):
        raise ValueError("index can't contain negative values")
    return widths


@rule
def pad_with_constant(array: Any, widths: list[tuple[int, int]], constant_values: Any) -> Any:
    inside = tuple(slice(before, before + n) for (before, _), n in zip(widths, array.shape, strict=True))
    if isinstance(constant_values, np.ndarray):
        constant_values = constant_values.tolist()  # as every library takes them
    if type(constant_values) is int and constant_values == 0:
        padded = padded_with_zeros(array, widths)
    else:
        padded = np.pad(array, widths, constant_values=constant_values)
    return padded, Linear(
        (lambda a_dot: padded_with_zeros(a_dot, widths),),
        (lambda y_bar: y_bar[inside],),
    )


def pad_axis(array: Any, axis: int, width: tuple[int, int], mode: str, option: Any) -> Any:
    if mode in STATISTICS:
        before, after = statistics(array, axis, mode, pair_of(option, array.ndim, axis))
    elif mode == "linear_ramp":
        ends = pair_of(0 if option is None else option, array.ndim, axis)
        return with_ramps(array, axis, width, ends)
    elif mode == "constant":
        before, after = pair_of(option, array.ndim, axis)
    elif option == "odd":
        return reflect_odd(array, axis, width, mode)
    else:  # these modes copy elements
        keyword = {"reflect_type": option} if option is not None else {}
        return array[along(axis, source_places(array.shape[axis], width, mode, **keyword))]
    return between(array, axis, width, before, after)


def pair_of(option: Any, ndim: int, axis: int) -> tuple[Any, Any]:
    """What an option (one for all, a pair for all axes, a pair for each axis) says of both ends of one."""
    if option is None:
        return None, None
    option = as_array(option)
    if option.size == 1:
        option = np.reshape(option, ())
        return option, option
    pairs = np.broadcast_to(option, (ndim, 2))
    return pairs[axis, 0], pairs[axis, 1]


def between(array: Any, axis: int, width: tuple[int, int], before: Any, after: Any) -> Any:
    """``array`` between copies of what broadcasts to one place of it along ``axis``."""
    parts = []
    for side, count in ((before, width[0]), (after, width[1])):
        shape = (*array.shape[:axis], count, *array.shape[axis + 1 :])
        parts.append(np.astype(np.broadcast_to(placed(side, array), shape), array.dtype))
    return np.concatenate([parts[0], array, parts[1]], axis)


def source_places(n: int, width: tuple[int, int], mode: str, **keyword: Any) -> Any:
    """Where the elements of a padded axis of length ``n`` come from."""
    return np.pad(np.arange(n), width, mode=mode, **keyword)  # type: ignore[call-overload]


def statistics(array: Any, axis: int, mode: str, lengths: tuple[Any, Any]) -> tuple[Any, Any]:
    """A statistic of the first and of the last elements along an axis."""
    function, n = STATISTICS[mode], array.shape[axis]
    count_before, count_after = (n if m is None else min(operator.index(m), n) for m in lengths)
    if 0 in (count_before, count_after) and mode in ("maximum", "minimum"):
        raise ValueError("stat_length of 0 yields no value for padding")
    before = function(array[along(axis, slice(0, count_before))], axis=axis, keepdims=True)
    if count_before == count_after == n:
        return before, before
    return before, function(array[along(axis, slice(n - count_after, n))], axis=axis, keepdims=True)


def with_ramps(array: Any, axis: int, width: tuple[int, int], ends: tuple[Any, Any]) -> Any:
    """Straight lines from the edges to the end values."""
    n = array.shape[axis]
    parts = []
    for edge, end, count in zip((0, n - 1), ends, width, strict=True):
        ramp = np.linspace(
            placed(end, array), array[along(axis, edge)], count, endpoint=False, dtype=array.dtype, axis=axis
        )
        parts.append(ramp)
    return np.concatenate([parts[0], array, np.flip(parts[1], axis)], axis)


def reflect_odd(array: Any, axis: int, width: tuple[int, int], mode: str) -> Any:
    """Reflected about its edges in the values, too.

    With x_0, x_e the edges and D = x_e - x_0, the q-th copy of the axis is ``x + q D`` for even q, and
    ``2 x_0 + (q + 1) D`` minus the reflected x for odd q.
    """
    n = array.shape[axis]
    period = max(n - 1, 1) if mode == "reflect" else n
    shape = [-1 if k == axis else 1 for k in range(array.ndim)]
    q = np.reshape(np.floor_divide(np.arange(-width[0], n + width[1]), period), shape)
    if mode == "reflect":  # the last edge belongs to the axis itself
        q[along(axis, width[0] + n - 1)] = 0
    q = placed(q, array)
    odd = (q % 2).astype(array.real.dtype)
    first, last = array[along(axis, slice(0, 1))], array[along(axis, slice(n - 1, n))]
    copied = array[along(axis, source_places(n, width, mode))]
    return (1 - 2 * odd) * copied + 2 * odd * first + (q + odd).astype(odd.dtype) * (last - first)


def pad_by_function(array: Any, widths: list[tuple[int, int]], function: Any, kwargs: dict[str, Any]) -> Any:
    """``function(vector, width, axis, kwargs)`` changes each vector along each axis in place."""
    padded = pad_with_constant(array, widths, 0)
    for axis, width in enumerate(widths):
        lines = np.moveaxis(padded, axis, -1)
        vectors = [lines[index] for index in np.ndindex(lines.shape[:-1])]
        for vector in vectors:
            function(vector, width, axis, kwargs)
        if vectors:
            padded = np.moveaxis(np.reshape(np.stack(vectors), lines.shape), -1, axis)
    return padded
