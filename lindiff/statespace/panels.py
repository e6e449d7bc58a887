"""Models of many series, some of whose matrices are those of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.statespace.model import Model

__all__ = ["of_series"]

# How many axes a field has where the first is that of series, if not 4.
AXES = {"initial_state": 2, "initial_state_cov": 3, "state_intercept": 3, "obs_intercept": 3}


def of_series(model: Model, series: int, places: Any) -> Model:
    """The model of the series at these places, or of one, given that of so many."""
    own = {
        name: x[places]
        for name, x in zip(Model._fields[:-1], model[:-1], strict=True)
        if x is not None and np.ndim(x) == AXES.get(name, 4) and x.shape[0] == series
    }
    return model._replace(**own)
