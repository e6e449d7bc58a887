"""Names: those by which other processes find objects, and those of arguments."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["by_place", "importable_name", "positional_names"]


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def importable_name(x: Any) -> str | None:
    """The qualified name under which the module of ``x`` has it, for a pickle; None where it has not.

    Examples
    --------
    >>> import lindiff as ld
    >>> importable_name(ld.grad)
    'grad'
    """
    name = getattr(x, "__qualname__", None)
    module = sys.modules.get(getattr(x, "__module__", None) or "")
    try:
        found = functools.reduce(getattr, name.split("."), module) if name else None
    except AttributeError:
        return None
    return name if found is x else None


def positional_names(function: Callable[..., Any]) -> list[str]:
    """The names of a function's positional arguments, in order; none where it does not tell."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions written in C
        return []
    return [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]


def by_place(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a call, of which those that a function needs are in their places: rules have other names.

    Examples
    --------
    >>> import numpy as np
    >>> by_place(np.dot, (), {"b": 2, "a": 1})
    ((1, 2), {})
    """
    names = _needed_names(function)[len(args) :]
    found = tuple(itertools.takewhile(kwargs.__contains__, names))
    if not found:
        return args, kwargs
    others = {name: x for name, x in kwargs.items() if name not in found}
    return (*args, *(kwargs[name] for name in found)), others


@functools.cache
def _needed_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that may be given by place, and have no default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    needed = itertools.takewhile(
        lambda p: p.kind in _POSITIONAL and p.default is inspect.Parameter.empty, parameters
    )
    return tuple(p.name for p in needed)
