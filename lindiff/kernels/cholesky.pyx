"""Cholesky A = L Lᴴ (lower) or A = Rᴴ R, and the inverse from the factor.

Both directions halve the matrix, [[L, 0], [M, N]] with M below L, and leave the bulk to BLAS 3; blocks up
to LEAF are plain loops. The reverse is level 3, in place, 2n³/3 flops: Murray (2016), "Differentiation of
the Cholesky decomposition", in the recursive form. Expressions: Seeger et al. (2017), section 4.2 and
appendix.
"""

cimport numpy as cnp

from lindiff.kernels cimport rowmajor
from lindiff.kernels.batch cimport Batch, own, place, read, run, same_matrix, square, start
from lindiff.kernels.rowmajor cimport ADJOINT, PLAIN
from lindiff.kernels.scalar cimport (
    absolute, complex64, complex128, conj, over_real, real, real_part, root, times_real,
)
from lindiff.kernels.sizes cimport POTRF_LEAF as LEAF, POTRF_LEAF_IN_PLACE
from lindiff.kernels.triangles cimport keep_triangle, mirror, zero_pivot
from lindiff.kernels.triangular cimport trsm_one, trmm_one

from numpy.linalg import LinAlgError

cnp.import_array()


cdef inline bint is_leaf(blas_int n, const scalar *A) noexcept nogil:
    """A only tells the type."""
    if scalar is complex64 or scalar is complex128:
        return n <= LEAF // 2
    else:
        return n <= LEAF


# ---- potrf, one matrix ---------------------------------------------------------------------------

cdef blas_int factor_leaf(Py_ssize_t n, scalar *A, Py_ssize_t rs, Py_ssize_t cs) noexcept nogil:
    """A = Rᴴ R by rows of R, right-looking; r_ij is A[i * rs + j * cs] for i <= j.

    The conjugate of R is the factor of the conjugate of A: one loop serves R, and L = Rᴴ in its transpose.
    """
    cdef Py_ssize_t i, j, k
    cdef scalar d, r
    for k in range(n):
        d = real(A[k * (rs + cs)])
        if not real_part(d) > 0:   # NaN fails as well
            return <blas_int> k + 1
        d = root(d)
        A[k * (rs + cs)] = d
        for j in range(k + 1, n):
            A[k * rs + j * cs] = over_real(A[k * rs + j * cs], d)
        for i in range(k + 1, n):
            r = conj(A[k * rs + i * cs])
            for j in range(i, n):
                A[i * rs + j * cs] -= r * A[k * rs + j * cs]
    return 0


cdef blas_int factor(bint lower, blas_int n, scalar *A, blas_int lda) noexcept nogil:
    """The factor overwrites the named triangle of A;
    1 + index of the first pivot that is not positive, or 0.
    """
    cdef blas_int h = n // 2, info
    cdef Py_ssize_t ld = lda, i, j
    cdef scalar T[LEAF * LEAF]
    cdef scalar *M
    cdef scalar *N = A + h * (ld + 1)
    if n <= POTRF_LEAF_IN_PLACE or (is_leaf(n, A) and not lower):
        return factor_leaf(n, A, 1 if lower else ld, ld if lower else 1)
    if is_leaf(n, A):
        for i in range(n):
            for j in range(i + 1):
                T[j * LEAF + i] = A[i * ld + j]
        info = factor_leaf(n, T, LEAF, 1)
        for i in range(n):
            for j in range(i + 1):
                A[i * ld + j] = T[j * LEAF + i]
        return info
    info = factor(lower, h, A, lda)
    if info != 0:
        return info
    if lower:   # M := M L⁻ᴴ, N := N - M Mᴴ
        M = A + h * ld
        rowmajor.trsm(True, True, ADJOINT, False, n - h, h, 1, A, lda, M, lda)
        rowmajor.herk(True, False, n - h, h, -1, M, lda, 1, N, lda)
    else:       # the same for the adjoints
        M = A + h
        rowmajor.trsm(False, False, ADJOINT, False, h, n - h, 1, A, lda, M, lda)
        rowmajor.herk(False, True, n - h, h, -1, M, lda, 1, N, lda)
    info = factor(lower, n - h, N, lda)
    return info + h if info != 0 else 0


