"""syevd."""

import numpy as np
import pytest

import lindiff.kernels

from .helpers import assert_adjoint, assert_close, assert_pushforward, general, separated, symmetric, t


@pytest.fixture(params=[np.float32, np.float64], ids=["f32", "f64"])
def dtype(request):
    return request.param


def test_decomposition(kernels, rng, dtype, n, batch):
    A = separated(rng, batch, n, dtype)
    U, lam = kernels.syevd(np.where(np.tri(n, dtype=bool), A, np.nan).astype(dtype))
    assert_close((t(U) * lam[..., None, :]) @ U, A, dtype)
    assert_close(lam, np.linalg.eigvalsh(A), dtype)
    largest = np.take_along_axis(U, np.abs(U).argmax(-1, keepdims=True), -1) if n else np.ones(1)
    assert (largest > 0).all()


@pytest.mark.parametrize("given", ["both", "U", "lam"])
def test_adjoint(kernels, rng, dtype, n, batch, given):
    A = separated(rng, batch, n, dtype)
    U, lam = kernels.syevd(A)
    A_dot = symmetric(rng, A.shape, dtype)
    U_bar, lam_bar = general(rng, A.shape, dtype), general(rng, lam.shape, dtype)
    U_dot, lam_dot = kernels.syevd_pushforward(U, lam, A_dot)
    pairs = []
    if given != "lam":
        pairs.append((U_bar, U_dot))
    if given != "U":
        pairs.append((lam_bar, lam_dot))
    A_bar = kernels.syevd_pullback(
        U, lam, None if given == "lam" else U_bar, None if given == "U" else lam_bar
    )
    np.testing.assert_array_equal(A_bar, t(A_bar))
    assert_adjoint([(A_bar, A_dot)], pairs, dtype)


def test_pushforward_by_differences(kernels, rng):
    A, A_dot = separated(rng, (2,), 5), symmetric(rng, (2, 5, 5))
    assert_pushforward(kernels.syevd, A, A_dot, kernels.syevd_pushforward(*kernels.syevd(A), A_dot))


