"""Which numbers of an argument each number of a result depends on: the pattern of a Jacobian.

The steps of one run are followed with a set of places of the argument for each number, a row of a sparse
matrix.  What only moves numbers is asked where it moves them, sums join the sets of what they sum,
elementwise functions those of their operands.  What is not known joins all: a pattern may have too many
entries, never too few.  It holds for runs that go the same way.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from lindiff.core import chain
from lindiff.programs.machine import Form
from lindiff.programs.operands import Slot, leaves_of, replaced, slots_of
from lindiff.programs.program import Program
from lindiff.programs.recorded import VIEWS, is_hashable, may_write, method
from lindiff.programs.recording import Instruction, Leaving, Unrecordable
from lindiff.programs.sums import PRODUCTS, SUMMANDS
from lindiff.programs.tree import Branch

__all__ = ["Found", "TooLarge", "copied", "dependence", "found_by"]

_ELEMENTWISE = {
    *(chain.product, operator.pow, operator.ipow, np.round, np.nan_to_num, np.clip, np.real, np.imag),
    *map(method, ("round", "clip", "conj", "conjugate", "astype", "copy", "__copy__")),
    *(VIEWS[name] for name in ("real", "imag")),
}
_REDUCTIONS = {
    *(np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.nansum, np.var, np.std),
    *map(method, ("sum", "mean", "prod", "max", "min", "var", "std")),
}
_CUMULATIVE = {np.cumsum, np.cumprod, np.nancumsum, np.nancumprod, *map(method, ("cumsum", "cumprod"))}
_MOVES = {
    *(
        np.array,
        np.asarray,
        np.ascontiguousarray,
        operator.getitem,
        np.diag,
        np.diagonal,
        np.copy,
        np.take,
        np.append,
        np.insert,
        np.delete,
        np.choose,
        np.compress,
        np.extract,
        np.take_along_axis,
    ),
    *(np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.squeeze, np.expand_dims, np.roll),
    *(np.broadcast_to, np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack, np.block, np.tile),
    *(np.repeat, np.flip, np.fliplr, np.flipud, np.rot90, np.tril, np.triu, np.split, np.array_split),
    *(np.atleast_1d, np.atleast_2d, np.atleast_3d, np.dstack, np.rollaxis, np.resize),
    *(VIEWS[name] for name in ("T", "mT")),
    *map(method, ("reshape", "ravel", "flatten", "transpose", "swapaxes", "squeeze", "diagonal", "take")),
    *map(method, ("repeat", "__getitem__")),
}
# That move numbers into their first argument.
_MOVES_INTO = {
    *(np.copyto, np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal),
    *map(method, ("put", "fill")),
}
_MASKED = {np.putmask, np.place}  # by any numbers that are not zero
_FILLED = {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
# Linear in each of their operands, but for constants that they add.
_MULTILINEAR = {
    *(np.convolve, np.correlate, np.bincount),
    *(np.dot, np.einsum, np.tensordot, np.inner, np.outer, np.vdot, np.kron, np.cross),
    method("dot"),
}
_PADDINGS = ("constant", "edge", "wrap", "reflect", "symmetric")  # that move numbers

# Numbers of an operand that a multilinear function is asked for, one after the other.
_MOST_ASKED = 4096

# Entries of a pattern, on the way to it as well.
_MOST_ENTRIES = 100_000_000

# Products of numbers that are looked at one by one.
_MOST_PRODUCTS = 1 << 24


class TooLarge(Unrecordable):
    """A pattern has too many entries."""


class Found(NamedTuple):
    """A pattern, and whether the function looks at values on its way: elsewhere it may have another one.

    Where numbers leave (``float(x[0])``), the pattern has not what they go into.
    """

    pattern: csr_array
    looks: bool
    leaves: bool = False


def dependence(function: Callable[[Any], Any], x: Any) -> csr_array:
    """The pattern of the Jacobian of a function of one array with one array as its result, at a point.

    Parameters
    ----------
    function : callable
    x : ndarray
        The way that the function goes from here on.

    Returns
    -------
    csr_array of bool, of shape (y.size, x.size)

    Raises
    ------
    Unrecordable
        If the function does what no program repeats; the message says what.

    Examples
    --------
    >>> dependence(lambda x: x[1:] * x[:-1], np.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    return found_by(function, x).pattern


def found_by(function: Callable[..., Any], x: Any, *others: Any) -> Found:
    """The same, and what it depends on.

    The pattern is of x, and holds whatever numbers there are in other arrays that the function takes; it gets
    copies, which it may write to.
    """
    x = copied(np.asarray(x))
    program: Program[..., Any] = Program(function, warns=False, keeps_numbers=True)
    y = program(x, *map(copied, others))
    known = program.contents()[0]
    met = next(iter(known.values()), None)
    if met is None or met.tree is None:
        raise Unrecordable(met.reason if met is not None and met.reason else "it has no program")
    followed = _Followed(x.size)
    branches = list(_branches(met.tree.root))
    leaves = False
    with np.errstate(all="ignore"):  # of numbers that stand for others
        for branch in branches:
            followed.go(branch)
            leaves = leaves or followed.lets_leave(branch.fork)
    result = branches[-1].result
    assert result is not None
    slots = [leaf for leaf in result.leaves if type(leaf) is Slot]
    pattern = followed.rows_of(slots[0]) if slots else _nothing(np.size(y), x.size)
    return Found(pattern, len(branches) > 1 or followed.looks, leaves)


def copied(x: Any) -> Any:
    """A copy that lies in memory as an array does, as functions may go by that; each number in a cell of its
    own."""
    if not isinstance(x, np.ndarray) or x.dtype.hasobject:
        return x
    if not x.size or _may_overlap(x) or type(x) is not np.ndarray:
        return x.copy()
    ends = [step * (size - 1) for step, size in zip(x.strides, x.shape, strict=True)]
    behind = -sum(min(end, 0) for end in ends)
    memory = np.empty(behind + sum(max(end, 0) for end in ends) + x.itemsize, np.uint8)
    y: Any = np.ndarray(x.shape, x.dtype, memory, behind, x.strides)
    y[...] = x
    return y


def _may_overlap(x: Any) -> bool:
    """Whether several numbers of an array may be in one cell of memory."""
    reach = x.itemsize
    for step, size in sorted((abs(step), size) for step, size in zip(x.strides, x.shape, strict=True)):
        if step < reach and size > 1:
            return True
        reach += step * max(size - 1, 0)
    return False


def _branches(root: Branch) -> Iterator[Branch]:
    """The one way through a tree."""
    branch = root
    while True:
        yield branch
        if branch.fork is None:
            return
        branch = branch.outcomes[0][1]


def _nothing(rows: int, columns: int) -> csr_array:
    return csr_array((rows, columns), dtype=bool)


class _Followed:
    """The sets of all numbers in memory, row by row."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.looks = False  # at values, where that leaves no numbers
        self.memory: dict[int, csr_array] = {}
        self.forms: list[Form] = []
        self.roots: list[tuple[Slot, int, Slot]] = []

    def go(self, branch: Branch) -> None:
        """Follow the steps of a branch, and what its fork has done."""
        self.forms, self.roots = branch.forms, branch.roots
        if not self.memory:
            x, places = Slot(0), np.arange(self.n)
            self.put(x, self.cells(x), csr_array((np.ones(self.n, bool), (places, places)), (self.n, self.n)))
        steps = [*branch.steps, *([branch.fork] if isinstance(branch.fork, Instruction) else [])]
        for step in steps:
            if step.raised is None:
                self.follow(step)

    def lets_leave(self, fork: Any) -> bool:
        """Whether a number that depends on the argument becomes one of Python's, or one in a plain array."""
        if not isinstance(fork, Leaving) or not self.rows_of(fork.slot).nnz:
            return False
        return any(isinstance(x, (float, complex, np.inexact)) for x in leaves_of(fork.value))

    # -- memory --------------------------------------------------------------------------------------------

    def shape(self, slot: Slot) -> tuple[int, ...]:
        return self.forms[slot].shape

    def is_fixed(self, slot: Slot) -> bool:
        """Whether it is known where in the memory of its owner an array lies."""
        root, _, owner = self.roots[slot]
        return root == owner

    def cells(self, slot: Slot) -> Any:
        """Where its numbers are among those of its owner, in an array of its shape."""
        form, (_, behind, owner) = self.forms[slot], self.roots[slot]
        own = self.forms[owner]
        assert own.dtype is not None
        least = sum(min(0, step * (size - 1)) for step, size in zip(_strides(own), own.shape, strict=True))
        places = np.full((), behind - least, np.int64)
        for step, size in zip(_strides(form), form.shape, strict=True):
            places = np.add.outer(places, np.arange(size) * step)
        return places // own.dtype.itemsize

    def rows_of(self, slot: Slot) -> csr_array:
        """The sets of an array's numbers."""
        count = math.prod(self.shape(slot))
        owner = self.roots[slot][2]
        if not _is_inexact(self.forms[slot]) or owner not in self.memory:
            return _nothing(count, self.n)
        memory = self.memory[owner]
        if not self.is_fixed(slot):
            return _taken(_joined(memory), np.zeros(count, np.int64))
        return _taken(memory, self.cells(slot))

    def put(self, slot: Slot, places: Any, rows: csr_array) -> None:
        """Let numbers of an array, at places in its owner's memory, have these sets."""
        owner = self.roots[slot][2]
        if self.forms[slot].dtype != self.forms[owner].dtype:  # parts of complex numbers
            self.add(slot, rows)
            return
        memory = self._memory_of(owner)
        kept = np.arange(memory.shape[0])
        kept[np.ravel(places)] = memory.shape[0] + np.arange(rows.shape[0])
        self.memory[owner] = _taken(vstack([memory, rows], format="csr"), kept)

    def add(self, slot: Slot, rows: csr_array) -> None:
        """Let any of the numbers of an array depend on what these do, too."""
        owner = self.roots[slot][2]
        memory = self._memory_of(owner)
        anywhere = np.full(memory.shape[0], not self.is_fixed(slot))
        if self.is_fixed(slot):
            anywhere[np.ravel(self.cells(slot))] = True
        row = _joined(rows)
        either = vstack([row, _nothing(1, self.n)], format="csr")
        self.memory[owner] = memory + _taken(either, np.where(anywhere, 0, 1))

    def _memory_of(self, owner: Slot) -> csr_array:
        if owner not in self.memory:
            form = self.forms[owner]
            assert form.dtype is not None
            spans = zip(_strides(form), form.shape, strict=True)
            last = sum(abs(step) * (size - 1) for step, size in spans if size)
            self.memory[owner] = _nothing(last // form.dtype.itemsize + 1, self.n)
        return self.memory[owner]

    # -- steps ---------------------------------------------------------------------------------------------

    def follow(self, step: Instruction) -> None:
        args, kwargs = step.args, step.kwargs
        if self.wrote(step):
            return
        given = [*slots_of(args), *slots_of(kwargs)]
        results = [leaf for leaf in leaves_of(step.result) if type(leaf) is Slot]
        made = [slot for slot in results if self.roots[slot][2] == slot]
        found = self.found(step, results) if made or _writes(step) else {}
        for slot in results:
            if self.roots[slot][2] == slot or slot in given or "out" in kwargs:
                rows = found.get(slot)
                rows = self.of_all(given, slot) if rows is None else rows
                if _is_inexact(self.forms[slot]) and self.is_fixed(slot):
                    self.put(slot, self.cells(slot), rows)
                elif _is_inexact(self.forms[slot]):  # a view that lies elsewhere for other numbers
                    self.add(slot, rows)
        if _writes(step) and not results:
            for slot in given:  # whatever it is that is written to
                for other in given:
                    self.add(slot, self.rows_of(other))

    def wrote(self, step: Instruction) -> bool:
        """Put what is written at known places; False where the places are not known."""
        function, (target, *rest) = step.function, step.args or (None,)
        is_at = isinstance(getattr(function, "__self__", None), np.ufunc) and function.__name__ == "at"
        if type(target) is not Slot or not self.is_fixed(target) or step.kwargs.get("out") is not None:
            return False
        if not (
            is_at or (is_hashable(function) and (function in _MOVES_INTO or function is operator.setitem))
        ):
            return False
        if not _is_inexact(self.forms[target]):
            return True
        cells = self.cells(target)
        if function is operator.setitem:
            index, value = rest
            if not slots_of(index):
                places = cells[index]
                self.put(target, places, self.broadcast(value, np.shape(places)))
                return True
            rows = self.written_somewhere(target, value, [()])
        elif is_at:
            rows = self.added_at(target, *rest)
        else:
            rows = self.moved(step, [target]).get(target)
            place = {np.copyto: 0, np.putmask: 1}.get(function, len(rest))
            if rows is None and place < len(rest):
                rows = self.written_somewhere(target, rest[place], [(), self.shape(target)])
        if rows is None:
            return False
        self.put(target, cells, rows)
        return True

    def written_somewhere(self, target: Slot, value: Any, shapes: list[tuple[int, ...]]) -> csr_array | None:
        """What an array may be behind a write to unknown places: each keeps its number, or gets its own of a
        value or the only one; None where that is not of one of the shapes."""
        if (self.shape(value) if type(value) is Slot else np.shape(value)) not in shapes:
            return None
        return self.rows_of(target) + self.broadcast(value, self.shape(target))

    def added_at(self, target: Slot, index: Any, value: Any = None) -> csr_array | None:
        """What the ``at`` of a ufunc makes of an array: each number depends on all that is put to it, too."""
        if slots_of(index):
            return None
        count = math.prod(self.shape(target))
        places = np.arange(count).reshape(self.shape(target))[index]
        return self.rows_of(target) + self.gathered(places, value, count)

    def gathered(self, places: Any, value: Any, count: int) -> csr_array:
        """The sets of what goes to each of ``count`` places."""
        return _grouped(np.ravel(places), count) @ self.broadcast(value, np.shape(places))

    def found(self, step: Instruction, results: list[Slot]) -> dict[Slot, csr_array]:
        """The sets of results, as far as a rule knows them."""
        function, args, kwargs = step.function, step.args, step.kwargs
        of = getattr(function, "__self__", None)
        if isinstance(function, np.ufunc) and function.signature is None and "where" not in kwargs:
            rows = self.elementwise(args[: function.nin], self.shape(results[0]))
            return dict.fromkeys(results, rows)
        if isinstance(of, np.ufunc) and function.__name__ == "reduce":
            return {results[0]: self.reduced(args, kwargs, 0, results[0])}
        if isinstance(of, np.ufunc) and function.__name__ == "accumulate":
            return self.cumulated(args, kwargs, 0, results[0])
        if not is_hashable(function):
            return self.by_pattern(step, results)
        if function in _ELEMENTWISE:
            return {results[0]: self.elementwise(slots_of((args, kwargs)), self.shape(results[0]))}
        if function in _FILLED:  # the number is behind what the array is like
            numbers = slots_of((args[1:2], kwargs.get("fill_value")))
            return {results[0]: self.elementwise(numbers, self.shape(results[0]))}
        if function is np.where and len(args) == 3:
            return {results[0]: self.elementwise(args[1:], self.shape(results[0]))}
        if function in _REDUCTIONS:
            return {results[0]: self.reduced(args, kwargs, None, results[0])}
        if function in _CUMULATIVE:
            return self.cumulated(args, kwargs, None, results[0])
        if function in PRODUCTS:
            rows = self.products(step, results[0])
            if rows is not None:
                return {results[0]: rows}
        if function is np.bincount and not slots_of(args[:1]):
            weights = kwargs.get("weights", [*args, None][1])
            return {results[0]: self.gathered(args[0], weights, math.prod(self.shape(results[0])))}
        if function is np.pad:
            mode = kwargs.get("mode", args[2] if len(args) > 2 else "constant")
            moves = mode in _PADDINGS and kwargs.get("reflect_type", "even") == "even"
            return self.moved(step, results) if moves else {}
        if function in _MULTILINEAR and len(results) == 1:
            return self.multilinear(step, results[0])
        if function in _MOVES or function in SUMMANDS:
            return self.moved(step, results)
        return self.by_pattern(step, results)

    def of_all(self, given: list[Slot], result: Slot) -> csr_array:
        """Each number depends on all."""
        row = _nothing(1, self.n)
        for slot in given:
            row = row + _joined(self.rows_of(slot))
        if 0 in self.shape(result):
            self.looks = True  # for other numbers there may be some, as of v[v < 0]
        if row.nnz * math.prod(self.shape(result)) > _MOST_ENTRIES:
            raise TooLarge(
                f"of one of its functions with a result of shape {self.shape(result)} it is only known that "
                f"everything depends on everything, {row.nnz * math.prod(self.shape(result))} entries"
            )
        return _taken(row, np.zeros(math.prod(self.shape(result)), np.int64))

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> csr_array:
        """The sets of an operand, as an array of a shape."""
        count = math.prod(shape)
        if type(x) is not Slot:
            held = slots_of(x)
            rows = [self.rows_of(slot) for slot in held]
            row = _joined(vstack([_nothing(1, self.n), *rows], format="csr"))
            return _taken(row, np.zeros(count, np.int64))
        ids = np.arange(math.prod(self.shape(x))).reshape(self.shape(x))
        while ids.ndim > len(shape):  # leading axes of length 1, which assignments leave out
            ids = ids[0]
        return _taken(self.rows_of(x), np.broadcast_to(ids, shape))

    def elementwise(self, operands: Any, shape: tuple[int, ...]) -> csr_array:
        rows = _nothing(math.prod(shape), self.n)
        for x in operands:
            if slots_of(x):
                rows = rows + self.broadcast(x, shape)
        return rows

    def reduced(self, args: Any, kwargs: Any, default: Any, result: Slot) -> csr_array | None:
        """Along axes; each number of the result depends on all that it is made of."""
        x = args[0]
        axis = kwargs.get("axis", args[1] if len(args) > 1 else default)
        known = kwargs.keys() <= {"axis", "keepdims", "dtype", "ddof", "correction"} and len(args) < 3
        if type(x) is not Slot or not known or slots_of([axis]):
            return None
        shape = self.shape(x)
        axes = range(len(shape)) if axis is None else np.atleast_1d(axis) % max(len(shape), 1)
        kept = [1 if k in axes else size for k, size in enumerate(shape)]
        if math.prod(kept) != math.prod(self.shape(result)):
            return None
        ids = np.ravel(np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), shape))
        return _grouped(ids, math.prod(kept)) @ self.rows_of(x)

    def cumulated(self, args: Any, kwargs: Any, default: Any, result: Slot) -> dict[Slot, csr_array]:
        """Along an axis, or of raveled numbers; each depends on those up to its place."""
        x = args[0]
        axis = kwargs.get("axis", args[1] if len(args) > 1 else default)
        if type(x) is not Slot or not kwargs.keys() <= {"axis", "dtype"} or len(args) > 3 or slots_of([axis]):
            return {}
        count = math.prod(self.shape(x))
        ids = np.arange(count).reshape(-1 if axis is None else self.shape(x))
        lines: Any = np.moveaxis(ids, 0 if axis is None else axis, -1)
        length = lines.shape[-1]
        if count * (length + 1) // 2 > _MOST_PRODUCTS:
            return {}
        at, of = np.tril_indices(length)
        local = _picked(np.ravel(lines[..., at]), np.ravel(lines[..., of]), count, count)
        through = _through(local, self.rows_of(x))
        return {} if through is None else {result: through}

    def products(self, step: Instruction, result: Slot) -> csr_array | None:
        """Of sums of products: where a factor that is no argument has zeros, nothing depends on others."""
        if slots_of(step.kwargs) or any(type(x) is not Slot and slots_of(x) for x in step.args):
            return None
        args = [np.empty(self.shape(x), bool) if type(x) is Slot else x for x in step.args]
        try:
            found = PRODUCTS[step.function](*args, **step.kwargs)
        except (TypeError, ValueError):  # options that say something else
            return None
        if found is None:
            return None
        to, factors = found
        shape = np.broadcast_shapes(to.shape, *(ids.shape for ids in factors.values()))
        if math.prod(shape) > _MOST_PRODUCTS:
            return None
        count = math.prod(self.shape(result))
        rows = _nothing(count, self.n)
        for place, ids in factors.items():
            x = step.args[place]
            if type(x) is not Slot:
                continue
            there = to >= 0
            for other, its in factors.items():
                if type(step.args[other]) is not Slot:
                    there = there & np.ravel(np.asarray(step.args[other]) != 0)[its]
            at, of, there = np.broadcast_arrays(to, ids, there)
            own = self.rows_of(x)
            through = _through(_picked(at[there], of[there], count, own.shape[0]), own)
            if through is None:
                return None
            rows = rows + through
        return rows

    def moved(self, step: Instruction, results: list[Slot]) -> dict[Slot, csr_array]:
        """The function of where numbers are, in the place of numbers, or of its summands."""
        rows, begin = [_nothing(1, self.n)], 1
        takes_marks = step.function not in SUMMANDS  # which look at numbers that are given as such

        def places(leaf: Any) -> Any:
            nonlocal begin
            if type(leaf) is Slot and _is_inexact(self.forms[leaf]):
                rows.append(self.rows_of(leaf))
                begin += rows[-1].shape[0]
                return _lying_like(self.forms[leaf], begin - rows[-1].shape[0])
            if isinstance(leaf, np.dtype) or (isinstance(leaf, type) and issubclass(leaf, _NUMBERS)):
                return np.dtype(complex)
            if np.iscomplexobj(leaf) or (takes_marks and _is_number(leaf)):
                return np.zeros(np.shape(leaf), complex)[()]
            return leaf

        given = step.args
        if step.function in _MASKED and len(given) > 1:
            if slots_of(given[1]):
                return {}
            given = given[0], np.asarray(given[1]).astype(bool), *given[2:]
        args, kwargs = replaced((given, step.kwargs), places)
        if slots_of((args, kwargs)):  # an index that depends on numbers
            return {}
        if kwargs.get("dtype") is not None:
            kwargs = {**kwargs, "dtype": np.dtype(complex)}
        try:
            with _marks_kept():
                if step.function in SUMMANDS:
                    found = SUMMANDS[step.function](*args, **kwargs)
                else:
                    ids = step.function(*args, **kwargs)
                    ids = args[0] if step.function in _MOVES_INTO else ids
                    found = [[x] for x in ids] if isinstance(ids, (list, tuple)) else [[ids]]
        except Exception:  # of complex numbers it is another function
            return {}
        shapes = [self.shape(slot) for slot in results]
        if len(found) != len(shapes) or any(
            np.shape(x) != shape for parts, shape in zip(found, shapes, strict=True) for x in parts
        ):
            return {}
        whole = vstack(rows, format="csr")
        sums = {}
        for slot, parts in zip(results, found, strict=True):
            count = math.prod(self.shape(slot))
            taken = [_taken(whole, _places_in(x)) for x in parts]
            ids = np.tile(np.arange(count), len(parts))
            sums[slot] = (
                taken[0]
                if len(taken) == 1
                else _grouped(ids, count) @ vstack([_nothing(0, self.n), *taken], format="csr")
            )
        return sums

    def multilinear(self, step: Instruction, result: Slot) -> dict[Slot, csr_array]:
        """The function of unit vectors, one operand at a time, among others without zeros."""
        slots = slots_of((step.args, step.kwargs))
        if not all(_is_inexact(self.forms[slot]) for slot in slots):
            return {}
        if sum(math.prod(self.shape(slot)) for slot in slots) > _MOST_ASKED:
            return {}
        generic = np.random.default_rng(0)
        operands = [generic.uniform(1, 2, self.shape(slot)) for slot in slots]
        rows = _nothing(math.prod(self.shape(result)), self.n)
        for place, slot in enumerate(slots):
            columns, unit = [], np.zeros(self.shape(slot))
            given = [*operands[:place], unit, *operands[place + 1 :]]
            constant = _result_of(step, given)
            for k in range(unit.size):
                unit.flat[k] = 1.0
                columns.append(_result_of(step, given) != constant)
                unit.flat[k] = 0.0
            if columns:
                through = _through(csr_array(np.array(columns).T), self.rows_of(slot))
                if through is None:
                    return {}
                rows = rows + through
        return {result: rows}

    def by_pattern(self, step: Instruction, results: list[Slot]) -> dict[Slot, csr_array]:
        """By the function's own word, if it has one: ``pattern(shapes)``, a matrix for each operand."""
        pattern = getattr(step.function, "pattern", None)
        if pattern is None or step.kwargs or len(results) != 1:
            return {}
        shapes = [self.shape(x) if type(x) is Slot else np.shape(x) for x in step.args]
        rows = _nothing(math.prod(self.shape(results[0])), self.n)
        for x, local in zip(step.args, pattern(shapes), strict=True):
            if type(x) is Slot:
                through = _through(local.astype(bool), self.rows_of(x))
                if through is None:
                    return {}
                rows = rows + through
        return {results[0]: rows}


