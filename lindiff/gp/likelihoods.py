"""Likelihoods of observations given the process at their points."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.scipy import special
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import grad

__all__ = ["Bernoulli", "Gaussian", "Likelihood", "Poisson", "StudentT", "noise_of", "std_of"]

# Nodes and weights of expectations under a normal distribution.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(32)
ROOT_TWO_PI = float(np.sqrt(2 * np.pi))
WEIGHTS = WEIGHTS / ROOT_TWO_PI

# The same under the logistic distribution, whose distribution function is the logit's mean: a trapezoidal
# sum, whose error is exp(-2 π² / 0.5).
LOGISTIC_NODES = np.linspace(-72, 72, 289)
LOGISTIC_WEIGHTS = 0.125 / np.cosh(0.5 * LOGISTIC_NODES) ** 2


@functools.lru_cache(maxsize=16)
def _frullani(count: int) -> tuple[Any, Any]:
    """Of ∫ exp(-t) g(t) dt / t, by a trapezoidal sum over log t whose error is exp(-π² / 0.3).

    There are so many nodes below 1; what is below the first one is that of a g proportional to t.
    """
    nodes = np.exp(0.3 * np.arange(-count, 13))
    weights = 0.3 * np.exp(-nodes)
    weights[0] += 0.3 / np.expm1(0.3)
    return nodes, weights


FRULLANI = 120  # nodes for squares up to 1e10, and more for every factor of 1e13

WIDE = 1.0  # standard deviation of f from which on it is the logistic distribution that is summed over

# Of ``-log Φ(f) = ∫ ρ(t) max(t - f, 0)² / 2 dt``, by a trapezoidal sum over s of ``t = -12 sinh(s)``: ρ is
# minus the third derivative of -log Φ, and falls off as 2 / |t|³ below zero.  Its poles, the zeros of Φ, are
# 2.8 from the real line, so that steps of 0.24 are short enough there.
PROBIT_STEPS = np.arange(-1.65, 9.75, 0.02)
PROBIT_NODES = -12 * np.sinh(PROBIT_STEPS)
PROBIT_WIDE = 0.35  # standard deviation of f from which on it smooths max(t - f, 0)² enough for such steps
PROBIT_WIDER = 0.8  # and for steps twice as long
PROBIT_NEAR = -100.0  # where f is above this but by a chance of 1e-32, nodes below it have no part in the sum


def _probit_density(t: Any) -> Any:
    """Minus the third derivative of -log Φ.

    With the ratio ``r = φ(t) / Φ(t)`` it is ``r ((t + r)² + r (t + r) - 1)``, whose terms cancel far below
    zero; there ``t + r = 1 / (x + 2 / (x + 3 / …))`` of ``x = -t``: Abramowitz & Stegun (1964), 26.2.14.
    """
    is_low = t < -2
    x, tails = np.where(is_low, -t, 2.0), []
    tail = np.zeros_like(x)
    for k in range(100, 0, -1):
        tail = k / (x + tail)
        tails.append(tail)
    third, second, first = tails[-3:]  # 3 / (x + …), 2 / (x + third), 1 / (x + second)
    of_low = 2 * (x + first) * first**2 * (third - second) / (x + third)
    high = np.where(is_low, 0.0, t)
    ratio = np.exp(-0.5 * high * high - special.log_ndtr(high)) / ROOT_TWO_PI
    of_high = ratio * ((high + ratio) ** 2 + ratio * (high + ratio) - 1)
    return np.where(is_low, of_low, of_high)


PROBIT_WEIGHTS = 0.02 * 12 * np.cosh(PROBIT_STEPS) * _probit_density(PROBIT_NODES)


class Likelihood:
    """``log p(y | f)`` of single observations.

    Attributes
    ----------
    latent_shape : tuple of int
        Of f for one of them: () for one process, (C,) for C.
    """

    @property
    def latent_shape(self) -> tuple[int, ...]:
        return ()

    def log_density(self, f: Any, y: Any) -> Any:
        """Elementwise; written in NumPy's functions."""
        raise NotImplementedError

    def mean(self, f: Any) -> Any:
        """``E[y | f]``, elementwise."""
        raise NotImplementedError

    def check(self, y: Any) -> None:
        """Raise a ValueError for observations that are none."""

    def rough(self, y: Any) -> tuple[float, float]:
        """Mean and variance of a process whose observations may be these, to begin a search with."""
        return 0.0, 1.0

    def slopes(self, f: Any, y: Any) -> tuple[Any, Any]:
        """The first derivative by f, and minus the second."""
        first = grad(lambda f: np.sum(self.log_density(f, y)))
        g, second = jvp(first, (f,), (np.ones_like(f),))
        return g, -second

    def expected(self, mean: Any, var: Any) -> Any:
        """``E[y]`` for f of this mean and variance, by Gauss-Hermite quadrature."""
        return _expectation(self.mean, mean, var)

    def expected_log_density(self, mean: Any, var: Any, y: Any) -> Any:
        """``E[log p(y | f)]`` for f of this mean and variance, by Gauss-Hermite quadrature."""
        return _expectation(self.log_density, mean, var, y)

    def log_expected_density(self, mean: Any, var: Any, y: Any) -> Any:
        """``log E[p(y | f)]`` for f of this mean and variance: what expectation propagation needs."""
        raise ValueError(
            f"{type(self).__name__} has no log_expected_density: write condition_laplace, or "
            f"variational_bound, or a subclass that has one"
        )


