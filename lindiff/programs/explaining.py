"""From what a program knows to the tables of an :class:`~lindiff.programs.explanation.Explanation`."""

from __future__ import annotations

import functools
import linecache
import math
import operator
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lindiff.core.names import positional_names
from lindiff.programs.explanation import Array, Explanation, Step
from lindiff.programs.flops import flops
from lindiff.programs.machine import ByPython, Form, Machine, Raised, Stretch, form_of
from lindiff.programs.operands import Slot, leaves_of, slots_of
from lindiff.programs.recorded import VIEWS, itself
from lindiff.programs.recording import Instruction, Leaving
from lindiff.programs.tree import Branch, Tree

__all__ = ["explanation"]

# Runs that times are taken from: so many, or as many as fit into so many seconds, but three.
_RUNS = 30
_SECONDS = 0.5

_VIEWS = {function: name for name, function in VIEWS.items()}

# What the source of a line says for the line that calls the program.
_CALL = "the call: what transforms do for derivatives"

# What does not read the numbers of its operand.
_FILLING = (np.zeros_like, np.ones_like, np.empty_like)

Times = dict[int, list[float]]  # of the steps of a stretch, by its identity


def explanation(
    name: str,
    function: Callable[..., Any],
    key: Any,
    reason: str | None,
    recordings: int,
    callers: set[str],
    tree: Tree | None,
    machine: Machine | None,
    arrays: list[Any] | None,
) -> Explanation:
    """What is known for arguments of one form; with times where ``arrays`` are given."""
    arguments = list(_arguments(function, key))
    inputs = [told for told, part in zip(arguments, key[:-1], strict=True) if _is_form(part)]
    if tree is None:
        changed = "what it read besides its arguments has changed" if recordings else "it is not recorded yet"
        return Explanation(name, arguments, inputs, reason or changed, recordings)
    if reason is None and not tree.confirmed:
        reason = "no two recordings have gone the same way yet"
    elif reason is None and machine is None:
        reason = "results share memory, so Python carries out each operation"
    run, runs, times = None, 0, Times()
    if machine is not None and arrays is not None and tree.confirmed:
        run, runs, times = _measured(machine, arrays)
    return Explanation(
        name,
        arguments,
        inputs,
        reason,
        recordings,
        tree.ways,
        None if machine is None else machine.layout.arena,
        run,
        runs,
        list(_Rows(callers, times).of(tree, None if machine is None else machine.start)),
    )


# -- arguments ---------------------------------------------------------------------------------------------


def _is_form(part: Any) -> bool:
    """Whether this is the part of a key that stands for an array."""
    return isinstance(part, tuple) and isinstance(part[0], Form)


def _arguments(function: Callable[..., Any], key: Any) -> Iterator[tuple[str, str]]:
    """Name and form of each leaf of the arguments, of which ``key`` is the key of a program."""
    *parts, (_, _, ((_, args), (_, kwargs))) = key
    names = positional_names(function)
    paths: list[str] = []
    for i, (_, part) in enumerate(args[2] if args else ()):
        paths += _paths(part, names[i] if i < len(names) else f"argument {i}")
    for (_, keyword), part in kwargs[2] if kwargs else ():
        paths += _paths(part, keyword.strip("'\""))
    for path, part in zip(paths, parts, strict=True):
        yield path, _form_of_part(part)


def _paths(structure: Any, at: str) -> list[str]:
    if not structure:
        return [at]
    return [path for key, part in structure[2] for path in _paths(part, f"{at}[{_key(key)}]")]


def _key(key: Any) -> str:
    return key[1] if isinstance(key, tuple) else "..."


def _form_of_part(part: Any) -> str:
    """What the key of a program says of one leaf."""
    if not isinstance(part, tuple):
        return f"of {type(part.x).__name__}"
    what, text = part[:2]
    if not isinstance(what, Form):
        return f"= {text}"
    shape, dtype = _array(what)
    return str(shape) if dtype == "float64" else f"{shape} {dtype}"


# -- rows --------------------------------------------------------------------------------------------------


