"""Partial derivatives of expressions by elements of arrays, from the rules of elementwise functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from lindiff.core.elementwise import elementwise_rules
from lindiff.core.registry import has_no_derivative
from lindiff.tensor.expressions import (
    ONE,
    ZERO,
    Access,
    Apply,
    Number,
    Scalar,
    accesses,
    chain,
    is_polynomial,
    scalar,
)

__all__ = ["pulled", "pushed"]

# Functions that multiply by a number.
_SCALES = (np.deg2rad, np.radians, np.rad2deg, np.degrees)

# How a cotangent or a tangent is multiplied by a derivative.
Times: TypeAlias = Callable[[Scalar, Scalar], Scalar]


def pulled(x: Scalar, by: Access, x_bar: Scalar, times: Times, conjugated: bool) -> Scalar:
    """What an expression with a cotangent adds to that of an element.

    It goes from function to function as in the other operations, whose holes it has, too: a slope that is
    infinite where nothing flows adds nothing.

    Parameters
    ----------
    x : Scalar
    by : Access
        The element.
    x_bar : Scalar
    times : callable
        Multiplies a cotangent by a derivative.
    conjugated : bool
        Whether numbers are complex: a cotangent is multiplied by the conjugates of derivatives.

    Raises
    ------
    TypeError
        For a function without a rule.
    """
    slope = _slope(x, by)
    if slope is not None:
        return _multiplied(x_bar, conjugate(slope) if conjugated else slope, times)
    assert isinstance(x, Apply)
    total: Scalar = ZERO
    for place, part in enumerate(x.args):
        if by in set(accesses(part)):
            total = total + pulled(
                part, by, _pulled_once(x, place, x_bar, times, conjugated), times, conjugated
            )
    return total


def _pulled_once(x: Apply, place: int, x_bar: Scalar, times: Times, conjugated: bool) -> Scalar:
    """What one function adds to the cotangent of an argument."""
    if x.function is np.where:
        return _chosen(x, *(x_bar if place == k else ZERO for k in (1, 2)))
    if x.function is np.conjugate:
        return conjugate(x_bar)
    slope = _of_function(x, place)
    return _multiplied(x_bar, conjugate(slope) if conjugated else slope, times)


def pushed(x: Scalar, dots: Mapping[Access, Scalar], times: Times) -> Scalar:
    """The tangent of an expression along those of elements, from function to function likewise."""
    moving = [access for access in accesses(x) if access in dots]
    slopes = [slope for access in moving if (slope := _slope(x, access)) is not None]
    total: Scalar = ZERO
    if len(slopes) == len(moving):
        for access, slope in zip(moving, slopes, strict=True):
            total = total + _multiplied(dots[access], slope, times)
        return total
    assert isinstance(x, Apply)
    parts = [pushed(part, dots, times) for part in x.args]
    if x.function is np.where:
        return _chosen(x, *parts[1:])
    if x.function is np.conjugate:
        return conjugate(parts[0])
    for place, dot in enumerate(parts):
        if dot != ZERO:
            total = total + _multiplied(dot, _of_function(x, place), times)
    return total


def conjugate(x: Scalar) -> Scalar:
    return Number(x.value.conjugate()) if isinstance(x, Number) else Apply(np.conjugate, (x,))


def _multiplied(x_bar: Scalar, slope: Scalar, times: Times) -> Scalar:
    return ZERO if ZERO in (x_bar, slope) else times(x_bar, slope)


def _chosen(x: Apply, first: Scalar, second: Scalar) -> Scalar:
    return ZERO if first == second == ZERO else Apply(np.where, (x.args[0], first, second))


def _slope(x: Scalar, by: Access) -> Scalar | None:
    """The derivative of an expression by an element where it is a polynomial; 0 without that element."""
    if x == by:
        return ONE
    if not isinstance(x, Apply):
        return ZERO
    total: Scalar = ZERO
    for place, part in enumerate(x.args):
        inner = _slope(part, by)
        if inner is None or (inner != ZERO and x.function in (np.where, np.conjugate)):
            return None
        if inner != ZERO:
            total = total + inner * _of_function(x, place)
    return total if is_polynomial(total) else None


def _of_function(x: Apply, place: int) -> Scalar:
    """The partial derivative of a function's value by one of its arguments."""
    function, args = x.function, x.args
    if function is chain:
        return args[1 - place]
    if has_no_derivative(function):
        return ZERO
    if function in _SCALES:
        return Number(float(function(1.0)))
    rule = elementwise_rules().get(function)
    plain = tuple(a.value if isinstance(a, Number) else a for a in args)
    found: Any = None if rule is None else rule.partial(place, x, plain)
    if found is None:
        raise TypeError(f"{_name(function)} has no elementwise derivative by argument {place}")
    return scalar(found)


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))
