"""The matrix exponential by scaling and squaring of Padé approximants, and its Fréchet derivative.

Orders and scaling: Al-Mohy and Higham (2009), "A new scaling and squaring algorithm for the matrix
exponential", with bounds in the place of estimated norms.
Single precision: Higham (2008), section 10.3.  Derivative: Al-Mohy and Higham (2009), "Computing the Fréchet
derivative of the matrix exponential": the same steps, differentiated, with all that the exponential has
computed.  Its adjoint is itself at the transposed arguments, L(Aᵀ, X) = L(A, Xᵀ)ᵀ.
"""

cimport numpy as cnp
from libc.math cimport NAN, ceil, exp, fabs, isfinite, ldexp, log2, pow, sinh
from libc.string cimport memcpy

from lindiff.kernels.batch cimport (
    Batch, enter, fresh, fresh_integers, own, read, read_integers, run, same_matrix, square, start,
)
from lindiff.kernels.lu cimport getrf_one, getrs_one
from lindiff.kernels.products cimport gemm_one
from lindiff.kernels.rowmajor cimport blas_int, floating
from lindiff.kernels.triangles cimport transpose_square

cnp.import_array()

# What is kept of one matrix: `slots` matrices of its order, in this order.
cdef enum:
    SCALED = 0     # A / 2ˢ
    POWERS = 1     # its powers 2, 4, 6, 8, as far as the approximant has them
    ODD = 5        # W: the approximant is (V - A W)⁻¹ (V + A W)
    FACTORS = 6    # LU of its denominator
    SQUARES = 7    # its squares, the approximant first; the last one is the exponential

cdef enum:
    MAX_SQUARINGS = 2048   # more than the exponent of a double asks for

# Coefficients of the numerator of the approximants, and the bounds of the norm up to which they are used.
cdef double[4] PADE3 = [120, 60, 12, 1]
cdef double[6] PADE5 = [30240, 15120, 3360, 420, 30, 1]
cdef double[8] PADE7 = [17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1]
cdef double[10] PADE9 = [17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90,
                         1]
cdef double[14] PADE13 = [
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
    670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1,
]
cdef double[5] BOUND64 = [1.495585217958292e-2, 2.539398330063230e-1, 9.504178996162932e-1, 2.097847961257068,
                          4.25]
cdef double[3] BOUND32 = [4.258730016922831e-1, 1.880152677804762, 3.925724783138660]


cdef inline const double *coefficients(int m) noexcept nogil:
    if m == 3:
        return PADE3
    if m == 5:
        return PADE5
    if m == 7:
        return PADE7
    if m == 9:
        return PADE9
    return PADE13


# ---- one matrix ----------------------------------------------------------------------------------

cdef void column_sums(Py_ssize_t n, const floating *A, const floating *v, floating scale,
                      floating *sums) noexcept nogil:
    """sums := scale |A|ᵀ v; the sums of |A| by columns for v = 1, which NULL stands for."""
    cdef Py_ssize_t i, j
    cdef floating x
    for j in range(n):
        sums[j] = 0
    for i in range(n):
        x = scale * v[i] if v != NULL else scale
        for j in range(n):
            sums[j] += x * <floating> fabs(A[i * n + j])


cdef double largest_of(Py_ssize_t n, const floating *v) noexcept nogil:
    """NaN or infinite if any entry is."""
    cdef Py_ssize_t i
    cdef double largest = 0
    for i in range(n):
        if not v[i] <= largest:
            largest = v[i]
            if not isfinite(largest):
                break
    return largest


cdef double norm(Py_ssize_t n, const floating *A, floating *work) noexcept nogil:
    """The largest sum of a column; work holds n entries."""
    column_sums(n, A, <floating *> NULL, <floating> 1, work)
    return largest_of(n, work)


cdef inline void square_product(blas_int n, const floating *A, const floating *B, floating beta,
                                floating *C) noexcept nogil:
    """C := A B + beta C."""
    gemm_one(False, False, n, n, n, <floating> 1, A, n, B, n, beta, C, n)


cdef inline void commuted(blas_int n, const floating *A, const floating *X, const floating *Y,
                          const floating *B, floating *C) noexcept nogil:
    """C := A X + Y B."""
    square_product(n, A, X, <floating> 0, C)
    square_product(n, Y, B, <floating> 1, C)


