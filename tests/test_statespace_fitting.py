"""Maximum likelihood: known estimates, standard errors, searches that meet what cannot be computed."""

from __future__ import annotations

import functools
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from test_recorded_programs import calls, count

import lindiff as ld
from lindiff import statespace
from lindiff.statespace import positive
from lindiff.statespace.transforms import unconstrained

DATA = Path(__file__).parent.parent / "examples" / "data"
LEVEL = {"level_var": positive, "obs_var": positive}


@pytest.fixture(scope="module")
def nile():
    return np.loadtxt(DATA / "nile.csv", delimiter=",", skiprows=1)[:, 1]


@pytest.fixture(scope="module")
def level():
    """A short local level, variances 1 and 1."""
    rng = np.random.default_rng(3)
    return np.cumsum(rng.normal(size=20)) + rng.normal(size=20)


@pytest.fixture(scope="module")
def likeliest(level):
    """The maximum of its log-likelihood."""
    return fit_level(level, options={"gtol": 1e-9}).loglikelihood


@pytest.fixture(scope="module")
def fitted(nile):
    start = {"level_var": 10000.0, "obs_var": 10000.0}
    return statespace.fit(
        statespace.local_level, nile, start, transforms=LEVEL, options={"gtol": 1e-9}, progress=False
    )


def fit_level(y, build=statespace.local_level, *, start=None, transforms=LEVEL, progress=False, **options):
    start = {"level_var": 0.5, "obs_var": 0.5} if start is None else start
    return statespace.fit(build, y, start, transforms=transforms, progress=progress, **options)


# -- estimates ---------------------------------------------------------------------------------------------


def test_estimates_of_durbin_and_koopman(fitted):
    """Section 2.10."""
    assert fitted.params["obs_var"] == pytest.approx(15099, rel=1e-4)
    assert fitted.params["level_var"] == pytest.approx(1469.1, rel=1e-4)
    assert fitted.notes == ()
    assert fitted.search.success


def test_result_is_statsmodels(fitted, nile):
    tsa = pytest.importorskip("statsmodels.tsa.api")
    model = tsa.UnobservedComponents(nile, "llevel", use_exact_diffuse=True)
    params = [fitted.params["obs_var"], fitted.params["level_var"]]
    theirs = model.smooth(params, transformed=True, cov_type="approx")
    assert fitted.loglikelihood == pytest.approx(theirs.llf, rel=1e-12)
    assert fitted.aic == pytest.approx(theirs.aic, rel=1e-12)
    assert fitted.bic == pytest.approx(theirs.bic, rel=1e-12)
    errors = [fitted.standard_errors["obs_var"], fitted.standard_errors["level_var"]]
    np.testing.assert_allclose(errors, theirs.bse, rtol=1e-3)


def test_fit_of_the_airline_model():
    """Box & Jenkins (1976), section 9.2: moving averages of 0.4 and 0.6, variance 1.34e-3."""
    y = np.log(np.loadtxt(DATA / "airline.csv", delimiter=",", skiprows=1, usecols=1))

    def build(ma, seasonal_ma, innovation_var):
        return statespace.sarima(
            (),
            ma,
            innovation_var,
            difference=1,
            period=12,
            seasonal_ma=seasonal_ma,
            seasonal_difference=1,
        )

    found = statespace.fit(
        build,
        y,
        {"ma": [0.0], "seasonal_ma": [0.0], "innovation_var": 1e-2},
        transforms={
            "ma": statespace.invertible,
            "seasonal_ma": statespace.invertible,
            "innovation_var": positive,
        },
        progress=False,
    )
    assert found.params["ma"] == pytest.approx([-0.4018], abs=2e-4)
    assert found.params["seasonal_ma"] == pytest.approx([-0.5569], abs=2e-4)
    assert found.params["innovation_var"] == pytest.approx(1.348e-3, rel=1e-3)
    assert found.model.transition.shape == (14, 14)


