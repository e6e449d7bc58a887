"""The unscented Kalman filter: functions are seen at sigma points."""

from __future__ import annotations

from typing import Any

from lindiff.statespace.filtering import FilterResult
from lindiff.statespace.nonlinear.approximations import SigmaPoints
from lindiff.statespace.nonlinear.model import checked
from lindiff.statespace.nonlinear.recursion import filter_moments, linear_model, loglikelihood
from lindiff.statespace.smoothing import SmootherResult, kalman_smoother

__all__ = ["sigma_points", "unscented_filter", "unscented_loglikelihood", "unscented_smoother"]


def unscented_loglikelihood(
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
    alpha: float = 1.0,
    beta: float = 2.0,
    kappa: float = 0.0,
    per_step: bool = False,
    program: bool = True,
) -> Any:
    """Log likelihood of a nonlinear state-space model by the unscented Kalman filter.

    Parameters
    ----------
    y : (T, p) or, for p = 1, (T,) array
        Observations; NaN is missing, element by element.
    transition, ..., inputs
        As :class:`NonlinearModel` describes them: ``unscented_loglikelihood(y, *model)``.
    alpha, beta, kappa : float
        Of van der Merwe's scaled sigma points: they are ``alpha √(n + kappa)`` standard deviations away from
        the mean, and `beta` weighs the square of what curvature adds to it, 2 for a Gaussian.  Covariances
        are positive semidefinite for ``beta >= alpha²``.  Others begin with ``alpha=1e-3`` (van der Merwe,
        MATLAB), near to a Taylor series, where results keep some 10 digits, or with ``alpha=√3, kappa=1``
        (dynamax).
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
        If arguments are no functions and real arrays, shapes do not fit, or `alpha` or ``n + kappa`` is not
        positive.
    numpy.linalg.LinAlgError
        If the covariance of the observations is not positive definite, or that of the state indefinite; names
        the step.
    OverflowError
        If states are not finite; names the step.

    Notes
    -----
    Särkkä (2013), Bayesian Filtering and Smoothing, algorithm 5.14, with the sigma points of van der Merwe
    (2004), Sigma-point Kalman filters for probabilistic inference in dynamic state-space models, section
    3.2.2.  Derivatives of the functions are not needed, but for derivatives of this one.
    Differentiable to any order with respect to all arrays: data, covariances, start, params and inputs.  A
    known start, whose covariance is zero, takes longer for its step.

    Programs as :func:`extended_loglikelihood` has them.  A step takes both functions 2n + 1 times, and about
    ``6n³ + 8n²p + 3np² + p³`` flops.

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
    ...     return statespace.unscented_loglikelihood(y, *model)
    >>> value, slope = ld.value_and_grad(loglikelihood)(0.5)
    >>> print(f"{value:.4f} {slope:.4f}")
    8.0338 -7.1321
    """
    name = "unscented_loglikelihood"
    given = transition, observation, state_cov, obs_cov, initial_state, initial_state_cov, params, inputs
    system = checked(name, y, *given)
    by = sigma_points(name, len(system.initial_state), alpha, beta, kappa)
    return loglikelihood(system, by, name, program, per_step)


def unscented_filter(
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
    alpha: float = 1.0,
    beta: float = 2.0,
    kappa: float = 0.0,
    program: bool = True,
) -> FilterResult:
    """States of a nonlinear model given the data before and up to each step, by the unscented Kalman filter.

    Parameters
    ----------
    y : (T, p) or, for p = 1, (T,) array
        Observations; NaN is missing, element by element.  Steps without any at the end are forecasts.
    transition, ..., inputs
        As :class:`NonlinearModel` describes them: ``unscented_filter(y, *model)``.
    alpha, beta, kappa, program
        As :func:`unscented_loglikelihood` takes them.

    Returns
    -------
    FilterResult

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError, OverflowError
        As :func:`unscented_loglikelihood` does.

    Notes
    -----
    As for :func:`unscented_loglikelihood`; differentiable in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> model = statespace.NonlinearModel(
    ...     lambda x: x + 0.5 * x * (1 - x), lambda x: x, [[1e-4]], [1e-3], [0.1], [[1e-3]])
    >>> found = statespace.unscented_filter([0.11, 0.16, np.nan], *model)
    >>> found.filtered_state[:, 0].round(4), found.forecast[:, 0].round(4)
    (array([0.105 , 0.156 , 0.2216]), array([0.1   , 0.1517, 0.2216]))
    """
    name = "unscented_filter"
    given = transition, observation, state_cov, obs_cov, initial_state, initial_state_cov, params, inputs
    system = checked(name, y, *given)
    by = sigma_points(name, len(system.initial_state), alpha, beta, kappa)
    return FilterResult(*filter_moments(system, by, name, program))


def unscented_smoother(
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
    alpha: float = 1.0,
    beta: float = 2.0,
    kappa: float = 0.0,
    program: bool = True,
) -> SmootherResult:
    """States of a nonlinear model given all the data, by the unscented Rauch-Tung-Striebel smoother.

    Parameters
    ----------
    y : (T, p) or, for p = 1, (T,) array
        Observations; NaN is missing, element by element.
    transition, ..., inputs
        As :class:`NonlinearModel` describes them: ``unscented_smoother(y, *model)``.
    alpha, beta, kappa, program
        As :func:`unscented_loglikelihood` takes them.

    Returns
    -------
    SmootherResult

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError, OverflowError
        As :func:`unscented_loglikelihood` does.

    Notes
    -----
    Särkkä (2008), Unscented Rauch-Tung-Striebel smoother, as :func:`kalman_smoother` of the linear model
    whose lines and errors the sigma points of the filter give: that inverts no covariance of states.
    Differentiable to any order; a filter, and a smoother of a linear model.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> model = statespace.NonlinearModel(
    ...     lambda x: x + 0.5 * x * (1 - x), lambda x: x, [[1e-4]], [1e-3], [0.1], [[1e-3]])
    >>> statespace.unscented_smoother([0.11, 0.16, np.nan, 0.3], *model).smoothed_state[:, 0].round(4)
    array([0.1063, 0.1537, 0.2181, 0.3026])
    """
    name = "unscented_smoother"
    given = transition, observation, state_cov, obs_cov, initial_state, initial_state_cov, params, inputs
    system = checked(name, y, *given)
    by = sigma_points(name, len(system.initial_state), alpha, beta, kappa)
    return kalman_smoother(system.data(), *linear_model(system, by, name, program))


def sigma_points(name: str, n: int, alpha: Any = 1.0, beta: Any = 2.0, kappa: Any = 0.0) -> SigmaPoints:
    """Of n states, checked.

    Raises
    ------
    TypeError, ValueError
        As the public function `name` does.
    """
    for argument, x in (("alpha", alpha), ("beta", beta), ("kappa", kappa)):
        if not isinstance(x, int | float):
            raise TypeError(f"{name}: {argument} is a number, got {type(x).__name__}")
    if not alpha > 0 or not n + kappa > 0:
        raise ValueError(
            f"{name}: alpha and n + kappa must be positive, got alpha={alpha} and kappa={kappa} with n={n}"
        )
    return SigmaPoints(float(alpha), float(beta), float(kappa))
