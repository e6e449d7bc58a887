"""What is wrong with the numbers of arrays: looked at with one launch each, and one wait for all."""

from __future__ import annotations

from collections.abc import Sequence
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
    flags = cupy.zeros((len(asked), 4), np.int32)
    for own, (condition, x) in zip(flags, asked, strict=True):
        n = x.shape[-1] if condition == "covariance" else 1
        lanes = min(x.size, tuning.LANES_OF_FAULTS)
        x = cupy.ascontiguousarray(x, np.promote_types(x.dtype, np.float32))
        function = kernel("faults.cu", "faults", x.dtype, WIDTH=1)
        launch(function, lanes, 1, (x, np.int64(x.size), n, lanes, own))
    pairs = zip(flags.get(), asked, strict=True)
    return [bool(own[CONDITIONS[condition]].any()) for own, (condition, _) in pairs]
