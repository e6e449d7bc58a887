"""Parameters of fits: fixed, tied, bounded, with priors; how sure one is of them; densities for samplers."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
from scipy.integrate import dblquad
from scipy.optimize import minimize_scalar

import lindiff as ld
from lindiff import statespace
from lindiff.statespace import local_level, local_linear_trend

DATA = Path(__file__).parent.parent / "examples" / "data"
VARIANCES = {"level_var": scipy.stats.gamma(2.0), "obs_var": scipy.stats.gamma(3.0, scale=0.5)}


@pytest.fixture(scope="module")
def nile():
    return np.loadtxt(DATA / "nile.csv", delimiter=",", skiprows=1)[:, 1]


@pytest.fixture(scope="module")
def level():
    """A local level, variances 1 and 1."""
    rng = np.random.default_rng(3)
    return np.cumsum(rng.normal(size=60)) + rng.normal(size=60)


@pytest.fixture(scope="module")
def found(level):
    return statespace.fit(local_level, level, progress=False)


def fit(build, y, *args, **options):
    return statespace.fit(build, y, *args, progress=False, **options)


# -- what is fixed, tied and bounded -----------------------------------------------------------------------


def test_fixed(level):
    one = fit(local_linear_trend, level, fixed={"slope_var": 0.0})
    other = fit(lambda level_var, obs_var: local_linear_trend(level_var, 0.0, obs_var), level)
    assert list(one.params) == ["level_var", "obs_var"]
    assert one.loglikelihood == pytest.approx(other.loglikelihood, abs=1e-7)
    assert one.aic == pytest.approx(other.aic, abs=1e-6)
    assert one.fixed == {"slope_var": 0.0}
    assert "slope_var" in str(one.summary())


def test_fixed_arrays(level):
    exog = np.arange(60.0)[:, None]
    one = fit(
        lambda x, level_var, obs_var: local_level(level_var, obs_var) + statespace.regression(x),
        level,
        fixed={"x": exog},
    )
    other = fit(
        lambda level_var, obs_var: local_level(level_var, obs_var) + statespace.regression(exog), level
    )
    assert one.loglikelihood == pytest.approx(other.loglikelihood, abs=1e-8)


def test_tied(level):
    one = fit(local_level, level, tied={"level_var": "obs_var"})
    other = fit(lambda obs_var: local_level(obs_var, obs_var), level)
    assert list(one.params) == ["obs_var"]
    assert one.loglikelihood == pytest.approx(other.loglikelihood, abs=1e-8)
    np.testing.assert_allclose(one.cov, other.cov, rtol=1e-6)
    assert "= obs_var" in str(one.summary())


def test_tied_to_what_is_fixed(level):
    one = fit(local_linear_trend, level, tied={"slope_var": "level_var"}, fixed={"level_var": 0.25})
    other = fit(lambda obs_var: local_linear_trend(0.25, 0.25, obs_var), level)
    assert one.loglikelihood == pytest.approx(other.loglikelihood, abs=1e-8)


def test_transforms_by_name(level):
    start = {"ar": [0.3], "innovation_var": None}

    def build(ar, innovation_var):
        return statespace.arma(ar, (), innovation_var)

    by_name = fit(build, level, start, transforms={"ar": "stationary"})
    by_itself = fit(build, level, start, transforms={"ar": statespace.stationary})
    assert by_name.loglikelihood == by_itself.loglikelihood


@pytest.mark.parametrize(
    ("lower", "upper", "inside", "outside"),
    [
        (-1, 1, [-0.9, 0.5], 1.0),
        (2, None, [2.5, 90.0], 2.0),
        (None, 3, [-50.0, 2.9], 3.5),
        (None, None, [7.0], None),
    ],
)
def test_bounded(lower, upper, inside, outside):
    transform = statespace.bounded(lower, upper)
    x = transform.unconstrain(np.array(inside))
    np.testing.assert_allclose(transform.constrain(x), inside, rtol=1e-13)
    ld.testing.check_grads(transform.constrain, (x,), order=2)
    copy = pickle.loads(pickle.dumps(transform))
    np.testing.assert_array_equal(copy.constrain(x), transform.constrain(x))
    if outside is not None:
        with pytest.raises(ValueError, match="is not between"):
            transform.unconstrain(outside)


def test_named_transforms_stay_themselves():
    assert pickle.loads(pickle.dumps(statespace.positive)) is statespace.positive


def test_a_bound_of_an_estimate(level):
    """The likelihood rises beyond it."""
    found = fit(
        local_level,
        level,
        {"level_var": 0.1, "obs_var": None},
        transforms={"level_var": statespace.bounded(0.0, 0.2)},
    )
    assert found.params["level_var"] == pytest.approx(0.2, abs=1e-5)


# -- priors ------------------------------------------------------------------------------------------------


def test_the_maximum_a_posteriori(level):
    found = fit(local_level, level, priors=VARIANCES)

    def objective(v):
        prior = sum(d.logpdf(x) for d, x in zip(VARIANCES.values(), v, strict=True))
        return statespace.loglikelihood(level, *local_level(v[0], v[1])) + prior

    best = np.array(list(found.params.values()))
    steps = np.array([[0.01, 0], [-0.01, 0], [0, 0.01], [0, -0.01]])
    assert all(objective(best + step) < objective(best) for step in steps)
    h = 1e-4
    slopes = [(objective(best + h * e) - objective(best - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(slopes, 0, atol=1e-5)
    assert found.loglikelihood == pytest.approx(
        statespace.loglikelihood(level, *local_level(**found.params)), rel=1e-12
    )
    assert "maximum a posteriori" in str(found.summary())


def test_priors_as_functions_and_of_this_package(level):
    one = fit(local_level, level, priors={"level_var": scipy.stats.gamma(2.0)})
    other = fit(local_level, level, priors={"level_var": ld.scipy.stats.gamma(2.0)})
    third = fit(local_level, level, priors={"level_var": lambda v: np.log(v) - v})
    for name, estimate in one.params.items():
        assert other.params[name] == pytest.approx(estimate, rel=1e-6)
        assert third.params[name] == pytest.approx(estimate, rel=1e-5)


def test_priors_of_arrays(level):
    """Ridge regression: coefficients as parameters, with normal priors."""
    X = np.random.default_rng(1).normal(size=(60, 2))

    def build(coefficients, obs_var):
        model = local_level(0.0, obs_var)
        return model._replace(obs_intercept=(X @ coefficients)[:, None])

    found = fit(
        build,
        level,
        {"coefficients": np.zeros(2)},
        fixed={"obs_var": 1.0},
        priors={"coefficients": scipy.stats.norm(0.0, 0.1)},
    )
    centred, Z = level - level.mean(), X - X.mean(axis=0)
    expected = np.linalg.solve(Z.T @ Z + 100 * np.eye(2), Z.T @ centred)
    np.testing.assert_allclose(found.params["coefficients"], expected, rtol=1e-6)


# -- standard errors ---------------------------------------------------------------------------------------


def scores(found, level):
    """By differences."""

    def steps(v):
        return statespace.loglikelihood(level, *local_level(v[0], v[1]), per_step=True)

    v, h = np.array([found.params["level_var"], found.params["obs_var"]]), 1e-5
    return np.stack([(steps(v + h * e) - steps(v - h * e)) / (2 * h) for e in np.eye(2)], axis=1)


def test_outer_products_of_scores(level, found):
    by_scores = fit(local_level, level, cov_type="opg")
    s = scores(found, level)
    np.testing.assert_allclose(by_scores.cov, np.linalg.inv(s.T @ s), rtol=1e-5)
    assert by_scores.params == found.params


def test_robust_errors(level, found):
    robust = fit(local_level, level, cov_type="robust")
    s = scores(found, level)
    np.testing.assert_allclose(robust.cov, found.cov @ s.T @ s @ found.cov, rtol=1e-5)
    assert robust.cov_type == "robust"


@pytest.mark.parametrize("kind", ["opg", "robust"])
def test_errors_of_statsmodels(nile, kind):
    tsa = pytest.importorskip("statsmodels.tsa.api")
    found = fit(local_level, nile, cov_type=kind)
    model = tsa.UnobservedComponents(nile, "llevel", use_exact_diffuse=True)
    params = [found.params["obs_var"], found.params["level_var"]]
    theirs = model.smooth(params, transformed=True, cov_type="robust_approx" if kind == "robust" else kind)
    ours = [found.standard_errors["obs_var"], found.standard_errors["level_var"]]
    np.testing.assert_allclose(ours, theirs.bse, rtol=5e-3)


@pytest.mark.parametrize("kind", ["opg", "robust"])
def test_errors_beside_a_boundary(kind):
    y = np.tile([1.0, -1.0], 10) + 0.01 * np.arange(20)
    found = fit(local_level, y, cov_type=kind)
    assert found.params["level_var"] == 0
    assert np.isnan(found.standard_errors["level_var"])
    assert found.standard_errors["obs_var"] > 0


@pytest.mark.parametrize("kind", ["opg", "robust"])
@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_errors_in_any_unit(level, kind, unit):
    unit = np.exp2(np.round(np.log2(unit)))
    one, other = fit(local_level, level, cov_type=kind), fit(local_level, unit * level, cov_type=kind)
    for name, error in one.standard_errors.items():
        assert other.standard_errors[name] / unit**2 == pytest.approx(error, rel=1e-4)


def test_errors_of_a_matrix_and_of_panels():
    """Of independent normal rows, the three agree for many of them."""
    rng = np.random.default_rng(4)
    y = (rng.normal(size=(4000, 2)) @ [[1.0, 0.5], [0.0, 0.8]]).reshape(4, 1000, 2)
    found = [
        fit(
            lambda cov: statespace.var(np.zeros((2, 2)), cov),
            y,
            {"cov": np.eye(2)},
            transforms={"cov": "covariance"},
            cov_type=kind,
        )
        for kind in ("observed", "opg", "robust")
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other.standard_errors["cov"], found[0].standard_errors["cov"], rtol=0.1)


def test_delta_method(found):
    ratio = found.transformed(lambda level_var, obs_var: np.stack([level_var / obs_var, np.log(obs_var)]))
    a, b = found.params.values()
    J = np.array([[1 / b, -a / b**2], [0, 1 / b]])
    np.testing.assert_allclose(ratio.cov, J @ found.cov @ J.T, rtol=1e-10)
    np.testing.assert_allclose(ratio.standard_errors**2, np.diag(ratio.cov))


def test_intervals(found):
    lower, upper = found.interval(0.1)["level_var"]
    error = found.standard_errors["level_var"]
    assert upper - lower == pytest.approx(2 * 1.6448536 * error)


# -- intervals by the likelihood ---------------------------------------------------------------------------


def profile(level, level_var):
    """The likelihood with the best variance of the observations."""

    def negative(log_var):
        return -statespace.loglikelihood(level, *local_level(level_var, np.exp(log_var)))

    return -minimize_scalar(negative, bounds=(-8, 4), method="bounded", options={"xatol": 1e-9}).fun


def test_profile_interval(level, found):
    bounds = found.profile_interval("level_var", 0.1)
    drop = 0.5 * scipy.stats.chi2.isf(0.1, 1)
    assert bounds[0] < found.params["level_var"] < bounds[1]
    for bound in bounds:
        assert profile(level, bound) == pytest.approx(found.loglikelihood - drop, abs=1e-4)


def test_profile_interval_that_ends_at_zero():
    rng = np.random.default_rng(8)
    y = 0.02 * np.cumsum(rng.normal(size=40)) + rng.normal(size=40)
    found = fit(local_level, y)
    lower, upper = found.profile_interval("level_var")
    assert lower == 0
    drop = 0.5 * scipy.stats.chi2.isf(0.05, 1)
    assert profile(y, upper) == pytest.approx(found.loglikelihood - drop, abs=1e-4)


def test_profile_interval_of_a_mean():
    """Of one normal mean with known variance it is the textbook's."""
    y = np.random.default_rng(2).normal(3.0, 2.0, size=50)

    def build(mean):
        model = local_level(0.0, 4.0)
        return model._replace(
            obs_intercept=mean[None],
            diffuse=None,
            initial_state=np.zeros(1),
            initial_state_cov=np.zeros((1, 1)),
        )

    found = fit(build, y, {"mean": 0.0})
    expected = y.mean() + np.array([-1, 1]) * scipy.stats.norm.isf(0.025) * 2 / np.sqrt(50)
    np.testing.assert_allclose(found.profile_interval("mean"), expected, rtol=1e-5)


