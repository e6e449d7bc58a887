"""Regression: densities and posteriors against scikit-learn, SciPy and each other; derivatives; bad input."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import lindiff as ld
from lindiff import gp
from lindiff.gp.kernels import RBF, DotProduct, Matern, WhiteKernel
from lindiff.testing import check_grads

rng = np.random.default_rng(0)
X, Z, NEW = rng.standard_normal((40, 3)), rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
Y = np.sin(X.sum(axis=1)) + 0.1 * rng.standard_normal(40)
TWO = np.stack([Y, np.cos(Y)], axis=1)
KERNEL = 1.5 * RBF(np.array([1.0, 2.0, 0.7]))
BOTH = pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])


@BOTH
def test_densities(y):
    A = KERNEL(X) + 0.3 * np.eye(40)
    expected = np.sum(scipy.stats.multivariate_normal(np.zeros(40), A).logpdf(y.T))
    np.testing.assert_allclose(gp.log_marginal_likelihood(KERNEL, X, y, 0.3), expected)
    np.testing.assert_allclose(gp.log_marginal_likelihood(KERNEL + WhiteKernel(0.3), X, y), expected)
    np.testing.assert_allclose(gp.log_marginal_likelihood(KERNEL, X, y + 2, 0.3, mean=2.0), expected)
    np.testing.assert_allclose(gp.condition(KERNEL, X, y, 0.3).log_marginal_likelihood(), expected)
    np.testing.assert_allclose(gp.sparse_bound(KERNEL, X, y, X, 0.3, jitter=1e-12), expected)
    np.testing.assert_allclose(gp.fitc_log_likelihood(KERNEL, X, y, X, 0.3, jitter=1e-12), expected)
    assert gp.sparse_bound(KERNEL, X, y, Z, 0.3) < expected


@BOTH
@pytest.mark.parametrize("density", [gp.sparse_bound, gp.fitc_log_likelihood])
def test_derivatives_by_inducing_points(density, y):
    def of_all(kernel, X, y, Z, noise_var):
        return density(kernel, X, y, Z, noise_var)

    check_grads(of_all, (KERNEL, X, y, Z, 0.3), order=1, rtol=1e-5)


@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
def test_derivatives_of_the_bound_are_those_of_its_formula(y):
    """Titsias's bound as the density of the approximation and a trace."""

    def formula(kernel, Z, noise_var):
        K_uu = kernel(Z) + 1.5e-6 * np.eye(6)
        Q = kernel(X, Z) @ np.linalg.solve(K_uu, kernel(Z, X))
        density = ld.linalg.gp_logpdf(y, Q, noise_var)
        return density - 0.5 * np.size(y) / 40 * (np.sum(kernel.diag(X)) - np.trace(Q)) / noise_var

    kernel = np.array(1.5) * RBF(np.array([1.0, 2.0, 0.7]))
    fixed = ld.grad(lambda *a: gp.sparse_bound(a[0], X, y, *a[1:]), argnums=(0, 1, 2))(kernel, Z, 0.3)
    assert np.isfinite(fixed[2])
    expected = ld.grad(
        lambda scale, Z, noise: formula(np.array(1.5) * RBF(scale), Z, noise), argnums=(0, 1, 2)
    )(kernel.k2.length_scale, Z, 0.3)
    np.testing.assert_allclose(fixed[0].k2.length_scale, expected[0], rtol=1e-6)
    np.testing.assert_allclose(fixed[1], expected[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fixed[2], expected[2], rtol=1e-7)


@pytest.mark.parametrize("of", ["noise", "scale"])
def test_second_derivatives_of_the_bound(of):
    def bound(x):
        return gp.sparse_bound(RBF(x), X, Y, Z, 0.3) if of == "scale" else gp.sparse_bound(KERNEL, X, Y, Z, x)

    step = 1e-4
    slope = ld.grad(bound)
    np.testing.assert_allclose(
        ld.hessian(bound)(0.9), (slope(0.9 + step) - slope(0.9 - step)) / (2 * step), rtol=1e-5
    )


@BOTH
def test_derivatives_of_the_density(y):
    def of_all(kernel, X, y, noise_var):
        return gp.log_marginal_likelihood(kernel, X, y, noise_var)

    check_grads(of_all, (KERNEL, X[:9], y[:9], 0.3), rtol=1e-5)
    check_grads(of_all, (KERNEL, X[:9], y[:9], np.linspace(0.1, 0.9, 9)), rtol=1e-5)


@BOTH
def test_posteriors_by_all_points_are_the_same(y):
    exact = gp.condition(KERNEL, X, y, 0.3)
    for method in ("titsias", "fitc"):
        sparse = gp.condition_sparse(KERNEL, X, y, X, 0.3, jitter=1e-12, method=method)
        for name in ("mean", "var", "cov"):
            np.testing.assert_allclose(getattr(sparse, name)(NEW), getattr(exact, name)(NEW), atol=1e-9)


@BOTH
def test_left_out(y):
    mean, var = gp.condition(KERNEL, X, y, 0.3, mean=0.5).leave_one_out()
    for i in (0, 17):
        rest = np.arange(40) != i
        others = gp.condition(KERNEL, X[rest], y[rest], 0.3, mean=0.5)
        np.testing.assert_allclose(mean[i], others.mean(X[i : i + 1])[0])
        np.testing.assert_allclose(var[i], others.var(X[i : i + 1], noise=True)[0])


def test_values_of_sklearn():
    theirs = pytest.importorskip("sklearn.gaussian_process")
    k = theirs.kernels
    model = theirs.GaussianProcessRegressor(
        1.5 * k.RBF([1.0, 2.0, 0.7]) + k.WhiteKernel(0.3), optimizer=None, alpha=0.0
    )
    model.fit(X, Y)
    posterior = gp.condition(KERNEL + WhiteKernel(0.3), X, Y)
    mean, std = model.predict(NEW, return_std=True)
    np.testing.assert_allclose(posterior.mean(NEW), mean)
    np.testing.assert_allclose(posterior.std(NEW, noise=True), std)
    np.testing.assert_allclose(posterior.cov(NEW, noise=True), model.predict(NEW, return_cov=True)[1])


def test_noise_of_each_observation():
    noise = np.linspace(0.1, 0.9, 40)
    posterior = gp.condition(KERNEL, X, Y, noise)
    A = KERNEL(X) + np.diag(noise)
    np.testing.assert_allclose(posterior.mean(NEW), KERNEL(NEW, X) @ np.linalg.solve(A, Y))
    with pytest.raises(ValueError, match="the noise differs between observations"):
        posterior.var(NEW, noise=True)
    np.testing.assert_allclose(posterior.var(NEW, noise=0.5), posterior.var(NEW) + 0.5)


def test_means_by_functions():
    def mean(X):
        return 1.0 + X[:, 0]

    posterior = gp.condition(KERNEL, X, Y + mean(X), 0.3, mean)
    np.testing.assert_allclose(posterior.mean(NEW), gp.condition(KERNEL, X, Y, 0.3).mean(NEW) + mean(NEW))
    with pytest.raises(ValueError, match="give a function of points"):
        gp.condition(KERNEL, X, Y, 0.3, mean=Y).mean(NEW)


@BOTH
def test_draws_have_the_moments(y):
    posterior = gp.condition(KERNEL, X, y, 0.3)
    draws = posterior.sample(NEW, 0, 20000)
    assert draws.shape == (20000, 5, *y.shape[1:])
    np.testing.assert_allclose(draws.mean(axis=0), posterior.mean(NEW), atol=0.03)
    first = draws if y.ndim == 1 else draws[..., 1]
    np.testing.assert_allclose(np.cov(first.T), posterior.cov(NEW), atol=0.03)


def test_blocks_of_new_points(monkeypatch):
    posterior = gp.condition(KERNEL, X, Y, 0.3)
    many = np.random.default_rng(1).standard_normal((150, 3))
    expected = posterior.mean(many), posterior.var(many)
    monkeypatch.setattr("lindiff.gp.posteriors.IN_ONE_BLOCK", 40 * 64)
    np.testing.assert_allclose(posterior.mean(many), expected[0], rtol=1e-12)
    np.testing.assert_allclose(posterior.var(many), expected[1], rtol=1e-10)
    assert posterior.mean(np.zeros((0, 3))).shape == (0,)


def test_acquisition():
    posterior = gp.condition(KERNEL, X, Y, 0.3)
    mean, std = posterior.mean(NEW), posterior.std(NEW)
    for maximize, sign in ((True, 1), (False, -1)):
        got = gp.expected_improvement(posterior, NEW, 0.2, maximize=maximize)
        draws = mean + std * np.random.default_rng(0).standard_normal((400000, 5))
        np.testing.assert_allclose(got, np.maximum(sign * (draws - 0.2), 0).mean(axis=0), atol=3e-3)
        bound = gp.upper_confidence_bound(posterior, NEW, 1.5, maximize=maximize)
        np.testing.assert_allclose(bound, sign * mean + 1.5 * std)
    check_grads(lambda x: gp.expected_improvement(posterior, x, 0.2), (NEW,), rtol=1e-5)
    check_grads(lambda x: gp.upper_confidence_bound(posterior, x), (NEW,), rtol=1e-5)


def test_acquisition_where_nothing_is_uncertain():
    posterior = gp.condition(RBF(), np.zeros((1, 1)), np.array([1.0]))
    gain = ld.value_and_grad(lambda x: gp.expected_improvement(posterior, x, 0.5)[0])
    value, slope = gain(np.zeros((1, 1)))
    assert (value, slope[0, 0]) == (0.5, 0.0)


def test_doubled_points_get_jitter():
    doubled = np.concatenate([X, X])
    with pytest.warns(RuntimeWarning, match="singular to working precision, .* was added to their diagonal"):
        found = gp.log_marginal_likelihood(KERNEL, doubled, np.concatenate([Y, Y]))
    assert np.isfinite(found)
    with pytest.warns(RuntimeWarning, match="condition: the covariances are singular"):
        posterior = gp.condition(KERNEL, doubled, np.concatenate([Y, Y]))
    np.testing.assert_allclose(posterior.mean(X), Y, atol=1e-3)


def test_one_point_and_fewer_points_than_inducing_ones():
    posterior = gp.condition(Matern(), X[:1], Y[:1], 0.1)
    np.testing.assert_allclose(posterior.mean(X[:1]), Y[:1] / 1.1)
    assert np.isfinite(gp.sparse_bound(Matern(), X[:2], Y[:2], Z, 0.1))


def test_single_precision():
    x, y, z = X.astype(np.float32), Y.astype(np.float32), Z.astype(np.float32)
    kernel = 1.5 * RBF(np.array([1.0, 2.0, 0.7], np.float32))
    for got, expected in [
        (gp.log_marginal_likelihood(kernel, x, y, 0.3), gp.log_marginal_likelihood(KERNEL, X, Y, 0.3)),
        (gp.sparse_bound(kernel, x, y, z, 0.3), gp.sparse_bound(KERNEL, X, Y, Z, 0.3)),
    ]:
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, expected, rtol=1e-3)
    gradient = ld.grad(lambda z: gp.sparse_bound(kernel, x, y, z, 0.3))(z)
    assert gradient.dtype == np.float32
    expected = ld.grad(lambda Z: gp.sparse_bound(KERNEL, X, Y, Z, 0.3))(Z)
    np.testing.assert_allclose(gradient, expected, atol=0.1)


