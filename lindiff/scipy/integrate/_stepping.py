"""Initial value problems by Runge-Kutta methods in compiled code, which call the right-hand side's program,
and the derivatives of their steps.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.integrate

from lindiff.programs.evaluating import evaluator
from lindiff.scipy.integrate._bdf import BDFSteps
from lindiff.scipy.integrate._discontinuities import Discontinuities
from lindiff.scipy.integrate._field import Field, Variational, as_numbers
from lindiff.scipy.integrate._implicit import ImplicitSteps
from lindiff.scipy.integrate._jacobians import BandedJacobian, DenseJacobian, TooWide
from lindiff.scipy.integrate._jumps import WIDE, is_moved, may_jump, perturbed
from lindiff.scipy.integrate._methods import method_of
from lindiff.scipy.integrate._radau import RadauSteps
from lindiff.scipy.integrate._runge_kutta import ExplicitSteps
from lindiff.scipy.integrate._scales import COARSEST
from lindiff.scipy.integrate._slopes import Slopes, are_in_order
from lindiff.scipy.integrate._steps import Steps
from lindiff.scipy.integrate._witnesses import ROUNDING, has_changed

__all__ = ["AT_START", "METHODS", "LikeLSODA", "Stepped", "Stepping", "field_at_once", "solved_like_lsoda"]

METHODS = {
    "RK23": scipy.integrate.RK23,
    "RK45": scipy.integrate.RK45,
    "DOP853": scipy.integrate.DOP853,
    "Radau": scipy.integrate.Radau,
    "BDF": scipy.integrate.BDF,
}

IMPLICIT: dict[Any, Any] = {scipy.integrate.Radau: RadauSteps, scipy.integrate.BDF: BDFSteps}

# Numbers in a state, above which the equations for all stages of an implicit step at once cost too much,
# unless they have a band.
MANY = 100

# Numbers in a state, above which it may pay to look for a band,
FEW = 20

# and what part of its numbers, or how many, may be in a row of the band.
SPARSE, WIDEST = 0.25, 200

# Bytes of stages that are kept, however many steps there are.
KEPT = 1 << 25

# Two methods differ by no more than so many times their tolerances.
NEAR = 100.0

# Of the time that a solution takes: longer steps at rest are too long for derivatives.
AT_REST = 0.06

# Of the same: a jump that is no later is where it begins.
AT_START = 1e-10

# The least relative tolerance, as SciPy has it.
_LEAST = 100 * np.finfo(np.float64).eps


@dataclass
class Stepping:
    """How steps are taken: what ``solve_ivp`` is told.

    Attributes
    ----------
    at_rest : float
        The longest of explicit steps, after one in which next to nothing happens.
    leaves_stiff : bool
        A problem that has been stiff for a while is left to others.
    """

    solver: Any
    rtol: Any = 1e-3
    atol: Any = 1e-6
    max_step: Any = np.inf
    first_step: Any = None
    at_rest: float = np.inf
    leaves_stiff: bool = False

    def fits(self, t0: float, end: float, points: Any, y0: Any) -> bool:
        """Whether it is a problem as most are: SciPy sees to the others, and to what is wrong."""
        span = abs(end - t0)
        if not 0 < span < np.inf or y0.ndim != 1 or not y0.size or y0.dtype != np.float64:
            return False
        try:
            is_told = (
                _LEAST <= self.rtol < np.inf
                and (self.atol >= 0 if type(self.atol) is float else _are_tolerances(self.atol, y0))
                and self.max_step > 0
                and (self.first_step is None or 0 < self.first_step <= span)
            )
        except (TypeError, ValueError):
            return False
        return bool(is_told) and (points is None or are_in_order(points, t0, end))

    def solved(self, field: Field, t0: float, end: float, points: Any, y0: Any, params: list[Any]) -> Any:
        """The `Stepped` solution; None where SciPy is to see to it, and to say what is wrong."""
        if not self.fits(t0, end, points, y0):
            return None
        found = Stepped(field, params, t0, y0)
        return found if found.solved(self, end, points) else None


@dataclass
class LikeLSODA:
    """How LSODA's problems are solved at given times; at its own steps it is to be found by SciPy's.

    Attributes
    ----------
    told : dict
        The attributes of its :class:`Stepping`.
    """

    told: dict[str, Any]

    def solved(self, field: Field, t0: float, end: float, points: Any, y0: Any, params: list[Any]) -> Any:
        """The `Stepped` solution, or None."""
        if points is None or not np.size(points):
            return None
        return solved_like_lsoda(field, (t0, end), points, y0, params, **self.told)


def solved_like_lsoda(
    field: Field, span: tuple[float, float], points: Any, y0: Any, params: list[Any], **told: Any
) -> Any:
    """The `Stepped` solution by steps of high order, by implicit ones where the problem is stiff, or None.

    ``told`` are the attributes of its :class:`Stepping`.  At rest it looks between any two times.
    """
    at_rest = float(np.max(np.abs(np.diff(points, prepend=span[0]))))
    explicit = Stepping(scipy.integrate.DOP853, at_rest=at_rest, leaves_stiff=True, **told)
    with np.errstate(all="ignore"):  # a stiff problem may overflow before it is left
        found = explicit.solved(field, *span, points, y0, params)
    if found is not None:
        return found
    return replace(explicit, solver=scipy.integrate.Radau).solved(field, *span, points, y0, params)


def field_at_once(
    field: Field | Variational, t0: float, y0: Any, params: list[Any]
) -> Callable[[float, Any], Any] | None:
    """The right-hand side f(t, y), without Python where that is known by now; None without a program."""
    if y0.ndim != 1 or not y0.size or y0.dtype != np.float64:
        return None
    slopes = Stepped(field, params, t0, y0)._slopes(None, [], None)
    return None if slopes is None else slopes.of


def _are_tolerances(atol: Any, y0: Any) -> bool:
    atol = np.asarray(atol, np.float64)
    return atol.shape in ((), y0.shape) and bool(np.all(atol >= 0))


class Stepped:
    """A solution by steps, and its derivatives: of all that was computed but for the choice of the steps.

    Attributes
    ----------
    states : ndarray
        One a row.
    """

    def __init__(self, field: Field | Variational, params: list[Any], t0: float, y0: Any) -> None:
        self.field, self.params, self.t0 = field, params, float(t0)
        self.y0 = np.array(y0, np.float64)  # by rows, whatever view or other library's array it is
        self.states: Any = None
        self.steps: Any = None

    def solved(self, stepping: Stepping, end: float, points: Any) -> bool:
        """Find it; False where the right-hand side has no program, or the steps do not come to the end."""
        slopes = self._slopes(None, [], None)
        if slopes is None:
            return False
        self.slopes = slopes
        self._problem = stepping, end, points
        for steps in self._ways(stepping.solver, slopes):
            self.steps = steps
            try:
                self.states = self._run(steps, stepping, end, points)
            except TooWide:
                continue
            return self.states is not None
        return False

    def _run(self, steps: Any, stepping: Stepping, end: float, points: Any) -> Any:
        atol = np.full_like(self.y0, stepping.atol)
        first = None if stepping.first_step is None else float(stepping.first_step)
        problem = self.t0, end, self.y0, points, stepping.rtol, atol, stepping.max_step, first
        if stepping.solver in IMPLICIT:
            return steps.run(*problem)
        return steps.run(*problem, stepping.at_rest, stepping.leaves_stiff)

    def _ways(self, solver: Any, slopes: Slopes) -> Iterator[Steps]:
        """Steps that can be taken, the cheapest ones first."""
        n = len(self.y0)
        if solver not in IMPLICIT:
            yield ExplicitSteps(method_of(solver), slopes, n, KEPT)
            return
        columns = self._columns()
        if columns is None:
            return
        if n > FEW:
            widest = min(int(SPARSE * n), WIDEST)
            with contextlib.suppress(TooWide):
                yield IMPLICIT[solver](slopes, BandedJacobian(columns, n, self.t0, self.y0, widest), n)
        if n <= MANY:
            yield IMPLICIT[solver](slopes, DenseJacobian(columns, n), n)

    def beside_tangents(self, y0_dot: Any, params_dot: list[Any]) -> Stepped | None:
        """The same steps of the state beside its tangent; None where there are none.

        Its `states` are the first one alone.
        """
        params, start = [*self.params, *params_dot], np.concatenate([self.y0, y0_dot])
        found = Stepped(Variational(self.field), params, self.t0, start)
        slopes = found._slopes(None, [], None)
        if slopes is None:
            return None
        stepping, _, points = found._problem = self._problem
        found.slopes, found.states = slopes, found.y0[None]
        if isinstance(self.steps, RadauSteps):
            found.steps = self._implicit_beside_tangents(found, y0_dot, params_dot)
        else:
            found.steps = ExplicitSteps(method_of(stepping.solver), slopes, len(start), KEPT)
            found.steps.replay(self.steps.times, start, points)
        return None if found.steps is None else found

    def _implicit_beside_tangents(
        self, both: Stepped, y0_dot: Any, params_dot: list[Any]
    ) -> RadauSteps | None:
        n, along = len(both.y0), self._along(y0_dot, params_dot)
        columns = both._columns()
        if n > MANY or along is None or columns is None:
            return None
        steps = RadauSteps(both.slopes, DenseJacobian(columns, n), n)
        with contextlib.suppress(TooWide):
            self.steps.put_beside_tangents(along, y0_dot, steps)
            return steps
        return None

    @property
    def has_derivatives(self) -> bool:
        """Whether there are derivatives of these steps."""
        return not isinstance(self.steps, BDFSteps)

    @property
    def say_little(self) -> bool:
        """Whether steps were long as nothing moved, or nothing that is larger than its tolerance: derivatives
        may move where the solution rests."""
        stepping, end, _ = self._problem
        if self.steps.longest_at_rest > AT_REST * abs(end - self.t0):
            return True
        largest = np.maximum(np.abs(self.y0), np.max(np.abs(self.states), axis=0, initial=0.0))
        are_chosen = stepping.max_step < np.inf  # by the user, who knows how long they may be
        return bool(not are_chosen and np.all(largest * COARSEST < stepping.atol))

    def refuse_changes(self) -> None:
        """Raise where the right-hand side is another function now."""
        if self.slopes.evaluator.unchanged():
            return
        again = Stepped(self.field, self.params, self.t0, self.y0)
        if not again.solved(*self._problem) or again.states.shape != self.states.shape:
            raise has_changed("the right-hand side")
        size = float(np.max(np.abs(self.states)))
        if not np.allclose(again.states, self.states, ROUNDING, ROUNDING * size, equal_nan=True):
            raise has_changed("the right-hand side")
        self.slopes = again.slopes

    def are_near(self, ts: Any, states: Any) -> bool:
        """Whether another method has found the same, to the tolerances: neither has passed over anything.

        A time is as exact as a state: where these change fast they may differ by more.
        """
        stepping = self._problem[0]
        size = np.max(np.abs(states), axis=0)
        away = np.abs(self.states - states) > NEAR * (stepping.atol + stepping.rtol * size)
        for i in np.flatnonzero(np.any(away, axis=1)):
            slopes = np.abs(self.field(ts[i], states[i], self.params))
            late = slopes * stepping.rtol * abs(ts[i] - self.t0)
            allowed = NEAR * (stepping.atol + stepping.rtol * size + late)
            if not np.all(np.abs(self.states[i] - states[i]) <= allowed):
                return False
        return True

    def pull(self, Y_bar: Any) -> tuple[Any, list[Any]] | None:
        """The cotangents of the first state and of the parameters; None where they have no program."""
        y_bar = np.zeros_like(self.y0)
        back = self._slopes("full pullback", [y_bar], y_bar)
        if back is None:
            return None
        with contextlib.suppress(TooWide):
            return self.steps.pull(back, Y_bar)
        return None

    def push(self, y0_dot: Any, params_dot: list[Any]) -> Any:
        """The tangents of the states; None where they have no program."""
        along = self._along(y0_dot, params_dot)
        if along is None:
            return None
        with contextlib.suppress(TooWide):
            return self.steps.push(along, y0_dot)
        return None

    def _along(self, y0_dot: Any, params_dot: list[Any]) -> Slopes | None:
        """The tangents of slopes, with those of the parameters."""
        y_dot = np.array(y0_dot, np.float64)
        return self._slopes("pushforward", [y_dot, *as_numbers(params_dot)], y_dot)

    def _columns(self) -> Slopes | None:
        """Those of the Jacobian by the state: tangents of slopes."""
        direction = np.zeros_like(self.y0)
        return self._slopes("pushforward", [direction], direction, by_params=False)

    def _slopes(
        self, of: str | None, given: list[Any], direction: Any, by_params: bool = True
    ) -> Slopes | None:
        """The right-hand side, or a derivative of it that is ``given`` directions, at what is in buffers."""
        time, state = np.array(self.t0), np.array(self.y0)
        field, place = self.field, self.field.place_of_time
        args: tuple[Any, ...] = field.arguments(np.float64(self.t0), state, self.params)
        moving = {place: time, place + 1: state}
        program = field.program()
        if of is not None:
            program = program.derivative(of, (place + 1, *(field.places_of_params if by_params else ())))
            moving[place + 2 + field.count_of_args] = direction
            args = (args, {}, given)
        made = evaluator(program, args, moving)
        if made is None or made.results[0].shape != self.y0.shape:
            return None
        return Slopes(made, time, state, direction)

    def __call__(self, t: float) -> Any:
        """The solution at a time between."""
        return self.steps.at(t)

    @property
    def ts(self) -> Any:
        return self.steps.times

    @functools.cached_property
    def moved_jump(self) -> float | None:
        """The time of a jump of the right-hand side that the state or parameters move; None without one."""
        known = self.slopes.evaluator.known()
        if known is None or (known.tree is not None and not may_jump(known.tree)):
            return None
        least = AT_START * abs(self._problem[1] - self.t0)  # what it begins at does not move
        jumps = [
            jump for jump in Discontinuities(self.steps, self.slopes).times if abs(jump[0] - self.t0) > least
        ]
        if not jumps:
            return None
        size = float(np.max(np.abs(self.states))) or 1.0
        params = [np.zeros_like(self.y0), *self.params]
        widest = max(abs(high - low) for low, high in jumps)
        fields = [
            (size * shift, Stepped(self.field, moved, self.t0, self.y0)._field_at_once())
            for shift, *moved in (params, *perturbed(params, WIDE * widest))
        ]
        for jump in jumps:
            sides = [(t, self.steps.at(t)) for t in jump]
            before, *after = ([field(t, y + shift) for t, y in sides] for shift, field in fields)
            if is_moved(before, after):
                return jump[0]
        return None

    def _field_at_once(self) -> Callable[[float, Any], Any]:
        """The right-hand side, without Python where that is known by now."""
        by_program = field_at_once(self.field, self.t0, self.y0, self.params)
        if by_program is not None:
            return by_program
        numbers = as_numbers(self.params)
        return lambda t, y: np.asarray(self.field(t, y, numbers))

    @property
    def evaluations(self) -> int:
        return self.steps.evaluations

    @property
    def jacobians(self) -> int:
        return self.steps.jacobians if isinstance(self.steps, ImplicitSteps) else 0

    @property
    def factorizations(self) -> int:
        return self.steps.factorizations if isinstance(self.steps, ImplicitSteps) else 0
