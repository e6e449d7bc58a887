"""``lindiff.scipy.integrate``: differential equations by the adjoint method, quadrature by Leibniz's rule."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import scipy.integrate
from numpy.testing import assert_allclose

import lindiff as ld
import lindiff.numpy
from lindiff.scipy import integrate
from lindiff.scipy.integrate import quadrature
from lindiff.testing import check_grads

TIGHT = {"rtol": 1e-10, "atol": 1e-11}
TIMES = np.array([0.1, 0.3, 0.7, 1.1])
Y0 = np.array([0.5, 0.2])


def pendulum(t, y, params, q):
    return [y[1] * params["k"], -q[0] * np.sin(y[0]) + 0.1 * np.cos(t) * params["k"]]


def with_all(t0, t1, times, y0, k, q, method="DOP853"):
    return integrate.solve_ivp(pendulum, (t0, t1), y0, method, times, args=({"k": k}, q), **TIGHT).y


ALL = (0.1, 1.2, TIMES[1:], Y0, 1.1, np.array([0.8]))


def test_solve_ivp_with_respect_to_everything():
    check_grads(with_all, ALL, order=2, rtol=1e-6, adjoint_rtol=1e-6)


@pytest.mark.parametrize("method", ["RK45", "RK23", "LSODA", "Radau", "BDF"])
def test_methods_of_solve_ivp(method):
    tight = {"rtol": 1e-6, "atol": 1e-8} if method in ("RK23", "Radau", "BDF") else TIGHT

    def solution(y0, k):
        return integrate.solve_ivp(
            pendulum, (0.1, 1.2), y0, method, TIMES[1:3], args=({"k": k}, [0.8]), **tight
        ).y

    check_grads(solution, (Y0, 1.1), order=1, rtol=1e-4, adjoint_rtol=1e-4)


def test_value_and_report_are_scipys():
    plain = scipy.integrate.solve_ivp(pendulum, (0.1, 1.2), Y0, args=({"k": 1.1}, [0.8]))

    def solution(y0, k):
        found = integrate.solve_ivp(pendulum, (0.1, 1.2), y0, args=({"k": k}, [0.8]))
        assert (found.nfev, found.status, found.success) == (plain.nfev, plain.status, True)
        assert found.sol is None
        np.testing.assert_array_equal(found.t, plain.t)
        return found.y

    np.testing.assert_allclose(ld.vjp(solution, Y0, 1.1)[0], plain.y, rtol=1e-12)
    np.testing.assert_allclose(ld.jvp(solution, (Y0, 1.1), (Y0, 1.0))[0], plain.y, rtol=1e-12)
    ours = integrate.solve_ivp(pendulum, (0.1, 1.2), Y0, args=({"k": 1.1}, [0.8]), dense_output=True)
    np.testing.assert_array_equal(ours.y, plain.y)
    assert ours.sol is not None


def test_ends_of_the_solvers_own_steps():
    def last(t0, t1, y0):
        found = integrate.solve_ivp(pendulum, (t0, t1), y0, "DOP853", args=({"k": 1.1}, [0.8]), **TIGHT)
        return found.y[:, -1], found.t[-1]

    check_grads(last, (0.1, 1.2, Y0), order=1, rtol=1e-6, adjoint_rtol=1e-6)


def test_backward_in_time():
    def first(y1, k):
        return integrate.solve_ivp(
            pendulum, (1.0, 0.0), y1, "DOP853", [0.5, 0.0], args=({"k": k}, [0.8]), **TIGHT
        ).y

    check_grads(first, (Y0, 1.1), order=1, rtol=1e-6, adjoint_rtol=1e-6)


def test_complex_states():
    def solution(y0, w):
        return integrate.solve_ivp(
            lambda t, y, w: 1j * w * y, (0.0, 1.0), y0, "DOP853", [0.5, 1.0], args=(w,), **TIGHT
        ).y

    check_grads(solution, (np.array([1.0 + 0.5j]), 0.7), order=2, rtol=1e-6, adjoint_rtol=1e-6)


def test_a_stiff_equation_does_not_run_away_on_the_way_back():
    """The fast mode decays 1e130 times; integrated back, it would grow as much."""

    def end(rate):
        return integrate.solve_ivp(
            lambda t, y, k: np.stack([-300.0 * (y[0] - y[1]), -k * y[1]]),
            (0.0, 1.0),
            [1.0, 1.0],
            "Radau",
            [1.0],
            args=(rate,),
            rtol=1e-7,
            atol=1e-9,
        ).y[0, -1]

    h = 1e-4
    expected = (end(0.5 + h) - end(0.5 - h)) / (2 * h)
    np.testing.assert_allclose(ld.grad(end)(0.5), expected, rtol=1e-4)


def test_the_gradient_is_as_accurate_as_the_solution():
    """dy/dk = -t y₀ exp(-k t)."""

    def end(rate, tolerance):
        return integrate.solve_ivp(
            lambda t, y, k: -k * y, (0.0, 2.0), [1.0], args=(rate,), rtol=tolerance, atol=tolerance
        ).y[0, -1]

    errors = [abs(ld.grad(end)(0.5, tol) + 2 * np.exp(-1.0)) for tol in (1e-3, 1e-6, 1e-9)]
    assert errors[0] < 5e-3
    assert errors[1] < 5e-6
    assert errors[2] < 5e-9


def test_memory_does_not_hold_the_steps():
    """One record node for the whole solution: the record does not grow with the number of steps."""
    runs = 0

    def f(t, y, k):
        nonlocal runs
        runs += isinstance(y, ld.Variable)
        return -k * y

    ld.vjp(lambda k: integrate.solve_ivp(f, (0.0, 2.0), [1.0], args=(k,), t_eval=[2.0], rtol=1e-8).y, 0.5)
    assert runs == 0


def test_odeint():
    def solution(t, y0, k, q):
        return integrate.odeint(pendulum, y0, t, args=({"k": k}, q), tfirst=True)

    check_grads(solution, (TIMES, Y0, 1.1, np.array([0.8])), order=2, rtol=1e-5, adjoint_rtol=1e-5)
    plain = scipy.integrate.odeint(pendulum, Y0, TIMES, args=({"k": 1.1}, [0.8]), tfirst=True)
    np.testing.assert_allclose(solution(TIMES, Y0, 1.1, [0.8]), plain, rtol=1e-5)  # at tolerances of 1.5e-8
    again = ld.vjp(lambda y0: solution(TIMES, y0, 1.1, [0.8]), Y0)[0]
    np.testing.assert_array_equal(again, solution(TIMES, Y0, 1.1, [0.8]))


def test_odeint_with_its_options():
    def solution(k):
        Y, report = integrate.odeint(
            lambda y, t, k: -k * y,
            [1.0, 2.0],
            [0.0, 1.0, 2.0],
            args=(k,),
            Dfun=lambda y, t, k: -k * np.eye(2),
            full_output=True,
            rtol=[1e-8, 1e-7],
            atol=[1e-8, 1e-7],
        )
        assert report["nfe"].shape == (2,)
        return Y

    expected = -np.array([0.0, 1.0, 2.0])[:, None] * solution(0.5)
    np.testing.assert_allclose(ld.jacobian(solution)(0.5), expected, atol=1e-6)
    scalar = integrate.odeint(lambda y, t: -y, 1.0, [0.0, 1.0])
    got = ld.vjp(lambda y0: integrate.odeint(lambda y, t: -y, y0, [0.0, 1.0]), 1.0)[0]
    np.testing.assert_allclose(got, scalar, rtol=1e-9)


class Decay:
    """A right-hand side with an attribute, which nobody looks at."""

    def __init__(self, k):
        self.k = k

    def __call__(self, t, y, _):
        return -self.k * y


def test_what_equations_refuse():
    with pytest.raises(TypeError, match="through args"):
        ld.grad(lambda k: integrate.solve_ivp(Decay(k), (0.0, 1.0), [1.0], args=(k,)).y[0, -1])(1.0)
    with np.errstate(all="ignore"), pytest.raises(RuntimeError, match="solve_ivp: "):
        ld.grad(
            lambda k: integrate.solve_ivp(
                lambda t, y, k: k * y**2, (0.0, 2.0), [1.0], "RK45", [2.0], args=(k,)
            ).y[0, -1]
        )(1.0)


def test_no_times_asked_for():
    got = ld.vjp(lambda y0: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), y0, t_eval=[]).t, Y0)[0]
    assert len(got) == 0


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_jacobian_takes_args(method):
    def solution(y0, k):
        return integrate.solve_ivp(
            lambda t, y, k: -k["k"] * y, (0.0, 1.0), y0, method, args=({"k": k},), rtol=1e-8, atol=1e-10,
            jac=lambda t, y, k: -k["k"] * np.eye(2),
        ).y[:, -1]  # fmt: skip

    np.testing.assert_allclose(ld.jacobian(solution, 1)(Y0, 2.0), -Y0 * np.exp(-2.0), rtol=1e-4)
    np.testing.assert_allclose(ld.jacobian(solution)(Y0, 2.0), np.eye(2) * np.exp(-2.0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
@pytest.mark.parametrize("as_list", [True, False])
def test_vectorized_right_hand_sides(method, as_list):
    def field(t, y, k):
        y_dot = [y[1] * k, -np.sin(y[0])]
        return y_dot if as_list else np.stack(y_dot)

    def last(y0, k, vectorized):
        found = integrate.solve_ivp(
            field, (0.0, 1.0), y0, method, args=(k,), vectorized=vectorized, rtol=1e-7, atol=1e-9
        )
        return found.y[:, -1]

    for argnum in (0, 1):
        got, expected = (ld.jacobian(last, argnum)(Y0, 1.1, vectorized) for vectorized in (True, False))
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    value = ld.vjp(lambda k: last(Y0, k, True), 1.1)[0]
    np.testing.assert_allclose(value, last(Y0, 1.1, True), rtol=1e-12)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize(
    ("field", "moves"),
    [
        (lambda t, y, p: np.where(t < p, 1.0, 0.0) + 0.0 * y, True),
        (lambda t, y, p: np.where(y < 2.0, 3.0, 6.0), True),
        (lambda t, y, p: np.where(t < 0.3, p, 0.0) * y, False),
        (lambda t, y, p: -p * y, False),
    ],
)
def test_a_right_hand_side_whose_jump_moves_gives_a_warning(method, field, moves):
    def end(p):
        return integrate.solve_ivp(field, (0.0, 1.0), [1.0], method, args=(p,), rtol=1e-6, atol=1e-8).y[0, -1]

    for differentiate in (ld.grad(end), lambda p: ld.jvp(end, (p,), (1.0,))):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            differentiate(0.3)
        says = [str(warning.message) for warning in caught]
        assert any("right-hand side jumps at t = 0.3" in text for text in says) == moves, says


def test_odeint_warns_of_a_jump_that_moves_in_reverse():
    def end(p):
        return integrate.odeint(lambda y, t, p: np.where(t < p, 1.0, 0 * y), [1.0], [0, 1.0], (p,))[-1, 0]

    with pytest.warns(UserWarning, match="right-hand side jumps at t = 0.3"):
        ld.grad(end)(0.3)


@pytest.mark.parametrize(
    "solve",
    [
        lambda y0: integrate.odeint(lambda y, t: -y, y0, np.array([0.0, 1.0])),
        lambda y0: integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), y0),
    ],
)
def test_a_start_outside_of_transforms_is_left_as_it_is(solve):
    y0 = lindiff.numpy.array([2.0, 0.5])
    solve(y0)
    np.testing.assert_array_equal(ld.value(y0), [2.0, 0.5])


# -- quadrature ------------------------------------------------------------------------------------------


def bump(x, k, v):
    return np.exp(-k * x) * np.sin(v["w"][0] * x) + v["w"][1]


def test_quad_with_respect_to_everything():
    def integral(a, b, k, w):
        return integrate.quad(bump, a, b, args=(k, {"w": w}))[0]

    args = (0.1, 1.3, 0.7, np.array([1.0, 0.4]))
    check_grads(integral, args, order=2, rtol=1e-6, adjoint_rtol=1e-8)
    expected = scipy.integrate.quad(bump, 0.1, 1.3, args=(0.7, {"w": args[-1]}))
    assert integrate.quad(bump, 0.1, 1.3, args=(0.7, {"w": args[-1]})) == expected
    assert ld.vjp(integral, *args)[0] == expected[0]


def test_quad_with_infinite_limits_and_break_points():
    def tail(a, k):
        return integrate.quad(lambda x, k: np.exp(-k * x), a, np.inf, args=(k,))[0]

    def kink(k):
        return integrate.quad(lambda x, k: np.exp(-k * np.abs(x)), -1.0, 2.0, args=(k,), points=[0.0])[0]

    check_grads(tail, (0.2, 0.7), order=2, rtol=1e-6, adjoint_rtol=1e-8)
    check_grads(kink, (0.7,), order=1, rtol=1e-6, adjoint_rtol=1e-8)


def test_nested_quad():
    def double(k):
        def inner(x, k):
            return integrate.quad(lambda y, x, k: np.sin(k * x * y), 0, 1, args=(x, k))[0]

        return integrate.quad(inner, 0, 1, args=(k,))[0]

    check_grads(double, (0.9,), order=1, rtol=1e-6, adjoint_rtol=1e-8)


class Times:
    def __init__(self, b):
        self.b = b

    def __call__(self, x):
        return self.b * x


def test_what_quad_refuses():
    with pytest.raises(TypeError, match="weight"):
        ld.grad(lambda b: integrate.quad(np.cos, 0.0, b, weight="cos", wvar=1.0)[0])(1.0)
    with pytest.raises(TypeError, match="through args"):
        ld.grad(lambda b: integrate.quad(Times(b), 0.0, b)[0])(1.0)


def test_fixed_quad():
    def integral(a, b, k):
        return integrate.fixed_quad(lambda x, k: np.exp(-k * x), a, b, args=(k,), n=4)[0]

    check_grads(integral, (0.2, 0.7, 0.5))
    np.testing.assert_allclose(
        integral(0.2, 0.7, 0.5),
        scipy.integrate.fixed_quad(lambda x: np.exp(-0.5 * x), 0.2, 0.7, n=4)[0],
        rtol=1e-14,
    )
    with pytest.raises(ValueError, match="finite limits"):
        integrate.fixed_quad(np.cos, 0.0, np.inf)


def _quad(f, a, b, **options):
    return lambda p: integrate.quad(f, a, b, args=(p,), **options)[0]


@pytest.mark.parametrize(
    ("integral", "p", "expected"),
    [
        (_quad(lambda x, p: x ** (p - 1), 0.0, 1.0), 0.1, -100.0),
        (_quad(lambda x, p: x**-p, 1.0, np.inf), 1.2, -25.0),
        (_quad(lambda x, p: np.sum(np.array([1.0, 2.0]) * x ** (p - 1)), 0.0, 1.0), 0.1, -300.0),
        (_quad(lambda x, p: np.abs(x - p), 0.0, 1.0), 0.3, -0.4),
        (_quad(lambda x, p: np.where(x < 0.3, 1.0, 0.0) * p, 0.0, 1.0), 0.5, 0.3),  # a jump at rest
        (_quad(lambda x, p: np.sign(x) * (p * x + 1), -1.0, 1.0), 0.5, 1.0),
        (_quad(lambda x, p: np.exp(-(((x - p) / 1e-3) ** 2)), 0.0, 1.0, points=[0.3]), 0.3, 0.0),
    ],
)
@pytest.mark.filterwarnings("error")
def test_quad_of_singular_integrands_slow_tails_and_kinks(integral, p, expected):
    np.testing.assert_allclose(ld.grad(integral)(p), expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ld.jvp(integral, (p,), (1.0,))[1], expected, rtol=1e-8, atol=1e-9)


def test_quad_of_a_singular_integrand_with_several_parameters():
    gradient = ld.grad(_quad(lambda x, p: p[1] * x ** (p[0] - 1) + p[2], 0.0, 1.0))(np.array([0.1, 3.0, 0.0]))
    np.testing.assert_allclose(gradient, [-300.0, 10.0, 1.0], rtol=1e-8)


@pytest.mark.parametrize(
    ("integral", "p"),
    [
        (_quad(lambda x, p: np.where(x < p, 1.0, 0.0), 0.0, 1.0), 0.3),
        (_quad(lambda x, p: np.where(x < p, 1.0, 0.0), 0.0, 1.0), 0.5),  # where the first halving is
        (_quad(lambda x, p: np.where(x < p, np.exp(-x), 0.0), 0.0, np.inf), 0.3),
        (_quad(lambda x, p: np.where(x < p, np.exp(-x * x), 0.0), -np.inf, np.inf), 0.3),
        (_quad(lambda x, p: np.floor(p * x), 0.0, 1.0), 3.3),
    ],
)
def test_quad_warns_of_a_jump_that_a_parameter_moves(integral, p):
    with pytest.warns(integrate.IntegrationWarning, match="jumps at x = .* Split the integral there"):
        ld.grad(integral)(p)
    with pytest.warns(integrate.IntegrationWarning, match="jumps at x"):
        ld.jvp(integral, (p,), (1.0,))


def test_quad_warns_of_a_jump_of_the_derivative_where_it_is_differentiated_again():
    integral = _quad(lambda x, p: np.abs(x - p), 0.0, 1.0)
    with pytest.warns(integrate.IntegrationWarning, match="jumps at x = 0.3"):
        ld.grad(ld.grad(integral))(0.3)


def test_quad_warns_where_the_integral_of_the_derivative_does_not_come_to_its_tolerance():
    singular = _quad(lambda x, p: np.abs(x - p) ** -0.5, 0.0, 1.0)
    with pytest.warns(integrate.IntegrationWarning, match="integral of a derivative of the integrand"):
        ld.grad(singular)(0.3)


@pytest.mark.parametrize("count", [1, 3, 8, 9, 20])
def test_quad_by_programs(count, monkeypatch):
    """Of few parameters and of many, of functions made anew in each call, at other numbers."""
    made = []
    evaluator_of = quadrature.evaluator_of
    monkeypatch.setattr(
        quadrature, "evaluator_of", lambda *args: made.append(evaluator_of(*args)) or made[-1]
    )

    def integral(p):
        decays = np.arange(1.0, count + 1)
        return integrate.quad(lambda x, p: np.sum(np.exp(-decays * x) * p**2), 0.0, np.inf, args=(p,))[0]

    for p in (np.linspace(1.0, 2.0, count), np.linspace(3.0, 2.0, count)):
        np.testing.assert_allclose(ld.grad(integral)(p), 2 * p / np.arange(1, count + 1), rtol=1e-7)
        np.testing.assert_allclose(np.diag(ld.hessian(integral)(p)), 2 / np.arange(1, count + 1), rtol=1e-6)
    assert sum(compiled is not None for compiled in made) >= 4


def test_quad_of_functions_without_a_program():
    """That count, look at x, or use Python's mathematics."""
    count = 0

    def counted(x, k):
        nonlocal count
        count += 1
        return np.exp(-k * x)

    exact = np.exp(-2.0) / 2 - (1 - np.exp(-2.0)) / 4
    for f in (
        counted,
        lambda x, k: np.exp(-k * x) if x < 0.3 else np.exp(-k * x) * 1.0,
        lambda x, k: np.exp(-k * x) * math.cos(0.0 * x),
    ):
        slope = ld.grad(lambda k, f=f: integrate.quad(f, 0.0, 1.0, args=(k,))[0])(2.0)
        np.testing.assert_allclose(slope, exact, rtol=1e-7)
    assert count >= 21


