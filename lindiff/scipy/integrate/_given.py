"""Functions of numbers, of args and of what they close over, as functions of the Variables among these."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lindiff.core import pytree
from lindiff.core.record import is_recording
from lindiff.core.variable import Variable, kept_constant
from lindiff.programs.closures import Opened, closed_over
from lindiff.rules._common import depends_on_variables

__all__ = ["of_variables", "refuse_hidden"]


def of_variables(
    func: Callable[..., Any], args: Any
) -> tuple[Callable[[Any, list[Any]], Any], list[Variable]]:
    """``func(x, *args)`` as a function of x and Variables, and these: in args, or what ``func`` closes over.

    Parameters
    ----------
    func : callable
    args : tuple, or anything else for one of them
        Trees of anything.
    """
    opened = Opened(func) if is_recording() else None
    contents: list[Any] = []
    called: Callable[[list[Any], tuple[Any, ...]], Any]
    if opened is not None and depends_on_variables(opened.contents):
        contents, called = opened.contents, partial(closed_over, opened.closing_over)
    else:
        called = _called(func if opened is None else opened.as_it_is())  # derivatives may ask it later
    leaves, restore = pytree.flatten(args if isinstance(args, tuple) else (args,))
    restore = pytree.without_variables(leaves, restore)
    count, leaves = len(contents), [*contents, *leaves]
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Variable)]
    params = [leaves[i] for i in places]
    leaves = [None if isinstance(leaf, Variable) else kept_constant(leaf) for leaf in leaves]

    def function(x: Any, params: list[Any]) -> Any:
        filled = [*leaves]
        for i, p in zip(places, params, strict=True):
            filled[i] = p
        return called(filled[:count], (x, *restore(filled[count:])))

    return function, params


def refuse_hidden(y: Any, what: str) -> None:
    """Raise for a Variable in what a function has returned that was given plain numbers."""
    if depends_on_variables(y):
        raise TypeError(
            f"{what} uses a Variable that it is neither given nor closes over, as of an object or a module: "
            f"its derivative would be lost; give it through args"
        )


def _called(func: Callable[..., Any]) -> Callable[[list[Any], tuple[Any, ...]], Any]:
    """A function that closes over nothing of interest, as one that does."""
    return lambda _, given: func(*given)
