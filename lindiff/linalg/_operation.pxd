"""Operations on a matrix that are described once."""

from lindiff.core.registry cimport Rule


cdef class Operation(Rule):
    cdef object learn
    cdef object result
    cdef object value
    cdef object pushforward
    cdef object pullback
    cdef bint overwrites
    cdef bint shares
