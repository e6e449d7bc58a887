"""Distributions of vectors and matrices: multivariate normal and t, Wishart, Dirichlet, multinomial."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import scipy.stats
from scipy import special

from lindiff.core.arrays import on_host, placed
from lindiff.core.results import returned
from lindiff.core.variable import Variable, value
from lindiff.kernels.matmul import product
from lindiff.linalg.cholesky import potrf, sumlogdiag
from lindiff.linalg.gaussian import LOG_TWO_PI, mvn_logpdf
from lindiff.linalg.triangular import trsm
from lindiff.rules._common import as_array, depends_on_variables
from lindiff.scipy._rest import plain_only
from lindiff.scipy.special.combinatorics import multigammaln
from lindiff.scipy.stats._distribution import REASONS, Frozen, double

__all__ = ["dirichlet", "multinomial", "multivariate_normal", "multivariate_t", "wishart"]


class Multivariate:
    """A distribution of vectors under SciPy's name for it."""

    # The parameters in order, and those of them whose values a frozen distribution copies when it is made.
    parameters: tuple[str, ...]
    taken: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self._scipy = getattr(scipy.stats, name)

    def __repr__(self) -> str:
        return f"<lindiff.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **kwds: Any) -> Frozen:
        """The distribution with its parameters fixed: its methods then take the point alone."""
        names = (*self.parameters, *[""] * len(args))
        at_once = [name in self.taken for name in names]
        fixed = tuple([_as_now(x) if now else x for now, x in zip(at_once, args, strict=False)])
        return FrozenMultivariate(
            self, fixed, {name: _as_now(x) if name in self.taken else x for name, x in kwds.items()}
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._scipy, name)
        if not inspect.isroutine(found):
            return found
        return plain_only(f"scipy.stats.{self.name}.{name}", found, REASONS.get(name))


class FrozenMultivariate(Frozen):
    """A distribution of vectors with fixed parameters, which it has as attributes."""

    def __getattr__(self, name: str) -> Any:
        if depends_on_variables((self.args, self.kwds)) and not hasattr(type(self.dist), name):
            given = dict(zip(type(self.dist).parameters, self.args, strict=False)) | self.kwds
            if given.get(name) is not None:
                return as_array(given[name])
        return super().__getattr__(name)


def _as_now(x: Any) -> Any:
    """A parameter as it is now: a copy, if it could be written to later."""
    return np.copy(as_array(x)) if isinstance(x, (list, tuple, np.ndarray, Variable)) else x


def _squeezed(y: Any) -> Any:
    """``y``, a new array, without axes of length 1, as SciPy returns it."""
    return returned(np.squeeze(y), ())


def _location_and_matrix(location: Any, matrix: Any, name: str) -> tuple[Any, Any]:
    """The location as a vector and the matrix beside it, which may be given by its diagonal or one number."""
    matrix = double(1.0 if matrix is None else matrix)
    if location is None:
        location = np.zeros(matrix.shape[0] if matrix.ndim == 2 else 1)
    location = placed(double(location), matrix)
    location = np.reshape(location, (-1,)) if location.size == 1 else location
    n = location.shape[0] if location.ndim else 1
    if n == 1:
        matrix = np.reshape(matrix, (1, 1))
    elif matrix.ndim == 0:
        matrix = matrix * placed(np.eye(n), location)
    elif matrix.ndim == 1:
        matrix = np.diag(matrix)
    if location.ndim != 1 or matrix.shape != (n, n):
        raise ValueError(f"{name} of shapes {location.shape} and {matrix.shape} do not fit")
    return location, placed(matrix, location)


