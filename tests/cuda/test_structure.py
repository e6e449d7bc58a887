"""Triangles, symmetry and eigengaps in place, also of blocks of larger matrices."""

import numpy as np
import pytest
from kernels.helpers import RTOL, adjoint, general, sym, symmetric, tri

from lindiff import kernels

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


@pytest.fixture
def structure(cupy):
    from lindiff_cuda import structure

    return structure


@pytest.fixture(params=[(3, 5), (1, 1), (2, 32), (2, 45), (0, 4), (2, 0)], ids=str)
def stack(request, cupy, rng):
    """A dtype's random stack (count, n, n): a block of a larger one, whose rest must stay as it is."""
    count, n = request.param
    made = []

    def make(dtype):
        outer = cupy.asarray(general(rng, (count + 2, n + 3, n + 4), dtype))
        block = outer[1:-1, 2:-1, 3:-1]
        made.append((outer, outer.get()))
        return block, block.get()

    yield make
    for outer, before in made:
        after = outer.get()
        after[1:-1, 2:-1, 3:-1] = before[1:-1, 2:-1, 3:-1]
        np.testing.assert_array_equal(after, before)


def assert_close(X, expected):
    dtype = expected.dtype.type
    atol = RTOL[dtype] * np.max(np.abs(expected), initial=1.0)
    np.testing.assert_allclose(X.get(), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
class TestTriangles:
    def test_keep(self, structure, stack, dtype, lower):
        X, host = stack(dtype)
        structure.keep_triangle(X, lower)
        np.testing.assert_array_equal(X.get(), tri(host, lower))

    def test_half_the_diagonal(self, structure, stack, dtype, lower):
        X, host = stack(dtype)
        structure.keep_triangle(X, lower, 0.5)
        eye = np.eye(host.shape[-1], dtype=dtype)
        assert_close(X, (tri(host, lower) - host * eye + host.real * eye / 2).astype(dtype))

    @pytest.mark.parametrize("hermitian", [True, False])
    def test_mirror(self, structure, stack, dtype, lower, hermitian):
        X, host = stack(dtype)
        structure.mirror(X, lower, -2.0, hermitian)
        T, eye = tri(host, lower), np.eye(host.shape[-1])
        diagonal = host * eye
        other = adjoint(T - diagonal) if hermitian else np.swapaxes(T - diagonal, 1, 2)
        if hermitian:
            T = T - diagonal + diagonal.real
        assert_close(X, (-2 * (T + other)).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("hermitian", [True, False])
def test_entries_without_a_mirror_image(cupy, rng, dtype, lower, hermitian):
    import lindiff_cuda as cuda

    for shape in [(3, 3), (2, 45, 45), (2, 1, 4, 4), (0, 2, 2), (2, 0, 0)]:
        X = general(rng, shape, dtype)
        image = adjoint(X) if hermitian else np.swapaxes(X, -1, -2)
        A = np.where(rng.random(shape) < 0.7, X + image, X)
        A = np.where(rng.random(shape) < 0.1, 0, A).astype(dtype)
        wanted = kernels.unpaired(A, lower=lower, hermitian=hermitian)
        found = cuda.unpaired(cupy.asarray(A), lower=lower, hermitian=hermitian)
        np.testing.assert_array_equal(found.get(), np.zeros(shape, bool) if wanted is None else wanted)
        M_bar = sym(general(rng, shape, dtype)) if hermitian else X + np.swapaxes(X, -1, -2)
        whole = kernels.onto_unpaired(M_bar, found.get())
        np.testing.assert_array_equal(cuda.onto_unpaired(cupy.asarray(M_bar), found).get(), whole)
        several = np.broadcast_to(M_bar, (3, *shape))
        np.testing.assert_array_equal(
            cuda.onto_unpaired(cupy.asarray(several), found).get(), np.broadcast_to(whole, (3, *shape))
        )
        x = cupy.asarray(M_bar)
        assert cuda.onto_unpaired(x, found, overwrite_m_bar=True) is x
        np.testing.assert_array_equal(x.get(), whole)


@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetrize(structure, stack, dtype):
    X, host = stack(dtype)
    structure.symmetrize(X, 0.5)
    assert_close(X, sym(host))
    np.testing.assert_array_equal(X.get(), adjoint(X.get()))


@pytest.mark.parametrize("dtype", DTYPES)
def test_refuse(cupy, structure, stack, dtype):
    X, host = stack(dtype)
    info = np.arange(len(host), dtype=np.int32) % 2
    structure.refuse(X, cupy.asarray(info))
    host[info != 0] = np.nan
    np.testing.assert_array_equal(X.get(), host)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fix_signs(structure, stack, dtype):
    X, host = stack(dtype)
    structure.fix_signs(X)
    if host.size:
        largest = np.take_along_axis(host, np.abs(host).argmax(2)[..., None], 2)
        host = (host * np.conj(largest) / np.abs(largest)).astype(dtype)
    assert_close(X, host)


def test_signs_of_ties(cupy, structure):
    X = cupy.asarray([[[-1.0, 1.0, -1.0], [0.5, -2.0, 2.0], [0.0, 0.0, 0.0]]])
    structure.fix_signs(X)
    np.testing.assert_array_equal(X.get(), [[[1, -1, 1], [-0.5, 2, -2], [0, 0, 0]]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 4, 40])
class TestGaps:
    def eigenvalues(self, rng, dtype, n):
        """Ascending; half of them equal."""
        lam = np.sort(rng.standard_normal((2, n)).astype(dtype))
        lam[:, : n // 2] = lam[:, :1]
        return lam

    @pytest.mark.parametrize("with_bar", [True, False])
    def test_divide(self, cupy, structure, rng, dtype, n, with_bar):
        lam = self.eigenvalues(rng, dtype, n)
        # what does not depend on the choice of eigenvectors: symmetric where eigenvalues are equal
        M = general(rng, (2, n, n), dtype)
        M = np.where(lam[:, :, None] == lam[:, None, :], sym(M), M)
        lam_bar = general(rng, (2, n), dtype) if with_bar else None
        T = cupy.asarray(M)
        structure.divide_by_gaps(T, cupy.asarray(lam), None if lam_bar is None else cupy.asarray(lam_bar))
        eye = np.broadcast_to(np.eye(n, dtype=dtype), M.shape)
        assert_close(T, kernels.syevd_pullback(eye, lam, M, lam_bar))

    def test_rotate(self, cupy, structure, rng, dtype, n):
        lam = self.eigenvalues(rng, dtype, n)
        M = symmetric(rng, (2, n, n), dtype)
        M = np.where((lam[:, :, None] == lam[:, None, :]) & (np.eye(n) == 0), 0, M).astype(dtype)
        T, lam_dot = cupy.asarray(M), cupy.empty((2, n), dtype)
        structure.rotate_by_gaps(T, cupy.asarray(lam), lam_dot)
        eye = np.broadcast_to(np.eye(n, dtype=dtype), M.shape)
        U_dot, expected = kernels.syevd_pushforward(eye, lam, M)
        assert_close(T, U_dot)
        assert_close(lam_dot, expected)
