"""Gaussian processes: covariance functions, regression, and what is built on them.

Plain functions of kernels, points and observations, differentiable in all of them.
"""

from lindiff.gp import kernels
from lindiff.gp.acquisition import expected_improvement, upper_confidence_bound
from lindiff.gp.regression import Posterior, condition, log_marginal_likelihood
from lindiff.gp.sparse import SparsePosterior, condition_sparse, fitc_log_likelihood, sparse_bound

__all__ = [
    "Posterior",
    "SparsePosterior",
    "condition",
    "condition_sparse",
    "expected_improvement",
    "fitc_log_likelihood",
    "kernels",
    "log_marginal_likelihood",
    "sparse_bound",
    "upper_confidence_bound",
]


def __dir__() -> list[str]:
    return __all__
