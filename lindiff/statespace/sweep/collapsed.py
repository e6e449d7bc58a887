"""The log likelihood of one series whose diffuse states are determined soon, as one operation.

It is what `likelihood` computes from sums, without what only other models need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.kernels.conditions import has_nan
from lindiff.kernels.kalman import Collapse, start_variances, with_variances
from lindiff.linalg._matrices import hermitian_part
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.statespace.model import System
from lindiff.statespace.sweep.any_order import pulled_in_place, pushed
from lindiff.statespace.sweep.derivatives import is_plain, wanted_of
from lindiff.statespace.sweep.parts import ALL, Parts

__all__ = ["collapsed_in_order", "collapsed_loglikelihood"]

FLOAT64 = np.dtype(np.float64)


class _Options(NamedTuple):
    """Of a system with one series: the places of the diffuse states, the tolerance of the steady state, the
    parts of the gradient that are needed, and the function that gives the likelihoods of a system in any
    case, with derivatives of any order."""

    places: Any
    tolerance: float
    parts: Parts
    general: Callable[[System], Any]

    def of_arrays(self, *arrays: Any) -> Any:
        """The likelihood (1,) of y, transition, ..., initial_state_cov, in any case."""
        y, A, B, Q, R, m, P = arrays
        y = y.reshape(1, len(y), B.shape[-2])
        A, B, Q, R = (x.reshape(1, -1, *x.shape[-2:]) for x in (A, B, Q, R))
        m, P = (x.reshape(1, *x.shape) for x in (m, P))
        diffuse = tuple(self.places.tolist())
        return self.general(System(y, A, B, Q, R, m, P, None, None, diffuse, many=False))


def collapsed_loglikelihood(
    system: System, tolerance: float, general: Callable[[System], Any], parts: Parts = ALL
) -> Any:
    """The log likelihood (1,) of arrays or Variables; None, if this is not for the system, or its data.

    `general` gives it in any case; `parts` are those of `Plan`.
    """
    plain = tuple(map(value, system[:7]))
    if (
        not system.diffuse
        or system.state_intercept is not None
        or system.obs_intercept is not None
        or any(type(x) is not np.ndarray or len(x) != 1 or x.dtype != FLOAT64 for x in plain)
    ):
        return None
    options = _Options(np.array(system.diffuse, np.intp), tolerance, parts, general)
    if system.is_plain:
        return _density(_swept(tuple(x[0] for x in plain), options, whole=False), plain[0])
    return _loglikelihood(*(x.reshape(x.shape[1:]) for x in system[:7]), options=options)


def collapsed_in_order(
    arrays: tuple[Any, ...], mask: Any, tolerance: float, general: Callable[[System], Any], parts: Parts
) -> Any:
    """The same, a number, from arrays without axes of series; the start is plain, where it is not diffuse.

    Parameters
    ----------
    arrays : tuple of 7
        y, transition, ..., initial_state_cov, in order by `in_order`.
    mask : (n,) array of bool
        Of the diffuse states.
    tolerance, general, parts
        Those of :func:`collapsed_loglikelihood`.
    """
    y, A, B, Q, R, m, P = arrays
    start = with_variances(m, P, mask, start_variances(value(A), value(B), value(Q), value(R), mask))
    options = _Options(mask.nonzero()[0], tolerance, parts, general)
    if is_plain(*arrays):
        found = _density(_swept((y, A, B, Q, R, *start), options, whole=False), y)
    else:
        Q, R = (X if X.shape[-1] == 1 else hermitian_part(X) for X in (Q, R))
        found = _loglikelihood(y, A, B, Q, R, *start, options=options)
    return None if found is None else found[0]


@rule
def _loglikelihood(y: Any, A: Any, B: Any, Q: Any, R: Any, m: Any, P: Any, *, options: _Options) -> Any:
    arrays = y, A, B, Q, R, m, P
    sweep = result = None
    if not is_plain(*arrays):
        result = _loglikelihood(*arrays, options=options)
    else:
        sweep = _swept(arrays, options, whole=True)
        result = _density(sweep, y)
        if result is None:
            sweep, result = None, options.of_arrays(*arrays)

    def pushforward(*dots: Any) -> Any:
        return pushed(options.of_arrays, arrays, dots)

    def pullback(bar: Any, active: tuple[int, ...]) -> Any:
        if sweep is not None and is_plain(bar):
            bars = sweep.pull(float(bar[0]), wanted_of(active, options.parts)[:7])
            return tuple(None if x is None else x.reshape(z.shape) for x, z in zip(bars, arrays, strict=True))
        return pulled_in_place(options.of_arrays, arrays, bar, active)

    return result, Differential(pushforward, pullback, selective=True)


def _swept(arrays: tuple[Any, ...], options: _Options, whole: bool) -> Collapse:
    """The filter run over plain arrays."""
    y, A, B, Q, R, m, P = map(np.ascontiguousarray, arrays)
    y = y.reshape(len(y), B.shape[-2])
    observed = ~np.isnan(y) if has_nan(y) else None
    independent = R.shape[-2] == 1
    return Collapse(y, A, B, Q, R, m, P, options.places, observed, independent, options.tolerance, whole)


def _density(sweep: Collapse, y: Any) -> Any:
    if sweep.value is None:
        return None
    count = np.count_nonzero(~np.isnan(y)) if has_nan(y) else y.size
    return np.array([sweep.value - 0.5 * LOG_TWO_PI * count])
