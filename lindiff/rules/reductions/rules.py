"""Sums, means, extremes, products: reductions, cumulative functions, differences.

``where=`` is a mask: what it leaves out has the derivative 0.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, placed
from lindiff.core.differential import Differential, Linear
from lindiff.core.formula import perhaps, some
from lindiff.core.registry import alias, composed, rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import (
    along,
    as_array,
    as_floating,
    as_type,
    conj,
    normalized_axes,
    normalized_axis,
    where_asked,
)
from lindiff.rules.elementwise.rules import nonzero
from lindiff.rules.ufuncs import ufunc_method

__all__ = ["cumsum_pullback", "spread"]


# -- what all of them share ------------------------------------------------------------------------------


def spread(y_bar: Any, shape: tuple[int, ...], axis: Any, keepdims: bool, where: Any = True) -> Any:
    """A reduction's cotangent broadcast back to the shape before it; 0 where the mask leaves out."""
    if not keepdims:
        y_bar = np.reshape(y_bar, shape_with_keepdims(shape, axis))
    y_bar = np.broadcast_to(y_bar, shape)
    return y_bar if where is True else np.where(where, y_bar, 0)


def reduced_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that a reduction reduces; of an array without any it may be told the first or the last."""
    if axis is None:
        return tuple(range(ndim))
    return () if ndim == 0 and axis in (0, -1) else normalized_axes(axis, ndim)


def shape_with_keepdims(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction's result with ``keepdims``."""
    axes = reduced_axes(axis, len(shape))
    return tuple([1 if k in axes else n for k, n in enumerate(shape)])


def masking(where: Any) -> dict[str, Any]:
    """The keyword ``where``, given on only if it masks (other array libraries need not know it)."""
    return {} if where is True else {"where": where}


# By what a reduction goes on from its result, and what it may be given where a mask leaves out.
CONTINUED: dict[Any, Any] = {np.sum: (np.add, 0), np.max: (np.maximum, None), np.min: (np.minimum, None)}


def reduction(
    function: Callable[..., Any], x: Any, where: Any, initial: dict[str, Any], **options: Any
) -> Any:
    """``function`` with the keywords ``where`` and ``initial``, which other array libraries need not have."""
    if where is True and not initial:
        return function(x, **options)
    if foreign(x) is None:
        return function(x, **options, **masking(where), **initial)
    ufunc, neutral = CONTINUED[function]
    if where is not True:
        x = np.where(where, x, initial["initial"] if neutral is None else neutral)
    y = function(x, **options)
    return ufunc(y, initial["initial"]) if initial else y


def mean_of(x: Any, where: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
    """``np.mean`` with the keyword ``where``, for any array library."""
    if where is True or foreign(x) is None:
        return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims, **masking(where))
    total = np.sum(np.where(where, x, 0), axis=axis, dtype=dtype, keepdims=keepdims)
    return total / np.maximum(count(x.shape, axis, keepdims, where), 1).astype(total.real.dtype)


def count(shape: tuple[int, ...], axis: Any, keepdims: bool, where: Any) -> Any:
    """How many elements each result is reduced from."""
    if where is True:
        return math.prod([shape[a] for a in reduced_axes(axis, len(shape))])
    return np.sum(np.broadcast_to(where, shape), axis=axis, keepdims=keepdims)


