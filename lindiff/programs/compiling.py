"""From what is known of a function's runs to the machine that repeats them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.programs.machine import Back, ByPython, Cell, Form, Layout, Machine, Stretch, Unit
from lindiff.programs.memory import Plan, Uses
from lindiff.programs.operands import Slot, replaced, slots_of
from lindiff.programs.preparing import Part, Room, prepare
from lindiff.programs.recording import Instruction, Leaving
from lindiff.programs.tree import Branch, Tree

__all__ = ["compiled"]


def compiled(tree: Tree, arguments: int) -> Machine | None:
    """The machine of a tree of runs whose first slots hold the arguments.

    None where results share memory with each other or with arguments, which a machine does not repeat.
    """
    compilation = _Compilation(tree, arguments)
    try:
        start = compilation.stretches(tree, list(range(arguments)))
    except _Shared:
        return None
    places, arena = Plan(compilation.roots, compilation.sizes, compilation.uses).places()
    layout = Layout(compilation.forms, places, compilation.constants, arena)
    views: dict[int, list[tuple[int, int]]] = {i: [] for i in range(arguments)}
    for cell, (root, offset) in enumerate(compilation.roots):
        if root < arguments and cell != root:
            views[root].append((cell, offset))
    return Machine(layout, [(i, i, views[i]) for i in range(arguments)], start)


class _Shared(Exception):
    """Results share memory."""


class _Compilation:
    """Cells by their numbers, for all branches: what is in them, and where they lie."""

    def __init__(self, tree: Tree, arguments: int) -> None:
        self.arguments = arguments
        self.forms: list[Form] = []
        self.roots: list[tuple[int, int]] = []
        self.sizes: dict[int, int] = {}  # of those that lie in the arena
        self.uses = Uses()
        self.constants: list[tuple[int, Any]] = []
        self.objects: list[int] = []
        self.made: set[int] = set()  # the same
        self.rooms: dict[Room, int] = {}
        for i in range(arguments):
            form = tree.root.forms[i]
            self.cell(form, in_arena=form.strides is None)
            self.uses.keep(i)

    def cell(self, form: Form, in_arena: bool) -> Cell:
        cell = Cell(len(self.forms))
        self.forms.append(form)
        self.roots.append((cell, 0))
        if in_arena:
            self.sizes[cell] = _size(form)
        return cell

    def view(self, root: int, offset: int, form: Form) -> Cell:
        """A cell within the memory of another one, whose address is known before a run."""
        cell = self.cell(form, in_arena=False)
        self.roots[cell] = (root, offset)
        return cell

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
        steps: list[Any] = []
        self.uses.start_unit()
        for number, step in enumerate(branch.steps):
            self.step(number, step, branch, cells, steps)
        fork = branch.fork
        if fork is None:
            assert branch.result is not None
            leaves = [Cell(cells[x]) if type(x) is Slot else x for x in branch.result.leaves]
            self.refuse_shared(branch)
            for leaf in leaves:
                if type(leaf) is Cell:
                    self.uses.keep(self.roots[leaf][0])
            return Stretch(Unit(steps), None, leaves, branch.result.unflatten, self.objects, branch.confirmed)
        if isinstance(fork, Leaving):
            decides: Any = (fork.function, Cell(cells[fork.slot]))
            self.uses.keep(self.roots[cells[fork.slot]][0])
        else:
            decides = self.by_python(fork._replace(result=None), cells, [], ())
        return Stretch(Unit(steps), decides, [], None, self.objects, branch.confirmed)

    def step(
        self, number: int, step: Instruction, branch: Branch, cells: list[int], steps: list[Any]
    ) -> None:
        operations = prepare(step, branch.forms, branch.roots)
        if operations is None or not self.have_addresses(step, operations, branch, cells):
            new = self.results(step.result, branch, cells)
            steps.append(self.by_python(step, cells, new, (number,)))
            return
        for slot in slots_of(step.result):
            if slot < len(cells):
                continue
            root, offset = branch.roots[slot]
            form = branch.forms[slot]
            if root == slot:
                cells.append(self.cell(form, in_arena=True))
            else:
                of, before = self.roots[cells[root]]
                cells.append(self.view(of, before + offset, form))
        for prepared, operands in operations:
            numbers = [self.operand(x, cells) for x in operands]
            steps.append((prepared, numbers, step.quiet, (number,)))
            self.uses.add_step([self.roots[cell][0] for cell in numbers])

    def have_addresses(self, step: Instruction, operations: Any, branch: Branch, cells: list[int]) -> bool:
        """Whether the memory of views that a step gives, and of parts that it takes, is known already."""
        wholes = [branch.roots[slot][0] for slot in slots_of(step.result) if slot >= len(cells)]
        wholes += [x.slot for _, operands in operations for x in operands if isinstance(x, Part)]
        return all(slot >= len(cells) or self.has_address(cells[slot]) for slot in wholes)

    def has_address(self, cell: int) -> bool:
        """Whether a cell lies in the arena or in an argument."""
        root = self.roots[cell][0]
        return root in self.sizes or (self.forms[root].strides is not None and root not in self.made)

    def operand(self, x: Any, cells: list[int]) -> int:
        if type(x) is Slot:
            return cells[x]
        if isinstance(x, Part):
            root, before = self.roots[cells[x.slot]]
            return self.view(root, before + x.offset, self.forms[cells[x.slot]])
        if isinstance(x, Room):
            if x not in self.rooms:
                room = Form(np.ndarray, np.dtype(np.uint8), (x.size,), (1,), True)
                self.rooms[x] = self.cell(room, in_arena=True)
            return self.rooms[x]
        cell = self.cell(Form(np.ndarray, x.dtype, x.shape, x.strides, True), in_arena=False)
        self.constants.append((cell, x))
        return cell

    def results(self, result: Any, branch: Branch, cells: list[int]) -> list[Cell]:
        """Cells for what Python gives: arrays stay objects, numbers lie in the arena."""
        new = []
        for slot in slots_of(result):
            if slot < len(cells):
                continue
            form = branch.forms[slot]
            number = form.strides is None and form.dtype is not None
            cell = self.cell(form, in_arena=number)
            self.uses.keep(cell)
            if not number:
                self.objects.append(cell)
                self.made.add(cell)
            cells.append(cell)
            new.append(cell)
        return new

    def by_python(
        self, step: Instruction, cells: list[int], new: list[Cell], of: tuple[int, ...]
    ) -> ByPython:
        def cell(x: Any) -> Any:
            if type(x) is not Slot:
                return x
            self.uses.keep(self.roots[cells[x]][0])  # Python may hold on to a view of it
            return Cell(cells[x])

        return ByPython(
            step.function,
            replaced(step.args, cell),
            replaced(step.kwargs, cell),
            self.place(step.result, cells, new),
            step.quiet,
            of,
        )

    def place(self, result: Any, cells: list[int], new: list[Cell]) -> Any:
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
            root = branch.roots[slot][0]
            if known.setdefault(root, slot) != slot or (root != slot and root < self.arguments):
                raise _Shared


def _size(form: Form) -> int:
    """How many bytes an array takes, or a number."""
    size = 16 if form.dtype is None else form.dtype.itemsize
    if form.strides is None:
        return size
    if 0 in form.shape:
        return 0
    return size + sum((n - 1) * abs(step) for n, step in zip(form.shape, form.strides, strict=True))
