"""Symmetric eigendecomposition by plain loops: Householder tridiagonalization, then implicit QL.

For small matrices LAPACK's calls cost more than its arithmetic. Rows of U are eigenvectors, so that a
rotation works on two neighbouring rows and all inner loops run along rows.

Bowdler, Martin, Reinsch and Wilkinson (1968), "The QR and QL algorithms for symmetric matrices";
Golub and Van Loan (2013), sections 8.3.1 and 8.3.5.
"""

from libc.float cimport DBL_EPSILON, DBL_MIN, FLT_EPSILON, FLT_MIN
from libc.math cimport fabs, hypot, sqrt

from lindiff.kernels.sizes cimport SYEVD_COLUMNS
from lindiff.kernels.triangles cimport mirror

cdef enum:
    MOST_SWEEPS = 60   # for one eigenvalue; two are usual


cdef floating scale_of(Py_ssize_t n, const floating *A, Py_ssize_t lda) noexcept nogil:
    """What brings a matrix whose squares would overflow or vanish to entries up to 1; else 1."""
    cdef Py_ssize_t i, j
    cdef floating largest = 0, limit = 1e12 if floating is float else 1e120
    for i in range(n):
        for j in range(i + 1):
            if fabs(A[i * lda + j]) > largest:
                largest = fabs(A[i * lda + j])
    if largest == 0 or (1 / limit < largest < limit):
        return 1
    return largest


cdef void tridiagonalize(Py_ssize_t n, floating *A, Py_ssize_t ld, floating *d, floating *e, floating *tau,
                         floating *p) noexcept nogil:
    """P A Pᵀ is tridiagonal with diagonal d, and e beside it; A := Pᵀ. Both triangles are read.

    Row i, from the last on, is reflected onto its entry before the diagonal: H = I - tau v vᵀ. Then with A₁
    the first i rows and columns A₁ := H A₁ H = A₁ - v wᵀ - w vᵀ, p = tau A₁ v, w = p - ½ tau (pᵀ v) v.
    """
    cdef Py_ssize_t i, j, r
    cdef floating beta, x, y
    cdef floating *v
    cdef double total
    for i in range(n - 1, 0, -1):
        v = A + i * ld
        total = 0
        for j in range(i - 1):
            total += <double> v[j] * v[j]
        d[i] = v[i]
        tau[i] = 0
        e[i - 1] = v[i - 1]
        if total < 1e-280:   # no more than rounding of the entries beside it
            continue
        beta = <floating> sqrt(total + <double> v[i - 1] * v[i - 1])
        if v[i - 1] > 0:
            beta = -beta
        e[i - 1] = beta
        tau[i] = (beta - v[i - 1]) / beta
        x = 1 / (v[i - 1] - beta)
        for j in range(i - 1):
            v[j] *= x
        v[i - 1] = 1
        for j in range(i):
            p[j] = 0
        for r in range(i):
            x = tau[i] * v[r]
            for j in range(i):
                p[j] += x * A[r * ld + j]
        x = 0
        for j in range(i):
            x += p[j] * v[j]
        x *= tau[i] / 2
        for j in range(i):
            p[j] -= x * v[j]
        for r in range(i):
            x = v[r]
            y = p[r]
            for j in range(i):
                A[r * ld + j] -= x * p[j] + y * v[j]
    d[0] = A[0]
    A[0] = 1
    for i in range(1, n):   # Pᵀ := H Pᵀ, in the first i rows and columns
        v = A + i * ld
        if tau[i] != 0:
            for j in range(i):
                p[j] = 0
            for r in range(i):
                x = v[r]
                for j in range(i):
                    p[j] += x * A[r * ld + j]
            for r in range(i):
                x = tau[i] * v[r]
                for j in range(i):
                    A[r * ld + j] -= x * p[j]
        for j in range(i):
            v[j] = 0
            A[j * ld + i] = 0
        v[i] = 1


cdef inline void rotate_strip(Py_ssize_t low, Py_ssize_t high, const floating *c, const floating *s,
                              floating *U, Py_ssize_t ld, Py_ssize_t width) noexcept nogil:
    """The rotations of `rotate_rows` on the first columns; the row on its way down stays in registers."""
    cdef Py_ssize_t i, j
    cdef floating moving[SYEVD_COLUMNS]
    cdef floating next[SYEVD_COLUMNS]
    cdef floating *row
    cdef floating ci, si
    for j in range(width):
        moving[j] = U[high * ld + j]
    for i in range(high - 1, low - 1, -1):
        ci = c[i]
        si = s[i]
        row = U + i * ld
        for j in range(width):   # all is read before anything is written, so that it may go in parallel
            next[j] = row[j]
        row += ld
        for j in range(width):
            row[j] = si * next[j] + ci * moving[j]
        for j in range(width):
            moving[j] = ci * next[j] - si * moving[j]
    for j in range(width):
        U[low * ld + j] = moving[j]