# -- samples ---------------------------------------------------------------------------------------------


def test_empty_intervals_have_no_weight():
    x, y = np.array([0.0, 1.0, 1.0, 2.0, 2.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    got, pullback = ld.vjp(lambda y: integrate.simpson(y, x), y)
    np.testing.assert_allclose(got, scipy.integrate.simpson(y, x=x))
    assert np.all(np.isfinite(pullback(1.0)[0]))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda y: integrate.trapezoid(y, np.ones(4)), "4 points for 3 samples"),
        (lambda y: integrate.simpson(y, np.ones((1, 3))), "one axis, or those of y"),
        (lambda y: integrate.cumulative_trapezoid(y, initial=1.0), "None or 0"),
        (lambda y: integrate.cumulative_trapezoid(y[:0]), "at least one"),
        (lambda y: integrate.cumulative_simpson(y, x=np.zeros(3)), "increase"),
        (lambda y: integrate.romb(y[:2][[0, 1, 1, 0]]), "power of two"),
    ],
)
def test_errors_of_samples(call, says):
    with pytest.raises(ValueError, match=says):
        ld.vjp(call, np.ones(3))
    with pytest.raises(TypeError, match="table"):
        ld.vjp(lambda y: integrate.romb(y, show=True), np.ones(3))


@pytest.mark.parametrize("t_eval", [None, [1.0], [1.0, 1.0]])
def test_no_time_to_go(t_eval):
    """From a time to itself the solution is the start, its slope by the last time the right-hand side."""

    def end(y0, t1):
        span, times = (1.0, t1), None if t_eval is None else [1.0] * (len(t_eval) - 1) + [t1]
        times = (
            times
            if times is None
            else np.stack([np.asarray(t) if isinstance(t, float) else t for t in times])
        )
        return integrate.solve_ivp(lambda t, y: -3.0 * y, span, y0, t_eval=times).y[0, -1]

    y0_bar, t1_bar = ld.grad(end, (0, 1))(np.array([2.0]), 1.0)
    np.testing.assert_allclose((y0_bar[0], t1_bar), (1.0, -6.0))
    np.testing.assert_allclose(ld.jvp(end, (np.array([2.0]), 1.0), (np.ones(1), 1.0))[1], -5.0)


