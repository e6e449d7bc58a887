"""LQ, A = L Q with Q Qᵀ = I and a positive diagonal of L; A is (m, n), m <= n.

LQ is QR of the transpose, which is what cuSOLVER sees in a row-major array: nothing is copied. Expressions:
Seeger et al. (2017), section 4.3 and appendix, "gelqf".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from lindiff_cuda import blocks, rowmajor, small, tuning
from lindiff_cuda.arrays import Batch, misfit
from lindiff_cuda.checks import settle, settle_pivots
from lindiff_cuda.products import gemmt
from lindiff_cuda.structure import keep_triangle, mirror, symmetrize
from lindiff_cuda.triangles import diagonal, kept_triangle
from lindiff_cuda.triangular import solve

__all__ = [
    "gelqf",
    "gelqf_l",
    "gelqf_l_pullback",
    "gelqf_l_pushforward",
    "gelqf_pullback",
    "gelqf_pushforward",
]


# ---- stacks --------------------------------------------------------------------------------------------


def factor(A: Any, L: Any, with_q: bool) -> None:
    """L and A := Q with A = L Q; without `with_q`, A is left in an inner form."""
    count, m, n = A.shape
    if tuning.is_fused("gelqf", m, A.dtype) and small.holds_rows(m, n, A.dtype):
        if A.size:
            small.gelqf(A, L, with_q)
        return
    if A.size and tuning.is_blockwise("gelqf", m, A.dtype, count, n):
        blocks.gelqf(A, L, with_q)
        return
    tau = cupy.empty((count, m), A.dtype)
    rowmajor.geqrf(A, tau)
    L[...] = A[:, :, :m]
    keep_triangle(L)
    if with_q:
        rowmajor.orgqr(A, tau)
    sign = cupy.where(diagonal(L) < 0, -1, 1).astype(A.dtype)  # of a column of L, and of a row of Q
    L *= sign[:, None, :]
    if with_q:
        A *= sign[:, :, None]


def pull(Q: Any, L: Any, X: Any, has_q_bar: bool, L_bar: Any) -> None:
    """X := A_bar = L⁻ᵀ (Q_bar + copyltu(M) Q), M = Lᵀ L_bar - Q_bar Qᵀ, for X = Q_bar.

    Q_bar counts as zero unless `has_q_bar`, L_bar if it is None.
    """
    count, m, _ = X.shape
    M = cupy.empty((count, m, m), X.dtype)
    if L_bar is not None:
        rowmajor.gemm(L, kept_triangle(L_bar, True), M, True, False)
    if has_q_bar:
        gemmt(True, X, Q, M, False, True, -1.0, 0.0 if L_bar is None else 1.0)
    mirror(M)
    rowmajor.gemm(M, Q, X, beta=1.0 if has_q_bar else 0.0)
    solve(L, X, True, False, True)


def pull_small(batch: Batch, Q: Any, L: Any, X: Any, has_q_bar: bool, L_bar: Any) -> Any:
    """`pull` by the fused kernel, which wants a matrix of its own for each of the batch; returns info."""
    other = None if L_bar is None else batch.full(L_bar)
    return small.gelqf_pullback(batch.full(Q), batch.full(L), X, other, has_q_bar)


def is_small(batch: Batch, Q: Any) -> bool:
    """Whether the fused kernel is the better one: it walks along the columns of a matrix with one tile."""
    m, n = Q.shape[-2:]
    if batch.count == 0 or m == 0 or n == 0:
        return False
    return tuning.is_fused_along("gelqf_pullback", m, batch.dtype, n, tuning.COLUMNS, batch.count)


def push(Q: Any, L: Any, X: Any, L_dot: Any) -> None:
    """L_dot := L Φ, Φ = sym(L⁻¹ A_dot Qᵀ) ∘ E, and X := Q_dot = L⁻¹ A_dot - Φ Q, for X = A_dot."""
    solve(L, X, False, False, True)
    P = cupy.empty(L_dot.shape, X.dtype)
    rowmajor.gemm(X, Q, P, False, True)
    symmetrize(P)
    keep_triangle(P, True, 0.5)  # what E leaves of it: twice the lower part of sym, and the diagonal once
    rowmajor.gemm(P, Q, X, alpha=-1.0, beta=1.0)
    rowmajor.gemm(kept_triangle(L, True), P, L_dot)


def orthonormal(L: Any, A: Any) -> Any:
    """Q = L⁻¹ A."""
    Q = A.copy()
    solve(L, Q, False, False, True)
    return Q


# ---- arrays --------------------------------------------------------------------------------------------


def wide(batch: Batch, A: Any) -> Any:
    """`enter` for matrices with m <= n."""
    A = batch.enter(A, "A")
    if A.shape[-2] > A.shape[-1]:
        raise ValueError(f"{batch.operator}: A must not have more rows than columns, got shape {A.shape}")
    return A


def singular(operator: str) -> Callable[[int, int], str]:
    return lambda _, info: f"{operator}: A has not full rank, entry {info - 1} of the diagonal of L is zero"


def factored(operator: str, A: Any, with_q: bool, overwrite_a: bool) -> Any:
    """Q and L as results, or L alone."""
    batch = Batch(operator, real=True)
    Q = batch.own(wide(batch, A), overwrite_a)
    L = batch.empty(A.shape[-2], A.shape[-2])
    factor(batch.stack(Q), L, with_q)
    return (Q, batch.result(L)) if with_q else batch.result(L)


def gelqf(A: Any, overwrite_a: bool = False) -> tuple[Any, Any]:
    """About 4m²n - 4m³/3 flops, cuSOLVER's workspace once for the batch. Seeger et al. (2017), section
    4.3.
    """
    return factored("gelqf", A, True, overwrite_a)


def gelqf_l(A: Any, overwrite_a: bool = False) -> Any:
    """About 2m²n - 2m³/3 flops. L is the Cholesky factor of A Aᵀ, which is not formed either."""
    return factored("gelqf_l", A, False, overwrite_a)


def gelqf_pullback(Q: Any, L: Any, Q_bar: Any, L_bar: Any, overwrite_q_bar: bool = False) -> Any:
    """5m²n + 2m³ flops, less for large m; two temporary m × m matrices. Seeger et al. (2017), section 4.3.

    Within `unchecked` nothing is raised.
    """
    batch = Batch("gelqf_pullback", real=True)
    L, Q = batch.square(L, "L"), batch.enter(Q, "Q")
    if Q.shape[-2] != L.shape[-1]:
        raise misfit("gelqf_pullback", "Q", Q, "L", L)
    if Q_bar is None and L_bar is None:
        raise ValueError("gelqf_pullback: one of Q_bar and L_bar must be given")
    if Q_bar is not None:
        batch.same_matrix(Q, batch.enter(Q_bar, "Q_bar"), "Q", "Q_bar")
    if L_bar is not None:
        batch.same_matrix(L, batch.enter(L_bar, "L_bar"), "L", "L_bar")
    batch.keep(Q, L, L_bar)
    F = batch.read(L)
    small_enough = is_small(batch, Q)
    if not small_enough:
        settle_pivots(F, batch, singular("gelqf_pullback"))
    fresh = Q_bar is None
    A_bar = batch.result(batch.empty(*Q.shape[-2:])) if fresh else batch.own(Q_bar, overwrite_q_bar)
    other, X = None if L_bar is None else batch.read(L_bar), batch.stack(A_bar)
    if small_enough:
        info = pull_small(batch, batch.read(Q), F, X, not fresh, other)
        settle(info, batch.shape, singular("gelqf_pullback"))
    else:
        pull(batch.read(Q), F, X, not fresh, other)
    return A_bar


def gelqf_pushforward(Q: Any, L: Any, A_dot: Any) -> tuple[Any, Any]:
    """5m²n + 2m³ flops, three temporary m × m matrices. Seeger et al. (2017), appendix, "gelqf"."""
    batch = Batch("gelqf_pushforward", real=True)
    L, Q = batch.square(L, "L"), batch.enter(Q, "Q")
    if Q.shape[-2] != L.shape[-1]:
        raise misfit("gelqf_pushforward", "Q", Q, "L", L)
    A_dot = batch.enter(A_dot, "A_dot")
    batch.same_matrix(Q, A_dot, "Q", "A_dot")
    F, Q_dot = batch.read(L), batch.own(A_dot)
    settle_pivots(F, batch, singular("gelqf_pushforward"))
    L_dot = batch.empty(*L.shape[-2:])
    push(batch.read(Q), F, batch.stack(Q_dot), L_dot)
    return Q_dot, batch.result(L_dot)


def gelqf_l_pullback(L: Any, A: Any, L_bar: Any) -> Any:
    """4m²n + 2m³ flops, two temporary m × m matrices and an m × n one. Seeger et al. (2017), section 4.3,
    with Q = L⁻¹ A.

    Within `unchecked` nothing is raised.
    """
    batch, F, A = enter_l("gelqf_l_pullback", L, A)
    L_bar = batch.enter(L_bar, "L_bar")
    batch.same_matrix(L, L_bar, "L", "L_bar")
    F, X = batch.read(F), batch.empty(*A.shape[-2:])
    settle_pivots(F, batch, singular("gelqf_l_pullback"))
    pull(orthonormal(F, batch.read(A)), F, X, False, batch.read(L_bar))
    return batch.result(X)


def gelqf_l_pushforward(L: Any, A: Any, A_dot: Any) -> Any:
    """6m²n + 2m³ flops, two temporary m × n matrices. Seeger et al. (2017), appendix, "gelqf"."""
    batch, L, A = enter_l("gelqf_l_pushforward", L, A)
    A_dot = batch.enter(A_dot, "A_dot")
    batch.same_matrix(A, A_dot, "A", "A_dot")
    F, X = batch.read(L), batch.stack(batch.own(A_dot))
    settle_pivots(F, batch, singular("gelqf_l_pushforward"))
    L_dot = batch.empty(*L.shape[-2:])
    push(orthonormal(F, batch.stack(batch.own(A))), F, X, L_dot)
    return batch.result(L_dot)


def enter_l(operator: str, L: Any, A: Any) -> tuple[Batch, Any, Any]:
    """The batch with L and A, whose shapes must fit together."""
    batch = Batch(operator, real=True)
    L, A = batch.square(L, "L"), wide(batch, A)
    if L.shape[-1] != A.shape[-2]:
        raise misfit(operator, "L", L, "A", A)
    return batch, L, A
