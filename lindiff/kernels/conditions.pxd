"""Whether numbers are in order."""

from lindiff.kernels.scalar cimport floating

cdef bint are_finite(const floating *x, Py_ssize_t n) noexcept nogil
