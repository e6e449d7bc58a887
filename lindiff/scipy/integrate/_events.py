"""Events of a solution, and the solution at any time, with derivatives.

An event is where g(t, y(t, p), p) = 0.  Its time moves with the parameters by the implicit function theorem,

    dt = -(∂g/∂y · y_p + g_p) dp / (dg/dt along the solution),

of any order, whatever has found it: E. Hairer, S. P. Nørsett, G. Wanner (1993), Solving Ordinary Differential
Equations I, II.6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.record import is_recording
from lindiff.core.variable import value
from lindiff.programs.closures import Opened, closed_over
from lindiff.rules._common import depends_on_variables
from lindiff.transforms.implicit import implicit

__all__ = ["DenseSolution", "end_of", "move", "plainly", "times_of"]

# Of times, the states: (n, times), from the begin of the problem to an end.
States = Callable[[Any, Any], Any]


def move(events: list[Callable[..., Any]], t: Any, y: Any, args: tuple[Any, ...]) -> bool:
    """Whether events depend on Variables that they find by themselves, where a problem begins."""
    return bool(events) and is_recording() and depends_on_variables([e(t, y, *args) for e in events])


def plainly(event: Callable[..., Any], args: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
    """An event for SciPy, without the Variables that it is given or closes over."""
    opened = Opened(event)
    contents, plain_args = value(opened.contents), value(args)

    def plain(t: Any, y: Any) -> Any:
        return value(closed_over(opened.closing_over, contents, (t, y, *plain_args)))

    for name in ("terminal", "direction"):
        if hasattr(event, name):
            setattr(plain, name, getattr(event, name))
    return plain


def times_of(event: Callable[..., Any], args: tuple[Any, ...], found: Any, states: States, end: Any) -> Any:
    """When an event has happened, of plain times, with their derivatives.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, where the event grazes the solution: its time is no smooth function then.
    """
    if not len(found):
        return found

    def equations(ts: Any) -> Any:
        Y = states(ts, end)
        return np.stack([np.reshape(event(t, y, *args), ()) for t, y in zip(ts, Y.T, strict=True)])

    return implicit(lambda: found, equations, linear_solve="diagonal")()


def end_of(events: list[Callable[..., Any]], times: list[Any], forward: bool) -> Any:
    """The time of the terminal event that has ended a solution."""
    last = [
        ts[-1] for event, ts in zip(events, times, strict=True) if getattr(event, "terminal", 0) and len(ts)
    ]
    return (max if forward else min)(last, key=value)


class DenseSolution:
    """The solution as a function of time, differentiable in it and in the parameters.

    A call that has a derivative integrates once more.

    Parameters
    ----------
    states : callable
        Of times that follow each other.
    begin, end : number
    plain : callable, optional
        SciPy's solution, where this depends on nothing but the time.
    """

    def __init__(self, states: Callable[[Any], Any], begin: Any, end: Any, plain: Any = None) -> None:
        self._states, self._forward, self._plain = states, value(begin) <= value(end), plain
        self.t_min, self.t_max = sorted((float(value(begin)), float(value(end))))

    def __call__(self, t: Any) -> Any:
        """The states, (n,) at a number, (n, times) at an array of one axis.

        Raises
        ------
        ValueError
            If times are not between begin and end, or have two axes.
        """
        if self._plain is not None and not depends_on_variables(t):
            return self._plain(t)
        times = np.ravel(t)
        if np.ndim(t) > 1:
            raise ValueError("sol(t): t must be a number, or an array of one axis")
        plain = value(times)
        if np.any((plain < self.t_min) | (plain > self.t_max)):
            raise ValueError(f"sol(t): t must lie between {self.t_min} and {self.t_max}")
        if plain.size == 0:
            raise ValueError("sol(t): t has no times")
        _, first, back = np.unique(plain if self._forward else -plain, return_index=True, return_inverse=True)
        Y = self._states(times[first])[:, back]
        return Y if np.ndim(t) else Y[:, 0]
