"""Squared distances between the rows of two matrices, r²_ij = |x_i - z_j|².

Few columns are subtracted one by one. For many, |x_i|² + |z_j|² - 2 x_i z_j is one product of matrices, and
where that cancels, of points that lie near each other, the differences are taken after all: no distance has
more than some ten units in the last place of error for each column, and that between equal rows is zero.
"""

cimport numpy as cnp

from lindiff.kernels cimport rowmajor
from lindiff.kernels.rowmajor cimport PLAIN, TRANSPOSE, blas_int
from lindiff.kernels.scalar cimport floating
from lindiff.kernels.sizes cimport SUBTRACTED_COLUMNS

import numpy as np

cnp.import_array()

# What is left of |x|² + |z|² where the difference of both is taken: five bits have cancelled.
cdef double CANCELLED = 1.0 / 32


cdef void by_columns(Py_ssize_t n, Py_ssize_t m, Py_ssize_t d, const floating *X, const floating *Zt,
                     floating *R) noexcept nogil:
    """R := Σ_k (x_ik - z_jk)², of Z's transpose."""
    cdef Py_ssize_t i, j, k
    cdef floating x, difference
    for i in range(n):
        for j in range(m):
            R[i * m + j] = 0
        for k in range(d):
            x = X[i * d + k]
            for j in range(m):
                difference = x - Zt[k * m + j]
                R[i * m + j] += difference * difference


cdef void squares(Py_ssize_t n, Py_ssize_t d, const floating *X, floating *norms) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef floating total
    for i in range(n):
        total = 0
        for k in range(d):
            total += X[i * d + k] * X[i * d + k]
        norms[i] = total


cdef floating difference_squared(Py_ssize_t d, const floating *x, const floating *z) noexcept nogil:
    cdef Py_ssize_t k
    cdef floating total = 0
    for k in range(d):
        total += (x[k] - z[k]) * (x[k] - z[k])
    return total


cdef void by_product(Py_ssize_t n, Py_ssize_t m, Py_ssize_t d, const floating *X, const floating *Z,
                     const floating *Xc, const floating *Zc, const floating *of_x, const floating *of_z,
                     floating *R) noexcept nogil:
    """R := |x|² + |z|² - 2 x zᵀ of points about a centre, and differences of the given ones where less than
    CANCELLED is left, or what is no number.
    """
    cdef Py_ssize_t i, j
    cdef floating both, left, cancelled = <floating> CANCELLED
    cdef bint all_far
    rowmajor.gemm(PLAIN, TRANSPOSE, <blas_int> n, <blas_int> m, <blas_int> d, -2, Xc, <blas_int> d,
                  Zc, <blas_int> d, 0, R, <blas_int> m)
    for i in range(n):
        all_far = True
        for j in range(m):
            both = of_x[i] + of_z[j]
            left = R[i * m + j] + both
            R[i * m + j] = left
            all_far &= left > cancelled * both
        if all_far:
            continue
        for j in range(m):
            if not R[i * m + j] > cancelled * (of_x[i] + of_z[j]):
                R[i * m + j] = difference_squared(d, X + i * d, Z + j * d)


cdef object subtract(cnp.ndarray X, cnp.ndarray Z, cnp.ndarray R, floating zero):
    """R := r² of few columns; zero gives the type."""
    cdef cnp.ndarray other = np.ascontiguousarray(Z.T)
    cdef Py_ssize_t n = X.shape[0], m = Z.shape[0], d = X.shape[1]
    cdef floating *x = <floating *> X.data
    cdef floating *zt = <floating *> other.data
    cdef floating *r = <floating *> R.data
    with nogil:
        by_columns(n, m, d, x, zt, r)


cdef object multiply(cnp.ndarray X, cnp.ndarray Z, cnp.ndarray R, floating zero):
    """R := r² of many columns; zero gives the type."""
    cdef Py_ssize_t n = X.shape[0], m = Z.shape[0], d = X.shape[1]
    center = Z.mean(axis=0)
    cdef cnp.ndarray about = X - center, others_about = Z - center, norms = np.empty(n + m, R.dtype)
    cdef floating *x = <floating *> X.data
    cdef floating *z = <floating *> Z.data
    cdef floating *xc = <floating *> about.data
    cdef floating *zc = <floating *> others_about.data
    cdef floating *of_x = <floating *> norms.data
    cdef floating *r = <floating *> R.data
    with nogil:
        squares(n, d, xc, of_x)
        squares(m, d, zc, of_x + n)
        by_product(n, m, d, x, z, xc, zc, of_x, of_x + n, r)


def squared_distances(X, Z):
    """|x_i - z_j|² of the rows of two matrices.

    Parameters
    ----------
    X : (n, d) array_like
    Z : (m, d) array_like
        Real.

    Returns
    -------
    (n, m) ndarray

    Raises
    ------
    ValueError
        If these are no matrices of as many columns.

    Notes
    -----
    2 n m d flops. Where columns are many, points are taken about the mean of Z: a copy of both.

    Examples
    --------
    >>> squared_distances([[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0]])
    array([[ 0.],
           [25.]])
    """
    X, Z = np.asarray(X), np.asarray(Z)
    dtype = np.result_type(X, Z)
    if dtype.kind == "c":
        raise TypeError("squared_distances: points are real; put real and imaginary parts beside each other")
    if dtype != np.float32:
        dtype = np.float64
    X, Z = np.ascontiguousarray(X, dtype), np.ascontiguousarray(Z, dtype)
    if X.ndim != 2 or Z.ndim != 2 or X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"squared_distances: needs matrices with as many columns, got shapes {X.shape} and {Z.shape}"
        )
    R = np.empty((X.shape[0], Z.shape[0]), dtype)
    if R.size and X.shape[1] <= SUBTRACTED_COLUMNS:
        if dtype == np.float32:
            subtract[float](X, Z, R, 0)
        else:
            subtract[double](X, Z, R, 0)
    elif R.size:
        if dtype == np.float32:
            multiply[float](X, Z, R, 0)
        else:
            multiply[double](X, Z, R, 0)
    return R
