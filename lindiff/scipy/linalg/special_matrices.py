"""Matrices made of vectors and blocks: linear in them, or nearly so.

Each is written in NumPy's functions.  Of the special matrices without arguments to differentiate (Hilbert,
Pascal, Hadamard, ...) SciPy's own serve.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from lindiff._docstrings import documented_like
from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.linalg._batches import over_batch
from lindiff.linalg._matrices import conj
from lindiff.rules._common import as_array, laid_out
from lindiff.scipy.linalg._arguments import is_plain, joined

__all__ = [
    "block_diag",
    "circulant",
    "companion",
    "convolution_matrix",
    "fiedler",
    "hankel",
    "khatri_rao",
    "leslie",
    "toeplitz",
]


def _vector(x: Any) -> Any:
    """An array with an axis at least."""
    return np.atleast_1d(as_array(x))


def _by_rows(matrices: Any) -> Any:
    """A batch in SciPy's layout, by rows; a single matrix has it already."""
    return laid_out(matrices, "C") if matrices.ndim > 2 else matrices


def _toeplitz(c: Any, r: Any) -> Any:
    """``t_ij`` is entry ``i - j`` of the vector that runs from the end of r to the end of c."""
    diagonals = joined(np.flip(r[..., 1:], axis=-1), c)
    i, j = np.arange(c.shape[-1])[:, None], np.arange(r.shape[-1])
    return _by_rows(diagonals[..., i - j + max(r.shape[-1] - 1, 0)])


