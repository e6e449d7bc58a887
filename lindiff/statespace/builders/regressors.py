"""Explanatory variables that are known from dates alone: interventions and the calendar.

Durbin & Koopman (2012), Time Series Analysis by State Space Methods, section 3.2.5; Bell & Hillmer (1983),
Modeling time series with calendar variation, Journal of the American Statistical Association 78.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["leap_years", "level_shift", "month_lengths", "pulse", "ramp", "trading_days"]

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def pulse(dates: Any, at: Any, name: str | None = None) -> Any:
    """A regressor for what happens once: 1 at a date, 0 otherwise.

    Parameters
    ----------
    dates : int, pandas.DatetimeIndex, pandas.PeriodIndex, or (T,) array of integers or of datetime64
        Those of the data and, to forecast, of the steps after them; or how many steps, which then have the
        numbers 0, 1, ….
    at : int, str, or date
        One of them: ``"2001-09"`` of months.
    name : str, optional
        By default ``pulse(at)``.

    Returns
    -------
    dict of str to (T,) array, or pandas.DataFrame if `dates` are pandas'
        One column, to give to :func:`regression`, several in a list.

    Raises
    ------
    TypeError, ValueError
        If dates have another form, or `at` is not exactly one of them.

    Examples
    --------
    >>> from lindiff import statespace
    >>> statespace.pulse(5, at=2)
    {'pulse(2)': array([0., 0., 1., 0., 0.])}
    >>> exog = [statespace.pulse(5, at=2, name="strike"), statespace.level_shift(5, at=3, name="law")]
    >>> statespace.regression(exog).components[0].states
    ('strike', 'law')
    """
    since = _steps_since("pulse", dates, at)
    return _table(dates, {f"pulse({at})" if name is None else name: since == 0})


def level_shift(dates: Any, at: Any, name: str | None = None) -> Any:
    """A regressor for what changes for good: 0 before a date, 1 from it on.

    Parameters
    ----------
    dates, at
        As :func:`pulse` takes them.
    name : str, optional
        By default ``level_shift(at)``.

    Returns
    -------
    dict of str to (T,) array, or pandas.DataFrame if `dates` are pandas'

    Raises
    ------
    TypeError, ValueError
        As :func:`pulse` does; if there is no step before `at`, to shift from.

    Examples
    --------
    The seat belt law of February 1983, in monthly data:

    >>> import numpy as np
    >>> from lindiff import statespace
    >>> months = np.arange("1969-01", "1985-01", dtype="datetime64[M]")
    >>> law = statespace.level_shift(months, at="1983-02")
    >>> law["level_shift(1983-02)"].sum()
    np.float64(23.0)
    """
    since = _steps_since("level_shift", dates, at, before=True)
    return _table(dates, {f"level_shift({at})" if name is None else name: since >= 0})


def ramp(dates: Any, at: Any, name: str | None = None) -> Any:
    """A regressor for a slope that changes: 0 before a date, then 1, 2, 3, ….

    Parameters
    ----------
    dates, at
        As :func:`pulse` takes them.
    name : str, optional
        By default ``ramp(at)``.

    Returns
    -------
    dict of str to (T,) array, or pandas.DataFrame if `dates` are pandas'

    Raises
    ------
    TypeError, ValueError
        As :func:`pulse` does; if there is no step before `at`.

    Examples
    --------
    >>> from lindiff import statespace
    >>> statespace.ramp(5, at=2)
    {'ramp(2)': array([0., 0., 1., 2., 3.])}
    """
    since = _steps_since("ramp", dates, at, before=True)
    return _table(dates, {f"ramp({at})" if name is None else name: np.maximum(since + 1, 0)})


def month_lengths(dates: Any) -> Any:
    """A regressor of how many days a month, or quarter, has more than on average.

    Parameters
    ----------
    dates : pandas.DatetimeIndex, pandas.PeriodIndex, or (T,) array of datetime64
        Months; of pandas quarters or years, too.

    Returns
    -------
    dict of str to (T,) array, or pandas.DataFrame if `dates` are pandas'
        "month_length": days minus 365.25/12 for each month.

    Raises
    ------
    TypeError, ValueError
        If `dates` are no dates, or not of months, quarters or years.

    Notes
    -----
    Beside a seasonal component, which has the lengths of ordinary years, only leap years are left: then
    :func:`leap_years` says the same.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> statespace.month_lengths(np.arange("2024-01", "2024-04", dtype="datetime64[M]"))
    {'month_length': array([ 0.5625, -1.4375,  0.5625])}
    """
    starts, ends, months = _months("month_lengths", dates)
    days = (ends - starts).astype(np.int64)
    return _table(dates, {"month_length": days - 365.25 * months / 12})


def leap_years(dates: Any) -> Any:
    """A regressor for February's 29th day: 0.75 in leap years, -0.25 in others, 0 in other months.

    Parameters
    ----------
    dates : pandas.DatetimeIndex, pandas.PeriodIndex, or (T,) array of datetime64
        Months; of pandas quarters or years, too, of which those with a February count.

    Returns
    -------
    dict of str to (T,) array, or pandas.DataFrame if `dates` are pandas'
        "leap_year".

    Raises
    ------
    TypeError, ValueError
        If `dates` are no dates, or not of months, quarters or years.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff import statespace
    >>> statespace.leap_years(np.arange("2024-01", "2024-04", dtype="datetime64[M]"))
    {'leap_year': array([0.  , 0.75, 0.  ])}
    """
    starts, _, months = _months("leap_years", dates)
    starts = starts.astype("datetime64[M]")
    to_february = (1 - starts.astype(np.int64)) % 12  # months until the next one; January 1970 is month 0
    february = starts + to_february
    days = ((february + 1).astype("datetime64[D]") - february.astype("datetime64[D]")).astype(np.int64)
    return _table(dates, {"leap_year": np.where(to_february < months, (days == 29) - 0.25, 0.0)})


def trading_days(dates: Any) -> Any:
    """Six regressors of which days of the week a month or quarter has more often than Sundays.

    Parameters
    ----------
    dates : pandas.DatetimeIndex, pandas.PeriodIndex, or (T,) array of datetime64
        Months; of pandas quarters or years, too.

    Returns
    -------
    dict of str to (T,) array, or pandas.DataFrame if `dates` are pandas'
        "monday" to "saturday": how many there are, minus the number of Sundays.

    Raises
    ------
    TypeError, ValueError
        If `dates` are no dates, or not of months, quarters or years.

    Notes
    -----
    The coefficients are by how much a day is above the mean of a week; that of Sundays is minus their sum.
    The length of the month is apart, :func:`month_lengths` or :func:`leap_years`.

    Examples
    --------
    January 2024 began with a Monday and had 31 days:

    >>> import numpy as np
    >>> from lindiff import statespace
    >>> days = statespace.trading_days(np.array(["2024-01"], dtype="datetime64[M]"))
    >>> [int(count[0]) for count in days.values()]
    [1, 1, 1, 0, 0, 0]
    """
    starts, ends, _ = _months("trading_days", dates)
    counts = [np.busday_count(starts, ends, weekmask=np.arange(7) == day) for day in range(7)]
    return _table(dates, {day: counts[i] - counts[-1] for i, day in enumerate(WEEKDAYS[:-1])})


# -- dates -------------------------------------------------------------------------------------------------


def _table(dates: Any, columns: dict[str, Any]) -> Any:
    """In the form of the dates: a data frame where they are an index of pandas."""
    columns = {name: column.astype(np.float64) for name, column in columns.items()}
    if not _is_index(dates):
        return columns
    import pandas

    return pandas.DataFrame(columns, index=dates)


def _is_index(dates: Any) -> bool:
    """Whether they are an index of pandas."""
    return hasattr(dates, "get_indexer_for")


def _steps_since(function: str, dates: Any, at: Any, before: bool = False) -> Any:
    """How many steps each of the dates is after `at`, negative before it.

    Raises
    ------
    TypeError, ValueError
    """
    if isinstance(dates, (int, np.integer)) and not isinstance(dates, bool):
        dates = np.arange(dates)
    places = _places(function, dates, at)
    if len(places) != 1:
        span = f"they go from {dates[0]} to {dates[-1]}" if len(dates) else "there are none"
        found = f"{len(places)} of the dates" if len(places) else "none of the dates"
        raise ValueError(f"{function}: at={at!r} is {found}; {span}")
    if before and places[0] == 0:
        raise ValueError(
            f"{function}: at={at!r} is the first of the dates; without a step before, nothing changes there"
        )
    return np.arange(len(dates)) - places[0]


def _places(function: str, dates: Any, at: Any) -> Any:
    """Where `at` is among the dates."""
    if _is_index(dates):  # which knows what "2001-09" means
        try:
            return np.atleast_1d(np.arange(len(dates))[dates.get_loc(at)])
        except KeyError:
            return np.empty(0, np.int64)
    dates = np.asarray(dates)
    if dates.ndim != 1 or dates.dtype.kind not in "iuM":
        raise TypeError(
            f"{function}: dates are an index of pandas, an array of datetime64 or integers, or the number of "
            f"steps, got shape {dates.shape} and dtype {dates.dtype}"
        )
    if dates.dtype.kind != "M":
        return np.flatnonzero(dates == at)
    at = np.datetime64(at)
    unit = np.datetime_data(at.dtype)[0]
    return np.flatnonzero(dates.astype(f"datetime64[{unit}]") == at)


def _months(function: str, dates: Any) -> tuple[Any, Any, Any]:
    """First days, those after the last, and how many months lie between.

    Raises
    ------
    TypeError, ValueError
    """
    periods = _periods(dates)
    if periods is not None:
        starts, ends = (_days(x.to_timestamp()) for x in (periods, periods + 1))
    else:
        plain = np.asarray(dates)
        if plain.ndim != 1 or plain.dtype.kind != "M" or np.isnat(plain).any():
            raise TypeError(
                f"{function}: dates are an index of pandas or an array of datetime64, without NaT, got shape "
                f"{plain.shape} and dtype {plain.dtype}"
            )
        firsts = plain.astype("datetime64[M]")
        starts, ends = _days(firsts), _days(firsts + 1)
        if (starts[1:] != ends[:-1]).any():
            raise ValueError(
                f"{function}: dates are not those of consecutive months; write quarters and years, and "
                f"months with gaps, as pandas.PeriodIndex(dates, freq='Q')"
            )
    first, last = (x.astype("datetime64[M]") for x in (starts, ends))
    months = (last - first).astype(np.int64)
    if (months < 1).any() or (_days(first) != starts).any() or (_days(last) != ends).any():
        raise ValueError(
            f"{function}: dates must be months, quarters or years, got those of frequency {periods.freqstr}"
        )
    return starts, ends, months


def _periods(dates: Any) -> Any:
    """A PeriodIndex; None for what is none of pandas, or has no frequency."""
    if hasattr(dates, "to_timestamp"):
        return dates
    if not hasattr(dates, "to_period"):
        return None
    if dates.freq is None and len(dates) > 2 and not dates.hasnans:
        dates = type(dates)(dates, freq="infer")
    if dates.freq is None:
        return None
    return (dates if dates.tz is None else dates.tz_localize(None)).to_period()


def _days(dates: Any) -> Any:
    return np.asarray(dates).astype("datetime64[D]")
