"""The solution of an initial value problem at given times, and its differential.

y' = f(t, y, p), y(t₀) = y₀.  In forward mode the tangent s of y is integrated along with it (the variational
equation), ``s' = f_y s + f_p ṗ``, ``s(t₀) = ẏ₀``.  In reverse mode the adjoint λ runs from the last time back
to t₀, ``λ' = -f_yᴴ λ``, and takes up the cotangent of y(tᵢ) as it passes tᵢ; p̄ is the integral of ``f_pᴴ λ``,
and ȳ₀ = λ(t₀).  (Pontryagin et al. 1962; Chen et al. 2018, appendix B.)  Both are new initial value problems,
solved by the same method, with tolerances in their own units.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import inside, value
from lindiff.rules._common import depends_on_variables, depth_of
from lindiff.scipy.integrate._any_order import has_orders, pulled_by_steps, pushed_by_steps
from lindiff.scipy.integrate._field import as_numbers
from lindiff.scipy.integrate._jumps import brackets_of_steps, is_smooth, moved_jump, warn_of_jump
from lindiff.scipy.integrate._scales import FINEST, accuracy_of
from lindiff.scipy.integrate._stepping import AT_START, Stepped
from lindiff.scipy.integrate._witnesses import Witnessed, has_changed
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["Problem", "SolveOther", "trajectory"]

# f(t, y, params): a vector like y.
Field = Callable[[Any, Any, list[Any]], Any]
# Of (f(t, y), t₀, times, y₀): the solution at these times, a function that gives SciPy's OdeSolution, and
# whether that is at hand or takes another solution.
Solution = tuple[Any, Callable[[], Any], bool]
Solve = Callable[[Callable[[float, Any], Any], float, Any, Any], Solution]
# The same, and the tolerances of the first numbers, the relative accuracy of the others.
SolveOther = Callable[[Callable[[float, Any], Any], float, Any, Any, Any, float], Solution]
BySteps = Callable[..., Stepped | None]


class Problem:
    """A differential equation and who solves it.

    Parameters
    ----------
    field : callable
        ``f(t, y, params)``, in functions that dispatch.
    solve : callable
        Of plain arrays, see ``Solve``.
    of_others : callable
        Solves the equations that derivatives make of it by the same method, see ``SolveOther``.
    tolerances : pair
        Relative and absolute ones, of the solution.
    by_steps : callable, optional
        Of (t₀, times, y₀, params): the :class:`Stepped` solution of the right-hand side's program, or None.
    by_steps_beside : callable, optional
        The same to the same tolerances by another method, for the derivatives of what ``solve`` finds.
    asked : callable, optional
        The user's own function, of the same arguments: what the solver asks,
    at_once : callable, optional
        unless there is a program: of (t₀, y₀, params), f(t, y) or None.
    """

    def __init__(
        self,
        field: Field,
        solve: Solve,
        of_others: SolveOther,
        tolerances: tuple[Any, Any] = (FINEST, 0.0),
        by_steps: BySteps = lambda *_: None,
        by_steps_beside: BySteps = lambda *_: None,
        asked: Field | None = None,
        at_once: Callable[[float, Any, list[Any]], Any] = lambda *_: None,
    ) -> None:
        self.field, self._asked = field, field if asked is None else asked
        self._at_once = at_once
        self.solve = solve
        self.of_others, self.tolerances = of_others, tolerances
        self.by_steps, self.by_steps_beside = by_steps, by_steps_beside
        self._witnessed: Witnessed | None = None
        self._begins: tuple[Any, ...] | None = None
        self._states: Any = None
        self._own: Any = None
        self._accuracy = FINEST

    def learn(self, states: Any) -> None:
        """Keep plain states of the solution, which say how accurate it is once a derivative asks."""
        if self._states is None:
            self._states = states

    def _tolerances_of_derivatives(self) -> tuple[Any, float]:
        """Those of the problem's own numbers, and the accuracy of what derivatives make of it."""
        if self._own is None:
            rtol, atol = self.tolerances
            self._own = np.array(np.broadcast_to(atol, self._states.shape[1:]), np.float64)
            self._accuracy = accuracy_of(self._states, rtol, self._own)
        return self._own, self._accuracy

    def other(self, field: Field, with_state: bool = False) -> Problem:
        """What a derivative makes of it; ``with_state``, its state begins with that of the problem."""
        own, accuracy = self._tolerances_of_derivatives()
        solve = partial(self._solve_other, own if with_state else own[:0])
        other = Problem(field, solve, self.of_others)
        other._own, other._accuracy = own, accuracy
        return other

    def _solve_other(
        self, own: Any, field: Callable[[float, Any], Any], t0: float, ts: Any, y0: Any
    ) -> Solution:
        return self.of_others(field, t0, ts, y0, own, self._accuracy)

    def run(self, t0: Any, ts: Any, y0: Any, params: list[Any]) -> Solution:
        """Solve it for plain arrays."""
        numbers = as_numbers(params)

        def field(t: float, y: Any, of: Field = self.field) -> Any:
            y_dot = of(t, y, numbers)
            if depends_on_variables(y_dot):
                raise TypeError(
                    "the right-hand side uses a Variable that is neither in y0 or args nor closed over: its "
                    "derivative would be lost; give it through args"
                )
            return np.asarray(y_dot)

        by_program = self._at_once(float(t0), y0, params)
        self._witnessed = Witnessed(field, by_program or partial(field, of=self._asked))
        return self.solve(self._witnessed, float(t0), ts, y0)

    def differentiable_steps(self, t0: Any, ts: Any, y0: Any, params: list[Any]) -> Stepped | None:
        """The steps, or those of another method to the same end, whose derivatives are derivatives of it."""
        found = self.by_steps(t0, ts, y0, params)
        if found is not None and not found.has_derivatives:
            states, found = found.states, self.by_steps_beside(t0, ts, y0, params)
            found = found if found is not None and found.are_near(ts, states) else None
        return None if found is None or found.say_little else found

    def begins_at(self, t0: Any, ts: Any, y0: Any, params: list[Any]) -> None:
        """Where `is_smooth` is to look."""
        if self._begins is None:
            self._begins = inside(t0), inside(ts), inside(y0), [inside(p) for p in params]

    @functools.cached_property
    def is_smooth(self) -> bool:
        """Whether it is known that the right-hand side has all derivatives."""
        if self._begins is None:
            return False
        steps = self.by_steps(*self._begins) or self.by_steps_beside(*self._begins)
        known = None if steps is None else steps.slopes.evaluator.known()
        return known is not None and known.tree is not None and is_smooth(known.tree)

    def refuse_changes(self) -> None:
        """Raise where the right-hand side is another function now."""
        if self._witnessed is not None:
            self._witnessed.refuse_changes("the right-hand side")

    def moved_jump(self, solution: Any, params: list[Any]) -> float | None:
        """The time of a jump of the right-hand side that the state or parameters move; None without one."""
        brackets = brackets_of_steps(solution.ts)
        if not brackets:
            return None
        size = max(float(np.max(np.abs(solution(low)))) for low, _ in brackets) or 1.0

        def field(t: float, of: list[Any]) -> Any:
            return value(self.field(t, solution(t) + size * of[0], [p[()] for p in of[1:]]))

        start = np.zeros_like(solution(solution.ts[0]))
        begin, end = float(solution.ts[0]), float(solution.ts[-1])
        others = begin, AT_START * abs(end - begin)
        return moved_jump(field, brackets, [start, *map(value, params)], others)


