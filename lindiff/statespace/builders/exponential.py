"""Exponential smoothing with additive errors, in innovations form.

Hyndman, Koehler, Ord & Snyder (2008), Forecasting with Exponential Smoothing, chapters 2 and 3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed, zeros_beside
from lindiff.core.variable import value
from lindiff.statespace.builders._arguments import check_integer, check_shape, reals
from lindiff.statespace.components import Component
from lindiff.statespace.model import Model

__all__ = ["exponential_smoothing"]


def exponential_smoothing(
    smoothing_level: Any,
    innovation_var: Any,
    smoothing_trend: Any = None,
    smoothing_seasonal: Any = None,
    *,
    period: int | None = None,
    damping: Any = None,
    initial_state: Any = None,
) -> Model:
    """Exponential smoothing: ETS models with additive errors, trends and seasonals.

    One innovation e moves everything: ``y_t = l_{t-1} + φ b_{t-1} + s_{t-m} + e_t``, and then
    ``l_t = l_{t-1} + φ b_{t-1} + α e_t``, ``b_t = φ b_{t-1} + β e_t``, ``s_t = s_{t-m} + γ e_t``.

    ========  ========================================================
    ETS       arguments beside `smoothing_level` and `innovation_var`
    ========  ========================================================
    ANN       (simple)
    AAN       `smoothing_trend` (Holt's)
    AAdN      `smoothing_trend`, `damping`
    ANA       `smoothing_seasonal`, `period`
    AAA       `smoothing_trend`, `smoothing_seasonal`, `period` (Holt's and Winters')
    AAdA      all of them
    ========  ========================================================

    Parameters
    ----------
    smoothing_level : number
        α.
    innovation_var : number
        Variance of e.
    smoothing_trend : number, optional
        β; without it there is no trend.  (Where others write ``α β*``, this is their product.)
    smoothing_seasonal : number, optional
        γ; without it there are no seasonals.
    period : int, optional
        m, at least 2, for seasonals.
    damping : number, optional
        φ of the trend, more than 0 and at most 1; 1 if not given.
    initial_state : array, optional
        The level, slope and m seasonals before the data: ``l_{-1}``, ``b_{-1}``, and ``s_{-m}, …, s_{-1}``,
        in the order of the steps at which they are seen; of what the model has.  If not given they are
        diffuse, with seasonals whose sum is zero.

    Returns
    -------
    Model
        States ``(1 - α - γ) e_t``; ``l_t``, ``b_t``; ``s_t, …, s_{t-m+2}`` and the sum of the last m
        seasonals: what the data up to step t make of them.

    Raises
    ------
    TypeError, ValueError
        If an argument is no real number, φ is out of its range, the period is missing, is given without
        seasonals, or damping without a trend, or `initial_state` has another length.

    Notes
    -----
    Hyndman et al. (2008), table 2.1, and section 11.3: with a diffuse start ANN is the ARIMA(0, 1, 1)
    process with ``θ = α - 1``, AAN an ARIMA(0, 2, 2) process.  Usual are ``0 < α < 1``, ``0 < β < α`` and
    ``0 < γ < 1 - α``; for other numbers the likelihood is that of their process, too, which may be the same
    as for some of these.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> model = statespace.exponential_smoothing(0.3, 1.0, smoothing_trend=0.1)
    >>> model.transition
    array([[0., 0., 0.],
           [0., 1., 1.],
           [0., 0., 1.]])
    >>> y = np.array([1.0, 2.0, 4.0, 3.0])
    >>> simple = statespace.exponential_smoothing(0.5, 1.0, initial_state=[1.0])
    >>> statespace.kalman_filter(y, *simple).filtered_state[:, 1]
    array([1.   , 1.5  , 2.75 , 2.875])
    """
    name = "exponential_smoothing"
    has_trend, m = smoothing_trend is not None, 0 if period is None else period
    if damping is not None and not has_trend:
        raise ValueError(f"{name}: damping is that of a trend, and needs smoothing_trend")
    if (smoothing_seasonal is None) != (period is None):
        raise ValueError(f"{name}: smoothing_seasonal and period go together; give both or none")
    if period is not None:
        check_integer(name, "period", period, 2)
    given = {
        "smoothing_level": smoothing_level,
        "innovation_var": innovation_var,
        "smoothing_trend": smoothing_trend if has_trend else 0.0,
        "smoothing_seasonal": smoothing_seasonal if m else 0.0,
        "damping": 1.0 if damping is None else damping,
    }
    numbers = reals(name, **given)
    for argument, x in zip(given, numbers, strict=True):
        check_shape(name, argument, x, "")
    alpha, innovation_var, beta, gamma, phi = numbers
    if not 0 < value(phi) <= 1:
        raise ValueError(f"{name}: damping must be more than 0 and at most 1, got {value(phi)}")
    components, constant, of_damping, of_gains, design = _parts(has_trend, m, alpha.dtype)
    transition = placed(constant, alpha) + phi * placed(of_damping, alpha)
    gain = placed(of_gains, alpha) @ np.stack([1 - alpha - gamma, alpha, beta, gamma])
    n = len(constant)
    innovation_cov = innovation_var * gain[:, None] * gain
    model = Model(
        transition=transition,
        design=placed(design, alpha),
        state_cov=innovation_cov,
        obs_cov=zeros_beside(alpha, (1,), alpha.dtype),
        initial_state=zeros_beside(alpha, (n,), alpha.dtype),
        initial_state_cov=innovation_cov,
    ).of_components(components)
    if initial_state is None:
        known = {0, n - 1} if m else {0}  # the error, and the sum of the seasonals
        return model._replace(diffuse=np.array([i not in known for i in range(n)]))
    (initial_state,) = reals(name, initial_state=initial_state)
    if initial_state.shape != (n - 1,):
        raise ValueError(
            f"{name}: initial_state must be of shape ({n - 1},), the level{', the slope' * has_trend}"
            f"{f' and {m} seasonals' * (m > 0)}, got shape {initial_state.shape}"
        )
    return model._replace(initial_state=transition @ _before_the_data(initial_state, m))


def _parts(has_trend: bool, m: int, dtype: Any) -> tuple[tuple[Component, ...], Any, Any, Any, Any]:
    """Components; of the transition what is constant and what is damped; which gain is whose; the design."""
    n = 2 + has_trend + m
    constant, damped, gains, design = (np.zeros(shape, dtype) for shape in ((n, n), (n, n), (n, 4), (1, n)))
    constant[1, 1] = design[0, :2] = 1
    gains[:2, :2] = np.eye(2)
    if has_trend:
        damped[1:3, 2] = gains[2, 2] = 1
    level = Component("trend", ("level", "slope")) if has_trend else Component("level", ("level",))
    components = [Component("error", ("error",)), level]
    if m:
        name = f"seasonal({m})"
        lags = (f"{name}.L{lag}" for lag in range(1, m - 1))
        components.append(Component(name, (name, *lags, f"{name}.sum")))
        gains[[-m, -1], 3] = design[0, -m] = 1
        constant[-m:, -m:] = np.eye(m, k=-1)
        constant[-m, -m:-1], constant[-m, -1] = -1, 1
        constant[-1, -2:] = 0, 1
    return tuple(components), constant, damped, gains, design


def _before_the_data(initial_state: Any, m: int) -> Any:
    """The state one step before the data, of level, slope and the m seasonals in the order of time."""
    known = initial_state.shape[0] - m
    levels, seasonals = initial_state[:known], initial_state[known:]
    error = zeros_beside(initial_state, (1,), initial_state.dtype)
    latest = [seasonals[::-1][: m - 1], np.sum(seasonals)[None]] if m else []
    return np.concatenate([error, levels, *latest])
