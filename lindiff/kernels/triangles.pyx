"""Triangles of a square matrix, in place: tril, triu, copyltu (Seeger et al. 2017, 4.1); the transpose."""

cimport numpy as cnp
from libc.float cimport DBL_EPSILON, FLT_EPSILON

from lindiff.kernels.batch cimport Batch, own, read, register, run, square, start
from lindiff.kernels.scalar cimport complex64, complex128, conj_if, real, size, times_real
from lindiff.kernels.sizes cimport TRANSPOSE_TILE as TILE

import numpy as np

cnp.import_array()


# How far, relatively, rounding parts an entry and its mirror image: a quarter of the digits, ε^¾.
cdef double ROUNDING_SINGLE = FLT_EPSILON ** 0.75
cdef double ROUNDING_DOUBLE = DBL_EPSILON ** 0.75


cdef void keep_triangle(bint lower, blas_int n, scalar *X, blas_int ldx) noexcept nogil:
    """X := tril(X) or triu(X)."""
    cdef Py_ssize_t i, j, ld = ldx
    for i in range(n):
        if lower:
            for j in range(i + 1, n):
                X[i * ld + j] = 0
        else:
            for j in range(i):
                X[i * ld + j] = 0


cdef inline void copy_over(bint lower, bint hermitian, blas_int n, double scale, scalar *X,
                           blas_int ldx) noexcept nogil:
    """The named triangle times `scale`, in both triangles; tile by tile."""
    cdef Py_ssize_t i, j, row, column, last, ld = ldx
    cdef scalar x, s = <scalar> scale
    for row in range((n + TILE - 1) // TILE):
        for column in range(row + 1):
            for i in range(row * TILE, row * TILE + TILE if row * TILE + TILE < n else n):
                last = column * TILE + TILE if column < row else i + 1
                for j in range(column * TILE, last):
                    x = X[i * ld + j] if lower else conj_if(hermitian, X[j * ld + i])
                    x = times_real(x, s)
                    X[i * ld + j] = x
                    X[j * ld + i] = conj_if(hermitian, x)
    if hermitian:
        keep_real_diagonal(n, X, ldx)


cdef inline void keep_real_diagonal(blas_int n, scalar *X, blas_int ldx) noexcept nogil:
    cdef Py_ssize_t i, ld = ldx
    if scalar is complex64 or scalar is complex128:
        for i in range(n):
            X[i * (ld + 1)] = real(X[i * (ld + 1)])


cdef void mirror(bint lower, blas_int n, double scale, scalar *X, blas_int ldx) noexcept nogil:
    """X := scale * copyltu(X), Hermitian with a real diagonal; lower=False copies the upper triangle down."""
    copy_over(lower, True, n, scale, X, ldx)


cdef void mirror_symmetric(bint lower, blas_int n, scalar *X, blas_int ldx) noexcept nogil:
    """X := the symmetric matrix of the named triangle, without conjugation."""
    copy_over(lower, False, n, 1, X, ldx)


cdef void transpose_square(Py_ssize_t n, scalar *X, Py_ssize_t ldx) noexcept nogil:
    """X := Xᵀ."""
    cdef Py_ssize_t i, j
    cdef scalar x
    for i in range(n):
        for j in range(i):
            x = X[i * ldx + j]
            X[i * ldx + j] = X[j * ldx + i]
            X[j * ldx + i] = x


cdef void transpose_into(Py_ssize_t m, Py_ssize_t n, scalar alpha, const scalar *X, Py_ssize_t ldx,
                         scalar *Y, Py_ssize_t ldy) noexcept nogil:
    """Y := alpha Xᵀ, X of shape (m, n)."""
    cdef Py_ssize_t i, j, row = 0, column, below, right
    while row < m:
        below = row + TILE if row + TILE < m else m
        column = 0
        while column < n:
            right = column + TILE if column + TILE < n else n
            for j in range(column, right):
                for i in range(row, below):
                    Y[j * ldy + i] = alpha * X[i * ldx + j]
            column = right
        row = below


cdef blas_int zero_pivot(blas_int n, const scalar *L, blas_int ldl) noexcept nogil:
    """1 + the index of the first zero on the diagonal; 0 if there is none."""
    cdef Py_ssize_t i, ld = ldl
    for i in range(n):
        if L[i * ld + i] == 0:
            return <blas_int> i + 1
    return 0


# ---- entries without a mirror image --------------------------------------------------------------

cdef inline bint is_unpaired(bint hermitian, scalar x, scalar image) noexcept nogil:
    """Whether `image` is zero, or not the mirror image of x up to rounding."""
    cdef scalar y = conj_if(hermitian, image)
    if scalar is float or scalar is complex64:
        return not (y != 0 and size(x - y) <= ROUNDING_SINGLE * size(y))
    else:
        return not (y != 0 and size(x - y) <= ROUNDING_DOUBLE * size(y))


cdef bint find_unpaired(bint lower, bint hermitian, Py_ssize_t n, const scalar *A, Py_ssize_t lda,
                        char *found) noexcept nogil:
    """Mark in `found`, which is 0, the entries of the named triangle that have no mirror image; with NULL say
    whether there are any."""
    cdef Py_ssize_t i, j, row, column, last
    cdef scalar below, above
    cdef bint unpaired
    for row in range((n + TILE - 1) // TILE):
        for column in range(row + 1):
            for i in range(row * TILE, row * TILE + TILE if row * TILE + TILE < n else n):
                last = column * TILE + TILE if column < row else i
                for j in range(column * TILE, last):
                    below, above = A[i * lda + j], A[j * lda + i]
                    if below == conj_if(hermitian, above) and below != 0:
                        continue  # as most are
                    unpaired = is_unpaired(hermitian, below, above) if lower \
                        else is_unpaired(hermitian, above, below)
                    if unpaired and found == NULL:
                        return True
                    if unpaired:
                        found[i * n + j if lower else j * n + i] = True
    return False


cdef void give_to_unpaired(Py_ssize_t n, scalar *X, Py_ssize_t ldx, const char *found) noexcept nogil:
    """X, symmetric, has the whole of a pair at an entry that was `found`, and 0 opposite."""
    cdef Py_ssize_t i, j, row, column, last
    for row in range((n + TILE - 1) // TILE):
        for column in range(row + 1):
            for i in range(row * TILE, row * TILE + TILE if row * TILE + TILE < n else n):
                last = column * TILE + TILE if column < row else i
                for j in range(column * TILE, last):
                    if found[i * n + j]:
                        X[i * ldx + j] += X[i * ldx + j]
                        X[j * ldx + i] = 0
                    elif found[j * n + i]:
                        X[j * ldx + i] += X[j * ldx + i]
                        X[i * ldx + j] = 0


cdef object unpaired_in(bint lower, cnp.ndarray A):
    """`unpaired` for plain real matrices; of one that is C-contiguous it soon says that all have an image."""
    cdef Py_ssize_t n
    if cnp.PyArray_NDIM(A) == 2 and cnp.PyArray_ISCARRAY_RO(A):
        n = cnp.PyArray_DIM(A, 0)
        if not (find_unpaired(lower, True, n, <const double *> cnp.PyArray_DATA(A), n, NULL)
                if cnp.PyArray_TYPE(A) == cnp.NPY_DOUBLE
                else find_unpaired(lower, True, n, <const float *> cnp.PyArray_DATA(A), n, NULL)):
            return None
    return unpaired(A, lower)


cdef blas_int unpaired_item(scalar *A, Batch *b) noexcept nogil:
    return find_unpaired(b.lower, b.transpose, b.n, A, b.n, b.item[1] if b.operands == 2 else NULL)


cdef bint look(cnp.ndarray A, bint lower, bint hermitian, cnp.ndarray found) except -1:
    cdef Batch b
    cdef cnp.ndarray _held  # a copy of A where that does not lie by rows
    start(&b)
    b.lower, b.transpose = lower, hermitian
    _held = read(&b, square(&b, A, "unpaired", "A"))
    if found is not None:
        register(&b, found, 2, False)
    return run(&b, unpaired_item[float], unpaired_item[double], unpaired_item[complex64],
               unpaired_item[complex128])


def unpaired(A, bint lower=True, bint hermitian=True):
    """Which entries of the named triangle have no mirror image: where that is zero, or differs in the first
    three quarters of the digits.

    Parameters
    ----------
    A : (..., n, n) array_like
    lower : bool
    hermitian : bool
        The mirror image of a complex entry is conjugated.

    Returns
    -------
    (..., n, n) ndarray of bool, or None
        None if all have one.

    Examples
    --------
    >>> unpaired([[1., 3.], [2., 4.]])
    array([[False, False],
           [ True, False]])
    >>> unpaired([[1., 2.], [2., 4.]])
    """
    cdef cnp.ndarray a = A if cnp.PyArray_CheckExact(A) else np.asarray(A)
    if not look(a, lower, hermitian, None):
        return None
    found = np.zeros(np.shape(a), np.bool_)
    look(a, lower, hermitian, found)
    return found


cdef blas_int onto_unpaired_item(scalar *X, Batch *b) noexcept nogil:
    give_to_unpaired(b.n, X, b.n, b.item[1])
    return 0


def onto_unpaired(M_bar, found, bint overwrite_m_bar=False):
    """A symmetric M_bar with the whole of a pair at an entry that was `found`, and 0 opposite.

    Parameters
    ----------
    M_bar : (..., n, n) array_like
    found : (..., n, n) array_like of bool
        From `unpaired`.
    overwrite_m_bar : bool
        The result may overwrite M_bar.

    Returns
    -------
    (..., n, n) ndarray

    Examples
    --------
    >>> onto_unpaired([[1., 2.], [2., 3.]], [[False, False], [True, False]])
    array([[1., 0.],
           [4., 3.]])
    """
    cdef Batch b
    shape = np.broadcast_shapes(np.shape(M_bar), np.shape(found))
    if np.shape(M_bar) != shape:
        M_bar = np.broadcast_to(M_bar, shape)
    start(&b)
    cdef cnp.ndarray x = own(&b, square(&b, M_bar, "onto_unpaired", "M_bar"), overwrite_m_bar)
    cdef bint shared = np.ndim(found) == 2
    cdef cnp.ndarray f = np.ascontiguousarray(found if shared else np.broadcast_to(found, shape), np.bool_)
    register(&b, f, 2, shared)
    run(&b, onto_unpaired_item[float], onto_unpaired_item[double], onto_unpaired_item[complex64],
        onto_unpaired_item[complex128])
    return x


# ---- arrays --------------------------------------------------------------------------------------

cdef blas_int copyltu_item(scalar *X, Batch *b) noexcept nogil:
    mirror(True, b.n, 1, X, b.n)
    return 0


def copyltu(X, bint overwrite_x=False):
    """The symmetric matrix that has the lower triangle of X, (..., n, n). Seeger et al. (2017), section 4.1.

    Of a complex X it is the Hermitian one; of the diagonal the real part counts.

    Examples
    --------
    >>> copyltu([[1., 9.], [2., 3.]])
    array([[1., 2.],
           [2., 3.]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray x = own(&b, square(&b, X, "copyltu", "X"), overwrite_x)
    run(&b, copyltu_item[float], copyltu_item[double], copyltu_item[complex64], copyltu_item[complex128])
    return x
