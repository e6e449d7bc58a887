"""LQ, A = L Q with Q Qᵀ = I and a positive diagonal of L; A is (m, n), m <= n.

Expressions: Seeger et al. (2017), section 4.3 and appendix, "gelqf".
"""

cimport numpy as cnp
from libc.math cimport sqrt
from libc.string cimport memcpy

from lindiff.kernels cimport rowmajor
from lindiff.kernels.batch cimport (
    Batch, enter, fresh, misfit, own, place, read, run, same_matrix, square, start,
)
from lindiff.kernels.products cimport gemm_one
from lindiff.kernels.sizes cimport (
    GELQF_BLOCK as BLOCK, GELQF_DOT, GELQF_LEAF, GELQF_SYMMETRIC, GELQF_TRIANGLE_LEAF, GELQF_UNBLOCKED,
)
from lindiff.kernels.triangles cimport mirror, zero_pivot
from lindiff.kernels.triangular cimport trmm_one, trsm_one

from numpy.linalg import LinAlgError

cnp.import_array()


# ---- one matrix ----------------------------------------------------------------------------------

cdef inline floating inner(Py_ssize_t n, const floating *x, const floating *y) noexcept nogil:
    """x yᵀ. Four sums run side by side: in a single one each addition would wait for the one before it."""
    cdef Py_ssize_t j = 0
    cdef floating a = 0, b = 0, c = 0, d = 0
    if n >= GELQF_DOT:
        return rowmajor.dot(<blas_int> n, x, y)
    while j + 4 <= n:
        a += x[j] * y[j]
        b += x[j + 1] * y[j + 1]
        c += x[j + 2] * y[j + 2]
        d += x[j + 3] * y[j + 3]
        j += 4
    while j < n:
        a += x[j] * y[j]
        j += 1
    return (a + b) + (c + d)


cdef floating norm_of(Py_ssize_t n, const floating *x) noexcept nogil:
    """√(x xᵀ), also where squares overflow or vanish."""
    cdef Py_ssize_t j
    cdef floating largest = 0, y, total = inner(n, x, x)
    cdef floating tiny = 1e-30 if floating is float else 1e-280, huge = 1e30 if floating is float else 1e280
    if tiny < total < huge:
        return <floating> sqrt(total)
    for j in range(n):
        y = x[j] if x[j] >= 0 else -x[j]
        if not y <= largest:   # so that NaN is kept
            largest = y
    if largest == 0:
        return 0
    total = 0
    for j in range(n):
        total += (x[j] / largest) * (x[j] / largest)
    return <floating> (largest * sqrt(total))


cdef void reflect(Py_ssize_t n, floating tau, const floating *v, floating *x) noexcept nogil:
    """x := x (I - tau vᵀ v) for rows x and v, where v begins with a 1 that is not stored."""
    cdef Py_ssize_t j
    cdef floating s = tau * (x[0] + inner(n - 1, x + 1, v + 1))
    x[0] -= s
    for j in range(1, n):
        x[j] -= s * v[j]


cdef floating reflection(Py_ssize_t n, floating *x) noexcept nogil:
    """The row x becomes (β, v₁, v₂, ...): x (I - tau vᵀ v) = (β, 0, ...) for v = (1, v₁, ...); returns tau.

    Golub and Van Loan (2013), algorithm 5.1.1.
    """
    cdef Py_ssize_t j
    cdef floating alpha = x[0], norm = norm_of(n, x), scale
    for j in range(1, n):
        if x[j] != 0:
            break
    else:
        return 0
    if alpha > 0:
        norm = -norm
    scale = 1 / (alpha - norm)
    if scale - scale == 0:     # finite
        for j in range(1, n):
            x[j] *= scale
    else:
        for j in range(1, n):
            x[j] /= alpha - norm
    x[0] = norm
    return (norm - alpha) / norm


