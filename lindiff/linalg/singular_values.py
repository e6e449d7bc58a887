"""Differentials that a singular value decomposition or a pseudoinverse serves: their formulas, once."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.linalg._degeneracy import without_kink, without_split
from lindiff.linalg._matrices import adjoint, conj

__all__ = [
    "pinv_pullback",
    "pinv_pushforward",
    "solution_pullback",
    "solution_pushforward",
    "svdvals_differential",
    "svdvals_pullback",
]


def svdvals_differential(U: Any, s: Any, Vh: Any, name: str) -> Differential:
    """``s_dot = Re diag(Uᴴ a_dot V)``, and the pullback below."""

    def pushforward(a_dot: Any) -> Any:
        s_dot = np.sum(conj(U) * (a_dot @ adjoint(Vh)), axis=-2)
        return s_dot.real if s_dot.dtype.kind == "c" else s_dot

    return Differential((pushforward,), (lambda s_bar: svdvals_pullback(U, s, Vh, s_bar, name),))


def svdvals_pullback(U: Any, s: Any, Vh: Any, s_bar: Any, name: str) -> Any:
    """``a_bar = U diag(s_bar) Vᴴ``."""
    without_split(s_bar, s, name)
    without_kink(s_bar, s, name)
    return (U * s_bar[..., None, :]) @ Vh


def pinv_pushforward(a: Any, P: Any, a_dot: Any) -> Any:
    """``P_dot`` of ``P = a⁺`` among matrices of constant rank; Golub & Pereyra (1973), eq. 4.12.

    ``P_dot = -P a_dot P + P Pᴴ a_dotᴴ (I - a P) + (I - P a) a_dotᴴ Pᴴ P``.
    """
    P_h, a_dot_h = adjoint(P), adjoint(a_dot)
    beside = a_dot_h - (a_dot_h @ a) @ P
    along = a_dot_h @ P_h @ P
    return P @ (P_h @ beside - a_dot @ P) + along - P @ (a @ along)


def pinv_pullback(a: Any, P: Any, P_bar: Any) -> Any:
    """``a_bar`` of ``P = a⁺``: the adjoint of the pushforward, term by term."""
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