class _Rows:
    """The rows of a tree: all steps in their order, those of one way after those of the other."""

    def __init__(self, callers: set[str], times: Times) -> None:
        self.callers, self.times = callers, times
        self.places: dict[str, dict[str, Any]] = {}

    def of(self, tree: Tree, start: Stretch | None) -> Iterator[Step]:
        pending: list[tuple[Branch, Stretch | None, tuple[str, ...]]] = [(tree.root, start, ())]
        while pending:
            branch, stretch, way = pending.pop()
            yield from self.operations(branch, stretch, way)
            if branch.fork is None:
                yield _return(branch, way)
                continue
            measured = None if stretch is None else self.times.get(id(stretch))
            guard = self.guard(branch, way, None if measured is None else measured[-1])
            yield guard
            for outcome, following in reversed(branch.outcomes):
                after = None if stretch is None else _after(stretch, outcome)
                seen = f"{guard.text.removeprefix('guard ')} is {_outcome(outcome)}"
                pending.append((following, after, (*way, seen) if len(branch.outcomes) > 1 else way))

    def operations(self, branch: Branch, stretch: Stretch | None, way: tuple[str, ...]) -> Iterator[Step]:
        """The operations of a branch; without a machine, Python does each."""
        everything = range(len(branch.steps))
        steps, python, seconds = Counter(everything), set(everything), None
        if stretch is not None:
            steps, python, seconds = _carried_out(stretch, self.times.get(id(stretch)))
        for number, step in enumerate(branch.steps):
            by = "Python" if number in python else "C" if steps[number] else ""
            took = seconds[number] if seconds is not None and by else None
            yield self.operation(step, branch, way, by, steps[number], took)

    def operation(
        self, step: Instruction, branch: Branch, way: tuple[str, ...], by: str, steps: int, took: float | None
    ) -> Step:
        given = leaves_of((step.args, step.kwargs))
        forms = branch.forms
        inputs, outputs = (
            [_form(x, forms) for x in part if _is_array(x)] for part in (given, leaves_of(step.result))
        )
        shapes = [form.shape for form in inputs]
        return Step(
            kind="operation",
            name=_name(step.function),
            text=_call_of(step),
            inputs=list(map(_array, inputs)),
            outputs=list(map(_array, outputs)),
            seen=[],
            way=way,
            **self.place_of(step.line),
            by=by,
            steps=steps,
            flops=flops(step.function, shapes, outputs[0].shape if outputs else ()),
            bytes=_moved(step, forms) if by else 0,
            seconds=took,
            reads=tuple(map(int, slots_of(given))),
            writes=_written(step, branch),
        )

    def guard(self, branch: Branch, way: tuple[str, ...], took: float | None) -> Step:
        """What decides how a branch goes on."""
        fork = branch.fork
        assert fork is not None
        if isinstance(fork, Leaving):
            text = str(fork.slot) if fork.function is itself else f"{_name(fork.function)}({fork.slot})"
            given = [fork.slot]
        else:
            text = _call_of(fork._replace(result=None))
            given = slots_of((fork.args, fork.kwargs))
        return Step(
            kind="guard",
            name=_name(fork.function),
            text=f"guard {text}",
            inputs=[_array(branch.forms[x]) for x in given],
            outputs=[],
            seen=[_outcome(outcome) for outcome, _ in branch.outcomes],
            way=way,
            **self.place_of(fork.line),
            by="Python",
            steps=0,
            flops=None,
            bytes=0,
            seconds=took,
            reads=tuple(map(int, given)),
            writes=tuple(map(int, slots_of([following.place for _, following in branch.outcomes]))),
        )

    def place_of(self, line: str) -> dict[str, Any]:
        """File, line and its text."""
        if line not in self.places:
            self.places[line] = self.place(line)
        return self.places[line]

    def place(self, line: str) -> dict[str, Any]:
        file, _, number = line.rpartition(":")
        if not number.isdigit():
            return {"file": None, "line": None, "source": ""}
        called = line in self.callers and file != "<stdin>"  # where all lines have the number 1
        source = _CALL if called else linecache.getline(file, int(number)).strip()
        return {"file": file, "line": int(number), "source": source}


def _after(stretch: Stretch, outcome: Any) -> Stretch:
    return next(following for known, following, _ in stretch.outcomes if known is outcome)


def _carried_out(
    stretch: Stretch, measured: list[float] | None
) -> tuple[Counter[int], set[int], dict[int, float] | None]:
    """By instruction: how many steps it takes, whether Python does them, and how long that takes.

    Instructions that one step carries out together have equal parts of its time.
    """
    steps: Counter[int] = Counter()
    python: set[int] = set()
    seconds: dict[int, float] = defaultdict(float)
    for i, step in enumerate(stretch.unit.kept):
        numbers = step.of
        steps.update(numbers)
        if isinstance(step, ByPython):
            python.update(numbers)
        for number in numbers if measured else ():
            seconds[number] += measured[i] / len(numbers)  # type: ignore[index]
    return steps, python, None if measured is None else seconds


def _written(step: Instruction, branch: Branch) -> tuple[int, ...]:
    """The arrays that a step gives; what gives none writes to its first operand, and where that lies."""
    given = slots_of((step.args, step.kwargs))
    results = slots_of(step.result)
    in_place = [x for x in results if x in given] if results else slots_of(step.args[:1])
    return tuple(map(int, [*results, *in_place, *(branch.roots[x][0] for x in in_place)]))


def _return(branch: Branch, way: tuple[str, ...]) -> Step:
    assert branch.result is not None
    leaves = branch.result.leaves
    return Step(
        kind="return",
        name="return",
        text=f"return {', '.join(map(_told, leaves))}",
        inputs=[],
        outputs=[_array(_form(x, branch.forms)) for x in leaves if _is_array(x)],
        seen=[],
        way=way,
        file=None,
        line=None,
        source="",
        by="",
        steps=0,
        flops=None,
        bytes=0,
        seconds=None,
        reads=tuple(map(int, slots_of(leaves))),
    )


