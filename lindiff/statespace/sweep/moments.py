"""Moments of states and observations of plain arrays by the compiled sweep: of filter, smoother, forecast."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.kernels.kalman import Sweep
from lindiff.kernels.matmul import product
from lindiff.linalg import makediag
from lindiff.linalg._matrices import transposed
from lindiff.statespace import composed
from lindiff.statespace.model import System, of_steps
from lindiff.statespace.sweep.any_order import system_of
from lindiff.statespace.sweep.backward import restore
from lindiff.statespace.sweep.derivatives import Quantities, filter_sums, is_plain, swept
from lindiff.statespace.sweep.handover import in_parts
from lindiff.statespace.sweep.likelihood import from_sums
from lindiff.statespace.sweep.plan import Plan
from lindiff.statespace.sweep.planning import planned, settled
from lindiff.statespace.sweep.series import Sweeps, shared_parameters

__all__ = ["filter_moments", "forecast_moments", "smoother_moments"]


# -- filter ------------------------------------------------------------------------------------------------


def filter_moments(system: System, name: str) -> tuple[Any, ...]:
    """The fields of `FilterResult` with an axis of series; `name` is the function that errors speak of."""
    return in_parts(
        system,
        name,
        lambda system: composed.filter_moments(system, name),
        lambda system: _filtered_fields(system, name),
        _joined,
    )


def _joined(head: tuple[Any, ...], tail: tuple[Any, ...]) -> tuple[Any, ...]:
    """The fields of all steps; the prediction after the head is where the tail starts."""
    before = (x[:, :-1] if i < 2 else x for i, x in enumerate(head[1:]))
    fields = [np.concatenate(both, axis=1) for both in zip(before, tail[1:], strict=True)]
    return head[0] + tail[0], *fields


def _filtered_fields(system: System, name: str) -> tuple[Any, ...]:
    """The fields without diffuse states."""
    arrays, plan = planned(system, name)
    if not system.is_plain and plan.kind is not Sweeps:
        return composed.filter_moments(system, name)
    y, A, B, Q, R, m, P, c = arrays
    if plan.kind is Sweeps:
        sums, (states, *covs) = _sums_and(arrays, plan, FILTERED)
        covs += _predicted(*covs, *_of_first_series((A, B, Q, R, P), plan))
        covs, predicted_covs, error_covs = (_of_each_series(x, plan) for x in covs)
    else:
        sweeps = plan.kind(arrays, plan)
        sums, (states, covs) = sweeps.sums(), sweeps.filtered()
        predicted_covs, error_covs = _predicted(covs, A, B, Q, R, P)
    following = (A @ states[..., None])[..., 0]
    following = following if c is None else following + c
    start = np.broadcast_to(m[:, None], (len(y), 1, m.shape[-1]))
    predicted = np.concatenate([start, following], axis=1)
    forecasts = (B @ predicted[:, :-1, :, None])[..., 0]
    level = system.obs_intercept
    return (
        from_sums(sums, system),
        predicted,
        predicted_covs,
        states,
        covs,
        forecasts if level is None else forecasts + level,
        y - forecasts,
        error_covs,
    )


def _filtered(sweeps: Sweeps) -> tuple[Any, Any]:
    """Filtered means (S, T, n), and covariances of each group (G, T, n, n)."""
    return _by_group(sweeps, lambda sweep, _: (sweep.means, sweep.filtered_covariances()))


def _composed_filtered(*arrays: Any, plan: Plan) -> tuple[Any, Any]:
    """The same in functions that dispatch."""
    means, covs = composed.filter_moments(system_of(arrays, plan), plan.name)[3:5]
    return means, *_of_first_series((covs,), plan)


FILTERED = Quantities(_filtered, Sweeps.pull_filtered, _composed_filtered, whole=True)


def _predicted(covs: Any, A: Any, B: Any, Q: Any, R: Any, P: Any) -> tuple[Any, Any]:
    """Covariances of predicted states and of observations, from those (..., T, n, n) of filtered states."""
    start = np.broadcast_to(P[..., None, :, :], (*covs.shape[:-3], 1, *P.shape[-2:]))
    predicted = np.concatenate([start, product(A, covs, transposed(A)) + Q], axis=-3)
    return predicted, product(B, predicted[..., :-1, :, :], transposed(B)) + _full(R)


def _full(R: Any) -> Any:
    """obs_cov as matrices."""
    return makediag(R[..., 0, :]) if R.shape[-2] != R.shape[-1] else R


# -- smoother and forecast ---------------------------------------------------------------------------------


def smoother_moments(system: System, name: str) -> tuple[Any, ...]:
    """The fields of `SmootherResult` with an axis of series."""
    arrays, plan = planned(system, name)
    if not system.is_plain and (plan.kind is not Sweeps or _are_badly_determined(system, plan)):
        return composed.smoother_moments(system, name)
    sweeps = settled(plan, partial(plan.kind, tuple(map(value, arrays))), plan.kind.sums)
    if plan.kind is Sweeps:
        sums, (states, covs) = _sums_and(arrays, sweeps.plan, SMOOTHED, sweeps)
        return from_sums(sums, system), states, _of_each_series(covs, plan)
    sums = sweeps.sums()
    return from_sums(sums, system), *_each_smoothed(sweeps, *sums[1:3])


def _are_badly_determined(system: System, plan: Plan) -> bool:
    """Whether no data determine the diffuse states well: what cancels in derivatives takes their digits."""
    T = system.y.shape[1]
    return bool(plan.diffuse) and any(plan.steps_to_collapse(series, T) == T for series, _ in plan.groups)


def _smoothed(sweeps: Sweeps) -> tuple[Any, Any]:
    """Smoothed means (S, T, n), and covariances of each group (G, T, n, n)."""
    return _by_group(sweeps, _smoothed_of_group)


def _smoothed_of_group(sweep: Any, parameters: tuple[Any, ...]) -> tuple[Any, Any]:
    """Means (T, n, k) and covariances (T, n, n) of k series."""
    M, V = sweep.smooth()[:2]
    if isinstance(sweep, Sweep):
        restore(V, sweep.filtered_covariances(), parameters[0], parameters[2])
    return M, V


def _composed_smoothed(*arrays: Any, plan: Plan) -> tuple[Any, Any]:
    """The same in functions that dispatch."""
    _, means, covs = composed.smoother_moments(system_of(arrays, plan), plan.name)
    return means, *_of_first_series((covs,), plan)


SMOOTHED = Quantities(_smoothed, Sweeps.pull_smoothed, _composed_smoothed, whole=True)


def _each_smoothed(sweeps: Any, s: Any, C: Any) -> tuple[Any, Any]:
    """Means (S, T, n) and covariances (S, T, n, n), where every series has its own."""
    M, V = sweeps.smoothed()
    states, units = M[:, :, 0], M[:, :, 1:]
    S, T, d, n = units.shape
    if d == 0:
        return states, V
    weights = np.linalg.solve(C, np.reshape(np.swapaxes(units, 1, 2), (S, d, T * n)))  # of δ - δ̂, as below
    weights = np.swapaxes(np.reshape(weights, (S, d, T, n)), 1, 2)
    return states - product(s[:, None, None], weights)[:, :, 0], V + product(transposed(units), weights)


def forecast_moments(system: System, steps: int, name: str) -> tuple[Any, ...]:
    """The fields of `ForecastResult` with an axis of series: for the last steps, which have no data.

    They are the smoother's, which diffuse states do not trouble.
    """
    _, states, covs = smoother_moments(system, name)
    T = states.shape[1]
    first = T - steps
    B, R, level = (of_steps(x, first, T) for x in (system.design, system.obs_cov, system.obs_intercept))
    states, covs = states[:, first:], covs[:, first:]
    mean = (B @ states[..., None])[..., 0]
    return mean if level is None else mean + level, product(B, covs, transposed(B)) + _full(R), states, covs


# -- groups ------------------------------------------------------------------------------------------------


def _sums_and(arrays: tuple[Any, ...], plan: Plan, of: Quantities, sweeps: Any = None) -> tuple[Any, Any]:
    """The sums, and other quantities of arrays or Variables; of plain ones by the sweeps that have run."""
    if is_plain(*arrays):
        sweeps = plan.kind(arrays, plan) if sweeps is None else sweeps
        return sweeps.sums(), of.values(sweeps)
    return filter_sums(*arrays, plan=plan), swept(*arrays, plan=plan, of=of)


def _by_group(sweeps: Sweeps, results: Callable[[Any, tuple[Any, ...]], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Means (S, T, n) and covariances (G, T, n, n) from those of the k series of each group, (T, n, k) and
    (T, n, n), which its sweep and parameters give."""
    places = [series for series, _ in sweeps.plan.groups]
    pairs = [
        results(sweep, shared_parameters(sweeps.arrays, series))
        for sweep, series in zip(sweeps.sweeps, places, strict=True)
    ]
    (means,) = composed.in_order([(np.transpose(M, (2, 0, 1)),) for M, _ in pairs], places)
    return means, pairs[0][1][None] if len(pairs) == 1 else np.stack([V for _, V in pairs])


def _of_first_series(arrays: tuple[Any, ...], plan: Plan) -> tuple[Any, ...]:
    """What the first series of each group has of arrays (1 or S, ...)."""
    if len(plan.groups) == 1:
        return tuple(x[:1] for x in arrays)
    first = [series[0] for series, _ in plan.groups]
    return tuple(x if x.shape[0] == 1 else x[first] for x in arrays)


def _of_each_series(x: Any, plan: Plan) -> Any:
    """What series have of an array of groups (G, ...), views where there is one group."""
    if len(plan.groups) == 1:
        return np.broadcast_to(x, (len(plan.groups[0][0]), *x.shape[1:]))
    order = np.argsort(np.concatenate([series for series, _ in plan.groups]))
    return x[np.repeat(np.arange(len(x)), [len(series) for series, _ in plan.groups])[order]]
