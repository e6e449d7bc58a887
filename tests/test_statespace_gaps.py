"""Long gaps, and states, data and times of very different units: against dense Gaussians in many digits."""

import warnings

import mpmath as mp
import numpy as np
import pytest
from statespace_reference import dense

import lindiff as ld
from lindiff import statespace
from lindiff.statespace.diffuse import start_variances

DIGITS, KAPPA = 220, mp.mpf(10) ** 50  # the variance of a diffuse state, of which the limit is wanted


def exact_matrix(x):
    return np.vectorize(mp.mpf, otypes=[object])(np.asarray(x, dtype=object))


def exact(y, model):
    """Log likelihood; smoothed means (T, n) and covariances (T, n, n)."""
    T, n = len(y), model.transition.shape[-1]
    diffuse = np.broadcast_to(False if model.diffuse is None else model.diffuse, (n,))
    start = np.zeros((n, n)) if model.initial_state_cov is None else model.initial_state_cov
    start = exact_matrix(start)
    start[diffuse, diffuse] = KAPPA
    names = "transition", "state_cov", "obs_cov"
    model = model._replace(
        **{name: exact_matrix(getattr(model, name)) for name in names},
        initial_state=np.zeros(n),
        initial_state_cov=start,
    )
    mean, cov, _, S, H = dense(model, T)
    seen = ~np.isnan(y.ravel())
    cross = (cov @ H.T)[:, seen].T
    logdet, (v, *cross) = eliminated(
        S[np.ix_(seen, seen)], np.vstack([exact_matrix(y.ravel()[seen]), *cross.T])
    )
    loglik = -(v @ v + logdet + len(v) * mp.log(2 * mp.pi) - diffuse.sum() * mp.log(KAPPA)) / 2
    mean, cov = np.stack(cross) @ v, cov - np.stack(cross) @ np.stack(cross).T
    covs = [cov[t * n : (t + 1) * n, t * n : (t + 1) * n] for t in range(T)]
    return loglik, mean.astype(float).reshape(T, n), np.array(covs).astype(float)


def eliminated(S, rows):
    """log |S|, and the rows times L⁻ᵀ with S = L Lᵀ."""
    joint, logdet = np.vstack([S, rows]), 0
    for j in range(len(S)):
        logdet += mp.log(joint[j, j])
        joint[j:, j] /= mp.sqrt(joint[j, j])
        joint[j + 1 :, j + 1 :] -= np.outer(joint[j + 1 :, j], joint[j + 1 : len(S), j])
    return logdet, joint[len(S) :]


def walk(t, q, r):
    return statespace.integrated_random_walk(t, q, r)


def trend(t, q, r):
    return statespace.continuous_local_linear_trend(t, 0.5 * q, q, r)


def sensors(t, q, r):
    """Two of one level."""
    model = statespace.integrated_random_walk(t, q)
    return model._replace(design=np.array([[1.0, 0.0], [1.0, 0.0]]), obs_cov=r * np.array([1.0, 0.5]))


def sum_of_two(t, q, r):
    return statespace.integrated_random_walk(t, q, r) + statespace.ornstein_uhlenbeck(t, 1.0, 1.0)


def after_first(gap):
    return np.r_[0, gap + np.arange(6)], []


def first_missing(gap):
    return np.r_[0, gap + np.arange(6)], [0]


def amid(gap):
    return np.r_[np.arange(4), gap - 1, gap + np.arange(4)], []


def asked_at_the_end(gap):
    return np.r_[0, gap - 1, gap + np.arange(5)], [1]


