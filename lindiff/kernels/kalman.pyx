"""The Kalman filter, the gradient of its log-likelihood and the smoother: one sweep each way.

    x_{t+1} = A x_t + c_t + h_t,  h ~ N(0, Q);    y_t = B x_t + v_t,  v ~ N(0, R);    x_0 ~ N(m, P).

Forward (Durbin & Koopman 2012, section 4.3), over the rows of y_t that are observed:

    v = y - B m,  S = B P Bᵀ + R,  K = P Bᵀ S⁻¹,  w = S⁻¹ v,  m_f = m + K v,  P_f = P - K S Kᵀ,
    m := A m_f + c,  P := A P_f Aᵀ + Q.

Backward, with the r and N of the disturbance smoother (ibid., 4.4-4.5); r = 0 and N = 0 after the last step:

    u = Aᵀ r,  F = Aᵀ N A,  M = m_f + P_f u (the smoothed mean),  e = w - Kᵀ u,  D = S⁻¹ + Kᵀ F K,
    Q̄ += ½ (r rᵀ - N),  Ā += r Mᵀ - N A P_f,  c̄ += r,
    R̄ += ½ (e eᵀ - D),  B̄ += e Mᵀ + Kᵀ F P_f - Kᵀ,  ȳ = -e,
    r := u + Bᵀ e,  N := F + Bᵀ Z + Zᵀ B  with  Z = ½ D B - Kᵀ F;

at the end m̄ = r, P̄ = ½ (r rᵀ - N).  So r and N together are the adjoint of the predicted moments, and no
inverse but S⁻¹ appears.  Where the errors of y_t are independent (R diagonal) its elements are taken one
after the other, each with a number for S (Koopman & Durbin 2000): p n² instead of p³ and p² n.

Where one state j brings nearly all of an element's variance S, 1 - b_j K_j is found as the rest of S, without
cancellation, and so are the entries of m_f, P_f, r and N that belong to j: P_f b = R K gives those of P_f.

P, S, K and N do not depend on y: series that share parameters and gaps share them, and are the columns of m,
v, w, r and e.  When P comes to rest it is not computed again, and neither is N: then a step costs n² for each
series.

What is differentiated is -½ Σ_ij Ω_ij vᵢᵀ S⁻¹ vⱼ - ½ ω log |S| for series i and j: then r rᵀ stands for
r Ω rᵀ, and N for ω N.  Ω is diagonal but for the last d columns, those of an unknown start (de Jong 1991).

With a weight of its own for each step, Σ_t ω_t (-½ vᵀ S⁻¹ v - ½ log |S|), the adjoint of P is no longer that
of rank one and N: then m̄ and P̄ themselves go backward, and nothing rests.  From m_f and P_f to m and P,

    K̄ = m̄ vᵀ - 2 P̄ K S,  S̄ = ½ ω (w wᵀ - S⁻¹) - Kᵀ P̄ K - sym(Kᵀ K̄ S⁻¹),  v̄ = Kᵀ m̄ - ω w,
    R̄ += S̄,  B̄ += S⁻¹ K̄ᵀ P + 2 S̄ S Kᵀ - v̄ mᵀ,  ȳ = v̄,
    m̄ := m̄ - Bᵀ v̄,  P̄ := P̄ + sym(K̄ S⁻¹ B) + Bᵀ S̄ B.

All formulas are analytic in every argument, and nothing here conjugates: in complex arithmetic the imaginary
part of a sweep is the derivative of its real part, exact to rounding (Squire & Trapp 1998).
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, isfinite, log, sqrt
from libc.string cimport memcpy, memset

from lindiff.kernels.conditions cimport are_finite
from lindiff.kernels.entries cimport Entries, add_row, entries_congruence, entries_times
from lindiff.kernels.rowmajor cimport PLAIN, TRANSPOSE
from lindiff.kernels.scalar cimport complex64, complex128, real_part, scalar
from lindiff.kernels.sizes cimport BETWEEN_LOOKS, SPARSE_ENTRIES, SPARSE_STATES
from lindiff.kernels.small cimport matrix_product, symmetric_product

import threading
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

cdef extern from "<complex.h>" nogil:
    complex128 csqrt(complex128)
    complex128 clog(complex128)

cnp.import_array()

cdef double EPS = np.finfo(np.float64).eps
cdef double EPS_FLOAT = np.finfo(np.float32).eps

# A state with more of an element's variance than this loses ten bits and more when the element is observed.
cdef double CARRIED = 1 - 2.0 ** -10

# What is no more than this of what it stands beside is rounding; of information, the square.
cdef double UNSEEN = 1e3 * EPS


class Wanted(NamedTuple):
    """What is wanted of a matrix: its rows (of axis 0), or its columns (1), or what is in both (None), at
    `places`, an array of intp, which are no more than half of all.  What is not wanted is zero."""

    axis: int | None
    places: object


cdef struct Model:
    Py_ssize_t steps
    Py_ssize_t n
    Py_ssize_t p
    Py_ssize_t series
    Py_ssize_t mixed   # how many series, the last ones, have products with all
    void *y   # (steps, p, series)
    void *A   # (n, n), each with the distance from one step to the next: 0 where constant
    void *B
    void *Q
    void *R   # (p, p); independent: (p,)
    void *c   # (n, c_width), c_width being 1 or series; NULL for none
    Py_ssize_t A_step
    Py_ssize_t B_step
    Py_ssize_t Q_step
    Py_ssize_t R_step
    Py_ssize_t c_step
    Py_ssize_t c_width
    bint sparse    # A is constant, and has few entries:
    Entries entries
    Entries turned   # those of Aᵀ
    Py_ssize_t moving   # how many rows of a constant Q are not zero
    const Py_ssize_t *moved   # which; NULL: Q may change in time
    const unsigned char *observed   # (steps, p); NULL: everything is
    bint independent
    bint constant   # no matrix changes in time
    bint predicts   # the state after the last step, too
    double tolerance


cdef struct Kept:
    # what the way back needs of a block of steps; covariances in slots, one slot for all steps at rest
    Py_ssize_t first   # the step where the block begins
    bint whole   # False: no m, P and K of the latest step, w and L of all
    void *m      # (steps, n, series): m_f
    void *w      # (steps, p, series)
    void *P      # (slots, n, n): P_f
    void *K      # (slots, p, n): Kᵀ
    void *L      # (slots, p, p): L⁻¹ with S = L Lᵀ; independent: (slots, p), the variances
    Py_ssize_t *slot


cdef struct Rest:
    # whether a covariance rests, by its last change and its scale
    bint resting
    double change
    Py_ssize_t mover   # a state whose variance changed by more than that is allowed
    double *peak    # (n,) of its diagonal so far
    double *scale   # (n,)
    double *moved   # (n,) the imaginary parts' own scale


cdef struct Forward:
    # where the filter stands: predicted moments
    Py_ssize_t slot
    Rest rest
    void *m
    void *P
    void *m_new   # where the next ones are computed
    void *P_new


cdef struct Backward:
    # where the way back stands; `count` steps of a resting N are not added up yet
    Rest rest
    Py_ssize_t count
    Py_ssize_t at
    bint gathered   # whether `sums` is not zero
    void *r
    void *N
    void *sums   # (n, n): of N A, or (N A)ᵀ where A is sparse, over steps that share P_f


cdef struct Places:
    # a `Wanted`
    const Py_ssize_t *at   # NULL: all
    Py_ssize_t count
    bint columns


cdef struct Bars:
    # cotangents and smoothed moments that are wanted; NULL: not
    void *y
    void *A
    void *B
    void *Q
    void *R
    void *c
    void *M
    void *V
    void *own        # (series,): the diagonal of Ω, zero for mixed series; NULL: no gradient is wanted
    void *mixing     # (series, mixed): their columns of Ω
    bint covariances   # whether N is needed
    bint means         # whether M is
    bint weighs        # whether r Ω is
    Places of_A        # of what cotangents are wanted: of rows or columns,
    Places of_Q        # and of what is in both


# ---- small things --------------------------------------------------------------------------------

cdef inline scalar square_root(scalar x) noexcept nogil:
    if scalar is complex64 or scalar is complex128:
        return <scalar> csqrt(<complex128> x)
    else:
        return <scalar> sqrt(x)


cdef inline scalar logarithm(scalar x) noexcept nogil:
    if scalar is complex64 or scalar is complex128:
        return <scalar> clog(<complex128> x)
    else:
        return <scalar> log(x)


cdef inline bint positive(scalar x) noexcept nogil:
    return real_part(x) > 0 and isfinite(real_part(x))


cdef inline double unit(const scalar *unused) noexcept nogil:
    """The distance from 1 to the next number."""
    if scalar is float or scalar is complex64:
        return EPS_FLOAT
    else:
        return EPS


cdef bint surely_moves(bint transpose, Model *g, const scalar *A, const scalar *new, const scalar *old,
                       Rest *rest) noexcept nogil:
    """Whether one variance, the last that did, changes by more than the tolerance in any case.

    Without a root: the scale of `scaled_change` has (Σ_k |a_ik| √old_kk)² ≤ n Σ_k a_ik² old_kk.
    """
    cdef Py_ssize_t j, n = g.n, i = rest.mover
    cdef Py_ssize_t first = i if transpose else i * n, apart = n if transpose else 1
    cdef double x, total = 0
    for j in range(n):
        x = real_part(A[first + j * apart])
        total += x * x * fabs(real_part(old[j * (n + 1)]))
    total = max(max(n * total, fabs(real_part(new[i * (n + 1)]))), unit(new) * rest.peak[i])
    return fabs(real_part(new[i * (n + 1)]) - real_part(old[i * (n + 1)])) > g.tolerance * total


cdef double scaled_change(bint transpose, Py_ssize_t n, const scalar *A, const scalar *new, const scalar *old,
                          double enough, Rest *rest) noexcept nogil:
    """The largest change of an entry of new = A X Aᵀ + …, X from old (`transpose`: Aᵀ X A), measured by the
    rounding of its own computation; or a change of more than `enough`, where there is one.

    The scales g_i g_j, g_i the largest of Σ_k |a_ik| √old_kk, √new_ii and √(ε peak_i), change with the units
    of the states as the entries do: a small variance beside a large one counts as much.
    """
    cdef Py_ssize_t i, j
    cdef double change = 0, total, x
    cdef double *g = rest.scale
    cdef double *roots = rest.moved
    for j in range(n):
        roots[j] = sqrt(fabs(real_part(old[j * (n + 1)])))
    for i in range(n):
        total = 0
        for j in range(n):
            total += fabs(real_part(A[j * n + i] if transpose else A[i * n + j])) * roots[j]
        g[i] = max(max(total, sqrt(fabs(real_part(new[i * (n + 1)])))), sqrt(unit(new) * rest.peak[i]))
        x = fabs(real_part(new[i * (n + 1)]) - real_part(old[i * (n + 1)]))
        if x > enough * g[i] * g[i]:
            rest.mover = i
            return 2 * enough
    for i in range(n):
        rest.moved[i] = 0
    for i in range(n):
        for j in range(n if scalar is complex64 or scalar is complex128 else i):
            x = fabs(real_part(new[i * n + j]) - real_part(old[i * n + j]))
            if x > 0:
                change = max(change, x / (g[i] * g[j]))
            if scalar is complex64 or scalar is complex128:
                x = fabs(new[i * n + j].imag)
                if x > 0 and g[i] * g[j] > 0:
                    rest.moved[i] = max(rest.moved[i], x / (g[i] * g[j]))
        x = fabs(real_part(new[i * (n + 1)]) - real_part(old[i * (n + 1)]))
        if x > 0:
            change = max(change, x / (g[i] * g[i]))
        if change > enough:
            return change
    if scalar is complex64 or scalar is complex128:
        for i in range(n):
            for j in range(n):
                x = fabs(new[i * n + j].imag - old[i * n + j].imag)
                if x > 0:
                    total = g[i] * g[j] * max(rest.moved[i], rest.moved[j])
                    # beside a variance of zero, a tangent has no scale but its own
                    change = max(change, x / (total if total > 0 else fabs(new[i * n + j].imag)))
    return change


cdef bint comes_to_rest(bint transpose, Model *g, const scalar *A, const scalar *new, const scalar *old,
                        Rest *rest) noexcept nogil:
    """Whether the covariance has come to its steady state: all its further changes together stay within the
    tolerance.

    The changes of one step and the next have a ratio, and later ones are taken to shrink by it, too. What is
    still to come is then the sum of a geometric series, change · ratio / (1 - ratio). A change of no more
    than rounding is taken for the last one.
    """
    cdef Py_ssize_t i, n = g.n
    cdef double change, ratio
    if g.tolerance < 0:
        return False
    for i in range(n):
        rest.peak[i] = max(rest.peak[i], fabs(real_part(new[i * (n + 1)])))
    if n == 0 or not surely_moves(transpose, g, A, new, old, rest):
        change = scaled_change(transpose, n, A, new, old, g.tolerance, rest)
    else:
        change = 2 * g.tolerance
    ratio = change / rest.change if rest.change > 0 else 1
    rest.change = change
    if change > g.tolerance:
        return False
    return change <= 2 * unit(new) or (ratio < 1 and change * ratio <= g.tolerance * (1 - ratio))


cdef bint inverse_factor(Py_ssize_t p, double rounding, scalar *S, scalar *inverse) noexcept nogil:
    """S := its Cholesky factor L, inverse := L⁻¹, both lower triangles, the upper of L⁻¹ zero; False where a
    pivot is no more than `rounding` of its variance."""
    cdef Py_ssize_t i, j, k
    cdef double variance
    cdef scalar x
    for i in range(p):
        variance = real_part(S[i * (p + 1)])
        for j in range(i + 1):
            x = S[i * p + j]
            for k in range(j):
                x -= S[i * p + k] * S[j * p + k]
            if j < i:
                S[i * p + j] = x * inverse[j * p + j]
            elif positive(x) and real_part(x) > rounding * variance:
                S[i * p + i] = square_root(x)
                inverse[i * p + i] = 1 / S[i * p + i]
            else:
                return False
    for i in range(p):
        for j in range(i):
            inverse[i * p + j] = 0
        for k in range(i):
            x = S[i * p + k]
            for j in range(k + 1):
                inverse[i * p + j] -= x * inverse[k * p + j]
        x = inverse[i * p + i]
        for j in range(i):
            inverse[i * p + j] *= x
        for j in range(i + 1, p):
            inverse[i * p + j] = 0
    return True


cdef inline void scatter_rows(Py_ssize_t rows, Py_ssize_t n, const scalar *X, const Py_ssize_t *index,
                              scalar *onto) noexcept nogil:
    """onto[index[i]] += X[i]."""
    cdef Py_ssize_t i, j
    for i in range(rows):
        for j in range(n):
            onto[index[i] * n + j] += X[i * n + j]


cdef inline void take_rows(Py_ssize_t rows, const Py_ssize_t *index, Py_ssize_t n, const scalar *X,
                           scalar *out) noexcept nogil:
    """out[i] := X[index[i]]."""
    cdef Py_ssize_t i
    for i in range(rows):
        memcpy(out + i * n, X + index[i] * n, n * sizeof(scalar))


cdef void weigh(Py_ssize_t rows, const scalar *X, Model *g, Bars *b, scalar *out,
                scalar *room) noexcept nogil:
    """out := X Ω."""
    cdef Py_ssize_t i, j, l, series = g.series, d = g.mixed, first = g.series - g.mixed
    cdef const scalar *own = <scalar *> b.own
    cdef const scalar *mixing = <scalar *> b.mixing
    if d > 0:
        matrix_product(PLAIN, PLAIN, rows, series, d, 1, X, mixing, False, room)
    for i in range(rows):
        for j in range(series):
            out[j] = X[j] * own[j]
        if d > 0:
            for l in range(d):
                out[first + l] += room[i * d + l]
            for j in range(first):
                for l in range(d):
                    out[j] += X[first + l] * mixing[j * d + l]
        X += series
        out += series


# ---- products with the transition ------------------------------------------------------------------

cdef void times(Model *g, const scalar *A, Py_ssize_t width, const scalar *X, scalar *out) noexcept nogil:
    """out := A X, (n, width)."""
    if g.sparse:
        entries_times(&g.entries, width, X, out)
    else:
        matrix_product(PLAIN, PLAIN, g.n, g.n, width, 1, A, X, False, out)


cdef void transposed_times(Model *g, const scalar *A, Py_ssize_t width, const scalar *X,
                           scalar *out) noexcept nogil:
    """out := Aᵀ X, (n, width)."""
    if g.sparse:
        entries_times(&g.turned, width, X, out)
    else:
        matrix_product(TRANSPOSE, PLAIN, g.n, g.n, width, 1, A, X, False, out)


cdef void predicted_covariance(Model *g, const scalar *A, const scalar *Q, const scalar *P_f, scalar *P,
                               scalar *room) noexcept nogil:
    """P := A P_f Aᵀ + Q."""
    cdef Py_ssize_t i, j, k, n = g.n
    if not g.sparse:
        matrix_product(PLAIN, PLAIN, n, n, n, 1, A, P_f, False, room)
        memcpy(P, Q, n * n * sizeof(scalar))
        symmetric_product(PLAIN, TRANSPOSE, n, n, 1, room, A, True, P)
        return
    entries_congruence(&g.entries, P_f, P, room)
    for k in range(g.moving):
        i = g.moved[k] if g.moved != NULL else k
        for j in range(n):
            P[i * n + j] += Q[i * n + j]


cdef void congruence(Model *g, const scalar *A, const scalar *N, scalar *X, scalar *F) noexcept nogil:
    """F := Aᵀ N A, X := N A where A is dense.  N is symmetric."""
    if g.sparse:
        entries_congruence(&g.turned, N, F, X)
    else:
        matrix_product(PLAIN, PLAIN, g.n, g.n, g.n, 1, N, A, False, X)
        symmetric_product(TRANSPOSE, PLAIN, g.n, g.n, 1, A, X, False, F)


# ---- the observed part of a step -------------------------------------------------------------------

cdef struct Observed:
    Py_ssize_t p         # how many elements
    Py_ssize_t *index    # which
    void *B              # their rows of B and R; copied where some are missing
    void *R


cdef void observe(scalar *room, Model *g, Py_ssize_t t, Observed *o) noexcept nogil:
    """Fill in `o`, whose B and R have room for copies there."""
    cdef Py_ssize_t i, j, n = g.n, p = g.p, count = 0
    cdef scalar *B = <scalar *> g.B + t * g.B_step
    cdef scalar *R = <scalar *> g.R + t * g.R_step
    cdef scalar *R_o
    for i in range(p):
        if g.observed == NULL or g.observed[t * p + i]:
            o.index[count] = i
            count += 1
    o.p = count
    o.B = B
    o.R = R
    if count == p:
        return
    o.B = room
    R_o = room + p * n
    o.R = R_o
    for i in range(count):
        memcpy(room + i * n, B + o.index[i] * n, n * sizeof(scalar))
        if g.independent:
            R_o[i] = R[o.index[i]]
            continue
        for j in range(count):
            R_o[i * count + j] = R[o.index[i] * p + o.index[j]]


# ---- forward ---------------------------------------------------------------------------------------

cdef bint update_covariance(Observed *o, Py_ssize_t n, const scalar *P, scalar *P_f, scalar *Kt,
                            scalar *inverse, scalar *logdet, scalar *room) noexcept nogil:
    """P_f, Kᵀ and L⁻¹ of a step; False where S is not positive definite."""
    cdef Py_ssize_t i, p = o.p
    cdef scalar *B = <scalar *> o.B
    cdef scalar *C = room
    cdef scalar *S = C + p * n
    cdef scalar *W = S + p * p
    matrix_product(PLAIN, PLAIN, p, n, n, 1, B, P, False, C)               # C = B P
    memcpy(S, o.R, p * p * sizeof(scalar))
    matrix_product(PLAIN, TRANSPOSE, p, n, p, 1, C, B, True, S)
    if not inverse_factor(p, 10 * (p + n) * unit(S), S, inverse):
        return False
    matrix_product(PLAIN, PLAIN, p, p, n, 1, inverse, C, False, W)         # L⁻¹ C
    memcpy(P_f, P, n * n * sizeof(scalar))
    symmetric_product(TRANSPOSE, PLAIN, n, p, -1, W, W, True, P_f)
    matrix_product(TRANSPOSE, PLAIN, p, p, n, 1, inverse, W, False, Kt)    # S⁻¹ C
    logdet[0] = 0
    for i in range(p):
        logdet[0] += 2 * logarithm(S[i * p + i])
    return True


cdef bint is_rounding(Py_ssize_t i, Py_ssize_t n, scalar f, scalar noise, const scalar *Kt,
                      const scalar *variance, const scalar *b, double rounding) noexcept nogil:
    """Whether the variance f of element i, given those before, is rounding of what it was without them."""
    cdef Py_ssize_t j, k
    cdef double x, total = real_part(f)
    if real_part(noise) > rounding * total:
        return False
    for j in range(i):
        x = 0
        for k in range(n):
            x += real_part(Kt[j * n + k]) * real_part(b[k])
        total += x * x * real_part(variance[j])
    return real_part(f) <= rounding * total


cdef inline void weighted_rows(Py_ssize_t n, const scalar *P, const scalar *b, Py_ssize_t without,
                               scalar *out) noexcept nogil:
    """out := P b for a symmetric P, by the rows at which b is not zero; `without` that of one of them."""
    cdef Py_ssize_t j
    memset(out, 0, n * sizeof(scalar))
    for j in range(n):
        if b[j] != 0 and j != without:
            add_row(n, b[j], P + j * n, out)


cdef inline void subtract_square(Py_ssize_t n, const scalar *P, const scalar *gain, const scalar *Kt,
                                 scalar *P_f) noexcept nogil:
    """P_f := P - gain Kᵀ, symmetric to the last bit; Kᵀ is the gain over a variance."""
    cdef Py_ssize_t j, k
    cdef scalar x
    for j in range(n):
        x = Kt[j]
        if x != 0:
            for k in range(j + 1):
                P_f[k] = P[k] - x * gain[k]
            x = gain[j]
            for k in range(j + 1, n):
                P_f[k] = P[k] - x * Kt[k]
        elif P != P_f:   # elements after the first
            memcpy(P_f, P, n * sizeof(scalar))
        P += n
        P_f += n


cdef inline Py_ssize_t carrier(Py_ssize_t n, const scalar *b, const scalar *gain, scalar noise,
                               scalar *rest) noexcept nogil:
    """The state that brings nearly all of an element's variance, or -1; `rest`: the others' part and the
    noise's.

    gain is P b over the variance, noise the part of that: 1 = b gain + noise.
    """
    cdef Py_ssize_t k, j = 0
    cdef double x, most = 0
    for k in range(n):
        x = real_part(b[k] * gain[k])
        if x > most:
            most, j = x, k
    if most <= CARRIED:
        return -1
    rest[0] = noise
    for k in range(n):
        if k != j:
            rest[0] += b[k] * gain[k]
    return j


cdef bint is_largest(Py_ssize_t j, Py_ssize_t n, const scalar *P, const scalar *b) noexcept nogil:
    """Whether no state has more variance in an element, alone, than state j."""
    cdef Py_ssize_t k
    cdef double most = real_part(b[j] * b[j] * P[j * (n + 1)])
    for k in range(n):
        if real_part(b[k] * b[k] * P[k * (n + 1)]) > most:
            return False
    return True


cdef void complete(Py_ssize_t j, Py_ssize_t n, const scalar *b, const scalar *Kt, scalar noise,
                   scalar *P_f) noexcept nogil:
    """The covariances of state j from those of the others, by P_f b = R Kᵀ: there nothing cancels."""
    cdef Py_ssize_t k, l, i
    cdef scalar x
    for i in range(1, n + 1):
        k = (j + i) % n   # itself the last
        x = noise * Kt[k]
        for l in range(n):
            if l != j and b[l] != 0:
                x -= b[l] * P_f[l * n + k]
        P_f[j * n + k] = P_f[k * n + j] = x / b[j]


cdef bint update_covariance_by_elements(Observed *o, Py_ssize_t n, const scalar *P, scalar *P_f, scalar *Kt,
                                        scalar *variance, scalar *logdet, scalar *room) noexcept nogil:
    """P_f, the gains and variances of the elements one after the other; False where a variance is not
    positive."""
    cdef Py_ssize_t i, j
    cdef scalar *B = <scalar *> o.B
    cdef scalar *R = <scalar *> o.R
    cdef scalar *gain = room
    cdef scalar f, rest
    logdet[0] = 0
    if o.p == 0:
        memcpy(P_f, P, n * n * sizeof(scalar))
    for i in range(o.p):
        weighted_rows(n, P, B, -1, gain)
        f = R[i]
        for j in range(n):
            f += gain[j] * B[j]
        if not positive(f) or is_rounding(i, n, f, R[i], Kt, variance, B, 10 * (o.p + n) * unit(B)):
            return False
        for j in range(n):
            Kt[i * n + j] = gain[j] / f
        j = carrier(n, B, Kt + i * n, R[i] / f, &rest)
        if j >= 0 and not is_largest(j, n, P, B):
            j = -1
        subtract_square(n, P, gain, Kt + i * n, P_f)
        if j >= 0:
            complete(j, n, B, Kt + i * n, R[i], P_f)
        P = P_f
        B += n
        variance[i] = f
        logdet[0] += logarithm(f)
    return True


cdef inline void each_by_other(Py_ssize_t width, scalar rest, scalar a, scalar b, scalar *x,
                               scalar *y) noexcept nogil:
    """x, y := x + a y, rest y + b x: y + b (x + a y), with rest = 1 + a b not from there."""
    cdef Py_ssize_t k
    cdef scalar u
    for k in range(width):
        u = x[k]
        x[k] = u + a * y[k]
        y[k] = rest * y[k] + b * u


cdef void update_mean(Model *g, Observed *o, Py_ssize_t t, const scalar *Kt, const scalar *inverse, scalar *m,
                      scalar *w, scalar *quad, scalar *gram, scalar *room) noexcept nogil:
    """m := m_f, and w, of all series; quad := vᵀ w, gram += its products with mixed series."""
    cdef Py_ssize_t i, j, k, c, n = g.n, p = o.p, series = g.series, d = g.mixed
    cdef scalar *B = <scalar *> o.B
    cdef scalar *y = <scalar *> g.y + t * g.p * series
    cdef scalar *v = room
    cdef scalar *z = v + g.p * series
    cdef scalar rest
    for i in range(p):
        memcpy(v + i * series, y + o.index[i] * series, series * sizeof(scalar))
    for j in range(series):
        quad[j] = 0
    if not g.independent:
        matrix_product(PLAIN, PLAIN, p, n, series, -1, B, m, True, v)
        matrix_product(PLAIN, PLAIN, p, p, series, 1, inverse, v, False, z)
        matrix_product(TRANSPOSE, PLAIN, p, p, series, 1, inverse, z, False, w)
        matrix_product(TRANSPOSE, PLAIN, n, p, series, 1, Kt, v, True, m)
        for i in range(p):
            for j in range(series):
                quad[j] += z[i * series + j] * z[i * series + j]
    else:
        for i in range(p):
            c = carrier(n, B + i * n, Kt + i * n, (<scalar *> o.R)[i] / inverse[i], &rest)
            for k in range(n):
                if k != c and B[i * n + k] != 0:
                    add_row(series, -B[i * n + k], m + k * series, v + i * series)
            if c >= 0:
                each_by_other(series, rest, -B[i * n + c], Kt[i * n + c], v + i * series, m + c * series)
            for j in range(series):
                w[i * series + j] = v[i * series + j] / inverse[i]
                quad[j] += v[i * series + j] * w[i * series + j]
            for k in range(n):
                if k != c and Kt[i * n + k] != 0:
                    add_row(series, Kt[i * n + k], v + i * series, m + k * series)
    if d > 0:
        for i in range(p):
            for j in range(series):
                for k in range(d):
                    gram[j * d + k] += v[i * series + j] * w[(i + 1) * series - d + k]


cdef Py_ssize_t filter_steps(scalar *room, Model *g, Kept *k, Forward *s, Observed *o, Py_ssize_t begin,
                             Py_ssize_t end, scalar *quad, scalar *logdet, scalar *gram) noexcept nogil:
    """Steps begin to end; the step where S is not positive definite, or -1."""
    cdef Py_ssize_t t, i, j, n = g.n, p = g.p, series = g.series, width = p * (1 if g.independent else p)
    cdef scalar *m = <scalar *> s.m
    cdef scalar *P = <scalar *> s.P
    cdef scalar *P_new = <scalar *> s.P_new
    cdef scalar *rows = room
    cdef scalar *A
    cdef scalar *Q
    cdef scalar *c
    cdef scalar *P_f
    cdef scalar *Kt
    cdef scalar *inverse
    cdef scalar *m_f
    cdef bint full
    room += p * n + p * p
    for t in range(begin, end):
        observe(rows, g, t, o)
        full = o.p == p
        if not (s.rest.resting and full):
            s.rest.resting = False
            s.slot += 1
        P_f = <scalar *> k.P + (s.slot if k.whole else 0) * n * n
        Kt = <scalar *> k.K + (s.slot if k.whole else 0) * p * n
        inverse = <scalar *> k.L + s.slot * width
        k.slot[t - k.first] = s.slot
        if s.rest.resting:
            logdet[t] = logdet[t - 1]
        elif g.independent:
            if not update_covariance_by_elements(o, n, P, P_f, Kt, inverse, logdet + t, room):
                return t
        elif not update_covariance(o, n, P, P_f, Kt, inverse, logdet + t, room):
            return t
        update_mean(g, o, t, Kt, inverse, m, <scalar *> k.w + (t - k.first) * p * series, quad + t * series,
                    gram, room)
        m_f = m
        m = <scalar *> s.m_new
        if k.whole:
            memcpy(<scalar *> k.m + (t - k.first) * n * series, m_f, n * series * sizeof(scalar))
        if t == g.steps - 1 and not g.predicts:
            break
        A = <scalar *> g.A + t * g.A_step
        times(g, A, series, m_f, m)
        s.m, s.m_new = m, m_f
        if g.c != NULL:
            c = <scalar *> g.c + t * g.c_step
            for i in range(n):
                for j in range(series):
                    m[i * series + j] += c[i * g.c_width + (j if g.c_width > 1 else 0)]
        if s.rest.resting:
            continue
        Q = <scalar *> g.Q + t * g.Q_step
        predicted_covariance(g, A, Q, P_f, P_new, room)
        s.rest.resting = full and g.constant and comes_to_rest(False, g, A, P_new, P, &s.rest)
        s.P, s.P_new = P_new, P
        P, P_new = P_new, P
    return -1


cdef void squares_from(scalar *room, Model *g, Kept *k, Observed *o, const scalar *delta,
                       scalar *quad) noexcept nogil:
    """quad += vᵀ S⁻¹ v of the series that are not mixed, from a start moved by delta along the mixed ones."""
    cdef Py_ssize_t t, i, j, q, p, series = g.series, d = g.mixed, own = g.series - g.mixed
    cdef Py_ssize_t width = g.p * (1 if g.independent else g.p)
    cdef scalar *z = room + g.p * (g.n + g.p)
    cdef const scalar *w
    cdef const scalar *inverse
    for t in range(g.steps):
        observe(room, g, t, o)
        p = o.p
        inverse = <scalar *> k.L + k.slot[t] * width
        for j in range(own):
            for i in range(p - 1, -1, -1):
                w = <scalar *> k.w + (t * g.p + i) * series
                z[i] = w[j]
                for q in range(d):
                    z[i] += w[own + q] * delta[q * own + j]
                if g.independent:
                    quad[j] += z[i] * z[i] * inverse[i]
                    continue
                for q in range(i + 1, p):   # w = L⁻ᵀ z
                    z[i] -= inverse[q * p + i] * z[q]
                z[i] /= inverse[i * p + i]
                quad[j] += z[i] * z[i]


# ---- backward --------------------------------------------------------------------------------------

cdef void covariance_step(scalar *room, Model *g, Kept *k, Observed *o, Bars *b, Backward *s, Py_ssize_t t,
                          scalar factor, scalar *N) noexcept nogil:
    """Add `factor` times what the covariances give to the gradient of step t, to the sums for that of A;
    N := that before the step."""
    cdef scalar half = 0.5
    cdef Py_ssize_t i, j, l, n = g.n, p = o.p, width = g.p * (1 if g.independent else g.p)
    cdef scalar *A = <scalar *> g.A + t * g.A_step
    cdef scalar *sums = <scalar *> s.sums
    cdef scalar *P_f = <scalar *> k.P + k.slot[t - k.first] * n * n
    cdef scalar *Kt = <scalar *> k.K + k.slot[t - k.first] * g.p * n
    cdef scalar *inverse = <scalar *> k.L + k.slot[t - k.first] * width
    cdef scalar *X = room
    cdef scalar *F = X + n * n
    cdef scalar *bar
    room = F + n * n
    if b.A != NULL and b.of_A.at != NULL:
        subtract_part_of_A(X, g, b, A, N, P_f, factor, <scalar *> b.A + t * g.A_step)
    congruence(g, A, N, X, F)
    if b.Q != NULL:
        bar = <scalar *> b.Q + t * g.Q_step
        if b.of_Q.at == NULL:
            for i in range(n * n):
                bar[i] -= half * factor * N[i]
        else:
            for i in range(b.of_Q.count):
                for j in range(b.of_Q.count):
                    l = b.of_Q.at[i] * n + b.of_Q.at[j]
                    bar[l] -= half * factor * N[l]
    if b.A != NULL and b.of_A.at == NULL:
        if g.sparse:
            entries_times(&g.turned, n, N, X)
        for i in range(n * n):
            sums[i] += factor * X[i]
        s.gathered = True
    if b.V != NULL:
        bar = <scalar *> b.V + t * n * n
        memcpy(bar, P_f, n * n * sizeof(scalar))
        matrix_product(PLAIN, PLAIN, n, n, n, 1, P_f, F, False, X)
        symmetric_product(PLAIN, PLAIN, n, n, -1, X, P_f, True, bar)
    memcpy(N, F, n * n * sizeof(scalar))
    if g.independent:
        back_by_elements(room, g, o, b, t, factor, P_f, Kt, inverse, N)
    elif p > 0:
        back_together(room, g, o, b, t, factor, P_f, Kt, inverse, N)


cdef void back_together(scalar *room, Model *g, Observed *o, Bars *b, Py_ssize_t t, scalar factor,
                        const scalar *P_f, const scalar *Kt, const scalar *inverse, scalar *N) noexcept nogil:
    """N: from F to that before the step; and its part of B̄ and R̄."""
    cdef scalar half = 0.5
    cdef Py_ssize_t i, j, n = g.n, p = o.p
    cdef scalar *G = room              # Kᵀ F
    cdef scalar *D = G + p * n
    cdef scalar *Z = D + p * p
    cdef scalar *square = Z + p * n
    cdef scalar *bar
    matrix_product(PLAIN, PLAIN, p, n, n, 1, Kt, N, False, G)
    matrix_product(TRANSPOSE, PLAIN, p, p, p, 1, inverse, inverse, False, D)
    symmetric_product(PLAIN, TRANSPOSE, p, n, 1, G, Kt, True, D)
    if b.R != NULL:
        bar = <scalar *> b.R + t * g.R_step
        for i in range(p):
            for j in range(p):
                bar[o.index[i] * g.p + o.index[j]] -= half * factor * D[i * p + j]
    if b.B != NULL:
        for i in range(p * n):
            Z[i] = -Kt[i]
        matrix_product(PLAIN, PLAIN, p, n, n, 1, G, P_f, True, Z)
        for i in range(p * n):
            Z[i] *= factor
        scatter_rows(p, n, Z, o.index, <scalar *> b.B + t * g.B_step)
    for i in range(p * p):
        D[i] *= half
    for i in range(p * n):
        Z[i] = -G[i]
    matrix_product(PLAIN, PLAIN, p, p, n, 1, D, <scalar *> o.B, True, Z)
    matrix_product(TRANSPOSE, PLAIN, n, p, n, 1, <scalar *> o.B, Z, False, square)
    for i in range(n):
        for j in range(i + 1):
            N[i * n + j] += square[i * n + j] + square[j * n + i]
            N[j * n + i] = N[i * n + j]


cdef inline void add_both(Py_ssize_t n, const scalar *b, const scalar *nu, scalar *N) noexcept nogil:
    """N += b νᵀ + ν bᵀ, symmetric to the last bit, by rows and columns at which b is not zero."""
    cdef Py_ssize_t j, k
    for j in range(n):
        if b[j] == 0:
            continue
        for k in range(n):
            N[j * n + k] += b[j] * nu[k] + nu[j] * b[k]
        for k in range(n):
            if b[k] == 0:
                N[k * n + j] += nu[k] * b[j]


cdef void complete_back(Py_ssize_t c, Py_ssize_t n, const scalar *b, const scalar *gain, scalar variance,
                        scalar rest, const scalar *column, scalar *N) noexcept nogil:
    """Row and column c of N = Gᵀ F G + b bᵀ / variance with G = I - gain bᵀ, from column c of F G: nothing
    cancels there, as rest is the entry of G."""
    cdef Py_ssize_t k
    cdef scalar x, total = 0
    for k in range(n):
        if k != c:
            total += gain[k] * column[k]
    N[c * (n + 1)] = rest * column[c] - b[c] * total + b[c] * b[c] / variance
    total += gain[c] * column[c]
    for k in range(n):
        if k != c:
            x = column[k] - b[k] * total + b[c] * b[k] / variance
            N[c * n + k] = N[k * n + c] = x


cdef void back_by_elements(scalar *room, Model *g, Observed *o, Bars *b, Py_ssize_t t, scalar factor,
                           const scalar *P_f, const scalar *Kt, const scalar *variance,
                           scalar *N) noexcept nogil:
    """The same, element after element, with P as it was after each."""
    cdef scalar half = 0.5
    cdef Py_ssize_t i, j, c, n = g.n
    cdef scalar *B = <scalar *> o.B
    cdef scalar *nu = room
    cdef scalar *P = nu + n
    cdef scalar *out = P + n * n
    cdef scalar *column = out + n
    cdef scalar *bar
    cdef const scalar *gain
    cdef const scalar *b_i
    cdef scalar delta, rest
    if b.B != NULL:
        memcpy(P, P_f, n * n * sizeof(scalar))
    for i in range(o.p - 1, -1, -1):
        gain, b_i = Kt + i * n, B + i * n
        c = carrier(n, b_i, gain, (<scalar *> o.R)[i] / variance[i], &rest)
        weighted_rows(n, N, gain, c, nu)
        if c >= 0:
            for j in range(n):
                column[j] = rest * N[c * n + j] - b_i[c] * nu[j]
            add_row(n, gain[c], N + c * n, nu)
        delta = 1 / variance[i]
        for j in range(n):
            delta += gain[j] * nu[j]
        if b.R != NULL:
            (<scalar *> b.R)[t * g.R_step + o.index[i]] -= half * factor * delta
        if b.B != NULL:
            weighted_rows(n, P, nu, -1, out)
            bar = <scalar *> b.B + t * g.B_step + o.index[i] * n
            for j in range(n):
                bar[j] += factor * (out[j] - gain[j])
            if i > 0:
                for j in range(n):
                    add_row(n, gain[j] * variance[i], gain, P + j * n)
        for j in range(n):
            nu[j] = half * delta * b_i[j] - nu[j]
        add_both(n, b_i, nu, N)
        if c >= 0:
            complete_back(c, n, b_i, gain, variance[i], rest, column, N)


cdef void subtract_part_of_A(scalar *room, Model *g, Bars *b, const scalar *A, const scalar *N,
                             const scalar *P_f, scalar factor, scalar *A_bar) noexcept nogil:
    """Ā -= factor N A P_f, in its wanted columns from those of P_f, or in its rows from those of N."""
    cdef Py_ssize_t i, j, n = g.n, count = b.of_A.count
    cdef const Py_ssize_t *at = b.of_A.at
    cdef const scalar *given = P_f if b.of_A.columns else N
    cdef scalar *X = room
    cdef scalar *moved = X + n * count
    cdef scalar *found = moved + n * count
    for i in range(count):
        for j in range(n):
            X[j * count + i] = given[at[i] * n + j]
    if b.of_A.columns:
        times(g, A, count, X, moved)
    else:
        transposed_times(g, A, count, X, moved)
    matrix_product(PLAIN, PLAIN, n, n, count, 1, N if b.of_A.columns else P_f, moved, False, found)
    for i in range(count):
        for j in range(n):
            A_bar[j * n + at[i] if b.of_A.columns else at[i] * n + j] -= factor * found[j * count + i]


cdef void add_part_of_A(scalar *rows, scalar *weighted, scalar *square, scalar *mixed, Model *g, Bars *b,
                        const scalar *r, const scalar *u, const scalar *m_f, const scalar *P_f,
                        scalar *A_bar) noexcept nogil:
    """Ā += r Ω Mᵀ with M = m_f + P_f u, in its wanted columns or rows."""
    cdef Py_ssize_t i, j, n = g.n, series = g.series, count = b.of_A.count
    cdef const Py_ssize_t *at = b.of_A.at
    cdef scalar *found = square + n * count
    if b.of_A.columns:
        take_rows(count, at, series, m_f, rows)
        take_rows(count, at, n, P_f, square)
        matrix_product(PLAIN, PLAIN, count, n, series, 1, square, u, True, rows)
        weigh(count, rows, g, b, weighted, mixed)
        matrix_product(PLAIN, TRANSPOSE, n, series, count, 1, r, weighted, False, found)
        for j in range(n):
            for i in range(count):
                A_bar[j * n + at[i]] += found[j * count + i]
        return
    take_rows(count, at, series, r, rows)
    weigh(count, rows, g, b, weighted, mixed)
    matrix_product(PLAIN, TRANSPOSE, count, series, n, 1, weighted, u, False, square)
    matrix_product(PLAIN, TRANSPOSE, count, series, n, 1, weighted, m_f, False, found)
    matrix_product(PLAIN, PLAIN, count, n, n, 1, square, P_f, True, found)
    for i in range(count):
        for j in range(n):
            A_bar[at[i] * n + j] += found[i * n + j]


cdef void add_part_of_Q(scalar *rows, scalar *weighted, scalar *square, scalar *mixed, Model *g, Bars *b,
                        const scalar *r, scalar *Q_bar) noexcept nogil:
    """Q̄ += ½ r Ω rᵀ, in its wanted rows and columns."""
    cdef scalar half = 0.5
    cdef Py_ssize_t i, j, count = b.of_Q.count
    cdef const Py_ssize_t *at = b.of_Q.at
    take_rows(count, at, g.series, r, rows)
    weigh(count, rows, g, b, weighted, mixed)
    matrix_product(PLAIN, TRANSPOSE, count, g.series, count, 1, weighted, rows, False, square)
    for i in range(count):
        for j in range(count):
            Q_bar[at[i] * g.n + at[j]] += half * square[i * count + j]


cdef void mean_step(scalar *room, Model *g, Kept *k, Observed *o, Bars *b, Py_ssize_t t,
                    scalar *r) noexcept nogil:
    """Add what the data give to the gradient of step t; r := that before the step."""
    cdef scalar half = 0.5
    cdef Py_ssize_t i, j, l, c, n = g.n, p = o.p, series = g.series
    cdef scalar *A = <scalar *> g.A + t * g.A_step
    cdef scalar *B = <scalar *> o.B
    cdef scalar *P_f = <scalar *> k.P + k.slot[t - k.first] * n * n
    cdef scalar *Kt = <scalar *> k.K + k.slot[t - k.first] * g.p * n
    cdef scalar *inverse = <scalar *> k.L + k.slot[t - k.first] * g.p * (1 if g.independent else g.p)
    cdef scalar *m_f = <scalar *> k.m + (t - k.first) * n * series
    cdef scalar *w = <scalar *> k.w + (t - k.first) * g.p * series
    cdef scalar *u = room
    cdef scalar *M = u + n * series
    cdef scalar *rows = M + n * series
    cdef scalar *weighted = rows + n * series
    cdef scalar *e = weighted + max(n, g.p) * series
    cdef scalar *square = e + g.p * series
    cdef scalar *mixed = square + max(n, g.p) * max(n, g.p)
    cdef scalar *bar
    cdef scalar x, rest
    transposed_times(g, A, series, r, u)
    if b.means:
        memcpy(M, m_f, n * series * sizeof(scalar))
        matrix_product(PLAIN, PLAIN, n, n, series, 1, P_f, u, True, M)
        if b.M != NULL:
            memcpy(<scalar *> b.M + t * n * series, M, n * series * sizeof(scalar))
    if b.A != NULL and b.of_A.at != NULL:
        add_part_of_A(rows, weighted, square, mixed, g, b, r, u, m_f, P_f, <scalar *> b.A + t * g.A_step)
    if b.Q != NULL and b.of_Q.at != NULL:
        add_part_of_Q(rows, weighted, square, mixed, g, b, r, <scalar *> b.Q + t * g.Q_step)
    if b.weighs:
        weigh(n, r, g, b, weighted, mixed)
    if b.Q != NULL and b.of_Q.at == NULL:
        matrix_product(PLAIN, TRANSPOSE, n, series, n, 1, weighted, r, False, square)
        bar = <scalar *> b.Q + t * g.Q_step
        for i in range(n * n):
            bar[i] += half * square[i]
    if b.A != NULL and b.of_A.at == NULL:
        matrix_product(PLAIN, TRANSPOSE, n, series, n, 1, weighted, M, True, <scalar *> b.A + t * g.A_step)
    if b.c != NULL:
        bar = <scalar *> b.c + t * g.c_step
        for i in range(n):
            for j in range(series):
                bar[i * g.c_width + (j if g.c_width > 1 else 0)] += weighted[i * series + j]
    # r = u + Bᵀ e, e = w - Kᵀ u
    memcpy(e, w, p * series * sizeof(scalar))
    memcpy(r, u, n * series * sizeof(scalar))
    if not g.independent:
        matrix_product(PLAIN, PLAIN, p, n, series, -1, Kt, u, True, e)
        matrix_product(TRANSPOSE, PLAIN, n, p, series, 1, B, e, True, r)
    else:
        for i in range(p - 1, -1, -1):
            c = carrier(n, B + i * n, Kt + i * n, (<scalar *> o.R)[i] / inverse[i], &rest)
            for l in range(n):
                if l != c and Kt[i * n + l] != 0:
                    add_row(series, -Kt[i * n + l], r + l * series, e + i * series)
            if c >= 0:
                each_by_other(series, rest, -Kt[i * n + c], B[i * n + c], e + i * series, r + c * series)
            for l in range(n):
                if l != c and B[i * n + l] != 0:
                    add_row(series, B[i * n + l], e + i * series, r + l * series)
    if b.own == NULL:
        return
    weigh(p, e, g, b, weighted, mixed)
    if b.y != NULL:
        bar = <scalar *> b.y + t * g.p * series
        for i in range(p):
            for j in range(series):
                bar[o.index[i] * series + j] = -weighted[i * series + j]
    if b.B != NULL:
        matrix_product(PLAIN, TRANSPOSE, p, series, n, 1, weighted, M, False, square)
        scatter_rows(p, n, square, o.index, <scalar *> b.B + t * g.B_step)
    if b.R != NULL:
        bar = <scalar *> b.R + t * g.R_step
        if g.independent:
            for i in range(p):
                x = 0
                for j in range(series):
                    x += weighted[i * series + j] * e[i * series + j]
                bar[o.index[i]] += half * x
        else:
            matrix_product(PLAIN, TRANSPOSE, p, series, p, 1, weighted, e, False, square)
            for i in range(p):
                for j in range(p):
                    bar[o.index[i] * g.p + o.index[j]] += half * square[i * p + j]


cdef void add_resting(scalar *room, Model *g, Kept *k, Observed *o, Bars *b, Backward *s,
                      scalar omega) noexcept nogil:
    """Add what the covariances gave in the steps where N rested."""
    cdef scalar *N = room
    if s.count > 0:
        observe(room + g.n * g.n, g, s.at, o)
        memcpy(N, s.N, g.n * g.n * sizeof(scalar))
        room += g.n * g.n
        covariance_step(room + g.p * (g.n + g.p), g, k, o, b, s, s.at, <scalar> s.count * omega, N)
    s.count = 0
    s.rest.resting = False


cdef void add_gathered(Model *g, Kept *k, Bars *b, Backward *s, scalar *sums, Py_ssize_t t) noexcept nogil:
    """Ā -= Σ N A P_f, for the P_f of step t."""
    cdef Py_ssize_t n = g.n
    cdef scalar *P_f = <scalar *> k.P + k.slot[t - k.first] * n * n
    if s.gathered:
        matrix_product(TRANSPOSE if g.sparse else PLAIN, PLAIN, n, n, n, -1, sums, P_f, True,
                       <scalar *> b.A + t * g.A_step)
        memset(sums, 0, n * n * sizeof(scalar))
    s.gathered = False


cdef void back_steps(scalar *room, Model *g, Kept *k, Backward *s, Observed *o, Bars *b, Py_ssize_t begin,
                     Py_ssize_t end, scalar omega) noexcept nogil:
    """Steps end to begin, backward."""
    cdef Py_ssize_t t, n = g.n
    cdef scalar *N = <scalar *> s.N
    cdef scalar *before = room
    cdef scalar *rows = before + n * n
    cdef scalar *rest = rows + g.p * (n + g.p)
    cdef bint shares   # whether the step before has the same covariances
    for t in range(end - 1, begin - 1, -1):
        observe(rows, g, t, o)
        mean_step(rest, g, k, o, b, t, <scalar *> s.r)
        if not b.covariances:
            continue
        shares = t > k.first and k.slot[t - k.first - 1] == k.slot[t - k.first]
        if s.rest.resting:
            s.count += 1
            if b.V != NULL:
                memcpy(<scalar *> b.V + t * n * n, <scalar *> b.V + (t + 1) * n * n, n * n * sizeof(scalar))
        else:
            memcpy(before, N, n * n * sizeof(scalar))
            covariance_step(rest, g, k, o, b, s, t, omega, N)
            s.rest.resting = g.constant and shares and \
                comes_to_rest(True, g, <scalar *> g.A, N, before, &s.rest)
            s.at = t
        if not shares:
            add_resting(before, g, k, o, b, s, omega)
            add_gathered(g, k, b, s, <scalar *> s.sums, t)


# ---- backward, with a weight for each step -----------------------------------------------------------------

cdef void back_through_transition(scalar *room, Model *g, Bars *b, Py_ssize_t t, const scalar *m_f,
                                  const scalar *P_f, scalar *m_bar, scalar *P_bar) noexcept nogil:
    """The adjoints of m_f and P_f from those of the next m and P; and its part of Ā, Q̄ and c̄."""
    cdef Py_ssize_t i, j, n = g.n, series = g.series
    cdef scalar *A = <scalar *> g.A + t * g.A_step
    cdef scalar *X = room
    cdef scalar *F = X + n * n
    cdef scalar *u = F + n * n
    cdef scalar *bar
    if b.c != NULL:
        bar = <scalar *> b.c + t * g.c_step
        for i in range(n):
            for j in range(series):
                bar[i * g.c_width + (j if g.c_width > 1 else 0)] += m_bar[i * series + j]
    if b.Q != NULL:
        bar = <scalar *> b.Q + t * g.Q_step
        for i in range(n * n):
            bar[i] += P_bar[i]
    if b.A != NULL:
        bar = <scalar *> b.A + t * g.A_step
        matrix_product(PLAIN, TRANSPOSE, n, series, n, 1, m_bar, m_f, True, bar)
        times(g, A, n, P_f, X)
        for i in range(n * n):
            X[i] *= 2
        matrix_product(PLAIN, PLAIN, n, n, n, 1, P_bar, X, True, bar)
    transposed_times(g, A, series, m_bar, u)
    memcpy(m_bar, u, n * series * sizeof(scalar))
    congruence(g, A, P_bar, X, F)
    memcpy(P_bar, F, n * n * sizeof(scalar))


cdef void back_through_element(scalar *room, Py_ssize_t n, Py_ssize_t series, const scalar *b,
                               const scalar *gain, scalar f, const scalar *w, const scalar *weights,
                               scalar *m, scalar *P, scalar *m_bar, scalar *P_bar, scalar *e_bar,
                               scalar *f_bar, scalar *b_bar) noexcept nogil:
    """Through one element with the variance f; m and P become those before it.  b_bar is NULL or added to."""
    cdef scalar half = 0.5
    cdef Py_ssize_t j, k
    cdef scalar *h = room
    cdef scalar *gain_bar = h + n
    cdef scalar x, of_f = 0, crossed = 0
    matrix_product(PLAIN, PLAIN, n, n, 1, 1, P_bar, gain, False, h)
    for j in range(series):
        of_f += half * weights[j] * (w[j] * w[j] - 1 / f)
        e_bar[j] = -weights[j] * w[j]
    for k in range(n):
        x = -2 * f * h[k]
        for j in range(series):
            x += m_bar[k * series + j] * f * w[j]
            e_bar[j] += gain[k] * m_bar[k * series + j]
            m[k * series + j] -= gain[k] * f * w[j]
        gain_bar[k] = x
        of_f -= gain[k] * h[k]
        crossed += x * gain[k]
    of_f -= crossed / f
    f_bar[0] = of_f
    for j in range(n):
        for k in range(n):
            P[j * n + k] += f * gain[j] * gain[k]
            P_bar[j * n + k] += half * (gain_bar[j] * b[k] + b[j] * gain_bar[k]) / f + of_f * b[j] * b[k]
    for k in range(n):
        if b_bar != NULL:
            x = 2 * of_f * f * gain[k]
            for j in range(n):
                x += P[k * n + j] * gain_bar[j] / f
            for j in range(series):
                x -= e_bar[j] * m[k * series + j]
            b_bar[k] += x
        for j in range(series):
            m_bar[k * series + j] -= b[k] * e_bar[j]


cdef void covariance_of(Py_ssize_t p, const scalar *inverse, scalar *L, scalar *S) noexcept nogil:
    """S = L Lᵀ, from L⁻¹."""
    cdef Py_ssize_t i, j, k
    cdef scalar x
    for j in range(p):
        for i in range(p):
            x = 1 if i == j else 0
            for k in range(j, i):
                x -= inverse[i * p + k] * L[k * p + j]
            L[i * p + j] = x / inverse[i * (p + 1)] if i >= j else 0
    matrix_product(PLAIN, TRANSPOSE, p, p, p, 1, L, L, False, S)


cdef void back_through_elements_together(scalar *room, Py_ssize_t n, Py_ssize_t p, Py_ssize_t series,
                                         const scalar *B, const scalar *Kt, const scalar *inverse,
                                         const scalar *w, const scalar *weights, scalar *m, scalar *P,
                                         scalar *m_bar, scalar *P_bar, scalar *v_bar, scalar *S_bar,
                                         scalar *B_bar) noexcept nogil:
    """The same through p elements; B_bar (p, n) is NULL or filled in."""
    cdef scalar half = 0.5
    cdef Py_ssize_t i, j, l
    cdef scalar *S = room
    cdef scalar *W = S + p * p
    cdef scalar *square = W + p * p
    cdef scalar *v = square + p * p
    cdef scalar *weighted = v + p * series
    cdef scalar *SKt = weighted + p * series
    cdef scalar *Kt_bar = SKt + p * n
    cdef scalar *WKt_bar = Kt_bar + p * n
    cdef scalar *crossed = WKt_bar + p * n
    cdef scalar total = 0
    covariance_of(p, inverse, W, S)
    matrix_product(TRANSPOSE, PLAIN, p, p, p, 1, inverse, inverse, False, W)
    matrix_product(PLAIN, PLAIN, p, p, series, 1, S, w, False, v)
    matrix_product(PLAIN, PLAIN, p, p, n, 1, S, Kt, False, SKt)
    matrix_product(PLAIN, PLAIN, p, n, n, -1, SKt, P_bar, False, Kt_bar)
    for i in range(p * n):
        Kt_bar[i] *= 2
    matrix_product(PLAIN, TRANSPOSE, p, series, n, 1, v, m_bar, True, Kt_bar)
    matrix_product(PLAIN, PLAIN, p, p, n, 1, W, Kt_bar, False, WKt_bar)
    # S̄
    for j in range(series):
        total += weights[j]
        for i in range(p):
            weighted[i * series + j] = half * weights[j] * w[i * series + j]
    matrix_product(PLAIN, TRANSPOSE, p, series, p, 1, weighted, w, False, S_bar)
    matrix_product(PLAIN, PLAIN, p, n, n, 1, Kt, P_bar, False, crossed)
    matrix_product(PLAIN, TRANSPOSE, p, n, p, -1, crossed, Kt, True, S_bar)
    matrix_product(PLAIN, TRANSPOSE, p, n, p, 1, Kt, WKt_bar, False, square)
    for i in range(p):
        for l in range(p):
            S_bar[i * p + l] -= half * (total * W[i * p + l] + square[i * p + l] + square[l * p + i])
    # v̄, m and P before
    for i in range(p * series):
        v_bar[i] = -2 * weighted[i]
    matrix_product(PLAIN, PLAIN, p, n, series, 1, Kt, m_bar, True, v_bar)
    matrix_product(TRANSPOSE, PLAIN, n, p, series, -1, Kt, v, True, m)
    matrix_product(TRANSPOSE, PLAIN, n, p, n, 1, Kt, SKt, True, P)
    if B_bar != NULL:
        matrix_product(PLAIN, PLAIN, p, n, n, 1, WKt_bar, P, False, B_bar)
        for i in range(p * p):
            square[i] = 2 * S_bar[i]
        matrix_product(PLAIN, PLAIN, p, p, n, 1, square, SKt, True, B_bar)
        matrix_product(PLAIN, TRANSPOSE, p, series, n, -1, v_bar, m, True, B_bar)
    # m̄ and P̄
    matrix_product(TRANSPOSE, PLAIN, n, p, series, -1, B, v_bar, True, m_bar)
    matrix_product(PLAIN, PLAIN, p, p, n, 1, S_bar, B, True, WKt_bar)
    for i in range(p * n):
        WKt_bar[i] *= half
    matrix_product(TRANSPOSE, PLAIN, n, p, n, 1, B, WKt_bar, True, P_bar)
    matrix_product(TRANSPOSE, PLAIN, n, p, n, 1, WKt_bar, B, True, P_bar)


cdef inline void add_step(Py_ssize_t t, Py_ssize_t count, const scalar *steps, scalar *onto) noexcept nogil:
    """onto += steps[t]; of NULL nothing."""
    cdef Py_ssize_t i
    if steps != NULL:
        for i in range(count):
            onto[i] += steps[t * count + i]


cdef void weighted_back_steps(scalar *room, Model *g, Kept *k, Observed *o, Bars *b, Py_ssize_t begin,
                              Py_ssize_t end, const scalar *weights, void **moments_bar, scalar *m_bar,
                              scalar *P_bar) noexcept nogil:
    """Steps end to begin, backward; weights (T, series).

    moments_bar: what each step adds to the adjoints of m_f, P_f, m and P, each NULL for nothing.
    """
    cdef Py_ssize_t t, i, j, n = g.n, p = g.p, series = g.series, width = p * (1 if g.independent else p)
    cdef scalar *rows = room
    cdef scalar *m = rows + p * (n + p)
    cdef scalar *P = m + n * series
    cdef scalar *v_bar = P + n * n
    cdef scalar *S_bar = v_bar + p * series
    cdef scalar *B_bar = S_bar + p * p
    cdef scalar *rest = B_bar + p * n
    cdef const scalar *Kt
    cdef const scalar *inverse
    cdef const scalar *w
    cdef scalar *bar
    for t in range(end - 1, begin - 1, -1):
        observe(rows, g, t, o)
        memcpy(m, <scalar *> k.m + (t - k.first) * n * series, n * series * sizeof(scalar))
        memcpy(P, <scalar *> k.P + k.slot[t - k.first] * n * n, n * n * sizeof(scalar))
        Kt = <scalar *> k.K + k.slot[t - k.first] * p * n
        inverse = <scalar *> k.L + k.slot[t - k.first] * width
        w = <scalar *> k.w + (t - k.first) * p * series
        back_through_transition(rest, g, b, t, m, P, m_bar, P_bar)
        add_step(t, n * series, <const scalar *> moments_bar[0], m_bar)
        add_step(t, n * n, <const scalar *> moments_bar[1], P_bar)
        if g.independent:
            memset(B_bar, 0, p * n * sizeof(scalar))
            for i in range(o.p - 1, -1, -1):
                back_through_element(rest, n, series, <scalar *> o.B + i * n, Kt + i * n, inverse[i],
                                     w + i * series, weights + t * series, m, P, m_bar, P_bar,
                                     v_bar + i * series, S_bar + i, B_bar + i * n)
        elif o.p > 0:
            back_through_elements_together(rest, n, o.p, series, <scalar *> o.B, Kt, inverse, w,
                                           weights + t * series, m, P, m_bar, P_bar, v_bar, S_bar, B_bar)
        if b.y != NULL:
            bar = <scalar *> b.y + t * p * series
            for i in range(o.p):
                memcpy(bar + o.index[i] * series, v_bar + i * series, series * sizeof(scalar))
        if b.R != NULL:
            bar = <scalar *> b.R + t * g.R_step
            for i in range(o.p):
                if g.independent:
                    bar[o.index[i]] += S_bar[i]
                    continue
                for j in range(o.p):
                    bar[o.index[i] * p + o.index[j]] += S_bar[i * o.p + j]
        if b.B != NULL:
            scatter_rows(o.p, n, B_bar, o.index, <scalar *> b.B + t * g.B_step)
        add_step(t, n * series, <const scalar *> moments_bar[2], m_bar)
        add_step(t, n * n, <const scalar *> moments_bar[3], P_bar)


cdef bint moments_are_finite(const Forward *state, int kind, Py_ssize_t means,
                             Py_ssize_t variances) noexcept nogil:
    """Whether so many numbers of the predicted moments are finite."""
    if kind == cnp.NPY_CDOUBLE or kind == cnp.NPY_CFLOAT:
        means, variances = 2 * means, 2 * variances
    if kind == cnp.NPY_DOUBLE or kind == cnp.NPY_CDOUBLE:
        return are_finite(<double *> state.m, means) and are_finite(<double *> state.P, variances)
    return are_finite(<float *> state.m, means) and are_finite(<float *> state.P, variances)


# ---- arrays --------------------------------------------------------------------------------------

cdef Py_ssize_t step_of(cnp.ndarray x, int axes):
    """The distance from one step to the next, in elements: 0 where there is no axis of time."""
    return x.strides[0] // x.itemsize if x.ndim > axes and x.shape[0] != 1 else 0


cdef bint is_sparse(cnp.ndarray A):
    """Whether it is constant in time and most of its entries are zero."""
    cdef Py_ssize_t n = A.shape[A.ndim - 1]
    return n > SPARSE_STATES and not step_of(A, 2) and SPARSE_ENTRIES * np.count_nonzero(A) <= n * n


cdef void find_entries(Entries *e, Py_ssize_t n, const scalar *A, Py_ssize_t down, Py_ssize_t right,
                       scalar *values, Py_ssize_t *places) noexcept nogil:
    """Fill in `e` from the matrix with A[i * down + j * right] at i, j; places: room for n² + 6 n + 1."""
    cdef Py_ssize_t *starts = places
    cdef Py_ssize_t *runs = starts + n + 1
    cdef Py_ssize_t *others = runs + 3 * n
    cdef Py_ssize_t *columns = others + n
    cdef Py_ssize_t i, j, found = 0, count = 0, rest = 0
    cdef bint before = False   # whether the row above is alone: one entry, 1
    for i in range(n):
        starts[i] = found
        for j in range(n):
            if A[i * down + j * right] != 0:
                values[found], columns[found] = A[i * down + j * right], j
                found += 1
        if found != starts[i] + 1 or values[found - 1] != 1:
            others[rest] = i
            rest += 1
            before = False
        elif before and columns[found - 1] == columns[found - 2] + 1:
            runs[3 * count - 1] += 1
        else:
            runs[3 * count], runs[3 * count + 1], runs[3 * count + 2] = i, columns[found - 1], 1
            count += 1
            before = True
    starts[n] = found
    e.n, e.count, e.rest = n, count, rest
    e.starts, e.columns, e.runs, e.rows, e.values = starts, columns, runs, others, values


cdef tuple fill_in(Entries *e, cnp.ndarray A, bint transpose=False):
    """Find the entries of A (n, n), or of its transpose; the arrays that hold them."""
    cdef Py_ssize_t n = A.shape[A.ndim - 1]
    cdef int kind = cnp.PyArray_TYPE(A)
    cdef Py_ssize_t down = 1 if transpose else n, right = n if transpose else 1
    cdef cnp.ndarray values = np.empty(n * n, dtype=A.dtype)
    cdef cnp.ndarray places = np.empty(n * n + 6 * n + 1, dtype=np.intp)
    cdef void *x = cnp.PyArray_DATA(A)
    cdef void *v = cnp.PyArray_DATA(values)
    cdef Py_ssize_t *at = <Py_ssize_t *> cnp.PyArray_DATA(places)
    if kind == cnp.NPY_DOUBLE:
        find_entries(e, n, <double *> x, down, right, <double *> v, at)
    elif kind == cnp.NPY_FLOAT:
        find_entries(e, n, <float *> x, down, right, <float *> v, at)
    elif kind == cnp.NPY_CDOUBLE:
        find_entries(e, n, <complex128 *> x, down, right, <complex128 *> v, at)
    else:
        find_entries(e, n, <complex64 *> x, down, right, <complex64 *> v, at)
    return values, places


cdef Py_ssize_t steps_between_looks(Model *g):
    """For Ctrl-C."""
    cdef double step = 4.0 * g.n * g.n * (g.n + g.p) + <double> g.series * g.n * (g.n + g.p) + 100
    return <Py_ssize_t> max(BETWEEN_LOOKS / step, 1)


cdef Py_ssize_t room_forward(Model *g):
    """How many numbers `filter_steps` needs."""
    cdef Py_ssize_t n = g.n, p = g.p
    return 3 * p * n + 2 * p * p + 2 * p * g.series + n + 2 * n * n


cdef Py_ssize_t room_backward(Model *g):
    """How many numbers `back_steps` needs."""
    cdef Py_ssize_t n = g.n, p = g.p, most = max(n, p)
    return 5 * n * n + 3 * p * n + 3 * p * p + 2 * n + (3 * n + p + most) * g.series + most * (most + g.mixed)


cdef Py_ssize_t room_weighted(Model *g):
    """How many numbers `weighted_back_steps` needs."""
    cdef Py_ssize_t n = g.n, p = g.p, series = g.series
    return p * (n + p) + n * series + n * n + p * series + p * p + p * n \
        + max(2 * n * n + n * series + 2 * n, 3 * p * p + 2 * p * series + 4 * p * n)


cdef cnp.ndarray find_moved(Model *g, cnp.ndarray Q):
    """The rows of a constant Q that are not zero."""
    cdef cnp.ndarray rows = None
    g.moving, g.moved = g.n, NULL
    if not g.Q_step:
        rows = np.flatnonzero(Q.reshape(g.n, g.n).any(axis=1)).astype(np.intp, copy=False)
        g.moving, g.moved = len(rows), <const Py_ssize_t *> cnp.PyArray_DATA(rows)
    return rows


cdef Places places_of(object wanted):
    """Of a `Wanted`; of all where it is none."""
    cdef cnp.ndarray at
    if not isinstance(wanted, Wanted):
        return Places(NULL, 0, False)
    at = wanted.places
    return Places(<const Py_ssize_t *> cnp.PyArray_DATA(at), cnp.PyArray_SIZE(at), wanted.axis == 1)


cdef int want(Bars *b, tuple wanted) except -1:
    """What of A and Q is wanted, and what that takes, for ``wanted`` of y, A, B, Q, R, m, P and maybe c."""
    b.of_A, b.of_Q = places_of(wanted[1]), places_of(wanted[3])
    b.covariances = any(wanted[1:5]) or wanted[6]
    b.means = wanted[2] or wanted[1] and b.of_A.at == NULL
    b.weighs = wanted[1] and b.of_A.at == NULL or wanted[3] and b.of_Q.at == NULL or any(wanted[7:])
    return 0


cdef tuple set_model(Model *g, Py_ssize_t T, Py_ssize_t n, Py_ssize_t p, cnp.ndarray y, cnp.ndarray A,
                     cnp.ndarray B, cnp.ndarray Q, cnp.ndarray R, cnp.ndarray observed):
    """Fill in what the arrays say, without c; what holds the entries of a sparse transition, or None."""
    g.steps, g.n, g.p = T, n, p
    g.y, g.A, g.B = cnp.PyArray_DATA(y), cnp.PyArray_DATA(A), cnp.PyArray_DATA(B)
    g.Q, g.R = cnp.PyArray_DATA(Q), cnp.PyArray_DATA(R)
    g.A_step, g.B_step, g.Q_step = step_of(A, 2), step_of(B, 2), step_of(Q, 2)
    g.R_step = step_of(R, 1 if g.independent else 2)
    g.constant = not (g.A_step or g.B_step or g.Q_step or g.R_step)
    g.c = NULL
    g.c_step = g.c_width = 0
    g.observed = NULL if observed is None else <const unsigned char *> cnp.PyArray_DATA(observed)
    g.sparse = is_sparse(A)
    return (fill_in(&g.entries, A), find_moved(g, Q)) if g.sparse else None


cdef class Sweep:
    """The filter run over series that share parameters and gaps; keeps what the way back needs.

    Parameters
    ----------
    y : (T, p, s) array
        All arrays are C-contiguous and of one dtype, float32, float64, complex64 or complex128.
    A, B, Q : (n, n), (p, n), (n, n) arrays
        Or with an axis of T steps in front.
    R : (p, p) array, or (p,) if independent
        The same.
    m, P : (n, s), (n, n) arrays
    c : (1 or T, n, 1 or s) array or None
    observed : (T, p) array of bool or None
        None: everything is.
    independent : bool
        R holds variances; elements are taken one after the other.
    tolerance : float
        P and N rest when no entry will change by more, relative to its own scale; negative: never.
    mixed : int
        How many series, the last ones, are wanted in products with all.
    block : int
        Keep what the way back needs for so many steps, the start of each block of them, and run the others
        again; 0: keep all.
    whole : bool
        Whether all is kept that the way back needs. If not, it runs the filter again for it.
    predicts : bool
        Whether the state after the last step is predicted, as `after`.
    origin : int
        The number of the first step in errors.

    Raises
    ------
    numpy.linalg.LinAlgError
        If S is not positive definite; names the step.
    OverflowError
        If predictions overflow; names the step, and has the column of the series as `series`.

    Attributes
    ----------
    quad : (T, s) array
        vᵀ S⁻¹ v.
    gram : (s, mixed) array
        Sums over steps of vᵢᵀ S⁻¹ vⱼ for all series i and the mixed j.
    logdet : (T,) array
        log |S|.
    means : (T, n, s) array
        m_f, where all is kept.
    after : tuple of (n, s) and (n, n) arrays
        m and P predicted for the step after the last one.
    arrays : tuple
        y, A, B, Q, R, c, observed.
    starts : list of such tuples
        m and P at the beginning of each block.

    Notes
    -----
    With symmetric halves counted once a step costs 3n³ + 4n²p + 3np² + p³/3 flops, independent 3n³ + 6n²p,
    and each series 4n² + 6np + 2p²; at rest the latter alone. Memory: n² + np + p² a step, not at rest, and
    n + p for each series.

    Examples
    --------
    >>> import numpy as np
    >>> one, y = np.eye(1), np.array([[[1.0]], [[3.0]]])
    >>> sweep = Sweep(y, one, one, one, one, np.zeros((1, 1)), one)
    >>> sweep.quad[:, 0]
    array([0.5, 2.5])
    >>> means, covariances, _ = sweep.smooth()
    >>> means[:, 0, 0]
    array([1., 2.])
    """

    cdef Model g
    cdef Kept k
    cdef int kind
    cdef readonly tuple arrays
    cdef tuple turned    # the same of its transpose, where it is needed
    cdef tuple places    # what holds the entries of a sparse transition, or None
    cdef object dtype
    cdef object lock     # of the block that is kept, where it changes
    cdef Py_ssize_t kept   # the step where the complete block begins that is kept; -1: none is complete
    cdef readonly cnp.ndarray quad
    cdef readonly cnp.ndarray logdet
    cdef readonly cnp.ndarray gram
    cdef readonly cnp.ndarray means
    cdef cnp.ndarray slots
    cdef cnp.ndarray covariances   # (slots, n, n): P_f
    cdef Py_ssize_t block
    cdef Py_ssize_t origin
    cdef readonly tuple after
    cdef tuple held    # w, K and L
    cdef readonly list starts

    def __init__(self, cnp.ndarray y, cnp.ndarray A, cnp.ndarray B, cnp.ndarray Q, cnp.ndarray R,
                 cnp.ndarray m, cnp.ndarray P, c=None, observed=None, bint independent=False,
                 double tolerance=1e-14, Py_ssize_t mixed=0, Py_ssize_t block=0, bint predicts=False,
                 Py_ssize_t origin=0, bint whole=True):
        cdef Model *g = &self.g
        cdef Py_ssize_t T = y.shape[0], p = y.shape[1], s = y.shape[2], n = A.shape[A.ndim - 1]
        cdef cnp.ndarray mask = None
        self.kind = cnp.PyArray_TYPE(y)
        self.dtype = y.dtype
        g.series, g.mixed, g.predicts = s, mixed, predicts
        g.independent, g.tolerance = independent, tolerance
        if observed is not None:
            observed = mask = np.ascontiguousarray(observed, dtype=bool)
        self.places = set_model(g, T, n, p, y, A, B, Q, R, mask)
        if c is not None:
            g.c = cnp.PyArray_DATA(<cnp.ndarray> c)
            g.c_step = step_of(c, 2)
            g.c_width = c.shape[2]
        self.origin = origin
        self.block = min(block, T) if block > 0 else T
        self.lock = threading.Lock()
        self.kept = -1
        self.arrays = (y, A, B, Q, R, c, observed)
        self.quad = np.empty((T, s), dtype=self.dtype)
        self.logdet = np.empty(T, dtype=self.dtype)
        self.gram = np.zeros((s, mixed), dtype=self.dtype)
        self.starts = [(m.copy(), P.copy())]
        self.make_room(whole)
        if whole:
            self.run_all(self.gram)
        else:
            self.starts.append(self.run(0, T, self.gram))
        self.after = self.starts.pop()

    cdef void make_room(self, bint whole):
        """Arrays for what is kept."""
        cdef Py_ssize_t n = self.g.n, p = self.g.p, s = self.g.series
        cdef Py_ssize_t width = p if self.g.independent else p * p
        cdef Py_ssize_t steps = self.block if whole else self.g.steps, kept = steps if whole else 1
        cdef cnp.ndarray w, K, L
        self.means = np.empty((kept if whole else 0, n, s), dtype=self.dtype)
        self.covariances = np.empty((kept, n, n), dtype=self.dtype)   # untouched memory costs nothing
        K = np.empty((kept, p, n), dtype=self.dtype)
        w = np.empty((steps, p, s), dtype=self.dtype)
        L = np.empty((steps, width), dtype=self.dtype)
        self.slots = np.empty(steps, dtype=np.intp)
        self.k.whole = whole
        self.k.m, self.k.w = cnp.PyArray_DATA(self.means), cnp.PyArray_DATA(w)
        self.k.P, self.k.K = cnp.PyArray_DATA(self.covariances), cnp.PyArray_DATA(K)
        self.k.L = cnp.PyArray_DATA(L)
        self.k.slot = <Py_ssize_t *> cnp.PyArray_DATA(self.slots)
        self.held = (w, K, L)

    cdef object run_all(self, cnp.ndarray gram):
        """The filter over all blocks, which adds to `starts`."""
        for begin in range(0, self.g.steps, max(self.block, 1)):
            self.starts.append(self.run(begin, min(begin + self.block, self.g.steps), gram))
        if not self.g.steps:
            self.starts.append(self.starts[0])

    cdef object keep_whole(self):
        """Run the filter again, where not all was kept that the way back needs."""
        if not self.k.whole:
            self.make_room(True)
            self.run_all(np.empty_like(self.gram))
            self.starts.pop()

    cdef tuple run(self, Py_ssize_t first, Py_ssize_t last, cnp.ndarray gram):
        """The filter over the block of these steps; the moments predicted after it."""
        cdef Model *g = &self.g
        cdef Py_ssize_t n = g.n, p = g.p, s = g.series, begin, end, failed, chunk = steps_between_looks(g)
        cdef Forward state
        cdef Observed o
        cdef cnp.ndarray means = np.empty((2, n, s), dtype=self.dtype)
        cdef cnp.ndarray covariances = np.empty((2, n, n), dtype=self.dtype)
        cdef cnp.ndarray room = np.empty(room_forward(g), dtype=self.dtype)
        cdef cnp.ndarray index = np.empty(p, dtype=np.intp), scales = np.zeros((3, n))
        means[0], covariances[0] = self.starts[first // max(self.block, 1)]
        self.k.first = first
        self.kept = -1
        state.slot = -1
        start_rest(&state.rest, scales)
        state.m, state.P = cnp.PyArray_DATA(means), cnp.PyArray_DATA(covariances)
        state.m_new = cnp.PyArray_DATA(<cnp.ndarray> means[1])
        state.P_new = cnp.PyArray_DATA(<cnp.ndarray> covariances[1])
        o.index = <Py_ssize_t *> cnp.PyArray_DATA(index)
        for begin in range(first, last, chunk):
            end = min(begin + chunk, last)
            failed = self.filter(cnp.PyArray_DATA(room), &state, &o, begin, end, cnp.PyArray_DATA(gram))
            if failed >= 0 and moments_are_finite(&state, self.kind, 0, n * n):
                raise LinAlgError(
                    f"the covariance of the observations at step {self.origin + failed} is not positive "
                    f"definite: obs_cov and the states leave a combination of them without variance")
            if failed >= 0 or not moments_are_finite(&state, self.kind, n * s, n * n):
                self.keep_whole()   # raises the error with its place
                raise self.overflow(first, end if failed < 0 else failed)
            PyErr_CheckSignals()
        self.kept = first if self.k.whole else -1
        return (means[state.m != cnp.PyArray_DATA(means)],
                covariances[state.P != cnp.PyArray_DATA(covariances)])

    cdef object overflow(self, Py_ssize_t first, Py_ssize_t end):
        """The error for what overflows before step `end` of the block; its `series` is the column."""
        found, series = end, 0
        for t in range(first, end):
            finite = np.isfinite(self.means[t - first]).all(axis=0)
            if not finite.all() or not np.isfinite(self.covariances[self.slots[t - first]]).all():
                found, series = t, int(np.argmin(finite))
                break
        found += self.origin
        error = OverflowError(f"the state predicted for step {found}, or its covariance, overflows")
        error.series = series
        return error

    cdef Py_ssize_t filter(self, void *room, Forward *state, Observed *o, Py_ssize_t begin, Py_ssize_t end,
                           void *gram):
        cdef void *quad = cnp.PyArray_DATA(self.quad)
        cdef void *logdet = cnp.PyArray_DATA(self.logdet)
        cdef Py_ssize_t failed
        cdef int kind = self.kind
        with nogil:
            if kind == cnp.NPY_DOUBLE:
                failed = filter_steps(<double *> room, &self.g, &self.k, state, o, begin, end,
                                      <double *> quad, <double *> logdet, <double *> gram)
            elif kind == cnp.NPY_FLOAT:
                failed = filter_steps(<float *> room, &self.g, &self.k, state, o, begin, end,
                                      <float *> quad, <float *> logdet, <float *> gram)
            elif kind == cnp.NPY_CDOUBLE:
                failed = filter_steps(<complex128 *> room, &self.g, &self.k, state, o, begin, end,
                                      <complex128 *> quad, <complex128 *> logdet, <complex128 *> gram)
            else:
                failed = filter_steps(<complex64 *> room, &self.g, &self.k, state, o, begin, end,
                                      <complex64 *> quad, <complex64 *> logdet, <complex64 *> gram)
        return failed

    def filtered_covariances(self):
        """P_f of every step, (T, n, n)."""
        return self.covariances[self.slots]

    def squares_from(self, delta):
        """Sums over steps of vᵀ S⁻¹ v, if the start is moved along the mixed series.

        Without the cancellation of ``quad + 2 gram δ + δᵀ gram δ``; of real numbers, where not all is kept.

        Parameters
        ----------
        delta : (mixed, s - mixed) array
            How far, for each series that is not mixed.

        Returns
        -------
        (s - mixed,) array
        """
        cdef Model *g = &self.g
        cdef Observed o
        cdef cnp.ndarray moved = np.ascontiguousarray(delta, dtype=self.dtype)
        cdef cnp.ndarray quad = np.zeros(g.series - g.mixed, dtype=self.dtype)
        cdef cnp.ndarray room = np.empty(g.p * (g.n + g.p + 1), dtype=self.dtype)
        cdef cnp.ndarray index = np.empty(g.p, dtype=np.intp)
        o.index = <Py_ssize_t *> cnp.PyArray_DATA(index)
        if self.kind == cnp.NPY_DOUBLE:
            squares_from(<double *> cnp.PyArray_DATA(room), g, &self.k, &o,
                         <double *> cnp.PyArray_DATA(moved), <double *> cnp.PyArray_DATA(quad))
        else:
            squares_from(<float *> cnp.PyArray_DATA(room), g, &self.k, &o,
                         <float *> cnp.PyArray_DATA(moved), <float *> cnp.PyArray_DATA(quad))
        return quad

    def pull(self, quad_bar, gram_bar, logdet_bar, tuple wanted, tuple after=None):
        """Pull cotangents of `gram` and of the sums over steps of `quad` and `logdet` back.

        Parameters
        ----------
        quad_bar : (s,) array
            Zero for mixed series.
        gram_bar : (s, mixed) array
        logdet_bar : number
        wanted : tuple of 8 bool
            For which of y, A, B, Q, R, m, P, c; of A and Q, a `Wanted` where that suffices.
        after : tuple of (n, s) and (n, n) arrays, optional
            The r and N after the last step; by default zero.

        Returns
        -------
        tuple of 8
            Arrays in the shapes of the arguments, or None.
        tuple of (n, s) and (n, n) arrays
            The r and N before the first step.
        """
        cdef Bars b
        cdef list bars = [np.zeros_like(x) if want and x is not None else None
                          for x, want in zip((*self.arrays[:5], self.arrays[5]), (*wanted[:5], wanted[7]))]
        cdef cnp.ndarray own = np.multiply(quad_bar, -2, dtype=self.dtype)
        cdef cnp.ndarray mixing = -np.asarray(gram_bar, dtype=self.dtype)
        first = self.g.series - self.g.mixed
        mixing[first:] += mixing[first:].T.copy()
        b.y, b.A, b.B = memory(bars[0]), memory(bars[1]), memory(bars[2])
        b.Q, b.R, b.c = memory(bars[3]), memory(bars[4]), memory(bars[5])
        b.M = b.V = NULL
        b.own, b.mixing = cnp.PyArray_DATA(own), cnp.PyArray_DATA(mixing)
        want(&b, wanted)
        omega = -2 * logdet_bar
        r, N = self.back(&b, omega, after)
        weighted = r * own
        weighted[:, first:] += r @ mixing
        weighted[:, :first] += r[:, first:] @ mixing[:first].T
        m_bar = weighted if wanted[5] else None
        P_bar = 0.5 * (weighted @ r.T - omega * N) if wanted[6] else None
        return (*bars[:5], m_bar, P_bar, bars[5]), (r, N)

    def pull_steps(self, weights, tuple wanted, filtered_bar=(None, None), predicted_bar=(None, None)):
        """Pull cotangents of ``-½ (quad + logdet)``, each of its own, and of moments of every step back.

        Parameters
        ----------
        weights : (T, s) array
            The cotangents.
        wanted : tuple of 8 bool
            For which of y, A, B, Q, R, m, P, c.
        filtered_bar, predicted_bar : tuple of (T, n, s) and (T, n, n) arrays, optional
            Cotangents of m_f and P_f, and of the m and P that are predicted for each step; those of
            covariances are symmetric.

        Returns
        -------
        tuple of 8
            Arrays in the shapes of the arguments, or None.

        Notes
        -----
        A step costs 8n³ + 6n²p + 8np² + 4p³ flops, independent 4n³ + 6n²p, and for each series
        4n² + 6np + 4p², at rest, too.
        """
        cdef Model *g = &self.g
        cdef Py_ssize_t n = g.n, p = g.p, s = g.series, begin, end, chunk = steps_between_looks(g)
        cdef list bars = [np.zeros_like(x) if want and x is not None else None
                          for x, want in zip((*self.arrays[:5], self.arrays[5]), (*wanted[:5], wanted[7]))]
        cdef cnp.ndarray given = np.ascontiguousarray(weights, dtype=self.dtype)
        cdef list moved = [None if x is None else np.ascontiguousarray(x, dtype=self.dtype)
                           for x in (*filtered_bar, *predicted_bar)]
        cdef void *moments_bar[4]
        cdef cnp.ndarray m_bar = np.zeros((n, s), dtype=self.dtype)
        cdef cnp.ndarray P_bar = np.zeros((n, n), dtype=self.dtype)
        cdef cnp.ndarray room = np.empty(room_weighted(g), dtype=self.dtype)
        cdef cnp.ndarray index = np.empty(p, dtype=np.intp)
        cdef Observed o
        cdef Bars b
        b.y, b.A, b.B = memory(bars[0]), memory(bars[1]), memory(bars[2])
        b.Q, b.R, b.c = memory(bars[3]), memory(bars[4]), memory(bars[5])
        o.index = <Py_ssize_t *> cnp.PyArray_DATA(index)
        for i in range(4):
            moments_bar[i] = memory(moved[i])
        with self.lock:
            self.turn()
            self.keep_whole()
            for first in reversed(range(0, g.steps, max(self.block, 1))):
                if first != self.kept:
                    self.run(first, min(first + self.block, g.steps), np.empty_like(self.gram))
                for end in range(min(first + self.block, g.steps), first, -chunk):
                    begin = max(end - chunk, first)
                    self.go_back_weighted(cnp.PyArray_DATA(room), &o, &b, begin, end, cnp.PyArray_DATA(given),
                                          moments_bar, cnp.PyArray_DATA(m_bar), cnp.PyArray_DATA(P_bar))
                    PyErr_CheckSignals()
        return (*bars[:5], m_bar if wanted[5] else None, P_bar if wanted[6] else None, bars[5])

    cdef void go_back_weighted(self, void *room, Observed *o, Bars *b, Py_ssize_t begin, Py_ssize_t end,
                               void *weights, void **moments_bar, void *m_bar, void *P_bar):
        cdef int kind = self.kind
        with nogil:
            if kind == cnp.NPY_DOUBLE:
                weighted_back_steps(<double *> room, &self.g, &self.k, o, b, begin, end, <double *> weights,
                                    moments_bar, <double *> m_bar, <double *> P_bar)
            elif kind == cnp.NPY_FLOAT:
                weighted_back_steps(<float *> room, &self.g, &self.k, o, b, begin, end, <float *> weights,
                                    moments_bar, <float *> m_bar, <float *> P_bar)
            elif kind == cnp.NPY_CDOUBLE:
                weighted_back_steps(<complex128 *> room, &self.g, &self.k, o, b, begin, end,
                                    <complex128 *> weights, moments_bar, <complex128 *> m_bar,
                                    <complex128 *> P_bar)
            else:
                weighted_back_steps(<complex64 *> room, &self.g, &self.k, o, b, begin, end,
                                    <complex64 *> weights, moments_bar, <complex64 *> m_bar,
                                    <complex64 *> P_bar)

    def smooth(self, tuple after=None):
        """The smoothed means (T, n, s) and covariances (T, n, n), and the r and N before the first step.

        after: those after the last one, by default zero.
        """
        cdef Bars b
        cdef cnp.ndarray M = np.empty((self.g.steps, self.g.n, self.g.series), dtype=self.dtype)
        cdef cnp.ndarray V = np.empty((self.g.steps, self.g.n, self.g.n), dtype=self.dtype)
        b.y = b.A = b.B = b.Q = b.R = b.c = b.own = b.mixing = NULL
        b.M, b.V = cnp.PyArray_DATA(M), cnp.PyArray_DATA(V)
        want(&b, 7 * (False,))
        b.covariances = b.means = True
        return M, V, self.back(&b, 1, after)

    cdef tuple back(self, Bars *b, omega, tuple after):
        """The sweep backward: r and N before the first step."""
        with self.lock:
            self.turn()
        if self.block >= self.g.steps and self.k.whole:
            return self.back_over_blocks(b, omega, after)
        with self.lock:
            self.keep_whole()
            return self.back_over_blocks(b, omega, after)

    cdef object turn(self):
        """The entries of a sparse transition's transpose, which the way back needs."""
        if self.g.sparse and self.turned is None:
            self.turned = fill_in(&self.g.turned, self.arrays[1], transpose=True)

    cdef tuple back_over_blocks(self, Bars *b, omega, tuple after):
        cdef Model *g = &self.g
        cdef Py_ssize_t n = g.n, p = g.p, s = g.series, begin, end, chunk = steps_between_looks(g)
        cdef Backward state
        cdef Observed o
        cdef cnp.ndarray r = np.zeros((n, s), dtype=self.dtype), N = np.zeros((n, n), dtype=self.dtype)
        cdef cnp.ndarray room = np.empty(room_backward(g), dtype=self.dtype)
        cdef cnp.ndarray sums = np.zeros((n, n), dtype=self.dtype)
        cdef cnp.ndarray factor = np.full(1, omega, dtype=self.dtype)
        cdef cnp.ndarray index = np.empty(p, dtype=np.intp), scales = np.zeros((3, n))
        if after is not None:
            r[...], N[...] = after
        start_rest(&state.rest, scales)
        state.count = state.at = 0
        state.gathered = False
        state.r, state.N = cnp.PyArray_DATA(r), cnp.PyArray_DATA(N)
        state.sums = cnp.PyArray_DATA(sums)
        o.index = <Py_ssize_t *> cnp.PyArray_DATA(index)
        for first in reversed(range(0, g.steps, max(self.block, 1))):
            if first != self.kept:
                self.run(first, min(first + self.block, g.steps), np.empty_like(self.gram))
            for end in range(min(first + self.block, g.steps), first, -chunk):
                begin = max(end - chunk, first)
                self.go_back(cnp.PyArray_DATA(room), &state, &o, b, begin, end, cnp.PyArray_DATA(factor))
                PyErr_CheckSignals()
        return r, N

    cdef void go_back(self, void *room, Backward *state, Observed *o, Bars *b, Py_ssize_t begin,
                      Py_ssize_t end, void *omega):
        cdef int kind = self.kind
        with nogil:
            if kind == cnp.NPY_DOUBLE:
                back_steps(<double *> room, &self.g, &self.k, state, o, b, begin, end, (<double *> omega)[0])
            elif kind == cnp.NPY_FLOAT:
                back_steps(<float *> room, &self.g, &self.k, state, o, b, begin, end, (<float *> omega)[0])
            elif kind == cnp.NPY_CDOUBLE:
                back_steps(<complex128 *> room, &self.g, &self.k, state, o, b, begin, end,
                           (<complex128 *> omega)[0])
            else:
                back_steps(<complex64 *> room, &self.g, &self.k, state, o, b, begin, end,
                           (<complex64 *> omega)[0])


