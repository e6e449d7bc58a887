"""Where results live: arrays that are not initialized, the large ones in memory that is used again."""

cimport numpy as cnp

cdef cnp.ndarray empty(int ndim, cnp.npy_intp *shape, int dtype)
cdef cnp.ndarray copy(cnp.ndarray x, bint keep_order=*)
cdef object lend()
cdef int give_back(object previous) except -1
cdef bint is_large(object x)
