"""SciPy's compiled functions with the derivatives of a formula in NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.directions import Apart, Directions
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, is_untraced, kept_constant, value
from lindiff.rules._common import depends_on_variables
from lindiff.transforms.forward import jvp
from lindiff.transforms.linearize import linearize
from lindiff.transforms.reverse import vjp

__all__ = ["by_formula"]

Function = Callable[..., Any]


def by_formula(function: Function, formula: Function | Sequence[Function], *args: Any) -> Any:
    """``function(*args)`` with the derivatives of a formula.

    Parameters
    ----------
    function : callable
        Of plain arrays, compiled maybe.
    formula : callable, or sequence of callables
        The same in NumPy's functions, of any arguments.  Several give the rows of the result one block after
        the other: then no more than one of them is in memory at a time.
    *args : trees
        Variables among them are differentiated.

    Returns
    -------
    array
        Derivatives of any order; the first walk through it runs the formula.
    """
    leaves, restore = pytree.flatten(args)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Variable) and not is_untraced(leaf)]
    if not places:
        return function(*args)
    constants = [None if i in places else kept_constant(leaf) for i, leaf in enumerate(leaves)]

    def of_active(function: Function) -> Function:
        def call(*active: Any) -> Any:
            filled = [*constants]
            for i, x in zip(places, active, strict=True):
                filled[i] = x
            return function(*restore(filled))

        return call

    formulas = [formula] if callable(formula) else formula
    return _valued([leaves[i] for i in places], of_active(function), [*map(of_active, formulas)])


@rule
def _valued(arrays: list[Any], function: Function, formulas: list[Function]) -> Any:
    """``function(*arrays)``; its differential is the one of the formulas."""
    is_outer = depends_on_variables(arrays)
    y = _valued(arrays, function, formulas) if is_outer else function(*map(_number, arrays))

    dtype = np.result_type(value(y))
    formulas = [_of_dtype(formula, dtype) for formula in formulas]

    @functools.cache
    def derivative() -> Any:
        return linearize(formulas[0], *arrays)[1]

    def push(arrays_dot: list[Any]) -> Any:
        _refuse_directions(arrays_dot)
        if len(formulas) == 1:
            return derivative()(*arrays_dot)
        return np.concatenate([jvp(formula, tuple(arrays), tuple(arrays_dot))[1] for formula in formulas])

    def pull(y_bar: Any) -> Any:
        _refuse_directions([y_bar])
        if len(formulas) == 1:
            return [*derivative().T(y_bar)]
        totals, begin = [0.0] * len(arrays), 0
        for formula in formulas:
            rows, pullback = vjp(formula, *arrays)
            bars = pullback(y_bar[begin : begin + len(rows)])
            totals = [total + bar for total, bar in zip(totals, bars, strict=True)]
            begin += len(rows)
        return totals

    return y, Differential((push,), (pull,))


def _number(x: Any) -> Any:
    """An array without axes as the number that SciPy asks for."""
    return x[()] if type(x) is np.ndarray and x.ndim == 0 else x


def _of_dtype(formula: Function, dtype: Any) -> Function:
    """The formula with results of this dtype: SciPy may compute in another precision."""

    def call(*arrays: Any) -> Any:
        y = formula(*arrays)
        return y if y.dtype == dtype else y.astype(dtype)

    return call


def _refuse_directions(arrays: list[Any]) -> None:
    """Raise for several directions at once, which the inner walks cannot take: they come one by one then."""
    if any(type(x) is Directions for x in arrays):
        raise Apart
