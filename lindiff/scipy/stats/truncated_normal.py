"""The normal distribution between two points, ``truncnorm``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from lindiff.core.variable import value
from lindiff.scipy.stats._distribution import Continuous, quantile_rule

__all__ = ["truncnorm"]

LOG_2 = math.log(2.0)
LOG_2PI = math.log(2.0 * math.pi)
ROOT_2 = math.sqrt(2.0)


def _log_complement(d: Any) -> Any:
    """``log(1 - exp(-d))`` for d > 0."""
    near = value(d) < LOG_2
    small = np.log(-np.expm1(-np.where(near, d, 1.0)))
    return np.where(near, small, np.log1p(-np.exp(-np.where(near, 1.0, d))))


def _log_mass(a: Any, b: Any) -> Any:
    """``log(Φ(b) - Φ(a))`` for a < b, on either side of 0 by logarithms of the tail."""
    right = value(a) > 0
    on_one_side = right | (value(b) <= 0)
    low = np.where(on_one_side, np.where(right, -b, a), -2.0)
    high = np.where(on_one_side, np.where(right, -a, b), -1.0)
    log_high = special.log_ndtr(high)
    tail = log_high + _log_complement(log_high - special.log_ndtr(low))
    first, last = np.where(on_one_side, -1.0, a), np.where(on_one_side, 1.0, b)
    across = np.log(0.5 * (special.erf(last / ROOT_2) - special.erf(first / ROOT_2)))
    return np.where(on_one_side, tail, across)


def _to_density(x: Any, end: Any) -> Any:
    """The normal density at an end over that at x."""
    return np.exp(0.5 * (x * x - end * end))


def _over_density(x: Any, a: Any, b: Any) -> Any:
    """1 over the density at x."""
    return np.exp(_log_mass(a, b) + 0.5 * (LOG_2PI + x * x))


_ppf = quantile_rule(
    scipy.stats.truncnorm.ppf,
    lambda x, q, a, b: _over_density(x, a, b),
    lambda x, q, a, b: (1.0 - q) * _to_density(x, a),
    lambda x, q, a, b: q * _to_density(x, b),
)
_isf = quantile_rule(
    scipy.stats.truncnorm.isf,
    lambda x, q, a, b: -_over_density(x, a, b),
    lambda x, q, a, b: q * _to_density(x, a),
    lambda x, q, a, b: (1.0 - q) * _to_density(x, b),
)


class TruncatedNormal(Continuous):
    """Normal between two points, like ``scipy.stats.truncnorm``: shapes a and b, the ends in standard form.

    The ends are ``loc + scale * a`` and ``loc + scale * b``: for fixed ones give ``(low - loc) / scale`` and
    ``(high - loc) / scale``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.stats import truncnorm
    >>> def above_0(loc):
    ...     return truncnorm.logpdf(1.5, -loc, np.inf, loc)
    >>> ld.grad(above_0)(1.0).round(6)
    np.float64(0.2124)
    """

    shapes = ("a", "b")
    harmless = (0.0, 1.0)

    def _valid(self, a: Any, b: Any) -> Any:
        return a < b

    def _support(self, a: Any, b: Any) -> tuple[Any, Any]:
        return a, b

    def _logpdf(self, z: Any, a: Any, b: Any) -> Any:
        return -0.5 * (LOG_2PI + z * z) - _log_mass(a, b)

    def _cdf(self, z: Any, a: Any, b: Any) -> Any:
        return np.exp(self._logcdf(z, a, b))

    def _sf(self, z: Any, a: Any, b: Any) -> Any:
        return np.exp(self._logsf(z, a, b))

    def _logcdf(self, z: Any, a: Any, b: Any) -> Any:
        whole = _log_mass(a, b)
        return _from_the_less(_log_mass(a, z) - whole, _log_mass(z, b) - whole)

    def _logsf(self, z: Any, a: Any, b: Any) -> Any:
        whole = _log_mass(a, b)
        return _from_the_less(_log_mass(z, b) - whole, _log_mass(a, z) - whole)

    def _ppf(self, q: Any, a: Any, b: Any) -> Any:
        return _ppf(q, a, b)

    def _isf(self, q: Any, a: Any, b: Any) -> Any:
        return _isf(q, a, b)

    def _at_ends(self, a: Any, b: Any) -> tuple[Any, Any, Any, Any]:
        """The ends, 0 for infinite ones, and the densities there."""
        at_a, at_b = (np.exp(self._logpdf(end, a, b)) for end in (a, b))
        return _finite(a), _finite(b), at_a, at_b

    def _mean(self, a: Any, b: Any) -> Any:
        _, _, at_a, at_b = self._at_ends(a, b)
        return at_a - at_b

    def _var(self, a: Any, b: Any) -> Any:
        a, b, at_a, at_b = self._at_ends(a, b)
        mean = at_a - at_b
        return 1.0 + (a - mean) * at_a - (b - mean) * at_b

    def _entropy(self, a: Any, b: Any) -> Any:
        whole = _log_mass(a, b)
        a, b, at_a, at_b = self._at_ends(a, b)
        return 0.5 * (LOG_2PI + 1.0) + whole + 0.5 * (a * at_a - b * at_b)


def _from_the_less(log_p: Any, log_rest: Any) -> Any:
    """A logarithm of a probability; near 0 from that of the complement."""
    likely = value(log_p) > -0.1
    return np.where(likely, np.log1p(-np.exp(np.where(likely, log_rest, -1.0))), log_p)


def _finite(end: Any) -> Any:
    return np.where(np.isfinite(value(end)), end, 0.0)


truncnorm = TruncatedNormal("truncnorm")
