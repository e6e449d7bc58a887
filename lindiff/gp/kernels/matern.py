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