def test_fit_of_a_vector_autoregression():
    """The exact likelihood, over stationary coefficients, is at least that of least squares."""
    rng = np.random.default_rng(7)
    y = np.zeros((60, 2))
    for t in range(1, 60):
        y[t] = np.array([[0.6, 0.3], [-0.2, 0.8]]) @ y[t - 1] + rng.normal(size=2)
    A = np.linalg.lstsq(y[:-1], y[1:])[0].T
    errors = y[1:] - y[:-1] @ A.T
    start = {"coefficients": A, "innovation_cov": errors.T @ errors / 59}
    transforms = {"coefficients": statespace.stationary_var, "innovation_cov": statespace.covariance}
    found = statespace.fit(statespace.var, y, start, transforms=transforms, progress=False)
    assert found.loglikelihood > statespace.loglikelihood(y, *statespace.var(**start))
    np.testing.assert_allclose(found.params["coefficients"], A, atol=0.05)
    # Asymptotically the covariance of vec(A) is kron(Cov(y)⁻¹, Cov(e)) / T; Lütkepohl (2005), section 3.2.
    expected = np.kron(np.linalg.inv(found.model.initial_state_cov), found.params["innovation_cov"]) / 60
    errors = np.sqrt(np.diag(expected)).reshape(2, 2).T
    np.testing.assert_allclose(found.standard_errors["coefficients"], errors, rtol=0.25)


def test_missing_and_many_series(level):
    y = np.stack([level, -level])[:, :, None]
    y[:, 4:7] = np.nan
    options = {"gtol": 1e-9}
    many, one = fit_level(y, options=options), fit_level(y[0], options=options)
    assert many.loglikelihood == pytest.approx(2 * one.loglikelihood, rel=1e-10)
    assert many.params["obs_var"] == pytest.approx(one.params["obs_var"], rel=1e-5)
    np.testing.assert_allclose(many.cov, one.cov / 2, rtol=1e-4)
    assert many.aic - 2 * one.aic == pytest.approx(-4)  # two parameters once, two diffuse states


# -- standard errors ---------------------------------------------------------------------------------------


def test_information_is_that_of_the_parameters_themselves(level):
    """Also where the search ended early, and the gradient is not zero."""
    found = fit_level(level, options={"maxiter": 2})

    def loglikelihood(v):
        return statespace.loglikelihood(level, *statespace.local_level(v[0], v[1]))

    v = np.array([found.params["level_var"], found.params["obs_var"]])
    assert np.max(np.abs(ld.grad(loglikelihood)(v))) > 1e-2
    np.testing.assert_allclose(found.cov, np.linalg.inv(-ld.hessian(loglikelihood)(v)), rtol=1e-9)
    errors = [found.standard_errors["level_var"], found.standard_errors["obs_var"]]
    np.testing.assert_allclose(errors, np.sqrt(np.diag(found.cov)), rtol=1e-12)
    assert "did not converge" in found.notes[0]
    assert found.notes[0] in str(found)


def test_covariances_of_a_matrix():
    """Its entries are the parameters; equal ones have equal errors."""
    rng = np.random.default_rng(4)
    y = rng.normal(size=(40, 2)) @ [[1.0, 0.5], [0.0, 0.8]]
    found = statespace.fit(
        lambda cov: statespace.var(np.zeros((2, 2)), cov),
        y,
        {"cov": np.eye(2)},
        transforms={"cov": statespace.covariance},
        progress=False,
    )
    cov = y.T @ y / 40
    np.testing.assert_allclose(found.params["cov"], cov, rtol=1e-4)
    # Of independent normal rows: Cov(c_ij, c_kl) = (c_ik c_jl + c_il c_jk) / T.
    expected = (np.einsum("ik,jl->ijkl", cov, cov) + np.einsum("il,jk->ijkl", cov, cov)) / 40
    np.testing.assert_allclose(found.cov.reshape(2, 2, 2, 2), expected, rtol=1e-3)
    assert found.standard_errors["cov"].shape == (2, 2)


