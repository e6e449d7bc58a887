"""Observations that sum up several steps: quarters among months."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lindiff.statespace.builders._arguments import check_integer

__all__ = ["aggregation_weights", "weights_of_series"]


def aggregation_weights(kind: str, steps: int) -> Any:
    """What a number that is observed every few steps takes of the present step and of those before.

    Parameters
    ----------
    kind : str
        Of a quarter, ``steps=3``, among months: "sum" of a flow, 1, 1, 1; "average", 1/3, 1/3, 1/3; "last",
        1, the level of a stock at its end; "growth", 1, 2, 3, 2, 1, the growth of the sum or average of a
        flow, given the growth of each month.  (The growth of a stock is the "sum" of that of the months.)
    steps : int
        At least 1.

    Returns
    -------
    (m,) array
        Weights of the present step, the one before, ….

    Raises
    ------
    TypeError, ValueError
        If there is no such kind, or `steps` is no integer from 1 on.

    Notes
    -----
    Mariano & Murasawa (2003), Journal of Applied Econometrics 18, eq. 3: with logarithms, and the geometric
    mean of the months for the arithmetic one, the growth of a quarter is the weighted sum of that of five
    months.  A third of it, if growth is per month in one and per quarter in the other; loadings take up any
    factor.

    Examples
    --------
    >>> from lindiff import statespace
    >>> statespace.aggregation_weights("growth", 3)
    array([1., 2., 3., 2., 1.])
    """
    check_integer("aggregation_weights", "steps", steps, 1)
    kinds = {
        "average": np.full(steps, 1 / steps),
        "growth": np.convolve(np.ones(steps), np.ones(steps)),
        "last": np.ones(1),
        "sum": np.ones(steps),
    }
    if kind not in kinds:
        raise ValueError(f"aggregation_weights: kind must be one of {', '.join(kinds)}, got {kind!r}")
    return kinds[kind]


def weights_of_series(function: str, aggregation: Sequence[Any] | None, p: int) -> Any:
    """Weights (p, m), zero up to the longest; for None those of the present step alone.

    Raises
    ------
    ValueError
        If there are not p vectors, or one is none, holds NaN or infinite numbers, or ends with zero.
    """
    given = [None] * p if aggregation is None else list(aggregation)
    if len(given) != p:
        raise ValueError(f"{function}: aggregation needs an entry for each of {p} series, got {len(given)}")
    rows = [np.ones(1) if row is None else np.asarray(row, np.float64) for row in given]
    for i, row in enumerate(rows):
        if row.ndim != 1 or not np.isfinite(row).all() or not row[-1:].any():
            raise ValueError(
                f"{function}: aggregation[{i}] must be a vector of weights of the present step and those "
                f"before, the last of them not zero, or None; got {given[i]!r}"
            )
    longest = max(row.size for row in rows)
    return np.array([np.pad(row, (0, longest - row.size)) for row in rows])
