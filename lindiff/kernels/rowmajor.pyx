"""Row-major faces of single BLAS and LAPACK routines. No Python object is seen here, and no derivative.

BLAS and LAPACK are column-major: on a row-major buffer they see the transpose. The flip is made here,
once, and nowhere else:

=========================================  ==============================================================
row-major, wanted                          column-major, called on the same buffer
=========================================  ==============================================================
gemv y = op(A) x                           the other trans, m and n exchanged
gemm C = op(A) op(B)                       A and B exchanged, m and n exchanged, each `trans` kept
syrk A Aᵀ, lower                           uplo U, trans 'T'
herk A Aᴴ, her2k A Bᴴ + B Aᴴ, lower        uplo U, trans 'C'
symm, hemm S B, lower                      side R, uplo U, m and n exchanged
trmm, trsm op(L) X, left, lower            side R, uplo U, same trans, m and n exchanged
inverse from the factor, lower             potri 'U'
LQ of A (m <= n)                           geqrf, orgqr or ungqr (of the transpose)
A = Uᴴ diag(λ) U, rows of Ū are            syevd or heevd 'U' (for the lower triangle): columns of Ā's
eigenvectors                               eigenvectors are rows of U
LU: A = L U P, U unit upper, P exchanges   getrf (of the transpose: its U is our Lᵀ, its L our Uᵀ, and it
columns                                    exchanges rows where we exchange columns)
of a band, by rows                         gbtrf, below and above exchanged
SVD                                        not flipped, see `gesdd`
=========================================  ==============================================================

`syrk` and `symm` are about symmetric matrices, complex ones too; `herk`, `her2k`, `hemm` about Hermitian
ones, which are the symmetric ones of the real types.
"""

from scipy.linalg cimport cython_blas as blas
from scipy.linalg cimport cython_lapack as lapack

from lindiff.kernels.scalar cimport complex64, complex128
from lindiff.kernels.sizes cimport GEMMT_LEAF, TRSM_ROWS, TRSM_ROWS_ORDER, TRSM_ROWS_ORDER_LEAST
from lindiff.kernels.trsm_rows cimport trsm_rows


cdef inline char uplo_flag(bint lower) noexcept nogil:
    return c"U" if lower else c"L"


cdef inline char trans_flag(int transpose) noexcept nogil:
    return c"N" if transpose == PLAIN else c"T" if transpose == TRANSPOSE else c"C"


cdef inline char side_flag(bint rightside) noexcept nogil:
    return c"L" if rightside else c"R"


cdef inline char diag_flag(bint unit) noexcept nogil:
    return c"U" if unit else c"N"


cdef inline blas_int leading(blas_int ld) noexcept nogil:
    """BLAS wants a leading dimension of at least 1, for empty matrices too."""
    return ld if ld > 0 else 1


cdef floating dot(blas_int n, const floating *x, const floating *y) noexcept nogil:
    """xᵀ y of two contiguous vectors."""
    cdef blas_int one = 1
    if floating is float:
        return blas.sdot(&n, <float *> x, &one, <float *> y, &one)
    else:
        return blas.ddot(&n, <double *> x, &one, <double *> y, &one)


cdef void gemv(bint transpose, blas_int m, blas_int n, floating alpha, const floating *A, blas_int lda,
               const floating *x, blas_int incx, floating beta, floating *y, blas_int incy) noexcept nogil:
    """y := alpha op(A) x + beta y, A of shape (m, n); elements of x and y `inc*` apart."""
    cdef char trans = trans_flag(not transpose)
    cdef blas_int la = leading(lda)
    if floating is float:
        blas.sgemv(&trans, &n, &m, &alpha, <float *> A, &la, <float *> x, &incx, &beta, y, &incy)
    else:
        blas.dgemv(&trans, &n, &m, &alpha, <double *> A, &la, <double *> x, &incx, &beta, y, &incy)


