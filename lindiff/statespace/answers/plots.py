"""Pictures of answers, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from lindiff.statespace.answers.bands import Band
from lindiff.statespace.answers.diagnostics import autocorrelations

__all__ = ["bands", "diagnostics", "forecasts", "joined_places"]


def bands(
    pictures: Mapping[str, Band], alpha: float, series: Sequence[Any], observed: Mapping[str, Any]
) -> Any:
    """A panel for each band, below each other.

    Parameters
    ----------
    pictures : dict of str to Band
    alpha : float
    series : sequence of (int, name)
        Which columns of bands of several are drawn, and what they are called; None has no name.
    observed : dict of str to (T, p) array
        What is drawn as points beside the bands of these names.
    """
    figure, panels = _panels(len(pictures), 1, (8.0, 1.7 * len(pictures) + 0.6), sharex=True)
    for axes, (title, band) in zip(panels, pictures.items(), strict=True):
        _bands_of_series(axes, band, alpha, series, observed.get(title))
        axes.set_title(title, loc="left", fontsize="medium")
        axes.margins(x=0.01)
        _few_dates(axes, _places(band.rows), 10)
    if len(series) == 1 and series[0][1] is not None:
        panels[0].set_ylabel(str(series[0][1]))
    _legend(panels[0])
    return figure


def _bands_of_series(axes: Any, band: Band, alpha: float, series: Sequence[Any], points: Any) -> None:
    """One colour each; those that are zero all the time, of series without a component, are left out."""
    mean, lower, upper = (_wide(x) for x in (band.mean, *band.interval(alpha)))
    places, shown = _places(band.rows), series if mean.shape[1] > 1 else [(0, None)]
    single = len(shown) == 1
    size = max(1.0, min(3.0, 1500 / max(len(places), 1)))  # of points, that many do not hide the line
    for place, (i, name) in enumerate(shown):
        if not (lower[:, i].any() or upper[:, i].any()):
            continue
        color = f"C{place}"
        if points is not None:
            style = {"color": "0.3", "label": "observed"} if single else {"color": color}
            axes.plot(places, points[:, i], ".", markersize=size, **style)
        axes.plot(places, mean[:, i], color=color, linewidth=1.2, label=None if single else name)
        label = _percent(alpha) if single else None
        axes.fill_between(places, lower[:, i], upper[:, i], color=color, alpha=0.2, linewidth=0, label=label)


def forecasts(data: Any, places: Any, expected: Band, names: Any, alpha: float) -> Any:
    """Observations (T, p), and what is expected of each series after its last one.

    Parameters
    ----------
    data : (T, p) array
    places : (T + steps,) array
        Where steps are on the axis.
    expected : Band
        Of (T + steps, p) numbers.
    names : sequence of p
    alpha : float
    """
    T, p = data.shape
    figure, panels = _panels(p, 1, (8.0, (2.0 if p > 1 else 3.2) * p + 0.4), sharex=True)
    bounds = expected.interval(alpha)
    for i, axes in enumerate(panels):
        seen = np.flatnonzero(np.isfinite(data[:, i]))
        later = slice(seen[-1] + 1 if seen.size else 0, None)
        _observations(axes, places[:T], data[:, i], label="observed")
        mean, lower, upper = (x[later, i] for x in (expected.mean, *bounds))
        axes.plot(places[later], mean, "C0.-", markersize=3, linewidth=1.2, label="forecast")
        band = _percent(alpha)
        if len(mean) > 1:
            axes.fill_between(places[later], lower, upper, color="C0", alpha=0.25, linewidth=0, label=band)
        else:
            axes.vlines(places[later], lower, upper, color="C0", alpha=0.4, linewidth=3, label=band)
        axes.set_title(str(names[i]), loc="left", fontsize="medium")
        axes.margins(x=0.01)
        _few_dates(axes, places, 10)
    _legend(panels[0])
    return figure


def diagnostics(residuals: Any, rows: Any, title: str, lags: int) -> Any:
    """Standardized residuals (T,): over time, their distribution, quantiles, autocorrelations."""
    figure, panels = _panels(2, 2, (9.0, 6.0))
    over_time, distribution, quantiles, correlation = panels
    known = residuals[np.isfinite(residuals)]
    places = _places(rows)
    over_time.axhline(0, color="grey", linewidth=0.8)
    _observations(over_time, places, residuals)
    _few_dates(over_time, places, 7)
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
    correlation.axhline(0, color="k", linewidth=0.8)
    correlation.stem(np.arange(1, lags + 1), autocorrelations(residuals, lags), basefmt=" ")
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


def _legend(axes: Any) -> None:
    """Above the panel, beside its title, where it hides nothing."""
    place = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.1}
    axes.legend(**place, ncols=5, frameon=False, fontsize="small")


def _percent(alpha: float) -> str:
    return f"{100 * (1 - alpha):g} % interval"


def _wide(values: Any) -> Any:
    """(T, p), in plain numbers."""
    plain = np.asarray(values)
    return plain.reshape(len(plain), -1)


def _observations(axes: Any, places: Any, values: Any, **options: Any) -> None:
    """A line; points where it has gaps on both sides, as quarters have among months."""
    known = np.isfinite(values)
    beside = np.zeros(len(known) + 2, bool)
    beside[1:-1] = known
    alone = known & ~beside[:-2] & ~beside[2:]
    style = "k." if alone.any() else "k-"
    if alone.any() and not alone[known].all():
        axes.plot(places, values, "k-", linewidth=0.8)
        places, values = places[alone], values[alone]
    axes.plot(places, values, style, linewidth=0.8, markersize=3, **options)


def _few_dates(axes: Any, places: Any, most: int) -> None:
    """As many as have room below a panel."""
    if places.dtype.kind == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=most)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def joined_places(rows: Any, later: Any) -> Any:
    """Those of the data, and of steps after them; numbers of steps, where nobody knows the later dates."""
    places, more = _places(rows), _places(later)
    if places.dtype.kind != more.dtype.kind:
        return np.arange(len(places) + len(more))
    return np.concatenate([places, more])


def _places(rows: Any) -> Any:
    """Where steps are on an axis: dates, for periods their beginning."""
    rows = rows.to_timestamp() if hasattr(rows, "to_timestamp") else rows
    return rows.to_numpy() if hasattr(rows, "to_numpy") else np.asarray(rows)
