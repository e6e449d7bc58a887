"""inverse, det, slogdet."""

import numpy as np
import pytest

from .helpers import adjoint, assert_adjoint, assert_close, assert_pushforward, general, inner, t

SIZES = pytest.mark.parametrize("n", [0, 1, 2, 5, 12, 13, 17, 40])


def regular(rng, batch, n, dtype=np.float64):
    """Well conditioned, with small diagonal, so that columns must be exchanged."""
    return (general(rng, (*batch, n, n), dtype) / max(n, 1) + 2 * np.eye(n)[::-1]).astype(dtype)


@SIZES
def test_inverse(kernels, rng, dtype, n, batch):
    A = regular(rng, batch, n, dtype)
    B = kernels.inverse(A)
    assert_close(A @ B, np.broadcast_to(np.eye(n), A.shape), dtype)
    A_dot, B_bar = general(rng, (2, *A.shape), dtype)
    B_dot, A_bar = kernels.inverse_pushforward(B, A_dot), kernels.inverse_pullback(B, B_bar)
    assert_adjoint([(A_bar, A_dot)], [(B_bar, B_dot)], dtype)


def test_inverse_by_differences(kernels, rng):
    A, A_dot = regular(rng, (2,), 5), general(rng, (2, 5, 5))
    B_dot = kernels.inverse_pushforward(kernels.inverse(A), A_dot)
    assert_pushforward(lambda A: (kernels.inverse(A),), A, A_dot, (B_dot,))


@SIZES
def test_determinant(kernels, rng, dtype, n, batch):
    A = regular(rng, batch, n, dtype)
    d, LU, piv = kernels.det(A)
    sign, log, also_LU, also_piv = kernels.slogdet(A)
    assert_close(d, np.linalg.det(A).astype(dtype), dtype)
    real = np.empty(0, dtype).real.dtype.type
    assert_close(log, np.linalg.slogdet(A)[1].astype(real), real)
    assert_close(sign, np.linalg.slogdet(A)[0].astype(dtype), dtype)
    np.testing.assert_array_equal(LU, also_LU)
    np.testing.assert_array_equal(piv, also_piv)
    log_bar = general(rng, batch, dtype)
    A_bar = kernels.slogdet_pullback(LU, piv, log_bar)
    assert_close(A_bar, log_bar[..., None, None] * adjoint(np.linalg.inv(A)), dtype)


def test_log_determinant_by_differences(kernels, rng):
    A, A_dot = regular(rng, (), 4), general(rng, (4, 4))
    A_bar = kernels.slogdet_pullback(*kernels.slogdet(A)[2:], 1.0)
    assert_pushforward(lambda A: kernels.slogdet(A)[1:2], A, A_dot, [inner((A_bar, A_dot))[0]])


def test_overwriting(kernels, rng):
    B, B_bar = general(rng, (2, 3, 6, 6))
    want = -t(B) @ B_bar @ t(B)
    given = B_bar.copy()
    assert_close(kernels.inverse_pullback(B, given), want)
    np.testing.assert_array_equal(given, B_bar)
    assert kernels.inverse_pullback(B, given, overwrite_b_bar=True) is given
    assert_close(given, want)


def test_singular(kernels, rng):
    A = general(rng, (2, 3, 3))
    A[1, 1] = 0
    with pytest.raises(np.linalg.LinAlgError, match=r"inverse: singular.*entry 1 .*batch index \(1,\)"):
        kernels.inverse(A)
    sign, log, LU, piv = kernels.slogdet(A)
    assert sign[1] == 0
    assert log[1] == -np.inf
    assert kernels.det(A)[0][1] == 0
    with pytest.raises(np.linalg.LinAlgError, match=r"slogdet: singular.*batch index \(1,\)"):
        kernels.slogdet_pullback(LU, piv, np.ones(2))
    assert np.isnan(kernels.slogdet(np.full((2, 2), np.nan))[0])
