"""Inverse and determinant, forward and backward, from the LU factors of `lu.pyx`: A = L U P.

Expressions: Giles (2008), sections 2.2.3 and 2.2.4.
"""

cimport numpy as cnp
from libc.math cimport log
from libc.string cimport memcpy

from lindiff.kernels.batch cimport (
    Batch, enter, fresh, fresh_integers, fresh_scalars, own, read, read_integers, run, same_matrix,
    square, start,
)
from lindiff.kernels.lu cimport exchange, getrf_one, singular_matrix
from lindiff.kernels.products cimport gemm_one
from lindiff.kernels.rowmajor cimport ADJOINT, PLAIN, blas_int
from lindiff.kernels.scalar cimport absolute, complex64, complex128, conjugate_all, reciprocal, scalar
from lindiff.kernels.sizes cimport GETRI_LEAF
from lindiff.kernels.triangles cimport transpose_into, zero_pivot

cnp.import_array()


# ---- one matrix ----------------------------------------------------------------------------------

cdef void invert_lower(Py_ssize_t n, scalar *X, Py_ssize_t ldx, scalar *T) noexcept nogil:
    """X := X⁻¹ for a lower triangle with zeros above it; T is a workspace of n² / 4 entries.

    By halves: [X₁ 0; C X₂]⁻¹ = [X₁⁻¹ 0; -X₂⁻¹ C X₁⁻¹ X₂⁻¹].
    """
    cdef Py_ssize_t i, j, c, h = n // 2
    cdef scalar x, inverse
    if n > GETRI_LEAF:
        invert_lower(h, X, ldx, T)
        invert_lower(n - h, X + h * (ldx + 1), ldx, T)
        gemm_one(PLAIN, PLAIN, <blas_int> (n - h), <blas_int> h, <blas_int> h, 1,
                 X + h * ldx, <blas_int> ldx, X, <blas_int> ldx, 0, T, <blas_int> h)
        gemm_one(PLAIN, PLAIN, <blas_int> (n - h), <blas_int> h, <blas_int> (n - h), -1,
                 X + h * (ldx + 1), <blas_int> ldx, T, <blas_int> h, 0,
                 X + h * ldx, <blas_int> ldx)
        return
    for i in range(n):
        inverse = reciprocal(X[i * ldx + i])
        for j in range(i):
            X[i * ldx + j] *= -inverse
        for j in range(i):   # column j has its new value only after row j has been added
            x = X[i * ldx + j]
            X[i * ldx + j] = 0
            for c in range(j + 1):
                X[i * ldx + c] += x * X[j * ldx + c]
        X[i * ldx + i] = inverse


cdef void solve_unit_upper(Py_ssize_t n, Py_ssize_t k, const scalar *U, Py_ssize_t ldu, scalar *X,
                           Py_ssize_t ldx) noexcept nogil:
    """X := U⁻¹ X, X of shape (n, k), U upper with a diagonal of ones, by halves."""
    cdef Py_ssize_t i, j, c, h = n // 2
    cdef scalar u
    if n > GETRI_LEAF:
        solve_unit_upper(n - h, k, U + h * (ldu + 1), ldu, X + h * ldx, ldx)
        gemm_one(PLAIN, PLAIN, <blas_int> h, <blas_int> k, <blas_int> (n - h), -1,
                 U + h, <blas_int> ldu, X + h * ldx, <blas_int> ldx, 1, X, <blas_int> ldx)
        solve_unit_upper(h, k, U, ldu, X, ldx)
        return
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            u = U[i * ldu + j]
            for c in range(k):
                X[i * ldx + c] -= u * X[j * ldx + c]


