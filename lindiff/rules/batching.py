"""Batching rules: what NumPy's functions do to several directions at once, behind their leading axis.

Linear functions between shapes, sums and products, of which the pullbacks and pushforwards of rules consist.
What is not here is called for one direction after the other; both ways give the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.directions import (
    Apart,
    Directions,
    aligned,
    count_of,
    functions,
    index_within,
    leading,
    methods,
    ufuncs,
)
from lindiff.kernels.matmul import product
from lindiff.rules._common import normalized_axes
from lindiff.rules.indexing.rules import scatter
from lindiff.rules.methods import METHODS
from lindiff.rules.products.rules import on_diagonal
from lindiff.rules.reductions.rules import reduced_axes


def behind(function: Any) -> Callable[..., Any]:
    """Register how ``function`` acts on Directions."""

    def register(implementation: Callable[..., Any]) -> Callable[..., Any]:
        functions[function] = implementation
        return implementation

    return register


def _shifted(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes of an array, counted with the leading one."""
    axis = list(axis) if isinstance(axis, range) else axis
    return tuple(a + 1 for a in normalized_axes(axis, ndim))


def _every(x: Any, count: int) -> Any:
    """The array behind Directions, or a constant repeated for each of them."""
    if isinstance(x, Directions):
        return x.array
    return np.broadcast_to(x, (count, *np.shape(x)))


# -- shapes ----------------------------------------------------------------------------------------------

functions[np.shape] = lambda x: x.shape
functions[np.ndim] = lambda x: x.ndim
functions[np.size] = lambda x, axis=None: x.size if axis is None else x.shape[axis]
functions[np.result_type] = lambda *args: np.result_type(
    *(x.dtype if isinstance(x, Directions) else x for x in args)
)
functions[np.iscomplexobj] = lambda x: x.dtype.kind == "c"
for _function in [np.real, np.imag, np.tril, np.triu, np.matrix_transpose, np.copy, np.astype]:

    def _behind(x: Any, *args: Any, function: Any = _function, **kwargs: Any) -> Any:
        if not isinstance(x, Directions) or (function is np.copy and (args or kwargs)):
            return NotImplemented
        if function in (np.tril, np.triu) and x.ndim < 2:
            return NotImplemented
        return Directions(function(x.array, *args, **kwargs))

    functions[_function] = _behind


@behind(np.zeros_like)
def zeros_like(x: Any, dtype: Any = None, *, shape: Any = None, **kwargs: Any) -> Any:
    """Zeros for every direction, without an axis for them."""
    return np.zeros(x.shape if shape is None else shape, x.dtype if dtype is None else dtype)


@behind(np.reshape)
def reshape(x: Any, shape: Any, order: str = "C", **kwargs: Any) -> Any:
    if order != "C" or kwargs:
        return NotImplemented
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    if -1 in shape and x.size == 0:
        return NotImplemented
    return Directions(np.reshape(x.array, (x.count, *shape)))


@behind(np.ravel)
def ravel(x: Any, order: str = "C") -> Any:
    return np.reshape(x, (x.size,)) if order == "C" else NotImplemented


@behind(np.broadcast_to)
def broadcast_to(x: Any, shape: Any, subok: bool = False) -> Any:
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return Directions(np.broadcast_to(leading(x, len(shape)), (x.count, *shape)))


@behind(np.transpose)
def transpose(x: Any, axes: Any = None) -> Any:
    axes = tuple(range(x.ndim))[::-1] if axes is None else axes
    return Directions(np.transpose(x.array, (0, *(a % x.ndim + 1 for a in axes))))


@behind(np.swapaxes)
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    return Directions(np.swapaxes(x.array, axis1 % x.ndim + 1, axis2 % x.ndim + 1))


@behind(np.moveaxis)
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    return Directions(np.moveaxis(x.array, _shifted(source, x.ndim), _shifted(destination, x.ndim)))


