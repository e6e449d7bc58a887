"""The compiled sweep over data and system: values, and derivatives to second order, by one loop each way.

In order: the sweep from diffuse states, `collapsing`; that over all `series`; its sums as an operation with
`derivatives`, in `any_order` where the sweep has none; what is decided before it runs, by `planning`; the
`handover` from the composed recursions; then what it is for, `likelihood` and `moments`.
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
