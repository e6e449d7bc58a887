"""The log likelihood of state-space models: against the dense Gaussian, and its derivatives."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from statespace_reference import of_series, posterior, random_model, symmetric, with_missing

import lindiff as ld
from lindiff.statespace import Model, kalman_smoother, stationary_initialization
from lindiff.statespace import loglikelihood as compiled
from lindiff.statespace.model import series_by_pattern
from lindiff.testing import check_grads


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=[None, "composed", "square_root"])
def loglikelihood(request):
    return functools.partial(compiled, method=request.param)


SHAPES = [(1, 1, 6), (3, 2, 5), (2, 4, 4), (4, 1, 1), (2, 2, 0)]


# -- values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "p", "steps"), SHAPES)
@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_value_is_that_of_the_dense_gaussian(rng, n, p, steps, varying, diagonal, loglikelihood):
    model = random_model(rng, n, p, (steps,) if varying else (), diagonal=diagonal)
    for share in (0.0, 0.4, 1.0):
        y = with_missing(rng, rng.standard_normal((steps, p)), share)
        got = loglikelihood(y, *model)
        assert np.shape(got) == ()
        expected = posterior(y, model)[0]
        assert_allclose(got, expected, rtol=1e-10, atol=1e-12)
        by_step = loglikelihood(y, *model, per_step=True)
        assert by_step.shape == (steps,)
        assert_allclose(
            np.cumsum(by_step), [posterior(y[: t + 1], model)[0] for t in range(steps)], rtol=1e-9
        )


def test_steps_without_observations_have_zero_density(rng, loglikelihood):
    model, y = random_model(rng, 3, 2), rng.standard_normal((6, 2))
    y[[0, 3]] = np.nan
    by_step = loglikelihood(y, *model, per_step=True)
    assert_array_equal(by_step == 0, [True, False, False, True, False, False])
    assert_allclose(np.sum(by_step), posterior(y, model)[0])
    assert_array_equal(loglikelihood(np.full((6, 2), np.nan), *model), 0.0)


def test_one_number_a_step_may_come_flat(rng, loglikelihood):
    model, y = random_model(rng, 2, 1), rng.standard_normal(5)
    assert_allclose(loglikelihood(y, *model), loglikelihood(y[:, None], *model))
    assert_allclose(loglikelihood(list(y), *model), loglikelihood(y[None, :, None], *model)[0])


def test_variances_may_stand_in_a_row(rng, loglikelihood):
    model, y = random_model(rng, 2, 3), rng.standard_normal((5, 3))
    variances = np.array([0.5, 1.0, 2.0])
    expected = loglikelihood(y, *model._replace(obs_cov=np.diag(variances)))
    for obs_cov in (variances, variances[None], np.tile(variances, (5, 1, 1)), variances[None, None, None]):
        got = loglikelihood(y, *model._replace(obs_cov=obs_cov))
        assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("lead", [(), (5,), (4, 1), (4, 5)])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_many_series_are_each_alone(rng, lead, share, loglikelihood):
    model = random_model(rng, 3, 2, lead)
    y = with_missing(rng, rng.standard_normal((4, 5, 2)), share)
    y[2] = y[0]
    got = loglikelihood(y, *model)
    assert got.shape == (4,)
    alone = [posterior(y[s], of_series(model, s))[0] for s in range(4)]
    assert_allclose(got, alone, rtol=1e-10)
    by_step = loglikelihood(y, *model, per_step=True)
    assert by_step.shape == (4, 5)
    assert_allclose(np.sum(by_step, axis=1), alone, rtol=1e-10)


@pytest.mark.parametrize("name", Model._fields[:-1])
def test_one_argument_of_each_series_own(rng, name, loglikelihood):
    """Alone of one series' data, too, which all parameters then share."""
    model, own = random_model(rng, 2, 2), random_model(rng, 2, 2, (3, 1))
    model = model._replace(**{name: getattr(own, name)})
    y = with_missing(rng, rng.standard_normal((3, 4, 2)))
    alone = [posterior(y[s], of_series(model, s))[0] for s in range(3)]
    assert_allclose(loglikelihood(y, *model), alone, rtol=1e-10)
    alone = [posterior(y[0], of_series(model, s))[0] for s in range(3)]
    assert_allclose(loglikelihood(y[0], *model), alone, rtol=1e-10)


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_any_mix_of_shapes(data):
    """Each argument constant, varying over time, or each series' own, whatever the others are."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    n, p, steps, series = (data.draw(st.integers(1, 3)) for _ in range(4))
    leads = [(), (1,), (steps,), (1, steps), (series, 1), (series, steps)]
    sources = {lead: random_model(rng, n, p, lead) for lead in leads}
    model = Model(*(getattr(sources[data.draw(st.sampled_from(leads))], name) for name in Model._fields[:-1]))
    y = with_missing(rng, rng.standard_normal((series, steps, p)), data.draw(st.sampled_from([0.0, 0.5])))
    expected = [posterior(y[s], of_series(model, s)) for s in range(series)]
    for method in (None, "composed", "square_root"):
        assert_allclose(compiled(y, *model, method=method), [loglik for loglik, _, _ in expected], rtol=1e-8)
    for method in (None, "square_root"):
        result = kalman_smoother(y, *model, method=method)
        assert_allclose(result.smoothed_state, [mean for _, mean, _ in expected], rtol=1e-7, atol=1e-8)
        assert_allclose(result.smoothed_state_cov, [cov for _, _, cov in expected], rtol=1e-7, atol=1e-8)


def test_no_series_at_all(rng, loglikelihood):
    model = random_model(rng, 2, 1)
    assert loglikelihood(np.zeros((0, 4, 1)), *model).shape == (0,)
    assert loglikelihood(np.zeros((0, 4, 1)), *model, per_step=True).shape == (0, 4)


def test_series_are_grouped_by_missing_values(rng):
    y = rng.standard_normal((5, 3, 2))
    y[[1, 4], 2, 0] = np.nan
    y[3, 0] = np.nan
    found = series_by_pattern(y)
    assert [list(series) for series, _ in found] == [[0, 2], [1, 4], [3]]
    for series, observed in found:
        for s in series:
            assert_array_equal(observed, ~np.isnan(y[s]))


def test_without_noise_in_observations_or_states(rng, loglikelihood):
    """R = 0 and singular Q, in which no inverse may be taken."""
    model = random_model(rng, 3, 2)._replace(obs_cov=np.zeros((2, 2)))
    y = with_missing(rng, rng.standard_normal((5, 2)))
    assert_allclose(loglikelihood(y, *model), posterior(y, model)[0], rtol=1e-10)
    column = rng.standard_normal((3, 1))
    model = model._replace(state_cov=column @ column.T, obs_cov=np.eye(2))
    assert_allclose(loglikelihood(y, *model), posterior(y, model)[0], rtol=1e-10)


def test_unstable_transition(rng, loglikelihood):
    model = random_model(rng, 2, 2)._replace(transition=np.array([[1.5, 0.2], [0.0, 1.8]]))
    y = 2.0 ** np.arange(12)[:, None] * rng.standard_normal(2)
    assert_allclose(loglikelihood(y, *model), posterior(y, model)[0], rtol=1e-8)
    long = np.zeros((150, 2))
    value, gradient = ld.value_and_grad(loglikelihood, 1)(long, *model)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


def test_float32_stays(rng, loglikelihood):
    model = Model(*(np.float32(x) for x in random_model(rng, 3, 2)[:-1]))
    y = np.float32(with_missing(rng, rng.standard_normal((3, 6, 2))))
    args = (y, *model[:-1])
    double = [x.astype(float) for x in args]
    for diffuse in (None, True):
        value, gradients = ld.value_and_grad(
            lambda *a, diffuse=diffuse: np.sum(loglikelihood(*a, diffuse)), tuple(range(9))
        )(*args)
        assert {x.dtype for x in (value, *gradients)} == {np.dtype(np.float32)}
        expected = np.sum(loglikelihood(*double, diffuse))
        assert_allclose(value, expected, rtol=1e-4)
    mixed = loglikelihood(y, *model._replace(transition=double[1]))
    assert mixed.dtype == np.float64


def test_integers_become_floats(loglikelihood):
    one = np.eye(1, dtype=int)
    got = loglikelihood([1, 2, 4], one, one, one, one, np.zeros(1, int), one)
    assert got == loglikelihood([1.0, 2.0, 4.0], *(1.0 * x for x in (one, one, one, one, one[0] - 1, one)))


# -- derivatives -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_derivatives_of_second_order_by_every_argument(rng, varying, diagonal, loglikelihood):
    model = random_model(rng, 2, 2, (4,) if varying else (), diagonal=diagonal)
    y = rng.standard_normal((4, 2))
    hidden = np.isnan(with_missing(rng, y))

    def of_all(y, *model):
        return loglikelihood(np.where(hidden, np.nan, y), *symmetric(Model(*model)))

    check_grads(of_all, (y, *model[:-1]), 2, rtol=1e-6)


@pytest.mark.parametrize("lead", [(), (3, 4)])
def test_derivatives_of_many_series_step_by_step(rng, lead, loglikelihood):
    model = random_model(rng, 2, 2, lead)
    y = with_missing(rng, rng.standard_normal((3, 4, 2)))
    y[1] = y[0] + 1.0
    check_grads(
        lambda *model: loglikelihood(y, *symmetric(Model(*model)), per_step=True), model[:-1], 1, rtol=1e-6
    )


def test_missing_values_have_zero_gradients(rng, loglikelihood):
    model = random_model(rng, 2, 2)
    y = with_missing(rng, rng.standard_normal((6, 2)))
    gradient = ld.grad(loglikelihood)(y, *model)
    assert_array_equal(gradient == 0, np.isnan(y))


def test_gradient_of_many_series_is_the_sum_of_single_ones(rng, loglikelihood):
    model, y = random_model(rng, 3, 2), with_missing(rng, rng.standard_normal((5, 6, 2)))
    args = tuple(range(1, 9))
    together = ld.grad(lambda *a: np.sum(loglikelihood(*a)), args)(y, *model)
    alone = [ld.grad(loglikelihood, args)(y[s], *model) for s in range(5)]
    for got, *parts in zip(together, *alone, strict=True):
        assert_allclose(got, sum(parts), rtol=1e-10, atol=1e-12)


def test_covariances_have_symmetric_gradients(rng, loglikelihood):
    model, y = random_model(rng, 3, 2), rng.standard_normal((4, 2))
    for gradient in ld.grad(loglikelihood, (3, 4, 6))(y, *model):
        assert_array_equal(gradient, gradient.T)


def test_singular_covariances_have_the_gradients_of_the_dense_gaussian(rng, loglikelihood):
    """``-½ tr(S⁻¹ dS) + ½ wᵀ dS w``, where differences would leave the covariances."""
    model, y = random_model(rng, 2, 1)._replace(obs_cov=np.zeros((1, 1))), rng.standard_normal((4, 1))
    model = model._replace(state_cov=np.diag([0.7, 0.0]))
    R_bar, Q_bar = ld.grad(loglikelihood, (4, 3))(y, *model)
    slopes = {}
    for name, direction in (("obs_cov", np.eye(1)), ("state_cov", np.diag([0.0, 1.0]))):
        h = 1e-4
        values = [
            posterior(y, model._replace(**{name: getattr(model, name) + k * h * direction}))[0]
            for k in (-2, -1, 1, 2)
        ]
        slopes[name] = (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * h)
    assert_allclose(R_bar[0, 0], slopes["obs_cov"], rtol=1e-8)
    assert_allclose(Q_bar[1, 1], slopes["state_cov"], rtol=1e-8)


def test_third_order(rng, loglikelihood):
    model, y = random_model(rng, 1, 1), rng.standard_normal((2, 1))
    check_grads(
        lambda A, R: loglikelihood(y, *model._replace(transition=A, obs_cov=R)),
        (model.transition, model.obs_cov),
        3,
        rtol=1e-5,
    )


# -- diffuse states ----------------------------------------------------------------------------------------


def limit(y, model, d):
    """``log p(y) + d/2 log κ`` by Richardson's extrapolation in 1/κ."""
    values = []
    for kappa in (1e5, 1e6):
        cov = np.array(model.initial_state_cov)
        i = np.flatnonzero(model.diffuse)
        cov[i, :] = cov[:, i] = 0.0
        cov[i, i] = kappa
        proper = model._replace(initial_state_cov=cov, diffuse=None)
        values.append(posterior(y, proper)[0] + 0.5 * d * np.log(kappa))
    return (10 * values[1] - values[0]) / 9


