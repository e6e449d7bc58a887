"""Gaussian log densities and their gradient, on one covariance matrix, in place.

    log N(r | 0, A) = -½ (|z|² + n log 2π) - Σ log l_ii,    A = L Lᵀ,  z = L⁻¹ r.

L overwrites A, and the gradient ½ Σ p̄ᵢ (αᵢ αᵢᵀ - A⁻¹), α = A⁻¹ r, overwrites L: one factorization, one
inverse, n³ flops in all, and no second n×n array. Vectors are rows: of R, of Z (z) and of α.
"""

cimport numpy as cnp
from libc.math cimport log

from lindiff.kernels cimport rowmajor
from lindiff.kernels.batch cimport (
    Batch, enter, fresh_vectors, misfit, own, place, read, run, square, start,
)
from lindiff.kernels.cholesky cimport potrf_one
from lindiff.kernels.triangles cimport mirror, zero_pivot
from lindiff.kernels.triangular cimport trsm_one

import numpy as np
from numpy.linalg import LinAlgError

cnp.import_array()

cdef double LOG_TWO_PI = np.log(2 * np.pi)


# ---- one matrix ----------------------------------------------------------------------------------

cdef blas_int log_density_one(blas_int n, blas_int m, floating *A, blas_int lda, const floating *noise,
                              floating *R, blas_int ldr, floating *p) noexcept nogil:
    """p_i := log N(r_i | 0, A + diag(noise)) of m rows r_i; A := L, R := Z. `noise` may be NULL.
    Returns 1 + index of the first pivot that is not positive, or 0.
    """
    cdef Py_ssize_t i, j, la = lda, lr = ldr
    cdef double constant = 0.5 * n * LOG_TWO_PI, square_sum
    cdef blas_int info
    if noise != NULL:
        for i in range(n):
            A[i * (la + 1)] += noise[i]
    info = potrf_one(True, n, A, lda)
    if info != 0:
        return info
    for i in range(n):
        constant += log(A[i * (la + 1)])
    trsm_one(True, True, True, False, m, n, <floating> 1, A, lda, R, ldr)
    for i in range(m):
        square_sum = 0
        for j in range(n):
            square_sum += <double> R[i * lr + j] * R[i * lr + j]
        p[i] = <floating> (-0.5 * square_sum - constant)
    return 0


cdef void log_density_pullback_one(blas_int n, blas_int m, floating *L, blas_int ldl, floating *Z,
                                   blas_int ldz, const floating *p_bar, floating *T) noexcept nogil:
    """L := A_bar = ½ Σ p̄ᵢ (αᵢ αᵢᵀ - A⁻¹), symmetric; Z := R_bar, its rows -p̄ᵢ αᵢ. T has room for (m, n)."""
    cdef Py_ssize_t i, j, lz = ldz
    cdef floating total = 0
    trsm_one(True, True, False, False, m, n, <floating> 1, L, ldl, Z, ldz)
    for i in range(m):
        total += p_bar[i]
        for j in range(n):
            T[i * n + j] = Z[i * lz + j]
            Z[i * lz + j] *= -p_bar[i]
    rowmajor.potri(True, n, L, ldl)
    rowmajor.gemmt(True, True, False, n, m, <floating> -0.5, T, n, Z, ldz, <floating> -0.5 * total, L, ldl)
    mirror(True, n, <floating> 1, L, ldl)


# ---- arrays --------------------------------------------------------------------------------------

cdef blas_int log_density_item(floating *A, Batch *b) noexcept nogil:
    cdef floating *noise = <floating *> b.item[3] if b.operands > 3 else NULL
    cdef blas_int info = log_density_one(b.n, b.m, A, b.n, noise, <floating *> b.item[1], b.n,
                                         <floating *> b.item[2])
    if info != 0:
        b.alpha = A[(info - 1) * (<Py_ssize_t> b.n + 1)]
    return info


