"""``check_grads`` passes right derivatives and says what is wrong with others."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld
from lindiff.testing import check_grads


@ld.rule
def square(x):
    return x * x, ld.Elementwise(lambda: 2 * x)


@ld.rule
def wrong_pullback(x):
    return x * x, ld.Differential(lambda x_dot: 2 * x * x_dot, lambda y_bar: 2.001 * x * y_bar)


@ld.rule
def wrong_second_order(x):
    return x * x, ld.Elementwise(2 * ld.value(x))


@ld.rule
def wrong_dtype(x):
    return np.square(x).astype(np.float32), ld.Elementwise(2.0 * x)


def test_right_derivatives_pass():
    check_grads(square, (np.array([1.0, 2.0]),), order=3)


def test_trees_and_integers():
    check_grads(lambda p, n: {"y": p["a"] * p["b"][0] * n, "count": 3}, ({"a": np.ones(3), "b": [2.0]}, 2))


def test_complex():
    check_grads(lambda z: square(z), (np.array([1.0 + 2.0j, 0.5]),))
    check_grads(lambda z, x: z * x, (np.array([1.0 + 2.0j, 0.5]), np.array([1.0, 2.0])))


def test_single_precision():
    check_grads(square, (np.array([1.0, 2.0], np.float32),))


def test_functions_without_results_or_arguments():
    check_grads(lambda x: (), (1.0,))
    check_grads(lambda: np.ones(2), ())


def test_a_small_error_is_seen():
    with pytest.raises(AssertionError, match="pullback against differences, order 1, mode rev"):
        check_grads(wrong_pullback, (1.0,), rtol=1e-6)
    with pytest.raises(AssertionError, match="pullback against pushforward"):
        check_grads(wrong_pullback, (1.0,), rtol=0.1)


def test_a_wrong_second_derivative_is_seen():
    check_grads(wrong_second_order, (1.0,), order=1)
    with pytest.raises(AssertionError, match="order 2, mode fwd of fwd"):
        check_grads(wrong_second_order, (1.0,))


def test_modes_are_checked():
    with pytest.raises(ValueError, match="modes are"):
        check_grads(square, (1.0,), modes=["reverse"])
