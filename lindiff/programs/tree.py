"""What is known of the runs of a function for arguments of one form: recordings with common beginnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lindiff.programs.machine import MISSED, NOTHING
from lindiff.programs.operands import Slot, filled, same
from lindiff.programs.recording import Form, Instruction, Leaving, Recording, form_of, same_function

__all__ = ["Branch", "Result", "Unrepeatable", "run"]


class Unrepeatable(RuntimeError):
    """A function has not done the same again where nothing that a program sees has told it to."""


class Result(NamedTuple):
    """What a function has returned: a tree with slots and constants at its leaves."""

    structure: Any
    leaves: list[Any]
    unflatten: Callable[[list[Any]], Any]

    def is_same(self, other: Result) -> bool:
        return self.structure == other.structure and same(self.leaves, other.leaves)

    def of(self, arrays: list[Any]) -> Any:
        return self.unflatten([arrays[x] if type(x) is Slot else x for x in self.leaves])


class Branch:
    """Instructions up to the next place where runs may differ.

    Attributes
    ----------
    steps : list of Instruction
    forms : list of Form
        Of the arrays in all slots, from the first one of the program on.
    roots : list of (slot, int)
        In whose memory each of them lies, and how many bytes behind its first element.
    fork : Leaving, Instruction or None
        Whose outcome decides how to go on: the value that has left, or the class of an exception.
    outcomes : list of (outcome, Branch)
    result : Result
        Where the program ends, which has no fork.
    confirmed : bool
        A second recording has been the same to the end.
    """

    def __init__(self, recording: Recording, start: int, result: Result) -> None:
        self.steps: list[Instruction] = []
        self.forms: list[Form] = recording.forms
        self.roots: list[tuple[Slot, int]] = recording.roots
        self.fork: Leaving | Instruction | None = None
        self.outcomes: list[tuple[Any, Branch]] = []
        self.result: Result | None = None
        self.confirmed = False
        for i in range(start, len(recording.steps)):
            step = recording.steps[i]
            if isinstance(step, Leaving) or step.raised is not None:
                self.fork = step
                self.outcomes.append((outcome_of(step), Branch(recording, i + 1, result)))
                return
            self.steps.append(step)
        self.result = result

    def child(self, outcome: Any) -> Branch | None:
        """The branch for an outcome of the fork."""
        return next((branch for known, branch in self.outcomes if same(known, outcome)), None)

    @property
    def is_confirmed(self) -> bool:
        """Whether there is an end behind it that two runs have come to."""
        return self.confirmed or any(branch.is_confirmed for _, branch in self.outcomes)

    @property
    def ways(self) -> int:
        """How many ways there are from here."""
        return sum(branch.ways for _, branch in self.outcomes) if self.fork is not None else 1

    def add(self, recording: Recording, result: Result, start: int = 0) -> None:
        """Learn another recording, whose steps from ``start`` on are those of this branch or fork from it."""
        for i, step in enumerate(self.steps):
            other = _step(recording, start + i)
            if other is None or not asks_the_same(step, other):
                raise _difference(step, other)
            if outcome_of(other) != outcome_of(step):
                self._split(i)
                break
            if not same(step.result, other.result):  # type: ignore[union-attr]
                raise _difference(step, other)
        start += len(self.steps)
        other = _step(recording, start)
        if self.fork is None:
            assert self.result is not None
            if other is not None or not self.result.is_same(result):
                raise _difference(None, other)
            self.confirmed = True
            return
        if other is None or not asks_the_same(self.fork, other):
            raise _difference(self.fork, other)
        branch = self.child(outcome_of(other))
        if branch is None:
            if isinstance(other, Instruction) and other.result is not None:
                self.fork = other  # it knows where results go
            self.outcomes.append((outcome_of(other), Branch(recording, start + 1, result)))
        else:
            branch.add(recording, result, start + 1)

    def _split(self, i: int) -> None:
        """Let step ``i``, which has raised nothing so far, be the fork."""
        rest = Branch.__new__(Branch)
        rest.__dict__.update(self.__dict__)
        rest.steps = self.steps[i + 1 :]
        self.fork = self.steps[i]
        self.steps = self.steps[:i]
        self.outcomes = [(outcome_of(self.fork), rest)]
        self.result, self.confirmed = None, False


def _step(recording: Recording, i: int) -> Instruction | Leaving | None:
    return recording.steps[i] if i < len(recording.steps) else None


def outcome_of(step: Instruction | Leaving) -> Any:
    """What decides how a run goes on: a value, the class of an exception, whether there is a result."""
    if isinstance(step, Leaving):
        return step.value
    return step.raised or (NOTHING if step.result is None else None)


def asks_the_same(a: Instruction | Leaving, b: Instruction | Leaving) -> bool:
    """Whether two steps are one but for what has come of it."""
    if type(a) is not type(b) or not same_function(a.function, b.function):
        return False
    if isinstance(a, Leaving):
        return a.slot == b.slot  # type: ignore[union-attr]
    return same((a.args, a.kwargs), (b.args, b.kwargs))  # type: ignore[union-attr]


def _difference(a: Instruction | Leaving | None, b: Instruction | Leaving | None) -> Unrepeatable:
    first, second = (_told(step) for step in (a, b))
    return Unrepeatable(
        "the function has done something else than in a call before with arguments of the same form: "
        f"{first} there, {second} here. What changes by itself (random numbers, counters, clocks) has to be "
        "an argument"
    )


def _told(step: Instruction | Leaving | None) -> str:
    if step is None:
        return "the end"
    name = getattr(step.function, "__name__", str(step.function))
    if isinstance(step, Leaving):
        return f"a look at a value at {step.line}"
    return f"{name}{step.args} at {step.line}"


def run(branch: Branch, arrays: list[Any]) -> Any:
    """The result for arguments in the first slots; `MISSED` where no recording has gone that way."""
    while True:
        for step in branch.steps:
            if not _done(step, arrays, branch.forms):
                return MISSED
        if branch.fork is None:
            assert branch.result is not None
            return branch.result.of(arrays) if branch.confirmed else MISSED
        following = _following(branch, arrays)
        if following is None:
            return MISSED
        branch = following


def _done(step: Instruction, arrays: list[Any], forms: list[Form]) -> bool:
    """Carry a step out; False where it raises, or its result has another form."""
    try:
        value = step.function(*filled(step.args, arrays), **filled(step.kwargs, arrays))
    except Exception:
        return False
    return _put(step.result, value, arrays, forms)


def _following(branch: Branch, arrays: list[Any]) -> Branch | None:
    fork = branch.fork
    if isinstance(fork, Leaving):
        return branch.child(fork.function(arrays[fork.slot]))
    assert fork is not None
    try:
        value = fork.function(*filled(fork.args, arrays), **filled(fork.kwargs, arrays))
    except Exception as error:
        return branch.child(type(error))
    following = branch.child(NOTHING if value is None else None)
    if following is None or (value is not None and not _put(fork.result, value, arrays, following.forms)):
        return None
    return following


def _put(place: Any, value: Any, arrays: list[Any], forms: list[Form]) -> bool:
    """Put a result into its slots; False where it has another form."""
    if type(place) is Slot:
        if place < len(arrays):  # an argument itself
            return arrays[place] is value
        arrays.append(value)
        return form_of(value) == forms[place]
    if isinstance(place, (tuple, list)):
        return (
            type(value) is type(place)
            and len(value) == len(place)
            and all(_put(x, y, arrays, forms) for x, y in zip(place, value, strict=True))
        )
    return place is None and value is None
