"""Derivatives of solutions do not depend on the units of the result, of the state and of the parameters."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline

import lindiff as ld
from lindiff.scipy import integrate
from lindiff.scipy.integrate import initial_value

METHODS = ["RK45", "DOP853", "Radau", "BDF", "LSODA", "odeint"]
SEASON = CubicSpline([0.0, 10.0, 20.0], [1.0, 0.8, 1.0])
RATES = np.array([0.6, 0.2])
RISE = np.array([1.0, 0.5])


def end(rhs, start, last, method, atol):
    if method == "odeint":
        return integrate.odeint(rhs, start, [0.0, last], rtol=1e-7, atol=atol, tfirst=True)[-1]
    return integrate.solve_ivp(rhs, (0.0, last), start, method, [last], rtol=1e-7, atol=atol).y[:, -1]


def pushed(force, method, unit=1.0):
    """An oscillator that rests without a force."""
    rhs = lambda t, y: np.stack([y[1], -4 * y[0] + unit * force * np.cos(3 * t)])
    return end(rhs, [0.0, 0.0], 10.0, method, 1e-9)[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("of_result", "of_force"), [(1.0, 1.0), (1e-12, 1.0), (1e12, 1.0), (1.0, 1e-9)])
def test_the_response_of_what_rests(method, of_result, of_force):
    result = lambda force: of_result * pushed(force, method, of_force)
    expected = (np.cos(30.0) - np.cos(20.0)) / (4 - 9)
    assert_allclose(ld.grad(result)(0.0) / (of_result * of_force), expected, rtol=1e-4)
    assert_allclose(ld.jvp(result, (0.0,), (1.0,))[1] / (of_result * of_force), expected, rtol=1e-4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("force", [1e-20, 1e-12, 1e-8])
def test_the_response_of_what_moves_less_than_its_tolerance(method, force):
    expected = (np.cos(30.0) - np.cos(20.0)) / (4 - 9)
    result = lambda force: pushed(force, method)
    assert_allclose(ld.grad(result)(force), expected, rtol=1e-4)
    assert_allclose(ld.jvp(result, (force,), (1.0,))[1], expected, rtol=1e-4)


def ill(rates, people, method):
    """The part of many people that are ill in the end."""

    def rhs(t, y):
        new = rates[0] * SEASON(float(t)) * y[0] * y[1] / people
        return np.stack([-new, new - rates[1] * y[1]])

    return end(rhs, [0.99 * people, 0.01 * people], 20.0, method, 1e-8 * people)[1] / people


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("people", "unit"), [(6.7e7, 1.0), (1e-8, 1.0), (1.0, 1e-12), (1.0, 1e12)])
def test_derivatives_of_a_state_in_other_units(method, people, unit):
    def derivatives(people, unit):
        result = lambda rates: unit * ill(rates, people, method)
        gradient = ld.grad(result)(RATES)
        tangent = ld.jvp(result, (RATES,), (RISE,))[1]
        curved = ld.jvp(ld.grad(result), (RATES,), (RISE,))[1]
        return gradient / unit, tangent / unit, curved / unit

    for found, expected in zip(derivatives(people, unit), derivatives(1.0, 1.0), strict=True):
        assert_allclose(found, expected, rtol=2e-5)


@pytest.mark.parametrize("method", METHODS)
def test_tolerances_of_each_number_of_the_state(method):
    def burnt(p, units):
        density, kelvin, _ = units

        def rhs(t, y):
            rate = p[0] * np.exp(-1e3 * p[1] / (y[1] / kelvin)) * (y[0] / density) ** 2
            return np.stack([-rate * density, 1e2 * rate * kelvin, -rate * y[2]])

        start = np.array([1.0, 300.0, 1.0]) * units
        y = end(rhs, start, 5.0, method, 1e-9 * start)
        return np.sum(y / units)

    p = np.array([20.0, 1.2])
    found, expected = (
        np.concatenate([ld.grad(of_p)(p), ld.hvp(of_p, (p,), (RISE,))])
        for of_p in (
            lambda p, units=units: burnt(p, np.array(units)) for units in ([1e18, 1, 1e-6], [1, 1, 1])
        )
    )
    assert_allclose(found, expected, rtol=2e-5)


@pytest.mark.parametrize("method", ["RK45", "BDF", "odeint"])
def test_slopes_that_are_rounding_take_no_short_steps(method, monkeypatch):
    run, steps = initial_value._run_ivp, []

    def noted(*args):
        found = run(*args)
        steps.append(len(found.sol.ts))
        return found

    monkeypatch.setattr(initial_value, "_run_ivp", noted)

    def total(p):
        def rhs(t, y):
            flow = p * np.sin(SEASON(float(t)) * y) / 3
            return np.stack([-flow[0] - flow[1] / 7, flow[0] * 0.3 + flow[1] / 7, flow[0] * 0.7])

        return np.sum(end(rhs, [0.7, 0.2, 0.1], 5.0, method, 1e-7))

    assert abs(ld.grad(total)(0.3)) < 1e-12
    assert abs(ld.grad(ld.grad(total))(0.3)) < 1e-12
    assert 0 < sum(steps) < 1000


def test_cotangents_of_zero_and_relative_tolerances_of_zero():
    def decayed(p):
        y = integrate.odeint(lambda y, t: -p * SEASON(float(t)) * y, [1.0], [0.0, 1.0], rtol=0, atol=1e-9)
        return y[-1, 0]

    assert ld.grad(lambda p: 0.0 * decayed(p))(0.5) == 0.0
    slope = (decayed(0.5001) - decayed(0.4999)) / 2e-4
    assert_allclose(ld.grad(decayed)(0.5), slope, rtol=1e-4)
    assert_allclose(ld.grad(ld.grad(decayed))(0.5), slope**2 / decayed(0.5), rtol=1e-4)