cdef void start_rest(Rest *rest, cnp.ndarray scales):
    begin_rest(rest, scales.shape[1], <double *> cnp.PyArray_DATA(scales))


cdef void begin_rest(Rest *rest, Py_ssize_t n, double *scale):
    """`scale` holds 3 n zeros."""
    rest.resting = False
    rest.change = 0
    rest.mover = 0
    rest.peak, rest.scale, rest.moved = scale, scale + n, scale + 2 * n


cdef void *memory(x):
    return NULL if x is None else cnp.PyArray_DATA(<cnp.ndarray> x)


# ---- starts of diffuse states ----------------------------------------------------------------------------

# What a loading by the way of other states must be of the one by a shorter way to stand for it.
cdef double BEYOND = 64
# After so many moves more than all states are found within.
cdef Py_ssize_t DETOUR = 3


cdef void longest_step(Py_ssize_t n, Py_ssize_t steps, const double *A, double *step) noexcept nogil:
    """The largest entries of A over time; none for the rounding of an angle, sin(π) beside cos(π)."""
    cdef Py_ssize_t i, j, k, t
    cdef double x
    for k in range(n * n):
        step[k] = 0
        for t in range(steps):
            step[k] = max(step[k], fabs(A[t * n * n + k]))
    for i in range(n):
        for j in range(i):
            x = sqrt(step[i * n + j]) * sqrt(step[j * n + i])
            if x > 0 and x <= UNSEEN * sqrt(step[i * (n + 1)]) * sqrt(step[j * (n + 1)]):
                step[i * n + j] = step[j * n + i] = 0