def test_profile_intervals_with_priors(level):
    """Priors as sharp as these give narrower ones."""
    wide = fit(local_level, level).profile_interval("level_var")
    prior = {"level_var": scipy.stats.gamma(100.0, scale=0.01)}
    narrow = fit(local_level, level, priors=prior).profile_interval("level_var")
    assert narrow[1] - narrow[0] < 0.6 * (wide[1] - wide[0])
    assert narrow[0] < 1 < narrow[1]


# -- densities for samplers --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def posterior(level):
    return statespace.Posterior(local_level, level, priors=VARIANCES)


def test_the_density(level, posterior):
    x = np.array([0.3, -0.2])
    v = np.exp(x)
    expected = statespace.loglikelihood(level, *local_level(v[0], v[1]))
    expected += sum(d.logpdf(each) for d, each in zip(VARIANCES.values(), v, strict=True)) + np.sum(x)
    logp, slope = posterior.logp_and_grad(x)
    assert logp == pytest.approx(expected, rel=1e-12)
    assert posterior.names == ["level_var", "obs_var"]
    assert posterior.params(x) == pytest.approx({"level_var": v[0], "obs_var": v[1]})
    ld.testing.check_grads(posterior.logp, (x,), order=2)
    np.testing.assert_allclose(slope, ld.grad(posterior.logp)(x))


