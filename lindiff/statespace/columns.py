"""Explanatory variables by name and date: data frames, and dicts of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["columns_by_name", "dates_of", "refuse_other_dates"]


def columns_by_name(function: str, exog: Any) -> dict[str, Any] | None:
    """The columns of a data frame, a dict, or a list of such; None for what has no names.

    Raises
    ------
    ValueError
        If there are no columns, or two of one name; `function` is who asks.
    """
    tables = list(exog) if isinstance(exog, (list, tuple)) else [exog]
    if not tables or not all(isinstance(table, Mapping) or hasattr(table, "columns") for table in tables):
        return None
    places = [
        (table, column)
        for table in tables
        for column in (table if isinstance(table, Mapping) else table.columns)
    ]
    names = [str(column) for _, column in places]
    double = sorted({name for name in names if names.count(name) > 1})
    if double or not names:
        wrong = f"more than one column called {', '.join(double)}; rename them" if double else "no columns"
        raise ValueError(f"{function}: exog has {wrong}")
    return {name: table[column] for name, (table, column) in zip(names, places, strict=True)}


def dates_of(function: str, columns: dict[str, Any]) -> Any:
    """The dates of pandas that the columns have; None if none has any.

    Raises
    ------
    ValueError
        If two columns have other dates; `function` is who asks.
    """
    dated = {name: column.index for name, column in columns.items() if _has_dates(column)}
    found, first = None, ""
    for name, dates in dated.items():
        if found is None:
            found, first = dates, name
        refuse_other_dates(f"{function}: {first} of exog is", found, f"{name} is", dates)
    return found


def refuse_other_dates(of_these: str, these: Any, of_those: str, those: Any) -> None:
    """Raise an error if two indices of pandas have dates of one kind, and not the same ones.

    Raises
    ------
    ValueError
        Says from when to when both go, and where they begin to differ.
    """
    if type(these) is not type(those) or not hasattr(these, "freq"):
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


def _has_dates(column: Any) -> bool:
    """Whether it is a series of pandas with an index of dates."""
    return hasattr(getattr(column, "index", None), "freq")
