"""Compiled twins of inverse, determinant, eigenvalues of symmetric matrices, singular values and LQ factors.

For plain float arrays, with any leading axes: the value is one call of a kernel, and so is each direction of
the derivative.  Everything else takes the readable rules in ``linalg.py`` and ``lindiff.linalg``, which these
twins are tested against: Variables of an enclosing trace, other dtypes, empty arrays, invalid input (for its
error), and values that are equal to rounding (for the policy, and the warning, of ``_degeneracy.py``).
"""

cimport cython
cimport numpy as cnp
from libc.math cimport fabs

import numpy as np
from numpy.linalg import LinAlgError
from numpy.linalg._linalg import EighResult, SlogdetResult, SVDResult

from lindiff.core.record cimport Node, Pull, Push
from lindiff.core.registry cimport Handler
from lindiff.core.variable cimport Variable, record, record_outputs
from lindiff.kernels.elementwise cimport has_shape_of, is_plain

from lindiff import kernels
from lindiff.core.registry import fast_path
from lindiff.linalg import gelqf, symmetric_eigen, syevd
from lindiff.linalg._one_triangle import OneTriangle
from lindiff.linalg.eigenvectors import columns_pullback, columns_pushforward, eigvalsh_pushforward
from lindiff.linalg.lq import gelqf_pullback, gelqf_pushforward
from lindiff.linalg.singular_values import (
    svd_pullback, svd_pushforward, svdvals_pullback, svdvals_pushforward,
)

cnp.import_array()

# As in factorizations.pyx: larger matrices that are Variables are factored once for all their operations.
cdef enum:
    SMALL = 32


# -- arguments -------------------------------------------------------------------------------------------

cdef inline cnp.ndarray plain_matrix(object x, bint square):
    """The value of a Variable that holds plain matrices with entries, square if so wanted; else None."""
    cdef cnp.ndarray a
    cdef int ndim
    if type(x) is not Variable or not is_plain((<Variable>x)._value):
        return None
    a = (<Variable>x)._value
    ndim = cnp.PyArray_NDIM(a)
    if ndim < 2 or cnp.PyArray_SIZE(a) == 0:
        return None
    if square and cnp.PyArray_DIM(a, ndim - 2) != cnp.PyArray_DIM(a, ndim - 1):
        return None
    return a


cdef inline cnp.ndarray lone_matrix(tuple args, dict kwargs):
    """`plain_matrix` of the only argument: a square one."""
    return None if kwargs or len(args) != 1 else plain_matrix(args[0], True)


cdef inline cnp.ndarray lone_small_matrix(tuple args, dict kwargs):
    """`lone_matrix` of an order for which sharing factors between operations costs more than factoring again
    (`lindiff.linalg._factored`).
    """
    cdef cnp.ndarray a = lone_matrix(args, kwargs)
    return None if a is None or cnp.PyArray_DIM(a, cnp.PyArray_NDIM(a) - 1) > SMALL else a


cdef inline bint fits(object x_bar, cnp.ndarray like):
    return x_bar is None or has_shape_of(x_bar, like)


cdef inline bint is_single(cnp.ndarray x):
    return cnp.PyArray_TYPE(x) == cnp.NPY_FLOAT


cdef inline cnp.ndarray in_double(cnp.ndarray x):
    """As NumPy computes the vectors of single precision: their signs depend on it."""
    return <cnp.ndarray>cnp.PyArray_Cast(x, cnp.NPY_DOUBLE) if is_single(x) else x


cdef inline cnp.ndarray as_given(cnp.ndarray x, cnp.ndarray given):
    """A result of `in_double` in the precision that was given."""
    return <cnp.ndarray>cnp.PyArray_Cast(x, cnp.NPY_FLOAT) if is_single(given) else x


cdef inline object transposed(object X):
    return np.swapaxes(X, -1, -2)


# -- inverse and determinant -----------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Inverse(Node):
    cdef cnp.ndarray B

    cdef int pull(self, Pull walk, object B_bar) except -1:
        if has_shape_of(B_bar, self.B):
            A_bar = kernels.inverse_pullback(self.B, B_bar, walk.overwrite)
        else:
            B_t = transposed(self.B)
            A_bar = -(B_t @ B_bar @ B_t)
        walk.add(self.a, A_bar, True)
        return 0

    cdef object push(self, Push walk):
        A_dot = walk.tangent(self.a)
        if A_dot is None:
            return None
        if has_shape_of(A_dot, self.B):
            return kernels.inverse_pushforward(self.B, A_dot)
        return -(self.B @ A_dot @ self.B)


