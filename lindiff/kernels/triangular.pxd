"""Triangular matrices, one at a time, row-major, in place: products and solves."""

from lindiff.kernels.rowmajor cimport blas_int, floating

cdef void trmm_one(bint rightside, bint lower, bint transpose, blas_int m, blas_int n, floating alpha,
                   const floating *L, blas_int ldl, floating *B, blas_int ldb) noexcept nogil
cdef void trmm_pullback_one(bint rightside, bint lower, bint transpose, blas_int m, blas_int n,
                            floating alpha, const floating *L, blas_int ldl, const floating *A,
                            blas_int lda, floating *B_bar, blas_int ldb, floating *L_bar,
                            blas_int ldlb) noexcept nogil
cdef void trsm_one(bint rightside, bint lower, bint transpose, bint unit, blas_int m, blas_int n,
                   floating alpha, const floating *L, blas_int ldl, floating *B,
                   blas_int ldb) noexcept nogil
cdef void trsm_pullback_one(bint rightside, bint lower, bint transpose, blas_int m, blas_int n,
                            floating alpha, const floating *L, blas_int ldl, const floating *B,
                            blas_int ldb, floating *B_bar, blas_int ldbb, floating *L_bar,
                            blas_int ldlb) noexcept nogil
