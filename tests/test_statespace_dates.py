"""Dates and names of data come back with the answers."""

import pickle

import numpy as np
import pytest

from lindiff.statespace import (
    Analysis,
    Model,
    common,
    fit,
    integrated_random_walk,
    local_level,
    local_linear_trend,
    regression,
)

pd = pytest.importorskip("pandas")

MODEL = local_linear_trend(0.5, 0.1, 1.0)
TWO = Model(0.5 * np.eye(2), np.eye(2), np.eye(2), np.eye(2), np.zeros(2), np.eye(2))
Y = np.random.default_rng(0).normal(size=24)
INDICES = {
    "months": pd.period_range("2001-01", periods=24, freq="M"),
    "days": pd.date_range("2001-01-30", periods=24, freq="D"),
    "days without a word of it": pd.DatetimeIndex(list(pd.date_range("2001-01-30", periods=24, freq="D"))),
    "months' ends": pd.date_range("2001-01-31", periods=24, freq="ME"),
    "years as numbers": pd.Index(range(1871, 1895)),
    "numbers": pd.RangeIndex(24),
}
NEXT = {
    "months": ["2003-01", "2003-02"],
    "days": ["2001-02-23", "2001-02-24"],
    "days without a word of it": ["2001-02-23", "2001-02-24"],
    "months' ends": ["2003-01-31", "2003-02-28"],
    "years as numbers": ["1895", "1896"],
    "numbers": ["24", "25"],
}


@pytest.mark.parametrize("kind", INDICES)
def test_answers_have_the_dates_of_the_data(kind):
    index = INDICES[kind]
    answers = Analysis(MODEL, pd.Series(Y, index, name="sales"))
    assert answers.loglikelihood == Analysis(MODEL, Y).loglikelihood
    for table in (
        answers.residuals,
        answers.components["trend"].smoothed.mean,
        answers.predictions.std_error,
    ):
        assert isinstance(table, pd.Series)
        assert table.index is index
    states = answers.auxiliary_residuals[1]
    assert list(states.columns) == ["level", "slope"]
    ahead = answers.forecast(2)
    assert [str(date)[:10] for date in ahead.mean.index] == NEXT[kind]
    assert type(ahead.mean.index) is type(index) or index.dtype.kind == "i"
    assert list(ahead.to_frame().columns) == ["mean", "std_error", "lower", "upper"]
    assert ahead.mean.name == "sales"
    assert list(ahead.components["trend"].mean.index) == list(ahead.mean.index)


def test_data_frames_keep_their_columns():
    y = pd.DataFrame(
        np.reshape(Y, (12, 2)), pd.period_range("2001Q1", periods=12, freq="Q"), ["gdp", "prices"]
    )
    y.iloc[3, 0] = np.nan
    answers = Analysis(TWO, y)
    assert list(answers.residuals.columns) == ["gdp", "prices"]
    assert list(answers.forecast(3).mean.columns) == ["gdp", "prices"]
    assert str(answers.forecast(1).mean.index[0]) == "2004Q1"
    frame = answers.forecast(2).to_frame()
    assert ("prices", "upper") in frame.columns
    assert answers.news(y.fillna(1.0), "2004Q2", "prices").observed == [(y.index[3], "gdp")]
    assert "gdp" in str(answers.summary())


def test_nullable_columns():
    y = pd.Series([1.0, None, 3.0], dtype="Float64")
    assert Analysis(MODEL, y).loglikelihood == Analysis(MODEL, [1.0, np.nan, 3.0]).loglikelihood
    with pytest.raises(TypeError, match="columns that are no numbers"):
        Analysis(MODEL, pd.Series(["a", "b"]))


def test_data_that_go_on():
    y = pd.Series(Y, INDICES["months"])
    answers = Analysis(MODEL, y[:20])
    both = answers.append(y[20:])
    assert both.y.index.equals(y.index)
    assert both.loglikelihood == Analysis(MODEL, y).loglikelihood
    assert answers.extend(y[20:]).residuals.index.equals(y.index[20:])
    with pytest.raises(ValueError, match="end at 2002-08, so that 2002-09 comes next, not 2002-11"):
        answers.append(y[22:])
    with pytest.raises(ValueError, match="one of the data has an index and the other none"):
        answers.append(Y[20:])


