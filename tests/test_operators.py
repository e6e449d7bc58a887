"""What is special about single operators of ``lindiff.linalg``; the rest is in ``table_operators.py``."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from table_operators import in_one_triangle

import lindiff as ld
from lindiff.linalg import _backend, cholesky, lq, symmetric_eigen, triangular
from lindiff.testing import check_grads

RNG = np.random.default_rng(0)


def spd(n, *batch):
    X = RNG.standard_normal((*batch, n, n))
    return X @ np.swapaxes(X, -1, -2) + n * np.eye(n)


def with_nan(A, lower):
    """A with the triangle that is not read filled with NaN."""
    n = A.shape[-1]
    unread = np.triu(np.ones((n, n), bool), 1) if lower else np.tril(np.ones((n, n), bool), -1)
    return np.where(unread, np.nan, A)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("n", [3, 40])
def test_potrf_reads_one_triangle_and_has_a_symmetric_gradient(lower, n):
    A = spd(n)
    weights = RNG.standard_normal((n, n))

    def f(A):
        return np.sum(weights * ld.linalg.potrf(A, lower))

    G = ld.grad(f)(A)
    assert_array_equal(G, G.T)
    assert_allclose(ld.grad(f)(with_nan(A, lower)), in_one_triangle(G, lower), rtol=1e-12)


@pytest.mark.parametrize("lower", [True, False])
def test_potri_reads_one_triangle_and_has_a_triangular_gradient(lower):
    L = np.linalg.cholesky(spd(4))
    L = L if lower else L.T
    got = ld.grad(lambda L: np.sum(ld.linalg.potri(L, lower) ** 2))(with_nan(L, lower))
    assert np.all(np.isfinite(got))
    assert_array_equal(got, np.tril(got) if lower else np.triu(got))


@pytest.mark.parametrize("operator", [ld.linalg.trmm, ld.linalg.trsm])
@pytest.mark.parametrize("flags", list(itertools.product([False, True], repeat=3)))
def test_trmm_and_trsm_read_one_triangle_and_have_a_triangular_gradient(operator, flags):
    transpose, rightside, lower = flags
    L = np.tril(RNG.standard_normal((3, 3))) + 3 * np.eye(3)
    L = L if lower else L.T
    A = RNG.standard_normal((2, 3) if rightside else (3, 2))

    def f(L):
        return np.sum(operator(L, A, transpose, rightside, lower, 2.0) ** 2)

    got = ld.grad(f)(with_nan(L, lower))
    assert_allclose(got, ld.grad(f)(L), rtol=1e-12)
    assert_array_equal(got, np.tril(got) if lower else np.triu(got))


def test_syevd_reads_the_lower_triangle():
    A = spd(4)
    U, lam = ld.linalg.syevd(with_nan(A, True))
    assert_allclose(U.T @ (lam[:, None] * U), A, rtol=1e-12)


def test_syevd_fixes_signs():
    for A in [spd(5), spd(3) + 1j * (lambda X: X - X.T)(RNG.standard_normal((3, 3)))]:
        U, _ = ld.linalg.syevd(A)
        largest = np.take_along_axis(U, np.argmax(np.abs(U), axis=1)[:, None], axis=1)
        assert np.all(largest.real > 0)
        assert_allclose(largest.imag, 0, atol=1e-14)


def test_syevd_with_repeated_eigenvalues_is_exact_where_differentiable():
    """f(A) = tr(A³) through eigenvalues and eigenvectors, at A = 2 I and at a projector."""
    Q, _ = np.linalg.qr(RNG.standard_normal((4, 4)))
    for lam in [np.full(4, 2.0), np.array([1.0, 1.0, 0.0, 0.0])]:
        A = (Q * lam) @ Q.T
        A = (A + A.T) / 2

        def f(A):
            return np.sum(ld.linalg.syevd(A)[1] ** 3)

        def g(A):
            U, lam = ld.linalg.syevd(A)
            B = U.T @ (lam[:, None] ** 2 * U)
            return np.sum(B * A)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_allclose(ld.grad(f)(A), 3 * A @ A, atol=1e-12)
            assert_allclose(ld.grad(g)(A), 3 * A @ A, atol=1e-11)


def test_syevd_warns_with_the_pair_where_it_is_not_differentiable():
    A = np.diag([1.0, 3.0, 3.0])
    with pytest.warns(RuntimeWarning, match=r"syevd: values 1 and 2 \(3 and 3\) are equal"):
        got = ld.grad(lambda A: ld.linalg.syevd(A)[0][1, 2])(A)
    assert np.all(np.isfinite(got))
    batch = np.stack([np.diag([1.0, 2.0, 3.0]), A])
    with pytest.warns(RuntimeWarning, match=r"values 1 and 2 of matrix \(1,\)"):
        ld.grad(lambda A: np.sum(ld.linalg.syevd(A)[0][..., 1, 2]))(batch)


def test_syevd_warns_where_a_result_depends_on_the_phase():
    A = np.array([[2.0, 1j], [-1j, 3.0]])
    with pytest.warns(RuntimeWarning, match="gauge"):
        ld.grad(lambda A: np.imag(ld.linalg.syevd(A)[0][0, 0]))(A)


def test_gelqf_with_only_one_output_used():
    A = RNG.standard_normal((2, 4))
    L_only = ld.grad(lambda A: np.sum(ld.linalg.gelqf(A)[1] ** 3))(A)
    assert_allclose(L_only, ld.grad(lambda A: np.sum(ld.linalg.gelqf_l(A) ** 3))(A), rtol=1e-12)
    check_grads(lambda A: ld.linalg.gelqf(A)[0], (A,))


def test_gelqf_has_a_positive_diagonal_and_refuses_tall_matrices():
    L = ld.linalg.gelqf(RNG.standard_normal((3, 5)))[1]
    assert np.all(np.diagonal(L) > 0)
    with pytest.raises(ValueError, match="gelqf"):
        ld.linalg.gelqf(np.ones((3, 2)))


def test_errors_name_the_matrix_of_the_batch():
    A = np.stack([np.eye(2), -np.eye(2)])
    with pytest.raises(np.linalg.LinAlgError, match=r"potrf.*minor.*batch index.*1"):
        ld.linalg.potrf(A)
    with pytest.raises(np.linalg.LinAlgError, match=r"batch index.*1"):
        ld.grad(lambda A: np.sum(ld.linalg.potrf(A)))(A)
    with pytest.raises(np.linalg.LinAlgError, match=r"trsm.*singular.*batch index.*1"):
        ld.linalg.trsm(np.stack([np.eye(2), np.diag([1.0, 0.0])]), np.ones((2, 1)))
    with pytest.raises(ValueError, match="square"):
        ld.linalg.potrf(np.ones((2, 3)))


def test_overwrite_on_plain_arrays_and_on_variables():
    A = spd(3)
    plain = A.copy()
    L = ld.linalg.potrf(plain, overwrite_a=True)
    assert L is plain
    B = RNG.standard_normal((3, 2))
    given = B.copy()
    assert ld.linalg.trsm(L, given, overwrite_a=True) is given
    v = ld.Variable(A)
    ld.linalg.potrf(v, overwrite_a=True)
    assert_array_equal(ld.value(v), A)
    C = ld.Variable(np.ones((3, 2)))
    ld.linalg.gemm(A, B, C, overwrite_c=True)
    assert_array_equal(ld.value(C), np.ones((3, 2)))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_overwrite_of_complex(dtype):
    A = (spd(3) + 1j * np.tril(RNG.standard_normal((3, 3)), -1)).astype(dtype)
    given = A.copy()
    L = ld.linalg.potrf(given, overwrite_a=True)
    assert L is given
    assert_allclose(np.tril(L @ L.conj().T), np.tril(A), rtol=1e-4)
    B = RNG.standard_normal((3, 2)).astype(dtype)
    for operator in [ld.linalg.trmm, ld.linalg.trsm]:
        given = B.copy()
        result = operator(L, given, "C", overwrite_a=True)
        assert result is given
        assert_allclose(result, operator(L, B, "C"))
    given = B[:2].copy()
    assert ld.linalg.gemm(B, B, given, "C", overwrite_c=True) is given
    given = L.copy()
    assert ld.linalg.potri(given, overwrite_l=True) is given


@pytest.mark.parametrize(
    "operator", ["potrf", "potri", "inverse", "det", "slogdet", "syrk", "gelqf", "syevd"]
)
def test_complex64_stays(operator):
    A = (spd(3) + 1j * np.tril(RNG.standard_normal((3, 3)), -1)).astype(np.complex64)
    A = np.tril(A) + np.tril(A, -1).conj().T

    def f(A):
        y = getattr(ld.linalg, operator)(A)
        parts = y if isinstance(y, tuple) else (y,)
        assert {np.finfo(part.dtype).bits for part in parts} == {32}
        return sum(np.sum(np.abs(part) ** 2) for part in parts)

    assert ld.grad(f)(A).dtype == np.complex64
    y, y_dot = ld.jvp(f, (A,), (A,))
    assert y.dtype == y_dot.dtype == np.float32


def test_real_matrix_with_complex_matrix():
    """The gradient of what is real is real."""
    L = np.linalg.cholesky(spd(3))
    B = RNG.standard_normal((3, 2)) + 1j * RNG.standard_normal((3, 2))
    for operator in [ld.linalg.trmm, ld.linalg.trsm, ld.linalg.gemm2]:
        check_grads(operator, (L, B))
        _, pullback = ld.vjp(operator, L, B)
        L_bar, B_bar = pullback(B)
        assert (L_bar.dtype, B_bar.dtype) == (np.float64, np.complex128)
        assert operator(L.astype(np.float32), B.astype(np.complex64)).dtype == np.complex64
        assert operator(L, B.astype(np.complex64)).dtype == np.complex128


def test_options_may_be_positional():
    A = RNG.standard_normal((3, 3))
    assert_allclose(
        ld.grad(lambda A: np.sum(ld.linalg.extractdiag(A, -1) ** 2))(A), 2 * np.diag(np.diag(A, -1), -1)
    )
    _, y_dot = ld.jvp(lambda A: ld.linalg.syrk(A, True, 2.0), (A,), (A,))
    assert_allclose(y_dot, 4 * A.T @ A)


def test_diagonals_out_of_range():
    A = np.ones((2, 2))
    assert ld.linalg.extractdiag(A, 5).shape == (0,)
    assert_array_equal(ld.grad(lambda A: np.sum(ld.linalg.extractdiag(A, 5)))(A), np.zeros((2, 2)))
    assert ld.linalg.makediag(np.zeros(0), 2).shape == (2, 2)
    with pytest.raises(ValueError, match="maketrian: 4 numbers"):
        ld.linalg.maketrian(np.ones(4))
    with pytest.raises(ValueError, match="square"):
        ld.linalg.extractdiag(np.ones((2, 3)))


def test_triangles_are_packed_row_by_row():
    A = np.arange(9.0).reshape(3, 3)
    assert_array_equal(ld.linalg.extracttrian(A), [0, 3, 4, 6, 7, 8])
    assert_array_equal(ld.linalg.extracttrian(A, lower=False), [0, 1, 2, 4, 5, 8])
    assert_array_equal(ld.linalg.extracttrian(A, -1), [3, 6, 7])
    assert_array_equal(ld.linalg.extracttrian(A, 1), [1, 2, 5])
    for options in [(0, True), (0, False), (-1, True), (2, True)]:
        packed = ld.linalg.extracttrian(A, *options)
        assert_array_equal(ld.linalg.extracttrian(ld.linalg.maketrian(packed, *options), *options), packed)


@pytest.mark.parametrize("transpose", [False, True, "C"])
def test_lists_as_constants(transpose):
    A, B = [[2.0, 0.0], [1.0, 4.0]], np.ones((2, 2))
    for operator in [ld.linalg.trmm, ld.linalg.trsm, ld.linalg.gemm2]:
        assert_array_equal(
            ld.grad(lambda B, f=operator: np.sum(f(A, B, transpose)))(B),
            ld.grad(lambda B, f=operator: np.sum(f(np.array(A), B, transpose)))(B),
        )
    assert ld.grad(lambda B: np.sum(ld.linalg.gemm2(B, A, False, transpose)))(B).shape == (2, 2)


def test_array_likes_are_taken():
    assert_array_equal(ld.linalg.potrf([[4, 0], [0, 9]]), [[2, 0], [0, 3]])
    assert_array_equal(ld.linalg.makediag([1.0, 2.0]), np.diag([1.0, 2.0]))


FORMULAS = [
    (cholesky.potrf_pullback, lambda L, X, Y: (L, X)),
    (cholesky.potrf_pushforward, lambda L, X, Y: (L, X + X.T)),
    (cholesky.potri_pullback, lambda L, X, Y: (L, np.linalg.inv(L @ L.T), X)),
    (cholesky.potri_pushforward, lambda L, X, Y: (L, np.linalg.inv(L @ L.T), np.tril(X))),
    (triangular.trmm_pullback, lambda L, X, Y: (L, X, Y)),
    (triangular.trsm_pullback, lambda L, X, Y: (L, X, Y)),
    (lq.gelqf_l_pullback, lambda L, X, Y: (ld.linalg.gelqf_l(X), X, Y)),
    (lq.gelqf_pullback, lambda L, X, Y: (*ld.linalg.gelqf(X), Y, L)),
    (lq.gelqf_pullback, lambda L, X, Y: (*ld.linalg.gelqf(X), None, Y)),
    (lq.gelqf_pullback, lambda L, X, Y: (*ld.linalg.gelqf(X), Y, None)),
    (lq.gelqf_pushforward, lambda L, X, Y: (*ld.linalg.gelqf(X), Y)),
    (symmetric_eigen.syevd_pullback, lambda L, X, Y: (*ld.linalg.syevd(L @ L.T), X, np.diagonal(Y).copy())),
]


@pytest.mark.parametrize(("fused", "arguments"), FORMULAS, ids=lambda x: getattr(x, "__name__", ""))
@pytest.mark.parametrize("n", [3, 40])
def test_a_kernel_gives_what_its_formula_gives(fused, arguments, n):
    L = np.linalg.cholesky(spd(n)) + np.diag(np.arange(n))
    args = arguments(L, RNG.standard_normal((n, n)), RNG.standard_normal((n, n)))
    assert _backend.kernels(*args) is not None
    kernel, formula = fused(*args), fused.__wrapped__(*args)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (kernel, formula)), strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.max(np.abs(b)))


class Speaks(np.lib.mixins.NDArrayOperatorsMixin):
    """An array type that speaks NumPy's protocols and has no kernels."""

    def __init__(self, array):
        self.array = array

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    ndim = property(lambda self: self.array.ndim)
    size = property(lambda self: self.array.size)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Speaks(getattr(ufunc, method)(*map(plain, inputs), **kwargs))

    def __array_function__(self, function, types, args, kwargs):
        return Speaks(function(*map(plain, args), **kwargs))


def plain(x):
    return x.array if isinstance(x, Speaks) else x


def test_another_array_type_takes_the_formulas():
    A, B = spd(3), RNG.standard_normal((3, 2))
    L = ld.linalg.potrf(Speaks(A))
    assert isinstance(L, Speaks)
    assert_allclose(L.array, np.linalg.cholesky(A))
    X = ld.linalg.trsm(L, Speaks(B), transpose=True)
    assert_allclose(X.array, np.linalg.solve(L.array.T, B))
    assert isinstance(ld.linalg.gemm2(L, X), Speaks)
