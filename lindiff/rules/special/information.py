"""Logistic functions, entropies, robust losses, power transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from lindiff.core.formula import perhaps, some
from lindiff.rules.elementwise.rules import nonzero
from lindiff.rules.special._common import by_quotient, derivatives_of, elementwise, with_partials

__all__ = ["boxcox_by_lambda", "exprel", "log1p_over_x"]

SMALLEST = float(np.finfo(np.float64).tiny)

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
    return log_quotient(x, y)


def _log_quotient(x: Any, y: Any) -> Any:
    """Of the quotient, which keeps the digits near 1; where that leaves the range, of both."""
    quotient = np.divide(x, y)
    beyond = np.isinf(quotient) | np.less(np.abs(quotient), SMALLEST)
    if not perhaps(beyond):
        return np.log(quotient)
    return np.where(beyond, np.log(x) - np.log(y), np.log(quotient))


log_quotient = with_partials(_log_quotient, lambda x, y: 1 / x, lambda x, y: -1 / y)


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


def _share_of_norm(x: Any, y: Any) -> Any:
    """``x / h`` with ``h = √(x² + y²)``."""
    return x / nonzero(np.hypot(x, y))


share_of_norm: Callable[..., Any] = with_partials(
    _share_of_norm,
    lambda x, y: np.square(share_of_norm(y, x)) / nonzero(np.hypot(x, y)),
    lambda x, y: -share_of_norm(x, y) * share_of_norm(y, x) / nonzero(np.hypot(x, y)),
)


def _versine(delta: Any, r: Any) -> Any:
    """``1 - δ / h`` as ``r / h · r / (h + δ)``."""
    return share_of_norm(r, delta) * (r / nonzero(np.hypot(delta, r) + delta))


# The value is δ (h - δ); its derivatives are r δ / h and (h - δ)² / h.
pseudo_huber_by_delta = with_partials(
    lambda delta, r: r * (share_of_norm(r, delta) * np.square(r / nonzero(np.hypot(delta, r) + delta))),
    lambda delta, r: -np.square(_versine(delta, r)) * (share_of_norm(delta, r) + 2),
    lambda delta, r: share_of_norm(r, delta) ** 3,
)
pseudo_huber_by_residual = with_partials(
    lambda delta, r: r * share_of_norm(delta, r),
    lambda delta, r: share_of_norm(r, delta) ** 3,
    lambda delta, r: share_of_norm(delta, r) ** 3,
)
elementwise(
    special.pseudo_huber,
    lambda y, delta, r: pseudo_huber_by_delta(delta, r),
    lambda y, delta, r: pseudo_huber_by_residual(delta, r),
)

# -- (eˣ - 1) / x and log(1 + x) / x ---------------------------------------------------------------------


def _exprel(x: Any, k: int) -> Any:
    y = by_quotient(
        x, k, lambda t, j: np.exp(t) if j else np.expm1(t), lambda m: 1 / math.factorial(m + 1), 1.0 + k / 2
    )
    overflown = np.greater(x, math.log(np.finfo(y.dtype).max))
    return np.where(overflown, np.inf, y).astype(y.dtype) if perhaps(overflown) else y


def _log1p_over_x(x: Any, k: int) -> Any:
    def log1p(t: Any, j: int) -> Any:
        return (-1) ** (j - 1) * math.factorial(j - 1) / (1 + t) ** j if j else np.log1p(t)

    return by_quotient(x, k, log1p, lambda m: (-1) ** m / (m + 1), 0.3)


exprel = derivatives_of(_exprel, "exprel_derivative")
log1p_over_x = derivatives_of(_log1p_over_x, "log1p_over_x_derivative")

elementwise(special.exprel, lambda y, x: exprel(x, 1))

# -- power transforms: (x^λ - 1) / λ = L (exp(λ L) - 1) / (λ L) with L = log x ----------------------------


def of_logarithm(log_x: Any, lmbda: Any, k: int) -> Any:
    """``L^(k + 1) exprel⁽ᵏ⁾(λ L)``, the k-th derivative by λ; where x = 0, that of -1/λ."""
    nothing = np.isneginf(log_x)
    if not perhaps(nothing):
        return log_x ** (k + 1) * exprel(lmbda * log_x, k)
    at_0 = (-1) ** (k + 1) * math.factorial(k) / np.where(nothing, lmbda, 1) ** (k + 1)
    log_x = np.where(nothing, 0, log_x)
    return np.where(nothing, at_0, log_x ** (k + 1) * exprel(lmbda * log_x, k))


def power_transform(
    log: Callable[[Any], Any], power: Callable[[Any, Any], Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The partials by x and by λ, whose own are known: of ``(x^λ - 1) / λ`` by x it is ``x^(λ - 1)``."""

    def mixed(x: Any, lmbda: Any) -> Any:
        return by_x(x, lmbda) * log(x)

    by_x = with_partials(
        lambda x, lmbda: power(x, np.subtract(lmbda, 1)),
        lambda x, lmbda: np.subtract(lmbda, 1) * power(x, np.subtract(lmbda, 2)),
        mixed,
    )
    by_lambda = with_partials(
        lambda x, lmbda: of_logarithm(log(x), lmbda, 1),
        mixed,
        lambda x, lmbda: of_logarithm(log(x), lmbda, 2),
    )
    return by_x, by_lambda


boxcox_by_x, boxcox_by_lambda = power_transform(np.log, np.power)
boxcox1p_by_x, boxcox1p_by_lambda = power_transform(np.log1p, lambda x, exponent: (1 + x) ** exponent)


def inverse_by_lambda(scale: Any, y: Any, lmbda: Any) -> Any:
    """Of ``z(λ) = log(1 + λ y) / λ``: ``y² g'(λ y)`` for ``g(u) = log(1 + u) / u``, times ``dx/dz``."""
    return scale * np.square(y) * log1p_over_x(np.multiply(lmbda, y), 1)


elementwise(
    special.boxcox,
    lambda y, x, lmbda: boxcox_by_x(x, lmbda),
    lambda y, x, lmbda: boxcox_by_lambda(x, lmbda),
)
elementwise(
    special.boxcox1p,
    lambda y, x, lmbda: boxcox1p_by_x(x, lmbda),
    lambda y, x, lmbda: boxcox1p_by_lambda(x, lmbda),
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
