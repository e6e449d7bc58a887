"""Jumps that a parameter moves, which the derivative under the integral sign does not see.

A piecewise function such as ``where(x > p, 1, 0)`` has derivative 0 by p wherever it has one, while its
integral up to 1 has -1.  Solvers refine around a jump: it lies between neighbouring places of theirs.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.programs.tree import Tree

__all__ = [
    "WIDE",
    "brackets_of_few",
    "brackets_of_steps",
    "is_moved",
    "is_smooth",
    "may_jump",
    "moved_jump",
    "perturbed",
    "warn_of_jump",
]

CANDIDATES = 256  # so many of the steepest places are looked at closely
FEW = 64  # steps of a solution to loose tolerances, each of which may have passed over a jump
PERSISTENT = 0.3  # of a jump, this share remains between neighbouring numbers
STEP = 1e-8  # relative step of parameters: moves a jump by many roundings, and changes smooth values little
MOST = 1e-3  # and the largest one,
WIDE = 8.0  # of so many times the distance of the numbers that a jump is between
LEAST = 1e-6  # of a value: no jump is smaller
SAME = 0.02  # of a jump: for other parameters it may be another one by less, at the same place

# What has values in steps, or a cut; what compares and counts is known by its results.
STEPS = {"sign", "floor", "ceil", "rint", "trunc", "round", "around", "fix", "heaviside", "copysign"}
STEPS |= {
    "remainder",
    "mod",
    "fmod",
    "floor_divide",
    "floordiv",
    "divmod",
    "modf",
    "arctan2",
    "angle",
    "unwrap",
}

Function = Callable[[float, list[Any]], Any]


def may_jump(tree: Tree) -> bool:
    """Whether a recorded function looks at values, compares, rounds, or does something else in steps."""
    branch = tree.root
    if branch.fork is not None or any(
        form.dtype is None or form.dtype.kind in "biu" for form in branch.forms
    ):
        return True
    return any(getattr(step.function, "__name__", "") in STEPS for step in branch.steps)


# What has all derivatives where it is defined.
SMOOTH = {"add", "subtract", "multiply", "divide", "negative", "positive", "power", "pow", "square", "sqrt"}
SMOOTH |= {
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
}
SMOOTH |= {"arctan", "arcsin", "arccos", "arcsinh", "reciprocal", "product", "sum", "mean", "dot", "matmul"}
SMOOTH |= {"getitem", "setitem", "stack", "array", "concatenate", "hstack", "vstack", "append", "reshape"}
SMOOTH |= {
    "astype",
    "ravel",
    "transpose",
    "zeros_like",
    "ones_like",
    "copy",
    "broadcast_to",
    "diff",
    "roll",
    "outer",
}


def is_smooth(tree: Tree) -> bool:
    """Whether a recorded function is made of what has all derivatives alone."""
    steps = tree.root.steps
    return not may_jump(tree) and all(getattr(step.function, "__name__", "") in SMOOTH for step in steps)


def moved_jump(
    f: Function,
    brackets: Sequence[tuple[float, float]],
    params: list[Any],
    beyond: tuple[float, float] | None = None,
) -> float | None:
    """Where f(x, params) jumps at a place that the parameters move; None where it does not.

    Parameters
    ----------
    f : callable
        Of plain arguments, a number or a vector.
    brackets : sequence of pairs of numbers
        Intervals, narrow around a jump if they hold one; of many the steepest are looked at.
    params : list of arrays
    beyond : pair of numbers, optional
        A place, and how far from it a jump is another one.
    """
    with np.errstate(all="ignore"):
        values = {x: f(x, params) for bracket in brackets for x in bracket}
        sizes = [(_change(values[low], values[high]), low, high) for low, high in brackets]
        for size, low, high in sorted(sizes, key=lambda s: s[0] / (s[2] - s[1]), reverse=True)[:CANDIDATES]:
            jump = _jump_between(f, low, high, params, PERSISTENT * size)
            if jump is None or (beyond is not None and abs(jump[0] - beyond[0]) <= beyond[1]):
                continue
            others = perturbed(params, WIDE * (jump[1] - jump[0]))
            before, *after = ([f(x, moved) for x in jump] for moved in (params, *others))
            if is_moved(before, after):
                return jump[0]
    return None


def is_moved(before: Sequence[Any], after: Sequence[Sequence[Any]]) -> bool:
    """Whether a jump is elsewhere for other parameters.

    Parameters
    ----------
    before : pair of arrays
        The values on both sides of it.
    after : sequence of pairs of arrays
        Those at the same two places, for the others.
    """
    low, high = (np.asarray(x) for x in before)
    jump, size = high - low, np.maximum(np.abs(low), np.abs(high))
    counts = np.isfinite(size) & (np.abs(jump) > LEAST * size)
    return any(
        bool(np.any(counts & (np.abs(np.subtract(*other[::-1]) - jump) > SAME * np.abs(jump))))
        for other in after
    )


def brackets_of_steps(ts: Any) -> list[tuple[float, float]]:
    """Where a right-hand side may jump on a solver's way: parts of a few long steps, or many steps."""
    pairs = itertools.pairwise(sorted(map(float, ts)))
    return brackets_of_few(ts) or [(low, high) for low, high in pairs if low < high]


def brackets_of_few(ts: Any) -> list[tuple[float, float]]:
    """The intervals between at most ``FEW`` places, divided into about as many; none of more."""
    steps = len(ts) - 1
    if steps > FEW:
        return []
    parts = max(1, FEW // max(1, steps))
    ends = np.interp(np.arange(steps * parts + 1) / parts, np.arange(steps + 1), ts)
    return [(low, high) for low, high in itertools.pairwise(sorted(map(float, ends))) if low < high]


def _change(low: Any, high: Any) -> float:
    change = float(np.max(np.abs(np.subtract(high, low)), initial=0.0))
    return change if np.isfinite(change) else 0.0


def _jump_between(
    f: Function, low: float, high: float, params: list[Any], least: float
) -> tuple[float, float] | None:
    """Two neighbouring numbers with a jump between them; None if less than ``least`` is left of it.

    Found by halving the interval.
    """
    at_low, at_high = f(low, params), f(high, params)
    while _change(at_low, at_high) > least:
        middle = low + 0.5 * (high - low)
        if not low < middle < high:
            return low, high
        at_middle = f(middle, params)
        if _change(at_low, at_middle) >= _change(at_middle, at_high):
            high, at_high = middle, at_middle
        else:
            low, at_low = middle, at_middle
    return None


def perturbed(params: list[Any], least: float = 0.0) -> list[list[Any]]:
    """The parameters moved to both sides, each entry by a share of its own.

    They move by ``least``, if that is no more than a thousandth of them: what is added to a large number has
    to be moved by more than the rounding of that.
    """
    rng = np.random.default_rng(0)
    moves = []
    for p in params:
        share = 1 + rng.random(np.shape(p))
        size = np.abs(p)
        moves.append(np.where(size == 0, max(STEP, least), np.clip(least, STEP * size, MOST * size)) * share)
    return [[p + sign * move for p, move in zip(params, moves, strict=True)] for sign in (1, -1)]


def warn_of_jump(time: float | None) -> None:
    """Warn of a jump of a right-hand side at this time, None for none."""
    if time is not None:
        warnings.warn(
            f"the right-hand side jumps at t = {time:.6g}, at a time that the state or the parameters "
            f"move: derivatives of the solution miss what the jump adds. Solve up to that time, as a "
            f"Variable, and from it on: t_span is differentiated, too",
            UserWarning,
            stacklevel=2,
        )
