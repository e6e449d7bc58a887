"""Bounds on parts of the data, natural gradients, and the posterior of a variational distribution."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import lindiff as ld
from lindiff import gp
from lindiff.gp.kernels import RBF, WhiteKernel
from lindiff.testing import check_grads

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (40, 2))
Y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(40)
Z = X[:6] + 0.1
KERNEL = 1.5 * RBF(1.0)
M, R = 0.3 * rng.standard_normal(6), np.eye(6) + np.tril(0.2 * rng.standard_normal((6, 6)))
CASES = {
    "Gaussian": (gp.Gaussian(0.1), Y),
    "logit": (gp.Bernoulli(), (Y > 0).astype(int)),
    "probit": (gp.Bernoulli("probit"), (Y > 0).astype(int)),
    "Poisson": (gp.Poisson(), rng.poisson(2.0, 40)),
    "StudentT": (gp.StudentT(0.3, 4.0), Y),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    likelihood, y = CASES[name]

    def bound(kernel, Z, m, R, likelihood):
        return gp.variational_bound(kernel, X, y, Z, m, R, likelihood, total=100, mean=0.2)

    check_grads(bound, (KERNEL, Z, M, R, likelihood), order=1, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_expected_log_densities(name):
    likelihood, y = CASES[name]
    for mean, std in ((0.3, 0.5), (-1.0, 0.05), (0.2, 0.0)):

        def integrand(z, mean=mean, std=std):
            return likelihood.log_density(np.array(mean + std * z), np.array(y[0])) * scipy.stats.norm.pdf(z)

        expected, _ = scipy.integrate.quad(integrand, -9, 9, epsabs=1e-12)
        got = likelihood.expected_log_density(np.array([mean]), np.array([std**2]), np.array([y[0]]))
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_the_maximum_for_gaussian_noise_is_titsias_bound():
    likelihood = gp.Gaussian(0.1)
    m, R_best = gp.natural_step(
        lambda m, R: gp.variational_bound(KERNEL, X, Y, Z, m, R, likelihood, mean=0.5), M, R, rate=1.0
    )
    bound = gp.variational_bound(KERNEL, X, Y, Z, m, R_best, likelihood, mean=0.5)
    np.testing.assert_allclose(bound, gp.sparse_bound(KERNEL, X, Y, Z, 0.1, mean=0.5), rtol=1e-9)
    variational = gp.variational_posterior(KERNEL, Z, m, R_best, likelihood, mean=0.5)
    sparse = gp.condition_sparse(KERNEL, X, Y, Z, 0.1, mean=0.5)
    for name in ("mean", "var", "cov"):
        np.testing.assert_allclose(getattr(variational, name)(X), getattr(sparse, name)(X), atol=1e-6)


@pytest.mark.parametrize("name", ["logit", "probit", "Poisson"])
def test_natural_steps_go_up(name):
    likelihood, y = CASES[name]

    def bound(m, R):
        return gp.variational_bound(KERNEL, X, y, Z, m, R, likelihood)

    m, factor, seen = M, R, [bound(M, R)]
    for _ in range(12):
        m, factor = gp.natural_step(bound, m, factor, rate=0.7)
        seen.append(bound(m, factor))
    assert np.all(np.diff(seen) > -1e-9)
    slopes = ld.grad(bound, argnums=(0, 1))(m, factor)
    np.testing.assert_allclose(slopes[0], 0, atol=1e-2)


def test_parts_estimate_the_whole():
    likelihood, y = CASES["logit"]
    whole = gp.variational_bound(KERNEL, X, y, Z, M, R, likelihood)
    parts = [
        gp.variational_bound(KERNEL, X[rows], y[rows], Z, M, R, likelihood, total=40)
        for rows in np.split(rng.permutation(40), 4)
    ]
    np.testing.assert_allclose(np.mean(parts), whole)


def test_the_prior_has_no_divergence():
    likelihood = gp.Gaussian(1e12)
    bound = gp.variational_bound(KERNEL, X, 0 * Y, Z, np.zeros(6), np.eye(6), likelihood)
    np.testing.assert_allclose(bound, -20 * np.log(2 * np.pi * 1e12))
    posterior = gp.variational_posterior(KERNEL, Z, np.zeros(6), np.eye(6), likelihood)
    np.testing.assert_allclose(posterior.var(X), 1.5, rtol=1e-5)


def test_signs_of_the_factor_do_not_matter():
    likelihood, y = CASES["logit"]
    other = R * np.array([1, -1, -1, 1, 1, -1])

    def bound(m, R):
        return gp.variational_bound(KERNEL, X, y, Z, m, R, likelihood)

    np.testing.assert_allclose(bound(M, other), bound(M, R))
    for got, expected in zip(gp.natural_step(bound, M, other), gp.natural_step(bound, M, R), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-12)


def test_what_is_above_the_diagonal_is_not_read():
    likelihood, y = CASES["Poisson"]
    full = R + np.triu(np.ones((6, 6)), 1)
    got = gp.variational_bound(KERNEL, X, y, Z, M, full, likelihood)
    np.testing.assert_allclose(got, gp.variational_bound(KERNEL, X, y, Z, M, R, likelihood))


def test_bad_input():
    likelihood, y = CASES["logit"]
    with pytest.raises(ValueError, match=r"m and R are \(6,\) and \(6, 6\) for 6 inducing points"):
        gp.variational_bound(KERNEL, X, y, Z, M[:5], R, likelihood)
    with pytest.raises(ValueError, match="no zeros on its diagonal"):
        gp.variational_bound(KERNEL, X, y, Z, M, R - np.diag(np.diag(R)), likelihood)
    with pytest.raises(ValueError, match="observations are 0 and 1"):
        gp.variational_bound(KERNEL, X, Y, Z, M, R, likelihood)
    with pytest.raises(ValueError, match="rate is greater than 0"):
        gp.natural_step(lambda m, R: np.sum(m), M, R, rate=0.0)
    with pytest.raises(FloatingPointError, match="is not finite"):
        gp.natural_step(lambda m, R: np.nan * np.sum(m), M, R)
    with pytest.raises(ValueError, match="StudentT is not concave at the mode: write variational_bound"):
        gp.laplace_log_likelihood(RBF(), X, np.where(Y > 0, 9.0, Y), gp.StudentT(0.1, 2.0))


@pytest.mark.parametrize("name", CASES)
def test_derivatives_by_a_variance_of_zero(name):
    likelihood, y = CASES[name]
    mean = 0.3 * np.arange(4.0)
    for call in (
        lambda var: likelihood.expected_log_density(mean, var, y[:4]),
        lambda var: likelihood.expected(mean, var),
    ):
        slope = ld.grad(lambda var, call=call: np.sum(call(var)))
        at_zero, near = slope(np.zeros(4)), slope(np.full(4, 1e-7))
        np.testing.assert_allclose(at_zero, near, rtol=1e-4, atol=1e-5)


def test_noise_of_the_process_spreads_expected_counts():
    """A count at a new point has noise of its own, as those of the bound have."""
    kernel, Z = 4.0 * RBF(1.0) + WhiteKernel(9.0), np.array([0.0, 1.5])
    posterior = gp.variational_posterior(kernel, Z, np.zeros(2), np.eye(2), gp.Poisson())
    np.testing.assert_allclose(posterior.expected(np.array([0.2])), [np.exp(0.5 * (4.0 + 9.0))], rtol=1e-6)


@pytest.mark.parametrize(
    "likelihood",
    [gp.StudentT(0.1, 4.0), gp.StudentT(3.0, 1.5), gp.Bernoulli(), gp.Bernoulli("probit")],
)
@pytest.mark.parametrize("std", [0.0, 0.3, 1.0, 10.0, 100.0])
def test_expected_log_densities_are_integrals(likelihood, std):
    z = np.linspace(-1, 1, 200_001) ** 3 * 12  # dense where densities may be narrow
    mean, y = np.array([0.0, 3.0, -40.0]), np.array([1.0, 0.0, 1.0])
    at = np.unique(np.concatenate([z, *((y - mean)[:, None] / max(std, 1e-3) + z / max(std, 1.0))]))
    weights = np.exp(-0.5 * at * at) / np.sqrt(2 * np.pi)
    densities = likelihood.log_density(mean[:, None] + std * at, y[:, None])
    expected = np.trapezoid(densities * weights, at, axis=1)
    found = likelihood.expected_log_density(mean, np.full(3, std**2), y)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("likelihood", [gp.StudentT(0.1, 4.0), gp.Bernoulli(), gp.Bernoulli("probit")])
def test_derivatives_of_expected_log_densities(likelihood):
    mean, var, y = np.array([0.2, 3.0, -4.0]), np.array([0.5, 4.0, 100.0]), np.array([1.0, 0.0, 1.0])

    def density(mean, var):
        return likelihood.expected_log_density(mean, var, y)

    check_grads(density, (mean, var), order=2, rtol=1e-5)
    slope = ld.grad(lambda var: np.sum(density(mean, var)))
    np.testing.assert_allclose(slope(np.zeros(3)), slope(np.full(3, 1e-7)), rtol=1e-3)


@pytest.mark.parametrize("name", CASES)
def test_means_and_variances_in_integers(name):
    likelihood, _ = CASES[name]
    mean, var, y = np.array([0, 3]), np.array([4, 1]), np.array([1, 1])
    for method in ("expected_log_density", "expected"):
        given = (y,) if method != "expected" else ()
        found, expected = (
            getattr(likelihood, method)(mean.astype(kind), var.astype(kind), *given) for kind in (int, float)
        )
        np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [  # by mpmath with 30 digits
        (3, 5, -2.72753543445555118),
        (20, 5, -0.000102413710126146513),
        (30, 10, -0.0129131609098842392),
        (50, 20, -0.255606534554852129),
        (-1000, 1000, -962336.664207681828),
        (1000, 1000, -37670.9551037872547),
        (0, 1000, -250003.596673827222),
        (-1000, 1e-3, -500007.826695312184),
        (0.3, 1e-3, -0.481410444652387141),
        (-2, 0.3, -3.82300154891586365),
        (5, 1, -0.00020687295159049795),
        (8, 1.5, -4.6811318032706898e-6),
        (-3, 1, -7.069849371926182),
        (100, 30, -0.0261081794467781635),
        (0.5, 1.0, -0.61854891735126689),
        (0.5, 0.75, -0.51074505463903284),
        (3, 0.9, -0.013823499515336306),
        (12, 4, -0.0042776006148415334),
        (-40, 3, -809.10561612243303),
        (-90, 0.5, -4055.5438562008522),
        (-99, 1.5, -4907.1390456342595),
    ],
)
def test_expected_log_densities_by_probit(mean, std, expected):
    for sign, label in ((1.0, 1.0), (-1.0, 0.0)):
        mean_and_var = np.array([sign * mean]), np.array([float(std) ** 2])
        found = gp.Bernoulli("probit").expected_log_density(*mean_and_var, np.array([label]))
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [  # by mpmath with 40 digits
        (-95, 0.36, 1.837796539960095e-08),
        (-50, 0.801, 2.3870067504177567e-07),
        (-20, 0.36, 8.953384496245183e-06),
        (-12, 0.5, 6.43469299542109e-05),
        (-40, 3.6, 6.292022850858707e-07),
        (-90, 10.1, 2.6116787969932802e-08),
        (-40, 30, 6.030331504125155e-05),
    ],
)
def test_second_derivatives_of_expected_log_densities_by_probit(mean, std, expected):
    def density(var):
        return gp.Bernoulli("probit").expected_log_density(np.array([mean]), var, np.array([1.0]))[0]

    second = ld.hessian(lambda var: density(np.reshape(var, (1,))))(float(std) ** 2)
    np.testing.assert_allclose(second, expected, rtol=1e-4)


@pytest.mark.parametrize("residual", [1e4, 1e7, 1e9, 1e15, 1e60, 1e150])
def test_outliers_of_students_t_are_as_far_as_they_are(residual):
    """From some scales on the expectation is the density's value: it is straight in log |residual|."""

    def expected(log_scale):
        likelihood = gp.StudentT(np.exp(log_scale), 4.0)
        return likelihood.expected_log_density(np.zeros(1), np.ones(1), np.array([residual]))[0]

    value, slope = ld.value_and_grad(expected)(0.0)
    np.testing.assert_allclose(value, scipy.stats.t.logpdf(residual, 4.0), atol=3 / residual**2, rtol=1e-10)
    np.testing.assert_allclose(slope, 4.0, atol=20 / residual**2, rtol=1e-9)
