"""``program(f)``: a function whose runs are recorded, and then repeated without its Python code."""

from __future__ import annotations

import dataclasses
import functools
import gc
import operator
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from lindiff.core import pytree
from lindiff.core.constants import users_frame
from lindiff.core.names import importable_name
from lindiff.core.observer import observing
from lindiff.core.variable import Variable
from lindiff.programs.compiling import compiled
from lindiff.programs.explaining import explanation
from lindiff.programs.explanation import Explanation, Explanations
from lindiff.programs.machine import MISSED, WARNED, Form, form_of
from lindiff.programs.matching import Arguments
from lindiff.programs.recorded import Recorded, is_number, recorded
from lindiff.programs.recording import Leaving, Recording, Unrecordable
from lindiff.programs.surroundings import Surroundings
from lindiff.programs.tree import Result, Tree, run

P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["Program", "program"]

# Recordings in a row of which none was of use, and ways in all, before the function runs as it did.
_PATIENCE = 8
_WAYS = 256

# Forms of arguments that are looked for first.
_RECENT = 4

# Calls after which a program is known: two are recorded, the third one makes the machine.
_CALLS = 3

# How many forms of arguments are known at a time.
_FORMS = 64

# Constants that are what they look like.
_PLAIN = (bool, int, float, complex, str, bytes, type(None))

# Results that are no arrays.
_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), np.dtype, type)


class Known:
    """What is known of the runs for arguments of one form."""

    def __init__(self) -> None:
        self.tree: Tree | None = None
        self.machine: Any = None  # of the tree; False where it has none
        self.surroundings: Surroundings | None = None
        self.recordings = 0
        self.callers: set[str] = set()  # the lines that it was called from while it was recorded
        self.in_vain = 0
        self.reason: str | None = None  # why it runs without a program

    def forget(self) -> None:
        self.tree = self.machine = self.surroundings = None

    def run(self, arrays: list[Any]) -> Any:
        """The result for these arguments; MISSED where no two runs have gone that way."""
        tree, surroundings = self.tree, self.surroundings
        if tree is None or surroundings is None or not tree.confirmed:
            return MISSED
        if not surroundings.unchanged():
            self.forget()
            return MISSED
        machine = self.machine_of(tree, len(arrays))
        return machine(arrays) if machine else run(tree, list(arrays))

    def machine_of(self, tree: Tree, arguments: int) -> Any:
        """The machine of the tree; False where it has none."""
        machine = self.machine
        if machine is None:
            with _uncollected():
                machine = compiled(tree, arguments) or False
            if self.tree is tree:
                self.machine = machine
        return machine


