"""Trees of what an operation is given, for compiled code."""

cimport numpy as cnp


cdef class Leaf:
    cdef object of(self, object x)

cdef object replaced_by(object tree, Leaf leaf)
cpdef list leaves_of(object tree)
cpdef bint same(object a, object b) except -1
cdef bint have_same_bytes(cnp.ndarray a, cnp.ndarray b) except -1
