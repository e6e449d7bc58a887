"""Moments of states and observations of plain arrays by the compiled sweep: of filter, smoother, forecast."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.linalg import makediag
from lindiff.linalg._matrices import transposed
from lindiff.statespace import composed
from lindiff.statespace.model import System, of_steps
from lindiff.statespace.sweep.handover import in_parts
from lindiff.statespace.sweep.likelihood import from_sums
from lindiff.statespace.sweep.planning import planned, settled
from lindiff.statespace.sweep.series import Plan, Sweeps, sweeps_for

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
    kind = sweeps_for(arrays, 0)
    sweeps = kind(arrays, plan)
    if kind is Sweeps:
        parts = [
            (
                np.transpose(sweep.means, (2, 0, 1)),
                *_covariances(sweep, sweeps.parameters(series), len(series)),
            )
            for (series, _), sweep in zip(plan.groups, sweeps.sweeps, strict=True)
        ]
        states, covs, predicted_covs, error_covs = _of_groups(parts, plan)
    else:
        states, covs = sweeps.filtered()
        predicted_covs, error_covs = _each_predicted(arrays, covs)
    y, A, B, _, _, m, _, c = arrays
    following = (A @ states[..., None])[..., 0]
    following = following if c is None else following + c
    start = np.broadcast_to(m[:, None], (len(y), 1, m.shape[-1]))
    predicted = np.concatenate([start, following], axis=1)
    forecasts = (B @ predicted[:, :-1, :, None])[..., 0]
    level = system.obs_intercept
    return (
        from_sums(sweeps.sums(), system),
        predicted,
        predicted_covs,
        states,
        covs,
        forecasts if level is None else forecasts + level,
        y - forecasts,
        error_covs,
    )


def _covariances(sweep: Any, parameters: tuple[Any, ...], k: int) -> tuple[Any, Any, Any]:
    """Those of the filtered and predicted states and of the observations of k series, views of one array."""
    A, B, Q, R, P = parameters
    covs = sweep.filtered_covariances()
    predicted = np.concatenate([P[None], A @ covs @ transposed(A) + Q])
    errors = B @ predicted[:-1] @ transposed(B) + _full(R)
    return _for_each(covs, k), _for_each(predicted, k), _for_each(errors, k)


def _each_predicted(arrays: tuple[Any, ...], covs: Any) -> tuple[Any, Any]:
    """Those of the predicted states and of the observations, where every series has its own (S, T, n, n)."""
    _, A, B, Q, R, _, P, _ = arrays
    start = np.broadcast_to(P[:, None], (len(covs), 1, *P.shape[1:]))
    predicted = np.concatenate([start, A @ covs @ transposed(A) + Q], axis=1)
    return predicted, B @ predicted[:, :-1] @ transposed(B) + _full(R)


def _full(R: Any) -> Any:
    """obs_cov as matrices."""
    return makediag(R[..., 0, :]) if R.shape[-2] != R.shape[-1] else R


# -- smoother and forecast ---------------------------------------------------------------------------------


def smoother_moments(system: System, name: str) -> tuple[Any, ...]:
    """The fields of `SmootherResult` with an axis of series."""
    arrays, plan = planned(system, name)
    kind = sweeps_for(arrays, len(plan.diffuse))

    def run(plan: Plan) -> tuple[Any, Any]:
        sweeps = kind(arrays, plan)
        return sweeps.sums(), sweeps

    sums, sweeps = settled(plan, run)
    result = from_sums(sums, system)
    if kind is not Sweeps:
        return result, *_each_smoothed(sweeps, *sums[1:3])
    found = zip(plan.groups, sweeps.sweeps, strict=True)
    return result, *_of_groups([_smoothed(sweep, len(series)) for (series, _), sweep in found], plan)


def _smoothed(sweep: Any, k: int) -> tuple[Any, Any]:
    """Means (k, T, n) and covariances (k, T, n, n) of a group's series."""
    M, V = sweep.smooth()[:2]
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


def _of_groups(parts: list[tuple[Any, ...]], plan: Plan) -> tuple[Any, ...]:
    """The results of all series from those of the groups."""
    return composed.in_order(parts, [series for series, _ in plan.groups])


def _for_each(x: Any, k: int) -> Any:
    return np.broadcast_to(x, (k, *x.shape))
