"""Squared distances between rows: right however near points are, however far from zero, on both ways."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld
from lindiff import linalg
from lindiff.kernels import squared_distances as kernel


def exact(X, Z):
    X, Z = X.astype(np.longdouble), Z.astype(np.longdouble)
    return np.sum((X[:, None] - Z) ** 2, axis=-1)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5, 16, 200])
@pytest.mark.parametrize("offset", [0.0, 1e3, -1e8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_near_points_far_from_zero(columns, offset, dtype):
    rng = np.random.default_rng(columns)
    X = (rng.standard_normal((20, columns)) + offset).astype(dtype)
    Z = (rng.standard_normal((9, columns)) + offset).astype(dtype)
    Z[:3] = X[:3]
    Z[3] = np.nextafter(X[3], np.inf)
    Z[4] = X[4]
    Z[4, 0] += np.asarray(1e-5, dtype)
    expected = exact(X, Z)
    found = kernel(X, Z)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found[expected == 0], 0)
    np.testing.assert_allclose(found, expected, rtol=500 * np.finfo(dtype).eps, atol=0)


def near_points(columns, dtype):
    """Pairs that differ by rounding, by little and by much, of points about 3."""
    rng = np.random.default_rng(columns)
    X, Z = (rng.standard_normal((n, columns)) + 3 for n in (20, 9))
    Z[:3], Z[3], Z[4] = X[:3], np.nextafter(X[3].astype(dtype), np.inf), X[4]
    Z[4, 0] += 1e-3
    return X.astype(dtype), Z.astype(dtype)


@pytest.mark.parametrize("columns", [1, 3, 4, 16])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_derivatives_by_near_points(columns, dtype):
    """Of the distance itself, whose derivative by its square is half of its inverse."""
    X, Z = near_points(columns, dtype)
    rng = np.random.default_rng(1)
    R_bar = rng.standard_normal((20, 9))

    def of_distance(X, Z):
        squared = linalg.squared_distances(X, Z)
        is_zero = np.equal(ld.value(squared), 0)
        return np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, squared))).astype(dtype)

    between = X[:, None].astype(np.longdouble) - Z
    lengths = np.sqrt(exact(X, Z))
    unit = between / np.where(lengths == 0, np.inf, lengths)[..., None]
    tolerance = 2e4 * np.finfo(dtype).eps
    X_bar, Z_bar = ld.vjp(of_distance, X, Z)[1](R_bar.astype(dtype))
    np.testing.assert_allclose(X_bar, np.einsum("ij,ijk->ik", R_bar, unit), atol=tolerance)
    np.testing.assert_allclose(Z_bar, -np.einsum("ij,ijk->jk", R_bar, unit), atol=tolerance)
    X_dot, Z_dot = rng.standard_normal(X.shape).astype(dtype), rng.standard_normal(Z.shape).astype(dtype)
    tangent = ld.jvp(of_distance, (X, Z), (X_dot, Z_dot))[1]
    expected = np.einsum("ijk,ijk->ij", unit, X_dot[:, None] - Z_dot)
    np.testing.assert_allclose(tangent, expected, atol=tolerance)


@pytest.mark.parametrize("columns", [2, 5])
def test_kernels_of_derivatives_are_their_formulas(columns):
    from lindiff.kernels import directed_differences, weighted_differences
    from lindiff.linalg.distances import _directed_differences, _weighted_differences

    X, Z = near_points(columns, np.float64)
    rng, R = np.random.default_rng(2), kernel(X, Z)
    weights, directions = rng.standard_normal((20, 9)), rng.standard_normal((20, columns))
    kept = weights.copy()
    found = weighted_differences(weights, X, Z, R)
    np.testing.assert_allclose(found, _weighted_differences(weights, X, Z, R), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(weights, kept)
    found = weighted_differences(weights, X, Z, R, of_columns=True)
    np.testing.assert_allclose(found, _weighted_differences(weights, X, Z, R, True), rtol=1e-12, atol=1e-13)
    found = directed_differences(directions, X, Z, R)
    np.testing.assert_allclose(found, _directed_differences(directions, X, Z, R), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("columns", [3, 4])
def test_scales_and_what_is_no_number(columns):
    rng = np.random.default_rng(0)
    X, Z = rng.standard_normal((3, columns)), rng.standard_normal((4, columns))
    for scale in (1e-150, 1e150):
        np.testing.assert_allclose(kernel(scale * X, scale * Z) / scale / scale, exact(X, Z).astype(float))
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.all(np.isinf(kernel(1e200 * X, 1e200 * Z)))
        X[1, 0] = np.nan
        assert np.array_equal(np.isnan(kernel(X, Z)), [[False] * 4, [True] * 4, [False] * 4])
        X[1, 0] = np.inf
        assert np.array_equal(np.isinf(kernel(X, Z)), [[False] * 4, [True] * 4, [False] * 4])


def test_layouts_and_mixed_types_leave_arguments_alone():
    rng = np.random.default_rng(1)
    X, Z = rng.standard_normal((12, 5))[::-2], np.asfortranarray(rng.standard_normal((4, 5)))
    kept = X.copy(), Z.copy()
    np.testing.assert_allclose(kernel(X, Z), exact(X, Z).astype(float))
    np.testing.assert_allclose(kernel(X.astype(np.float32), Z), exact(X.astype(np.float32), Z).astype(float))
    np.testing.assert_array_equal(kernel([[1, 2]], [[4, 6]]), [[25.0]])
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(Z, kept[1])


def test_the_same_points_twice():
    X = np.random.default_rng(2).standard_normal((6, 5))
    K_bar = np.random.default_rng(3).standard_normal((6, 6))
    got = ld.grad(lambda X: np.sum(K_bar * linalg.squared_distances(X, X)))(X)
    both = ld.grad(lambda X, Z: np.sum(K_bar * linalg.squared_distances(X, Z)), argnums=(0, 1))(X, X)
    np.testing.assert_allclose(got, both[0] + both[1])


def test_complex_points():
    with pytest.raises(TypeError, match="put real and imaginary parts beside each other"):
        linalg.squared_distances(np.zeros((2, 1), complex), np.zeros((2, 1)))


@pytest.mark.parametrize("shapes", [((3, 2), (3, 3)), ((3,), (3, 1)), ((2, 3, 1), (3, 1))])
def test_what_does_not_fit(shapes):
    with pytest.raises(ValueError, match="squared_distances: needs matrices with as many columns"):
        linalg.squared_distances(*map(np.zeros, shapes))