@pytest.mark.parametrize("options", [{"h0": 1e-3}, {"tcrit": [1.0]}, {"hmax": 0.1}])
def test_options_of_odeint_concern_its_own_way_forward(options):
    times = np.linspace(0.0, 3.0, 7)

    def total(rate):
        y = integrate.odeint(lambda t, y, a: -a * y, [1.0], times, args=(rate,), tfirst=True, **options)
        return np.sum(y)

    exact = -np.sum(times * np.exp(-0.7 * times))
    np.testing.assert_allclose(ld.grad(total)(0.7), exact, rtol=1e-6)
    np.testing.assert_allclose(ld.jvp(total, (0.7,), (1.0,))[1], exact, rtol=1e-6)


@pytest.mark.parametrize("span", [(0.0, 6.0), (0, 6)])
def test_second_derivatives_by_the_times_that_are_asked_for(span):
    """y = 1 / (t + 1 / y(0)), at t = p from y(0) = p + 1."""

    def f(p):
        options = {"rtol": 1e-10, "atol": 1e-12, "t_eval": np.stack([p])}
        return integrate.solve_ivp(lambda t, y: -(y**2), span, [p + 1], **options).y[0, 0]

    exact = lambda p: 1 / (p + 1 / (p + 1))
    np.testing.assert_allclose(f(1.5), exact(1.5))
    expected = ld.hvp(exact, (1.5,), (1.0,))
    np.testing.assert_allclose(ld.hvp(f, (1.5,), (1.0,)), expected, rtol=1e-5)
    np.testing.assert_allclose(ld.grad(ld.grad(f))(1.5), expected, rtol=1e-5)


