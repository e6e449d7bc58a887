"""Products and solves with a triangular matrix, forward and backward.

Formulas: Seeger et al. (2017), section 4.2 and appendix, "trmm" and "trsm".
"""

from __future__ import annotations

from typing import Any

from lindiff_cuda import rowmajor, small, tuning
from lindiff_cuda.arrays import Batch, misfit, transposition
from lindiff_cuda.checks import settle, settle_pivots
from lindiff_cuda.products import gemmt
from lindiff_cuda.structure import keep_triangle
from lindiff_cuda.triangles import kept_triangle

__all__ = ["trmm", "trmm_pullback", "trsm", "trsm_pullback"]

CONJUGATE = "conjugate"  # the adjoint of a transpose; the libraries do not know it
ADJOINT_OF: dict[bool | str, bool | str] = {False: "C", True: CONJUGATE, "C": False}


# ---- stacks --------------------------------------------------------------------------------------------


def solve(L: Any, B: Any, transpose: bool | str = False, rightside: bool = False, lower: bool = True) -> None:
    """B := op(L)⁻¹ B, or B op(L)⁻¹."""
    if transpose == CONJUGATE:  # the conjugate of L⁻¹ B̄
        if B.dtype.kind == "c":
            B[...] = B.conj()
        solve(L, B, False, rightside, lower)
        if B.dtype.kind == "c":
            B[...] = B.conj()
        return
    n = L.shape[1]
    if B.shape[0] == 1 or n <= tuning.TRSM_BATCHED:
        rowmajor.trsm(L, B, rightside, lower, transpose)
        return
    h = n // 2
    corner = L[:, h:, :h] if lower else L[:, :h, h:]
    halves = [
        (L[:, :h, :h], B[:, :, :h] if rightside else B[:, :h]),
        (L[:, h:, h:], B[:, :, h:] if rightside else B[:, h:]),
    ]
    if (lower != bool(transpose)) == rightside:  # the second half of the unknowns does not need the first
        halves.reverse()
    (first, X), (second, Y) = halves
    solve(first, X, transpose, rightside, lower)
    if rightside:
        rowmajor.gemm(X, corner, Y, False, transpose, -1.0, 1.0)
    else:
        rowmajor.gemm(corner, X, Y, transpose, False, -1.0, 1.0)
    solve(second, Y, transpose, rightside, lower)


def multiply(
    T: Any, A: Any, B: Any, transpose: bool | str, rightside: bool = False, alpha: float = 1.0
) -> None:
    """B := alpha op(T) A, or alpha A op(T), for a T whose other triangle is zero.

    By gemm: CuPy's bindings have no trmm, which would save half of the flops.
    """
    if transpose == CONJUGATE:
        T, transpose = T.conj(), False
    if rightside:
        rowmajor.gemm(A, T, B, False, transpose, alpha)
    else:
        rowmajor.gemm(T, A, B, transpose, False, alpha)


def outer_triangle(
    Y: Any, X: Any, L_bar: Any, transpose: bool | str, rightside: bool, lower: bool, alpha: float
) -> None:
    """L_bar := alpha tri(Y Xᴴ), tri(X Yᴴ), tri(Xᴴ Y), tri(Yᴴ X) for L X, Lᴴ X, X L, X Lᴴ: cotangent Y
    against X; for Lᵀ the conjugate of what it is for Lᴴ.
    """
    left, right = (Y, X) if rightside == bool(transpose) else (X, Y)
    of_left: bool | str = "C" if rightside else False
    of_right: bool | str = False if rightside else "C"
    gemmt(lower, left, right, L_bar, of_left, of_right, alpha)
    keep_triangle(L_bar, lower)
    if transpose is True and L_bar.dtype.kind == "c":
        L_bar[...] = L_bar.conj()


# ---- arrays --------------------------------------------------------------------------------------------


def fit(batch: Batch, L: Any, A: Any, rightside: bool, left: str, right: str) -> None:
    """Raise unless the rows of A, or its columns on the right side, fit L."""
    if L.shape[-1] != A.shape[-1 if rightside else -2]:
        raise misfit(batch.operator, left, L, right, A)


def is_small(batch: Batch, L: Any, A: Any, rightside: bool) -> bool:
    """Whether the fused kernel is the better one for triangles L and the other matrices A."""
    vectors = A.shape[-2 if rightside else -1]
    if batch.count == 0 or vectors == 0 or L.shape[1] == 0:
        return False
    sizes = L.shape[1], batch.dtype, vectors
    return tuning.is_fused_along(batch.operator, *sizes, tuning.VECTORS, batch.count)


def of_each(L: Any, X: Any) -> Any:
    """L as the fused kernels take one that all matrices share."""
    return L[0] if L.shape[0] == 1 and X.shape[0] != 1 else L


def singular(operator: str) -> Any:
    return lambda _, info: f"{operator}: singular matrix, entry {info - 1} of the diagonal is zero"