EVEN = {
    "every other": pd.RangeIndex(4, 20, 2),
    "durations": pd.timedelta_range("0h", periods=8, freq="90min"),
    "fractions": pd.Index(np.linspace(0.0, 0.7, 8)),
}
UNEVEN = {
    "numbers": pd.Index([1, 2, 5, 7, 11, 13, 17, 19]),
    "days": pd.DatetimeIndex(["2001-01-02", *(f"2001-02-{day}" for day in (11, 12, 15, 18, 19, 21, 28))]),
    "letters": pd.Index(list("abcdefgh")),
}


@pytest.mark.parametrize("index", [*EVEN.values(), *UNEVEN.values()], ids=[*EVEN, *UNEVEN])
def test_other_indices_go_on(index):
    y = pd.Series(Y[:8], index)
    answers = Analysis(MODEL, y[:6])
    longer = answers.append(y[6:])
    assert longer.y.index.equals(index)
    assert longer.loglikelihood == Analysis(MODEL, y).loglikelihood
    assert answers.news(y, index[7]).after == Analysis(MODEL, Y[:6]).news(Y[:8], 7).after


@pytest.mark.parametrize("frequency", ["B", "ME", "WOM-3FRI", "90min"])
@pytest.mark.parametrize("more", [1, 2, 4])
def test_the_frequency_is_kept(frequency, more):
    index = pd.date_range("2021-01-01", periods=16, freq=frequency)
    answers = Analysis(MODEL, pd.Series(Y[:10], index[:10]))
    new = pd.Series(Y[10 : 10 + more], list(index[10 : 10 + more]))
    for longer in (answers.append(new), answers.extend(new)):
        assert list(longer.forecast(2).mean.index) == list(index[10 + more : 12 + more])
    assert answers.extend(new).y.index.equals(index[10 : 10 + more])


@pytest.mark.parametrize("index", EVEN.values(), ids=EVEN)
def test_steps_are_kept_one_by_one(index):
    y = pd.Series(Y[:8], index)
    answers = Analysis(MODEL, y[:4])
    for t in range(4, 7):
        answers = answers.extend(y[t : t + 1])
    ahead = answers.forecast(1).mean.index
    np.testing.assert_allclose(ahead.to_numpy().astype(float), index[7:].to_numpy().astype(float))


def test_dates_of_python():
    days = pd.date_range("2021-01-01", periods=12, freq="D")
    own = list(days.date)
    x = pd.Series(Y[12:], own, name="price")
    answers = Analysis(regression(x[:10]) + MODEL, pd.Series(Y[:10], own[:10]))
    ahead = answers.forecast(2, exog=x[10:].to_frame()).mean
    assert list(ahead.index) == list(days[10:])
    with pytest.raises(ValueError, match="first unlike at row 0"):
        answers.forecast(2, exog=x[10:][::-1].to_frame())
    with pytest.raises(ValueError, match="so that 2021-01-11 00:00:00 comes next, not 2021-01-10"):
        answers.append(pd.Series(Y[:1], own[9:10]), exog=np.ones((1, 1)))


def test_numbered_data_do_not_follow_dates():
    answers = Analysis(MODEL, pd.Series(Y[:10], INDICES["days"][:10]))
    with pytest.raises(ValueError, match=r"end at 2001-02-08 .*, and these begin at 0: give both dates"):
        answers.append(pd.Series(Y[10:12]))


@pytest.mark.parametrize("index", [pd.Index(range(1960, 1972)), pd.Index(list("abcdefghijkl"))])
def test_explanatory_variables_of_other_rows(index):
    x, y = pd.Series(Y[12:], index, name="price"), pd.Series(Y[:12], index)
    rest = local_level(0.5, 1.0)
    answers = Analysis(regression(x) + rest, y)
    assert answers.loglikelihood == Analysis(regression(x.to_numpy()) + rest, Y[:12]).loglikelihood
    with pytest.raises(ValueError, match="first unlike at row 0"):
        Analysis(regression(x[::-1]) + rest, y)
    assert Analysis(regression(x[::-1].reset_index(drop=True)) + rest, y).loglikelihood


