"""Derivatives of filtered and smoothed moments: compiled, against recursions in functions that dispatch."""

import numpy as np
import pytest
from test_statespace_steps import ALL, CASES, case

import lindiff as ld
from lindiff.statespace import forecast, kalman_filter, kalman_smoother
from lindiff.testing import check_grads

DIFFUSE = {"T": 20, "n": 3, "p": 2}


def weights_of(rng, y):
    """Weights of smoothed means and covariances of three states or fewer."""
    shape = y.shape[:-1]
    return lambda n: (rng.standard_normal((*shape, n)), rng.standard_normal((*shape, n, n)))


def weighted(weights, *arrays, **options):
    result = kalman_smoother(*arrays, **options)
    return np.sum(weights[0] * result.smoothed_state) + np.sum(weights[1] * result.smoothed_state_cov)


@pytest.mark.parametrize("diffuse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_recursions(rng, name, diffuse):
    arrays, _ = case(rng, **{"T": 20, **CASES[name]})
    weights = weights_of(rng, arrays[0])(arrays[1].shape[-1])
    mask = np.arange(arrays[1].shape[-1]) < 2 if diffuse else None
    by_y_and_model = ld.grad(lambda *arrays: weighted(weights, *arrays, diffuse=mask), argnums=ALL)(*arrays)
    expected = ld.grad(
        lambda *arrays: weighted(weights, *arrays, diffuse=mask, method="composed"), argnums=ALL
    )(*arrays)
    for x, y in zip(by_y_and_model, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-8 * (1 + np.max(np.abs(y))))


@pytest.mark.parametrize("diffuse", [None, [True, False, True]])
@pytest.mark.parametrize("name", ["one", "missing elements", "many with gaps"])
def test_second_derivatives(rng, name, diffuse):
    (y, *rest), _ = case(rng, **{**CASES[name], "T": 8})
    weights = weights_of(rng, y)(3)

    def function(scale, noise, level):
        transition, design, state_cov, obs_cov, *start = rest
        model = scale * transition, design, state_cov, noise * obs_cov, *start
        return weighted(weights, y, *model, obs_intercept=level, diffuse=diffuse)

    check_grads(function, (0.9, 1.2, np.array([0.3, -0.2])), order=2, rtol=1e-5)


def test_every_field_beside_the_loglikelihood(rng):
    (y, *model), _ = case(rng, T=15, missing=True)
    fields = ("loglikelihood", "smoothed_state", "smoothed_state_cov")
    for field in fields:

        def of_noise(noise, field=field, **options):
            result = kalman_smoother(y, *model[:3], noise * model[3], *model[4:], **options)
            return np.sum(np.sin(getattr(result, field)))

        value, slope = ld.value_and_grad(of_noise)(1.3)
        expected, expected_slope = ld.value_and_grad(lambda x, f=of_noise: f(x, method="composed"))(1.3)
        np.testing.assert_allclose([value, slope], [expected, expected_slope], rtol=1e-9)


def test_intercepts_of_each_series(rng):
    (y, *model), _ = case(rng, series=3, T=10)
    weights = weights_of(rng, y)(3)

    def function(intercept, level):
        return weighted(weights, y, *model, state_intercept=intercept, obs_intercept=level)

    check_grads(function, (rng.standard_normal((3, 10, 3)), rng.standard_normal(2)), order=1, rtol=1e-6)


def test_a_series_of_its_own_model(rng):
    (y, *model), _ = case(rng, series=3, T=10)
    weights = weights_of(rng, y)(3)
    check_grads(lambda A: weighted(weights, y, A, *model[1:]), (np.stack([model[0][None]] * 3),), rtol=1e-6)


@pytest.mark.parametrize("steps", [1, 2])
def test_few_steps(rng, steps):
    arrays, _ = case(rng, T=steps)
    weights = weights_of(rng, arrays[0])(3)
    found = ld.grad(lambda *a: weighted(weights, *a), argnums=ALL)(*arrays)
    expected = ld.grad(lambda *a: weighted(weights, *a, method="composed"), argnums=ALL)(*arrays)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-10)


