"""Jacobians of tensor functions as sparse matrices: which entries there are is what subscripts say.

An element that is read contributes one entry for each of the indices of its expression, but for those that
neither it nor the result has: over these, slopes are summed first, as tensors.  Through the tensors that an
expression is made of, their Jacobians multiply.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import scipy.sparse

from lindiff.tensor.adjoints import Contribution, Contributions, names_in
from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.bounds import Row, levels_of
from lindiff.tensor.definition import Bound, Definition
from lindiff.tensor.expressions import (
    Access,
    Apply,
    Bracket,
    Condition,
    Coordinate,
    Number,
    Outside,
    Scalar,
    evaluated,
    substituted,
)
from lindiff.tensor.names import Names, free_names
from lindiff.tensor.statements import Statement, Term, as_product, box_of, tidy
from lindiff.tensor.updates import rows_of

__all__ = ["SparseJacobian"]

# Forms of arguments whose patterns are kept.
KEPT = 8


class SparseJacobian:
    """The Jacobian of a definition by the argument in a place, of raveled arrays."""

    def __init__(self, definition: Definition, place: int) -> None:
        self._made_of = definition, place
        self._definition = definition
        self._by, _ = definition.arguments[place]
        made = Contributions(definition.statements, definition.ranges.sizes)
        found = [(s, c) for s in definition.statements for term in s.terms for c in made.of(s, term)]
        sums = _Sums([*definition.statements, *made.of_value], definition)
        self._contributions: list[tuple[Statement, Contribution]] = []
        reached = {self._by}
        for statement, contribution in found:
            if contribution.access.array in reached:
                reached.add(statement.name)
                self._contributions.append((statement, sums.taken_from(statement, contribution)))
        self._whole = definition.beside(sums.statements)
        self._kept: dict[Any, list[_Local]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseJacobian, self._made_of

    def __call__(self, integers: tuple[tuple[str, int], ...], arrays: list[Any]) -> Any:
        held, bound = self._whole.tensors(integers, *arrays)
        found: dict[str, list[Any]] = {}
        for local in self._locals(integers, held, bound):
            entries = local.entries(held, bound.dtype)
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
            made = [_Local(s, c, held, bound.known) for s, c in self._contributions]
            if len(self._kept) >= KEPT:
                self._kept.clear()
            self._kept[key] = made
        return self._kept[key]


class _Sums:
    """Sums over indices that say nothing of where an entry is.

    Attributes
    ----------
    statements : list of Statement
        Those of the slopes, and these sums behind them.
    """

    def __init__(self, statements: list[Statement], definition: Definition) -> None:
        self.statements = statements
        self._sizes = definition.ranges.sizes
        self._names = Names({*names_in(statements), *(name for name, _ in definition.arguments)})

    def taken_from(self, of: Statement, given: Contribution) -> Contribution:
        """A contribution to a statement with a sum in the place of its slope, unless conditions leave out
        some of what that has a place for."""
        read = {name for subscript in given.access.subscripts for name in subscript.names}
        summed = {k for k in given.indices if k not in of.indices and k not in read}
        free = tuple(k for k in given.indices if k in free_names(given.body) and k not in summed)
        known = {**self._sizes, **dict(zip(of.indices, of.sizes, strict=True))}
        if not summed or not known.keys() >= {*free}:
            return given
        sizes = tuple(known[k] for k in free)
        # conditions of integers alone say whether anything is read
        inside = [c for c in given.conditions if c.names & summed or not c.names & {*given.indices}]
        others = [c for c in given.conditions if not c.names & summed]
        outer, narrow = {*given.indices} - summed, {*others}.difference(box_of(free, sizes))
        if any(c.names & outer for c in inside) or any(c.names & {*free} for c in narrow):
            return given
        name = self._names.fresh("slope")
        gone, left = (tuple(k for k in given.indices if (k in summed) == is_in) for is_in in (True, False))
        term = tidy(Term("sum", gone, tuple(inside), as_product(given.body)))
        self.statements.append(Statement(name, free, sizes, (term,)))
        slope = Access(name, tuple(map(affine, free)))
        return replace(given, indices=left, conditions=tuple(others), body=slope, alone=slope)


class _Local:
    """The entries of one element that a statement reads, for given shapes: where they are, and values."""

    def __init__(
        self, statement: Statement, contribution: Contribution, held: dict[str, Any], known: dict[str, int]
    ) -> None:
        access = contribution.access
        self.of, self.reads = statement.name, access.array
        self._shape = held[self.of].size, held[self.reads].size
        self._body = substituted(contribution.body, known)
        conditions = [c.substituted(known) for c in contribution.conditions]
        points = _points_in(conditions, contribution.indices)
        rows, _ = _places(map(affine, statement.indices), held[self.of].shape, points, "error")
        subscripts = [subscript.substituted(known) for subscript in access.subscripts]
        columns, inside = _places(subscripts, held[self.reads].shape, points, access.outside)
        self._points = points.where(inside)
        self._rows, self._columns = rows[inside], columns[inside]

    def entries(self, held: dict[str, Any], dtype: np.dtype[Any]) -> Any:
        leaves = {leaf: _values(leaf, self._points, held, dtype) for leaf in _leaves(self._body)}
        with np.errstate(all="ignore"):
            found = np.asarray(evaluated(self._body, leaves), dtype)
        numbers = np.broadcast_to(found, self._rows.shape)
        return scipy.sparse.coo_array((numbers, (self._rows, self._columns)), shape=self._shape)


@dataclass(frozen=True)
class _Points:
    """Values of indices, one after the other."""

    count: int
    indices: dict[str, Any]

    def where(self, holds: Any) -> _Points:
        if holds.all():
            return self
        return _Points(int(np.count_nonzero(holds)), {name: x[holds] for name, x in self.indices.items()})

    def repeated(self, lengths: Any) -> _Points:
        """Each as often as that says."""
        indices = {name: np.repeat(x, lengths) for name, x in self.indices.items()}
        return _Points(int(np.sum(lengths)), indices)

    def value(self, form: Affine) -> Any:
        """A form at each, times its denominator."""
        whole = form * form.denominator()
        total = np.full(self.count, int(whole.constant), np.int64)
        for name in whole.names:
            total += int(whole.terms[(name,)]) * self.indices[name]
        return total

    def fulfil(self, condition: Condition) -> Any:
        """Which of them fulfil a condition."""
        value = self.value(condition.form)
        if condition.kind == "%":
            return value % int(condition.modulus.constant) == 0
        return value >= 0 if condition.kind == ">=" else value == 0


def _points_in(conditions: list[Condition], loops: tuple[str, ...]) -> _Points:
    """All values of loops under conditions, which bound them, in their order."""
    levels = levels_of(*rows_of(conditions, list(loops)), len(loops))
    if levels is None:
        return _Points(0, {name: np.zeros(0, np.int64) for name in loops})
    points = _Points(1, {})
    for name, level in zip(loops, levels, strict=True):
        form = partial(_form, loops=loops)
        low = reduce(np.maximum, (-(-points.value(form(row)) // divisor) for row, divisor in level.lower))
        high = reduce(np.minimum, (points.value(form(row)) // divisor for row, divisor in level.upper))
        lengths = np.maximum(high - low + 1, 0)
        first = low - (np.cumsum(lengths) - lengths)
        points = points.repeated(lengths)
        points.indices[name] = np.arange(points.count) + np.repeat(first, lengths)
        for c in level.congruences:
            points = points.where(points.fulfil(Condition("%", form(c.row), affine(c.modulus))))
    return points


def _form(row: Row, loops: tuple[str, ...]) -> Affine:
    return sum((affine(name) * c for name, c in zip(loops, row, strict=False)), affine(row[-1]))


def _places(
    subscripts: Iterable[Affine], shape: tuple[int, ...], points: _Points, outside: Outside
) -> tuple[Any, Any]:
    """Where elements are in a raveled array, and which of them are in it."""
    places, inside = np.zeros(points.count, np.int64), np.ones(points.count, bool)
    for subscript, size in zip(subscripts, shape, strict=True):
        at = points.value(subscript) // subscript.denominator()
        if outside == "wrap":
            at %= max(size, 1)
        inside &= (at >= 0) & (at < size)
        places = places * size + at
    return places, inside


def _values(leaf: Scalar, points: _Points, held: dict[str, Any], dtype: np.dtype[Any]) -> Any:
    """What an element, an index or a bracket is at points."""
    if isinstance(leaf, Coordinate):
        return (points.value(leaf.form) / leaf.form.denominator()).astype(dtype)
    if isinstance(leaf, Bracket):
        return reduce(np.logical_and, map(points.fulfil, leaf.conditions)).astype(dtype)
    assert isinstance(leaf, Access)
    places, inside = _places(leaf.subscripts, held[leaf.array].shape, points, leaf.outside)
    if inside.all():
        return np.ravel(held[leaf.array])[places]
    values = np.zeros(points.count, dtype)
    values[inside] = np.ravel(held[leaf.array])[places[inside]]
    return values


def _leaves(x: Scalar) -> set[Scalar]:
    if isinstance(x, Apply):
        return {leaf for part in x.args for leaf in _leaves(part)}
    return set() if isinstance(x, Number) else {x}


def _sum(parts: list[Any]) -> Any:
    """Of matrices; an entry of 0 stays one."""
    pieces = [part.tocoo() for part in parts]
    places = tuple(np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("row", "col"))
    numbers = np.concatenate([piece.data for piece in pieces])
    return scipy.sparse.coo_array((numbers, places), shape=parts[0].shape).tocsr()


def _product(A: Any, B: Any) -> Any:
    """Likewise, where 0 · ∞ = 0; SciPy's leaves out what is 0."""
    A = A.tocsr()
    pattern = _of_ones(A) @ _of_ones(B)
    pattern.data = np.zeros_like(pattern.data, dtype=A.dtype)
    return _sum([_of_others_than_zero(A) @ _of_others_than_zero(B), pattern])


def _of_others_than_zero(A: Any) -> Any:
    found = A.copy()
    found.eliminate_zeros()
    return found


def _of_ones(A: Any) -> Any:
    return scipy.sparse.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