def test_volumes_of_transforms():
    """Densities of unconstrained numbers are those of the parameters times the Jacobian."""
    y = np.zeros((1, 2))

    def build(coefficients, correlation):
        model = statespace.var(np.zeros((2, 2)), correlation)
        return model._replace(obs_intercept=0 * coefficients)

    posterior = statespace.Posterior(
        build,
        y,
        {"coefficients": np.array([0.1, 0.2]), "correlation": np.eye(2)},
        transforms={"coefficients": "stationary", "correlation": "correlation"},
    )
    h = 1e-4

    def params(x):
        found = posterior.params(x)
        return np.array([*found["coefficients"], found["correlation"][0, 1]])

    for x in np.random.default_rng(0).normal(size=(3, 3)):
        J = np.stack([(params(x + h * e) - params(x - h * e)) / (2 * h) for e in np.eye(3)], axis=1)
        likelihood = statespace.loglikelihood(y, *build(**posterior.params(x)))
        volume = np.linalg.slogdet(J)[1]
        assert float(posterior.logp(x)) - likelihood == pytest.approx(volume, abs=1e-6)


def test_laplace(posterior):
    approximation = posterior.laplace()
    _, slope = posterior.logp_and_grad(approximation.mean)
    np.testing.assert_allclose(slope, 0, atol=1e-4)
    H = ld.hessian(posterior.logp)(approximation.mean)
    np.testing.assert_allclose(approximation.cov @ H, -np.eye(2), atol=1e-8)
    (a, b), (s, t) = approximation.mean, 6 * np.sqrt(np.diag(approximation.cov))
    top = float(posterior.logp(approximation.mean))

    def density(y, x):
        return np.exp(float(posterior.logp(np.array([x, y]))) - top)

    evidence = np.log(dblquad(density, a - s, a + s, b - t, b + t, epsabs=1e-3, epsrel=1e-3)[0]) + top
    assert approximation.log_evidence == pytest.approx(evidence, abs=0.1)
    draws = approximation.sample(0, 4000)
    assert np.log(draws["obs_var"]).mean() == pytest.approx(b, abs=0.02)
    assert draws["level_var"].shape == (4000,)


