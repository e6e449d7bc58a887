"""What operations keep of their constants."""

cimport cython
cimport numpy as cnp


@cython.no_gc
@cython.final
cdef class Guard:
    cdef readonly cnp.ndarray array
    cdef unsigned long long mark
    cdef object what
    cdef object code
    cdef object instruction
    cdef Guard next
    cdef int check(self, object node) except -1
    cdef int complain(self, object node) except -1


cdef Guard guard_of(cnp.ndarray x, object what)
cdef Guard linked(Guard guard, Guard others)
cdef cnp.ndarray in_memory_of(cnp.ndarray x, object holder)
cdef bint may_change(cnp.ndarray x) noexcept
cdef bint is_copied(cnp.ndarray x) noexcept
cdef unsigned long long mark_of(cnp.ndarray x) noexcept
