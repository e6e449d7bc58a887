"""Explanatory variables by name and date: data frames, and dicts of columns."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

__all__ = ["as_dates", "columns_by_name", "dates_of", "index_of_dates", "like", "refuse_other_dates"]


def columns_by_name(function: str, exog: Any) -> dict[str, Any] | None:
    """The columns of a data frame, a series with a name, a dict, or a list of such; None for other things.

    Raises
    ------
    ValueError
        If there are no columns, or two of one name; `function` is who asks.
    """
    tables = list(exog) if isinstance(exog, (list, tuple)) else [exog]
    of_tables = [_names_of(table) for table in tables]
    if not tables or any(names is None for names in of_tables):
        return None
    places = [
        (table, column)
        for table, of_table in zip(tables, of_tables, strict=True)
        for column in of_table or ()
    ]
    names = [str(column) for _, column in places]
    double = sorted({name for name in names if names.count(name) > 1})
    if double or not names:
        wrong = f"more than one column called {', '.join(double)}; rename them" if double else "no columns"
        raise ValueError(f"{function}: exog has {wrong}")
    columns = [table if _is_series(table) else table[column] for table, column in places]
    return dict(zip(names, columns, strict=True))


def dates_of(function: str, columns: dict[str, Any]) -> Any:
    """The dates of pandas that the columns have; None if none has any.

    Raises
    ------
    ValueError
        If two columns have other dates; `function` is who asks.
    """
    found, first = None, ""
    for name, column in columns.items():
        dates = index_of_dates(column)
        if dates is None:
            continue
        if found is None:
            found, first = dates, name
        refuse_other_dates(f"{function}: {first} of exog is", found, f"{name} is", dates)
    return found


def refuse_other_dates(of_these: str, these: Any, of_those: str, those: Any) -> None:
    """Raise an error if two indices of pandas have dates, or numbers or names, and not the same ones.

    Dates are compared with periods as those of the periods that they are in.

    Raises
    ------
    ValueError
        Says from when to when both go, and where they begin to differ.
    """
    if not _are_dates(these) or not _are_dates(those):
        return
    these, those = like(those, these), like(these, those)
    if _kind(these) != _kind(those):
        return
    common = min(len(these), len(those))
    unlike = (these[:common] != those[:common]).nonzero()[0]
    if not len(unlike) and len(these) == len(those):
        return
    spans = [f"of {dates[0]} to {dates[-1]}" if len(dates) else "of no dates" for dates in (these, those)]
    place = f", first unlike at row {int(unlike[0])}" if len(unlike) else ""
    raise ValueError(
        f"{of_these} {spans[0]}, {len(these)} steps, {of_those} {spans[1]}, {len(those)} steps{place}; "
        f"write .reindex(y.index) or give all of them the same dates"
    )


def like(these: Any, those: Any) -> Any:
    """Those dates as periods, if these indices are such and those such of dates."""
    if not hasattr(these, "to_timestamp") or not hasattr(those, "to_period"):
        return those
    return (those if those.tz is None else those.tz_localize(None)).to_period(these.freq)


def index_of_dates(table: Any) -> Any:
    """That of a series or frame of pandas, if it is one of dates, or of numbers or names; else None."""
    index = getattr(table, "index", None)
    return as_dates(index) if _are_dates(index) else None


def as_dates(index: Any) -> Any:
    """An index of pandas, of its own dates where it has those of Python's."""
    if index.dtype != object or not len(index) or not all(isinstance(day, datetime.date) for day in index):
        return index
    import pandas

    return pandas.DatetimeIndex(index)


def _are_dates(index: Any) -> bool:
    """Whether steps are called by it: numbers from 0 on are what nobody gave."""
    counted = type(index).__name__ == "RangeIndex" and index.start == 0
    return hasattr(index, "get_loc") and index.nlevels == 1 and not counted


def _kind(index: Any) -> tuple[bool, str]:
    return hasattr(index, "freq"), index.dtype.kind


def _names_of(table: Any) -> list[Any] | None:
    """Those of the columns; None for what has none."""
    if _is_series(table):
        return None if table.name is None else [table.name]
    if isinstance(table, Mapping):
        return list(table)
    return list(table.columns) if hasattr(table, "columns") else None


def _is_series(table: Any) -> bool:
    """Whether it is a series of a library of data frames."""
    return hasattr(table, "name") and hasattr(table, "to_frame") and not hasattr(table, "columns")