def _beside(x: Any, constant: Any) -> Any:
    """Nodes or weights as an array of x's library, and of its dtype where that is of real numbers."""
    return placed(constant.astype(x.dtype if x.dtype.kind == "f" else np.float64), x)


def _expectation(function: Callable[..., Any], mean: Any, var: Any, *given: Any) -> Any:
    """``E function(f, *given)``, by Gauss-Hermite quadrature."""
    at_nodes = function(_nodes(mean, var), *(x[..., None] for x in given))
    found = np.sum(at_nodes * _beside(mean, WEIGHTS), axis=-1)
    is_zero = np.equal(value(var), 0)
    if not np.any(is_zero):
        return found

    def total(f: Any) -> Any:
        return np.sum(function(f, *given))

    # The heat equation's derivative by the variance, which nodes that all lie at the mean have not.
    curvature = jvp(grad(total), (mean,), (np.ones_like(mean),))[1]
    return found + np.where(is_zero, 0.5 * var * curvature, 0.0)


def _nodes(mean: Any, var: Any) -> Any:
    """Where a function of f is evaluated."""
    return mean[..., None] + std_of(var)[..., None] * _beside(mean, NODES)


def std_of(var: Any) -> Any:
    """The roots of variances; the derivative of that of zero counts as 0."""
    is_zero = np.equal(value(var), 0)
    return np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, var)))


@dataclasses.dataclass(frozen=True, eq=False)
class Bernoulli(Likelihood):
    """Observations 0 and 1: ``p(1 | f) = 1 / (1 + exp(-f))``, or Φ(f).

    Parameters
    ----------
    link : {"logit", "probit"}

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp import Bernoulli
    >>> Bernoulli().log_density(np.array([0.0, 2.0]), np.array([1, 0])).round(4)
    array([-0.6931, -2.1269])
    """

    link: str = dataclasses.field(default="logit", metadata={"static": True})

    def __post_init__(self) -> None:
        if self.link not in ("logit", "probit"):
            raise ValueError(f"Bernoulli: link is 'logit' or 'probit', got {self.link!r}")

    def rough(self, y: Any) -> tuple[float, float]:
        share = (np.sum(y) + 0.5) / (len(y) + 1)  # neither 0 nor 1
        return float(special.logit(share) if self.link == "logit" else special.ndtri(share)), 1.0

    def log_density(self, f: Any, y: Any) -> Any:
        signed = np.where(np.greater(value(y), 0), f, -f)
        return -np.logaddexp(0.0, -signed) if self.link == "logit" else special.log_ndtr(signed)

    def slopes(self, f: Any, y: Any) -> tuple[Any, Any]:
        if self.link == "probit":
            return super().slopes(f, y)
        is_one = np.greater(value(y), 0)
        other = special.expit(np.where(is_one, -f, f))  # the probability of the other observation
        return np.where(is_one, other, -other), other * special.expit(np.where(is_one, f, -f))

    def mean(self, f: Any) -> Any:
        return special.expit(f) if self.link == "logit" else special.ndtr(f)

    def expected(self, mean: Any, var: Any) -> Any:
        return np.exp(self._log_expected(mean, var))

    def expected_log_density(self, mean: Any, var: Any, y: Any) -> Any:
        less = np.where(np.greater(value(y), 0), -mean, mean)
        return -_expected_softplus(less, var) if self.link == "logit" else _expected_log_ndtr(-less, var)

    def log_expected_density(self, mean: Any, var: Any, y: Any) -> Any:
        return self._log_expected(np.where(np.greater(value(y), 0), mean, -mean), var)

    def _log_expected(self, mean: Any, var: Any) -> Any:
        """``log E[p(1 | f)]``."""
        if self.link == "probit":
            return special.log_ndtr(mean / np.sqrt(1 + var))
        # E expit(f) = E exp(f) expit(-f) = exp(mean + var/2) E expit(-f - var): exact far below zero.
        is_below = np.less(2 * value(mean), -value(var))
        above = _expected_expit(np.where(is_below, -(mean + var), mean), var)
        return np.log(above) + np.where(is_below, mean + 0.5 * var, 0.0)

    def check(self, y: Any) -> None:
        if not np.all((value(y) == 0) | (value(y) == 1)):
            raise ValueError("Bernoulli: observations are 0 and 1")