@pytest.mark.parametrize("index", EVEN.values(), ids=EVEN)
def test_even_steps_are_known_ahead(index):
    ahead = Analysis(MODEL, pd.Series(Y[:6], index[:6])).forecast(2).mean.index
    np.testing.assert_allclose(ahead.to_numpy().astype(float), index[6:].to_numpy().astype(float))


@pytest.mark.parametrize("index", UNEVEN.values(), ids=UNEVEN)
def test_others_are_numbered(index):
    assert list(Analysis(MODEL, pd.Series(Y[:6], index[:6])).forecast(2).mean.index) == [1, 2]


def test_news_of_dates_in_text():
    y = pd.Series(Y[:14], pd.date_range("2001-01", periods=14, freq="MS"))
    answers = Analysis(MODEL, y[:12])
    expected = answers.news(y, y.index[13]).after
    assert answers.news(y, "2002-02").after == answers.news(y, "2002-02-01").after == expected
    assert answers.news(y, "2002-03").after == answers.news(y, pd.Timestamp("2002-03-01")).after
    assert answers.news(y, 13).after == expected
    with pytest.raises(ValueError, match=r"news: 2001 is no step .*2001 is 12 steps, 2001-01-01"):
        answers.news(y, "2001")
    with pytest.raises(ValueError, match=r"where the old data have 2001-03-01 .*, the new have 2001-04-01"):
        answers.news(y.drop(y.index[2]), "2002-02")


def test_dates_that_do_not_fit():
    index = INDICES["days"]
    with pytest.raises(ValueError, match="out of order: 2001-01-31 00:00:00 comes after 2001-02-01"):
        Analysis(MODEL, pd.Series(Y[:3], index[[0, 2, 1]]))
    with pytest.raises(ValueError, match="doubled, 2001-01-31 00:00:00 first"):
        Analysis(MODEL, pd.Series(Y[:3], index[[0, 1, 1]]))
    with pytest.raises(ValueError, match=r"skip 2001-03; write y\.reindex"):
        Analysis(MODEL, pd.Series(Y[:3], INDICES["months"][[0, 1, 3]]))
    with pytest.raises(ValueError, match="NaT, at row 1"):
        Analysis(MODEL, pd.Series(Y[:2], pd.DatetimeIndex(["2001-01-01", None])))
    with pytest.raises(ValueError, match="several levels"):
        Analysis(MODEL, pd.Series(Y[:2], pd.MultiIndex.from_tuples([(0, 1), (0, 2)])))


def test_dates_without_a_frequency():
    index = pd.DatetimeIndex(["2001-01-01", "2001-01-02", "2001-01-05", "2001-01-20"])
    answers = Analysis(local_level(1.0, 1.0), pd.Series(Y[:4], index))
    assert "no frequency" in answers.notes[0]
    assert answers.notes[0] in str(answers.summary())
    assert list(answers.forecast(2).mean.index) == [1, 2]


def test_models_that_know_the_times_need_no_note():
    index = pd.DatetimeIndex(["2001-01-01", "2001-01-02", "2001-01-05", "2001-01-20"])
    build = lambda times: integrated_random_walk(times, 0.5, 1.0, unit="D")
    answers = Analysis(build(index), pd.Series(Y[:4], index))
    assert answers.notes == ()
    with pytest.raises(ValueError, match=r"the steps of the model are of .*, first unlike at row 3"):
        Analysis(build(index[[0, 1, 2]].append(pd.DatetimeIndex(["2001-02-01"]))), pd.Series(Y[:4], index))
    more = index.append(pd.DatetimeIndex(["2001-02-01", "2001-03-01"]))
    assert answers.forecast(2, model=build(more)).mean.index.equals(more[4:])


def test_arrays_of_xarray():
    xarray = pytest.importorskip("xarray")
    y = xarray.DataArray(
        np.reshape(Y, (12, 2)),
        dims=("time", "place"),
        coords={"time": pd.date_range("2001", periods=12, freq="D"), "place": ["a", "b"]},
    )
    answers = Analysis(TWO, y)
    residuals = answers.residuals
    assert isinstance(residuals, xarray.DataArray)
    assert residuals.dims == ("time", "place")
    assert list(residuals["place"].values) == ["a", "b"]
    ahead = answers.forecast(2).mean
    assert str(ahead["time"].values[0])[:10] == "2001-01-13"
    one = Analysis(MODEL, y[:, 0])
    assert one.components["trend"].smoothed.mean.dims == ("time",)
    for each in (answers, one):
        assert each.plot_forecast(2).axes
        assert each.plot_components().axes
        assert each.plot_states().axes
        assert each.plot_diagnostics().axes


