"""The inverse and the determinant: NumPy's own functions under the names of the other operators."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["det", "inverse", "slogdet"]


def inverse(A: Any) -> Any:
    """The inverse of a square matrix, ``np.linalg.inv``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.inverse(np.array([[2.0]]))
    array([[0.5]])
    """
    return np.linalg.inv(A)


def det(A: Any) -> Any:
    """The determinant of a square matrix, ``np.linalg.det``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (...) array

    Notes
    -----
    The first two derivatives are right for singular matrices, too.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.grad(ld.linalg.det)(np.zeros((1, 1)))
    array([[1.]])
    """
    return np.linalg.det(A)


def slogdet(A: Any) -> Any:
    """Sign and logarithm of the absolute value of a determinant, ``np.linalg.slogdet``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    sign, logabsdet : (...) array

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> sign, logabsdet = ld.linalg.slogdet(np.array([[2.0]]))
    >>> logabsdet
    np.float64(0.6931471805599453)
    """
    return np.linalg.slogdet(A)
