"""Interpolation, phases, convolution, histograms: values at edges, kinds of numbers, errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld
from lindiff.testing import check_grads

XP, FP = np.array([0.0, 1.0, 3.0]), np.array([2.0, 5.0, 1.0])


def test_interp_at_knots_and_outside():
    x = np.array([-1.0, 0.0, 0.5, 1.0, 3.0, 4.0])
    gradients = ld.grad(lambda x, xp, fp: np.sum(np.interp(x, xp, fp)), argnums=(0, 1, 2))(x, XP, FP)
    assert_allclose(gradients[0], [0, 3, 3, -2, -2, 0])
    assert_allclose(gradients[1], [-4.5, 0.5, 2])
    assert_allclose(gradients[2], [2.5, 1.5, 2])


def test_interp_left_and_right():
    def f(x, left, right):
        return np.sum(np.interp(x, XP, FP, left=left, right=right))

    x = np.array([-1.0, -2.0, 0.0, 3.0, 4.0])
    gradients = ld.grad(f, argnums=(0, 1, 2))(x, 7.0, 8.0)
    assert_allclose(gradients[0], [0, 0, 3, -2, 0])
    assert gradients[1:] == (2, 1)


def test_interp_of_nan_leaves_the_others_finite():
    def f(x, fp):
        y = np.interp(x, XP, fp)
        return np.sum(np.where(np.isnan(y), 0, y))

    gradients = ld.grad(f, argnums=(0, 1))(np.array([np.nan, 0.5]), FP)
    assert_allclose(gradients[0], [0, 3])
    assert_allclose(gradients[1], [0.5, 0.5, 0])


def test_interp_of_repeated_knots():
    xp, fp = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0, 5.0])
    x = np.array([0.5, 1.0, 1.5])
    assert_allclose(ld.value(np.interp(ld.Variable(x), xp, fp)), np.interp(x, xp, fp))
    assert_allclose(ld.grad(lambda x: np.sum(np.interp(x, xp, fp)))(x), [1, 2, 2])
    assert ld.grad(lambda x: np.interp(x, [0.0, 1.0, 1.0], [0.0, 1.0, 3.0]))(1.0) == 0


def test_interp_of_single_precision_is_double_as_in_numpy():
    x = np.array([0.5, 2.0], np.float32)
    y, pullback = ld.vjp(lambda x: np.interp(x, XP, FP), x)
    assert y.dtype == np.float64
    assert pullback(np.ones(2))[0].dtype == np.float32


def test_interp_errors():
    x = ld.Variable([0.5])
    with pytest.raises(ValueError, match="period"):
        np.interp(x, XP, FP, period=0)
    with pytest.raises(ValueError, match="same length"):
        np.interp(x, XP, FP[:2], period=1.0)
    with pytest.raises(ValueError, match="same length"):
        np.interp(x, XP, FP[:2])
    with pytest.raises(ValueError, match="1-D"):
        np.interp(x, XP[None], FP, period=1.0)
    with pytest.raises(ValueError, match="empty"):
        np.interp(x, [], [])


def test_unwrap_counts_turns():
    p = np.array([0.0, 3.0, -3.0, 0.5, 3.1, -2.9])
    gradient, of_period = ld.grad(lambda p, c: np.sum(np.unwrap(p, period=c)), argnums=(0, 1))(p, 2 * np.pi)
    assert_array_equal(gradient, np.ones(6))
    assert of_period == 2  # turns of the third and the last


def test_convolution_is_what_its_sum_says():
    def by_hand(a, v):
        return np.stack([sum(a[k - j] * v[j] for j in range(3) if 0 <= k - j < 4) for k in range(6)])

    rng = np.random.default_rng(0)
    a, v = rng.standard_normal(4), rng.standard_normal(3)
    y_bar = rng.standard_normal(6)
    for got, expected in zip(
        ld.vjp(np.convolve, a, v)[1](y_bar), ld.vjp(by_hand, a, v)[1](y_bar), strict=True
    ):
        assert_allclose(got, expected)


def test_convolution_keeps_single_precision_and_refuses_what_numpy_refuses():
    a = np.ones(3, np.float32)
    assert ld.grad(lambda a: np.sum(np.convolve(a, a)))(a).dtype == np.float32
    for function in [np.convolve, np.correlate]:
        with pytest.raises(ValueError, match="empty"):
            function(ld.Variable(np.ones(0)), [1.0])
        with pytest.raises(ValueError, match="mode"):
            function(ld.Variable(a), [1.0], mode="other")
        with pytest.raises(ValueError, match="too deep"):
            function(ld.Variable(np.ones((2, 2))), [1.0])


def test_histogram_of_data_on_edges():
    x = np.array([0.0, 1.0, 1.0, 2.0, 4.0])
    w = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    (sums, _), pullback = ld.vjp(lambda w: np.histogram(x, [0, 1, 2, 3], weights=w), w)
    assert_array_equal(sums, np.histogram(x, [0, 1, 2, 3], weights=w)[0])
    assert_array_equal(pullback((np.array([1.0, 2.0, 3.0]), np.zeros(4)))[0], [1, 2, 2, 3, 0])
    sums = ld.value(np.histogramdd([x, x], [[0, 2, 4], [0, 1, 4]], weights=ld.Variable(w))[0])
    assert_array_equal(sums, np.histogramdd([x, x], [[0, 2, 4], [0, 1, 4]], weights=w)[0])


def test_histogram_without_weights_is_plain_but_for_its_edges():
    counts, edges = np.histogram(ld.Variable([1.0, 2.0, 5.0]), 2)
    assert not isinstance(counts, ld.Variable)
    assert counts.dtype.kind == "i"
    assert isinstance(edges, ld.Variable)
    assert not isinstance(np.histogram(ld.Variable([1.0, 2.0, 5.0]), 2, (0.0, 6.0))[1], ld.Variable)


def test_histogram_of_equal_data():
    x = np.full(3, 2.0)
    edges, pullback = ld.vjp(lambda x: np.histogram_bin_edges(x, 2), x)
    assert_allclose(edges, [1.5, 2, 2.5])
    assert_allclose(pullback(np.ones(3))[0], np.ones(3))


def test_density_by_given_edges():
    x = np.array([0.1, 0.6, 0.7, 1.3])
    check_grads(lambda edges: np.histogram(x, edges, density=True)[0], (np.array([0.0, 0.5, 1.0, 2.0]),))


def test_histogram_errors_are_those_of_numpy():
    x, w = ld.Variable([1.0, 2.0, 5.0]), ld.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="same shape"):
        np.histogram(x, weights=w)
    with pytest.raises(TypeError, match="weighted data"):
        np.histogram(x, "auto", weights=x)
    with pytest.raises(ValueError, match="positive"):
        np.histogram(x, 0)
    with pytest.raises(ValueError, match="same length"):
        np.histogram2d(x, w)
    with pytest.raises(ValueError, match="dimension of bins"):
        np.histogramdd(x, [2, 3])
    with pytest.raises(ValueError, match="not finite"):
        np.histogram(ld.Variable([1.0, np.nan]))
    with pytest.raises(TypeError, match="cast"):
        np.bincount(x)