def test_standard_errors_with_a_parameter_at_a_boundary():
    """Of white noise the level does not move; the variance is then that of a sample about its mean."""
    y = np.tile([1.0, -1.0], 10) + 0.01 * np.arange(20)
    found = fit_level(y)
    assert found.params["level_var"] == 0
    assert found.params["obs_var"] == pytest.approx(np.var(y, ddof=1), rel=1e-5)
    assert found.standard_errors["obs_var"] == pytest.approx(
        found.params["obs_var"] * np.sqrt(2 / 19), rel=1e-5
    )
    assert np.isnan(found.standard_errors["level_var"])
    assert np.isnan(found.cov[0]).all()
    assert "At the boundary of what is allowed: level_var = 0." in found.notes[0]
    assert found.notes[0] in str(found)

    def loglikelihood(level_var):
        return statespace.loglikelihood(y, *statespace.local_level(level_var, found.params["obs_var"]))

    assert ld.grad(loglikelihood)(0.0) < 0


@pytest.mark.parametrize("both", [lambda a, b: a + b, lambda a, b: a * b])
def test_parameters_determined_only_together(level, both):
    def build(one, other, obs_var):
        return statespace.local_level(both(one, other), obs_var)

    start = {"one": 0.5, "other": 0.7, "obs_var": 0.5}
    found = fit_level(level, build, start=start, transforms=dict.fromkeys(start, positive))
    single = fit_level(level)
    assert found.loglikelihood == pytest.approx(single.loglikelihood, abs=1e-6)
    assert np.isnan([found.standard_errors["one"], found.standard_errors["other"]]).all()
    assert found.standard_errors["obs_var"] == pytest.approx(single.standard_errors["obs_var"], rel=1e-3)
    assert "determine one, other only together" in found.notes[0]


def test_standard_errors_on_request(level):
    found = fit_level(level, standard_errors=False)
    assert np.isnan(found.cov).all()
    assert found.notes == ()


# -- searches ----------------------------------------------------------------------------------------------


METHODS = ["BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP", "Newton-CG", "trust-krylov", "trust-exact"]


