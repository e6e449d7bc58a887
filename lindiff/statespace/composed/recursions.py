"""The Kalman filter and the (r, N) smoother in functions that dispatch: any order, both modes, any array.

A loop over time, vectorized over the series of a group.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import placed, zeros_beside
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg import potrf, trsm
from lindiff.linalg._matrices import hermitian_part, transposed
from lindiff.statespace.composed.grouping import Group, with_rows
from lindiff.statespace.composed.square_root import SquareRoots

__all__ = ["Filtered", "Smoothed", "filtered", "smoothed"]


class Observed(NamedTuple):
    """What the filter makes of the m elements that a step observes; v are their errors, S the covariance."""

    design: Any  # B (..., m, n)
    L: Any  # L Lᵀ = S (..., m, m)
    W: Any  # L⁻¹ B P (..., m, n)
    z: Any  # L⁻¹ v as rows (..., k + d, m)


class Filtered(NamedTuple):
    """Lists over time: T + 1 predictions, T of the others; None where nothing is observed."""

    predicted: list[Any]
    predicted_cov: list[Any]
    state: list[Any]
    cov: list[Any]
    observed: list[Observed | None]


class Smoothed(NamedTuple):
    """Lists over time: rows of means (..., k + d, n), covariances (..., n, n)."""

    state: list[Any]
    cov: list[Any]


# -- filter ------------------------------------------------------------------------------------------------


def filtered(group: Group, name: str, method: str | None = None) -> Filtered:
    """The Kalman filter over a group; `name` is the public function that errors speak of.

    With the method "square_root" the values come from factors of the covariances, see `SquareRoots`.

    With ``C = B P``, ``S = C Bᵀ + R = L Lᵀ``, ``W = L⁻¹ C``, ``z = L⁻¹ (y - B m)``::

        m_f = m + Wᵀ z,     P_f = P - Wᵀ W
        m⁺ = A m_f + c,     P⁺ = A P_f Aᵀ + Q

    Anderson & Moore (1979), section 5.3, in factored form.
    """
    roots = SquareRoots(group, name) if method == "square_root" else None
    run = Filtered([], [], [], [], [])
    m, P = group.initial_state, group.initial_state_cov
    places = _Places(group)
    with np.errstate(over="ignore", invalid="ignore"):  # an error tells of them
        for t, A in enumerate(group.transition):
            run.predicted.append(m)
            run.predicted_cov.append(P)
            step = _observed(group, places, m, P, t, name, roots)
            if step is not None:
                m, P = m + product(step.z, step.W), P - product(transposed(step.W), step.W)
                P = P if roots is None else roots.substituted(P)
            run.state.append(m)
            run.cov.append(P)
            run.observed.append(step)
            m, c = product(m, transposed(A)), group.state_intercept[t]
            m = m if c is None else m + c
            P = hermitian_part(product(A, P, transposed(A))) + group.state_cov[t]
            if roots is not None:
                roots.predict(t)
                P = roots.substituted(P)
    run.predicted.append(m)
    run.predicted_cov.append(P)
    _refuse_overflow(group, run, name)
    return run


class _Places:
    """The rows of design and obs_cov for the observed elements; made once for each pattern if constant."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.known: dict[Any, Any] = {}

    def at(self, t: int) -> Any:
        """Observed places (None if there are none), design and obs_cov of them."""
        observed = self.group.observed[t]
        B, R = self.group.design[t], self.group.obs_cov[t]
        if observed.all() and observed.size:
            return slice(None), B, R
        key = id(B), id(R), observed.tobytes()
        if key not in self.known:
            o = np.flatnonzero(observed)
            self.known[key] = (o, B[..., o, :], R[..., o[:, None], o]) if len(o) else (None, B, R)
        return self.known[key]