cdef void rotate_rows(Py_ssize_t n, Py_ssize_t low, Py_ssize_t high, const floating *c, const floating *s,
                      floating *U, Py_ssize_t ld) noexcept nogil:
    """Rotation i, from high - 1 down to low, turns rows i and i + 1."""
    cdef Py_ssize_t j = 0
    while j + SYEVD_COLUMNS <= n:
        rotate_strip(low, high, c, s, U + j, ld, SYEVD_COLUMNS)
        j += SYEVD_COLUMNS
    if j + SYEVD_COLUMNS // 2 <= n:
        rotate_strip(low, high, c, s, U + j, ld, SYEVD_COLUMNS // 2)
        j += SYEVD_COLUMNS // 2
    while j < n:
        rotate_strip(low, high, c, s, U + j, ld, 1)
        j += 1


cdef inline bint negligible(floating e, floating above, floating below) noexcept nogil:
    """Whether a tridiagonal matrix falls apart at e, as LAPACK's steqr sees it."""
    cdef double eps = FLT_EPSILON / 2 if floating is float else DBL_EPSILON / 2
    cdef double tiny = FLT_MIN if floating is float else DBL_MIN
    return <double> e * e <= eps * fabs(above) * (eps * fabs(below)) + tiny


cdef blas_int diagonalize(Py_ssize_t n, floating *d, floating *e, floating *U, Py_ssize_t ld,
                          floating *c, floating *s) noexcept nogil:
    """The tridiagonal matrix of d and e, which becomes Wᵀ diag(d) W; U := W U. Returns 1 if it does not.

    Implicit QL: sweeps of rotations with the eigenvalue of the first 2 × 2 block nearest to its first entry
    as shift.
    """
    cdef Py_ssize_t first, last, i, low
    cdef int sweeps
    cdef floating f, g, b, p, r, inverse
    cdef double square
    for first in range(n):
        for sweeps in range(MOST_SWEEPS + 1):
            last = first
            while last < n - 1 and not negligible(e[last], d[last], d[last + 1]):
                last += 1
            if last == first:
                break
            if sweeps == MOST_SWEEPS:
                return 1
            g = (d[first + 1] - d[first]) / (2 * e[first])
            r = <floating> hypot(g, 1)
            g = d[last] - d[first] + e[first] / (g + r if g >= 0 else g - r)
            p = 0
            s[last] = c[last] = 1
            low = first
            for i in range(last - 1, first - 1, -1):
                f = s[i + 1] * e[i]
                b = c[i + 1] * e[i]
                square = <double> f * f + <double> g * g
                r = <floating> (sqrt(square) if square > 1e-280 else hypot(f, g))
                e[i + 1] = r
                if r == 0:   # the matrix has fallen apart here: the sweep ends
                    d[i + 1] -= p
                    low = i + 1
                    break
                inverse = 1 / r
                s[i] = f * inverse
                c[i] = g * inverse
                g = d[i + 1] - p
                r = (d[i] - g) * s[i] + 2 * c[i] * b
                p = s[i] * r
                d[i + 1] = g + p
                g = c[i] * r - b
            if low < last:
                rotate_rows(n, low, last, c, s, U, ld)
            if low == first:
                d[first] -= p
                e[first] = g
            e[last] = 0
    return 0


cdef void sort_rows(Py_ssize_t n, floating *d, floating *U, Py_ssize_t ld) noexcept nogil:
    """d ascending, and the rows of U with it."""
    cdef Py_ssize_t i, j, least
    cdef floating x
    for i in range(n - 1):
        least = i
        for j in range(i + 1, n):
            if d[j] < d[least]:
                least = j
        if least == i:
            continue
        x = d[i]
        d[i] = d[least]
        d[least] = x
        for j in range(n):
            x = U[i * ld + j]
            U[i * ld + j] = U[least * ld + j]
            U[least * ld + j] = x


cdef blas_int syev_small(Py_ssize_t n, floating *A, Py_ssize_t lda, floating *lam,
                         floating *work) noexcept nogil:
    """lam ascending, A := U with A = Uᵀ diag(lam) U, from the lower triangle, which must be finite; returns 1
    where the iteration does not converge. work has 3n entries.
    """
    cdef Py_ssize_t i, j
    cdef floating x, scale = scale_of(n, A, lda)
    if n == 0:
        return 0
    if scale != 1:
        for i in range(n):
            for j in range(i + 1):
                A[i * lda + j] /= scale
    mirror(True, <blas_int> n, <floating> 1, A, <blas_int> lda)
    tridiagonalize(n, A, lda, lam, work, work + n, work + 2 * n)
    for i in range(n):      # Pᵀ becomes P
        for j in range(i):
            x = A[i * lda + j]
            A[i * lda + j] = A[j * lda + i]
            A[j * lda + i] = x
    if diagonalize(n, lam, work, A, lda, work + n, work + 2 * n) != 0:
        return 1
    sort_rows(n, lam, A, lda)
    if scale != 1:
        for i in range(n):
            lam[i] *= scale
    return 0
