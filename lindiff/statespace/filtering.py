"""The Kalman filter, with all that it computes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core.variable import value
from lindiff.linalg._matrices import transposed
from lindiff.statespace.collapsed import FAILURES, Parts, collapsed
from lindiff.statespace.compiled_moments import compiled_filter, has_sweep
from lindiff.statespace.initialization import Information, conditioned, information
from lindiff.statespace.likelihood import group_loglikelihood, resting_tolerance
from lindiff.statespace.model import System, canonical
from lindiff.statespace.recursions import (
    Filtered,
    Group,
    filtered,
    groups,
    in_order,
    matrices_over_time,
    rows_over_time,
)
from lindiff.statespace.square_root import check_method, square_roots

__all__ = ["FilterResult", "filter_result", "kalman_filter"]


class FilterResult(NamedTuple):
    """What :func:`kalman_filter` returns; for many series with an axis of series in front.

    Attributes
    ----------
    loglikelihood : number
    predicted_state : (T + 1, n) array
        Means of the states given the data before; the last one is that of the state after the data.
    predicted_state_cov : (T + 1, n, n) array
    filtered_state : (T, n) array
        Means of the states given the data up to their step.
    filtered_state_cov : (T, n, n) array
    forecast : (T, p) array
        Means of the observations given the data before.
    forecast_error : (T, p) array
        ``y - forecast``; NaN where y is missing.
    forecast_error_cov : (T, p, p) array
        Of all elements, missing or not.
    """

    loglikelihood: Any
    predicted_state: Any
    predicted_state_cov: Any
    filtered_state: Any
    filtered_state_cov: Any
    forecast: Any
    forecast_error: Any
    forecast_error_cov: Any


def kalman_filter(
    y: Any,
    transition: Any,
    design: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any = None,
    initial_state_cov: Any = None,
    state_intercept: Any = None,
    obs_intercept: Any = None,
    diffuse: Any = None,
    *,
    method: str | None = None,
) -> FilterResult:
    """States of a linear Gaussian state-space model given the data before and up to each step.

    Parameters
    ----------
    y : (T, p), (S, T, p) or, for p = 1, (T,) array
        Observations, of one series or of many; NaN is missing, element by element.
    transition, ..., diffuse
        As :class:`Model` describes them: ``kalman_filter(y, *model)``.
    method : {None, "composed", "square_root"}
        None: the compiled sweep for plain arrays, a loop over time in public operators for Variables.
        "composed": that loop.  "square_root": the loop with factors of the covariances, for ill-conditioned
        models; see :func:`loglikelihood`.

    Returns
    -------
    FilterResult

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError, OverflowError
        As :func:`loglikelihood` does.

    Notes
    -----
    Differentiable to any order with respect to every array.  With diffuse states, what is not determined by
    the data so far has no finite covariance: predictions are NaN up to the first step whose data
    determine all of them, filtered states before it.

    The flops of the likelihood, and as many numbers as the results hold; derivatives keep about 5n² + 4np
    more a step.  Covariances that series share are views of one array, not to be written to.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> one = np.eye(1)
    >>> model = ld.statespace.Model(one, one, 0.5 * one, one, np.zeros(1), one)
    >>> result = ld.statespace.kalman_filter(np.array([1.0, np.nan, 3.0]), *model)
    >>> result.filtered_state[:, 0].round(6)
    array([0.5, 0.5, 2. ])
    >>> result.predicted_state_cov[:, 0, 0]
    array([1. , 1. , 1.5, 1.1])
    """
    system = canonical(
        "kalman_filter",
        y,
        transition,
        design,
        state_cov,
        obs_cov,
        initial_state,
        initial_state_cov,
        state_intercept,
        obs_intercept,
        diffuse,
    )
    return filter_result(system, "kalman_filter", method)


def filter_result(system: System, name: str, method: str | None = None) -> FilterResult:
    """The results of a filter; `name` is the public function that errors speak of."""
    check_method(name, method)
    if method is None and has_sweep(system):
        joined = _compiled(system, name)
    else:
        joined = _composed(system, name, method)
    return FilterResult(*(joined if system.many else [x[0] for x in joined]))


def _composed(system: System, name: str, method: str | None) -> tuple[Any, ...]:
    found = groups(system)
    parts = [_of_group(group, name, method, system.y.shape[-1]) for group in found]
    order = [group.series for group in found]
    return tuple(in_order(list(field), order) for field in zip(*parts, strict=True))


def _compiled(system: System, name: str) -> tuple[Any, ...]:
    tolerance = resting_tolerance(None, system.y.dtype, name)
    if not system.diffuse:
        return compiled_filter(system, tolerance, name)
    try:
        return _of_parts(collapsed(system, name), tolerance, name)
    except FAILURES:  # they name steps and series of a part
        return _composed(system, name, None)


def _of_parts(found: Parts, tolerance: float, name: str) -> tuple[Any, ...]:
    """The results for the steps before and after the diffuse states are determined, joined."""
    parts = []
    for _, head, tail in found:
        first, then = _composed(head, name, None), compiled_filter(tail, tolerance, name)
        # the prediction after the head is where the tail starts
        before = (x[:, :-1] if i < 2 else x for i, x in enumerate(first[1:]))
        joined = [np.concatenate(both, axis=1) for both in zip(before, then[1:], strict=True)]
        parts.append((first[0] + then[0], *joined))
    order = [series for series, _, _ in found]
    return tuple(in_order(list(field), order) for field in zip(*parts, strict=True))


def _of_group(group: Group, name: str, method: str | None, p: int) -> tuple[Any, ...]:
    run = filtered(group, name, square_roots(group, method, name))
    known = information(group, run, name)
    states = run if known is None else _with_diffuse(run, known)
    forecasts, errors, covs = [], [], []
    for t, B in enumerate(group.design):
        mean, cov = states.predicted[t] @ transposed(B), B @ states.predicted_cov[t] @ transposed(B)
        if known is not None and t <= known.first:  # NaN, which gradients are not to go through
            mean, cov = np.full_like(value(mean), np.nan), np.full_like(value(cov), np.nan)
        level = group.obs_intercept[t]
        forecasts.append(mean if level is None else mean + level)
        errors.append(group.y[t] - mean)
        covs.append(cov + group.obs_cov[t])
    n = group.initial_state.shape[-1]
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
        if t < known.first:
            rows = value(m)[..., : known.shift.shape[-2], :]
            return np.full_like(rows, np.nan), np.full_like(value(P), np.nan)
        return conditioned(m, P, known, t)

    both = enumerate(zip(run.predicted, run.predicted_cov, strict=True))
    predicted = [given(m, P, t - 1) for t, (m, P) in both]
    states = [given(m, P, t) for t, (m, P) in enumerate(zip(run.state, run.cov, strict=True))]
    return Filtered(
        [m for m, _ in predicted],
        [P for _, P in predicted],
        [m for m, _ in states],
        [P for _, P in states],
        run.observed,
    )
