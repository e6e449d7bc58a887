"""Models of many series, some of whose matrices are those of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.statespace.model import Model

__all__ = ["fields_of_series", "of_series"]

# How many axes a field has where the first is that of series, if not 4.
AXES = {"initial_state": 2, "initial_state_cov": 3, "state_intercept": 3, "obs_intercept": 3}


def fields_of_series(model: Model) -> list[str]:
    """Those that have an axis of series."""
    named = zip(Model._fields[:-1], model[:-1], strict=True)
    return [name for name, x in named if x is not None and np.ndim(x) == AXES.get(name, 4)]


def of_series(model: Model, series: int, places: Any) -> Model:
    """The model of the series at these places, or of one, given that of so many."""
    fields = {name: getattr(model, name) for name in fields_of_series(model)}
    own = {name: x[places] for name, x in fields.items() if x.shape[0] == series}
    return model._replace(**own)
