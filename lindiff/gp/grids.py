"""Processes observed on all points of a grid: products of kernels, one for each axis, by Kronecker's product.

With ``K_d = Q_d diag(λ_d) Q_dᵀ`` the covariance of the whole grid has the eigenvectors ``⊗ Q_d`` and the
eigenvalues ``D = ⊗ λ_d + s``: Saatçi (2011), thesis, chapter 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.gp.kernels.base import Kernel, is_none
from lindiff.gp.points import as_observations, as_points, own
from lindiff.kernels.matmul import product
from lindiff.linalg import syevd
from lindiff.rules._common import depends_on_variables

__all__ = ["GridPosterior", "condition_on_grid", "grid_log_likelihood"]


def grid_log_likelihood(kernels: Sequence[Kernel], axes: Sequence[Any], y: Any, noise_var: Any) -> Any:
    """The log density of observations on a grid, of a process whose kernel is a product over its axes.

    Parameters
    ----------
    kernels : sequence of Kernel
        One for each axis, without noise.
    axes : sequence of (n_d,) or (n_d, e) arrays
        The points along each axis.
    y : (n_1, …, n_D) array
        An observation at each point of the grid.
    noise_var : number
        Variance of the noise.

    Returns
    -------
    number
        :func:`log_marginal_likelihood` of all ``N = n_1 ⋯ n_D`` points.

    Raises
    ------
    ValueError
        If arguments do not fit together, a kernel has noise, or `noise_var` is not positive.

    Notes
    -----
    Some 9 Σ n_d³ + 4N Σ n_d flops for the value, and as many for the gradient, in place of N³.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import gp
    >>> t, x = np.linspace(0, 5, 40), np.linspace(0, 3, 30)
    >>> y = np.sin(t)[:, None] * np.cos(x)
    >>> def density(length):
    ...     return gp.grid_log_likelihood([gp.kernels.RBF(length), gp.kernels.RBF(1.0)], [t, x], y, 0.01)
    >>> value, slope = ld.value_and_grad(density)(1.0)
    >>> print(f"{value:.1f} {slope:.2f}")
    1542.5 73.75
    """
    covariances, y, s = _arguments("grid_log_likelihood", kernels, axes, y, noise_var)
    return _density([*covariances, y, s])


def _arguments(name: str, kernels: Sequence[Kernel], axes: Sequence[Any], y: Any, noise_var: Any) -> Any:
    y = as_observations(y)
    points = [as_points(X) for X in axes]
    shape = tuple(map(len, points))
    if len(kernels) != len(points) or y.shape != shape:
        raise ValueError(
            f"{name}: {len(kernels)} kernels and axes of {shape} points for y of shape {y.shape}: one "
            f"kernel for each axis, and an observation for each point of the grid, are needed"
        )
    if not np.all(np.isfinite(value(y))):
        raise ValueError(f"{name}: y holds NaN or infinity; a grid is observed as a whole")
    if not all(np.all(np.isfinite(value(X))) for X in points):
        raise ValueError(f"{name}: an axis holds NaN or infinity")
    if np.ndim(noise_var) or not value(noise_var) > 0:
        raise ValueError(f"{name}: noise_var is a variance, one number, and positive: got {value(noise_var)}")
    parts = [kernel.smooth(X) for kernel, X in zip(kernels, points, strict=True)]
    if not all(is_none(noise) for _, noise in parts):
        raise ValueError(f"{name}: a kernel of an axis has no noise; leave WhiteKernel out, give noise_var")
    return [K for K, _ in parts], y, noise_var


def _along(matrices: Sequence[Any], Y: Any) -> Any:
    """Y with each axis multiplied by a matrix."""
    for M in matrices:  # the first axis goes to the end, D times
        found = product(M, _rows(Y, 0))
        Y = np.moveaxis(np.reshape(found, (len(found), *Y.shape[1:])), 0, -1)
    return Y


def _rows(Y: Any, k: int) -> Any:
    """The matrix that has the entries of Y along its axis k in columns."""
    return np.reshape(np.moveaxis(Y, k, 0), (Y.shape[k], Y.size // max(Y.shape[k], 1)))


def _outer(vectors: Sequence[Any]) -> Any:
    """The products of all numbers, one from each vector."""
    found = vectors[0]
    for x in vectors[1:]:
        found = found[..., None] * x
    return found


def _spectra(covariances: Sequence[Any], s: Any) -> tuple[list[Any], list[Any], Any]:
    pairs = [syevd(K) for K in covariances]
    values = [np.maximum(lam, 0) for _, lam in pairs]
    return values, [U.T for U, _ in pairs], _outer(values) + s


@rule
def _density(arguments: list[Any]) -> Any:
    """Of covariances along axes, the observations and the variance of the noise."""
    *covariances, y, s = arguments
    values, vectors, D = _spectra(covariances, s)
    T = _along([Q.T for Q in vectors], y)
    density = -0.5 * (np.sum(T * T / D) + np.sum(np.log(D)) + D.size * np.log(2 * np.pi))
    if depends_on_variables(arguments):
        density = _density(arguments)

    def gradients() -> list[Any]:
        A = T / D
        found = []
        for k, Q in enumerate(vectors):
            others = _outer([lam if d != k else np.ones_like(lam) for d, lam in enumerate(values)])
            rest = tuple(d for d in range(len(values)) if d != k)
            square = product(_rows(A * others, k), _rows(A, k).T)
            found.append(0.5 * product(Q, square - np.diag(np.sum(others / D, axis=rest)), Q.T))
        return [*found, -_along(vectors, A), 0.5 * np.sum(A * A - 1 / D)]

    def push(arguments_dot: list[Any]) -> Any:
        return sum(np.sum(g * x) for g, x in zip(gradients(), arguments_dot, strict=True))

    return density, Differential((push,), (lambda bar: [bar * g for g in gradients()],))


def condition_on_grid(
    kernels: Sequence[Kernel], axes: Sequence[Any], y: Any, noise_var: Any
) -> GridPosterior:
    """What observations on a grid say of a process.

    Parameters
    ----------
    kernels, axes, y, noise_var
        Those of :func:`grid_log_likelihood`.

    Returns
    -------
    GridPosterior

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> t, x = np.linspace(0, 5, 40), np.linspace(0, 3, 30)
    >>> kernels = [gp.kernels.RBF(1.0), gp.kernels.RBF(1.0)]
    >>> posterior = gp.condition_on_grid(kernels, [t, x], np.sin(t)[:, None] * np.cos(x), 0.01)
    >>> posterior.mean([np.array([1.5]), np.array([0.2, 2.0])]).round(2)
    array([[ 0.98, -0.41]])
    """
    covariances, y, s = _arguments("condition_on_grid", kernels, axes, y, noise_var)
    _, vectors, D = _spectra(covariances, s)
    alpha = _along(vectors, _along([Q.T for Q in vectors], y) / D)
    return GridPosterior([*map(own, kernels)], [own(as_points(X)) for X in axes], vectors, D, alpha)


class GridPosterior:
    """A process given observations on a grid; :func:`condition_on_grid` makes it.

    Parameters
    ----------
    kernels, axes : list
        One for each axis.
    vectors : list of (n_d, n_d) arrays
        Eigenvectors of the covariances along the axes.
    D : (n_1, …, n_D) array
        Eigenvalues of the covariance of the observations.
    alpha : (n_1, …, n_D) array
        Its solution of the observations.
    """

    def __init__(
        self, kernels: list[Kernel], axes: list[Any], vectors: list[Any], D: Any, alpha: Any
    ) -> None:
        self.kernels, self.axes, self.vectors, self.D, self.alpha = kernels, axes, vectors, D, alpha

    def __repr__(self) -> str:
        return f"<GridPosterior of {' × '.join(map(str, self.D.shape))} observations>"

    def _between(self, axes: Sequence[Any]) -> list[Any]:
        """Covariances of new points along each axis with the old ones."""
        if len(axes) != len(self.axes):
            raise ValueError(f"GridPosterior: {len(axes)} axes of new points for a grid of {len(self.axes)}")
        return [
            kernel(as_points(new, like=old), old)
            for kernel, new, old in zip(self.kernels, axes, self.axes, strict=True)
        ]

    def mean(self, axes: Sequence[Any]) -> Any:
        """Expectations on a new grid, given by its points along each axis: (m_1, …, m_D)."""
        return _along(self._between(axes), self.alpha)

    def var(self, axes: Sequence[Any]) -> Any:
        """Variances on a new grid: (m_1, …, m_D)."""
        known = [product(K, Q) ** 2 for K, Q in zip(self._between(axes), self.vectors, strict=True)]
        prior = _outer(
            [kernel.diag(new, noisy=False) for kernel, new in zip(self.kernels, axes, strict=True)]
        )
        return np.maximum(prior - _along(known, 1 / self.D), 0)
