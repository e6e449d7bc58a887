"""The solution of an initial value problem at given times, and its differential.

y' = f(t, y, p), y(t₀) = y₀.  In forward mode the tangent s of y is integrated along with it (the variational
equation), ``s' = f_y s + f_p ṗ``, ``s(t₀) = ẏ₀ - f(t₀, y₀) ṫ₀``.  In reverse mode the adjoint λ runs from the
last time back to t₀, ``λ' = -f_yᴴ λ``, and takes up the cotangent of y(tᵢ) as it passes tᵢ; p̄ is the integral
of ``f_pᴴ λ``, ȳ₀ = λ(t₀), t̄₀ = -⟨λ(t₀), f(t₀, y₀)⟩ and t̄ᵢ = ⟨ȳᵢ, f(tᵢ, yᵢ)⟩.  (Pontryagin et al. 1962;
Chen et al. 2018, appendix B.)  Both are new initial value problems, solved by the same method and tolerances.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import conj
from lindiff.scipy._rest import has_variable
from lindiff.scipy.integrate._jumps import moved_jump
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["Problem", "as_vector", "trajectory"]

# f(t, y, params): a vector like y.
Field = Callable[[Any, Any, list[Any]], Any]
# (f(t, y), t₀, times, y₀) -> the solution at these times, and what makes it a function of time, SciPy's
# OdeSolution; at no cost (True), or by solving again.
Solution = tuple[Any, Callable[[], Any], bool]
Solve = Callable[[Callable[[float, Any], Any], float, Any, Any], Solution]


class Problem:
    """A differential equation and who solves it.

    Parameters
    ----------
    field : callable
        ``f(t, y, params)``, in functions that dispatch.
    solve : callable
        Of plain arrays, see ``Solve``.
    of_others : callable
        Solves the equations that derivatives make of it: the same method and tolerances.
    """

    def __init__(self, field: Field, solve: Solve, of_others: Solve) -> None:
        self.field = field
        self.solve = solve
        self.of_others = of_others

    def other(self, field: Field) -> Problem:
        return Problem(field, self.of_others, self.of_others)

    def run(self, t0: Any, ts: Any, y0: Any, params: list[Any]) -> Solution:
        """Solve it for plain arrays."""
        numbers = [p[()] for p in params]

        def field(t: float, y: Any) -> Any:
            y_dot = self.field(t, y, numbers)
            if has_variable(y_dot):
                raise TypeError(
                    "the right-hand side uses a Variable that is neither in y0 nor in args: its derivative "
                    "would be lost; give it through args"
                )
            return np.asarray(y_dot)

        return self.solve(field, float(t0), ts, y0)

    def warn_of_moved_jumps(self, solution: Any, params: list[Any]) -> None:
        """Where the steps have become short: along the solution, moved by its parameters or by itself."""
        brackets = _of_short_steps(solution.ts)
        if not brackets:
            return
        size = max(float(np.max(np.abs(solution(low)))) for low, _ in brackets) or 1.0

        def field(t: float, of: list[Any]) -> Any:
            return value(self.field(t, solution(t) + size * of[0], [p[()] for p in of[1:]]))

        start = np.zeros_like(solution(solution.ts[0]))
        place = moved_jump(field, brackets, [start, *map(value, params)])
        if place is not None:
            warnings.warn(
                f"the right-hand side jumps at t = {place:.6g}, at a time that the state or the parameters "
                f"move: derivatives of the solution miss what the jump adds. Solve up to that time, as a "
                f"Variable, and from it on: t_span is differentiated, too",
                UserWarning,
                stacklevel=2,
            )


def _of_short_steps(ts: Any) -> list[tuple[float, float]]:
    """Around the shortest steps of a solver: these and their neighbours of about the same length."""
    steps = np.abs(np.diff(ts))
    brackets = set()
    for i in range(1, len(steps) - 1):
        if steps[i] <= steps[i - 1] and steps[i] < steps[i + 1]:
            first = last = i
            while first > 0 and steps[first - 1] < 4 * steps[i]:
                first -= 1
            while last < len(steps) - 1 and steps[last + 1] < 4 * steps[i]:
                last += 1
            low, high = sorted([float(ts[first]), float(ts[last + 1])])
            brackets.add((low, high))
    return sorted(brackets)


def as_vector(y_dot: Any) -> Any:
    """What a right-hand side returns, a list of numbers too, as a vector."""
    if isinstance(y_dot, (list, tuple)):
        return np.concatenate([np.ravel(part) for part in y_dot])
    return np.ravel(y_dot)


class _State:
    """Several arrays as one state vector of a solver; complex if one of them is."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.shapes = [np.shape(part) for part in parts]
        self.is_complex = [np.result_type(value(part)).kind == "c" for part in parts]
        self.ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)]).tolist()

    def vector(self, parts: Sequence[Any]) -> Any:
        return np.concatenate([np.ravel(part) for part in parts])

    def parts(self, vector: Any) -> list[Any]:
        found = []
        for i, shape in enumerate(self.shapes):
            part = np.reshape(vector[self.ends[i] : self.ends[i + 1]], shape)
            found.append(part if self.is_complex[i] else np.real(part))
        return found


