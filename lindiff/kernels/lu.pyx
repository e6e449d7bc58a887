"""LU with exchanges of columns, A = L U P: L lower, U upper with a diagonal of ones, P a permutation.

This is what LAPACK's getrf of the transpose leaves in a row-major array: all that solve, inverse and
determinant need.
"""

cimport numpy as cnp

from lindiff.kernels cimport rowmajor
from lindiff.kernels.batch cimport (
    Batch, enter, fresh_integers, misfit, own, place, read, read_integers, run, square, start, transposition,
)
from lindiff.kernels.scalar cimport complex64, complex128, divide_all, size
from lindiff.kernels.sizes cimport GETRF_LOOPS, TRSM_LOOPS_ENTRIES
from lindiff.kernels.triangles cimport zero_pivot
from lindiff.kernels.triangular cimport trsm_one

from numpy.linalg import LinAlgError

cnp.import_array()


# ---- one matrix ----------------------------------------------------------------------------------

cdef void exchange(Py_ssize_t count, scalar *x, scalar *y, Py_ssize_t step) noexcept nogil:
    cdef Py_ssize_t i
    cdef scalar t
    for i in range(count):
        t = x[i * step]
        x[i * step] = y[i * step]
        y[i * step] = t


cdef void getrf_small(Py_ssize_t n, scalar *A, Py_ssize_t ld, blas_int *piv) noexcept nogil:
    """A = L U P by elimination: the largest entry of a row comes to the diagonal, the rows below follow."""
    cdef Py_ssize_t i, j, k, p
    cdef double largest
    cdef scalar x
    for k in range(n):
        p = k
        largest = size(A[k * ld + k])
        for j in range(k + 1, n):
            if size(A[k * ld + j]) > largest:
                p = j
                largest = size(A[k * ld + j])
        piv[k] = <blas_int> p
        if p != k:
            exchange(n, A + k, A + p, ld)
        if A[k * ld + k] == 0:
            continue
        divide_all(n - k - 1, A + k * (ld + 1) + 1, 1, A[k * (ld + 1)])
        for i in range(k + 1, n):
            x = A[i * ld + k]
            for j in range(k + 1, n):
                A[i * ld + j] -= x * A[k * ld + j]


cdef blas_int getrf_one(blas_int n, scalar *A, blas_int lda, blas_int *piv) noexcept nogil:
    """A := L and U of A = L U P; column i was exchanged with column piv[i].
    Returns 1 + index of a zero pivot, or 0.
    """
    cdef blas_int i
    if n <= GETRF_LOOPS:
        getrf_small(n, A, lda, piv)
    else:
        rowmajor.getrf(n, A, lda, piv)
        for i in range(n):
            piv[i] -= 1   # LAPACK counts from 1
    return zero_pivot(n, A, lda)


cdef void getrs_two(bint transpose, Py_ssize_t k, const scalar *LU, Py_ssize_t ldlu, bint exchanged,
                    scalar *B, Py_ssize_t ldb) noexcept nogil:
    """The same for two real rows, without loops over these; one column is summed up from 0, as elsewhere."""
    cdef scalar first = LU[0], above = LU[1], below = LU[ldlu], second = LU[ldlu + 1], x, y, of_x, of_y
    cdef Py_ssize_t j
    for j in range(k):
        x, y = B[j], B[ldb + j]
        if transpose:
            if exchanged:
                x, y = y, x
            y = (y - above * x) / second
            x = (x - below * y) / first
        else:
            x = x / first
            of_x = below * x
            y = (y - (0 + of_x if k == 1 else of_x)) / second
            of_y = above * y
            x = x - (0 + of_y if k == 1 else of_y)
            if exchanged:
                x, y = y, x
        B[j], B[ldb + j] = x, y


