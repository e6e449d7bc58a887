"""General and symmetric products. Formulas: Seeger et al. (2017), section 4.2, "gemm2" and "syrk"."""

from __future__ import annotations

from typing import Any

from lindiff_cuda import rowmajor, tuning
from lindiff_cuda.arrays import Batch, misfit, transposition
from lindiff_cuda.structure import mirror
from lindiff_cuda.triangles import adjoint

__all__ = ["gemm", "gemm2", "syrk", "syrk_pullback"]


# ---- stacks --------------------------------------------------------------------------------------------


def gemmt(
    lower: bool,
    A: Any,
    B: Any,
    C: Any,
    transpose_a: bool | str = False,
    transpose_b: bool | str = False,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> None:
    """tri(C) := alpha op(A) op(B) + beta C in one triangle of the square C; the other triangle is scratch.

    Halving C leaves one full block to gemm, so that the flops of the other triangle are saved.
    """
    n = C.shape[1]
    if n <= tuning.GEMMT_LEAF:
        rowmajor.gemm(A, B, C, transpose_a, transpose_b, alpha, beta)
        return
    h = n // 2
    rows = (A[:, :, :h], A[:, :, h:]) if transpose_a else (A[:, :h], A[:, h:])
    columns = (B[:, :h], B[:, h:]) if transpose_b else (B[:, :, :h], B[:, :, h:])
    flags = transpose_a, transpose_b, alpha, beta
    gemmt(lower, rows[0], columns[0], C[:, :h, :h], *flags)
    gemmt(lower, rows[1], columns[1], C[:, h:, h:], *flags)
    i, j = (1, 0) if lower else (0, 1)
    block = C[:, h:, :h] if lower else C[:, :h, h:]
    rowmajor.gemm(rows[i], columns[j], block, *flags)


def gram(A: Any, C: Any, transpose: bool | str = False, alpha: float = 1.0) -> None:
    """C := alpha A Aᵀ, alpha Aᵀ A or alpha Aᴴ A, exactly symmetric; both triangles."""
    count, n = C.shape[:2]
    hermitian = transpose == "C"
    is_complex = C.dtype.kind == "c"
    if (count == 1 or n >= tuning.SYRK_ALONE) and not (hermitian and is_complex):
        rowmajor.syrk(A, C, bool(transpose), alpha)
    else:  # CuPy's bindings have no herk, and no library a batched one
        gemmt(True, A, A, C, transpose, not transpose, alpha)
    mirror(C, hermitian=hermitian)


def pull_gram(A: Any, B_bar: Any, A_bar: Any, transpose: bool | str, alpha: float, beta: float = 0.0) -> None:
    """A_bar := alpha (B_bar + B_barᵀ) Ā, alpha Ā (B_bar + B_barᵀ), or alpha A (B_bar + B_barᴴ), each
    + beta A_bar.
    """
    if transpose == "C":
        rowmajor.gemm(A, B_bar + adjoint(B_bar), A_bar, alpha=alpha, beta=beta)
        return
    S = (B_bar + B_bar.swapaxes(1, 2)).conj()
    if beta:
        _conjugate(A_bar)
    rowmajor.gemm(*((A, S) if transpose else (S, A)), A_bar, alpha=alpha, beta=beta)
    _conjugate(A_bar)


def _conjugate(X: Any) -> None:
    """X := X̄."""
    if X.dtype.kind == "c":
        X[...] = X.conj()


# ---- arrays --------------------------------------------------------------------------------------------


def fit(batch: Batch, A: Any, B: Any, transpose_a: bool | str, transpose_b: bool | str) -> tuple[int, int]:
    """The shape of op(A) op(B)."""
    m, k = A.shape[:-3:-1] if transpose_a else A.shape[-2:]
    of_b, n = B.shape[:-3:-1] if transpose_b else B.shape[-2:]
    if k != of_b:
        raise misfit(batch.operator, "A", A, "B", B)
    return m, n


def gemm2(
    A: Any, B: Any, transpose_a: bool | str = False, transpose_b: bool | str = False, alpha: float = 1.0
) -> Any:
    """2mnk flops, no memory but the result. Seeger et al. (2017), section 4.2."""
    batch = Batch("gemm2")
    transpose_a = transposition(transpose_a, "gemm2", "transpose_a")
    transpose_b = transposition(transpose_b, "gemm2", "transpose_b")
    A, B = batch.enter(A, "A"), batch.enter(B, "B")
    shape = fit(batch, A, B, transpose_a, transpose_b)
    C = batch.empty(*shape)
    rowmajor.gemm(batch.read(A), batch.read(B), C, transpose_a, transpose_b, float(alpha))
    return batch.result(C)


def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_a: bool | str = False,
    transpose_b: bool | str = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    overwrite_c: bool = False,
) -> Any:
    """2mnk flops, no memory but the result."""
    batch = Batch("gemm")
    transpose_a = transposition(transpose_a, "gemm", "transpose_a")
    transpose_b = transposition(transpose_b, "gemm", "transpose_b")
    A, B, C = batch.enter(A, "A"), batch.enter(B, "B"), batch.enter(C, "C")
    shape = fit(batch, A, B, transpose_a, transpose_b)
    if C.shape[-2:] != shape:
        raise ValueError(f"gemm: C of shape {C.shape} does not fit a product of shape {shape}")
    batch.keep(A, B)
    X, Y, result = batch.read(A), batch.read(B), batch.own(C, overwrite_c)
    rowmajor.gemm(X, Y, batch.stack(result), transpose_a, transpose_b, float(alpha), float(beta))
    return result


def syrk(A: Any, transpose: bool | str = False, alpha: float = 1.0) -> Any:
    """n²k flops, twice as many for batches of matrices below order 512, which take one call of a general
    product. Seeger et al. (2017), section 4.2.
    """
    batch = Batch("syrk")
    transpose = transposition(transpose, "syrk")
    X = batch.read(batch.enter(A, "A"))
    n = X.shape[2 if transpose else 1]
    C = batch.empty(n, n)
    gram(X, C, transpose, float(alpha))
    return batch.result(C)


def syrk_pullback(
    A: Any,
    B_bar: Any,
    transpose: bool | str = False,
    alpha: float = 1.0,
    A_bar: Any = None,
    overwrite_a_bar: bool = False,
) -> Any:
    """2n²k flops, one temporary n × n matrix. Seeger et al. (2017), section 4.2."""
    batch = Batch("syrk_pullback")
    transpose = transposition(transpose, "syrk_pullback")
    A, B_bar = batch.enter(A, "A"), batch.enter(B_bar, "B_bar")
    n = A.shape[-1 if transpose else -2]
    if B_bar.shape[-2:] != (n, n):
        raise misfit("syrk_pullback", "A", A, "B_bar", B_bar)
    if A_bar is None:
        target = batch.empty(*A.shape[-2:])
        pull_gram(batch.read(A), batch.read(B_bar), target, transpose, float(alpha))
        return batch.result(target)
    batch.same_matrix(A, batch.enter(A_bar, "A_bar"), "A", "A_bar")
    batch.keep(A, B_bar)
    A_bar = batch.own(A_bar, overwrite_a_bar)
    pull_gram(batch.read(A), batch.read(B_bar), batch.stack(A_bar), transpose, float(alpha), 1.0)
    return A_bar
