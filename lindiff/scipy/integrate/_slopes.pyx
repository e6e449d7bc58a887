"""Programs that give slopes where solvers in compiled code want them, and how long a first step is."""

cimport cython
cimport numpy as cnp

from libc.math cimport fabs, fmax, fmin, pow
from libc.string cimport memcpy

from lindiff.programs.evaluating cimport Evaluator

import numpy as np

cnp.import_array()


@cython.final
cdef class Slopes:
    """A program that gives slopes at (t, y), or what derivatives make of it: where it finds what it is given.

    Parameters
    ----------
    evaluator : Evaluator
    t, y : ndarray
        What it is given.
    direction : ndarray, optional
        Of y, or of the slopes, for derivatives.
    """

    def __init__(self, Evaluator evaluator, cnp.ndarray t, cnp.ndarray y, cnp.ndarray direction=None):
        self.evaluator = evaluator
        self.t_array, self.y_array, self.direction_array = t, y, direction
        self.t, self.y = <double *>cnp.PyArray_BYTES(t), <double *>cnp.PyArray_BYTES(y)
        self.direction = NULL if direction is None else <double *>cnp.PyArray_BYTES(direction)
        self.result = <double *>cnp.PyArray_BYTES(<cnp.ndarray>evaluator.results[0])
        self.bytes = cnp.PyArray_NBYTES(y)
        self.count = 0

    cdef int run(self) except -1:
        self.count += 1
        return self.evaluator.run()

    cdef int at(self, double t, const double *y, double *found) except -1:
        """The slopes at a time and a state."""
        self.t[0] = t
        memcpy(self.y, y, self.bytes)
        self.run()
        memcpy(found, self.result, self.bytes)
        return 0

    def of(self, double t, y):
        """The same, as an array."""
        cdef const double[::1] state = np.ascontiguousarray(y, np.float64)
        cdef double[::1] found = np.empty(state.shape[0])
        self.at(t, &state[0], &found[0])
        return np.asarray(found)

    cdef int add_to(self, list totals) except -1:
        """Add what the program gives besides the first result to these."""
        cdef Py_ssize_t k
        cdef cnp.ndarray total, found
        for k in range(len(totals)):
            total, found = totals[k], self.evaluator.results[k + 1]
            add_scaled(1.0, <double *>cnp.PyArray_BYTES(found), <double *>cnp.PyArray_BYTES(total),
                       cnp.PyArray_SIZE(total))
        return 0


cdef double first_length(Slopes slopes, double t, double end, const double *y, const double *f, int order,
                         double rtol, const double[::1] atol, double longest) except? -1.0:
    """Of a step from y, where the slopes are f: Hairer et al., II.4, as SciPy has it."""
    cdef Py_ssize_t d, n = atol.shape[0]
    cdef double direction = 1.0 if end >= t else -1.0
    cdef double size, slope, change, h0, h1, span = fabs(end - t)
    cdef double[::1] scale = np.empty(n), difference = np.empty(n)
    if span == 0.0:
        return 0.0
    for d in range(n):
        scale[d] = atol[d] + fabs(y[d]) * rtol
    size, slope = norm(y, &scale[0], n), norm(f, &scale[0], n)
    h0 = fmin(1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope, span)
    slopes.t[0] = t + h0 * direction
    for d in range(n):
        slopes.y[d] = y[d] + h0 * direction * f[d]
    slopes.run()
    for d in range(n):
        difference[d] = slopes.result[d] - f[d]
    change = norm(&difference[0], &scale[0], n) / h0
    if slope <= 1e-15 and change <= 1e-15:
        h1 = fmax(1e-6, h0 * 1e-3)
    else:
        h1 = pow(0.01 / fmax(slope, change), 1.0 / (order + 1))
    return fmin(fmin(100.0 * h0, h1), fmin(span, longest))


def are_in_order(points, double t0, double end):
    """Whether times go from t0 towards the end, and lie between both."""
    cdef const double[::1] times
    cdef double last = t0
    cdef Py_ssize_t i
    if points.ndim != 1 or not points.size:
        return False
    times = np.ascontiguousarray(points, np.float64)
    for i in range(times.shape[0]):
        is_later = last < times[i] <= end if end > t0 else last > times[i] >= end
        if not is_later and (i > 0 or times[0] != t0):
            return False
        last = times[i]
    return True
