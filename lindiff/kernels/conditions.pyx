"""Whether numbers are in order, in one look without Python.

Such a look says what is surely right.  What is wrong, and its name, is found where the error is made.
"""

cimport numpy as cnp
from libc.math cimport fabs, isfinite, isinf, isnan, sqrt

from lindiff.kernels.scalar cimport floating

import numpy as np

cnp.import_array()

cdef double ROUNDED = 1 + 4 * np.finfo(np.float64).eps


cdef inline bint is_plain(object x, int axes) noexcept:
    """Whether this is a C-contiguous array of float64 with so many axes."""
    return cnp.PyArray_CheckExact(x) and cnp.PyArray_TYPE(<cnp.ndarray>x) == cnp.NPY_DOUBLE \
        and cnp.PyArray_NDIM(<cnp.ndarray>x) == axes \
        and cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>x)


cdef inline bint is_of(object x, Py_ssize_t rows, Py_ssize_t columns) noexcept:
    """The same, a matrix of this shape."""
    return is_plain(x, 2) and cnp.PyArray_DIM(<cnp.ndarray>x, 0) == rows \
        and cnp.PyArray_DIM(<cnp.ndarray>x, 1) == columns


cdef inline Py_ssize_t steps_of(object x, Py_ssize_t steps, Py_ssize_t rows, Py_ssize_t columns) noexcept:
    """How many matrices of this shape x holds: 1, or one for each step; 0 if it does neither."""
    if is_of(x, rows, columns):
        return 1
    if is_plain(x, 3) and cnp.PyArray_DIM(<cnp.ndarray>x, 0) == steps \
            and cnp.PyArray_DIM(<cnp.ndarray>x, 1) == rows and cnp.PyArray_DIM(<cnp.ndarray>x, 2) == columns:
        return steps
    return 0


cdef bint are_finite(const floating *x, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if not isfinite(x[i]):
            return False
    return True


cdef bint is_covariance(const double *X, Py_ssize_t n) noexcept nogil:
    """Symmetric, no variance negative, no correlation beyond 1 but for the rounding of its computation."""
    cdef Py_ssize_t i, j
    cdef double x, variance
    for i in range(n):
        variance = X[i * (n + 1)]
        if not (variance >= 0 and isfinite(variance)):
            return False
        for j in range(i):
            x = X[i * n + j]
            if x != X[j * n + i] or not fabs(x) <= sqrt(ROUNDED * variance) * sqrt(ROUNDED * X[j * (n + 1)]):
                return False
    return True


def model_in_order(y, A, B, Q, R, m, P, bint timed=False):
    """Whether these are surely data and matrices of a state space model.

    Parameters
    ----------
    y : (T, p) array, or (T,) for p = 1
    A, B, Q, R, m, P : (n, n), (p, n), (n, n), (p, p), (n,), (n, n) arrays
    timed : bool
        Whether A, B, Q and R may have an axis of time in front.

    Returns
    -------
    bool
        True of C-contiguous arrays of float64 in these shapes, all finite but for NaN in y, Q, R and P
        covariances.  False is no answer.

    Notes
    -----
    O(T p + n² + p²) comparisons, and as many square roots as there are covariances.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.eye(1)
    >>> model_in_order(np.array([1.0, np.nan]), one, one, one, one, np.zeros(1), one)
    True
    >>> model_in_order(np.array([1.0, np.inf]), one, one, one, one, np.zeros(1), one)
    False
    """
    cdef Py_ssize_t n, p, T, steps, i, of_A, of_B, of_Q, of_R
    cdef const double *data
    if not is_plain(P, 2) or not cnp.PyArray_CheckExact(B) or cnp.PyArray_NDIM(<cnp.ndarray>B) < 2 \
            or not cnp.PyArray_SIZE(<cnp.ndarray>B):
        return False
    n = cnp.PyArray_DIM(<cnp.ndarray>P, 0)
    p = cnp.PyArray_DIM(<cnp.ndarray>B, cnp.PyArray_NDIM(<cnp.ndarray>B) - 2)
    if not is_plain(m, 1) or cnp.PyArray_DIM(<cnp.ndarray>m, 0) != n or not is_of(P, n, n):
        return False
    if not is_plain(y, 2) and not (p == 1 and is_plain(y, 1)):
        return False
    if cnp.PyArray_NDIM(<cnp.ndarray>y) == 2 and cnp.PyArray_DIM(<cnp.ndarray>y, 1) != p:
        return False
    T = cnp.PyArray_DIM(<cnp.ndarray>y, 0)
    steps = T if timed else -1  # which no axis has
    of_A, of_B = steps_of(A, steps, n, n), steps_of(B, steps, p, n)
    of_Q, of_R = steps_of(Q, steps, n, n), steps_of(R, steps, p, p)
    if not (of_A and of_B and of_Q and of_R):
        return False
    data = numbers(y)
    for i in range(T * p):
        if isinf(data[i]):
            return False
    for i in range(of_Q):
        if not is_covariance(numbers(Q) + i * n * n, n):
            return False
    for i in range(of_R):
        if not is_covariance(numbers(R) + i * p * p, p):
            return False
    return are_finite(numbers(A), of_A * n * n) and are_finite(numbers(B), of_B * p * n) \
        and are_finite(numbers(m), n) and is_covariance(numbers(P), n)


def has_nan(x):
    """Whether a plain array holds a NaN.

    Examples
    --------
    >>> import numpy as np
    >>> has_nan(np.array([[1.0, np.nan]])), has_nan(np.ones(2, np.float32))
    (True, False)
    """
    cdef Py_ssize_t i
    cdef const double *data
    if not cnp.PyArray_CheckExact(x) or not is_plain(x, cnp.PyArray_NDIM(<cnp.ndarray>x)):
        return bool(np.isnan(x).any())
    data = numbers(x)
    for i in range(cnp.PyArray_SIZE(<cnp.ndarray>x)):
        if isnan(data[i]):
            return True
    return False
