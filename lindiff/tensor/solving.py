"""Integer equations of indices, solved for those that are summed.

The adjoint of ``f[α] = x[A α]`` sums ``f̄[α]`` over all α with ``A α = β``.  The δ's of that equation cancel
sums: an index that has a coefficient of ±1 is what the others say, and what then is left is a lattice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from lindiff.tensor.affine import Affine, Exact, affine
from lindiff.tensor.expressions import Condition
from lindiff.tensor.lattice import Lattice
from lindiff.tensor.names import is_size

__all__ = ["Solution", "counted_from_zero", "solved"]


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


def counted_from_zero(
    unknowns: Iterable[str], conditions: Iterable[Condition], sizes: Mapping[str, Affine]
) -> dict[str, Affine]:
    """What stands for unknowns of a lattice, as a form of indices that count from 0 as all others do.

    Parameters
    ----------
    unknowns : iterable of str
    conditions : iterable of Condition
        Which bound them.
    sizes : dict of str to Affine
        Of the other indices, as far as they are known.
    """
    found: dict[str, Affine] = {}
    left, given = list(unknowns), list(conditions)
    while True:
        begins = ((name, _begin(name, given, sizes, found.keys())) for name in left)
        name, begin = next((pair for pair in begins if pair[1] is not None), (None, None))
        if name is None or begin is None:
            return found
        found[name] = affine(name) + begin
        given = [c.substituted(found) for c in given]
        left.remove(name)


def _begin(
    name: str, conditions: Iterable[Condition], sizes: Mapping[str, Affine], from_zero: Collection[str]
) -> Affine | None:
    """A number that an index is never below."""
    found: list[Affine] = []
    given = list(conditions)
    ends = _ends(given)
    for condition in given:
        c = condition.form.coefficient(name).number
        if condition.kind != ">=" or c is None or c <= 0:
            continue
        most = _most(condition.form.without((name,)), sizes, from_zero, ends)  # c name >= -most
        if most is None:
            continue
        if most.number is not None:
            found.append(affine(max(-(most.number // c), 0) if most.number < 0 else -(most.number // c)))
        else:
            found.append(-most if c == 1 else Affine({n: -x for n, x in most.terms.items() if x > 0}))
    return max(found, key=lambda begin: (begin.number is not None, begin.number or 0), default=None)


def _ends(conditions: Iterable[Condition]) -> dict[str, Exact]:
    """The last values of indices that are numbers."""
    found: dict[str, Exact] = {}
    for condition in conditions:
        form = condition.form
        if condition.kind == ">=" and len(form.names) == 1 and form.terms.get((*form.names,)) == -1:
            (name,) = form.names
            found[name] = min(form.constant, found.get(name, form.constant))
    return found


def _most(
    form: Affine, sizes: Mapping[str, Affine], from_zero: Collection[str], ends: Mapping[str, Exact]
) -> Affine | None:
    """The largest value of a form of indices, in sizes of axes; None where that is not known."""
    total = affine(form.constant)
    for names, c in form.terms.items():
        (name,) = names if len(names) == 1 else ("",)
        if name in sizes:
            total += (sizes[name] - 1) * c if c > 0 else 0
        elif is_size(name):
            total += affine(name) * c
        elif names and not (name in from_zero and c < 0):
            if name not in ends or c < 0:
                return None
            total += ends[name] * c
    return total if all(map(is_size, total.names)) else None


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
