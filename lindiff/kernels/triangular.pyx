"""Products and solves with a triangular matrix, forward and backward.

Formulas: Seeger et al. (2017), section 4.2 and appendix, "trmm" and "trsm".
"""

cimport numpy as cnp

from lindiff.kernels cimport rowmajor
from lindiff.kernels.batch cimport (
    Batch, enter, fresh, misfit, own, place, read, run, same_matrix, square, start, transposition,
)
from lindiff.kernels.products cimport gemm_one
from lindiff.kernels.rowmajor cimport ADJOINT, CONJUGATE, PLAIN, TRANSPOSE
from lindiff.kernels.scalar cimport complex64, complex128, conj_if, conjugate_all, divide_all, times_real
from lindiff.kernels.sizes cimport TRSM_LOOPS, TRSM_LOOPS_ENTRIES, TRSV_LOOPS
from lindiff.kernels.triangles cimport keep_triangle, zero_pivot

from numpy.linalg import LinAlgError

cnp.import_array()


# ---- one matrix ----------------------------------------------------------------------------------
# The small loops see op(L) through a row and a column stride, so that one loop serves L and Lᵀ, L̄ and Lᴴ.
# `transpose` is PLAIN, TRANSPOSE, ADJOINT or CONJUGATE; alpha is real.

cdef void solve_small(bint lower, Py_ssize_t m, Py_ssize_t n, const scalar *L, Py_ssize_t rs, Py_ssize_t cs,
                      bint conjugate, scalar *B, Py_ssize_t ib, Py_ssize_t jb, bint unit) noexcept nogil:
    """B := L⁻¹ B by substitution; l_ij is L[i * rs + j * cs] or its conjugate, b_ij is
    B[i * ib + j * jb].
    """
    cdef Py_ssize_t step, i, j, c
    cdef scalar l
    for step in range(m):
        i = step if lower else m - 1 - step
        for j in range(0 if lower else i + 1, i if lower else m):
            l = conj_if(conjugate, L[i * rs + j * cs])
            for c in range(n):
                B[i * ib + c * jb] -= l * B[j * ib + c * jb]
        if not unit:
            divide_all(n, B + i * ib, jb, conj_if(conjugate, L[i * (rs + cs)]))


cdef void solve_vector(bint lower, bint transposed, Py_ssize_t m, const scalar *L, Py_ssize_t ld,
                       bint conjugate, scalar *b, Py_ssize_t step, bint unit) noexcept nogil:
    """b := L⁻¹ b or L⁻ᵀ b for the named triangle L, conjugated or not; reads L row by row."""
    cdef Py_ssize_t k, i, j
    cdef scalar x, y
    for k in range(m):
        i = k if lower != transposed else m - 1 - k
        x = b[i * step]
        if not transposed:
            y = 0
            for j in range(0 if lower else i + 1, i if lower else m):
                y += conj_if(conjugate, L[i * ld + j]) * b[j * step]
            x -= y
        if not unit:
            divide_all(1, &x, 1, conj_if(conjugate, L[i * (ld + 1)]))
        b[i * step] = x
        if transposed:
            for j in range(0 if lower else i + 1, i if lower else m):
                b[j * step] -= conj_if(conjugate, L[i * ld + j]) * x


cdef void multiply_small(bint lower, Py_ssize_t m, Py_ssize_t n, const scalar *L, Py_ssize_t rs,
                         Py_ssize_t cs, bint conjugate, scalar *B, Py_ssize_t ib,
                         Py_ssize_t jb) noexcept nogil:
    """B := L B, each row after all rows that still need its old value."""
    cdef Py_ssize_t step, i, j, c
    cdef scalar l
    for step in range(m):
        i = m - 1 - step if lower else step
        l = conj_if(conjugate, L[i * (rs + cs)])
        for c in range(n):
            B[i * ib + c * jb] *= l
        for j in range(0 if lower else i + 1, i if lower else m):
            l = conj_if(conjugate, L[i * rs + j * cs])
            for c in range(n):
                B[i * ib + c * jb] += l * B[j * ib + c * jb]


cdef void scale_all(blas_int m, blas_int n, double alpha, scalar *B, blas_int ldb) noexcept nogil:
    cdef Py_ssize_t i, j, ld = ldb
    cdef scalar a = <scalar> alpha
    if alpha != 1:
        for i in range(m):
            for j in range(n):
                B[i * ld + j] = times_real(B[i * ld + j], a)


