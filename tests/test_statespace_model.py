"""Sums of state-space models, and what is said of arguments that cannot be."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from statespace_reference import random_model, symmetric

import lindiff as ld
from lindiff import statespace
from lindiff.statespace import (
    Model,
    forecast,
    kalman_filter,
    kalman_smoother,
    loglikelihood,
    simulate_smoother,
    stationary_initialization,
)
from lindiff.testing import check_grads


@pytest.fixture
def rng():
    return np.random.default_rng(2)


# -- sums --------------------------------------------------------------------------------------------------


def of_sum(a, b, y):
    """The same written by hand: states side by side."""
    n, m = a.transition.shape[-1], b.transition.shape[-1]

    def blocks(x, z):
        return np.block([[x, np.zeros((n, m))], [np.zeros((m, n)), z]])

    return loglikelihood(
        y,
        blocks(a.transition, b.transition),
        np.hstack([a.design, b.design]),
        blocks(a.state_cov, b.state_cov),
        a.obs_cov + b.obs_cov,
        np.hstack([a.initial_state, b.initial_state]),
        blocks(a.initial_state_cov, b.initial_state_cov),
        np.hstack([a.state_intercept, b.state_intercept]),
        a.obs_intercept + b.obs_intercept,
    )


def test_sum_has_the_states_side_by_side(rng):
    a, b, y = random_model(rng, 2, 2), random_model(rng, 3, 2), rng.standard_normal((5, 2))
    assert isinstance(a + b, Model)
    assert_allclose(loglikelihood(y, *(a + b)), of_sum(a, b, y), rtol=1e-12)
    left, right = (a + b) + a, a + (b + a)
    for x, z in zip(left[:-1], right[:-1], strict=True):
        assert_allclose(x, z)


def test_derivatives_of_sums(rng):
    a, b, y = random_model(rng, 1, 1), random_model(rng, 2, 1), rng.standard_normal((4, 1))

    def of_parts(a, b):
        return loglikelihood(y, *(symmetric(Model(*a)) + symmetric(Model(*b))), method="composed")

    check_grads(of_parts, (a[:-1], b[:-1]), 2, rtol=1e-6)


def test_sum_of_what_varies_and_what_does_not(rng):
    a, b = random_model(rng, 2, 1, (4,)), random_model(rng, 1, 1)
    c = random_model(rng, 2, 1, (3, 1))
    y = rng.standard_normal((3, 4, 1))
    total = loglikelihood(y, *(a + b))
    assert total.shape == (3,)
    constant = Model(*(np.stack([x] * 4) if i < 4 or i > 5 else x for i, x in enumerate(b[:-1])))
    assert_allclose(total, loglikelihood(y, *(a + constant)), rtol=1e-12)
    assert (a + c).transition.shape == (3, 4, 4, 4)
    assert loglikelihood(y, *(a + c)).shape == (3,)


def test_sum_of_rows_of_variances(rng):
    a, b = random_model(rng, 1, 2, diagonal=True), random_model(rng, 1, 2)
    row = a._replace(obs_cov=a.obs_cov[0])
    full = np.diag(a.obs_cov[0])
    for first in (a, row):
        assert (first + a).obs_cov.shape == (1, 2)
        assert_allclose((first + b).obs_cov, full + b.obs_cov)
        assert_allclose((b + first).obs_cov, full + b.obs_cov)


def test_sum_of_starts(rng):
    a, b = random_model(rng, 2, 1), random_model(rng, 1, 1)
    open_start = b._replace(initial_state=None, initial_state_cov=None, diffuse=True, state_intercept=None)
    total = a + open_start
    assert_array_equal(total.diffuse, [False, False, True])
    assert_array_equal(total.initial_state, [*a.initial_state, 0.0])
    assert_array_equal(total.initial_state_cov[2], np.zeros(3))
    assert_array_equal(total.state_intercept, [*a.state_intercept, 0.0])
    y = rng.standard_normal((6, 1))
    filled = open_start._replace(initial_state=np.ones(1), initial_state_cov=np.eye(1))
    assert_allclose(loglikelihood(y, *total), loglikelihood(y, *(a + filled)), rtol=1e-10)
    both = open_start + open_start
    assert both.initial_state is both.initial_state_cov is both.state_intercept is None
    assert both.diffuse.all()
    plain = b._replace(obs_intercept=None) + b._replace(obs_intercept=None)
    assert plain.obs_intercept is plain.diffuse is None


def test_sums_keep_single_precision(rng):
    a = Model(*(np.float32(x) for x in random_model(rng, 2, 1)[:-1]))
    b = a._replace(initial_state=None, initial_state_cov=None, state_intercept=None, diffuse=True)
    for x in (a + b)[:-1]:
        assert x.dtype == np.float32


def test_sums_that_cannot_be(rng):
    a, b = random_model(rng, 2, 1), random_model(rng, 1, 2)
    with pytest.raises(ValueError, match=r"designs of shapes \(1, 2\) and \(2, 1\) observe 1 and 2 numbers"):
        a + b
    with pytest.raises(ValueError, match="initial_state is missing, and diffuse does not cover all states"):
        a + a._replace(initial_state=None, diffuse=[True, False])
    with pytest.raises(ValueError, match=r"design of shapes \(4, 1, 2\) and \(5, 1, 2\) have 4 and 5 steps"):
        a._replace(design=np.ones((4, 1, 2))) + a._replace(design=np.ones((5, 1, 2)))
    with pytest.raises(TypeError, match="unsupported operand"):
        a + 1
    with pytest.raises(TypeError, match="complex128"):
        a + a._replace(transition=1j * a.transition)


# -- arguments that cannot be ------------------------------------------------------------------------------

ONE = np.eye(2)


def call(function=loglikelihood, y=None, **changes):
    model = Model(0.5 * ONE, np.ones((3, 2)), ONE, np.eye(3), np.zeros(2), ONE, np.zeros(2), np.zeros(3))
    return function(np.zeros((5, 3)) if y is None else y, *model._replace(**changes))


FUNCTIONS = [
    loglikelihood,
    kalman_filter,
    kalman_smoother,
    lambda *a: forecast(2, *a),
    lambda *a: simulate_smoother(*a, rng=np.random.default_rng(0)),
]
NAMES = ["loglikelihood", "kalman_filter", "kalman_smoother", "forecast", "simulate_smoother"]


@pytest.mark.parametrize(("function", "name"), [*zip(FUNCTIONS, NAMES, strict=True)], ids=NAMES)
def test_messages_name_the_function(function, name):
    with pytest.raises(ValueError, match=f"^{name}: design of shape"):
        call(function, design=np.ones((3, 4)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transition": np.ones((2, 3))}, r"transition of shape \(2, 3\) must be \(n, n\), \(T, n, n\) or"),
        ({"transition": np.ones(2)}, r"transition of shape \(2,\) must be"),
        (
            {"design": np.ones(2)},
            r"design of shape \(2,\) does not fit transition of shape \(2, 2\): write it as \(p, 2\), ",
        ),
        ({"y": np.zeros((5, 2))}, r"y of shape \(5, 2\) does not fit design of shape \(3, 2\): .* \(T, 3\)"),
        ({"y": np.zeros(5)}, r"y of shape \(5,\) does not fit design"),
        ({"y": np.zeros((1, 1, 5, 3))}, r"y of shape \(1, 1, 5, 3\) does not fit design"),
        (
            {"transition": np.ones((4, 2, 2))},
            r"transition of shape \(4, 2, 2\) does not fit y of 1 series, 5 steps and 3 numbers a step, "
            r"shape \(1, 5, 3\): write it as \(2, 2\), \(5, 2, 2\) or \(S, 5, 2, 2\), with 1 for T",
        ),
        ({"state_cov": np.eye(3)}, r"state_cov of shape \(3, 3\) does not fit"),
        ({"obs_cov": np.ones(2)}, r"obs_cov of shape \(2,\) .*\(3, 3\), .*\(1, 3\), \(5, 1, 3\) or"),
        ({"obs_cov": np.float64(1.0)}, r"obs_cov of shape \(\) does not fit"),
        ({"obs_cov": np.ones((2, 2))}, r"obs_cov of shape \(2, 2\) does not fit"),
        ({"initial_state": np.zeros(3)}, r"initial_state of shape \(3,\) .*\(2,\) or \(S, 2\)"),
        ({"initial_state": np.zeros((1, 1, 2))}, r"initial_state of shape \(1, 1, 2\)"),
        ({"initial_state_cov": np.eye(3)}, r"initial_state_cov of shape \(3, 3\) .*\(2, 2\) or \(S, 2, 2\)"),
        ({"state_intercept": np.zeros((4, 2))}, r"state_intercept of shape \(4, 2\) .*\(2,\), \(5, 2\) or"),
        ({"obs_intercept": np.zeros(2)}, r"obs_intercept of shape \(2,\) does not fit"),
        (
            {"y": np.zeros((2, 5, 3)), "state_cov": np.ones((3, 1, 2, 2))},
            r"state_cov of shape \(3, 1, 2, 2\) does not fit y of 2 series",
        ),
        (
            {"transition": np.ones((2, 1, 2, 2)), "state_cov": np.ones((3, 1, 2, 2))},
            r"state_cov of shape \(3, 1, 2, 2\) does not fit y",
        ),
        (
            {"initial_state": None},
            "initial_state is missing; give it, take it from stationary_initialization",
        ),
        ({"initial_state_cov": None, "diffuse": [True, False]}, "initial_state_cov is missing"),
        (
            {"diffuse": [True]},
            r"diffuse of shape \(1,\) and dtype bool must be True, or one boolean for each",
        ),
        ({"diffuse": [0, 1]}, r"diffuse of shape \(2,\) and dtype int64 must be True"),
        ({"transition": np.nan * ONE}, "transition holds NaN or infinite numbers; only y may"),
        ({"obs_intercept": np.array([0.0, np.inf, 0.0])}, "obs_intercept holds NaN or infinite"),
        ({"y": np.full((5, 3), np.inf)}, "y holds infinite numbers; write NaN for what is missing"),
        (
            {"state_cov": np.array([[1.0, 0.5], [0.4, 1.0]])},
            r"state_cov of shape \(2, 2\) is not symmetric; write 0.5",
        ),
        (
            {"initial_state_cov": np.diag([1.0, -0.1])},
            "initial_state_cov of shape .* negative variance, -0.1",
        ),
        ({"obs_cov": np.array([1.0, 1.0, -2.0])}, "obs_cov of shape .* has a negative variance, -2.0"),
        ({"state_cov": np.array([[1.0, 2.0], [2.0, 1.0]])}, "state_cov of shape .* a correlation beyond 1"),
    ],
)
def test_what_does_not_fit_is_named(changes, message):
    with pytest.raises(ValueError, match=f"^loglikelihood: {message}"):
        call(**changes)


@pytest.mark.parametrize("name", [*Model._fields[:-1], "y"])
def test_complex_arrays_are_refused(name):
    good = {"y": np.zeros((5, 3)), "transition": ONE, "design": np.ones((3, 2))}
    x = good.get(name, np.zeros(2))
    with pytest.raises(TypeError, match=f"^loglikelihood: {name} has dtype complex128, real numbers"):
        call(**{name: x + 0j})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transition": None}, "transition is None; an array is needed"),
        ({"obs_cov": None}, "obs_cov is None; an array is needed"),
        (
            {"y": np.ma.masked_array(np.zeros((5, 3)), np.ones((5, 3), bool))},
            r"y is a masked array; .*filled",
        ),
        ({"transition": np.asmatrix(ONE)}, "transition is a matrix; give a plain array"),
        ({"y": np.full((5, 3), "a")}, "y has dtype <U1, real numbers"),
    ],
)
def test_what_is_no_array_of_numbers_is_named(changes, message):
    with pytest.raises(TypeError, match=f"^loglikelihood: {message}"):
        call(**changes)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="longdouble is double")
def test_extended_precision_is_refused():
    with pytest.raises(TypeError, match=r"design has dtype .*, real numbers of up to 64"):
        call(design=np.ones((3, 2), np.longdouble))


def test_data_frames_are_arrays(rng):
    model, y = random_model(rng, 2, 2), rng.standard_normal((5, 2))
    assert loglikelihood(pandas.DataFrame(y), *model) == loglikelihood(y, *model)
    model = random_model(rng, 2, 1)
    assert loglikelihood(pandas.Series(y[:, 0]), *model) == loglikelihood(y[:, 0], *model)


def test_faults_are_found_in_variables_too():
    with pytest.raises(ValueError, match="has a negative variance"):
        ld.grad(lambda Q: call(state_cov=Q))(-ONE)
    with pytest.raises(ValueError, match="holds NaN"):
        ld.hessian(lambda a: call(transition=a * ONE))(np.nan)


def test_rounding_is_no_fault(rng):
    X = rng.standard_normal((40, 2))
    nearly = X.T @ X
    nearly[0, 1] += 1e-15 * nearly[0, 0]
    assert np.isfinite(call(state_cov=nearly, initial_state_cov=np.diag([1.0, -1e-17])))


def test_faults_of_the_stationary_start():
    with pytest.raises(ValueError, match=r"transition of shape \(2, 3\) must be square"):
        stationary_initialization(np.ones((2, 3)), ONE)
    with pytest.raises(ValueError, match=r"state_cov of shape \(3, 3\) does not fit transition"):
        stationary_initialization(0.5 * ONE, np.eye(3))
    with pytest.raises(ValueError, match=r"state_intercept of shape \(3,\) does not fit transition"):
        stationary_initialization(0.5 * ONE, ONE, np.zeros(3))
    with pytest.raises(ValueError, match=r"state_cov of shape \(4, 2, 2\) varies over time"):
        stationary_initialization(0.5 * ONE, np.ones((4, 2, 2)))
    with pytest.raises(TypeError, match="stationary_initialization: transition has dtype complex128"):
        stationary_initialization(0.5j * ONE, ONE)


def test_lists_may_hold_variables():
    def of_lists(q, r):
        return loglikelihood([1.0, 3.0, 2.0], [[1.0]], [[1.0]], [[q]], [r], [0.0], [[1.0]])

    def of_arrays(q, r):
        one = np.eye(1)
        return loglikelihood([1.0, 3.0, 2.0], one, one, q * one, r * one[0], np.zeros(1), one)

    assert ld.grad(of_lists, argnums=(0, 1))(0.5, 1.0) == ld.grad(of_arrays, argnums=(0, 1))(0.5, 1.0)


def test_models_without_states():
    nothing = np.zeros((0, 0)), np.zeros((1, 0)), np.zeros((0, 0)), np.eye(1)
    for function in (loglikelihood, kalman_filter):
        with pytest.raises(ValueError, match="no states: write what is noise alone with one state of zeros"):
            function(np.ones(9), *nothing)
    zero = np.zeros((1, 1))
    found = loglikelihood(np.ones(9), zero, zero, zero, np.eye(1), np.zeros(1), zero)
    assert_allclose(found, -4.5 * (np.log(2 * np.pi) + 1))


def test_functions_of_arrays_take_models():
    model, y = statespace.local_level(1.0, 0.5), np.cumsum(np.random.default_rng(0).normal(size=20))
    for function, before, options in [
        (kalman_filter, (y,), {}),
        (kalman_smoother, (y,), {}),
        (forecast, (3, y), {}),
        (simulate_smoother, (y,), {"rng": 0}),
        (statespace.simulate, (5,), {"rng": 0}),
    ]:
        if function is statespace.simulate:
            model = model._replace(initial_state=np.zeros(1), initial_state_cov=np.eye(1), diffuse=None)
        found, expected = function(*before, model, **options), function(*before, *model, **options)
        for x, other in zip(found, expected, strict=True):
            assert_array_equal(x, other)
        with pytest.raises(TypeError, match="a Model has all arrays: give none beside it"):
            function(*before, model, np.eye(1), **options)
        with pytest.raises(TypeError, match="a Model has all arrays: give none beside it"):
            function(*before, model, diffuse=True, **options)


@pytest.mark.parametrize("made", [lambda m: 2 * m, lambda m: m * 2, lambda m: (1, *m)[:1] + m])
def test_models_are_no_tuples_in_arithmetic(made):
    with pytest.raises(TypeError, match=r"^Model: "):
        made(statespace.local_level(1.0, 0.5))