def _observed(
    group: Group, places: _Places, m: Any, P: Any, t: int, name: str, roots: Any
) -> Observed | None:
    o, B, R = places.at(t)
    if o is None:
        return None
    y = group.y[t][..., o]
    if group.diffuse:
        y = with_rows(y, zeros_beside(y, (group.diffuse, y.shape[-1]), y.dtype))
    v = y - product(m, transposed(B))
    try:
        L, W = _factored(B, P, R) if roots is None else roots.observed(B, P, R, t, o)
    except np.linalg.LinAlgError as error:
        S = value(product(B, P, transposed(B)) + R)
        if not np.all(np.isfinite(S)):
            raise OverflowError(_overflows(name, t, group, S)) from error
        raise np.linalg.LinAlgError(
            f"{name}{_which(group, S)}: the covariance of the observations at step {t} is not "
            f"positive definite: obs_cov and the states leave a combination of them without variance"
        ) from error
    return Observed(B, L, W, trsm(L, v, transpose=True, rightside=True))


def _factored(B: Any, P: Any, R: Any) -> tuple[Any, Any]:
    """L and W."""
    C = product(B, P)
    S = product(C, transposed(B)) + R
    L = potrf(S)
    pivots, variances = (np.diagonal(value(x), axis1=-2, axis2=-1) for x in (L, S))
    rounding = 10 * (B.shape[-2] + B.shape[-1]) * np.finfo(pivots.dtype).eps
    if not np.all(pivots**2 > rounding * variances):
        raise np.linalg.LinAlgError("a combination of the observations has no variance")
    return L, trsm(L, C)


def _which(group: Group, S: Any) -> str:
    """`` (series 3)``: the first of the group, or the worst, if each has its own S (S, m, m)."""
    place = 0
    if not group.shared:
        finite = np.all(np.isfinite(S), axis=(-2, -1))
        if np.all(finite) and S.shape[-2] == S.shape[-1]:
            place = int(np.argmin(np.linalg.eigvalsh(S)[..., 0]))
        else:
            place = int(np.argmin(finite))
    return f" (series {group.series[place]})"


def _refuse_overflow(group: Group, run: Filtered, name: str) -> None:
    """Infinite numbers stay: the last step tells of all before."""
    if np.all(np.isfinite(value(run.predicted_cov[-1]))) and np.all(np.isfinite(value(run.predicted[-1]))):
        return
    for t, (m, P) in enumerate(zip(run.predicted, run.predicted_cov, strict=True)):
        for x in (P, m):
            if not np.all(np.isfinite(value(x))):
                raise OverflowError(_overflows(name, t, group, value(x)))


def _overflows(name: str, t: int, group: Group, x: Any) -> str:
    return f"{name}{_which(group, x)}: the state predicted for step {t}, or its covariance, overflows"


# -- smoother ----------------------------------------------------------------------------------------------


def smoothed(group: Group, run: Filtered) -> Smoothed:
    """States given all data, by the backward recursion for (r, N).

    From ``r = 0``, ``N = 0`` after the last step, with ``u = Aᵀ r``, ``F = Aᵀ N A``, ``X = L⁻¹ B``,
    ``J = I - K B = I - Wᵀ X``::

        r ← u + Xᵀ (z - W u),     N ← Jᵀ F J + Xᵀ X
        m_s = m + P r,            P_s = P - P N P

    Durbin & Koopman (2012), section 4.4, in the form that inverts neither P nor obs_cov.
    """
    r = np.zeros_like(value(group.initial_state))
    N = np.zeros_like(value(group.initial_state_cov))
    result = Smoothed([], [])
    identity = placed(np.eye(N.shape[-1], dtype=N.dtype), N)
    for t in reversed(range(len(run.state))):
        A, step = group.transition[t], run.observed[t]
        r, N = product(r, A), product(transposed(A), N, A)
        if step is not None:
            X = trsm(step.L, step.design)
            r = r + product(step.z - product(r, transposed(step.W)), X)
            J = identity - product(transposed(step.W), X)
            N = product(transposed(J), N, J) + product(transposed(X), X)
        m, P = run.predicted[t], run.predicted_cov[t]
        result.state.append(m + product(r, P))
        result.cov.append(P - hermitian_part(product(P, N, P)))
    return Smoothed(result.state[::-1], result.cov[::-1])