@behind(np.expand_dims)
def expand_dims(x: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return Directions(np.expand_dims(x.array, _shifted(axes, x.ndim + len(axes))))


@behind(np.squeeze)
def squeeze(x: Any, axis: Any = None) -> Any:
    axes = tuple(k for k, n in enumerate(x.shape) if n == 1) if axis is None else axis
    return Directions(np.squeeze(x.array, _shifted(axes, x.ndim)))


@behind(np.flip)
def flip(x: Any, axis: Any = None) -> Any:
    return Directions(np.flip(x.array, _shifted(tuple(range(x.ndim)) if axis is None else axis, x.ndim)))


@behind(np.diagonal)
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return Directions(np.diagonal(x.array, offset, axis1 % x.ndim + 1, axis2 % x.ndim + 1))


@behind(np.trace)
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return Directions(np.trace(x.array, offset, axis1 % x.ndim + 1, axis2 % x.ndim + 1, dtype))


@behind(np.concatenate)
def concatenate(arrays: Any, axis: int | None = 0, **kwargs: Any) -> Any:
    if axis is None:
        return NotImplemented
    count = count_of(tuple(arrays)) or 0
    parts = [_every(x, count) for x in arrays]
    return Directions(np.concatenate(parts, axis if axis < 0 else axis + 1, **kwargs))


@behind(np.stack)
def stack(arrays: Any, axis: int = 0, **kwargs: Any) -> Any:
    count = count_of(tuple(arrays)) or 0
    parts = [_every(x, count) for x in arrays]
    return Directions(np.stack(parts, axis if axis < 0 else axis + 1, **kwargs))


@behind(np.where)
def where(condition: Any, x: Any, y: Any) -> Any:
    return Directions(np.where(*aligned((condition, x, y))))


@behind(scatter)
def scatter_(y: Any, index: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    within = index_within(index)
    if within is None:
        return NotImplemented
    return Directions(scatter(y.array, within, (y.count, *shape), dtype))


@behind(on_diagonal)
def on_diagonal_(y: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    axes = _shifted((axis1, axis2), len(shape))
    return Directions(on_diagonal(y.array, (y.count, *shape), offset, *axes))


# -- sums and their kin ----------------------------------------------------------------------------------


def _reduction(function: Any) -> None:
    @behind(function)
    def reduce(x: Any, axis: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
        if not isinstance(x, Directions) or any(isinstance(extra, Directions) for extra in kwargs.values()):
            return NotImplemented
        axes = tuple(a + 1 for a in reduced_axes(axis, x.ndim))
        if dtype is not None:
            kwargs["dtype"] = dtype
        return Directions(function(x.array, axis=axes, **kwargs))


for _function in [np.sum, np.mean]:
    _reduction(_function)


def _cumulative(function: Any) -> None:
    @behind(function)
    def accumulate(x: Any, axis: int | None = None, **kwargs: Any) -> Any:
        if axis is None:
            x, axis = np.ravel(x), 0
        return Directions(function(x.array, axis=axis % x.ndim + 1, **kwargs))


_cumulative(np.cumsum)


def _add_reduce(x: Any, axis: Any = 0, dtype: Any = None, **kwargs: Any) -> Any:
    return np.sum(x, axis=axis, dtype=dtype, **kwargs)


ufuncs[np.add, "reduce"] = _add_reduce


# -- products --------------------------------------------------------------------------------------------


def matmul(x: Any, y: Any) -> Any:
    """``x @ y``: where one of them is a constant matrix, one product for all directions if it can be."""
    if not isinstance(y, Directions):
        if x.ndim == 1 and np.ndim(y) > 2:
            return np.matmul(np.expand_dims(x, 0), y)[..., 0, :]
        if x.ndim >= 2 and np.ndim(y) == 2:  # all rows of all directions
            rows = product(np.reshape(x.array, (x.count * math.prod(x.shape[:-1]), x.shape[-1])), y)
            return Directions(np.reshape(rows, (x.count, *x.shape[:-1], y.shape[-1])))
        return Directions(product(leading(x, np.ndim(y)), y) if np.ndim(y) > 2 else product(x.array, y))
    if not isinstance(x, Directions):
        if y.ndim > 1:
            return Directions(product(x, leading(y, np.ndim(x))))
        if np.ndim(x) <= 2:
            return Directions(product(y.array, np.transpose(x)))
        return np.matmul(x, np.expand_dims(y, 1))[..., 0]
    if x.ndim == 1 and y.ndim == 1:
        return np.sum(x * y)
    if x.ndim == 1:
        return np.matmul(np.expand_dims(x, 0), y)[..., 0, :]
    if y.ndim == 1:
        return np.matmul(x, np.expand_dims(y, 1))[..., 0]
    axes = max(x.ndim, y.ndim)
    return Directions(product(leading(x, axes), leading(y, axes)))


ufuncs[np.matmul, "__call__"] = matmul


@behind(np.dot)
def dot(x: Any, y: Any) -> Any:
    if np.ndim(x) == 0 or np.ndim(y) == 0:
        return x * y
    return np.matmul(x, y) if np.ndim(y) <= 2 else NotImplemented


@behind(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if isinstance(a, Directions) and isinstance(b, Directions):
        return NotImplemented
    if isinstance(axes, (int, np.integer)):
        axes_a, axes_b = tuple(range(np.ndim(a) - axes, np.ndim(a))), tuple(range(axes))
    else:
        axes_a, axes_b = (
            normalized_axes(axis if isinstance(axis, int) else list(axis), np.ndim(x))
            for axis, x in zip(axes, (a, b), strict=True)
        )
    if isinstance(a, Directions):
        return Directions(np.tensordot(a.array, b, (tuple(k + 1 for k in axes_a), axes_b)))
    product = np.tensordot(a, b.array, (axes_a, tuple(k + 1 for k in axes_b)))
    return Directions(np.moveaxis(product, np.ndim(a) - len(axes_a), 0))


@behind(np.outer)
def outer(x: Any, y: Any) -> Any:
    return np.expand_dims(np.ravel(x), 1) * np.ravel(y)


@behind(np.einsum)
def einsum(subscripts: Any, *operands: Any, **kwargs: Any) -> Any:
    if not isinstance(subscripts, str) or "->" not in subscripts:
        return NotImplemented
    letter = next(c for c in "zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in subscripts)
    inputs, _, output = subscripts.replace(" ", "").partition("->")
    terms = [
        letter + term if isinstance(x, Directions) else term
        for term, x in zip(inputs.split(","), operands, strict=True)
    ]
    arrays = [x.array if isinstance(x, Directions) else x for x in operands]
    return Directions(np.einsum(",".join(terms) + "->" + letter + output, *arrays, **kwargs))


@behind(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """One factorization: the right-hand sides of all directions are columns of one."""
    if isinstance(a, Directions) or np.ndim(a) != 2 or b.ndim > 2:
        return NotImplemented
    columns = np.moveaxis(b.array, 0, -1)
    x = np.linalg.solve(a, np.reshape(columns, (b.shape[0], math.prod(columns.shape[1:]))))
    return Directions(np.moveaxis(np.reshape(x, (x.shape[0], *columns.shape[1:])), -1, 0))


# -- methods ---------------------------------------------------------------------------------------------


def _apart(name: str) -> Any:
    def attribute(self: Any) -> Any:
        raise Apart

    return property(attribute)


methods.update(METHODS)
methods.update({name: _apart(name) for name in ["device", "flags", "itemsize", "nbytes", "strides"]})
