"""Cholesky factor and inverse from the factor, forward and backward, on one row-major matrix, in place."""

from lindiff.kernels.rowmajor cimport blas_int, floating

cdef blas_int potrf_one(bint lower, blas_int n, floating *A, blas_int lda) noexcept nogil
cdef void potrf_pullback_one(bint lower, blas_int n, const floating *L, blas_int ldl,
                             floating *L_bar, blas_int ldb) noexcept nogil
cdef void potrf_pushforward_one(bint lower, blas_int n, const floating *L, blas_int ldl,
                                floating *A_dot, blas_int lda) noexcept nogil
cdef blas_int potri_one(bint lower, blas_int n, floating *L, blas_int ldl) noexcept nogil
cdef void potri_pullback_one(bint lower, blas_int n, const floating *L, blas_int ldl,
                             floating *B_bar, blas_int ldb) noexcept nogil
cdef void potri_pushforward_one(bint lower, blas_int n, const floating *L, blas_int ldl,
                                floating *L_dot, blas_int ldd) noexcept nogil
