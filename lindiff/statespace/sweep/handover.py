"""Results of every step from diffuse states: composed recursions first, then the compiled sweep.

The recursions run until the data determine the states well, the sweep over the proper model that is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.statespace import composed
from lindiff.statespace.diffuse import numbers_of_steps, well_determined
from lindiff.statespace.model import System, series_by_pattern

__all__ = ["in_parts"]

Fields = tuple[Any, ...]


def in_parts(
    system: System,
    name: str,
    by_recursions: Callable[[System], Fields],
    by_sweep: Callable[[System], Fields],
    joined: Callable[[Fields, Fields], Fields],
) -> Fields:
    """Results of a system with an axis of series; `name` is the public function that errors speak of.

    Parameters
    ----------
    by_recursions : callable
        Gives the results of a system that may have diffuse states.
    by_sweep : callable
        Gives those of a system without.
    joined : callable
        Makes one of the results for the first steps and for the others.
    """
    if not system.diffuse:
        return by_sweep(system)
    try:
        places = [series for series, _ in series_by_pattern(system.y)]
        found = [_collapsed(system.of_series(series), name) for series in places]
        return composed.in_order(
            [joined(by_recursions(head), by_sweep(tail)) for head, tail in found], places
        )
    except (ValueError, np.linalg.LinAlgError, OverflowError):  # they name steps and series of a part
        return by_recursions(system)


def _collapsed(system: System, name: str) -> tuple[System, System]:
    """The first steps of series with the same missing values, and the others as a proper model."""
    S, T, _ = system.y.shape
    for steps in numbers_of_steps(len(system.diffuse), T):
        (group,) = composed.groups(system.of_steps(0, steps))
        run = composed.filtered(group, name)
        head = composed.determined_after(group, run, well_determined(system.y.dtype))
        if head is not None:
            break
    known = composed.information(group, run, name)  # raises the error, if the data do not determine them
    if head is None or known is None:
        raise ValueError("the data determine the diffuse states badly")
    m, P = composed.conditioned(run.predicted[head], run.predicted_cov[head], known, head)
    tail = system.of_steps(head, T)._replace(
        initial_state=np.reshape(m, (S, m.shape[-1])),
        initial_state_cov=P[None] if group.shared else P,
        diffuse=(),
    )
    return system.of_steps(0, head), tail
