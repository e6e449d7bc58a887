"""What new data changed in an expectation, and by which observation.

Bańbura & Modugno (2014), "Maximum likelihood estimation of factor models on datasets with arbitrary pattern
of missing data", section 2.3: ``E[z | new] - E[z | old] = Σ_j w_j (y_j - E[y_j | old])`` over what is newly
observed.  An expectation is linear in the data, so each weight is the change that one more unit of y_j makes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff import _tables

__all__ = ["News", "newly_observed", "weights"]


class News(NamedTuple):
    """What new data changed in the expectation of one observation.

    Attributes
    ----------
    before, after : float
        The expectation given the old data, and given the new.
    revisions : float
        What changes of values that were known before have in the difference.
    observed : list of tuple
        The step and the series of each new observation.
    expected, actual, weight, impact : (k,) array
        ``impact = weight (actual - expected)``; they and `revisions` add up to ``after - before``.
    """

    before: float
    after: float
    revisions: float
    observed: list[tuple[Any, Any]]
    expected: Any
    actual: Any
    weight: Any
    impact: Any

    def __str__(self) -> str:
        columns = zip(self.observed, self.expected, self.actual, self.weight, self.impact, strict=True)
        rows = [[str(place[0]), str(place[1]), *(f"{x:.5g}" for x in numbers)] for place, *numbers in columns]
        lines = _tables.aligned(["step", "series", "expected", "actual", "weight", "impact"], rows, {0, 1})
        total = f"{self.before:.5g} before, {self.after:.5g} after"
        return "\n".join([*lines, f"{total}; revisions {self.revisions:.5g}"])

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a row for each new observation.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        steps, series = zip(*self.observed, strict=True) if self.observed else ((), ())
        numbers = {name: getattr(self, name) for name in ("expected", "actual", "weight", "impact")}
        return _tables.pandas().DataFrame({"step": steps, "series": series, **numbers})


def newly_observed(old: Any, new: Any) -> Any:
    """Where data (T, p) have what these have not: (k, 2), steps and series.

    Raises
    ------
    ValueError
        If something that was known is missing now.
    """
    lost = np.argwhere(np.isnan(new) & ~np.isnan(old))
    if len(lost):
        raise ValueError(
            f"news: at step {lost[0][0]} the new data lack what the old have; news are of more data"
        )
    return np.argwhere(np.isnan(old) & ~np.isnan(new))


def weights(expectation: Callable[[Any], Any], y: Any, places: Any) -> Any:
    """What one more unit of each observation adds to an expectation of many series (k, T, p)."""
    moved = np.repeat(y[None], len(places) + 1, axis=0)
    size = float(np.nanmax(np.abs(y), initial=1e-300))  # as large as the data: less is lost to rounding
    for k, (step, series) in enumerate(places):
        moved[k + 1, step, series] += size
    found = expectation(moved)
    return (found[1:] - found[0]) / size
