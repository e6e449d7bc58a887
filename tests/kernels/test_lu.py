"""getrf, getrs, getri."""

import numpy as np
import pytest

from .helpers import assert_close, general, op


def regular(rng, batch, n, dtype):
    """Well conditioned, with small diagonal, so that columns must be exchanged."""
    X = general(rng, (*batch, n, n), np.result_type(dtype, np.float64)) / max(n, 1)
    return (X + 2 * np.eye(n)[::-1]).astype(dtype)


def test_factors(kernels, rng, dtype, n, batch):
    A = regular(rng, batch, n, dtype)
    LU, piv = kernels.getrf(A)
    L, U = np.tril(LU), np.triu(LU, 1) + np.eye(n, dtype=dtype)
    B = L @ U
    for index in np.ndindex(*batch):
        for i in reversed(range(n)):
            B[index][:, [i, piv[(*index, i)]]] = B[index][:, [piv[(*index, i)], i]]
    assert_close(B, A, dtype)
    assert np.abs(U).max(initial=0) <= 1.5  # complex pivots are the largest in |Re| + |Im|


@pytest.mark.parametrize("transpose", [False, True, "C"])
def test_solve(kernels, rng, dtype, n, batch, transpose):
    A, X = regular(rng, batch, n, dtype), general(rng, (*batch, n, 3), dtype)
    B = op(A, transpose) @ X
    assert_close(kernels.getrs(*kernels.getrf(A), B, transpose=transpose), X, dtype)


def test_inverse(kernels, rng, dtype, n, batch):
    A = regular(rng, batch, n, dtype)
    assert_close(kernels.getri(*kernels.getrf(A)), np.linalg.inv(A), dtype, factor=10)


def test_broadcasting_and_overwriting(kernels, rng, dtype):
    A, B = regular(rng, (), 4, dtype), general(rng, (3, 4, 2), dtype)
    want = np.linalg.solve(A, B)
    LU, piv = kernels.getrf(A, overwrite_a=True)
    assert LU is A
    X = kernels.getrs(LU, piv, B, overwrite_b=True)
    assert X is B
    assert_close(X, want, dtype)
    assert kernels.getri(LU, piv, overwrite_lu=True) is LU


@pytest.mark.parametrize("n", [3, 12])
def test_singular(kernels, rng, dtype, n):
    A = general(rng, (2, n, n), dtype)
    A[1, 1] = A[1, 0]
    A[1, 1, :] = 0
    LU, piv = kernels.getrf(A)
    for call in (lambda: kernels.getrs(LU, piv, A), lambda: kernels.getri(LU, piv)):
        with pytest.raises(np.linalg.LinAlgError, match=r"entry 1 .*batch index \(1,\)"):
            call()


def test_bad_pivots(kernels, rng):
    LU, piv = kernels.getrf(regular(rng, (), 3, float))
    with pytest.raises(ValueError, match="getrs: piv holds the index 7"):
        kernels.getrs(LU, [7, 1, 2], LU)
    with pytest.raises(ValueError, match="getrs: piv of shape"):
        kernels.getrs(LU, piv[:2], LU)
    with pytest.raises(TypeError, match="getrs: piv has dtype float64"):
        kernels.getrs(LU, piv.astype(float), LU)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("exchanged", [False, True])
def test_two_rows(rng, dtype, transpose, exchanged):
    """The same bits as beside a third one that stands apart; more than 64 columns go to BLAS."""
    from lindiff import kernels

    A = np.array([[0.3, 1.7], [2.0, 0.1]] if exchanged else [[1.7, 0.3], [0.1, 2.0]], dtype)
    LU, piv = kernels.getrf(A)
    apart = np.eye(3, dtype=dtype)
    apart[:2, :2] = A
    assert (piv[0] != 0) == exchanged
    for k in (1, 2, 5, 64, 65):
        B = rng.standard_normal((3, k)).astype(dtype)
        X = kernels.getrs(LU, piv, B[:2], transpose=transpose)
        parts = [B[:, i : i + 32].copy() for i in range(0, k, 32)]
        factors = kernels.getrf(apart)
        expected = np.hstack([kernels.getrs(*factors, part, transpose=transpose) for part in parts])
        if k <= 64:
            np.testing.assert_array_equal(X, expected[:2])
        np.testing.assert_allclose(X, expected[:2], rtol=1e-5)