cdef blas_int potrf_one(bint lower, blas_int n, scalar *A, blas_int lda) noexcept nogil:
    """A := L with A = L Lᴴ, or R with A = Rᴴ R; the other triangle becomes zero. Returns LAPACK's info."""
    cdef blas_int info = factor(lower, n, A, lda)
    if info == 0:
        keep_triangle(lower, n, A, lda)
    return info


# ---- potrf_pullback, one matrix ------------------------------------------------------------------
# The named triangle of L_bar turns into that of 2 A_bar; the factor ½ comes last, with the mirror.

cdef void reverse_leaf(Py_ssize_t n, const scalar *L, Py_ssize_t ldl,
                       scalar *X, Py_ssize_t ldx) noexcept nogil:
    """X: the lower triangle of L_bar becomes that of 2 A_bar, row by row from the last."""
    cdef Py_ssize_t i, j, p
    cdef scalar d, x, s, one = 1
    for i in range(n - 1, -1, -1):
        d = over_real(one, real(L[i * ldl + i]))
        s = X[i * ldx + i]
        # c_bar := c_bar / d;  B_bar -= c_bar r;  r_bar -= c_barᴴ B;  d_bar -= Re c_barᴴ c
        for p in range(i + 1, n):
            x = times_real(X[p * ldx + i], d)
            X[p * ldx + i] = x
            s -= conj(x) * L[p * ldl + i]
            for j in range(i):
                X[p * ldx + j] -= x * L[i * ldl + j]
                X[i * ldx + j] -= conj(x) * L[p * ldl + j]
        # d_bar := d_bar / d;  r_bar -= d_bar r
        s = times_real(real(s), d)
        X[i * ldx + i] = s
        for j in range(i):
            X[i * ldx + j] -= times_real(L[i * ldl + j], s)


cdef void reverse_packed_leaf(Py_ssize_t n, const scalar *R, Py_ssize_t ldr,
                              scalar *X, Py_ssize_t ldx) noexcept nogil:
    """`reverse_leaf` for the upper triangle, on copies of the adjoints."""
    cdef scalar T[LEAF * LEAF]
    cdef scalar Y[LEAF * LEAF]
    cdef Py_ssize_t i, j
    for i in range(n):
        for j in range(i, n):
            T[j * LEAF + i] = conj(R[i * ldr + j])
            Y[j * LEAF + i] = conj(X[i * ldx + j])
    reverse_leaf(n, T, LEAF, Y, LEAF)
    for i in range(n):
        for j in range(i, n):
            X[i * ldx + j] = conj(Y[j * LEAF + i])


cdef void reverse_lower(blas_int n, const scalar *L, blas_int ldl, scalar *X,
                        blas_int ldx) noexcept nogil:
    """X: the lower triangle of L_bar becomes that of 2 A_bar; the upper triangle is scratch.

    The factorization was  L = chol(A),  M = B L⁻ᴴ,  N = chol(C - M Mᴴ)  for A, B, C the blocks of the matrix.
    """
    cdef blas_int h = n // 2, r = n - h
    cdef Py_ssize_t ll = ldl, lx = ldx
    cdef const scalar *M = L + h * ll
    cdef scalar *M_bar = X + h * lx
    cdef scalar *N_bar = X + h * (lx + 1)
    if is_leaf(n, L):
        reverse_leaf(n, L, ll, X, lx)
        return
    # 2 C_bar from N_bar
    reverse_lower(r, L + h * (ll + 1), ldl, N_bar, ldx)
    # M_bar := M_bar - 2 C_bar M
    rowmajor.hemm(False, True, r, h, -1, N_bar, ldx, M, ldl, 1, M_bar, ldx)
    # 2 B_bar = M_bar L⁻¹
    rowmajor.trsm(True, True, False, False, r, h, 1, L, ldl, M_bar, ldx)
    # L_bar := L_bar - tril(2 B_barᴴ M)
    rowmajor.gemmt(True, ADJOINT, PLAIN, h, r, -1, M_bar, ldx, M, ldl, 1, X, ldx)
    # 2 A_bar from L_bar
    reverse_lower(h, L, ldl, X, ldx)


