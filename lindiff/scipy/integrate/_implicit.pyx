"""Steps of implicit methods, which Newton's iteration finds."""

from lindiff.scipy.integrate._jacobians cimport Jacobian
from lindiff.scipy.integrate._slopes cimport Slopes
from lindiff.scipy.integrate._steps cimport Steps

import numpy as np


cdef class ImplicitSteps(Steps):
    """The steps that an implicit method takes along a solution.

    Parameters
    ----------
    slopes : Slopes
    jacobian : Jacobian
        Of these by the state.
    n : int
        Numbers in a state.
    """

    def __init__(self, Slopes slopes, Jacobian jacobian, Py_ssize_t n):
        Steps.__init__(self, slopes, n)
        self.jacobian, self.jacobians, self.factorizations = jacobian, 0, 0
        self.f, self.scale, self.change = (np.zeros(n) for _ in range(3))

    cdef int find_jacobian(self, double t, const double *y) except -1:
        """Compute it at this state, and count that."""
        self.jacobians += 1
        return self.jacobian.find(t, y)