cdef void factor_small(Py_ssize_t m, Py_ssize_t n, floating *A, Py_ssize_t ld, floating *tau) noexcept nogil:
    """A = L Q as LAPACK's gelqf leaves it: L in the lower triangle, in each row behind it the reflection that
    brings it there.
    """
    cdef Py_ssize_t i, p
    for i in range(m):
        tau[i] = reflection(n - i, A + i * (ld + 1))
        if tau[i] != 0:
            for p in range(i + 1, m):
                reflect(n - i, tau[i], A + i * (ld + 1), A + p * ld + i)


cdef void form_q_small(Py_ssize_t m, Py_ssize_t n, floating *A, Py_ssize_t ld,
                       const floating *tau) noexcept nogil:
    """LAPACK's orglq by plain loops: the reflections applied to the rows of the identity,
    the last one first.
    """
    cdef Py_ssize_t i, j, p
    for i in range(m - 1, -1, -1):
        for p in range(i + 1, m):
            A[p * ld + i] = 0
            reflect(n - i, tau[i], A + i * (ld + 1), A + p * ld + i)
        A[i * ld + i] = 1 - tau[i]
        for j in range(i + 1, n):
            A[i * ld + j] *= -tau[i]


cdef inline bint is_unblocked(blas_int m, blas_int n) noexcept nogil:
    return <Py_ssize_t> m * m * n <= GELQF_UNBLOCKED


cdef inline blas_int block_of(blas_int m) noexcept nogil:
    return m if m < BLOCK else BLOCK


cdef Py_ssize_t gelqf_work(blas_int m, blas_int n) noexcept nogil:
    """Entries of workspace that `gelqf_one` needs: T and V of a block, and two products with rows of A."""
    return m if is_unblocked(m, n) else BLOCK * <Py_ssize_t> m + <Py_ssize_t> block_of(m) * (2 * m + n)


cdef void reflect_rows(blas_int rows, blas_int b, blas_int n, const floating *V, blas_int ldv,
                       const floating *T, bint transpose_t, floating *C, blas_int ldc,
                       floating *W) noexcept nogil:
    """C := C (I - Vᵀ t(T) V), C of shape (rows, n), V of (b, n); W has 2 rows b entries."""
    cdef floating *WT = W + <Py_ssize_t> rows * b
    gemm_one(False, True, rows, b, n, <floating> 1, C, ldc, V, ldv, <floating> 0, W, b)
    gemm_one(False, transpose_t, rows, b, b, <floating> 1, W, b, T, BLOCK, <floating> 0, WT, b)
    gemm_one(False, False, rows, n, b, <floating> -1, WT, b, V, ldv, <floating> 1, C, ldc)


cdef void factor_block_by_rows(Py_ssize_t b, Py_ssize_t n, floating *A, Py_ssize_t lda, floating *V,
                               Py_ssize_t ldv, floating *T, floating *tau) noexcept nogil:
    """The same as `factor_block`, one row after the other; tau is a workspace of b entries.

    T is that of LAPACK's larft: T_ji = -tau_i Σ_l T_jl v_l v_iᵀ, j < i.
    """
    cdef Py_ssize_t i, j, p
    cdef floating x
    factor_small(b, n, A, lda, tau)
    for i in range(b):
        for j in range(n):
            V[i * ldv + j] = A[i * lda + j] if j > i else i == j
        for j in range(b):
            T[i * BLOCK + j] = 0
        T[i * (BLOCK + 1)] = tau[i]
    for i in range(b):
        for p in range(i):
            x = -tau[i] * inner(n - i, V + p * ldv + i, V + i * (ldv + 1))
            for j in range(p + 1):
                T[j * BLOCK + i] += T[j * BLOCK + p] * x