@pytest.mark.parametrize("method", ["Radau", "LSODA"])
def test_second_derivatives_of_stiff_equations(method):
    """``y = (p² cos t + p sin t - p² e^(-p t)) / (1 + p²)``; a solution replayed backward would explode."""
    p = 500.0

    def end(p):
        found = integrate.solve_ivp(
            lambda t, y, p: -p * (y - np.cos(t)), (0, 1.0), [0.0], method, args=(p,), rtol=1e-4, atol=1e-7
        )
        return 1e4 * found.y[0, -1]

    def exact(p):
        return 1e4 * (p * p * np.cos(1.0) + p * np.sin(1.0)) / (1 + p * p)

    second = ld.grad(ld.grad(exact))(p)
    assert_allclose(ld.hvp(end, (p,), (1.0,)), second, rtol=1e-2)
    assert np.isfinite(ld.grad(ld.grad(end))(p))


def test_sweeps_to_third_order_by_everything():
    """Times, start and parameters of an equation that is not linear."""

    def f(t0, t1, y0, p):
        times = np.stack([0.5 * (t0 + t1), t1])
        found = integrate.solve_ivp(
            lambda t, y, p: np.stack([y[1] * np.cos(t), -p * np.sin(y[0])]),
            np.stack([t0, t1]),
            y0,
            "DOP853",
            times,
            args=(p,),
            rtol=1e-9,
            atol=1e-10,
        )
        return np.sum(found.y**3)

    at = (0.1, 0.9, np.array([0.4, -0.3]), 1.3)
    check_grads(f, at, order=2, rtol=1e-5, adjoint_rtol=1e-6)
    direction = (0.3, -0.2, np.array([1.0, 0.5]), 0.7)

    def along(s):
        return f(*[x + s * d for x, d in zip(at, direction, strict=True)])

    forward = lambda f: lambda s: ld.jvp(f, (s,), (1.0,))[1]
    expected = forward(forward(forward(along)))(0.0)
    assert_allclose(ld.grad(ld.grad(ld.grad(along)))(0.0), expected, rtol=1e-6)
    assert_allclose(forward(ld.grad(forward(along)))(0.0), expected, rtol=1e-6)


