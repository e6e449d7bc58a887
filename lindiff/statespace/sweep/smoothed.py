"""The way back through the smoother, from cotangents of smoothed states to those of data and model.

With the predicted moments m and P of a step, ``S = B P Bᵀ + R``, ``W = S⁻¹``, ``K = P Bᵀ W``,
``e = W (y - B m)`` and ``Φ = A - A K B``, which leads from the error of one prediction to that of the next,
the smoother is (Durbin & Koopman 2012, section 4.4), from r = 0 and N = 0 after the last step::

    r = Φᵀ r⁺ + Bᵀ e,     N = Φᵀ N⁺ Φ + Bᵀ W B,
    M = m + P r,          V = P - P N P.

Its adjoint runs forward, with m̄ and P̄ of each prediction for the filter's::

    r̄⁺ = Φ r̄ + P⁺ M̄⁺,     N̄⁺ = Φ N̄ Φᵀ - P⁺ V̄⁺ P⁺,     Φ̄ = r⁺ r̄ᵀ + 2 N⁺ Φ N̄,
    Ā = Φ̄ - Φ̄ Bᵀ Kᵀ,      K̄ = -Aᵀ Φ̄ Bᵀ,                ē = B r̄,     v̄ = W ē,
    W̄ = B N̄ Bᵀ + sym(B P K̄ + ē vᵀ),                      S̄ = -W W̄ W,     ȳ = v̄,     R̄ = S̄,
    B̄ = e r̄ᵀ + 2 W B N̄ - Kᵀ Aᵀ Φ̄ + W K̄ᵀ P + 2 S̄ B P - v̄ mᵀ,
    m̄ = M̄ - Bᵀ v̄,         P̄ = V̄ + sym(M̄ rᵀ - 2 V̄ P N + Bᵀ W K̄ᵀ) + Bᵀ S̄ B.

Both recursions are those of a filter that observes nothing, which is how they are run.  With d diffuse states
(see `lindiff.statespace.diffuse`) the columns of m, r and e are those of k series and of the unit vectors, U
are the smoothed ones of the latter, and ``δ = -C⁻¹ sᵀ``::

    M + U δ,     V + U C⁻¹ Uᵀ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.kernels.kalman import Sweep
from lindiff.linalg import makediag
from lindiff.linalg._matrices import symmetric_part, transposed

__all__ = ["pull_smoothed"]


class _Predicted(NamedTuple):
    """What the filter makes of every step; columns are series and unit vectors."""

    seen: Any  # whether data are observed, (T, p, 1), or (1, p, 1) where they are everywhere
    m: Any  # (T, n, s)
    P: Any  # (T, n, n)
    B: Any  # (T, p, n), rows of zeros where nothing is observed
    W: Any  # (T, p, p)
    C: Any  # B P
    K: Any  # (T, n, p)
    v: Any  # (T, p, s)
    e: Any
    Phi: Any  # (T, n, n)


def pull_smoothed(sweep: Sweep, bars: tuple[Any, Any], units: int, wanted: Any) -> tuple[Any, ...]:
    """Cotangents of the wanted arrays of a sweep from those of the smoothed moments of its series.

    Parameters
    ----------
    sweep : Sweep
        All of it kept; its matrices have an axis of time, of length 1 where constant, and its last columns
        are those of the unit vectors, mixed with all.
    bars : (T, n, k), (T, n, n) arrays
        Cotangents of means and covariances, the latter symmetric.
    units : int
        The number d of diffuse states.
    wanted : tuple of 8 bool

    Returns
    -------
    tuple
        In the shapes of the arrays, None for those that are not wanted.

    Notes
    -----
    About 30n³ + 20n²p flops a step, and some twenty arrays (T, n, n).
    """
    A, of = sweep.arrays[1], _predicted(sweep)
    r, N, r_after, N_after = _backward(of)
    M_bar, V_bar = bars
    of_squares = None
    if units:
        M_bar, *of_sums = _of_columns(sweep.gram, of.m + of.P @ r, M_bar, V_bar, units)
        of_squares = _of_squares(of.e, *of_sums)
    r_bar, N_bar = _recursion(of.Phi, of.P @ M_bar, -of.P @ V_bar @ of.P)
    Phi_bar = r_after @ transposed(r_bar) + 2 * N_after @ of.Phi @ N_bar
    Phi_B = Phi_bar @ transposed(of.B)
    K_bar, e_bar = -transposed(A) @ Phi_B, of.B @ r_bar
    WK_bar, onto_W = of.W @ transposed(K_bar), of.C @ K_bar + e_bar @ transposed(of.v)
    W_bar = of.B @ N_bar @ transposed(of.B) + symmetric_part(onto_W)
    S_bar, v_bar = -of.W @ W_bar @ of.W, of.W @ e_bar
    if of_squares is not None:
        S_bar, v_bar = S_bar - of_squares @ transposed(of.e), v_bar + 2 * of_squares
    m_bar = M_bar - transposed(of.B) @ v_bar
    onto_P = M_bar @ transposed(r) - 2 * V_bar @ of.P @ N + transposed(of.B) @ WK_bar
    P_bar = V_bar + symmetric_part(onto_P) + transposed(of.B) @ S_bar @ of.B
    found = sweep.pull_steps(np.zeros_like(sweep.quad), wanted, predicted_bar=(m_bar, P_bar))
    y_bar, A_bar, B_bar, Q_bar, R_bar, *others = found
    if wanted[0]:
        y_bar = y_bar + np.where(of.seen, v_bar, 0)
    if wanted[1]:
        A_bar = A_bar + _summed(Phi_bar - Phi_B @ transposed(of.K), A_bar)
    if wanted[2]:
        of_rows = of.e @ transposed(r_bar) + 2 * of.W @ of.B @ N_bar - transposed(A @ of.K) @ Phi_bar
        of_rows = of_rows + WK_bar @ of.P + 2 * S_bar @ of.C - v_bar @ transposed(of.m)
        B_bar = B_bar + _summed(np.where(of.seen, of_rows, 0), B_bar)
    if wanted[4]:
        of_R = np.where(of.seen & transposed(of.seen), S_bar, 0)
        if R_bar.ndim == 2:
            of_R = np.diagonal(of_R, axis1=1, axis2=2)
        R_bar = R_bar + _summed(of_R, R_bar)
    return y_bar, A_bar, B_bar, Q_bar, R_bar, *others


def _predicted(sweep: Sweep) -> _Predicted:
    y, A, B, Q, R, c, observed = sweep.arrays
    seen = np.ones((1, y.shape[1], 1), bool) if observed is None else observed[:, :, None]
    m, P = sweep.starts[0]
    before = slice(len(y) - 1)
    m_after = A @ sweep.means if c is None else A @ sweep.means + c
    P_after = A @ sweep.filtered_covariances() @ transposed(A) + Q
    m, P = np.concatenate([m[None], m_after[before]]), np.concatenate([P[None], P_after[before]])
    B, R = np.where(seen, B, 0), makediag(R) if R.ndim == 2 else R
    R = np.where(seen & transposed(seen), R, np.eye(R.shape[-1], dtype=R.dtype))
    C = B @ P
    W = np.linalg.inv(C @ transposed(B) + R)
    K = transposed(C) @ W
    v = np.where(seen, y, 0) - B @ m
    return _Predicted(seen, m, P, B, W, C, K, v, W @ v, A - A @ K @ B)


def _summed(x: Any, like: Any) -> Any:
    """The sum over time, where the array that it is for is constant."""
    return np.sum(x, axis=0, keepdims=True) if len(like) == 1 else x


def _backward(of: _Predicted) -> tuple[Any, Any, Any, Any]:
    """r and N of every step, and those of the step after it."""
    before = np.roll(transposed(of.Phi)[::-1], -1, axis=0)
    x, X = transposed(of.B) @ of.e, transposed(of.B) @ of.W @ of.B
    r, N = (found[::-1] for found in _recursion(before, x[::-1], X[::-1]))
    return r, N, *(np.concatenate([found[1:], np.zeros_like(found[:1])]) for found in (r, N))


def _recursion(Phi: Any, x: Any, X: Any) -> tuple[Any, Any]:
    """``s⁺ = Φ s + x⁺``, (T, n, k), and ``S⁺ = Φ S Φᵀ + X⁺``, (T, n, n), from x and X of the first step.

    The last Φ of (T, n, n) is not looked at.
    """
    T, n, k = x.shape
    y, B, R = np.zeros((T, 1, k), x.dtype), np.zeros((1, n), x.dtype), np.ones((1, 1), x.dtype)
    Phi, x_after, X_after = map(np.ascontiguousarray, (Phi, np.roll(x, -1, axis=0), np.roll(X, -1, axis=0)))
    m, P = map(np.ascontiguousarray, (x[0], X[0]))
    run = Sweep(y, Phi, B, X_after, R, m, P, x_after, np.zeros((T, 1), bool), tolerance=-1.0)
    return run.means, run.filtered_covariances()


def _of_columns(gram: Any, M: Any, M_bar: Any, V_bar: Any, units: int) -> tuple[Any, Any, Any]:
    """The cotangents of the smoothed columns M (T, n, k + d), of s and of C.

    ``Ū = M̄ δᵀ + 2 V̄ U C⁻¹, δ̄ = Σ Uᵀ M̄, s̄ = -δ̄ᵀ C⁻¹, C̄ = -C⁻¹ Σ Uᵀ V̄ U C⁻¹ - sym(C⁻¹ δ̄ δᵀ)``.
    """
    k = M.shape[-1] - units
    s, C, U = gram[:k], gram[k:], M[..., k:]
    cov = np.linalg.inv(C)
    delta, UV_bar = -cov @ s.T, transposed(U) @ V_bar
    U_bar = M_bar @ delta.T + 2 * transposed(UV_bar) @ cov
    delta_bar = np.sum(transposed(U) @ M_bar, axis=0)
    s_bar = -delta_bar.T @ cov
    C_bar = -cov @ np.sum(UV_bar @ U, axis=0) @ cov - symmetric_part(cov @ delta_bar @ delta.T)
    return np.concatenate([M_bar, U_bar], axis=-1), s_bar, C_bar


def _of_squares(e: Any, s_bar: Any, C_bar: Any) -> Any:
    """Half of the derivative of ``⟨s̄, s⟩ + ⟨C̄, C⟩`` by the v of a step with ``e = W v``, (T, p, k + d)."""
    data, units = e[..., : len(s_bar)], e[..., len(s_bar) :]
    return np.concatenate([0.5 * units @ s_bar.T, 0.5 * data @ s_bar + units @ C_bar], axis=-1)
