"""How the steps of a program go through many elements at once.

Of every cell there is one for each element of a block, one behind the other, so that operations go through
the numbers of all.  What depends on nothing that differs is computed once.  Arguments are read where they
are, and results written to where they go.
"""

from __future__ import annotations

from typing import NamedTuple

from lindiff.programs.cells import Cells
from lindiff.programs.operation import Operation
from lindiff.programs.passes.steps import touched
from lindiff.programs.together import together

__all__ = ["BLOCK_BYTES", "FEWEST_ELEMENTS", "MOST_ELEMENTS", "Block", "block_of", "most_of"]

# Bytes that a block of elements works on, which fit into the second cache.  Elements of a block: loops are
# long enough from some dozens on, and fewer than FEWEST_ELEMENTS are not worth it.
BLOCK_BYTES = 1 << 17
MOST_ELEMENTS = 256
FEWEST_ELEMENTS = 4

_LINE = 64  # of the processor's cache


class Block(NamedTuple):
    """The steps for so many elements, and where they find what they work on.

    Attributes
    ----------
    elements : int
    once : list of Operation
        What is done once for all elements.
    each : list of Operation
        What is done for each block.
    size : int
        Bytes of memory.
    placed : list of (cell, offset)
        Where a cell is in that memory.
    given : list of (cell, argument, offset)
        The argument in which a cell lies, so many bytes behind the beginning of an element.
    direct : list of (cell, result, offset)
        The result in which it lies.
    copied : list of (cell, result, bytes, step)
        Results that are copied, from so many bytes apart.
    """

    elements: int
    once: list[Operation]
    each: list[Operation]
    size: int
    placed: list[tuple[int, int]]
    given: list[tuple[int, int, int]]
    direct: list[tuple[int, int, int]]
    copied: list[tuple[int, int, int, int]]


def most_of(elements: int) -> int:
    """How many of so many elements may be in a block: a power of two."""
    return int(min(1 << elements.bit_length() - 1, MOST_ELEMENTS))


def block_of(
    steps: list[Operation],
    cells: Cells,
    places: list[int | None],
    arguments: list[tuple[int, int | None]],
    results: list[tuple[int, int]],
    most: int,
) -> Block | None:
    """The block of a program without branches; None where it works on too much memory.

    Parameters
    ----------
    steps : list of Operation
    cells : Cells
    places : list of int or None
        Of each cell in the memory for one element.
    arguments : list of (cell, step)
        How many bytes their elements lie apart: 0 of what is the same for all, None of such a number, which
        is put into its cell.
    results : list of (cell, bytes)
    most : int
        Elements, a power of two.
    """
    differing = _differing(steps, cells, {cell for cell, step in arguments if step})
    direct: dict[int, int] = {}
    for k, (cell, size) in enumerate(results):
        root = cells.root(cell)
        if root in differing and cells.size(root) == size and cells.offset(cell) == 0:
            direct.setdefault(root, k)
    given = {cell: k for k, (cell, step) in enumerate(arguments) if step is not None}
    used = sorted({cell for step in steps for cell in step.cells} | {cell for cell, _ in results})
    own = sorted({cells.root(cell) for cell in used} - given.keys() - direct.keys())
    own = [root for root in own if places[root] is not None]
    count = _count({places[root]: cells.size(root) for root in own if root in differing}, most)
    if count is None:
        return None
    apart = {root: cells.size(root) for root in differing}
    apart |= {cell: step for cell, step in arguments if step}
    at, size = _places(own, differing, places, cells, count)
    each = [
        _for_all(step, [apart.get(cells.root(cell), 0) for cell in step.cells], count)
        for step in steps
        if not differing.isdisjoint(touched(step, cells).all)
    ]
    once = [step for step in steps if differing.isdisjoint(touched(step, cells).all)]
    roots = {cell: (cells.root(cell), cells.offset(cell)) for cell in used}
    return Block(
        count,
        once,
        each,
        size,
        [(cell, at[root] + offset) for cell, (root, offset) in roots.items() if root in at],
        [(cell, given[root], offset) for cell, (root, offset) in roots.items() if root in given],
        [(cell, direct[root], offset) for cell, (root, offset) in roots.items() if root in direct],
        [
            (cell, k, size, apart.get(cells.root(cell), 0))
            for k, (cell, size) in enumerate(results)
            if direct.get(cells.root(cell)) != k
        ],
    )


def _differing(steps: list[Operation], cells: Cells, arguments: set[int]) -> set[int]:
    """The memory whose contents are not the same for all elements, by its roots.

    What is the same is computed before all else, so that it may not change once it has been read.
    """
    each = [touched(step, cells) for step in steps]
    found = set(arguments)
    known = -1
    while len(found) > known:
        known = len(found)
        read: set[int] = set()
        for touches in each:
            if not found.isdisjoint(touches.all):
                found |= touches.writes
                read |= touches.reads
            elif not read.isdisjoint(touches.writes):
                found |= touches.writes
    return found


def _count(sizes: dict[int | None, int], most: int) -> int | None:
    """How many elements there are in a block that needs so many bytes for each, place by place."""
    bytes_of_one = max(sum(sizes.values()), 1)
    count = most
    while count * bytes_of_one > BLOCK_BYTES:
        count //= 2
    return count if count >= FEWEST_ELEMENTS else None


def _places(
    own: list[int], differing: set[int], places: list[int | None], cells: Cells, count: int
) -> tuple[dict[int, int], int]:
    """Where the memory of a block begins for each of these roots, and how much there is.

    What lies in one place, one after the other, does so again; between two places there is a gap, as some of
    NumPy's loops take another way where one array begins where the other one ends.
    """
    found: dict[int, int] = {}
    begins: dict[int | None, int] = {}
    end = 0
    rooms: dict[int | None, int] = {}
    for root in own:
        if root in differing:
            rooms[places[root]] = max(rooms.get(places[root], 0), cells.size(root))
    for place, size in rooms.items():
        begins[place] = end
        end += _lines(size * count)
    for root in own:
        if root in differing:
            found[root] = begins[places[root]]
        else:
            found[root] = end
            end += _lines(cells.size(root))
    return found, end


def _lines(size: int) -> int:
    return -(-size // _LINE) * _LINE + _LINE


def _for_all(step: Operation, apart: list[int], count: int) -> Operation:
    return Operation(together(step.prepared, count, apart), step.cells, step.quiet, step.of)
