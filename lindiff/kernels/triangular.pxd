"""Triangular matrices, one at a time, row-major, in place: products and solves."""

from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport scalar

cdef void trmm_one(bint rightside, bint lower, int transpose, blas_int m, blas_int n, double alpha,
                   const scalar *L, blas_int ldl, scalar *B, blas_int ldb) noexcept nogil
cdef int adjoint_of(int transpose) noexcept nogil
cdef void outer_triangle(bint rightside, bint lower, int transpose, blas_int m, blas_int n, double alpha,
                         const scalar *Y, blas_int ldy, const scalar *X, blas_int ldx,
                         scalar *L_bar, blas_int ldlb) noexcept nogil
cdef void trmm_pullback_one(bint rightside, bint lower, int transpose, blas_int m, blas_int n,
                            double alpha, const scalar *L, blas_int ldl, const scalar *A,
                            blas_int lda, scalar *B_bar, blas_int ldb, scalar *L_bar,
                            blas_int ldlb) noexcept nogil
cdef void trsm_one(bint rightside, bint lower, int transpose, bint unit, blas_int m, blas_int n,
                   double alpha, const scalar *L, blas_int ldl, scalar *B,
                   blas_int ldb) noexcept nogil
cdef void trsm_pullback_one(bint rightside, bint lower, int transpose, blas_int m, blas_int n,
                            double alpha, const scalar *L, blas_int ldl, const scalar *B,
                            blas_int ldb, scalar *B_bar, blas_int ldbb, scalar *L_bar,
                            blas_int ldlb) noexcept nogil
