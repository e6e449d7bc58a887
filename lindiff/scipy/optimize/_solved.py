"""What a search finds, with the derivatives of the equations that hold there.

SciPy's search runs on plain numbers; Variables among the arguments, and those that functions pick up from
around them, move what it finds by the implicit function theorem.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lindiff.core.arrays import on_host, placed
from lindiff.core.record import is_recording
from lindiff.core.variable import value
from lindiff.programs.closures import Opened
from lindiff.rules._common import depends_on_variables
from lindiff.scipy.optimize._flat import Flat, linear_operator, matrix_of, vector_of
from lindiff.transforms.forward import jvp
from lindiff.transforms.implicit import implicit
from lindiff.transforms.reverse import grad

__all__ = ["Stationary", "end_of_search", "root_of", "solved"]

AS_AT_A_KINK = (
    "its equations do not hold there, as at a kink, or where the tolerances are loose for these units: give "
    "a smaller tol"
)

# Of a solution, and of the way to it: what is further from it has not been found.
NEAR = 1e-4

# Of a slope: that of a root within a search's tolerance is known so well.
ALIKE = 0.01

# Of the way: a search that reports success, and is further from a solution, has been ended by its units.
FAR = 0.1

# Equations that are no larger than this of their derivative, times the same way, are rounding.
ROUNDING = 1e-12


def solved(
    search: Callable[[tuple[Any, ...]], tuple[Any, Any]],
    equations: Callable[..., Any],
    args: tuple[Any, ...],
    linear_solve: Any = None,
) -> tuple[Any, Any]:
    """What ``search(args)`` finds of plain arguments, with its derivatives, and what it reports.

    Parameters
    ----------
    search : callable
        Returns a solution and a report.
    equations : callable
        ``equations(x, *args)`` is zero at the solution.
    """
    reports = []

    def found(*args: Any) -> Any:
        x, report = search(args)
        reports.append(report)
        return x

    return implicit(found, equations, linear_solve=linear_solve)(*args), reports[0]


def root_of(
    name: str,
    search: Callable[[tuple[Any, ...]], tuple[Any, Any]],
    equation: Callable[..., Any],
    args: tuple[Any, ...],
    starts: tuple[Any, ...],
    tolerance: Any,
    linear_solve: Any = None,
) -> tuple[Any, Any]:
    """What a search finds where each equation is of its own unknown, as :func:`solved` does.

    Parameters
    ----------
    name : str
        Of the search, for its error.
    starts : tuple
        Where it began, plain; None is none of them.
    tolerance : float or None
        Of what it finds.

    Raises
    ------
    RuntimeError
        If it may depend on Variables, and is no root: a step of Newton's would go on.
    """
    x, report = solved(search, equation, args, linear_solve)
    if is_recording() and (depends_on_variables(x) or _may_move(equation, args)):
        _refuse_what_is_no_root(name, lambda x: equation(x, *args), value(x), starts, tolerance or 0.0)
    return x, report


def _may_move(equations: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether equations have Variables to depend on: at a jump they do not show it."""
    return depends_on_variables((args, Opened(equations).contents))


def _refuse_what_is_no_root(
    name: str, equation: Callable[[Any], Any], x: Any, starts: tuple[Any, ...], tolerance: float
) -> None:
    def at(x: Any) -> tuple[Any, Any]:
        r, slope = jvp(equation, (x,), (np.ones_like(x),))
        return on_host(value(r)), on_host(value(slope))

    r, slope = at(x)
    way = np.max([np.abs(x), *(np.abs(x - on_host(start)) for start in starts if start is not None)], axis=0)
    with np.errstate(all="ignore"):
        step = np.abs(r / slope)
        is_root = (r == 0) | (step <= NEAR * way)
        is_near = step <= 2 * tolerance
        if np.any(is_near & ~is_root):  # near for other units, maybe: then the slope changes on the way
            is_root |= is_near & (np.abs(at(x - r / slope)[1] - slope) <= ALIKE * np.abs(slope))
    if not np.all(is_root):
        raise RuntimeError(
            f"lindiff.scipy.optimize.{name}: what it has found is no root and has no derivative: the "
            f"function is {np.ravel(r)[np.argmin(is_root)]:.3g} there, a step of Newton's would go on by "
            f"{np.ravel(step)[np.argmin(is_root)]:.3g} (a jump, or a search that was ended before)"
        )


