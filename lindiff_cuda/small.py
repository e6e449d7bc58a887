"""Batches of small matrices, up to order `ORDER`: one launch for the batch, one tile of lanes per matrix.

Arrays are C-contiguous stacks (count, n, n) of one dtype, float32, float64, complex64 or complex128, on the
current device; what a function changes it changes in place. Nothing is checked here and nothing waits for the
device. A function that can fail returns `info`, an int32 for each matrix, which tells later: 1 + the index of
the first zero on the diagonal of L, or 0, unless it says otherwise. A matrix that failed becomes NaN.

Costs count the operations of one matrix; each array is read and written once.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lindiff_cuda.launching import NOWHERE, ORDER, SHARED, kernel, launch, width_of

__all__ = [
    "ORDER",
    "gelqf",
    "gelqf_pullback",
    "getrf",
    "getri",
    "getrs",
    "holds_rows",
    "potrf",
    "potrf_pullback",
    "potrf_pushforward",
    "potri",
    "potri_pullback",
    "potri_pushforward",
    "syevd",
    "syevd_pullback",
    "syevd_pushforward",
    "trmm",
    "trmm_pullback",
    "trsm",
    "trsm_pullback",
]


def square_bytes(width: int, itemsize: int) -> int:
    """Shared memory of one matrix: rows padded by one entry, so that columns meet no bank twice."""
    return width * (width + 1) * itemsize


def run(
    source: str, name: str, like: Any, order: int, arguments: Any, matrices: int = 1, vectors: int = 0
) -> None:
    """Launch a kernel for the matrices of `like`; shared memory for some of order `order`, and vectors."""
    width = width_of(order)
    function = kernel(source, name, like.dtype, WIDTH=width)
    shared = matrices * square_bytes(width, like.itemsize) + vectors * width * like.itemsize
    launch(function, len(like), width, arguments, shared)


def infos(X: Any) -> Any:
    return cupy.empty(len(X), np.int32)


def potrf(A: Any, lower: bool = True) -> tuple[Any, Any]:
    """Cholesky factors, A := L with A = L Lᴴ, or R with A = Rᴴ R.

    Parameters
    ----------
    A : (count, n, n) ndarray
        Only the named triangle is read; the other becomes zero.
    lower : bool

    Returns
    -------
    info : (count,) ndarray of int32
        1 + the index of the first pivot that is not positive (or NaN), or 0.
    pivots : (count,) ndarray
        That pivot, real.

    Notes
    -----
    n³/3 flops. Seeger et al. (2017), section 4.2.
    """
    n, info, pivots = A.shape[-1], infos(A), cupy.empty(len(A), A.real.dtype)
    run("cholesky.cu", "potrf", A, n, (A, info, pivots, len(A), n, lower))
    return info, pivots


def _with_factor(source: str, name: str, L: Any, X: Any, lower: bool) -> Any:
    """A kernel that reads the triangles L and changes X; info tells of zeros on a diagonal."""
    info, n = infos(L), L.shape[-1]
    run(source, name, L, n, (L, X, info, len(L), n, lower))
    return info


def potrf_pullback(L: Any, L_bar: Any, lower: bool = True) -> Any:
    """L_bar := A_bar = ½ L⁻ᴴ copyltu(Lᴴ L_bar) L⁻¹, Hermitian; the named triangle of L_bar is read.

    3n³ flops. Seeger et al. (2017), section 4.2.
    """
    return _with_factor("cholesky.cu", "potrf_pullback", L, L_bar, lower)


def potrf_pushforward(L: Any, A_dot: Any, lower: bool = True) -> Any:
    """A_dot := L_dot = L Φ(L⁻¹ A_dot L⁻ᴴ), Φ = tril with half the diagonal; the named triangle is read.

    3n³ flops. Murray (2016); Seeger et al. (2017), appendix, "potrf".
    """
    return _with_factor("cholesky.cu", "potrf_pushforward", L, A_dot, lower)


def potri(L: Any, lower: bool = True) -> Any:
    """Inverses from factors, L := B = (L Lᴴ)⁻¹, or (Rᴴ R)⁻¹, both triangles; the named one of L is read.

    2n³ flops. Seeger et al. (2017), section 4.2.
    """
    info, n = infos(L), L.shape[-1]
    run("potri.cu", "potri", L, n, (L, info, len(L), n, lower))
    return info


def potri_pullback(L: Any, B_bar: Any, lower: bool = True) -> Any:
    """B_bar := L_bar = -2 tril(B sym(B_bar) L⁻ᴴ), triangular, B = L⁻ᴴ L⁻¹.

    3n³ flops. Seeger et al. (2017), section 4.2 and appendix, "potri".
    """
    return _with_factor("potri.cu", "potri_pullback", L, B_bar, lower)


def potri_pushforward(L: Any, L_dot: Any, lower: bool = True) -> Any:
    """L_dot := B_dot = -2 sym(B L_dot L⁻¹), Hermitian, B = L⁻ᴴ L⁻¹; the named triangle of L_dot is read.

    3n³ flops. Seeger et al. (2017), appendix, "potri".
    """
    return _with_factor("potri.cu", "potri_pushforward", L, L_dot, lower)


def _layout(transpose: Any, rightside: bool, lower: bool) -> tuple[bool, bool, bool, bool]:
    """transposed, conjugate, turned: how t(L) becomes a lower triangle to the left of vectors."""
    transposed = bool(transpose) != rightside
    return rightside, transposed, transpose == "C", transposed == lower


def _triangular(
    name: str,
    L: Any,
    X: Any,
    arguments: Any,
    alpha: float,
    transpose: Any,
    rightside: bool,
    lower: bool,
    matrices: int,
) -> None:
    """Launch a kernel of triangular.cu for L and the vectors of X; L may be one matrix for all."""
    n = L.shape[-1]
    k = X.shape[1] if rightside else X.shape[2]
    stride = np.int64(0 if L.ndim == 2 else n * n)
    layout = _layout(transpose, rightside, lower)
    scalars = (X.real.dtype.type(alpha), stride, len(X), n, k, *layout)
    width = width_of(n)
    function = kernel("triangular.cu", name, X.dtype, WIDTH=width)
    launch(function, len(X), width, (L, *arguments, *scalars), matrices * square_bytes(width, X.itemsize))


def trsm(
    L: Any, A: Any, transpose: Any = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0
) -> Any:
    """A := alpha t(L)⁻¹ A, or alpha A t(L)⁻¹.

    Parameters
    ----------
    L : (count, n, n) or (n, n) ndarray
        Only the named triangle is read.
    A : (count, n, k) ndarray, or (count, k, n) on the right side
        k of any size.
    transpose : bool or "C"
    rightside, lower : bool
    alpha : float

    Notes
    -----
    n²k flops. Seeger et al. (2017), section 4.2.
    """
    info = infos(A)
    _triangular("trsm", L, A, (A, info), alpha, transpose, rightside, lower, 1 + rightside)
    return info


def trmm(
    L: Any, A: Any, transpose: Any = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0
) -> None:
    """A := alpha t(L) A, or alpha A t(L).

    Parameters
    ----------
    L : (count, n, n) or (n, n) ndarray
        Only the named triangle is read.
    A : (count, n, k) ndarray, or (count, k, n) on the right side
        k of any size.
    transpose : bool or "C"
    rightside, lower : bool
    alpha : float

    Notes
    -----
    n²k flops. Seeger et al. (2017), section 4.2.
    """
    _triangular("trmm", L, A, (A,), alpha, transpose, rightside, lower, 1 + rightside)


def trsm_pullback(
    L: Any,
    B: Any,
    B_bar: Any,
    L_bar: Any,
    transpose: Any = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> Any:
    """Pullback of `trsm`: B_bar := A_bar = alpha t(L)⁻ᴴ B_bar, L_bar := -tri(t(L)⁻ᴴ B_bar Bᴴ) and the like.

    Parameters
    ----------
    L : (count, n, n) or (n, n) ndarray
    B, B_bar : (count, n, k) ndarray, or (count, k, n) on the right side
        B is the result of `trsm`.
    L_bar : (count, n, n) ndarray
        Written, a cotangent for each item; may be L itself.
    transpose, rightside, lower, alpha :
        As given to `trsm`.

    Notes
    -----
    3n²k flops. Seeger et al. (2017), appendix, "trsm".
    """
    info = infos(B)
    _triangular("trsm_pullback", L, B, (B, B_bar, L_bar, info), alpha, transpose, rightside, lower, 3)
    return info


def trmm_pullback(
    L: Any,
    A: Any,
    B_bar: Any,
    L_bar: Any,
    transpose: Any = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> None:
    """Pullback of `trmm`: B_bar := A_bar = alpha t(L)ᴴ B_bar, L_bar := alpha tri(B_bar Aᴴ) and the like.

    Parameters
    ----------
    L : (count, n, n) or (n, n) ndarray
    A, B_bar : (count, n, k) ndarray, or (count, k, n) on the right side
        A as given to `trmm`.
    L_bar : (count, n, n) ndarray
        Written, a cotangent for each item; may be L itself.
    transpose, rightside, lower, alpha :
        As given to `trmm`.

    Notes
    -----
    3n²k flops. Seeger et al. (2017), appendix, "trmm".
    """
    _triangular("trmm_pullback", L, A, (A, B_bar, L_bar), alpha, transpose, rightside, lower, 3)


def syevd(A: Any, lam: Any) -> Any:
    """Symmetric eigendecompositions, lam and A := U with A = Uᵀ diag(lam) U; the lower triangle is read.

    Parameters
    ----------
    A : (count, n, n) ndarray
        Real. Rows of U are eigenvectors; in each the entry of largest magnitude (of equal ones the first) is
        positive.
    lam : (count, n) ndarray
        Written, ascending.

    Returns
    -------
    info : (count,) ndarray of int32
        0; -1 for NaN or infinity in the lower triangle, 1 without convergence.

    Notes
    -----
    About 6n³ flops for each of six to eight sweeps of Jacobi's rotations, n / 2 of them at a time. Golub and
    Van Loan (2013), section 8.5.
    """
    info, n = infos(A), A.shape[-1]
    run("eigen.cu", "syevd", A, n, (A, lam, info, len(A), n), matrices=2, vectors=2)
    return info


def syevd_pullback(U: Any, lam: Any, A_bar: Any, lam_bar: Any, has_u_bar: bool = True) -> None:
    """Pullback of `syevd`: A_bar := Uᵀ (sym(U_bar Uᵀ ∘ F) + diag(lam_bar)) U, F as in `lindiff.kernels`.

    Parameters
    ----------
    U, lam : ndarray
        Both from `syevd`.
    A_bar : (count, n, n) ndarray
        Holds U_bar.
    lam_bar : (count, n) ndarray or None
        None counts as zero.
    has_u_bar : bool
        If False, U_bar counts as zero and A_bar is only written.

    Notes
    -----
    6n³ flops, 2n³ for lam_bar alone. Seeger et al. (2017), section 4.4.
    """
    n, bar = U.shape[-1], NOWHERE if lam_bar is None else lam_bar
    arguments = (U, lam, A_bar, bar, len(U), n, has_u_bar, lam_bar is not None)
    run("eigen.cu", "syevd_pullback", U, n, arguments, matrices=2)


def syevd_pushforward(U: Any, lam: Any, A_dot: Any, lam_dot: Any) -> None:
    """Pushforward of `syevd`: M = U A_dot Uᵀ, lam_dot := diag(M), A_dot := U_dot = (M ∘ F) U.

    Parameters
    ----------
    U, lam : ndarray
        Both from `syevd`.
    A_dot : (count, n, n) ndarray
        Only the lower triangle is read.
    lam_dot : (count, n) ndarray
        Written.

    Notes
    -----
    6n³ flops. Seeger et al. (2017), appendix, "syevd".
    """
    n = U.shape[-1]
    run("eigen.cu", "syevd_pushforward", U, n, (U, lam, A_dot, lam_dot, len(U), n), matrices=2)


def rows_bytes(m: int, n: int, itemsize: int, width: int) -> int:
    """Shared memory of `gelqf`: rows of odd length, so that columns meet no bank twice, and two vectors."""
    return (m * (n | 1) + 2 * width) * itemsize


def width_for_rows(m: int, n: int, itemsize: int) -> int:
    """Lanes for a matrix of `gelqf`: more than m, where the matrices of a warp would need too much memory."""
    width = width_of(m)
    while width < 32 and 32 // width * rows_bytes(m, n, itemsize, width) > SHARED:
        width *= 2
    return width


def holds_rows(m: int, n: int, dtype: Any) -> bool:
    """Whether `gelqf` takes matrices of m rows and n columns."""
    return m <= min(n, ORDER) and rows_bytes(m, n, np.dtype(dtype).itemsize, 32) <= SHARED


def gelqf(A: Any, L: Any, with_q: bool = True) -> None:
    """LQ factors, L and A := Q with A = L Q, Q Qᴴ = I, L lower triangular with a positive diagonal.

    Parameters
    ----------
    A : (count, m, n) ndarray
        As `holds_rows` allows.
    L : (count, m, m) ndarray
        Written.
    with_q : bool
        If False, A stays as it is: half the work.

    Notes
    -----
    4m²n flops, Householder's reflections. Seeger et al. (2017), section 4.3.
    """
    count, m, n = A.shape
    width = width_for_rows(m, n, A.itemsize)
    function = kernel("lq.cu", "gelqf", A.dtype, WIDTH=width)
    launch(function, count, width, (A, L, count, m, n, n | 1, with_q), rows_bytes(m, n, A.itemsize, width))


def gelqf_pullback(Q: Any, L: Any, A_bar: Any, L_bar: Any, has_q_bar: bool = True) -> Any:
    """Pullback of `gelqf`: A_bar := L⁻ᴴ (Q_bar + copyltu(M) Q), M = Lᴴ L_bar - Q_bar Qᴴ.

    Parameters
    ----------
    Q : (count, m, n) ndarray
        m <= ORDER, n of any size.
    L : (count, m, m) ndarray
        Both from `gelqf`.
    A_bar : (count, m, n) ndarray
        Holds Q_bar.
    L_bar : (count, m, m) ndarray or None
        Only the lower triangle is read. None counts as zero.
    has_q_bar : bool
        If False, Q_bar counts as zero and A_bar is only written.

    Notes
    -----
    5m²n + m³ flops. Seeger et al. (2017), section 4.3.
    """
    (count, m, n), info = Q.shape, infos(Q)
    bar = NOWHERE if L_bar is None else L_bar
    arguments = (Q, L, A_bar, bar, info, count, m, n, has_q_bar, L_bar is not None)
    run("lq.cu", "gelqf_pullback", Q, m, arguments, matrices=2)
    return info


def getrf(A: Any, piv: Any) -> Any:
    """LU factors, A := L and U with A = L U P, by exchanges of columns.

    Parameters
    ----------
    A : (count, n, n) ndarray
        L with the diagonal, and U above it, whose diagonal of ones is not stored.
    piv : (count, n) ndarray of int32
        Written: column i was exchanged with column piv[i], for i = 0, 1, ...

    Returns
    -------
    info : (count,) ndarray of int32
        1 + the index of the first zero on the diagonal of L, or 0. Singular matrices have factors, too.

    Notes
    -----
    2n³/3 flops; in each row the largest entry becomes the pivot, as LAPACK has it for the transpose.
    """
    info, n = infos(A), A.shape[-1]
    run("lu.cu", "getrf", A, n, (A, piv, info, len(A), n), matrices=0)
    return info


def getrs(LU: Any, piv: Any, B: Any, transpose: Any = False) -> Any:
    """B := A⁻¹ B, A⁻ᵀ B or, for "C", A⁻ᴴ B with the factors of `getrf`.

    2n²k flops.
    """
    info, (count, n, k) = infos(LU), B.shape
    arguments = (LU, piv, B, info, count, n, k, bool(transpose), bool(transpose) and transpose != "C")
    run("lu.cu", "getrs", LU, n, arguments, vectors=1)
    return info


def getri(LU: Any, piv: Any) -> Any:
    """LU := A⁻¹ from the factors of `getrf`.

    2n³ flops.
    """
    info, n = infos(LU), LU.shape[-1]
    run("lu.cu", "getri", LU, n, (LU, piv, info, len(LU), n), vectors=1)
    return info
