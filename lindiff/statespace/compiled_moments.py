"""Filtered and smoothed moments of plain arrays by the compiled sweep."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.variable import Variable
from lindiff.linalg import makediag
from lindiff.linalg._backend import kernels
from lindiff.statespace.compiled import LOG_TWO_PI, group_loglikelihood_of, group_operands, series_groups
from lindiff.statespace.model import System
from lindiff.statespace.recursions import in_order
from lindiff.statespace.sweep import sweep_of

__all__ = ["compiled_filter", "compiled_smoother", "has_sweep"]


def has_sweep(system: System) -> bool:
    """Whether the arrays of a system are plain, and have a compiled sweep."""
    arrays = [x for x in system[:9] if x is not None]
    return not any(type(x) is Variable for x in arrays) and hasattr(kernels(*arrays), "Sweep")


def compiled_smoother(system: System, tolerance: float, name: str) -> tuple[Any, ...]:
    """Log likelihoods (S,), smoothed means (S, T, n) and covariances (S, T, n, n)."""
    found = series_groups(system)
    parts = [_smoothed(system, series, observed, tolerance, name) for series, observed in found]
    return _joined(parts, found)


def _joined(parts: list[tuple[Any, ...]], found: list[tuple[Any, Any]]) -> tuple[Any, ...]:
    order = [series for series, _ in found]
    return tuple(in_order(list(field), order) for field in zip(*parts, strict=True))


def _smoothed(system: System, series: Any, observed: Any, tolerance: float, name: str) -> tuple[Any, ...]:
    arrays, options = group_operands(system, series, observed, tolerance, 0, name)
    sweep = sweep_of(arrays, options)
    result = group_loglikelihood_of(sweep.quad.sum(axis=0), sweep.gram, sweep.logdet.sum(), observed, options)
    M, V = sweep.smooth()
    k, d = len(series), options.mixed
    states = M[..., :k]
    if d:  # the diffuse states given the data: δ̂ = -s C⁻¹, of covariance C⁻¹ (de Jong 1991, section 5)
        units, C = M[..., k:], sweep.gram[k:]
        states = states - units @ np.linalg.solve(C, sweep.gram[:k].T)
        V = V + units @ np.linalg.solve(C, np.swapaxes(units, -1, -2))
    return result, np.transpose(states, (2, 0, 1)), np.broadcast_to(V, (k, *V.shape))


def compiled_filter(system: System, tolerance: float, name: str) -> tuple[Any, ...]:
    """The fields of `FilterResult` with an axis of series; without diffuse states."""
    found = series_groups(system)
    parts = [_filtered(system, series, observed, tolerance, name) for series, observed in found]
    return _joined(parts, found)


def _filtered(system: System, series: Any, observed: Any, tolerance: float, name: str) -> tuple[Any, ...]:
    arrays, options = group_operands(system, series, observed, tolerance, 0, name)
    y, A, B, Q, R, m, P, c = arrays
    sweep = sweep_of(arrays, options)
    count = float(observed.sum()) * LOG_TWO_PI
    result = -0.5 * (sweep.quad.sum(axis=0) + (sweep.logdet.sum() + count))
    states, covs = np.transpose(sweep.means, (2, 0, 1)), sweep.filtered_covariances()
    following = (A @ states[..., None])[..., 0]
    predicted = np.concatenate([m[:, None], following if c is None else following + c], axis=1)
    predicted_covs = np.concatenate([P, A[0] @ covs @ np.swapaxes(A[0], -1, -2) + Q[0]])
    forecasts = (B @ predicted[:, :-1, :, None])[..., 0]
    R = makediag(R[0, :, 0]) if options.independent else R[0]
    error_covs = B[0] @ predicted_covs[:-1] @ np.swapaxes(B[0], -1, -2) + R
    error = y - forecasts
    d = system.obs_intercept
    if d is not None:
        forecasts = forecasts + (d if d.shape[0] == 1 else d[series])
    shared = (np.broadcast_to(x, (len(series), *x.shape)) for x in (predicted_covs, covs, error_covs))
    predicted_covs, covs, error_covs = shared
    return result, predicted, predicted_covs, states, covs, forecasts, error, error_covs
