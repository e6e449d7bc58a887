"""Answers of ``Analysis`` beside those of statsmodels, where both have them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lindiff.statespace import Analysis, local_linear_trend, seasonal, var

pd = pytest.importorskip("pandas")
sm = pytest.importorskip("statsmodels.api")

pytestmark = pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ModelWarning")

T = 60


@pytest.fixture(scope="module")
def y():
    rng = np.random.default_rng(0)
    y = np.cumsum(rng.normal(size=T)) + np.tile([3.0, 0.0, -1.0, -2.0], T // 4) + rng.normal(size=T)
    return pd.Series(y, pd.period_range("2001-01", periods=T, freq="M"), name="sales")


def of_both(y):
    model = local_linear_trend(0.7, 0.01, 1.3) + seasonal(4, 0.2)
    theirs = sm.tsa.UnobservedComponents(y, "lltrend", seasonal=4, use_exact_diffuse=True)
    return Analysis(model, y), theirs.smooth([1.3, 0.7, 0.01, 0.2])


def test_residuals_and_their_tests(y):
    ours, theirs = of_both(y)
    assert ours.loglikelihood == pytest.approx(theirs.llf, rel=1e-12)
    assert_allclose(ours.residuals[5:], theirs.standardized_forecasts_error[0, 5:], atol=1e-12)
    tests = ours.tests(8)
    box = theirs.test_serial_correlation("ljungbox", lags=8)[0]
    assert_allclose([tests.ljung_box, tests.ljung_box_p_value], box, rtol=1e-10)
    normal = theirs.test_normality("jarquebera")[0]
    found = tests.normality, tests.normality_p_value, tests.skewness, tests.kurtosis
    assert_allclose(found, normal, rtol=1e-10)
    change = theirs.test_heteroskedasticity("breakvar")[0]
    assert_allclose([tests.heteroskedasticity, tests.heteroskedasticity_p_value], change, rtol=1e-10)


def test_components_and_forecasts(y):
    y = y.copy()
    y.iloc[10:13] = np.nan
    ours, theirs = of_both(y)
    trend = ours.components["trend"]
    assert_allclose(trend.states["level"].mean, theirs.level.smoothed, atol=1e-11)
    assert_allclose(trend.states["level"].std_error ** 2, theirs.level.smoothed_cov, rtol=1e-9)
    assert_allclose(trend.filtered_states["slope"].mean[13:], theirs.trend.filtered[13:], atol=1e-11)
    assert_allclose(ours.components["seasonal(4)"].smoothed.mean, theirs.seasonal.smoothed, atol=1e-11)
    ahead, their_ahead = ours.forecast(6), theirs.get_forecast(6)
    assert_allclose(ahead.mean, their_ahead.predicted_mean, rtol=1e-10)
    assert_allclose(ahead.to_frame(0.1)[["lower", "upper"]], their_ahead.conf_int(alpha=0.1), rtol=1e-10)
    assert ahead.mean.index.equals(their_ahead.predicted_mean.index)


def test_smoothed_disturbances(y):
    ours, theirs = of_both(y)
    smoothed = theirs.smoother_results
    found = ours.disturbances
    assert_allclose(found.state[:, :3], smoothed.smoothed_state_disturbance.T, atol=1e-12)
    assert_allclose(found.obs, smoothed.smoothed_measurement_disturbance.T, atol=1e-12)
    variances = np.diagonal(smoothed.smoothed_state_disturbance_cov)
    assert_allclose(np.diagonal(found.state_cov, axis1=1, axis2=2)[:, :3], variances, atol=1e-12)
    crossed = np.moveaxis(smoothed.smoothed_state_autocov, -1, 0)
    assert_allclose(ours.lag_one_covariances[8:], crossed[8:-1], atol=1e-12)


def test_news(y):
    old = y.copy()
    old.iloc[11] = np.nan
    new = pd.concat([y, pd.Series([1.0, 2.0], pd.period_range("2006-01", periods=2, freq="M"))])
    ours, theirs = of_both(old)
    details = theirs.news(new, impact_date="2006-05", comparison_type="updated").details_by_impact
    found = ours.news(new, "2006-05").to_frame()
    for name, column in (("expected", "forecast (prev)"), ("actual", "observed"), ("weight", "weight")):
        assert_allclose(found[name], details[column].astype(float), rtol=1e-9)
    assert_allclose(found["impact"], details["impact"].astype(float), rtol=1e-9)


def test_impulse_responses():
    rng = np.random.default_rng(1)
    data = rng.normal(size=(40, 2))
    A, S = np.array([[0.5, 0.2], [-0.1, 0.3]]), np.array([[1.0, 0.4], [0.4, 2.0]])
    theirs = sm.tsa.VARMAX(data, order=(1, 0), trend="n")
    L = np.linalg.cholesky(S)
    smoothed = theirs.smooth([*A.ravel(), L[0, 0], L[1, 0], L[1, 1]])
    ours = Analysis(var(A, S), data)
    assert ours.loglikelihood == pytest.approx(smoothed.llf, rel=1e-10)
    for i in (0, 1):
        assert_allclose(
            ours.impulse_responses(5)[:, :, i], smoothed.impulse_responses(5, impulse=i), atol=1e-12
        )
        orthogonal = smoothed.impulse_responses(5, impulse=i, orthogonalized=True, cumulative=True)
        found = ours.impulse_responses(5, orthogonal=True, cumulative=True)[:, :, i]
        assert_allclose(found, orthogonal, atol=1e-12)
