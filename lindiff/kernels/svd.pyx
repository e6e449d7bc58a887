"""Singular value decomposition, A = U diag(s) Vᵀ with k = min(m, n) columns of U and rows of Vh = Vᵀ.

With P = Uᵀ dA V, dU = U Ω, dV = V Ψ for skew-symmetric Ω, Ψ: ds = diag(P),
(Ω + Ψ)_ij = (P + Pᵀ)_ij / (s_j - s_i) and (Ω - Ψ)_ij = (P - Pᵀ)_ij / (s_j + s_i). Of a matrix that is not
square, the longer vectors change outside of their span, too: (I - U Uᵀ) dA V diag(s)⁻¹ for U. See Giles
(2008), section 3.2, and Townsend (2016).

Derivatives are for singular values that are well apart (`nearly_equal`), and of a matrix that is not square
away from zero: nothing is looked at here before it is divided by.
"""

cimport numpy as cnp
from libc.math cimport isfinite

from lindiff.kernels cimport rowmajor
from lindiff.kernels.batch cimport (
    Batch, enter, fresh, fresh_vectors, misfit, place, read, run, start,
)
from lindiff.kernels.products cimport gemm_one
from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport floating
from lindiff.kernels.triangles cimport transpose_into

from numpy.linalg import LinAlgError

cnp.import_array()


# ---- one matrix ----------------------------------------------------------------------------------

cdef blas_int gesdd_one(blas_int m, blas_int n, const floating *A, floating *U, floating *s, floating *Vh,
                        floating *work, blas_int lwork, blas_int *iwork) noexcept nogil:
    """A = U diag(s) Vh; returns LAPACK's info, -1 for NaN or infinity, of which LAPACK may search for values
    forever. work has mn + mk + nk + lwork entries, iwork 8k.
    """
    cdef blas_int k = m if m < n else n, info
    cdef Py_ssize_t i
    cdef floating *Ut = work + <Py_ssize_t> m * n
    cdef floating *V = Ut + <Py_ssize_t> m * k
    if k == 0:
        return 0
    for i in range(<Py_ssize_t> m * n):
        if not isfinite(A[i]):
            return -1
    transpose_into(m, n, <floating> 1, A, n, work, m)
    info = rowmajor.gesdd(m, n, work, s, Ut, V, V + <Py_ssize_t> n * k, lwork, NULL, iwork)
    transpose_into(k, m, <floating> 1, Ut, m, U, k)
    transpose_into(n, k, <floating> 1, V, k, Vh, n)
    return info


cdef void scale_rows(Py_ssize_t m, Py_ssize_t n, const floating *x, const floating *X,
                     floating *Y) noexcept nogil:
    """Y := diag(x)⁻¹ X."""
    cdef Py_ssize_t i, j
    for i in range(m):
        for j in range(n):
            Y[i * n + j] = X[i * n + j] / x[i]


cdef void scale_columns(Py_ssize_t m, Py_ssize_t n, const floating *x, const floating *X,
                        floating *Y) noexcept nogil:
    """Y := X diag(x)⁻¹."""
    cdef Py_ssize_t i, j
    for i in range(m):
        for j in range(n):
            Y[i * n + j] = X[i * n + j] / x[j]


cdef void values_pullback(Py_ssize_t m, Py_ssize_t k, const floating *U, const floating *s_bar,
                          floating *X) noexcept nogil:
    """X := U diag(s_bar)."""
    cdef Py_ssize_t i, j
    for i in range(m):
        for j in range(k):
            X[i * k + j] = U[i * k + j] * s_bar[j]


