"""A number that stands for all that operations have computed and kept."""

cimport numpy as cnp


cdef class Tally:
    cdef double total
    cdef double size
    cdef double scale
    cdef unsigned long long turn
    cdef Tally outer
    cdef double weight(self) noexcept
    cdef int put(self, double term) except -1
    cdef int add_array(self, cnp.ndarray x) except -1
    cdef int add(self, object x) except -1
    cdef int add_operation(self, object operation) except -1
    cdef int fold(self, Tally part) except -1
    cdef bint differs(self, Tally other) noexcept


cdef int running
cdef Tally current()
cdef Tally begin_tally()
cdef int end_tally(Tally tally) except -1
cdef Tally set_aside()
cdef int take_up(Tally tally) except -1
