"""Batches of small matrices: what `lindiff.kernels` computes."""

import numpy as np
import pytest
from kernels.helpers import RTOL, adjoint, general, separated, spd, sym, symmetric, tri, triangular

from lindiff import kernels

# Every width, orders that fill it or do not, every type.
CASES = [
    *((1, np.float64), (2, np.complex64), (3, np.float32), (4, np.complex128), (7, np.float64)),
    *((13, np.complex128), (17, np.float64), (32, np.float32)),
]
REAL_CASES = [
    *((1, np.float64), (2, np.float32), (3, np.float64), (4, np.float64), (7, np.float32), (8, np.float32)),
    *((13, np.float64), (16, np.float64), (17, np.float32), (32, np.float64)),
]
COUNT = 5  # no multiple of the tiles of a block


@pytest.fixture
def small(cupy):
    from lindiff_cuda import small

    return small


def with_nan(X, lower):
    """X, with NaN in the triangle that is not named."""
    return np.where(tri(np.ones(X.shape), lower) == 1, X, np.array(np.nan, X.dtype))


def assert_close(got, expected):
    got = got.get()
    assert got.dtype == expected.dtype
    scale = np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(got, expected, rtol=0, atol=RTOL[expected.dtype.type] * scale)


def assert_hermitian(X):
    np.testing.assert_array_equal(X.get(), adjoint(X.get()))


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{np.dtype(case[1]).char}")
def case(request):
    return request.param


@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
class TestCholesky:
    def test_potrf(self, cupy, small, rng, case, lower):
        n, dtype = case
        host = spd(rng, (COUNT,), n, dtype)
        A = cupy.asarray(with_nan(host, lower))
        info, _ = small.potrf(A, lower)
        assert not info.get().any()
        assert_close(A, kernels.potrf(host, lower=lower))
        np.testing.assert_array_equal(A.get(), tri(A.get(), lower))

    def test_pullback(self, cupy, small, rng, case, lower):
        n, dtype = case
        L = kernels.potrf(spd(rng, (COUNT,), n, dtype), lower=lower)
        L_bar = general(rng, (COUNT, n, n), dtype)
        X = cupy.asarray(with_nan(L_bar, lower))
        info = small.potrf_pullback(cupy.asarray(with_nan(L, lower)), X, lower)
        assert not info.get().any()
        assert_close(X, kernels.potrf_pullback(L, L_bar, lower=lower))
        assert_hermitian(X)

    def test_pushforward(self, cupy, small, rng, case, lower):
        n, dtype = case
        L = kernels.potrf(spd(rng, (COUNT,), n, dtype), lower=lower)
        A_dot = symmetric(rng, (COUNT, n, n), dtype)
        X = cupy.asarray(with_nan(A_dot, lower))
        info = small.potrf_pushforward(cupy.asarray(with_nan(L, lower)), X, lower)
        assert not info.get().any()
        assert_close(X, kernels.potrf_pushforward(L, A_dot, lower=lower))
        np.testing.assert_array_equal(X.get(), tri(X.get(), lower))

    def test_potri(self, cupy, small, rng, case, lower):
        n, dtype = case
        L = triangular(rng, (COUNT,), n, dtype, lower)
        X = cupy.asarray(with_nan(L, lower))
        assert not small.potri(X, lower).get().any()
        assert_close(X, kernels.potri(L, lower=lower))
        assert_hermitian(X)

    def test_potri_pullback(self, cupy, small, rng, case, lower):
        n, dtype = case
        L, B_bar = triangular(rng, (COUNT,), n, dtype, lower), general(rng, (COUNT, n, n), dtype)
        X = cupy.asarray(B_bar)
        assert not small.potri_pullback(cupy.asarray(with_nan(L, lower)), X, lower).get().any()
        assert_close(X, kernels.potri_pullback(L, kernels.potri(L, lower=lower), B_bar, lower=lower))
        np.testing.assert_array_equal(X.get(), tri(X.get(), lower))

    def test_potri_pushforward(self, cupy, small, rng, case, lower):
        n, dtype = case
        L, L_dot = triangular(rng, (COUNT,), n, dtype, lower), general(rng, (COUNT, n, n), dtype)
        X = cupy.asarray(with_nan(L_dot, lower))
        assert not small.potri_pushforward(cupy.asarray(with_nan(L, lower)), X, lower).get().any()
        assert_close(X, kernels.potri_pushforward(L, kernels.potri(L, lower=lower), L_dot, lower=lower))
        assert_hermitian(X)


