"""Symmetric eigendecomposition of one small row-major matrix, without LAPACK."""

from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport floating

cdef blas_int syev_small(Py_ssize_t n, floating *A, Py_ssize_t lda, floating *lam,
                         floating *work) noexcept nogil
