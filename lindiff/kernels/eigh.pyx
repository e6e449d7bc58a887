"""Symmetric eigendecomposition, A = Uᵀ diag(λ) U, λ ascending, rows of U are eigenvectors.

Expressions: Seeger et al. (2017), section 4.4 and appendix, "syevd".
"""

cimport numpy as cnp
from libc.float cimport DBL_EPSILON, DBL_MIN, FLT_EPSILON, FLT_MIN
from libc.math cimport fabs, isfinite

from lindiff.kernels cimport rowmajor
from lindiff.kernels.batch cimport (
    Batch, enter, fresh, fresh_vectors, own, place, read, run, same_matrix, square, start,
)
from lindiff.kernels.products cimport gemm_one
from lindiff.kernels.triangles cimport mirror

from numpy.linalg import LinAlgError

cnp.import_array()


# ---- one matrix ----------------------------------------------------------------------------------

cdef bint lower_is_finite(blas_int n, const floating *A, blas_int lda) noexcept nogil:
    cdef Py_ssize_t i, j, ld = lda
    for i in range(n):
        for j in range(i + 1):
            if not isfinite(A[i * ld + j]):
                return False
    return True


cdef void fix_signs(blas_int n, floating *U, blas_int ldu) noexcept nogil:
    """The entry of largest magnitude in each row becomes positive; of equal ones the first decides."""
    cdef Py_ssize_t i, j, ld = ldu
    cdef floating largest
    for i in range(n):
        largest = 0
        for j in range(n):
            if fabs(U[i * ld + j]) > fabs(largest):
                largest = U[i * ld + j]
        if largest < 0:
            for j in range(n):
                U[i * ld + j] = -U[i * ld + j]


cdef blas_int syevd_one(blas_int n, floating *A, blas_int lda, floating *lam,
                        floating *work, blas_int lwork, blas_int *iwork, blas_int liwork) noexcept nogil:
    """lam, A := U with A = Uᵀ diag(lam) U, from the lower triangle. Returns LAPACK's info;
    -1 for NaN or infinity.
    """
    cdef blas_int info
    if not lower_is_finite(n, A, lda):
        return -1
    info = rowmajor.syevd(True, n, A, lda, lam, work, lwork, NULL, 0, iwork, liwork)
    if info == 0:
        fix_signs(n, A, lda)
    return info


cdef floating smallest_gap(blas_int n, const floating *lam) noexcept nogil:
    """ε of h: the rounding of the eigenvalue of largest magnitude."""
    cdef floating first, last, eps, tiny
    if floating is float:
        eps, tiny = FLT_EPSILON, FLT_MIN
    else:
        eps, tiny = DBL_EPSILON, DBL_MIN
    if n == 0:
        return tiny
    first = fabs(lam[0])
    last = fabs(lam[n - 1])
    first = eps * (first if first > last else last)
    return first if first > tiny else tiny


cdef floating noise(blas_int n, const floating *T) noexcept nogil:
    """What rounding may leave of a zero among the n × n entries of T."""
    cdef Py_ssize_t i
    cdef floating largest = 0
    for i in range(<Py_ssize_t> n * n):
        if fabs(T[i]) > largest:
            largest = fabs(T[i])
    return n * largest * (FLT_EPSILON if floating is float else DBL_EPSILON)


cdef inline floating over_gap(floating x, floating gap, floating eps, floating ties,
                              floating zero) noexcept nogil:
    """x / h(gap), h(t) = max(|t|, eps) sgn(t);
    0 for eigenvalues equal up to rounding where x is zero up to rounding.
    """
    if x == 0 or (fabs(gap) <= ties and fabs(x) <= zero):
        return 0
    if fabs(gap) < eps:
        gap = eps if gap >= 0 else -eps
    return x / gap