cdef Py_ssize_t reach(Py_ssize_t n, Py_ssize_t p, const double *step, const unsigned char *mask,
                      double *found, double *room) noexcept nogil:
    """Add to `found` the loadings of states that elements see by the way of others, until every state of the
    mask has one, after as many moves as are returned; n where some has none."""
    cdef double *L = room
    cdef double *next = L + p * n
    cdef Py_ssize_t i, j, k, l
    cdef double x
    cdef bint all_found
    memcpy(L, found, p * n * sizeof(double))
    for l in range(n):
        all_found = True
        for j in range(n):
            x = 0
            for i in range(p):
                x += found[i * n + j]
            all_found = all_found and (x > 0 or not mask[j])
        if all_found:
            return l
        memset(next, 0, p * n * sizeof(double))
        for i in range(p):
            for k in range(n):
                if L[i * n + k] != 0:
                    add_row(n, L[i * n + k], step + k * n, next + i * n)
        memcpy(L, next, p * n * sizeof(double))
        for k in range(p * n):
            if found[k] == 0:
                found[k] = L[k]
    return n


cdef void outshine(Py_ssize_t n, Py_ssize_t p, Py_ssize_t moves, const double *step, double *found,
                   double *L, double *next) noexcept nogil:
    """Replace loadings in `found` by far larger ones, of the best way by that many moves or fewer.

    L has the loadings without a move.  Sums over all ways would grow with the moves.
    """
    cdef Py_ssize_t i, j, k, _move
    for _move in range(moves):
        memset(next, 0, p * n * sizeof(double))
        for i in range(p):
            for k in range(n):
                if L[i * n + k] != 0:
                    for j in range(n):
                        if j != k:
                            next[i * n + j] = max(next[i * n + j], L[i * n + k] * step[k * n + j])
        memcpy(L, next, p * n * sizeof(double))
        for k in range(p * n):
            if 0 < found[k] and BEYOND * found[k] < L[k]:
                found[k] = L[k]


