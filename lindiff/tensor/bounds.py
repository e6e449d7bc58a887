"""Bounds of nested loops from linear inequalities, by Fourier-Motzkin elimination over the integers.

The innermost loop is eliminated first: what bounds it from below and from above are its bounds, and each pair
of them an inequality of the loops around it (Urban and van der Smagt 2017, Automatic Differentiation for
Tensor Algebras).  Rows that follow from others are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

__all__ = ["Congruence", "Level", "Row", "levels_of"]

# Coefficients of the loops, outermost first, and a constant: what they give is not negative.
Row = tuple[int, ...]


@dataclass(frozen=True)
class Congruence:
    """``row`` of the loops and 1 is divisible by ``modulus``."""

    row: Row
    modulus: int


@dataclass(frozen=True)
class Level:
    """The bounds of one loop, given the loops around it.

    Attributes
    ----------
    lower, upper : tuple of (Row, int)
        The loop goes from the largest ``ceil(row / divisor)`` to the least ``floor(row / divisor)``.
    congruences : tuple of Congruence
        Whose last coefficient that is not 0 is this loop's.
    """

    lower: tuple[tuple[Row, int], ...]
    upper: tuple[tuple[Row, int], ...]
    congruences: tuple[Congruence, ...]


def levels_of(rows: list[Row], congruences: list[Congruence], n: int) -> list[Level] | None:
    """The bounds of n loops; None where there is nothing in them.

    Parameters
    ----------
    rows : list of Row
        Of n + 1 numbers each; they bound every loop from both sides.
    congruences : list of Congruence
    n : int

    Raises
    ------
    ValueError
        Where a loop has no bound on a side.
    """
    at_level: dict[int, list[Congruence]] = {k: [] for k in range(-1, n)}
    for congruence in congruences:
        if congruence.row[n] % gcd(congruence.modulus, *congruence.row[:n]):
            return None
        reduced = tuple(x % congruence.modulus for x in congruence.row)
        last = max((k for k in range(n) if reduced[k]), default=-1)
        at_level[last].append(Congruence(reduced, congruence.modulus))
    given = [_Derived(tidy, 1 << i) for i, row in enumerate(rows) if (tidy := _tidy(row)) is not None]
    found: list[Level] = []
    for k in reversed(range(n)):
        given = _needed(given, n)
        above = [one for one in given if one.row[k] > 0]
        below = [one for one in given if one.row[k] < 0]
        if not above or not below:
            raise ValueError(f"loop {k} has no {'lower' if not above else 'upper'} bound")
        lower = tuple((tuple(-x for x in _without(one.row, k)), one.row[k]) for one in above)
        upper = tuple((_without(one.row, k), -one.row[k]) for one in below)
        found.append(Level(lower, upper, tuple(at_level[k])))
        given = [one for one in given if not one.row[k]]
        for a in above:
            for b in below:
                joined = a.joined(b, k)
                if joined is not None and joined.origins.bit_count() <= n - k + 1:
                    given.append(joined)
    if any(one.row[n] < 0 for one in given):
        return None
    return found[::-1]


@dataclass(frozen=True)
class _Derived:
    """A row, and from which of the given ones it follows, a bit for each.

    What follows from more than k + 1 of them after k eliminations follows from the others that are kept
    (Kohler 1967).
    """

    row: Row
    origins: int

    def joined(self, other: _Derived, k: int) -> _Derived | None:
        """The sum in which loop k cancels; None where it always holds."""
        a, b = self.row[k], -other.row[k]
        row = _tidy(tuple(x * b + y * a for x, y in zip(self.row, other.row, strict=True)))
        return None if row is None else _Derived(row, self.origins | other.origins)


def _without(row: Row, k: int) -> Row:
    return (*row[:k], 0, *row[k + 1 :])


def _tidy(row: Row) -> Row | None:
    """Divided by what its coefficients have in common, the constant rounded down; None if it always holds."""
    common = gcd(*row[:-1]) if len(row) > 1 else 0
    if common == 0:
        return row if row[-1] < 0 else None
    return (*(x // common for x in row[:-1]), row[-1] // common)


def _needed(rows: list[_Derived], n: int) -> list[_Derived]:
    """The rows but for those that follow from one other row, or from the bounds of single loops."""
    least: dict[Row, _Derived] = {}
    for one in rows:
        before = least.get(one.row[:-1])
        if before is None or (one.row[-1], one.origins.bit_count()) < (
            before.row[-1],
            before.origins.bit_count(),
        ):
            least[one.row[:-1]] = one
    low: dict[int, int] = {}
    high: dict[int, int] = {}
    for one in least.values():
        places = [k for k in range(n) if one.row[k]]
        if len(places) == 1:  # its coefficient is ±1 by now
            if one.row[places[0]] > 0:
                low[places[0]] = -one.row[n]
            else:
                high[places[0]] = one.row[n]
    return [one for one in least.values() if _is_single(one.row) or not _holds(one.row, low, high)]


def _is_single(row: Row) -> bool:
    return sum(map(bool, row[:-1])) <= 1


def _holds(row: Row, low: dict[int, int], high: dict[int, int]) -> bool:
    """Whether an inequality holds wherever the single loops are in their bounds."""
    total = row[-1]
    for k, c in enumerate(row[:-1]):
        if c:
            bounds = low if c > 0 else high
            if k not in bounds:
                return False
            total += c * bounds[k]
    return total >= 0
