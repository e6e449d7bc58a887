"""What is wrong with the numbers of arrays: looked at in one launch, and one wait."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import cupy
import numpy as np

from lindiff_cuda import tuning
from lindiff_cuda.checks import checking
from lindiff_cuda.launching import kernel, launch

__all__ = ["faults"]

# Which of the flags of faults.cu say that it does not hold.
CONDITIONS = {"finite": [0, 1], "not_infinite": [1], "not_negative": [2], "covariance": [3]}


def faults(asked: Sequence[tuple[str, Any]]) -> list[bool]:
    """Whether conditions do not hold; within `unchecked` nothing is looked at.

    Parameters
    ----------
    asked : sequence of (condition, array)
        "finite", "not_infinite" (NaN may be), "not_negative", or "covariance": but for rounding symmetric in
        the last two axes, with variances of at least 0 and correlations of at most 1.  Arrays of real
        floating point numbers.

    Returns
    -------
    list of bool
    """
    if not asked or not checking():
        return [False] * len(asked)
    arrays = {id(x): x for _, x in asked}
    covariances = {id(x) for condition, x in asked if condition == "covariance"}
    by_type: dict[Any, list[int]] = {}
    for key, x in arrays.items():
        by_type.setdefault(np.promote_types(x.dtype, np.float32), []).append(key)
    places = {key: place for place, key in enumerate(chain.from_iterable(by_type.values()))}
    flags = cupy.zeros((len(arrays), 4), np.int32)
    for dtype, keys in by_type.items():
        orders = [arrays[key].shape[-1] if key in covariances else 0 for key in keys]
        look([arrays[key] for key in keys], orders, dtype, flags[places[keys[0]] :])
    host = flags.get()
    return [bool(host[places[id(x)], CONDITIONS[condition]].any()) for condition, x in asked]


def look(arrays: Sequence[Any], orders: Sequence[int], dtype: Any, flags: Any) -> None:
    """flags, four for each array, := 1 where it has such a fault; of order 0 is what holds no matrices."""
    held = [cupy.ascontiguousarray(x, dtype) for x in arrays]  # until the kernel is launched
    table, first = [], 0
    for x, n in zip(held, orders, strict=True):
        count = x.size // max(n, 1)
        lanes = min(count, tuning.LANES_OF_FAULTS)
        table.append((x.data.ptr, count, n, first, lanes))
        first += lanes
    function = kernel("faults.cu", "faults", dtype, WIDTH=1, COVARIANCE=any(orders))
    launch(function, first, 1, (cupy.asarray(np.array(table, np.int64)), len(held), first, flags))