def start_variances(cnp.ndarray A, cnp.ndarray B, cnp.ndarray Q, cnp.ndarray R, cnp.ndarray mask):
    """Variances (n,) to start the diffuse states of the mask with, where Q and R are constant.

    See `lindiff.statespace.diffuse.start_variances`.

    Parameters
    ----------
    A, B, Q, R : (1, T or 1, ...) arrays, or matrices
        C-contiguous, of float64; R a matrix or a row of variances.
    mask : (n,) array of bool

    Examples
    --------
    >>> import numpy as np
    >>> trend = np.array([[[[1.0, 4.0], [0.0, 1.0]]]])
    >>> start_variances(trend, np.eye(1, 2)[None, None], 0 * trend, np.ones((1, 1, 1, 1)), np.ones(2, bool))
    array([1.    , 0.0625])
    """
    cdef Py_ssize_t n = A.shape[A.ndim - 1], p = B.shape[B.ndim - 2]
    cdef Py_ssize_t T = B.shape[B.ndim - 3] if B.ndim > 2 else 1
    cdef Py_ssize_t apart = p + 1 if R.shape[R.ndim - 2] == p else 1, moves, i, j, t
    cdef cnp.ndarray variances = np.empty(n), rooms = np.empty(4 * p * n + n * n)
    cdef double *found = <double *> cnp.PyArray_DATA(rooms)
    cdef double *direct = found + p * n
    cdef double *room = direct + p * n
    cdef double *step = room + 2 * p * n
    cdef double *result = <double *> cnp.PyArray_DATA(variances)
    cdef const double *loadings = <double *> cnp.PyArray_DATA(B)
    cdef const double *moving = <double *> cnp.PyArray_DATA(Q)
    cdef const double *noise = <double *> cnp.PyArray_DATA(R)
    cdef double x, total = 0
    for i in range(p * n):
        x = 0
        for t in range(T):
            x += loadings[t * p * n + i] * loadings[t * p * n + i]
        found[i] = direct[i] = sqrt(x / T) if T > 1 else fabs(loadings[i])
    if n > 1:
        longest_step(n, A.shape[A.ndim - 3] if A.ndim > 2 else 1, <double *> cnp.PyArray_DATA(A), step)
        moves = reach(n, p, step, <unsigned char *> cnp.PyArray_DATA(mask), found, room)
        outshine(n, p, min(n - 1, moves + DETOUR), step, found, direct, room)
    for j in range(n):
        result[j] = INFINITY
    for i in range(p):
        x = fabs(noise[i * apart])
        for j in range(n):
            x += found[i * n + j] * found[i * n + j] * fabs(moving[j * (n + 1)])
        total += x
        for j in range(n):
            if x > 0 and found[i * n + j] > 0:
                result[j] = min(result[j], x / (found[i * n + j] * found[i * n + j]))
    for j in range(n):
        if not isfinite(result[j]):   # no element sees it
            result[j] = total if total > 0 else 1
    return variances


