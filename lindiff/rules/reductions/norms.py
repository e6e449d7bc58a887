"""Norms of vectors and matrices, ``numpy.linalg.norm`` and its kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential, Linear
from lindiff.core.registry import composed, rule
from lindiff.core.variable import Variable, value
from lindiff.linalg._backend import failing_as
from lindiff.linalg._degeneracy import floor_of
from lindiff.linalg._matrices import largest
from lindiff.rules._common import normalized_axes, where_asked
from lindiff.rules.elementwise.rules import nonzero

Axes = tuple[int, ...]


@rule
def _two_norm(x: Any, axes: Axes, keepdims: bool) -> Any:
    """``y = ‖x‖`` over ``axes``: y dy = Re⟨x, dx⟩, and 0 where y is 0."""
    axis = axes[0] if len(axes) == 1 else axes
    whole = len(axes) == x.ndim and not keepdims
    if isinstance(x, Variable) and not whole:  # of an outer trace
        y = _two_norm(x, axes, keepdims)
    else:
        y = np.linalg.norm(x) if whole else _p_norm_of_array(x, 2, axis, keepdims)
    kept = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])

    def pushforward(x_dot: Any) -> Any:
        terms = np.real(np.conjugate(x) * x_dot) if x.dtype.kind == "c" else x * x_dot
        return np.sum(terms, axis=axis, keepdims=keepdims) / nonzero(y)

    def pullback(y_bar: Any) -> Any:
        y_bar = np.reshape(y_bar, kept)
        return where_asked(y_bar * (x / np.reshape(nonzero(y), kept)), y_bar, y)  # ȳ / y may be out of range

    return y, Differential((pushforward,), (pullback,))


@rule
def _p_norm(x: Any, p: float, axes: Axes, keepdims: bool) -> Any:
    """The p-norm over ``axes``: its gradient is an array of the shape of x, 0 where the norm is 0."""
    axis = axes[0] if len(axes) == 1 else axes
    y = _p_norm_of_array(x, p, axis, True)
    shape = y.shape

    def gradient() -> Any:
        with np.errstate(all="ignore"):
            return _p_norm_gradient(x, y, p, axis)

    def reduced(y: Any) -> Any:
        return y if keepdims else np.squeeze(y, axis=axes)

    def pushforward(x_dot: Any) -> Any:
        g = gradient()
        terms = np.real(np.conjugate(g) * x_dot) if g.dtype.kind == "c" else g * x_dot
        return reduced(np.sum(terms, axis=axis, keepdims=True))

    def pullback(y_bar: Any) -> Any:
        y_bar = np.reshape(y_bar, shape)
        return where_asked(y_bar * gradient(), y_bar, y)

    return reduced(y), Differential((pushforward,), (pullback,))


def _p_norm_of_array(x: Any, p: float, axis: Any, keepdims: bool) -> Any:
    size = np.abs(x) if p != 2 else x
    if p == np.inf:
        return largest(size, axis=axis, keepdims=keepdims)
    if p == -np.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    if p == 0:
        return np.sum((value(x) != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    if p == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    if p == 2:
        square = x * x if x.dtype.kind != "c" else x.real**2 + x.imag**2
        return np.sqrt(np.sum(square, axis=axis, keepdims=keepdims))
    with np.errstate(divide="ignore"):
        return np.sum(size**p, axis=axis, keepdims=keepdims) ** (1 / p)


def _p_norm_gradient(x: Any, y: Any, p: float, axis: Any) -> Any:
    if p == 0:
        return np.zeros_like(x)
    size = np.abs(x)
    direction = x / np.where(value(size) == 0, 1.0, size).astype(x.dtype)
    if p == 1:
        return direction
    if abs(p) == np.inf:
        largest = (value(size) == value(y)).astype(value(size).dtype)
        return direction * (largest / np.sum(largest, axis=axis, keepdims=True))
    zero = (value(size) == 0) | (value(y) == 0)
    ratio = np.where(zero, 1.0, size) / np.where(value(y) == 0, 1.0, y)
    return direction * np.where(zero, 0.0, ratio ** (p - 1)).astype(size.dtype)


def _vector_norm(x: Any, axes: Axes, p: Any, keepdims: bool) -> Any:
    p = 2 if p is None else p
    if isinstance(p, str):
        raise ValueError(f"Invalid norm order {p!r} for vectors")
    p = float(p) if isinstance(p, (np.floating, np.integer)) else p  # 1 / p has all digits
    if p == 2:
        return _two_norm(x, axes, keepdims)
    return _p_norm(x, p, axes, keepdims)


def _matrix_norm(x: Any, axes: Axes, p: Any, keepdims: bool) -> Any:
    row, column = axes
    if row == column:
        raise ValueError("Duplicate axes given.")
    if p is None or p in ("fro", "f"):
        return _two_norm(x, axes, keepdims)
    if p in (1, -1, np.inf, -np.inf):
        summed, other = (row, column) if abs(p) == 1 else (column, row)
        sums = np.sum(np.abs(x), axis=summed, keepdims=True)
        reduce = largest if p > 0 else np.min
        y = reduce(sums, axis=other, keepdims=True)
        return y if keepdims else np.squeeze(y, axis=axes)
    if p in (2, -2, "nuc"):
        with failing_as("np.linalg.norm"):
            s = _without_rounding(np.linalg.svdvals(np.moveaxis(x, axes, (-2, -1))))
        y = np.sum(s, axis=-1) if p == "nuc" else _extreme(s, p == 2)
        return np.expand_dims(y, axes) if keepdims else y
    raise ValueError(
        f"Invalid norm order {p!r} for matrices" if isinstance(p, str) else "Invalid norm order for matrices."
    )


def _without_rounding(s: Any) -> Any:
    """Singular values, with what is zero to rounding made constant: its subgradient is 0."""
    plain = value(s)
    return np.where(plain > floor_of(plain)[..., None], s, plain)


@rule
def _extreme(s: Any, maximum: bool) -> Any:
    """The largest or smallest singular value; those equal to it, to rounding, share its derivative."""
    plain = value(s)
    plain_y = largest(plain, axis=-1) if maximum else np.min(plain, axis=-1)
    equal = (np.abs(plain - plain_y[..., None]) <= floor_of(plain)[..., None]).astype(plain.dtype)
    share = equal / np.maximum(np.sum(equal, axis=-1, keepdims=True), 1)
    y = plain_y if s is plain else _extreme(s, maximum)
    return y, Linear(
        (lambda s_dot: np.sum(share * s_dot, axis=-1),), (lambda y_bar: y_bar[..., None] * share,)
    )


@composed(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None:
        axes = tuple(range(x.ndim))
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            return _two_norm(x, axes, keepdims)
    else:
        axes = normalized_axes(axis, x.ndim)
    if len(axes) == 1:
        return _vector_norm(x, axes, ord, keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, axes, ord, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


@composed(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    axes = tuple(range(x.ndim)) if axis is None else normalized_axes(axis, x.ndim)
    return _vector_norm(x, axes, ord, keepdims)


@composed(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _matrix_norm(x, normalized_axes((-2, -1), x.ndim), ord, keepdims)