cdef void combine_powers(Py_ssize_t size, int count, const double *c, const floating *P,
                         floating *out) noexcept nogil:
    """out := the sum of c[2k] P[k], for up to four matrices P[k] that lie one behind the other."""
    cdef Py_ssize_t i
    cdef floating c0 = <floating> c[0], c1, c2, c3
    c1 = <floating> c[2] if count > 1 else 0
    c2 = <floating> c[4] if count > 2 else 0
    c3 = <floating> c[6] if count > 3 else 0
    if count == 1:
        for i in range(size):
            out[i] = c0 * P[i]
    elif count == 2:
        for i in range(size):
            out[i] = c0 * P[i] + c1 * P[size + i]
    elif count == 3:
        for i in range(size):
            out[i] = c0 * P[i] + c1 * P[size + i] + c2 * P[2 * size + i]
    else:
        for i in range(size):
            out[i] = c0 * P[i] + c1 * P[size + i] + c2 * P[2 * size + i] + c3 * P[3 * size + i]


cdef inline int powers_of(int m) noexcept nogil:
    """How many even powers the approximant of order m is written in."""
    return 3 if m == 13 else (m - 1) // 2


cdef void scale_powers(Py_ssize_t n, int s, int powers, floating *kept) noexcept nogil:
    """A := A / 2ˢ, and its even powers with it."""
    cdef Py_ssize_t i, k, size = n * n
    cdef floating factor
    for k in range(powers + 1):
        factor = <floating> ldexp(1.0, -s * (2 * k if k > 0 else 1))
        for i in range(size):
            kept[k * size + i] *= factor


cdef int extra_squarings(Py_ssize_t n, int m, const floating *A, double size, double precision,
                         floating *work) noexcept nogil:
    """How often A must be halved, that the first term of the backward error of order m is rounding.

    The term is taken of |A|; `size` is the norm of A; work holds 2n entries.
    """
    cdef double c, log_term, largest
    cdef Py_ssize_t _k
    cdef floating *v = work
    cdef floating *w = work + n
    if m == 3:
        c = 1 / 100800.
    elif m == 5:
        c = 1 / 10059033600.
    elif m == 7:
        c = 1 / 4487938430976000.
    elif m == 9:
        c = 1 / 5914384781877411840000.
    else:
        c = 1 / 113250775606021113483283660800000000.
    log_term = log2(c / precision) + 2 * m * log2(size)
    if not log_term > 0:
        return 0   # so it is even if no entry cancels another
    column_sums(n, A, <floating *> NULL, <floating> (1 / size), v)
    for _k in range(2 * m):
        column_sums(n, A, v, <floating> (1 / size), w)
        v, w = w, v
    largest = largest_of(n, v)
    if largest == 0:
        return 0
    log_term += log2(largest)
    return <int> ceil(log_term / (2 * m)) if log_term > 0 else 0


cdef inline int most_squarings(double size, bint double_precision) noexcept nogil:
    """How many squarings a matrix of this norm can need."""
    cdef double ratio = size / (BOUND64[4] if double_precision else BOUND32[2])
    return <int> ceil(log2(ratio)) if isfinite(ratio) and ratio > 1 else 0


