"""Where a filter starts: the stationary distribution, or states of which nothing is known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import foreign, on_host, placed, zeros_beside
from lindiff.core.variable import value
from lindiff.linalg import potrf, trsm
from lindiff.linalg._matrices import hermitian_part, transposed
from lindiff.scipy.linalg import solve_discrete_lyapunov
from lindiff.statespace.model import real
from lindiff.statespace.recursions import Filtered, Group, data_rows

__all__ = [
    "Information",
    "conditioned",
    "determined_at",
    "each_regular",
    "information",
    "never_determined",
    "prior_variances",
    "regular",
    "stationary_initialization",
    "well_determined",
]


# -- the stationary distribution ---------------------------------------------------------------------------


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
    `lindiff.scipy.linalg.solve_discrete_lyapunov`, about 40n³ flops; the gradient is one more such equation.

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
    radii = np.max(np.abs(np.linalg.eigvals(on_host(A))), axis=-1, initial=0.0)
    if not np.all(radii < 1):
        raise ValueError(
            f"{name}: transition has an eigenvalue of size {np.max(radii):.6g}; a stationary distribution "
            f"needs all of them inside the unit circle; give initial_state and initial_state_cov otherwise, "
            f"or write diffuse=True"
        )
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


def _stationary_cov(A: Any, Q: Any) -> Any:
    """The solution of ``P = A P Aᵀ + Q``; on a GPU, without a Schur form, by n² equations, 2n⁶/3 flops."""
    if foreign(A) is None:
        return solve_discrete_lyapunov(A, Q)
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


# -- diffuse states ----------------------------------------------------------------------------------------


class Information(NamedTuple):
    """What the data up to each step say of the d diffuse states δ, a priori N(0, κ I) with κ to infinity.

    The filter is linear in its start, so its whitened errors are ``z + δ Z``, Z those of the rows for the
    unit vectors.  Least squares: ``δ̂ = -s C⁻¹`` with covariance ``C⁻¹``, ``C = Z Zᵀ``, ``s = z Zᵀ``.

    first: the step whose data are the first to determine δ; C and s: sums up to each step, None before it.
    shift: a constant estimate of δ from all data.  z and s are those of a start there, on which no result
    depends, and which keeps large numbers from cancelling.
    """

    first: int
    shift: Any  # (..., k, d), plain
    z: list[Any]  # (..., k, m), or None
    s: list[Any]  # (..., k, d)
    C: list[Any]  # (..., d, d)


def information(group: Group, run: Filtered, name: str) -> Information | None:
    """What the data say of the diffuse states, if there are any; `name` is the function errors speak of."""
    d = group.diffuse
    if d == 0:
        return None
    z = [None if step is None else data_rows(step.z, group) for step in run.observed]
    Z = [None if step is None else step.z[..., -d:, :] for step in run.observed]
    products = [None if x is None else x @ transposed(x) for x in Z]
    C = _running_sums(products)
    first = determined_at(group, run)
    if first is None:
        raise never_determined(name, group.series, d)
    plain = [(value(x), value(y)) for x, y in zip(z, Z, strict=True) if x is not None]
    total = sum(x @ transposed(y) for x, y in plain)
    shift = -transposed(np.linalg.solve(value(C[-1]), transposed(total)))
    z = [None if x is None else x + shift @ y for x, y in zip(z, Z, strict=True)]
    s = _running_sums([None if x is None else x @ transposed(y) for x, y in zip(z, Z, strict=True)])
    nothing: list[Any] = [None] * first
    return Information(first, shift, z, nothing + s[first:], nothing + C[first:])


def well_determined(dtype: Any) -> float:
    """The `least` of :func:`regular` from which a proper filter may start where the data put the diffuse
    states: with less a quarter of the digits would be lost.
    """
    return float(np.finfo(dtype).eps) ** 0.25


def determined_at(group: Group, run: Filtered, least: float = 0.0) -> int | None:
    """The first step whose data determine all diffuse states, if there is one; see :func:`regular`."""
    d, C = group.diffuse, 0
    variances = prior_variances(value(group.initial_state), value(group.initial_state_cov), d)
    for t, step in enumerate(run.observed):
        if step is not None:
            Z = value(step.z)[..., -d:, :]
            C = C + Z @ transposed(Z)
            if regular(C, variances, least):
                return t
    return None


def never_determined(name: str, series: Any, d: int) -> ValueError:
    """The error for d diffuse states of which the data of these series say too little."""
    which = f" of series {series[0]}" if len(series) else ""
    return ValueError(
        f"{name}: the data{which} never determine the {d} diffuse states; give initial_state "
        f"and initial_state_cov for those that they say nothing about"
    )


def _running_sums(terms: list[Any]) -> list[Any]:
    """Sums of the terms so far; None counts as zero, and stands before the first."""
    sums, total = [], None
    for term in terms:
        total = term if total is None else total if term is None else total + term
        sums.append(total)
    return sums


def prior_variances(m: Any, P: Any, d: int) -> Any:
    """The variances that the filter starts diffuse states with, (..., d); their unit vectors end m."""
    return np.sum(np.diagonal(P, axis1=-2, axis2=-1)[..., None, :] * m[..., -d:, :], axis=-1)


def regular(C: Any, variances: Any, least: float = 0.0) -> bool:
    """Whether the information C (..., d, d) determines every diffuse state, with an eigenvalue of `least` in
    the units of its diagonal at the least.

    ``1 - variance * information`` is what the data leave of a state's prior variance: one that they say
    nothing about may seem to be observed by rounding, as by ``sin(π)``.  All together are determined if C is
    regular in the units of its diagonal.
    """
    information, rounding = np.diagonal(C, axis1=-2, axis2=-1), _rounding(C)
    if not (information * variances > rounding**2).all() or not np.isfinite(C).all():
        return False
    scale = np.sqrt(information)
    scaled = C / (scale[..., :, None] * scale[..., None, :])
    d = C.shape[-1]
    return d == 1 or bool((np.linalg.eigvalsh(scaled)[..., 0] > max(d * rounding, least)).all())


def each_regular(C: Any, variances: Any) -> Any:
    """The same of each matrix of a batch, where the host need not look at the numbers; with `least` 0."""
    information, rounding = np.diagonal(C, axis1=-2, axis2=-1), _rounding(C)
    seen = np.all(information * variances > rounding**2, axis=-1) & np.all(np.isfinite(C), axis=(-2, -1))
    if C.shape[-1] == 1:
        return seen
    scale = np.sqrt(np.where(seen[..., None], information, 1))
    scaled = np.where(seen[..., None, None], C / (scale[..., :, None] * scale[..., None, :]), 0)
    return seen & (np.linalg.eigvalsh(scaled)[..., 0] > C.shape[-1] * rounding)


def _rounding(C: Any) -> float:
    return 1e3 * float(np.finfo(C.dtype).eps)


def conditioned(m: Any, P: Any, found: Information, t: int) -> tuple[Any, Any]:
    """Mean rows and covariance of states of any step given the data up to step t.

    ``m + δ̂ M`` and ``P + Mᵀ C⁻¹ M``, M the rows of the diffuse states below those of the data.
    """
    d = found.C[t].shape[-1]
    m, M = m[..., :-d, :], m[..., -d:, :]
    L = potrf(found.C[t])
    G = trsm(L, M)
    q = trsm(L, found.s[t], transpose=True, rightside=True)
    return m + found.shift @ M - q @ G, P + transposed(G) @ G
