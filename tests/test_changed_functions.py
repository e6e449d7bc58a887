"""Functions that read from objects or their module what has changed when derivatives are asked for."""

# ruff: noqa: B023 (what is tested)

from types import SimpleNamespace

import numpy as np
import pytest

import lindiff as ld
from lindiff.scipy import integrate, optimize
from lindiff.testing import check_grads

model = SimpleNamespace(rate=1.0)
RATES = (1.0, 2.0, 4.0)
rate = 1.0

TIGHT = {"rtol": 1e-8, "atol": 1e-8}


def solved(p, **options):
    return integrate.solve_ivp(lambda t, y: -model.rate * p * y, (0, 1), [1.0], **TIGHT, **options).y[0, -1]


ASKED_AGAIN = {
    **{
        method: lambda p, method=method: solved(p, method=method)
        for method in ("RK45", "Radau", "BDF", "LSODA")
    },
    "without a program": lambda p: solved(
        p, jac=lambda t, y: [[-model.rate * float(ld.value(p))]], method="Radau"
    ),
    "dense output": lambda p: integrate.solve_ivp(
        lambda t, y: -model.rate * p * y, (0, 1), [1.0], dense_output=True, **TIGHT
    ).sol(0.5)[0],
    "odeint": lambda p: integrate.odeint(lambda y, t: -model.rate * p * y, [1.0], [0.0, 0.5, 1.0])[-1, 0],
    "quad": lambda p: integrate.quad(lambda x: np.exp(-model.rate * p * x), 0, 1)[0],
    "a limit of quad": lambda p: integrate.quad(lambda x: np.exp(-model.rate * x), 0, p)[0],
    "nquad": lambda p: integrate.nquad(lambda x, y: np.exp(-model.rate * p * x) * y, [[0, 1], [0, 1]])[0],
}


def over_rates(function):
    def total(p):
        found = 0.0
        for model.rate in RATES:
            found = found + function(p)
        return found

    return total


@pytest.mark.parametrize("function", ASKED_AGAIN.values(), ids=ASKED_AGAIN.keys())
def test_what_is_asked_again_must_be_what_it_was(function):
    with pytest.raises(RuntimeError, match="is another function now"):
        ld.grad(over_rates(function))(0.7)
    model.rate = 1.0
    check_grads(function, (0.7,), order=1, rtol=1e-5, adjoint_rtol=1e-6)


@pytest.mark.parametrize("function", [ASKED_AGAIN["RK45"], ASKED_AGAIN["BDF"], ASKED_AGAIN["quad"]])
def test_changes_without_influence_are_none(function):
    def total(p):
        found = 0.0
        for other in RATES:
            model.other, model.rate = other, 2.0 + 0.0 * other
            found = found + function(p)
        return found

    np.testing.assert_allclose(ld.grad(total)(0.7), 3 * ld.grad(function)(0.7), rtol=1e-6)


SEARCHES = {
    "brentq": lambda p: optimize.brentq(lambda x: x**3 + model.rate * x - p, 0, 5, xtol=1e-14),
    "newton": lambda p: optimize.newton(lambda x: x**3 + model.rate * x - p, np.ones(2), tol=1e-13).sum(),
    "root": lambda p: optimize.root(lambda x: x**3 + model.rate * x - p, np.ones(2), tol=1e-13).x.sum(),
    "minimize": lambda p: optimize.minimize(
        lambda x: np.sum((x**2 + model.rate - p) ** 2 + x), np.ones(2), tol=1e-12
    ).x.sum(),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
def test_searches_have_the_derivatives_of_what_they_have_solved(search):
    check_grads(over_rates(search), (1.3,), order=2, rtol=1e-5)


def test_globals():
    def total(p):
        global rate
        found = 0.0
        for k in RATES:
            rate = k
            found = found + optimize.brentq(lambda x: x**3 + rate * x - p, 0, 5, xtol=1e-14)
        return found

    check_grads(total, (0.7,), order=2)


def test_a_solver_asks_the_function_itself():
    """What it notes down, it notes down where it was told to; what a loop changes then, does not matter."""
    times = []

    def total(p):
        found = 0.0
        for k in RATES:

            def slopes(t, y, p):
                times.append(t)
                return -k * p * y

            found = found + integrate.solve_ivp(slopes, (0, 1), [1.0], args=(p,), **TIGHT).y[0, -1]
        return found

    np.testing.assert_allclose(ld.grad(total)(0.7), sum(-k * np.exp(-0.7 * k) for k in RATES), rtol=1e-6)
    assert len(times) > 100


@pytest.mark.parametrize("make", [lambda x: np.zeros(2, like=x), lambda x: ld.numpy.zeros(2)])
def test_a_buffer_from_outside_is_refused_with_advice(make):
    def end(x):
        out = make(x)

        def slopes(t, y):
            out[0], out[1] = -x[0] * y[1], x[1] * y[0]
            return out

        return integrate.solve_ivp(slopes, (0.0, 2.0), [1.0, 2.0]).y[:, -1]

    with pytest.raises(TypeError, match="let it make that array itself"):
        ld.jacobian(end)(np.array([0.7, 0.3]))