cdef void getrs_one(int transpose, blas_int n, blas_int k, const scalar *LU, blas_int ldlu,
                    const blas_int *piv, scalar *B, blas_int ldb) noexcept nogil:
    """B := A⁻¹ B = Pᵀ U⁻¹ L⁻¹ B, A⁻ᵀ B = L⁻ᵀ U⁻ᵀ P B, or A⁻ᴴ B = L⁻ᴴ U⁻ᴴ P B; B is (n, k)."""
    cdef Py_ssize_t i, ld = ldb
    if (scalar is float or scalar is double) and n == 2 and 2 * k <= TRSM_LOOPS_ENTRIES:
        getrs_two(transpose != 0, k, LU, ldlu, piv[0] != 0, B, ld)
        return
    if transpose:
        for i in range(n):
            if piv[i] != i:
                exchange(k, B + i * ld, B + piv[i] * ld, 1)
        trsm_one(False, False, transpose, True, n, k, 1, LU, ldlu, B, ldb)
        trsm_one(False, True, transpose, False, n, k, 1, LU, ldlu, B, ldb)
    else:
        trsm_one(False, True, False, False, n, k, 1, LU, ldlu, B, ldb)
        trsm_one(False, False, False, True, n, k, 1, LU, ldlu, B, ldb)
        for i in range(n - 1, -1, -1):
            if piv[i] != i:
                exchange(k, B + i * ld, B + piv[i] * ld, 1)


# ---- arrays --------------------------------------------------------------------------------------

cdef blas_int getrf_item(scalar *A, Batch *b) noexcept nogil:
    getrf_one(b.n, A, b.n, <blas_int *> b.item[1])   # a singular matrix has factors too
    return 0


def getrf(A, bint overwrite_a=False):
    """LU factors, A = L U P, with exchanges of columns.

    Parameters
    ----------
    A : (..., n, n) array_like
    overwrite_a : bool
        The factors may overwrite A.

    Returns
    -------
    LU : (..., n, n) ndarray
        L in the lower triangle with the diagonal; U above it, its diagonal of ones not stored.
    piv : (..., n) ndarray of int
        Column i was exchanged with column piv[i], for i = 0, 1, ...; an index counts from 0.

    Notes
    -----
    2n³/3 flops, no memory but the results. A singular matrix raises no error here: its determinant is
    still wanted.

    Examples
    --------
    >>> LU, piv = getrf([[1., 4.], [2., 4.]])
    >>> LU
    array([[4.  , 0.25],
           [4.  , 1.  ]])
    >>> piv
    array([1, 1], dtype=int32)
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray a = own(&b, square(&b, A, "getrf", "A"), overwrite_a), piv = fresh_integers(&b, b.n)
    run(&b, getrf_item[float], getrf_item[double], getrf_item[complex64], getrf_item[complex128])
    return a, piv


cdef object singular_matrix(Batch *b, str operator):
    return LinAlgError(
        f"{operator}: singular matrix, entry {b.info - 1} of the diagonal of L is zero{place(b)}"
    )


cdef blas_int getrs_item(scalar *LU, Batch *b) noexcept nogil:
    cdef blas_int info = zero_pivot(b.m, LU, b.m)
    if info == 0:
        getrs_one(b.transpose, b.m, b.n, LU, b.m, <blas_int *> b.item[1], <scalar *> b.item[2], b.n)
    return info


def getrs(LU, piv, B, transpose=False, bint overwrite_b=False):
    """Solve A X = B, Aᵀ X = B or Aᴴ X = B with the factors of `getrf`.

    Parameters
    ----------
    LU : (..., n, n) array_like
    piv : (..., n) array_like of int
        Both from `getrf`.
    B : (..., n, k) array_like
    transpose : bool or "C"
        "C" stands for Aᴴ.
    overwrite_b : bool
        X may overwrite B.

    Returns
    -------
    X : (..., n, k) ndarray
        Leading axes are broadcast.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A was singular.

    Notes
    -----
    2n²k flops, no memory but the result.

    Examples
    --------
    >>> LU, piv = getrf([[1., 4.], [2., 4.]])
    >>> getrs(LU, piv, [[5.], [6.]])
    array([[1.],
           [1.]])
    """
    cdef Batch b
    start(&b)
    b.transpose = transposition(transpose, "getrs")
    cdef cnp.ndarray lu = square(&b, LU, "getrs", "LU"), x = enter(&b, B, "getrs", "B"), _piv
    cdef int ndim = cnp.PyArray_NDIM(x)
    b.m = b.n
    b.n = <blas_int> x.shape[ndim - 1]
    if x.shape[ndim - 2] != b.m:
        raise misfit("getrs", "LU", lu, "B", x)
    lu = read(&b, lu)
    _piv = read_integers(&b, piv, b.m, "getrs", "piv")
    x = own(&b, x, overwrite_b)
    if run(&b, getrs_item[float], getrs_item[double], getrs_item[complex64], getrs_item[complex128]):
        raise singular_matrix(&b, "getrs")
    return x
