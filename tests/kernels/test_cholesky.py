"""potrf, potri."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lindiff import kernels

from .helpers import (
    assert_adjoint,
    assert_close,
    assert_pushforward,
    general,
    spd,
    symmetric,
    t,
    tri,
    triangular,
)


def dirty(X, lower):
    """X with NaN in the triangle that must not be read."""
    return np.where(tri(np.ones(X.shape), lower) > 0, X, np.nan).astype(X.dtype)


def test_potrf(rng, dtype, lower, n, batch):
    A = spd(rng, batch, n, dtype)
    L = np.linalg.cholesky(A)
    assert_close(kernels.potrf(dirty(A, lower), lower=lower), L if lower else t(L), dtype)


def test_potrf_derivatives(rng, dtype, lower, n, batch):
    L = triangular(rng, batch, n, dtype, lower)
    A_dot, L_bar = symmetric(rng, L.shape, dtype), general(rng, L.shape, dtype)
    L_dot = kernels.potrf_pushforward(L, dirty(A_dot, lower), lower=lower)
    A_bar = kernels.potrf_pullback(L, dirty(L_bar, lower), lower=lower)
    np.testing.assert_array_equal(L_dot, tri(L_dot, lower))
    np.testing.assert_array_equal(A_bar, t(A_bar))
    assert_adjoint([(A_bar, A_dot)], [(L_bar, L_dot)], dtype)


def test_potrf_pullback_is_the_papers_expression(rng, lower):
    L, L_bar = triangular(rng, (), 90, lower=lower), general(rng, (90, 90))
    F, F_bar = (L, L_bar) if lower else (L.T, L_bar.T)
    inverse = np.linalg.inv(F)
    want = inverse.T @ kernels.copyltu(F.T @ np.tril(F_bar)) @ inverse / 2
    assert_close(kernels.potrf_pullback(L, L_bar, lower=lower), want)


def test_potrf_pushforward_by_differences(rng, lower):
    A, A_dot = spd(rng, (2,), 5), symmetric(rng, (2, 5, 5))
    L_dot = kernels.potrf_pushforward(kernels.potrf(A, lower=lower), A_dot, lower=lower)
    assert_pushforward(lambda X: (kernels.potrf(X, lower=lower),), A, A_dot, (L_dot,))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(n=st.integers(0, 140), lower=st.booleans())
def test_potrf_of_any_order(n, lower):
    rng = np.random.default_rng(n)
    A, A_dot, L_bar = spd(rng, (), n), symmetric(rng, (n, n)), general(rng, (n, n))
    L = kernels.potrf(A, lower=lower)
    assert_close(L @ L.T if lower else L.T @ L, A)
    L_dot = kernels.potrf_pushforward(L, A_dot, lower=lower)
    assert_adjoint([(kernels.potrf_pullback(L, L_bar, lower=lower), A_dot)], [(L_bar, L_dot)])


def test_potri(rng, dtype, lower, n, batch):
    L = triangular(rng, batch, n, dtype, lower)
    A = L @ t(L) if lower else t(L) @ L
    B = kernels.potri(dirty(L, lower), lower=lower)
    assert_close(B, np.linalg.inv(A), dtype, factor=10)
    np.testing.assert_array_equal(B, t(B))


def test_potri_derivatives(rng, dtype, lower, n, batch):
    L = triangular(rng, batch, n, dtype, lower)
    L_dot, B_bar = general(rng, (2, *L.shape), dtype)
    B = kernels.potri(L, lower=lower)
    B_dot = kernels.potri_pushforward(L, B, dirty(L_dot, lower), lower=lower)
    L_bar = kernels.potri_pullback(L, B, B_bar, lower=lower)
    np.testing.assert_array_equal(L_bar, tri(L_bar, lower))
    assert_adjoint([(L_bar, L_dot)], [(B_bar, B_dot)], dtype)


def test_potri_pushforward_by_differences(rng, lower):
    L, L_dot = triangular(rng, (), 5, lower=lower), triangular(rng, (), 5, lower=lower)
    B_dot = kernels.potri_pushforward(L, kernels.potri(L, lower=lower), L_dot, lower=lower)
    assert_pushforward(lambda X: (kernels.potri(X, lower=lower),), L, L_dot, (B_dot,))


@pytest.mark.parametrize("order", [3, 12, 40, 70])
def test_not_positive_definite(rng, lower, order):
    A = spd(rng, (2, 2), order)
    A[1, 0, order - 1, order - 1] = -7
    message = rf"potrf: the leading minor of order {order} is not positive .*pivot -.*batch index \(1, 0\)"
    before = A.copy()
    with pytest.raises(np.linalg.LinAlgError, match=message):
        kernels.potrf(A, lower=lower)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("order", [3, 12, 40, 70])
def test_nan_raises(rng, lower, order):
    A = spd(rng, (), order)
    A[order // 2, order // 2] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match=f"order {order // 2 + 1} .*nan"):
        kernels.potrf(A, lower=lower)


def test_overwriting(rng):
    A = spd(rng, (3,), 6)
    want = np.linalg.cholesky(A)
    L = kernels.potrf(A, overwrite_a=True)
    assert L is A
    assert_close(L, want)
    L_bar = general(rng, A.shape)
    want = kernels.potrf_pullback(L, L_bar)
    assert kernels.potrf_pullback(L, L_bar, overwrite_l_bar=True) is L_bar
    assert_close(L_bar, want)
    want = kernels.potri(L)
    assert kernels.potri(L, overwrite_l=True) is L
    assert_close(L, want)


def test_singular_factor():
    L = np.diag([1.0, 0.0])
    for call in (
        lambda: kernels.potri(L),
        lambda: kernels.potrf_pullback(L, L),
        lambda: kernels.potrf_pushforward(L, L),
        lambda: kernels.potri_pullback(L, L, L),
        lambda: kernels.potri_pushforward(L, L, L),
    ):
        with pytest.raises(np.linalg.LinAlgError, match="entry 1 of the diagonal is zero"):
            call()
