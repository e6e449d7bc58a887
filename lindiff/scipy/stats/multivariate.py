"""Distributions of vectors: multivariate normal, Dirichlet, multinomial."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from lindiff.core.arrays import on_host, placed
from lindiff.core.results import returned
from lindiff.core.variable import Variable, value
from lindiff.linalg.cholesky import potrf, sumlogdiag
from lindiff.linalg.gaussian import LOG_TWO_PI, mvn_logpdf
from lindiff.rules._common import as_array
from lindiff.scipy._rest import has_variable, plain_only
from lindiff.scipy.stats._distribution import REASONS, Frozen, double

__all__ = ["dirichlet", "multinomial", "multivariate_normal"]


class Multivariate:
    """A distribution of vectors under SciPy's name for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._scipy = getattr(scipy.stats, name)

    def __repr__(self) -> str:
        return f"<lindiff.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **kwds: Any) -> Frozen:
        """The distribution with its parameters fixed: its methods then take the point alone."""
        return Frozen(self, args, kwds)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._scipy, name)
        if not inspect.isroutine(found):
            return found
        return plain_only(f"scipy.stats.{self.name}.{name}", found, REASONS.get(name))


def _squeezed(y: Any) -> Any:
    """``y``, a new array, without axes of length 1, as SciPy returns it."""
    return returned(np.squeeze(y), ())


class MultivariateNormal(Multivariate):
    """Multivariate normal, like ``scipy.stats.multivariate_normal``.

    Notes
    -----
    The covariance is a matrix, of which the lower triangle is read and whose gradient is symmetric, a vector
    (its diagonal), a number, or a ``scipy.stats.Covariance``.  It is factored once for all points, see
    :func:`lindiff.linalg.mvn_logpdf`.  With ``allow_singular``, a singular one has to be a constant.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.stats import multivariate_normal
    >>> points = np.array([[0.0, 0.0], [2.0, 0.0]])
    >>> def log_likelihood(cov):
    ...     return np.sum(multivariate_normal([0.0, 0.0], cov).logpdf(points))
    >>> ld.grad(log_likelihood)(np.diag([2.0, 0.5]))
    array([[ 0.,  0.],
           [ 0., -2.]])
    """

    def _parameters(self, mean: Any, cov: Any) -> tuple[Any, Any]:
        """The mean as a vector and the covariance as a matrix."""
        if isinstance(cov, scipy.stats.Covariance):
            cov = cov.covariance
        cov = double(1.0 if cov is None else cov)
        if mean is None:
            mean = np.zeros(cov.shape[0] if cov.ndim == 2 else 1)
        mean = placed(double(mean), cov)
        mean = np.reshape(mean, (-1,)) if mean.size == 1 else mean
        n = mean.shape[0] if mean.ndim else 1
        if n == 1:
            cov = np.reshape(cov, (1, 1))
        elif cov.ndim == 0:
            cov = cov * placed(np.eye(n), mean)
        elif cov.ndim == 1:
            cov = np.diag(cov)
        if mean.ndim != 1 or cov.shape != (n, n):
            raise ValueError(
                f"multivariate_normal: mean of shape {mean.shape} and cov of shape {cov.shape} do not fit"
            )
        return mean, placed(cov, mean)

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The logarithm of the density at x, a vector or an array of vectors in its last axis."""
        if not has_variable((x, mean, cov)):
            return self._scipy.logpdf(x, mean, cov, allow_singular)
        mean, cov = self._parameters(mean, cov)
        x = placed(double(x), mean, cov)
        if x.ndim == 0:
            x = x[None]
        if x.ndim == 1:
            x = x[:, None] if len(mean) == 1 else x[None, :]
        if allow_singular and np.linalg.matrix_rank(value(cov), hermitian=True) < len(mean):
            return _squeezed(_singular_logpdf(x - mean, cov))
        return _squeezed(mvn_logpdf(x, mean, cov))

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The density at x."""
        if not has_variable((x, mean, cov)):
            return self._scipy.pdf(x, mean, cov, allow_singular)
        return np.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """The differential entropy."""
        if not has_variable((mean, cov)):
            return self._scipy.entropy(mean, cov)
        mean, cov = self._parameters(mean, cov)
        return 0.5 * len(mean) * (LOG_TWO_PI + 1) + sumlogdiag(potrf(cov))


