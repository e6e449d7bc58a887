"""From what is known of a function's runs to the machine that repeats them."""

from __future__ import annotations

import functools
import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from lindiff.programs.alike import Preparations
from lindiff.programs.machine import Back, ByPython, Cell, Form, Layout, Machine, Stretch, Unit
from lindiff.programs.memory import Plan, Uses
from lindiff.programs.operands import Slot, replaced, slots_of
from lindiff.programs.passes.dead import without_dead
from lindiff.programs.passes.fused import fused
from lindiff.programs.passes.repeated import without_repeats
from lindiff.programs.passes.steps import Cells, Operation, Room, Step, touched
from lindiff.programs.preparing import Between, Part, is_by_rows
from lindiff.programs.recording import Instruction, Leaving
from lindiff.programs.tree import Branch, Tree

__all__ = ["compiled", "uncollected"]


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


Pass = Callable[[list[Step], Cells, Room], list[Step]]
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
    compilation = _Compilation(tree, arguments)
    start = compilation.stretches(tree, list(range(arguments)))
    places, arena = compilation.finished(passes).places()
    views = compilation.views()
    made = {cell: views[cell] for cell in compilation.made if cell in views}
    layout = Layout(compilation.forms, places, compilation.constants, arena, made)
    return Machine(layout, [(i, i, views[i]) for i in range(arguments)], start)


# Bytes of constants that are compared, so that equal ones have one cell.
_FEW = 64
# Bytes from which on a result has memory of its own.
_LARGE = 1 << 16


class _Shared(Exception):
    """Results share memory."""