def _points(x: Any, location: Any) -> Any:
    """Points in the last axis, as SciPy reads them: numbers are points of one component."""
    if x.ndim == 0:
        x = x[None]
    if x.ndim == 1:
        return x[:, None] if len(location) == 1 else x[None, :]
    return x


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

    parameters = ("mean", "cov")
    taken = ("cov",)

    def _parameters(self, mean: Any, cov: Any) -> tuple[Any, Any]:
        """The mean as a vector and the covariance as a matrix."""
        if isinstance(cov, scipy.stats.Covariance):
            cov = cov.covariance
        return _location_and_matrix(mean, cov, "multivariate_normal: mean and cov")

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The logarithm of the density at x, a vector or an array of vectors in its last axis."""
        if not depends_on_variables((x, mean, cov)):
            return self._scipy.logpdf(x, mean, cov, allow_singular)
        mean, cov = self._parameters(mean, cov)
        x = _points(placed(double(x), mean, cov), mean)
        if allow_singular and np.linalg.matrix_rank(value(cov), hermitian=True) < len(mean):
            return _squeezed(_singular_logpdf(x - mean, cov))
        return _squeezed(mvn_logpdf(x, mean, cov))

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1, allow_singular: bool = False) -> Any:
        """The density at x."""
        if not depends_on_variables((x, mean, cov)):
            return self._scipy.pdf(x, mean, cov, allow_singular)
        return np.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1) -> Any:
        """The differential entropy."""
        if not depends_on_variables((mean, cov)):
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
    whitened = product(deviation, U)
    outside = np.isneginf(np.reshape(fixed.logpdf(value(deviation)), deviation.shape[:-1]))
    return np.where(outside, -np.inf, -0.5 * (constant + np.sum(whitened * whitened, axis=-1)))


class MultivariateT(Multivariate):
    """Multivariate t, like ``scipy.stats.multivariate_t``: location, shape matrix, degrees of freedom df.

    Notes
    -----
    The shape matrix is positive definite; its lower triangle is read, and its gradient is symmetric.  It may
    be given by its diagonal, or by one number.  Infinite df, a constant, give the normal distribution.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.stats import multivariate_t
    >>> ld.grad(lambda loc: multivariate_t.logpdf([1.0, 0.0], loc, np.eye(2), 2.0))(np.zeros(2)).round(6)
    array([1.333333, 0.      ])
    """

    parameters = ("loc", "shape", "df")
    taken = ("shape",)

    def logpdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
        """The logarithm of the density at x, a vector or an array of vectors in its last axis."""
        if not depends_on_variables((x, loc, shape, df)):
            return self._scipy.logpdf(x, loc, shape, df)
        df = self._degrees(df)
        loc, shape = _location_and_matrix(loc, shape, "multivariate_t: loc and shape")
        x = _points(placed(double(x), loc, shape), loc)
        if np.isinf(value(df)):
            return _squeezed(mvn_logpdf(x, loc, shape))
        n, L = len(loc), potrf(shape)
        deviations = np.reshape(x - loc, (-1, n))
        whitened = trsm(L, deviations, rightside=True, transpose=True)
        distances = np.reshape(np.sum(whitened * whitened, axis=-1), x.shape[:-1])
        half = 0.5 * (df + n)
        constant = special.gammaln(half) - special.gammaln(0.5 * df) - 0.5 * n * np.log(df * np.pi)
        return _squeezed(constant - sumlogdiag(L) - half * np.log1p(distances / df))

    def pdf(self, x: Any, loc: Any = None, shape: Any = 1, df: Any = 1, allow_singular: bool = False) -> Any:
        """The density at x."""
        if not depends_on_variables((x, loc, shape, df)):
            return self._scipy.pdf(x, loc, shape, df, allow_singular)
        return np.exp(self.logpdf(x, loc, shape, df))

    def entropy(self, loc: Any = None, shape: Any = 1, df: Any = 1) -> Any:
        """The differential entropy, of Variables a scalar, where SciPy gives an array without axes."""
        if not depends_on_variables((loc, shape, df)):
            return self._scipy.entropy(loc, shape, df)
        df = self._degrees(df)
        loc, shape = _location_and_matrix(loc, shape, "multivariate_t: loc and shape")
        n, log_root = len(loc), sumlogdiag(potrf(shape))
        if np.isinf(value(df)):
            return 0.5 * n * (LOG_TWO_PI + 1) + log_root
        half, less = 0.5 * (df + n), 0.5 * df
        constant = special.gammaln(less) - special.gammaln(half) + 0.5 * n * np.log(df * np.pi)
        return constant + half * (special.psi(half) - special.psi(less)) + log_root

    def _degrees(self, df: Any) -> Any:
        df = double(1.0 if df is None else df)
        if not value(df) > 0:
            raise ValueError("multivariate_t: df is a number greater than 0")
        return df


class Wishart(Multivariate):
    """Wishart, like ``scipy.stats.wishart``: degrees of freedom df, scale matrix.

    Notes
    -----
    Of positive definite matrices, of which the lower triangles are read; their gradients are symmetric.
    Several points are stacked along the last axis, as in SciPy.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.stats import wishart
    >>> ld.grad(lambda scale: wishart.logpdf(np.eye(2), 3.0, scale))(np.eye(2))
    array([[-1.,  0.],
           [ 0., -1.]])
    """

    parameters = ("df", "scale")
    taken = ("scale",)

    def logpdf(self, x: Any, df: Any, scale: Any) -> Any:
        """The logarithm of the density at x.

        Raises
        ------
        ValueError
            If df is less than the number of rows, or shapes do not fit.
        numpy.linalg.LinAlgError
            If x or `scale` is not positive definite.
        """
        if not depends_on_variables((x, df, scale)):
            return self._scipy.logpdf(x, df, scale)
        df, scale = self._parameters(df, scale)
        n = len(scale)
        x = self._matrices(placed(double(x), df, scale), n)
        L, L_x = potrf(scale), potrf(x)
        roots = trsm(np.broadcast_to(L, x.shape), L_x)
        trace = np.sum(roots * roots, axis=(-2, -1))
        log_det, log_det_x = 2.0 * sumlogdiag(L), 2.0 * sumlogdiag(L_x)
        constant = 0.5 * df * (n * math.log(2.0) + log_det) + multigammaln(0.5 * df, n)
        return _squeezed(0.5 * ((df - n - 1) * log_det_x - trace) - constant)

    def pdf(self, x: Any, df: Any, scale: Any) -> Any:
        """The density at x."""
        if not depends_on_variables((x, df, scale)):
            return self._scipy.pdf(x, df, scale)
        return np.exp(self.logpdf(x, df, scale))

    def mean(self, df: Any, scale: Any) -> Any:
        """The mean, a matrix."""
        if not depends_on_variables((df, scale)):
            return self._scipy.mean(df, scale)
        df, scale = self._parameters(df, scale)
        return _squeezed(df * scale)

    def var(self, df: Any, scale: Any) -> Any:
        """The variances of the entries, a matrix."""
        if not depends_on_variables((df, scale)):
            return self._scipy.var(df, scale)
        df, scale = self._parameters(df, scale)
        diagonal = np.diagonal(scale)
        return _squeezed(df * (scale * scale + diagonal[:, None] * diagonal))

    def _parameters(self, df: Any, scale: Any) -> tuple[Any, Any]:
        scale = double(1.0 if scale is None else scale)
        if scale.ndim < 2:
            scale = np.diag(np.reshape(scale, (-1,)))
        if scale.ndim != 2 or scale.shape[0] != scale.shape[1]:
            raise ValueError(f"wishart: scale of shape {scale.shape} is no square matrix")
        df = double(len(scale) if df is None else df)
        if df.ndim or not value(df) > len(scale) - 1:
            raise ValueError("wishart: df is a number greater than the number of rows of scale, less 1")
        return placed(df, scale), scale

    def _matrices(self, x: Any, n: int) -> Any:
        """Points in the last two axes; SciPy's stand along the last."""
        if x.ndim == 0:
            x = x * placed(np.eye(n), x)
        elif x.ndim == 1:
            x = np.reshape(x, (-1, 1, 1)) if n == 1 else np.diag(x)
        elif x.ndim == 3:
            x = np.moveaxis(x, -1, 0)
        if x.ndim not in (2, 3) or x.shape[-2:] != (n, n):
            raise ValueError(f"wishart: matrices of {n} rows are needed, got points of shape {x.shape}")
        return x


