"""trmm, trsm, copyltu."""

import itertools

import numpy as np
import pytest

from lindiff.linalg import trsm

from .helpers import adjoint, assert_adjoint, assert_close, general, op, tri, triangular

FLAGS = list(itertools.product([False, True, "C"], [False, True], [False, True]))


def problem(rng, batch, n, dtype, rightside, lower):
    L = triangular(rng, batch, n, dtype, lower)
    A = general(rng, (*batch, *((3, n) if rightside else (n, 3))), dtype)
    return L, A


def product(L, A, transpose, rightside):
    L = op(L, transpose)
    return A @ L if rightside else L @ A


def dirty(L, lower):
    """L with NaN in the triangle that must not be read."""
    return np.where(tri(np.ones(L.shape), lower) > 0, L, np.nan).astype(L.dtype)


@pytest.mark.parametrize(("transpose", "rightside", "lower"), FLAGS)
def test_trmm_and_trsm(kernels, rng, dtype, n, batch, transpose, rightside, lower):
    L, A = problem(rng, batch, n, dtype, rightside, lower)
    B = product(L, A, transpose, rightside)
    options = {"transpose": transpose, "rightside": rightside, "lower": lower, "alpha": 2.0}
    assert_close(kernels.trmm(dirty(L, lower), A, **options), 2 * B, dtype)
    assert_close(kernels.trsm(dirty(L, lower), B, **options), 2 * A, dtype)


@pytest.mark.parametrize(("transpose", "rightside", "lower"), FLAGS)
def test_pullbacks(kernels, rng, dtype, n, batch, transpose, rightside, lower):
    L, A = problem(rng, batch, n, dtype, rightside, lower)
    L_dot, A_dot = problem(rng, batch, n, dtype, rightside, lower)
    options = {"transpose": transpose, "rightside": rightside, "lower": lower}
    B_bar = general(rng, A.shape, dtype)

    B_dot = 2 * (product(L_dot, A, transpose, rightside) + product(L, A_dot, transpose, rightside))
    L_bar, A_bar = kernels.trmm_pullback(L, A, B_bar, alpha=2.0, **options)
    np.testing.assert_array_equal(L_bar, tri(L_bar, lower))
    assert_adjoint([(L_bar, L_dot), (A_bar, A_dot)], [(B_bar, B_dot)], dtype)

    B = kernels.trsm(L, A, alpha=2.0, **options)
    B_dot = kernels.trsm(L, 2 * A_dot - product(L_dot, B, transpose, rightside), **options)
    L_bar, A_bar = kernels.trsm_pullback(L, B, B_bar, alpha=2.0, **options)
    np.testing.assert_array_equal(L_bar, tri(L_bar, lower))
    assert_adjoint([(L_bar, L_dot), (A_bar, A_dot)], [(B_bar, B_dot)], dtype)


def test_trsm_pullback_with_alpha_zero(kernels, rng):
    L, A = problem(rng, (), 4, np.float64, False, True)
    B = kernels.trsm(L, A, alpha=0.0)
    L_bar, A_bar = kernels.trsm_pullback(L, B, A, alpha=0.0)
    assert not L_bar.any()
    assert not A_bar.any()


def test_broadcasting(kernels, rng):
    L, A = triangular(rng, (4, 1), 3), general(rng, (2, 3, 5))
    assert_close(kernels.trmm(L, A), L @ A)
    assert_close(kernels.trsm(L, A), np.linalg.solve(L, A))
    L_bar, A_bar = kernels.trsm_pullback(L[0, 0], A, A)
    assert L_bar.shape == (2, 3, 3)
    assert A_bar.shape == (2, 3, 5)


def test_overwriting(kernels, rng, dtype):
    L, A = problem(rng, (2,), 5, dtype, False, True)
    want = np.linalg.solve(L, A)
    B = kernels.trsm(L, A, overwrite_a=True)
    assert B is A
    assert_close(B, want, dtype)
    B_bar = general(rng, A.shape, dtype)
    kept = kernels.trsm_pullback(L, B, B_bar)
    L_bar, A_bar = kernels.trsm_pullback(L, B, B_bar, overwrite_b_bar=True, overwrite_l=True)
    assert L_bar is L
    assert A_bar is B_bar
    assert_close(L_bar, kept[0], dtype)
    assert_close(A_bar, kept[1], dtype)
    want = L_bar @ B
    assert kernels.trmm(L_bar, B, overwrite_a=True) is B
    assert_close(B, want, dtype)
    kept = kernels.trmm_pullback(L, B, B_bar)[1]
    assert kernels.trmm_pullback(L, B, B_bar, overwrite_b_bar=True)[1] is B_bar
    assert_close(B_bar, kept, dtype)


def test_no_overwriting_of_a_matrix_that_must_grow(kernels, rng):
    L, A = triangular(rng, (3,), 4), general(rng, (4, 2))
    before = A.copy()
    assert kernels.trsm(L, A, overwrite_a=True).shape == (3, 4, 2)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("n", [3, 12])