class _Compilation:
    """Cells by their numbers, for all branches: what is in them, and where they lie."""

    def __init__(self, tree: Tree, arguments: int) -> None:
        self.arguments = arguments
        self.forms: list[Form] = []
        self.roots: list[tuple[int, int]] = []
        self.sizes: dict[int, int] = {}  # of those that lie in the arena
        self.kept: set[int] = set()
        self.leaves: set[int] = set()  # that are results
        self.given: set[int] = set()  # to Python
        self.units: list[tuple[Stretch, list[Step]]] = []
        self.constants: list[tuple[int, Any]] = []
        self.known_constants: dict[Any, int] = {}
        self.objects: list[int] = []
        self.made: set[int] = set()  # the same
        self.prepare = Preparations()
        self.owners: dict[int, int] = {}  # of those that are views: in whose memory
        self.rooms: dict[Between, int] = {}
        for i in range(arguments):
            form = tree.root.forms[i]
            self.cell(form, in_arena=form.strides is None)
            self.kept.add(i)

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
        steps: list[Step] = []
        for number, step in enumerate(branch.steps):
            self.step(number, step, branch, cells, steps)
        fork = branch.fork
        if fork is None:
            assert branch.result is not None
            leaves = [Cell(cells[x]) if type(x) is Slot else x for x in branch.result.leaves]
            self.refuse_shared(branch)
            for leaf in leaves:
                if type(leaf) is Cell:
                    self.kept.add(self.roots[leaf][0])
                    self.leaves.add(leaf)
            made = Stretch(None, leaves, branch.result.unflatten, self.objects, branch.confirmed)
            self.units.append((made, steps))
            return made
        if isinstance(fork, Leaving):
            decides: Any = (fork.function, Cell(cells[fork.slot]))
            self.kept.add(self.roots[cells[fork.slot]][0])
            self.given.add(self.roots[cells[fork.slot]][0])
        else:
            decides = self.by_python(fork._replace(result=None), cells, [], ())
        made = Stretch(decides, [], None, self.objects, branch.confirmed)
        self.units.append((made, steps))
        return made

    def finished(self, passes: Sequence[Pass]) -> Plan:
        """Let all units have their steps; where their memory lies."""
        units = [steps for _, steps in self.units]
        before = self.uses_of(units)
        cells = self.cells()
        cells.needed = before.shared()
        for change in passes:
            units = [change(steps, cells, self.room) for steps in units]
        uses = self.uses_of(units)
        for root in before.roots() - uses.roots() - self.kept:
            self.sizes.pop(root, None)
        results, views = self.large_results(), self.views()
        for (stretch, _), steps, used in zip(self.units, units, uses.units, strict=True):
            stretch.unit = Unit(steps)
            for root in sorted(results & set(chain(*used))):
                results.remove(root)
                del self.sizes[root]
                self.objects.append(root)
                stretch.fresh.append((root, views[root]))
        return Plan(self.roots, self.sizes, uses)

    def large_results(self) -> set[int]:
        """Results that have memory of their own: to copy them from the arena is as much work as a sum."""
        return {
            cell
            for cell in self.leaves - self.given
            if self.sizes.get(cell, 0) >= _LARGE and is_by_rows(self.forms[cell])
        }

    def views(self) -> dict[int, list[tuple[int, int]]]:
        """The cells that lie in the memory of another one, and where."""
        views: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for cell, (root, offset) in enumerate(self.roots):
            if cell != root:
                views[root].append((cell, offset))
        return views

    def cells(self) -> Cells:
        return Cells(self.roots, self.owners, self.sizes, self.kept)

    def uses_of(self, units: list[list[Step]]) -> Uses:
        cells = self.cells()
        uses = Uses(self.kept)
        for steps in units:
            uses.start_unit()
            for step in steps:
                uses.add_step(touched(step, cells).all)
        return uses

    def room(self, size: int) -> Cell:
        """Memory that operations need between them."""
        return self.cell(Form(np.ndarray, np.dtype(np.uint8), (size,), (1,), True), in_arena=True)

    def step(
        self, number: int, step: Instruction, branch: Branch, cells: list[int], steps: list[Step]
    ) -> None:
        operations = self.prepare(step, branch.forms, branch.roots)
        if operations is None or not self.have_addresses(step, operations, branch, cells):
            new = self.results(step.result, branch, cells)
            steps.append(self.by_python(step, cells, new, (number,)))
            return
        for slot in slots_of(step.result):
            if slot < len(cells):
                continue
            root, offset, _ = branch.roots[slot]
            form = branch.forms[slot]
            if root == slot:
                cells.append(self.cell(form, in_arena=True))
            else:
                of, before = self.roots[cells[root]]
                cells.append(self.view(of, before + offset, form))
        for prepared, operands in operations:
            numbers = [cells[x] if type(x) is Slot else self.operand(x, cells) for x in operands]
            steps.append(Operation(prepared, numbers, step.quiet or prepared.hushed, (number,)))

    def have_addresses(self, step: Instruction, operations: Any, branch: Branch, cells: list[int]) -> bool:
        """Whether the memory of views that a step gives, and of parts that it takes, is known already."""
        for slot in slots_of(step.result):
            root = branch.roots[slot][0]
            if slot >= len(cells) > root and not self.has_address(cells[root]):
                return False
        for _, operands in operations:
            for x in operands:
                if type(x) is Part and x.slot < len(cells) and not self.has_address(cells[x.slot]):
                    return False
        return True

    def has_address(self, cell: int) -> bool:
        """Whether a cell lies in the arena, in an argument, or in an array that Python has made."""
        root = self.roots[cell][0]
        return root in self.sizes or self.forms[root].strides is not None

    def operand(self, x: Any, cells: list[int]) -> int:
        """The cell of what lies in no slot."""
        if type(x) is Part:
            root, before = self.roots[cells[x.slot]]
            return self.view(root, before + x.offset, self.forms[cells[x.slot]])
        if type(x) is Between:
            if x not in self.rooms:
                self.rooms[x] = self.room(x.size)
            return self.rooms[x]
        key = x.dtype.str, x.shape, x.strides, x.tobytes() if x.nbytes <= _FEW else id(x)
        if key not in self.known_constants:
            cell = self.cell(Form(np.ndarray, x.dtype, x.shape, x.strides, True), in_arena=False)
            self.constants.append((cell, x))
            self.known_constants[key] = cell
        return self.known_constants[key]

    def results(self, result: Any, branch: Branch, cells: list[int]) -> list[Cell]:
        """Cells for what Python gives: arrays stay objects, numbers lie in the arena."""
        new = []
        for slot in slots_of(result):
            if slot < len(cells):
                continue
            form = branch.forms[slot]
            number = form.strides is None and form.dtype is not None
            cell = self.cell(form, in_arena=number)
            self.kept.add(cell)
            if not number:
                self.objects.append(cell)
                self.made.add(cell)
            owner = branch.roots[slot][2]
            if owner != slot:
                self.owners[cell] = self.cells().owner(cells[owner])
            cells.append(cell)
            new.append(cell)
        return new

    def by_python(
        self, step: Instruction, cells: list[int], new: list[Cell], of: tuple[int, ...]
    ) -> ByPython:
        def cell(x: Any) -> Any:
            if type(x) is not Slot:
                return x
            self.kept.add(self.roots[cells[x]][0])  # Python may hold on to a view of it
            self.given.add(self.roots[cells[x]][0])
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
            owner = branch.roots[slot][2]
            if known.setdefault(owner, slot) != slot or (owner != slot and owner < self.arguments):
                raise _Shared


@functools.lru_cache(4096)
def _size(form: Form) -> int:
    """How many bytes an array takes, or a number."""
    size = 16 if form.dtype is None else form.dtype.itemsize
    if form.strides is None:
        return size
    if 0 in form.shape:
        return 0
    return size + sum((n - 1) * abs(step) for n, step in zip(form.shape, form.strides, strict=True))
