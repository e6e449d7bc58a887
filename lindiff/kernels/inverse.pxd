"""The inverse of a matrix from its factors, one at a time, row-major."""

from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport scalar

cdef void inverse_one(blas_int n, const scalar *LU, Py_ssize_t ldlu, const blas_int *piv,
                      scalar *X, Py_ssize_t ldx, scalar *T) noexcept nogil