cdef void reverse_upper(blas_int n, const scalar *R, blas_int ldr, scalar *X,
                        blas_int ldx) noexcept nogil:
    """`reverse_lower` for A = Rᴴ R: every block is the adjoint of its twin there."""
    cdef blas_int h = n // 2, r = n - h
    cdef Py_ssize_t lr = ldr, lx = ldx
    cdef const scalar *M = R + h
    cdef scalar *M_bar = X + h
    cdef scalar *N_bar = X + h * (lx + 1)
    if is_leaf(n, R):
        reverse_packed_leaf(n, R, lr, X, lx)
        return
    reverse_upper(r, R + h * (lr + 1), ldr, N_bar, ldx)
    rowmajor.hemm(True, False, h, r, -1, N_bar, ldx, M, ldr, 1, M_bar, ldx)
    rowmajor.trsm(False, False, False, False, h, r, 1, R, ldr, M_bar, ldx)
    rowmajor.gemmt(False, PLAIN, ADJOINT, h, r, -1, M, ldr, M_bar, ldx, 1, X, ldx)
    reverse_upper(h, R, ldr, X, ldx)


cdef void potrf_pullback_one(bint lower, blas_int n, const scalar *L, blas_int ldl,
                             scalar *L_bar, blas_int ldb) noexcept nogil:
    """A_bar = ½ L⁻ᴴ copyltu(Lᴴ L_bar) L⁻¹, Hermitian, overwrites L_bar,
    of which the named triangle is read.
    """
    if lower:
        reverse_lower(n, L, ldl, L_bar, ldb)
    else:
        reverse_upper(n, L, ldl, L_bar, ldb)
    mirror(lower, n, 0.5, L_bar, ldb)


# ---- potrf_pushforward, one matrix ---------------------------------------------------------------

cdef void keep_half(bint lower, blas_int n, scalar *X, blas_int ldx) noexcept nogil:
    """X := the triangle of the Hermitian X with half its diagonal."""
    cdef Py_ssize_t i, ld = ldx
    cdef scalar two = 2
    keep_triangle(lower, n, X, ldx)
    for i in range(n):
        X[i * (ld + 1)] = over_real(real(X[i * (ld + 1)]), two)


cdef void push_leaf(bint lower, blas_int n, const scalar *L, blas_int ldl,
                    scalar *X, blas_int ldx) noexcept nogil:
    """X := L Φ(L⁻¹ X L⁻ᴴ), or Φ(R⁻ᴴ X R⁻¹) R, for the Hermitian X whose named triangle is given."""
    cdef int left = PLAIN if lower else ADJOINT, right = ADJOINT if lower else PLAIN
    mirror(lower, n, 1, X, ldx)
    trsm_one(False, lower, left, False, n, n, 1, L, ldl, X, ldx)
    trsm_one(True, lower, right, False, n, n, 1, L, ldl, X, ldx)
    keep_half(lower, n, X, ldx)
    trmm_one(not lower, lower, PLAIN, n, n, 1, L, ldl, X, ldx)
    keep_triangle(lower, n, X, ldx)