cdef void gemm(int transpose_a, int transpose_b, blas_int m, blas_int n, blas_int k, double alpha,
               const scalar *A, blas_int lda, const scalar *B, blas_int ldb,
               double beta, scalar *C, blas_int ldc) noexcept nogil:
    """C := alpha op(A) op(B) + beta C, C of shape (m, n), k the inner dimension."""
    cdef char ta = trans_flag(transpose_a), tb = trans_flag(transpose_b)
    cdef blas_int la = leading(lda), lb = leading(ldb), lc = leading(ldc)
    cdef scalar a = <scalar> alpha, b = <scalar> beta
    if scalar is float:
        blas.sgemm(&tb, &ta, &n, &m, &k, &a, <float *> B, &lb, <float *> A, &la, &b, C, &lc)
    elif scalar is double:
        blas.dgemm(&tb, &ta, &n, &m, &k, &a, <double *> B, &lb, <double *> A, &la, &b, C, &lc)
    elif scalar is complex64:
        blas.cgemm(&tb, &ta, &n, &m, &k, &a, <complex64 *> B, &lb, <complex64 *> A, &la, &b, C, &lc)
    else:
        blas.zgemm(&tb, &ta, &n, &m, &k, &a, <complex128 *> B, &lb, <complex128 *> A, &la, &b, C, &lc)


cdef void gemmt(bint lower, int transpose_a, int transpose_b, blas_int n, blas_int k, double alpha,
                const scalar *A, blas_int lda, const scalar *B, blas_int ldb,
                double beta, scalar *C, blas_int ldc) noexcept nogil:
    """tri(C) := alpha op(A) op(B) + beta C in one triangle of the square C; the other triangle is scratch.

    Halving C leaves one full block to gemm, so that the flops of the other triangle are saved.
    """
    cdef blas_int h = n // 2
    cdef Py_ssize_t a2, b2   # where rows h: of op(A) and columns h: of op(B) begin
    if n <= GEMMT_LEAF:
        gemm(transpose_a, transpose_b, n, n, k, alpha, A, lda, B, ldb, beta, C, ldc)
        return
    a2 = h if transpose_a else <Py_ssize_t> h * lda
    b2 = <Py_ssize_t> h * ldb if transpose_b else h
    gemmt(lower, transpose_a, transpose_b, h, k, alpha, A, lda, B, ldb, beta, C, ldc)
    gemmt(lower, transpose_a, transpose_b, n - h, k, alpha, A + a2, lda, B + b2, ldb,
          beta, C + <Py_ssize_t> h * ldc + h, ldc)
    if lower:
        gemm(transpose_a, transpose_b, n - h, h, k, alpha, A + a2, lda, B, ldb,
             beta, C + <Py_ssize_t> h * ldc, ldc)
    else:
        gemm(transpose_a, transpose_b, h, n - h, k, alpha, A, lda, B + b2, ldb, beta, C + h, ldc)


cdef void syrk(bint lower, bint transpose, blas_int n, blas_int k, double alpha, const scalar *A,
               blas_int lda, double beta, scalar *C, blas_int ldc) noexcept nogil:
    """tri(C) := alpha op(A) op(A)ᵀ + beta C in the named triangle of C (n, n); op(A) is (n, k)."""
    cdef char uplo = uplo_flag(lower), trans = trans_flag(not transpose)
    cdef blas_int la = leading(lda), lc = leading(ldc)
    cdef scalar a = <scalar> alpha, b = <scalar> beta
    if scalar is float:
        blas.ssyrk(&uplo, &trans, &n, &k, &a, <float *> A, &la, &b, C, &lc)
    elif scalar is double:
        blas.dsyrk(&uplo, &trans, &n, &k, &a, <double *> A, &la, &b, C, &lc)
    elif scalar is complex64:
        blas.csyrk(&uplo, &trans, &n, &k, &a, <complex64 *> A, &la, &b, C, &lc)
    else:
        blas.zsyrk(&uplo, &trans, &n, &k, &a, <complex128 *> A, &la, &b, C, &lc)


