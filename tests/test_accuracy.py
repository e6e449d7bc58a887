"""Derivatives of ill-conditioned cases against 60 digits; skipped where mpmath is not installed.

The bounds are a few times what rounding of the input alone does: eps times the condition number.
"""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp

EPS = np.finfo(float).eps
RNG = np.random.default_rng(11)
N = 4
Q = np.linalg.qr(RNG.standard_normal((N, N)))[0]
P = np.linalg.qr(RNG.standard_normal((N, N)))[0]
W = RNG.standard_normal((N, N))
CONDITION = 1e10
GRADED = np.logspace(0, -np.log10(CONDITION), N)


@pytest.fixture(autouse=True)
def sixty_digits():
    with mpmath.workdps(60):
        yield


def symmetric(X):
    return 0.5 * (X + X.T)


def exact(X):
    return mpmath.matrix(X.tolist())


def rounded(X):
    return np.array(X.tolist(), float).reshape(X.rows, X.cols)


def assert_accurate(got, expected, bound):
    error = np.linalg.norm(got - expected) / np.linalg.norm(expected)
    assert error <= bound, f"relative error {error:.1e}, bound {bound:.1e}"


def entrywise(f, A, symmetric=True):
    """The gradient of ``f`` at A by differences with 60 digits, which err by about 1e-30."""
    h = mpmath.mpf(10) ** -25
    A = exact(A)
    G = np.zeros((N, N))
    for i in range(N):
        for j in range(i + 1 if symmetric else N):
            E = mpmath.zeros(N)
            E[i, j] += h / 2
            E[j if symmetric else i, i if symmetric else j] += h / 2
            G[i, j] = (f(A + E) - f(A - E)) / (2 * h)
            if symmetric:
                G[j, i] = G[i, j]
    return G


def test_cholesky():
    A = symmetric((Q * GRADED) @ Q.T)
    expected = entrywise(
        lambda A: mpmath.fsum(a * w for a, w in zip(mp.cholesky(A), exact(W), strict=True)), A
    )
    for factor in [np.linalg.cholesky, ld.linalg.potrf]:
        got = ld.grad(lambda A: np.sum(W * factor(A)))(A)  # noqa: B023
        assert_accurate(got, expected, 10 * EPS * CONDITION)


def test_solve():
    A, b, x_bar = (Q * GRADED) @ P, W[0], W[1]
    inverse = exact(A) ** -1
    x = inverse * exact(b[:, None])
    adjoint = inverse.T * exact(x_bar[:, None])
    got = ld.grad(lambda A, b: x_bar @ np.linalg.solve(A, b), argnums=(0, 1))(A, b)
    assert_accurate(got[0], rounded(-adjoint * x.T), 10 * EPS * CONDITION)
    assert_accurate(got[1], rounded(adjoint)[:, 0], 10 * EPS * CONDITION)


def test_inv():
    A = (Q * GRADED) @ P
    inverse = (exact(A) ** -1).T
    got = ld.grad(lambda A: np.sum(W * np.linalg.inv(A)))(A)
    assert_accurate(got, rounded(-inverse * exact(W) * inverse), 10 * EPS * CONDITION)


def test_slogdet():
    A = (Q * GRADED) @ P
    got = ld.grad(lambda A: np.linalg.slogdet(A)[1])(A)
    assert_accurate(got, rounded((exact(A) ** -1).T), 10 * EPS * CONDITION)


def test_log_determinant_through_cholesky_and_eigenvalues():
    A = symmetric((Q * GRADED) @ Q.T)
    expected = rounded(exact(A) ** -1)
    for f in [
        lambda A: 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(A)))),
        lambda A: np.sum(np.log(np.linalg.eigvalsh(A))),
        lambda A: np.sum(np.log(np.linalg.eigh(A)[0])),
    ]:
        assert_accurate(ld.grad(f)(A), expected, 10 * EPS * CONDITION)


