"""Squared distances between the rows of two matrices, r²_ij = |x_i - z_j|².

Few columns are subtracted one by one. For many, |x_i|² + |z_j|² - 2 x_i z_j is one product of matrices, and
where that cancels, of points that lie near each other, the differences are taken after all: no distance has
more than some ten units in the last place of error for each column, and that between equal rows is zero.

Their derivatives are sums of differences with weights, which of near points may be as large as the
differences are small: these are taken as they are, too.
"""

cimport numpy as cnp

from lindiff.kernels cimport rowmajor
from lindiff.kernels.memory cimport empty
from lindiff.kernels.rowmajor cimport PLAIN, TRANSPOSE, blas_int
from lindiff.kernels.scalar cimport floating
from lindiff.kernels.sizes cimport SUBTRACTED_COLUMNS

import numpy as np

cnp.import_array()

# What is left of |x|² + |z|² where the difference of both is taken: five bits have cancelled.
cdef double CANCELLED = 1.0 / 32

# The same in derivatives, of which each difference has seven bits less then.
cdef double NEAR = 2.0 ** -14


cdef cnp.ndarray matrix_like(Py_ssize_t rows, Py_ssize_t columns, cnp.ndarray like):
    """A matrix of the dtype of another array."""
    cdef cnp.npy_intp[2] shape = [rows, columns]
    return empty(2, shape, cnp.PyArray_TYPE(like))


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


cdef floating difference_squared(Py_ssize_t d, const floating *x, const floating *z) noexcept nogil:
    """In four sums, of which one does not wait for the other."""
    cdef Py_ssize_t k, whole = d - d % 4
    cdef floating first = 0, second = 0, third = 0, fourth = 0
    for k in range(0, whole, 4):
        first += (x[k] - z[k]) * (x[k] - z[k])
        second += (x[k + 1] - z[k + 1]) * (x[k + 1] - z[k + 1])
        third += (x[k + 2] - z[k + 2]) * (x[k + 2] - z[k + 2])
        fourth += (x[k + 3] - z[k + 3]) * (x[k + 3] - z[k + 3])
    for k in range(whole, d):
        first += (x[k] - z[k]) * (x[k] - z[k])
    return (first + second) + (third + fourth)


cdef void squares(Py_ssize_t n, Py_ssize_t d, const floating *X, const floating *center,
                  floating *norms) noexcept nogil:
    """|x - c|² of each row."""
    cdef Py_ssize_t i
    for i in range(n):
        norms[i] = difference_squared(d, X + i * d, center)


cdef void about(Py_ssize_t n, Py_ssize_t d, const floating *X, const floating *center, bint with_ones,
                floating *found) noexcept nogil:
    """x - c of each row; with a one behind it, weighted sums of these are beside those of the weights."""
    cdef Py_ssize_t i, k, width = d + 1 if with_ones else d
    for i in range(n):
        for k in range(d):
            found[i * width + k] = X[i * d + k] - center[k]
        if with_ones:
            found[i * width + d] = 1


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
    cdef cnp.ndarray center = Z.mean(axis=0)
    cdef cnp.ndarray centered = matrix_like(n + m, d, R), norms = matrix_like(1, n + m, R)
    cdef floating *x = <floating *> X.data
    cdef floating *z = <floating *> Z.data
    cdef floating *c = <floating *> center.data
    cdef floating *xc = <floating *> centered.data
    cdef floating *zc = xc + n * d
    cdef floating *of_x = <floating *> norms.data
    cdef floating *r = <floating *> R.data
    with nogil:
        about(n, d, x, c, False, xc)
        about(m, d, z, c, False, zc)
        squares(n, d, x, c, of_x)
        squares(m, d, z, c, of_x + n)
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
    R = matrix_like(X.shape[0], Z.shape[0], X)
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


cdef bint all_far(Py_ssize_t m, const floating *R, floating of_x, const floating *of_z) noexcept nogil:
    """Whether none of a row of squared distances is small beside |x|² + |z|²."""
    cdef Py_ssize_t j
    cdef bint far = True
    cdef floating near = <floating> NEAR
    for j in range(m):
        far &= R[j] > near * (of_x + of_z[j])
    return far


