"""Processes whose posterior has the precision ``K⁻¹ + W``, W diagonal."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from lindiff.gp.diagonals import add_to_diagonal
from lindiff.gp.kernels.base import Kernel, is_none
from lindiff.gp.likelihoods import Likelihood
from lindiff.gp.points import as_points, own
from lindiff.gp.posteriors import LikelihoodPosterior, mean_at
from lindiff.gp.regression import residuals
from lindiff.kernels.matmul import product
from lindiff.linalg import potrf, trsm

__all__ = ["Precisions", "PrecisionsPosterior", "not_found", "observed", "refusing"]

_refuses: ContextVar[bool] = ContextVar("_refuses", default=False)


@contextmanager
def refusing() -> Iterator[None]:
    """Within it an approximation that is not found is an error, for a search that can turn back."""
    token = _refuses.set(True)
    try:
        yield
    finally:
        _refuses.reset(token)


def not_found(message: str) -> None:
    """Warn that an approximation is not what it should be; raises LinAlgError within :func:`refusing`."""
    if _refuses.get():
        raise np.linalg.LinAlgError(message)
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def observed(
    name: str, kernel: Kernel, X: Any, y: Any, likelihood: Likelihood, mean: Any
) -> tuple[Any, Any, Any, Any]:
    """Points (n, d) and observations (n,) that fit together, the mean, and covariances (n, n), there."""
    X = own(as_points(X))
    y = residuals(name, X, y, None)
    if not len(X):
        raise ValueError(f"{name}: there are no points")
    if y.ndim != 1:
        raise ValueError(f"{name}: y is a vector, got shape {y.shape}")
    if likelihood.latent_shape:
        raise ValueError(
            f"{name}: {type(likelihood).__name__} has several processes: write variational_bound"
        )
    likelihood.check(y)
    K, noise = kernel.smooth(X)
    if not is_none(noise):
        K = add_to_diagonal(K, noise)
    return X, y, mean_at(name, X, y, mean), K


class Precisions:
    """``K⁻¹ + W`` by the Cholesky factor L of ``I + √W K √W``: Rasmussen & Williams (2006), eq. 3.27.

    Where W is large the solutions are differences of far larger numbers: one step of iterative refinement
    gives them their digits (Higham (2002), Accuracy and Stability of Numerical Algorithms, chapter 12).
    """

    def __init__(self, K: Any, W: Any) -> None:
        self.K, self.W = K, np.maximum(W, 0)
        self.root = np.sqrt(self.W)
        scaled = self.root[:, None] * K
        scaled *= self.root
        self.L = potrf(add_to_diagonal(scaled, 1), overwrite_a=True)

    def _weighted(self, b: Any) -> Any:
        """``√W (I + √W K √W)⁻¹ √W b``."""
        inner = trsm(self.L, trsm(self.L, (self.root * b)[:, None]), transpose=True)
        return self.root * inner[:, 0]

    def solved(self, b: Any) -> Any:
        """``(I + K W)⁻¹ b``."""
        first = b - product(self.K, self._weighted(b))
        left = b - first - product(self.K, self.W * first)
        return first + left - product(self.K, self._weighted(left))

    def solved_transpose(self, b: Any) -> Any:
        """``(I + W K)⁻¹ b``, of which K makes ``(K⁻¹ + W)⁻¹ b``."""
        first = b - self._weighted(product(self.K, b))
        left = b - first - self.W * product(self.K, first)
        return first + left - self._weighted(product(self.K, left))

    def explained(self) -> Any:
        """V of ``(K⁻¹ + W)⁻¹ = K - V Vᵀ``."""
        return trsm(self.L, self.K * self.root, transpose=True, rightside=True)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PrecisionsPosterior(LikelihoodPosterior):
    """The process at new points, given :class:`Precisions` at old ones, of observations y there."""

    kernel: Kernel
    X: Any
    y: Any
    alpha: Any
    L: Any
    root: Any
    likelihood: Likelihood
    log_likelihood: Any

    def _explained(self, K: Any) -> tuple[Any, ...]:
        return (trsm(self.L, K * self.root, transpose=True, rightside=True),)