@pytest.mark.parametrize("mask", [[True, True], [True, False], [False, True]])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_diffuse_likelihood_is_the_limit(rng, mask, p, loglikelihood):
    model = random_model(rng, 2, p)._replace(diffuse=np.array(mask))
    y = with_missing(rng, rng.standard_normal((6, p)), 0.2)
    expected = limit(y, model, sum(mask))
    got = loglikelihood(y, *model)
    assert_allclose(got, expected, rtol=1e-6)
    by_step = loglikelihood(y, *model, per_step=True)
    assert_allclose(np.sum(by_step), got, rtol=1e-12)
    for t in range(4, 6):
        assert_allclose(np.sum(by_step[: t + 1]), limit(y[: t + 1], model, sum(mask)), rtol=1e-5)


def test_what_is_said_of_diffuse_states_is_not_used(rng, loglikelihood):
    model, y = random_model(rng, 2, 2)._replace(diffuse=[False, True]), rng.standard_normal((6, 2))
    expected = loglikelihood(y, *model)
    other = model._replace(
        initial_state=model.initial_state + np.array([0.0, 100.0]),
        initial_state_cov=model.initial_state_cov * np.array([[1.0, 0.0], [0.0, 7.0]]),
    )
    assert_allclose(loglikelihood(y, *other), expected, rtol=1e-12)
    gradients = ld.grad(loglikelihood, (5, 6))(y, *model)
    assert gradients[0][1] == 0
    assert_array_equal(gradients[1] != 0, [[True, False], [False, False]])