DAYS = pd.date_range("2020-01-01", periods=24, freq="D")


def test_no_steps_ahead():
    ahead = Analysis(MODEL, pd.Series(Y, DAYS)).forecast(0)
    assert len(ahead.mean) == 0
    assert ahead.to_frame().shape == (0, 4)
    assert str(ahead) == ""


# -- panels ------------------------------------------------------------------------------------------------


def test_panels_of_xarray():
    xr = pytest.importorskip("xarray")
    values = np.random.default_rng(2).normal(size=(3, 24, 1))
    y = xr.DataArray(
        values, dims=("firm", "day", "what"), coords={"firm": ["a", "b", "c"], "day": DAYS, "what": ["sold"]}
    )
    found, plain = (fit(local_level, each, progress=False) for each in (y, values))
    assert found.loglikelihood == plain.loglikelihood
    one, same = found.series("b"), plain.series(1)
    assert one.loglikelihood == same.loglikelihood
    assert one.forecast(2).mean["day"].to_numpy()[0] == np.datetime64("2020-01-25")
    np.testing.assert_array_equal(same.y, values[1])
    with pytest.raises(KeyError):
        found.series("d")
    with pytest.raises(ValueError, match="y is one series, whose answers this result has itself"):
        fit(local_level, Y, progress=False).series(0)


def test_series_of_a_panel_with_matrices_of_their_own():
    values = np.random.default_rng(2).normal(size=(3, 24, 1))
    scales = np.array([1.0, 2.0, 3.0])

    def build(level_var):
        return local_level(level_var, 1.0)._replace(obs_cov=scales[:, None, None, None])

    found = fit(build, values, progress=False)
    for i, scale in enumerate(scales):
        expected = Analysis(local_level(found.params["level_var"], scale), values[i]).loglikelihood
        assert found.series(i).loglikelihood == pytest.approx(expected, rel=1e-12)


# -- explanatory variables ---------------------------------------------------------------------------------

EXOG = pd.DataFrame(
    np.random.default_rng(1).normal(size=(30, 2)),
    pd.period_range("2001-01", periods=30, freq="M"),
    ["price", "weather"],
)
SALES = pd.Series(Y, INDICES["months"])
LATER = EXOG[24:]


def with_exog(exog, level_var=0.3, obs_var=1.0):
    return regression(exog) + local_level(level_var, obs_var)


def test_explanatory_variables_are_taken_by_their_names():
    answers = Analysis(with_exog(EXOG[:24]), SALES)
    expected = answers.forecast(6, exog=LATER.to_numpy()).mean
    for exog in (
        LATER,
        LATER[["weather", "price"]],
        {"weather": LATER.weather.to_numpy(), "price": LATER.price.to_numpy()},
        [LATER[["weather"]], LATER[["price"]]],
    ):
        np.testing.assert_array_equal(answers.forecast(6, exog=exog).mean, expected)
    draws = [answers.simulate(6, 0, exog=exog) for exog in (LATER.to_numpy(), LATER[["weather", "price"]])]
    np.testing.assert_array_equal(*draws)
    more = pd.Series(np.ones(6), LATER.index)
    both = answers.append(more, exog=LATER[["weather", "price"]])
    assert both.loglikelihood == Analysis(with_exog(EXOG), pd.concat([SALES, more])).loglikelihood
    new = answers.extend(more, exog=LATER[["weather", "price"]])
    assert answers.loglikelihood + new.loglikelihood == pytest.approx(both.loglikelihood)


