"""Interpolation on a line, and the unwrapping of phases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign
from lindiff.core.differential import Differential, Linear
from lindiff.core.registry import composed, rule
from lindiff.core.variable import value
from lindiff.rules._common import as_array, as_type, conj
from lindiff.rules.indexing.rules import scatter

__all__: list[str] = []


@rule
def piecewise_linear(x: Any, xp: Any, fp: Any) -> Any:
    """``y = (1 - t) fp_i + t fp_{i+1}`` with ``t = (x - xp_i) / (xp_{i+1} - xp_i)``; constant outside.

    With s the slope of the piece,
    ``dy = s (dx - (1 - t) dxp_i - t dxp_{i+1}) + (1 - t) dfp_i + t dfp_{i+1}``.  At a knot it is the
    piece to the right, at the last the one to the left.
    """
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    # CuPy takes points in no other layout
    y = np.interp(x if foreign(x) is None else np.copy(x, order="C"), xp, fp)
    n = xp.shape[0]
    knots, at = value(xp), value(x)
    i = np.clip(np.searchsorted(knots, at, side="right") - 1, 0, max(n - 2, 0))
    j = np.minimum(i + 1, n - 1)
    inside = (at >= knots[0]) & (at <= knots[-1]) & (knots[i] < knots[j])
    beyond = at >= knots[-1]

    def part() -> Any:
        """t, from 0 to 1."""
        width = np.where(inside, xp[j] - xp[i], 1)
        return np.where(inside, (x - xp[i]) / width, beyond)

    def slope() -> Any:
        """s; 0 outside."""
        width = np.where(inside, xp[j] - xp[i], 1)
        return np.where(inside, (fp[j] - fp[i]) / width, 0)

    def at_knots(below: Any, above: Any) -> Any:
        """The adjoint of taking the two ends of every piece."""
        return scatter(below, i, (n,), below.dtype) + scatter(above, j, (n,), above.dtype)

    def push_xp(xp_dot: Any) -> Any:
        t = part()
        return -slope() * ((1 - t) * xp_dot[i] + t * xp_dot[j])

    def pull_xp(y_bar: Any) -> Any:
        t, moved = part(), -conj(slope()) * y_bar
        return at_knots((1 - t) * moved, t * moved)

    def push_fp(fp_dot: Any) -> Any:
        t = part()
        return (1 - t) * fp_dot[i] + t * fp_dot[j]

    def pull_fp(y_bar: Any) -> Any:
        t = part()
        return at_knots((1 - t) * y_bar, t * y_bar)

    return y, Differential(
        (lambda x_dot: slope() * x_dot, push_xp, push_fp),
        (lambda y_bar: conj(slope()) * y_bar, pull_xp, pull_fp),
    )


@composed(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    x, xp, fp = (as_array(given) for given in (x, xp, fp))
    xp, fp = (as_type(given, np.result_type(given, np.float64)) for given in (xp, fp))
    if period is not None:
        return interp_periodic(x, xp, fp, np.abs(period))
    y = piecewise_linear(x, xp, fp)
    if left is not None:
        y = np.where(value(x) < value(xp)[0], left, y)
    if right is not None:
        y = np.where(value(x) > value(xp)[-1], right, y)
    return y


def interp_periodic(x: Any, xp: Any, fp: Any, period: Any) -> Any:
    """On one period, with a knot more on each side."""
    if value(period) == 0:
        raise ValueError("period must be a non-zero value")
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape[0] != fp.shape[0]:
        raise ValueError("fp and xp are not of the same length")
    x, xp = np.remainder(x.astype(float), period), np.remainder(xp.astype(float), period)
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    fp = np.concatenate([fp[-1:], fp, fp[:1]])
    return piecewise_linear(x, xp, fp)


@rule(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = math.tau) -> Any:
    """``p`` plus whole numbers of periods, which the derivative takes as they are."""
    y = np.unwrap(p, discont, axis, period=period)

    def turns() -> Any:
        return np.round((value(y) - value(p)) / value(period))

    return y, Linear(
        (lambda p_dot: p_dot, None, None, lambda period_dot: turns() * period_dot),
        (lambda y_bar: y_bar, None, None, lambda y_bar: np.sum(turns() * y_bar)),
    )
