"""Explanatory variables by name: data frames, and dicts of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lindiff.statespace.components import Rows

__all__ = ["columns_by_name", "rows_of"]


def columns_by_name(function: str, exog: Any) -> dict[str, Any] | None:
    """The columns of a data frame, a dict, or a list of such; None for what has no names.

    Raises
    ------
    ValueError
        If there are no columns, or two of one name; `function` is who asks.
    """
    tables = _tables(exog)
    if not tables or not all(isinstance(table, Mapping) or hasattr(table, "columns") for table in tables):
        return None
    names = [str(column) for table in tables for column in table]
    double = sorted({name for name in names if names.count(name) > 1})
    if double or not names:
        wrong = f"more than one column called {', '.join(double)}; rename them" if double else "no columns"
        raise ValueError(f"{function}: exog has {wrong}")
    columns = [table[column] for table in tables for column in table]
    return dict(zip(names, columns, strict=True))


def rows_of(function: str, exog: Any) -> Rows | None:
    """What the rows of a data frame, or of all in a list, are called; None where they have numbers alone.

    Raises
    ------
    ValueError
        If there are two with other rows.
    """
    indices = [
        table.index for table in _tables(exog) if hasattr(table, "columns") and hasattr(table, "index")
    ]
    if not indices:
        return None
    for other in indices[1:]:
        if other is not indices[0] and not other.equals(indices[0]):
            raise ValueError(
                f"{function}: the tables of exog have other rows: {_span(indices[0])} and {_span(other)}; "
                f"give all of them the same dates, as by table.reindex(dates)"
            )
    is_numbered = type(indices[0]).__name__ == "RangeIndex" and indices[0].start == 0
    return None if is_numbered else Rows(indices[0])


def _span(index: Any) -> str:
    return f"{len(index)} from {index[0]} to {index[-1]}" if len(index) else "none"


def _tables(exog: Any) -> list[Any]:
    return list(exog) if isinstance(exog, (list, tuple)) else [exog]