cdef void herk(bint lower, bint adjoint, blas_int n, blas_int k, double alpha, const scalar *A,
               blas_int lda, double beta, scalar *C, blas_int ldc) noexcept nogil:
    """tri(C) := alpha op(A) op(A)ᴴ + beta C in the named triangle, its diagonal real; op(A), which is A
    or Aᴴ, is (n, k); alpha and beta are real.
    """
    cdef char uplo = uplo_flag(lower), trans = trans_flag(PLAIN if adjoint else ADJOINT)
    cdef blas_int la = leading(lda), lc = leading(ldc)
    cdef float alpha32 = <float> alpha, beta32 = <float> beta
    if scalar is float:
        blas.ssyrk(&uplo, &trans, &n, &k, &alpha32, <float *> A, &la, &beta32, C, &lc)
    elif scalar is double:
        blas.dsyrk(&uplo, &trans, &n, &k, &alpha, <double *> A, &la, &beta, C, &lc)
    elif scalar is complex64:
        blas.cherk(&uplo, &trans, &n, &k, &alpha32, <complex64 *> A, &la, &beta32, C, &lc)
    else:
        blas.zherk(&uplo, &trans, &n, &k, &alpha, <complex128 *> A, &la, &beta, C, &lc)


cdef void her2k(bint lower, bint adjoint, blas_int n, blas_int k, double alpha, const scalar *A,
                blas_int lda, const scalar *B, blas_int ldb, double beta, scalar *C,
                blas_int ldc) noexcept nogil:
    """tri(C) := alpha (op(A) op(B)ᴴ + op(B) op(A)ᴴ) + beta C in the named triangle, its diagonal real;
    op(A), op(B) are (n, k); alpha and beta are real.
    """
    cdef char uplo = uplo_flag(lower), trans = trans_flag(PLAIN if adjoint else ADJOINT)
    cdef blas_int la = leading(lda), lb = leading(ldb), lc = leading(ldc)
    cdef float beta32 = <float> beta
    cdef scalar a = <scalar> alpha
    if scalar is float:
        blas.ssyr2k(&uplo, &trans, &n, &k, &a, <float *> A, &la, <float *> B, &lb, &beta32, C, &lc)
    elif scalar is double:
        blas.dsyr2k(&uplo, &trans, &n, &k, &a, <double *> A, &la, <double *> B, &lb, &beta, C, &lc)
    elif scalar is complex64:
        blas.cher2k(&uplo, &trans, &n, &k, &a, <complex64 *> A, &la, <complex64 *> B, &lb, &beta32,
                    C, &lc)
    else:
        blas.zher2k(&uplo, &trans, &n, &k, &a, <complex128 *> A, &la, <complex128 *> B, &lb, &beta,
                    C, &lc)


cdef void symm(bint rightside, bint lower, blas_int m, blas_int n, double alpha, const scalar *S,
               blas_int lds, const scalar *B, blas_int ldb, double beta, scalar *C,
               blas_int ldc) noexcept nogil:
    """C := alpha S B + beta C, or alpha B S + beta C; S symmetric, its named triangle read; C is (m, n)."""
    cdef char side = side_flag(rightside), uplo = uplo_flag(lower)
    cdef blas_int ls = leading(lds), lb = leading(ldb), lc = leading(ldc)
    cdef scalar a = <scalar> alpha, b = <scalar> beta
    if scalar is float:
        blas.ssymm(&side, &uplo, &n, &m, &a, <float *> S, &ls, <float *> B, &lb, &b, C, &lc)
    elif scalar is double:
        blas.dsymm(&side, &uplo, &n, &m, &a, <double *> S, &ls, <double *> B, &lb, &b, C, &lc)
    elif scalar is complex64:
        blas.csymm(&side, &uplo, &n, &m, &a, <complex64 *> S, &ls, <complex64 *> B, &lb, &b, C, &lc)
    else:
        blas.zsymm(&side, &uplo, &n, &m, &a, <complex128 *> S, &ls, <complex128 *> B, &lb, &b, C, &lc)