def test_second_derivatives_of_complex_equations():
    def f(p):
        found = integrate.solve_ivp(
            lambda t, y, p: 1j * p * y + p,
            (0.0, 1.0),
            np.array([1.0 + 0.5j]),
            args=(p,),
            rtol=1e-10,
            atol=1e-12,
        )
        return np.sum(np.real(np.conj(found.y) * found.y[:, -1:]))

    expected = ld.jvp(lambda p: ld.jvp(f, (p,), (1.0,))[1], (0.7,), (1.0,))[1]
    assert_allclose(ld.grad(ld.grad(f))(0.7), expected, rtol=1e-6)
    assert_allclose(ld.hvp(f, (0.7,), (1.0,)), expected, rtol=1e-6)


START = np.array([1.0, 0.0])


def test_a_right_hand_side_that_writes_into_its_arguments():
    def into_y(t, y, k, c):
        y += 0.1
        return np.stack([y[1], -k * y[0]])

    def into_c(t, y, k, c):
        c *= 0.99
        return np.stack([y[1] + c[0], -k * y[0]])

    def end(fun):
        return lambda k: integrate.solve_ivp(fun, (0.0, 1.0), START, args=(k, np.ones(1))).y[0, -1]

    for fun, name in ((into_y, "y"), (into_c, "c")):
        end(fun)(1.5)  # without derivatives as in SciPy
        for transform in (ld.grad, lambda f: lambda k: ld.jvp(f, (k,), (1.0,))):
            with pytest.raises(TypeError, match=f"{fun.__name__} changes its argument '{name}' in place"):
                transform(end(fun))(1.5)