class Program(Generic[P, R]):
    """A function as :func:`program` returns it."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._known: dict[Any, Known] = {}
        self._recent: list[tuple[Arguments, Known]] = []
        self._in_vain = 0  # forms of arguments in a row of which no program was of use
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        return importable_name(self) or (type(self), (self._function,))

    def __repr__(self) -> str:
        return f"<program of {getattr(self._function, '__qualname__', self._function)}>"

    def explain(self, *args: Any, **kwargs: Any) -> Explanation | Explanations:
        """What the program does, operation by operation, and what that costs.

        Parameters
        ----------
        *args, **kwargs
            Those of the function.  It is called with them until their program is known, at most three times,
            and the program then runs some thirty times with a clock beside it (half a second, if it is long).
            Without arguments nothing is called.  A row takes some 30 µs: a program of 100 000 operations is
            explained as fast as it is recorded.

        Returns
        -------
        Explanation
            For arguments of this form; a table that prints, and a sequence of its rows
            (:class:`~lindiff.programs.explanation.Step`), with ``total``, ``by_line()``, ``by_operation()``,
            ``listing()`` and ``to_pandas()``.  A long program is printed by lines of source.
        Explanations
            Without arguments: a list of these for all forms that are known, without times.

        Notes
        -----
        What is carried out "by Python" is what to look for.  The times of single steps on few numbers are
        about what a look at the clock takes, and no more than a guess; sums over lines are better.

        Examples
        --------
        >>> import numpy as np
        >>> from lindiff.programs import program
        >>> f = program(lambda x: np.sum(np.exp(x) * x) if x[0] > 0 else x[0])
        >>> explained = f.explain(np.ones(100))
        >>> [(row.text, row.by, row.bytes) for row in explained[:3]]
        [('%1 = %0[0]', 'C', 16), ('%2 = greater(%1, 0)', 'C', 9), ('guard bool(%2)', 'Python', 0)]
        >>> explained[2].seen, explained.recordings, explained.ways
        (['True'], 2, 1)
        """
        if not args and not kwargs:
            return Explanations(
                repr(self), [self._explained(key, known) for key, known in self._known.items()]
            )
        leaves, _ = pytree.flatten((args, kwargs))
        key = _key(leaves, (args, kwargs))
        for _ in range(_CALLS):
            before = self._known[key].recordings if key in self._known else 0
            self(*args, **kwargs)
            if key not in self._known:
                return Explanation(repr(self), [], [], "it has none for arguments like these")
            if self._known[key].recordings == before:
                break
        return self._explained(key, self._known[key], [x for x in leaves if _is_array(x)])

    def _explained(self, key: Any, known: Known, arrays: list[Any] | None = None) -> Explanation:
        tree = known.tree
        machine = None
        if tree is not None:
            count = sum(isinstance(part, tuple) and isinstance(part[0], Form) for part in key[:-1])
            machine = known.machine_of(tree, count) or None
        facts = known.reason, known.recordings, known.callers
        with _uncollected():
            return explanation(repr(self), self._function, key, *facts, tree, machine, arrays)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if not observing():
            for form, known in self._recent:
                arrays = form.arrays(args, kwargs)
                if arrays is not None:
                    result: Any = known.run(arrays)
                    if result is WARNED:
                        return self._function(*args, **kwargs)
                    if result is not MISSED:
                        known.in_vain = self._in_vain = 0
                        return result
                    break
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        if self._in_vain > _FORMS:
            return self._function(*args, **kwargs)
        leaves, unflatten = pytree.flatten((args, kwargs))
        key = _key(leaves, (args, kwargs))
        if key is None or observing() or not _only_warns():
            return self._function(*args, **kwargs)
        known = self._known.get(key)
        if known is None:
            with self._lock:
                while len(self._known) >= _FORMS:  # the oldest one
                    del self._known[next(iter(self._known))]
                known = self._known.setdefault(key, Known())
            self._in_vain += 1
            if self._in_vain > _FORMS:
                warnings.warn(
                    f"{self!r} has been called with {_FORMS} forms of arguments, and never again with one of "
                    "them: it runs without a program from now on. Write np.float64(x) for what changes",
                    stacklevel=3,
                )
        if known.reason is not None:
            return self._function(*args, **kwargs)
        arrays = [x for x in leaves if _is_array(x)]
        result = known.run(arrays)
        if result is WARNED:  # NumPy says so at the function's own line
            return self._function(*args, **kwargs)
        if result is not MISSED:
            known.in_vain = self._in_vain = 0
            self._remember(args, kwargs, known)
            return result
        return self._record(known, args, kwargs, leaves, unflatten)

    def _remember(self, args: tuple[Any, ...], kwargs: dict[str, Any], known: Known) -> None:
        """Let the next call with arguments of this form find its program at once."""
        form = Arguments(args, kwargs)
        if form.is_known:
            self._recent = [(form, known), *self._recent[: _RECENT - 1]]

    def _record(
        self, known: Known, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], unflatten: Any
    ) -> R:
        """Run the function, and learn what it does."""
        try:
            surroundings = Surroundings(self._function, [x for x in leaves if not _is_array(x)])
        except Unrecordable as reason:
            known.reason = str(reason)
            return self._function(*args, **kwargs)
        arrays = [x for x in leaves if _is_array(x)]
        recording = Recording()
        before = [np.array(x, copy=True) for x in arrays]
        given = iter([recorded(recording, x, "an argument") for x in arrays])
        recording.arguments = len(arrays)
        inside = [next(given) if _is_array(x) else x for x in leaves]
        given_args, given_kwargs = unflatten(inside)
        try:
            known.callers.add(_caller())
            with _uncollected():
                outcome, result = _lowered(self._function(*given_args, **given_kwargs))
            if not _holds((given_args, given_kwargs), inside):
                raise Unrecordable("it changes what its arguments are nested in")
        except (Unrecordable, Exception) as error:
            recording.ended = True
            _restore(arrays, before)
            outcome = self._function(*args, **kwargs)  # where it fails, with its own error
            known.reason = str(error)
            return outcome
        finally:
            recording.ended = True
        if recording.writes_arguments or not all(map(_has_bytes, arrays, before)):
            known.reason = "it writes to its arguments"
            return outcome
        with self._lock, _uncollected():
            self._learn(known, recording, result, surroundings)
        return outcome

    def _learn(self, known: Known, recording: Recording, result: Result, before: Surroundings) -> None:
        """Add a recording to what is known; ``before`` are the surroundings that it began with."""
        known.recordings += 1
        known.in_vain += 1
        known.machine = None
        if known.surroundings is not None and not known.surroundings.unchanged():
            known.forget()
        if before.unchanged():  # else the next run has others
            if known.tree is None or known.surroundings is None:
                known.tree, known.surroundings = Tree(recording, result), before
            else:
                known.tree.add(recording, result)
            known.surroundings.look_at_captured(recording.captured)
        if known.in_vain > _PATIENCE or (known.tree is not None and known.tree.ways > _WAYS):
            self._give_up(known, recording)

    def _give_up(self, known: Known, recording: Recording) -> None:
        known.forget()
        known.reason = "its runs differ"
        line = next((step.line for step in recording.steps if isinstance(step, Leaving)), "?")
        warnings.warn(
            f"{self!r} goes another way nearly every time, after {_PATIENCE} recordings as well: it runs "
            f"without a program from now on. It first looks at a value at {line}",
            stacklevel=4,
        )


def _holds(tree: Any, leaves: list[Any]) -> bool:
    """Whether a tree has these leaves still."""
    now = pytree.flatten(tree)[0]
    return len(now) == len(leaves) and all(map(operator.is_, now, leaves))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's search for cycles: it would go through all steps so far again and again, half the time
    of a long recording."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _caller() -> str:
    """The user's line that calls a program."""
    frame = users_frame()
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _only_warns() -> bool:
    """Whether NumPy does no more than to warn of numbers that are not finite."""
    told = np.geterr()
    return told["under"] == "ignore" and all(what in ("warn", "ignore") for what in told.values())


