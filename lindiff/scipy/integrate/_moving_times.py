"""Solutions at times that move.

A solution at tᵢ is that at the plain number tᵢ, carried on by the difference of both: by nothing, but with
the derivatives of the flow.  A step of an explicit Runge-Kutta method of the order of the derivatives has
these: its Taylor series about 0 (Hairer, Nørsett, Wanner, Solving ODEs I, II.1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate

from lindiff.core.variable import value
from lindiff.rules._common import depends_on_variables, depth_of
from lindiff.scipy.integrate._trajectory import Field, Problem, trajectory

__all__ = ["solution_at"]

# (order, A, B, C)
METHODS: list[tuple[int, Any, Any, Any]] = [
    (1, [[]], [1.0], [0.0]),
    (2, [[], [0.5]], [0.0, 1.0], [0.0, 0.5]),
    *(
        (order, solver.A, solver.B, solver.C)
        for order, solver in (
            (3, scipy.integrate.RK23),
            (5, scipy.integrate.RK45),
            (8, scipy.integrate.DOP853),
        )
    ),
]


def solution_at(t0: Any, ts: Any, y0: Any, params: list[Any], problem: Problem) -> Any:
    """The solution at the times `ts`, one row each, from t₀; differentiable in all of them.

    Raises
    ------
    ValueError
        For derivatives of higher order than eight in times.
    """
    if not depends_on_variables((t0, ts)):
        return trajectory(t0, ts, y0, params, problem)
    order = depth_of((t0, ts, y0, params))
    begin, times, field = value(t0), value(ts), problem.field
    if depends_on_variables(t0):
        y0 = _carried(field, t0, begin - t0, y0, params, order)
    Y = trajectory(begin, times, y0, params, problem)
    if not depends_on_variables(ts):
        return Y
    rows = [_carried(field, times[i], ts[i] - times[i], Y[i], params, order) for i in range(len(times))]
    return np.stack(rows) if rows else Y


def _carried(field: Field, t: Any, h: Any, y: Any, params: list[Any], order: int) -> Any:
    """The state at t + h, of h = 0 with derivatives to this order."""
    known = [method for method in METHODS if method[0] >= order]
    if not known:
        raise ValueError("the times of a solution have derivatives up to the eighth order")
    _, A, B, C = known[0]
    slopes: list[Any] = []
    for a, c in zip(A, C, strict=True):
        at = y + h * _sum(a, slopes) if slopes else y
        slopes.append(field(t + c * h, at, params))
    return y + h * _sum(B, slopes)


def _sum(weights: Any, slopes: list[Any]) -> Any:
    return sum(float(w) * k for w, k in zip(weights, slopes, strict=False) if w)