def test_diffuse_level_far_away_loses_no_digits(rng, loglikelihood):
    """The likelihood does not know where zero is."""
    one, y = np.eye(1), np.cumsum(rng.standard_normal(20))
    model = Model(one, one, 1e-2 * one, 1e-4 * one, diffuse=True)
    near, slope = ld.value_and_grad(loglikelihood, 3)(y, *model)
    far, far_slope = ld.value_and_grad(loglikelihood, 3)(y + 2.0**20, *model)
    assert_allclose(far, near, rtol=1e-8)
    assert_allclose(far_slope, slope, rtol=1e-8)


@pytest.mark.parametrize("lead", [(), (3, 1)])
def test_derivatives_with_diffuse_states(rng, lead, loglikelihood):
    model = random_model(rng, 2, 1, lead)
    y = rng.standard_normal((3, 5, 1))
    y[1, 0] = y[2, 3] = np.nan
    mask = np.array([True, False])

    def of_all(*model):
        return loglikelihood(y, *symmetric(Model(*model, diffuse=mask)), per_step=True)

    check_grads(of_all, model[:-1], 2 if lead == () else 1, rtol=1e-5)


def test_data_that_do_not_determine_the_diffuse_states(rng, loglikelihood):
    model = random_model(rng, 2, 1)._replace(diffuse=True)
    for y in (np.full((4, 1), np.nan), np.zeros((0, 1)), rng.standard_normal((1, 1))):
        with pytest.raises(ValueError, match="never determine the 2 diffuse states"):
            loglikelihood(y, *model)
    one = np.eye(2)
    twice = Model(one, np.ones((1, 2)), one, np.eye(1), diffuse=True)  # two levels, only their sum is seen
    with pytest.raises(ValueError, match="never determine"):
        loglikelihood(rng.standard_normal((30, 1)), *twice)
    c, s = np.cos(np.pi), np.sin(np.pi)  # not zero
    wave = Model(np.array([[c, s], [-s, c]]), np.eye(1, 2), one, np.eye(1), diffuse=True)
    with pytest.raises(ValueError, match="never determine"):
        loglikelihood(rng.standard_normal((30, 1)), *wave)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_diffuse_states_and_regressors(rng, unit):
    """The density of the data in other units of a coefficient: ``log p + log unit``."""
    y, x = rng.standard_normal(20), rng.standard_normal(20)
    one = np.eye(2)

    def of_regressor(x, loglikelihood):
        design = np.stack([np.ones(20), x], axis=-1)[:, None]
        return loglikelihood(y, one, design, np.diag([0.1, 0.0]), np.eye(1), diffuse=True)

    for method in (None, "composed", "square_root"):
        loglikelihood = functools.partial(compiled, method=method)
        expected = of_regressor(x, loglikelihood) - np.log(unit)
        assert_allclose(of_regressor(unit * x, loglikelihood), expected, rtol=1e-10)


