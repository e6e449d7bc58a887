"""Where the results of a program lie: memory is given to later ones when its own are no longer needed."""

cimport cython

from lindiff.programs.cells cimport APART, KEPT, NEEDED, Cells, Counts, Place
from lindiff.programs.passes.steps cimport Uses

cdef enum:
    ALIGNED = 64  # a line of the processor's cache


def note_needed(list units, Cells cells):
    """Find out which memory is needed outside of one unit, a list of steps."""
    cdef Counts users = cells.counts(0)
    cdef Uses uses = Uses()
    cdef int i, k, owner, user
    for i in range(cells.count):
        if cells.places[i].roles & KEPT:
            cells.places[i].roles |= NEEDED
        else:
            cells.places[i].roles &= ~NEEDED
    for i in range(len(units)):
        for step in <list>units[i]:
            uses.of(step, cells)
            for k in range(uses.count):
                owner = uses.owners[k]
                user = users.get(owner)
                if user == 0:
                    users.put(owner, i + 1)
                elif user != i + 1:
                    cells.places[owner].roles |= NEEDED
    return None


def used(list steps, Cells cells):
    """The cells whose memory steps use."""
    cdef Uses uses = Uses()
    cdef set found = set()
    for step in steps:
        uses.of(step, cells)
        found.update([uses.owners[k] for k in range(uses.count)])
    return found


def places(list units, Cells cells, apart=()):
    """The place of each cell in an arena, None where it does not lie there; how many bytes that has, and how
    many those behind it that have the roots which lie ``apart``.

    Memory that one unit alone uses is free after its last step there, and goes to the next result of the same
    size, rounded up.  Memory that nobody uses has no place.
    """
    cdef Arena arena = Arena()
    cdef Arena block = Arena()
    cdef int cell
    cdef Py_ssize_t root_at
    cdef list found = []
    arena.cells = cells
    for cell in sorted(apart):
        block.take(&cells.places[cell], NOTHING)
        cells.places[cell].roles |= APART
    note_needed(units, cells)
    for steps in units:
        arena.lay_out(steps)
    for cell in range(cells.count):
        if cells.places[cell].roles & KEPT:
            arena.take(&cells.places[cell], NOTHING)
    for cell in range(cells.count):
        root_at = cells.places[cells.places[cell].root].at
        if root_at >= 0 and cells.has_role(cell, APART):
            root_at += arena.end
        found.append(None if root_at < 0 else root_at + cells.places[cell].offset)
    return found, arena.end, block.end


cdef dict NOTHING = {}


@cython.final
cdef class Arena:
    """Memory that cells are given one after the other."""

    cdef Cells cells
    cdef Py_ssize_t end

    cdef int lay_out(self, list steps) except -1:
        """Give places to what the steps of a unit use."""
        cdef Counts last = self.cells.counts(0)
        cdef Uses uses = Uses()
        cdef Place *place
        cdef dict free = {}
        cdef int i, k
        for i in range(len(steps)):
            uses.of(steps[i], self.cells)
            for k in range(uses.count):
                last.put(uses.owners[k], i + 1)
        for i in range(len(steps)):
            uses.of(steps[i], self.cells)
            for k in range(uses.count):
                self.take(&self.cells.places[uses.owners[k]], free)
            for k in range(uses.count):
                place = &self.cells.places[uses.owners[k]]
                if last.get(uses.owners[k]) == i + 1 and place.at >= 0 and not place.roles & (NEEDED | APART):
                    last.put(uses.owners[k], 0)
                    free.setdefault(rounded(place.size), []).append(place.at)
        return 0

    cdef int take(self, Place *place, dict free) except -1:
        """Give a place to what lies in the arena, one of those that are free if one unit alone needs it."""
        cdef list places
        if place.at >= 0 or place.size < 0:
            return 0
        places = None if place.roles & NEEDED else free.get(rounded(place.size))
        if places:
            place.at = places.pop()
        else:
            place.at = self.end
            self.end += rounded(place.size)
        return 0


cdef inline Py_ssize_t rounded(Py_ssize_t size):
    return (size + ALIGNED - 1) // ALIGNED * ALIGNED
