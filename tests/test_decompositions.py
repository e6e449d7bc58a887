"""Cholesky, inverse, determinant, eigenvalues, singular values and LQ: kernels against the formulas."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import lindiff as ld


def separated(rng, batch, m, n):
    """With singular values 1, 2, 3, ..."""
    k = min(m, n)
    U = np.linalg.qr(rng.standard_normal((*batch, m, k)))[0]
    V = np.linalg.qr(rng.standard_normal((*batch, n, k)))[0]
    return (U * np.arange(1.0, k + 1)) @ np.swapaxes(V, -1, -2)


def square(rng, batch, n):
    return separated(rng, batch, n, n)


def wide(rng, batch, n):
    return separated(rng, batch, n, n + 2)


def tall(rng, batch, n):
    return separated(rng, batch, n + 2, n)


def heavy(rng, batch, n):
    """Pivots are alike."""
    return np.eye(n) + 0.1 * rng.standard_normal((*batch, n, n)) / n


def irregular(rng, batch, n):
    A = heavy(rng, batch, n)
    A[..., 0, :] *= 1e-6
    return A


def symmetric(rng, batch, n):
    """With eigenvalues 1, 2, 3, ..."""
    Q = np.linalg.qr(rng.standard_normal((*batch, n, n)))[0]
    A = (Q * np.arange(1.0, n + 1)) @ np.swapaxes(Q, -1, -2)
    return (A + np.swapaxes(A, -1, -2)) / 2


def thin_svd(a):
    return np.linalg.svd(a, full_matrices=False)


def upper_potrf(a):
    return ld.linalg.potrf(a, lower=False)


OPERATIONS = {
    "cholesky": (np.linalg.cholesky, symmetric),
    "cholesky (upper)": (lambda a: np.linalg.cholesky(a, upper=True), symmetric),
    "potrf": (ld.linalg.potrf, symmetric),
    "potrf (upper)": (upper_potrf, symmetric),
    "inv": (np.linalg.inv, square),
    "det": (np.linalg.det, heavy),
    "det (irregular)": (np.linalg.det, irregular),
    "slogdet": (np.linalg.slogdet, square),
    "eigh": (np.linalg.eigh, symmetric),
    "eigh (upper)": (lambda a: np.linalg.eigh(a, UPLO="U"), symmetric),
    "eigvalsh": (np.linalg.eigvalsh, symmetric),
    "svd": (np.linalg.svd, square),
    "svd (thin, wide)": (thin_svd, wide),
    "svd (thin, tall)": (thin_svd, tall),
    "svd (values)": (lambda a: np.linalg.svd(a, compute_uv=False), wide),
    "svdvals": (np.linalg.svdvals, tall),
    "syevd": (ld.linalg.syevd, symmetric),
    "gelqf": (ld.linalg.gelqf, wide),
}


def by_formulas(f, A):
    """``f(A)`` within another derivative, where no kernel gets the Variables of an enclosing trace."""
    return ld.vjp(f, A)[0]


def parts(y):
    return y if isinstance(y, tuple) else (y,)


def like(rng, y):
    """Cotangents of the results; None for the sign of a determinant."""
    bars = [rng.standard_normal(x.shape).astype(x.dtype) for x in parts(y)]
    return type(y)(*bars) if hasattr(y, "_fields") else tuple(bars) if isinstance(y, tuple) else bars[0]


@pytest.mark.parametrize("case", OPERATIONS)
@pytest.mark.parametrize(
    ("n", "batch"), [(1, ()), (2, (3,)), (3, (2, 1)), (5, ()), (13, (2,)), (50, ())], ids=str
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_are_the_formulas(case, n, batch, dtype):
    function, make = OPERATIONS[case]
    rng = np.random.default_rng(n)
    A, A_dot = make(rng, batch, n).astype(dtype), make(rng, batch, n).astype(dtype)
    tolerance = {"rtol": 1e-8, "atol": 1e-8} if dtype == np.float64 else {"rtol": 2e-2, "atol": 2e-2}
    y, pullback = ld.vjp(function, A)
    want = by_formulas(function, A)
    assert type(y) is type(want)
    y_bar = like(rng, y)
    got_bar = pullback(y_bar)[0]
    want_bar = by_formulas(lambda A: ld.vjp(function, A)[1](y_bar)[0], A)
    assert got_bar.dtype == dtype
    scale = max(np.abs(want_bar).max(), 1)
    assert_allclose(got_bar / scale, want_bar / scale, **tolerance)
    dots = ld.jvp(function, (A,), (A_dot,))[1]
    want_dots = by_formulas(lambda A: ld.jvp(function, (A,), (A_dot,))[1], A)
    for got, expected in zip((*parts(y), *parts(dots)), (*parts(want), *parts(want_dots)), strict=True):
        assert got.dtype == expected.dtype
        assert got.shape == expected.shape
        scale = max(np.abs(expected).max(), 1)
        assert_allclose(got / scale, expected / scale, **tolerance)
    for one in range(len(parts(y)) if isinstance(y, tuple) else 0):  # one output alone

        def alone(A, one=one):
            return ld.vjp(lambda A: function(A)[one], A)[1](parts(y_bar)[one])[0]

        assert_allclose(alone(A) / scale, by_formulas(alone, A) / scale, **tolerance)


@pytest.mark.parametrize("case", OPERATIONS)
def test_values_are_numpys(case):
    """Signs of vectors are, too."""
    function, make = OPERATIONS[case]
    if "gelqf" in case or "syevd" in case or "potrf" in case:
        pytest.skip("an operator of its own")
    for dtype in (np.float64, np.float32):
        A = make(np.random.default_rng(0), (2,), 12).astype(dtype)
        for got, want in zip(parts(ld.vjp(function, A)[0]), parts(function(A)), strict=True):
            assert got.dtype == want.dtype
            assert_allclose(
                got,
                want,
                rtol=1e-3 if dtype == np.float32 else 1e-9,
                atol=1e-5 if dtype == np.float32 else 1e-11,
            )


@pytest.mark.parametrize("case", OPERATIONS)
def test_cotangents_may_be_variables(case):
    """A pullback of plain values differentiated by its cotangent: the formula, not the kernel."""
    function, make = OPERATIONS[case]
    rng = np.random.default_rng(0)
    A, A_dot = make(rng, (), 3), make(rng, (), 3)
    y, pullback = ld.vjp(function, A)
    y_bar = like(rng, y)
    (A_bar,), (A_bar_dot,) = ld.jvp(lambda y_bar: pullback(y_bar), (y_bar,), (y_bar,))
    assert_allclose(A_bar, A_bar_dot, atol=1e-11)  # it is linear
    gradient = ld.grad(lambda y_bar: np.sum(pullback(y_bar)[0] * A_dot))(y_bar)
    want = ld.jvp(function, (A,), (A_dot,))[1]
    for got, expected in zip(parts(gradient), parts(want), strict=True):
        assert_allclose(got, expected, atol=1e-10)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
@pytest.mark.parametrize("case", OPERATIONS)
def test_nothing(case, shape):
    function, _ = OPERATIONS[case]
    A = np.ones(shape)
    y, pullback = ld.vjp(function, A)
    for got, expected in zip(parts(y), parts(function(A)), strict=True):
        assert_allclose(got, expected)
    assert_allclose(pullback(like(np.random.default_rng(0), y))[0], np.zeros(shape))


def test_failures_have_words():
    singular, missing = np.zeros((2, 2)), np.full((2, 2), np.nan)
    for function, A in [
        (np.linalg.inv, singular),
        (np.linalg.inv, np.ones((2, 3))),
        (np.linalg.det, np.ones((2, 3))),
        (np.linalg.svd, missing),
        (ld.linalg.syevd, missing),
        (np.linalg.eigh, np.ones((2, 3))),
    ]:
        with pytest.raises(np.linalg.LinAlgError):
            ld.vjp(function, A)
    with pytest.raises(ValueError, match="UPLO"):
        ld.vjp(lambda a: np.linalg.eigh(a, "X"), np.eye(2))
    with pytest.raises(ValueError, match="more rows than columns"):
        ld.vjp(ld.linalg.gelqf, np.ones((3, 2)))
    sign, log = ld.vjp(np.linalg.slogdet, singular)[0]
    assert sign == 0
    assert log == -np.inf


def test_equal_values_take_the_formulas():
    """One matrix of a batch is enough; where the vectors matter a warning says so."""
    A = np.stack([np.diag([1.0, 2.0, 3.0]), np.eye(3)])
    rng = np.random.default_rng(0)
    for function in (np.linalg.eigh, ld.linalg.syevd, np.linalg.svd):
        y, pullback = ld.vjp(function, A)
        with pytest.warns(RuntimeWarning, match=r"of matrix \(1,\).* are equal"):
            pullback(like(rng, y))
    for function in (np.linalg.eigvalsh, np.linalg.svdvals):  # whose vectors nothing depends on
        s, pullback = ld.vjp(function, A)
        assert_allclose(pullback(np.ones_like(s))[0], np.broadcast_to(np.eye(3), A.shape))
