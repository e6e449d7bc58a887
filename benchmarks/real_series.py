"""Fits of real series beside statsmodels': ``python -m benchmarks.real_series``.

The same models of the same data: what both find, from their own starts and from poor ones, what each costs,
and whether likelihood, standard errors, forecasts, their intervals and tests of residuals agree at one point.
The data come with statsmodels, or lie in `examples/data`.  Prints a table, writes `results/real_series.csv`.
"""

from __future__ import annotations

import argparse
import functools
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm
from statsmodels.tsa.statespace.tests.results import results_sarimax

from lindiff import statespace

DATA = Path(__file__).parent.parent / "examples" / "data"
STEPS = 12
LOST = 1e-3  # of a log likelihood: a search that loses more has missed the maximum


@dataclass(frozen=True)
class Series:
    """A series, a model of lindiff's and the same of statsmodels'.

    `theirs` takes the data; `vector` makes statsmodels' parameters of lindiff's.
    """

    name: str
    model: str
    data: Callable[[], Any]
    build: Callable[..., statespace.Model]
    theirs: Callable[[Any], Any]
    vector: Callable[[dict[str, Any]], list[Any]]
    start: dict[str, Any] | None = None
    transforms: dict[str, Any] = field(default_factory=dict)
    poor: tuple[dict[str, Any], ...] = ()


# -- data --------------------------------------------------------------------------------------------------


def nile() -> Any:
    data = sm.datasets.nile.load_pandas().data
    return pd.Series(data["volume"].to_numpy(), pd.period_range("1871", periods=len(data), freq="Y"))


def airline() -> Any:
    y = np.log(np.loadtxt(DATA / "airline.csv", delimiter=",", skiprows=1, usecols=1))
    return pd.Series(y, pd.period_range("1949-01", periods=len(y), freq="M"))


def co2() -> Any:
    return sm.datasets.co2.load_pandas().data["co2"].resample("MS").mean()


def sunspots() -> Any:
    data = sm.datasets.sunspots.load_pandas().data
    return pd.Series(data["SUNACTIVITY"].to_numpy(), pd.period_range("1700", periods=len(data), freq="Y"))


def macro(*names: str, growth: bool = False) -> Any:
    data = sm.datasets.macrodata.load_pandas().data
    data.index = pd.period_range("1959Q1", periods=len(data), freq="Q")
    found = data[list(names)]
    found = 100 * np.log(found).diff().iloc[1:] if growth else found
    return found[names[0]] if len(names) == 1 else found


def elnino() -> Any:
    data = sm.datasets.elnino.load_pandas().data
    y = data.iloc[:, 1:].to_numpy().ravel()
    return pd.Series(y, pd.period_range("1950-01", periods=len(y), freq="M"))


@functools.cache  # models are built of it, evaluation by evaluation
def copper() -> tuple[Any, Any]:
    """Consumption and, beside it, price and income, centred."""
    data = sm.datasets.copper.load_pandas().data
    data.index = pd.period_range("1951", periods=len(data), freq="Y")
    exog = np.log(data[["COPPERPRICE", "INCOMEINDEX"]])
    return np.log(data["WORLDCONSUMPTION"]), (exog - exog.mean()).to_numpy()


def interest_inflation() -> Any:
    data = sm.datasets.interest_inflation.load_pandas().data[["Dp", "R"]]
    data.index = pd.period_range("1972Q2", periods=len(data), freq="Q")
    return 100 * (data - data.mean())


def wholesale_prices() -> Any:
    y = np.array(results_sarimax.wpi1_data)
    return pd.Series(y, pd.period_range("1960Q1", periods=len(y), freq="Q"))


def danish_money() -> Any:
    data = sm.datasets.danish_data.load_pandas().data[["lrm", "lry"]]
    data.index = pd.period_range("1974Q1", periods=len(data), freq="Q")
    growth = 100 * data.diff().iloc[1:]
    return growth - growth.mean()


# -- models ------------------------------------------------------------------------------------------------


def structural(level: str, **options: Any) -> Callable[[Any], Any]:
    return lambda y: sm.tsa.UnobservedComponents(y, level, use_exact_diffuse=True, **options)


def arma_about_a_mean(mean: Any, ar: Any, ma: Any, innovation_var: Any) -> statespace.Model:
    return statespace.arma(ar, ma, innovation_var)._replace(obs_intercept=np.reshape(mean, 1))


