"""Distribution functions under their Cephes and CDFLIB names, by quantiles, levels and parameters.

All but the noncentral ones are incomplete gamma or beta functions.  Counts are rounded down: the derivative
with respect to them is zero, while that of an inverse, which need not be an integer, is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.differential import Elementwise
from lindiff.core.formula import perhaps
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.rules.special._common import INTEGER, NO_FORMULA, elementwise, with_partials
from lindiff.rules.special.errors import normal_density
from lindiff.rules.special.f_distribution import (
    digamma_surplus,
    direct_derivative,
    share_less_log,
    share_of_odds,
    slope,
)
from lindiff.rules.special.gamma import digamma_increment
from lindiff.rules.special.incomplete import (
    as_doubles,
    beta_density,
    beta_density_slope,
    beta_derivative,
    gamma_density,
    gamma_derivative,
    in_dtype_of_ufunc,
    inverse,
)

__all__: list[str] = []


def with_value(partials: Sequence[Any], sign: int = 1) -> list[Any]:
    """Partials of the arguments alone, as :func:`elementwise` takes them."""

    def of(partial: Any) -> Any:
        return (lambda y, *args: sign * partial(*args)) if callable(partial) else partial

    return [of(partial) for partial in partials]


# -- gamma, chi-square, Poisson --------------------------------------------------------------------------

# P(b, a x)
GAMMA = [
    lambda a, b, x: x * gamma_density(b, a * x),
    lambda a, b, x: gamma_derivative(b, np.multiply(a, x), 1),
    lambda a, b, x: a * gamma_density(b, a * x),
]
elementwise(special.gdtr, *with_value(GAMMA))
elementwise(special.gdtrc, *with_value(GAMMA, -1))
inverse(special.gdtria, 0, GAMMA)
inverse(special.gdtrib, 1, GAMMA)
inverse(special.gdtrix, 2, GAMMA)

# P(v/2, x/2)
CHI_SQUARE = [
    lambda v, x: 0.5 * gamma_derivative(0.5 * v, 0.5 * x, 1),
    lambda v, x: 0.5 * gamma_density(0.5 * v, 0.5 * x),
]
elementwise(special.chdtr, *with_value(CHI_SQUARE))
elementwise(special.chdtrc, *with_value(CHI_SQUARE, -1))
inverse(special.chdtri, 1, CHI_SQUARE, -1.0)
inverse(special.chdtriv, 0, CHI_SQUARE)

# 1 - P(k + 1, m)
POISSON = [
    lambda k, m: -gamma_derivative(np.add(k, 1), m, 1),
    lambda k, m: -gamma_density(np.add(k, 1), m),
]
POISSON_OF_COUNT = [None, lambda k, m: -gamma_density(np.floor(k) + 1, m)]
elementwise(special.pdtr, *with_value(POISSON_OF_COUNT))
elementwise(special.pdtrc, *with_value(POISSON_OF_COUNT, -1))
inverse(special.pdtri, 1, [INTEGER, POISSON_OF_COUNT[1]])
inverse(special.pdtrik, 0, POISSON)

# -- binomial: 1 - I_p(k + 1, n - k), negative binomial: I_p(n, k + 1) -----------------------------------


def binomial_by_number(k: Any, n: Any, p: Any) -> Any:
    return -beta_derivative(np.add(k, 1), np.subtract(n, k), p, 0, 1)


def binomial_by_count(k: Any, n: Any, p: Any) -> Any:
    first, second = np.add(k, 1), np.subtract(n, k)
    return beta_derivative(first, second, p, 0, 1) - beta_derivative(first, second, p, 1, 0)


def binomial_by_chance(k: Any, n: Any, p: Any) -> Any:
    return -beta_density(np.add(k, 1), np.subtract(n, k), p)


BINOMIAL = [binomial_by_count, binomial_by_number, binomial_by_chance]
BINOMIAL_OF_COUNT = [None, INTEGER, lambda k, n, p: binomial_by_chance(np.floor(k), np.trunc(n), p)]
elementwise(special.bdtr, *with_value(BINOMIAL_OF_COUNT))
elementwise(special.bdtrc, *with_value(BINOMIAL_OF_COUNT, -1))
inverse(special.bdtri, 2, BINOMIAL_OF_COUNT)
inverse(special.bdtrik, 0, BINOMIAL)
inverse(special.bdtrin, 1, BINOMIAL)

NEGATIVE_BINOMIAL = [
    lambda k, n, p: beta_derivative(n, np.add(k, 1), p, 0, 1),
    lambda k, n, p: beta_derivative(n, np.add(k, 1), p, 1, 0),
    lambda k, n, p: beta_density(n, np.add(k, 1), p),
]
NEGATIVE_BINOMIAL_OF_COUNT = [
    INTEGER,
    INTEGER,
    lambda k, n, p: beta_density(np.trunc(n), np.trunc(k) + 1, p),
]
elementwise(special.nbdtr, *with_value(NEGATIVE_BINOMIAL_OF_COUNT))
elementwise(special.nbdtrc, *with_value(NEGATIVE_BINOMIAL_OF_COUNT, -1))
inverse(special.nbdtri, 2, NEGATIVE_BINOMIAL_OF_COUNT)
inverse(special.nbdtrik, 0, NEGATIVE_BINOMIAL)
inverse(special.nbdtrin, 1, NEGATIVE_BINOMIAL)

# -- F: I_z(n/2, d/2) with z = n x / (d + n x) ------------------------------------------------------------


def _of_lesser_share(f: Any, reflected: Any, n: Any, d: Any, x: Any) -> Any:
    """``f(n/2, d/2, z)``; where z is more than 1/2, and rounded, ``reflected(d/2, n/2, 1 - z)``."""
    total = d + n * x
    upper = np.greater(n * x, d)
    if not perhaps(upper):
        return f(0.5 * n, 0.5 * d, n * x / total)
    at_least_half = reflected(0.5 * d, 0.5 * n, np.where(upper, d / total, 0.5))
    if not perhaps(~upper):
        return at_least_half
    return np.where(upper, at_least_half, f(0.5 * n, 0.5 * d, np.where(upper, 0.5, n * x / total)))


def f_beta_derivative(n: Any, d: Any, x: Any, i: int, j: int) -> Any:
    """The derivative of ``I_z(a, b)``, i times by a = n/2 and j times by b = d/2."""
    return _of_lesser_share(
        lambda a, b, z: beta_derivative(a, b, z, i, j),
        lambda b, a, y: -beta_derivative(b, a, y, j, i),
        n,
        d,
        x,
    )


def _f_density(n: Any, d: Any, x: Any) -> Any:
    return n * d / np.square(d + n * x) * _of_lesser_share(beta_density, beta_density, n, d, x)


def _f_density_slope(n: Any, d: Any, x: Any) -> Any:
    """By x, from that of the beta density by z."""
    total = d + n * x
    of_beta = _of_lesser_share(beta_density_slope, lambda b, a, y: -beta_density_slope(b, a, y), n, d, x)
    scale = n * d / np.square(total)
    return scale * scale * np.where(np.equal(scale, 0), 0, of_beta) - 2 * n / total * f_density(n, d, x)


def _f_density_times(slope: Any, n: Any, d: Any, x: Any) -> Any:
    f = f_density(n, d, x)
    return f * np.where(np.equal(f, 0), 0, slope)


f_density: Callable[..., Any] = with_partials(
    _f_density,
    lambda n, d, x: _f_density_times(slope(d, n, np.divide(d, np.multiply(n, x))), n, d, x),
    lambda n, d, x: _f_density_times(slope(n, d, np.multiply(n, x) / d), n, d, x),
    _f_density_slope,
)


@rule
def f_by_second(n: Any, d: Any, x: Any) -> Any:
    """By d; where d < 2 and x is beyond the mean as by b and z."""
    if any(isinstance(each, Variable) for each in (n, d, x)):
        y = f_by_second(n, d, x)
    else:
        direct = _direct_or(_f_by_second, n, d, x, 1)
        y = in_dtype_of_ufunc(direct, n, d, x)

    def by_first() -> Any:
        f, log_rest = f_density(n, d, x), _log_rest(n, d, x)
        positive = np.greater(x, 0)
        inverse = np.divide(d, np.multiply(n, np.where(positive, x, 1.0)))
        mixed = np.where(positive, x * f * (0.5 * log_rest / n - slope(d, n, inverse) / d), 0.0)
        return 0.25 * f_beta_derivative(n, d, x, 1, 1) + mixed

    return y, Elementwise(
        by_first,
        lambda: f_twice_by_second(n, d, x),
        lambda: _f_density_times(slope(n, d, np.multiply(n, x) / d), n, d, x),
    )


def _f_by_second(n: Any, d: Any, x: Any) -> Any:
    return 0.5 * f_beta_derivative(n, d, x, 0, 1) - x * f_density(n, d, x) / d


def _log_rest(n: Any, d: Any, x: Any) -> Any:
    """The derivative by b of the logarithm of the beta density at z."""
    return digamma_increment(0.5 * d, 0.5 * n) - np.log1p(np.multiply(n, x) / d)


def f_twice_by_second(n: Any, d: Any, x: Any) -> Any:
    """The second derivative by d; in a third one, and where :func:`f_by_second` does so, as by b and z."""

    def by_beta(n: Any, d: Any, x: Any) -> Any:
        of_density = 0.5 * _log_rest(n, d, x) + slope(n, d, np.multiply(n, x) / d) - 1 / d
        return 0.25 * f_beta_derivative(n, d, x, 0, 2) - x * f_density(n, d, x) / d * of_density

    nested = any(isinstance(each, Variable) for each in (n, d, x))
    return by_beta(n, d, x) if nested else _direct_or(by_beta, n, d, x, 2)


def _direct_or(by_beta: Any, n: Any, d: Any, x: Any, order: int) -> Any:
    n, d, x = np.broadcast_arrays(*as_doubles(n, d, x))
    y, direct = direct_derivative(n, d, x, order)
    rest = ~direct & ~np.isinf(n * x) & ~np.isinf(d)
    if np.any(rest):
        y = np.where(rest, by_beta(*(np.where(rest, each, 1.0) for each in (n, d, x))), y)
    return y


def f_by_first(n: Any, d: Any, x: Any) -> Any:
    """By n, from ``F(n, d, x) = 1 - F(d, n, 1/x)``."""
    positive = np.greater(x, 0)
    if not perhaps(~positive):
        return -f_by_second(d, n, 1 / x)
    zero = 0.5 * f_beta_derivative(n, d, x, 1, 0) + x * f_density(n, d, x) / n
    return np.where(positive, -f_by_second(d, n, 1 / np.where(positive, x, 1.0)), zero)


F = [f_by_first, f_by_second, f_density]
elementwise(special.fdtr, *with_value(F))
elementwise(special.fdtrc, *with_value(F, -1))
inverse(special.fdtri, 2, F)
inverse(special.fdtridfd, 1, F)

# -- Student's t -----------------------------------------------------------------------------------------


MANY = 100.0  # degrees of freedom from which powers of their inverse converge


def _of_few_or_many(v: Any, few: Any, many: Any) -> Any:
    """``many(1/v)``, a series, for many degrees of freedom, where ``few(v)`` cancels."""
    is_many = np.greater(v, MANY)
    if not perhaps(is_many):
        return few(v)
    series = many(1.0 / np.where(is_many, v, MANY))
    return series if not perhaps(~is_many) else np.where(is_many, series, few(np.where(is_many, 1.0, v)))


def student_scale(v: Any) -> Any:
    """``log(Γ((v + 1)/2) / (Γ(v/2) √(v/2)))``, 0 for infinite v."""
    return _of_few_or_many(
        v,
        lambda v: np.log(special.poch(0.5 * v, 0.5)) - 0.5 * np.log(0.5 * v),
        lambda q: -q * (1 / 4 - q * q * (1 / 24 - q * q * (1 / 20 - q * q * (17 / 112)))),
    )


def _twice_scale_slope(v: Any) -> Any:
    """``ψ((v + 1)/2) - ψ(v/2) - 1/v``"""
    return _of_few_or_many(
        v,
        lambda v: digamma_increment(0.5 * v, 0.5) - 1 / v,
        lambda q: q * q * (1 / 2 - q * q * (1 / 4 - q * q * (1 / 2 - q * q * (17 / 8)))),
    )


def student_slope(v: Any, t: Any) -> Any:
    """The derivative by v of the logarithm of the density.

    ``(ψ((v + 1)/2) - ψ(v/2) - log(1 + u) + (t² - 1)/(v + t²)) / 2`` with u = t²/v, in groups that do not
    cancel for large v.
    """
    u = t * t / v
    return 0.5 * (_twice_scale_slope(v) + share_less_log(u) + share_of_odds(u) / v)


def student_density(v: Any, t: Any) -> Any:
    """``(1 + t²/v)^(-(v + 1)/2) / (√v B(1/2, v/2))``, the normal one for infinite v."""
    infinite = np.isinf(v)
    v = np.where(infinite, 1, v) if perhaps(infinite) else v
    power = -0.5 * (v + 1) * np.log1p(t * t / v)
    density = np.exp(power + student_scale(v)) / math.sqrt(2 * math.pi)
    return np.where(infinite, normal_density(t), density) if perhaps(infinite) else density


@rule
def student_by_degrees(v: Any, t: Any) -> Any:
    """The derivative by v of ``1/2 + sgn(t) F(1, v, t²) / 2``."""
    if isinstance(v, Variable) or isinstance(t, Variable):
        y = student_by_degrees(v, t)
    else:
        near = t * student_density_by_degrees(v, t)
        y = in_dtype_of_ufunc(_of_square(f_by_second, near, v, t), v, t)

    def by_degrees() -> Any:
        change = np.square(student_slope(v, t)) + 0.25 * digamma_surplus(0.5, 0.5 * v, 1)
        return _of_square(f_twice_by_second, t * student_density(v, t) * change, v, t)

    return y, Elementwise(by_degrees, lambda: student_density_by_degrees(v, t))


def _of_square(derivative: Any, near: Any, v: Any, t: Any) -> Any:
    """A derivative of F of t², which vanishes before t does; there its first term."""
    tiny = np.less(np.abs(t), 1e-100)
    far = 0.5 * np.sign(t) * derivative(1.0, v, np.square(np.where(tiny, 1.0, t)))
    return np.where(tiny, near, far) if perhaps(tiny) else far


def student_density_by_degrees(v: Any, t: Any) -> Any:
    return student_density(v, t) * student_slope(v, t)


STUDENT = [student_by_degrees, student_density]
elementwise(special.stdtr, *with_value(STUDENT))
inverse(special.stdtrit, 1, STUDENT)
inverse(special.stdtridf, 0, STUDENT)

# -- noncentral chi-square -------------------------------------------------------------------------------


def noncentral_density(x: Any, df: Any, nc: Any) -> Any:
    """``exp(-(x + λ)/2) (x/λ)^(k/4 - 1/2) I_{k/2 - 1}(√(λ x)) / 2`` for λ = nc; the central one for λ = 0."""
    central = np.equal(nc, 0)
    nc = np.where(central, 1, nc) if perhaps(central) else nc
    power = np.power(np.divide(x, nc), 0.25 * np.subtract(df, 2))
    bessel = special.ive(0.5 * np.subtract(df, 2), np.sqrt(np.multiply(nc, x)))
    density = 0.5 * np.exp(-0.5 * np.square(np.sqrt(x) - np.sqrt(nc))) * power * bessel
    if not perhaps(central):
        return density
    return np.where(central, 0.5 * gamma_density(np.multiply(0.5, df), 0.5 * x), density)


# A Poisson mixture of central ones: raising λ raises the degrees of freedom
NONCENTRAL = [
    noncentral_density,
    NO_FORMULA,
    lambda x, df, nc: 0.5 * (special.chndtr(x, np.add(df, 2), nc) - special.chndtr(x, df, nc)),
]
elementwise(special.chndtr, *with_value(NONCENTRAL))
inverse(special.chndtrix, 0, NONCENTRAL)
inverse(special.chndtrinc, 2, NONCENTRAL)

# -- Kolmogorov's limit ----------------------------------------------------------------------------------


def kolmogorov_slope(x: Any) -> Any:
    """Of ``2 Σ (-1)ᵏ⁻¹ exp(-2 k² x²)``, which by Jacobi's transform is
    ``1 - √(2π)/x Σ exp(-(2k - 1)² π² / (8 x²))``, for small x."""
    small = np.less(x, 0.8)
    t = np.where(small, 1.0, x)
    right = sum((-1) ** k * 8 * k * k * t * np.exp(-2.0 * k * k * t * t) for k in range(1, 8))
    positive = np.greater(x, 0)
    s = np.where(small & positive, x, 0.5)
    square = s * s
    terms = [
        np.exp(-c / square) * (2 * c / square - 1) / square
        for c in (math.pi**2 / 8 * (2 * k - 1) ** 2 for k in range(1, 5))
    ]
    left = -math.sqrt(2 * math.pi) * sum(terms)
    return np.where(small, np.where(positive, left, 0), right)


elementwise(special.kolmogorov, lambda y, x: kolmogorov_slope(x))
elementwise(special.kolmogi, lambda x: 1 / kolmogorov_slope(x))
