"""The Cholesky factorization and the inverse made from it: ``potrf``, ``potri``, ``sumlogdiag``."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.linalg._backend import fused_trusting, learn_factor, operator
from lindiff.linalg._cholesky import (
    cholesky_pullback,
    cholesky_pushforward,
    cholesky_value,
    potrf_pullback,
    potrf_pushforward,
)
from lindiff.linalg._matrices import adjoint, identity_like, mirrored, triangle
from lindiff.linalg._operation import Operation
from lindiff.linalg.diagonals import extractdiag
from lindiff.linalg.triangular import trsm

__all__ = ["potrf", "potrf_pullback", "potrf_pushforward", "potri", "sumlogdiag"]


def _potrf(A: Any, lower: bool = True) -> Any:
    L = np.linalg.cholesky(mirrored(A, lower))
    return L if lower else adjoint(L)


@operator(
    _potrf,
    Operation(
        _potrf,
        cholesky_value,
        cholesky_pushforward,
        cholesky_pullback,
        overwrites=True,
        shares=True,
        learn=learn_factor,
    ),
)
def potrf(A: Any, lower: bool = True, *, overwrite_a: bool = False) -> Any:
    """Cholesky factor of a positive definite matrix, ``A = L Lᴴ`` or ``A = Rᴴ R``.

    Parameters
    ----------
    A : (..., n, n) array
        Real or complex.  Only the triangle named by `lower` is read, and of the diagonal the real part, the
        other may hold anything; A stands for a symmetric (complex: Hermitian) matrix.  Its gradient is
        symmetric, too, but for entries whose mirror image differs or is exactly zero: they have the whole
        derivative in the triangle that is read.
    lower : bool
        The lower factor L, or the upper factor R.
    overwrite_a : bool
        The factor may overwrite a plain array A.

    Returns
    -------
    (..., n, n) array
        With zeros in the other triangle.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is not positive definite; names the leading minor and the matrix of the batch.

    Notes
    -----
    n³/3 flops, twice that backward, in place: backward needs L alone.  Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.potrf(np.array([[4.0, np.nan], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]])
    """


def _potri(L: Any, lower: bool = True) -> Any:
    eye = np.broadcast_to(identity_like(L), L.shape)
    L_inv = trsm(L, eye, lower=lower)
    return adjoint(L_inv) @ L_inv if lower else L_inv @ adjoint(L_inv)


@fused_trusting
def potri_pullback(L: Any, B: Any, B_bar: Any, lower: bool = True) -> Any:
    """``L_bar = -2 tril(B sym(B_bar) L⁻ᴴ)``; Seeger et al. (2017), section 4.2."""
    if not lower:
        return adjoint(potri_pullback(adjoint(L), B, B_bar))
    S = B @ (B_bar + adjoint(B_bar))
    return -triangle(trsm(L, S, transpose="C", rightside=True), True)


@fused_trusting
def potri_pushforward(L: Any, B: Any, L_dot: Any, lower: bool = True) -> Any:
    """``B_dot = -2 sym(B L_dot L⁻¹)``, L_dot a triangle like L."""
    if not lower:
        return potri_pushforward(adjoint(L), B, adjoint(L_dot))
    S = trsm(L, B @ triangle(L_dot, True), rightside=True)
    return -(S + adjoint(S))


@operator(_potri, divides=True)
def potri(L: Any, lower: bool = True, *, overwrite_l: bool = False) -> Any:
    """Inverse of a positive definite matrix from its Cholesky factor, ``B = (L Lᴴ)⁻¹``.

    Parameters
    ----------
    L : (..., n, n) array
        Real or complex.  Only the triangle named by `lower` is read; its gradient is a triangle, too.
    lower : bool
        L is a lower factor, or an upper one: ``B = (Rᴴ R)⁻¹``.
    overwrite_l : bool
        B may overwrite a plain array L.

    Returns
    -------
    (..., n, n) array
        Symmetric (complex: Hermitian), both triangles filled in.

    Notes
    -----
    2n³/3 flops.  Prefer solves with L to the inverse where they do.  Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.potri(np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([[ 2., -1.],
           [-1.,  1.]])
    """
    B = potri(L, lower=lower)
    return B, Differential(
        lambda L_dot: potri_pushforward(L, B, L_dot, lower=lower),
        lambda B_bar: potri_pullback(L, B, B_bar, lower=lower),
    )


def sumlogdiag(A: Any) -> Any:
    """Sum of the logarithms of the diagonal: half a log determinant, if A is a Cholesky factor.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (...) array

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.sumlogdiag(np.eye(3))
    np.float64(0.0)
    """
    return np.sum(np.log(extractdiag(A)), axis=-1)
