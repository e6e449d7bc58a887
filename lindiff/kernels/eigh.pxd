"""Symmetric eigendecomposition, forward and backward, on one row-major matrix, in place."""

from lindiff.kernels.rowmajor cimport blas_int, floating

cdef blas_int syevd_one(blas_int n, floating *A, blas_int lda, floating *lam,
                        floating *work, blas_int lwork, blas_int *iwork, blas_int liwork) noexcept nogil
cdef void syevd_pullback_one(bint columns, blas_int n, const floating *U, blas_int ldu, const floating *lam,
                             floating *U_bar, blas_int ldub, bint has_u_bar, const floating *lam_bar,
                             floating *T) noexcept nogil
cdef void syevd_pushforward_one(bint columns, blas_int n, const floating *U, blas_int ldu,
                                const floating *lam, const floating *A_dot, blas_int lda, floating *U_dot,
                                blas_int ldud, floating *lam_dot, floating *T) noexcept nogil
