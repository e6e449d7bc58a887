"""Squared distances in scales of their own for each column: near points, any dtype, all orders, both ways."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld
from lindiff import gp
from lindiff.gp.scaled_distances import MANY_COLUMNS, scaled_squared_distances
from lindiff.kernels import scaled_squared_distances as kernel
from lindiff.testing import check_grads

COLUMNS = [1, 3, MANY_COLUMNS - 1, MANY_COLUMNS, 50]


def points(columns, dtype=np.float64, offset=3.0):
    """Pairs that differ by rounding, by little and by much, and scales."""
    rng = np.random.default_rng(columns)
    X, Z = (rng.standard_normal((n, columns)) + offset for n in (12, 7))
    Z[:3], Z[3], Z[4] = X[:3], np.nextafter(X[3].astype(dtype), np.inf), X[4]
    Z[4, 0] += 1e-3
    return X.astype(dtype), Z.astype(dtype), rng.uniform(0.5, 2.0, columns).astype(dtype)


def exact(X, Z, scale):
    """Differences of each pair and column, in scales."""
    X, Z, scale = (x.astype(np.longdouble) for x in (X, Z, scale))
    return (X[:, None] - Z) / scale


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("columns", COLUMNS)
def test_values(columns, offset, dtype):
    X, Z, scale = points(columns, dtype, offset)
    expected = np.sum(exact(X, Z, scale) ** 2, axis=-1)
    found = kernel(X, Z, scale)[0]
    assert found.dtype == dtype
    np.testing.assert_array_equal(found[expected == 0], 0)
    np.testing.assert_allclose(found, expected, rtol=500 * np.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("argnums", [(0, 1, 2), (1, 2), (0,), (1,), (2,)])
@pytest.mark.parametrize("columns", [MANY_COLUMNS, 50])
def test_derivatives_by_near_points(columns, argnums, dtype):
    """Weights that are as large as near points are near: each pair has its part."""
    X, Z, scale = points(columns, dtype)
    between = exact(X, Z, scale)
    lengths = np.sqrt(np.sum(between**2, axis=-1))
    weights = np.random.default_rng(1).standard_normal(lengths.shape) / np.where(
        lengths == 0, np.inf, lengths
    )
    R_bar = weights.astype(dtype)
    each = 2 * R_bar[..., None].astype(np.longdouble) * between / scale
    expected = (np.sum(each, axis=1), -np.sum(each, axis=0), -np.sum(each * between, axis=(0, 1)))
    found = ld.grad(lambda *args: np.sum(R_bar * scaled_squared_distances(*args)), argnums=argnums)(
        X, Z, scale
    )
    sizes = (np.sum(abs(each), axis=1), np.sum(abs(each), axis=0), np.sum(abs(each * between), axis=(0, 1)))
    for k, got in zip(argnums, found, strict=True):
        assert got.dtype == dtype
        assert np.all(
            abs(got - expected[k]) <= 2e4 * np.finfo(dtype).eps * (sizes[k] + 1e-3 * sizes[k].max())
        )


@pytest.mark.parametrize("columns", COLUMNS)
def test_of_points_among_themselves(columns):
    X, _, scale = points(columns)
    R_bar = np.random.default_rng(2).standard_normal((len(X), len(X)))
    found = ld.grad(lambda X, s: np.sum(R_bar * scaled_squared_distances(X, X, s)), argnums=(0, 1))(X, scale)
    *both, by_scale = ld.grad(
        lambda X, Z, s: np.sum(R_bar * scaled_squared_distances(X, Z, s)), argnums=(0, 1, 2)
    )(X, X.copy(), scale)
    np.testing.assert_allclose(found[0], sum(both), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[1], by_scale, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("columns", [2, MANY_COLUMNS])
def test_all_orders_and_ways(columns):
    X, Z, scale = points(columns)

    def kernel_of(*args):
        return np.exp(-scaled_squared_distances(*args) / (4 * columns))

    check_grads(kernel_of, (X[:4], Z[:3] + 0.1, scale))
    check_grads(lambda X, scale: kernel_of(X, X, scale), (X[:4], scale))


@pytest.mark.parametrize("rows", [5, 600])
def test_kernels_of_many_columns_as_of_few(rows):
    """Columns of zeros change nothing: of one tile and of several, on whichever way."""
    rng = np.random.default_rng(3)
    X, Z, scale = rng.standard_normal((rows, 3)), rng.standard_normal((300, 3)), rng.uniform(1, 2, 3)
    more = MANY_COLUMNS
    wide = [np.concatenate([x, np.zeros((len(x), more))], axis=1) for x in (X, Z)]
    long = np.concatenate([scale, np.ones(more)])

    def total(scale, X, Z):
        kernel = 2.0 * gp.kernels.Matern(scale, nu=2.5)
        return np.sum(kernel(X, Z) ** 2) + np.sum(np.log1p(kernel(Z)))

    narrow = ld.value_and_grad(total, argnums=(0, 1, 2))(scale, X, Z)
    found = ld.value_and_grad(total, argnums=(0, 1, 2))(long, *wide)
    np.testing.assert_allclose(found[0], narrow[0], rtol=1e-12)
    for got, expected in zip(found[1], narrow[1], strict=True):
        np.testing.assert_allclose(got[..., :3], expected, rtol=1e-10, atol=1e-10)


def test_numbers_that_are_none():
    X, Z, scale = points(MANY_COLUMNS)
    X[1, 2] = np.nan
    found = ld.grad(lambda X, Z, s: np.sum(scaled_squared_distances(X, Z, s)), argnums=(0, 1, 2))(X, Z, scale)
    assert np.isnan(scaled_squared_distances(X, Z, scale)[1]).all()
    assert np.isnan(found[0][1, 2])
    assert np.isfinite(found[0][[0, *range(2, 12)]]).all()
    assert np.isnan(found[1][:, 2]).all()
    assert np.isnan(found[2][2])
