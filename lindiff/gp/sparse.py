"""Regression by inducing points: cost linear in the number of observations."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.gp.covariances import covariances
from lindiff.gp.diagonals import add_to_diagonal
from lindiff.gp.jitter import with_jitter
from lindiff.gp.kernels.base import Kernel
from lindiff.gp.points import as_points, own
from lindiff.gp.posteriors import LatentPosterior
from lindiff.gp.regression import known_noise, residuals
from lindiff.gp.titsias import bound
from lindiff.kernels.matmul import product
from lindiff.linalg import potrf, sumlogdiag, syrk, trsm

__all__ = [
    *("JITTER", "SparsePosterior", "condition_sparse", "fitc_log_likelihood", "inducing_covariance"),
    "sparse_bound",
]

JITTER = 1e-6  # of the mean variance of the inducing points


def sparse_bound(
    kernel: Kernel, X: Any, y: Any, Z: Any, noise_var: Any, mean: Any = None, *, jitter: float = JITTER
) -> Any:
    """Titsias's lower bound of the log marginal likelihood, by inducing points.

    Parameters
    ----------
    kernel : Kernel
        Noise of `WhiteKernel` parts counts as noise of the observations.
    X : (n, d) array, or (n,)
    y : (n,) or (n, k) array
    Z : (U, d) array, or (U,)
        Inducing points: anywhere, and differentiable.
    noise_var : number
        Variance of the noise.
    mean : number, array like y, or callable, optional
        As in :func:`log_marginal_likelihood`.
    jitter : float
        What is added to the variances of the inducing points, relative to their mean; the bound stays one.

    Returns
    -------
    number
        Equal to the log marginal likelihood for ``Z = X``, but for the jitter.

    Raises
    ------
    ValueError
        If arguments do not fit together, the noise is not positive, or differs between observations.

    Notes
    -----
    4U²n + 4U³ flops for value and gradient, and one n × U array.  Titsias (2009), Variational learning of
    inducing variables in sparse Gaussian processes, AISTATS 5; Seeger et al. (2017), section 3.2.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import gp
    >>> X = np.linspace(0.0, 6.0, 200)
    >>> y, Z, kernel = np.sin(X), np.linspace(0.0, 6.0, 8), gp.kernels.RBF()
    >>> float(gp.sparse_bound(kernel, X, y, Z, 0.01).round(1))
    236.9
    >>> float(gp.log_marginal_likelihood(kernel, X, y, 0.01).round(1))
    246.5
    >>> ld.grad(lambda Z: gp.sparse_bound(kernel, X, y, Z, 0.01))(Z).shape
    (8,)
    """
    F, y, _, G, s = _arguments("sparse_bound", kernel, X, y, Z, noise_var, mean)
    total, variances = np.sum(kernel.all_variances(F)), kernel.all_variances(G)

    def attempt(more: float) -> Any:
        return bound(kernel, F, G, (total, y, s, jitter * np.mean(variances) + more))

    return with_jitter(attempt, variances, "sparse_bound")


def _arguments(name: str, kernel: Kernel, X: Any, y: Any, Z: Any, noise_var: Any, mean: Any) -> Any:
    """Features of the points, observations (n, k), inducing points and their features, and the noise."""
    X = as_points(X)
    Z, y = as_points(Z, like=X), residuals(name, X, y, mean)
    F = kernel.features(X)
    s = known_noise(noise_var, len(X)) + kernel.noise(F)
    if np.ndim(s):
        raise ValueError(f"{name}: the noise differs between observations; here it is a number")
    if not value(s) > 0:
        raise ValueError(f"{name}: noise_var is the variance of the noise, and positive: got {value(s)}")
    s = y.dtype.type(s) if type(s) in (int, float) else s
    return F, y[:, None] if y.ndim == 1 else y, Z, kernel.features(Z), s


def inducing_covariance(kernel: Kernel, G: Any, jitter: float, more: float) -> Any:
    """The covariances of the inducing points with jitter."""
    K = covariances(kernel, G)
    return add_to_diagonal(K, jitter * np.mean(kernel.all_variances(G)) + more)


def fitc_log_likelihood(
    kernel: Kernel, X: Any, y: Any, Z: Any, noise_var: Any, mean: Any = None, *, jitter: float = JITTER
) -> Any:
    """The log marginal likelihood of the fully independent training conditional approximation.

    Parameters
    ----------
    kernel, X, y, Z, noise_var, mean, jitter
        Those of :func:`sparse_bound`.

    Returns
    -------
    number
        ``log N(y | 0, Q + diag(K - Q) + s I)`` with ``Q = K_fu K_uu⁻¹ K_uf``.

    Notes
    -----
    6U²n flops for value and gradient, and some n × U arrays.  Snelson & Ghahramani (2006), NIPS 18;
    Quiñonero-Candela & Rasmussen (2005), JMLR 6, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> X = np.linspace(0.0, 6.0, 200)
    >>> Z = np.linspace(0.0, 6.0, 8)
    >>> float(gp.fitc_log_likelihood(gp.kernels.RBF(), X, np.sin(X), Z, 0.01).round(1))
    238.4
    """
    F, y, _, G, s = _arguments("fitc_log_likelihood", kernel, X, y, Z, noise_var, mean)
    n, k = y.shape

    def attempt(more: float) -> Any:
        A, variances, _ = _projected(kernel, F, G, s, jitter, more)
        scaled, r = A / np.sqrt(variances)[:, None], y / np.sqrt(variances)[:, None]
        M = potrf(add_to_diagonal(syrk(scaled, transpose=True), 1))
        c = trsm(M, product(scaled.T, r))
        logs = np.sum(np.log(variances)) + n * np.log(2 * np.pi)
        return 0.5 * (np.sum(c * c) - np.sum(r * r) - k * logs) - k * sumlogdiag(M)

    return with_jitter(attempt, kernel.all_variances(G), "fitc_log_likelihood")


def _projected(kernel: Kernel, F: Any, G: Any, s: Any, jitter: float, more: float) -> Any:
    """``A = K_fu L⁻ᵀ``, the variances ``diag(K - A Aᵀ) + s``, and L."""
    L = potrf(inducing_covariance(kernel, G, jitter, more))
    A = trsm(L, covariances(kernel, F, G), transpose=True, rightside=True, overwrite_a=True)
    return A, np.maximum(kernel.all_variances(F) - np.sum(A * A, axis=1), 0) + s, L


def condition_sparse(
    kernel: Kernel,
    X: Any,
    y: Any,
    Z: Any,
    noise_var: Any,
    mean: Any = None,
    *,
    method: str = "titsias",
    jitter: float = JITTER,
) -> SparsePosterior:
    """What observations say of a Gaussian process, by inducing points.

    Parameters
    ----------
    kernel, X, y, Z, noise_var, mean, jitter
        Those of :func:`sparse_bound`.
    method : {"titsias", "fitc"}
        Whose approximation: of :func:`sparse_bound` or of :func:`fitc_log_likelihood`.

    Returns
    -------
    SparsePosterior

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> X = np.linspace(0.0, 6.0, 200)
    >>> posterior = gp.condition_sparse(gp.kernels.RBF(), X, np.sin(X), np.linspace(0.0, 6.0, 8), 0.01)
    >>> posterior.mean(np.array([1.5])).round(3)
    array([0.997])
    """
    if method not in ("titsias", "fitc"):
        raise ValueError(f"condition_sparse: method is 'titsias' or 'fitc', got {method!r}")
    given = np.ndim(y)
    F, y, Z, G, s = _arguments("condition_sparse", kernel, X, y, Z, noise_var, mean)

    def attempt(more: float) -> SparsePosterior:
        A, variances, L = _projected(kernel, F, G, s, jitter, more)
        root = np.sqrt(variances if method == "fitc" else s)
        scaled, r = (A / root[:, None], y / root[:, None]) if method == "fitc" else (A / root, y / root)
        M = potrf(add_to_diagonal(syrk(scaled, transpose=True), 1))
        w = trsm(M, trsm(M, product(scaled.T, r)), transpose=True)
        alpha = trsm(L, w, transpose=True)
        return SparsePosterior(own(kernel), own(Z), alpha[:, 0] if given == 1 else alpha, L, M, s, mean)

    return with_jitter(attempt, kernel.all_variances(G), "condition_sparse")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SparsePosterior(LatentPosterior):
    """A Gaussian process given observations, by inducing points; :func:`condition_sparse` makes it.

    Parameters
    ----------
    kernel : Kernel
    X : (U, d) array
        Inducing points.
    alpha : (U,) or (U, k) array
        Of their covariances with a point, whose product with alpha is its expectation.
    L, M : (U, U) array
        Factors of ``K_uu`` and of ``I + L⁻¹ K_uf Λ⁻¹ K_fu L⁻ᵀ``.
    noise : number
    prior_mean : number, callable or None
    """

    kernel: Kernel
    X: Any
    alpha: Any
    L: Any
    M: Any
    noise: Any
    prior_mean: Any = dataclasses.field(default=None, metadata={"static": True})

    def _explained(self, K: Any) -> tuple[Any, ...]:
        V = trsm(self.L, K, transpose=True, rightside=True, overwrite_a=True)
        return V, trsm(self.M, V, transpose=True, rightside=True)
