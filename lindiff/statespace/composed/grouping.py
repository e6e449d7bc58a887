"""Series with the same missing values, and their system matrices step by step.

If the series of a group share all system matrices, covariances have no axis of series, and the means of the
series are the rows of one matrix, so that what is cubic in the number of states is done once for all of them.
Otherwise every series has its own covariances (k, n, n), and its mean is the one row of a matrix, (k, 1, n).
The unit vectors of diffuse states are further rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.arrays import placed, zeros_beside
from lindiff.linalg import makediag
from lindiff.statespace.model import System, series_by_pattern

__all__ = [
    "Group",
    "data_rows",
    "groups",
    "in_order",
    "matrices_over_time",
    "of_groups",
    "part",
    "rows_over_time",
    "with_rows",
    "zeros_for",
]


class Group(NamedTuple):
    """Series with the same missing values; every list has one entry a step.

    Rows: k series of the group if they share covariances, else one row for each series; then d rows for the
    unit vectors of the diffuse states.
    """

    series: Any  # their places among all series
    observed: Any  # (T, p) of bool
    shared: bool
    y: list[Any]  # (..., k, p) less the intercept
    transition: list[Any]
    design: list[Any]
    state_cov: list[Any]
    obs_cov: list[Any]
    state_intercept: list[Any]  # (..., k + d, n), or None
    obs_intercept: list[Any]  # (..., k, p), or None
    initial_state: Any  # (..., k + d, n)
    initial_state_cov: Any
    diffuse: int  # d


def groups(system: System) -> list[Group]:
    """The series of a system in groups with the same missing values."""
    return [_group(system, series, observed) for series, observed in series_by_pattern(system.y)]


def _group(system: System, series: Any, observed: Any) -> Group:
    """The group of the series at these places, which are observed at these places of (T, p)."""
    shared = system.shares_covariances
    everyone = len(series) == system.y.shape[0]
    k, steps, d = len(series), len(observed), len(system.diffuse)

    def chosen(x: Any) -> Any:
        return x if everyone or x.shape[0] == 1 else x[series]

    def matrices(x: Any) -> list[Any]:
        x = x[0] if shared else np.swapaxes(chosen(x), 0, 1)
        return _over_time(x, steps)

    def rows(x: Any) -> Any:
        """(S, T, m) as (T, k, m), or (T, k, 1, m) if there is one row a series."""
        x = np.swapaxes(chosen(x), 0, 1)
        return x if shared else x[:, :, None, :]

    y = rows(system.y)
    level = [None] * steps
    if system.obs_intercept is not None:
        y = y - rows(system.obs_intercept)
        level = _over_time(rows(system.obs_intercept), steps)
    intercept = [None] * steps
    if system.state_intercept is not None:
        c = rows(system.state_intercept)
        c = np.broadcast_to(c, (c.shape[0], *_rows_shape(shared, k), c.shape[-1]))
        intercept = _over_time(with_rows(c, zeros_beside(c, (d, c.shape[-1]), c.dtype)), steps)
    n = system.transition.shape[-1]
    start = rows(system.initial_state[:, None])[0]
    start = np.broadcast_to(start, (*_rows_shape(shared, k), n))
    cov = system.initial_state_cov
    cov = cov[0] if shared else np.broadcast_to(chosen(cov), (k, n, n))
    obs_cov = system.obs_cov
    if obs_cov.shape[-2] != obs_cov.shape[-1]:
        obs_cov = makediag(obs_cov[..., 0, :])
    return Group(
        series,
        observed,
        shared,
        _over_time(y, steps),
        matrices(system.transition),
        matrices(system.design),
        matrices(system.state_cov),
        matrices(obs_cov),
        intercept,
        level,
        with_rows(start, placed(np.eye(n, dtype=start.dtype)[list(system.diffuse)], start)),
        cov,
        d,
    )


def _rows_shape(shared: bool, k: int) -> tuple[int, ...]:
    """The axes before the last one of rows for k series."""
    return (k,) if shared else (k, 1)


def data_rows(x: Any, group: Group) -> Any:
    """The rows of the data, without those of the diffuse states."""
    return x[..., : x.shape[-2] - group.diffuse, :] if group.diffuse else x


def part(group: Group, start: int, stop: int, m: Any = None, P: Any = None) -> Group:
    """Some of the steps; from the mean rows m of the data, if given, and the covariance P, not diffuse."""
    lists = ("y", "transition", "design", "state_cov", "obs_cov", "state_intercept", "obs_intercept")
    cut = group._replace(
        observed=group.observed[start:stop], **{name: getattr(group, name)[start:stop] for name in lists}
    )
    if m is None:
        return cut
    c = [None if x is None else data_rows(x, group) for x in cut.state_intercept]
    return cut._replace(state_intercept=c, initial_state=m, initial_state_cov=P, diffuse=0)


def rows_over_time(parts: Sequence[Any], group: Group, width: int) -> Any:
    """Row matrices, one a step, as (series, T, width)."""
    k = len(group.series)
    if not parts:
        return zeros_for(group, (k, 0, width))
    return np.swapaxes(np.reshape(np.stack(parts), (len(parts), k, width)), 0, 1)


def matrices_over_time(parts: Sequence[Any], group: Group, width: int) -> Any:
    """Matrices, one a step, as (series, T, width, width); those that series share are repeated as views."""
    shape = len(group.series), len(parts), width, width
    if not parts:
        return zeros_for(group, shape)
    if group.shared:
        return np.broadcast_to(np.stack(parts), shape)
    return np.stack([np.broadcast_to(x, (shape[0], width, width)) for x in parts], axis=1)


def zeros_for(group: Group, shape: tuple[int, ...]) -> Any:
    """Zeros of the group's dtype, where its arrays are."""
    like = group.initial_state_cov
    return zeros_beside(like, shape, like.dtype)


def _over_time(x: Any, steps: int) -> list[Any]:
    """One entry a step; the same one, for what is constant."""
    return [x[0]] * steps if len(x) == 1 else [x[t] for t in range(steps)]


def with_rows(x: Any, more: Any) -> Any:
    """More rows below those of every matrix x."""
    if len(more) == 0:
        return x
    return np.concatenate([x, np.broadcast_to(more, (*x.shape[:-2], *more.shape))], axis=-2)


def of_groups(system: System, results: Callable[[Group], tuple[Any, ...]]) -> tuple[Any, ...]:
    """The results of all series of a system from those of its groups."""
    found = groups(system)
    return in_order([results(group) for group in found], [group.series for group in found])


def in_order(parts: Sequence[tuple[Any, ...]], places: Sequence[Any]) -> tuple[Any, ...]:
    """The results of all series, each an array (S, ...), in their order.

    Parameters
    ----------
    parts : for each group of series its results, arrays (k, ...)
    places : for each group the places of its series among all
    """
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate(places))
    return tuple(np.concatenate(field, axis=0)[order] for field in zip(*parts, strict=True))
