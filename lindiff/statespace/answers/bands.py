"""Means with their standard errors: what is known of a component, a state or a forecast, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from lindiff import _tables
from lindiff.statespace.answers.labels import Labels

__all__ = ["Band", "check_alpha"]


class Band:
    """Means and standard errors over time, in the form of the data.

    Attributes
    ----------
    mean, std_error : array, Series, DataFrame or DataArray
        (T,) or (T, p).  NaN where the data have not determined them yet.
    """

    def __init__(
        self, mean: Any, variance: Any, labels: Labels, rows: Any = None, columns: Any = None
    ) -> None:
        self._mean = mean
        self._std_error = np.sqrt(np.maximum(variance, 0))  # rounding may leave a zero below zero
        self._labels, self._rows, self._columns = labels, rows, columns

    @property
    def mean(self) -> Any:
        return self._table(self._mean)

    @property
    def std_error(self) -> Any:
        return self._table(self._std_error)

    @property
    def rows(self) -> Any:
        """What the steps are called; their numbers for NumPy's arrays."""
        rows = self._labels.rows if self._rows is None else self._rows
        return np.arange(len(self._mean)) if rows is None else rows

    def interval(self, alpha: float = 0.05) -> tuple[Any, Any]:
        """Lower and upper bounds that hold what is estimated with probability ``1 - alpha`` at each step.

        Parameters
        ----------
        alpha : float
            Between 0 and 1.

        Returns
        -------
        lower, upper
            In the form of `mean`.

        Raises
        ------
        ValueError
            If alpha is no probability.

        Notes
        -----
        Those of a normal distribution with parameters that are known: what their estimates leave open is not
        in them.
        """
        width = norm.isf(check_alpha(alpha) / 2) * self._std_error
        return self._table(self._mean - width), self._table(self._mean + width)

    def to_frame(self, alpha: float = 0.05) -> Any:
        """A pandas.DataFrame of mean, standard error and bounds; for several series with one more level.

        Parameters
        ----------
        alpha : float
            Of the bounds, as :meth:`interval` has them.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        pandas = _tables.pandas()
        width = norm.isf(check_alpha(alpha) / 2) * self._std_error
        parts = {
            "mean": self._mean,
            "std_error": self._std_error,
            "lower": self._mean - width,
            "upper": self._mean + width,
        }
        if self._mean.ndim == 1:
            return pandas.DataFrame(parts, index=self.rows)
        columns = self._labels.columns if self._columns is None else self._columns
        names = range(self._mean.shape[1]) if columns is None else columns
        by_series = {(name, part): x[:, i] for i, name in enumerate(names) for part, x in parts.items()}
        return pandas.DataFrame(by_series, index=self.rows)

    def __repr__(self) -> str:
        lower, upper = (np.asarray(x) for x in self.interval())
        kinds = {"mean": self._mean, "std. error": self._std_error, "2.5 %": lower, "97.5 %": upper}
        wide = {title: x if x.ndim == 2 else x[:, None] for title, x in kinds.items()}
        shown = range(len(self._mean)) if len(self._mean) <= 12 else [*range(5), *range(-5, 0)]
        rows = [
            [str(self.rows[t]) if i == 0 else "", *(f"{x[t, i]:.5g}" for x in wide.values())]
            for t in shown
            for i in range(wide["mean"].shape[1])
        ]
        lines = _tables.aligned(["", *wide], rows, {0})
        if len(self._mean) > 12:
            lines.insert(1 + len(rows) // 2, f"… {len(self._mean) - 10} more")
        return "\n".join(lines)

    def _table(self, values: Any) -> Any:
        return self._labels.table(values, self._rows, self._columns)


def check_alpha(alpha: float) -> float:
    """Refuse what is no probability.

    Raises
    ------
    ValueError
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, as 0.05 for bounds of 95 %, got {alpha}")
    return alpha
