"""Regression on explanatory variables: a design that varies with time."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.statespace.builders._arguments import check_shape, reals
from lindiff.statespace.components import Component
from lindiff.statespace.model import Model

__all__ = ["regression"]


def regression(exog: Any, coefficient_var: Any = 0.0, obs_var: Any = 0.0) -> Model:
    """A regression ``y_t = x_t b_t + v_t`` whose coefficients are constant or random walks.

    Parameters
    ----------
    exog : (T, k) or (T, p, k) array
        x_t, for one or p series.  To forecast, it has to reach as far as the forecasts.
    coefficient_var : number or (k,) array
        Variances of ``b_{t+1} - b_t``: zeros for constant coefficients.
    obs_var : number or (p,) array
        Variances of v.

    Returns
    -------
    Model
        k states, the coefficients, diffuse.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real arrays, their shapes do not fit together, or `exog` has NaN.

    Notes
    -----
    Durbin & Koopman (2012), section 3.6.  With constant coefficients the smoothed state at any time is their
    generalized least squares estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> x = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> model = statespace.regression(x, obs_var=1.0)
    >>> model.design.shape
    (3, 1, 2)
    """
    name = "regression"
    exog, coefficient_var, obs_var = reals(name, exog=exog, coefficient_var=coefficient_var, obs_var=obs_var)
    check_shape(name, "exog", exog, "Tk", "Tpk")
    if np.isnan(value(exog)).any():
        raise ValueError(f"{name}: exog has NaN; only observations can be missing")
    design = exog[:, None] if exog.ndim == 2 else exog
    _, p, k = design.shape
    if coefficient_var.shape not in ((), (k,)) or obs_var.shape not in ((), (p,)):
        raise ValueError(
            f"{name}: exog of shape {exog.shape}, coefficient_var of shape {coefficient_var.shape} and "
            f"obs_var of shape {obs_var.shape} do not fit together: ({k},) and ({p},) are needed, or numbers"
        )
    return Model(
        transition=placed(np.eye(k, dtype=design.dtype), design),
        design=design,
        state_cov=np.diag(np.broadcast_to(coefficient_var, (k,))),
        obs_cov=np.broadcast_to(obs_var, (p,)),
        diffuse=np.ones(k, bool),
    ).of_components((Component("regression", tuple(f"coefficient[{i}]" for i in range(k))),))
