"""Steps whose results nobody needs."""

from __future__ import annotations

from lindiff.programs.passes.steps import Cells, Operation, Room, Step, touched

__all__ = ["without_dead"]


def without_dead(steps: list[Step], cells: Cells, room: Room) -> list[Step]:
    """The steps without those whose results are not read any more.

    What may fail stays, and so does what NumPy may warn of: a function says so even of numbers that it does
    not need.
    """
    needed: set[int] = set()
    living: list[Step] = []
    for step in reversed(steps):
        touches = touched(step, cells)
        unused = touches.writes.isdisjoint(needed) and touches.writes.isdisjoint(cells.needed)
        if unused and isinstance(step, Operation) and _is_silent(step):
            continue
        needed |= touches.reads
        living.append(step)
    return living[::-1]


def _is_silent(step: Operation) -> bool:
    return not step.prepared.fails and (step.quiet or not step.prepared.tells)
