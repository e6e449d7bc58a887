"""Diffuse starts: the filter that collapses, against the augmented filter over all steps."""

import numpy as np
import pytest

import lindiff as ld
from lindiff import statespace
from lindiff.kernels import Sweep
from lindiff.statespace.model import canonical
from lindiff.statespace.sweep import Sweeps
from lindiff.statespace.sweep.any_order import composed_gradient, composed_sums
from lindiff.statespace.sweep.collapsed import collapsed_loglikelihood
from lindiff.statespace.sweep.derivatives import filter_sums
from lindiff.statespace.sweep.likelihood import from_sums, loglikelihood_from_diffuse, loglikelihoods
from lindiff.statespace.sweep.planning import planned
from lindiff.testing import check_grads

VARIANCES = np.array([0.1, 0.01, 0.05, 0.5])


def structural(v, period=4):
    return statespace.local_linear_trend(v[0], v[1]) + statespace.seasonal(period, v[2], obs_var=v[3])


def bivariate(v):
    """Two observations of a trend, with correlated errors, and a state that is not diffuse."""
    trend = statespace.local_linear_trend(v[0], v[1])
    A = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]])
    Q = np.diag(np.array([1.0, 0.0, 0.0])) * v[0] + np.diag(np.array([0.0, 1.0, 0.0])) * v[1]
    return trend._replace(
        transition=A,
        design=np.array([[1.0, 0.0, 1.0], [0.5, 1.0, 0.0]]),
        state_cov=Q + np.diag(np.array([0.0, 0.0, 1.0])) * v[2],
        obs_cov=v[3] * np.array([[1.0, 0.3], [0.3, 1.0]]),
        initial_state=np.array([0.0, 0.0, 1.0]),
        initial_state_cov=np.eye(3),
        state_intercept=np.array([0.1, 0.0, 0.2]),
        diffuse=np.array([True, True, False]),
    )


def varying(v, T=40):
    """A regression on a constant and a trend: both coefficients drift."""
    x = np.c_[np.ones(T), np.linspace(-1, 1, T)][:, None, :]
    return statespace.Model(
        np.eye(2), x, v[0] * np.eye(2), v[3] * np.eye(1), state_intercept=0.1 * x[:, 0], diffuse=True
    )


def own(v):
    """Every series has its own variances."""
    covs = np.stack([structural(v * (i + 1)).state_cov for i in range(3)])
    return structural(v)._replace(state_cov=covs[:, None])