def trmm(
    L: Any,
    A: Any,
    transpose: bool | str = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    overwrite_a: bool = False,
) -> Any:
    """2m²n flops (2mn² on the right side), a temporary of the shape of L, and one of A's if it is
    overwritten. Seeger et al. (2017), section 4.2.
    """
    batch = Batch("trmm")
    transpose = transposition(transpose, "trmm")
    L, A = batch.square(L, "L"), batch.enter(A, "A")
    fit(batch, L, A, rightside, "L", "A")
    batch.keep(L)
    F = batch.read(L)
    if is_small(batch, F, A, rightside):
        B = batch.own(A, overwrite_a)
        X = batch.stack(B)
        small.trmm(of_each(F, X), X, transpose, rightside, lower, float(alpha))
        return B
    X, B = batch.source_and_target(A, overwrite_a)
    multiply(kept_triangle(F, lower), X, batch.stack(B), transpose, rightside, float(alpha))
    return B


def trsm(
    L: Any,
    A: Any,
    transpose: bool | str = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    overwrite_a: bool = False,
) -> Any:
    """m²n flops (mn² on the right side), no memory but the result. Seeger et al. (2017), section 4.2.

    Within `unchecked` nothing is raised.
    """
    batch = Batch("trsm")
    transpose = transposition(transpose, "trsm")
    L, A = batch.square(L, "L"), batch.enter(A, "A")
    fit(batch, L, A, rightside, "L", "A")
    batch.keep(L)
    F, B = batch.read(L), batch.own(A, overwrite_a)
    X = batch.stack(B)
    if is_small(batch, F, A, rightside):
        info = small.trsm(of_each(F, X), X, transpose, rightside, lower, float(alpha))
        settle(info, batch.shape, singular("trsm"))
        return B
    settle_pivots(F, batch, singular("trsm"))
    solve(F, X, transpose, rightside, lower)
    scale(X, alpha)
    return B


def scale(X: Any, alpha: float) -> None:
    if alpha != 1:
        X *= alpha


def trmm_pullback(
    L: Any,
    A: Any,
    B_bar: Any,
    transpose: bool | str = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    overwrite_b_bar: bool = False,
) -> tuple[Any, Any]:
    """4m²n flops (4mn² on the right side), less a quarter for large L, temporaries of the shapes of L and A.
    Seeger et al. (2017), appendix, "trmm".
    """
    batch = Batch("trmm_pullback")
    transpose = transposition(transpose, "trmm_pullback")
    L, A, B_bar = batch.square(L, "L"), batch.enter(A, "A"), batch.enter(B_bar, "B_bar")
    fit(batch, L, A, rightside, "L", "A")
    batch.same_matrix(A, B_bar, "A", "B_bar")
    batch.keep(L, A)
    F, L_bar = batch.read(L), batch.empty(*L.shape[-2:])
    if is_small(batch, F, A, rightside):
        A_bar = batch.own(B_bar, overwrite_b_bar)
        X, Y = batch.full(batch.read(A)), batch.stack(A_bar)
        small.trmm_pullback(of_each(F, Y), X, Y, L_bar, transpose, rightside, lower, float(alpha))
        return batch.result(L_bar), A_bar
    T = kept_triangle(F, lower)
    Y, A_bar = batch.source_and_target(B_bar, overwrite_b_bar)
    outer_triangle(Y, batch.read(A), L_bar, transpose, rightside, lower, float(alpha))
    multiply(T, Y, batch.stack(A_bar), ADJOINT_OF[transpose], rightside, float(alpha))
    return batch.result(L_bar), A_bar


def trsm_pullback(
    L: Any,
    B: Any,
    B_bar: Any,
    transpose: bool | str = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    overwrite_b_bar: bool = False,
    overwrite_l: bool = False,
) -> tuple[Any, Any]:
    """3m²n flops (3mn² on the right side), 2m²n for large L; no memory but the results. Seeger et al. (2017),
    appendix, "trsm".
    """
    batch = Batch("trsm_pullback")
    transpose = transposition(transpose, "trsm_pullback")
    L, B, B_bar = batch.square(L, "L"), batch.enter(B, "B"), batch.enter(B_bar, "B_bar")
    fit(batch, L, B, rightside, "L", "B")
    batch.same_matrix(B, B_bar, "B", "B_bar")
    batch.keep(B)
    A_bar = batch.own(B_bar, overwrite_b_bar)
    batch.keep(A_bar)
    L_bar = batch.own(L, overwrite_l)
    F, Y = batch.stack(L_bar), batch.stack(A_bar)
    if is_small(batch, F, B, rightside):
        X = batch.full(batch.read(B))
        info = small.trsm_pullback(F, X, Y, F, transpose, rightside, lower, float(alpha))
        settle(info, batch.shape, singular("trsm_pullback"))
        return L_bar, A_bar
    settle_pivots(F, batch, singular("trsm_pullback"))
    solve(F, Y, ADJOINT_OF[transpose], rightside, lower)
    outer_triangle(Y, batch.read(B), F, transpose, rightside, lower, -1.0)
    scale(Y, alpha)
    return L_bar, A_bar
