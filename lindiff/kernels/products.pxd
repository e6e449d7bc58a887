"""Products of one pair of row-major matrices."""

from lindiff.kernels.rowmajor cimport blas_int, floating

cdef void gemm_one(bint transpose_a, bint transpose_b, blas_int m, blas_int n, blas_int k, floating alpha,
                   const floating *A, blas_int lda, const floating *B, blas_int ldb,
                   floating beta, floating *C, blas_int ldc) noexcept nogil
cdef void syrk_one(bint transpose, blas_int n, blas_int k, floating alpha, const floating *A, blas_int lda,
                   floating *B, blas_int ldb) noexcept nogil
cdef void syrk_pullback_one(bint transpose, blas_int n, blas_int k, floating alpha,
                            const floating *A, blas_int lda, const floating *B_bar, blas_int ldb,
                            floating *S, floating *A_bar, blas_int ldab) noexcept nogil
