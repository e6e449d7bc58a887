"""Integrals of functions with many values: quad_vec and cubature."""

import warnings

import numpy as np
import pytest
import scipy.integrate

import lindiff as ld
from lindiff.scipy import integrate
from lindiff.testing import check_grads

POWERS = np.arange(1, 4)

has_cubature = pytest.mark.skipif(not hasattr(scipy.integrate, "cubature"), reason="SciPy has no cubature")


def decay(x, rates, scale=1.0):
    return scale * x**POWERS * np.exp(-np.sum(rates) * x)


def test_values_are_scipys():
    rates = np.array([0.3, 0.9])
    found = integrate.quad_vec(decay, 0.0, 2.0, args=(rates,))
    wanted = scipy.integrate.quad_vec(decay, 0.0, 2.0, args=(rates,))
    np.testing.assert_array_equal(found[0], wanted[0])
    assert found[1] == wanted[1]
    seen = []
    ld.grad(lambda r: seen.append(integrate.quad_vec(decay, 0.0, 2.0, args=(r,))) or np.sum(seen[-1][0]))(
        rates
    )
    np.testing.assert_allclose(ld.value(seen[0][0]), wanted[0], rtol=1e-14)
    np.testing.assert_allclose(seen[0][1], wanted[1])


@pytest.mark.parametrize(("a", "b"), [(0.2, 2.0), (0.0, np.inf), (1.5, 0.3)])
def test_derivatives_by_parameters_and_limits(a, b):
    def integral(limits, rates, scale):
        lower, upper = limits if np.isfinite(b) else (limits[0], b)
        return integrate.quad_vec(lambda x, r: decay(x, r, scale), lower, upper, args=(rates,))[0]

    limits = np.array([a, b if np.isfinite(b) else 0.0])
    check_grads(integral, (limits, np.array([0.3, 0.9]), 1.3), order=2, rtol=1e-5, adjoint_rtol=1e-8)


def test_matrices_and_complex_values():
    def integral(p):
        return integrate.quad_vec(lambda x: np.exp(1j * p * x)[None, :] * np.ones((2, 1)), 0.0, 1.0)[0]

    p = np.array([0.4, 1.1])
    wanted = (1j * p * 1j * np.exp(1j * p) - 1j * (np.exp(1j * p) - 1)) / (1j * p) ** 2
    _, along = ld.jvp(integral, (p,), (np.ones(2),))
    np.testing.assert_allclose(along, np.broadcast_to(wanted, (2, 2)), rtol=1e-7)
    _, pullback = ld.vjp(integral, p)
    bar = np.array([[1.0 + 2.0j, 0.5], [0.3j, -1.0]])
    np.testing.assert_allclose(pullback(bar)[0], np.real(np.sum(np.conj(wanted) * bar, 0)), rtol=1e-7)


def test_limits_of_complex_values():
    _, pullback = ld.vjp(
        lambda b: integrate.quad_vec(lambda x: np.array([np.exp(1j * x), 1.0]), 0.0, b)[0], 0.7
    )
    bar = np.array([1.0 + 2.0j, 0.5])
    np.testing.assert_allclose(pullback(bar)[0], np.real(np.conj(np.exp(0.7j)) * bar[0]) + 0.5, rtol=1e-12)


def test_lists_of_values():
    def integral(p):
        return integrate.quad_vec(lambda x: [np.sin(p * x), p * x], 0.0, 1.0)[0]

    p = 0.8
    wanted = np.sin(p) / p - (1 - np.cos(p)) / p**2, 0.5
    np.testing.assert_allclose(ld.jacobian(integral)(p), wanted, rtol=1e-10)


def test_moved_jumps_are_told():
    def integral(p):
        return np.sum(integrate.quad_vec(lambda x: np.where(x < p, POWERS, 0.0), 0.0, 1.0)[0])

    with pytest.warns(integrate.IntegrationWarning, match="quad_vec: the integrand jumps at x = 0.3"):
        ld.grad(integral)(0.3)


def test_full_output_has_no_derivative():
    with pytest.raises(TypeError, match="full_output has no derivative"):
        ld.grad(lambda b: integrate.quad_vec(np.cos, 0.0, b, full_output=True)[0])(1.0)


