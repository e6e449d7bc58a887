"""Expectation propagation for observations that are not Gaussian.

Each observation's likelihood is replaced by a site ``exp(-½ τ u² + ν u)`` whose product with the others has
the mean and the variance of the likelihood's product with them: Rasmussen & Williams (2006), section 3.6.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.gp.diagonals import add_to_diagonal
from lindiff.gp.kernels.base import Kernel
from lindiff.gp.likelihoods import Likelihood
from lindiff.gp.moving import Still, apart
from lindiff.gp.points import own
from lindiff.gp.precisions import Precisions, PrecisionsPosterior, not_found, observed
from lindiff.kernels.matmul import product
from lindiff.linalg import lu_factor, sumlogdiag
from lindiff.rules._common import depends_on_variables
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import grad, vjp

__all__ = ["EPPosterior", "condition_ep", "ep_log_likelihood"]

MOST_SWEEPS = 100
MOST_AT_ONCE = 25  # sweeps over all sites at once
LEAST_PART = 0.25  # of the way that they go
BY_NEWTON = 0.3  # how far sites may be from what they are asked for where a step of Newton's method is tried
SLOW = 0.3  # ratio of two such distances from which on that is cheaper than sweeps
CLOSE = 2e5  # roundings that sites may differ by from what their moments ask for
NEAR = 1e-5  # to what they ask for, where rounding lets them come no closer


def ep_log_likelihood(kernel: Kernel, X: Any, y: Any, likelihood: Likelihood, mean: Any = None) -> Any:
    """The log marginal likelihood by expectation propagation.

    Parameters
    ----------
    kernel, X, y, likelihood, mean
        Those of :func:`laplace_log_likelihood`; the likelihood has a `log_expected_density`, as `Bernoulli`
        has one, and is concave in f.

    Returns
    -------
    number

    Raises
    ------
    ValueError
        If arguments do not fit together, or observations are none of the likelihood's.

    Notes
    -----
    Some 2n³ flops for each of some 10 to 30 sweeps.  The approximation is stationary in its sites, so that
    first derivatives take no more than 3n³; those of higher order, and of predictions, are those of the sites
    by the implicit function theorem, 6n³.  Rasmussen & Williams (2006), eq. 3.65; for classification it is
    closer to the truth than Laplace's approximation: Kuss & Rasmussen (2005), JMLR 6.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff import gp
    >>> X, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    >>> def evidence(variance):
    ...     return gp.ep_log_likelihood(variance * gp.kernels.RBF(1.0), X, y, gp.Bernoulli())
    >>> value, slope = ld.value_and_grad(evidence)(2.0)
    >>> print(f"{value:.4f} {slope:.4f}")
    -2.5039 0.0723
    """
    return condition_ep(kernel, X, y, likelihood, mean).log_likelihood


def condition_ep(kernel: Kernel, X: Any, y: Any, likelihood: Likelihood, mean: Any = None) -> EPPosterior:
    """What observations that are not Gaussian say of a process, by expectation propagation.

    Parameters
    ----------
    kernel, X, y, likelihood, mean
        Those of :func:`ep_log_likelihood`.

    Returns
    -------
    EPPosterior

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> X, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1])
    >>> posterior = gp.condition_ep(4.0 * gp.kernels.RBF(2.0), X, y, gp.Bernoulli("probit"))
    >>> posterior.expected(np.array([0.0, 3.0])).round(2)
    array([0.5, 0.8])
    """
    X, y, prior, K = observed("condition_ep", kernel, X, y, likelihood, mean)
    parts = apart((K, prior, likelihood, y))
    sites = _sites(*parts)
    found = _log_evidence(parts[0], sites, parts[1])
    precisions = Precisions(K, sites[0])
    alpha = precisions.solved_transpose(sites[1])
    return EPPosterior(
        own(kernel), X, own(y), alpha, precisions.L, precisions.root, own(likelihood), found, sites, mean
    )


@rule
def _log_evidence(moving: list[Any], sites: Any, still: Still) -> Any:
    """:func:`_energy`, whose derivatives by sites and cavities are zero: Seeger (2005), section 3."""
    cavities = _cavities(still.tree(moving)[0], sites)

    def of_fixed(*moving: Any) -> Any:
        return _energy(still.tree(moving), sites, cavities)

    def push(moving_dot: list[Any]) -> Any:
        return jvp(of_fixed, tuple(moving), tuple(moving_dot))[1]

    def pull(found_bar: Any) -> Any:
        return [*vjp(of_fixed, *moving)[1](found_bar)]

    is_outer = depends_on_variables((moving, sites))
    found = _log_evidence(moving, sites, still) if is_outer else of_fixed(*moving)
    return found, Differential((push, None), (pull, None))


def _energy(given: Any, sites: Any, cavities: Any) -> Any:
    """Rasmussen & Williams, eq. 3.65."""
    (K, prior, likelihood, y), (tau, nu), (mean, var) = given, sites, cavities
    precisions = Precisions(K, tau)
    grown = 1 + tau * var
    replaced = np.log(grown) - (2 * mean * nu + var * nu**2 - tau * mean**2) / grown
    tilted = likelihood.log_expected_density(mean + prior, var, y)
    explained = np.sum(nu * product(K, precisions.solved_transpose(nu)))
    return np.sum(tilted + 0.5 * replaced) + 0.5 * explained - sumlogdiag(precisions.L)


def _marginals(K: Any, sites: Any) -> tuple[Any, Any]:
    """Means and variances of the process at its points."""
    precisions = Precisions(K, sites[0])
    V = precisions.explained()
    return product(K, precisions.solved_transpose(sites[1])), np.diagonal(K) - np.sum(V * V, axis=1)


def _cavities(K: Any, sites: Any) -> tuple[Any, Any]:
    """Means and variances without the site there: Rasmussen & Williams, eq. 3.56."""
    return _without(*_marginals(K, sites), sites)


def _without(mean: Any, var: Any, sites: Any) -> tuple[Any, Any]:
    tau, nu = sites
    left = 1 - tau * var
    return (mean - var * nu) / left, var / left


def _matched(mean: Any, var: Any, prior: Any, likelihood: Likelihood, y: Any) -> Any:
    """Sites (2, n) that give cavities the moments of their products with the likelihood: eqs. 3.58 and 3.59.

    Of ``log E p(y | f)`` with the slopes g and -W by the cavity's mean, the moments are ``mean + var g`` and
    ``var - var² W``.
    """

    def total(mean: Any) -> Any:
        return np.sum(likelihood.log_expected_density(mean + prior, var, y))

    g, second = jvp(grad(total), (mean,), (np.ones_like(mean),))
    left = 1 + var * second
    return np.stack([-second / left, (g - mean * second) / left])


@rule
def _sites(moving: list[Any], still: Still) -> Any:
    """The sites (2, n), τ and ν, where all moments match: ``s = φ(mean(s), var(s), s)``."""
    K, prior, likelihood, y = still.tree(moving)
    is_outer = depends_on_variables(moving)
    sites = _sites(moving, still) if is_outer else _found_sites(K, prior, likelihood, value(y))

    def of_fixed(*moving: Any) -> Any:
        K, prior, likelihood, y = still.tree(moving)
        return _matched(*_cavities(K, sites), prior, likelihood, y)

    def push(moving_dot: list[Any]) -> Any:
        moved = jvp(of_fixed, tuple(moving), tuple(moving_dot))[1]
        slopes = _slopes(K, prior, likelihood, y, sites)
        found = lu_factor(slopes).solve(np.reshape(moved, (-1,)))
        return np.reshape(found, (2, -1))

    def pull(sites_bar: Any) -> Any:
        slopes = _slopes(K, prior, likelihood, y, sites)
        found = lu_factor(slopes).solve(np.reshape(sites_bar, (-1,)), transpose=True)
        return [*vjp(of_fixed, *moving)[1](np.reshape(found, (2, -1)))]

    return sites, Differential((push,), (pull,))


def _slopes(K: Any, prior: Any, likelihood: Likelihood, y: Any, sites: Any) -> Any:
    """``I - ∂φ/∂s`` (2n, 2n): of the covariance Σ, ``dmean = Σ (dν - mean dτ)`` and ``dvar = -Σ² dτ``."""
    V = Precisions(K, sites[0]).explained()
    cov = K - product(V, V.T)
    mean, var = product(cov, sites[1]), np.diagonal(cov)

    def local(mean: Any, var: Any, sites: Any) -> Any:
        return _matched(*_without(mean, var, sites), prior, likelihood, y)

    def slope(*directions: Any) -> Any:
        return jvp(local, (mean, var, sites), directions)[1][:, :, None]

    one, zero = np.ones_like(mean), np.zeros_like(mean)
    no, tau, nu = np.zeros_like(sites), np.stack([one, zero]), np.stack([zero, one])
    by_mean, by_var = slope(one, zero, no), slope(zero, one, no)
    unit = add_to_diagonal(np.zeros_like(cov), 1)
    by_tau = slope(zero, zero, tau) * unit - by_mean * (cov * mean) - by_var * cov**2
    by_nu = slope(zero, zero, nu) * unit + by_mean * cov
    whole = np.reshape(np.concatenate([by_tau, by_nu], axis=2), (2 * len(one), -1))
    return add_to_diagonal(-whole, 1)


def _found_sites(K: Any, prior: Any, likelihood: Likelihood, y: Any) -> Any:
    """By sweeps, and in the end by Newton's method.

    Sweeps over all sites at once are fast, but go too far where many sites say the same: where they come no
    closer it is a half and a quarter of the way from the closest ones, and then one site after the other.
    """
    sites = closest = wanted = np.zeros_like(K, shape=(2, len(K)))
    least, part, at_once = np.inf, 1.0, True
    for sweep in range(MOST_SWEEPS):
        with np.errstate(all="ignore"):  # of sites that went too far
            cavities = _cavities(K, sites)
            asked = _matched(*cavities, prior, likelihood, y)
            # In standard deviations and precisions of the process there.
            off = np.max(np.abs(asked - sites) * np.stack([cavities[1], np.sqrt(cavities[1])]))
        if off <= CLOSE * np.finfo(K.dtype).eps:
            return _proper(asked)
        is_closer = off < least
        by_newton = is_closer and SLOW * least < off < BY_NEWTON
        if is_closer:
            closest, wanted, least, part = sites, asked, off, min(2 * part, 1.0)
        else:
            part *= 0.5
        at_once = at_once and sweep < MOST_AT_ONCE and part >= LEAST_PART
        if by_newton:
            slopes = _slopes(K, prior, likelihood, y, sites)
            step = lu_factor(slopes).solve(np.reshape(asked - sites, (-1,)))
            sites = _proper(sites + np.reshape(step, (2, -1)))
        elif at_once:
            sites = _proper(closest + part * (wanted - closest))
        else:
            sites = closest = _swept(K, closest, prior, likelihood, y)
    if not least <= NEAR:
        not_found(
            "condition_ep: the moments of some sites do not match: neither values nor derivatives are those "
            "of expectation propagation; write condition_laplace"
        )
    return closest


def _proper(sites: Any) -> Any:
    """With precisions that are not negative: by rounding they may be, where the likelihood is concave."""
    return np.stack([np.maximum(sites[0], 0), sites[1]])


def _swept(K: Any, sites: Any, prior: Any, likelihood: Likelihood, y: Any) -> Any:
    """Sites after one sweep over one after the other: Rasmussen & Williams, algorithm 3.5."""
    precisions, sites = Precisions(K, sites[0]), sites.copy()
    V = precisions.explained()
    cov = K - product(V, V.T)
    prior = np.broadcast_to(prior, np.shape(y))
    for i in range(len(K)):
        one = slice(i, i + 1)
        mean = cov[one] @ sites[1]
        cavity = _without(mean, cov[i, one], sites[:, one])
        found = _matched(*cavity, prior[one], likelihood, y[one])
        moved = np.maximum(found[0], 0) - sites[0, one]
        sites[:, one] = found
        cov -= (moved / (1 + moved * cov[i, one])) * (cov[:, one] * cov[one])
    return sites


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class EPPosterior(PrecisionsPosterior):
    """A process given observations that are not Gaussian; :func:`condition_ep` makes it.

    Parameters
    ----------
    kernel : Kernel
    X : (n, d) array
    y : (n,) array
    alpha : (n,) array
        ``K⁻¹`` times the mean where it was observed.
    L : (n, n) array
        Cholesky factor of ``I + √τ K √τ``.
    root : (n,) array
        √τ.
    likelihood : Likelihood
    log_likelihood : number
        The approximate log density of the observations.
    sites : (2, n) array
        Precisions τ, and precisions times means ν, of the sites, less the prior mean.
    prior_mean : number, array, callable or None
    """

    sites: Any
    prior_mean: Any = dataclasses.field(default=None, metadata={"static": True})
