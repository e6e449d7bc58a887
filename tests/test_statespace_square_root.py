"""The square-root form of the filter where covariances lose all their digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from statespace_reference import random_model, symmetric, with_missing

import lindiff as ld
from lindiff.statespace import (
    Model,
    invertible,
    kalman_filter,
    kalman_smoother,
    loglikelihood,
    sarima,
    simulate,
    simulate_smoother,
    stationary,
)
from lindiff.statespace.semidefinite import semidefinite_factor
from lindiff.testing import check_grads


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def nearly_equal_observations(delta):
    """Bierman's example: two observations that differ in delta, noise of that size."""
    return Model(
        np.eye(2),
        np.array([[1.0, 1.0], [1.0, 1.0 + delta]]),
        np.zeros((2, 2)),
        np.full(2, delta**2),
        np.zeros(2),
        np.eye(2),
    )


def loglik_in_many_digits(y, model, scale=1):
    """By a filter of 60 digits; the variances of the observations times a scale."""
    with mpmath.workdps(60):
        A, B, Q, P = (mpmath.matrix(x.tolist()) for x in (*model[:3], model.initial_state_cov))
        R = mpmath.diag([scale * mpmath.mpf(float(r)) for r in model.obs_cov])
        m, total = mpmath.matrix(model.initial_state.tolist()), mpmath.mpf(0)
        for row in y:
            v, S = mpmath.matrix(row.tolist()) - B * m, B * P * B.T + R
            w, K = mpmath.lu_solve(S, v), P * B.T * S**-1
            total -= ((v.T * w)[0] + mpmath.log(mpmath.det(S)) + len(row) * mpmath.log(2 * mpmath.pi)) / 2
            m, P = A * (m + K * v), A * (P - K * B * P) * A.T + Q
        return total


@pytest.mark.parametrize(("delta", "rtol"), [(1e-5, 1e-12), (1e-7, 1e-9), (1e-9, 1e-6)])
def test_values_where_covariances_have_no_digits(rng, delta, rtol):
    model = nearly_equal_observations(delta)
    y = np.array([1.0, 1.0]) + delta * rng.standard_normal((3, 2))
    got = loglikelihood(y, *model, method="square_root")
    assert_allclose(got, float(loglik_in_many_digits(y, model)), rtol=rtol)


def test_gradients_of_ill_conditioned_models(rng):
    model = nearly_equal_observations(1e-5)
    y = np.array([1.0, 1.0]) + 1e-5 * rng.standard_normal((3, 2))

    def of_scale(scale):
        return loglikelihood(y, *model._replace(obs_cov=scale * model.obs_cov), method="square_root")

    with mpmath.workdps(60):
        h = mpmath.mpf("1e-15")
        above, below = (loglik_in_many_digits(y, model, 1 + s * h) for s in (1, -1))
        expected = float((above - below) / (2 * h))
    assert_allclose(ld.grad(of_scale)(1.0), expected, rtol=1e-5)


def test_covariances_of_single_precision_stay_semidefinite(rng):
    model = Model(*(np.float32(x) for x in nearly_equal_observations(2.0**-11)[:6]))
    result = kalman_filter(np.ones((40, 2), np.float32), *model, method="square_root")
    variances = np.linalg.eigvalsh(result.filtered_state_cov.astype(float))
    assert result.filtered_state_cov.dtype == np.float32
    assert np.all(variances > -1e-7 * variances[:, -1:])


