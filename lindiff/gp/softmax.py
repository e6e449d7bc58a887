"""Observations of one of several classes, by as many processes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.gp.likelihoods import Likelihood, std_of
from lindiff.scipy import special
from lindiff.transforms.reverse import grad

__all__ = ["Softmax"]

STEP = 0.3  # of trapezoidal sums: their error is exp(-π² / 0.3)
DEEP = 22.0  # the part of exp(-exp(x)) below -22 is 3e-10
HIGH = 3.6  # above it is nothing of it left
GREATEST = 80.0  # whose exponential single precision holds
NARROW = 0.35  # standard deviations up to which few nodes of Gauss and Hermite are enough
SPREADS = np.concatenate([[0.0], NARROW * 1.5 ** np.arange(18.0)])  # what standard deviations are below
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(14)
WEIGHTS = WEIGHTS / np.sqrt(2 * np.pi)

# Of the logarithm of a number that is distributed exponentially: exp(-exp(x)) is the probability that it is
# greater than x.
GUMBEL_NODES = STEP * np.arange(-round(DEEP / STEP), round(HIGH / STEP) + 1)
GUMBEL_WEIGHTS = STEP * np.exp(GUMBEL_NODES - np.exp(GUMBEL_NODES))
GUMBEL_WEIGHTS[0] += 1 - np.sum(GUMBEL_WEIGHTS)  # what is further below


@dataclasses.dataclass(frozen=True, eq=False)
class Softmax(Likelihood):
    """Observations 0, 1, …, C - 1: ``p(k | f) = exp(f_k) / Σ exp(f_c)``.

    For :func:`lindiff.gp.variational_bound`, with ``m`` of shape (U, C) and ``R`` of (C, U, U).

    Parameters
    ----------
    classes : int
        C.

    Notes
    -----
    Expectations are sums over one dimension for any number of classes, right to some 1e-9:
    ``log S = ∫ (exp(-exp(x)) - exp(-S exp(x))) dx``, and of ``S = Σ exp(f_c)`` with independent f_c the
    expectation of the last is a product.  Of b observations some 2000 b C exponentials where all standard
    deviations of f are below 0.35, and 400 b C where all are above; more where they are above 1, and an error
    above 345.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp import Softmax
    >>> Softmax(3).log_density(np.array([[0.0, 0.0, 1.0]]), np.array([2])).round(4)
    array([-0.5514])
    >>> Softmax(3).expected(np.array([[0.0, 0.0, 1.0]]), np.ones((1, 3))).round(4)
    array([[0.2406, 0.2406, 0.5189]])
    """

    classes: int = dataclasses.field(metadata={"static": True})

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise ValueError(f"Softmax: there are two classes at least, got {self.classes}")

    @property
    def latent_shape(self) -> tuple[int, ...]:
        return (self.classes,)

    def log_density(self, f: Any, y: Any) -> Any:
        return self._of_class(f, y) - special.logsumexp(f, axis=-1)

    def mean(self, f: Any) -> Any:
        return special.softmax(f, axis=-1)

    def expected(self, mean: Any, var: Any) -> Any:
        return grad(lambda mean: np.sum(_expected_logsumexp(mean, var)))(mean)

    def expected_log_density(self, mean: Any, var: Any, y: Any) -> Any:
        return self._of_class(mean, y) - _expected_logsumexp(mean, var)

    def check(self, y: Any) -> None:
        y = value(y)
        if not np.all((y >= 0) & (y < self.classes) & (y == np.floor(y))):
            raise ValueError(f"Softmax: observations are 0, 1, …, {self.classes - 1}")

    def _of_class(self, f: Any, y: Any) -> Any:
        is_class = value(y)[..., None] == placed(np.arange(self.classes), f)
        return np.sum(np.where(is_class, f, 0.0), axis=-1)


def _expected_logsumexp(mean: Any, var: Any) -> Any:
    """``E log Σ exp(f_c)`` of independent f of these means and variances (..., C)."""
    mean, var = (x if x.dtype.kind == "f" else x.astype(np.float64) for x in (mean, var))
    std = std_of(var)
    greatest = np.max(value(mean), axis=-1, keepdims=True)
    mean = mean - greatest
    spread = 6 * _least_above(std)
    below = round((DEEP + np.log(mean.shape[-1]) + spread) / STEP)
    x = STEP * np.arange(-below, round((HIGH + spread) / STEP) + 1)
    x = placed(x.astype(mean.dtype), mean)
    products = np.prod(_survival(mean, std, var, x), axis=-2)
    return greatest[..., 0] + STEP * np.sum(_above(x) - products, axis=-1)


def _above(x: Any) -> Any:
    """``exp(-exp(x))``."""
    return np.exp(-np.exp(np.minimum(x, GREATEST)))


def _least_above(std: Any) -> float:
    """One of few numbers, so that programs of such sums seldom have to be recorded anew."""
    if not np.size(std):
        return 0.0
    place = int(np.sum(np.max(value(std)) > placed(SPREADS, std)))
    if place == len(SPREADS):
        raise ValueError(
            f"Softmax: standard deviations of f are {SPREADS[-1]:.0f} at the most, got "
            f"{np.max(value(std)):.3g}; a kernel of smaller variance says as much"
        )
    return float(SPREADS[place])


def _survival(mean: Any, std: Any, var: Any, x: Any) -> Any:
    """``E exp(-exp(x + f))`` at equally spaced x: (..., C, k)."""
    is_narrow = np.less(value(std), NARROW)
    if np.all(is_narrow):
        return _of_narrow(mean, std, var, x)
    if not np.any(is_narrow):
        return _of_wide(mean, std, x)
    narrow = _of_narrow(mean, np.where(is_narrow, std, NARROW), np.where(is_narrow, var, NARROW**2), x)
    return np.where(is_narrow[..., None], narrow, _of_wide(mean, np.where(is_narrow, NARROW, std), x))


def _of_narrow(mean: Any, std: Any, var: Any, x: Any) -> Any:
    total = 0.0
    for node, weight in zip(NODES.tolist(), WEIGHTS.tolist(), strict=True):
        total = total + weight * _above((mean + node * std)[..., None] + x)
    is_zero = np.equal(value(var), 0)
    if not np.any(is_zero):
        return total
    # The heat equation's derivative by the variance, which nodes that all lie at the mean have not.
    rate = np.exp(np.minimum(mean[..., None] + x, 0.5 * GREATEST))
    return total + np.where(is_zero, 0.5 * var, 0.0)[..., None] * (rate * rate - rate) * np.exp(-rate)


def _of_wide(mean: Any, std: Any, x: Any) -> Any:
    """``Σ_j w_j P(t_j - x_i > f)``: the nodes t lie on the grid of x, so that i - j says it all."""
    count, nodes = len(x), len(GUMBEL_NODES)
    lags = GUMBEL_NODES[0] - float(value(x[0])) + STEP * np.arange(1 - count, nodes)
    places = np.arange(len(lags))[:, None] + np.arange(count) - (count - 1)
    is_node = (places >= 0) & (places < nodes)
    weights = np.where(is_node, GUMBEL_WEIGHTS[np.clip(places, 0, nodes - 1)], 0.0)
    lags, weights = (placed(c.astype(x.dtype), x) for c in (lags, weights))
    return special.ndtr((lags - mean[..., None]) / std[..., None]) @ weights
