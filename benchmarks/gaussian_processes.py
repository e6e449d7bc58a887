"""Gaussian processes beside others: ``python -m benchmarks.gaussian_processes``.

Value and gradient of Titsias's bound, of the exact likelihood, of a variational bound on a minibatch, of
Laplace's approximation and of expectation propagation, and predictions with variances.  Beside GPyTorch, GPy
and scikit-learn; what is not installed is left out.  The data are random: times do not depend on them.  All
calls of a case take turns; times are medians.  Memory is what ``tracemalloc`` sees, of what Python and NumPy
allocate.  Prints a table, writes `results/gaussian_processes.csv`.  Threads are those that OMP_NUM_THREADS
and OPENBLAS_NUM_THREADS say.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import gaussian_process as sklearns

import lindiff as ld
from lindiff import gp
from lindiff.gp.kernels import RBF

from .turns import Calls, main

try:
    import gpytorch
    import torch
except ImportError:
    gpytorch = None
try:
    import GPy
except ImportError:
    GPy = None


def data(rng: np.random.Generator, points: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((points, columns))
    return X, np.sin(X).sum(axis=1) + 0.1 * rng.standard_normal(points)


def by_logs(of_kernel: Callable[..., Any], columns: int) -> Callable[[Any], Any]:
    """A function of a kernel and a noise variance as one of the logarithms of their numbers."""

    def of_logs(logs: Any) -> Any:
        numbers = np.exp(logs)
        return of_kernel(numbers[0] * RBF(numbers[1 : columns + 1]), numbers[-1])

    return of_logs


# -- GPyTorch --------------------------------------------------------------------------------------------


def of_gpytorch(X: np.ndarray, y: np.ndarray, Z: np.ndarray | None) -> Callable[[], Any]:
    """Value and gradient of its exact likelihood, or of Titsias's bound."""
    x, targets = torch.as_tensor(X), torch.as_tensor(y)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))
    if Z is not None:
        kernel = gpytorch.kernels.InducingPointKernel(kernel, torch.as_tensor(Z), likelihood)

    class Model(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(x, targets, likelihood)
            self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), kernel

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model = Model().double()
    density = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def call() -> Any:
        model.zero_grad()
        with gpytorch.settings.max_cholesky_size(10**6):
            loss = -density(model(x), targets)
            loss.backward()
        return loss

    return call


def variational_of_gpytorch(X: np.ndarray, y: np.ndarray, Z: np.ndarray, total: int) -> Callable[[], Any]:
    x, targets = torch.as_tensor(X), torch.as_tensor(y)

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self) -> None:
            distribution = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
            strategy = gpytorch.variational.VariationalStrategy(self, torch.as_tensor(Z), distribution)
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1])
            )

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model, likelihood = Model().double(), gpytorch.likelihoods.BernoulliLikelihood().double()
    density = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=total)

    def call() -> Any:
        model.zero_grad()
        loss = -density(model(x), targets)
        loss.backward()
        return loss

    return call


# -- GPy -------------------------------------------------------------------------------------------------


def of_gpy(model: Any) -> Callable[[], Any]:
    """Value and gradient by all of its numbers."""
    numbers = model.optimizer_array.copy()

    def call() -> Any:
        model.optimizer_array = numbers
        return model.objective_function(), model.objective_function_gradients()

    return call


def regression_of_gpy(X: np.ndarray, y: np.ndarray, Z: np.ndarray | None) -> Any:
    kernel = GPy.kern.RBF(X.shape[1], ARD=True)
    if Z is None:
        return GPy.models.GPRegression(X, y[:, None], kernel)
    return GPy.models.SparseGPRegression(X, y[:, None], kernel, Z=Z.copy())


# -- cases -----------------------------------------------------------------------------------------------


