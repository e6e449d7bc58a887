"""What is known of the runs of a function for arguments of one form: recordings with common beginnings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from lindiff.programs.machine import MISSED, Form, form_of, raised
from lindiff.programs.operands import Slot, filled, leaves_of, same
from lindiff.programs.recording import Instruction, Leaving, Recording, repeated, same_function

__all__ = ["Branch", "Result", "Tree", "Unrepeatable", "run"]


class Unrepeatable(RuntimeError):
    """A function has not done the same again where nothing that a program sees has told it to."""


class Result(NamedTuple):
    """What a function has returned: a tree with slots and constants at its leaves."""

    structure: Any
    leaves: list[Any]
    unflatten: Callable[[list[Any]], Any]

    def is_same(self, other: Result) -> bool:
        """Whether the other one gives the same, and has the same arrays twice."""
        return (
            self.structure == other.structure
            and same(self.leaves, other.leaves)
            and _firsts(self.leaves) == _firsts(other.leaves)
        )

    def of(self, arrays: list[Any]) -> Any:
        copies = {id(x): x.copy(order="K") for x in self.leaves if type(x) is np.ndarray}
        return self.unflatten([arrays[x] if type(x) is Slot else copies.get(id(x), x) for x in self.leaves])


def _firsts(leaves: list[Any]) -> list[int]:
    """Where each of the arrays is met first."""
    places: dict[int, int] = {}
    return [places.setdefault(id(x), i) for i, x in enumerate(leaves) if type(x) is np.ndarray]


class Tree:
    """All runs that are known for arguments of one form.

    Attributes
    ----------
    root : Branch
    ways : int
        How many ends there are.
    confirmed : bool
        Two runs have come to one of them.
    """

    def __init__(self, recording: Recording, result: Result) -> None:
        self.ways = 1
        self.root = _branches(recording, 0, result)

    @property
    def confirmed(self) -> bool:
        return self.root.confirmed

    def add(self, recording: Recording, result: Result) -> None:
        """Learn another run.

        Raises
        ------
        Unrepeatable
            If it has done something else where nothing has told it to.
        """
        branch, start, passed = self.root, 0, []
        while True:
            start = branch.follow(recording, start)
            passed.append(branch)
            if branch.fork is None:
                assert branch.result is not None
                if not branch.result.is_same(result):
                    raise _difference(None, None)
                for known in passed:
                    known.confirmed = True
                return
            outcome = outcome_of(recording.steps[start], recording.forms)
            following = branch.child(outcome)
            start += 1
            if following is None:
                following = _branches(recording, start, result)
                following.place = _place(recording.steps[start - 1])
                branch.outcomes.append((outcome, following))
                self.ways += 1
                return
            branch = following


def _branches(recording: Recording, start: int, result: Result) -> Branch:
    """What a recording has done from step ``start`` on, one branch behind the other."""
    first = branch = Branch(recording.forms, recording.roots)
    for step in recording.steps[start:]:
        if not isinstance(step, Leaving) and step.raised is None:
            branch.steps.append(step)
            continue
        branch.fork = step
        following = Branch(recording.forms, recording.roots)
        following.place = _place(step)
        branch.outcomes.append((outcome_of(step, recording.forms), following))
        branch = following
    branch.result = result
    return first


def _place(step: Instruction | Leaving) -> Any:
    """Where the result of a step goes from which branches fork."""
    return step.result if isinstance(step, Instruction) else None


class Branch:
    """Instructions up to the next place where runs may differ.

    Attributes
    ----------
    steps : list of Instruction
    forms : list of Form
        Of the arrays in all slots, from the first one of the program on.
    roots : list of (slot, int, slot)
        In whose memory each of them lies, as a `Recording` has it.
    place : tree of slots
        Where what the instruction has given goes that it forks from.
    fork : Leaving, Instruction or None
        Whose outcome decides how to go on: the value that has left, the class of an exception, the forms of
        what is given.
    outcomes : list of (outcome, Branch)
    result : Result
        Where the program ends, which has no fork.
    confirmed : bool
        Two runs have come to an end that is reached from here.
    """

    def __init__(self, forms: list[Form], roots: list[tuple[Slot, int, Slot]]) -> None:
        self.steps: list[Instruction] = []
        self.forms = forms
        self.roots = roots
        self.place: Any = None
        self.fork: Leaving | Instruction | None = None
        self.outcomes: list[tuple[Any, Branch]] = []
        self.result: Result | None = None
        self.confirmed = False

    def child(self, outcome: Any) -> Branch | None:
        """The branch for an outcome of the fork."""
        return next((branch for known, branch in self.outcomes if same(known, outcome)), None)

    def follow(self, recording: Recording, start: int) -> int:
        """How far a recording has done the same, from step ``start`` on: up to the fork, or the end."""
        for i in range(repeated(self.steps, self.forms, recording, start), len(self.steps)):
            step, other = self.steps[i], _step(recording, start + i)
            if other is None or not asks_the_same(step, other):
                raise _difference(step, other)
            if not same(outcome_of(step, self.forms), outcome_of(other, recording.forms)):
                self._split(i)
                break
            if not same(step.result, other.result):  # type: ignore[union-attr]
                raise _difference(step, other)
        start += len(self.steps)
        other = _step(recording, start)
        if (self.fork is None) != (other is None) or (
            self.fork is not None and other is not None and not asks_the_same(self.fork, other)
        ):
            raise _difference(self.fork, other)
        return start

    def _split(self, i: int) -> None:
        """Let step ``i``, of which one thing has come so far, be the fork."""
        step = self.steps[i]
        rest = Branch.__new__(Branch)
        rest.__dict__.update(self.__dict__)
        rest.steps, rest.place = self.steps[i + 1 :], step.result
        self.fork = step
        self.steps = self.steps[:i]
        self.outcomes = [(outcome_of(step, self.forms), rest)]
        self.result = None


def _step(recording: Recording, i: int) -> Instruction | Leaving | None:
    return recording.steps[i] if i < len(recording.steps) else None


def outcome_of(step: Instruction | Leaving, forms: list[Form]) -> Any:
    """What decides how a run goes on: a value, the class of an exception, the forms of results."""
    if isinstance(step, Leaving):
        return step.value
    if step.raised is not None:
        return step.raised
    return tuple([forms[x] if type(x) is Slot else form_of(x) for x in leaves_of(step.result)])


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


def run(tree: Tree, arrays: list[Any]) -> Any:
    """The result for arguments in the first slots; `MISSED` where no two recordings have gone that way."""
    branch = tree.root
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
        value = _value(step, arrays)
    except Exception:
        return False
    return _put(step.result, value, arrays, forms)


def _value(step: Instruction, arrays: list[Any]) -> Any:
    with np.errstate(all="ignore") if step.quiet else nullcontext():
        return step.function(*filled(step.args, arrays), **filled(step.kwargs, arrays))


def _following(branch: Branch, arrays: list[Any]) -> Branch | None:
    fork = branch.fork
    if isinstance(fork, Leaving):
        try:
            return branch.child(fork.function(arrays[fork.slot]))
        except Exception as error:
            return branch.child(raised(error))
    assert fork is not None
    try:
        value = _value(fork, arrays)
    except Exception as error:
        return branch.child(raised(error))
    following = branch.child(tuple(map(form_of, leaves_of(value))))
    return following if following and _put(following.place, value, arrays, following.forms) else None


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