FLAGS = [(t, r, w) for t in (False, True, "C") for r in (False, True) for w in (True, False)]
SHAPES = [(1, 1, "d"), (2, 3, "F"), (3, 7, "f"), (7, 1, "D"), (13, 20, "d"), (20, 3, "D"), (32, 40, "f")]


@pytest.mark.parametrize(("n", "k", "letter"), SHAPES)
@pytest.mark.parametrize(("transpose", "rightside", "lower"), FLAGS)
@pytest.mark.parametrize("name", ["trsm", "trmm"])
class TestTriangular:
    def arrays(self, rng, n, k, letter, rightside, lower):
        dtype = np.dtype(letter).type
        shape = (COUNT, k, n) if rightside else (COUNT, n, k)
        L = triangular(rng, (COUNT,), n, dtype, lower)
        return (L, L[0]), general(rng, shape, dtype), general(rng, shape, dtype)

    def test_value(self, cupy, small, rng, n, k, letter, transpose, rightside, lower, name):
        flags = {"transpose": transpose, "rightside": rightside, "lower": lower, "alpha": -0.5}
        triangles, A, _ = self.arrays(rng, n, k, letter, rightside, lower)
        for L in triangles:
            B = cupy.asarray(A)
            info = getattr(small, name)(cupy.asarray(with_nan(L, lower)), B, **flags)
            assert info is None or not info.get().any()
            assert_close(B, getattr(kernels, name)(L, A, **flags))

    def test_pullback(self, cupy, small, rng, n, k, letter, transpose, rightside, lower, name):
        flags = {"transpose": transpose, "rightside": rightside, "lower": lower, "alpha": -0.5}
        triangles, A, bar = self.arrays(rng, n, k, letter, rightside, lower)
        for L in triangles:
            L_bar, A_bar = cupy.empty((COUNT, n, n), L.dtype), cupy.asarray(bar)
            pullback = getattr(small, f"{name}_pullback")
            info = pullback(cupy.asarray(with_nan(L, lower)), cupy.asarray(A), A_bar, L_bar, **flags)
            assert info is None or not info.get().any()
            expected = getattr(kernels, f"{name}_pullback")(L, A, bar, **flags)
            assert_close(L_bar, expected[0])
            assert_close(A_bar, expected[1])


@pytest.mark.parametrize(("n", "dtype"), REAL_CASES)
class TestEigen:
    def test_value(self, cupy, small, rng, n, dtype):
        host = separated(rng, (COUNT,), n, dtype)
        A, lam = cupy.asarray(with_nan(host, True)), cupy.empty((COUNT, n), dtype)
        assert not small.syevd(A, lam).get().any()
        U_expected, lam_expected = kernels.syevd(host)
        assert_close(lam, lam_expected)
        assert_close(A, U_expected)

    def test_pullback(self, cupy, small, rng, n, dtype):
        U, lam = kernels.syevd(separated(rng, (COUNT,), n, dtype))
        U_bar, lam_bar = general(rng, (COUNT, n, n), dtype), general(rng, (COUNT, n), dtype)
        for u, w in ((U_bar, lam_bar), (U_bar, None), (None, lam_bar)):
            X = cupy.empty((COUNT, n, n), dtype) if u is None else cupy.asarray(u)
            bar = None if w is None else cupy.asarray(w)
            small.syevd_pullback(cupy.asarray(U), cupy.asarray(lam), X, bar, has_u_bar=u is not None)
            assert_close(X, kernels.syevd_pullback(U, lam, u, w))
            assert_hermitian(X)

    def test_pushforward(self, cupy, small, rng, n, dtype):
        U, lam = kernels.syevd(separated(rng, (COUNT,), n, dtype))
        A_dot = symmetric(rng, (COUNT, n, n), dtype)
        X, lam_dot = cupy.asarray(with_nan(A_dot, True)), cupy.empty((COUNT, n), dtype)
        small.syevd_pushforward(cupy.asarray(U), cupy.asarray(lam), X, lam_dot)
        U_dot, expected = kernels.syevd_pushforward(U, lam, A_dot)
        assert_close(X, U_dot)
        assert_close(lam_dot, expected)


