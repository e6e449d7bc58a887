"""The compiled filter as an operation with derivatives to second order.

``filter_sums`` is the forward sweep over series that share parameters and gaps.  Its pullback,
``filter_gradient``, is the sweep backward, and an operation of its own: that gives second derivatives.  Both
are analytic, so a tangent is the imaginary part of the same sweep at ``x + i h x_dot``, exact to rounding
(Squire & Trapp 1998, "Using complex variables to estimate derivatives of real functions").  The Hessian is
symmetric: the same serves the pullback of the gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.linalg._backend import kernels

__all__ = ["STEP", "filter_sums", "sweep_of"]

# The h of the tangents: h² vanishes beside 1 in double precision, in which all are computed.
STEP = 1e-30


class Options(NamedTuple):
    """What of a sweep is no array to differentiate.

    observed (T, p) of bool, or None if everything is; independent: obs_cov is a row of variances; tolerance
    of the steady state; mixed: how many series, the last ones, have products with all; block: of how many
    steps all is kept, 0 for all of them; name: the public function that errors speak of, series: the places
    of the series.
    """

    observed: Any
    independent: bool
    tolerance: float
    mixed: int
    block: int
    name: str
    series: Any


def sweep_of(arrays: tuple[Any, ...], options: Options) -> Any:
    """The kernel's sweep over plain arrays: y (s, T, p), the system's matrices (1, T or 1, ...), its start
    (s, n) and (1, n, n), its intercept (s or 1, T or 1, n) or None.
    """
    y, A, B, Q, R, m, P, c = arrays
    R = R[0, :, 0] if options.independent else R[0]
    try:
        return kernels(y).Sweep(
            *(_contiguous(x) for x in (np.transpose(y, (1, 2, 0)), A[0], B[0], Q[0], R, m.T, P[0])),
            None if c is None else _contiguous(np.transpose(c, (1, 2, 0))),
            options.observed,
            options.independent,
            options.tolerance,
            options.mixed,
            options.block,
        )
    except (np.linalg.LinAlgError, OverflowError) as error:
        which = f" (series {options.series[0]})" if len(options.series) else ""
        raise type(error)(f"{options.name}{which}: {error}") from None


def _contiguous(x: Any) -> Any:
    return np.ascontiguousarray(x)


def _pulled(sweep: Any, bars: tuple[Any, ...], wanted: tuple[bool, ...], independent: bool) -> Any:
    """The wanted cotangents in the shapes of the arguments, without the others."""
    found = sweep.pull(*bars, wanted)
    y, A, B, Q, R, m, P, c = found
    R = R if R is None or not independent else R[..., None, :]
    placed = (
        None if y is None else np.transpose(y, (2, 0, 1)),
        *(None if x is None else (x if x.ndim == 3 else x[None])[None] for x in (A, B, Q)),
        None if R is None else (R if R.ndim == 3 else R[None])[None],
        None if m is None else m.T,
        None if P is None else P[None],
        None if c is None else np.transpose(c, (2, 0, 1)),
    )
    return tuple(x for x in placed if x is not None)


def _is_plain(*arrays: Any) -> bool:
    return not any(type(x) is Variable for x in arrays)


def _complex(x: Any, x_dot: Any) -> Any:
    if x is None:
        return None
    result = np.array(x, dtype=np.complex128)
    if x_dot is not None:
        result.imag = STEP * x_dot
    return result


def _tangent(x: Any, like: Any) -> Any:
    return (x.imag / STEP).astype(like.dtype)


def _refuse_third(name: str, *arrays: Any) -> None:
    if not _is_plain(*arrays):
        raise TypeError(
            f"{name} has compiled derivatives up to the second order; for higher ones write "
            f'{name}(..., method="composed")'
        )


@rule
def filter_sums(y: Any, A: Any, B: Any, Q: Any, R: Any, m: Any, P: Any, c: Any, *, options: Options) -> Any:
    """``Σ_t vᵢᵀ S⁻¹ vᵢ`` (s,) of every series, ``Σ_t vᵢᵀ S⁻¹ vⱼ`` (s, mixed), and ``Σ_t log |S|``."""
    arrays = y, A, B, Q, R, m, P, c
    sweep = None
    if _is_plain(*arrays):
        sweep = sweep_of(arrays, options)
        sums = _sums(sweep)
    else:
        sums = filter_sums(*arrays, options=options)

    def pushforward(*arrays_dot: Any) -> Any:
        _refuse_third(options.name, *arrays, *arrays_dot)
        moved = sweep_of(tuple(map(_complex, arrays, arrays_dot)), options)
        return tuple(map(_tangent, _sums(moved), sums))

    def pullback(bars: Any, active: tuple[int, ...]) -> Any:
        wanted = tuple(i in active for i in range(8))
        found = iter(filter_gradient(*bars, *arrays, wanted=wanted, options=options, sweep=sweep))
        return tuple(next(found) if want else None for want in wanted)

    return sums, Differential(pushforward, pullback, selective=True)


def _sums(sweep: Any) -> tuple[Any, Any, Any]:
    return sweep.quad.sum(axis=0), sweep.gram, sweep.logdet.sum()


@rule
def filter_gradient(
    quad_bar: Any,
    gram_bar: Any,
    logdet_bar: Any,
    y: Any,
    A: Any,
    B: Any,
    Q: Any,
    R: Any,
    m: Any,
    P: Any,
    c: Any,
    *,
    wanted: tuple[bool, ...],
    options: Options,
    sweep: Any = None,
) -> Any:
    """The pullback of ``filter_sums``, of the wanted arguments alone; `sweep`: that of the same arrays."""
    bars, arrays = (quad_bar, gram_bar, logdet_bar), (y, A, B, Q, R, m, P, c)
    if _is_plain(*bars, *arrays):
        sweep = sweep_of(arrays, options) if sweep is None else sweep
        gradient = _pulled(sweep, bars, wanted, options.independent)
    else:
        gradient = filter_gradient(*bars, *arrays, wanted=wanted, options=options, sweep=sweep)

    def moved(arrays_dot: Any) -> Any:
        _refuse_third(options.name, *bars, *arrays, *arrays_dot)
        return sweep_of(tuple(map(_complex, arrays, arrays_dot)), options)

    def pushforward(*dots: Any) -> Any:
        _refuse_third(options.name, *dots)
        complex_bars = tuple(map(_complex, bars, dots[:3]))
        found = _pulled(moved(dots[3:]), complex_bars, wanted, options.independent)
        return tuple(map(_tangent, found, gradient))

    def pullback(gradient_bar: Any, active: tuple[int, ...]) -> Any:
        given = iter(gradient_bar)
        direction = moved(tuple(next(given) if want else None for want in wanted))
        of_bars = tuple(map(_tangent, _sums(direction), bars))
        second = tuple(i + 3 in active for i in range(8))
        found = iter(_pulled(direction, bars, second, options.independent)) if any(second) else iter(())
        of_arrays = (
            _tangent(next(found), x) if want else None for x, want in zip(arrays, second, strict=True)
        )
        return *of_bars, *of_arrays

    return gradient, Differential(pushforward, pullback, selective=True)
