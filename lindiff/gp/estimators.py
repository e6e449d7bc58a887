"""scikit-learn's estimators: regression and classification by Gaussian processes, linear regression.

Names, parameters and attributes are those of ``sklearn.gaussian_process``, whose kernels are taken, too.
Needs scikit-learn.

Examples
--------
>>> import numpy as np
>>> from lindiff.gp.estimators import GaussianProcessRegressor
>>> X = np.linspace(0, 6, 40)[:, None]
>>> model = GaussianProcessRegressor().fit(X, np.sin(X[:, 0]))
>>> model.predict(np.array([[np.pi / 2]])).round(3)
array([1.])
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.optimize
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from lindiff.gp.approximations import approximation_by
from lindiff.gp.fitting import fit, inducing_points, kernel_for
from lindiff.gp.hyperparameters import Hyperparameters, with_values
from lindiff.gp.kernels import CompoundKernel, Kernel
from lindiff.gp.kernels.translated import from_sklearn
from lindiff.gp.likelihoods import Bernoulli, Gaussian, Poisson, StudentT
from lindiff.gp.points import own, unmasked
from lindiff.gp.regression import condition, log_marginal_likelihood
from lindiff.gp.softmax import Softmax
from lindiff.gp.sparse import condition_sparse, sparse_bound
from lindiff.kernels.matmul import product
from lindiff.transforms.reverse import value_and_grad

__all__ = [
    "BayesianLinearRegression",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "SparseGaussianProcessRegressor",
]


# What is added to diagonals by default, in units of the targets where the kernel has those, too.
JITTER = 1e-10

# Of the evidence of linear regression: ratios of variances that are looked at, and how far beyond what the
# sizes of columns say their logarithms go.
GRID = 512
FAR = 60.0


class _OfKernel(BaseEstimator):
    """An estimator whose kernel is never changed: other parameters of it are those of another one."""

    kernel: Any
    kernel_: Any
    optimizer: Any

    def _warn_of_bounds(self) -> None:
        if self.optimizer is None:
            return
        for name, side, bound in Hyperparameters(self.kernel_).at_bounds():
            bare = name.partition("[")[0]
            warnings.warn(
                f"the search for {name} has ended at its {side} bound, {bound:g}: the likelihood may be "
                f'higher beyond it; with {bare}_bounds="fixed" there is no search',
                ConvergenceWarning,
                stacklevel=3,
            )

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, of the kernel as ``kernel__name``.

        Returns
        -------
        self
        """
        of_kernel = {name: params.pop(name) for name in list(params) if name.startswith("kernel__")}
        super().set_params(**params)
        if isinstance(self.kernel, Kernel):
            inner = {name.removeprefix("kernel__"): x for name, x in of_kernel.items()}
            self.kernel = with_values(self.kernel, inner)
        elif of_kernel and self.kernel is None:
            raise ValueError(f"{type(self).__name__}: there is no kernel to set {', '.join(of_kernel)} of")
        elif of_kernel:
            super().set_params(**of_kernel)
        return self


