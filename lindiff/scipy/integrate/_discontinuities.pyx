"""Where slopes jump along a solution by steps.

In each step the interpolant is followed to where the slopes bend most: x, (x + z) / 2 and z have the bend

    |f((x + z) / 2) - (f(x) + f(z)) / 2|,

of which a half of the interval has a quarter where f is smooth, a half where it has a kink, and all where it
jumps.
"""

cimport cython
cimport numpy as cnp

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fabs, fmax, fmod, isfinite
from libc.string cimport memcpy

from lindiff.scipy.integrate._slopes cimport Slopes
from lindiff.scipy.integrate._steps cimport Steps

import numpy as np

cnp.import_array()

cdef enum:
    MOST = 64  # jumps in one step that are looked at

cdef double LEAST = 1e-6    # of the slopes of a step: no jump is smaller
cdef double ROUNDED = 4e-15  # of a state: may be its rounding,
cdef double NOISE = 1e-8    # and makes no more of the slopes than this share of what they are beside
cdef double SMOOTH = 0.125  # of the bend of a step: what halves have less of is no jump
cdef double KEPT = 0.7      # of it: what has no less is no kink
cdef double NARROW = 1e-11  # of a step,
cdef double ROUNDING = 1e-14  # and of a time: rounding moves the place of a jump in a smaller interval

cdef double GOLDEN = 0.6180339887498949


cdef inline double finite(double x) noexcept:
    """The size of a number; 0 where it is not finite."""
    return fabs(x) if isfinite(x) else 0.0


@cython.final
cdef class Discontinuities:
    """Places where slopes jump along a solution.

    Parameters
    ----------
    steps : Steps
    slopes : Slopes

    Attributes
    ----------
    times : list of pairs of numbers
        Of each jump a time before and a time after, close to each other.
    """

    cdef Steps steps
    cdef Py_ssize_t n
    cdef double[::1] size, state        # of slopes in a step, and the state that is looked at
    cdef double[::1] bends              # the largest so far of each component
    cdef double[:, ::1] f               # slopes at five times: ends, middle, and the middles between
    cdef readonly list times

    def __init__(self, Steps steps, Slopes slopes):
        cdef Py_ssize_t step
        self.steps, self.n = steps, steps.n
        self.size, self.state, self.bends = np.zeros(self.n), np.zeros(self.n), np.zeros(self.n)
        self.f = np.zeros((5, self.n))
        self.times = []
        for step in range(steps.count):
            PyErr_CheckSignals()
            self.steps.open_step(step)
            self.search(slopes, step, steps.t[step], steps.t[step + 1], len(self.times) + MOST, whole=True)

    cdef int find_sizes(self, Slopes slopes, double end) except -1:
        """What slopes of a step are large beside: all of it, and what rounding of the state makes of them.

        Those at both ends and the middle are there, and the state at the end.
        """
        cdef Py_ssize_t d
        for d in range(self.n):  # by another share each, that differences do not cancel
            self.state[d] *= 1.0 + ROUNDED * (2.0 * fmod(0.3 + GOLDEN * d, 1.0) - 1.0)
        slopes.at(end, &self.state[0], &self.f[1, 0])
        for d in range(self.n):
            self.size[d] = fmax(fmax(finite(self.f[0, d]), finite(self.f[2, d])),
                                fmax(finite(self.f[4, d]), finite(self.f[1, d] - self.f[4, d]) / NOISE))
        return 0

    cdef int evaluate(self, Slopes slopes, Py_ssize_t step, double t, Py_ssize_t place) except -1:
        """The slopes at a time in a step, which go to this place."""
        self.steps.combine(step, t, &self.state[0])
        return slopes.at(t, &self.state[0], &self.f[place, 0])

    cdef int search(self, Slopes slopes, Py_ssize_t step, double begin, double end,
                    Py_ssize_t most, bint whole=False) except -1:
        """Halve a part of a step to where its slopes bend most, as long as they do; then what is on both
        sides of a jump, up to ``most`` jumps in all.  Of a ``whole`` step it finds the sizes first."""
        cdef double low = begin, high = end, middle = low + 0.5 * (high - low)
        cdef double left, right, in_left, in_right
        cdef double least = NARROW * fabs(high - low) + ROUNDING * fmax(fabs(low), fabs(high))
        if fabs(high - low) <= least or len(self.times) >= most:
            return 0
        self.evaluate(slopes, step, low, 0)
        self.evaluate(slopes, step, middle, 2)
        self.evaluate(slopes, step, high, 4)
        if whole:
            self.find_sizes(slopes, high)
        self.start_bends()
        while fabs(high - low) > least:
            left, right = low + 0.5 * (middle - low), middle + 0.5 * (high - middle)
            self.evaluate(slopes, step, left, 1)
            self.evaluate(slopes, step, right, 3)
            self.raise_bends(0)
            self.raise_bends(2)
            in_left, in_right = self.share(0, 1, 2), self.share(2, 3, 4)
            if fmax(in_left, in_right) <= SMOOTH:
                if self.share(0, 2, 4) > KEPT:  # equal jumps, one in each half
                    self.search(slopes, step, low, middle, most)
                    self.search(slopes, step, middle, high, most)
                return 0
            if in_left >= in_right:
                high, middle = middle, left
                self.move(2, 4)
                self.move(1, 2)
            else:
                low, middle = middle, right
                self.move(2, 0)
                self.move(3, 2)
        self.times.append((low, high))
        self.search(slopes, step, begin, low, most)
        return self.search(slopes, step, high, end, most)

    cdef int move(self, Py_ssize_t source, Py_ssize_t place) noexcept:
        memcpy(&self.f[place, 0], &self.f[source, 0], self.n * sizeof(double))
        return 0

    cdef double bend(self, Py_ssize_t d, Py_ssize_t low, Py_ssize_t middle, Py_ssize_t high) noexcept:
        """Of a component, beside its slopes; 0 where that is rounding."""
        cdef double size = self.size[d], bend
        if size == 0.0:
            return 0.0
        bend = fabs(self.f[middle, d] - 0.5 * (self.f[low, d] + self.f[high, d])) / size
        return bend if bend > LEAST else 0.0

    cdef int start_bends(self) noexcept:
        cdef Py_ssize_t d
        for d in range(self.n):
            self.bends[d] = self.bend(d, 0, 2, 4)
        return 0

    cdef int raise_bends(self, Py_ssize_t low) noexcept:
        """Where a half, from this place on, bends more than all before."""
        cdef Py_ssize_t d
        for d in range(self.n):
            self.bends[d] = fmax(self.bends[d], self.bend(d, low, low + 1, low + 2))
        return 0

    cdef double share(self, Py_ssize_t low, Py_ssize_t middle, Py_ssize_t high) noexcept:
        """What is left of the largest bend so far, of the component with the largest share."""
        cdef double most = 0.0
        cdef Py_ssize_t d
        for d in range(self.n):
            if self.bends[d] > 0.0:
                most = fmax(most, self.bend(d, low, middle, high) / self.bends[d])
        return most
