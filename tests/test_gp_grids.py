"""Processes on grids and at equally spaced points: what all points say, derivatives, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld
from lindiff import gp
from lindiff.core.pytree import flatten
from lindiff.gp.kernels import RBF, Matern, WhiteKernel
from lindiff.testing import check_grads

rng = np.random.default_rng(0)
KERNELS = [1.5 * RBF(0.8), Matern(1.2, nu=1.5), RBF(np.array([1.0, 2.0]))]
AXES = [np.sort(rng.uniform(0, 3, 4)), np.sort(rng.uniform(0, 2, 3)), rng.standard_normal((5, 2))]
Y = rng.standard_normal((4, 3, 5))


class OnGrid(gp.kernels.Kernel):
    """The product over columns 0, 1 and the last two."""

    def between(self, F, G):
        parts = [F[:, :1], F[:, 1:2], F[:, 2:]], [G[:, :1], G[:, 1:2], G[:, 2:]]
        return np.prod([k(a, b) for k, a, b in zip(KERNELS, *parts, strict=True)], axis=0)

    def variances(self, F):
        return 1.5


def all_points(axes):
    i, j, k = (a.ravel() for a in np.meshgrid(*(np.arange(len(x)) for x in axes), indexing="ij"))
    return np.column_stack([axes[0][i], axes[1][j], axes[2][k]])


def test_density_of_all_points():
    expected = gp.log_marginal_likelihood(OnGrid(), all_points(AXES), Y.ravel(), 0.3)
    np.testing.assert_allclose(gp.grid_log_likelihood(KERNELS, AXES, Y, 0.3), expected)


def test_posterior_of_all_points():
    exact = gp.condition(OnGrid(), all_points(AXES), Y.ravel(), 0.3)
    grid = gp.condition_on_grid(KERNELS, AXES, Y, 0.3)
    new = [AXES[0][:2] + 0.1, AXES[1] - 0.2, AXES[2][:3]]
    np.testing.assert_allclose(grid.mean(new).ravel(), exact.mean(all_points(new)))
    np.testing.assert_allclose(grid.var(new).ravel(), exact.var(all_points(new)))
    assert repr(grid) == "<GridPosterior of 4 × 3 × 5 observations>"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_derivatives(count):
    y = Y[(slice(None),) * count + (0,) * (3 - count)]

    def density(kernels, axes, y, noise_var):
        return gp.grid_log_likelihood(kernels, axes, y, noise_var)

    check_grads(density, (KERNELS[:count], AXES[:count], y, 0.3), rtol=1e-5)


def test_equal_eigenvalues():
    """Points far apart are independent: the covariances are multiples of the identity."""
    axes = [1e3 * np.arange(3.0), 1e3 * np.arange(2.0)]
    slope = ld.grad(lambda v: gp.grid_log_likelihood([v * RBF(), RBF()], axes, Y[:3, :2, 0], 0.3))(1.5)
    squares = np.sum(Y[:3, :2, 0] ** 2)
    np.testing.assert_allclose(slope, 0.5 * (squares / 1.8**2 - 6 / 1.8))


def test_bad_input():
    with pytest.raises(ValueError, match=r"2 kernels and axes of \(4, 3, 5\) points for y of"):
        gp.grid_log_likelihood(KERNELS[:2], AXES, Y, 0.3)
    with pytest.raises(ValueError, match="a grid is observed as a whole"):
        gp.grid_log_likelihood(KERNELS, AXES, np.where(Y > 1, np.nan, Y), 0.3)
    with pytest.raises(ValueError, match="and positive: got 0"):
        gp.grid_log_likelihood(KERNELS, AXES, Y, 0.0)
    with pytest.raises(ValueError, match="2 axes of new points for a grid of 3"):
        gp.condition_on_grid(KERNELS, AXES, Y, 0.3).mean(AXES[:2])


# -- equally spaced points -------------------------------------------------------------------------------

SERIES = 1.5 * Matern(0.7, nu=1.5) + gp.kernels.WhiteKernel(0.1)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_equally_spaced_points(n):
    t, y = 0.3 * np.arange(n) - 2, rng.standard_normal(n)

    def by(density):
        return ld.value_and_grad(
            lambda kernel, y, noise: density(kernel, t, y, noise, 0.5), argnums=(0, 1, 2)
        )

    (got, slopes), (expected, others) = (
        by(density)(SERIES, y, 0.2)
        for density in (gp.evenly_spaced_log_likelihood, gp.log_marginal_likelihood)
    )
    np.testing.assert_allclose(got, expected)
    for a, b in zip(flatten(slopes)[0], flatten(others)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def test_second_derivatives_of_equally_spaced_points():
    t, y = 0.3 * np.arange(5), rng.standard_normal(5)

    def density(kernel, y, noise):
        return gp.evenly_spaced_log_likelihood(kernel, t, y, noise)

    check_grads(density, (SERIES, y, 0.2), rtol=1e-5)


def test_points_that_are_not_equally_spaced():
    t, y = np.arange(5.0), np.zeros(5)
    with pytest.raises(ValueError, match="not equally spaced; write log_marginal_likelihood"):
        gp.evenly_spaced_log_likelihood(RBF(), t**2, y, 0.1)
    with pytest.raises(ValueError, match="points of one dimension and a vector y"):
        gp.evenly_spaced_log_likelihood(RBF(), np.zeros((5, 2)), y, 0.1)
    with pytest.raises(np.linalg.LinAlgError, match="the leading minor of order 2"):
        gp.evenly_spaced_log_likelihood(RBF(1e9), t, y)
    with pytest.raises(TypeError, match=r"give ld\.value\(X\)"):
        ld.grad(lambda t: gp.evenly_spaced_log_likelihood(RBF(), t, y, 0.1))(t)


@pytest.mark.parametrize("t", [np.linspace(0, 4, 300, dtype=np.float32), 1.7e9 + 0.01 * np.arange(300)])
def test_rounded_points_are_equally_spaced(t):
    y = np.sin(0.01 * np.arange(300)).astype(t.dtype)
    found = gp.evenly_spaced_log_likelihood(RBF(0.3), t, y, 0.1)
    np.testing.assert_allclose(found, gp.log_marginal_likelihood(RBF(0.3), t, y, 0.1), rtol=2e-3)
    with pytest.raises(ValueError, match="there are no points"):
        gp.evenly_spaced_log_likelihood(RBF(0.3), t[:0], y[:0], 0.1)


def test_bad_grids():
    t, x = np.linspace(0, 1, 5), np.linspace(0, 1, 3)
    y = np.ones((5, 3))
    with pytest.raises(ValueError, match="one number, and positive"):
        gp.grid_log_likelihood([RBF(), RBF()], [t, x], y, np.full(15, 0.1))
    with pytest.raises(ValueError, match="an axis holds NaN"):
        gp.grid_log_likelihood([RBF(), RBF()], [np.append(t[:4], np.nan), x], y, 0.1)
    with pytest.raises(TypeError, match="observations are real numbers"):
        gp.grid_log_likelihood([RBF(), RBF()], [t, x], 1j * y, 0.1)


@pytest.mark.parametrize("of_grid", [gp.grid_log_likelihood, gp.condition_on_grid])
def test_grids_have_one_noise(of_grid):
    axes, y = [np.arange(3.0), np.arange(4.0)], np.ones((3, 4))
    with pytest.raises(ValueError, match="leave WhiteKernel out, give noise_var"):
        of_grid([RBF(), RBF() + WhiteKernel(0.1)], axes, y, 0.1)


def test_evenly_spaced_noise_is_not_negative():
    t = np.arange(5.0)
    with pytest.raises(ValueError, match="noise_var is a variance, and not negative"):
        gp.evenly_spaced_log_likelihood(RBF(), t, np.sin(t), -0.01)


def test_points_that_are_not_equally_spaced_to_their_digits():
    dates = (2459000.0 + np.cumsum([0.25, 0.5, 1.0, 0.25, 1.25])).astype(np.float32)
    with pytest.raises(ValueError, match=r"not equally spaced; .* where an offset leaves them no digits"):
        gp.evenly_spaced_log_likelihood(gp.kernels.RBF(), dates, np.ones(5), 0.1)
    even = np.linspace(0.0, 10.0, 300, dtype=np.float32)
    assert np.isfinite(gp.evenly_spaced_log_likelihood(gp.kernels.RBF(), even, np.sin(even), 0.1))
