"""Symmetric eigendecomposition, A = Uᵀ diag(λ) U, λ ascending, rows of U are eigenvectors.

Expressions: Seeger et al. (2017), section 4.4 and appendix, "syevd".
"""

cimport numpy as cnp
from libc.float cimport DBL_EPSILON, DBL_MIN, FLT_EPSILON, FLT_MIN
from libc.math cimport fabs, isfinite, sqrt

from lindiff.kernels cimport rowmajor
from lindiff.kernels.batch cimport (
    Batch, enter, fresh, fresh_vectors, lapack_workspace, own, place, read, run, same_matrix, square, start,
)
from lindiff.kernels.products cimport gemm_one
from lindiff.kernels.sizes cimport SYEVD_LOOPS, SYEVD_SYMMETRIC
from lindiff.kernels.triangles cimport mirror, transpose_square
from lindiff.kernels.tridiagonal cimport syev_small

from numpy.linalg import LinAlgError

cnp.import_array()


# ---- one matrix ----------------------------------------------------------------------------------

cdef bint triangle_is_finite(bint lower, blas_int n, const floating *A, blas_int lda) noexcept nogil:
    cdef Py_ssize_t i, j, ld = lda
    for i in range(n):
        for j in range(0 if lower else i, i + 1 if lower else n):
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
    if not triangle_is_finite(True, n, A, lda):
        return -1
    if n <= SYEVD_LOOPS:
        info = syev_small(n, A, lda, lam, work)
    else:
        info = rowmajor.syevd(True, n, A, lda, lam, work, lwork, NULL, 0, iwork, liwork)
    if info == 0:
        fix_signs(n, A, lda)
    return info


cdef blas_int eigh_one(bint lower, blas_int n, floating *A, blas_int lda, floating *w,
                       floating *work, blas_int lwork, blas_int *iwork, blas_int liwork) noexcept nogil:
    """w, A := V with A = V diag(w) Vᵀ, from the named triangle. Returns LAPACK's info; -1 for
    NaN or infinity.

    LAPACK is given what NumPy gives it, Aᵀ in row-major order, so that eigenvectors have NumPy's signs.
    """
    cdef blas_int info
    if not triangle_is_finite(lower, n, A, lda):
        return -1
    transpose_square(n, A, lda)
    info = rowmajor.syevd(not lower, n, A, lda, w, work, lwork, NULL, 0, iwork, liwork)
    transpose_square(n, A, lda)
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


cdef void divide_by_gaps(blas_int n, floating *T, const floating *lam,
                         const floating *lam_bar) noexcept nogil:
    """tri(T) := sym(T ∘ F) + diag(lam_bar), F_ij = 1 / h(λ_i - λ_j), the lower triangle."""
    cdef Py_ssize_t i, j
    cdef floating eps = smallest_gap(n, lam), zero = noise(n, T)
    for i in range(n):      # y_ij = (x_ij - x_ji) / (2 h(λ_i - λ_j)), i > j
        for j in range(i):
            T[i * n + j] = over_gap(T[i * n + j] - T[j * n + i], lam[i] - lam[j], eps, n * eps, zero) / 2
        T[i * n + i] = 0 if lam_bar == NULL else lam_bar[i]