cdef void syevd_pullback_one(blas_int n, const floating *U, blas_int ldu, const floating *lam,
                             floating *U_bar, blas_int ldub, bint has_u_bar, const floating *lam_bar,
                             floating *T) noexcept nogil:
    """A_bar = Uᵀ (sym(U_bar Uᵀ ∘ F) + diag(lam_bar)) U, F_ij = 1 / h(λ_i - λ_j), symmetric, overwrites U_bar.

    U_bar counts as zero unless `has_u_bar`, lam_bar if it is NULL. T is a workspace of n * n entries.
    """
    cdef Py_ssize_t i, j, lu = ldu, lx = ldub
    cdef floating eps, zero
    if has_u_bar:
        gemm_one(False, True, n, n, n, <floating> 1, U_bar, ldub, U, ldu, <floating> 0, T, n)
        eps = smallest_gap(n, lam)
        zero = noise(n, T)
        for i in range(n):      # y_ij = (x_ij - x_ji) / (2 h(λ_i - λ_j)), i > j
            for j in range(i):
                T[i * n + j] = over_gap(T[i * n + j] - T[j * n + i], lam[i] - lam[j], eps, n * eps, zero) / 2
            T[i * n + i] = 0 if lam_bar == NULL else lam_bar[i]
        rowmajor.hemm(False, True, n, n, <floating> 1, T, n, U, ldu, <floating> 0, U_bar, ldub)
    else:
        for i in range(n):
            for j in range(n):
                U_bar[i * lx + j] = lam_bar[i] * U[i * lu + j]
    rowmajor.gemmt(True, True, False, n, n, <floating> 1, U, ldu, U_bar, ldub, <floating> 0, T, n)
    for i in range(n):
        for j in range(i + 1):
            U_bar[i * lx + j] = T[i * n + j]
    mirror(True, n, <floating> 1, U_bar, ldub)


cdef void syevd_pushforward_one(blas_int n, const floating *U, blas_int ldu, const floating *lam,
                                const floating *A_dot, blas_int lda, floating *U_dot, blas_int ldud,
                                floating *lam_dot, floating *T) noexcept nogil:
    """M = U A_dot Uᵀ, lam_dot = diag(M), U_dot = (M ∘ F) U; the lower triangle of A_dot is read.

    T is a workspace of n * n entries.
    """
    cdef Py_ssize_t i, j
    cdef floating eps = smallest_gap(n, lam), zero
    rowmajor.hemm(True, True, n, n, <floating> 1, A_dot, lda, U, ldu, <floating> 0, U_dot, ldud)
    gemm_one(False, True, n, n, n, <floating> 1, U_dot, ldud, U, ldu, <floating> 0, T, n)
    zero = noise(n, T)
    for i in range(n):
        lam_dot[i] = T[i * n + i]
        T[i * n + i] = 0
        for j in range(i):
            T[i * n + j] = over_gap(T[i * n + j], lam[i] - lam[j], eps, n * eps, zero)
            T[j * n + i] = -T[i * n + j]
    gemm_one(False, False, n, n, n, <floating> 1, T, n, U, ldu, <floating> 0, U_dot, ldud)


# ---- arrays --------------------------------------------------------------------------------------

cdef blas_int syevd_item(floating *A, Batch *b) noexcept nogil:
    return syevd_one(b.n, A, b.n, <floating *> b.item[1], <floating *> b.work, <blas_int> b.work_size,
                     b.iwork, <blas_int> b.iwork_size)


cdef void syevd_query(floating *A, Batch *b) noexcept nogil:
    """The workspaces that LAPACK wants."""
    cdef floating size = 0
    cdef blas_int isize = 0
    rowmajor.syevd(True, b.n, A, b.n, NULL, &size, -1, NULL, -1, &isize, -1)
    b.work_size = <Py_ssize_t> size
    b.iwork_size = isize


