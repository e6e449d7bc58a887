"""Row-major faces of single BLAS and LAPACK routines: the table of contents. Bodies and equations are in
the .pyx.

`op(X)` is X, Xᵀ or Xᴴ, as a flag `PLAIN`, `TRANSPOSE`, `ADJOINT` says (False and True are the first two).
Leading dimensions `ld*` are row lengths of the enclosing array, so blocks can be addressed.
"""

from lindiff.kernels.scalar cimport floating, scalar

include "blas_int.pxi"

cdef enum:
    PLAIN = 0
    TRANSPOSE = 1
    ADJOINT = 2
    CONJUGATE = 3   # the adjoint of a TRANSPOSE; BLAS does not know it, loops do

# BLAS 1 and 2, of real numbers
cdef floating dot(blas_int n, const floating *x, const floating *y) noexcept nogil
cdef void gemv(bint transpose, blas_int m, blas_int n, floating alpha, const floating *A, blas_int lda,
               const floating *x, blas_int incx, floating beta, floating *y, blas_int incy) noexcept nogil

# BLAS 3
cdef void gemm(int transpose_a, int transpose_b, blas_int m, blas_int n, blas_int k, double alpha,
               const scalar *A, blas_int lda, const scalar *B, blas_int ldb,
               double beta, scalar *C, blas_int ldc) noexcept nogil
cdef void gemmt(bint lower, int transpose_a, int transpose_b, blas_int n, blas_int k, double alpha,
                const scalar *A, blas_int lda, const scalar *B, blas_int ldb,
                double beta, scalar *C, blas_int ldc) noexcept nogil
cdef void syrk(bint lower, bint transpose, blas_int n, blas_int k, double alpha, const scalar *A,
               blas_int lda, double beta, scalar *C, blas_int ldc) noexcept nogil
cdef void herk(bint lower, bint adjoint, blas_int n, blas_int k, double alpha, const scalar *A,
               blas_int lda, double beta, scalar *C, blas_int ldc) noexcept nogil
cdef void her2k(bint lower, bint adjoint, blas_int n, blas_int k, double alpha, const scalar *A,
                blas_int lda, const scalar *B, blas_int ldb, double beta, scalar *C,
                blas_int ldc) noexcept nogil
cdef void symm(bint rightside, bint lower, blas_int m, blas_int n, double alpha, const scalar *S,
               blas_int lds, const scalar *B, blas_int ldb, double beta, scalar *C,
               blas_int ldc) noexcept nogil
cdef void hemm(bint rightside, bint lower, blas_int m, blas_int n, double alpha, const scalar *S,
               blas_int lds, const scalar *B, blas_int ldb, double beta, scalar *C,
               blas_int ldc) noexcept nogil
cdef void trmm(bint rightside, bint lower, int transpose, bint unit, blas_int m, blas_int n, double alpha,
               const scalar *L, blas_int ldl, scalar *B, blas_int ldb) noexcept nogil
cdef void trsm(bint rightside, bint lower, int transpose, bint unit, blas_int m, blas_int n, double alpha,
               const scalar *L, blas_int ldl, scalar *B, blas_int ldb) noexcept nogil

# LAPACK; each returns `info`
cdef blas_int potri(bint lower, blas_int n, scalar *L, blas_int ldl) noexcept nogil
cdef blas_int syevd(bint lower, blas_int n, scalar *A, blas_int lda, void *lam, scalar *work,
                    blas_int lwork, void *rwork, blas_int lrwork, blas_int *iwork,
                    blas_int liwork) noexcept nogil
cdef blas_int gesdd(blas_int m, blas_int n, scalar *At, void *s, scalar *Ut, scalar *V,
                    scalar *work, blas_int lwork, void *rwork, blas_int *iwork) noexcept nogil
cdef blas_int getrf(blas_int n, scalar *A, blas_int lda, blas_int *piv) noexcept nogil
cdef blas_int gbtrf(blas_int n, blas_int below, blas_int above, scalar *A, blas_int lda,
                    blas_int *piv) noexcept nogil
cdef void gbtrs(bint transpose, blas_int n, blas_int below, blas_int above, scalar *LU, blas_int ldlu,
                blas_int *piv, scalar *x) noexcept nogil
