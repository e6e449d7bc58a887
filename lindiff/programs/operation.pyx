"""Steps of a program that are done without Python: a prepared operation, and the cells that it works on."""

cimport cython

from cpython.mem cimport PyMem_Free, PyMem_Malloc

from lindiff.programs.prepared cimport OPERANDS, Prepared


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Operation:
    """A step of a program.

    Parameters
    ----------
    prepared : Prepared
    cells : list of int
        Of its operands.
    quiet : bool
        NumPy is not to warn.
    of : tuple of int
        The numbers of the instructions that it carries out.
    """

    def __init__(self, Prepared prepared, list cells, bint quiet, tuple of=()):
        cdef int k
        self.prepared, self.quiet, self.several = prepared, quiet, of
        make_room(self, len(cells))
        for k in range(self.count):
            self.at[k] = cells[k]

    def __dealloc__(self):
        PyMem_Free(self.at)

    @property
    def cells(self):
        return [self.at[k] for k in range(self.count)]

    @property
    def of(self):
        return (self.one,) if self.several is None else self.several


cdef int make_room(Operation made, Py_ssize_t count) except -1:
    """For the cells."""
    if count > OPERANDS:
        raise ValueError("an operation with too many operands")
    made.count = <int>count
    made.at = <int *>PyMem_Malloc((count + 1) * sizeof(int))
    if made.at == NULL:
        raise MemoryError()
    return 0


cdef Operation operation(Prepared prepared, int count, bint quiet, Py_ssize_t of):
    """The operation of one instruction, with room for so many cells."""
    cdef Operation made = Operation.__new__(Operation)
    made.prepared, made.quiet, made.one = prepared, quiet, of
    make_room(made, count)
    return made