cdef void syevd_pullback_one(bint columns, blas_int n, const floating *U, blas_int ldu, const floating *lam,
                             floating *U_bar, blas_int ldub, bint has_u_bar, const floating *lam_bar,
                             floating *T) noexcept nogil:
    """A_bar = Uᵀ (sym(U_bar Uᵀ ∘ F) + diag(lam_bar)) U, F_ij = 1 / h(λ_i - λ_j), symmetric, overwrites U_bar.

    Eigenvectors are the rows of U, or its `columns`. U_bar counts as zero unless `has_u_bar`, lam_bar if it
    is NULL. T is a workspace of n * n entries.
    """
    cdef Py_ssize_t i, j, lu = ldu, lx = ldub
    cdef floating one = 1, zero = 0
    if has_u_bar:
        gemm_one(columns, not columns, n, n, n, one, U_bar, ldub, U, ldu, zero, T, n)
        divide_by_gaps(n, T, lam, lam_bar)
        if n > SYEVD_SYMMETRIC:
            rowmajor.symm(columns, True, n, n, one, T, n, U, ldu, zero, U_bar, ldub)
        else:
            mirror(True, n, one, T, n)
            if columns:
                gemm_one(False, False, n, n, n, one, U, ldu, T, n, zero, U_bar, ldub)
            else:
                gemm_one(False, False, n, n, n, one, T, n, U, ldu, zero, U_bar, ldub)
    else:
        for i in range(n):
            for j in range(n):
                U_bar[i * lx + j] = lam_bar[j if columns else i] * U[i * lu + j]
    if columns:     # X Vᵀ, one triangle of it
        lower_product(False, n, U_bar, ldub, U, ldu, T)
    else:           # Uᵀ X
        lower_product(True, n, U, ldu, U_bar, ldub, T)
    for i in range(n):
        for j in range(i + 1):
            U_bar[i * lx + j] = T[i * n + j]
    mirror(True, n, one, U_bar, ldub)


cdef inline void lower_product(bint transpose, blas_int n, const floating *A, blas_int lda,
                               const floating *B, blas_int ldb, floating *T) noexcept nogil:
    """tri(T) := A Bᵀ, or Aᵀ B, its lower triangle."""
    if n > SYEVD_SYMMETRIC:
        rowmajor.gemmt(True, transpose, not transpose, n, n, <floating> 1, A, lda, B, ldb, <floating> 0, T, n)
    else:
        gemm_one(transpose, not transpose, n, n, n, <floating> 1, A, lda, B, ldb, <floating> 0, T, n)


cdef void syevd_pushforward_one(bint columns, blas_int n, const floating *U, blas_int ldu,
                                const floating *lam, const floating *A_dot, blas_int lda, floating *U_dot,
                                blas_int ldud, floating *lam_dot, floating *T) noexcept nogil:
    """M = U A_dot Uᵀ, lam_dot = diag(M), U_dot = (M ∘ F) U; the lower triangle of A_dot is read.

    Eigenvectors are the rows of U, or its `columns`. T is a workspace of n * n entries.
    """
    cdef Py_ssize_t i, j
    cdef floating eps = smallest_gap(n, lam), zero
    rowmajor.symm(not columns, True, n, n, <floating> 1, A_dot, lda, U, ldu, <floating> 0, U_dot, ldud)
    gemm_one(columns, not columns, n, n, n, <floating> 1, U_dot, ldud, U, ldu, <floating> 0, T, n)
    zero = noise(n, T)
    for i in range(n):
        lam_dot[i] = T[i * n + i]
        T[i * n + i] = 0
        for j in range(i):
            T[i * n + j] = over_gap(T[i * n + j], lam[i] - lam[j], eps, n * eps, zero)
            T[j * n + i] = -T[i * n + j]
    if columns:
        gemm_one(False, True, n, n, n, <floating> 1, U, ldu, T, n, <floating> 0, U_dot, ldud)
    else:
        gemm_one(False, False, n, n, n, <floating> 1, T, n, U, ldu, <floating> 0, U_dot, ldud)


# ---- arrays --------------------------------------------------------------------------------------

cdef blas_int syevd_item(floating *A, Batch *b) noexcept nogil:
    return syevd_one(b.n, A, b.n, <floating *> b.item[1], <floating *> b.work, <blas_int> b.work_size,
                     b.iwork, <blas_int> b.iwork_size)


cdef blas_int eigh_item(floating *A, Batch *b) noexcept nogil:
    return eigh_one(b.lower, b.n, A, b.n, <floating *> b.item[1], <floating *> b.work,
                    <blas_int> b.work_size, b.iwork, <blas_int> b.iwork_size)


