"""Names: those by which other processes find objects, and those of arguments."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["importable_name", "positional_names"]


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
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [parameter.name for parameter in parameters if parameter.kind in positional]