@pytest.mark.parametrize("method", METHODS)
def test_methods(level, likeliest, method):
    found = fit_level(level, method=method, standard_errors=False)
    assert found.search.success
    assert found.loglikelihood == pytest.approx(likeliest, abs=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_steps_into_what_cannot_be_computed(level, likeliest, method):
    """The filter refuses negative variances; each search steps back, and goes on to the maximum."""
    refused = []

    def build(level_var, obs_var):
        refused.append(ld.value(level_var) < 0 or ld.value(obs_var) < 0)
        return statespace.local_level(level_var, obs_var)

    start = {"level_var": 12.0, "obs_var": 12.0}
    of_any_sign = dict.fromkeys(start, unconstrained)
    found = fit_level(level, build, start=start, transforms=of_any_sign, method=method, standard_errors=False)
    assert any(refused)
    assert found.search.success
    assert found.loglikelihood == pytest.approx(likeliest, abs=1e-4)


@pytest.mark.parametrize("start", [1e-6, 1e3])
def test_variances_with_a_number_to_start_from_are_positive(level, likeliest, start):
    """Searched as numbers of any sign, they end where they began without a note."""
    found = fit_level(level, start={"level_var": start, "obs_var": 1.0}, transforms=None)
    assert found.loglikelihood == pytest.approx(likeliest, abs=1e-6)
    assert found.params["level_var"] > 0
    assert found.notes == ()


def test_builders_are_tried_with_other_numbers_at_no_risk(level, likeliest):
    """The one that is given is all that this builder takes."""

    def build(level_var, obs_var, kind):
        return (
            [None, statespace.local_level][int(ld.value(kind))](level_var, obs_var) if kind < 2 else {}[kind]
        )

    start = {"level_var": 1.0, "obs_var": 1.0, "kind": 1.0}
    found = fit_level(level, build, start=start, transforms=None, standard_errors=False, restarts=False)
    assert found.loglikelihood == pytest.approx(likeliest, abs=1e-4)


def test_a_gradient_that_is_not_finite(level):
    """Derivatives of √x at zero."""

    def build(level_std, obs_var):
        return statespace.local_level(np.sqrt(level_std), obs_var)

    with pytest.raises(ValueError, match=r"minus the mean log-likelihood is [\d.]+, its gradient \[.*inf"):
        fit_level(level, build, start={"level_std": 0.0, "obs_var": 1.0}, transforms=None)


def test_an_interrupt_comes_through(level):
    start, calls = {"level_var": 0.5, "obs_var": 0.5}, []

    def build(level_var, obs_var):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return statespace.local_level(level_var, obs_var)

    seen = []
    with pytest.raises(KeyboardInterrupt) as interrupt:
        fit_level(level, build, start=start, progress=lambda *state: seen.append(state))
    assert start == {"level_var": 0.5, "obs_var": 0.5}
    assert seen[-1][2].keys() == start.keys()
    assert interrupt.value.best_params == seen[-1][2]
    if sys.version_info >= (3, 11):
        assert "the best so far" in interrupt.value.__notes__[-1]
    assert ld.grad(lambda x: x * x)(3.0) == 6.0
    assert fit_level(level, build).search.success


def test_progress(level, capsys):
    seen = []
    found = fit_level(level, progress=lambda *state: seen.append(state))
    assert capsys.readouterr().out == ""
    assert [number for number, _, _ in seen] == list(range(1, found.search.nit + 1))
    likelihoods = [likelihood for _, likelihood, _ in seen]
    assert likelihoods == sorted(likelihoods)
    assert likelihoods[-1] == pytest.approx(found.loglikelihood, rel=1e-12)
    assert seen[-1][2] == found.params
    fit_level(level, progress=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["iteration", "log-likelihood"]
    assert float(lines[-1].split()[1]) == pytest.approx(found.loglikelihood, abs=1e-6)


def test_integers_and_lists_start(level):
    found = fit_level(level, start={"level_var": 1, "obs_var": 1})
    assert found.params["level_var"].dtype == np.float64


def test_data_frames(level):
    pandas = pytest.importorskip("pandas")
    expected = fit_level(level).loglikelihood
    assert fit_level(pandas.Series(level)).loglikelihood == expected
    assert fit_level(pandas.DataFrame({"y": level})).loglikelihood == expected


def test_table(fitted):
    lines = str(fitted).splitlines()
    assert lines[1].split() == ["level_var", "1469.2", "1.28e+03"]
    assert lines[2].split() == ["obs_var", "15099", "3.15e+03"]
    assert lines[3] == "log-likelihood -633.4646, AIC 1272.93, BIC 1280.74"


# -- the maximum, from anywhere ----------------------------------------------------------------------------


POOR = [(1e-6, 1e3), (1e-4, 1e-4), (1.0, 1.0), (1e3, 1e-6)]


@pytest.mark.parametrize("method", ["L-BFGS-B", "BFGS"])
@pytest.mark.parametrize("start", POOR)
def test_poor_starts(nile, start, method):
    start = dict(zip(LEVEL, start, strict=True))
    found = fit_level(nile, start=start, method=method)
    assert found.loglikelihood == pytest.approx(-633.464564, abs=1e-6)
    assert found.notes == ()
    np.testing.assert_allclose(list(found.params.values()), [1469.163, 15098.565], rtol=1e-4)


@pytest.mark.parametrize("restarts", [True, False])
def test_a_variance_so_small_that_its_logarithm_has_no_slope(nile, restarts):
    found = fit_level(nile, start={"level_var": 1e-9, "obs_var": 28000.0}, restarts=restarts)
    assert found.loglikelihood == pytest.approx(-633.464564, abs=1e-6)


def waves(size):
    """A local linear trend of them has two maxima: a trend that turns, or noise about a level."""
    return size * np.sin(np.arange(60) / 12 * 2 * np.pi) + 0.3 * np.random.default_rng(3).normal(size=60)


TREND = {"level_var": positive, "slope_var": positive, "obs_var": positive}


@pytest.mark.parametrize(("size", "maximum"), [(3, -83.279), (1, -55.4028)])
@pytest.mark.parametrize("start", [(1.0, 1.0, 1.0), (1e2, 1e-6, 1.0)])
def test_the_higher_of_two_maxima(size, maximum, start):
    start = dict(zip(TREND, start, strict=True))
    found = fit_level(waves(size), statespace.local_linear_trend, start=start, transforms=TREND)
    assert found.loglikelihood == pytest.approx(maximum, abs=1e-3)


def test_the_higher_of_two_maxima_of_an_arma_process():
    """Of white noise, whose sample is nearly cancelled by one of them."""
    rng = np.random.default_rng(2)
    y = rng.normal(size=40)
    transforms = {"ar": statespace.stationary, "ma": statespace.invertible, "innovation_var": positive}
    start = {
        "ar": statespace.stationary.constrain(2 * rng.normal(size=2)),
        "ma": statespace.invertible.constrain(2 * rng.normal(size=1)),
    }
    near, far = (
        fit_level(
            y,
            statespace.arma,
            start=start | {"innovation_var": 1.0},
            transforms=transforms,
            restarts=restarts,
            standard_errors=False,
        )
        for restarts in (False, True)
    )
    assert near.loglikelihood == pytest.approx(-53.903, abs=1e-3)
    assert far.loglikelihood == pytest.approx(-49.756, abs=1e-3)


@pytest.mark.parametrize("unit", [1e-8, 1e3, 1e8])
@pytest.mark.parametrize("start", [None, {"level_var": 1.0, "obs_var": 1.0}])
def test_units_of_the_data_do_not_matter(nile, unit, start):
    found = statespace.fit(
        statespace.local_level, unit * nile, start, transforms=start and LEVEL, progress=False
    )
    assert found.loglikelihood == pytest.approx(-633.464564 - 100 * np.log(unit) + np.log(unit), abs=1e-5)
    assert found.params["obs_var"] / unit**2 == pytest.approx(15098.565, rel=1e-4)
    assert found.standard_errors["obs_var"] / unit**2 == pytest.approx(3145.5, rel=1e-3)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_units_of_a_parameter_without_transform(level, unit):
    def build(mean, ar, innovation_var):
        return statespace.arma(ar, (), innovation_var)._replace(obs_intercept=mean[None])

    found = statespace.fit(
        build,
        unit * (level + 5),
        {"mean": 0.0, "ar": [0.0], "innovation_var": None},
        transforms={"ar": statespace.stationary},
        progress=False,
    )
    assert found.loglikelihood + 20 * np.log(unit) == pytest.approx(-38.76783, abs=1e-3)
    assert found.notes == ()


def test_a_saddle_is_left():
    """With loadings of zero the gradient by them is zero."""
    rng = np.random.default_rng(6)
    y = np.cumsum(rng.normal(size=50))[:, None] * [1.0, 0.5] + rng.normal(size=(50, 2))

    def build(loadings):
        return statespace.Model(np.eye(1), loadings[:, None], np.eye(1), np.ones(2), np.zeros(1), np.eye(1))

    found = statespace.fit(build, y, {"loadings": np.zeros(2)}, progress=False)
    np.testing.assert_allclose(np.abs(found.params["loadings"]), [1.0, 0.5], rtol=0.3)
    assert found.notes == ()


def test_limits_are_those_of_one_search(level):
    found = fit_level(level, options={"maxiter": 2})
    assert found.search.nit == 2
    assert not found.search.success
    assert "did not converge" in found.notes[0]


def test_estimates_at_a_boundary_start(level):
    start = {"level_var": 0.0, "obs_var": 1.0}
    assert fit_level(level, start=start).loglikelihood == pytest.approx(fit_level(level).loglikelihood)


# -- starts from the data ----------------------------------------------------------------------------------


def test_start_from_the_data(level, likeliest):
    found = statespace.fit(statespace.local_level, level, progress=False)
    assert found.loglikelihood == pytest.approx(likeliest, abs=1e-6)
    assert list(found.params) == ["level_var", "obs_var"]


def test_arguments_given_to_partial_are_fixed(level):
    build = functools.partial(statespace.local_linear_trend, slope_var=0.0)
    assert list(statespace.fit(build, level, progress=False).params) == ["level_var", "obs_var"]


def test_none_is_from_the_data(level):
    start = {"ar": [0.0], "innovation_var": None}

    def build(ar, innovation_var):
        return statespace.arma(ar, (), innovation_var)

    found = statespace.fit(build, level, start, transforms={"ar": statespace.stationary}, progress=False)
    assert list(found.params) == ["ar", "innovation_var"]
    assert found.notes == ()


def test_numbers_that_are_no_variances(level, likeliest):
    """Standard deviations are found from one, a mean from zero."""

    def build(level_std, obs_std, mean):
        model = statespace.local_level(level_std**2, obs_std**2)
        return model._replace(
            obs_intercept=mean[None], initial_state=np.zeros(1), initial_state_cov=np.eye(1)
        )

    found = statespace.fit(
        lambda level_std, obs_std: build(level_std, obs_std, np.zeros(())), level, progress=False
    )
    assert found.loglikelihood == pytest.approx(likeliest, abs=1e-6)
    with_mean = statespace.fit(build, level, progress=False)
    assert "determine mean only together, or not at all" in with_mean.notes[0]


@pytest.mark.parametrize(
    ("build", "error", "says"),
    [
        (
            statespace.arma,
            ValueError,
            r"a number for each of \['ar', 'ma', 'innovation_var'\] makes no model",
        ),
        (statespace.seasonal, ValueError, "what is no parameter is fixed by functools.partial"),
        (lambda **params: statespace.local_level(**params), ValueError, "no arguments that could be fitted"),
        (lambda level_var: (level_var,), TypeError, "returns a .*Model, got tuple"),
        (statespace.local_level(1.0, 1.0), TypeError, "build is a Model; give the function"),
        (dict, ValueError, "give a start for each"),
    ],
)
def test_builders_that_need_a_start(level, build, error, says):
    with pytest.raises(error, match=says):
        statespace.fit(build, level, progress=False)


# -- data that say little ----------------------------------------------------------------------------------


@pytest.mark.parametrize("y", [np.full(30, 5.0), np.zeros(30), 3 + 0.1 * np.arange(30)])
def test_data_without_an_error(y):
    found = statespace.fit(statespace.local_linear_trend, y, progress=False)
    assert not found.search.success
    assert "fits the data without an error" in found.notes[0]
    assert np.isnan(found.cov).all()


def test_a_single_observation():
    found = statespace.fit(statespace.local_level, np.array([1.0, np.nan]), progress=False)
    assert found.loglikelihood == pytest.approx(-0.5 * np.log(2 * np.pi))
    assert "determine level_var, obs_var only together, or not at all" in found.notes[0]
    assert np.isnan(found.cov).all()
    assert np.isnan(list(found.standard_errors.values())).all()


def test_series_without_observations(level):
    y = np.stack([level, np.full(20, np.nan), -level])[:, :, None]
    full = fit_level(y[::2])

    def build(level_var, obs_var):
        """With matrices of each series."""
        return statespace.local_level(level_var, obs_var)._replace(obs_intercept=np.zeros((3, 1, 1)))

    for found in fit_level(y), fit_level(y, build):
        assert found.loglikelihood == pytest.approx(full.loglikelihood, rel=1e-9)
        assert found.aic == pytest.approx(full.aic, rel=1e-9)
        assert found.notes == ("Without observations, and left out: series 1",)


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"build": lambda: None, "start": {}, "transforms": None}, ValueError, "start has no parameters"),
        ({"transforms": {"var": positive}}, ValueError, r"transforms has \['var'\], which start has not"),
        (
            {"start": {"level_var": 1.0, "obs_var": -1.0}},
            ValueError,
            "start of 'obs_var': positive: all of -1.0",
        ),
        (
            {"start": {"level_var": np.inf, "obs_var": 1.0}},
            ValueError,
            "start of 'level_var': inf is not finite",
        ),
        ({"start": {"sigma": 1.0}, "transforms": None}, TypeError, "unexpected keyword argument 'sigma'"),
        ({"build": lambda **params: tuple(statespace.local_level(**params))}, TypeError, "returns a .*Model"),
        ({"y": np.full(20, np.nan)}, ValueError, "y has no observations"),
        ({"method": "Nelder-Mead"}, ValueError, "method 'Nelder-Mead' is none of"),
        (
            {"start": {"level_var": -1.0, "obs_var": 1.0}, "transforms": None},
            ValueError,
            "state_cov .* has a negative variance",
        ),
    ],
)
def test_bad_input(level, changes, error, says):
    with pytest.raises(error, match=says):
        fit_level(**{"y": level, **changes})