def test_density_of_a_fit(level, found):
    posterior = found.posterior()
    np.testing.assert_allclose(np.exp(posterior.x), list(found.params.values()), rtol=1e-12)
    assert posterior.logp_and_grad(posterior.x)[0] == pytest.approx(found.loglikelihood + np.sum(posterior.x))


def test_density_that_has_no_top():
    """Without a prior a variance may be zero."""
    y = np.tile([1.0, -1.0], 10) + 0.01 * np.arange(20)
    with pytest.raises(ValueError, match="give priors that keep them away"):
        statespace.Posterior(
            lambda level_var, obs_var, both: local_level(level_var, obs_var * both),
            y,
            {"level_var": 1.0, "obs_var": 1.0, "both": 1.0},
        ).laplace()


# -- results -----------------------------------------------------------------------------------------------


def test_criteria(found):
    k, n, top = 3, 60, -2 * found.loglikelihood
    assert found.aic == pytest.approx(top + 2 * k)
    assert found.aicc == pytest.approx(top + 2 * k * n / (n - k - 1))
    assert found.bic == pytest.approx(top + k * np.log(n))
    assert found.hqic == pytest.approx(top + 2 * k * np.log(np.log(n)))


def test_answers_of_a_fit(level, found):
    answers = statespace.Analysis(found.model, level)
    np.testing.assert_array_equal(found.forecast(3).mean, answers.forecast(3).mean)
    assert list(found.components) == ["level"]
    assert found.append([1.0, 2.0]).loglikelihood != found.loglikelihood
    assert "Ljung-Box" in str(found.summary())
    assert "<table>" in found._repr_html_()
    assert "level_var" in found._repr_html_()


