"""Backward differentiation formulas of orders 1 to 5: SciPy's control of steps and orders.

With backward differences D_j of the states at steps of one length h, the state after the step solves

    (1 - κ_k) γ_k (y - Σ_j D_j) = h f(t + h, y) - Σ_j γ_j D_j,    γ_j = 1 + 1/2 + ... + 1/j,

by Newton's iteration with the Jacobian of an earlier step; where h changes, the differences are those of the
interpolating polynomial at the new distances.  The error is that of the next difference.

L. F. Shampine, M. W. Reichelt (1997), The MATLAB ODE Suite, SIAM J. Sci. Comput. 18, whose κ these are;
E. Hairer, G. Wanner, Solving Ordinary Differential Equations I, III.
"""

cimport cython
cimport numpy as cnp

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, fmax, fmin, isfinite, nextafter, pow
from libc.string cimport memcpy

from lindiff.scipy.integrate._implicit cimport ImplicitSteps, newton_tolerance
from lindiff.scipy.integrate._jacobians cimport Jacobian
from lindiff.scipy.integrate._slopes cimport Slopes, add_scaled, first_length, norm

import numpy as np

cnp.import_array()

cdef enum:
    HIGHEST = 5         # order
    ROWS = HIGHEST + 3  # of differences
    ITERATIONS = 4      # of Newton's, at most

cdef double LEAST = 0.2, MOST = 10.0    # of a step beside the one before

cdef double[HIGHEST + 1] KAPPA = [0.0, -0.1850, -1.0 / 9.0, -0.0823, -0.0415, 0.0]
cdef double[HIGHEST + 1] GAMMA = [0.0, 1.0, 3.0 / 2.0, 11.0 / 6.0, 25.0 / 12.0, 137.0 / 60.0]


