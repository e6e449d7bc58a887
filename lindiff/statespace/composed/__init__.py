"""The recursions in public operators, a loop over time: derivatives of any order, in any mode, any arrays.

In order: `groups` of series, `square_root` factors, the `recursions` of the filter and the smoother, the
`augmented` filter for diffuse states; then what they are for, `likelihood` and `moments`.
"""

from lindiff.statespace.composed.augmented import (
    conditioned,
    determined_after,
    information,
    information_from,
)
from lindiff.statespace.composed.groups import Group, data_rows, groups, in_order, of_groups, part
from lindiff.statespace.composed.likelihood import loglikelihoods, step_loglikelihoods
from lindiff.statespace.composed.moments import (
    filter_moments,
    forecast_moments,
    smoothed_with_diffuse,
    smoother_moments,
)
from lindiff.statespace.composed.recursions import Filtered, check_method, filtered

__all__ = [
    "Filtered",
    "Group",
    "check_method",
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
    "step_loglikelihoods",
]
