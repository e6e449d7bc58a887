"""Incomplete gamma and beta functions and their inverses, with respect to every argument, to any order.

By x they are densities.  By the parameters: the density is an exponential family, so differentiating
``P(a, x) = ∫ p(t; a) dt`` multiplies the density under the integral by polynomials in ``log t - ψ(a)`` and
polygammas of a.  The integral of the first derivative has one sign on the side of x away from the mean of
``log t``, so nothing cancels if that side is integrated.  There, in the variable log t (or logit t for the
beta function), the integrand is smooth and decays from x on: Gauss and Legendre's rule converges fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.arrays import counterpart, placed
from lindiff.core.differential import Elementwise
from lindiff.core.formula import perhaps
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.rules._common import as_array
from lindiff.rules.special._common import elementwise
from lindiff.rules.special.gamma import digamma_increment, polygamma, polygamma_increment, stirling_error

__all__ = [
    "apart",
    "as_doubles",
    "beta_density",
    "beta_density_slope",
    "beta_derivative",
    "beta_weight",
    "gamma_density",
    "gamma_derivative",
    "in_dtype_of_ufunc",
    "integrate",
    "inverse",
    "length_below",
]

NODES = 64
LAST_EXPONENT = 45.0  # the integrand has decayed to e⁻⁴⁵
UNDERFLOW = 1e-290
VANISHED = 1e5  # the density of points beyond it and twice its parameter is zero
BLOCK = 128  # elements integrated at a time, in arrays that stay in the processor's caches


@cache
def _gauss_legendre() -> tuple[Any, Any]:
    """Nodes and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(NODES)
    return (1 + x) / 2, w / 2


def integrate(integrand: Callable[..., Any], length: Callable[..., Any], *parameters: Any) -> Any:
    """``∫ integrand(v, *parameters) dv`` from 0 to ``length(*parameters)``, elementwise."""
    parameters = np.broadcast_arrays(*as_doubles(*parameters))
    shape = parameters[0].shape
    columns = [p.reshape(-1, 1) for p in parameters]
    out = np.empty_like(columns[0][:, 0])
    x, w = (placed(nodes, out) for nodes in _gauss_legendre())
    with np.errstate(all="ignore"):
        for start in range(0, out.size, BLOCK):
            part = [column[start : start + BLOCK] for column in columns]
            end = length(*part)
            out[start : start + BLOCK] = (end * w * integrand(end * x, *part)).sum(axis=-1)
    return out.reshape(shape)


def _decay_length(slope: Any, curvature: Any) -> Any:
    """Where ``slope v + curvature v² / (2 + v)`` reaches the last exponent."""
    total, linear = slope + curvature, LAST_EXPONENT - 2 * slope
    return (linear + np.sqrt(linear * linear + 8 * LAST_EXPONENT * total)) / (2 * total)


def _is_nested(*args: Any) -> bool:
    return any(isinstance(x, Variable) for x in args)


def in_dtype_of_ufunc(value: Any, *args: Any) -> Any:
    """A float64 result in the dtype that a ufunc gives for these arguments."""
    dtype = np.result_type(np.float32, *args) if _all_single(args) else np.dtype(np.float64)
    return as_array(value).astype(dtype, copy=False)


def of_one_library(*args: Any) -> list[Any]:
    """Plain numbers and arrays as arrays of one library."""
    return [placed(as_array(x), *args) for x in args]


def as_doubles(*args: Any) -> list[Any]:
    """Plain numbers and arrays as arrays of float64, of one library."""
    return [x.astype(np.float64, copy=False) for x in of_one_library(*args)]


def _all_single(args: Any) -> bool:
    dtypes = [x.dtype for x in args if hasattr(x, "dtype")]
    return bool(dtypes) and all(dtype == np.float32 for dtype in dtypes)


def _log_quotient(x: Any, a: Any, step: Any) -> Any:
    """``log(x / a)`` for positive a; from ``step = x - a`` near 0, which elsewhere has lost digits of x."""
    near = np.less(np.abs(step), 0.5 * a)
    return np.where(near, np.log1p(np.where(near, step, 0) / a), np.log(np.where(near, a, x) / a))


