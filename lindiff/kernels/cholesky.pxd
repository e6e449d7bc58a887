"""Cholesky factor and inverse from the factor, forward and backward, on one row-major matrix, in place."""

from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport scalar

cdef blas_int potrf_one(bint lower, blas_int n, scalar *A, blas_int lda) noexcept nogil
cdef void potrf_pullback_one(bint lower, blas_int n, const scalar *L, blas_int ldl,
                             scalar *L_bar, blas_int ldb) noexcept nogil
cdef void potrf_pushforward_one(bint lower, blas_int n, const scalar *L, blas_int ldl,
                                scalar *A_dot, blas_int lda) noexcept nogil
cdef blas_int potri_one(bint lower, blas_int n, scalar *L, blas_int ldl) noexcept nogil
cdef void potri_pullback_one(bint lower, blas_int n, const scalar *L, blas_int ldl,
                             scalar *B_bar, blas_int ldb) noexcept nogil
cdef void potri_pushforward_one(bint lower, blas_int n, const scalar *L, blas_int ldl,
                                scalar *L_dot, blas_int ldd) noexcept nogil
