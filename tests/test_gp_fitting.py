"""Searches for kernels, noise and inducing points; Laplace's approximation; what is no data."""

from __future__ import annotations

import dataclasses
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import lindiff as ld
from lindiff import gp
from lindiff.gp.hyperparameters import Hyperparameters, with_values
from lindiff.gp.kernels import (
    RBF,
    ConstantKernel,
    Coregionalized,
    Gibbs,
    Kernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from lindiff.gp.likelihoods import Likelihood
from lindiff.testing import check_grads

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (80, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(80)


def test_hyperparameters():
    kernel = 2.0 * RBF(np.array([1.0, 3.0]), (1e-2, 1e2)) + WhiteKernel(0.5, "fixed")
    hyper = Hyperparameters(kernel)
    assert hyper.names == ["k1__k1__constant_value", "k1__k2__length_scale"]
    np.testing.assert_allclose(hyper.theta, np.log([2, 1, 3]))
    np.testing.assert_allclose(hyper.bounds, np.log([[1e-5, 1e5], [1e-2, 1e2], [1e-2, 1e2]]))
    other = hyper.kernel_at(np.log([4.0, 0.5, 0.25]))
    assert repr(other) == (
        "ConstantKernel(constant_value=4) * RBF(length_scale=[0.5, 0.25]) + WhiteKernel(noise_level=0.5)"
    )
    slope = ld.grad(lambda theta: np.sum(hyper.kernel_at(theta).k1.k2.length_scale))(hyper.theta)
    np.testing.assert_allclose(slope, [0, 1, 3])


def test_bounds_that_are_one_row():
    pair = Hyperparameters(RBF(np.ones(3), [(1e-2, 1e2)])).bounds
    np.testing.assert_allclose(pair, np.tile(np.log([1e-2, 1e2]), (3, 1)))


@dataclasses.dataclass(frozen=True)
class Plain(Kernel):
    """One whose bounds are a field like others, and whose covariances are no floats."""

    level: float = 2.0
    level_bounds: tuple = (1e-1, 1e1)

    def between(self, F, G):
        return F == G.T

    def variances(self, F):
        return np.ones(len(F), int)


def test_bounds_that_are_no_static_field():
    hyper = Hyperparameters(1.0 * Plain())
    assert hyper.names == ["k1__constant_value", "k2__level"]
    np.testing.assert_allclose(hyper.bounds[1], np.log([0.1, 10.0]))


def test_covariances_that_are_no_floats():
    points = np.array([1.0, 2.0, 1.0])
    expected = np.equal.outer(points, points)
    np.testing.assert_array_equal(Plain()(points), expected)
    assert Plain()(points).dtype == Plain().diag(points).dtype == np.float64
    np.testing.assert_array_equal((Plain() + WhiteKernel(0.5))(points), expected + 0.5 * np.eye(3))
    assert np.isfinite(gp.log_marginal_likelihood(Plain(), points, points, 0.1))


def test_hyperparameters_without_bounds():
    kernel = Gibbs(lambda p, X: np.exp(p["a"] + X @ p["b"]), {"a": 0.5, "b": np.array([1.0, 2.0])})
    hyper = Hyperparameters(kernel + Coregionalized(RBF(), np.ones((2, 1)), np.ones(2)))
    assert hyper.names == ["k1__params", "k2__W", "k2__kappa", "k2__kernel__length_scale"]
    assert len(hyper.theta) == 3 + 1 + 2 + 2
    again = hyper.kernel_at(hyper.theta + 0.5)
    assert again.k1.params["a"] == 1.0
    np.testing.assert_allclose(again.k2.kappa, np.exp(0.5))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(-1.0), "length_scale of the kernel must be positive"),
        (RBF(1.0, "free"), 'length_scale_bounds is a pair of numbers or "fixed"'),
        (RBF(1.0, (2.0, 1.0)), r"length_scale_bounds is a pair \(lower, upper\)"),
        (RBF(1.0, (-1.0, 1.0)), "length_scale_bounds are of positive numbers"),
    ],
)
def test_bad_hyperparameters(kernel, message):
    with pytest.raises(ValueError, match=message):
        Hyperparameters(kernel)


def test_names_that_are_not_there():
    with pytest.raises(ValueError, match="has no 'k3'"):
        with_values(RBF() + RBF(), {"k3__length_scale": 1.0})


