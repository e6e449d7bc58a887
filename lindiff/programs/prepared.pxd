"""Operations of a program that are carried out without Python."""

cimport numpy as cnp

ctypedef int (*Run)(const void *state, char **x) noexcept nogil

# The same for so many elements that lie one step apart each.
ctypedef void (*Along)(const void *state, char **x, cnp.npy_intp n) noexcept nogil

cdef enum:
    EACH = 4        # operands of what is done element by element
    OPERANDS = 256  # of any operation

cdef enum Use:      # of an operand's memory
    READS = 1
    WRITES = 2


cdef class Prepared:
    cdef Run run
    cdef void *state
    cdef size_t size
    cdef Along along
    cdef cnp.npy_intp steps[EACH]
    cdef readonly Py_ssize_t n
    cdef readonly object reads
    cdef readonly object writes
    cdef unsigned char uses[OPERANDS]
    cdef readonly bint fails
    cdef readonly bint tells
    cdef public bint hushed
    cdef readonly bint keeps
    cdef readonly bint exact
    cdef bint raises
    cdef object members
    cdef int touch(self, object reads, object writes) except -1
