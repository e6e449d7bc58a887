"""The states given all the data."""

from __future__ import annotations

from typing import Any, NamedTuple

from lindiff.statespace import composed, sweep
from lindiff.statespace.model import canonical, check_method, takes_models

__all__ = ["SmootherResult", "kalman_smoother"]


class SmootherResult(NamedTuple):
    """What :func:`kalman_smoother` returns; for many series with an axis of series in front.

    Attributes
    ----------
    loglikelihood : number
    smoothed_state : (T, n) array
        Means of the states given all the data.
    smoothed_state_cov : (T, n, n) array
    """

    loglikelihood: Any
    smoothed_state: Any
    smoothed_state_cov: Any


@takes_models
def kalman_smoother(
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
) -> SmootherResult:
    """States of a linear Gaussian state-space model given all the data.

    Parameters
    ----------
    y : (T, p), (S, T, p) or, for p = 1, (T,) array
        Observations, of one series or of many; NaN is missing, element by element.
    transition, ..., diffuse
        As :class:`Model` describes them: ``kalman_smoother(y, *model)``.
    method : {None, "composed", "square_root"}
        None: the compiled sweep.  "composed": a loop over time in public operators.  "square_root": that loop
        with factors of the covariances, for ill-conditioned models; see :func:`loglikelihood`.

    Returns
    -------
    SmootherResult

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError, OverflowError
        As :func:`loglikelihood` does.

    Notes
    -----
    Differentiable to any order with respect to every array.  Neither obs_cov nor state_cov is inverted: both
    may be singular.

    A filter, and about 12n³ + 4n²p flops a step backward, once for all series that share the system matrices
    and the missing values; 4n² + 4np more for each series.  A gradient takes about 30n³ + 20n²p flops a step
    and some twenty arrays (T, n, n) besides.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> one = np.eye(1)
    >>> model = ld.statespace.Model(one, one, 0.5 * one, one, np.zeros(1), one)
    >>> result = ld.statespace.kalman_smoother(np.array([1.0, np.nan, 3.0]), *model)
    >>> result.smoothed_state[:, 0].round(6)
    array([1. , 1.5, 2. ])
    """
    check_method("kalman_smoother", method)
    others = initial_state, initial_state_cov, state_intercept, obs_intercept, diffuse
    system = canonical("kalman_smoother", y, transition, design, state_cov, obs_cov, *others)
    if method is None and sweep.has_sweep(system):
        fields = sweep.smoother_moments(system, "kalman_smoother")
    else:
        fields = composed.smoother_moments(system, "kalman_smoother", method)
    return SmootherResult(*system.results(fields))
