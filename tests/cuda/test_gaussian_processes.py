"""Gaussian processes of CuPy's arrays, and those of NumPy's."""

import numpy as np
import pytest

import lindiff as ld
from lindiff import gp
from lindiff.core.pytree import flatten, tree_map
from lindiff.gp.kernels import RBF, Matern, WhiteKernel

rng = np.random.default_rng(0)
X, Z, NEW = rng.standard_normal((12, 2)), rng.standard_normal((4, 2)), rng.standard_normal((3, 2))
Y = np.sin(X.sum(axis=1))


def likelihood(length_scale, X, y, Z):
    return gp.log_marginal_likelihood(1.5 * RBF(length_scale) + WhiteKernel(0.1), X, y)


def bound(length_scale, X, y, Z):
    return gp.sparse_bound(1.5 * Matern(length_scale, nu=2.5), X, y, Z, 0.1)


def approximation(length_scale, X, y, Z):
    return gp.fitc_log_likelihood(1.5 * RBF(length_scale), X, y, Z, 0.1)


def part(length_scale, X, y, Z):
    m, R = np.zeros(4, like=X), np.eye(4, like=X)
    return gp.variational_bound(RBF(length_scale), X, y, Z, m, R, gp.Gaussian(0.1))


def several(length_scale, X, y, Z):
    m, R = np.zeros((4, 2), like=X), np.stack([np.eye(4, like=X), 0.1 * np.eye(4, like=X)])
    y = (ld.value(y) > 0).astype(float)
    return gp.variational_bound(RBF(length_scale), X, y, Z, m, R, gp.Softmax(2))


def classes(length_scale, X, y, Z):
    return gp.laplace_log_likelihood(RBF(length_scale), X, (ld.value(y) > 0).astype(float), gp.Bernoulli())


def classes_by_moments(length_scale, X, y, Z):
    return gp.ep_log_likelihood(RBF(length_scale), X, (ld.value(y) > 0).astype(float), gp.Bernoulli())


def predicted(length_scale, X, y, Z):
    mean, var = gp.condition(RBF(length_scale), X, y, 0.1).mean_and_var(Z)
    return np.sum(mean) + np.sum(var)


CLASSES = [classes, classes_by_moments, several]
CASES = [likelihood, bound, approximation, part, *CLASSES, predicted]


@pytest.mark.parametrize("function", CASES)
def test_values_and_gradients(cupy, function):
    arguments = np.array([1.0, 2.0]), X, Y, Z
    argnums = (0, 1) if function in CLASSES else (0, 1, 2) if function is likelihood else (0, 1, 2, 3)
    expected = ld.value_and_grad(function, argnums)(*arguments)
    got = ld.value_and_grad(function, argnums)(*map(cupy.asarray, arguments))
    assert all(type(leaf) is cupy.ndarray for leaf in flatten(got)[0])
    for a, b in zip(flatten(tree_map(cupy.asnumpy, got))[0], flatten(expected)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)
