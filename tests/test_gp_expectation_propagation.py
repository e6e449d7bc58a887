"""Expectation propagation: against integrals, its own conditions, and differences."""

import dataclasses

import numpy as np
import pytest
from scipy import integrate, special, stats

import lindiff as ld
from lindiff import gp
from lindiff.gp.kernels import RBF, Matern
from lindiff.testing import check_grads

rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, (25, 2))
Y = (np.sin(X[:, 0]) + X[:, 1] + 0.7 * rng.standard_normal(25) > 0).astype(float)
THETA = np.array([1.2, 0.2, 0.4])
LINKS = pytest.mark.parametrize(
    "likelihood", [gp.Bernoulli(), gp.Bernoulli("probit")], ids=["logit", "probit"]
)


def kernel_at(theta):
    return np.exp(theta[0]) * RBF(np.exp(theta[1:]))


@LINKS
@pytest.mark.parametrize("var", [1e-3, 0.9, 1.1, 30.0, 1e3])
@pytest.mark.parametrize("mean", [-60.0, -3.0, 0.0, 5.0])
def test_expected_densities_are_integrals(likelihood, mean, var):
    f = mean + np.sqrt(var) * np.linspace(-50, 50, 100001)
    prior = stats.norm.logpdf(f, mean, np.sqrt(var))
    expected = special.logsumexp(likelihood.log_density(f, 1.0) + prior) + np.log(1e-3 * np.sqrt(var))
    found = likelihood.log_expected_density(np.array([mean]), np.array([var]), np.array([1.0]))
    np.testing.assert_allclose(found, [expected], rtol=1e-11, atol=1e-12)


@LINKS
def test_one_observation_is_exact(likelihood):
    found = gp.ep_log_likelihood(4.0 * RBF(), X[:1], Y[:1], likelihood, mean=0.7)
    expected = likelihood.log_expected_density(np.array([0.7]), np.array([4.0]), Y[:1])
    np.testing.assert_allclose(found, expected[0], rtol=1e-12)


@LINKS
def test_two_observations_are_nearer_to_the_integral_than_laplace(likelihood):
    kernel, points, y = 9.0 * RBF(), np.array([0.0, 0.8]), np.array([1.0, 0.0])
    prior = stats.multivariate_normal(cov=kernel(points))

    def joint(b, a):
        return prior.pdf([a, b]) * np.exp(likelihood.log_density(np.array([a, b]), y).sum())

    truth = np.log(integrate.dblquad(joint, -15, 15, -15, 15, epsabs=1e-9, epsrel=1e-7)[0])
    by_ep = gp.ep_log_likelihood(kernel, points, y, likelihood)
    by_laplace = gp.laplace_log_likelihood(kernel, points, y, likelihood)
    assert abs(by_ep - truth) < 0.02 < 5 * abs(by_ep - truth) + abs(by_laplace - truth)
    assert abs(by_ep - truth) < 0.2 * abs(by_laplace - truth)


@LINKS
@pytest.mark.parametrize("scale", [1e-6, 1.0, 100.0, 1e4, 1e6])
def test_moments_match(likelihood, scale):
    posterior = gp.condition_ep(scale * RBF(), X, Y, likelihood)
    mean, var = posterior.mean_and_var(X)
    tau, nu = posterior.sites
    left = 1 - tau * var
    cavity_mean, cavity_var = (mean - var * nu) / left, var / left

    def total(mean):
        return np.sum(likelihood.log_expected_density(mean, cavity_var, Y))

    g, h = ld.grad(total)(cavity_mean), ld.hvp(total, (cavity_mean,), (np.ones(25),))
    np.testing.assert_allclose(cavity_mean + cavity_var * g, mean, rtol=1e-6, atol=1e-7 * np.sqrt(scale))
    np.testing.assert_allclose(cavity_var + cavity_var**2 * h, var, rtol=1e-6)


@LINKS
def test_derivatives(likelihood):
    def evidence(theta, X, mean):
        return gp.ep_log_likelihood(kernel_at(theta), X, Y, likelihood, mean)

    check_grads(evidence, (THETA, X, 0.3), order=2, rtol=1e-4)


@LINKS
def test_derivatives_of_what_is_predicted(likelihood):
    new = np.array([[0.5, -0.3], [2.0, 1.0]])

    def predicted(theta, mean):
        return gp.condition_ep(kernel_at(theta), X, Y, likelihood, mean).expected(new)

    check_grads(predicted, (THETA, 0.3), order=2, rtol=1e-4)