def end_of_search(
    name: str,
    search: Callable[[tuple[Any, ...]], Any],
    equations: Callable[..., Any],
    args: tuple[Any, ...],
    form: Flat,
    function: Callable[..., Any] | None = None,
    refuse: Callable[[Any], None] | None = None,
) -> tuple[Any, Any]:
    """What SciPy's ``search(args)`` returns of flat vectors, with x in its form, and its derivatives.

    Then the value of `function` there, if it depends on Variables, as it may where x does not.

    Parameters
    ----------
    name : str
        Of the search, for its errors.
    equations : callable
        ``equations(x, *args)``, of x in its form and of as many real numbers as the flat vector has.
    function : callable, optional
        Of which `equations` are the derivatives: ``function(x, *args)``, of x in its form.
    refuse : callable, optional
        ``refuse(x)`` raises for what is found, in its form, where these equations are not all there is.

    Raises
    ------
    RuntimeError
        If what is found would depend on Variables, and the equations do not hold there: a step of Newton's
        would go on.  A search that has failed may be near enough, as many say so as soon as rounding ends
        their progress; one that has succeeded may be at a kink, where the function is least, and no equation
        says so.
    """
    is_near: Callable[[], bool] | None = None

    def of_plain(args: tuple[Any, ...]) -> tuple[Any, Any]:
        nonlocal is_near
        found = search(args)
        if is_recording():
            here = lambda x: equations(x, *args)
            is_near = partial(_is_near, here, np.copy(found.x), form, bool(found.success))
        return form.parted(form.tree_of(found.x)), found

    def own(parts: list[Any]) -> Any:
        return form.joined([+part for part in parts])  # the user's function may write into them

    parts, found = solved(of_plain, lambda parts, *args: equations(own(parts), *args), args)
    found.x = form.joined(parts)
    if is_near is None:
        return found, None
    least = None if function is None else function(own(parts), *args)
    moves = depends_on_variables([*parts, least]) or (function is None and _may_move(equations, args))
    if refuse is not None:
        refuse(found.x)
    elif moves and not is_near():
        reason = AS_AT_A_KINK if found.success else found.message
        raise RuntimeError(
            f"lindiff.scipy.optimize.{name}: what a search has not found has no derivative: {reason}"
        )
    return found, least if depends_on_variables(least) else None


def _is_near(equations: Callable[[Any], Any], x: Any, form: Flat, success: bool) -> bool:
    """Whether the equations hold at a flat vector, or would after a short step of Newton's.

    It is short beside the vector, and the way from where the search began.  A search that has succeeded may
    be further away, if the step brings it nearer: across a kink it does not.
    """
    r, derivative, _ = linear_operator(equations, form.tree_of(x), form)
    r, matrix = on_host(value(r)), matrix_of(derivative)
    try:
        step = _step(matrix, r)
    except np.linalg.LinAlgError:
        return False
    way = max(float(np.linalg.norm(x)), float(np.linalg.norm(x - form.flat(form.tree))))
    reach = float(np.linalg.norm(matrix)) * way
    is_solved = bool(np.linalg.norm(r - matrix @ step) <= NEAR * reach)
    length = float(np.linalg.norm(step))
    if is_solved and length <= (NEAR * way or ROUNDING):
        return True
    if not success or np.linalg.norm(r) <= ROUNDING * reach:
        return success
    if length > FAR * way:
        return False
    with np.errstate(all="ignore"):
        left = on_host(value(equations(form.tree_of(x - step))))
    return bool(np.linalg.norm(left) <= 0.5 * np.linalg.norm(r))


def _step(matrix: Any, r: Any) -> Any:
    """Newton's; the shortest of the best, where there is none or more than one."""
    try:
        return np.linalg.solve(matrix, r)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(matrix, r)[0]


class Stationary:
    """The equations that hold where a function is least: its gradient is zero, but for what a bound holds.

    Parameters
    ----------
    objective : callable
        ``objective(x, *args)``, a real number; x has its form.
    form : Flat
    limits : pair of vectors, optional
        Bounds of the flat vector, plain.
    """

    def __init__(self, objective: Callable[..., Any], form: Flat, limits: tuple[Any, Any] | None) -> None:
        self._objective = objective
        self._form, self._limits = form, limits
        self._outward: Any = None  # the sign of the slope with which a bound holds a number, 0 for others
        self._is_fixed: Any = None  # its two bounds are the same
        self._at: Any = None

    def equations(self, x: Any, *args: Any) -> Any:
        """Of x in its form, as many as the flat vector has numbers."""
        slope = self._slope(x, *args)
        if self._outward is None:
            return slope
        outward, at = placed(self._outward, slope), placed(self._at, slope)
        held = placed(self._is_fixed, slope) | (outward * slope > 0)
        return np.where(held, vector_of(self._form.parted(x)) - at, slope)

    def look_for_bounds(self, x: Any, args: tuple[Any, ...]) -> None:
        """Find which numbers of a flat solution a bound holds: a step of their own would take them beyond."""
        if self._limits is None or not is_recording():
            return
        lower, upper = self._limits
        if not np.any(np.isfinite(lower) | np.isfinite(upper)):
            return
        slope = on_host(value(self._slope(self._form.tree_of(x), *args)))
        gradient = linear_operator(lambda x: self._slope(x, *args), self._form.tree_of(x), self._form)[1]
        curvature = np.diag(matrix_of(gradient))
        at_lower, at_upper = (x - lower) * curvature < slope, (upper - x) * curvature < -slope
        self._is_fixed = lower == upper
        self._outward = np.where(at_lower, 1.0, np.where(at_upper, -1.0, 0.0))
        self._at = np.where(at_lower | self._is_fixed, lower, np.where(at_upper, upper, 0.0))

    def _slope(self, x: Any, *args: Any) -> Any:
        return vector_of(self._form.parted(grad(self._objective)(x, *args)))
