"""What is decided before a sweep: groups of series, the steady state, and where diffuse states start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.statespace.diffuse import determined, estimate, never_determined, numbers_of_steps
from lindiff.statespace.model import System, of_steps, series_by_pattern
from lindiff.statespace.sweep.collapsing import collapse_after
from lindiff.statespace.sweep.series import Plan, Sweeps, kernel_arrays, naming, sweeps_for

__all__ = ["has_sweep", "planned", "settled"]


def has_sweep(system: System) -> bool:
    """Whether there is a compiled sweep for the arrays of a system, or the values of its Variables."""
    return sweeps_for(tuple(value(x) for x in system[:8]), len(system.diffuse)) is not None


def planned(
    system: System, name: str, steady_tol: float | None = None, block: int = 0
) -> tuple[tuple[Any, ...], Plan]:
    """The arrays of sweeps over a system, and their plan.

    Parameters
    ----------
    system : System
        Its arrays may be Variables, of which the plan depends on the values.
    name : str
        The public function that errors speak of.
    steady_tol : float, optional
        As :func:`loglikelihood` has it.
    block : int
        Of how many steps all is kept; 0 for all of them.
    """
    _, A, B, Q, R, m, P, c, level, diffuse, _ = system
    y = system.y if level is None else system.y - level
    arrays = y, A, B, Q, R, m, P, c
    independent = R.shape[-2] == 1  # a row of variances, or the only one
    plain = tuple(value(x) for x in arrays)
    grouped = sweeps_for(plain, len(diffuse)) is Sweeps
    tolerance = _tolerance(steady_tol, y.dtype)
    plan = Plan(_groups(system) if grouped else (), independent, tolerance, block, name, diffuse)
    if diffuse:
        plan = _with_collapse(plain, plan) if grouped else _with_shift_of_each(plain, plan)
    return arrays, plan


def _tolerance(steady_tol: float | None, dtype: Any) -> float:
    """The kernel's tolerance of the steady state: negative for never."""
    if steady_tol is None:  # float32 has no digits to spare
        return (4 if dtype == np.float32 else 50) * float(np.finfo(dtype).eps)
    return float(steady_tol) if steady_tol > 0 else -1.0


def _groups(system: System) -> tuple[tuple[Any, Any], ...]:
    """Series with the same missing values, or, where they have their own covariances, every one."""
    found = [
        (series, None if observed.all() else observed) for series, observed in series_by_pattern(system.y)
    ]
    if system.shares_covariances:
        return tuple(found)
    return tuple((series[i : i + 1], observed) for series, observed in found for i in range(len(series)))


# -- diffuse states ----------------------------------------------------------------------------------------


def _with_collapse(arrays: tuple[Any, ...], plan: Plan) -> Plan:
    """The plan with the steps after which the filters collapse, and the shift of the diffuse states.

    All series with the same missing values collapse at the same step.  The shift is near what the data up to
    there say of the states, so that large numbers do not cancel.  No result depends on either: they are
    constants.
    """
    S, T, _ = arrays[0].shape
    steps, shift = np.zeros(S, int), np.zeros((S, len(plan.diffuse)), arrays[0].dtype)
    with_pattern: dict[int, list[Any]] = {}
    for series, observed in plan.groups:
        with naming(plan.name, series):
            given = kernel_arrays(arrays, series, plan)
            found = collapse_after(given, observed, plan.independent, plan.tolerance, plan.diffuse)
        if found is None:
            raise never_determined(plan.name, series, len(plan.diffuse))
        steps[series], shift[series] = found
        with_pattern.setdefault(id(observed), []).append(series)
    for parts in with_pattern.values():
        if len(parts) > 1:
            series = np.concatenate(parts)
            steps[series] = steps[series].max()
    return plan._replace(collapse=steps, shift=shift, settled=bool((steps < T).all()))


def _with_shift_of_each(arrays: tuple[Any, ...], plan: Plan) -> Plan:
    """The plan of sweeps that have no groups and do not collapse, with the shift of the diffuse states.

    It is taken from as few steps as determine the states of all series; from all steps, if the host must not
    look at the numbers.
    """
    T, d = arrays[0].shape[1], len(plan.diffuse)
    kind = sweeps_for(arrays, d)
    looks = kind.may_read()
    variances = np.diagonal(arrays[6], axis1=-2, axis2=-1)[:, list(plan.diffuse)]
    for steps in numbers_of_steps(d, T) if looks else (T,):
        _, s, C, _ = kind(_of_steps(arrays, steps), plan._replace(shift=0, block=0)).sums()
        known = determined(C, variances) if looks else np.ones(1, bool)
        if known.all():
            return plan._replace(shift=estimate(s[:, None], C)[:, 0], settled=not looks)
    raise never_determined(plan.name, np.reshape(np.argmin(known), 1), d)


def settled(plan: Plan, run: Callable[[Plan], Any], sums: Callable[[Any], Any] = lambda found: found) -> Any:
    """What ``run(plan)`` gives, from a shift of the diffuse states at which no digits cancel.

    The few steps that determine them may do so badly: then they start where all the data put them.  ``sums``
    of what it gives are those of `Sweeps`.
    """
    found = run(plan)
    for _ in range(3):
        if not plan.diffuse or plan.settled:
            break
        quad, s, C, _ = (value(x) for x in sums(found))
        move = estimate(s[:, None], C)[:, 0]
        explained = -np.sum(s * move, axis=-1)
        if np.all(explained <= 100 * np.abs(quad - explained)):
            break
        plan = plan._replace(shift=plan.shift + move)
        found = run(plan)
    return found


def _of_steps(arrays: tuple[Any, ...], steps: int) -> tuple[Any, ...]:
    """The first steps of data and system."""
    y, A, B, Q, R, m, P, c = arrays
    return y[:, :steps], *(of_steps(x, 0, steps) for x in (A, B, Q, R)), m, P, of_steps(c, 0, steps)
