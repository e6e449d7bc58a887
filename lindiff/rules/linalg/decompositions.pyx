"""``numpy.linalg``: eigenvalues and vectors of symmetric matrices, singular values and vectors.

Plain matrices that have entries, in any batch, are a kernel's, and so are both directions of the
derivative where the values are far enough from each other; else the policy, and the warning, of
``_degeneracy.py`` apply.
"""

cimport numpy as cnp

import numpy as np
from numpy.linalg import LinAlgError
from numpy.linalg._linalg import EighResult, SVDResult

from lindiff.core.variable cimport Variable
from lindiff.kernels.elementwise cimport has_shape_of, is_plain
from lindiff.linalg._one_triangle cimport OneTriangle
from lindiff.linalg._operation cimport Operation
from lindiff.linalg._plain cimport are_matrices, are_squares, columns, rows

from lindiff import kernels
from lindiff.core.arrays import zeros_beside
from lindiff.core.registry import composed, gives_views
from lindiff.core.variable import value
from lindiff.linalg._backend import renamed
from lindiff.linalg._degeneracy import has_equal
from lindiff.linalg._equal_eigenvalues import EqualEigenvalues, is_lower
from lindiff.linalg._matrices import adjoint, transposed
from lindiff.linalg._operation import operation
from lindiff.linalg.eigenvectors import columns_pullback, columns_pushforward, eigvalsh_pushforward
from lindiff.linalg.singular_values import (
    svd_pullback, svd_pushforward, svdvals_pullback, svdvals_pushforward,
)
from lindiff.rules.linalg.matrix_arguments import check_finite, check_stacked, check_triangle_finite

cnp.import_array()

cdef dict no_options = {}


# -- arguments -------------------------------------------------------------------------------------------

cdef inline int check_matrices(object a, str name) except -1:
    """`check_stacked`, at once where that is plain to see."""
    if type(a) is not Variable or not is_plain((<Variable>a)._value) \
            or cnp.PyArray_NDIM(<cnp.ndarray>(<Variable>a)._value) < 2:
        check_stacked(a, name)
    return 0


cdef inline bint fits(object x_bar, object like):
    return x_bar is None or has_shape_of(x_bar, <cnp.ndarray>like)


cdef inline cnp.ndarray in_double(cnp.ndarray x):
    """As NumPy computes the vectors of single precision: their signs depend on it."""
    return <cnp.ndarray>cnp.PyArray_Cast(x, cnp.NPY_DOUBLE) if cnp.PyArray_TYPE(x) == cnp.NPY_FLOAT else x


cdef inline cnp.ndarray as_given(cnp.ndarray x, cnp.ndarray given):
    """A result of `in_double` in the precision that was given."""
    return <cnp.ndarray>cnp.PyArray_Cast(x, cnp.NPY_FLOAT) if cnp.PyArray_TYPE(given) == cnp.NPY_FLOAT else x


# -- eigenvalues of symmetric matrices: a = V diag(w) Vᴴ ---------------------------------------------------

cdef tuple eigenvectors(object a, object UPLO, bint lower, str name):
    if are_squares(a) and (lower or UPLO == "U"):
        try:
            w, V = kernels.eigh(in_double(a), lower)
            return as_given(w, a), as_given(V, a)
        except LinAlgError:
            pass  # what follows fails with words
    check_triangle_finite(a, lower, name)
    return tuple(np.linalg.eigh(a, UPLO))


cdef inline bint has_gaps(object w, object V) except -1:
    """Whether they are plain, and the values far enough from each other."""
    return is_plain(V) and not kernels.nearly_equal(w)


def _eigh(a, UPLO="L"):
    cdef bint lower = UPLO == "L" or is_lower(UPLO)
    w, V = eigenvectors(a, UPLO, lower, "eigh")
    values = EqualEigenvalues.of(a, w, UPLO, "eigh") if type(a) is Variable else None
    return [w if values is None else values.w, V], w, V, OneTriangle(a, lower), values


