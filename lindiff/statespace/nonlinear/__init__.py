"""Nonlinear models: extended and unscented Kalman filters and smoothers, with derivatives of any order.

Every line imports only from lines above it::

    model            functions and arrays, and what must hold of them
    approximations   Gaussian moments of functions: by Jacobians, by sigma points
    recursion        the filter of either, whose step is a program
    extended, unscented
    functions        which are the same, made anew
    chosen           the filter that somebody names
"""

from lindiff.statespace.nonlinear.approximations import Approximation
from lindiff.statespace.nonlinear.chosen import Beside, filter_for
from lindiff.statespace.nonlinear.extended import extended_filter, extended_loglikelihood, extended_smoother
from lindiff.statespace.nonlinear.functions import are_alike, with_functions_of
from lindiff.statespace.nonlinear.model import NonlinearModel
from lindiff.statespace.nonlinear.unscented import (
    unscented_filter,
    unscented_loglikelihood,
    unscented_smoother,
)

__all__ = [
    "Approximation",
    "Beside",
    "NonlinearModel",
    "are_alike",
    "extended_filter",
    "extended_loglikelihood",
    "extended_smoother",
    "filter_for",
    "unscented_filter",
    "unscented_loglikelihood",
    "unscented_smoother",
    "with_functions_of",
]