@documented_like(scipy.linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """Differentiable in `c` and `r`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.linalg import toeplitz
    >>> toeplitz(np.array([1.0, 2.0]), np.array([0.0, 3.0]))
    array([[1., 3.],
           [2., 1.]])
    >>> ld.grad(lambda c: toeplitz(c).sum())(np.array([1.0, 2.0]))
    array([2., 2.])
    """
    c = _vector(c)
    r = conj(c) if r is None else _vector(r)
    return over_batch(1, 1)(scipy.linalg.toeplitz)(c, r) if is_plain(c, r) else _toeplitz(c, r)


@documented_like(scipy.linalg.circulant)
def circulant(c: Any) -> Any:
    """Differentiable in `c`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import circulant
    >>> circulant(np.array([1.0, 2.0, 3.0]))
    array([[1., 3., 2.],
           [2., 1., 3.],
           [3., 2., 1.]])
    """
    c = _vector(c)
    if is_plain(c):
        return over_batch(1)(scipy.linalg.circulant)(c)
    i = np.arange(c.shape[-1])
    return _by_rows(c[..., i[:, None] - i])


@documented_like(scipy.linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    """Differentiable in `c` and `r`.

    Leading axes are a batch, as announced for SciPy 1.19.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import hankel
    >>> hankel(np.array([1.0, 2.0]), np.array([0.0, 3.0]))
    array([[1., 2.],
           [2., 3.]])
    """
    c = _vector(c)
    r = np.zeros_like(value(c)) if r is None else _vector(r)
    if is_plain(c, r):
        return over_batch(1, 1)(scipy.linalg.hankel)(c, r)
    i, j = np.arange(c.shape[-1])[:, None], np.arange(r.shape[-1])
    return _by_rows(joined(c, r[..., 1:])[..., i + j])


@documented_like(scipy.linalg.convolution_matrix)
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """Differentiable in `a`.

    Raises
    ------
    ValueError
        If `a` is empty, n is not positive, or the mode unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import convolution_matrix
    >>> convolution_matrix(np.array([1.0, 2.0]), 2)
    array([[1., 0.],
           [2., 1.],
           [0., 2.]])
    """
    a = as_array(a)
    if is_plain(a):
        return over_batch(1)(scipy.linalg.convolution_matrix)(np.asarray(a), n, mode)
    rows = scipy.linalg.convolution_matrix(np.arange(1, a.shape[-1] + 1), n, mode)  # checks the arguments
    return _by_rows(np.where(placed(rows > 0, a), a[..., rows - 1], 0.0).astype(a.dtype))


@documented_like(scipy.linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    """Differentiable in all blocks.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.linalg import block_diag
    >>> block_diag(np.array([[1.0, 2.0]]), 3.0)
    array([[1., 2., 0.],
           [0., 0., 3.]])
    """
    if is_plain(*arrs):
        blocks = [np.atleast_2d(block) for block in arrs]
        return over_batch(*(2 for _ in blocks))(scipy.linalg.block_diag)(*blocks)
    blocks = [placed(np.atleast_2d(as_array(block)), *arrs) for block in arrs]
    dtype = np.result_type(*(block.dtype for block in blocks))
    batch = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    width = sum(block.shape[-1] for block in blocks)
    rows, left = [], 0
    for block in blocks:
        m, n = block.shape[-2:]
        block = np.broadcast_to(block.astype(dtype), (*batch, m, n))
        sides = [(0, 0)] * (block.ndim - 1)
        rows.append(np.pad(block, [*sides, (left, width - left - n)]))
        left += n
    return laid_out(np.concatenate(rows, axis=-2), "C")


@documented_like(scipy.linalg.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    """Differentiable in `a` and `b`.

    Raises
    ------
    ValueError
        If they are no matrices with as many columns.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import khatri_rao
    >>> khatri_rao(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]]))
    array([[ 3.,  8.],
           [ 5., 12.]])
    """
    a, b = as_array(a), as_array(b)
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"khatri_rao: a of shape {a.shape} and b of shape {b.shape} must be matrices with as many columns"
        )
    products = a[..., :, None, :] * b[..., None, :, :]
    return np.reshape(products, (*products.shape[:-3], a.shape[-2] * b.shape[-2], a.shape[-1]))


@documented_like(scipy.linalg.companion)
def companion(a: Any) -> Any:
    """Differentiable in `a`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import companion
    >>> companion(np.array([2.0, -6.0, 4.0]))
    array([[ 3., -2.],
           [ 1.,  0.]])
    """
    a = as_array(a)
    if is_plain(a):
        return over_batch(1)(scipy.linalg.companion)(np.atleast_1d(a))
    n = a.shape[-1] if a.ndim else 0
    if n < 2:
        raise ValueError(f"companion: a must have two coefficients or more, got shape {a.shape}")
    if np.any(value(a)[..., 0] == 0):
        raise ValueError("companion: the first coefficient must not be zero")
    first = -(a[..., 1:] / a[..., :1])
    shifts = np.broadcast_to(placed(np.eye(n - 2, n - 1, dtype=a.dtype), a), (*a.shape[:-1], n - 2, n - 1))
    return _by_rows(np.concatenate([first[..., None, :], shifts], axis=-2))


@documented_like(scipy.linalg.fiedler)
def fiedler(a: Any) -> Any:
    """Differentiable in `a`, with the subgradient 0 of ``|a_i - a_j|`` at 0.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import fiedler
    >>> fiedler(np.array([1.0, 4.0]))
    array([[0., 3.],
           [3., 0.]])
    """
    a = _vector(a)
    if is_plain(a):
        return over_batch(1)(scipy.linalg.fiedler)(a)
    return _by_rows(np.abs(a[..., :, None] - a[..., None, :]))


@documented_like(scipy.linalg.leslie)
def leslie(f: Any, s: Any) -> Any:
    """Differentiable in `f` and `s`.

    Raises
    ------
    ValueError
        If the lengths do not go together.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import leslie
    >>> leslie(np.array([0.5, 2.0]), np.array([0.25]))
    array([[0.5 , 2.  ],
           [0.25, 0.  ]])
    """
    f, s = _vector(f), _vector(s)
    if is_plain(f, s):
        return over_batch(1, 1)(scipy.linalg.leslie)(f, s)
    n = f.shape[-1]
    if s.shape[-1] != n - 1 or n < 2:
        raise ValueError(f"leslie: s must be one shorter than f and not empty, got {f.shape} and {s.shape}")
    batch = np.broadcast_shapes(f.shape[:-1], s.shape[:-1])
    dtype = np.result_type(f.dtype, s.dtype)
    first = np.broadcast_to(f.astype(dtype), (*batch, n))
    rates = (
        placed(np.eye(n - 1, n, dtype=dtype), s)
        * np.broadcast_to(s.astype(dtype), (*batch, n - 1))[..., None]
    )
    return np.concatenate([first[..., None, :], rates], axis=-2)
