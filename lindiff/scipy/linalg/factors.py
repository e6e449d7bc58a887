"""LU and Cholesky factors as LAPACK leaves them, and solves with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from lindiff._docstrings import documented_like
from lindiff.core.differential import Differential
from lindiff.kernels.matmul import product
from lindiff.linalg import factors
from lindiff.linalg._backend import failing_as, operator
from lindiff.linalg._batches import over_batch, require_host
from lindiff.linalg._factored import Cholesky, UpperCholesky, factored
from lindiff.linalg._matrices import adjoint
from lindiff.linalg.triangular import trmm, trsm
from lindiff.scipy.linalg._arguments import (
    as_checked,
    axes_of,
    is_plain,
    of_scipy,
    on_columns,
    promoted,
    require_square,
    require_system,
    transpose_of,
)
from lindiff.scipy.linalg._structures import Triangular

__all__ = ["cho_factor", "cho_solve", "lu_factor", "lu_solve"]

# -- LU, as LAPACK leaves it ---------------------------------------------------------------------------------


@over_batch(2)
def _plain_lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = False) -> Any:
    if a.size == 0:  # no version before 1.15 takes it
        return np.zeros_like(a), np.arange(0, dtype=np.int32)
    return scipy.linalg.lu_factor(a, overwrite_a=overwrite_a, check_finite=check_finite)


def _row_major_lu(a: Any) -> Any:
    lu, piv = _plain_lu_factor(a)
    return np.ascontiguousarray(lu), piv


@operator(_row_major_lu)
def _lu_factor(a: Any) -> Any:
    """``P a = L U``, P constant: ``L_dot = L tril(S, -1)``, ``U_dot = triu(S) U``, ``S = L⁻¹ P a_dot U⁻¹``.

    de Hoog, Anderssen & Lukas (2011).  Where L is tall or U wide, the rest follows from the square part.
    """
    lu, piv = _lu_factor(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    order = _order(piv, m)
    L = np.tril(lu[..., :k, :k], -1) + np.eye(k, dtype=lu.dtype)
    U = np.triu(lu[..., :k, :k])
    beneath, beside = lu[..., k:, :k], lu[..., :k, k:]

    def pushforward(a_dot: Any) -> Any:
        A_dot = _rows_of(a_dot, order)
        S = trsm(U, trsm(L, A_dot[..., :k, :k]), rightside=True, lower=False)
        L_dot, U_dot = trmm(L, np.tril(S, -1)), trmm(U, np.triu(S), rightside=True, lower=False)
        square = L_dot + U_dot
        if m > n:
            rest = A_dot[..., k:, :] - product(beneath, U_dot)
            rest = trsm(U, rest, rightside=True, lower=False)
            return np.concatenate([square, rest], axis=-2), None
        rest = trsm(L, A_dot[..., k:] - product(L_dot, beside))
        return np.concatenate([square, rest], axis=-1), None

    def pullback(bars: Any) -> Any:
        lu_bar = bars[0]
        L_bar = U_bar = lu_bar[..., :k, :k]
        if m > n:
            rest = trsm(U, lu_bar[..., k:, :], transpose="C", rightside=True, lower=False)
            U_bar = U_bar - product(adjoint(beneath), rest)
        else:
            rest = trsm(L, lu_bar[..., k:], transpose="C")
            L_bar = L_bar - product(rest, adjoint(beside))
        L_bar = trmm(L, np.tril(L_bar, -1), transpose="C")
        U_bar = trmm(U, np.triu(U_bar), transpose="C", rightside=True, lower=False)
        S_bar = np.tril(L_bar, -1) + np.triu(U_bar)
        square = trsm(U, trsm(L, S_bar, transpose="C"), transpose="C", rightside=True, lower=False)
        A_bar = np.concatenate([square, rest], axis=-2 if m > n else -1)
        return _rows_of(A_bar, np.argsort(order, axis=-1))

    return (lu, piv), Differential((pushforward,), (pullback,))


def _order(piv: Any, m: int) -> Any:
    """``P a`` is ``a[order]``: for i = 0, 1, ..., row i was exchanged with row ``piv[i]``."""
    order = np.empty((*piv.shape[:-1], m), np.intp)
    for index in np.ndindex(*piv.shape[:-1]):
        rows = list(range(m))
        for i, p in enumerate(piv[index].tolist()):
            rows[i], rows[p] = rows[p], rows[i]
        order[index] = rows
    return order


def _rows_of(X: Any, order: Any) -> Any:
    """The rows of X in this order; batch axes are broadcast."""
    if order.ndim == 1:
        return X[..., order, :]
    batch = np.broadcast_shapes(order.shape[:-1], X.shape[:-2])
    X = np.broadcast_to(X, (*batch, *X.shape[-2:]))
    return np.take_along_axis(X, np.broadcast_to(order, (*batch, order.shape[-1]))[..., None], axis=-2)


@documented_like(scipy.linalg.lu_factor)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """`lu` is differentiable in `a`, `piv` is constant.

    Warns
    -----
    scipy.linalg.LinAlgWarning
        If a matrix is exactly singular (its derivative then does not exist, and raises an error).

    Raises
    ------
    ValueError
        If an entry is not finite.

    Notes
    -----
    2n³/3 flops for square `a`; the pullback is four triangular solves and products of order n³.  To solve,
    :func:`solve` costs less: it needs no derivative of the factors.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import lu_factor
    >>> lu, piv = lu_factor(np.array([[1.0, 2.0], [2.0, 2.0]]))
    >>> lu
    array([[2. , 2. ],
           [0.5, 1. ]])
    """
    if is_plain(a):
        return _plain_lu_factor(np.asarray(a), overwrite_a=overwrite_a, check_finite=check_finite)
    require_host("lu_factor", a)
    return _lu_factor(as_checked(a, check_finite))


@documented_like(scipy.linalg.lu_solve)
def lu_solve(
    lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Differentiable in the factors and in `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        On Variables, if the matrix was singular (SciPy's own gives infinities).
    ValueError
        If shapes do not fit together, or an entry is not finite.

    Notes
    -----
    Two triangular solves, 2n²k flops, and twice that backward.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import lu_factor, lu_solve
    >>> lu_solve(lu_factor(np.array([[1.0, 2.0], [2.0, 2.0]])), np.array([3.0, 4.0]))
    array([1., 1.])
    """
    lu, piv = lu_and_piv
    if is_plain(lu, b):
        lu, piv, b = np.asarray(lu), np.asarray(piv), np.asarray(b)
        return _plain_lu_solve(lu, piv, b, trans, overwrite_b, check_finite)
    require_host("lu_solve", lu, piv, b)
    lu, b, piv = as_checked(lu, check_finite), as_checked(b, check_finite), np.asarray(piv)
    require_square(lu, "lu_solve", "lu")
    require_system(lu.shape[-1], lu, b, "lu_solve", "lu")
    lu, b = promoted(lu, b)
    transpose = transpose_of(trans, "lu_solve")
    order = _order(piv, lu.shape[-1])

    L, U = factored(lu, Triangular, True, True), factored(lu, Triangular, False, False)

    def solve(B: Any) -> Any:
        if not transpose:
            return factors.solve(lu, factors.solve(lu, _rows_of(B, order), False, L), False, U)
        X = factors.solve(lu, factors.solve(lu, B, transpose, U), transpose, L)
        return _rows_of(X, np.argsort(order, axis=-1))

    with failing_as("lu_solve"):
        return on_columns(solve, b)