def test_frame_of_parameters(found):
    pytest.importorskip("pandas")
    frame = found.to_frame()
    assert list(frame.columns) == ["estimate", "std_error", "z", "p_value", "lower", "upper"]
    assert frame.loc["obs_var", "estimate"] == found.params["obs_var"]


def test_dates_come_back(level):
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(level, index=pandas.date_range("2001-01-01", periods=60, freq="MS"), name="sales")
    found = fit(local_level, y)
    assert found.forecast(2).to_frame().index[0] == pandas.Timestamp("2006-01-01")
    assert found.residuals.index.equals(y.index)


def test_panels_have_no_answers_of_one_series(level):
    found = fit(local_level, np.stack([level, -level])[:, :, None])
    assert "level_var" in str(found.summary())
    with pytest.raises(ValueError, match="answers are of one series"):
        found.components  # noqa: B018


def test_results_are_pickled(found):
    copy = pickle.loads(pickle.dumps(found))
    assert copy.params == found.params
    assert copy.profile_interval("obs_var") == pytest.approx(found.profile_interval("obs_var"))
    np.testing.assert_array_equal(copy.forecast(2).mean, found.forecast(2).mean)


def test_results_of_functions_that_cannot_be_pickled(level):
    found = fit(lambda level_var: local_level(level_var, 1.0), level)
    copy = pickle.loads(pickle.dumps(found))
    assert copy.params == found.params
    with pytest.raises(ValueError, match="pickled with a builder that cannot be"):
        copy.posterior()


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"start": {"level_var": 1.0, "sigma": 1.0}}, TypeError, "does not take what is in start: .*sigma"),
        ({"fixed": {"sigma": 1.0}}, TypeError, "does not take what is fixed or tied"),
        ({"tied": {"level_var": "sigma"}}, ValueError, "tied to 'sigma', which is none of"),
        (
            {"fixed": {"level_var": 1.0}, "tied": {"level_var": "obs_var"}},
            ValueError,
            "is in fixed and in tied",
        ),
        (
            {"fixed": {"level_var": 1.0}, "transforms": {"level_var": "positive"}},
            ValueError,
            "and in transforms",
        ),
        (
            {"transforms": {"level_var": "posit"}},
            ValueError,
            "no transform is called 'posit'; there are positive",
        ),
        ({"priors": {"sigma": scipy.stats.norm()}}, ValueError, r"priors has \['sigma'\], which are no"),
        (
            {"priors": {"level_var": 2.0}},
            TypeError,
            "the prior of 'level_var' is a float: give a distribution",
        ),
        ({"priors": {"level_var": scipy.stats.gamma}}, TypeError, "give a distribution with its parameters"),
        (
            {"priors": {"level_var": scipy.stats.levy_stable(1.5, 0)}},
            TypeError,
            "which has no derivatives here",
        ),
        ({"cov_type": "hac"}, ValueError, "cov_type must be one of observed, opg, robust"),
        ({"cov_type": "opg", "priors": VARIANCES}, ValueError, "there are priors: leave out one"),
    ],
)
def test_bad_input(level, options, error, says):
    with pytest.raises(error, match=says):
        fit(local_level, level, **options)


def test_bad_names_of_intervals(found, level):
    with pytest.raises(ValueError, match=r"'sigma' is none of \['level_var', 'obs_var'\]"):
        found.profile_interval("sigma")
    of_array = fit(lambda v: local_level(v[0], v[1]), level, {"v": [1.0, 1.0]}, transforms={"v": "positive"})
    with pytest.raises(ValueError, match="v is an array; let build take"):
        of_array.profile_interval("v")
    with pytest.raises(ValueError, match="lower must be below upper"):
        statespace.bounded(1, 1)