@pytest.mark.parametrize(("n", "dtype"), [(7, np.float32), (12, np.float64)])
@pytest.mark.parametrize("scale", [1e-30, 1, 1e30])
def test_eigenvalues_that_are_equal(cupy, small, rng, n, dtype, scale):
    """Ties, zeros and ranges of magnitude: A = Uᵀ diag(lam) U to rounding, with orthonormal U."""
    Q = np.linalg.qr(rng.standard_normal((4, n, n)))[0]
    lam = np.array([[0.0] * n, [1.0] * n, [-2.0] * 5 + [3.0] * (n - 5), [*np.logspace(-12, 0, n)]])
    host = (sym((Q * lam[:, None]) @ adjoint(Q)) * scale).astype(dtype)
    A, got = cupy.asarray(host), cupy.empty((4, n), dtype)
    assert not small.syevd(A, got).get().any()
    U, got = A.get().astype(float), got.get().astype(float)
    eps = 20 * n * np.finfo(dtype).eps
    np.testing.assert_allclose(U @ adjoint(U), np.broadcast_to(np.eye(n), U.shape), atol=eps)
    np.testing.assert_allclose(adjoint(U) @ (got[..., None] * U), host, rtol=0, atol=3 * eps * scale)
    assert (np.diff(got) >= 0).all()


WIDE = [
    (1, 1, "d"),
    (1, 5, "F"),
    (2, 2, "D"),
    (3, 3, "f"),
    (4, 9, "d"),
    (7, 40, "D"),
    (16, 16, "f"),
    (32, 33, "d"),
    (2, 1000, "d"),  # several of which do not fit into the memory of one block
    (1, 5900, "d"),
    (8, 700, "f"),
]


def lq(A):
    """L and Q of NumPy's QR, the diagonal of L positive."""
    Q, R = np.linalg.qr(adjoint(A))
    diagonal = np.einsum("...ii->...i", R)
    phase = diagonal / np.abs(diagonal)
    L, Q = adjoint(R * np.conj(phase)[..., None]), adjoint(Q * phase[..., None, :])
    return np.ascontiguousarray(L), np.ascontiguousarray(Q)


@pytest.mark.parametrize(("m", "n", "letter"), WIDE)
class TestLQ:
    def test_value(self, cupy, small, rng, m, n, letter):
        host = general(rng, (COUNT, m, n), np.dtype(letter).type)
        assert small.holds_rows(m, n, host.dtype)
        A, L = cupy.asarray(host), cupy.empty((COUNT, m, m), host.dtype)
        small.gelqf(A, L, with_q=False)
        np.testing.assert_array_equal(A.get(), host)
        assert_close(L, lq(host)[0])
        small.gelqf(A, L)
        assert_close(L, lq(host)[0])
        assert_close(A, lq(host)[1])
        np.testing.assert_array_equal(L.get(), tri(L.get()))

    def test_pullback(self, cupy, small, rng, m, n, letter):
        dtype = np.dtype(letter).type
        L, Q = lq(general(rng, (COUNT, m, n), dtype) + 2 * np.eye(m, n, dtype=dtype))
        Q_bar, L_bar = general(rng, (COUNT, m, n), dtype), general(rng, (COUNT, m, m), dtype)
        for q, l in ((Q_bar, L_bar), (Q_bar, None), (None, L_bar)):
            X = cupy.empty((COUNT, m, n), dtype) if q is None else cupy.asarray(q)
            bar = None if l is None else cupy.asarray(with_nan(l, True))
            info = small.gelqf_pullback(cupy.asarray(Q), cupy.asarray(L), X, bar, has_q_bar=q is not None)
            assert not info.get().any()
            q = np.zeros_like(Q) if q is None else q
            M = adjoint(L) @ tri(np.zeros_like(L) if l is None else l) - q @ adjoint(Q)
            lower = np.tril(M, -1)
            symmetric_M = lower + adjoint(lower) + np.eye(m) * M.real
            expected = np.linalg.solve(adjoint(L), q + symmetric_M @ Q).astype(dtype)
            assert_close(X, expected)
            if np.dtype(dtype).kind == "f":
                assert_close(X, kernels.gelqf_pullback(Q, L, q, l))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lq_of_rows_that_vanish_or_overflow(cupy, small, rng, dtype):
    huge = np.finfo(dtype).max / 1e3
    host = np.stack([np.ones((3, 4)), np.zeros((3, 4)), np.diag([1, 0, 1]) @ np.ones((3, 4)), np.eye(3, 4)])
    host = (host * np.array([1, 1, huge, 1 / huge])[:, None, None]).astype(dtype)
    A, L = cupy.asarray(host), cupy.empty((4, 3, 3), dtype)
    small.gelqf(A, L)
    Q, L = A.get().astype(float), L.get().astype(float)
    eps = 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(Q @ adjoint(Q), np.broadcast_to(np.eye(3), (4, 3, 3)), atol=eps)
    np.testing.assert_allclose(L @ Q, host, rtol=0, atol=eps * np.abs(host).max((1, 2), keepdims=True).max())
    np.testing.assert_allclose((L @ Q)[3], host[3], rtol=0, atol=eps / huge)
    assert (np.einsum("...ii->...i", L) >= 0).all()


