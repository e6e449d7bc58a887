"""Cholesky A = L Lᴴ (lower) or A = Rᴴ R, and the inverse from the factor.

Both directions halve the matrix, [[L, 0], [M, N]] with M below L, where a library does not do it, and leave
the bulk to gemm. The reverse is level 3, in place, 2n³/3 flops: Murray (2016), "Differentiation of the
Cholesky decomposition", in the recursive form. Expressions: Seeger et al. (2017), section 4.2 and appendix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from lindiff_cuda import rowmajor, small, tuning
from lindiff_cuda.arrays import Batch
from lindiff_cuda.checks import first_bad, settle, settle_pivots, spoil
from lindiff_cuda.products import gemmt, gram
from lindiff_cuda.structure import keep_triangle, mirror, symmetrize
from lindiff_cuda.triangles import adjoint, diagonal, kept_triangle, real_diagonal
from lindiff_cuda.triangular import solve

__all__ = [
    "potrf",
    "potrf_pullback",
    "potrf_pushforward",
    "potri",
    "potri_pullback",
    "potri_pushforward",
]


# ---- stacks --------------------------------------------------------------------------------------------


def factor(A: Any, lower: bool) -> Any:
    """The named triangle of A := that of its factor; returns info. A complex diagonal must be real."""
    n = A.shape[1]
    if A.shape[0] == 1 or n <= tuning.CHOLESKY_BATCHED:
        return rowmajor.potrf(A, lower)
    h = n // 2
    L, N = A[:, :h, :h], A[:, h:, h:]
    info = factor(L, lower)
    if lower:  # M := M L⁻ᴴ, N := N - M Mᴴ
        M = A[:, h:, :h]
        solve(L, M, "C", True, True)
        gemmt(True, M, M, N, False, "C", -1.0, 1.0)
    else:  # the same for the adjoints
        M = A[:, :h, h:]
        solve(L, M, "C", False, False)
        gemmt(False, M, M, N, "C", False, -1.0, 1.0)
    if A.dtype.kind == "c":  # rounding in gemm leaves the diagonal complex
        real_diagonal(N)
    rest = factor(N, lower)
    return cupy.where((info == 0) & (rest > 0), rest + h, info)


def factored(A: Any, lower: bool) -> tuple[Any, Any]:
    """A := L, or R, its other triangle zero; returns info, and the pivots that failed if they are known."""
    if tuning.is_fused("potrf", A.shape[1], A.dtype):
        return small.potrf(A, lower) if A.size else (cupy.zeros(len(A), np.int32), None)
    if A.dtype.kind == "c":
        real_diagonal(A)
    info = first_bad(A, True, factor(A, lower))
    keep_triangle(A, lower)
    spoil(info, A)
    return info, None


def inverted_blocks(L: Any, lower: bool) -> Any:
    """The inverses of the diagonal blocks whose order is that of a leaf, (count, blocks, order, order)."""
    (count, n, _), order = L.shape, tuning.CHOLESKY_LEAF
    blocks = n // order if n > order else 0
    step, row, entry = L.strides
    shape, strides = (count, blocks, order, order), (step, order * (row + entry), row, entry)
    B = cupy.lib.stride_tricks.as_strided(L, shape, strides).reshape(count * blocks, order, order)
    W = inverse_of_triangle(B, lower) if B.size else B
    return W.reshape(shape)


def inverse_of_triangle(L: Any, lower: bool) -> Any:
    """L⁻¹ of each matrix of a stack."""
    W = cupy.zeros(L.shape, L.dtype)
    diagonal(W)[...] = 1
    solve(L, W, False, False, lower)
    return W


def reverse(L: Any, X: Any, lower: bool, inverses: Any, first: int) -> None:
    """X: the named triangle of L_bar becomes 2 A_bar, Hermitian with both triangles.

    The factorization was  L = chol(A),  M = B L⁻ᴴ,  N = chol(C - M Mᴴ)  for A, B, C the blocks of the matrix.
    `inverses` are those of diagonal blocks, of which L begins with number `first`.
    """
    reverse_triangle(L, X, lower, inverses, first)
    mirror(X, lower)


def reverse_triangle(L: Any, X: Any, lower: bool, inverses: Any, first: int = 0) -> None:
    """`reverse` of the named triangle; the other one is scratch."""
    n, order = L.shape[1], tuning.CHOLESKY_LEAF
    if n <= order:
        reverse_leaf(L, X, lower, inverses, first)
        return
    h = order * -(-n // (2 * order))
    A, L_bar, N_bar = L[:, :h, :h], X[:, :h, :h], X[:, h:, h:]
    reverse(L[:, h:, h:], N_bar, lower, inverses, first + h // order)  # 2 C_bar from N_bar
    if lower:
        M, M_bar = L[:, h:, :h], X[:, h:, :h]
        rowmajor.gemm(N_bar, M, M_bar, alpha=-1.0, beta=1.0)  # M_bar := M_bar - 2 C_bar M
        if h == order:  # 2 B_bar = M_bar L⁻¹
            rowmajor.gemm(M_bar.copy(), inverses[:, first], M_bar)
        else:
            solve(A, M_bar, False, True, True)
        gemmt(True, M_bar, M, L_bar, "C", False, -1.0, 1.0)  # L_bar := L_bar - tril(2 B_barᴴ M)
    else:  # every block is the adjoint of its twin
        M, M_bar = L[:, :h, h:], X[:, :h, h:]
        rowmajor.gemm(M, N_bar, M_bar, alpha=-1.0, beta=1.0)
        if h == order:
            rowmajor.gemm(inverses[:, first], M_bar.copy(), M_bar)
        else:
            solve(A, M_bar, False, False, False)
        gemmt(False, M, M_bar, L_bar, False, "C", -1.0, 1.0)
    reverse_triangle(A, L_bar, lower, inverses, first)  # 2 A_bar from L_bar


def reverse_leaf(L: Any, X: Any, lower: bool, inverses: Any, first: int) -> None:
    """X := L⁻ᴴ copyltu(Lᴴ L_bar) L⁻¹, or R⁻¹ copyutl(R_bar Rᴴ) R⁻ᴴ."""
    F, F_bar = kept_triangle(L, lower), kept_triangle(X, lower)
    if lower:
        rowmajor.gemm(F, F_bar, X, "C", False)
    else:
        rowmajor.gemm(F_bar, F, X, False, "C")
    mirror(X, lower)
    left: bool | str = "C" if lower else False
    right: bool | str = False if lower else "C"
    if L.shape[1] == tuning.CHOLESKY_LEAF and first < inverses.shape[1]:
        W = inverses[:, first]
        rowmajor.gemm(W, X, F_bar, left, False)
        rowmajor.gemm(F_bar, W, X, False, right)
    else:
        solve(F, X, left, False, lower)
        solve(F, X, right, True, lower)


def push(L: Any, X: Any, lower: bool) -> None:
    """X, of which the named triangle is that of A_dot, becomes L_dot; the other triangle becomes zero.

    The steps of `factor` differentiated one by one.
    """
    n = L.shape[1]
    if n <= tuning.CHOLESKY_LEAF:
        push_leaf(L, X, lower)
        return
    h = n // 2
    A, L_dot, N_dot = L[:, :h, :h], X[:, :h, :h], X[:, h:, h:]
    push(A, L_dot, lower)
    if lower:  # M_dot := (B_dot - M L_dotᴴ) L⁻ᴴ,  C_dot := C_dot - M_dot Mᴴ - M M_dotᴴ
        M, M_dot = L[:, h:, :h], X[:, h:, :h]
        rowmajor.gemm(M, L_dot, M_dot, False, "C", -1.0, 1.0)
        solve(A, M_dot, "C", True, True)
        gemmt(True, M_dot, M, N_dot, False, "C", -1.0, 1.0)
        gemmt(True, M, M_dot, N_dot, False, "C", -1.0, 1.0)
    else:  # the same for the adjoints
        M, M_dot = L[:, :h, h:], X[:, :h, h:]
        rowmajor.gemm(L_dot, M, M_dot, "C", False, -1.0, 1.0)
        solve(A, M_dot, "C", False, False)
        gemmt(False, M_dot, M, N_dot, "C", False, -1.0, 1.0)
        gemmt(False, M, M_dot, N_dot, "C", False, -1.0, 1.0)
    push(L[:, h:, h:], N_dot, lower)
    keep_triangle(X, lower)


def push_leaf(L: Any, X: Any, lower: bool) -> None:
    """X := L Φ(L⁻¹ A_dot L⁻ᴴ), or Φ(R⁻ᴴ A_dot R⁻¹) R; Φ keeps the triangle and half of the diagonal."""
    mirror(X, lower)
    solve(L, X, False if lower else "C", False, lower)
    solve(L, X, "C" if lower else False, True, lower)
    keep_triangle(X, lower, 0.5)
    F, P = kept_triangle(L, lower), X.copy()
    rowmajor.gemm(*((F, P) if lower else (P, F)), X)
    keep_triangle(X, lower)


def invert(L: Any, X: Any, lower: bool) -> None:
    """X := (L Lᴴ)⁻¹ = Wᴴ W for W = L⁻¹, or (Rᴴ R)⁻¹ = W Wᴴ for W = R⁻¹. X may be L."""
    W = inverse_of_triangle(L, lower)
    if lower:
        gram(W, X, "C")
    else:
        gram(adjoint(W).copy(), X, "C")


# ---- arrays --------------------------------------------------------------------------------------------


def not_definite(
    batch: Batch, A: Any, pivots: Any, lower: bool = True, of: str = ""
) -> Callable[[int, int], str]:
    """The message for a matrix that is not positive definite, with its pivot unless that is lost: it is among
    the `pivots`, or computed again from A, which is None where it was overwritten.
    """

    def message(k: int, info: int) -> str:
        text = f"{batch.operator}: the leading minor of order {info}{of} is not positive definite"
        if pivots is not None:
            return f"{text}, pivot {float(pivots[k]):.6g}"
        return text if A is None else f"{text}, pivot {float(pivot(batch.matrix(A, k), info, lower)):.6g}"

    return message


def pivot(A: Any, order: int, lower: bool = True) -> Any:
    """What the factorization of A (1, n, n) found on the diagonal: a - |L⁻¹ b|²."""
    h = order - 1
    A = A if lower else adjoint(A)
    L, b = A[:, :h, :h].copy(), A[:, h:order, :h].copy()
    if h > 0:
        if L.dtype.kind == "c":
            real_diagonal(L)
        rowmajor.potrf(L, True)
        solve(L, b, "C", True, True)
    return A[0, h, h].real - (abs(b) ** 2).sum()


def singular(operator: str) -> Callable[[int, int], str]:
    return lambda _, info: f"{operator}: singular factor, entry {info - 1} of the diagonal is zero"


def potrf(A: Any, lower: bool = True, overwrite_a: bool = False) -> Any:
    """n³/3 flops, no memory but the result and cuSOLVER's workspace. Seeger et al. (2017), section 4.2.

    The message of an error gives the pivot unless A was overwritten. Within `unchecked` nothing is raised.
    """
    batch = Batch("potrf")
    L = batch.own(batch.square(A, "A"), overwrite_a)
    X = batch.stack(L)
    info, pivots = factored(X, lower)
    settle(info, batch.shape, not_definite(batch, None if L is A else A, pivots, lower))
    return L


def potrf_pullback(L: Any, L_bar: Any, lower: bool = True, overwrite_l_bar: bool = False) -> Any:
    """2n³/3 flops, a workspace of 256 n entries. Seeger et al. (2017), section 4.2; the in-place algorithm
    after Murray (2016).
    """
    batch = Batch("potrf_pullback")
    L, L_bar = batch.square(L, "L"), batch.square(L_bar, "L_bar")
    batch.same_matrix(L, L_bar, "L", "L_bar")
    batch.keep(L)
    F, A_bar = batch.read(L), batch.own(L_bar, overwrite_l_bar)
    X = batch.stack(A_bar)
    if tuning.is_fused("potrf_pullback", X.shape[-1], X.dtype):
        info = small.potrf_pullback(batch.full(F), X, lower)
        settle(info, batch.shape, singular("potrf_pullback"))
        return A_bar
    settle_pivots(F, batch, singular("potrf_pullback"))
    reverse_triangle(F, X, lower, inverted_blocks(F, lower))
    mirror(X, lower, 0.5)
    return A_bar


def potrf_pushforward(L: Any, A_dot: Any, lower: bool = True) -> Any:
    """n³ flops, blocks of order 256 as temporaries. Murray (2016); Seeger et al. (2017), appendix,
    "potrf".
    """
    batch = Batch("potrf_pushforward")
    L, A_dot = batch.square(L, "L"), batch.square(A_dot, "A_dot")
    batch.same_matrix(L, A_dot, "L", "A_dot")
    F, L_dot = batch.read(L), batch.own(A_dot)
    X = batch.stack(L_dot)
    if tuning.is_fused("potrf_pushforward", X.shape[-1], X.dtype):
        info = small.potrf_pushforward(batch.full(F), X, lower)
        settle(info, batch.shape, singular("potrf_pushforward"))
        return L_dot
    settle_pivots(F, batch, singular("potrf_pushforward"))
    push(F, X, lower)
    return L_dot


def potri(L: Any, lower: bool = True, overwrite_l: bool = False) -> Any:
    """2n³ flops, a solve for L⁻¹ and its product with itself, and a temporary n × n matrix: cuSOLVER's potri
    is not among CuPy's bindings. Seeger et al. (2017), section 4.2.

    Within `unchecked` nothing is raised.
    """
    batch = Batch("potri")
    B = batch.own(batch.square(L, "L"), overwrite_l)
    X = batch.stack(B)
    if tuning.is_fused("potri", X.shape[-1], X.dtype):
        settle(small.potri(X, lower), batch.shape, singular("potri"))
        return B
    settle_pivots(X, batch, singular("potri"))
    invert(X, X, lower)
    return B


def potri_pullback(L: Any, B: Any, B_bar: Any, lower: bool = True) -> Any:
    """3n³ flops, a temporary n × n matrix. Seeger et al. (2017), section 4.2 and appendix, "potri"."""
    batch, L, B, B_bar = enter_potri("potri_pullback", L, B, B_bar, "B_bar")
    F = batch.read(L)
    if tuning.is_fused("potri_pullback", F.shape[-1], F.dtype):
        L_bar = batch.own(B_bar)
        info = small.potri_pullback(batch.full(F), batch.stack(L_bar), lower)
        settle(info, batch.shape, singular("potri_pullback"))
        return L_bar
    settle_pivots(F, batch, singular("potri_pullback"))
    P, S, L_bar = batch.read(B), batch.stack(batch.own(B_bar)), batch.empty(*F.shape[1:])
    symmetrize(S)
    rowmajor.gemm(*((P, S) if lower else (S, P)), L_bar, alpha=-1.0)
    solve(F, L_bar, "C", lower, lower)
    keep_triangle(L_bar, lower)
    return batch.result(L_bar)


def potri_pushforward(L: Any, B: Any, L_dot: Any, lower: bool = True) -> Any:
    """3n³ flops, two temporary n × n matrices. Seeger et al. (2017), appendix, "potri"."""
    batch, L, B, L_dot = enter_potri("potri_pushforward", L, B, L_dot, "L_dot")
    F, B_dot = batch.read(L), batch.own(L_dot)
    T = batch.stack(B_dot)
    if tuning.is_fused("potri_pushforward", F.shape[-1], F.dtype):
        info = small.potri_pushforward(batch.full(F), T, lower)
        settle(info, batch.shape, singular("potri_pushforward"))
        return B_dot
    settle_pivots(F, batch, singular("potri_pushforward"))
    P = batch.read(B)
    keep_triangle(T, lower)
    solve(F, T, False, lower, lower)
    X = batch.empty(*F.shape[1:])
    rowmajor.gemm(*((P, T) if lower else (T, P)), X, alpha=-1.0)
    symmetrize(X)
    return batch.result(X)


def enter_potri(operator: str, L: Any, B: Any, X: Any, argument: str) -> tuple[Batch, Any, Any, Any]:
    """The batch, the factor, the inverse, and what is pulled back or pushed forward."""
    batch = Batch(operator)
    L, B, X = batch.square(L, "L"), batch.square(B, "B"), batch.square(X, argument)
    batch.same_matrix(L, B, "L", "B")
    batch.same_matrix(L, X, "L", argument)
    return batch, L, B, X
