"""Observations of one of several classes: against integrals, one process at a time, and differences."""

import numpy as np
import pytest
from scipy import special

import lindiff as ld
from lindiff import gp
from lindiff.gp.kernels import RBF
from lindiff.testing import check_grads

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (30, 2))
Y = np.argmax(X @ rng.standard_normal((2, 3)) + 0.3 * rng.standard_normal((30, 3)), axis=1)
Z = X[:5] + 0.1
M = rng.standard_normal((5, 3))
R = np.tril(0.3 * rng.standard_normal((3, 5, 5))) + np.eye(5)
LIKELIHOOD = gp.Softmax(3)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("spread", [0.0, 1.0, 10.0, 300.0])
@pytest.mark.parametrize("std", [0.0, 0.1, 0.34, 0.36, 1.0, 1.5])
def test_expectations_of_two_classes_are_integrals(std, spread):
    mean, std = spread * rng.standard_normal((4, 2)), std * np.array([1.0, 0.6]) * np.ones((4, 2))
    f = mean[:, None, None] + std[:, None, None] * np.stack(np.meshgrid(NODES, NODES, indexing="ij"), axis=-1)
    weights = WEIGHTS[:, None] * WEIGHTS
    likelihood, y = gp.Softmax(2), np.array([0, 1, 1, 0])
    densities = np.sum(likelihood.log_density(f, y[:, None, None]) * weights, axis=(1, 2))
    found = likelihood.expected_log_density(mean, std**2, y)
    np.testing.assert_allclose(found, densities, rtol=1e-8, atol=2e-9)
    probabilities = np.sum(special.softmax(f, axis=-1) * weights[..., None], axis=(1, 2))
    np.testing.assert_allclose(likelihood.expected(mean, std**2), probabilities, atol=2e-9)


@pytest.mark.parametrize("std", [3.0, 30.0])
def test_a_difference_that_is_wide(std):
    f = 12 * std * np.linspace(-1, 1, 20001)
    weights = np.exp(-0.5 * (f / std) ** 2) / (std * np.sqrt(2 * np.pi)) * (f[1] - f[0])
    found = gp.Softmax(2).expected_log_density(
        np.array([[1.0, 0.0]]), np.array([[std**2, 0.0]]), np.array([1])
    )
    np.testing.assert_allclose(found, [-np.sum(np.logaddexp(0, f + 1) * weights)], rtol=1e-8)


@pytest.mark.parametrize(
    ("far", "std", "narrow"), [(100.0, 50.0, 0.0), (100.0, 50.0, 0.3), (400.0, 316.0, 0.0)]
)
def test_a_class_far_below_a_wide_one(far, std, narrow):
    z = 12 * np.linspace(-1, 1, 40001)
    weights = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    difference = far + np.hypot(std, narrow) * z
    mean, var = np.array([[far, 0.0]]), np.array([[std**2, narrow**2]])
    density = -np.sum(np.logaddexp(0, difference) * weights)
    likelihood, y = gp.Softmax(2), np.array([1])
    np.testing.assert_allclose(likelihood.expected_log_density(mean, var, y), [density], rtol=1e-8)
    first = np.sum(special.expit(difference) * weights)
    np.testing.assert_allclose(likelihood.expected(mean, var), [[first, 1 - first]], atol=1e-8)
    check_grads(
        lambda mean, var: likelihood.expected_log_density(mean, var, y),
        (mean, var + 1e-3),
        order=1,
        rtol=1e-5,
    )


def test_many_classes_by_draws():
    mean, std = rng.standard_normal((1, 7)), rng.uniform(0.1, 1.5, (1, 7))
    f = mean + std * rng.standard_normal((400_000, 7))
    y = np.array([2])
    found = gp.Softmax(7).expected_log_density(mean, std**2, y)
    np.testing.assert_allclose(found, [np.mean(gp.Softmax(7).log_density(f, y))], atol=5e-3)
    probabilities = gp.Softmax(7).expected(mean, std**2)
    np.testing.assert_allclose(probabilities[0], np.mean(special.softmax(f, axis=1), axis=0), atol=2e-3)
    np.testing.assert_allclose(np.sum(probabilities), 1.0, rtol=1e-8)


@pytest.mark.parametrize("scale", [0.1, 0.5, 3.0])
def test_derivatives(scale):
    def bound(kernel, Z, m, R):
        return gp.variational_bound(kernel, X, Y, Z, m, scale * R, LIKELIHOOD, total=100, mean=0.2)

    check_grads(bound, (1.5 * RBF(1.0), Z, M, R), order=1, rtol=1e-5)


def test_second_derivatives():
    mean, var = rng.standard_normal((4, 3)), rng.uniform(0.01, 2.0, (4, 3))

    def density(mean, var):
        return LIKELIHOOD.expected_log_density(mean, var, Y[:4])

    check_grads(density, (mean, var), order=2, rtol=1e-5)
    check_grads(lambda mean: LIKELIHOOD.expected(mean, var), (mean,), order=1, rtol=1e-5)


