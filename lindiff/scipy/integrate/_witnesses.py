"""Functions that derivatives ask again, when their solver has gone on: are they still what they were?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Witnessed", "has_changed"]

# Results that are kept of a function, spread over all of its calls.
MOST = 64

# Of the largest result: a program of the same function differs by no more.
ROUNDING = 1e-9


class Witnessed:
    """A function as a solver asks it, with some of its answers.

    Parameters
    ----------
    function : callable
        Of plain numbers and arrays.
    by : callable, optional
        What gives its values to the solver: a program of it.
    """

    def __init__(self, function: Callable[..., Any], by: Callable[..., Any] | None = None) -> None:
        self._function, self._by = function, function if by is None else by
        self._kept: list[tuple[Any, Any]] = []
        self._count, self._stride = 0, 1

    def __call__(self, *args: Any) -> Any:
        y = self._by(*args)
        if self._count % self._stride == 0:
            self._keep(args, y)
        self._count += 1
        return y

    def _keep(self, args: tuple[Any, ...], y: Any) -> None:
        if len(self._kept) == MOST:
            self._kept = self._kept[::2]
            self._stride *= 2
        self._kept.append((tuple(np.copy(x)[()] for x in args), np.copy(y)))

    def refuse_changes(self, what: str) -> None:
        """Raise where the function now gives other answers."""
        size = max((float(np.max(np.abs(y), initial=0.0)) for _, y in self._kept), default=0.0)
        with np.errstate(all="ignore"):
            for args, y in self._kept:
                if not np.allclose(self._function(*args), y, ROUNDING, ROUNDING * size, equal_nan=True):
                    raise has_changed(what)


def has_changed(what: str) -> RuntimeError:
    """What to say where ``what`` is another function than the one that was solved."""
    return RuntimeError(
        f"{what} is another function now than it was: what it reads from an object or its module has changed "
        f"since, or it computes with random numbers; the derivative needs it as it was: let these be args, "
        f"or variables that it closes over"
    )
