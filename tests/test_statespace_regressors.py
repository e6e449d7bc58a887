"""Regressors that are known from dates: values by counting days, in every form of dates."""

import calendar

import numpy as np
import pytest

from lindiff import statespace

MONTHS = np.arange("1999-11", "2002-05", dtype="datetime64[M]")
DATES = [(date.year, date.month) for date in MONTHS.tolist()]


@pytest.fixture(scope="module")
def pd():
    return pytest.importorskip("pandas")


def values(table):
    """Of all columns, (T, k)."""
    return np.stack([np.asarray(table[name]) for name in table], axis=-1)


def test_lengths_of_months():
    days = np.array([calendar.monthrange(*date)[1] for date in DATES])
    np.testing.assert_array_equal(statespace.month_lengths(MONTHS)["month_length"], days - 30.4375)
    leap = [(calendar.isleap(year) - 0.25) * (month == 2) for year, month in DATES]
    np.testing.assert_array_equal(statespace.leap_years(MONTHS)["leap_year"], leap)


def test_years_that_are_no_leap_years():
    found = statespace.leap_years(np.array(["1900-02"], "datetime64[M]"))
    np.testing.assert_array_equal(found["leap_year"], [-0.25])


def test_days_of_the_week():
    found = statespace.trading_days(MONTHS)
    assert list(found) == ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
    for t, (year, month) in enumerate(DATES):
        weeks = np.array(calendar.monthcalendar(year, month))  # columns from Monday on
        counts = (weeks > 0).sum(axis=0)
        np.testing.assert_array_equal([column[t] for column in found.values()], counts[:6] - counts[6])


@pytest.mark.parametrize("freq", ["M", "ME", "MS", "BME", "ME without a word of it", "MS in Berlin"])
def test_months_of_pandas(pd, freq):
    size = len(MONTHS)
    if freq == "M":
        index = pd.period_range("1999-11", periods=size, freq="M")
    else:
        zone = "Europe/Berlin" if "Berlin" in freq else None
        index = pd.date_range("1999-11-01", periods=size, freq=freq.split()[0], tz=zone)
        index = pd.DatetimeIndex(list(index)) if "word" in freq else index
    for regressor in (statespace.month_lengths, statespace.leap_years, statespace.trading_days):
        found = regressor(index)
        assert isinstance(found, pd.DataFrame)
        assert found.index is index
        np.testing.assert_array_equal(values(found), values(regressor(MONTHS)))
    for regressor in (statespace.pulse, statespace.level_shift, statespace.ramp):
        found = regressor(index, "2000-02", name="law")
        assert list(found.columns) == ["law"]
        np.testing.assert_array_equal(values(found), values(regressor(MONTHS, "2000-02")))


def test_quarters_and_years(pd):
    quarters = pd.period_range("1999Q4", periods=9, freq="Q")
    months = np.arange("1999-10", "2002-01", dtype="datetime64[M]")
    for regressor in (statespace.month_lengths, statespace.leap_years, statespace.trading_days):
        expected = values(regressor(months)).reshape(9, 3, -1).sum(axis=1)
        for index in (quarters, quarters.to_timestamp(how="end").normalize(), quarters.to_timestamp()):
            np.testing.assert_allclose(values(regressor(index)), expected)
    years = pd.period_range("1999", periods=3, freq="Y")
    np.testing.assert_array_equal(statespace.leap_years(years)["leap_year"], [-0.25, 0.75, -0.25])
    np.testing.assert_array_equal(statespace.month_lengths(years)["month_length"], [-0.25, 0.75, -0.25])


@pytest.mark.parametrize(
    ("dates", "at"),
    [
        (6, 2),
        (np.arange(1871, 1877), 1873),
        (np.arange("2001-01", "2001-07", dtype="datetime64[M]"), "2001-03"),
        (np.arange("2001-01-01", "2001-01-07", dtype="datetime64[D]"), np.datetime64("2001-01-03")),
        (np.array(["2001-01-31", "2001-02-28", "2001-03-31", "2001-05-31"], "datetime64[D]"), "2001-03"),
    ],
)
def test_interventions(dates, at):
    T = dates if isinstance(dates, int) else len(dates)
    expected = {"pulse": [0, 0, 1, 0, 0, 0], "level_shift": [0, 0, 1, 1, 1, 1], "ramp": [0, 0, 1, 2, 3, 4]}
    for name, column in expected.items():
        found = getattr(statespace, name)(dates, at)
        assert list(found) == [f"{name}({at})"]
        np.testing.assert_array_equal(found[f"{name}({at})"], column[:T])


