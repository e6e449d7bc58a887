"""Squared Euclidean distances between the rows of two matrices, of which covariances are functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.variable import value
from lindiff.linalg._backend import operator
from lindiff.linalg._matrices import transposed

__all__ = ["squared_distances"]

CANCELLED = 1 / 32  # what is left of |x|² + |z|² where the difference of both is taken


def _lengths(X: Any) -> Any:
    return np.sum(X * X, axis=-1)


def _squared_distances(X: Any, Z: Any) -> Any:
    """|x|² + |z|² - 2 x zᵀ, and the differences of points that lie near each other."""
    if X.ndim != 2 or Z.ndim != 2 or X.shape[1] != Z.shape[1]:
        raise ValueError(
            f"squared_distances: needs matrices with as many columns, got shapes {X.shape} and {Z.shape}"
        )
    dtype = np.result_type(X, Z, np.float32)
    X, Z = X.astype(dtype), Z.astype(dtype)
    x, z = _about(Z, X, Z)
    both = _lengths(x)[:, None] + _lengths(z)
    R = both - 2 * (x @ transposed(z))
    i, j = np.nonzero(~(CANCELLED * both < R))
    R[i, j] = _lengths(X[i] - Z[j])
    return R


def _about(Z: Any, *points: Any) -> list[Any]:
    """Points about a centre of those in Z, on which no difference depends; so it counts as constant."""
    center = np.mean(value(Z), axis=0) if len(Z) else 0.0
    return [x - center for x in points]


@operator(_squared_distances)
def squared_distances(X: Any, Z: Any) -> Any:
    """``|x_i - z_j|²`` of the rows of two matrices.

    Parameters
    ----------
    X : (n, d) array
    Z : (m, d) array
        Real.  May be X itself.

    Returns
    -------
    (n, m) array
        Zero between equal rows; else with a relative error of some ten roundings for each column, however
        near the rows are to each other, and however far from zero.

    Raises
    ------
    ValueError
        If these are no matrices of as many columns.

    Notes
    -----
    2nmd flops, by one product of matrices where columns are many, and 4nmd for both derivatives:
    ``X_bar = 2 (diag(R_bar 1) X - R_bar Z)``.  No other array of n × m numbers.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> ld.linalg.squared_distances(X, X)
    array([[ 0., 25.],
           [25.,  0.]])
    >>> ld.grad(lambda X: np.sum(ld.linalg.squared_distances(X, X)))(X)
    array([[-12., -16.],
           [ 12.,  16.]])
    """
    R = squared_distances(X, Z)
    x, z = _about(Z, X, Z)

    def push_x(X_dot: Any) -> Any:
        return 2 * (np.sum(x * X_dot, axis=1)[:, None] - X_dot @ transposed(z))

    def push_z(Z_dot: Any) -> Any:
        return 2 * (np.sum(z * Z_dot, axis=1) - x @ transposed(Z_dot))

    def pull_x(R_bar: Any) -> Any:
        return 2 * (np.sum(R_bar, axis=1)[:, None] * x - R_bar @ z)

    def pull_z(R_bar: Any) -> Any:
        return 2 * (np.sum(R_bar, axis=0)[:, None] * z - transposed(R_bar) @ x)

    return R, Differential((push_x, push_z), (pull_x, pull_z))