cdef void hemm(bint rightside, bint lower, blas_int m, blas_int n, double alpha, const scalar *S,
               blas_int lds, const scalar *B, blas_int ldb, double beta, scalar *C,
               blas_int ldc) noexcept nogil:
    """C := alpha S B + beta C, or alpha B S + beta C; S Hermitian, its named triangle read; C is (m, n)."""
    cdef char side = side_flag(rightside), uplo = uplo_flag(lower)
    cdef blas_int ls = leading(lds), lb = leading(ldb), lc = leading(ldc)
    cdef scalar a = <scalar> alpha, b = <scalar> beta
    if scalar is float:
        blas.ssymm(&side, &uplo, &n, &m, &a, <float *> S, &ls, <float *> B, &lb, &b, C, &lc)
    elif scalar is double:
        blas.dsymm(&side, &uplo, &n, &m, &a, <double *> S, &ls, <double *> B, &lb, &b, C, &lc)
    elif scalar is complex64:
        blas.chemm(&side, &uplo, &n, &m, &a, <complex64 *> S, &ls, <complex64 *> B, &lb, &b, C, &lc)
    else:
        blas.zhemm(&side, &uplo, &n, &m, &a, <complex128 *> S, &ls, <complex128 *> B, &lb, &b, C, &lc)


cdef void trmm(bint rightside, bint lower, int transpose, bint unit, blas_int m, blas_int n, double alpha,
               const scalar *L, blas_int ldl, scalar *B, blas_int ldb) noexcept nogil:
    """B := alpha op(L) B, or alpha B op(L); B is (m, n); `unit` takes the diagonal of L as ones."""
    cdef char side = side_flag(rightside), uplo = uplo_flag(lower)
    cdef char trans = trans_flag(transpose), diag = diag_flag(unit)
    cdef blas_int ll = leading(ldl), lb = leading(ldb)
    cdef scalar a = <scalar> alpha
    if scalar is float:
        blas.strmm(&side, &uplo, &trans, &diag, &n, &m, &a, <float *> L, &ll, B, &lb)
    elif scalar is double:
        blas.dtrmm(&side, &uplo, &trans, &diag, &n, &m, &a, <double *> L, &ll, B, &lb)
    elif scalar is complex64:
        blas.ctrmm(&side, &uplo, &trans, &diag, &n, &m, &a, <complex64 *> L, &ll, B, &lb)
    else:
        blas.ztrmm(&side, &uplo, &trans, &diag, &n, &m, &a, <complex128 *> L, &ll, B, &lb)


cdef void trsm(bint rightside, bint lower, int transpose, bint unit, blas_int m, blas_int n, double alpha,
               const scalar *L, blas_int ldl, scalar *B, blas_int ldb) noexcept nogil:
    """B := alpha op(L)⁻¹ B, or alpha B op(L)⁻¹; B is (m, n); `unit` takes the diagonal of L as ones."""
    cdef char side = side_flag(rightside), uplo = uplo_flag(lower)
    cdef char trans = trans_flag(transpose), diag = diag_flag(unit)
    cdef blas_int ll = leading(ldl), lb = leading(ldb)
    cdef scalar a = <scalar> alpha
    if scalar is double:
        if rightside and m >= TRSM_ROWS and n >= TRSM_ROWS_ORDER_LEAST and alpha != 0:
            if n > TRSM_ROWS_ORDER:
                trsm_halved(lower, transpose, unit, m, n, alpha, L, ldl, B, ldb)
                return
            if trsm_rows(lower, transpose != PLAIN, unit, m, n, alpha, L, ldl, B, ldb):
                return
    if scalar is float:
        blas.strsm(&side, &uplo, &trans, &diag, &n, &m, &a, <float *> L, &ll, B, &lb)
    elif scalar is double:
        blas.dtrsm(&side, &uplo, &trans, &diag, &n, &m, &a, <double *> L, &ll, B, &lb)
    elif scalar is complex64:
        blas.ctrsm(&side, &uplo, &trans, &diag, &n, &m, &a, <complex64 *> L, &ll, B, &lb)
    else:
        blas.ztrsm(&side, &uplo, &trans, &diag, &n, &m, &a, <complex128 *> L, &ll, B, &lb)


