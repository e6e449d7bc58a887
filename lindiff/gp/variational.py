"""Stochastic variational inference: bounds on parts of the data, for any likelihood, and natural gradients.

The process at inducing points is ``L v`` with ``K_uu = L Lᵀ``, and ``q(v) = N(m, R Rᵀ)``: Hensman, Fusi &
Lawrence (2013), UAI; whitened as in Hensman, Matthews & Ghahramani (2015), AISTATS 38.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.gp.covariances import covariances
from lindiff.gp.jitter import with_jitter
from lindiff.gp.kernels.base import Kernel
from lindiff.gp.likelihoods import Likelihood
from lindiff.gp.points import as_points, own
from lindiff.gp.posteriors import LikelihoodPosterior, mean_at
from lindiff.gp.regression import residuals
from lindiff.gp.sparse import JITTER, inducing_covariance
from lindiff.kernels.matmul import product
from lindiff.linalg import potrf, potri, trmm, trsm
from lindiff.transforms.reverse import vjp

__all__ = ["VariationalPosterior", "divergence", "natural_step", "variational_bound", "variational_posterior"]


def variational_bound(
    kernel: Kernel,
    X: Any,
    y: Any,
    Z: Any,
    m: Any,
    R: Any,
    likelihood: Likelihood,
    *,
    total: int | None = None,
    mean: Any = None,
    jitter: float = JITTER,
) -> Any:
    """A lower bound of the log marginal likelihood, from some of the observations.

    Parameters
    ----------
    kernel : Kernel
        Without noise; that is the likelihood's.
    X : (b, d) array, or (b,)
    y : (b,) array
        Some of the observations, or all.
    Z : (U, d) array, or (U,)
        Inducing points.
    m : (U,) array
    R : (U, U) array
        Mean, and triangular factor of the covariance ``R Rᵀ``, of the variational distribution of
        ``v = L⁻¹ u``; only the lower triangle is read, whose signs do not matter.  ``np.zeros(U)`` and
        ``np.eye(U)`` are the prior.  For the C processes of `Softmax` (U, C) and (C, U, U).
    likelihood : Likelihood
    total : int, optional
        How many observations there are; b by default.
    mean : number, (b,) array, or callable, optional
        Of the process, or of (b, C) processes; a callable takes X.
    jitter : float
        As in :func:`sparse_bound`.

    Returns
    -------
    number
        ``total / b Σ E log p(y_i | f_i) - KL(q(v), N(0, I))``: for random parts of the data an unbiased
        estimate of that for all, and differentiable in all numbers.

    Notes
    -----
    Some 2U²b + U³ flops for the value, three times that for value and gradient; some U × b arrays.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import gp
    >>> X = np.linspace(0.0, 6.0, 50)
    >>> y, Z, kernel, likelihood = np.sin(X), np.linspace(0.0, 6.0, 8), gp.kernels.RBF(), gp.Gaussian(0.01)
    >>> def bound(m, R):
    ...     return gp.variational_bound(kernel, X, y, Z, m, R, likelihood)
    >>> m, R = gp.natural_step(bound, np.zeros(8), np.eye(8), rate=1.0)
    >>> print(bound(m, R).round(3), gp.sparse_bound(kernel, X, y, Z, 0.01).round(3))
    43.465 43.465
    """
    X = as_points(X)
    Z, r = as_points(Z, like=X), residuals("variational_bound", X, y, None)
    if r.ndim != 1:
        raise ValueError(f"variational_bound: y is a vector, got shape {r.shape}")
    if not len(X):
        raise ValueError("variational_bound: there are no points")
    _check(m, R, len(Z), likelihood.latent_shape)
    likelihood.check(r)
    R = np.tril(R)
    F, G = kernel.features(X), kernel.features(Z)
    K = covariances(kernel, F, G)

    def attempt(more: float) -> Any:
        L = potrf(inducing_covariance(kernel, G, jitter, more))
        return trsm(L, K, transpose=True, rightside=True)

    A = with_jitter(attempt, kernel.all_variances(G), "variational_bound")
    AR = trmm(R, A, rightside=True)
    prior = mean_at("variational_bound", X, np.empty((len(X), *likelihood.latent_shape)), mean)
    var = kernel.all_variances(F) + kernel.noise(F) - np.sum(A * A, axis=1)
    var = np.transpose(var + np.sum(AR * AR, axis=-1))
    expected = np.sum(likelihood.expected_log_density(product(A, m) + prior, np.maximum(var, 0), r))
    scale = 1.0 if total is None else total / len(X)
    return scale * expected - divergence(m, R)


def _check(m: Any, R: Any, count: int, shape: tuple[int, ...]) -> None:
    if np.shape(m) != (count, *shape) or np.shape(R) != (*shape, count, count):
        raise ValueError(
            f"m and R are {(count, *shape)} and {(*shape, count, count)} for {count} inducing points, got "
            f"shapes {np.shape(m)} and {np.shape(R)}"
        )
    if not np.all(_diagonals(value(R)) != 0):
        raise ValueError("R is the factor of a covariance, and has no zeros on its diagonal")


def _diagonals(R: Any) -> Any:
    return np.diagonal(R, axis1=-2, axis2=-1)


def divergence(m: Any, R: Any) -> Any:
    """``KL(N(m, R Rᵀ), N(0, I))``: what a layer of a deep process costs its bound.

    Parameters
    ----------
    m, R : array
        As in :func:`variational_bound`.

    Returns
    -------
    number

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> print(gp.divergence(np.array([1.0, 0.0]), np.eye(2)))
    0.5
    """
    R = np.tril(R)
    logs = np.sum(np.log(np.abs(_diagonals(R))))
    return 0.5 * (np.sum(m * m) + np.sum(R * R) - np.size(m)) - logs


def natural_step(bound: Any, m: Any, R: Any, rate: float = 1.0) -> tuple[Any, Any]:
    """A step along the natural gradient of a bound in the variational distribution ``N(m, R Rᵀ)``.

    Parameters
    ----------
    bound : callable
        ``bound(m, R)`` is what is to become larger.
    m, R : array
        As in :func:`variational_bound`.
    rate : float
        Between 0 and 1; with 1 and a Gaussian likelihood the step from anywhere leads to the maximum.

    Returns
    -------
    m, R : array

    Raises
    ------
    ValueError
        If the rate is not positive.
    FloatingPointError
        If the gradient is not finite.

    Notes
    -----
    ``S⁻¹ ← S⁻¹ - 2 rate S_bar``, ``S⁻¹ m ← S⁻¹ m + rate (m_bar - 2 S_bar m)``: Salimbeni, Eleftheriadis &
    Hensman (2018), AISTATS 84.  Where S would not be positive definite the rate is halved; whether the bound
    becomes larger is not looked at, and of a likelihood that is not concave needs small rates.  3U³ flops
    and a gradient of the bound.
    """
    if not 0 < rate < np.inf:
        raise ValueError(f"natural_step: rate is greater than 0, and finite: got {rate}")
    R = np.tril(R)
    S = product(R, np.swapaxes(R, -1, -2))

    def of_covariance(m: Any, S: Any) -> Any:
        return bound(m, potrf(S))

    _, pullback = vjp(of_covariance, m, S)
    m_bar, S_bar = pullback(1.0)
    if not (np.all(np.isfinite(m_bar)) and np.all(np.isfinite(S_bar))):
        raise FloatingPointError("natural_step: the gradient of the bound is not finite")
    precision, S_bar = potri(R), S_bar + np.swapaxes(S_bar, -1, -2)
    while True:
        try:
            P = potrf(precision - rate * S_bar)
            break
        except np.linalg.LinAlgError:
            rate = 0.5 * rate
    S = potri(P)
    return _each(S, _each(precision, m) + rate * (m_bar - _each(S_bar, m))), potrf(S)


def _each(S: Any, m: Any) -> Any:
    """Each matrix of (U, U), or (C, U, U), times its column of (U,), or (U, C)."""
    return np.transpose(product(S, np.transpose(m)[..., None])[..., 0])


def variational_posterior(
    kernel: Kernel,
    Z: Any,
    m: Any,
    R: Any,
    likelihood: Likelihood | None = None,
    mean: Any = None,
    *,
    jitter: float = JITTER,
) -> VariationalPosterior:
    """The process given what :func:`variational_bound` has been maximized with.

    Parameters
    ----------
    kernel, Z, m, R, likelihood, mean, jitter
        Those of :func:`variational_bound`; a `mean` is a number or a function of points.  Without
        a likelihood, as of a layer that is not observed, there is no `expected`.

    Returns
    -------
    VariationalPosterior
    """
    Z = own(as_points(Z))
    _check(m, R, len(Z), np.shape(m)[1:] if likelihood is None else likelihood.latent_shape)
    G = kernel.features(Z)

    def attempt(more: float) -> Any:
        return potrf(inducing_covariance(kernel, G, jitter, more))

    L = with_jitter(attempt, kernel.all_variances(G), "variational_posterior")
    alpha = np.reshape(trsm(L, np.reshape(m, (len(Z), -1)), transpose=True), np.shape(m))
    return VariationalPosterior(own(kernel), Z, alpha, L, np.tril(R), own(likelihood), mean)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class VariationalPosterior(LikelihoodPosterior):
    """A process by a variational distribution; :func:`variational_posterior` makes it.

    Parameters
    ----------
    kernel : Kernel
    X : (U, d) array
        Inducing points.
    alpha : (U,) or (U, C) array
        ``L⁻ᵀ m``.
    L : (U, U) array
        Cholesky factor of their covariances.
    R : (U, U) or (C, U, U) array
        That of the variational covariance.
    likelihood : Likelihood or None
    prior_mean : number, callable or None
    """

    kernel: Kernel
    X: Any
    alpha: Any
    L: Any
    R: Any
    likelihood: Likelihood | None
    prior_mean: Any = dataclasses.field(default=None, metadata={"static": True})

    def _explained(self, K: Any) -> tuple[Any, ...]:
        A = trsm(self.L, K, transpose=True, rightside=True, overwrite_a=True)
        return A, trmm(self.R, A, rightside=True)
