"""From what is known of a function's runs to the machine that repeats them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lindiff.programs.cells import Cells
from lindiff.programs.machine import Back, ByPython, Cell, Layout, Machine, Stretch, Unit
from lindiff.programs.memory import note_needed, places, used
from lindiff.programs.operands import Slot, replaced, slots_of
from lindiff.programs.passes.dead import without_dead
from lindiff.programs.passes.fused import fused
from lindiff.programs.passes.repeated import without_repeats
from lindiff.programs.passes.steps import Step
from lindiff.programs.preparing import is_by_rows
from lindiff.programs.recording import Instruction, Leaving
from lindiff.programs.translating import Translation
from lindiff.programs.tree import Branch, Tree

__all__ = ["Compilation", "compiled", "uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Without Python's search for cycles: it would go through all steps so far again and again, half the time
    of a long recording."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


Pass = Callable[[list[Step], Cells], list[Step]]
PASSES: tuple[Pass, ...] = (without_repeats, without_dead, fused)


def compiled(tree: Tree, arguments: int, passes: Sequence[Pass] = PASSES) -> Machine | None:
    """The machine of a tree of runs whose first slots hold the arguments.

    None where results share memory with each other or with arguments, which a machine does not repeat, and
    for whatever else: a call of the function does not fail because its program cannot be compiled.
    """
    try:
        with uncollected():
            return _compiled(tree, arguments, passes)
    except Exception:
        return None


def _compiled(tree: Tree, arguments: int, passes: Sequence[Pass]) -> Machine:
    compilation = Compilation(tree, arguments)
    start = compilation.stretches(tree, list(range(arguments)))
    layout = compilation.finished(passes)
    cells = compilation.cells
    return Machine(layout, [(i, i, cells.views(i)) for i in range(arguments)], start)


# Bytes from which on a result has memory of its own.
_LARGE = 1 << 16


class _Shared(Exception):
    """Results share memory."""


class Compilation:
    """All branches of a program, and the cells that they work on."""

    def __init__(self, tree: Tree, arguments: int) -> None:
        self.arguments = arguments
        self.cells = Cells()
        self.translation = Translation(self.cells)
        self.leaves: set[int] = set()  # cells that are results
        self.units: list[tuple[Stretch, list[Step]]] = []
        self.objects: list[int] = []
        for form in tree.root.forms[:arguments]:
            self.cells.keep(self.cells.add(form, in_arena=form.strides is None))

    def stretches(self, tree: Tree, cells: list[int]) -> Stretch:
        """What is done from the root on; ``cells`` are those of the arguments."""
        start: list[tuple[Any, Stretch, Any]] = []
        pending = [(tree.root, cells, start, None, None)]
        while pending:
            branch, cells, siblings, outcome, place = pending.pop()
            stretch = self.stretch(branch, cells)
            siblings.append((outcome, stretch, place))
            for i, (outcome, following) in enumerate(branch.outcomes):
                known = cells if i == len(branch.outcomes) - 1 else list(cells)
                place = None
                if following.place is not None:
                    made = self.results(following.place, following, known)
                    place = self.place(following.place, known, made)
                pending.append((following, known, stretch.outcomes, outcome, place))
        return start[0][1]

    def stretch(self, branch: Branch, cells: list[int]) -> Stretch:
        """What is done up to a fork, or the end; ``cells`` are those of the slots so far."""
        steps: list[Step] = []
        done = 0
        while True:
            done = self.translation.operations(branch.steps, done, branch.forms, branch.roots, cells, steps)
            if done == len(branch.steps):
                break
            step = branch.steps[done]
            new = self.results(step.result, branch, cells)
            steps.append(self.by_python(step, cells, new, (done,)))
            done += 1
        fork = branch.fork
        if fork is None:
            assert branch.result is not None
            leaves = [Cell(cells[x]) if type(x) is Slot else x for x in branch.result.leaves]
            self.refuse_shared(branch)
            for leaf in leaves:
                if type(leaf) is Cell:
                    self.cells.keep(leaf)
                    self.leaves.add(leaf)
            made = Stretch(None, leaves, branch.result.unflatten, self.objects, branch.confirmed)
            self.units.append((made, steps))
            return made
        if isinstance(fork, Leaving):
            decides: Any = (fork.function, Cell(cells[fork.slot]))
            self.cells.keep(cells[fork.slot], given=True)
        else:
            decides = self.by_python(fork._replace(result=None), cells, [], ())
        made = Stretch(decides, [], None, self.objects, branch.confirmed)
        self.units.append((made, steps))
        return made

    def finished(self, passes: Sequence[Pass], shared: frozenset[int] = frozenset()) -> Layout:
        """Let all units have their steps; where their memory lies.

        What is ``shared`` by the halves of a program lies apart, and results are copied from there.
        """
        units = [steps for _, steps in self.units]
        note_needed(units, self.cells)
        for change in passes:
            units = [change(steps, self.cells) for steps in units]
        large = self.large_results() - shared
        fresh = []
        for (stretch, _), steps in zip(self.units, units, strict=True):
            stretch.unit = Unit(steps)
            for root in sorted(large & used(steps, self.cells)) if large else ():
                large.remove(root)
                self.cells.leave_arena(root)
                self.objects.append(root)
                fresh.append((stretch, root))
        found, arena, block = places(units, self.cells, shared)
        layout = Layout(
            self.cells.forms,
            found,
            self.translation.constants,
            arena,
            [stretch.unit for stretch, _ in self.units],
            {cell: self.cells.views(cell) for cell in self.objects},
            block,
            [cell for cell in self.objects if self.cells.owner(cell) in shared],
            self.cells,
        )
        for stretch, root in fresh:
            stretch.let_be_fresh(root, self.cells.views(root), layout)
        return layout

    def large_results(self) -> set[int]:
        """Results that have memory of their own: to copy them from the arena is as much work as a sum."""
        return {
            cell
            for cell in self.leaves
            if self.cells.root(cell) == cell
            and self.cells.size(cell) >= _LARGE
            and not self.cells.is_given(cell)
            and is_by_rows(self.cells.forms[cell])
            and self.cells.forms[cell].writeable
        }

    def results(self, result: Any, branch: Branch, cells: list[int]) -> list[int]:
        """Cells for what Python gives: arrays stay objects, numbers lie in the arena."""
        new = []
        for slot in slots_of(result):
            if slot < len(cells):
                continue
            form = branch.forms[slot]
            number = form.strides is None and form.dtype is not None
            cell = self.cells.add(form, in_arena=number)
            self.cells.keep(cell)
            if not number:
                self.objects.append(cell)
            owner = branch.roots[slot][2]
            if owner != slot:
                self.cells.let_own(cells[owner], cell)
            cells.append(cell)
            new.append(cell)
        return new

    def by_python(self, step: Instruction, cells: list[int], new: list[int], of: tuple[int, ...]) -> ByPython:
        def cell(x: Any) -> Any:
            if type(x) is not Slot:
                return x
            self.cells.keep(cells[x], given=True)  # it may hold on to a view
            return Cell(cells[x])

        return ByPython(
            step.function,
            replaced(step.args, cell),
            replaced(step.kwargs, cell),
            self.place(step.result, cells, new),
            step.quiet,
            of,
        )

    def place(self, result: Any, cells: list[int], new: list[int]) -> Any:
        """Where a result goes; arguments that are given back are where they are."""
        made = set(new)

        def place(x: Any) -> Any:
            return (Cell if cells[x] in made else Back)(cells[x]) if type(x) is Slot else x

        return replaced(result, place)

    def refuse_shared(self, branch: Branch) -> None:
        """Raise where two results, or a result and an argument, have memory in common."""
        assert branch.result is not None
        known: dict[int, int] = {}
        for slot in branch.result.leaves:
            if type(slot) is not Slot or branch.forms[slot].strides is None:
                continue
            owner = branch.roots[slot][2]
            if known.setdefault(owner, slot) != slot or (owner != slot and owner < self.arguments):
                raise _Shared
