"""General and symmetric products. Formulas: Seeger et al. (2017), section 4.2, "gemm2" and "syrk"."""

cimport numpy as cnp

from lindiff.kernels cimport rowmajor
from lindiff.kernels.batch cimport (
    Batch, enter, fresh, misfit, own, read, run, same_matrix, start, transposition,
)
from lindiff.kernels.rowmajor cimport ADJOINT, PLAIN, TRANSPOSE
from lindiff.kernels.scalar cimport complex64, complex128, conj, conj_if, conjugate_all, times_real
from lindiff.kernels.sizes cimport GEMM_LOOPS
from lindiff.kernels.triangles cimport mirror, mirror_symmetric

cnp.import_array()


# ---- one matrix ----------------------------------------------------------------------------------

cdef void outer_small(Py_ssize_t m, Py_ssize_t n, scalar alpha, const scalar *a, Py_ssize_t ia,
                      bint conjugate_a, const scalar *b, Py_ssize_t jb, bint conjugate_b, scalar *C,
                      Py_ssize_t ldc) noexcept nogil:
    """C := alpha a bᵀ of two vectors, their entries ia and jb apart, or of their conjugates."""
    cdef Py_ssize_t i, j
    cdef scalar x
    for i in range(m):
        x = times_real(conj_if(conjugate_a, a[i * ia]), alpha)
        if jb == 1 and not conjugate_b:
            for j in range(n):
                C[i * ldc + j] = x * b[j]
        else:
            for j in range(n):
                C[i * ldc + j] = x * conj_if(conjugate_b, b[j * jb])


cdef void gemm_small(Py_ssize_t m, Py_ssize_t n, Py_ssize_t k, double alpha, const scalar *A,
                     Py_ssize_t ia, Py_ssize_t pa, bint conjugate_a, const scalar *B, Py_ssize_t pb,
                     Py_ssize_t jb, bint conjugate_b, double beta, scalar *C, Py_ssize_t ldc) noexcept nogil:
    """C := alpha A B + beta C; a_ip is A[i * ia + p * pa], b_pj is B[p * pb + j * jb], or their conjugates;
    beta = 0 does not read C.
    """
    cdef Py_ssize_t i, j, p
    cdef scalar s, of_product = <scalar> alpha, of_c = <scalar> beta
    if k == 1 and beta == 0:
        outer_small(m, n, of_product, A, ia, conjugate_a, B, jb, conjugate_b, C, ldc)
        return
    for i in range(m):
        for j in range(n):
            s = 0
            for p in range(k):
                s += conj_if(conjugate_a, A[i * ia + p * pa]) * conj_if(conjugate_b, B[p * pb + j * jb])
            s = times_real(s, of_product)
            C[i * ldc + j] = s if beta == 0 else s + times_real(C[i * ldc + j], of_c)


cdef void gemm_one(int transpose_a, int transpose_b, blas_int m, blas_int n, blas_int k, double alpha,
                   const scalar *A, blas_int lda, const scalar *B, blas_int ldb,
                   double beta, scalar *C, blas_int ldc) noexcept nogil:
    """C := alpha t(A) t(B) + beta C, C of shape (m, n), k the inner dimension; alpha and beta are real."""
    if <Py_ssize_t> m * n * k > GEMM_LOOPS:
        rowmajor.gemm(transpose_a, transpose_b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc)
    else:
        gemm_small(m, n, k, alpha, A, 1 if transpose_a else lda, lda if transpose_a else 1,
                   transpose_a == ADJOINT, B, 1 if transpose_b else ldb, ldb if transpose_b else 1,
                   transpose_b == ADJOINT, beta, C, ldc)