def bump(x, width, center):
    r = np.sum(((x - center) / width) ** 2, axis=-1)
    return np.stack([np.exp(-r), r * np.exp(-r)], axis=-1)


@has_cubature
@pytest.mark.parametrize("rule", ["gk21", "genz-malik"])
def test_cubature_of_parameters_and_limits(rule):
    def integral(a, b, width, center):
        return integrate.cubature(bump, a, b, rule=rule, rtol=1e-7, args=(width, center)).estimate

    at = np.array([-0.3, 0.1]), np.array([1.0, 0.9]), 0.8, np.array([0.2, 0.4])
    plain = scipy.integrate.cubature(bump, *at[:2], rule=rule, rtol=1e-7, args=at[2:])
    np.testing.assert_allclose(integral(*at), plain.estimate, rtol=1e-14)
    check_grads(integral, at, order=1, rtol=1e-5, adjoint_rtol=1e-6)
    check_grads(lambda w: integral(*at[:2], w, at[3]), (0.8,), order=2, rtol=1e-4, adjoint_rtol=1e-6)


@has_cubature
def test_cubature_to_infinity():
    def integral(start, rate):
        found = integrate.cubature(
            lambda x: np.exp(-rate * np.sum(x, axis=-1)), [start, 0.0], [np.inf, np.inf], rtol=1e-6
        )
        return found.estimate

    check_grads(integral, (0.2, 1.4), order=1, rtol=1e-4, adjoint_rtol=1e-5)


@has_cubature
def test_cubature_in_a_closure_and_results():
    seen = []

    def integral(width):
        seen.append(integrate.cubature(lambda x: bump(x, width, 0.1), [0.0], [1.0]))
        return np.sum(seen[-1].estimate)

    found = ld.grad(integral)(0.7)
    step = 1e-5
    plain = [
        np.sum(scipy.integrate.cubature(lambda x, w=w: bump(x, w, 0.1), [0.0], [1.0]).estimate)
        for w in (0.7 - step, 0.7 + step)
    ]
    np.testing.assert_allclose(found, (plain[1] - plain[0]) / (2 * step), rtol=1e-7)
    assert seen[0].status == "converged"


@has_cubature
def test_a_derivative_that_does_not_come_to_its_tolerance_is_told():
    def integral(p):
        return integrate.cubature(
            lambda x: np.sum(x, -1) ** (p - 1.0), [0.0], [1.0], max_subdivisions=3
        ).estimate

    with pytest.warns(integrate.IntegrationWarning, match="has not come to its tolerance"):
        ld.grad(integral)(0.6)


@has_cubature
def test_cubature_has_no_points_between_limits_that_move():
    with pytest.raises(TypeError, match="points between limits that move"):
        ld.grad(lambda b: integrate.cubature(lambda x: x[:, 0], [0.0], [b], points=[[0.3]]).estimate)(1.0)


@pytest.mark.parametrize("of", [lambda x, p: x[:, 0] < p, lambda x, p: x[:, 0] + x[:, 1] < p])
def test_cubature_tells_of_jumps_that_move(of):
    def share(p):
        f = lambda x: np.where(of(x, p), 1.0, 2.0)
        return integrate.cubature(f, [0.0, 0.0], [1.0, 1.0], rtol=1e-2, max_subdivisions=100).estimate

    with pytest.warns(integrate.IntegrationWarning, match="cubature: the integrand jumps at x"):
        ld.grad(share)(0.43)


def test_cubature_says_nothing_of_jumps_that_do_not_move():
    def share(p):
        f = lambda x: np.where(x[:, 0] < 0.43, p, np.exp(p * x[:, 1]))
        return integrate.cubature(f, [0.0, 0.0], [1.0, 1.0], rtol=1e-2, max_subdivisions=100).estimate

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ld.grad(share)(0.5)


@has_cubature
def test_a_second_derivative_through_a_kink_that_moves_warns():
    def f(s):
        return integrate.cubature(lambda z: abs(z[:, 0] - s), [-8], [8]).estimate

    np.testing.assert_allclose(ld.grad(f)(0.3), 0.6, rtol=1e-6)
    with pytest.warns(
        integrate.IntegrationWarning, match=r"the derivative of the integrand jumps at x = \[0.3\]"
    ):
        ld.hessian(f)(0.3)