def with_variances(cnp.ndarray m, cnp.ndarray P, cnp.ndarray mask, cnp.ndarray variances):
    """m (n,) and P (n, n) with means of zero, these variances (n,) and no covariances at the mask.

    C-contiguous arrays of float64, which may have an axis of length 1 in front.

    Examples
    --------
    >>> import numpy as np
    >>> mask, variances = np.array([True, False]), np.array([3.0, 4.0])
    >>> m, P = with_variances(np.ones((1, 2)), np.ones((1, 2, 2)), mask, variances)
    >>> m.tolist(), P.tolist()
    ([[0.0, 1.0]], [[[3.0, 0.0], [0.0, 1.0]]])
    """
    cdef Py_ssize_t n = m.shape[m.ndim - 1], i, j
    cdef cnp.ndarray mean = m.copy(), cov = P.copy()
    cdef double *x = <double *> cnp.PyArray_DATA(mean)
    cdef double *X = <double *> cnp.PyArray_DATA(cov)
    cdef const double *start = <double *> cnp.PyArray_DATA(variances)
    cdef const unsigned char *diffuse = <unsigned char *> cnp.PyArray_DATA(mask)
    for i in range(n):
        if diffuse[i]:
            x[i] = 0
            for j in range(n):
                X[i * n + j] = X[j * n + i] = 0
            X[i * (n + 1)] = start[i]
    return mean, cov


