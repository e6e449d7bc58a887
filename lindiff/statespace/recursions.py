"""The Kalman filter and the (r, N) smoother in functions that dispatch: any order, both modes, any array.

A loop over time, vectorized over the series of a group: series with the same missing values.  If they share
all system matrices, covariances have no axis of series, and the means of the series are the rows of one
matrix, so that what is cubic in the number of states is done once for all of them.  Otherwise every series
has its own covariances (S, n, n), and its mean is the one row of a matrix, (S, 1, n).

Diffuse states: nothing but the means depends on the data, so the filter runs, as further rows, on zero data
from the unit vectors of the diffuse states.  The sum of their squared errors is the information the data have
on the diffuse states (de Jong 1991, "The diffuse Kalman filter"); `initialization` draws the conclusions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import placed, zeros_beside
from lindiff.core.variable import value
from lindiff.linalg import makediag, potrf, trsm
from lindiff.linalg._matrices import hermitian_part, transposed
from lindiff.statespace.model import System, series_by_pattern

__all__ = [
    "Filtered",
    "Group",
    "Smoothed",
    "data_rows",
    "filtered",
    "groups",
    "in_order",
    "matrices_over_time",
    "part",
    "rows_over_time",
    "smoothed",
]


class Group(NamedTuple):
    """Series with the same missing values; every list has one entry a step.

    k rows: the series of the group if they share covariances, else one for each; then d rows for the diffuse
    states.
    """

    series: Any  # their places among all series
    observed: Any  # (T, p) of bool
    shared: bool
    y: list[Any]  # (..., k, p) less the intercept
    transition: list[Any]
    design: list[Any]
    state_cov: list[Any]
    obs_cov: list[Any]
    state_intercept: list[Any]  # (..., k + d, n), or None
    obs_intercept: list[Any]  # (..., k, p), or None
    initial_state: Any  # (..., k + d, n)
    initial_state_cov: Any
    diffuse: int  # d


class Observed(NamedTuple):
    """What a step makes of its observed elements, m of them."""

    places: Any
    design: Any  # B (..., m, n)
    error: Any  # v = y - B m (..., k + d, m)
    L: Any  # L Lᵀ = S (..., m, m)
    W: Any  # L⁻¹ B P (..., m, n)
    z: Any  # L⁻¹ v (..., k + d, m), as rows


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


# -- groups ------------------------------------------------------------------------------------------------


def groups(system: System) -> list[Group]:
    """The series of a system in groups with the same missing values."""
    return [_group(system, series, observed) for series, observed in series_by_pattern(system.y)]


def _group(system: System, series: Any, observed: Any) -> Group:
    shared = system.shares_covariances
    everyone = len(series) == system.y.shape[0]
    k, steps, d = len(series), len(observed), len(system.diffuse)

    def chosen(x: Any) -> Any:
        return x if everyone or x.shape[0] == 1 else x[series]

    def matrices(x: Any) -> list[Any]:
        x = x[0] if shared else np.swapaxes(chosen(x), 0, 1)
        return _over_time(x, steps)

    def rows(x: Any) -> Any:
        """(S, T, m) as (T, k, m), or (T, k, 1, m) if there is one row a series."""
        x = np.swapaxes(chosen(x), 0, 1)
        return x if shared else x[:, :, None, :]

    y = rows(system.y)
    level = [None] * steps
    if system.obs_intercept is not None:
        y = y - rows(system.obs_intercept)
        level = _over_time(rows(system.obs_intercept), steps)
    intercept = [None] * steps
    if system.state_intercept is not None:
        c = rows(system.state_intercept)
        c = np.broadcast_to(c, (c.shape[0], *_rows_shape(shared, k), c.shape[-1]))
        intercept = _over_time(_with_rows(c, zeros_beside(c, (d, c.shape[-1]), c.dtype)), steps)
    n = system.transition.shape[-1]
    start = rows(system.initial_state[:, None])[0]
    start = np.broadcast_to(start, (*_rows_shape(shared, k), n))
    cov = system.initial_state_cov
    cov = cov[0] if shared else np.broadcast_to(chosen(cov), (k, n, n))
    obs_cov = system.obs_cov
    if obs_cov.shape[-2] != obs_cov.shape[-1]:
        obs_cov = makediag(obs_cov[..., 0, :])
    return Group(
        series,
        observed,
        shared,
        _over_time(y, steps),
        matrices(system.transition),
        matrices(system.design),
        matrices(system.state_cov),
        matrices(obs_cov),
        intercept,
        level,
        _with_rows(start, placed(np.eye(n, dtype=start.dtype)[list(system.diffuse)], start)),
        cov,
        d,
    )


def _rows_shape(shared: bool, k: int) -> tuple[int, ...]:
    return (k,) if shared else (k, 1)


def data_rows(x: Any, group: Group) -> Any:
    """The rows of the data, without those of the diffuse states."""
    return x[..., : x.shape[-2] - group.diffuse, :] if group.diffuse else x


def part(group: Group, start: int, stop: int, m: Any = None, P: Any = None) -> Group:
    """Some of the steps; from the mean rows m of the data, if given, and the covariance P, not diffuse."""
    lists = ("y", "transition", "design", "state_cov", "obs_cov", "state_intercept", "obs_intercept")
    cut = group._replace(
        observed=group.observed[start:stop], **{name: getattr(group, name)[start:stop] for name in lists}
    )
    if m is None:
        return cut
    c = [None if x is None else data_rows(x, group) for x in cut.state_intercept]
    return cut._replace(state_intercept=c, initial_state=m, initial_state_cov=P, diffuse=0)


def rows_over_time(parts: Sequence[Any], group: Group, width: int) -> Any:
    """Row matrices, one a step, as (series, T, width)."""
    k = len(group.series)
    if not parts:
        return _zeros((k, 0, width), group)
    return np.swapaxes(np.reshape(np.stack(parts), (len(parts), k, width)), 0, 1)


def matrices_over_time(parts: Sequence[Any], group: Group, width: int) -> Any:
    """Matrices, one a step, as (series, T, width, width); those that series share are repeated as views."""
    shape = len(group.series), len(parts), width, width
    if not parts:
        return _zeros(shape, group)
    if group.shared:
        return np.broadcast_to(np.stack(parts), shape)
    return np.stack([np.broadcast_to(x, (shape[0], width, width)) for x in parts], axis=1)


def _zeros(shape: tuple[int, ...], group: Group) -> Any:
    like = group.initial_state_cov
    return zeros_beside(like, shape, like.dtype)


def _over_time(x: Any, steps: int) -> list[Any]:
    """One entry a step; the same one, for what is constant."""
    return [x[0]] * steps if len(x) == 1 else [x[t] for t in range(steps)]


def _with_rows(x: Any, more: Any) -> Any:
    """More rows below those of every matrix x."""
    if len(more) == 0:
        return x
    return np.concatenate([x, np.broadcast_to(more, (*x.shape[:-2], *more.shape))], axis=-2)


def in_order(parts: Sequence[Any], places: Sequence[Any]) -> Any:
    """Results (k, ...) of groups as one array, in the order of the series, of which each has these."""
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate(places))
    return np.concatenate(parts, axis=0)[order]


# -- filter ------------------------------------------------------------------------------------------------


def filtered(group: Group, name: str, roots: Any = None) -> Filtered:
    """The Kalman filter; `name` is the public function that errors speak of, `roots` may know values better.

    With ``C = B P``, ``S = C Bᵀ + R = L Lᵀ``, ``W = L⁻¹ C``, ``z = L⁻¹ (y - B m)``::

        m_f = m + Wᵀ z,     P_f = P - Wᵀ W
        m⁺ = A m_f + c,     P⁺ = A P_f Aᵀ + Q

    Anderson & Moore (1979), section 5.3, in factored form.
    """
    run = Filtered([], [], [], [], [])
    m, P = group.initial_state, group.initial_state_cov
    places = _Places(group)
    with np.errstate(over="ignore", invalid="ignore"):  # an error tells of them
        for t, A in enumerate(group.transition):
            run.predicted.append(m)
            run.predicted_cov.append(P)
            step = _observed(group, places, m, P, t, name, roots)
            if step is not None:
                m, P = m + step.z @ step.W, P - transposed(step.W) @ step.W
                P = P if roots is None else roots.substituted(P)
            run.state.append(m)
            run.cov.append(P)
            run.observed.append(step)
            m, c = m @ transposed(A), group.state_intercept[t]
            m = m if c is None else m + c
            P = hermitian_part(A @ P @ transposed(A)) + group.state_cov[t]
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
    d = group.diffuse
    v = _with_rows(y, zeros_beside(y, (d, y.shape[-1]), y.dtype)) - m @ transposed(B)
    try:
        L, W = _factored(B, P, R) if roots is None else roots.observed(B, P, R, t, o)
    except np.linalg.LinAlgError as error:
        S = value(B @ P @ transposed(B) + R)
        if not np.all(np.isfinite(S)):
            raise OverflowError(_overflows(name, t, group, S)) from error
        raise np.linalg.LinAlgError(
            f"{name}{_which(group, S)}: the covariance of the observations at step {t} is not "
            f"positive definite: obs_cov and the states leave a combination of them without variance"
        ) from error
    return Observed(o, B, v, L, W, trsm(L, v, transpose=True, rightside=True))


def _factored(B: Any, P: Any, R: Any) -> tuple[Any, Any]:
    """L and W."""
    C = B @ P
    S = C @ transposed(B) + R
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
        r, N = r @ A, transposed(A) @ N @ A
        if step is not None:
            X = trsm(step.L, step.design)
            r = r + (step.z - r @ transposed(step.W)) @ X
            J = identity - transposed(step.W) @ X
            N = transposed(J) @ N @ J + transposed(X) @ X
        m, P = run.predicted[t], run.predicted_cov[t]
        result.state.append(m + r @ P)
        result.cov.append(P - hermitian_part(P @ N @ P))
    return Smoothed(result.state[::-1], result.cov[::-1])