@pytest.mark.parametrize("names", [["k1", "k1__length_scale"], ["k1__length_scale", "k1"]])
def test_numbers_of_a_part_that_is_new(names):
    given = {"k1": Matern(5.0, nu=2.5), "k1__length_scale": 3.0}
    found = (RBF(1.0) + WhiteKernel(0.1)).with_params(**{name: given[name] for name in names})
    assert repr(found) == "Matern(length_scale=3, nu=2.5) + WhiteKernel(noise_level=0.1)"
    with pytest.raises(ValueError, match=r"has no 'k1__length_scale': k1 is 2\.0"):
        (RBF(1.0) + WhiteKernel(0.1)).with_params(k1=2.0, k1__length_scale=3.0)


def test_the_optimum_of_sklearn():
    theirs = pytest.importorskip("sklearn.gaussian_process")
    k = theirs.kernels
    model = theirs.GaussianProcessRegressor(1.0 * k.RBF([1.0, 1.0]) + k.WhiteKernel(0.1), alpha=0.0)
    y = Y - np.mean(Y)
    expected = model.fit(X, y).log_marginal_likelihood_value_
    for start in (
        None,
        1.0 * RBF(np.ones(2)) + WhiteKernel(0.1),
        9.0 * RBF(0.1 * np.ones(2)) + WhiteKernel(),
    ):
        found = gp.fit(X, y, start)
        assert found.converged
        np.testing.assert_allclose(found.log_likelihood, expected, atol=1e-4)
        np.testing.assert_allclose(
            found.kernel.k1.k2.length_scale, model.kernel_.k1.k2.length_scale, rtol=0.01
        )


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units(unit):
    first, other = gp.fit(X, Y), gp.fit(X * unit, Y / unit)
    np.testing.assert_allclose(other.log_likelihood - first.log_likelihood, 80 * np.log(unit), atol=1e-3)
    np.testing.assert_allclose(
        other.kernel.k1.k2.length_scale / unit, first.kernel.k1.k2.length_scale, rtol=0.01
    )


@pytest.mark.parametrize("shift", [50.0, 101325.0, -1e7])
@pytest.mark.parametrize("unit", [1.0, 1e-3])
@pytest.mark.parametrize("inducing", [None, 12])
def test_a_mean_that_is_far_from_zero(shift, unit, inducing):
    x = np.linspace(0, 10, 60)
    y = np.sin(x) + 0.1 * np.random.default_rng(0).standard_normal(60)
    near = gp.fit(x, y, inducing=inducing, rng=0)
    far = gp.fit(x, unit * (y + shift), inducing=inducing, rng=0)
    np.testing.assert_allclose(far.log_likelihood, near.log_likelihood - 60 * np.log(unit), atol=1e-2)
    found = far.posterior().mean(x + 0.1) / unit - shift
    np.testing.assert_allclose(found, near.posterior().mean(x + 0.1), atol=1e-3)
    assert np.max(np.abs(found - np.sin(x + 0.1))) < 0.2


def test_means_of_several_processes():
    several = np.stack([Y, 3 * Y + 500], axis=1)
    found = gp.fit(X, several)
    np.testing.assert_allclose(found.posterior().mean(X), several, atol=1.0)
    given = gp.fit(X, Y + 50, mean=50.0)
    np.testing.assert_allclose(given.log_likelihood, gp.fit(X, Y, mean=0.0).log_likelihood, atol=1e-6)


def test_inducing_points():
    exact = gp.fit(X, Y)
    found = gp.fit(X, Y, inducing=15, rng=0)
    assert found.Z.shape == (15, 2)
    assert exact.log_likelihood - 15 < found.log_likelihood < exact.log_likelihood
    fixed = gp.fit(X, Y, inducing=found.Z, fixed_inducing=True)
    np.testing.assert_array_equal(fixed.Z, found.Z)
    mean = found.posterior().mean(X)
    assert np.sqrt(np.mean((mean - Y) ** 2)) < 0.2
    assert "by 15 inducing points" in repr(found)


@pytest.mark.parametrize("count", [1, 79, 80, 500])
def test_starts_of_inducing_points(count):
    Z = gp.inducing_points(X, count, 0)
    assert Z.shape == (min(count, 80), 2)
    assert np.all(np.isfinite(Z))
    with pytest.raises(ValueError, match="count is 1 at least"):
        gp.inducing_points(X, 0)