@pytest.mark.parametrize("gap", [1e4, 1e8])
@pytest.mark.parametrize(
    ("build", "times"),
    [
        (walk, after_first),
        (walk, first_missing),
        (walk, asked_at_the_end),
        (trend, amid),
        (trend, asked_at_the_end),
        (sensors, after_first),
        (sum_of_two, after_first),
    ],
)
def test_long_gaps(build, times, gap):
    t, missing = times(gap)
    rng = np.random.default_rng(0)
    v = np.array([0.7, 0.9])
    model = build(t, *v)
    y = rng.standard_normal((len(t), model.design.shape[-2]))
    y[missing] = np.nan

    def loglik(v):
        return statespace.loglikelihood(y, *build(t, *v))

    with mp.workdps(DIGITS):
        expected, means, covs = exact(y, model)
        parts = [exact_matrix(build(t, *x).state_cov) for x in ((0, 1), (1, 1))]
        noise = exact_matrix(build(t, 1.0, 1.0).obs_cov)

        def along(h):
            q, r = v + h * np.array([1, 0.5])
            moved = model._replace(state_cov=parts[0] + q * (parts[1] - parts[0]), obs_cov=r * noise)
            return exact(y, moved)[0]

        h = mp.mpf(10) ** -30
        low, at, high = (along(x) for x in (-h, 0, h))
        first, second = float((high - low) / (2 * h)), float((high - 2 * at + low) / h**2)
    tol = 1e-8 if gap > 1e6 else 1e-10
    assert loglik(v) == pytest.approx(float(expected), rel=tol)
    direction = np.array([1.0, 0.5])
    assert ld.grad(loglik)(v) @ direction == pytest.approx(first, rel=tol, abs=tol)
    assert ld.jvp(loglik, (v,), (direction,))[1] == pytest.approx(first, rel=tol, abs=tol)
    assert ld.hvp(loglik, (v,), (direction,)) @ direction == pytest.approx(second, rel=1e2 * tol)
    _, mean, cov = statespace.kalman_smoother(y, *model)
    deviations = np.sqrt(np.diagonal(covs, axis1=1, axis2=2))
    scale = deviations[:, :, None] * deviations[:, None, :]
    np.testing.assert_allclose(mean / deviations, means / deviations, atol=1e2 * tol)
    np.testing.assert_allclose(cov / scale, covs / scale, atol=1e2 * tol)


def test_the_unit_of_time_changes_nothing():
    t, _ = after_first(1e6)
    y = np.random.default_rng(1).standard_normal(len(t))
    units = np.array([1.0, 1e5, 1e-7])
    values = [statespace.loglikelihood(y, *walk(unit * t, 0.7 / unit**3, 0.9)) for unit in units]
    np.testing.assert_allclose(values + np.log(units), values[0], rtol=1e-12)  # that of the diffuse slope


def test_starts_change_with_the_units_of_states_data_and_time():
    rng = np.random.default_rng(2)
    states, data = 10.0 ** np.array([0, 30, -30, 3]), 10.0 ** np.array([8, -8])
    A = np.array([[1.0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 1], [0, 0, 0, 0.0]])[None, None]
    B = np.array([[1.0, 0, 0, 0], [1.0, 0, 1, 0]])[None, None]
    Q, R = np.diag(rng.uniform(1, 2, 4))[None, None], rng.uniform(1, 2, (1, 30, 1, 2))
    mask = np.ones(4, bool)
    before = start_variances(A, B, Q, R, mask)
    after = start_variances(
        A * states[:, None] / states,
        B * data[:, None] / states,
        Q * states[:, None] * states,
        R * data**2,
        mask,
    )
    np.testing.assert_allclose(after, before * states**2)
    assert np.all((before > 0.5) & (before < 10))


@pytest.mark.parametrize("small", [1e-3, 1e-6, 1e-10, 6e-17])
def test_loadings_that_are_small_beside_those_by_other_ways(small):
    y = np.cumsum(np.random.default_rng(0).standard_normal((12, 1)), axis=0)
    trend = np.eye(3) + np.eye(3, k=1)
    short_cut = trend + small * np.eye(3, k=2)
    cov, first = np.diag([0.5, 0.1, 0.05]), np.eye(1, 3)
    turn = statespace.cycle(8.0, 0.5, obs_var=1.0)._replace(design=np.array([[small, 1.0]]))
    for model in (
        statespace.Model(trend, first + small * np.eye(1, 3, k=1), cov, np.eye(1), diffuse=True),
        statespace.Model(trend, first + small * np.eye(1, 3, k=2), cov, np.eye(1), diffuse=True),
        statespace.Model(short_cut, first, cov, np.eye(1), diffuse=True),
        turn,
        statespace.local_level(0.1) + turn,
    ):
        with mp.workdps(DIGITS):
            expected, means, covs = exact(y, model)
        each = model._replace(obs_cov=np.repeat(np.reshape(model.obs_cov, (1, 1, 1)), 12, axis=0))
        for kind in (model, each):
            assert statespace.loglikelihood(y, *kind) == pytest.approx(float(expected), rel=1e-11)
        _, mean, cov = statespace.kalman_smoother(y, *model)
        np.testing.assert_allclose(mean, means, atol=1e-9)
        np.testing.assert_allclose(cov, covs, atol=1e-9)