def _plain_lu_solve(lu: Any, piv: Any, b: Any, *options: Any) -> Any:
    """SciPy's ``lu_solve`` over a batch."""

    @over_batch(2, 1, axes_of(b))
    def lu_solve(lu: Any, piv: Any, b: Any, trans: Any, overwrite_b: bool, check_finite: bool) -> Any:
        return scipy.linalg.lu_solve((lu, piv), b, trans, overwrite_b, check_finite)

    return lu_solve(lu, piv, b, *options)


# -- Cholesky, as LAPACK leaves it ---------------------------------------------------------------------------


@over_batch(2)
def _plain_cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = False
) -> Any:
    return scipy.linalg.cho_factor(a, lower, overwrite_a, check_finite)[0]


@documented_like(scipy.linalg.cho_factor)
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """`c` is differentiable in `a`, with a Hermitian gradient.

    An entry whose mirror image differs or is exactly zero has the whole derivative in the triangle that is
    read.  On Variables the other triangle of `c` is zero.

    Raises
    ------
    ValueError
        If `a` is not square, or an entry is not finite.

    Notes
    -----
    n³/3 flops, and twice that backward: Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import cho_factor
    >>> c, lower = cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> np.triu(c)
    array([[2., 1.],
           [0., 2.]])
    """
    lower = bool(lower)
    if is_plain(a):
        return _plain_cho_factor(np.atleast_2d(a), lower, overwrite_a, check_finite), lower
    a = as_checked(a, check_finite)
    require_square(a, "cho_factor")
    with failing_as("cho_factor"):
        return factors.triangle(a, factored(a, Cholesky if lower else UpperCholesky)), lower


@documented_like(scipy.linalg.cho_solve)
def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Differentiable in the factor and in `b`.

    The gradient of the factor is a triangle: the one that is read.

    Raises
    ------
    numpy.linalg.LinAlgError
        On Variables, if an entry on the diagonal is zero (SciPy's own gives infinities).
    ValueError
        If shapes do not fit together, or an entry is not finite.

    Notes
    -----
    Two triangular solves, 2n²k flops, and twice that backward.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import cho_factor, cho_solve
    >>> cho_solve(cho_factor(np.array([[4.0, 2.0], [2.0, 5.0]])), np.array([6.0, 7.0]))
    array([1., 1.])
    """
    c, lower = c_and_lower
    lower = bool(np.all(lower))
    if is_plain(c, b):
        options = (overwrite_b, check_finite)
        return of_scipy(lambda c, b: scipy.linalg.cho_solve((c, lower), b, *options), c, b)
    c, b = as_checked(c, check_finite), as_checked(b, check_finite)
    require_square(c, "cho_solve", "c")
    require_system(c.shape[-1], c, b, "cho_solve", "c")
    c, b = promoted(c, b)

    first, second = (False, "C") if lower else ("C", False)

    def solve(B: Any) -> Any:
        return trsm(c, trsm(c, B, transpose=first, lower=lower), transpose=second, lower=lower)

    with failing_as("cho_solve"):
        return on_columns(solve, b)