# -- the gamma distribution: p(x; a) = xᵃ⁻¹ e⁻ˣ / Γ(a) ---------------------------------------------------


def _gamma_density(a: Any, x: Any) -> Any:
    a, x = np.broadcast_arrays(a, x)
    with np.errstate(all="ignore"):
        large = (a > 15) & (x > 0) & np.isfinite(x)
        if not perhaps(large):
            return _gamma_density_near_0(a, x)
        far = _gamma_density_far(np.where(large, a, 15), np.where(large, x, 15))
        return far if not perhaps(~large) else np.where(large, far, _gamma_density_near_0(a, x))


def _gamma_density_near_0(a: Any, x: Any) -> Any:
    reciprocal = special.rgamma(a)
    density = np.exp(special.xlogy(a - 1, x) - x) * reciprocal
    return np.where((reciprocal == 0) | np.isinf(x), 0.0, density)


def _gamma_density_far(a: Any, x: Any) -> Any:
    """Without cancellation for large a and x (Loader, 2000)."""
    step = x - a
    exponent = a * _log_quotient(x, a, step) - step - stirling_error(a)
    return np.exp(exponent) * np.sqrt(a / (2 * math.pi)) / x


@rule
def gamma_density(a: Any, x: Any) -> Any:
    """``xᵃ⁻¹ e⁻ˣ / Γ(a)``; by x ``p(x; a - 1) - p(x; a)``, by a ``p(x; a) (log x - ψ(a))``."""
    y = (
        gamma_density(a, x)
        if _is_nested(a, x)
        else in_dtype_of_ufunc(_gamma_density(*of_one_library(a, x)), a, x)
    )
    return y, Elementwise(
        lambda: gamma_density_derivative(a, x, 1),
        lambda: gamma_density(np.subtract(a, 1), x) - gamma_density(a, x),
    )


def _log_ratio(a: Any, x: Any) -> Any:
    """``log x - ψ(a)``."""
    large = np.greater(a, 20) & np.greater(x, 0)
    plain = np.log(x) - special.psi(a)
    if not perhaps(large):
        return plain
    a, x = np.where(large, a, 20.0), np.where(large, x, 20.0)
    t = 1 / (a * a)
    excess = 0.5 / a + t * (1 / 12 - t * (1 / 120 - t * (1 / 252 - t * (1 / 240 - t / 132))))
    return np.where(large, _log_quotient(x, a, x - a) + excess, plain)


def _exponential_factor(order: int, first: Any, cumulant: Callable[[int], Any]) -> Any:
    """The factor q of the derivative ``q p`` of ``p = exp(l)``, from p' = l' p by Leibniz's rule.

    ``first`` is l', ``cumulant(k)`` is l⁽ᵏ⁾.
    """
    q = [1.0]
    for n in range(order):
        terms = [math.comb(n, i) * q[n - i] * cumulant(i + 1) for i in range(1, n + 1)]
        q.append(sum(terms, q[n] * first))
    return q[order]


def gamma_density_derivative(a: Any, x: Any, order: int) -> Any:
    """The derivative of that order by a."""
    if order == 0:
        return gamma_density(a, x)
    q = _exponential_factor(order, _log_ratio(a, x), lambda k: -polygamma(k - 1, a))
    p = gamma_density(a, x)
    return np.where(np.equal(p, 0), 0, p) * np.where(np.equal(p, 0), 0, q)


def _gamma_derivative(a: Any, x: Any, order: int) -> Any:
    """The derivative of that order of P(a, x) by a, of plain arrays."""
    a, x = np.broadcast_arrays(*as_doubles(a, x))
    beyond = (x > VANISHED) & (x > 2 * a)
    inside = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x) & ~beyond
    outside = np.where((a > 0) & ((x == 0) | beyond), 0.0, np.nan)
    if not perhaps(inside):
        return outside
    a, x = np.where(inside, a, 1), np.where(inside, x, 1)
    raised = np.where((a < 1) & (np.log(x) < special.psi(a + 1)), a + 1, a)
    shifted = raised > a
    below = np.log(x) < special.psi(raised)
    cumulants = [-counterpart(special.polygamma, a)(k - 1, raised) for k in range(2, order + 1)]
    with np.errstate(all="ignore"):
        out = _gamma_integral(raised, x, below, order, cumulants)
        if perhaps(shifted):  # P(a, x) = P(a + 1, x) + p(x; a + 1)
            q = _exponential_factor(order, np.log(x) - special.psi(raised), lambda k: cumulants[k - 2])
            out = np.where(shifted, out + _gamma_density(raised, x) * q, out)
    return np.where(inside, out, outside)


