"""Processes at new points, given what is known of them at old ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.gp.covariances import covariances
from lindiff.gp.diagonals import add_to_diagonal
from lindiff.gp.jitter import factor
from lindiff.gp.kernels.base import Kernel
from lindiff.gp.likelihoods import Likelihood, noise_of
from lindiff.gp.points import as_points, check_real, unmasked
from lindiff.kernels.matmul import product

__all__ = ["LatentPosterior", "LikelihoodPosterior", "mean_at"]

IN_ONE_BLOCK = 2**21  # covariances of new points with all data that predictions hold at a time


def mean_at(name: str, X: Any, y: Any, mean: Any) -> Any:
    """The mean of a process at points (n, d), a number or like y."""
    mean = 0.0 if mean is None else mean(X) if callable(mean) else mean
    mean = np.stack(mean) if isinstance(mean, (list, tuple)) else unmasked("means", mean)
    mean = mean.to_numpy() if hasattr(mean, "to_numpy") else mean
    if np.ndim(mean) and np.shape(mean) != np.shape(y):
        raise ValueError(
            f"{name}: mean of shape {np.shape(mean)} for y of shape {np.shape(y)}; a function takes "
            f"points (n, d)"
        )
    return mean


def _is_noisy(noise: Any) -> bool:
    return noise is not None and (not isinstance(noise, bool | np.bool_) or bool(noise))


class LatentPosterior:
    """The process at new points, given what its kernel at them and at old ones explains."""

    kernel: Kernel
    X: Any
    alpha: Any
    noise: Any
    prior_mean: Any

    def _explained(self, K: Any) -> tuple[Any, ...]:
        """V, and W: of covariances K (m, n) with the old points ``V Vᵀ`` is known, but for ``W Wᵀ``.

        W (k, m, n) are those of k processes.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} by {self.X.shape[0]} points, {self.kernel!r}>"

    def _blocks(self, X: Any) -> Iterator[Any]:
        rows = max(IN_ONE_BLOCK // max(len(self.X), 1), 64)
        return (X[k : k + rows] for k in range(0, max(len(X), 1), rows))

    def mean(self, X: Any) -> Any:
        """The expectation of the process at points (m, d): (m,), or (m, k)."""
        X = as_points(X, like=self.X)
        kernel, G = self.kernel, self.kernel.features(self.X)
        found = [
            product(covariances(kernel, kernel.features(block), G), self.alpha) for block in self._blocks(X)
        ]
        mean = np.concatenate(found)
        return mean if self.prior_mean is None else mean + self.prior_mean_at(X)

    def prior_mean_at(self, X: Any) -> Any:
        """The mean of the process without data at points (m, d)."""
        if self.prior_mean is not None and not callable(self.prior_mean) and np.ndim(self.prior_mean):
            raise ValueError(
                f"{type(self).__name__}: the mean was given for {len(self.prior_mean)} points, not for new "
                f"ones: give a function of points"
            )
        like = self.alpha[:1] + np.zeros_like(X, shape=(len(X), *self.alpha.shape[1:]))
        return mean_at(type(self).__name__, X, like, self.prior_mean)

    def var(self, X: Any, noise: Any = None) -> Any:
        """Variances of the process at points (m, d): (m,), or (m, k) if they differ between processes.

        Parameters
        ----------
        X : (m, d) array
        noise : number or (m,) array, optional
            Variance of noise that is added; True stands for that of the observations, if that is a number,
            `WhiteKernel` parts included.

        Notes
        -----
        Of n old points n² m flops, and as many covariances as fit into 16 MB at a time.
        """
        return self.mean_and_var(X, noise)[1]

    def mean_and_var(self, X: Any, noise: Any = None) -> tuple[Any, Any]:
        """:meth:`mean` and :meth:`var`, of covariances that are computed once."""
        mean, var, _ = self._moments(X)
        if not _is_noisy(noise):
            return mean, var
        return mean, np.transpose(np.transpose(var) + self._added(noise))

    def _moments(self, X: Any) -> tuple[Any, Any, Any]:
        """Means and variances, and the noise that the kernel has of its own there, (m,)."""
        X, means, variances, noises = as_points(X, like=self.X), [], [], []
        kernel, G = self.kernel, self.kernel.features(self.X)
        for block in self._blocks(X):
            F = kernel.features(block)
            K = covariances(kernel, F, G)
            means.append(product(K, self.alpha))
            V, *others = self._explained(K)
            var = kernel.all_variances(F) - np.sum(V * V, axis=1)
            variances.append(np.transpose(sum((np.sum(W * W, axis=-1) for W in others), var)))
            noises.append(np.broadcast_to(kernel.noise(F), (len(block),)))
        mean, var = np.concatenate(means), np.maximum(np.concatenate(variances), 0)
        mean = mean if self.prior_mean is None else mean + self.prior_mean_at(X)
        return mean, var, np.concatenate(noises)

    def _added(self, noise: Any) -> Any:
        if not isinstance(noise, bool | np.bool_):
            check_real("noise", noise)
            if not np.all(np.greater_equal(value(noise), 0)):
                raise ValueError(f"noise is a variance, and not negative: got {value(noise)}")
            return noise
        if np.ndim(self.noise):
            raise ValueError(
                f"{type(self).__name__}: the noise differs between observations; give that of the new ones"
            )
        return self.noise

    def std(self, X: Any, noise: Any = None) -> Any:
        """Standard deviations, the roots of :meth:`var`."""
        return np.sqrt(self.var(X, noise))

    def cov(self, X: Any, noise: Any = None) -> Any:
        """Covariances between points (m, d): (m, m), or (k, m, m); `noise` is that of :meth:`var`."""
        X = as_points(X, like=self.X)
        F = self.kernel.features(X)
        V, *others = self._explained(covariances(self.kernel, F, self.kernel.features(self.X)))
        known = covariances(self.kernel, F) - product(V, V.T)
        if _is_noisy(noise):
            known = add_to_diagonal(known, self._added(noise))
        return sum((product(W, np.swapaxes(W, -1, -2)) for W in others), known)

    def sample(self, X: Any, rng: Any, size: int = 1) -> Any:
        """Draws of the process at points (m, d): (size, m), or (size, m, k).

        Parameters
        ----------
        X : (m, d) array
        rng : numpy.random.Generator or int
        size : int

        Notes
        -----
        Exact; m³/3 flops besides those of the covariances.  Differentiable for given random numbers.
        """
        mean = self.mean(X)
        X = as_points(X, like=self.X)
        variances, name = self.kernel.diag(X, noisy=False), f"{type(self).__name__}.sample"
        cov = self.cov(X)
        L = (
            factor(cov, name, variances)
            if cov.ndim == 2
            else np.stack([factor(K, name, variances) for K in cov])
        )
        rng = np.random.default_rng(rng)
        normal = placed(rng.standard_normal((size, *np.shape(mean))).astype(mean.dtype), mean)
        if mean.ndim == 1:
            return mean + product(normal, L.T)
        moved = product(np.transpose(normal, (2, 0, 1)), np.swapaxes(L, -1, -2))
        return mean + np.transpose(moved, (1, 2, 0))


class LikelihoodPosterior(LatentPosterior):
    """The same, given observations that have a likelihood."""

    likelihood: Likelihood | None

    def _of_observations(self) -> Likelihood:
        if self.likelihood is None:
            raise ValueError(f"{type(self).__name__}: no likelihood of observations was given")
        return self.likelihood

    @property
    def noise(self) -> Any:
        """Variance of the noise, of a `Gaussian` likelihood."""
        return noise_of(self._of_observations())

    def observed_mean_and_var(self, X: Any) -> tuple[Any, Any]:
        """:meth:`mean_and_var` of what is observed at new points: with the kernel's own noise there."""
        mean, var, noise = self._moments(X)
        return mean, np.transpose(np.transpose(var) + noise)

    def expected(self, X: Any) -> Any:
        """Expectations of observations at points (m, d): of `Bernoulli` ones the probabilities of 1."""
        return self._of_observations().expected(*self.observed_mean_and_var(X))
