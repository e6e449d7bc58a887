"""Products with a square matrix of few entries, whose places are known: rows are moved, scaled and added.

The entries of row i stand at the columns ``columns[starts[i]:starts[i + 1]]``.  A product with a matrix of w
columns costs 2w flops for each entry; an entry of 1 that is alone in its row, as in the shift of a companion
matrix or of a season, moves a row.  Nothing is conjugated.
"""

from libc.string cimport memcpy, memset

from lindiff.kernels.scalar cimport scalar


cdef inline void scale_row(Py_ssize_t width, scalar a, const scalar *X, scalar *out) noexcept nogil:
    """out := a X."""
    cdef Py_ssize_t k
    if a == 1:
        memcpy(out, X, width * sizeof(scalar))
        return
    for k in range(width):
        out[k] = a * X[k]


cdef inline void add_row(Py_ssize_t width, scalar a, const scalar *X, scalar *onto) noexcept nogil:
    """onto += a X."""
    cdef Py_ssize_t k
    for k in range(width):
        onto[k] += a * X[k]


cdef inline void entries_times_vector(Py_ssize_t n, const scalar *A, const Py_ssize_t *starts,
                                      const Py_ssize_t *columns, const scalar *x, scalar *out) noexcept nogil:
    """out := A x."""
    cdef Py_ssize_t i, q
    cdef scalar total
    for i in range(n):
        total = 0
        for q in range(starts[i], starts[i + 1]):
            total += A[i * n + columns[q]] * x[columns[q]]
        out[i] = total


cdef inline void entries_times(Py_ssize_t n, const scalar *A, const Py_ssize_t *starts,
                               const Py_ssize_t *columns, Py_ssize_t width, const scalar *X,
                               scalar *out) noexcept nogil:
    """out := A X, (n, width)."""
    cdef Py_ssize_t i, q, first, last
    for i in range(n):
        first, last = starts[i], starts[i + 1]
        if first == last:
            memset(out, 0, width * sizeof(scalar))
        else:
            scale_row(width, A[i * n + columns[first]], X + columns[first] * width, out)
        for q in range(first + 1, last):
            add_row(width, A[i * n + columns[q]], X + columns[q] * width, out)
        out += width


cdef inline void add_entries_times_lower(Py_ssize_t n, const scalar *A, const Py_ssize_t *starts,
                                         const Py_ssize_t *columns, const scalar *X,
                                         scalar *onto) noexcept nogil:
    """The lower triangle of onto += that of A X, (n, n)."""
    cdef Py_ssize_t i, q
    for i in range(n):
        for q in range(starts[i], starts[i + 1]):
            add_row(i + 1, A[i * n + columns[q]], X + columns[q] * n, onto + i * n)


cdef inline void transposed_entries_times(Py_ssize_t n, const scalar *A, const Py_ssize_t *starts,
                                          const Py_ssize_t *columns, Py_ssize_t width, const scalar *X,
                                          scalar *out) noexcept nogil:
    """out := Aᵀ X, (n, width)."""
    cdef Py_ssize_t i, q
    memset(out, 0, n * width * sizeof(scalar))
    for i in range(n):
        for q in range(starts[i], starts[i + 1]):
            add_row(width, A[i * n + columns[q]], X + i * width, out + columns[q] * width)


cdef inline void transposed_entries_times_lower(Py_ssize_t n, const scalar *A, const Py_ssize_t *starts,
                                                const Py_ssize_t *columns, const scalar *X,
                                                scalar *out) noexcept nogil:
    """The lower triangle of out := that of Aᵀ X, (n, n)."""
    cdef Py_ssize_t i, q
    memset(out, 0, n * n * sizeof(scalar))
    for i in range(n):
        for q in range(starts[i], starts[i + 1]):
            add_row(columns[q] + 1, A[i * n + columns[q]], X + i * n, out + columns[q] * n)
