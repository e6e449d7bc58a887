"""How functions run that a search calls again and again: as they are, or as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lindiff.programs import Program

__all__ = ["Running", "running"]

Running = Callable[[Callable[..., Any]], Callable[..., Any]]


def running(program: bool) -> Running:
    """What makes of a function the one that a search calls."""
    return Program if program else _as_it_is


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function
