"""What is decided before a sweep: groups of series, the steady state, and where diffuse states start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lindiff.kernels
from lindiff.core.backends import kernels
from lindiff.core.variable import value
from lindiff.statespace.diffuse import determined, estimate, never_determined, numbers_of_steps
from lindiff.statespace.model import System, of_steps
from lindiff.statespace.sweep.plan import Plan
from lindiff.statespace.sweep.series import Sweeps, with_collapse

__all__ = ["has_sweep", "planned", "settled", "sweeps_for", "tolerance_of"]


# Of float64 and of float32, which has no digits to spare.
REST = 50 * float(np.finfo(np.float64).eps), 4 * float(np.finfo(np.float32).eps)


def sweeps_for(arrays: tuple[Any, ...], diffuse: int, dtype: Any = None) -> Any:
    """The class that sweeps over such arrays, plain and real, in that dtype or their own; None for none.

    `Sweeps` for NumPy's arrays; that of ``lindiff_cuda``, of the same interface, for CuPy's, if one series is
    not too large for it.
    """
    y, A, _, _, R, *_ = arrays
    module = kernels(*arrays)
    if module is None:
        return None
    if module is lindiff.kernels:
        return Sweeps
    n, p, independent = A.shape[-1], y.shape[-1], R.shape[-2] == 1
    return module.Sweeps if module.Sweeps.fits(n, p, diffuse, independent, dtype or y.dtype) else None


def has_sweep(system: System) -> bool:
    """Whether there is a compiled sweep for the arrays of a system, or the values of its Variables."""
    return sweeps_for(tuple(map(value, system[:8])), len(system.diffuse)) is not None


def planned(
    system: System, name: str, steady_tol: float | None = None, block: int = 0, whole: bool = True
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
    whole : bool
        Whether sweeps keep what the way back needs; if not, no array may be a Variable.
    """
    _, A, B, Q, R, m, P, c, level, diffuse, _ = system
    y = system.y if level is None else system.y - level
    arrays = y, A, B, Q, R, m, P, c
    independent = R.shape[-2] == 1  # a row of variances, or the only one
    plain = tuple(map(value, arrays))
    kind = sweeps_for(plain, len(diffuse))
    groups = system.groups() if kind is Sweeps else ()
    plan = Plan(
        groups, independent, tolerance_of(steady_tol, y.dtype), block, name, diffuse, whole=whole, kind=kind
    )
    if diffuse:
        plan = with_collapse(plain, plan) if kind is Sweeps else _with_shift_of_each(plain, plan)
    return arrays, plan


def tolerance_of(steady_tol: float | None, dtype: Any) -> float:
    """The kernel's tolerance of the steady state: negative for never."""
    if steady_tol is None:
        return REST[dtype == np.float32]
    return float(steady_tol) if steady_tol > 0 else -1.0


# -- diffuse states ----------------------------------------------------------------------------------------


def _with_shift_of_each(arrays: tuple[Any, ...], plan: Plan) -> Plan:
    """The plan of sweeps that have no groups and do not collapse, with the shift of the diffuse states.

    It is taken from as few steps as determine the states of all series; from all steps, if the host must not
    look at the numbers.
    """
    T, d = arrays[0].shape[1], len(plan.diffuse)
    looks = plan.kind.may_read()
    variances = np.diagonal(arrays[6], axis1=-2, axis2=-1)[:, list(plan.diffuse)]
    for steps in numbers_of_steps(d, T) if looks else (T,):
        _, s, C, _ = plan.kind(_of_steps(arrays, steps), plan._replace(shift=0, block=0)).sums()
        known = determined(C, variances) if looks else np.ones(1, bool)
        if known.all():
            return plan._replace(shift=estimate(s[:, None], C)[:, 0], settled=not looks)
    raise never_determined(plan.name, np.reshape(np.argmin(known), 1), d)


def settled(plan: Plan, run: Callable[..., Any], sums: Callable[[Any], Any] = lambda found: found) -> Any:
    """What ``run(plan=plan)`` gives, from a shift of the diffuse states at which no digits cancel.

    The few steps that determine them may do so badly: then they start where all the data put them.  ``sums``
    of what it gives are those of `Sweeps`.
    """
    found = run(plan=plan)
    for _ in range(3):
        if not plan.diffuse or plan.settled:
            break
        quad, s, C, _ = (value(x) for x in sums(found))
        move = estimate(s[:, None], C)[:, 0]
        explained = -np.sum(s * move, axis=-1)
        if np.all(explained <= 100 * np.abs(quad - explained)):
            break
        plan = plan._replace(shift=plan.shift + move)
        found = run(plan=plan)
    return found


def _of_steps(arrays: tuple[Any, ...], steps: int) -> tuple[Any, ...]:
    """The first steps of data and system."""
    y, A, B, Q, R, m, P, c = arrays
    return y[:, :steps], *(of_steps(x, 0, steps) for x in (A, B, Q, R)), m, P, of_steps(c, 0, steps)
