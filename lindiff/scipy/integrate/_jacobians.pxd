"""Jacobians of slopes by the state, and the equations of implicit steps with them."""

from lindiff.kernels.rowmajor cimport blas_int
from lindiff.scipy.integrate._slopes cimport Slopes

cdef enum:
    STAGES = 3


cdef class Jacobian:
    cdef readonly Py_ssize_t n
    cdef Slopes along
    cdef Py_ssize_t grown       # how often it has turned out to have more entries than before
    cdef int find(self, double t, const double *y) except -1
    cdef int factor(self, double shift) except -1
    cdef int factor_complex(self, double complex shift) except -1
    cdef int solve(self, double *x) except -1
    cdef int solve_complex(self, double complex *x) except -1
    cdef int begin_stages(self) except -1
    cdef int put_stage(self, Py_ssize_t j, const double *factors) except -1
    cdef int factor_stages(self) except -1
    cdef int solve_stages(self, bint transpose, double *x) except -1
    cdef int look_at(self, double t, const double *y) noexcept
    cdef int find_column(self, Py_ssize_t j) except -1