def test_what_is_no_transform():
    with pytest.raises(
        TypeError, match=r"no lindiff\.statespace\.Transform but a function: give one as .*its name"
    ):
        statespace.fit(
            statespace.local_level,
            np.ones(5),
            {"level_var": 1.0, "obs_var": 1.0},
            transforms={"obs_var": lambda x: x},
        )


@pytest.mark.parametrize("argument", ["start", "transforms", "fixed", "tied", "priors"])
@pytest.mark.parametrize("given", [[1.0, 1.0], ("positive",), np.ones(2), "positive", []])
def test_parameters_without_names(argument, given):
    with pytest.raises(TypeError, match=f"fit: {argument} is a .*: name the parameters of build, as"):
        statespace.fit(statespace.local_level, np.arange(10.0), **{argument: given})


def test_a_prior_over_integers():
    with pytest.raises(TypeError, match="the prior of 'level_var' is over integers"):
        statespace.fit(statespace.local_level, np.arange(10.0), priors={"level_var": stats.poisson(3)})


def test_a_model_of_numbers_is_refused_by_its_shape():
    def build(a):
        return statespace.Model(1.0, 1.0, a, 1.0)

    with pytest.raises(ValueError, match=r"transition of shape \(\) must be"):
        statespace.fit(build, np.arange(10.0), {"a": 1.0}, progress=False)