# -- the stationary start ----------------------------------------------------------------------------------


def test_stationary_initialization_is_where_the_model_stays(rng):
    model = random_model(rng, 3, 2)
    mean, cov = stationary_initialization(model.transition, model.state_cov, model.state_intercept)
    assert_allclose(model.transition @ mean + model.state_intercept, mean)
    assert_allclose(model.transition @ cov @ model.transition.T + model.state_cov, cov)
    assert_array_equal(cov, cov.T)
    mean, cov = stationary_initialization(np.float32(model.transition), np.float32(model.state_cov))
    assert mean.dtype == cov.dtype == np.float32
    assert_array_equal(mean, np.zeros(3))


def test_stationary_initialization_of_many_series(rng, loglikelihood):
    model, alone = random_model(rng, 2, 1, (3, 1)), []
    arrays = model.transition, model.state_cov, model.state_intercept
    mean, cov = stationary_initialization(*arrays)
    for s in range(3):
        alone.append(stationary_initialization(*(x[s, 0] for x in arrays)))
    assert_allclose(mean, [a for a, _ in alone])
    assert_allclose(cov, [b for _, b in alone])
    y = rng.standard_normal((3, 4, 1))
    assert loglikelihood(y, *model._replace(initial_state=mean, initial_state_cov=cov)).shape == (3,)