def test_a_start_outside_of_its_prior(level):
    with pytest.raises(
        ValueError, match=r"start of 'level_var': its prior has no density at [\d.]+; give another"
    ):
        fit(local_level, level, priors={"level_var": scipy.stats.uniform(0.0, 0.1)})


def test_the_evidence_of_a_covariance():
    """Of normal data with an inverse Wishart prior, in closed form."""
    n, p, nu, Psi = 400, 2, 6.0, 3 * np.eye(2)
    y = np.random.default_rng(0).multivariate_normal([0, 0], [[1, 0.4], [0.4, 2]], size=n)
    logdet = lambda M: np.linalg.slogdet(M)[1]
    exact = -n * p / 2 * np.log(np.pi) + nu / 2 * logdet(Psi) - (nu + n) / 2 * logdet(Psi + y.T @ y)
    exact += scipy.special.multigammaln((nu + n) / 2, p) - scipy.special.multigammaln(nu / 2, p)
    constant = nu / 2 * logdet(Psi) - nu * p / 2 * np.log(2) - scipy.special.multigammaln(nu / 2, p)

    def prior(S):
        return constant - (nu + p + 1) / 2 * logdet(S) - 0.5 * np.trace(np.linalg.solve(S, Psi))

    def build(S):
        return statespace.Model(np.zeros((2, 2)), np.eye(2), S, np.zeros(2), np.zeros(2), S)

    transforms, priors = {"S": "covariance"}, {"S": prior}
    posterior = statespace.Posterior(build, y, {"S": np.eye(2)}, transforms=transforms, priors=priors)
    assert posterior.laplace().log_evidence == pytest.approx(exact, abs=0.02)


def test_densities_travel_to_other_processes():
    y = np.random.default_rng(0).normal(size=30).cumsum()
    posterior = statespace.Posterior(statespace.local_level, y)
    again = pickle.loads(pickle.dumps(posterior))
    assert again.logp(posterior.x + 0.1) == posterior.logp(posterior.x + 0.1)
    laplace = pickle.loads(pickle.dumps(posterior.laplace()))
    np.testing.assert_array_equal(
        laplace.sample(0, 3)["obs_var"], posterior.laplace().sample(0, 3)["obs_var"]
    )


def test_what_is_written_to_the_data_later_does_not_count():
    y = np.random.default_rng(0).normal(size=60).cumsum()
    for data in (y, pd.Series(y)):
        found = statespace.fit(statespace.local_level, data, progress=False)
        analysis = statespace.Analysis(found.model, data)
        expected = [float(np.ravel(x.forecast(1).mean)[0]) for x in (found, analysis)]
        data[:] = 0.0
        assert [float(np.ravel(x.forecast(1).mean)[0]) for x in (found, analysis)] == expected
        assert found.profile_interval("obs_var")[0] > 0 or found.params["obs_var"] < 1e-3


def test_columns_of_one_name():
    y = pd.DataFrame(np.ones((5, 2)), columns=["a", "a"])
    model = statespace.Model(np.eye(2), np.eye(2), np.eye(2), np.eye(2), diffuse=True)
    with pytest.raises(ValueError, match="several columns of one name"):
        statespace.Analysis(model, y)


@pytest.mark.parametrize("unit", [1e-8, 1e7, 1e12])
def test_robust_standard_errors_in_other_units(unit):
    walk = np.cumsum(np.random.default_rng(0).normal(size=60))

    def build(mean, ar, innovation_var):
        return statespace.arma(ar, (), innovation_var)._replace(obs_intercept=mean * np.ones(1))

    options = {
        "start": {"mean": 0.0, "ar": [0.5], "innovation_var": None},
        "transforms": {"ar": "stationary"},
        "cov_type": "robust",
        "progress": False,
    }
    expected = statespace.fit(build, walk, **options).standard_errors
    found = statespace.fit(build, walk * unit, **options).standard_errors
    for name, of_name in {"mean": unit, "ar": 1.0, "innovation_var": unit**2}.items():
        np.testing.assert_allclose(found[name] / of_name, expected[name], rtol=1e-4)