cdef void factor_block(blas_int b, blas_int n, floating *A, blas_int lda, floating *V, blas_int ldv,
                       floating *T, floating *W) noexcept nogil:
    """A, of shape (b, n), as `factor_small` leaves it; the product of its reflections is I - Vᵀ T V, with T
    upper triangular in rows of BLOCK entries. W has 2 b² entries.

    By halves, which makes it products of matrices: Elmroth and Gustavson (2000).
    """
    cdef blas_int h = b // 2
    cdef Py_ssize_t i, j
    cdef floating *V2
    cdef floating *T2
    if b <= GELQF_LEAF:
        factor_block_by_rows(b, n, A, lda, V, ldv, T, W)
        return
    V2 = V + <Py_ssize_t> h * ldv + h
    T2 = T + <Py_ssize_t> h * BLOCK + h
    factor_block(h, n, A, lda, V, ldv, T, W)
    reflect_rows(b - h, h, n, V, ldv, T, False, A + <Py_ssize_t> h * lda, lda, W)
    factor_block(b - h, n - h, A + <Py_ssize_t> h * lda + h, lda, V2, ldv, T2, W)
    for i in range(b - h):
        for j in range(h):
            V2[i * ldv + j - h] = 0
            T2[i * BLOCK + j - h] = 0
    # T₁₂ = -T₁ (V₁ V₂ᵀ) T₂
    gemm_one(False, True, h, b - h, n - h, <floating> 1, V + h, ldv, V2, ldv, <floating> 0, W, b - h)
    gemm_one(False, False, h, b - h, h, <floating> 1, T, BLOCK, W, b - h, <floating> 0,
             W + <Py_ssize_t> h * (b - h), b - h)
    gemm_one(False, False, h, b - h, b - h, <floating> -1, W + <Py_ssize_t> h * (b - h), b - h, T2, BLOCK,
             <floating> 0, T + h, BLOCK)


cdef void factor_blocks(blas_int m, blas_int n, floating *A, Py_ssize_t ld, floating *T, floating *V,
                        floating *W) noexcept nogil:
    """`factor_small` by blocks of rows, whose T are kept one after the other."""
    cdef blas_int b
    cdef Py_ssize_t k = 0
    cdef floating *block
    while k < m:
        b = <blas_int> (BLOCK if k + BLOCK <= m else m - k)
        block = A + k * (ld + 1)
        factor_block(b, <blas_int> (n - k), block, <blas_int> ld, V, <blas_int> (n - k), T + k * BLOCK, W)
        reflect_rows(<blas_int> (m - k - b), b, <blas_int> (n - k), V, <blas_int> (n - k), T + k * BLOCK,
                     False, block + b * ld, <blas_int> ld, W)
        k += b


cdef void form_q(blas_int m, blas_int n, floating *A, Py_ssize_t ld, const floating *T, floating *V,
                 floating *W) noexcept nogil:
    """A := Q, orthonormal rows: rows of the identity, multiplied by I - Vᵀ Tᵀ V of each block, the last one
    first. What such a product leaves zero is not computed.
    """
    cdef blas_int b, rest
    cdef Py_ssize_t i, j, k = (m - 1) // BLOCK * BLOCK
    cdef floating *block
    while k >= 0:
        b = <blas_int> (BLOCK if k + BLOCK <= m else m - k)
        rest = <blas_int> (n - k)
        block = A + k * (ld + 1)
        for i in range(b):
            for j in range(rest):
                V[i * rest + j] = block[i * ld + j] if j > i else i == j
        for i in range(m - k):     # the block's own rows of the identity, and what is below its columns
            for j in range(b):
                block[i * ld + j] = 0
        reflect_rows(<blas_int> (m - k - b), b, rest, V, rest, T + k * BLOCK, True, block + b * ld,
                     <blas_int> ld, W)
        # [I 0] - V₁ᵀ Tᵀ V, V₁ the first b columns of V
        gemm_one(True, True, b, b, b, <floating> 1, V, rest, T + k * BLOCK, BLOCK, <floating> 0, W, b)
        gemm_one(False, False, b, rest, b, <floating> -1, W, b, V, rest, <floating> 0, block, <blas_int> ld)
        for i in range(b):
            block[i * (ld + 1)] += 1
            for j in range(k):
                A[(k + i) * ld + j] = 0
        k -= BLOCK


