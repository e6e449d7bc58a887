"""Panels of series on many machines: Dask arrays, whose blocks are of some series each."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.statespace.likelihood import loglikelihood
from lindiff.statespace.model import Model
from lindiff.statespace.panels import fields_of_series

__all__ = ["PartitionedPanel", "is_partitioned"]


def is_partitioned(y: Any) -> bool:
    """Whether data are a collection of Dask."""
    return type(y).__module__.partition(".")[0] == "dask" and hasattr(y, "dask")


class PartitionedPanel:
    """A panel whose series are on the workers of a Dask cluster.

    Parameters
    ----------
    y : (S, T, p) dask.array.Array
        In blocks of series.

    Attributes
    ----------
    first : (S₁, T, p) array
        The series of the first block.
    count : int
        How many observations there are.
    seen : (S,) array of bool
        Of which series there are any.
    """

    def __init__(self, y: Any) -> None:
        from lindiff.distributed import Sum

        _refuse_other_blocks(y)
        y = y.persist()
        self._sum = Sum(_of_block, y)
        self.first = np.asarray(y.blocks[0].compute())
        counts = np.sum(~np.isnan(y), axis=(1, 2)).compute()
        self.count, self.seen = int(np.sum(counts)), counts > 0

    def loglikelihood(self, model: Model, unit: float | None) -> Any:
        """Of all series, in a unit of the data."""
        own = fields_of_series(model)
        if own:
            raise ValueError(
                f"fit: y is in blocks of series, and {', '.join(own)} of the model have an axis of series: "
                f"all series have one model there; for several give the blocks and the models to "
                f"lindiff.distributed.Sum"
            )
        return self._sum({"model": tuple(model), "unit": unit})


def _of_block(params: Any, y: Any) -> Any:
    """The log likelihood of some series."""
    seen = np.any(~np.isnan(y), axis=(1, 2))
    if not seen.any():
        return 0.0
    y = y if seen.all() else y[seen]
    return np.sum(loglikelihood(y if params["unit"] is None else y / params["unit"], *params["model"]))


def _refuse_other_blocks(y: Any) -> None:
    if not hasattr(y, "numblocks"):
        raise TypeError(
            f"fit: y is a {type(y).__name__} of Dask: give an array of series, (S, T, p), in blocks of "
            "series, or a lindiff.distributed.Sum to lindiff.scipy.optimize.minimize"
        )
    if y.ndim != 3:
        raise ValueError(
            f"fit: y is an array of Dask of shape {y.shape}: it has the axes of series, of time and of what "
            "is observed, (S, T, p); y[:, :, None] has one more"
        )
    if y.dtype.kind not in "fiub":
        raise TypeError(f"fit: y must be real numbers, got {y.dtype}")
    if y.numblocks[1:] != (1, 1):
        raise ValueError(
            f"fit: y is in {y.numblocks[1]} × {y.numblocks[2]} blocks along time and along what is observed: "
            "each series is in one; y.rechunk({1: -1, 2: -1}) puts it there"
        )
