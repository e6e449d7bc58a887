"""The log likelihood of one series of a model that is constant in time and has a known start.

It is what `likelihood` computes, as one operation, without what only other models need: a call costs a few
dozen microseconds before its first step, and its gradient as many more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.kernels.conditions import has_nan
from lindiff.kernels.kalman import Collapse, Sweep
from lindiff.linalg._matrices import hermitian_part
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.statespace.sweep.any_order import in_place, pushed
from lindiff.statespace.sweep.derivatives import (
    complex_step,
    filter_gradient,
    filter_sums,
    is_plain,
    moved_by,
    wanted_of,
)
from lindiff.statespace.sweep.parts import Parts
from lindiff.statespace.sweep.plan import Plan
from lindiff.statespace.sweep.series import Sweeps, naming

__all__ = ["ordinary_loglikelihood"]

# Places of state_cov, obs_cov and initial_state_cov, whose gradients are symmetric.
COVARIANCES = 3, 4, 6

NOT_DIFFUSE = np.empty(0, np.intp)  # places


class _Options(NamedTuple):
    """How it is swept: see `Plan`."""

    name: str
    tolerance: float
    block: int
    parts: Parts
    whole: bool


def ordinary_loglikelihood(
    arrays: tuple[Any, ...], name: str, tolerance: float, block: int, parts: Parts
) -> Any:
    """The log likelihood, a number, of y, transition, design, ..., initial_state_cov, some of them Variables.

    Parameters
    ----------
    arrays : tuple of 7
        In order by `model_in_order`, or Variables of such.
    name : str
        The public function that errors speak of.
    tolerance, block, parts
        Those of `Plan`.
    """
    if is_plain(*arrays):
        return _run(arrays, _Options(name, tolerance, block, parts, whole=False))[1]
    return _loglikelihood(*arrays, options=_Options(name, tolerance, block, parts, whole=True))


@rule
def _loglikelihood(y: Any, A: Any, B: Any, Q: Any, R: Any, m: Any, P: Any, *, options: _Options) -> Any:
    arrays = y, A, B, Q, R, m, P
    sweep = None
    if is_plain(*arrays):
        sweep, result = _run(arrays, options)
    else:
        result = _loglikelihood(*arrays, options=options)

    def pushforward(*dots: Any) -> Any:
        if not is_plain(*arrays, *dots):
            return pushed(lambda *arrays: _by_sums(arrays, options), arrays, dots)
        h = complex_step(arrays, dots)
        moved = _swept(moved_by(arrays, dots, h), options._replace(whole=False), _observed(y))
        return -0.5 * (moved.quad.sum() + moved.logdet.sum()).imag / h

    def pullback(bar: Any, active: tuple[int, ...]) -> Any:
        wanted = wanted_of(active, options.parts)
        if sweep is not None and is_plain(bar):
            half = -0.5 * bar
            if isinstance(sweep, Collapse):
                found = sweep.pull(float(bar), wanted[:7])
            else:
                found = sweep.pull(np.full(1, half), np.empty((1, 0)), half, wanted)[0]
        else:
            found = _gradient(bar, arrays, wanted, options)
        return tuple(_as_given(i, found[i], arrays[i]) if wanted[i] else None for i in range(7))

    return result, Differential(pushforward, pullback, selective=True)


def _run(arrays: tuple[Any, ...], options: _Options) -> tuple[Any, Any]:
    """The filter run over plain, real arrays, and the likelihood."""
    y, A, B, Q, R, m, P = arrays
    observed = _observed(y)
    if not options.block:
        independent = len(B) == 1
        found = Collapse(
            y, A, B, Q, R, m, P, NOT_DIFFUSE, observed, independent, options.tolerance, options.whole
        )
        if found.value is not None:
            count = y.size if observed is None else np.count_nonzero(observed)
            return found, np.float64(found.value - 0.5 * LOG_TWO_PI * count)
    sweep = _swept(arrays, options, observed)  # raises the error, where there is one
    return sweep, _density(sweep, y)


def _swept(arrays: tuple[Any, ...], options: _Options, observed: Any) -> Sweep:
    """The filter run over plain arrays, which may be complex."""
    y, A, B, Q, R, m, P = arrays
    (p, n), T = B.shape, len(y)
    with naming(options.name, (0,)):
        return Sweep(
            y.reshape(T, p, 1),
            A,
            B,
            Q,
            R.reshape(1) if p == 1 else R,
            m.reshape(n, 1),
            P,
            None,
            None if observed is None else observed.reshape(T, p),
            p == 1,
            options.tolerance,
            block=options.block,
            whole=options.whole,
        )


def _observed(y: Any) -> Any:
    return ~np.isnan(y) if has_nan(y) else None


def _density(sweep: Sweep, y: Any) -> Any:
    count = np.count_nonzero(~np.isnan(y)) if has_nan(y) else y.size
    return -0.5 * (sweep.quad.sum() + (sweep.logdet.sum() + LOG_TWO_PI * count))


# -- derivatives of second and higher order ----------------------------------------------------------------


def _by_sums(arrays: tuple[Any, ...], options: _Options) -> Any:
    """The likelihood but for its constant, in operations that have derivatives of any order."""
    quad, _, _, logdet = filter_sums(*_with_axes(arrays), plan=_plan(arrays, options))
    return -0.5 * (quad + logdet)[0]


def _gradient(
    bar: Any, arrays: tuple[Any, ...], wanted: tuple[bool, ...], options: _Options
) -> tuple[Any, ...]:
    """The cotangents as operations: those of the wanted arrays, None for others."""
    half = -0.5 * np.reshape(bar, (1,))
    bars = half, np.zeros((1, 0)), np.zeros((1, 0, 0)), half
    found = filter_gradient(*bars, *_with_axes(arrays), wanted=wanted, plan=_plan(arrays, options))
    return in_place(found, wanted)


def _plan(arrays: tuple[Any, ...], options: _Options) -> Plan:
    y, B = value(arrays[0]), arrays[2]
    observed = _observed(y)
    groups = ((np.arange(1), None if observed is None else observed.reshape(len(y), len(B))),)
    independent = len(B) == 1
    return Plan(groups, independent, options.tolerance, options.block, options.name, kind=Sweeps)


def _with_axes(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arrays as `Sweeps` takes them, with axes of series and time."""
    y, A, B, Q, R, m, P = arrays
    (p, n), T = B.shape, len(y)
    Q, R, P = (hermitian_part(X) if len(X) > 1 else X for X in (Q, R, P))
    shapes = (1, T, p), (1, 1, n, n), (1, 1, p, n), (1, 1, n, n), (1, 1, p, p), (1, n), (1, n, n)
    return *(x.reshape(shape) for x, shape in zip((y, A, B, Q, R, m, P), shapes, strict=True)), None


def _as_given(place: int, bar: Any, x: Any) -> Any:
    """A cotangent in the shape of the array that it is of; that of a covariance is symmetric."""
    bar = bar.reshape(x.shape)
    return hermitian_part(bar) if place in COVARIANCES and len(x) > 1 else bar
