"""What the steps of implicit methods have in common, for those of each one."""

from libc.math cimport fmax, fmin, sqrt

from lindiff.scipy.integrate._jacobians cimport Jacobian
from lindiff.scipy.integrate._steps cimport Steps


cdef class ImplicitSteps(Steps):
    cdef readonly Jacobian jacobian
    cdef double[::1] f, scale, change
    cdef bint is_factored, is_current   # is the Jacobian of this step?
    cdef int iterations
    cdef readonly Py_ssize_t jacobians, factorizations  # so far
    cdef int find_jacobian(self, double t, const double *y) except -1


cdef inline double newton_tolerance(double rtol) noexcept nogil:
    """How exactly Newton's iteration finds a step, beside what is allowed of its error; as SciPy has it."""
    return fmax(10 * 2.0 ** -52 / rtol, fmin(0.03, sqrt(rtol)))
