"""Operations that have been done before, with the same operands."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any, NamedTuple

from lindiff.programs.passes.steps import Cells, Operation, Room, Step, touched

__all__ = ["without_repeats"]


class _Done(NamedTuple):
    at: int
    cell: int
    quiet: bool


def without_repeats(steps: list[Step], cells: Cells, room: Room) -> list[Step]:
    """The steps without operations whose result is there already; their cells lie in its memory.

    That is so only where neither result is written to again or known outside of the steps.
    """
    writes: dict[int, list[int]] = defaultdict(list)
    written = [touched(step, cells).writes for step in steps]
    for i, roots in enumerate(written):
        for root in roots:
            writes[root].append(i)
    versions: Counter[int] = Counter()
    known: dict[Any, _Done] = {}
    left: list[Step] = []
    for i, step in enumerate(steps):
        if isinstance(step, Operation) and _gives_one_array(step, cells):
            cell = step.cells[-1]
            key = _key(step, cells, versions)
            done = known.get(key)
            if (
                done is not None
                and (step.quiet or not done.quiet)
                and writes[cell] == [i]
                and writes[done.cell] == [done.at]
                and cells.sizes[cell] == cells.sizes[done.cell]
            ):
                cells.move(cell, done.cell)
                continue
            known[key] = _Done(i, cell, step.quiet)
        for root in written[i]:
            versions[root] += 1
        left.append(step)
    return left


def _gives_one_array(step: Operation, cells: Cells) -> bool:
    """Whether all that it does is to write an array that is known here alone."""
    made, last, cell = step.prepared, len(step.cells) - 1, step.cells[-1]
    return (
        made.writes == 1 << last
        and not made.reads >> last & 1
        and cells.roots[cell] == (cell, 0)
        and cell in cells.sizes
        and cell not in cells.needed
        and cell not in step.cells[:-1]
    )


def _key(step: Operation, cells: Cells, versions: Counter[int]) -> Any:
    """The operation, and what its operands are at the time."""
    operands = [(cells.roots[x], versions[cells.owner(x)]) for x in step.cells[:-1]]
    return step.prepared.key(), tuple(operands)
