"""Triangles, symmetry and eigengaps of stacks of square matrices of any order, in place, each in one launch.

Arrays are stacks (count, n, n) on the current device whose rows are contiguous: blocks of larger matrices
will do. Nothing is checked here.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lindiff_cuda.launching import MOST_ITEMS, NOWHERE, kernel, launch
from lindiff_cuda.parts import parts

__all__ = [
    "divide_by_gaps",
    "find_unpaired",
    "fix_signs",
    "give_to_unpaired",
    "keep_triangle",
    "mirror",
    "refuse",
    "rotate_by_gaps",
    "symmetrize",
]

LANES = 32


def strides(X: Any) -> tuple[Any, Any]:
    """Entries from row to row and from matrix to matrix."""
    return np.int64(X.strides[1] // X.itemsize), np.int64(X.strides[0] // X.itemsize)


def matrices_at_once(tiles: int) -> int:
    """Matrices of so many tiles each that a launch can number."""
    return max(MOST_ITEMS // max(tiles, 1), 1)


def by_rows(name: str, X: Any, before: Any, *after: Any) -> None:
    """A kernel of triangles.cu with a tile for each row; `before` are scalars and stacks."""
    count, n = X.shape[:2]
    function = kernel("triangles.cu", name, X.dtype, WIDTH=LANES)
    for Y, *own in parts(count, matrices_at_once(n), X, *before):
        items = len(Y) * n
        launch(function, items, LANES, (Y, *own, *strides(X), items, n, *after))


def by_pairs(name: str, X: Any, before: Any, *after: Any) -> None:
    """A kernel of triangles.cu with a tile for each block of LANES x LANES entries."""
    count, n = X.shape[:2]
    tiles, shared = (-(-n // LANES)) ** 2, 2 * LANES * (LANES + 1) * X.itemsize
    function = kernel("triangles.cu", name, X.dtype, WIDTH=LANES)
    for Y, *own in parts(count, matrices_at_once(tiles), X, *before):
        items = len(Y) * tiles
        launch(function, items, LANES, (Y, *own, *strides(X), items, n, *after), shared)


def real(X: Any, x: Any) -> Any:
    """x as a scalar of X's real type."""
    return X.real.dtype.type(x)


def keep_triangle(X: Any, lower: bool = True, diagonal: float = 1.0) -> None:
    """X := tril(X) or triu(X), the real part of the diagonal times `diagonal` unless that is 1."""
    by_rows("keep_triangle", X, (real(X, diagonal),), lower)


def refuse(X: Any, info: Any) -> None:
    """X, a stack of matrices of any shape, becomes NaN where info, (count,) int32, is not 0."""
    by_rows("refuse", X, (info,), X.shape[2])


def fix_signs(X: Any) -> None:
    """In each row the entry of largest magnitude (of equal ones the first) becomes positive."""
    by_rows("fix_signs", X, ())


def mirror(X: Any, lower: bool = True, scale: float = 1.0, hermitian: bool = True) -> None:
    """X := scale * copyltu(X), Hermitian with a real diagonal; lower=False copies the upper triangle down.

    Without `hermitian` the symmetric matrix of a complex triangle.
    """
    by_pairs("mirror", X, (real(X, scale),), lower, hermitian)


def symmetrize(X: Any, scale: float = 1.0) -> None:
    """X := scale (X + Xᴴ)."""
    by_pairs("symmetrize", X, (real(X, scale),))


def find_unpaired(X: Any, lower: bool = True, hermitian: bool = True) -> Any:
    """Which entries of the named triangle have no mirror image, (count, n, n) bool."""
    found = cupy.empty(X.shape, bool)
    rounding = np.finfo(X.dtype).eps ** 0.75
    by_pairs("find_unpaired", X, (found, real(X, rounding)), lower, hermitian)
    return found


def give_to_unpaired(X: Any, found: Any) -> None:
    """X, symmetric, has the whole of a pair at an entry that was `found`, and 0 opposite; one matrix of bool
    serves all of X.
    """
    of_matrix = np.int64(0 if len(found) == 1 else X.shape[1] ** 2)
    by_pairs("give_to_unpaired", X, (found, of_matrix))


def largest_entries(T: Any) -> Any:
    """max |T| of each matrix, as the bits of its real type."""
    bits = cupy.zeros(len(T), np.uint32 if T.real.dtype == np.float32 else np.uint64)
    by_rows("largest_entry", T, (bits,))
    return bits


def divide_by_gaps(T: Any, lam: Any, lam_bar: Any = None) -> None:
    """T := sym(T ∘ F) + diag(lam_bar), F_ij = 1 / h(λ_i - λ_j), as `lindiff.kernels.syevd_pullback` has it.

    Parameters
    ----------
    T : (count, n, n) ndarray
    lam : (count, n) ndarray
        Ascending, real, contiguous.
    lam_bar : (count, n) ndarray, optional
        None counts as zero.
    """
    bar = NOWHERE if lam_bar is None else lam_bar
    by_pairs("divide_by_gaps", T, (lam, bar, largest_entries(T)), lam_bar is not None)


def rotate_by_gaps(T: Any, lam: Any, lam_dot: Any) -> None:
    """lam_dot := the diagonal of the Hermitian T; T := T ∘ F as in `divide_by_gaps`, its diagonal zero.

    The lower triangle of T is read, but the rule for ties looks at all of T.
    """
    by_pairs("rotate_by_gaps", T, (lam, lam_dot, largest_entries(T)))
