"""The steps of a program as its passes see them: what they read and write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from lindiff.programs.machine import Back, ByPython, Cell
from lindiff.programs.operands import leaves_of
from lindiff.programs.prepared import Prepared

__all__ = ["Cells", "Operation", "Room", "Step", "Touched", "touched"]

# Gives a new cell of so many bytes of the arena.
Room = Callable[[int], int]


class Operation(NamedTuple):
    """A prepared operation, the cells of its operands, whether NumPy is not to warn, and the numbers of the
    instructions that it carries out."""

    prepared: Prepared
    cells: list[int]
    quiet: bool
    of: tuple[int, ...] = ()


Step = Operation | ByPython


class Cells:
    """What is known of the cells of a program.

    Attributes
    ----------
    roots : list of (cell, offset)
        In whose memory each one lies, and how many bytes behind its beginning.
    owners : dict of int
        Of cells with the views that Python makes, in whose memory these lie.
    sizes : dict of int
        In bytes, of the cells that lie in the arena themselves.
    needed : set of int
        Those whose memory is used outside of the steps at hand, too.
    """

    def __init__(
        self,
        roots: list[tuple[int, int]],
        owners: dict[int, int],
        sizes: dict[int, int],
        needed: set[int],
    ) -> None:
        self.roots, self.owners, self.sizes, self.needed = roots, owners, sizes, needed
        self._lying: dict[int, list[int]] | None = None

    def move(self, cell: int, to: int) -> None:
        """Let a cell, and all that lies in its memory, lie in that of another one."""
        if self._lying is None:
            self._lying = defaultdict(list)
            for other, (root, _) in enumerate(self.roots):
                self._lying[root].append(other)
        moved = self._lying.pop(cell)
        for other in moved:
            self.roots[other] = to, self.roots[other][1]
        self._lying[to] += moved

    def owner(self, cell: int) -> int:
        """The cell that all memory belongs to in which another one lies."""
        root = self.roots[cell][0]
        return self.owners.get(root, root)


class Touched:
    """The memory that steps read and write, by the cell that all of it belongs to."""

    def __init__(self, reads: Iterable[int] = (), writes: Iterable[int] = ()) -> None:
        self.reads, self.writes = set(reads), set(writes)

    @property
    def all(self) -> set[int]:
        return self.reads | self.writes

    def meets(self, other: Touched) -> bool:
        """Whether the two have to stay in their order."""
        return not (
            self.writes.isdisjoint(other.writes)
            and self.writes.isdisjoint(other.reads)
            and self.reads.isdisjoint(other.writes)
        )

    def add(self, other: Touched) -> None:
        self.reads |= other.reads
        self.writes |= other.writes


def touched(step: Step, cells: Cells) -> Touched:
    """What a step reads and writes; of Python's it is taken for both."""
    if isinstance(step, ByPython):
        roots = {cells.owner(x) for x in _cells_of((step.args, step.kwargs, step.result))}
        return Touched(roots, roots)
    made, operands = step.prepared, [cells.owner(x) for x in step.cells]
    return Touched(
        [root for i, root in enumerate(operands) if made.reads >> i & 1],
        [root for i, root in enumerate(operands) if made.writes >> i & 1],
    )


def _cells_of(tree: Any) -> list[int]:
    return [x for x in leaves_of(tree) if type(x) in (Cell, Back)]