@pytest.mark.parametrize("function", [kalman_filter, kalman_smoother])
@pytest.mark.parametrize("lead", [(), (5,), (3, 5)])
@pytest.mark.parametrize("diffuse", [None, np.array([True, False])])
def test_filter_and_smoother_are_those_of_the_covariances(rng, function, lead, diffuse):
    model = random_model(rng, 2, 2, lead)._replace(diffuse=diffuse)
    y = with_missing(rng, rng.standard_normal((3, 5, 2)), 0.2)
    y[1] = y[0] + 1.0
    got, expected = function(y, *model, method="square_root"), function(y, *model)
    for name, a, b in zip(got._fields, got, expected, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("function", [kalman_filter, kalman_smoother])
def test_derivatives_with_singular_covariances(rng, function):
    """No factor of state_cov or obs_cov is differentiable here."""
    model, y = random_model(rng, 2, 1), rng.standard_normal((3, 1))

    def of_all(A, B, m, P):
        system = symmetric(Model(A, B, np.diag([0.5, 0.0]), np.zeros((1, 1)), m, P))
        return function(y, *system, method="square_root")

    arrays = model.transition, model.design, model.initial_state, model.initial_state_cov
    check_grads(of_all, arrays, 2, rtol=1e-5)
    system = model._replace(state_cov=np.diag([0.5, 0.0]), obs_cov=np.zeros((1, 1)))
    gradients = [
        ld.grad(
            lambda Q, R, method=method: function(y, *system._replace(state_cov=Q, obs_cov=R), method=method)[
                0
            ],
            (0, 1),
        )(system.state_cov, system.obs_cov)
        for method in (None, "square_root")
    ]
    for a, b in zip(*gradients, strict=True):
        assert_allclose(a, b, rtol=1e-9)


def random_sarima(rng):
    """Its start has some zero eigenvalues, which rounding makes negative in one model of thirty."""
    ar, ma, seasonal_ar, seasonal_ma = (rng.normal(size=n) for n in rng.integers(0, [4, 4, 2, 2]))
    return sarima(
        stationary.constrain(ar),
        invertible.constrain(ma),
        rng.uniform(0.1, 2),
        period=int(rng.choice([2, 4, 6, 12])),
        difference=1,
        seasonal_ar=stationary.constrain(seasonal_ar),
        seasonal_ma=invertible.constrain(seasonal_ma),
    )


def nearly_singular_sarima():
    return sarima(
        (), [0.62555, -0.10173], 0.1294, period=4, difference=1, seasonal_ar=[0.80824], seasonal_ma=[0.22702]
    )


def test_covariances_that_rounding_makes_indefinite():
    rng = np.random.default_rng(5)
    for model in [nearly_singular_sarima(), *(random_sarima(rng) for _ in range(40))]:
        cov = model.initial_state_cov
        L = semidefinite_factor(cov, "test", "cov")
        assert_allclose(L @ L.T, cov, atol=1e-10 * np.max(cov))
        several = semidefinite_factor(np.stack([np.eye(len(cov)), cov]), "test", "cov")
        assert_allclose(several[0], np.eye(len(cov)))
        assert_allclose(several[1], L)


def test_models_with_such_a_start(rng):
    model, y = nearly_singular_sarima(), np.cumsum(rng.standard_normal(30))
    expected = loglikelihood(y, *model)
    assert_allclose(loglikelihood(y, *model, method="square_root"), expected, rtol=1e-9)
    draws = simulate_smoother(y, *model, rng=rng, size=4)
    assert_allclose(draws @ model.design[0], np.broadcast_to(y, (4, 30)), rtol=1e-7, atol=1e-7)

    def slope(method):
        def of_variance(variance):
            return loglikelihood(y, *model._replace(obs_cov=variance), method=method)

        return ld.grad(of_variance)(np.array([0.1]))

    assert_allclose(slope("square_root"), slope(None), rtol=1e-8)


def test_what_is_indefinite_by_more_than_rounding_is_refused(rng):
    cov = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])
    for size in (1.0, 1e-5):
        larger = np.pad(size * cov, (0, 1)) + np.diag([0, 0, 0, 1.0])
        model = Model(0.5 * np.eye(4), np.eye(1, 4), larger, np.ones(1), np.zeros(4), np.eye(4))
        with pytest.raises(np.linalg.LinAlgError, match="simulate: state_cov is indefinite"):
            simulate(3, *model, rng=rng)


@pytest.mark.parametrize("function", [loglikelihood, kalman_filter, kalman_smoother])
def test_unknown_methods_are_refused(rng, function):
    with pytest.raises(ValueError, match=r"method must be None.* not 'cholesky'"):
        function(np.zeros((3, 1)), *random_model(rng, 2, 1), method="cholesky")
