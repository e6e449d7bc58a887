"""Several series with factors, trends or cycles in common, at one frequency or at several."""

import numpy as np
import pytest
from statespace_reference import posterior

import lindiff as ld
from lindiff import statespace
from lindiff.testing import check_grads

RNG = np.random.default_rng(1)
STEPS = 36
Y = RNG.normal(size=(STEPS, 4))
Y[[7, 30], 0] = np.nan
BETWEEN = np.arange(STEPS) % 3 != 2
Y[BETWEEN, 2:] = np.nan
LOADINGS = np.array([[1.0], [0.5], [0.3], [-0.4]])
FACTOR_AR = np.array([[[0.5]], [[0.2]]])
OBS_VAR = np.array([0.5, 0.6, 0.7, 0.8])
ERROR_AR = np.array([0.3, -0.2, 0.4, 0.1])
GROWTH = statespace.aggregation_weights("growth", 3)


def monthly_and_quarterly(y):
    pandas = pytest.importorskip("pandas")
    months = pandas.DataFrame(y[:, :2], pandas.period_range("2000-01", periods=len(y), freq="M"), ["a", "b"])
    quarters = pandas.period_range("2000Q1", periods=len(y) // 3, freq="Q")
    return months, pandas.DataFrame(y[~BETWEEN, 2:], quarters, ["c", "d"])


@pytest.mark.parametrize("error_ar", [None, ERROR_AR])
@pytest.mark.parametrize("order", [1, 2])
def test_likelihoods_of_statsmodels(error_ar, order):
    mixed = pytest.importorskip("statsmodels.tsa.statespace.dynamic_factor_mq")
    months, quarters = monthly_and_quarterly(Y)
    theirs = mixed.DynamicFactorMQ(
        months,
        endog_quarterly=quarters,
        factors=1,
        factor_orders=order,
        idiosyncratic_ar1=error_ar is not None,
        standardize=False,
    )
    theirs.ssm.tolerance = 0
    own = () if error_ar is None else error_ar
    params = [*LOADINGS[:, 0], *FACTOR_AR[:order].ravel(), 1.3, *own, *OBS_VAR]
    model = statespace.dynamic_factor(
        LOADINGS, FACTOR_AR[:order], OBS_VAR, error_ar, [[1.69]], aggregation=[None, None, GROWTH, GROWTH]
    )
    assert len(model.transition) == theirs.k_states
    expected = theirs.loglike(np.array(params))
    np.testing.assert_allclose(statespace.loglikelihood(Y, *model), expected, rtol=1e-12)


WEIGHTS = [[2.0], None, [1.0, 0.0, 0.5], statespace.aggregation_weights("average", 2)]


@pytest.mark.parametrize("error_ar", [None, ERROR_AR])
def test_sums_over_steps(error_ar):
    """Covariances of what is seen are sums of those of the panel at every step."""
    plain = statespace.dynamic_factor(LOADINGS, FACTOR_AR, OBS_VAR, error_ar)
    summed = statespace.dynamic_factor(LOADINGS, FACTOR_AR, OBS_VAR, error_ar, aggregation=WEIGHTS)
    of_panel, of_sums = (covariances(model, 7) for model in (plain, summed))
    weights = [np.ones(1) if row is None else np.asarray(row) for row in WEIGHTS]
    for later in range(4):
        for i, of_i in enumerate(weights):
            for j, of_j in enumerate(weights):
                expected = sum(
                    of_i[a] * of_j[b] * lagged(of_panel, later - a + b)[i, j]
                    for a in range(of_i.size)
                    for b in range(of_j.size)
                )
                np.testing.assert_allclose(of_sums[later][i, j], expected, rtol=1e-12, atol=1e-14)


def covariances(model, steps):
    """Cov[y[t + s], y[t]] for s = 0, 1, … of a stationary model."""
    A, B, P = model.transition, model.design, model.initial_state_cov
    found = [B @ np.linalg.matrix_power(A, s) @ P @ B.T for s in range(steps)]
    found[0] = found[0] + np.diag(np.ravel(model.obs_cov))
    return found


def lagged(found, s):
    return found[s] if s >= 0 else found[-s].T


def test_likelihood_is_that_of_the_dense_gaussian():
    model = statespace.dynamic_factor(LOADINGS, FACTOR_AR, OBS_VAR, ERROR_AR, aggregation=WEIGHTS)
    expected, means, _ = posterior(Y[:14], model)
    np.testing.assert_allclose(statespace.loglikelihood(Y[:14], *model), expected, rtol=1e-11)
    found = statespace.kalman_smoother(Y[:14], *model).smoothed_state
    np.testing.assert_allclose(found, means, atol=1e-11)


def test_weights():
    weights = statespace.aggregation_weights
    np.testing.assert_array_equal(weights("sum", 4), np.ones(4))
    np.testing.assert_array_equal(weights("average", 4), np.full(4, 0.25))
    np.testing.assert_array_equal(weights("last", 4), [1])
    months = RNG.normal(size=30)  # growth of the sums of logarithms
    levels = np.cumsum(months)
    quarters = levels[2:] + levels[1:-1] + levels[:-2]
    np.testing.assert_allclose(
        np.convolve(months, weights("growth", 3))[5:30], (quarters[3:] - quarters[:-3])[:25]
    )


def test_weights_of_the_present_step_alone_change_nothing():
    expected = statespace.dynamic_factor(LOADINGS, FACTOR_AR, OBS_VAR, ERROR_AR)
    last = statespace.aggregation_weights("last", 3)
    found = statespace.dynamic_factor(
        LOADINGS, FACTOR_AR, OBS_VAR, ERROR_AR, aggregation=[last, None, last, last]
    )
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_array_equal(x, y)
    assert found.components == expected.components


@pytest.mark.parametrize("error_ar", [None, ERROR_AR])
def test_derivatives(error_ar):
    def loglikelihood(loadings, factor_ar, obs_var, *own):
        model = statespace.dynamic_factor(loadings, factor_ar, obs_var, *own, aggregation=WEIGHTS)
        return statespace.loglikelihood(Y[:12], *model)

    own = [] if error_ar is None else [error_ar]
    check_grads(loglikelihood, [LOADINGS, FACTOR_AR, OBS_VAR, *own], rtol=1e-6)


# -- in common ---------------------------------------------------------------------------------------------


def common_trend_and_cycle(loadings, trend_var, cycle_var, obs_var, own_var):
    shared = statespace.common(statespace.local_linear_trend(trend_var, 0.1), [1.0, 0.5, 2.0])
    own = statespace.common(statespace.local_level(own_var), [0.0, 1.0, 0.0])
    cycle = statespace.common(statespace.cycle(8.0, cycle_var, obs_var, damping=0.7), loadings)
    return (shared + cycle + own)._replace(obs_cov=np.diag(np.ones(3)) + cycle.obs_cov)


COMMON = [np.array([1.0, -0.5, 0.3]), 0.4, 0.6, 0.2, 0.3]


def test_common_parts_are_mixed():
    """Each series is its loadings times paths of the states."""
    model = common_trend_and_cycle(*COMMON)
    trend, cycle, own = (
        statespace.local_linear_trend(0.4, 0.1).design,
        statespace.cycle(8.0, 0.6).design,
        statespace.local_level(0.3).design,
    )
    expected = [np.outer([1.0, 0.5, 2.0], trend), np.outer(COMMON[0], cycle), np.outer([0, 1, 0], own)]
    np.testing.assert_array_equal(model.design, np.hstack(expected))
    np.testing.assert_allclose(model.obs_cov, np.eye(3) + 0.2 * np.outer(COMMON[0], COMMON[0]))
    assert [component.name for component in model.components] == ["trend", "cycle", "level"]


def test_correlated_levels_are_common_ones():
    """Levels with disturbances of covariance L Lᵀ, one model's as that of the other."""
    L = np.array([[1.0, 0.0], [0.5, 0.8]])
    parts = [statespace.common(statespace.local_level(1.0), L[:, i]) for i in range(2)]
    model = sum(parts)._replace(obs_cov=OBS_VAR[:2])
    one = np.eye(2)
    direct = statespace.Model(one, one, L @ L.T, OBS_VAR[:2], diffuse=True)
    y = np.cumsum(RNG.normal(size=(30, 2)), axis=0)
    scale = np.log(np.linalg.det(L))  # of the diffuse states
    expected = statespace.loglikelihood(y, *direct)
    np.testing.assert_allclose(statespace.loglikelihood(y, *model), expected - scale, rtol=1e-12)
    found = statespace.kalman_smoother(y, *model).smoothed_state @ L.T
    np.testing.assert_allclose(found, statespace.kalman_smoother(y, *direct).smoothed_state, rtol=1e-10)


def test_several_in_common():
    """The factors of a panel are a vector autoregression in common, noise and intercepts with it."""
    lags, obs_cov = np.diag([0.5, 0.2]), np.array([[0.5, 0.1], [0.1, 0.3]])
    factors = statespace.var(lags, np.eye(2))._replace(obs_intercept=np.array([1.0, 2.0]), obs_cov=obs_cov)
    loadings = RNG.normal(size=(3, 2))
    model = statespace.common(factors, loadings)
    np.testing.assert_array_equal(model.design, statespace.dynamic_factor(loadings, lags, np.ones(3)).design)
    np.testing.assert_allclose(model.obs_intercept, loadings @ [1.0, 2.0])
    np.testing.assert_allclose(model.obs_cov, loadings @ obs_cov @ loadings.T)
    row = statespace.common(factors._replace(obs_cov=np.array([0.5, 0.3])), loadings)
    np.testing.assert_allclose(row.obs_cov, loadings @ np.diag([0.5, 0.3]) @ loadings.T)
    exog = RNG.normal(size=(5, 2))  # of a design that varies
    wide = statespace.common(statespace.regression(exog, obs_var=0.5), [1.0, 2.0])
    np.testing.assert_array_equal(wide.design, [np.outer([1.0, 2.0], x) for x in exog])


def test_noise_that_is_common_may_be_differentiated_where_it_is_zero():
    def loglikelihood(obs_var):
        model = statespace.common(statespace.local_level(0.5, obs_var), [1.0, 0.5, 2.0])
        return statespace.loglikelihood(Y[:10, [0, 1, 0]], *(model + noise))

    noise = statespace.var(np.zeros((3, 3)), np.eye(3))
    step = 1e-5
    slope = (loglikelihood(step) - loglikelihood(0.0)) / step
    np.testing.assert_allclose(ld.grad(loglikelihood)(0.0), slope, rtol=1e-4)


def test_derivatives_of_common_parts():
    def loglikelihood(*args):
        return statespace.loglikelihood(Y[:12, [0, 1, 1]], *common_trend_and_cycle(*args))

    check_grads(loglikelihood, COMMON, rtol=1e-6)


def test_single_precision_is_kept():
    args = [np.float32(x) for x in (LOADINGS, FACTOR_AR, OBS_VAR, ERROR_AR)]
    for model in (
        statespace.dynamic_factor(*args, aggregation=WEIGHTS),
        statespace.dynamic_factor(*args[:3], aggregation=WEIGHTS),
        statespace.common(statespace.cycle(np.float32(7), np.float32(1), damping=0.5), args[2]),
    ):
        assert {part.dtype.name for part in model if part is not None} <= {"float32", "bool"}


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: statespace.aggregation_weights("mean", 3),
            ValueError,
            "one of average, growth, last, sum, got",
        ),
        (lambda: statespace.aggregation_weights("sum", 0), ValueError, "steps must be at least 1"),
        (lambda: statespace.aggregation_weights("sum", 3.0), TypeError, "steps is an integer, got 3.0"),
        (
            lambda: statespace.dynamic_factor(LOADINGS, FACTOR_AR, OBS_VAR, aggregation=[None]),
            ValueError,
            "an entry for each of 4 series, got 1",
        ),
        *[
            (
                lambda row=row: statespace.dynamic_factor(
                    LOADINGS, FACTOR_AR, OBS_VAR, aggregation=[None, row, None, None]
                ),
                ValueError,
                r"dynamic_factor: aggregation\[1\] must be a vector of weights",
            )
            for row in (3.0, [], [1.0, 0.0], [np.nan], np.ones((2, 2)))
        ],
        (lambda: statespace.common(np.eye(2), [1.0]), TypeError, "common: model is a ndarray; write common"),
        (
            lambda: statespace.common(statespace.local_level(1.0), np.ones((3, 2))),
            ValueError,
            r"common: loadings of shape \(3, 2\) .* observes 1 numbers a step: \(p,\) or \(p, 1\) is needed",
        ),
        (lambda: statespace.common(statespace.local_level(1.0), 1.0), ValueError, r"of shape \(p\) or"),
        (
            lambda: statespace.common(statespace.local_level(1.0), ["a"]),
            TypeError,
            "common: loadings has dtype",
        ),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()
