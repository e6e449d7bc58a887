"""Times of observations, numbers or dates, and what has passed between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import on_host
from lindiff.core.variable import value
from lindiff.numpy import asarray
from lindiff.statespace.builders._arguments import check_shape, reals

__all__ = ["dates_of_steps", "intervals"]

# Those of a fixed length, by pandas' names, with NumPy's.
UNITS = {"W": "W", "D": "D", "h": "h", "min": "m", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}


def intervals(function: str, times: Any, unit: str | None, **arguments: Any) -> tuple[Any, ...]:
    """The T - 1 intervals between times, and the other arguments, as arrays of their common dtype.

    Parameters
    ----------
    function : str
        The public function, which errors speak of.
    times : (T,) array, list, or pandas index or series of dates
    unit : str or None
        For dates: the length of an interval of 1.
    **arguments
        As :func:`reals` takes them.

    Raises
    ------
    TypeError, ValueError
        If times are no numbers or dates, are not finite or do not increase, which names the first that does
        not; if dates have no unit, or numbers have one.
    """
    if getattr(getattr(times, "dtype", None), "tz", None) is not None:  # pandas: clocks that may change
        times = getattr(times, "dt", times).tz_convert(None)
    times = times if hasattr(times, "__array_function__") else asarray(times)
    if times.dtype.kind in "Mm":
        return reals(function, times=_between_dates(function, times, unit), **arguments)
    if times.dtype.kind not in "fiub":
        raise TypeError(
            f"{function}: times has dtype {times.dtype}; numbers are needed, or dates: write "
            f"pandas.to_datetime(times), or times.to_timestamp() for periods"
        )
    if unit is not None:
        raise ValueError(f"{function}: unit={unit!r} is for dates, and times are numbers; leave it out")
    times, *others = reals(function, times=times, **arguments)
    check_shape(function, "times", times, "T")
    _check_order(function, value(times), np.isfinite(value(times)))
    return times[1:] - times[:-1], *others


def dates_of_steps(times: Any) -> Any:
    """Times that are an index of pandas' dates; else None."""
    return times if hasattr(times, "to_period") and hasattr(times, "freq") else None


def _between_dates(function: str, dates: Any, unit: str | None) -> Any:
    if unit not in UNITS:
        raise ValueError(
            f"{function}: times are dates, and unit is {unit!r}: give the length of an interval of 1, one of "
            f"{', '.join(map(repr, UNITS))} (months and years have no fixed one)"
        )
    check_shape(function, "times", dates, "T")
    _check_order(function, dates, ~np.isnat(dates))
    if np.datetime_data(dates.dtype)[0] in "YM":
        dates = dates.astype("datetime64[D]")
    return np.diff(dates) / np.timedelta64(1, UNITS[unit])  # type: ignore[call-overload]


def _check_order(function: str, times: Any, known: Any) -> None:
    if not known.all():
        place = int(np.argmin(on_host(known)))
        raise ValueError(f"{function}: times[{place}] is {times[place]}; only observations can be missing")
    in_order = times[1:] > times[:-1]
    if in_order.all():
        return
    wrong = np.flatnonzero(~on_host(in_order))
    i = int(wrong[0])
    more = f" ({wrong.size - 1} more pairs are not in order)" if wrong.size > 1 else ""
    if times[i + 1] == times[i]:
        raise ValueError(
            f"{function}: times[{i}] and times[{i + 1}] are both {times[i]}{more}; times must increase: make "
            f"one step of observations at one time, by their mean for example"
        )
    raise ValueError(
        f"{function}: times[{i + 1}] = {times[i + 1]} is before times[{i}] = {times[i]}{more}; times must "
        f"increase: sort them, and the observations with them"
    )