cdef void gelqf_one(blas_int m, blas_int n, floating *A, blas_int lda, floating *L, blas_int ldl, bint with_q,
                    floating *work) noexcept nogil:
    """L and A := Q with A = L Q; without `with_q`, A is left in an inner form.
    work has `gelqf_work(m, n)` entries.
    """
    cdef Py_ssize_t i, j, la = lda, ll = ldl
    cdef bint small = is_unblocked(m, n)
    cdef floating *V = work + <Py_ssize_t> BLOCK * m
    cdef floating *W = V + <Py_ssize_t> block_of(m) * n
    if small:
        factor_small(m, n, A, la, work)
    else:
        factor_blocks(m, n, A, la, work, V, W)
    for i in range(m):
        for j in range(m):
            L[i * ll + j] = A[i * la + j] if j <= i else 0
    if with_q:
        if small:
            form_q_small(m, n, A, la, work)
        else:
            form_q(m, n, A, la, work, V, W)
    for j in range(m):   # the sign of a column of L goes with that of a row of Q
        if L[j * ll + j] < 0:
            for i in range(j, m):
                L[i * ll + j] = -L[i * ll + j]
            if with_q:
                for i in range(n):
                    A[j * la + i] = -A[j * la + i]


cdef void multiply_transposed(Py_ssize_t m, Py_ssize_t n, const floating *L, Py_ssize_t ldl, floating *X,
                              Py_ssize_t ldx) noexcept nogil:
    """X := Lᵀ X, X of shape (m, n). It is halved for the same reason as in `solve_transposed`."""
    cdef Py_ssize_t i, j, c, h = m // 2
    cdef floating l
    if m > GELQF_TRIANGLE_LEAF:
        multiply_transposed(h, n, L, ldl, X, ldx)
        gemm_one(True, False, <blas_int> h, <blas_int> n, <blas_int> (m - h), <floating> 1, L + h * ldl,
                 <blas_int> ldl, X + h * ldx, <blas_int> ldx, <floating> 1, X, <blas_int> ldx)
        multiply_transposed(m - h, n, L + h * (ldl + 1), ldl, X + h * ldx, ldx)
        return
    for i in range(m):
        l = L[i * (ldl + 1)]
        for c in range(n):
            X[i * ldx + c] *= l
        for j in range(i + 1, m):
            l = L[j * ldl + i]
            for c in range(n):
                X[i * ldx + c] += l * X[j * ldx + c]


cdef void l_transpose_l_bar(blas_int m, const floating *L, blas_int ldl, const floating *L_bar, blas_int ldlb,
                            floating *M) noexcept nogil:
    """M := Lᵀ tril(L_bar), (m, m)."""
    cdef Py_ssize_t i, j, lb = ldlb
    for i in range(m):
        for j in range(m):
            M[i * m + j] = L_bar[i * lb + j] if j <= i else 0
    multiply_transposed(m, m, L, ldl, M, m)


cdef void symmetric_times(blas_int m, blas_int n, floating *M, const floating *Q, blas_int ldq,
                          floating beta, floating *X, blas_int ldx) noexcept nogil:
    """X := copyltu(M) Q + beta X."""
    if m > GELQF_SYMMETRIC:
        rowmajor.hemm(False, True, m, n, <floating> 1, M, m, Q, ldq, beta, X, ldx)
    else:
        mirror(True, m, <floating> 1, M, m)
        gemm_one(False, False, m, n, m, <floating> 1, M, m, Q, ldq, beta, X, ldx)


cdef void solve_transposed(Py_ssize_t m, Py_ssize_t n, const floating *L, Py_ssize_t ldl, floating *X,
                           Py_ssize_t ldx) noexcept nogil:
    """X := L⁻ᵀ X, X of shape (m, n).

    It is halved, so that nearly all of it is gemm. OpenBLAS's gemm starts threads only where that pays, its
    trsm does at any size.
    """
    cdef Py_ssize_t i, j, c, h = m // 2
    cdef floating l
    if m > GELQF_TRIANGLE_LEAF:
        solve_transposed(m - h, n, L + h * (ldl + 1), ldl, X + h * ldx, ldx)
        gemm_one(True, False, <blas_int> h, <blas_int> n, <blas_int> (m - h), <floating> -1, L + h * ldl,
                 <blas_int> ldl, X + h * ldx, <blas_int> ldx, <floating> 1, X, <blas_int> ldx)
        solve_transposed(h, n, L, ldl, X, ldx)
        return
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            l = L[j * ldl + i]
            for c in range(n):
                X[i * ldx + c] -= l * X[j * ldx + c]
        l = L[i * (ldl + 1)]
        for c in range(n):
            X[i * ldx + c] /= l