def test_derivatives_through_the_stationary_start(rng, loglikelihood):
    model, y = random_model(rng, 2, 1), rng.standard_normal((5, 1))

    def of_all(A, Q, c):
        Q = 0.5 * (Q + Q.T)
        start = stationary_initialization(A, Q, c)
        return loglikelihood(y, A, model.design, Q, model.obs_cov, *start, c)

    args = model.transition, model.state_cov, model.state_intercept
    check_grads(of_all, args, 2, rtol=1e-6)


@pytest.mark.parametrize("radius", [1.0, 1.2])
def test_unstable_models_have_no_stationary_start(radius):
    with pytest.raises(ValueError, match=rf"transition has an eigenvalue of size {radius:g};"):
        stationary_initialization(np.diag([0.5, -radius]), np.eye(2))


# -- faults ------------------------------------------------------------------------------------------------


def test_singular_covariance_names_step_and_series(rng, loglikelihood):
    one, nothing = np.eye(2), np.zeros((2, 2))
    model = Model(one, one, nothing, nothing, np.zeros(2), one)  # known from its first observation on
    y = rng.standard_normal((3, 4, 2))
    y[:, 0] = np.nan
    y[1, 1] = np.nan
    with pytest.raises(
        np.linalg.LinAlgError, match=r"loglikelihood \(series 0\): .* at step 2 is not positive"
    ):
        loglikelihood(y, *model)
    y[0] = y[2] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match=r"\(series 1\): .* at step 3 is not positive"):
        loglikelihood(y, *model)
    own = np.stack([np.eye(2), np.zeros((2, 2)), np.eye(2)])[:, None]
    with pytest.raises(np.linalg.LinAlgError, match=r"\(series 1\): .* at step 1 is not positive"):
        loglikelihood(rng.standard_normal((3, 4, 2)), *model._replace(obs_cov=own))


def test_overflow_names_step_and_series(rng, loglikelihood):
    model = random_model(rng, 1, 1)._replace(transition=np.array([[1e100]]))
    y = np.array([1.0, np.nan, np.nan, 1.0])
    with pytest.raises(OverflowError, match=r"loglikelihood \(series 0\): the state predicted for step [23]"):
        loglikelihood(y, *model)
    own = np.array([0.5, 1e100])[:, None, None, None]
    with pytest.raises(OverflowError, match=r"\(series 1\)"):
        loglikelihood(y, *model._replace(transition=own))


def test_inputs_are_not_changed(rng, loglikelihood):
    model = random_model(rng, 2, 2)
    args = [rng.standard_normal((3, 2)), *model[:-1]]
    copies = [x.copy() for x in args]
    for x in args:
        x.flags.writeable = False
    ld.grad(loglikelihood, tuple(range(9)))(*args)
    for x, copy in zip(args, copies, strict=True):
        assert_array_equal(x, copy)
