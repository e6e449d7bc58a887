"""Batches of matrices of middling order, a block of threads for each: what `lindiff.kernels` computes."""

import functools

import numpy as np
import pytest
from kernels.helpers import RTOL, adjoint, general, separated, sym

from lindiff import kernels

COUNT = 4
CASES = [(1, "d"), (2, "f"), (3, "d"), (12, "d"), (33, "f")]
ROOMS = [1000, 2200, 227 * 1024]  # bytes that hold none, one, and two matrices of order 12


@pytest.fixture
def blocks(cupy):
    from lindiff_cuda import blocks

    return blocks


@pytest.fixture(
    params=[*[(*case, ROOMS[2]) for case in CASES], *[(12, "d", room) for room in ROOMS[:2]]], ids=str
)
def case(request, blocks, monkeypatch):
    """An order, a dtype, and as much shared memory as there seems to be."""
    n, letter, room = request.param
    monkeypatch.setattr(blocks, "most_shared", lambda: room)
    return n, np.dtype(letter).type


def assert_close(got, expected, dtype, scale=1.0):
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=0, atol=10 * RTOL[dtype] * scale)


def assert_orthonormal(rows, dtype):
    assert_close(
        rows @ adjoint(rows), np.broadcast_to(np.eye(k := rows.shape[-2]), (*rows.shape[:-1], k)), dtype
    )


def eigen(cupy, blocks, host):
    """U, lam and info of a stack, of which the lower triangles are given."""
    hidden = np.where(np.tri(host.shape[-1]) == 1, host, np.array(np.nan, host.dtype))
    A, lam = cupy.asarray(hidden), cupy.empty(host.shape[:-1], host.dtype)
    info = blocks.syevd(A, lam)
    return A.get(), lam.get(), info.get()


class TestEigen:
    def test_value(self, cupy, blocks, rng, case):
        n, dtype = case
        host = separated(rng, (COUNT,), n, dtype)
        U, lam, info = eigen(cupy, blocks, host)
        assert not info.any()
        expected, values = kernels.syevd(host)
        assert_close(lam, values, dtype, n)
        sign = np.sign(np.sum(U * expected, -1, keepdims=True)).astype(dtype)
        assert_close(sign * U, expected, dtype)

    @pytest.mark.parametrize("scale", [1e-30, 1e30])
    def test_ties_and_zeros(self, cupy, blocks, rng, scale):
        n = 7
        Q = np.linalg.qr(rng.standard_normal((4, n, n)))[0]
        values = np.array([[0.0] * n, [1.0] * n, [-2.0] * 5 + [3.0] * 2, [*np.logspace(-12, 0, n)]])
        host = sym((Q * values[:, None]) @ adjoint(Q)) * scale
        U, lam, info = eigen(cupy, blocks, host)
        assert not info.any()
        assert_orthonormal(U, np.float64)
        assert_close(adjoint(U) @ (lam[..., None] * U) / scale, host / scale, np.float64)
        assert (np.diff(lam) >= 0).all()

    def test_not_finite(self, cupy, blocks, rng):
        host = separated(rng, (COUNT,), 5)
        host[1, 3, 0], host[2, 4, 4] = np.nan, np.inf
        U, lam, info = eigen(cupy, blocks, host)
        np.testing.assert_array_equal(info, [0, -1, -1, 0])
        np.testing.assert_array_equal(np.isnan(U).all((1, 2)), [False, True, True, False])
        np.testing.assert_array_equal(np.isnan(lam).any(1), [False, True, True, False])