def test_steps_before_all_diffuse_states_are_determined():
    y = np.cumsum(np.random.default_rng(4).standard_normal((9, 1)), axis=0)
    y[0] = y[3] = np.nan
    shift = statespace.regression({"shift": np.arange(9) >= 6})
    for model, determined in (
        (statespace.local_linear_trend(0.5, 0.1, 1.0) + shift, [0, 1, 2, 2, 2, 2, 3, 3, 3]),
        (statespace.local_level(0.5, 1.0) + statespace.cycle(5.0, 0.3, 0.9), [0, 1, 2, 2, 3, 3, 3, 3, 3]),
        (statespace.seasonal(4, 0.5, 1.0) + shift, [0, 1, 2, 2, 3, 3, 4, 4, 4]),
    ):
        sums = np.cumsum(statespace.loglikelihood(y, *model, per_step=True))
        d, kind = np.count_nonzero(model.diffuse), model.at_dates(None)
        for t, count in enumerate(determined):
            with mp.workdps(DIGITS):
                expected = exact(y[: t + 1], kind)[0] + (count - d) * mp.log(KAPPA) / 2 if count else 0
            assert sums[t] == pytest.approx(float(expected), abs=1e-10)


def test_states_and_data_of_very_different_units():
    rng = np.random.default_rng(3)
    T, unit = 8, 1e-12
    size = np.array([unit, 1 / unit])
    x = rng.standard_normal((T, 2)) * size
    regression = statespace.Model(np.eye(2), x[:, None], np.zeros((2, 2)), np.eye(1), diffuse=True)
    two = statespace.Model(np.eye(2), np.eye(2), np.diag(size**2), 0.5 * size**2, diffuse=True)
    seasons = statespace.local_linear_trend(unit**2, 0.1 * unit**2) + statespace.seasonal(4, 0.1 * unit**2)
    for model, y in (
        (regression, rng.standard_normal((T, 1)) + x @ (1 / size[:, None])),
        (two, np.cumsum(rng.standard_normal((T, 2)), axis=0) * size),
        (seasons._replace(obs_cov=seasons.obs_cov + 1e-20 * unit**2), unit * rng.standard_normal((T, 1))),
    ):
        y[0] = np.nan
        with mp.workdps(DIGITS):
            expected, means, covs = exact(y, model)
        assert statespace.loglikelihood(y, *model) == pytest.approx(float(expected), rel=1e-11)
        _, mean, cov = statespace.kalman_smoother(y, *model)
        scale = np.sqrt(np.diagonal(covs, axis1=1, axis2=2))
        np.testing.assert_allclose(mean / scale, means / scale, atol=1e-9)
        scale = scale[:, :, None] * scale[:, None, :]
        np.testing.assert_allclose(cov / scale, covs / scale, atol=1e-9)


def after(gap):
    return np.r_[np.arange(4.0), 3.0 + gap + np.arange(6)]


def test_gaps_that_leave_few_digits_are_told():
    """Walks of order 3, and correlated errors; nobody is told of others."""
    y = np.random.default_rng(0).standard_normal((10, 2))
    with pytest.warns(UserWarning, match="behind step 3 is 1e[+]05 times the usual one: with order 3"):
        statespace.integrated_random_walk(after(1e5), 1.0, 1.0, order=3)

    def loglik(gap, correlation):
        model = statespace.integrated_random_walk(after(gap), 1.0)
        errors = np.array([[1.0, correlation], [correlation, 1.0]])
        return statespace.loglikelihood(y, *model._replace(design=np.eye(2), obs_cov=errors))

    with pytest.warns(UserWarning, match="loglikelihood: behind a gap this long, .* correlated"):
        loglik(1e6, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        statespace.integrated_random_walk(after(1e3), 1.0, 1.0, order=3)
        statespace.integrated_random_walk(after(1e8), 1.0, 1.0)
        loglik(1e4, 0.5)
        loglik(1e6, 0.0)
