"""Triangular factors of covariances that may be singular."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.variable import value

__all__ = ["factors", "semidefinite_factor"]


def factors(covs: list[Any], name: str, argument: str) -> list[Any]:
    """The factor of every step's covariance, computed once if that is constant."""
    if all(cov is covs[0] for cov in covs):
        return [semidefinite_factor(cov, name, argument) for cov in covs[:1]] * len(covs)
    L = semidefinite_factor(np.stack(covs), name, argument)
    return [L[t] for t in range(len(covs))]


def semidefinite_factor(cov: Any, name: str, argument: str) -> Any:
    """Lower L with ``cov = L Lᵀ``, cov positive semidefinite: zero pivots have zero columns.

    Cholesky's algorithm column by column; its derivatives hold along changes that keep the zero pivots.
    """
    n = cov.shape[-1]
    plain = value(cov)
    variances = np.abs(np.diagonal(plain, axis1=-2, axis2=-1))
    rounding = 10 * n * float(np.finfo(plain.dtype).eps)
    largest: Any = np.max(variances, axis=-1) if n else 0.0
    columns: list[Any] = []
    for j in range(n):
        rest = cov[..., :, j]
        for column in columns:
            rest = rest - column * column[..., j : j + 1]
        rest = rest * placed((np.arange(n) >= j).astype(plain.dtype), plain)
        pivot = value(rest)[..., j]
        positive = (pivot > rounding * variances[..., j])[..., None]
        # below a zero pivot of a semidefinite matrix is nothing, to the square root of rounding
        bound = 4 * rounding * variances[..., j, None] * variances + (rounding * largest[..., None]) ** 2
        nothing = np.all(value(rest) ** 2 <= bound, axis=-1, keepdims=True)
        if np.any(pivot < -rounding * largest) or not np.all(positive | nothing):
            raise np.linalg.LinAlgError(f"{name}: {argument} is indefinite")
        root = np.sqrt(np.where(positive, rest[..., j : j + 1], 1))
        columns.append(np.where(positive, rest / root, 0))
    return np.stack(columns, axis=-1) if columns else cov