cdef void push(bint lower, blas_int n, const scalar *L, blas_int ldl, scalar *X,
               blas_int ldx) noexcept nogil:
    """X: the named triangle of A_dot becomes L_dot; the other triangle is zero and stays so.

    The steps of `factor`,  L = chol(A),  M = B L⁻ᴴ,  N = chol(C - M Mᴴ),  differentiated one by one.
    """
    cdef blas_int h = n // 2, r = n - h
    cdef Py_ssize_t ll = ldl, lx = ldx
    cdef const scalar *M = L + (h * ll if lower else h)
    cdef scalar *M_dot = X + (h * lx if lower else h)
    cdef scalar *N_dot = X + h * (lx + 1)
    if is_leaf(n, L):
        push_leaf(lower, n, L, ldl, X, ldx)
        return
    push(lower, h, L, ldl, X, ldx)
    if lower:   # M_dot := (B_dot - M L_dotᴴ) L⁻ᴴ,  C_dot := C_dot - M_dot Mᴴ - M M_dotᴴ
        rowmajor.gemm(PLAIN, ADJOINT, r, h, h, -1, M, ldl, X, ldx, 1, M_dot, ldx)
        rowmajor.trsm(True, True, ADJOINT, False, r, h, 1, L, ldl, M_dot, ldx)
        rowmajor.her2k(True, False, r, h, -1, M_dot, ldx, M, ldl, 1, N_dot, ldx)
    else:       # the same for the adjoints
        rowmajor.gemm(ADJOINT, PLAIN, h, r, h, -1, X, ldx, M, ldl, 1, M_dot, ldx)
        rowmajor.trsm(False, False, ADJOINT, False, h, r, 1, L, ldl, M_dot, ldx)
        rowmajor.her2k(False, True, r, h, -1, M_dot, ldx, M, ldl, 1, N_dot, ldx)
    push(lower, r, L + h * (ll + 1), ldl, N_dot, ldx)


cdef void potrf_pushforward_one(bint lower, blas_int n, const scalar *L, blas_int ldl,
                                scalar *A_dot, blas_int lda) noexcept nogil:
    """L_dot = L Φ(L⁻¹ A_dot L⁻ᴴ), Φ = tril with half the diagonal, overwrites A_dot;
    its named triangle is read.
    """
    keep_triangle(lower, n, A_dot, lda)
    push(lower, n, L, ldl, A_dot, lda)


# ---- potri, one matrix ---------------------------------------------------------------------------

cdef void turn_diagonal(bint lower, blas_int n, scalar *L, blas_int ldl) noexcept nogil:
    """L := L D, or R := D R, with the unitary diagonal D that makes theirs real: L Lᴴ and Rᴴ R stay."""
    cdef Py_ssize_t i, j, ld = ldl
    cdef scalar d, length
    if scalar is complex64 or scalar is complex128:
        for i in range(n):
            d = L[i * (ld + 1)]
            if d.imag != 0:
                length = absolute(d)
                d = over_real(conj(d), length)
                L[i * (ld + 1)] = length
                for j in range(i + 1, n):
                    L[j * ld + i if lower else i * ld + j] *= d


cdef blas_int potri_one(bint lower, blas_int n, scalar *L, blas_int ldl) noexcept nogil:
    """B = (L Lᴴ)⁻¹ or (Rᴴ R)⁻¹, full Hermitian, overwrites L; 1 + index of a zero on the diagonal, or 0."""
    cdef blas_int info = zero_pivot(n, L, ldl)
    if info != 0:
        return info
    turn_diagonal(lower, n, L, ldl)
    rowmajor.potri(lower, n, L, ldl)
    mirror(lower, n, 1, L, ldl)
    return 0


cdef void symmetrize_twice(blas_int n, scalar *X, blas_int ldx) noexcept nogil:
    """X := X + Xᴴ = 2 sym(X)."""
    cdef Py_ssize_t i, j, ld = ldx
    for i in range(n):
        for j in range(i + 1):
            X[i * ld + j] += conj(X[j * ld + i]) if j < i else X[i * ld + j]
    mirror(True, n, 1, X, ldx)


