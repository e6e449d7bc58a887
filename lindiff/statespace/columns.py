"""Explanatory variables by name: data frames, and dicts of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["columns_by_name"]


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
    names = [str(column) for table in tables for column in table]
    double = sorted({name for name in names if names.count(name) > 1})
    if double or not names:
        wrong = f"more than one column called {', '.join(double)}; rename them" if double else "no columns"
        raise ValueError(f"{function}: exog has {wrong}")
    columns = [table[column] for table in tables for column in table]
    return dict(zip(names, columns, strict=True))