def _eigh_pushforward(w, V, OneTriangle M, values, a_dot):
    if is_plain(V) and has_shape_of(a_dot, <cnp.ndarray>V) and has_gaps(w, V):
        return kernels.eigh_pushforward(w, V, a_dot if M.lower else transposed(a_dot))
    w_dot, V_dot = columns_pushforward(w, V, M.tangent(a_dot), "eigh")
    return w_dot if values is None else values.pushforward(a_dot), V_dot


def _eigh_pullback(w, V, OneTriangle M, values, w_bar, V_bar):
    if is_plain(V) and fits(w_bar, w) and fits(V_bar, V) and has_gaps(w, V):
        return M.gradient(kernels.eigh_pullback(w, V, w_bar, V_bar), True)
    if values is None or w_bar is None:
        return M.gradient(columns_pullback(w, V, w_bar, V_bar, "eigh"))
    a_bar = values.pullback(w_bar)
    if V_bar is None:
        return a_bar  # else the vectors know of the values
    return a_bar + M.gradient(columns_pullback(w, V, 0 * w_bar, V_bar, "eigh"))


def _eigvalsh(a, UPLO="L"):
    """The eigenvectors are kept for the derivative."""
    cdef bint lower = UPLO == "L" or is_lower(UPLO)
    if type(a) is Variable:
        check_triangle_finite(a, lower, "eigvalsh")
        values = EqualEigenvalues.of(a, np.linalg.eigvalsh(value(a), UPLO), UPLO, "eigvalsh")
        if values is not None:
            return values.w, None, None, None, values
    w, V = eigenvectors(a, UPLO, lower, "eigvalsh")
    return w, w, V, OneTriangle(a, lower), None


def _eigvalsh_pushforward(w, V, OneTriangle M, values, a_dot):
    return eigvalsh_pushforward(w, V, M.tangent(a_dot)) if values is None else values.pushforward(a_dot)


def _eigvalsh_pullback(w, V, OneTriangle M, values, w_bar):
    """``a_bar = V diag(w_bar) Vᴴ``."""
    if values is not None:
        return values.pullback(w_bar)
    if is_plain(V) and has_shape_of(w_bar, <cnp.ndarray>w) and has_gaps(w, V):
        return M.gradient(kernels.eigh_pullback(w, V, w_bar, None), True)
    return M.gradient(columns_pullback(w, V, w_bar, None, "eigvalsh"))


eigh = operation(np.linalg.eigh, _eigh, _eigh_pushforward, _eigh_pullback, result=EighResult)
eigvalsh = operation(np.linalg.eigvalsh, _eigvalsh, _eigvalsh_pushforward, _eigvalsh_pullback)


# -- singular values: a = U diag(s) Vᴴ ---------------------------------------------------------------------

cdef tuple singular_vectors(object a, bint full_matrices, str name):
    if are_squares(a) if full_matrices else are_matrices(a):
        try:
            U, s, Vh = kernels.gesdd(in_double(a))
            return as_given(U, a), as_given(s, a), as_given(Vh, a)
        except LinAlgError:
            pass  # what follows fails with words
    check_finite(a, name)
    return tuple(np.linalg.svd(a, full_matrices))


cdef bint well_apart(object U, object s, object Vh, bint values) except -1:
    """Whether they are plain and the values far enough from each other, and from zero where that matters: to
    `values` themselves, and to vectors of a matrix that is not square."""
    if not is_plain(U) or columns(<cnp.ndarray>U) != rows(<cnp.ndarray>Vh):
        return False
    return not kernels.nearly_equal(s, values or rows(<cnp.ndarray>U) != columns(<cnp.ndarray>Vh))


def _svd_value(a, full_matrices):
    U, s, Vh = singular_vectors(a, full_matrices, "svd")
    return [U, s, Vh], U, s, Vh


def _svd_pushforward(U, s, Vh, a_dot):
    if is_plain(a_dot) and well_apart(U, s, Vh, False):
        return kernels.gesdd_pushforward(U, s, Vh, a_dot)
    return svd_pushforward(U, s, Vh, a_dot)


