"""LQ factors, forward and backward, on one row-major matrix, in place."""

from lindiff.kernels.rowmajor cimport blas_int, floating

cdef Py_ssize_t gelqf_work(blas_int m, blas_int n) noexcept nogil
cdef void gelqf_one(blas_int m, blas_int n, floating *A, blas_int lda, floating *L, blas_int ldl, bint with_q,
                    floating *work) noexcept nogil
cdef void gelqf_pullback_one(blas_int m, blas_int n, const floating *Q, blas_int ldq, const floating *L,
                             blas_int ldl, floating *Q_bar, blas_int ldqb, bint has_q_bar,
                             const floating *L_bar, blas_int ldlb, floating *M) noexcept nogil
cdef void gelqf_pushforward_one(blas_int m, blas_int n, const floating *Q, blas_int ldq,
                                const floating *L, blas_int ldl, floating *A_dot, blas_int lda,
                                floating *L_dot, blas_int ldd) noexcept nogil