def test_many_inducing_points_are_rows():
    many = np.random.default_rng(0).standard_normal((700, 2))
    Z = gp.inducing_points(np.concatenate([many, many]), 600, 0)
    assert len(np.unique(Z, axis=0)) == 600
    assert {*map(tuple, Z)} <= {*map(tuple, many)}


def test_priors_move_the_maximum():
    name, prior = "k1__k2__length_scale", scipy.stats.gamma(200.0, scale=0.005)
    found = gp.fit(X, Y, priors={name: prior})
    np.testing.assert_allclose(found.params[name], 1.0, atol=0.2)
    assert np.all(gp.fit(X, Y).params[name] > 1.2)
    with pytest.raises(ValueError, match="priors has"):
        gp.fit(X, Y, priors={"length_scale": prior})


def test_starts_of_which_nothing_is_finite():
    prior = scipy.stats.uniform(10.0, 1.0)
    with pytest.raises(ValueError, match=r"'length_scale': its prior has no density at 1\.0; give another"):
        gp.fit(X, Y, RBF(1.0), 0.1, priors={"length_scale": prior})
    with pytest.raises(ValueError, match="fit: mean holds NaN or infinity"):
        gp.fit(X, Y, mean=np.nan)


def test_restarts_leave_a_bad_start():
    bad = RBF(1e-3) + WhiteKernel(1.0)
    stuck = gp.fit(X[:30], Y[:30], bad)
    better = gp.fit(X[:30], Y[:30], bad, restarts=12, rng=0)
    assert better.log_likelihood >= stuck.log_likelihood
    assert better.evaluations > stuck.evaluations


def test_progress_ends_a_search(capsys):
    seen = []

    def tell(iteration, log_likelihood, kernel):
        seen.append((iteration, log_likelihood, kernel))
        return iteration == 2

    found = gp.fit(X, Y, progress=tell)
    assert [iteration for iteration, *_ in seen] == [1, 2]
    assert not found.converged
    np.testing.assert_allclose(found.log_likelihood, seen[-1][1])
    gp.fit(X[:10], Y[:10], options={"maxiter": 1}, progress=True)
    assert "ConstantKernel" in capsys.readouterr().out


def test_difficult_data_give_a_model():
    constant = gp.fit(X, np.ones(80))
    assert np.isfinite(constant.log_likelihood)
    flat = gp.fit(np.column_stack([X, np.ones(80)]), Y)
    np.testing.assert_allclose(flat.log_likelihood, gp.fit(X, Y).log_likelihood, atol=0.1)
    one = gp.fit(X[:1], Y[:1])
    assert np.isfinite(one.posterior().mean(X[:1])[0])
    doubled = gp.fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    assert np.isfinite(doubled.log_likelihood)
    with pytest.raises(ValueError, match="there are no points"):
        gp.fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match="y holds NaN"):
        gp.fit(X, np.where(Y > 1, np.nan, Y))


def test_singular_covariances_are_told_of_once():
    with pytest.warns(RuntimeWarning, match="fit: .*working precision") as told:
        gp.fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2), 1.0 * RBF(1.0), options={"maxiter": 5})
    assert len(told) == 1


def test_nothing_to_find():
    found = gp.fit(X, Y, RBF(1.0, "fixed"), 0.1)
    np.testing.assert_allclose(found.log_likelihood, gp.log_marginal_likelihood(RBF(1.0), X, Y, 0.1))


# -- Laplace ---------------------------------------------------------------------------------------------

CLASSES = (Y > 0).astype(int)
LINE = np.linspace(0, 6, 50)
COUNTS = np.random.default_rng(1).poisson(np.exp(0.5 * Y))


def test_laplace_of_gaussian_observations_is_exact():
    kernel = 1.5 * Matern(nu=2.5)
    approximate = gp.condition_laplace(kernel, X, Y, gp.Gaussian(0.3), mean=0.5)
    exact = gp.condition(kernel, X, Y, 0.3, mean=0.5)
    np.testing.assert_allclose(approximate.log_likelihood, exact.log_marginal_likelihood())
    np.testing.assert_allclose(approximate.mean(X[:4]), exact.mean(X[:4]))
    np.testing.assert_allclose(approximate.var(X[:4] + 0.5), exact.var(X[:4] + 0.5))