cdef void gesdd_pullback_one(blas_int m, blas_int n, const floating *U, const floating *s, const floating *Vh,
                             const floating *U_bar, const floating *s_bar, const floating *Vh_bar,
                             floating *A_bar, floating *work) noexcept nogil:
    """A_bar = U P_bar Vᵀ + (I - U Uᵀ) U_bar diag(s)⁻¹ Vᵀ for m > n, with U and V exchanged for m < n.

    P_bar = diag(s_bar) + (K_U + K_V)_ij / (s_j - s_i) + (K_U - K_V)_ij / (s_j + s_i), where K_U and K_V are
    the skew parts of UᵀU_bar and VᵀV_bar. Cotangents that are NULL count as zero.
    work has 2k² + max(m, n) k entries.
    """
    cdef blas_int k = m if m < n else n
    cdef Py_ssize_t i, j
    cdef floating one = 1, zero = 0, u, v, sym, skew
    cdef floating *P = work
    cdef floating *Q = P + <Py_ssize_t> k * k
    cdef floating *X = Q + <Py_ssize_t> k * k
    cdef bint outside_u = m > n and U_bar != NULL, outside_v = m < n and Vh_bar != NULL
    if U_bar == NULL and Vh_bar == NULL:
        values_pullback(m, k, U, s_bar, X)
        gemm_one(False, False, m, n, k, one, X, k, Vh, n, zero, A_bar, n)
        return
    for i in range(2 * <Py_ssize_t> k * k):
        P[i] = 0
    if U_bar != NULL:
        gemm_one(True, False, k, k, m, one, U, k, U_bar, k, zero, P, k)
    if Vh_bar != NULL:
        gemm_one(False, True, k, k, n, one, Vh, n, Vh_bar, n, zero, Q, k)
    for i in range(k):   # P := P_bar, less what the span takes from the part outside of it
        for j in range(i):
            u = (P[i * k + j] - P[j * k + i]) / 2
            v = (Q[i * k + j] - Q[j * k + i]) / 2
            sym = (u + v) / (s[j] - s[i])
            skew = (u - v) / (s[j] + s[i]) if u != v else 0   # zero over zero, where both values vanish
            if outside_u:
                P[i * k + j] = sym + skew - P[i * k + j] / s[j]
                P[j * k + i] = sym - skew - P[j * k + i] / s[i]
            elif outside_v:
                P[i * k + j] = sym + skew - Q[j * k + i] / s[i]
                P[j * k + i] = sym - skew - Q[i * k + j] / s[j]
            else:
                P[i * k + j] = sym + skew
                P[j * k + i] = sym - skew
        u = P[i * (k + 1)] / s[i] if outside_u else (Q[i * (k + 1)] / s[i] if outside_v else zero)
        P[i * (k + 1)] = (s_bar[i] if s_bar != NULL else zero) - u
    if m >= n:
        if outside_u:
            scale_columns(m, k, s, U_bar, X)
        gemm_one(False, False, m, k, k, one, U, k, P, k, one if outside_u else zero, X, k)
        gemm_one(False, False, m, n, k, one, X, k, Vh, n, zero, A_bar, n)
    else:
        if outside_v:
            scale_rows(k, n, s, Vh_bar, X)
        gemm_one(False, False, k, n, k, one, P, k, Vh, n, one if outside_v else zero, X, n)
        gemm_one(False, False, m, n, k, one, U, k, X, n, zero, A_bar, n)


