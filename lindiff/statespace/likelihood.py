"""The log likelihood of a state-space model."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.statespace import composed, sweep
from lindiff.statespace.builders import arma
from lindiff.statespace.model import Model, beside_a_model, canonical, check_method, in_order

__all__ = ["loglikelihood"]

NO_OPTIONS = {"per_step": False, "method": None, "steady_tol": None, "checkpoint": None}


def loglikelihood(
    y: Any,
    transition: Any,
    design: Any = None,
    state_cov: Any = None,
    obs_cov: Any = None,
    initial_state: Any = None,
    initial_state_cov: Any = None,
    state_intercept: Any = None,
    obs_intercept: Any = None,
    diffuse: Any = None,
    *,
    per_step: bool = False,
    method: str | None = None,
    steady_tol: float | None = None,
    checkpoint: bool | None = None,
) -> Any:
    """Log likelihood of a linear Gaussian state-space model.

    ::

        x[t+1] = transition x[t] + state_intercept + h[t],   h[t] ~ N(0, state_cov)
        y[t]   = design x[t] + obs_intercept + v[t],         v[t] ~ N(0, obs_cov)
        x[0] ~ N(initial_state, initial_state_cov)

    Parameters
    ----------
    y : (T, p), (S, T, p) or, for p = 1, (T,) array
        Observations, of one series or of many; NaN is missing, element by element.
    transition, ..., diffuse
        As :class:`Model` describes them: ``loglikelihood(y, *model)``.  In their place a Model itself may be
        given, ``loglikelihood(y, model)``: that of an ARIMA process by its coefficients, see below.
    per_step : bool
        The log densities of each step given those before, instead of their sum; in forward mode these are
        the scores of each step by some parameters.
    method : {None, "composed", "square_root"}
        None: a compiled sweep each way and for Hessian products; a loop over time for higher derivatives.
        "composed": that loop for everything, in public operators, a hundred times slower.
        "square_root": that loop with LQ factorizations of factors of the covariances, whose condition number
        is the square root of theirs: for models so ill-conditioned that covariances become indefinite.
        Derivatives are no more precise than those of the other forms.
    steady_tol : float, optional
        When no entry of the predicted covariance is going to change by more than this, relative to its own
        scale, it is taken as constant until a value is missing; the same holds for the sweep backward.  0:
        never.  By default 50 units in the last place (float32: 4), which gradients hardly show.
    checkpoint : bool, optional
        Keep what the gradient needs of about √T steps at a time, and run the filter again in blocks on the
        way back.  By default for series so long that n² + np + p² numbers a step are more than 100 MB.

    Returns
    -------
    number, or (S,) array; with `per_step` (T,) or (S, T) array
        One for each series, if `y` or a system matrix has an axis of series.  With diffuse states the limit
        of ``log p(y) + d/2 log κ`` as their d variances κ grow; step by step, d is the number of those that a
        step determines with what the steps before have left of them.

    Raises
    ------
    TypeError
        If an array is complex, or others are given beside a Model.
    ValueError
        If shapes do not fit, numbers other than y are not finite, a covariance is not symmetric, or the data
        do not determine the diffuse states.
    numpy.linalg.LinAlgError
        If the covariance of the observations is not positive definite; names the step and the series.
    OverflowError
        If predictions overflow, as unstable models do; names the step and the series.

    Notes
    -----
    Differentiable with respect to every array.  Covariances have symmetric gradients, missing values zero.

    A step costs about 4n³ + 4n²p + 3np² + p³/3 flops, once for all series that share the system matrices and
    the missing values; 2n² + 4np more for each series.  Gradients of `per_step` likelihoods, in which each
    step has a weight of its own, take some 8n³ a step; of NumPy's arrays they are compiled, too.

    Of a model of :func:`arma` or :func:`sarima` without noise of observations, and one series of which
    nothing is missing, ``loglikelihood(y, model)`` and its gradient run Chandrasekhar's recursion on the
    differences: some 30n flops a step in all, and the matrices are not touched.  Second derivatives are those
    of the sweep.

    CuPy arrays: all series in one launch forward and one backward, each with its own covariances, which do
    not come to rest.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> y = np.array([1.0, np.nan, 3.0, 2.0])
    >>> def loglik(variances):
    ...     one = np.eye(1)
    ...     model = ld.statespace.Model(one, one, variances[0] * one, variances[1] * one, diffuse=True)
    ...     return ld.statespace.loglikelihood(y, *model)
    >>> value, gradient = ld.value_and_grad(loglik)(np.array([0.5, 1.0]))
    >>> print(round(float(value), 6), gradient.round(6))
    -4.385024 [-0.224852 -0.195266]
    """
    name = "loglikelihood"
    if isinstance(transition, Model):
        others = design, state_cov, obs_cov, initial_state, initial_state_cov, state_intercept, obs_intercept
        if any(x is not None for x in (*others, diffuse)):
            raise beside_a_model(name)
        return _of_model(
            y, transition, per_step=per_step, method=method, steady_tol=steady_tol, checkpoint=checkpoint
        )
    _check_steady_tol(name, steady_tol)
    check_method(name, method)
    ordinary = y, transition, design, state_cov, obs_cov, initial_state, initial_state_cov
    of_sums = method is None and not per_step
    if of_sums and state_intercept is obs_intercept is None:
        if diffuse is not None:
            found = sweep.loglikelihood_from_diffuse(ordinary, diffuse, name, steady_tol, checkpoint)
            if found is not None:
                return found
        elif in_order(ordinary):
            return sweep.loglikelihood_in_order(ordinary, name, steady_tol, checkpoint)
    start = initial_state, initial_state_cov, state_intercept, obs_intercept, diffuse
    system = canonical(name, y, transition, design, state_cov, obs_cov, *start)
    swept = method is None and sweep.has_sweep(system)
    if swept and not per_step:
        result = sweep.loglikelihoods(system, name, steady_tol, checkpoint)
    elif swept:
        result = sweep.step_loglikelihoods(system, name, steady_tol)
    else:
        result = composed.loglikelihoods(system, name, method, per_step)
    return result if system.many else result[0]


def _of_model(y: Any, model: Model, **options: Any) -> Any:
    """By the numbers of its process, if it has such, and nothing else is asked for."""
    process = model.process if options == NO_OPTIONS else None
    found = None if process is None else _of_process(y, model.obs_intercept, *process)
    return loglikelihood(y, *model, **options) if found is None else found


def _of_process(y: Any, intercept: Any, past: Any, ar: Any, ma: Any, innovation_var: Any) -> Any:
    """The likelihood of the differences, to which the diffuse past adds a constant; None, if it is not so."""
    m = past.size
    if type(value(y)) is not np.ndarray or y.ndim > 2 or y.shape[1:] not in ((), (1,)) or len(y) <= m:
        return None
    y = np.reshape(y, len(y))
    if intercept is not None:
        if np.shape(intercept) not in ((1,), (1, 1), (len(y), 1)):
            return None
        y = y - np.reshape(intercept, -1)
    differences = np.convolve(y, np.concatenate([np.ones(1), -past]), "valid") if m else y
    found = sweep.arma_loglikelihood(differences, ar, ma, innovation_var, _of_arma)
    return None if found is None else found - 0.5 * LOG_TWO_PI * m


def _of_arma(y: Any, ar: Any, ma: Any, innovation_var: Any) -> Any:
    return loglikelihood(y, *arma(ar, ma, innovation_var))


def _check_steady_tol(name: str, steady_tol: Any) -> None:
    fits = isinstance(steady_tol, float | int | np.floating) and 0 <= steady_tol < 1
    if steady_tol is not None and not fits:
        raise ValueError(f"{name}: steady_tol must be a number from 0 (never) to 1, not {steady_tol!r}")
