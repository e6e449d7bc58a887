"""What steps that are alike are made of."""

from lindiff.programs.cells cimport Cells

cdef enum:
    WORDS = 128  # of a description
    LOCALS = 16  # slots of a step, and those in whose memory they lie

cdef enum Kind:  # of operands
    OF_CELL
    OF_PART
    OF_ROOM
    OF_CONSTANT

cdef struct Operand:
    Kind kind
    int local            # of a slot, its number within the step, or -1; of memory between, its own number
    Py_ssize_t slot      # where it has no such number; the cell of a constant
    Py_ssize_t offset    # bytes behind the first element; how many there are of memory between


cdef class Description:
    cdef size_t words[WORDS]
    cdef int count
    cdef Py_ssize_t slots[LOCALS]
    cdef Py_ssize_t offsets[LOCALS]  # of the first operand in the memory of each
    cdef bint described[LOCALS]
    cdef bint has_offset[LOCALS]
    cdef int locals
    cdef bint fits                   # there has been room for all of it
    cdef list forms
    cdef list roots
    cdef bytes of(self, object step, list forms, list roots)
    cdef void add(self, size_t word) noexcept
    cdef void add_object(self, object x) noexcept
    cdef int function(self, object function) except -1
    cdef int tree(self, object tree) except -1
    cdef int container(self, object tree, tuple parts) except -1
    cdef void number(self, double x) noexcept
    cdef int content(self, object x) except -1
    cdef int slot(self, Py_ssize_t slot) except -1
    cdef int local(self, Py_ssize_t slot) noexcept
    cdef int found(self, Py_ssize_t slot) except -1


cdef class Alike:
    cdef list prepared
    cdef int *counts
    cdef Operand *operands
    cdef int all
    cdef int rooms


cdef class Preparations:
    cdef Cells cells
    cdef dict known            # by description: Alike, or None for what Python does
    cdef dict known_constants
    cdef readonly list constants
    cdef Description described
    cdef Alike of(self, object step, list forms, list roots)
    cdef Alike made_of(self, list operations, bint is_described)
    cdef int operand(self, Operand *operand, object x, bint is_described, dict rooms) except -1
    cdef int constant(self, object x) except -1
