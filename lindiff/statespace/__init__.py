"""Linear Gaussian state-space models: likelihoods, filters and smoothers with derivatives."""

from lindiff.statespace.likelihood import loglikelihood
from lindiff.statespace.model import Model

__all__ = ["Model", "loglikelihood"]