def _of_length(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    """``shape`` with another length of one axis."""
    return (*shape[:axis], n, *shape[axis + 1 :])


def as_vector(x: Any, axis: int | None) -> tuple[Any, int]:
    """``x`` and the axis to go along; without an axis or axes, all of ``x`` as a vector."""
    if axis is None or np.ndim(x) == 0:
        return np.ravel(x), 0
    return x, normalized_axis(axis, np.ndim(x))


# -- sum and mean ----------------------------------------------------------------------------------------


@rule(np.sum)
def sum_(
    x: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True, **initial: Any
) -> Any:
    def total(a: Any, **start: Any) -> Any:
        return reduction(np.sum, a, where, start, axis=axis, dtype=dtype, keepdims=keepdims)

    shape = x.shape
    return total(x, **initial), Linear(
        (total,),
        (lambda y_bar: spread(y_bar, shape, axis, keepdims, where),),
    )


@rule(np.mean)
def mean(x: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    shape = x.shape

    def average_of(a: Any) -> Any:
        return mean_of(a, where, axis, dtype, keepdims)

    def pullback(y_bar: Any) -> Any:
        n = count(shape, axis, keepdims, where)
        n = max(n, 1) if where is True else np.maximum(n, 1)
        return spread(y_bar / n, shape, axis, keepdims, where)

    return average_of(x), Linear((average_of,), (pullback,))


@composed(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    if weights is None:
        mean_ = np.mean(a, axis=axis, keepdims=keepdims)
        total = mean_.dtype.type(np.size(a) / max(np.size(mean_), 1))
        if np.ndim(mean_):
            total = np.full_like(mean_, total)
        return (mean_, total) if returned else mean_
    if np.shape(weights) != np.shape(a):
        axes = normalized_axes(axis, np.ndim(a))
        places = [axes.index(k) for k in sorted(axes)]
        weights = np.transpose(weights, places)
        weights = np.expand_dims(weights, tuple(k for k in range(np.ndim(a)) if k not in axes))
    if not np.any(np.sum(value(weights), axis=axis)):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    weights = np.broadcast_to(weights, np.shape(a))
    of_numbers = np.float64 if as_array(a).dtype.kind in "biu" else as_array(a).dtype
    total = np.sum(
        weights, axis=axis, keepdims=keepdims, dtype=np.result_type(of_numbers, as_array(weights).dtype)
    )
    mean_ = np.sum(np.multiply(a, weights), axis=axis, keepdims=keepdims) / total
    return (mean_, total.astype(mean_.dtype)) if returned else mean_


# -- extremes --------------------------------------------------------------------------------------------


def attaining(
    x: Any, y: Any, kept: tuple[int, ...], axis: Any, where: Any = True, **initial: Any
) -> tuple[Any, Any]:
    """Which elements attain their extreme ``y`` (of shape ``kept`` with its axes), and how many share it.

    NaN is attained by what is NaN.
    """
    extremes = np.reshape(value(y), kept)
    attained = np.equal(x, extremes)
    if some(np.isnan(extremes)):
        attained |= np.isnan(value(x))
    if where is not True:
        attained = attained & where
    n = np.sum(attained, axis=axis, keepdims=True)
    if initial:
        n = n + np.equal(extremes, initial["initial"])
    return attained, np.maximum(n, 1)


def extreme(function: Callable[..., Any]) -> None:
    """Give np.max or np.min its rule: ties share equally, also with ``initial``."""

    @rule(function)
    def extreme_rule(
        x: Any, axis: Any = None, *, keepdims: bool = False, where: Any = True, **initial: Any
    ) -> Any:
        y = reduction(function, x, where, initial, axis=axis, keepdims=keepdims)
        kept = shape_with_keepdims(x.shape, axis)

        def pushforward(x_dot: Any) -> Any:
            attained, n = attaining(x, y, kept, axis, where, **initial)
            return np.sum(np.where(attained, x_dot / n, 0), axis=axis, keepdims=keepdims)

        def pullback(y_bar: Any) -> Any:
            attained, n = attaining(x, y, kept, axis, where, **initial)
            return np.where(attained, np.reshape(y_bar, kept) / n, 0)

        return y, Differential((pushforward,), (pullback,))


extreme(np.max)
extreme(np.min)
alias(np.max, np.amax)
alias(np.min, np.amin)


@composed(np.ptp)
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


# -- variance --------------------------------------------------------------------------------------------
# d var = 2 / (n - ddof) Σ Re(conj(x - mean) dx), because the deviations from the mean sum to 0;
# d std = d var / (2 std), and 0 where the deviations are 0.


def variance_rule(function: Callable[..., Any], slope: Callable[[Any], Any]) -> Callable[..., Any]:
    """The rule of np.var or np.std, a function of the variance whose derivative is ``slope(y)``."""

    def moment_of(x: Any, where: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool) -> Any:
        if where is True or foreign(x) is None:
            return function(x, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, **masking(where))
        d = np.where(where, x - mean_of(x, where, axis, dtype, True), 0)
        n = count(x.shape, axis, keepdims, where) - ddof
        y = np.sum(np.real(conj(d) * d), axis=axis, dtype=dtype, keepdims=keepdims)
        y = y / np.where(np.greater(n, 0), n, np.nan).astype(y.dtype)
        return y if function is np.var else np.sqrt(y)

    @rule
    def moment(x: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, where: Any) -> Any:
        y = moment_of(x, where, axis, dtype, ddof, keepdims)

        def deviation() -> Any:
            d = x - mean_of(x, where, axis, None, True)
            return d if where is True else np.where(where, d, 0)

        def weight() -> Any:
            n = count(x.shape, axis, keepdims, where) - ddof
            if where is True:
                return 2.0 * slope(y) / (n if n > 0 else np.nan)
            return 2.0 * slope(y) / np.where(np.greater(n, 0), n, np.nan)

        def pushforward(x_dot: Any) -> Any:
            terms = np.real(conj(deviation()) * (x_dot if where is True else np.where(where, x_dot, 0)))
            return weight() * np.sum(terms, axis=axis, keepdims=keepdims)

        def pullback(y_bar: Any) -> Any:
            x_bar = deviation() * spread(weight() * y_bar, x.shape, axis, keepdims, where)
            return where_asked(x_bar, np.reshape(y_bar, shape_with_keepdims(x.shape, axis)), y)

        return y, Differential((pushforward,), (pullback,))

    @composed(function)
    def with_keywords(
        x: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        ddof: float = 0,
        keepdims: bool = False,
        where: Any = True,
        mean: Any = None,
        correction: float | None = None,
    ) -> Any:
        ddof = ddof if correction is None else correction
        if mean is None:
            return moment(x, axis, dtype, ddof, keepdims, where)
        x = x - mean
        square = np.real(x * conj(x))
        n = np.maximum(count(x.shape, axis, keepdims, where) - ddof, 0)
        n = placed(np.asarray(n, square.dtype), square) if where is True else n.astype(square.dtype)
        y = reduction(np.sum, square, where, {}, axis=axis, dtype=dtype, keepdims=keepdims) / n
        return y if function is np.var else np.sqrt(y)

    return with_keywords


variance_rule(np.var, lambda y: 1.0)
variance_rule(np.std, lambda y: 0.5 / nonzero(y))


@composed(np.cov)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """X W Xᴴ / (Σw - ddof Σ w a / Σw) of the centered X, with w = fweights · aweights, as NumPy does it."""
    m = as_array(m)
    X = np.transpose(m) if not rowvar and m.ndim == 2 and TURNS_ONE_ROW else rows_are_variables(m, rowvar)
    if X.shape[0] == 0:
        return np.zeros((0, 0))
    if y is not None:
        X = np.concatenate([X, rows_are_variables(y, rowvar)])
    X = np.astype(X, np.result_type(X.dtype, np.float64) if dtype is None else np.dtype(dtype))
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            given = placed(as_floating(given), X)
            weights = given if weights is None else np.multiply(weights, given)
    if weights is None:
        X = X - np.mean(X, axis=1, keepdims=True)
        return np.squeeze(X @ np.transpose(conj(X)) / max(X.shape[1] - ddof, 0))
    total = np.sum(weights)
    X = X - np.sum(X * weights, axis=1, keepdims=True) / total
    if ddof == 0:
        norm = total
    elif aweights is None:
        norm = total - ddof
    else:
        norm = total - ddof * np.sum(np.multiply(weights, aweights)) / total
    return np.squeeze(X @ np.transpose(conj(X * weights)) / norm)


# NumPy 2.2 and later take a matrix of one row with rowvar=False for one observation.
TURNS_ONE_ROW = np.size(np.cov(np.zeros((1, 2)), rowvar=False, ddof=0)) == 4


def rows_are_variables(m: Any, rowvar: bool) -> Any:
    X = np.atleast_2d(m)
    return X if rowvar or X.shape[0] == 1 else np.transpose(X)


@composed(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = np.cov(x, y, rowvar, dtype=dtype)
    if np.ndim(c) == 0:
        return c / c
    deviation = np.sqrt(np.real(np.diagonal(c)))
    return c / deviation[:, None] / deviation[None, :]


# -- products, and other associative functions -----------------------------------------------------------


def halved(ufunc: Any, identity: float, x: Any, axis: int) -> Any:
    """Reduction along one axis, by halves.

    A product is right with zeros to every order that way, because nothing is divided.
    """
    odd = []
    n = x.shape[axis]
    if n == 0:
        return np.full_like(value(x), identity, shape=_of_length(x.shape, axis, 1))
    while n > 1:
        if n % 2:
            odd.append(x[along(axis, slice(n - 1, n))])
        n //= 2
        x = ufunc(x[along(axis, slice(0, n))], x[along(axis, slice(n, 2 * n))])
    for last in odd:
        x = ufunc(x, last)
    return x


def associative(ufunc: Any, identity: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``ufunc.reduce`` and ``ufunc.accumulate``."""

    def reduce(
        x: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        keepdims: bool = False,
        where: Any = True,
        initial: Any = None,
    ) -> Any:
        axes = reduced_axes(axis, np.ndim(x))
        left = [n for k, n in enumerate(np.shape(x)) if k not in axes]
        if ufunc.identity is None and initial is None:
            if where is not True:
                raise ValueError(
                    f"reduction operation {ufunc.__name__!r} does not have an identity, so to use a where "
                    f"mask one has to specify 'initial'"
                )
            if np.size(x) == 0 and math.prod(left) > 0:
                raise ValueError(
                    f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
                )
        x = x if where is True else np.where(where, x, identity)
        x = x if dtype is None else np.astype(x, np.dtype(dtype))
        for k in axes:
            x = halved(ufunc, identity, x, k)
        if not keepdims:
            x = x[tuple(0 if k in axes else slice(None) for k in range(np.ndim(x)))]
        return x if initial is None else ufunc(x, as_type(initial, x.dtype))

    def accumulate(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
        """By doubling: after step s each element stands for the 2s elements that end with it."""
        x, axis = as_vector(a, axis)
        x = x if dtype is None else np.astype(x, np.dtype(dtype))
        n, s = x.shape[axis], 1
        while s < n:
            ended = ufunc(x[along(axis, slice(s, n))], x[along(axis, slice(0, n - s))])
            x = np.concatenate([x[along(axis, slice(0, s))], ended], axis=axis)
            s *= 2
        return x

    return reduce, accumulate


product_by_halves, cumprod = associative(np.multiply, 1)


@rule
def product_of_nonzero(x: Any, axis: Any, keepdims: bool) -> Any:
    """``dy = y Σ dx / x``"""
    y, kept = np.prod(x, axis=axis, keepdims=keepdims), shape_with_keepdims(x.shape, axis)
    return y, Differential(
        (lambda x_dot: y * np.sum(x_dot / x, axis=axis, keepdims=keepdims),),
        (lambda y_bar: np.reshape(y_bar * conj(y), kept) / conj(x),),
    )


@composed(np.prod)
def prod(x: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, **others: Any) -> Any:
    if dtype is None and not others:
        plain = value(x)
        y = np.prod(plain, axis=axis, keepdims=True)
        if foreign(y) is None and (np.isfinite(y) & (y != 0)).all():  # never asked of a device
            return product_of_nonzero(x, axis, keepdims)
    return product_by_halves(x, axis, dtype, keepdims=keepdims, **others)


composed(np.cumprod)(cumprod)

for ufunc, identity in [
    (np.logaddexp, -np.inf),
    (np.logaddexp2, -np.inf),
    (np.hypot, 0),
    (np.fmax, np.nan),
    (np.fmin, np.nan),
    (np.maximum, -np.inf),
    (np.minimum, np.inf),
]:
    reduce, accumulate = associative(ufunc, identity)
    if ufunc not in (
        np.maximum,
        np.minimum,
    ):  # np.max and np.min have rules, in which ties of all share equally
        ufunc_method(ufunc, "reduce", reduce)
    ufunc_method(ufunc, "accumulate", accumulate)


# -- cumulative sums and differences ---------------------------------------------------------------------


def cumsum_pullback(y_bar: Any, shape: tuple[int, ...], axis: int | None) -> Any:
    """Sums from the end."""
    k = 0 if axis is None else axis
    return np.reshape(np.flip(np.cumsum(np.flip(y_bar, k), axis=k), k), shape)


@rule(np.cumsum)
def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    shape = x.shape
    return np.cumsum(x, axis=axis, dtype=dtype), Linear(
        (lambda x_dot: np.cumsum(x_dot, axis=axis, dtype=dtype),),
        (lambda y_bar: cumsum_pullback(y_bar, shape, axis),),
    )


def cumulative(accumulate: Callable[..., Any], start: float) -> Callable[..., Any]:
    """np.cumulative_sum and np.cumulative_prod, from np.cumsum and np.cumprod."""

    def implementation(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        if axis is None and np.ndim(x) > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        x, axis = as_vector(np.atleast_1d(x), axis)
        y = accumulate(x, axis=axis, dtype=dtype)
        if not include_initial:
            return y
        first = np.full_like(value(y[along(axis, slice(0, 1))]), start, shape=_of_length(y.shape, axis, 1))
        return np.concatenate([first, y], axis=axis)

    return implementation


if hasattr(np, "cumulative_sum"):  # NumPy 2.1
    composed(np.cumulative_sum)(cumulative(np.cumsum, 0.0))
    composed(np.cumulative_prod)(cumulative(np.cumprod, 1.0))


@composed(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if n == 0:
        return a
    axis = normalized_axis(axis, np.ndim(a))
    ends = [
        end if np.ndim(end) else np.broadcast_to(placed(as_array(end), a), _of_length(np.shape(a), axis, 1))
        for end in (prepend, append)
        if end is not None
    ]
    if ends:
        a = np.concatenate([*ends[: prepend is not None], a, *ends[prepend is not None :]], axis=axis)
    for _ in range(n):
        a = a[along(axis, slice(1, None))] - a[along(axis, slice(None, -1))]
    return a


@composed(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    ary = as_array(ary)
    parts = [np.diff(np.ravel(ary))]
    if to_begin is not None:
        parts.insert(0, end_of_differences(to_begin, ary.dtype, "to_begin"))
    if to_end is not None:
        parts.append(end_of_differences(to_end, ary.dtype, "to_end"))
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def end_of_differences(given: Any, dtype: Any, name: str) -> Any:
    given = np.ravel(given)
    if not np.can_cast(given.dtype, dtype, "same_kind"):
        raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    return np.astype(given, dtype)


@composed(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, of 2nd order on uneven grids too; at the ends of order ``edge_order``."""
    axes = tuple(range(np.ndim(f))) if axis is None else normalized_axes(axis, np.ndim(f))
    given = [h if isinstance(h, (int, float)) else as_array(h) for h in varargs] or [1.0]
    if len(given) not in (1, len(axes)):
        raise TypeError("invalid number of arguments")
    if len(given) == 1 and np.ndim(given[0]) > 0 and len(axes) > 1:
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    f = as_array(f)
    if f.dtype.kind == "b":
        raise TypeError("np.gradient: numpy boolean subtract is not supported; write f.astype(float)")
    f = as_floating(f) if f.dtype.kind in "iu" else f
    spacings = [
        h if isinstance(h, (Variable, int, float)) else as_type(as_floating(h), np.result_type(f, h))
        for h in given
    ]
    spacings = spacings if len(spacings) == len(axes) else spacings * len(axes)
    results = [
        gradient_along(f, h, k, edge_order)
        if isinstance(h, Variable)
        else gradient_on_grid(f, h, k, edge_order)
        for k, h in zip(axes, spacings, strict=True)
    ]
    if len(results) == 1 and (axis is None or isinstance(axis, (int, np.integer))):
        return results[0]
    return tuple(results)


@rule
def gradient_on_grid(f: Any, spacing: Any, axis: int, edge_order: Any) -> Any:
    """Along one axis with constant spacing: linear in ``f``."""
    return np.gradient(f, spacing, axis=axis, edge_order=edge_order), Linear(
        (lambda f_dot: np.gradient(f_dot, spacing, axis=axis, edge_order=edge_order),),
        (lambda y_bar: gradient_adjoint(y_bar, conj(spacing), axis, edge_order),),
    )


@rule
def gradient_adjoint(y: Any, spacing: Any, axis: int, edge_order: Any) -> Any:
    """The transpose: each y goes to the three points (at the ends, two) from which it was made."""
    if isinstance(y, Variable):  # of an outer trace
        x = gradient_adjoint(y, spacing, axis, edge_order)
    else:
        x = np.zeros_like(y)
        x_last, y_last = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
        if np.ndim(spacing) == 1:
            h = np.diff(spacing)
            left, right, first, last = h[:-1], h[1:], h[:2], -h[:-3:-1]
        else:
            left = right = spacing
            first, last = (spacing, spacing), (-spacing, -spacing)
        inner = y_last[..., 1:-1]
        below, above = right / (left * (left + right)), left / (right * (left + right))
        x_last[..., :-2] -= inner * below
        x_last[..., 2:] += inner * above
        if left is not right:
            x_last[..., 1:-1] += inner * (below - above)
        add_end_adjoint(x_last, y_last[..., 0], first, edge_order)
        add_end_adjoint(x_last[..., ::-1], y_last[..., -1], last, edge_order)
    return x, Linear(
        (lambda y_dot: gradient_adjoint(y_dot, spacing, axis, edge_order),),
        (lambda x_bar: np.gradient(x_bar, conj(spacing), axis=axis, edge_order=edge_order),),
    )


def add_end_adjoint(x: Any, end: Any, h: Any, edge_order: int) -> None:
    """Add what the derivative at the start of the last axis gives to the first points, ``h`` apart."""
    slope = end / h[0]
    if edge_order == 2:  # extrapolated from the first two divided differences
        ratio = h[0] / (h[0] + h[1])
        x[..., 1] += end * (ratio / h[1])
        x[..., 2] -= end * (ratio / h[1])
        slope = slope * (1 + ratio)
    x[..., 0] -= slope
    x[..., 1] += slope


def gradient_along(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """By the divided differences s of neighbours: the weighted mean of the two beside each point; at the ends
    s itself, or extrapolated from the first two."""
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    shape = [n - 1 if k == axis else 1 for k in range(np.ndim(f))]
    if np.ndim(spacing) == 1:
        if len(spacing) != n:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        h = np.reshape(np.diff(spacing), shape)
    else:
        spacing = np.asarray(spacing, f.dtype) if isinstance(spacing, (int, float)) else spacing
        h = np.broadcast_to(spacing, shape)
    s = np.diff(f, axis=axis) / h
    left, right = along(axis, slice(None, -1)), along(axis, slice(1, None))
    inside = (s[left] * h[right] + s[right] * h[left]) / (h[left] + h[right])

    def end(at: int, beside: int) -> Any:
        """The first or last derivative."""
        s_0, h_0 = s[along(axis, _one(at))], h[along(axis, _one(at))]
        if edge_order == 1:
            return s_0
        s_1, h_1 = s[along(axis, _one(beside))], h[along(axis, _one(beside))]
        return s_0 + (s_0 - s_1) * h_0 / (h_0 + h_1)

    y = np.concatenate([end(0, 1), inside, end(-1, -2)], axis=axis)
    return y if y.dtype == f.dtype or f.dtype.kind not in "fc" else np.astype(y, f.dtype)


def _one(i: int) -> slice:
    """One place of an axis, kept as an axis."""
    return slice(i, i + 1 if i != -1 else None)


@composed(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = as_array(y)
    along_y = normalized_axis(axis, y.ndim)
    if x is not None:
        dx = np.diff(x, axis=axis if np.ndim(x) > 1 else -1)
        if np.ndim(x) == 1:
            dx = np.reshape(dx, [-1 if k == along_y else 1 for k in range(y.ndim)])
    right, left = along(along_y, slice(1, None)), along(along_y, slice(None, -1))
    return np.sum(dx * (y[right] + y[left]) / 2.0, axis=axis)


# -- without NaNs ----------------------------------------------------------------------------------------


def without_nan(function: Callable[..., Any], meaning: Callable[..., Any], divides: bool = False) -> None:
    """``function`` is ``meaning`` over what is not NaN; one that ``divides`` by how many there are is silent
    where there are none."""

    @composed(function)
    def of_numbers(a: Any, *args: Any, where: Any = True, **kwargs: Any) -> Any:
        numbers = ~np.isnan(value(a)) & where
        axis = args[0] if args else kwargs.get("axis")
        of_none = divides and perhaps(~np.any(numbers, axis=axis))
        with np.errstate(invalid="ignore", divide="ignore") if of_none else contextlib.nullcontext():
            y = meaning(a, *args, where=numbers, **kwargs)
        if kwargs.get("mean") is not None and y.dtype.kind == a.dtype.kind:
            y = np.astype(y, a.dtype)  # a mean of another dtype has no say in NumPy's nanvar
        return y


without_nan(np.nansum, np.sum)
without_nan(np.nanmean, np.mean, divides=True)
without_nan(np.nanvar, np.var, divides=True)
without_nan(np.nanstd, np.std, divides=True)
without_nan(np.nanprod, np.prod)


def extreme_without_nan(function: Callable[..., Any], meaning: Callable[..., Any], worst: float) -> None:
    @composed(function)
    def of_numbers(a: Any, axis: Any = None, *, keepdims: bool = False, **kwargs: Any) -> Any:
        plain = value(a)
        y = meaning(np.where(np.isnan(plain), worst, a), axis=axis, keepdims=keepdims, **kwargs)
        if "initial" in kwargs:
            return y
        empty = np.all(np.isnan(plain), axis=axis, keepdims=keepdims)
        if not some(empty):
            return y
        if perhaps(empty):
            warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=3)
        return np.where(empty, np.nan, y)


extreme_without_nan(np.nanmax, np.max, -np.inf)
extreme_without_nan(np.nanmin, np.min, np.inf)


@composed(np.nancumsum)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return np.cumsum(np.where(np.isnan(value(a)), 0, a), axis=axis, dtype=dtype)


@composed(np.nancumprod)
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return np.cumprod(np.where(np.isnan(value(a)), 1, a), axis=axis, dtype=dtype)
