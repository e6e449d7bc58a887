"""Observations and states after the data."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import placed
from lindiff.statespace import composed, sweep
from lindiff.statespace.model import canonical, real, takes_models

__all__ = ["ForecastResult", "forecast"]


class ForecastResult(NamedTuple):
    """What :func:`forecast` returns; for many series with an axis of series in front.

    Attributes
    ----------
    mean : (steps, p) array
        Of the observations.
    cov : (steps, p, p) array
    state : (steps, n) array
        Means of the states.
    state_cov : (steps, n, n) array
    """

    mean: Any
    cov: Any
    state: Any
    state_cov: Any


@takes_models
def forecast(
    steps: int,
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
) -> ForecastResult:
    """Means and covariances of the next observations and states given the data.

    Parameters
    ----------
    steps : int
    y : (T, p), (S, T, p) or, for p = 1, (T,) array
        Observations, of one series or of many; NaN is missing, element by element.
    transition, ..., diffuse
        As :class:`Model` describes them: ``forecast(12, y, *model)``.  What varies over time has T + steps
        entries.

    Returns
    -------
    ForecastResult

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError, OverflowError
        As :func:`loglikelihood` does.

    Notes
    -----
    A filter, for plain arrays a smoother, over data that go on with missing values; differentiable as
    :func:`kalman_filter` is.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> one = np.eye(1)
    >>> model = ld.statespace.Model(0.5 * one, one, one, 0 * one, np.zeros(1), 4 / 3 * one)
    >>> ahead = ld.statespace.forecast(3, np.array([0.0, 8.0]), *model)
    >>> ahead.mean[:, 0], ahead.cov[:, 0, 0]
    (array([4., 2., 1.]), array([1.    , 1.25  , 1.3125]))
    """
    if not isinstance(steps, int | np.integer):
        raise TypeError(
            f"forecast: steps is an integer, got {type(steps).__name__}: write forecast(steps, y, *model)"
        )
    steps = operator.index(steps)
    if steps < 0:
        raise ValueError(f"forecast: steps must not be negative, got {steps}")
    y = real("forecast", "y", y)
    after = 0 if y.ndim < 2 else y.ndim - 2
    if y.ndim:
        shape = tuple(steps if axis == after else size for axis, size in enumerate(y.shape))
        y = np.concatenate([y, placed(np.full(shape, np.nan, y.dtype), y)], axis=after)
    others = initial_state, initial_state_cov, state_intercept, obs_intercept, diffuse
    system = canonical("forecast", y, transition, design, state_cov, obs_cov, *others)
    by = sweep if sweep.has_sweep(system) else composed
    return ForecastResult(*system.results(by.forecast_moments(system, steps, "forecast")))
