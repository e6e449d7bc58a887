"""Shape, joining, splitting, repeating, reordering: linear functions that only move elements.

Most have a rule of one line each way; what is a combination of those is written as that combination.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import on_host, placed, zeros_beside
from lindiff.core.differential import Linear
from lindiff.core.registry import composed, rule
from lindiff.core.variable import axes_in_memory, in_own_memory, inside
from lindiff.rules._common import (
    along,
    as_array,
    inverse_permutation,
    is_array,
    memory_order,
    normalized_axes,
    normalized_axis,
)

__all__: list[str] = []


# -- one array, another shape ----------------------------------------------------------------------------


@rule(np.reshape)
def reshape(
    a: Any, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: bool | None = None
) -> Any:
    if shape is None:
        shape = newshape  # NumPy's name of it before 2.1
    if shape is None:
        raise TypeError("reshape() missing 1 required positional argument: 'shape'")
    order = memory_order(a, order)
    keywords: dict[str, Any] = {} if copy is None else {"copy": copy}
    before = a.shape
    return np.reshape(a, shape, order=order, **keywords), Linear(
        (lambda a_dot: np.reshape(a_dot, shape, order=order),),
        (lambda y_bar: np.reshape(y_bar, before, order=order),),
    )


@composed(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    """A view where NumPy gives one: of what lies contiguously in this order."""
    flags = inside(a).flags
    if flags.c_contiguous and order in ("C", "A", "K"):
        return reshape(a, (-1,))
    return raveled(a, order)


@rule
def raveled(a: Any, order: Any) -> Any:
    axes = axes_of_ravel(a, order)
    inverse = inverse_permutation(axes)
    shape = [a.shape[axis] for axis in axes]
    return np.ravel(a, order), Linear(
        (lambda a_dot: np.reshape(np.transpose(a_dot, axes), (-1,)),),
        (lambda y_bar: np.transpose(np.reshape(y_bar, shape), inverse),),
    )


def axes_of_ravel(a: Any, order: str) -> list[int]:
    """The axes from the slowest to the fastest in which ``np.ravel`` goes through an array."""
    axes = list(range(a.ndim))
    if order in ("K", "k"):
        return axes_in_memory(inside(a))
    return axes[::-1] if memory_order(a, order) in ("F", "f") else axes


@rule(np.transpose)
def transpose(a: Any, axes: Any = None) -> Any:
    inverse = None if axes is None else inverse_permutation(normalized_axes(axes, a.ndim))
    return np.transpose(a, axes), Linear(
        (lambda a_dot: np.transpose(a_dot, axes),),
        (lambda y_bar: np.transpose(y_bar, inverse),),
    )


@rule(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return np.swapaxes(a, axis1, axis2), Linear(
        (lambda a_dot: np.swapaxes(a_dot, axis1, axis2),),
        (lambda y_bar: np.swapaxes(y_bar, axis1, axis2),),
    )


@composed(np.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.T if x.ndim == 2 else np.swapaxes(x, -1, -2)


composed(np.linalg.matrix_transpose)(matrix_transpose)


@rule(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return np.moveaxis(a, source, destination), Linear(
        (lambda a_dot: np.moveaxis(a_dot, source, destination),),
        (lambda y_bar: np.moveaxis(y_bar, destination, source),),
    )


@composed(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    axis = normalized_axis(axis, a.ndim)
    start = start + a.ndim if start < 0 else start
    if not 0 <= start <= a.ndim:
        raise np.exceptions.AxisError(f"start={start} is out of bounds for an array with {a.ndim} axes")
    return np.moveaxis(a, axis, start - 1 if axis < start else start)


@rule(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    before = a.shape
    return np.squeeze(a, axis), Linear(
        (lambda a_dot: np.squeeze(a_dot, axis),),
        (lambda y_bar: np.reshape(y_bar, before),),
    )


@rule(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    before = a.shape
    return np.expand_dims(a, axis), Linear(
        (lambda a_dot: np.expand_dims(a_dot, axis),),
        (lambda y_bar: np.reshape(y_bar, before),),
    )


@rule(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    return np.broadcast_to(array, shape), Linear(
        (lambda a_dot: np.broadcast_to(a_dot, shape),),
        (lambda y_bar: y_bar,),  # summed to the shape of the array by core
    )


@composed(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    arrays = [as_array(x) for x in args]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    arrays = [x if x.ndim or is_array(x) else x[...] for x in arrays]
    return tuple(x if x.shape == shape else broadcast_beside(x, shape) for x in arrays)


@rule
def broadcast_beside(x: Any, shape: tuple[int, ...]) -> Any:
    """``x`` as ``np.broadcast_arrays`` gives it beside an array of this shape."""
    return np.broadcast_arrays(x, placed(np.broadcast_to(0.0, shape), x))[0], Linear(
        (lambda x_dot: np.broadcast_to(x_dot, shape),),
        (lambda y_bar: y_bar,),  # summed to the shape of the array by core
    )


@composed(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = [1, 0]
    grids = [
        np.reshape(x, (1,) * place + (-1,) + (1,) * (len(xi) - 1 - place))
        for x, place in zip(xi, places, strict=True)
    ]
    if not copy:
        return tuple(grids if sparse else np.broadcast_arrays(*grids))
    if not sparse:
        shape = np.broadcast_shapes(*[x.shape for x in grids])
        grids = [np.broadcast_to(x, shape) for x in grids]
    return tuple(in_own_memory(x, "C") for x in grids)


def at_least(ndim: int, place: Callable[[int], int]) -> Callable[..., Any]:
    """``np.atleast_1d`` and its kin: new axes before the array's own, but ``place(number of axes)`` after."""

    def at_least_of(*arys: Any) -> Any:
        results = []
        for x in map(as_array, arys):
            after = place(x.ndim)
            before = max(ndim - x.ndim - after, 0)
            results.append(x if x.ndim >= ndim else np.reshape(x, (1,) * before + x.shape + (1,) * after))
        return results[0] if len(results) == 1 else tuple(results)

    return at_least_of


