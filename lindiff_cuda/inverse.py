"""Inverse and determinant, forward and backward, from the LU factors of `lu.py`: A = L U P.

Expressions: Giles (2008), sections 2.2.3 and 2.2.4.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lindiff_cuda import rowmajor, tuning
from lindiff_cuda.arrays import Batch
from lindiff_cuda.checks import settle, spoil
from lindiff_cuda.lu import enter_pivots, factor, invert, settle_factors, singular
from lindiff_cuda.triangles import adjoint, diagonal

__all__ = [
    "det",
    "getri",
    "inverse",
    "inverse_pullback",
    "inverse_pushforward",
    "slogdet",
    "slogdet_pullback",
]


# ---- stacks --------------------------------------------------------------------------------------------


def sign_of_exchanges(piv: Any) -> Any:
    """1 or -1 for each matrix."""
    exchanged = piv != cupy.arange(piv.shape[1], dtype=np.int32)
    return 1 - 2 * (exchanged.sum(axis=1) % 2)


# ---- arrays --------------------------------------------------------------------------------------------


def getri(LU: Any, piv: Any, overwrite_lu: bool = False) -> Any:
    """Inverse from the factors of `getrf`.

    Parameters
    ----------
    LU : (..., n, n) cupy.ndarray
    piv : (..., n) cupy.ndarray of int
        Both from `getrf`.
    overwrite_lu : bool
        The inverse may overwrite LU.

    Returns
    -------
    B : (..., n, n) cupy.ndarray

    Raises
    ------
    numpy.linalg.LinAlgError
        If A was singular; not within `unchecked`.

    Notes
    -----
    2n³ flops; a copy of LU where it is overwritten.
    """
    batch = Batch("getri")
    LU = batch.square(LU, "LU")
    pivots = enter_pivots(batch, piv, LU.shape[-1])
    F, B = batch.source_and_target(LU, overwrite_lu)
    settle_factors(F, pivots, batch, singular("getri"))
    invert(F, pivots, batch.stack(B))
    return B


def inverse(A: Any) -> Any:
    """Inverse of a square matrix.

    Parameters
    ----------
    A : (..., n, n) cupy.ndarray

    Returns
    -------
    B : (..., n, n) cupy.ndarray

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is singular; not within `unchecked`.

    Notes
    -----
    8n³/3 flops; one temporary n × n matrix.
    """
    batch = Batch("inverse")
    LU = batch.stack(batch.own(batch.square(A, "A")))
    piv, info = factor(LU)
    B = batch.empty(*LU.shape[1:])
    invert(LU, piv, B)
    if not tuning.is_fused("getri", LU.shape[1], LU.dtype):
        spoil(info, B)
    settle(info, batch.shape, singular("inverse"))
    return batch.result(B)


def between(operator: str, B: Any, X: Any, argument: str, transpose: bool | str, overwrite_x: bool) -> Any:
    """-t(B) X t(B)."""
    batch = Batch(operator)
    B, X = batch.square(B, "B"), batch.enter(X, argument)
    batch.same_matrix(B, X, "B", argument)
    batch.keep(B)
    F, T = batch.read(B), batch.empty(*B.shape[-2:])
    rowmajor.gemm(batch.read(X), F, T, False, transpose)
    Y = X if batch.mine(X, overwrite_x) else batch.result(batch.empty(*B.shape[-2:]))
    rowmajor.gemm(F, T, batch.stack(Y), transpose, False, -1.0)
    return Y


def inverse_pullback(B: Any, B_bar: Any, overwrite_b_bar: bool = False) -> Any:
    """Pullback of `inverse`: A_bar = -Bᴴ B_bar Bᴴ.

    Parameters
    ----------
    B : (..., n, n) cupy.ndarray
        The result of `inverse`.
    B_bar : (..., n, n) cupy.ndarray
    overwrite_b_bar : bool
        A_bar may overwrite B_bar.

    Returns
    -------
    A_bar : (..., n, n) cupy.ndarray

    Notes
    -----
    4n³ flops; one temporary n × n matrix. Giles (2008), section 2.2.3.
    """
    return between("inverse_pullback", B, B_bar, "B_bar", "C", overwrite_b_bar)


def inverse_pushforward(B: Any, A_dot: Any) -> Any:
    """Pushforward of `inverse`: B_dot = -B A_dot B.

    Parameters
    ----------
    B : (..., n, n) cupy.ndarray
        The result of `inverse`.
    A_dot : (..., n, n) cupy.ndarray

    Returns
    -------
    B_dot : (..., n, n) cupy.ndarray

    Notes
    -----
    4n³ flops; one temporary n × n matrix. Giles (2008), section 2.2.3.
    """
    return between("inverse_pushforward", B, A_dot, "A_dot", False, False)


def factored(operator: str, A: Any) -> tuple[Batch, Any, Any, Any, Any]:
    """The batch, LU and pivots as results, and of each matrix the sign of exchanges and the diagonal of L.

    Of a singular matrix the first zero on the diagonal is one for certain: what the library leaves behind it
    is not.
    """
    batch = Batch(operator)
    LU = batch.own(batch.square(A, "A"))
    X = batch.stack(LU)
    piv, info = factor(X)
    D = diagonal(X)
    sign = sign_of_exchanges(piv)
    D = cupy.where((info > 0)[:, None], 0, D)
    return batch, LU, batch.result(piv), sign, D


def det(A: Any) -> tuple[Any, Any, Any]:
    """Determinant, and the factors that its derivative needs.

    Parameters
    ----------
    A : (..., n, n) cupy.ndarray

    Returns
    -------
    d : (...) cupy.ndarray
    LU : (..., n, n) cupy.ndarray
    piv : (..., n) cupy.ndarray of int32
        The factors of `getrf`.

    Notes
    -----
    2n³/3 flops, no memory but the results and cuSOLVER's workspace.
    """
    batch, LU, piv, sign, D = factored("det", A)
    d = (sign * D.prod(axis=1)).astype(batch.dtype)
    return batch.result(d), LU, piv


def slogdet(A: Any) -> tuple[Any, Any, Any, Any]:
    """Sign and logarithm of the absolute value of the determinant, and the factors that they come from.

    Parameters
    ----------
    A : (..., n, n) cupy.ndarray

    Returns
    -------
    sign, logabsdet : (...) cupy.ndarray
        0 and -inf for a singular matrix.
    LU : (..., n, n) cupy.ndarray
    piv : (..., n) cupy.ndarray of int32
        The factors of `getrf`.

    Notes
    -----
    2n³/3 flops, no memory but the results and cuSOLVER's workspace.
    """
    batch, LU, piv, sign, D = factored("slogdet", A)
    size = abs(D)
    log = cupy.log(size).sum(axis=1, dtype=np.float64).astype(batch.real_dtype)
    sign = (sign * cupy.where(size == 0, D, D / size).prod(axis=1)).astype(batch.dtype)
    return batch.result(sign), batch.result(log), LU, piv


def slogdet_pullback(LU: Any, piv: Any, log_bar: Any) -> Any:
    """Pullback of log|det A|: A_bar = log_bar A⁻ᴴ. That of det A, too, with log_bar = d_bar d̄.

    Parameters
    ----------
    LU : (..., n, n) cupy.ndarray
    piv : (..., n) cupy.ndarray of int
        From `slogdet`, `det` or `getrf`.
    log_bar : (...) cupy.ndarray
        Complex where the sign of a complex determinant has a cotangent, too: less i Im(sign_bar̄ sign).

    Returns
    -------
    A_bar : (..., n, n) cupy.ndarray

    Raises
    ------
    numpy.linalg.LinAlgError
        If A was singular; not within `unchecked`.

    Notes
    -----
    2n³ flops; one temporary n × n matrix. Giles (2008), section 2.2.4.
    """
    batch = Batch("slogdet_pullback")
    LU = batch.square(LU, "LU")
    scale = batch.enter(log_bar, "log_bar", 0)
    F, scale = batch.read(LU), batch.read(scale, 0)
    n = F.shape[1]
    pivots = enter_pivots(batch, piv, n)
    settle_factors(F, pivots, batch, singular("slogdet"))
    X = batch.empty(n, n)
    invert(F, pivots, X)
    return batch.result(cupy.ascontiguousarray(adjoint(X)) * scale.reshape(-1, 1, 1))
