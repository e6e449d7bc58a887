"""Programs among Variables: operations whose pushforward and pullback are programs, too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.directions import Apart, Directions
from lindiff.core.linearization import Linearization, push_forward
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, inside
from lindiff.programs.machine import MISSED
from lindiff.programs.recorded import Recorded

if TYPE_CHECKING:
    from lindiff.programs.program import Program

__all__ = ["Differentiated"]


class Differentiated:
    """A program as an operation on Variables.

    Its value is that of the program, its pullback the program of the function's pullback, from the same
    arguments and a cotangent, which computes again what it needs on the way; its pushforward likewise.  Both
    are programs as others: with Variables they are operations again, to any order.

    Parameters
    ----------
    program : Program
        Of the function.
    """

    def __init__(self, program: Program[..., Any]) -> None:
        self._program = program
        self._made: dict[Any, Program[..., Any]] = {}
        self._operation = rule(self._rule)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], restore: Any) -> Any:
        """The result; the function itself runs on the Variables where it has no program."""
        if any(type(inside(x)) is Recorded for x in leaves if type(x) is Variable):
            return self._program.function(*args, **kwargs)  # as a part of the program around it
        call = _Call(restore, [type(x) is Variable and x._scalar for x in leaves])
        try:
            outputs = self._operation(call, *leaves)
        except _Apart:
            return self._program.function(*args, **kwargs)
        return call.result(outputs)

    def _rule(self, call: _Call, *leaves: Any) -> tuple[list[Any], Differential]:
        given = call.numbers(leaves)
        args, kwargs = call.restore(given)
        outputs = call.note(self._value(args, kwargs, given))

        def pullback(y_bars: list[Any], active: tuple[int, ...]) -> tuple[Any, ...]:
            _refuse_directions(y_bars)
            chosen = tuple(i - 1 for i in active)  # `call` comes first
            x_bars = iter(self._derivative(_pulled, chosen)(args, kwargs, call.cotangents(y_bars)))
            return (None, *[next(x_bars) if i in chosen else None for i in range(len(given))])

        def pushforward(_: Any, *x_dots: Any) -> list[Any]:
            _refuse_directions(x_dots)
            chosen = tuple(i for i, x_dot in enumerate(x_dots) if x_dot is not None)
            given_dots = [_like(given[i], x_dots[i]) for i in chosen]
            y_dots: list[Any] = self._derivative(_pushed, chosen)(args, kwargs, given_dots)
            return y_dots

        return outputs, Differential(pushforward, pullback, selective=True)

    def _value(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
        if any(type(x) is Variable for x in leaves):  # of a transform around this one
            return self._program(*args, **kwargs)
        result = self._program.repeated(args, kwargs)
        if result is not MISSED:
            return result
        if self._program.runs_plainly(args, kwargs):
            raise _Apart
        result = self._program(*_copied(args), **_copied(kwargs))  # the function may write to them
        if self._program.runs_plainly(args, kwargs):
            raise _Apart
        return result

    def _derivative(self, of: Callable[..., Any], chosen: tuple[int, ...]) -> Program[..., Any]:
        """The program of the pullback, or pushforward, for these of the leaves."""
        found = self._made.get((of, chosen))
        if found is None:
            function: Any = functools.partial(of, self._program.function, chosen)
            function.__qualname__ = f"{of.__name__.strip('_')} {self._program.name}"
            found = self._made.setdefault((of, chosen), type(self._program)(function))
        return found


class _Apart(Exception):
    """A function that has no program for these arguments."""


class _Call:
    """How leaves make up the arguments of a call, and what came of it besides arrays that are differentiated.

    Parameters
    ----------
    restore : callable
        From leaves to ``(args, kwargs)``.
    are_numbers : list of bool
        The leaves that are Variables and numbers, not arrays without axes.
    """

    def __init__(self, restore: Callable[[list[Any]], Any], are_numbers: list[bool]) -> None:
        self.restore = restore
        self._are_numbers = are_numbers
        self._leaves: list[Any] = []
        self._restore_result: Callable[[list[Any]], Any] = _itself
        self._places: list[int] = []

    def numbers(self, leaves: tuple[Any, ...]) -> list[Any]:
        """The leaves as the function is to see them: a record has numbers as arrays without axes."""
        pairs = zip(leaves, self._are_numbers, strict=True)
        return [x[()] if number and type(x) is np.ndarray else x for x, number in pairs]

    def note(self, result: Any) -> list[Any]:
        """The arrays among the leaves of the result that have derivatives.

        A number of Python's is what an array gave that left the program: the function runs on Variables.
        """
        self._leaves, self._restore_result = pytree.flatten(result)
        if any(type(y) in (float, complex) for y in self._leaves):
            raise _Apart
        self._places = [i for i, y in enumerate(self._leaves) if _is_inexact(y)]
        return [self._leaves[i] for i in self._places]

    def cotangents(self, y_bars: list[Any]) -> list[Any]:
        return [_like(self._leaves[i], y_bar) for i, y_bar in zip(self._places, y_bars, strict=True)]

    def result(self, outputs: list[Any]) -> Any:
        """The result with these in the place of its arrays."""
        leaves = list(self._leaves)
        for i, y in zip(self._places, outputs, strict=True):
            without_axes = type(y) is Variable and type(leaves[i]) is np.ndarray and y.ndim == 0
            leaves[i] = y[...] if without_axes else y
        return self._restore_result(leaves)


def _copied(tree: Any) -> Any:
    return pytree.tree_map(lambda x: x.copy(order="K") if type(x) is np.ndarray else x, tree)


def _itself(x: Any) -> Any:
    return x


def _is_inexact(y: Any) -> bool:
    return getattr(getattr(y, "dtype", None), "kind", "") in ("f", "c")


def _like(x: Any, dot: Any) -> Any:
    """A tangent or cotangent without axes as a number where ``x`` is one."""
    is_number = isinstance(x, np.generic) or (type(x) is Variable and x._scalar)
    return dot[()] if is_number and type(dot) is np.ndarray else dot


def _refuse_directions(dots: Any) -> None:
    """Have many directions come one by one."""
    if any(type(dot) is Directions for dot in dots):
        raise Apart


def _of_chosen(
    function: Callable[..., Any], chosen: tuple[int, ...], args: Any, kwargs: Any
) -> tuple[Callable[..., list[Any]], list[Any]]:
    """The arrays in a result as a function of some of the leaves of the arguments, and these leaves."""
    leaves, restore = pytree.flatten((args, kwargs))

    def of_chosen(*xs: Any) -> list[Any]:
        given = list(leaves)
        for i, x in zip(chosen, xs, strict=True):
            given[i] = x
        chosen_args, chosen_kwargs = restore(given)
        result = function(*chosen_args, **chosen_kwargs)
        return [y for y in pytree.flatten(result)[0] if _is_inexact(y)]

    return of_chosen, [leaves[i] for i in chosen]


def _pulled(
    function: Callable[..., Any], chosen: tuple[int, ...], args: Any, kwargs: Any, y_bars: list[Any]
) -> tuple[Any, ...]:
    """The cotangents of the chosen leaves."""
    of_chosen, xs = _of_chosen(function, chosen, args, kwargs)
    return Linearization(of_chosen, tuple(xs)).pull(y_bars)


def _pushed(
    function: Callable[..., Any], chosen: tuple[int, ...], args: Any, kwargs: Any, x_dots: list[Any]
) -> list[Any]:
    """The tangents of the arrays in the result."""
    of_chosen, xs = _of_chosen(function, chosen, args, kwargs)
    y_dots: list[Any] = push_forward(of_chosen, tuple(xs), tuple(x_dots))[1]
    return y_dots
