"""Jacobians J of slopes by the state, from programs of their products with directions, and what implicit
steps solve with them: (σ - J) x = b, for a real and a complex σ, and for all stages at once

    M x = b,  M_ij = δ_ij - c_ij J_j,

with the Jacobian J_j of stage j.
"""

cimport cython
cimport numpy as cnp

from libc.math cimport fabs
from libc.string cimport memcpy, memset

from lindiff.kernels cimport rowmajor
from lindiff.kernels.lu cimport getrf_one, getrs_one
from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport scalar
from lindiff.scipy.integrate._slopes cimport Slopes

import numpy as np

from lindiff.scipy.integrate._patterns import arranged

cnp.import_array()

cdef double ROUNDING = 1e-8  # of the terms of a sum, by which two ways to compute it may differ


class TooWide(ArithmeticError):
    """A matrix has more entries away from its diagonal than it may."""


cdef class Jacobian:
    """The Jacobian at a state.

    Parameters
    ----------
    along : Slopes
        The derivative of the slopes in a direction of the state.
    n : int
        Numbers in a state.
    """

    def __init__(self, Slopes along, Py_ssize_t n):
        self.along, self.n, self.grown = along, n, 0

    cdef int find(self, double t, const double *y) except -1:
        """Compute it at this state."""
        raise NotImplementedError

    cdef int factor(self, double shift) except -1:
        """σ - J, for `solve`."""
        raise NotImplementedError

    cdef int factor_complex(self, double complex shift) except -1:
        """The same for `solve_complex`."""
        raise NotImplementedError

    cdef int solve(self, double *x) except -1:
        raise NotImplementedError

    cdef int solve_complex(self, double complex *x) except -1:
        raise NotImplementedError

    cdef int begin_stages(self) except -1:
        """Let M be 1."""
        raise NotImplementedError

    cdef int put_stage(self, Py_ssize_t j, const double *factors) except -1:
        """Subtract what is found now, times c_ij, from the columns of stage j."""
        raise NotImplementedError

    cdef int factor_stages(self) except -1:
        raise NotImplementedError

    cdef int solve_stages(self, bint transpose, double *x) except -1:
        """With M, or its transpose, for all stages, one after the other."""
        raise NotImplementedError

    cdef int look_at(self, double t, const double *y) noexcept:
        """Take products at this state."""
        self.along.t[0] = t
        memcpy(self.along.y, y, self.n * sizeof(double))
        memset(self.along.direction, 0, self.n * sizeof(double))
        return 0

    cdef int find_column(self, Py_ssize_t j) except -1:
        """The product with the unit vector of this number."""
        self.along.direction[j] = 1.0
        self.along.run()
        self.along.direction[j] = 0.0
        return 0


