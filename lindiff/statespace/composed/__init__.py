"""The recursions in public operators, a loop over time: derivatives of any order, in any mode, any arrays.

Every line imports only from lines above it::

    grouping      series with the same missing values, and their matrices step by step
    square_root   factors of their covariances
    recursions    the filter and the smoother
    augmented     what the data say of diffuse states
    likelihood
    moments       of states and observations: filtered, smoothed, forecast
"""

from lindiff.statespace.composed.augmented import (
    conditioned,
    determined_after,
    information,
    information_from,
)
from lindiff.statespace.composed.grouping import Group, data_rows, groups, in_order, of_groups, part
from lindiff.statespace.composed.likelihood import loglikelihoods
from lindiff.statespace.composed.moments import (
    filter_moments,
    forecast_moments,
    smoothed_with_diffuse,
    smoother_moments,
)
from lindiff.statespace.composed.recursions import Filtered, filtered

__all__ = [
    "Filtered",
    "Group",
    "conditioned",
    "data_rows",
    "determined_after",
    "filter_moments",
    "filtered",
    "forecast_moments",
    "groups",
    "in_order",
    "information",
    "information_from",
    "loglikelihoods",
    "of_groups",
    "part",
    "smoothed_with_diffuse",
    "smoother_moments",
]
