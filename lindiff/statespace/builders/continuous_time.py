"""Models in continuous time, seen at any times: ``dx = F x dt + dβ`` between them.

Särkkä & Solin (2019), Applied Stochastic Differential Equations, chapters 6 and 12; Harvey (1989),
Forecasting, Structural Time Series Models and the Kalman Filter, chapter 9.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special

from lindiff.core.arrays import on_host, placed
from lindiff.core.variable import value
from lindiff.linalg import expm
from lindiff.linalg._matrices import hermitian_part, transposed
from lindiff.scipy.linalg import solve_continuous_lyapunov
from lindiff.statespace.builders._arguments import check_integer, check_shape
from lindiff.statespace.builders._times import dates_of_steps, intervals
from lindiff.statespace.components import Component
from lindiff.statespace.model import Model

__all__ = [
    "continuous",
    "continuous_local_linear_trend",
    "from_kernel",
    "integrated_random_walk",
    "ornstein_uhlenbeck",
]

# States of the Matérn processes: the process and its derivatives.
KERNELS = {"matern12": 1, "matern32": 2, "matern52": 3}

# Of the usual interval, from which on walks of order 3 keep fewer than five digits.
LONG_GAP = 1e4


# -- stationary processes ----------------------------------------------------------------------------------


def ornstein_uhlenbeck(
    times: Any,
    rate: Any,
    innovation_var: Any,
    obs_var: Any = 0.0,
    mean: Any = None,
    *,
    unit: str | None = None,
) -> Model:
    """An Ornstein-Uhlenbeck process, ``dx = -rate (x - mean) dt + dβ``, at any times.

    Parameters
    ----------
    times : (T,) array, or dates
        When `y` is observed, increasing: numbers, or pandas' or NumPy's dates with a `unit`.
    rate : number
        Positive; ``1 / rate`` is the time in which the correlation falls to 1/e.
    innovation_var : number
        Variance of β for a unit of time; that of x is ``innovation_var / (2 rate)``.
    obs_var : number
        Variance of noise of the observations.
    mean : number, optional
        Zero if not given.
    unit : str, optional
        For dates, the length of an interval of 1: "W", "D", "h", "min", "s", "ms", "us" or "ns".

    Returns
    -------
    Model
        One state, from its stationary distribution on.  The prediction after the data is for the last of the
        times: give times to come as well, and NaN for `y`, to go on.

    Raises
    ------
    TypeError, ValueError
        If an argument is no real number, `rate` is not positive, times do not increase (which says where), or
        dates have no unit.

    Notes
    -----
    ``x[t+1] - mean = exp(-rate Δ) (x[t] - mean) + h``, with variance
    ``innovation_var (1 - exp(-2 rate Δ)) / (2 rate)`` of h: Särkkä & Solin (2019), example 6.2.  Some 30
    flops a step.  Differentiable in all numbers, and in times that are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> model = statespace.ornstein_uhlenbeck([0.0, 1.0, 3.0], rate=0.5, innovation_var=1.0)
    >>> model.transition[:, 0, 0].round(4), model.state_cov[:, 0, 0].round(4)
    (array([0.6065, 0.3679, 1.    ]), array([0.6321, 0.8647, 0.    ]))
    """
    name = "ornstein_uhlenbeck"
    centre = 0.0 if mean is None else mean
    dt, rate, innovation_var, obs_var, centre = intervals(
        name, times, unit, rate=rate, innovation_var=innovation_var, obs_var=obs_var, mean=centre
    )
    _check_numbers(name, rate=rate, innovation_var=innovation_var, obs_var=obs_var, mean=centre)
    _check_positive(name, "rate", rate)
    model = _matern(dt, rate, innovation_var / (2 * rate), obs_var, name, (name,))
    model = model.at_dates(dates_of_steps(times))
    if mean is None:
        return model
    moved = (1 - model.transition[..., 0]) * centre
    return model._replace(state_intercept=moved, initial_state=np.reshape(centre, (1,)))


def from_kernel(
    kernel: str,
    lengthscale: Any,
    variance: Any,
    times: Any,
    obs_var: Any = 0.0,
    *,
    unit: str | None = None,
) -> Model:
    """A Gaussian process with a Matérn kernel as a state-space model, whose cost is linear in their number.

    Parameters
    ----------
    kernel : {"matern12", "matern32", "matern52"}
        With ``r = |t - s| / lengthscale`` their covariances are variance times ``exp(-r)``,
        ``(1 + √3 r) exp(-√3 r)`` and ``(1 + √5 r + 5r²/3) exp(-√5 r)``.
    lengthscale, variance : number
        Positive the first.
    times : (T,) array, or dates
        When `y` is observed, increasing: numbers, or pandas' or NumPy's dates with a `unit`.
    obs_var : number
        Variance of noise of the observations.
    unit : str, optional
        For dates, the length of an interval of 1: "W", "D", "h", "min", "s", "ms", "us" or "ns".

    Returns
    -------
    Model
        One, two or three states, the process and its derivatives, from their stationary distribution on.  The
        log likelihood is that of the process, `lindiff.linalg.gp_logpdf`; predictions, at any times, are
        those of the smoother where `y` is NaN.

    Raises
    ------
    TypeError, ValueError
        If an argument is no real number, `kernel` is none of these, `lengthscale` is not positive, times do
        not increase (which says where), or dates have no unit.

    Notes
    -----
    Hartikainen & Särkkä (2010), Kalman filtering and smoothing solutions to temporal Gaussian process
    regression models, section 4.  With ``τ = √(2ν) Δ / lengthscale`` the transition is ``exp(-τ)`` times a
    polynomial of degree n - 1 in τ, state_cov a mixture of incomplete gamma functions ``P(k, 2τ)``,
    k = 1, …, 2n - 1: no difference of nearly equal numbers, however short the intervals.  Some
    ``2n³ + 40n`` flops a step beside the filter's.  Differentiable in all numbers, and in times that are
    numbers.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import statespace
    >>> t, y = np.array([0.0, 0.3, 1.1, 1.2]), np.array([0.5, 0.1, -0.4, -0.2])
    >>> def of_filter(lengthscale):
    ...     return statespace.loglikelihood(y, *statespace.from_kernel("matern32", lengthscale, 1.0, t, 0.1))
    >>> def of_matrix(lengthscale):
    ...     r = np.sqrt(3) * np.abs(t[:, None] - t) / lengthscale
    ...     return ld.linalg.gp_logpdf(y, (1 + r) * np.exp(-r), 0.1)
    >>> print(ld.grad(of_filter)(0.5).round(8), ld.grad(of_matrix)(0.5).round(8))
    1.26332912 1.26332912
    """
    name = "from_kernel"
    states = KERNELS.get(kernel) if isinstance(kernel, str) else None
    if states is None:
        raise ValueError(f"{name}: kernel must be one of {', '.join(map(repr, KERNELS))}, got {kernel!r}")
    dt, lengthscale, variance, obs_var = intervals(
        name, times, unit, lengthscale=lengthscale, variance=variance, obs_var=obs_var
    )
    _check_numbers(name, lengthscale=lengthscale, variance=variance, obs_var=obs_var)
    _check_positive(name, "lengthscale", lengthscale)
    derivatives = [f"{kernel}.derivative", f"{kernel}.derivative 2"]
    rate = math.sqrt(2 * states - 1) / lengthscale
    model = _matern(dt, rate, variance, obs_var, kernel, (kernel, *derivatives)[:states])
    return model.at_dates(dates_of_steps(times))


def _matern(dt: Any, rate: Any, variance: Any, obs_var: Any, name: str, states: Sequence[str]) -> Model:
    """The stationary solution of ``(d/dt + rate)ⁿ x = noise`` with this variance, and its derivatives.

    In units of ``1 / rate`` the drift is N - I with a nilpotent N: the transition is
    ``exp(-τ) Σ Nᵏ τᵏ / k!``, the covariance of the noise a sum of ``∫₀^τ sᵐ exp(-2s) ds``, which are
    incomplete gamma functions.
    """
    n, dtype = len(states), dt.dtype
    powers, noise = _matern_constants(n)
    units = rate ** placed(np.arange(n, dtype=dtype), rate)  # of the derivatives
    tau = (rate * dt)[:, None, None]
    A = sum(placed(power.astype(dtype), tau) * tau**k for k, power in enumerate(powers)) * np.exp(-tau)
    Q = sum(
        placed(part.astype(dtype), tau) * scipy.special.gammainc(placed(np.asarray(m, dtype), tau), 2 * tau)
        for m, part in enumerate(noise, 1)
    )
    sizes = variance * units[:, None] * units
    start = placed(np.sum(noise, axis=0).astype(dtype), sizes) * sizes
    component = Component(name, tuple(states))
    return _of_intervals(A * (units[:, None] / units), Q * sizes, obs_var, component, start)


def _matern_constants(n: int) -> tuple[list[Any], Any]:
    """``Nᵏ / k!`` for k < n, and what ``P(m + 1, 2τ)`` has in the covariance of the noise for m < 2n - 1.

    The answer to noise is ``exp(-s) Σ Nᵏ e sᵏ / k!`` with the last unit vector e, and
    ``∫₀^τ sᵐ exp(-2s) ds = m! / 2^(m+1) P(m + 1, 2τ)``; its scale gives the process the variance 1.
    """
    N = np.eye(n, k=1) + np.eye(n)
    N[-1] -= [math.comb(n, k) for k in range(n)]  # of (1 + d/dt)ⁿ
    powers = [np.linalg.matrix_power(N, k) / math.factorial(k) for k in range(n)]
    noise = np.zeros((2 * n - 1, n, n))
    answers = [power[:, -1] for power in powers]
    for k, m in itertools.product(range(n), range(n)):
        noise[k + m] += math.factorial(k + m) / 2 ** (k + m + 1) * np.outer(answers[k], answers[m])
    total: Any = np.sum(noise, axis=0)
    return powers, noise / total[0, 0]


# -- processes without a stationary distribution -----------------------------------------------------------


def integrated_random_walk(
    times: Any, innovation_var: Any, obs_var: Any = 0.0, *, order: int = 2, unit: str | None = None
) -> Model:
    """A random walk in continuous time, integrated ``order - 1`` times, at any times.

    Order 1 is the local level in continuous time, order 2 a smooth trend whose slope is a random walk: its
    smoothed state is the cubic smoothing spline through the data.

    Parameters
    ----------
    times : (T,) array, or dates
        When `y` is observed, increasing: numbers, or pandas' or NumPy's dates with a `unit`.
    innovation_var : number
        Variance of the random walk's change in a unit of time.
    obs_var : number
        Variance of noise of the observations.
    order : int
    unit : str, optional
        For dates, the length of an interval of 1: "W", "D", "h", "min", "s", "ms", "us" or "ns".

    Returns
    -------
    Model
        `order` states, the process and its derivatives, diffuse.

    Raises
    ------
    TypeError, ValueError
        If a variance is no real number, `order` is no integer from 1 on, times do not increase (which says
        where), or dates have no unit.

    Notes
    -----
    Wahba (1978), Improper priors, spline smoothing and the problem of guarding against model errors in
    regression; the covariance of the noise is ``innovation_var Δ^(a+b+1) / ((a+b+1) a! b!)`` for derivatives
    that are a and b integrals away from the noise.  About ``10n²`` flops a step beside the filter's.
    Differentiable in both variances, and in times that are numbers.

    Examples
    --------
    >>> from lindiff import statespace
    >>> model = statespace.integrated_random_walk([0.0, 1.0, 3.0], 6.0, obs_var=1.0)
    >>> model.transition[1], model.state_cov[1]
    (array([[1., 2.],
           [0., 1.]]), array([[16., 12.],
           [12., 12.]]))
    """
    name = "integrated_random_walk"
    check_integer(name, "order", order, 1)
    dt, innovation_var, obs_var = intervals(name, times, unit, innovation_var=innovation_var, obs_var=obs_var)
    _check_numbers(name, innovation_var=innovation_var, obs_var=obs_var)
    if order > 2:
        _warn_of_long_gaps(name, value(dt), order)
    states = ("level", "slope", *(f"derivative {k}" for k in range(2, order)))[:order]
    A, Q = _integrals(dt, order)
    component = Component("trend" if order > 1 else "level", states)
    return _of_intervals(A, innovation_var * Q, obs_var, component).at_dates(dates_of_steps(times))


def _warn_of_long_gaps(name: str, dt: Any, order: int) -> None:
    """Warn of gaps behind which walks leave no digits: their variances grow with Δ^(2 order - 1)."""
    if type(dt) is not np.ndarray:
        return
    times = dt / np.median(dt[dt > 0]) if np.any(dt > 0) else dt
    if np.max(times, initial=0.0) > LONG_GAP:
        at = int(np.argmax(times))
        warnings.warn(
            f"{name}: the interval behind step {at} is {times[at]:.1g} times the usual one: with order "
            f"{order} few digits are left there; take order 2, or begin anew behind it",
            UserWarning,
            stacklevel=3,
        )


def continuous_local_linear_trend(
    times: Any, level_var: Any, slope_var: Any, obs_var: Any = 0.0, *, unit: str | None = None
) -> Model:
    """A level whose slope is a random walk, in continuous time, at any times.

    ``dlevel = slope dt + dβ``, ``dslope = dγ``.

    Parameters
    ----------
    times : (T,) array, or dates
        When `y` is observed, increasing: numbers, or pandas' or NumPy's dates with a `unit`.
    level_var, slope_var : number
        Variances of β and γ for a unit of time.
    obs_var : number
        Variance of noise of the observations.
    unit : str, optional
        For dates, the length of an interval of 1: "W", "D", "h", "min", "s", "ms", "us" or "ns".

    Returns
    -------
    Model
        Two states, level and slope, diffuse.

    Raises
    ------
    TypeError, ValueError
        If a variance is no real number, times do not increase (which says where), or dates have no unit.

    Notes
    -----
    Harvey (1989), section 9.2.  Where times are one unit apart it is :func:`local_linear_trend` with the
    covariance ``slope_var [[1/3, 1/2], [1/2, 1]]`` of its noise beside `level_var`.  Some 40 flops a step.
    Differentiable in all variances, and in times that are numbers.

    Examples
    --------
    >>> from lindiff import statespace
    >>> model = statespace.continuous_local_linear_trend([0.0, 1.0, 3.0], 1.0, 6.0)
    >>> model.state_cov[1]
    array([[18., 12.],
           [12., 12.]])
    """
    name = "continuous_local_linear_trend"
    dt, level_var, slope_var, obs_var = intervals(
        name, times, unit, level_var=level_var, slope_var=slope_var, obs_var=obs_var
    )
    _check_numbers(name, level_var=level_var, slope_var=slope_var, obs_var=obs_var)
    A, of_slope = _integrals(dt, 2)
    of_level = dt[:, None, None] * placed(np.diag([1.0, 0.0]).astype(dt.dtype), dt)
    Q = level_var * of_level + slope_var * of_slope
    model = _of_intervals(A, Q, obs_var, Component("trend", ("level", "slope")))
    return model.at_dates(dates_of_steps(times))


def _integrals(dt: Any, n: int) -> tuple[Any, Any]:
    """Transition and noise of a chain of n - 1 integrals of a random walk of variance 1 a unit of time."""
    distance = np.arange(n) - np.arange(n)[:, None]
    factorials = np.array([math.factorial(k) for k in range(n)], np.float64)
    of_transition = np.where(distance < 0, 0, 1 / factorials[np.abs(distance)])
    away = np.arange(n)[::-1]
    powers = away + away[:, None] + 1
    of_noise = 1 / (powers * factorials[away] * factorials[away][:, None])
    return _of_powers(dt, np.maximum(distance, 0), of_transition), _of_powers(dt, powers, of_noise)


def _of_powers(dt: Any, powers: Any, factors: Any) -> Any:
    return dt[:, None, None] ** placed(powers.astype(dt.dtype), dt) * placed(factors.astype(dt.dtype), dt)


# -- any linear model --------------------------------------------------------------------------------------


def continuous(
    drift: Any,
    diffusion: Any,
    times: Any,
    design: Any,
    obs_cov: Any = 0.0,
    *,
    initial_state: Any = None,
    initial_state_cov: Any = None,
    diffuse: Any = None,
    unit: str | None = None,
) -> Model:
    """A linear model in continuous time, ``dx = F x dt + dβ``, at any times.

    Parameters
    ----------
    drift : (n, n) array
        F.
    diffusion : (n, n) array
        Covariance of β for a unit of time: ``L @ L.T`` where the noise is ``L dW``.
    times : (T,) array, or dates
        When `y` is observed, increasing: numbers, or pandas' or NumPy's dates with a `unit`.
    design : (p, n) or (T, p, n) array
        What is observed of x.
    obs_cov : number, (p,) or (p, p) array
        Variances, or the covariance, of noise of the observations.
    initial_state, initial_state_cov : (n,) and (n, n) arrays, optional
        Of x at the first of the times.  By default those of the stationary distribution.
    diffuse : bool or (n,) array of bool, optional
        States of which nothing is known at the start.
    unit : str, optional
        For dates, the length of an interval of 1: "W", "D", "h", "min", "s", "ms", "us" or "ns".

    Returns
    -------
    Model
        n states.  The prediction after the data is for the last of the times: give times to come as well, and
        NaN for `y`, to go on.

    Raises
    ------
    TypeError, ValueError
        If the arguments are no real arrays, their shapes do not fit together, times do not increase (which
        says where), dates have no unit, or a start is needed because `drift` has no stationary distribution.

    Notes
    -----
    ``x[t+1] = expm(F Δ) x[t] + h``, with ``∫₀^Δ expm(F s) D expm(F s)ᵀ ds`` for the covariance of h: both
    are in ``expm([[-F, D], [0, Fᵀ]] δ)`` (Van Loan 1978, Computing integrals involving the matrix
    exponential) for a δ = Δ / 2ˢ with ``‖F‖ δ ≤ 1``, and are doubled s times, ``A ← A A`` and
    ``Q ← Q + A Q Aᵀ``: nothing overflows, whatever the intervals.

    About ``100n³ + 6n³ s`` flops for each of the different intervals, beside the filter's.  Differentiable in
    all arrays, and in times that are numbers.

    Examples
    --------
    A damped oscillation that noise keeps going:

    >>> import numpy as np
    >>> from lindiff import statespace
    >>> F = np.array([[0.0, 1.0], [-4.0, -0.4]])
    >>> model = statespace.continuous(F, np.diag([0.0, 1.0]), [0.0, 0.5, 2.0], np.array([[1.0, 0.0]]), 0.1)
    >>> model.initial_state_cov.round(4) + 0.0
    array([[0.3125, 0.    ],
           [0.    , 1.25  ]])
    >>> model.transition[0].round(4)
    array([[ 0.569 ,  0.3814],
           [-1.5255,  0.4164]])
    """
    name = "continuous"
    dt, drift, diffusion, design, obs_cov = intervals(
        name, times, unit, drift=drift, diffusion=diffusion, design=design, obs_cov=obs_cov
    )
    check_shape(name, "drift", drift, "nn")
    n, steps = drift.shape[-1], dt.shape[0] + 1
    check_shape(name, "design", design, "pn", "Tpn")
    p = design.shape[-2]
    if (
        drift.shape != (n, n)
        or diffusion.shape != (n, n)
        or design.shape not in ((p, n), (steps, p, n))
        or obs_cov.shape not in ((), (p,), (p, p))
    ):
        raise ValueError(
            f"{name}: drift of shape {drift.shape}, diffusion of shape {diffusion.shape}, design of shape "
            f"{design.shape} and obs_cov of shape {obs_cov.shape} do not fit together and to {steps} times: "
            f"(n, n), (n, n), (p, n) and (p,) are needed"
        )
    diffusion = hermitian_part(diffusion)
    every = diffuse is not None and diffuse is not False and np.all(diffuse)
    if initial_state is None and initial_state_cov is None and not every:
        initial_state, initial_state_cov = _stationary(name, drift, diffusion)
    A, Q = _between(drift, diffusion, dt)
    return Model(
        transition=_with_last(A, np.eye(n)),
        design=design,
        state_cov=_with_last(Q, np.zeros((n, n))),
        obs_cov=np.broadcast_to(obs_cov, (p,)) if obs_cov.ndim == 0 else obs_cov,
        initial_state=initial_state,
        initial_state_cov=initial_state_cov,
        diffuse=diffuse,
    ).at_dates(dates_of_steps(times))


def _between(F: Any, D: Any, dt: Any) -> tuple[Any, Any]:
    """Transition and covariance of the noise over intervals; those that are there more than once, once."""
    if type(dt) is np.ndarray:
        different, places = np.unique(dt, return_inverse=True)
        if len(different) < len(dt):
            A, Q = _transition_and_noise(F, D, different)
            return A[places], Q[places]
    return _transition_and_noise(F, D, dt)


def _transition_and_noise(F: Any, D: Any, dt: Any) -> tuple[Any, Any]:
    n = F.shape[-1]
    norm = np.max(np.sum(np.abs(value(F)), axis=0))
    doublings = np.ceil(np.log2(np.maximum(norm * value(dt), 1)))
    nothing = placed(np.zeros((n, n), dt.dtype), dt)
    upper, lower = np.concatenate([-F, D], axis=1), np.concatenate([nothing, transposed(F)], axis=1)
    E = expm(np.concatenate([upper, lower]) * (dt * np.exp2(-doublings))[:, None, None])
    A = transposed(E[:, n:, n:])
    Q = hermitian_part(A @ E[:, :n, n:])
    for k in range(int(np.max(doublings)) if dt.shape[0] else 0):
        goes_on = (doublings > k)[:, None, None]
        Q = np.where(goes_on, Q + hermitian_part(A @ Q @ transposed(A)), Q)
        A = np.where(goes_on, A @ A, A)
    return A, Q


def _stationary(name: str, F: Any, D: Any) -> tuple[Any, Any]:
    """Mean and covariance of the stationary distribution."""
    n = F.shape[-1]
    largest = np.max(np.linalg.eigvals(on_host(F)).real, initial=-np.inf)
    if not largest < 0:
        raise ValueError(
            f"{name}: drift has an eigenvalue with the real part {largest:.6g}; a stationary distribution "
            f"needs all of them negative; give initial_state and initial_state_cov otherwise, or write "
            f"diffuse=True"
        )
    return placed(np.zeros(n, F.dtype), F), hermitian_part(solve_continuous_lyapunov(F, -D))


# -- models ------------------------------------------------------------------------------------------------


def _of_intervals(A: Any, Q: Any, obs_var: Any, component: Component, start: Any = None) -> Model:
    """The first state is observed; diffuse without the covariance of a start."""
    n, dtype = A.shape[-1], A.dtype
    design = np.zeros((1, n), dtype)
    design[0, 0] = 1
    return Model(
        transition=_with_last(A, np.eye(n)),
        design=placed(design, A),
        state_cov=_with_last(hermitian_part(Q), np.zeros((n, n))),
        obs_cov=obs_var[None],
        initial_state=None if start is None else placed(np.zeros(n, dtype), start),
        initial_state_cov=start,
        diffuse=np.ones(n, bool) if start is None else None,
    ).of_components((component,))


def _with_last(matrices: Any, last: Any) -> Any:
    """With one more: nothing has passed after the last of the times."""
    return np.concatenate([matrices, placed(last[None].astype(matrices.dtype), matrices)])


def _check_numbers(name: str, **arguments: Any) -> None:
    for argument, x in arguments.items():
        check_shape(name, argument, x, "")


def _check_positive(name: str, argument: str, x: Any) -> None:
    if not value(x) > 0:
        raise ValueError(f"{name}: {argument} must be positive, got {on_host(x)}")