def test_the_table_of_limits(small):
    """Each fused kernel has limits, which none exceeds."""
    from lindiff_cuda import tuning

    assert {*tuning.FUSED} == {*small.__all__} - {"ORDER", "holds_rows"}
    assert max(map(max, tuning.FUSED.values())) <= small.ORDER


def test_holds_rows(small):
    assert small.holds_rows(32, 180, np.float64)
    assert not small.holds_rows(32, 1000, np.float64)
    assert not small.holds_rows(33, 40, np.float32)
    assert not small.holds_rows(3, 2, np.float32)


class TestFailures:
    """What cannot be done is told in info and becomes NaN; the other matrices of the batch are as ever."""

    @pytest.mark.parametrize("lower", [True, False])
    @pytest.mark.parametrize("dtype", [np.float32, np.complex128])
    def test_not_positive_definite(self, cupy, small, rng, dtype, lower):
        n = 5
        host = spd(rng, (4,), n, dtype)
        host[1] -= 100 * np.diag([0, 0, 1, 0, 0]).astype(dtype)
        host[3, 4, 4] = np.nan
        A = cupy.asarray(host)
        info, pivots = small.potrf(A, lower)
        np.testing.assert_array_equal(info.get(), [0, 3, 0, 5])
        with pytest.raises(np.linalg.LinAlgError, match=rf"order 3 .* pivot {pivots.get()[1]:.3g}"):
            kernels.potrf(host[1], lower=lower)
        assert np.isnan(pivots.get()[3])
        assert np.isnan(A.get()[[1, 3]]).all()
        for i in (0, 2):
            assert_close(A[i], kernels.potrf(host[i], lower=lower))

    @pytest.mark.parametrize("lower", [True, False])
    @pytest.mark.parametrize(
        "name", ["potrf_pullback", "potrf_pushforward", "potri_pullback", "potri_pushforward"]
    )
    def test_singular_factor(self, cupy, small, rng, name, lower):
        L = triangular(rng, (3,), 6, np.float64, lower)
        L[1, 2, 2] = L[1, 4, 4] = 0
        X = cupy.asarray(general(rng, (3, 6, 6)))
        info = getattr(small, name)(cupy.asarray(L), X, lower)
        np.testing.assert_array_equal(info.get(), [0, 3, 0])
        np.testing.assert_array_equal(np.isnan(X.get()).all((1, 2)), [False, True, False])
        np.testing.assert_array_equal(np.isnan(X.get()).any((1, 2)), [False, True, False])

    @pytest.mark.parametrize(("transpose", "rightside", "lower"), FLAGS)
    def test_singular_triangle(self, cupy, small, rng, transpose, rightside, lower):
        flags = {"transpose": transpose, "rightside": rightside, "lower": lower}
        L = triangular(rng, (3,), 6, np.float64, lower)
        L[1, 2, 2] = L[1, 4, 4] = 0
        X, L_bar = cupy.asarray(general(rng, (3, 6, 6))), cupy.empty((3, 6, 6))
        infos = [
            small.trsm_pullback(cupy.asarray(L), X.copy(), X.copy(), L_bar, **flags),
            small.trsm(cupy.asarray(L), X, **flags),
        ]
        for info in infos:
            np.testing.assert_array_equal(info.get(), [0, 3, 0])
        for Y in (X, L_bar):
            np.testing.assert_array_equal(np.isnan(Y.get()).all((1, 2)), [False, True, False])
            np.testing.assert_array_equal(np.isnan(Y.get()).any((1, 2)), [False, True, False])

    def test_singular_potri(self, cupy, small, rng):
        L = triangular(rng, (3,), 6)
        L[2, 5, 5] = 0
        X = cupy.asarray(L)
        np.testing.assert_array_equal(small.potri(X).get(), [0, 0, 6])
        np.testing.assert_array_equal(np.isnan(X.get()).all((1, 2)), [False, False, True])

    def test_not_finite(self, cupy, small, rng):
        host = separated(rng, (4,), 5)
        host[1, 3, 0] = np.nan
        host[2, 4, 4] = np.inf
        A, lam = cupy.asarray(host), cupy.empty((4, 5))
        np.testing.assert_array_equal(small.syevd(A, lam).get(), [0, -1, -1, 0])
        np.testing.assert_array_equal(np.isnan(A.get()).all((1, 2)), [False, True, True, False])
        np.testing.assert_array_equal(np.isnan(lam.get()).all(1), [False, True, True, False])

    def test_not_of_full_rank(self, cupy, small, rng):
        Q, L, Q_bar = general(rng, (3, 2, 4)), triangular(rng, (3,), 2), general(rng, (3, 2, 4))
        L[1, 1, 1] = 0
        X = cupy.asarray(Q_bar)
        info = small.gelqf_pullback(cupy.asarray(Q), cupy.asarray(L), X, None)
        np.testing.assert_array_equal(info.get(), [0, 2, 0])
        np.testing.assert_array_equal(np.isnan(X.get()).any((1, 2)), [False, True, False])


