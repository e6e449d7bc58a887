"""Solves with a triangle on the right of many rows, in float64.

BLAS is made for long columns.  Of row-major matrices with some ten to some hundred columns, OpenBLAS's trsm
does a fourth to a half of the operations a second that its gemm does; the loops of `trsm_rows.h` do two
thirds or more.  The triangle is laid out for them once, and rows are shared among threads.
"""

from libc.math cimport fabs
from libc.stdlib cimport free, malloc

from lindiff.kernels.sizes cimport MOST_THREADS
from lindiff.kernels.threads cimport run_tasks, threads_for

cdef extern from "trsm_rows.h" nogil:
    bint has_row_solves()
    void solve_rows(bint forward, Py_ssize_t m, Py_ssize_t n, double alpha, const double *T, Py_ssize_t ldt,
                    const double *reciprocals, double *B, Py_ssize_t ldb)


cdef bint is_able = has_row_solves()
cdef double FLOPS_A_NANOSECOND = 20
cdef double LEAST_PIVOT = 1e-300, LARGEST_PIVOT = 1e300   # whose reciprocals have all their digits


cdef struct Rows:
    bint forward
    Py_ssize_t m, n, ldt, ldb
    double alpha
    const double *T
    const double *reciprocals
    double *B


cdef void solve(void *task) noexcept nogil:
    cdef Rows *rows = <Rows *> task
    solve_rows(rows.forward, rows.m, rows.n, rows.alpha, rows.T, rows.ldt, rows.reciprocals, rows.B, rows.ldb)


cdef bint trsm_rows(bint lower, bint transposed, bint unit, Py_ssize_t m, Py_ssize_t n, double alpha,
                    const double *L, Py_ssize_t ldl, double *B, Py_ssize_t ldb) noexcept nogil:
    """B := alpha B op(L)⁻¹ for B (m, n); False, and nothing is changed, where BLAS has to do it."""
    cdef Py_ssize_t ldt = (n + 3) // 4 * 4, row = 1 if transposed else ldl, column = ldl if transposed else 1
    cdef bint forward = lower == transposed   # op(L) is upper, and the first column of the result comes first
    cdef double *T
    if not is_able:
        return False
    if ldt % 16 == 0:   # rows a power of two apart are in each other's place in the cache
        ldt += 4
    T = <double *> malloc((n + 1) * ldt * sizeof(double))
    if T == NULL:
        return False
    if reciprocals_of(unit, n, L, ldl, T + n * ldt):
        strict(forward, n, L, row, column, T, ldt)
        share(forward, m, n, alpha, T, ldt, B, ldb)
        free(T)
        return True
    free(T)
    return False


cdef bint reciprocals_of(bint unit, Py_ssize_t n, const double *L, Py_ssize_t ldl,
                         double *reciprocals) noexcept nogil:
    """Of the diagonal; False if one of them has not all its digits."""
    cdef Py_ssize_t i
    for i in range(n):
        reciprocals[i] = 1
        if not unit:
            if not LEAST_PIVOT < fabs(L[i * (ldl + 1)]) < LARGEST_PIVOT:
                return False
            reciprocals[i] = 1 / L[i * (ldl + 1)]
    return True


cdef void strict(bint upper, Py_ssize_t n, const double *L, Py_ssize_t row, Py_ssize_t column, double *T,
                 Py_ssize_t ldt) noexcept nogil:
    """T := the named triangle of op(L), whose entries lie `row` and `column` apart, without its diagonal."""
    cdef Py_ssize_t i, j
    for i in range(n):
        for j in range(ldt):
            T[i * ldt + j] = L[i * row + j * column] if j < n and (j > i if upper else j < i) else 0


cdef void share(bint forward, Py_ssize_t m, Py_ssize_t n, double alpha, const double *T, Py_ssize_t ldt,
                double *B, Py_ssize_t ldb) noexcept nogil:
    """Solve for the rows, some in each thread."""
    cdef Rows rows[MOST_THREADS]
    cdef Py_ssize_t begin
    cdef int i, count = threads_for(<double> m * n * n / FLOPS_A_NANOSECOND)
    for i in range(count):
        begin = m * i // count
        rows[i] = Rows(forward, m * (i + 1) // count - begin, n, ldt, ldb, alpha, T, T + n * ldt,
                       B + begin * ldb)
    run_tasks(solve, <char *> rows, sizeof(Rows), count)