cdef void syrk_one(int transpose, blas_int n, blas_int k, double alpha, const scalar *A, blas_int lda,
                   scalar *B, blas_int ldb) noexcept nogil:
    """B := alpha A Aᵀ, alpha Aᵀ A or alpha Aᴴ A; both triangles. t(A) is (n, k)."""
    if <Py_ssize_t> n * n * k <= GEMM_LOOPS:
        gemm_one(transpose, PLAIN if transpose else TRANSPOSE, n, n, k, alpha, A, lda, A, lda,
                 0, B, ldb)
    elif transpose == ADJOINT:
        rowmajor.herk(True, True, n, k, alpha, A, lda, 0, B, ldb)
        mirror(True, n, 1, B, ldb)
    else:
        rowmajor.syrk(True, transpose, n, k, alpha, A, lda, 0, B, ldb)
        mirror_symmetric(True, n, B, ldb)


cdef void syrk_pullback_one(int transpose, blas_int n, blas_int k, double alpha,
                            const scalar *A, blas_int lda, const scalar *B_bar, blas_int ldb,
                            scalar *S, double beta, scalar *A_bar, blas_int ldab) noexcept nogil:
    """A_bar = alpha (B_bar + B_barᵀ) Ā + beta A_bar, alpha Ā (B_bar + B_barᵀ) + ..., or
    alpha A (B_bar + B_barᴴ) + ...

    S is a workspace of n * n entries. In the first two cases it holds the conjugate of the sum, and the
    product is conjugated in the end: no other memory is needed.
    """
    cdef Py_ssize_t i, j
    cdef bint hermitian = transpose == ADJOINT
    cdef blas_int rows = k if transpose else n, columns = n if transpose else k
    for i in range(n):
        for j in range(i + 1):
            S[i * n + j] = conj_if(not hermitian, B_bar[i * <Py_ssize_t> ldb + j]) \
                + conj(B_bar[j * <Py_ssize_t> ldb + i])
    if not hermitian and beta != 0:
        conjugate_all(rows, columns, A_bar, ldab)
    if <Py_ssize_t> n * n * k > GEMM_LOOPS and hermitian:
        rowmajor.hemm(True, True, rows, columns, alpha, S, n, A, lda, beta, A_bar, ldab)
    elif <Py_ssize_t> n * n * k > GEMM_LOOPS:
        rowmajor.symm(transpose, True, rows, columns, alpha, S, n, A, lda, beta, A_bar, ldab)
    else:
        if hermitian:
            mirror(True, n, 1, S, n)
        else:
            mirror_symmetric(True, n, S, n)
        if transpose:
            gemm_one(PLAIN, PLAIN, k, n, n, alpha, A, lda, S, n, beta, A_bar, ldab)
        else:
            gemm_one(PLAIN, PLAIN, n, k, n, alpha, S, n, A, lda, beta, A_bar, ldab)
    if not hermitian:
        conjugate_all(rows, columns, A_bar, ldab)


# ---- arrays --------------------------------------------------------------------------------------

cdef blas_int gemm_item(scalar *A, Batch *b) noexcept nogil:
    gemm_one(b.transpose, b.transpose_b, b.m, b.n, b.k, b.alpha, A, b.m if b.transpose else b.k,
             <scalar *> b.item[1], b.k if b.transpose_b else b.n,
             b.beta, <scalar *> b.item[2], b.n)
    return 0


cdef int fit_product(Batch *b, cnp.ndarray A, cnp.ndarray B, str operator) except -1:
    """b.m, b.n, b.k := the shape of t(A) t(B) and the inner dimension."""
    cdef int i = cnp.PyArray_NDIM(A) - 2, j = cnp.PyArray_NDIM(B) - 2
    b.m = <blas_int> A.shape[i + 1 if b.transpose else i]
    b.k = <blas_int> A.shape[i if b.transpose else i + 1]
    b.n = <blas_int> B.shape[j if b.transpose_b else j + 1]
    if b.k != B.shape[j + 1 if b.transpose_b else j]:
        raise misfit(operator, "A", A, "B", B)
    return 0


