"""Discrete distributions: probabilities as functions of their parameters; points are constants.

The formulas of probabilities hold for any number of trials n, and so have derivatives by it; distribution
functions, which SciPy has for whole n alone, refuse a Variable there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from lindiff.core.variable import Variable
from lindiff.scipy.stats._distribution import Discrete

__all__ = ["bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"]


def _whole(n: Any) -> Any:
    """A number of trials as an integer."""
    if isinstance(n, Variable):
        raise TypeError(
            "scipy.stats.binom: distribution functions have no derivative with respect to n in lindiff: it "
            "is an integer. Give ld.value(n) there if that derivative does not matter"
        )
    return n.astype(np.int64)


class Poisson(Discrete):
    """Poisson, like ``scipy.stats.poisson``: mean mu.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import poisson
    >>> ld.grad(lambda mu: poisson.logpmf(3, mu))(2.0)
    np.float64(0.5)
    """

    shapes = ("mu",)

    def _valid(self, mu: Any) -> Any:
        return mu >= 0

    def _logpmf(self, k: Any, mu: Any) -> Any:
        return special.xlogy(k, mu) - special.gammaln(k + 1) - mu

    def _cdf(self, k: Any, mu: Any) -> Any:
        return special.pdtr(k, mu)

    def _sf(self, k: Any, mu: Any) -> Any:
        return special.pdtrc(k, mu)

    def _mean(self, mu: Any) -> Any:
        return mu

    def _var(self, mu: Any) -> Any:
        return mu


class Bernoulli(Discrete):
    """Bernoulli, like ``scipy.stats.bernoulli``: chance p.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import bernoulli
    >>> ld.grad(lambda p: bernoulli.logpmf(1, p))(0.25)
    np.float64(4.0)
    """

    shapes = ("p",)
    harmless = (0.5,)

    def _valid(self, p: Any) -> Any:
        return (p >= 0) & (p <= 1)

    def _support(self, p: Any) -> tuple[Any, Any]:
        return 0.0, 1.0

    def _logpmf(self, k: Any, p: Any) -> Any:
        return special.xlogy(k, p) + special.xlog1py(1 - k, -p)

    def _cdf(self, k: Any, p: Any) -> Any:
        return 1.0 - p

    def _sf(self, k: Any, p: Any) -> Any:
        return p

    def _mean(self, p: Any) -> Any:
        return p

    def _var(self, p: Any) -> Any:
        return p * (1.0 - p)

    def _entropy(self, p: Any) -> Any:
        return special.entr(p) + special.entr(1 - p)


class Binomial(Discrete):
    """Binomial, like ``scipy.stats.binom``: n trials, chance p.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import binom
    >>> ld.grad(lambda p: binom.logpmf(3, 4, p))(0.5)
    np.float64(4.0)
    """

    shapes = ("n", "p")
    harmless = (1.0, 0.5)

    def _valid(self, n: Any, p: Any) -> Any:
        return (n >= 0) & (np.floor(n) == n) & (p >= 0) & (p <= 1)

    def _support(self, n: Any, p: Any) -> tuple[Any, Any]:
        return 0.0, n

    def _logpmf(self, k: Any, n: Any, p: Any) -> Any:
        ways = special.gammaln(n + 1) - (special.gammaln(k + 1) + special.gammaln(n - k + 1))
        return ways + special.xlogy(k, p) + special.xlog1py(n - k, -p)

    def _cdf(self, k: Any, n: Any, p: Any) -> Any:
        return special.bdtr(k, _whole(n), p)

    def _sf(self, k: Any, n: Any, p: Any) -> Any:
        return special.bdtrc(k, _whole(n), p)

    def _mean(self, n: Any, p: Any) -> Any:
        return n * p

    def _var(self, n: Any, p: Any) -> Any:
        return n * p * (1.0 - p)


class BetaBinomial(Discrete):
    """Beta-binomial, like ``scipy.stats.betabinom``: n trials, shapes a and b.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import betabinom
    >>> ld.grad(lambda a: betabinom.logpmf(1, 1, a, 1.0))(1.0).round(6)
    np.float64(0.5)
    """

    shapes = ("n", "a", "b")

    def _valid(self, n: Any, a: Any, b: Any) -> Any:
        return (n >= 0) & (np.floor(n) == n) & (a > 0) & (b > 0)

    def _support(self, n: Any, a: Any, b: Any) -> tuple[Any, Any]:
        return 0.0, n

    def _logpmf(self, k: Any, n: Any, a: Any, b: Any) -> Any:
        ways = -np.log(n + 1) - special.betaln(n - k + 1, k + 1)
        return ways + special.betaln(k + a, n - k + b) - special.betaln(a, b)

    def _mean(self, n: Any, a: Any, b: Any) -> Any:
        return n * a / (a + b)

    def _var(self, n: Any, a: Any, b: Any) -> Any:
        total = a + b
        return n * (total + n) * a * b / (total * total * (total + 1))


class NegativeBinomial(Discrete):
    """Negative binomial, like ``scipy.stats.nbinom``: n successes (any positive number), chance p.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import nbinom
    >>> ld.grad(lambda p: nbinom.logpmf(2, 3.0, p))(0.5)
    np.float64(2.0)
    """

    shapes = ("n", "p")
    harmless = (1.0, 0.5)

    def _valid(self, n: Any, p: Any) -> Any:
        return (n > 0) & (p > 0) & (p <= 1)

    def _logpmf(self, k: Any, n: Any, p: Any) -> Any:
        ways = special.gammaln(n + k) - special.gammaln(k + 1) - special.gammaln(n)
        return ways + n * np.log(p) + special.xlog1py(k, -p)

    def _cdf(self, k: Any, n: Any, p: Any) -> Any:
        return special.betainc(n, k + 1, p)

    def _sf(self, k: Any, n: Any, p: Any) -> Any:
        return special.betaincc(n, k + 1, p)

    def _mean(self, n: Any, p: Any) -> Any:
        return n * (1 - p) / p

    def _var(self, n: Any, p: Any) -> Any:
        return n * (1 - p) / (p * p)


class Geometric(Discrete):
    """Geometric, like ``scipy.stats.geom``: chance p of success; k is the number of trials.

    Examples
    --------
    >>> import lindiff as ld
    >>> from lindiff.scipy.stats import geom
    >>> ld.grad(lambda p: geom.logpmf(3, p))(0.5)
    np.float64(-2.0)
    """

    shapes = ("p",)
    harmless = (0.5,)

    def _valid(self, p: Any) -> Any:
        return (p > 0) & (p <= 1)

    def _support(self, p: Any) -> tuple[Any, Any]:
        return 1.0, np.inf

    def _logpmf(self, k: Any, p: Any) -> Any:
        return special.xlog1py(k - 1, -p) + np.log(p)

    def _cdf(self, k: Any, p: Any) -> Any:
        return -np.expm1(self._logsf(k, p))

    def _sf(self, k: Any, p: Any) -> Any:
        return np.exp(self._logsf(k, p))

    def _logsf(self, k: Any, p: Any) -> Any:
        return k * np.log1p(-p)

    def _mean(self, p: Any) -> Any:
        return 1.0 / p

    def _var(self, p: Any) -> Any:
        return (1.0 - p) / (p * p)

    def _entropy(self, p: Any) -> Any:
        return (special.entr(p) + special.entr(1 - p)) / p


bernoulli = Bernoulli("bernoulli")
betabinom = BetaBinomial("betabinom")
binom = Binomial("binom")
geom = Geometric("geom")
nbinom = NegativeBinomial("nbinom")
poisson = Poisson("poisson")
