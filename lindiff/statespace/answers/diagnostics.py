"""Whether residuals are what they should be: independent, normal, of one variance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import stats

__all__ = ["Statistic", "autocorrelations", "heteroskedasticity", "ljung_box", "normality"]


class Statistic(NamedTuple):
    """A statistic, and how probable one as large is if the model is right."""

    statistic: Any
    p_value: Any


def autocorrelations(residuals: Any, lags: int) -> Any:
    """Of residuals (T,) at lags 1, 2, …, with missing ones left out; NaN where a lag has no pairs.

    Box, Jenkins, Reinsel & Ljung (2015), Time Series Analysis, eq. 2.1.11.
    """
    known = np.isfinite(residuals)
    e = np.where(known, residuals - np.mean(residuals[known]), 0.0)
    found = np.array([e[lag:] @ e[:-lag] for lag in range(1, lags + 1)]) / (e @ e)
    return np.where(_pairs(known, lags) > 0, found, np.nan)


def ljung_box(residuals: Any, lags: int) -> Statistic:
    """Whether the first 1, 2, …, `lags` autocorrelations are zero.

    Ljung & Box (1978): ``Q = n (n + 2) Σ r_k² / (n - k)``, χ² with as many degrees as lags.  With missing
    values there are not n - k pairs, but fewer, and no degrees for lags without any: Stoffer & Toloi (1992),
    "A note on the Ljung-Box-Pierce portmanteau statistic with missing data".
    """
    known = np.isfinite(residuals)
    n, pairs = np.count_nonzero(known), _pairs(known, lags)
    r = np.nan_to_num(autocorrelations(residuals, lags))
    statistic = n * (n + 2) * np.cumsum(r**2 / np.maximum(pairs, 1))
    return Statistic(statistic, stats.chi2.sf(statistic, np.cumsum(pairs > 0)))


def _pairs(known: Any, lags: int) -> Any:
    """How many there are of each lag."""
    return np.array([np.count_nonzero(known[lag:] & known[:-lag]) for lag in range(1, lags + 1)])


def normality(residuals: Any) -> tuple[Statistic, float, float]:
    """Jarque & Bera (1987): ``n/6 (s² + (k - 3)²/4)``, χ² with 2 degrees; and skewness s, kurtosis k."""
    e = residuals[np.isfinite(residuals)]
    e = e - np.mean(e)
    variance = np.mean(e**2)
    skewness, kurtosis = np.mean(e**3) / variance**1.5, np.mean(e**4) / variance**2
    statistic = e.size / 6 * (skewness**2 + (kurtosis - 3) ** 2 / 4)
    return Statistic(float(statistic), float(stats.chi2.sf(statistic, 2))), float(skewness), float(kurtosis)


def heteroskedasticity(residuals: Any) -> Statistic:
    """The ratio of squares of the last third to those of the first, F distributed, from both sides.

    Harvey (1989), section 5.4.2.
    """
    known = np.flatnonzero(np.isfinite(residuals))
    e = residuals[known[0] :]  # from where diffuse states are determined
    third = round(e.size / 3)
    first, last = (x[np.isfinite(x)] ** 2 for x in (e[:third], e[e.size - third :]))
    if not third or not first.size or not last.size or not np.sum(first):
        return Statistic(np.nan, np.nan)
    # sums where as many are known, as in Harvey; means where some are missing
    statistic = np.mean(last) / np.mean(first)
    one_side = stats.f(last.size, first.size)
    p_value = 2 * min(one_side.cdf(statistic), one_side.sf(statistic))
    return Statistic(float(statistic), float(p_value))
