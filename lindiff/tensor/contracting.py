"""Sums in fewer loops: what factors see of the loops are forms of these, often fewer than there are loops.

In ``f[i,j,k] = sum[l] x[i + 2*l - k] w[l,j]`` the sum depends on ``i - k`` and j alone, so that it is
computed for these and copied; in ``w_bar[l,j] = sum[i,k] f_bar[i,j,k] x[i + 2*l - k]`` x does not see a step
along (1, 1) of i and k, so that f_bar is summed along it first.  Both are kernels of integer matrices.  Which
two of several factors are multiplied first is what costs least (greedily, as Smith and Gray 2018, opt_einsum,
JOSS 3, 753, do for einsum).
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.expressions import (
    Access,
    Apply,
    Condition,
    Number,
    Scalar,
    accesses,
    each_in,
    product,
    substituted,
)
from lindiff.tensor.lattice import smith
from lindiff.tensor.names import Names
from lindiff.tensor.products import is_product_of_matrices
from lindiff.tensor.statements import box_of, factors_of
from lindiff.tensor.updates import Update, forms_of, intervals, needed, points

__all__ = ["Contracting"]

# What one value of the loops costs, in additions: of a function, and in a product of matrices.
_CHEAP = (np.add, np.subtract, np.multiply, np.negative)
_FUNCTION = 8.0
_IN_PRODUCT = 0.08

# What it costs to begin with a tensor, whatever is in it.
_TENSOR = 2048.0

# What has to be left of the cost of a sum, for another way to it.
_WORTH = 0.7

# Factors of which pairs are compared with what else there is, and of which they are looked at where that is
# no cheaper: of more that takes longer than most sums.
_FEW = 6
_MOST_PAIRED = 32

# Numbers that an intermediate tensor may always have.
_SMALL = 1 << 16


@dataclass
class Contracting:
    """The search for cheaper ways.

    Attributes
    ----------
    shapes : dict of str to tuple of int
        Of all tensors that are read; those that are made on the way are put in.
    out : tuple of int
        The shape of the result.
    names : Names
    """

    shapes: dict[str, tuple[int, ...]]
    out: tuple[int, ...]
    names: Names
    _offered: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def cheaper(self, update: Update) -> list[Update]:
        """Updates that give the same, in their order; all but the last are of new tensors."""
        whole = _cost(update)
        if whole < _TENSOR:
            return [update]
        for ways in self._ways(update):
            found = None
            for inner, outer in ways:
                cost = _cost(inner) + _cost(outer)
                # of two that cost the same, the one behind sums over axes that are nearer in memory
                if cost < _WORTH * whole and (found is None or cost <= found[0]):
                    found = cost, inner, outer
            if found is not None:
                _, inner, outer = found
                self.shapes[inner.of] = self._offered[inner.of]
                return [*self.cheaper(inner), *self.cheaper(outer)]
        return [update]

    def _ways(self, update: Update) -> Iterator[Iterator[tuple[Update, Update]]]:
        """The ways to be compared; then others, where none of these is cheaper."""
        groups = _groups(update) if update.kind == "sum" else [[]]
        yield self._with_compacted(update, groups[0])
        for others in groups[1:]:
            yield self._by_factors(update, others)

    def _with_compacted(
        self, update: Update, groups: list[tuple[int, ...]]
    ) -> Iterator[tuple[Update, Update]]:
        yield from self._by_factors(update, groups)
        if update.summed:
            way = self._compacted(update)
            if way is not None:
                yield way

    def _by_factors(self, update: Update, groups: list[tuple[int, ...]]) -> Iterator[tuple[Update, Update]]:
        for group in groups:
            way = self._factored(update, group)
            if way is not None:
                yield way

    # -- factors -------------------------------------------------------------------------------------------

    def _factored(self, update: Update, group: tuple[int, ...]) -> tuple[Update, Update] | None:
        """Some factors summed over what the others do not see, as a tensor of their own."""
        factors = list(factors_of(update.body))
        numbers = [x for x in factors if isinstance(x, Number)]
        others = [x for x in factors if not isinstance(x, Number)]
        inside = product(others[k] for k in group)
        rest = [x for k, x in enumerate(others) if k not in group]
        by, along, kept = self._unseen(update.summed, [form for x in rest for form in forms_of(x)])
        if not along and (isinstance(inside, Access) or _sees_all(inside, update.loops)):
            return None
        changed = replace(update, body=product([*numbers, *rest])).substituted(by)
        inside = substituted(inside, by)
        holding = [c for c in changed.conditions if c.form.names & set(along)]
        left = tuple(c for c in changed.conditions if not c.form.names & set(along))
        seen = [*forms_of(inside), *(c.form for c in holding)]
        loops = self._as_in_memory(inside, (*update.free, *kept))
        if not along:  # what is summed with the other factors goes on in memory
            loops = tuple(sorted(loops, key=lambda name: name not in kept))
        of = self._own(seen, loops, along, update.conditions, by)
        if of is None:
            return None
        inner = of.tensor("sum", tuple(along), holding, inside, self._all())
        outer = replace(
            changed,
            summed=kept,
            conditions=needed((*left, *of.inside)),  # those of the other factors are among them
            body=product([changed.body, of.access]),
        )
        return inner, outer

    def _as_in_memory(self, x: Scalar, loops: tuple[str, ...]) -> tuple[str, ...]:
        """Loops in the order of the axes of the largest arrays."""
        shapes = self._all()
        by_size = sorted(accesses(x), key=lambda access: -np.prod(shapes[access.array], dtype=float))
        order = [name for access in by_size for form in access.subscripts for name in sorted(form.names)]
        return tuple(name for name in dict.fromkeys([*order, *loops]) if name in loops)

    def _unseen(
        self, summed: tuple[str, ...], forms: list[Affine]
    ) -> tuple[dict[str, Affine], list[str], tuple[str, ...]]:
        """Other loops for those that are summed: ``along`` is what forms do not see."""
        touched = [name for name in summed if any(name in form.names for form in forms)]
        along = [name for name in summed if name not in touched]
        if _tell_each(forms, touched):
            return {}, along, tuple(touched)
        _, diagonal, Q = smith(_matrix(forms, touched))
        if len(diagonal) == len(touched):
            return {}, along, tuple(touched)
        new = [self.names.fresh(name) for name in touched]
        by = {name: _combined(row, new) for name, row in zip(touched, Q, strict=True)}
        return by, [*along, *new[len(diagonal) :]], tuple(new[: len(diagonal)])

    # -- results -------------------------------------------------------------------------------------------

    def _compacted(self, update: Update) -> tuple[Update, Update] | None:
        """A sum that depends on fewer forms than there are loops of the result, and its copies."""
        summed = set(update.summed)
        holding = [c for c in update.conditions if c.form.names & summed]
        left = tuple(c for c in update.conditions if not c.form.names & summed)
        seen = [*forms_of(update.body), *(c.form for c in holding)]
        of = self._own(seen, update.free, list(update.summed), update.conditions, {})
        if of is None or len(of.indices) == len(update.free):
            return None
        inner = of.tensor(update.kind, update.summed, holding, update.body, self._all())
        return inner, replace(update, summed=(), conditions=needed((*left, *of.inside)), body=of.access)

    # -- tensors -------------------------------------------------------------------------------------------

    def _own(
        self,
        seen: list[Affine],
        loops: tuple[str, ...],
        along: list[str],
        conditions: Iterable[Condition],
        by: Mapping[str, Affine],
    ) -> _Own | None:
        """The indices of a tensor that sees forms of loops, and these that are summed in it alone."""
        bounds = [*(c.substituted(by) for c in conditions)]
        boxes = intervals(bounds, (*loops, *along))
        if boxes is None:
            return None
        touched = [name for name in loops if any(name in form.names for form in seen)]
        matrix = _matrix(seen, touched)
        _, diagonal, Q = smith(matrix) if touched else ([], [], [])
        if len(diagonal) == len(touched):
            Q = [[int(i == j) for j in range(len(touched))] for i in range(len(touched))]
        rank = len(diagonal)
        indices = tuple(self.names.fresh("y") for _ in range(rank))
        coordinates = [_combined(row, touched) for row in _inverse(Q)[:rank]]
        lows, sizes = [], []
        for form in coordinates:
            ends = [sorted(c * x for x in boxes[name]) for (name,), c in form.terms.items()]
            lows.append(int(sum(low for low, _ in ends)))
            sizes.append(int(sum(high for _, high in ends)) - lows[-1] + 1)
        name = self.names.fresh("h")
        shifted = [affine(index) + low for index, low in zip(indices, lows, strict=True)]
        values = {
            loop: sum((y * c for y, c in zip(shifted, row, strict=False)), affine(0))
            for loop, row in zip(touched, Q, strict=True)
        }
        places = tuple(form - low for form, low in zip(coordinates, lows, strict=True))
        if np.prod(sizes, dtype=float) > self._room():
            return None
        self._offered[name] = tuple(sizes)
        return _Own(name, indices, tuple(sizes), values, Access(name, places))

    def _all(self) -> Mapping[str, tuple[int, ...]]:
        return ChainMap(self.shapes, self._offered)

    def _room(self) -> float:
        """How many numbers a tensor on the way may have: half of those that are there, if these are many."""
        there = sum(np.prod(shape, dtype=float) for shape in (*self.shapes.values(), self.out))
        return max(_SMALL, there / 2)


@dataclass(frozen=True)
class _Own:
    """A tensor that is made on the way.

    Attributes
    ----------
    name : str
    indices : tuple of str
    sizes : tuple of int
    values : dict of str to Affine
        Of the loops outside, by its indices.
    access : Access
        An element of it, by the loops outside.
    """

    name: str
    indices: tuple[str, ...]
    sizes: tuple[int, ...]
    values: dict[str, Affine]
    access: Access

    @property
    def inside(self) -> tuple[Condition, ...]:
        """Where the loops outside are in it."""
        return box_of(self.access.subscripts, self.sizes)

    def tensor(
        self,
        kind: str,
        summed: tuple[str, ...],
        conditions: Iterable[Condition],
        body: Scalar,
        shapes: Mapping[str, tuple[int, ...]],
    ) -> Update:
        found = [*box_of(self.indices, self.sizes), *(c.substituted(self.values) for c in conditions)]
        places = tuple(map(affine, self.indices))
        update = Update(
            self.name, places, self.indices, kind, summed, tuple(found), substituted(body, self.values)
        )
        return update.inside(shapes)


def _groups(update: Update) -> list[list[tuple[int, ...]]]:
    """Factors that may be a tensor of their own: each, all that see one of the loops that are summed, and two
    that see the same loop; these behind the others, where there are many."""
    factors = [x for x in factors_of(update.body) if not isinstance(x, Number)]
    alone = list(combinations(range(len(factors)), 1))
    if len(factors) < 3:
        return [alone]
    boxes = intervals(update.conditions, update.loops) or {}
    moving = {name for name, (low, high) in boxes.items() if low < high}
    seen = [moving.intersection(name for form in forms_of(x) for name in form.names) for x in factors]
    of_loops = {tuple(k for k, names in enumerate(seen) if name in names) for name in update.summed}
    first = [*alone, *sorted(group for group in of_loops if 1 < len(group) < len(factors))]
    pairs: list[tuple[int, ...]] = [
        (one, other)
        for one, other in combinations(range(len(factors)), 2)
        if seen[one] & seen[other] and (one, other) not in of_loops
    ]
    if len(factors) <= _FEW:
        return [[*first, *pairs]]
    return [first, pairs] if len(factors) <= _MOST_PAIRED else [first]


def _sees_all(x: Scalar, loops: Iterable[str]) -> bool:
    """Whether an expression is another one for all values of loops."""
    names = list(loops)
    matrix = _matrix(forms_of(x), names)
    return len(matrix) >= len(names) and len(smith(matrix)[1]) == len(names)


def _tell_each(forms: Iterable[Affine], loops: list[str]) -> bool:
    """Whether each of some loops is a form by itself: then no step along them is unseen."""
    return {*loops} <= {name for form in forms if len(form.names) == 1 for name in form.names}


def _matrix(forms: Iterable[Affine], loops: list[str]) -> list[list[int]]:
    """The coefficients of forms, as integers."""
    rows = []
    for form in forms:
        whole = form * form.denominator()
        rows.append([int(whole.terms.get((name,), 0)) for name in loops])
    return [list(row) for row in dict.fromkeys(map(tuple, rows)) if any(row)]


def _combined(row: list[int], names: Iterable[str]) -> Affine:
    return sum((affine(name) * c for name, c in zip(names, row, strict=True)), affine(0))


def _inverse(Q: list[list[int]]) -> list[list[int]]:
    """Of a matrix of determinant ±1: from ``P Q R = 1``, ``R P``."""
    if not Q:
        return []
    P, _, R = smith(Q)
    return [
        [sum(r * p for r, p in zip(row, column, strict=True)) for column in zip(*P, strict=True)] for row in R
    ]


def _weight(x: Scalar) -> float:
    """What one value of an expression costs."""
    functions = (part.function for part in each_in(x) if isinstance(part, Apply))
    return sum(1.0 if function in _CHEAP else _FUNCTION for function in functions)


def _cost(update: Update) -> float:
    each = _IN_PRODUCT if is_product_of_matrices(update) else max(_weight(update.body), 1.0)
    return points(update.conditions, update.loops) * each
