"""The derivative of the Cholesky factorization, whichever function it is of: ``A = L Lᴴ``, or ``A = Rᴴ R``.

A single plain matrix of a low order goes to its kernel without the array interface; the kernels, or the
formulas, of all others are found by their names.
"""

cimport numpy as cnp
from cpython.object cimport PyObject

from lindiff.kernels.cholesky cimport potrf_one, potrf_pullback_one
from lindiff.kernels.elementwise cimport has_shape_of
from lindiff.kernels.rowmajor cimport blas_int
from lindiff.linalg._one_triangle cimport unpaired
from lindiff.linalg._operation cimport Direct
from lindiff.linalg._plain cimport copied, is_small_square, owned


from lindiff.linalg._backend import fused_trusting
from lindiff.linalg._matrices import adjoint, copyltu, half_tril, hermitian_part, mirrored
from lindiff.linalg._one_triangle import onto_unpaired
from lindiff.linalg.triangular import trmm, trsm

cnp.import_array()


cdef cnp.ndarray factor_of_small(object A, bint lower):
    """L of a small matrix; None of one that is none, or that is not positive definite."""
    if not is_small_square(A):
        return None
    cdef cnp.ndarray L = copied(A)
    cdef blas_int n = <blas_int>cnp.PyArray_DIM(L, 0), info
    if cnp.PyArray_TYPE(L) == cnp.NPY_DOUBLE:
        info = potrf_one[double](lower, n, <double *>cnp.PyArray_DATA(L), n)
    else:
        info = potrf_one[float](lower, n, <float *>cnp.PyArray_DATA(L), n)
    return L if info == 0 else None


@fused_trusting
def potrf_pullback(L, L_bar, lower=True, overwrite_l_bar=False):
    """``A_bar = ½ L⁻ᴴ copyltu(Lᴴ L_bar) L⁻¹``, Hermitian; Seeger et al. (2017), section 4.2."""
    if not lower:  # R = Lᴴ
        L, L_bar = adjoint(L), adjoint(L_bar)
    S = trsm(L, copyltu(trmm(L, L_bar, transpose="C")), transpose="C")
    return hermitian_part(0.5 * trsm(L, S, rightside=True))


@fused_trusting
def potrf_pushforward(L, A_dot, lower=True):
    """``L_dot = L Φ(L⁻¹ A_dot L⁻ᴴ)``, Φ the lower triangle with halved diagonal.

    Of A_dot, Hermitian, the named triangle is read.
    """
    if not lower:
        return adjoint(potrf_pushforward(adjoint(L), adjoint(A_dot)))
    S = trsm(L, trsm(L, mirrored(A_dot, True)), transpose="C", rightside=True)
    return trmm(L, half_tril(S))


cdef tuple described_small(object a, bint lower):
    cdef cnp.ndarray L = factor_of_small(a, lower)
    return None if L is None else (L, L, unpaired(a, lower), lower)


def cholesky_value(a, A, bint lower=True):
    """A small matrix is factored in every call, any other once for all operations on it."""
    described = described_small(a, lower)
    if described is not None:
        return described
    factor, L = shared_triangle(a, A, lower)
    return L, L, None if factor.matrix is None else factor.matrix.unpaired, lower


cdef object shared_triangle = None


def share(function):
    """``function(a, A, lower)`` answers with the factor of a that all operations on A share, and L."""
    global shared_triangle
    shared_triangle = function


def cholesky_pushforward(L, found, lower, A_dot):
    return potrf_pushforward(L, A_dot, lower=lower)


cdef object pulled(object L, object found, bint lower, object L_bar, bint overwrite):
    """A_bar; entries that were `found` to have no mirror image get the whole derivative."""
    cdef cnp.ndarray A_bar
    cdef blas_int n
    if not is_small_square(L) or not has_shape_of(L_bar, <cnp.ndarray>L):
        M_bar = potrf_pullback(L, L_bar, lower, overwrite)
        return M_bar if found is None else onto_unpaired(M_bar, found, overwrite_m_bar=True)
    A_bar = owned(L_bar, overwrite)
    n = <blas_int>cnp.PyArray_DIM(A_bar, 0)
    if cnp.PyArray_TYPE(A_bar) == cnp.NPY_DOUBLE:
        potrf_pullback_one[double](
            lower, n, <double *>cnp.PyArray_DATA(<cnp.ndarray>L), n, <double *>cnp.PyArray_DATA(A_bar), n)
    else:
        potrf_pullback_one[float](
            lower, n, <float *>cnp.PyArray_DATA(<cnp.ndarray>L), n, <float *>cnp.PyArray_DATA(A_bar), n)
    return A_bar if found is None else onto_unpaired(A_bar, found, overwrite_m_bar=True)


cdef class Pullback(Direct):
    """The one pullback of all that factor ``A = L Lᴴ``."""

    cdef object called(self, PyObject **args, Py_ssize_t count):
        return pulled(<object>args[0], <object>args[1], <object>args[2], <object>args[3], <object>args[4])

    def __call__(self, L, found, lower, L_bar, overwrite=False):
        return pulled(L, found, lower, L_bar, overwrite)


cholesky_pullback = Pullback()
