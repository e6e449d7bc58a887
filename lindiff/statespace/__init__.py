"""Linear Gaussian state-space models: likelihoods, filters and smoothers with derivatives."""

from lindiff.statespace.filtering import FilterResult, kalman_filter
from lindiff.statespace.forecasting import ForecastResult, forecast
from lindiff.statespace.initialization import stationary_initialization
from lindiff.statespace.likelihood import loglikelihood
from lindiff.statespace.model import Model
from lindiff.statespace.simulation import simulate, simulate_smoother
from lindiff.statespace.smoothing import SmootherResult, kalman_smoother

__all__ = [
    "FilterResult",
    "ForecastResult",
    "Model",
    "SmootherResult",
    "forecast",
    "kalman_filter",
    "kalman_smoother",
    "loglikelihood",
    "simulate",
    "simulate_smoother",
    "stationary_initialization",
]
