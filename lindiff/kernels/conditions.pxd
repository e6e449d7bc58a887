"""Whether numbers are in order."""

cimport numpy as cnp

from lindiff.kernels.scalar cimport floating


cdef inline double *numbers(object x) noexcept:
    return <double *>cnp.PyArray_DATA(<cnp.ndarray>x)


cdef bint are_finite(const floating *x, Py_ssize_t n) noexcept nogil
