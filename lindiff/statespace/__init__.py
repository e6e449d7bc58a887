"""Linear Gaussian state-space models: likelihoods, filters and smoothers with derivatives.

Every line imports only from lines above it::

    components                              names of parts and of states
    model                                   the system matrices, as given and as computed with
    diffuse, initialization, semidefinite   starts, and factors of covariances
    transforms, builders                    parameters, and models by name
    composed                                the recursions in public operators: any order, any mode
    sweep                                   the compiled sweep: values, and derivatives to second order
    likelihood, filtering, smoothing, forecasting, simulation
    nonlinear                               extended and unscented filters
    answers                                 components, forecasts, residuals, with names and dates
    defaults, maximum, repeated, units      what a fit needs beside them
    fitting

The functions check their arguments in `model`, then ask `sweep`, or `composed` for what that does not do.  A
log likelihood goes through `likelihood` and `model`, then, in `sweep`, through `likelihood`, `planning`,
`derivatives` and `series`, to the compiled loop in `lindiff.kernels.kalman`.
"""

from lindiff.statespace.answers import (
    Analysis,
    Band,
    ComponentBands,
    Disturbances,
    Forecast,
    News,
    ResidualTests,
    Summary,
)
from lindiff.statespace.builders import (
    arma,
    continuous,
    continuous_local_linear_trend,
    dynamic_factor,
    from_kernel,
    integrated_random_walk,
    local_level,
    local_linear_trend,
    ornstein_uhlenbeck,
    regression,
    sarima,
    seasonal,
    trigonometric_seasonal,
    var,
)
from lindiff.statespace.components import Component
from lindiff.statespace.filtering import FilterResult, kalman_filter
from lindiff.statespace.fitting import FitResult, fit
from lindiff.statespace.forecasting import ForecastResult, forecast
from lindiff.statespace.initialization import stationary_initialization
from lindiff.statespace.likelihood import loglikelihood
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import (
    NonlinearModel,
    extended_filter,
    extended_loglikelihood,
    extended_smoother,
    unscented_filter,
    unscented_loglikelihood,
    unscented_smoother,
)
from lindiff.statespace.simulation import simulate, simulate_smoother
from lindiff.statespace.smoothing import SmootherResult, kalman_smoother
from lindiff.statespace.transforms import (
    Transform,
    correlation,
    covariance,
    invertible,
    positive,
    stationary,
    stationary_var,
)

__all__ = [
    "Analysis",
    "Band",
    "Component",
    "ComponentBands",
    "Disturbances",
    "FilterResult",
    "FitResult",
    "Forecast",
    "ForecastResult",
    "Model",
    "News",
    "NonlinearModel",
    "ResidualTests",
    "SmootherResult",
    "Summary",
    "Transform",
    "arma",
    "continuous",
    "continuous_local_linear_trend",
    "correlation",
    "covariance",
    "dynamic_factor",
    "extended_filter",
    "extended_loglikelihood",
    "extended_smoother",
    "fit",
    "forecast",
    "from_kernel",
    "integrated_random_walk",
    "invertible",
    "kalman_filter",
    "kalman_smoother",
    "local_level",
    "local_linear_trend",
    "loglikelihood",
    "ornstein_uhlenbeck",
    "positive",
    "regression",
    "sarima",
    "seasonal",
    "simulate",
    "simulate_smoother",
    "stationary",
    "stationary_initialization",
    "stationary_var",
    "trigonometric_seasonal",
    "unscented_filter",
    "unscented_loglikelihood",
    "unscented_smoother",
    "var",
]


def __dir__() -> list[str]:
    return __all__
