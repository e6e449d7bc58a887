"""Quantiles: edges of q, ties, NaNs, errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld


def test_ends_of_q_have_the_slope_inside():
    x = np.array([3.0, 1.0, 7.0])
    quantile = ld.grad(lambda q: np.quantile(x, q))
    assert_allclose([quantile(0.0), quantile(0.25), quantile(1.0)], [4, 4, 8])
    clipped = ld.grad(lambda q: np.quantile(x, q, method="weibull"))
    assert_allclose([clipped(0.01), clipped(0.5 - 1e-9), clipped(0.99)], [0, 8, 0])
    assert ld.grad(lambda q: np.quantile(x, q, method="lower"))(0.4) == 0
    assert ld.grad(lambda q: np.quantile([2.0], q))(0.4) == 0
    assert_allclose(ld.grad(lambda q: np.percentile(x, q))(30.0), 4 / 100)


def test_ties_have_one_representative():
    gradient = ld.grad(np.median)(np.array([2.0, 1.0, 2.0, 2.0, 5.0]))
    assert np.sum(gradient) == 1
    assert np.count_nonzero(gradient) == 1
    assert gradient[1] == gradient[4] == 0


def test_median_of_an_even_number():
    assert_allclose(ld.grad(np.median)(np.array([4.0, 1.0, 2.0, 8.0])), [0.5, 0, 0.5, 0])


def test_nan_makes_the_quantile_nan():
    x = np.array([1.0, np.nan, 3.0])
    assert np.isnan(ld.value(np.median(ld.Variable(x))))
    assert np.isnan(ld.value(np.quantile(ld.Variable(x), 0.1)))
    y = ld.value(np.quantile(ld.Variable([[1.0, np.nan], [1.0, 2.0]]), [0.1, 0.5], axis=1))
    assert_array_equal(np.isnan(y), [[True, False], [True, False]])


def test_without_nans():
    x = np.array([4.0, np.nan, 1.0, 2.0])
    assert_allclose(ld.grad(np.nanmedian)(x), [0, 0, 0, 1])
    assert_allclose(ld.grad(lambda x: np.nanquantile(x, 0.25))(x), [0, 0, 0.5, 0.5])
    assert_allclose(ld.grad(lambda x: np.nanpercentile(x, 75))(x), [0.5, 0, 0, 0.5])
    assert_allclose(ld.grad(np.nanmedian)(x.astype("f4")), [0, 0, 0, 1])


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_a_lane_of_nans_does_not_disturb_the_others():
    x = np.array([[np.nan, np.nan, np.nan], [3.0, np.nan, 1.0]])
    y, pullback = ld.vjp(lambda x: np.nanmedian(x, axis=1), x)
    assert_array_equal(y, [np.nan, 2])
    assert_array_equal(pullback(np.array([0.0, 1.0]))[0], [[0, 0, 0], [0.5, 0, 0.5]])


def test_weights_and_overwritten_inputs_stay():
    x, w = np.array([3.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0])
    gradients = ld.grad(
        lambda x, w: np.quantile(x, 0.5, method="inverted_cdf", weights=w, overwrite_input=True),
        argnums=(0, 1),
    )(x, w)
    assert_array_equal(gradients[0], [0, 0, 1])
    assert_array_equal(gradients[1], [0, 0, 0])
    assert_array_equal(x, [3, 1, 2])


def test_errors_are_those_of_numpy():
    x = ld.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="range"):
        np.quantile(x, 1.5)
    with pytest.raises(ValueError, match="range"):
        np.percentile(x, ld.Variable(101.0))
    with pytest.raises(ValueError, match="not a valid method"):
        np.quantile(x, 0.5, method="other")
    with pytest.raises(ValueError, match="inverted_cdf"):
        np.nanquantile(x, 0.5, weights=[1, 2])
    with pytest.raises(TypeError):
        np.quantile(ld.Variable([1.0 + 1j]), 0.5)


def test_many_places_of_a_long_array():
    x = np.random.default_rng(0).standard_normal(1001)
    q = np.linspace(0, 1, 1001)
    assert_array_equal(ld.value(np.quantile(ld.Variable(x), q)), np.quantile(x, q))
    assert_allclose(ld.grad(lambda x: np.sum(np.quantile(x, q)))(x), np.ones(1001))
