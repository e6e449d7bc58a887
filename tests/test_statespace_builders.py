"""Builders of state-space models: statsmodels' matrices and likelihoods, what is known of the processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lindiff as ld
from lindiff import statespace
from lindiff.testing import check_grads

DATA = Path(__file__).parent.parent / "examples" / "data"
RNG = np.random.default_rng(5)
LOADINGS = RNG.normal(size=(3, 2))
LAGS = np.stack([np.diag([0.3, 0.2, 0.1]) + 0.05, 0.2 * np.eye(3) - 0.03])
FACTOR_LAGS = np.array([[[0.5, 0.1], [0.0, 0.4]], [[0.2, 0.0], [0.1, -0.2]]])
CHOLESKY = np.array([[1.0, 0.0, 0.0], [0.2, 0.9, 0.0], [0.1, -0.3, 0.8]])
OBS_VARS = np.array([0.5, 0.6, 0.7])
EXOG = RNG.normal(size=(100, 2))


@pytest.fixture(scope="module")
def tsa():
    return pytest.importorskip("statsmodels.tsa.api")


@pytest.fixture(scope="module")
def nile():
    flow = np.loadtxt(DATA / "nile.csv", delimiter=",", skiprows=1)[:, 1]
    flow[[3, 20, 21, 22]] = np.nan
    return flow


@pytest.fixture(scope="module")
def airline():
    return np.log(np.loadtxt(DATA / "airline.csv", delimiter=",", skiprows=1, usecols=1))


@pytest.fixture(scope="module")
def several():
    y = np.random.default_rng(6).normal(size=(60, 3))
    y[3, 1] = y[10] = np.nan
    return y


# -- against statsmodels -----------------------------------------------------------------------------------


def check_matrices(model, theirs):
    """After a call of ``theirs.loglike``, which fills in the parameters."""
    system = theirs.ssm
    state_cov = system["selection"] @ system["state_cov"] @ system["selection"].T
    np.testing.assert_allclose(model.transition, system["transition"], atol=1e-15)
    np.testing.assert_allclose(model.state_cov, state_cov, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(np.diag(np.ravel(model.obs_cov)), system["obs_cov"], rtol=1e-14)
    design = system["design"]
    np.testing.assert_array_equal(model.design, np.moveaxis(design, -1, 0) if design.ndim == 3 else design)


def check_loglikelihood(model, theirs, params, y, rtol=1e-10):
    theirs.ssm.tolerance = 0  # no steady state before it is one
    expected = theirs.loglike(np.asarray(params))
    np.testing.assert_allclose(statespace.loglikelihood(y, *model), expected, rtol=rtol)


def test_local_level(tsa, nile):
    theirs = tsa.UnobservedComponents(nile, "llevel", use_exact_diffuse=True)
    model = statespace.local_level(1400.0, 15000.0)
    check_loglikelihood(model, theirs, [15000.0, 1400.0], nile)
    check_matrices(model, theirs)


def test_trend_and_seasonal(tsa, airline):
    theirs = tsa.UnobservedComponents(airline, "lltrend", seasonal=12, use_exact_diffuse=True)
    model = statespace.local_linear_trend(2e-3, 1e-4, 1e-3) + statespace.seasonal(12, 5e-4)
    check_loglikelihood(model, theirs, [1e-3, 2e-3, 1e-4, 5e-4], airline)
    check_matrices(model, theirs)


def test_trigonometric_seasonal(tsa, airline):
    waves = [{"period": 10.5, "harmonics": 3}]
    theirs = tsa.UnobservedComponents(airline, "lltrend", freq_seasonal=waves, use_exact_diffuse=True)
    model = statespace.local_linear_trend(2e-3, 1e-4) + statespace.trigonometric_seasonal(
        10.5, 5e-4, 1e-3, harmonics=3
    )
    check_loglikelihood(model, theirs, [1e-3, 2e-3, 1e-4, 5e-4], airline)
    check_matrices(model, theirs)


def test_cycle(tsa, nile):
    """Ours by its period, theirs by its frequency, the last of their parameters but for the damping."""
    from statsmodels.tsa.statespace.initialization import Initialization

    period = 2 * np.pi / 0.7
    options = {"cycle": True, "stochastic_cycle": True, "use_exact_diffuse": True}
    theirs = tsa.UnobservedComponents(nile, "llevel", **options)
    model = statespace.local_level(1400.0, 9000.0) + statespace.cycle(period, 3000.0, 500.0)
    check_loglikelihood(model, theirs, [9500.0, 1400.0, 3000.0, 0.7], nile)
    check_matrices(model, theirs)
    theirs = tsa.UnobservedComponents(nile, "llevel", **options, damped_cycle=True)
    model = statespace.local_level(1400.0) + statespace.cycle(period, 3000.0, 9500.0, damping=0.8)
    start = Initialization(3)
    start.set(0, "diffuse")
    start.set((1, 3), "stationary")
    theirs.ssm.initialize(start)  # by itself it is diffuse
    check_loglikelihood(model, theirs, [9500.0, 1400.0, 3000.0, 0.7, 0.8], nile)
    check_matrices(model, theirs)


def test_constant_cycle(tsa, nile):
    theirs = tsa.UnobservedComponents(nile, "llevel", cycle=True, use_exact_diffuse=True)
    model = statespace.local_level(1400.0, 9000.0) + statespace.cycle(9.0, 0.0)
    check_loglikelihood(model, theirs, [9000.0, 1400.0, 2 * np.pi / 9], nile)


def test_regression(tsa, nile):
    theirs = tsa.UnobservedComponents(nile, "llevel", exog=EXOG, mle_regression=False, use_exact_diffuse=True)
    model = statespace.local_level(1400.0, 15000.0) + statespace.regression(EXOG)
    check_loglikelihood(model, theirs, [15000.0, 1400.0], nile)
    check_matrices(model, theirs)


def test_arma(tsa, nile):
    y = nile / 100 - 9
    theirs = tsa.SARIMAX(y, order=(2, 0, 2), measurement_error=True)
    model = statespace.arma([0.3, 0.2], [0.4, -0.1], 1.2, 0.5)
    check_loglikelihood(model, theirs, [0.3, 0.2, 0.4, -0.1, 0.5, 1.2], y)
    check_matrices(model, theirs)


@pytest.mark.parametrize(
    ("order", "seasonal_order", "parts"),
    [
        ((0, 1, 1), (0, 1, 1, 12), [[], [-0.4], [], [-0.6]]),
        ((2, 2, 1), (1, 1, 0, 4), [[0.3, 0.2], [-0.4], [0.3], []]),
        ((1, 0, 0), (1, 0, 2, 4), [[0.5], [], [0.3], [0.2, 0.1]]),
        ((1, 1, 1), (1, 0, 2, 4), [[0.5], [0.4], [0.3], [0.2, 0.1]]),
        ((0, 1, 0), (0, 0, 0, 0), [[], [], [], []]),
    ],
)
def test_sarima(tsa, airline, order, seasonal_order, parts):
    y = airline - 5.5
    y[[40, 41, 42, 90]] = np.nan
    theirs = tsa.SARIMAX(y, order=order, seasonal_order=seasonal_order, use_exact_diffuse=True)
    ar, ma, seasonal_ar, seasonal_ma = parts
    model = statespace.sarima(
        ar,
        ma,
        1.3e-3,
        difference=order[1],
        period=seasonal_order[3] or None,
        seasonal_ar=seasonal_ar,
        seasonal_ma=seasonal_ma,
        seasonal_difference=seasonal_order[1],
    )
    check_loglikelihood(model, theirs, [*ar, *ma, *seasonal_ar, *seasonal_ma, 1.3e-3], y)


@pytest.mark.parametrize("difference", [0, 1])
@pytest.mark.parametrize("seasonal_difference", [0, 1])
@pytest.mark.parametrize("coefficients", [None, [0.7, -0.3]])
def test_regression_with_arima_errors(tsa, airline, difference, seasonal_difference, coefficients):
    """Coefficients are diffuse, as in their models without `mle_regression`, or parameters."""
    y = airline[:100] - 5.5
    y[[40, 41, 90]] = np.nan
    theirs = tsa.SARIMAX(
        y,
        exog=EXOG,
        order=(1, difference, 1),
        seasonal_order=(0, seasonal_difference, 1, 4),
        mle_regression=coefficients is not None,
        use_exact_diffuse=True,
    )
    errors = statespace.sarima(
        [0.5],
        [0.4],
        0.8,
        difference=difference,
        period=4,
        seasonal_ma=[-0.3],
        seasonal_difference=seasonal_difference,
    )
    model = statespace.regression(EXOG, coefficients=coefficients) + errors
    check_loglikelihood(model, theirs, [*(coefficients or ()), 0.5, 0.4, -0.3, 0.8], y)


def test_time_varying_regression_with_arima_errors(tsa, airline):
    """Without differencing, with which their innovations enter the sum, not the autoregression."""
    y = airline[:100] - 5.5
    options = {"time_varying_regression": True, "mle_regression": False, "use_exact_diffuse": True}
    theirs = tsa.SARIMAX(y, exog=EXOG, order=(1, 0, 0), **options)
    model = statespace.regression(EXOG, [0.02, 0.01]) + statespace.arma([0.5], (), 0.8)
    check_loglikelihood(model, theirs, [0.5, 0.02, 0.01, 0.8], y)


def test_var(tsa, several):
    theirs = tsa.VARMAX(several, order=(2, 0), trend="c")
    intercept = np.array([0.1, 0.2, 0.3])
    params = [*intercept, *np.hstack(LAGS).ravel(), *CHOLESKY[np.tril_indices(3)]]
    model = statespace.var(LAGS, CHOLESKY @ CHOLESKY.T, intercept)
    check_loglikelihood(model, theirs, params, several)
    check_matrices(model, theirs)


@pytest.mark.filterwarnings("ignore:Estimation of VARMA")
@pytest.mark.parametrize("orders", [(1, 1), (2, 1), (0, 2), (1, 3)])
def test_varma(tsa, several, orders):
    p, q = orders
    theirs = tsa.VARMAX(several, order=orders, trend="c")
    intercept, ar = np.array([0.1, 0.2, 0.3]), LAGS[:p]
    ma = np.stack([CHOLESKY, 0.5 * CHOLESKY.T, CHOLESKY - 1])[:q]
    of_lags = [np.hstack(x).ravel() for x in (ar, ma) if len(x)]
    params = [*intercept, *np.concatenate(of_lags), *CHOLESKY[np.tril_indices(3)]]
    model = statespace.varma(ar if p else (), ma, CHOLESKY @ CHOLESKY.T, intercept)
    check_loglikelihood(model, theirs, params, several)


def test_dynamic_factor(tsa, several):
    theirs = tsa.DynamicFactor(several, k_factors=2, factor_order=2)
    params = [*LOADINGS.ravel(), *OBS_VARS, *np.hstack(FACTOR_LAGS).ravel()]
    model = statespace.dynamic_factor(LOADINGS, FACTOR_LAGS, OBS_VARS)
    check_loglikelihood(model, theirs, params, several)
    check_matrices(model, theirs)


def test_dynamic_factor_with_autoregressive_errors(tsa, several):
    theirs = tsa.DynamicFactor(several, k_factors=1, factor_order=1, error_order=1)
    error_ar = np.array([0.3, -0.2, 0.5])
    model = statespace.dynamic_factor(LOADINGS[:, :1], [[0.7]], OBS_VARS, error_ar)
    check_loglikelihood(model, theirs, [*LOADINGS[:, 0], *OBS_VARS, 0.7, *error_ar], several)
    check_matrices(model, theirs)


# -- what is known of the processes ------------------------------------------------------------------------


def covariance_of_observations(model, steps):
    """Of (y_0, …, y_steps-1) one after the other, by the definition; for constant matrices."""
    A, B, P = model.transition, model.design, model.initial_state_cov
    columns = []
    for s in range(steps):
        column, X = [], P
        for _ in range(s, steps):
            column.append(B @ X @ B.T)
            X = A @ X
        column[0] = column[0] + np.diag(np.ravel(model.obs_cov))
        columns.append([np.zeros_like(column[0])] * s + column)
        P = A @ P @ A.T + model.state_cov
    lower = np.block([list(row) for row in zip(*columns, strict=True)])
    return np.tril(lower) + np.tril(lower, -1).T


def test_sums_of_models_have_sums_of_covariances():
    a = statespace.arma([0.6, -0.2], [0.3], 1.5, 0.2)
    b = statespace.arma([], [0.5, 0.4], 0.7, 0.1)
    expected = covariance_of_observations(a, 6) + covariance_of_observations(b, 6)
    np.testing.assert_allclose(covariance_of_observations(a + b, 6), expected, rtol=1e-13, atol=1e-15)


def test_sums_of_models_of_several_series():
    a = statespace.var(LAGS, CHOLESKY @ CHOLESKY.T, np.ones(3), obs_var=OBS_VARS)
    b = statespace.dynamic_factor(LOADINGS, FACTOR_LAGS, OBS_VARS)
    expected = covariance_of_observations(a, 4) + covariance_of_observations(b, 4)
    np.testing.assert_allclose(covariance_of_observations(a + b, 4), expected, rtol=1e-13, atol=1e-15)


def test_a_sum_with_a_diffuse_model_is_diffuse_in_its_part():
    model = statespace.local_linear_trend(1.0, 0.5) + statespace.arma([0.5], [], 1.0)
    np.testing.assert_array_equal(model.diffuse, [True, True, False])
    np.testing.assert_allclose(model.initial_state_cov[2, 2], 4 / 3)


@settings(max_examples=15, deadline=None)
@given(
    orders=st.tuples(*[st.integers(0, 2)] * 4),
    differences=st.sampled_from([(1, 0), (2, 0), (0, 1), (1, 1), (2, 2)]),
    period=st.integers(2, 4),
)
def test_likelihood_of_differences(orders, differences, period):
    """With diffuse past, log p(y) is that of the differences less m/2 log 2π."""
    p, q, seasonal_p, seasonal_q = orders
    d, seasonal_d = differences
    parts = {
        "ar": np.full(p, 0.3),
        "ma": np.full(q, 0.4),
        "innovation_var": 0.8,
        "period": period,
        "seasonal_ar": np.full(seasonal_p, -0.2),
        "seasonal_ma": np.full(seasonal_q, 0.3),
    }
    y = np.cumsum(np.random.default_rng(1).normal(size=24))
    z = np.diff(y, d)
    for _ in range(seasonal_d):
        z = z[period:] - z[:-period]
    integrated = statespace.sarima(**parts, difference=d, seasonal_difference=seasonal_d)
    expected = statespace.loglikelihood(z, *statespace.sarima(**parts))
    expected -= 0.5 * (len(y) - len(z)) * np.log(2 * np.pi)
    np.testing.assert_allclose(statespace.loglikelihood(y, *integrated), expected, rtol=1e-9)


@pytest.mark.parametrize("period", [2, 3, 4, 7, 12])
def test_seasonals_repeat(period):
    dummies = statespace.seasonal(period, 1.0)
    np.testing.assert_allclose(np.linalg.matrix_power(dummies.transition, period), np.eye(period - 1))
    if period > 2:
        waves = statespace.trigonometric_seasonal(period, 1.0)
        power = np.linalg.matrix_power(waves.transition, period)
        np.testing.assert_allclose(power, np.eye(period - 1), atol=1e-13)


def test_variances_of_waves():
    model = statespace.trigonometric_seasonal(6, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(np.diag(model.state_cov), [1, 1, 2, 2, 3])


def test_cycles_repeat():
    np.testing.assert_allclose(
        np.linalg.matrix_power(statespace.cycle(7, 1.0).transition, 7), np.eye(2), atol=1e-14
    )
    A, _, Q, _, _, P, *_ = statespace.cycle(7.5, 2.0, damping=0.6)
    np.testing.assert_allclose(A @ P @ A.T + Q, P, rtol=1e-14, atol=1e-15)
    assert statespace.cycle(7.5, 2.0, damping=0.0).initial_state_cov[0, 0] == 2.0


def test_varma_without_moving_average_is_var():
    expected = covariance_of_observations(statespace.var(LAGS, CHOLESKY @ CHOLESKY.T, obs_var=OBS_VARS), 5)
    model = statespace.varma(LAGS, (), CHOLESKY @ CHOLESKY.T, obs_var=OBS_VARS)
    np.testing.assert_allclose(covariance_of_observations(model, 5), expected, rtol=1e-12, atol=1e-14)


def test_varma_of_one_series_is_arma():
    expected = statespace.arma([0.3, 0.2], [0.4, -0.1], 1.2, 0.5)
    model = statespace.varma(np.reshape([0.3, 0.2], (2, 1, 1)), np.reshape([0.4, -0.1], (2, 1, 1)), [[1.2]])
    np.testing.assert_allclose(model.transition, expected.transition)
    np.testing.assert_allclose(model.initial_state_cov, expected.initial_state_cov, rtol=1e-14)


def test_coefficients_that_walk(nile):
    """The regression on a constant is the local level."""
    walking = statespace.regression(np.ones((100, 1)), coefficient_var=1400.0, obs_var=15000.0)
    expected = statespace.loglikelihood(nile, *statespace.local_level(1400.0, 15000.0))
    np.testing.assert_allclose(statespace.loglikelihood(nile, *walking), expected, rtol=1e-12)


def test_constant_coefficients_are_least_squares():
    y = EXOG @ [2.0, -1.0] + np.random.default_rng(2).normal(size=100)
    smoothed = statespace.kalman_smoother(y, *statespace.regression(EXOG, obs_var=0.7))
    np.testing.assert_allclose(smoothed.smoothed_state[50], np.linalg.lstsq(EXOG, y)[0], rtol=1e-9)
    np.testing.assert_allclose(smoothed.smoothed_state_cov[50], 0.7 * np.linalg.inv(EXOG.T @ EXOG), rtol=1e-9)


def test_forecasts_of_a_regression():
    """The explanatory variables of the forecasts are given with the others."""
    rng = np.random.default_rng(8)
    exog = rng.normal(size=(25, 2))
    y = exog[:20] @ [2.0, -1.0] + rng.normal(size=20)
    ahead = statespace.forecast(5, y, *statespace.regression(exog, obs_var=0.7))
    np.testing.assert_allclose(ahead.mean[:, 0], exog[20:] @ np.linalg.lstsq(exog[:20], y)[0], rtol=1e-9)
    leverage = np.einsum("ti,ij,tj->t", exog[20:], np.linalg.inv(exog[:20].T @ exog[:20]), exog[20:])
    np.testing.assert_allclose(ahead.cov[:, 0, 0], 0.7 * (1 + leverage), rtol=1e-9)


def test_given_coefficients_are_taken_off():
    y = np.random.default_rng(2).normal(size=100)
    level = statespace.local_level(0.3, 0.7)
    found = statespace.loglikelihood(y, *(level + statespace.regression(EXOG, coefficients=[2.0, -1.0])))
    np.testing.assert_allclose(found, statespace.loglikelihood(y - EXOG @ [2.0, -1.0], *level), rtol=1e-12)


def test_columns_name_the_coefficients():
    named = {"price": EXOG[:, 0], "advertising": EXOG[:, 1]}
    states = ("price", "advertising")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(EXOG, columns=states)
    for exog in (named, frame, [{"price": EXOG[:, 0]}, {"advertising": EXOG[:, 1]}], [frame]):
        model = statespace.regression(exog, coefficient_var=[0.1, 0.2])
        assert model.components == (statespace.Component("regression", states, explanatory=True),)
        np.testing.assert_array_equal(model.design, EXOG[:, None])
    holidays = frame.assign(holiday=frame.price > 0)  # of several dtypes
    np.testing.assert_array_equal(statespace.regression(holidays).design[:, 0, 2], EXOG[:, 0] > 0)
    assert statespace.regression({"price": EXOG}).design.shape == (100, 2, 1)  # of two series
    slope = ld.grad(lambda x: statespace.regression({"price": x}).design.sum())(EXOG[:, 0])
    np.testing.assert_array_equal(slope, 1)


def test_regression_of_several_series():
    exog = np.random.default_rng(3).normal(size=(20, 3, 2))
    y = exog @ [2.0, -1.0]
    smoothed = statespace.kalman_smoother(y, *statespace.regression(exog, obs_var=OBS_VARS))
    np.testing.assert_allclose(smoothed.smoothed_state, np.tile([2.0, -1.0], (20, 1)), rtol=1e-9)


# -- derivatives and dtypes --------------------------------------------------------------------------------


def trend_and_waves(level_var, slope_var, waves_var, obs_var):
    return statespace.local_linear_trend(level_var, slope_var, obs_var) + statespace.trigonometric_seasonal(
        5, waves_var
    )


def level_and_regression(level_var, coefficient_var, exog, obs_var):
    return statespace.local_level(level_var) + statespace.regression(exog, coefficient_var, obs_var)


def seasonal_arima(ar, ma, seasonal_ar, seasonal_ma, innovation_var):
    return statespace.sarima(
        ar,
        ma,
        innovation_var,
        difference=1,
        period=3,
        seasonal_ar=seasonal_ar,
        seasonal_ma=seasonal_ma,
        seasonal_difference=1,
    )


BUILT = {
    "local_level": (statespace.local_level, [0.5, 1.5]),
    "trend_and_waves": (trend_and_waves, [0.5, 0.2, np.array([0.1, 0.3]), 1.5]),
    "level_and_seasonal": (
        lambda level_var, seasonal_var: (
            statespace.local_level(level_var, 0.3) + statespace.seasonal(4, seasonal_var)
        ),
        [0.5, 0.7],
    ),
    "cycle": (
        lambda level_var, *args: statespace.local_level(level_var) + statespace.cycle(*args),
        [0.5, 5.5, 0.7, 0.3],
    ),
    "damped_cycle": (statespace.cycle, [5.5, 0.7, 0.3, 0.8]),
    "given_coefficients": (statespace.regression, [EXOG[:12], 0.2, 0.5, np.array([0.3, 0.4])]),
    "level_and_regression": (level_and_regression, [0.5, np.array([0.1, 0.2]), EXOG[:12], 1.5]),
    "arma": (statespace.arma, [np.array([0.3, 0.2]), np.array([0.4]), 1.2, 0.5]),
    "sarima": (
        seasonal_arima,
        [np.array([0.3]), np.array([0.2, 0.1]), np.array([0.4]), np.array([0.3]), 0.7],
    ),
    "var": (
        lambda lags, L, intercept, obs_var: statespace.var(lags, L @ L.T, intercept, obs_var),
        [LAGS, CHOLESKY, np.ones(3), OBS_VARS],
    ),
    "varma": (
        lambda ar, ma, L, intercept, obs_var: statespace.varma(ar, ma, L @ L.T, intercept, obs_var),
        [LAGS, CHOLESKY, CHOLESKY, np.ones(3), OBS_VARS],
    ),
    "dynamic_factor": (
        lambda loadings, lags, obs_var, error_ar, L: statespace.dynamic_factor(
            loadings, lags, obs_var, error_ar, L @ L.T
        ),
        [LOADINGS, FACTOR_LAGS, OBS_VARS, np.array([0.3, -0.2, 0.5]), CHOLESKY[:2, :2]],
    ),
}


@pytest.mark.parametrize("name", BUILT)
def test_derivatives(name):
    build, args = BUILT[name]
    p = build(*args).design.shape[-2]
    y = np.random.default_rng(4).normal(size=(12, p))
    y[5, 0] = np.nan

    def loglikelihood(*args):
        return statespace.loglikelihood(y, *build(*args))

    check_grads(loglikelihood, args, rtol=1e-6)


@pytest.mark.parametrize("name", BUILT)
def test_single_precision_is_kept(name):
    build, args = BUILT[name]
    model = build(*[np.float32(x) for x in args])
    assert {part.dtype.name for part in model if part is not None} <= {"float32", "bool"}


def test_numbers_and_lists_take_the_dtype_of_arrays():
    model = statespace.sarima(np.float32([0.5]), [0.25], 1, difference=1)
    assert {part.dtype.name for part in model if part is not None} == {"float32", "bool"}


def test_integers_become_double():
    model = statespace.local_level(1, np.int32(2))
    assert model.state_cov.dtype == model.obs_cov.dtype == np.float64


def test_plain_parameters_give_plain_arrays():
    for build, args in BUILT.values():
        assert all(part is None or type(part) is np.ndarray for part in build(*args))


def test_matrices_are_linear_in_variances():
    slopes = ld.jacobian(lambda v: statespace.local_linear_trend(v[0], v[1], v[2]).state_cov)(np.ones(3))
    np.testing.assert_array_equal(slopes.sum(axis=2), np.eye(2))


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: statespace.local_level([1.0, 2.0]),
            ValueError,
            r"level_var must be a number, got shape \(2,\)",
        ),
        (lambda: statespace.local_level(1.0, 1j), TypeError, "local_level: obs_var has dtype complex128"),
        (
            lambda: statespace.local_linear_trend(1.0, "a"),
            TypeError,
            "local_linear_trend: slope_var has dtype",
        ),
        (lambda: statespace.seasonal(1, 1.0), ValueError, "seasonal: period must be at least 2, got 1"),
        (lambda: statespace.seasonal(2.5, 1.0), TypeError, "seasonal: period is an integer, got 2.5"),
        (lambda: statespace.trigonometric_seasonal(2, 1.0), ValueError, "period must be more than 2, got 2"),
        (lambda: statespace.trigonometric_seasonal(5, 1.0, harmonics=3), ValueError, "has 2 harmonics"),
        (
            lambda: statespace.trigonometric_seasonal(5, np.ones(3)),
            ValueError,
            r"of shape \(2,\), one for each",
        ),
        (lambda: statespace.arma([[0.5]], [], 1.0), ValueError, r"arma: ar must be of shape \(p\), got"),
        (lambda: statespace.arma([1.5], [], 1.0), ValueError, "eigenvalue of size 1.5"),
        (lambda: statespace.arma([0.5], [], [1.0, 2.0]), ValueError, "arma: innovation_var must be a number"),
        (lambda: statespace.sarima([], [], 1.0, difference=-1), ValueError, "difference must be at least 0"),
        (
            lambda: statespace.sarima([], [], 1.0, difference=1.0),
            TypeError,
            "difference is an integer, got 1.0",
        ),
        (lambda: statespace.sarima([], [], 1.0, seasonal_ma=[0.5]), ValueError, "need a period"),
        (lambda: statespace.sarima([], [], 1.0, period=1), ValueError, "period must be at least 2"),
        (
            lambda: statespace.var(LAGS, np.eye(2)),
            ValueError,
            r"shape \(2, 3, 3\), .*shape \(2, 2\) and obs_var",
        ),
        (lambda: statespace.var(LAGS[:0], np.eye(3)), ValueError, "do not fit together"),
        (
            lambda: statespace.var(np.ones(3), np.eye(3)),
            ValueError,
            r"of shape \(p, p\) or of shape \(k, p, p\)",
        ),
        (lambda: statespace.var(LAGS, np.eye(3), np.ones(2)), ValueError, r"intercept of shape \(2,\)"),
        (lambda: statespace.dynamic_factor(LOADINGS, LAGS, OBS_VARS), ValueError, "do not fit together"),
        (
            lambda: statespace.dynamic_factor(LOADINGS, FACTOR_LAGS, np.ones(2)),
            ValueError,
            "do not fit together",
        ),
        (
            lambda: statespace.dynamic_factor(LOADINGS, FACTOR_LAGS, OBS_VARS, np.ones(2)),
            ValueError,
            r"error_ar must be of shape \(3,\)",
        ),
        (lambda: statespace.cycle(2.0, 1.0), ValueError, "cycle: period must be more than 2, got 2.0"),
        (lambda: statespace.cycle([9.0], 1.0), ValueError, "cycle: period must be a number"),
        (lambda: statespace.cycle(9.0, 1.0, damping=1.0), ValueError, "at least 0 and below 1, got 1.0"),
        (lambda: statespace.cycle(9.0, 1.0, damping=-0.1), ValueError, "at least 0 and below 1, got -0.1"),
        (
            lambda: statespace.varma(LAGS, (), np.eye(2)),
            ValueError,
            r"varma: ar of shape \(2, 3, 3\) does not",
        ),
        (lambda: statespace.varma((), np.ones(3), np.eye(3)), ValueError, "varma: ma must be of shape"),
        (lambda: statespace.varma(LAGS, (), np.ones((3, 2))), ValueError, r"\(p, p\) and \(p,\) are needed"),
        (
            lambda: statespace.varma(LAGS, (), np.eye(3), [1.0]),
            ValueError,
            r"varma: intercept of shape \(1,\)",
        ),
        (lambda: statespace.varma(4 * LAGS, (), np.eye(3)), ValueError, "eigenvalue of size"),
        (lambda: statespace.regression(np.full((3, 1), np.nan)), ValueError, "regression: exog has NaN"),
        (
            lambda: statespace.regression({"a": [1.0, 2.0], "b": [np.nan, 1.0]}),
            ValueError,
            "regression: exog has NaN in b",
        ),
        (lambda: statespace.regression([{"a": [1.0]}, {"a": [1.0]}]), ValueError, "one column called a;"),
        (lambda: statespace.regression({}), ValueError, "regression: exog has no columns"),
        (lambda: statespace.regression({"a": [1.0], "b": [1.0, 2.0]}), ValueError, r"a \(1,\), b \(2,\)"),
        (lambda: statespace.regression({"a": ["x"]}), TypeError, "regression: a has dtype"),
        (
            lambda: statespace.regression(EXOG, coefficients=[1.0]),
            ValueError,
            r"coefficients must be of shape \(2,\), got \(1,\)",
        ),
        (
            lambda: statespace.regression(np.ones((3, 1, 1, 1))),
            ValueError,
            r"of shape \(T, k\) or of shape \(T, p, k\)",
        ),
        (lambda: statespace.regression(EXOG, np.ones(3)), ValueError, r"\(2,\) and \(1,\) are needed"),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()
