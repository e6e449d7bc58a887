"""The equations of derivatives are solved in units of their own.

They are linear in the tangents or cotangents that they begin with, which may be of any size: the tolerances
of the user's state say nothing of theirs.  Each of their numbers is found to a part of its own largest value,
which is guessed from the slopes; a solution that shows a guess to be too large is found once more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["COARSEST", "FINEST", "accuracy_of", "solved_to_scale"]

EPS = np.finfo(np.float64).eps

# The least relative accuracy that SciPy's solvers take.
FINEST = 100 * EPS

# An absolute tolerance that is larger, beside a number, says nothing of the accuracy of its derivatives.
COARSEST = 1e-3

# Of the accuracy of a solution, for the absolute tolerances of its derivatives, which often begin with zeros.
PART = 0.1

# Of what the slopes of a number at the start would make of it in all of the time: many a one decays before.
GUESS = 0.01

# A tolerance that is so many times too large is small enough,
ENOUGH = 4.0

# and so many solutions are found to come to one.
MOST = 6

# Steps at which the rounding of the slopes is looked at; there are few, as each costs a call.
LOOKS = 5

# The rounding of slopes, of what they are sums of: what is smaller than that of a step is noise, for which no
# step is short enough.
NOISE = 10 * EPS

# Of a number, to see what its slopes are sums of.
SHIFT = 1e-8


def accuracy_of(states: Any, rtol: Any, atol: Any) -> float:
    """Of derivatives, by the relative accuracy of a solution: of its number that has the best one."""
    largest = np.max(np.abs(states), axis=0, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = atol / largest
    part = float(np.min(parts[parts <= COARSEST], initial=COARSEST))
    return max(FINEST, PART * max(float(np.min(rtol)), part if part < COARSEST else 0.0))


def solved_to_scale(
    solve: Callable[[Any], Any],
    field: Callable[[float, Any], Any],
    start: tuple[float, float, Any],
    own: Any,
    accuracy: float,
) -> Any:
    """What ``solve(atol)`` finds with the tolerances that the equations of derivatives need.

    Parameters
    ----------
    solve : callable
        Returns SciPy's result, with ``sol``.
    field : callable
        f(t, y), what it solves.
    start : tuple
        Where it begins and ends, and the state there.
    own : ndarray
        Tolerances of the first numbers of the state, which are the user's own.
    accuracy : float
        Of the others, a part of their largest value.
    """
    begin, end, y0 = start
    n = len(own)
    if n == len(y0):
        return solve(own)
    with np.errstate(all="ignore"):
        least = _guessed(field, begin, end, y0, n, accuracy)
    for _ in range(MOST):
        found = solve(np.concatenate([own, _never_zero(least)]))
        wanted = accuracy * np.max(np.abs(found.sol(found.sol.ts)[n:]), axis=1)
        if _are_enough(least, wanted):
            break
        with np.errstate(all="ignore"):
            wanted = np.maximum(wanted, _noise(field, found.sol)[n:])
        if _are_enough(least, wanted):
            break
        least = np.minimum(least, np.where(wanted > 0, wanted, least))
    return found


def _guessed(
    field: Callable[[float, Any], Any], begin: float, end: float, y0: Any, n: int, accuracy: float
) -> Any:
    """Tolerances by what numbers begin with, by their slopes, or by the slopes that these make."""
    span = abs(end - begin)
    scale = np.abs(y0[n:])
    moved, noise = y0, np.zeros(len(y0) - n)
    for _ in range(2):
        slopes = [field(begin + part * (end - begin), moved)[n:] for part in (0.0, 0.37)]
        reached = _finite(np.max(np.abs(slopes), axis=0)) * span
        noise = np.maximum(noise, NOISE * span * _terms(field, begin, moved)[n:])
        scale = np.where(scale > 0, scale, GUESS * reached)
        if np.all(scale > 0):
            break
        moved = np.concatenate([y0[:n], y0[n:] + _finite(slopes[0] + slopes[1]) * span])
    return np.maximum(accuracy * scale, noise)


def _are_enough(least: Any, wanted: Any) -> bool:
    """Whether tolerances are as small as they are wanted; where nothing moves, any are."""
    return bool(np.all((least <= ENOUGH * wanted) | (wanted == 0)))


def _noise(field: Callable[[float, Any], Any], solution: Any) -> Any:
    """What the steps of a solution may add to each number by the rounding of its slopes."""
    times = solution.ts
    looks = np.unique(np.linspace(0, len(times) - 2, LOOKS).astype(int))
    return NOISE * np.max(
        [abs(times[k + 1] - times[k]) * _terms(field, times[k], solution(times[k])) for k in looks], axis=0
    )


def _terms(field: Callable[[float, Any], Any], t: float, y: Any) -> Any:
    """About how large the terms are whose sums are the slopes."""
    signs = np.where(np.random.default_rng(0).random(len(y)) < 0.5, -1.0, 1.0)
    return _finite(np.abs(field(t, y * (1 + SHIFT * signs)) - field(t, y)) / SHIFT)


def _finite(x: Any) -> Any:
    return np.where(np.isfinite(x), x, 0.0)


def _never_zero(least: Any) -> Any:
    """Tolerances of which those that are not known, of what does not move, are the least of the others."""
    is_known = least > 0
    return np.where(is_known, least, np.min(least[is_known]) if np.any(is_known) else 1.0)