def trend_and_seasons(level_var: Any, slope_var: Any, seasonal_var: Any, obs_var: Any) -> statespace.Model:
    return statespace.local_linear_trend(level_var, slope_var, obs_var) + statespace.seasonal(
        12, seasonal_var
    )


def level_and_seasons(level_var: Any, seasonal_var: Any, obs_var: Any) -> statespace.Model:
    return statespace.local_level(level_var, obs_var) + statespace.seasonal(12, seasonal_var)


def multiplicative(ma: Any, seasonal_ma: Any, innovation_var: Any) -> statespace.Model:
    """The airline model."""
    return statespace.sarima(
        (), ma, innovation_var, difference=1, period=12, seasonal_ma=seasonal_ma, seasonal_difference=1
    )


def integrated(ar: Any, ma: Any, innovation_var: Any) -> statespace.Model:
    return statespace.sarima(ar, ma, innovation_var, difference=1)


def level_beside_copper(level_var: Any, obs_var: Any) -> statespace.Model:
    return statespace.local_level(level_var, obs_var) + statespace.regression(copper()[1])


def variance_starts(*names: str) -> tuple[dict[str, float], ...]:
    """Poor ones: all tiny, all huge, each tiny beside others that are huge."""
    return (
        dict.fromkeys(names, 1e-8),
        dict.fromkeys(names, 1e6),
        *(dict.fromkeys(names, 1e3) | {name: 1e-8} for name in names),
    )