@pytest.mark.parametrize("n", [2, 6, 30])
def test_repeated_eigenvalues_of_a_function_that_does_not_see_them(kernels, rng, n):
    """<C, Uᵀ diag(λ²) U> = <C, A²> is smooth where eigenvalues coincide: no division by a zero gap."""
    Q = np.linalg.qr(general(rng, (n, n)))[0]
    C = symmetric(rng, (n, n))
    for spectrum in (np.ones(n), np.repeat([1.0, 3.0], [n // 2, n - n // 2])):
        A = (Q * spectrum) @ Q.T
        A = (A + A.T) / 2
        U, lam = kernels.syevd(A)
        U_bar = 2 * (lam**2)[:, None] * U @ C
        lam_bar = 2 * lam * np.diag(U @ C @ U.T)
        A_bar = kernels.syevd_pullback(U, lam, U_bar, lam_bar)
        assert np.abs(A_bar).max() < 100


def test_ties_with_zero_numerator_give_zero(kernels):
    U, lam = kernels.syevd(np.eye(4))
    lam_bar = np.arange(4.0)
    A_bar = kernels.syevd_pullback(U, lam, np.eye(4), lam_bar)
    np.testing.assert_array_equal(A_bar, np.diag(lam_bar))


def test_sign_rule_takes_the_first_of_equals(kernels):
    U, _ = kernels.syevd(np.array([[0.0, 1.0], [1.0, 0.0]]))
    first = np.abs(U).argmax(axis=1)
    assert (U[range(2), first] > 0).all()


def test_overwriting(kernels, rng):
    A = separated(rng, (2,), 5)
    want = kernels.syevd(A)
    U, lam = kernels.syevd(A, overwrite_a=True)
    assert U is A
    assert_close(U, want[0])
    U_bar = general(rng, A.shape)
    A_bar = kernels.syevd_pullback(U, lam, U_bar, None)
    assert kernels.syevd_pullback(U, lam, U_bar, None, overwrite_u_bar=True) is U_bar
    assert_close(U_bar, A_bar)


def test_errors(kernels):
    A = np.eye(3) * np.ones((2, 1, 1))
    A[1, 2, 0] = np.nan
    with pytest.raises(np.linalg.LinAlgError, match=r"syevd: A holds NaN or infinity \(batch index \(1,\)\)"):
        kernels.syevd(A)
    with pytest.raises(ValueError, match="syevd_pullback: lam of shape"):
        kernels.syevd_pullback(np.eye(3), np.ones(2), np.eye(3), None)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 13, 33, 48, 49])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_small_orders_are_as_accurate_as_lapack(kernels, rng, n, kind):
    A = symmetric(rng, (4, n, n), kind)
    A[2] = A[2, :1] * A[2, :, :1]  # rank 1, not symmetric in rounding: only the lower triangle counts
    A[3] = np.kron(np.eye(n), [[1.0]]) * 1e-20 + np.eye(n, k=-1, dtype=kind)
    U, lam = kernels.syevd(A)
    A = np.tril(A) + t(np.tril(A, -1))
    eps = 20 * n * np.finfo(kind).eps
    assert np.abs(U @ t(U) - np.eye(n)).max() <= eps
    assert np.abs((t(U) * lam[..., None, :]) @ U - A).max() <= eps * np.abs(A).max()
    np.testing.assert_allclose(lam, np.linalg.eigvalsh(A.astype(float)), atol=eps * np.abs(A).max())


def test_scales_and_special_spectra(kernels):
    for A in (
        np.zeros((4, 4)),
        np.eye(4),
        np.ones((5, 5)),
        np.fliplr(np.eye(5)),
        np.diag([1e-200, 1.0, 1e200]),
        np.full((6, 6), 1e200),
        np.full((6, 6), 1e-250),
        np.diag(np.full(8, 1e-160), 1) + np.diag(np.full(8, 1e-160), -1) + np.diag(np.arange(9.0)),
    ):
        U, lam = kernels.syevd(A)
        n = len(A)
        np.testing.assert_allclose(U @ U.T, np.eye(n), atol=1e-14)
        np.testing.assert_allclose((U.T * lam) @ U, A, atol=1e-14 * max(np.abs(A).max(), 1e-300))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 4, 17])
def test_columns(kernels, rng, kind, n, lower):
    """``eigh`` is NumPy's, in values and signs, and ``syevd`` transposed in its derivatives."""
    A = separated(rng, (2,), n, kind)
    half = np.where(np.tri(n, dtype=bool) if lower else np.tri(n, dtype=bool).T, A, np.nan).astype(kind)
    w, V = kernels.eigh(half, lower)
    assert_close((V * w[..., None, :]) @ t(V), A, kind)
    # NumPy computes single precision in double, which may change signs; on a GPU they are those of syevd
    if kernels.__name__ == "lindiff.kernels" and kind == np.float64:
        assert_close(V, np.linalg.eigh(A, "L" if lower else "U")[1])
    X, w_bar = general(rng, A.shape, kind), general(rng, w.shape, kind)
    assert_close(
        kernels.eigh_pullback(w, V, w_bar, X), kernels.syevd_pullback(t(V), w, t(X), w_bar), kind, factor=10
    )
    A_dot = symmetric(rng, A.shape, kind)
    w_dot, V_dot = kernels.eigh_pushforward(w, V, A_dot)
    U_dot, lam_dot = kernels.syevd_pushforward(t(V), w, A_dot)
    assert_close(w_dot, lam_dot, kind, factor=10)
    assert_close(V_dot, t(U_dot), kind, factor=10)


@pytest.mark.parametrize(("name", "order"), [("syevd", 32767), ("eigh", 32767), ("gesdd", 23170)])
def test_workspaces_that_lapack_cannot_count_are_refused(name, order):
    kernels = lindiff.kernels
    if kernels.getrf(np.eye(2))[1].itemsize > 4:
        pytest.skip("this BLAS counts further")
    try:
        A = np.empty((order, order), np.float32)  # never touched
    except MemoryError:
        pytest.skip("no room for the matrix")
    with pytest.raises(ValueError, match=f"{name}: for order {order} LAPACK's workspace has [0-9]+ entries"):
        getattr(kernels, name)(A)