@cython.final
cdef class DenseJacobian(Jacobian):
    """All n² entries: n products for a Jacobian, n³ flops for its factors, 18 n³ for those of M."""

    cdef double[::1] J, real, M
    cdef double complex[::1] imaginary
    cdef blas_int[::1] pivots, pivots_of_two, pivots_of_stages

    def __init__(self, Slopes along, Py_ssize_t n):
        Jacobian.__init__(self, along, n)
        self.J, self.real, self.imaginary = np.zeros(n * n), np.zeros(n * n), np.zeros(n * n, np.complex128)
        self.pivots, self.pivots_of_two = np.zeros(n, np.intc), np.zeros(n, np.intc)
        self.M = np.zeros(0)

    cdef int find(self, double t, const double *y) except -1:
        cdef Py_ssize_t i, j
        self.look_at(t, y)
        for j in range(self.n):
            self.find_column(j)
            for i in range(self.n):
                self.J[i * self.n + j] = self.along.result[i]
        return 0

    cdef int factor(self, double shift) except -1:
        cdef Py_ssize_t i, n = self.n
        for i in range(n * n):
            self.real[i] = -self.J[i]
        for i in range(n):
            self.real[i * (n + 1)] += shift
        getrf_one(<blas_int>n, &self.real[0], <blas_int>n, &self.pivots[0])
        return 0

    cdef int factor_complex(self, double complex shift) except -1:
        cdef Py_ssize_t i, n = self.n
        for i in range(n * n):
            self.imaginary[i] = -self.J[i]
        for i in range(n):
            self.imaginary[i * (n + 1)] += shift
        getrf_one(<blas_int>n, &self.imaginary[0], <blas_int>n, &self.pivots_of_two[0])
        return 0

    cdef int solve(self, double *x) except -1:
        cdef blas_int order = <blas_int>self.n
        getrs_one(0, order, 1, &self.real[0], order, &self.pivots[0], x, 1)
        return 0

    cdef int solve_complex(self, double complex *x) except -1:
        cdef blas_int order = <blas_int>self.n
        getrs_one(0, order, 1, &self.imaginary[0], order, &self.pivots_of_two[0], x, 1)
        return 0

    cdef int begin_stages(self) except -1:
        cdef Py_ssize_t i, m = STAGES * self.n
        if self.M.shape[0] == 0:
            self.M, self.pivots_of_stages = np.zeros(m * m), np.zeros(m, np.intc)
        memset(&self.M[0], 0, m * m * sizeof(double))
        for i in range(m):
            self.M[i * (m + 1)] = 1.0
        return 0

    cdef int put_stage(self, Py_ssize_t j, const double *factors) except -1:
        cdef Py_ssize_t i, r, c, n = self.n, m = STAGES * self.n
        for i in range(STAGES):
            for r in range(n):
                for c in range(n):
                    self.M[(i * n + r) * m + j * n + c] -= factors[i] * self.J[r * n + c]
        return 0

    cdef int factor_stages(self) except -1:
        cdef blas_int order = <blas_int>(STAGES * self.n)
        getrf_one(order, &self.M[0], order, &self.pivots_of_stages[0])
        return 0

    cdef int solve_stages(self, bint transpose, double *x) except -1:
        cdef blas_int order = <blas_int>(STAGES * self.n)
        getrs_one(transpose, order, 1, &self.M[0], order, &self.pivots_of_stages[0], x, 1)
        return 0


