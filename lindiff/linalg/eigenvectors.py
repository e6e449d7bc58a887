"""Differentials of eigendecompositions in the basis of the eigenvectors: their formulas, once."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._degeneracy import (
    group_of_equal,
    has_equal,
    over_gaps,
    over_open_gaps,
    spread_of,
    without_defect,
    without_gauge,
    without_split,
)
from lindiff.linalg._matrices import adjoint, conj, hermitian_part, identity_like
from lindiff.linalg.diagonals import extractdiag, makediag

__all__ = [
    "columns_pullback",
    "columns_pushforward",
    "eig_pullback",
    "eig_pushforward",
    "eigh_pullback",
    "eigh_pushforward",
    "eigvalsh_pushforward",
    "gaps",
    "off_diagonal",
    "parted",
]


def gaps(w: Any) -> Any:
    """``w_j - w_i``, and 1 on the diagonal."""
    return w[..., None, :] - w[..., :, None] + identity_like(w)


def off_diagonal(X: Any) -> Any:
    """A square X with zeros on its diagonal."""
    return X - makediag(extractdiag(X))


def eigh_pushforward(w: Any, M: Any, name: str) -> tuple[Any, Any]:
    """``w_dot = diag(M)``, ``V_dot = V (M ∘ F)``, ``M = Vᴴ A_dot V``, ``F_ij = 1 / h(w_j - w_i)``.

    Giles (2008), section 3.1.  Returns w_dot and ``M ∘ F``.
    """
    w_dot = extractdiag(M)
    S = over_open_gaps(off_diagonal(M), gaps(w), M, w, name)
    return w_dot.real if M.dtype.kind == "c" else w_dot, S


def eigh_pullback(w: Any, V: Any, w_bar: Any, V_bar: Any, name: str) -> Any:
    """M_bar, so that ``A_bar = V M_bar Vᴴ``; a cotangent that is None is zero."""
    if V_bar is None:
        without_split(w_bar, w, name)
        return makediag(w_bar)
    K = product(adjoint(V), V_bar)
    without_gauge(K, V_bar, name)
    skew = 0.5 * off_diagonal(K - adjoint(K))
    if w_bar is None:  # a quotient whose numerator vanishes has no limit that could be lost
        return over_gaps(skew, gaps(w), K, w, name)
    without_split(w_bar, w, name, weights=extractdiag(K))
    return over_gaps(skew, gaps(w), K, w, name, coupling=off_diagonal(K)) + makediag(w_bar)


def columns_pushforward(w: Any, V: Any, A_dot: Any, name: str) -> tuple[Any, Any]:
    """``w_dot, V_dot`` of ``A = V diag(w) Vᴴ``, A_dot Hermitian."""
    w_dot, S = eigh_pushforward(w, product(adjoint(V), A_dot, V), name)
    return w_dot, product(V, S)


def columns_pullback(w: Any, V: Any, w_bar: Any, V_bar: Any, name: str) -> Any:
    """``A_bar = V M_bar Vᴴ`` of ``A = V diag(w) Vᴴ``; a cotangent that is None is zero."""
    if V_bar is not None:
        return hermitian_part(product(V, eigh_pullback(w, V, w_bar, V_bar, name), adjoint(V)))
    without_split(w_bar, w, name)
    return hermitian_part(product(V * w_bar[..., None, :], adjoint(V)))


def eigvalsh_pushforward(w: Any, V: Any, A_dot: Any) -> Any:
    """``w_dot = diag(Vᴴ A_dot V)``, A_dot Hermitian; equal eigenvalues part as those of their block do."""
    if has_equal(w):
        return parted(product(adjoint(V), A_dot, V), w)[0]
    w_dot = np.sum(conj(V) * product(A_dot, V), axis=-2)
    return w_dot.real if w_dot.dtype.kind == "c" else w_dot


def parted(M: Any, w: Any) -> tuple[Any, Any]:
    """How the change M, in a basis of eigenvectors, parts equal eigenvalues w.

    Returns
    -------
    w_dot : (..., n) array or Variable
        The eigenvalues of the block of M that belongs to a group of equal w, for each group.
    R : (..., n, n) array or Variable
        Their eigenvectors.
    """
    plain = value(w)
    group = group_of_equal(plain)
    # in double precision, for the sake of the shifts
    M = np.where(group[..., None, :] == group[..., :, None], M, 0.0).astype(np.result_type(M.dtype, float))
    # groups far apart keep their places in the order of the eigenvalues
    spread = 2 * np.linalg.norm(value(M), axis=(-2, -1), keepdims=True) + 1
    shift = spread[..., 0] * group
    w_dot, R = np.linalg.eigh(M + makediag(shift))
    return w_dot - shift, R


def eig_pushforward(w: Any, V: Any, M: Any, name: str) -> tuple[Any, Any]:
    """``w_dot = diag(M)``, ``V_dot = V (C - diag Re(VᴴV C))``, ``C = M ∘ F``, ``M = V⁻¹ A_dot V``.

    Boeddeker et al. (2017), section 4: eigenvectors of norm 1, of free phase.
    """
    without_defect(w, V, name)
    C = over_open_gaps(off_diagonal(M), gaps(w), M, w, name, spread_of(w, V))
    along = extractdiag(product(adjoint(V), V, C)).real
    return extractdiag(M), product(V, C) - V * along[..., None, :]


def eig_pullback(w: Any, V: Any, w_bar: Any, V_bar: Any, name: str) -> Any:
    """M_bar, so that ``A_bar = V⁻ᴴ M_bar Vᴴ``; a cotangent that is None is zero."""
    without_defect(w, V, name)
    spread = spread_of(w, V)
    if V_bar is None:
        without_split(w_bar, w, name, spread=spread)
        return makediag(w_bar)
    K = product(adjoint(V), V_bar)
    without_gauge(K, V_bar, name)
    weights = extractdiag(K)
    if w_bar is not None:
        without_split(w_bar, w, name, weights, spread)
    K = K - product(adjoint(V), V) * weights.real[..., None, :]
    M_bar = over_gaps(off_diagonal(K), conj(gaps(w)), K, w, name, spread=spread)
    return M_bar if w_bar is None else M_bar + makediag(w_bar)
