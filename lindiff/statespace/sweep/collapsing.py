"""The compiled sweep from diffuse states: the augmented filter, collapsed where the data determine them.

For the first steps the filter runs, beside the data of k series, on zero data from the unit vectors of the d
diffuse states; `lindiff.statespace.diffuse` has the formulas.  From the sums s and C over these steps, with
``δ = -C⁻¹ sᵀ``, the proper filter goes on from

    a = m + M δ,     P⁺ = P + M C⁻¹ Mᵀ.

The sums of vᵀ S⁻¹ v and of log |S| go on over all steps; with s and C of the first ones they make the same
likelihood, whatever their number.

Backward, from ā and P̄⁺ of the proper filter, r and N at its start:

    s̄ -= āᵀ M C⁻¹,     C̄ -= C⁻¹ Mᵀ ā δᵀ (its symmetric part) + C⁻¹ Mᵀ P̄⁺ M C⁻¹,
    m̄ = ā,     P̄ = P̄⁺,     M̄ = ā δᵀ + 2 P̄⁺ M C⁻¹.

The sweep backward over the first steps takes r and N at their end: r of the data and N as they are, r = 0 of
the unit vectors.  What M̄ has beyond these are r of d more columns, of zero data from zero, in products with
the unit vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.kernels.kalman import Sweep
from lindiff.kernels.matmul import product
from lindiff.linalg._matrices import transposed
from lindiff.statespace.diffuse import determined, well_determined
from lindiff.statespace.sweep.backward import restore
from lindiff.statespace.sweep.plan import Plan

__all__ = ["DiffuseSweep", "collapse_after"]

# The places of m and P, and of y and c, among y, A, B, Q, R, m, P, c.
START = 5, 6
OF_SERIES = 0, 7


class DiffuseSweep:
    """The filter run from diffuse states over k series that share parameters and gaps.

    Parameters
    ----------
    arrays : tuple
        y, A, B, Q, R, m, P, c of `Sweep`, all of one dtype, with an axis of time, of length 1 where constant;
        m has the diffuse states near where they are expected, and c a column for each series.
    observed : (T, p) array of bool, optional
        None: everywhere.
    plan : Plan
        Its places of diffuse states, d of them, and what it says of each sweep.
    head : int
        After how many steps the filter collapses; as many as there are: never.
    begun : tuple of (list of Sweep, (d, k) array), optional
        What `collapse_after` has run of these steps, and how far the diffuse states of m are from there.

    Attributes
    ----------
    quad, cross, info, logdet : (k,), (k, d), (d, d) array, number
        Sums of vᵀ S⁻¹ v and log |S| over all steps, s and C over those before the collapse.
    first, then : Sweep
        Those over the steps before and after it; `then` is None, if the filter does not collapse, `first` if
        it was begun.
    """

    def __init__(
        self,
        arrays: tuple[Any, ...],
        observed: Any,
        plan: Plan,
        head: int,
        begun: tuple[list[Sweep], Any] | None = None,
    ) -> None:
        (steps, _, k), d = arrays[0].shape, len(plan.diffuse)
        self.given = arrays, observed, plan, head
        self.data, self.units = slice(k), slice(k, k + d)
        self.is_timed = _is_timed(arrays)
        self.first: Any = None
        self.then: Any = None
        self.quad: Any = None
        self.logdet: Any = None
        if begun is None:
            m, P = self._run_first()
        else:
            m, P = self._go_on(*begun)
        if head == steps:
            return
        given = arrays, self.is_timed, observed, plan
        M = m[:, self.units]
        solved = np.linalg.solve(self.info, np.concatenate([self.cross, M]).T)
        self.delta, self.gain = -solved[:, self.data], solved[:, k:]  # C⁻¹ Mᵀ
        moved = product(M, self.gain)
        m, self.start_cov = m[:, self.data] + product(M, self.delta), P + 0.5 * (moved + moved.T)
        self.then = _sweep(
            *given, slice(head, None), m, self.start_cov, origin=head, block=plan.block, whole=plan.whole
        )
        self.quad = self.quad + self.then.quad.sum(axis=0)
        self.logdet = self.logdet + self.then.logdet.sum()

    def augmented(self) -> Sweep:
        """The filter over all steps with the unit vectors beside the data, not collapsed."""
        arrays, observed, plan, _ = self.given
        if self.then is None and self.first is not None:
            return self.first
        d = len(plan.diffuse)
        m = _with_units(arrays[5], plan.diffuse, d)
        return _sweep(arrays, self.is_timed, observed, plan, slice(None), m, arrays[6], d)

    def _run_first(self) -> Any:
        """The sums of the steps before the collapse; the moments after them."""
        arrays, observed, plan, head = self.given
        steps, d = len(arrays[0]), len(plan.diffuse)
        more = d if head == steps else 2 * d
        m, P = _with_units(arrays[5], plan.diffuse, more), arrays[6]
        given = arrays, self.is_timed, observed, plan
        self.first = _sweep(
            *given, slice(head), m, P, more, predicts=head < steps, block=plan.block, whole=plan.whole
        )
        self.cross, self.info = self.first.gram[self.data, :d], self.first.gram[self.units, :d]
        self.quad, self.logdet = self.first.quad[:, self.data].sum(axis=0), self.first.logdet.sum()
        return self.first.after if head < steps else (m, P)

    def _go_on(self, begun: list[Sweep], delta: Any) -> Any:
        """The same from sweeps over these steps from diffuse states that are `delta` away."""
        m, P = begun[-1].after
        self.info = sum(sweep.gram[self.units] for sweep in begun)
        self.cross = sum(sweep.gram[self.data] for sweep in begun) + product(delta.T, self.info)
        self.quad = sum(sweep.squares_from(delta) for sweep in begun)
        self.logdet = sum(sweep.logdet.sum() for sweep in begun)
        m = m.copy()
        m[:, self.data] += product(m[:, self.units], delta)
        return m, P

    def pull(
        self, quad_bar: Any, cross_bar: Any, info_bar: Any, logdet_bar: Any, wanted: tuple[bool, ...]
    ) -> tuple[Any, ...]:
        """Cotangents of the wanted arrays from those of the sums; None for the others.

        In the shapes of the arrays; those of y, m and c may have further columns.
        """
        if self.first is None:
            return DiffuseSweep(*self.given).pull(quad_bar, cross_bar, info_bar, logdet_bar, wanted)
        if self.then is None:
            return self._pull_first(quad_bar, cross_bar, info_bar, logdet_bar, wanted)
        of_covariances = any(wanted[1:5]) or wanted[6]
        nothing = np.empty((len(quad_bar), 0))
        of_start = True, of_covariances
        later, (r, N) = self.then.pull(quad_bar, nothing, logdet_bar, (*wanted[:5], *of_start, wanted[7]))
        m_bar, P_bar = later[5:7]
        through = product(self.gain, m_bar)
        cross_bar, beyond = cross_bar - through.T, 0
        if of_covariances:  # nothing else depends on it
            onto = product(P_bar, self.gain.T)
            info_bar = info_bar - product(through, self.delta.T) - product(self.gain, onto)
            beyond = product(m_bar, self.delta.T) + 2 * onto + product(r, cross_bar)
        after = self._after(r, beyond), N
        first = self._pull_first(quad_bar, cross_bar, info_bar, logdet_bar, wanted, after)
        return tuple(self._joined(*parts) for parts in zip(range(len(first)), first, later, strict=True))

    def _pull_first(
        self, quad_bar: Any, cross_bar: Any, info_bar: Any, logdet_bar: Any, wanted: Any, after: Any = None
    ) -> tuple[Any, ...]:
        """What the steps before the collapse give."""
        d, gram = len(info_bar), self.first.gram
        gram_bar = np.zeros(gram.shape, gram.dtype)
        gram_bar[self.data, :d], gram_bar[self.units, :d] = cross_bar, info_bar
        if after is not None:
            gram_bar[self.units, d:] = -np.eye(d)
        own = np.concatenate([quad_bar, np.zeros(gram.shape[1])])
        return self.first.pull(own, gram_bar, logdet_bar, wanted, after)[0]

    def _after(self, r: Any, beyond: Any) -> Any:
        """r of all columns at the collapse: that of the data, none of the units, what goes with these."""
        d = len(self.info)
        result = _with_zeros(r, 2 * d)
        result[:, -d:] = beyond
        return result

    def _joined(self, place: int, first: Any, later: Any) -> Any:
        """The cotangent of an argument from those of both parts."""
        if first is None or place in START:
            return first
        if place in OF_SERIES:
            first = first[..., self.data]
        return np.concatenate([first, later]) if self.is_timed[place] else first + later

    def smooth(self) -> tuple[Any, Any]:
        """The smoothed means (T, n, k) and covariances (T, n, n)."""
        cov = np.linalg.inv(self.info)
        if self.then is None:
            M, V, _ = self.first.smooth()
            states, units = M[..., self.data], M[..., self.units]
            V = V + product(units, cov, transposed(units))
            self._restore(V, None, product(units[-1], cov), cov)
            return states - product(units, product(cov, self.cross.T)), V
        later, later_cov, (r, N) = self.then.smooth()
        head = self.given[-1]
        timed = zip(self.given[0][1:4:2], self.is_timed[1:4:2], strict=True)
        restore(later_cov, self.then.filtered_covariances(), *(x[head:] if cut else x for x, cut in timed))
        cov = cov - product(self.gain, N, self.gain.T)
        M, V, _ = self.first.smooth((self._after(r, product(-N, self.gain.T)), N))
        states, units, others = M[..., self.data], M[..., self.units], M[..., self.units.stop :]
        crossed = product(others, transposed(units))
        states = states + product(units, self.delta + product(self.gain, r))
        V = V + product(units, cov, transposed(units)) + crossed + transposed(crossed)
        self._restore(V, later_cov[0], self.gain.T - product(self.start_cov, product(N, self.gain.T)), cov)
        return np.concatenate([states, later]), np.concatenate([V, later_cov])

    def _restore(self, V: Any, after: Any, X: Any, cov: Any) -> None:
        """The digits of the smoothed covariances before the collapse."""
        arrays, M_f = self.given[0], self.first.means[..., self.units]
        restore(V, self.first.filtered_covariances(), arrays[1], arrays[3], after, M_f, X, cov)


def collapse_after(arrays: tuple[Any, ...], observed: Any, plan: Plan) -> tuple[int, Any, list[Sweep]] | None:
    """After how many steps the filter is to collapse, and where the data put the diffuse states by then.

    Parameters
    ----------
    arrays, observed, plan
        Those of `DiffuseSweep`.

    Returns
    -------
    steps : int
        The number of steps whose data determine the diffuse states well: the covariance P⁺ that the proper
        filter starts with is not so much larger than P that it loses digits.  All steps, if there is no such
        number, but the data determine the states.
    shift : (k, d) array
        Where these data put the states.
    begun : list of Sweep
        The filter over these steps, in parts.

    None if the data never determine them.
    """
    (T, p, k), d = arrays[0].shape, len(plan.diffuse)
    least = well_determined(arrays[6].dtype)
    variances = arrays[6].diagonal()[list(plan.diffuse)]
    given = arrays, _is_timed(arrays), observed, plan
    state = _with_units(arrays[5], plan.diffuse, d), arrays[6]
    gram = np.zeros((k + d, d), arrays[0].dtype)
    begun: list[Sweep] = []
    begin = 0
    if observed is None:
        steps = -(-d // max(p, 1))
    else:
        steps = int(np.searchsorted(np.cumsum(observed.sum(axis=1)), d)) + 1
    while True:
        steps = min(steps, T)
        part = slice(begin, steps)
        begun.append(_sweep(*given, part, *state, d, predicts=True, origin=begin, whole=False))
        state = begun[-1].after
        gram = gram + begun[-1].gram
        s, C, M, P = gram[:k], gram[k:], state[0][:, k:], state[1]
        if determined(C, variances, least if steps < T else 0.0):
            solved = np.linalg.solve(C, np.concatenate([s, M]).T)
            more = np.sum(M * solved[:, k:].T, axis=1)
            if steps == T or (least * more <= P.diagonal()).all():
                return steps, -solved[:, :k].T, begun
        if steps == T:
            return None
        begin, steps = steps, steps + max(steps // 2, d)


def _is_timed(arrays: tuple[Any, ...]) -> tuple[bool, ...]:
    """Which of y, A, B, Q, R, m, P, c have an axis of all steps."""
    steps = len(arrays[0])
    return tuple(i not in START and x is not None and len(x) == steps for i, x in enumerate(arrays))


def _with_units(m: Any, diffuse: tuple[int, ...], more: int) -> Any:
    """m (n, k) with so many columns beside it, first the unit vectors of the diffuse states, then zeros."""
    k = m.shape[1]
    result = _with_zeros(m, more)
    result[diffuse, np.arange(k, k + len(diffuse))] = 1
    return result


def _sweep(
    arrays: tuple[Any, ...],
    timed: tuple[bool, ...],
    observed: Any,
    plan: Plan,
    steps: slice,
    m: Any,
    P: Any,
    more: int = 0,
    **options: Any,
) -> Sweep:
    """The filter over some steps from m and P, over so many columns of zero data beside the others."""
    y, A, B, Q, R, _, _, c = (x[steps] if cut else x for x, cut in zip(arrays, timed, strict=True))
    seen = None if observed is None else observed[steps]
    if more:
        y, c = _with_zeros(y, more), None if c is None else _with_zeros(c, more)
    return Sweep(y, A, B, Q, R, m, P, c, seen, plan.independent, plan.tolerance, mixed=more, **options)


def _with_zeros(x: Any, more: int) -> Any:
    """x (..., rows, k) with so many columns of zeros beside it."""
    k = x.shape[-1]
    result = np.zeros((*x.shape[:-1], k + more), x.dtype)
    result[..., :k] = x
    return result