def test_searches_begin_within_bounds():
    walk = np.cumsum(np.random.default_rng(0).normal(size=60))
    found = statespace.fit(
        local_level, walk, transforms={"level_var": statespace.bounded(1.5, 2)}, progress=False
    )
    assert 1.5 <= found.params["level_var"] < 2
    free = statespace.fit(
        lambda mean: local_level(1.0, 1.0)._replace(obs_intercept=mean * np.ones(1)),
        walk - 30,
        transforms={"mean": statespace.bounded(None, -0.5)},
        progress=False,
    )
    assert free.params["mean"] < -0.5


@pytest.mark.parametrize("unit", [1e-9, 1e5, 1e8, np.array([1e-6, 1.0, 1e7])], ids=str)
def test_covariances_in_any_units(unit):
    cov = [[1, 0.8, 0.5], [0.8, 1, 0.6], [0.5, 0.6, 1]]
    y = np.random.default_rng(1).multivariate_normal(np.zeros(3), cov, 120) * unit
    found = statespace.fit(
        lambda cov: statespace.var(np.zeros((3, 3)), cov),
        y,
        {"cov": np.diag(np.var(y, axis=0))},
        transforms={"cov": "covariance"},
        progress=False,
    )
    expected = y.T @ y / 120  # of white noise
    np.testing.assert_allclose(found.params["cov"], expected, rtol=1e-5)
    variances = np.diag(expected)
    errors = np.sqrt((np.outer(variances, variances) + expected**2) / 120)
    np.testing.assert_allclose(found.standard_errors["cov"], errors, rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("units", [[1000.0, 1.0], [100.0, 0.01]], ids=str)
def test_covariances_begin_in_any_units(seed, units):
    rng = np.random.default_rng(seed)
    walks = np.cumsum(rng.multivariate_normal([0, 0], [[1.0, 0.6], [0.6, 1.5]], size=120), axis=0)
    y = walks + rng.normal(size=(120, 2)) * [0.7, 0.5]

    def fitted(y):
        return statespace.fit(
            lambda cov, noise: statespace.Model(np.eye(2), np.eye(2), cov, noise, diffuse=True),
            y,
            {"cov": np.eye(2), "noise": np.ones(2)},
            transforms={"cov": "covariance", "noise": "positive"},
            progress=False,
            standard_errors=False,
        )

    found, expected = fitted(y * units), fitted(y)
    assert found.loglikelihood + 119 * np.sum(np.log(units)) == pytest.approx(
        expected.loglikelihood, abs=1e-5
    )


@pytest.mark.parametrize("unit", [1e6, 1e-5, 1e-8])
def test_bounded_parameters_do_not_depend_on_units(unit):
    y = 4 * np.random.default_rng(0).normal(size=150)

    def fitted(y):
        return statespace.fit(
            lambda a, b, v: statespace.exponential_smoothing(a, v, b),
            y,
            {"a": 0.5, "b": 0.1, "v": None},
            transforms={"a": statespace.bounded(0, 1), "b": statespace.bounded(0, 1)},
            progress=False,
        )

    found, expected = fitted(unit * y), fitted(y)
    assert found.params["a"] == pytest.approx(expected.params["a"], rel=1e-4)
    assert found.standard_errors["a"] == pytest.approx(expected.standard_errors["a"], rel=1e-3)


def test_roots_near_the_unit_circle_are_looked_for():
    rng = np.random.default_rng(5)
    y = np.tile([1.0, -2.0, -1.0, 2.0], 20) + rng.normal(size=80)
    build = {"start": {"ar": [0.1, 0.1], "innovation_var": None, "obs_var": None}}
    found = statespace.fit(
        lambda ar, innovation_var, obs_var: statespace.arma(ar, (), innovation_var, obs_var),
        y,
        transforms={"ar": "stationary"},
        progress=False,
        **build,
    )
    np.testing.assert_allclose(found.params["ar"], [0, -1], atol=0.02)


@pytest.mark.parametrize("alpha", [95, 2, 0.0, 1.0, -0.05])
def test_levels_that_are_no_probabilities(alpha):
    found = statespace.fit(local_level, np.cumsum(np.random.default_rng(0).normal(size=50)), progress=False)
    for call in (
        found.interval,
        found.to_frame,
        found.summary,
        lambda alpha: found.profile_interval("level_var", alpha),
    ):
        with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
            call(alpha)