class _Regressor(MultiOutputMixin, RegressorMixin, _OfKernel):
    """What both regressions share: scaled targets, searches, predictions, draws."""

    alpha: Any
    optimizer: Any
    n_restarts_optimizer: int
    normalize_y: bool
    random_state: Any
    n_targets: int | None = None

    # -- fitting ------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Any:
        """Find the kernel's numbers, unless `optimizer` is None, and condition on the data.

        Parameters
        ----------
        X : (n, d) array
        y : (n,) or (n, k) array

        Returns
        -------
        self
        """
        X, y = validate_data(self, *_unmasked(X, y), multi_output=True, y_numeric=True, dtype=np.float64)
        _check_restarts(self.n_restarts_optimizer)
        if np.ndim(self.alpha) and np.shape(self.alpha) != (len(X),):
            raise ValueError(
                f"alpha must be a scalar or an array with same number of entries as y. "
                f"({np.shape(self.alpha)[0]} != {len(X)})"
            )
        count = 1 if y.ndim == 1 else y.shape[1]
        if self.n_targets is not None and self.n_targets != count:
            raise ValueError(
                f"The number of targets seen in `y` is different from the parameter `n_targets`. Got {count} "
                f"!= {self.n_targets}."
            )
        mean, std = np.zeros(y.shape[1:]), np.ones(y.shape[1:])
        if self.normalize_y or self.kernel is None:
            mean = np.mean(y, axis=0)
        if self.normalize_y:
            std = np.std(y, axis=0)
            std = np.where(std > 0, std, 1.0)
        self._y_train_mean, self._y_train_std = mean, std
        self.X_train_, self.y_train_ = X, (y - mean) / std
        kernel = kernel_for(X, self.y_train_) if self.kernel is None else own(from_sklearn(self.kernel))
        self._alpha = self.alpha
        if self.kernel is None and np.ndim(self.alpha) == 0 and self.alpha == JITTER:
            self._alpha = JITTER * (np.mean(np.var(self.y_train_, axis=0)) or 1.0)
        self.kernel_ = self._found(kernel)
        if self.kernel is not None:
            self._warn_of_bounds()
        self._posterior = self._conditioned()
        self.log_marginal_likelihood_value_ = float(self._found_log_likelihood())
        return self

    def _found(self, kernel: Kernel) -> Kernel:
        raise NotImplementedError

    def _log_likelihood(self, kernel: Kernel) -> Any:
        raise NotImplementedError

    def _conditioned(self) -> Any:
        raise NotImplementedError

    def _found_log_likelihood(self) -> Any:
        return self._log_likelihood(self.kernel_)

    def _by_optimizer(self, kernel: Kernel) -> Kernel:
        return _by_optimizer(self, self._log_likelihood, kernel)

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """The log marginal likelihood, or its bound, at logarithms `theta` of the kernel's numbers.

        Parameters
        ----------
        theta : (k,) array, optional
            By default that of the fitted kernel.
        eval_gradient : bool
            Whether the gradient by theta is returned, too.
        clone_kernel : bool
            As in scikit-learn; kernels are never changed here.

        Returns
        -------
        number, or (number, (k,) array)
        """
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        hyper = Hyperparameters(self.kernel_)

        def of_theta(theta: Any) -> Any:
            return self._log_likelihood(hyper.kernel_at(theta))

        theta = np.asarray(theta, np.float64)
        if not eval_gradient:
            return float(of_theta(theta))
        value, gradient = value_and_grad(of_theta)(theta)
        return float(value), gradient

    # -- predicting ---------------------------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Expected targets at points, and how uncertain they are.

        Parameters
        ----------
        X : (m, d) array
        return_std, return_cov : bool
            Whether standard deviations (m,) or covariances (m, m) are returned, too; of several targets with
            a last axis for these.

        Returns
        -------
        (m,) or (m, k) array, or a pair of arrays

        Notes
        -----
        Before `fit` it is the process itself, of mean zero.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if not hasattr(self, "X_train_"):
            return self._predicted_before(X, return_std, return_cov)
        X = validate_data(self, unmasked("points", X), reset=False, dtype=np.float64)
        scale, posterior = self._y_train_std, self._posterior
        noise = self.kernel_.noise(self.kernel_.features(X))
        if return_cov:
            cov = posterior.cov(X, noise)
            found = posterior.mean(X), cov * scale**2 if np.ndim(scale) == 0 else cov[:, :, None] * scale**2
        else:
            mean, var = posterior.mean_and_var(X, noise) if return_std else (posterior.mean(X), np.zeros(0))
            std = np.sqrt(var)
            found = mean, std * scale if np.ndim(scale) == 0 else std[:, None] * scale
        mean = scale * found[0] + self._y_train_mean
        if np.shape(scale) == (1,):  # one target in a column comes back as a vector
            mean, found = mean[:, 0], (found[0], found[1][..., 0])
        return (mean, found[1]) if return_std or return_cov else mean

    def _predicted_before(self, X: Any, return_std: bool, return_cov: bool) -> Any:
        X = check_array(X, dtype=np.float64)
        kernel = kernel_for(X, np.ones(1)) if self.kernel is None else from_sklearn(self.kernel)
        several = self.n_targets is not None and self.n_targets > 1
        shape = (self.n_targets,) if several else ()

        def of_targets(x: Any) -> Any:
            return np.broadcast_to(x[..., None], (*x.shape, *shape)).copy() if several else x

        mean = of_targets(np.zeros(len(X)))
        if return_cov:
            return mean, of_targets(kernel(X))
        return (mean, of_targets(np.sqrt(kernel.diag(X)))) if return_std else mean

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Any:
        """Draws of targets at points: (m, n_samples), or (m, k, n_samples)."""
        rng = check_random_state(random_state)
        mean, cov = self.predict(X, return_cov=True)
        if mean.ndim == 1:
            return rng.multivariate_normal(mean, cov, n_samples).T
        draws = [rng.multivariate_normal(mean[:, k], cov[..., k], n_samples).T for k in range(mean.shape[1])]
        return np.stack(draws, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class GaussianProcessRegressor(_Regressor):
    """Regression by a Gaussian process.

    Parameters
    ----------
    kernel : Kernel, optional
        Of `lindiff.gp.kernels` or of scikit-learn; its bounds are those of the search.  By default
        :func:`lindiff.gp.kernel_for` the data less their mean, with noise; scikit-learn's default is fixed
        instead.
    alpha : float or (n,) array
        Variance of noise that is added to the kernel's; the default is one of targets of variance one where
        there is no kernel.
    optimizer : "fmin_l_bfgs_b", callable or None
        Of the kernel's numbers; None leaves them as they are, a callable is called with
        ``(obj_func, initial_theta, bounds=bounds)`` and returns theta and the value there.
    n_restarts_optimizer : int
        Further searches, from numbers drawn between their bounds, evenly by logarithms.
    normalize_y : bool
        Whether targets are scaled to mean 0 and variance 1.
    copy_X_train : bool
        Whether `X_train_` is a copy; predictions are from one in any case.
    n_targets : int, optional
        How many targets there are before `fit`, which raises a ValueError for another number.
    random_state : int, RandomState or None
        Of restarts.

    Attributes
    ----------
    kernel_ : lindiff.gp.kernels.Kernel
        With the numbers that were found.
    X_train_, y_train_ : array
    L_, alpha_ : array
        Cholesky factor of the covariance of the targets, and its solution of them.
    log_marginal_likelihood_value_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.estimators import GaussianProcessRegressor
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(40)
    >>> mean, std = GaussianProcessRegressor().fit(X, y).predict(np.array([[2.0]]), return_std=True)
    >>> mean.round(1), std.round(1)
    (array([0.8]), array([0.1]))
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = JITTER,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        copy_X_train: bool = True,
        n_targets: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel, self.alpha, self.optimizer = kernel, alpha, optimizer
        self.n_restarts_optimizer, self.normalize_y = n_restarts_optimizer, normalize_y
        self.copy_X_train, self.n_targets, self.random_state = copy_X_train, n_targets, random_state

    def fit(self, X: Any, y: Any) -> Any:
        super().fit(X, y)
        self.X_train_ = self._posterior.X if self.copy_X_train else self.X_train_
        self.L_, self.alpha_ = self._posterior.L, self._posterior.alpha
        return self

    fit.__doc__ = _Regressor.fit.__doc__

    def _found(self, kernel: Kernel) -> Kernel:
        if self.optimizer is None:
            return kernel
        if callable(self.optimizer):
            return self._by_optimizer(kernel)
        _check_optimizer(self.optimizer)
        found = fit(
            self.X_train_,
            self.y_train_,
            kernel,
            self._alpha,
            restarts=self.n_restarts_optimizer,
            rng=_seed(self.random_state),
        )
        return found.kernel

    def _log_likelihood(self, kernel: Kernel) -> Any:
        return log_marginal_likelihood(kernel, self.X_train_, self.y_train_, self._alpha)

    def _conditioned(self) -> Any:
        return condition(self.kernel_, self.X_train_, self.y_train_, self._alpha)

    def _found_log_likelihood(self) -> Any:
        return self._posterior.log_marginal_likelihood()


class SparseGaussianProcessRegressor(_Regressor):
    """Regression by a Gaussian process with inducing points: linear in the number of observations.

    Parameters
    ----------
    kernel : Kernel, optional
        As in `GaussianProcessRegressor`; its noise, or `alpha`, has to be a positive number.
    n_inducing : int
        Number of inducing points.
    inducing : (U, d) array, optional
        Where they begin instead.
    fixed_inducing : bool
        Whether they stay there.
    alpha, optimizer, n_restarts_optimizer, normalize_y, random_state
        As in `GaussianProcessRegressor`; a callable `optimizer` changes the kernel alone.

    Attributes
    ----------
    kernel_ : lindiff.gp.kernels.Kernel
    inducing_points_ : (U, d) array
    log_marginal_likelihood_value_ : float
        The bound.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.estimators import SparseGaussianProcessRegressor
    >>> X = np.linspace(0, 60, 2000)[:, None]
    >>> model = SparseGaussianProcessRegressor(n_inducing=40, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.predict(np.array([[np.pi / 2]])).round(2)
    array([1.])
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        n_inducing: int = 100,
        inducing: Any = None,
        fixed_inducing: bool = False,
        alpha: float = JITTER,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel, self.n_inducing, self.inducing = kernel, n_inducing, inducing
        self.fixed_inducing, self.alpha, self.optimizer = fixed_inducing, alpha, optimizer
        self.n_restarts_optimizer, self.normalize_y = n_restarts_optimizer, normalize_y
        self.random_state = random_state

    def _found(self, kernel: Kernel) -> Kernel:
        inducing = self.n_inducing if self.inducing is None else self.inducing
        rng = np.random.default_rng(_seed(self.random_state))
        if isinstance(self.optimizer, str):
            _check_optimizer(self.optimizer)
            found = fit(
                self.X_train_,
                self.y_train_,
                kernel,
                self._alpha,
                inducing=inducing,
                fixed_inducing=self.fixed_inducing,
                restarts=self.n_restarts_optimizer,
                rng=rng,
            )
            self.inducing_points_ = found.Z
            return found.kernel
        self.inducing_points_ = (
            np.array(inducing, np.float64)
            if np.ndim(inducing)
            else inducing_points(self.X_train_, inducing, rng)
        )
        return kernel if self.optimizer is None else self._by_optimizer(kernel)

    def _log_likelihood(self, kernel: Kernel) -> Any:
        return sparse_bound(kernel, self.X_train_, self.y_train_, self.inducing_points_, self._alpha)

    def _conditioned(self) -> Any:
        X, y, Z = self.X_train_, self.y_train_, self.inducing_points_
        return condition_sparse(self.kernel_, X, y, Z, self._alpha)


class GaussianProcessClassifier(ClassifierMixin, _OfKernel):
    """Classification by Gaussian processes.

    Parameters
    ----------
    kernel : Kernel, optional
        As in `GaussianProcessRegressor`; its noise is one of the process.
    optimizer : "fmin_l_bfgs_b", callable or None
    n_restarts_optimizer : int
        As in `GaussianProcessRegressor`.
    warm_start : bool
        Whether a search begins with the kernels that were found before.
    multi_class : "one_vs_rest"
        As in scikit-learn; there is no other way here.
    n_jobs : int, optional
        How many classes are fitted at a time, by joblib.
    likelihood : Likelihood, optional
        Of two classes; by default `lindiff.gp.Bernoulli` with logits, as scikit-learn's.
    approximation : {"laplace", "ep"}
        Laplace's, as scikit-learn's, or expectation propagation.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : (c,) array
    n_classes_ : int
    kernel_ : Kernel or CompoundKernel
        That of two classes, or those of all classes.
    kernels_ : list of Kernel
        With the numbers that were found: one for two classes, else one for each class against the others.
    log_marginal_likelihood_value_ : float
        The mean of these.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.estimators import GaussianProcessClassifier
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> GaussianProcessClassifier().fit(X, ["left", "left", "right", "right"]).predict([[-1.5], [3.0]])
    array(['left', 'right'], dtype='<U5')
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        warm_start: bool = False,
        multi_class: str = "one_vs_rest",
        n_jobs: int | None = None,
        likelihood: Any = None,
        approximation: str = "laplace",
        random_state: Any = None,
    ) -> None:
        self.kernel, self.optimizer, self.n_restarts_optimizer = kernel, optimizer, n_restarts_optimizer
        self.warm_start, self.multi_class, self.n_jobs = warm_start, multi_class, n_jobs
        self.likelihood, self.approximation = likelihood, approximation
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Find the kernel's numbers, unless `optimizer` is None, and condition on the data.

        Parameters
        ----------
        X : (n, d) array
        y : (n,) array
            Names or numbers of classes.

        Returns
        -------
        self
        """
        X, y = validate_data(self, *_unmasked(X, y), dtype=np.float64)
        check_classification_targets(y)
        _check_restarts(self.n_restarts_optimizer)
        if self.multi_class != "one_vs_rest":
            raise ValueError(f"Unknown multi-class mode {self.multi_class}: there is 'one_vs_rest'")
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"GaussianProcessClassifier requires 2 or more distinct classes; got {len(self.classes_)} "
                f"class (only class {self.classes_[0]} is present)"
            )
        likelihood = Bernoulli() if self.likelihood is None else self.likelihood
        if isinstance(likelihood, (Gaussian, Poisson, Softmax, StudentT)):
            raise TypeError(
                f"likelihood is of two classes, as Bernoulli, and not {type(likelihood).__name__}; several "
                f"classes are told apart one by one"
            )
        self._approximation = approximation_by(self.approximation)
        sought = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        starts: list[Kernel] = [self._start(X)] * len(sought)
        if self.warm_start and len(getattr(self, "kernels_", ())) == len(sought):
            starts = [*self.kernels_]
        self._posteriors = Parallel(n_jobs=self.n_jobs)(
            delayed(self._of_class)(kernel, X, (numbers == k).astype(np.float64), likelihood)
            for k, kernel in zip(sought, starts, strict=True)
        )
        self.kernels_: list[Kernel] = [posterior.kernel for posterior in self._posteriors]
        self.kernel_: Any = self.kernels_[0] if len(self.kernels_) == 1 else CompoundKernel(self.kernels_)
        if self.kernel is not None:
            self._warn_of_bounds()
        self.n_classes_ = len(self.classes_)
        self.log_marginal_likelihood_value_ = float(np.mean([p.log_likelihood for p in self._posteriors]))
        return self

    def _of_class(self, kernel: Kernel, X: Any, y: Any, likelihood: Any) -> Any:
        """The posterior of one class, 1, against the others, 0."""
        if callable(self.optimizer):

            def log_likelihood(kernel: Kernel) -> Any:
                return self._approximation.log_likelihood(kernel, X, y, likelihood)

            kernel = _by_optimizer(self, log_likelihood, kernel)
        elif self.optimizer is not None:
            _check_optimizer(self.optimizer)
            kernel = fit(
                X,
                y,
                kernel,
                likelihood=likelihood,
                approximation=self.approximation,
                restarts=self.n_restarts_optimizer,
                rng=_seed(self.random_state),
            ).kernel
        return self._approximation.condition(kernel, X, y, likelihood)

    def _start(self, X: Any) -> Kernel:
        if self.kernel is not None:
            return from_sklearn(self.kernel)
        start: Any = kernel_for(X, np.array([-1.0, 1.0]))
        return start.k1  # of variance one, without noise

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """The approximation at logarithms `theta` of the kernel's numbers, the mean of that of all classes.

        Parameters
        ----------
        theta : (k,) array, optional
            Of more than two classes that of one kernel for all, or of all kernels one after the other; by
            default that of the fitted kernels.
        eval_gradient : bool
            Whether the gradient by theta is returned, too.

        Returns
        -------
        number, or (number, (k,) array)
        """
        check_is_fitted(self)
        if theta is None:
            return self.log_marginal_likelihood_value_

        def of_theta(theta: Any) -> Any:
            found = [
                self._approximation.log_likelihood(kernel, of.X, of.y, of.likelihood)
                for kernel, of in zip(self._kernels_at(theta), self._posteriors, strict=True)
            ]
            return sum(found) / len(found)

        theta = np.asarray(theta, np.float64)
        if not eval_gradient:
            return float(of_theta(theta))
        value, gradient = value_and_grad(of_theta)(theta)
        return float(value), gradient

    def _kernels_at(self, theta: Any) -> Any:
        if np.shape(theta) == (self.kernels_[0].n_dims,):
            return [kernel.clone_with_theta(theta) for kernel in self.kernels_]
        found = self.kernel_.clone_with_theta(theta)  # raises where theta is of another length
        return found.kernels

    def latent_mean_and_variance(self, X: Any) -> tuple[Any, Any]:
        """Of the process behind two classes, at points: (m,) and (m,)."""
        check_is_fitted(self)
        if len(self._posteriors) > 1:
            raise ValueError("latent_mean_and_variance is for two classes")
        X = validate_data(self, unmasked("points", X), reset=False, dtype=np.float64)
        return self._posteriors[0].observed_mean_and_var(X)

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of classes at points: (m, c)."""
        check_is_fitted(self)
        X = validate_data(self, unmasked("points", X), reset=False, dtype=np.float64)
        found = np.stack([posterior.expected(X) for posterior in self._posteriors], axis=1)
        if found.shape[1] == 1:
            return np.concatenate([1 - found, found], axis=1)
        return found / np.sum(found, axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        """The most probable class at points: (m,)."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class BayesianLinearRegression(RegressorMixin, BaseEstimator):
    """Linear regression with normal weights, whose variance and that of the noise maximize the evidence.

    Parameters
    ----------
    fit_intercept : bool
        Whether there is an intercept, of which nothing is known before.

    Attributes
    ----------
    coef_ : (d,) array
        Expectations of the weights.
    intercept_ : float
    sigma_ : (d, d) array
        Their covariances.
    alpha_, lambda_ : float
        Precisions of the noise and of the weights.
    log_marginal_likelihood_value_ : float
        The evidence of the targets, less their mean where there is an intercept.

    Notes
    -----
    One singular value decomposition, after which a step of the search costs O(d): MacKay (1992), Bayesian
    interpolation, Neural Computation 4; Bishop (2006), section 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.gp.estimators import BayesianLinearRegression
    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> model = BayesianLinearRegression().fit(X, X @ np.array([1.0, -2.0]) + 3)
    >>> model.coef_.round(2), model.intercept_.round(2)
    (array([ 1., -2.]), np.float64(3.0))
    """

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any) -> Any:
        """Find both variances, and the weights given the data.

        Parameters
        ----------
        X : (n, d) array
        y : (n,) array

        Returns
        -------
        self
        """
        X, y = validate_data(self, *_unmasked(X, y), y_numeric=True, dtype=np.float64)
        center, offset = (X.mean(axis=0), y.mean()) if self.fit_intercept else (np.zeros(X.shape[1]), 0.0)
        X, y = X - center, y - offset
        of_X, of_y = (np.max(np.abs(x), initial=0.0) or 1.0 for x in (X, y))  # units: squares may overflow
        # All directions of the weights: also those of which the data say nothing.
        U, s, Vt = scipy.linalg.svd(X / of_X, full_matrices=X.shape[1] > len(y))
        count = len(y) - bool(self.fit_intercept)  # the mean has taken one of the dimensions
        s = s[:count]
        evidence = _Evidence(s, U[:, : len(s)], y / of_y, count)
        weights_var, noise_var = evidence.maximum()
        shrunk = weights_var * s / (weights_var * s * s + noise_var)
        self.coef_ = product(Vt[: len(s)].T, shrunk * evidence.projected) * (of_y / of_X)
        self.intercept_ = offset - center @ self.coef_
        kept = np.full(len(Vt), weights_var)
        kept[: len(s)] *= noise_var / (weights_var * s * s + noise_var)
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            self.sigma_ = product(Vt.T * kept, Vt) * (of_y / of_X) ** 2
            self.alpha_, self.lambda_ = (1 / of_y) ** 2 / noise_var, (of_X / of_y) ** 2 / weights_var
        of_units = evidence(weights_var, noise_var)
        self.log_marginal_likelihood_value_ = of_units - evidence.count * float(np.log(of_y))
        errors_var = noise_var * (1 + (1 / len(y) if self.fit_intercept else 0))  # and of the intercept
        self._center, self._units = center, (of_X, of_y, Vt, kept, errors_var)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets (m,), and with `return_std` their standard deviations, noise included.

        Those of scikit-learn's `BayesianRidge` leave out that of the intercept.
        """
        check_is_fitted(self)
        X = validate_data(self, unmasked("points", X), reset=False, dtype=np.float64)
        mean = product(X, self.coef_) + self.intercept_
        if not return_std:
            return mean
        of_X, of_y, Vt, kept, errors_var = self._units
        along = product((X - self._center) / of_X, Vt.T)
        return mean, of_y * np.sqrt(product(along**2, kept) + errors_var)


class _Evidence:
    """``log N(y | 0, v X Xᵀ + s I)`` by the singular values of X."""

    def __init__(self, singular: Any, U: Any, y: Any, count: int) -> None:
        self.singular, self.projected, self.count = singular, product(U.T, y), count
        beside = self.count > len(singular)  # of y outside of X's range
        self.rest = float(np.sum((y - product(U, self.projected)) ** 2)) if beside else 0.0
        self.scale = float(np.mean(y * y)) or 1.0

    def __call__(self, weights_var: float, noise_var: float) -> float:
        variances = weights_var * self.singular**2 + noise_var
        beside = self.count - len(self.singular)
        squares = np.sum(self.projected**2 / variances) + self.rest / noise_var
        logs_of = np.sum(np.log(variances)) + beside * np.log(noise_var) + self.count * np.log(2 * np.pi)
        return float(-0.5 * (squares + logs_of))

    def _noise_at(self, ratio: float) -> float:
        """The best variance of the noise for weights with `ratio` times it: the mean of all squares."""
        squares = np.sum(self.projected**2 / (1 + ratio * self.singular**2)) + self.rest
        return float(np.clip(squares / max(self.count, 1), *(self.scale * np.exp([-FAR, FAR]))))

    def _missing(self, log_ratio: float) -> float:
        """Minus the evidence at the best variances of this ratio."""
        noise_var = self._noise_at(np.exp(log_ratio))
        return -self(np.exp(log_ratio) * noise_var, noise_var)

    @np.errstate(over="ignore", under="ignore")  # of columns that are nearly nothing
    def maximum(self) -> tuple[float, float]:
        """Variances of the weights and of the noise.

        Columns of other scales, and noise that may be none, each may have a maximum of their own: all that a
        grid shows are looked at.
        """
        sizes = 2 * np.log(self.singular[self.singular > 0])
        sizes = sizes if len(sizes) else np.zeros(1)
        grid = np.linspace(-sizes.max() - FAR, FAR - sizes.min(), GRID)
        heights = np.array([self._missing(log_ratio) for log_ratio in grid])
        padded = np.concatenate([[np.inf], heights, [np.inf]])
        found = []
        for k in np.flatnonzero((heights <= padded[:-2]) & (heights < padded[2:])):
            between = grid[max(k - 1, 0)], grid[min(k + 1, GRID - 1)]
            one = scipy.optimize.minimize_scalar(
                self._missing, bounds=between, method="bounded", options={"xatol": 1e-9}
            )
            found += [(heights[k], grid[k]), (one.fun, one.x)]
        ratio = float(np.exp(min(found)[1]))
        noise_var = self._noise_at(ratio)
        return ratio * noise_var, noise_var


def _by_optimizer(estimator: Any, log_likelihood: Callable[[Kernel], Any], kernel: Kernel) -> Kernel:
    """By a function ``optimizer(obj_func, initial_theta, bounds=bounds)`` as scikit-learn has it."""
    hyper = Hyperparameters(kernel)
    if not len(hyper.theta):
        return kernel
    of_theta = value_and_grad(lambda theta: log_likelihood(hyper.kernel_at(theta)))

    def objective(theta: Any, eval_gradient: bool = True) -> Any:
        value, gradient = of_theta(np.asarray(theta))
        return (-float(value), -gradient) if eval_gradient else -float(value)

    rng = check_random_state(estimator.random_state)
    starts = [hyper.start, *(hyper.drawn(rng) for _ in range(estimator.n_restarts_optimizer))]
    found = [estimator.optimizer(objective, theta, bounds=hyper.bounds) for theta in starts]
    return hyper.kernel_at(np.asarray(min(found, key=lambda pair: pair[1])[0]))


def _unmasked(X: Any, y: Any) -> tuple[Any, Any]:
    return unmasked("points", X), unmasked("observations", y)


def _check_restarts(count: int) -> None:
    if count < 0:
        raise ValueError(f"n_restarts_optimizer is 0 or more, got {count}")


def _check_optimizer(optimizer: Any) -> None:
    if optimizer != "fmin_l_bfgs_b":
        raise ValueError(f"Unknown optimizer {optimizer}: give 'fmin_l_bfgs_b', None or a callable.")


def _seed(random_state: Any) -> Any:
    """What NumPy's generators begin with, of what scikit-learn's estimators take."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return random_state
    return int(check_random_state(random_state).randint(2**31 - 1))
