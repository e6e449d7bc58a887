"""Searches in a loop whose variables, lists and arrays go on before the way back."""

# ruff: noqa: B023 (what is tested)

import numpy as np
import pytest

import lindiff as ld
from lindiff.scipy import integrate, optimize
from lindiff.testing import check_grads

COUNTS = range(4)


def by_brentq(p):
    return sum(optimize.brentq(lambda x: x**3 + k * x - p, 0, 5, xtol=1e-14) for k in COUNTS)


def by_newton(p):
    return sum(optimize.newton(lambda x: x**3 + k * x - p, 1.5, tol=1e-13) for k in COUNTS)


def by_root_scalar(p):
    return sum(
        optimize.root_scalar(lambda x: x**3 + k * x - p, bracket=[0.0, 5.0], xtol=1e-14).root for k in COUNTS
    )


def by_steps_of_root(p):
    y = np.stack([p, 2 * p])
    for _ in range(3):
        y = optimize.root(lambda z: z - y + 0.25 * (z + y) ** 3 / 8, y, tol=1e-13).x
    return y.sum()


def by_fixed_point(p):
    return sum(optimize.fixed_point(lambda x: np.cos(x * p) / (k + 2), 0.5, xtol=1e-13) for k in COUNTS)


def by_minimize(p):
    return sum(
        optimize.minimize(lambda x: np.sum((x**2 + k - p) ** 2 + x), np.ones(2), tol=1e-12).x.sum()
        for k in COUNTS
    )


def by_least_squares(p):
    return sum(
        optimize.least_squares(
            lambda x: np.exp(x) - p * np.arange(1.0, 3.0) - k, np.ones(2), xtol=1e-13, gtol=1e-13, ftol=1e-13
        ).x.sum()
        for k in COUNTS
    )


def by_a_list(p):
    ys = [p]
    for _ in range(3):
        ys.append(optimize.brentq(lambda x: x**3 + x - ys[-1], 0, 5, xtol=1e-14))
    return sum(ys)


def by_a_work_array(p):
    w, total = np.zeros(1), 0.0
    for k in COUNTS:
        w[:] = k
        total = total + optimize.brentq(lambda x: x**3 + w[0] * x - p, 0, 5, xtol=1e-14)
    return total


def by_limits_of_quad(p):
    return sum(integrate.quad(lambda x: np.exp(-k * x), 0, p)[0] for k in COUNTS)


@pytest.mark.parametrize(
    "function",
    [
        by_brentq,
        by_newton,
        by_root_scalar,
        by_steps_of_root,
        by_fixed_point,
        by_minimize,
        by_least_squares,
        by_a_list,
        by_a_work_array,
        by_limits_of_quad,
    ],
)
def test_what_goes_on_after_a_search_is_not_what_its_derivative_sees(function):
    check_grads(function, (1.3,), order=1, rtol=1e-5, adjoint_rtol=1e-8)
    differences = (ld.grad(function)(1.3 + 1e-4) - ld.grad(function)(1.3 - 1e-4)) / 2e-4
    np.testing.assert_allclose(ld.hessian(function)(1.3), differences, rtol=1e-4)
