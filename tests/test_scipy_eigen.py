"""Facts special to eigenvalues of ``lindiff.scipy.linalg``: errors, subsets, pairs of matrices, gauge."""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from table_operators import in_one_triangle

import lindiff as ld
from lindiff.scipy.linalg.eigen import eig, eigh, eigvals, eigvalsh
from lindiff.scipy.linalg.eigen_banded import (
    eig_banded,
    eigh_tridiagonal,
    eigvals_banded,
    eigvalsh_tridiagonal,
)
from lindiff.testing import check_grads

RNG = np.random.default_rng(0)


def hermitian(n, complex=False):
    X = RNG.standard_normal((n, n)) + (1j * RNG.standard_normal((n, n)) if complex else 0)
    return X + X.conj().T + np.diag(5.0 * np.arange(n))


def positive(n, complex=False):
    X = RNG.standard_normal((n, n)) + (1j * RNG.standard_normal((n, n)) if complex else 0)
    return X @ X.conj().T + np.eye(n)


A, B = hermitian(3), positive(3)

CALLS = [
    (eigh, (A,), {}),
    (eigh, (A,), {"driver": "evd", "lower": False}),
    (eigh, (A, B), {"type": 2}),
    (eigh, (A, B), {"subset_by_index": [1, 2]}),
    (eigh, (A,), {"subset_by_value": [0.0, 100.0], "eigvals_only": True}),
    (eigvalsh, (A, B), {"type": 3}),
    (eig, (A,), {}),
    (eig, (A + np.tri(3), B), {"left": True}),
    (eig, (A,), {"left": True, "right": False}),
    (eig, (A, B), {"right": False, "homogeneous_eigvals": True}),
    (eigvals, (A,), {"homogeneous_eigvals": True}),
    (eigh_tridiagonal, (np.arange(3.0), np.ones(2)), {}),
    (eigvalsh_tridiagonal, (np.arange(3.0), np.ones(2)), {"select": "v", "select_range": (0, 2)}),
    (eig_banded, (np.stack([np.arange(3.0), np.ones(3)]),), {"lower": True}),
    (eigvals_banded, (np.ones((2, 3)),), {}),
]


@pytest.mark.parametrize(("function", "args", "options"), CALLS)
def test_plain_arrays_give_what_scipy_gives(function, args, options):
    original = getattr(scipy.linalg, function.__name__)
    for dtype in [np.float64, np.float32]:
        arrays = [a.astype(dtype) for a in args]
        got, expected = function(*arrays, **options), original(*arrays, **options)
        assert isinstance(got, tuple) == isinstance(expected, tuple)
        for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, expected)), strict=True):
            assert_array_equal(x, y)
            assert x.dtype == y.dtype
    assert function.__doc__.splitlines()[0].endswith(f"like ``scipy.linalg.{function.__name__}``.")


# numerators and denominators of a pair have no derivative
@pytest.mark.parametrize(("function", "args", "options"), [c for i, c in enumerate(CALLS) if i != 9])
def test_variables_give_what_scipy_gives(function, args, options):
    """Up to the signs of vectors."""
    got = ld.vjp(lambda *args: function(*args, **options), *args)[0]
    expected = function(*args, **options)
    assert isinstance(got, tuple) == isinstance(expected, tuple)
    for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, expected)), strict=True):
        assert_allclose(np.abs(x), np.abs(y), atol=1e-12)
        assert x.dtype == y.dtype


# -- pairs of matrices ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("type", [1, 2, 3])
@pytest.mark.parametrize("lower", [True, False])
def test_a_complex_pair(type, lower):
    a, b = hermitian(3, complex=True), positive(3, complex=True)

    def weights(a, b):
        w, V = eigh(a, b, type=type, lower=lower)
        return w, np.abs(V) ** 2

    (w, _), pullback = ld.vjp(weights, a, b)
    assert_allclose(w, scipy.linalg.eigh(a, b, type=type)[0])
    for bar in pullback((np.ones(3), RNG.standard_normal((3, 3)))):
        assert_allclose(bar, bar.conj().T, atol=1e-14)

    def of_halves(x, y):
        return weights(x + np.conj(x.T), y + np.conj(y.T))

    check_grads(of_halves, (a / 2, b / 2), rtol=1e-6)