cdef void take_near(Py_ssize_t n, Py_ssize_t m, Py_ssize_t d, bint of_columns, floating *weights,
                    const floating *X, const floating *Z, const floating *R, const floating *of_x,
                    const floating *of_z, floating *found) noexcept nogil:
    """Weighted differences of near points, which are taken out of the weights."""
    cdef Py_ssize_t i, j, k
    cdef floating weight, near = <floating> NEAR
    for i in range(n):
        if all_far(m, R + i * m, of_x[i], of_z):
            continue
        for j in range(m):
            if R[i * m + j] > near * (of_x[i] + of_z[j]):
                continue
            weight = weights[i * m + j]
            weights[i * m + j] = 0
            for k in range(d):
                if of_columns:
                    found[j * d + k] += weight * (Z[j * d + k] - X[i * d + k])
                else:
                    found[i * d + k] += weight * (X[i * d + k] - Z[j * d + k])


cdef bint none_near(Py_ssize_t n, Py_ssize_t m, const floating *R, const floating *of_x,
                    const floating *of_z) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if not all_far(m, R + i * m, of_x[i], of_z):
            return False
    return True


cdef void add_far(Py_ssize_t n, Py_ssize_t d, const floating *X, const floating *center, const floating *sums,
                  floating *found) noexcept nogil:
    """found += w (x - c) - s, of sums (s, w) of the others about a centre c, and of their weights."""
    cdef Py_ssize_t i, k
    cdef floating weight
    for i in range(n):
        weight = sums[i * (d + 1) + d]
        for k in range(d):
            found[i * d + k] += weight * (X[i * d + k] - center[k]) - sums[i * (d + 1) + k]


cdef object weighted(cnp.ndarray W, cnp.ndarray X, cnp.ndarray Z, cnp.ndarray R, bint of_columns,
                     cnp.ndarray found, floating zero):
    """Weighted differences onto zeros; zero gives the type."""
    cdef Py_ssize_t n = X.shape[0], m = Z.shape[0], d = X.shape[1]
    cdef Py_ssize_t rows = m if of_columns else n, count = n if of_columns else m
    cdef cnp.ndarray center = Z.mean(axis=0), norms = matrix_like(1, n + m, R)
    cdef cnp.ndarray others = matrix_like(count, d + 1, R), sums = matrix_like(rows, d + 1, R)
    cdef floating *of_x = <floating *> norms.data
    cdef floating *r = <floating *> R.data
    cdef floating *result = <floating *> found.data
    cdef floating *c = <floating *> center.data
    cdef floating *given = <floating *> others.data
    cdef floating *added = <floating *> sums.data
    cdef floating *x = <floating *> X.data
    cdef floating *z = <floating *> Z.data
    cdef floating *w
    cdef bint are_far
    with nogil:
        squares(n, d, x, c, of_x)
        squares(m, d, z, c, of_x + n)
        are_far = none_near(n, m, r, of_x, of_x + n)
    W = W if are_far else W.copy()
    w = <floating *> W.data
    with nogil:
        if not are_far:
            take_near(n, m, d, of_columns, w, x, z, r, of_x, of_x + n, result)
        about(count, d, x if of_columns else z, c, True, given)
        rowmajor.gemm(TRANSPOSE if of_columns else PLAIN, PLAIN, <blas_int> rows, <blas_int> (d + 1),
                      <blas_int> count, 1, w, <blas_int> m, given, <blas_int> (d + 1), 0,
                      added, <blas_int> (d + 1))
        add_far(rows, d, z if of_columns else x, c, added, result)