cdef int choose_approximant(blas_int n, floating *kept, floating *work, int *squarings) noexcept nogil:
    """The order of the approximant, its even powers, and the number of squarings."""
    cdef bint double_precision = floating is double
    cdef const double *bound = &BOUND64[0] if double_precision else &BOUND32[0]
    cdef double precision = 2.0 ** -53 if double_precision else 2.0 ** -24
    cdef Py_ssize_t size = <Py_ssize_t> n * n
    cdef floating *A = kept
    cdef floating *A2 = kept + POWERS * size
    cdef floating *A4 = A2 + size
    cdef floating *A6 = A4 + size
    cdef floating *A8 = A6 + size
    cdef double of_A = norm(n, A, work), of_A2, of_A4, of_A6, d4, d6, d8, d10, eta
    cdef int s
    squarings[0] = 0
    if not isfinite(of_A):
        return 0
    if of_A > (1e40 if double_precision else 1e5):   # its powers would overflow
        squarings[0] = most_squarings(of_A, double_precision)
        scale_powers(n, squarings[0], 0, kept)
        square_product(n, A, A, <floating> 0, A2)
        square_product(n, A2, A2, <floating> 0, A4)
        square_product(n, A4, A2, <floating> 0, A6)
        return 13 if double_precision else 7
    square_product(n, A, A, <floating> 0, A2)
    of_A2 = norm(n, A2, work)
    # dk bounds |Aᵏ|^(1/k)
    if pow(of_A2, 0.5) <= bound[0] and extra_squarings(n, 3, A, of_A, precision, work) == 0:
        return 3
    square_product(n, A2, A2, <floating> 0, A4)
    of_A4 = norm(n, A4, work)
    d4 = pow(of_A4, 1 / 4.)
    d6 = min(pow(of_A4, 1 / 6.) * pow(of_A2, 1 / 6.), of_A)
    if max(d4, d6) <= bound[1] and extra_squarings(n, 5, A, of_A, precision, work) == 0:
        return 5
    square_product(n, A4, A2, <floating> 0, A6)
    of_A6 = norm(n, A6, work)
    d6 = pow(of_A6, 1 / 6.)
    d8 = min(d4, pow(of_A6, 1 / 8.) * pow(of_A2, 1 / 8.))
    eta = max(d6, d8)
    if eta <= bound[2] and extra_squarings(n, 7, A, of_A, precision, work) == 0:
        return 7
    if double_precision:
        if eta <= bound[3] and extra_squarings(n, 9, A, of_A, precision, work) == 0:
            square_product(n, A4, A4, <floating> 0, A8)
            return 9
        d10 = pow(of_A4, 1 / 10.) * pow(of_A6, 1 / 10.)
        eta = min(eta, max(d8, d10))
    s = <int> ceil(log2(eta / bound[4 if double_precision else 2]))
    s = max(s, extra_squarings(n, 13 if double_precision else 7, A, of_A, precision, work))
    squarings[0] = min(max(s, 0), most_squarings(of_A, double_precision))
    scale_powers(n, squarings[0], 3, kept)
    return 13 if double_precision else 7


cdef void approximate(blas_int n, int m, floating *kept, blas_int *piv, floating *R) noexcept nogil:
    """R := (V - U)⁻¹ (V + U) = I + 2 (V - U)⁻¹ U, U = A W; V and W are even polynomials in A."""
    cdef Py_ssize_t i, size = <Py_ssize_t> n * n
    cdef const double *c = coefficients(m)
    cdef int powers = powers_of(m)
    cdef floating *P = kept + POWERS * size
    cdef floating *W = kept + ODD * size
    cdef floating *Q = kept + FACTORS * size
    combine_powers(size, powers, c + 3, P, W)
    combine_powers(size, powers, c + 2, P, Q)
    for i in range(n):
        W[i * (n + 1)] += <floating> c[1]
        Q[i * (n + 1)] += <floating> c[0]
    if m == 13:
        combine_powers(size, powers, c + 9, P, R)
        square_product(n, P + 2 * size, R, <floating> 1, W)
        combine_powers(size, powers, c + 8, P, R)
        square_product(n, P + 2 * size, R, <floating> 1, Q)
    square_product(n, kept, W, <floating> 0, R)
    for i in range(size):
        Q[i] -= R[i]
        R[i] *= 2
    getrf_one(n, Q, n, piv)
    getrs_one(False, n, n, Q, n, piv, R, n)
    for i in range(n):
        R[i * (n + 1)] += 1


cdef inline bint is_zero_above(Py_ssize_t n, const floating *A, Py_ssize_t row,
                               Py_ssize_t column) noexcept nogil:
    """Whether all entries above the diagonal vanish; strides as given, exchanged for those below."""
    cdef Py_ssize_t i, j
    for i in range(n):
        for j in range(i + 1, n):
            if A[i * row + j * column] != 0:
                return False
    return True


cdef inline double quotient(double x, double y) noexcept nogil:
    """(exp(x) - exp(y)) / (x - y)."""
    cdef double half = (x - y) / 2
    if fabs(half) > 1:
        return (exp(x) - exp(y)) / (x - y)
    return exp((x + y) / 2) * (sinh(half) / half if half != 0 else 1.0)


