"""Whether arguments, and what a function reads besides them, are as they were."""

cimport cython
cimport numpy as cnp

cdef enum:
    AXES = 8


cdef class Pattern:
    cdef bint fits(self, object x, list arrays) except -1


@cython.final
cdef class OfArray(Pattern):
    cdef object dtype
    cdef int axes
    cdef bint writeable
    cdef bint is_array
    cdef cnp.npy_intp shape[AXES]
    cdef cnp.npy_intp strides[AXES]
    cdef Py_ssize_t same_as   # the first of the arrays that is this one
    cdef bint has_form(self, object x) except -1


cdef OfArray form_of_array(cnp.ndarray x, bint is_array)


cdef class Arguments:
    cdef Pattern args
    cdef Pattern kwargs
    cdef readonly bint is_known
    cdef readonly tuple variables
    cdef public Arguments kept
    cpdef list arrays(self, tuple args, dict kwargs)


@cython.final
cdef class Names:
    cdef readonly dict names
    cdef readonly list known
    cdef bint whole
    cdef unsigned long long version
    cdef bint unchanged(self) except -1


cdef class Watch:
    cdef readonly dict names      # of Names, by the dict
    cdef readonly list cells      # of (cell, object)
    cdef readonly list functions  # of (function, code, defaults, keyword defaults)
    cdef readonly list classes    # of [class, version, its items, its bases]
    cdef readonly list nests      # of (container, its items), or Names
    cdef readonly list arrays     # of (array, shape, strides, dtype, content)
    cdef readonly list partials   # of (partial, its function, arguments and keywords)
    cdef readonly list others     # of functions that say whether they find what they did
    cpdef bint unchanged(self) except -1