def _gamma_integral(a: Any, x: Any, below: Any, order: int, cumulants: list[Any]) -> Any:
    """``∫ q(t) p(t) dt`` below x, or the negative of that above."""

    def length(a: Any, x: Any, sign: Any, ratio: Any, *rest: Any) -> Any:
        left = _decay_length(a - x, x)
        right = (a - x + np.sqrt((a - x) ** 2 + 2 * LAST_EXPONENT * x)) / x
        for _ in range(2):  # x (eᵛ - 1) = a v + last exponent, from above
            right = np.minimum(right, np.log1p((LAST_EXPONENT + a * right) / x))
        return np.where(sign < 0, left, right)

    def integrand(v: Any, a: Any, x: Any, sign: Any, ratio: Any, *rest: Any) -> Any:
        w = sign * v  # log t - log x
        exponent = (x - a) * w + x * (np.expm1(w) - w)
        return np.exp(-exponent) * _exponential_factor(order, ratio + w, lambda k: rest[k - 2])

    sign = np.where(below, -1.0, 1.0)
    integral = integrate(integrand, length, a, x, sign, _log_ratio(a, x), *cumulants)
    return -sign * x * _gamma_density(a, x) * integral


@rule
def gamma_derivative(a: Any, x: Any, order: int) -> Any:
    """The derivative of that order of the regularized incomplete gamma function P(a, x) by a."""
    nested = _is_nested(a, x)
    y = gamma_derivative(a, x, order) if nested else in_dtype_of_ufunc(_gamma_derivative(a, x, order), a, x)
    return y, Elementwise(
        lambda: gamma_derivative(a, x, order + 1), lambda: gamma_density_derivative(a, x, order)
    )


elementwise(special.gammainc, lambda y, a, x: gamma_derivative(a, x, 1), lambda y, a, x: gamma_density(a, x))
elementwise(
    special.gammaincc, lambda y, a, x: -gamma_derivative(a, x, 1), lambda y, a, x: -gamma_density(a, x)
)


# -- the beta distribution: p(x; a, b) = xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b) --------------------------------------


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    a, b, x = np.broadcast_arrays(a, b, x)
    with np.errstate(all="ignore"):
        large = ((np.minimum(a, b) > 5) | (np.maximum(a, b) > 15)) & (x > 0) & (x < 1) & (a > 0) & (b > 0)
        if not perhaps(~large):
            return _beta_density_far(a, b, x)
        near = np.exp(special.xlogy(a - 1, x) + special.xlog1py(b - 1, -x) - special.betaln(a, b))
        near = np.where((x < 0) | (x > 1), 0.0, near)
        if not perhaps(large):
            return near
        return np.where(large, _beta_density_far(*(np.where(large, t, 0.5) for t in (a, b, x))), near)


def _beta_density_far(a: Any, b: Any, x: Any) -> Any:
    """Without cancellation for large a and b (Loader, 2000)."""
    n = a + b
    step = x * n - a
    exponent = a * _log_quotient(x * n, a, step) + b * _log_quotient((1 - x) * n, b, -step)
    exponent += stirling_error(n) - stirling_error(a) - stirling_error(b)
    return np.exp(exponent) * np.sqrt(a * b / (2 * math.pi * n)) / (x * (1 - x))


@rule
def beta_density(a: Any, b: Any, x: Any) -> Any:
    """``xᵃ⁻¹ (1 - x)ᵇ⁻¹ / B(a, b)``."""
    nested = _is_nested(a, b, x)
    y = (
        beta_density(a, b, x)
        if nested
        else in_dtype_of_ufunc(_beta_density(*of_one_library(a, b, x)), a, b, x)
    )
    return y, Elementwise(
        lambda: beta_density_derivative(a, b, x, 1, 0),
        lambda: beta_density_derivative(a, b, x, 0, 1),
        lambda: beta_density_slope(a, b, x),
    )