class TestLQ:
    @pytest.mark.parametrize("of", ["square", "wide", "row"])
    def test_value(self, cupy, blocks, rng, case, of):
        n, dtype = case
        m = {"square": n, "wide": (n + 1) // 2, "row": 1}[of]
        host = general(rng, (COUNT, m, n), dtype)
        A, L = cupy.asarray(host), cupy.empty((COUNT, m, m), dtype)
        blocks.gelqf(A, L)
        Q, expected = kernels.gelqf(host)
        assert_close(A.get(), Q, dtype)
        assert_close(L.get(), expected, dtype, n)
        np.testing.assert_array_equal(np.triu(L.get(), 1), 0)
        L = cupy.empty((COUNT, m, m), dtype)
        blocks.gelqf(cupy.asarray(host), L, with_q=False)
        assert_close(L.get(), expected, dtype, n)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_rows_that_vanish_or_overflow(self, cupy, blocks, dtype):
        huge = np.finfo(dtype).max / 1e3
        host = np.stack(
            [np.ones((3, 4)), np.zeros((3, 4)), np.diag([1, 0, 1]) @ np.ones((3, 4)), np.eye(3, 4)]
        )
        size = np.array([1, 1, huge, 1 / huge])[:, None, None]
        A, L = cupy.asarray((host * size).astype(dtype)), cupy.empty((4, 3, 3), dtype)
        blocks.gelqf(A, L)
        assert_orthonormal(A.get(), dtype)
        assert_close((L.get() / size.astype(dtype)) @ A.get(), host, dtype)
        assert (np.einsum("...ii->...i", L.get()) >= 0).all()


def singular_values(cupy, blocks, host):
    s = cupy.empty(host.shape[:-1], host.dtype)
    Ut, Vh = cupy.empty(host.shape, host.dtype), cupy.empty(host.shape, host.dtype)
    info = blocks.gesvd(cupy.asarray(host), s, Ut, Vh)
    return Ut.get(), s.get(), Vh.get(), info.get()


class TestSingularValues:
    def check(self, cupy, blocks, host, dtype):
        Ut, s, Vh, info = singular_values(cupy, blocks, host)
        assert not info.any()
        size = np.abs(host).max((1, 2), keepdims=True) + (host == 0).all((1, 2), keepdims=True)
        assert_orthonormal(Ut, dtype)
        assert_orthonormal(Vh, dtype)
        assert_close(adjoint(Ut) @ (s[..., None] / size * Vh), host / size, dtype, host.shape[-1])
        assert (np.diff(s) <= 0).all()
        return s

    def test_value(self, cupy, blocks, rng, case):
        n, dtype = case
        host = general(rng, (COUNT, n, n), dtype)
        s = self.check(cupy, blocks, host, dtype)
        assert_close(s, np.linalg.svd(host)[1], dtype, n)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_ranks(self, cupy, blocks, rng, dtype):
        """Zero, of rank one and three, a permutation, and rows of lengths that span all exponents."""
        n = 6
        a, few = general(rng, (n,)), general(rng, (n, 3))
        apart = general(rng, (n, n)) * np.finfo(dtype).max ** np.linspace(0.9, -0.9, n)[:, None]
        host = [np.zeros((n, n)), np.outer(a, a), np.outer(np.eye(n)[2], np.eye(n)[4]), few @ few.T]
        self.check(cupy, blocks, np.stack([*host, np.eye(n)[::-1], apart]).astype(dtype), dtype)

    def test_not_finite(self, cupy, blocks, rng):
        host = general(rng, (3, 4, 4))
        host[1, 2, 3] = np.inf
        *results, info = singular_values(cupy, blocks, host)
        np.testing.assert_array_equal(info, [0, 1, 0])
        for x in results:
            np.testing.assert_array_equal(np.isnan(x.reshape(3, -1)).all(1), [False, True, False])
            assert not np.isnan(x[[0, 2]]).any()


def of_text(text, otherwise):
    """`kernel_text` with another text for the kernel of singular values."""
    return lambda source, name: text if source == "block_svd.cu" else otherwise(source, name)


class TestOperators:
    """Which batches go there, and what the operators make of it."""

    @pytest.fixture
    def cuda(self, cupy, monkeypatch):
        import lindiff_cuda
        from lindiff_cuda import rowmajor, tuning

        monkeypatch.setattr(tuning, "FUSED", dict.fromkeys(tuning.FUSED, (0, 0, 0, 0)))
        monkeypatch.setattr(rowmajor, "BATCHED_SVD", 3)
        for name in ("geqrf", "orgqr", "syevd", "gesvdj"):
            monkeypatch.delattr(rowmajor, name)
        return lindiff_cuda

    @pytest.mark.parametrize("shape", [(4, 5, 5), (2, 2, 3, 7)])
    def test_gelqf(self, cupy, cuda, rng, shape):
        host = general(rng, shape)
        for x, y in zip(cuda.gelqf(cupy.asarray(host)), kernels.gelqf(host), strict=True):
            assert_close(x.get(), y, np.float64)
        assert_close(cuda.gelqf_l(cupy.asarray(host)).get(), kernels.gelqf_l(host), np.float64)

    def test_eigh(self, cupy, cuda, rng):
        host = separated(rng, (2, 2), 6)
        for x, y in zip(cuda.syevd(cupy.asarray(host)), kernels.syevd(host), strict=True):
            assert_close(x.get(), y, np.float64)
        host[1, 0, 5, 5] = np.nan
        with pytest.raises(np.linalg.LinAlgError, match=r"A holds NaN or infinity \(batch index \(1, 0\)\)"):
            cuda.eigh(cupy.asarray(host))
        with cuda.unchecked():
            w, _ = cuda.eigh(cupy.asarray(host))
        np.testing.assert_array_equal(np.isnan(w.get()).any(-1), [[False, False], [True, False]])

    @pytest.mark.parametrize("shape", [(4, 5, 5), (2, 2, 3, 7), (4, 6, 4)])
    def test_gesdd(self, cupy, cuda, rng, shape):
        host = general(rng, shape)
        U, s, Vh = (x.get() for x in cuda.gesdd(cupy.asarray(host)))
        assert_close(s, np.linalg.svd(host)[1], np.float64)
        assert_close((U * s[..., None, :]) @ Vh, host, np.float64)
        assert_orthonormal(adjoint(U), np.float64)
        assert_orthonormal(Vh, np.float64)
        host[-1, ..., 0, 0] = np.nan
        with pytest.raises(np.linalg.LinAlgError, match="gesdd: no convergence"):
            cuda.gesdd(cupy.asarray(host))

    def test_far_apart(self, cupy, cuda, rng, monkeypatch):
        """Columns whose lengths differ by 60 orders of magnitude: two LQ first, then a dozen sweeps do."""
        from lindiff_cuda import launching

        text = launching.source_text("block_svd.cu").replace("2 * SWEEPS", "12")
        monkeypatch.setattr(launching, "_kernel", functools.cache(launching._kernel.__wrapped__))
        monkeypatch.setattr(launching, "kernel_text", of_text(text, launching.kernel_text))
        n = 12
        host = general(rng, (4, n, n)) * 10.0 ** -np.linspace(60, 0, n)
        assert singular_values(cupy, cuda.blocks, host)[-1].all()
        U, s, Vh = (x.get() for x in cuda.gesdd(cupy.asarray(host)))
        assert_close((U * s[..., None, :]) @ Vh, host, np.float64)
        assert_orthonormal(adjoint(U), np.float64)
        assert_orthonormal(Vh, np.float64)

    @pytest.mark.parametrize("n", [0, 1])
    def test_no_entries(self, cupy, cuda, n):
        A = cupy.zeros((4, 0, n))
        assert [x.shape for x in cuda.gelqf(A)] == [(4, 0, n), (4, 0, 0)]
        assert [x.shape for x in cuda.syevd(cupy.zeros((4, 0, 0)))] == [(4, 0, 0), (4, 0)]


def test_limits(cupy):
    """Few matrices, large ones, and few with long rows are cuSOLVER's."""
    from lindiff_cuda import tuning

    double = np.dtype(float)
    assert tuning.is_blockwise("gelqf", 256, double, 4, 512)
    assert not tuning.is_blockwise("gelqf", 256, double, 3)
    assert not tuning.is_blockwise("syevd", 257, double, 4)
    assert not tuning.is_blockwise("gelqf", 256, double, 4, 513)
    assert tuning.is_blockwise("gelqf", 256, double, 1024, 513)
    assert not tuning.is_blockwise("syevd", 8, np.dtype(complex), 4)
