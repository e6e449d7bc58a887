"""Radau IIA, the implicit Runge-Kutta method of order 5: SciPy's control of steps, and their derivatives.

The stages Z of a step of length h from (t, y) solve Z_i = h Σ_j a_ij f(t + c_j h, y + Z_j); the new state is
y + Z_3, the interpolant y + Σ w_i(x) Z_i at t + x h.  Newton's iteration has one Jacobian J for all stages,
and works on T⁻¹ Z, in which it is one real and one complex system, μ/h - J.

Derivatives are those of the equations, with the Jacobians J_j at the stages: with M = 1 - h (a_ij J_j),

    M dZ = h A (J_j dy + ∂f/∂p dp),    Mᵀ μ = Z̄,  f̄_j = h Σ_i a_ij μ_i.

Hairer, Wanner, Solving Ordinary Differential Equations II, IV.8.
"""

cimport cython
cimport numpy as cnp

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, fmax, fmin, isfinite, nextafter, pow, sqrt
from libc.string cimport memcpy, memset

from lindiff.scipy.integrate._implicit cimport ImplicitSteps, newton_tolerance
from lindiff.scipy.integrate._jacobians cimport STAGES, Jacobian
from lindiff.scipy.integrate._slopes cimport Slopes, add_scaled, first_length, is_zero, norm

import numpy as np

cnp.import_array()

cdef enum:
    ITERATIONS = 6   # of Newton's, at most
    ORDER = 3        # of the estimate of the error

cdef double LEAST = 0.2, MOST = 10.0    # of a step beside the one before
cdef double WORTH = 1.2                 # by which a longer step pays for new factors
cdef double SLOW = 1e-3                 # convergence at which the Jacobian is computed anew

cdef double ROOT = sqrt(6.0)
cdef double THIRD = pow(3.0, 1.0 / 3.0)
cdef double MU = 3.0 + THIRD * THIRD - THIRD
cdef double complex MU_COMPLEX = 3.0 + 0.5 * (THIRD - THIRD * THIRD) \
    - 0.5j * (pow(3.0, 5.0 / 6.0) + pow(3.0, 7.0 / 6.0))

cdef double[3] C = [(4.0 - ROOT) / 10.0, (4.0 + ROOT) / 10.0, 1.0]
cdef double[3] E = [(-13.0 - 7.0 * ROOT) / 3.0, (-13.0 + 7.0 * ROOT) / 3.0, -1.0 / 3.0]
cdef double[3][3] A = [
    [(88.0 - 7.0 * ROOT) / 360.0, (296.0 - 169.0 * ROOT) / 1800.0, (-2.0 + 3.0 * ROOT) / 225.0],
    [(296.0 + 169.0 * ROOT) / 1800.0, (88.0 + 7.0 * ROOT) / 360.0, (-2.0 - 3.0 * ROOT) / 225.0],
    [(16.0 - ROOT) / 36.0, (16.0 + ROOT) / 36.0, 1.0 / 9.0],
]
cdef double[3][3] W = [
    [13.0 / 3.0 + 7.0 * ROOT / 3.0, -23.0 / 3.0 - 22.0 * ROOT / 3.0, 10.0 / 3.0 + 5.0 * ROOT],
    [13.0 / 3.0 - 7.0 * ROOT / 3.0, -23.0 / 3.0 + 22.0 * ROOT / 3.0, 10.0 / 3.0 - 5.0 * ROOT],
    [1.0 / 3.0, -8.0 / 3.0, 10.0 / 3.0],
]
# Of the inverse of A: its eigenvectors, and their inverse.
cdef double[3][3] T = [
    [0.09443876248897524, -0.14125529502095421, 0.03002919410514742],
    [0.25021312296533332, 0.20412935229379994, -0.38294211275726192],
    [1.0, 1.0, 0.0],
]
cdef double[3][3] T_INVERSE = [
    [4.17871859155190428, 0.32768282076106237, 0.52337644549944951],
    [-4.17871859155190428, -0.32768282076106237, 0.47662355450055044],
    [0.50287263494578682, -2.57192694985560522, 0.59603920482822492],
]