cdef void trsm_halved(bint lower, int transpose, bint unit, blas_int m, blas_int n, double alpha,
                      const double *L, blas_int ldl, double *B, blas_int ldb) noexcept nogil:
    """B := alpha B op(L)⁻¹, half of its columns after the other."""
    cdef blas_int h = n // 2
    cdef Py_ssize_t ld = ldl
    cdef const double *last = L + h * (ld + 1)
    cdef const double *across = L + (h * ld if lower else h)
    if lower == (transpose != PLAIN):   # op(L) is upper
        trsm(True, lower, transpose, unit, m, h, alpha, L, ldl, B, ldb)
        gemm(PLAIN, transpose, m, n - h, h, -1, B, ldb, across, ldl, alpha, B + h, ldb)
        trsm(True, lower, transpose, unit, m, n - h, 1, last, ldl, B + h, ldb)
    else:
        trsm(True, lower, transpose, unit, m, n - h, alpha, last, ldl, B + h, ldb)
        gemm(PLAIN, transpose, m, h, n - h, -1, B + h, ldb, across, ldl, alpha, B, ldb)
        trsm(True, lower, transpose, unit, m, h, 1, L, ldl, B, ldb)


cdef blas_int potri(bint lower, blas_int n, scalar *L, blas_int ldl) noexcept nogil:
    """(L Lᴴ)⁻¹ (lower) or (Rᴴ R)⁻¹ overwrites the named triangle; the diagonal of L must be real."""
    cdef char uplo = uplo_flag(lower)
    cdef blas_int ll = leading(ldl), info = 0
    if scalar is float:
        lapack.spotri(&uplo, &n, L, &ll, &info)
    elif scalar is double:
        lapack.dpotri(&uplo, &n, L, &ll, &info)
    elif scalar is complex64:
        lapack.cpotri(&uplo, &n, L, &ll, &info)
    else:
        lapack.zpotri(&uplo, &n, L, &ll, &info)
    return info


cdef blas_int syevd(bint lower, blas_int n, scalar *A, blas_int lda, void *lam, scalar *work,
                    blas_int lwork, void *rwork, blas_int lrwork, blas_int *iwork,
                    blas_int liwork) noexcept nogil:
    """A = Uᴴ diag(lam) U from the named triangle of A; U overwrites A.

    lwork = lrwork = liwork = -1 asks for the workspace. lam and rwork, which only complex types use, hold
    real numbers of the precision of A.
    """
    cdef char jobz = c"V", uplo = uplo_flag(lower)
    cdef blas_int la = leading(lda), info = 0
    if scalar is float:
        lapack.ssyevd(&jobz, &uplo, &n, A, &la, <float *> lam, work, &lwork, iwork, &liwork, &info)
    elif scalar is double:
        lapack.dsyevd(&jobz, &uplo, &n, A, &la, <double *> lam, work, &lwork, iwork, &liwork, &info)
    elif scalar is complex64:
        lapack.cheevd(&jobz, &uplo, &n, A, &la, <float *> lam, work, &lwork, <float *> rwork, &lrwork,
                      iwork, &liwork, &info)
    else:
        lapack.zheevd(&jobz, &uplo, &n, A, &la, <double *> lam, work, &lwork, <double *> rwork, &lrwork,
                      iwork, &liwork, &info)
    return info