@pytest.mark.parametrize("lower", [True, False])
def test_only_the_named_triangle_is_read(lower):
    half = [np.where(np.tri(3) if lower else np.tri(3).T, X, np.nan) for X in (A, B)]

    def f(a, b):
        return np.sum(eigvalsh(a, b, lower=lower, check_finite=False) ** 2)

    for got, expected in zip(ld.grad(f, (0, 1))(*half), ld.grad(f, (0, 1))(A, B), strict=True):
        assert_allclose(got, in_one_triangle(expected, lower))


def test_one_of_the_pair_is_constant():
    both = ld.grad(lambda a, b: np.sum(eigvalsh(a, b) ** 2), (0, 1))(A, B)
    assert_allclose(ld.grad(lambda a: np.sum(eigvalsh(a, B.tolist()) ** 2))(A), both[0])
    assert_allclose(ld.grad(lambda b: np.sum(eigvalsh(A, b=b) ** 2))(B), both[1])
    check_grads(lambda b: eigvals(A, b), (B,), rtol=1e-6)
    check_grads(lambda a: eigvals(a, B), (A,), rtol=1e-6)


def test_a_singular_denominator():
    b = np.diag([1.0, 1.0, 0.0])
    with pytest.raises(np.linalg.LinAlgError, match=r"positive definite"):
        eigh(ld.Variable(A), b)
    w, pullback = ld.vjp(lambda a: eigvals(a, np.diag([1.0, 0.0])), np.eye(2))
    assert np.isinf(w).any()
    with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
        pullback(np.ones(2))


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: eigh(a, type=4), r"type must be"),
        (lambda a: eigh(a, driver="evz"), r"driver must be"),
        (lambda a: eigh(a, subset_by_index=[0, 1], subset_by_value=[0, 1]), r"not both"),
        (lambda a: eigh(a, subset_by_index=[1, 3]), r"within \[0, 2\], got 1 and 3"),
        (lambda a: eigh(a, subset_by_value=[2, 1]), r"bounds of a subset must ascend"),
        (lambda a: eigh(a, np.eye(2)), r"a of shape \(3, 3\) and b of shape \(2, 2\)"),
        (lambda a: eig(a, np.eye(2)), r"a of shape \(3, 3\) and b of shape \(2, 2\)"),
        (lambda a: eig(a[:2]), r"eig: a must be square.*\(2, 3\)"),
        (lambda a: eigh(a[:2]), r"eigh: a must be square.*\(2, 3\)"),
        (lambda a: eigh(a / 0), r"infs or NaNs"),
        (lambda a: eigh_tridiagonal(a[0], a[0]), r"must have one more element"),
        (lambda a: eig_banded(a, select="x"), r"eig_banded: select must be"),
        (lambda a: eig_banded(a[0]), r"a_band must have at least two axes"),
    ],
)
def test_bad_input(call, message):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        call(ld.Variable(np.eye(3)))


def test_numerators_and_denominators_have_no_derivative():
    with pytest.raises(TypeError, match=r"use homogeneous_eigvals=False"):
        eig(ld.Variable(np.eye(2)), np.eye(2), homogeneous_eigvals=True)


def test_complex_tridiagonals_are_refused():
    with pytest.raises(TypeError, match=r"[Rr]eal"):
        eigh_tridiagonal(ld.Variable(np.ones(2) + 0j), np.ones(1))


# -- subsets -------------------------------------------------------------------------------------------------


def test_vectors_of_a_subset_depend_on_all_others():
    check_grads(lambda a: eigh(a + a.T, subset_by_index=[1, 1])[1] ** 2, (A / 2,))
    w = eigvalsh(A)
    between = [w[0], w[1]]
    assert_allclose(ld.vjp(lambda a: eigvalsh(a, subset_by_value=between), A)[0], [w[1]])