def test_dates_of_pandas_are_found_by_their_names(pd):
    index = pd.date_range("2001-01-31", periods=6, freq="ME")
    for at in ("2001-03", "2001-03-31", pd.Timestamp("2001-03-31"), index[2]):
        assert statespace.pulse(index, at).to_numpy()[:, 0].tolist() == [0, 0, 1, 0, 0, 0]
    assert statespace.pulse(pd.Index(range(1871, 1877)), 1873)["pulse(1873)"][1873] == 1


def test_regression_on_regressors():
    """The coefficients that made the data are found, by their names."""
    exog = [statespace.level_shift(30, 12, name="law"), statespace.ramp(30, 20), statespace.pulse(30, 5)]
    model = statespace.regression(exog, obs_var=1e-6)
    y = values({**exog[0], **exog[1], **exog[2]}) @ [2.0, -0.5, 7.0]
    found = dict(
        zip(model.components[0].states, statespace.kalman_smoother(y, *model).smoothed_state[0], strict=True)
    )
    assert found == pytest.approx({"law": 2.0, "ramp(20)": -0.5, "pulse(5)": 7.0})


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: statespace.pulse(10, 10),
            ValueError,
            "pulse: at=10 is none of the dates; they go from 0 to 9",
        ),
        (lambda: statespace.pulse(0, 0), ValueError, "none of the dates; there are none"),
        (lambda: statespace.pulse(MONTHS, "2001"), ValueError, "at='2001' is 12 of the dates"),
        (
            lambda: statespace.pulse(MONTHS, "2009-01"),
            ValueError,
            "none of the dates; they go from 1999-11 to 2002",
        ),
        (lambda: statespace.pulse(np.ones(3), 1), TypeError, r"got shape \(3,\) and dtype float64"),
        (lambda: statespace.pulse(True, 1), TypeError, "dates are an index of pandas"),
        (lambda: statespace.level_shift(10, 0), ValueError, "at=0 is the first of the dates"),
        (lambda: statespace.ramp(MONTHS, "1999-11"), ValueError, "at='1999-11' is the first of the dates"),
        (
            lambda: statespace.month_lengths(12),
            TypeError,
            "month_lengths: dates are an index of pandas or an array",
        ),
        (
            lambda: statespace.leap_years(MONTHS[::3]),
            ValueError,
            "leap_years: dates are not those of consecutive",
        ),
        (
            lambda: statespace.trading_days(MONTHS[[0, 0]]),
            ValueError,
            "dates are not those of consecutive months",
        ),
        (lambda: statespace.trading_days(np.array(["NaT"], "datetime64[D]")), TypeError, "without NaT"),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_bad_dates_of_pandas(pd):
    index = pd.date_range("2001-01-31", periods=24, freq="ME")
    with pytest.raises(ValueError, match="at='2001' is 12 of the dates; they go from 2001-01-31"):
        statespace.pulse(index, "2001")
    with pytest.raises(ValueError, match="at='1999-03' is none of the dates"):
        statespace.level_shift(index, "1999-03")
    for dates in (
        pd.date_range("2001-01-01", periods=9, freq="D"),
        pd.period_range("2001", periods=3, freq="W"),
    ):
        with pytest.raises(
            ValueError, match="dates must be months, quarters or years, got those of frequency"
        ):
            statespace.month_lengths(dates)
    with pytest.raises(ValueError, match="dates are not those of consecutive months"):
        statespace.month_lengths(index[[0, 1, 3]])
    with pytest.raises(TypeError, match="without NaT"):
        statespace.month_lengths(pd.DatetimeIndex([pd.NaT, index[0]]))
