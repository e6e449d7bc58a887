"""From parameters to `Model`: plain NumPy functions, whose results add up by block.

Every line imports only from lines above it::

    _arguments
    _times
    aggregation, autoregressive, continuous_time, explanatory, exponential, loadings, regressors, structural
    vector

`regressors` are explanatory variables that are known from dates.
"""

from lindiff.statespace.builders.aggregation import aggregation_weights
from lindiff.statespace.builders.autoregressive import arma, sarima
from lindiff.statespace.builders.continuous_time import (
    continuous,
    continuous_local_linear_trend,
    from_kernel,
    integrated_random_walk,
    ornstein_uhlenbeck,
)
from lindiff.statespace.builders.explanatory import regression
from lindiff.statespace.builders.exponential import exponential_smoothing
from lindiff.statespace.builders.loadings import common
from lindiff.statespace.builders.regressors import (
    leap_years,
    level_shift,
    month_lengths,
    pulse,
    ramp,
    trading_days,
)
from lindiff.statespace.builders.structural import (
    cycle,
    local_level,
    local_linear_trend,
    seasonal,
    trigonometric_seasonal,
)
from lindiff.statespace.builders.vector import dynamic_factor, var, varma

__all__ = [
    "aggregation_weights",
    "arma",
    "common",
    "continuous",
    "continuous_local_linear_trend",
    "cycle",
    "dynamic_factor",
    "exponential_smoothing",
    "from_kernel",
    "integrated_random_walk",
    "leap_years",
    "level_shift",
    "local_level",
    "local_linear_trend",
    "month_lengths",
    "ornstein_uhlenbeck",
    "pulse",
    "ramp",
    "regression",
    "sarima",
    "seasonal",
    "trading_days",
    "trigonometric_seasonal",
    "var",
    "varma",
]