def sparse(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """Titsias's bound at the size of power, by inducing points, length scales, amplitude and noise."""
    X, y = data(rng, 8611, 4)
    for count in (50, 200):
        Z, logs = X[:count] + 0.1, np.log([1.5, 1, 1, 1, 1, 0.1])

        def bound(logs: Any, Z: Any) -> Any:
            return by_logs(lambda kernel, noise: gp.sparse_bound(kernel, X, y, Z, noise), 4)(logs)

        both = ld.value_and_grad(bound, argnums=(0, 1))
        calls: Calls = {"lindiff": lambda both=both, logs=logs, Z=Z: both(logs, Z)}
        if gpytorch is not None:
            calls["gpytorch"] = of_gpytorch(X, y, Z)
        if GPy is not None:
            calls["gpy"] = of_gpy(regression_of_gpy(X, y, Z))
        yield f"sparse bound, n = 8611, U = {count}", calls


def exact(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """The log marginal likelihood with a length scale for each of eight columns, value and gradient."""
    for points in (200, 1000, 3000, 5000):
        X, y = data(rng, points, 8)
        logs = np.log([1.5, *np.ones(8), 0.1])

        def density(kernel: Any, noise: Any, X: Any = X, y: Any = y) -> Any:
            return gp.log_marginal_likelihood(kernel, X, y, noise)

        both = ld.value_and_grad(by_logs(density, 8))
        kernels = sklearns.kernels
        theirs = 1.5 * kernels.RBF(np.ones(8)) + kernels.WhiteKernel(0.1)
        calls: Calls = {"lindiff": lambda both=both, logs=logs: both(logs)}
        if points <= 1000:
            model = sklearns.GaussianProcessRegressor(theirs, optimizer=None).fit(X, y)
            theta = model.kernel_.theta
            calls["sklearn"] = lambda model=model, theta=theta: model.log_marginal_likelihood(theta, True)
        if gpytorch is not None:
            calls["gpytorch"] = of_gpytorch(X, y, None)
        if GPy is not None:
            calls["gpy"] = of_gpy(regression_of_gpy(X, y, None))
        yield f"exact likelihood, n = {points}, d = 8", calls


def variational(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """A bound on 200 of 60 000 points of 784 columns by 100 inducing points, value and gradient."""
    X, _ = data(rng, 200, 784)
    X, y = 0.05 * X, (rng.uniform(size=200) > 0.5).astype(float)
    Z, m, R, logs = 0.05 * rng.standard_normal((100, 784)), np.zeros(100), np.eye(100), np.zeros(785)
    probit = gp.Bernoulli("probit")

    def bound(logs: Any, Z: Any, m: Any, R: Any) -> Any:
        kernel = np.exp(logs[0]) * RBF(np.exp(logs[1:]))
        return gp.variational_bound(kernel, X, y, Z, m, R, probit, total=60000)

    both = ld.value_and_grad(bound, argnums=(0, 1, 2, 3))
    calls: Calls = {"lindiff": lambda: both(logs, Z, m, R)}
    if gpytorch is not None:
        calls["gpytorch"] = variational_of_gpytorch(X, y, Z, 60000)
    yield "variational bound, 200 of 60000, d = 784, U = 100", calls


def laplace(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """Laplace's approximation for two classes, value and gradient."""
    for points in (100, 400):
        X, y = data(rng, points, 2)
        labels = (y > 0).astype(int)

        def density(logs: Any, X: Any = X, labels: Any = labels) -> Any:
            kernel = np.exp(logs[0]) * RBF(np.exp(logs[1]))
            return gp.laplace_log_likelihood(kernel, X, labels, gp.Bernoulli())

        both, logs = ld.value_and_grad(density), np.log([4.0, 1.0])
        theirs = 4.0 * sklearns.kernels.RBF(1.0)
        model = sklearns.GaussianProcessClassifier(theirs, optimizer=None).fit(X, labels)
        theta = model.kernel_.theta
        yield (
            f"Laplace's approximation, n = {points}",
            {
                "lindiff": lambda both=both, logs=logs: both(logs),
                "sklearn": lambda model=model, theta=theta: model.log_marginal_likelihood(theta, True),
            },
        )


def expectation_propagation(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """Of two classes by the normal distribution function, value and gradient."""
    probit = gp.Bernoulli("probit")
    for points in (100, 400):
        X, y = data(rng, points, 2)
        labels = (y > 0).astype(int)

        def density(logs: Any, X: Any = X, labels: Any = labels) -> Any:
            kernel = np.exp(logs[0]) * RBF(np.exp(logs[1]))
            return gp.ep_log_likelihood(kernel, X, labels, probit)

        both, logs = ld.value_and_grad(density), np.log([4.0, 1.0])
        calls: Calls = {"lindiff": lambda both=both, logs=logs: both(logs)}
        if GPy is not None:
            inference = GPy.inference.latent_function_inference.EP(ep_mode="nested", always_reset=True)
            kernel = GPy.kern.RBF(2, 4.0)
            model = GPy.models.GPClassification(X, labels[:, None], kernel, inference_method=inference)
            calls["gpy"] = of_gpy(model)
        yield f"expectation propagation, n = {points}", calls


def predictions(rng: np.random.Generator) -> Iterator[tuple[str, Calls]]:
    """Means and variances at 100 000 points; the limit is a product of matrices of as many flops."""
    X, y = data(rng, 1000, 4)
    new, kernel = rng.standard_normal((100_000, 4)), 1.5 * RBF(np.ones(4))
    posterior = gp.condition(kernel, X, y, 0.1)
    block, half = rng.standard_normal((2000, 1000)), rng.standard_normal((1000, 500))

    def product() -> None:
        for _ in range(50):
            block @ half

    yield (
        "mean and variance of 100 000 points, n = 1000",
        {"lindiff": lambda: posterior.mean_and_var(new), "numpy product": product},
    )


CASES = {
    "sparse": sparse,
    "exact": exact,
    "variational": variational,
    "laplace": laplace,
    "ep": expectation_propagation,
    "predictions": predictions,
}


if __name__ == "__main__":
    if gpytorch is not None:
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count() or 1)))
    main(CASES, __doc__, "gaussian_processes")