def test_natural_steps_go_up_and_find_the_classes():
    def bound(m, R):
        return gp.variational_bound(RBF(1.5), X, Y, Z, m, R, LIKELIHOOD)

    m, R = np.zeros((5, 3)), np.tile(np.eye(5), (3, 1, 1))
    heights = [bound(m, R)]
    for _ in range(30):
        m, R = gp.natural_step(bound, m, R, rate=0.3)
        heights.append(bound(m, R))
    assert np.all(np.diff(heights) > -1e-6)
    gradient = ld.grad(bound, argnums=(0, 1))(m, R)
    assert max(np.abs(gradient[0]).max(), np.abs(np.tril(gradient[1])).max()) < 1e-2
    posterior = gp.variational_posterior(RBF(1.5), Z, m, R, LIKELIHOOD)
    assert np.mean(np.argmax(posterior.expected(X), axis=1) == Y) > 0.8


def test_each_process_is_as_one_alone():
    several = gp.variational_posterior(RBF(), Z, M, R, LIKELIHOOD)
    alone = [gp.variational_posterior(RBF(), Z, M[:, c], R[c], gp.Bernoulli()) for c in range(3)]
    mean, var = several.mean_and_var(X)
    np.testing.assert_allclose(mean, np.stack([p.mean(X) for p in alone], axis=1), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(var, np.stack([p.var(X) for p in alone], axis=1), rtol=1e-9)
    np.testing.assert_allclose(several.cov(X), np.stack([p.cov(X) for p in alone]), rtol=1e-9, atol=1e-12)
    noisy = several.var(X, np.arange(30.0))
    np.testing.assert_allclose(noisy, var + np.arange(30.0)[:, None], rtol=1e-12)
    draws = several.sample(X[:4], 0, 20_000)
    assert draws.shape == (20_000, 4, 3)
    np.testing.assert_allclose(np.mean(draws, axis=0), mean[:4], atol=0.05)
    np.testing.assert_allclose(np.cov(draws[:, :, 1].T), alone[1].cov(X[:4]), atol=0.05)


def test_processes_that_are_not_observed():
    layer = gp.variational_posterior(RBF(), Z, M, R)
    np.testing.assert_array_equal(layer.mean(X), gp.variational_posterior(RBF(), Z, M, R, LIKELIHOOD).mean(X))
    with pytest.raises(ValueError, match="VariationalPosterior: no likelihood of observations was given"):
        layer.expected(X)
    with pytest.raises(ValueError, match="no likelihood of observations was given"):
        layer.var(X, noise=True)


def test_float32():
    X32, Z32, M32, R32 = map(np.float32, (X, Z, M, R))
    found = gp.variational_bound(RBF(), X32, Y, Z32, M32, R32, LIKELIHOOD)
    np.testing.assert_allclose(found, gp.variational_bound(RBF(), X, Y, Z, M, R, LIKELIHOOD), rtol=1e-4)
    assert (
        LIKELIHOOD.expected_log_density(X32[:, :1] + M32[0], np.float32(0.3) + 0 * M32[:1], Y).dtype == "f4"
    )


def test_programs():
    def bound(m, R):
        return gp.variational_bound(RBF(), X, Y, Z, m, R, LIKELIHOOD)

    program = ld.program(ld.value_and_grad(bound))
    for scale in (0.2, 1.0, 4.0):
        (value, slope), expected = program(M, scale * R), ld.value_and_grad(bound)(M, scale * R)
        np.testing.assert_allclose(value, expected[0], rtol=1e-12)
        np.testing.assert_allclose(slope, expected[1], rtol=1e-9, atol=1e-12)


def test_bad_input():
    with pytest.raises(ValueError, match="standard deviations of f are 345 at the most, got 1e"):
        LIKELIHOOD.expected(np.zeros((2, 3)), np.full((2, 3), 1e8))
    with pytest.raises(ValueError, match="there are two classes at least, got 1"):
        gp.Softmax(1)
    with pytest.raises(ValueError, match=r"m and R are \(5, 3\) and \(3, 5, 5\) for 5 inducing points"):
        gp.variational_bound(RBF(), X, Y, Z, M[:, 0], R[0], LIKELIHOOD)
    with pytest.raises(ValueError, match="Softmax: observations are 0, 1, …, 2"):
        gp.variational_bound(RBF(), X, Y + 1, Z, M, R, LIKELIHOOD)
    with pytest.raises(ValueError, match="Softmax has several processes: write variational_bound"):
        gp.condition_laplace(RBF(), X, Y, LIKELIHOOD)


def test_derivatives_by_a_variance_of_zero():
    mean = rng.standard_normal((2, 3))

    def slopes(least):
        var = np.array([[least, 0.05, least], [0.5, least, least]])
        return ld.grad(lambda var: np.sum(LIKELIHOOD.expected_log_density(mean, var, Y[:2])))(var)

    np.testing.assert_allclose(slopes(0.0), slopes(1e-8), rtol=1e-5, atol=1e-7)


def test_means_and_variances_in_integers():
    mean, var, y = np.array([[0, 1, 3]]), np.full((1, 3), 4), np.array([2])
    found = LIKELIHOOD.expected_log_density(mean, var, y)
    np.testing.assert_allclose(found, LIKELIHOOD.expected_log_density(1.0 * mean, 1.0 * var, y), rtol=1e-14)
    np.testing.assert_allclose(found, -0.7726, atol=1e-4)
