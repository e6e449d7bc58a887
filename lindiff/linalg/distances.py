"""Squared Euclidean distances between the rows of two matrices, of which covariances are functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import operator
from lindiff.linalg._matrices import transposed

__all__ = ["squared_distances"]

CANCELLED = 1 / 32  # what is left of |x|² + |z|² where the difference of both is taken,
NEAR = 2**-14  # and where it is in derivatives


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
    ``x̄_i = 2 Σ_j R̄_ij (x_i - z_j)``, by differences of near points: what is a function of distances may have
    large derivatives there.

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
    R2 = value(R)
    return R, Differential(
        (
            lambda X_dot: 2 * directed_differences(X_dot, X, Z, R2),
            lambda Z_dot: 2 * transposed(directed_differences(Z_dot, Z, X, transposed(R2))),
        ),
        (
            lambda R_bar: 2 * weighted_differences(R_bar, X, Z, R2),
            lambda R_bar: 2 * weighted_differences(R_bar, X, Z, R2, of_columns=True),
        ),
    )


# -- derivatives -----------------------------------------------------------------------------------------


def _is_near(x: Any, z: Any, R2: Any) -> Any:
    return ~(NEAR * (_lengths(x)[:, None] + _lengths(z)) < R2)


def _weighted_differences(W: Any, X: Any, Z: Any, R2: Any, of_columns: bool = False) -> Any:
    """``diag(W 1) x - W z`` of far points, and differences of near ones."""
    x, z = _about(Z, X, Z)
    i, j = np.nonzero(_is_near(x, z, R2))
    far, near = W.copy(), W[i, j][:, None] * (X[i] - Z[j])
    far[i, j] = 0
    if of_columns:
        far, x, z, i, near = transposed(far), z, x, j, -near
    found = np.sum(far, axis=1)[:, None] * x - product(far, z)
    np.add.at(found, i, near)
    return found


@operator(_weighted_differences)
def weighted_differences(W: Any, X: Any, Z: Any, R2: Any, of_columns: bool = False) -> Any:
    """``Σ_j w_ij (x_i - z_j)``, (n, d), of weights (n, m); `of_columns` ``Σ_i w_ij (z_j - x_i)``, (m, d).

    R2 are the squared distances, which decide how.
    """
    return weighted_differences(W, X, Z, R2, of_columns), Differential(
        (
            lambda W_dot: weighted_differences(W_dot, X, Z, R2, of_columns),
            lambda X_dot: (
                product(-transposed(W), X_dot) if of_columns else np.sum(W, axis=1)[:, None] * X_dot
            ),
            lambda Z_dot: np.sum(W, axis=0)[:, None] * Z_dot if of_columns else product(-W, Z_dot),
            None,
        ),
        (
            lambda bar: (
                transposed(directed_differences(bar, Z, X, transposed(R2)))
                if of_columns
                else directed_differences(bar, X, Z, R2)
            ),
            lambda bar: product(-W, bar) if of_columns else np.sum(W, axis=1)[:, None] * bar,
            lambda bar: np.sum(W, axis=0)[:, None] * bar if of_columns else product(-transposed(W), bar),
            None,
        ),
    )


def _directed_differences(W: Any, X: Any, Z: Any, R2: Any) -> Any:
    """``w_i x_i - w_i z_j`` of far points, and differences of near ones."""
    x, z = _about(Z, X, Z)
    i, j = np.nonzero(_is_near(x, z, R2))
    found = np.sum(W * x, axis=1)[:, None] - product(W, transposed(z))
    found[i, j] = np.sum(W[i] * (X[i] - Z[j]), axis=1)
    return found


@operator(_directed_differences)
def directed_differences(W: Any, X: Any, Z: Any, R2: Any) -> Any:
    """``Σ_k w_ik (x_ik - z_jk)``, (n, m), of directions (n, d); R2 as above."""
    return directed_differences(W, X, Z, R2), Differential(
        (
            lambda W_dot: directed_differences(W_dot, X, Z, R2),
            lambda X_dot: np.sum(W * X_dot, axis=1)[:, None],
            lambda Z_dot: product(-W, transposed(Z_dot)),
            None,
        ),
        (
            lambda bar: weighted_differences(bar, X, Z, R2),
            lambda bar: np.sum(bar, axis=1)[:, None] * W,
            lambda bar: product(-transposed(bar), W),
            None,
        ),
    )