def beta_density_slope(a: Any, b: Any, x: Any) -> Any:
    """``p ((a - 1) / x - (b - 1) / (1 - x))``."""
    return _falling(a, b, x, x) - _falling(b, a, np.subtract(1, x), x)


def _falling(a: Any, b: Any, t: Any, x: Any) -> Any:
    """``p(t; a, b) (a - 1) / t``, where t is x or 1 - x; for a > 1 it is ``(a + b - 1) p(t; a - 1, b)``."""
    first = np.greater(a, 1)
    lower = np.where(first, np.subtract(a, 1), 1.0)
    p = beta_density(lower, b, t) if t is x else beta_density(b, lower, x)
    raised = np.add(lower, b) * p
    q = beta_density(a, b, t) if t is x else beta_density(b, a, x)
    divided = np.where(np.equal(a, 1), 0.0, q * np.subtract(a, 1) / np.where(np.equal(t, 0) & first, 1, t))
    return np.where(first, raised, divided)


def _two_fold(i: int, j: int, first: Any, second: Any, cumulant: Callable[[int, int], Any]) -> Any:
    """The factor q of the derivative ``q p`` of ``p = exp(l)``, i times by a and j times by b."""
    q: dict[tuple[int, int], Any] = {(0, 0): 1.0}

    def of(m: int, n: int) -> Any:
        if (m, n) == (1, 0):
            return first
        return second if (m, n) == (0, 1) else cumulant(m, n)

    for n in range(j):
        q[0, n + 1] = sum(math.comb(n, s) * q[0, n - s] * of(0, s + 1) for s in range(n + 1))
    for m in range(i):
        for n in range(j + 1):
            q[m + 1, n] = sum(
                math.comb(m, r) * math.comb(n, s) * q[m - r, n - s] * of(r + 1, s)
                for r in range(m + 1)
                for s in range(n + 1)
            )
    return q[i, j]


def _beta_cumulant(m: int, n: int, of_sum: Any, from_a: Any, from_b: Any) -> Any:
    """``-∂ᵐ∂ⁿ log B(a, b)`` from the polygamma of order m + n - 1 of a + b, and its increments to there."""
    return from_a if n == 0 else from_b if m == 0 else of_sum


def beta_density_derivative(a: Any, b: Any, x: Any, i: int, j: int) -> Any:
    """The density, differentiated i times by a and j times by b."""
    if i == j == 0:
        return beta_density(a, b, x)

    def cumulant(m: int, n: int) -> Any:
        k = m + n - 1
        if m == 0:
            return polygamma_increment(k, b, a)
        return polygamma_increment(k, a, b) if n == 0 else polygamma(k, np.add(a, b))

    first = np.log(x) + digamma_increment(a, b)
    second = np.log1p(np.negative(x)) + digamma_increment(b, a)
    p = beta_density(a, b, x)
    q = _two_fold(i, j, first, second, cumulant)
    return np.where(np.equal(p, 0), 0, p) * np.where(np.equal(p, 0), 0, q)


def _beta_derivative(a: Any, b: Any, x: Any, i: int, j: int) -> Any:
    """The derivative of I_x(a, b), i times by a and j times by b, of plain arrays."""
    a, b, x = np.broadcast_arrays(*as_doubles(a, b, x))
    positive = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
    out = np.where(positive & ((x == 0) | (x == 1)), 0.0, np.nan)
    inside = positive & (x > 0) & (x < 1)
    a_raised, b_raised = np.where(a < 1, a + 1, a), np.where(b < 1, b + 1, b)
    with np.errstate(all="ignore"):
        left = inside & (x < a_raised / (a_raised + b_raised))
        # by one parameter alone the derivative is as small as the other one, on that one's side of x alone
        if i == 0:
            left &= ~(x > 1e3 * a)
        if j == 0:
            left |= inside & (1 - x > 1e3 * b)
        right = inside & ~left
        if np.any(left):
            at, bt, xt = a[left], b[left], x[left]
            out[left] = _beta_side(at, bt, np.log(xt), np.log1p(-xt), i, j)
        if np.any(right):  # I_x(a, b) = 1 - I_{1-x}(b, a)
            at, bt, xt = a[right], b[right], x[right]
            out[right] = -_beta_side(bt, at, np.log1p(-xt), np.log(xt), j, i)
    return out


