"""The stationary distribution, from which a filter may start."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, on_host, placed, zeros_beside
from lindiff.kernels.matmul import product
from lindiff.linalg._matrices import hermitian_part, transposed
from lindiff.scipy.linalg import solve_discrete_lyapunov
from lindiff.statespace.model import real

__all__ = ["refuse_unstable", "stationary_initialization"]


def stationary_initialization(
    transition: Any, state_cov: Any, state_intercept: Any = None
) -> tuple[Any, Any]:
    """Mean and covariance of the state of a stationary model, which start its filter.

    Parameters
    ----------
    transition : (n, n), (1, n, n) or (S, 1, n, n) array
        With all eigenvalues inside the unit circle.
    state_cov : (n, n), (1, n, n) or (S, 1, n, n) array
    state_intercept : (n,), (1, n) or (S, 1, n) array, optional

    Returns
    -------
    initial_state : (n,) or (S, n) array
        ``(I - transition)⁻¹ state_intercept``.
    initial_state_cov : (n, n) or (S, n, n) array
        The solution of ``P = transition P transitionᵀ + state_cov``.

    Raises
    ------
    TypeError
        If an array is complex.
    ValueError
        If transition has an eigenvalue of size 1 or more, an array varies over time, or shapes do not fit.

    Notes
    -----
    `lindiff.scipy.linalg.solve_discrete_lyapunov`, twice about 40n³ flops; the gradient is as much again.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> def autoregression(phi):
    ...     return ld.statespace.stationary_initialization(phi * np.eye(1), np.eye(1))
    >>> autoregression(0.5)
    (array([0.]), array([[1.33333333]]))
    >>> round(float(ld.grad(lambda phi: autoregression(phi)[1][0, 0])(0.5)), 6)
    1.777778
    """
    name = "stationary_initialization"
    A = _constant(name, "transition", real(name, "transition", transition), 2)
    Q = _constant(name, "state_cov", real(name, "state_cov", state_cov), 2)
    n = A.shape[-1]
    if A.shape[-2] != n:
        raise ValueError(f"{name}: transition of shape {A.shape} must be square in its last two axes")
    if Q.shape[-2:] != (n, n):
        raise ValueError(
            f"{name}: state_cov of shape {Q.shape} does not fit transition of shape {A.shape}: "
            f"write it as ({n}, {n}), (1, {n}, {n}) or (S, 1, {n}, {n})"
        )
    refuse_unstable(name, A)
    P = _stationary_cov(A, hermitian_part(Q))
    dtype = np.result_type(A.dtype, Q.dtype)
    P = hermitian_part(P if P.dtype == dtype else P.astype(dtype))
    if state_intercept is None:
        return zeros_beside(P, P.shape[:-1], dtype), P
    c = _constant(name, "state_intercept", real(name, "state_intercept", state_intercept), 1)
    if c.shape[-1] != n:
        raise ValueError(
            f"{name}: state_intercept of shape {c.shape} does not fit transition of shape {A.shape}: "
            f"write it as ({n},), (1, {n}) or (S, 1, {n})"
        )
    lead = np.broadcast_shapes(A.shape[:-2], c.shape[:-1])  # CuPy's solve does not broadcast
    equations = np.broadcast_to(placed(np.eye(n, dtype=A.dtype), A) - A, (*lead, n, n))
    return np.linalg.solve(equations, np.broadcast_to(c[..., None], (*lead, n, 1)))[..., 0], P


def refuse_unstable(name: str, A: Any) -> None:
    """Raise a ValueError where a transition has an eigenvalue of size 1 or more."""
    numbers = on_host(A)
    if not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name}: transition has NaN or infinities, of which nothing is stationary")
    radii = np.max(np.abs(np.linalg.eigvals(numbers)), axis=-1, initial=0.0)
    if not np.all(radii < 1):
        raise ValueError(
            f"{name}: transition has an eigenvalue of size {np.max(radii):.6g}; a stationary distribution "
            f"needs all of them inside the unit circle; give initial_state and initial_state_cov otherwise, "
            f"or write diffuse=True"
        )


def _stationary_cov(A: Any, Q: Any) -> Any:
    """The solution of ``P = A P Aᵀ + Q``; on a GPU, without a Schur form, by n² equations, 2n⁶/3 flops.

    The bilinear transformation loses digits near the unit circle, which one refinement gives back.
    """
    if foreign(A) is None:
        P = solve_discrete_lyapunov(A, Q)
        return P + solve_discrete_lyapunov(A, hermitian_part(product(A, P, transposed(A)) + Q - P))
    n, lead = A.shape[-1], np.broadcast_shapes(A.shape[:-2], Q.shape[:-2])
    squared = np.reshape(A[..., :, None, :, None] * A[..., None, :, None, :], (*A.shape[:-2], n * n, n * n))
    equations = np.broadcast_to(placed(np.eye(n * n, dtype=A.dtype), A) - squared, (*lead, n * n, n * n))
    right = np.reshape(np.broadcast_to(Q, (*lead, n, n)), (*lead, n * n, 1))
    return np.reshape(np.linalg.solve(equations, right), (*lead, n, n))


def _constant(name: str, argument: str, x: Any, core: int) -> Any:
    """Without its axis of time, which must have length 1."""
    if x.ndim <= core:
        return x
    if x.ndim > core + 2 or x.shape[-core - 1] != 1:
        raise ValueError(
            f"{name}: {argument} of shape {x.shape} varies over time; a stationary distribution needs a "
            f"constant one, with 1 for T"
        )
    return x[..., 0, :, :] if core == 2 else x[..., 0, :]
