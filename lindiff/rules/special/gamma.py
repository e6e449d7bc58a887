"""The gamma function and its kin: gamma, digamma, polygamma, beta, Pochhammer's symbol, binomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.arrays import counterpart, placed
from lindiff.core.differential import Elementwise
from lindiff.core.formula import perhaps, some
from lindiff.core.registry import constant, rule
from lindiff.core.variable import Variable
from lindiff.rules._common import as_array
from lindiff.rules.special._common import elementwise, is_complex, with_partials

__all__ = ["bernoulli", "digamma_increment", "polygamma", "polygamma_increment", "stirling_error"]


def bernoulli(count: int) -> list[float]:
    """The Bernoulli numbers B₂, B₄, …, B₂ₖ for ``k = count``."""
    return [float(b) for b in special.bernoulli(2 * count)[2::2]]


def pole(x: Any) -> Any:
    """Where the gamma function has its poles: 0, -1, -2, …"""
    return np.less_equal(x, 0) & np.equal(x, np.floor(x))


# -- polygamma -------------------------------------------------------------------------------------------


@rule
def polygamma(n: Any, x: Any) -> Any:
    """ψ⁽ⁿ⁾(x) for non-negative integers n, of real or complex x."""
    if isinstance(x, Variable):  # of an outer trace
        y = polygamma(n, x)
    elif is_complex(x):
        y = _complex_polygamma(n, as_array(x))
    else:
        y = counterpart(special.polygamma, x)(n if isinstance(n, int) else placed(as_array(n), x), x)
    return y, Elementwise(None, lambda: polygamma(np.add(n, 1), x))


def _complex_polygamma(n: Any, z: Any) -> Any:
    """ψ⁽ⁿ⁾ for one n, by reflection, recurrence and Stirling's series (DLMF 5.15.5, 5.15.6, 5.15.8)."""
    n = int(n)
    if n == 0:
        return special.psi(z)
    left = z.real < 0.5
    with np.errstate(all="ignore"):
        right_half = _polygamma_of_right_half(n, np.where(left, 1 - z, z))
        reflected = (-1) ** n * right_half - math.pi * _cotangent_derivative(n, z)
    return np.where(left, reflected, right_half).astype(z.dtype)


def _polygamma_of_right_half(n: int, z: Any) -> Any:
    """``(-1)ⁿ⁺¹ ψ⁽ⁿ⁾ = n! Σ (z + m)⁻ⁿ⁻¹``, of which the first terms are added up."""
    total = 0
    for _ in range(20):
        total = total + math.factorial(n) * z ** -(n + 1)
        z = z + 1
    tail = math.factorial(n - 1) * z**-n + math.factorial(n) / 2 * z ** -(n + 1)
    for j, b in enumerate(bernoulli(12), start=1):
        tail = tail + b * math.factorial(2 * j + n - 1) / math.factorial(2 * j) * z ** -(2 * j + n)
    return (-1) ** (n + 1) * (total + tail)


def _cotangent_derivative(n: int, z: Any) -> Any:
    """The n-th derivative of cot(π z), a polynomial in c = cot(π z): c' = -π (1 + c²)."""
    p = np.polynomial.Polynomial([0, 1])
    for _ in range(n):
        p = -math.pi * np.polynomial.Polynomial([1, 0, 1]) * p.deriv()
    return p(1 / np.tan(math.pi * z))


def trigamma(x: Any) -> Any:
    """ψ'(x); for real x > 0 by ten steps of ``ψ'(x) = 1/x² + ψ'(x + 1)`` (DLMF 5.15.5) and the series
    ``1/z + 1/(2z²) + Σ B₂ₘ / z²ᵐ⁺¹`` (DLMF 5.15.8), at a fraction of the cost of Hurwitz's zeta function."""
    if isinstance(x, Variable) or x.dtype.kind == "c":
        return polygamma(1, x)
    positive = np.greater(x, 0)
    z, total = x, 0.0
    for _ in range(10):
        total = total + 1 / (z * z)
        z = z + 1
    t, series = 1 / (z * z), 0.0
    for b in reversed(bernoulli(7)):
        series = (series + b) * t
    total = total + ((series + 1) / z + 0.5 * t)
    if not some(~positive):
        return total
    return np.where(
        positive, total, counterpart(special.zeta, x)(2, np.where(positive, 1e9, x))
    )  # where zeta is cheap


# -- gamma and its logarithm -----------------------------------------------------------------------------