def _expected_expit(mean: Any, var: Any) -> Any:
    """``E expit(f)`` for means of at least ``-var/2``: where f is wide ``E P(t < f)`` of logistic t."""
    return _by_width(special.expit, lambda distances, std: special.ndtr(distances / std), LOGISTIC, mean, var)


def _expected_softplus(mean: Any, var: Any) -> Any:
    """``E log(1 + exp(f))``: where f is wide ``E max(f - t, 0)`` of logistic t."""

    def beyond(distances: Any, std: Any) -> Any:
        z = distances / std
        return distances * special.ndtr(z) + std * np.exp(-0.5 * z * z) / ROOT_TWO_PI

    return _by_width(lambda f: np.logaddexp(0.0, f), beyond, LOGISTIC, mean, var)


def _expected_log_ndtr(mean: Any, var: Any) -> Any:
    """``E log Φ(f)``: where f is wide ``-∫ ρ(t) E max(t - f, 0)² / 2 dt``."""

    def below(distances: Any, std: Any) -> Any:
        z = distances / std
        density = np.exp(-0.5 * z * z) / ROOT_TWO_PI
        return -0.5 * std**2 * ((z * z + 1) * special.ndtr(-z) - z * density)

    std = np.sqrt(np.maximum(value(var), 0.0))
    is_low = value(mean) + 8 * std < -10.0  # nearly a parabola: Gauss-Hermite quadrature is exact
    nodes = PROBIT
    if np.all(is_low | (np.minimum(value(mean), 0.0) - 12 * std > PROBIT_NEAR)):
        is_wider = np.all(is_low | (std > PROBIT_WIDER) | (std <= PROBIT_WIDE))
        nodes = PROBIT_NEAR_BY_TWO if is_wider else PROBIT_NEAR_BY_ONE
    return _by_width(special.log_ndtr, below, nodes, mean, var, is_low)


class _Mixture(NamedTuple):
    """Of which a function is an integral: nodes and weights, and from which width of f on they are used."""

    nodes: Any
    weights: Any
    wide: float


LOGISTIC = _Mixture(LOGISTIC_NODES, LOGISTIC_WEIGHTS, WIDE)
PROBIT = _Mixture(PROBIT_NODES, PROBIT_WEIGHTS, PROBIT_WIDE)
_near = PROBIT_NODES > PROBIT_NEAR
PROBIT_NEAR_BY_ONE = _Mixture(PROBIT_NODES[_near], PROBIT_WEIGHTS[_near], PROBIT_WIDE)
PROBIT_NEAR_BY_TWO = _Mixture(PROBIT_NODES[_near][::2], 2 * PROBIT_WEIGHTS[_near][::2], PROBIT_WIDE)


def _by_width(
    function: Callable[..., Any],
    smoothed: Callable[..., Any],
    mixture: _Mixture,
    mean: Any,
    var: Any,
    is_smooth: Any = False,
) -> Any:
    """``E function(f)``: for wide f of ``smoothed(mean - t, std)`` at a mixture's nodes t, unless `is_smooth`
    says that the function is for these."""

    def of_wide(var: Any) -> Any:
        distances = mean[..., None] - _beside(mean, mixture.nodes)
        at_nodes = smoothed(distances, np.sqrt(var)[..., None])
        return np.sum(at_nodes * _beside(mean, mixture.weights), axis=-1)

    is_wide = np.logical_and(np.greater(value(var), mixture.wide**2), np.logical_not(is_smooth))
    if not np.any(is_wide):
        return _expectation(function, mean, var)
    if np.all(is_wide):
        return of_wide(var)
    narrow, wide = np.where(is_wide, 1.0, var), np.where(is_wide, var, 1.0)
    return np.where(is_wide, of_wide(wide), _expectation(function, mean, narrow))