composed(np.atleast_1d)(at_least(1, lambda axes: 0))
composed(np.atleast_2d)(at_least(2, lambda axes: 0))
composed(np.atleast_3d)(at_least(3, lambda axes: 1))


# -- joining ---------------------------------------------------------------------------------------------


def like_arrays(pieces: list[Any], is_list: bool) -> Any:
    """Cotangents in the form of what was joined: a list, or one array whose first axis was gone through."""
    return pieces if is_list else np.stack(pieces)


@rule(np.concatenate)
def concatenate(
    arrays: Any, /, axis: int | None = 0, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    shapes, is_list = [as_array(x).shape for x in arrays], isinstance(arrays, (list, tuple))

    def join(parts: Any) -> Any:
        return np.concatenate(parts, axis, dtype=dtype, casting=casting)

    def split_cotangent(y_bar: Any) -> Any:
        if axis is None:
            lengths = [int(np.prod(shape)) for shape in shapes]
        else:
            lengths = [shape[axis] for shape in shapes]
        at = 0 if axis is None else axis % y_bar.ndim
        bounds = [0, *itertools.accumulate(lengths)]
        pieces = [y_bar[along(at, slice(start, stop))] for start, stop in itertools.pairwise(bounds)]
        if axis is None:
            pieces = [np.reshape(piece, shape) for piece, shape in zip(pieces, shapes, strict=True)]
        return like_arrays(pieces, is_list)

    return join(arrays), Linear((join,), (split_cotangent,))


@rule(np.stack)
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    count, is_list = len(arrays), isinstance(arrays, (list, tuple))

    def join(parts: Any) -> Any:
        return np.stack(parts, axis, dtype=dtype, casting=casting)

    def unstack_cotangent(y_bar: Any) -> Any:
        rows = np.moveaxis(y_bar, axis, 0)
        return like_arrays([rows[i, ...] for i in range(count)], is_list)  # "...": no scalars

    return join(arrays), Linear((join,), (unstack_cotangent,))


@composed(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return np.concatenate([np.atleast_2d(x) for x in tup], 0, dtype=dtype, casting=casting)


@composed(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    arrays = [np.atleast_1d(x) for x in tup]
    axis = 0 if arrays and arrays[0].ndim == 1 else 1
    return np.concatenate(arrays, axis, dtype=dtype, casting=casting)


@composed(np.dstack)
def dstack(tup: Any) -> Any:
    return np.concatenate([np.atleast_3d(x) for x in tup], 2)


@composed(np.column_stack)
def column_stack(tup: Any) -> Any:
    arrays = [as_array(x) for x in tup]
    return np.concatenate([x if x.ndim >= 2 else np.reshape(x, (-1, 1)) for x in arrays], 1)


@composed(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    if axis is None:
        return np.concatenate([np.ravel(arr), np.ravel(values)])
    return np.concatenate([arr, values], axis)


@composed(np.block)
def block(arrays: Any) -> Any:
    depth = nesting(arrays)
    ndim = max(depth, *[as_array(leaf).ndim for leaf in leaves(arrays)])
    return joined(arrays, depth, ndim) if depth else in_own_memory(as_array(arrays), "C")


def nesting(arrays: Any) -> int:
    """How many lists deep the blocks are."""
    if isinstance(arrays, tuple):
        raise TypeError("np.block: blocks are arranged in lists, a tuple is none")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("np.block: lists of blocks cannot be empty")
    depths = {nesting(x) for x in arrays}
    if len(depths) > 1:
        raise ValueError(f"np.block: list depths are mismatched: {sorted(depths)}")
    return 1 + depths.pop()


def leaves(arrays: Any) -> list[Any]:
    return [leaf for x in arrays for leaf in leaves(x)] if isinstance(arrays, list) else [arrays]


def joined(arrays: Any, depth: int, ndim: int) -> Any:
    """Nested lists of blocks joined, the innermost along the last axis."""
    if depth:
        return np.concatenate([joined(x, depth - 1, ndim) for x in arrays], -depth)
    x = as_array(arrays)
    return x if x.ndim == ndim else np.reshape(x, (1,) * (ndim - x.ndim) + x.shape)


# -- splitting -------------------------------------------------------------------------------------------


@composed(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    axis = normalized_axis(axis, ary.ndim)
    length = ary.shape[axis]
    if np.ndim(indices_or_sections) == 0:
        count = int(indices_or_sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        short, longer = divmod(length, count)
        bounds = [i * short + min(i, longer) for i in range(count + 1)]
    else:
        bounds = [0, *map(int, indices_or_sections), length]
    return [ary[along(axis, slice(start, stop))] for start, stop in itertools.pairwise(bounds)]


@composed(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    if np.ndim(indices_or_sections) == 0 and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return np.array_split(ary, indices_or_sections, axis)


@composed(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return np.split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@composed(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return np.split(ary, indices_or_sections, 0)


@composed(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return np.split(ary, indices_or_sections, 2)


if hasattr(np, "unstack"):  # NumPy 2.1

    @composed(np.unstack)
    def unstack(x: Any, /, *, axis: int = 0) -> Any:
        axis = normalized_axis(axis, x.ndim)
        return tuple(x[along(axis, i)] for i in range(x.shape[axis]))


# -- repeating -------------------------------------------------------------------------------------------


@composed(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    if axis is None:
        a, axis = np.ravel(a), 0
    elif a.ndim == 0:
        a = np.reshape(a, (1,))
    axis = normalized_axis(axis, a.ndim)
    if np.size(repeats) == 1:
        return repeat_each(a, int(np.reshape(repeats, ())), axis)
    return a[along(axis, np.repeat(np.arange(a.shape[axis]), on_host(repeats)))]


@rule
def repeat_each(a: Any, count: int, axis: int) -> Any:
    """Every element along ``axis`` ``count`` times."""
    shape = (*a.shape[: axis + 1], count, *a.shape[axis + 1 :])

    def repeat_pullback(y_bar: Any) -> Any:
        each = np.reshape(y_bar, shape)
        if axis + 2 < len(shape) or not count:
            return np.sum(each, axis=axis + 1)
        return each @ placed(
            np.ones(count, y_bar.dtype), y_bar
        )  # NumPy's sum along a short last axis is slow

    return np.repeat(a, count, axis), Linear(
        (lambda a_dot: np.repeat(a_dot, count, axis),), (repeat_pullback,)
    )


@composed(np.tile)
def tile(A: Any, reps: Any) -> Any:
    reps = tuple(reps) if np.ndim(reps) else (int(reps),)
    ndim = max(A.ndim, len(reps))
    reps = (1,) * (ndim - len(reps)) + reps
    lengths = (1,) * (ndim - A.ndim) + A.shape
    if all(count == 1 for count in reps):
        return in_own_memory(np.reshape(A, lengths))
    between = [n for length in lengths for n in (1, length)]
    both = [n for pair in zip(reps, lengths, strict=True) for n in pair]
    tiled = np.broadcast_to(np.reshape(A, between), both)
    tiled = np.reshape(tiled, [count * length for count, length in zip(reps, lengths, strict=True)])
    return tiled if tiled.base is None else in_own_memory(tiled, "C")


# -- reordering and masking ------------------------------------------------------------------------------


@rule(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    # unsigned numbers have no other sign
    back = -int(shift) if np.ndim(shift) == 0 else tuple(-int(s) for s in np.ravel(shift))
    return np.roll(a, shift, axis), Linear(
        (lambda a_dot: np.roll(a_dot, shift, axis),),
        (lambda y_bar: np.roll(y_bar, back, axis),),
    )


@rule(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    return np.flip(m, axis), Linear(
        (lambda m_dot: np.flip(m_dot, axis),),
        (lambda y_bar: np.flip(y_bar, axis),),
    )


@composed(np.flipud)
def flipud(m: Any) -> Any:
    return np.flip(m, 0)


@composed(np.fliplr)
def fliplr(m: Any) -> Any:
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return np.flip(m, 1)


@rule(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    return np.rot90(m, k, axes), Linear(
        (lambda m_dot: np.rot90(m_dot, k, axes),),
        (lambda y_bar: np.rot90(y_bar, -k, axes),),
    )


def masked(function: Callable[..., Any]) -> None:
    """``np.tril`` and ``np.triu`` are their own adjoints (a vector is taken as every row of a matrix)."""

    @rule(function)
    def masked_rule(m: Any, k: int = 0) -> Any:
        return function(m, k), Linear(
            (lambda m_dot: function(m_dot, k),), (lambda y_bar: function(y_bar, k),)
        )


masked(np.tril)
masked(np.triu)


@composed(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    if a.size == 0:  # what is not there is 0
        return zeros_beside(a, new_shape, a.dtype)
    return np.ravel(a)[np.resize(np.arange(a.size), new_shape)]


def host_index(obj: Any) -> Any:
    """A slice, number, list or array of places, where NumPy can count them."""
    return on_host(obj) if hasattr(obj, "ndim") else obj


@composed(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = normalized_axis(axis, arr.ndim)
    return arr[along(axis, np.delete(np.arange(arr.shape[axis]), host_index(obj)))]


@composed(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Gathered from ``arr`` and ``values`` side by side, in the order in which NumPy inserts places."""
    arr, values = as_array(arr), as_array(values)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = normalized_axis(axis, arr.ndim)
    n = arr.shape[axis]
    obj = host_index(obj)
    count = len(np.insert(np.arange(n), obj, 0)) - n
    if count == 1:  # one place may get several values
        values = np.reshape(values, (1,) * (arr.ndim - values.ndim) + values.shape)
        if np.ndim(obj) == 0 and not isinstance(obj, slice):
            values = np.moveaxis(values, 0, axis)
        count = values.shape[axis]
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    values = np.broadcast_to(np.astype(values, arr.dtype), shape)
    order = np.insert(np.arange(n), obj, np.arange(n, n + count))
    return np.concatenate([arr, values], axis)[along(axis, order)]


@composed(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Along several axes at once since NumPy 2.2."""
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(filt.ndim) if axis is None else normalized_axes(axis, filt.ndim)
    nonzero = np.argwhere(on_host(filt))
    index = [slice(None)] * filt.ndim
    for k in axes:
        if len(nonzero) == 0:
            index[k] = slice(0, 0)
        else:
            first, last = nonzero[:, k].min(), nonzero[:, k].max()
            index[k] = slice(first if "f" in sides else 0, last + 1 if "b" in sides else None)
    return filt[tuple(index)]


@composed(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = len(x) if N is None else N
    dtype = np.promote_types(x.dtype, int)  # NumPy's choice
    if count == 0:
        return zeros_beside(x, (len(x), 0), dtype)
    if x.dtype != dtype:
        x = x.astype(dtype)
    powers = list(
        itertools.accumulate([placed(np.ones(len(x), dtype), x)] + [x] * (count - 1), lambda p, x: p * x)
    )
    return np.stack(powers if increasing else powers[::-1], axis=1)