cdef void gelqf_pullback_one(blas_int m, blas_int n, const floating *Q, blas_int ldq, const floating *L,
                             blas_int ldl, floating *Q_bar, blas_int ldqb, bint has_q_bar,
                             const floating *L_bar, blas_int ldlb, floating *M) noexcept nogil:
    """A_bar = L⁻ᵀ (Q_bar + copyltu(M) Q), M = Lᵀ L_bar - Q_bar Qᵀ, overwrites Q_bar.

    Q_bar counts as zero unless `has_q_bar`, L_bar if it is NULL. M is a workspace of m * m entries.
    """
    cdef floating one = 1, zero = 0, beta = 0 if L_bar == NULL else 1
    if L_bar != NULL:
        l_transpose_l_bar(m, L, ldl, L_bar, ldlb, M)
    if has_q_bar:
        if m > GELQF_SYMMETRIC:
            rowmajor.gemmt(True, False, True, m, n, -one, Q_bar, ldqb, Q, ldq, beta, M, m)
        else:
            gemm_one(False, True, m, m, n, -one, Q_bar, ldqb, Q, ldq, beta, M, m)
    symmetric_times(m, n, M, Q, ldq, one if has_q_bar else zero, Q_bar, ldqb)
    solve_transposed(m, n, L, ldl, Q_bar, ldqb)


cdef void double_below(blas_int m, floating *C, blas_int ldc) noexcept nogil:
    """C := Φ = sym(C) ∘ E: c_ij + c_ji below the diagonal, c_ii on it, 0 above."""
    cdef Py_ssize_t i, j, ld = ldc
    for i in range(m):
        for j in range(i):
            C[i * ld + j] += C[j * ld + i]
            C[j * ld + i] = 0


cdef void gelqf_pushforward_one(blas_int m, blas_int n, const floating *Q, blas_int ldq,
                                const floating *L, blas_int ldl, floating *A_dot, blas_int lda,
                                floating *L_dot, blas_int ldd) noexcept nogil:
    """L_dot = L Φ, Φ = sym(L⁻¹ A_dot Qᵀ) ∘ E, and Q_dot = L⁻¹ A_dot - Φ Q, which overwrites A_dot."""
    trsm_one(False, True, False, False, m, n, <floating> 1, L, ldl, A_dot, lda)
    gemm_one(False, True, m, m, n, <floating> 1, A_dot, lda, Q, ldq, <floating> 0, L_dot, ldd)
    double_below(m, L_dot, ldd)
    gemm_one(False, False, m, n, m, <floating> -1, L_dot, ldd, Q, ldq, <floating> 1, A_dot, lda)
    trmm_one(False, True, False, m, m, <floating> 1, L, ldl, L_dot, ldd)


# ---- arrays --------------------------------------------------------------------------------------

cdef cnp.ndarray wide(Batch *b, object A, str operator):
    """`enter` for matrices with m <= n."""
    cdef cnp.ndarray a = enter(b, A, operator, "A")
    cdef int ndim = cnp.PyArray_NDIM(a)
    b.m = <blas_int> a.shape[ndim - 2]
    b.n = <blas_int> a.shape[ndim - 1]
    if b.m > b.n:
        raise ValueError(
            f"{operator}: A must not have more rows than columns, got shape {(<object> a).shape}"
        )
    return a


cdef blas_int gelqf_item(floating *A, Batch *b) noexcept nogil:
    gelqf_one(b.m, b.n, A, b.n, <floating *> b.item[1], b.m, b.transpose, <floating *> b.work)
    return 0


cdef object lq_factors(object A, bint with_q, bint overwrite_a, str operator):
    cdef Batch b
    start(&b)
    b.transpose = with_q
    cdef cnp.ndarray a = own(&b, wide(&b, A, operator), overwrite_a), l = fresh(&b, b.m, b.m)
    b.work_size = gelqf_work(b.m, b.n)
    b.weight = 8
    run(&b, gelqf_item[float], gelqf_item[double])
    return (a, l) if with_q else l


