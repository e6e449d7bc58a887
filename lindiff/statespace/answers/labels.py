"""Dates and names of data: kept from what a user gives to what comes back."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lindiff.core.variable import Variable
from lindiff.statespace.columns import as_dates, like
from lindiff.statespace.model import real
from lindiff.statespace.partitioned import is_partitioned

__all__ = ["Labels", "labelled", "own"]

NO_FREQUENCY = (
    "The dates have no frequency: forecasts are numbered, and every step counts the same unless the model "
    "was built with these times"
)

UNEVEN = (
    "The rows of y are not evenly spaced: forecasts are numbered, and every step counts the same unless the "
    "model was built with these times"
)


class Labels(NamedTuple):
    """What rows and columns of data are called, and in what form the data came.

    Parameters
    ----------
    rows : pandas.Index or None
        None for NumPy's arrays.
    columns : tuple or None
        Names of what is observed each step; None where nobody gave any.
    single : bool
        Whether the data have one axis, that of time.
    maker : class or None
        xarray's DataArray, for data of this kind.
    dims : tuple of str
        Its names of the axes.
    notes : tuple of str
        What to know of the dates.
    step : number or duration, optional
        From one row to the next, where that is known of rows before these.
    """

    rows: Any = None
    columns: tuple[Any, ...] | None = None
    single: bool = False
    maker: Any = None
    dims: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    step: Any = None

    def table(self, values: Any, rows: Any = None, columns: Any = None) -> Any:
        """Numbers (T,) or (T, k) in the form of the data, with these names or those of the data."""
        if self.rows is None:
            return values
        rows = self.rows if rows is None else rows
        names = self.columns if columns is None else tuple(columns)
        if self.maker is not None:
            return self._of_xarray(values, rows, names)
        import pandas

        if values.ndim == 1:
            name = names[0] if names is not None and len(names) == 1 else None
            return pandas.Series(values, index=rows, name=name)
        return pandas.DataFrame(values, index=rows, columns=None if names is None else list(names))

    def _of_xarray(self, values: Any, rows: Any, names: Any) -> Any:
        dims = self.dims[: values.ndim]
        coords = {dims[0]: rows}
        if values.ndim == 2:
            dims = (dims[0], self.dims[1] if len(self.dims) > 1 else "series")
            if names is not None:
                coords[dims[1]] = list(names)
        return self.maker(values, coords=coords, dims=dims)

    def after(self, steps: int, known: int = 0) -> Any:
        """The names of the rows after the data, of so many steps; from 1 on where dates have no frequency."""
        if self.rows is None:
            return np.arange(known, known + steps)
        import pandas

        found = _continued(self.rows, steps, self.step)
        return pandas.RangeIndex(1, steps + 1) if found is None else found

    def known_step(self) -> Any:
        """From one row of numbers or durations to the next; None where nobody can tell."""
        of_numbers = self.rows is not None and self.rows.dtype.kind in "iufm"
        return _step(self.rows.to_numpy()) if of_numbers and len(self.rows) > 1 else self.step

    def followed_by(self, more: Labels) -> Labels:
        """Of these data, and others after them.

        Raises
        ------
        ValueError
            If the others have no dates, do not follow these, or have other columns.
        """
        if (self.rows is None) != (more.rows is None):
            raise ValueError(
                "append: one of the data has an index and the other none; give both the same form"
            )
        self.check_columns("append", more)
        if self.rows is None or not len(more.rows):
            return self
        expected, rows = _continued(self.rows, len(more.rows), self.step), like(self.rows, more.rows)
        kinds = {self.rows.dtype.kind, rows.dtype.kind}
        if len(self.rows) and len(kinds) > 1 and "M" in kinds:
            raise ValueError(
                f"append: the data end at {self.rows[-1]}, and these begin at {rows[0]}: give both dates"
            )
        of_one_kind = type(self.rows) is type(rows) and len(self.rows) and expected is not None
        if of_one_kind and not _same_rows(expected, rows):
            raise ValueError(
                f"append: the data end at {self.rows[-1]}, so that {expected[0]} comes next, not "
                f"{rows[0]}; give every step, with NaN where nothing was observed"
            )
        both = self.rows.append(rows)
        if of_one_kind and hasattr(both, "freq"):
            both = type(both)(both, freq=expected.freq)
        return self._replace(rows=_checked(both)[0])

    def check_columns(self, name: str, more: Labels, others: bool = False) -> None:
        """Raise unless the columns of other data are those of these; `others` may have other names, but not
        these in another order.

        Raises
        ------
        ValueError
        """
        if self.columns is None or more.columns is None or self.columns == more.columns:
            return
        if not others or sorted(map(str, self.columns)) == sorted(map(str, more.columns)):
            raise ValueError(
                f"{name}: columns {more.columns} are not those of the data, {self.columns}; write "
                f"y[{[*self.columns]}]"
            )

    def check_begins(self, name: str, more: Labels) -> None:
        """Raise unless these rows, or as many of them as there are in others, are the first of the others.

        Raises
        ------
        ValueError
        """
        if self.rows is None or more.rows is None:
            return
        common = min(len(self.rows), len(more.rows))
        old, new = self.rows[:common], like(self.rows, more.rows)[:common]
        for place in np.flatnonzero(old != new)[:1]:
            raise ValueError(
                f"{name}: where the old data have {old[place]}, the new have {new[place]}; give all steps "
                f"from {self.rows[0]} on, with NaN where nothing was observed"
            )

    def place(self, label: Any) -> int:
        """Where a row is: by its name, or by its number in NumPy's arrays.

        Raises
        ------
        KeyError
            If there is none of this name.
        """
        if self.rows is None:
            return int(label)
        return _row(self.rows, label)

    def place_or_after(self, label: Any) -> int:
        """The same, of a row of the data or one of the thousand after them."""
        if self.rows is None or label in self.rows:
            return self.place(label)
        if isinstance(label, int) and self.rows.dtype.kind not in "iuf":
            return label
        return len(self.rows) + _row(self.after(1000), label)


def own(y: Any) -> Any:
    """A copy of data that the caller may write to later."""
    if is_partitioned(y) or type(y) is Variable or not hasattr(y, "copy"):
        return y
    kept = y.copy()
    if type(y).__module__.partition(".")[0] == "pandas":
        kept.index = y.index  # which nobody can change
    return kept


def labelled(name: str, y: Any) -> tuple[Any, Labels]:
    """Data as an array (T,) or (T, p), and its labels.

    Parameters
    ----------
    name : str
        The public function, which errors speak of.
    y : array, pandas.Series, pandas.DataFrame, xarray.DataArray or dask.array.Array

    Raises
    ------
    TypeError
        If there are no real numbers in it.
    ValueError
        If dates are out of order, doubled, or skipped where they have a frequency.
    """
    package = type(y).__module__.partition(".")[0]
    if package == "pandas":
        return _of_pandas(name, y)
    if package == "xarray":
        return _from_xarray(name, y)
    if is_partitioned(y):
        if y.ndim == 3:
            return y, Labels(single=False)  # on its cluster: who asks for one series gets that
        y = y.compute()
    array = real(name, "y", y)
    return array, Labels(single=array.ndim == 1)


def _of_pandas(name: str, y: Any) -> tuple[Any, Labels]:
    single = y.ndim == 1
    columns = (None if y.name is None else (y.name,)) if single else tuple(y.columns)
    if not single and not y.columns.is_unique:
        raise ValueError(f"{name}: y has several columns of one name, {list(y.columns)}: give each its own")
    rows, notes = _checked(as_dates(y.index), name)
    kinds = {y.dtype} if single else set(y.dtypes)
    if all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in kinds):
        values = y.to_numpy()
    else:
        try:
            values = y.to_numpy(np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name}: y has columns that are no numbers ({error}); leave them out") from None
    return real(name, "y", values), Labels(rows, columns, single, notes=notes)


def _from_xarray(name: str, y: Any) -> tuple[Any, Labels]:
    if y.ndim not in (1, 2, 3):
        raise ValueError(
            f"{name}: y has the dimensions {y.dims}; give time, or time and what is observed, or series, "
            f"time and what is observed"
        )
    dims = y.dims[1:] if y.ndim == 3 else y.dims
    rows, notes = _checked(y.get_index(dims[0]), name)
    columns = tuple(y.get_index(dims[1])) if len(dims) == 2 else None
    values = real(name, "y", y.to_numpy())
    return values, Labels(rows, columns, y.ndim == 1, type(y), tuple(map(str, dims)), notes)


def _checked(rows: Any, name: str = "append") -> tuple[Any, tuple[str, ...]]:
    """An index of steps that follow each other, and what to know of it."""
    import pandas

    if isinstance(rows, pandas.MultiIndex):
        raise ValueError(f"{name}: y has an index of several levels; give one series of dates at a time")
    are_dates = isinstance(rows, (pandas.DatetimeIndex, pandas.PeriodIndex))
    if not are_dates and rows.dtype.kind not in "iufm":
        return rows, ()
    what = "dates" if are_dates else "rows"
    if are_dates and rows.hasnans:
        raise ValueError(f"{name}: the index of y has NaT, at row {int(np.flatnonzero(rows.isna())[0])}")
    if not rows.is_unique:
        raise ValueError(
            f"{name}: the {what} of y are doubled, {rows[rows.duplicated()][0]} first; write "
            f"y[~y.index.duplicated()], or take means by y.groupby(level=0).mean()"
        )
    if not rows.is_monotonic_increasing:
        place = int(np.flatnonzero(rows[1:] < rows[:-1])[0])
        raise ValueError(
            f"{name}: the {what} of y are out of order: {rows[place + 1]} comes after {rows[place]}; write "
            f"y.sort_index(){'' if are_dates else ', or y.reset_index(drop=True) if they name no times'}"
        )
    if isinstance(rows, pandas.PeriodIndex):
        whole = pandas.period_range(rows[0], rows[-1], freq=rows.freq) if len(rows) else rows
        if len(whole) != len(rows):
            raise ValueError(
                f"{name}: the dates of y skip {whole.difference(rows)[0]}; write "
                f"y.reindex(pandas.period_range(y.index[0], y.index[-1])), which has NaN for what is missing"
            )
        return rows, ()
    is_even = _step(rows.to_numpy()) if not are_dates else _frequency(rows)
    return rows, (NO_FREQUENCY if are_dates else UNEVEN,) if len(rows) > 2 and is_even is None else ()


def _frequency(rows: Any) -> Any:
    """That of dates, found from them if they do not say; None if there is none."""
    import pandas

    if rows.freq is not None or len(rows) < 3:
        return rows.freq
    return pandas.DatetimeIndex(rows, freq="infer").freq


def _row(rows: Any, label: Any) -> int:
    """Of a label, or a date of coarser resolution, as "2005-02", that is the only one."""
    found = rows.get_loc(label)
    if not isinstance(found, slice):
        return int(found)
    if found.stop - found.start != 1:
        raise KeyError(f"{label} is {found.stop - found.start} steps, {rows[found.start]} the first")
    return int(found.start)


def _continued(rows: Any, steps: int, step: Any = None) -> Any:
    """The names of so many rows after these; None where they do not tell how they go on, nor `step` does."""
    import pandas

    if not len(rows):
        return pandas.RangeIndex(steps)
    if isinstance(rows, pandas.PeriodIndex):
        return pandas.period_range(rows[-1] + 1, periods=steps, freq=rows.freq)
    if isinstance(rows, pandas.DatetimeIndex):
        frequency = _frequency(rows)
        if frequency is None:
            return None
        return pandas.date_range(rows[-1], periods=steps + 1, freq=frequency)[1:]
    if rows.dtype.kind not in "iufm":
        return None
    step = _step(rows.to_numpy()) if step is None or len(rows) > 1 else step
    return None if step is None else pandas.Index(rows.to_numpy()[-1] + np.arange(1, steps + 1) * step)


def _step(rows: Any) -> Any:
    """By which numbers or durations go on, None if that is not always the same."""
    steps = np.diff(rows)
    if not len(steps):
        return rows.dtype.type(1) if rows.dtype.kind in "iuf" else None
    if rows.dtype.kind == "f":
        even = np.allclose(steps, steps[0], rtol=1e-6, atol=0) and steps[0] != 0
        return (rows[-1] - rows[0]) / len(steps) if even else None
    return steps[0] if steps[0] and (steps == steps[0]).all() else None


def _same_rows(expected: Any, rows: Any) -> bool:
    if len(expected) != len(rows):
        return False
    if expected.dtype.kind == "f" and rows.dtype.kind in "iuf":
        return np.allclose(expected, rows, rtol=1e-9, atol=1e-6 * abs(expected[0] - expected[-1]))
    return bool((expected == rows).all())