def test_numbers_of_a_likelihood_of_ones_own():
    @dataclasses.dataclass(frozen=True, eq=False)
    class Scaled(gp.Likelihood):
        scale: float = 1.0

        def log_density(self, f, y):
            return gp.Bernoulli("probit").log_density(f / self.scale, y)

        def mean(self, f):
            return gp.Bernoulli("probit").mean(f / self.scale)

        def log_expected_density(self, mean, var, y):
            s = self.scale
            return gp.Bernoulli("probit").log_expected_density(mean / s, var / s**2, y)

    def evidence(scale):
        return gp.ep_log_likelihood(4.0 * RBF(), X, Y, Scaled(scale))

    check_grads(evidence, (0.7,), order=2, rtol=1e-5)
    same = gp.ep_log_likelihood(4.0 / 0.49 * RBF(), X, Y, gp.Bernoulli("probit"))
    np.testing.assert_allclose(evidence(0.7), same, rtol=1e-9)


def test_float32():
    found = gp.ep_log_likelihood(10.0 * RBF(), np.float32(X), np.float32(Y), gp.Bernoulli())
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, gp.ep_log_likelihood(10.0 * RBF(), X, Y, gp.Bernoulli()), rtol=1e-4)


def test_what_has_no_moments():
    with pytest.raises(ValueError, match="Poisson has no log_expected_density: write condition_laplace"):
        gp.ep_log_likelihood(RBF(), X, Y, gp.Poisson())
    with pytest.raises(ValueError, match="Bernoulli: observations are 0 and 1"):
        gp.condition_ep(RBF(), X, 2 * Y - 1, gp.Bernoulli())
    with pytest.raises(ValueError, match=r"approximation is one of \['ep', 'laplace'\], got 'EP'"):
        gp.fit(X, Y, RBF(), likelihood=gp.Bernoulli(), approximation="EP")


def test_fits_and_estimators():
    from lindiff.gp.estimators import GaussianProcessClassifier

    found = gp.fit(X, Y, 1.0 * RBF(), likelihood=gp.Bernoulli(), approximation="ep")
    assert found.converged
    assert isinstance(found.posterior(), gp.EPPosterior)
    assert found.log_likelihood >= gp.ep_log_likelihood(1.0 * RBF(), X, Y, gp.Bernoulli())
    model = GaussianProcessClassifier(1.0 * RBF(), approximation="ep").fit(X, Y)
    np.testing.assert_allclose(model.log_marginal_likelihood_value_, found.log_likelihood, rtol=1e-8)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], found.posterior().expected(X), rtol=1e-5)


def sequential(K, y, sweeps=40):
    """log evidence by Rasmussen & Williams' algorithm 3.5, with moments by a fine sum."""
    n, u = len(K), np.linspace(-10, 10, 4001)
    weights = np.exp(-u * u / 2) / np.sqrt(2 * np.pi) * (u[1] - u[0])
    tau, nu, S, mean = np.zeros(n), np.zeros(n), K.copy(), np.zeros(n)

    def tilted(i):
        left = 1 - tau[i] * S[i, i]
        m, v = (mean[i] - S[i, i] * nu[i]) / left, S[i, i] / left
        f = m + np.sqrt(v) * u
        q = weights * special.expit((2 * y[i] - 1) * f)
        first = np.sum(q * f) / np.sum(q)
        return m, v, np.sum(q), first, np.sum(q * (f - first) ** 2) / np.sum(q)

    for _ in range(sweeps):
        for i in range(n):
            m, v, _, first, second = tilted(i)
            moved = 1 / second - 1 / v - tau[i]
            tau[i] += moved
            nu[i] = first / second - m / v
            S = S - moved / (1 + moved * S[i, i]) * np.outer(S[i], S[i])
            mean = S @ nu
    m, v, z, *_ = np.array([tilted(i) for i in range(n)]).T
    sites = np.sum(np.log(z) + 0.5 * np.log1p(tau * v))
    sites -= 0.5 * np.sum((2 * m * nu + v * nu**2 - tau * m**2) / (1 + tau * v))
    root = np.sqrt(tau)
    return sites + 0.5 * nu @ mean - 0.5 * np.linalg.slogdet(np.eye(n) + root[:, None] * K * root)[1]


def test_contradictory_labels_where_sweeps_at_once_go_too_far():
    rng = np.random.default_rng(1)
    points = np.repeat(np.linspace(-2, 2, 4), 20)
    labels = (rng.uniform(size=80) < special.expit(3 * np.sin(2 * points))).astype(float)
    kernel = 100.0 * Matern(nu=0.5)
    found = gp.ep_log_likelihood(kernel, points, labels, gp.Bernoulli())
    np.testing.assert_allclose(found, sequential(kernel(points), labels), rtol=1e-7)


def test_one_class_of_a_process_that_is_nearly_constant():
    posterior = gp.condition_ep(1e3 * RBF(1e3), np.linspace(0, 10, 60), np.ones(60), gp.Bernoulli())
    assert posterior.expected(np.array([5.0]))[0] > 0.99
    found = gp.fit(X, np.ones(25), 1.0 * RBF(1.0), likelihood=gp.Bernoulli(), approximation="ep")
    assert found.converged
