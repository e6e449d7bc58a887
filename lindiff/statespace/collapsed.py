"""Diffuse models in two: up to the step whose data determine the diffuse states, and the proper model after.

De Jong & Chu-Chun-Lin (1994), "Fast likelihood evaluation and prediction for nonstationary state space
models", collapse the augmented filter so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.statespace.initialization import conditioned, determined_at, information, well_determined
from lindiff.statespace.model import System, series_by_pattern
from lindiff.statespace.recursions import filtered, groups

__all__ = ["FAILURES", "Parts", "collapsed"]

Parts = list[tuple[Any, System, System]]
FAILURES = (ValueError, np.linalg.LinAlgError, OverflowError)


def collapsed(system: System, name: str) -> Parts:
    """Places of series with the same missing values; their first steps, diffuse; the others, not diffuse.

    For plain arrays.
    """
    return [(series, *_split(_series(system, series), name)) for series, _ in series_by_pattern(system.y)]


def _split(system: System, name: str) -> tuple[System, System]:
    T, d, k = system.y.shape[1], len(system.diffuse), system.y.shape[0]
    steps = min(T, 2 * d + 8)
    while True:
        (group,) = groups(_steps(system, 0, steps))
        run = filtered(group, name)
        first = determined_at(group, run, well_determined(system.y.dtype))
        if first is not None or steps == T:
            break
        steps = min(T, 2 * steps)
    known = information(group, run, name)  # raises the error, if the data do not determine them
    if first is None or known is None:
        raise ValueError("the data determine the diffuse states badly")
    m, P = conditioned(run.predicted[first + 1], run.predicted_cov[first + 1], known, first)
    tail = _steps(system, first + 1, T)._replace(
        initial_state=np.reshape(m, (k, m.shape[-1])),
        initial_state_cov=P[None] if group.shared else P,
        diffuse=(),
    )
    return _steps(system, 0, first + 1), tail


def _series(system: System, series: Any) -> System:
    """Some of the series."""
    arrays = zip(System._fields[1:9], system[1:9], strict=True)
    chosen = {name: x if x is None or x.shape[0] == 1 else x[series] for name, x in arrays}
    return system._replace(y=system.y[series], **chosen)


def _steps(system: System, start: int, stop: int) -> System:
    """Some of the steps."""
    timed = ("transition", "design", "state_cov", "obs_cov", "state_intercept", "obs_intercept")
    arrays = {name: getattr(system, name) for name in timed}
    cut = {name: x if x is None or x.shape[1] == 1 else x[:, start:stop] for name, x in arrays.items()}
    return system._replace(y=system.y[:, start:stop], **cut)
