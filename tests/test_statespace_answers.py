"""``Analysis``: what a model says of data, beside dense Gaussians, statsmodels, and itself."""

import numpy as np
import pytest
from scipy import stats

from lindiff import statespace
from lindiff.statespace import (
    Analysis,
    Model,
    exponential_smoothing,
    local_level,
    local_linear_trend,
    loglikelihood,
    regression,
    seasonal,
)
from lindiff.statespace.answers.extending import from_state

pd = pytest.importorskip("pandas")

T = 48


def months(steps, start="2001-01"):
    return pd.period_range(start, periods=steps, freq="M")


@pytest.fixture
def y():
    rng = np.random.default_rng(0)
    level = np.cumsum(rng.normal(size=T))
    y = level + np.tile([3.0, 0.0, -1.0, -2.0], T // 4) + rng.normal(size=T)
    y[10:13] = np.nan
    return y


@pytest.fixture
def model():
    return local_linear_trend(0.7, 0.01, 1.3) + seasonal(4, 0.2)


@pytest.fixture
def answers(model, y):
    return Analysis(model, y)


@pytest.fixture
def panel():
    """A model of two series that are observed together, proper, with correlated noise and intercepts."""
    rng = np.random.default_rng(1)
    A = np.array([[0.8, 0.1], [-0.2, 0.5]])
    model = Model(
        A,
        np.array([[1.0, 0.3], [0.5, -1.0]]),
        np.array([[0.5, 0.1], [0.1, 0.3]]),
        np.array([[0.4, 0.15], [0.15, 0.6]]),
        np.array([0.3, -0.1]),
        np.eye(2),
        np.array([0.1, 0.2]),
        np.array([5.0, -3.0]),
    ).named("factor", "fast", "slow")
    _, y = statespace.simulate(20, *model, rng=rng)
    y[4, 0] = y[7] = np.nan
    return model, y


def dense(model, steps):
    """Mean and covariance of states, (T n,), and of observations, (T p,), of a proper constant model."""
    n = model.transition.shape[0]
    means, covs = [model.initial_state], [[model.initial_state_cov]]
    for t in range(1, steps):
        means.append(model.transition @ means[-1] + model.state_intercept)
        row = [model.transition @ covs[-1][s] for s in range(t)]
        row.append(model.transition @ row[-1].T + model.state_cov)
        covs.append(row)
    V = np.zeros((steps * n, steps * n))
    for t, row in enumerate(covs):
        for s, block in enumerate(row):
            V[t * n : t * n + n, s * n : s * n + n] = block
            V[s * n : s * n + n, t * n : t * n + n] = block.T
    B, R = np.kron(np.eye(steps), model.design), np.kron(np.eye(steps), model.obs_cov)
    return np.concatenate(means), V, B, R, np.tile(model.obs_intercept, steps)


# -- components and states ---------------------------------------------------------------------------------


def test_components_add_up(answers, y):
    smoothed = statespace.kalman_smoother(y, *answers.model)
    both = sum(part.smoothed.mean for part in answers.components.values())
    np.testing.assert_allclose(both, (smoothed.smoothed_state @ answers.model.design.T)[:, 0], atol=1e-12)
    trend = answers.components["trend"]
    np.testing.assert_array_equal(trend.states["slope"].mean, smoothed.smoothed_state[:, 1])
    np.testing.assert_allclose(trend.states["slope"].std_error ** 2, smoothed.smoothed_state_cov[:, 1, 1])
    np.testing.assert_array_equal(trend.smoothed.mean, trend.states["level"].mean)
    lower, upper = trend.smoothed.interval(0.1)
    half = stats.norm.ppf(0.95) * trend.smoothed.std_error
    np.testing.assert_allclose([lower, upper], [trend.smoothed.mean - half, trend.smoothed.mean + half])


def test_what_is_not_determined_yet_is_nan(answers):
    trend = answers.components["trend"]
    assert np.isnan(trend.filtered.mean[:4]).all()
    assert np.isfinite(trend.filtered.mean[4:]).all()
    assert np.isnan(trend.predicted.mean[:5]).all()
    np.testing.assert_allclose(trend.filtered.mean[-1], trend.smoothed.mean[-1])


def test_variances_of_components_of_several_series(panel):
    model, y = panel
    found = Analysis(model, y).components["factor"].smoothed
    covs = statespace.kalman_smoother(y, *model).smoothed_state_cov
    whole = model.design @ covs @ model.design.T
    np.testing.assert_allclose(found.std_error**2, np.diagonal(whole, axis1=1, axis2=2))


# -- observations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("varying", [False, True])
def test_imputed_of_dense_gaussians(panel, varying):
    """A missing observation given all others, with noise that moves with that of what was seen."""
    model, y = panel
    mean, V, B, R, level = dense(model, len(y))
    if varying:
        scale = np.linspace(0.5, 2.0, len(y))
        model = model._replace(obs_cov=scale[:, None, None] * model.obs_cov)
        R = np.kron(np.diag(scale), np.eye(2)) @ R
    seen, whole = np.isfinite(y).ravel(), B @ V @ B.T + R
    gain = np.linalg.solve(whole[np.ix_(seen, seen)], whole[seen]).T
    error = (y.ravel() - B @ mean - level)[seen]
    found = Analysis(model, y)
    np.testing.assert_allclose(found.imputed.mean.ravel(), B @ mean + level + gain @ error, rtol=1e-11)
    variances = np.diag(whole - gain @ whole[seen]).copy()
    variances[seen] = 0
    np.testing.assert_allclose(found.imputed.std_error.ravel() ** 2, variances, rtol=1e-11)
    assert np.count_nonzero(found.imputed.std_error) == 3

    clean = np.linalg.solve(whole[np.ix_(seen, seen)], (B @ V @ B.T)[seen]).T
    np.testing.assert_allclose(found.signal.mean.ravel(), B @ mean + level + clean @ error, rtol=1e-11)
    left = np.diag(B @ V @ B.T - clean @ (B @ V @ B.T)[seen])
    np.testing.assert_allclose(found.signal.std_error.ravel() ** 2, left, rtol=1e-11)


def test_signal_and_imputed_of_one_series(answers, y):
    parts = sum(part.smoothed.mean for part in answers.components.values())
    np.testing.assert_allclose(answers.signal.mean, parts, atol=1e-12)
    missing = np.isnan(y)
    np.testing.assert_array_equal(answers.imputed.mean[~missing], y[~missing])
    np.testing.assert_allclose(answers.imputed.mean[missing], answers.signal.mean[missing])
    np.testing.assert_allclose(
        answers.imputed.std_error[missing] ** 2, answers.signal.std_error[missing] ** 2 + 1.3
    )


# -- disturbances ------------------------------------------------------------------------------------------


def test_disturbances_of_dense_gaussians(panel):
    model, y = panel
    steps, n = len(y), 2
    mean, V, B, R, level = dense(model, steps)
    seen = np.isfinite(y).ravel()
    S = (B @ V @ B.T + R)[np.ix_(seen, seen)]
    error = (y.ravel() - B @ mean - level)[seen]
    answers = Analysis(model, y)

    # of observations: v and y have the covariance R
    gain = np.linalg.solve(S, R[seen]).T
    np.testing.assert_allclose(answers.disturbances.obs.ravel(), gain @ error, atol=1e-13)
    cov = R - gain @ R[seen]
    for t in range(steps):
        block = slice(2 * t, 2 * t + 2)
        np.testing.assert_allclose(answers.disturbances.obs_cov[t], cov[block, block], atol=1e-13)

    # of states: h[t] = x[t+1] - A x[t] - c
    D = np.kron(np.eye(steps - 1, steps, 1), np.eye(n)) - np.kron(np.eye(steps - 1, steps), model.transition)
    K = V @ B[seen].T
    posterior_mean, posterior = mean + K @ np.linalg.solve(S, error), V - K @ np.linalg.solve(S, K.T)
    h = (D @ posterior_mean).reshape(-1, n) - model.state_intercept
    np.testing.assert_allclose(answers.disturbances.state[:-1], h, atol=1e-12)
    of_h = D @ posterior @ D.T
    for t in range(steps - 1):
        block, after = slice(n * t, n * t + n), slice(n * t + n, n * t + 2 * n)
        np.testing.assert_allclose(answers.disturbances.state_cov[t], of_h[block, block], atol=1e-12)
        np.testing.assert_allclose(answers.lag_one_covariances[t], posterior[after, block], atol=1e-12)
    np.testing.assert_array_equal(answers.disturbances.state[-1], 0.0)


def test_auxiliary_residuals_show_an_outlier_and_a_break(y, model):
    outlier, shifted = y.copy(), y.copy()
    outlier[20] += 12.0
    shifted[30:] += 15.0
    of_obs, _ = Analysis(model, outlier).auxiliary_residuals
    _, of_states = Analysis(model, shifted).auxiliary_residuals
    assert np.nanargmax(np.abs(of_obs)) == 20
    assert np.nanargmax(np.abs(of_states[:, 0])) == 29  # the disturbance between steps 29 and 30
    assert np.isnan(of_obs[10:13]).all()
    assert np.isnan(of_states[-1]).all()


def test_auxiliary_residuals_are_standard_normal(panel):
    model, _ = panel
    _, many = statespace.simulate(12, *model, rng=5, size=400)
    found = [Analysis(model, y).auxiliary_residuals for y in many]
    for i in (0, 1):
        spread = np.nanvar(np.array([each[i] for each in found])[:, 3:9], axis=0)
        assert np.all((spread > 0.75) & (spread < 1.3))


# -- residuals ---------------------------------------------------------------------------------------------


def test_residuals_make_the_likelihood(panel):
    model, y = panel
    answers = Analysis(model, y)
    e, S = answers.residuals, answers.filter_result.forecast_error_cov
    known = np.isfinite(e)
    assert (known == np.isfinite(y)).all()
    logdets = sum(np.linalg.slogdet(S[t][np.ix_(k, k)])[1] for t, k in enumerate(known) if k.any())
    expected = -0.5 * (known.sum() * np.log(2 * np.pi) + logdets + np.nansum(e**2))
    assert answers.loglikelihood == pytest.approx(expected, rel=1e-12)
    assert answers.loglikelihood == pytest.approx(loglikelihood(y, *model), rel=1e-12)


def test_residuals_of_one_step_are_cholesky_whitened(panel):
    model, y = panel
    answers = Analysis(model, y)
    L = np.linalg.cholesky(answers.filter_result.forecast_error_cov[3])
    np.testing.assert_allclose(L @ answers.residuals[3], answers.filter_result.forecast_error[3])


def test_tests_of_residuals_that_are_wrong():
    rng = np.random.default_rng(2)
    white = Model(
        np.zeros((1, 1)), np.ones((1, 1)), np.ones((1, 1)), np.zeros(1), np.zeros(1), np.ones((1, 1))
    )
    good = Analysis(white, rng.normal(size=400)).tests()
    assert min(good.ljung_box_p_value[-1], good.normality_p_value, good.heteroskedasticity_p_value) > 0.01
    wandering = Analysis(white, np.cumsum(rng.normal(size=200)) / 5).tests(5)
    assert wandering.ljung_box_p_value.shape == (5,)
    assert wandering.ljung_box_p_value.max() < 1e-6
    heavy = Analysis(white, rng.standard_t(2, size=400)).tests()
    assert heavy.normality_p_value < 1e-6
    assert heavy.kurtosis > 4
    growing = Analysis(white, rng.normal(size=300) * np.linspace(0.5, 3, 300)).tests()
    assert growing.heteroskedasticity > 3
    assert growing.heteroskedasticity_p_value < 1e-4
    with pytest.raises(ValueError, match="3 residuals are too few"):
        Analysis(white, rng.normal(size=3)).tests(5)


def test_ljung_box_counts_the_lags_that_there_are():
    """Quarters among months have a pair at every third lag: they are tested as the quarters alone are."""
    rng = np.random.default_rng(4)
    white = Model(np.zeros((1, 1)), np.eye(1), np.zeros((1, 1)), np.ones(1), np.zeros(1), np.zeros((1, 1)))
    quarters = np.convolve(rng.normal(size=81), [1.0, 0.3])[1:-1]
    among = np.full(240, np.nan)
    among[2::3] = quarters
    alone, sparse = Analysis(white, quarters).tests(3), Analysis(white, among).tests(9)
    np.testing.assert_allclose(sparse.ljung_box[2::3], alone.ljung_box)
    np.testing.assert_allclose(sparse.ljung_box_p_value[2::3], alone.ljung_box_p_value)
    assert np.isnan(sparse.ljung_box_p_value[:2]).all()


# -- forecasts ---------------------------------------------------------------------------------------------


def test_forecasts_are_those_of_the_function(answers, y, model):
    found, expected = answers.forecast(5), statespace.forecast(5, y, *model)
    np.testing.assert_array_equal(found.mean, expected.mean[:, 0])
    np.testing.assert_allclose(found.std_error**2, expected.cov[:, 0, 0])
    np.testing.assert_allclose(sum(part.mean for part in found.components.values()), found.mean)
    assert list(found.components) == ["trend", "seasonal(4)"]


def test_forecasts_with_explanatory_variables(y):
    rng = np.random.default_rng(3)
    x, later = rng.normal(size=(T, 2)), rng.normal(size=(3, 2))

    def build(exog):
        return local_level(0.5, obs_var=1.0) + regression(exog)

    answers = Analysis(build(x), y)
    expected = statespace.forecast(3, y, *build(np.concatenate([x, later])))
    np.testing.assert_allclose(answers.forecast(3, exog=later).mean, expected.mean[:, 0], rtol=1e-12)
    whole = answers.forecast(3, model=build(np.concatenate([x, later])))
    np.testing.assert_allclose(whole.mean, expected.mean[:, 0], rtol=1e-12)
    np.testing.assert_allclose(
        answers.forecast(3, exog=later).components["regression"].mean,
        later @ answers.smoother_result.smoothed_state[-1, 1:],
    )
    with pytest.raises(ValueError, match=r"coefficient\[0\], coefficient\[1\] vary .*exog=.*\(3, 2\)"):
        answers.forecast(3)
    with pytest.raises(ValueError, match=r"exog of shape \(4, 2\) must be of shape \(3, 2\)"):
        answers.forecast(3, exog=np.ones((4, 2)))
    with pytest.raises(ValueError, match="exog has NaN"):
        answers.forecast(3, exog=np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="does not vary"):
        Analysis(local_level(1.0, 1.0), y).forecast(3, exog=later)


def test_intervals_hold_what_they_say():
    rng = np.random.default_rng(4)
    model = local_level(0.5, obs_var=1.0)._replace(
        diffuse=None, initial_state=np.zeros(1), initial_state_cov=np.eye(1)
    )
    _, many = statespace.simulate(30, *model, rng=rng, size=500)
    inside = []
    for draw in many:
        ahead = Analysis(model, draw[:25, 0]).forecast(5)
        lower, upper = ahead.interval(0.2)
        inside.append((lower < draw[25:, 0]) & (draw[25:, 0] < upper))
    assert np.all(np.abs(np.mean(inside, axis=0) - 0.8) < 0.06)


# -- simulation --------------------------------------------------------------------------------------------


def test_simulations_after_the_data_are_as_forecast(answers):
    draws, ahead = answers.simulate(3, 0, size=20_000)[..., 0], answers.forecast(3)
    np.testing.assert_allclose(np.mean(draws, axis=0), ahead.mean, atol=0.1)
    np.testing.assert_allclose(np.std(draws, axis=0), ahead.std_error, rtol=0.03)


def test_simulations_from_the_start(panel, answers):
    model, y = panel
    found = Analysis(model, y)
    draws = found.simulate(2, 0, anchor="start", size=20_000)
    np.testing.assert_allclose(
        np.mean(draws[:, 0], axis=0), model.design @ model.initial_state + model.obs_intercept, atol=0.05
    )
    smoothed = found.simulate(1, 0, anchor="smoothed", size=20_000)[:, 0]
    mean = model.design @ found.smoother_result.smoothed_state[0] + model.obs_intercept
    np.testing.assert_allclose(np.mean(smoothed, axis=0), mean, atol=0.05)
    assert answers.simulate(100, 0, anchor="smoothed").shape == (100, 1)
    with pytest.raises(ValueError, match="no distribution to draw from"):
        answers.simulate(3, 0, anchor="start")
    with pytest.raises(ValueError, match="anchor must be"):
        answers.simulate(3, 0, anchor="middle")
    assert answers.simulate_states(0, size=2).shape == (2, T, 5)


# -- more data ---------------------------------------------------------------------------------------------


def test_new_data(answers, y, model):
    more = np.array([1.0, np.nan, 2.0])
    both, after = answers.append(more), answers.extend(more)
    whole = Analysis(model, np.concatenate([y, more]))
    assert both.loglikelihood == whole.loglikelihood
    assert answers.loglikelihood + after.loglikelihood == pytest.approx(whole.loglikelihood, rel=1e-12)
    np.testing.assert_allclose(after.residuals, whole.residuals[-3:], rtol=1e-9)
    np.testing.assert_allclose(after.forecast(2).mean, whole.forecast(2).mean)
    assert answers.apply(y[::-1]).loglikelihood == pytest.approx(loglikelihood(y[::-1], *model), rel=1e-13)
    with pytest.raises(ValueError, match="2 numbers a step and the data have 1"):
        answers.append(np.ones((3, 2)))


def test_new_data_with_explanatory_variables(y):
    x = np.random.default_rng(3).normal(size=(T + 2, 1))

    def build(exog):
        return local_level(0.5, obs_var=1.0) + regression(exog)

    answers = Analysis(build(x[:T]), y)
    more = np.array([1.0, 2.0])
    whole = Analysis(build(x), np.concatenate([y, more]))
    assert answers.append(more, exog=x[T:]).loglikelihood == pytest.approx(whole.loglikelihood, rel=1e-12)
    after = answers.extend(more, exog=x[T:])
    assert answers.loglikelihood + after.loglikelihood == pytest.approx(whole.loglikelihood, rel=1e-12)


def test_one_step_with_explanatory_variables_does_not_say_how_they_go_on():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(20, 2)), rng.normal(size=21)
    answers = Analysis(regression(x) + local_level(0.5, 1.0), y[:20])
    longer = answers.append(y[20:], exog=np.ones((1, 2)))
    alone = answers.extend(y[20:], exog=np.ones((1, 2)))
    later = np.array([[1.0, 2.0], [0.0, -1.0]])
    np.testing.assert_allclose(
        alone.forecast(2, exog=later).mean, longer.forecast(2, exog=later).mean, rtol=1e-12
    )
    with pytest.raises(ValueError, match=r"coefficient\[0\], coefficient\[1\] vary"):
        alone.forecast(2)