cdef void inverse_one(blas_int n, const scalar *LU, Py_ssize_t ldlu, const blas_int *piv,
                      scalar *X, Py_ssize_t ldx, scalar *T) noexcept nogil:
    """X := A⁻¹ = Pᵀ U⁻¹ L⁻¹ from regular factors; T is a workspace of n² / 4 entries.

    Nearly all of it is gemm: LAPACK's getri, made of trtri and trsm, takes twice as long.
    """
    cdef Py_ssize_t i, j
    for i in range(n):
        for j in range(n):
            X[i * ldx + j] = LU[i * ldlu + j] if j <= i else 0
    invert_lower(n, X, ldx, T)
    solve_unit_upper(n, n, LU, ldlu, X, ldx)
    for i in range(n - 1, -1, -1):
        if piv[i] != i:
            exchange(n, X + i * ldx, X + piv[i] * ldx, 1)


# ---- arrays --------------------------------------------------------------------------------------

cdef Py_ssize_t factors_and_quarter(Py_ssize_t n) noexcept:
    """Entries of workspace: a matrix, and what `inverse_one` needs."""
    return n * n + (n + 1) * (n + 1) // 4


cdef blas_int getri_item(scalar *LU, Batch *b) noexcept nogil:
    cdef scalar *copy = <scalar *> b.work
    cdef blas_int info = zero_pivot(b.n, LU, b.n)
    if info == 0 and b.n > 0:
        memcpy(copy, LU, <size_t> b.n * b.n * sizeof(scalar))
        inverse_one(b.n, copy, b.n, <blas_int *> b.item[1], LU, b.n, copy + <Py_ssize_t> b.n * b.n)
    return info


