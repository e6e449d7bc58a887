"""Integers of few bits, unsigned ones and truth values beside Variables: rules take them for real numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import lindiff as ld
from lindiff.scipy import integrate, signal, special

X = np.array([1.1, 2.3, 4.2, 0.7])
M = np.outer(X, X[::-1])
MANY = {
    "uint8": np.array([200, 210, 220, 250], np.uint8),
    "int8": np.array([100, -110, 120, -127], np.int8),
    "int16": np.array([20000, -21000, 30000, 7], np.int16),
    "int32": np.array([100000, 200000, -300000, 5], np.int32),
    "uint32": np.array([3000000000, 1000000000, 2, 7], np.uint32),
    "int64": np.array([4000000000, 5000000000, 6000000000, 3], np.int64),
    "bool": np.array([True, False, True, True]),
}
ARRAYS = {
    "arctan2": np.arctan2,
    "arctan2 of": lambda x, n: np.arctan2(n, x),
    "arctan2 of a list": lambda x, n: np.arctan2(x, list(n)),
    "hypot": np.hypot,
    "quotient": lambda x, n: n / x,
    "remainder": lambda x, n: np.remainder(x * 99, np.where(n == 0, 1, n)),
    "logaddexp": np.logaddexp,
    "table": lambda x, n: np.interp(x, [0.0, 1.0, 2.0, 5.0], n),
    "xlogy": special.xlogy,
}
NUMBERS_ALONE = {
    "power": lambda x, n: x ** (n % 5),
    "to the power": lambda x, n: np.abs(n) ** (x / 9),
    "knots": lambda x, n: np.interp(x * 50, np.sort(np.abs(n)), [1.0, 2, 9, 3]),
    "grid": lambda x, n: np.gradient(x, np.sort(n)),
    "covariance": lambda x, n: np.cov(x, aweights=np.abs(n)),
    "pseudo_huber": lambda x, n: special.pseudo_huber(np.abs(n), x),
}
SMALL = {
    "roll": np.roll,
    "trace": lambda x, n: np.trace(np.outer(x, x), offset=n),
    "diagonal": lambda x, n: np.diagonal(np.outer(x, x), n),
    "spacing": lambda x, n: np.gradient(x, n),
    "simpson": lambda x, n: integrate.simpson(x, dx=n),
    "savgol_filter": lambda x, n: signal.savgol_filter(x, n + n + n, n),
    "jv": lambda x, n: special.jv(n - n, x),
    "jve": lambda x, n: special.jve(n - n, x),
    "ive": lambda x, n: special.ive(n - n, x),
    "kv": lambda x, n: special.kv(n - n, x),
    "boxcox": lambda x, n: special.boxcox(x, n - n),
    "huber": lambda x, n: special.huber(n, x),
}


@pytest.mark.parametrize("name", ARRAYS | NUMBERS_ALONE)
@pytest.mark.parametrize("dtype", MANY)
def test_arrays(name, dtype):
    if name in NUMBERS_ALONE and dtype == "bool":
        pytest.skip("not of truth values")
    f, n = (ARRAYS | NUMBERS_ALONE)[name], MANY[dtype]
    value, gradient = ld.value_and_grad(lambda x: np.sum(f(x, n)))(X)
    exact = ld.grad(lambda x: np.sum(f(x, n.astype(np.float64))))(X)
    np.testing.assert_allclose(gradient, exact, rtol=1e-9)
    np.testing.assert_allclose(value, np.sum(f(X, n)), rtol=1e-12)
    tangent = ld.jvp(lambda x: np.sum(f(x, n)), (X,), (np.ones(4),))[1]
    np.testing.assert_allclose(tangent, np.sum(exact), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.uint64])
def test_numbers(name, dtype):
    f = SMALL[name]
    if name == "roll" and np.lib.NumpyVersion(np.__version__) < "2.1.0" and np.dtype(dtype).kind == "u":
        pytest.skip("NumPy 2.0 rolls by no unsigned number")
    value, gradient = ld.value_and_grad(lambda x: np.sum(f(x, dtype(1))))(X)
    expected, exact = ld.value_and_grad(lambda x: np.sum(f(x, 1)))(X)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, exact, rtol=1e-12)


@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
def test_spherical_functions_cut_their_order(name):
    f = getattr(special, name)
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(f(1.5, x)))(X), f(1, X, derivative=True), rtol=1e-14)


@pytest.mark.parametrize("name", ["eval_legendre", "eval_sh_legendre"])
@pytest.mark.parametrize("n", [-4, -3, -2, -1, 0, 1])
def test_legendre_of_negative_degrees(name, n):
    f, plain, h = getattr(special, name), getattr(scipy.special, name), 1e-6
    expected = (plain(n, X + h) - plain(n, X - h)) / (2 * h)
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(f(n, x)))(X), expected, rtol=1e-7, atol=1e-8)


def test_gradient_of_small_integers_over_variables():
    f = np.array([200, 10, 3], np.uint8)
    value, pullback = ld.vjp(lambda x: np.gradient(f, x), X[:3])
    np.testing.assert_allclose(value, np.gradient(f, X[:3]), rtol=1e-14)
    exact = ld.vjp(lambda x: np.gradient(f.astype(float), x), X[:3])[1](np.ones(3))
    np.testing.assert_allclose(pullback(np.ones(3))[0], exact[0], rtol=1e-14)
    with pytest.raises(TypeError, match="boolean subtract"):
        ld.vjp(lambda x: np.gradient(np.array([True, False, True]), x), X[:3])


def test_geometric_sequence_from_a_small_integer():
    value = ld.value_and_grad(lambda x: np.sum(np.geomspace(np.uint8(3), x, 3)))(4.0)[0]
    np.testing.assert_allclose(value, np.sum(np.geomspace(np.uint8(3), 4.0, 3)), rtol=1e-14)


def test_indices_that_are_truth_values():
    """NumPy's `take` takes them for 0 and 1, `take_along_axis` refuses them."""
    mask = np.array([True, False])
    value, pullback = ld.vjp(lambda x: np.take(x, mask), X)
    np.testing.assert_array_equal(value, np.take(X, mask))
    np.testing.assert_array_equal(pullback(np.array([1.0, 10.0]))[0], [10.0, 1.0, 0.0, 0.0])
    with pytest.raises(IndexError, match="must be an integer array"):
        ld.vjp(lambda x: np.take_along_axis(x, np.array([True, False, True, True]), 0), X)


LOWER = {
    "power": lambda x, c: c**x,
    "arctan2": np.arctan2,
    "xlogy": lambda x, c: scipy.special.xlogy(c, x),
    "boxcox": scipy.special.boxcox,
    "gradient": lambda x, c: np.gradient(x * x, c),
    "norm": np.linalg.norm,
    "interp": lambda x, c: np.interp(x, *np.array([[0, 1, 4, 7], [0, 1, 2, 0.5]], np.result_type(c))),
}


@pytest.mark.parametrize("name", LOWER)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_derivatives_beside_numbers_of_lower_precision(name, dtype):
    """Those of the same numbers in the precision of the Variable."""
    c = dtype(1.3)
    gradient = ld.grad(lambda x: np.sum(LOWER[name](x, c)))(X)
    exact = ld.grad(lambda x: np.sum(LOWER[name](x, float(c))))(X)
    np.testing.assert_allclose(gradient, exact, rtol=1e-12)
