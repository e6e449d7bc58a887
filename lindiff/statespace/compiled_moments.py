"""Filtered and smoothed moments of plain arrays by the compiled sweep."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.variable import Variable
from lindiff.linalg import makediag
from lindiff.linalg._matrices import transposed
from lindiff.statespace.compiled import from_sums, operands, settled
from lindiff.statespace.model import System
from lindiff.statespace.recursions import in_order
from lindiff.statespace.sweeps import Plan, Sweeps, sweeps_for

__all__ = ["compiled_filter", "compiled_forecast", "compiled_smoother", "has_sweep"]


def has_sweep(system: System) -> bool:
    """Whether the arrays of a system are plain, and have a compiled sweep."""
    plain = not any(type(x) is Variable for x in system[:9])
    return plain and sweeps_for(system[:8], len(system.diffuse)) is not None


def compiled_smoother(system: System, tolerance: float, name: str) -> tuple[Any, ...]:
    """Log likelihoods (S,), smoothed means (S, T, n) and covariances (S, T, n, n)."""
    arrays, plan = operands(system, tolerance, name)

    kind = sweeps_for(arrays, len(plan.diffuse))

    def run(plan: Plan) -> tuple[Any, Any]:
        sweeps = kind(arrays, plan)
        return sweeps.sums(), sweeps

    (quad, cross, info, logdet), sweeps = settled(plan, run)
    result = from_sums(quad, cross, info, logdet, system)
    if kind is not Sweeps:
        return result, *_each_smoothed(sweeps, cross, info)
    found = zip(plan.groups, sweeps.sweeps, strict=True)
    parts = [_smoothed(sweep, len(series)) for (series, _), sweep in found]
    return result, *_joined(parts, plan)


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


def _joined(parts: list[tuple[Any, ...]], plan: Any) -> tuple[Any, ...]:
    order = [series for series, _ in plan.groups]
    return tuple(in_order(list(field), order) for field in zip(*parts, strict=True))


def _smoothed(sweep: Any, k: int) -> tuple[Any, Any]:
    """Means (k, T, n) and covariances (k, T, n, n) of a group's series."""
    M, V = sweep.smooth()[:2]
    return np.transpose(M, (2, 0, 1)), np.broadcast_to(V, (k, *V.shape))


def compiled_filter(system: System, tolerance: float, name: str) -> tuple[Any, ...]:
    """The fields of `FilterResult` with an axis of series; without diffuse states."""
    arrays, plan = operands(system, tolerance, name)
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
        states, covs, predicted_covs, error_covs = _joined(parts, plan)
    else:
        states, covs = sweeps.filtered()
        predicted_covs, error_covs = _each_predicted(arrays, covs)
    y, A, B, _, _, m, _, c = arrays
    following = (A @ states[..., None])[..., 0]
    following = following if c is None else following + c
    start = np.broadcast_to(m[:, None], (len(y), 1, m.shape[-1]))
    quad, cross, info, logdet = sweeps.sums()
    predicted = np.concatenate([start, following], axis=1)
    forecasts = (B @ predicted[:, :-1, :, None])[..., 0]
    level = system.obs_intercept
    return (
        from_sums(quad, cross, info, logdet, system),
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


def compiled_forecast(system: System, steps: int, tolerance: float, name: str) -> tuple[Any, ...]:
    """Means and covariances of the observations and of the states in the last steps, which have no data.

    They are the smoother's, which diffuse states do not trouble.
    """
    _, states, covs = compiled_smoother(system, tolerance, name)
    first = states.shape[1] - steps
    B, R, level = (
        x if x is None or x.shape[1] == 1 else x[:, first:]
        for x in (system.design, system.obs_cov, system.obs_intercept)
    )
    states, covs = states[:, first:], covs[:, first:]
    mean = (B @ states[..., None])[..., 0]
    return mean if level is None else mean + level, B @ covs @ transposed(B) + _full(R), states, covs


def _for_each(x: Any, k: int) -> Any:
    return np.broadcast_to(x, (k, *x.shape))
