"""Triangular factors: Cholesky, LU, LDL."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import failing_as
from lindiff.linalg._matrices import adjoint, blocks, conj, transposed
from lindiff.linalg._one_triangle import OneTriangle
from lindiff.linalg.cholesky import potrf
from lindiff.linalg.triangular import trsm
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.linalg._arguments import as_checked, require_square, singular_means

__all__ = ["cholesky", "ldl", "lu"]


def rows(X: Any, order: Any) -> Any:
    """The rows of X in this order, an array of integers for each matrix."""
    return np.take_along_axis(X, order[..., None], axis=-2)


# -- Cholesky ------------------------------------------------------------------------------------------------


@drop_in(scipy.linalg.cholesky, 2, anywhere=True)
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Differentiable in `a`, with a Hermitian gradient.

    An entry whose mirror image differs or is exactly zero has the whole derivative in the triangle that is
    read.

    Raises
    ------
    ValueError
        If `a` is not square, or has an entry that is not finite.

    Notes
    -----
    The operator :func:`lindiff.linalg.potrf`: n³/3 flops, twice that backward.

    Examples
    --------
    >>> import numpy as np
    >>> cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]), lower=True)
    array([[2., 0.],
           [1., 2.]])
    """
    a = as_checked(a, check_finite)
    require_square(a, "cholesky")
    with failing_as("cholesky"):
        return potrf(a, lower=lower)


# -- LU ------------------------------------------------------------------------------------------------------


@drop_in(scipy.linalg.lu, 2)
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """L and U are differentiable in `a`.

    P is constant: small changes of `a` do not change the exchanges.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if the first k columns of `a` have no full rank: L is not differentiable there.
    ValueError
        If `a` is no matrix, or has an entry that is not finite.

    Notes
    -----
    2n³/3 flops for a square matrix, 4n³ for its derivative.  With ``F = L₁⁻¹ a_dot₁₁ U₁⁻¹`` of the leading
    square blocks of the exchanged matrix, ``L_dot = L tril(F, -1)`` and ``U_dot = triu(F) U``, and what the
    last rows or columns add; de Hoog, Anderssen and Lukas (2011) for square matrices.

    Examples
    --------
    >>> import numpy as np
    >>> p, L, U = lu(np.array([[1.0, 2.0], [2.0, 2.0]]), p_indices=True)
    >>> L[p] @ U
    array([[1., 2.],
           [2., 2.]])
    """
    p, L, U = _lu(as_checked(a, check_finite))
    if permute_l:
        return (rows(L, p) if p.size else L), U
    return (p if p_indices else _permutation(p, L)), L, U


def _permutation(p: Any, L: Any) -> Any:
    """``P``, so that ``P L = L[p]``."""
    return (p[..., :, None] == np.arange(p.shape[-1])).astype(value(L).real.dtype)


@rule
def _lu(a: Any) -> Any:
    """P, L and U, with the differential of ``a' = L U``, where the rows of a have been exchanged."""
    p, L, U = lu(a, check_finite=False, p_indices=True)
    m, n = a.shape[-2:]
    k = min(m, n)
    exchanges = np.argsort(p, axis=-1)
    L1, L2, U1, U2 = L[..., :k, :], L[..., k:, :], U[..., :k], U[..., k:]
    meaning = "lu: where the first columns of a have no full rank, L has no derivative"

    @singular_means(meaning)
    def pushforward(a_dot: Any) -> Any:
        if a.size == 0:
            return None, None, None
        a_dot = rows(a_dot, exchanges)
        left = trsm(L1, a_dot[..., :k, :])
        F = trsm(U1, left[..., :k], rightside=True, lower=False)
        L_dot, U_dot = product(L, np.tril(F, -1)), product(np.triu(F), U)
        if m > n:
            below = trsm(U1, a_dot[..., k:, :], rightside=True, lower=False) - product(L2, F)
            L_dot = np.concatenate([L_dot[..., :k, :], L_dot[..., k:, :] + below], axis=-2)
        if m < n:
            beside = left[..., k:] - product(F, U2)
            U_dot = np.concatenate([U_dot[..., :k], U_dot[..., k:] + beside], axis=-1)
        return None, L_dot, U_dot

    @singular_means(meaning)
    def pullback(bars: Any) -> Any:
        _, L_bar, U_bar = bars
        if a.size == 0:
            return np.zeros_like(a)
        F_bar = np.tril(product(adjoint(L), L_bar), -1) + np.triu(product(U_bar, adjoint(U)))
        if m > n:
            F_bar = F_bar - product(adjoint(L2), L_bar[..., k:, :])
        if m < n:
            F_bar = F_bar - product(U_bar[..., k:], adjoint(U2))
        a_bar = trsm(U1, F_bar, transpose="C", rightside=True, lower=False)
        if m < n:
            a_bar = np.concatenate([a_bar, U_bar[..., k:]], axis=-1)
        a_bar = trsm(L1, a_bar, transpose="C")
        if m > n:
            below = trsm(U1, L_bar[..., k:, :], transpose="C", rightside=True, lower=False)
            a_bar = np.concatenate([a_bar, below], axis=-2)
        return rows(a_bar, p)

    return (p, L, U), Differential((pushforward,), (pullback,))


