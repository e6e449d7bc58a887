"""Polynomials: poly1d, leading zeros, repeated roots, errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld
from lindiff.testing import check_grads

P, X = np.array([2.0, -1.0, 0.5]), np.array([0.5, 2.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda p: (np.poly1d(p) * np.poly1d(p) + np.poly1d([1, 0]) - 2.0)(X),
        lambda p: (np.poly1d(p) ** 2).deriv().coeffs,
        lambda p: np.poly1d(p).integ(2, k=[1.0, 2.0])(X),
        lambda p: (np.poly1d(p) * p[0] / 3.0)(X),
        lambda p: np.poly1d(p)(np.poly1d([1.0, 2.0]))(X),
        lambda p: np.poly1d([1.0, 2.0])(p),
        lambda p: np.polyval(np.poly1d([1.0, 2.0, 3.0]), p),
        lambda p: np.polydiv(np.poly1d([1.0, 2.0, 3.0, 4.0]), np.poly1d(p).coeffs)[0](X),
        lambda p: np.poly1d(p, r=True).coeffs,
        lambda p: np.sum(np.real(np.poly1d(p).roots ** 2)),
        lambda p: np.poly1d(np.poly1d(p))[1] * np.poly1d(p).order,
        lambda p: np.polymul(np.poly1d([0.0, 1.0, 2.0]), p)(X),
    ],
)
def test_poly1d_carries_variables(f):
    check_grads(f, (P,))


def test_polynomials_given_as_poly1d_give_poly1d():
    v = ld.Variable(P)
    for result in [np.polyadd(np.poly1d([1, 2]), v), np.polysub(v, np.poly1d([1, 2]))]:
        assert isinstance(result, np.poly1d)
    assert all(isinstance(part, np.poly1d) for part in np.polydiv(v, np.poly1d([1.0, 2.0])))


def test_leading_zeros_are_cut_where_numpy_cuts_them():
    p = np.array([0.0, 0.0, 1.0, 2.0])
    v = ld.Variable(p)
    for got, expected in [
        (np.polymul(v, [3, 1]), np.polymul(p, [3, 1])),
        (np.polymul(v * 0, [3, 1]), np.polymul(p * 0, [3, 1])),
        (np.polydiv([1, 2, 3], v[2:])[1], np.polydiv([1, 2, 3], p[2:])[1]),
        (np.polydiv(ld.Variable([1.0, 3.0, 2.0]), [1, 1])[1], np.polydiv([1, 3, 2], [1, 1])[1]),
        (np.roots(v), np.roots(p)),
        (np.polyadd(v, 1.0), np.polyadd(p, 1.0)),
    ]:
        assert_allclose(ld.value(got), expected, atol=1e-14)
    check_grads(lambda p: np.polydiv(p, [1.0, 1.0]), (np.array([1.0, 3.0, 2.5]),))


def test_root_at_zero():
    gradient = ld.grad(lambda p: np.roots(p)[-1])(np.array([1.0, -2.0, 0.0]))
    assert_allclose(gradient, [0, 0, 0.5])


def test_repeated_roots_do_not_disturb_the_others():
    gradient = ld.grad(lambda p: np.roots(p)[0])(np.array([1.0, -2.0, 0.0, 0.0]))
    assert_allclose(gradient, [-2, -1, -0.5, -0.25])


def test_roots_of_a_constant():
    assert ld.value(np.roots(ld.Variable([2.0]))).shape == (0,)
    assert ld.value(np.roots(ld.Variable([0.0, 0.0]))).shape == (0,)


def test_poly_of_a_matrix_is_its_characteristic_polynomial():
    A = np.array([[2.0, 1.0], [-3.0, 0.5]])
    (gradient,) = ld.vjp(np.poly, A)[1](np.array([0.0, 1.0, 2.0]))
    assert_allclose(gradient, -np.eye(2) + 2 * np.array([[0.5, 3.0], [-1.0, 2.0]]), atol=1e-14)
    assert np.poly(ld.Variable(np.zeros(0))) == 1.0


def test_single_precision_is_kept_where_numpy_keeps_it():
    p = P.astype("f4")
    for f in [lambda p: np.polyval(p, p), lambda p: np.polymul(p, p), lambda p: np.polydiv(p, p[:2])[0]]:
        y, pullback = ld.vjp(f, p)
        assert y.dtype == f(p).dtype == np.float32
        assert pullback(np.ones_like(y))[0].dtype == np.float32
    assert ld.vjp(np.polyder, p)[0].dtype == np.polyder(p).dtype


def test_polyfit_recovers_the_polynomial_and_warns():
    x = np.linspace(-1, 1, 5)
    jacobian = ld.jacobian(lambda p: np.polyfit(x, np.polyval(p, x), 2))(P)
    assert_allclose(jacobian, np.eye(3), atol=1e-12)
    with pytest.warns(np.exceptions.RankWarning, match="poorly"):
        np.polyfit(ld.Variable([1.0, 1.0, 1.0]), [1.0, 2.0, 3.0], 2)


def test_errors_are_those_of_numpy():
    v = ld.Variable(P)
    for function in [np.polyder, np.polyint]:
        with pytest.raises(ValueError, match="must be positive"):
            function(v, -1)
    with pytest.raises(ValueError, match="scalar or a rank-1"):
        np.polyint(v, 3, k=[1, 2])
    with pytest.raises(ValueError, match="square 2d"):
        np.poly(ld.Variable(np.ones((2, 3))))
    with pytest.raises(ValueError, match="rank-1"):
        np.roots(ld.Variable(np.ones((2, 3))))
    for arguments, message in [
        ((v, P, -1), "deg"),
        ((v[None], P, 1), "1D vector"),
        ((v[:0], P, 1), "non-empty"),
        ((v, P[:2], 1), "same length"),
        ((v, np.ones((3, 1, 1)), 1), "1D or 2D"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            np.polyfit(*arguments)
    for w, message in [(P[None], "1-d array"), (P[:2], "same length")]:
        with pytest.raises(TypeError, match=message):
            np.polyfit(v, P, 1, w=w)
    with pytest.raises(ValueError, match="exceed order"):
        np.polyfit(v, P, 2, cov=True)


def test_polyval_by_rows_of_coefficients():
    p = np.arange(6.0).reshape(3, 2)
    assert_array_equal(ld.value(np.polyval(ld.Variable(p), X)), np.polyval(p, X))


def test_polyval_of_coefficients_that_are_rows():
    p = np.linspace(0.5, 1.5, 6).reshape(3, 2)
    for x in (1.5, np.array([0.5, 2.0])):
        assert_array_equal(ld.vjp(lambda p, x: np.polyval(p, x), p, x)[0], np.polyval(p, x))
        check_grads(np.polyval, (p, x), order=2)