def test_a_series_is_a_column():
    price = EXOG["price"]
    model = with_exog(price[:24])
    assert model.components[0].states == ("price",)
    assert model.dates.equals(EXOG.index[:24])
    answers = Analysis(model, SALES)
    expected = answers.forecast(6, exog=LATER[["price"]]).mean
    for exog in (LATER["price"], LATER["price"].rename(None), LATER["price"].to_numpy()):
        np.testing.assert_array_equal(answers.forecast(6, exog=exog).mean, expected)
    with pytest.raises(ValueError, match="exog is of 2002-12 to 2003-05"):
        answers.forecast(6, exog=price[23:29].rename(None))
    nameless = regression(price.rename(None))
    assert nameless.components[0].states == ("coefficient[0]",)
    assert nameless.dates.equals(EXOG.index)
    both = regression([price, EXOG["weather"]])
    assert both.components[0].states == ("price", "weather")
    np.testing.assert_array_equal(regression(price.to_numpy()).design, regression(price).design)


def test_columns_keep_their_names_in_a_named_component():
    named = regression(EXOG).named("demand")
    assert named.components[0][:2] == ("demand", ("price", "weather"))
    assert regression(EXOG).named("demand", "a", "b").components[0].states == ("a", "b")


def test_all_columns_or_those_that_vary():
    """A constant, or a pulse that has not come, is a column like others."""
    exog = EXOG.assign(constant=1.0, holiday=np.arange(30) == 26)
    answers = Analysis(regression(exog[["constant", "price"]][:24], obs_var=1.0), SALES)
    expected = answers.forecast(6, exog=LATER[["price"]]).mean
    for columns in (["constant", "price"], ["price"]):
        np.testing.assert_array_equal(answers.forecast(6, exog=exog[columns][24:].to_numpy()).mean, expected)
    with pytest.raises(ValueError, match=r"must be of shape \(6, 2\): .* column for each of constant, price"):
        answers.forecast(6, exog=np.ones((6, 3)))
    quiet = Analysis(regression(exog[["constant"]][:24], obs_var=1.0), SALES)
    assert quiet.forecast(6, exog=2 * np.ones((6, 1))).mean.iloc[0] == pytest.approx(2 * SALES.mean())
    with pytest.raises(ValueError, match=r"\(6, 1\): .* a column for each of constant"):
        quiet.forecast(6, exog=np.ones((6, 2)))


def test_a_constant_regressor_goes_on():
    constant = pd.DataFrame({"constant": np.ones(24)}, EXOG.index[:24])
    ahead = Analysis(regression(constant, obs_var=1.0), SALES).forecast(2)
    np.testing.assert_allclose(ahead.mean, SALES.mean())


@pytest.mark.parametrize(
    ("exog", "says"),
    [
        (LATER[["price"]], "exog has no column weather"),
        (LATER.assign(holiday=1.0), "exog has holiday, which is no state"),
        (
            EXOG[23:29],
            "exog is of 2002-12 to 2003-05, 6 steps, the steps after the data are of 2003-01 to 2003-06",
        ),
        (
            LATER[:4],
            "exog is of 2003-01 to 2003-04, 4 steps, the steps after the data are of 2003-01 to 2003-06",
        ),
        (None, r"loadings of price, weather vary with time: give exog=, an array of shape \(6, 2\)"),
        (LATER.to_numpy()[:, :1], r"exog of shape \(6, 1\) must be of shape \(6, 2\)"),
    ],
)
def test_explanatory_variables_that_do_not_fit_to_the_steps(exog, says):
    with pytest.raises(ValueError, match=says):
        Analysis(with_exog(EXOG[:24]), SALES).forecast(6, exog=exog)


def test_explanatory_variables_of_other_dates_than_the_data():
    with pytest.raises(
        ValueError, match="model are of 2001-02 to 2003-01, 24 steps, the data are of 2001-01"
    ):
        Analysis(with_exog(EXOG[1:25]), SALES)
    with pytest.raises(
        ValueError, match="are of 2001-01 to 2003-06, 30 steps, the data are of 2001-01 to 2002-12"
    ):
        Analysis(with_exog(EXOG), SALES)
    skipping = EXOG[:25].drop(EXOG.index[7])
    with pytest.raises(ValueError, match="first unlike at row 7; write"):
        fit(lambda level_var: with_exog(skipping, level_var), SALES, progress=False)
    with pytest.raises(ValueError, match="weather is of 2001-02 to 2001-04, 3 steps"):
        regression({"price": EXOG.price[:3], "weather": EXOG.weather[1:4]})
    with pytest.raises(ValueError, match=r"Model \+ Model: the steps are of 2001-01"):
        regression(EXOG[["price"]]) + regression(EXOG[["weather"]][::-1])
    quarters = pd.Series(Y, pd.period_range("2001Q1", periods=24, freq="Q"))
    with pytest.raises(ValueError, match="the data are of 2001Q1 to 2006Q4"):
        Analysis(with_exog(EXOG[:24]), quarters)