@pytest.mark.parametrize(("likelihood", "y"), [(gp.Bernoulli(), [0.0, 1.0]), (gp.Poisson(), [0.0, 7.0])])
def test_slopes_are_those_of_the_density(likelihood, y):
    f, y = np.array([-40.0, -3.0, -0.1, 0.0, 2.0, 9.0])[:, None], np.array(y)
    f = f + 0 * y
    for got, expected in zip(likelihood.slopes(f, y), Likelihood.slopes(likelihood, f, y), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_laplace_values_of_sklearn():
    theirs = pytest.importorskip("sklearn.gaussian_process")
    model = theirs.GaussianProcessClassifier(4.0 * theirs.kernels.RBF(1.0), optimizer=None).fit(X, CLASSES)
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)

    def of_logs(theta):
        kernel = np.exp(theta[0]) * RBF(np.exp(theta[1]))
        return gp.laplace_log_likelihood(kernel, X, CLASSES, gp.Bernoulli())

    found = ld.value_and_grad(of_logs)(np.log([4.0, 1.0]))
    np.testing.assert_allclose(found[0], value, rtol=1e-8)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-6)
    posterior = gp.condition_laplace(4.0 * RBF(1.0), X, CLASSES, gp.Bernoulli())
    np.testing.assert_allclose(posterior.expected(X + 0.3), model.predict_proba(X + 0.3)[:, 1], atol=1e-3)


@pytest.mark.parametrize(
    ("likelihood", "y"),
    [
        (gp.Bernoulli(), CLASSES),
        (gp.Bernoulli("probit"), CLASSES),
        (gp.Poisson(), COUNTS),
        (gp.Gaussian(0.5), Y),
    ],
    ids=["logit", "probit", "Poisson", "Gaussian"],
)
def test_laplace_derivatives(likelihood, y):
    def evidence(kernel, likelihood):
        return gp.laplace_log_likelihood(kernel, X[:15], y[:15], likelihood, mean=0.1)

    check_grads(evidence, (1.5 * RBF(1.0), likelihood), rtol=1e-5)


def test_expected_observations():
    mean, var = np.array([0.3, -1.0]), np.array([0.5, 2.0])
    draws = mean + np.sqrt(var) * np.random.default_rng(0).standard_normal((400000, 2))
    for likelihood in (gp.Bernoulli(), gp.Bernoulli("probit"), gp.Poisson()):
        expected = likelihood.mean(draws).mean(axis=0)
        np.testing.assert_allclose(likelihood.expected(mean, var), expected, rtol=0.03)


@pytest.mark.parametrize("std", [0.0, 0.5, 0.999, 1.001, 2.0, 30.0, 1e3])
def test_probabilities_by_quadrature(std):
    for mean in (-2.5 * std - 1, -0.3 * std, 0.0, std + 0.5):

        def integrand(z, mean=mean):
            return scipy.special.expit(mean + std * z) * scipy.stats.norm.pdf(z)

        points = (-mean + np.array([-40.0, 0.0, 40.0])) / std if std else None
        expected, _ = scipy.integrate.quad(integrand, -10, 10, points=points, epsabs=1e-13, limit=500)
        got = gp.Bernoulli().expected(np.array([mean]), np.array([std**2]))
        np.testing.assert_allclose(got, expected, atol=1e-11)


def test_fit_of_classes():
    found = gp.fit(X, CLASSES, 1.0 * RBF(np.ones(2)), likelihood=gp.Bernoulli())
    assert found.converged
    assert np.mean((found.posterior().expected(X) > 0.5) == CLASSES) > 0.95


@pytest.mark.parametrize("size", [1e1, 1e2, 1e4, 1e6])
def test_fit_of_counts_without_a_kernel(size):
    """It begins with what counts say of the logarithm of their rate, not with their own mean and variance."""
    rates = size * np.exp(0.5 * np.sin(LINE))
    found = gp.fit(LINE, np.random.default_rng(0).poisson(rates), likelihood=gp.Poisson())
    assert found.converged
    np.testing.assert_allclose(found.posterior().expected(LINE), rates, rtol=3 / np.sqrt(size))


