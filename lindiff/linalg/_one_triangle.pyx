"""Matrices of which one triangle is read: how they depend on the array in which they stand.

A symmetric (Hermitian) matrix is read from one triangle of an array.  A tangent counts by that triangle
alone, which is exact for every array.  A gradient has two readings: of an array that is a symmetric matrix
both triangles are the same entries, and its gradient is symmetric; of one that was filled in one triangle
only the entries there have a gradient, twice that.  An entry whose mirror image is there, up to rounding,
is of the first kind; one whose mirror image differs or is exactly zero is *unpaired*, and gets the whole
derivative.  Along symmetric tangents both are the same.
"""

cimport cython
cimport numpy as cnp

from lindiff.core.variable cimport value_of
from lindiff.kernels.elementwise cimport is_plain
from lindiff.kernels.triangles cimport unpaired_in

import numpy as np

from lindiff.linalg._backend import fused, kernels
from lindiff.linalg._matrices import adjoint, hermitian_part, mirrored, symmetric_part, transposed
from lindiff.linalg._operation import Operation

cnp.import_array()


cpdef object unpaired(object A, bint lower=True, bint hermitian=True):
    """Which entries of the named triangle of a plain A have no mirror image; None if all have."""
    if is_plain(A) and cnp.PyArray_NDIM(<cnp.ndarray>A) == 2:
        return unpaired_in(lower, <cnp.ndarray>A)
    of_A = kernels(A)
    return (unpaired_by_formula if of_A is None else of_A.unpaired)(A, lower, hermitian)


def unpaired_by_formula(A, lower, hermitian):
    """Rounding changes the last quarter of the digits at most."""
    image = adjoint(A) if hermitian else transposed(A)
    rounding = np.finfo(A.dtype).eps ** 0.75
    found = ~((image != 0) & (np.abs(A - image) <= rounding * np.abs(image)))
    return np.tril(found, -1) if lower else np.triu(found, 1)


@fused
def onto_unpaired(M_bar, found, overwrite_m_bar=False):
    """A symmetric M_bar with the whole of a pair at an unpaired entry, and 0 opposite."""
    return np.where(found, 2 * M_bar, np.where(transposed(found), 0, M_bar)).astype(M_bar.dtype)


def from_triangle(X, lower, hermitian=True):
    """The Hermitian (or symmetric) matrix of which X has one triangle."""
    of_X = kernels(X) if hermitian else None
    if of_X is None:
        return mirrored(X, lower, hermitian)
    return of_X.copyltu(X if lower else adjoint(X))


@cython.final
cdef class OneTriangle:
    """How a symmetric (complex: Hermitian) matrix M depends on the array A of which one triangle is read.

    Parameters
    ----------
    A : (..., n, n) array or Variable
    lower : bool
        Which triangle is read.
    hermitian : bool
        M is Hermitian; False: symmetric, also where it is complex.
    """

    def __cinit__(self, A, bint lower, bint hermitian=True):
        self.lower, self.hermitian = lower, hermitian
        self.unpaired = unpaired(value_of(A), lower, hermitian)

    cpdef object tangent(self, object A_dot):
        """``M_dot``, which is that of the triangle."""
        return from_triangle(A_dot, self.lower, self.hermitian)

    cpdef object gradient(self, object M_bar, bint overwrite=False):
        """``A_bar`` of an ``M_bar`` that is symmetric as M; it may be overwritten."""
        if self.unpaired is None:
            return M_bar
        return onto_unpaired(M_bar, self.unpaired, overwrite_m_bar=overwrite)

    def gradient_of_any(self, M_bar):
        """``A_bar`` of any ``M_bar``."""
        part = hermitian_part(M_bar) if self.hermitian else symmetric_part(M_bar)
        return self.gradient(part, overwrite=True)


def symmetric(A, lower, hermitian=True):
    """The symmetric (Hermitian) matrix that stands in one triangle of A, both triangles filled in."""
    return mirrored(A, lower, hermitian), OneTriangle(A, lower, hermitian)


symmetric_from = Operation(symmetric, symmetric, OneTriangle.tangent, OneTriangle.gradient_of_any)