cdef object directed(cnp.ndarray W, cnp.ndarray X, cnp.ndarray Z, cnp.ndarray R, cnp.ndarray found,
                     floating zero):
    """Directed differences; zero gives the type."""
    cdef Py_ssize_t i, j, k, n = X.shape[0], m = Z.shape[0], d = X.shape[1]
    cdef cnp.ndarray center = Z.mean(axis=0)
    cdef cnp.ndarray centered = matrix_like(n + m, d, R), norms = matrix_like(1, n + m, R)
    cdef floating *c = <floating *> center.data
    cdef floating *of_x = <floating *> norms.data
    cdef floating *of_z = of_x + n
    cdef floating *r = <floating *> R.data
    cdef floating *result = <floating *> found.data
    cdef floating *w = <floating *> W.data
    cdef floating *x = <floating *> X.data
    cdef floating *z = <floating *> Z.data
    cdef floating *xc = <floating *> centered.data
    cdef floating *zc = xc + n * d
    cdef floating own, total, near = <floating> NEAR
    with nogil:
        about(n, d, x, c, False, xc)
        about(m, d, z, c, False, zc)
        squares(n, d, x, c, of_x)
        squares(m, d, z, c, of_z)
        rowmajor.gemm(PLAIN, TRANSPOSE, <blas_int> n, <blas_int> m, <blas_int> d, -1, w, <blas_int> d,
                      zc, <blas_int> d, 0, result, <blas_int> m)
        for i in range(n):
            own = 0
            for k in range(d):
                own += w[i * d + k] * xc[i * d + k]
            for j in range(m):
                result[i * m + j] += own
            if all_far(m, r + i * m, of_x[i], of_z):
                continue
            for j in range(m):
                if r[i * m + j] > near * (of_x[i] + of_z[j]):
                    continue
                total = 0
                for k in range(d):
                    total += w[i * d + k] * (x[i * d + k] - z[j * d + k])
                result[i * m + j] = total


# -- scaled points ---------------------------------------------------------------------------------------


cdef void scaled_about(Py_ssize_t n, Py_ssize_t d, const floating *X, const floating *center,
                       const floating *inverse, floating *found, floating *norms) noexcept nogil:
    """(x - c) / s of each row, of the inverse of s, and the squares of their lengths."""
    cdef Py_ssize_t i, k
    for i in range(n):
        for k in range(d):
            found[i * d + k] = (X[i * d + k] - center[k]) * inverse[k]
        norms[i] = scaled_difference_squared(d, X + i * d, center, inverse)


cdef floating scaled_difference_squared(Py_ssize_t d, const floating *x, const floating *z,
                                        const floating *inverse) noexcept nogil:
    """In four sums, of which one does not wait for the other."""
    cdef Py_ssize_t k, part, whole = d - d % 4
    cdef floating difference
    cdef floating[4] sums = [0, 0, 0, 0]
    for k in range(0, whole, 4):
        for part in range(4):
            difference = (x[k + part] - z[k + part]) * inverse[k + part]
            sums[part] += difference * difference
    for k in range(whole, d):
        difference = (x[k] - z[k]) * inverse[k]
        sums[0] += difference * difference
    return (sums[0] + sums[1]) + (sums[2] + sums[3])


cdef object multiply_scaled(cnp.ndarray X, cnp.ndarray Z, cnp.ndarray center, cnp.ndarray inverse,
                            cnp.ndarray points, cnp.ndarray norms, cnp.ndarray R, floating zero):
    """R := r² of scaled points, and these about a centre, with the squares of their lengths."""
    cdef Py_ssize_t i, j, n = X.shape[0], m = Z.shape[0], d = X.shape[1]
    cdef floating *x = <floating *> X.data
    cdef floating *z = <floating *> Z.data
    cdef floating *c = <floating *> center.data
    cdef floating *s = <floating *> inverse.data
    cdef floating *xc = <floating *> points.data
    cdef floating *zc = xc + n * d
    cdef floating *of_x = <floating *> norms.data
    cdef floating *of_z = of_x + n
    cdef floating *r = <floating *> R.data
    cdef floating cancelled = <floating> CANCELLED
    with nogil:
        scaled_about(n, d, x, c, s, xc, of_x)
        scaled_about(m, d, z, c, s, zc, of_z)
        rowmajor.gemm(PLAIN, TRANSPOSE, <blas_int> n, <blas_int> m, <blas_int> d, -2, xc, <blas_int> d,
                      zc, <blas_int> d, 0, r, <blas_int> m)
        for i in range(n):
            for j in range(m):
                r[i * m + j] += of_x[i] + of_z[j]
            for j in range(m):
                if not r[i * m + j] > cancelled * (of_x[i] + of_z[j]):
                    r[i * m + j] = scaled_difference_squared(d, x + i * d, z + j * d, s)