def test_starts_of_likelihoods():
    share = np.repeat([1.0, 0.0], [60, 20])
    assert np.isclose(gp.Bernoulli().rough(share)[0], np.log(3), atol=0.03)
    assert np.isclose(gp.Bernoulli("probit").rough(share)[0], scipy.special.ndtri(0.75), atol=0.03)
    for labels in (np.ones(80), np.zeros(80)):
        assert np.isfinite(gp.fit(X, labels, likelihood=gp.Bernoulli()).log_likelihood)
    assert np.isfinite(gp.fit(X, np.zeros(80), likelihood=gp.Poisson()).log_likelihood)
    found = gp.fit(X, Y + 1e3, likelihood=gp.Gaussian(0.01)).posterior()
    np.testing.assert_allclose(found.mean(X), Y + 1e3, atol=0.5)


def test_fits_go_nowhere_where_the_mode_is_not_found():
    counts = np.random.default_rng(0).poisson(1e6 * np.exp(0.5 * np.sin(LINE)))
    far = 1e12 * RBF(1.0) + WhiteKernel(1e12)
    with pytest.warns(RuntimeWarning, match="Newton's method has not found the mode"):
        gp.condition_laplace(far, LINE, counts, gp.Poisson())
    with pytest.raises(np.linalg.LinAlgError, match="Newton's method has not found the mode"):
        gp.fit(LINE, counts, far.with_params(k1__k1__constant_value_bounds="fixed"), likelihood=gp.Poisson())


def test_extreme_counts():
    counts = np.where(X[:, 0] > 0, 10_000, 0)
    found = gp.condition_laplace(10.0 * RBF(1.0), X, counts, gp.Poisson())
    assert np.isfinite(found.log_likelihood)
    K = 10.0 * RBF(1.0)(X)
    step = np.linalg.solve(np.eye(80) + K * np.exp(found.mode), found.mode - K @ found.alpha)
    np.testing.assert_allclose(step, 0, atol=1e-8)  # of Newton's method


@pytest.mark.parametrize("var", [1e-4, 1e-6, 1e-8])
def test_laplace_of_precise_observations(var):
    """The slopes of their log densities are small differences of numbers that are as large as 1 / var."""
    y, new = np.sin(LINE) + 5, LINE[:5] + 0.03

    def laplace(theta, y):
        kernel, likelihood = np.exp(theta[0]) * RBF(np.exp(theta[1])), gp.Gaussian(np.exp(theta[2]))
        found = gp.condition_laplace(kernel, LINE, y, likelihood)
        return found.log_likelihood, found.mean(new)

    def exact(theta, y):
        found = gp.condition(np.exp(theta[0]) * RBF(np.exp(theta[1])), LINE, y, np.exp(theta[2]))
        return found.log_marginal_likelihood(), found.mean(new)

    theta, seeds = np.log([10.0, 1.5, var]), (1.0, np.cos(np.arange(5.0)))
    (density, mean), pullback = ld.vjp(laplace, theta, y)
    (density_of_exact, mean_of_exact), pullback_of_exact = ld.vjp(exact, theta, y)
    np.testing.assert_allclose(density, density_of_exact, rtol=3e-8)
    np.testing.assert_allclose(mean, mean_of_exact, rtol=1e-11)
    for seed in ((seeds[0], np.zeros(5)), (0.0, seeds[1])):
        found, expected = pullback(seed), pullback_of_exact(seed)
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5 * np.max(np.abs(wanted)))
    moved = np.array([0.3, -0.2, 0.1]), np.sin(7 * LINE)
    slope, slope_of_exact = (ld.jvp(f, (theta, y), moved)[1][1] for f in (laplace, exact))
    np.testing.assert_allclose(slope, slope_of_exact, rtol=1e-5)


def test_laplace_of_precise_counts():
    counts = np.random.default_rng(0).poisson(1e6 * np.exp(0.5 * np.sin(LINE)))
    found = gp.condition_laplace(100.0 * RBF(4.0), LINE, counts, gp.Poisson())
    np.testing.assert_allclose(found.mean(LINE), found.mode, rtol=1e-12)
    np.testing.assert_allclose(found.expected(LINE), counts, rtol=0.01)