def test_explanatory_variables_called_like_a_state():
    rng = np.random.default_rng(3)
    exog, y = {"level": rng.normal(size=20)}, rng.normal(size=20)
    one = Analysis(local_level(0.5, 1.0) + regression(exog), y)
    other = Analysis(regression(exog) + local_level(0.5, 1.0), y)
    later = {"level": np.array([1.0, 2.0])}
    np.testing.assert_allclose(
        one.forecast(2, exog=later).mean, other.forecast(2, exog=later).mean, rtol=1e-12
    )
    assert [set(component.states) for component in one.model.components] == [{"level 2"}, {"level"}]


def test_orthogonal_impulses_of_singular_covariances():
    factor = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [-1.0, 0.0, 3.0]])
    model = Model(0.5 * np.eye(3), np.eye(3), factor @ factor.T, np.ones(3), np.zeros(3), np.eye(3))
    found = Analysis(model, np.random.default_rng(0).normal(size=(5, 3))).impulse_responses(
        1, orthogonal=True
    )
    np.testing.assert_allclose(found, [factor, 0.5 * factor], atol=1e-12)


def test_states_that_are_known_to_rounding_go_on():
    y = 5 + np.cumsum(np.random.default_rng(2).normal(size=60))
    start = [5.0, 0.1, 1.0, -0.5, -0.5]
    model = exponential_smoothing(0.3, 0.7, 0.2, 0.1, period=3, initial_state=start)
    whole, answers = Analysis(model, y), Analysis(model, y[:20])
    total = answers.loglikelihood
    for t in range(20, 60):
        answers = answers.extend(y[t : t + 1])
        total += answers.loglikelihood
    assert total == pytest.approx(whole.loglikelihood, rel=1e-12)
    np.testing.assert_allclose(answers.forecast(4).mean, whole.forecast(4).mean, rtol=1e-10)
    assert whole.simulate(3, 0, anchor="smoothed").shape == (3, 1)


