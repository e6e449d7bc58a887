"""``program(f)``: a function whose runs are recorded, and then repeated without its Python code."""

from __future__ import annotations

import dataclasses
import functools
import gc
import operator
import sys
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy as np

from lindiff.core import pytree
from lindiff.core.constants import users_frame
from lindiff.core.directions import Directions
from lindiff.core.names import importable_name
from lindiff.core.observer import observing
from lindiff.core.variable import Variable
from lindiff.programs.calling import Calls, Known
from lindiff.programs.compiling import uncollected
from lindiff.programs.differentiated import derivative_of, operation_of
from lindiff.programs.explaining import explanation
from lindiff.programs.explanation import Explanation, Explanations
from lindiff.programs.machine import MISSED, Form, form_of
from lindiff.programs.matching import Arguments
from lindiff.programs.reads import raising_frame
from lindiff.programs.recorded import Recorded, is_number, recorded
from lindiff.programs.recording import Leaving, Recording, Unrecordable
from lindiff.programs.results import lowered, make_plain, not_given, own
from lindiff.programs.surroundings import Surroundings, is_of_libraries
from lindiff.programs.tree import Result, Tree

P = ParamSpec("P")
R = TypeVar("R")

__all__ = ["Program", "constant_key", "program", "structure_of"]

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

# Arrays with a meaning of their own: the function itself runs on them.
_MANY = (Variable, Recorded, Directions)


