"""potrf, potri."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .helpers import (
    adjoint,
    assert_adjoint,
    assert_close,
    assert_pushforward,
    general,
    real_diagonal,
    spd,
    symmetric,
    tri,
    triangular,
)


def dirty(X, lower):
    """X with NaN in the triangle that must not be read."""
    return np.where(tri(np.ones(X.shape), lower) > 0, X, np.nan).astype(X.dtype)


def test_potrf(kernels, rng, dtype, lower, n, batch):
    A = spd(rng, batch, n, dtype)
    L = np.linalg.cholesky(A)
    given = dirty(A, lower)
    if given.dtype.kind == "c":  # of the diagonal only the real part is read
        given += 1j * np.eye(n, dtype=dtype)
    assert_close(kernels.potrf(given, lower=lower), L if lower else adjoint(L), dtype)


def test_potrf_derivatives(kernels, rng, dtype, lower, n, batch):
    L = real_diagonal(triangular(rng, batch, n, dtype, lower))
    A_dot, L_bar = symmetric(rng, L.shape, dtype), general(rng, L.shape, dtype)
    L_dot = kernels.potrf_pushforward(L, dirty(A_dot, lower), lower=lower)
    A_bar = kernels.potrf_pullback(L, dirty(L_bar, lower), lower=lower)
    np.testing.assert_array_equal(L_dot, tri(L_dot, lower))
    np.testing.assert_array_equal(A_bar, adjoint(A_bar))
    assert_adjoint([(A_bar, A_dot)], [(L_bar, L_dot)], dtype)


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_potrf_pullback_is_the_papers_expression(kernels, rng, lower, kind):
    L = real_diagonal(triangular(rng, (), 90, kind, lower=lower))
    L_bar = general(rng, (90, 90), kind)
    F, F_bar = (L, L_bar) if lower else (adjoint(L), adjoint(L_bar))
    inverse = np.linalg.inv(F)
    want = adjoint(inverse) @ kernels.copyltu(adjoint(F) @ np.tril(F_bar)) @ inverse / 2
    assert_close(kernels.potrf_pullback(L, L_bar, lower=lower), want, kind)


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_potrf_pushforward_by_differences(kernels, rng, lower, kind):
    A, A_dot = spd(rng, (2,), 5, kind), symmetric(rng, (2, 5, 5), kind)
    L_dot = kernels.potrf_pushforward(kernels.potrf(A, lower=lower), A_dot, lower=lower)
    assert_pushforward(lambda X: (kernels.potrf(X, lower=lower),), A, A_dot, (L_dot,))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(n=st.integers(0, 140), lower=st.booleans(), kind=st.sampled_from([np.float64, np.complex128]))
def test_potrf_of_any_order(kernels, n, lower, kind):
    rng = np.random.default_rng(n)
    A, A_dot, L_bar = spd(rng, (), n, kind), symmetric(rng, (n, n), kind), general(rng, (n, n), kind)
    L = kernels.potrf(A, lower=lower)
    assert_close(L @ adjoint(L) if lower else adjoint(L) @ L, A, kind)
    L_dot = kernels.potrf_pushforward(L, A_dot, lower=lower)
    assert_adjoint([(kernels.potrf_pullback(L, L_bar, lower=lower), A_dot)], [(L_bar, L_dot)], kind)


def test_potri(kernels, rng, dtype, lower, n, batch):
    L = triangular(rng, batch, n, dtype, lower)
    A = L @ adjoint(L) if lower else adjoint(L) @ L
    B = kernels.potri(dirty(L, lower), lower=lower)
    assert_close(B, np.linalg.inv(A), dtype, factor=10)
    np.testing.assert_array_equal(B, adjoint(B))


def test_potri_derivatives(kernels, rng, dtype, lower, n, batch):
    L = triangular(rng, batch, n, dtype, lower)
    L_dot, B_bar = general(rng, (2, *L.shape), dtype)  # with a complex diagonal, too
    B = kernels.potri(L, lower=lower)
    B_dot = kernels.potri_pushforward(L, B, dirty(L_dot, lower), lower=lower)
    L_bar = kernels.potri_pullback(L, B, B_bar, lower=lower)
    np.testing.assert_array_equal(L_bar, tri(L_bar, lower))
    assert_adjoint([(L_bar, L_dot)], [(B_bar, B_dot)], dtype)


@pytest.mark.parametrize("kind", [np.float64, np.complex128])
def test_potri_pushforward_by_differences(kernels, rng, lower, kind):
    L, L_dot = triangular(rng, (), 5, kind, lower), triangular(rng, (), 5, kind, lower)
    B_dot = kernels.potri_pushforward(L, kernels.potri(L, lower=lower), L_dot, lower=lower)
    assert_pushforward(lambda X: (kernels.potri(X, lower=lower),), L, L_dot, (B_dot,))


@pytest.mark.parametrize("order", [3, 12, 40, 70])
def test_not_positive_definite(kernels, rng, dtype, lower, order):
    A = spd(rng, (2, 2), order, dtype)
    A[1, 0, order - 1, order - 1] = -7
    message = rf"potrf: the leading minor of order {order} is not positive .*pivot -.*batch index \(1, 0\)"
    before = A.copy()
    with pytest.raises(np.linalg.LinAlgError, match=message):
        kernels.potrf(A, lower=lower)
    np.testing.assert_array_equal(A, before)


@pytest.mark.parametrize("order", [3, 12, 40, 70])
@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_nan_and_infinity_raise(kernels, rng, dtype, lower, order, bad):
    A = spd(rng, (), order, dtype)
    A[order // 2, order // 2] = bad
    with pytest.raises(np.linalg.LinAlgError, match=f"order {order // 2 + 1} .*{bad}"):
        kernels.potrf(A, lower=lower)


def test_overwriting(kernels, rng, dtype):
    A = spd(rng, (3,), 6, dtype)
    want = np.linalg.cholesky(A)
    L = kernels.potrf(A, overwrite_a=True)
    assert L is A
    assert_close(L, want, dtype)
    L_bar = general(rng, A.shape, dtype)
    want = kernels.potrf_pullback(L, L_bar)
    assert kernels.potrf_pullback(L, L_bar, overwrite_l_bar=True) is L_bar
    assert_close(L_bar, want, dtype)
    want = kernels.potri(L)
    assert kernels.potri(L, overwrite_l=True) is L
    assert_close(L, want, dtype)


def test_singular_factor(kernels, dtype):
    L = np.diag([1.0, 0.0]).astype(dtype)
    for call in (
        lambda: kernels.potri(L),
        lambda: kernels.potrf_pullback(L, L),
        lambda: kernels.potrf_pushforward(L, L),
        lambda: kernels.potri_pullback(L, L, L),
        lambda: kernels.potri_pushforward(L, L, L),
    ):
        with pytest.raises(np.linalg.LinAlgError, match="entry 1 of the diagonal is zero"):
            call()
