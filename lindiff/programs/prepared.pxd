"""Operations of a program that are carried out without Python."""

cimport numpy as cnp

from lindiff.kernels.loops cimport Function, Loop, Nest
from lindiff.kernels.matmul cimport Frame

ctypedef int (*Run)(const void *state, char **x) noexcept nogil

# The same for so many elements that lie one step apart each.
ctypedef void (*Along)(const void *state, char **x, cnp.npy_intp n) noexcept nogil

cdef enum:
    EACH = 4        # operands of what is done element by element
    OPERANDS = 256  # of any operation

cdef enum Use:      # of an operand's memory
    READS = 1
    WRITES = 2


cdef enum Kind:     # of what it has to know
    OTHER
    VECTORS
    NESTED
    QUOTIENT
    CHAIN
    REDUCTION
    PRODUCT

cdef struct Vectors:
    cnp.npy_intp n      # first, where those for few numbers look for it
    Function function
    void *data
    cnp.npy_intp steps[3]

cdef struct Nested:
    Loop loop
    Nest nest
    int count

cdef struct Chain:
    cnp.npy_intp n
    int kind
    bint conjugated
    bint by_number

cdef struct Reduction:
    Function function
    void *data
    cnp.npy_intp outer
    cnp.npy_intp n
    cnp.npy_intp inner
    cnp.npy_intp size
    bint from_zero

cdef struct Product:
    Frame x
    Frame y
    Frame z
    int kind
    bint large


cdef class Prepared:
    cdef Run run
    cdef Kind kind
    cdef cnp.npy_intp item   # from one number of the result to the next, in bytes; 0 where that is free
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

cdef Prepared prepared(Run run, const void *state, size_t size, int reads, int writes, bint fails=*)
cdef Prepared by_loop(Function function, void *data, const Nest *nest, int count)
cdef Prepared product(const Product *s)
cdef int run_vectors(const void *state, char **x) noexcept nogil
cdef int run_raising(const void *state, char **x) noexcept nogil
cdef int run_product(const void *state, char **x) noexcept nogil
cdef int run_chain(const void *state, char **x) noexcept nogil
cdef int run_quotient(const void *state, char **x) noexcept nogil
cdef void along_quotient(const void *state, char **x, cnp.npy_intp n) noexcept nogil