# ---- one series from diffuse states --------------------------------------------------------------------

# With less information on a combination of diffuse states, in the units of each, or more of their covariance
# beside a variance of the filter's, a quarter of the digits would be lost: the filter goes on.
cdef double WELL = EPS ** 0.25
# The states are determined soon, or it is left to others, after so many times the steps that have as many
# observations as there are diffuse states.
cdef Py_ssize_t SOON = 4


cdef bint invert(Py_ssize_t d, const double *C, double *inverse, double *logdet,
                 double *room) noexcept nogil:
    """inverse := C⁻¹, logdet := log |C|; False where C is not well conditioned in the units of its diagonal.

    The smallest eigenvalue is no less than one over the trace of the inverse.
    """
    cdef Py_ssize_t i, j, k
    cdef double x, trace = 0
    cdef double *L = room
    cdef double *scale = room + d * d
    logdet[0] = 0
    for i in range(d):
        x = C[i * (d + 1)]
        if not (x > 0 and isfinite(x)):
            return False
        scale[i] = sqrt(x)
    for i in range(d):
        for j in range(i + 1):
            L[i * d + j] = C[i * d + j] / (scale[i] * scale[j])
    if not inverse_factor(d, 0, L, inverse):
        return False
    for i in range(d):
        logdet[0] += 2 * log(L[i * (d + 1)] * scale[i])
    memcpy(L, inverse, d * d * sizeof(double))
    for i in range(d):
        for j in range(i + 1):
            x = 0
            for k in range(i, d):
                x += L[k * d + i] * L[k * d + j]
            inverse[i * d + j] = inverse[j * d + i] = x / (scale[i] * scale[j])
            if i == j:
                trace += x
    return d == 1 or trace * WELL < 1


