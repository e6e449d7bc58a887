"""Fits and answers of nonlinear models."""

import functools
import pickle

import numpy as np
import pytest
from scipy import stats

import lindiff as ld
from lindiff import statespace
from lindiff.statespace.problem import Problem

QUICK = {"progress": False, "restarts": False}
KINDS = ["extended", "unscented"]


def growth(x, rate):
    return x + rate * x * (1 - x)


def seen(x, rate):
    return x


def growing(rate, state_var, obs_var):
    return statespace.NonlinearModel(growth, seen, [[state_var]], [obs_var], [0.1], [[0.01]], (rate,))


def level(level_var, obs_var):
    """A local level with a known start, in functions."""
    one = np.eye(1)
    functions = lambda x: x, lambda x: 2.0 * x
    return statespace.NonlinearModel(*functions, level_var * one, obs_var * one[0], np.zeros(1), one)


def linear_level(level_var, obs_var):
    one = np.eye(1)
    return statespace.Model(one, 2 * one, level_var * one, obs_var * one[0], np.zeros(1), one)


@pytest.fixture(scope="module")
def population():
    rng = np.random.default_rng(0)
    x, y = 0.1, []
    for _ in range(60):
        y.append(x + 0.05 * rng.normal())
        x = growth(x, 0.3) + 0.02 * rng.normal()
    y[10] = np.nan
    return np.array(y)


@pytest.fixture(scope="module")
def walk():
    rng = np.random.default_rng(1)
    y = 2 * np.cumsum(rng.normal(size=24)) + rng.normal(size=24)
    y[12:15] = np.nan
    return y