def rgamma_derivative(y: Any, x: Any) -> Any:
    """``-ψ(x) / Γ(x)``; around the poles of ψ from ``1/Γ(x) = sin(π x) Γ(1 - x) / π``."""
    real, imaginary = np.real(x), np.imag(x) if is_complex(x) else 0.0
    near = np.less(real, 0.5) & np.less(np.abs(imaginary), 1)
    if not perhaps(near):
        return -special.psi(x) * y
    t = np.where(near, x, 0.25)
    sine, cosine = np.sin(math.pi * t) / math.pi, np.cos(math.pi * t)
    reflected = special.gamma(1 - t) * (cosine - sine * special.psi(1 - t))
    return np.where(near, reflected, -special.psi(np.where(near, 1, x)) * y)


elementwise(special.gamma, lambda y, x: y * special.psi(x))
elementwise(special.gammaln, lambda y, x: special.psi(x))
elementwise(special.loggamma, lambda y, x: special.psi(x))
elementwise(special.rgamma, rgamma_derivative)
elementwise(special.psi, lambda y, x: trigamma(x))
constant(special.gammasgn)


# -- of two arguments ------------------------------------------------------------------------------------


def digamma_excess(x: Any) -> Any:
    """``ψ(x) - log x`` for x ≥ 20 (DLMF 5.11.2)."""
    t = 1 / (x * x)
    return -0.5 / x - t * (1 / 12 - t * (1 / 120 - t * (1 / 252 - t * (1 / 240 - t / 132))))


def digamma_increment(a: Any, b: Any) -> Any:
    """``ψ(a + b) - ψ(a)``, without cancellation where a is large or b small."""
    small = np.less(np.abs(b), 1e-3 * a)
    large = np.greater(a, 20) & np.greater(np.add(a, b), 20)
    plain = special.psi(np.add(a, b)) - special.psi(a)
    if some(large):
        start = np.where(large, a, 20.0)
        end = np.where(large, np.add(a, b), 20.0)
        far = np.log1p(np.where(large, b, 0) / start) + digamma_excess(end) - digamma_excess(start)
        plain = np.where(large, far, plain)
    if not some(small):
        return plain
    return np.where(small, _increment_around_middle(a, np.where(small, b, 0), 2), plain)


def _increment_around_middle(a: Any, b: Any, s: int) -> Any:
    """``∫ ζ(s, x) dx`` from a to a + b, by Taylor's series around the middle; for s = 2 that of ψ'."""
    middle = a + 0.5 * b
    zeta = counterpart(special.zeta, middle)
    return b * (zeta(s, middle) + s * (s + 1) / 24 * np.square(b) * zeta(s + 2, middle))


def polygamma_increment(k: int, a: Any, b: Any) -> Any:
    """``ψ⁽ᵏ⁾(a + b) - ψ⁽ᵏ⁾(a)`` for k > 0, without cancellation where b is small."""
    small = np.less(np.abs(b), 1e-3 * a)
    plain = polygamma(k, np.add(a, b)) - polygamma(k, a)
    if not perhaps(small):
        return plain
    a, b = np.where(small, a, 1.0), np.where(small, b, 0.0)
    middle = a + 0.5 * b
    near = b * (polygamma(k + 1, middle) + np.square(b) / 24 * polygamma(k + 3, middle))
    return np.where(small, near, plain)


def trigamma_decrement(a: Any, b: Any) -> Any:
    """``ψ'(a) - ψ'(a + b)``, without cancellation where b is small."""
    small = np.less(np.abs(b), 1e-3 * a)
    plain = trigamma(as_array(a)) - trigamma(as_array(np.add(a, b)))
    if not some(small):
        return plain
    return np.where(small, 2 * _increment_around_middle(a, np.where(small, b, 0), 3), plain)


def stirling_error(a: Any) -> Any:
    """``log Γ(a) - (a - 1/2) log a + a - log(2π) / 2`` for plain a > 0 (DLMF 5.11.1)."""
    a = as_array(a)
    with np.errstate(all="ignore"):
        direct = special.gammaln(a) - (a - 0.5) * np.log(a) + a - 0.5 * math.log(2 * math.pi)
        t = 1 / (a * a)
        series = (1 / 12 - t * (1 / 360 - t * (1 / 1260 - t * (1 / 1680 - t / 1188)))) / a
    return np.where(a > 15, series, direct)


def _beta_mixed(a: Any, b: Any) -> Any:
    """``y (Δψ(a) Δψ(b) - ψ'(a + b))``; next to its poles, where that cancels, from its integral."""
    small = np.less(np.minimum(np.abs(a), np.abs(b)), 0.1) & np.greater(a, 0) & np.greater(b, 0)
    increments = digamma_increment(a, b) * digamma_increment(b, a)
    far = special.beta(a, b) * (increments - trigamma(as_array(np.add(a, b))))
    if not perhaps(small):
        return far
    return np.where(small, beta_moment(np.where(small, a, 1.0), np.where(small, b, 1.0), 1, 1), far)


