"""Integrals over several numbers, with derivatives by parameters and limits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.integrate
from scipy.integrate import IntegrationWarning

import lindiff as ld
from lindiff.scipy.integrate import dblquad, nquad, quad, tplquad

K = 1.3


def by_args(k):
    return nquad(lambda y, x, k: np.exp(-k * x * y), [[0, 1], [0, 2]], args=(k,))[0]


def by_closure(k):
    return nquad(lambda y, x: np.exp(-k * x * y), [[0, 1], [0, 2]])[0]


def by_limits(k):
    return nquad(lambda y, x: np.exp(-x * y), [[0, k], [-k, 2 * k]])[0]


def by_functions_of_limits(k):
    return nquad(lambda y, x, k: np.exp(-k * x * y), [lambda x, k: [0, k * x], [0, 2]], args=(k,))[0]


def by_limits_that_close_over(k):
    return nquad(lambda y, x: np.exp(-x * y), [lambda x: [0, k * x], [0, 2]])[0]


def by_an_outer_limit_below_functions(k):
    return nquad(lambda y, x: x * np.cos(y), [lambda x: [0, x], [0, k]])[0]


def over_a_half_line_that_moves(k):
    return nquad(lambda y, x: np.exp(-y + x) * x**2, [[k, np.inf], [-np.inf, -k]])[0]


def twice(k):
    return dblquad(lambda y, x: k * x * y, 0, k, lambda x: 0.1 * x, lambda x: k * x)[0]


def twice_by_args(k):
    return dblquad(lambda y, x, a, b: a * x * y + b["shift"], 0, 1, 0, 2, args=(k, {"shift": k**2}))[0]


def three_times(k):
    return tplquad(
        lambda z, y, x: k * x * y * z + z**2,
        0,
        1,
        0,
        lambda x: k * x,
        lambda x, y: x - y,
        lambda x, y: k * (x + 2 * y),
    )[0]


def with_a_kink_and_its_place(k):
    options = [{}, {"points": [K]}]
    return nquad(lambda y, x: np.abs(x - k) * y, [[0, 1], [0, 2]], opts=options)[0]


INTEGRALS = [
    *(by_args, by_closure, by_limits, by_functions_of_limits, by_limits_that_close_over),
    *(by_an_outer_limit_below_functions, over_a_half_line_that_moves, twice, twice_by_args, three_times),
    with_a_kink_and_its_place,
]


@pytest.mark.parametrize("f", INTEGRALS)
def test_derivatives_by_parameters_and_limits(f):
    h = 1e-5
    slope = (f(K + h) - f(K - h)) / (2 * h)
    value, gradient = ld.value_and_grad(f)(K)
    assert value == pytest.approx(f(K), rel=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6)
    np.testing.assert_allclose(ld.jvp(f, (K,), (1.0,))[1], slope, rtol=1e-6)


def test_derivatives_of_derivatives():
    def f(k):
        return dblquad(lambda y, x: np.exp(-k * x * y), 0, k, 0, 1)[0]

    h = 1e-5
    slope = (ld.grad(f)(K + h) - ld.grad(f)(K - h)) / (2 * h)
    np.testing.assert_allclose(ld.hessian(f)(K), slope, rtol=1e-6)
    np.testing.assert_allclose(ld.grad(ld.grad(f))(K), slope, rtol=1e-6)


def test_values_and_options_are_scipys():
    found = dblquad(lambda y, x: x * y**2, 0, 2, 0, 1)
    assert found == scipy.integrate.dblquad(lambda y, x: x * y**2, 0, 2, 0, 1)
    full = nquad(lambda y, x: x * y, [[0, 1], [0, 2]], full_output=True)
    assert full == scipy.integrate.nquad(lambda y, x: x * y, [[0, 1], [0, 2]], full_output=True)
    with pytest.raises(TypeError, match="full_output"):
        ld.grad(lambda k: nquad(lambda y, x: k * x * y, [[0, 1], [0, 2]], full_output=True)[0])(1.0)
    with pytest.raises(TypeError, match="points"):
        ld.grad(lambda k: nquad(lambda y, x: x * y, [[0, 1], [0, k]], opts=[{}, {"points": [0.5]}])[0])(1.0)


def test_jumps_that_parameters_may_move_are_told():
    def disc(k):
        return nquad(lambda y, x: np.where(x**2 + y**2 < k, 1.0, 0.0), [[0, 1], [0, 1]], opts={"limit": 20})[
            0
        ]

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The maximum number of subdivisions")
        with pytest.warns(IntegrationWarning, match="the integrand may jump"):
            ld.grad(disc)(0.5)


@pytest.mark.parametrize(
    "f",
    [
        lambda k: quad(lambda x: np.exp(-k * x), 0, 1)[0],
        lambda k: quad(lambda x, m: np.exp(-k * x * m), 0, k, args=(k**2,))[0],
        lambda k: (lambda f: quad(lambda x: f(x) ** 2, 0, np.inf)[0])(lambda x: np.exp(-k * x)),
        lambda k: quad(lambda x, c={"k": k}: c["k"] * np.sin(c["k"] * x), 0, 1)[0],
    ],
)
def test_quad_by_what_its_function_closes_over(f):
    h = 1e-5
    slope = (f(K + h) - f(K - h)) / (2 * h)
    np.testing.assert_allclose(ld.grad(f)(K), slope, rtol=1e-6)
    np.testing.assert_allclose(ld.jvp(f, (K,), (1.0,))[1], slope, rtol=1e-6)
    curvature = (ld.grad(f)(K + h) - ld.grad(f)(K - h)) / (2 * h)
    np.testing.assert_allclose(ld.hessian(f)(K), curvature, rtol=1e-5)
