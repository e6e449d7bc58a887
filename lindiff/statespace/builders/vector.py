"""Several series at once: vector autoregressions and dynamic factors.

Lütkepohl (2005), New Introduction to Multiple Time Series Analysis, sections 2.1 and 18.2; Durbin & Koopman
(2012), Time Series Analysis by State Space Methods, section 3.7.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed, zeros_beside
from lindiff.statespace.builders._arguments import check_shape, reals
from lindiff.statespace.components import Component
from lindiff.statespace.initialization import stationary_initialization
from lindiff.statespace.model import Model

__all__ = ["dynamic_factor", "var"]


def var(coefficients: Any, innovation_cov: Any, intercept: Any = None, obs_var: Any = 0.0) -> Model:
    """A stationary vector autoregression: ``y_t = c + Σ A_i y_{t-i} + e_t``.

    Parameters
    ----------
    coefficients : (k, p, p) or (p, p) array
        A_1, …, A_k, or A_1 alone.
    innovation_cov : (p, p) array
        Covariance of e.
    intercept : (p,) array, optional
        c; zero if not given.
    obs_var : number or (p,) array
        Variances of noise of the observations.

    Returns
    -------
    Model
        kp states, ``y_t, y_{t-1}, …, y_{t-k+1}``, from their stationary distribution on.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real arrays, their shapes do not fit together, or the process is not
        stationary.

    Notes
    -----
    The companion form, Lütkepohl (2005), eq. 2.1.8.  The stationary distribution costs O((kp)³) flops.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> statespace.var(np.diag([0.5, 0.0]), np.eye(2)).initial_state_cov.round(4)
    array([[1.3333, 0.    ],
           [0.    , 1.    ]])
    """
    coefficients, innovation_cov, obs_var = reals(
        "var", coefficients=coefficients, innovation_cov=innovation_cov, obs_var=obs_var
    )
    check_shape("var", "coefficients", coefficients, "pp", "kpp")
    check_shape("var", "innovation_cov", innovation_cov, "pp")
    check_shape("var", "obs_var", obs_var, "", "p")
    lags = coefficients[None] if coefficients.ndim == 2 else coefficients
    k, p, _ = lags.shape
    dtype = lags.dtype
    if lags.shape != (k, p, p) or innovation_cov.shape != (p, p) or obs_var.shape not in ((), (p,)) or not k:
        raise ValueError(
            f"var: coefficients of shape {coefficients.shape}, innovation_cov of shape "
            f"{innovation_cov.shape} and obs_var of shape {obs_var.shape} do not fit together: "
            f"(k, p, p), (p, p) and (p,) are needed"
        )
    n = k * p
    transition = _companion(lags)
    state_cov = np.pad(innovation_cov, (0, n - p))
    state_intercept = None
    if intercept is not None:
        (state_intercept,) = reals("var", intercept=intercept)
        if state_intercept.shape != (p,):
            raise ValueError(
                f"var: intercept of shape {state_intercept.shape} does not fit to coefficients of shape "
                f"{coefficients.shape}: ({p},) is needed"
            )
        state_intercept = np.pad(state_intercept, (0, n - p))
    initial_state, initial_state_cov = stationary_initialization(transition, state_cov, state_intercept)
    return Model(
        transition=transition,
        design=placed(np.eye(p, n, dtype=dtype), lags),
        state_cov=state_cov,
        obs_cov=np.broadcast_to(obs_var, (p,)),
        initial_state=initial_state,
        initial_state_cov=initial_state_cov,
        state_intercept=state_intercept,
    ).of_components((_lagged("var", p, k),))


def _lagged(name: str, p: int, lags: int) -> Component:
    """p numbers of now and of the steps before."""
    return Component(
        name, tuple(f"{name}[{i}]" + (f".L{lag}" if lag else "") for lag in range(lags) for i in range(p))
    )


def dynamic_factor(
    loadings: Any, factor_ar: Any, obs_var: Any, error_ar: Any = None, factor_cov: Any = None
) -> Model:
    """Many series that follow a few stationary factors: ``y_t = Λ f_t + u_t``, ``f_t = Σ A_i f_{t-i} + e_t``.

    Parameters
    ----------
    loadings : (p, k) array
        Λ.
    factor_ar : (order, k, k) or (k, k) array
        A_1, …, or A_1 alone.
    obs_var : (p,) array
        Variances of the idiosyncratic parts u or, with `error_ar`, of their innovations.
    error_ar : (p,) array, optional
        ρ of ``u_{t,i} = ρ_i u_{t-1,i} + innovation``, which makes the idiosyncratic parts states.  White
        noise if not given.
    factor_cov : (k, k) array, optional
        Covariance of e; by default the unit matrix, which fixes the scale of the factors.

    Returns
    -------
    Model
        ``order · k`` states, the factors now and before, and p more with `error_ar`; from their stationary
        distribution on.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real arrays, their shapes do not fit together, or the factors or idiosyncratic
        parts are not stationary.

    Notes
    -----
    Factors and loadings are determined up to an invertible matrix, orthogonal if `factor_cov` is the unit
    matrix: restrict the loadings, to a lower triangle with positive diagonal for instance, or read nothing
    into single factors.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> model = statespace.dynamic_factor([[1.0], [0.5], [2.0]], [[0.9]], np.ones(3))
    >>> model.transition.shape, model.design.shape, model.obs_cov.shape
    ((1, 1), (3, 1), (3,))
    """
    name = "dynamic_factor"
    loadings, factor_ar, obs_var = reals(name, loadings=loadings, factor_ar=factor_ar, obs_var=obs_var)
    check_shape(name, "loadings", loadings, "pk")
    check_shape(name, "factor_ar", factor_ar, "kk", "okk")
    p, k = loadings.shape
    if factor_ar.shape[-2:] != (k, k) or obs_var.shape != (p,):
        raise ValueError(
            f"{name}: loadings of shape {loadings.shape}, factor_ar of shape {factor_ar.shape} and obs_var "
            f"of shape {obs_var.shape} do not fit together: (p, k), (order, k, k) and (p,) are needed"
        )
    factors = var(
        factor_ar, placed(np.eye(k, dtype=loadings.dtype), loadings) if factor_cov is None else factor_cov
    )
    order = factors.transition.shape[-1] // k
    common = factors._replace(design=loadings @ factors.design, obs_cov=obs_var)
    common = common.of_components((_lagged("factor", k, order),))
    if error_ar is None:
        return common
    (error_ar,) = reals(name, error_ar=error_ar)
    if error_ar.shape != (p,):
        raise ValueError(
            f"{name}: error_ar must be of shape ({p},), one for each series, got {error_ar.shape}"
        )
    own = var(np.diag(error_ar), np.diag(obs_var)).of_components((_lagged("own", p, 1),))
    return common._replace(obs_cov=zeros_beside(loadings, (p,), loadings.dtype)) + own


def _companion(lags: Any) -> Any:
    """The transition of ``(y_t, …, y_{t-k+1})``."""
    k, p, _ = lags.shape
    top = np.reshape(np.swapaxes(lags, 0, 1), (p, k * p))
    return np.concatenate([top, placed(np.eye((k - 1) * p, k * p, dtype=lags.dtype), lags)])
