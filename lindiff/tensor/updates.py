"""Terms for given shapes and integers: loops whose bounds, subscripts and conditions are numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import gcd, inf, prod

from lindiff.tensor.affine import Affine, AffineLike, affine
from lindiff.tensor.bounds import Congruence, Row
from lindiff.tensor.expressions import (
    Access,
    Bracket,
    Condition,
    Coordinate,
    Scalar,
    accesses,
    at_least,
    each_in,
    substituted,
)
from lindiff.tensor.statements import Statement, Term, box_of

__all__ = [
    "Interval",
    "Update",
    "forms_of",
    "intervals",
    "lengths_of",
    "needed",
    "points",
    "rows_of",
    "sides_of",
    "size_of",
    "update_of",
]

# The first and the last value.
Interval = tuple[int, int]

# Integers whose products with indices and strides have room in 64 bits.
_LARGEST = 1 << 36

# Moduli whose products have.
_LARGEST_MODULUS = 1 << 31

# Rounds in which intervals of loops narrow each other.
_ROUNDS = 8


@dataclass(frozen=True)
class Update:
    """``of[subscripts] = of[subscripts] + sum of the body``, for all values of loops under conditions.

    Attributes
    ----------
    of : str
        The tensor.
    subscripts : tuple of Affine
        Of the free loops; no two values of these are the same place.
    free : tuple of str
    kind : {"sum", "prod", "max", "min"}
    summed : tuple of str
    conditions : tuple of Condition
        They bound all loops.
    body : Scalar
    """

    of: str
    subscripts: tuple[Affine, ...]
    free: tuple[str, ...]
    kind: str
    summed: tuple[str, ...]
    conditions: tuple[Condition, ...]
    body: Scalar

    @property
    def loops(self) -> tuple[str, ...]:
        return (*self.free, *self.summed)

    @property
    def is_in_box(self) -> bool:
        """Whether its conditions are bounds of single loops alone."""
        return all(len(c.form.names) == 1 and c.kind == ">=" for c in self.conditions)

    def is_whole(self, shape: tuple[int, ...]) -> bool:
        """Whether it says each number of a tensor of this shape once, without a sum."""
        boxes = intervals(self.conditions, self.free)
        return (
            boxes is not None
            and not self.summed
            and self.is_in_box
            and self.subscripts == tuple(map(affine, self.free))
            and all(box == (0, size - 1) for box, size in zip(boxes.values(), shape, strict=True))
        )

    def substituted(self, by: Mapping[str, AffineLike]) -> Update:
        """With forms in the place of loops; which loops there are then, the caller says."""
        return replace(
            self,
            subscripts=tuple(s.substituted(by) for s in self.subscripts),
            conditions=tuple(c.substituted(by) for c in self.conditions),
            body=substituted(self.body, by),
        )

    def inside(self, shapes: Mapping[str, tuple[int, ...]]) -> Update:
        """Where all subscripts are integers and in their arrays, without the conditions that hold anyway."""
        found = list(self.conditions)
        for access in accesses(self.body):
            for subscript in access.subscripts:
                divisor = subscript.denominator()
                found += [Condition("%", subscript * divisor, affine(divisor))] * (divisor > 1)
            if access.outside == "error":
                found += box_of(access.subscripts, shapes[access.array])
        return replace(self, conditions=needed(c.substituted({}) for c in found))


def update_of(statement: Statement, term: Term, known: Mapping[str, int]) -> Update:
    """A term with numbers for all integers.

    Raises
    ------
    OverflowError
        For integers that are too large to compute with.
    """
    sizes = [size.substituted(known) for size in statement.sizes]
    conditions = [*box_of(statement.indices, sizes), *(c.substituted(known) for c in term.domain)]
    subscripts = tuple(map(affine, statement.indices))
    body = substituted(term.body, known)
    forms = [*forms_of(body), *(c.form for c in conditions)]
    largest = max(
        (abs(int(c)) for form in forms for c in (form * form.denominator()).terms.values()), default=0
    )
    if largest > _LARGEST:
        raise OverflowError(f"{statement.name}: an integer of {largest} in subscripts")
    moduli = (c.modulus.substituted(known).constant for c in term.conditions)
    modulus = max(map(int, moduli), default=0)
    if modulus > _LARGEST_MODULUS:
        raise OverflowError(f"{statement.name}: a remainder by {modulus}, which is too large")
    return Update(
        statement.name, subscripts, statement.indices, term.kind, term.summed, needed(conditions), body
    )


def forms_of(x: Scalar) -> Iterator[Affine]:
    """What an expression sees of the loops."""
    for part in each_in(x):
        if isinstance(part, Access):
            yield from part.subscripts
        elif isinstance(part, Coordinate):
            yield part.form
        elif isinstance(part, Bracket):
            yield from (c.form for c in part.conditions)


def sides_of(condition: Condition) -> list[Affine]:
    """The forms that are not negative where a condition holds."""
    if condition.kind == "%":
        return []
    return [condition.form, -condition.form] if condition.kind == "==" else [condition.form]


def needed(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Without those that hold wherever single loops are in their bounds."""
    found = [c for c in dict.fromkeys(map(_reduced, conditions)) if c.holds is not True]
    single = [c for c in found if len(c.form.names) == 1]
    boxes = _narrowed({}, single)
    kept = [c for c in found if len(c.form.names) != 1 or c.kind != ">="]
    kept = [c for c in kept if c.kind != ">=" or not _least(c.form, boxes) >= 0]
    for name, (low, high) in boxes.items():
        kept += [at_least(name, int(low))] if low > -inf else []
        kept += [at_least(int(high), name)] if high < inf else []
    return tuple(kept)


