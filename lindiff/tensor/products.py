"""Sums of products of two elements as products of matrices.

The loops that the result shares with one factor alone are its rows or its columns, those it shares with both
a batch, and the others the sum.  Entries need not lie at the strides of a matrix: what BLAS cannot read is
copied into blocks, with zeros where conditions say that there is nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.expressions import Access, Number
from lindiff.tensor.gemm import MOST_GUARDS, Product
from lindiff.tensor.layouts import Layout
from lindiff.tensor.statements import factors_of
from lindiff.tensor.updates import Interval, Update, intervals, points, sides_of, size_of

__all__ = ["Matrices", "is_product_of_matrices", "matrices_of", "place_in_bytes", "planned_product"]

# What is worth a matrix product: rows and columns, places in the sum, and products in all.
_FEWEST = 4
_FEWEST_INNER = 2
_FEWEST_PRODUCTS = 2048

# The part of a box that conditions must leave of it.
_FILLED = 0.25

# Neighbours that make a run a long one.
_LONG_RUN = 16

# Numbers in the tables of places.
_LARGEST_TABLE = 1 << 20


@dataclass(frozen=True)
class Matrices:
    """The loops of a product of matrices.

    Attributes
    ----------
    boxes : dict of str to (int, int)
        The first and the last value of each loop.
    batch, rows, columns, inner : tuple of str
        Loops.
    first, second : Access
    scale : float
    guards : tuple of list of Affine
        Of the two factors and the result: what is not negative where there is an entry.
    """

    boxes: dict[str, Interval]
    batch: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    inner: tuple[str, ...]
    first: Access
    second: Access
    scale: float
    guards: tuple[list[Affine], list[Affine], list[Affine]]

    def size(self, loops: Iterable[str]) -> int:
        return size_of(self.boxes, loops)

    @property
    def is_of_vector(self) -> bool:
        """Whether one of the factors has no row or column of its own."""
        return not self.rows or not self.columns

    @property
    def products(self) -> int:
        """How many multiplications there are, those with zeros too."""
        return self.size((*self.batch, *self.rows, *self.columns, *self.inner))


def is_product_of_matrices(update: Update) -> bool:
    """Whether a sum is a product of two matrices that are no vectors."""
    matrices = matrices_of(update)
    return matrices is not None and not matrices.is_of_vector


def matrices_of(update: Update) -> Matrices | None:
    """The matrices whose product a sum is; None where it is none, or a small one."""
    factors = list(factors_of(update.body)) if update.kind == "sum" and update.summed else []
    scales = [x.value for x in factors if isinstance(x, Number)]
    both = [x for x in factors if isinstance(x, Access) and x.outside == "error"]
    if len(both) != 2 or len(scales) + 2 != len(factors) or any(isinstance(x, complex) for x in scales):
        return None
    boxes = intervals(update.conditions, update.loops)
    if boxes is None or any(c.kind == "%" for c in update.conditions):
        return None
    if any(form.denominator() != 1 for x in both for form in x.subscripts):
        return None
    seen = [{name for form in x.subscripts for name in form.names} for x in both]
    rows = tuple(n for n in update.free if n in seen[0] and n not in seen[1])
    columns = tuple(n for n in update.free if n in seen[1] and n not in seen[0])
    batch = tuple(n for n in update.free if n not in (*rows, *columns))
    guards: tuple[list[Affine], list[Affine], list[Affine]] = ([], [], [])
    homes: list[set[str]] = [
        {*batch, *rows, *update.summed},
        {*batch, *columns, *update.summed},
        {*batch, *rows, *columns},
    ]
    for form in (side for c in update.conditions for side in sides_of(c)):
        if len(form.names) == 1:
            continue  # its box
        # a condition that keeps one factor in its array may be one of the other's loops, too
        holding = [k for k in (0, 1) if form.names <= homes[k]]
        if not holding and not form.names <= homes[2]:
            return None
        for place in holding or [2]:
            guards[place].append(form)
    if max(map(len, guards)) > MOST_GUARDS:
        return None
    scale = reduce(operator.mul, scales, 1.0)
    found = Matrices(boxes, batch, rows, columns, update.summed, both[0], both[1], scale, guards)
    return found if _is_worth_it(found, update) else None


def _is_worth_it(matrices: Matrices, update: Update) -> bool:
    sizes = [matrices.size(loops) for loops in (matrices.rows, matrices.columns, matrices.inner)]
    fewest = max(sizes[:2]) if matrices.is_of_vector else min(sizes[:2])
    if fewest < _FEWEST or sizes[2] < _FEWEST_INNER or prod(sizes) < _FEWEST_PRODUCTS:
        return False
    if max(*sizes, matrices.size(matrices.batch)) > _LARGEST_TABLE:
        return False
    filled = points(update.conditions, update.loops)
    return filled >= _FILLED * matrices.products


def place_in_bytes(subscripts: Iterable[Affine], strides: Iterable[int]) -> Affine:
    """Where an element is."""
    return sum((s * step for s, step in zip(subscripts, strides, strict=True)), affine(0))


def planned_product(
    matrices: Matrices,
    update: Update,
    layouts: Mapping[str, Layout],
    places: Mapping[str, int],
    out: Layout,
) -> Product | None:
    """The product for arrays with given strides; None for a vector and a matrix that is none in memory."""
    m = matrices
    x, y = (place_in_bytes(each.subscripts, layouts[each.array].strides) for each in (m.first, m.second))
    to = place_in_bytes(update.subscripts, out.strides)
    rows, columns = (_from_far_to_near(loops, to) for loops in (m.rows, m.columns))
    names, guards = [m.first.array, m.second.array], list(m.guards)
    if not rows or (columns and _step(rows[-1], to) < _step(columns[-1], to)):
        # what is transposed lies by rows
        rows, columns, x, y = columns, rows, y, x
        names.reverse()
        guards[:2] = guards[1::-1]
    inner = _from_far_to_near(m.inner, x)
    lay = _Laying(m.boxes, _from_far_to_near(m.batch, to), out.itemsize)
    first = lay.factor(places[names[0]], x, rows, inner, guards[0])
    if m.is_of_vector and not first[5]:
        return None
    second = lay.factor(places[names[1]], y, columns, inner, guards[1])
    result = lay.matrix(0, to, rows, columns, guards[2], True)
    sizes = (m.size(m.batch), m.size(rows), m.size(columns), m.size(inner))
    is_whole = not m.guards[2] and prod(sizes[:3]) == prod(out.shape)
    return Product(sizes, first, second, result, m.scale, out.dtype.num, is_whole)


def _step(name: str, place: Affine) -> int:
    """How far a step of a loop leads, in bytes."""
    return abs(int(place.coefficient(name).constant))


def _from_far_to_near(loops: Iterable[str], place: Affine) -> tuple[str, ...]:
    """Loops by how far their steps lead, the nearest last."""
    return tuple(sorted(loops, key=lambda name: -_step(name, place)))


@dataclass(frozen=True)
class _Laying:
    """How matrices lie."""

    boxes: dict[str, Interval]
    batch: tuple[str, ...]
    itemsize: int

    def factor(
        self, array: int, place: Affine, lines: tuple[str, ...], across: tuple[str, ...], guards: list[Affine]
    ) -> tuple[Any, ...]:
        """A matrix in the direction in which more neighbours lie in a row."""
        both = [self.matrix(array, place, lines, across, guards, along) for along in (True, False)]
        return max(both, key=lambda one: (one[5] > 0, self._worth(one)))

    def _worth(self, matrix: tuple[Any, ...]) -> float:
        _, _, run, step, *_ = matrix
        return min(run, _LONG_RUN) * (1.0 if step == self.itemsize else 0.5)

    def matrix(
        self,
        array: int,
        place: Affine,
        lines: tuple[str, ...],
        across: tuple[str, ...],
        guards: list[Affine],
        along: bool,
    ) -> tuple[Any, ...]:
        """As the machine takes it."""
        direction, other = (across, lines) if along else (lines, across)
        run, (step, *steps) = self._run(direction, [place, *guards])
        row_length = 0
        if not guards and step == self.itemsize and run == size_of(self.boxes, direction):
            row_length = self._row_length(place, other, run)
        told = [(self._tables(guard, lines, across), by) for guard, by in zip(guards, steps, strict=True)]
        return array, self._tables(place, lines, across), run, step, along, row_length, told

    def _row_length(self, place: Affine, other: tuple[str, ...], run: int) -> int:
        """Of rows that lie a multiple of numbers apart, and not on each other; 0 if that is not so."""
        count, (step,) = self._run(other, [place])
        if count != size_of(self.boxes, other):
            return 0
        length = step // self.itemsize
        fits = step % self.itemsize == 0 and run <= length < 2**31
        return length if fits else (run if count == 1 else 0)

    def _run(self, loops: tuple[str, ...], forms: list[Affine]) -> tuple[int, list[int]]:
        """How many neighbours have the same distance in all forms, and these distances."""
        steps: list[int] | None = None
        run = 1
        for name in reversed(loops):
            length = size_of(self.boxes, (name,))
            if length == 1:
                continue
            by = [int(form.coefficient(name).constant) for form in forms]
            if steps is not None and by != [step * run for step in steps]:
                break
            steps = by if steps is None else steps
            run *= length
        return run, steps if steps is not None else [self.itemsize, *(0 for _ in forms[1:])]

    def _tables(self, form: Affine, lines: tuple[str, ...], across: tuple[str, ...]) -> tuple[Any, ...]:
        constant = int(form.constant)
        return tuple(
            self._table(form, loops, start)
            for loops, start in ((self.batch, constant), (lines, 0), (across, 0))
        )

    def _table(self, form: Affine, loops: tuple[str, ...], start: int) -> Any:
        """The part of a form that loops make."""
        found = np.full(1, start, np.int64)
        for name in loops:
            low, high = self.boxes[name]
            steps = np.arange(low, high + 1, dtype=np.int64) * int(form.coefficient(name).constant)
            found = np.add.outer(found, steps).ravel()
        return found
