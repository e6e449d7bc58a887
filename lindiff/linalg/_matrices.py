"""Simple matrix functions, batched, in functions that dispatch (Seeger et al. 2017, section 4.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, placed, zeros_beside

__all__ = [
    "EIGHTH_ROOT",
    "adjoint",
    "block_triangle",
    "blocks",
    "conj",
    "copyltu",
    "half_tril",
    "hermitian_part",
    "identity_like",
    "largest",
    "mirrored",
    "op",
    "symmetric_part",
    "transposed",
    "triangle",
    "upper_right",
]

# Of the largest number of a type.
EIGHTH_ROOT = {"f": 2.0**16, "d": 2.0**128, "F": 2.0**16, "D": 2.0**128}


def transposed(X: Any) -> Any:
    """Xᵀ."""
    return np.swapaxes(X, -1, -2)


def conj(X: Any) -> Any:
    """The complex conjugate; a real X as it is."""
    X = X if hasattr(X, "dtype") else np.asarray(X)
    return np.conjugate(X) if X.dtype.kind == "c" else X


def adjoint(X: Any) -> Any:
    """Xᴴ."""
    return conj(transposed(X))


def op(X: Any, transpose: bool | str) -> Any:
    """t(X): X, Xᵀ or Xᴴ for ``transpose`` False, True or "C"; its own adjoint in the real inner product."""
    if not transpose:
        return X
    return adjoint(X) if transpose == "C" else transposed(X)


def triangle(X: Any, lower: bool) -> Any:
    """The named triangle of X, diagonal included, zeros elsewhere (whatever X holds there)."""
    return np.tril(X) if lower else np.triu(X)


def half_tril(X: Any) -> Any:
    """Φ(X): the lower triangle with halved diagonal."""
    return 0.5 * (np.tril(X) + np.tril(X, -1))


def copyltu(X: Any) -> Any:
    """The Hermitian matrix that has the lower triangle of X (of its diagonal the real part)."""
    P = half_tril(X)
    return P + adjoint(P)


def blocks(D: Any, lower: bool = True) -> tuple[Any, Any]:
    """1 in the diagonal blocks of a plain D (of size 1 or 2) and 1 below them (or above); 0 elsewhere."""
    linked = np.diagonal(D, -1, -2, -1) != 0
    number = zeros_beside(D, D.shape[:-1], int)
    number[..., 1:] = np.cumsum(~linked, axis=-1)
    i, j = number[..., :, None], number[..., None, :]
    real = D.real.dtype
    return (i == j).astype(real), (i > j if lower else i < j).astype(real)


def mirrored(X: Any, lower: bool, hermitian: bool = True) -> Any:
    """The Hermitian (or symmetric) matrix of which X has one triangle; the other may hold anything."""
    P = triangle(X, lower)
    strict = np.tril(P, -1) if lower else np.triu(P, 1)
    if not hermitian:
        return P + transposed(strict)
    M = P + adjoint(strict)
    return hermitian_part(M) if M.dtype.kind == "c" else M  # of the diagonal the real part


def hermitian_part(X: Any) -> Any:
    """sym(X) = ½ (X + Xᴴ)."""
    return 0.5 * (X + adjoint(X))


def symmetric_part(X: Any) -> Any:
    """½ (X + Xᵀ)."""
    return 0.5 * (X + transposed(X))


def identity_like(X: Any) -> Any:
    """The identity matrix, of the order, dtype and library of X."""
    return placed(np.eye(X.shape[-1], dtype=X.dtype), X)


def largest(sizes: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest of some sizes, 0 of none: ``np.max`` with ``initial=0``, which CuPy's has not."""
    if foreign(sizes) is None:
        return np.max(sizes, axis=axis, keepdims=keepdims, initial=0.0)
    reduce = np.max if sizes.size else np.sum
    return reduce(sizes, axis=axis, keepdims=keepdims)


def block_triangle(A: Any, E: Any) -> Any:
    """``[[A, E], [0, A]]``: a function of it has the Fréchet derivative at A along E in its upper right."""
    shape = np.broadcast_shapes(A.shape, E.shape)
    A, E = np.broadcast_to(A, shape), np.broadcast_to(E, shape)
    top = np.concatenate([A, E], axis=-1)
    below = np.concatenate([np.zeros_like(A), A], axis=-1)
    return np.concatenate([top, below], axis=-2)


def upper_right(M: Any) -> Any:
    """The block E of ``[[A, E], [0, A]]``."""
    n = M.shape[-1] // 2
    return M[..., :n, n:]
