"""Operations on two operands."""

cimport cython

from lindiff.core.record cimport Node, Pull, Trace


@cython.no_gc
cdef class Binary(Node):
    cdef object x
    cdef object y
    cdef tuple fit_x
    cdef tuple fit_y
    cdef tuple fit_result
    cdef object left(self, object x, Trace trace)
    cdef object right(self, object y, Trace trace)
    cdef object keep(self, Trace trace, object x, object y, object value)
    cdef object finish(self, Trace trace, object x, object y, object value)
    cdef int add_a(self, Pull walk, object x_bar, bint own) except -1
    cdef int add_b(self, Pull walk, object y_bar, bint own) except -1
    cdef object fitted(self, object z_dot)


cdef Trace trace_of(object x, object y)
cdef bint of_two(tuple args)
cdef object by_operator(object operation, object x, object y)