def level_with_mean(mean, level_var, obs_var):
    one = np.eye(1)
    initial = np.zeros(1), level_var / 0.36 * one
    return statespace.Model(0.8 * one, one, level_var * one, obs_var * one, *initial, None, mean)


@pytest.mark.parametrize("size", [1e75, 1e-75, 1e100, 1e-100, 1e120, 1e-120])
@pytest.mark.parametrize("build", [statespace.local_level, level_with_mean])
def test_data_of_any_size(build, size):
    rng = np.random.default_rng(0)
    y = 3 + np.cumsum(rng.normal(size=40)) + rng.normal(size=40)
    unit = np.exp2(np.round(np.log2(size)))
    start = {"mean": [1.0], "level_var": 1.0, "obs_var": 1.0} if build is level_with_mean else None
    scaled = start and {k: np.multiply(v, unit ** (1 + ("var" in k))) for k, v in start.items()}
    one, other = (
        statespace.fit(build, y, start, progress=False),
        statespace.fit(build, y * unit, scaled, progress=False),
    )
    for name, estimate in one.params.items():
        c = unit**2 if "var" in name else unit
        np.testing.assert_allclose(other.params[name] / c, estimate, rtol=1e-4)
        np.testing.assert_allclose(other.standard_errors[name] / c, one.standard_errors[name], rtol=1e-3)
    degrees = y.size - (build is statespace.local_level)
    assert abs(other.loglikelihood + degrees * np.log(unit) - one.loglikelihood) < 1e-7
    out_of_range = not 1e-80 < size < 1e80
    assert [note for note in other.notes if "standard_errors, not cov" in note] == list(other.notes)
    assert bool(other.notes) == out_of_range