_NUMBERS = (np.generic, bool, int, float, complex)


def _is_number(x: Any) -> bool:
    """Whether it is a number, or an array of numbers, that is no index."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex))


def _is_inexact(form: Form) -> bool:
    return form.dtype is not None and form.dtype.kind in "fc"


def _writes(step: Instruction) -> bool:
    return may_write(step.function, step.args, step.kwargs)


def _result_of(step: Instruction, arrays: list[Any]) -> Any:
    """What a step gives for arrays in the place of its slots, raveled."""
    left = iter([np.copy(x) for x in arrays])

    def leaf(x: Any) -> Any:
        return next(left) if type(x) is Slot else x

    args, kwargs = replaced((step.args, step.kwargs), leaf)
    return np.ravel(step.function(*args, **kwargs))


def _strides(form: Form) -> tuple[int, ...]:
    if form.strides is not None:
        return form.strides
    assert form.dtype is not None
    return tuple(math.prod(form.shape[k + 1 :]) * form.dtype.itemsize for k in range(len(form.shape)))


def _lying_like(form: Form, begin: int) -> Any:
    """Numbers from ``begin`` on in an array that lies in memory as one of a form does, marked by 1j: what
    functions put beside them has no such part."""
    numbers = begin + np.arange(math.prod(form.shape)).reshape(form.shape) + 1j
    if form.strides is None or not numbers.size:
        return numbers
    assert form.dtype is not None
    steps = [step // form.dtype.itemsize for step in form.strides]
    reach = [step * (size - 1) for step, size in zip(steps, form.shape, strict=True)]
    first = -sum(x for x in reach if x < 0)
    room = np.zeros(first + sum(x for x in reach if x > 0) + 1, complex)
    strides = [step * room.itemsize for step in steps]
    lying = np.lib.stride_tricks.as_strided(room[first:], form.shape, strides)
    lying[...] = numbers
    return lying


@contextmanager
def _marks_kept() -> Iterator[None]:
    """An error where marked numbers become real ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        yield


