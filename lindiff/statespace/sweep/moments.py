"""Moments of states and observations of plain arrays by the compiled sweep: of filter, smoother, forecast."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.kernels.kalman import Sweep
from lindiff.linalg import makediag
from lindiff.linalg._matrices import transposed
from lindiff.statespace import composed
from lindiff.statespace.model import System, of_steps
from lindiff.statespace.sweep.any_order import system_of
from lindiff.statespace.sweep.backward import restore
from lindiff.statespace.sweep.derivatives import Quantities, filter_sums, swept
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
    if not system.is_plain:
        sums = filter_sums(*arrays, plan=plan)
        states, covs = swept(*arrays, plan=plan, of=FILTERED)
        predicted_covs, error_covs = _predicted(covs, A, B, Q, R, P)
    else:
        sweeps = plan.kind(arrays, plan)
        sums = sweeps.sums()
        if plan.kind is Sweeps:
            states, covs, predicted_covs, error_covs = _of_groups(sweeps, _filtered_by_group)
        else:
            states, covs = sweeps.filtered()
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
    """Filtered means (S, T, n) and covariances (S, T, n, n)."""

    def of_group(sweep: Any, parameters: tuple[Any, ...], k: int) -> tuple[Any, Any]:
        covs = sweep.filtered_covariances()
        return np.transpose(sweep.means, (2, 0, 1)), np.broadcast_to(covs, (k, *covs.shape))

    return _of_groups(sweeps, of_group)


def _composed_filtered(*arrays: Any, plan: Plan) -> tuple[Any, Any]:
    """The same in functions that dispatch."""
    return composed.filter_moments(system_of(arrays, plan), plan.name)[3:5]


FILTERED = Quantities(_filtered, Sweeps.pull_filtered, _composed_filtered, whole=True)


def _filtered_by_group(sweep: Any, parameters: tuple[Any, ...], k: int) -> tuple[Any, ...]:
    """Means (k, T, n) of the filtered states of a group, and all its covariances, views of one array each."""
    covs = sweep.filtered_covariances()
    shared = covs, *_predicted(covs, *parameters)
    return np.transpose(sweep.means, (2, 0, 1)), *(np.broadcast_to(x, (k, *x.shape)) for x in shared)


def _predicted(covs: Any, A: Any, B: Any, Q: Any, R: Any, P: Any) -> tuple[Any, Any]:
    """Covariances of predicted states and of observations, from those (..., T, n, n) of filtered states."""
    start = np.broadcast_to(P[..., None, :, :], (*covs.shape[:-3], 1, *P.shape[-2:]))
    predicted = np.concatenate([start, A @ covs @ transposed(A) + Q], axis=-3)
    return predicted, B @ predicted[..., :-1, :, :] @ transposed(B) + _full(R)


def _full(R: Any) -> Any:
    """obs_cov as matrices."""
    return makediag(R[..., 0, :]) if R.shape[-2] != R.shape[-1] else R


# -- smoother and forecast ---------------------------------------------------------------------------------


def smoother_moments(system: System, name: str) -> tuple[Any, ...]:
    """The fields of `SmootherResult` with an axis of series."""
    arrays, plan = planned(system, name)
    sweeps = settled(plan, partial(plan.kind, tuple(map(value, arrays))), plan.kind.sums)
    if not system.is_plain:
        if plan.kind is not Sweeps:
            return composed.smoother_moments(system, name)
        loglikelihood = from_sums(filter_sums(*arrays, plan=sweeps.plan), system)
        return loglikelihood, *swept(*arrays, plan=sweeps.plan, of=SMOOTHED)
    sums = sweeps.sums()
    result = from_sums(sums, system)
    if plan.kind is not Sweeps:
        return result, *_each_smoothed(sweeps, *sums[1:3])
    return result, *_smoothed(sweeps)


def _smoothed(sweeps: Sweeps) -> tuple[Any, Any]:
    """Means (S, T, n) and covariances (S, T, n, n)."""
    return _of_groups(sweeps, _smoothed_by_group)


def _composed_smoothed(*arrays: Any, plan: Plan) -> tuple[Any, Any]:
    """The same in functions that dispatch."""
    return composed.smoother_moments(system_of(arrays, plan), plan.name)[1:]


SMOOTHED = Quantities(_smoothed, Sweeps.pull_smoothed, _composed_smoothed, whole=True)


def _smoothed_by_group(sweep: Any, parameters: tuple[Any, ...], k: int) -> tuple[Any, Any]:
    """Means (k, T, n) and covariances (k, T, n, n) of the smoothed states of a group."""
    M, V = sweep.smooth()[:2]
    if isinstance(sweep, Sweep):
        restore(V, sweep.filtered_covariances(), parameters[0], parameters[2])
    return np.transpose(M, (2, 0, 1)), np.broadcast_to(V, (k, *V.shape))


def _each_smoothed(sweeps: Any, s: Any, C: Any) -> tuple[Any, Any]:
    """Means (S, T, n) and covariances (S, T, n, n), where every series has its own."""
    M, V = sweeps.smoothed()
    states, units = M[:, :, 0], M[:, :, 1:]
    S, T, d, n = units.shape
    if d == 0:
        return states, V
    weights = np.linalg.solve(C, np.reshape(np.swapaxes(units, 1, 2), (S, d, T * n)))  # of δ - δ̂, as below
    weights = np.swapaxes(np.reshape(weights, (S, d, T, n)), 1, 2)
    return states - (s[:, None, None] @ weights)[:, :, 0], V + transposed(units) @ weights


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
    return mean if level is None else mean + level, B @ covs @ transposed(B) + _full(R), states, covs


# -- groups ------------------------------------------------------------------------------------------------


def _of_groups(sweeps: Sweeps, results: Callable[[Any, tuple[Any, ...], int], tuple[Any, ...]]) -> Any:
    """The results of all series, from those of each group's sweep, parameters and number of series."""
    places = [series for series, _ in sweeps.plan.groups]
    groups = zip(sweeps.sweeps, places, strict=True)
    parts = [
        results(sweep, shared_parameters(sweeps.arrays, series), len(series)) for sweep, series in groups
    ]
    return composed.in_order(parts, places)
