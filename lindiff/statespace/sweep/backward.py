"""Smoothed covariances from those of the next step, where the way by (r, N) has lost their digits.

The smoother takes what later data say from the covariance of the filter, ``V = P_f - P_f F P_f``.  Where
they say nearly all, as of a state at the end of a long gap, the digits of V cancel.  Then it follows from V⁺
of the next step, as a sum (Rauch, Tung & Striebel 1965; with d diffuse states, of the covariance Σ, M_f what
the filtered state has of them, X⁺ the covariance of the next state with them)::

    J = P_f Aᵀ P⁻¹,   G = I - J A,   D = G M_f,
    V = G P_f Gᵀ + J (Q + V⁺) Jᵀ + J X⁺ Dᵀ + D X⁺ᵀ Jᵀ + D Σ Dᵀ,     X = J X⁺ + D Σ.

Where the filter comes to know states exactly, P is nearly singular, and J may be little but rounding: errors
grow from step to step then.  Bounds of both ways are followed, and the way with the smaller one holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpstrf

from lindiff.kernels.matmul import product

__all__ = ["restore"]

# A variance of no more of the filter's than this has lost twelve bits, and may have lost twice as many.
LOST = 2.0**-12

# Roundings of the filter's variance that the way by (r, N) may have made, and of it both ways may be apart.
ROUNDINGS = 2.0**8
APART = 2.0**-20

# With errors of no more than this of a variance it has its digits.
SURE = 2.0**-36


def restore(
    V: Any, P_f: Any, A: Any, Q: Any, after: Any = None, M_f: Any = None, X: Any = None, cov: Any = None
) -> None:
    """Compute anew, in V (T, n, n), what has lost its digits; complex ones, for tangents, stay.

    Parameters
    ----------
    P_f : (T, n, n) array
        Filtered covariances, given the diffuse states.
    A, Q : (1 or T, n, n) arrays
    after : (n, n) array, optional
        V of the step after the last one.  By default the last of V holds.
    M_f, X, cov : (T, n, d), (n, d) and (d, d) arrays, optional
        With diffuse states: what filtered states have of them, and X and Σ after the last step.
    """
    if V.dtype.kind == "c":
        return
    T, n, _ = V.shape
    size = np.diagonal(P_f, axis1=1, axis2=2)
    if cov is None:
        M_f, X, cov = np.zeros((T, n, 0)), np.zeros((n, 0)), np.zeros((0, 0))
    else:
        size = size + np.sum(product(M_f, cov) * M_f, axis=2)
    lost: Any = np.any(np.diagonal(V, axis1=1, axis2=2) < LOST * size, axis=1)
    if not lost.any():
        return
    last = T - 1
    if after is None:
        last, after = T - 2, V[-1]
    first = int(np.argmax(lost))
    following, unit = after, np.finfo(V.dtype).eps
    bound = unit * np.abs(after)
    for t in range(last, first - 1, -1):
        if lost[t] or cov.size:
            step = A[min(t, len(A) - 1)], Q[min(t, len(Q) - 1)]
            found, X, bound = _before(P_f[t], *step, M_f[t], following, X, cov, bound, unit)
            is_near = np.abs((found - V[t]).diagonal()) <= APART * size[t]
            least = np.maximum(ROUNDINGS * unit * size[t], SURE * np.abs(found.diagonal()))
            holds = np.all(is_near) and np.all(bound.diagonal() <= least)
            if cov.size and not holds:  # X cannot begin anew
                break
            if lost[t] and holds:
                V[t] = found
                following = found
                continue
        deviations = np.sqrt(np.maximum(size[t], 0))
        following, bound = V[t], ROUNDINGS * unit * np.outer(deviations, deviations)


def _before(
    P_f: Any, A: Any, Q: Any, M_f: Any, V: Any, X: Any, cov: Any, bound: Any, unit: float
) -> tuple[Any, Any, Any]:
    """V and X of a step from those of the next one, and a bound of the errors from that of V there."""
    J = _solved(product(A, P_f, A.T) + Q, product(A, P_f)).T
    G = np.eye(len(A)) - product(J, A)
    D = product(G, M_f)
    crossed = product(J, X, D.T)
    V = product(G, P_f, G.T) + product(J, Q + V, J.T) + crossed + crossed.T + product(D, cov, D.T)
    bound = product(np.abs(J), bound, np.abs(J.T)) + unit * np.abs(V)
    return 0.5 * (V + V.T), product(J, X) + product(D, cov), bound


def _solved(P: Any, B: Any) -> Any:
    """X with P X = B, where the columns of B are in the range of P, positive semidefinite."""
    scale = np.sqrt(np.where(P.diagonal() > 0, P.diagonal(), 1))
    P, B = P / (scale[:, None] * scale), B / scale[:, None]
    L, order, rank, _ = dpstrf(P, lower=1, tol=len(P) * np.finfo(np.float64).eps)
    places = order[:rank] - 1
    X = np.zeros_like(B, dtype=np.float64)
    X[places] = cho_solve((L[:rank, :rank], True), B[places])
    return X / scale[:, None]
