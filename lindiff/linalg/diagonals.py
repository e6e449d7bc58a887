"""Diagonals and triangles, out of a matrix and into one."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from lindiff.core.differential import Linear
from lindiff.linalg._backend import operator

__all__ = ["extractdiag", "extracttrian", "makediag", "maketrian"]


def _extractdiag(A: Any, offset: int = 0) -> Any:
    A = A if hasattr(A, "__array_function__") else np.asarray(A)
    _square(A, "extractdiag")
    return np.diagonal(A, offset, -2, -1).copy()


def _square(A: Any, name: str) -> None:
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"{name}: A must be square in its last two axes, got shape {A.shape}")


@operator(_extractdiag)
def extractdiag(A: Any, offset: int = 0) -> Any:
    """A diagonal of a square matrix.

    Parameters
    ----------
    A : (..., n, n) array
    offset : int
        Above the main diagonal if positive, below if negative.

    Returns
    -------
    (..., n - abs(offset)) array

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.extractdiag(np.array([[1.0, 2.0], [3.0, 4.0]]), -1)
    array([3.])
    """

    n = A.shape[-1]

    def pullback(a_bar: Any) -> Any:
        return None if n < abs(offset) else makediag(a_bar, offset)

    return extractdiag(A, offset), Linear(lambda A_dot: extractdiag(A_dot, offset), pullback)


def _makediag(a: Any, offset: int = 0) -> Any:
    a = a if hasattr(a, "__array_function__") else np.asarray(a)
    n = a.shape[-1] + abs(offset)
    A = np.zeros_like(a, shape=(*a.shape[:-1], n, n))
    i = np.arange(a.shape[-1])
    A[..., i + max(-offset, 0), i + max(offset, 0)] = a
    return A


@operator(_makediag)
def makediag(a: Any, offset: int = 0) -> Any:
    """The smallest square matrix with ``a`` on a diagonal, zero elsewhere.

    Parameters
    ----------
    a : (..., k) array
    offset : int
        Above the main diagonal if positive, below if negative.

    Returns
    -------
    (..., k + abs(offset), k + abs(offset)) array

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.makediag(np.array([2.0]), 1)
    array([[0., 2.],
           [0., 0.]])
    """
    return makediag(a, offset), Linear(
        lambda a_dot: makediag(a_dot, offset), lambda A_bar: extractdiag(A_bar, offset)
    )


def _packing(n: int, offset: int, lower: bool) -> tuple[Any, Any]:
    """Row and column indices of a triangle, row by row."""
    return np.tril_indices(n, offset) if offset < 0 or (offset == 0 and lower) else np.triu_indices(n, offset)


def _extracttrian(A: Any, offset: int = 0, lower: bool = True) -> Any:
    A = A if hasattr(A, "__array_function__") else np.asarray(A)
    _square(A, "extracttrian")
    rows, columns = _packing(A.shape[-1], offset, lower)
    return A[..., rows, columns]


@operator(_extracttrian)
def extracttrian(A: Any, offset: int = 0, lower: bool = True) -> Any:
    """A triangle of a square matrix, packed row by row.

    Parameters
    ----------
    A : (..., n, n) array
    offset : int
        The diagonal that the triangle begins with: below the main diagonal (and the triangle below it) if
        negative, above if positive.
    lower : bool
        Which triangle, for offset 0.

    Returns
    -------
    (..., k (k + 1) / 2) array
        With k = n - abs(offset).

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.extracttrian(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([1., 3., 4.])
    """

    n = A.shape[-1]

    def pullback(a_bar: Any) -> Any:
        return None if n < abs(offset) else maketrian(a_bar, offset, lower)

    return extracttrian(A, offset, lower), Linear(lambda A_dot: extracttrian(A_dot, offset, lower), pullback)


def _maketrian(a: Any, offset: int = 0, lower: bool = True) -> Any:
    a = a if hasattr(a, "__array_function__") else np.asarray(a)
    count = a.shape[-1]
    k = (isqrt(8 * count + 1) - 1) // 2
    if k * (k + 1) // 2 != count:
        raise ValueError(f"maketrian: {count} numbers do not fill a triangle; 1, 3, 6, 10, ... do")
    n = k + abs(offset)
    A = np.zeros_like(a, shape=(*a.shape[:-1], n, n))
    rows, columns = _packing(n, offset, lower)
    A[..., rows, columns] = a
    return A


@operator(_maketrian)
def maketrian(a: Any, offset: int = 0, lower: bool = True) -> Any:
    """The smallest square matrix that holds a packed triangle, zero elsewhere.

    Parameters
    ----------
    a : (..., k (k + 1) / 2) array
        Row by row.
    offset : int
        The diagonal that the triangle begins with: below the main diagonal (and the triangle below it) if
        negative, above if positive.
    lower : bool
        Which triangle, for offset 0.

    Returns
    -------
    (..., n, n) array
        With n = k + abs(offset).

    Raises
    ------
    ValueError
        If the length is no triangle's.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.maketrian(np.array([1.0, 2.0, 3.0]), lower=False)
    array([[1., 2.],
           [0., 3.]])
    """
    return maketrian(a, offset, lower), Linear(
        lambda a_dot: maketrian(a_dot, offset, lower), lambda A_bar: extracttrian(A_bar, offset, lower)
    )