class Program(Calls, Generic[P, R]):
    """A function as :func:`program` returns it.

    Parameters
    ----------
    function : callable
    otherwise : callable, optional
        Another form of the function, which runs where there is no program: it may meet Variables.  It is one
        that keeps little memory, and so does the program.
    """

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def __init__(self, function: Callable[P, R], otherwise: Callable[P, R] | None = None) -> None:
        super().__init__(function)
        functools.update_wrapper(self, function)
        self.otherwise: Callable[..., Any] = function if otherwise is None else otherwise
        self.recomputes = otherwise is not None
        self.name = getattr(function, "__qualname__", str(function))
        self._known: dict[Any, Known] = {}
        self._derivatives: dict[Any, Program[..., Any]] = {}
        self._operation = operation_of(self)
        self._lock = threading.RLock()

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        return importable_name(self) or (type(self), (self.function, self.otherwise))

    def __repr__(self) -> str:
        return f"<program of {self.name}>"

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
        with uncollected():
            return explanation(repr(self), self.function, key, *facts, tree, machine, arrays)

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result for arguments of any form."""
        if self.in_vain > _FORMS or observing() or not _only_warns():
            return self.otherwise(*args, **kwargs)
        leaves, restore = pytree.flatten((args, kwargs))
        if any(type(x) is Variable for x in leaves):
            return self._operation(args, kwargs, leaves, restore)
        key = _key(leaves, (args, kwargs))
        known = None if key is None else self._known_of(key)
        if known is None or known.reason is not None:
            return self.otherwise(*args, **kwargs)
        arrays = [x for x in leaves if _is_array(x)]
        result = self.run(known, arrays, args, kwargs)
        if result is not MISSED:
            self.remember(args, kwargs, known)
            return result
        return self._record(known, args, kwargs, leaves, restore)

    def derivative(self, of: str, chosen: tuple[int, ...], others: tuple[int, ...] = ()) -> Program[..., Any]:
        """The program of the ``"pullback"``, or another derivative, for the ``chosen`` leaves of arguments;
        the ``others`` that Variables may be written into."""
        found = self._derivatives.get((of, chosen, others))
        if found is None:
            made: Program[..., Any] = Program(derivative_of(self.function, of, chosen, others))
            made.name = f"the {of} of {self.name}"
            found = self._derivatives.setdefault((of, chosen, others), made)
        return found

    def known_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Known | None:
        """What is known for arguments without Variables; None where the function itself runs."""
        key = _key(pytree.flatten((args, kwargs))[0], (args, kwargs))
        known = None if key is None else self._known.get(key)
        return None if known is None or known.reason is not None else known

    def runs_itself(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether it is known that the function has no program for arguments without Variables, or may change
        what it reads in every call."""
        key = _key(pytree.flatten((args, kwargs))[0], (args, kwargs))
        known = None if key is None else self._known.get(key)
        if known is None:
            return key is None
        return known.reason is not None or (known.unsteady and known.recordings > 1)

    def _known_of(self, key: Any) -> Known:
        known = self._known.get(key)
        if known is not None:
            return known
        with self._lock:
            while len(self._known) >= _FORMS:  # the oldest one
                del self._known[next(iter(self._known))]
            known = self._known.setdefault(key, Known())
        self.in_vain += 1
        if self.in_vain > _FORMS:
            warnings.warn(
                f"{self!r} has been called with {_FORMS} forms of arguments, and never again with one of "
                "them: it runs without a program from now on. Write np.float64(x) for what changes",
                stacklevel=4,
            )
        return known

    def remember(self, args: tuple[Any, ...], kwargs: dict[str, Any], known: Known) -> None:
        """Let the next call with arguments of this form find its program at once."""
        form = Arguments(args, kwargs)
        if form.is_known:
            self.recent = [(form, known), *self.recent[: _RECENT - 1]]

    def _record(
        self, known: Known, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], unflatten: Any
    ) -> R:
        """Run the function, and learn what it does."""
        try:
            surroundings = Surroundings(self.function, _constants((args, kwargs)))
        except Unrecordable as reason:
            known.reason = str(reason)
            return self.otherwise(*args, **kwargs)
        arrays = [x for x in leaves if _is_array(x)]
        recording = Recording()
        holders = sys.getrefcount(recording)
        before = [np.array(x, copy=True) for x in arrays]
        try:
            known.callers.add(_caller())
            outcome, result = self._run(recording, surroundings, arrays, leaves, unflatten)
        except (Unrecordable, Exception) as error:
            own, recording.raised = error is recording.raised, None
            recording.end()
            if own:
                make_plain(recording)
                raise
            _restore(arrays, before)
            outcome = self.function(*args, **kwargs)  # where it fails, with its own error
            known.reason = str(error)
            return outcome
        finally:
            recording.raised = None
            recording.end()
        if sys.getrefcount(recording) > holders:
            gc.collect(0)  # functions that call themselves, and the like
        if sys.getrefcount(recording) > holders:
            recording.reason = recording.reason or "it keeps arrays beyond the call"
            make_plain(recording)
        if recording.reason is not None:
            known.reason = recording.reason
            return outcome
        if recording.writes_arguments or not all(map(_has_bytes, arrays, before)):
            known.reason = "it writes to its arguments"
            return outcome
        assert result is not None
        with self._lock, uncollected():
            self._learn(known, recording, result, surroundings)
        return outcome

    def _run(
        self,
        recording: Recording,
        surroundings: Surroundings,
        arrays: list[Any],
        leaves: list[Any],
        unflatten: Any,
    ) -> tuple[Any, Result | None]:
        """The function's result with plain arrays; what it does is recorded.

        Raises
        ------
        Unrecordable
            If the function has to run again, on its own arguments.
        """
        given = [recorded(recording, x, "an argument") for x in arrays]
        recording.arguments = len(arrays)
        inside = _replaced(leaves, arrays, given)
        args, kwargs = unflatten(inside)
        with uncollected():
            try:
                outcome = self.function(*args, **kwargs)
            except Exception as error:
                if not _holds((args, kwargs), inside):
                    recording.raised = None  # the caller's own are to be changed, too
                elif recording.reason is None and _would_raise(error, surroundings, arrays):
                    recording.raised = error
                raise
            if not _holds((args, kwargs), inside):
                raise Unrecordable("it changes what its arguments are nested in")
            return _lowered(outcome, recording)

    def _learn(self, known: Known, recording: Recording, result: Result, before: Surroundings) -> None:
        """Add a recording to what is known; ``before`` are the surroundings that it began with."""
        known.recordings += 1
        known.in_vain += 1
        known.machine = None
        if known.surroundings is not None and not known.surroundings.unchanged():
            known.forget()
        lasts = before.unchanged()  # else the next run has others
        known.unsteady = not lasts
        if lasts:
            if known.tree is None or known.surroundings is None:
                known.tree, known.surroundings = Tree(recording, result), before
            else:
                known.tree.add(recording, result)
            known.surroundings.look_at_captured(recording.captured)
        if known.in_vain > _PATIENCE or (known.tree is not None and known.tree.ways > _WAYS):
            self._give_up(known, recording, lasts)

    def _give_up(self, known: Known, recording: Recording, lasts: bool) -> None:
        known.forget()
        known.reason = "its runs differ" if lasts else "it changes what it reads besides its arguments"
        line = next((step.line for step in recording.steps if isinstance(step, Leaving)), None)
        told = "" if line is None else f". It first looks at a value at {line}"
        if not lasts:
            told = ": what it reads besides its arguments changes as it runs (globals, attributes, contents)"
        warnings.warn(
            f"{self!r} goes another way nearly every time, after {_PATIENCE} recordings as well: it runs "
            f"without a program from now on{told}",
            stacklevel=6,
        )


