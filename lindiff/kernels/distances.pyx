"""Squared distances between the rows of two matrices, r²_ij = |x_i - z_j|².

Few columns are subtracted one by one. For many, |x_i|² + |z_j|² - 2 x_i z_j is one product of matrices, and
where that cancels, of points that lie near each other, the differences are taken after all: no distance has
more than some ten units in the last place of error for each column, and that between equal rows is zero.

Their derivatives are sums of differences with weights, which of near points may be as large as the
differences are small: these are taken as they are, too.
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

# The same in derivatives, of which each difference has seven bits less then.
cdef double NEAR = 2.0 ** -14


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


# -- derivatives -----------------------------------------------------------------------------------------


cdef void weighted_by_columns(Py_ssize_t n, Py_ssize_t m, Py_ssize_t d, const floating *weights,
                              const floating *X, const floating *Zt, floating *found) noexcept nogil:
    """Σ_j w_ij (x_i - z_j), of Z's transpose."""
    cdef Py_ssize_t i, j, k
    cdef floating x, total
    for i in range(n):
        for k in range(d):
            x = X[i * d + k]
            total = 0
            for j in range(m):
                total += weights[i * m + j] * (x - Zt[k * m + j])
            found[i * d + k] = total


cdef void weighted_by_product(Py_ssize_t n, Py_ssize_t m, Py_ssize_t d, floating *weights, const floating *X,
                              const floating *Z, const floating *Xc, const floating *Zc, const floating *R,
                              const floating *of_x, const floating *of_z, floating *found) noexcept nogil:
    """The same by diag(w 1) x - w z of points about a centre; near ones are taken out of the weights."""
    cdef Py_ssize_t i, j, k
    cdef floating total, weight, near = <floating> NEAR
    for i in range(n):
        total = 0
        for k in range(d):
            found[i * d + k] = 0
        for j in range(m):
            weight = weights[i * m + j]
            if not R[i * m + j] > near * (of_x[i] + of_z[j]):
                for k in range(d):
                    found[i * d + k] += weight * (X[i * d + k] - Z[j * d + k])
                weights[i * m + j] = weight = 0
            total += weight
        for k in range(d):
            found[i * d + k] += total * Xc[i * d + k]
    rowmajor.gemm(PLAIN, PLAIN, <blas_int> n, <blas_int> d, <blas_int> m, -1, weights, <blas_int> m,
                  Zc, <blas_int> d, 1, found, <blas_int> d)


cdef void directed_by_columns(Py_ssize_t n, Py_ssize_t m, Py_ssize_t d, const floating *W,
                              const floating *X, const floating *Zt, floating *found) noexcept nogil:
    """Σ_k w_ik (x_ik - z_jk), of Z's transpose."""
    cdef Py_ssize_t i, j, k
    cdef floating x, w
    for i in range(n):
        for j in range(m):
            found[i * m + j] = 0
        for k in range(d):
            x, w = X[i * d + k], W[i * d + k]
            for j in range(m):
                found[i * m + j] += w * (x - Zt[k * m + j])


cdef void directed_by_product(Py_ssize_t n, Py_ssize_t m, Py_ssize_t d, const floating *W, const floating *X,
                              const floating *Z, const floating *Xc, const floating *Zc, const floating *R,
                              const floating *of_x, const floating *of_z, floating *found) noexcept nogil:
    """The same by w_i x_i - w_i z_j of points about a centre, and by differences of near ones."""
    cdef Py_ssize_t i, j, k
    cdef floating own, total, near = <floating> NEAR
    rowmajor.gemm(PLAIN, TRANSPOSE, <blas_int> n, <blas_int> m, <blas_int> d, -1, W, <blas_int> d,
                  Zc, <blas_int> d, 0, found, <blas_int> m)
    for i in range(n):
        own = 0
        for k in range(d):
            own += W[i * d + k] * Xc[i * d + k]
        for j in range(m):
            if R[i * m + j] > near * (of_x[i] + of_z[j]):
                found[i * m + j] += own
                continue
            total = 0
            for k in range(d):
                total += W[i * d + k] * (X[i * d + k] - Z[j * d + k])
            found[i * m + j] = total


