"""Draws of a process as functions: by random features, and corrected by the data."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.gp.kernels import (
    RBF,
    Active,
    ConstantKernel,
    Kernel,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    Warped,
    WhiteKernel,
)
from lindiff.gp.kernels.stationary import as_scale
from lindiff.gp.points import as_points, own
from lindiff.gp.regression import Posterior
from lindiff.kernels.matmul import product
from lindiff.linalg import trsm

__all__ = ["posterior_paths", "prior_paths"]

Features = Callable[[Any], Any]


def prior_paths(kernel: Kernel, dimension: int, rng: Any, size: int = 1, features: int = 1024) -> Features:
    """Draws of a process without data, as functions of points.

    Parameters
    ----------
    kernel : Kernel
        `RBF`, `Matern` or `RationalQuadratic`, of some columns or of warped points, times numbers, and sums
        of these; noise is left out.
    dimension : int
        Columns of points.
    rng : numpy.random.Generator or int
    size : int
        How many draws.
    features : int
        Waves that each is a sum of.

    Returns
    -------
    callable
        Of points (m, d) gives (size, m); differentiable in them, again and again.

    Raises
    ------
    TypeError
        For other kernels.

    Notes
    -----
    ``Σ w_k √(2v / features) cos(ω_k·x / l + b_k)``, with frequencies ω from the kernel's spectral density:
    Rahimi & Recht (2007), NIPS 20.  Covariances are off by some ``v / √features``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> path = gp.prior_paths(gp.kernels.RBF(), 1, 0, size=3)
    >>> path(np.linspace(0.0, 1.0, 5)).shape
    (3, 5)
    """
    rng = np.random.default_rng(rng)
    waves = _waves(own(kernel), dimension, rng, features)
    weights = [rng.standard_normal((size, features)) for _ in waves]

    return functools.partial(_drawn, weights, waves)


def _drawn(weights: list[Any], waves: list[Features], X: Any) -> Any:
    X = as_points(X)
    return sum(product(w, wave(X).T) for w, wave in zip(weights, waves, strict=True))


def _waves(kernel: Kernel, dimension: int, rng: Any, count: int) -> list[Features]:
    """Functions of points with ``E wave(x)·wave(x') = k(x, x')``, one for each part of a sum."""
    if isinstance(kernel, WhiteKernel):
        return []
    if isinstance(kernel, Sum):
        return [wave for k in (kernel.k1, kernel.k2) for wave in _waves(k, dimension, rng, count)]
    if isinstance(kernel, Product):
        for number, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
            if isinstance(number, ConstantKernel):
                scale = np.sqrt(number.constant_value)
                return [
                    functools.partial(_times, scale, wave) for wave in _waves(other, dimension, rng, count)
                ]
    if isinstance(kernel, (Active, Warped)):
        seen = (
            functools.partial(_columns, list(kernel.columns)) if isinstance(kernel, Active) else kernel.warp
        )
        width = np.shape(seen(np.zeros((1, dimension))))[1]
        waves = _waves(kernel.kernel, width, rng, count)
        return [functools.partial(_of_seen, wave, seen) for wave in waves]
    return [_wave(kernel, dimension, rng, count)]


def _times(scale: Any, wave: Features, X: Any) -> Any:
    return scale * wave(X)


def _columns(columns: list[int], X: Any) -> Any:
    return X[:, columns]


def _of_seen(wave: Features, seen: Features, X: Any) -> Any:
    return wave(seen(X))


def _wave(kernel: Kernel, dimension: int, rng: Any, count: int) -> Features:
    frequencies = rng.standard_normal((count, dimension))
    if isinstance(kernel, Matern) and np.isfinite(kernel.nu):
        mixing = 2 * kernel.nu / rng.chisquare(2 * kernel.nu, count)
    elif isinstance(kernel, RationalQuadratic):
        alpha = float(value(kernel.alpha))
        mixing = rng.gamma(alpha, 1 / alpha, count)
    elif isinstance(kernel, (RBF, Matern)):
        mixing = np.ones(count)
    else:
        raise TypeError(
            f"prior_paths: {kernel!r} has no random features here; there are RBF, Matern and "
            f"RationalQuadratic, their sums, and numbers times these"
        )
    frequencies = frequencies * np.sqrt(mixing)[:, None]
    shifts = rng.uniform(0, 2 * np.pi, count)
    return functools.partial(_cosines, kernel.length_scale, frequencies, shifts)


def _cosines(length_scale: Any, frequencies: Any, shifts: Any, X: Any) -> Any:
    return np.sqrt(2 / len(shifts)) * np.cos(product(X / as_scale(length_scale), frequencies.T) + shifts)


def posterior_paths(posterior: Posterior, rng: Any, size: int = 1, features: int = 1024) -> Features:
    """Draws of a process given observations, as functions of points: what Thompson sampling maximizes.

    Parameters
    ----------
    posterior : Posterior
        Of observations of one process.
    rng, size, features
        Those of :func:`prior_paths`.

    Returns
    -------
    callable
        Of points (m, d) gives (size, m); differentiable in them.

    Raises
    ------
    TypeError
        For other posteriors, and kernels that `prior_paths` does not know.

    Notes
    -----
    Draws without data, corrected by what these say of them: Matheron's rule, Wilson, Borovitskiy, Terenin,
    Mostowsky & Deisenroth (2020), ICML.  n² flops for each, and a covariance with n points for each new one.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import gp
    >>> X = np.linspace(0.0, 6.0, 30)
    >>> posterior = gp.condition(gp.kernels.RBF(), X, np.sin(X), 1e-4)
    >>> path = gp.posterior_paths(posterior, 0)
    >>> path(np.array([np.pi / 2])).round(1)
    array([[1.]])
    >>> ld.grad(lambda x: path(x)[0, 0])(np.array([3.0])).round(1)
    array([-1.])
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(
            f"posterior_paths: a Posterior, made by condition, is needed, got {type(posterior).__name__}, "
            f"whose method sample draws at given points"
        )
    if posterior.r.ndim != 1:
        raise ValueError("posterior_paths: the observations are those of several processes; give one of them")
    rng = np.random.default_rng(rng)
    kernel, X, L = posterior.kernel, posterior.X, posterior.L
    prior = prior_paths(kernel, X.shape[1], rng, size, features)
    noise = np.sqrt(posterior.noise) * rng.standard_normal((size, len(X)))
    rest = posterior.r - prior(X) - noise
    alpha = trsm(L, trsm(L, rest.T), transpose=True)
    return functools.partial(_corrected, posterior, prior, alpha)


def _corrected(posterior: Posterior, prior: Features, alpha: Any, new: Any) -> Any:
    new = as_points(new, like=posterior.X)
    found = prior(new) + product(posterior.kernel(new, posterior.X), alpha).T
    return found if posterior.prior_mean is None else found + posterior.prior_mean_at(new)
