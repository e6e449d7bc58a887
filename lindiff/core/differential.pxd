"""Differentials of rules written in Python."""

from lindiff.core.record cimport Node, NodeOfMany, Pull, Push, Trace


cdef class Differential(NodeOfMany):
    cdef public object pushforward
    cdef public object pullback
    cdef public bint symbolic_zeros
    cdef public bint selective
    cdef bint overwrites
    cdef object sealed_by
    cdef tuple seals
    cdef tuple accumulates
    cdef tuple linear_in
    cdef tuple places
    cdef tuple values
    cdef object result
    cdef object unflatten
    cdef object lowered(self, object x)
    cdef int bind(self, Trace trace, list nodes, list places, tuple values, object result) except -1
    cdef int release(self) except -1
    cdef tuple functions(self)
    cdef void seal(self, object rule, tuple held)
    cdef object pull_sealed(self, object y_bar, bint overwrite, bint alone)
    cdef object push_sealed(self, list x_dots)
    cdef object fill_outputs(self, list y_bars)
    cdef tuple active(self)
    cdef list tangents(self, Push walk)
    cdef list by_argument(self, list x_dots)
    cdef list outputs(self, object y_dot)
    cdef int pull_by_transposition(self, Pull walk, object y_bar) except -1
    cdef object pull_arguments(self, object y_bar, bint overwrite=*)
    cdef int pull_one(self, Pull walk, object y_bar, Py_ssize_t i) except -1
    cdef object cotangent(self, object x_bars, tuple place)
    cdef object push_arguments(self, Push walk)


cdef class Linear(Differential):
    pass


cdef class Bilinear(Differential):
    pass


cdef class Elementwise(Differential):
    cdef list partials
    cdef tuple given
    cdef int take_partials(self, object result, tuple args) except -1
    cdef object partial(self, Py_ssize_t place)


cdef Elementwise elementwise_of(tuple partials, tuple given)
cdef tuple place_of(Py_ssize_t i)
cdef tuple functions_of(object found)
cpdef object stand_in(object x)
cdef Node both(Node a, Node b)