cdef int adjoint_of(int transpose) noexcept nogil:
    """The flag of t(L)ᴴ."""
    if transpose == PLAIN or transpose == TRANSPOSE:
        return ADJOINT if transpose == PLAIN else CONJUGATE
    return PLAIN if transpose == ADJOINT else TRANSPOSE


cdef inline bint is_small(bint rightside, blas_int m, blas_int n) noexcept nogil:
    return (n if rightside else m) <= TRSM_LOOPS and <Py_ssize_t> m * n <= TRSM_LOOPS_ENTRIES


cdef void trsm_one(bint rightside, bint lower, int transpose, bint unit, blas_int m, blas_int n,
                   double alpha, const scalar *L, blas_int ldl, scalar *B,
                   blas_int ldb) noexcept nogil:
    """B := alpha t(L)⁻¹ B, or alpha B t(L)⁻¹; B is (m, n)."""
    cdef bint conjugate = transpose == ADJOINT or transpose == CONJUGATE
    cdef bint transposed = transpose == ADJOINT or transpose == TRANSPOSE
    if (m if rightside else n) == 1 and (n if rightside else m) <= TRSV_LOOPS:
        scale_all(m, n, alpha, B, ldb)
        solve_vector(lower, transposed != rightside, n if rightside else m, L, ldl, conjugate,
                     B, 1 if rightside else ldb, unit)
        return
    if not is_small(rightside, m, n):
        if transpose == CONJUGATE:   # the conjugate of L⁻¹ B̄
            conjugate_all(m, n, B, ldb)
            rowmajor.trsm(rightside, lower, PLAIN, unit, m, n, alpha, L, ldl, B, ldb)
            conjugate_all(m, n, B, ldb)
        else:
            rowmajor.trsm(rightside, lower, transpose, unit, m, n, alpha, L, ldl, B, ldb)
        return
    scale_all(m, n, alpha, B, ldb)
    if rightside:   # B t(L)⁻¹ is the transpose of t(L)⁻ᵀ Bᵀ
        if transposed:
            solve_small(lower, n, m, L, ldl, 1, conjugate, B, 1, ldb, unit)
        else:
            solve_small(not lower, n, m, L, 1, ldl, conjugate, B, 1, ldb, unit)
    elif transposed:
        solve_small(not lower, m, n, L, 1, ldl, conjugate, B, ldb, 1, unit)
    else:
        solve_small(lower, m, n, L, ldl, 1, conjugate, B, ldb, 1, unit)


cdef void trmm_one(bint rightside, bint lower, int transpose, blas_int m, blas_int n, double alpha,
                   const scalar *L, blas_int ldl, scalar *B, blas_int ldb) noexcept nogil:
    """B := alpha t(L) B, or alpha B t(L); B is (m, n)."""
    cdef bint conjugate = transpose == ADJOINT or transpose == CONJUGATE
    cdef bint transposed = transpose == ADJOINT or transpose == TRANSPOSE
    if not is_small(rightside, m, n):
        if transpose == CONJUGATE:
            conjugate_all(m, n, B, ldb)
            rowmajor.trmm(rightside, lower, PLAIN, False, m, n, alpha, L, ldl, B, ldb)
            conjugate_all(m, n, B, ldb)
        else:
            rowmajor.trmm(rightside, lower, transpose, False, m, n, alpha, L, ldl, B, ldb)
        return
    scale_all(m, n, alpha, B, ldb)
    if rightside:
        if transposed:
            multiply_small(lower, n, m, L, ldl, 1, conjugate, B, 1, ldb)
        else:
            multiply_small(not lower, n, m, L, 1, ldl, conjugate, B, 1, ldb)
    elif transposed:
        multiply_small(not lower, m, n, L, 1, ldl, conjugate, B, ldb, 1)
    else:
        multiply_small(lower, m, n, L, ldl, 1, conjugate, B, ldb, 1)