cdef void refine(Py_ssize_t n, const floating *A, double t, Py_ssize_t row, Py_ssize_t column,
                 floating *R) noexcept nogil:
    """What is known of the exponential of t A, A lower triangular (strides as given; else exchanged):
    its diagonal, the entries beside it, the zeros above.
    """
    cdef Py_ssize_t i, j
    cdef double x, y, beside
    for i in range(n):
        x = t * A[i * (n + 1)]
        R[i * (n + 1)] = <floating> exp(x)
        if i + 1 < n:
            y = t * A[(i + 1) * (n + 1)]
            beside = t * A[(i + 1) * row + i * column]
            if beside != 0:   # the quotient may overflow
                beside *= quotient(x, y)
            R[(i + 1) * row + i * column] = <floating> beside
        for j in range(i + 1, n):
            R[i * row + j * column] = 0


cdef inline floating *squared(Py_ssize_t size, int k, int s, bint keep, floating *kept,
                              floating *E) noexcept nogil:
    """Where the k-th of s squares is; without `keep` they take turns in two places."""
    if k == s:
        return E
    return kept + (SQUARES + (k if keep else k & 1)) * size


cdef void expm_one(blas_int n, const floating *A, bint keep, floating *kept, blas_int *piv, blas_int *order,
                   floating *E) noexcept nogil:
    """E := exp(A); order[0], order[1] := m, s; m = 0 for what needs no approximant."""
    cdef Py_ssize_t i, size = <Py_ssize_t> n * n
    cdef int k, m, s = 0
    cdef bint upper, lower
    order[0] = order[1] = 0
    for i in range(n):
        piv[i] = 0
    if n <= 1:
        for i in range(n):
            E[i] = <floating> exp(A[i])
        return
    memcpy(kept, A, size * sizeof(floating))
    m = choose_approximant(n, kept, E, &s)
    order[0] = m
    order[1] = s
    if m == 0:
        for i in range(size):
            E[i] = <floating> NAN
        return
    approximate(n, m, kept, piv, squared(size, 0, s, keep, kept, E))
    lower = is_zero_above(n, A, n, 1)
    upper = is_zero_above(n, A, 1, n)
    for k in range(s + 1):
        if k > 0:
            square_product(n, squared(size, k - 1, s, keep, kept, E), squared(size, k - 1, s, keep, kept, E),
                           <floating> 0, squared(size, k, s, keep, kept, E))
        if lower:
            refine(n, A, ldexp(1.0, k - s), n, 1, squared(size, k, s, keep, kept, E))
        if upper:
            refine(n, A, ldexp(1.0, k - s), 1, n, squared(size, k, s, keep, kept, E))


cdef void expm_frechet_one(blas_int n, floating *kept, const blas_int *piv, const blas_int *order,
                           const floating *E, floating *X, floating *work) noexcept nogil:
    """X := L(A, X); work holds 7n² entries."""
    cdef Py_ssize_t i, size = <Py_ssize_t> n * n
    cdef int k, m = order[0], s = order[1], powers = powers_of(m)
    cdef const double *c = coefficients(m)
    cdef floating half = <floating> ldexp(1.0, -s), u, v
    cdef floating *A2 = kept + POWERS * size
    cdef floating *A4 = A2 + size
    cdef floating *A6 = A4 + size
    cdef floating *W = kept + ODD * size
    # derivatives of all these
    cdef floating *M2 = work
    cdef floating *M4 = M2 + size
    cdef floating *M6 = M4 + size
    cdef floating *M8 = M6 + size
    cdef floating *V_dot = M8 + size
    cdef floating *W_dot = V_dot + size
    cdef floating *U_dot = W_dot + size
    cdef floating *L = X
    cdef floating *L_next = work
    if m == 0:
        for i in range(size):
            X[i] *= E[i]
        return
    if s > 0:
        for i in range(size):
            X[i] *= half
    commuted(n, kept, X, X, kept, M2)
    if powers > 1:
        commuted(n, A2, M2, M2, A2, M4)
    if powers > 2:
        commuted(n, A4, M2, M4, A2, M6)
    if powers > 3:
        commuted(n, A4, M4, M4, A4, M8)
    combine_powers(size, powers, c + 3, M2, W_dot)
    combine_powers(size, powers, c + 2, M2, V_dot)
    if m == 13:
        combine_powers(size, powers, c + 9, M2, U_dot)
        square_product(n, A6, U_dot, <floating> 1, W_dot)
        combine_powers(size, powers, c + 9, A2, U_dot)
        square_product(n, M6, U_dot, <floating> 1, W_dot)
        combine_powers(size, powers, c + 8, M2, U_dot)
        square_product(n, A6, U_dot, <floating> 1, V_dot)
        combine_powers(size, powers, c + 8, A2, U_dot)
        square_product(n, M6, U_dot, <floating> 1, V_dot)
    commuted(n, kept, W_dot, X, W, U_dot)
    # (V - U) L = U_dot + V_dot + (U_dot - V_dot) R
    for i in range(size):
        u = U_dot[i]
        v = V_dot[i]
        X[i] = u + v
        U_dot[i] = u - v
    square_product(n, U_dot, squared(size, 0, s, True, kept, <floating *> E), <floating> 1, X)
    getrs_one(False, n, n, kept + FACTORS * size, n, piv, X, n)
    for k in range(s):
        commuted(n, squared(size, k, s, True, kept, <floating *> E), L, L,
                 squared(size, k, s, True, kept, <floating *> E), L_next)
        L, L_next = L_next, L
    if s % 2:
        memcpy(X, L, size * sizeof(floating))


