"""Initial value problems: ``solve_ivp`` and ``odeint``, with derivatives of steps or by adjoint equations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.integrate
from scipy.integrate._ivp.ivp import OdeResult

from lindiff._docstrings import documented_like
from lindiff.core import pytree
from lindiff.core.record import is_recording
from lindiff.core.variable import value
from lindiff.rules._common import as_array, depends_on_variables, laid_out
from lindiff.scipy._trees import is_tree
from lindiff.scipy.integrate._events import DenseSolution, end_of, move, plainly, times_of
from lindiff.scipy.integrate._field import Field, as_vector
from lindiff.scipy.integrate._moving_times import solution_at
from lindiff.scipy.integrate._scales import FINEST, solved_to_scale
from lindiff.scipy.integrate._stepping import (
    METHODS,
    LikeLSODA,
    Stepped,
    Stepping,
    field_at_once,
    solved_like_lsoda,
)
from lindiff.scipy.integrate._trajectory import Problem, Solution, SolveOther
from lindiff.transforms.ravel import ravel

__all__ = ["odeint", "solve_ivp"]

# The tolerances of odeint.
_LSODA = 1.49012e-8

# Methods whose derivatives are those of other steps, where their own are SciPy's.
_OF_OTHER_STEPS = {"BDF", "LSODA", "Radau"}

# Options of solve_ivp that hold for the given right-hand side only.
OF_ONE_FIELD = {"jac", "jac_sparsity", "lband", "uband", "first_step"}


@documented_like(scipy.integrate.solve_ivp)
def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: tuple[Any, ...] | None = None,
    **options: Any,
) -> Any:
    """Differentiable in `t_span`, `y0`, `t_eval` and the arrays in `args`, or that `fun` closes over.

    The state may be complex.  It may be a tree of arrays (a dict, dataclass or named tuple, a list with
    arrays in it): then `fun` gets the state and returns the slopes in the form of `y0`, and so does ``y`` of
    the result, with the times along a last axis of every array.  `args` may be trees of anything.  Without
    `t_eval`, the solver's own steps count as constant but for the first and the last.  So are times of
    `events`, the states there, the end that a terminal one makes, and the function ``sol`` of `dense_output`,
    in its argument too.

    Raises
    ------
    TypeError
        If `fun` uses Variables that it is neither given nor closes over; if `dense_output`, events, ``jac``
        or `vectorized` are asked for with a tree.
    RuntimeError
        With Variables, if the solver fails.
    numpy.linalg.LinAlgError
        From the derivative of the time of an event that grazes the solution.

    Notes
    -----
    ``RK23``, ``RK45``, ``DOP853``, ``Radau`` and ``BDF`` run in compiled code where `fun` has a program
    (:func:`lindiff.program`; a function that is made anew in each call has one, too, and what it closes over
    may change): SciPy's steps, without Python, and derivatives of these steps, exact for the numbers that are
    computed with the lengths of the steps as constants (and Newton's iteration taken to its end).  A gradient
    costs some three solutions, whatever the number of parameters.  What `fun` does besides computing its
    result (prints, counters) happens in the first calls only.  Memory: the stages of as many steps as fit
    into 32 MB; of T steps more, the states at √T, between which they are computed again; of ``Radau`` all.
    ``Radau`` and ``BDF`` take states of up to 100 numbers, and more where the slopes of each depend on a few
    others, as in differential equations on a grid: which these are they find by themselves.  Derivatives of
    ``BDF``, of ``LSODA``, whose solutions are SciPy's, and of ``Radau`` with ``jac`` or ``jac_sparsity`` are
    those of ``DOP853``, or of ``Radau`` where the problem is stiff, to the same tolerances.

    For other methods, functions and options, for solutions that rest for a good part of the time, or, without
    `max_step`, are less than a thousand times their `atol` (their steps are too long for derivatives, which
    need not rest), and for derivatives of derivatives, forward mode integrates the variational equation,
    reverse mode the adjoint equation along the solution found before (a state of n plus the number of
    parameters, restarted at each time of `t_eval`), both by the same method and as accurately as the
    solution, each tangent and cotangent relative to its own largest value: derivatives do not depend on the
    units of the result, of the state and of the parameters.  They may be differentiated again; then the
    solution is found once more, and every equation runs in the direction in which the problem is stable.
    Memory: what the interpolant of the solution keeps; no record of the steps.

    Times of events are SciPy's, with the derivatives of the equation that holds there; the states at the
    times of each event, and at those of each call of ``sol``, are one more solution.

    A jump of the right-hand side at a time that the state or parameters move is seen by neither: it gives a
    ``UserWarning``.

    References
    ----------
    E. Hairer, S. P. Nørsett, G. Wanner (1993), Solving Ordinary Differential Equations I, II.4 and II.6; II,
    IV.8.
    W. W. Hager (2000), Runge-Kutta methods in optimal control and the transformed adjoint system, Numerische
    Mathematik 87.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import solve_ivp
    >>> def end(rate):
    ...     return solve_ivp(lambda t, y: -rate * y, (0.0, 2.0), [1.0], rtol=1e-8, atol=1e-8).y[0, -1]
    >>> print(ld.grad(end)(0.5).round(6), (-2 * np.exp(-1.0)).round(6))
    -0.735759 -0.735759
    """
    _refuse_other_axes(y0)
    if is_tree(y0):
        if dense_output or events is not None or vectorized or options.keys() & OF_ONE_FIELD - {"first_step"}:
            raise TypeError(
                "solve_ivp: with a tree in y0 there is no dense_output, events, vectorized or jac: give an "
                "array, as from vector, unravel = ld.ravel(y0)"
            )
        return _solve_of_tree(fun, t_span, y0, method=method, t_eval=t_eval, args=args, **options)
    field = Field(_of_columns(fun) if vectorized else fun, _in_tuple(args))
    stepping = _stepping(method, {**options, "events": events, "dense_output": dense_output or None})
    listed = list(events) if isinstance(events, (list, tuple)) else [] if events is None else [events]
    t0, t1 = t_span
    again = partial(solve_ivp, fun, method=method, vectorized=vectorized, args=args, **options)

    def at_once(t0: Any, y0: Any, params: list[Any]) -> Callable[[float, Any], Any] | None:
        if vectorized or callable(options.get("jac")):
            return None
        return field_at_once(field, float(t0), y0, params)

    moves = depends_on_variables((t_span, y0, t_eval, field.params))
    if not moves and not move(listed, t0, y0, _in_tuple(args)):
        found = None if stepping is None else _found_by_steps(stepping, field, t_span, y0, t_eval)
        if found is None:
            by_program = None if listed else at_once(t0, _in_double(y0), [])
            found = scipy.integrate.solve_ivp(
                fun if by_program is None else lambda t, y, *_: by_program(t, y),
                t_span,
                y0,
                method,
                t_eval,
                dense_output,
                events,
                vectorized,
                args,
                **options,
            )
        if dense_output and is_recording():
            end = found.sol.ts[-1]
            found.sol = DenseSolution(
                lambda ts: again(t_span=(t0, end), y0=y0, t_eval=ts).y, t0, end, found.sol
            )
        return found
    args = _in_tuple(args)
    if listed or dense_output:
        return _with_events(again, field, (t0, t1, y0, t_eval), method, listed, dense_output, args, options)
    if t_eval is not None and np.size(value(t_eval)) == 0:
        params = value(field.params)
        plain = value((t_span, y0)), method, value(t_eval)
        return scipy.integrate.solve_ivp(
            lambda t, y: field(t, y, params), *plain[0], *plain[1:], **_plain(options, args)
        )
    runs: list[Any] = []

    of_one = {**_plain(options, args), "vectorized": vectorized}

    def solve(field: Callable[[float, Any], Any], t0: float, ts: Any, y0: Any) -> Solution:
        result = _run_ivp(field, (t0, float(value(t1))), y0, ts, method, of_one)
        runs.append(result)
        return result.y.T, lambda: result.sol, True

    at_steps: list[Stepped] = []

    def by_steps(t0: Any, ts: Any, y0: Any, params: list[Any]) -> Stepped | None:
        if stepping is None:
            return None
        if at_steps:
            return at_steps.pop()
        found: Stepped | None = stepping.solved(field, float(t0), float(value(t1)), ts, y0, params)
        if found is not None:
            runs.append(_result(found, ts))
        return found

    def by_steps_beside(t0: Any, ts: Any, y0: Any, params: list[Any]) -> Stepped | None:
        by_others = _OF_OTHER_STEPS if stepping is None else {"BDF"}
        if getattr(method, "__name__", method) not in by_others:
            return None
        told = {name: options[name] for name in ("rtol", "atol", "max_step") if name in options}
        return solved_like_lsoda(field, (t0, float(value(t1))), ts, y0, params, **told)

    if t_eval is not None and np.any(np.isnan(value(t_eval))):
        raise ValueError("solve_ivp: t_eval has NaN in it")
    y0 = _state(y0)
    params = field.params
    others = _of_others(method, options)
    problem = Problem(
        field,
        solve,
        others,
        _tolerances(options),
        by_steps,
        by_steps_beside,
        field.asked,
        at_once,
    )
    order = "F" if t_eval is None else "C"  # in which SciPy's y lies
    if t_eval is None:
        found = problem.by_steps(value(t0), None, value(y0), value(params))
        if found is None:
            problem.run(value(t0), None, value(y0), value(params))
            t_eval = runs.pop().t
        else:
            at_steps.append(found)
            t_eval = found.ts
        if depends_on_variables((t0, t1)):
            t_eval = np.concatenate([np.reshape(t0, (1,)), t_eval[1:-1], np.reshape(t1, (1,))])
    times = _times(t_eval)
    Y = solution_at(t0, times, y0, params, problem)
    result = type(runs[0])(runs[0])
    result.update(t=np.copy(times), y=laid_out(np.transpose(Y), order), sol=None)
    return result


def _refuse_other_axes(y0: Any) -> None:
    """Raise for what SciPy takes for no state, nor is a tree of arrays: lists of lists of numbers, too."""
    is_of_lists = type(y0) in (list, tuple) and not any(
        hasattr(leaf, "ndim") for leaf in pytree.flatten(y0)[0]
    )
    axes = np.ndim(np.asarray(y0)) if is_of_lists or y0 is None else getattr(y0, "ndim", None)
    if axes not in (1, None) or np.isscalar(y0):
        raise ValueError(
            f"`y0` must be 1-dimensional. It is {y0!r}: give a vector, or a tree of arrays, a dict or a list"
        )


def _plain(options: dict[str, Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """Options for SciPy, whose right-hand side has no further arguments: nor has a given Jacobian."""
    jac = options.get("jac")
    return {**options, "jac": lambda t, y: value(jac(t, y, *value(args)))} if callable(jac) else options


def _with_events(
    again: Callable[..., Any],
    field: Field,
    problem: tuple[Any, Any, Any, Any],
    method: Any,
    events: list[Callable[..., Any]],
    dense_output: bool,
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """The solution to its events, and a function of time: `again` solves without them."""
    t0, t1, y0, t_eval = problem
    params = value(field.params)
    plain = value((t0, t1)), np.asarray(value(y0)), method, value(t_eval)
    found = scipy.integrate.solve_ivp(
        lambda t, y: field(t, y, params),
        *plain,
        events=[plainly(e, args) for e in events] or None,
        **_plain(options, args),
    )
    _refuse_failure(found.message if found.status < 0 else None)
    ended, forward = found.status == 1, value(t0) <= value(t1)
    last = end_of(events, found.t_events, forward) if ended else t1

    def states(ts: Any, end: Any) -> Any:
        return again(t_span=(t0, end), y0=y0, t_eval=ts).y

    if events:
        found.t_events = [
            times_of(e, args, ts, states, last) for e, ts in zip(events, found.t_events, strict=True)
        ]
        found.y_events = [
            states(ts, last).T if len(ts) else y for ts, y in zip(found.t_events, found.y_events, strict=True)
        ]
    end = end_of(events, found.t_events, forward) if ended else t1
    if t_eval is not None:
        t_eval = np.asarray(t_eval) if isinstance(t_eval, (list, tuple)) else t_eval
        times = t_eval[: len(found.t)]
    elif ended:
        times = np.concatenate([np.reshape(t0, (1,)), found.t[1:-1], np.reshape(end, (1,))])
    else:
        times = None
    if times is None or len(times):
        solution = again(t_span=(t0, end), y0=y0, t_eval=times)
        found.t, found.y = solution.t, solution.y
    found.sol = DenseSolution(lambda ts: states(ts, end), t0, end) if dense_output else None
    return found


def _solve_of_tree(fun: Callable[..., Any], t_span: Any, y0: Any, **options: Any) -> Any:
    """Solve for a state that is a tree: SciPy gets its leaves as one vector in double precision."""
    y0 = pytree.tree_map(_in_double, y0)
    vector, unravel = ravel(y0)

    def of_vector(t: Any, y: Any, *args: Any) -> Any:
        slopes = pytree.flatten_like(fun(t, unravel(y), *args), y0, "result of the right-hand side", "state")
        return as_vector([np.broadcast_to(s, np.shape(x)) for s, x in zip(slopes, leaves, strict=True)])

    leaves, restore = pytree.flatten(y0)
    found = solve_ivp(of_vector, t_span, vector, **options)
    count = len(found.t)
    Y = np.reshape(found.y, (len(vector), count))
    rows = np.split(Y, np.cumsum([leaf.size for leaf in leaves])[:-1])
    found.y = restore(
        [
            np.reshape(part if leaf.dtype.kind == "c" else np.real(part), (*leaf.shape, count))
            for part, leaf in zip(rows, leaves, strict=True)
        ]
    )
    return found


def _run_ivp(
    field: Callable[[float, Any], Any],
    t_span: Any,
    y0: Any,
    ts: Any,
    method: Any,
    options: dict[str, Any],
    of: str = "",
) -> Any:
    """SciPy's solution for plain arrays, with its interpolant; a failure raises, and says of what."""
    result = scipy.integrate.solve_ivp(field, t_span, y0, method, ts, dense_output=True, **options)
    _refuse_failure(of + result.message if result.status < 0 else None)
    if isinstance(result.y, list):  # SciPy's for times to evaluate in a span of length 0
        result.y = np.repeat(y0[:, None], len(ts), axis=1)
    return result


def _refuse_failure(message: str | None) -> None:
    if message is not None:
        raise RuntimeError(f"solve_ivp: {message}")


def _stepping(method: Any, options: dict[str, Any]) -> Stepping | LikeLSODA | None:
    """How the steps of a method are taken in compiled code; None where they are SciPy's."""
    solver = METHODS.get(method) if isinstance(method, str) else method
    given = {name: option for name, option in options.items() if option is not None}
    if given.keys() - {"rtol", "atol", "max_step", "first_step"}:
        return None
    if method == "LSODA" or method is scipy.integrate.LSODA:
        return LikeLSODA(given)
    return Stepping(solver, **given) if solver in METHODS.values() else None


def _found_by_steps(stepping: Stepping | LikeLSODA, field: Field, t_span: Any, y0: Any, t_eval: Any) -> Any:
    """SciPy's result for plain arrays; None where it is SciPy's to find."""
    try:
        t0, end = map(float, t_span)
        points = None if t_eval is None else np.asarray(t_eval, np.float64)
        y0 = np.asarray(y0)
    except (TypeError, ValueError):
        return None
    y0 = y0.astype(np.float64) if y0.dtype.kind in "iuf" and y0.dtype.itemsize <= 8 else y0
    found = stepping.solved(field, t0, end, points, y0, [])
    return None if found is None else _result(found, t_eval)


def _result(found: Stepped, points: Any) -> Any:
    """A solution as SciPy has it, at all steps or at ``points`` alone."""
    return OdeResult(
        t=found.ts if points is None else np.copy(points),
        y=laid_out(found.states.T, "F" if points is None else "C"),
        sol=None,
        t_events=None,
        y_events=None,
        nfev=found.evaluations,
        njev=found.jacobians,
        nlu=found.factorizations,
        status=0,
        message="The solver successfully reached the end of the integration interval.",
        success=True,
    )


def _in_tuple(args: Any) -> tuple[Any, ...]:
    """Extra arguments, of which SciPy takes any sequence."""
    try:
        return () if args is None else tuple(args)
    except TypeError as error:
        raise TypeError(f"solve_ivp: args is a tuple of extra arguments: write args=({args!r},)") from error


_OF_DERIVATIVE = "the equation of a derivative, with these tolerances, of a solution that was found: "


def _of_others(method: Any, options: dict[str, Any]) -> SolveOther:
    """solve_ivp for the equations that derivatives make."""
    told = {name: option for name, option in options.items() if name not in OF_ONE_FIELD}
    if "rtol" in told:
        told["rtol"] = float(np.min(told["rtol"]))

    def solve(
        field: Callable[[float, Any], Any], t0: float, ts: Any, y0: Any, own: Any, accuracy: float
    ) -> Solution:
        span = t0, float(ts[-1])

        def with_tolerances(atol: Any) -> Any:
            return _run_ivp(field, span, y0, ts, method, {**told, "atol": atol}, _OF_DERIVATIVE)

        result = solved_to_scale(with_tolerances, field, (*span, y0), own, accuracy)
        return result.y.T, lambda: result.sol, True

    return solve


def _tolerances(options: dict[str, Any]) -> tuple[Any, Any]:
    """The relative and the absolute one, as solve_ivp has them."""
    return options.get("rtol", 1e-3), options.get("atol", 1e-6)


@documented_like(scipy.integrate.odeint)
def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: tuple[Any, ...] = (),
    Dfun: Any = None,
    col_deriv: int = 0,
    full_output: int = 0,
    ml: int | None = None,
    mu: int | None = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: int = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: int = 0,
    tfirst: bool = False,
) -> Any:
    """Differentiable in `y0`, `t` and the arrays in `args`, which may be trees of anything, or that `func`
    closes over.

    Raises
    ------
    TypeError
        If `func` uses Variables that it is neither given nor closes over.

    Notes
    -----
    A right-hand side that has a program is solved by the steps of ``DOP853``, or of ``Radau`` where it is
    stiff, to the same tolerances, if nothing but these is asked for, with the derivatives of the steps as
    :func:`solve_ivp` has them: digits beyond the tolerances are not those of LSODA.  In other cases LSODA
    solves the problem and its adjoint, which runs along the interpolant of one more solution.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.integrate import odeint
    >>> def end(rate):
    ...     return odeint(lambda y, t, k: -k * y, [1.0], np.array([0.0, 2.0]), args=(rate,))[-1, 0]
    >>> print(ld.grad(end)(0.5).round(6), (-2 * np.exp(-1.0)).round(6))
    -0.735759 -0.735759
    """
    if isinstance(args, list):
        raise TypeError("odeint: args is a tuple of extra arguments: write args=(...,), or args=tuple(args)")
    of_one = {"Dfun": Dfun, "col_deriv": col_deriv, "ml": ml, "mu": mu}
    options: dict[str, Any] = {
        "rtol": rtol,
        "atol": atol,
        "tcrit": tcrit,
        "h0": h0,
        "hmax": hmax,
        "hmin": hmin,
        "ixpr": ixpr,
        "mxstep": mxstep,
        "mxhnil": mxhnil,
        "mxordn": mxordn,
        "mxords": mxords,
        "printmessg": printmessg,
    }
    of_time = func if tfirst else lambda t, y, *rest: func(y, t, *rest)
    field = Field(of_time, args if isinstance(args, tuple) else (args,))
    params = field.params
    told = {**options, **of_one, "full_output": full_output}
    tolerances = {
        name: _LSODA if tolerance is None else tolerance
        for name, tolerance in (("rtol", rtol), ("atol", atol))
    }
    is_plain = told == _UNTOLD | {"rtol": rtol, "atol": atol}
    if not depends_on_variables((y0, t, params)):
        found = _states_by_steps(field, y0, t, tolerances) if is_plain else None
        if found is not None:
            return found
        return scipy.integrate.odeint(
            func, value(y0), t, args, full_output=full_output, tfirst=tfirst, **of_one, **options
        )
    args = args if isinstance(args, tuple) else (args,)
    report: dict[str, Any] = {}

    def solve(field: Callable[[float, Any], Any], t0: float, ts: Any, y0: Any) -> Solution:
        if Dfun is not None:
            jacobian = Dfun if tfirst else lambda t, y, *rest: Dfun(y, t, *rest)
            of_one["Dfun"] = lambda t, y: value(jacobian(t, y, *value(args)))
        Y, information = scipy.integrate.odeint(
            field, y0, ts, tfirst=True, full_output=True, **of_one, **options
        )
        report.update(information)
        return Y, lambda: _lsoda_solution(field, t0, ts, y0, options).sol, False

    def of_others(
        field: Callable[[float, Any], Any], t0: float, ts: Any, y0: Any, own: Any, accuracy: float
    ) -> Solution:
        given = {**options, "rtol": float(np.min(tolerances["rtol"]))}
        result = solved_to_scale(
            lambda atol: _lsoda_solution(field, t0, ts, y0, {**given, "atol": atol}),
            field,
            (t0, float(ts[-1]), y0),
            own,
            accuracy,
        )
        return result.sol(ts).T, lambda: result.sol, True

    times = _times(t)
    if times.ndim != 1:
        raise ValueError("Output times t must be one-dimensional.")
    if not times.size:
        return scipy.integrate.odeint(field, value(y0), value(times), (value(params),), tfirst=True)

    def by_steps(t0: Any, ts: Any, y0: Any, params: list[Any]) -> Stepped | None:
        return (
            solved_like_lsoda(field, (t0, float(ts[-1])), ts, y0, params, **tolerances) if is_plain else None
        )

    told_of = tolerances["rtol"], tolerances["atol"]
    problem = Problem(field, solve, of_others, told_of, by_steps, asked=field.asked)
    Y = solution_at(times[0], times, _state(y0), params, problem)
    return (Y, report) if full_output else Y


