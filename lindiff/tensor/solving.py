"""Integer equations of indices, solved for those that are summed.

The adjoint of ``f[α] = x[A α]`` sums ``f̄[α]`` over all α with ``A α = β``.  The δ's of that equation cancel
sums: an index that has a coefficient of ±1 is what the others say, and what then is left is a lattice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.expressions import Condition
from lindiff.tensor.lattice import Lattice

__all__ = ["Solution", "solved"]


@dataclass(frozen=True)
class Solution:
    """Where equations hold.

    Attributes
    ----------
    values : dict of str to Affine
        Of unknowns, by the other names and the new ones.
    unknowns : tuple of str
        What may be any integer still: unknowns, or new names for what they have in common.
    conditions : tuple of Condition
        ``C β = 0``, and what has to be divisible.
    """

    values: dict[str, Affine]
    unknowns: tuple[str, ...]
    conditions: tuple[Condition, ...]


def solved(equations: Iterable[Affine], unknowns: tuple[str, ...], fresh: Callable[[], str]) -> Solution:
    """Solve ``equation == 0`` for all of them, exactly.

    Parameters
    ----------
    equations : iterable of Affine
    unknowns : tuple of str
        Those in front are eliminated first, where there is a choice.
    fresh : callable
        Gives new names.

    Raises
    ------
    ValueError
        Where an integer that is not known yet multiplies all unknowns of an equation.
    """
    left = [equation * equation.denominator() for equation in equations if equation.terms]
    values: dict[str, Affine] = {}
    while (pivot := _pivot(left, unknowns)) is not None:
        equation, unknown, sign = pivot
        value = affine(unknown) - equation * sign
        by = {unknown: value}
        values = {name: x.substituted(by) for name, x in values.items()} | by
        left = [x for other in left if other is not equation if (x := other.substituted(by)).terms]
        unknowns = tuple(name for name in unknowns if name != unknown)
    if not left:
        return Solution(values, unknowns, ())
    return _by_lattice(left, unknowns, values, fresh)


def _pivot(equations: list[Affine], unknowns: tuple[str, ...]) -> tuple[Affine, str, int] | None:
    """An equation and an unknown with a coefficient of ±1 in it, of the equation with the fewest unknowns."""
    found = []
    for k, equation in enumerate(equations):
        names = equation.names
        units = []
        for place, name in enumerate(unknowns):
            if name in names:
                c = equation.coefficient(name).number
                if c in (1, -1):
                    units.append((place, name, int(c)))
        if units:
            place, name, sign = min(units)
            found.append((sum(name in names for name in unknowns), place, k, name, sign))
    if not found:
        return None
    _, _, k, name, sign = min(found)
    return equations[k], name, sign


def _by_lattice(
    equations: list[Affine], unknowns: tuple[str, ...], values: dict[str, Affine], fresh: Callable[[], str]
) -> Solution:
    """What is left: no unknown has a coefficient of ±1."""
    asked = tuple(name for name in unknowns if any(name in equation.names for equation in equations))
    A = []
    for equation in equations:
        row = [equation.coefficient(name).number for name in asked]
        unknown = [name for name, c in zip(asked, row, strict=True) if not isinstance(c, int)]
        if unknown:
            raise ValueError(
                f"{equation.coefficient(unknown[0]).text()} is not known, which multiplies {unknown[0]}: "
                f"write a number in its place"
            )
        A.append(row)
    b = [-equation.without(asked) for equation in equations]
    if not asked:
        return Solution(values, unknowns, tuple(Condition("==", equation) for equation in equations))
    lattice = Lattice.of(A)  # type: ignore[arg-type]
    Pb = [sum((x * c for x, c in zip(b, row, strict=True)), affine(0)) for row in lattice.rows]
    conditions = [
        Condition("%", x, affine(s)) for x, s in zip(Pb, lattice.divisors, strict=False) if s > 1
    ] + [Condition("==", x) for x in Pb[lattice.rank :]]
    new = [fresh() for _ in range(len(asked) - lattice.rank)]
    y = [x / s for x, s in zip(Pb, lattice.divisors, strict=False)] + [affine(name) for name in new]
    by = {
        name: sum((x * c for x, c in zip(y, row, strict=True)), affine(0))
        for name, row in zip(asked, lattice.columns, strict=True)
    }
    values = {name: x.substituted(by) for name, x in values.items()} | by
    rest = tuple(name for name in unknowns if name not in asked)
    return Solution(values, (*rest, *new), tuple(c for c in conditions if c.holds is not True))