# -- trees as states -----------------------------------------------------------------------------------------


def swing(t, state, k):
    """Two oscillators and a count that both drive."""
    return {
        "x": state["v"],
        "v": -k["stiffness"] * state["x"],
        "work": [np.sum(state["v"] ** 2), 0.0],
    }


STATE = {"x": np.array([1.0, 0.5]), "v": np.zeros(2, "f4"), "work": [0, np.ones((2, 1))]}


def of_vector(t, y, k):
    return np.concatenate([y[2:4], -k["stiffness"] * y[:2], [np.sum(y[2:4] ** 2), 0.0, 0.0]])


def test_a_tree_is_solved_as_a_vector():
    k, times = {"stiffness": 2.0}, np.linspace(0.0, 1.0, 4)
    vector = np.array([1.0, 0.5, 0.0, 0.0, 0.0, 1.0, 1.0])
    for t_eval in (times, None):
        found = integrate.solve_ivp(swing, (0.0, 1.0), STATE, t_eval=t_eval, args=(k,))
        wanted = scipy.integrate.solve_ivp(of_vector, (0.0, 1.0), vector, t_eval=t_eval, args=(k,))
        assert (found.nfev, found.success) == (wanted.nfev, True)
        count = len(wanted.t)
        assert found.y["work"][1].shape == (2, 1, count)
        assert found.y["v"].dtype == np.float64
        np.testing.assert_allclose(found.y["x"], wanted.y[:2], rtol=1e-9)
        np.testing.assert_allclose(found.y["work"][0], wanted.y[4], rtol=1e-9)
    assert integrate.solve_ivp(swing, (0.0, 1.0), STATE, t_eval=[], args=(k,)).y["x"].shape == (2, 0)


