"""Operations that are linear in their one argument."""

cimport cython

from lindiff.core.record cimport Node, Pull, Push


@cython.no_gc
cdef class LinearNode(Node):
    cdef object image(self, object x)
    cdef object adjoint(self, object y_bar)
    cdef bint owns(self, Pull walk, object x_bar) except -1


@cython.no_gc
cdef class ViewNode(LinearNode):
    pass
