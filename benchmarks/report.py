"""Tables, CSV files and plots of what the harness recorded. Nothing here measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from math import ceil
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .harness import Case, Ratio, Record, Suite
from .peers import PEERS as CPU_PEERS

PEERS = (*CPU_PEERS, "lindiff-cpu", "card")
"""In the order of the columns."""
COLOURS = {
    "numpy": "#7f7f7f", "lindiff": "#d62728", "program": "#8b0000", "jax": "#1f77b4", "torch": "#ff7f0e",
    "autograd": "#2ca02c", "advect": "#9467bd", "mygrad": "#8c564b", "statsmodels": "#e377c2",
    "dynamax": "#17becf", "lindiff-cpu": "#ff9896", "card": "#bcbd22",
}  # fmt: skip
MARKERS = {
    "numpy": "s", "lindiff": "o", "program": "d", "jax": "^", "torch": "D", "autograd": "v", "advect": "P",
    "mygrad": "X",
    "statsmodels": "h", "dynamax": "<", "lindiff-cpu": "o", "card": "_",
}  # fmt: skip
PANELS_IN_A_ROW = 3
UNITS = {"µs": ((1e6, "s"), (1e3, "ms"), (0, "µs")), "MB": ((0, "MB"),), "": ((0, ""),)}


class Report:
    """One suite's results."""

    def __init__(self, name: str, title: str, records: Iterable[Record], threads: int) -> None:
        self.name, self.title, self.threads = name, title, threads
        self.frame = pd.DataFrame([asdict(record) for record in records])
        if not self.frame.empty:
            sizes = [None if np.isnan(size) else int(size) for size in self.frame["size"].astype(float)]
            cases = zip(self.frame["family"], sizes, self.frame["call"], strict=True)
            self.frame["case"] = [str(Case(*case)) for case in cases]
            self.frame.insert(0, "threads", threads)

    def tables(self) -> str:
        """Return, for each quantity, medians with quartiles and ratios to lindiff and to NumPy."""
        if self.frame.empty:
            return "nothing was measured"
        return "\n\n".join(block for quantity in self._quantities() for block in self._tables_of(quantity))

    def write(self, folder: Path) -> list[Path]:
        """Write the CSV file and the plot; return their paths."""
        if self.frame.empty:
            return []
        folder.mkdir(parents=True, exist_ok=True)
        csv, png = folder / f"{self.name}.csv", folder / f"{self.name}.png"
        self.frame.drop(columns="case").to_csv(csv, index=False, float_format="%.6g")
        self._figure().savefig(png, dpi=150)
        return [csv, png]

    def _figure(self) -> Figure:
        return self._curves() if self.frame["size"].notna().any() else self._bars()

    def _quantities(self) -> list[str]:
        return list(self.frame["quantity"].unique())

    def _tables_of(self, quantity: str) -> Iterator[str]:
        rows = self.frame[self.frame["quantity"] == quantity]
        unit = rows["unit"].iloc[0]
        rows = rows.assign(
            text=[
                _with_unit(row.median, unit) + (f" ±{_spread(row):.0%}" if row.samples > 1 else "")
                for row in rows.itertuples()
            ]
        )
        yield _table(f"{quantity}: median ± half the interquartile range", _pivot(rows, "text").fillna("–"))
        medians = _pivot(rows, "median")
        bases = {"lindiff": medians.get("lindiff"), "NumPy's value": self._numpy_values(unit)}
        for base, values in bases.items():
            if values is not None and not quantity.startswith("first call"):
                yield _table(f"{quantity}: ratio to {base}", medians.div(values, axis=0).map(_ratio))

    def _numpy_values(self, unit: str) -> pd.Series | None:
        """Return NumPy's medians of this unit: it has values only, the measure for gradients too."""
        rows = self.frame[(self.frame["peer"] == "numpy") & (self.frame["unit"] == unit)]
        return None if rows.empty else rows.set_index("case")["median"]

    def _curves(self) -> Figure:
        """Time, or memory, against size: a panel for each family and quantity, a line for each library."""
        rows = self.frame[self.frame["quantity"].isin(self._compared_quantities())]
        panels = list(rows[["family", "quantity"]].drop_duplicates().itertuples(index=False, name=None))
        one_unit = rows["unit"].nunique() == 1
        figure, axes = _panels(len(panels), width=4.2, height=3.4, share=one_unit)
        for axis, (family, quantity) in zip(axes, panels, strict=True):
            rows = self.frame[(self.frame["family"] == family) & (self.frame["quantity"] == quantity)]
            for peer in PEERS:
                line = rows[rows["peer"] == peer].sort_values("size")
                if not line.empty:
                    axis.plot(
                        line["size"], line["median"], color=COLOURS[peer], marker=MARKERS[peer], label=peer
                    )
            sizes = sorted(rows["size"].unique())
            axis.set(xscale="log", yscale="log", xlabel="n", title=f"{family}: {quantity}")
            axis.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
            axis.minorticks_off()
            if rows["unit"].iloc[0] == "µs":
                _time_axis(axis.yaxis)
            else:
                axis.set_ylabel(rows["unit"].iloc[0])
            axis.grid(alpha=0.3)
        return self._finish(figure, axes)

    def _bars(self) -> Figure:
        """Groups of bars: a panel for each quantity; of a single case, all times in one panel."""
        single = self.frame.groupby("unit")["case"].nunique().max() == 1
        by, group = ("unit", "quantity") if single else ("quantity", "case")
        panels = [rows for _, rows in self.frame.groupby(by, sort=False)]
        groups = max(rows[group].nunique() for rows in panels)
        figure, axes = _panels(len(panels), width=5.2, height=1.2 + 0.6 * groups, share=not single)
        for axis, rows in zip(axes, panels, strict=True):
            _group_bars(axis, rows, group)
            unit = rows["unit"].iloc[0]
            medians = self.frame.loc[self.frame["unit"] == unit, "median"]
            axis.set_title("" if single else rows["quantity"].iloc[0])
            if unit == "µs":
                axis.set(xscale="log", xlim=(medians.min() / 2, medians.max() * 5))
                _time_axis(axis.xaxis)
            else:
                axis.set(xlabel=unit, xlim=(0, medians.max() * 1.25))
            axis.grid(axis="x", alpha=0.3)
            axis.set_axisbelow(True)
        return self._finish(figure, axes)

    def _compared_quantities(self) -> list[str]:
        return [quantity for quantity in self._quantities() if not quantity.startswith("first call")]

    def _finish(self, figure: Figure, axes: list[Axes]) -> Figure:
        handles = {
            label: handle
            for axis in axes
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        peers = [peer for peer in PEERS if peer in handles]
        versions = self.frame.drop_duplicates("peer").set_index("peer")["version"]
        labels = [f"{peer} {versions[peer]}" for peer in peers]
        figure.suptitle(f"{self.title}\nmedians, float64, {self.threads} threads")
        figure.legend(
            [handles[peer] for peer in peers], labels, loc="outside lower center", ncols=min(len(peers), 5)
        )
        return figure


class CallReport(Report):
    """The results of a suite of many calls in families: single calls, and what they come to by family."""

    def tables(self) -> str:
        """Return the times by family, and the times of each call with the ratios to lindiff."""
        if self.frame.empty:
            return "nothing was measured"
        return "\n\n".join([self._by_family(), self._by_call(), self._slower()])

    def _medians(self) -> pd.DataFrame:
        """A row for each case, a column for each library."""
        table = self.frame.pivot(index=["family", "call", "size"], columns="peer", values="median")
        order = self.frame.set_index(["family", "call", "size"]).index.unique()
        return table.reindex(index=order, columns=[peer for peer in PEERS if peer in table])

    def _ratios(self) -> pd.DataFrame:
        """Each library's time over lindiff's."""
        medians = self._medians()
        return medians.drop(columns="lindiff").div(medians["lindiff"], axis=0)

    def _by_family(self) -> str:
        families = self._medians().groupby(level=["family", "size"], sort=False)
        ratios = self._ratios().groupby(level=["family", "size"], sort=False)
        columns = {"calls": families.size()}
        columns |= {f"{peer} µs": families[peer].median().map(_three_figures) for peer in families.first()}
        for peer in ratios.first():
            columns[f"{peer}/lindiff"] = ratios[peer].median().map(_ratio)
            columns["least" + " " * len(columns)] = ratios[peer].min().map(_ratio)
        return _table("median over the calls of a family; least ratio", pd.DataFrame(columns))

    def _by_call(self) -> str:
        table = pd.concat(
            [
                self._medians().map(_three_figures).add_suffix(" µs"),
                self._ratios().map(_ratio).add_suffix("/lindiff"),
            ],
            axis=1,
        )
        return _table("each call", table)

    def _slower(self) -> str:
        """The calls that some other library differentiates faster than lindiff."""
        ratios = self._ratios().drop(columns="numpy", errors="ignore")
        slower = ratios[(ratios < 1).any(axis=1)]
        return (
            "no other library is faster at any call"
            if slower.empty
            else _table("calls that another library does faster", slower.map(_ratio))
        )

    def _figure(self) -> Figure:
        """Ratios to lindiff's time: a panel for each size, a row for each family, a point for each call."""
        ratios = self._ratios()
        families = list(self.frame["family"].unique())
        sizes = sorted(self.frame["size"].unique())
        figure, axes = _panels(len(sizes), width=4.6, height=1.0 + 0.5 * len(families), share=True)
        for axis, size in zip(axes, sizes, strict=True):
            of_size = ratios.xs(size, level="size")
            for i, peer in enumerate(ratios):
                rows = of_size[peer].dropna()
                heights = [families.index(family) + (i - 1) * 0.25 for family, _ in rows.index]
                axis.scatter(
                    rows, heights, s=12, alpha=0.6, linewidths=0, color=COLOURS[peer], marker=MARKERS[peer],
                    label=peer,
                )  # fmt: skip
            axis.axvline(1, color=COLOURS["lindiff"], label="lindiff")
            axis.set(xscale="log", title=f"{size:.0f} elements", xlabel="time / lindiff's time")
            axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
            axis.set_yticks(range(len(families)), families)
            axis.set_ylim(len(families) - 0.5, -0.5)
            axis.grid(axis="x", alpha=0.3)
        return self._finish(figure, axes)


class RatioReport(Report):
    """The results of a suite that is about certain ratios."""

    def __init__(
        self, name: str, title: str, records: Iterable[Record], threads: int, ratios: Iterable[Ratio]
    ) -> None:
        super().__init__(name, title, records, threads)
        self.ratios = list(ratios)

    def tables(self) -> str:
        """Return the times of each case, and the ratios."""
        if self.frame.empty:
            return "nothing was measured"
        return "\n\n".join([*self._by_case(), _table("ratios", self._ratios().set_index("ratio"))])

    def write(self, folder: Path) -> list[Path]:
        """Write the CSV files of times and of ratios, and the plot; return their paths."""
        paths = super().write(folder)
        if paths:
            csv = folder / f"{self.name}_ratios.csv"
            self._ratios().to_csv(csv, index=False)
            paths.insert(1, csv)
        return paths

    def _by_case(self) -> Iterator[str]:
        for case, rows in self.frame.groupby("case", sort=False):
            measured = [
                _with_unit(row.median, row.unit) + (f" ±{_spread(row):.0%}" if row.samples > 1 else "")
                for row in rows.itertuples()
            ]
            names = [f"{row.peer}: {row.quantity}" for row in rows.itertuples()]
            yield _table(case, pd.DataFrame({"median ± half the interquartile range": measured}, names))

    def _ratios(self) -> pd.DataFrame:
        """A row for each ratio of what was measured."""
        medians = self.frame.set_index(["case", "peer", "quantity"])["median"]
        rows = []
        for ratio in self.ratios:
            if all(place in medians.index for place in (ratio.over, *ratio.under)):
                under = sum(medians[place] for place in ratio.under)
                value = _three_figures(ratio.times * medians[ratio.over] / under)
                rows.append((ratio.label, value, ratio.goal))
        return pd.DataFrame(rows, columns=["ratio", "is", "goal"])

    def _figure(self) -> Figure:
        """A panel for each case or family: bars, or lines against the size."""
        times = self.frame[
            (self.frame["unit"] == "µs") & ~self.frame["quantity"].str.startswith("first call")
        ]
        families = list(times.groupby("family", sort=False))
        figure, axes = _panels(len(families), width=6.0, height=4.2, share=False)
        for axis, (family, rows) in zip(axes, families, strict=True):
            draw = _quantity_bars if rows["size"].isna().all() else _quantity_curves
            draw(axis, rows)
            axis.set_title(family, fontsize="medium")
            axis.grid(alpha=0.3)
            axis.set_axisbelow(True)
        return self._finish(figure, axes)


def _quantity_bars(axis: Axes, rows: pd.DataFrame) -> None:
    rows = rows.sort_values("median", ascending=False)
    for peer in PEERS:
        places = np.flatnonzero(rows["peer"] == peer)
        if len(places):
            medians = rows["median"].iloc[places]
            drawn = axis.barh(places, medians, color=COLOURS[peer], label=peer)
            axis.bar_label(
                drawn, [_with_unit(median, "µs") for median in medians], padding=3, fontsize="x-small"
            )
    axis.set_yticks(range(len(rows)), rows["quantity"], fontsize="x-small")
    axis.set(xscale="log", xlim=(rows["median"].min() / 2, rows["median"].max() * 8))
    _time_axis(axis.xaxis)


def _quantity_curves(axis: Axes, rows: pd.DataFrame) -> None:
    styles = ("-", "--", ":", "-.", (0, (1, 4)))
    quantities = list(rows["quantity"].unique())
    lines = {}
    for (peer, quantity), line in rows.groupby(["peer", "quantity"], sort=False):
        style = styles[quantities.index(quantity) % len(styles)]
        (lines[f"{peer}: {quantity}"],) = axis.plot(
            line["size"], line["median"], color=COLOURS[peer], marker=MARKERS[peer], linestyle=style,
            label=peer,
        )  # fmt: skip
    axis.legend(lines.values(), lines, fontsize="xx-small")
    sizes = sorted(rows["size"].unique())
    axis.set(xscale="log", yscale="log", xlabel="n")
    axis.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    axis.minorticks_off()
    _time_axis(axis.yaxis)


def report_of(name: str, suite: Suite, records: list[Record], threads: int) -> Report:
    """The report that suits the suite and its records."""
    if hasattr(suite, "RATIOS"):
        return RatioReport(name, suite.TITLE, records, threads, suite.RATIOS)
    kind = CallReport if any(record.call for record in records) else Report
    return kind(name, suite.TITLE, records, threads)


def _panels(count: int, width: float, height: float, share: bool) -> tuple[Figure, list[Axes]]:
    columns = min(count, PANELS_IN_A_ROW)
    rows = ceil(count / columns)
    figure = Figure(figsize=(max(width * columns, 8), height * rows + 1.2), layout="constrained")
    shared = "row" if share else "none"
    axes = list(figure.subplots(rows, columns, sharex=shared, sharey=shared, squeeze=False).flat)
    for unused in axes[count:]:
        unused.remove()
    return figure, axes[:count]


def _group_bars(axis: Axes, rows: pd.DataFrame, group: str) -> None:
    groups = list(rows[group].unique())
    peers = [peer for peer in PEERS if peer in set(rows["peer"])]
    thickness = 0.8 / len(peers)
    for i, peer in enumerate(peers):
        bars = rows[rows["peer"] == peer]
        offset = (i - (len(peers) - 1) / 2) * thickness
        places = [groups.index(name) + offset for name in bars[group]]
        drawn = axis.barh(places, bars["median"], height=thickness, color=COLOURS[peer], label=peer)
        axis.bar_label(
            drawn,
            [_with_unit(row.median, row.unit) for row in bars.itertuples()],
            padding=3,
            fontsize="x-small",
        )
    axis.set_yticks(range(len(groups)), groups)
    axis.set_ylim(len(groups) - 0.5, -0.5)


def _time_axis(axis: mpl.axis.Axis) -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: _with_unit(value, "µs")))
    axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axis.set_label_text("time")


def _with_unit(value: float, unit: str) -> str:
    """Write a number with three figures and the unit that suits it."""
    limit, name = next((limit, name) for limit, name in UNITS[unit] if value >= limit)
    return f"{_three_figures(value / (limit or 1))} {name}"


def _three_figures(value: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _ratio(value: float) -> str:
    return "–" if np.isnan(value) else f"{_three_figures(value)}×"


def _spread(row: object) -> float:
    return (row.q75 - row.q25) / (2 * row.median)


def _pivot(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    table = rows.pivot(index="case", columns="peer", values=column)
    return table.reindex(index=rows["case"].unique(), columns=[peer for peer in PEERS if peer in table])


def _table(heading: str, table: pd.DataFrame) -> str:
    nameless = table.rename_axis(index=[None] * table.index.nlevels, columns=None)
    return f"{heading}\n{nameless.to_string()}"
