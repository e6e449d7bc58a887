"""Backward differentiation formulas in compiled code."""

import numpy as np
import pytest
import scipy.integrate
import stepping

import lindiff as ld
from lindiff.scipy import integrate
from lindiff.scipy.integrate._bdf import BDFSteps
from lindiff.testing import check_grads


@pytest.fixture
def steps_taken(monkeypatch):
    """What kinds of steps have come to the end."""
    return stepping.noted(monkeypatch, lambda stepped, found: type(stepped.steps) if found else None)


def predators(t, y, rates):
    x, z = y
    return [rates[0] * x - rates[1] * x * z, -rates[2] * z + rates[3] * x * z + 0.1 * np.sin(t)]


def reactions(t, y, k):  # Robertson
    first, second, third = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] * y[1]
    return np.stack([second - first, first - second - third, third])


def oscillator(t, y, mu):  # van der Pol
    return np.stack([y[1], mu[0] * (1 - y[0] ** 2) * y[1] - y[0]])


PROBLEMS = {
    "predators": (predators, (0.0, 8.0), [1.0, 0.5], np.array([1.1, 0.4, 0.7, 0.2])),
    "reactions": (reactions, (0.0, 1e4), [1.0, 0.0, 0.0], np.array([0.04, 1e4, 3e7])),
    "oscillator": (oscillator, (0.0, 30.0), [2.0, 0.0], np.array([20.0])),
    "back in time": (predators, (3.0, 1.0), [1.0, 0.5], np.array([1.1, 0.4, 0.7, 0.2])),
}
OPTIONS = {
    "usual": {},
    "tight": {"rtol": 1e-9, "atol": 1e-12},
    "two tolerances": {"rtol": 1e-5, "atol": 1e-9},
    "first step": {"first_step": 1e-3},
    "short steps": {"max_step": 0.07},
}


@pytest.mark.parametrize("times", [None, 9])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_steps_are_scipys_with_this_jacobian(name, options, times, steps_taken):
    field, span, start, rates = PROBLEMS[name]
    options = OPTIONS[options]
    if name == "reactions" and "max_step" in options:
        options = {"max_step": 100.0}
    times = None if times is None else np.linspace(*span, times)
    slopes = lambda t, y: np.asarray(field(t, y, rates))
    jac = ld.jacobian(lambda t, y: np.stack(field(t, y, rates)), 1)
    wanted = scipy.integrate.solve_ivp(slopes, span, start, "BDF", times, jac=jac, **options)
    found = integrate.solve_ivp(field, span, start, "BDF", times, args=(rates,), **options)
    assert steps_taken == [BDFSteps]
    assert found.nfev == pytest.approx(
        wanted.nfev, rel=0.01
    )  # rounding decides, where a solution has converged
    close = {"rtol": 1e-3, "atol": 1e-3} if times is None else {"rtol": 1e-5, "atol": 1e-8}
    np.testing.assert_allclose(found.t, wanted.t, **close)  # rounding moves steps, by much of small errors
    np.testing.assert_allclose(found.y, wanted.y, **close)


@pytest.mark.parametrize("times", [None, 5])
@pytest.mark.parametrize("name", PROBLEMS)
def test_derivatives_are_those_of_others_to_the_tolerance(name, times, steps_taken):
    field, span, start, rates = PROBLEMS[name]
    times = None if times is None else np.linspace(*span, times)
    tolerances = {"rtol": 1e-9, "atol": 1e-11}

    def end(y0, log_rates, method="BDF"):
        args = (rates * np.exp(log_rates),)
        return integrate.solve_ivp(field, span, y0, method, times, args=args, **tolerances).y[:, -1]

    at = np.array(start), np.zeros_like(rates)
    for found, wanted in zip(
        ld.jacobian(end, (0, 1))(*at), ld.jacobian(lambda *x: end(*x, "Radau"), (0, 1))(*at), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())
    _, pullback = ld.vjp(end, *at)
    _, along = ld.jvp(end, at, (np.ones(len(start)), np.ones_like(rates)))
    both = pullback(np.ones_like(along))
    np.testing.assert_allclose(np.sum(along), sum(np.sum(x) for x in both), rtol=1e-9)
    assert BDFSteps in steps_taken


def test_the_class_in_the_place_of_its_name(steps_taken):
    def end(rate, method):
        return integrate.solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [1.0], method).y[0, -1]

    found = [ld.grad(end)(0.7, method) for method in ("BDF", scipy.integrate.BDF)]
    assert found[0] == found[1]
    assert steps_taken.count(BDFSteps) == 2
    assert len(steps_taken) == 4


def test_second_derivatives():
    def end(rate):
        return integrate.solve_ivp(lambda t, y: -rate * y, (0.0, 1.0), [1.0], "BDF", rtol=1e-9, atol=1e-9).y[
            0, -1
        ]

    check_grads(end, (0.7,), order=2, rtol=1e-3, adjoint_rtol=1e-5)


def test_what_comes_to_no_end_is_told():
    def end(rate):
        return integrate.solve_ivp(lambda t, y: rate * y * y, (0.0, 2.0), [1.0], "BDF").y[0, -1]

    with pytest.raises(RuntimeError, match="step size is less than spacing"):
        ld.grad(end)(1.0)


def test_a_right_hand_side_that_is_not_finite_halves_the_step():
    field = lambda t, y, rate: -rate * np.sqrt(y)
    options = {"rtol": 1e-6, "atol": 1e-9, "first_step": 0.5}
    with np.errstate(invalid="ignore"):
        wanted = scipy.integrate.solve_ivp(field, (0.0, 1.0), [1.0], "BDF", args=(1.9,), **options)
        found = integrate.solve_ivp(field, (0.0, 1.0), [1.0], "BDF", args=(1.9,), **options)
    np.testing.assert_allclose(found.y[:, -1], wanted.y[:, -1], rtol=1e-4)
