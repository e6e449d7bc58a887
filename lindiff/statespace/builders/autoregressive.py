"""Autoregressive moving averages of one series, seasonal and integrated.

Harvey (1989), Forecasting, Structural Time Series Models and the Kalman Filter, section 3.3.3; Durbin &
Koopman (2012), Time Series Analysis by State Space Methods, section 3.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.statespace.builders._arguments import check_integer, check_shape, reals
from lindiff.statespace.initialization import stationary_initialization
from lindiff.statespace.model import Model

__all__ = ["arma", "sarima"]


def arma(ar: Any, ma: Any, innovation_var: Any, obs_var: Any = 0.0) -> Model:
    """A stationary ARMA process: ``y_t = Σ ar_i y_{t-i} + e_t + Σ ma_j e_{t-j}``.

    Parameters
    ----------
    ar : (p,) array
        May be empty: ``()``.
    ma : (q,) array
    innovation_var, obs_var : number
        Variances of e, and of noise of the observations.

    Returns
    -------
    Model
        ``max(p, q + 1)`` states, from their stationary distribution on.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real vectors and numbers, or the process is not stationary.

    Notes ----- Durbin & Koopman (2012), eq. 3.17.  The stationary distribution costs a discrete Lyapunov
    equation, O(n³) for n states.

    Examples
    --------
    >>> from lindiff import statespace
    >>> model = statespace.arma(ar=[0.5], ma=[0.4], innovation_var=1.0)
    >>> model.transition
    array([[0.5, 1. ],
           [0. , 0. ]])
    >>> model.state_cov
    array([[1.  , 0.4 ],
           [0.4 , 0.16]])
    """
    ar, ma, innovation_var, obs_var = reals(
        "arma", ar=ar, ma=ma, innovation_var=innovation_var, obs_var=obs_var
    )
    check_shape("arma", "ar", ar, "p")
    check_shape("arma", "ma", ma, "q")
    return _arma("arma", ar, ma, innovation_var, obs_var)


def sarima(
    ar: Any,
    ma: Any,
    innovation_var: Any,
    obs_var: Any = 0.0,
    *,
    difference: int = 0,
    period: int | None = None,
    seasonal_ar: Any = (),
    seasonal_ma: Any = (),
    seasonal_difference: int = 0,
) -> Model:
    """A seasonal ARIMA process, SARIMA(p, d, q)×(P, D, Q) of a period s.

    ``φ(L) Φ(Lˢ) (1 - L)ᵈ (1 - Lˢ)ᴰ y_t = θ(L) Θ(Lˢ) e_t`` with the lag operator L,
    ``φ(L) = 1 - Σ ar_i Lⁱ``, ``Φ(Lˢ) = 1 - Σ seasonal_ar_i Lˢⁱ``,
    ``θ(L) = 1 + Σ ma_i Lⁱ``, ``Θ(Lˢ) = 1 + Σ seasonal_ma_i Lˢⁱ``.

    Parameters
    ----------
    ar, ma : (p,) and (q,) arrays
        May be empty: ``()``.
    innovation_var, obs_var : number
        Variances of e, and of noise of the observations.
    difference : int
        d.
    period : int, optional
        s, at least 2; needed if one of the seasonal arguments is given.
    seasonal_ar, seasonal_ma : (P,) and (Q,) arrays
    seasonal_difference : int
        D.

    Returns
    -------
    Model
        First the ``d + sD`` observations before now, diffuse; then ``max(p + sP, q + sQ + 1)`` states of
        the ARMA process of the differences, from their stationary distribution on.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real vectors and numbers, the period is missing, or the process of the
        differences is not stationary.

    Notes
    -----
    Nothing is lost to differencing: missing values stay single, and states and forecasts are those of y.  The
    likelihood is that of the differences times ``(2π)^(-(d + sD)/2)``, as statsmodels has it with
    ``SARIMAX(..., use_exact_diffuse=True)``.

    Examples
    --------
    The airline model:

    >>> from lindiff import statespace
    >>> model = statespace.sarima(
    ...     (), [-0.4], 1.3e-3, difference=1, period=12, seasonal_ma=[-0.6], seasonal_difference=1)
    >>> model.transition.shape, int(model.diffuse.sum())
    ((27, 27), 13)
    """
    ar, ma, innovation_var, obs_var, seasonal_ar, seasonal_ma = reals(
        "sarima",
        ar=ar,
        ma=ma,
        innovation_var=innovation_var,
        obs_var=obs_var,
        seasonal_ar=seasonal_ar,
        seasonal_ma=seasonal_ma,
    )
    for name, vector, letter in [("ar", ar, "p"), ("ma", ma, "q")]:
        check_shape("sarima", name, vector, letter)
    for name, vector, letter in [("seasonal_ar", seasonal_ar, "P"), ("seasonal_ma", seasonal_ma, "Q")]:
        check_shape("sarima", name, vector, letter)
    check_integer("sarima", "difference", difference, 0)
    check_integer("sarima", "seasonal_difference", seasonal_difference, 0)
    if period is not None:
        check_integer("sarima", "period", period, 2)
    elif seasonal_difference or seasonal_ar.size or seasonal_ma.size:
        raise ValueError("sarima: seasonal_ar, seasonal_ma and seasonal_difference need a period")
    period = period or 1
    differences = _arma(
        "sarima",
        -_product(-ar, -seasonal_ar, period),
        _product(ma, seasonal_ma, period),
        innovation_var,
        obs_var,
    )
    weights = _weights_of_the_past(difference, seasonal_difference, period).astype(ar.dtype)
    return _integrated(weights, differences) if len(weights) else differences


def _arma(name: str, ar: Any, ma: Any, innovation_var: Any, obs_var: Any) -> Model:
    check_shape(name, "innovation_var", innovation_var, "")
    check_shape(name, "obs_var", obs_var, "")
    n, dtype = max(ar.size, ma.size + 1), ar.dtype
    column = np.concatenate([ar, np.zeros(n - ar.size, dtype)])[:, None]
    loading = np.concatenate([np.ones(1, dtype), ma, np.zeros(n - 1 - ma.size, dtype)])
    transition = np.concatenate([column, np.eye(n, n - 1, dtype=dtype)], axis=1)
    state_cov = innovation_var * loading[:, None] * loading
    initial_state, initial_state_cov = stationary_initialization(transition, state_cov)
    return Model(
        transition=transition,
        design=np.eye(1, n, dtype=dtype),
        state_cov=state_cov,
        obs_cov=obs_var[None],
        initial_state=initial_state,
        initial_state_cov=initial_state_cov,
    )


def _product(a: Any, b: Any, period: int) -> Any:
    """Coefficients of L, L², … in ``(1 + Σ a_i Lⁱ) (1 + Σ b_i L^(i period))``."""
    one = np.ones(1, a.dtype)
    sparse = np.ravel(b[:, None] * np.eye(1, period, period - 1, dtype=a.dtype))
    return np.convolve(np.concatenate([one, a]), np.concatenate([one, sparse]))[1:]


def _weights_of_the_past(difference: int, seasonal_difference: int, period: int) -> Any:
    """w of ``(1 - L)ᵈ (1 - Lˢ)ᴰ = 1 - Σ w_i Lⁱ``."""
    polynomial = np.ones(1)
    for lag in [1] * difference + [period] * seasonal_difference:
        factor = np.eye(1, lag + 1)[0] - np.eye(1, lag + 1, lag)[0]
        polynomial = np.convolve(polynomial, factor)
    return -polynomial[1:]


def _integrated(weights: Any, differences: Model) -> Model:
    """``y_t = Σ w_i y_{t-i} + u_t`` for a model of u; the states ``y_{t-1}, y_{t-2}, …`` come first."""
    m, n, dtype = len(weights), len(differences.transition), weights.dtype
    design = np.concatenate([weights[None], differences.design], axis=1)
    shift = np.eye(m - 1, m + n, dtype=dtype)
    below = np.concatenate([np.zeros((n, m), dtype), differences.transition], axis=1)
    return differences._replace(
        transition=np.concatenate([design, shift, below]),
        design=design,
        state_cov=np.pad(differences.state_cov, (m, 0)),
        initial_state=np.pad(differences.initial_state, (m, 0)),
        initial_state_cov=np.pad(differences.initial_state_cov, (m, 0)),
        diffuse=np.arange(m + n) < m,
    )