def _places_in(x: Any) -> Any:
    """The numbers in an array that are marked as such, 0 for others."""
    return np.where(np.imag(x) == 1, np.real(x), 0).astype(np.int64)


def _taken(rows: csr_array, places: Any) -> csr_array:
    """Rows by their numbers."""
    places = np.ravel(places)
    if not places.size:
        return _nothing(0, rows.shape[1])
    count = int(np.diff(rows.indptr)[places].sum())
    if count > _MOST_ENTRIES:
        raise TooLarge(f"of its numbers it has to be known what {count} entries say")
    return rows[places]


def _through(local: csr_array, rows: csr_array) -> csr_array | None:
    """The sets of what depends on these rows; None where that is too much to find."""
    work = int(np.diff(rows.indptr)[local.indices].sum())
    return local @ rows if work <= _MOST_ENTRIES else None


def _joined(rows: csr_array) -> csr_array:
    """The union of all sets, as one row."""
    columns = np.unique(rows.indices)
    return csr_array((np.ones(columns.size, bool), columns, [0, columns.size]), (1, rows.shape[1]))


def _grouped(ids: Any, groups: int) -> csr_array:
    return csr_array((np.ones(ids.size, bool), (ids, np.arange(ids.size))), (groups, ids.size))


def _picked(rows: Any, columns: Any, m: int, n: int) -> csr_array:
    return csr_array((np.ones(rows.size, bool), (rows, columns)), (m, n))
