"""Linear Gaussian state-space models: likelihoods, filters and smoothers with derivatives.

Every line imports only from lines above it::

    components                              names of parts and of states
    columns                                 names of explanatory variables
    diffuse                                 diffuse states: their start, and what data say of them
    model                                   the system matrices, as given and as computed with
    panels                                  models of many series
    initialization, semidefinite            starts, and factors of covariances
    autocovariances                         of autoregressive moving averages
    transforms, builders                    parameters, and models by name
    composed                                the recursions in public operators: any order, any mode
    sweep                                   the compiled sweep: values, and derivatives to second order
    likelihood, filtering, smoothing, forecasting, simulation
    partitioned                             panels of series on a cluster
    nonlinear                               extended and unscented filters
    answers                                 components, forecasts, residuals, with names and dates
    defaults, maximum, priors, repeated, units      what a fit needs beside them
    problem                                 what is fitted: a builder, data, and parameters where they may be
    information, posterior, profile         how sure one may be of parameters
    fit_result                              what a fit has found
    fitting
    parametric                              a builder of one's own, and what a fit is to know of it

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
    aggregation_weights,
    arma,
    common,
    continuous,
    continuous_local_linear_trend,
    cycle,
    dynamic_factor,
    exponential_smoothing,
    from_kernel,
    integrated_random_walk,
    leap_years,
    level_shift,
    local_level,
    local_linear_trend,
    month_lengths,
    ornstein_uhlenbeck,
    pulse,
    ramp,
    regression,
    sarima,
    seasonal,
    trading_days,
    trigonometric_seasonal,
    var,
    varma,
)
from lindiff.statespace.components import Component
from lindiff.statespace.filtering import FilterResult, kalman_filter
from lindiff.statespace.fit_result import FitResult, TransformedParameters
from lindiff.statespace.fitting import fit
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
from lindiff.statespace.parametric import ParametricModel
from lindiff.statespace.posterior import Laplace, Posterior
from lindiff.statespace.simulation import simulate, simulate_smoother
from lindiff.statespace.smoothing import SmootherResult, kalman_smoother
from lindiff.statespace.transforms import (
    Transform,
    bounded,
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
    "Laplace",
    "Model",
    "News",
    "NonlinearModel",
    "ParametricModel",
    "Posterior",
    "ResidualTests",
    "SmootherResult",
    "Summary",
    "Transform",
    "TransformedParameters",
    "aggregation_weights",
    "arma",
    "bounded",
    "common",
    "continuous",
    "continuous_local_linear_trend",
    "correlation",
    "covariance",
    "cycle",
    "dynamic_factor",
    "exponential_smoothing",
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
    "leap_years",
    "level_shift",
    "local_level",
    "local_linear_trend",
    "loglikelihood",
    "month_lengths",
    "ornstein_uhlenbeck",
    "positive",
    "pulse",
    "ramp",
    "regression",
    "sarima",
    "seasonal",
    "simulate",
    "simulate_smoother",
    "stationary",
    "stationary_initialization",
    "stationary_var",
    "trading_days",
    "trigonometric_seasonal",
    "unscented_filter",
    "unscented_loglikelihood",
    "unscented_smoother",
    "var",
    "varma",
]


def __dir__() -> list[str]:
    return __all__