def test_variances_that_rounding_leaves_below_zero_are_none():
    cov = np.array([[-2e-16, 1e-17], [1e-17, 1.0]])
    model = from_state(local_linear_trend(0.5, 0.1, 1.0), np.zeros(2), cov)
    np.testing.assert_array_equal(model.initial_state_cov, np.diag([0.0, 1.0]))
    assert np.isfinite(Analysis(model, np.ones(4)).loglikelihood)


def test_news_add_up(panel):
    model, y = panel
    new = np.concatenate([y, [[4.0, np.nan], [6.0, -2.0]]])
    new[4, 0], new[2, 1] = 5.5, y[2, 1] + 0.7
    answers = Analysis(model, y)
    news = answers.news(new, len(new) + 1, series=1)
    assert news.observed == [(4, 0), (20, 0), (21, 0), (21, 1)]
    assert news.before == pytest.approx(statespace.forecast(4, y, *model).mean[-1, 1], rel=1e-12)
    assert news.after == pytest.approx(statespace.forecast(2, new, *model).mean[-1, 1], rel=1e-12)
    assert news.revisions + news.impact.sum() == pytest.approx(news.after - news.before, rel=1e-9)
    assert news.revisions != 0
    known = answers.news(new, 4, series=0)
    assert known.after == 5.5
    np.testing.assert_allclose(news.impact, news.weight * (news.actual - news.expected))
    assert list(news.to_frame()["step"]) == [4, 20, 21, 21]
    assert "weight" in str(news)
    with pytest.raises(ValueError, match="lack what the old have"):
        answers.news(np.full_like(new, np.nan), 3)


