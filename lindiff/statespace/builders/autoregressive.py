"""Autoregressive moving averages of one series, seasonal and integrated.

Harvey (1989), Forecasting, Structural Time Series Models and the Kalman Filter, section 3.3.3; Durbin &
Koopman (2012), Time Series Analysis by State Space Methods, section 3.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import padded_with_zeros, placed
from lindiff.core.variable import value
from lindiff.kernels.chandrasekhar import is_surely_stationary
from lindiff.statespace.autocovariances import Process, states_of, stationary_cov
from lindiff.statespace.builders._arguments import check_integer, check_shape, reals
from lindiff.statespace.components import Component
from lindiff.statespace.initialization import refuse_unstable, stationary_initialization
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

    Notes
    -----
    Durbin & Koopman (2012), eq. 3.17.  The stationary distribution comes from the autocovariances, 2/3 n³
    flops for n states.

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
    return _arima("arma", np.zeros(0), ar, ma, innovation_var, obs_var)


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
        With m = d + sD: m diffuse states of what the past says of y now and in future steps; and
        ``max(p + sP, q + sQ + 1)`` of a stationary ARMA, or, if q + sQ is at most m, ``max(p + sP, 1)`` of an
        autoregression, as the first ones hold the moving average, too.  Without differencing, that of
        :func:`arma`.

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
    ((14, 14), 13)
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
    ar, ma = -_product(-ar, -seasonal_ar, period), _product(ma, seasonal_ma, period)
    past = _weights_of_the_past(difference, seasonal_difference, period)
    return _arima("sarima", past, ar, ma, innovation_var, obs_var)


def _arima(name: str, past: Any, ar: Any, ma: Any, innovation_var: Any, obs_var: Any) -> Model:
    """``y_t = Σ past_i y_{t-i} + v_t``, where v is an autoregressive moving average.

    The first of m states, z¹, is what the past says of y: ``y_t = z¹_t + v_t``.  The i-th becomes the one
    before, ``zⁱ_{t+1} = zⁱ⁺¹_t + past_i y_t``.  The weights of ``y_{-1}, …, y_{-m}`` in them are a triangle
    with determinant ±1: if that past is diffuse, so are these states, and what they hold besides does not
    matter.  If the moving average is no longer, they hold that, too, and v is an autoregression:
    ``zⁱ_{t+1} = zⁱ⁺¹_t + past_i y_t + ma_i v_t``.
    """
    check_shape(name, "innovation_var", innovation_var, "")
    check_shape(name, "obs_var", obs_var, "")
    m, dtype = past.size, ar.dtype
    held, of_v = (ma, ma[:0]) if ma.size <= m else (ma[:0], ma)
    phi, theta = states_of(ar, of_v)
    states = np.arange(m + phi.size)
    shift = np.eye(states.size, k=1)
    shift[:m, 0] = past
    of_past = placed(past.astype(dtype), ar) + padded_with_zeros(held, [(0, m - held.size)])
    transition = _with_column(shift, m, np.concatenate([of_past, phi]))
    loading = padded_with_zeros(theta, [(m, 0)])
    state_cov = innovation_var * (loading[:, None] * loading)  # symmetric to the last bit
    start, start_cov = _stationary_start(ar, of_v, innovation_var, transition[m:, m:], state_cov[m:, m:])
    model = Model(
        transition=transition,
        design=placed(((states == 0) | (states == m)).astype(dtype)[None], ar),
        state_cov=state_cov,
        obs_cov=obs_var[None],
        initial_state=padded_with_zeros(start, [(m, 0)]),
        initial_state_cov=padded_with_zeros(start_cov, [(m, 0), (m, 0)]),
        diffuse=states < m if m else None,
    ).of_components((Component(name, tuple(f"{name}[{i}]" for i in states)),))
    is_exact = type(obs_var) is np.ndarray and not obs_var
    if not is_exact:
        return model
    return model.of_process(Process(past, ar.copy(), ma.copy(), innovation_var.copy()))


def _with_column(matrix: Any, place: int, column: Any) -> Any:
    """A constant matrix with another column."""
    matrix = placed(matrix.astype(column.dtype), column)
    return np.concatenate([matrix[:, :place], column[:, None], matrix[:, place + 1 :]], axis=1)


def _stationary_start(
    ar: Any, ma: Any, innovation_var: Any, transition: Any, state_cov: Any
) -> tuple[Any, Any]:
    """Mean and covariance of the states of an autoregressive moving average."""
    of_numpy = all(type(value(x)) is np.ndarray and x.dtype == np.float64 for x in (ar, ma, transition))
    if of_numpy:
        if not is_surely_stationary(np.ascontiguousarray(value(ar))):
            refuse_unstable("stationary_initialization", transition)
        return np.zeros(len(transition)), innovation_var * stationary_cov(ar, ma)
    return stationary_initialization(transition, state_cov)


def _product(a: Any, b: Any, period: int) -> Any:
    """Coefficients of L, L², … in ``(1 + Σ a_i Lⁱ) (1 + Σ b_i L^(i period))``."""
    one = placed(np.ones(1, a.dtype), a)
    sparse = np.ravel(b[:, None] * placed(np.eye(1, period, period - 1, dtype=a.dtype), a))
    return np.convolve(np.concatenate([one, a]), np.concatenate([one, sparse]))[1:]


def _weights_of_the_past(difference: int, seasonal_difference: int, period: int) -> Any:
    """w of ``(1 - L)ᵈ (1 - Lˢ)ᴰ = 1 - Σ w_i Lⁱ``."""
    polynomial = np.ones(1)
    for lag in [1] * difference + [period] * seasonal_difference:
        factor = np.eye(1, lag + 1)[0] - np.eye(1, lag + 1, lag)[0]
        polynomial = np.convolve(polynomial, factor)
    return -polynomial[1:]
