"""Taking the place of a function of ``scipy.special`` written in Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from lindiff._docstrings import documented_like
from lindiff.core.arrays import counterpart
from lindiff.core.lists import must_be_stacked
from lindiff.core.results import returned
from lindiff.core.variable import Variable
from lindiff.scipy._lists import of_arrays

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["drop_in", "refuse_variable"]


def drop_in(original: Callable[..., Any] | None, no_axes: str = "scalar") -> Callable[[F], F]:
    """Let the decorated function take the place of SciPy's, which plain arguments go to.

    None where the installed SciPy does not have it: then the function is not public.  Results without axes
    are ``"scalar"``, ``"array"``, or ``"like first"``: what the first argument is.
    """

    def decorate(function: F) -> F:
        if original is not None:
            documented_like(original)(function)

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            for x in (*args, *options.values()):
                if type(x) is Variable or must_be_stacked(x):
                    args, options = of_arrays(args, options)
                    given = (*args, *options.values())
                    return returned(function(*args, **options), given, no_axes)
            return counterpart(original, *args)(*args, **options)

        call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def refuse_variable(name: str, argument: str, x: Any, reason: str) -> None:
    if isinstance(x, Variable):
        raise TypeError(
            f"scipy.special.{name} has no derivative with respect to {argument} in lindiff: {reason}. Give "
            f"ld.value(v) there if that derivative does not matter"
        )