@pytest.mark.parametrize(("likelihood", "y"), [(gp.Gaussian(0.3), Y), (gp.Bernoulli("probit"), CLASSES)])
def test_derivatives_of_what_laplace_predicts(likelihood, y):
    def predicted(theta, X, likelihood, mean):
        kernel = np.exp(theta[0]) * RBF(np.exp(theta[1]))
        return gp.condition_laplace(kernel, X, y[:12], likelihood, mean).mean(X[:3] + 0.2)

    check_grads(predicted, (np.array([0.4, 0.1]), X[:12], likelihood, 0.2), order=2, rtol=1e-4)


def test_bad_observations():
    with pytest.raises(ValueError, match="observations are 0 and 1"):
        gp.laplace_log_likelihood(RBF(), X, Y, gp.Bernoulli())
    with pytest.raises(ValueError, match="observations are counts"):
        gp.laplace_log_likelihood(RBF(), X, Y, gp.Poisson())
    with pytest.raises(ValueError, match="link is 'logit' or 'probit'"):
        gp.Bernoulli("cloglog")
    with pytest.raises(ValueError, match="y is a vector"):
        gp.condition_laplace(RBF(), X, CLASSES[:, None], gp.Bernoulli())
    with pytest.raises(ValueError, match="no inducing points and no noise_var"):
        gp.fit(X, CLASSES, likelihood=gp.Bernoulli(), inducing=3)


# -- around ----------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Additive(Kernel):
    """A sum of kernels in a tuple."""

    parts: tuple = ()

    def features(self, X):
        return [kernel.features(X) for kernel in self.parts]

    def between(self, F, G):
        return sum(kernel.between(f, g) for kernel, f, g in zip(self.parts, F, G, strict=True))

    def variances(self, F):
        return sum(kernel.variances(f) for kernel, f in zip(self.parts, F, strict=True))


def test_bounds_of_kernels_in_containers():
    kernel = Additive((1.0 * RBF(1.0, "fixed"), RBF(2.0, (1.0, 3.0)))) + WhiteKernel(0.1)
    found = gp.fit(X, Y, kernel)
    assert list(found.params) == [
        "k1__parts__0__k1__constant_value", "k1__parts__1__length_scale", "k2__noise_level",
    ]  # fmt: skip
    assert found.kernel.k1.parts[0].k2.length_scale == 1.0
    assert found.params["k1__parts__0__k1__constant_value"] > 0
    assert 1 <= found.params["k1__parts__1__length_scale"] <= 3


def test_numbers_are_in_the_order_of_sklearn():
    assert Hyperparameters(RationalQuadratic(2.0, 0.3)).names == ["alpha", "length_scale"]
    with pytest.raises(ValueError, match="2 numbers are searched for"):
        Hyperparameters(RationalQuadratic()).kernel_at(np.zeros(3))


def test_threads_leave_warnings_alone():
    before = warnings.filters[:], warnings.showwarning
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: gp.fit(X[k:], Y[k:], options={"maxiter": 3}), range(8)))
    assert (warnings.filters[:], warnings.showwarning) == before


def test_warnings_of_a_kernel_of_ones_own_are_seen():
    def odd(params, X):
        warnings.warn("odd", UserWarning, stacklevel=1)
        return X

    with pytest.warns(UserWarning, match="odd"):
        gp.fit(X, Y, RBF().warped(odd) + WhiteKernel(), options={"maxiter": 1})


def test_what_was_given_may_be_changed_later():
    A, b, new = X.copy(), Y.copy(), X[:3] + 0.1
    found = gp.fit(A, b, inducing=5, rng=0, options={"maxiter": 3})
    exact, sparse = gp.condition(RBF(), A, b, 0.1), gp.condition_sparse(RBF(), A, b, A[:6], 0.1)
    classes = gp.condition_laplace(RBF(), A, CLASSES, gp.Bernoulli())
    Z = A[:6]
    variational = gp.variational_posterior(RBF(), Z, np.ones(6), np.eye(6), gp.Gaussian())
    posteriors = [exact, sparse, classes, variational, found.posterior()]
    expected = [posterior.mean(new) for posterior in posteriors], exact.leave_one_out()
    A[:], b[:] = 0, 0
    again = [posterior.mean(new) for posterior in [*posteriors[:-1], found.posterior()]]
    np.testing.assert_array_equal(again, expected[0])
    np.testing.assert_array_equal(exact.leave_one_out(), expected[1])


