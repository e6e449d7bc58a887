"""Squared distances of points with a scale for each column, of which kernels are functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.gp.moving import Still, apart
from lindiff.kernels import distances
from lindiff.linalg import squared_distances
from lindiff.rules._common import depends_on_variables
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["about_center", "scaled_squared_distances"]

MANY_COLUMNS = 32  # from which on products of matrices take more time than the Python around them


def about_center(F: Any, G: Any) -> tuple[Any, Any]:
    """Points about the median of each column, on which a function of differences does not depend.

    Far from zero the derivative by a scale would be one of large numbers that cancel.  A few that are farther
    off, or not finite, do not move it.
    """
    middle = len(G) // 2
    center = np.partition(value(G), middle, axis=0)[middle] if len(G) else 0.0
    return F - center, G - center


def scaled_squared_distances(X: Any, Z: Any, scale: Any) -> Any:
    """``Σ_k (x_ik - z_jk)² / s_k²`` of the rows of X (n, d) and of Z (m, d), which may be X itself.

    Notes
    -----
    2nmd flops.  Of many columns the derivatives by Z and by all scales take 2nmd together, by one product of
    matrices, ``Σ_i r̄_ij (z_j - x_i)``; that by X, where it is another array, as many again.
    """
    points = (X,) if Z is X else (X, Z)
    if X.shape[1] < MANY_COLUMNS or not all(type(value(x)) is np.ndarray and x.size for x in (X, Z, scale)):
        return _composed(points, scale)
    moving, still = apart((points, scale))
    return _of_many(moving, still) if moving else _with_lengths(points, scale)[0]


def _composed(points: tuple[Any, ...], scale: Any) -> Any:
    x, z = about_center(points[0], points[-1])
    return squared_distances(x / scale, z / scale)


def _with_lengths(points: tuple[Any, ...], scale: Any) -> Any:
    return distances.scaled_squared_distances(points[0], points[-1], scale)


@rule
def _of_many(moving: list[Any], still: Still) -> Any:
    def whole(*moving: Any) -> Any:
        return _composed(*still.tree(moving))

    def push(moving_dot: list[Any]) -> Any:
        return jvp(whole, tuple(moving), tuple(moving_dot))[1]

    def pull_whole(R_bar: Any) -> list[Any]:
        return [*vjp(whole, *moving)[1](R_bar)]

    if depends_on_variables(moving):
        return _of_many(moving, still), Differential((push,), (pull_whole,))
    points, scale = still.tree(moving)
    R, *lengths = _with_lengths(points, scale)

    def pull(R_bar: Any) -> Any:
        if type(R_bar) is not np.ndarray:
            return pull_whole(R_bar)
        *is_moving, _ = still.active
        bars = _pulled(R_bar, points, scale, is_moving[0], R, *lengths)
        return [bar for bar, is_active in zip(bars, still.active, strict=True) if is_active]

    return R, Differential((push,), (pull,))


def _pulled(
    R_bar: Any, points: tuple[Any, ...], scale: Any, is_first_moving: bool, R: Any, about: Any, norms: Any
) -> tuple[Any, ...]:
    """Cotangents of the points, zero for first ones that do not move, and of the scales."""
    if len(points) == 1:  # Σ r̄_ij |x_i - x_j|² is half of that with r̄_ij + r̄_ji, whose rows are its columns
        (X,) = points
        both = R_bar + R_bar.T
        X_bar, scale_bar = distances.scaled_squared_distances_pullback(both, X, X, scale, R, about, norms)
        return X_bar, 0.5 * scale_bar
    X, Z = points
    Z_bar, scale_bar = distances.scaled_squared_distances_pullback(R_bar, X, Z, scale, R, about, norms)
    if not is_first_moving:
        return None, Z_bar, scale_bar
    turned = (np.concatenate([x[len(X) :], x[: len(X)]]) for x in (about, norms))
    X_bar, _ = distances.scaled_squared_distances_pullback(R_bar.T, Z, X, scale, R.T, *turned)
    return X_bar, Z_bar, scale_bar
