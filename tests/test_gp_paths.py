"""Draws as functions, state-space forms, and pictures."""

from __future__ import annotations

import pickle

import matplotlib as mpl
import numpy as np
import pytest

import lindiff as ld
from lindiff import gp, statespace
from lindiff.gp.kernels import RBF, DotProduct, Matern, RationalQuadratic, WhiteKernel
from lindiff.testing import check_grads

mpl.use("agg")
rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (30, 2))
Y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(30)
NEW = rng.uniform(-2, 2, (4, 2))


def layer(w, X):
    return np.tanh(X @ w)


KERNELS = {
    "RBF": 1.5 * RBF(np.array([1.0, 0.5])),
    "Matern": Matern(nu=1.5) * 2.0,
    "Matern infinite": Matern(nu=np.inf),
    "RationalQuadratic": RationalQuadratic(1.0, 0.8),
    "sum": 0.5 * (RBF() + 2.0 * Matern(nu=2.5)).on([1]) + WhiteKernel(0.3),
    "warped": RBF().warped(layer, np.ones((2, 3))),
}


@pytest.mark.parametrize("name", KERNELS)
def test_covariances_of_prior_paths(name):
    draws = gp.prior_paths(KERNELS[name], 2, 1, size=4000, features=4000)(NEW)
    np.testing.assert_allclose(draws.T @ draws / 4000, KERNELS[name].smooth(NEW)[0], atol=0.2)


def test_posterior_paths_have_the_moments():
    posterior = gp.condition(KERNELS["RBF"], X, Y, 0.1, mean=0.5)
    draws = gp.posterior_paths(posterior, 1, size=4000, features=4000)(NEW)
    np.testing.assert_allclose(draws.mean(axis=0), posterior.mean(NEW), atol=0.05)
    np.testing.assert_allclose(np.cov(draws.T), posterior.cov(NEW), atol=0.05)


def test_paths_are_functions():
    path = gp.posterior_paths(gp.condition(KERNELS["Matern"], X, Y, 0.1), 1)
    np.testing.assert_allclose(path(NEW)[:, :2], path(NEW[:2]), rtol=1e-12)
    check_grads(path, (NEW,), rtol=1e-5)


def test_kernels_without_paths():
    with pytest.raises(TypeError, match="has no random features here"):
        gp.prior_paths(DotProduct(), 2, 0)
    with pytest.raises(ValueError, match="those of several processes"):
        gp.posterior_paths(gp.condition(RBF(), X, np.stack([Y, Y], axis=1), 0.1), 0)


def test_state_space_forms():
    times, y = np.sort(rng.uniform(0, 5, 20)), rng.standard_normal(20)
    kernel = 1.5 * Matern(0.7, nu=0.5) + 2.0 * (Matern(1.0, nu=1.5) + Matern(np.array([2.0]), nu=2.5))
    kernel = kernel + WhiteKernel(0.1)
    model = gp.state_space(kernel, times, 0.2)
    expected = gp.log_marginal_likelihood(kernel, times, y, 0.2)
    np.testing.assert_allclose(statespace.loglikelihood(y, *model), expected, rtol=1e-8)

    def of_scale(scale, filtered):
        kernel = 2.0 * Matern(scale, nu=1.5) + WhiteKernel(0.1)
        if filtered:
            return statespace.loglikelihood(y, *gp.state_space(kernel, times))
        return gp.log_marginal_likelihood(kernel, times, y)

    np.testing.assert_allclose(*(ld.grad(of_scale)(0.8, way) for way in (True, False)), rtol=1e-6)
    for kernel in (RBF(), Matern(nu=3.5), Matern() * Matern(), Matern() + RBF()):
        with pytest.raises(TypeError, match="has no state-space form here"):
            gp.state_space(kernel, times)
    with pytest.raises(TypeError, match="has no Matern part"):
        gp.state_space(WhiteKernel(), times)


def test_pictures():
    line = gp.condition(RBF(), X[:, 0], Y, 0.1)
    axes = gp.plot(line, X[:, 0], Y).axes[0]
    assert len(axes.collections) == 2
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), Y)
    np.testing.assert_allclose(axes.lines[0].get_ydata(), line.mean(axes.lines[0].get_xdata()))
    assert gp.plot(line, axes=axes) is axes.figure
    sparse = gp.condition_sparse(RBF(), X, Y, X[:5], 0.1)
    assert [a.get_title() for a in gp.plot(sparse, points=20).axes[:2]] == ["mean", "standard deviation"]
    with pytest.raises(ValueError, match="points have 3 dimensions"):
        gp.plot(gp.condition(RBF(), rng.standard_normal((5, 3)), Y[:5], 0.1))
    with pytest.raises(ValueError, match="one of several processes"):
        gp.plot(gp.condition(RBF(), X[:, 0], np.stack([Y, Y], axis=1), 0.1))
    mpl.pyplot.close("all")


def test_posteriors_that_have_no_paths_or_pictures():
    x = np.linspace(0.0, 3.0, 8)
    sparse = gp.condition_sparse(gp.kernels.RBF(), x, np.sin(x), x[::3], 0.1)
    with pytest.raises(TypeError, match="a Posterior, made by condition, is needed, got SparsePosterior"):
        gp.posterior_paths(sparse, 0)
    grid = gp.condition_on_grid([gp.kernels.RBF()], [x], np.sin(x), 0.1)
    with pytest.raises(TypeError, match="of a GridPosterior draw its mean and var on a grid"):
        gp.plot(grid)


@pytest.mark.parametrize("name", KERNELS)
def test_paths_travel_to_other_processes(name):
    posterior = gp.condition(KERNELS[name], X, Y, 0.1, mean=1.0)
    for path in (gp.prior_paths(KERNELS[name], 2, 0), gp.posterior_paths(posterior, 0)):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(path))(NEW), path(NEW))
