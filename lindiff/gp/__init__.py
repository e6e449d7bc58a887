"""Gaussian processes: covariance functions, regression, and what is built on them.

Plain functions of kernels, points and observations, differentiable in all of them.
"""

from lindiff.gp import kernels
from lindiff.gp.acquisition import expected_improvement, upper_confidence_bound
from lindiff.gp.expectation_propagation import EPPosterior, condition_ep, ep_log_likelihood
from lindiff.gp.fitting import FitResult, fit, inducing_points, kernel_for
from lindiff.gp.grids import GridPosterior, condition_on_grid, grid_log_likelihood
from lindiff.gp.laplace import LaplacePosterior, condition_laplace, laplace_log_likelihood
from lindiff.gp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from lindiff.gp.paths import posterior_paths, prior_paths
from lindiff.gp.plots import plot
from lindiff.gp.regression import Posterior, condition, log_marginal_likelihood
from lindiff.gp.series import state_space
from lindiff.gp.softmax import Softmax
from lindiff.gp.sparse import SparsePosterior, condition_sparse, fitc_log_likelihood, sparse_bound
from lindiff.gp.toeplitz import evenly_spaced_log_likelihood
from lindiff.gp.variational import (
    VariationalPosterior,
    divergence,
    natural_step,
    variational_bound,
    variational_posterior,
)

__all__ = [
    "Bernoulli",
    "EPPosterior",
    "FitResult",
    "Gaussian",
    "GridPosterior",
    "LaplacePosterior",
    "Likelihood",
    "Poisson",
    "Posterior",
    "Softmax",
    "SparsePosterior",
    "StudentT",
    "VariationalPosterior",
    "condition",
    "condition_ep",
    "condition_laplace",
    "condition_on_grid",
    "condition_sparse",
    "divergence",
    "ep_log_likelihood",
    "evenly_spaced_log_likelihood",
    "expected_improvement",
    "fit",
    "fitc_log_likelihood",
    "grid_log_likelihood",
    "inducing_points",
    "kernel_for",
    "kernels",
    "laplace_log_likelihood",
    "log_marginal_likelihood",
    "natural_step",
    "plot",
    "posterior_paths",
    "prior_paths",
    "sparse_bound",
    "state_space",
    "upper_confidence_bound",
    "variational_bound",
    "variational_posterior",
]


def __dir__() -> list[str]:
    return __all__
