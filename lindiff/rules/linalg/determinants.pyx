"""``numpy.linalg``: inverse and determinants, of what a square matrix is factored into.

A matrix that is a Variable is factored once for all its operations (``lindiff.linalg._factored``), but for
plain ones of a low order, of which sharing costs more than factoring again.
"""

cimport numpy as cnp
from libc.math cimport fabs

import numpy as np
from numpy.linalg import LinAlgError
from numpy.linalg._linalg import SlogdetResult

from lindiff.kernels.elementwise cimport has_shape_of
from lindiff.linalg._plain cimport are_small_squares, columns

from lindiff import kernels
from lindiff.linalg import factors
from lindiff.linalg._backend import renamed
from lindiff.linalg._factored import LU, factored
from lindiff.linalg._operation import operation
from lindiff.linalg.factors import inverse_pullback, inverse_pushforward
from lindiff.rules.linalg.matrix_arguments import check_square

cnp.import_array()

cdef object ONE = np.ones((), np.float32)  # which changes no dtype


# -- the inverse -------------------------------------------------------------------------------------------

def _inv(a, A):
    try:
        if are_small_squares(a):
            B = kernels.inverse(a)
        else:
            check_square(a, "inv")
            B = factors.inverse(a, factored(A, LU))
    except LinAlgError as error:
        raise renamed(error, "np.linalg.inv") from None
    return B, B


inv = operation(np.linalg.inv, _inv, inverse_pushforward, inverse_pullback, overwrites=True, shares=True)


# -- determinants ------------------------------------------------------------------------------------------

cdef bint matrices_are_regular(const char *triangles, Py_ssize_t count, Py_ssize_t n, bint single) noexcept:
    """Whether pivots are so alike that the matrices are far from singular ones."""
    cdef Py_ssize_t i, k
    cdef double x, least, largest, ratio = 0.018 if single else 1.2e-4  # fourth roots of the precisions
    for k in range(count):
        least = largest = -1
        for i in range(n):
            x = (<const float *>triangles)[(k * n + i) * n + i] if single \
                else (<const double *>triangles)[(k * n + i) * n + i]
            x = fabs(x)
            if not x <= largest:
                largest = x
            if least < 0 or not x >= least:
                least = x
        if not least > largest * ratio:
            return False
    return True


cdef bint is_regular(cnp.ndarray triangles):
    cdef Py_ssize_t n = columns(triangles)
    return matrices_are_regular(
        <const char *>cnp.PyArray_DATA(triangles), cnp.PyArray_SIZE(triangles) // (n * n), n,
        cnp.PyArray_TYPE(triangles) == cnp.NPY_FLOAT)


cdef object factor_of(object a, object factor):
    """The factor that all share; of a small matrix, for derivatives of derivatives, its own."""
    return factored(a, LU) if factor is None else factor


def _det(a, A):
    if are_small_squares(a):
        d, triangles, piv = kernels.det(a)
        if is_regular(triangles):
            return d, a, None, d, triangles, piv
    check_square(a, "det")
    factor = factored(A, LU)
    d = factors.det(a, factor)
    return d, a, factor, d, None, None


def _det_pushforward(a, factor, d, triangles, piv, a_dot):
    if factor is None:
        return np.sum(kernels.slogdet_pullback(triangles, piv, d) * a_dot, axis=(-2, -1))
    return factors.det_pushforward(a, factor_of(a, factor), d, a_dot)


def _det_pullback(a, factor, d, triangles, piv, d_bar):
    """``a_bar = d_bar d a⁻ᵀ`` of a regular matrix."""
    if factor is None and has_shape_of(d_bar, <cnp.ndarray>d):
        return kernels.slogdet_pullback(triangles, piv, d_bar * d)
    return factors.det_pullback(a, factor_of(a, factor), d, d_bar)


def _slogdet(a, A):
    if are_small_squares(a):
        sign, log, triangles, piv = kernels.slogdet(a)
        return [sign, log], a, None, sign, triangles, piv
    check_square(a, "slogdet")
    factor = factored(A, LU)
    sign, log = factors.slogdet(a, factor)
    return [sign, log], a, factor, sign, None, None


def _slogdet_pushforward(a, factor, sign, triangles, piv, a_dot):
    if factor is None:
        try:
            return None, np.sum(kernels.slogdet_pullback(triangles, piv, ONE) * a_dot, axis=(-2, -1))
        except LinAlgError:
            pass  # what follows fails with words
    return factors.slogdet_pushforward(a, factor_of(a, factor), sign, a_dot)


def _slogdet_pullback(a, factor, sign, triangles, piv, sign_bar, log_bar):
    """``a_bar = log_bar a⁻ᵀ``; the sign of a real determinant is constant."""
    if factor is None and log_bar is None:
        return None
    if factor is None and has_shape_of(log_bar, <cnp.ndarray>sign):
        try:
            return kernels.slogdet_pullback(triangles, piv, log_bar)
        except LinAlgError:
            pass  # what follows fails with words
    return factors.slogdet_pullback(a, factor_of(a, factor), sign, sign_bar, log_bar)


det = operation(np.linalg.det, _det, _det_pushforward, _det_pullback, shares=True)
slogdet = operation(
    np.linalg.slogdet, _slogdet, _slogdet_pushforward, _slogdet_pullback, result=SlogdetResult, shares=True)
