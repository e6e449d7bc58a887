"""The element types of kernels, and the few functions in which real and complex formulas differ.

For real types all of them compile to nothing, or to the plain operation.
"""

from libc.math cimport fabs, hypot, sqrt

ctypedef float complex complex64
ctypedef double complex complex128

ctypedef fused floating:
    float
    double

ctypedef fused scalar:
    float
    double
    complex64
    complex128


cdef inline scalar conj(scalar x) noexcept nogil:
    """x̄."""
    if scalar is complex64 or scalar is complex128:
        return x.conjugate()
    else:
        return x


cdef inline scalar conj_if(bint conjugate, scalar x) noexcept nogil:
    if scalar is complex64 or scalar is complex128:
        return x.conjugate() if conjugate else x
    else:
        return x


cdef inline scalar real(scalar x) noexcept nogil:
    """Re x, in x's own type."""
    if scalar is complex64 or scalar is complex128:
        return x.real
    else:
        return x


cdef inline double real_part(scalar x) noexcept nogil:
    """Re x, to be compared."""
    if scalar is complex64 or scalar is complex128:
        return x.real
    else:
        return x


cdef inline double absolute(scalar x) noexcept nogil:
    """|x|, without overflow."""
    if scalar is complex64 or scalar is complex128:
        return hypot(x.real, x.imag)
    else:
        return fabs(x)


cdef inline double size(scalar x) noexcept nogil:
    """|Re x| + |Im x|: what LAPACK compares pivots by."""
    if scalar is complex64 or scalar is complex128:
        return fabs(x.real) + fabs(x.imag)
    else:
        return fabs(x)


cdef inline scalar root(scalar x) noexcept nogil:
    """√x of a real x in any type."""
    if scalar is complex64:
        return <float> sqrt(x.real)
    elif scalar is complex128:
        return sqrt(x.real)
    else:
        return sqrt(x)


cdef inline scalar times_real(scalar x, scalar y) noexcept nogil:
    """x y for a real y in any type."""
    cdef scalar z = x
    if scalar is complex64 or scalar is complex128:
        z.real = x.real * y.real
        z.imag = x.imag * y.real
        return z
    else:
        return x * y


cdef inline scalar over_real(scalar x, scalar y) noexcept nogil:
    """x / y for a real y in any type."""
    cdef scalar z = x
    if scalar is complex64 or scalar is complex128:
        z.real = x.real / y.real
        z.imag = x.imag / y.real
        return z
    else:
        return x / y


cdef inline scalar reciprocal(scalar x) noexcept nogil:
    """1 / x; for complex x by Smith (1962), whose steps neither overflow nor vanish."""
    cdef scalar z = x
    if scalar is complex64 or scalar is complex128:
        if fabs(x.real) >= fabs(x.imag):
            z.real = 1 / (x.real + x.imag * (x.imag / x.real))
            z.imag = -(x.imag / x.real) * z.real
        else:
            z.imag = -1 / (x.imag + x.real * (x.real / x.imag))
            z.real = -(x.real / x.imag) * z.imag
        return z
    else:
        return 1 / x


cdef inline void divide_all(Py_ssize_t count, scalar *x, Py_ssize_t step, scalar y) noexcept nogil:
    """x := x / y for `count` entries, `step` apart."""
    cdef Py_ssize_t i
    if scalar is complex64 or scalar is complex128:
        y = reciprocal(y)
        for i in range(count):
            x[i * step] *= y
    else:
        for i in range(count):
            x[i * step] /= y


cdef inline void conjugate_all(Py_ssize_t m, Py_ssize_t n, scalar *X, Py_ssize_t ldx) noexcept nogil:
    """X := X̄ for a matrix of m rows and n columns."""
    cdef Py_ssize_t i, j
    if scalar is complex64 or scalar is complex128:
        for i in range(m):
            for j in range(n):
                X[i * ldx + j] = X[i * ldx + j].conjugate()