@dataclasses.dataclass(frozen=True, eq=False)
class Poisson(Likelihood):
    """Counts of mean ``exp(f)``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp import Poisson
    >>> Poisson().log_density(np.array([0.0]), np.array([2])).round(4)
    array([-1.6931])
    """

    def rough(self, y: Any) -> tuple[float, float]:
        return float(np.log(np.maximum(np.sum(y), 0.5) / len(y))), 1.0

    def log_density(self, f: Any, y: Any) -> Any:
        return y * f - np.exp(f) - special.gammaln(y + 1.0)

    def slopes(self, f: Any, y: Any) -> tuple[Any, Any]:
        rate = np.exp(f)
        return y - rate, rate

    def mean(self, f: Any) -> Any:
        return np.exp(f)

    def expected(self, mean: Any, var: Any) -> Any:
        return np.exp(mean + 0.5 * var)

    def expected_log_density(self, mean: Any, var: Any, y: Any) -> Any:
        return y * mean - self.expected(mean, var) - special.gammaln(y + 1.0)

    def check(self, y: Any) -> None:
        if not np.all((value(y) >= 0) & (value(y) == np.floor(value(y)))):
            raise ValueError("Poisson: observations are counts 0, 1, 2, …")


@dataclasses.dataclass(frozen=True, eq=False)
class Gaussian(Likelihood):
    """``N(y | f, var)``.

    Parameters
    ----------
    var : number

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp import Gaussian
    >>> Gaussian(1.0).log_density(np.array([0.0]), np.array([0.0])).round(4)
    array([-0.9189])
    """

    var: Any = 1.0

    def rough(self, y: Any) -> tuple[float, float]:
        return float(np.mean(y)), float(np.var(y))

    def log_density(self, f: Any, y: Any) -> Any:
        return -0.5 * ((y - f) ** 2 / self.var + np.log(2 * np.pi * self.var))

    def mean(self, f: Any) -> Any:
        return f

    def expected(self, mean: Any, var: Any) -> Any:
        return mean + 0.0 * var

    def expected_log_density(self, mean: Any, var: Any, y: Any) -> Any:
        return self.log_density(mean, y) - 0.5 * var / self.var


def _expected_log1p(square: Any, var: Any) -> Any:
    """``E log(1 + u²)`` for u of this squared mean and this variance, be it far wider than 1 or 0.

    ``log(1 + u²) = ∫ exp(-t) (1 - exp(-t u²)) dt / t``, and of normal u the latter has an expectation.
    """
    count, largest, size = FRULLANI, 1e10, np.astype(value(square) + value(var), np.float64)
    while np.any(size > largest) and largest < np.inf:
        count, largest = count + 100, largest * 1e13
    nodes, weights = _frullani(count)
    t = _beside(square, nodes)
    square, var = square[..., None], var[..., None]
    spread = 1 + 2 * t * var
    at_nodes = -np.expm1(-0.5 * np.log(spread) - t * square / spread)
    return np.sum(at_nodes * _beside(square, weights), axis=-1)


def noise_of(likelihood: Likelihood) -> Any:
    """The variance of Gaussian noise; raises ValueError for other likelihoods."""
    if isinstance(likelihood, Gaussian):
        return likelihood.var
    raise ValueError(
        f"observations of {type(likelihood).__name__} have no noise variance: write posterior.expected(X)"
    )


@dataclasses.dataclass(frozen=True, eq=False)
class StudentT(Likelihood):
    """Observations with outliers: ``(y - f) / scale`` has Student's t distribution.

    It is not concave in f: for :func:`lindiff.gp.variational_bound`, not for Laplace's approximation.

    Parameters
    ----------
    scale, df : number
        df, the degrees of freedom, greater than 1.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp import StudentT
    >>> StudentT(1.0, 4.0).log_density(np.array([0.0, 10.0]), np.array([0.0, 0.0])).round(3)
    array([-0.981, -9.126])
    """

    scale: Any = 1.0
    df: Any = 4.0

    def log_density(self, f: Any, y: Any) -> Any:
        return self._log_height() - 0.5 * (self.df + 1) * np.log1p(((y - f) / self.scale) ** 2 / self.df)

    def expected_log_density(self, mean: Any, var: Any, y: Any) -> Any:
        width = self.df * self.scale**2
        logs = _expected_log1p((y - mean) ** 2 / width, var / width)
        return self._log_height() - 0.5 * (self.df + 1) * logs

    def _log_height(self) -> Any:
        df = self.df
        constant = special.gammaln(0.5 * (df + 1)) - special.gammaln(0.5 * df) - 0.5 * np.log(np.pi * df)
        return constant - np.log(self.scale)

    def mean(self, f: Any) -> Any:
        return f

    def expected(self, mean: Any, var: Any) -> Any:
        return mean + 0.0 * var
