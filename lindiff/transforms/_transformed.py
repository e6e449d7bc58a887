"""Functions that transforms make of functions: callables that can be pickled and copied.

A function inside a function cannot be pickled.  What a transform returns goes through a pickle as the call
that made it: other processes make it anew from a function that they import.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lindiff.core.names import importable_name

__all__ = ["Transformed", "transformed"]


class Transformed(functools.partial[Any]):  # a partial costs next to nothing to call
    """A function that a transform has made of another, with its name, docstring and signature."""

    made_by: functools.partial[Any]
    __wrapped__: Callable[..., Any]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A method, where it is written in the body of a class."""
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        return importable_name(self) or (_unmade, (), self.made_by)

    def __setstate__(self, made_by: functools.partial[Any]) -> None:
        """Make the function anew, from what may hold this one: an object with its method's derivative."""
        made: functools.partial[Any] = made_by()
        super().__setstate__((made.func, made.args, made.keywords, vars(made)))  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<{self.made_by.func.__name__} of {self.__wrapped__!r}>"


def transformed(
    transform: Callable[..., Any], function: Callable[..., Any], **options: Any
) -> Callable[[Callable[..., Any]], Transformed]:
    """What ``transform(function, **options)`` returns, a decorator of the function that does it."""

    def decorate(run: Callable[..., Any]) -> Transformed:
        made = Transformed(run)
        functools.update_wrapper(made, function)
        made.made_by = functools.partial(transform, function, **options)
        return made

    return decorate


def _unmade() -> Transformed:
    """The start of a copy, before it is told how it is made."""
    return Transformed(_unmade)
