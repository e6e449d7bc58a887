"""Structural time series: levels, trends, seasonals and cycles that change slowly.

All are diffuse, but for damped cycles, which are stationary.

Durbin & Koopman (2012), Time Series Analysis by State Space Methods, chapters 2 and 3; Harvey (1989),
Forecasting, Structural Time Series Models and the Kalman Filter, chapter 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed, zeros_beside
from lindiff.core.variable import value
from lindiff.statespace.builders._arguments import check_integer, check_shape, reals
from lindiff.statespace.components import Component
from lindiff.statespace.model import Model

__all__ = ["cycle", "local_level", "local_linear_trend", "seasonal", "trigonometric_seasonal"]


def local_level(level_var: Any, obs_var: Any = 0.0) -> Model:
    """A random walk, observed with noise: ``level_{t+1} = level_t + h_t``, ``y_t = level_t + v_t``.

    Parameters
    ----------
    level_var, obs_var : number
        Variances of h and v.

    Returns
    -------
    Model
        One state, diffuse.

    Raises
    ------
    TypeError, ValueError
        If a variance is no real number.

    Notes
    -----
    Durbin & Koopman (2012), section 2.1.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import statespace
    >>> y = np.array([1.0, 3.0, 2.0])
    >>> def loglikelihood(level_var, obs_var):
    ...     return statespace.loglikelihood(y, *statespace.local_level(level_var, obs_var))
    >>> value, slopes = ld.value_and_grad(loglikelihood, argnums=(0, 1))(1.0, 0.5)
    >>> print(f"{value:.4f} {slopes[0]:.4f} {slopes[1]:.4f}")
    -4.4844 -0.0622 0.2578
    """
    level_var, obs_var = reals("local_level", level_var=level_var, obs_var=obs_var)
    check_shape("local_level", "level_var", level_var, "")
    one = np.ones((1, 1), level_var.dtype)
    return _structural("local_level", one, one, [level_var], obs_var, Component("level", ("level",)))


def local_linear_trend(level_var: Any, slope_var: Any, obs_var: Any = 0.0) -> Model:
    """A level whose slope is a random walk, observed with noise.

    ``level_{t+1} = level_t + slope_t + h_t``, ``slope_{t+1} = slope_t + k_t``, ``y_t = level_t + v_t``.

    Parameters
    ----------
    level_var, slope_var, obs_var : number
        Variances of h, k and v.  ``slope_var=0`` makes the slope constant, ``level_var=0`` the trend smooth.

    Returns
    -------
    Model
        Two states, level and slope, diffuse.

    Raises
    ------
    TypeError, ValueError
        If a variance is no real number.

    Notes
    -----
    Durbin & Koopman (2012), section 3.2.1.

    Examples
    --------
    >>> from lindiff import statespace
    >>> statespace.local_linear_trend(1.0, 0.25).state_cov
    array([[1.  , 0.  ],
           [0.  , 0.25]])
    """
    name = "local_linear_trend"
    level_var, slope_var, obs_var = reals(name, level_var=level_var, slope_var=slope_var, obs_var=obs_var)
    check_shape(name, "level_var", level_var, "")
    check_shape(name, "slope_var", slope_var, "")
    transition = np.array([[1, 1], [0, 1]], level_var.dtype)
    design = np.array([[1, 0]], level_var.dtype)
    component = Component("trend", ("level", "slope"))
    return _structural(name, transition, design, [level_var, slope_var], obs_var, component)


def seasonal(period: int, seasonal_var: Any, obs_var: Any = 0.0) -> Model:
    """A pattern over `period` steps whose sum is white noise.

    ``s_{t+1} = -(s_t + … + s_{t-period+2}) + h_t``, ``y_t = s_t + v_t``.

    Parameters
    ----------
    period : int
        At least 2.
    seasonal_var, obs_var : number
        Variances of h and of the noise of the observations.

    Returns
    -------
    Model
        ``period - 1`` states, the seasonal of now and of the steps before, diffuse.

    Raises
    ------
    TypeError, ValueError
        If the period is no integer from 2 on, or a variance no real number.

    Notes
    -----
    The form with dummy variables, Durbin & Koopman (2012), eq. 3.3.

    Examples
    --------
    A level and four seasons, observed with noise:

    >>> from lindiff import statespace
    >>> model = statespace.local_level(1.0, obs_var=2.0) + statespace.seasonal(4, 0.5)
    >>> model.transition
    array([[ 1.,  0.,  0.,  0.],
           [ 0., -1., -1., -1.],
           [ 0.,  1.,  0.,  0.],
           [ 0.,  0.,  1.,  0.]])
    >>> model.design
    array([[1., 1., 0., 0.]])
    """
    check_integer("seasonal", "period", period, 2)
    seasonal_var, obs_var = reals("seasonal", seasonal_var=seasonal_var, obs_var=obs_var)
    check_shape("seasonal", "seasonal_var", seasonal_var, "")
    n, dtype = period - 1, seasonal_var.dtype
    transition = np.eye(n, k=-1, dtype=dtype)
    transition[0] = -1
    noiseless = zeros_beside(seasonal_var, (), dtype)
    variances, name = [seasonal_var] + [noiseless] * (n - 1), f"seasonal({period})"
    component = Component(name, (name, *(f"{name}.L{lag}" for lag in range(1, n))))
    return _structural("seasonal", transition, np.eye(1, n, dtype=dtype), variances, obs_var, component)


def trigonometric_seasonal(
    period: float, seasonal_var: Any, obs_var: Any = 0.0, harmonics: int | None = None
) -> Model:
    """A sum of waves of frequencies ``2πj / period`` whose phases and amplitudes are random walks.

    Parameters
    ----------
    period : number
        In steps, more than 2; it need not be an integer.
    seasonal_var : number or (harmonics,) array
        Variance of the two innovations of each wave: the same, or one for each wave.
    obs_var : number
        Variance of the noise of the observations.
    harmonics : int, optional
        How many waves, j = 1, 2, …; by default all, ``period // 2``.

    Returns
    -------
    Model
        Two states for each wave, its value and the conjugate one, diffuse.  The wave of frequency π
        alternates and has one.

    Raises
    ------
    TypeError, ValueError
        If `seasonal_var` is neither a number nor has one for each wave, or `harmonics` is no integer from
        1 to ``period // 2``.

    Notes
    -----
    Durbin & Koopman (2012), eqs. 3.7 and 3.8.  With all harmonics and an integer period it has as many states
    as the form with dummy variables, and changes more smoothly.

    Examples
    --------
    >>> from lindiff import statespace
    >>> statespace.trigonometric_seasonal(4, 0.5).transition.round(12) + 0.0
    array([[ 0.,  1.,  0.],
           [-1.,  0.,  0.],
           [ 0.,  0., -1.]])
    """
    name = "trigonometric_seasonal"
    if not period > 2:
        raise ValueError(f"{name}: period must be more than 2, got {period}")
    most = int(period // 2)
    harmonics = most if harmonics is None else harmonics
    check_integer(name, "harmonics", harmonics, 1)
    if harmonics > most:
        raise ValueError(f"{name}: a period of {period} has {most} harmonics, got harmonics={harmonics}")
    seasonal_var, obs_var = reals(name, seasonal_var=seasonal_var, obs_var=obs_var)
    check_shape(name, "seasonal_var", seasonal_var, "", "h")
    if seasonal_var.shape not in ((), (harmonics,)):
        raise ValueError(
            f"{name}: seasonal_var must be a number or of shape ({harmonics},), one for each wave, "
            f"got shape {seasonal_var.shape}"
        )
    sizes = [1 if 2 * j == period else 2 for j in range(1, harmonics + 1)]
    ends = np.cumsum(sizes)
    transition = np.zeros((ends[-1], ends[-1]), seasonal_var.dtype)
    for j, (end, size) in enumerate(zip(ends, sizes, strict=True), start=1):
        cos, sin = np.cos(2 * np.pi * j / period), np.sin(2 * np.pi * j / period)
        transition[end - size : end, end - size : end] = [[cos, sin], [-sin, cos]] if size == 2 else -1
    design = np.zeros((1, ends[-1]), seasonal_var.dtype)
    design[0, ends - sizes] = 1
    variances = np.broadcast_to(seasonal_var, (harmonics,))
    wave_of_state = np.repeat(np.arange(harmonics), sizes)
    waves = [f"seasonal({period:g}).{j}" for j in range(1, harmonics + 1)]
    states = [state for wave, size in zip(waves, sizes, strict=True) for state in (wave, f"{wave}*")[:size]]
    component = Component(f"seasonal({period:g})", tuple(states))
    return _structural(name, transition, design, list(variances[wave_of_state]), obs_var, component)


def cycle(period: Any, cycle_var: Any, obs_var: Any = 0.0, damping: Any = None) -> Model:
    """A wave whose phase and amplitude change, and that may die out.

    ``c_{t+1} = ρ (cos λ c_t + sin λ c*_t) + h_t``, ``c*_{t+1} = ρ (cos λ c*_t - sin λ c_t) + h*_t``,
    ``y_t = c_t + v_t``, where ``λ = 2π / period``.

    Parameters
    ----------
    period : number
        In steps, more than 2; that of a frequency λ is ``2π / λ``.
    cycle_var, obs_var : number
        The variance of h and of h*, and that of v.  With ``cycle_var=0`` and without damping phase and
        amplitude are constant.
    damping : number, optional
        ρ, from 0 to below 1; if not given, ρ is 1.

    Returns
    -------
    Model
        Two states, the wave and the conjugate one: diffuse or, with `damping`, from their stationary
        distribution on, in which both have the variance ``cycle_var / (1 - ρ²)``.

    Raises
    ------
    TypeError, ValueError
        If an argument is no real number, or period or damping are out of their range.

    Notes
    -----
    Harvey (1989), section 2.3.3; Durbin & Koopman (2012), section 3.2.4.

    Examples
    --------
    >>> from lindiff import statespace
    >>> model = statespace.local_linear_trend(0.1, 0.0) + statespace.cycle(20.0, 0.5, damping=0.9)
    >>> model.transition[2:, 2:].round(3)
    array([[ 0.856,  0.278],
           [-0.278,  0.856]])
    >>> model.diffuse
    array([ True,  True, False, False])
    """
    name = "cycle"
    damped = damping is not None
    period, cycle_var, obs_var, damping = reals(
        name, period=period, cycle_var=cycle_var, obs_var=obs_var, damping=damping if damped else 1.0
    )
    check_shape(name, "period", period, "")
    check_shape(name, "cycle_var", cycle_var, "")
    check_shape(name, "damping", damping, "")
    if not value(period) > 2:
        raise ValueError(f"{name}: period must be more than 2, got {value(period)}")
    cos, sin = np.cos(2 * np.pi / period), np.sin(2 * np.pi / period)
    transition = damping * np.reshape(np.stack([cos, sin, -sin, cos]), (2, 2))
    component = Component("cycle", ("cycle", "cycle*"))
    design = np.eye(1, 2, dtype=cycle_var.dtype)
    model = _structural(name, transition, design, [cycle_var, cycle_var], obs_var, component)
    if not damped:
        return model
    if not 0 <= value(damping) < 1:
        raise ValueError(
            f"{name}: damping must be at least 0 and below 1, got {value(damping)}; a cycle that is not "
            f"damped has none"
        )
    return model._replace(
        initial_state=zeros_beside(cycle_var, (2,), cycle_var.dtype),
        initial_state_cov=model.state_cov / ((1 - damping) * (1 + damping)),
        diffuse=None,
    )


def _structural(
    name: str, transition: Any, design: Any, variances: list[Any], obs_var: Any, component: Component
) -> Model:
    """Diffuse states with independent innovations."""
    check_shape(name, "obs_var", obs_var, "")
    return Model(
        transition=placed(transition, obs_var),
        design=placed(design, obs_var),
        state_cov=np.diag(np.stack(variances)),
        obs_cov=obs_var[None],
        diffuse=np.ones(len(transition), bool),
    ).of_components((component,))
