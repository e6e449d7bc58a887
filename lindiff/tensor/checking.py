"""Whether subscripts stay in their arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lindiff.tensor.affine import affine
from lindiff.tensor.bounds import Congruence, Level, Row, levels_of
from lindiff.tensor.expressions import Condition, accesses, at_least
from lindiff.tensor.lattice import Lattice
from lindiff.tensor.statements import Statement, box_of
from lindiff.tensor.updates import rows_of

__all__ = ["check_inside", "first_place"]


def check_inside(
    statement: Statement, known: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Raise where an element is read that is not there.

    Raises
    ------
    IndexError
        It names the subscript, the indices and their values there.
    """
    sizes = [affine(size.substituted(known)) for size in statement.sizes]
    for term in statement.terms:
        loops = [*statement.indices, *term.summed]
        domain = [*box_of(statement.indices, sizes), *(c.substituted(known) for c in term.domain)]
        for access in accesses(term.body):
            if access.outside != "error":
                continue
            for axis, (subscript, size) in enumerate(
                zip(access.subscripts, shapes[access.array], strict=True)
            ):
                form = subscript.substituted(known)
                for left in (at_least(-1, form), at_least(form, size)):
                    place = first_place([*domain, left.substituted({})], loops)
                    if place is not None:
                        at = form.substituted(place).number
                        where = ", ".join(f"{name} = {x}" for name, x in place.items())
                        raise IndexError(
                            f"{statement.name}: {access.array}[..., {subscript.text()}, ...] reads place "
                            f"{at} of axis {axis}, which has {size}, at {where}: give other ranges or "
                            f'conditions, or say outside="zero" or "wrap"'
                        )


def first_place(domain: list[Condition], loops: list[str]) -> dict[str, int] | None:
    """The first values of loops in a domain; None where it is empty."""
    if any(c.holds is False for c in domain):
        return None
    found: dict[str, int] = {}
    for part in _parts(domain, loops):
        first = _first_of([c for c in domain if c.form.names & {*part}], part)
        if first is None:
            return None
        found.update(zip(part, first, strict=True))
    return {name: found[name] for name in loops}


def _first_of(domain: list[Condition], loops: list[str]) -> list[int] | None:
    """The first values of loops that conditions tie to each other, in the order of the loops.

    Where something has to be 0 or divisible, the values are a lattice: what is left of the conditions are
    inequalities of steps along a basis of it, which exclude most of what there is to exclude at once.
    """
    equations, _ = rows_of([Condition(">=", c.form) for c in domain if c.kind == "=="], loops)
    rows, congruences = rows_of([c for c in domain if c.kind != "=="], loops)
    steps = _solutions(equations, congruences, len(loops))
    if steps is None:
        return None
    origin, basis = steps

    def along(row: Row, step: list[int]) -> int:
        return sum(c * x for c, x in zip(row, step, strict=False))

    rows = [(*(along(row, step) for step in basis), along(row, origin) + row[-1]) for row in rows]
    levels = levels_of(rows, [], len(basis))
    place = None if levels is None else next(_places(levels, []), None)
    if place is None:
        return None
    return [x + sum(n * step[k] for n, step in zip(place, basis, strict=True)) for k, x in enumerate(origin)]


def _solutions(
    equations: list[Row], congruences: list[Congruence], n: int
) -> tuple[list[int], list[list[int]]] | None:
    """One place where rows of integers are 0 and others divisible, and the steps to all such places; None
    where there is none.

    The steps are in echelon form, with a positive number first: more steps along the first one are always
    behind, in the order of the loops.
    """
    count = len(congruences)
    A = [[*row[:-1], *(0 for _ in congruences)] for row in equations]
    A += [
        [*c.row[:-1], *(-c.modulus if k == other else 0 for other in range(count))]
        for k, c in enumerate(congruences)
    ]
    if not A:
        return [0] * n, [[int(k == other) for other in range(n)] for k in range(n)]
    constants = [row[-1] for row in equations] + [c.row[-1] for c in congruences]
    lattice = Lattice.of(A)
    left = [-sum(c * x for c, x in zip(row, constants, strict=True)) for row in lattice.rows]
    if any(left[lattice.rank :]) or any(x % s for x, s in zip(left, lattice.divisors, strict=False)):
        return None
    known = [x // s for x, s in zip(left, lattice.divisors, strict=False)]
    origin = [sum(c * x for c, x in zip(row, known, strict=False)) for row in lattice.columns[:n]]
    steps = zip(*(row[lattice.rank :] for row in lattice.columns[:n]), strict=True)
    return origin, _echelon([*map(list, steps)])


def _echelon(steps: list[list[int]]) -> list[list[int]]:
    """Another basis of what independent steps reach, each of which begins behind those before it."""
    found: list[list[int]] = []
    for k in range(len(steps[0]) if steps else 0):
        while len(touching := sorted((s for s in steps if s[k]), key=lambda s: abs(s[k]))) > 1:
            least, *others = touching
            for step in others:
                times = step[k] // least[k]
                step[:] = [x - times * y for x, y in zip(step, least, strict=True)]
        for step in touching:
            steps.remove(step)
            found.append(step if step[k] > 0 else [-x for x in step])
    return found


def _parts(domain: list[Condition], loops: list[str]) -> list[list[str]]:
    """Loops that conditions tie to each other: of others the values are found by themselves."""
    parts = [[name] for name in loops]
    for c in domain:
        tied = [part for part in parts if c.form.names & {*part}]
        if len(tied) > 1:
            parts = [part for part in parts if part not in tied]
            parts.append([name for name in loops if any(name in part for part in tied)])
    return parts


def _places(levels: list[Level], outer: list[int]) -> Iterator[list[int]]:
    if len(outer) == len(levels):
        yield outer
        return
    level = levels[len(outer)]
    low = max(-(-_at(row, outer) // divisor) for row, divisor in level.lower)
    high = min(_at(row, outer) // divisor for row, divisor in level.upper)
    for x in range(low, high + 1):
        if all(_at(c.row, [*outer, x]) % c.modulus == 0 for c in level.congruences):
            yield from _places(levels, [*outer, x])


def _at(row: tuple[int, ...], outer: list[int]) -> int:
    return sum(c * x for c, x in zip(row, outer, strict=False)) + row[-1]