def _is_array(x: Any) -> bool:
    return isinstance(x, (Slot, np.ndarray))


def _form(x: Any, forms: list[Form]) -> Form:
    return forms[x] if type(x) is Slot else form_of(x)


@functools.lru_cache(4096)  # NumPy is slow to tell the name of a dtype
def _array(form: Form) -> Array:
    return form.shape, form.kind.__name__ if form.dtype is None else str(form.dtype)


def _moved(step: Instruction, forms: list[Form]) -> int:
    """The bytes of what an operation reads and writes; of a part of an array, those of the part."""
    if step.function in (operator.getitem, operator.setitem):
        return 2 * _part(_form(step.args[0], forms), step.args[1])
    arrays = leaves_of((() if step.function in _FILLING else (step.args, step.kwargs), step.result))
    own = sum(x.nbytes for x in arrays if isinstance(x, np.ndarray))
    return own + sum(_size(forms[x]) for x in {x for x in arrays if type(x) is Slot})


def _size(form: Form) -> int:
    return 0 if form.dtype is None else math.prod(form.shape) * form.dtype.itemsize


def _part(form: Form, index: Any) -> int:
    """The bytes of ``x[index]``; of all of x where the index is not known before."""
    if form.dtype is None or slots_of(index):
        return _size(form)
    return int(np.broadcast_to(np.empty((), form.dtype), form.shape)[index].nbytes)


# -- text --------------------------------------------------------------------------------------------------


def _name(function: Any) -> str:
    """``exp`` for ``np.exp``, ``add.reduce`` for ``np.add.reduce``."""
    if function in _VIEWS:
        return _VIEWS[function]
    name = str(getattr(function, "__name__", function))
    owner = getattr(function, "__self__", None)
    return f"{owner.__name__}.{name}" if isinstance(owner, np.ufunc) else name


def _call_of(step: Instruction) -> str:
    """``%5 = exp(%3)``."""
    args = [_told(x) for x in step.args]
    if step.function is operator.setitem:
        return f"{args[0]}[{_index(step.args[1])}] = {args[2]}"
    if step.function is operator.getitem:
        call = f"{args[0]}[{_index(step.args[1])}]"
    elif step.function in _VIEWS:
        call = f"{args[0]}.{_VIEWS[step.function]}"
    else:
        options = [f"{name}={_told(x)}" for name, x in step.kwargs.items()]
        call = f"{_name(step.function)}({', '.join([*args, *options])})"
    return call if step.result is None else f"{_told(step.result)} = {call}"


def _told(x: Any) -> str:
    """A tree of operands as text; arrays by their shapes."""
    if isinstance(x, tuple):
        return f"({', '.join(map(_told, x))}{',' if len(x) == 1 else ''})"
    if isinstance(x, list):
        return f"[{', '.join(map(_told, x))}]"
    if isinstance(x, np.ndarray):
        return f"array{x.shape}" if x.size > 1 else str(x.tolist())
    if isinstance(x, np.generic):
        return str(x.item())
    if type(x) is slice:
        ends = [":" if part is None else _told(part) for part in (x.start, x.stop, x.step)]
        return f"slice({', '.join(ends)})"
    return x.__name__ if isinstance(x, type) else repr(x)


def _index(index: Any) -> str:
    """``1:, ...`` between brackets."""
    if isinstance(index, tuple) and index:
        return ", ".join(map(_index, index))
    if type(index) is slice:
        start, stop, step = (
            "" if part is None else _told(part) for part in (index.start, index.stop, index.step)
        )
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return "..." if index is Ellipsis else _told(index)


def _outcome(outcome: Any) -> str:
    """What has come of a guard: a value, an exception, the forms of results."""
    if isinstance(outcome, Raised):
        return outcome.kind.__name__
    if isinstance(outcome, tuple) and outcome and all(isinstance(form, Form) for form in outcome):
        return ", ".join(str(form.shape) for form in outcome)
    return _told(outcome)


# -- times -------------------------------------------------------------------------------------------------


def _measured(machine: Machine, arrays: list[Any]) -> tuple[float | None, int, Times]:
    """Medians over several runs: of a whole run, and of each step by itself."""
    whole: list[float] = []
    single: list[list[tuple[Stretch, list[int]]]] = []
    end = time.perf_counter() + _SECONDS
    while len(whole) < _RUNS and (len(whole) < 3 or time.perf_counter() < end):
        start = time.perf_counter()
        machine(arrays)
        whole.append(time.perf_counter() - start)
        steps = machine.timed(arrays)
        if steps is None:  # a way that is not known
            return None, 0, {}
        single.append(steps)
    times = {}
    for runs in zip(*single, strict=True):
        stretch = runs[0][0]
        times[id(stretch)] = (np.median([steps for _, steps in runs], axis=0) * 1e-9).tolist()
    return float(np.median(whole)), len(whole), times
