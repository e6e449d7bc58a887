"""Kernels, noise and inducing points by maximum likelihood, or a posteriori."""

from __future__ import annotations

import dataclasses
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.cluster.vq
import scipy.optimize

from lindiff.gp.approximations import Approximation, approximation_by
from lindiff.gp.expectation_propagation import EPPosterior
from lindiff.gp.hyperparameters import Hyperparameters
from lindiff.gp.jitter import hearing
from lindiff.gp.kernels import RBF, ConstantKernel, Kernel, WhiteKernel
from lindiff.gp.kernels.translated import from_sklearn
from lindiff.gp.laplace import LaplacePosterior
from lindiff.gp.likelihoods import Likelihood
from lindiff.gp.points import as_points, own
from lindiff.gp.precisions import refusing
from lindiff.gp.regression import Posterior, condition, log_marginal_likelihood, residuals
from lindiff.gp.sparse import SparsePosterior, condition_sparse, sparse_bound
from lindiff.statespace.priors import log_densities, refuse_impossible
from lindiff.transforms.reverse import value_and_grad

__all__ = ["FitResult", "fit", "inducing_points", "kernel_for"]

CLUSTERED = 512  # most inducing points that are means of clusters; more are drawn from the data

# Searches one after the other, while they pass by what is higher than their ends by more than this, or end
# where the likelihood still has such a slope.
SEARCHES = 5
NOTICEABLE = 1e-3
SLOPE = 0.1


def kernel_for(X: Any, y: Any) -> Kernel:
    """A kernel to begin with, in the units of the data, of the process less their mean.

    Parameters
    ----------
    X : (n, d) array, or (n,)
    y : (n,) or (n, k) array

    Returns
    -------
    Kernel
        ``v RBF(s) + WhiteKernel(v / 10)``: v is the variance of y, the mean of that of its columns, s the
        standard deviations of X's columns times √d; 1 for what is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> gp.kernel_for(np.array([0.0, 10.0]), np.array([1.0, 3.0]))
    ConstantKernel(constant_value=1) * RBF(length_scale=5) + WhiteKernel(noise_level=0.1)
    """
    return _kernel_of(as_points(X), float(np.mean(np.var(y, axis=0))))


def _kernel_of(X: Any, variance: float) -> Kernel:
    """That of :func:`kernel_for`, of a process of this variance."""
    scales = _spreads(X, np.sqrt(X.shape[1]))
    variance = variance if variance > 0 else 1.0
    scales = scales if X.shape[1] > 1 else float(scales[0])

    def around(x: Any) -> tuple[float, float]:
        return float(np.min(x)) * 1e-5, float(np.max(x)) * 1e5

    smooth = ConstantKernel(variance, around(variance)) * RBF(scales, around(scales))
    return smooth + WhiteKernel(0.1 * variance, around(variance))


def _spreads(X: Any, factor: Any = 1.0) -> Any:
    """Standard deviations of columns times a factor; 1 for what is constant."""
    scales = np.std(X, axis=0) * factor
    return np.where(scales > 0, scales, 1.0)


def inducing_points(X: Any, count: int, rng: Any = None) -> Any:
    """Inducing points to begin with.

    Parameters
    ----------
    X : (n, d) array, or (n,)
    count : int
        U.
    rng : numpy.random.Generator or int, optional

    Returns
    -------
    (U, d) array
        Means of clusters of X's rows, in units of their columns' standard deviations; for U > 512, or as many
        as there are different rows, some of these rows.
    """
    X, rng, count = as_points(X), np.random.default_rng(rng), operator.index(count)
    if count < 1:
        raise ValueError(f"inducing_points: count is 1 at least, got {count}")
    rows = np.unique(X, axis=0)
    if count >= len(rows):
        return rows
    if count > CLUSTERED:
        return rows[np.sort(rng.choice(len(rows), count, replace=False))]
    scales = _spreads(X)
    first = rows[rng.choice(len(rows), count, replace=False)] / scales
    return np.asarray(_means(X / scales, first) * scales, X.dtype)


