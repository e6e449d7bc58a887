"""The compiled filter as an operation with compiled derivatives to second order.

``filter_sums`` is the forward sweep.  Its pullback, ``filter_gradient``, is the sweep backward, and an
operation of its own: that gives second derivatives.  Both are analytic, so a tangent is the imaginary part of
the same sweep at ``x + i h x_dot``, exact to rounding (Squire & Trapp 1998, "Using complex variables to
estimate derivatives of real functions").  The Hessian is symmetric: the same serves the pullback of the
gradient.  Beyond that, and where forward mode is nested in forward mode, the composed sums take over.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.statespace.composed_sums import composed_gradient, composed_sums, pulled, pushed
from lindiff.statespace.sweeps import Plan, Sweeps

__all__ = ["filter_sums"]

# The h of the tangents: h² vanishes beside 1 in double precision, in which all are computed.
STEP = 1e-30
SUMS, ARRAYS = 4, 8


@rule
def filter_sums(y: Any, A: Any, B: Any, Q: Any, R: Any, m: Any, P: Any, c: Any, *, plan: Plan) -> Any:
    """The sums of :class:`Sweeps` over its arrays."""
    arrays = y, A, B, Q, R, m, P, c
    sweeps = None
    if _is_plain(*arrays):
        sweeps = Sweeps(arrays, plan)
        sums = sweeps.sums()
    else:
        sums = filter_sums(*arrays, plan=plan)

    def pushforward(*arrays_dot: Any) -> Any:
        if not _is_plain(*arrays, *arrays_dot):
            return pushed(partial(composed_sums, plan=plan), arrays, arrays_dot)
        return tuple(map(_tangent, _moved(plan, arrays, arrays_dot).sums(), sums))

    def pullback(bars: Any, active: tuple[int, ...]) -> Any:
        wanted = _wanted(active)
        found = iter(filter_gradient(*bars, *arrays, wanted=wanted, plan=plan, sweeps=sweeps))
        return tuple(next(found) if want else None for want in wanted)

    return sums, Differential(pushforward, pullback, selective=True)


@rule
def filter_gradient(*args: Any, wanted: tuple[bool, ...], plan: Plan, sweeps: Any = None) -> Any:
    """Cotangents of the wanted arrays from those of the sums, ``filter_gradient(*bars, *arrays)``; `sweeps`:
    those over these arrays.
    """
    bars, arrays = args[:SUMS], args[SUMS:]
    composed = partial(composed_gradient, wanted=wanted, plan=plan)
    if _is_plain(*args):
        gradient = _given((Sweeps(arrays, plan) if sweeps is None else sweeps).pull(bars, wanted))
    else:
        gradient = filter_gradient(*args, wanted=wanted, plan=plan, sweeps=sweeps)

    def pushforward(*dots: Any) -> Any:
        if not _is_plain(*args, *dots):
            return pushed(composed, args, dots)
        moved = _moved(plan, arrays, dots[SUMS:])
        found = _given(moved.pull(tuple(map(_complex, bars, dots[:SUMS])), wanted))
        return tuple(map(_tangent, found, gradient))

    def pullback(gradient_bar: Any, active: tuple[int, ...]) -> Any:
        if not _is_plain(*args, *gradient_bar):
            parts = iter(pulled(composed, args, gradient_bar, active))
            return tuple(next(parts) if i in active else None for i in range(len(args)))
        given = iter(gradient_bar)
        direction = tuple(next(given) if want else None for want in wanted)
        moved = _moved(plan, arrays, direction)
        of_bars = map(_tangent, moved.sums(), bars)
        second = _wanted(active, SUMS)
        found = moved.pull(bars, second) if any(second) else (None,) * ARRAYS
        of_arrays = (
            None if x_bar is None else _tangent(x_bar, x) for x, x_bar in zip(arrays, found, strict=True)
        )
        return *of_bars, *of_arrays

    return gradient, Differential(pushforward, pullback, selective=True)


def _wanted(active: tuple[int, ...], first: int = 0) -> tuple[bool, ...]:
    return tuple(i + first in active for i in range(ARRAYS))


def _given(found: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x for x in found if x is not None)


def _is_plain(*arrays: Any) -> bool:
    return not any(type(x) is Variable for x in arrays)


def _moved(plan: Plan, arrays: tuple[Any, ...], arrays_dot: tuple[Any, ...]) -> Sweeps:
    """The sweeps at ``arrays + i h arrays_dot``; None among tangents stands for zero."""
    return Sweeps(tuple(map(_complex, arrays, arrays_dot)), plan)


def _complex(x: Any, x_dot: Any) -> Any:
    if x is None:
        return None
    result = np.array(x, dtype=np.complex128)
    if x_dot is not None:
        result.imag = STEP * x_dot
    return result


def _tangent(x: Any, like: Any) -> Any:
    return (x.imag / STEP).astype(like.dtype)
