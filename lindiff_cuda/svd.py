"""Singular value decomposition, A = U diag(s) Vᵀ with k = min(m, n) columns of U and rows of Vh = Vᵀ.

With P = Uᵀ dA V, dU = U Ω, dV = V Ψ for skew-symmetric Ω, Ψ: ds = diag(P),
(Ω + Ψ)_ij = (P + Pᵀ)_ij / (s_j - s_i) and (Ω - Ψ)_ij = (P - Pᵀ)_ij / (s_j + s_i). Of a matrix that is not
square, the longer vectors change outside of their span, too: (I - U Uᵀ) dA V diag(s)⁻¹ for U. See Giles
(2008), section 3.2, and Townsend (2016).

Derivatives are for singular values that are well apart (`nearly_equal`), and of a matrix that is not square
away from zero: nothing is looked at here before it is divided by.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lindiff_cuda import blocks, lq, rowmajor, tuning
from lindiff_cuda.arrays import Batch, misfit
from lindiff_cuda.checks import settle, spoil
from lindiff_cuda.triangles import diagonal

__all__ = ["gesdd", "gesdd_pullback", "gesdd_pushforward"]


# ---- stacks --------------------------------------------------------------------------------------------


def transposed(X: Any) -> Any:
    return X.swapaxes(1, 2)


def over_gaps(X: Any, s: Any) -> Any:
    """X_ij / (s_j - s_i) for the symmetric X; 0 on the diagonal."""
    gap = s[:, None, :] - s[:, :, None]
    i = cupy.arange(s.shape[1])
    gap[:, i, i] = 1
    Y = X / gap
    Y[:, i, i] = 0
    return Y


def over_sums(X: Any, s: Any) -> Any:
    """X_ij / (s_j + s_i) for the skew X; zero over zero, where both values vanish, is zero."""
    total = s[:, None, :] + s[:, :, None]
    return cupy.where(X == 0, 0, X / cupy.where(X == 0, 1, total))


def pull(U: Any, s: Any, Vh: Any, U_bar: Any, s_bar: Any, Vh_bar: Any, A_bar: Any) -> None:
    """A_bar := U P_bar Vᵀ + (I - U Uᵀ) U_bar diag(s)⁻¹ Vᵀ for m > n, with U and V exchanged for m < n.

    P_bar = diag(s_bar) + (K_U + K_V)_ij / (s_j - s_i) + (K_U - K_V)_ij / (s_j + s_i), where K_U and K_V are
    the skew parts of UᵀU_bar and VᵀV_bar. Cotangents that are None count as zero.
    """
    count, m, n = A_bar.shape
    k = min(m, n)
    if U_bar is None and Vh_bar is None:
        rowmajor.gemm(U * s_bar[:, None, :], Vh, A_bar)
        return
    of_u, of_v = cupy.zeros((2, count, k, k), A_bar.dtype)
    if U_bar is not None:
        rowmajor.gemm(U, U_bar, of_u, True, False)
    if Vh_bar is not None:
        rowmajor.gemm(Vh, Vh_bar, of_v, False, True)
    skew_u, skew_v = (of_u - transposed(of_u)) / 2, (of_v - transposed(of_v)) / 2
    P = over_gaps(skew_u + skew_v, s) + over_sums(skew_u - skew_v, s)
    if s_bar is not None:
        diagonal(P)[...] += s_bar
    # outside of the span, less what the span takes from it
    X = cupy.zeros((count, m, k) if m >= n else (count, k, n), A_bar.dtype)
    if m > n and U_bar is not None:
        P -= of_u / s[:, None, :]
        X[...] = U_bar / s[:, None, :]
    if m < n and Vh_bar is not None:
        P -= transposed(of_v) / s[:, :, None]
        X[...] = Vh_bar / s[:, :, None]
    if m >= n:
        rowmajor.gemm(U, P, X, beta=1.0)
        rowmajor.gemm(X, Vh, A_bar)
    else:
        rowmajor.gemm(P, Vh, X, beta=1.0)
        rowmajor.gemm(U, X, A_bar)


def push(U: Any, s: Any, Vh: Any, A_dot: Any, U_dot: Any, s_dot: Any, Vh_dot: Any) -> None:
    """s_dot := diag(P), U_dot := U Ω + (I - U Uᵀ) A_dot V diag(s)⁻¹, Vh_dot := Ψᵀ Vh for m >= n, with U and V
    exchanged for m < n.
    """
    count, m, k = U_dot.shape
    n = Vh_dot.shape[2]
    P = cupy.empty((count, k, k), U_dot.dtype)
    if m >= n:
        rowmajor.gemm(A_dot, Vh, U_dot, False, True)
        rowmajor.gemm(U, U_dot, P, True, False)
    else:
        rowmajor.gemm(U, A_dot, Vh_dot, True, False)
        rowmajor.gemm(Vh_dot, Vh, P, False, True)
    s_dot[...] = diagonal(P)
    symmetric = over_gaps(P + transposed(P), s) / 2
    skew = over_sums(P - transposed(P), s) / 2
    Omega, Psi_t = symmetric + skew, skew - symmetric  # Ψᵀ = -Ψ
    if m > n:
        U_dot /= s[:, None, :]
        Omega -= P / s[:, None, :]
    elif m < n:
        Vh_dot /= s[:, :, None]
        Psi_t -= P / s[:, :, None]
    rowmajor.gemm(U, Omega, U_dot, beta=1.0 if m > n else 0.0)
    rowmajor.gemm(Psi_t, Vh, Vh_dot, beta=1.0 if m < n else 0.0)


def factor(A: Any, s: Any, Ut: Any, Vh: Any) -> Any:
    """A = U diag(s) Vh with Ut = Uᵀ; A is lost. Returns info."""
    count, m, n = A.shape
    library = max(m, n) <= rowmajor.BATCHED_SVD
    if A.size and not library and tuning.is_blockwise("gesvd", min(m, n), A.dtype, count):
        return factor_wide(A, s, Ut, Vh) if m <= n else factor_wide(transposed(A).copy(), s, Vh, Ut)
    finite, nonzero = cupy.isfinite(A).all(axis=(1, 2)), A.any(axis=(1, 2))
    replace(A, ~(finite & nonzero))
    info = cupy.where(finite, rowmajor.gesvdj(A, s, Ut, Vh), np.int32(1))
    s *= nonzero[:, None]
    spoil(info, s, Ut, Vh)
    return info


def factor_wide(A: Any, s: Any, Ut: Any, Vh: Any) -> Any:
    """`factor` for m <= n, by A = L Q, Lᵀ = R P and the singular values of Rᵀ = Jᵀ diag(s) W.

    The rows of Rᵀ are nearly orthogonal already, however far the singular values are apart: Jacobi's method
    takes some ten sweeps for them, and up to sixty for A. Drmač and Veselić (2008), who pivot instead.
    """
    count, m, _ = A.shape
    L, R, J, W = cupy.empty((4, count, m, m), A.dtype)
    lq.factor(A, L, True)
    P = transposed(L).copy()
    lq.factor(P, R, True)
    L[...] = transposed(R)
    info = blocks.gesvd(L, s, J, W)
    rowmajor.gemm(J, P, Ut)
    rowmajor.gemm(W, A, Vh)
    return info


# ---- arrays --------------------------------------------------------------------------------------------


def replace(X: Any, bad: Any) -> None:
    """The `bad` matrices become identity matrices: with NaN cuSOLVER fails as a whole, and some versions give
    NaN for a matrix of zeros.
    """
    if X.size:
        one = cupy.eye(*X.shape[1:], dtype=X.dtype)
        cupy.copyto(X, one, where=bad[:, None, None])


def fitting(batch: Batch, x: Any, core: tuple[int, ...], argument: str) -> Any:
    """`enter` for matrices, or vectors, of this shape."""
    x = batch.enter(x, argument, len(core))
    if x.shape[x.ndim - len(core) :] != core:
        wanted = ", ".join(map(str, core))
        raise ValueError(
            f"{batch.operator}: {argument} has shape {x.shape}, which does not end in ({wanted})"
        )
    return x


def enter_factors(batch: Batch, U: Any, s: Any, Vh: Any) -> tuple[int, int, int]:
    """The shape of A, and its smaller side."""
    U, Vh = batch.enter(U, "U"), batch.enter(Vh, "Vh")
    m, n = U.shape[-2], Vh.shape[-1]
    k = min(m, n)
    if U.shape[-1] != k or Vh.shape[-2] != k:
        raise misfit(batch.operator, "U", U, "Vh", Vh)
    fitting(batch, s, (k,), "s")
    return m, n, k


def gesdd(A: Any) -> tuple[Any, Any, Any]:
    """Jacobi's method, some 10 sweeps; temporaries of the shapes of A and U. Batches up to a smaller side of
    256 go in few launches, with five more temporaries of that order, larger ones one by one through cuSOLVER.

    The signs of the vectors are any, not NumPy's. Within `unchecked` nothing is raised.

    Raises
    ------
    numpy.linalg.LinAlgError
        If Jacobi's method does not converge, as for NaN.
    """
    batch = Batch("gesdd", real=True)
    X = batch.stack(batch.own(batch.enter(A, "A")))
    m, n = X.shape[1:]
    k = min(m, n)
    s, Ut, Vh = batch.empty(k), batch.empty(k, m), batch.empty(k, n)
    info = factor(X, s, Ut, Vh)
    U = cupy.ascontiguousarray(transposed(Ut))
    settle(info, batch.shape, lambda *_: "gesdd: no convergence")
    return batch.result(U), batch.result(s), batch.result(Vh)


def gesdd_pullback(U: Any, s: Any, Vh: Any, U_bar: Any, s_bar: Any, Vh_bar: Any) -> Any:
    """4mk² + 2nk² + 2mnk flops (for s_bar alone 2mnk), some ten temporaries of k² entries. Townsend (2016),
    "Differentiating the singular value decomposition".
    """
    batch = Batch("gesdd_pullback", real=True)
    m, n, k = enter_factors(batch, U, s, Vh)
    if U_bar is None and s_bar is None and Vh_bar is None:
        raise ValueError("gesdd_pullback: one of U_bar, s_bar and Vh_bar must be given")
    if U_bar is not None:
        fitting(batch, U_bar, (m, k), "U_bar")
    if s_bar is not None:
        fitting(batch, s_bar, (k,), "s_bar")
    if Vh_bar is not None:
        fitting(batch, Vh_bar, (k, n), "Vh_bar")
    U_bar, s_bar, Vh_bar = (
        None if x is None else batch.read(x, core) for x, core in ((U_bar, 2), (s_bar, 1), (Vh_bar, 2))
    )
    A_bar = batch.empty(m, n)
    pull(batch.read(U), batch.read(s, 1), batch.read(Vh), U_bar, s_bar, Vh_bar, A_bar)
    return batch.result(A_bar)


def gesdd_pushforward(U: Any, s: Any, Vh: Any, A_dot: Any) -> tuple[Any, Any, Any]:
    """2mnk + 4mk² + 2nk² flops, some ten temporaries of k² entries. Townsend (2016), "Differentiating the
    singular value decomposition".
    """
    batch = Batch("gesdd_pushforward", real=True)
    m, n, k = enter_factors(batch, U, s, Vh)
    fitting(batch, A_dot, (m, n), "A_dot")
    U_dot, s_dot, Vh_dot = batch.empty(m, k), batch.empty(k), batch.empty(k, n)
    push(
        *(batch.read(U), batch.read(s, 1), batch.read(Vh), batch.read(A_dot)),
        *(U_dot, s_dot, Vh_dot),
    )
    return batch.result(U_dot), batch.result(s_dot), batch.result(Vh_dot)