def _singular_logpdf(deviation: Any, cov: Any) -> Any:
    """The density on the subspace where the distribution lives; minus infinity elsewhere."""
    if isinstance(cov, Variable):
        raise TypeError(
            "multivariate_normal: the density has no derivative with respect to a singular covariance: its "
            "support moves with it; write it as a density of fewer variables"
        )
    fixed = scipy.stats.multivariate_normal(np.zeros(len(cov)), cov, allow_singular=True)
    eigenvalues, vectors = np.linalg.eigh(cov)
    rank = np.linalg.matrix_rank(cov, hermitian=True)
    U = vectors[:, len(cov) - rank :] / np.sqrt(eigenvalues[len(cov) - rank :])
    constant = rank * LOG_TWO_PI + np.sum(np.log(eigenvalues[len(cov) - rank :]))
    whitened = deviation @ U
    outside = np.isneginf(np.reshape(fixed.logpdf(value(deviation)), deviation.shape[:-1]))
    return np.where(outside, -np.inf, -0.5 * (constant + np.sum(whitened * whitened, axis=-1)))


class Dirichlet(Multivariate):
    """Dirichlet, like ``scipy.stats.dirichlet``: concentrations alpha, a vector.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.stats import dirichlet
    >>> ld.grad(lambda alpha: dirichlet.logpdf([0.25, 0.75], alpha))(np.array([1.0, 1.0])).round(6)
    array([-0.386294,  0.712318])
    """

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The logarithm of the density at x, along its first axis; the last component may be left out.

        Raises
        ------
        ValueError
            If x is not on the simplex, or alpha not positive.
        """
        density = self._scipy.logpdf(on_host(x), on_host(alpha))  # and SciPy's errors
        if not has_variable((x, alpha)):
            return density
        x, alpha = double(x), double(alpha)
        if x.shape[0] != alpha.shape[0]:
            x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
        powers = np.sum(special.xlogy(alpha - 1.0, np.transpose(x)), axis=-1)
        return _squeezed(powers - _log_beta(alpha))

    def pdf(self, x: Any, alpha: Any) -> Any:
        """The density at x."""
        return np.exp(self.logpdf(x, alpha)) if has_variable((x, alpha)) else self._scipy.pdf(x, alpha)

    def mean(self, alpha: Any) -> Any:
        """The mean, a vector."""
        plain = self._scipy.mean(on_host(alpha))
        return _squeezed(alpha / np.sum(alpha)) if has_variable(alpha) else plain

    def var(self, alpha: Any) -> Any:
        """The variances, a vector."""
        plain = self._scipy.var(on_host(alpha))
        if not has_variable(alpha):
            return plain
        total = np.sum(alpha)
        return _squeezed(alpha * (total - alpha) / (total * total * (total + 1)))

    def entropy(self, alpha: Any) -> Any:
        """The differential entropy."""
        plain = self._scipy.entropy(on_host(alpha))
        if not has_variable(alpha):
            return plain
        total, n = np.sum(alpha), len(alpha)
        return _log_beta(alpha) + (total - n) * special.psi(total) - np.sum((alpha - 1) * special.psi(alpha))


def _log_beta(alpha: Any) -> Any:
    return np.sum(special.gammaln(alpha)) - special.gammaln(np.sum(alpha))


class Multinomial(Multivariate):
    """Multinomial, like ``scipy.stats.multinomial``: n trials and points x are constants; chances p.

    Notes
    -----
    The chances must add up to 1: take them from a softmax, for instance.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.stats import multinomial
    >>> ld.grad(lambda p: multinomial.logpmf([1, 2], 3, p))(np.array([0.5, 0.5]))
    array([2., 4.])
    """

    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """The logarithm of the probability of x; minus infinity where that is zero."""
        plain = self._scipy.logpmf(on_host(x), on_host(n), on_host(p))
        if not has_variable(p):
            return plain
        p = double(p)
        x, n, plain = (placed(as_array(value(part)), p) for part in (x, n, plain))
        ways = special.gammaln(n + 1) - np.sum(special.gammaln(x + 1), axis=-1)
        y = ways + np.sum(special.xlogy(x, p), axis=-1)
        return np.where(np.isfinite(plain), y, plain)

    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """The probability of x."""
        return np.exp(self.logpmf(x, n, p)) if has_variable(p) else self._scipy.pmf(x, n, p)

    def mean(self, n: Any, p: Any) -> Any:
        """The mean, a vector."""
        plain = self._scipy.mean(on_host(n), on_host(p))
        if not has_variable(p):
            return plain
        plain = placed(plain, p)
        return np.where(np.isnan(plain), plain, value(n) * p)

    def cov(self, n: Any, p: Any) -> Any:
        """The covariance, a matrix."""
        plain = self._scipy.cov(on_host(n), on_host(p))
        if not has_variable(p):
            return plain
        plain, n = placed(plain, p), placed(as_array(value(n)), p)
        matrix = p[..., :, None] * (placed(np.eye(p.shape[-1]), p) - p[..., None, :])
        return np.where(np.isnan(plain), plain, n[..., None, None] * matrix)


dirichlet = Dirichlet("dirichlet")
multinomial = Multinomial("multinomial")
multivariate_normal = MultivariateNormal("multivariate_normal")
