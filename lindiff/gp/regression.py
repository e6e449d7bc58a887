"""Regression with Gaussian noise: likelihood, and what the data say of the function at other points."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.gp.covariances import covariances
from lindiff.gp.diagonals import add_to_diagonal
from lindiff.gp.jitter import factor, with_jitter
from lindiff.gp.kernels.base import Kernel
from lindiff.gp.points import as_observations, as_points, check_real, own, unmasked
from lindiff.gp.posteriors import LatentPosterior, mean_at
from lindiff.linalg import gp_logpdf, potri, sumlogdiag, trsm
from lindiff.rules._common import as_array

__all__ = ["Posterior", "condition", "known_noise", "log_marginal_likelihood", "residuals"]


def log_marginal_likelihood(kernel: Kernel, X: Any, y: Any, noise_var: Any = 0.0, mean: Any = None) -> Any:
    """The log density of observations of a Gaussian process.

    Parameters
    ----------
    kernel : Kernel
        Its noise, of `WhiteKernel` parts, counts as noise of the observations.
    X : (n, d) array, or (n,)
        Where the process was observed.
    y : (n,) or (n, k) array
        Columns are independent processes with the same covariance; their log densities are added up.
    noise_var : number or (n,) array
        Variance of the noise besides, the same or one for each observation.
    mean : number, array like y, or callable, optional
        Of the process; a callable takes X.

    Returns
    -------
    number

    Raises
    ------
    ValueError
        If X and y do not fit together, or hold NaN.
    numpy.linalg.LinAlgError
        If the covariances are far from positive definite.

    Warns
    -----
    RuntimeWarning
        If they are singular to working precision, see :func:`condition`.

    Notes
    -----
    n³ flops for value and gradient, and two n × n arrays: :func:`lindiff.linalg.gp_logpdf`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import gp
    >>> X, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.8, 0.9])
    >>> float(gp.log_marginal_likelihood(gp.kernels.RBF(2.0), X, y, 0.1).round(4))
    -2.6612
    >>> ld.grad(lambda noise: gp.log_marginal_likelihood(gp.kernels.RBF(2.0), X, y, noise))(0.1).round(4)
    np.float64(-2.5407)
    """
    X = as_points(X)
    r = residuals("log_marginal_likelihood", X, y, mean)

    F = kernel.features(X)
    noise = kernel.noise(F) + known_noise(noise_var, len(X))

    def attempt(jitter: float) -> Any:
        return gp_logpdf(r, covariances(kernel, F), noise + jitter, overwrite_k=True)

    return with_jitter(attempt, kernel.all_variances(F), "log_marginal_likelihood")


def residuals(name: str, X: Any, y: Any, mean: Any) -> Any:
    """Observations without the mean of the process; raises for what does not fit."""
    y = as_observations(y)
    if y.ndim not in (1, 2) or len(y) != len(X):
        raise ValueError(f"{name}: y of shape {y.shape} for {len(X)} points: one row for each is needed")
    for what, x in (("X", X), ("y", y)):
        if not np.all(np.isfinite(value(x))):
            raise ValueError(
                f"{name}: {what} holds NaN or infinity; leave out the points that were not observed"
            )
    return y if mean is None else y - mean_at(name, X, y, mean)


def known_noise(noise_var: Any, count: int) -> Any:
    """Variances of noise, one or one for each of so many observations; raises ValueError for others."""
    noise_var = unmasked("variances of noise", noise_var)
    noise_var = as_array(noise_var) if np.ndim(noise_var) else noise_var
    if np.ndim(noise_var) and np.shape(noise_var) != (count,):
        raise ValueError(
            f"noise_var has shape {np.shape(noise_var)}; give a number, or one for each of {count}"
        )
    check_real("noise_var", noise_var)
    if not np.all(np.greater_equal(value(noise_var), 0)):
        raise ValueError(f"noise_var is a variance, and not negative: got {value(noise_var)}")
    return noise_var


def condition(kernel: Kernel, X: Any, y: Any, noise_var: Any = 0.0, mean: Any = None) -> Posterior:
    """What observations say of a Gaussian process.

    Parameters
    ----------
    kernel, X, y, noise_var, mean
        Those of :func:`log_marginal_likelihood`.

    Returns
    -------
    Posterior

    Warns
    -----
    RuntimeWarning
        If the covariances are singular to working precision: then the smallest jitter that helps is added to
        their diagonal.

    Notes
    -----
    n³/3 flops, and two n × n arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> X = np.array([0.0, 1.0, 2.0])
    >>> posterior = gp.condition(gp.kernels.RBF(), X, np.sin(X), noise_var=1e-4)
    >>> posterior.mean(np.array([0.5])).round(3), posterior.std(np.array([0.5])).round(3)
    (array([0.43]), array([0.134]))
    """
    X = own(as_points(X))
    y = residuals("condition", X, y, None)
    r = y - mean_at("condition", X, y, mean)
    K, noise = kernel.smooth(X)
    noise = noise + known_noise(noise_var, len(X))
    L = factor(add_to_diagonal(K, noise), "condition")
    alpha = trsm(L, trsm(L, r[:, None] if r.ndim == 1 else r), transpose=True)
    return Posterior(own(kernel), X, own(y), r, alpha[:, 0] if r.ndim == 1 else alpha, L, noise, mean)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Posterior(LatentPosterior):
    """A Gaussian process given observations; :func:`condition` makes it.

    All methods are differentiable: in the new points, and in what it was made of.

    Parameters
    ----------
    kernel : Kernel
    X : (n, d) array
        Where the process was observed.
    y, r : (n,) or (n, k) array
        Observations, and these without the mean.
    alpha : (n,) or (n, k) array
        ``A⁻¹ r`` with the covariance A of the observations.
    L : (n, n) array
        Cholesky factor of A.
    noise : number or (n,) array
        Variance of the noise.
    prior_mean : number, array, callable or None
    """

    kernel: Kernel
    X: Any
    y: Any
    r: Any
    alpha: Any
    L: Any
    noise: Any
    prior_mean: Any = dataclasses.field(default=None, metadata={"static": True})

    def _explained(self, K: Any) -> tuple[Any, ...]:
        return (trsm(self.L, K, transpose=True, rightside=True, overwrite_a=True),)

    def leave_one_out(self) -> tuple[Any, Any]:
        """Means and variances of each observation given all others, noise included: (n,) or (n, k), and (n,).

        Notes
        -----
        ``y_i - α_i / (A⁻¹)_ii`` and ``1 / (A⁻¹)_ii``, Rasmussen & Williams (2006), eq. 5.12; 2n³/3 flops.
        """
        variance = 1 / np.diagonal(potri(self.L))
        return self.y - self.alpha * (variance if self.alpha.ndim == 1 else variance[:, None]), variance

    def log_marginal_likelihood(self) -> Any:
        """The log density of the observations."""
        n, k = len(self.X), 1 if self.r.ndim == 1 else self.r.shape[1]
        return -0.5 * np.sum(self.r * self.alpha) - k * (sumlogdiag(self.L) + 0.5 * n * np.log(2 * np.pi))
