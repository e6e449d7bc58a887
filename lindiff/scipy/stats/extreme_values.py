"""Distributions of extreme values: Gumbel's, and the generalized one through it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.variable import value
from lindiff.scipy.stats._distribution import EULER, Continuous, log_of_complement

__all__ = ["genextreme", "gumbel_l", "gumbel_r"]

TERMS = 24
SMALL = 0.1  # |c| up to which moments are series


def _gamma_series() -> list[float]:
    """Coefficients of Γ(1 + c) in powers of c, by those of its logarithm: -γ c + Σ ζ(k) (-c)^k / k."""
    slopes = [-EULER] + [(-1) ** k * float(special.zeta(k)) for k in range(2, TERMS + 3)]
    series = [1.0]
    for n in range(1, TERMS + 3):
        series.append(sum(slopes[k - 1] * series[n - k] for k in range(1, n + 1)) / n)
    return series


GAMMA = _gamma_series()
# (1 - Γ(1 + c)) / c, and (Γ(1 + 2c) - Γ(1 + c)²) / c²
MEAN = [-g for g in GAMMA[1 : TERMS + 1]]
VARIANCE = [
    2.0**n * GAMMA[n] - sum(GAMMA[k] * GAMMA[n - k] for k in range(n + 1)) for n in range(2, TERMS + 2)
]


def _series(coefficients: list[float], c: Any) -> Any:
    """The value of a polynomial, lowest power first, by Horner's rule."""
    y: Any = 0.0
    for coefficient in reversed(coefficients):
        y = coefficient + c * y
    return y


def _relative_logarithm(t: Any) -> Any:
    """``log(1 + t) / t``, around 0 as a hypergeometric function, whose derivatives do not cancel."""
    near = np.abs(value(t)) < 0.5
    far = np.where(near, 1.0, t)
    return np.where(near, special.hyp2f1(1.0, 1.0, 2.0, -np.where(near, t, 0.0)), np.log1p(far) / far)


class GumbelR(Continuous):
    """Gumbel, skewed to the right, like ``scipy.stats.gumbel_r``.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import gumbel_r
    >>> ld.grad(gumbel_r.logcdf)(0.0)
    np.float64(1.0)
    """

    def _logpdf(self, z: Any) -> Any:
        return -z - np.exp(-z)

    def _cdf(self, z: Any) -> Any:
        return np.exp(-np.exp(-z))

    def _logcdf(self, z: Any) -> Any:
        return -np.exp(-z)

    def _sf(self, z: Any) -> Any:
        return -np.expm1(-np.exp(-z))

    def _logsf(self, z: Any) -> Any:
        return log_of_complement(np.exp(-z), -z)

    def _ppf(self, q: Any) -> Any:
        return -np.log(-np.log(q))

    def _isf(self, q: Any) -> Any:
        return -np.log(-np.log1p(-q))

    def _mean(self) -> Any:
        return EULER

    def _var(self) -> Any:
        return math.pi**2 / 6

    def _entropy(self) -> Any:
        return EULER + 1.0


class GumbelL(Continuous):
    """Gumbel, skewed to the left, like ``scipy.stats.gumbel_l``.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import gumbel_l
    >>> ld.grad(gumbel_l.logsf)(0.0)
    np.float64(-1.0)
    """

    def _logpdf(self, z: Any) -> Any:
        return z - np.exp(z)

    def _cdf(self, z: Any) -> Any:
        return -np.expm1(-np.exp(z))

    def _logcdf(self, z: Any) -> Any:
        return log_of_complement(np.exp(z), z)

    def _sf(self, z: Any) -> Any:
        return np.exp(-np.exp(z))

    def _logsf(self, z: Any) -> Any:
        return -np.exp(z)

    def _ppf(self, q: Any) -> Any:
        return np.log(-np.log1p(-q))

    def _isf(self, q: Any) -> Any:
        return np.log(-np.log(q))

    def _mean(self) -> Any:
        return -EULER

    def _var(self) -> Any:
        return math.pi**2 / 6

    def _entropy(self) -> Any:
        return EULER + 1.0


class GeneralizedExtreme(Continuous):
    """Generalized extreme value, like ``scipy.stats.genextreme``: shape c (in other texts -ξ), 0 for Gumbel.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import genextreme
    >>> ld.grad(lambda c: genextreme.logpdf(1.0, c))(0.0).round(6)
    np.float64(0.68394)
    """

    shapes = ("c",)

    def _valid(self, c: Any) -> Any:
        return np.isfinite(c)

    def _support(self, c: Any) -> tuple[Any, Any]:
        safe = np.where(c == 0, 1.0, c)
        return np.where(c < 0, 1.0 / safe, -np.inf), np.where(c > 0, 1.0 / safe, np.inf)

    def _gumbel(self, z: Any, c: Any) -> Any:
        """The logarithm of -log of the distribution function, log(1 - c z) / c."""
        return -z * _relative_logarithm(-c * z)

    def _logpdf(self, z: Any, c: Any) -> Any:
        """At the end, as SciPy has it, 0 for c = 1 and else minus infinity."""
        at_end = value(c) * value(z) >= 1
        w = self._gumbel(np.where(at_end, 0.0, z), c)
        return np.where(at_end, np.where(value(c) == 1, 0.0, -np.inf), (1.0 - c) * w - np.exp(w))

    def _cdf(self, z: Any, c: Any) -> Any:
        return np.exp(self._logcdf(z, c))

    def _logcdf(self, z: Any, c: Any) -> Any:
        return -np.exp(self._gumbel(z, c))

    def _sf(self, z: Any, c: Any) -> Any:
        return -np.expm1(self._logcdf(z, c))

    def _logsf(self, z: Any, c: Any) -> Any:
        w = self._gumbel(z, c)
        return log_of_complement(np.exp(w), w)

    def _of_gumbel(self, w: Any, c: Any) -> Any:
        """``(1 - exp(-c w)) / c``"""
        return w * special.exprel(-c * w)

    def _ppf(self, q: Any, c: Any) -> Any:
        return self._of_gumbel(-np.log(-np.log(q)), c)

    def _isf(self, q: Any, c: Any) -> Any:
        return self._of_gumbel(-np.log(-np.log1p(-q)), c)

    def _mean(self, c: Any) -> Any:
        has, near = value(c) > -1, np.abs(value(c)) < SMALL
        far = np.where(has & ~near, c, 1.0)
        mean = np.where(
            near, _series(MEAN, np.where(near, c, 0.0)), -np.expm1(special.gammaln(1 + far)) / far
        )
        return np.where(has, mean, np.where(value(c) < -1, np.nan, np.inf))

    def _var(self, c: Any) -> Any:
        has, near = value(c) > -0.5, np.abs(value(c)) < SMALL
        far = np.where(has & ~near, c, 1.0)
        log_mean = special.gammaln(1 + far)
        var = np.exp(2 * log_mean) * np.expm1(special.gammaln(1 + 2 * far) - 2 * log_mean) / (far * far)
        var = np.where(near, _series(VARIANCE, np.where(near, c, 0.0)), var)
        return np.where(has, var, np.where(value(c) < -0.5, np.nan, np.inf))

    def _entropy(self, c: Any) -> Any:
        return EULER * (1.0 - c) + 1.0


genextreme = GeneralizedExtreme("genextreme")
gumbel_l = GumbelL("gumbel_l")
gumbel_r = GumbelR("gumbel_r")