# -- the model itself --------------------------------------------------------------------------------------


def test_impulse_responses(panel):
    model, y = panel
    answers = Analysis(model, y)
    plain, summed = answers.impulse_responses(4), answers.impulse_responses(4, cumulative=True)
    for k in range(5):
        expected = model.design @ np.linalg.matrix_power(model.transition, k)
        np.testing.assert_allclose(plain[k], expected, atol=1e-15)
    np.testing.assert_allclose(summed[-1], plain.sum(axis=0))
    L = np.linalg.cholesky(model.state_cov)
    np.testing.assert_allclose(answers.impulse_responses(2, orthogonal=True)[1], plain[1] @ L, atol=1e-14)


def test_steps_of_em_raise_the_likelihood(panel):
    model, y = panel
    for parts in (
        ("state_cov",),
        ("transition", "state_cov", "obs_cov"),
        statespace.answers.expectation.PARTS,
    ):
        current, before = model, -np.inf
        for _ in range(5):
            answers = Analysis(current, y)
            assert answers.loglikelihood > before
            before, current = answers.loglikelihood, answers.em_step(parts)
        assert current.components == model.components
    with pytest.raises(ValueError, match="'design' is none of"):
        Analysis(model, y).em_step(("design",))
    one = Analysis(local_level(1.0, 1.0), y[:1, 0])
    with pytest.raises(ValueError, match="em_step: one step says nothing of transition and state_cov"):
        one.em_step()
    assert one.em_step(("obs_cov",)).obs_cov > 0


