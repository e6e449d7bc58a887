"""Products of one pair of row-major matrices."""

from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport scalar

cdef void gemm_one(int transpose_a, int transpose_b, blas_int m, blas_int n, blas_int k, double alpha,
                   const scalar *A, blas_int lda, const scalar *B, blas_int ldb,
                   double beta, scalar *C, blas_int ldc) noexcept nogil
cdef void syrk_one(int transpose, blas_int n, blas_int k, double alpha, const scalar *A, blas_int lda,
                   scalar *B, blas_int ldb) noexcept nogil
cdef void syrk_pullback_one(int transpose, blas_int n, blas_int k, double alpha,
                            const scalar *A, blas_int lda, const scalar *B_bar, blas_int ldb,
                            scalar *S, double beta, scalar *A_bar, blas_int ldab) noexcept nogil
