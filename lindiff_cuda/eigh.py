"""Symmetric eigendecomposition, A = Uᵀ diag(λ) U, λ ascending, rows of U are eigenvectors.

Expressions: Seeger et al. (2017), section 4.4 and appendix, "syevd".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from lindiff_cuda import blocks, rowmajor, small, structure, tuning
from lindiff_cuda.arrays import Batch
from lindiff_cuda.checks import settle, spoil
from lindiff_cuda.products import gemmt
from lindiff_cuda.triangles import kept_triangle

__all__ = [
    "eigh",
    "eigh_pullback",
    "eigh_pushforward",
    "nearly_equal",
    "syevd",
    "syevd_pullback",
    "syevd_pushforward",
]

NOT_FINITE = -1  # of info, beside the library's values


# ---- stacks --------------------------------------------------------------------------------------------


def factor(A: Any, lam: Any) -> Any:
    """lam, A := U with A = Uᵀ diag(lam) U, from the lower triangle, signs by the rule; returns info.

    With NaN or infinity cuSOLVER might not return: such a matrix is replaced.
    """
    if tuning.is_fused("syevd", A.shape[1], A.dtype):
        return small.syevd(A, lam)
    if tuning.is_blockwise("syevd", A.shape[1], A.dtype, len(A)):
        info = blocks.syevd(A, lam)
        structure.fix_signs(A)
        return info
    finite = cupy.isfinite(kept_triangle(A, True)).all(axis=(1, 2))
    cupy.copyto(A, 0, where=~finite[:, None, None])
    info = cupy.where(finite, rowmajor.syevd(A, lam), np.int32(NOT_FINITE))
    structure.fix_signs(A)
    spoil(info, A, lam)
    return info


def smallest_gap(lam: Any) -> Any:
    """ε of h, (count, 1): the rounding of the eigenvalue of largest magnitude."""
    info = np.finfo(lam.dtype)
    ends = abs(lam[:, :: max(lam.shape[1] - 1, 1)])
    return cupy.maximum(info.eps * ends.max(axis=1), info.tiny)[:, None]


def pull(U: Any, lam: Any, X: Any, has_u_bar: bool, lam_bar: Any) -> None:
    """X := A_bar = Uᵀ (sym(U_bar Uᵀ ∘ F) + diag(lam_bar)) U for X = U_bar, exactly symmetric.

    U_bar counts as zero unless `has_u_bar`, lam_bar if it is None.
    """
    if tuning.is_fused("syevd_pullback", X.shape[1], X.dtype):
        small.syevd_pullback(U, lam, X, lam_bar, has_u_bar)
        return
    T = cupy.empty(X.shape, X.dtype)
    if has_u_bar:
        rowmajor.gemm(X, U, T, False, True)
        structure.divide_by_gaps(T, lam, lam_bar)
        rowmajor.gemm(T, U, X)
    else:
        X[...] = U * lam_bar[:, :, None]
    gemmt(True, U, X, T, True, False)
    X[...] = T
    structure.mirror(X)


def push(U: Any, lam: Any, X: Any, lam_dot: Any) -> None:
    """M = U A_dot Uᵀ, lam_dot := diag(M), X := U_dot = (M ∘ F) U for X = A_dot, its lower triangle."""
    if tuning.is_fused("syevd_pushforward", X.shape[1], X.dtype):
        small.syevd_pushforward(U, lam, X, lam_dot)
        return
    structure.mirror(X)
    T = cupy.empty(X.shape, X.dtype)
    rowmajor.gemm(U, X, T)
    rowmajor.gemm(T, U, X, False, True)
    structure.rotate_by_gaps(X, lam, lam_dot)
    rowmajor.gemm(X, U, T)
    X[...] = T


# ---- arrays --------------------------------------------------------------------------------------------


def failed(operator: str) -> Callable[[int, int], str]:
    """The message for an `info` of this operator."""

    def message(_: int, info: int) -> str:
        return f"{operator}: " + ("A holds NaN or infinity" if info == NOT_FINITE else "no convergence")

    return message


def syevd(A: Any, overwrite_a: bool = False) -> tuple[Any, Any]:
    """About 9n³ flops, cuSOLVER's workspace of about 2n² entries once for the batch. Batches up to order 256
    by Jacobi's method in one launch: some 50n³ flops, but for all matrices at once. Seeger et al. (2017),
    section 4.4.

    Within `unchecked` nothing is raised.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the lower triangle holds NaN or infinity, or cuSOLVER does not converge.
    """
    batch = Batch("syevd", real=True)
    U = batch.own(batch.square(A, "A"), overwrite_a)
    X, lam = batch.stack(U), batch.empty(A.shape[-1])
    if X.size:
        settle(factor(X, lam), batch.shape, failed("syevd"))
    return U, batch.result(lam)


def eigh(A: Any, lower: bool = True) -> tuple[Any, Any]:
    """About 9n³ flops, cuSOLVER's workspace of about 2n² entries once for the batch, a temporary of A's
    shape.

    Signs are those of `syevd`, not NumPy's. Within `unchecked` nothing is raised.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A holds NaN or infinity in the named triangle, or cuSOLVER does not converge.
    """
    batch = Batch("eigh", real=True)
    A = batch.square(A, "A")
    X = batch.stack(batch.own(A if lower else A.swapaxes(-1, -2)))
    w = batch.empty(A.shape[-1])
    if X.size:
        settle(factor(X, w), batch.shape, failed("eigh"))
    return batch.result(w), batch.result(turned(X))


def vectors(batch: Batch, x: Any, n: int, argument: str) -> Any:
    """`enter` for vectors of length n."""
    x = batch.enter(x, argument, 1)
    if x.shape[-1] != n:
        raise ValueError(f"{batch.operator}: {argument} of shape {x.shape} must have length {n}")
    return x


def turned(X: Any) -> Any:
    """Xᵀ of each matrix, contiguous: columns as rows."""
    return cupy.ascontiguousarray(X.swapaxes(1, 2))


def pullback(
    operator: str,
    columns: bool,
    names: tuple[str, str],
    U: Any,
    lam: Any,
    U_bar: Any,
    lam_bar: Any,
    overwrite: bool,
) -> Any:
    """That of `syevd`, or of `eigh`, whose eigenvectors are `columns`."""
    batch = Batch(operator, real=True)
    of_vectors, of_values = names
    U = batch.square(U, of_vectors)
    n = U.shape[-1]
    lam = vectors(batch, lam, n, of_values)
    if U_bar is None and lam_bar is None:
        raise ValueError(f"{operator}: one of {of_vectors}_bar and {of_values}_bar must be given")
    if U_bar is not None:
        batch.same_matrix(U, batch.enter(U_bar, f"{of_vectors}_bar"), of_vectors, f"{of_vectors}_bar")
    if lam_bar is not None:
        lam_bar = batch.full(batch.read(vectors(batch, lam_bar, n, f"{of_values}_bar"), 1))
    batch.keep(U)
    A_bar = batch.result(batch.empty(n, n)) if U_bar is None else batch.own(U_bar, overwrite)
    X, F = batch.stack(A_bar), batch.full(batch.read(U))
    if X.size:
        if columns:
            F, Y = turned(F), turned(X)
        else:
            Y = X
        pull(F, batch.full(batch.read(lam, 1)), Y, U_bar is not None, lam_bar)
        if columns:
            X[...] = Y
    return A_bar


def syevd_pullback(U: Any, lam: Any, U_bar: Any, lam_bar: Any, overwrite_u_bar: bool = False) -> Any:
    """6n³ flops, 2n³ for lam_bar alone, less n³ / 2 for large n. Seeger et al. (2017), section 4.4."""
    names = "U", "lam"
    return pullback("syevd_pullback", False, names, U, lam, U_bar, lam_bar, overwrite_u_bar)


def eigh_pullback(w: Any, V: Any, w_bar: Any, V_bar: Any, overwrite_v_bar: bool = False) -> Any:
    """6n³ flops, 2n³ for w_bar alone."""
    return pullback("eigh_pullback", True, ("V", "w"), V, w, V_bar, w_bar, overwrite_v_bar)


def pushforward(
    operator: str, columns: bool, names: tuple[str, str], U: Any, lam: Any, A_dot: Any
) -> tuple[Any, Any]:
    """The pushforward of `syevd`, or with `columns` of `eigh`; `names` are those in messages."""
    batch = Batch(operator, real=True)
    U = batch.square(U, names[0])
    n = U.shape[-1]
    lam = vectors(batch, lam, n, names[1])
    A_dot = batch.enter(A_dot, "A_dot")
    batch.same_matrix(U, A_dot, names[0], "A_dot")
    X, lam_dot = batch.stack(batch.own(A_dot)), batch.empty(n)
    F = batch.full(batch.read(U))
    if X.size:
        push(turned(F) if columns else F, batch.full(batch.read(lam, 1)), X, lam_dot)
    return batch.result(turned(X) if columns else X), batch.result(lam_dot)


def syevd_pushforward(U: Any, lam: Any, A_dot: Any) -> tuple[Any, Any]:
    """6n³ flops. Seeger et al. (2017), appendix, "syevd"."""
    return pushforward("syevd_pushforward", False, ("U", "lam"), U, lam, A_dot)


def eigh_pushforward(w: Any, V: Any, A_dot: Any) -> tuple[Any, Any]:
    """6n³ flops."""
    V_dot, w_dot = pushforward("eigh_pushforward", True, ("V", "w"), V, w, A_dot)
    return w_dot, V_dot


def nearly_equal(values: Any, zero: bool = False) -> bool:
    """The answer is read from the GPU, also within `unchecked`."""
    batch = Batch("nearly_equal", real=True)
    x = batch.read(batch.enter(values, "values", 1), 1)
    n = x.shape[1]
    if x.size == 0 or (n == 1 and not zero):
        return False
    eps = np.finfo(x.dtype).eps
    floor = max(10 * (n + 10), 1 / np.sqrt(eps)) * smallest_gap(x)
    close = abs(x[:, 1:] - x[:, :-1]) <= floor
    if zero:
        close = cupy.concatenate([close, abs(x[:, -1:]) <= floor], axis=1)
    return bool(close.any())
