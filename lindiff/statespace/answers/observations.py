"""Observations given all the data: what was seen is known, what is missing follows from states and noise.

Noise of what is missing is known as far as it moves with that of what was seen, ``v = y - B x - d``.  With
a gain K, ``E[v | v_o] = K v`` (``K_mo = R_mo R_oo⁻¹``, ``K_oo = I``, zero for what is missing)::

    E[y | y_o] = B x̂ + d + K (y - B x̂ - d),   Var[y | y_o] = (I - K) (B P Bᵀ + R) (I - K)ᵀ

with mean x̂ and covariance P of the states given all the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.kernels.matmul import product
from lindiff.statespace.answers.contributions import Moments
from lindiff.statespace.answers.disturbances import over_time
from lindiff.statespace.model import Model

__all__ = ["expected_observations", "imputed", "signal"]


def expected_observations(model: Model, y: Any, states: Any) -> Any:
    """Of one step of a constant model, given all the data: what is observed is known.

    Parameters
    ----------
    model : Model
    y : (k, p) array
        The observations of this step in k sets of data, with the same ones missing.
    states : (k, n) array
        Means of the states of this step, given the data.
    """
    timed = over_time(model, 1)
    means = product(states, timed.design[0].T) + timed.obs_intercept[0]
    return _filled(means, y, _gain(timed.obs_cov[0], ~np.isnan(y[0])))


def signal(model: Model, smoothed: Moments) -> tuple[Any, Any]:
    """Means (T, p) and covariances (T, p, p) of what is observed but for its noise, ``B x + d``."""
    timed = over_time(model, len(smoothed.means))
    means = (timed.design @ smoothed.means[:, :, None])[..., 0] + timed.obs_intercept
    return means, product(timed.design, smoothed.covs, np.swapaxes(timed.design, -1, -2))


def imputed(model: Model, y: Any, means: Any, covs: Any) -> tuple[Any, Any]:
    """Means and variances of the observations y (T, p) given all of them: for what was seen, it and zero.

    Parameters
    ----------
    model : Model
    y : (T, p) array
    means, covs : (T, p) and (T, p, p) arrays
        Of their signals, given y.

    Notes
    -----
    O(p³) flops for each pattern of missing values; for each step if obs_cov varies with time.
    """
    R, seen = over_time(model, len(y)).obs_cov, ~np.isnan(y)
    if R.strides[0]:
        gain = _gain(R, seen)
    else:  # one matrix for all steps
        patterns, which = np.unique(seen, axis=0, return_inverse=True)
        gain = _gain(R[0], patterns)[which.reshape(-1)]
    left = np.eye(y.shape[1]) - gain
    variances = np.einsum("tij,tjk,tik->ti", left, covs + R, left, optimize=True)
    return _filled(means, y, gain), np.where(seen, 0.0, variances)


def _gain(R: Any, seen: Any) -> Any:
    """K, (…, p, p), for masks (…, p) of what was seen."""
    both = seen[..., :, None] & seen[..., None, :]
    inverse = np.where(both, np.linalg.pinv(np.where(both, R, 0.0), hermitian=True), 0.0)
    return np.where(seen[..., :, None], np.eye(R.shape[-1]), R @ inverse)


def _filled(means: Any, y: Any, gain: Any) -> Any:
    """What is expected of observations y (k, p) whose signals have these means."""
    seen = ~np.isnan(y)
    noise = np.where(seen, y - means, 0.0)
    return np.where(seen, y, means + (gain @ noise[..., None])[..., 0])
