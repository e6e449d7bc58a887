"""Partial derivatives of expressions by elements of arrays, from the rules of elementwise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.elementwise import elementwise_rules
from lindiff.core.registry import has_no_derivative
from lindiff.tensor.expressions import ONE, ZERO, Access, Apply, Number, Scalar, chain, scalar

__all__ = ["partial"]


def partial(x: Scalar, by: Access) -> Scalar:
    """The derivative of an expression by an element, where that stands; 0 where it does not.

    Raises
    ------
    TypeError
        For a function without a rule.
    """
    if x == by:
        return ONE
    if not isinstance(x, Apply):
        return ZERO
    total: Scalar = ZERO
    for place, part in enumerate(x.args):
        inner = partial(part, by)
        if inner != ZERO:
            total = total + inner * _of_function(x, place)
    return total


def _of_function(x: Apply, place: int) -> Scalar:
    """The partial derivative of a function's value by one of its arguments."""
    function, args = x.function, x.args
    if function is np.where:
        if place == 0:
            return ZERO
        return Apply(np.where, (args[0], *(scalar(float(place == k)) for k in (1, 2))))
    if function is np.conjugate:
        raise TypeError("derivatives of adjoints of complex numbers are not at hand: take them forward")
    if function is chain:
        return args[1 - place]
    if has_no_derivative(function):
        return ZERO
    rule = elementwise_rules().get(function)
    plain = tuple(a.value if isinstance(a, Number) else a for a in args)
    found: Any = None if rule is None else rule.partial(place, x, plain)
    if found is None:
        raise TypeError(f"{_name(function)} has no elementwise derivative by argument {place}")
    return scalar(found)


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))