cdef void outer_triangle(bint rightside, bint lower, int transpose, blas_int m, blas_int n, double alpha,
                         const scalar *Y, blas_int ldy, const scalar *X, blas_int ldx,
                         scalar *L_bar, blas_int ldlb) noexcept nogil:
    """L_bar := alpha tri(Y Xᴴ), tri(X Yᴴ), tri(Xᴴ Y), tri(Yᴴ X) for t(L) X, t(L)ᴴ X, X L, X Lᴴ: cotangent Y
    against X; for Lᵀ the conjugate of what it is for Lᴴ.
    """
    cdef blas_int q = n if rightside else m, inner = m if rightside else n
    if rightside == (transpose != PLAIN):
        tri_product(lower, rightside, q, inner, alpha, Y, ldy, X, ldx, L_bar, ldlb)
    else:
        tri_product(lower, rightside, q, inner, alpha, X, ldx, Y, ldy, L_bar, ldlb)
    if transpose == TRANSPOSE:
        conjugate_all(q, q, L_bar, ldlb)


cdef void tri_product(bint lower, bint adjoint, blas_int n, blas_int k, double alpha,
                      const scalar *A, blas_int lda, const scalar *B, blas_int ldb,
                      scalar *C, blas_int ldc) noexcept nogil:
    """C := alpha tri(A Bᴴ), or alpha tri(Aᴴ B) if `adjoint`."""
    cdef int of_a = ADJOINT if adjoint else PLAIN, of_b = PLAIN if adjoint else ADJOINT
    if n <= TRSM_LOOPS:
        gemm_one(of_a, of_b, n, n, k, alpha, A, lda, B, ldb, 0, C, ldc)
    else:
        rowmajor.gemmt(lower, of_a, of_b, n, k, alpha, A, lda, B, ldb, 0, C, ldc)
    keep_triangle(lower, n, C, ldc)


cdef void trmm_pullback_one(bint rightside, bint lower, int transpose, blas_int m, blas_int n,
                            double alpha, const scalar *L, blas_int ldl, const scalar *A,
                            blas_int lda, scalar *B_bar, blas_int ldb, scalar *L_bar,
                            blas_int ldlb) noexcept nogil:
    """L_bar = alpha tri(B_bar Aᴴ), A_bar = alpha t(L)ᴴ B_bar, and the other cases;
    A_bar overwrites B_bar.
    """
    outer_triangle(rightside, lower, transpose, m, n, alpha, B_bar, ldb, A, lda, L_bar, ldlb)
    trmm_one(rightside, lower, adjoint_of(transpose), m, n, alpha, L, ldl, B_bar, ldb)


cdef void trsm_pullback_one(bint rightside, bint lower, int transpose, blas_int m, blas_int n,
                            double alpha, const scalar *L, blas_int ldl, const scalar *B,
                            blas_int ldb, scalar *B_bar, blas_int ldbb, scalar *L_bar,
                            blas_int ldlb) noexcept nogil:
    """A_bar = alpha t(L)⁻ᴴ B_bar, L_bar = -tri(t(L)⁻ᴴ B_bar Bᴴ), and the other cases.

    A_bar overwrites B_bar; L_bar may be L itself. L_bar is formed before alpha is multiplied in: alpha may
    be 0.
    """
    trsm_one(rightside, lower, adjoint_of(transpose), False, m, n, 1, L, ldl, B_bar, ldbb)
    outer_triangle(rightside, lower, transpose, m, n, -1, B_bar, ldbb, B, ldb, L_bar, ldlb)
    scale_all(m, n, alpha, B_bar, ldbb)


# ---- arrays --------------------------------------------------------------------------------------

cdef int fit_triangle(Batch *b, cnp.ndarray L, cnp.ndarray A, str operator, str left, str right) except -1:
    """b.m, b.n := the shape of A, whose rows (or columns, on the right side) L must fit."""
    cdef int ndim = cnp.PyArray_NDIM(A)
    cdef blas_int order = b.n
    b.m = <blas_int> A.shape[ndim - 2]
    b.n = <blas_int> A.shape[ndim - 1]
    if order != (b.n if b.rightside else b.m):
        raise misfit(operator, left, L, right, A)
    return 0


cdef inline void options(Batch *b, int transpose, bint rightside, bint lower, double alpha) noexcept:
    b.transpose, b.rightside, b.lower, b.alpha = transpose, rightside, lower, alpha


cdef blas_int trmm_item(scalar *L, Batch *b) noexcept nogil:
    trmm_one(b.rightside, b.lower, b.transpose, b.m, b.n, b.alpha,
             L, b.n if b.rightside else b.m, <scalar *> b.item[1], b.n)
    return 0