def test_float32(rng):
    arrays, _ = case(rng)
    weights = weights_of(rng, arrays[0])(3)
    single = [np.float32(x) for x in arrays]
    in_single = [np.float32(x) for x in weights]
    found = ld.grad(lambda *a: weighted(in_single, *a), argnums=ALL)(*single)
    expected = ld.grad(lambda *a: weighted(weights, *a), argnums=ALL)(*arrays)
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-4 * (1 + np.max(np.abs(y))))


FIELDS = (
    "predicted_state",
    "predicted_state_cov",
    "filtered_state",
    "filtered_state_cov",
    "forecast",
    "forecast_error",
)
FIELDS += ("forecast_error_cov", "loglikelihood")


def all_fields(waves, *arrays, **options):
    """A function of everything that the filter gives, but NaN of diffuse states not yet determined."""
    result = kalman_filter(*arrays, **options)
    total = 0.0
    for wave, name in zip(waves, FIELDS, strict=True):
        x = getattr(result, name)
        known = ~np.isnan(x)
        total = total + np.sum(np.where(known, np.sin(wave + np.where(known, x, 0.0)), 0.0))
    return total


@pytest.mark.parametrize("diffuse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_gradients_of_filters_are_those_of_recursions(rng, name, diffuse):
    arrays, _ = case(rng, **{"T": 20, **CASES[name]})
    mask = np.arange(arrays[1].shape[-1]) < 2 if diffuse else None
    waves = rng.standard_normal(len(FIELDS))
    found = ld.grad(lambda *a: all_fields(waves, *a, diffuse=mask), argnums=ALL)(*arrays)
    expected = ld.grad(lambda *a: all_fields(waves, *a, diffuse=mask, method="composed"), argnums=ALL)(
        *arrays
    )
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            x, y, rtol=1e-7, atol=1e-8 * (1 + np.max(np.abs(y), where=~np.isnan(y), initial=0))
        )


@pytest.mark.parametrize("name", ["one", "missing elements", "many with gaps"])
def test_second_derivatives_of_filters(rng, name):
    (y, *rest), _ = case(rng, **{**CASES[name], "T": 8})
    waves = rng.standard_normal(len(FIELDS))

    def function(scale, noise, level):
        transition, design, state_cov, obs_cov, *start = rest
        model = scale * transition, design, state_cov, noise * obs_cov, *start
        return all_fields(waves, y, *model, obs_intercept=level)

    check_grads(function, (0.9, 1.2, np.array([0.3, -0.2])), order=2, rtol=1e-5)


@pytest.mark.parametrize("diffuse", [None, True])
def test_forecasts(rng, diffuse):
    (y, *rest), _ = case(rng, T=15, missing=True)

    def function(scale, noise):
        transition, design, state_cov, obs_cov, *start = rest
        model = scale * transition, design, state_cov, noise * obs_cov, *start
        ahead = forecast(4, y, *model, diffuse=diffuse)
        return sum(np.sum(np.sin(x)) for x in ahead)

    check_grads(function, (0.9, 1.2), order=2, rtol=1e-5)


@pytest.mark.parametrize("missing", [2, 3, 4])
def test_derivatives_where_no_data_determine_the_diffuse_states_well(missing):
    """Against 60 digits of the joint distribution, with a variance of 1e100."""
    A, D = np.array([[0.33, 0.14], [-0.206, -0.0756]]), np.array([[0.3, -0.2], [0.1, 0.4]])
    B, Q = np.array([[1.0, 0.3]]), np.array([[1.95, -0.16], [-0.16, 0.21]])
    y = np.r_[np.full(missing, np.nan), np.random.default_rng(0).normal(size=12)]

    def of(s):
        found = ld.statespace.kalman_smoother(y, A + s * D, B, Q, np.ones(1), diffuse=True)
        return found.smoothed_state[missing, 0]

    tolerance = {2: 1e-5, 3: 1e-3, 4: 1e-1}[missing]
    assert of(0.0) == pytest.approx(1.0402788626, rel=1e-7)
    assert ld.grad(of)(0.0) == pytest.approx(2.1851565, rel=tolerance)
    assert ld.hessian(of)(0.0) == pytest.approx(21.473668, rel=tolerance)