def _beta_side(a: Any, b: Any, log_x: Any, log_y: Any, i: int, j: int) -> Any:
    """The derivative of I_x(a, b) from its integral over t < x, given log x and log(1 - x).

    A parameter below 1 is a factor of the integrand, which is taken out: ``1/B(a, b)`` is b times
    ``Γ(a + b) / (Γ(a) Γ(b + 1))``; and ``I_x(a, b) = I_x(a + 1, b) + xᵃ (1 - x)ᵇ / (a B(a, b))``.
    """
    small, small_b = a < 1, b < 1
    raised, raised_b = np.where(small, a + 1, a), np.where(small_b, b + 1, b)
    outer, slope_of_outer = np.where(small_b, b, 1.0), np.where(small_b, float(j), 0.0)
    has_outer = bool(np.any(small_b))

    def terms(to_sum: Any, to_sum_b: Any) -> list[Any]:
        """What the factor below is made of, from the steps from the raised parameters to their sum."""
        polygammas = counterpart(special.polygamma, a)
        found = [log_x + digamma_increment(raised, to_sum), log_y + digamma_increment(raised_b, to_sum_b)]
        for k in range(1, i + j):
            found.append(polygammas(k, raised + to_sum))
            found.append(polygamma_increment(k, raised, to_sum))
            found.append(polygamma_increment(k, raised_b, to_sum_b))
        return found

    def factor(outer: Any, slope_of_outer: Any, first: Any, second: Any, *polygammas: Any) -> Any:
        def cumulant(m: int, n: int) -> Any:
            place = 3 * (m + n - 2)
            return _beta_cumulant(m, n, *polygammas[place : place + 3])

        q = _two_fold(i, j, first, second, cumulant)
        if has_outer:
            q = outer * q
        return q + slope_of_outer * _two_fold(i, j - 1, first, second, cumulant) if j and has_outer else q

    def integrand(v: Any, start: Any, end: Any, a: Any, b: Any, log_x: Any, log_y: Any, *rest: Any) -> Any:
        v = start + v
        drop, rise = apart(v, log_x, log_y)
        p = np.exp(-(a * rise + b * drop))
        outer, slope_of_outer, first, second, *polygammas = rest
        return p * factor(outer, slope_of_outer, first - rise, second - drop, *polygammas)

    def over(start: Any, end: Any) -> Any:
        within = terms(b, np.where(small_b, raised - 1, raised))
        parameters = start, end, raised, b, log_x, log_y, outer, slope_of_outer, *within
        return integrate(integrand, lambda start, end, *_: end - start, *parameters)

    end = length_below(raised, b, log_x, log_y)
    bend = np.where(small_b & (log_x > log_y + 2), np.minimum(log_x - log_y, end), 0.0)
    integral = over(bend, end)
    if np.any(bend):
        integral += over(np.zeros_like(bend), bend)
    weight = beta_weight(raised, b, log_x, log_y) / outer
    if not np.any(small):
        return weight * integral

    # a B(a, b) = (a + b) B(a + 1, b)
    edge = weight * np.exp(-log_x) / (a + b)
    lost = weight < UNDERFLOW
    if np.any(lost):  # xᵃ⁺¹ underflows before xᵃ
        edge = np.where(lost, beta_weight(a, b, log_x, log_y) / a / outer, edge)
    q = factor(outer, slope_of_outer, *terms(b - 1, np.where(small_b, a - 1, a)))
    return weight * integral + np.where(small, edge * q, 0)


def length_below(a: Any, b: Any, log_x: Any, log_y: Any) -> Any:
    """How far below logit x ``xᵃ (1 - x)ᵇ`` has decayed."""
    x, y = np.exp(log_x), np.exp(log_y)
    slope = np.maximum(a * y - b * x, 0)
    by_curvature = _decay_length(slope, (a + b) * x * y)
    return np.minimum(by_curvature, (LAST_EXPONENT - (a + b) * log_y) / a)


