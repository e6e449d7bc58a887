"""Factors of covariances that may be singular."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from lindiff.core.arrays import on_host, placed
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._matrices import hermitian_part

__all__ = ["factors", "semidefinite_factor", "semidefinite_part"]


def factors(covs: list[Any], name: str, argument: str) -> list[Any]:
    """The factor of every step's covariance, computed once if that is constant."""
    if all(cov is covs[0] for cov in covs):
        return [semidefinite_factor(cov, name, argument) for cov in covs[:1]] * len(covs)
    L = semidefinite_factor(np.stack(covs), name, argument)
    return [L[t] for t in range(len(covs))]


def semidefinite_factor(cov: Any, name: str, argument: str) -> Any:
    """L with ``cov = L Lᵀ``, cov positive semidefinite: zero pivots have zero columns.

    Cholesky's algorithm column by column, L a lower triangle; its derivatives hold along changes that keep
    the zero pivots.  What rounding has made indefinite is eliminated in the order of the largest pivots,
    and what is then left of it, rounding alone, is nothing (Higham 2002, section 10.3).
    """
    n = cov.shape[-1]
    if n == 0:
        return cov
    L = _in_given_order(cov)
    if L is not None:
        return L
    if cov.ndim > 2:
        return np.stack([semidefinite_factor(each, name, argument) for each in cov])
    order = _by_largest_pivots(on_host(value(cov)))
    if order is None:
        raise np.linalg.LinAlgError(f"{name}: {argument} is indefinite")
    return _in_order(cov, order)


def _in_given_order(cov: Any) -> Any:
    """The triangle, or None where a negative pivot, or anything below a zero one, is more than rounding."""
    n, plain = cov.shape[-1], value(cov)
    variances = np.abs(np.diagonal(plain, axis1=-2, axis2=-1))
    rounding = _rounding(plain)
    largest: Any = np.max(variances, axis=-1)
    columns: list[Any] = []
    for j in range(n):
        rest = _eliminated(cov, columns, j, np.arange(n) >= j)
        pivot = value(rest)[..., j]
        positive = (pivot > rounding * variances[..., j])[..., None]
        # below a zero pivot of a semidefinite matrix is nothing, to the square root of rounding
        bound = 4 * rounding * variances[..., j, None] * variances + (rounding * largest[..., None]) ** 2
        nothing = np.all(value(rest) ** 2 <= bound, axis=-1, keepdims=True)
        if np.any(pivot < -rounding * largest) or not np.all(positive | nothing):
            return None
        root = np.sqrt(np.where(positive, rest[..., j : j + 1], 1))
        columns.append(np.where(positive, rest / root, 0))
    return np.stack(columns, axis=-1)


def _in_order(cov: Any, order: list[int]) -> Any:
    """The factor whose columns eliminate these places; the others are nothing."""
    n = cov.shape[-1]
    columns: list[Any] = []
    for k, j in enumerate(order):
        rest = _eliminated(cov, columns, j, ~np.isin(np.arange(n), order[:k]))
        columns.append(rest / np.sqrt(rest[j]))
    nothing = 0 * value(cov)[..., 0]
    return np.stack([*columns, *[nothing] * (n - len(order))], axis=-1)


def _eliminated(cov: Any, columns: Iterable[Any], j: int, left: Any) -> Any:
    """What these columns leave of the j-th one, at the places that are left."""
    rest = cov[..., :, j]
    for column in columns:
        rest = rest - column * column[..., j : j + 1]
    return rest * placed(left.astype(rest.dtype), value(cov))


def _by_largest_pivots(cov: Any) -> list[int] | None:
    """The order of elimination, as far as pivots are more than the rounding that makes cov indefinite.

    That is found by trying: rounding of some size added to the variances makes cov definite.  From the square
    root of the unit in the last place on it is no rounding, and there is no order.
    """
    variances, n = np.abs(np.diag(cov)), len(cov)
    unit, eps = _rounding(cov), float(np.finfo(cov.dtype).eps)
    for relative in np.geomspace(unit, eps**0.5, 8):
        noise = relative * variances + unit * np.max(variances)
        if _is_definite(cov + np.diag(noise + np.finfo(cov.dtype).tiny)):
            break
    else:
        return None
    order: list[int] = []
    rest = cov.copy()
    while len(order) < n:
        pivots = np.diag(rest) / (noise + np.finfo(cov.dtype).tiny)
        pivots[order] = -np.inf
        j = int(np.argmax(pivots))
        if not pivots[j] > n:
            break
        order.append(j)
        rest = rest - np.outer(rest[:, j], rest[j]) / rest[j, j]
    return order


def _is_definite(cov: Any) -> bool:
    try:
        np.linalg.cholesky(cov)
    except np.linalg.LinAlgError:
        return False
    return True


def _rounding(cov: Any) -> float:
    return 10 * cov.shape[-1] * float(np.finfo(cov.dtype).eps)


def semidefinite_part(cov: Any) -> Any:
    """A covariance (n, n) that rounding has left with variances below zero or correlations beyond one."""
    variances = np.diagonal(cov)
    bound = np.sqrt(np.maximum(variances, 0))
    if not len(cov) or ((variances >= 0).all() and (np.abs(cov) <= bound[:, None] * bound).all()):
        return cov
    found, V = np.linalg.eigh(hermitian_part(cov))
    found = np.maximum(found, 0)
    nearest = product(V * found, V.T)
    nothing = np.diagonal(nearest) <= 8 * len(cov) * np.finfo(cov.dtype).eps * found[-1]
    return np.where(nothing[:, None] | nothing, 0, hermitian_part(nearest))