def _reduced(condition: Condition) -> Condition:
    """Divided by what the coefficients of an inequality have in common, the constant rounded down."""
    form = condition.form
    common = gcd(*(int(c) for names, c in form.terms.items() if names))
    if condition.kind != ">=" or common < 2:
        return condition
    return Condition(">=", (form - form.constant) / common + int(form.constant) // common)


def intervals(conditions: Iterable[Condition], loops: Iterable[str]) -> dict[str, Interval] | None:
    """A first and a last value for each loop; None where one has none, or there is nothing in them."""
    given = list(conditions)
    boxes: dict[str, tuple[float, float]] = dict.fromkeys(loops, (-inf, inf))
    for _ in range(_ROUNDS):
        before, boxes = boxes, _narrowed(boxes, given)
        if boxes == before:
            break
    if any(low == -inf or high == inf or low > high for low, high in boxes.values()):
        return None
    return {name: (int(low), int(high)) for name, (low, high) in boxes.items()}


def size_of(boxes: Mapping[str, Interval], loops: Iterable[str]) -> int:
    """How many values loops have together in their boxes."""
    return prod(boxes[name][1] - boxes[name][0] + 1 for name in loops)


def _narrowed(
    boxes: Mapping[str, tuple[float, float]], conditions: Iterable[Condition]
) -> dict[str, tuple[float, float]]:
    """What each condition says of each loop, given the intervals of the others."""
    found = dict(boxes)
    for condition in conditions:
        for form in sides_of(condition):
            for name in form.names:
                low, high = found.get(name, (-inf, inf))
                c = form.terms[(name,)]
                most = _most(form, name, found)  # c name >= -most
                if most == inf:
                    continue
                if c > 0:
                    found[name] = (max(low, -(most // c)), high)
                else:
                    found[name] = (low, min(high, -most // c))
    return found


def _most(form: Affine, beside: str, boxes: Mapping[str, tuple[float, float]]) -> float:
    """The largest value in a box of what is added to the multiples of a loop."""
    total: float = form.constant  # type: ignore[assignment]
    for name in form.names:
        if name != beside:
            low, high = boxes.get(name, (-inf, inf))
            c = form.terms[(name,)]
            total += c * (high if c > 0 else low)
    return total


def _least(form: Affine, boxes: Mapping[str, tuple[float, float]]) -> float:
    """The least value of a form in a box."""
    total: float = form.constant  # type: ignore[assignment]
    for name in form.names:
        low, high = boxes.get(name, (-inf, inf))
        c = form.terms[(name,)]
        end = low if c > 0 else high
        if abs(end) == inf:
            return -inf
        total += c * end
    return total


def rows_of(conditions: Iterable[Condition], loops: list[str]) -> tuple[list[Row], list[Congruence]]:
    """Conditions of loops as rows of integers."""
    rows: list[Row] = []
    congruences: list[Congruence] = []
    for c in conditions:
        unknown = c.form.names - set(loops)
        assert not unknown, f"{', '.join(unknown)} of a condition is not known"
        row = (*(int(c.form.terms.get((name,), 0)) for name in loops), int(c.form.constant))
        if c.kind == "%" and c.modulus.constant == 0:  # of an axis without elements
            rows.append((*(0 for _ in loops), -1))
        elif c.kind == "%":
            congruences.append(Congruence(row, int(c.modulus.constant)))
        else:
            rows.append(row)
            if c.kind == "==":
                rows.append(tuple(-x for x in row))
    return rows, congruences


def lengths_of(conditions: Iterable[Condition], loops: list[str]) -> dict[str, int]:
    """How long each loop is at most as the innermost one, by its two nearest bounds that run side by side."""
    rows, _ = rows_of(conditions, loops)
    return {name: max(min(_widths(rows, k), default=0), 0) for k, name in enumerate(loops)}


def _widths(rows: list[Row], k: int) -> list[int]:
    """How long loop k is between two bounds that run side by side."""
    return [
        (low[-1] * -high[k] + high[-1] * low[k]) // (low[k] * -high[k]) + 1
        for low in rows
        if low[k] > 0
        for high in rows
        if high[k] < 0
        and all(x * -high[k] + y * low[k] == 0 for x, y in zip(low[:-1], high[:-1], strict=True))
    ]


def points(conditions: Iterable[Condition], loops: Iterable[str]) -> float:
    """About how many values loops have together: the narrowest first, between bounds side by side."""
    names = list(loops)
    conditions = list(conditions)
    boxes = intervals(conditions, names)
    if boxes is None:
        return 0.0
    if all(len(c.form.names) == 1 and c.kind == ">=" for c in conditions):
        return float(size_of(boxes, names))
    rows, congruences = rows_of(conditions, names)
    total, left = 1.0, set(range(len(names)))
    while left:
        widths = {k: min([*_widths(rows, k), size_of(boxes, [names[k]])]) for k in left}
        k = min(left, key=lambda k: (widths[k], k))
        total *= max(widths[k], 0)
        left.remove(k)
        rows = [row for row in rows if not row[k]]
    for congruence in congruences:
        total /= congruence.modulus
    return total
