"""The compiled sweep as an operation with compiled derivatives to second order.

``filter_sums`` is the sweep forward, ``filter_terms`` are its terms step by step.  The pullback of both,
``filter_gradient``, is the sweep backward, and an operation of its own: that gives second derivatives.  Both
are analytic, so a tangent is the imaginary part of the same sweep at ``x + i h x_dot``, exact to rounding
(Squire & Trapp 1998, "Using complex variables to estimate derivatives of real functions").  The pullback of
the gradient is such a tangent, too, because the Hessian is symmetric.  Beyond that, and where forward mode is
nested in forward mode, `any_order` takes over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.statespace.sweep.any_order import (
    composed_gradient,
    composed_sums,
    composed_terms,
    in_place,
    pulled_in_place,
    pushed,
)
from lindiff.statespace.sweep.parts import Parts
from lindiff.statespace.sweep.plan import Plan
from lindiff.statespace.sweep.planning import sweeps_for

__all__ = [
    "Quantities",
    "complex_step",
    "filter_gradient",
    "filter_sums",
    "filter_terms",
    "is_plain",
    "moved_by",
    "swept",
    "wanted_of",
]

# h x_dot is so small beside x that its square vanishes in double precision, in which tangents are computed.
STEP = 1e-20
FARTHEST = 1e60  # by which that may be smaller than for the largest numbers
ARRAYS = 8  # of a system,
TRANSITION, STATE_COV = 1, 3  # among these


class Quantities(NamedTuple):
    """What is differentiated of a sweep: how it is given and pulled, and the same composed.

    Attributes
    ----------
    whole : bool
        Whether it is given from what the way back needs, so that a sweep keeps that.
    """

    values: Callable[[Any], tuple[Any, ...]]
    pull: Callable[[Any, tuple[Any, ...], tuple[bool, ...]], tuple[Any, ...]]
    composed: Callable[..., tuple[Any, ...]]
    whole: bool = False


_SUMS = Quantities(
    lambda sweeps: sweeps.sums(), lambda sweeps, bars, wanted: sweeps.pull(bars, wanted), composed_sums
)
_TERMS = Quantities(
    lambda sweeps: (sweeps.terms(),),
    lambda sweeps, bars, wanted: sweeps.pull_terms(*bars, wanted),
    composed_terms,
)


def filter_sums(*arrays: Any, plan: Plan) -> Any:
    """The sums over steps of a sweep over y, transition, ..., state_intercept: see `Sweeps.sums`."""
    return swept(*arrays, plan=plan, of=_SUMS)


def filter_terms(*arrays: Any, plan: Plan) -> Any:
    """The terms of a sweep without diffuse states, step by step: see `Sweeps.terms`."""
    return swept(*arrays, plan=plan, of=_TERMS)[0]


@rule
def swept(
    y: Any, A: Any, B: Any, Q: Any, R: Any, m: Any, P: Any, c: Any, *, plan: Plan, of: Quantities
) -> Any:
    """What is wanted of a sweep, a tuple, with derivatives."""
    arrays = y, A, B, Q, R, m, P, c
    sweeps = None
    if is_plain(*arrays):
        sweeps = plan.kind(arrays, plan)
        found = of.values(sweeps)
    else:
        found = swept(*arrays, plan=plan, of=of)

    def pushforward(*arrays_dot: Any) -> Any:
        if not _has_complex_sweeps(plan, arrays, arrays_dot):
            return pushed(partial(of.composed, plan=plan), arrays, arrays_dot)
        h = complex_step(arrays, arrays_dot)
        return _tangents(of.values(_moved(plan._replace(whole=of.whole), arrays, arrays_dot, h)), found, h)

    def pullback(bars: Any, active: tuple[int, ...]) -> Any:
        if of is _TERMS and not hasattr(plan.kind, "pull_terms"):
            return pulled_in_place(partial(of.composed, plan=plan), arrays, bars, active)
        wanted = wanted_of(active, plan.parts)
        gradient = filter_gradient(*bars, *arrays, wanted=wanted, plan=plan, sweeps=sweeps, of=of)
        return in_place(gradient, wanted)

    return found, Differential(pushforward, pullback, selective=True)


@rule
def filter_gradient(
    *args: Any, wanted: tuple[bool, ...], plan: Plan, sweeps: Any = None, of: Quantities = _SUMS
) -> Any:
    """Cotangents of the wanted arrays from those of the sums: ``filter_gradient(*bars, *arrays)``.

    Parameters
    ----------
    *args
        The cotangents of the sums, or of the terms, then the eight arrays.
    wanted : tuple of bool
        Which arrays have a cotangent in the result; see `wanted_of`.
    plan : Plan
    sweeps : optional
        The sweeps over these arrays, if they have run.
    of
        Sums or terms.
    """
    bars, arrays = args[:-ARRAYS], args[-ARRAYS:]
    first = len(bars)
    composed = partial(composed_gradient, wanted=wanted, plan=plan, composed=of.composed)
    if is_plain(*args):
        gradient = _given(of.pull(plan.kind(arrays, plan) if sweeps is None else sweeps, bars, wanted))
    else:
        gradient = filter_gradient(*args, wanted=wanted, plan=plan, sweeps=sweeps, of=of)

    def pushforward(*dots: Any) -> Any:
        if not _has_complex_sweeps(plan, arrays, (*bars, *dots)):
            return pushed(composed, args, dots)
        h = complex_step(args, dots)
        moved = _moved(plan, arrays, dots[first:], h)
        complex_bars = tuple(_complex(bar, dot, h) for bar, dot in zip(bars, dots[:first], strict=True))
        return _tangents(_given(of.pull(moved, complex_bars, wanted)), gradient, h)

    def pullback(gradient_bar: Any, active: tuple[int, ...]) -> Any:
        if not _has_complex_sweeps(plan, arrays, (*bars, *gradient_bar)):
            return pulled_in_place(composed, args, tuple(gradient_bar), active)
        direction = in_place(gradient_bar, wanted)
        h = complex_step(arrays, direction)
        moved = _moved(plan, arrays, direction, h)
        second = tuple(i + first in active for i in range(ARRAYS))
        found = of.pull(moved, bars, second) if any(second) else (None,) * ARRAYS
        return *_tangents(of.values(moved), bars, h), *_tangents(found, arrays, h)

    return gradient, Differential(pushforward, pullback, selective=True)


def wanted_of(active: tuple[int, ...], parts: Parts) -> tuple[Any, ...]:
    """For which arrays cotangents are wanted, the active ones; of transition and state_cov, which part."""
    wanted: list[Any] = [i in active for i in range(ARRAYS)]
    for place, part in zip((TRANSITION, STATE_COV), parts, strict=True):
        wanted[place] = wanted[place] and (part or True)
    return tuple(wanted)


def _given(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those that are not None."""
    return tuple(x for x in found if x is not None)


