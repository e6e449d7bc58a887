"""Jacobians of tensor functions as sparse matrices: which entries there are is what subscripts say.

An element that is read contributes one entry for each of the indices of its expression.  Through the tensors
that an expression is made of, their Jacobians multiply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from lindiff.tensor.adjoints import Contribution, Contributions
from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.bounds import levels_of
from lindiff.tensor.definition import Bound, Definition
from lindiff.tensor.expressions import Condition, Number, Scalar, substituted
from lindiff.tensor.statements import Statement, Term
from lindiff.tensor.updates import rows_of

__all__ = ["SparseJacobian"]

# A name that no expression has.
_ENTRIES = " entries"


# Forms of arguments whose patterns are kept.
KEPT = 8


class SparseJacobian:
    """The Jacobian of a definition by the argument in a place, of raveled arrays."""

    def __init__(self, definition: Definition, place: int) -> None:
        self._definition = definition
        self._by, _ = definition.arguments[place]
        made = Contributions(definition.statements, definition.ranges.sizes)
        self._contributions = [
            (s, c) for s in definition.statements for term in s.terms for c in made.of(s, term)
        ]
        self._whole = definition.beside([*definition.statements, *made.of_value])
        self._kept: dict[Any, list[_Local]] = {}

    def __call__(self, integers: tuple[tuple[str, int], ...], arrays: list[Any]) -> Any:
        held, bound = self._whole.tensors(integers, *arrays)
        found: dict[str, list[Any]] = {}
        for local in self._locals(integers, held, bound):
            entries = local.entries(integers, arrays, bound.dtype)
            if local.reads != self._by:
                entries = _product(entries, _sum(found[local.reads]))
            found.setdefault(local.of, []).append(entries)
        last = self._definition.statements[-1].name
        if last in found:
            return _sum(found[last])
        return scipy.sparse.csr_array((held[last].size, held[self._by].size), dtype=bound.dtype)

    def _locals(
        self, integers: tuple[tuple[str, int], ...], held: dict[str, Any], bound: Bound
    ) -> list[_Local]:
        key = integers, tuple(held[name].shape for name, _ in self._definition.arguments)
        if key not in self._kept:
            reached, made = {self._by}, []
            for statement, contribution in self._contributions:
                if contribution.access.array in reached:
                    reached.add(statement.name)
                    made.append(_Local(statement, contribution, self._whole, integers, held, bound))
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[key] = made
        return self._kept[key]


class _Local:
    """The entries of one element that a statement reads, for given shapes: where they are, and values."""

    def __init__(
        self,
        statement: Statement,
        contribution: Contribution,
        whole: Definition,
        integers: tuple[tuple[str, int], ...],
        held: dict[str, Any],
        bound: Bound,
    ) -> None:
        access = contribution.access
        self.of, self.reads = statement.name, access.array
        self._shape = held[self.of].size, held[self.reads].size
        entries = _Entries(contribution, bound.known)
        self._values: Definition | None = None
        if entries.is_empty:
            return
        arrays = [held[name] for name, _ in whole.arguments]
        self._values, mask = (
            whole.beside([*whole.statements, entries.statement(body)])
            for body in (contribution.body, Number(1))
        )
        found = np.asarray(mask.plain(integers, *arrays)) != 0
        at = dict(zip(entries.indices, np.nonzero(np.atleast_1d(found)), strict=False))
        at = {index: place + entries.begins[index] for index, place in at.items()}
        count = int(np.count_nonzero(found))
        rows, columns, inside = np.zeros(count, np.int64), np.zeros(count, np.int64), np.ones(count, bool)
        for index, size in zip(statement.indices, held[self.of].shape, strict=True):
            rows = rows * size + at[index]
        for subscript, size in zip(access.subscripts, held[self.reads].shape, strict=True):
            place = _at(subscript.substituted(bound.known), at, count)
            if access.outside == "wrap":
                place = place % size
            inside &= (place >= 0) & (place < size)
            columns = columns * size + place
        self._picked = np.flatnonzero(found)[inside]
        self._rows, self._columns = rows[inside], columns[inside]

    def entries(self, integers: tuple[tuple[str, int], ...], arrays: list[Any], dtype: np.dtype[Any]) -> Any:
        if self._values is None:
            return scipy.sparse.coo_array(self._shape, dtype=dtype)
        numbers = np.ravel(self._values.plain(integers, *arrays))[self._picked]
        return scipy.sparse.coo_array((numbers, (self._rows, self._columns)), shape=self._shape)


def _sum(parts: list[Any]) -> Any:
    """Of matrices; an entry of 0 stays one."""
    pieces = [part.tocoo() for part in parts]
    places = tuple(np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("row", "col"))
    numbers = np.concatenate([piece.data for piece in pieces])
    return scipy.sparse.coo_array((numbers, places), shape=parts[0].shape).tocsr()


def _product(A: Any, B: Any) -> Any:
    """Likewise; SciPy's leaves out what is 0."""
    A = A.tocsr()
    pattern = _of_ones(A) @ _of_ones(B)
    pattern.data = np.zeros_like(pattern.data, dtype=A.dtype)
    return _sum([A @ B, pattern])


def _of_ones(A: Any) -> Any:
    return scipy.sparse.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)


def _at(form: Affine, indices: dict[str, Any], count: int) -> Any:
    """A form of arrays of indices."""
    divisor = form.denominator()
    whole = form * divisor
    total = np.full(count, int(whole.constant), np.int64)
    for name in whole.names:
        total += int(whole.terms[(name,)]) * indices[name]
    return total // divisor


class _Entries:
    """A contribution as a tensor with an index for each of its indices, from the first value of each on."""

    def __init__(self, contribution: Contribution, known: dict[str, int]) -> None:
        self._contribution = contribution
        self.indices = contribution.indices
        conditions = [c.substituted(known) for c in contribution.conditions]
        self.begins: dict[str, int] = {}
        self._sizes: list[Affine] = []
        for index, (low, high) in zip(self.indices, self._ranges(conditions), strict=False):
            self.begins[index] = low
            self._sizes.append(affine(high - low + 1))
        self.is_empty = len(self._sizes) < len(self.indices)

    def _ranges(self, conditions: list[Condition]) -> Iterator[tuple[int, int]]:
        """The first and the last value of each index; of an empty domain none."""
        for index in self.indices:
            order = [index, *(other for other in self.indices if other != index)]
            levels = levels_of(*rows_of(conditions, order), len(order))
            if levels is None:
                return
            low = max(-(-row[-1] // divisor) for row, divisor in levels[0].lower)
            high = min(row[-1] // divisor for row, divisor in levels[0].upper)
            if high < low:
                return
            yield low, high

    def statement(self, body: Scalar) -> Statement:
        """Its values, or where it has any with 1 for the body."""
        by = {index: affine(index) + begin for index, begin in self.begins.items()}
        conditions = tuple(c.substituted(by) for c in self._contribution.conditions)
        term = Term("sum", (), conditions, substituted(body, by))
        return Statement(_ENTRIES, self.indices, tuple(self._sizes), (term,))
