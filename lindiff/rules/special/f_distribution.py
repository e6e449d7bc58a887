"""The F distribution function ``I_z(a, b)``, a = n/2, b = d/2, ``z = u/(1 + u)`` for ``u = n x/d``, by d.

The derivative of its density by d is the density times polynomials in ``slope``, a sum of small terms, so
that nothing cancels where x is small or d is large, as in the difference of those by b and z.  It is
integrated from 0 to x, or beyond x, in the variable logit z, like that of the incomplete beta function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.differential import Elementwise
from lindiff.core.formula import perhaps
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.rules.special.gamma import digamma_increment, polygamma, polygamma_increment
from lindiff.rules.special.incomplete import apart, as_doubles, beta_weight, integrate, length_below

__all__ = ["digamma_surplus", "direct_derivative", "share_less_log", "share_of_odds", "slope"]

TERMS = 64  # of a sum, before it is an integral
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def share_of_odds(u: Any) -> Any:
    """``u / (1 + u)``, also of infinite u."""
    large = np.greater(u, 1)
    lesser = np.where(large, 1.0, u)
    return np.where(large, 1 - 1 / (1 + u), lesser / (1 + lesser))


def share_less_log(u: Any) -> Any:
    """``u/(1 + u) - log(1 + u)``, of small u by a series."""
    small = np.less(u, 0.25)
    if not perhaps(small):
        return share_of_odds(u) - np.log1p(u)
    return np.where(small, _of_small(np.where(small, u, 0)), share_of_odds(u) - np.log1p(u))


def _of_small(u: Any) -> Any:
    """The same, by the series of the logarithm in ``r = u/(2 + u)``."""
    r = u / (2 + u)
    square, series = r * r, 0.0
    for k in range(17, 1, -2):
        series = series * square + 1 / k
    return -2 * square * (1 / (1 + r) + r * series)


@rule
def digamma_surplus(a: Any, b: Any, k: int) -> Any:
    """The k-th derivative by b, k = 0 or 1, of ``ψ(a + b) - ψ(b) - a/b``."""
    nested = isinstance(a, Variable) or isinstance(b, Variable)
    y = digamma_surplus(a, b, k) if nested else _digamma_surplus(a, b, k)

    def by_a() -> Any:
        of_sum = polygamma(k + 1, np.add(a, b))
        return of_sum - 1 / b if k == 0 else of_sum + 1 / (b * b)

    def by_b() -> Any:
        return digamma_surplus(a, b, 1) if k == 0 else polygamma_increment(2, b, a) - 2 * a / (b * b * b)

    return y, Elementwise(by_a, by_b)


def _digamma_surplus(a: Any, b: Any, k: int) -> Any:
    """Where that cancels, ``a (1 - a) Σ f(b + m)`` over m ≥ 0 with ``f(t) = 1/(t (t + 1) (t + a))``; the
    terms from the 64th on by Euler and Maclaurin's formula (DLMF 2.10.1).
    """
    a, b = np.broadcast_arrays(*as_doubles(a, b))
    summed = ~_is_wide(a, b)
    plain = digamma_increment(b, a) - a / b if k == 0 else polygamma_increment(1, b, a) + a / (b * b)
    if not np.any(summed):
        return plain
    p, end = np.where(summed, a, 1.0), b + TERMS
    t, p_t = b[..., None] + placed(np.arange(TERMS), b), p[..., None]
    f = 1 / (t * (t + 1) * (t + p_t))
    parts = 1 / end, 1 / (end + 1), 1 / (end + p)
    squares = [part * part for part in parts]
    F, g1, g2 = parts[0] * parts[1] * parts[2], sum(parts), sum(squares)
    g3 = sum(part * square for part, square in zip(parts, squares, strict=True))
    if k == 0:
        x, w = (placed(part, b) for part in ((1 + NODES) / 2, WEIGHTS / 2))
        # ∫ f dt from end on, with t = end / x
        far = np.sum(w * x / ((end[..., None] + x) * (end[..., None] + p_t * x)), axis=-1)
        third = -F * (g1 * (g1 * g1 + 3 * g2) + 2 * g3)
        total = np.sum(f, axis=-1) + far + F / 2 + F * g1 / 12 + third / 720
    else:
        g4 = sum(square * square for square in squares)
        second = F * (g1 * g1 + g2)
        fourth = F * (g1 * g1 * (g1 * g1 + 6 * g2) + 3 * g2 * g2 + 8 * g1 * g3 + 6 * g4)
        slopes = np.sum(f * (1 / t + 1 / (t + 1) + 1 / (t + p_t)), axis=-1)
        total = -slopes - F - F * g1 / 2 - second / 12 + fourth / 720
    return np.where(summed, p * (1 - p) * total, plain)


def _is_wide(a: Any, b: Any) -> Any:
    """Where ``ψ(a + b) - ψ(b)`` and ``a/b`` are not nearly the same."""
    return np.greater(a, np.maximum(0.5 * b, 4))


def slope(n: Any, d: Any, u: Any) -> Any:
    """The derivative by d of the logarithm of the density."""
    a, b = 0.5 * n, 0.5 * d
    wide = _is_wide(a, b)
    near = 0.5 * (digamma_surplus(a, b, 0) + share_less_log(u) + n / d * share_of_odds(u))
    if not perhaps(wide):
        return near
    return np.where(
        wide, 0.5 * (digamma_increment(b, a) - np.log1p(u) + share_of_odds(u) - n / d / (1 + u)), near
    )


def direct_derivative(n: Any, d: Any, x: Any, order: int) -> tuple[Any, Any]:
    """The first or second derivative by d, and where it was computed: where that by b and z would cancel,
    unless d < 2 and x is beyond the mean."""
    n, d, x = np.broadcast_arrays(*as_doubles(n, d, x))
    a, b, out = 0.5 * n, 0.5 * d, np.zeros(n.shape, like=n)
    with np.errstate(all="ignore"):
        u = n * x / d
        known = (n > 0) & (d > 0) & np.isfinite(n) & np.isfinite(d) & (u > 0) & np.isfinite(u)
        known &= b > 10 * np.abs(a - 1)
        lower = known & (u * np.where(b < 1, b + 1, b) < np.where(a < 1, a + 1, a))
        upper = known & ~lower & (b >= 1)
        if np.any(lower):
            out[lower] = _from_zero(n[lower], d[lower], u[lower], order)
        if np.any(upper):
            out[upper] = _from_infinity(n[upper], d[upper], u[upper], order)
    return out, lower | upper


def _factor(n: Any, d: Any, u: Any, log_total: Any, of_d: Any, order: int) -> tuple[Any, Any]:
    """What the density is multiplied by: s, or ``s² + s'`` for the slope s; and what depends on u of that.

    ``log_total`` is ``log(1 + u)``, u may be infinite.
    """
    surplus, increment, surplus_by_d, increment_by_d = of_d
    w, wide, small = 1 / (1 + 1 / u), _is_wide(0.5 * n, 0.5 * d), u < 0.25
    ratio, less_log = n / d, w - log_total
    if np.any(small):
        less_log = np.where(small, _of_small(np.minimum(u, 0.25)), less_log)
    part = 0.5 * (less_log + ratio * w)
    s = 0.5 * surplus + part
    if np.any(wide):
        s = np.where(wide, 0.5 * (increment - log_total + w - ratio / (1 + u)), s)
    if order == 1:
        return s, part
    change = 0.5 * w * (w - ratio * (2 - w)) / d
    of_wide = 0.25 * increment_by_d + 0.5 * (w * w + ratio / np.square(1 + u)) / d
    q = s * s + np.where(wide, of_wide, 0.25 * surplus_by_d + change)
    return q, part * (2 * s - part) + change


def _of_degrees(n: Any, d: Any, order: int) -> list[Any]:
    """Of d alone: the surplus and the increment, and their derivatives by b."""
    a, b = 0.5 * n, 0.5 * d
    first = [digamma_surplus(a, b, 0), digamma_increment(b, a)]
    return first + ([digamma_surplus(a, b, 1), polygamma_increment(1, b, a)] if order > 1 else first)


def _from_zero(n: Any, d: Any, u: Any, order: int) -> Any:
    """For a < 1 what does not depend on u is multiplied by ``I_z(a, b)``, which is that of the same integrand
    times ``(a + b) z / a`` and ``zᵃ (1 - z)ᵇ / (a B(a, b))``."""
    log_z, log_y = -np.log1p(1 / u), -np.log1p(u)
    a, b, of_d = 0.5 * n, 0.5 * d, _of_degrees(n, d, order)
    small = a < 1

    def integrand(v: Any, length: Any, n: Any, d: Any, u: Any, small: Any, *rest: Any) -> Any:
        a, b, (log_z, log_y, *of_d) = 0.5 * n, 0.5 * d, rest
        drop, rise = apart(v, log_z, log_y)
        q, varying = _factor(n, d, u * np.exp(-v), drop - log_y, of_d, order)
        edge = varying + (q - varying) * (a + b) * np.exp(log_z - rise) / a
        return np.exp(-(a * rise + b * drop)) * np.where(small, edge, q)

    length = length_below(np.where(small, a + 1, a), b, log_z, log_y)
    integral = integrate(integrand, lambda length, *_: length, length, n, d, u, small, log_z, log_y, *of_d)
    q, varying = _factor(n, d, u, -log_y, of_d, order)
    return beta_weight(a, b, log_z, log_y) * (integral + np.where(small, (q - varying) / a, 0.0))


def _from_infinity(n: Any, d: Any, u: Any, order: int) -> Any:
    log_z, log_y = -np.log1p(1 / u), -np.log1p(u)

    def integrand(v: Any, length: Any, n: Any, d: Any, u: Any, log_z: Any, log_y: Any, *of_d: Any) -> Any:
        drop, rise = apart(v, log_y, log_z)
        q, _ = _factor(n, d, u * np.exp(v), rise - log_y, of_d, order)
        return np.exp(-(0.5 * d * rise + 0.5 * n * drop)) * q

    length, of_d = length_below(0.5 * d, 0.5 * n, log_y, log_z), _of_degrees(n, d, order)
    integral = integrate(integrand, lambda length, *_: length, length, n, d, u, log_z, log_y, *of_d)
    return -beta_weight(0.5 * n, 0.5 * d, log_z, log_y) * integral
