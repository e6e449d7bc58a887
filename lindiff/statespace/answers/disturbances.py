"""Smoothed disturbances and what belongs to them: the slopes of the log likelihood say it all.

With ``ℓ = log p(y)`` and intercepts c of the states and d of the observations (Durbin & Koopman 2012,
sections 4.5.1 to 4.5.3; Koopman & Shephard 1992, "Exact score for time series models in state space form")::

    r = ∂ℓ/∂c[t],   E[h[t] | y] = Q r,   ∂ℓ/∂Q[t] = ½ (r rᵀ - N),   Var[h[t] | y] = Q - Q N Q
    u = ∂ℓ/∂d[t],   E[v[t] | y] = R u,   ∂ℓ/∂R[t] = ½ (u uᵀ - D),   Var[v[t] | y] = R - R D R
    ∂ℓ/∂A[t] = r E[x[t] | y]ᵀ + Q⁻¹ Cov[h[t], x[t] | y]

so that one gradient, a sweep each way, gives them for every step, with singular Q and R and diffuse starts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.statespace.likelihood import loglikelihood
from lindiff.statespace.model import Model
from lindiff.transforms.reverse import grad

__all__ = ["Disturbances", "disturbances", "lag_one_covariances", "over_time"]


class Disturbances(NamedTuple):
    """What the data say of the disturbances h and v, step by step.

    Attributes
    ----------
    state : (T, n) array
        Means of h given all the data; the last one, which no data tell of, is zero.
    state_cov : (T, n, n) array
        Covariances of h given all the data.
    obs : (T, p) array
        Means of v; where y is missing, as far as it moves with what is not.
    obs_cov : (T, p, p) array
    auxiliary_state : (T, n) array
        `state` over the standard deviation that it has in such data (Harvey & Koopman 1992): standard normal,
        though correlated, if the model is right.  NaN where there is no disturbance.
    auxiliary_obs : (T, p) array
    """

    state: Any
    state_cov: Any
    obs: Any
    obs_cov: Any
    auxiliary_state: Any
    auxiliary_obs: Any


def over_time(model: Model, steps: int) -> Model:
    """With an axis of time for all that may have one, and obs_cov as matrices.

    Parameters
    ----------
    model : Model
        Of one series.
    steps : int
        T.
    """
    p, n = model.design.shape[-2:]

    def timed(x: Any, core: tuple[int, ...]) -> Any:
        return np.zeros((steps, *core)) if x is None else np.broadcast_to(x, (steps, *core))

    R = model.obs_cov
    if R.ndim == 1 or R.shape[-2] != R.shape[-1]:
        variances = R if R.ndim == 1 else R[..., 0, :]
        R = variances[..., :, None] * np.eye(p)
    return model._replace(
        transition=timed(model.transition, (n, n)),
        design=timed(model.design, (p, n)),
        state_cov=timed(model.state_cov, (n, n)),
        obs_cov=timed(R, (p, p)),
        state_intercept=timed(model.state_intercept, (n,)),
        obs_intercept=timed(model.obs_intercept, (p,)),
    )


def disturbances(model: Model, y: Any) -> Disturbances:
    """Those of one series y (T, p)."""
    timed = over_time(model, len(y))
    of_Q, of_R, r, u = _slopes(timed, y, ("state_cov", "obs_cov", "state_intercept", "obs_intercept"))
    Q, R = timed.state_cov, timed.obs_cov
    state, state_var = _means_and_variances(Q, r, of_Q)
    obs, obs_var = _means_and_variances(R, u, of_R)
    return Disturbances(
        state,
        Q - state_var,
        obs,
        R - obs_var,
        _standardized(state, state_var, Q),
        _standardized(obs, obs_var, R),
    )


def lag_one_covariances(model: Model, y: Any, smoothed: Any) -> Any:
    """``Cov[x[t+1], x[t] | y]``, (T - 1, n, n), for the smoothed means and covariances (T, n), (T, n, n)."""
    timed = over_time(model, len(y))
    of_A, r = _slopes(timed, y, ("transition", "state_intercept"))
    means, covs = smoothed
    crossed = timed.state_cov @ (of_A - r[:, :, None] * means[:, None, :])
    return (timed.transition @ covs + crossed)[:-1]


def _slopes(timed: Model, y: Any, names: tuple[str, ...]) -> tuple[Any, ...]:
    """Of the log likelihood by fields of a model with an axis of time."""

    def of_fields(fields: tuple[Any, ...]) -> Any:
        return loglikelihood(y, *timed._replace(**dict(zip(names, fields, strict=True))))

    slopes: tuple[Any, ...] = grad(of_fields)(tuple(getattr(timed, name) for name in names))
    return slopes


def _means_and_variances(cov: Any, slope: Any, of_cov: Any) -> tuple[Any, Any]:
    """``Q r`` and ``Q N Q``, which is the covariance that ``Q r`` has over all data of this kind."""
    N = slope[:, :, None] * slope[:, None, :] - 2 * of_cov
    return (cov @ slope[..., None])[..., 0], cov @ N @ cov


def _standardized(mean: Any, variance: Any, cov: Any) -> Any:
    """NaN where the variance is zero, but for rounding."""
    spread = np.diagonal(variance, axis1=-2, axis2=-1)
    known = spread > 1e-12 * np.diagonal(cov, axis1=-2, axis2=-1)
    return np.where(known, mean / np.sqrt(np.where(known, spread, 1.0)), np.nan)
