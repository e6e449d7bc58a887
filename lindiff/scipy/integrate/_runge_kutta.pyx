"""Explicit Runge-Kutta methods with the step control of SciPy's ``solve_ivp``, and their derivatives.

The stages of a step of length h from (t, y) are k_i = f(t + c_i h, y + h Σ_{j<i} a_ij k_j).  The new state is
what the stage of number s has been given, so that a_sj = b_j, and this one is the first of the next step;
stages beyond are those of the interpolant y + h Σ w_i(x) k_i at t + x h.

Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, II.4 (step control), II.6 (interpolants);
the adjoint of the steps: Hager (2000), Runge-Kutta methods in optimal control, Numer. Math. 87.
"""

cimport cython
cimport numpy as cnp

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, fmax, fmin, nextafter, pow, sqrt
from libc.string cimport memcpy, memset

from lindiff.scipy.integrate._slopes cimport Slopes, add_scaled, first_length, is_zero, norm
from lindiff.scipy.integrate._steps cimport Steps

import numpy as np

cnp.import_array()

cdef enum:
    BASES = 8           # polynomials of an interpolant, at most,
    STAGES = 20         # and stages
    FEWEST = 2          # steps whose stages are kept,
    FIRST = 16          # and those that there is room for at first
    STIFF = 15          # steps limited by stability, after which a problem is taken to be stiff
    NOT_STIFF = 6

cdef double SAFETY = 0.9, LEAST = 0.2, MOST = 10.0  # of a step beside the one before

# Of |hλ| at the edge of the region of stability of the method of order 8: Hairer et al., IV.2.
cdef double EDGE = 6.1


@cython.final
cdef class Method:
    """The coefficients of a method, and how its error is estimated.

    Parameters
    ----------
    A, C : ndarray
        Of all stages.
    stages : int
        s: those with numbers beyond are of the interpolant.
    E : ndarray
        Of the estimate of the error; of two of them, of orders 5 and 3, in the method of order 8.
    order : int
        Of the estimate.
    W : ndarray
        The weights w_i of the interpolant, of its polynomials: x, x², ..., or alternating, x, x(1 - x),
        x²(1 - x), ...
    alternating : bool
    """

    cdef readonly int stages, all
    cdef int bases, estimates
    cdef bint alternating
    cdef double exponent
    cdef double[:, ::1] A, E, W
    cdef double[::1] C
    cdef readonly int order

    def __init__(self, A, C, int stages, E, int order, W, bint alternating):
        self.A, self.C, self.E, self.W = (np.ascontiguousarray(x, np.float64) for x in (A, C, E, W))
        self.stages, self.all, self.order = stages, len(C), order
        self.estimates, self.bases = len(E), np.shape(W)[1]
        self.alternating = alternating
        self.exponent = -1.0 / (order + 1)

    cdef void weights(self, double x, double *w) noexcept nogil:
        """w_i(x)"""
        cdef double basis[BASES]
        cdef double factor = 1.0
        cdef int i, j
        for j in range(self.bases):
            factor *= 1.0 - x if self.alternating and j % 2 else x
            basis[j] = factor
        for i in range(self.all):
            w[i] = 0.0
            for j in range(self.bases):
                w[i] += self.W[i, j] * basis[j]


