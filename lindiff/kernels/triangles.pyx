"""Triangles of a square matrix, in place: tril, triu, copyltu (Seeger et al. 2017, 4.1); the transpose."""

cimport numpy as cnp

from lindiff.kernels.batch cimport Batch, own, run, square, start
from lindiff.kernels.scalar cimport complex64, complex128, conj_if, real, times_real

cnp.import_array()

cdef enum:
    TILE = 32   # block of a transposition that stays in cache


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
