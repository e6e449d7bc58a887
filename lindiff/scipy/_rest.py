"""The functions of a SciPy module that have no derivatives here: SciPy's own, for plain arrays only."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from lindiff.core.record import is_recording
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
    """``function``, which refuses Variables, and functions that return them."""

    def refusal() -> TypeError:
        return TypeError(
            f"{name} has no derivative in lindiff{': ' + reason if reason else ''}. "
            f"Where its derivative does not matter, give it ld.value(v)"
        )

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if depends_on_variables((args, options)):
            raise refusal()
        if not is_recording():
            return function(*args, **options)
        found: list[Any] = []  # of Variables, which functions have returned

        def of_plain_results(x: Any) -> Any:
            return _stopped_at_variables(x, found, refusal) if _is_function(x) else x

        try:
            return function(
                *map(of_plain_results, args), **{name: of_plain_results(x) for name, x in options.items()}
            )
        except Exception:
            if found:  # it has words of its own for that
                raise refusal() from None
            raise

    return call


def _is_function(x: Any) -> bool:
    return isinstance(x, (types.FunctionType, types.MethodType, functools.partial))


def _stopped_at_variables(
    f: Callable[..., Any], found: list[Any], refusal: Callable[[], TypeError]
) -> Callable[..., Any]:
    """A function that raises where it would return a Variable, which it puts into ``found``."""

    def stopped(*args: Any, **options: Any) -> Any:
        y = f(*args, **options)
        if depends_on_variables(y):
            found.append(y)
            raise refusal()
        return y

    return functools.update_wrapper(stopped, f)