class Dirichlet(Multivariate):
    """Dirichlet, like ``scipy.stats.dirichlet``: concentrations alpha, a vector.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.stats import dirichlet
    >>> ld.grad(lambda alpha: dirichlet.logpdf([0.25, 0.75], alpha))(np.array([1.0, 1.0])).round(6)
    array([-0.386294,  0.712318])
    """

    parameters = ("alpha",)

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """The logarithm of the density at x, along its first axis; the last component may be left out.

        Raises
        ------
        ValueError
            If x is not on the simplex, or alpha not positive.
        """
        density = self._scipy.logpdf(on_host(x), on_host(alpha))  # and SciPy's errors
        if not depends_on_variables((x, alpha)):
            return density
        x, alpha = double(x), double(alpha)
        if x.shape[0] != alpha.shape[0]:
            x = np.concatenate([x, 1.0 - np.sum(x, axis=0, keepdims=True)])
        powers = np.sum(special.xlogy(alpha - 1.0, np.transpose(x)), axis=-1)
        return _squeezed(powers - _log_beta(alpha))

    def pdf(self, x: Any, alpha: Any) -> Any:
        """The density at x."""
        return (
            np.exp(self.logpdf(x, alpha)) if depends_on_variables((x, alpha)) else self._scipy.pdf(x, alpha)
        )

    def mean(self, alpha: Any) -> Any:
        """The mean, a vector."""
        plain = self._scipy.mean(on_host(alpha))
        if not depends_on_variables(alpha):
            return plain
        alpha = as_array(alpha)
        return _squeezed(alpha / np.sum(alpha))

    def var(self, alpha: Any) -> Any:
        """The variances, a vector."""
        plain = self._scipy.var(on_host(alpha))
        if not depends_on_variables(alpha):
            return plain
        alpha = as_array(alpha)
        total = np.sum(alpha)
        return _squeezed(alpha * (total - alpha) / (total * total * (total + 1)))

    def entropy(self, alpha: Any) -> Any:
        """The differential entropy."""
        plain = self._scipy.entropy(on_host(alpha))
        if not depends_on_variables(alpha):
            return plain
        alpha = as_array(alpha)
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

    parameters = ("n", "p")
    taken = ("n", "p")

    def logpmf(self, x: Any, n: Any, p: Any) -> Any:
        """The logarithm of the probability of x; minus infinity where that is zero."""
        plain = self._scipy.logpmf(on_host(x), on_host(n), on_host(p))
        if not depends_on_variables(p):
            return plain
        p = double(p)
        x, n, plain = (placed(as_array(value(part)), p) for part in (x, n, plain))
        ways = special.gammaln(n + 1) - np.sum(special.gammaln(x + 1), axis=-1)
        y = ways + np.sum(special.xlogy(x, p), axis=-1)
        return np.where(np.isfinite(plain), y, plain)

    def pmf(self, x: Any, n: Any, p: Any) -> Any:
        """The probability of x."""
        return np.exp(self.logpmf(x, n, p)) if depends_on_variables(p) else self._scipy.pmf(x, n, p)

    def mean(self, n: Any, p: Any) -> Any:
        """The mean, a vector."""
        plain = self._scipy.mean(on_host(n), on_host(p))
        if not depends_on_variables(p):
            return plain
        p = as_array(p)
        plain, n = placed(plain, p), placed(as_array(value(n)), p)
        return np.where(np.isnan(plain), plain, n[..., None] * p)

    def cov(self, n: Any, p: Any) -> Any:
        """The covariance, a matrix."""
        plain = self._scipy.cov(on_host(n), on_host(p))
        if not depends_on_variables(p):
            return plain
        p = as_array(p)
        plain, n = placed(plain, p), placed(as_array(value(n)), p)
        matrix = p[..., :, None] * (placed(np.eye(p.shape[-1]), p) - p[..., None, :])
        return np.where(np.isnan(plain), plain, n[..., None, None] * matrix)


dirichlet = Dirichlet("dirichlet")
multinomial = Multinomial("multinomial")
multivariate_normal = MultivariateNormal("multivariate_normal")
multivariate_t = MultivariateT("multivariate_t")
wishart = Wishart("wishart")