cdef class FastInverse(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef Inverse node
        cdef cnp.ndarray a = lone_small_matrix(args, kwargs)
        if a is None:
            return NotImplemented
        try:
            B = kernels.inverse(a)
        except LinAlgError:
            return NotImplemented  # the readable rule fails with words
        node = Inverse.__new__(Inverse)
        node.a = (<Variable>args[0]).node
        node.B = B
        return record(node.a.trace, node, B)


cdef inline bint matrices_are_regular(const char *LU, Py_ssize_t count, Py_ssize_t n, bint single) noexcept:
    """Whether pivots are so alike that the matrices are far from singular ones."""
    cdef Py_ssize_t i, k
    cdef double x, least, largest, ratio = 0.018 if single else 1.2e-4  # fourth roots of the precisions
    for k in range(count):
        least = largest = -1
        for i in range(n):
            x = (<const float *>LU)[(k * n + i) * n + i] if single \
                else (<const double *>LU)[(k * n + i) * n + i]
            x = fabs(x)
            if not x <= largest:
                largest = x
            if least < 0 or not x >= least:
                least = x
        if not least > largest * ratio:
            return False
    return True


cdef bint is_regular(cnp.ndarray LU):
    cdef Py_ssize_t n = cnp.PyArray_DIM(LU, cnp.PyArray_NDIM(LU) - 1)
    return matrices_are_regular(<const char *>cnp.PyArray_DATA(LU), cnp.PyArray_SIZE(LU) // (n * n), n,
                                is_single(LU))


cdef object scaled_inverse_transposed(object scale, cnp.ndarray LU, cnp.ndarray piv):
    """``scale A⁻ᵀ``, one number for each matrix."""
    if type(scale) is Variable:
        return scale[..., None, None] * scaled_inverse_transposed(np.ones((), LU.dtype), LU, piv)
    return kernels.slogdet_pullback(LU, piv, scale)


@cython.no_gc
@cython.final
cdef class Determinant(Node):
    """Of a regular matrix: ``A_bar = d_bar d A⁻ᵀ``."""

    cdef cnp.ndarray d
    cdef cnp.ndarray LU
    cdef cnp.ndarray piv

    cdef int pull(self, Pull walk, object d_bar) except -1:
        walk.add(self.a, scaled_inverse_transposed(d_bar * self.d, self.LU, self.piv), True)
        return 0

    cdef object push(self, Push walk):
        A_dot = walk.tangent(self.a)
        return None if A_dot is None \
            else np.sum(scaled_inverse_transposed(self.d, self.LU, self.piv) * A_dot, axis=(-2, -1))


cdef class FastDeterminant(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef Determinant node
        cdef cnp.ndarray a = lone_small_matrix(args, kwargs)
        if a is None:
            return NotImplemented
        d, LU, piv = kernels.det(a)
        if not is_regular(LU):
            return NotImplemented  # the adjugate knows what to do
        node = Determinant.__new__(Determinant)
        node.a = (<Variable>args[0]).node
        node.d = d
        node.LU = LU
        node.piv = piv
        return record(node.a.trace, node, d)


@cython.no_gc
@cython.final
cdef class LogDeterminant(Node):
    """``A_bar = log_bar A⁻ᵀ``; the sign is constant."""

    cdef cnp.ndarray LU
    cdef cnp.ndarray piv

    cdef int pull(self, Pull walk, object bars) except -1:
        if bars[1] is not None:
            walk.add(self.a, scaled_inverse_transposed(bars[1], self.LU, self.piv), True)
        return 0

    cdef object push(self, Push walk):
        A_dot = walk.tangent(self.a)
        if A_dot is None:
            return None
        A_inv_t = scaled_inverse_transposed(np.ones((), self.LU.dtype), self.LU, self.piv)
        return [None, np.sum(A_inv_t * A_dot, axis=(-2, -1))]


cdef class FastLogDeterminant(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef LogDeterminant node
        cdef cnp.ndarray a = lone_small_matrix(args, kwargs)
        if a is None:
            return NotImplemented
        sign, log, LU, piv = kernels.slogdet(a)
        node = LogDeterminant.__new__(LogDeterminant)
        node.a = (<Variable>args[0]).node
        node.LU = LU
        node.piv = piv
        return SlogdetResult._make(record_outputs(node.a.trace, node, [sign, log]))


# -- symmetric matrices ----------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class ColumnEigen(Node):
    """``a = V diag(w) Vᵀ``."""

    cdef cnp.ndarray w
    cdef cnp.ndarray V
    cdef bint values_only
    cdef object matrix  # how it depends on ``a``: a OneTriangle

    cdef int pull(self, Pull walk, object bars) except -1:
        w_bar, V_bar = (bars, None) if self.values_only else bars
        if fits(w_bar, self.w) and fits(V_bar, self.V) and not kernels.nearly_equal(self.w):
            A_bar = kernels.eigh_pullback(self.w, self.V, w_bar, V_bar)
        else:
            A_bar = columns_pullback(self.w, self.V, w_bar, V_bar, "eigvalsh" if self.values_only else "eigh")
        walk.add(self.a, self.matrix.gradient(A_bar, overwrite=True), True)
        return 0

    cdef object push(self, Push walk):
        a_dot = walk.tangent(self.a)
        if a_dot is None:
            return None
        a_dot = self.matrix.tangent(a_dot)
        if self.values_only:
            return eigvalsh_pushforward(self.w, self.V, a_dot)
        if has_shape_of(a_dot, self.V) and not kernels.nearly_equal(self.w):
            return kernels.eigh_pushforward(self.w, self.V, a_dot)
        return columns_pushforward(self.w, self.V, a_dot, "eigh")


cdef class FastEigh(Handler):
    """Twin of ``np.linalg.eigh`` and ``np.linalg.eigvalsh``."""

    cdef object call(self, tuple args, dict kwargs):
        cdef ColumnEigen node
        cdef cnp.ndarray a
        triangle = "L"
        if len(args) == 2 and not kwargs:
            triangle = args[1]
        elif len(kwargs) == 1 and "UPLO" in kwargs and len(args) == 1:
            triangle = kwargs["UPLO"]
        elif kwargs or len(args) != 1:
            return NotImplemented
        a = plain_matrix(args[0], True)
        if a is None or type(triangle) is not str or triangle not in ("L", "U"):
            return NotImplemented
        try:
            w, V = kernels.eigh(in_double(a), triangle == "L")
        except LinAlgError:
            return NotImplemented  # the readable rule fails with words
        node = ColumnEigen.__new__(ColumnEigen)
        node.a = (<Variable>args[0]).node
        node.w = w = as_given(w, a)
        node.V = V = as_given(V, a)
        node.matrix = OneTriangle(a, triangle == "L")
        node.values_only = self.function is np.linalg.eigvalsh
        if node.values_only:
            return record(node.a.trace, node, w)
        return EighResult._make(record_outputs(node.a.trace, node, [w, V]))


@cython.no_gc
@cython.final
cdef class RowEigen(Node):
    """``A = Uᵀ diag(λ) U``."""

    cdef cnp.ndarray U
    cdef cnp.ndarray lam
    cdef object matrix  # how it depends on ``a``: a OneTriangle

    cdef int pull(self, Pull walk, object bars) except -1:
        U_bar, lam_bar = bars
        if fits(U_bar, self.U) and fits(lam_bar, self.lam) and not kernels.nearly_equal(self.lam):
            A_bar = kernels.syevd_pullback(self.U, self.lam, U_bar, lam_bar)
        else:
            A_bar = symmetric_eigen.formula_pullback(self.U, self.lam, U_bar, lam_bar)
        walk.add(self.a, self.matrix.gradient(A_bar, overwrite=True), True)
        return 0

    cdef object push(self, Push walk):
        A_dot = walk.tangent(self.a)
        if A_dot is None:
            return None
        A_dot = self.matrix.tangent(A_dot)
        if has_shape_of(A_dot, self.U) and not kernels.nearly_equal(self.lam):
            return kernels.syevd_pushforward(self.U, self.lam, A_dot)
        return symmetric_eigen.formula_pushforward(self.U, self.lam, A_dot)


cdef class FastSyevd(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef RowEigen node
        cdef cnp.ndarray a = lone_matrix(args, kwargs)
        if a is None:
            return NotImplemented
        try:
            U, lam = kernels.syevd(a)
        except LinAlgError:
            return NotImplemented  # the readable rule fails with words
        node = RowEigen.__new__(RowEigen)
        node.a = (<Variable>args[0]).node
        node.U = U
        node.lam = lam
        node.matrix = OneTriangle(a, True)
        return tuple(record_outputs(node.a.trace, node, [U, lam]))


# -- singular values -------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Singular(Node):
    """``A = U diag(s) Vh``, with as many singular vectors as values."""

    cdef cnp.ndarray U
    cdef cnp.ndarray s
    cdef cnp.ndarray Vh
    cdef bint values_only

    cdef bint well_apart(self, bint values):
        """Whether the values are far enough from each other, and from zero where that matters: to `values`
        themselves, and to vectors of a matrix that is not square.
        """
        cdef int i = cnp.PyArray_NDIM(self.U) - 2
        return not kernels.nearly_equal(
            self.s, values or cnp.PyArray_DIM(self.U, i) != cnp.PyArray_DIM(self.Vh, i + 1))

    cdef int pull(self, Pull walk, object bars) except -1:
        U_bar, s_bar, Vh_bar = (None, bars, None) if self.values_only else bars
        if fits(U_bar, self.U) and fits(s_bar, self.s) and fits(Vh_bar, self.Vh) \
                and self.well_apart(U_bar is None and Vh_bar is None):
            A_bar = kernels.gesdd_pullback(self.U, self.s, self.Vh, U_bar, s_bar, Vh_bar)
        elif self.values_only:
            A_bar = svdvals_pullback(self.U, self.s, self.Vh, s_bar, "svdvals")
        else:
            A_bar = svd_pullback(self.U, self.s, self.Vh, U_bar, s_bar, Vh_bar)
        walk.add(self.a, A_bar, True)
        return 0

    cdef object push(self, Push walk):
        A_dot = walk.tangent(self.a)
        if A_dot is None:
            return None
        if self.values_only:
            return svdvals_pushforward(self.U, self.Vh, A_dot)
        if is_plain(A_dot) and self.well_apart(False):
            return kernels.gesdd_pushforward(self.U, self.s, self.Vh, A_dot)
        return svd_pushforward(self.U, self.s, self.Vh, A_dot)


cdef object svd_of(Variable x, bint values_only):
    """The record of a thin SVD, or of singular values."""
    cdef Singular node
    try:
        U, s, Vh = kernels.gesdd(in_double(x._value))
    except LinAlgError:
        return NotImplemented  # the readable rule fails with words
    node = Singular.__new__(Singular)
    node.a = x.node
    node.U = U = as_given(U, x._value)
    node.s = s = as_given(s, x._value)
    node.Vh = Vh = as_given(Vh, x._value)
    node.values_only = values_only
    if values_only:
        return record(x.node.trace, node, s)
    return SVDResult._make(record_outputs(x.node.trace, node, [U, s, Vh]))


cdef class FastSvdvals(Handler):
    cdef object call(self, tuple args, dict kwargs):
        if kwargs or len(args) != 1 or plain_matrix(args[0], False) is None:
            return NotImplemented
        return svd_of(args[0], True)


def full_matrices_only(x, full_matrices=True, compute_uv=True, hermitian=False):
    """``full_matrices`` of a call of ``np.linalg.svd`` that asks for vectors; else None."""
    return bool(full_matrices) if compute_uv and not hermitian else None


cdef class FastSvd(Handler):
    """Twin of ``np.linalg.svd`` where there are no vectors beyond the values."""

    cdef object call(self, tuple args, dict kwargs):
        cdef cnp.ndarray a
        if not 1 <= len(args) <= 4:
            return NotImplemented
        full = full_matrices_only(*args, **kwargs)
        if full is None:
            return NotImplemented
        a = plain_matrix(args[0], full)
        return NotImplemented if a is None else svd_of(args[0], False)


# -- LQ --------------------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class LQ(Node):
    cdef cnp.ndarray Q
    cdef cnp.ndarray L

    cdef int pull(self, Pull walk, object bars) except -1:
        Q_bar, L_bar = bars
        pullback = kernels.gelqf_pullback if fits(Q_bar, self.Q) and fits(L_bar, self.L) else gelqf_pullback
        walk.add(self.a, pullback(self.Q, self.L, Q_bar, L_bar), True)
        return 0

    cdef object push(self, Push walk):
        A_dot = walk.tangent(self.a)
        return None if A_dot is None else gelqf_pushforward(self.Q, self.L, A_dot)


cdef class FastGelqf(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef LQ node
        cdef cnp.ndarray a
        cdef int i
        if kwargs or len(args) != 1:
            return NotImplemented
        a = plain_matrix(args[0], False)
        if a is None:
            return NotImplemented
        i = cnp.PyArray_NDIM(a) - 2
        if cnp.PyArray_DIM(a, i) > cnp.PyArray_DIM(a, i + 1):
            return NotImplemented
        Q, L = kernels.gelqf(a)
        node = LQ.__new__(LQ)
        node.a = (<Variable>args[0]).node
        node.Q = Q
        node.L = L
        return tuple(record_outputs(node.a.trace, node, [Q, L]))


def use_decomposition_paths():
    """Give the readable rules of these functions their compiled twins."""
    fast_path(np.linalg.inv, FastInverse(np.linalg.inv))
    fast_path(np.linalg.det, FastDeterminant(np.linalg.det))
    fast_path(np.linalg.slogdet, FastLogDeterminant(np.linalg.slogdet))
    fast_path(np.linalg.eigh, FastEigh(np.linalg.eigh))
    fast_path(np.linalg.eigvalsh, FastEigh(np.linalg.eigvalsh))
    fast_path(np.linalg.svd, FastSvd(np.linalg.svd))
    fast_path(np.linalg.svdvals, FastSvdvals(np.linalg.svdvals))
    syevd.primitive.fast = FastSyevd(syevd.primitive)
    gelqf.primitive.fast = FastGelqf(gelqf.primitive)
