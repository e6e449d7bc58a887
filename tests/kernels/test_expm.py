"""expm, expm_keeping, expm_pushforward, expm_pullback."""

import numpy as np
import pytest

from .helpers import assert_close, general, t


@pytest.fixture(params=[np.float32, np.float64], ids=["f32", "f64"])
def dtype(request):
    """Complex matrices take the formula."""
    return request.param


def exact(A):
    """The exponential in 50 digits: Taylor's series of a small multiple, squared."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(50):
        n = len(A)
        halvings = max(int(np.ceil(np.log2(np.abs(A).sum(axis=1).max()))), 0) + 5
        M = mpmath.matrix(A.tolist()) / mpmath.mpf(2) ** halvings
        term = E = mpmath.eye(n)
        for k in range(1, 30):
            term = term * M / k
            E = E + term
        for _ in range(halvings):
            E = E * E
        return np.array([[float(E[i, j]) for j in range(n)] for i in range(n)])


def error(kernels, A):
    E = exact(A)
    return np.linalg.norm(kernels.expm(A) - E) / np.linalg.norm(E)


@pytest.mark.parametrize("size", [1e-3, 0.02, 0.1, 0.5, 1.0, 10.0])
@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_every_order(kernels, rng, n, dtype, size):
    A = (size * rng.standard_normal((n, n))).astype(dtype)
    assert_close(kernels.expm(A), exact(A.astype(float)), dtype, factor=10)


def test_nonnormal(kernels, rng):
    """Norms far larger than the spectrum, entries of very different size, cancellation."""
    N = np.triu(rng.standard_normal((6, 6)), 1)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    D = np.diag(10.0 ** np.arange(-3, 3))
    assert error(kernels, Q @ (20 * N - np.diag(np.arange(6.0))) @ Q.T) < 1e-12
    assert error(kernels, D @ rng.standard_normal((6, 6)) @ np.linalg.inv(D)) < 1e-13
    assert error(kernels, np.array([[1.0, 1e6], [1e-6, -1.0]])) < 1e-15
    assert error(kernels, np.array([[-131.0, 19, 18], [-390, 56, 54], [-387, 57, 52]])) < 2e-13
    assert error(kernels, np.array([[-49.0, 24], [-64, 31]])) < 5e-14


@pytest.mark.parametrize("triangle", [np.tril, np.triu])
def test_large_triangles(kernels, rng, triangle):
    """Their diagonal, and the entries beside it, are exact to rounding."""
    A = triangle(rng.standard_normal((5, 5)) * 30)
    E, X = kernels.expm(A), exact(A)
    np.testing.assert_array_equal(triangle(E), E)
    np.testing.assert_allclose(np.diag(E), np.exp(np.diag(A)), rtol=1e-15)
    for k in (-1, 1):
        np.testing.assert_allclose(np.diag(E, k), np.diag(X, k), rtol=1e-13)
    strict = triangle(1e3 * rng.standard_normal((6, 6)), 1 if triangle is np.triu else -1)
    assert error(kernels, strict) < 1e-13


def test_diagonal_may_overflow(kernels):
    with np.errstate(over="ignore"):
        E = kernels.expm(np.diag([1000.0, 0.0, -1000.0]))
    np.testing.assert_array_equal(E, np.diag([np.inf, 1.0, 0.0]))


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e7), (np.float64, 1e60)])
def test_powers_may_overflow(kernels, dtype, size):
    """The exponential of a large matrix with eigenvalues on the left is zero, that of its derivative, too."""
    A = (size * np.array([[-2, 1], [1, -2]])).astype(dtype)
    E, *kept = kernels.expm_keeping(A)
    np.testing.assert_array_equal(E, 0)
    np.testing.assert_array_equal(kernels.expm_pushforward(E, *kept, np.ones_like(A)), 0)


def test_not_finite(kernels):
    A = np.zeros((3, 2, 2))
    A[0, 0, 1], A[1, 1, 1] = np.nan, np.inf
    E, *kept = kernels.expm_keeping(A)
    assert np.isnan(E[:2]).all()
    np.testing.assert_array_equal(E[2], np.eye(2))
    assert np.isnan(kernels.expm_pushforward(E, *kept, np.ones_like(A))[:2]).all()


def test_matrices_of_a_batch_do_not_see_each_other(kernels, rng):
    sizes = np.array([1e-3, 1.0, 50.0])
    A, X = sizes[:, None, None] * rng.standard_normal((3, 4, 4)), rng.standard_normal((3, 4, 4))
    E, *kept = kernels.expm_keeping(A)
    Y = kernels.expm_pushforward(E, *kept, X)
    for i in range(3):
        alone, *kept_alone = kernels.expm_keeping(A[i])
        np.testing.assert_array_equal(E[i], alone)
        np.testing.assert_array_equal(Y[i], kernels.expm_pushforward(alone, *kept_alone, X[i]))


@pytest.mark.parametrize("size", [1e-3, 0.02, 0.1, 0.5, 1.0, 10.0])
def test_derivative(kernels, rng, n, dtype, batch, size):
    """The Fréchet derivative stands in the exponential of [[A, X], [0, A]]."""
    A, X, Y = (general(rng, (*batch, n, n), dtype) for _ in range(3))
    A *= dtype(size / max(n, 1))
    M = np.block([[A, X], [np.zeros_like(A), A]])
    E, *kept = kernels.expm_keeping(A)
    np.testing.assert_array_equal(E, kernels.expm(A))
    pushed = kernels.expm_pushforward(E, *kept, X)
    assert_close(pushed, kernels.expm(M)[..., :n, n:], dtype, factor=100)
    pulled = kernels.expm_pullback(E, *kept, Y)
    assert_close(pulled, t(kernels.expm_pushforward(E, *kept, t(Y))), dtype)
    assert_close(np.sum(pulled * X), np.sum(pushed * Y), dtype, factor=100 * max(n, 1))


def test_overwriting_and_errors(kernels, rng):
    A, X = rng.standard_normal((2, 3, 3))
    E, kept, piv = kernels.expm_keeping(A)
    want = kernels.expm_pullback(E, kept, piv, X)
    assert kernels.expm_pullback(E, kept, piv, X, overwrite_e_bar=True) is X
    np.testing.assert_array_equal(X, want)
    for bad in (piv[:3], piv + 5, np.array([0, 0, 0, 4, 0])):
        with pytest.raises(ValueError, match="piv"):
            kernels.expm_pushforward(E, kept, bad, A)
    with pytest.raises(ValueError, match="do not fit"):
        kernels.expm_pushforward(E, kept, piv, np.zeros((2, 2)))