cdef object pull_scaled(cnp.ndarray W, cnp.ndarray far, cnp.ndarray X, cnp.ndarray Z, cnp.ndarray R,
                        cnp.ndarray inverse, cnp.ndarray points, cnp.ndarray norms, cnp.ndarray Z_bar,
                        cnp.ndarray s_bar, floating zero):
    """Onto zeros; `far` becomes the weights of points that are not near."""
    cdef Py_ssize_t i, j, k, n = X.shape[0], m = Z.shape[0], d = X.shape[1]
    cdef floating *w = <floating *> W.data
    cdef floating *kept = <floating *> far.data
    cdef floating *x = <floating *> X.data
    cdef floating *z = <floating *> Z.data
    cdef floating *r = <floating *> R.data
    cdef floating *s = <floating *> inverse.data
    cdef floating *xc = <floating *> points.data
    cdef floating *zc = xc + n * d
    cdef floating *of_x = <floating *> norms.data
    cdef floating *of_z = of_x + n
    cdef floating *bar = <floating *> Z_bar.data
    cdef floating *sums = <floating *> s_bar.data
    cdef floating weight, difference, near = <floating> NEAR
    with nogil:
        for i in range(n):
            for j in range(m):
                kept[i * m + j] = w[i * m + j] if r[i * m + j] > near * (of_x[i] + of_z[j]) else 0
        # Σ w (x - z)² = Σ_i w_i x² + Σ_j z (2 Σ_i w (z - x) - w_j z), of the sums of weights of rows, columns
        rowmajor.gemm(TRANSPOSE, PLAIN, <blas_int> m, <blas_int> d, <blas_int> n, -1, kept, <blas_int> m,
                      xc, <blas_int> d, 0, bar, <blas_int> d)
        for j in range(m):
            weight = 0
            for i in range(n):
                weight += kept[i * m + j]
            for k in range(d):
                bar[j * d + k] += weight * zc[j * d + k]
                sums[k] += zc[j * d + k] * (2 * bar[j * d + k] - weight * zc[j * d + k])
        for i in range(n):
            weight = 0
            for j in range(m):
                weight += kept[i * m + j]
            for k in range(d):
                sums[k] += weight * xc[i * d + k] * xc[i * d + k]
        for i in range(n):
            if all_far(m, r + i * m, of_x[i], of_z):
                continue
            for j in range(m):
                if r[i * m + j] > near * (of_x[i] + of_z[j]):
                    continue
                weight = w[i * m + j]
                for k in range(d):
                    difference = (z[j * d + k] - x[i * d + k]) * s[k]
                    bar[j * d + k] += weight * difference
                    sums[k] += weight * difference * difference
        for k in range(d):
            sums[k] *= -2 * s[k]
        for j in range(m):
            for k in range(d):
                bar[j * d + k] *= 2 * s[k]


cdef tuple alike(tuple arrays):
    """The arrays by rows, of one type."""
    dtype = np.result_type(*arrays)
    return tuple([np.ascontiguousarray(x, dtype) for x in arrays])


