"""Functions as sums of numbers that they move, and of products of numbers: by which places these have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from lindiff.programs.recorded import method
from lindiff.rules.products.rules import labelled

__all__ = ["PRODUCTS", "SUMMANDS", "Products"]

# Where the products of an array with all of others go: places in the raveled result, -1 for none, and in each
# raveled operand, by its place among the arguments; they are broadcast to each other.
Products: TypeAlias = tuple[Any, dict[int, Any]]


# -- sums of numbers that are moved ------------------------------------------------------------------------


def _of_diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> list[list[Any]]:
    """Each of as many neighbours as the order says, and one more."""
    one = (*a.shape[:axis], 1, *a.shape[axis:][1:])
    ends = [x for x in (prepend, a, append) if x is not None]
    whole = np.concatenate([x if np.ndim(x) else np.broadcast_to(x, one) for x in ends], axis)
    whole = np.moveaxis(whole, axis, 0)
    return [[np.moveaxis(whole[k : len(whole) - n + k], 0, axis) for k in range(n + 1)]]


def _of_ediff1d(a: Any, to_end: Any = None, to_begin: Any = None) -> list[list[Any]]:
    a = np.ravel(a)
    begin, end = (np.ravel(()) if x is None else np.ravel(x) for x in (to_begin, to_end))
    others = np.zeros(begin.size), a[:-1], np.zeros(end.size)
    return [[np.concatenate([begin, a[1:], end]), np.concatenate(others)]]


def _of_trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> list[list[Any]]:
    return [list(np.moveaxis(np.diagonal(a, offset, axis1, axis2), -1, 0))]


def _of_gradient(f: Any, *spacings: Any, axis: Any = None, edge_order: int = 1) -> list[list[Any]]:
    axes = range(np.ndim(f)) if axis is None else np.atleast_1d(axis) % np.ndim(f)
    if len(spacings) == 1 and np.ndim(spacings[0]) == 0:
        spacings *= len(axes)
    found = []
    for k, h in zip(axes, spacings or [1.0] * len(axes), strict=True):
        column = np.moveaxis(f, k, 0)
        is_uniform = np.ndim(h) == 0 or (not np.iscomplexobj(h) and np.ptp(np.diff(h)) == 0)
        parts = _neighbours(column, edge_order, is_uniform)
        if np.iscomplexobj(h):  # the places of numbers
            of_spacing = np.reshape(h, (-1, *(1 for _ in column.shape[1:])))
            parts += [of_spacing] if np.ndim(h) == 0 else _neighbours(of_spacing, edge_order, False)
        found.append([np.moveaxis(np.broadcast_to(part, column.shape), 0, k) for part in parts])
    return found


def _neighbours(x: Any, edge_order: int, is_uniform: bool) -> list[Any]:
    """What a gradient along the first axis is made of: in the middle not of the number itself where all are
    equally far apart."""
    nothing = np.zeros_like(x[:1])
    ends = (x[2:3], x[-3:-2]) if edge_order == 2 else (nothing, nothing)
    middle = np.zeros_like(x[1:-1]) if is_uniform else x[1:-1]
    return [
        np.concatenate([x[:1], x[:-2], x[-2:-1]]),
        np.concatenate([x[1:2], x[2:], x[-1:]]),
        np.concatenate([ends[0], middle, ends[1]]),
    ]


# What the arrays are, of each result, whose sum it is with factors.
SUMMANDS: dict[Any, Callable[..., list[list[Any]]]] = {
    np.diff: _of_diff,
    np.ediff1d: _of_ediff1d,
    np.gradient: _of_gradient,
    np.trace: _of_trace,
    method("trace"): _of_trace,
}


# -- sums of products --------------------------------------------------------------------------------------


def _places(shape: Iterable[int]) -> Any:
    shape = tuple(shape)
    return np.arange(math.prod(shape)).reshape(shape)


def _ids(x: Any) -> Any:
    """The places in a raveled operand, in an array of its shape."""
    return _places(np.shape(x))


def _of_matmul(x: Any, y: Any) -> Products:
    x, y = _ids(x), _ids(y)
    x = x[np.newaxis] if x.ndim == 1 else x
    y = y[:, np.newaxis] if y.ndim == 1 else y
    x, y = x[..., :, :, np.newaxis], y[..., np.newaxis, :, :]
    batch = np.broadcast_shapes(x.shape[:-3], y.shape[:-3])
    return _places((*batch, x.shape[-3], 1, y.shape[-1])), {0: x, 1: y}


def _of_dot(x: Any, y: Any) -> Products | None:
    return _of_matmul(x, y) if 0 < np.ndim(x) < 3 and 0 < np.ndim(y) < 3 else None


def _of_inner(x: Any, y: Any) -> Products | None:
    x, y = _ids(x), _ids(y)
    if not (0 < x.ndim < 3 and 0 < y.ndim < 3):
        return None
    to = _places((*x.shape[:-1], *y.shape[:-1], 1))
    return to, {0: x[:, np.newaxis] if x.ndim == y.ndim == 2 else x, 1: y}


def _of_vdot(x: Any, y: Any) -> Products:
    return _of_matmul(np.ravel(x), np.ravel(y))


def _of_outer(x: Any, y: Any) -> Products:
    x, y = _ids(x), _ids(y)
    return _places((x.size, y.size)), {0: np.reshape(x, (-1, 1)), 1: np.reshape(y, (1, -1))}


def _of_convolve(x: Any, y: Any, mode: str = "full") -> Products | None:
    x, y = np.ravel(_ids(x)), np.ravel(_ids(y))
    return _convolved(x, y, mode)


def _convolved(x: Any, y: Any, mode: str) -> Products | None:
    shorter, longer = sorted((x.size, y.size))
    if mode not in ("full", "same", "valid") or not shorter:
        return None
    first = {"full": 0, "same": (shorter - 1) // 2, "valid": shorter - 1}[mode]
    count = {"full": shorter + longer - 1, "same": longer, "valid": longer - shorter + 1}[mode]
    to = np.arange(x.size)[:, np.newaxis] + np.arange(y.size) - first
    to[to >= count] = -1
    return to, {0: np.reshape(x, (-1, 1)), 1: np.reshape(y, (1, -1))}


def _of_correlate(x: Any, y: Any, mode: str = "valid") -> Products | None:
    x, y = np.ravel(_ids(x)), np.ravel(_ids(y))
    if mode == "same" and x.size < y.size:  # whose middle NumPy finds from the other end
        to, ids = _convolved(x[::-1], y, mode) or (None, {})
        return None if to is None else (np.where(to >= 0, y.size - 1 - to, -1), ids)
    return _convolved(x, y[::-1], mode)


def _of_einsum(*args: Any, optimize: Any = False) -> Products:
    places, operands, terms, result = labelled(args)
    labels = "".join(dict.fromkeys("".join(terms)))
    lengths: dict[str, int] = {}
    aligned = {}
    for place, ids, term in zip(places, map(_ids, operands), terms, strict=True):
        for label, length in zip(term, ids.shape, strict=True):
            lengths[label] = max(lengths.get(label, 1), length) if length else 0
        once = "".join(label for label in labels if label in term)
        ids = np.einsum(f"{term}->{once}", ids)
        sizes = iter(ids.shape)
        aligned[place] = ids.reshape([next(sizes) if label in term else 1 for label in labels])
    to = _places(tuple(lengths[label] for label in result))
    to = np.einsum(f"{result}->{''.join(label for label in labels if label in result)}", to)
    return to.reshape([lengths[label] if label in result else 1 for label in labels]), aligned


def _of_tensordot(x: Any, y: Any, axes: Any = 2) -> Products:
    one, other = (range(-axes, 0), range(axes)) if np.ndim(axes) == 0 else axes
    labels, others = [*range(np.ndim(x))], [*range(np.ndim(x), np.ndim(x) + np.ndim(y))]
    summed = [labels[k] for k in np.atleast_1d(one)]
    for k, label in zip(np.atleast_1d(other), summed, strict=True):
        others[k] = label
    left = [label for label in (*labels, *others) if label not in summed]
    to, ids = _of_einsum(x, labels, y, others, left)
    return to, {0: ids[0], 1: ids[2]}


def _of_kron(x: Any, y: Any) -> Products:
    x, y = _ids(x), _ids(y)
    ndim = max(x.ndim, y.ndim)
    x, y = (np.reshape(ids, (1,) * (ndim - ids.ndim) + ids.shape) for ids in (x, y))
    to = _places(n for pair in zip(x.shape, y.shape, strict=True) for n in pair)
    each, other = (tuple(range(k, 2 * ndim, 2)) for k in (1, 0))
    return to, {0: np.expand_dims(x, each), 1: np.expand_dims(y, other)}


def _of_cross(x: Any, y: Any) -> Products | None:
    x, y = _ids(x), _ids(y)
    if x.shape[-1:] != (3,) or y.shape[-1:] != (3,):
        return None
    first, second = np.array([[1, 2], [2, 0], [0, 1]]), np.array([[2, 1], [0, 2], [1, 0]])
    to = _places(np.broadcast_shapes(x.shape, y.shape))
    return to[..., np.newaxis], {0: x[..., first], 1: y[..., second]}


# Of operands, be it only of their shapes; None for what is another sum.
PRODUCTS: dict[Any, Callable[..., Products | None]] = {
    np.matmul: _of_matmul,
    np.dot: _of_dot,
    method("dot"): _of_dot,
    np.inner: _of_inner,
    np.vdot: _of_vdot,
    np.outer: _of_outer,
    np.convolve: _of_convolve,
    np.correlate: _of_correlate,
    np.einsum: _of_einsum,
    np.tensordot: _of_tensordot,
    np.kron: _of_kron,
    np.cross: _of_cross,
    np.linalg.cross: _of_cross,
}