cdef object derivative(bint directed, cnp.ndarray W, cnp.ndarray X, cnp.ndarray Z, cnp.ndarray R,
                       cnp.ndarray found, floating zero):
    """Weighted differences, or directed ones; zero gives the type.  Of many columns W is written to."""
    cdef Py_ssize_t n = X.shape[0], m = Z.shape[0], d = X.shape[1]
    cdef bint few = d <= SUBTRACTED_COLUMNS
    center = 0 if few else Z.mean(axis=0)
    cdef cnp.ndarray other = np.ascontiguousarray(Z.T) if few else Z - center
    cdef cnp.ndarray about = X if few else X - center, norms = np.empty(n + m, R.dtype)
    cdef floating *w = <floating *> W.data
    cdef floating *x = <floating *> X.data
    cdef floating *z = <floating *> Z.data
    cdef floating *xc = <floating *> about.data
    cdef floating *zc = <floating *> other.data
    cdef floating *r = <floating *> R.data
    cdef floating *of_x = <floating *> norms.data
    cdef floating *result = <floating *> found.data
    with nogil:
        if few and directed:
            directed_by_columns(n, m, d, w, x, zc, result)
        elif few:
            weighted_by_columns(n, m, d, w, x, zc, result)
        else:
            squares(n, d, xc, of_x)
            squares(m, d, zc, of_x + n)
            if directed:
                directed_by_product(n, m, d, w, x, z, xc, zc, r, of_x, of_x + n, result)
            else:
                weighted_by_product(n, m, d, w, x, z, xc, zc, r, of_x, of_x + n, result)


cdef object derivative_of(bint directed, W, X, Z, R):
    cdef object dtype = np.result_type(W, X, Z, R)
    cdef object shape = (X.shape[0], Z.shape[0] if directed else X.shape[1])
    found = np.zeros(shape, dtype)
    if not X.size or not Z.size:
        return found
    writes = not directed and X.shape[1] > SUBTRACTED_COLUMNS
    W = np.array(W, dtype, order="C") if writes else np.ascontiguousarray(W, dtype)
    X, Z, R = (np.ascontiguousarray(x, dtype) for x in (X, Z, R))
    if dtype == np.float32:
        derivative[float](directed, W, X, Z, R, found, 0)
    else:
        derivative[double](directed, W, X, Z, R, found, 0)
    return found


def weighted_differences(weights, X, Z, R):
    """Σ_j w_ij (x_i - z_j) of the rows of two matrices.

    Parameters
    ----------
    weights : (n, m) ndarray
    X, Z : (n, d), (m, d) ndarray
        Real floats, as the weights.
    R : (n, m) ndarray
        Their squared distances.

    Returns
    -------
    (n, d) ndarray

    Notes
    -----
    2 n m d flops.  Where columns are many, a copy of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> X, Z = np.array([[1.0], [3.0]]), np.zeros((1, 1))
    >>> weighted_differences(np.array([[2.0], [1.0]]), X, Z, squared_distances(X, Z))
    array([[2.],
           [3.]])
    """
    return derivative_of(False, weights, X, Z, R)


def directed_differences(W, X, Z, R):
    """Σ_k w_ik (x_ik - z_jk) of the rows of two matrices.

    Parameters
    ----------
    W, X, Z : (n, d), (n, d), (m, d) ndarray
        Real floats.
    R : (n, m) ndarray
        Squared distances of X and Z.

    Returns
    -------
    (n, m) ndarray

    Notes
    -----
    2 n m d flops.

    Examples
    --------
    >>> import numpy as np
    >>> X, Z = np.array([[1.0], [3.0]]), np.zeros((1, 1))
    >>> directed_differences(np.array([[2.0], [1.0]]), X, Z, squared_distances(X, Z))
    array([[2.],
           [3.]])
    """
    return derivative_of(True, W, X, Z, R)