def weighted_differences(weights, X, Z, R, bint of_columns=False):
    """Σ_j w_ij (x_i - z_j) of the rows of two matrices, or Σ_i w_ij (z_j - x_i).

    Parameters
    ----------
    weights : (n, m) ndarray
    X, Z : (n, d), (m, d) ndarray
        Real floats, as the weights.
    R : (n, m) ndarray
        Their squared distances.
    of_columns : bool
        Sum over the rows of the weights.

    Returns
    -------
    (n, d) ndarray, or (m, d)

    Notes
    -----
    2 n m d flops.  A copy of the weights where points are near each other.

    Examples
    --------
    >>> import numpy as np
    >>> X, Z = np.array([[1.0], [3.0]]), np.zeros((1, 1))
    >>> weights, R = np.array([[2.0], [1.0]]), squared_distances(X, Z)
    >>> weighted_differences(weights, X, Z, R)
    array([[2.],
           [3.]])
    >>> weighted_differences(weights, X, Z, R, of_columns=True)
    array([[-5.]])
    """
    weights, X, Z, R = alike((weights, X, Z, R))
    found = matrix_like(len(Z) if of_columns else len(X), X.shape[1], R)
    found.fill(0)
    if not X.size or not Z.size:
        return found
    if R.dtype == np.float32:
        weighted[float](weights, X, Z, R, of_columns, found, 0)
    else:
        weighted[double](weights, X, Z, R, of_columns, found, 0)
    return found


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
    W, X, Z, R = alike((W, X, Z, R))
    found = matrix_like(R.shape[0], R.shape[1], R)
    found.fill(0)
    if not X.size or not Z.size:
        return found
    if R.dtype == np.float32:
        directed[float](W, X, Z, R, found, 0)
    else:
        directed[double](W, X, Z, R, found, 0)
    return found


def scaled_squared_distances(X, Z, scale):
    """Σ_k ((x_ik - z_jk) / s_k)² of the rows of two matrices, and what its derivatives need.

    Parameters
    ----------
    X, Z : (n, d), (m, d) ndarray
    scale : (d,) ndarray
        Real floats, none of them zero.

    Returns
    -------
    R : (n, m) ndarray
    points : (n + m, d) ndarray
        Those of X and Z about the middle of Z, scaled.
    norms : (n + m,) ndarray
        The squares of their lengths.

    Notes
    -----
    2 n m d flops.

    Examples
    --------
    >>> import numpy as np
    >>> X, Z = np.array([[2.0, 4.0], [0.0, 3.0]]), np.zeros((1, 2))
    >>> scaled_squared_distances(X, Z, np.array([1.0, 2.0]))[0]
    array([[8.  ],
           [2.25]])
    """
    X, Z, scale = alike((X, Z, scale))
    R, points = matrix_like(len(X), len(Z), X), matrix_like(len(X) + len(Z), X.shape[1], X)
    norms = np.empty(len(points), X.dtype)
    some = Z[:: max(len(Z) // 8, 1)]   # the median of all would take longer than the products
    center = np.partition(some, len(some) // 2, axis=0)[len(some) // 2] if len(Z) else scale
    if X.dtype == np.float32:
        multiply_scaled[float](X, Z, center, 1 / scale, points, norms, R, 0)
    else:
        multiply_scaled[double](X, Z, center, 1 / scale, points, norms, R, 0)
    return R, points, norms


def scaled_squared_distances_pullback(R_bar, X, Z, scale, R, points, norms):
    """Cotangents of Z and of the scale.

    Parameters
    ----------
    R_bar : (n, m) ndarray
    X, Z, scale : ndarray
    R, points, norms : ndarray
        By `scaled_squared_distances`.

    Returns
    -------
    Z_bar : (m, d) ndarray
    scale_bar : (d,) ndarray

    Notes
    -----
    2 n m d flops, one product for both, and a copy of R_bar.  Near points are subtracted one by one.

    Examples
    --------
    >>> import numpy as np
    >>> X, Z, scale = np.array([[3.0]]), np.zeros((1, 1)), np.array([2.0])
    >>> found = scaled_squared_distances(X, Z, scale)
    >>> scaled_squared_distances_pullback(np.ones((1, 1)), X, Z, scale, *found)
    (array([[-1.5]]), array([-2.25]))
    """
    W, X, Z, scale, R, points, norms = alike((R_bar, X, Z, scale, R, points, norms))
    Z_bar, scale_bar, far = np.zeros_like(Z), np.zeros_like(scale), np.empty_like(W)
    if X.dtype == np.float32:
        pull_scaled[float](W, far, X, Z, R, 1 / scale, points, norms, Z_bar, scale_bar, 0)
    else:
        pull_scaled[double](W, far, X, Z, R, 1 / scale, points, norms, Z_bar, scale_bar, 0)
    return Z_bar, scale_bar