def test_em_ends_where_the_likelihood_is_flat():
    rng = np.random.default_rng(6)
    y = np.cumsum(rng.normal(size=60)) + rng.normal(size=60)
    found = statespace.fit(local_level, y, progress=False)
    after = Analysis(found.model, y).em_step(("state_cov", "obs_cov"))
    np.testing.assert_allclose(after.state_cov, found.model.state_cov, rtol=1e-4)
    np.testing.assert_allclose(after.obs_cov, found.model.obs_cov, rtol=1e-4)


# -- what is refused ---------------------------------------------------------------------------------------


def test_panels_and_varying_models_are_refused(y, model):
    with pytest.raises(ValueError, match="answers are of one series"):
        Analysis(model, np.ones((3, T, 1)))
    with pytest.raises(TypeError, match="model is a function"):
        Analysis(local_level, y)
    varying = Analysis(local_level(1.0, 1.0)._replace(obs_cov=np.ones((T, 1, 1))), y)
    with pytest.raises(
        ValueError, match="obs_cov of the model varies with time and has 48 steps, 50 are needed"
    ):
        varying.forecast(2)
    with pytest.raises(ValueError, match="obs_cov of the model varies"):
        varying.em_step()
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        Analysis(model, y).forecast(2).interval(95)


# -- to read -----------------------------------------------------------------------------------------------