# What odeint is told of a problem that is no more than that.
_UNTOLD: dict[str, Any] = {"tcrit": None, "Dfun": None, "ml": None, "mu": None, "mxordn": 12, "mxords": 5}
_UNTOLD |= dict.fromkeys(
    ("col_deriv", "full_output", "h0", "hmax", "hmin", "ixpr", "mxstep", "mxhnil", "printmessg"), 0
)


def _states_by_steps(field: Field, y0: Any, t: Any, tolerances: dict[str, Any]) -> Any:
    """The states at the times, for plain arrays; None where they are LSODA's to find."""
    try:
        times = np.asarray(t, np.float64)
        start = np.atleast_1d(_in_double(y0))
    except (TypeError, ValueError):
        return None
    if times.ndim != 1 or times.size < 2:
        return None
    span = float(times[0]), float(times[-1])
    found = solved_like_lsoda(field, span, times, start, [], **tolerances)
    return None if found is None else found.states


# SciPy's mxstep, and about how many evaluations of the right-hand side a step of LSODA's takes at most,
# beside those of a Jacobian.
_MOST_STEPS, _EVALUATIONS = 500, 10


def _lsoda_solution(
    field: Callable[[float, Any], Any], t0: float, ts: Any, y0: Any, options: dict[str, Any]
) -> Any:
    """The solution with a function of time, which odeint itself does not give.

    Where that stops after ``mxstep`` steps to a time, this does, too: its solver would go on for ever.
    """
    tolerances = {name: _LSODA if options[name] is None else options[name] for name in ("rtol", "atol")}
    tolerances["rtol"] = np.maximum(tolerances["rtol"], FINEST)
    span = (t0, float(ts[-1]))
    left = (options.get("mxstep") or _MOST_STEPS) * len(ts) * (len(y0) + _EVALUATIONS)

    def counted(t: float, y: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise RuntimeError(
                f"odeint: excess work at t = {t:.6g}: there is no solution up to t = {span[1]:.6g} to "
                f"differentiate; ask for earlier times, or raise mxstep"
            )
        return field(t, y)

    return _run_ivp(counted, span, y0, None, "LSODA", tolerances)


def _of_columns(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A right-hand side of several states at once, also for one."""

    def of_one(t: Any, y: Any, *args: Any) -> Any:
        if y.ndim == 2:
            return fun(t, y, *args)
        column = fun(t, y[:, None], *args)
        return np.ravel(column) if hasattr(column, "ndim") else as_vector(column)

    return of_one


def _times(t: Any) -> Any:
    t = as_array(t)
    return t if t.dtype == np.float64 else t.astype(np.float64)


def _state(y0: Any) -> Any:
    """An initial state in double precision, in which SciPy's solvers compute."""
    return np.atleast_1d(_in_double(y0))


def _in_double(y0: Any) -> Any:
    y0 = as_array(y0)
    dtype = np.result_type(y0.dtype, np.float64)
    return y0 if y0.dtype == dtype else y0.astype(dtype)
