"""Products with a square matrix of few entries, whose places are known.

Most rows of the matrices that seasons, lags and companion forms make have one entry, 1, and hand a number on:
rows that follow each other and read columns that do are a run, and move as one block of memory.  The other
rows are multiplied entry by entry.  Nothing is conjugated.
"""

from libc.string cimport memcpy, memset

from lindiff.kernels.scalar cimport scalar

cdef struct Entries:
    # entry q of row i, for q in starts[i]:starts[i + 1], is values[q], in the column columns[q]
    Py_ssize_t n
    Py_ssize_t count   # of runs
    Py_ssize_t rest    # rows that are in none
    const Py_ssize_t *starts
    const Py_ssize_t *columns
    const Py_ssize_t *runs   # (count, 3): first row, first column, length
    const Py_ssize_t *rows   # (rest,)
    const void *values


cdef inline void add_row(Py_ssize_t width, scalar a, const scalar *X, scalar *onto) noexcept nogil:
    """onto += a X."""
    cdef Py_ssize_t k
    for k in range(width):
        onto[k] += a * X[k]


cdef inline void add_entries(const Entries *e, Py_ssize_t i, Py_ssize_t width, const scalar *X,
                             scalar *out) noexcept nogil:
    """out := row i of A X, whose rows are so wide."""
    cdef const scalar *values = <const scalar *> e.values
    cdef Py_ssize_t q
    memset(out, 0, width * sizeof(scalar))
    for q in range(e.starts[i], e.starts[i + 1]):
        add_row(width, values[q], X + e.columns[q] * width, out)


cdef inline scalar dot_entries(const Entries *e, Py_ssize_t i, const scalar *x) noexcept nogil:
    """Row i of A times x."""
    cdef const scalar *values = <const scalar *> e.values
    cdef Py_ssize_t q
    cdef scalar total = 0
    for q in range(e.starts[i], e.starts[i + 1]):
        total += values[q] * x[e.columns[q]]
    return total


cdef inline void move_runs(const Entries *e, Py_ssize_t width, const scalar *X, scalar *out) noexcept nogil:
    """The rows of out := A X that are in runs."""
    cdef Py_ssize_t _k
    cdef const Py_ssize_t *run = e.runs
    for _k in range(e.count):
        memcpy(out + run[0] * width, X + run[1] * width, run[2] * width * sizeof(scalar))
        run += 3


cdef inline void entries_times(const Entries *e, Py_ssize_t width, const scalar *X,
                               scalar *out) noexcept nogil:
    """out := A X, (n, width)."""
    cdef Py_ssize_t k
    move_runs(e, width, X, out)
    for k in range(e.rest):
        if width == 1:
            out[e.rows[k]] = dot_entries(e, e.rows[k], X)
        else:
            add_entries(e, e.rows[k], width, X, out + e.rows[k] * width)


cdef inline void entries_congruence(const Entries *e, const scalar *X, scalar *out,
                                    scalar *room) noexcept nogil:
    """out := A X Aᵀ of a symmetric X, symmetric to the last bit; `room` for a row of X."""
    cdef Py_ssize_t i, j, k, l, r, n = e.n
    cdef const Py_ssize_t *run
    for k in range(e.rest):
        i = e.rows[k]
        add_entries(e, i, n, X, room)
        move_runs(e, 1, room, out + i * n)
        for l in range(k + 1):
            j = e.rows[l]
            out[i * n + j] = dot_entries(e, j, room)
            out[j * n + i] = out[i * n + j]
    for k in range(e.count):
        run = e.runs + 3 * k
        for r in range(run[2]):
            i = run[0] + r
            move_runs(e, 1, X + (run[1] + r) * n, out + i * n)
            for l in range(e.rest):
                out[i * n + e.rows[l]] = out[e.rows[l] * n + i]
