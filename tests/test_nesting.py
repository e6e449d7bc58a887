"""Derivatives of derivatives: any order, no confusion of perturbations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import lindiff as ld


def by_grad(f):
    return ld.grad(f)


def by_vjp(f):
    return lambda x: ld.vjp(f, x)[1](1.0)[0]


def by_jvp(f):
    return lambda x: ld.jvp(f, (x,), (1.0,))[1]


def by_linearize(f):
    return lambda x: ld.linearize(f, x)[1](1.0)


def by_transpose(f):
    return lambda x: ld.linearize(f, x)[1].T(1.0)[0]


def by_jacobian(f):
    return ld.jacobian(f)


def by_hand(f):
    def derivative(x):
        v = ld.Variable(0.0)
        f(x + v).backward()
        return v.grad

    return derivative


WAYS = [by_grad, by_vjp, by_jvp, by_linearize, by_transpose, by_jacobian, by_hand]


def nests(*ways):
    """Tapes made by hand nest in transforms, not in each other."""
    return all((a, b) != (by_hand, by_hand) for a, b in itertools.pairwise(ways))


pairs = pytest.mark.parametrize(
    ("outer", "inner"), [pair for pair in itertools.product(WAYS, WAYS) if nests(*pair)]
)


@pairs
def test_no_confusion_of_perturbations(outer, inner):
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1.0
    assert outer(lambda x: x * inner(lambda y: x + y)(2.0))(7.0) == 1.0
    assert outer(lambda x: inner(lambda y: x * y)(x) * x)(3.0) == 6.0  # d/dx x*x
    assert outer(lambda x: x * inner(lambda y: y * y)(x))(3.0) == 12.0  # d/dx 2x*x
    assert outer(lambda x: inner(lambda y: np.sin(x) * y * y)(2.0))(0.5) == pytest.approx(
        4 * math.cos(0.5), rel=1e-15
    )


@pairs
def test_inner_derivative_of_a_constant_is_zero(outer, inner):
    assert outer(lambda x: x * inner(lambda y: 0.0 * y + x * x)(x))(3.0) == 0.0


@pytest.mark.parametrize(
    "ways",
    [ways for ways in itertools.product([by_grad, by_jvp, by_linearize, by_hand], repeat=4) if nests(*ways)],
)
def test_order_4(ways):
    def f(x):
        return np.exp(2.0 * x) * np.sin(x) + x * x * x * x / 3.0

    derivative = f
    for way in ways:
        derivative = way(derivative)
    x = 0.3
    # (exp(2x) sin x)'''' = exp(2x) ((2 + i)^4 e^{ix}).imag
    exact = math.exp(2 * x) * ((2 + 1j) ** 4 * complex(math.cos(x), math.sin(x))).imag + 8
    assert float(derivative(x)) == pytest.approx(exact, rel=1e-14)


def test_order_8():
    derivative = np.sin
    for k in range(8):
        derivative = (by_grad, by_jvp)[k % 2](derivative)
    assert derivative(0.7) == pytest.approx(math.sin(0.7), rel=1e-14)


def test_a_function_defined_outside_closes_over_the_outer_variable():
    """The curried form of the classic test, and two inner derivatives side by side."""

    def f(x):
        def g(y):
            return x * y * y

        a = ld.grad(g)(x)  # 2 x x
        b = ld.jvp(g, (x,), (x,))[1]  # 2 x x x
        return a * b  # 4 x^5

    assert ld.grad(f)(1.5) == pytest.approx(20 * 1.5**4, rel=1e-14)
    assert ld.jvp(f, (1.5,), (1.0,))[1] == pytest.approx(20 * 1.5**4, rel=1e-14)


def test_pullback_made_outside_is_used_inside():
    _, pullback = ld.vjp(lambda x: x * x * x, 2.0)
    assert ld.grad(lambda c: pullback(c * c)[0])(3.0) == 12 * 6.0
    _, lin = ld.linearize(lambda x: x * x * x, 2.0)
    assert ld.grad(lambda t: lin(t * t))(3.0) == 12 * 6.0
    assert ld.jvp(lambda t: lin(t * t), (3.0,), (1.0,))[1] == 12 * 6.0


def test_pullback_made_inside_sees_the_outer_variable():
    def f(x):
        _, pullback = ld.vjp(lambda y: np.sin(y) * x, x)
        return pullback(x)[0]  # x cos(x) x

    exact = 2 * 0.4 * math.cos(0.4) - 0.16 * math.sin(0.4)
    for way in WAYS:
        assert float(way(f)(0.4)) == pytest.approx(exact, rel=1e-14)


def test_hessian_is_symmetric_and_right(rng):
    A = rng.normal(size=(4, 4))
    x = rng.normal(size=4)

    def f(x):
        return np.sum(np.sin(A @ x) * x) + np.exp(x[0] * x[1])

    H = ld.hessian(f)(x)
    np.testing.assert_allclose(H, H.T, atol=1e-14)
    s, c = np.sin(A @ x), np.cos(A @ x)
    exact = -A.T @ np.diag(s * x) @ A + np.diag(c) @ A + (np.diag(c) @ A).T
    e = np.exp(x[0] * x[1])
    exact[:2, :2] += e * np.array([[x[1] ** 2, 1 + x[0] * x[1]], [1 + x[0] * x[1], x[0] ** 2]])
    np.testing.assert_allclose(H, exact, atol=1e-13)
    v = rng.normal(size=4)
    np.testing.assert_allclose(ld.hvp(f, (x,), (v,)), exact @ v, atol=1e-13)
    np.testing.assert_allclose(ld.grad(lambda x: ld.grad(f)(x) @ v)(x), exact @ v, atol=1e-13)
    np.testing.assert_allclose(ld.jacobian(ld.grad(f), mode="reverse")(x), exact, atol=1e-13)
    np.testing.assert_allclose(ld.grad(lambda x: ld.jvp(f, (x,), (v,))[1])(x), exact @ v, atol=1e-13)


def test_hessian_of_several_arguments(rng):
    x, A = rng.normal(size=2), rng.normal(size=(2, 2))
    H = ld.hessian(lambda x, A: x @ A @ x, (0, 1))(x, A)
    np.testing.assert_allclose(H[0][0], A + A.T)
    np.testing.assert_allclose(
        H[0][1], np.einsum("ij,k->ijk", np.eye(2), x) + np.einsum("ik,j->ijk", np.eye(2), x)
    )
    np.testing.assert_allclose(H[1][0], np.moveaxis(H[0][1], 0, -1))
    assert not H[1][1].any()


def test_stop_gradient_stops_all_orders():
    def f(x):
        return x * x * ld.stop_gradient(x)

    assert ld.grad(f)(3.0) == 18.0
    assert ld.grad(ld.grad(f))(3.0) == 6.0
    assert ld.grad(lambda x: ld.jvp(lambda y: y * ld.stop_gradient(x), (x,), (1.0,))[1])(3.0) == 0.0


def test_order_2_of_a_rule_with_only_a_pullback():
    @ld.rule
    def cube(x):
        return x * x * x, lambda y_bar: 3.0 * x * x * y_bar

    for ways in itertools.product([by_grad, by_jvp, by_linearize, by_hand], repeat=3):
        if not nests(*ways):
            continue
        derivative = cube
        for way in ways:
            derivative = way(derivative)
        assert derivative(5.0) == 6.0


def test_cotangents_that_are_views_of_one_memory():
    """A reshaped cotangent and what is broadcast from it share memory: neither may be overwritten."""
    a, y = np.array([1.2, 1.5, 1.9]), np.array([1.0, 2.0, 3.0])

    def f(a):
        t = np.sum(a)
        return (t - a) * (t * t)

    def pulled(a):
        return ld.vjp(f, a)[1](y)[0]

    forward, reverse = (ld.jacobian(pulled, mode=mode)(a) for mode in ("forward", "reverse"))
    np.testing.assert_allclose(reverse, forward, rtol=1e-12)


def value_of_an_inner_function(p):
    m = np.sin(p) * 3
    innovation, H = ld.value_and_jacobian(lambda s: s[:2])(m)
    innovation -= 1.0
    return np.sum((m - 0.5 * H.T @ innovation) ** 2)


def value_of_a_push(p):
    q = 2 * p
    y, _ = ld.jvp(lambda r: r[::-1], (q,), (p,))
    y[0] = 9.0
    return np.sum(q * q * p) + np.sum(y)


def value_of_what_is_closed_over(p):
    q = 2 * p
    y, _ = ld.vjp(lambda r: q, p)
    y[0] = 9.0
    return np.sum(q * q) + np.sum(y)


def auxiliary_result(p):
    q = 2 * p
    g, aux = ld.grad(lambda r: (np.sum(r**3), r), has_aux=True)(q)
    aux[1] = 1.0
    return np.sum(g * q) + np.sum(aux**2)


@pytest.mark.parametrize(
    "f", [value_of_an_inner_function, value_of_a_push, value_of_what_is_closed_over, auxiliary_result]
)
def test_results_of_inner_transforms_are_in_memory_of_their_own(f):
    x = np.array([0.7, 1.3, -0.4])
    expected = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    value, gradient = ld.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-14)
    np.testing.assert_allclose(gradient, expected, atol=1e-7)
    assert ld.jvp(f, (x,), (x,))[0] == value
