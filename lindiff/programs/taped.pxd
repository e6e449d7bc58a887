"""Calls of programs among Variables that leave what the way back needs, for compiled code."""

cimport cython

from lindiff.core.record cimport NodeOfMany, Trace
from lindiff.programs.machine cimport Machine
from lindiff.programs.matching cimport Arguments


@cython.final
@cython.no_gc
cdef class Tape:
    cdef Machine first
    cdef list arrays
    cdef list objects
    cdef char *block


@cython.final
@cython.no_gc
cdef class TapedCall(NodeOfMany):
    cdef object calls
    cdef object known
    cdef Taped taped
    cdef Tape tape
    cdef tuple args
    cdef list likes
    cdef list given(self)
    cdef list nodes(self)
    cdef object differential(self)


@cython.final
cdef class Taped:
    cdef Machine first
    cdef Machine second
    cdef readonly object surroundings
    cdef readonly tuple active
    cdef list forms
    cdef list zeros
    cdef readonly bint several
    cdef object called(self, object calls, object known, Arguments form, Trace trace, list nodes, list arrays,
                       tuple args)
    cdef list values(self, Tape tape, list arrays)
    cdef list cotangents_for(self, object y_bar)
    cdef bint pull(self, TapedCall call, object walk, object y_bar) except -1


cdef list in_layout(Arguments form, list held, list arrays, tuple given)


cpdef bint lie_alike(object x, object y) except -1


cpdef int refuse_change(object calls, object surroundings) except -1