def _means(X: Any, means: Any) -> Any:
    """Ten steps of Lloyd's method; clusters that became empty stay where they are."""
    for _ in range(10):
        nearest, _ = scipy.cluster.vq.vq(X, means)
        counts = np.bincount(nearest, minlength=len(means))
        sums = np.stack([np.bincount(nearest, x, len(means)) for x in X.T], axis=1)
        means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], means)
    return means


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class FitResult:
    """What :func:`fit` found.

    Parameters
    ----------
    kernel : Kernel
        With the numbers that were found.
    log_likelihood : number
        Of the observations; the bound for inducing points.
    Z : (U, d) array or None
        Inducing points.
    converged : bool
    message : str
        Why the search ended.
    evaluations : int
        Of value and gradient, of all searches.
    params : dict
        The numbers that were found, by name.
    data : named tuple
        What was given: `X`, `y`, `noise_var`, `mean`, `likelihood` and `approximation`.
    """

    kernel: Kernel
    log_likelihood: Any
    Z: Any
    converged: bool
    message: str
    evaluations: int
    params: dict[str, Any]
    data: _Data

    def posterior(self) -> Posterior | SparsePosterior | LaplacePosterior | EPPosterior:
        """The process given the observations."""
        return self.data.condition(self.kernel, self.Z)

    def __repr__(self) -> str:
        how = "converged" if self.converged else f"not converged: {self.message}"
        points = "" if self.Z is None else f" by {len(self.Z)} inducing points"
        return (
            f"{self.kernel!r}\nlog likelihood {float(self.log_likelihood):.6g}{points}, "
            f"{self.evaluations} evaluations, {how}"
        )


def fit(
    X: Any,
    y: Any,
    kernel: Kernel | None = None,
    noise_var: Any = 0.0,
    mean: Any = None,
    *,
    likelihood: Likelihood | None = None,
    approximation: str = "laplace",
    inducing: Any = None,
    fixed_inducing: bool = False,
    priors: Mapping[str, Any] | None = None,
    restarts: int = 0,
    rng: Any = None,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    progress: bool | Callable[[int, float, Kernel], Any] = False,
) -> FitResult:
    """Find the numbers of a kernel, and inducing points, by maximum likelihood.

    Parameters
    ----------
    X : (n, d) array, or (n,)
    y : (n,) or (n, k) array
    kernel : Kernel, optional
        Where the search begins, and what it may change: its numbers within their bounds, that of
        `WhiteKernel` parts for the noise, and all parameters of warps.  By default :func:`kernel_for` the
        data, of a process whose mean is that of y; with a likelihood, of one whose mean and variance are
        its `rough` ones: of counts the logarithm of their mean, and 1.
    noise_var : number or (n,) array
        Variance of noise that is known, beside that of the kernel.
    mean : number, array like y, or callable, optional
    likelihood : Likelihood, optional
        Of observations that are not Gaussian.  Without inducing points, and without `noise_var`.
    approximation : {"laplace", "ep"}
        By which it is maximized: :func:`laplace_log_likelihood` or :func:`ep_log_likelihood`.
    inducing : int or (U, d) array, optional
        Number of inducing points, or where they begin: then it is :func:`sparse_bound` that is maximized, and
        `noise_var` is a number.
    fixed_inducing : bool
        Whether they stay there.
    priors : dict, optional
        Name of a number (``"k1__k2__length_scale"``) to a distribution of `scipy.stats` or to a function that
        returns the logarithm of a density: the maximum is one a posteriori.
    restarts : int
        Further searches, from numbers drawn between their bounds, evenly by logarithms; where there are no
        bounds, about the first ones.
    rng : numpy.random.Generator or int, optional
        Of restarts and of inducing points.
    tol, options
        Of SciPy's L-BFGS-B.
    progress : bool or callable
        True prints a line for each iteration; ``progress(iteration, log_likelihood, kernel)`` is told of it,
        and ends the search by returning True.

    Returns
    -------
    FitResult
        The best that was found, if no search converged, too.

    Warns
    -----
    RuntimeWarning
        If covariances were singular to working precision on the way: once, and what was added to them.

    Notes
    -----
    The search is L-BFGS-B by logarithms of what is positive.  Where covariances cannot be factored, or an
    approximation is not found, it turns back.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import gp
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 10, 50)
    >>> found = gp.fit(X, np.sin(X) + 0.1 * rng.standard_normal(50))
    >>> float(np.sqrt(found.kernel.k2.noise_level).round(2)), found.converged
    (0.1, True)
    >>> found.posterior().mean(np.array([np.pi / 2])).round(1)
    array([1.])
    """
    X = own(as_points(X))
    y = own(residuals("fit", X, y, None))
    if not len(X):
        raise ValueError("fit: there are no points")
    if likelihood is not None and (inducing is not None or np.any(noise_var)):
        raise ValueError("fit: with a likelihood there are no inducing points and no noise_var")
    if restarts < 0:
        raise ValueError(f"fit: restarts is 0 or more, got {restarts}")
    if kernel is not None:
        kernel = own(from_sklearn(kernel))
    elif likelihood is None:
        kernel, mean = kernel_for(X, y), _average(y) if mean is None else mean
    else:
        likelihood.check(y)
        average, variance = likelihood.rough(y)
        kernel, mean = _kernel_of(X, variance), average if mean is None else mean
    rng = np.random.default_rng(rng)
    Z = None
    if inducing is not None:
        Z = inducing_points(X, inducing, rng) if np.ndim(inducing) == 0 else own(as_points(inducing, like=X))
    if not callable(mean) and mean is not None and not np.all(np.isfinite(np.asarray(mean, np.float64))):
        raise ValueError("fit: mean holds NaN or infinity")
    data = _Data(X, y, own(noise_var), own(mean), own(likelihood), approximation_by(approximation))
    problem = _Problem(kernel, data, Z, fixed_inducing, dict(priors or {}), progress)
    problem.search(problem.first, tol, options)
    for _ in range(restarts):
        problem.search(problem.drawn(rng), tol, options)
    return problem.result()


