"""Events of differential equations, and their solutions at any time, with derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate

import lindiff as ld
from lindiff.scipy.integrate import solve_ivp
from lindiff.scipy.optimize import brentq

TIGHT = {"rtol": 1e-9, "atol": 1e-10}
THROW = np.array([9.81, 3.0, 4.0])


def thrown(p, **options):
    """A stone under gravity g from height h with speed v, until it falls to the ground."""
    g, h, v = p

    def ground(t, y):
        return y[0]

    def top(t, y):
        return y[1]

    ground.terminal, ground.direction = True, -1
    options = {"events": [ground, top], **TIGHT, **options}
    return solve_ivp(lambda t, y: np.stack([y[1], -g]), (0.0, 10.0), np.stack([h, v]), **options)


def falls(p):
    return (p[2] + np.sqrt(p[2] ** 2 + 2 * p[0] * p[1])) / p[0]


def both_modes(f, exact, p, rtol=1e-6):
    np.testing.assert_allclose(f(p), exact(p), rtol=rtol, atol=1e-8)
    for mode in ("reverse", "forward"):
        found = ld.jacobian(f, mode=mode)(p)
        np.testing.assert_allclose(found, ld.jacobian(exact)(p), rtol=rtol, atol=1e-7)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "RK23", "Radau", "LSODA"])
def test_times_of_events_and_the_states_there(method):
    def found(p):
        s = thrown(p, method=method)
        return np.concatenate(
            [s.t_events[0], s.y_events[0][0], s.t_events[1], s.y_events[1][0], s.t[-1:], s.y[:, -1]]
        )

    def exact(p):
        g, h, v = p
        end = falls(p)
        state = [0 * g, v - g * end]
        return np.stack([end, *state, v / g, h + v**2 / (2 * g), 0 * g, end, *state])

    both_modes(found, exact, THROW, rtol=1e-4 if method == "LSODA" else 1e-6)


def test_second_derivatives_of_an_events_time():
    hessian = ld.hessian(lambda p: thrown(p).t_events[0][0])(THROW)
    np.testing.assert_allclose(hessian, ld.hessian(falls)(THROW), rtol=1e-8)


def test_times_to_evaluate_end_where_the_solution_does():
    def found(p):
        s = thrown(p, t_eval=np.linspace(0.0, 5.0, 11))
        assert s.t.tolist() == [0.0, 0.5, 1.0]
        return s.y

    ts = np.array([0.0, 0.5, 1.0])
    both_modes(found, lambda p: np.stack([p[1] + p[2] * ts - p[0] * ts**2 / 2, p[2] - p[0] * ts]), THROW)


def test_the_solution_is_a_function_of_time():
    times = np.array([0.5, 0.2, 0.5])

    def found(p):
        s = thrown(p, dense_output=True)
        assert (s.sol.t_min, s.sol.t_max) == (0.0, float(ld.value(s.t[-1])))
        return np.concatenate([np.ravel(s.sol(times)), s.sol(0.1 * p[2]), s.sol(s.t_events[1][0])])

    def exact(p):
        g, h, v = p

        def states(t):
            return np.stack([h + v * t - g * t**2 / 2, v - g * t])

        return np.concatenate([np.ravel(states(times)), states(0.1 * v), states(v / g)])

    both_modes(found, exact, THROW)
    free = ld.jacobian(
        lambda k: solve_ivp(lambda t, y: -k * y, (0.0, -2.0), [1.0], dense_output=True, **TIGHT).sol(-1.5)
    )
    np.testing.assert_allclose(free(0.5), [1.5 * np.exp(0.75)], rtol=1e-7)


def test_many_crossings_of_a_cycle_with_arguments_and_closures():
    def crossings(p, level):
        def event(t, y, mu):
            return y[0] - level * mu

        def field(t, y, mu):
            return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

        s = solve_ivp(field, (0.0, 20.0), [p[1], 0.0], events=event, args=(p[0],), **TIGHT)
        return s.t_events[0]

    p, h = np.array([1.0, 2.0]), 1e-4
    assert len(crossings(p, 0.1)) == 6
    slopes = [(crossings(p + h * e, 0.1) - crossings(p - h * e, 0.1)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(ld.jacobian(crossings)(p, 0.1), np.stack(slopes, axis=1), rtol=1e-5, atol=1e-6)
    slope = (crossings(p, 0.1 + h) - crossings(p, 0.1 - h)) / (2 * h)
    np.testing.assert_allclose(ld.jacobian(crossings, argnums=1)(p, 0.1), slope, rtol=1e-5, atol=1e-6)


def test_an_event_may_end_it_before_the_equation_fails():
    def empty(p):
        def event(t, y):
            return y[0] - 0.01

        event.terminal = True
        return solve_ivp(lambda t, y: -p * np.sqrt(y), (0.0, 10.0), [1.0], events=event, **TIGHT).t_events[0][
            0
        ]

    np.testing.assert_allclose(ld.grad(empty)(1.0), -1.8, rtol=1e-6)


def test_an_event_may_have_to_happen_more_than_once():
    def third(p):
        def event(t, y):
            return y[0]

        event.terminal = 3
        return solve_ivp(
            lambda t, y: np.stack([y[1], -p * y[0]]), (0, 30.0), [1.0, 0.0], events=event, **TIGHT
        ).t[-1]

    np.testing.assert_allclose([third(4.0), ld.grad(third)(4.0)], [5 * np.pi / 4, -5 * np.pi / 32], rtol=1e-7)


def test_events_that_never_happen_and_backward_in_time():
    def found(p):
        s = solve_ivp(
            lambda t, y: -p * y,
            (0, -3.0),
            [1.0],
            events=[lambda t, y: y[0] - 2.0, lambda t, y: y[0] + 1.0],
            **TIGHT,
        )
        assert s.t_events[1].shape == (0,)
        plain = scipy.integrate.solve_ivp(lambda t, y: -y, (0, -3.0), [1.0], events=lambda t, y: y[0] + 1.0)
        assert np.shape(s.y_events[1]) == np.shape(plain.y_events[0])
        return s.t_events[0][0]

    np.testing.assert_allclose([found(1.0), ld.grad(found)(1.0)], [-np.log(2), np.log(2)], rtol=1e-7)


def test_a_given_jacobian_goes_along():
    def found(k):
        return solve_ivp(
            lambda t, y, k: -k * y,
            (0.0, 3.0),
            [1.0],
            "Radau",
            events=lambda t, y, k: y[0] - 0.5,
            args=(k,),
            jac=lambda t, y, k: -k * np.eye(1),
            **TIGHT,
        ).t_events[0][0]

    np.testing.assert_allclose(ld.grad(found)(2.0), -np.log(2) / 4, rtol=1e-7)


def test_bad_times_and_events_that_graze():
    def sol(p, t):
        return solve_ivp(lambda t, y: -p * y, (0.0, 1.0), [1.0], dense_output=True).sol(t)[0]

    for t, message in (
        (2.0, "between 0.0 and 1.0"),
        (np.zeros((2, 2)), "one axis"),
        (np.zeros(0), "no times"),
    ):
        with pytest.raises(ValueError, match=message):
            ld.grad(sol)(1.0, t)

    def grazing(p):
        s = solve_ivp(lambda t, y: 0 * y, (0.0, 1.0), [p], events=lambda t, y: y[0] - 1.0 + 0 * t)
        return np.sum(s.t_events[0])

    with pytest.raises(np.linalg.LinAlgError, match="grazes"):
        ld.grad(grazing)(1.0)

    def failing(p):
        return solve_ivp(lambda t, y: p * y**2, (0.0, 2.0), [1.0], events=lambda t, y: y[0] - 2.0).y[0, -1]

    with pytest.raises(RuntimeError, match="solve_ivp"):
        ld.grad(failing)(1.0)


class Level:
    """An event that holds what it depends on."""

    terminal = True

    def __init__(self, level):
        self.level = level

    def __call__(self, t, y):
        return y[0] - self.level


def test_events_alone_may_depend_on_parameters():
    def decay(t, y):
        return -y

    def at_time(p):
        def event(t, y):
            return t - p

        event.terminal = True
        s = solve_ivp(decay, (0.0, 3.0), [1.0], events=event, **TIGHT)
        return s.y[0, -1] + s.t[-1]

    for f, exact in (
        (at_time, lambda p: np.exp(-p) + p),
        (
            lambda p: solve_ivp(decay, (0.0, 3.0), [1.0], events=Level(0.5 * p), **TIGHT).t[-1],
            lambda p: -np.log(0.5 * p),
        ),
    ):
        np.testing.assert_allclose(ld.value_and_grad(f)(1.0), ld.value_and_grad(exact)(1.0), rtol=1e-7)


def test_no_times_to_evaluate_before_the_end():
    def found(p):
        s = solve_ivp(lambda t, y: -p * y, (0.0, 3.0), [1.0], t_eval=[2.0, 2.5], events=Level(0.5), **TIGHT)
        assert len(s.t) == 0
        return s.t_events[0][0] + np.sum(s.y)

    np.testing.assert_allclose(ld.grad(found)(1.0), -np.log(2), rtol=1e-7)
    nothing = ld.jacobian(lambda k: solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], t_eval=[]).t)(1.0)
    assert len(nothing) == 0


def test_the_root_of_a_solution():
    def half(p):
        return brentq(
            lambda t: (
                solve_ivp(lambda t, y: -p * y, (0.0, 3.0), [1.0], dense_output=True, **TIGHT).sol(t)[0] - 0.5
            ),
            0.1,
            2.9,
        )

    np.testing.assert_allclose(ld.value_and_grad(half)(2.0), [np.log(2) / 2, -np.log(2) / 4], rtol=1e-7)


def test_a_stone_that_bounces():
    def third(p):
        def ground(t, y):
            return y[0]

        ground.terminal, ground.direction = True, -1
        t, y = 0.0, np.stack([1.0 + 0 * p, 0 * p])
        for _ in range(3):
            s = solve_ivp(
                lambda t, y: np.stack([y[1], -9.81 + 0 * y[0]]), (t, 10.0), y, events=ground, **TIGHT
            )
            t, y = s.t_events[0][0], np.stack([0 * p, -p * s.y_events[0][0][1]])
        return t

    first = np.sqrt(2 / 9.81)
    np.testing.assert_allclose(
        ld.value_and_grad(third)(0.9), [first * (1 + 2 * 0.9 + 2 * 0.9**2), first * (2 + 4 * 0.9)], rtol=1e-7
    )
