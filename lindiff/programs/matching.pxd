"""Whether arguments, and what a function reads besides them, are as they were."""

cdef enum:
    AXES = 8


cdef class Pattern:
    cdef bint fits(self, object x, list arrays) except -1


cdef class Arguments:
    cdef Pattern args
    cdef Pattern kwargs
    cdef readonly bint is_known
    cdef readonly bint has_variables
    cpdef list arrays(self, tuple args, dict kwargs)


cdef class Watch:
    cdef readonly list names      # of (dict, name, object)
    cdef readonly list cells      # of (cell, object)
    cdef readonly list functions  # of (function, code, defaults, keyword defaults)
    cdef readonly list classes    # of [class, version, its items, its bases]
    cdef readonly list nests      # of (container, its items)
    cdef readonly list arrays     # of (array, shape, strides, dtype, content)
    cdef readonly list partials   # of (partial, its function, arguments and keywords)
    cdef readonly list others     # of functions that say whether they find what they did
    cpdef bint unchanged(self) except -1
