"""Quantiles, percentiles, medians, with and without NaNs.

Each is an element of the sorted array, or lies on the line between two that are neighbours there: which,
NumPy's own quantile of the places 0, 1, 2, … says, by every method.  Where elements tie, the derivative goes
to the one that sorting puts at the place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.differential import Differential
from lindiff.core.formula import some
from lindiff.core.registry import composed, gives_arrays, rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import as_array, normalized_axes
from lindiff.rules.indexing.rules import scatter

__all__: list[str] = []

# The methods that are continuous in q, with their (α, β): the place is n q + α + q (1 - α - β) - 1 (Hyndman
# and Fan, Sample quantiles in statistical packages, 1996).
CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def lanes(a: Any, axis: Any) -> Any:
    """``a`` with the reduced axes joined to one, the last."""
    if axis is None:
        return np.ravel(a)
    axes = normalized_axes(axis, np.ndim(a))
    kept = [k for k in range(np.ndim(a)) if k not in axes]
    a = np.transpose(a, [*kept, *axes])
    return np.reshape(a, [*a.shape[: len(kept)], math.prod(a.shape[len(kept) :])])


def lanes_of_weights(weights: Any, a: Any, axis: Any) -> Any:
    """Weights of the shape of ``a``, or of its reduced axes in the order given, beside ``lanes(a)``."""
    if np.shape(weights) == np.shape(a):
        return lanes(weights, axis)
    axes = normalized_axes(axis, np.ndim(a))
    weights = np.transpose(weights, np.argsort(axes))
    rows = lanes(a, axis)
    return np.broadcast_to(np.reshape(weights, rows.shape[-1]), rows.shape)


def discontinuous_places(rows: Any, q: Any, method: str, weights: Any, skip_nan: bool) -> Any:
    """Where in every sorted lane the quantiles lie, by NumPy's own quantiles of the ranks."""
    given = {} if weights is None else {"weights": weights}
    function: Any = np.nanquantile if skip_nan else np.quantile
    if weights is None and not skip_nan:
        ranks = placed(np.arange(float(rows.shape[-1])), rows)
        return np.reshape(function(ranks, q, method=method), np.shape(q) + (1,) * (rows.ndim - 1))
    ranks = np.argsort(np.argsort(rows, axis=-1), axis=-1).astype(float)
    if skip_nan:
        holes = np.isnan(rows)
        ranks[holes & ~holes.all(axis=-1, keepdims=True)] = np.nan
    return function(ranks, q, axis=-1, method=method, **given)


def beside_lanes(q: Any, ndim: int) -> Any:
    """``q`` with axes of length 1 for the lanes, as the shape (*q, *lanes) with ``ndim`` axes has them."""
    return np.reshape(q, np.shape(q) + (1,) * (ndim - np.ndim(q))) if ndim > np.ndim(q) else q


def of_shape(x: Any, shape: tuple[int, ...]) -> Any:
    return x if np.shape(x) == shape else np.broadcast_to(x, shape)


class Neighbours:
    """The two elements between which each quantile lies.

    ``below`` and ``above`` are their places in the array as a vector; ``part`` is how far the quantile is on
    the way from the one to the other, and ``slope`` its derivative by q.  All have the shape (*q, *lanes).
    """

    def __init__(self, a: Any, q: Any, axis: Any, method: str, weights: Any, skip_nan: bool) -> None:
        rows = lanes(a, axis)
        holes = np.isnan(rows)
        has_holes = some(holes)
        count: Any = rows.shape[-1]
        if skip_nan and has_holes:
            count = count - np.sum(holes, axis=-1)
        last = np.maximum(count - 1, 0)
        shape = np.shape(q) + rows.shape[:-1]
        self.slope: Any = 0.0
        if method in CONTINUOUS:
            alpha, beta = CONTINUOUS[method]
            slope = count + (1 - alpha - beta)
            virtual = slope * beside_lanes(q, len(shape)) + (alpha - 1)
            place = np.clip(virtual, 0, last)
            self.slope = np.where(place == virtual, slope, 0.0)
        else:
            place = discontinuous_places(rows, q, method, weights, skip_nan and has_holes)
        if has_holes and not skip_nan:  # NaNs are sorted last, and make the quantile of their lane NaN
            place = np.where(holes.any(axis=-1), last, place)
        below = np.minimum(np.floor(place), np.maximum(last - 1, 0)).astype(int)
        above = np.minimum(below + 1, last)
        self.part = of_shape(place - below, shape)
        self._order = np.argsort(rows, axis=-1)
        self._positions = (
            None if axis is None else lanes(np.reshape(placed(np.arange(a.size), a), a.shape), axis)
        )
        self.below = self._position(of_shape(below, shape))
        self.above = self._position(of_shape(above, shape))

    def _position(self, place: Any) -> Any:
        """Where in the array the elements at these places of their sorted lanes are."""
        if self._positions is None:  # there is one lane, the whole array
            return self._order[place]
        lane = np.indices(self._order.shape[:-1], sparse=True)
        in_lane = self._order[lane + (place,)]  # noqa: RUF005, stars in an index came with Python 3.11
        return self._positions[lane + (in_lane,)]  # noqa: RUF005