def trmm(L, A, transpose=False, bint rightside=False, bint lower=True, double alpha=1.0,
         bint overwrite_a=False):
    """Product with a triangular matrix, B = alpha t(L) A or alpha A t(L).

    Parameters
    ----------
    L : (..., m, m) array_like, or (..., n, n) on the right side
        Only the triangle named by `lower` is read.
    A : (..., m, n) array_like
    transpose : bool or "C"
        t(L) is L, Lᵀ, or Lᴴ for "C".
    rightside : bool
        L stands on the right.
    lower : bool
    alpha : float
    overwrite_a : bool
        B may overwrite A.

    Returns
    -------
    B : (..., m, n) ndarray
        Leading axes are broadcast.

    Notes
    -----
    m²n flops (mn² on the right side), no memory but the result. Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> trmm([[2., 0.], [1., 3.]], [[1.], [1.]])
    array([[2.],
           [4.]])
    """
    cdef Batch b
    start(&b)
    options(&b, transposition(transpose, "trmm"), rightside, lower, alpha)
    cdef cnp.ndarray l = square(&b, L, "trmm", "L"), a = enter(&b, A, "trmm", "A")
    fit_triangle(&b, l, a, "trmm", "L", "A")
    l = read(&b, l)
    a = own(&b, a, overwrite_a)
    run(&b, trmm_item[float], trmm_item[double], trmm_item[complex64], trmm_item[complex128])
    return a


cdef blas_int trsm_item(scalar *L, Batch *b) noexcept nogil:
    cdef blas_int order = b.n if b.rightside else b.m
    cdef blas_int info = zero_pivot(order, L, order)
    if info == 0:
        trsm_one(b.rightside, b.lower, b.transpose, False, b.m, b.n, b.alpha,
                 L, order, <scalar *> b.item[1], b.n)
    return info


cdef object singular_triangle(Batch *b, str operator):
    return LinAlgError(f"{operator}: singular matrix, entry {b.info - 1} of the diagonal is zero{place(b)}")


def trsm(L, A, transpose=False, bint rightside=False, bint lower=True, double alpha=1.0,
         bint overwrite_a=False):
    """Solve with a triangular matrix, B = alpha t(L)⁻¹ A or alpha A t(L)⁻¹.

    Parameters
    ----------
    L : (..., m, m) array_like, or (..., n, n) on the right side
        Only the triangle named by `lower` is read.
    A : (..., m, n) array_like
    transpose : bool or "C"
        t(L) is L, Lᵀ, or Lᴴ for "C".
    rightside : bool
        L stands on the right.
    lower : bool
    alpha : float
    overwrite_a : bool
        B may overwrite A.

    Returns
    -------
    B : (..., m, n) ndarray
        Leading axes are broadcast.

    Raises
    ------
    numpy.linalg.LinAlgError
        If an entry on the diagonal is zero.

    Notes
    -----
    m²n flops (mn² on the right side), no memory but the result. Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> trsm([[2., 0.], [1., 3.]], [[2.], [4.]])
    array([[1.],
           [1.]])
    """
    cdef Batch b
    start(&b)
    options(&b, transposition(transpose, "trsm"), rightside, lower, alpha)
    cdef cnp.ndarray l = square(&b, L, "trsm", "L"), a = enter(&b, A, "trsm", "A")
    fit_triangle(&b, l, a, "trsm", "L", "A")
    l = read(&b, l)
    a = own(&b, a, overwrite_a)
    if run(&b, trsm_item[float], trsm_item[double], trsm_item[complex64], trsm_item[complex128]):
        raise singular_triangle(&b, "trsm")
    return a


cdef blas_int trmm_pullback_item(scalar *L, Batch *b) noexcept nogil:
    cdef blas_int order = b.n if b.rightside else b.m
    trmm_pullback_one(b.rightside, b.lower, b.transpose, b.m, b.n, b.alpha, L, order,
                      <scalar *> b.item[1], b.n, <scalar *> b.item[2], b.n, <scalar *> b.item[3], order)
    return 0