@pytest.mark.parametrize("size", [1e160, 1e-160])
def test_data_whose_variances_are_no_numbers(size):
    with pytest.raises(ValueError, match="give it in another unit"):
        statespace.fit(statespace.local_level, size * np.array([1.0, 3.0, 2.0, 4.0]), progress=False)


@pytest.mark.parametrize("method", ["L-BFGS-B", "trust-exact"])
@pytest.mark.parametrize(
    "build",
    [
        lambda level_var, obs_var: statespace.local_level(level_var, obs_var),
        lambda level_var, obs_var: (
            statespace.local_level(level_var, obs_var) + statespace.seasonal(3, level_var)
        ),
        lambda level_var, obs_var: statespace.Model(
            np.eye(1), np.eye(1), level_var * np.eye(1), np.reshape(obs_var, (1, 1)), diffuse=True
        ),
    ],
)
def test_by_a_program(level, build, method):
    """The same search, in which Python builds few of the models."""
    plain, fast = calls(build), calls(build)
    expected = fit_level(level, plain, method=method)
    found = fit_level(level, fast, method=method, program=True)
    assert found.search.nfev == expected.search.nfev
    np.testing.assert_allclose([*found.params.values()], [*expected.params.values()], rtol=1e-9)
    np.testing.assert_allclose(found.cov, expected.cov, rtol=1e-7)
    # the start, the end and the standard errors, and what derivatives of every order record
    assert count(fast) <= 17 < 24 < count(plain)