def gemm2(A, B, transpose_a=False, transpose_b=False, double alpha=1.0):
    """Matrix product alpha t(A) t(B).

    Parameters
    ----------
    A : (..., m, k) array_like, or (..., k, m) if `transpose_a`
    B : (..., k, n) array_like, or (..., n, k) if `transpose_b`
    transpose_a, transpose_b : bool or "C"
        t(X) is X, Xᵀ, or Xᴴ for "C".
    alpha : float

    Returns
    -------
    C : (..., m, n) ndarray
        Leading axes are broadcast.

    Notes
    -----
    2mnk flops, no memory but the result. Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> gemm2([[1., 2.]], [[3., 4.]], transpose_b=True)
    array([[11.]])
    """
    cdef Batch b
    start(&b)
    b.transpose = transposition(transpose_a, "gemm2", "transpose_a")
    b.transpose_b = transposition(transpose_b, "gemm2", "transpose_b")
    b.alpha, b.beta = alpha, 0
    cdef cnp.ndarray a = enter(&b, A, "gemm2", "A"), y = enter(&b, B, "gemm2", "B"), c
    fit_product(&b, a, y, "gemm2")
    a = read(&b, a)
    y = read(&b, y)
    c = fresh(&b, b.m, b.n)
    run(&b, gemm_item[float], gemm_item[double], gemm_item[complex64], gemm_item[complex128])
    return c


def gemm(A, B, C, transpose_a=False, transpose_b=False, double alpha=1.0, double beta=1.0,
         bint overwrite_c=False):
    """Matrix product added to a matrix, alpha t(A) t(B) + beta C.

    Parameters
    ----------
    A : (..., m, k) array_like, or (..., k, m) if `transpose_a`
    B : (..., k, n) array_like, or (..., n, k) if `transpose_b`
    C : (..., m, n) array_like
    transpose_a, transpose_b : bool or "C"
        t(X) is X, Xᵀ, or Xᴴ for "C".
    alpha, beta : float
        With beta = 0, C is not read.
    overwrite_c : bool
        The result may overwrite C.

    Returns
    -------
    C : (..., m, n) ndarray
        Leading axes are broadcast.

    Notes
    -----
    2mnk flops, no memory but the result.

    Examples
    --------
    >>> gemm([[1., 2.]], [[3.], [4.]], [[1.]])
    array([[12.]])
    """
    cdef Batch b
    start(&b)
    b.transpose = transposition(transpose_a, "gemm", "transpose_a")
    b.transpose_b = transposition(transpose_b, "gemm", "transpose_b")
    b.alpha, b.beta = alpha, beta
    cdef cnp.ndarray a = enter(&b, A, "gemm", "A")
    cdef cnp.ndarray y = enter(&b, B, "gemm", "B")
    cdef cnp.ndarray c = enter(&b, C, "gemm", "C")
    cdef int ndim = cnp.PyArray_NDIM(c)
    fit_product(&b, a, y, "gemm")
    if c.shape[ndim - 2] != b.m or c.shape[ndim - 1] != b.n:
        raise ValueError(
            f"gemm: C of shape {(<object> c).shape} does not fit a product of shape ({b.m}, {b.n})"
        )
    a = read(&b, a)
    y = read(&b, y)
    c = own(&b, c, overwrite_c)
    run(&b, gemm_item[float], gemm_item[double], gemm_item[complex64], gemm_item[complex128])
    return c


cdef blas_int syrk_item(scalar *A, Batch *b) noexcept nogil:
    syrk_one(b.transpose, b.n, b.k, b.alpha, A, b.n if b.transpose else b.k,
             <scalar *> b.item[1], b.n)
    return 0


cdef inline void outer_shape(Batch *b, cnp.ndarray A) noexcept:
    """b.n, b.k := the shape of t(A)."""
    cdef int ndim = cnp.PyArray_NDIM(A)
    b.n = <blas_int> A.shape[ndim - 1 if b.transpose else ndim - 2]
    b.k = <blas_int> A.shape[ndim - 2 if b.transpose else ndim - 1]