@pytest.mark.parametrize("rank", [4, 3, 2, 1, 0])
def test_det_of_singular_matrices(rank):
    """Cofactors of integers are exact."""
    A = RNG.integers(-3, 4, (N, rank)) @ RNG.integers(-3, 4, (rank, N)) * 1.0

    def minor(i, j):
        rest = exact(np.delete(np.delete(A, i, 0), j, 1))
        return float(mp.det(rest)) * (-1) ** (i + j)

    expected = np.array([[minor(i, j) for j in range(N)] for i in range(N)])
    got = ld.grad(np.linalg.det)(A)
    scale = np.linalg.norm(A, 2) ** (N - 1)
    assert np.max(np.abs(got - expected)) <= 20 * EPS * max(scale, 1)


def test_det_of_nearly_singular_matrices():
    A = (Q * [1.0, 0.5, 1e-9, 1e-12]) @ P
    A_ = exact(A)
    expected = rounded((A_**-1).T * mp.det(A_))
    assert_accurate(ld.grad(np.linalg.det)(A), expected, 100 * EPS / 1e-9)


# -- eigenvalues -------------------------------------------------------------------------------------------


def of_eigh(A, f):
    w, V = np.linalg.eigh(A)
    return (V * f(w)) @ V.T


def spectral_gradient(A, f, derivative):
    """Of ``sum(W * V f(w) Vᵀ)``: ``V (D ∘ VᵀWV) Vᵀ``, D the divided differences of f."""
    w, V = mp.eigsy(exact(A))
    Z = V.T * exact(symmetric(W)) * V
    for i in range(N):
        for j in range(N):
            Z[i, j] *= derivative(w[i]) if i == j else (f(w[i]) - f(w[j])) / (w[i] - w[j])
    return rounded(V * Z * V.T)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8])
def test_functions_of_matrices_with_close_eigenvalues(gap):
    A = symmetric((Q * [1.0, 1.0 + gap, 1.0 + 3 * gap, 2.0]) @ Q.T)
    got = ld.grad(lambda A: np.sum(W * of_eigh(A, np.exp)))(A)
    assert_accurate(got, spectral_gradient(A, mp.exp, mp.exp), 20 * EPS / gap)


def test_eigenvectors_of_an_ill_conditioned_matrix():
    A = symmetric((Q * GRADED) @ Q.T)
    got = ld.grad(lambda A: np.sum(W * of_eigh(A, np.log)))(A)
    assert_accurate(got, spectral_gradient(A, mp.log, lambda w: 1 / w), 100 * EPS * CONDITION)


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12, 1e-14, 0.0])
def test_clusters(gap):
    """The gradient of tr exp(A) is exp(A); that of a projector on the whole cluster knows no gap in it."""
    A = symmetric((Q * [1.0, 1.0 + gap, 1.0 + 2 * gap, 2.0]) @ Q.T)
    got = ld.grad(lambda A: np.sum(np.exp(np.linalg.eigvalsh(A))))(A)
    assert_accurate(got, rounded(mp.expm(exact(A))), 20 * EPS)
    V = Q[:, :3]
    lost = V @ V.T @ symmetric(W) @ np.outer(Q[:, 3], Q[:, 3])
    got = ld.grad(lambda A: np.sum(W * (lambda V: V[:, :3] @ V[:, :3].T)(np.linalg.eigh(A)[1])))(A)
    assert_accurate(got, -(lost + lost.T), 100 * EPS + 10 * gap)


@pytest.mark.parametrize("smallest", [1e-3, 1e-6, 1e-10])
def test_smallest_singular_value(smallest):
    A = (Q * [1.0, 0.7, 0.4, smallest]) @ P
    U, _, Vh = mp.svd_r(exact(A))
    got = ld.grad(lambda A: np.linalg.svdvals(A)[-1])(A)
    assert_accurate(got, rounded(U[:, 3] * Vh[3, :]), 20 * EPS)


def test_polar_factor_of_an_ill_conditioned_matrix():
    A = (Q * GRADED) @ P

    def polar(A):
        U, _, Vh = np.linalg.svd(A)
        return np.sum(W * (U @ Vh))

    def exact_polar(A):
        U, _, Vh = mp.svd_r(A)
        return mpmath.fsum(a * w for a, w in zip(U * Vh, exact(W), strict=True))

    got = ld.grad(polar)(A)
    assert_accurate(got, entrywise(exact_polar, A, symmetric=False), 20 * EPS * CONDITION)
