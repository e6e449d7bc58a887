"""Batches of matrices of middling order, real: one launch for the batch, one block of threads per matrix.

As in `small`, arrays are C-contiguous stacks of one dtype, nothing is checked, nothing waits for the device,
and `info` tells later what has failed. A matrix is held in shared memory where the device has enough of it.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lindiff_cuda import tuning
from lindiff_cuda.launching import NOWHERE, kernel, launch_blocks, most_shared

__all__ = ["gelqf", "gesvd", "syevd"]

WARP = 32
MOST_THREADS = 1024


def threads_for(rows: int) -> int:
    """Threads of the block of a matrix."""
    return min(-(-rows // WARP) * tuning.WARPS * WARP, MOST_THREADS)


def placed(matrices: int, m: int, n: int, vectors: int, itemsize: int) -> tuple[int, int, int]:
    """How many of `matrices` (m, n) fit into shared memory beside vectors of so many entries, the distance of
    the rows of the first of them, and the bytes. Rows of odd length meet no bank twice in a column.
    """
    size = m * (n | 1)
    fitting = min(matrices, (most_shared() // itemsize - vectors) // size)
    return fitting, n | 1 if fitting else n, (vectors + fitting * size) * itemsize


def run(
    source: str, name: str, like: Any, shape: tuple[int, int], matrices: int, vectors: int, *arguments: Any
) -> None:
    """Launch a kernel for the matrices of `like`, with shared memory for some of this shape, and vectors."""
    held, row, shared = placed(matrices, *shape, vectors, like.itemsize)
    function = kernel(source, name, like.dtype, WIDTH=WARP, PLACED=held)
    launch_blocks(function, len(like), threads_for(shape[0]), (*arguments, row), shared)


def gelqf(A: Any, L: Any, with_q: bool = True) -> None:
    """LQ factors, L and A := Q with A = L Q, Q Qᵀ = I, L lower triangular with a positive diagonal.

    Parameters
    ----------
    A : (count, m, n) ndarray
        m <= n. Without `with_q` its contents are lost.
    L : (count, m, m) ndarray
        Written.
    with_q : bool
        If False, Q is not formed: half the work.

    Notes
    -----
    4m²n flops, Householder's reflections one by one; 3.5m²n entries are read or written in shared memory.
    Seeger et al. (2017), section 4.3.
    """
    _, m, n = A.shape
    run("block_lq.cu", "gelqf", A, (m, n), 1, 2 * m, A, L, m, n, with_q)


def syevd(A: Any, lam: Any) -> Any:
    """Symmetric eigendecompositions, lam and A := U with A = Uᵀ diag(lam) U; the lower triangle is read.

    Parameters
    ----------
    A : (count, n, n) ndarray
        Rows of U are eigenvectors, of any sign.
    lam : (count, n) ndarray
        Written, ascending.

    Returns
    -------
    info : (count,) ndarray of int32
        0; -1 for NaN or infinity in the lower triangle, 1 without convergence.

    Notes
    -----
    About 6n³ flops for each of seven to ten sweeps of Jacobi's rotations, n / 2 of them at a time; a
    temporary of the shape of A, unless both fit into shared memory. Golub and Van Loan (2013), section 8.5.
    """
    count, n, _ = A.shape
    info, vectors = cupy.empty(count, np.int32), WARP + 3 * ((n + 1) // 2)
    U = place_for_vectors(A, vectors)
    run("block_eigen.cu", "syevd", A, (n, n), 2, vectors, A, lam, U, info, n)
    return info


def gesvd(A: Any, s: Any, Ut: Any, Vh: Any) -> Any:
    """Singular value decompositions of square matrices, A = U diag(s) Vh with Ut = Uᵀ; A is lost.

    Parameters
    ----------
    A, Ut, Vh : (count, n, n) ndarray
        The latter two are written, with signs as they come.
    s : (count, n) ndarray
        Written, descending.

    Returns
    -------
    info : (count,) ndarray of int32
        0; 1 for NaN or infinity, or without convergence.

    Notes
    -----
    About 8n³ flops for each sweep of one-sided Jacobi rotations, n / 2 of them at a time: seven to twelve
    where small singular values belong to short rows, up to 60 elsewhere. A temporary of the shape of A,
    unless both fit into shared memory. Hestenes (1958).
    """
    count, n, _ = A.shape
    info, vectors = cupy.empty(count, np.int32), WARP + 3 * n
    J = place_for_vectors(A, vectors)
    run("block_svd.cu", "gesvd", A, (n, n), 2, vectors, A, s, Ut, Vh, J, info, n)
    return info


def place_for_vectors(A: Any, vectors: int) -> Any:
    """Where vectors are made that have no room in shared memory."""
    _, m, n = A.shape
    held, _, _ = placed(2, m, n, vectors, A.itemsize)
    return NOWHERE if held == 2 else cupy.empty(A.shape, A.dtype)
