"""LU factors, solve and inverse, on one row-major matrix, in place."""

from lindiff.kernels.batch cimport Batch
from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport scalar

cdef void exchange(Py_ssize_t count, scalar *x, scalar *y, Py_ssize_t step) noexcept nogil
cdef blas_int getrf_one(blas_int n, scalar *A, blas_int lda, blas_int *piv) noexcept nogil
cdef void getrs_one(int transpose, blas_int n, blas_int k, const scalar *LU, blas_int ldlu,
                    const blas_int *piv, scalar *B, blas_int ldb) noexcept nogil
cdef object singular_matrix(Batch *b, str operator)