def is_plain(*arrays: Any) -> bool:
    """Whether none is a Variable."""
    return not any(type(x) is Variable for x in arrays)


def _has_complex_sweeps(plan: Plan, arrays: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Whether tangents are found as imaginary parts: all is plain, and a series in complex numbers is not too
    large for the sweep.
    """
    return is_plain(*arrays, *others) and sweeps_for(arrays, len(plan.diffuse), np.complex128) is not None


def complex_step(arrays: tuple[Any, ...], arrays_dot: tuple[Any, ...]) -> Any:
    """h, for tangents of any size; where the arrays are.

    It is small beside each number that moves, as variances of one array may have all kinds of units, and for
    a zero beside the smallest numbers there are.
    """
    pairs = [(x, x_dot) for x, x_dot in zip(arrays, arrays_dot, strict=True) if x_dot is not None and x.size]
    if not pairs:
        return STEP
    smallest = reduce(np.minimum, (_smallest(x) for x in arrays if x is not None and x.size))
    largest = reduce(np.maximum, (_largest(x_dot) / _or_one(_largest(x)) for x, x_dot in pairs))
    moved = reduce(np.maximum, (_moved_part(x, x_dot, smallest) for x, x_dot in pairs))
    return STEP / _or_one(np.minimum(moved, FARTHEST * largest))


def _moved_part(x: Any, x_dot: Any, smallest: Any) -> Any:
    """The largest of tangents beside their numbers; zeros count as the smallest number of their array, or as
    the given one."""
    sizes, own = _sizes(x), _smallest(x)
    own = np.where(np.isfinite(own), own, np.where(np.isfinite(smallest), smallest, 1.0))
    return np.max(_sizes(x_dot) / np.where(sizes > 0, sizes, own)).astype(np.float64)


def _sizes(x: Any) -> Any:
    """Of numbers; missing ones have none."""
    sizes = np.abs(x)
    return np.where(np.isnan(sizes), 0, sizes)


def _largest(x: Any) -> Any:
    return np.max(_sizes(x)).astype(np.float64)


def _smallest(x: Any) -> Any:
    """The smallest size but zero; infinite where there is none."""
    sizes = _sizes(x)
    return np.min(np.where(sizes > 0, sizes, np.inf)).astype(np.float64)


def _or_one(x: Any) -> Any:
    """x, or 1 where it is zero."""
    return x + (x == 0)


def moved_by(arrays: tuple[Any, ...], arrays_dot: tuple[Any, ...], h: Any) -> tuple[Any, ...]:
    """``arrays + i h arrays_dot``; None among tangents stands for zero."""
    return tuple(_complex(x, x_dot, h) for x, x_dot in zip(arrays, arrays_dot, strict=True))


def _moved(plan: Plan, arrays: tuple[Any, ...], arrays_dot: tuple[Any, ...], h: Any) -> Any:
    """The sweeps run at ``arrays + i h arrays_dot``."""
    sweeps = sweeps_for(arrays, len(plan.diffuse), np.complex128)
    return sweeps(moved_by(arrays, arrays_dot, h), plan)


def _complex(x: Any, x_dot: Any, h: Any) -> Any:
    """``x + i h x_dot``."""
    if x is None:
        return None
    result = x.astype(np.complex128)
    if x_dot is not None:
        result.imag = np.multiply(h, x_dot, dtype=np.float64)
    return result


def _tangents(found: tuple[Any, ...], like: tuple[Any, ...], h: Any) -> tuple[Any, ...]:
    """The imaginary parts over h, in the dtypes of ``like``; None where there is none."""
    pairs = zip(found, like, strict=True)
    return tuple(None if x is None else (x.imag / h).astype(y.dtype) for x, y in pairs)
