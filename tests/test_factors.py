"""Factor objects, and what NumPy's own functions share: how often a matrix is factored."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld
from lindiff import kernels
from lindiff.linalg import CholeskyFactor, LUFactor, _factored, cho_factor, eigh_factor, lu_factor
from lindiff.testing import check_grads

RNG = np.random.default_rng(0)
SIZES = [(4, 4), (40, 40), (3, 4, 4)]


def spd(*shape):
    X = RNG.standard_normal(shape)
    return X @ np.swapaxes(X, -1, -2) + shape[-1] * np.eye(shape[-1])


def regular(*shape):
    return RNG.standard_normal(shape) / max(shape[-1], 1) ** 0.5 + 2 * np.eye(shape[-1])


def symmetric(K):
    return 0.5 * (K + np.conj(np.swapaxes(K, -1, -2)))


@pytest.fixture
def count(monkeypatch):
    """How often each factorization runs, whoever calls it."""
    calls = {"LU": 0, "Cholesky": 0}

    def counted(kind):
        make = kind.__init__

        def init(self, *args):
            calls["LU" if kind is _factored.LU else "Cholesky"] += 1
            make(self, *args)

        monkeypatch.setattr(kind, "__init__", init)

    counted(_factored.LU)
    counted(_factored.Cholesky)
    return calls


@pytest.fixture
def count_kernels(monkeypatch):
    """How often the kernels run."""
    calls = {}

    def counted(name):
        kernel = getattr(kernels, name)

        def call(*args, **options):
            calls[name] = calls.get(name, 0) + 1
            return kernel(*args, **options)

        monkeypatch.setattr(kernels, name, call)

    for name in ["getrf", "potrf", "potrf_pullback", "getri", "potri"]:
        counted(name)
    return calls


def everything_of_cholesky(K, b):
    F = cho_factor(K)
    return F.solve(b), F.quad(b), F.whiten(b), F.logdet(), F.inv(), F.diag_inv(), F.L


def everything_of_lu(A, b):
    F = lu_factor(A)
    return F.solve(b), F.solve(b, True), F.solve(b, "C"), *F.slogdet(), F.det(), F.inv(), F.diag_inv()


# -- values and derivatives ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (40, 40), (2, 3, 3), (0, 0), (0, 2, 2)])
def test_values(dtype, shape):
    n = shape[-1]
    A = regular(*shape)
    K = spd(*shape)
    if np.dtype(dtype).kind == "c":
        A = A + 1j * RNG.standard_normal(shape)
        K = K + 0.1j * (A.real - np.swapaxes(A.real, -1, -2))
    b = RNG.standard_normal((n, 2))
    K, A, b = K.astype(dtype), A.astype(dtype), b.astype(dtype)
    b_h = np.conj(b.T)
    rtol = 1e-9 if np.finfo(dtype).eps < 1e-10 else 1e-3

    def check(got, expected):
        expected = np.asarray(expected)
        assert (np.shape(got), got.dtype) == (expected.shape, expected.dtype)
        assert_allclose(got, expected, rtol=rtol, atol=rtol)

    x, q, z, logdet, inv, diag_inv, L = everything_of_cholesky(K, b)
    check(x, np.linalg.solve(K, b))
    check(q, np.diagonal(b_h @ np.linalg.solve(K, b), axis1=-2, axis2=-1).real)
    check(z, np.linalg.solve(np.linalg.cholesky(K), b))
    check(logdet, np.linalg.slogdet(K)[1])
    check(inv, np.linalg.inv(K))
    check(diag_inv, np.diagonal(np.linalg.inv(K), axis1=-2, axis2=-1).real)
    check(L, np.linalg.cholesky(K))

    x, x_t, x_h, sign, logdet, det, inv, diag_inv = everything_of_lu(A, b)
    check(x, np.linalg.solve(A, b))
    check(x_t, np.linalg.solve(np.swapaxes(A, -1, -2), b))
    check(x_h, np.linalg.solve(np.conj(np.swapaxes(A, -1, -2)), b))
    check(sign, np.linalg.slogdet(A)[0])
    check(logdet, np.linalg.slogdet(A)[1])
    check(det / np.linalg.det(A), np.ones(shape[:-2], dtype))
    check(inv, np.linalg.inv(A))
    check(diag_inv, np.diagonal(np.linalg.inv(A), axis1=-2, axis2=-1))


@pytest.mark.parametrize("complex_too", [False, True])
@pytest.mark.parametrize("b_shape", [(3,), (3, 2), (2, 3, 2)])
def test_derivatives(b_shape, complex_too):
    A, b = RNG.standard_normal((2, 3, 3)), RNG.standard_normal(b_shape)
    if complex_too:
        A, b = A + 1j * RNG.standard_normal(A.shape), b + 1j * RNG.standard_normal(b_shape)
    K = A @ np.conj(np.swapaxes(A, -1, -2)) + 3 * np.eye(3)
    check_grads(lambda K, b: everything_of_cholesky(symmetric(K), b), (K, b))
    check_grads(everything_of_lu, (0.5 * A + 3 * np.eye(3), b))


def test_third_order():
    K, b = spd(2, 2), np.array([1.0, -2.0])
    check_grads(lambda K, b: everything_of_cholesky(symmetric(K), b), (K, b), 3)
    check_grads(everything_of_lu, (regular(2, 2), b), 3)


def test_a_real_matrix_and_complex_right_hand_sides():
    K, A = spd(3, 3), regular(3, 3)
    b = RNG.standard_normal(3) + 1j * RNG.standard_normal(3)
    check_grads(lambda K, b: cho_factor(symmetric(K)).solve(b), (K, b))
    check_grads(lambda A, b: lu_factor(A).solve(b, "C"), (A, b))
    assert_allclose(cho_factor(K).quad(b), np.vdot(b, np.linalg.solve(K, b)).real)


def test_the_gradient_of_a_positive_definite_matrix_is_symmetric_and_the_lower_triangle_is_read():
    K, b = spd(4, 4), RNG.standard_normal(4)
    unread = np.where(np.triu(np.ones((4, 4), bool), 1), np.nan, K)

    def f(K):
        return sum(np.sum(part**2) for part in everything_of_cholesky(K, b))

    got, expected = ld.grad(f)(unread), ld.grad(f)(K)
    assert_allclose(expected, expected.T, rtol=1e-14)
    assert_allclose(got, np.tril(expected) + np.tril(expected, -1), rtol=1e-12)  # nothing stands opposite


@pytest.mark.parametrize("triangle", [np.tril, np.triu])
def test_a_triangle_is_its_own_factor(triangle, count_kernels):
    A, b = triangle(regular(2, 4, 4)), RNG.standard_normal((4, 2))
    check_grads(everything_of_lu, (A, b), 1)
    count_kernels.clear()
    ld.grad(lambda A: sum(np.sum(part) for part in everything_of_lu(A, b)))(A)
    assert count_kernels == {}


# -- shifts ----------------------------------------------------------------------------------------------


def with_shifts(K, shift, b):
    F = eigh_factor(K)
    return F.solve(b, shift), F.quad(b, shift), F.logdet(shift)


def with_shifts_composed(K, shift, b):
    A = K + shift[..., None, None] * np.eye(K.shape[-1])
    x = np.linalg.solve(A, b[:, None] if b.ndim == 1 else b)
    x = x[..., 0] if b.ndim == 1 else x
    return x, np.sum(np.conj(b) * x, axis=-1 if b.ndim == 1 else -2).real, np.linalg.slogdet(A)[1]


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("k", [(), (2,)])
@pytest.mark.parametrize(("batch", "shifts"), [((), ()), ((), (3,)), ((2,), ()), ((2,), (3, 2)), ((0,), ())])
def test_shifts(batch, shifts, k, is_complex):
    K, b, shift = spd(*batch, 3, 3), RNG.standard_normal((3, *k)), RNG.uniform(-0.5, 0.5, shifts)
    if is_complex:
        K, b = K + 0.3j * (K.cumsum(-1) - np.swapaxes(K.cumsum(-1), -1, -2)), b + 1j * b[::-1]
    # far from singular, whatever numbers the tests before have left
    K = K + (1.0 - np.minimum(np.linalg.eigvalsh(K)[..., :1, None], 0)) * np.eye(3)
    args = (K, shift, b)
    for got, expected in zip(with_shifts(*args), with_shifts_composed(*args), strict=True):
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        assert_allclose(got, expected, rtol=1e-10)
    check_grads(lambda K, shift, b: with_shifts(symmetric(K), shift, b), args)
    y, pullback = ld.vjp(with_shifts, *args)
    _, composed = ld.vjp(lambda K, shift, b: with_shifts_composed(symmetric(K), shift, b), *args)
    for got, expected in zip(pullback(y), composed(y), strict=True):
        assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_shifts_with_repeated_eigenvalues_and_of_indefinite_matrices():
    K, shift = np.diag([1.0, 1.0, -3.0]), np.array(0.5)
    check_grads(lambda K, s, b: with_shifts(symmetric(K), s, b), (K, shift, np.ones(3)), 3)
    with pytest.raises(
        np.linalg.LinAlgError, match=r"eigenvalue 0 plus the shift is 0 \(batch index \(1,\)\)"
    ):
        eigh_factor(K).logdet(np.array([0.0, 3.0]))
    with pytest.raises(TypeError, match="shift has dtype complex128"):
        eigh_factor(K).logdet(1j)


def test_many_shifts_take_one_decomposition(monkeypatch):
    calls, kernel = [], kernels.syevd
    monkeypatch.setattr(
        kernels, "syevd", lambda *args, **options: calls.append(1) or kernel(*args, **options)
    )
    K, b = spd(4, 4), np.ones(4)

    def f(K, shift):
        F = eigh_factor(K)
        return sum(F.quad(b, s) + F.logdet(s) for s in (shift, 2 * shift)) + np.sum(F.logdet(np.ones(3)))

    ld.hvp(f, (K, 0.5), (K, 1.0))
    assert len(calls) == 1
    F = eigh_factor(K.astype(np.float32))
    assert F.solve(b.astype(np.float32), 0.5).dtype == F.logdet().dtype == np.float32
    assert ld.grad(F.logdet)(np.array([0.5])[0]) > 0


# -- one factorization -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("kind", ["Cholesky", "LU"])
def test_an_object_factors_once_forward_and_backward(kind, shape, count, count_kernels):
    f = everything_of_cholesky if kind == "Cholesky" else everything_of_lu
    M, b = spd(*shape), RNG.standard_normal((shape[-1], 2))
    y, pullback = ld.vjp(f, M, b)
    pullback(tuple(np.ones_like(part) for part in y))
    pullback(y)
    ld.jvp(f, (M, b), (M, b))
    assert count == {"Cholesky": 0, "LU": 0, kind: 2}  # one for vjp, one for jvp
    assert count_kernels.get("potrf" if kind == "Cholesky" else "getrf") == 2
    assert count_kernels.get("getrf" if kind == "Cholesky" else "potrf") is None


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("kind", ["Cholesky", "LU"])
def test_second_derivatives_factor_once(kind, shape, count_kernels):
    factor = cho_factor if kind == "Cholesky" else lu_factor
    M, b = spd(*shape), RNG.standard_normal(shape[-1])

    def f(M, b):
        F = factor(M)
        return np.sum(b * F.solve(b)) + np.sum(F.logdet()) + np.sum(F.inv() ** 2) + np.sum(F.diag_inv())

    ld.hvp(f, (M, b), (M, b))
    name = "potrf" if kind == "Cholesky" else "getrf"
    assert count_kernels[name] == 1
    count_kernels.clear()
    ld.grad(lambda M: np.sum(ld.grad(f)(M, b) ** 2))(M)
    assert count_kernels[name] == 1


def test_a_plain_object_in_a_function_of_the_right_hand_side(count):
    K, b = spd(4, 4), RNG.standard_normal(4)
    F = cho_factor(K)
    check_grads(lambda b: (F.solve(b), F.quad(b), F.whiten(b)), (b,))
    assert count["Cholesky"] == 1
    G = lu_factor(K)
    check_grads(lambda b: (G.solve(b), G.solve(b, True)), (b,))
    assert count["LU"] == 1


def test_a_plain_object_does_not_follow_later_writes():
    for A in [regular(3, 3), np.tril(regular(3, 3)), regular(3, 3) + 1j]:
        F, expected = lu_factor(A), np.linalg.solve(A, np.ones(3))
        A[:] = 0
        assert_allclose(F.solve(np.ones(3)), expected)
    F = cho_factor(spd(3, 3))
    expected = F.inv()
    F.inv()[:] = 0
    assert_allclose(F.inv(), expected)


# -- NumPy's own functions -------------------------------------------------------------------------------


def plain_code(K, b):
    sign, logdet = np.linalg.slogdet(K)
    x = np.linalg.solve(K, b)
    return np.sum(b * x) + np.sum(logdet * sign) + np.sum(np.linalg.inv(K) ** 2) + np.sum(np.linalg.det(K))


@pytest.mark.parametrize("shape", [(40, 40), (3, 4, 4)])
def test_numpy_functions_share_one_factorization(shape, count):
    K, b = regular(*shape), RNG.standard_normal((shape[-1], 2))
    ld.value_and_grad(plain_code, argnums=(0, 1))(K, b)
    assert count == {"LU": 1, "Cholesky": 0}
    ld.jvp(plain_code, (K, b), (K, b))
    assert count["LU"] == 2
    ld.hvp(plain_code, (K, b), (K, b))
    assert count["LU"] == 3


@pytest.mark.parametrize("shape", [(40, 40), (3, 4, 4)])
def test_cholesky_twice_is_one_factorization(shape, count):
    def f(K):
        return np.sum(np.linalg.cholesky(K)) + np.sum(np.linalg.cholesky(K) ** 2)

    K = spd(*shape)
    once = ld.grad(lambda K: (lambda L: np.sum(L) + np.sum(L**2))(np.linalg.cholesky(K)))(K)
    assert count["Cholesky"] == 1
    assert_allclose(ld.grad(f)(K), once, rtol=1e-12)
    assert count["Cholesky"] == 2


def test_cholesky_and_the_object_share(count):
    K = spd(40, 40)
    ld.grad(lambda K: np.sum(np.linalg.cholesky(K)) + cho_factor(K).logdet())(K)
    assert count["Cholesky"] == 1
    upper = ld.vjp(lambda K: (np.linalg.cholesky(K), np.linalg.cholesky(K, upper=True)), K)[0]
    assert_allclose(upper[0], upper[1].T)
    assert count["Cholesky"] == 3


@pytest.mark.parametrize("shape", [(4, 4), (40, 40), (2, 4, 4)])
@pytest.mark.parametrize("by_hand", [False, True])
def test_changes_in_place_are_seen(shape, by_hand):
    """What was computed from a Variable before it is changed in place is not taken for its new value."""
    K = spd(*shape)

    def f(K):
        K = K * 1.0
        first = np.linalg.solve(K, np.ones((shape[-1], 1)))
        L = np.linalg.cholesky(K)
        L += 1.0
        K += 2.0 * np.eye(shape[-1])
        K *= 2.0
        second = np.linalg.solve(K, np.ones((shape[-1], 1)))
        return np.sum(first), np.sum(second), np.sum(np.linalg.cholesky(K)), np.sum(L)

    def expected(K):
        changed = 2.0 * (K + 2.0 * np.eye(shape[-1]))
        first, second = (np.sum(np.linalg.solve(M, np.ones((shape[-1], 1)))) for M in (K, changed))
        return first, second, np.sum(np.linalg.cholesky(changed)), np.sum(np.linalg.cholesky(K) + 1.0)

    if by_hand:
        assert_allclose([ld.value(y) for y in f(ld.Variable(K))], expected(K))
        return
    y, pullback = ld.vjp(f, K)
    assert_allclose(y, expected(K))
    for got, other in zip(pullback((1.0,) * 4), ld.vjp(expected, K)[1]((1.0,) * 4), strict=True):
        assert_allclose(got, other)


@pytest.mark.parametrize("factor", [cho_factor, lu_factor, eigh_factor])
def test_an_object_does_not_follow_a_variable_that_is_changed_in_place(factor):
    K, b = spd(4, 4), RNG.standard_normal(4)

    def f(K):
        M = K * 1.0
        F = factor(M)
        M += np.eye(4)
        return np.sum(b * F.solve(b)) + F.logdet() + np.sum(M)

    expected = ld.grad(lambda K: b @ np.linalg.solve(K, b) + np.linalg.slogdet(K)[1] + np.sum(K))(K)
    assert_allclose(ld.grad(f)(K), expected, rtol=1e-12)


def test_the_triangle_of_an_object_is_one_operation_and_read_only(count_kernels):
    K = spd(40, 40)  # a small one is pulled back without the kernel's face

    def f(K):
        F = cho_factor(K)
        L = F.L
        L += 1.0
        return np.sum(F.L**2) + np.sum(F.whiten(np.ones(40))) + np.sum(L)

    got = ld.grad(f)(K)
    assert count_kernels == {"potrf": 1, "potrf_pullback": 1}
    expected = ld.grad(
        lambda K: (lambda L: np.sum(L**2) + np.sum(np.linalg.solve(L, np.ones(40))) + np.sum(L))(
            np.linalg.cholesky(K)
        )
    )(K)
    assert_allclose(got, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        cho_factor(K).L[0, 0] = 1.0


def test_plain_arrays_as_buffers_are_factored_anew():
    buffer, total = np.empty((40, 40)), 0.0
    b = RNG.standard_normal(40)
    matrices = [regular(40, 40) for _ in range(3)]

    def f(b):
        total = 0.0
        for A in matrices:
            buffer[:] = A
            total = total + np.sum(np.linalg.solve(buffer, b))
        return total

    total = sum(np.linalg.inv(A).sum(axis=0) for A in matrices)
    assert_allclose(ld.grad(f)(b), total)


def test_a_factor_dies_with_the_variable_and_its_record():
    others = {id(x) for x in gc.get_objects() if type(x) is _factored.LU}
    K = ld.Variable(spd(40, 40))
    y = np.linalg.slogdet(K)[1]
    found = [x for x in gc.get_objects() if type(x) is _factored.LU and id(x) not in others]
    kept = weakref.ref(found.pop())
    assert not found
    y.backward()
    assert kept() is not None
    del K
    assert kept() is not None  # the record of y uses it
    del y
    assert kept() is None


@pytest.mark.parametrize("first", ["inverse", "determinant"])
def test_the_inverse_that_is_kept_is_not_written_to(first):
    K = spd(2, 4, 4)

    def f(K):
        F = cho_factor(K)
        inv = F.inv() if first == "inverse" else 0.0
        logdet = F.logdet()
        return logdet, inv + F.inv()

    (_, inv), pullback = ld.vjp(f, K)
    zeros = np.zeros_like(inv)
    expected = np.linalg.inv(K)
    for scale in [2.0, 3.0, 2.0]:
        got = pullback((np.full(2, scale), zeros))[0]
        assert_allclose(got, scale * expected)
    assert_allclose(inv, (2 if first == "inverse" else 1) * expected)


# -- objects as arguments and results --------------------------------------------------------------------


def test_objects_go_through_transforms():
    K, A, b = spd(3, 3), regular(3, 3), RNG.standard_normal(3)
    for f, F, expected in [
        (lambda F, b: F.quad(b) + F.logdet(), cho_factor(K), lambda K: cho_factor(K).quad(b)),
        (lambda F, b: np.sum(F.solve(b)), lu_factor(A), None),
    ]:
        y, pullback = ld.vjp(f, F, b)
        F_bar, b_bar = pullback(1.0)
        assert type(F_bar) is type(F)
        assert b_bar.shape == b.shape
        assert_allclose(y, f(F, b))
        if expected is not None:
            assert_allclose(F_bar.matrix, ld.grad(expected)(K) + np.linalg.inv(K), rtol=1e-10)
    made, pullback = ld.vjp(cho_factor, K)
    assert isinstance(made, CholeskyFactor)
    assert_allclose(made.logdet(), np.linalg.slogdet(K)[1])
    assert_allclose(pullback(CholeskyFactor(np.ones((3, 3))))[0], np.ones((3, 3)))


def test_what_objects_look_like():
    assert repr(cho_factor(spd(3, 3))) == "<CholeskyFactor of a 3×3 float64 matrix>"
    batch = np.stack([np.eye(2, dtype=np.float32)] * 5)
    assert repr(lu_factor(batch)) == "<LUFactor of a batch (5,) of 2×2 float32 matrix>"
    assert repr(lu_factor(ld.Variable(np.eye(2)))) == "<LUFactor of a Variable: 2×2 float64 matrix>"
    assert repr(LUFactor(np.zeros((1, 1)))).startswith("<LUFactor")


def test_lists_and_integers():
    assert_allclose(cho_factor([[4, 2], [2, 5]]).L, [[2, 0], [1, 2]])
    assert_allclose(lu_factor([[2, 0], [1, 1]]).solve([2, 2]), [1, 1])
    assert ld.grad(lambda b: np.sum(lu_factor([[2, 1], [1, 1]]).solve(b)))(np.ones(2)).shape == (2,)


def test_errors():
    with pytest.raises(np.linalg.LinAlgError, match=r"leading minor of order 2.*batch index \(1,\)"):
        cho_factor(np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0])]))
    with pytest.raises(np.linalg.LinAlgError, match=r"leading minor of order 2"):
        ld.grad(lambda K: cho_factor(K).logdet())(np.diag([1.0, -1.0, 1.0]))
    with pytest.raises(np.linalg.LinAlgError, match=r"singular.*batch index \(1,\)"):
        lu_factor(np.stack([np.eye(2), np.ones((2, 2))])).solve(np.ones(2))
    with pytest.raises(np.linalg.LinAlgError, match=r"singular"):
        lu_factor(np.ones((2, 2))).inv()
    for factor in [cho_factor, lu_factor]:
        with pytest.raises(np.linalg.LinAlgError, match=r"factor: .*square.*\(2, 3\)"):
            factor(np.ones((2, 3)))
        with pytest.raises(ValueError, match=r"solve: a matrix of shape \(2, 2\) and b of shape \(3,\)"):
            factor(np.eye(2)).solve(np.ones(3))
        with pytest.raises(TypeError, match="object"):
            factor(np.eye(2).astype(object))
    assert lu_factor(np.ones((2, 2))).det() == 0
    assert_array_equal(lu_factor(np.zeros((2, 2))).slogdet(), [0, -np.inf])
    assert_allclose(ld.grad(lambda A: lu_factor(A).det())(np.ones((2, 2))), [[1, -1], [-1, 1]], atol=1e-14)
