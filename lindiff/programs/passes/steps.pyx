"""The steps of a program as its passes see them: what they read and write."""

cimport cython

from cpython.mem cimport PyMem_Free, PyMem_Realloc

from lindiff.programs.cells cimport Cells
from lindiff.programs.operation cimport Operation
from lindiff.programs.prepared cimport READS, WRITES

from lindiff.programs.machine import ByPython
from lindiff.programs.operation import Operation as _Operation

Step = _Operation | ByPython


@cython.final
cdef class Uses:
    """The memory that one step after the other reads and writes; of Python's it is taken for both."""

    def __dealloc__(self):
        PyMem_Free(self.owners)
        PyMem_Free(self.uses)

    cdef int of(self, object step, Cells cells) except -1:
        """Look at a step; how many operands it has, some of which may have one owner."""
        cdef Operation operation
        cdef list given
        cdef int k
        if type(step) is Operation:
            operation = step
            self.make_room(operation.count)
            for k in range(operation.count):
                self.owners[k] = cells.owner_of(operation.at[k])
                self.uses[k] = operation.prepared.uses[k]
        else:
            given = step.cells
            self.make_room(len(given))
            for k in range(self.count):
                self.owners[k], self.uses[k] = cells.owner_of(given[k]), READS | WRITES
        return self.count

    cdef int make_room(self, Py_ssize_t count) except -1:
        if count > self.room:
            self.room = 0
            self.owners = <int *>renewed(self.owners, 2 * count * sizeof(int))
            self.uses = <unsigned char *>renewed(self.uses, 2 * count)
            self.room = 2 * <int>count
        self.count = <int>count
        return 0


cdef void *renewed(void *memory, size_t size) except NULL:
    cdef void *made = PyMem_Realloc(memory, size)
    if made == NULL:
        raise MemoryError()
    return made


class Touched:
    """The memory that steps read and write, by the cell that all of it belongs to."""

    def __init__(self, reads=(), writes=()):
        self.reads, self.writes = set(reads), set(writes)

    @property
    def all(self):
        return self.reads | self.writes

    def meets(self, other):
        """Whether the two have to stay in their order."""
        return not (
            self.writes.isdisjoint(other.writes)
            and self.writes.isdisjoint(other.reads)
            and self.reads.isdisjoint(other.writes)
        )

    def add(self, other):
        self.reads |= other.reads
        self.writes |= other.writes


def touched(step, Cells cells):
    """What a step reads and writes."""
    cdef Uses uses = Uses()
    cdef int k, count = uses.of(step, cells)
    return Touched(
        [uses.owners[k] for k in range(count) if uses.uses[k] & READS],
        [uses.owners[k] for k in range(count) if uses.uses[k] & WRITES],
    )