@rule
def beta_moment(a: Any, b: Any, i: int, j: int) -> Any:
    """``∫ tᵃ⁻¹ (1 - t)ᵇ⁻¹ logⁱ t logʲ(1 - t) dt`` from 0 to 1, for a, b > 0 and i, j > 0."""
    nested = isinstance(a, Variable) or isinstance(b, Variable)
    y = beta_moment(a, b, i, j) if nested else _beta_moment(a, b, i, j)
    return y, Elementwise(lambda: beta_moment(a, b, i + 1, j), lambda: beta_moment(a, b, i, j + 1))


def _beta_moment(a: Any, b: Any, i: int, j: int) -> Any:
    """By the trapezoidal rule in logit t, where the integrand is analytic and decays like ``e^-|u|``."""
    a, b = np.broadcast_arrays(as_array(a), as_array(b))
    step = 0.25
    u = placed(np.arange(-60, 60 + step, step), a)
    log_t, log_rest = -np.logaddexp(0, -u), -np.logaddexp(0, u)
    weights = step * log_t**i * log_rest**j
    exponent = a.reshape(-1, 1) * log_t + b.reshape(-1, 1) * log_rest
    return (np.exp(exponent) * weights).sum(axis=-1).reshape(a.shape).astype(np.result_type(a, b))


def _beta_slope(a: Any, b: Any) -> Any:
    return -special.beta(a, b) * digamma_increment(a, b)


def _beta_curvature(a: Any, b: Any) -> Any:
    return special.beta(a, b) * (np.square(digamma_increment(a, b)) + trigamma_decrement(a, b))


beta_by_first = with_partials(_beta_slope, _beta_curvature, _beta_mixed)
beta_by_second = with_partials(
    lambda a, b: _beta_slope(b, a), _beta_mixed, lambda a, b: _beta_curvature(b, a)
)


def _of_arguments(y: Any, a: Any, b: Any, by_first: Callable[..., Any]) -> Any:
    """The slope, from the value that is there where it is plain."""
    nested = isinstance(a, Variable) or isinstance(b, Variable)
    return by_first(a, b) if nested else -y * digamma_increment(a, b)


elementwise(
    special.beta,
    lambda y, a, b: _of_arguments(y, a, b, beta_by_first),
    lambda y, a, b: _of_arguments(y, b, a, lambda b, a: beta_by_second(a, b)),
)
elementwise(
    special.betaln,
    lambda y, a, b: -digamma_increment(a, b),
    lambda y, a, b: -digamma_increment(b, a),
)


def _rgamma_slope(x: Any) -> Any:
    return rgamma_derivative(special.rgamma(x), x)


def poch_by_start(y: Any, z: Any, m: Any) -> Any:
    """``(ψ(z + m) - ψ(z)) Γ(z + m) / Γ(z)``; at the poles of Γ(z) from 1/Γ, or by reflection."""
    plain = y * digamma_increment(z, m)
    at_pole = pole(z)
    if not perhaps(at_pole):
        return plain
    end = np.add(z, m)
    both = at_pole & pole(end)
    start = as_array(z)
    crossing = special.gamma(np.where(both, 1, end)) * (
        _rgamma_slope(start) + special.psi(np.where(both, 1, end)) * special.rgamma(start)
    )
    below = y * (special.psi(np.where(both, 1 - end, 1)) - special.psi(np.where(both, np.subtract(1, z), 1)))
    return np.where(both, below, np.where(at_pole, crossing, plain))


elementwise(special.poch, poch_by_start, lambda y, z, m: y * special.psi(np.add(z, m)))


def binom_by_number(y: Any, n: Any, k: Any) -> Any:
    """Of ``Γ(n + 1) / (Γ(k + 1) Γ(left))``; where ``left`` is a pole, from 1/Γ and its derivative."""
    left = np.subtract(n, k) + 1
    plain = y * digamma_increment(left, k)
    at_pole = pole(left)
    if not perhaps(at_pole):
        return plain
    total = np.where(at_pole, np.add(n, 1), 1)
    slope = _rgamma_slope(left) + special.psi(total) * special.rgamma(left)
    return np.where(at_pole, special.gamma(total) * special.rgamma(np.add(k, 1)) * slope, plain)


def binom_by_part(y: Any, n: Any, k: Any) -> Any:
    left, part = np.subtract(n, k) + 1, np.add(k, 1)
    slope = y * digamma_increment(part, np.subtract(left, part))
    at_pole = pole(left) | pole(part)
    if not perhaps(at_pole):
        return slope
    left, part = as_array(left), as_array(part)
    products = _rgamma_slope(part) * special.rgamma(left) - special.rgamma(part) * _rgamma_slope(left)
    return np.where(at_pole, special.gamma(np.where(at_pole, np.add(n, 1), 1)) * products, slope)


elementwise(special.binom, binom_by_number, binom_by_part)
