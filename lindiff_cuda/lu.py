"""LU with exchanges of columns, A = L U P: L lower, U upper with a diagonal of ones, P a permutation.

This is what getrf of the transpose leaves in a row-major array: all that solve, inverse and determinant need.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from lindiff_cuda import rowmajor, small, tuning
from lindiff_cuda.arrays import Batch, misfit, transposition
from lindiff_cuda.checks import checking, first_bad, settle
from lindiff_cuda.triangles import diagonal

__all__ = ["getrf", "getrs"]

OUT_OF_RANGE = -1  # of info, beside the index of a zero


# ---- stacks --------------------------------------------------------------------------------------------


def factor(A: Any) -> tuple[Any, Any]:
    """A := L and U of A = L U P; returns the pivots, counted from 0, and info."""
    piv = cupy.empty(A.shape[:2], np.int32)
    if tuning.is_fused("getrf", A.shape[1], A.dtype):
        return piv, small.getrf(A, piv) if A.size else cupy.zeros(len(A), np.int32)
    info = rowmajor.getrf(A, piv)
    piv -= 1  # LAPACK counts from 1
    return piv, info


def is_small(LU: Any, X: Any) -> bool:
    """Whether the fused kernel is the better one for the factors LU, one for each X (count, n, k)."""
    count, n, k = X.shape
    walks = tuning.is_fused_along("getrs", n, X.dtype, k, tuning.VECTORS, count)
    return LU.shape[0] == count and walks


def solve(LU: Any, piv: Any, X: Any, transpose: bool | str) -> None:
    """X := A⁻¹ X, A⁻ᵀ X or A⁻ᴴ X.

    getrs wants columns one after the other: X goes through its transpose, but for a single column. For one
    matrix that all of the batch share, the columns of all make one system.
    """
    count, n, k = X.shape
    if X.size == 0:
        return
    if is_small(LU, X):
        small.getrs(LU, contiguous_pivots(piv, count), X, transpose)
        return
    conjugate = transpose == "C" and X.dtype.kind == "c"  # A⁻ᴴ X is the conjugate of A⁻ᵀ X̄
    Xt = X.reshape(count, k, n) if k == 1 and not conjugate else X.swapaxes(1, 2).copy()
    if conjugate:
        cupy.conjugate(Xt, Xt)
    shared = LU.shape[0] == piv.shape[0] == 1
    rows = Xt.reshape(1, count * k, n) if shared else Xt
    rowmajor.getrs(LU, contiguous_pivots(piv, len(rows)) + 1, rows, bool(transpose))
    if conjugate:
        cupy.conjugate(Xt, Xt)
    if k > 1 or conjugate:
        X[...] = Xt.swapaxes(1, 2)


def contiguous_pivots(piv: Any, count: int) -> Any:
    return cupy.ascontiguousarray(cupy.broadcast_to(piv, (count, piv.shape[1])))


def invert(LU: Any, piv: Any, X: Any) -> None:
    """X := A⁻¹; X is not LU."""
    n = X.shape[1]
    if X.size == 0:
        return
    if tuning.is_fused("getri", n, X.dtype):
        X[...] = LU
        small.getri(X, contiguous_pivots(piv, len(X)))
        return
    X[...] = 0
    diagonal(X)[...] = 1
    # the rows x of the inverse solve Aᵀ x = e: no transposition
    rowmajor.getrs(LU, contiguous_pivots(piv, len(X)) + 1, X, True)


# ---- arrays --------------------------------------------------------------------------------------------


def getrf(A: Any, overwrite_a: bool = False) -> tuple[Any, Any]:
    """2n³/3 flops, no memory but the results and cuSOLVER's workspace.

    A singular matrix raises no error here: its determinant is still wanted.
    """
    batch = Batch("getrf")
    LU = batch.own(batch.square(A, "A"), overwrite_a)
    piv, _ = factor(batch.stack(LU))
    return LU, batch.result(piv)


def enter_pivots(batch: Batch, piv: Any, n: int) -> Any:
    """The pivots of `getrf`, which must be integers, for each matrix or for all; as a stack."""
    if not isinstance(piv, cupy.ndarray):
        piv = batch.enter(piv, "piv", 1)  # raises
    if piv.dtype.kind not in "iu":
        raise TypeError(f"{batch.operator}: piv has dtype {piv.dtype}; integers work")
    leading = piv.shape[:-1]
    fits = piv.ndim >= 1 and piv.shape[-1] == n and (leading == batch.shape or set(leading) <= {1})
    if not fits:
        raise ValueError(
            f"{batch.operator}: piv of shape {piv.shape} does not hold {n} indices for each matrix"
        )
    return cupy.ascontiguousarray(piv, np.int32).reshape(math.prod(leading), n)


def settle_factors(F: Any, pivots: Any, batch: Batch, message: Callable[[int, int], str]) -> None:
    """`settle_pivots` for L, and for indices that are out of range, in one look.

    Such an index would have the library read and write anywhere: it is refused before it is used.
    """
    if not checking() or pivots.size == 0:
        return
    n = pivots.shape[1]
    out = ((pivots < 0) | (pivots >= n)).any(axis=1)

    def described(k: int, info: int) -> str:
        if info != OUT_OF_RANGE:
            return message(k, info)
        own = pivots[k % len(pivots)].get()
        index = own[(own < 0) | (own >= n)][0]
        raise ValueError(f"{batch.operator}: piv holds the index {index}, out of range for order {n}")

    settle(cupy.where(out, np.int32(OUT_OF_RANGE), first_bad(F)), batch.shape, described)


def singular(operator: str) -> Callable[[int, int], str]:
    return lambda _, info: f"{operator}: singular matrix, entry {info - 1} of the diagonal of L is zero"


def getrs(LU: Any, piv: Any, B: Any, transpose: bool | str = False, overwrite_b: bool = False) -> Any:
    """2n²k flops, a temporary of the shape of B if k > 1. Within `unchecked` nothing is raised."""
    batch = Batch("getrs")
    transpose = transposition(transpose, "getrs")
    LU, B = batch.square(LU, "LU"), batch.enter(B, "B")
    n = LU.shape[-1]
    if B.shape[-2] != n:
        raise misfit("getrs", "LU", LU, "B", B)
    batch.keep(LU)
    F, pivots = batch.read(LU), enter_pivots(batch, piv, n)
    settle_factors(F, pivots, batch, singular("getrs"))
    X = batch.own(B, overwrite_b)
    solve(F, pivots, batch.stack(X), transpose)
    return X
