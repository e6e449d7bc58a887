"""Where the steps of a solution begin and end, and which of the times asked for lie in them."""

cimport numpy as cnp

from libc.math cimport fabs, fmax

from lindiff.scipy.integrate._slopes cimport norm

import numpy as np

cnp.import_array()

cdef enum:
    FEWEST = 16  # steps that there is room for

cdef double REST = 1e-10  # of what is allowed: with a smaller error next to nothing happens


cdef class Steps:
    """The steps that a method takes along a solution.

    Parameters
    ----------
    slopes : Slopes
    n : int
        Numbers in a state.

    Attributes
    ----------
    longest_at_rest : float
        The length of the longest step in which the state did not move, which says nothing of how fast its
        derivatives do.
    """

    def __init__(self, Slopes slopes, Py_ssize_t n):
        self.slopes, self.n = slopes, n

    @property
    def times(self):
        """Where steps begin, and the last one ends."""
        return np.array(self.t[:self.count + 1])

    @property
    def evaluations(self):
        """Of the slopes so far."""
        return self.slopes.count

    cdef int begin_times(self, double t0, points) except -1:
        self.points = None if points is None else np.array(points, np.float64)
        self.count, self.longest_at_rest = 0, 0.0
        self.t, self.first_point = np.empty(FEWEST), np.zeros(FEWEST, np.intp)
        self.t[0] = t0
        return 0

    cdef bint has_point(self, Py_ssize_t p) noexcept:
        """Whether the solution is asked for at a point of this number, which is not beyond the step."""
        if self.points is None or p >= self.points.shape[0]:
            return False
        if self.t[self.count + 1] > self.t[self.count]:
            return self.points[p] <= self.t[self.count + 1]
        return self.points[p] >= self.t[self.count + 1]

    cdef bint rests(self, double error, const double *change, const double *scale) noexcept:
        """Whether next to nothing happens in a step, by its error beside what is allowed; before it ends.

        ``change`` is that of the state.
        """
        if error >= REST:
            return False
        if norm(change, scale, self.n) < REST:
            self.longest_at_rest = fmax(self.longest_at_rest,
                                        fabs(self.t[self.count + 1] - self.t[self.count]))
        return True

    cdef int end_step(self) except -1:
        """Let the next step begin, and have room for its end."""
        self.count += 1
        if self.count + 1 == self.t.shape[0]:
            self.t = np.concatenate([self.t, np.empty_like(self.t)])
            self.first_point = np.concatenate([self.first_point, np.empty_like(self.first_point)])
        return 0

    cdef Py_ssize_t step_of(self, double t) except -1:
        """The number of the step in which a time lies."""
        cdef double sign = 1.0 if self.t[self.count] > self.t[0] else -1.0
        return min(max(np.searchsorted(sign * self.times, sign * t) - 1, 0), self.count - 1)

    cdef int open_step(self, Py_ssize_t step) except -1:
        """Have what the interpolant of a step needs."""
        raise NotImplementedError

    cdef int combine(self, Py_ssize_t step, double t, double *found) noexcept:
        """The interpolant of a step, at a time in it."""
        return -1

    def at(self, double t):
        """The solution at a time between."""
        cdef double[::1] found = np.zeros(self.n)
        cdef Py_ssize_t step = self.step_of(t)
        self.open_step(step)
        self.combine(step, t, &found[0])
        return np.array(found)
