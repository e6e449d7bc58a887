"""Filter, smoother, forecasts and draws of state-space models: against the dense Gaussian."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from duck import DuckArray
from numpy.testing import assert_allclose, assert_array_equal
from statespace_reference import (
    conditioned,
    dense,
    of_series,
    posterior,
    random_model,
    symmetric,
    with_missing,
)

import lindiff as ld
from lindiff import statespace
from lindiff.statespace import (
    Model,
    forecast,
    kalman_filter,
    kalman_smoother,
    loglikelihood,
    simulate,
    simulate_smoother,
)
from lindiff.testing import check_grads

SHAPES = [(1, 1, 6), (3, 2, 5), (2, 4, 4), (4, 1, 1)]


@pytest.fixture
def rng():
    return np.random.default_rng(1)


# -- filter ------------------------------------------------------------------------------------------------


def states_given(y, model, steps, seen):
    """Mean and covariance of state and observation at a step, given the steps before `seen`."""
    data = np.full((steps + 1, y.shape[1]), np.nan)
    data[:seen] = y[:seen]
    n, p = model.transition.shape[-1], model.design.shape[-2]
    mean, cov, y_mean, y_cov, H = dense(model, steps + 1)
    x, V, _ = conditioned(mean, cov, cov @ H.T, data.ravel(), y_mean, y_cov)
    e, F, _ = conditioned(y_mean, y_cov, y_cov, data.ravel(), y_mean, y_cov)
    return x[-n:], V[-n:, -n:], e[-p:], F[-p:, -p:]


@pytest.mark.parametrize(("n", "p", "steps"), SHAPES)
@pytest.mark.parametrize("varying", [False, True])
def test_filter_is_the_dense_conditional(rng, n, p, steps, varying):
    model = random_model(rng, n, p, (steps,) if varying else (), diagonal=varying)
    y = with_missing(rng, rng.standard_normal((steps, p)))
    result = kalman_filter(y, *model)
    assert_allclose(result.loglikelihood, loglikelihood(y, *model), rtol=1e-12)
    for t in range(steps):
        x, V, e, F = states_given(y, model, t, t)
        assert_allclose(result.predicted_state[t], x, atol=1e-10)
        assert_allclose(result.predicted_state_cov[t], V, atol=1e-10)
        assert_allclose(result.forecast[t], e, atol=1e-10)
        assert_allclose(result.forecast_error_cov[t], F, atol=1e-10)
        x, V, _, _ = states_given(y, model, t, t + 1)
        assert_allclose(result.filtered_state[t], x, atol=1e-10)
        assert_allclose(result.filtered_state_cov[t], V, atol=1e-10)
    x, V, _, _ = states_given(np.vstack([y, np.zeros((1, p))]), model, steps, steps)
    assert_allclose(result.predicted_state[-1], x, atol=1e-10)
    assert_allclose(result.predicted_state_cov[-1], V, atol=1e-10)
    assert_allclose(result.forecast_error, y - result.forecast)


@pytest.mark.parametrize("function", [kalman_filter, kalman_smoother])
@pytest.mark.parametrize("lead", [(), (4,), (3, 1), (3, 4)])
def test_many_series_are_each_alone(rng, function, lead):
    model = random_model(rng, 2, 2, lead)
    y = with_missing(rng, rng.standard_normal((3, 4, 2)), 0.2)
    y[2] = y[0]
    for diffuse in (None, np.array([True, False])):
        model = model._replace(diffuse=diffuse)
        together = function(y, *model)
        for s in range(3):
            alone = function(y[s], *of_series(model, s))
            for name, got, expected in zip(alone._fields, together, alone, strict=True):
                assert_allclose(got[s], expected, rtol=1e-9, atol=1e-10, err_msg=name)


def test_no_steps_and_no_series(rng):
    model = random_model(rng, 2, 3)
    result = kalman_filter(np.zeros((0, 3)), *model)
    assert [np.shape(x) for x in result] == [
        (), (1, 2), (1, 2, 2), (0, 2), (0, 2, 2), (0, 3), (0, 3), (0, 3, 3)
    ]  # fmt: skip
    assert_array_equal(result.predicted_state[0], model.initial_state)
    assert [np.shape(x) for x in kalman_smoother(np.zeros((0, 3)), *model)] == [(), (0, 2), (0, 2, 2)]
    shapes = [np.shape(x) for x in kalman_smoother(np.zeros((0, 4, 3)), *model)]
    assert shapes == [(0,), (0, 4, 2), (0, 4, 2, 2)]


# -- smoother ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "p", "steps"), SHAPES)
@pytest.mark.parametrize("varying", [False, True])
def test_smoother_is_the_dense_posterior(rng, n, p, steps, varying):
    model = random_model(rng, n, p, (steps,) if varying else ())
    for share in (0.0, 0.4, 1.0):
        y = with_missing(rng, rng.standard_normal((steps, p)), share)
        result = kalman_smoother(y, *model)
        for got, expected in zip(result, posterior(y, model), strict=True):
            assert_allclose(got, expected, rtol=1e-9, atol=1e-10)


def test_smoother_without_noise_and_of_an_unstable_model(rng):
    model = random_model(rng, 3, 1)._replace(obs_cov=np.zeros((1, 1)))
    y = with_missing(rng, rng.standard_normal((5, 1)))
    for got, expected in zip(kalman_smoother(y, *model), posterior(y, model), strict=True):
        assert_allclose(got, expected, rtol=1e-8, atol=1e-9)
    model = random_model(rng, 2, 2)._replace(transition=np.array([[1.5, 0.2], [0.0, 1.8]]))
    y = 1.8 ** np.arange(12)[:, None] * rng.standard_normal(2)
    for got, expected in zip(kalman_smoother(y, *model), posterior(y, model), strict=True):
        assert_allclose(got, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("function", [kalman_filter, kalman_smoother])
def test_covariances_are_symmetric_and_precision_stays(rng, function):
    model = random_model(rng, 3, 2)
    for diffuse in (None, np.array([True, False, False])):
        for result in (
            function(rng.standard_normal((8, 2)), *model[:-1], diffuse),
            function(np.float32(rng.standard_normal((8, 2))), *map(np.float32, model[:-1]), diffuse),
        ):
            for x in result:
                if x.ndim == 3:
                    size = np.nanmax(np.abs(x))
                    rounding = 4 * np.finfo(x.dtype).eps * size
                    assert_allclose(x, np.swapaxes(x, 1, 2), rtol=0, atol=rounding)
        assert {x.dtype for x in result} == {np.dtype(np.float32)}


# -- diffuse states ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", [[True, True], [False, True]])
def test_diffuse_states_are_the_limit_of_large_variances(rng, mask):
    mask = np.array(mask)
    model = random_model(rng, 2, 1)._replace(diffuse=mask)
    y = rng.standard_normal((6, 1))
    y[1] = np.nan

    def proper(kappa):
        cov = model.initial_state_cov * np.outer(~mask, ~mask) + kappa * np.diag(mask)
        return model._replace(initial_state_cov=cov, diffuse=None)

    first = 2 if mask.all() else 0  # whose data are the first to determine them
    for function in (kalman_filter, kalman_smoother):
        got = function(y, *model)
        near, far = (function(y, *proper(kappa)) for kappa in (1e6, 1e7))
        for name, a, b, c in list(zip(got._fields, got, near, far, strict=True))[1:]:
            start = 0 if "smoothed" in name else first if "filtered" in name else first + 1
            assert np.all(np.isnan(a[:start]))
            assert_array_equal(np.isnan(a[start:]), np.isnan(b[start:]))
            assert_allclose(a[start:], ((10 * c - b) / 9)[start:], rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("lead", [(), (40,), (3, 1)])
def test_diffuse_models_are_proper_once_the_data_determine_them(rng, lead):
    """By the compiled sweep from there on, as in the loop over all steps."""
    transition = np.broadcast_to([[1.0, 1.0], [0.0, 0.9]], (*lead, 2, 2))
    model = random_model(rng, 2, 1, lead)._replace(transition=transition, diffuse=[True, True])
    y = rng.standard_normal((3, 40, 1))
    y[1, :20] = y[2, 30] = np.nan
    got = kalman_filter(y, *model)
    # Variables take the loop
    expected = ld.jvp(lambda y: kalman_filter(y, *model), (y,), (np.zeros_like(y),))[0]
    for name, a, b in zip(got._fields, got, expected, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-10, err_msg=name)
    for per_step in (False, True):
        a, b = (loglikelihood(y, *model, per_step=per_step, method=m) for m in (None, "composed"))
        assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_faults_of_diffuse_models_name_step_and_series(rng):
    one, nothing = np.eye(1), np.zeros((1, 1))
    variances = np.array([8.0, 0.0])[:, None, None, None]
    model = Model(one, one, nothing, variances, diffuse=True)  # known from its first observation on
    y = rng.standard_normal((2, 5, 1))
    y[:, 1] = np.nan
    y[0, 2] = np.nan
    for call in (kalman_filter, functools.partial(loglikelihood, per_step=True)):
        with pytest.raises(np.linalg.LinAlgError, match=r"\(series 1\): .* at step 2 is not positive"):
            call(y, *model)
        with pytest.raises(ValueError, match="the data of series 1 never determine"):
            call(np.where([[[False]], [[True]]], np.nan, y), *model._replace(obs_cov=one))
        empty = call(y[:0], *model._replace(obs_cov=one))
        assert len(empty[0] if isinstance(empty, tuple) else empty) == 0


def test_diffuse_forecasts_and_draws(rng):
    model = Model(np.array([[1.0, 1.0], [0.0, 1.0]]), np.eye(1, 2), 0.1 * np.eye(2), np.eye(1), diffuse=True)
    y = 3.0 * np.arange(8.0) + rng.standard_normal(8)
    ahead = forecast(3, y, *model)
    assert_allclose(ahead.mean[:, 0], 3.0 * np.arange(8, 11), atol=3)
    result, draws = kalman_smoother(y, *model), simulate_smoother(y, *model, rng=rng, size=10_000)
    assert_allclose(np.mean(draws, axis=0), result.smoothed_state, atol=0.06)
    for t in (0, 3, 7):
        assert_allclose(np.cov(draws[:, t].T), result.smoothed_state_cov[t], atol=0.06)


# -- arrays of other libraries -----------------------------------------------------------------------------


@pytest.mark.parametrize("diffuse", [None, True])
def test_arrays_that_speak_the_protocols(rng, diffuse):
    model, y = random_model(rng, 2, 2), with_missing(rng, rng.standard_normal((3, 5, 2)), 0.2)
    ducks = [DuckArray(x) for x in (y, *model[:-1])]
    for function in (kalman_filter, kalman_smoother):
        for got, expected in zip(function(*ducks, diffuse), function(y, *model[:-1], diffuse), strict=True):
            assert type(got) is DuckArray
            assert_allclose(got.array, expected, rtol=1e-9, atol=1e-12)
    got = ld.grad(lambda *args: np.sum(loglikelihood(*args, diffuse)), (1, 4))(*ducks)
    expected = ld.grad(lambda *args: np.sum(loglikelihood(*args, diffuse)), (1, 4))(y, *model[:-1])
    for x, wanted in zip(got, expected, strict=True):
        assert type(x) is DuckArray
        assert_allclose(x.array, wanted, rtol=1e-9)


# -- derivatives -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [kalman_filter, kalman_smoother])
@pytest.mark.parametrize("diffuse", [None, np.array([True, False])])
def test_derivatives_by_every_argument(rng, function, diffuse):
    model = random_model(rng, 2, 1)
    y = rng.standard_normal((4, 1))
    hidden = np.array([[False], [True], [False], [False]])

    def of_all(y, *model):
        y = np.where(hidden, np.nan, y)
        result = function(y, *symmetric(Model(*model, diffuse=diffuse)))
        return [np.where(np.isnan(ld.value(x)), 0.0, x) for x in result]

    check_grads(of_all, (y, *model[:-1]), 2, rtol=1e-5)


@pytest.mark.parametrize("lead", [(), (3, 4)])
def test_derivatives_of_many_series(rng, lead):
    model, y = random_model(rng, 2, 2, lead), with_missing(rng, rng.standard_normal((3, 4, 2)))
    y[2] = y[0] + 1
    check_grads(lambda *model: kalman_smoother(y, *symmetric(Model(*model)))[1:], model[:-1], 1, rtol=1e-6)


def test_gradient_by_the_data_is_the_smoothed_noise(rng):
    """``E[v | y] = -obs_cov d log p / dy``, Durbin & Koopman (2012), section 4.5."""
    model, y = random_model(rng, 2, 2), rng.standard_normal((5, 2))
    states = kalman_smoother(y, *model).smoothed_state
    noise = y - states @ model.design.T - model.obs_intercept
    assert_allclose(-ld.grad(loglikelihood)(y, *model) @ model.obs_cov, noise, rtol=1e-9)


# -- forecasts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("varying", [False, True])
def test_forecasts_are_dense_conditionals(rng, varying):
    model = random_model(rng, 3, 2, (7,) if varying else ())
    y = with_missing(rng, rng.standard_normal((4, 2)))
    result = forecast(3, y, *model)
    for h in range(3):
        x, V, e, F = states_given(np.vstack([y, np.zeros((3, 2))]), model, 4 + h, 4)
        for got, expected in zip(result, (e, F, x, V), strict=True):
            assert_allclose(got[h], expected, atol=1e-10)
    several = forecast(3, np.stack([y, y + 1.0]), *model)
    assert several.mean.shape == (2, 3, 2)
    assert several.state_cov.shape == (2, 3, 3, 3)
    assert_allclose(several.mean[0], result.mean)


def test_forecasts_of_flat_data_and_none_at_all(rng):
    model, y = random_model(rng, 2, 1), rng.standard_normal(5)
    assert_allclose(forecast(2, y, *model).mean, forecast(2, y[:, None], *model).mean)
    assert [x.shape for x in forecast(0, y, *model)] == [(0, 1), (0, 1, 1), (0, 2), (0, 2, 2)]
    prior = forecast(1, np.zeros(0), *model)
    assert_array_equal(prior.state[0], model.initial_state)
    with pytest.raises(ValueError, match="steps must not be negative, got -1"):
        forecast(-1, y, *model)


# -- draws -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_draws_have_the_moments_of_the_model(rng, lead):
    model = random_model(rng, 2, 1, lead, diagonal=True)
    states, y = simulate(3, *model, rng=rng, size=(4, 5000))
    series = lead[:1] if len(lead) == 2 else ()
    assert states.shape == (4, 5000, *series, 3, 2)
    assert y.shape == (4, 5000, *series, 3, 1)
    for s in range(2 if series else 1):
        mean, cov, y_mean, y_cov, _ = dense(of_series(model, s), 3)
        x = (states[:, :, s] if series else states).reshape(20_000, 6)
        z = (y[:, :, s] if series else y).reshape(20_000, 3)
        for draws, m, V in ((x, mean, cov), (z, y_mean, y_cov)):
            assert_allclose(np.mean(draws, axis=0), m, atol=0.06)
            assert_allclose(np.cov(draws.T), V, atol=0.06 * np.max(V))


@pytest.mark.parametrize("lead", [(), (2, 4)])
def test_draws_given_data_have_the_moments_of_the_smoother(rng, lead):
    model = random_model(rng, 2, 1, lead)
    y = rng.standard_normal((2, 4, 1))
    y[1, 2] = np.nan
    draws = simulate_smoother(y, *model, rng=rng, size=(2, 10_000))
    assert draws.shape == (2, 10_000, 2, 4, 2)
    flat = draws.reshape(20_000, 2, 8)
    for s in range(2):
        mean, cov, y_mean, y_cov, H = dense(of_series(model, s), 4)
        mean, cov, _ = conditioned(mean, cov, cov @ H.T, y[s].ravel(), y_mean, y_cov)
        assert_allclose(np.mean(flat[:, s], axis=0), mean, atol=0.06)
        assert_allclose(np.cov(flat[:, s].T), cov, atol=0.06)


@pytest.mark.parametrize("lead", [(), (6,), (3, 6)])
@pytest.mark.parametrize("diffuse", [None, [False, True]])
def test_compiled_draws_are_those_of_the_composed_recursions(rng, lead, diffuse):
    model = random_model(rng, 2, 1, lead)._replace(diffuse=diffuse)
    if lead == ():
        model = model._replace(initial_state=rng.standard_normal((3, 2)))
    y = rng.standard_normal((3, 6, 1))
    y[1, 2] = y[2, 2] = np.nan
    compiled = simulate_smoother(y, *model, rng=3, size=(2, 2))
    composed, _ = ld.vjp(lambda A: simulate_smoother(y, A, *model[1:], rng=3, size=(2, 2)), model.transition)
    assert_allclose(compiled, composed, rtol=1e-9, atol=1e-9)


def test_shapes_of_draws(rng):
    model, y = random_model(rng, 2, 1), rng.standard_normal(4)
    assert [x.shape for x in simulate(5, *model, rng=rng)] == [(5, 2), (5, 1)]
    assert [x.shape for x in simulate(0, *model, rng=rng, size=3)] == [(3, 0, 2), (3, 0, 1)]
    assert simulate_smoother(y, *model, rng=rng).shape == (4, 2)
    assert simulate_smoother(np.stack([y, y])[..., None], *model, rng=rng).shape == (2, 4, 2)
    assert simulate_smoother(y[:0], *model, rng=rng, size=3).shape == (3, 0, 2)
    seeded = simulate(5, *model, rng=7)
    for a, b in zip(seeded, simulate(5, *model, rng=np.random.default_rng(7)), strict=True):
        assert_array_equal(a, b)
    several = np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]])[..., None]  # two groups, one seed
    deviations = simulate_smoother(several, *model, rng=7) - kalman_smoother(several, *model).smoothed_state
    assert not np.any(np.isclose(deviations[0], deviations[1]))
    single = [np.float32(x) for x in model[:-1]]
    assert {x.dtype for x in simulate(5, *single, rng=rng)} == {np.dtype(np.float32)}
    assert simulate_smoother(np.float32(y), *single, rng=rng).dtype == np.float32


def test_singular_and_indefinite_covariances_of_draws(rng):
    column = np.array([[1.0], [2.0], [0.5]])
    model = random_model(rng, 3, 1)._replace(transition=np.zeros((3, 3)), state_cov=column @ column.T)
    model = model._replace(obs_cov=np.zeros((1, 1)), state_intercept=None, obs_intercept=None)
    states, y = simulate(6, *model, rng=rng)
    assert_allclose(states[1:] * column[0, 0], states[1:, :1] * column[:, 0], atol=1e-12)
    assert_allclose(y, states @ model.design.T, rtol=1e-12)
    # all correlations within 1, one eigenvalue negative
    indefinite = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    with pytest.raises(np.linalg.LinAlgError, match="simulate: state_cov is indefinite"):
        simulate(6, *model._replace(state_cov=indefinite), rng=rng)
    with pytest.raises(ValueError, match=r"diffuse states \(0, 1, 2\) have no distribution"):
        simulate(6, *model._replace(diffuse=True), rng=rng)
    with pytest.raises(ValueError, match="steps must not be negative, got -2"):
        simulate(-2, *model, rng=rng)


def test_derivatives_of_draws(rng):
    """Along changes of a singular covariance that keep its rank."""
    model, y = random_model(rng, 2, 1), np.array([0.3, np.nan, -1.0])

    def drawn(column, *rest):
        cov = column[:, None] * column
        A, B, R, m, P = rest
        system = symmetric(Model(A, B, cov, R, m, P))
        return (
            simulate(3, *system, rng=np.random.default_rng(5), size=2),
            simulate_smoother(y, *system, rng=np.random.default_rng(6), size=2),
        )

    rest = model.transition, model.design, model.obs_cov, model.initial_state, model.initial_state_cov
    check_grads(drawn, (np.array([1.0, 0.5]), *rest), 2, rtol=1e-6)


def test_forecast_of_swapped_arguments_says_what_to_write(rng):
    model = random_model(rng, 2, 1)
    with pytest.raises(TypeError, match=r"write forecast\(steps, y, \*model\)"):
        forecast(rng.standard_normal((5, 1)), 3, *model)


def known_exactly():
    """Models whose states the filter comes to know, so that predicted covariances are nearly singular."""
    rng = np.random.default_rng(0)
    A = np.array([[-0.09, 1, 0, 0], [-0.45, 0, 1, 0], [0.05, 0, 0, 1], [0.29, 0, 0, 0]])
    B = np.array([[1.0, 0, 0.8, 0], [0, 1, 0, 0]])
    own = statespace.Model(A, B, np.diag([0, 0, 0.5, 0]), np.array([0.5, 0.0]), np.zeros(4), np.eye(4))
    quarters = {"difference": 1, "period": 4, "seasonal_ma": [-0.1], "seasonal_difference": 1}
    return {
        "airline": (statespace.sarima((), [-0.8], 1.0, **quarters), rng.standard_normal(240).cumsum()),
        "not invertible": (statespace.arma([0.3], [-0.9, 0.4, 1.5], 1.0), rng.standard_normal(300)),
        "own": (own, rng.standard_normal((60, 2))),
        "varma": (
            statespace.varma([0.5 * np.eye(2)], [np.array([[0.3, 0.9], [1.2, 0.1]])], np.eye(2)),
            rng.standard_normal((300, 2)),
        ),
        "ets": (
            statespace.exponential_smoothing(0.5, 1.0, 0.09, 0.18, period=4),
            rng.standard_normal(300).cumsum(),
        ),
    }


@pytest.mark.parametrize("gap", [0, 4])
@pytest.mark.parametrize("name", known_exactly())
def test_states_that_the_filter_comes_to_know(name, gap):
    model, y = known_exactly()[name]
    y[40 : 40 + gap] = np.nan
    found, expected = (statespace.kalman_smoother(y, *model, method=m) for m in (None, "composed"))
    size = np.abs(expected.smoothed_state_cov).max()
    np.testing.assert_allclose(found.smoothed_state_cov, expected.smoothed_state_cov, atol=1e-9 * size)
    assert np.all(np.isfinite(statespace.Analysis(model, y).signal.std_error))