def test_dates_of_explanatory_variables_stay_with_a_model():
    model = regression(EXOG)
    for other in (
        model + local_level(1.0),
        local_level(1.0) + model,
        model + regression(np.ones((30, 1))),
        model.named("demand"),
        common(model, [1.0, 0.5]),
        model._replace(obs_cov=np.ones(1)),
        pickle.loads(pickle.dumps(model)),
    ):
        assert other.dates.equals(EXOG.index)
    assert model.at_dates(None).dates is None
    assert model.at_dates(None).components == model.components
    assert local_level(1.0).dates is None


def test_dates_and_periods_are_compared_by_their_periods():
    days = pd.date_range("2001-01-01", periods=24, freq="MS")
    plain = Analysis(with_exog(EXOG[:24].to_numpy()), SALES).loglikelihood
    assert Analysis(with_exog(EXOG[:24]), pd.Series(Y, days)).loglikelihood == plain
    assert Analysis(with_exog(EXOG[:24].reset_index(drop=True)), SALES).loglikelihood == plain
    assert Analysis(with_exog(EXOG[:24]), Y).loglikelihood == plain
    with pytest.raises(ValueError, match=r"the steps of the model are of 2001-02 to 2003-01, .* 2001-01 to"):
        Analysis(with_exog(EXOG[1:25]), pd.Series(Y, days))
    answers = Analysis(with_exog(EXOG[:24]), SALES)
    later = pd.Series(np.ones(2), pd.date_range("2003-01-01", periods=2, freq="MS"))
    joined = answers.append(later, exog=LATER[:2])
    assert joined.y.index.equals(EXOG.index[:26])
    with pytest.raises(ValueError, match="2003-01 comes next, not 2003-02"):
        answers.append(later[1:], exog=LATER[1:2])


def test_columns_in_another_order():
    """Loadings belong to columns: other data have them in the order of the data."""
    y = pd.DataFrame(np.reshape(Y, (12, 2)), pd.period_range("2001Q1", periods=12, freq="Q"), ["u", "v"])
    answers = Analysis(TWO, y.iloc[:-1])
    for ask in (answers.apply, lambda other: answers.news(other, "2003Q4")):
        with pytest.raises(
            ValueError, match=r"columns \('v', 'u'\) are not those of the data.*write y\[\['u', 'v'\]\]"
        ):
            ask(y[["v", "u"]])
    assert (
        answers.apply(y.rename(columns={"u": "x", "v": "z"})).loglikelihood == answers.apply(y).loglikelihood
    )
    with pytest.raises(ValueError, match="news: columns"):
        answers.news(y.rename(columns={"u": "x"}), "2003Q4")


def test_columns_of_two_regressions_keep_their_names():
    model = regression(EXOG[["price"]]) + local_level(0.3) + regression(EXOG[["weather"]])
    assert [part.name for part in model.components] == ["regression", "level", "regression 2"]
    assert [state for part in model.components for state in part.states] == ["price", "level", "weather"]


def test_rows_of_numbers_are_in_order_and_named_once():
    model, y = local_level(0.5, 1.0), pd.Series(np.arange(6.0) ** 2, index=range(2000, 2006))
    for wrong, says in (
        (y[::-1], r"out of order: 2004 comes after 2005; write y.sort_index\(\), or y.reset_index"),
        (y.iloc[[0, 2, 1]], "out of order: 2001 comes after 2002"),
        (pd.concat([y, y[-1:]]), "the rows of y are doubled, 2005 first"),
    ):
        with pytest.raises(ValueError, match=says):
            Analysis(model, wrong)
    found = fit(local_level, y.drop(2003), progress=False)
    assert any("The rows of y are not evenly spaced" in note for note in found.notes)


def test_names_of_states_are_different():
    with pytest.raises(ValueError, match="more than one state of a has the same name"):
        local_linear_trend(1.0, 1.0).named("a", "x", "x")
