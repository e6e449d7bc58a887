"""Stiff differential equations on grids: their Jacobians have a few entries in a row."""

import itertools

import numpy as np
import pytest
import scipy.integrate
import stepping

import lindiff as ld
from lindiff.scipy import integrate
from lindiff.scipy.integrate import _stepping
from lindiff.scipy.integrate._jacobians import BandedJacobian, DenseJacobian
from lindiff.scipy.integrate._patterns import arranged
from lindiff.testing import check_grads


@pytest.fixture
def jacobians(monkeypatch):
    """What kinds of them have taken the steps."""

    def kind(stepped, found):
        return type(stepped.steps.jacobian) if found and hasattr(stepped.steps, "jacobian") else None

    return stepping.noted(monkeypatch, kind)


def second_differences(y):
    return np.roll(y, 1) - 2 * y + np.roll(y, -1)


def diffusion(t, y, rate):
    d = np.empty_like(y)
    d[1:-1] = y[2:] - 2 * y[1:-1] + y[:-2]
    d[0], d[-1] = y[1] - 2 * y[0], y[-2] - 2 * y[-1]
    return rate * len(y) ** 2 * d + y * (1 - y)


def two_species(t, y, rate):  # Gray and Scott; where there is nothing of the second, less depends on it
    u, v = y.reshape(2, -1)
    reaction = u * v * v
    size = u.size**2
    return np.concatenate(
        [
            2e-5 * size * second_differences(u) - reaction + rate * (1 - u),
            1e-5 * size * second_differences(v) + reaction - (rate + 0.06) * v,
        ]
    )


def upwind(t, y, rate):  # which neighbours slopes depend on changes (Engquist and Osher)
    flux = 0.5 * np.maximum(y, 0.0) ** 2 + 0.5 * np.minimum(np.roll(y, -1), 0.0) ** 2
    return -len(y) * (flux - np.roll(flux, 1)) + rate * len(y) ** 2 * second_differences(y)


def in_a_plane(t, y, rate):
    m = round(len(y) ** 0.5)
    p = np.pad(y.reshape(m, m), 1)
    around = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2]
    return (rate * m * m * (around - 4 * p[1:-1, 1:-1])).ravel() + y * y


X = np.linspace(0.0, 1.0, 120)
IN_THE_MIDDLE = np.abs(X - 0.5) < 0.1
WAVES = np.sin(np.pi * np.linspace(0.0, 1.0, 12))
PROBLEMS = {
    "diffusion": (diffusion, np.sin(np.pi * X) ** 2, 0.01, 1.0),
    "two species": (two_species, np.concatenate([1 - 0.5 * IN_THE_MIDDLE, 0.25 * IN_THE_MIDDLE]), 0.04, 30.0),
    "upwind": (upwind, np.sin(2 * np.pi * X[:-1]), 1e-3, 0.4),
    "in a plane": (in_a_plane, np.outer(WAVES, WAVES).ravel(), 0.02, 0.5),
    "from zero": (lambda t, y, rate: rate * second_differences(y * y) + 0.1 + X, np.zeros(120), 50.0, 1.0),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_solutions_and_their_derivatives(name, jacobians):
    field, y0, rate, end = PROBLEMS[name]
    options = {"rtol": 1e-7, "atol": 1e-9}
    times = np.linspace(0.0, end, 4)[1:]
    wanted = scipy.integrate.solve_ivp(field, (0.0, end), y0, "Radau", times, args=(rate,), **options).y

    def solution(y0, log_rate):
        args = (np.exp(log_rate),)
        return integrate.solve_ivp(field, (0.0, end), y0, "Radau", times, args=args, **options).y[::7]

    np.testing.assert_allclose(solution(y0, np.log(rate)), wanted[::7], rtol=1e-5, atol=1e-8)
    check_grads(solution, (y0, np.log(rate)), order=1, rtol=1e-3, adjoint_rtol=1e-9)
    assert set(jacobians) == {BandedJacobian}


@pytest.mark.parametrize("name", ["diffusion", "two species", "upwind"])
def test_a_band_gives_what_all_entries_give(name, monkeypatch, jacobians):
    field, y0, rate, end = PROBLEMS[name]
    y0 = y0[::3].copy()  # of at most 80 numbers

    def loss(y0, rate):
        return np.sum(integrate.solve_ivp(field, (0.0, end), y0, "Radau", args=(rate,)).y[:, -1] ** 2)

    found = ld.value_and_grad(loss, (0, 1))(y0, rate)
    monkeypatch.setattr(_stepping, "FEW", 1000)
    wanted = ld.value_and_grad(loss, (0, 1))(y0, rate)
    assert jacobians == [BandedJacobian, DenseJacobian]
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9)
    for one, other in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n", [60, 150])