def test_derivatives_of_a_tree():
    times = np.array([0.5, 1.0])

    def end(state, k):
        y = integrate.solve_ivp(swing, (0.0, 1.0), state, t_eval=times, args=(k,), rtol=1e-9, atol=1e-9).y
        return np.sum(y["x"]) + y["work"][0][-1]

    k = {"stiffness": 2.0}
    state = {"x": np.array([1.0, 0.5]), "v": np.zeros(2), "work": [0.0, np.ones((2, 1))]}
    check_grads(end, (state, k), order=1, rtol=1e-5, adjoint_rtol=1e-6)
    gradient = ld.grad(end)(state, k)
    np.testing.assert_allclose(gradient["work"][1], 0.0)
    assert gradient["work"][0] == 1.0
    assert np.isfinite(ld.grad(lambda s: ld.grad(lambda s: end(state, {"stiffness": s}))(s))(2.0))


def test_complex_parts_of_a_tree():
    def turn(t, state):
        return {"z": 1j * state["z"], "x": -state["x"]}

    y = integrate.solve_ivp(turn, (0.0, 1.0), {"z": 1 + 0j, "x": np.ones(1)}, rtol=1e-9, atol=1e-9).y
    np.testing.assert_allclose(y["z"][-1], np.exp(1j), rtol=1e-7)
    assert y["x"].dtype == np.float64


def test_what_a_tree_cannot_have():
    k = {"stiffness": 2.0}
    for options in (
        {"dense_output": True},
        {"events": lambda t, y, k: y["x"][0]},
        {"jac": lambda t, y, k: 0},
    ):
        with pytest.raises(TypeError, match="ravel"):
            integrate.solve_ivp(swing, (0.0, 1.0), STATE, args=(k,), **options)
    with pytest.raises(ValueError, match="result of the right-hand side"):
        integrate.solve_ivp(lambda t, y: {"x": 0.0}, (0.0, 1.0), STATE)
    numbers = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1, 2])
    assert numbers.y.shape[0] == 2


def decay(rate, y0=(1.0, 2.0), slopes=lambda t, y, rate: -rate * y, **options):
    return integrate.solve_ivp(slopes, (0.0, 1.0), y0, args=(rate,), **options).y[:, -1].sum()


def test_one_slope_for_all_states():
    assert_allclose(ld.grad(lambda rate: decay(rate, slopes=lambda t, y, rate: [-rate]))(0.5), -2.0)


@pytest.mark.parametrize("method", ["RK45", "LSODA"])
def test_relative_tolerances_of_each_state(method):
    slope = ld.grad(lambda rate: decay(rate, method=method, rtol=[1e-6, 1e-8]))(0.5)
    assert_allclose(slope, -3 * np.exp(-0.5), rtol=1e-5)


@pytest.mark.parametrize("y0", [None, 1.0, np.ones((2, 1)), [[1.0, 2.0]], [[[1.0]]]])
def test_states_of_other_axes_are_refused(y0):
    for derivative in (lambda f: f, ld.grad):
        with pytest.raises(ValueError, match="`y0` must be 1-dimensional"):
            derivative(lambda rate: decay(rate, y0))(0.5)


def test_bad_input_beside_variables():
    with pytest.raises(ValueError, match="returns an array of shape"):
        ld.grad(lambda rate: decay(rate, slopes=lambda t, y, rate: -rate * y[:, None]))(0.5)
    with pytest.raises(ValueError, match="t_eval has NaN"):
        ld.grad(lambda rate: decay(rate, t_eval=[0.0, np.nan, 1.0]))(0.5)
    odeint = lambda t, args=(): ld.grad(
        lambda rate: integrate.odeint(lambda y, t, *args: -rate * y, [1.0], t, args=args).sum()
    )(0.5)
    assert odeint([]) == 0.0
    with pytest.raises(ValueError, match="one-dimensional"):
        odeint([[0.0, 1.0]])
    with pytest.raises(TypeError, match="write args="):
        odeint([0.0, 1.0], [1.0])


JUMPS = {
    "beside windows": (
        lambda x, p: (10.0 if 0.1 <= x < 0.15 or 0.3 <= x < 0.35 else 0.0) + (1.0 if x < p else 2.0),
        0.43,
        {},
    ),
    "in the middle": (lambda x, p: np.sign(x - 0.5 - p), 0.0, {}),
    "at a point": (lambda x, p: np.where(x < p, x, 2 * x), 0.3, {"points": [0.3]}),
}


@pytest.mark.parametrize("case", JUMPS)
def test_a_jump_that_quadrature_passes_over_is_told(case):
    f, at, options = JUMPS[case]
    with pytest.warns(integrate.IntegrationWarning, match="quad: the integrand jumps at x"):
        ld.grad(lambda p: integrate.quad(f, 0.0, 1.0, (p,), limit=500, **options)[0])(at)