cdef void potri_pullback_one(bint lower, blas_int n, const scalar *L, blas_int ldl,
                             scalar *B_bar, blas_int ldb) noexcept nogil:
    """L_bar = -2 tril(B sym(B_bar) L⁻ᴴ), or R_bar = -2 triu(R⁻ᴴ sym(B_bar) B), overwrites B_bar.

    B = L⁻ᴴ L⁻¹ is applied as two solves: in place, where a product with B would need another matrix.
    """
    symmetrize_twice(n, B_bar, ldb)
    trsm_one(lower, lower, ADJOINT, False, n, n, -1, L, ldl, B_bar, ldb)
    trsm_one(not lower, lower, PLAIN, False, n, n, 1, L, ldl, B_bar, ldb)
    trsm_one(not lower, lower, ADJOINT, False, n, n, 1, L, ldl, B_bar, ldb)
    keep_triangle(lower, n, B_bar, ldb)


cdef void potri_pushforward_one(bint lower, blas_int n, const scalar *L, blas_int ldl,
                                scalar *L_dot, blas_int ldd) noexcept nogil:
    """B_dot = -2 sym(B L_dot L⁻¹), overwrites L_dot, of which the named triangle is read;
    -2 sym(R⁻¹ R_dot B).
    """
    keep_triangle(lower, n, L_dot, ldd)
    trsm_one(lower, lower, PLAIN, False, n, n, -1, L, ldl, L_dot, ldd)
    trsm_one(not lower, lower, PLAIN, False, n, n, 1, L, ldl, L_dot, ldd)
    trsm_one(not lower, lower, ADJOINT, False, n, n, 1, L, ldl, L_dot, ldd)
    symmetrize_twice(n, L_dot, ldd)


# ---- arrays --------------------------------------------------------------------------------------

cdef blas_int potrf_item(scalar *A, Batch *b) noexcept nogil:
    cdef blas_int info = potrf_one(b.lower, b.n, A, b.n)
    if info != 0:
        b.alpha = real_part(A[(info - 1) * (<Py_ssize_t> b.n + 1)])
    return info


def potrf(A, bint lower=True, bint overwrite_a=False):
    """Cholesky factor, A = L Lᴴ, or A = Rᴴ R with lower=False.

    Parameters
    ----------
    A : (..., n, n) array_like
        Symmetric (complex: Hermitian), positive definite. Only the triangle named by `lower` is read,
        and of a complex diagonal the real part.
    lower : bool
    overwrite_a : bool
        The factor may overwrite A.

    Returns
    -------
    L : (..., n, n) ndarray
        Triangular: the other triangle is zero.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a leading minor is not positive; NaN in the triangle raises as well.

    Notes
    -----
    n³/3 flops, no memory but the result. Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> potrf([[4., 2.], [2., 5.]])
    array([[2., 0.],
           [1., 2.]])
    """
    cdef Batch b
    start(&b)
    b.lower = lower
    cdef cnp.ndarray a = own(&b, square(&b, A, "potrf", "A"), overwrite_a)
    if run(&b, potrf_item[float], potrf_item[double], potrf_item[complex64], potrf_item[complex128]):
        raise LinAlgError(
            f"potrf: the leading minor of order {b.info} is not positive definite, "
            f"pivot {b.alpha:.6g}{place(&b)}"
        )
    return a


cdef object singular_factor(Batch *b, str operator):
    return LinAlgError(f"{operator}: singular factor, entry {b.info - 1} of the diagonal is zero{place(b)}")


cdef blas_int potrf_pullback_item(scalar *L, Batch *b) noexcept nogil:
    cdef blas_int info = zero_pivot(b.n, L, b.n)
    if info == 0:
        potrf_pullback_one(b.lower, b.n, L, b.n, <scalar *> b.item[1], b.n)
    return info