def gelqf(A, bint overwrite_a=False):
    """LQ factors, A = L Q with Q Qᵀ = I, L lower triangular with a positive diagonal.

    Parameters
    ----------
    A : (..., m, n) array_like, m <= n
    overwrite_a : bool
        Q may overwrite A.

    Returns
    -------
    Q : (..., m, n) ndarray
        Orthonormal rows.
    L : (..., m, m) ndarray
        An entry of its diagonal is zero, or as small as rounding makes it, where A has not full rank.

    Notes
    -----
    About 4m²n - 4m³/3 flops, a workspace of 32 (3m + n) entries once for the batch. Seeger et al. (2017),
    section 4.3.

    Examples
    --------
    >>> Q, L = gelqf([[3., 4.]])
    >>> Q, L
    (array([[0.6, 0.8]]), array([[5.]]))
    """
    return lq_factors(A, True, overwrite_a, "gelqf")


def gelqf_l(A, bint overwrite_a=False):
    """L alone of A = L Q, half the work of `gelqf`: Q is never formed.

    Parameters
    ----------
    A : (..., m, n) array_like, m <= n
    overwrite_a : bool
        A may be used as workspace; its contents are lost.

    Returns
    -------
    L : (..., m, m) ndarray

    Notes
    -----
    About 2m²n - 2m³/3 flops. L is the Cholesky factor of A Aᵀ, which is not formed either.

    Examples
    --------
    >>> gelqf_l([[3., 4.]])
    array([[5.]])
    """
    return lq_factors(A, False, overwrite_a, "gelqf_l")


cdef object rank_deficient(Batch *b, str operator):
    return LinAlgError(
        f"{operator}: A has not full rank, entry {b.info - 1} of the diagonal of L is zero{place(b)}"
    )


cdef blas_int gelqf_pullback_item(floating *Q, Batch *b) noexcept nogil:
    cdef floating *L = <floating *> b.item[1]
    cdef floating *L_bar = <floating *> b.item[3] if b.operands == 4 else NULL
    cdef blas_int info = zero_pivot(b.m, L, b.m)
    if info == 0:
        gelqf_pullback_one(b.m, b.n, Q, b.n, L, b.m, <floating *> b.item[2], b.n, b.transpose, L_bar, b.m,
                           <floating *> b.work)
    return info


