"""A program of values and cotangents in two halves: the second one goes on in the memory of the first.

The values need no cotangents, so that a call can do all of that half, and a walk over the record, later, the
rest.
"""

from __future__ import annotations

from lindiff.programs.cells import Cells
from lindiff.programs.compiling import Compilation, uncollected
from lindiff.programs.machine import Back, ByPython, Cell, Form, Layout, Machine, Stretch
from lindiff.programs.memory import note_needed
from lindiff.programs.operands import Slot, leaves_of
from lindiff.programs.passes.dead import without_dead
from lindiff.programs.passes.fused import fused
from lindiff.programs.passes.repeated import without_repeats
from lindiff.programs.passes.steps import Step, Touched, touched
from lindiff.programs.recorded import may_write
from lindiff.programs.tree import Tree

__all__ = ["forms_of_outputs", "halves"]


class _NotInTwo(Exception):
    """The way depends on values, or a result is not there before the cotangents."""


def halves(tree: Tree, early: int, arguments: int, outputs: int) -> tuple[Machine, Machine] | None:
    """The two halves of a program without branches; None where it cannot be cut.

    Parameters
    ----------
    tree : Tree
    early, arguments : int
        How many arguments there are in the first half, and in both.
    outputs : int
        How many leaves of the result belong to the first half.

    Returns
    -------
    first : Machine
        From the early arguments to the list of its outputs.
    second : Machine
        From what that leaves behind, and the other arguments, to the list of the other leaves.
    """
    try:
        with uncollected():
            return _halves(tree, early, arguments, outputs)
    except Exception:
        return None


def _halves(tree: Tree, early: int, arguments: int, outputs: int) -> tuple[Machine, Machine]:
    if tree.root.fork is not None:
        raise _NotInTwo
    compilation = Compilation(tree, arguments)
    whole = compilation.stretches(tree, list(range(arguments)))
    cells = compilation.cells
    ((_, steps),) = compilation.units
    note_needed([steps], cells)
    for change in (without_repeats, without_dead):
        steps = change(steps, cells)
    leaves = whole.leaves
    owners = {cells.owner(leaf) for leaf in leaves[:outputs] if type(leaf) is Cell}
    first, second, both = _cut(steps, compilation, early, arguments, owners)
    before = Stretch(None, leaves[:outputs], list, compilation.objects, True)
    after = Stretch(None, leaves[outputs:], list, compilation.objects, True)
    compilation.units = [(before, first), (after, second)]
    found, arena = compilation.finished((fused,), both)
    made = {cell: cells.views(cell) for cell in compilation.objects}
    layout = Layout(cells.forms, found, compilation.translation.constants, arena, made, cells)
    given = [(i, i, cells.views(i)) for i in range(early)]
    more = [(i - early, i, cells.views(i)) for i in range(early, arguments)]
    return Machine(layout, given, before), Machine(layout, more, after)


def _cut(
    steps: list[Step], compilation: Compilation, early: int, arguments: int, owners: set[int]
) -> tuple[list[Step], list[Step], frozenset[int]]:
    """The steps of both halves, and the memory that the first one leaves for the second.

    What the second half writes to is its own: a sum of cotangents starts there.
    """
    cells = compilation.cells
    late = set(range(early, arguments))
    given = set(range(arguments))
    while True:
        first: list[Step] = []
        second: list[Step] = []
        before, behind = Touched(), Touched(writes=late)
        for step in steps:
            touches = _touched(step, cells)
            if touches.writes & given:
                raise _NotInTwo
            if touches.meets(behind):
                second.append(step)
                behind.add(touches)
            else:
                first.append(step)
                before.add(touches)
        both = before.writes & behind.all
        if owners & behind.writes:
            raise _NotInTwo
        if not both & behind.writes:
            break
        late |= both & behind.writes
    return first, second, frozenset(both)


def _touched(step: Step, cells: Cells) -> Touched:
    """What a step reads and writes; of Python's, too, where that is known."""
    touches = touched(step, cells)
    if isinstance(step, ByPython) and not may_write(step.function, step.args, step.kwargs):
        touches.writes = {cells.owner(x) for x in leaves_of(step.result) if type(x) in (Cell, Back)}
    return touches


def forms_of_outputs(tree: Tree, outputs: int) -> list[Form] | None:
    """The forms of the first leaves of a result; None where one is no array of the program."""
    result = tree.root.result
    if tree.root.fork is not None or result is None or len(result.leaves) < outputs:
        return None
    leaves = result.leaves[:outputs]
    return [tree.root.forms[x] for x in leaves] if all(type(x) is Slot for x in leaves) else None
