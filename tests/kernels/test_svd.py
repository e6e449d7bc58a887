"""gesdd."""

import numpy as np
import pytest

from .helpers import assert_adjoint, assert_close, assert_pushforward, general, t

REAL = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
SHAPES = pytest.mark.parametrize(
    "shape", [(1, 1), (3, 3), (20, 20), (5, 2), (2, 5), (30, 12), (12, 30), (3, 1)]
)


def separated(rng, batch, shape, dtype=np.float64):
    """With singular values 1, 2, 3, ..."""
    m, n = shape
    k = min(m, n)
    U = np.linalg.qr(rng.standard_normal((*batch, m, k)))[0]
    V = np.linalg.qr(rng.standard_normal((*batch, n, k)))[0]
    return ((U * np.arange(1.0, k + 1)) @ t(V)).astype(dtype)


@REAL
@SHAPES
@pytest.mark.parametrize("batch", [(), (3,), (2, 1)], ids=str)
def test_decomposition(kernels, rng, dtype, shape, batch):
    A = separated(rng, batch, shape, dtype)
    U, s, Vh = kernels.gesdd(A)
    assert_close((U * s[..., None, :]) @ Vh, A, dtype)
    for X in (t(U) @ U, Vh @ t(Vh)):
        assert_close(X, np.broadcast_to(np.eye(s.shape[-1]), X.shape), dtype)
    assert (np.diff(s) <= 0).all()
    # NumPy computes single precision in double, which may change signs, as Jacobi's method on a GPU does
    if kernels.__name__ == "lindiff.kernels" and dtype == np.float64:
        for got, want in zip((U, s, Vh), np.linalg.svd(A, full_matrices=False), strict=True):
            assert_close(got, want)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 3, 2)])
def test_empty(kernels, shape):
    for got, want in zip(
        kernels.gesdd(np.ones(shape)), np.linalg.svd(np.ones(shape), full_matrices=False), strict=True
    ):
        assert got.shape == want.shape


@REAL
@SHAPES
@pytest.mark.parametrize("given", ["Usv", "U", "s", "v", "Us", "sv"])
def test_adjoint(kernels, rng, dtype, shape, given):
    A = separated(rng, (2,), shape, dtype)
    factors = kernels.gesdd(A)
    A_dot = general(rng, A.shape, dtype)
    dots = kernels.gesdd_pushforward(*factors, A_dot)
    bars = [
        general(rng, x.shape, dtype) if name in given else None
        for x, name in zip(factors, "Usv", strict=True)
    ]
    A_bar = kernels.gesdd_pullback(*factors, *bars)
    pairs = [(bar, dot) for bar, dot in zip(bars, dots, strict=True) if bar is not None]
    assert_adjoint([(A_bar, A_dot)], pairs, dtype)


@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5)])
def test_pushforward_by_differences(kernels, rng, shape):
    A, A_dot = separated(rng, (2,), shape), general(rng, (2, *shape))
    assert_pushforward(kernels.gesdd, A, A_dot, kernels.gesdd_pushforward(*kernels.gesdd(A), A_dot))


def test_a_single_value_may_be_zero_in_a_square_matrix(kernels, rng):
    U, s, Vh = kernels.gesdd(np.diag([2.0, 0.0]))
    A_bar = kernels.gesdd_pullback(U, s, Vh, general(rng, (2, 2)), np.ones(2), general(rng, (2, 2)))
    assert np.isfinite(A_bar).all()


def test_errors(kernels):
    U, s, Vh = kernels.gesdd(np.eye(3, 2))
    with pytest.raises(ValueError, match="one of U_bar, s_bar and Vh_bar must be given"):
        kernels.gesdd_pullback(U, s, Vh, None, None, None)
    with pytest.raises(ValueError, match=r"gesdd_pullback: s_bar has shape \(3,\).*end in \(2\)"):
        kernels.gesdd_pullback(U, s, Vh, None, np.ones(3), None)
    with pytest.raises(ValueError, match=r"gesdd_pushforward: A_dot has shape \(2, 2\).*end in \(3, 2\)"):
        kernels.gesdd_pushforward(U, s, Vh, np.eye(2))
    with pytest.raises(
        np.linalg.LinAlgError, match=r"gesdd: (A holds NaN or infinity|no convergence) \(batch index \(1,\)\)"
    ):
        kernels.gesdd(np.stack([np.eye(3), np.full((3, 3), np.nan)]))


def test_nearly_equal(kernels):
    assert not kernels.nearly_equal([3.0, 2.0, 0.0])
    assert kernels.nearly_equal([3.0, 2.0, 0.0], zero=True)
    assert kernels.nearly_equal([[1.0, 2.0], [2.0, 2.0 + 1e-15]])
    assert not kernels.nearly_equal(np.ones((3, 1)))
    assert not kernels.nearly_equal(np.ones((2, 0)), zero=True)
    assert kernels.nearly_equal(np.zeros(2))