def test_a_band_that_widens_to_all_is_given_up(n, jacobians):
    def end(rate):
        def field(t, y):  # all numbers meet after a while
            return -10 * y + second_differences(y) + rate * np.where(t > 0.5, np.mean(y), 0.0)

        start = np.sin(np.arange(n)) + 1
        return integrate.solve_ivp(field, (0.0, 0.6), start, "Radau", rtol=1e-5).y[::9, -1]

    check_grads(end, (-300.0,), order=1, rtol=1e-2, adjoint_rtol=1e-3)
    assert set(jacobians) == ({DenseJacobian} if n <= 100 else {None})


@pytest.mark.parametrize("method", ["BDF", "LSODA", "Radau"])
def test_scipys_options_for_jacobians(method, jacobians):
    field, y0, rate, end = PROBLEMS["diffusion"]
    band = np.abs(np.subtract.outer(np.arange(120), np.arange(120))) <= 1
    options = {"lband": 1, "uband": 1} if method == "LSODA" else {"jac_sparsity": band}

    def solution(rate):
        found = integrate.solve_ivp(field, (0.0, end), y0, method, args=(rate,), rtol=1e-6, **options)
        return found.y[::17, -1]

    check_grads(solution, (rate,), order=1, rtol=1e-2, adjoint_rtol=1e-9)
    assert BandedJacobian in jacobians


def test_odeint_takes_them_too(jacobians):
    field, y0, _, end = PROBLEMS["diffusion"]

    def solution(rate):
        return integrate.odeint(field, y0, [0.0, end], args=(rate,), tfirst=True)[-1, ::17]

    check_grads(solution, (0.1,), order=1, rtol=1e-5, adjoint_rtol=1e-9)
    assert jacobians[-1] is BandedJacobian


def test_small_entries_that_come_later_beside_large_numbers():
    n = 30
    here, reserve = (np.arange(n) == 5) * 1.0, (np.arange(n) == n - 1) * 1.0

    def field(t, y, feed):
        around = np.concatenate([[0.0], np.diff(y[:-1], 2), [0.0, 0.0]])
        fed = np.where(t > 1.0, feed, 0.0) * y[-1]
        return 100 * around - 100 * here * y + here * fed - 0.3 * reserve * y

    def end(most, method):
        start = np.concatenate([np.linspace(1.0, 2.0, n - 1), np.reshape(most, 1)])
        options = {"args": (1e-9,), "rtol": 1e-8, "atol": 1e-8}
        return integrate.solve_ivp(field, (0.0, 2.0), start, method, **options).y[5, -1]

    found, wanted = (ld.grad(end)(1e12, method) for method in ("Radau", "DOP853"))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_an_order_in_which_entries_are_near_the_diagonal():
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(30)
    i, j = np.nonzero(np.abs(np.subtract.outer(np.arange(30), np.arange(30))) <= 2)
    rows, columns, begins, place, below, above = arranged(shuffled[i], shuffled[j], 30)
    assert max(below, above) <= 4
    assert sorted(place) == list(range(30))
    assert sorted(zip(rows, columns, strict=True)) == sorted(zip(shuffled[i], shuffled[j], strict=True))
    for begin, end in itertools.pairwise(begins):
        assert len(set(rows[begin:end])) == end - begin
    assert len(begins) - 1 <= 8
