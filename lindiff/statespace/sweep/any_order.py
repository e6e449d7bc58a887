"""The sums of the compiled sweeps in functions that dispatch: their derivatives of any order, in any mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from lindiff.core.arrays import zeros_beside
from lindiff.core.variable import value
from lindiff.linalg import sumlogdiag
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.statespace import composed
from lindiff.statespace.model import System
from lindiff.statespace.sweep.plan import Plan
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = [
    "composed_gradient",
    "composed_sums",
    "composed_terms",
    "in_place",
    "pulled",
    "pulled_in_place",
    "pushed",
    "system_of",
]


def composed_sums(*arrays: Any, plan: Plan) -> tuple[Any, ...]:
    """What ``Sweeps(arrays, plan).sums()`` is."""
    return composed.of_groups(system_of(arrays, plan), lambda group: _sums(group, plan))


def system_of(arrays: tuple[Any, ...], plan: Plan) -> System:
    """The system of the arrays that are swept."""
    y, A, B, Q, R, m, P, c = arrays
    return System(y, A, B, Q, R, m, P, c, None, plan.diffuse, many=True)


def _sums(group: composed.Group, plan: Plan) -> tuple[Any, ...]:
    """The sums of a group; with diffuse states it collapses where the plan says."""
    k, d, T = len(group.series), group.diffuse, len(group.observed)
    like = group.initial_state_cov
    if not d:
        quad, logdet = _of_data(group, composed.filtered(group, plan.name))
        return quad, zeros_beside(like, (k, 0), like.dtype), zeros_beside(like, (k, 0, 0), like.dtype), logdet
    head = plan.steps_to_collapse(group.series, T)
    first, shift = composed.part(group, 0, head), plan.shift[group.series]
    run = composed.filtered(first, plan.name)
    known = composed.information_from(first, run, head, shift if group.shared else shift[:, None])
    quad, logdet = _of_data(first, run, known.z)
    if head < T:
        m, P = composed.conditioned(run.predicted[head], run.predicted_cov[head], known, head)
        later = composed.part(group, head, T, m, P)
        more = _of_data(later, composed.filtered(later, plan.name))
        quad, logdet = quad + more[0], logdet + more[1]
    return quad, np.reshape(known.s[head], (k, d)), np.broadcast_to(known.C[head], (k, d, d)), logdet


def _of_data(group: composed.Group, run: composed.Filtered, z: Any = None) -> tuple[Any, Any]:
    """The sums of squares and of log |S|; from z, if given, in place of the run's whitened errors."""
    k, like = len(group.series), group.initial_state_cov
    quad = logdet = zeros_beside(like, (k,), like.dtype)
    for t, step in enumerate(run.observed):
        if step is not None:
            errors = step.z if z is None else z[t]
            quad = quad + np.reshape(np.sum(errors * errors, axis=-1), (k,))
            logdet = logdet + 2 * sumlogdiag(step.L)
    return quad, logdet


def composed_terms(*arrays: Any, plan: Plan) -> tuple[Any]:
    """What ``Sweeps(arrays, plan).terms()`` is, alone in a tuple; without diffuse states."""
    counts = np.sum(~np.isnan(value(arrays[0])), axis=2)
    terms = composed.loglikelihoods(system_of(arrays, plan), plan.name, per_step=True)
    return (terms + 0.5 * LOG_TWO_PI * counts,)


def composed_gradient(
    *args: Any, wanted: tuple[bool, ...], plan: Plan, composed: Callable[..., Any] = composed_sums
) -> Any:
    """The cotangents of the wanted arrays, of ``(*bars, *arrays)``; bars of what is composed."""
    bars, arrays = args[: -len(wanted)], args[-len(wanted) :]
    active = tuple(i for i, want in enumerate(wanted) if want)
    return pulled(partial(composed, plan=plan), arrays, tuple(bars), active)


def pushed(function: Any, args: tuple[Any, ...], dots: tuple[Any, ...]) -> Any:
    """The tangent of a function; None among arguments or tangents is constant."""
    pairs = enumerate(zip(args, dots, strict=True))
    active = tuple(i for i, (x, x_dot) in pairs if x is not None and x_dot is not None)
    return jvp(_of(function, args, active), tuple(args[i] for i in active), tuple(dots[i] for i in active))[1]


def pulled(function: Any, args: tuple[Any, ...], bars: Any, active: tuple[int, ...]) -> tuple[Any, ...]:
    """The cotangents of the active arguments of a function; bars is a tuple where its result is one."""
    return vjp(_of(function, args, active), *(args[i] for i in active))[1](bars)


def pulled_in_place(
    function: Any, args: tuple[Any, ...], bars: Any, active: tuple[int, ...]
) -> tuple[Any, ...]:
    """A cotangent for each argument, None for those that are not active."""
    return in_place(pulled(function, args, bars, active), [i in active for i in range(len(args))])


def in_place(found: Iterable[Any], wanted: Iterable[Any]) -> tuple[Any, ...]:
    """What was found of those that are wanted, None for the others."""
    given = iter(found)
    return tuple(next(given) if want else None for want in wanted)


def _of(function: Any, args: tuple[Any, ...], active: tuple[int, ...]) -> Any:
    """As a function of the active arguments alone."""

    def of_active(*chosen: Any) -> Any:
        full = list(args)
        for i, x in zip(active, chosen, strict=True):
            full[i] = x
        return function(*full)

    return of_active
