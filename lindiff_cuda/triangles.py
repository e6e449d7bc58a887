"""The symmetric matrix of a triangle (Seeger et al. 2017, section 4.1), and parts of stacks."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from lindiff_cuda import structure
from lindiff_cuda.arrays import Batch

__all__ = ["adjoint", "copyltu", "diagonal", "kept_triangle", "onto_unpaired", "real_diagonal", "unpaired"]


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
    """The result may overwrite X."""
    batch = Batch("copyltu")
    y = batch.own(batch.square(X, "X"), overwrite_x)
    structure.mirror(batch.stack(y))
    return y


def unpaired(A: Any, lower: bool = True, hermitian: bool = True) -> Any:
    """Never None: to ask whether all entries have a mirror image would be to wait for the answer."""
    batch = Batch("unpaired")
    batch.square(A, "A")
    return batch.result(structure.find_unpaired(batch.full(batch.read(A)), lower, hermitian))


def onto_unpaired(M_bar: Any, found: Any, overwrite_m_bar: bool = False) -> Any:
    """`found` may be one matrix for a whole batch of M_bar."""
    batch = Batch("onto_unpaired")
    batch.square(M_bar, "M_bar")
    batch.shape = np.broadcast_shapes(batch.shape, found.shape[:-2])
    x = batch.own(M_bar, overwrite_m_bar)
    shared = found.size == found.shape[-1] ** 2
    found = found if shared or found.shape == x.shape else cupy.broadcast_to(found, x.shape)
    structure.give_to_unpaired(batch.stack(x), batch.stack(cupy.ascontiguousarray(found)))
    return x