cdef int query(Batch *b, str operator) except -1:
    """The workspaces that LAPACK wants: of syevd for vectors, documented there."""
    cdef Py_ssize_t n = b.n
    b.work_size = lapack_workspace(operator, n, 1 + 6 * n + 2 * n * n)
    b.iwork_size = 3 + 5 * n
    return 0


cdef object failure(Batch *b, str operator):
    reason = "A holds NaN or infinity" if b.info < 0 else "no convergence"
    return LinAlgError(f"{operator}: {reason}{place(b)}")


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
    cdef cnp.ndarray a = square(&b, A, "syevd", "A"), lam
    if b.n <= SYEVD_LOOPS:
        b.work_size = 3 * b.n
    else:
        query(&b, "syevd")
    a = own(&b, a, overwrite_a)
    lam = fresh_vectors(&b, b.n)
    b.weight = 15
    if run(&b, syevd_item[float], syevd_item[double]):
        raise failure(&b, "syevd")
    return a, lam


def eigh(A, bint lower=True):
    """Symmetric eigendecomposition in NumPy's form, A = V diag(w) Vᵀ, with NumPy's signs (which computes in
    double precision).

    Parameters
    ----------
    A : (..., n, n) array_like
        Symmetric; only the named triangle is read.
    lower : bool

    Returns
    -------
    w : (..., n) ndarray
        Ascending.
    V : (..., n, n) ndarray
        Columns are eigenvectors.

    Raises
    ------
    numpy.linalg.LinAlgError
        If that triangle holds NaN or infinity, or LAPACK does not converge.

    Notes
    -----
    About 9n³ flops, LAPACK's workspace of 2n² entries once for the batch.

    Examples
    --------
    >>> w, V = eigh([[2., 0.], [0., 1.]])
    >>> w
    array([1., 2.])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray v = square(&b, A, "eigh", "A"), w
    b.lower = lower
    query(&b, "eigh")
    v = own(&b, v)
    w = fresh_vectors(&b, b.n)
    b.weight = 15
    if run(&b, eigh_item[float], eigh_item[double]):
        raise failure(&b, "eigh")
    return w, v


cdef cnp.ndarray vectors(Batch *b, object x, str operator, str argument):
    """`enter` for vectors of length b.n."""
    cdef cnp.ndarray a = enter(b, x, operator, argument, 1)
    if a.shape[cnp.PyArray_NDIM(a) - 1] != b.n:
        raise ValueError(f"{operator}: {argument} of shape {(<object> a).shape} must have length {b.n}")
    return a


cdef blas_int pullback_item(floating *U, Batch *b) noexcept nogil:
    cdef floating *lam_bar = <floating *> b.item[3] if b.operands == 4 else NULL
    syevd_pullback_one(b.rightside, b.n, U, b.n, <floating *> b.item[1], <floating *> b.item[2], b.n,
                       b.transpose, lam_bar, <floating *> b.work)
    return 0


cdef object pullback(str operator, bint columns, object U, str u_name, object lam, str lam_name,
                     object U_bar, object lam_bar, bint overwrite_u_bar):
    """That of `syevd`, or of `eigh`, whose eigenvectors are `columns`."""
    cdef Batch b
    start(&b)
    cdef cnp.ndarray u = square(&b, U, operator, u_name), w = vectors(&b, lam, operator, lam_name), ub, wb
    if U_bar is None and lam_bar is None:
        raise ValueError(f"{operator}: one of {u_name}_bar and {lam_name}_bar must be given")
    b.rightside = columns
    b.transpose = U_bar is not None
    if U_bar is not None:
        ub = enter(&b, U_bar, operator, u_name + "_bar")
        same_matrix(u, ub, operator, u_name, u_name + "_bar")
    if lam_bar is not None:
        wb = vectors(&b, lam_bar, operator, lam_name + "_bar")
    u = read(&b, u)
    w = read(&b, w, 1)
    ub = fresh(&b, b.n, b.n) if U_bar is None else own(&b, ub, overwrite_u_bar)
    if lam_bar is not None:
        wb = read(&b, wb, 1)
    b.work_size = <Py_ssize_t> b.n * b.n
    b.weight = 5
    run(&b, pullback_item[float], pullback_item[double])
    return ub


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
    return pullback("syevd_pullback", False, U, "U", lam, "lam", U_bar, lam_bar, overwrite_u_bar)


def eigh_pullback(w, V, w_bar, V_bar, bint overwrite_v_bar=False):
    """Pullback of `eigh`: A_bar = V (sym(V_barᵀ V ∘ F) + diag(w_bar)) Vᵀ; F and None as in `syevd_pullback`.

    Examples
    --------
    >>> eigh_pullback([1., 2.], [[1., 0.], [0., 1.]], [1., 3.], None)
    array([[1., 0.],
           [0., 3.]])
    """
    return pullback("eigh_pullback", True, V, "V", w, "w", V_bar, w_bar, overwrite_v_bar)


cdef blas_int pushforward_item(floating *U, Batch *b) noexcept nogil:
    syevd_pushforward_one(b.rightside, b.n, U, b.n, <floating *> b.item[1], <floating *> b.item[2], b.n,
                          <floating *> b.item[3], b.n, <floating *> b.item[4], <floating *> b.work)
    return 0


cdef tuple pushforward(str operator, bint columns, object U, str u_name, object lam, str lam_name,
                       object A_dot):
    cdef Batch b
    start(&b)
    cdef cnp.ndarray u = square(&b, U, operator, u_name), w = vectors(&b, lam, operator, lam_name)
    cdef cnp.ndarray ad = enter(&b, A_dot, operator, "A_dot"), ud, wd
    same_matrix(u, ad, operator, u_name, "A_dot")
    b.rightside = columns
    u = read(&b, u)
    w = read(&b, w, 1)
    ad = read(&b, ad)
    ud = fresh(&b, b.n, b.n)
    wd = fresh_vectors(&b, b.n)
    b.work_size = <Py_ssize_t> b.n * b.n
    b.weight = 5
    run(&b, pushforward_item[float], pushforward_item[double])
    return ud, wd


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
    return pushforward("syevd_pushforward", False, U, "U", lam, "lam", A_dot)


def eigh_pushforward(w, V, A_dot):
    """Pushforward of `eigh`: M = Vᵀ A_dot V, w_dot = diag(M), V_dot = V (M ∘ F)ᵀ; the lower triangle of A_dot
    is read.

    Examples
    --------
    >>> eigh_pushforward([1., 2.], [[1., 0.], [0., 1.]], [[1., 0.], [0., 3.]])[0]
    array([1., 3.])
    """
    V_dot, w_dot = pushforward("eigh_pushforward", True, V, "V", w, "w", A_dot)
    return w_dot, V_dot


cdef blas_int nearly_equal_item(floating *values, Batch *b) noexcept nogil:
    """1 where two neighbours are close; with b.lower, also where the last is close to zero."""
    cdef Py_ssize_t i
    cdef floating rounding = smallest_gap(b.n, values)
    cdef floating eps = FLT_EPSILON if floating is float else DBL_EPSILON
    cdef floating floor = max(10 * (b.n + 10), 1 / sqrt(eps)) * rounding
    for i in range(b.n - 1):
        if fabs(values[i + 1] - values[i]) <= floor:
            return 1
    return b.lower and b.n > 0 and fabs(values[b.n - 1]) <= floor


def nearly_equal(values, bint zero=False):
    """Whether any two of sorted values are so close that a quotient by their gap loses half of its digits.

    Parameters
    ----------
    values : (..., n) array_like
        Sorted along the last axis.
    zero : bool
        Whether a last value that is as close to zero counts, too.

    Returns
    -------
    bool

    Examples
    --------
    >>> nearly_equal([1., 2.]), nearly_equal([2., 2.])
    (False, True)
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray x = enter(&b, values, "nearly_equal", "values", 1)
    b.n = <blas_int> x.shape[cnp.PyArray_NDIM(x) - 1]
    b.lower = zero
    x = read(&b, x, 1)
    return bool(run(&b, nearly_equal_item[float], nearly_equal_item[double]))