def series(name, T=40):
    rng = np.random.default_rng(7)
    y = 50 + np.cumsum(rng.standard_normal(T)) + np.tile(rng.standard_normal(4), T // 4)
    if name == "scattered":
        y[rng.random(T) < 0.3] = np.nan
    elif name == "late":  # nothing, and then one season is missing for long
        y[:12] = np.nan
        y[15:30:4] = np.nan
    return y


def many(missing=True):
    y = np.cumsum(np.random.default_rng(1).standard_normal((3, 40, 1)), axis=1)
    if missing:
        y[1:, :9] = np.nan
    return y


def pairs():
    rng = np.random.default_rng(2)
    y = np.cumsum(rng.standard_normal((40, 2)), axis=0)
    y[rng.random(y.shape) < 0.3] = np.nan
    return y


CASES = {
    "whole": (structural, series("whole")),
    "scattered": (structural, series("scattered")),
    "late": (structural, series("late", 60)),
    "full obs_cov": (bivariate, pairs()),
    "varying": (varying, series("scattered")),
    "many": (structural, many()),
    "own": (own, many()),
}


def close(x, y, tol=1e-11):
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    np.testing.assert_allclose(x, y, rtol=0, atol=tol * np.max(np.abs(y), initial=1))


@pytest.mark.parametrize("case", CASES)
def test_equal_to_the_augmented_filter_over_all_steps(case):
    build, y = CASES[case]
    rng = np.random.default_rng(3)
    along = rng.standard_normal(4), rng.standard_normal(y.shape)

    def of(**options):
        return lambda v, y: np.sum(statespace.loglikelihood(y, *build(v), **options))

    fast, slow = of(), of(method="composed")
    close(fast(VARIANCES, y), slow(VARIANCES, y))
    gradients = [ld.grad(f, (0, 1)) for f in (fast, slow)]
    for g, expected in zip(*(g(VARIANCES, y) for g in gradients), strict=True):
        close(g, expected)
    close(*(ld.jvp(f, (VARIANCES, y), along)[1] for f in (fast, slow)))
    second = [ld.jvp(g, (VARIANCES, y), along)[1] for g in gradients]
    for h, expected in zip(*second, strict=True):
        close(h, expected, 1e-10)
    close(
        ld.hvp(lambda v: fast(v, y), (VARIANCES,), along[:1]),
        ld.jvp(ld.grad(lambda v: slow(v, y)), (VARIANCES,), along[:1])[1],
    )
    for g, expected in zip(
        ld.grad(of(checkpoint=True), (0, 1))(VARIANCES, y), gradients[0](VARIANCES, y), strict=True
    ):
        close(g, expected)


@pytest.mark.parametrize("case", ["late", "full obs_cov", "own"])
def test_derivatives_against_differences(case):
    build, y = CASES[case]
    check_grads(lambda u: np.sum(statespace.loglikelihood(y, *build(np.exp(u)))), (np.log(VARIANCES),))


@pytest.mark.parametrize("case", CASES)
def test_the_number_of_steps_before_the_collapse_changes_nothing(case):
    build, y = CASES[case]
    system = canonical("loglikelihood", y, *build(VARIANCES))
    arrays, plan = planned(system, "loglikelihood", 0)
    assert np.all(plan.collapse + 4 < arrays[0].shape[1])
    active = tuple(i for i, x in enumerate(arrays) if x is not None)

    def likelihoods(plan):
        return lambda *arrays: np.sum(from_sums(filter_sums(*arrays, plan=plan), system))

    augmented = likelihoods(plan._replace(collapse=None))
    expected = ld.value_and_grad(augmented, active)(*arrays)
    for more in (0, 1, 4):
        value, gradient = ld.value_and_grad(
            likelihoods(plan._replace(collapse=plan.collapse + more)), active
        )(*arrays)
        close(value, expected[0])
        for g, e in zip(gradient, expected[1], strict=True):
            close(g, e)


@pytest.mark.parametrize("case", CASES)
def test_composed_sums_collapse_at_the_same_step(case):
    build, y = CASES[case]
    arrays, plan = planned(canonical("loglikelihood", y, *build(VARIANCES)), "loglikelihood", 0)
    found, expected = Sweeps(arrays, plan), composed_sums(*arrays, plan=plan)
    for x, e in zip(found.sums(), expected, strict=True):
        close(x, e)
    rng = np.random.default_rng(0)
    bars = tuple(rng.standard_normal(x.shape) for x in expected)
    wanted = tuple(x is not None for x in arrays)
    gradient = composed_gradient(*bars, *arrays, wanted=wanted, plan=plan)
    found = [x for x in found.pull(bars, wanted) if x is not None]
    for i, (g, e) in enumerate(zip(found, gradient, strict=True)):
        symmetric = i in (3, 4, 6) and e.shape[-1] == e.shape[-2]
        close(g, 0.5 * (e + np.swapaxes(e, -1, -2)) if symmetric else e)


@pytest.mark.parametrize("case", CASES)
def test_smoothed_moments(case):
    build, y = CASES[case]
    fast, slow = (statespace.kalman_smoother(y, *build(VARIANCES), method=m) for m in (None, "composed"))
    for x, expected in zip(fast, slow, strict=True):
        close(x, expected, 1e-10)


@pytest.mark.parametrize("wanted", ["y", "state_intercept", "design", "initial_state"])
def test_each_gradient_alone(wanted):
    y, model = pairs(), bivariate(VARIANCES)

    def of(**options):
        def loglik(x):
            if wanted == "y":
                return statespace.loglikelihood(x, *model, **options)
            return statespace.loglikelihood(y, *model._replace(**{wanted: x}), **options)

        return loglik

    x = y if wanted == "y" else getattr(model, wanted)
    close(ld.grad(of())(x), ld.grad(of(method="composed"))(x))


def test_derivatives_of_steps_before_all_states_are_determined():
    y = series("whole")[:12]
    late = statespace.regression(np.arange(12.0) >= 5)

    def each(v):
        turn = statespace.cycle(v[0], v[1], v[2])
        return statespace.loglikelihood(y, statespace.local_level(v[1], v[3]) + turn + late, per_step=True)

    check_grads(each, (np.array([5.0, 0.3, 0.9, 0.7]),), order=2)


def test_series_of_which_steps_determine_other_states():
    y = np.stack([series("whole")[:12], series("scattered")[:12], series("whole")[12:24]])[..., None]
    shifts = [statespace.regression(np.arange(12.0) >= first).design for first in (3, 8, 5)]
    model = statespace.local_linear_trend(0.5, 0.1, 1.0) + statespace.regression(np.ones(12))
    design = np.stack([np.concatenate([model.design[..., :2], x], axis=-1) for x in shifts])
    found = statespace.loglikelihood(y, model._replace(design=design), per_step=True)
    for i in range(3):
        alone = statespace.loglikelihood(y[i], model._replace(design=design[i]), per_step=True)
        close(found[i], alone)
        assert np.sum(alone) == pytest.approx(
            statespace.loglikelihood(y[i], model._replace(design=design[i])), rel=1e-12
        )


@pytest.mark.parametrize("slope_var", [1e-4, 1.0])
def test_series_that_begin_late_collapse_soon_after(slope_var):
    y = np.cumsum(np.cumsum(np.random.default_rng(0).standard_normal(160)))
    y[:100] = np.nan
    model = statespace.local_linear_trend(1.0, slope_var, obs_var=0.5)
    _, plan = planned(canonical("loglikelihood", y, *model), "loglikelihood", 0)
    assert plan.collapse.tolist() == [102]
    close(
        *(
            ld.grad(lambda y, m=m: statespace.loglikelihood(y, *model, method=m))(y)
            for m in (None, "composed")
        )
    )


def test_regressors_that_are_small_at_first_do_not_collapse_before_they_are_not():
    T = 100
    rng = np.random.default_rng(0)
    x = np.where(np.arange(T) < 50, 1e-6, 1.0) * rng.standard_normal(T)
    y = 1 + 2 * x + rng.standard_normal(T)
    model = statespace.regression(np.c_[np.ones(T), x], np.zeros(2), obs_var=1.0)
    _, plan = planned(canonical("loglikelihood", y, *model), "loglikelihood", 0)
    assert plan.collapse[0] > 50
    close(
        *(
            ld.grad(lambda y, m=m: statespace.loglikelihood(y, *model, method=m))(y)
            for m in (None, "composed")
        )
    )


def nearly_collinear(T=60):
    """A regressor that can hardly be told from the constant."""
    rng = np.random.default_rng(4)
    x = np.c_[np.ones(T), 1 + 1e-3 * rng.standard_normal(T)]
    return x, 1 + x @ np.ones(2) + rng.standard_normal(T)


def test_states_that_are_never_well_determined_do_not_collapse():
    X, y = nearly_collinear()
    model = statespace.Model(np.eye(2), X[:, None, :], np.zeros((2, 2)), np.eye(1), diffuse=True)
    _, plan = planned(canonical("loglikelihood", y, *model), "loglikelihood", 0)
    assert plan.collapse.tolist() == [len(y)]
    rest = y - X @ np.linalg.lstsq(X, y)[0]
    expected = -0.5 * (len(y) * np.log(2 * np.pi) + rest @ rest + np.linalg.slogdet(X.T @ X)[1])
    assert statespace.loglikelihood(y, *model) == pytest.approx(expected, rel=1e-10)
    close(ld.grad(statespace.loglikelihood)(y, *model), -rest, 1e-9)


def test_states_that_are_never_determined():
    y = many(missing=False)
    y[1, 4:] = np.nan
    with pytest.raises(ValueError, match="series 1 never determine the 5 diffuse states"):
        statespace.loglikelihood(y, *structural(VARIANCES))


def test_errors_after_the_collapse_name_the_step():
    y = np.cumsum(np.random.default_rng(0).standard_normal((30, 1)), axis=0)
    Q, R = np.full((30, 1, 1), 1.0), np.full((30, 1, 1), 1.0)
    Q[10:] = R[11:] = 0
    with pytest.raises(np.linalg.LinAlgError, match=r"series 0.*at step 12 is not positive definite"):
        statespace.loglikelihood(y, np.eye(1), np.eye(1), Q, R, diffuse=True)
    growing = np.full((30, 1, 1), 1.0)
    growing[20] = growing[21] = 1e200
    y[5:] = np.nan
    with pytest.raises(OverflowError, match=r"series 0.*predicted for step 21"):
        statespace.loglikelihood(y, growing, np.eye(1), Q + 1, R + 1, diffuse=True)


@pytest.mark.parametrize("block", [0, 2])
def test_a_sweep_in_two_parts(block):
    rng = np.random.default_rng(5)
    y, c = rng.standard_normal((9, 2, 3)), rng.standard_normal((9, 2, 3))
    A, B, Q, R = 0.5 * rng.standard_normal((2, 2)), rng.standard_normal((2, 2)), np.eye(2), np.eye(2)
    observed = rng.random((9, 2)) < 0.8
    start = rng.standard_normal((2, 3)), np.eye(2)
    options = {"mixed": 1, "block": block, "tolerance": -1.0}
    whole = Sweep(y, A, B, Q, R, *start, c, observed, **options)
    first = Sweep(y[:4], A, B, Q, R, *start, c[:4], observed[:4], predicts=True, **options)
    later = Sweep(y[4:], A, B, Q, R, *first.after, c[4:], observed[4:], origin=4, **options)
    close(np.concatenate([first.quad, later.quad]), whole.quad)
    close(first.gram + later.gram, whole.gram)
    bars = np.r_[rng.standard_normal(2), 0], rng.standard_normal((3, 1)), -0.5, (True,) * 8
    expected, ends = whole.pull(*bars)
    right, between = later.pull(*bars)
    left, found_ends = first.pull(*bars, between)
    for x, e in zip(found_ends, ends, strict=True):
        close(x, e)
    for i, (a, b, e) in enumerate(zip(left, right, expected, strict=True)):
        close(a if i in (5, 6) else np.concatenate([a, b]) if i in (0, 7) else a + b, e)
    M, V, _ = whole.smooth()
    right_M, right_V, between = later.smooth()
    left_M, left_V, _ = first.smooth(between)
    close(np.concatenate([left_M, right_M]), M)
    close(np.concatenate([left_V, right_V]), V)


@pytest.mark.parametrize("method", [None, "square_root"])
def test_no_series_at_all(method):
    y, one = np.zeros((0, 5, 1)), np.eye(1)

    def loglik(q, y=y, **options):
        return statespace.loglikelihood(y, one, one, q, one, diffuse=True, method=method, **options)

    assert loglik(one).shape == (0,)
    assert loglik(one, per_step=True).shape == (0, 5)
    np.testing.assert_array_equal(ld.grad(lambda q: np.sum(loglik(q)))(one), [[0.0]])
    assert ld.grad(lambda y: np.sum(loglik(one, y)))(y).shape == y.shape


@pytest.mark.parametrize("row", [False, True])
@pytest.mark.parametrize("series", [1, 3])
@pytest.mark.parametrize("level", [0.0, 1e6])
def test_values_go_on_from_where_states_were_determined(row, series, level):
    """Without a gradient the steps before the collapse run once, in parts, from states that are not moved."""
    rng = np.random.default_rng(6)
    y = level + np.cumsum(rng.standard_normal((series, 40, 2)), axis=1)
    y[:, 1:4, 0] = y[:, 2, :] = np.nan
    A = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])  # three numbers do not determine it
    B = np.array([[1.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    R = np.array([0.5, 0.8]) if row else np.array([[0.5, 0.2], [0.2, 0.8]])
    model = ld.statespace.Model(A, B, np.diag([0.3, 0.01, 0.02]), R, diffuse=True)
    value = ld.statespace.loglikelihood(y, *model)
    composed = ld.statespace.loglikelihood(y, *model, method="composed")
    np.testing.assert_allclose(value, composed, rtol=1e-15 * max(level, 1e4))
    total = ld.value_and_grad(lambda model: np.sum(ld.statespace.loglikelihood(y, *model)))(model)[0]
    np.testing.assert_allclose(np.sum(value), total, rtol=1e-15 * max(level, 1e4))


def two_elements(v, full):
    """Of a trend and a season, with one state that is not diffuse."""
    model = structural(v)
    A, Q = np.eye(6), np.zeros((6, 6))
    A[:5, :5] = model.transition
    A[5, 5] = 0.5
    design = np.array([[1.0, 0, 1, 0, 0, 1], [1.0, 0.5, 0, 0, 0, 0]])
    Q = Q + np.diag(np.r_[0.0, 0, 0, 0, 0, 1]) + np.pad(np.eye(5), (0, 1)) * v[2]
    R = v[3] * (np.array([[1.0, 0.3], [0.3, 1.0]]) if full else np.array([1.0, 2.0]))
    diffuse = np.arange(6) < 5
    return statespace.Model(A, design, Q, R, np.arange(6.0), 2 * np.eye(6), diffuse=diffuse)


def seasonal_moving_average(v):
    """A transition of few entries, beside a stationary part."""
    return statespace.sarima(
        v[:1], v[1:2], v[2], difference=1, period=4, seasonal_ma=-v[3:], seasonal_difference=1
    )


def on_regressors(v, T=40):
    x = np.random.default_rng(5).standard_normal((T, 2))
    return statespace.local_level(v[0], v[3]) + statespace.regression(x)


SOON = {
    "trend, seasons": (structural, series("scattered")),
    "independent errors": (lambda v: two_elements(v, False), pairs()),
    "full obs_cov": (lambda v: two_elements(v, True), pairs()),
    "moving averages": (seasonal_moving_average, series("whole")),
    "regression": (on_regressors, series("scattered")),
}


@pytest.mark.parametrize("case", SOON)
def test_one_series_whose_states_are_determined_soon(case):
    build, y = SOON[case]
    tolerance = 1e-14
    found = collapsed_loglikelihood(canonical("loglikelihood", y, *build(VARIANCES)), tolerance, None)
    assert found is not None
    slow = statespace.loglikelihood(y, *build(VARIANCES), method="composed")
    close(found[0], slow)
    gradients = [
        ld.grad(lambda y, v, m=m: statespace.loglikelihood(y, *build(v), method=m), (0, 1))(y, VARIANCES)
        for m in (None, "composed")
    ]
    for g, expected in zip(*gradients, strict=True):
        close(g, expected)
    wanted = [name for name in ("transition", "design", "state_cov", "obs_cov") if case != "moving averages"]
    model = build(VARIANCES)

    def of_model(method):
        return lambda *parts: statespace.loglikelihood(
            y, *model._replace(**dict(zip(wanted, parts, strict=True))), method=method
        )

    parts = tuple(getattr(model, name) for name in wanted)
    for i in range(len(parts)):  # each alone, and all
        close(ld.grad(of_model(None), i)(*parts), ld.grad(of_model("composed"), i)(*parts))
    both = [ld.grad(of_model(m), tuple(range(len(parts))))(*parts) for m in (None, "composed")]
    for g, expected in zip(*both, strict=True):
        close(g, expected)


def test_what_is_not_determined_soon_is_left_to_others():
    y = series("whole")
    for model in (
        statespace.regression(np.c_[np.ones(40), np.where(np.arange(40) < 30, 0.0, 1.0)], obs_var=1.0),
        statespace.local_linear_trend(0.0, 0.0)._replace(obs_cov=np.zeros((1, 1))),
    ):
        system = canonical("loglikelihood", y, *model)
        assert collapsed_loglikelihood(system, 1e-14, None) is None


def some_system(rng):
    """Data and a model of few states, some of them diffuse."""
    n, p, T = rng.integers(1, 5), rng.integers(1, 3), rng.integers(8, 30)
    factor = rng.standard_normal((n, n)) * rng.choice([0.0, 1e-3, 1.0])
    diffuse = rng.random(n) < 0.6
    known = () if diffuse.all() else (rng.standard_normal(n), np.eye(n) + 0.3)
    model = statespace.Model(
        0.5 * (np.eye(n) + rng.standard_normal((n, n))),
        rng.standard_normal((T, p, n) if rng.random() < 0.4 else (p, n)),
        factor @ factor.T,
        rng.random(1) if p == 1 and rng.random() < 0.5 else np.diag(rng.random(p)),
        *known,
        diffuse=diffuse,
    )
    y = rng.standard_normal((T, p))
    y[rng.random(y.shape) < rng.choice([0.0, 0.2])] = np.nan
    return (y[:, 0] if p == 1 and rng.random() < 0.5 else y), model


@pytest.mark.parametrize("seed", range(60))
def test_plain_arrays_are_swept_without_the_checks_of_others(seed):
    y, model = some_system(np.random.default_rng(seed))
    found = loglikelihood_from_diffuse((y, *model[:6]), model.diffuse, "", None, None)
    expected = loglikelihoods(canonical("loglikelihood", y, *model), "loglikelihood", None, None)[0]
    close(found, expected)
    assert found == statespace.loglikelihood(y, *model)
    columns = model._replace(design=np.asfortranarray(model.design))
    assert found == statespace.loglikelihood(np.asfortranarray(y), *columns)

    def of(way):
        return lambda *chosen: way(y, *chosen, *model[4:])

    def by_sums(*args):
        return loglikelihoods(canonical("loglikelihood", *args), "loglikelihood", None, None)[0]

    gradients = [ld.grad(of(way), (0, 1, 2, 3))(*model[:4]) for way in (statespace.loglikelihood, by_sums)]
    for g, e in zip(*gradients, strict=True):
        close(g, e)


def test_what_is_no_plain_array_in_order_is_left_to_others():
    y, one = np.arange(5.0), np.eye(1)
    model = one, one, one, one, None, None
    assert loglikelihood_from_diffuse((y, *model), True, "", None, None) is not None
    for other, diffuse in [((y.tolist(), *model), True), ((y, *model), [True]), ((y, -one, *model[1:]), 1)]:
        assert loglikelihood_from_diffuse(other, diffuse, "", None, None) is None
    assert loglikelihood_from_diffuse((np.array([np.inf]), *model), True, "", None, None) is None
    assert loglikelihood_from_diffuse((y, *model), True, "", None, True) is None