def potrf_pullback(L, L_bar, bint lower=True, bint overwrite_l_bar=False):
    """Pullback of `potrf`: the symmetric (complex: Hermitian) A_bar = ½ L⁻ᴴ copyltu(Lᴴ L_bar) L⁻¹.

    Parameters
    ----------
    L : (..., n, n) array_like
        The result of `potrf`.
    L_bar : (..., n, n) array_like
        Only the triangle named by `lower` is read.
    lower : bool
    overwrite_l_bar : bool
        A_bar may overwrite L_bar.

    Returns
    -------
    A_bar : (..., n, n) ndarray

    Notes
    -----
    2n³/3 flops, no memory but the result. Seeger et al. (2017), section 4.2; the in-place algorithm after
    Murray (2016).

    Examples
    --------
    >>> potrf_pullback([[2., 0.], [1., 2.]], [[1., 0.], [0., 0.]])
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    cdef Batch b
    start(&b)
    b.lower = lower
    cdef cnp.ndarray l = square(&b, L, "potrf_pullback", "L")
    cdef cnp.ndarray lb = square(&b, L_bar, "potrf_pullback", "L_bar")
    same_matrix(l, lb, "potrf_pullback", "L", "L_bar")
    l = read(&b, l)
    lb = own(&b, lb, overwrite_l_bar)
    if run(&b, potrf_pullback_item[float], potrf_pullback_item[double],
           potrf_pullback_item[complex64], potrf_pullback_item[complex128]):
        raise singular_factor(&b, "potrf_pullback")
    return lb


cdef blas_int potrf_pushforward_item(scalar *L, Batch *b) noexcept nogil:
    cdef blas_int info = zero_pivot(b.n, L, b.n)
    if info == 0:
        potrf_pushforward_one(b.lower, b.n, L, b.n, <scalar *> b.item[1], b.n)
    return info


def potrf_pushforward(L, A_dot, bint lower=True):
    """Pushforward of `potrf`: L_dot = L Φ(L⁻¹ A_dot L⁻ᴴ), Φ = tril with half the diagonal.

    Parameters
    ----------
    L : (..., n, n) array_like
        The result of `potrf`.
    A_dot : (..., n, n) array_like
        Symmetric (complex: Hermitian); only the triangle named by `lower` is read.
    lower : bool

    Returns
    -------
    L_dot : (..., n, n) ndarray
        Triangular.

    Notes
    -----
    5n³/6 flops, no memory but the result. Murray (2016); Seeger et al. (2017), appendix, "potrf".

    Examples
    --------
    >>> potrf_pushforward([[2., 0.], [1., 2.]], [[4., 0.], [0., 0.]])
    array([[ 1.  ,  0.  ],
           [-0.5 ,  0.25]])
    """
    cdef Batch b
    start(&b)
    b.lower = lower
    cdef cnp.ndarray l = square(&b, L, "potrf_pushforward", "L")
    cdef cnp.ndarray ad = square(&b, A_dot, "potrf_pushforward", "A_dot")
    same_matrix(l, ad, "potrf_pushforward", "L", "A_dot")
    l = read(&b, l)
    ad = own(&b, ad)
    if run(&b, potrf_pushforward_item[float], potrf_pushforward_item[double],
           potrf_pushforward_item[complex64], potrf_pushforward_item[complex128]):
        raise singular_factor(&b, "potrf_pushforward")
    return ad


cdef blas_int potri_item(scalar *L, Batch *b) noexcept nogil:
    return potri_one(b.lower, b.n, L, b.n)


def potri(L, bint lower=True, bint overwrite_l=False):
    """Inverse from the Cholesky factor, B = (L Lᴴ)⁻¹, or (Rᴴ R)⁻¹ with lower=False; full.

    Parameters
    ----------
    L : (..., n, n) array_like
        Only the triangle named by `lower` is read.
    lower : bool
    overwrite_l : bool
        B may overwrite L.

    Returns
    -------
    B : (..., n, n) ndarray
        Symmetric (complex: Hermitian), both triangles filled in.

    Raises
    ------
    numpy.linalg.LinAlgError
        If an entry on the diagonal of L is zero.

    Notes
    -----
    2n³/3 flops, no memory but the result. Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> potri([[2., 0.], [1., 1.]])
    array([[ 0.5, -0.5],
           [-0.5,  1. ]])
    """
    cdef Batch b
    start(&b)
    b.lower = lower
    cdef cnp.ndarray l = own(&b, square(&b, L, "potri", "L"), overwrite_l)
    if run(&b, potri_item[float], potri_item[double], potri_item[complex64], potri_item[complex128]):
        raise singular_factor(&b, "potri")
    return l


cdef blas_int potri_pullback_item(scalar *L, Batch *b) noexcept nogil:
    cdef blas_int info = zero_pivot(b.n, L, b.n)
    if info == 0:
        potri_pullback_one(b.lower, b.n, L, b.n, <scalar *> b.item[1], b.n)
    return info


def potri_pullback(L, B, B_bar, bint lower=True):
    """Pullback of `potri`: L_bar = -2 tril(B sym(B_bar) L⁻ᴴ), triangular.

    Parameters
    ----------
    L : (..., n, n) array_like
        As given to `potri`.
    B : (..., n, n) array_like
        The result of `potri`. Not read here, where B = L⁻ᴴ L⁻¹ is applied in place; other kernels use it.
    B_bar : (..., n, n) array_like
        Need not be symmetric.
    lower : bool

    Returns
    -------
    L_bar : (..., n, n) ndarray

    Notes
    -----
    3n³ flops, no memory but the result. Seeger et al. (2017), section 4.2 and appendix, "potri".

    Examples
    --------
    >>> potri_pullback([[2.]], [[0.25]], [[1.]])
    array([[-0.25]])
    """
    cdef Batch b
    start(&b)
    b.lower = lower
    cdef cnp.ndarray l = square(&b, L, "potri_pullback", "L")
    cdef cnp.ndarray bb = square(&b, B_bar, "potri_pullback", "B_bar")
    same_matrix(l, bb, "potri_pullback", "L", "B_bar")
    l = read(&b, l)
    bb = own(&b, bb)
    if run(&b, potri_pullback_item[float], potri_pullback_item[double],
           potri_pullback_item[complex64], potri_pullback_item[complex128]):
        raise singular_factor(&b, "potri_pullback")
    return bb


cdef blas_int potri_pushforward_item(scalar *L, Batch *b) noexcept nogil:
    cdef blas_int info = zero_pivot(b.n, L, b.n)
    if info == 0:
        potri_pushforward_one(b.lower, b.n, L, b.n, <scalar *> b.item[1], b.n)
    return info


def potri_pushforward(L, B, L_dot, bint lower=True):
    """Pushforward of `potri`: B_dot = -2 sym(B L_dot L⁻¹), symmetric.

    Parameters
    ----------
    L : (..., n, n) array_like
        As given to `potri`.
    B : (..., n, n) array_like
        The result of `potri`. Not read here, where B = L⁻ᴴ L⁻¹ is applied in place; other kernels use it.
    L_dot : (..., n, n) array_like
        Only the triangle named by `lower` is read.
    lower : bool

    Returns
    -------
    B_dot : (..., n, n) ndarray

    Notes
    -----
    3n³ flops, no memory but the result. Seeger et al. (2017), appendix, "potri".

    Examples
    --------
    >>> potri_pushforward([[2.]], [[0.25]], [[1.]])
    array([[-0.25]])
    """
    cdef Batch b
    start(&b)
    b.lower = lower
    cdef cnp.ndarray l = square(&b, L, "potri_pushforward", "L")
    cdef cnp.ndarray ld = square(&b, L_dot, "potri_pushforward", "L_dot")
    same_matrix(l, ld, "potri_pushforward", "L", "L_dot")
    l = read(&b, l)
    ld = own(&b, ld)
    if run(&b, potri_pushforward_item[float], potri_pushforward_item[double],
           potri_pushforward_item[complex64], potri_pushforward_item[complex128]):
        raise singular_factor(&b, "potri_pushforward")
    return ld
