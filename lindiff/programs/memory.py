"""Where the results of a program lie: memory is given to later ones when its own are no longer needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

__all__ = ["Plan", "Uses"]

# A line of the processor's cache.
_ALIGNED = 64


class Uses:
    """In which steps of which units memory is used, named by the cell that all of it belongs to.

    ``kept`` is needed to the end: by Python, as a result, to decide on the way.
    """

    def __init__(self, kept: set[int]) -> None:
        self.units: list[list[list[int]]] = []
        self.kept = kept

    def start_unit(self) -> None:
        self.units.append([])

    def add_step(self, roots: Iterable[int]) -> None:
        """A step of the unit at hand."""
        self.units[-1].append(sorted(roots))

    def roots(self) -> set[int]:
        """All that is used."""
        return {root for unit in self.units for step in unit for root in step}

    def shared(self) -> set[int]:
        """What is needed outside of one unit."""
        seen: dict[int, int] = {}
        several = set(self.kept)
        for k, unit in enumerate(self.units):
            for root in {root for step in unit for root in step}:
                if seen.setdefault(root, k) != k:
                    several.add(root)
        return several


class Plan:
    """Places in an arena.

    Parameters
    ----------
    roots : list of (cell, offset)
        In whose memory each cell lies.
    sizes : dict of int
        Of the cells that lie in the arena themselves.
    uses : Uses

    Notes
    -----
    Memory that one unit alone uses is free after its last step there, and goes to the next result of the same
    size, rounded up; first come, first served.
    """

    def __init__(self, roots: list[tuple[int, int]], sizes: dict[int, int], uses: Uses) -> None:
        self._roots, self._sizes, self._uses = roots, sizes, uses
        self._taken: dict[int, int] = {}
        self._end = 0

    def places(self) -> tuple[list[int | None], int]:
        """The place of each cell, None where it does not lie in the arena; and how many bytes that has."""
        shared = self._uses.shared()
        for unit in self._uses.units:
            self._place_unit(unit, shared)
        for root in self._sizes:
            self._take(root, [])
        places = [self._taken[root] + offset if root in self._taken else None for root, offset in self._roots]
        return places, self._end

    def _place_unit(self, unit: list[list[int]], shared: set[int]) -> None:
        free: dict[int, list[int]] = defaultdict(list)
        last = {root: i for i, step in enumerate(unit) for root in step}
        for i, step in enumerate(unit):
            for root in step:
                if root not in self._taken and root in self._sizes:
                    self._take(root, [] if root in shared else free[self._room(root)])
            for root in set(step):
                if last[root] == i and root in self._sizes and root not in shared:
                    free[self._room(root)].append(self._taken[root])

    def _room(self, root: int) -> int:
        return -(-self._sizes[root] // _ALIGNED) * _ALIGNED

    def _take(self, root: int, free: list[int]) -> None:
        if root in self._taken:
            return
        if free:
            self._taken[root] = free.pop()
            return
        self._taken[root] = self._end
        self._end += self._room(root)
