"""Laplace's approximation for observations that are not Gaussian.

The posterior of f is replaced by a normal distribution at its mode, ``f = K g`` with the slopes g of the log
likelihood, whose precision is ``K⁻¹ + W``: Rasmussen & Williams (2006), sections 3.4 and 5.5.1.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.gp.kernels.base import Kernel
from lindiff.gp.likelihoods import Likelihood
from lindiff.gp.moving import Still, apart
from lindiff.gp.points import own
from lindiff.gp.precisions import Precisions, PrecisionsPosterior, not_found, observed
from lindiff.kernels.matmul import product
from lindiff.linalg import sumlogdiag
from lindiff.rules._common import depends_on_variables
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["LaplacePosterior", "condition_laplace", "laplace_log_likelihood"]

MOST_STEPS = 200
MOST_HALVINGS = 100
NEAR = 1e-3  # to the mode, where heights differ by rounding alone


def laplace_log_likelihood(kernel: Kernel, X: Any, y: Any, likelihood: Likelihood, mean: Any = None) -> Any:
    """Laplace's approximation of the log marginal likelihood.

    Parameters
    ----------
    kernel : Kernel
        Noise of `WhiteKernel` parts is noise of the process.
    X : (n, d) array, or (n,)
    y : (n,) array
    likelihood : Likelihood
        Of an observation given the process there: `Bernoulli`, `Poisson`, …; its numbers are differentiated.
    mean : number, (n,) array, or callable, optional
        Of the process; a callable takes X.

    Returns
    -------
    number

    Raises
    ------
    ValueError
        If arguments do not fit together, or observations are none of the likelihood's.

    Notes
    -----
    Some n³/3 flops for each of some ten steps of Newton's method.  Derivatives are those of the mode by the
    implicit function theorem.  Rasmussen & Williams (2006), eq. 5.20.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import gp
    >>> X, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    >>> def evidence(variance):
    ...     return gp.laplace_log_likelihood(variance * gp.kernels.RBF(1.0), X, y, gp.Bernoulli())
    >>> value, slope = ld.value_and_grad(evidence)(2.0)
    >>> print(f"{value:.4f} {slope:.4f}")
    -2.5537 0.0513
    """
    return condition_laplace(kernel, X, y, likelihood, mean).log_likelihood


def condition_laplace(
    kernel: Kernel, X: Any, y: Any, likelihood: Likelihood, mean: Any = None
) -> LaplacePosterior:
    """What observations that are not Gaussian say of a process, by Laplace's approximation.

    Parameters
    ----------
    kernel, X, y, likelihood, mean
        Those of :func:`laplace_log_likelihood`.

    Returns
    -------
    LaplacePosterior

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> X, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    >>> posterior = gp.condition_laplace(4.0 * gp.kernels.RBF(2.0), X, y, gp.Bernoulli())
    >>> posterior.expected(np.array([0.0, 3.0])).round(2)
    array([0.5, 0.7])
    """
    X, y, prior, K = observed("condition_laplace", kernel, X, y, likelihood, mean)
    alpha = _weights(*apart((K, prior, likelihood, y)))
    u = product(K, alpha)
    f = u + prior
    W = likelihood.slopes(f, y)[1]
    if not np.all(value(W) >= 0):
        raise ValueError(
            f"condition_laplace: the log density of {type(likelihood).__name__} is not concave at the mode: "
            f"write variational_bound"
        )
    curvature = Precisions(K, W)
    found = np.sum(likelihood.log_density(f, y)) - 0.5 * np.sum(u * alpha) - sumlogdiag(curvature.L)
    return LaplacePosterior(
        own(kernel), X, own(y), alpha, curvature.L, curvature.root, own(likelihood), found, f, mean
    )


@rule
def _weights(moving: list[Any], still: Still) -> Any:
    """``a = g(K a)`` at the mode ``u = K a``, of (K, prior mean, likelihood, observations).

    The mode is known to more digits than its slopes g, which are differences of what may be far larger: it is
    by a that K gives it.  ``(I + W K) da = dg(K a)`` at a fixed a, as Rasmussen & Williams, eq. 5.24.
    """
    K, prior, likelihood, y = still.tree(moving)
    is_outer = depends_on_variables(moving)
    a = _weights(moving, still) if is_outer else _found_weights(K, prior, likelihood, value(y))

    def of_fixed(*moving: Any) -> Any:
        K, prior, likelihood, y = still.tree(moving)
        return likelihood.slopes(product(K, a) + prior, y)[0]

    def curvature() -> Precisions:
        return Precisions(K, likelihood.slopes(product(K, a) + prior, y)[1])

    def push(moving_dot: list[Any]) -> Any:
        return curvature().solved_transpose(jvp(of_fixed, tuple(moving), tuple(moving_dot))[1])

    def pull(a_bar: Any) -> Any:
        return [*vjp(of_fixed, *moving)[1](curvature().solved(a_bar))]

    return a, Differential((push,), (pull,))


@np.errstate(over="ignore", invalid="ignore")  # of steps that are too long
def _found_weights(K: Any, prior: Any, likelihood: Likelihood, y: Any) -> Any:
    """By Newton's method for a of u = K a, as Rasmussen & Williams' algorithm 3.1."""

    def height(a: Any, u: Any) -> Any:
        return np.sum(likelihood.log_density(u + prior, y)) - 0.5 * np.sum(a * u)

    a = u = np.zeros_like(K[0])
    best = height(a, u)
    for _ in range(MOST_STEPS):
        g, W = likelihood.slopes(u + prior, y)
        curvature = Precisions(K, W)
        step = curvature.solved_transpose(g - a)
        for _ in range(MOST_HALVINGS):
            following = a + step
            u_following = product(K, following)
            after = height(following, u_following)
            if after >= best:
                break
            step = 0.5 * step
        else:  # as high as rounding allows
            break
        a, u, gain, best = following, u_following, after - best, after
        if gain <= 4 * np.finfo(K.dtype).eps * abs(best):
            break
    # so near the mode the curvature of the step before serves, too
    last = a + curvature.solved_transpose(likelihood.slopes(u + prior, y)[0] - a)
    if np.max(np.abs(product(K, last) - u)) <= NEAR * (1 + np.max(np.abs(u))):
        return last
    not_found("condition_laplace: Newton's method has not found the mode; derivatives are not those of it")
    return a


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class LaplacePosterior(PrecisionsPosterior):
    """A process given observations that are not Gaussian; :func:`condition_laplace` makes it.

    Parameters
    ----------
    kernel : Kernel
    X : (n, d) array
    y : (n,) array
    alpha : (n,) array
        Slopes of the log likelihood at the mode.
    L : (n, n) array
        Cholesky factor of ``I + √W K √W``.
    root : (n,) array
        √W.
    likelihood : Likelihood
    log_likelihood : number
        The approximate log density of the observations.
    mode : (n,) array
        Of the process where it was observed.
    prior_mean : number, array, callable or None
    """

    mode: Any
    prior_mean: Any = dataclasses.field(default=None, metadata={"static": True})
