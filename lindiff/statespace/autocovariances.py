"""Autocovariances of autoregressive moving averages, and what their states have in common by them.

The states x of :func:`lindiff.statespace.arma` move by ``x' = φ y + S x + θ e``, where y is the first of
them and S has ones above the diagonal: Durbin & Koopman (2012), eq. 3.17.  Autocovariances are those of
Brockwell & Davis (1991), Time Series: Theory and Methods, section 3.3.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import padded_with_zeros, placed
from lindiff.core.differential import Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.linalg import trsm

__all__ = ["Process", "first_prediction", "states_of", "stationary_cov"]

LOST = (
    "stationary_initialization: ar has several roots so near the unit circle that rounding leaves nothing of "
    "the stationary covariance; take differences of the data instead: sarima(…, difference=1)"
)


class Process(NamedTuple):
    """``y_t = Σ past_i y_{t-i} + v_t`` from a diffuse past, v a stationary autoregressive moving average.

    Attributes
    ----------
    past : (m,) array
        Plain: of the differences, v = (1 - L)ᵈ (1 - Lˢ)ᴰ y.
    ar, ma : arrays
    innovation_var : number
    """

    past: Any
    ar: Any
    ma: Any
    innovation_var: Any


def first_prediction(ar: Any, ma: Any) -> tuple[Any, Any, Any]:
    """The column φ (n,) of the transition, the first gain (n,), and the variance for innovations of one."""
    phi, theta = states_of(ar, ma)
    covariances, later = autocovariances(phi, theta)
    return phi, later / covariances[0], covariances[0]


def stationary_cov(ar: Any, ma: Any) -> Any:
    """The covariance (n, n) of the states, for innovations of variance one.

    Raises
    ------
    ValueError
        If nothing of it is left by rounding.

    Notes
    -----
    ``P = φ kᵀ + k φᵀ - γ₀ φ φᵀ + θ θᵀ + S P Sᵀ`` with k, what states have in common with the y before them:
    2/3 n³ + 10 n² flops, where an equation of Lyapunov's takes 40n³.
    """
    phi, theta = states_of(ar, ma)
    covariances, later = autocovariances(phi, theta)
    half = np.outer(phi, later - 0.5 * covariances[0] * phi)
    P = sums_along_diagonals(half + half.T + np.outer(theta, theta))
    variances, rounding = np.diagonal(value(P)), _rounding(*map(value, (phi, theta, covariances[0], later)))
    if np.any(variances < -rounding):
        raise ValueError(LOST)
    nothing = variances <= rounding  # of factors that cancel
    if np.any(nothing):
        P = P - np.where(nothing[:, None] | nothing, value(P), 0.0)
    return P


def _rounding(phi: Any, theta: Any, variance: Any, later: Any) -> Any:
    """Of the variances of the states: of the terms that their sums are made of."""
    terms = 2 * np.abs(phi) * (np.abs(later) + 0.5 * variance * np.abs(phi)) + theta**2
    return 4 * len(phi) * np.finfo(terms.dtype).eps * np.cumsum(terms[::-1])[::-1]


def states_of(ar: Any, ma: Any) -> tuple[Any, Any]:
    """The column φ (n,) of the transition, and what an innovation gives to the states, θ (n,)."""
    n = max(ar.size, ma.size + 1)
    ahead = [placed(np.ones(1, ma.dtype), ma), padded_with_zeros(ma, [(0, n - 1 - ma.size)])]
    return padded_with_zeros(ar, [(0, n - ar.size)]), np.concatenate(ahead)


def autocovariances(phi: Any, theta: Any) -> tuple[Any, Any]:
    """γ (n + 1,), and what the states have in common with the y before them (n,).

    With ψ, what an innovation gives to y later, and ``r_k = Σ_j θ_{j+k} ψ_j``, the autocovariances solve
    ``γ_k = Σ_j φ_j γ_{|k-1-j|} + r_k``; the i-th state has ``Σ_j φ_{j+i} γ_j + r_{i+1}``.
    """
    n = phi.size
    padded = padded_with_zeros(phi, [(0, 1)])
    before, after = _lags(n)
    lower = np.eye(n + 1) - padded[before]
    psi = trsm(lower[1:, 1:], theta[:, None])[:, 0]
    r = padded_with_zeros(_lagged(theta, psi), [(0, 1)])
    try:
        covariances = np.linalg.solve(lower - padded[after], r)
    except np.linalg.LinAlgError:
        raise ValueError(LOST) from None
    return covariances, _lagged(phi, covariances[:n]) + r[1:]


@rule
def sums_along_diagonals(X: Any) -> Any:
    """``Y_ij = Σ_m X_{i+m, j+m}``: what solves ``Y = X + S Y Sᵀ``."""
    if type(X) is Variable:
        Y = sums_along_diagonals(X)
    else:
        Y = X.copy()
        for i in range(len(X) - 2, -1, -1):
            Y[i, :-1] += Y[i + 1, 1:]
    return Y, Linear((sums_along_diagonals,), (lambda Y_bar: np.flip(sums_along_diagonals(np.flip(Y_bar))),))


def _lagged(a: Any, b: Any) -> Any:
    """``Σ_j a_{j+k} b_j`` for k from 0."""
    return np.correlate(padded_with_zeros(a, [(0, b.size - 1)]), b, "valid")


@functools.lru_cache(maxsize=16)
def _lags(n: int) -> tuple[Any, Any]:
    """The places of φ that γ_m has in the equation of γ_k, ``k - 1 - m`` and ``k - 1 + m``; n is none."""
    k, m = np.indices((n + 1, n + 1))
    before, after = k - 1 - m, k - 1 + m
    return np.where(before < 0, n, before), np.where((m == 0) | (after < 0) | (after >= n), n, after)