cdef class Collapse:
    """The filter over one series; from diffuse states it collapses where the data determine them.

    Until then it runs on the data and, as further series of zero data, from the unit vectors of the diffuse
    states δ.  Once the sums s = Σ vᵀ S⁻¹ V and C = Σ Vᵀ S⁻¹ V determine them well, it goes on over the data
    alone, from m - M C⁻¹ sᵀ and P + M C⁻¹ Mᵀ (de Jong & Chu-Chun-Lin 1994).

    Parameters
    ----------
    y : (T, p) array
        All arrays are C-contiguous, of float64.
    A, B, Q, R : arrays
        As `Sweep` takes them.
    m, P : (n,), (n, n) arrays
        Where a state is diffuse, only the variance that the filter starts it with is read.
    places : (d,) array of intp
        The diffuse states; there may be none.
    observed, independent, tolerance
        As `Sweep` takes them.
    whole : bool
        Whether all is kept that `pull` needs.

    Attributes
    ----------
    value : float, optional
        -½ (Σ vᵀ S⁻¹ v + Σ log |S| + log |C|), with δ where the data put it before the collapse.  None where
        a closer look is needed: the data do not determine δ soon, S is not positive definite, or something
        overflows.

    Notes
    -----
    Backward, from m̄ and P̄ of the filter that goes on, with r and N at its start and D = C⁻¹ Mᵀ:
    s̄ = -m̄ᵀ Dᵀ, C̄ = -½ C⁻¹ - D P̄ Dᵀ, M̄ = 2 P̄ Dᵀ.  What M̄ has beyond r and N are r of d more series, of
    zero data from zero, in products with the unit vectors.

    Examples
    --------
    >>> import numpy as np
    >>> one, y, zero = np.eye(1), np.array([[1.0], [3.0], [2.0]]), np.zeros(1)
    >>> found = Collapse(y, one, one, one, one[0], zero, one, np.zeros(1, np.intp), None, True)
    >>> print(round(found.value, 6))
    -1.909057
    """

    cdef Model first   # on the steps before the collapse
    cdef Model then
    cdef Kept early
    cdef Kept late
    cdef Py_ssize_t head   # after how many steps it collapses
    cdef Py_ssize_t d
    cdef bint whole
    cdef double *delta     # (series - 1,), zero but for the unit vectors
    cdef double *inverse   # C⁻¹
    cdef double *gain      # D
    cdef const Py_ssize_t *index
    cdef tuple held
    cdef tuple turned
    cdef list buffers
    cdef readonly object value

    def __init__(self, cnp.ndarray y, cnp.ndarray A, cnp.ndarray B, cnp.ndarray Q, cnp.ndarray R,
                 cnp.ndarray m, cnp.ndarray P, cnp.ndarray places, observed=None, bint independent=False,
                 double tolerance=1e-14, bint whole=False):
        cdef Model *g = &self.then
        cdef Model *f = &self.first
        cdef Py_ssize_t n = A.shape[A.ndim - 1], p = B.shape[B.ndim - 2], T = y.shape[0], d = places.shape[0]
        cdef cnp.ndarray mask = None
        if observed is not None:
            observed = mask = np.ascontiguousarray(observed, dtype=bool)
        self.d, self.whole, self.value, self.buffers = d, whole, None, []
        g.series, g.mixed, g.predicts, g.independent, g.tolerance = 1, 0, False, independent, tolerance
        self.held = (set_model(g, T, n, p, y, A, B, Q, R, mask), y, A, B, Q, R, mask, places)
        f[0] = g[0]
        f.mixed = 2 * d if whole else d
        f.series = 1 + f.mixed
        f.predicts = True
        self.index = <const Py_ssize_t *> cnp.PyArray_DATA(places)
        if T and p:
            self.run(<double *> cnp.PyArray_DATA(m), <double *> cnp.PyArray_DATA(P))

    cdef double *room(self, Py_ssize_t count, bint zeros=False):
        """Memory for so many numbers, kept with this object."""
        cdef cnp.ndarray found = np.zeros(count) if zeros else np.empty(count)
        self.buffers.append(found)
        return <double *> cnp.PyArray_DATA(found)

    cdef void keep(self, Kept *k, Model *g, Py_ssize_t first, Py_ssize_t steps):
        """Room for what so many steps keep."""
        cdef Py_ssize_t n = g.n, p = g.p, s = g.series, width = p if g.independent else p * p
        cdef Py_ssize_t kept = steps if self.whole else 1
        cdef cnp.ndarray slots = np.empty(steps, dtype=np.intp)
        cdef double *room = self.room(kept * (n * n + p * n) + (n * s * steps if self.whole else 0)
                                      + steps * (p * s + width))
        self.buffers.append(slots)
        k.first, k.whole, k.slot = first, self.whole, <Py_ssize_t *> cnp.PyArray_DATA(slots)
        k.P, k.K = room, room + kept * n * n
        k.w = room + kept * (n * n + p * n)
        k.L = <double *> k.w + steps * p * s
        k.m = <double *> k.L + steps * width

    cdef object run(self, const double *m, const double *start):
        """All steps; the value, if there is one."""
        cdef Model *f = &self.first
        cdef Model *g = &self.then
        cdef Py_ssize_t n = g.n, p = g.p, T = g.steps, d = self.d, s = f.series, i, j, k, t
        cdef Py_ssize_t begin = 0, steps = 0, most, seen = 0, failed, chunk
        cdef Forward state
        cdef Observed o
        cdef double *data = <double *> g.y
        cdef double *wide
        cdef double *moments = self.room(2 * n * (s + 1) + 4 * n * n + 6 * n, zeros=True)
        cdef double *room = self.room(max(room_forward(f), room_forward(g)))
        cdef double *sums = self.room(s * f.mixed + 2 * d * d + f.mixed + d * n + d * d + d, zeros=True)
        cdef double *quad
        cdef double *logdet = self.room(T)
        cdef double *C = sums + s * f.mixed
        cdef double *more
        cdef double *M
        cdef double total, info_logdet, x
        self.inverse = C + d * d
        self.delta = self.inverse + d * d
        self.gain = self.delta + f.mixed
        more = self.gain + d * n
        cdef cnp.ndarray at = np.empty(p, dtype=np.intp)
        o.index = <Py_ssize_t *> cnp.PyArray_DATA(at)
        state.m, state.m_new = moments, moments + n * s
        state.P, state.P_new = moments + 2 * n * s, moments + 2 * n * s + n * n
        begin_rest(&state.rest, n, moments + 2 * n * s + 2 * n * n)
        state.slot = -1
        M = <double *> state.P
        memcpy(M, start, n * n * sizeof(double))
        for i in range(n):
            (<double *> state.m)[i * s] = m[i]
        for j in range(d):
            i = self.index[j]
            for k in range(n):
                M[i * n + k] = M[k * n + i] = 0
            M[i * (n + 1)] = start[i * (n + 1)]
            (<double *> state.m)[i * s] = 0
            (<double *> state.m)[i * s + 1 + j] = 1
        total = 0
        if d == 0:
            quad = self.room(T)
        else:
            while steps < T and seen < d:
                for i in range(p):
                    seen += g.observed == NULL or g.observed[steps * p + i]
                steps += 1
            most = min(T, SOON * steps)
            wide, quad = self.room(most * p * s, zeros=True), self.room(max(most * s, T))
            f.y = wide
            self.keep(&self.early, f, 0, most)
            while True:
                if steps >= T or steps > most:
                    return None
                for t in range(begin, steps):
                    for i in range(p):
                        wide[(t * p + i) * s] = data[t * p + i]
                with nogil:
                    failed = filter_steps(room, f, &self.early, &state, &o, begin, steps, quad, logdet, sums)
                if failed >= 0 or not moments_are_finite(&state, cnp.NPY_DOUBLE, n * s, n * n):
                    return None
                M = <double *> state.m
                for i in range(d):
                    for j in range(d):
                        C[i * d + j] = sums[(1 + i) * f.mixed + j]
                if invert(d, C, self.inverse, &info_logdet, more):
                    for i in range(d):
                        self.delta[i] = 0
                        for j in range(d):
                            self.delta[i] -= self.inverse[i * d + j] * sums[j]
                        for k in range(n):
                            x = 0
                            for j in range(d):
                                x += self.inverse[i * d + j] * M[k * s + 1 + j]
                            self.gain[i * n + k] = x
                    if self.is_well(C, start, M, <double *> state.P):
                        break
                begin, steps = steps, steps + max(steps // 2, d)
                PyErr_CheckSignals()
            f.steps = steps
            more[0] = 0
            squares_from(room, f, &self.early, &o, self.delta, more)
            total = info_logdet + more[0]
            for t in range(steps):
                total += logdet[t]
            if self.whole:
                self.move(<double *> self.early.m, steps * n)
                self.move(<double *> self.early.w, steps * p)
        self.head = steps
        M, C = <double *> state.m, <double *> state.P
        moments += 2 * n * s + 2 * n * n + 3 * n
        begin_rest(&state.rest, n, moments + 2 * n + 2 * n * n)
        state.slot = -1
        state.m, state.m_new = moments, moments + n
        state.P, state.P_new = moments + 2 * n, moments + 2 * n + n * n
        for k in range(n):
            moments[k] = M[k * s]
            for i in range(d):
                moments[k] += M[k * s + 1 + i] * self.delta[i]
            for j in range(k + 1):
                x = C[k * n + j]
                for i in range(d):
                    x += 0.5 * M[k * s + 1 + i] * self.gain[i * n + j]
                    x += 0.5 * M[j * s + 1 + i] * self.gain[i * n + k]
                moments[2 * n + k * n + j] = moments[2 * n + j * n + k] = x
        self.keep(&self.late, g, steps, T - steps)
        chunk = steps_between_looks(g)
        for begin in range(steps, T, chunk):
            with nogil:
                failed = filter_steps(room, g, &self.late, &state, &o, begin, min(begin + chunk, T), quad,
                                      logdet, sums)
            if failed >= 0 or not moments_are_finite(&state, cnp.NPY_DOUBLE, n, n * n):
                return None
            PyErr_CheckSignals()
        for t in range(steps, T):
            total += quad[t] + logdet[t]
        self.value = -0.5 * total

    cdef void move(self, double *x, Py_ssize_t rows):
        """The data's column of so many rows of all series, from where the data put δ."""
        cdef Py_ssize_t i, j, s = self.first.series
        for i in range(rows):
            for j in range(self.d):
                x[i * s] += x[i * s + 1 + j] * self.delta[j]

    cdef bint is_well(self, const double *C, const double *start, const double *M, const double *P):
        """Whether the data show every diffuse state, and leave no state much more uncertain than P."""
        cdef Py_ssize_t i, k, n = self.then.n, d = self.d, s = self.first.series
        cdef double x
        for i in range(d):
            if not C[i * (d + 1)] * start[self.index[i] * (n + 1)] > UNSEEN * UNSEEN:
                return False
        for k in range(n):
            x = 0
            for i in range(d):
                x += M[k * s + 1 + i] * self.gain[i * n + k]
            if WELL * x > P[k * (n + 1)]:
                return False
        return True

    def pull(self, double bar, tuple wanted):
        """Pull a cotangent of the value back; `whole` must be true, and the value be there.

        Parameters
        ----------
        bar : number
        wanted : tuple of 7 bool
            For which of y, A, B, Q, R, m, P; of A and Q, a `Wanted` where that suffices.

        Returns
        -------
        tuple of 7
            Arrays in the shapes of the arguments, or None; zero for m and P of diffuse states.
        """
        cdef Model *f = &self.first
        cdef Model *g = &self.then
        cdef Py_ssize_t n = g.n, p = g.p, d = self.d, s = f.series, w = f.mixed, head = self.head, i, j, k, t
        cdef Bars b
        cdef list bars = [np.zeros_like(given) if want else None
                          for given, want in zip(self.held[1:6], wanted)]
        cdef cnp.ndarray m_bar = np.zeros(n), P_bar = np.zeros((n, n)), at = np.empty(p, dtype=np.intp)
        cdef Py_ssize_t most = max(room_backward(f), room_backward(g))
        cdef cnp.ndarray rooms = np.zeros(most + 3 * n * n + 3 * n + 2 * n * s + s + s * w + 2 * n * d
                                          + (head * p * s if wanted[0] else 0))
        cdef double *room = <double *> cnp.PyArray_DATA(rooms)
        cdef double *own = room + most
        cdef double *mixing = own + s
        cdef double *r = mixing + s * w
        cdef double *N = r + n * s
        cdef double *scales = N + n * n
        cdef double *onto = scales + 3 * n
        cdef double *weighted = onto + 2 * n * d
        cdef double *sums = weighted + n * s
        cdef double *P_then = sums + n * n
        cdef double *y_early = P_then + n * n
        cdef double *y_bar
        cdef double x
        cdef Backward state
        cdef Observed o
        if g.sparse and self.turned is None:
            self.turned = fill_in(&g.turned, self.held[2], transpose=True)
            f.turned = g.turned
        b.y, b.A, b.B = memory(bars[0]), memory(bars[1]), memory(bars[2])
        b.Q, b.R = memory(bars[3]), memory(bars[4])
        b.c = b.M = b.V = NULL
        b.own, b.mixing = own, mixing
        want(&b, wanted)
        own[0] = bar
        o.index = <Py_ssize_t *> cnp.PyArray_DATA(at)
        state.r, state.N, state.sums = r, N, sums
        self.back(room, g, &self.late, &state, &o, &b, head, g.steps, bar, scales)
        # r of the data, and what there is beyond
        memcpy(weighted, r, n * sizeof(double))
        memset(r, 0, n * s * sizeof(double))
        for k in range(n):
            r[k * s] = weighted[k]
            for j in range(n):
                P_then[k * n + j] = 0.5 * bar * (weighted[k] * weighted[j] - N[k * n + j])
        for i in range(d):
            x = 0
            for k in range(n):
                x -= self.gain[i * n + k] * bar * weighted[k]
            mixing[i] = -x   # of s̄
            mixing[(1 + i) * w + d + i] = mixing[(1 + d + i) * w + i] = 1
            for k in range(n):
                onto[k * d + i] = 0
                if b.covariances:
                    for j in range(n):
                        onto[k * d + i] += P_then[k * n + j] * self.gain[i * n + j]
                    r[k * s + 1 + d + i] = 2 * onto[k * d + i] + weighted[k] * x
        for i in range(d):
            for j in range(d):
                x = -0.5 * bar * self.inverse[i * d + j]
                for k in range(n):
                    x -= self.gain[i * n + k] * onto[k * d + j]
                mixing[(1 + i) * w + j] -= x
                mixing[(1 + j) * w + i] -= x
        if wanted[0]:
            b.y = y_early
        self.back(room, f, &self.early, &state, &o, &b, 0, head, bar, scales)
        if wanted[0]:
            y_bar = <double *> memory(bars[0])
            for t in range(head):
                for i in range(p):
                    y_bar[t * p + i] = y_early[(t * p + i) * s]
        weigh(n, r, f, &b, weighted, room)
        for k in range(n):
            (<double *> cnp.PyArray_DATA(m_bar))[k] = weighted[k * s]
            for j in range(n):
                x = 0
                for i in range(s):
                    x += weighted[k * s + i] * r[j * s + i]
                (<double *> cnp.PyArray_DATA(P_bar))[k * n + j] = 0.5 * (x - bar * N[k * n + j])
        for i in range(d):
            k = self.index[i]
            (<double *> cnp.PyArray_DATA(m_bar))[k] = 0
            for j in range(n):
                (<double *> cnp.PyArray_DATA(P_bar))[k * n + j] = 0
                (<double *> cnp.PyArray_DATA(P_bar))[j * n + k] = 0
        return *bars, m_bar if wanted[5] else None, P_bar if wanted[6] else None

    cdef object back(self, double *room, Model *g, Kept *k, Backward *state, Observed *o, Bars *b,
                     Py_ssize_t begin, Py_ssize_t end, double bar, double *scales):
        """Steps end to begin, backward."""
        cdef Py_ssize_t last, chunk = steps_between_looks(g)
        memset(scales, 0, 3 * g.n * sizeof(double))
        begin_rest(&state.rest, g.n, scales)
        state.count = state.at = 0
        state.gathered = False
        for last in range(end, begin, -chunk):
            with nogil:
                back_steps(room, g, k, state, o, b, max(last - chunk, begin), last, bar)
            PyErr_CheckSignals()