def order_statistic(function: Callable[..., Any], skip_nan: bool) -> Callable[..., Any]:
    """The rule of ``function(a, q, axis, method, keepdims, weights)``, a quantile by NumPy."""

    @rule
    def quantile(a: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
        a = placed(as_array(a), q)
        y = function(a, q, axis, method, keepdims, weights)
        if a.size == 0:
            return y, None

        @functools.cache
        def neighbours() -> Neighbours:
            plain, plain_q = value(a), as_array(value(q))
            if isinstance(q, (int, float)) and plain.dtype.kind == "f":  # as NumPy does it
                plain_q = plain_q.astype(plain.dtype)
            plain_q = placed(np.asarray(plain_q) if isinstance(plain_q, np.generic) else plain_q, plain)
            w = None if weights is None else lanes_of_weights(value(weights), plain, axis)
            return Neighbours(plain, plain_q, axis, method, w, skip_nan)

        def part() -> Any:
            """How far each quantile is from the one to the other, as a function of q."""
            near = neighbours()
            if isinstance(q, Variable):  # of an outer trace
                return near.part + near.slope * beside_lanes(q - value(q), near.part.ndim)
            return near.part

        def push_a(a_dot: Any) -> Any:
            near, t = neighbours(), part()
            a_dot = np.ravel(a_dot)
            return np.reshape((1 - t) * a_dot[near.below] + t * a_dot[near.above], np.shape(y))

        def pull_a(y_bar: Any) -> Any:
            near, t = neighbours(), part()
            y_bar = np.reshape(y_bar, near.below.shape)
            size, dtype = (a.size,), y_bar.dtype
            below = scatter((1 - t) * y_bar, near.below, size, dtype)
            return np.reshape(below + scatter(t * y_bar, near.above, size, dtype), a.shape)

        def partial_q() -> Any:
            near = neighbours()
            x = np.ravel(a)
            return near.slope * (x[near.above] - x[near.below])

        def push_q(q_dot: Any) -> Any:
            partial = partial_q()
            return np.reshape(partial * beside_lanes(q_dot, partial.ndim), np.shape(y))

        def pull_q(y_bar: Any) -> Any:
            partial = partial_q()
            terms = partial * np.reshape(y_bar, partial.shape)
            return np.sum(terms, axis=tuple(range(np.ndim(q), partial.ndim)))

        return y, Differential(
            (push_a, push_q, None, None, None, None), (pull_a, pull_q, None, None, None, None)
        )

    gives_arrays(quantile, like_value=True)
    return quantile


def of_fractions(quantile: Callable[..., Any]) -> Callable[..., Any]:
    """``np.quantile`` or ``np.nanquantile`` in the order of arguments that :func:`order_statistic` takes."""

    def function(a: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
        given = {} if weights is None else {"weights": weights}
        return quantile(a, q, axis=axis, method=method, keepdims=keepdims, **given)

    return function


def quantile_rules(quantile: Callable[..., Any], percentile: Callable[..., Any], skip_nan: bool) -> None:
    """Rules of np.quantile and np.percentile, or of their kin that leave out NaNs."""
    primitive = order_statistic(of_fractions(quantile), skip_nan)

    @composed(quantile)
    def quantile_(
        a: Any,
        q: Any,
        axis: Any = None,
        *,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        weights: Any = None,
    ) -> Any:
        return primitive(a, q, axis, method, keepdims, weights)

    @composed(percentile)
    def percentile_(a: Any, q: Any, axis: Any = None, **kwargs: Any) -> Any:
        dtype = as_array(a).dtype
        if dtype.kind == "f" and type(q) in (int, float):  # Python's numbers alone take the array's precision
            fraction = np.true_divide(np.asarray(q, dtype), dtype.type(100))
        else:
            fraction = np.true_divide(q, 100)
        if not np.all((value(fraction) >= 0) & (value(fraction) <= 1)):
            raise ValueError("Percentiles must be in the range [0, 100]")
        return quantile(a, fraction, axis=axis, **kwargs)

    gives_arrays(quantile, percentile, like_value=True)


quantile_rules(np.quantile, np.percentile, skip_nan=False)
quantile_rules(np.nanquantile, np.nanpercentile, skip_nan=True)


def median_rule(median: Callable[..., Any], skip_nan: bool) -> None:
    """The rule of np.median or np.nanmedian: the quantile at 1/2, with NumPy's own value."""

    def function(a: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any) -> Any:
        return median(a, axis=axis, keepdims=keepdims)

    primitive = order_statistic(function, skip_nan)

    @composed(median)
    def median_(a: Any, axis: Any = None, *, overwrite_input: bool = False, keepdims: bool = False) -> Any:
        return primitive(a, 0.5, axis, "linear", keepdims, None)

    gives_arrays(median, like_value=True)


median_rule(np.median, skip_nan=False)
median_rule(np.nanmedian, skip_nan=True)