def _average(y: Any) -> Any:
    """The mean of a process of these observations, or those of several."""
    found = np.mean(y, axis=0)
    return found if y.ndim == 1 else lambda X: np.tile(found, (len(X), 1))


class _Data(NamedTuple):
    """Observations, and what is known of them besides."""

    X: Any
    y: Any
    noise_var: Any
    mean: Any
    likelihood: Likelihood | None
    approximation: Approximation

    def log_likelihood(self, kernel: Kernel, Z: Any) -> Any:
        X, y, noise_var, mean, likelihood, approximation = self
        if likelihood is not None:
            return approximation.log_likelihood(kernel, X, y, likelihood, mean)
        if Z is None:
            return log_marginal_likelihood(kernel, X, y, noise_var, mean)
        return sparse_bound(kernel, X, y, Z, noise_var, mean)

    def condition(
        self, kernel: Kernel, Z: Any
    ) -> Posterior | SparsePosterior | LaplacePosterior | EPPosterior:
        X, y, noise_var, mean, likelihood, approximation = self
        if likelihood is not None:
            return approximation.condition(kernel, X, y, likelihood, mean)
        if Z is None:
            return condition(kernel, X, y, noise_var, mean)
        return condition_sparse(kernel, X, y, Z, noise_var, mean)


class _Problem:
    """What is maximized, and the best that was seen."""

    def __init__(
        self,
        kernel: Kernel,
        data: _Data,
        Z: Any,
        fixed_inducing: bool,
        priors: dict[str, Any],
        progress: Any,
    ) -> None:
        self.hyper = Hyperparameters(kernel)
        self.data, self.Z = data, Z
        self._moves = Z is not None and not fixed_inducing
        self._densities = log_densities(priors, self.hyper.names)
        self._tell = _print_line if progress is True else progress or None
        self._evaluations, self._iteration = 0, 0
        self._converged, self._message = False, "no search was made"
        self._jittered: list[str] = []
        # Inducing points are looked for in units of the data, as logarithms have none.
        self._units = _spreads(data.X)
        points = np.ravel(Z / self._units) if self._moves else np.zeros(0)
        self.first = np.concatenate([self.hyper.start, np.asarray(points, np.float64)])
        free = np.tile([-np.inf, np.inf], (len(points), 1))
        self._bounds = np.concatenate([self.hyper.bounds, free])
        refuse_impossible(self._densities, self.hyper.values_at(self.hyper.start))
        self.best, self.best_value = self.first, -np.inf
        self._value_and_grad = value_and_grad(self.objective)

    def split(self, x: Any) -> tuple[Any, Any]:
        count = len(self.hyper.theta)
        if not self._moves:
            return x[:count], self.Z
        return x[:count], np.reshape(x[count:], np.shape(self.Z)) * self._units

    def objective(self, x: Any) -> Any:
        theta, Z = self.split(x)
        kernel = self.hyper.kernel_at(theta)
        found = self.data.log_likelihood(kernel, Z)
        if self._densities:
            values = self.hyper.values_at(theta)
            found = found + sum(np.sum(density(values[name])) for name, density in self._densities.items())
        return found

    def _evaluated(self, x: Any) -> tuple[float, Any]:
        """What the search minimizes, and its gradient; far above all seen where nothing can be computed."""
        self._evaluations += 1
        try:
            with hearing(self._jittered), refusing():
                value, gradient = self._value_and_grad(x)
        except np.linalg.LinAlgError:
            if not np.isfinite(self.best_value):
                raise
            return self._above(), np.zeros_like(x)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return self._above(), np.zeros_like(x)
        if value > self.best_value:
            self.best, self.best_value = x.copy(), float(value)
        return -float(value), -np.asarray(gradient, np.float64)

    def _above(self) -> float:
        """A number far above all that were seen."""
        return abs(self.best_value) * 10 + 1e10 if np.isfinite(self.best_value) else 1e25

    def _iterated(self, intermediate_result: Any) -> None:
        self._iteration += 1
        if self._tell is not None:
            kernel = self.hyper.kernel_at(self.split(self.best)[0])
            told = self._tell(self._iteration, self.best_value, kernel)
            if isinstance(told, bool | np.bool_) and told:
                raise StopIteration

    def search(self, start: Any, tol: float | None, options: dict[str, Any] | None) -> None:
        before = self.best_value
        if not len(start):
            self._evaluated(start)
            self._converged, self._message = True, "nothing to find"
            return
        for _ in range(SEARCHES):
            found = scipy.optimize.minimize(
                self._evaluated,
                np.clip(start, *self._bounds.T),
                jac=True,
                method="L-BFGS-B",
                bounds=self._bounds,
                tol=tol,
                options=options,
                callback=self._iterated,
            )
            ended = self._has_ended(found, before)
            if ended or not found.success:
                break
            start = self.best
        if self.best_value > before:
            self._converged, self._message = bool(found.success and ended), str(found.message)

    def _has_ended(self, found: Any, before: float) -> bool:
        """Whether a search is at a maximum: a line search may have passed by something higher than where it
        led, and one that gains little may be on a slope still."""
        if max(before, -found.fun) + NOTICEABLE < self.best_value:
            return False
        if -found.fun <= before or "jac" not in found:  # it has none where bounds leave nothing to find
            return True
        ahead = np.clip(found.x - found.jac, *self._bounds.T) - found.x
        return bool(np.max(np.abs(ahead)) < SLOPE)

    def drawn(self, rng: Any) -> Any:
        """Another start."""
        return np.concatenate([self.hyper.drawn(rng), self.first[len(self.hyper.theta) :]])

    def result(self) -> FitResult:
        theta, Z = self.split(self.best)
        kernel = self.hyper.kernel_at(theta)
        with hearing(self._jittered):
            log_likelihood = self.data.log_likelihood(kernel, Z)
        if self._jittered:
            warnings.warn(f"fit: {self._jittered[-1]}", RuntimeWarning, stacklevel=3)
        return FitResult(
            kernel,
            log_likelihood,
            Z,
            self._converged,
            self._message,
            self._evaluations,
            self.hyper.values_at(theta),
            self.data,
        )


def _print_line(iteration: int, log_likelihood: float, kernel: Kernel) -> None:
    print(f"{iteration:4d}  {log_likelihood:.6g}  {kernel!r}")
