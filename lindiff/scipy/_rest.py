"""The functions of a SciPy module that have no derivatives here: SciPy's own, for plain arrays only."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from lindiff.rules._common import depends_on_variables

__all__ = ["names_of", "plain_only", "rest_of"]


def rest_of(module: ModuleType, reasons: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a namespace that stands in for a module of SciPy.

    Parameters
    ----------
    module : module
    reasons : mapping
        Name of a function: why it has no derivative, or what to write instead.

    Returns
    -------
    callable
        SciPy's object of a name; a function refuses Variables and says why.  Raises AttributeError if SciPy
        does not have it.
    """

    def other(name: str) -> Any:
        found = getattr(module, name)
        if (
            not inspect.isroutine(found) and type(found).__name__ != "_Function"
        ):  # scipy.fft's functions, which dispatch
            return found
        return plain_only(f"{module.__name__}.{name}", found, reasons.get(name))

    return other


def names_of(module: ModuleType, own: list[str]) -> Callable[[], list[str]]:
    """The ``__dir__`` of a namespace that stands in for a module of SciPy: its public names, and our own."""
    theirs = getattr(module, "__all__", [name for name in dir(module) if not name.startswith("_")])
    return lambda: sorted({*theirs, *own})


def plain_only(name: str, function: Callable[..., Any], reason: str | None = None) -> Callable[..., Any]:
    """``function``, which refuses Variables."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if depends_on_variables((args, options)):
            raise TypeError(
                f"{name} has no derivative in lindiff{': ' + reason if reason else ''}. "
                f"Where its derivative does not matter, give it ld.value(v)"
            )
        return function(*args, **options)

    return call
