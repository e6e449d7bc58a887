"""A function run once for every element along the first axes of arrays, by its program where it has one."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.differential import Differential
from lindiff.core.directions import Apart, Directions
from lindiff.core.fields import besides_of, note_incomplete
from lindiff.core.likeness import has_numbers
from lindiff.core.observer import observing
from lindiff.core.records import check_alike
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, another, inside
from lindiff.programs.calling import as_one_operation, is_counted
from lindiff.programs.differentiated import Call, NoProgram, are_not_distinct, known_with, undo
from lindiff.programs.keys import constant_key, structure_of
from lindiff.programs.machine import MISSED
from lindiff.programs.many import room_for, run_many
from lindiff.programs.matching import Arguments
from lindiff.programs.program import Program
from lindiff.programs.recorded import Recorded, record
from lindiff.programs.recording import numbers
from lindiff.programs.surroundings import Surroundings
from lindiff.programs.taped import refuse_change

__all__ = ["Mapped", "assembled"]

# Seconds of work from which on it is shared by threads, and parts for each of them.
_WORTH_THREADS = 2e-3
_PARTS = 4
# Elements after which that is known.
_TRIED = 32

Restore = Callable[[list[Any]], Any]


class Mapped:
    """A function of the elements of arrays.

    Parameters
    ----------
    program : Program
        Of the function.
    """

    def __init__(self, program: Program[..., Any]) -> None:
        self.program = program
        self._derivatives: dict[Any, Mapped] = {}
        self._instructions: dict[Any, _Instruction] = {}
        self._operation = rule(self._rule)
        self._number = next(numbers)
        self._recent: _Repeated | None = None
        self._differ = False  # the results of elements have differed in structure, dtype or shape
        self._of_python = False  # or there are numbers of Python's among them

    def __call__(
        self,
        restore: Restore,
        many: Sequence[bool],
        leaves: list[Any],
        begun: list[Surroundings] | None = None,
    ) -> Any:
        """The results, stacked along a new first axis of each array.

        Parameters
        ----------
        restore : callable
            From leaves to ``(args, kwargs)`` of a call.
        many : sequence of bool
            The leaves of which the function is given one element after the other; the others it is given as
            they are.
        leaves : list
        begun : list, optional
            Runs that are recorded add what they begin with.
        """
        return as_one_operation(self._called, restore, many, leaves, [] if begun is None else begun)

    def repeated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result for few elements in arrays of the form that was met last; MISSED for others."""
        recent = self._recent
        if recent is None or observing() or is_counted():
            return MISSED
        return recent.result(args, kwargs)

    def remember(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], many: Sequence[bool], result: Any
    ) -> None:
        """Let the next call with arguments of this form, and elements along their first axes, run at once."""
        self._recent = _Repeated.of(self.program, args, kwargs, many, result)

    def _called(
        self, restore: Restore, many: Sequence[bool], leaves: list[Any], begun: list[Surroundings]
    ) -> Any:
        kinds = {type(inside(x)) for x in leaves}
        if Directions in kinds:
            raise Apart
        if observing() or any(m and not _is_array(inside(x)) for x, m in zip(leaves, many, strict=True)):
            return self._one_by_one(restore, many, leaves)
        if any(type(x) is Variable for x in leaves):
            return self._among_variables(restore, many, leaves, begun)
        if any(issubclass(kind, Recorded) for kind in kinds):
            return self._recorded(restore, many, leaves)
        return self._plain(restore, many, leaves, begun)

    # -- element by element --------------------------------------------------------------------------------

    def _plain(
        self, restore: Restore, many: Sequence[bool], leaves: list[Any], begun: list[Surroundings]
    ) -> Any:
        elements = _Elements(self.program, restore, many, leaves, begun)
        first = elements.result(0)
        if not elements.have_program():  # they may be written to: none is to run twice
            return _all_stacked([first, *(elements.result(i) for i in range(1, elements.count))])
        found, restore_result = pytree.flatten(first)
        self._of_python |= any(type(y) in (float, complex) for y in found)
        outs = _Outs(found, elements.count, structure_of(first))
        try:
            elements.run_all(outs)
        except _Differ:
            self._differ = True
            undo(begun)
            return self._one_by_one(restore, many, leaves)
        return restore_result(outs.arrays())

    def _one_by_one(self, restore: Restore, many: Sequence[bool], leaves: list[Any]) -> Any:
        """The same by Python, of arrays of any kind."""
        count = _count(many, leaves)
        results = []
        for i in range(count):
            args, kwargs = restore(_element(leaves, many, i))
            results.append(self.program.function(*args, **kwargs))
        return _all_stacked(results)

    # -- derivatives ---------------------------------------------------------------------------------------

    def _among_variables(
        self, restore: Restore, many: Sequence[bool], leaves: list[Any], begun: list[Surroundings]
    ) -> Any:
        if are_not_distinct(leaves) or self._is_made_within(leaves):
            return self._one_by_one(restore, many, leaves)
        call = Call(restore, leaves, begun)
        try:
            return call.result(self._operation(call, tuple(many), *leaves))
        except NoProgram:
            undo(begun)
            return self._one_by_one(restore, many, leaves)

    def _rule(self, call: Call, many: tuple[bool, ...], *leaves: Any) -> tuple[list[Any], Differential]:
        given = call.seen(leaves)
        first = self._first(many, given)
        if self.program.runs_itself(*call.held(first)):
            raise NoProgram  # it runs once, on the Variables
        copied = [_copied(x) for x in call.as_variables(given)]  # the function may write to them
        outputs = call.note(self(call.restore, many, copied, call.begun))
        if self._differ or self._of_python:  # cotangents of an element differ, or it has none for the number
            raise NoProgram
        surroundings: Surroundings | None = known_with(self.program, call, first)[1]
        if any(isinstance(inside(x), Recorded) for x in given):  # the program that this is a part of knows it
            surroundings = None
        restore = _with(call.restore, len(given))

        def pullback(y_bars: list[Any], active: tuple[int, ...]) -> tuple[Any, ...]:
            if surroundings is not None:
                refuse_change(self.program, surroundings)
            chosen = tuple(i - 2 for i in active)  # `call` and `many` come first
            each = [*many, *(True for _ in y_bars)]
            x_bars = iter(self._derivative("full pullback", chosen, call)(restore, each, [*given, *y_bars]))
            found = [next(x_bars) if i in chosen else None for i in range(len(given))]
            total = [x if m or x is None else np.sum(x, axis=0) for x, m in zip(found, many, strict=True)]
            return (None, None, *total)

        def pushforward(_: Any, __: Any, *x_dots: Any) -> list[Any]:
            if surroundings is not None:
                refuse_change(self.program, surroundings)
            chosen = tuple(i for i, x_dot in enumerate(x_dots) if x_dot is not None)
            dots = [x_dots[i] for i in chosen]
            each = [*many, *(many[i] for i in chosen)]
            return list(self._derivative("pushforward", chosen, call)(restore, each, [*given, *dots]))

        return outputs, Differential(pushforward, pullback, selective=True)

    def _first(self, many: tuple[bool, ...], given: list[Any]) -> list[Any]:
        """The leaves of the first element, through all traces."""
        held = [inside(x) for x in given]
        arrays = [x.array if isinstance(x, Recorded) else x for x in held]
        return [x[0] if m else x for x, m in zip(arrays, many, strict=True)]

    def _derivative(self, of: str, chosen: tuple[int, ...], call: Call) -> Mapped:
        others = tuple(i for i in call.variables if i not in chosen)
        found = self._derivatives.get((of, chosen, others))
        if found is None:
            made = Mapped(self.program.derivative(of, chosen, others))
            made._number = self._number
            found = self._derivatives.setdefault((of, chosen, others), made)
        return found

    # -- as a part of a program ----------------------------------------------------------------------------

    def _is_made_within(self, leaves: list[Any]) -> bool:
        """Whether this was made in the recording of which it is a part."""
        held = (inside(x) for x in leaves)
        return any(isinstance(x, Recorded) and self._number > x.recording.number for x in held)

    def _recorded(self, restore: Restore, many: Sequence[bool], leaves: list[Any]) -> Any:
        """One instruction of the program around it; the steps of all elements where it was made there, anew
        in every run."""
        if self._is_made_within(leaves):
            return self._one_by_one(restore, many, leaves)
        places = [i for i, x in enumerate(leaves) if _is_array(x) or isinstance(x, np.generic)]
        others = [constant_key(x) for i, x in enumerate(leaves) if i not in places]
        structure = structure_of(restore(leaves))
        if structure is None:
            return self._one_by_one(restore, many, leaves)
        key = structure, tuple(many), tuple(others)
        found = self._instructions.get(key)
        if found is None:
            plain = [x.array if isinstance(x, Recorded) else x for x in leaves]
            restore = pytree.flatten(restore(plain))[1]  # which holds no array of the recording
            found = self._instructions.setdefault(key, _Instruction(self, restore, many, leaves, places))
        results = record(found, tuple(leaves[i] for i in places), {})
        return found.restore_result(list(results))