def apart(v: Any, log_x: Any, log_y: Any) -> tuple[Any, Any]:
    """``log(1 - x) - log(1 - t)`` and ``log x - log t`` for ``logit t = logit x - v``."""
    right = np.where(log_x > log_y, 1.0, 0.0)
    lesser = np.exp(np.minimum(log_x, log_y))
    change = np.log1p(lesser * np.expm1((2 * right - 1) * np.minimum(v, 700.0)))
    return change - right * v, change + (1 - right) * v


def beta_weight(a: Any, b: Any, log_x: Any, log_y: Any) -> Any:
    """``xᵃ (1 - x)ᵇ / B(a, b)``."""
    smaller = np.minimum(log_x, log_y)
    x, y = np.exp(log_x), np.exp(log_y)
    by_smaller = _beta_density(
        np.where(log_x <= log_y, a, b), np.where(log_x <= log_y, b, a), np.exp(smaller)
    )
    return by_smaller * x * y


@rule
def beta_derivative(a: Any, b: Any, x: Any, i: int, j: int) -> Any:
    """The regularized incomplete beta function I_x(a, b), differentiated i times by a and j times by b."""
    nested = _is_nested(a, b, x)
    y = (
        beta_derivative(a, b, x, i, j)
        if nested
        else in_dtype_of_ufunc(_beta_derivative(a, b, x, i, j), a, b, x)
    )
    return y, Elementwise(
        lambda: beta_derivative(a, b, x, i + 1, j),
        lambda: beta_derivative(a, b, x, i, j + 1),
        lambda: beta_density_derivative(a, b, x, i, j),
    )


elementwise(
    special.betainc,
    lambda y, a, b, x: beta_derivative(a, b, x, 1, 0),
    lambda y, a, b, x: beta_derivative(a, b, x, 0, 1),
    lambda y, a, b, x: beta_density(a, b, x),
)
elementwise(
    special.betaincc,
    lambda y, a, b, x: -beta_derivative(a, b, x, 1, 0),
    lambda y, a, b, x: -beta_derivative(a, b, x, 0, 1),
    lambda y, a, b, x: -beta_density(a, b, x),
)


# -- inverses --------------------------------------------------------------------------------------------


def inverse(ufunc: Any, of: int, partials: Sequence[Any], sign: float = 1.0) -> None:
    """The rule of an inverse: ``ufunc(*args)`` is the t that solves ``F(args with t for p) = p``, where p is
    argument number `of`.

    Parameters
    ----------
    partials : list
        Of F, functions of its arguments.
    sign : float
        -1 where the partials are those of 1 - F.
    """

    def solved(t: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*args[:of], t, *args[of + 1 :])

    def by_level(t: Any, *args: Any) -> Any:
        return sign / partials[of](*solved(t, args))

    def by_other(partial: Callable[..., Any]) -> Callable[..., Any]:
        def by_parameter(t: Any, *args: Any) -> Any:
            return -partial(*solved(t, args)) / partials[of](*solved(t, args))

        return by_parameter

    elementwise(
        ufunc,
        *(
            by_level if i == of else by_other(partial) if callable(partial) else partial
            for i, partial in enumerate(partials)
        ),
    )


OF_GAMMA: list[Any] = [lambda a, x: gamma_derivative(a, x, 1), lambda a, x: gamma_density(a, x)]
OF_BETA: list[Any] = [
    lambda a, b, x: beta_derivative(a, b, x, 1, 0),
    lambda a, b, x: beta_derivative(a, b, x, 0, 1),
    lambda a, b, x: beta_density(a, b, x),
]

inverse(special.gammaincinv, 1, OF_GAMMA)
inverse(special.gammainccinv, 1, OF_GAMMA, -1.0)
inverse(special.betaincinv, 2, OF_BETA)
inverse(special.betainccinv, 2, OF_BETA, -1.0)
inverse(special.btdtria, 0, OF_BETA)
inverse(special.btdtrib, 1, OF_BETA)
