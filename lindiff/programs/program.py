"""``program(f)``: a function whose runs are recorded, and then repeated without its Python code."""

from __future__ import annotations

import functools
import gc
import operator
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy as np

from lindiff.core import pytree
from lindiff.core.constants import users_frame
from lindiff.core.names import importable_name
from lindiff.core.observer import observing
from lindiff.core.record import outside_of_transforms
from lindiff.core.variable import Variable
from lindiff.programs import files
from lindiff.programs.calling import Calls, Known
from lindiff.programs.compiling import uncollected
from lindiff.programs.differentiated import derivative_of, operation_of
from lindiff.programs.explaining import explanation
from lindiff.programs.explanation import Explanation, Explanations
from lindiff.programs.keys import PLAIN, constants_of, is_array, key_of, structure_of
from lindiff.programs.machine import MISSED, Form
from lindiff.programs.matching import Arguments
from lindiff.programs.reads import raising_frame
from lindiff.programs.recorded import Recorded, recorded
from lindiff.programs.recording import Leaving, Recording, Unrecordable
from lindiff.programs.results import can_be_copied, lowered, make_plain, not_given, own
from lindiff.programs.surroundings import Surroundings, is_of_libraries
from lindiff.programs.tree import Result, Tree

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


class Program(Calls, Generic[P, R]):
    """A function as :func:`program` returns it.

    Parameters
    ----------
    function : callable
    otherwise : callable, optional
        Another form of the function, which runs where there is no program: it may meet Variables.  It is one
        that keeps little memory, and so does the program.
    warns : bool
        Tell the user where it runs without a program after all.  Not where he has not asked for one.
    keeps_numbers : bool
        Record NumPy's numbers where operations give Python's, for who looks at the steps and runs none.
    """

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def __init__(
        self,
        function: Callable[P, R],
        otherwise: Callable[P, R] | None = None,
        warns: bool = True,
        keeps_numbers: bool = False,
    ) -> None:
        super().__init__(function)
        functools.update_wrapper(self, function)
        self.otherwise: Callable[..., Any] = function if otherwise is None else otherwise
        self.recomputes = otherwise is not None
        self.warns = warns
        self.keeps_numbers = keeps_numbers
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
        key = key_of(leaves, (args, kwargs))
        for _ in range(_CALLS):
            before = self._known[key].recordings if key in self._known else 0
            self(*args, **kwargs)
            if key not in self._known:
                return Explanation(repr(self), [], [], "it has none for arguments like these")
            if self._known[key].recordings == before:
                break
        return self._explained(key, self._known[key], [x for x in leaves if is_array(x)])

    def _explained(self, key: Any, known: Known, arrays: list[Any] | None = None) -> Explanation:
        tree = known.tree
        machine = None
        if tree is not None:
            count = sum(isinstance(part, tuple) and isinstance(part[0], Form) for part in key[:-1])
            machine = known.machine_of(tree, count) or None
        facts = known.reason, known.recordings, known.callers
        with uncollected():
            return explanation(repr(self), self.function, key, *facts, tree, machine, arrays)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what is known to a file, for :meth:`load` in another process.

        Parameters
        ----------
        path : str or path
            A file of this name is replaced.  It holds the recorded operations by their names, constants, and
            what the function reads besides its arguments, in words and as checksums; no code.  Some 15 bytes
            and 20 µs an operation.

        Raises
        ------
        ValueError
            If nothing is known yet: a form of arguments is, after three calls.  If another process could not
            say whether the program still holds: the function reads files, the environment, sets, caches, or
            objects whose content no name leads to; calls :func:`lindiff.vmap`, compiled code of other
            libraries; or is given objects of unknown classes.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np, lindiff as ld
        >>> @ld.program
        ... def f(x):
        ...     return np.sum(np.exp(x) * x)
        >>> for _ in range(3):
        ...     y = f(np.ones(3))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     f.save(os.path.join(folder, "f.program"))
        ...     again = ld.program(f.function)  # in another process, as a rule
        ...     again.load(os.path.join(folder, "f.program"))
        >>> again.explain()[0].recordings, float(again(np.zeros(3)))
        (2, 0.0)
        """
        with self._lock:
            files.save(self, path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Take what another process has saved: the first call runs without a recording.

        Parameters
        ----------
        path : str or path
            Of a file that :meth:`save` has written.  Nothing in it is executed, but it says what operations
            are done on which memory: load files of people whom you trust.

        Raises
        ------
        ValueError
            If the file is damaged, or no program; if it was saved by another version of lindiff, NumPy, SciPy
            or Python, or on another kind of machine; if the function, or anything that it reads besides its
            arguments, is not what it was.  Nothing is taken then: the function is recorded in its first
            calls, and may be saved again.
        """
        files.load(self, path)

    def called(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], begun: list[Surroundings] | None = None
    ) -> Any:
        """The result for arguments of any form; recorded runs tell ``begun`` what they began with."""
        begun = [] if begun is None else begun
        if self.in_vain > _FORMS or observing() or not _only_warns():
            return self.otherwise(*args, **kwargs)
        leaves, restore = pytree.flatten((args, kwargs))
        if any(type(x) is Variable for x in leaves):
            return self._operation(args, kwargs, leaves, restore, begun)
        key = key_of(leaves, (args, kwargs))
        known = None if key is None else self._known_of(key)
        if known is None or known.reason is not None:
            return self.otherwise(*args, **kwargs)
        arrays = [x for x in leaves if is_array(x)]
        result = self.run(known, arrays, args, kwargs)
        if result is not MISSED:
            self.remember(args, kwargs, known)
            return result
        return self._record(known, args, kwargs, leaves, restore, begun)

    def derivative(self, of: str, chosen: tuple[int, ...], others: tuple[int, ...] = ()) -> Program[..., Any]:
        """The program of the ``"pullback"``, or another derivative, for the ``chosen`` leaves of arguments;
        the ``others`` that Variables may be written into."""
        return self.derived(
            (of, chosen, others), lambda function: derivative_of(function, of, chosen, others)
        )

    def derived(
        self, key: tuple[Any, ...], make: Callable[[Callable[P, R]], Callable[..., Any]]
    ) -> Program[..., Any]:
        """The program of what is made of the function, once for each key, which begins with its name."""
        found = self._derivatives.get(key)
        if found is None:
            made: Program[..., Any] = Program(make(self.function), warns=self.warns)
            made.name = f"the {key[0]} of {self.name}"
            found = self._derivatives.setdefault(key, made)
        return found

    def known_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Known | None:
        """What is known for arguments without Variables; None where the function itself runs."""
        known = self._met(args, kwargs)[0]
        return None if known is None or known.reason is not None else known

    def runs_itself(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether it is known that the function has no program for arguments without Variables, or may change
        what it reads in every call."""
        known, has_form = self._met(args, kwargs)
        if known is None:
            return not has_form
        return known.reason is not None or (known.unsteady and known.recordings > 1)

    def _met(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Known | None, bool]:
        """What is known of arguments of this form, and whether they have one."""
        for form, known in self.recent:
            if form.arrays(args, kwargs) is not None:
                return known, True
        key = key_of(pytree.flatten((args, kwargs))[0], (args, kwargs))
        return (None, False) if key is None else (self._known.get(key), True)

    def contents(self) -> tuple[dict[Any, Known], dict[Any, Program[..., Any]]]:
        """What is known of the runs, by the form of the arguments, and the programs of derivatives."""
        return self._known, self._derivatives

    def take(self, key: Any, known: Known) -> None:
        """Know this of arguments of a form, in the place of what was known of it."""
        with self._lock:
            self._make_room()
            self._known[key] = known
            self.recent = []

    def _make_room(self) -> None:
        while len(self._known) >= _FORMS:  # the oldest one
            del self._known[next(iter(self._known))]

    def _known_of(self, key: Any) -> Known:
        known = self._known.get(key)
        if known is not None:
            return known
        with self._lock:
            self._make_room()
            known = self._known.setdefault(key, Known())
        self.in_vain += 1
        if self.in_vain > _FORMS and self.warns:
            warnings.warn(
                f"{self!r} has been called with {_FORMS} forms of arguments, and never again with one of "
                "them: it runs without a program from now on. Write np.float64(x) for what changes",
                stacklevel=4,
            )
        return known

    def remember(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        known: Known,
        kept: tuple[Any, ...] | None = None,
    ) -> None:
        """Let the next call with arguments of this form find its program at once; it is the program of what
        is ``kept`` of them, where that has another layout."""
        form = Arguments(args, kwargs)
        if kept is not None:
            form.kept = Arguments(kept, kwargs)
        if form.is_known and (form.kept is None or form.kept.is_known):
            self.recent = [(form, known), *self.recent[: _RECENT - 1]]

    def _record(
        self,
        known: Known,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: list[Any],
        unflatten: Any,
        begun: list[Surroundings],
    ) -> R:
        """Run the function, and learn what it does."""
        try:
            surroundings = Surroundings(self.function, constants_of((args, kwargs)))
        except Unrecordable as reason:
            known.reason = str(reason)
            return self.otherwise(*args, **kwargs)
        begun.append(surroundings)
        arrays = [x for x in leaves if is_array(x)]
        recording = Recording(self.keeps_numbers)
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
            surroundings.restore()
            outcome = self.function(*args, **kwargs)  # where it fails, with its own error
            known.reason = str(error)
            return outcome
        finally:
            recording.raised = None
            recording.tells_of_loans()
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
                # what is recorded is the same, whether a transform asks for it or not
                outcome = outside_of_transforms(self.function, *args, **kwargs)
            except Exception as error:
                if not _holds((args, kwargs), inside):
                    recording.raised = None  # the caller's own are to be changed, too
                elif recording.reason is None and _would_raise(error, surroundings, arrays):
                    recording.raised = error
                raise
            if not _holds((args, kwargs), inside):
                raise Unrecordable("it changes what its arguments are nested in")
            if recording.tells_of_loans():
                raise Unrecordable("an array leaves as a whole, and is written to")
            return _lowered(outcome, recording, surroundings)

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
        if not self.warns:
            return
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
        and all(type(x) in PLAIN for x in error.args)
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
    return [next(inside) if is_array(x) else x for x in leaves]


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


def _restore(arrays: list[Any], contents: list[Any]) -> None:
    """Give arguments back what a run that is done again has written over."""
    for x, content in zip(arrays, contents, strict=True):
        if isinstance(x, np.ndarray) and not _has_bytes(x, content):
            x[...] = content


def _has_bytes(x: Any, content: Any) -> bool:
    return bool(np.asarray(x).tobytes() == content.tobytes())


def _lowered(outcome: Any, recording: Recording, surroundings: Surroundings) -> tuple[Any, Result | None]:
    """The result with plain arrays, and where they come from; None where no program gives it."""
    leaves, unflatten = pytree.flatten(outcome)
    reason = recording.reason or not_given(outcome)
    constants = [x for x in leaves if isinstance(x, np.ndarray)]
    if reason is None and any(map(surroundings.holds, leaves)):
        reason = "it returns an array that it reads besides its arguments"
    if reason is None and not can_be_copied(constants):
        reason = "it returns constants that are views"
    if reason is not None:
        recording.give_up(reason)
        return lowered(outcome), None
    copies = {id(x): own(x) for x in constants}
    slots = [x.slot if isinstance(x, Recorded) else copies.get(id(x), x) for x in leaves]
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