def trmm_pullback(L, A, B_bar, transpose=False, bint rightside=False, bint lower=True, double alpha=1.0,
                  bint overwrite_b_bar=False):
    """Pullback of `trmm`: (L_bar, A_bar), L_bar triangular like L.

    For B = LA: A_bar = Lᴴ B_bar, L_bar = tril(B_bar Aᴴ); the other cases alike. A_bar may overwrite
    B_bar. If L or A was broadcast, its cotangent has the full batch shape; the caller sums.

    Parameters
    ----------
    L, A : array_like
        As given to `trmm`.
    B_bar : (..., m, n) array_like
    transpose, rightside, lower, alpha :
        As given to `trmm`.
    overwrite_b_bar : bool

    Returns
    -------
    L_bar, A_bar : ndarray

    Notes
    -----
    2m²n flops (2mn² on the right side), half of a dense product for each, no memory but the results.
    Seeger et al. (2017), appendix, "trmm".

    Examples
    --------
    >>> L_bar, A_bar = trmm_pullback([[2., 0.], [1., 3.]], [[1.], [1.]], [[1.], [0.]])
    >>> L_bar
    array([[1., 0.],
           [0., 0.]])
    """
    cdef Batch b
    start(&b)
    options(&b, transposition(transpose, "trmm_pullback"), rightside, lower, alpha)
    cdef cnp.ndarray l = square(&b, L, "trmm_pullback", "L")
    cdef cnp.ndarray a = enter(&b, A, "trmm_pullback", "A"), bb = enter(&b, B_bar, "trmm_pullback", "B_bar")
    cdef cnp.ndarray l_bar
    fit_triangle(&b, l, a, "trmm_pullback", "L", "A")
    same_matrix(a, bb, "trmm_pullback", "A", "B_bar")
    l = read(&b, l)
    a = read(&b, a)
    bb = own(&b, bb, overwrite_b_bar)
    l_bar = fresh(&b, b.n if rightside else b.m, b.n if rightside else b.m)
    run(&b, trmm_pullback_item[float], trmm_pullback_item[double],
        trmm_pullback_item[complex64], trmm_pullback_item[complex128])
    return l_bar, bb


cdef blas_int trsm_pullback_item(scalar *B, Batch *b) noexcept nogil:
    cdef blas_int order = b.n if b.rightside else b.m
    cdef scalar *L = <scalar *> b.item[2]
    cdef blas_int info = zero_pivot(order, L, order)
    if info == 0:
        trsm_pullback_one(b.rightside, b.lower, b.transpose, b.m, b.n, b.alpha, L, order,
                          B, b.n, <scalar *> b.item[1], b.n, L, order)
    return info


def trsm_pullback(L, B, B_bar, transpose=False, bint rightside=False, bint lower=True, double alpha=1.0,
                  bint overwrite_b_bar=False, bint overwrite_l=False):
    """Pullback of `trsm`: (L_bar, A_bar), L_bar triangular like L.

    For B = L⁻¹A: A_bar = L⁻ᴴ B_bar, L_bar = -tril(A_bar Bᴴ); the other cases alike. A_bar may
    overwrite B_bar, L_bar may overwrite L. Never divides by alpha. If L or A was broadcast, its cotangent
    has the full batch shape; the caller sums.

    Parameters
    ----------
    L : array_like
        As given to `trsm`.
    B : (..., m, n) array_like
        The result of `trsm`.
    B_bar : (..., m, n) array_like
    transpose, rightside, lower, alpha :
        As given to `trsm`.
    overwrite_b_bar, overwrite_l : bool

    Returns
    -------
    L_bar, A_bar : ndarray

    Notes
    -----
    2m²n flops (2mn² on the right side), no memory but the results. Seeger et al. (2017), appendix, "trsm".

    Examples
    --------
    >>> L_bar, A_bar = trsm_pullback([[2., 0.], [1., 4.]], [[1.], [1.]], [[2.], [4.]])
    >>> A_bar
    array([[0.5],
           [1. ]])
    """
    cdef Batch b
    start(&b)
    options(&b, transposition(transpose, "trsm_pullback"), rightside, lower, alpha)
    cdef cnp.ndarray l = square(&b, L, "trsm_pullback", "L")
    cdef cnp.ndarray x = enter(&b, B, "trsm_pullback", "B"), bb = enter(&b, B_bar, "trsm_pullback", "B_bar")
    fit_triangle(&b, l, x, "trsm_pullback", "L", "B")
    same_matrix(x, bb, "trsm_pullback", "B", "B_bar")
    x = read(&b, x)
    bb = own(&b, bb, overwrite_b_bar)
    l = own(&b, l, overwrite_l)
    if run(&b, trsm_pullback_item[float], trsm_pullback_item[double],
           trsm_pullback_item[complex64], trsm_pullback_item[complex128]):
        raise singular_triangle(&b, "trsm_pullback")
    return l, bb
