"""From parameters to `Model`: plain NumPy functions, whose results add up by block.

Every line imports only from lines above it::

    _arguments
    _times
    autoregressive, continuous_time, explanatory, structural, vector
"""

from lindiff.statespace.builders.autoregressive import arma, sarima
from lindiff.statespace.builders.continuous_time import (
    continuous,
    continuous_local_linear_trend,
    from_kernel,
    integrated_random_walk,
    ornstein_uhlenbeck,
)
from lindiff.statespace.builders.explanatory import regression
from lindiff.statespace.builders.structural import (
    local_level,
    local_linear_trend,
    seasonal,
    trigonometric_seasonal,
)
from lindiff.statespace.builders.vector import dynamic_factor, var

__all__ = [
    "arma",
    "continuous",
    "continuous_local_linear_trend",
    "dynamic_factor",
    "from_kernel",
    "integrated_random_walk",
    "local_level",
    "local_linear_trend",
    "ornstein_uhlenbeck",
    "regression",
    "sarima",
    "seasonal",
    "trigonometric_seasonal",
    "var",
]