def test_a_batch_of_subsets_by_value():
    batch = np.stack([np.diag([1.0, 2.0, 3.0]), np.diag([2.5, 5.0, 1.5])])
    w, V = ld.vjp(lambda a: eigh(a, subset_by_value=[1.2, 2.7]), batch[1:])[0]
    assert_allclose(w, [[1.5, 2.5]])
    assert V.shape == (1, 3, 2)
    with pytest.raises(ValueError, match=r"other numbers of eigenvalues"):
        eigvalsh(ld.Variable(batch), subset_by_value=[1.2, 2.7])


# -- gauge, repeated eigenvalues -----------------------------------------------------------------------------


@pytest.mark.parametrize("side", [1, 2])
def test_phases_of_either_side_warn(side):
    a = np.array([[0.0, 1.0], [-2.0, 0.5]])
    y, pullback = ld.vjp(lambda a: eig(a, left=True)[side], a)
    with pytest.warns(RuntimeWarning, match=r"eig: .*phase of vector 0"):
        pullback(1j * y)


def test_left_vectors_are_those_of_the_adjoint():
    a = RNG.standard_normal((3, 3)) + np.diag([0.0, 5.0, 10.0])
    w, vl, vr = eig(a, left=True)
    bar = RNG.standard_normal((3, 3))

    def weighed(w, V):
        order = np.argsort(ld.value(w).real)
        return np.sum(bar * np.abs(V[:, order]) ** 2)

    assert_allclose(np.sort(eigvals(a.T)), np.sort(w))
    gradient = ld.grad(lambda a: weighed(*eig(a, left=True, right=False)))(a)
    assert_allclose(gradient, ld.grad(lambda a: weighed(*eig(a.T)))(a))
    assert vl.dtype == vr.dtype == np.float64


def test_smooth_functions_of_repeated_eigenvalues():
    """``tr f(B⁻¹ A)`` has the gradient ``B⁻¹ f'(A B⁻¹)``, equal eigenvalues or not."""
    gradient = ld.grad(lambda a, b: np.sum(eigvalsh(a, b) ** 3), (0, 1))
    a_bar, b_bar = gradient(2 * B, B)
    inverse = np.linalg.inv(B)
    assert_allclose(a_bar, 12 * inverse, rtol=1e-9)
    assert_allclose(b_bar, -24 * inverse, rtol=1e-9)
    w, V = eigh_tridiagonal(np.ones(3), np.zeros(2))
    d_bar, e_bar = ld.grad(lambda d, e: np.sum(eigvalsh_tridiagonal(d, e) ** 2), (0, 1))(
        np.ones(3), np.zeros(2)
    )
    assert_allclose(d_bar, 2 * np.ones(3))
    assert_array_equal(e_bar, np.zeros(2))
    assert_array_equal(w, np.ones(3))
    assert V.shape == (3, 3)


def test_vectors_of_repeated_eigenvalues_warn():
    y, pullback = ld.vjp(lambda d, e: eigh_tridiagonal(d, e)[1], np.ones(2), np.zeros(1))
    with pytest.warns(RuntimeWarning, match=r"eigh_tridiagonal: values 0 and 1 \(1 and 1\) are equal"):
        pullback(np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert y.shape == (2, 2)


def test_tridiagonal_is_the_dense_matrix():
    d, e = RNG.standard_normal(5), RNG.standard_normal(4)

    def dense(d, e):
        return np.diag(d) + np.diag(e, 1) + np.diag(e, -1)

    def f(w, V):
        return np.sum(np.sin(w)) + np.sum(np.arange(25.0).reshape(5, 5) * V**2)

    got = ld.grad(lambda d, e: f(*eigh_tridiagonal(d, e)), (0, 1))(d, e)
    expected = ld.grad(lambda d, e: f(*eigh(dense(d, e))), (0, 1))(d, e)
    for x, y in zip(got, expected, strict=True):
        assert_allclose(x, y, atol=1e-11)


def test_third_order():
    check_grads(lambda a, b: eigvalsh(a + a.T, b + b.T), (A / 2, B / 2), order=3, rtol=1e-5)
    check_grads(
        lambda d, e: eigh_tridiagonal(d, e)[1] ** 2, (3.0 * np.arange(3), np.ones(2)), order=3, rtol=1e-6
    )
