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
    """2n³ flops; a copy of LU where it is overwritten. Within `unchecked` nothing is raised."""
    batch = Batch("getri")
    LU = batch.square(LU, "LU")
    pivots = enter_pivots(batch, piv, LU.shape[-1])
    F, B = batch.source_and_target(LU, overwrite_lu)
    settle_factors(F, pivots, batch, singular("getri"))
    invert(F, pivots, batch.stack(B))
    return B


def inverse(A: Any) -> Any:
    """8n³/3 flops; one temporary n × n matrix. Within `unchecked` nothing is raised."""
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
    """4n³ flops; one temporary n × n matrix. Giles (2008), section 2.2.3."""
    return between("inverse_pullback", B, B_bar, "B_bar", "C", overwrite_b_bar)


def inverse_pushforward(B: Any, A_dot: Any) -> Any:
    """4n³ flops; one temporary n × n matrix. Giles (2008), section 2.2.3."""
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
    """2n³/3 flops, no memory but the results and cuSOLVER's workspace."""
    batch, LU, piv, sign, D = factored("det", A)
    d = (sign * D.prod(axis=1)).astype(batch.dtype)
    return batch.result(d), LU, piv


def slogdet(A: Any) -> tuple[Any, Any, Any, Any]:
    """2n³/3 flops, no memory but the results and cuSOLVER's workspace."""
    batch, LU, piv, sign, D = factored("slogdet", A)
    size = abs(D)
    log = cupy.log(size).sum(axis=1, dtype=np.float64).astype(batch.real_dtype)
    sign = (sign * cupy.where(size == 0, D, D / size).prod(axis=1)).astype(batch.dtype)
    return batch.result(sign), batch.result(log), LU, piv


def slogdet_pullback(LU: Any, piv: Any, log_bar: Any) -> Any:
    """2n³ flops; one temporary n × n matrix. Giles (2008), section 2.2.4.

    Within `unchecked` nothing is raised.
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
