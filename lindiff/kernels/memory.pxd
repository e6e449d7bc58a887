"""Where results live: arrays that are not initialized, the large ones in memory that is used again."""

cimport numpy as cnp

from lindiff.kernels.sizes cimport KEPT_MEMORY


cdef inline bint is_large(object x):
    """Whether the memory of an array is worth keeping."""
    cdef int k
    cdef Py_ssize_t size
    if not cnp.PyArray_CheckExact(x):
        return False
    size = cnp.PyArray_ITEMSIZE(<cnp.ndarray>x)
    for k in range(cnp.PyArray_NDIM(<cnp.ndarray>x)):
        size *= cnp.PyArray_DIM(<cnp.ndarray>x, k)
    return size >= KEPT_MEMORY


cdef cnp.ndarray empty(int ndim, cnp.npy_intp *shape, int dtype)
cdef cnp.ndarray copy(cnp.ndarray x, bint keep_order=*)
cdef object lend()
cdef int give_back(object previous) except -1
