"""Distribution functions under their Cephes and CDFLIB names, by quantiles, levels and parameters.

All but the noncentral ones are incomplete gamma or beta functions.  Counts are rounded down: the derivative
with respect to them is zero, while that of an inverse, which need not be an integer, is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.differential import Elementwise
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.rules._formula import perhaps
from lindiff.rules.special._common import INTEGER, NO_FORMULA, elementwise
from lindiff.rules.special.errors import normal_density
from lindiff.rules.special.gamma import digamma_increment
from lindiff.rules.special.incomplete import (
    LAST_EXPONENT,
    beta_density,
    beta_derivative,
    gamma_density,
    gamma_derivative,
    in_dtype_of_ufunc,
    integrate,
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


def f_density(n: Any, d: Any, x: Any) -> Any:
    return n * d / np.square(d + n * x) * _of_lesser_share(beta_density, beta_density, n, d, x)


F = [
    lambda n, d, x: 0.5 * f_beta_derivative(n, d, x, 1, 0) + x * f_density(n, d, x) / n,
    lambda n, d, x: 0.5 * f_beta_derivative(n, d, x, 0, 1) - x * f_density(n, d, x) / d,
    f_density,
]
elementwise(special.fdtr, *with_value(F))
elementwise(special.fdtrc, *with_value(F, -1))
inverse(special.fdtri, 2, F)
inverse(special.fdtridfd, 1, F)

# -- Student's t -----------------------------------------------------------------------------------------


MANY = 100.0  # degrees of freedom from which powers of 1/v converge


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


def _share(u: Any) -> Any:
    """``u / (1 + u)``, also of infinite u."""
    large = np.greater(u, 1)
    lesser = np.where(large, 1.0, u)
    return np.where(large, 1 - 1 / (1 + u), lesser / (1 + lesser))


def _share_less_log(u: Any) -> Any:
    """``u/(1 + u) - log(1 + u)``, of small u by the series of the logarithm in ``r = u/(2 + u)``."""
    small = np.less(u, 0.25)
    if not perhaps(small):
        return _share(u) - np.log1p(u)
    r = np.where(small, u, 0) / (2 + np.where(small, u, 0))
    series = 0.0
    for k in range(19, 1, -2):
        series = series * (r * r) + 1 / k
    near = -2 * r * r * (1 / (1 + r) + r * series)
    return np.where(small, near, _share(u) - np.log1p(u))


def student_slope(v: Any, t: Any) -> Any:
    """The derivative by v of the logarithm of the density.

    ``(ψ((v + 1)/2) - ψ(v/2) - log(1 + u) + (t² - 1)/(v + t²)) / 2`` with u = t²/v, in groups that do not
    cancel for large v.
    """
    u = t * t / v
    return 0.5 * (_twice_scale_slope(v) + _share_less_log(u) + _share(u) / v)


def student_density(v: Any, t: Any) -> Any:
    """``(1 + t²/v)^(-(v + 1)/2) / (√v B(1/2, v/2))``, the normal one for infinite v."""
    infinite = np.isinf(v)
    v = np.where(infinite, 1, v) if perhaps(infinite) else v
    power = -0.5 * (v + 1) * np.log1p(t * t / v)
    density = np.exp(power + student_scale(v)) / math.sqrt(2 * math.pi)
    return np.where(infinite, normal_density(t), density) if perhaps(infinite) else density


def _student_integral(v: Any, t: Any) -> Any:
    """``∫ f(s) student_slope(v, s) ds``, whose sign changes once, near s = 1.6: from 0 to small t, of larger
    t the negative of what is beyond, where f decays fast if v is large."""
    near = np.less_equal(np.abs(t), 1.5)

    def length(v: Any, t: Any, near: Any) -> Any:
        past = np.log1p(t * t / v) + 2 * LAST_EXPONENT / (v + 1)
        return np.where(near, t, np.sqrt(v * np.expm1(past)) - t)

    def integrand(s: Any, v: Any, t: Any, near: Any) -> Any:
        s = np.where(near, s, t + s)
        return np.where(near, 1.0, -1.0) * student_density(v, s) * student_slope(v, s)

    return np.sign(t) * integrate(integrand, length, v, np.abs(t), near)


@rule
def student_by_degrees(v: Any, t: Any) -> Any:
    """The derivative by v of ``1/2 + sgn(t) I_y(1/2, v/2) / 2`` with ``y = t² / (v + t²)``."""

    def expression() -> Any:
        finite = np.isfinite(v)
        degrees = v if not perhaps(~finite) else np.where(finite, v, 1)
        direct = (np.greater(degrees, MANY) & np.isfinite(t * t)) | np.less_equal(
            t * t, np.minimum(degrees, 2.0)
        )
        slope = _student_integral(degrees, t) if perhaps(direct) else 0.0
        if perhaps(~direct):
            slope = np.where(direct, slope, by_beta(np.where(direct, 1, degrees), np.where(direct, 2, t)))
        return slope if not perhaps(~finite) else np.where(finite, slope, 0)

    def by_beta(v: Any, t: Any) -> Any:
        return 0.25 * np.sign(t) * f_beta_derivative(1.0, v, t * t, 0, 1) - t / (2 * v) * student_density(
            v, t
        )

    def by_degrees() -> Any:
        f = student_density(v, t)
        of_beta = 0.125 * np.sign(t) * f_beta_derivative(1.0, v, t * t, 0, 2)
        of_density = 0.5 * f * (digamma_increment(0.5 * v, 0.5) - np.log1p(t * t / v))
        return of_beta - t / (2 * v) * (of_density - f / v + student_density_by_degrees(v, t))

    nested = isinstance(v, Variable) or isinstance(t, Variable)
    y = student_by_degrees(v, t) if nested else in_dtype_of_ufunc(expression(), v, t)
    return y, Elementwise(by_degrees, lambda: student_density_by_degrees(v, t))


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