def test_summary(answers):
    text, html = str(answers.summary()), answers.summary()._repr_html_()
    for said in ("trend, seasonal(4)", "45 in 48 steps", "Ljung-Box", "heteroskedasticity"):
        assert said in text
        assert said in html
    assert "too few for tests" in str(Analysis(local_level(1.0, 1.0), [1.0, 2.0]).summary())


def test_explanatory_variables_are_known_by_name_and_date():
    """In another order they are the same ones; those of other dates or names are refused."""
    rng, every = np.random.default_rng(6), months(T + 6)
    exog = pd.DataFrame(rng.normal(size=(T + 6, 2)), every, ["price", "weather"])
    y = pd.Series(exog[:T] @ [2.0, -1.0] + rng.normal(size=T), every[:T])
    answers = Analysis(regression(exog[:T]) + local_level(0.1, obs_var=1.0), y)
    expected = answers.forecast(6, exog=exog[T:].to_numpy()).mean
    for given in (exog[T:], exog[T:][["weather", "price"]], [exog[T:][["weather"]], exog[T:][["price"]]]):
        np.testing.assert_array_equal(answers.forecast(6, exog=given).mean, expected)
    columns = {"weather": exog.weather.to_numpy()[T:], "price": exog.price.to_numpy()[T:]}
    np.testing.assert_array_equal(answers.forecast(6, exog=columns).mean, expected)
    assert answers.plot_forecast(6, exog=exog[T:]).axes
    with pytest.raises(ValueError, match="forecast: exog has no column weather"):
        answers.forecast(6, exog=exog[T:][["price"]])
    with pytest.raises(ValueError, match="exog is of 2004-12 to 2005-05, 6 steps, the steps after"):
        answers.forecast(6, exog=exog[T - 1 : -1])
    with pytest.raises(
        ValueError, match="simulate: exog is of 2005-01 to 2005-06, 6 steps, the steps after the data are"
    ):
        answers.simulate(5, 0, exog=exog[T:])
    with pytest.raises(ValueError, match="append: exog is of 2005-01 to 2005-06, 6 steps"):
        answers.append(y[-1:].reindex(every[T : T + 3]), exog=exog[T:])


