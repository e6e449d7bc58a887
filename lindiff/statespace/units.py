"""Data of any size: models in another unit of the data, in which squares of variances are representable."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import on_host
from lindiff.core.variable import value
from lindiff.statespace.model import Model

__all__ = ["in_unit", "unit_of"]

ORDINARY = 1e15  # with data between this and its inverse nothing in a fit over- or underflows
LIMIT = 1e150  # beyond, variances do

# How the fields of a model depend on the unit of the data: covariances by its square, others not at all.
OF_SIZE = ("initial_state", "state_intercept", "obs_intercept")
OF_SQUARE = ("state_cov", "obs_cov", "initial_state_cov")


def unit_of(y: Any) -> float | None:
    """A power of two near the largest of some observations; None where they are of ordinary size.

    Raises
    ------
    ValueError
        If their variances cannot be represented.
    """
    size = float(np.nanmax(np.abs(on_host(value(y)).astype(np.float64))))
    if 1 / ORDINARY < size < ORDINARY or size == 0 or np.isinf(size):
        return None
    if not 1 / LIMIT < size < LIMIT:
        raise ValueError(
            f"fit: y is as large as {size:.2g}, so that variances are out of the range of numbers: give it "
            f"in another unit, as y / {size:.0e}"
        )
    return float(np.exp2(np.round(np.log2(size))))


def in_unit(model: Model, unit: float) -> Model:
    """The model of ``y / unit``, with its states in that unit, too."""
    sizes = {name: getattr(model, name) for name in OF_SIZE}
    squares = {name: getattr(model, name) for name in OF_SQUARE}
    return model._replace(
        **{name: x / unit for name, x in sizes.items() if x is not None},
        **{name: x / unit / unit for name, x in squares.items() if x is not None},
    )
