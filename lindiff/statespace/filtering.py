"""The Kalman filter, with all that it computes."""

from __future__ import annotations

from typing import Any, NamedTuple

from lindiff.statespace import composed, sweep
from lindiff.statespace.model import canonical, check_method, takes_models

__all__ = ["FilterResult", "kalman_filter"]


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


@takes_models
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
        None: the compiled sweep.  "composed": a loop over time in public operators.  "square_root": that loop
        with factors of the covariances, for ill-conditioned models; see :func:`loglikelihood`.

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
    check_method("kalman_filter", method)
    others = initial_state, initial_state_cov, state_intercept, obs_intercept, diffuse
    system = canonical("kalman_filter", y, transition, design, state_cov, obs_cov, *others)
    if method is None and sweep.has_sweep(system):
        fields = sweep.filter_moments(system, "kalman_filter")
    else:
        fields = composed.filter_moments(system, "kalman_filter", method)
    return FilterResult(*system.results(fields))
