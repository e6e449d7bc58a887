"""The compiled sweep over all series of a system: plain arrays, group by group, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from lindiff.kernels.kalman import Sweep
from lindiff.kernels.threads import available
from lindiff.linalg._matrices import symmetric_part
from lindiff.statespace.diffuse import never_determined
from lindiff.statespace.sweep.collapsing import DiffuseSweep, collapse_after
from lindiff.statespace.sweep.plan import Plan
from lindiff.statespace.sweep.smoothed import pull_smoothed

__all__ = ["Sweeps", "naming", "shared_parameters", "with_collapse"]

# A thread is worth it from so many multiplications in each group (about half a millisecond); larger matrices
# keep BLAS's own threads busy.
WORTH_A_THREAD = 1e6
LARGE = 64


class Sweeps:
    """The filter run over every group.

    Parameters
    ----------
    arrays : tuple
        y (S, T, p); transition, design, state_cov, obs_cov (1 or S, 1 or T, ...); initial_state (1 or S, n),
        initial_state_cov (1 or S, n, n); state_intercept (1 or S, 1 or T, n) or None.  All of one dtype,
        which may be complex.
    plan : Plan
    """

    def __init__(self, arrays: tuple[Any, ...], plan: Plan) -> None:
        self.arrays, self.plan = arrays, plan
        begun = plan.begun or (None,) * len(plan.groups)
        self.sweeps = self._each(self._sweep, list(zip(plan.groups, begun, strict=True)))

    def sums(self) -> tuple[Any, Any, Any, Any]:
        """Sums over steps for each series: vᵀ S⁻¹ v (S,), vᵀ S⁻¹ V (S, d), Vᵀ S⁻¹ V (S, d, d), log |S| (S,).

        V are the innovations from zero data and the unit vectors of the d diffuse states, for the steps
        before the filter collapses; see `DiffuseSweep`.
        """
        y, d = self.arrays[0], len(self.plan.diffuse)
        S = y.shape[0]
        quad, logdet = np.empty(S, y.dtype), np.empty(S, y.dtype)
        cross, info = np.empty((S, d), y.dtype), np.empty((S, d, d), y.dtype)
        for (series, _), sweep in zip(self.plan.groups, self.sweeps, strict=True):
            if d:
                quad[series], logdet[series] = sweep.quad, sweep.logdet
                cross[series], info[series] = sweep.cross, sweep.info
            else:
                quad[series], logdet[series] = sweep.quad.sum(axis=0), sweep.logdet.sum()
        return quad, cross, info, logdet

    def terms(self) -> Any:
        """-½ (vᵀ S⁻¹ v + log |S|) of each step, (S, T)."""
        result = np.empty(self.arrays[0].shape[:2], self.arrays[0].dtype)
        for (series, _), sweep in zip(self.plan.groups, self.sweeps, strict=True):
            result[series] = -0.5 * (sweep.quad.T[: len(series)] + sweep.logdet)
        return result

    def pull(self, bars: tuple[Any, ...], wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """Cotangents of the wanted arrays from those of the sums; None for the others."""
        quad_bar, cross_bar, info_bar, logdet_bar = bars

        def pulled(series: Any, sweep: Any) -> Any:
            quad, cross, logdet = quad_bar[series], cross_bar[series], logdet_bar[series].sum()
            if self.plan.diffuse:
                return sweep.pull(quad, cross, info_bar[series].sum(axis=0), logdet, wanted)
            return sweep.pull(quad, cross, logdet, wanted)[0]

        return self._added(pulled, wanted)

    def pull_terms(self, terms_bar: Any, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """Cotangents of the wanted arrays from those of the terms (S, T); None for the others."""
        return self._added(lambda series, sweep: sweep.pull_steps(terms_bar[series].T, wanted), wanted)

    def pull_filtered(self, bars: tuple[Any, Any], wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """The same from those of filtered means (S, T, n), and of the covariances of groups (G, T, n, n)."""

        def pulled(sweep: Any, of_moments: Any) -> Any:
            return sweep.pull_steps(np.zeros_like(sweep.quad), wanted, filtered_bar=of_moments)

        return self._added_of_moments(pulled, bars, wanted)

    def pull_smoothed(self, bars: tuple[Any, Any], wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """The same from those of smoothed means (S, T, n), and of the covariances of groups (G, T, n, n)."""
        d = len(self.plan.diffuse)

        def pulled(sweep: Any, of_moments: Any) -> Any:
            return pull_smoothed(sweep.augmented() if d else sweep, of_moments, d, wanted)

        return self._added_of_moments(pulled, bars, wanted)

    def _added_of_moments(
        self, pulled: Callable[[Any, Any], Any], bars: tuple[Any, Any], wanted: tuple[bool, ...]
    ) -> tuple[Any, ...]:
        """:meth:`_added` of each group's sweep and its cotangents of means (T, n, k), and of covariances."""
        means, covariances = bars

        def of_group(series: Any, sweep: Any, V_bar: Any) -> Any:
            return pulled(sweep, (np.moveaxis(means[series], 0, -1), symmetric_part(V_bar)))

        return self._added(of_group, wanted, covariances)

    def _added(
        self, pulled: Callable[..., Any], wanted: tuple[bool, ...], *of_groups: Any
    ) -> tuple[Any, ...]:
        """The cotangents that the sweeps over groups give, in the shapes of the arrays.

        ``pulled`` gets the series and the sweep of each group, and what it has of other arrays.
        """
        groups = [series for series, _ in self.plan.groups]
        found = self._each(
            lambda item: pulled(*item), list(zip(groups, self.sweeps, *of_groups, strict=True))
        )
        dtype = self.arrays[0].dtype
        result = [
            np.zeros(x.shape, dtype) if want and x is not None else None
            for x, want in zip(self.arrays, wanted, strict=True)
        ]
        for (series, _), parts in zip(self.plan.groups, found, strict=True):
            for place, (total, part) in enumerate(zip(result, parts, strict=True)):
                if total is not None:
                    _add(total, part, place, series)
        return tuple(result)

    def _sweep(self, item: Any) -> Any:
        (series, observed), begun = item
        plan = self.plan
        arrays = _kernel_arrays(self.arrays, series, plan)
        with naming(plan.name, series):
            if not plan.diffuse:
                y, A, B, Q, R, m, P, c = arrays
                options = observed, plan.independent, plan.tolerance
                return Sweep(y, A, B, Q, R, m, P, c, *options, block=plan.block, whole=plan.whole)
            head = plan.steps_to_collapse(series, len(arrays[0]))
            if begun is None or sum(len(part.quad) for part in begun) != head:
                return DiffuseSweep(arrays, observed, plan, head)
            return DiffuseSweep(arrays, observed, plan, head, (begun, plan.shift[series].T))

    def _each(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        (S, T, p), n = self.arrays[0].shape, self.arrays[1].shape[-1]
        together = S / max(len(items), 1)
        work = 2.0 * T * (n * n * (n + p) + (n * n + 2 * n * p) * together)
        alone = len(items) < 2 or work < WORTH_A_THREAD or n >= LARGE
        threads = 1 if alone else min(available(), len(items))
        if threads < 2:
            return [function(item) for item in items]
        pool = ThreadPoolExecutor(threads)
        try:
            return list(pool.map(function, items))
        finally:
            pool.shutdown(cancel_futures=True)


def _kernel_arrays(arrays: tuple[Any, ...], series: Any, plan: Plan) -> tuple[Any, ...]:
    """The arrays of the kernel's `Sweep` for series that share parameters: series in the last axis.

    With diffuse states c has a column for each series, and m starts at the plan's shift.
    """
    y, *_, m, _, c = arrays
    A, B, Q, R, P = shared_parameters(arrays, series)
    k = len(series)
    everyone = k == y.shape[0]
    y, m, c = (x if x is None or everyone or x.shape[0] == 1 else x[series] for x in (y, m, c))
    m = m if len(m) == k else np.broadcast_to(m, (k, m.shape[1]))
    if plan.diffuse and c is not None:
        c = np.broadcast_to(c, (k, *c.shape[1:]))
    if plan.shift is not None:
        m = m.copy()
        m[:, plan.diffuse] += plan.shift[series]
    return (
        np.ascontiguousarray(y.transpose(1, 2, 0)),
        *map(np.ascontiguousarray, (A, B, Q, R[:, 0] if plan.independent else R, m.T, P)),
        None if c is None else np.ascontiguousarray(c.transpose(1, 2, 0)),
    )


def with_collapse(arrays: tuple[Any, ...], plan: Plan) -> Plan:
    """The plan with the steps after which the filters collapse, and the shift of the diffuse states.

    All series with the same missing values collapse at the same step.  The shift is near what the data up to
    there say of the states, so that large numbers do not cancel.  No result depends on either: they are
    constants.
    """
    S, T, _ = arrays[0].shape
    steps, shift = np.zeros(S, int), np.zeros((S, len(plan.diffuse)), arrays[0].dtype)
    with_pattern: dict[int, list[Any]] = {}
    begun: list[Any] = []
    for series, observed in plan.groups:
        with naming(plan.name, series):
            found = collapse_after(_kernel_arrays(arrays, series, plan), observed, plan)
        if found is None:
            raise never_determined(plan.name, series, len(plan.diffuse))
        steps[series], shift[series], first = found
        begun.append(first)
        with_pattern.setdefault(id(observed), []).append(series)
    for parts in with_pattern.values():
        if len(parts) > 1:
            series = np.concatenate(parts)
            steps[series] = steps[series].max()
    settled = bool((steps < T).all())
    return plan._replace(
        collapse=steps, shift=shift, settled=settled, begun=None if plan.whole else tuple(begun)
    )


def shared_parameters(arrays: tuple[Any, ...], series: Any) -> tuple[Any, ...]:
    """transition, design, state_cov, obs_cov (1 or T, ...), initial_state_cov that series share."""
    _, A, B, Q, R, _, P, _ = arrays
    return tuple(x[0] if x.shape[0] == 1 else x[series[0]] for x in (A, B, Q, R, P))


@contextmanager
def naming(name: str, series: Any) -> Iterator[None]:
    """Errors of a sweep over these series name the public function and the series."""
    try:
        yield
    except (np.linalg.LinAlgError, OverflowError) as error:
        column = min(getattr(error, "series", 0), len(series) - 1)  # of a diffuse state: the last series
        which = f" (series {series[column]})" if len(series) else ""
        raise type(error)(f"{name}{which}: {error}") from None


def _add(total: Any, part: Any, place: int, series: Any) -> None:
    """Add what the sweep over `series` gives for the array at `place` of the arguments."""
    k = len(series)
    if place in (0, 5, 7):  # data, start, intercept: series in the last axis, after them the diffuse states
        if total.shape[0] != 1 or k == 1:
            rows = np.moveaxis(part[..., :k], -1, 0)
            total[series if total.shape[0] != 1 else slice(None)] += rows
        else:
            total[0] += part[..., :k].sum(axis=-1)
    else:
        total[0 if total.shape[0] == 1 else series[0]] += part.reshape(total.shape[1:])
