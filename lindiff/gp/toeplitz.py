"""Stationary processes at equally spaced points: their covariances are a Toeplitz matrix.

Durbin and Levinson's recursion predicts each observation from those before: Golub & Van Loan (2013), Matrix
computations, section 4.7.  The derivatives by the covariances at each distance are sums along diagonals of
``½ (α αᵀ - A⁻¹)``, of which Gohberg and Semencul's formula has those of the inverse by its first column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.gp.kernels.base import Kernel
from lindiff.gp.points import as_points
from lindiff.gp.regression import known_noise, residuals
from lindiff.rules._common import depends_on_variables

__all__ = ["evenly_spaced_log_likelihood"]


def evenly_spaced_log_likelihood(
    kernel: Kernel, X: Any, y: Any, noise_var: Any = 0.0, mean: Any = None
) -> Any:
    """:func:`log_marginal_likelihood` of a stationary process at equally spaced points of a line.

    Parameters
    ----------
    kernel : Kernel
        A function of the distance: that is not looked at.
    X : (n,) or (n, 1) array
        Equally spaced; without derivative.
    y : (n,) array
    noise_var : number
        Variance of the noise besides.
    mean : number, (n,) array, or callable, optional

    Returns
    -------
    number

    Raises
    ------
    TypeError
        If X is differentiated.
    ValueError
        If points are not equally spaced, or arguments do not fit together.
    numpy.linalg.LinAlgError
        If the covariances are not positive definite.

    Notes
    -----
    Some 6n² flops and O(n) memory for the value, and as many for the gradient.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import gp
    >>> t = np.linspace(0.0, 10.0, 300)
    >>> print(gp.evenly_spaced_log_likelihood(gp.kernels.RBF(), t, np.sin(t), 0.01).round(3))
    368.378
    >>> print(gp.log_marginal_likelihood(gp.kernels.RBF(), t, np.sin(t), 0.01).round(3))
    368.378
    """
    name = "evenly_spaced_log_likelihood"
    X = as_points(X)
    if depends_on_variables(X):
        raise TypeError(f"{name}: points that stay equally spaced have no derivative each; give ld.value(X)")
    r = residuals(name, X, y, mean)
    if X.shape[1] != 1 or r.ndim != 1:
        raise ValueError(f"{name}: points of one dimension and a vector y, got {X.shape} and {r.shape}")
    if not len(X):
        raise ValueError(f"{name}: there are no points")
    steps = np.diff(value(X)[:, 0])
    if steps.size:
        step, rounding = np.mean(steps), 4 * np.finfo(X.dtype).eps * np.max(np.abs(value(X)))
        if not np.allclose(steps, step, rtol=1e-6, atol=min(rounding, 0.01 * abs(step))):
            raise ValueError(
                f"{name}: points are not equally spaced; write log_marginal_likelihood, or, where an offset "
                f"leaves them no digits, give them without it"
            )
    noise = known_noise(noise_var, len(X)) + kernel.noise(kernel.features(X[:1]))
    if np.ndim(noise) and np.shape(noise) != (1,):
        raise ValueError(f"{name}: the noise differs between observations; write log_marginal_likelihood")
    own = kernel.diag(X[:1], noisy=False) + noise
    return _density(np.concatenate([own, kernel(X[:1], X[1:])[0]]), r)


class _Levinson(NamedTuple):
    """What the recursion finds: the log density, ``A⁻¹ y``, and the first column of A⁻¹."""

    density: Any
    alpha: Any
    column: Any


def _recursion(c: Any, y: Any) -> _Levinson:
    """For covariances c of distances 0, 1, …, and observations y."""
    n, variance = len(c), c[0]
    _check(variance, 0)
    error, density = y[0], 0.0
    alpha, predictor = y[:1] / variance, y[:0]  # of the next observation by those before, the nearest first
    for t in range(1, n + 1):
        density = density - 0.5 * (error * error / variance + np.log(variance))
        if t == n:
            break
        reflection = (c[t] - np.sum(predictor * c[t - 1 : 0 : -1])) / variance
        predictor = np.concatenate([predictor - reflection * predictor[::-1], [reflection]])
        variance = variance * (1 - reflection * reflection)
        _check(variance, t)
        error = y[t] - np.sum(predictor * y[t - 1 :: -1])
        gain = error / variance
        alpha = np.concatenate([alpha - gain * predictor[::-1], [gain]])
    column = np.concatenate([np.ones_like(y[:1]), -predictor]) / variance
    return _Levinson(density - 0.5 * n * float(np.log(2 * np.pi)), alpha, column)


def _check(variance: Any, t: int) -> None:
    if not value(variance) > 0:
        raise np.linalg.LinAlgError(
            f"evenly_spaced_log_likelihood: the leading minor of order {t + 1} of the covariances is not "
            f"positive; a larger noise_var helps"
        )


@rule
def _density(c: Any, y: Any) -> Any:
    found = _recursion(c, y)
    density = _density(c, y) if depends_on_variables([c, y]) else found.density

    def by_covariances() -> Any:
        x, n = found.column, len(c)
        # Sums along diagonals of the inverse: Σ_j (n - k - 2j) x_j x_(j+k) / x_0.
        weights = n - 2.0 * np.arange(n)
        lags = np.arange(n)
        plain = np.correlate(x, x, "full")[n - 1 :]
        weighted = np.correlate(x, weights * x, "full")[n - 1 :]
        of_inverse = (weighted - lags * plain) / x[0]
        twice = np.correlate(found.alpha, found.alpha, "full")[n - 1 :] - of_inverse
        return np.concatenate([0.5 * twice[:1], twice[1:]])

    return density, Differential(
        (
            lambda c_dot: np.sum(by_covariances() * c_dot),
            lambda y_dot: -np.sum(found.alpha * y_dot),
        ),
        (lambda bar: bar * by_covariances(), lambda bar: -bar * found.alpha),
    )