def _would_raise(error: Exception, surroundings: Surroundings, arrays: list[Any]) -> bool:
    """Whether the function raises this of plain arrays, too: by a statement of its own that nothing but the
    numbers in arrays can have led to.  What compiled code raises may be for the class of recorded arrays."""
    frame = raising_frame(error)
    return (
        not surroundings.may_tell_apart
        and frame is not None
        and not is_of_libraries(frame.f_globals)
        and error.__context__ is None
        and not any(map(surroundings.knows, arrays))  # which `is` may have told from the recorded ones
        and all(type(x) in _PLAIN for x in error.args)
        and not vars(error)
    )


def _replaced(leaves: list[Any], arrays: list[Any], given: list[Recorded]) -> list[Any]:
    """Leaves with what stands for the arrays among them; an array that is there twice is one there, too."""
    first: dict[int, Recorded] = {}
    inside = iter(
        [
            first.setdefault(id(x), y) if isinstance(x, np.ndarray) else y
            for x, y in zip(arrays, given, strict=True)
        ]
    )
    return [next(inside) if _is_array(x) else x for x in leaves]


def _holds(tree: Any, leaves: list[Any]) -> bool:
    """Whether a tree has these leaves still."""
    now = pytree.flatten(tree)[0]
    return len(now) == len(leaves) and all(map(operator.is_, now, leaves))


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
        elif type(x) in _MANY or isinstance(x, np.ndarray):
            return None
        elif type(x) in _PLAIN:
            parts.append((type(x), repr(x)))
        else:
            parts.append(_Same(x))
    if not found:
        return None
    structure = structure_of(tree)
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


def structure_of(tree: Any) -> Any:
    """What a tree is without its leaves, and what it says to be constant; None if that is not all of it."""
    if not pytree.is_tree(tree):
        return ()
    keys = pytree.keys(tree)
    constant: list[Any] = []
    if dataclasses.is_dataclass(tree):
        names = {f.name for f in dataclasses.fields(tree)}
        is_given = all(f.init for f in dataclasses.fields(tree)) and not hasattr(tree, "__post_init__")
        if not is_given or not names.issuperset(getattr(tree, "__dict__", ())):
            return None  # it is more than what it is made of
        constant = [constant_key(getattr(tree, name)) for name in sorted(names - set(keys))]
    elif hasattr(tree, "_fields"):
        if getattr(tree, "__dict__", None):
            return None
        constant = [constant_key(part) for i, part in enumerate(tree) if i not in keys]
    elif type(tree) not in (tuple, list, dict):
        return None
    parts = [(constant_key(key), structure_of(pytree.item(tree, key))) for key in keys]
    if any(part is None for _, part in parts):
        return None
    return type(tree), tuple(constant), tuple(parts)


def _constants(tree: Any) -> list[Any]:
    """What is no array in a tree: leaves, constant fields, and the classes that have methods of their own."""
    if not pytree.is_tree(tree):
        return [] if _is_array(tree) else [tree]
    keys = pytree.keys(tree)
    found: list[Any] = [] if type(tree) in (tuple, list, dict) else [type(tree)]
    if dataclasses.is_dataclass(tree):
        found += [getattr(tree, f.name) for f in dataclasses.fields(tree) if f.name not in keys]
    elif hasattr(tree, "_fields"):
        found += [part for i, part in enumerate(tree) if i not in keys]
    return found + [x for key in keys for x in _constants(pytree.item(tree, key))]


def constant_key(x: Any) -> Any:
    """What an object is in a key that is no array."""
    return (type(x), repr(x)) if type(x) in _PLAIN else _Same(x)


def _lowered(outcome: Any, recording: Recording) -> tuple[Any, Result | None]:
    """The result with plain arrays, and where they come from; None where no program gives it."""
    reason = recording.reason or not_given(outcome)
    if reason is not None:
        recording.give_up(reason)
        return lowered(outcome), None
    leaves, unflatten = pytree.flatten(outcome)
    slots = [x.slot if type(x) is Recorded else own(x) for x in leaves]
    structure, restore = structure_of(outcome), pytree.flatten(unflatten(slots))[1]
    return lowered(outcome), Result(structure, slots, restore)


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
