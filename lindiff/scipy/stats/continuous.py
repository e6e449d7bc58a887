"""Continuous distributions in their standard forms, formulas as in SciPy's documentation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from lindiff.core.elementwise import elementwise_rule
from lindiff.core.formula import perhaps, some
from lindiff.core.variable import value
from lindiff.rules.special.distributions import student_scale, student_slope
from lindiff.scipy.stats._distribution import EULER, Continuous, log_of_complement, quantile_rule

__all__ = [
    "beta",
    "cauchy",
    "chi2",
    "expon",
    "f",
    "gamma",
    "halfcauchy",
    "halfnorm",
    "invgamma",
    "invgauss",
    "laplace",
    "logistic",
    "lognorm",
    "norm",
    "pareto",
    "powerlaw",
    "rayleigh",
    "skewnorm",
    "t",
    "uniform",
    "vonmises",
    "weibull_min",
]

LOG_2 = math.log(2.0)
LOG_PI = math.log(math.pi)
LOG_2PI = math.log(2.0 * math.pi)
HUGE = 1e300


class WithEnds(Continuous):
    """On a part of the line, at whose ends the density may be infinite."""

    def _pdf(self, z: Any, *shapes: Any) -> Any:
        """Derivatives at infinite densities are those of the logarithm, times what stands for infinity."""
        log_p = self._logpdf(z, *shapes)
        infinite = np.equal(value(log_p), np.inf)
        if not some(infinite):
            return np.exp(log_p)
        return np.where(infinite, HUGE * log_p, np.exp(np.where(infinite, 0.0, log_p)))


class Positive(WithEnds):
    """On the positive numbers."""

    def _support(self, *shapes: Any) -> tuple[Any, Any]:
        return 0.0, np.inf


class UnitInterval(WithEnds):
    """On the interval from 0 to 1."""

    def _support(self, *shapes: Any) -> tuple[Any, Any]:
        return 0.0, 1.0


def _downward(z: Any) -> Any:
    """``-|z|``; at 0 with a derivative of one side."""
    return np.where(value(z) > 0, -z, z)


def _cotangent(t: Any) -> Any:
    """``cot(π t)`` for 0 < t < 1, by tangents of what is small."""
    low, high = value(t) < 0.25, value(t) > 0.75
    at_end = 1.0 / np.tan(math.pi * np.where(high, 1 - t, np.where(low, t, 0.25)))
    middle = np.tan(math.pi * (0.5 - np.where(low | high, 0.5, t)))
    return np.where(low, at_end, np.where(high, -at_end, middle))


def _infinite_above(condition: Any, y: Any) -> Any:
    """``y`` where a moment is finite."""
    return y if not perhaps(~condition) else np.where(condition, y, np.inf)


# -- normal and its relatives ----------------------------------------------------------------------------


class Normal(Continuous):
    """Normal, like ``scipy.stats.norm``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.stats import norm
    >>> ld.grad(lambda scale: norm.logpdf(2.0, loc=1.0, scale=scale))(0.5)
    np.float64(6.0)
    >>> ld.grad(lambda loc: norm(loc, 2.0).logcdf(-100.0))(0.0).round(6)
    np.float64(-25.009992)
    """

    def _logpdf(self, z: Any) -> Any:
        return -0.5 * LOG_2PI - z * z / 2

    def _cdf(self, z: Any) -> Any:
        return special.ndtr(z)

    def _logcdf(self, z: Any) -> Any:
        return special.log_ndtr(z)

    def _sf(self, z: Any) -> Any:
        return special.ndtr(-z)

    def _logsf(self, z: Any) -> Any:
        return special.log_ndtr(-z)

    def _ppf(self, q: Any) -> Any:
        return special.ndtri(q)

    def _isf(self, q: Any) -> Any:
        return -special.ndtri(q)

    def _mean(self) -> Any:
        return 0.0

    def _var(self) -> Any:
        return 1.0

    def _entropy(self) -> Any:
        return 0.5 * (LOG_2PI + 1)


class HalfNormal(Positive):
    """Half-normal, like ``scipy.stats.halfnorm``.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import halfnorm
    >>> ld.grad(lambda scale: halfnorm.logpdf(1.0, scale=scale))(0.5)
    np.float64(6.0)
    """

    def _logpdf(self, z: Any) -> Any:
        return 0.5 * (LOG_2 - LOG_PI) - z * z / 2

    def _cdf(self, z: Any) -> Any:
        return special.erf(z / math.sqrt(2.0))

    def _sf(self, z: Any) -> Any:
        return 2 * special.ndtr(-z)

    def _ppf(self, q: Any) -> Any:
        return special.ndtri((1 + q) / 2)

    def _isf(self, q: Any) -> Any:
        return -special.ndtri(q / 2)

    def _mean(self) -> Any:
        return math.sqrt(2.0 / math.pi)

    def _var(self) -> Any:
        return 1.0 - 2.0 / math.pi

    def _entropy(self) -> Any:
        return 0.5 * math.log(math.pi / 2) + 0.5


class LogNormal(Positive):
    """Log-normal, like ``scipy.stats.lognorm``: shape s, the standard deviation of the logarithm.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import lognorm
    >>> ld.grad(lambda s: lognorm.logpdf(1.0, s))(0.5)
    np.float64(-2.0)
    """

    shapes = ("s",)
    has_ends = False

    def _logpdf(self, z: Any, s: Any) -> Any:
        log_z = np.log(z)
        return -log_z * log_z / (2 * s * s) - np.log(s) - log_z - 0.5 * LOG_2PI

    def _cdf(self, z: Any, s: Any) -> Any:
        return special.ndtr(np.log(z) / s)

    def _logcdf(self, z: Any, s: Any) -> Any:
        return special.log_ndtr(np.log(z) / s)

    def _sf(self, z: Any, s: Any) -> Any:
        return special.ndtr(-np.log(z) / s)

    def _logsf(self, z: Any, s: Any) -> Any:
        return special.log_ndtr(-np.log(z) / s)

    def _ppf(self, q: Any, s: Any) -> Any:
        return np.exp(s * special.ndtri(q))

    def _isf(self, q: Any, s: Any) -> Any:
        return np.exp(-s * special.ndtri(q))

    def _mean(self, s: Any) -> Any:
        return np.exp(s * s / 2)

    def _var(self, s: Any) -> Any:
        return np.expm1(s * s) * np.exp(s * s)

    def _entropy(self, s: Any) -> Any:
        return 0.5 * (1 + LOG_2PI) + np.log(s)


class SkewNormal(Continuous):
    """Skew normal, like ``scipy.stats.skewnorm``: shape a; density and moments.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import skewnorm
    >>> ld.grad(lambda a: skewnorm.logpdf(1.0, a))(0.0).round(6)
    np.float64(0.797885)
    """

    shapes = ("a",)

    def _valid(self, a: Any) -> Any:
        return np.isfinite(a)

    def _logpdf(self, z: Any, a: Any) -> Any:
        return LOG_2 - 0.5 * LOG_2PI - z * z / 2 + special.log_ndtr(a * z)

    def _mean(self, a: Any) -> Any:
        return math.sqrt(2 / math.pi) * a / np.sqrt(1 + a * a)

    def _var(self, a: Any) -> Any:
        return 1 - 2 / math.pi * a * a / (1 + a * a)


_student_log_density = elementwise_rule(
    lambda v, t: student_scale(v) - 0.5 * LOG_2PI - (v + 1) / 2 * np.log1p(t * t / v),
    lambda _, v, t: student_slope(v, t),
    lambda _, v, t: -(v + 1) / (v / np.where(np.equal(t, 0), 1, t) + t) * np.not_equal(t, 0),
)


class StudentT(Continuous):
    """Student's t, like ``scipy.stats.t``: shape df, degrees of freedom; infinity gives the normal.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import t
    >>> ld.grad(lambda df: t.logpdf(1.0, df))(2.0).round(6)
    np.float64(0.10412)
    """

    shapes = ("df",)

    def _logpdf(self, z: Any, df: Any) -> Any:
        is_normal = np.isinf(value(df))
        if not perhaps(is_normal):
            return self._logpdf_of_finite(z, df)
        of_t = self._logpdf_of_finite(z, np.where(is_normal, 1.0, df))
        return np.where(is_normal, -0.5 * LOG_2PI - z * z / 2, of_t)

    def _logpdf_of_finite(self, z: Any, df: Any) -> Any:
        return _student_log_density(df, z)

    def _cdf(self, z: Any, df: Any) -> Any:
        return special.stdtr(df, z)

    def _sf(self, z: Any, df: Any) -> Any:
        return special.stdtr(df, -z)

    def _ppf(self, q: Any, df: Any) -> Any:
        return special.stdtrit(df, q)

    def _isf(self, q: Any, df: Any) -> Any:
        return -special.stdtrit(df, q)

    def _mean(self, df: Any) -> Any:
        return _infinite_above(value(df) > 1, np.zeros_like(value(df)))

    def _var(self, df: Any) -> Any:
        """``df / (df - 2)``; infinite for df up to 2, none up to 1."""
        is_normal = np.isinf(value(df))
        df = np.where(is_normal, 3.0, df) if perhaps(is_normal) else df
        has = value(df) > 2
        v = _infinite_above(has, 1 + 2 / (np.where(has, df, 3.0) - 2))
        v = np.where(value(df) > 1, v, df * np.nan)
        return np.where(is_normal, 1.0, v) if perhaps(is_normal) else v

    def _entropy(self, df: Any) -> Any:
        """For many degrees of freedom in powers of 1/df: the derivative, about -1/df², would cancel."""
        many = value(df) > 500
        if not perhaps(many):
            return self._entropy_of_few(df)
        q = 1.0 / np.where(many, df, 500.0)
        series = q * (1 + q * (1 / 4 + q * (-1 / 6 + q * (-1 / 8 + q * (3 / 10 + q / 4)))))
        few = self._entropy_of_few(np.where(many, 1.0, df))
        return np.where(many, 0.5 * (LOG_2PI + 1) + series, few)

    def _entropy_of_few(self, df: Any) -> Any:
        half, more = df / 2, (df + 1) / 2
        return more * (special.psi(more) - special.psi(half)) + np.log(df) / 2 + special.betaln(half, 0.5)


# -- gamma and its relatives -----------------------------------------------------------------------------


class Gamma(Positive):
    """Gamma, like ``scipy.stats.gamma``: shape a.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import gamma
    >>> ld.grad(lambda scale: gamma.logpdf(3.0, 2.0, scale=scale))(1.0)
    np.float64(1.0)
    """

    shapes = ("a",)

    def _logpdf(self, z: Any, a: Any) -> Any:
        return special.xlogy(a - 1.0, z) - z - special.gammaln(a)

    def _cdf(self, z: Any, a: Any) -> Any:
        return special.gammainc(a, z)

    def _sf(self, z: Any, a: Any) -> Any:
        return special.gammaincc(a, z)

    def _ppf(self, q: Any, a: Any) -> Any:
        return special.gammaincinv(a, q)

    def _isf(self, q: Any, a: Any) -> Any:
        return special.gammainccinv(a, q)

    def _mean(self, a: Any) -> Any:
        return a

    def _var(self, a: Any) -> Any:
        return a

    def _entropy(self, a: Any) -> Any:
        return special.psi(a) * (1 - a) + a + special.gammaln(a)


class ChiSquare(Positive):
    """Chi-square, like ``scipy.stats.chi2``: shape df.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import chi2
    >>> ld.grad(lambda x: chi2.logpdf(x, 4.0))(1.0)
    np.float64(0.5)
    """

    shapes = ("df",)

    def _logpdf(self, z: Any, df: Any) -> Any:
        half = df / 2
        return special.xlogy(half - 1, z) - z / 2 - special.gammaln(half) - LOG_2 * half

    def _cdf(self, z: Any, df: Any) -> Any:
        return special.gammainc(df / 2, z / 2)

    def _sf(self, z: Any, df: Any) -> Any:
        return special.gammaincc(df / 2, z / 2)

    def _ppf(self, q: Any, df: Any) -> Any:
        return 2 * special.gammaincinv(df / 2, q)

    def _isf(self, q: Any, df: Any) -> Any:
        return 2 * special.gammainccinv(df / 2, q)

    def _mean(self, df: Any) -> Any:
        return df

    def _var(self, df: Any) -> Any:
        return 2 * df

    def _entropy(self, df: Any) -> Any:
        half = df / 2
        return half + LOG_2 + special.gammaln(half) + (1 - half) * special.psi(half)


class InverseGamma(Positive):
    """Inverse gamma, like ``scipy.stats.invgamma``: shape a.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import invgamma
    >>> ld.grad(lambda x: invgamma.logpdf(x, 2.0))(1.0)
    np.float64(-2.0)
    """

    shapes = ("a",)
    has_ends = False

    def _logpdf(self, z: Any, a: Any) -> Any:
        return -(a + 1) * np.log(z) - special.gammaln(a) - 1.0 / z

    def _cdf(self, z: Any, a: Any) -> Any:
        return special.gammaincc(a, 1.0 / z)

    def _sf(self, z: Any, a: Any) -> Any:
        return special.gammainc(a, 1.0 / z)

    def _ppf(self, q: Any, a: Any) -> Any:
        return 1.0 / special.gammainccinv(a, q)

    def _isf(self, q: Any, a: Any) -> Any:
        return 1.0 / special.gammaincinv(a, q)

    def _mean(self, a: Any) -> Any:
        has = value(a) > 1
        return _infinite_above(has, 1 / (np.where(has, a, 2.0) - 1))

    def _var(self, a: Any) -> Any:
        has = value(a) > 2
        a = np.where(has, a, 3.0)
        return _infinite_above(has, 1 / ((a - 1) ** 2 * (a - 2)))

    def _entropy(self, a: Any) -> Any:
        return a - (a + 1) * special.psi(a) + special.gammaln(a)


def _inverse_gauss_density(x: Any, mu: Any) -> Any:
    deviation = x / mu - 1.0
    return -0.5 * LOG_2PI - 1.5 * np.log(x) - deviation * deviation / (2.0 * x)


def _inverse_gauss_slope(x: Any, mu: Any) -> Any:
    """The derivative of the quantile x by mu: -∂F/∂mu over the density."""
    tail = 2.0 / mu + special.log_ndtr(-(x / mu + 1.0) / np.sqrt(x))
    return 2.0 / (mu * mu) * np.exp(tail - _inverse_gauss_density(x, mu))


_inverse_gauss_ppf = quantile_rule(
    scipy.stats.invgauss.ppf,
    lambda x, q, mu: np.exp(-_inverse_gauss_density(x, mu)),
    lambda x, q, mu: _inverse_gauss_slope(x, mu),
)
_inverse_gauss_isf = quantile_rule(
    scipy.stats.invgauss.isf,
    lambda x, q, mu: -np.exp(-_inverse_gauss_density(x, mu)),
    lambda x, q, mu: _inverse_gauss_slope(x, mu),
)


class InverseGauss(Positive):
    """Inverse Gaussian, like ``scipy.stats.invgauss``: shape mu.

    References
    ----------
    G. Giner, G. K. Smyth (2016), statmod: probability calculations for the inverse Gaussian distribution,
    The R Journal 8, 339-351.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import invgauss
    >>> ld.grad(lambda mu: invgauss.logpdf(2.0, mu))(1.0)
    np.float64(1.0)
    """

    shapes = ("mu",)
    has_ends = False

    def _logpdf(self, z: Any, mu: Any) -> Any:
        return _inverse_gauss_density(z, mu)

    def _cdf(self, z: Any, mu: Any) -> Any:
        return np.exp(self._logcdf(z, mu))

    def _sf(self, z: Any, mu: Any) -> Any:
        return np.exp(self._logsf(z, mu))

    def _logcdf(self, z: Any, mu: Any) -> Any:
        root = np.sqrt(z)
        near = special.log_ndtr((z / mu - 1.0) / root)
        far = 2.0 / mu + special.log_ndtr(-(z / mu + 1.0) / root)
        return near + np.log1p(np.exp(far - near))

    def _logsf(self, z: Any, mu: Any) -> Any:
        root = np.sqrt(z)
        near = special.log_ndtr((1.0 - z / mu) / root)
        far = 2.0 / mu + special.log_ndtr(-(z / mu + 1.0) / root)
        return near + np.log1p(-np.exp(far - near))

    def _ppf(self, q: Any, mu: Any) -> Any:
        return _inverse_gauss_ppf(q, mu)

    def _isf(self, q: Any, mu: Any) -> Any:
        return _inverse_gauss_isf(q, mu)

    def _mean(self, mu: Any) -> Any:
        return mu

    def _var(self, mu: Any) -> Any:
        return mu**3

    def _entropy(self, mu: Any) -> Any:
        return 0.5 * (1.0 + LOG_2PI + 3.0 * np.log(mu)) - 1.5 * _scaled_exp1(2.0 / mu)


def _scaled_exp1(r: Any) -> Any:
    """``exp(r) E1(r)``, of large r by its asymptotic series."""
    large = value(r) > 100.0
    s = 1.0 / np.where(large, r, 100.0)
    series: Any = 0.0
    for n in range(12, -1, -1):
        series = 1.0 - (n + 1) * s * series
    r = np.where(large, 1.0, r)
    return np.where(large, s * series, np.exp(r) * special.exp1(r))


class Exponential(Positive):
    """Exponential, like ``scipy.stats.expon``.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import expon
    >>> ld.grad(lambda scale: expon.logpdf(3.0, scale=scale))(1.0)
    np.float64(2.0)
    """

    def _logpdf(self, z: Any) -> Any:
        return -z

    def _cdf(self, z: Any) -> Any:
        return -np.expm1(-z)

    def _logcdf(self, z: Any) -> Any:
        return log_of_complement(z, np.log(z))

    def _sf(self, z: Any) -> Any:
        return np.exp(-z)

    def _logsf(self, z: Any) -> Any:
        return -z

    def _ppf(self, q: Any) -> Any:
        return -np.log1p(-q)

    def _isf(self, q: Any) -> Any:
        return -np.log(q)

    def _mean(self) -> Any:
        return 1.0

    def _var(self) -> Any:
        return 1.0

    def _entropy(self) -> Any:
        return 1.0


class WeibullMin(Positive):
    """Weibull, like ``scipy.stats.weibull_min``: shape c.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import weibull_min
    >>> ld.grad(lambda c: weibull_min.logpdf(1.0, c))(2.0)
    np.float64(0.5)
    """

    shapes = ("c",)

    def _logpdf(self, z: Any, c: Any) -> Any:
        return np.log(c) + special.xlogy(c - 1, z) - z**c

    def _cdf(self, z: Any, c: Any) -> Any:
        return -np.expm1(-(z**c))

    def _logcdf(self, z: Any, c: Any) -> Any:
        return log_of_complement(z**c, c * np.log(z))

    def _sf(self, z: Any, c: Any) -> Any:
        return np.exp(-(z**c))

    def _logsf(self, z: Any, c: Any) -> Any:
        return -(z**c)

    def _ppf(self, q: Any, c: Any) -> Any:
        return (-np.log1p(-q)) ** (1.0 / c)

    def _isf(self, q: Any, c: Any) -> Any:
        return (-np.log(q)) ** (1.0 / c)

    def _mean(self, c: Any) -> Any:
        return special.gamma(1.0 + 1.0 / c)

    def _var(self, c: Any) -> Any:
        return special.gamma(1.0 + 2.0 / c) - special.gamma(1.0 + 1.0 / c) ** 2

    def _entropy(self, c: Any) -> Any:
        return -EULER / c - np.log(c) + EULER + 1


class Rayleigh(Positive):
    """Rayleigh, like ``scipy.stats.rayleigh``.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import rayleigh
    >>> ld.grad(rayleigh.logpdf)(2.0)
    np.float64(-1.5)
    """

    def _logpdf(self, z: Any) -> Any:
        return special.xlogy(1.0, z) - 0.5 * z * z

    def _pdf(self, z: Any) -> Any:
        return z * np.exp(-0.5 * z * z)

    def _cdf(self, z: Any) -> Any:
        return -np.expm1(-0.5 * z * z)

    def _logcdf(self, z: Any) -> Any:
        return log_of_complement(0.5 * z * z, 2.0 * np.log(z) - LOG_2)

    def _sf(self, z: Any) -> Any:
        return np.exp(-0.5 * z * z)

    def _logsf(self, z: Any) -> Any:
        return -0.5 * z * z

    def _ppf(self, q: Any) -> Any:
        return np.sqrt(-2 * np.log1p(-q))

    def _isf(self, q: Any) -> Any:
        return np.sqrt(-2 * np.log(q))

    def _mean(self) -> Any:
        return math.sqrt(math.pi / 2)

    def _var(self) -> Any:
        return 2 - math.pi / 2

    def _entropy(self) -> Any:
        return EULER / 2 + 1 - 0.5 * LOG_2


# -- on an interval --------------------------------------------------------------------------------------


class Beta(UnitInterval):
    """Beta, like ``scipy.stats.beta``: shapes a and b.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import beta
    >>> ld.grad(beta.logpdf)(0.25, 2.0, 3.0).round(6)
    np.float64(1.333333)
    """

    shapes = ("a", "b")

    def _logpdf(self, z: Any, a: Any, b: Any) -> Any:
        return special.xlog1py(b - 1.0, -z) + special.xlogy(a - 1.0, z) - special.betaln(a, b)

    def _cdf(self, z: Any, a: Any, b: Any) -> Any:
        return special.betainc(a, b, z)

    def _sf(self, z: Any, a: Any, b: Any) -> Any:
        return special.betaincc(a, b, z)

    def _ppf(self, q: Any, a: Any, b: Any) -> Any:
        return special.betaincinv(a, b, q)

    def _isf(self, q: Any, a: Any, b: Any) -> Any:
        return special.betainccinv(a, b, q)

    def _mean(self, a: Any, b: Any) -> Any:
        return a / (a + b)

    def _var(self, a: Any, b: Any) -> Any:
        total = a + b
        return a * b / (total * total * (total + 1))

    def _entropy(self, a: Any, b: Any) -> Any:
        total = a + b
        return (
            special.betaln(a, b)
            - (a - 1) * special.psi(a)
            - (b - 1) * special.psi(b)
            + (total - 2) * special.psi(total)
        )


class Uniform(UnitInterval):
    """Uniform between loc and loc + scale, like ``scipy.stats.uniform``.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import uniform
    >>> ld.grad(lambda scale: uniform.logpdf(1.0, 0.0, scale))(4.0)
    np.float64(-0.25)
    """

    def _logpdf(self, z: Any) -> Any:
        return np.zeros_like(value(z))

    def _cdf(self, z: Any) -> Any:
        return z

    def _ppf(self, q: Any) -> Any:
        return q

    def _mean(self) -> Any:
        return 0.5

    def _var(self) -> Any:
        return 1.0 / 12

    def _entropy(self) -> Any:
        return 0.0


class PowerLaw(UnitInterval):
    """Power law on the interval from 0 to 1, like ``scipy.stats.powerlaw``: shape a.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import powerlaw
    >>> ld.grad(lambda x: powerlaw.logpdf(x, 3.0))(0.5)
    np.float64(4.0)
    """

    shapes = ("a",)

    def _logpdf(self, z: Any, a: Any) -> Any:
        # SciPy leaves 0 out of the support where the density is infinite there
        outside = (value(z) == 0) & (value(a) < 1)
        return np.where(outside, -np.inf, np.log(a) + special.xlogy(a - 1, np.where(outside, 1.0, z)))

    def _cdf(self, z: Any, a: Any) -> Any:
        return z**a

    def _logcdf(self, z: Any, a: Any) -> Any:
        return a * np.log(z)

    def _sf(self, z: Any, a: Any) -> Any:
        return -np.expm1(a * np.log(z))

    def _logsf(self, z: Any, a: Any) -> Any:
        w = -a * np.log(z)
        return log_of_complement(w, np.log(w))

    def _ppf(self, q: Any, a: Any) -> Any:
        return q ** (1.0 / a)

    def _mean(self, a: Any) -> Any:
        return a / (a + 1)

    def _var(self, a: Any) -> Any:
        return a / ((a + 2) * (a + 1) ** 2)

    def _entropy(self, a: Any) -> Any:
        return 1 - 1 / a - np.log(a)


# -- with heavier tails ----------------------------------------------------------------------------------


class Laplace(Continuous):
    """Laplace, like ``scipy.stats.laplace``.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import laplace
    >>> ld.grad(lambda scale: laplace.logpdf(3.0, 0.0, scale))(1.0)
    np.float64(2.0)
    """

    def _logpdf(self, z: Any) -> Any:
        return -LOG_2 - np.abs(z)

    def _cdf(self, z: Any) -> Any:
        tail = 0.5 * np.exp(_downward(z))
        return np.where(value(z) > 0, 1.0 - tail, tail)

    def _sf(self, z: Any) -> Any:
        return self._cdf(-z)

    def _logcdf(self, z: Any) -> Any:
        w = _downward(z)
        return np.where(value(z) > 0, np.log1p(-0.5 * np.exp(w)), w - LOG_2)

    def _logsf(self, z: Any) -> Any:
        return self._logcdf(-z)

    def _ppf(self, q: Any) -> Any:
        upper = value(q) > 0.5
        tail = np.log(2 * np.where(upper, 1 - q, q))
        return np.where(upper, -tail, tail)

    def _isf(self, q: Any) -> Any:
        return -self._ppf(q)

    def _mean(self) -> Any:
        return 0.0

    def _var(self) -> Any:
        return 2.0

    def _entropy(self) -> Any:
        return LOG_2 + 1


class Logistic(Continuous):
    """Logistic, like ``scipy.stats.logistic``.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import logistic
    >>> ld.grad(logistic.cdf)(0.0)
    np.float64(0.25)
    """

    def _logpdf(self, z: Any) -> Any:
        w = _downward(z)
        return w - 2.0 * np.log1p(np.exp(w))

    def _cdf(self, z: Any) -> Any:
        return special.expit(z)

    def _logcdf(self, z: Any) -> Any:
        return special.log_expit(z)

    def _sf(self, z: Any) -> Any:
        return special.expit(-z)

    def _logsf(self, z: Any) -> Any:
        return special.log_expit(-z)

    def _ppf(self, q: Any) -> Any:
        return special.logit(q)

    def _isf(self, q: Any) -> Any:
        return -special.logit(q)

    def _mean(self) -> Any:
        return 0.0

    def _var(self) -> Any:
        return math.pi**2 / 3

    def _entropy(self) -> Any:
        return 2.0


class Cauchy(Continuous):
    """Cauchy, like ``scipy.stats.cauchy``; it has no moments.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import cauchy
    >>> ld.grad(lambda loc: cauchy.logpdf(1.0, loc))(0.0).round(6)
    np.float64(1.0)
    """

    def _logpdf(self, z: Any) -> Any:
        return -LOG_PI - 2.0 * np.log(np.hypot(1.0, z))

    def _cdf(self, z: Any) -> Any:
        return np.arctan2(1.0, -z) / math.pi

    def _sf(self, z: Any) -> Any:
        return np.arctan2(1.0, z) / math.pi

    def _ppf(self, q: Any) -> Any:
        return -_cotangent(q)

    def _isf(self, q: Any) -> Any:
        return -self._ppf(q)

    def _mean(self) -> Any:
        return np.nan

    def _var(self) -> Any:
        return np.nan

    def _entropy(self) -> Any:
        return math.log(4 * math.pi)


class HalfCauchy(Positive):
    """Half-Cauchy, like ``scipy.stats.halfcauchy``; it has no moments.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import halfcauchy
    >>> ld.grad(halfcauchy.logpdf)(1.0).round(6)
    np.float64(-1.0)
    """

    def _logpdf(self, z: Any) -> Any:
        return LOG_2 - LOG_PI - 2.0 * np.log(np.hypot(1.0, z))

    def _cdf(self, z: Any) -> Any:
        return 2 / math.pi * np.arctan(z)

    def _sf(self, z: Any) -> Any:
        return 2 / math.pi * np.arctan2(1.0, z)

    def _ppf(self, q: Any) -> Any:
        return np.tan(math.pi / 2 * q)

    def _isf(self, q: Any) -> Any:
        return _cotangent(0.5 * q)

    def _mean(self) -> Any:
        return np.inf

    def _var(self) -> Any:
        return np.inf

    def _entropy(self) -> Any:
        return math.log(2 * math.pi)


class Pareto(Continuous):
    """Pareto, like ``scipy.stats.pareto``: shape b.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import pareto
    >>> ld.grad(lambda b: pareto.logpdf(1.0, b))(2.0)
    np.float64(0.5)
    """

    shapes = ("b",)

    def _support(self, b: Any) -> tuple[Any, Any]:
        return 1.0, np.inf

    def _logpdf(self, z: Any, b: Any) -> Any:
        return np.log(b) - (b + 1) * np.log(z)

    def _cdf(self, z: Any, b: Any) -> Any:
        return -np.expm1(-b * np.log(z))

    def _logcdf(self, z: Any, b: Any) -> Any:
        w = b * np.log(z)
        return log_of_complement(w, np.log(w))

    def _sf(self, z: Any, b: Any) -> Any:
        return z**-b

    def _logsf(self, z: Any, b: Any) -> Any:
        return -b * np.log(z)

    def _ppf(self, q: Any, b: Any) -> Any:
        return (1 - q) ** (-1.0 / b)

    def _isf(self, q: Any, b: Any) -> Any:
        return q ** (-1.0 / b)

    def _mean(self, b: Any) -> Any:
        has = value(b) > 1
        b = np.where(has, b, 2.0)
        return _infinite_above(has, b / (b - 1))

    def _var(self, b: Any) -> Any:
        has = value(b) > 2
        b = np.where(has, b, 3.0)
        return _infinite_above(has, b / (b - 1) ** 2 / (b - 2))

    def _entropy(self, b: Any) -> Any:
        return 1 + 1.0 / b - np.log(b)


class VonMises(Continuous):
    """Von Mises on the circle, like ``scipy.stats.vonmises``: shape kappa; density and entropy.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import vonmises
    >>> ld.grad(lambda loc: vonmises.logpdf(0.0, 3.0, loc))(0.5).round(6)
    np.float64(-1.438277)
    """

    shapes = ("kappa",)

    def _valid(self, kappa: Any) -> Any:
        return kappa >= 0

    def _logpdf(self, z: Any, kappa: Any) -> Any:
        return kappa * special.cosm1(z) - LOG_2PI - _log_i0e(kappa)

    def _entropy(self, kappa: Any) -> Any:
        mean_cosine = special.i1e(kappa) / special.i0e(kappa)
        return kappa * (1.0 - mean_cosine) + LOG_2PI + _log_i0e(kappa)


def _log_i0e(kappa: Any) -> Any:
    """``log(exp(-kappa) I0(kappa))``; ``i0e`` itself has a kink at 0."""
    small = value(kappa) < 1.0
    near = np.where(small, kappa, 0.0)
    return np.where(small, np.log(special.i0(near)) - near, np.log(special.i0e(np.where(small, 1.0, kappa))))


class SnedecorF(Positive):
    """F, like ``scipy.stats.f``: shapes dfn and dfd.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import f
    >>> ld.grad(f.logpdf)(1.0, 4.0, 2.0)
    np.float64(-1.0)
    """

    shapes = ("dfn", "dfd")

    def _logpdf(self, z: Any, dfn: Any, dfd: Any) -> Any:
        n, m = dfn / 2, dfd / 2
        ratio = dfn / dfd
        return (
            n * np.log(ratio) + special.xlogy(n - 1, z) - (n + m) * np.log1p(ratio * z) - special.betaln(n, m)
        )

    def _cdf(self, z: Any, dfn: Any, dfd: Any) -> Any:
        return special.fdtr(dfn, dfd, z)

    def _sf(self, z: Any, dfn: Any, dfd: Any) -> Any:
        return special.fdtrc(dfn, dfd, z)

    def _ppf(self, q: Any, dfn: Any, dfd: Any) -> Any:
        n, m = dfn / 2, dfd / 2
        odds = special.betaincinv(n, m, q) / special.betainccinv(m, n, q)
        return dfd / dfn * odds

    def _isf(self, q: Any, dfn: Any, dfd: Any) -> Any:
        n, m = dfn / 2, dfd / 2
        odds = special.betainccinv(n, m, q) / special.betaincinv(m, n, q)
        return dfd / dfn * odds

    def _mean(self, dfn: Any, dfd: Any) -> Any:
        has = value(dfd) > 2
        dfd = np.where(has, dfd, 3.0)
        return _infinite_above(has, dfd / (dfd - 2))

    def _var(self, dfn: Any, dfd: Any) -> Any:
        has = value(dfd) > 4
        dfd = np.where(has, dfd, 5.0)
        return _infinite_above(has, 2 * dfd**2 * (dfn + dfd - 2) / (dfn * (dfd - 2) ** 2 * (dfd - 4)))


beta = Beta("beta")
cauchy = Cauchy("cauchy")
chi2 = ChiSquare("chi2")
expon = Exponential("expon")
f = SnedecorF("f")
gamma = Gamma("gamma")
halfcauchy = HalfCauchy("halfcauchy")
halfnorm = HalfNormal("halfnorm")
invgamma = InverseGamma("invgamma")
invgauss = InverseGauss("invgauss")
laplace = Laplace("laplace")
logistic = Logistic("logistic")
lognorm = LogNormal("lognorm")
norm = Normal("norm")
pareto = Pareto("pareto")
powerlaw = PowerLaw("powerlaw")
rayleigh = Rayleigh("rayleigh")
skewnorm = SkewNormal("skewnorm")
t = StudentT("t")
uniform = Uniform("uniform")
vonmises = VonMises("vonmises")
weibull_min = WeibullMin("weibull_min")