cdef void gesdd_pushforward_one(blas_int m, blas_int n, const floating *U, const floating *s,
                                const floating *Vh, const floating *A_dot, floating *U_dot, floating *s_dot,
                                floating *Vh_dot, floating *work) noexcept nogil:
    """s_dot = diag(P), U_dot = U Ω + (I - U Uᵀ) A_dot V diag(s)⁻¹, Vh_dot = Ψᵀ Vh for m >= n, with U and V
    exchanged for m < n. work has 2k² entries.
    """
    cdef blas_int k = m if m < n else n
    cdef Py_ssize_t i, j
    cdef floating one = 1, zero = 0, p, q, sym, skew
    cdef floating *Omega = work   # P at first
    cdef floating *Psi = work + <Py_ssize_t> k * k   # transposed
    if m >= n:
        gemm_one(False, True, m, k, n, one, A_dot, n, Vh, n, zero, U_dot, k)
        gemm_one(True, False, k, k, m, one, U, k, U_dot, k, zero, Omega, k)
    else:
        gemm_one(True, False, k, n, m, one, U, k, A_dot, n, zero, Vh_dot, n)
        gemm_one(False, True, k, k, n, one, Vh_dot, n, Vh, n, zero, Omega, k)
    for i in range(k):   # less what the span takes from the part outside of it
        for j in range(i):
            p = Omega[i * k + j]
            q = Omega[j * k + i]
            sym = (p + q) / (s[j] - s[i]) / 2
            skew = (p - q) / (s[j] + s[i]) / 2 if p != q else 0   # zero over zero, where both values vanish
            Omega[i * k + j] = sym + skew
            Omega[j * k + i] = -sym - skew
            Psi[j * k + i] = sym - skew
            Psi[i * k + j] = skew - sym
            if m > n:
                Omega[i * k + j] -= p / s[j]
                Omega[j * k + i] -= q / s[i]
            elif m < n:
                Psi[i * k + j] -= p / s[i]
                Psi[j * k + i] -= q / s[j]
        s_dot[i] = Omega[i * (k + 1)]
        Omega[i * (k + 1)] = -s_dot[i] / s[i] if m > n else zero
        Psi[i * (k + 1)] = -s_dot[i] / s[i] if m < n else zero
    if m > n:
        scale_columns(m, k, s, U_dot, U_dot)
    elif m < n:
        scale_rows(k, n, s, Vh_dot, Vh_dot)
    gemm_one(False, False, m, k, k, one, U, k, Omega, k, one if m > n else zero, U_dot, k)
    gemm_one(False, False, k, n, k, one, Psi, k, Vh, n, one if m < n else zero, Vh_dot, n)


# ---- arrays --------------------------------------------------------------------------------------

cdef cnp.ndarray matrix(Batch *b, object A, str operator, str argument):
    """`enter`; its shape becomes that of the batch, k the smaller side."""
    cdef cnp.ndarray a = enter(b, A, operator, argument)
    cdef int ndim = cnp.PyArray_NDIM(a)
    b.m = <blas_int> a.shape[ndim - 2]
    b.n = <blas_int> a.shape[ndim - 1]
    b.k = b.m if b.m < b.n else b.n
    return a


cdef cnp.ndarray fitting(Batch *b, object x, Py_ssize_t m, Py_ssize_t n, str operator, str argument):
    """`enter` for matrices of shape (m, n), or vectors of length n for m = -1."""
    cdef int core = 1 if m < 0 else 2
    cdef cnp.ndarray a = enter(b, x, operator, argument, core)
    cdef int ndim = cnp.PyArray_NDIM(a)
    if a.shape[ndim - 1] != n or (core == 2 and a.shape[ndim - 2] != m):
        wanted = f"{n}" if core == 1 else f"{m}, {n}"
        raise ValueError(
            f"{operator}: {argument} has shape {(<object> a).shape}, which does not end in ({wanted})"
        )
    return a


cdef tuple factors(Batch *b, object U, object s, object Vh, str operator):
    """`enter` for the factors, and the shape of A from them."""
    cdef cnp.ndarray u = enter(b, U, operator, "U"), vh = enter(b, Vh, operator, "Vh")
    cdef int i = cnp.PyArray_NDIM(u) - 2, j = cnp.PyArray_NDIM(vh) - 2
    b.m = <blas_int> u.shape[i]
    b.n = <blas_int> vh.shape[j + 1]
    b.k = b.m if b.m < b.n else b.n
    if u.shape[i + 1] != b.k or vh.shape[j] != b.k:
        raise misfit(operator, "U", u, "Vh", vh)
    return u, fitting(b, s, -1, b.k, operator, "s"), vh


cdef blas_int gesdd_item(floating *A, Batch *b) noexcept nogil:
    cdef Py_ssize_t own = <Py_ssize_t> b.m * b.n + (<Py_ssize_t> b.m + b.n) * b.k
    return gesdd_one(b.m, b.n, A, <floating *> b.item[1], <floating *> b.item[2], <floating *> b.item[3],
                     <floating *> b.work, <blas_int> (b.work_size - own), b.iwork)