def test_bands_are_printed(answers):
    lines = str(answers.forecast(3)).splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["mean", "std.", "error", "2.5", "%", "97.5", "%"]
    assert "… 38 more" in str(answers.components["trend"].smoothed)


def test_plots_are_drawn(answers, panel):
    pytest.importorskip("matplotlib")
    assert len(answers.plot_components().axes) == 3
    assert len(answers.plot_states().axes) == 5
    assert len(answers.plot_diagnostics().axes) == 4
    of_two = Analysis(*panel)
    assert len(of_two.plot_forecast(3).axes) == 2
    dated = Analysis(answers.model, pd.Series(answers.y, months(T)))
    for figure in (dated.plot_forecast(3), dated.plot_diagnostics(), of_two.plot_components()):
        figure.canvas.draw()


def lines(axes):
    """What is drawn, by its label."""
    return {line.get_label(): line.get_xydata() for line in axes.lines}


def test_lonely_observations_are_seen(panel):
    """Quarters among months: each between missing values, which no line shows."""
    pytest.importorskip("matplotlib")
    model, y = panel
    y[np.arange(20) % 3 != 2, 1] = np.nan
    found = Analysis(model, pd.DataFrame(y, months(20), ["often", "seldom"]))
    of_data, of_residuals = found.plot_forecast(2).axes[1], found.plot_diagnostics("seldom").axes[0]
    for axes in (of_data, of_residuals):
        points = [line for line in axes.lines if line.get_marker() == "."]
        assert np.isfinite(points[0].get_ydata()).sum() == 6