# ---- arrays --------------------------------------------------------------------------------------

cdef blas_int expm_item(floating *A, Batch *b) noexcept nogil:
    """Operands: A, E; with b.transpose what is kept, and the pivots with order and number of squarings."""
    cdef floating *kept = <floating *> b.item[2] if b.transpose else <floating *> b.work
    cdef blas_int *piv = <blas_int *> b.item[3] if b.transpose else b.iwork
    expm_one(b.n, A, b.transpose, kept, piv, piv + b.n, <floating *> b.item[1])
    return 0


def expm(A):
    """Matrix exponential.

    Parameters
    ----------
    A : (..., n, n) array_like

    Returns
    -------
    E : (..., n, n) ndarray
        NaN for a matrix with entries that are not finite.

    Notes
    -----
    At most six products, one LU factorization and solve (together 44n³/3 flops), and a product for each
    squaring; a workspace of nine matrices.  Of triangular matrices the diagonal and the entries beside it are
    exact to rounding.

    Examples
    --------
    >>> expm([[0., 1.], [0., 0.]])
    array([[1., 1.],
           [0., 1.]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray _a = read(&b, square(&b, A, "expm", "A")), e = fresh(&b, b.n, b.n)
    b.transpose = False
    b.work_size = (SQUARES + 2) * <Py_ssize_t> b.n * b.n
    b.iwork_size = b.n + 2
    b.weight = 12
    run(&b, expm_item[float], expm_item[double])
    return e


cdef double largest_norm(Batch *b, cnp.ndarray A):
    """The largest finite norm in the batch."""
    cdef Py_ssize_t i, size = <Py_ssize_t> b.n * b.n, count = cnp.PyArray_SIZE(A) // size if size > 0 else 0
    cdef cnp.npy_intp n = b.n
    cdef cnp.ndarray work = cnp.PyArray_EMPTY(1, &n, b.dtype, 0)
    cdef double largest = 0, x
    for i in range(count):
        if b.dtype == cnp.NPY_FLOAT:
            x = norm(n, <float *> cnp.PyArray_DATA(A) + i * size, <float *> cnp.PyArray_DATA(work))
        else:
            x = norm(n, <double *> cnp.PyArray_DATA(A) + i * size, <double *> cnp.PyArray_DATA(work))
        if x > largest and isfinite(x):
            largest = x
    return largest


def expm_keeping(A):
    """Matrix exponential with what its derivative needs.

    Parameters
    ----------
    A : (..., n, n) array_like

    Returns
    -------
    E : (..., n, n) ndarray
    kept : (..., slots * n, n) ndarray
        The even powers of the scaled matrix, the LU factors of the denominator and all squares, one matrix
        below the other.
    piv : (..., n + 2) ndarray of int
        Pivots, order of the approximant, number of squarings.

    Examples
    --------
    >>> E, kept, piv = expm_keeping([[0., 1.], [0., 0.]])
    >>> expm_pushforward(E, kept, piv, [[1., 0.], [0., 0.]])
    array([[1. , 0.5],
           [0. , 0. ]])
    """
    cdef Batch b
    start(&b)
    cdef cnp.ndarray a = read(&b, square(&b, A, "expm", "A")), e = fresh(&b, b.n, b.n), kept, piv
    cdef int slots = SQUARES + most_squarings(largest_norm(&b, a), b.dtype == cnp.NPY_DOUBLE)
    kept = fresh(&b, slots * <Py_ssize_t> b.n, b.n)
    piv = fresh_integers(&b, b.n + 2)
    b.transpose = True
    b.weight = 12
    run(&b, expm_item[float], expm_item[double])
    return e, kept, piv


cdef bint is_kept(Batch *b, const blas_int *piv) noexcept nogil:
    """Whether pivots, order and squarings are such as `expm_keeping` gives, with b.m matrices kept."""
    cdef blas_int i, m = piv[b.n], s = piv[b.n + 1]
    if m == 0:
        return s == 0
    for i in range(b.n):
        if piv[i] >= b.n:
            return False
    return m <= 13 and m % 2 == 1 and m >= 3 and SQUARES + s <= b.m


cdef blas_int frechet_item(floating *E, Batch *b) noexcept nogil:
    cdef blas_int *piv = <blas_int *> b.item[2]
    cdef floating *X = <floating *> b.item[3]
    if not is_kept(b, piv):
        return 1
    if b.transpose:
        transpose_square(b.n, X, b.n)
    expm_frechet_one(b.n, <floating *> b.item[1], piv, piv + b.n, E, X, <floating *> b.work)
    if b.transpose:
        transpose_square(b.n, X, b.n)
    return 0


cdef object frechet(object E, object kept, object piv, object X, bint transpose, str operator, str argument,
                    bint overwrite):
    cdef Batch b
    start(&b)
    cdef cnp.ndarray e = square(&b, E, operator, "E"), k = enter(&b, kept, operator, "kept")
    cdef cnp.ndarray x = enter(&b, X, operator, argument), _piv
    cdef int ndim = cnp.PyArray_NDIM(k)
    same_matrix(e, x, operator, "E", argument)
    b.m = <blas_int> (k.shape[ndim - 2] // max(b.n, 1)) if k.shape[ndim - 1] == b.n else 0
    e = read(&b, e)
    k = read(&b, k)
    _piv = read_integers(&b, piv, b.n + 2, operator, "piv", MAX_SQUARINGS)
    x = own(&b, x, overwrite)
    b.transpose = transpose
    b.work_size = 7 * <Py_ssize_t> b.n * b.n
    b.weight = 15
    if run(&b, frechet_item[float], frechet_item[double]):
        raise ValueError(f"{operator}: E, kept and piv are not what expm_keeping has given")
    return x


def expm_pushforward(E, kept, piv, A_dot, bint overwrite_a_dot=False):
    """Pushforward of `expm`: E_dot = L(A, A_dot), the Fréchet derivative.

    Parameters
    ----------
    E, kept, piv :
        From `expm_keeping`.
    A_dot : (..., n, n) array_like
    overwrite_a_dot : bool
        E_dot may overwrite A_dot.

    Returns
    -------
    E_dot : (..., n, n) ndarray

    Notes
    -----
    At most twice the flops of `expm`; a workspace of seven matrices.

    Examples
    --------
    >>> expm_pushforward(*expm_keeping([[0.]]), [[3.]])
    array([[3.]])
    """
    return frechet(E, kept, piv, A_dot, False, "expm_pushforward", "A_dot", overwrite_a_dot)


def expm_pullback(E, kept, piv, E_bar, bint overwrite_e_bar=False):
    """Pullback of `expm`: A_bar = L(Aᵀ, E_bar) = L(A, E_barᵀ)ᵀ.

    Parameters
    ----------
    E, kept, piv :
        From `expm_keeping`.
    E_bar : (..., n, n) array_like
    overwrite_e_bar : bool
        A_bar may overwrite E_bar.

    Returns
    -------
    A_bar : (..., n, n) ndarray

    Notes
    -----
    At most twice the flops of `expm`; a workspace of seven matrices.

    Examples
    --------
    >>> expm_pullback(*expm_keeping([[0., 1.], [0., 0.]]), [[1., 0.], [0., 0.]])
    array([[1. , 0. ],
           [0.5, 0. ]])
    """
    return frechet(E, kept, piv, E_bar, True, "expm_pullback", "E_bar", overwrite_e_bar)
