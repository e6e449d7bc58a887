"""A step of expectation maximization: the likeliest matrices for the states as the data show them.

Shumway & Stoffer (1982), "An approach to time series smoothing and forecasting using the EM algorithm"; the
likelihood never falls.  In terms of the disturbances h and v, with all expectations given the data::

    S_hh = Σ E[h hᵀ],    S_hx = Σ E[h xᵀ],    S_xx = Σ E[x xᵀ]
    A + S_hx S_xx⁻¹  for A,    (S_hh - S_hx S_xx⁻¹ S_hxᵀ) / (T - 1)  for Q,    Σ E[v vᵀ] / T  for R

where Q is ``S_hh / (T - 1)`` if A stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.kernels.matmul import product
from lindiff.linalg._matrices import hermitian_part
from lindiff.statespace.answers.contributions import Moments
from lindiff.statespace.answers.disturbances import Disturbances
from lindiff.statespace.answers.extending import from_state
from lindiff.statespace.model import Model

__all__ = ["PARTS", "maximized"]

PARTS = ("transition", "state_cov", "obs_cov", "initial_state")


def maximized(
    model: Model, smoothed: Moments, crossed: Any, found: Disturbances, parts: tuple[str, ...]
) -> Model:
    """The constant matrices of one series that are likeliest, given the moments of its states.

    Parameters
    ----------
    model : Model
    smoothed : Moments
        Of the states given the data.
    crossed : (T - 1, n, n) array
        ``Cov[x[t+1], x[t] | y]``.
    found : Disturbances
    parts : tuple of str
        Of PARTS.
    """
    changed: dict[str, Any] = {}
    means, covs, T = smoothed.means[:-1], smoothed.covs[:-1], len(smoothed.means)
    S_hh = product(found.state[:-1].T, found.state[:-1]) + np.sum(found.state_cov[:-1], axis=0)
    if "transition" in parts:
        S_hx = product(found.state[:-1].T, means) + np.sum(crossed - product(model.transition, covs), axis=0)
        S_xx = product(means.T, means) + np.sum(covs, axis=0)
        step = np.linalg.solve(S_xx, S_hx.T).T
        changed["transition"] = model.transition + step
        S_hh = S_hh - product(step, S_hx.T)
    if "state_cov" in parts:
        changed["state_cov"] = hermitian_part(S_hh) / (T - 1)
    if "obs_cov" in parts:
        R = hermitian_part(product(found.obs.T, found.obs) + np.sum(found.obs_cov, axis=0)) / T
        is_row = model.obs_cov.ndim == 1 or model.obs_cov.shape[-2] != model.obs_cov.shape[-1]
        changed["obs_cov"] = np.diagonal(R).reshape(model.obs_cov.shape) if is_row else R
    if "initial_state" in parts:
        model = from_state(model, smoothed.means[0], smoothed.covs[0])
    return model._replace(**changed)