def syrk(A, transpose=False, double alpha=1.0):
    """Product of a matrix with its own transpose, alpha A Aᵀ, alpha Aᵀ A or alpha Aᴴ A; the full matrix.

    Parameters
    ----------
    A : (..., n, k) array_like, or (..., k, n) if `transpose`
    transpose : bool or "C"
        False: A Aᵀ; True: Aᵀ A; "C": Aᴴ A.
    alpha : float

    Returns
    -------
    B : (..., n, n) ndarray

    Notes
    -----
    n²k flops, half of a general product, no memory but the result. Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> syrk([[1., 2.], [3., 4.]])
    array([[ 5., 11.],
           [11., 25.]])
    """
    cdef Batch b
    start(&b)
    b.alpha, b.transpose = alpha, transposition(transpose, "syrk")
    cdef cnp.ndarray a = enter(&b, A, "syrk", "A"), y
    outer_shape(&b, a)
    a = read(&b, a)
    y = fresh(&b, b.n, b.n)
    run(&b, syrk_item[float], syrk_item[double], syrk_item[complex64], syrk_item[complex128])
    return y


cdef blas_int syrk_pullback_item(scalar *A, Batch *b) noexcept nogil:
    cdef blas_int lda = b.n if b.transpose else b.k
    syrk_pullback_one(b.transpose, b.n, b.k, b.alpha, A, lda, <scalar *> b.item[1], b.n,
                      <scalar *> b.work, b.beta, <scalar *> b.item[2], lda)
    return 0


def syrk_pullback(A, B_bar, transpose=False, double alpha=1.0, A_bar=None, bint overwrite_a_bar=False):
    """Pullback of `syrk`: A_bar = 2 alpha sym(B_bar) A, or 2 alpha A sym(B_bar).

    For complex A: alpha (B_bar + B_barᵀ) Ā, alpha Ā (B_bar + B_barᵀ), or alpha A (B_bar + B_barᴴ).

    Parameters
    ----------
    A : array_like
        As given to `syrk`.
    B_bar : (..., n, n) array_like
        Need not be symmetric.
    transpose, alpha :
        As given to `syrk`.
    A_bar : array_like, of the shape of A, optional
        Added to the result.
    overwrite_a_bar : bool

    Returns
    -------
    A_bar : ndarray, of the shape of A

    Notes
    -----
    2n²k flops, one temporary n × n matrix. Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> syrk_pullback([[1.], [2.]], [[1., 0.], [0., 1.]])
    array([[2.],
           [4.]])
    """
    cdef Batch b
    start(&b)
    b.alpha, b.transpose = alpha, transposition(transpose, "syrk_pullback")
    cdef cnp.ndarray a = enter(&b, A, "syrk_pullback", "A")
    cdef cnp.ndarray bb = enter(&b, B_bar, "syrk_pullback", "B_bar")
    cdef cnp.ndarray a_bar = None if A_bar is None else enter(&b, A_bar, "syrk_pullback", "A_bar")
    cdef int ndim = cnp.PyArray_NDIM(bb)
    outer_shape(&b, a)
    if bb.shape[ndim - 2] != b.n or bb.shape[ndim - 1] != b.n:
        raise misfit("syrk_pullback", "A", a, "B_bar", bb)
    if a_bar is not None:
        same_matrix(a, a_bar, "syrk_pullback", "A", "A_bar")
    a = read(&b, a)
    bb = read(&b, bb)
    b.beta = a_bar is not None
    if a_bar is None:
        a_bar = fresh(&b, b.k if b.transpose else b.n, b.n if b.transpose else b.k)
    else:
        a_bar = own(&b, a_bar, overwrite_a_bar)
    b.work_size = <Py_ssize_t> b.n * b.n
    run(&b, syrk_pullback_item[float], syrk_pullback_item[double],
        syrk_pullback_item[complex64], syrk_pullback_item[complex128])
    return a_bar
