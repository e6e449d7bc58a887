"""The sums of the compiled sweeps in functions that dispatch: their derivatives of any order, in any mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import zeros_beside
from lindiff.linalg import sumlogdiag
from lindiff.linalg._matrices import transposed
from lindiff.statespace.initialization import Information, conditioned
from lindiff.statespace.model import System
from lindiff.statespace.recursions import Filtered, Group, data_rows, filtered, groups, in_order, part
from lindiff.statespace.sweeps import Plan
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["composed_gradient", "composed_sums", "pulled", "pushed"]


def composed_sums(*arrays: Any, plan: Plan) -> tuple[Any, ...]:
    """What ``Sweeps(arrays, plan).sums()`` is."""
    y, A, B, Q, R, m, P, c = arrays
    found = groups(System(y, A, B, Q, R, m, P, c, None, plan.diffuse, many=True))
    parts = [_sums(group, plan) for group in found]
    order = [group.series for group in found]
    return tuple(in_order(list(field), order) for field in zip(*parts, strict=True))


def _sums(group: Group, plan: Plan) -> tuple[Any, ...]:
    k, d, T = len(group.series), group.diffuse, len(group.observed)
    like = group.initial_state_cov
    cross, info = zeros_beside(like, (k, d), like.dtype), zeros_beside(like, (k, d, d), like.dtype)
    if not d:
        quad, logdet = _of_data(group, filtered(group, plan.name), None)
        return quad, cross, info, logdet
    head = T if plan.heads is None or not k else plan.heads[group.series[0]]
    first = part(group, 0, head)
    run = filtered(first, plan.name)
    shift = plan.shift[group.series]
    shift = shift if group.shared else shift[:, None]
    quad, logdet = _of_data(first, run, shift)
    for step in run.observed:
        if step is not None:
            Z = step.z[..., -d:, :]
            z = data_rows(step.z, group) + shift @ Z
            cross, info = cross + np.reshape(z @ transposed(Z), (k, d)), info + Z @ transposed(Z)
    if head < T:
        s, C = (cross, info[0]) if group.shared else (cross[:, None], info)
        known = Information(0, shift, [], [s], [C])
        m, P = conditioned(run.predicted[-1], run.predicted_cov[-1], known, 0)
        later = part(group, head, T, m, P)
        more = _of_data(later, filtered(later, plan.name), None)
        quad, logdet = quad + more[0], logdet + more[1]
    return quad, cross, info, logdet


def _of_data(group: Group, run: Filtered, shift: Any) -> tuple[Any, Any]:
    """The sums of squares and of log |S|."""
    k, like = len(group.series), group.initial_state_cov
    quad = logdet = zeros_beside(like, (k,), like.dtype)
    for step in run.observed:
        if step is not None:
            z = data_rows(step.z, group)
            z = z if shift is None else z + shift @ step.z[..., -group.diffuse :, :]
            quad, logdet = quad + np.reshape(np.sum(z * z, axis=-1), (k,)), logdet + 2 * sumlogdiag(step.L)
    return quad, logdet


def composed_gradient(*args: Any, wanted: tuple[bool, ...], plan: Plan) -> Any:
    """The cotangents of the wanted arrays, of ``(*bars, *arrays)``."""
    bars, arrays = args[: -len(wanted)], args[-len(wanted) :]
    active = tuple(i for i, want in enumerate(wanted) if want)
    return pulled(lambda *a: composed_sums(*a, plan=plan), arrays, bars, active)


def pushed(function: Any, args: tuple[Any, ...], dots: tuple[Any, ...]) -> Any:
    """The tangent of a function; None among arguments or tangents is constant."""
    pairs = enumerate(zip(args, dots, strict=True))
    active = tuple(i for i, (x, x_dot) in pairs if x is not None and x_dot is not None)
    return jvp(_of(function, args, active), tuple(args[i] for i in active), tuple(dots[i] for i in active))[1]


def pulled(function: Any, args: tuple[Any, ...], bars: Any, active: tuple[int, ...]) -> tuple[Any, ...]:
    """The cotangents of the active arguments of a function."""
    return vjp(_of(function, args, active), *(args[i] for i in active))[1](tuple(bars))


def _of(function: Any, args: tuple[Any, ...], active: tuple[int, ...]) -> Any:
    """As a function of the active arguments alone."""

    def of_active(*chosen: Any) -> Any:
        full = list(args)
        for i, x in zip(active, chosen, strict=True):
            full[i] = x
        return function(*full)

    return of_active