@pytest.mark.parametrize(("count", "n"), [(0, 3), (0, 0), (2, 0), (1, 3), (100, 3)])
def test_counts(cupy, small, rng, count, n):
    """No matrix, empty matrices, more matrices than a block has tiles."""
    A, B = spd(rng, (count,), n), general(rng, (count, n, 2))
    L = cupy.asarray(A)
    assert not small.potrf(L)[0].get().any()
    X = cupy.asarray(B)
    small.trmm(L, X)
    assert not small.trsm(L, X).get().any()
    assert_close(X, B)
    small.trmm(L, X)
    small.trmm(L, X, transpose="C")
    assert not small.trsm_pullback(L, X, X.copy(), cupy.empty((count, n, n))).get().any()
    assert not small.potrf_pullback(L, cupy.asarray(A)).get().any()
    assert not small.potri(L).get().any()
    U, lam = cupy.asarray(A), cupy.empty((count, n))
    assert not small.syevd(U, lam).get().any()
    small.syevd_pullback(U, lam, cupy.asarray(A), lam)
    small.gelqf(cupy.asarray(A), cupy.empty((count, n, n)))


class TestLU:
    def test_value(self, cupy, small, rng, case):
        n, dtype = case
        host = general(rng, (COUNT, n, n), dtype)
        host[0] = np.round(host[0])  # ties
        host[1, :, 0] = host[1, :, -1]  # singular
        A, piv = cupy.asarray(host), cupy.empty((COUNT, n), np.int32)
        info = small.getrf(A, piv).get()
        LU, expected = kernels.getrf(host)
        np.testing.assert_array_equal(piv.get()[2:], expected[2:])
        assert_close(A[2:], LU[2:])
        np.testing.assert_array_equal(info[2:], 0)
        for i in (0, 1):  # where rounding decides about the pivot, the factors need only be factors
            L, U = np.tril(A[i].get()), np.triu(A[i].get(), 1) + np.eye(n)
            product = L @ U
            for j, p in reversed(list(enumerate(piv[i].tolist()))):
                product[:, [j, p]] = product[:, [p, j]]
            np.testing.assert_allclose(product, host[i], rtol=0, atol=30 * RTOL[dtype])

    @pytest.mark.parametrize("transpose", [False, True, "C"])
    def test_solve(self, cupy, small, rng, case, transpose):
        n, dtype = case
        host = (general(rng, (COUNT, n, n), dtype) + 3 * np.eye(n)).astype(dtype)
        LU, piv = kernels.getrf(host)
        for k in (1, n + 3):
            B = general(rng, (COUNT, n, k), dtype)
            X = cupy.asarray(B)
            info = small.getrs(cupy.asarray(LU), cupy.asarray(piv.astype(np.int32)), X, transpose)
            assert not info.get().any()
            assert_close(X, kernels.getrs(LU, piv, B, transpose=transpose))

    def test_inverse(self, cupy, small, rng, case):
        n, dtype = case
        host = (general(rng, (COUNT, n, n), dtype) + 3 * np.eye(n)).astype(dtype)
        X, piv = cupy.asarray(host), cupy.empty((COUNT, n), np.int32)
        small.getrf(X, piv)
        assert not small.getri(X, piv).get().any()
        assert_close(X, kernels.inverse(host))

    def test_singular(self, cupy, small, rng):
        host = general(rng, (3, 4, 4))
        host[1, 2] = 0
        X, piv = cupy.asarray(host), cupy.empty((3, 4), np.int32)
        np.testing.assert_array_equal(small.getrf(X, piv).get(), [0, 3, 0])
        B = cupy.asarray(host)
        np.testing.assert_array_equal(small.getrs(X, piv, B).get(), [0, 3, 0])
        np.testing.assert_array_equal(small.getri(X, piv).get(), [0, 3, 0])
        for Y in (X, B):
            np.testing.assert_array_equal(np.isnan(Y.get()).all((1, 2)), [False, True, False])
