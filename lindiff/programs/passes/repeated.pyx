"""Operations that have been done before, with the same operands."""

from cpython.bytes cimport PyBytes_FromStringAndSize

from lindiff.programs.cells cimport NEEDED, Cells, Place, Counts
from lindiff.programs.operation cimport Operation
from lindiff.programs.passes.steps cimport Uses
from lindiff.programs.prepared cimport OPERANDS, WRITES


def without_repeats(list steps, Cells cells):
    """The steps without operations whose result is there already; their cells lie in its memory.

    That is so only where neither result is written to again or known outside of the steps.
    """
    cdef Counts writes = cells.counts(0), versions = cells.counts(1)
    cdef Uses uses = Uses()
    cdef Operation operation, done
    cdef dict known = {}, numbers = {}
    cdef list left = []
    cdef int cell, k
    count_writes(steps, cells, writes)
    for step in steps:
        if type(step) is Operation and gives_one_array(step, cells):
            operation = step
            cell = operation.at[operation.count - 1]
            key = key_of(operation, cells, versions, numbers)
            done = known.get(key)
            if done is not None and (operation.quiet or not done.quiet) \
                    and is_the_same(done.at[done.count - 1], cell, cells, writes):
                cells.lie_in(cell, done.at[done.count - 1])
                continue
            known[key] = operation
        uses.of(step, cells)
        for k in range(uses.count):
            if uses.uses[k] & WRITES:
                versions.put(uses.owners[k], versions.get(uses.owners[k]) + 1)
        left.append(step)
    return left


cdef int count_writes(list steps, Cells cells, Counts writes) except -1:
    """How many steps write to a cell."""
    cdef Counts last = cells.counts(2)
    cdef Uses uses = Uses()
    cdef Py_ssize_t i
    cdef int k, owner
    for i in range(len(steps)):
        uses.of(steps[i], cells)
        for k in range(uses.count):
            owner = uses.owners[k]
            if uses.uses[k] & WRITES and last.get(owner) != i + 1:
                last.put(owner, <int>i + 1)
                writes.put(owner, writes.get(owner) + 1)
    return 0


cdef bint gives_one_array(Operation step, Cells cells):
    """Whether all that it does is to write an array that is known here alone."""
    cdef int k, last = step.count - 1, cell = step.at[last]
    cdef Place place = cells.places[cell]
    if step.prepared.uses[last] != WRITES or place.root != cell or place.size < 0 or place.roles & NEEDED:
        return False
    for k in range(last):
        if step.prepared.uses[k] & WRITES or step.at[k] == cell:
            return False
    return True


cdef bint is_the_same(int done, int cell, Cells cells, Counts writes):
    """Whether one result may stand for another one: each is written once, and they have the same size."""
    return writes.get(done) == writes.get(cell) == 1 and cells.places[done].size == cells.places[cell].size


cdef bytes key_of(Operation step, Cells cells, Counts versions, dict numbers):
    """The operation, and what its operands are at the time; ``numbers`` are those of operations."""
    cdef Py_ssize_t words[1 + 3 * OPERANDS]
    cdef Place *place
    cdef int k
    number = numbers.get(step.prepared)
    if number is None:
        number = numbers[step.prepared] = numbers.setdefault(step.prepared.key(), len(numbers))
    words[0] = number
    for k in range(step.count - 1):
        place = &cells.places[step.at[k]]
        words[3 * k + 1], words[3 * k + 2] = place.root, place.offset
        words[3 * k + 3] = versions.get(cells.owner_of(step.at[k]))
    return PyBytes_FromStringAndSize(<char *>words, (3 * step.count - 2) * sizeof(Py_ssize_t))
