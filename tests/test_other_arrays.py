"""Arrays of other libraries: the same rules, transforms and nesting, through NumPy's protocols alone."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import lindiff as ld

sys.path.insert(0, str(Path(__file__).parent))
from duck import DuckArray, unwrap

A = np.array([[2.0, 0.5], [1.0, 3.0]])

FUNCTIONS = {
    "add": lambda x: x + 2.0 + x,
    "subtract": lambda x: 1.0 - x - x * 2.0,
    "multiply": lambda x: x * x * 3.0,
    "divide": lambda x: 2.0 / x + x / 3.0 + x / (x + 1.0),
    "by an array": lambda x: x * A + A / x,
    "negative": lambda x: -x,
    "power": lambda x: x**2 + x**3.0,
    "matmul": lambda x: x @ x + x @ A + A @ x,
    "vector": lambda x: x @ x[0] + x[1] @ x,
    "transpose": lambda x: x.T * x,
    "getitem": lambda x: x[0] * x[:, 1] + x[::-1][0],
    "advanced": lambda x: x[[0, 0, 1]] * 2.0,
    "sum": lambda x: np.sum(x) + np.sum(x, axis=0),
    "broadcast": lambda x: x[:1] + x[:, :1] * x,
    "unary": lambda x: np.exp(x) + np.log(x) + np.sin(x) * np.cos(x) + np.tanh(x) + np.sqrt(x) + np.square(x),
    "several": lambda x: np.log1p(x) * np.expm1(x) / np.reciprocal(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_transforms(name):
    f = FUNCTIONS[name]
    x = np.array([[0.3, 0.8], [1.2, 0.5]])
    duck = DuckArray(x)
    y, pullback = ld.vjp(f, x)
    value, pull = ld.vjp(f, duck)
    assert isinstance(value, DuckArray)
    np.testing.assert_allclose(unwrap(value), y)
    y_bar = np.cos(np.arange(y.size)).reshape(y.shape)
    (x_bar,) = pull(DuckArray(y_bar))
    assert isinstance(x_bar, DuckArray)
    np.testing.assert_allclose(unwrap(x_bar), pullback(y_bar)[0])
    x_dot = np.sin(np.arange(4.0)).reshape(2, 2)
    for tangent in (
        ld.jvp(f, (duck,), (DuckArray(x_dot),))[1],
        ld.linearize(f, duck)[1](DuckArray(x_dot)),
    ):
        assert isinstance(tangent, DuckArray)
        np.testing.assert_allclose(unwrap(tangent), ld.jvp(f, (x,), (x_dot,))[1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_and_higher_orders(name):
    x = np.array([[0.3, 0.8], [1.2, 0.5]])
    v = np.array([[1.0, -1.0], [0.5, 2.0]])

    def f(x):
        return np.sum(np.sin(FUNCTIONS[name](x)))

    np.testing.assert_allclose(unwrap(ld.grad(f)(DuckArray(x))), ld.grad(f)(x))
    wanted = ld.hvp(f, (x,), (v,))
    np.testing.assert_allclose(unwrap(ld.hvp(f, (DuckArray(x),), (DuckArray(v),))), wanted)
    of_gradient = ld.grad(lambda x: np.sum(ld.grad(f)(x) * v))(DuckArray(x))
    np.testing.assert_allclose(unwrap(of_gradient), wanted)


def test_backward_by_hand():
    v = ld.Variable(DuckArray(np.array([1.0, 2.0])))
    np.sum(v * v).backward()
    assert isinstance(v.grad, DuckArray)
    np.testing.assert_array_equal(unwrap(v.grad), [2.0, 4.0])
    np.sum(v * v).backward()
    np.testing.assert_array_equal(unwrap(v.grad), [4.0, 8.0])


def test_results_that_depend_on_nothing():
    gradient = ld.grad(lambda x: DuckArray(np.array(3.0)))(DuckArray(np.ones(2)))
    assert isinstance(gradient, DuckArray)
    np.testing.assert_array_equal(unwrap(gradient), 0.0)


def test_rules_by_users():
    @ld.rule
    def twice(x):
        return x * 2.0, lambda y_bar: y_bar * 2.0

    x = DuckArray(np.ones(2))
    assert unwrap(ld.jvp(twice, (x,), (x,))[1]).tolist() == [2.0, 2.0]
    assert unwrap(ld.grad(lambda x: np.sum(twice(x)))(x)).tolist() == [2.0, 2.0]


def test_jacobian():
    x = np.array([1.0, 2.0, 3.0])
    for mode in ("forward", "reverse"):
        J = ld.jacobian(lambda x: x * x, mode=mode)(DuckArray(x))
        np.testing.assert_array_equal(unwrap(J), np.diag(2 * x))
