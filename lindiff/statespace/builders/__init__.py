"""From parameters to `Model`: plain NumPy functions, whose results add up by block.

Every line imports only from lines above it::

    _arguments
    autoregressive, explanatory, structural, vector
"""

from lindiff.statespace.builders.autoregressive import arma, sarima
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
    "dynamic_factor",
    "local_level",
    "local_linear_trend",
    "regression",
    "sarima",
    "seasonal",
    "trigonometric_seasonal",
    "var",
]