class _State:
    """Several arrays as one state vector of a solver; complex if one of them is."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.shapes = [np.shape(part) for part in parts]
        self.is_complex = [np.result_type(value(part)).kind == "c" for part in parts]
        self.ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)]).tolist()

    def vector(self, parts: Sequence[Any]) -> Any:
        return np.concatenate([np.ravel(part) for part in parts])

    def parts(self, vector: Any) -> list[Any]:
        """The parts of the state, in their shapes and real or complex, from one vector."""
        found = []
        for i, shape in enumerate(self.shapes):
            part = np.reshape(vector[self.ends[i] : self.ends[i + 1]], shape)
            found.append(part if self.is_complex[i] else np.real(part))
        return found


@rule
def trajectory(t0: Any, ts: Any, y0: Any, params: list[Any], problem: Problem) -> Any:
    """The solution at the times `ts`, one row each, from t₀; these are plain."""
    solution, is_kept = None, False
    steps: Stepped | None = None
    may_be_beside = True
    if depends_on_variables((y0, params)):  # of an enclosing trace
        Y = trajectory(t0, ts, y0, params, problem)
    elif (steps := problem.by_steps(t0, ts, y0, params)) is not None:
        Y = steps.states
    else:
        Y, solution, is_kept = problem.run(t0, ts, y0, params)
    problem.learn(inside(Y))
    n = len(params)

    def steps_with(*dots: Any) -> Stepped | None:
        """The steps whose derivatives are wanted; None in another derivative."""
        nonlocal steps, may_be_beside
        if depends_on_variables((y0, params, dots)):
            return None
        if steps is not None:
            steps.refuse_changes()
        if may_be_beside and (steps is None or not steps.has_derivatives):
            found = problem.by_steps_beside(t0, ts, y0, params)
            steps = found if found is not None and found.are_near(ts, Y) else None
            may_be_beside = steps is not None
            if steps is None and found is not None:
                warn_of_jump(found.moved_jump)
        if steps is not None:
            warn_of_jump(steps.moved_jump)
            if steps.say_little:
                return None
        return steps

    find = partial(problem.differentiable_steps, t0, ts)

    def has_steps(*given: Any) -> bool:
        """Whether there are compiled derivatives of derivatives, in which all this is."""
        if not depends_on_variables((y0, params, given)):
            return False
        found = find(inside(y0), list(map(inside, params)))
        if found is not None and not found.are_near(ts, inside(Y)):
            raise has_changed("the right-hand side")
        return has_orders(found, depth_of((y0, params, given)))

    def pushed(s0: Any, params_dot: list[Any]) -> Any:
        problem.refuse_changes()
        if has_steps(s0, params_dot):
            return pushed_by_steps(y0, params, s0, params_dot, find)
        along = steps_with(s0, params_dot)
        Y_dot = None if along is None else along.push(s0, params_dot)
        if Y_dot is not None:
            return Y_dot
        if along is None and solution is not None and is_kept:
            warn_of_jump(problem.moved_jump(solution(), params))
        state = _State([y0, y0])

        def variational(t: Any, both: Any, both_params: list[Any]) -> Any:
            y, s = state.parts(both)
            p, p_dot = both_params[:n], both_params[n:]
            return state.vector(jvp(lambda y, *p: problem.field(t, y, list(p)), (y, *p), (s, *p_dot)))

        both = trajectory(
            t0, ts, state.vector([y0, s0]), [*params, *params_dot], problem.other(variational, True)
        )
        return both[:, state.ends[1] :]

    def pulled(Y_bar: Any) -> Any:
        problem.refuse_changes()
        if has_steps(Y_bar):
            return pulled_by_steps(y0, params, Y_bar, find)
        along = steps_with(Y_bar)
        found = None if along is None else along.pull(Y_bar)
        if found is not None:
            return found
        if solution is None or depends_on_variables(Y_bar):
            problem.begins_at(t0, ts, y0, params)
            back = _chained(problem)
        else:
            path = solution()
            warn_of_jump(problem.moved_jump(path, params))
            back = _along(problem, path)
        adjoint, params_bar = np.zeros_like(value(Y_bar[0])), [np.zeros_like(value(p)) for p in params]
        for i in range(len(ts) - 1, -1, -1):
            adjoint = adjoint + Y_bar[i]
            begin = ts[i - 1] if i else t0
            if ts[i] != begin:
                y = Y[i - 1] if i else y0
                adjoint, *params_bar = back(begin, ts[i], y, params, [adjoint, *params_bar])
        return adjoint, params_bar

    return Y, Differential(
        lambda _t0, _ts, y0_dot, params_dot: pushed(y0_dot, params_dot),
        lambda Y_bar: (None, None, *pulled(Y_bar)),
    )


def _adjoint_field(
    problem: Problem, t: Any, y: Any, params: list[Any], adjoint: Any
) -> tuple[Any, list[Any]]:
    """f, and the right-hand sides of the adjoint and of the integrals for the parameters."""
    y_dot, pullback = vjp(lambda y, *p: problem.field(t, y, list(p)), y, *params)
    return y_dot, [-bar for bar in pullback(adjoint)]


def _along(problem: Problem, solution: Callable[[float], Any]) -> Callable[..., list[Any]]:
    """The way back from one time to the one before, along the solution that was found on the way forward."""

    def back(begin: Any, end: Any, y: Any, params: list[Any], bars: list[Any]) -> list[Any]:
        state = _State(bars)

        def field(t: Any, vector: Any, params: list[Any]) -> Any:
            return state.vector(_adjoint_field(problem, t, solution(t), params, state.parts(vector)[0])[1])

        rows, *_ = problem.other(field).run(end, np.reshape(begin, (1,)), state.vector(bars), params)
        return state.parts(rows[0])

    return back


def _chained(problem: Problem) -> Callable[..., list[Any]]:
    """The same along a solution that is found on the way forward once more: differentiable to any order."""

    def back(begin: Any, end: Any, y: Any, params: list[Any], bars: list[Any]) -> list[Any]:
        state = _State(bars)

        def adjoint(t: Any, vectors: list[Any], params: list[Any]) -> Any:
            y, vector = vectors
            return state.vector(_adjoint_field(problem, t, y, params, state.parts(vector)[0])[1])

        sweeps = Sweeps(
            problem, [lambda t, vectors, params: problem.field(t, vectors[0], params), adjoint], [1, -1]
        )
        _, last = swept([y, state.vector(bars)], params, (begin, end), sweeps)
        return state.parts(last)

    return back


class Sweeps:
    """Differential equations on one interval, solved one after the other, each along those before it.

    Sweep k solves ``Y_k' = F_k(t, Y_1(t), ..., Y_k(t), p)``, forward or back in time, d_k = ±1.  What
    derivatives make of it is of the same kind, and every equation runs in the direction in which it is
    stable if those of the problem are: a stiff solution is never replayed backward.

    Parameters
    ----------
    problem : Problem
        Who solves them.
    fields : list of callable
        ``F_k(t, [Y_1, ..., Y_k], params)``
    directions : list of int
    """

    def __init__(self, problem: Problem, fields: list[Callable[..., Any]], directions: list[int]) -> None:
        self.problem, self.fields, self.directions = problem, fields, directions
        self._solved: list[tuple[Problem, Callable[[], Any]]] = []

    def solved(self, starts: list[Any], params: list[Any], span: tuple[Any, Any]) -> list[Any]:
        """The end of each sweep, for plain arrays."""
        paths: list[Any] = []
        ends = []
        self._solved = []
        for field, direction, start in zip(self.fields, self.directions, starts, strict=True):
            begin, end = span[::direction]

            def along(
                t: Any, y: Any, params: list[Any], field: Any = field, before: Any = tuple(paths)
            ) -> Any:
                return field(t, [*[path(t) for path in before], y], params)

            problem = self.problem.other(along, with_state=not paths)
            rows, solution, _ = problem.run(begin, np.reshape(end, (1,)), start, params)
            self._solved.append((problem, solution))
            ends.append(rows[0])
            if len(ends) < len(self.fields):
                paths.append(solution())
        return ends

    def warn_of_jumps(self, params: list[Any]) -> None:
        """Warn of a jump of an equation that parameters move: of the slopes of the problem, too."""
        if self.problem.is_smooth:
            return
        plain = [np.asarray(value(p)) for p in params]
        for problem, solution in self._solved:
            warn_of_jump(problem.moved_jump(solution(), plain))

    def pushed(self, states: list[_State], n: int) -> Sweeps:
        """The sweeps of each equation beside that of its tangent; the parameters are n and their tangents."""

        def variational(k: int) -> Callable[..., Any]:
            def field(t: Any, vectors: list[Any], both_params: list[Any]) -> Any:
                pairs = [state.parts(vector) for state, vector in zip(states, vectors, strict=False)]
                primals = [*[y for y, _ in pairs], *both_params[:n]]
                tangents = [*[s for _, s in pairs], *both_params[n:]]
                of_all = lambda *given: self.fields[k](t, list(given[: k + 1]), list(given[k + 1 :]))
                return states[k].vector(jvp(of_all, tuple(primals), tuple(tangents)))

            return field

        return Sweeps(self.problem, [variational(k) for k in range(len(states))], self.directions)

    def pulled(self, states: list[_State]) -> Sweeps:
        """Followed by their adjoints M_k, from the last to the first, and what they give to the parameters.

        ``M_i' = -d_i Σ_{j≥i} d_j (∂F_j/∂Y_i)ᴴ M_j`` and ``Q_i' = -(∂F_i/∂p)ᴴ M_i``
        """
        count = len(self.fields)

        def adjoint(i: int) -> Callable[..., Any]:
            def field(t: Any, vectors: list[Any], params: list[Any]) -> Any:
                ys, change, of_params = vectors[:count], 0.0, None
                for j, vector in zip(range(count - 1, i - 1, -1), vectors[count:], strict=True):
                    of_all = lambda *given, j=j: self.fields[j](t, list(given[: j + 1]), list(given[j + 1 :]))
                    _, pullback = vjp(of_all, *ys[: j + 1], *params)
                    bars = pullback(states[j].parts(vector)[0])
                    change = change - self.directions[i] * self.directions[j] * bars[i]
                    of_params = bars[j + 1 :]
                return states[i].vector([change, *[-bar for bar in of_params or ()]])

            return field

        back = range(count - 1, -1, -1)
        return Sweeps(
            self.problem,
            [*self.fields, *[adjoint(i) for i in back]],
            [*self.directions, *[-self.directions[i] for i in back]],
        )


@rule
def swept(starts: list[Any], params: list[Any], span: tuple[Any, Any], sweeps: Sweeps) -> Any:
    """The ends of the sweeps that begin at `starts`."""
    nested = depends_on_variables((starts, params))
    ends = swept(starts, params, span, sweeps) if nested else sweeps.solved(starts, params, span)

    def pushforward(starts_dot: list[Any], params_dot: list[Any], *_: Any) -> Any:
        if not nested:
            sweeps.warn_of_jumps(params)
        states = [_State([start, start]) for start in starts]
        both = [state.vector(pair) for state, *pair in zip(states, starts, starts_dot, strict=True)]
        arrived = swept(both, [*params, *params_dot], span, sweeps.pushed(states, len(params)))
        return [state.parts(end)[1] for state, end in zip(states, arrived, strict=True)]

    def pullback(ends_bar: list[Any]) -> Any:
        if not nested:
            sweeps.warn_of_jumps(params)
        states = [_State([start, *params]) for start in starts]
        nothing = [np.zeros_like(value(p)) for p in params]
        begins = [state.vector([bar, *nothing]) for state, bar in zip(states, ends_bar, strict=True)]
        arrived = swept([*starts, *begins[::-1]], params, span, sweeps.pulled(states))[len(starts) :][::-1]
        parts = [state.parts(end) for state, end in zip(states, arrived, strict=True)]
        return (
            [starts_bar for starts_bar, *_ in parts],
            [sum(bars) for bars in zip(*[rest for _, *rest in parts], strict=True)],
            None,
            None,
        )

    return ends, Differential(pushforward, pullback)
