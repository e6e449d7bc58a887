"""The compiled sweep: values, and derivatives to second order, by one loop over time each way.

Every line imports only from lines above it::

    collapsing    the sweep over some series, from diffuse states
    series        the sweep over all series, on several threads
    planning      what is decided before a sweep
    any_order     its sums in public operators
    derivatives   its sums as an operation: its pullback is the sweep backward
    handover      results of every step from diffuse states
    likelihood
    moments       of states and observations: filtered, smoothed, forecast
"""

from lindiff.statespace.sweep.likelihood import loglikelihoods, step_loglikelihoods
from lindiff.statespace.sweep.moments import filter_moments, forecast_moments, smoother_moments
from lindiff.statespace.sweep.planning import has_sweep
from lindiff.statespace.sweep.series import Plan, Sweeps

__all__ = [
    "Plan",
    "Sweeps",
    "filter_moments",
    "forecast_moments",
    "has_sweep",
    "loglikelihoods",
    "smoother_moments",
    "step_loglikelihoods",
]
