"""Row-major faces of single BLAS and LAPACK routines: the table of contents. Bodies and equations are in
the .pyx.

`op(X)` is X or its transpose. Leading dimensions `ld*` are row lengths of the enclosing array, so blocks
can be addressed.
"""

include "blas_int.pxi"

ctypedef fused floating:
    float
    double

# BLAS 1 and 2
cdef floating dot(blas_int n, const floating *x, const floating *y) noexcept nogil
cdef void gemv(bint transpose, blas_int m, blas_int n, floating alpha, const floating *A, blas_int lda,
               const floating *x, blas_int incx, floating beta, floating *y, blas_int incy) noexcept nogil

# BLAS 3
cdef void gemm(bint transpose_a, bint transpose_b, blas_int m, blas_int n, blas_int k, floating alpha,
               const floating *A, blas_int lda, const floating *B, blas_int ldb,
               floating beta, floating *C, blas_int ldc) noexcept nogil
cdef void gemmt(bint lower, bint transpose_a, bint transpose_b, blas_int n, blas_int k, floating alpha,
                const floating *A, blas_int lda, const floating *B, blas_int ldb,
                floating beta, floating *C, blas_int ldc) noexcept nogil
cdef void syrk(bint lower, bint transpose, blas_int n, blas_int k, floating alpha, const floating *A,
               blas_int lda, floating beta, floating *C, blas_int ldc) noexcept nogil
cdef void syr2k(bint lower, bint transpose, blas_int n, blas_int k, floating alpha, const floating *A,
                blas_int lda, const floating *B, blas_int ldb, floating beta, floating *C,
                blas_int ldc) noexcept nogil
cdef void symm(bint rightside, bint lower, blas_int m, blas_int n, floating alpha, const floating *S,
               blas_int lds, const floating *B, blas_int ldb, floating beta, floating *C,
               blas_int ldc) noexcept nogil
cdef void trmm(bint rightside, bint lower, bint transpose, bint unit, blas_int m, blas_int n, floating alpha,
               const floating *L, blas_int ldl, floating *B, blas_int ldb) noexcept nogil
cdef void trsm(bint rightside, bint lower, bint transpose, bint unit, blas_int m, blas_int n, floating alpha,
               const floating *L, blas_int ldl, floating *B, blas_int ldb) noexcept nogil

# LAPACK; each returns `info`
cdef blas_int potri(bint lower, blas_int n, floating *L, blas_int ldl) noexcept nogil
cdef blas_int gelqf(blas_int m, blas_int n, floating *A, blas_int lda, floating *tau,
                    floating *work, blas_int lwork) noexcept nogil
cdef blas_int orglq(blas_int m, blas_int n, floating *A, blas_int lda, const floating *tau,
                    floating *work, blas_int lwork) noexcept nogil
cdef blas_int syevd(bint lower, blas_int n, floating *A, blas_int lda, floating *lam,
                    floating *work, blas_int lwork, blas_int *iwork, blas_int liwork) noexcept nogil
cdef blas_int gesdd(blas_int m, blas_int n, floating *At, floating *s, floating *Ut, floating *V,
                    floating *work, blas_int lwork, blas_int *iwork) noexcept nogil
cdef blas_int getrf(blas_int n, floating *A, blas_int lda, blas_int *piv) noexcept nogil
cdef blas_int trtri(bint lower, bint unit, blas_int n, floating *L, blas_int ldl) noexcept nogil
cdef blas_int getri(blas_int n, floating *LU, blas_int ldlu, const blas_int *piv,
                    floating *work, blas_int lwork) noexcept nogil