def _is_array(x: Any) -> bool:
    if type(x) is np.ndarray:
        return not x.dtype.hasobject and x.flags.aligned
    return is_number(x)


def _restore(arrays: list[Any], contents: list[Any]) -> None:
    """Give arguments back what a run that is done again has written over."""
    for x, content in zip(arrays, contents, strict=True):
        if isinstance(x, np.ndarray) and not _has_bytes(x, content):
            x[...] = content


def _has_bytes(x: Any, content: Any) -> bool:
    return bool(np.asarray(x).tobytes() == content.tobytes())


def _key(leaves: list[Any], tree: Any) -> Any:
    """What a program depends on besides the numbers in arrays; None where these arguments have none."""
    parts: list[Any] = []
    places: dict[int, int] = {}
    found = False
    for i, x in enumerate(leaves):
        if _is_array(x):
            found = True
            parts.append((form_of(x), places.setdefault(id(x), i) if type(x) is np.ndarray else i))
        elif type(x) in (Variable, Recorded) or isinstance(x, np.ndarray):
            return None
        elif type(x) in _PLAIN:
            parts.append((type(x), repr(x)))
        else:
            parts.append(_Same(x))
    if not found:
        return None
    structure = _structure(tree)
    return None if structure is None else (*parts, structure)


class _Same:
    """An object in a key, which nothing but itself equals."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.x is self.x

    def __hash__(self) -> int:
        return id(self.x)


def _structure(tree: Any) -> Any:
    """What a tree is without its leaves, and what it says to be constant; None if that is not all of it."""
    if not pytree.is_tree(tree):
        return ()
    keys = pytree.keys(tree)
    constant: list[Any] = []
    if dataclasses.is_dataclass(tree):
        names = {f.name for f in dataclasses.fields(tree)}
        if hasattr(tree, "__post_init__") or not names.issuperset(getattr(tree, "__dict__", ())):
            return None  # it is more than its fields
        constant = [_constant(getattr(tree, name)) for name in sorted(names - set(keys))]
    elif hasattr(tree, "_fields"):
        constant = [_constant(part) for i, part in enumerate(tree) if i not in keys]
    elif type(tree) not in (tuple, list, dict):
        return None
    parts = [(_constant(key), _structure(pytree.item(tree, key))) for key in keys]
    if any(part is None for _, part in parts):
        return None
    return type(tree), tuple(constant), tuple(parts)


def _constant(x: Any) -> Any:
    return (type(x), repr(x)) if type(x) in _PLAIN else _Same(x)


def _lowered(outcome: Any) -> tuple[Any, Result]:
    """The result with plain arrays, and where they come from."""
    leaves, unflatten = pytree.flatten(outcome)
    for x in leaves:
        if type(x) is not Recorded and not isinstance(x, (np.ndarray, np.generic, *_CONSTANTS)):
            raise Unrecordable(f"a result that is a {type(x).__name__}")
    slots = [x.slot if type(x) is Recorded else _own(x) for x in leaves]
    plain = unflatten([x.array if type(x) is Recorded else x for x in leaves])
    return plain, Result(_structure(outcome), slots, unflatten)


def _own(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def program(function: Callable[P, R]) -> Program[P, R]:
    """Record what a function does, and repeat that without its Python code.

    The first calls run the function and record its operations on the arrays that it is given.  Once a second
    call has done the same ones, a machine without Python carries them out.  Where Python looks at a value
    (``if x > 0``, ``float(x)``, ``range(n)``), a run goes on only if that is what it was in a recording;
    otherwise the function itself runs, and one way more is known.  Results are the function's own, but for
    the last bits of small products of matrices.

    Parameters
    ----------
    function : callable
        Of any nesting of arrays and other things.  It may be a transform, ``ld.value_and_grad(f)``.  What it
        does besides its operations (prints, counters) happens in the first calls only.

    Returns
    -------
    Program
        The same function.  For every form of its arguments (structure, shapes, dtypes, memory layout, and
        what is no array, numbers of Python's among it) it has a program of its own.  Given Variables, and
        where it does what no program repeats (writes to its arguments, calls with functions as arguments,
        results of unknown classes), the function runs as ever.

    Raises
    ------
    Unrepeatable
        In a second call, if the function does something else by itself: random numbers, counters, clocks.

    Notes
    -----
    Globals, closures, defaults and attributes are constants of a program.  They are compared before each
    run, and a change lets the function be recorded anew; what a function reads elsewhere (files, objects of C
    code) is not seen.  A recording costs some ten times what the function does.

    Examples
    --------
    >>> import numpy as np
    >>> import lindiff as ld
    >>> from lindiff.programs import program
    >>> def nll(theta, y):
    ...     z = (y - theta[0]) * np.exp(-theta[1])
    ...     return np.sum(0.5 * z * z + theta[1])
    >>> fast = program(ld.value_and_grad(nll))
    >>> theta, y = np.array([1.0, 0.0]), np.array([1.0, 2.0, 3.0])
    >>> for _ in range(3):  # recorded twice, then repeated
    ...     value, slope = fast(theta, y)
    >>> float(value), slope
    (2.5, array([-3., -2.]))
    """
    return Program(function)
