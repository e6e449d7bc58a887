"""Differentials that a singular value decomposition or a pseudoinverse serves: their formulas, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign
from lindiff.core.differential import Differential
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._complement import with_beyond, without_beyond
from lindiff.linalg._degeneracy import (
    over_gaps,
    over_open_gaps,
    without_gauge,
    without_kink,
    without_split,
)
from lindiff.linalg._matrices import EIGHTH_ROOT, adjoint, conj, largest
from lindiff.linalg.diagonals import extractdiag, makediag
from lindiff.linalg.eigenvectors import gaps, off_diagonal

__all__ = [
    "pinv_pullback",
    "pinv_pushforward",
    "solution_pullback",
    "solution_pushforward",
    "svd_pullback",
    "svd_pushforward",
    "svdvals_differential",
    "svdvals_pullback",
    "svdvals_pushforward",
]


def svd_pushforward(U: Any, S: Any, Vh: Any, a_dot: Any) -> tuple[Any, Any, Any]:
    """``U_dot, S_dot, Vh_dot`` of ``a = U diag(S) Vᴴ``; of a wide matrix by that of its adjoint."""
    if U.shape[-2] >= Vh.shape[-1]:
        return _tall_svd_pushforward(U, S, Vh, a_dot)
    V_dot, S_dot, Uh_dot = _tall_svd_pushforward(adjoint(Vh), S, adjoint(U), adjoint(a_dot))
    return adjoint(Uh_dot), S_dot, adjoint(V_dot)


def svd_pullback(U: Any, S: Any, Vh: Any, U_bar: Any, S_bar: Any, Vh_bar: Any) -> Any:
    """``a_bar`` of ``a = U diag(S) Vᴴ``; a cotangent that is None is zero."""
    if U.shape[-2] >= Vh.shape[-1]:
        return _tall_svd_pullback(U, S, Vh, U_bar, S_bar, Vh_bar)
    U_bar, Vh_bar = (None if X is None else adjoint(X) for X in (U_bar, Vh_bar))
    return adjoint(_tall_svd_pullback(adjoint(Vh), S, adjoint(U), Vh_bar, S_bar, U_bar))


def _tall_svd_pushforward(U: Any, S: Any, Vh: Any, a_dot: Any) -> tuple[Any, Any, Any]:
    """With ``P = Uᴴ da V``, ``dU = U Ω``, ``dV = V Ψ`` (Ω, Ψ skew-Hermitian): ``dS = Re diag(P)``,
    ``(Ω + Ψ)_ij = (P + Pᴴ)_ij / (s_j - s_i)``, ``(Ω - Ψ)_ij = (P - Pᴴ)_ij / (s_j + s_i)``: sums of singular
    values do not vanish where differences do.
    """
    n = Vh.shape[-1]
    V = adjoint(Vh)
    inner, beyond = U[..., :n], U[..., n:]
    sums = S[..., None, :] + S[..., :, None]
    aV = product(a_dot, V)
    P = product(adjoint(inner), aV)
    S_dot = extractdiag(P)
    S_dot = S_dot.real if P.dtype.kind == "c" else S_dot
    both = over_open_gaps(off_diagonal(P + adjoint(P)), gaps(S), P, S, "svd")
    difference = over_open_gaps(P - adjoint(P), sums, P, S, "svd")
    Omega, Psi = 0.5 * (both + difference), 0.5 * (both - difference)
    outside = aV - product(inner, P)
    U_dot = product(inner, Omega) + over_open_gaps(outside, S[..., None, :], aV, S, "svd")
    return with_beyond(U_dot, inner, beyond), S_dot, adjoint(product(V, Psi))


def _tall_svd_pullback(U: Any, S: Any, Vh: Any, U_bar: Any, S_bar: Any, Vh_bar: Any) -> Any:
    """``a_bar = U P_bar Vᴴ + (I - UUᴴ) U_bar S⁻¹ Vᴴ``."""
    n = Vh.shape[-1]
    V = adjoint(Vh)
    inner, beyond = U[..., :n], U[..., n:]
    if U_bar is None and Vh_bar is None:
        return svdvals_pullback(inner, S, Vh, S_bar, "svd")
    U_bar = np.zeros_like(U) if U_bar is None else U_bar
    V_bar = np.zeros_like(V) if Vh_bar is None else adjoint(Vh_bar)
    inner_bar = without_beyond(U_bar, inner, beyond, "svd")
    K_U, K_V = product(adjoint(inner), inner_bar), product(adjoint(V), V_bar)
    sizes = np.abs(value(K_U)) + np.abs(value(K_V))
    scale = sizes + largest(np.abs(value(U_bar)))
    without_gauge(K_U + K_V, scale, "svd")
    A_U, A_V = 0.5 * (K_U - adjoint(K_U)), 0.5 * (K_V - adjoint(K_V))
    # where nothing depends on S, a quotient whose numerator vanishes has no limit that could be lost
    slopes: Any = 0.0
    pairs: Any = 0.0
    sizes = off_diagonal(sizes) if S_bar is not None else 0.0
    if S_bar is not None:
        without_split(S_bar, S, "svd", extractdiag(K_U + K_V))
        slopes = np.abs(value(S_bar))[..., None, :]
        pairs = off_diagonal(slopes + np.swapaxes(slopes, -1, -2))
    P_bar = over_gaps(off_diagonal(A_U + A_V), gaps(S), scale, S, "svd", coupling=sizes)
    sums = S[..., None, :] + S[..., :, None]
    P_bar = P_bar + over_gaps(A_U - A_V, sums, scale, S, "svd", coupling=pairs)
    if S_bar is not None:
        P_bar = P_bar + makediag(S_bar)
    a_bar = product(inner, P_bar, Vh)
    if U.shape[-2] == n:
        return a_bar
    outside = inner_bar - product(inner, K_U)
    return a_bar + product(over_gaps(outside, S[..., None, :], inner_bar, S, "svd", slopes), Vh)


def svdvals_differential(U: Any, s: Any, Vh: Any, name: str) -> Differential:
    """``s_dot = Re diag(Uᴴ a_dot V)``, and the pullback below."""
    return Differential(
        (lambda a_dot: svdvals_pushforward(U, Vh, a_dot),),
        (lambda s_bar: svdvals_pullback(U, s, Vh, s_bar, name),),
    )


def svdvals_pushforward(U: Any, Vh: Any, a_dot: Any) -> Any:
    """``s_dot = Re diag(Uᴴ a_dot V)``."""
    s_dot = np.sum(conj(U) * product(a_dot, adjoint(Vh)), axis=-2)
    return s_dot.real if s_dot.dtype.kind == "c" else s_dot


def svdvals_pullback(U: Any, s: Any, Vh: Any, s_bar: Any, name: str) -> Any:
    """``a_bar = U diag(s_bar) Vᴴ``."""
    without_split(s_bar, s, name)
    without_kink(s_bar, s, name)
    return product(U * s_bar[..., None, :], Vh)


def _unit(a: Any) -> Any:
    """Of each matrix a power of two about as large as its largest entry; None if all are of ordinary size."""
    plain = value(a)
    size, high = largest(np.abs(plain), axis=(-2, -1), keepdims=True), EIGHTH_ROOT[plain.dtype.char]
    if foreign(plain) is None and size.size and size.max() < high and size.min() * high > 1:
        return None
    _, exponent = np.frexp(size)
    return np.ldexp(np.ones_like(plain.real, shape=exponent.shape), exponent - 1)


def _at_size_one(derivative: Callable[[Any, Any, Any], Any], a: Any, P: Any, direction: Any) -> Any:
    """A derivative of ``P = a⁺``, whose products over- and underflow for large and small ``a``."""
    unit = _unit(a)
    if unit is None:
        return derivative(a, P, direction)
    return derivative(a / unit, P * unit, direction) / unit / unit


def pinv_pushforward(a: Any, P: Any, a_dot: Any) -> Any:
    """``P_dot`` of ``P = a⁺`` among matrices of constant rank."""
    return _at_size_one(_pinv_pushforward, a, P, a_dot)


def _pinv_pushforward(a: Any, P: Any, a_dot: Any) -> Any:
    """``-P a_dot P + P Pᴴ a_dotᴴ (I - a P) + (I - P a) a_dotᴴ Pᴴ P``; Golub & Pereyra (1973), eq. 4.12."""
    P_h, a_dot_h = adjoint(P), adjoint(a_dot)
    beside = a_dot_h - (a_dot_h @ a) @ P
    along = a_dot_h @ P_h @ P
    return P @ (P_h @ beside - a_dot @ P) + along - P @ (a @ along)


def pinv_pullback(a: Any, P: Any, P_bar: Any) -> Any:
    """``a_bar`` of ``P = a⁺``."""
    return _at_size_one(_pinv_pullback, a, P, P_bar)


def _pinv_pullback(a: Any, P: Any, P_bar: Any) -> Any:
    """The adjoint of the pushforward, term by term."""
    P_h, P_bar_h = adjoint(P), adjoint(P_bar)
    across = P_bar_h @ P @ P_h
    below = P_bar - P @ (a @ P_bar)
    return P_h @ (P @ adjoint(below) - P_bar @ P_h) + across - a @ (P @ across)


def solution_pushforward(a: Any, B: Any, X: Any, P: Any, a_dot: Any, B_dot: Any) -> Any:
    """``X_dot`` of ``X = P B``, ``P = a⁺`` among matrices of constant rank."""
    along = adjoint(a_dot) @ (adjoint(P) @ X)
    change = B_dot - a_dot @ X + adjoint(P) @ (adjoint(a_dot) @ (B - a @ X))
    return P @ change + along - P @ (a @ along)


def solution_pullback(a: Any, B: Any, X: Any, P: Any, X_bar: Any) -> tuple[Any, Any]:
    """``a_bar, B_bar`` of ``X = P B``: ``B_bar = Pᴴ X_bar``."""
    B_bar = adjoint(P) @ X_bar
    beside = X_bar - P @ (a @ X_bar)
    a_bar = -(B_bar @ adjoint(X)) + (B - a @ X) @ adjoint(P @ B_bar) + (adjoint(P) @ X) @ adjoint(beside)
    return a_bar, B_bar
