"""Log likelihoods by the compiled sweep."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.linalg import potrf, sumlogdiag, trsm
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.statespace.diffuse_sweep import start
from lindiff.statespace.filter_sums import filter_sums
from lindiff.statespace.initialization import each_regular, never_determined
from lindiff.statespace.model import System, series_by_pattern
from lindiff.statespace.sweeps import Plan, Sweeps, naming, of_series, sweeps_for

__all__ = ["compiled", "compiled_steps", "from_sums", "operands", "settled"]


def compiled(system: System, tolerance: float, checkpoint: bool, name: str) -> Any:
    """The log likelihoods (S,)."""
    block = math.isqrt(system.y.shape[1]) if checkpoint else 0
    arrays, plan = operands(system, tolerance, name, block)
    (quad, cross, info, logdet), _ = settled(plan, lambda plan: (filter_sums(*arrays, plan=plan), None))
    return from_sums(quad, cross, info, logdet, system)


def from_sums(quad: Any, cross: Any, info: Any, logdet: Any, system: System) -> Any:
    """Log likelihoods from the sums over steps; with diffuse states ½ s C⁻¹ sᵀ - ½ log |C| more (de Jong
    1991, eq. 4.3).
    """
    counts = np.sum(~np.isnan(value(system.y)), axis=(1, 2))
    result = -0.5 * (quad + (logdet + (LOG_TWO_PI * counts).astype(system.y.dtype)))
    if not system.diffuse:
        return result
    L = potrf(info)
    q = trsm(L, cross[:, None], transpose=True, rightside=True)[:, 0]
    return result + 0.5 * np.sum(q * q, axis=-1) - sumlogdiag(L)


def compiled_steps(system: System, tolerance: float, name: str) -> Any:
    """The log densities (S, T) of each step given those before; for plain arrays, without diffuse states."""
    arrays, plan = operands(system, tolerance, name)
    counts = np.sum(~np.isnan(system.y), axis=2)
    terms = sweeps_for(arrays, 0)(arrays, plan._replace(stepwise=True)).terms()
    return terms - (0.5 * LOG_TWO_PI * counts).astype(terms.dtype)


def operands(system: System, tolerance: float, name: str, block: int = 0) -> tuple[tuple[Any, ...], Plan]:
    """The arrays of sweeps over a system, and their plan."""
    _, A, B, Q, R, m, P, c, level, diffuse, _ = system
    y = system.y if level is None else system.y - level
    arrays = y, A, B, Q, R, m, P, c
    independent = R.shape[-2] == 1  # a row of variances, or the only one
    plain = tuple(value(x) for x in arrays)
    kind = sweeps_for(plain, len(diffuse))
    plan = Plan(_groups(system) if kind is Sweeps else (), independent, tolerance, block, name, diffuse)
    if diffuse and kind is Sweeps:
        plan = _with_start(plain, plan)
    elif diffuse:
        plan = _with_shift_of_each(plain, plan)
    return arrays, plan


def _groups(system: System) -> tuple[tuple[Any, Any], ...]:
    """Series with the same missing values, or, where they have their own covariances, every one."""
    found = [
        (series, None if observed.all() else observed) for series, observed in series_by_pattern(system.y)
    ]
    if system.shares_covariances:
        return tuple(found)
    return tuple((series[i : i + 1], observed) for series, observed in found for i in range(len(series)))


# -- diffuse states ----------------------------------------------------------------------------------------


def _with_start(arrays: tuple[Any, ...], plan: Plan) -> Plan:
    """The plan with the steps after which filters collapse, the same for all series with the same missing
    values, and a shift near what the data so far say of the diffuse states, so that large numbers do not
    cancel.  No result depends on them: they are constants.
    """
    S, T, _ = arrays[0].shape
    heads, shift = np.zeros(S, int), np.zeros((S, len(plan.diffuse)), arrays[0].dtype)
    with_pattern: dict[int, list[Any]] = {}
    for series, observed in plan.groups:
        with naming(plan.name, series):
            given = of_series(arrays, series, plan)
            found = start(given, observed, plan.independent, plan.tolerance, plan.diffuse)
        if found is None:
            raise never_determined(plan.name, series, len(plan.diffuse))
        heads[series], shift[series] = found
        with_pattern.setdefault(id(observed), []).append(series)
    for parts in with_pattern.values():
        if len(parts) > 1:
            series = np.concatenate(parts)
            heads[series] = heads[series].max()
    return plan._replace(heads=heads, shift=shift, settled=bool((heads < T).all()))


def _with_shift_of_each(arrays: tuple[Any, ...], plan: Plan) -> Plan:
    """The plan of sweeps without groups with its shift: from as few steps as determine the states of all
    series; from all steps, if the host must not look at the numbers.
    """
    T, d = arrays[0].shape[1], len(plan.diffuse)
    kind = sweeps_for(arrays, d)
    looks = kind.may_read()
    steps = min(T, 2 * d + 8) if looks else T
    variances = np.diagonal(arrays[6], axis1=-2, axis2=-1)[:, list(plan.diffuse)]
    while True:
        _, s, C, _ = kind(_first(arrays, steps), plan._replace(shift=0, block=0)).sums()
        determined = each_regular(C, variances) if looks else None
        if determined is None or determined.all():
            return plan._replace(shift=-np.linalg.solve(C, s[..., None])[..., 0], settled=not looks)
        if steps == T:
            raise never_determined(plan.name, np.reshape(np.argmin(determined), 1), d)
        steps = min(T, 2 * steps)


def settled(plan: Plan, run: Callable[[Plan], tuple[Any, Any]]) -> tuple[Any, Any]:
    """What ``run(plan)`` gives, sums and more, from a shift of the diffuse states at which no digits cancel.

    The few steps that determine them may do so badly: then they start where all the data put them.
    """
    sums, more = run(plan)
    for _ in range(3):
        if not plan.diffuse or plan.settled:
            break
        quad, s, C, _ = (value(x) for x in sums)
        move = -np.linalg.solve(C, s[..., None])[..., 0]
        explained = -np.sum(s * move, axis=-1)
        if np.all(explained <= 100 * np.abs(quad - explained)):
            break
        plan = plan._replace(shift=plan.shift + move)
        sums, more = run(plan)
    return sums, more


def _first(arrays: tuple[Any, ...], steps: int) -> tuple[Any, ...]:
    """The first steps of data and system."""
    y, A, B, Q, R, m, P, c = arrays
    cut = [x if x is None or x.shape[1] == 1 else x[:, :steps] for x in (A, B, Q, R, c)]
    return y[:, :steps], *cut[:4], m, P, cut[4]
