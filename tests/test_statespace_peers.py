"""State-space models as statsmodels computes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import lindiff as ld
from lindiff.statespace import (
    Model,
    dynamic_factor,
    forecast,
    kalman_filter,
    kalman_smoother,
    loglikelihood,
    stationary_initialization,
)

DATA = Path(__file__).parent.parent / "examples" / "data"


def nile(missing):
    y = np.loadtxt(DATA / "nile.csv", delimiter=",", skiprows=1, usecols=1)
    if missing:
        y[20:40] = y[60:80] = np.nan  # as Durbin & Koopman (2012), section 2.7
    return y


def of_statsmodels(representation, **start):
    """The system matrices of a model of statsmodels, whose axis of time is the last."""

    def matrix(name):
        x = representation[name]
        x = np.moveaxis(x, -1, 0) if x.ndim == 3 else x
        return x.copy()

    def intercept(name):
        x = representation[name]
        return x if x.ndim == 1 else x[:, 0] if x.shape[1] == 1 else x.T

    R = matrix("selection")
    return Model(
        matrix("transition"),
        matrix("design"),
        R @ matrix("state_cov") @ np.swapaxes(R, -1, -2),
        matrix("obs_cov"),
        state_intercept=intercept("state_intercept"),
        obs_intercept=intercept("obs_intercept"),
        **start,
    )


def compare(model, y, theirs):
    """Filter, smoother and likelihood against the results of statsmodels."""
    d = 0 if model.diffuse is None else int(theirs.nobs_diffuse)
    assert_allclose(loglikelihood(y, *model), theirs.llf, rtol=1e-10)
    by_step = loglikelihood(y, *model, per_step=True)
    assert_allclose(by_step[d:], theirs.llf_obs[d:], rtol=1e-6, atol=1e-8)
    smoothed = kalman_smoother(y, *model)
    assert_allclose(smoothed.smoothed_state, theirs.smoothed_state.T, rtol=1e-6, atol=1e-6)
    scale = np.max(theirs.smoothed_state_cov)
    assert_allclose(
        smoothed.smoothed_state_cov, np.moveaxis(theirs.smoothed_state_cov, -1, 0), atol=1e-7 * scale
    )
    filtered = kalman_filter(y, *model)
    assert_allclose(
        filtered.predicted_state[d + 1 :], theirs.predicted_state.T[d + 1 :], rtol=1e-6, atol=1e-6
    )
    assert_allclose(filtered.filtered_state[d:], theirs.filtered_state.T[d:], rtol=1e-6, atol=1e-6)
    seen = ~np.isnan(np.reshape(y, (len(y), -1)))
    seen[: d + 1] = False
    assert_allclose(filtered.forecast_error[seen], theirs.forecasts_error.T[seen], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_local_level_of_the_nile(missing):
    y = nile(missing)
    one, params = np.eye(1), [15099.0, 1469.1]
    model = Model(one, one, params[1] * one, params[0] * one, diffuse=True)
    theirs = sm.tsa.UnobservedComponents(y, "llevel", use_exact_diffuse=True)
    compare(model, y, theirs.smooth(params))

    def of_variances(variances):
        return loglikelihood(y, one, one, variances[1] * one, variances[0] * one, diffuse=True)

    score = theirs.score([10_000.0, 3000.0], approx_complex_step=True, transformed=True)
    assert_allclose(ld.grad(of_variances)(np.array([10_000.0, 3000.0])), score, rtol=1e-6)
    ahead = forecast(5, y, *model)
    expected = theirs.smooth(params).get_forecast(5)
    assert_allclose(ahead.mean[:, 0], expected.predicted_mean, rtol=1e-8)
    assert_allclose(ahead.cov[:, 0, 0], expected.var_pred_mean, rtol=1e-8)


def test_trend_and_seasons_of_the_nile():
    y = nile(False)
    theirs = sm.tsa.UnobservedComponents(y, "lltrend", seasonal=4, use_exact_diffuse=True)
    result = theirs.smooth([15099.0, 1469.1, 20.0, 300.0])
    compare(of_statsmodels(theirs.ssm, diffuse=True), y, result)


def test_arma_with_missing_values():
    y = nile(True) / 100 - 9
    theirs = sm.tsa.SARIMAX(y, order=(2, 0, 1), trend="c")
    result = theirs.smooth([0.3, 0.6, 0.2, 0.4, 2.0])
    model = of_statsmodels(theirs.ssm)
    start = stationary_initialization(model.transition, model.state_cov, model.state_intercept[0])
    compare(model._replace(initial_state=start[0], initial_state_cov=start[1]), y, result)


def test_vector_arma_with_missing_elements():
    rng = np.random.default_rng(3)
    y = rng.standard_normal((60, 3))
    y[rng.random(y.shape) < 0.3] = np.nan
    theirs = sm.tsa.VARMAX(y, order=(1, 0), trend="n", measurement_error=True)
    result = theirs.smooth(theirs.start_params)
    model = of_statsmodels(theirs.ssm)
    start = stationary_initialization(model.transition, model.state_cov)
    compare(model._replace(initial_state=start[0], initial_state_cov=start[1]), y, result)


def test_dynamic_factor_model_with_244_parameters():
    rng = np.random.default_rng(4)
    k, p = 8, 20
    y = rng.standard_normal((30, p))
    y[rng.random(y.shape) < 0.1] = np.nan
    theirs = sm.tsa.DynamicFactor(y, k_factors=k, factor_order=1)
    lag = 0.5 * rng.standard_normal((k, k)) / np.sqrt(k)
    params = np.concatenate([rng.standard_normal(p * k), rng.uniform(0.5, 2.0, p), lag.ravel()])
    assert len(params) == len(theirs.param_names) == 244

    def of_params(x):
        loadings, variances = np.reshape(x[: p * k], (p, k)), x[p * k : p * k + p]
        return loglikelihood(y, *dynamic_factor(loadings, [np.reshape(x[p * k + p :], (k, k))], variances))

    value, gradient = ld.value_and_grad(of_params)(params)
    assert_allclose(value, theirs.loglike(params), rtol=1e-9)
    score = theirs.score(params, approx_complex_step=True, transformed=True)
    assert_allclose(gradient, score, rtol=1e-6, atol=1e-6 * np.max(np.abs(score)))
