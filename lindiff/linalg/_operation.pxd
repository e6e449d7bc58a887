"""Operations on a matrix that are described once."""

from cpython.object cimport PyObject

from lindiff.core.registry cimport Rule


cdef class Direct:
    cdef object called(self, PyObject **args, Py_ssize_t count)


cdef class Operation(Rule):
    cdef object learn
    cdef object result
    cdef object value
    cdef object pushforward
    cdef object pullback
    cdef bint overwrites
    cdef bint shares
