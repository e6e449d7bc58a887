"""Distances between vectors along the last axis, in functions of NumPy, as SciPy defines them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.variable import value

__all__ = ["METRICS"]


def _sum(terms: Any, w: Any) -> Any:
    return np.sum(terms if w is None else w * terms, axis=-1)


def _ratio(a: Any, b: Any) -> Any:
    """``a / b``, and 0 / 0 = 0."""
    is_zero = np.equal(value(a), 0) & np.equal(value(b), 0)
    return np.where(is_zero, 0.0, a / np.where(is_zero, 1.0, b))


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(np.abs(u - v), w) / _sum(np.abs(u + v), w)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(_ratio(np.abs(u - v), np.abs(u) + np.abs(v)), w)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    far = np.abs(u - v)
    return np.max(far if w is None else np.where(value(w) > 0, far, 0.0), axis=-1)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(np.abs(u - v), w)


def _in_own_unit(x: Any) -> Any:
    """Vectors times powers of two, with numbers about 1: products of four others may overflow."""
    size = 1.0 * np.max(np.abs(value(x)), axis=-1, keepdims=True, initial=0)
    exponent = np.where(np.isfinite(size), np.frexp(size)[1], 0)  # 0 of 0
    return x * np.ldexp(np.ones_like(size), -np.maximum(exponent, 1 - np.finfo(size.dtype).maxexp))


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    u, v = _in_own_unit(u), _in_own_unit(v)
    return 1.0 - _sum(u * v, w) / np.sqrt(_sum(u * u, w) * _sum(v * v, w))


def _correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    """One minus the correlation of vectors, along the last axis; `w` are weights."""
    if not centered:
        return _cosine(u, v, w)

    def about_mean(x: Any) -> Any:
        mean = np.mean(x, axis=-1, keepdims=True) if w is None else (_sum(x, w) / np.sum(w))[..., None]
        return x - mean

    return _cosine(about_mean(u), about_mean(v), w)


def _euclidean(u: Any, v: Any, w: Any = None) -> Any:
    return np.sqrt(_sqeuclidean(u, v, w))


def _jensenshannon(u: Any, v: Any, base: Any = None) -> Any:
    """√(½ Σ p log(p/m) + q log(q/m)), of the means m of two distributions, which u and v are scaled to."""
    p, q = (x / np.sum(x, axis=-1, keepdims=True) for x in (u, v))
    m = (p + q) / 2.0
    both = np.greater(value(p), 0) & np.greater(value(q), 0)
    # with p = m (1 + d) and q = m (1 - d) nothing cancels where these are near each other
    d = np.where(both, p - q, 0.0) / np.where(both, p + q, 1.0)
    squared = np.sum(m * (d * np.arctanh(d) + 0.5 * np.log1p(-d * d)), axis=-1)

    def alone(p: Any) -> Any:
        """Where the other distribution has nothing."""
        positive = np.greater(value(p), 0) & ~both
        ratio = np.where(positive, p, 1.0) / np.where(positive, m, 1.0)
        return np.sum(np.where(positive, p, 0.0) * np.log(ratio), axis=-1)

    squared = squared + (alone(p) + alone(q)) / 2.0
    return np.sqrt(squared if base is None else squared / np.log(base))


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    d = u - v
    return np.sqrt(np.sum((d @ VI) * d, axis=-1))


def _minkowski(u: Any, v: Any, p: Any = 2.0, w: Any = None) -> Any:
    if np.isinf(value(p)):
        return _chebyshev(u, v, w)
    return _sum(np.abs(u - v) ** p, w) ** (1.0 / placed(p, u))


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    d = u - v
    return np.sqrt(np.sum(d * d / V, axis=-1))


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    d = u - v
    return _sum(d * d, w)


METRICS: dict[str, Callable[..., Any]] = {
    "braycurtis": _braycurtis,
    "canberra": _canberra,
    "chebyshev": _chebyshev,
    "cityblock": _cityblock,
    "correlation": _correlation,
    "cosine": _cosine,
    "euclidean": _euclidean,
    "jensenshannon": _jensenshannon,
    "mahalanobis": _mahalanobis,
    "minkowski": _minkowski,
    "seuclidean": _seuclidean,
    "sqeuclidean": _sqeuclidean,
}
