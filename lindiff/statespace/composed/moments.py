"""Moments of states and observations in functions that dispatch: of the filter, smoother and forecast."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._matrices import transposed
from lindiff.statespace.composed.augmented import Information, conditioned, information
from lindiff.statespace.composed.grouping import (
    Group,
    matrices_over_time,
    of_groups,
    rows_over_time,
)
from lindiff.statespace.composed.likelihood import group_loglikelihood
from lindiff.statespace.composed.recursions import Filtered, Smoothed, filtered, smoothed
from lindiff.statespace.model import System

__all__ = ["filter_moments", "forecast_moments", "smoothed_with_diffuse", "smoother_moments"]


# -- filter ------------------------------------------------------------------------------------------------


def filter_moments(system: System, name: str, method: str | None = None) -> tuple[Any, ...]:
    """The fields of `FilterResult` with an axis of series; `name` is the function that errors speak of."""
    return of_groups(system, lambda group: _filtered_fields(group, name, method))


def _filtered_fields(group: Group, name: str, method: str | None) -> tuple[Any, ...]:
    run = filtered(group, name, method)
    known = information(group, run, name)
    states = run if known is None else _with_diffuse(run, known)
    forecasts, errors, covs = [], [], []
    for t, B in enumerate(group.design):
        mean = product(states.predicted[t], transposed(B))
        cov = product(B, states.predicted_cov[t], transposed(B))
        if known is not None and t < known.steps:  # NaN, which gradients are not to go through
            mean, cov = np.full_like(value(mean), np.nan), np.full_like(value(cov), np.nan)
        level = group.obs_intercept[t]
        forecasts.append(mean if level is None else mean + level)
        errors.append(group.y[t] - mean)
        covs.append(cov + group.obs_cov[t])
    n, p = group.initial_state.shape[-1], group.observed.shape[-1]
    return (
        group_loglikelihood(group, run, known),
        rows_over_time(states.predicted, group, n),
        matrices_over_time(states.predicted_cov, group, n),
        rows_over_time(states.state, group, n),
        matrices_over_time(states.cov, group, n),
        rows_over_time(forecasts, group, p),
        rows_over_time(errors, group, p),
        matrices_over_time(covs, group, p),
    )


def _with_diffuse(run: Filtered, known: Information) -> Filtered:
    """Means and covariances with the diffuse states determined by the data; NaN before."""

    def given(m: Any, P: Any, t: int) -> tuple[Any, Any]:
        if t < known.steps:
            rows = value(m)[..., : known.shift.shape[-2], :]
            return np.full_like(rows, np.nan), np.full_like(value(P), np.nan)
        return conditioned(m, P, known, t)

    before = enumerate(zip(run.predicted, run.predicted_cov, strict=True))
    predicted = [given(m, P, t) for t, (m, P) in before]
    states = [given(m, P, t) for t, (m, P) in enumerate(zip(run.state, run.cov, strict=True), start=1)]
    return Filtered(
        [m for m, _ in predicted],
        [P for _, P in predicted],
        [m for m, _ in states],
        [P for _, P in states],
        run.observed,
    )


def forecast_moments(system: System, steps: int, name: str) -> tuple[Any, ...]:
    """The fields of `ForecastResult` with an axis of series: for the last steps, which have no data."""
    _, states, covs, *_, forecasts, _, error_covs = filter_moments(system, name)
    start = system.y.shape[1] - steps
    return forecasts[:, start:], error_covs[:, start:], states[:, start:-1], covs[:, start:-1]


# -- smoother ----------------------------------------------------------------------------------------------


def smoother_moments(system: System, name: str, method: str | None = None) -> tuple[Any, ...]:
    """The fields of `SmootherResult` with an axis of series."""
    return of_groups(system, lambda group: _smoothed_fields(group, name, method))


def _smoothed_fields(group: Group, name: str, method: str | None) -> tuple[Any, ...]:
    run = filtered(group, name, method)
    known = information(group, run, name)
    result = smoothed_with_diffuse(group, run, known)
    n = group.initial_state.shape[-1]
    return (
        group_loglikelihood(group, run, known),
        rows_over_time(result.state, group, n),
        matrices_over_time(result.cov, group, n),
    )


def smoothed_with_diffuse(group: Group, run: Filtered, known: Information | None) -> Smoothed:
    """The smoothed rows of the data, with the diffuse states determined by them."""
    result = smoothed(group, run)
    if known is None:
        return result
    steps = len(result.state)
    pairs = [conditioned(m, P, known, steps) for m, P in zip(result.state, result.cov, strict=True)]
    return Smoothed([m for m, _ in pairs], [P for _, P in pairs])