def arma_starts(start: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Poor ones: coefficients near both ends of what is allowed."""
    ends = []
    for x in (2.0, -2.0):
        ends.append(
            {
                name: statespace.stationary.constrain(np.full(np.shape(value), x))
                if name in SHAPED
                else value
                for name, value in start.items()
            }
        )
    return tuple(ends)


SHAPED = {"ar", "ma", "seasonal_ma"}
ARMA = {"ar": "stationary", "ma": "invertible", "innovation_var": "positive"}


def arma_series(name: str, data: Callable[[], Any], p: int, q: int) -> Series:
    start = {"mean": 0.0, "ar": np.zeros(p), "ma": np.zeros(q), "innovation_var": None}
    return Series(
        name, f"ARMA({p}, {q}) about a mean", data, arma_about_a_mean,
        lambda y: sm.tsa.SARIMAX(y, order=(p, 0, q), trend="c"),
        lambda v: [v["mean"] * (1 - np.sum(v["ar"])), *v["ar"], *v["ma"], v["innovation_var"]],
        start, ARMA, arma_starts(start),
    )  # fmt: skip


def var_series(name: str, data: Callable[[], Any]) -> Series:
    def vector(v: dict[str, Any]) -> list[Any]:
        triangle = np.linalg.cholesky(v["innovation_cov"])[np.tril_indices(2)]
        return [*np.ravel(v["coefficients"]), *triangle]

    start = {"coefficients": np.zeros((2, 2)), "innovation_cov": np.eye(2)}
    poor = tuple(
        {"coefficients": c * np.eye(2), "innovation_cov": s * np.eye(2)}
        for c, s in ((0.9, 1e-4), (-0.9, 1e4))
    )
    return Series(
        name, "VAR(1)", data, statespace.var,
        lambda y: sm.tsa.VARMAX(y, order=(1, 0), trend="n"), vector,
        start, {"coefficients": "stationary_var", "innovation_cov": "covariance"}, poor,
    )  # fmt: skip


def growth_of_three() -> Any:
    y = macro("realgdp", "realcons", "realinv", growth=True)
    return (y - y.mean()) / y.std()


def one_factor(loadings: Any, factor_ar: Any, obs_var: Any) -> statespace.Model:
    return statespace.dynamic_factor(np.reshape(loadings, (3, 1)), np.reshape(factor_ar, (1, 1, 1)), obs_var)


FACTOR_START = {"loadings": np.full(3, 0.5), "factor_ar": np.zeros(1), "obs_var": np.ones(3)}


SERIES = (
    Series(
        "Nile", "local level", nile, statespace.local_level, structural("llevel"),
        lambda v: [v["obs_var"], v["level_var"]], poor=variance_starts("level_var", "obs_var"),
    ),
    Series(
        "airline passengers", "trend, seasons", airline, trend_and_seasons,
        structural("lltrend", seasonal=12),
        lambda v: [v["obs_var"], v["level_var"], v["slope_var"], v["seasonal_var"]],
        poor=variance_starts("level_var", "slope_var", "seasonal_var", "obs_var"),
    ),
    Series(
        "airline passengers", "SARIMA(0,1,1)(0,1,1)12", airline, multiplicative,
        lambda y: sm.tsa.SARIMAX(y, order=(0, 1, 1), seasonal_order=(0, 1, 1, 12), use_exact_diffuse=True),
        lambda v: [*v["ma"], *v["seasonal_ma"], v["innovation_var"]],
        {"ma": [0.0], "seasonal_ma": [0.0], "innovation_var": None},
        {"ma": "invertible", "seasonal_ma": "invertible", "innovation_var": "positive"},
        arma_starts({"ma": [0.0], "seasonal_ma": [0.0], "innovation_var": None}),
    ),
    Series(
        "carbon dioxide", "trend, seasons", co2, trend_and_seasons, structural("lltrend", seasonal=12),
        lambda v: [v["obs_var"], v["level_var"], v["slope_var"], v["seasonal_var"]],
        poor=variance_starts("level_var", "slope_var", "seasonal_var", "obs_var"),
    ),
    arma_series("sunspots", sunspots, 3, 0),
    Series(
        "El Niño", "level, seasons", elnino, level_and_seasons, structural("llevel", seasonal=12),
        lambda v: [v["obs_var"], v["level_var"], v["seasonal_var"]],
        poor=variance_starts("level_var", "seasonal_var", "obs_var"),
    ),
    Series(
        "US product (log)", "local linear trend", lambda: 100 * np.log(macro("realgdp")),
        statespace.local_linear_trend, structural("lltrend"),
        lambda v: [v["obs_var"], v["level_var"], v["slope_var"]],
        poor=variance_starts("level_var", "slope_var", "obs_var"),
    ),
    arma_series("US inflation", lambda: macro("infl"), 1, 1),
    arma_series("US unemployment", lambda: macro("unemp"), 2, 1),
    Series(
        "US bills", "local level", lambda: macro("tbilrate"), statespace.local_level, structural("llevel"),
        lambda v: [v["obs_var"], v["level_var"]], poor=variance_starts("level_var", "obs_var"),
    ),
    Series(
        "wholesale prices", "ARIMA(1,1,1)", wholesale_prices, integrated,
        lambda y: sm.tsa.SARIMAX(y, order=(1, 1, 1), use_exact_diffuse=True),
        lambda v: [*v["ar"], *v["ma"], v["innovation_var"]],
        {"ar": [0.0], "ma": [0.0], "innovation_var": None}, ARMA,
        arma_starts({"ar": [0.0], "ma": [0.0], "innovation_var": None}),
    ),
    Series(
        "copper", "level, regression", lambda: copper()[0], level_beside_copper,
        lambda y: sm.tsa.UnobservedComponents(
            y, "llevel", exog=copper()[1], mle_regression=False, use_exact_diffuse=True
        ),
        lambda v: [v["obs_var"], v["level_var"]], poor=variance_starts("level_var", "obs_var"),
    ),
    var_series("inflation and interest", interest_inflation),
    var_series("Danish money and income", danish_money),
    Series(
        "growth of product, consumption, investment", "dynamic factor", growth_of_three, one_factor,
        lambda y: sm.tsa.DynamicFactor(y, k_factors=1, factor_order=1),
        lambda v: [*v["loadings"], *v["obs_var"], *v["factor_ar"]],
        FACTOR_START, {"factor_ar": "stationary", "obs_var": "positive"},
        ({**FACTOR_START, "loadings": np.full(3, 1e-3)}, {**FACTOR_START, "obs_var": np.full(3, 1e4)}),
    ),
)  # fmt: skip


# -- side by side ------------------------------------------------------------------------------------------


def fitted(series: Series, y: Any, start: dict[str, Any] | None, **options: Any) -> Any:
    return statespace.fit(series.build, y, start, transforms=series.transforms, progress=False, **options)


def compared(series: Series) -> dict[str, Any]:
    """A row of the table: what both find, and how far apart they are at one point."""
    y = series.data()
    begin = time.process_time()
    ours = fitted(series, y, series.start)
    seconds = time.process_time() - begin
    model = series.theirs(y)
    count = counted(model)
    begin = time.process_time()
    found = model.fit(disp=False, maxiter=1000, cov_type="none", low_memory=True)
    their_seconds = time.process_time() - begin
    point = model.smooth(series.vector(ours.params), cov_type="approx")
    poor = [fitted(series, y, start, standard_errors=False).loglikelihood for start in series.poor]
    return {
        "series": series.name,
        "model": series.model,
        "steps": len(y),
        "log likelihood": ours.loglikelihood,
        "statsmodels finds": found.llf - ours.loglikelihood,
        "from poor starts": min(poor) - ours.loglikelihood,
        "evaluations": ours.search.nfev,
        "of statsmodels": count["loglike"],
        "seconds": seconds,
        "seconds of statsmodels": their_seconds,
        **distances(ours, point, y),
        "notes": " ".join(ours.notes),
    }


def counted(model: Any) -> dict[str, int]:
    """How often a model of statsmodels is asked for its likelihood from now on."""
    count, plain = {"loglike": 0}, model.ssm.loglike

    def loglike(*args: Any, **kwargs: Any) -> Any:
        count["loglike"] += 1
        return plain(*args, **kwargs)

    model.ssm.loglike = loglike
    return count


def distances(ours: Any, theirs: Any, y: Any) -> dict[str, float]:
    """Of what both say with lindiff's parameters, relative."""
    ahead, exog = ours.forecast, None
    if "regression" in ours.components:
        exog = np.zeros((STEPS, 2))
    ours_ahead = ahead(STEPS, exog=exog)
    theirs_ahead = theirs.get_forecast(STEPS, exog=exog)
    lower = np.asarray(ours_ahead.interval(0.05)[0]).reshape(STEPS, -1)
    width = lower.shape[1]
    errors = {name: x for name, x in ours.standard_errors.items() if not np.any(np.isnan(x))}
    their_errors = np.asarray(theirs.bse)
    return {
        "apart: log likelihood": relative(ours.loglikelihood, theirs.llf),
        "forecasts": relative(ours_ahead.mean, theirs_ahead.predicted_mean),
        "intervals": relative(lower, np.asarray(theirs_ahead.conf_int())[:, :width]),
        "standard errors": closest(errors, their_errors),
        "residual tests": of_tests(ours, theirs),
    }


def of_tests(ours: Any, theirs: Any) -> float:
    """The largest distance of a statistic: Ljung-Box, normality, heteroskedasticity."""
    residuals = np.atleast_2d(np.asarray(ours.residuals).T)
    left_out = max(theirs.loglikelihood_burn, int(theirs.filter_results.nobs_diffuse))
    if not np.isfinite(residuals[0, left_out:]).all() or np.isfinite(residuals[0, :left_out]).any():
        return np.nan  # statsmodels tests other steps
    tests = ours.tests(8)
    pairs = (
        (tests.ljung_box, theirs.test_serial_correlation("ljungbox", lags=8)[:, 0]),
        (tests.normality, theirs.test_normality("jarquebera")[:, 0]),
        (tests.heteroskedasticity, theirs.test_heteroskedasticity("breakvar")[:, 0]),
    )
    return max(relative(ours, theirs) for ours, theirs in pairs)


def relative(x: Any, y: Any) -> float:
    x, y = np.ravel(np.asarray(x, float)), np.ravel(np.asarray(y, float))
    return float(np.max(np.abs(x - y)) / np.max(np.abs(y)))


def closest(errors: dict[str, Any], theirs: Any) -> float:
    """The largest distance of a standard error to the nearest of theirs: orders differ, and so do parameters
    of means and covariances."""
    same = [np.ravel(x) for name, x in errors.items() if "cov" not in name and name != "mean"]
    numbers = np.concatenate(same or [np.zeros(0)])
    known = theirs[np.isfinite(theirs)]
    return max((float(np.min(np.abs(known / x - 1))) for x in numbers if known.size), default=np.nan)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_series", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--only", default="", help="series whose name has this in it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for series in SERIES:
        if options.only in series.name:
            print(series.name, series.model, "...", flush=True)
            rows.append(compared(series))
    table = pd.DataFrame(rows)
    print(table.to_string(float_format=lambda x: f"{x:.3g}"))
    missed = table[table["from poor starts"] < -LOST]
    print(f"{len(table)} models; statsmodels ends lower in {(table['statsmodels finds'] < -LOST).sum()}, "
          f"lindiff from poor starts in {len(missed)}")  # fmt: skip
    if not options.only:
        table.to_csv(options.results / "real_series.csv", index=False, float_format="%.6g")


if __name__ == "__main__":
    main()
