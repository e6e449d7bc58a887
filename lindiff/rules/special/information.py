"""Logistic functions, entropies, robust losses, power transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from lindiff.rules._formula import perhaps, some
from lindiff.rules.elementwise import nonzero
from lindiff.rules.special._common import by_quotient, derivatives_of, elementwise

__all__ = ["boxcox_by_lambda", "exprel", "log1p_over_x"]

# -- logistic --------------------------------------------------------------------------------------------


def expit_slope(y: Any, x: Any) -> Any:
    """``y (1 - y)`` for ``y = 1 / (1 + exp(-x))``; where that cancels, by ``t = exp(-|x|)``."""
    if not some(np.greater(y, 0.9)):
        return y * (1 - y)
    t = np.exp(-np.abs(x))
    return t / np.square(1 + t)


elementwise(special.expit, expit_slope)
elementwise(special.logit, lambda y, x: 1 / (x * (1 - x)))
elementwise(special.log_expit, lambda y, x: special.expit(-x))

# -- entropies -------------------------------------------------------------------------------------------


def ratio(x: Any, y: Any) -> Any:
    """``x / y``, 0 where both are 0."""
    nothing = np.equal(x, 0) & np.equal(y, 0)
    return x / np.where(nothing, 1, y) if perhaps(nothing) else np.divide(x, y)


def log_ratio(x: Any, y: Any) -> Any:
    """``log(x / y)``; where both are 0 the function is 0 there and infinite on one side: 0, a subgradient."""
    nothing = np.equal(x, 0) & np.equal(y, 0)
    if perhaps(nothing):
        x, y = np.where(nothing, 1, x), np.where(nothing, 1, y)
    return np.log(np.divide(x, y))


elementwise(special.xlogy, lambda z, x, y: np.log(y), lambda z, x, y: ratio(x, y))
elementwise(special.xlog1py, lambda z, x, y: np.log1p(y), lambda z, x, y: ratio(x, np.add(1, y)))
elementwise(special.entr, lambda y, x: -1 - np.log(x))
elementwise(
    special.rel_entr,
    lambda z, x, y: log_ratio(x, y) + np.where(np.equal(x, 0) & np.equal(y, 0), 0, 1),
    lambda z, x, y: -ratio(x, y),
)
elementwise(special.kl_div, lambda z, x, y: log_ratio(x, y), lambda z, x, y: 1 - ratio(x, y))

# -- losses ----------------------------------------------------------------------------------------------


def huber_by_delta(y: Any, delta: Any, r: Any) -> Any:
    return np.maximum(np.abs(r) - delta, 0)


elementwise(special.huber, huber_by_delta, lambda y, delta, r: np.clip(r, np.negative(delta), delta))


def pseudo_huber_by_delta(y: Any, delta: Any, r: Any) -> Any:
    """``2 δ (s - 1) - r² / (δ s)`` with ``s = √(1 + (r/δ)²)``, without cancellation and division by δ."""
    h = np.hypot(delta, r)
    return r**4 / nonzero(h * np.square(h + delta))


elementwise(
    special.pseudo_huber, pseudo_huber_by_delta, lambda y, delta, r: r * delta / nonzero(np.hypot(delta, r))
)

# -- (eˣ - 1) / x and log(1 + x) / x ---------------------------------------------------------------------


def _exprel(x: Any, k: int) -> Any:
    return by_quotient(
        x, k, lambda t, j: np.exp(t) if j else np.expm1(t), lambda m: 1 / math.factorial(m + 1), 1.0 + k / 2
    )


def _log1p_over_x(x: Any, k: int) -> Any:
    def log1p(t: Any, j: int) -> Any:
        return (-1) ** (j - 1) * math.factorial(j - 1) / (1 + t) ** j if j else np.log1p(t)

    return by_quotient(x, k, log1p, lambda m: (-1) ** m / (m + 1), 0.3)


exprel = derivatives_of(_exprel, "exprel_derivative")
log1p_over_x = derivatives_of(_log1p_over_x, "log1p_over_x_derivative")

elementwise(special.exprel, lambda y, x: exprel(x, 1))

# -- power transforms: (x^λ - 1) / λ = L (exp(λ L) - 1) / (λ L) with L = log x ----------------------------


def _by_lambda(y: Any, log_x: Any, lmbda: Any) -> Any:
    """``L² exprel'(λ L)``; where x = 0 it is y²."""
    nothing = np.isneginf(log_x)
    if not perhaps(nothing):
        return np.square(log_x) * exprel(lmbda * log_x, 1)
    log_x = np.where(nothing, 0, log_x)
    return np.where(nothing, np.square(y), np.square(log_x) * exprel(lmbda * log_x, 1))


def boxcox_by_lambda(y: Any, x: Any, lmbda: Any) -> Any:
    return _by_lambda(y, np.log(x), lmbda)


def inverse_by_lambda(scale: Any, y: Any, lmbda: Any) -> Any:
    """Of ``z(λ) = log(1 + λ y) / λ``: ``y² g'(λ y)`` for ``g(u) = log(1 + u) / u``, times ``dx/dz``."""
    return scale * np.square(y) * log1p_over_x(np.multiply(lmbda, y), 1)


elementwise(special.boxcox, lambda y, x, lmbda: x ** np.subtract(lmbda, 1), boxcox_by_lambda)
elementwise(
    special.boxcox1p,
    lambda y, x, lmbda: (1 + x) ** np.subtract(lmbda, 1),
    lambda y, x, lmbda: _by_lambda(y, np.log1p(x), lmbda),
)
elementwise(
    special.inv_boxcox,
    lambda x, y, lmbda: x / (1 + np.multiply(lmbda, y)),
    lambda x, y, lmbda: inverse_by_lambda(x, y, lmbda),
)
elementwise(
    special.inv_boxcox1p,
    lambda x, y, lmbda: (1 + x) / (1 + np.multiply(lmbda, y)),
    lambda x, y, lmbda: inverse_by_lambda(1 + x, y, lmbda),
)
