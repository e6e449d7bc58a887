"""Log likelihoods by the compiled sweep: groups of series, and the diffuse start."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.linalg import potrf, sumlogdiag, trsm
from lindiff.statespace.initialization import prior_variances, regular
from lindiff.statespace.model import System, series_by_pattern
from lindiff.statespace.recursions import in_order
from lindiff.statespace.sweep import Options, filter_sums, sweep_of

__all__ = [
    "LOG_TWO_PI",
    "compiled",
    "compiled_steps",
    "group_loglikelihood_of",
    "group_operands",
    "series_groups",
]

LOG_TWO_PI = float(np.log(2 * np.pi))


def compiled(system: System, tolerance: float, checkpoint: bool, name: str) -> Any:
    """The log likelihoods (S,)."""
    found = series_groups(system)
    block = math.isqrt(system.y.shape[1]) if checkpoint else 0
    parts = [_of_group(system, series, observed, tolerance, block, name) for series, observed in found]
    return in_order(parts, [series for series, _ in found])


def compiled_steps(system: System, tolerance: float, name: str) -> Any:
    """The log densities (S, T) of each step given those before; for plain arrays, without diffuse states."""
    found = series_groups(system)
    parts = []
    for series, observed in found:
        arrays, options = group_operands(system, series, observed, tolerance, 0, name)
        sweep = sweep_of(arrays, options)
        counts = observed.sum(axis=-1)
        parts.append(-0.5 * (sweep.quad + (sweep.logdet + counts * LOG_TWO_PI)[:, None]).T)
    return in_order(parts, [series for series, _ in found]).astype(system.y.dtype, copy=False)


def series_groups(system: System) -> list[tuple[Any, Any]]:
    """Series with the same missing values, or, where they have their own covariances, every one."""
    found = series_by_pattern(system.y)
    covs = (system.transition, system.design, system.state_cov, system.obs_cov, system.initial_state_cov)
    if all(x.shape[0] == 1 for x in covs):
        return found
    return [(series[i : i + 1], observed) for series, observed in found for i in range(len(series))]


def group_operands(
    system: System, series: Any, observed: Any, tolerance: float, block: int, name: str
) -> tuple[tuple[Any, ...], Options]:
    """The arrays and options of a sweep over a group, with the unit vectors of the diffuse states."""

    def chosen(x: Any) -> Any:
        return x if x is None or x.shape[0] == 1 or len(series) == system.y.shape[0] else x[series]

    y = chosen(system.y)
    if system.obs_intercept is not None:
        y = y - chosen(system.obs_intercept)
    start = chosen(system.initial_state)
    if start.shape[0] != len(series):
        start = np.broadcast_to(start, (len(series), start.shape[1]))
    R = chosen(system.obs_cov)
    matrices = (chosen(x) for x in (system.transition, system.design, system.state_cov))
    arrays = (y, *matrices, R, start, chosen(system.initial_state_cov), chosen(system.state_intercept))
    independent = R.shape[-2] == 1  # a row of variances, or the only one
    everything = None if observed.all() else observed
    options = Options(everything, independent, tolerance, len(system.diffuse), block, name, series)
    if not system.diffuse:
        return arrays, options
    return _shifted(_with_unit_starts(arrays, system.diffuse), options), options


def _of_group(system: System, series: Any, observed: Any, tolerance: float, block: int, name: str) -> Any:
    arrays, options = group_operands(system, series, observed, tolerance, block, name)
    quad, gram, logdet = filter_sums(*arrays, options=options)
    return group_loglikelihood_of(quad, gram, logdet, observed, options)


def group_loglikelihood_of(quad: Any, gram: Any, logdet: Any, observed: Any, options: Options) -> Any:
    """Log likelihoods (k,) from the sums of a sweep, its last series being those of the diffuse states."""
    constant, k = float(observed.sum()) * LOG_TWO_PI, len(options.series)
    if not options.mixed:
        return -0.5 * (quad + (logdet + constant))
    # ½ s C⁻¹ sᵀ - ½ log |C| more (de Jong 1991, eq. 4.3)
    L = potrf(gram[k:])
    q = trsm(L, gram[:k], transpose=True, rightside=True)
    return -0.5 * (quad[:k] + (logdet + constant)) + 0.5 * np.sum(q * q, axis=-1) - sumlogdiag(L)


# -- diffuse states ----------------------------------------------------------------------------------------


def _with_unit_starts(arrays: tuple[Any, ...], places: tuple[int, ...]) -> tuple[Any, ...]:
    """More series: zero data from the unit vectors of the diffuse states."""
    y, A, B, Q, R, m, P, c = arrays
    d, n = len(places), m.shape[-1]
    y = np.concatenate([y, np.zeros((d, *y.shape[1:]), y.dtype)])
    units = np.eye(n, dtype=m.dtype)[list(places)]
    if c is not None:
        c = np.broadcast_to(c, (m.shape[0], *c.shape[1:]))
        c = np.concatenate([c, np.zeros((d, *c.shape[1:]), c.dtype)])
    return y, A, B, Q, R, np.concatenate([m, units]), P, c


def _shifted(arrays: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
    """With diffuse states that start near what the data say of them, so that large numbers do not cancel.

    No result depends on where they start: the shift is a constant, found from as few steps as determine them.
    """
    y, A, B, Q, R, m, P, c = arrays
    T, d = y.shape[1], options.mixed
    steps = min(T, 2 * d + 8)
    plain = tuple(value(x) for x in arrays)
    variances = prior_variances(plain[5], plain[6][0], d)
    while True:
        seen = None if options.observed is None else options.observed[:steps]
        gram = sweep_of(_first(plain, steps), options._replace(observed=seen, block=0)).gram
        if regular(gram[-d:], variances):
            shift = -np.linalg.solve(gram[-d:], gram[:-d].T).T
            move = np.concatenate([shift @ plain[5][-d:], np.zeros((d, m.shape[-1]))])
            return y, A, B, Q, R, m + move.astype(m.dtype), P, c
        if steps == T:
            which = f" of series {options.series[0]}" if len(options.series) else ""
            raise ValueError(
                f"{options.name}: the data{which} never determine the {d} diffuse states; give initial_state "
                f"and initial_state_cov for those that they say nothing about"
            )
        steps = min(T, 2 * steps)


def _first(arrays: tuple[Any, ...], steps: int) -> tuple[Any, ...]:
    """The first steps of data and system."""
    y, A, B, Q, R, m, P, c = arrays
    cut = (x if x is None or x.shape[1] == 1 else x[:, :steps] for x in (A, B, Q, R))
    return y[:, :steps], *cut, m, P, c if c is None or c.shape[1] == 1 else c[:, :steps]
