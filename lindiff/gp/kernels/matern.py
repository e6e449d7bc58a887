"""Matérn's function of squared distances, with derivatives that are right at distance zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lindiff.core.differential import Elementwise
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.scipy import special

__all__ = ["matern"]

UNIFORM = 200.0  # ν from which on the expansion for large orders is exact to rounding
SERIES = 20  # terms of a power series
FAR = 750.0  # the square root of q from which on exp(-√q) is zero


def matern(q: Any, nu: float) -> Any:
    """``h_ν(q) = 2^(1-ν)/Γ(ν) s^ν K_ν(s)`` of ``s = √q``, ``q = 2ν r²``.

    ``h_ν' = -h_(ν-1) / (4 (ν - 1))`` for ν > 1, by ``(s^ν K_ν)' = -s^ν K_(ν-1)``, DLMF 10.29.4; that of
    ν ≤ 1, which has none at zero, there counts as 0.
    """
    if not nu > 0:
        raise ValueError(f"Matern: nu must be greater than 0, got {nu}")
    return _matern(q, float(nu))


@rule
def _matern(q: Any, nu: float) -> Any:
    h = _matern(q, nu) if isinstance(q, Variable) else _value(q, nu)
    if nu > 1:
        return h, Elementwise(lambda: -0.25 / (nu - 1) * _matern(q, nu - 1), None)
    return h, Elementwise(lambda: _slope(q, nu), None)


def _value(q: Any, nu: float) -> Any:
    if nu > UNIFORM:
        return _of_large_order(q, nu)
    s = np.minimum(np.sqrt(q), FAR)
    if nu == 0.5:
        return np.exp(-s)
    if nu == 1.5:
        return (1 + s) * np.exp(-s)
    if nu == 2.5:
        return (1 + s + s * s / 3) * np.exp(-s)
    is_zero = np.equal(value(q), 0)
    s = np.where(is_zero, 1.0, s)
    with np.errstate(over="ignore", invalid="ignore"):
        h = np.exp((1 - nu) * np.log(2) - special.gammaln(nu) + nu * np.log(s)) * special.kv(nu, s)
    is_small = is_zero | ~np.isfinite(value(h)) & (s < nu)
    return np.where(is_small, _series(np.where(is_small, q, 0.0), nu), h)


def _of_large_order(q: Any, nu: float) -> Any:
    """By the expansion of K_ν(νz) that is uniform in z, and that of Γ(ν): DLMF 10.41.4, 5.11.1.

    With ``d = √(1 + z²) - 1`` and ``p = 1 / (1 + d)`` its logarithm is, as ν log ν cancels,
    ``ν (log(1 + d/2) - d) - ½ log(1 + d)`` and that of a sum of polynomials of p over powers of ν, 10.41.10.
    """
    z2 = q / nu**2
    d = z2 / (1 + np.sqrt(1 + z2))
    p2 = 1 / (1 + z2)
    u1 = (3 - 5 * p2) / 24
    u2 = (81 + p2 * (-462 + p2 * 385)) / 1152
    u3 = (30375 + p2 * (-369603 + p2 * (765765 - p2 * 425425))) / 414720
    u4 = (4465125 + p2 * (-94121676 + p2 * (349922430 + p2 * (-446185740 + p2 * 185910725)))) / 39813120
    t = -1 / (nu * (1 + d))
    total = 1 + t * (u1 + t * (u2 + t * (u3 + t * u4)))
    of_gamma = 1 / (12 * nu) - 1 / (360 * nu**3)
    return np.exp(nu * (np.log1p(0.5 * d) - d) - 0.5 * np.log1p(d) - of_gamma) * total


def _series(q: Any, nu: float) -> Any:
    """``Σ_k (-q/4)ᵏ / (k! (ν-1) ⋯ (ν-k))``, where K_ν(√q) is too large a number: DLMF 10.31, 10.25.2."""
    term = total = np.ones_like(q)
    for k in range(1, min(SERIES, math.ceil(nu))):
        term = -0.25 * term * q / (k * (nu - k))
        total = total + term
    return total


def _slope(q: Any, nu: float) -> Any:
    """``h_ν'`` of ν ≤ 1, ``-2^-ν/Γ(ν) s^(ν-1) K_(1-ν)(s)``, and 0 at zero."""
    is_zero = np.equal(value(q), 0)
    s = np.sqrt(np.where(is_zero, 1.0, q))
    if nu == 0.5:
        return np.where(is_zero, 0.0, -0.5 * np.exp(-s) / s)
    slope = -np.exp(-nu * np.log(2) - special.gammaln(nu) + (nu - 1) * np.log(s)) * special.kv(1 - nu, s)
    return np.where(is_zero, 0.0, slope)