def test_forecasts_are_drawn_from_the_last_observation_on(panel):
    pytest.importorskip("matplotlib")
    model, y = panel
    y[18:, 1] = np.nan
    found = Analysis(model, y)
    first, second = (lines(axes)["forecast"] for axes in found.plot_forecast(3, history=5).axes)
    np.testing.assert_allclose(first[:, 1], found.forecast(3).mean[:, 0])
    np.testing.assert_allclose(
        second[:, 1], [*found.imputed.mean[18:, 1], *found.forecast(3).mean[:, 1]], rtol=1e-12
    )
    assert list(second[:, 0]) == [18, 19, 20, 21, 22]
    assert lines(found.plot_forecast(1, history=5).axes[0])["observed"][0, 0] == 15


def test_forecasts_without_dates_are_drawn_after_the_data(answers):
    """Dates without a frequency: forecasts have numbers, which are no dates in January 1970."""
    pytest.importorskip("matplotlib")
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(T) ** 2, unit="h")
    drawn = lines(Analysis(answers.model, pd.Series(answers.y, when)).plot_forecast(3).axes[0])
    assert list(drawn["forecast"][:, 0]) == [T, T + 1, T + 2]
    assert drawn["observed"][0, 0] == 0


def test_one_series_of_several_is_drawn(panel):
    pytest.importorskip("matplotlib")
    model, y = panel
    found = Analysis(model, pd.DataFrame(y, columns=["a", "b"]))
    drawn = found.plot_components(series="b").axes[0].lines
    np.testing.assert_array_equal(drawn[0].get_ydata(), y[:, 1])
    np.testing.assert_array_equal(drawn[1].get_ydata(), found.signal.mean["b"])
    whole = found.plot_components()
    assert [text.get_text() for text in whole.axes[0].get_legend().get_texts()] == ["a", "b"]
    with pytest.raises(ValueError, match="plot_components: series='c' is none of 'a', 'b'"):
        found.plot_components(series="c")
    with pytest.raises(ValueError, match="news: series=2 is none of"):
        found.news(y, 3, series=2)


@pytest.mark.parametrize("call", ["forecast", "tests", "impulse_responses"])
def test_numbers_of_steps_that_are_none(call):
    analysis = statespace.Analysis(statespace.local_level(1.0, 1.0), np.arange(20.0))
    for wrong, error, says in [(-1, ValueError, "must not be negative"), (2.5, TypeError, "is an integer")]:
        with pytest.raises(error, match=f"{call}: .* {says}"):
            getattr(analysis, call)(wrong)


def test_a_number_is_no_step():
    analysis = statespace.Analysis(statespace.local_level(1.0, 1.0), np.arange(20.0))
    for call in (analysis.append, analysis.extend):
        with pytest.raises(ValueError, match="append: y is a single number"):
            call(1.0)
