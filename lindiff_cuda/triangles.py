"""The symmetric matrix of a triangle (Seeger et al. 2017, section 4.1), and parts of stacks."""

from __future__ import annotations

from typing import Any

import cupy

from lindiff_cuda import structure
from lindiff_cuda.arrays import Batch

__all__ = ["adjoint", "copyltu", "diagonal", "kept_triangle", "real_diagonal"]


def adjoint(X: Any) -> Any:
    """Xᴴ of each matrix; a view of a real stack."""
    return X.swapaxes(1, 2).conj() if X.dtype.kind == "c" else X.swapaxes(1, 2)


def diagonal(X: Any) -> Any:
    """The diagonals of a contiguous stack, (count, n), as a view to be written."""
    count, n = X.shape[:2]
    return X.reshape(count, n * n)[:, :: n + 1]


def kept_triangle(X: Any, lower: bool) -> Any:
    """The named triangle of X, zeros elsewhere, in a new stack."""
    T = X.copy(order="C")
    structure.keep_triangle(T, lower)
    return T


def real_diagonal(X: Any) -> None:
    """The imaginary part of a complex diagonal becomes zero."""
    i = cupy.arange(X.shape[1])
    X[:, i, i] = X[:, i, i].real


def copyltu(X: Any, overwrite_x: bool = False) -> Any:
    """The symmetric matrix that has the lower triangle of X, (..., n, n). Seeger et al. (2017), section 4.1.

    Of a complex X it is the Hermitian one; of the diagonal the real part counts. It may overwrite X.
    """
    batch = Batch("copyltu")
    y = batch.own(batch.square(X, "X"), overwrite_x)
    structure.mirror(batch.stack(y))
    return y