def test_models_without_a_program(level):
    """A stationary start; a form that depends on the parameters; a function that asks for plain numbers."""

    def autoregression(level_var, obs_var):
        return statespace.arma([0.5], (), level_var, obs_var)

    def two_forms(level_var, obs_var):
        model = statespace.local_level(level_var, obs_var)
        return model._replace(obs_intercept=np.zeros(1)) if obs_var < 0.4 else model

    def two_numbers(level_var, obs_var):
        return statespace.local_level(level_var, obs_var)._replace(design=np.eye(1) * (1 + (obs_var < 0.4)))

    def of_numbers(level_var, obs_var):
        offset = float(ld.value(level_var)) * 0.0
        return statespace.local_level(level_var + offset, obs_var)

    for build in (autoregression, two_forms, two_numbers, of_numbers):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of `of_numbers`, which goes another way each time
            found = fit_level(level, build, program=True)
        expected = fit_level(level, build)
        assert found.loglikelihood == pytest.approx(expected.loglikelihood, rel=1e-9)
        assert found.search.nfev == expected.search.nfev


def test_by_a_program_errors_are_those_of_the_function(level):
    with pytest.raises(TypeError, match=r"returns a lindiff\.statespace\.Model"):
        fit_level(level, lambda level_var, obs_var: level_var, program=True)
    with pytest.raises(ZeroDivisionError):
        fit_level(level, lambda level_var, obs_var: 1 / 0, program=True)


@pytest.mark.parametrize("seed", [0, 3, 5])
@pytest.mark.parametrize("raises", [False, True])
def test_searches_that_end_beside_parameters_without_a_likelihood(seed, raises):
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.normal(size=100)) + rng.normal(size=100)

    def build(level_var, obs_var):
        if level_var > 0.5 and raises:
            raise ValueError("too large")
        return statespace.local_level(level_var if level_var <= 0.5 else np.nan, obs_var)

    found = statespace.fit(build, y, start={"level_var": 0.1, "obs_var": 1.0}, progress=False)
    assert not found.search.success
    assert any("did not converge" in note and "may rise by about" in note for note in found.notes)