cdef blas_int gesdd(blas_int m, blas_int n, scalar *At, void *s, scalar *Ut, scalar *V,
                    scalar *work, blas_int lwork, void *rwork, blas_int *iwork) noexcept nogil:
    """A = U diag(s) Vᵀ, A of shape (m, n), k = min(m, n): takes Aᵀ (n, m), which is lost, and gives Uᵀ (k, m)
    and V (n, k), neither conjugated. lwork = -1 asks for the workspace; iwork has 8k entries. s and rwork,
    which only complex types use, hold real numbers of the precision of A.

    It is A itself that LAPACK factors, so that singular vectors have the signs which other libraries give
    them: those of Aᵀ, the flip of the table, would differ.
    """
    cdef char jobz = c"S"
    cdef blas_int k = m if m < n else n, info = 0
    cdef blas_int lm = leading(m), lk = leading(k)
    if scalar is float:
        lapack.sgesdd(&jobz, &m, &n, At, &lm, <float *> s, Ut, &lm, V, &lk, work, &lwork, iwork, &info)
    elif scalar is double:
        lapack.dgesdd(&jobz, &m, &n, At, &lm, <double *> s, Ut, &lm, V, &lk, work, &lwork, iwork, &info)
    elif scalar is complex64:
        lapack.cgesdd(&jobz, &m, &n, At, &lm, <float *> s, Ut, &lm, V, &lk, work, &lwork, <float *> rwork,
                      iwork, &info)
    else:
        lapack.zgesdd(&jobz, &m, &n, At, &lm, <double *> s, Ut, &lm, V, &lk, work, &lwork, <double *> rwork,
                      iwork, &info)
    return info


cdef blas_int getrf(blas_int n, scalar *A, blas_int lda, blas_int *piv) noexcept nogil:
    """A = L U P, U unit upper: L and U overwrite A; column i was exchanged with column piv[i] - 1,
    in this order.
    """
    cdef blas_int la = leading(lda), info = 0
    if scalar is float:
        lapack.sgetrf(&n, &n, A, &la, piv, &info)
    elif scalar is double:
        lapack.dgetrf(&n, &n, A, &la, piv, &info)
    elif scalar is complex64:
        lapack.cgetrf(&n, &n, A, &la, piv, &info)
    else:
        lapack.zgetrf(&n, &n, A, &la, piv, &info)
    return info


cdef blas_int gbtrf(blas_int n, blas_int below, blas_int above, scalar *A, blas_int lda,
                    blas_int *piv) noexcept nogil:
    """The same of a band, for gbtrs: a_ij is A[i * lda + below + above + j - i], and each row has room for
    `above` more numbers at its end.
    """
    cdef blas_int la = leading(lda), info = 0
    if scalar is float:
        lapack.sgbtrf(&n, &n, &above, &below, A, &la, piv, &info)
    elif scalar is double:
        lapack.dgbtrf(&n, &n, &above, &below, A, &la, piv, &info)
    elif scalar is complex64:
        lapack.cgbtrf(&n, &n, &above, &below, A, &la, piv, &info)
    else:
        lapack.zgbtrf(&n, &n, &above, &below, A, &la, piv, &info)
    return info


cdef void gbtrs(bint transpose, blas_int n, blas_int below, blas_int above, scalar *LU, blas_int ldlu,
                blas_int *piv, scalar *x) noexcept nogil:
    """x := A⁻¹ x, or A⁻ᵀ x, by gbtrf's factors."""
    cdef blas_int la = leading(ldlu), one = 1, info = 0
    cdef char flag = b"N" if transpose else b"T"
    if scalar is float:
        lapack.sgbtrs(&flag, &n, &above, &below, &one, LU, &la, piv, x, &n, &info)
    elif scalar is double:
        lapack.dgbtrs(&flag, &n, &above, &below, &one, LU, &la, piv, x, &n, &info)
    elif scalar is complex64:
        lapack.cgbtrs(&flag, &n, &above, &below, &one, LU, &la, piv, x, &n, &info)
    else:
        lapack.zgbtrs(&flag, &n, &above, &below, &one, LU, &la, piv, x, &n, &info)
