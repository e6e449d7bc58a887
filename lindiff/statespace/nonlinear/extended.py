"""The extended Kalman filter: functions are replaced by their tangents."""

from __future__ import annotations

from typing import Any

from lindiff.statespace.filtering import FilterResult
from lindiff.statespace.nonlinear.approximations import Jacobians
from lindiff.statespace.nonlinear.model import checked
from lindiff.statespace.nonlinear.recursion import filter_moments, linear_model, loglikelihood
from lindiff.statespace.smoothing import SmootherResult, kalman_smoother

__all__ = ["extended_filter", "extended_loglikelihood", "extended_smoother"]


def extended_loglikelihood(
    y: Any,
    transition: Any,
    observation: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any,
    initial_state_cov: Any,
    params: Any = (),
    inputs: Any = None,
    *,
    per_step: bool = False,
    program: bool = True,
) -> Any:
    """Log likelihood of a nonlinear state-space model by the extended Kalman filter.

    Parameters
    ----------
    y : (T, p) or, for p = 1, (T,) array
        Observations; NaN is missing, element by element.
    transition, ..., inputs
        As :class:`NonlinearModel` describes them: ``extended_loglikelihood(y, *model)``.
    per_step : bool
        The log densities of each step given those before, instead of their sum.
    program : bool
        False calls `transition` and `observation` in every step, with their prints and counters; slower.

    Returns
    -------
    number, or with `per_step` (T,) array
        The sum of the log densities of the observations given those before, each the Gaussian of the filter.
        Exact for linear functions, an approximation for others.

    Raises
    ------
    TypeError, ValueError
        If arguments are no functions and real arrays, or shapes do not fit.
    numpy.linalg.LinAlgError
        If the covariance of the observations is not positive definite; names the step.
    OverflowError
        If states are not finite; names the step.

    Notes
    -----
    Särkkä (2013), Bayesian Filtering and Smoothing, algorithm 5.4, with Jacobians by
    :func:`lindiff.jacobian`.  Differentiable to any order with respect to all arrays: data, covariances,
    start, params and inputs.

    Four steps are a program: the first two of these are recorded, later ones, and later calls with the same
    functions, run without Python.  To run whole likelihoods so, decorate the function that calls this one:
    ``ld.program(ld.value_and_grad(f))``.  A step takes both functions with their Jacobians in forward mode,
    and about ``4n³ + 4n²p + 3np² + p³`` flops.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import statespace
    >>> def growth(x, rate):
    ...     return x + rate * x * (1 - x)
    >>> def seen(x, rate):
    ...     return x
    >>> y = [0.11, 0.16, np.nan, 0.32, 0.38]
    >>> def loglikelihood(rate):
    ...     model = statespace.NonlinearModel(growth, seen, [[1e-4]], [1e-3], [0.1], [[1e-3]], (rate,))
    ...     return statespace.extended_loglikelihood(y, *model)
    >>> value, slope = ld.value_and_grad(loglikelihood)(0.5)
    >>> print(f"{value:.4f} {slope:.4f}")
    8.0231 -7.4803
    """
    name = "extended_loglikelihood"
    given = transition, observation, state_cov, obs_cov, initial_state, initial_state_cov, params, inputs
    return loglikelihood(checked(name, y, *given), Jacobians(), name, program, per_step)


def extended_filter(
    y: Any,
    transition: Any,
    observation: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any,
    initial_state_cov: Any,
    params: Any = (),
    inputs: Any = None,
    *,
    program: bool = True,
) -> FilterResult:
    """States of a nonlinear model given the data before and up to each step, by the extended Kalman filter.

    Parameters
    ----------
    y : (T, p) or, for p = 1, (T,) array
        Observations; NaN is missing, element by element.  Steps without any at the end are forecasts.
    transition, ..., inputs
        As :class:`NonlinearModel` describes them: ``extended_filter(y, *model)``.
    program : bool
        False calls `transition` and `observation` in every step, with their prints and counters; slower.

    Returns
    -------
    FilterResult

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError, OverflowError
        As :func:`extended_loglikelihood` does.

    Notes
    -----
    As for :func:`extended_loglikelihood`; differentiable in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> model = statespace.NonlinearModel(
    ...     lambda x: x + 0.5 * x * (1 - x), lambda x: x, [[1e-4]], [1e-3], [0.1], [[1e-3]])
    >>> found = statespace.extended_filter([0.11, 0.16, np.nan], *model)
    >>> found.filtered_state[:, 0].round(4), found.forecast[:, 0].round(4)
    (array([0.105 , 0.1561, 0.222 ]), array([0.1  , 0.152, 0.222]))
    """
    name = "extended_filter"
    given = transition, observation, state_cov, obs_cov, initial_state, initial_state_cov, params, inputs
    return FilterResult(*filter_moments(checked(name, y, *given), Jacobians(), name, program))


def extended_smoother(
    y: Any,
    transition: Any,
    observation: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any,
    initial_state_cov: Any,
    params: Any = (),
    inputs: Any = None,
    *,
    program: bool = True,
) -> SmootherResult:
    """States of a nonlinear model given all the data, by the extended Kalman smoother.

    Parameters
    ----------
    y : (T, p) or, for p = 1, (T,) array
        Observations; NaN is missing, element by element.
    transition, ..., inputs
        As :class:`NonlinearModel` describes them: ``extended_smoother(y, *model)``.
    program : bool
        False calls `transition` and `observation` in every step, with their prints and counters; slower.

    Returns
    -------
    SmootherResult

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError, OverflowError
        As :func:`extended_loglikelihood` does.

    Notes
    -----
    :func:`kalman_smoother` of the tangents that the filter has used: Särkkä (2013), section 9.1, in a form
    that inverts no covariance of states.  Differentiable to any order; a filter, and a smoother of a linear
    model.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> model = statespace.NonlinearModel(
    ...     lambda x: x + 0.5 * x * (1 - x), lambda x: x, [[1e-4]], [1e-3], [0.1], [[1e-3]])
    >>> statespace.extended_smoother([0.11, 0.16, np.nan, 0.3], *model).smoothed_state[:, 0].round(4)
    array([0.106 , 0.1535, 0.218 , 0.303 ])
    """
    name = "extended_smoother"
    given = transition, observation, state_cov, obs_cov, initial_state, initial_state_cov, params, inputs
    system = checked(name, y, *given)
    return kalman_smoother(system.data(), *linear_model(system, Jacobians(), name, program))