# -- LDL -----------------------------------------------------------------------------------------------------


@drop_in(scipy.linalg.ldl, 2)
def ldl(
    A: Any,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:
    """`lu` and `d` are differentiable in `A`, with a Hermitian (or symmetric) gradient.  `perm` is constant.

    An entry whose mirror image differs or is exactly zero has the whole derivative in the triangle that is
    read.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if A is singular: L is not differentiable there.

    Notes
    -----
    The pivots, and with them the blocks, stay as they are under small changes of A.  With
    ``M = L⁻¹ A_dot L⁻ᴴ`` of the permuted matrix, ``d_dot`` are the diagonal blocks of M, and
    ``L_dot = L (below(M) D⁻¹)``, where ``below`` takes what is below the blocks.  n³/3 flops, 4n³ for the
    derivative.

    Examples
    --------
    >>> import numpy as np
    >>> L, d, perm = ldl(np.array([[2.0, 4.0], [4.0, 9.0]]))
    >>> L @ d @ L.T
    array([[2., 4.],
           [4., 9.]])
    """
    A = as_checked(A, check_finite)
    require_square(A, "ldl", "A")
    return _ldl(A, bool(lower), bool(hermitian) or A.dtype.kind != "c")


@rule
def _ldl(A: Any, lower: bool, hermitian: bool) -> Any:
    """L, permuted back, D and the permutation; formulas at :func:`ldl`."""
    permuted, D, perm = ldl(A, lower, hermitian, check_finite=False)
    back = np.argsort(perm, axis=-1)
    L = rows(permuted, perm)
    within, below = blocks(value(D), lower)
    adjoint_or_transposed, transpose = (adjoint, "C") if hermitian else (transposed, True)
    matrix = OneTriangle(A, lower, hermitian)

    def over_D(X: Any) -> Any:
        """``X D⁻¹``: D is its own adjoint, or transpose."""
        with singular_means("ldl: of a singular A, L has no derivative"):
            return adjoint_or_transposed(np.linalg.solve(D, adjoint_or_transposed(X)))

    def exchanged(X: Any, order: Any) -> Any:
        return transposed(rows(transposed(rows(X, order)), order))

    def pushforward(A_dot: Any) -> Any:
        M = trsm(L, exchanged(matrix.tangent(A_dot), perm), lower=lower)
        M = trsm(L, M, transpose=transpose, rightside=True, lower=lower)
        return rows(product(L, over_D(below * M)), back), within * M, None

    def pullback(bars: Any) -> Any:
        permuted_bar, D_bar, _ = bars
        M_bar = 0.0 if D_bar is None else within * D_bar
        if permuted_bar is not None:
            L_bar = rows(permuted_bar, perm)
            K = product(adjoint(L), L_bar)
            over = over_D(K) if hermitian else conj(over_D(conj(K)))
            M_bar = M_bar + below * over
        X = trsm(L, M_bar, transpose="C", lower=lower)
        if hermitian:
            X = trsm(L, X, rightside=True, lower=lower)
        else:
            X = conj(trsm(L, conj(X), rightside=True, lower=lower))
        return matrix.gradient_of_any(exchanged(X, back))

    return (permuted, D, perm), Differential((pushforward,), (pullback,), symbolic_zeros=True)