def test_singular(kernels, rng, dtype, n):
    L, A = triangular(rng, (2, 2), n, dtype), general(rng, (2, 2, n, 1), dtype)
    L[1, 0, 2, 2] = 0
    with pytest.raises(np.linalg.LinAlgError, match=r"trsm: .*entry 2 .*batch index \(1, 0\)"):
        kernels.trsm(L, A)
    with pytest.raises(np.linalg.LinAlgError, match=r"trsm_pullback: .*entry 2"):
        kernels.trsm_pullback(L, A, A)


def test_copyltu(kernels, rng, dtype, n, batch):
    X = general(rng, (*batch, n, n), dtype)
    want = np.tril(X) + adjoint(np.tril(X, -1))
    want = want - np.eye(n, dtype=dtype) * (want - want.real)
    np.testing.assert_array_equal(kernels.copyltu(X), want)
    assert kernels.copyltu(X, overwrite_x=True) is X


@pytest.mark.parametrize("name", ["trmm", "trsm"])
def test_transpose_is_false_true_or_c(kernels, name):
    with pytest.raises(ValueError, match=rf'{name}: transpose must be False, True or "C", got \'T\''):
        getattr(kernels, name)(np.eye(2), np.eye(2), transpose="T")


@pytest.mark.parametrize("n", [3, 12])
def test_complex_quotients_neither_overflow_nor_vanish(kernels, rng, n):
    """The plain formula would form squares of 1e200."""
    L, A = problem(rng, (), n, np.complex128, False, True)
    want = np.linalg.solve(L, A)
    for scale in [1e200, 1e-200]:
        assert_close(kernels.trsm(scale * L, scale * A), want, np.complex128)


@pytest.mark.parametrize(("transpose", "lower"), list(itertools.product([False, True, "C"], [False, True])))
@pytest.mark.parametrize("order", [7, 8, 9, 11, 16, 50, 128, 129, 263])
@pytest.mark.parametrize("rows", [63, 64, 71, 200])
def test_many_rows_before_a_triangle(kernels, rng, rows, order, transpose, lower):
    L = triangular(rng, (), order, np.float64, lower)
    L = np.where(np.eye(order) > 0, 1 + np.abs(L), L / order)
    X = general(rng, (rows, order), np.float64)
    options = {"transpose": transpose, "rightside": True, "lower": lower, "alpha": -0.5}
    B = product(L, X, transpose, True)
    before = B.copy()
    assert_close(kernels.trsm(dirty(L, lower), B, **options), -0.5 * X, np.float64)
    np.testing.assert_array_equal(B, before)
    in_place = kernels.trsm(dirty(L, lower), B, overwrite_a=True, **options)
    assert np.shares_memory(in_place, B)
    assert_close(B, -0.5 * X, np.float64)


@pytest.mark.parametrize("special", [np.inf, np.nan])
@pytest.mark.parametrize("transpose", [False, True])
def test_what_is_not_finite_stays_in_its_row_and_behind_its_column(kernels, rng, transpose, special):
    L = triangular(rng, (), 21, np.float64, True) / 21 + np.eye(21)
    B = general(rng, (100, 21), np.float64)
    expected = kernels.trsm(L, B, transpose=transpose, rightside=True)
    B[17, 10] = special
    X = kernels.trsm(L, B, transpose=transpose, rightside=True)
    untouched = np.ones(X.shape, bool)
    untouched[17] = np.arange(21) < 10 if transpose else np.arange(21) > 10
    np.testing.assert_array_equal(X[untouched], expected[untouched])
    assert not np.isfinite(X[~untouched]).any()


@pytest.mark.parametrize("size", [1e-305, 1e-160, 1e160, 1e307])
def test_pivots_of_any_size(kernels, rng, size):
    L, X = triangular(rng, (), 20, np.float64, True) / 20 + np.eye(20), general(rng, (100, 20), np.float64)
    B = X @ L.T
    assert_close(kernels.trsm(L * size, B * size, transpose=True, rightside=True), X, np.float64)


def test_rows_before_a_triangle_in_threads(kernels, rng):
    L = triangular(rng, (), 100, np.float64, True) / 100 + np.eye(100)
    X = general(rng, (20_000, 100), np.float64)
    assert_close(kernels.trsm(L, X @ L.T, transpose=True, rightside=True), X, np.float64)


@pytest.mark.parametrize("order", [20, 150, 300])
def test_many_rows_are_solved_for_as_exactly_as_few(kernels, rng, order):
    """The componentwise backward error, in units of the last place, does not grow with the order."""
    L = np.tril(general(rng, (order, order), np.float64)) / order
    np.fill_diagonal(L, rng.uniform(0.5, 2.0, order))
    B = general(rng, (128, order), np.float64)
    X = kernels.trsm(L, B, transpose=True, rightside=True)
    left = X.astype(np.longdouble) @ L.T - B
    assert np.max(np.abs(left) / (np.abs(X) @ np.abs(L.T))) < 4 * np.finfo(float).eps


@pytest.mark.parametrize("rows", [10, 100])
def test_nothing_of_what_is_not_finite_is_nothing(rng, rows):
    L = triangular(rng, (), 20, np.float64, True) + 3 * np.eye(20)
    B = np.full((rows, 20), np.nan)
    assert not trsm(L, B, transpose=True, rightside=True, alpha=0.0).any()