@cython.final
cdef class ExplicitSteps(Steps):
    """The steps that an explicit method takes along a solution, and their derivatives.

    Memory: of T steps, the states at some √T are kept, and the stages between two of these: derivatives
    compute those of other steps again.

    Parameters
    ----------
    method : Method
    slopes : Slopes
    n : int
        Numbers in a state.
    kept : int
        Bytes of stages that are kept in any case.
    """

    cdef Method method
    cdef Py_ssize_t size                # numbers in the stages of a step
    cdef list begins, states            # of segments: the number of the first step, and the state there
    cdef Py_ssize_t begin, room         # of the segment whose stages are kept
    cdef double[::1] K, Y               # of its steps: the stages, and the states in which they begin
    cdef double[::1] vectors            # in which are:
    cdef double *y_new
    cdef double *before
    cdef double *scale
    cdef double *estimate
    cdef Py_ssize_t kept

    def __init__(self, Method method, Slopes slopes, Py_ssize_t n, Py_ssize_t kept):
        Steps.__init__(self, slopes, n)
        self.method, self.size, self.kept = method, method.all * n, kept
        self.vectors = np.zeros(4 * n)
        self.y_new = &self.vectors[0]
        self.before, self.scale, self.estimate = self.y_new + n, self.y_new + 2 * n, self.y_new + 3 * n

    @property
    def segments(self):
        """Between states that are kept."""
        return len(self.begins)

    # Forward.

    def run(self, double t0, double end, y0, points, double rtol, double[::1] atol, double longest, first,
            double at_rest, bint leaves_stiff):
        """Solve the problem.

        Parameters
        ----------
        at_rest : float
            The longest step after one in which next to nothing happens: it might pass over a pulse.

        Returns
        -------
        states : ndarray or None
            At the points, or at the ends of steps, one a row; None where steps come to be too short before
            the end, or a stiff problem is left to others.
        """
        cdef double direction = 1.0 if end >= t0 else -1.0
        cdef double length, factor, shortest, t = t0, t_new, error
        cdef bint rejected
        cdef int stiff = 0, calm = 0
        cdef double[:, ::1] rows
        self.begin_at(t0, y0, points)
        self.stage(0, t0, 0.0, self.state(0), self.stages(0))
        if first is None:
            first = first_length(self.slopes, t0, end, self.state(0), self.stages(0), self.method.order, rtol,
                                 atol, longest)
        length = first
        found = [self.new_state()]
        states = np.zeros((0 if points is None else len(points), self.n))
        rows = states
        while direction * (t - end) < 0.0:
            PyErr_CheckSignals()
            shortest = 10.0 * fabs(nextafter(t, direction * INFINITY) - t)
            length = fmin(fmax(length, shortest), longest)
            rejected = False
            while True:
                if length < shortest:
                    return None
                t_new = t + direction * length
                if direction * (t_new - end) > 0.0:
                    t_new = end
                length = fabs(t_new - t)
                self.all_stages(t, t_new - t, self.state(self.count), self.stages(self.count))
                error = self.error(t_new - t, rtol, atol)
                factor = SAFETY * pow(error, self.method.exponent) if error != 0.0 else MOST
                if error < 1.0:
                    break
                length *= fmax(LEAST, factor)  # which is LEAST for NaN
                rejected = True
            length *= fmin(1.0 if rejected else MOST, factor)
            self.t[self.count + 1] = t_new
            if self.rests(error, self.change(), self.scale):
                length = fmin(length, at_rest)
            if leaves_stiff:
                if self.is_steep(t_new - t):
                    stiff, calm = stiff + 1, 0
                else:
                    calm += 1
                if calm == NOT_STIFF:
                    stiff = 0
                if stiff == STIFF:
                    return None
            self.interpolate(rows)
            self.go_on()
            t = t_new
            if points is None:
                found.append(self.new_state())
        return np.array(found) if points is None else states

    def replay(self, times, y0, points):
        """Take steps that begin and end at these times."""
        cdef double[::1] t = np.ascontiguousarray(times, np.float64)
        cdef double[:, ::1] rows = np.zeros((0 if points is None else len(points), self.n))
        cdef Py_ssize_t step
        self.begin_at(t[0], y0, points)
        self.stage(0, t[0], 0.0, self.state(0), self.stages(0))
        for step in range(t.shape[0] - 1):
            PyErr_CheckSignals()
            self.all_stages(t[step], t[step + 1] - t[step], self.state(step), self.stages(step))
            self.t[step + 1] = t[step + 1]
            self.interpolate(rows)
            self.go_on()

    cdef int begin_at(self, double t0, y0, points) except -1:
        self.begin_times(t0, points)
        self.begins, self.states = [], []
        self.room = 0
        memcpy(self.y_new, <double *>cnp.PyArray_BYTES(<cnp.ndarray>y0), self.n * sizeof(double))
        return self.open_segment()

    cdef const double *change(self) noexcept:
        """Of the state in this step."""
        cdef const double *y = self.state(self.count)
        cdef Py_ssize_t d
        for d in range(self.n):
            self.estimate[d] = self.y_new[d] - y[d]
        return self.estimate

    cdef object new_state(self):
        cdef cnp.ndarray state = np.empty(self.n)
        memcpy(cnp.PyArray_BYTES(state), self.y_new, self.n * sizeof(double))
        return state

    cdef double *stages(self, Py_ssize_t step) noexcept:
        return &self.K[0] + (step - self.begin) * self.size

    cdef double *state(self, Py_ssize_t step) noexcept:
        return &self.Y[0] + (step - self.begin) * self.n

    cdef int at_stage(self, Slopes slopes, Py_ssize_t i, double t, double h, const double *y,
                      const double *K) except -1:
        """Give ``slopes`` the time and the state of a stage: t + c_i h, y + h Σ_{j<i} a_ij k_j."""
        cdef Py_ssize_t j, d, n = self.n
        cdef const double *a = &self.method.A[i, 0]
        cdef double *found = slopes.y
        slopes.t[0] = t + self.method.C[i] * h
        for d in range(n):
            found[d] = 0.0
        for j in range(i):
            if a[j] != 0.0:
                add_scaled(a[j], K + j * n, found, n)
        for d in range(n):
            found[d] = y[d] + h * found[d]
        return 0

    cdef int stage(self, Py_ssize_t i, double t, double h, const double *y, double *K) except -1:
        self.at_stage(self.slopes, i, t, h, y, K)
        self.slopes.run()
        memcpy(K + i * self.n, self.slopes.result, self.n * sizeof(double))
        return 0

    cdef int all_stages(self, double t, double h, const double *y, double *K) except -1:
        """Those up to s, whose state is the new one; the one before that is kept, too."""
        cdef Py_ssize_t i, s = self.method.stages
        for i in range(1, s + 1):
            self.stage(i, t, h, y, K)
            memcpy(self.y_new if i == s else self.before, self.slopes.y, self.n * sizeof(double))
        return 0

    cdef double error(self, double h, double rtol, double[::1] atol) noexcept:
        """The estimate of a step's error beside what is allowed."""
        cdef const double *y = self.state(self.count)
        cdef Py_ssize_t d
        cdef double fifth, third
        for d in range(self.n):
            self.scale[d] = atol[d] + fmax(fabs(y[d]), fabs(self.y_new[d])) * rtol
        fifth = self.estimated(0)
        if self.method.estimates == 1:
            return fabs(h) * fifth
        third = self.estimated(1)
        if fifth == 0.0 and third == 0.0:
            return 0.0
        return fabs(h) * fifth * fifth / sqrt(fifth * fifth + 0.01 * third * third)

    cdef double estimated(self, Py_ssize_t which) noexcept:
        cdef const double *K = self.stages(self.count)
        cdef Py_ssize_t i
        memset(self.estimate, 0, self.n * sizeof(double))
        for i in range(self.method.stages + 1):
            add_scaled(self.method.E[which, i], K + i * self.n, self.estimate, self.n)
        return norm(self.estimate, self.scale, self.n)

    cdef bint is_steep(self, double h) noexcept:
        """Whether stability has limited a step: |h| |Δf| / |Δy| between its last two stages, at its end."""
        cdef const double *K = self.stages(self.count) + (self.method.stages - 1) * self.n
        cdef double slopes = 0.0, states = 0.0
        cdef Py_ssize_t d
        for d in range(self.n):
            slopes += (K[self.n + d] - K[d]) ** 2
            states += (self.y_new[d] - self.before[d]) ** 2
        return fabs(h) * sqrt(slopes) > EDGE * sqrt(states)

    cdef int interpolate(self, double[:, ::1] rows) except -1:
        """The solution at the points in the step."""
        cdef double t = self.t[self.count], t_new = self.t[self.count + 1]
        cdef Py_ssize_t p = self.first_point[self.count]
        while self.has_point(p):
            if p == self.first_point[self.count]:
                self.further_stages(t, t_new - t, self.state(self.count), self.stages(self.count))
            self.combine(self.count, self.points[p], &rows[p, 0])
            p += 1
        self.first_point[self.count + 1] = p
        return 0

    cdef int combine(self, Py_ssize_t step, double t, double *found) noexcept:
        """y + h Σ w_i(x) k_i"""
        cdef double h = self.t[step + 1] - self.t[step]
        cdef const double *y = self.state(step)
        cdef double weights[STAGES]
        cdef Py_ssize_t i, d
        memset(found, 0, self.n * sizeof(double))
        self.method.weights((t - self.t[step]) / h, weights)
        for i in range(self.method.all):
            add_scaled(weights[i], self.stages(step) + i * self.n, found, self.n)
        for d in range(self.n):
            found[d] = y[d] + h * found[d]
        return 0

    cdef int further_stages(self, double t, double h, const double *y, double *K) except -1:
        """Those of the interpolant alone."""
        cdef Py_ssize_t i
        for i in range(self.method.stages + 1, self.method.all):
            self.stage(i, t, h, y, K)
        return 0

    cdef int go_on(self) except -1:
        """Let the next step begin where this one ends."""
        cdef const double *k = self.stages(self.count) + self.method.stages * self.n
        self.end_step()
        if self.count - self.begin < self.room:
            return self.carry(k)
        if self.count - self.begin < self.most():
            self.enlarge(min(2 * self.room, self.most()))
            return self.carry(self.stages(self.count - 1) + self.method.stages * self.n)
        memcpy(self.estimate, k, self.n * sizeof(double))
        self.open_segment()
        memcpy(self.stages(self.count), self.estimate, self.n * sizeof(double))
        return 0

    cdef int carry(self, const double *k) noexcept:
        memcpy(self.stages(self.count), k, self.n * sizeof(double))
        memcpy(self.state(self.count), self.y_new, self.n * sizeof(double))
        return 0

    cdef Py_ssize_t most(self) noexcept:
        """Of how many steps a segment is: later ones are longer, so that there are some √T."""
        return max(FEWEST, self.kept // (8 * self.size)) * len(self.begins)

    cdef int enlarge(self, Py_ssize_t room) except -1:
        cdef Py_ssize_t more = room - self.room
        if self.room == 0:
            self.K, self.Y = np.zeros(room * self.size), np.zeros(room * self.n)
        else:
            self.K = np.concatenate([self.K, np.zeros(more * self.size)])
            self.Y = np.concatenate([self.Y, np.zeros(more * self.n)])
        self.room = room
        return 0

    cdef int open_segment(self) except -1:
        """Keep the state, and the stages from here on in the place of those before."""
        self.begin = self.count
        self.begins.append(self.count)
        self.states.append(self.new_state())
        if self.room == 0:
            self.enlarge(min(FIRST, self.most()))
        memcpy(self.state(self.count), self.y_new, self.n * sizeof(double))
        return 0

    cdef int open_step(self, Py_ssize_t step) except -1:
        cdef Py_ssize_t segment = np.searchsorted(self.begins, step, side="right") - 1
        self.recall(segment)
        return self.further_stages(self.t[step], self.t[step + 1] - self.t[step], self.state(step),
                                   self.stages(step))

    # Derivatives.

    cdef Py_ssize_t recall(self, Py_ssize_t segment) except -1:
        """Have the stages of a segment; where it ends."""
        cdef Py_ssize_t step, end = self.begins[segment + 1] if segment + 1 < len(self.begins) else self.count
        cdef double h
        cdef double[::1] state
        if self.begin == self.begins[segment]:
            return end
        self.begin = self.begins[segment]
        state = self.states[segment]
        memcpy(self.y_new, &state[0], self.n * sizeof(double))
        memcpy(self.state(self.begin), self.y_new, self.n * sizeof(double))
        self.stage(0, self.t[self.begin], 0.0, self.state(self.begin), self.stages(self.begin))
        for step in range(self.begin, end):
            h = self.t[step + 1] - self.t[step]
            self.all_stages(self.t[step], h, self.state(step), self.stages(step))
            if self.first_point[step] < self.first_point[step + 1]:
                self.further_stages(self.t[step], h, self.state(step), self.stages(step))
            if step + 1 < end:
                memcpy(self.stages(step + 1), self.stages(step) + self.method.stages * self.n,
                       self.n * sizeof(double))
                memcpy(self.state(step + 1), self.y_new, self.n * sizeof(double))
        return end

    def pull(self, Slopes back, rows_bar):
        """The cotangents of the first state, and of the parameters, for those of the states that were found.

        ``back`` gives those of a state and of the parameters for one of the slopes.
        """
        cdef double[:, ::1] Y_bar = np.ascontiguousarray(rows_bar, np.float64)
        cdef double[::1] y_bar = np.zeros(self.n), K_bar = np.zeros(self.size)
        cdef list totals = [np.zeros_like(x) for x in back.evaluator.results[1:]]
        cdef Py_ssize_t segment, step
        for segment in range(len(self.begins) - 1, -1, -1):
            for step in range(self.recall(segment) - 1, self.begins[segment] - 1, -1):
                PyErr_CheckSignals()
                if self.points is None:
                    add_scaled(1.0, &Y_bar[step + 1, 0], &y_bar[0], self.n)
                self.pull_step(back, step, &y_bar[0], &K_bar[0], Y_bar, totals)
        self.recall(0)
        self.pull_stage(back, 0, 0, &K_bar[0], self.before, totals)
        add_scaled(1.0, self.before, &y_bar[0], self.n)
        if self.points is None:
            add_scaled(1.0, &Y_bar[0, 0], &y_bar[0], self.n)
        return np.array(y_bar), totals

    cdef int pull_step(self, Slopes back, Py_ssize_t step, double *y_bar, double *K_bar, double[:, ::1] Y_bar,
                       list totals) except -1:
        """From cotangents of the new state and of its slopes, which are the first of ``K_bar``, to those of
        the state in which the step begins."""
        cdef double h = self.t[step + 1] - self.t[step]
        cdef double weights[STAGES]
        cdef double *total = self.scale
        cdef double *stage_bar = self.before
        cdef Py_ssize_t i, j, p, n = self.n, s = self.method.stages, last = s
        memcpy(K_bar + s * n, K_bar, n * sizeof(double))
        memset(K_bar, 0, s * n * sizeof(double))
        memset(K_bar + (s + 1) * n, 0, (self.method.all - s - 1) * n * sizeof(double))
        memset(total, 0, n * sizeof(double))
        for p in range(self.first_point[step], self.first_point[step + 1]):
            last = self.method.all - 1
            self.method.weights((self.points[p] - self.t[step]) / h, weights)
            add_scaled(1.0, &Y_bar[p, 0], total, n)
            for i in range(self.method.all):
                add_scaled(h * weights[i], &Y_bar[p, 0], K_bar + i * n, n)
        for i in range(last, 0, -1):
            self.pull_stage(back, step, i, K_bar + i * n, stage_bar, totals)
            if i == s:
                add_scaled(1.0, y_bar, stage_bar, n)
            add_scaled(1.0, stage_bar, total, n)
            for j in range(i):
                if self.method.A[i, j] != 0.0:
                    add_scaled(h * self.method.A[i, j], stage_bar, K_bar + j * n, n)
        memcpy(y_bar, total, n * sizeof(double))
        return 0

    cdef int pull_stage(self, Slopes back, Py_ssize_t step, Py_ssize_t i, const double *k_bar,
                        double *stage_bar, list totals) except -1:
        """The cotangent of the state of a stage; those of the parameters are added to the totals."""
        cdef double h
        memset(stage_bar, 0, self.n * sizeof(double))
        if is_zero(k_bar, self.n):
            return 0
        h = self.t[step + 1] - self.t[step]
        self.at_stage(back, i, self.t[step], h, self.state(step), self.stages(step))
        memcpy(back.direction, k_bar, self.n * sizeof(double))
        back.run()
        memcpy(stage_bar, back.result, self.n * sizeof(double))
        back.add_to(totals)
        return 0

    def push(self, Slopes along, first_dot):
        """The tangents of the states that were found for that of the first one.

        ``along`` gives that of the slopes for one of a state; those of the parameters it has already.
        """
        cdef double[::1] y_dot = np.array(first_dot, np.float64), K_dot = np.zeros(self.size)
        cdef Py_ssize_t segment, step, n = self.n
        cdef double[:, ::1] Y_dot
        found = [np.array(y_dot)]
        Y_dot = np.zeros((0 if self.points is None else len(self.points), n))
        for segment in range(len(self.begins)):
            for step in range(self.begins[segment], self.recall(segment)):
                PyErr_CheckSignals()
                if step == 0:
                    self.push_stage(along, 0, 0, &y_dot[0], &K_dot[0])
                self.push_step(along, step, &y_dot[0], &K_dot[0], Y_dot)
                found.append(np.array(y_dot))
        return np.array(found) if self.points is None else np.asarray(Y_dot)

    cdef int push_step(self, Slopes along, Py_ssize_t step, double *y_dot, double *K_dot,
                       double[:, ::1] Y_dot) except -1:
        """From the tangents of the state and its slopes, which are the first of ``K_dot``, to those of the
        new one."""
        cdef double h = self.t[step + 1] - self.t[step]
        cdef double weights[STAGES]
        cdef Py_ssize_t i, p, d, n = self.n, s = self.method.stages
        for i in range(1, s + 1):
            self.push_stage(along, step, i, y_dot, K_dot)
        memcpy(self.y_new, along.direction, n * sizeof(double))
        for p in range(self.first_point[step], self.first_point[step + 1]):
            if p == self.first_point[step]:
                for i in range(s + 1, self.method.all):
                    self.push_stage(along, step, i, y_dot, K_dot)
            self.method.weights((self.points[p] - self.t[step]) / h, weights)
            for i in range(self.method.all):
                add_scaled(weights[i], K_dot + i * n, &Y_dot[p, 0], n)
            for d in range(n):
                Y_dot[p, d] = y_dot[d] + h * Y_dot[p, d]
        memcpy(y_dot, self.y_new, n * sizeof(double))
        memcpy(K_dot, K_dot + s * n, n * sizeof(double))
        return 0

    cdef int push_stage(self, Slopes along, Py_ssize_t step, Py_ssize_t i, const double *y_dot,
                        double *K_dot) except -1:
        cdef double h = self.t[step + 1] - self.t[step]
        cdef Py_ssize_t j, d
        self.at_stage(along, i, self.t[step], h, self.state(step), self.stages(step))
        memset(along.direction, 0, self.n * sizeof(double))
        for j in range(i):
            add_scaled(self.method.A[i, j], K_dot + j * self.n, along.direction, self.n)
        for d in range(self.n):
            along.direction[d] = y_dot[d] + h * along.direction[d]
        along.run()
        memcpy(K_dot + i * self.n, along.result, self.n * sizeof(double))
        return 0
