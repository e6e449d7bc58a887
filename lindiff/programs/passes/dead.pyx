"""Steps whose results nobody needs."""

from lindiff.programs.cells cimport NEEDED, Cells, Counts
from lindiff.programs.operation cimport Operation
from lindiff.programs.passes.steps cimport Uses
from lindiff.programs.prepared cimport READS, WRITES


def without_dead(list steps, Cells cells):
    """The steps without those whose results are not read any more.

    What may fail stays.  Of what goes, NumPy does not warn any more: a gradient without its value would cost
    the value, too, if it were computed for that.
    """
    cdef Counts needed = cells.counts(0)
    cdef Uses uses = Uses()
    cdef list living = []
    for step in reversed(steps):
        uses.of(step, cells)
        if type(step) is Operation and not (<Operation>step).prepared.fails \
                and not is_needed(uses, needed, cells):
            continue
        for k in range(uses.count):
            if uses.uses[k] & READS:
                needed.put(uses.owners[k], True)
        living.append(step)
    living.reverse()
    return living


cdef bint is_needed(Uses uses, Counts needed, Cells cells):
    """Whether something that a step writes is read behind it, or used elsewhere."""
    cdef int k
    for k in range(uses.count):
        if uses.uses[k] & WRITES and (needed.get(uses.owners[k]) or cells.has_role(uses.owners[k], NEEDED)):
            return True
    return False