def test_frames_and_kernels_of_sklearn():
    theirs = pytest.importorskip("sklearn.gaussian_process.kernels")
    frame, series = pd.DataFrame(X), pd.Series(Y)
    expected = gp.fit(X, Y, RBF() + WhiteKernel()).log_likelihood
    found = gp.fit(frame, series, theirs.RBF() + theirs.WhiteKernel())
    np.testing.assert_allclose(found.log_likelihood, expected, atol=1e-3)
    np.testing.assert_allclose(found.posterior().mean(frame[:3]), found.posterior().mean(X[:3]))


def test_derivatives_by_observations_of_laplace():
    def evidence(y):
        return gp.laplace_log_likelihood(RBF(), X[:9], y, gp.Gaussian(0.3))

    expected = ld.grad(lambda y: gp.log_marginal_likelihood(RBF(), X[:9], y, 0.3))(Y[:9])
    np.testing.assert_allclose(ld.grad(evidence)(Y[:9]), expected)
    labels = CLASSES[:9].astype(float)
    slope = ld.grad(lambda y: gp.laplace_log_likelihood(RBF(), X[:9], y, gp.Bernoulli()))(labels)
    assert np.all(slope == 0)


@pytest.mark.parametrize("size", [10**6, 10**8, 7 * 10**10])
def test_large_counts(size):
    counts = np.where(X[:20, 0] > 0, size, size // 2)
    found = gp.condition_laplace(400.0 * RBF(1.0), X[:20], counts, gp.Poisson())
    np.testing.assert_allclose(np.exp(found.mode), counts, rtol=1e-2)


def test_noise_of_likelihoods():
    gaussian = gp.condition_laplace(RBF(), X, Y, gp.Gaussian(0.5))
    np.testing.assert_allclose(gaussian.var(X[:3], noise=True), gaussian.var(X[:3]) + 0.5)
    with pytest.raises(ValueError, match="observations of Bernoulli have no noise variance"):
        gp.condition_laplace(RBF(), X, CLASSES, gp.Bernoulli()).var(X[:3], noise=True)


def test_labels_without_signs():
    got = gp.Bernoulli().log_density(np.array([2.0]), np.array([0], np.uint8))
    np.testing.assert_allclose(got, -np.log1p(np.exp(2.0)))


def test_no_points():
    with pytest.raises(ValueError, match="there are no points"):
        gp.condition_laplace(RBF(), X[:0], CLASSES[:0], gp.Bernoulli())
    with pytest.raises(ValueError, match="there are no points"):
        gp.variational_bound(RBF(), X[:0], Y[:0], X[:2], np.zeros(2), np.eye(2), gp.Gaussian())


@pytest.mark.parametrize("unit", [1e-9, 1e-4, 1e3])
def test_inducing_points_are_found_in_any_unit(unit):
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 10, 60)
    y = np.sin(X) + 0.1 * rng.standard_normal(60)
    found = gp.fit(X * unit, y, inducing=12, rng=0)
    np.testing.assert_allclose(
        found.log_likelihood, gp.fit(X, y, inducing=12, rng=0).log_likelihood, atol=1e-2
    )


def test_progress_ends_by_numpys_truth():
    calls = []

    def progress(iteration, value, kernel):
        calls.append(iteration)
        return np.float64(iteration) >= 2

    X = np.linspace(0, 9, 40)
    gp.fit(X, np.sin(X) + 0.1 * np.cos(30 * X), progress=progress)
    assert calls == [1, 2]


@pytest.mark.parametrize("seed", [1, 22, 30, 116])
def test_searches_that_pass_by_something_higher_go_on_from_there(seed):
    draw = np.random.default_rng(seed)
    x = draw.uniform(0, 10, (30, 1))
    y = np.sin(x[:, 0] * draw.uniform(0.5, 2)) + 0.2 * draw.standard_normal(30)
    scales = 10 ** draw.uniform(-3, 3), 10 ** draw.uniform(-2.0, 2.0), 10 ** draw.uniform(-4, 2)
    found = gp.fit(x, y, ConstantKernel(scales[0]) * RBF(scales[1]) + WhiteKernel(scales[2]))
    assert found.converged
    assert gp.fit(x, y, found.kernel).log_likelihood < found.log_likelihood + 1e-2