def test_what_is_no_number():
    x, y, kernel = np.linspace(0, 1, 5), np.zeros(5), RBF(1.0)
    for call, message in [
        (lambda: RBF(None)(x), "RBF: length_scale: real numbers, not None"),
        (lambda: Matern("long")(x), "Matern: length_scale: real numbers, not 'long'"),
        (lambda: kernel.on(0.5), "on: numbers of columns, or a mask of them, not 0.5"),
        (lambda: gp.condition(kernel, x, y, None), "noise_var: real numbers, not None"),
        (lambda: gp.condition(kernel, x, list("abcde"), 0.1), "observations are real numbers"),
        (lambda: gp.condition(kernel, x, y, 0.1).var(x, noise="much"), "noise: real numbers, not 'much'"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()
    numbers = np.array([0.0, 1, 2.5, 1, 0], object)  # as tables have them
    np.testing.assert_array_equal(
        gp.condition(kernel, x, numbers, 0.1).mean(x),
        gp.condition(kernel, x, numbers.astype(float), 0.1).mean(x),
    )


def test_bad_input():
    with pytest.raises(ValueError, match=r"y of shape \(39,\) for 40 points"):
        gp.log_marginal_likelihood(KERNEL, X, Y[1:])
    with pytest.raises(ValueError, match="X holds NaN or infinity"):
        gp.condition(KERNEL, np.where(X > 1, np.nan, X), Y)
    with pytest.raises(ValueError, match="y holds NaN or infinity"):
        gp.sparse_bound(KERNEL, X, np.where(Y > 0.5, np.inf, Y), Z, 0.1)
    with pytest.raises(ValueError, match="noise_var is a variance, and not negative"):
        gp.condition(KERNEL, X, Y, -1.0)
    with pytest.raises(ValueError, match="noise_var has shape"):
        gp.condition(KERNEL, X, Y, np.ones(3))
    with pytest.raises(ValueError, match="is the variance of the noise, and positive: got 0"):
        gp.sparse_bound(KERNEL, X, Y, Z, 0.0)
    with pytest.raises(ValueError, match="the noise differs between observations; here it is a number"):
        gp.sparse_bound(KERNEL, X, Y, Z, np.ones(40))
    with pytest.raises(ValueError, match="points have 2 columns where the others have 3"):
        gp.condition(KERNEL, X, Y, 0.1).mean(NEW[:, :2])
    with pytest.raises(ValueError, match="method is 'titsias' or 'fitc', got 'vfe'"):
        gp.condition_sparse(KERNEL, X, Y, Z, 0.1, method="vfe")
    with pytest.raises(np.linalg.LinAlgError, match="look for NaN and infinity"):
        gp.log_marginal_likelihood(np.nan * RBF(), X, Y, 0.1)


def test_means_take_points_as_a_matrix():
    t, y = np.linspace(0, 3, 20), np.sin(np.linspace(0, 3, 20))

    def mean(X):
        return 0.1 * X[:, 0]

    posterior = gp.condition(RBF(), t, y, 0.1, mean)
    expected = gp.condition(RBF(), t, y - 0.1 * t, 0.1)
    np.testing.assert_allclose(posterior.mean(t[:4]), expected.mean(t[:4]) + 0.1 * t[:4])
    np.testing.assert_allclose(posterior.leave_one_out()[0], expected.leave_one_out()[0] + 0.1 * t)
    np.testing.assert_allclose(
        gp.log_marginal_likelihood(RBF(), t, y, 0.1, mean), expected.log_marginal_likelihood()
    )
    assert gp.expected_improvement(posterior, t[:4], 0.0).shape == (4,)
    m, R = np.zeros(5), np.eye(5)
    for call in (
        lambda mean: gp.condition(RBF(), t, y, 0.1, mean),
        lambda mean: gp.log_marginal_likelihood(RBF(), t, y, 0.1, mean),
        lambda mean: gp.variational_bound(RBF(), t, y, t[::4], m, R, gp.Gaussian(0.1), mean=mean),
        lambda mean: gp.laplace_log_likelihood(RBF(), t, y, gp.Gaussian(0.1), mean),
    ):
        with pytest.raises(ValueError, match=r"mean of shape \(20, 1\) for y of shape \(20,\)"):
            call(lambda X: 0.1 * X)
    with pytest.raises(ValueError, match="give a function of points"):
        gp.condition(RBF(), t, y, 0.1, mean=0.5 * y).mean(t + 9)


def test_draws_where_nothing_is_uncertain():
    posterior = gp.condition(RBF(), X[:8], Y[:8], 0.0)
    with pytest.warns(RuntimeWarning, match="singular to working precision"):
        draws = posterior.sample(X[:8], 0, 3)
    np.testing.assert_allclose(draws, np.tile(Y[:8], (3, 1)), atol=1e-4)


def test_features_are_found_once_for_each_set_of_points():
    calls = []

    def seen(params, X):
        calls.append(len(X))
        return X

    kernel, m, R = RBF().warped(seen), np.zeros(6), np.eye(6)
    exact, sparse = gp.condition(RBF(), X, Y, 0.1), gp.condition_sparse(RBF(), X, Y, Z, 0.1)
    for call, expected in [
        (lambda: gp.log_marginal_likelihood(kernel, X, Y, 0.1), [40]),
        (lambda: gp.condition(kernel, X, Y, 0.1), [40]),
        (lambda: gp.sparse_bound(kernel, X, Y, Z, 0.1), [6, 40]),
        (lambda: gp.fitc_log_likelihood(kernel, X, Y, Z, 0.1), [6, 40]),
        (lambda: gp.variational_bound(kernel, X, Y, Z, m, R, gp.Gaussian()), [6, 40]),
        (lambda: dataclasses.replace(exact, kernel=kernel).mean_and_var(NEW), [5, 40]),
        (lambda: dataclasses.replace(sparse, kernel=kernel).cov(NEW), [5, 6]),
    ]:
        calls.clear()
        call()
        assert sorted(calls) == expected


@pytest.mark.parametrize("jitter", [1e-6, 1e-3])
def test_derivatives_of_what_has_jitter_are_those_of_the_jitter_too(jitter):
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 6, 50)
    y, inducing = np.sin(points) + 0.1 * rng.standard_normal(50), np.linspace(0, 6, 12)
    new, m, R = np.array([1.3, 7.0]), np.linspace(-1, 1, 12), 0.5 * np.eye(12)
    likelihood = gp.Gaussian(0.01)

    def of_all(variance, Z):
        kernel = variance * RBF(1.0) + 0.1 * variance * DotProduct(1.0)
        posterior = gp.condition_sparse(kernel, points, y, Z, 1e-2, jitter=jitter)
        return (
            gp.sparse_bound(kernel, points, y, Z, 1e-2, jitter=jitter),
            gp.fitc_log_likelihood(kernel, points, y, Z, 1e-2, jitter=jitter),
            gp.variational_bound(kernel, points, y, Z, m, R, likelihood, jitter=jitter),
            posterior.mean(new),
            posterior.var(new),
        )

    for k in range(5):
        # in both modes to what rounding leaves of matrices with so little on their diagonal
        check_grads(lambda *args, k=k: of_all(*args)[k], (1.3, inducing), 1, rtol=1e-4, adjoint_rtol=1e-9)
    check_grads(lambda variance: of_all(variance, inducing)[0], (1.3,), order=2, rtol=1e-4)


def test_noise_alone_is_differentiated():
    x, new = np.linspace(0, 5, 10), np.array([1.0, 2.0])
    y = np.sin(x)
    each = np.linspace(0.1, 0.2, 10)
    check_grads(lambda noise: gp.condition(RBF(), x, y, noise).mean(new), (0.1,), order=2, rtol=1e-5)
    check_grads(lambda noise: gp.condition(RBF(), x, y, noise).mean(new), (each,), order=2, rtol=1e-5)
    check_grads(lambda noise, y: gp.condition(RBF(), x, y, noise).mean(new), (0.1, y), order=2, rtol=1e-5)
    check_grads(lambda noise: gp.condition(RBF(), x, y, 0.1).cov(new, noise), (0.1,), order=2, rtol=1e-5)

    def crossed(length):
        return ld.grad(lambda noise: gp.condition(RBF(length), x, y, noise).mean(new)[0])(0.1)

    check_grads(crossed, (1.2,), order=1, rtol=1e-5)


def test_improvements_are_those_of_one_process():
    posterior = gp.condition(RBF(), X[:8, 0], np.stack([Y[:8], -Y[:8]], axis=1), 1e-2)
    for call in (gp.upper_confidence_bound, lambda *args: gp.expected_improvement(*args, 0.5)):
        with pytest.raises(ValueError, match="is of 2 processes, improvements are those of one"):
            call(posterior, np.array([0.3, 7.0]))


def test_noise_by_numpys_truth():
    posterior = gp.condition(RBF(), np.arange(4.0), np.arange(4.0), 0.1)
    new = np.array([1.0])
    np.testing.assert_array_equal(posterior.var(new, noise=np.True_), posterior.var(new, noise=True))
    np.testing.assert_array_equal(posterior.cov(new, noise=np.False_), posterior.cov(new))


def test_lists_and_complex_numbers():
    found = gp.log_marginal_likelihood(RBF(), [0.0, 1.0], [1.0, 2.0], [0.1, 0.2])
    assert found == gp.log_marginal_likelihood(
        RBF(), np.arange(2.0), np.array([1.0, 2.0]), np.array([0.1, 0.2])
    )
    with pytest.raises(TypeError, match="observations are real numbers"):
        gp.condition(RBF(), np.arange(2.0), np.array([1j, 2.0]), 0.1)


def test_masked_numbers():
    hidden = np.ma.masked_greater(np.arange(4.0), 2.0)
    for x, y, what in ((hidden, np.ones(4), "points"), (np.arange(4.0), hidden, "observations")):
        with pytest.raises(ValueError, match=f"{what} are masked; leave out the points"):
            gp.condition(gp.kernels.RBF(), x, y, 0.1)
    shown = np.ma.masked_greater(np.arange(4.0), 5.0)
    assert type(gp.condition(gp.kernels.RBF(), shown, shown, 0.1).mean(shown)) is np.ndarray


def test_numbers_of_other_types():
    X, y = np.linspace(0, 3, 12).reshape(6, 2), np.sin(np.arange(6.0))
    expected = gp.log_marginal_likelihood(RBF(), X, y, 0.1)
    frame, series = pd.DataFrame(X), pd.Series(y)
    for points, observations in (
        (X.astype(object), y.astype(object)),
        (X.astype(np.longdouble), y.astype(np.longdouble)),
        (frame.astype("Float64"), series.astype("Float64")),
    ):
        assert gp.log_marginal_likelihood(RBF(), points, observations, 0.1) == expected
    np.testing.assert_allclose(
        gp.log_marginal_likelihood(RBF(), X, y.astype(np.float16), 0.1), expected, rtol=1e-3
    )
    for wrong in (["a"] * 6, np.array(["a"] * 6, object)):
        with pytest.raises(TypeError, match="points are real numbers"):
            gp.log_marginal_likelihood(RBF(), wrong, y, 0.1)
        with pytest.raises(TypeError, match="observations are real numbers"):
            gp.log_marginal_likelihood(RBF(), X, wrong, 0.1)


def test_masks_series_and_negative_noise():
    X, y = np.linspace(0, 3, 6), np.sin(np.linspace(0, 3, 6))
    masked = np.ma.array(np.ones(6), mask=np.arange(6) == 2)
    for wrong in (lambda: gp.condition(RBF(), X, y, masked), lambda: gp.condition(RBF(), X, y, 0.1, masked)):
        with pytest.raises(ValueError, match="are masked"):
            wrong()
    means = pd.Series(0.5 * X)
    for mean in (means, lambda X: pd.Series(0.5 * X[:, 0])):
        found = gp.log_marginal_likelihood(RBF(), X, y, 0.1, mean)
        assert found == gp.log_marginal_likelihood(RBF(), X, y, 0.1, means.to_numpy())
    with pytest.raises(ValueError, match="noise is a variance, and not negative"):
        gp.condition(RBF(), X, y, 0.1).std(X, noise=-5.0)


def test_variances_below_zero_are_refused_everywhere():
    X, y, Z = np.linspace(0.0, 3.0, 8), np.ones(8), np.linspace(0.0, 3.0, 3)
    noisy = gp.kernels.Matern(nu=0.5) + gp.kernels.WhiteKernel(1.0)
    for call in (
        lambda: gp.sparse_bound(noisy, X, y, Z, -0.1),
        lambda: gp.fitc_log_likelihood(noisy, X, y, Z, -0.1),
        lambda: gp.condition_sparse(noisy, X, y, Z, -0.1),
        lambda: gp.state_space(noisy, X, -0.1),
    ):
        with pytest.raises(ValueError, match="noise_var is a variance, and not negative"):
            call()
    with pytest.raises(ValueError, match="constant_value is a variance, and not negative"):
        gp.log_marginal_likelihood(gp.kernels.ConstantKernel(-0.1) * noisy, X, y)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_points_of_objects_and_matrices():
    X, y = np.array([[0.0], [1.0], [2.5]]), np.array([0.0, 0.5, 1.0])
    plain = gp.condition(gp.kernels.RBF(), X, y, 0.1)
    for other in (X.astype(object), np.asmatrix(X)):
        np.testing.assert_array_equal(gp.condition(gp.kernels.RBF(), other, y, 0.1).mean(X), plain.mean(X))
    square = np.eye(3) + X
    np.testing.assert_array_equal(
        gp.log_marginal_likelihood(gp.kernels.RBF(), X, np.asmatrix(square), 0.1),
        gp.log_marginal_likelihood(gp.kernels.RBF(), X, square, 0.1),
    )