@pytest.mark.parametrize(
    "f", [lambda x, p: np.abs(x - p), lambda x, p: p * np.floor(5 * x), lambda x, p: p if x < 0.5 else x]
)
def test_kinks_and_jumps_that_do_not_move_give_no_warning(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ld.grad(lambda p: integrate.quad(f, 0.0, 1.0, (p,), epsabs=1e-6)[0])(0.3)


def test_odeint_ends_where_the_solution_does():
    def state(p, end):
        return integrate.odeint(lambda y, t: p * y * y, [1.0], [0.0, 0.5, end])[1, 0]

    np.testing.assert_allclose(ld.grad(state)(1.0, 0.9), 2.0, rtol=1e-6)
    with (
        pytest.warns(scipy.integrate.ODEintWarning),
        pytest.raises(RuntimeError, match="odeint: excess work"),
    ):
        ld.grad(state)(1.0, 2.0)


def test_a_limit_that_moves_where_the_integrand_is_infinite():
    with pytest.raises(ValueError, match="not finite at the limit x = 2, which moves"):
        ld.grad(lambda p: integrate.quad(lambda x: 1 / np.sqrt(p - x), 0.0, p)[0])(2.0)
    still = lambda p: integrate.quad(lambda u: p / np.sqrt(p * (1 - u)), 0.0, 1.0)[0]
    assert_allclose(ld.grad(still)(2.0), 1 / np.sqrt(2), rtol=1e-8)


@pytest.mark.parametrize("steep", [1e3, 1e4])
@pytest.mark.parametrize("at", [0.1, 0.3, 0.62])
def test_fronts_that_a_derivative_has_as_peaks(at, steep):
    front = lambda p: integrate.quad(lambda x: np.tanh(steep * (x - p)), 0.0, 1.0)[0]
    assert_allclose(ld.grad(front)(at), -2.0, rtol=1e-6)
    assert_allclose(ld.jvp(front, (at,), (1.0,))[1], -2.0, rtol=1e-6)
    fronts = lambda p: integrate.quad_vec(lambda x: np.tanh(steep * (x - p)) * np.ones(2), 0.0, 1.0)[0]
    assert_allclose(ld.jacobian(fronts)(at), [-2.0, -2.0], rtol=1e-6)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF"])
def test_a_start_at_which_the_right_hand_side_jumps_gives_no_warning(method):
    def end(p):
        field = lambda t, y: np.stack([y[1], -y[0] - p * np.sign(y[1])])
        return integrate.solve_ivp(field, (0.0, 2.0), [2.0, 0.0], method, rtol=1e-8, atol=1e-10).y[0, -1]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_allclose(ld.grad(end)(0.1), 1 - np.cos(2.0), rtol=1e-4)


def of_power(p):
    return integrate.quad(lambda t: t ** (p - 1), 0.0, 1.0)[0]


def of_power_by_vectors(p):
    return integrate.quad_vec(lambda t: t ** (p - 1), 0.0, 1.0, epsabs=1e-8, epsrel=1e-8)[0]


def of_tail(p):
    return integrate.quad(lambda t: t ** (-p - 1), 1.0, np.inf)[0]


def of_square(p):
    return integrate.dblquad(lambda t, s: np.exp(-(((t - 0.3) / 0.1) ** 2)) / (p + s), 0, 1, 0, 1)[0]


def of_box(p):
    def integrand(x):
        return np.exp(-(((x[:, 0] - 0.3) / 0.01) ** 2)) / (p + x[:, 0])

    return integrate.cubature(integrand, [0.0], [1.0], atol=1e-8).estimate


@pytest.mark.parametrize("integral", [of_power, of_power_by_vectors, of_tail, of_square, of_box])
def test_derivatives_of_integrals_do_not_depend_on_units(integral):
    gradient, curved = ld.grad(integral)(0.3), ld.grad(ld.grad(integral))(0.3)
    for unit in (1e-12, 1e-9, 1e9):
        of_unit = lambda p, unit=unit: unit * integral(p)
        assert_allclose(ld.grad(of_unit)(0.3) / unit, gradient, rtol=1e-7)
        assert_allclose(ld.jvp(integral, (0.3,), (unit,))[1] / unit, gradient, rtol=1e-7)
        assert_allclose(ld.grad(ld.grad(of_unit))(0.3) / unit, curved, rtol=1e-6)


@pytest.mark.parametrize("integral", [of_power, of_tail])
@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_derivatives_of_integrals_by_parameters_in_other_units(integral, unit):
    of_unit = lambda p: integral(p * unit)
    assert_allclose(ld.grad(of_unit)(0.3 / unit) / unit, -1 / 0.09, rtol=1e-7)
    assert_allclose(ld.grad(ld.grad(of_unit))(0.3 / unit) / unit**2, 2 / 0.027, rtol=1e-6)


def test_a_derivative_of_zero_by_quad_is_no_noise():
    odd = lambda p: integrate.quad(lambda t: np.exp(-(t**2)) * np.sin(p * t), -1.0, 1.0)[0]
    assert abs(ld.grad(lambda p: odd(p) ** 2 + 1e-9 * odd(p))(0.7)) < 1e-20
