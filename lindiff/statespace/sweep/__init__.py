"""The compiled sweep: values, and derivatives to second order, by one loop over time each way.

Every line imports only from lines above it::

    parts         which parts of a gradient are needed
    plan          how a system is swept
    backward      smoothed covariances whose digits were lost
    smoothed      the way back through the smoother
    collapsing    the sweep over some series, from diffuse states
    series        the sweep over all series, on several threads
    planning      from a system to its plan
    any_order     its sums in public operators
    derivatives   its sums as an operation: its pullback is the sweep backward
    ordinary      the likelihood of one series of a constant model, as one operation
    collapsed     the same from diffuse states that are determined soon
    stationary    the same of an autoregressive moving average
    handover      results of every step from diffuse states
    likelihood
    moments       of states and observations: filtered, smoothed, forecast
"""

from lindiff.statespace.sweep.likelihood import (
    loglikelihood_from_diffuse,
    loglikelihood_in_order,
    loglikelihoods,
    step_loglikelihoods,
)
from lindiff.statespace.sweep.moments import filter_moments, forecast_moments, smoother_moments
from lindiff.statespace.sweep.plan import Plan
from lindiff.statespace.sweep.planning import has_sweep
from lindiff.statespace.sweep.series import Sweeps
from lindiff.statespace.sweep.stationary import arma_loglikelihood

__all__ = [
    "Plan",
    "Sweeps",
    "arma_loglikelihood",
    "filter_moments",
    "forecast_moments",
    "has_sweep",
    "loglikelihood_from_diffuse",
    "loglikelihood_in_order",
    "loglikelihoods",
    "smoother_moments",
    "step_loglikelihoods",
]