def _svd_pullback(U, s, Vh, U_bar, s_bar, Vh_bar):
    if is_plain(U) and fits(U_bar, U) and fits(s_bar, s) and fits(Vh_bar, Vh) \
            and well_apart(U, s, Vh, U_bar is None and Vh_bar is None):
        return kernels.gesdd_pullback(U, s, Vh, U_bar, s_bar, Vh_bar)
    return svd_pullback(U, s, Vh, U_bar, s_bar, Vh_bar)


def _svdvals_value(a):
    """The vectors are kept for the derivative."""
    U, s, Vh = singular_vectors(a, False, "svdvals")
    return s, U, s, Vh


def _svdvals_pushforward(U, s, Vh, a_dot):
    return svdvals_pushforward(U, Vh, a_dot)


def _svdvals_pullback(U, s, Vh, s_bar):
    """``a_bar = U diag(s_bar) Vᴴ``."""
    if is_plain(U) and has_shape_of(s_bar, <cnp.ndarray>s) and well_apart(U, s, Vh, True):
        return kernels.gesdd_pullback(U, s, Vh, None, s_bar, None)
    return svdvals_pullback(U, s, Vh, s_bar, "svdvals")


_svd = Operation(_svd_value, _svd_value, _svd_pushforward, _svd_pullback, result=SVDResult)
_svdvals = Operation(_svdvals_value, _svdvals_value, _svdvals_pushforward, _svdvals_pullback)


@composed(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    check_matrices(a, "svd")
    if hermitian:
        return hermitian_svd(a, compute_uv)
    try:
        if not compute_uv:
            return np.linalg.svdvals(a)
        vectors = (<Operation>_svd).call((a, bool(full_matrices)), no_options)
        if not is_nested(a) or not has_equal(with_zero(vectors.S)):
            return vectors
        # whose pullback knows what it shares with the vectors
        return SVDResult(vectors.U, np.linalg.svdvals(a) + 0 * vectors.S, vectors.Vh)
    except LinAlgError as error:
        raise renamed(error, "np.linalg.svd") from None


cdef object hermitian_svd(object a, object compute_uv):
    """From the eigendecomposition, as NumPy does it."""
    if not compute_uv:
        return np.flip(np.sort(np.abs(np.linalg.eigvalsh(a)), axis=-1), axis=-1)
    w, V = np.linalg.eigh(a)
    s = np.abs(w)
    order = np.flip(np.argsort(s, axis=-1), axis=-1)
    U = np.take_along_axis(V, order[..., None, :], axis=-1)
    sign = np.take_along_axis(np.sign(w), order, axis=-1)
    return SVDResult(U, np.take_along_axis(s, order, axis=-1), adjoint(U * sign[..., None, :]))


cdef inline bint is_nested(object x):
    """Whether it is a Variable whose derivatives are differentiated."""
    return type(x) is Variable and type((<Variable>x)._value) is Variable


@composed(np.linalg.svdvals)
def svdvals(x, /):
    """At equal or zero ones, inside another derivative, from the eigenvalues of ``[[0, x], [xᴴ, 0]]``.

    Those are exact in second order.
    """
    check_matrices(x, "svdvals")
    if is_nested(x):
        check_finite(x, "svdvals")
        s = np.linalg.svd(value(x), compute_uv=False)
        if has_equal(with_zero(s)):
            w = eigenvalues_of_both_signs(x)
            return w + (s - value(w))
    return (<Operation>_svdvals).call((x,), no_options)


cdef object with_zero(object s):
    """Plain singular values, and zero: with it they have a kink."""
    plain = value(s)
    return np.concatenate([plain, np.zeros_like(plain[..., :1])], axis=-1)


cdef object eigenvalues_of_both_signs(object x):
    m, n = x.shape[-2:]
    above = np.concatenate([zeros_beside(x, (*x.shape[:-2], m, m), x.dtype), x], axis=-1)
    below = np.concatenate([adjoint(x), zeros_beside(x, (*x.shape[:-2], n, n), x.dtype)], axis=-1)
    w = np.linalg.eigvalsh(np.concatenate([above, below], axis=-2))
    return np.flip(w, axis=-1)[..., : min(m, n)]


gives_views(np.linalg.svd, np.linalg.svdvals)  # that is, nobody looks: they are none