def syevd(A, bint overwrite_a=False):
    """Symmetric eigendecomposition, A = Uᵀ diag(lam) U.

    Parameters
    ----------
    A : (..., n, n) array_like
        Symmetric; only the lower triangle is read.
    overwrite_a : bool
        U may overwrite A.

    Returns
    -------
    U : (..., n, n) ndarray
        Rows are eigenvectors; in each the entry of largest magnitude (of equal ones the first) is positive.
    lam : (..., n) ndarray
        Ascending.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the lower triangle holds NaN or infinity, or LAPACK does not converge.

    Notes
    -----
    About 9n³ flops, LAPACK's workspace of 2n² entries once for the batch. Seeger et al. (2017), section 4.4.

    Examples
    --------
    >>> U, lam = syevd([[2., 0.], [0., 1.]])
    >>> lam
    array([1., 2.])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray a = own(&b, square(&b, A, "syevd", "A"), overwrite_a), lam = fresh_vectors(&b, b.n)
    if b.dtype == cnp.NPY_FLOAT:
        syevd_query[float](NULL, &b)
    else:
        syevd_query[double](NULL, &b)
    if run(&b, syevd_item[float], syevd_item[double]):
        reason = "A holds NaN or infinity" if b.info < 0 else "no convergence"
        raise LinAlgError(f"syevd: {reason}{place(&b)}")
    return a, lam


cdef cnp.ndarray vectors(Batch *b, object x, str operator, str argument):
    """`enter` for vectors of length b.n."""
    cdef cnp.ndarray a = enter(b, x, operator, argument, 1)
    if a.shape[cnp.PyArray_NDIM(a) - 1] != b.n:
        raise ValueError(f"{operator}: {argument} of shape {(<object> a).shape} must have length {b.n}")
    return a


cdef blas_int syevd_pullback_item(floating *U, Batch *b) noexcept nogil:
    cdef floating *lam_bar = <floating *> b.item[3] if b.operands == 4 else NULL
    syevd_pullback_one(b.n, U, b.n, <floating *> b.item[1], <floating *> b.item[2], b.n, b.transpose,
                       lam_bar, <floating *> b.work)
    return 0


def syevd_pullback(U, lam, U_bar, lam_bar, bint overwrite_u_bar=False):
    """Pullback of `syevd`: A_bar = Uᵀ (sym(U_bar Uᵀ ∘ F) + diag(lam_bar)) U, F_ij = 1 / h(λ_i - λ_j).

    h(t) = max(|t|, ε) sgn(t), ε the rounding of the largest eigenvalue. For eigenvalues that are equal up to
    rounding, a numerator that is zero up to rounding gives zero: a function that does not depend on the
    choice of eigenvectors has a finite gradient.

    Parameters
    ----------
    U : (..., n, n) array_like
    lam : (..., n) array_like
        Both from `syevd`.
    U_bar : (..., n, n) array_like or None
    lam_bar : (..., n) array_like or None
        None counts as zero; one of the two must be given.
    overwrite_u_bar : bool
        A_bar may overwrite U_bar.

    Returns
    -------
    A_bar : (..., n, n) ndarray

    Notes
    -----
    5n³ flops, n³ for lam_bar alone; one temporary n × n matrix. Seeger et al. (2017), section 4.4.

    Examples
    --------
    >>> syevd_pullback([[1., 0.], [0., 1.]], [1., 2.], None, [1., 3.])
    array([[1., 0.],
           [0., 3.]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray u = square(&b, U, "syevd_pullback", "U")
    cdef cnp.ndarray w = vectors(&b, lam, "syevd_pullback", "lam")
    cdef cnp.ndarray ub, wb
    if U_bar is None and lam_bar is None:
        raise ValueError("syevd_pullback: one of U_bar and lam_bar must be given")
    b.transpose = U_bar is not None
    if U_bar is not None:
        ub = enter(&b, U_bar, "syevd_pullback", "U_bar")
        same_matrix(u, ub, "syevd_pullback", "U", "U_bar")
    if lam_bar is not None:
        wb = vectors(&b, lam_bar, "syevd_pullback", "lam_bar")
    u = read(&b, u)
    w = read(&b, w, 1)
    ub = fresh(&b, b.n, b.n) if U_bar is None else own(&b, ub, overwrite_u_bar)
    if lam_bar is not None:
        wb = read(&b, wb, 1)
    b.work_size = <Py_ssize_t> b.n * b.n
    run(&b, syevd_pullback_item[float], syevd_pullback_item[double])
    return ub


cdef blas_int syevd_pushforward_item(floating *U, Batch *b) noexcept nogil:
    syevd_pushforward_one(b.n, U, b.n, <floating *> b.item[1], <floating *> b.item[2], b.n,
                          <floating *> b.item[3], b.n, <floating *> b.item[4], <floating *> b.work)
    return 0


def syevd_pushforward(U, lam, A_dot):
    """Pushforward of `syevd`: M = U A_dot Uᵀ, lam_dot = diag(M), U_dot = (M ∘ F) U, F as in `syevd_pullback`.

    Parameters
    ----------
    U : (..., n, n) array_like
    lam : (..., n) array_like
        Both from `syevd`.
    A_dot : (..., n, n) array_like
        Symmetric; only the lower triangle is read.

    Returns
    -------
    U_dot : (..., n, n) ndarray
    lam_dot : (..., n) ndarray

    Notes
    -----
    6n³ flops, one temporary n × n matrix. Seeger et al. (2017), appendix, "syevd".

    Examples
    --------
    >>> syevd_pushforward([[1., 0.], [0., 1.]], [1., 2.], [[1., 0.], [0., 3.]])[1]
    array([1., 3.])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray u = square(&b, U, "syevd_pushforward", "U")
    cdef cnp.ndarray w = vectors(&b, lam, "syevd_pushforward", "lam")
    cdef cnp.ndarray ad = enter(&b, A_dot, "syevd_pushforward", "A_dot"), ud, wd
    same_matrix(u, ad, "syevd_pushforward", "U", "A_dot")
    u = read(&b, u)
    w = read(&b, w, 1)
    ad = read(&b, ad)
    ud = fresh(&b, b.n, b.n)
    wd = fresh_vectors(&b, b.n)
    b.work_size = <Py_ssize_t> b.n * b.n
    run(&b, syevd_pushforward_item[float], syevd_pushforward_item[double])
    return ud, wd