@cython.final
cdef class BandedJacobian(Jacobian):
    """The entries that are not 0, in an order of the state in which they lie in a band around the diagonal.

    Columns without a common row are found by one product.  Which entries there are is what n products show
    at first; each time, two more products in random directions, of numbers about 1 and in the units of the
    state, tell whether there are others by now: then it is n products again.  With l entries below and u
    above the diagonal, factors are 2nl(l + u) flops and n(l + 2u) numbers, those of M 27 times as many flops
    and 9 times as many numbers.

    Parameters
    ----------
    along : Slopes
    n : int
    t : float
    y : ndarray
        Where it is looked at first.
    widest : int
        What may lie in a row of the band.

    Raises
    ------
    TooWide
        If it does not, here or later.
    """

    cdef Py_ssize_t below, above, widest
    cdef Py_ssize_t[::1] place          # of each number of the state in the band
    cdef Py_ssize_t[::1] rows, columns  # of the entries, in the order of their groups
    cdef Py_ssize_t[::1] begins         # of the groups of columns: the first entry
    cdef double[::1] J, direction, scaled, found, terms
    cdef double[::1] real, ordered, M, ordered_stages
    cdef double complex[::1] imaginary, ordered_complex
    cdef blas_int[::1] pivots, pivots_of_two, pivots_of_stages

    def __init__(self, Slopes along, Py_ssize_t n, double t, const double[::1] y,
                 Py_ssize_t widest):
        Jacobian.__init__(self, along, n)
        self.widest = widest
        self.direction = np.random.default_rng(0).standard_normal(n)
        self.scaled, self.found, self.terms, self.ordered = (np.zeros(n) for _ in range(4))
        self.ordered_complex, self.ordered_stages = np.zeros(n, np.complex128), np.zeros(STAGES * n)
        self.pivots, self.pivots_of_two = np.zeros(n, np.intc), np.zeros(n, np.intc)
        self.pivots_of_stages = np.zeros(STAGES * n, np.intc)
        self.rows, self.columns = np.zeros(0, np.intp), np.zeros(0, np.intp)
        self.grow(t, &y[0])

    cdef bint grow(self, double t, const double *y) except -1:
        """Look at each column; whether there are entries that were not known."""
        cdef Py_ssize_t i, j, count = self.rows.shape[0]
        cdef double[::1] column = np.zeros(self.n)
        entries = [np.asarray(self.rows) * self.n + np.asarray(self.columns)]
        self.look_at(t, y)
        for j in range(self.n):
            self.find_column(j)
            for i in range(self.n):
                column[i] = self.along.result[i]
            entries.append(np.flatnonzero(np.nan_to_num(column)) * self.n + j)
        rows, columns = np.divmod(np.unique(np.concatenate(entries)), self.n)
        if self.grown and len(rows) == count:
            return False
        self.rows, self.columns, self.begins, self.place, self.below, self.above = arranged(
            rows, columns, self.n
        )
        if self.below + 1 + self.above > self.widest:
            raise TooWide
        self.J = np.zeros(len(rows))
        self.real = np.zeros(self.n * self.row_length(1))
        self.imaginary = np.zeros(0, np.complex128)
        self.M = np.zeros(0)
        self.grown += 1
        return True

    cdef Py_ssize_t row_length(self, Py_ssize_t stages) noexcept:
        """Of a band, with the room that exchanges need, for so many unknowns in each place."""
        return stages * (self.below + 2 * self.above) + 3 * (stages - 1) + 1

    cdef Py_ssize_t diagonal(self, Py_ssize_t stages) noexcept:
        """Where it lies in a row."""
        return stages * (self.below + self.above) + 2 * (stages - 1)

    cdef int find(self, double t, const double *y) except -1:
        cdef Py_ssize_t d
        cdef bint found
        while True:
            self.find_entries(t, y)
            self.scaled[:] = 1.0
            found = self.is_all()
            for d in range(self.n):  # in the units of the state
                self.scaled[d] = fabs(y[d])
            if found and self.is_all() or not self.grow(t, y):
                return 0

    cdef int find_entries(self, double t, const double *y) except -1:
        cdef Py_ssize_t group, e
        self.look_at(t, y)
        for group in range(self.begins.shape[0] - 1):
            for e in range(self.begins[group], self.begins[group + 1]):
                self.along.direction[self.columns[e]] = 1.0
            self.along.run()
            for e in range(self.begins[group], self.begins[group + 1]):
                self.J[e] = self.along.result[self.rows[e]]
                self.along.direction[self.columns[e]] = 0.0
        return 0

    cdef bint is_all(self) except -1:
        """Whether the entries give the product with a random direction, in these units."""
        cdef Py_ssize_t d, e
        cdef double term
        memset(&self.found[0], 0, self.n * sizeof(double))
        memset(&self.terms[0], 0, self.n * sizeof(double))
        for e in range(self.rows.shape[0]):
            term = self.J[e] * self.direction[self.columns[e]] * self.scaled[self.columns[e]]
            self.found[self.rows[e]] += term
            self.terms[self.rows[e]] += fabs(term)
        for d in range(self.n):
            self.along.direction[d] = self.direction[d] * self.scaled[d]
        self.along.run()
        for d in range(self.n):
            term = self.along.result[d]
            if fabs(self.found[d] - term) > ROUNDING * (self.terms[d] + fabs(term)):
                return False
        return True

    cdef int factor(self, double shift) except -1:
        factor_band(self, shift, &self.real[0], &self.pivots[0])
        return 0

    cdef int factor_complex(self, double complex shift) except -1:
        if self.imaginary.shape[0] == 0:
            self.imaginary = np.zeros(self.n * self.row_length(1), np.complex128)
        factor_band(self, shift, &self.imaginary[0], &self.pivots_of_two[0])
        return 0

    cdef Py_ssize_t in_band(self, Py_ssize_t e) noexcept:
        """Where an entry lies."""
        cdef Py_ssize_t row = self.place[self.rows[e]]
        return row * self.row_length(1) + self.diagonal(1) + self.place[self.columns[e]] - row

    cdef int solve(self, double *x) except -1:
        solve_in_band(self, &self.real[0], &self.pivots[0], &self.ordered[0], x)
        return 0

    cdef int solve_complex(self, double complex *x) except -1:
        solve_in_band(self, &self.imaginary[0], &self.pivots_of_two[0], &self.ordered_complex[0], x)
        return 0

    cdef int begin_stages(self) except -1:
        """The stages of one number of the state are neighbours in the band."""
        cdef Py_ssize_t i, length = self.row_length(STAGES), diagonal = self.diagonal(STAGES)
        if self.M.shape[0] == 0:
            self.M = np.zeros(STAGES * self.n * length)
        memset(&self.M[0], 0, self.M.nbytes)
        for i in range(STAGES * self.n):
            self.M[i * length + diagonal] = 1.0
        return 0

    cdef int put_stage(self, Py_ssize_t j, const double *factors) except -1:
        cdef Py_ssize_t e, i, row, column, length = self.row_length(STAGES), diagonal = self.diagonal(STAGES)
        for e in range(self.rows.shape[0]):
            column = STAGES * self.place[self.columns[e]] + j
            for i in range(STAGES):
                row = STAGES * self.place[self.rows[e]] + i
                self.M[row * length + diagonal + column - row] -= factors[i] * self.J[e]
        return 0

    cdef int factor_stages(self) except -1:
        rowmajor.gbtrf(<blas_int>(STAGES * self.n), <blas_int>(STAGES * (self.below + 1) - 1),
                       <blas_int>(STAGES * (self.above + 1) - 1), &self.M[0],
                       <blas_int>self.row_length(STAGES), &self.pivots_of_stages[0])
        return 0

    cdef int solve_stages(self, bint transpose, double *x) except -1:
        cdef Py_ssize_t d, i
        for d in range(self.n):
            for i in range(STAGES):
                self.ordered_stages[STAGES * self.place[d] + i] = x[i * self.n + d]
        rowmajor.gbtrs(transpose, <blas_int>(STAGES * self.n), <blas_int>(STAGES * (self.below + 1) - 1),
                       <blas_int>(STAGES * (self.above + 1) - 1), &self.M[0],
                       <blas_int>self.row_length(STAGES), &self.pivots_of_stages[0], &self.ordered_stages[0])
        for d in range(self.n):
            for i in range(STAGES):
                x[i * self.n + d] = self.ordered_stages[STAGES * self.place[d] + i]
        return 0


cdef void factor_band(BandedJacobian of, scalar shift, scalar *A, blas_int *pivots) noexcept:
    """A := factors of σ - J."""
    cdef Py_ssize_t e, i, length = of.row_length(1)
    memset(A, 0, of.n * length * sizeof(scalar))
    for e in range(of.rows.shape[0]):
        A[of.in_band(e)] = -of.J[e]
    for i in range(of.n):
        A[i * length + of.diagonal(1)] += shift
    rowmajor.gbtrf(<blas_int>of.n, <blas_int>of.below, <blas_int>of.above, A, <blas_int>length, pivots)


cdef void solve_in_band(BandedJacobian of, scalar *LU, blas_int *pivots, scalar *ordered, scalar *x) noexcept:
    """x := (σ - J)⁻¹ x by these factors, in the order of the band."""
    cdef Py_ssize_t d
    for d in range(of.n):
        ordered[of.place[d]] = x[d]
    rowmajor.gbtrs(False, <blas_int>of.n, <blas_int>of.below, <blas_int>of.above, LU,
                   <blas_int>of.row_length(1), pivots, ordered)
    for d in range(of.n):
        x[d] = ordered[of.place[d]]
