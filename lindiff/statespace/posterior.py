"""Densities of parameters for samplers, and their normal approximation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from lindiff.statespace.maximum import Search, searched
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import NonlinearModel
from lindiff.statespace.problem import Problem, labels_of
from lindiff.transforms.jacobian import hessian, jacobian
from lindiff.transforms.ravel import ravel
from lindiff.transforms.reverse import value_and_grad

__all__ = ["Laplace", "Posterior"]


class Laplace(NamedTuple):
    """The normal distribution that is as high and as wide as a density at its top.

    Attributes
    ----------
    mean : (q,) array
        The top, in unconstrained numbers.
    cov : (q, q) array
        The inverse of the negative second derivative of the logarithm there.
    log_evidence : float
        The logarithm of the integral that the density would have if it were normal: of the probability of the
        data, if there are proper priors for all parameters.
    posterior : Posterior
    """

    mean: Any
    cov: Any
    log_evidence: float
    posterior: Posterior

    def sample(self, rng: Any, size: int) -> dict[str, Any]:
        """Draws of the parameters.

        Parameters
        ----------
        rng : numpy.random.Generator or int
        size : int

        Returns
        -------
        dict
            Name to an array (size, *shape).
        """
        draws = np.random.default_rng(rng).multivariate_normal(self.mean, self.cov, size, method="cholesky")
        found = [self.posterior.params(x) for x in draws]
        return {name: np.array([params[name] for params in found]) for name in self.posterior.start}


class Posterior:
    """The density of the parameters of a model given data, as samplers want it: of all real vectors.

    Parameters
    ----------
    build, y, start, transforms, fixed, tied, priors, filter
        As :func:`fit` takes them.  Without priors the density is the likelihood, as if all parameters were
        equally likely.

    Attributes
    ----------
    names : list of str
        Of the numbers of a vector.
    start : dict
        Parameters to begin with.
    x : (q,) array
        The same in unconstrained numbers.

    Notes
    -----
    ``log p(y | θ) + log p(θ) + log |∂θ/∂x|`` of the parameters ``θ(x)``, of covariances and correlations by
    the entries of one triangle.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.stats
    >>> from lindiff import statespace
    >>> rng = np.random.default_rng(0)
    >>> y = np.cumsum(rng.normal(size=100)) + rng.normal(size=100)
    >>> prior = scipy.stats.gamma(2.0)
    >>> posterior = statespace.Posterior(
    ...     statespace.local_level, y, priors={"level_var": prior, "obs_var": prior}
    ... )
    >>> posterior.names
    ['level_var', 'obs_var']
    >>> logp, slope = posterior.logp_and_grad(posterior.x)
    >>> approximation = posterior.laplace()
    >>> draws = approximation.sample(rng, 1000)
    >>> draws["level_var"].shape, bool(np.all(draws["level_var"] > 0))
    ((1000,), True)
    """

    def __init__(
        self,
        build: Callable[..., Model | NonlinearModel],
        y: Any,
        start: Mapping[str, Any] | None = None,
        *,
        transforms: Mapping[str, Any] | None = None,
        fixed: Mapping[str, Any] | None = None,
        tied: Mapping[str, str] | None = None,
        priors: Mapping[str, Any] | None = None,
        filter: Any = None,
    ) -> None:
        self._begin(Problem(build, y, start, transforms, fixed, tied, priors, filter))

    def _begin(self, problem: Problem) -> None:
        self._problem, self._both = problem, value_and_grad(self.logp)
        self.names = labels_of(problem.free)
        self.x, self._tree = ravel(problem.free)
        self.start = problem.constrain(problem.free)

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self._problem}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin(state["problem"])

    @classmethod
    def of(cls, problem: Problem) -> Posterior:
        """Of what a fit began with."""
        made = cls.__new__(cls)
        made._begin(problem)
        return made

    def params(self, x: Any) -> dict[str, Any]:
        """The parameters that a vector stands for."""
        return self._problem.constrain(self._tree(x))

    def logp(self, x: Any) -> Any:
        """The logarithm of the density at a vector (q,), up to a constant; it has derivatives.

        Raises
        ------
        numpy.linalg.LinAlgError, ValueError
            Where the likelihood cannot be computed.
        """
        free = self._tree(x)
        return self._problem.objective(self._problem.constrain(free)) + self._log_volume(free)

    def logp_and_grad(self, x: Any) -> tuple[float, Any]:
        """That and its derivative, an array (q,), in one sweep forward and one backward."""
        found, slope = self._both(np.asarray(x, np.float64))
        return float(found), slope

    def laplace(self) -> Laplace:
        """The normal approximation about the top of the density, by Newton's method from `x` on.

        Returns
        -------
        Laplace

        Raises
        ------
        ValueError
            If the density has no top near there.
        """
        likelihood = self._problem.searchable(beside=self._log_volume)
        found, missing = searched(likelihood, self.x, Search("L-BFGS-B", None, None, True), False)
        H = -hessian(self.logp)(found.x) if np.all(np.isfinite(found.x)) else np.zeros((1, 1))
        if not np.all(np.linalg.eigvalsh(0.5 * (H + H.T)) > 0) or not missing < 1e-4:
            raise ValueError(
                "laplace: the density has no top near the start: parameters go to the boundary of what is "
                "allowed, or the data do not determine them; give priors that keep them away, or begin "
                "elsewhere"
            )
        cov = np.linalg.inv(H)
        top = float(self.logp(found.x))
        evidence = top + 0.5 * (len(cov) * np.log(2 * np.pi) + np.linalg.slogdet(cov)[1])
        return Laplace(found.x, 0.5 * (cov + cov.T), float(evidence), self)

    def _log_volume(self, free: Any) -> Any:
        """``log |J|`` of the parameters by the unconstrained numbers."""
        parts = [
            _log_volume(self._problem.transforms[name].constrain, x)
            for name, x in free.items()
            if self._problem.transforms[name].constrain is not np.positive
        ]
        return sum(parts, 0.0)


def _log_volume(constrain: Callable[[Any], Any], x: Any) -> Any:
    n = int(np.size(x))
    if not n:
        return 0.0
    J = jacobian(constrain)(x)
    if np.ndim(J) == 3 and J.shape[0] == J.shape[1] and J.shape[0] ** 2 > n:  # symmetric, or a correlation
        p = len(J)
        J = J[np.tril_indices(p, 0 if n == p * (p + 1) // 2 else -1)]
    J = np.reshape(J, (-1, n))
    if J.shape[0] == n:
        return np.linalg.slogdet(J)[1]
    return 0.5 * np.linalg.slogdet(J.T @ J)[1]