def getri(LU, piv, bint overwrite_lu=False):
    """Inverse from the factors of `getrf`.

    Parameters
    ----------
    LU : (..., n, n) array_like
    piv : (..., n) array_like of int
        Both from `getrf`.
    overwrite_lu : bool
        The inverse may overwrite LU.

    Returns
    -------
    B : (..., n, n) ndarray

    Raises
    ------
    numpy.linalg.LinAlgError
        If A was singular.

    Notes
    -----
    4n³/3 flops; 1¼ temporary n × n matrices.

    Examples
    --------
    >>> getri(*getrf([[1., 0.], [2., 4.]]))
    array([[ 1.  ,  0.  ],
           [-0.5 ,  0.25]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray lu = own(&b, square(&b, LU, "getri", "LU"), overwrite_lu), _piv
    _piv = read_integers(&b, piv, b.n, "getri", "piv")
    b.work_size = factors_and_quarter(b.n)
    b.weight = 4
    if run(&b, getri_item[float], getri_item[double], getri_item[complex64], getri_item[complex128]):
        raise singular_matrix(&b, "getri")
    return lu


cdef blas_int inverse_item(scalar *A, Batch *b) noexcept nogil:
    cdef scalar *LU = <scalar *> b.work
    cdef blas_int info
    if b.n == 0:
        return 0
    memcpy(LU, A, <size_t> b.n * b.n * sizeof(scalar))
    info = getrf_one(b.n, LU, b.n, b.iwork)
    if info == 0:
        inverse_one(b.n, LU, b.n, b.iwork, <scalar *> b.item[1], b.n, LU + <Py_ssize_t> b.n * b.n)
    return info


def inverse(A):
    """Inverse of a square matrix.

    Parameters
    ----------
    A : (..., n, n) array_like

    Returns
    -------
    B : (..., n, n) ndarray

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is singular.

    Notes
    -----
    2n³ flops; 1¼ temporary n × n matrices.

    Examples
    --------
    >>> inverse([[1., 0.], [2., 4.]])
    array([[ 1.  ,  0.  ],
           [-0.5 ,  0.25]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray _a = read(&b, square(&b, A, "inverse", "A")), x = fresh(&b, b.n, b.n)
    b.work_size = factors_and_quarter(b.n)
    b.iwork_size = b.n
    b.weight = 4
    if run(&b, inverse_item[float], inverse_item[double], inverse_item[complex64], inverse_item[complex128]):
        raise singular_matrix(&b, "inverse")
    return x


cdef blas_int between_item(scalar *B, Batch *b) noexcept nogil:
    """The last operand := -t(B) X t(B), X the second."""
    cdef scalar *T = <scalar *> b.work
    gemm_one(PLAIN, b.transpose, b.n, b.n, b.n, 1, <scalar *> b.item[1], b.n, B, b.n,
             0, T, b.n)
    gemm_one(b.transpose, PLAIN, b.n, b.n, b.n, -1, B, b.n, T, b.n,
             0, <scalar *> b.item[b.operands - 1], b.n)
    return 0


cdef object between(str operator, object B, object X, str argument, int transpose, bint overwrite_x):
    """-t(B) X t(B)."""
    cdef Batch b
    start(&b)
    b.transpose = transpose
    cdef cnp.ndarray inverse = square(&b, B, operator, "B"), x = enter(&b, X, operator, argument), y
    same_matrix(inverse, x, operator, "B", argument)
    inverse = read(&b, inverse)
    if overwrite_x:
        y = own(&b, x, True)
    else:
        x = read(&b, x)
        y = fresh(&b, b.n, b.n)
    b.work_size = <Py_ssize_t> b.n * b.n
    b.weight = 4
    run(&b, between_item[float], between_item[double], between_item[complex64], between_item[complex128])
    return y


def inverse_pullback(B, B_bar, bint overwrite_b_bar=False):
    """Pullback of `inverse`: A_bar = -Bᴴ B_bar Bᴴ.

    Parameters
    ----------
    B : (..., n, n) array_like
        The result of `inverse`.
    B_bar : (..., n, n) array_like
    overwrite_b_bar : bool
        A_bar may overwrite B_bar.

    Returns
    -------
    A_bar : (..., n, n) ndarray

    Notes
    -----
    4n³ flops; one temporary n × n matrix. Giles (2008), section 2.2.3.

    Examples
    --------
    >>> inverse_pullback([[0.5]], [[1.]])
    array([[-0.25]])
    """
    return between("inverse_pullback", B, B_bar, "B_bar", ADJOINT, overwrite_b_bar)


def inverse_pushforward(B, A_dot):
    """Pushforward of `inverse`: B_dot = -B A_dot B.

    Parameters
    ----------
    B : (..., n, n) array_like
        The result of `inverse`.
    A_dot : (..., n, n) array_like

    Returns
    -------
    B_dot : (..., n, n) ndarray

    Notes
    -----
    4n³ flops; one temporary n × n matrix. Giles (2008), section 2.2.3.

    Examples
    --------
    >>> inverse_pushforward([[0.5]], [[1.]])
    array([[-0.25]])
    """
    return between("inverse_pushforward", B, A_dot, "A_dot", PLAIN, False)


cdef inline int sign_of_exchanges(Py_ssize_t n, const blas_int *piv) noexcept nogil:
    cdef Py_ssize_t i
    cdef int sign = 1
    for i in range(n):
        if piv[i] != i:
            sign = -sign
    return sign


cdef blas_int det_item(scalar *A, Batch *b) noexcept nogil:
    cdef blas_int *piv = <blas_int *> b.item[1]
    cdef Py_ssize_t i
    cdef scalar d
    getrf_one(b.n, A, b.n, piv)
    d = sign_of_exchanges(b.n, piv)
    for i in range(b.n):
        d *= A[i * (b.n + 1)]
    (<scalar *> b.item[2])[0] = d
    return 0


def det(A):
    """Determinant, and the factors that its derivative needs.

    Parameters
    ----------
    A : (..., n, n) array_like

    Returns
    -------
    d : (...) ndarray
    LU : (..., n, n) ndarray
    piv : (..., n) ndarray of int
        The factors of `getrf`.

    Notes
    -----
    2n³/3 flops, no memory but the results.

    Examples
    --------
    >>> det([[1., 4.], [2., 4.]])[0]
    array(-4.)
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray a = own(&b, square(&b, A, "det", "A")), piv = fresh_integers(&b, b.n)
    cdef cnp.ndarray d = fresh_scalars(&b)
    run(&b, det_item[float], det_item[double], det_item[complex64], det_item[complex128])
    return d, a, piv


cdef blas_int slogdet_item(scalar *A, Batch *b) noexcept nogil:
    cdef blas_int *piv = <blas_int *> b.item[1]
    cdef Py_ssize_t i
    cdef scalar d, sign
    cdef double size, total = 0
    getrf_one(b.n, A, b.n, piv)
    sign = sign_of_exchanges(b.n, piv)
    for i in range(b.n):
        d = A[i * (b.n + 1)]
        size = absolute(d)
        total += log(size)
        if size != 0:
            d /= size
        sign *= d
    (<scalar *> b.item[2])[0] = sign
    if scalar is float or scalar is complex64:
        (<float *> b.item[3])[0] = <float> total
    else:
        (<double *> b.item[3])[0] = total
    return 0


def slogdet(A):
    """Sign and logarithm of the absolute value of the determinant, and the factors that they come from.

    Parameters
    ----------
    A : (..., n, n) array_like

    Returns
    -------
    sign, logabsdet : (...) ndarray
        0 and -inf for a singular matrix.
    LU : (..., n, n) ndarray
    piv : (..., n) ndarray of int
        The factors of `getrf`.

    Notes
    -----
    2n³/3 flops, no memory but the results.

    Examples
    --------
    >>> slogdet([[1., 4.], [2., 4.]])[:2]
    (array(-1.), array(1.38629436))
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray a = own(&b, square(&b, A, "slogdet", "A")), piv = fresh_integers(&b, b.n)
    cdef cnp.ndarray sign = fresh_scalars(&b), logabsdet = fresh_scalars(&b, True)
    run(&b, slogdet_item[float], slogdet_item[double], slogdet_item[complex64], slogdet_item[complex128])
    return sign, logabsdet, a, piv


cdef blas_int slogdet_pullback_item(scalar *LU, Batch *b) noexcept nogil:
    cdef scalar *X = <scalar *> b.work
    cdef blas_int info = zero_pivot(b.n, LU, b.n)
    if info == 0:
        inverse_one(b.n, LU, b.n, <blas_int *> b.item[1], X, b.n, X + <Py_ssize_t> b.n * b.n)
        conjugate_all(b.n, b.n, X, b.n)
        transpose_into(b.n, b.n, (<scalar *> b.item[2])[0], X, b.n, <scalar *> b.item[3], b.n)
    return info


def slogdet_pullback(LU, piv, log_bar):
    """Pullback of log|det A|: A_bar = log_bar A⁻ᴴ. That of det A, too, with log_bar = d_bar d̄.

    Parameters
    ----------
    LU : (..., n, n) array_like
    piv : (..., n) array_like of int
        From `slogdet`, `det` or `getrf`.
    log_bar : (...) array_like
        Complex where the sign of a complex determinant has a cotangent, too: less i Im(sign_bar̄ sign).

    Returns
    -------
    A_bar : (..., n, n) ndarray

    Raises
    ------
    numpy.linalg.LinAlgError
        If A was singular.

    Notes
    -----
    4n³/3 flops; 1¼ temporary n × n matrices. Giles (2008), section 2.2.4.

    Examples
    --------
    >>> slogdet_pullback(*getrf([[2., 0.], [0., 4.]]), 1.)
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray lu = square(&b, LU, "slogdet_pullback", "LU"), _piv, a_bar
    cdef cnp.ndarray scale = enter(&b, log_bar, "slogdet_pullback", "log_bar", 0)
    lu = read(&b, lu)
    _piv = read_integers(&b, piv, b.n, "slogdet_pullback", "piv")
    scale = read(&b, scale, 0)
    a_bar = fresh(&b, b.n, b.n)
    b.work_size = factors_and_quarter(b.n)
    if run(&b, slogdet_pullback_item[float], slogdet_pullback_item[double],
           slogdet_pullback_item[complex64], slogdet_pullback_item[complex128]):
        raise singular_matrix(&b, "slogdet")
    return a_bar
