"""Programs that give slopes, for solvers in compiled code."""

from libc.math cimport sqrt

from lindiff.programs.evaluating cimport Evaluator


cdef class Slopes:
    cdef readonly Evaluator evaluator
    cdef object t_array, y_array, direction_array  # which are held here
    cdef double *t
    cdef double *y
    cdef double *direction
    cdef double *result
    cdef Py_ssize_t bytes       # of a state
    cdef readonly Py_ssize_t count
    cdef int run(self) except -1
    cdef int at(self, double t, const double *y, double *found) except -1
    cdef int add_to(self, list totals) except -1


cdef double first_length(Slopes slopes, double t, double end, const double *y, const double *f, int order,
                         double rtol, const double[::1] atol, double longest) except? -1.0


cdef inline void add_scaled(double factor, const double *x, double *y, Py_ssize_t n) noexcept nogil:
    """y += factor x"""
    cdef Py_ssize_t d
    for d in range(n):
        y[d] += factor * x[d]


cdef inline bint is_zero(const double *x, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t d
    for d in range(n):
        if x[d] != 0.0:
            return False
    return True


cdef inline double norm(const double *x, const double *scale, Py_ssize_t n) noexcept nogil:
    """The root of the mean square of x / scale."""
    cdef double total = 0.0
    cdef Py_ssize_t d
    for d in range(n):
        total += (x[d] / scale[d]) ** 2
    return sqrt(total / n)