def log_density(A, R, noise=None, bint overwrite_a=False, bint overwrite_r=False):
    """Log densities of N(0, A + diag(noise)), and what their gradient needs.

    Parameters
    ----------
    A : (..., n, n) array_like
        Symmetric, positive definite. Only the lower triangle is read.
    R : (..., m, n) array_like
        A row for each density.
    noise : (..., n) array_like, optional
        Added to the diagonal of A.
    overwrite_a, overwrite_r : bool
        L may overwrite A, Z may overwrite R.

    Returns
    -------
    p : (..., m) ndarray
    L : (..., n, n) ndarray
        The Cholesky factor of A + diag(noise).
    Z : (..., m, n) ndarray
        The rows L⁻¹ r.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a leading minor is not positive.

    Notes
    -----
    n³/3 + mn² flops, no memory but the results.

    Examples
    --------
    >>> p, L, Z = log_density([[4.]], [[2.], [0.]])
    >>> p
    array([-2.11208571, -1.61208571])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray a = square(&b, A, "log_density", "A"), r = enter(&b, R, "log_density", "R"), p, d
    cdef int ndim = cnp.PyArray_NDIM(r)
    b.m = <blas_int> r.shape[ndim - 2]
    if r.shape[ndim - 1] != b.n:
        raise misfit("log_density", "A", a, "R", r)
    if noise is not None:
        d = enter(&b, noise, "log_density", "noise", 1)
        if d.shape[cnp.PyArray_NDIM(d) - 1] != b.n:
            raise misfit("log_density", "A", a, "noise", d)
    a = own(&b, a, overwrite_a)
    r = own(&b, r, overwrite_r)
    p = fresh_vectors(&b, b.m)
    if noise is not None:
        d = read(&b, d, 1)
    if run(&b, log_density_item[float], log_density_item[double]):
        raise LinAlgError(
            f"log_density: the leading minor of order {b.info} of the covariance is not positive definite, "
            f"pivot {b.alpha:.6g}{place(&b)}"
        )
    return p, a, r


cdef blas_int log_density_pullback_item(floating *L, Batch *b) noexcept nogil:
    cdef blas_int info = zero_pivot(b.n, L, b.n)
    if info == 0:
        log_density_pullback_one(b.n, b.m, L, b.n, <floating *> b.item[1], b.n, <floating *> b.item[2],
                                 <floating *> b.work)
    return info


def log_density_pullback(L, Z, p_bar, bint overwrite_l=False, bint overwrite_z=False):
    """Pullback of `log_density`: (A_bar, R_bar), A_bar = ½ Σ p̄ᵢ (αᵢ αᵢᵀ - A⁻¹), the rows of R_bar -p̄ᵢ αᵢ.

    Parameters
    ----------
    L : (..., n, n) array_like
    Z : (..., m, n) array_like
        Both from `log_density`.
    p_bar : (..., m) array_like
    overwrite_l, overwrite_z : bool
        A_bar may overwrite L, R_bar may overwrite Z.

    Returns
    -------
    A_bar : (..., n, n) ndarray
        Symmetric.
    R_bar : (..., m, n) ndarray

    Notes
    -----
    2n³/3 + 2mn² flops, a workspace of (m, n). Rasmussen & Williams (2006), eq. 5.9.

    Examples
    --------
    >>> A_bar, R_bar = log_density_pullback([[2.]], [[1.]], [1.])
    >>> A_bar, R_bar
    (array([[0.]]), array([[-0.5]]))
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray l = square(&b, L, "log_density_pullback", "L")
    cdef cnp.ndarray z = enter(&b, Z, "log_density_pullback", "Z")
    cdef cnp.ndarray pb = enter(&b, p_bar, "log_density_pullback", "p_bar", 1)
    cdef int ndim = cnp.PyArray_NDIM(z)
    b.m = <blas_int> z.shape[ndim - 2]
    if z.shape[ndim - 1] != b.n:
        raise misfit("log_density_pullback", "L", l, "Z", z)
    if pb.shape[cnp.PyArray_NDIM(pb) - 1] != b.m:
        raise misfit("log_density_pullback", "Z", z, "p_bar", pb)
    l = own(&b, l, overwrite_l)
    z = own(&b, z, overwrite_z)
    pb = read(&b, pb, 1)
    b.work_size = <Py_ssize_t> b.m * b.n
    if run(&b, log_density_pullback_item[float], log_density_pullback_item[double]):
        raise LinAlgError(f"log_density_pullback: singular factor{place(&b)}")
    return l, z
