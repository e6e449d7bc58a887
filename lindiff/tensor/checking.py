"""Whether subscripts stay in their arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lindiff.tensor.affine import affine
from lindiff.tensor.bounds import Level, levels_of
from lindiff.tensor.expressions import Condition, accesses, at_least
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
        own = [c for c in domain if c.form.names & {*part}]
        levels = levels_of(*rows_of(own, part), len(part))
        first = None if levels is None else next(_places(levels, []), None)
        if first is None:
            return None
        found.update(zip(part, first, strict=True))
    return {name: found[name] for name in loops}


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