def gelqf_pullback(Q, L, Q_bar, L_bar, bint overwrite_q_bar=False):
    """Pullback of `gelqf`: A_bar = L⁻ᵀ (Q_bar + copyltu(M) Q), M = Lᵀ L_bar - Q_bar Qᵀ.

    Parameters
    ----------
    Q : (..., m, n) array_like
    L : (..., m, m) array_like
        Both from `gelqf`.
    Q_bar : (..., m, n) array_like or None
    L_bar : (..., m, m) array_like or None
        Only the lower triangle is read. None counts as zero; one of the two must be given.
    overwrite_q_bar : bool
        A_bar may overwrite Q_bar.

    Returns
    -------
    A_bar : (..., m, n) ndarray

    Raises
    ------
    numpy.linalg.LinAlgError
        If A has not full rank.

    Notes
    -----
    4m²n + m³ flops, one temporary m × m matrix. Seeger et al. (2017), section 4.3.

    Examples
    --------
    >>> gelqf_pullback([[0.6, 0.8]], [[5.]], None, [[1.]])
    array([[0.6, 0.8]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray l = square(&b, L, "gelqf_pullback", "L"), q = enter(&b, Q, "gelqf_pullback", "Q"), qb, lb
    cdef int ndim = cnp.PyArray_NDIM(q)
    b.m = b.n
    b.n = <blas_int> q.shape[ndim - 1]
    if q.shape[ndim - 2] != b.m:
        raise misfit("gelqf_pullback", "Q", q, "L", l)
    b.transpose = Q_bar is not None
    if Q_bar is None and L_bar is None:
        raise ValueError("gelqf_pullback: one of Q_bar and L_bar must be given")
    if Q_bar is not None:
        qb = enter(&b, Q_bar, "gelqf_pullback", "Q_bar")
        same_matrix(q, qb, "gelqf_pullback", "Q", "Q_bar")
    if L_bar is not None:
        lb = enter(&b, L_bar, "gelqf_pullback", "L_bar")
        same_matrix(l, lb, "gelqf_pullback", "L", "L_bar")
    q = read(&b, q)
    l = read(&b, l)
    qb = fresh(&b, b.m, b.n) if Q_bar is None else own(&b, qb, overwrite_q_bar)
    if L_bar is not None:
        lb = read(&b, lb)
    b.work_size = <Py_ssize_t> b.m * b.m
    b.weight = 6
    if run(&b, gelqf_pullback_item[float], gelqf_pullback_item[double]):
        raise rank_deficient(&b, "gelqf_pullback")
    return qb


cdef blas_int gelqf_pushforward_item(floating *Q, Batch *b) noexcept nogil:
    cdef floating *L = <floating *> b.item[1]
    cdef blas_int info = zero_pivot(b.m, L, b.m)
    if info == 0:
        gelqf_pushforward_one(b.m, b.n, Q, b.n, L, b.m, <floating *> b.item[2], b.n,
                              <floating *> b.item[3], b.m)
    return info


def gelqf_pushforward(Q, L, A_dot):
    """Pushforward of `gelqf`: L_dot = L Φ, Φ = sym(L⁻¹ A_dot Qᵀ) ∘ E, Q_dot = L⁻¹ A_dot - Φ Q.

    E doubles what is below the diagonal, keeps the diagonal and clears the rest.

    Parameters
    ----------
    Q : (..., m, n) array_like
    L : (..., m, m) array_like
        Both from `gelqf`.
    A_dot : (..., m, n) array_like

    Returns
    -------
    Q_dot : (..., m, n) ndarray
    L_dot : (..., m, m) ndarray

    Notes
    -----
    5m²n + m³ flops, no memory but the results. Seeger et al. (2017), appendix, "gelqf".

    Examples
    --------
    >>> gelqf_pushforward([[0.6, 0.8]], [[5.]], [[0.6, 0.8]])[1]
    array([[1.]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray l = square(&b, L, "gelqf_pushforward", "L")
    cdef cnp.ndarray q = enter(&b, Q, "gelqf_pushforward", "Q")
    cdef cnp.ndarray ad, ld
    cdef int ndim = cnp.PyArray_NDIM(q)
    b.m = b.n
    b.n = <blas_int> q.shape[ndim - 1]
    if q.shape[ndim - 2] != b.m:
        raise misfit("gelqf_pushforward", "Q", q, "L", l)
    ad = enter(&b, A_dot, "gelqf_pushforward", "A_dot")
    same_matrix(q, ad, "gelqf_pushforward", "Q", "A_dot")
    q = read(&b, q)
    l = read(&b, l)
    ad = own(&b, ad)
    ld = fresh(&b, b.m, b.m)
    b.weight = 6
    if run(&b, gelqf_pushforward_item[float], gelqf_pushforward_item[double]):
        raise rank_deficient(&b, "gelqf_pushforward")
    return ad, ld


cdef blas_int gelqf_l_pullback_item(floating *L, Batch *b) noexcept nogil:
    cdef floating *M = <floating *> b.work
    cdef floating *Q = M + <Py_ssize_t> b.m * b.m
    cdef blas_int info = zero_pivot(b.m, L, b.m)
    if info == 0:
        memcpy(Q, b.item[1], <size_t> b.m * b.n * sizeof(floating))
        trsm_one(False, True, False, False, b.m, b.n, <floating> 1, L, b.m, Q, b.n)
        gelqf_pullback_one(b.m, b.n, Q, b.n, L, b.m, <floating *> b.item[3], b.n, False,
                           <floating *> b.item[2], b.m, M)
    return info


def gelqf_l_pullback(L, A, L_bar):
    """Pullback of `gelqf_l`: A_bar = L⁻ᵀ copyltu(Lᵀ L_bar) L⁻¹ A.

    Parameters
    ----------
    L : (..., m, m) array_like
        The result of `gelqf_l`.
    A : (..., m, n) array_like
    L_bar : (..., m, m) array_like
        Only the lower triangle is read.

    Returns
    -------
    A_bar : (..., m, n) ndarray

    Raises
    ------
    numpy.linalg.LinAlgError
        If A has not full rank.

    Notes
    -----
    4m²n + m³ flops, a temporary m × m and an m × n matrix. Seeger et al. (2017), section 4.3, with Q = L⁻¹ A.

    Examples
    --------
    >>> gelqf_l_pullback([[5.]], [[3., 4.]], [[1.]])
    array([[0.6, 0.8]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray l = square(&b, L, "gelqf_l_pullback", "L"), a = wide(&b, A, "gelqf_l_pullback")
    cdef cnp.ndarray lb = enter(&b, L_bar, "gelqf_l_pullback", "L_bar"), a_bar
    if l.shape[cnp.PyArray_NDIM(l) - 1] != b.m:
        raise misfit("gelqf_l_pullback", "L", l, "A", a)
    same_matrix(l, lb, "gelqf_l_pullback", "L", "L_bar")
    l = read(&b, l)
    a = read(&b, a)
    lb = read(&b, lb)
    a_bar = fresh(&b, b.m, b.n)
    b.work_size = <Py_ssize_t> b.m * b.m + <Py_ssize_t> b.m * b.n
    b.weight = 4
    if run(&b, gelqf_l_pullback_item[float], gelqf_l_pullback_item[double]):
        raise rank_deficient(&b, "gelqf_l_pullback")
    return a_bar


cdef blas_int gelqf_l_pushforward_item(floating *L, Batch *b) noexcept nogil:
    cdef floating *Q = <floating *> b.work
    cdef floating *X = Q + <Py_ssize_t> b.m * b.n
    cdef blas_int info = zero_pivot(b.m, L, b.m)
    if info == 0:
        memcpy(Q, b.item[1], <size_t> b.m * b.n * sizeof(floating))
        memcpy(X, b.item[2], <size_t> b.m * b.n * sizeof(floating))
        trsm_one(False, True, False, False, b.m, b.n, <floating> 1, L, b.m, Q, b.n)
        gelqf_pushforward_one(b.m, b.n, Q, b.n, L, b.m, X, b.n, <floating *> b.item[3], b.m)
    return info


def gelqf_l_pushforward(L, A, A_dot):
    """Pushforward of `gelqf_l`: L_dot = L Φ, Φ = sym(L⁻¹ A_dot Qᵀ) ∘ E with Q = L⁻¹ A.

    Parameters
    ----------
    L : (..., m, m) array_like
        The result of `gelqf_l`.
    A, A_dot : (..., m, n) array_like

    Returns
    -------
    L_dot : (..., m, m) ndarray

    Notes
    -----
    6m²n + m³ flops, two temporary m × n matrices. Seeger et al. (2017), appendix, "gelqf".

    Examples
    --------
    >>> gelqf_l_pushforward([[5.]], [[3., 4.]], [[3., 4.]])
    array([[5.]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray l = square(&b, L, "gelqf_l_pushforward", "L"), a = wide(&b, A, "gelqf_l_pushforward")
    cdef cnp.ndarray ad = enter(&b, A_dot, "gelqf_l_pushforward", "A_dot"), ld
    if l.shape[cnp.PyArray_NDIM(l) - 1] != b.m:
        raise misfit("gelqf_l_pushforward", "L", l, "A", a)
    same_matrix(a, ad, "gelqf_l_pushforward", "A", "A_dot")
    l = read(&b, l)
    a = read(&b, a)
    ad = read(&b, ad)
    ld = fresh(&b, b.m, b.m)
    b.work_size = 2 * <Py_ssize_t> b.m * b.n
    b.weight = 4
    if run(&b, gelqf_l_pushforward_item[float], gelqf_l_pushforward_item[double]):
        raise rank_deficient(&b, "gelqf_l_pushforward")
    return ld
