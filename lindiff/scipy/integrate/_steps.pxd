"""What the steps of all methods have in common, for those of each one."""

from lindiff.scipy.integrate._slopes cimport Slopes


cdef class Steps:
    cdef Slopes slopes
    cdef Py_ssize_t n, count            # of a state, and of the steps so far
    cdef double[::1] t                  # where steps begin, and end
    cdef double[::1] points             # where the solution is asked for; None where at the ends of steps
    cdef Py_ssize_t[::1] first_point    # of each step
    cdef readonly double longest_at_rest
    cdef int begin_times(self, double t0, points) except -1
    cdef bint rests(self, double error, const double *change, const double *scale) noexcept
    cdef int end_step(self) except -1
    cdef bint has_point(self, Py_ssize_t p) noexcept
    cdef Py_ssize_t step_of(self, double t) except -1
    cdef int open_step(self, Py_ssize_t step) except -1
    cdef int combine(self, Py_ssize_t step, double t, double *found) noexcept
