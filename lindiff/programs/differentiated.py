"""Programs among Variables: operations whose pullback and pushforward are programs, too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.linearization import Linearization, push_forward
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, inside, untraced
from lindiff.programs.calling import Known, OfProgram, has_outputs
from lindiff.programs.machine import MISSED
from lindiff.programs.recorded import Recorded
from lindiff.programs.surroundings import Surroundings
from lindiff.programs.taped import lie_alike

if TYPE_CHECKING:
    from lindiff.programs.program import Program

__all__ = ["Call", "NoProgram", "are_not_distinct", "derivative_of", "operation_of", "undo"]

Operation = Callable[[tuple[Any, ...], dict[str, Any], list[Any], Any, list[Surroundings]], Any]


def operation_of(program: Program[..., Any]) -> Operation:
    """A program as an operation on Variables, for arguments of any form.

    It is called with the arguments, their leaves, what makes arguments of leaves, and a list of what runs
    that were recorded have begun with.  Where there is no program for them, the function itself runs on the
    Variables, as if none of these had been.
    """

    @rule
    def operation(call: Call, *leaves: Any) -> tuple[list[Any], OfProgram]:
        call.given = given = call.seen(leaves)
        args, kwargs = call.restore(given)
        seen_args, seen_kwargs = call.restore(call.as_variables(given))
        outputs = call.note(_value(program, seen_args, seen_kwargs, call))
        known, surroundings = known_with(program, call, given)
        if known.shares or _share_memory(given, outputs):
            known.shares = True  # writing to one of them changes another one
            raise NoProgram
        call.known = known
        differential = OfProgram(program, args, kwargs, given, 1, surroundings)  # `call` comes first
        differential.likes, differential.variables = outputs, call.variables
        return outputs, differential

    def called(
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: list[Any],
        restore: Any,
        begun: list[Surroundings],
    ) -> Any:
        if any(isinstance(inside(x), Recorded) for x in leaves if type(x) is Variable):
            return program.otherwise(*args, **kwargs)  # as a part of the program around it
        if are_not_distinct(leaves):
            return program.otherwise(*args, **kwargs)
        call = Call(restore, leaves, begun)
        try:
            outputs = operation(call, *leaves)
        except NoProgram:
            undo(begun)
            return program.otherwise(*args, **kwargs)
        if call.is_simple and not kwargs and call.known.machine and not any(map(pytree.is_tree, args)):
            kept = None if all(map(lie_alike, leaves, call.given)) else tuple(call.given)
            program.remember(args, {}, call.known, kept)  # the next one is recorded without Python
        return call.result(outputs)

    return called


def _value(program: Program[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], call: Call) -> Any:
    if not any(type(x) is Variable for x in call.given):  # of a transform around this one
        result = program.repeated(args, kwargs)
        if result is not MISSED:
            return result
    copied = pytree.tree_map(_copied, (args, kwargs))  # the function may write to them
    for held in (call.held(call.given), pytree.tree_map(_held, copied)):  # copies may lie otherwise
        known = program.known_for(*held)
        if (known is not None and known.shares) or program.runs_itself(*held):
            raise NoProgram  # it runs once, on the Variables
    result = program.carried_out(copied[0], copied[1], call.begun)
    if _share_memory(pytree.flatten(copied)[0], pytree.flatten(result)[0]):
        known = program.known_for(args, kwargs)
        if known is not None:
            known.shares = True
        raise NoProgram
    return result


def known_with(program: Program[..., Any], call: Call, leaves: list[Any]) -> tuple[Known, Surroundings]:
    """What is known for arguments that have these leaves, through all traces, and what else was read.

    Raises
    ------
    NoProgram
        If the function has no program for them, or reads what changes.
    """
    known = program.known_for(*call.held(leaves))
    if known is None or known.surroundings is None:
        raise NoProgram
    return known, known.surroundings


def _share_memory(given: list[Any], outputs: list[Any]) -> bool:
    """Whether an output lies in the memory of an argument, or of another output."""
    arrays: list[Any] = [x for x in map(inside, given) if isinstance(x, np.ndarray)]
    for y in map(inside, outputs):
        if isinstance(y, np.ndarray):
            if any(np.may_share_memory(x, y) for x in arrays):
                return True
            arrays.append(y)
    return False


def _held(x: Any) -> Any:
    """What a Variable holds in the end, as the function is to see it."""
    held = inside(x)
    return held[()] if type(x) is Variable and x._scalar and type(held) is np.ndarray else held


def undo(begun: list[Surroundings]) -> None:
    """Put back what runs have changed that have begun with these."""
    if begun:
        begun[0].restore()


class NoProgram(Exception):
    """A function that has no program for these arguments."""


class Call:
    """How leaves make up the arguments of a call, and what came of it besides arrays that are differentiated.

    Parameters
    ----------
    restore : callable
        From leaves to ``(args, kwargs)``.
    leaves : list
        Of which Variables may be numbers, not arrays without axes.
    begun : list of Surroundings
        What runs that were recorded have begun with.
    """

    def __init__(
        self, restore: Callable[[list[Any]], Any], leaves: list[Any], begun: list[Surroundings]
    ) -> None:
        self.restore = restore
        self.begun = begun
        self.variables = tuple([i for i, x in enumerate(leaves) if type(x) is Variable])
        self.known = Known()
        self.is_simple = False
        self.given: list[Any] = []
        self._are_numbers = [type(x) is Variable and x._scalar for x in leaves]
        self._leaves: list[Any] = []
        self._restore_result: Callable[[list[Any]], Any] = _itself
        self._places: list[int] = []

    def seen(self, leaves: tuple[Any, ...]) -> list[Any]:
        """The leaves as the function is to see them: a record has numbers as arrays without axes."""
        pairs = zip(leaves, self._are_numbers, strict=True)
        return [x[()] if number and type(x) is np.ndarray else x for x, number in pairs]

    def held(self, leaves: list[Any]) -> Any:
        """The arguments that have these leaves, through all traces."""
        return self.restore([_held(x) for x in leaves])

    def as_variables(self, given: list[Any]) -> list[Any]:
        """The same for transforms around this one, if there are any: arrays that are Variables of the inner
        one alone can have Variables written into them, too."""
        if not any(type(x) is Variable for x in given):
            return given
        return _that_take_variables(given, self.variables)

    def note(self, result: Any) -> list[Any]:
        """The arrays among the leaves of the result that have derivatives.

        A number of Python's is what an array gave that left the program: the function runs on Variables.
        """
        self.is_simple = has_outputs(result)
        self._leaves, self._restore_result = pytree.flatten(result)
        if any(type(y) in (float, complex) for y in self._leaves):
            raise NoProgram
        self._places = [i for i, y in enumerate(self._leaves) if _is_inexact(y)]
        return [self._leaves[i] for i in self._places]

    def result(self, outputs: list[Any]) -> Any:
        """The result with these in the place of its arrays."""
        leaves = list(self._leaves)
        for i, y in zip(self._places, outputs, strict=True):
            without_axes = type(y) is Variable and type(leaves[i]) is np.ndarray and y.ndim == 0
            leaves[i] = y[...] if without_axes else y
        return self._restore_result(leaves)


def are_not_distinct(leaves: list[Any]) -> bool:
    """Whether an array is there twice: of Variables, ``x is y`` may say another thing."""
    held = [x._value if type(x) is Variable else x for x in leaves]
    arrays = [id(x) for x in held if type(x) in (np.ndarray, Variable)]
    return len(set(arrays)) < len(arrays)


def _copied(x: Any) -> Any:
    if type(x) is Variable:
        return x if x._scalar else x.copy()
    return x.copy(order="K") if type(x) is np.ndarray else x


def _that_take_variables(leaves: list[Any], places: tuple[int, ...]) -> list[Any]:
    """Leaves of which those in these places, if they are arrays, can have Variables written into them."""
    return [
        untraced(x) if i in places and isinstance(x, (np.ndarray, Recorded)) and x.ndim else x
        for i, x in enumerate(leaves)
    ]


def _itself(x: Any) -> Any:
    return x


def _is_inexact(y: Any) -> bool:
    return getattr(getattr(y, "dtype", None), "kind", "") in ("f", "c")


def derivative_of(
    function: Callable[..., Any], of: str, chosen: tuple[int, ...], others: tuple[int, ...]
) -> Callable[..., Any]:
    """The pullback, or the pushforward, of a function for these of the leaves of its arguments.

    A pullback has None for leaves that the function does not depend on, a full one zeros.

    It is given args, kwargs, and the cotangents of the arrays in the result, or the tangents of the chosen
    leaves; it returns those of the chosen leaves, or of the arrays.  ``"values and pullback"`` returns these
    arrays as well.  The ``others`` are leaves that Variables may be written into, as they are Variables of
    transforms around this one.
    """
    return functools.partial(_DERIVATIVES[of], function, chosen, others)


def _pulled(
    function: Callable[..., Any],
    chosen: tuple[int, ...],
    others: tuple[int, ...],
    args: Any,
    kwargs: Any,
    y_bars: list[Any],
) -> tuple[Any, ...]:
    return _values_and_pulled(function, chosen, others, args, kwargs, y_bars)[1]


def _fully_pulled(
    function: Callable[..., Any],
    chosen: tuple[int, ...],
    others: tuple[int, ...],
    args: Any,
    kwargs: Any,
    y_bars: list[Any],
) -> tuple[Any, ...]:
    linearization, reached = _linearized(function, chosen, others, args, kwargs, y_bars)
    return linearization.pull(y_bars if reached is None else reached)


def _values_and_pulled(
    function: Callable[..., Any],
    chosen: tuple[int, ...],
    others: tuple[int, ...],
    args: Any,
    kwargs: Any,
    y_bars: list[Any],
) -> tuple[list[Any], tuple[Any, ...]]:
    linearization, reached = _linearized(function, chosen, others, args, kwargs, y_bars)
    if reached is None:
        return linearization.value, (None,) * len(chosen)
    return linearization.value, linearization.pull_reached(reached)


def _linearized(
    function: Callable[..., Any],
    chosen: tuple[int, ...],
    others: tuple[int, ...],
    args: Any,
    kwargs: Any,
    y_bars: list[Any],
) -> tuple[Linearization, list[Any] | None]:
    """At the chosen leaves, with the cotangents of results that depend on them, None where none does.

    Cotangents are of the program that is recorded, and a constant is not.
    """
    of_chosen, xs = _of_chosen(function, chosen, others, args, kwargs)
    constant: list[bool] = []

    def noted(*xs: Any) -> list[Any]:
        ys = of_chosen(*xs)
        constant.extend(type(y) is not Variable for y in ys)
        return ys

    linearization = Linearization(noted, tuple(xs))
    if all(constant):
        return linearization, None
    given = zip(y_bars, constant, strict=True)
    return linearization, [None if is_constant else y_bar for y_bar, is_constant in given]


def _pushed(
    function: Callable[..., Any],
    chosen: tuple[int, ...],
    others: tuple[int, ...],
    args: Any,
    kwargs: Any,
    x_dots: list[Any],
) -> list[Any]:
    of_chosen, xs = _of_chosen(function, chosen, others, args, kwargs)
    y_dots: list[Any] = push_forward(of_chosen, tuple(xs), tuple(x_dots))[1]
    return y_dots


_DERIVATIVES = {
    "pullback": _pulled,
    "full pullback": _fully_pulled,
    "values and pullback": _values_and_pulled,
    "pushforward": _pushed,
}


def _of_chosen(
    function: Callable[..., Any], chosen: tuple[int, ...], others: tuple[int, ...], args: Any, kwargs: Any
) -> tuple[Callable[..., list[Any]], list[Any]]:
    """The arrays in a result as a function of some of the leaves of the arguments, and these leaves."""
    leaves, restore = pytree.flatten((args, kwargs))

    def of_chosen(*xs: Any) -> list[Any]:
        given = _that_take_variables(leaves, others)
        for i, x in zip(chosen, xs, strict=True):
            given[i] = x
        chosen_args, chosen_kwargs = restore(given)
        result = function(*chosen_args, **chosen_kwargs)
        return [y for y in pytree.flatten(result)[0] if _is_inexact(y)]

    return of_chosen, [leaves[i] for i in chosen]