@rule
def trajectory(t0: Any, ts: Any, y0: Any, params: list[Any], problem: Problem) -> Any:
    """The solution at the times `ts`, one row each."""
    solution, is_kept = None, False
    if has_variable((t0, ts, y0, params)):  # of an outer trace
        Y = trajectory(t0, ts, y0, params, problem)
    else:
        Y, solution, is_kept = problem.run(t0, ts, y0, params)
    n = len(params)

    def field_at_times() -> Any:
        return np.stack([problem.field(ts[i], Y[i], params) for i in range(len(ts))])

    def pushforward(t0_dot: Any, ts_dot: Any, y0_dot: Any, params_dot: list[Any]) -> Any:
        state = _State([y0, y0])
        if solution is not None and is_kept:
            problem.warn_of_moved_jumps(solution(), params)

        def variational(t: Any, both: Any, both_params: list[Any]) -> Any:
            y, s = state.parts(both)
            p, p_dot = both_params[:n], both_params[n:]
            return state.vector(jvp(lambda y, *p: problem.field(t, y, list(p)), (y, *p), (s, *p_dot)))

        s0 = y0_dot
        if not _is_zero(t0_dot):
            s0 = s0 - problem.field(t0, y0, params) * t0_dot
        both = trajectory(t0, ts, state.vector([y0, s0]), [*params, *params_dot], problem.other(variational))
        Y_dot = both[:, state.ends[1] :]
        return Y_dot if _is_zero(ts_dot) else Y_dot + field_at_times() * ts_dot[:, None]

    def pullback(Y_bar: Any) -> Any:
        if solution is None or has_variable(Y_bar):
            back = _replayed(problem)
        else:
            path = solution()
            problem.warn_of_moved_jumps(path, params)
            back = _along(problem, path)
        adjoint, params_bar = np.zeros_like(value(Y_bar[0])), [np.zeros_like(value(p)) for p in params]
        for i in range(len(ts) - 1, -1, -1):
            adjoint = adjoint + Y_bar[i]
            begin = ts[i - 1] if i else t0
            if value(ts[i]) != value(begin):
                adjoint, *params_bar = back(ts[i], begin, Y[i], params, [adjoint, *params_bar])
        ts_bar = np.sum(np.real(conj(Y_bar) * field_at_times()), axis=1)
        t0_bar = -np.sum(np.real(conj(adjoint) * problem.field(t0, y0, params)))
        return t0_bar, ts_bar, adjoint, params_bar

    return Y, Differential(pushforward, pullback)


def _is_zero(x: Any) -> bool:
    return not isinstance(x, Variable) and not np.any(x)


def _adjoint_field(
    problem: Problem, t: Any, y: Any, params: list[Any], adjoint: Any
) -> tuple[Any, list[Any]]:
    """f, and the right-hand sides of the adjoint and of the integrals for the parameters."""
    y_dot, pullback = vjp(lambda y, *p: problem.field(t, y, list(p)), y, *params)
    return y_dot, [-bar for bar in pullback(adjoint)]


def _replayed(problem: Problem) -> Callable[..., list[Any]]:
    """The way back from one time to the one before, with y solved again beside: differentiable to any order.

    It begins at the known y of every time, so that it does not drift away.
    """

    def back(end: Any, begin: Any, y: Any, params: list[Any], bars: list[Any]) -> list[Any]:
        state = _State([y, *bars])

        def field(t: Any, vector: Any, params: list[Any]) -> Any:
            y, adjoint, *_ = state.parts(vector)
            y_dot, others = _adjoint_field(problem, t, y, params, adjoint)
            return state.vector([y_dot, *others])

        last = trajectory(
            end, np.reshape(begin, (1,)), state.vector([y, *bars]), params, problem.other(field)
        )
        return state.parts(last[0])[1:]

    return back


def _along(problem: Problem, solution: Callable[[float], Any]) -> Callable[..., list[Any]]:
    """The same along the solution that was found on the way forward: stable for stiff equations, too."""

    def back(end: Any, begin: Any, y: Any, params: list[Any], bars: list[Any]) -> list[Any]:
        state = _State(bars)

        def field(t: Any, vector: Any, params: list[Any]) -> Any:
            return state.vector(_adjoint_field(problem, t, solution(t), params, state.parts(vector)[0])[1])

        rows, *_ = problem.other(field).run(end, np.reshape(begin, (1,)), state.vector(bars), params)
        return state.parts(rows[0])

    return back
