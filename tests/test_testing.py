"""``check_grads`` and ``check_rule`` pass right derivatives and say what is wrong with others."""

from __future__ import annotations

import math

import numpy as np
import pytest

import lindiff as ld
from lindiff.testing import check_grads, check_rule


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


# -- check_rule ------------------------------------------------------------------------------------------


@ld.rule
def weighted(x, w, scale=2):
    return scale * x * w, ld.Bilinear(
        (lambda x_dot: scale * x_dot * w, lambda w_dot: scale * x * w_dot),
        (lambda y_bar: scale * y_bar * w, lambda y_bar: np.sum(scale * y_bar * x)),
    )


X = np.array([1.0, -2.0, 0.5])


def refused(rule, *args, match, **options):
    with pytest.raises(AssertionError, match=match):
        check_rule(rule, *args, **options)


def test_right_rules_pass():
    check_rule(square, X, order=3)
    check_rule(weighted, X, 3.0)
    check_rule(weighted, X, 3.0, 5)
    check_rule(weighted, X, 3.0, kwargs={"scale": 4})
    check_rule(weighted, X.astype(np.float32), np.float32(3.0))
    check_rule(square, X + 1j)
    check_rule(np.exp, X)
    check_rule(np.linalg.slogdet, np.eye(2) + 0.1)
    check_rule(np.concatenate, [X, X[:1]])


def test_a_pair_that_disagrees():
    @ld.rule
    def pair(x, w):
        return x * w, ld.Differential(
            (lambda x_dot: x_dot * w, lambda w_dot: x * w_dot),
            (lambda y_bar: y_bar * w, lambda y_bar: 1.5 * y_bar * x),
        )

    refused(
        pair, X, X + 1, match=r"check_rule: .*pair, argument 1 \(w\): pullback against differences, order 1"
    )
    refused(
        pair,
        X,
        X + 1,
        rtol=10.0,
        match=r"pair, argument 1 \(w\): pullback against pushforward \(<y_bar, J x_dot> .*largest error \d",
    )


def test_a_small_disagreement_is_seen_by_the_adjoint_identity():
    @ld.rule
    def nearly(x):
        return np.square(x), ld.Differential(
            lambda x_dot: 2 * x * x_dot, lambda y_bar: (2 + 1e-9) * x * y_bar
        )

    refused(nearly, X, match="nearly, argument 0 .*pullback against pushforward")


def test_a_pushforward_that_is_wrong():
    @ld.rule
    def wrong(x):
        return np.square(x), ld.Differential(lambda x_dot: x * x_dot, lambda y_bar: 2 * x * y_bar)

    refused(wrong, X, match="wrong, argument 0 .*pushforward against differences, order 1, mode fwd")


def test_wrong_shapes():
    @ld.rule
    def too_long(x):
        return np.square(x), lambda y_bar: np.ones(5)

    @ld.rule
    def too_few(x, y):
        return x * y, lambda y_bar: (y_bar * y,)

    @ld.rule
    def one_for_all(x):
        return np.sum(np.square(x)), ld.Differential(
            lambda x_dot: np.sum(2 * x * x_dot), lambda y_bar: 2 * y_bar
        )

    refused(too_long, X, modes=["rev"], match=r"too_long, argument 0 .*returned a cotangent of shape \(5,\)")
    refused(
        too_few, X, X, modes=["rev"], match=r"too_few, argument 1 \(y\): .*returned 1 cotangents for 2 arg"
    )
    refused(one_for_all, X, match="one_for_all, argument 0 .*pullback against differences")


def test_a_value_that_is_not_the_functions():
    from lindiff.core.registry import Rule

    def rounded(x):
        return np.sin(x.astype(np.float32)), ld.Elementwise(np.cos(x))

    def off(x):
        return np.sin(x) + 1e-3, ld.Elementwise(np.cos(x))

    refused(Rule(np.sin, rounded), X, match=r"rounded: value against numpy.sin: got \(3,\) float32, expected")
    refused(Rule(np.sin, off), X, match=r"off: value against numpy.sin: .*largest error 1.0e-03")


def test_rules_that_do_not_dispatch():
    @ld.rule
    def through_math(x):
        return math.exp(x), lambda y_bar: math.exp(x) * y_bar

    @ld.rule
    def through_asarray(x):
        slope = np.cos(np.asarray(x))
        return np.sin(x), ld.Elementwise(slope)

    check_rule(through_math, 1.0, order=1)
    refused(
        through_math,
        1.0,
        match="through_math, all arguments: differentiating twice raised TypeError: (?s:.*)math's",
    )
    check_rule(through_asarray, X, order=1)
    refused(through_asarray, X, match="through_asarray, all arguments: (?s:.*)no np.asarray")


def test_a_wrong_second_order_of_a_rule():
    check_rule(wrong_second_order, X, order=1)
    refused(
        wrong_second_order, X, match="wrong_second_order, all arguments: pushforward against diff.*order 2"
    )


def test_pullbacks_that_write():
    @ld.rule
    def overwrites(x):
        def pullback(y_bar):
            if isinstance(y_bar, np.ndarray):
                y_bar *= 2
            return y_bar

        return 2 * x, pullback

    @ld.rule
    def forgets(x):
        left = [2.0, 3.0, 4.0]

        def pullback(y_bar):
            return left.pop(0) * y_bar

        return 2 * x, pullback

    refused(overwrites, X, order=1, modes=["rev"], match="overwrites, argument 0 .*changes .*y_bar")
    refused(forgets, X, order=1, modes=["rev"], match="forgets, argument 0 .*called a second time")


def test_errors_of_the_primal_are_the_callers():
    with pytest.raises(ValueError, match="modes are"):
        check_rule(square, X, modes=["reverse"])
