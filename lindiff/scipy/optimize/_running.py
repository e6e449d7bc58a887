"""How functions run that a search calls again and again: as they are, or as programs; and what that gains."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from lindiff._tables import aligned, seconds
from lindiff.programs import Program

__all__ = ["Gain", "Gains", "Running", "Searched", "explained", "gains_of", "running"]

# Turns that a time is the median of, or as many as fit into so many seconds, but three; after so many calls.
_TURNS = 25
_SECONDS = 0.2
_CALLS = 3


class Running:
    """What makes of a function the one that a search calls.

    Parameters
    ----------
    program : bool

    Attributes
    ----------
    makes_programs : bool
    programs : list of Program
        Those that were made.
    """

    def __init__(self, program: bool) -> None:
        self.makes_programs = program
        self.programs: list[Program[..., Any]] = []

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        if not self.makes_programs:
            return function
        self.programs.append(Program(function))
        return self.programs[-1]


def running(program: bool) -> Running:
    """How the functions of a search run."""
    return Running(program)


class Gain(NamedTuple):
    """What a call of a search takes.

    Parameters
    ----------
    name : str
        What it computes.
    by_program, by_python : float
        Seconds, medians.
    """

    name: str
    by_program: float
    by_python: float

    @property
    def ratio(self) -> float:
        """How many times as fast the program is."""
        return self.by_python / self.by_program


class Gains(list[Gain]):
    """What programs gain in a search: a list that prints as a table.

    Parameters
    ----------
    rows : list of Gain
    reasons : list of str
        Why functions run without a program after all.
    """

    def __init__(self, rows: list[Gain], reasons: list[str]) -> None:
        super().__init__(rows)
        self.reasons = reasons

    def __str__(self) -> str:
        rows = [
            [row.name, seconds(row.by_program), seconds(row.by_python), f"{row.ratio:.1f} times"]
            for row in self
        ]
        table = aligned(["a call of", "by program", "by Python", "as fast"], rows, left={0})
        return "\n".join([*table, *(f"without a program: {reason}" for reason in self.reasons)])

    __repr__ = __str__


def gains_of(calls_by: Callable[[Running], Mapping[str, Callable[[Any], Any]]], x: Any) -> Gains:
    """The same calls both ways, at a point and next to it, in turns.

    Parameters
    ----------
    calls_by : callable
        From a way to run functions to calls, functions of the flat vector, by names.
    x : (n,) array
    """
    run = running(True)
    by_program, by_python = calls_by(run), calls_by(running(False))
    rows = []
    for name, call in by_program.items():
        ways, times = (call, by_python[name]), ([], [])  # type: tuple[Any, Any], tuple[list[float], list[float]]
        points = x, np.nextafter(x, np.inf)  # what is kept of the last point serves no other
        for way in ways:
            for k in range(_CALLS):
                way(points[k % 2])
        start = time.perf_counter()
        for k in range(_TURNS):
            if k >= 3 and time.perf_counter() - start > _SECONDS:
                break
            for way, found in zip(ways, times, strict=True):
                before = time.perf_counter()
                way(points[k % 2])
                found.append(time.perf_counter() - before)
        rows.append(Gain(name, *(median(found) for found in times)))
    return Gains(rows, [reason for program in run.programs for reason in _reasons(program)])


def _reasons(program: Program[..., Any]) -> list[str]:
    """Why a program, or one of its derivatives, runs as the function does."""
    known, derivatives = program.contents()
    found = [f"{program!r}: {one.reason}" for one in known.values() if one.reason is not None]
    return found + [reason for other in derivatives.values() for reason in _reasons(other)]


class Searched(scipy.optimize.OptimizeResult):  # type: ignore[misc]
    """A result of SciPy's that knows what programs have gained in the search."""

    def explain(self) -> Gains:
        """What the calls of the search take by their programs, and what they take by Python.

        They are called some fifty times for that, where the search has ended.

        Returns
        -------
        Gains
            A list of `name`, `by_program`, `by_python` (seconds) and `ratio` that prints as a table, with why
            functions run without a program after all as its `reasons`.
        """
        return self.__dict__["measured"]()

    def __reduce__(self) -> Any:
        """Pickled and copied it is SciPy's: functions stay behind."""
        return scipy.optimize.OptimizeResult, (dict(self),)


def explained(
    found: Any,
    calls_by: Callable[[Running], Mapping[str, Callable[[Any], Any]]],
    run: Running,
) -> Any:
    """A result that can tell what its programs have gained, if there are any.

    Parameters
    ----------
    found : scipy.optimize.OptimizeResult
        Its `x` is the flat vector.
    calls_by : callable
        The calls of the search, as functions of the flat vector.
    run : Running
        By which the search ran.

    Returns
    -------
    OptimizeResult, or Searched
    """
    if not run.programs:
        return found
    told, x = Searched(found), np.copy(found.x)
    told.__dict__["measured"] = lambda: gains_of(calls_by, x)
    return told
