"""Partial derivatives of expressions by elements of arrays, from the rules of elementwise functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

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
    chained,
    is_number,
    is_polynomial,
    plus,
    scalar,
    simplified,
    times,
)

__all__ = ["pulled", "pushed"]

# Functions that multiply by a number.
_SCALES = (np.deg2rad, np.radians, np.rad2deg, np.degrees)

# Functions whose slopes are finite where their values are.
_SMOOTH = (
    *(np.add, np.subtract, np.multiply, np.divide, np.reciprocal, np.negative, np.positive, np.conjugate),
    *(np.where, np.maximum, np.minimum, np.absolute, np.fabs, np.square, np.hypot, np.exp, np.exp2, np.expm1),
    *(np.logaddexp, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh, np.arctan, np.arcsinh),
)


def pulled(x: Scalar, by: Access, x_bar: Scalar, is_finite: bool, conjugated: bool) -> Scalar:
    """What an expression with a cotangent adds to that of an element.

    It goes from function to function as in the other operations, whose holes it has, too: a slope that is
    infinite where nothing flows adds nothing.

    Parameters
    ----------
    x : Scalar
    by : Access
        The element.
    x_bar : Scalar
    is_finite : bool
        Whether the cotangent is, and the elements are.
    conjugated : bool
        Whether numbers are complex: a cotangent is multiplied by the conjugates of derivatives.

    Raises
    ------
    TypeError
        For a function without a rule.
    """
    slope = _slope(x, by)
    if slope is not None:
        return _multiplied(x_bar, conjugate(slope) if conjugated else slope, is_finite)
    assert isinstance(x, Apply)
    total: Scalar = ZERO
    for place, part in enumerate(x.args):
        if by in set(accesses(part)):
            part_bar = _pulled_once(x, place, x_bar, is_finite, conjugated)
            total = plus(total, pulled(part, by, part_bar, is_finite and _is_smooth(x), conjugated))
    return total


def _pulled_once(x: Apply, place: int, x_bar: Scalar, is_finite: bool, conjugated: bool) -> Scalar:
    """What one function adds to the cotangent of an argument."""
    if x.function is np.where:
        return _chosen(x, *(x_bar if place == k else ZERO for k in (1, 2)))
    if x.function is np.conjugate:
        return conjugate(x_bar)
    slope = _of_function(x, place)
    return _multiplied(x_bar, conjugate(slope) if conjugated else slope, is_finite)


def pushed(x: Scalar, dots: Mapping[Access, Scalar], is_finite: bool) -> Scalar:
    """The tangent of an expression along those of elements, from function to function likewise."""
    moving = [access for access in accesses(x) if access in dots]
    slopes = [slope for access in moving if (slope := _slope(x, access)) is not None]
    total: Scalar = ZERO
    if len(slopes) == len(moving):
        for access, slope in zip(moving, slopes, strict=True):
            total = plus(total, _multiplied(dots[access], slope, is_finite))
        return total
    assert isinstance(x, Apply)
    is_finite = is_finite and x.function is not chain  # which hides what is infinite where nothing flows
    parts = [pushed(part, dots, is_finite) for part in x.args]
    if x.function is np.where:
        return _chosen(x, *parts[1:])
    if x.function is np.conjugate:
        return conjugate(parts[0])
    for place, dot in enumerate(parts):
        if not is_number(dot, 0):
            is_dot_finite = is_finite and _are_smooth(x.args[place], dots)
            total = plus(total, _multiplied(dot, _of_function(x, place), is_dot_finite))
    return total


def _is_smooth(x: Apply) -> bool:
    """Whether the slopes of its function are finite where it is."""
    if x.function is np.power and isinstance(x.args[1], Number):
        return not isinstance(x.args[1].value, complex) and x.args[1].value >= 1
    return x.function in _SMOOTH


def _are_smooth(x: Scalar, moving: Collection[Access]) -> bool:
    """Likewise of all functions around elements."""
    if not isinstance(x, Apply) or not any(access in moving for access in accesses(x)):
        return True
    return _is_smooth(x) and all(_are_smooth(part, moving) for part in x.args)


def conjugate(x: Scalar) -> Scalar:
    return Number(x.value.conjugate()) if isinstance(x, Number) else Apply(np.conjugate, (x,))


def _multiplied(x_bar: Scalar, slope: Scalar, is_finite: bool) -> Scalar:
    return ZERO if is_number(x_bar, 0) or is_number(slope, 0) else chained(x_bar, slope, is_finite)


def _chosen(x: Apply, first: Scalar, second: Scalar) -> Scalar:
    if is_number(first, 0) and is_number(second, 0):
        return ZERO
    return Apply(np.where, (x.args[0], first, second))


def _slope(x: Scalar, by: Access) -> Scalar | None:
    """The derivative of an expression by an element where it is a polynomial; 0 without that element."""
    if x == by:
        return ONE
    if not isinstance(x, Apply):
        return ZERO
    total: Scalar = ZERO
    for place, part in enumerate(x.args):
        inner = _slope(part, by)
        if inner is None or (not is_number(inner, 0) and x.function in (np.where, np.conjugate)):
            return None
        if not is_number(inner, 0):
            total = plus(total, times(inner, _of_function(x, place)))
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
    return _without_units(scalar(found), (x, *args))


def _without_units(x: Scalar, given: tuple[Scalar, ...]) -> Scalar:
    """What a rule has made of the value and the arguments that it was given, simplified."""
    if not isinstance(x, Apply) or any(x is each for each in given):
        return x
    return simplified(x.function, *(_without_units(part, given) for part in x.args))


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))