@cython.final
cdef class BDFSteps(ImplicitSteps):
    """The steps of the method along a solution."""

    cdef double[:, ::1] D               # differences
    cdef double[::1] y, predicted, psi, d
    cdef int order, equal               # steps of one length so far
    cdef double length, factored        # c of the factors of 1/c - J

    def __init__(self, Slopes slopes, Jacobian jacobian, Py_ssize_t n):
        ImplicitSteps.__init__(self, slopes, jacobian, n)
        self.D = np.zeros((ROWS, n))
        self.y, self.predicted, self.psi, self.d = (np.zeros(n) for _ in range(4))

    def run(self, double t0, double end, y0, points, double rtol, double[::1] atol, double longest, first):
        """Solve the problem: the states at the points, or at the ends of steps, one a row; None where steps
        come to be too short before the end."""
        cdef double direction = 1.0 if end >= t0 else -1.0
        cdef double tolerance = newton_tolerance(rtol)
        cdef double shortest, error, safety = 0.0, t = t0
        cdef double[:, ::1] rows = np.zeros((0 if points is None else len(points), self.n))
        cdef Py_ssize_t d
        self.begin_times(t0, points)
        memcpy(&self.y[0], cnp.PyArray_BYTES(<cnp.ndarray>y0), self.n * sizeof(double))
        self.slopes.at(t0, &self.y[0], &self.f[0])
        self.length = first_length(self.slopes, t0, end, &self.y[0], &self.f[0], 1, rtol, atol, longest) \
            if first is None else first
        self.find_jacobian(t0, &self.y[0])
        self.D[:] = 0.0
        for d in range(self.n):
            self.D[0, d], self.D[1, d] = self.y[d], self.f[d] * self.length * direction
        self.order, self.equal, self.is_factored = 1, 0, False
        found = [np.array(y0)]
        while direction * (t - end) < 0.0:
            PyErr_CheckSignals()
            shortest = 10.0 * fabs(nextafter(t, direction * INFINITY) - t)
            if not shortest <= self.length <= longest:
                self.scale_step(fmin(fmax(self.length, shortest), longest) / self.length)
            self.is_current = False
            while True:
                if self.length < shortest:
                    return None
                if direction * (t + direction * self.length - end) > 0.0:
                    self.scale_step(fabs(end - t) / self.length)
                    self.is_factored = False
                    self.t[self.count + 1] = end
                else:
                    self.t[self.count + 1] = t + direction * self.length
                self.length = fabs(self.t[self.count + 1] - t)
                if not self.find_state(self.t[self.count + 1], self.t[self.count + 1] - t, rtol, atol,
                                       tolerance):
                    self.scale_step(0.5)
                    self.is_factored = False
                    continue
                safety = 0.9 * (2 * ITERATIONS + 1) / (2 * ITERATIONS + self.iterations)
                for d in range(self.n):
                    self.scale[d] = atol[d] + rtol * fabs(self.y[d])
                error = error_constant(self.order) * norm(&self.d[0], &self.scale[0], self.n)
                if error <= 1.0:
                    break
                self.scale_step(fmax(LEAST, safety * pow(error, -1.0 / (self.order + 1))))
            self.accept()
            if self.equal > self.order:
                self.choose_order(error, safety)
            self.interpolate(rows, direction)
            self.end_step()
            t = self.t[self.count]
            if points is None:
                found.append(np.array(self.y))
        return np.array(found) if points is None else np.asarray(rows)

    cdef int scale_step(self, double factor) noexcept:
        """Change the length of a step, and the differences with it."""
        cdef double[HIGHEST + 1][HIGHEST + 1] R, U, RU
        cdef double[HIGHEST + 1] column
        cdef Py_ssize_t d
        cdef int i, j, k, last = self.order
        changes(last, factor, R)
        changes(last, 1.0, U)
        for i in range(last + 1):
            for j in range(last + 1):
                RU[i][j] = 0.0
                for k in range(last + 1):
                    RU[i][j] += R[i][k] * U[k][j]
        for d in range(self.n):
            for j in range(last + 1):
                column[j] = self.D[j, d]
            for j in range(last + 1):
                self.D[j, d] = 0.0
                for i in range(last + 1):
                    self.D[j, d] += column[i] * RU[i][j]
        self.length *= factor
        self.equal = 0
        return 0

    cdef bint find_state(self, double t, double h, double rtol, const double[::1] atol,
                         double tolerance) except -1:
        """Newton's iteration, with a new Jacobian if it does not converge with an old one; whether it has."""
        cdef Py_ssize_t d
        cdef int j
        cdef double alpha = (1.0 - KAPPA[self.order]) * GAMMA[self.order]
        cdef double c = h / alpha
        for d in range(self.n):
            self.predicted[d] = self.D[0, d]
            self.psi[d] = 0.0
        for j in range(1, self.order + 1):
            add_scaled(1.0, &self.D[j, 0], &self.predicted[0], self.n)
            add_scaled(GAMMA[j] / alpha, &self.D[j, 0], &self.psi[0], self.n)
        for d in range(self.n):
            self.scale[d] = atol[d] + rtol * fabs(self.predicted[d])
        while True:
            if not self.is_factored:
                self.jacobian.factor(1.0 / c)
                self.factorizations += 1
                self.is_factored, self.factored = True, c
            if self.iterate(t, c, tolerance):
                return True
            if self.is_current:
                return False
            self.find_jacobian(t, &self.predicted[0])
            self.is_current, self.is_factored = True, False

    cdef bint iterate(self, double t, double c, double tolerance) except -1:
        """Newton's iteration for the state and its distance d from what is predicted."""
        cdef Py_ssize_t i, k
        cdef double size, rate = -1.0, before = -1.0
        memcpy(&self.y[0], &self.predicted[0], self.n * sizeof(double))
        self.d[:] = 0.0
        for k in range(ITERATIONS):
            self.iterations = <int>k + 1
            self.slopes.at(t, &self.y[0], &self.f[0])
            for i in range(self.n):
                if not isfinite(self.f[i]):
                    return False
                self.change[i] = (c * self.f[i] - self.psi[i] - self.d[i]) / self.factored
            self.jacobian.solve(&self.change[0])
            size = norm(&self.change[0], &self.scale[0], self.n)
            if before >= 0.0:
                rate = size / before
                if rate >= 1.0 or pow(rate, ITERATIONS - k) / (1.0 - rate) * size > tolerance:
                    return False
            add_scaled(1.0, &self.change[0], &self.y[0], self.n)
            add_scaled(1.0, &self.change[0], &self.d[0], self.n)
            if size == 0.0 or rate >= 0.0 and rate / (1.0 - rate) * size < tolerance:
                return True
            before = size
        return False

    cdef int accept(self) noexcept:
        """The differences at the new state."""
        cdef Py_ssize_t d
        cdef int j
        self.equal += 1
        for d in range(self.n):
            self.D[self.order + 2, d] = self.d[d] - self.D[self.order + 1, d]
            self.D[self.order + 1, d] = self.d[d]
        for j in range(self.order, -1, -1):
            add_scaled(1.0, &self.D[j + 1, 0], &self.D[j, 0], self.n)
        return 0

    cdef int choose_order(self, double error, double safety) noexcept:
        """The order, next to this one, that makes the longest step, and this step."""
        cdef double lower = 0.0, higher = 0.0, same, most
        cdef int order = self.order
        if order > 1:
            lower = step_factor(error_constant(order - 1) * norm(&self.D[order, 0], &self.scale[0], self.n),
                                order)
        same = step_factor(error, order + 1)
        if order < HIGHEST:
            higher = step_factor(
                error_constant(order + 1) * norm(&self.D[order + 2, 0], &self.scale[0], self.n), order + 2
            )
        most = fmax(lower, fmax(same, higher))
        if lower == most:
            self.order -= 1
        elif same != most:
            self.order += 1
        self.scale_step(fmin(MOST, safety * most))
        self.is_factored = False
        return 0

    cdef int interpolate(self, double[:, ::1] rows, double direction) except -1:
        """The polynomial through the last states, at the points in the step."""
        cdef Py_ssize_t p = self.first_point[self.count]
        cdef double h = direction * self.length, t = self.t[self.count + 1], product
        cdef int j
        while self.has_point(p):
            add_scaled(1.0, &self.D[0, 0], &rows[p, 0], self.n)
            product = 1.0
            for j in range(self.order):
                product *= (self.points[p] - (t - h * j)) / (h * (1 + j))
                add_scaled(product, &self.D[j + 1, 0], &rows[p, 0], self.n)
            p += 1
        self.first_point[self.count + 1] = p
        return 0


cdef double error_constant(int order) noexcept nogil:
    """Of the next difference: the error of a step."""
    return KAPPA[order] * GAMMA[order] + 1.0 / (order + 1)


cdef double step_factor(double error, int order) noexcept nogil:
    return INFINITY if error == 0.0 else pow(error, -1.0 / order)


cdef void changes(int order, double factor, double[HIGHEST + 1][HIGHEST + 1] R) noexcept nogil:
    """Of differences for steps that are longer by this factor: Shampine and Reichelt, 2.2."""
    cdef int i, j
    for j in range(order + 1):
        R[0][j] = 1.0
        for i in range(1, order + 1):
            R[i][j] = 0.0 if j == 0 else R[i - 1][j] * (i - 1 - factor * j) / i
