"""Operations of a program that are carried out without Python."""

ctypedef int (*Run)(const void *state, char **x) noexcept nogil


cdef class Prepared:
    cdef Run run
    cdef void *state