@cython.final
cdef class RadauSteps(ImplicitSteps):
    """The steps of the method along a solution, and their derivatives.

    Memory: of each step its state and stages, 4n numbers, besides what the Jacobian takes.
    """

    cdef Py_ssize_t room                # of these numbers of steps:
    cdef double[::1] Y, Z               # the states in which they begin, and their stages
    cdef double[::1] error_of, slopes_of, stages_of
    cdef double complex[::1] change_of_two
    cdef double[::1] right              # of the equations for the derivatives of a step
    cdef double rate

    def __init__(self, Slopes slopes, Jacobian jacobian, Py_ssize_t n):
        ImplicitSteps.__init__(self, slopes, jacobian, n)
        self.error_of = np.zeros(n)
        self.slopes_of, self.stages_of, self.right = (np.zeros(STAGES * n) for _ in range(3))
        self.change_of_two = np.zeros(n, np.complex128)

    # Forward.

    def run(self, double t0, double end, y0, points, double rtol, double[::1] atol, double longest, first):
        """Solve the problem: the states at the points, or at the ends of steps, one a row; None where steps
        come to be too short before the end."""
        cdef double direction = 1.0 if end >= t0 else -1.0
        cdef double tolerance = newton_tolerance(rtol)
        cdef double length, before, error_before, shortest, trial, t = t0, h, error, factor, safety
        cdef bint rejected
        cdef double[:, ::1] rows = np.zeros((0 if points is None else len(points), self.n))
        self.begin_times(t0, points)
        self.room = 0
        self.make_room(1)
        memcpy(self.state(0), cnp.PyArray_BYTES(<cnp.ndarray>y0), self.n * sizeof(double))
        self.slopes.at(t0, self.state(0), &self.f[0])
        length = first_length(self.slopes, t0, end, self.state(0), &self.f[0], ORDER, rtol, atol, longest) \
            if first is None else first
        before = error_before = -1.0  # not known
        self.find_jacobian(t0, self.state(0))
        self.is_factored, self.is_current = False, True
        found = [np.array(y0)]
        while direction * (t - end) < 0.0:
            PyErr_CheckSignals()
            shortest = 10.0 * fabs(nextafter(t, direction * INFINITY) - t)
            if not shortest <= length <= longest:
                length = fmin(fmax(length, shortest), longest)
                before = error_before = -1.0
            trial = length
            rejected = False
            while True:
                if length < shortest:
                    return None
                self.t[self.count + 1] = t + direction * length
                if direction * (self.t[self.count + 1] - end) > 0.0:
                    self.t[self.count + 1] = end
                h = self.t[self.count + 1] - t
                length = fabs(h)
                if not self.find_stages(t, h, rtol, atol, tolerance):
                    length *= 0.5
                    self.is_factored = False
                    continue
                error = self.error(t, h, rtol, atol, rejected)
                safety = 0.9 * (2 * ITERATIONS + 1) / (2 * ITERATIONS + self.iterations)
                factor = safety * predicted(length, before, error, error_before)
                if error <= 1.0:
                    break
                length *= fmax(LEAST, factor)
                self.is_factored = False
                rejected = True
            before, error_before = trial, error
            self.rests(error, self.stages(self.count) + 2 * self.n, &self.scale[0])
            length = self.prepare_next(length, factor)
            self.interpolate(rows)
            self.end_step()
            t = self.t[self.count]
            if points is None:
                found.append(np.array(<double[:self.n]>self.state(self.count)))
        return np.array(found) if points is None else np.asarray(rows)

    cdef double *state(self, Py_ssize_t step) noexcept:
        return &self.Y[0] + step * self.n

    cdef double *stages(self, Py_ssize_t step) noexcept:
        return &self.Z[0] + step * STAGES * self.n

    cdef int make_room(self, Py_ssize_t count) except -1:
        """For the state after so many steps."""
        cdef Py_ssize_t more = max(self.room, 16)
        if count < self.room:
            return 0
        if self.room == 0:
            self.Y, self.Z = np.zeros(0), np.zeros(0)
        self.Y = np.concatenate([self.Y, np.zeros(more * self.n)])
        self.Z = np.concatenate([self.Z, np.zeros(more * STAGES * self.n)])
        self.room += more
        return 0

    cdef int factor(self, double h) except -1:
        """Those of μ/h - J."""
        self.jacobian.factor(MU / h)
        self.jacobian.factor_complex(MU_COMPLEX / h)
        self.factorizations += 2
        self.is_factored = True
        return 0

    cdef bint find_stages(self, double t, double h, double rtol, const double[::1] atol,
                          double tolerance) except -1:
        """Newton's iteration, with a new Jacobian if it does not converge with an old one; whether it has."""
        cdef Py_ssize_t d
        cdef const double *y = self.state(self.count)
        cdef double[::1] start = np.zeros(STAGES * self.n)
        self.extrapolate(t, h, &start[0])
        for d in range(self.n):
            self.scale[d] = atol[d] + fabs(y[d]) * rtol
        while True:
            if not self.is_factored:
                self.factor(h)
            memcpy(self.stages(self.count), &start[0], STAGES * self.n * sizeof(double))
            if self.iterate(t, h, y, self.stages(self.count), tolerance):
                return True
            if self.is_current:
                return False
            self.find_jacobian(t, y)
            self.is_current, self.is_factored = True, False

    cdef int extrapolate(self, double t, double h, double *Z) noexcept:
        """First stages, by the interpolant of the step before."""
        cdef Py_ssize_t i, d
        cdef const double *y = self.state(self.count)
        if self.count == 0:
            return 0
        for i in range(STAGES):
            self.combine(self.count - 1, t + C[i] * h, Z + i * self.n)
            for d in range(self.n):
                Z[i * self.n + d] -= y[d]
        return 0

    cdef bint iterate(self, double t, double h, const double *y, double *Z, double tolerance) except -1:
        """Newton's iteration for the stages, in V = T⁻¹ Z."""
        cdef Py_ssize_t i, d, k, n = self.n
        cdef double *V = &self.stages_of[0]
        cdef double size, before = -1.0
        transform(T_INVERSE, Z, V, n)
        self.rate = -1.0
        for k in range(ITERATIONS):
            self.iterations = <int>k + 1
            for i in range(STAGES):
                for d in range(n):
                    self.error_of[d] = y[d] + Z[i * n + d]
                self.slopes.at(t + C[i] * h, &self.error_of[0], &self.slopes_of[i * n])
            for d in range(STAGES * n):
                if not isfinite(self.slopes_of[d]):
                    return False
            size = self.correct(h, V)
            if before >= 0.0:
                self.rate = size / before
                if self.rate >= 1.0 or self.rate ** (ITERATIONS - k) / (1.0 - self.rate) * size > tolerance:
                    return False
            for d in range(n):
                V[d] += self.change[d]
                V[n + d] += self.change_of_two[d].real
                V[2 * n + d] += self.change_of_two[d].imag
            transform(T, V, Z, n)
            if size == 0.0 or self.rate >= 0.0 and self.rate / (1.0 - self.rate) * size < tolerance:
                return True
            before = size
        return False

    cdef double correct(self, double h, const double *V) except -1.0:
        """Solve for the change of V; its size."""
        cdef Py_ssize_t d, n = self.n
        cdef const double *F = &self.slopes_of[0]
        cdef double total = 0.0
        for d in range(n):
            self.change[d] = T_INVERSE[0][0] * F[d] + T_INVERSE[0][1] * F[n + d] \
                + T_INVERSE[0][2] * F[2 * n + d] - MU / h * V[d]
            self.change_of_two[d] = T_INVERSE[1][0] * F[d] + T_INVERSE[1][1] * F[n + d] \
                + T_INVERSE[1][2] * F[2 * n + d] \
                + 1j * (T_INVERSE[2][0] * F[d] + T_INVERSE[2][1] * F[n + d]
                        + T_INVERSE[2][2] * F[2 * n + d]) \
                - MU_COMPLEX / h * (V[n + d] + 1j * V[2 * n + d])
        self.jacobian.solve(&self.change[0])
        self.jacobian.solve_complex(&self.change_of_two[0])
        for d in range(n):
            total += (self.change[d] / self.scale[d]) ** 2
            total += (self.change_of_two[d].real / self.scale[d]) ** 2
            total += (self.change_of_two[d].imag / self.scale[d]) ** 2
        return sqrt(total / (STAGES * n))

    cdef double error(self, double t, double h, double rtol, const double[::1] atol,
                      bint rejected) except? -1.0:
        """The estimate of a step's error beside what is allowed, after another one more carefully."""
        cdef Py_ssize_t d, n = self.n
        cdef const double *y = self.state(self.count)
        cdef const double *Z = self.stages(self.count)
        cdef double size
        for d in range(n):
            self.scale[d] = atol[d] + fmax(fabs(y[d]), fabs(y[d] + Z[2 * n + d])) * rtol
        size = self.estimated(h, &self.f[0])
        if rejected and size > 1.0:
            for d in range(n):
                self.change[d] = y[d] + self.error_of[d]
            self.slopes.at(t, &self.change[0], &self.slopes_of[0])
            size = self.estimated(h, &self.slopes_of[0])
        return size

    cdef double estimated(self, double h, const double *f) except -1.0:
        """Of (μ/h - J)⁻¹ (f + Σ e_i Z_i / h)."""
        cdef Py_ssize_t i, n = self.n
        memcpy(&self.error_of[0], f, n * sizeof(double))
        for i in range(STAGES):
            add_scaled(E[i] / h, self.stages(self.count) + i * n, &self.error_of[0], n)
        self.jacobian.solve(&self.error_of[0])
        return norm(&self.error_of[0], &self.scale[0], n)

    cdef double prepare_next(self, double length, double factor) except? -1.0:
        """The new state, its slopes and, after slow iterations, their Jacobian; how long the next step is."""
        cdef Py_ssize_t d, n = self.n
        cdef double t = self.t[self.count + 1]
        cdef bint is_slow = self.iterations > 2 and self.rate > SLOW
        cdef double *y
        self.make_room(self.count + 1)
        y = self.state(self.count + 1)
        for d in range(n):
            y[d] = self.state(self.count)[d] + self.stages(self.count)[2 * n + d]
        self.slopes.at(t, y, &self.f[0])
        factor = fmin(MOST, factor)
        if not is_slow and factor < WORTH:
            factor = 1.0
        else:
            self.is_factored = False
        if is_slow:
            self.find_jacobian(t, y)
        self.is_current = is_slow
        return length * factor

    cdef int interpolate(self, double[:, ::1] rows) except -1:
        """The solution at the points in the step."""
        cdef Py_ssize_t p = self.first_point[self.count]
        while self.has_point(p):
            self.combine(self.count, self.points[p], &rows[p, 0])
            p += 1
        self.first_point[self.count + 1] = p
        return 0

    cdef int combine(self, Py_ssize_t step, double t, double *found) noexcept:
        """y + Σ w_i(x) Z_i."""
        cdef double weights[STAGES]
        cdef Py_ssize_t i
        self.weights(step, t, weights)
        memcpy(found, self.state(step), self.n * sizeof(double))
        for i in range(STAGES):
            add_scaled(weights[i], self.stages(step) + i * self.n, found, self.n)
        return 0

    cdef int weights(self, Py_ssize_t step, double t, double *w) noexcept:
        cdef double x = (t - self.t[step]) / (self.t[step + 1] - self.t[step])
        cdef Py_ssize_t i
        for i in range(STAGES):
            w[i] = x * (W[i][0] + x * (W[i][1] + x * W[i][2]))
        return 0

    cdef int open_step(self, Py_ssize_t step) except -1:
        return 0

    # Derivatives.

    cdef int state_at_stage(self, Py_ssize_t step, Py_ssize_t i, double *found) noexcept:
        cdef const double *y = self.state(step)
        cdef const double *Z = self.stages(step) + i * self.n
        cdef Py_ssize_t d
        for d in range(self.n):
            found[d] = y[d] + Z[d]
        return 0

    cdef int at_stage(self, Slopes slopes, Py_ssize_t step, Py_ssize_t i) noexcept:
        """Give ``slopes`` the time and the state of a stage."""
        slopes.t[0] = self.t[step] + C[i] * (self.t[step + 1] - self.t[step])
        return self.state_at_stage(step, i, slopes.y)

    cdef int equations(self, Py_ssize_t step) except -1:
        """The factors of M = 1 - h (a_ij J_j)."""
        cdef Py_ssize_t i, j, grown = -1
        cdef double h = self.t[step + 1] - self.t[step]
        cdef double factors[STAGES]
        while grown != self.jacobian.grown:  # else M has no room for all entries
            grown = self.jacobian.grown
            self.jacobian.begin_stages()
            for j in range(STAGES):
                self.state_at_stage(step, j, &self.error_of[0])
                self.jacobian.find(self.t[step] + C[j] * h, &self.error_of[0])
                if grown != self.jacobian.grown:
                    break
                for i in range(STAGES):
                    factors[i] = h * A[i][j]
                self.jacobian.put_stage(j, factors)
        self.jacobian.factor_stages()
        return 0

    def pull(self, Slopes back, rows_bar):
        """The cotangents of the first state, and of the parameters, for those of the states that were found.

        ``back`` gives those of a state and of the parameters for one of the slopes.
        """
        cdef double[:, ::1] Y_bar = np.ascontiguousarray(rows_bar, np.float64)
        cdef double[::1] y_bar = np.zeros(self.n)
        cdef list totals = [np.zeros_like(x) for x in back.evaluator.results[1:]]
        cdef Py_ssize_t step
        for step in range(self.count - 1, -1, -1):
            PyErr_CheckSignals()
            if self.points is None:
                add_scaled(1.0, &Y_bar[step + 1, 0], &y_bar[0], self.n)
            self.pull_step(back, step, &y_bar[0], Y_bar, totals)
        if self.points is None:
            add_scaled(1.0, &Y_bar[0, 0], &y_bar[0], self.n)
        return np.array(y_bar), totals

    cdef int pull_step(self, Slopes back, Py_ssize_t step, double *y_bar, double[:, ::1] Y_bar,
                       list totals) except -1:
        """From the cotangent of the new state to that of the one in which the step begins."""
        cdef double h = self.t[step + 1] - self.t[step]
        cdef double weights[STAGES]
        cdef double *Z_bar = &self.right[0]
        cdef Py_ssize_t i, j, p, n = self.n
        memset(Z_bar, 0, STAGES * n * sizeof(double))
        memcpy(Z_bar + 2 * n, y_bar, n * sizeof(double))
        for p in range(self.first_point[step], self.first_point[step + 1]):
            self.weights(step, self.points[p], weights)
            add_scaled(1.0, &Y_bar[p, 0], y_bar, n)
            for i in range(STAGES):
                add_scaled(weights[i], &Y_bar[p, 0], Z_bar + i * n, n)
        if is_zero(Z_bar, STAGES * n):
            return 0
        self.equations(step)
        self.jacobian.solve_stages(True, Z_bar)
        for j in range(STAGES):
            self.at_stage(back, step, j)
            memset(back.direction, 0, n * sizeof(double))
            for i in range(STAGES):
                add_scaled(h * A[i][j], Z_bar + i * n, back.direction, n)
            back.run()
            add_scaled(1.0, back.result, y_bar, n)
            back.add_to(totals)
        return 0

    def push(self, Slopes along, first_dot):
        """The tangents of the states that were found for that of the first one.

        ``along`` gives that of the slopes for one of a state; those of the parameters it has already.
        """
        cdef double[::1] y_dot = np.array(first_dot, np.float64)
        cdef double[:, ::1] Y_dot = np.zeros((0 if self.points is None else len(self.points), self.n))
        cdef Py_ssize_t step
        found = [np.array(y_dot)]
        for step in range(self.count):
            PyErr_CheckSignals()
            self.push_step(along, step, &y_dot[0], Y_dot)
            found.append(np.array(y_dot))
        return np.array(found) if self.points is None else np.asarray(Y_dot)

    def put_beside_tangents(self, Slopes along, first_dot, RadauSteps both):
        """Let ``both``, of the state beside its tangent, take these steps, from what `push` is given."""
        cdef double[::1] y_dot = np.array(first_dot, np.float64)
        cdef double[:, ::1] Y_dot = np.zeros((0 if self.points is None else len(self.points), self.n))
        cdef Py_ssize_t step, i, n = self.n
        cdef double *stage
        both.begin_times(self.t[0], self.points)
        both.room = 0
        for step in range(self.count):
            PyErr_CheckSignals()
            both.make_room(step + 1)
            memcpy(both.state(step), self.state(step), n * sizeof(double))
            memcpy(both.state(step) + n, &y_dot[0], n * sizeof(double))
            self.push_step(along, step, &y_dot[0], Y_dot)
            for i in range(STAGES):
                stage = both.stages(step) + 2 * i * n
                memcpy(stage, self.stages(step) + i * n, n * sizeof(double))
                memcpy(stage + n, &self.right[i * n], n * sizeof(double))
            both.t[step + 1], both.first_point[step + 1] = self.t[step + 1], self.first_point[step + 1]
            both.end_step()

    cdef int push_step(self, Slopes along, Py_ssize_t step, double *y_dot, double[:, ::1] Y_dot) except -1:
        """From the tangent of the state to that of the new one."""
        cdef double h = self.t[step + 1] - self.t[step]
        cdef double weights[STAGES]
        cdef double *Z_dot = &self.right[0]
        cdef Py_ssize_t i, j, p, n = self.n
        self.equations(step)
        memset(Z_dot, 0, STAGES * n * sizeof(double))
        for j in range(STAGES):
            self.at_stage(along, step, j)
            memcpy(along.direction, y_dot, n * sizeof(double))
            along.run()
            for i in range(STAGES):
                add_scaled(h * A[i][j], along.result, Z_dot + i * n, n)
        self.jacobian.solve_stages(False, Z_dot)
        for p in range(self.first_point[step], self.first_point[step + 1]):
            self.weights(step, self.points[p], weights)
            add_scaled(1.0, y_dot, &Y_dot[p, 0], n)
            for i in range(STAGES):
                add_scaled(weights[i], Z_dot + i * n, &Y_dot[p, 0], n)
        add_scaled(1.0, Z_dot + 2 * n, y_dot, n)
        return 0


cdef double predicted(double length, double before, double error, double error_before) noexcept nogil:
    """By what factor a step may change: Hairer and Wanner, IV.8; less than 0 is not known."""
    cdef double factor
    if error == 0.0:
        return MOST
    factor = pow(error, -0.25)
    if before < 0.0 or error_before < 0.0:
        return factor
    return factor * fmin(1.0, length / before * pow(error_before / error, 0.25))


cdef void transform(const double[3][3] by, const double *x, double *y, Py_ssize_t n) noexcept nogil:
    """y_i = Σ_j by_ij x_j"""
    cdef Py_ssize_t i, j
    for i in range(STAGES):
        memset(y + i * n, 0, n * sizeof(double))
        for j in range(STAGES):
            add_scaled(by[i][j], x + j * n, y + i * n, n)
