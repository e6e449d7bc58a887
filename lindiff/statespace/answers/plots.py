"""Pictures of answers, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import norm

from lindiff.statespace.answers.bands import Band
from lindiff.statespace.answers.diagnostics import autocorrelations

__all__ = ["bands", "diagnostics", "forecasts"]


def bands(pictures: Mapping[str, Band], alpha: float, data: Mapping[str, Any] | None = None) -> Any:
    """A panel for each band, below each other; `data` is drawn as points where it is given."""
    figure, panels = _panels(len(pictures), 1, (8.0, 2.0 * len(pictures) + 0.6), sharex=True)
    for axes, (title, band) in zip(panels, pictures.items(), strict=True):
        if data is not None and title in data:
            _lines(axes, band.rows, data[title], "k.", markersize=3, label="observed")
        _band(axes, band, alpha)
        axes.set_title(title, loc="left", fontsize="medium")
    return figure


def forecasts(data: Any, rows: Any, ahead: Band, names: Any, alpha: float) -> Any:
    """Observations (T, p), and what comes after them."""
    figure, panels = _panels(data.shape[1], 1, (8.0, 2.6 * data.shape[1] + 0.4), sharex=True)
    mean = np.reshape(ahead.mean, (-1, data.shape[1]))
    lower, upper = (np.reshape(x, mean.shape) for x in ahead.interval(alpha))
    for i, axes in enumerate(panels):
        axes.plot(_places(rows), data[:, i], "k-", linewidth=1, label="observed")
        later = _places(ahead.rows)
        axes.plot(later, mean[:, i], "C0-", label="forecast")
        axes.fill_between(later, lower[:, i], upper[:, i], color="C0", alpha=0.25, linewidth=0)
        axes.set_title(str(names[i]), loc="left", fontsize="medium")
    panels[0].legend(loc="best", frameon=False)
    return figure


def diagnostics(residuals: Any, rows: Any, title: str, lags: int) -> Any:
    """Standardized residuals (T,): over time, their distribution, quantiles, autocorrelations."""
    figure, panels = _panels(2, 2, (9.0, 6.0))
    over_time, distribution, quantiles, correlation = panels
    known = residuals[np.isfinite(residuals)]
    over_time.plot(_places(rows), residuals, "k-", linewidth=0.8)
    over_time.axhline(0, color="grey", linewidth=0.8)
    _few_dates(over_time, rows)
    over_time.set_title(f"standardized residuals{title}", fontsize="medium")
    grid = np.linspace(-4, 4, 201)
    distribution.hist(known, bins="auto", density=True, color="0.8")
    distribution.plot(grid, norm.pdf(grid), "C0-", label="normal")
    distribution.legend(frameon=False)
    distribution.set_title("distribution", fontsize="medium")
    expected = norm.ppf((np.arange(known.size) + 0.5) / max(known.size, 1))
    quantiles.plot(expected, np.sort(known), "k.", markersize=3)
    quantiles.plot(grid[25:-25], grid[25:-25], "C0-", linewidth=1)
    quantiles.set_title("quantiles beside normal ones", fontsize="medium")
    correlation.stem(np.arange(1, lags + 1), autocorrelations(residuals, lags), basefmt="k-")
    bound = 1.96 / np.sqrt(max(known.size, 1))
    correlation.axhspan(-bound, bound, color="C0", alpha=0.2)
    correlation.set_title("autocorrelations", fontsize="medium")
    return figure


def _panels(
    rows: int, columns: int, size: tuple[float, float], sharex: bool = False
) -> tuple[Any, list[Any]]:
    """A figure that no window manager knows of, and its axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=size, layout="constrained")
    return figure, list(figure.subplots(rows, columns, squeeze=False, sharex=sharex).ravel())


def _band(axes: Any, band: Band, alpha: float) -> None:
    mean = np.asarray(band.mean)
    lower, upper = (np.asarray(x) for x in band.interval(alpha))
    wide = mean.reshape(len(mean), -1)
    for i in range(wide.shape[1]):
        axes.plot(_places(band.rows), wide[:, i], f"C{i}-", linewidth=1.2)
        bounds = (x.reshape(wide.shape)[:, i] for x in (lower, upper))
        axes.fill_between(_places(band.rows), *bounds, color=f"C{i}", alpha=0.2, linewidth=0)


def _lines(axes: Any, rows: Any, values: Any, style: str, **options: Any) -> None:
    axes.plot(_places(rows), np.asarray(values), style, **options)


def _few_dates(axes: Any, rows: Any) -> None:
    """As many as have room below a narrow panel."""
    if getattr(_places(rows), "dtype", np.dtype(int)).kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _places(rows: Any) -> Any:
    """Where steps are on an axis: dates, for periods their beginning."""
    rows = rows.to_timestamp() if hasattr(rows, "to_timestamp") else rows
    return rows.to_numpy() if hasattr(rows, "to_numpy") else rows