def _is_array(x: Any) -> bool:
    return type(x) is np.ndarray or isinstance(x, Recorded)


class _Instruction:
    """A mapped function of arrays alone, that a program has as one of its instructions."""

    def __init__(
        self, mapped: Mapped, restore: Restore, many: Sequence[bool], leaves: list[Any], places: list[int]
    ) -> None:
        self._mapped, self._restore, self._many, self._places = mapped, restore, many, places
        self._leaves = [None if i in places else x for i, x in enumerate(leaves)]
        self.restore_result: Restore = list
        self.__name__ = f"vmap of {mapped.program.name}"

    def __call__(self, *arrays: Any) -> list[Any]:
        leaves = list(self._leaves)
        for i, x in zip(self._places, arrays, strict=True):
            leaves[i] = x
        found, self.restore_result = pytree.flatten(self._mapped(self._restore, self._many, leaves))
        return found


class _Elements:
    """The calls of a function, one for each element.

    Parameters
    ----------
    program : Program
    restore, many, leaves, begun
        As for :class:`Mapped`.
    """

    def __init__(
        self,
        program: Program[..., Any],
        restore: Restore,
        many: Sequence[bool],
        leaves: list[Any],
        begun: list[Surroundings],
    ) -> None:
        self._program, self._restore, self._many, self._leaves = program, restore, many, leaves
        self._begun = begun
        self.count = _count(many, leaves)
        self._arrays, self._are_many = _arrays_of(leaves, many)
        self._known: Any = None

    def result(self, i: int) -> Any:
        """What the function gives for the i-th element."""
        args, kwargs = self._restore(_element(self._leaves, self._many, i))
        return self._program.carried_out(args, kwargs, self._begun)

    def have_program(self) -> bool:
        """Whether there is a program for elements like the first one, as all of them are."""
        args, kwargs = self._restore(_element(self._leaves, self._many, 0))
        self._known = self._program.known_for(args, kwargs)
        return self._known is not None

    def run_all(self, outs: _Outs) -> None:
        """The results of all elements but the first one."""
        if self.count <= 2 * _TRIED:
            return self.run(outs, 1, self.count)
        tried = 2 * _TRIED
        self.run(outs, 1, tried // 2)
        began = perf_counter()
        self.run(outs, tried // 2, tried)
        seconds = (perf_counter() - began) / _TRIED * (self.count - tried)
        workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if workers == 1 or seconds < _WORTH_THREADS:
            self.run(outs, tried, self.count)
        else:
            self.run_by_threads(outs, tried, workers)

    def run(self, outs: _Outs, start: int, stop: int) -> None:
        """The results from one element to another, by the machine as far as it goes."""
        i, useful = start, True
        while i < stop:
            machine = self._machine() if useful else None
            if machine is not None and outs.stacked is not None:
                reached = run_many(
                    machine, self._arrays, self._are_many, outs.stacked, i, stop, outs.has_structure
                )
                useful = reached > i
                i = reached
            if i < stop:
                outs.put(i, self.result(i))
                i += 1

    def run_by_threads(self, outs: _Outs, start: int, workers: int) -> None:
        """The same to the end, by so many cores."""
        bounds = np.linspace(start, self.count, workers * _PARTS + 1).astype(int).tolist()
        told = [copy_context() for _ in bounds[1:]]  # np.errstate among it
        with ThreadPoolExecutor(workers) as pool:
            parts = zip(told, pairwise(bounds), strict=True)
            list(pool.map(lambda part: part[0].run(self.run, outs, *part[1]), parts))

    def _machine(self) -> Any:
        return None if self._known.reason is not None else self._known.ready()


class _Repeated:
    """What is known of a call of few elements, to be carried out again.

    Parameters
    ----------
    form : Arguments
        Of the call.
    known : Known
        Of an element.
    are_many : list of bool
        For each array among the arguments, whether it has the elements.
    like : list of ndarray
        The leaves of the result of an element.
    restore : callable
        From the leaves of the result to the result.
    structure : hashable
        Of the result.
    count : int
    """

    def __init__(
        self,
        form: Arguments,
        known: Any,
        are_many: list[bool],
        like: list[Any],
        restore: Restore,
        structure: Any,
        count: int,
    ) -> None:
        self._form, self._known, self._are_many, self._count = form, known, are_many, count
        self._like, self._restore, self._structure = like, restore, structure
        self._expected: Any = None

    @classmethod
    def of(
        cls,
        program: Program[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        many: Sequence[bool],
        result: Any,
    ) -> _Repeated | None:
        """None where it is not known, of many elements, or not of arrays alone."""
        leaves, restore = pytree.flatten((args, kwargs))
        found, restore_result = pytree.flatten(result)
        structure = structure_of(result)
        kinds = {type(x) for x, m in zip(leaves, many, strict=True) if m} | {type(y) for y in found}
        if kinds != {np.ndarray} or structure is None or _count(many, leaves) > 2 * _TRIED:
            return None
        form = Arguments(args, kwargs)
        known = program.known_for(*restore(_element(leaves, many, 0))) if form.is_known else None
        if known is None or known.ready() is None:
            return None
        arrays, are_many = _arrays_of(leaves, many)
        if [id(x) for x in form.arrays(args, kwargs) or ()] != [id(x) for x in arrays]:
            return None
        like = [np.copy(y[0]) for y in found]
        return cls(form, known, are_many, like, restore_result, structure, _count(many, leaves))

    def result(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of arguments of this form; MISSED for others, and where an element goes a way that is not known."""
        arrays = self._form.arrays(args, kwargs)
        machine = None if arrays is None else self._known.ready()
        if arrays is None or machine is None or self._known.reason is not None:
            return MISSED
        outs = [room_for(y, self._count) for y in self._like]
        reached = run_many(machine, arrays, self._are_many, outs, 0, self._count, self._has_structure)
        return self._restore(outs) if reached == self._count else MISSED

    def _has_structure(self, unflatten: Callable[[list[Any]], Any], count: int) -> bool:
        if unflatten is not self._expected:
            if structure_of(unflatten([0] * count)) != self._structure:
                return False
            self._expected = unflatten
        return True


class _Outs:
    """The results of all elements, leaf by leaf.

    Parameters
    ----------
    first : list
        The leaves of the result of the first element.
    count : int
    structure : hashable or None
        Of the result of the first element, as `structure_of` has it.

    Attributes
    ----------
    stacked : list of ndarray or None
        An array for each leaf, where all of them are arrays or numbers of NumPy's.
    """

    def __init__(self, first: list[Any], count: int, structure: Any) -> None:
        self._count, self._structure = count, structure
        self._lists: list[list[Any]] | None = None
        self._expected: Any = None  # of which has been seen that it makes this structure
        self.stacked: list[Any] | None = None
        if all(isinstance(y, np.generic) or type(y) is np.ndarray for y in first):
            self.stacked = [room_for(y, count) for y in first]
        else:
            self._lists = [[None] * count for _ in first]
        self.put_leaves(0, first)

    def has_structure(self, unflatten: Callable[[list[Any]], Any], count: int) -> bool:
        """Whether results that are made so of leaves have the structure of the first one."""
        if unflatten is not self._expected:
            if self._structure is None or structure_of(unflatten([0] * count)) != self._structure:
                return False
            self._expected = unflatten
        return True

    def put(self, i: int, result: Any) -> None:
        if self._structure is None or structure_of(result) != self._structure:
            raise _Differ
        self.put_leaves(i, pytree.flatten(result)[0])

    def put_leaves(self, i: int, leaves: list[Any]) -> None:
        rooms = self.stacked if self.stacked is not None else self._lists or []
        if len(leaves) != len(rooms) or (self.stacked is not None and not all(map(_fits, leaves, rooms))):
            raise _Differ
        for y, out in zip(leaves, rooms, strict=True):
            out[i] = y

    def arrays(self) -> list[Any]:
        return self.stacked if self.stacked is not None else [_stacked(parts) for parts in self._lists or []]


class _Differ(Exception):
    """The results of elements differ in structure, dtype or shape."""


def _fits(y: Any, out: Any) -> bool:
    return np.shape(y) == out.shape[1:] and getattr(y, "dtype", None) == out.dtype


def _arrays_of(leaves: Sequence[Any], many: Sequence[bool]) -> tuple[list[Any], list[bool]]:
    """The arrays among leaves, and which of them have the elements."""
    places = [i for i, x in enumerate(leaves) if isinstance(x, (np.ndarray, np.generic))]
    return [leaves[i] for i in places], [many[i] for i in places]


def _all_stacked(results: list[Any]) -> Any:
    """Results of elements, leaf by leaf one behind the other."""
    leaves_of_each = [
        pytree.flatten_like(y, results[0], f"result of element {i} of vmap", "first one")
        for i, y in enumerate(results)
    ]
    stacked = [_stacked(list(parts)) for parts in zip(*leaves_of_each, strict=True)]
    return assembled(results, stacked)


def assembled(results: list[Any], leaves: list[Any]) -> Any:
    """A tree of these leaves like some results; what dataclasses have made of fields is None in it."""
    result = pytree.flatten(results[0])[1].of_derivative(leaves)
    _complete(result, results)
    return result


def _complete(result: Any, results: list[Any]) -> None:
    """Give dataclasses in a stacked result what those of the elements have besides fields and numbers."""
    if not pytree.is_tree(result) or result is None:
        return
    if dataclasses.is_dataclass(result):
        different = check_alike(results)
        for name, x in besides_of(results[0]).items():
            is_gap = has_numbers(x) or name in different
            object.__setattr__(result, name, None if is_gap else x)
            if is_gap:
                note_incomplete(result)
    for key in pytree.keys(result):
        _complete(pytree.item(result, key), [pytree.item(element, key) for element in results])


def _copied(x: Any) -> Any:
    if type(x) is Variable:
        return x if x._scalar else another(x)
    return x.copy(order="K") if _is_array(x) and x.ndim else x


def _stacked(parts: list[Any]) -> Any:
    """Results of elements, one behind the other."""
    if all(part is None for part in parts):
        return None
    shapes = {np.shape(part) for part in parts}
    if len(shapes) > 1:
        raise ValueError(
            f"vmap stacks the results of all elements, but here they have shapes {sorted(shapes)}"
        )
    stacked = np.stack(parts)
    if stacked.dtype == np.object_ and hasattr(parts[0], "dtype") and parts[0].dtype != np.object_:
        kind = type(parts[0]).__name__
        raise TypeError(
            f"vmap stacks arrays and numbers, and the function returns a {kind}: for a list of these write "
            f"[function(x) for x in X]"
        )
    return stacked


def _element(leaves: Sequence[Any], many: Sequence[bool], i: int) -> list[Any]:
    return [x[i] if m else x for x, m in zip(leaves, many, strict=True)]


def _count(many: Sequence[bool], leaves: Sequence[Any]) -> int:
    return next(x.shape[0] for x, m in zip(leaves, many, strict=True) if m)


def _with(restore: Restore, count: int) -> Restore:
    """The arguments of a derivative: those of the function, of so many leaves, and cotangents or tangents."""

    def restore_all(all_leaves: list[Any]) -> Any:
        args, kwargs = restore(all_leaves[:count])
        return (args, kwargs, all_leaves[count:]), {}

    return restore_all
