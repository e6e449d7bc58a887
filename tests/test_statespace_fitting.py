"""Maximum likelihood: known estimates, standard errors, searches that meet what cannot be computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lindiff as ld
from lindiff import statespace
from lindiff.statespace import positive

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


def test_no_standard_errors_at_a_boundary():
    """Of white noise the level does not move: its variance goes to zero."""
    y = np.tile([1.0, -1.0], 10) + 0.01 * np.arange(20)
    found = fit_level(y)
    assert found.params["level_var"] < 1e-4
    assert np.isnan(found.cov).all()
    assert np.isnan(found.standard_errors["obs_var"])
    assert "not positive definite, by level_var most of all" in found.notes[0]
    assert found.notes[0] in str(found)


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
    found = fit_level(level, build, start=start, transforms=None, method=method, standard_errors=False)
    assert any(refused)
    assert found.search.success
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
    with pytest.raises(KeyboardInterrupt):
        fit_level(level, build, start=start, progress=lambda *state: seen.append(state))
    assert start == {"level_var": 0.5, "obs_var": 0.5}
    assert seen[-1][2].keys() == start.keys()
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


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"build": lambda: None, "start": {}, "transforms": None}, ValueError, "start has no parameters"),
        ({"transforms": {"var": positive}}, ValueError, r"transforms has \['var'\], which start has not"),
        (
            {"start": {"level_var": 1.0, "obs_var": 0.0}},
            ValueError,
            "start of 'obs_var': positive: all of 0.0",
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


def test_transform_by_its_name_says_what_to_give():
    with pytest.raises(TypeError, match=r"no lindiff\.statespace\.Transform but a str"):
        statespace.fit(
            statespace.local_level,
            np.ones(5),
            {"level_var": 1.0, "obs_var": 1.0},
            transforms={"obs_var": "positive"},
        )
