"""Explicit Runge-Kutta steps in compiled code, and their derivatives."""

import dataclasses
import functools
import re
import sys
import types
import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import stepping

import lindiff as ld
from lindiff.scipy import integrate
from lindiff.scipy.integrate import _stepping
from lindiff.testing import check_grads

EXPLICIT = ["RK23", "RK45", "DOP853"]
METHODS = [*EXPLICIT, "Radau"]
TIMES = np.linspace(0.0, 3.0, 7)
START = np.array([1.0, 0.5])


def predators(t, y, rates):
    x, z = y
    return [rates[0] * x - rates[1] * x * z, -rates[2] * z + rates[3] * x * z + 0.1 * np.sin(t)]


RATES = np.array([1.1, 0.4, 0.7, 0.2])


@pytest.fixture
def steps_taken(monkeypatch):
    """How many solutions were found by compiled steps."""
    return stepping.noted(monkeypatch, lambda stepped, found: found)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"t_eval": TIMES},
        {"t_eval": TIMES[2:5]},
        {"rtol": 1e-9, "atol": 1e-12},
        {"rtol": 1e-6, "atol": np.array([1e-6, 1e-9]), "t_eval": TIMES},
        {"max_step": 0.1},
        {"first_step": 0.01},
    ],
)
def test_the_steps_are_scipys(method, options, steps_taken):
    wanted = scipy.integrate.solve_ivp(predators, (0.0, 3.0), START, method, args=(RATES,), **options)
    found = integrate.solve_ivp(predators, (0.0, 3.0), START, method, args=(RATES,), **options)
    assert steps_taken == [True]
    assert found.keys() == wanted.keys()
    assert type(found) is type(wanted)
    assert (found.nfev, found.status, found.message) == (wanted.nfev, wanted.status, wanted.message)
    np.testing.assert_allclose(found.t, wanted.t, rtol=1e-9)  # rounding moves steps, by much of small errors
    np.testing.assert_allclose(found.y, wanted.y, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_back_in_time(method, steps_taken):
    times = TIMES[::-1]
    wanted = scipy.integrate.solve_ivp(predators, (3.0, 0.0), START, method, times, args=(RATES,))
    found = integrate.solve_ivp(predators, (3.0, 0.0), START, method, times, args=(RATES,))
    np.testing.assert_allclose(found.y, wanted.y, rtol=1e-10)
    assert steps_taken == [True]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("t_eval", [None, TIMES, TIMES[2:5]])
def test_derivatives(method, t_eval, steps_taken):
    at = slice(-1, None) if t_eval is None else slice(None)  # the steps' own times are constants

    def solution(y0, rates):
        options = {"t_eval": t_eval, "rtol": 1e-10, "atol": 1e-12}
        return integrate.solve_ivp(predators, (0.0, 3.0), y0, method, args=(rates,), **options).y[:, at]

    check_grads(solution, (START, RATES), order=1, rtol=1e-6, adjoint_rtol=1e-11)
    assert all(steps_taken)


@pytest.mark.parametrize("method", EXPLICIT)
def test_they_are_exact_for_the_numbers_that_are_computed(method):
    """With steps of a fixed length the program of all steps has the same derivatives, whatever the error."""

    def solution(y0, rates):
        return integrate.solve_ivp(
            predators, (0.0, 3.0), y0, method, args=(rates,), rtol=1.0, atol=1e3, first_step=0.5, max_step=0.5
        ).y[:, -1]

    jacobian = ld.jacobian(solution, 1)(START, RATES)
    with_differences = np.stack(
        [(solution(START, RATES + h) - solution(START, RATES - h)) / 2e-6 for h in 1e-6 * np.eye(4)], axis=1
    )
    np.testing.assert_allclose(jacobian, with_differences, rtol=1e-7)
    tangents = [ld.jvp(lambda r: solution(START, r), (RATES,), (row,))[1] for row in np.eye(4)]
    np.testing.assert_allclose(jacobian, np.stack(tangents, axis=1), rtol=1e-12)


def test_times_move():
    def ends(t0, t1, times):
        return integrate.solve_ivp(
            predators, (t0, t1), START, "DOP853", times, args=(RATES,), rtol=1e-11, atol=1e-12
        ).y

    check_grads(ends, (0.0, 3.0, TIMES[1:-1]), order=1, rtol=1e-5, adjoint_rtol=1e-10)

    def end(t0, t1):
        return integrate.solve_ivp(
            predators, (t0, t1), START, "RK45", args=(RATES,), rtol=1e-11, atol=1e-12
        ).y[:, -1]

    check_grads(end, (0.0, 3.0), order=1, rtol=1e-5, adjoint_rtol=1e-10)


@pytest.mark.parametrize("order", range(1, 6))
def test_derivatives_by_the_times_of_any_order(order):
    """Of y = (1 + t - t₀)^p, whose slope depends on the time, on the state and on p."""

    def power(end, start, p):
        slope = lambda t, y: p * y / (1 + t - start)
        return integrate.solve_ivp(slope, (start, end), [1.0], "DOP853", [end], rtol=1e-12, atol=1e-13).y[
            0, 0
        ]

    by_end = functools.reduce(lambda f, _: ld.grad(f), range(order), power)
    exact = scipy.special.poch(2.5 - order + 1, order) * 2.0 ** (2.5 - order)
    np.testing.assert_allclose(by_end(1.0, 0.0, 2.5), exact, rtol=1e-8)
    if order == 2:
        mixed = ld.grad(ld.grad(power, argnums=2), argnums=1)(1.0, 0.0, 2.5)
        np.testing.assert_allclose(mixed, -(2.0**1.5) * (1 + 2.5 * np.log(2)), rtol=1e-8)


def test_second_order():
    def energy(rates):
        y = integrate.solve_ivp(
            predators, (0.0, 2.0), START, t_eval=[1.0, 2.0], args=(rates,), rtol=1e-10, atol=1e-12
        ).y
        return np.sum(y**2)

    check_grads(energy, (RATES,), order=2, rtol=1e-4)


@pytest.mark.parametrize("method", [*EXPLICIT, "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("given", [None, TIMES])
def test_derivatives_of_derivatives_follow_the_steps(method, given, steps_taken):
    """They are symmetric to rounding, as those of other equations would not be."""

    def energy(rates, start):
        told = {"t_eval": given, "args": (rates,), "rtol": 1e-6, "atol": 1e-8}
        y = integrate.solve_ivp(predators, (0.0, 3.0), start, method, **told).y
        return np.sum(np.sin(y if given is not None else y[:, -1]))

    at = RATES, np.array(START)
    gradient = ld.grad(energy, argnums=(0, 1))
    second = np.block([[np.asarray(x) for x in row] for row in ld.hessian(energy, argnums=(0, 1))(*at)])
    np.testing.assert_allclose(second, second.T, rtol=1e-10, atol=1e-10 * np.max(np.abs(second)))
    moves = np.eye(6)
    h = 1e-4
    differences = [
        (
            np.concatenate(gradient(RATES + h * v[:4], START + h * v[4:]))
            - np.concatenate(gradient(RATES - h * v[:4], START - h * v[4:]))
        )
        / (2 * h)
        for v in moves
    ]
    np.testing.assert_allclose(second, differences, rtol=2e-3, atol=2e-3 * np.max(np.abs(second)))
    along = ld.jvp(lambda r: ld.jvp(lambda r: energy(r, at[1]), (r,), (RATES,))[1], (RATES,), (RATES,))[1]
    np.testing.assert_allclose(along, RATES @ second[:4, :4] @ RATES, rtol=1e-9)
    reverse = ld.grad(lambda r: gradient(r, at[1])[0] @ RATES)(RATES)
    np.testing.assert_allclose(reverse, second[:4, :4] @ RATES, rtol=1e-9, atol=1e-9)
    assert all(steps_taken)


def test_third_derivatives_follow_the_steps():
    def last(rate):
        return integrate.solve_ivp(lambda t, y: -rate * y**2, (0.0, 1.0), [1.0], rtol=1e-9, atol=1e-12).y[
            0, -1
        ]

    third = ld.grad(ld.grad(ld.grad(last)))(1.5)  # of 1 / (1 + rate)
    np.testing.assert_allclose(third, -6 / 2.5**4, rtol=1e-6)


def test_a_function_that_has_changed_is_refused_in_second_derivatives():
    settings = types.SimpleNamespace(rate=1.0)

    def slope(x):
        y = integrate.solve_ivp(lambda t, y: -settings.rate * x * y, (0.0, 1.0), [1.0], rtol=1e-8).y[0, -1]
        settings.rate = 2.0
        return y

    with pytest.raises(RuntimeError, match="another function now"):
        ld.jvp(ld.grad(slope), (0.5,), (1.0,))


@pytest.mark.parametrize("method", EXPLICIT)
def test_steps_whose_stages_are_computed_again(method, monkeypatch):
    """In pieces of few steps, as long solutions are kept."""

    def solution(rates):
        return integrate.solve_ivp(
            predators, (0.0, 30.0), START, method, np.linspace(0, 30, 11), args=(rates,), rtol=1e-7
        ).y

    y_bar = np.random.default_rng(0).normal(size=(2, 11))
    whole = ld.vjp(solution, RATES)
    tangent = ld.jvp(solution, (RATES,), (np.ones(4),))[1]
    made = []
    steps = _stepping.ExplicitSteps
    monkeypatch.setattr(_stepping, "KEPT", 0)
    monkeypatch.setattr(_stepping, "ExplicitSteps", lambda *args: made.append(steps(*args)) or made[-1])
    pieces = ld.vjp(solution, RATES)
    assert made[0].segments > 2
    np.testing.assert_array_equal(pieces[0], whole[0])
    np.testing.assert_array_equal(pieces[1](y_bar)[0], whole[1](y_bar)[0])
    np.testing.assert_array_equal(ld.jvp(solution, (RATES,), (np.ones(4),))[1], tangent)


def test_what_it_closes_over(steps_taken):
    """Made anew in each call, nested, as a default, partly applied."""

    def loss(rates):
        x_rate, others = rates[0], {"rates": rates[1:]}

        def birth(x):
            return x_rate * x

        def field(t, y, share, decay=rates[2]):
            x, z = y
            return np.stack(
                [birth(x) - others["rates"][0] * x * z, -decay * z + share * x * z + 0.1 * np.sin(t)]
            )

        y = integrate.solve_ivp(
            functools.partial(field, share=rates[3]), (0.0, 3.0), START, t_eval=TIMES, rtol=1e-10, atol=1e-12
        ).y
        return np.sum(y**2)

    def given(rates):
        y = integrate.solve_ivp(
            predators, (0.0, 3.0), START, t_eval=TIMES, args=(rates,), rtol=1e-10, atol=1e-12
        ).y
        return np.sum(y**2)

    for rates in (RATES, 1.1 * RATES):
        np.testing.assert_allclose(ld.grad(loss)(rates), ld.grad(given)(rates), rtol=1e-8)
        products = [ld.hvp(f, (rates,), (RATES,)) for f in (loss, given)]
        np.testing.assert_allclose(*products, rtol=1e-5)
    assert all(steps_taken)


def test_constants_of_a_closure_may_change(steps_taken):
    def solved(settings):
        return integrate.solve_ivp(lambda t, y: -settings["rate"] * y, (0.0, 1.0), [1.0], rtol=1e-10).y[0, -1]

    settings = {"rate": 1.0}
    first = solved(settings)
    settings["rate"] = 2.0
    np.testing.assert_allclose([first, solved(settings)], np.exp([-1.0, -2.0]), rtol=1e-5)
    np.testing.assert_allclose(solved({"rate": 1.0}), np.exp(-1.0), rtol=1e-5)
    rates = np.array([1.0])
    of_array = lambda: integrate.solve_ivp(lambda t, y: -rates[0] * y, (0.0, 1.0), [1.0], rtol=1e-10).y[0, -1]
    first = of_array()
    rates[0] = 2.0
    np.testing.assert_allclose([first, of_array()], np.exp([-1.0, -2.0]), rtol=1e-5)
    assert all(steps_taken)


def test_a_function_that_counts_does_so():
    count = 0

    def field(t, y):
        nonlocal count
        count += 1
        return -y

    found = integrate.solve_ivp(field, (0.0, 1.0), [1.0])
    assert count >= found.nfev


@pytest.mark.parametrize(
    "nested", [list, lambda items: {"log": list(items)}, lambda items: [*items, np.ones(2)]]
)
def test_containers_that_a_function_changes_are_its_own(nested):
    for _ in range(2):
        log = nested([])

        def field(t, y, log=log):
            (log["log"] if isinstance(log, dict) else log).append(t)
            return -y

        def changes(t, y, log=log):
            log.clear()
            return -y

        found = integrate.solve_ivp(field, (0.0, 1.0), [1.0])
        size = len(log["log"] if isinstance(log, dict) else log)
        assert size >= found.nfev
        integrate.solve_ivp(changes, (0.0, 1.0), [1.0])
        assert not log


def test_a_function_that_writes_to_an_array_with_gaps():
    """What is a copy there is one in the compiled steps."""

    def field(t, y, k):
        A = y.reshape(2, 3) * k
        v = A[:, ::2]
        v[0] += t
        w = v.ravel()
        v *= 2.0
        return np.concatenate([-w, -y[:2]])

    def end(k, solver):
        return np.sum(solver(field, (0.0, 1.0), np.ones(6), args=(k,), rtol=1e-9, atol=1e-11).y[:, -1])

    value, slope = ld.value_and_grad(lambda k: end(k, integrate.solve_ivp))(0.5)
    np.testing.assert_allclose(value, end(0.5, scipy.integrate.solve_ivp), rtol=1e-10)
    h = 1e-5
    moved = end(0.5 + h, scipy.integrate.solve_ivp) - end(0.5 - h, scipy.integrate.solve_ivp)
    np.testing.assert_allclose(slope, moved / (2 * h), rtol=1e-6)


def test_data_that_a_function_changes_are_its_own():
    @dataclasses.dataclass
    class Counted:
        rate: np.ndarray
        calls: int = 0

    counted = Counted(np.ones(1))

    def field(t, y):
        counted.calls += 1
        return -counted.rate * y

    found = integrate.solve_ivp(field, (0.0, 1.0), [1.0])
    assert counted.calls >= found.nfev


def test_a_function_that_draws_is_called_each_time():
    rng = np.random.default_rng(0)
    seen = []

    def field(t, y):
        seen.append(rng.normal())
        return -y + 1e-9 * seen[-1]

    found = integrate.solve_ivp(field, (0.0, 1.0), [1.0])
    assert len(seen) >= found.nfev


@pytest.mark.parametrize(
    "field",
    [
        lambda t, y: y,
        lambda t, y: y if t < 0.5 else 2 * y,
        lambda t, y: np.where(y > 1.2, y, 0.5 * y),
        lambda t, y: np.array([float(v) for v in y]),
        lambda t, y: [1, 2],
        lambda t, y: 1.0,
        lambda t, y: y[::-1],
        lambda t, y: np.interp(t, [0.0, 1.0], [1.0, 2.0]) * y,
        lambda t, y: y.astype(np.float32),
        lambda t, y: np.sqrt(1.1 - t) * y,
    ],
)
def test_other_right_hand_sides(field):
    for _ in range(2):
        wanted = scipy.integrate.solve_ivp(field, (0.0, 1.0), START, t_eval=[0.3, 1.0], rtol=1e-6)
        found = integrate.solve_ivp(field, (0.0, 1.0), START, t_eval=[0.3, 1.0], rtol=1e-6)
        np.testing.assert_allclose(found.y, wanted.y, rtol=1e-9)
        assert found.nfev == wanted.nfev


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (((0.0, 1.0), [1.0]), {"t_eval": [0.5, 0.2]}),
        (((0.0, 1.0), [1.0]), {"t_eval": [0.5, 2.0]}),
        (((0.0, 1.0), [1.0]), {"atol": -1.0}),
        (((0.0, 1.0), [1.0]), {"max_step": -1.0}),
        (((0.0, 1.0), [1.0]), {"first_step": 2.0}),
        (((0.0, 1.0), np.ones((1, 1))), {}),
        (((0.0, 1.0), [1.0]), {"method": "RK4"}),
        (((0.0, 1.0), [1.0]), {"method": "rk45"}),
        (((0.0, 1.0, 2.0), [1.0]), {}),
    ],
)
def test_bad_input_is_refused_as_scipy_refuses_it(arguments, options):
    with pytest.raises(ValueError) as wanted:  # noqa: PT011
        scipy.integrate.solve_ivp(lambda t, y: -y, *arguments, **options)
    with pytest.raises(ValueError, match=re.escape(str(wanted.value))):
        integrate.solve_ivp(lambda t, y: -y, *arguments, **options)


def test_a_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="shape"):
        integrate.solve_ivp(lambda t, y: [], (0.0, 1.0), [1.0, 2.0])
    with pytest.raises(TypeError, match=r"write args=\(3.0,\)"):
        integrate.solve_ivp(lambda t, y, k: -k * y, (0.0, 1.0), [1.0, 2.0], args=3.0)
    with pytest.raises(ValueError, match="shape"):
        integrate.solve_ivp(lambda t, y: np.ones(3), (0.0, 1.0), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        integrate.solve_ivp(lambda t, y: y if t < 0.5 else np.ones(3), (0.0, 1.0), [1.0, 2.0])


def test_a_solution_that_ends_early():
    field = lambda t, y: y**2
    with np.errstate(all="ignore"):
        wanted = scipy.integrate.solve_ivp(field, (0.0, 2.0), [1.0])
        found = integrate.solve_ivp(field, (0.0, 2.0), [1.0])
    assert (found.status, found.message) == (wanted.status, wanted.message)
    np.testing.assert_allclose(found.t, wanted.t)
    with np.errstate(all="ignore"), pytest.raises(RuntimeError, match="step size"):
        ld.grad(lambda y0: integrate.solve_ivp(field, (0.0, 2.0), y0).y[0, -1])(np.array([1.0]))


def test_warnings_are_numpys():
    def field(t, y):
        return np.sqrt(0.5 - t) * y

    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        integrate.solve_ivp(field, (0.0, 1.0), [1.0])
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        integrate.solve_ivp(field, (0.0, 1.0), [1.0])


def test_odeint(steps_taken):
    def field(y, t, rates):
        return predators(t, y, rates)

    def solution(rates):
        return integrate.odeint(field, START, TIMES, args=(rates,))

    wanted = scipy.integrate.odeint(field, START, TIMES, args=(RATES,), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(solution(RATES), wanted, rtol=1e-7)
    np.testing.assert_array_equal(ld.vjp(solution, RATES)[0], solution(RATES))
    check_grads(solution, (RATES,), order=1, rtol=1e-6, adjoint_rtol=1e-10)
    assert all(steps_taken)


def test_odeint_of_a_stiff_problem(steps_taken):
    def field(y, t, rate):
        return [-rate * (y[0] - np.cos(t)), y[0] - y[1]]

    def solution(rate):
        return integrate.odeint(field, START, TIMES, args=(rate,))

    wanted = scipy.integrate.odeint(field, START, TIMES, args=(1e6,), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(solution(1e6), wanted, rtol=1e-7)
    assert steps_taken == [False, True]
    check_grads(
        lambda log_rate: solution(np.exp(log_rate)), (np.log(1e6),), order=1, rtol=1e-4, adjoint_rtol=1e-8
    )


@pytest.mark.parametrize("level", [0.2, 0.4, 0.5, 0.7, 0.8])
@pytest.mark.parametrize("rtol", [1e-2, 1e-3])
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_jumps_that_a_long_step_has_passed_over_are_told(method, rtol, level):
    def end(rate):
        field = lambda t, y: np.where(y > level, -rate * y, -0.3 * rate * y)
        return integrate.solve_ivp(field, (0.0, 2.0), [1.0], method, rtol=rtol).y[0, -1]

    with pytest.warns(UserWarning, match="the right-hand side jumps at t"):
        ld.grad(end)(1.1)


def _with_ifs(t, y, at):
    outside = 10.0 if 0.3 < t < 0.6 else 5.0 if 0.6 < t < 1.2 else 20.0
    return [outside - y[0] + (1.0 if t > at else 0.0)]


def _with_doses(t, y, at):
    return [sum(1.0 for dose in (0.1, 0.4, 0.7, 1.1, 1.5, at) if t > dose) - y[0]]


def _with_windows(t, y, at):
    return (
        sum(np.where((t > k) & (t < k + 0.05), 9.0, 0.0) for k in np.arange(8) / 4)
        + np.where(t > at, 1, 0)
        - y
    )


def _after_a_flash(t, y, at):
    return np.stack([-1e4 * y[0], 1e4 * y[0] - y[1] + np.where(t > at, 1.0, 0.0)])


def _beside_a_large_one(t, y, at):
    return np.where(t > 0.93, 10.0, 0.0) + np.where(t > at, 1.0, 0.0) - y


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize(
    ("field", "start"),
    [
        (_with_ifs, [1.0]),
        (_with_doses, [1.0]),
        (_with_windows, [1.0]),
        (_with_windows, [1.0 + 0.0j]),
        (_after_a_flash, [1e4, 0.0]),
        (_beside_a_large_one, [1.0]),
    ],
)
def test_a_jump_that_moves_among_others_is_told(method, field, start):
    if np.iscomplexobj(start) and method in ("LSODA", "Radau"):
        pytest.skip("for real states")

    def end(at):
        options = {"rtol": 1e-6, "atol": 1e-9, "args": (at,)}
        return np.real(integrate.solve_ivp(field, (0.0, 2.0), start, method, **options).y[-1, -1])

    with pytest.warns(UserWarning, match="the right-hand side jumps at t = 0.93"):
        ld.grad(end)(0.93)


@pytest.mark.parametrize(("begin", "at"), [(1.7e9, 0.93), (60_000.0, 5 / 1440), (1e6, 1e-3), (100.0, 1e-6)])
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_jumps_at_late_times_are_told(method, begin, at):
    """A small parameter is moved by more than the rounding of the time."""

    def end(at):
        field = lambda t, y: np.where(t > begin + at, 1.0, 0.0) - y
        return integrate.solve_ivp(field, (begin, begin + 2.0), [1.0], method, rtol=1e-6).y[0, -1]

    with pytest.warns(UserWarning, match="the right-hand side jumps at t"):
        ld.grad(end)(at)


def test_what_compiled_steps_fail_at_is_left_to_scipys():
    def end(push):  # slides along y[1] = 0.3
        field = lambda t, y: np.stack([y[1], -y[0] - np.where(y[1] > 0.3, push, -push)])
        return integrate.solve_ivp(field, (0.0, 15.0), [1.0, 0.0], "Radau", rtol=1e-2).y[0, -1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _ = ld.value_and_grad(end)(0.2)
    np.testing.assert_allclose(found, end(0.2), rtol=1e-12)


def test_a_few_steps_where_nothing_jumps_give_no_warning():
    def end(rate):
        field = lambda t, y: np.where(y > 0.5, -rate * y, -0.5 * rate)  # a kink
        return integrate.solve_ivp(field, (0.0, 2.0), [1.0]).y[0, -1]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ld.grad(end)(1.1)


def test_jumps_that_move_are_told(steps_taken):
    def end(at):
        field = lambda t, y: np.where(t < at, 0.0, 1.0) * y
        return integrate.solve_ivp(field, (0.0, 1.0), [1.0], rtol=1e-8, max_step=0.2).y[0, -1]

    with pytest.warns(UserWarning, match="the right-hand side jumps at t = 0.5"):
        ld.grad(end)(0.53)
    assert all(steps_taken)


@pytest.mark.parametrize("unit", [1e-9, 1e6])
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau"])
def test_a_small_jump_among_many_steps_of_the_same_length_is_told(method, unit):
    def end(at):  # in one of a thousand steps, in the smaller one of two components
        field = lambda t, y: np.stack([1e3 * np.cos(t), unit * (np.sin(t) + np.where(t < at, 0.0, 1e-4))])
        found = integrate.solve_ivp(
            field, (0.0, 10.0), [1.0, unit], method, max_step=0.01, atol=1e9, rtol=1e3
        )
        return found.y[1, -1]

    with pytest.warns(UserWarning, match="the right-hand side jumps at t = 7.354"):
        ld.grad(end)(7.3541)


@pytest.mark.parametrize("method", ["RK23", "RK45", "Radau"])
def test_a_few_jumps_that_share_a_step_are_all_looked_at(method):
    def end(at, count):  # large ones at fixed times beside a small one that moves
        field = lambda t, y: np.floor(count * t) + np.where(t < at, 0.0, 1.0) - y
        options = {"first_step": 1.0, "atol": 1e9, "rtol": 1e3}
        return integrate.solve_ivp(field, (0.0, 1.0), [1.0], method, **options).y[0, -1]

    with pytest.warns(UserWarning, match="the right-hand side jumps at t = 0.5123"):
        ld.grad(end)(0.5123, 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ld.grad(end)(0.5123, 1e4)  # more than are looked at


@pytest.mark.parametrize(
    "field",
    [
        lambda t, y, p: np.where(np.mod(t, 1.0) < 0.3, p, 0.0) - y,  # jumps at rest
        lambda t, y, p: np.abs(np.sin(3 * t) - p) - y,  # kinks
        lambda t, y, p: np.maximum(np.tanh((t - 5 * p) * 1e4), -2.0) - y,  # steep
        lambda t, y, p: np.where(p > 0.3, np.sin(9 * t), 0.0) * y,  # a choice that is the same everywhere
    ],
)
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau"])
def test_many_steps_without_a_jump_that_moves_give_no_warning(method, field):
    def end(p):
        return integrate.solve_ivp(field, (0.0, 10.0), [1.0], method, args=(p,), rtol=1e-5, max_step=0.1).y[
            0, -1
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ld.grad(end)(0.51)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", "odeint"])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_derivatives_move_where_the_solution_rests(method, mode):
    def pushed(t, y, force):
        return np.stack([y[1], -y[0] + force * np.sin(2 * t)])

    def end(force):
        if method == "odeint":
            field = lambda y, t: pushed(t, y, force)
            return integrate.odeint(field, [0.0, 0.0], [0.0, 30.0], rtol=1e-7, atol=1e-7)[-1, 0]
        field = lambda t, y: pushed(t, y, force)
        return integrate.solve_ivp(field, (0.0, 30.0), [0.0, 0.0], method, rtol=1e-7, atol=1e-7).y[0, -1]

    found = ld.grad(end)(0.0) if mode == "reverse" else ld.jvp(end, (0.0,), (1.0,))[1]
    np.testing.assert_allclose(found, (2 * np.sin(30.0) - np.sin(60.0)) / 3, rtol=1e-4)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_how_an_epidemic_would_begin(method):
    def infected(first):
        start = np.stack([1.0, first])
        field = lambda t, y: np.stack([-0.4 * y[0] * y[1], 0.4 * y[0] * y[1] - 0.1 * y[1]])
        return integrate.solve_ivp(field, (0.0, 20.0), start, method, rtol=1e-7, atol=1e-10).y[1, -1]

    np.testing.assert_allclose(ld.grad(infected)(0.0), np.exp(6.0), rtol=1e-4)


def pulse(t, size, width=0.3):
    return size * np.exp(-(((t - 5.0) / width) ** 2))


@pytest.mark.parametrize("method", ["BDF", "LSODA"])
def test_what_short_steps_have_seen_derivatives_see(method):
    def end(size, **options):
        slopes = lambda t, y: pulse(t, size, 0.05) - y
        return integrate.solve_ivp(slopes, (0.0, 10.0), [0.0], method, t_eval=[4.0, 6.0], **options).y[0, -1]

    value, slope = end(1.0, max_step=0.05), ld.grad(lambda size: end(size, max_step=0.05))(1.0)
    assert value > 0.01
    np.testing.assert_allclose(slope, value, rtol=1e-2)


@pytest.mark.parametrize("times", [np.linspace(0.0, 10.0, 11), np.array([0.0, 4.0, 6.0, 10.0])])
def test_odeint_looks_between_its_times_where_nothing_happens(times):
    largest = lambda size: np.max(
        integrate.odeint(lambda y, t: pulse(t, size) - 0.1 * y, [0.0], times)  # at rest until then
    )
    assert largest(1.0) > 0.3
    np.testing.assert_allclose(ld.grad(largest)(1.0), largest(1.0), rtol=1e-6)


VIEWS = {
    "every second": lambda x: x[::2],
    "backward": lambda x: x[::-3],
    "a column": lambda x: x.reshape(3, 3)[:, 1],
    "a part": lambda x: x[1:4],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("method", ["odeint", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_states_that_are_views(method, view):
    """Of plain arrays, of Variables, and of what a program records in its first run."""
    x, told = np.linspace(0.5, 2.0, 9), {"rtol": 1e-8, "atol": 1e-10}

    def last(x):
        if method == "odeint":
            return integrate.odeint(lambda y, t: -y * y, view(x), [0.0, 1.0], **told)[-1]
        return integrate.solve_ivp(lambda t, y: -y * y, (0, 1), view(x), method, **told).y[:, -1]

    np.testing.assert_allclose(last(x), 1 / (1 + 1 / view(x)), rtol=1e-5)
    slopes = np.zeros_like(x)
    view(slopes)[:] = 1 / (view(x) + 1) ** 2
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(last(x)))(x), slopes, rtol=1e-5)
    value = ld.program(lambda x: np.sum(last(x)))
    np.testing.assert_allclose([value(x) for _ in range(3)], 3 * [np.sum(last(x))], rtol=1e-15)


WITHOUT_PYTHON = {
    "LSODA": {"method": "LSODA"},
    "LSODA at given times": {"method": "LSODA", "t_eval": np.linspace(0.0, 40.0, 9)},
    "a function of time": {"method": "RK45", "dense_output": True},
    "stiff, a function of time": {"method": "Radau", "dense_output": True},
}


@pytest.mark.parametrize("told", WITHOUT_PYTHON.values(), ids=WITHOUT_PYTHON)
def test_other_solvers_ask_the_program(told):
    def epidemic(t, y, rate):
        return np.stack([-rate * y[0] * y[1], rate * y[0] * y[1] - 0.1 * y[1], 0.1 * y[1]])

    y0, tolerances = np.array([0.99, 0.01, 0.0]), {"rtol": 1e-7, "atol": 1e-9}
    by_scipy = scipy.integrate.solve_ivp(epidemic, (0.0, 40.0), y0, args=(0.5,), **told, **tolerances)
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(event) if frame.f_code is epidemic.__code__ else None)
    try:
        found = integrate.solve_ivp(epidemic, (0.0, 40.0), y0, args=(0.5,), **told, **tolerances)
    finally:
        sys.setprofile(None)
    assert calls.count("call") < 20 < by_scipy.nfev
    np.testing.assert_array_equal(found.t, by_scipy.t)
    np.testing.assert_allclose(found.y, by_scipy.y, rtol=1e-5)
    if "t_eval" not in told:
        np.testing.assert_allclose(found.y, by_scipy.y, rtol=1e-12)


def test_a_given_jacobian_stays_with_its_function():
    asked = []

    def decay(t, y):
        asked.append(t)
        return -y

    found = integrate.solve_ivp(decay, (0, 5), [1], "LSODA", jac=lambda t, y: np.array([[-1.0]]))
    by_scipy = scipy.integrate.solve_ivp(lambda t, y: -y, (0, 5), [1], "LSODA", jac=lambda t, y: [[-1.0]])
    assert len(asked) >= found.nfev == by_scipy.nfev
    np.testing.assert_array_equal(found.y, by_scipy.y)


@pytest.mark.parametrize("method", ["RK45", "LSODA", "Radau"])
@pytest.mark.parametrize("first", [ld.grad, lambda f: lambda s: ld.jvp(f, (s,), (1.0,))[1]])
def test_a_second_derivative_through_a_kink_that_moves_warns(method, first):
    """The first derivative is right; that of it misses what the jump of the slope adds."""

    def f(s):
        field = lambda t, y: np.stack([abs(t - s)])
        return integrate.solve_ivp(field, (-2.0, 2.0), np.zeros(1), method, rtol=1e-8, atol=1e-10).y[0, -1]

    np.testing.assert_allclose(ld.grad(f)(0.3), 0.6, rtol=1e-2)
    with pytest.warns(UserWarning, match="jumps at t = 0.3"):
        ld.jvp(first(f), (0.3,), (1.0,))


@pytest.mark.parametrize("method", ["RK45", "Radau", "BDF"])
def test_what_is_counted_is_as_scipy_counts_it(method):
    def right(t, y):
        return -y * np.array([1.0, 100.0]) + np.sin(t)

    expected, found = (
        module.solve_ivp(right, (0, 5), [1.0, 2.0], method, t_eval=np.arange(5))
        for module in (scipy.integrate, integrate)
    )
    for name in ("nfev", "njev", "nlu"):
        assert getattr(found, name) == getattr(expected, name)
    assert found.t.dtype == expected.t.dtype
