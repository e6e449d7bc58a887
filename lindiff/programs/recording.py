"""What one run of a function did: its operations in their order, and the values that left them.

A recording is made by :class:`~lindiff.programs.recorded.Recorded` arrays: every operation of theirs is
carried out at once, and leaves an :class:`Instruction`.  Where Python gets to see a value (``if x > 0``,
``float(x)``), it leaves a guard.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from lindiff.programs.machine import Form, address, form_of
from lindiff.programs.operands import Slot

__all__ = [
    "Instruction",
    "Leaving",
    "Recording",
    "Unrecordable",
    "is_lindiffs",
    "line_of_user",
]

# Operations of a program: the memory of a recording is some kB for each.
_MOST = 5_000_000
_OURS = ("lindiff.", "numpy.", "contextlib.")


class Unrecordable(BaseException):
    """The function does something that no program repeats; it runs without one then.

    No Exception: the function's own ``except`` must not catch it.
    """


class Instruction(NamedTuple):
    """``function(*args, **kwargs)``, whose arrays are in slots.

    Attributes
    ----------
    function : callable
        Of plain arrays.
    args, kwargs : tuple, dict
        Nested tuples, lists, dicts and slices, in which `Slot` stands for an array.
    result : tree
        Of `Slot` where the result has arrays, and of what else it has.
    raised : type or None
        The class of the exception that it has raised; there is no result then.
    line : str
        Where the user's code says so.
    quiet : bool
        NumPy was told not to warn of what is not finite.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any
    raised: type[BaseException] | None
    line: str
    quiet: bool = False


class Leaving(NamedTuple):
    """A guard: ``function(x)``, of what is in a slot, has been ``value``."""

    function: Callable[[Any], Any]
    slot: Slot
    value: Any
    line: str


class Recording:
    """The steps of one run, and the forms of the arrays that it has made."""

    def __init__(self) -> None:
        self.steps: list[Instruction | Leaving] = []
        self.forms: list[Form] = []
        self.lines: list[str] = []
        self.roots: list[tuple[Slot, int]] = []
        self._spans: dict[Slot, tuple[int, int, int]] = {}
        self.captured: list[np.ndarray[Any, Any]] = []  # the arrays that are constants of operations
        self._contents: dict[int, np.ndarray[Any, Any]] = {}
        self.ended = False
        self.arguments = 0
        self.writes_arguments = False
        self._loud = np.geterr()
        self._filters = warnings.filters

    def note_write(self, slot: Slot) -> None:
        """Something is written into the array in a slot."""
        if self.roots[slot][0] < self.arguments:
            self.writes_arguments = True

    def is_quiet(self) -> bool:
        """Whether NumPy is told not to warn; it may be told nothing else than at the start."""
        told = np.geterr()
        if warnings.filters is not self._filters:
            raise Unrecordable("it changes what becomes of warnings")
        if told == self._loud:
            return False
        if any(told[kind] != "ignore" for kind in ("divide", "over", "invalid")):
            raise Unrecordable("it changes what NumPy does about numbers that are not finite")
        return True

    def constant(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What an array of the function's own is now: it may be written to later."""
        known = self._contents.get(id(x))
        if (
            known is None
            or known.shape != x.shape
            or known.dtype != x.dtype
            or known.tobytes() != x.tobytes()
        ):
            known = self._contents[id(x)] = x.copy(order="K")
            self.captured.append(x)
        return known

    def add(self, step: Instruction | Leaving) -> None:
        if len(self.steps) >= _MOST:
            raise Unrecordable(f"more than {_MOST} operations")
        self.steps.append(step)

    def new_slot(self, array: Any, line: str, given: Iterable[Slot] = ()) -> Slot:
        """A slot for an array, which may be a view of one of those in the slots ``given``."""
        slot = Slot(len(self.lines))
        self.forms.append(form_of(array))
        self.lines.append(line)
        self.roots.append((slot, 0))
        if not isinstance(array, np.ndarray):
            return slot
        first, low, high = address(array)
        if array.base is not None:
            for other in given:
                root, _ = self.roots[other]
                if root not in self._spans:
                    continue
                start, root_low, root_high = self._spans[root]
                if root_low <= low and high <= root_high and low < high:
                    self.roots[-1] = (root, first - start)
                    return slot
        self._spans[slot] = first, low, high
        return slot

    def refuse_ended(self, slot: Slot) -> None:
        if self.ended:
            raise RuntimeError(
                f"an array of a program was kept beyond the call that made it, at {self.lines[slot]}: "
                "return it as a result"
            )


def is_lindiffs(frame: FrameType) -> bool:
    """Whether the code of a frame is lindiff's."""
    return f"{frame.f_globals.get('__name__', '')}.".startswith("lindiff.")


def is_ours(frame: FrameType) -> bool:
    """Whether the code of a frame is lindiff's or NumPy's."""
    name = frame.f_globals.get("__name__", "")
    known = _ours.get(name)
    if known is None:
        known = _ours[name] = f"{name}.".startswith(_OURS)
    return known


_ours: dict[str, bool] = {}


def line_of_user() -> str:
    """The file and line of the innermost code that is not lindiff's or NumPy's."""
    frame = sys._getframe(1)
    while frame is not None:
        if not is_ours(frame):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "?"


def same_function(f: Any, g: Any) -> bool:
    """Whether two functions are one: methods of ufuncs are made anew each time."""
    return f is g or (
        hasattr(f, "__self__")
        and getattr(g, "__self__", None) is f.__self__
        and getattr(f, "__name__", f) == getattr(g, "__name__", g)
        and isinstance(f.__self__, np.ufunc)
    )