@pytest.mark.parametrize(
    ("kind", "cov_type"), [("extended", "observed"), ("extended", "opg"), ("unscented", "robust")]
)
def test_linear_functions_give_the_fit_of_the_linear_model(walk, kind, cov_type):
    found = statespace.fit(level, walk, **QUICK, filter=kind, cov_type=cov_type)
    expected = statespace.fit(linear_level, walk, **QUICK, cov_type=cov_type)
    assert list(found.params) == ["level_var", "obs_var"]
    for name in found.params:
        assert found.params[name] == pytest.approx(expected.params[name], rel=1e-5)
        assert found.standard_errors[name] == pytest.approx(expected.standard_errors[name], rel=1e-4)
    assert found.aicc == pytest.approx(expected.aicc)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_of_linear_functions_are_those_of_the_linear_model(walk, kind):
    found = statespace.Analysis(level(1.0, 0.5), walk, filter=kind)
    expected = statespace.Analysis(linear_level(1.0, 0.5), walk)
    assert found.loglikelihood == pytest.approx(expected.loglikelihood)
    pairs = [
        (found.signal, expected.signal),
        (found.imputed, expected.imputed),
        (found.predictions, expected.predictions),
        (found.forecast(3), expected.forecast(3)),
        (found.forecast(3).components["state"], expected.forecast(3).components["state"]),
        (found.append([1.0, 2.0]).signal, expected.append([1.0, 2.0]).signal),
        (found.extend([1.0, 2.0]).signal, expected.extend([1.0, 2.0]).signal),
        (found.components["state"].states["state[0]"], expected.components["state"].states["state[0]"]),
        *zip(found.components["state"][:3], expected.components["state"][:3], strict=True),
    ]
    for band, other in pairs:
        np.testing.assert_allclose(band.mean, other.mean, rtol=1e-9)
        np.testing.assert_allclose(band.std_error, other.std_error, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.residuals, expected.residuals)
    np.testing.assert_allclose(found.disturbances.state, expected.disturbances.state, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_of_a_nonlinear_model(population, kind):
    start = {"rate": 0.2, "state_var": None, "obs_var": None}
    found = statespace.fit(growing, population, start, **QUICK, filter=kind)
    loglikelihood = getattr(statespace, f"{kind}_loglikelihood")

    def of_rate(x):
        return loglikelihood(population, *growing(x[0], x[1], x[2]))

    estimates = np.array(list(found.params.values()))
    assert found.loglikelihood == pytest.approx(of_rate(estimates))
    np.testing.assert_allclose(ld.grad(of_rate)(estimates) * estimates, 0, atol=1e-3)
    inside = estimates > 0
    information = -ld.hessian(of_rate)(estimates)[np.ix_(inside, inside)]
    np.testing.assert_allclose(found.cov[np.ix_(inside, inside)], np.linalg.inv(information), rtol=1e-5)
    assert abs(found.params["rate"] - 0.3) < 3 * found.standard_errors["rate"]
    smoother = getattr(statespace, f"{kind}_smoother")(population, *growing(**found.params))
    states = found.components["state"].states["state[0]"]
    np.testing.assert_allclose(states.mean, smoother.smoothed_state[:, 0], rtol=1e-8)
    filtered = getattr(statespace, f"{kind}_filter")(np.append(population, [np.nan] * 4), *found.model)
    np.testing.assert_allclose(found.forecast(4).mean, filtered.forecast[60:, 0], rtol=1e-8)
    assert "maximum likelihood" in str(found.summary())


def test_what_else_a_fit_has(population):
    given = {"fixed": {"state_var": 4e-4}, "tied": {}, "start": {"rate": 0.2, "obs_var": None}}
    priors = {"rate": stats.norm(0.3, 0.1)}
    found = statespace.fit(growing, population, **given, **QUICK, priors=priors)
    lower, upper = found.profile_interval("rate")
    assert lower < found.params["rate"] < upper
    posterior = found.posterior()
    logp, _ = posterior.logp_and_grad(posterior.x)
    assert np.isfinite(logp)
    draws = posterior.laplace().sample(0, 10)
    assert draws["rate"].shape == (10,)
    other = statespace.Posterior(growing, population, **given, priors=priors, filter="unscented")
    assert other.logp(posterior.x) != logp
    tied = statespace.fit(
        growing, population, {"rate": 0.2, "obs_var": None}, tied={"state_var": "obs_var"}, **QUICK
    )
    assert tied.model.state_cov[0][0] == tied.params["obs_var"]


def test_a_class_with_a_filter(population):
    class Growth(statespace.ParametricModel):
        filter = "unscented"
        fixed = {"state_var": 1e-3}  # noqa: RUF012

        def build(self, rate, state_var, obs_var):
            return growing(rate, state_var, obs_var)

    found = Growth().fit(
        population[:20], start={"rate": 0.2, "obs_var": None}, **QUICK, standard_errors=False
    )
    expected = statespace.unscented_loglikelihood(population[:20], *found.model)
    assert found.loglikelihood == pytest.approx(expected)


def test_other_sigma_points(population):
    model, options = growing(0.3, 1e-3, 1e-3), {"alpha": 1e-3, "kappa": 2.0}
    by = functools.partial(statespace.unscented_filter, **options)
    expected = statespace.unscented_loglikelihood(population, *model, **options)
    assert statespace.Analysis(model, population, filter=by).loglikelihood == pytest.approx(expected)
    assert statespace.Analysis(model, population, filter=statespace.extended_filter).loglikelihood != expected
    with pytest.raises(TypeError, match="filter with program: these are no numbers of sigma points"):
        statespace.Analysis(model, population, filter=functools.partial(by, program=False))
    with pytest.raises(ValueError, match="alpha and n \\+ kappa must be positive"):
        statespace.Analysis(model, population, filter=functools.partial(by, alpha=0.0))


def test_answers_go_through_pickle(population):
    answers = statespace.Analysis(growing(0.3, 1e-3, 1e-3), population[:20])
    again = pickle.loads(pickle.dumps(answers))
    np.testing.assert_array_equal(again.signal.mean, answers.signal.mean)


def test_a_panel(population):
    start = {"rate": 0.2, "obs_var": None}
    panel = np.stack([population[:30], population[30:]])[..., None]
    found = statespace.fit(growing, panel, start, fixed={"state_var": 1e-3}, **QUICK, cov_type="robust")
    each = [statespace.extended_loglikelihood(y, *found.model) for y in panel]
    assert found.loglikelihood == pytest.approx(sum(each))
    assert found.series(1).signal.mean.shape == (30, 1)
    assert found.standard_errors["rate"] > 0


def test_programs_of_builders(population):
    start = {"rate": 0.2, "obs_var": None}
    found = statespace.fit(growing, population, start, fixed={"state_var": 1e-3}, **QUICK)
    fast = statespace.fit(growing, population, start, fixed={"state_var": 1e-3}, **QUICK, program=True)
    assert fast.params["rate"] == pytest.approx(found.params["rate"], rel=1e-6)

    def closing(rate, obs_var):
        model = growing(0.0, 1e-3, obs_var)
        return model._replace(transition=lambda x, _: growth(x, rate))

    again = statespace.fit(growing, population[:20], start, fixed={"state_var": 1e-3}, **QUICK)
    other = statespace.fit(closing, population[:20], start, **QUICK, standard_errors=False, program=True)
    assert other.params["rate"] == pytest.approx(again.params["rate"], rel=1e-5)


def test_functions_that_a_builder_makes_anew_are_those_of_the_first_model(population):
    def build(rate, obs_var):
        times = np.arange(3.0)
        step = times[1] - times[0]

        def moving(x, rate):
            return x + step * rate * x * (1 - x)

        def closing(x, _):
            return x * rate

        return growing(rate, 1e-3, obs_var)._replace(transition=moving, observation=closing)

    problem = Problem(build, population, {"rate": 0.2, "obs_var": None})
    models = [problem.model({"rate": rate, "obs_var": 0.1}) for rate in (0.2, 0.3)]
    assert problem.start["obs_var"] > 0
    assert problem.transforms["obs_var"] is statespace.positive
    assert models[0].transition is models[1].transition
    assert models[0].observation is not models[1].observation


def test_names_dates_and_inputs(population):
    pandas = pytest.importorskip("pandas")
    months = pandas.period_range("2000-01", periods=60, freq="M")
    data = pandas.Series(population, months, name="size")
    push = np.where(np.arange(63) == 30, 1.0, 0.0)

    def pushed(x, u, rate):
        return growth(x, rate) - 0.1 * u

    def build(rate, obs_var, steps=60):
        one, inputs = np.eye(1), push[:steps]
        arrays = 1e-3 * one, obs_var * one[0], np.array([0.1]), 0.01 * one
        model = statespace.NonlinearModel(pushed, lambda x, u, rate: x, *arrays, (rate,), inputs)
        return model.named("herd", "share")

    found = statespace.fit(build, data, {"rate": 0.2, "obs_var": None}, **QUICK, standard_errors=False)
    assert list(found.components) == ["herd"]
    assert found.components["herd"].states["share"].mean.index.equals(months)
    with pytest.raises(ValueError, match=r"inputs of the model change.* 63 steps are needed"):
        found.forecast(3)
    ahead = found.forecast(3, model=build(**found.params, steps=63))
    assert str(ahead.mean.index[0]) == "2005-01"
    draws = found.simulate(3, 0, model=build(**found.params, steps=63), size=200)
    assert draws.shape == (200, 3, 1)
    np.testing.assert_allclose(draws[..., 0].mean(0), ahead.mean, atol=0.03)
    assert found.simulate(10, 0, anchor="start").shape == (10, 1)
    assert found.simulate(60, 0, anchor="smoothed").shape == (60, 1)
    assert found.plot_components() is not None
    assert "share" in [state for part in found.model.components for state in part.states]


def test_what_nonlinear_models_do_not_have(population):
    found = statespace.Analysis(growing(0.3, 1e-3, 1e-3), population)
    for ask in (
        lambda: found.news(population, 3),
        lambda: found.impulse_responses(3),
        lambda: found.em_step(),
    ):
        with pytest.raises(ValueError, match="is of linear models, and the model is nonlinear"):
            ask()
    with pytest.raises(ValueError, match="exog is of linear models"):
        found.forecast(3, exog=[1.0, 2.0, 3.0])


def test_a_start_that_cannot_be_computed_is_named(population):
    def dividing(rate, obs_var):
        return growing(rate, 1e-3, obs_var)._replace(transition=lambda x, rate: x / rate)

    with (
        np.errstate(all="ignore"),
        pytest.raises(OverflowError, match="fit: the state predicted for") as info,
    ):
        statespace.fit(dividing, population, **QUICK)
    if hasattr(info.value, "__notes__"):  # Python 3.11
        assert "at the start, {'rate': " in info.value.__notes__[0]


def test_bad_input(population):
    with pytest.raises(ValueError, match="filter must be one of extended, unscented"):
        statespace.fit(growing, population, filter="kalman")
    with pytest.raises(ValueError, match="filter='unscented' is for a NonlinearModel"):
        statespace.fit(statespace.local_level, population, filter="unscented")
    with pytest.raises(TypeError, match=r"build returns a lindiff.statespace.Model, or a NonlinearModel"):
        statespace.fit(lambda rate: rate, population)
    with pytest.raises(TypeError, match="model is a int; a Model or NonlinearModel is needed"):
        statespace.Analysis(3, population)