cdef Py_ssize_t gesdd_query(floating *A, blas_int m, blas_int n) noexcept:
    """Entries of workspace that LAPACK wants."""
    cdef floating size = 0
    rowmajor.gesdd(m, n, A, NULL, A, A, &size, -1, NULL, NULL)
    return <Py_ssize_t> size


def gesdd(A):
    """Singular value decomposition, A = U diag(s) Vh, with the signs of NumPy (which computes in double).

    Parameters
    ----------
    A : (..., m, n) array_like

    Returns
    -------
    U : (..., m, k) ndarray
        k = min(m, n) orthonormal columns.
    s : (..., k) ndarray
        Descending.
    Vh : (..., k, n) ndarray
        Orthonormal rows.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A holds NaN or infinity, or LAPACK does not converge.

    Notes
    -----
    About 20n³ flops for square matrices; mn + (m + n)k entries and LAPACK's workspace once for the batch.

    Examples
    --------
    >>> gesdd([[0., 2.], [1., 0.]])[1]
    array([2., 1.])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray _a = read(&b, matrix(&b, A, "gesdd", "A"))
    cdef cnp.ndarray u = fresh(&b, b.m, b.k), s = fresh_vectors(&b, b.k), vh = fresh(&b, b.k, b.n)
    if b.k > 0:
        b.work_size = (
            gesdd_query[float](NULL, b.m, b.n) if b.dtype == cnp.NPY_FLOAT
            else gesdd_query[double](NULL, b.m, b.n)
        )
    b.work_size += <Py_ssize_t> b.m * b.n + (<Py_ssize_t> b.m + b.n) * b.k
    b.iwork_size = 8 * <Py_ssize_t> b.k
    b.weight = 30
    if run(&b, gesdd_item[float], gesdd_item[double]):
        reason = "A holds NaN or infinity" if b.info < 0 else "no convergence"
        raise LinAlgError(f"gesdd: {reason}{place(&b)}")
    return u, s, vh


cdef blas_int gesdd_pullback_item(floating *U, Batch *b) noexcept nogil:
    cdef floating *U_bar = NULL
    cdef floating *s_bar = NULL
    cdef floating *Vh_bar = NULL
    cdef int i = 4
    if b.lower:
        U_bar = <floating *> b.item[i]
        i += 1
    if b.rightside:
        s_bar = <floating *> b.item[i]
        i += 1
    if b.transpose:
        Vh_bar = <floating *> b.item[i]
    gesdd_pullback_one(b.m, b.n, U, <floating *> b.item[1], <floating *> b.item[2], U_bar, s_bar, Vh_bar,
                       <floating *> b.item[3], <floating *> b.work)
    return 0


def gesdd_pullback(U, s, Vh, U_bar, s_bar, Vh_bar):
    """Pullback of `gesdd`: A_bar = U P_bar Vh, and a part outside of the span of U or V if A is not square.

    P_bar = diag(s_bar) + (K_U + K_V)_ij / (s_j - s_i) + (K_U - K_V)_ij / (s_j + s_i), where K_U and K_V are
    the skew parts of UᵀU_bar and VᵀV_bar.

    Parameters
    ----------
    U, s, Vh : array_like
        From `gesdd`. Values must be well apart (`nearly_equal`); if A is not square, also away from zero.
    U_bar : (..., m, k) array_like or None
    s_bar : (..., k) array_like or None
    Vh_bar : (..., k, n) array_like or None
        None counts as zero; one of the three must be given.

    Returns
    -------
    A_bar : (..., m, n) ndarray

    Notes
    -----
    4mk² + 2nk² + 2mnk flops (for s_bar alone 2mnk), a workspace of 2k² + max(m, n) k entries.
    Townsend (2016), "Differentiating the singular value decomposition".

    Examples
    --------
    >>> gesdd_pullback([[1., 0.], [0., 1.]], [2., 1.], [[0., 1.], [1., 0.]], None, [3., 4.], None)
    array([[0., 3.],
           [4., 0.]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray u, values, vh, ub, sb, vb, a_bar
    u, values, vh = factors(&b, U, s, Vh, "gesdd_pullback")
    b.lower, b.rightside, b.transpose = U_bar is not None, s_bar is not None, Vh_bar is not None
    if not (b.lower or b.rightside or b.transpose):
        raise ValueError("gesdd_pullback: one of U_bar, s_bar and Vh_bar must be given")
    if b.lower:
        ub = fitting(&b, U_bar, b.m, b.k, "gesdd_pullback", "U_bar")
    if b.rightside:
        sb = fitting(&b, s_bar, -1, b.k, "gesdd_pullback", "s_bar")
    if b.transpose:
        vb = fitting(&b, Vh_bar, b.k, b.n, "gesdd_pullback", "Vh_bar")
    u = read(&b, u)
    values = read(&b, values, 1)
    vh = read(&b, vh)
    a_bar = fresh(&b, b.m, b.n)
    if b.lower:
        ub = read(&b, ub)
    if b.rightside:
        sb = read(&b, sb, 1)
    if b.transpose:
        vb = read(&b, vb)
    b.work_size = 2 * <Py_ssize_t> b.k * b.k + <Py_ssize_t> (b.m if b.m > b.n else b.n) * b.k
    b.weight = 8
    run(&b, gesdd_pullback_item[float], gesdd_pullback_item[double])
    return a_bar


cdef blas_int gesdd_pushforward_item(floating *U, Batch *b) noexcept nogil:
    gesdd_pushforward_one(b.m, b.n, U, <floating *> b.item[1], <floating *> b.item[2],
                          <floating *> b.item[3], <floating *> b.item[4], <floating *> b.item[5],
                          <floating *> b.item[6], <floating *> b.work)
    return 0


def gesdd_pushforward(U, s, Vh, A_dot):
    """Pushforward of `gesdd`: s_dot = diag(P), U_dot = U Ω, Vh_dot = Ψᵀ Vh with P = Uᵀ A_dot V, and a part
    outside of the span of U or V if A is not square.

    Ω and Ψ are skew: (Ω + Ψ)_ij = (P + Pᵀ)_ij / (s_j - s_i), (Ω - Ψ)_ij = (P - Pᵀ)_ij / (s_j + s_i).

    Parameters
    ----------
    U, s, Vh : array_like
        From `gesdd`. Values must be well apart (`nearly_equal`); if A is not square, also away from zero.
    A_dot : (..., m, n) array_like

    Returns
    -------
    U_dot : (..., m, k) ndarray
    s_dot : (..., k) ndarray
    Vh_dot : (..., k, n) ndarray

    Notes
    -----
    2mnk + 4mk² + 2nk² flops, a workspace of 2k² entries.
    Townsend (2016), "Differentiating the singular value decomposition".

    Examples
    --------
    >>> gesdd_pushforward([[1., 0.], [0., 1.]], [2., 1.], [[0., 1.], [1., 0.]], [[0., 3.], [4., 0.]])[1]
    array([3., 4.])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray u, values, vh, ad, ud, sd, vd
    u, values, vh = factors(&b, U, s, Vh, "gesdd_pushforward")
    ad = fitting(&b, A_dot, b.m, b.n, "gesdd_pushforward", "A_dot")
    u = read(&b, u)
    values = read(&b, values, 1)
    vh = read(&b, vh)
    ad = read(&b, ad)
    ud = fresh(&b, b.m, b.k)
    sd = fresh_vectors(&b, b.k)
    vd = fresh(&b, b.k, b.n)
    b.work_size = 2 * <Py_ssize_t> b.k * b.k
    b.weight = 8
    run(&b, gesdd_pushforward_item[float], gesdd_pushforward_item[double])
    return ud, sd, vd
