"""Draws from a state-space model, and of its states given data."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from lindiff.core.arrays import placed, zeros_beside
from lindiff.linalg._matrices import transposed
from lindiff.statespace import composed, sweep
from lindiff.statespace.composed import Group, data_rows, groups
from lindiff.statespace.model import System, canonical, real, takes_models
from lindiff.statespace.semidefinite import factors, semidefinite_factor

__all__ = ["shape_of", "simulate", "simulate_smoother"]


@takes_models
def simulate(
    steps: int,
    transition: Any,
    design: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any = None,
    initial_state_cov: Any = None,
    state_intercept: Any = None,
    obs_intercept: Any = None,
    diffuse: Any = None,
    *,
    rng: Any,
    size: Any = None,
) -> tuple[Any, Any]:
    """Draw states and observations of a linear Gaussian state-space model.

    Parameters
    ----------
    steps : int
        T.
    transition, ..., diffuse
        As :class:`Model` describes them: ``simulate(100, *model, rng=rng)``.  No state may be diffuse.
    rng : numpy.random.Generator, or int
        Or the seed of one.
    size : int or tuple of int, optional
        Shape of independent draws.

    Returns
    -------
    states : (*size, T, n) array
        With an axis of series, if a system matrix has one: (*size, S, T, n).
    observations : (*size, T, p) array

    Raises
    ------
    TypeError, ValueError
        As :func:`loglikelihood` does, and if a state is diffuse.
    numpy.linalg.LinAlgError
        If a covariance is indefinite.

    Notes
    -----
    Differentiable with respect to every array, the random numbers held fixed; where a covariance is singular,
    along changes that keep its rank.  Cholesky factors of the covariances, which may be singular, and
    4n² + 2np + 2p² flops a step and draw.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> one = np.eye(1)
    >>> model = ld.statespace.Model(one, one, 0.1 * one, one, np.zeros(1), one)
    >>> states, y = ld.statespace.simulate(50, *model, rng=np.random.default_rng(0), size=1000)
    >>> states.shape, round(float(np.var(states[:, -1, 0])), 1)
    ((1000, 50, 1), 6.1)
    """
    steps = operator.index(steps)
    if steps < 0:
        raise ValueError(f"simulate: steps must not be negative, got {steps}")
    design = real("simulate", "design", design)
    p = design.shape[-2] if design.ndim > 1 else 0
    others = initial_state, initial_state_cov, state_intercept, obs_intercept, diffuse
    y = zeros_beside(design, (steps, p), design.dtype)
    system = canonical("simulate", y, transition, design, state_cov, obs_cov, *others)
    if system.diffuse:
        raise ValueError(
            f"simulate: the diffuse states {system.diffuse} have no distribution to draw from; give "
            f"initial_state and initial_state_cov for them, and write diffuse=None"
        )
    shape, rng = shape_of(size), np.random.default_rng(rng)
    (group,), k = groups(system), math.prod(shape)
    states, observations = _centred_draws(group, k, rng, "simulate")
    m = group.initial_state
    for t in range(steps):
        mean, level = m @ transposed(group.design[t]), group.obs_intercept[t]
        states[t] = states[t] + m
        observations[t] = observations[t] + (mean if level is None else mean + level)
        c = group.state_intercept[t]
        m = m @ transposed(group.transition[t])
        m = m if c is None else m + c
    axes = (*shape, len(group.series), steps) if system.many else (*shape, steps)
    states, observations = _over_time(states, group, k, m.shape[-1]), _over_time(observations, group, k, p)
    return np.reshape(states, (*axes, m.shape[-1])), np.reshape(observations, (*axes, p))


@takes_models
def simulate_smoother(
    y: Any,
    transition: Any,
    design: Any,
    state_cov: Any,
    obs_cov: Any,
    initial_state: Any = None,
    initial_state_cov: Any = None,
    state_intercept: Any = None,
    obs_intercept: Any = None,
    diffuse: Any = None,
    *,
    rng: Any,
    size: Any = None,
) -> Any:
    """Draw the states of a linear Gaussian state-space model given all the data.

    Parameters
    ----------
    y : (T, p), (S, T, p) or, for p = 1, (T,) array
        Observations, of one series or of many; NaN is missing, element by element.
    transition, ..., diffuse
        As :class:`Model` describes them: ``simulate_smoother(y, *model, rng=rng)``.
    rng : numpy.random.Generator, or int
        Or the seed of one.
    size : int or tuple of int, optional
        Shape of independent draws.

    Returns
    -------
    (*size, T, n) or, for many series, (*size, S, T, n) array

    Raises
    ------
    TypeError, ValueError, numpy.linalg.LinAlgError, OverflowError
        As :func:`loglikelihood` does, and if a covariance is indefinite.

    Notes
    -----
    For draws x⁺, y⁺ of the model, ``x⁺ + E[x | y - y⁺]`` is a draw given y (Durbin & Koopman 2002, "A simple
    and efficient simulation smoother").  All draws go, as so many series, through one smoother, so that each
    costs about 10n² + 10np flops a step; for plain arrays that is the compiled one.  Differentiable as
    :func:`simulate` is.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> one, y = np.eye(1), np.array([1.0, np.nan, 3.0])
    >>> model = ld.statespace.Model(one, one, 0.5 * one, one, diffuse=True)
    >>> draws = ld.statespace.simulate_smoother(y, *model, rng=np.random.default_rng(0), size=100_000)
    >>> np.mean(draws[:, :, 0], axis=0).round(1)
    array([1.7, 2. , 2.3])
    """
    others = initial_state, initial_state_cov, state_intercept, obs_intercept, diffuse
    system = canonical("simulate_smoother", y, transition, design, state_cov, obs_cov, *others)
    shape, rng = shape_of(size), np.random.default_rng(rng)
    k, swept = math.prod(shape), system.is_plain and sweep.has_sweep(system)

    def draws(group: Group) -> tuple[Any]:
        states = _given_data_by_sweep(system, group, k, rng) if swept else _given_data(group, k, rng)
        return (np.swapaxes(states, 0, 1),)

    states = np.swapaxes(composed.of_groups(system, draws)[0], 0, 1)
    states = np.reshape(states, (*shape, *states.shape[1:]))
    return states if system.many else states[..., 0, :, :]


def _given_data_by_sweep(system: System, group: Group, k: int, rng: Any) -> Any:
    """k draws for each series of a group, (k, series, T, n), by the compiled smoother.

    Series that have their own matrices go one after the other, so that their draws share the covariances.
    """
    states, observations = _centred_draws(group, k, rng, "simulate_smoother")
    states, observations = (
        _over_time(x, group, k, width)
        for x, width in ((states, system.transition.shape[-1]), (observations, system.y.shape[-1]))
    )
    for place in [slice(None)] if group.shared else [slice(i, i + 1) for i in range(len(group.series))]:
        drawn, series = observations[:, place], group.series[place]
        chosen = system.of_series(np.tile(series, k) if group.shared else series)
        y = chosen.y - np.reshape(drawn, (k * len(series), *system.y.shape[1:]))
        _, means, _ = sweep.smoother_moments(chosen._replace(y=y), "simulate_smoother")
        states[:, place] += np.reshape(means, states[:, place].shape)
    return states


def _given_data(group: Group, k: int, rng: Any) -> Any:
    """k draws for each series of a group, (k, series, T, n): ``x⁺ + E[x | y - y⁺]``."""
    states, observations = _centred_draws(group, k, rng, "simulate_smoother")
    several = group._replace(
        y=[_as_rows(y - drawn, k, group) for y, drawn in zip(group.y, observations, strict=True)],
        initial_state=_repeated(group.initial_state, k, group),
        state_intercept=[None if c is None else _repeated(c, k, group) for c in group.state_intercept],
    )
    run = composed.filtered(several, "simulate_smoother")
    known = composed.information(several, run, "simulate_smoother")
    pairs = zip(states, composed.smoothed_with_diffuse(several, run, known).state, strict=True)
    drawn = [x + np.reshape(m if group.shared else np.swapaxes(m, 0, 1), x.shape) for x, m in pairs]
    return _over_time(drawn, group, k, group.initial_state.shape[-1])


def _as_rows(x: Any, k: int, group: Group) -> Any:
    """(k, series, n) as the rows of one matrix, (k, series, 1, n) as k rows for each series."""
    if group.shared:
        return np.reshape(x, (k * x.shape[1], x.shape[2]))
    return np.swapaxes(x[:, :, 0], 0, 1)


def _repeated(x: Any, k: int, group: Group) -> Any:
    """The rows of the data k times, above those of the diffuse states."""
    rows = data_rows(x, group)
    drawn = _as_rows(np.broadcast_to(rows, (k, *rows.shape)), k, group)
    return np.concatenate([drawn, x[..., x.shape[-2] - group.diffuse :, :]], axis=-2)


def _centred_draws(group: Group, k: int, rng: Any, name: str) -> tuple[list[Any], list[Any]]:
    """k draws of states and observations of every series, with means zero: (k, series, n) a step."""
    of_state = factors(group.state_cov, name, "state_cov")
    of_obs = factors(group.obs_cov, name, "obs_cov")
    rows = (len(group.series),) if group.shared else (len(group.series), 1)
    like = group.initial_state_cov

    def noise(L: Any) -> Any:
        normal = rng.standard_normal((k, *rows, L.shape[-1])).astype(like.dtype, copy=False)
        return placed(normal, like) @ transposed(L)

    states, observations = [], []
    x = noise(semidefinite_factor(group.initial_state_cov, name, "initial_state_cov"))
    for t, A in enumerate(group.transition):
        states.append(x)
        observations.append(x @ transposed(group.design[t]) + noise(of_obs[t]))
        x = x @ transposed(A) + noise(of_state[t])
    return states, observations


def shape_of(size: Any) -> tuple[int, ...]:
    """Of draws, from what `size` says."""
    if size is None:
        return ()
    return tuple(map(operator.index, size)) if isinstance(size, tuple | list) else (operator.index(size),)


def _over_time(steps: list[Any], group: Group, k: int, width: int) -> Any:
    """(k, series, width) or (k, series, 1, width), one a step, as (k, series, T, width)."""
    shape, like = (k, len(group.series), len(steps), width), group.initial_state_cov
    return np.reshape(np.stack(steps, axis=-2), shape) if steps else zeros_beside(like, shape, like.dtype)
