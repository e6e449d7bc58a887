"""Extended and unscented filters: linear models, the text book's recursions, other libraries, derivatives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.stats

import lindiff as ld
from lindiff import statespace
from lindiff.statespace import NonlinearModel
from lindiff.testing import check_grads

LIKELIHOODS = {"extended": statespace.extended_loglikelihood, "unscented": statespace.unscented_loglikelihood}
FILTERS = {"extended": statespace.extended_filter, "unscented": statespace.unscented_filter}
SMOOTHERS = {"extended": statespace.extended_smoother, "unscented": statespace.unscented_smoother}
KINDS = list(LIKELIHOODS)


def pendulum(x, t):
    return np.stack([x[0] + 0.05 * x[1], x[1] - 0.05 * (t[0] * np.sin(x[0]) + t[1] * x[1])])


def seen(x, t):
    return np.stack([np.sin(x[0]), t[2] * np.cos(x[0])])


def camera(steps=100):
    """Where the weight of a pendulum is seen."""
    k = np.arange(steps)
    angles = np.cos(0.15 * k)
    return np.stack([np.sin(angles) + 0.1 * np.sin(7.0 * k), np.cos(angles) + 0.1 * np.cos(11.0 * k)], axis=1)


THETA = np.array([9.8, 0.1, 1.0])
NOISE = np.array([[0.01, 0.002], [0.002, 0.02]])
ERRORS = np.array([[0.1, 0.03], [0.03, 0.2]])


START = np.array([1.0, 0.0]), np.array([[1.0, 0.2], [0.2, 0.5]])


def swinging(theta=THETA, Q=NOISE, R=ERRORS, m=START[0], P=START[1]):
    return NonlinearModel(pendulum, seen, Q, R, m, P, (theta,))


# -- linear models -----------------------------------------------------------------------------------------


def linear(steps=23, n=3, p=2):
    rng = np.random.default_rng(0)
    A, B = 0.4 * rng.standard_normal((n, n)), rng.standard_normal((p, n))
    Q, R = np.diag(rng.uniform(0.1, 0.3, n)), np.array([[0.5, 0.1], [0.1, 0.4]])[:p, :p]
    y = rng.standard_normal((steps, p))
    y[rng.random((steps, p)) < 0.2] = np.nan
    y[7] = np.nan
    return y, A, B, Q, R, rng.standard_normal(n), 0.7 * np.eye(n) + 0.1


def moved(x, A, B):
    return A @ x


def observed(x, A, B):
    return B @ x


def nonlinear(A, B, *rest):
    return NonlinearModel(moved, observed, *rest, (A, B))


CASES = [("extended", {}), ("unscented", {}), ("unscented", {"alpha": 0.5, "beta": 0.0, "kappa": 2.0})]


@pytest.mark.parametrize(("kind", "options"), CASES)
@pytest.mark.parametrize("program", [True, False])
def test_linear_models_are_those_of_the_kalman_filter(kind, options, program):
    y, *matrices = linear()
    model = nonlinear(*matrices)
    expected = statespace.kalman_filter(y, *matrices)
    for _ in range(3):
        found = FILTERS[kind](y, *model, program=program, **options)
        for x, z in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, z, rtol=1e-11, atol=1e-12)
        found = LIKELIHOODS[kind](y, *model, program=program, **options)
        np.testing.assert_allclose(found, expected.loglikelihood, rtol=1e-11)
        found = SMOOTHERS[kind](y, *model, program=program, **options)
        for x, z in zip(found, statespace.kalman_smoother(y, *matrices), strict=True):
            np.testing.assert_allclose(x, z, rtol=1e-11, atol=1e-12)


def test_small_sigma_points_lose_few_digits():
    y, *matrices = linear()
    expected = statespace.loglikelihood(y, *matrices)
    found = statespace.unscented_loglikelihood(y, *nonlinear(*matrices), alpha=1e-3, kappa=0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_linear_models(kind):
    args = linear()

    def of_filter(y, A, B, *rest):
        return LIKELIHOODS[kind](y, *nonlinear(A, B, *rest))

    every = tuple(range(7))
    for _ in range(3):
        found = ld.grad(of_filter, argnums=every)(*args)
        for x, z in zip(found, ld.grad(statespace.loglikelihood, argnums=every)(*args), strict=True):
            np.testing.assert_allclose(x, z, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_covariances_that_vary_and_rows_of_variances(kind):
    y, A, B, _, _, m, P = linear()
    rng = np.random.default_rng(1)
    Q, R = rng.uniform(0.1, 0.3, (23, 3, 1)) * np.eye(3), rng.uniform(0.3, 0.5, (23, 1, 2))
    found = FILTERS[kind](y, *nonlinear(A, B, Q, R, m, P))
    for x, z in zip(found, statespace.kalman_filter(y, A, B, Q, R, m, P), strict=True):
        np.testing.assert_allclose(x, z, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_one_observation_a_step(kind):
    y, A, B, Q, _, m, P = linear()
    expected = statespace.loglikelihood(y[:, 0], A, B[:1], Q, np.array([0.3]), m, P)
    model = NonlinearModel(lambda x: A @ x, lambda x: B[0] @ x, Q, [0.3], m, P)
    for data in (y[:, 0], y[:, :1]):
        np.testing.assert_allclose(LIKELIHOODS[kind](data, *model), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_those_of_the_step(kind):
    """A control, and a transition of each step's own."""
    y, A, B, Q, R, m, P = linear()
    rng = np.random.default_rng(2)
    control, factor = rng.standard_normal((23, 3)), rng.uniform(0.5, 1.0, 23)

    def moved(x, u, A):
        return u["factor"] * (A @ x) + u["control"]

    model = NonlinearModel(moved, lambda x, u, A: B @ x, Q, R, m, P, (A,))
    model = model._replace(inputs={"factor": factor, "control": control})
    expected = statespace.loglikelihood(y, factor[:, None, None] * A, B, Q, R, m, P, control)
    np.testing.assert_allclose(LIKELIHOODS[kind](y, *model), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_known_start_and_states_without_noise(kind):
    y, A, B, _, R, m, _ = linear()
    Q, P = np.diag([0.2, 0.0, 0.0]), np.zeros((3, 3))
    expected = statespace.loglikelihood(y, A, B, Q, R, m, P)
    model = nonlinear(A, B, Q, R, m, P)
    for _ in range(3):
        np.testing.assert_allclose(LIKELIHOODS[kind](y, *model), expected, rtol=1e-11)
    smoothed = SMOOTHERS[kind](y, *model)
    for x, z in zip(smoothed, statespace.kalman_smoother(y, A, B, Q, R, m, P), strict=True):
        np.testing.assert_allclose(x, z, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [0, 1, 4, 5])
def test_few_steps(kind, steps):
    y, *matrices = linear(steps=23)
    found = FILTERS[kind](y[:steps], *nonlinear(*matrices))
    for x, z in zip(found, statespace.kalman_filter(y[:steps], *matrices), strict=True):
        np.testing.assert_allclose(x, z, rtol=1e-11, atol=1e-12)


# -- nonlinear models --------------------------------------------------------------------------------------


def slope_of_pendulum(x, t):
    return np.array([[1.0, 0.05], [-0.05 * t[0] * np.cos(x[0]), 1 - 0.05 * t[1]]])


def slope_of_seen(x, t):
    return np.array([[np.cos(x[0]), 0.0], [-t[2] * np.sin(x[0]), 0.0]])


def tangents(g, slope, m, P):
    J = slope(m, THETA)
    return g(m, THETA), P @ J.T, J @ P @ J.T


def points(g, m, P, alpha, beta, kappa):
    """Sigma points and weights as van der Merwe writes them."""
    n = len(m)
    lam = alpha**2 * (n + kappa) - n
    L = np.linalg.cholesky((n + lam) * P)
    x = np.vstack([m, m + L.T, m - L.T])
    weights = np.full(2 * n + 1, 0.5 / (n + lam))
    weights[0] = lam / (n + lam)
    of_cov = weights.copy()
    of_cov[0] += 1 - alpha**2 + beta
    y = np.array([g(each, THETA) for each in x])
    mean = weights @ y
    dx, dy = x - m, y - mean
    return mean, (of_cov[:, None] * dx).T @ dy, (of_cov[:, None] * dy).T @ dy


def plain_filter(y, model, of_seen, of_moved):
    """Särkkä (2013), algorithms 5.4 and 5.14, and 9.1 and 9.3 for the smoother."""
    m, P, loglik, kept = model.initial_state, model.initial_state_cov, 0.0, []
    for observation in y:
        o = ~np.isnan(observation)
        z, C, S = of_seen(m, P)
        S = (S + model.obs_cov)[np.ix_(o, o)]
        K = np.linalg.solve(S, C[:, o].T).T
        loglik += scipy.stats.multivariate_normal(z[o], S).logpdf(observation[o]) if o.any() else 0.0
        filtered, cov = m + K @ (observation - z)[o], P - K @ S @ K.T
        m, D, P = of_moved(filtered, cov)
        P = P + model.state_cov
        kept.append((filtered, cov, m, P, D))
    smoothed = [(m, P)]
    for filtered, cov, m, P, D in reversed(kept):
        G = np.linalg.solve(P, D.T).T
        later, later_cov = smoothed[0]
        smoothed.insert(0, (filtered + G @ (later - m), cov + G @ (later_cov - P) @ G.T))
    means, covs = zip(*smoothed[:-1], strict=True)
    return loglik, np.array([each[0] for each in kept]), np.array(means), np.array(covs)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("extended", {}), ("unscented", {"alpha": 0.8, "beta": 2.0, "kappa": 0.5}), ("unscented", None)],
)
def test_the_text_books_recursions(kind, options):
    y = camera(40)
    y[3, 0] = y[10, 1] = y[20] = np.nan
    model = swinging()
    if kind == "extended":
        of_seen = lambda m, P: tangents(seen, slope_of_seen, m, P)
        of_moved = lambda m, P: tangents(pendulum, slope_of_pendulum, m, P)
    else:
        given = options or {"alpha": 1.0, "beta": 2.0, "kappa": 0.0}
        of_seen = lambda m, P: points(seen, m, P, **given)
        of_moved = lambda m, P: points(pendulum, m, P, **given)
    loglik, filtered, means, covs = plain_filter(y, model, of_seen, of_moved)
    for _ in range(3):
        found = FILTERS[kind](y, *model, **(options or {}))
        np.testing.assert_allclose(found.loglikelihood, loglik, rtol=1e-11)
        np.testing.assert_allclose(found.filtered_state, filtered, rtol=1e-10, atol=1e-11)
        found = SMOOTHERS[kind](y, *model, **(options or {}))
        np.testing.assert_allclose(found.smoothed_state, means, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(found.smoothed_state_cov, covs, rtol=1e-9, atol=1e-10)


# From dynamax 1.0.3 (JAX 0.10.2), which adds some 1e-9 to the covariances that it factorizes.
DYNAMAX = {
    "extended": (22.146301685916587, [0.28011089, 5.71682195, -9.2648281], [-0.20545669, 2.81408741]),
    "unscented": (13.390134248922225, [0.36261371, 6.7780649, 23.3356226], [-0.19415453, 2.82646004]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_dynamax(kind):
    y, (loglik, slopes, smoothed) = camera(), DYNAMAX[kind]

    def model(theta):
        return swinging(theta, 0.01 * np.eye(2), 0.1 * np.eye(2), P=np.eye(2))

    options = {} if kind == "extended" else {"alpha": 3**0.5, "kappa": 1.0}
    value, gradient = ld.value_and_grad(lambda theta: LIKELIHOODS[kind](y, *model(theta), **options))(THETA)
    np.testing.assert_allclose(value, loglik, rtol=1e-7)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6)
    found = SMOOTHERS[kind](y, *model(THETA), **options).smoothed_state[30]
    np.testing.assert_allclose(found, smoothed, rtol=1e-6)


def test_sigma_points_have_the_moments_of_squares():
    """Exact for the mean of a quadratic function, with beta = 2 for its variance, of a Gaussian number."""
    model = NonlinearModel(lambda x: x**2, lambda x: x, [[0.0]], [1.0], [0.5], [[0.3]])
    found = statespace.unscented_filter([np.nan], *model)
    np.testing.assert_allclose(found.predicted_state[1], [0.5**2 + 0.3])
    np.testing.assert_allclose(found.predicted_state_cov[1], [[4 * 0.5**2 * 0.3 + 2 * 0.3**2]])


# -- derivatives -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", [True, False])
def test_derivatives(kind, program):
    y, u = camera(6), np.array([0.1, -0.2, 0.3, 0.0, 0.2, 0.1])
    y[2, 0] = y[4] = np.nan
    there = ~np.isnan(y)

    def loglikelihood(theta, L, N, m, K, u, data):
        y = np.where(there, data, np.nan)
        return LIKELIHOODS[kind](
            y,
            lambda x, u, t: pendulum(x, t) + np.stack([0.0 * u, u]),
            lambda x, u, t: seen(x, t),
            L @ L.T,
            N @ N.T,
            m,
            K @ K.T,
            (theta,),
            u,
            program=program,
        )

    factors = (np.linalg.cholesky(X) for X in (NOISE, ERRORS))
    args = THETA, *factors, np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.2, 0.7]]), u, np.nan_to_num(y)
    check_grads(loglikelihood, args, order=2, step=3e-4, rtol=3e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_third_derivatives(kind):
    y = camera(5)

    def of(theta):
        return LIKELIHOODS[kind](y, *swinging(np.stack([9.8, theta, 1.0])))

    hessian = ld.grad(ld.grad(of))
    h = 1e-4
    np.testing.assert_allclose(
        ld.grad(hessian)(0.1), (hessian(0.1 + h) - hessian(0.1 - h)) / (2 * h), rtol=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_states(kind):
    y = camera(6)

    def states(theta, data):
        model = swinging(theta)
        found, smoothed = FILTERS[kind](data, *model), SMOOTHERS[kind](data, *model)
        return found.filtered_state, found.predicted_state_cov, smoothed.smoothed_state

    check_grads(states, (THETA, y), order=1)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_from_a_known_start(kind):
    y = camera(6)

    def loglikelihood(theta, m):
        return LIKELIHOODS[kind](y, *swinging(theta, m=m, P=np.zeros((2, 2))))

    check_grads(loglikelihood, (THETA, np.array([1.0, 0.0])), order=2, step=3e-4)


def test_gradients_of_models():
    y = camera(9)
    slopes = ld.grad(lambda model: statespace.extended_loglikelihood(y, *model))(swinging())
    assert slopes.transition is pendulum
    expected = ld.grad(lambda theta: statespace.extended_loglikelihood(y, *swinging(theta)))(THETA)
    np.testing.assert_allclose(slopes.params[0], expected, rtol=1e-12)
    np.testing.assert_allclose(slopes.state_cov, slopes.state_cov.T, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_closures_may_hold_what_is_differentiated(kind):
    y = camera(12)

    def of_closure(theta):
        model = swinging()
        parts = (lambda x: pendulum(x, theta)), (lambda x: seen(x, theta))
        return LIKELIHOODS[kind](y, *parts, *model[2:6])

    expected = ld.grad(lambda theta: LIKELIHOODS[kind](y, *swinging(theta)))(THETA)
    for _ in range(3):
        np.testing.assert_allclose(ld.grad(of_closure)(THETA), expected, rtol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_have_no_slope(kind):
    y = camera(12)
    y[3, 0] = y[7] = np.nan
    slopes = ld.grad(lambda y: LIKELIHOODS[kind](y, *swinging()))(y)
    np.testing.assert_array_equal(slopes[np.isnan(y)], 0)
    assert np.all(slopes[~np.isnan(y)] != 0)


# -- programs ----------------------------------------------------------------------------------------------


def test_functions_run_in_the_first_steps_only(capsys):
    def moved(x, t):
        print("called")
        return pendulum(x, t)

    model, y = swinging()._replace(transition=moved), camera(41)
    values = [statespace.extended_loglikelihood(y, *model._replace(params=(THETA * k,))) for k in (1, 1, 1.1)]
    assert 0 < capsys.readouterr().out.count("called") < 41
    expected = statespace.extended_loglikelihood(y, *swinging(THETA * 1.1), program=False)
    np.testing.assert_allclose(values[2], expected, rtol=1e-12)
    statespace.extended_loglikelihood(y, *model)
    assert not capsys.readouterr().out
    statespace.extended_loglikelihood(y, *model, program=False)
    assert capsys.readouterr().out.count("called") == 41


@pytest.mark.parametrize("kind", KINDS)
def test_functions_may_return_lists(kind):
    """In the same program again and again: a warning would say that there is none."""

    def moved(x, t):
        return [x[0] + 0.05 * x[1], x[1] - 0.05 * (t[0] * np.sin(x[0]) + t[1] * x[1])]

    def viewed(x, t):
        return (np.sin(x[0]), t[2] * np.cos(x[0]))

    y = camera(50)
    expected = LIKELIHOODS[kind](y, *swinging())
    model = swinging()._replace(transition=moved, observation=viewed)
    for _ in range(3):
        np.testing.assert_allclose(LIKELIHOODS[kind](y, *model), expected, rtol=1e-12)


def test_what_a_function_reads_may_change():
    settings = {"gravity": 9.8}

    def moved(x, t):
        return pendulum(x, np.stack([settings["gravity"], t[1], t[2]]))

    model, y = swinging()._replace(transition=moved), camera(20)
    for gravity in (9.8, 9.8, 5.0, 9.8):
        settings["gravity"] = gravity
        expected = statespace.extended_loglikelihood(y, *swinging(np.array([gravity, 0.1, 1.0])))
        np.testing.assert_allclose(statespace.extended_loglikelihood(y, *model), expected, rtol=1e-12)


def test_functions_without_a_hash():
    @dataclasses.dataclass
    class Swing:
        scale: float

        def __call__(self, x, t):
            return self.scale * pendulum(x, t)

    model, y = swinging()._replace(transition=Swing(1.0)), camera(20)
    expected = statespace.extended_loglikelihood(y, *swinging())
    np.testing.assert_allclose(statespace.extended_loglikelihood(y, *model), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_likelihoods_inside_programs(kind):
    y = camera(10)
    plain = ld.value_and_grad(lambda theta: LIKELIHOODS[kind](y, *swinging(theta)))
    fast = ld.program(plain)
    for k in range(4):
        theta = THETA + 0.1 * k
        for x, z in zip(fast(theta), plain(theta), strict=True):
            np.testing.assert_allclose(x, z, rtol=1e-11)


def test_maximum_likelihood():
    rng = np.random.default_rng(3)
    x, y = np.array([1.0, 0.0]), []
    for _ in range(200):
        y.append(seen(x, THETA) + 0.1 * rng.standard_normal(2))
        x = pendulum(x, THETA) + 0.02 * rng.standard_normal(2)

    def loss(params):
        model = swinging(params["theta"], 4e-4 * np.eye(2), np.exp(params["log_var"]) * np.eye(2))
        return -statespace.extended_loglikelihood(np.array(y), *model)

    start = {"theta": np.array([9.0, 0.2, 0.9]), "log_var": -4.0}
    found = ld.scipy.optimize.minimize(loss, start, method="BFGS")
    np.testing.assert_allclose(found.x["theta"], THETA, atol=0.15)
    np.testing.assert_allclose(np.exp(found.x["log_var"]), 0.01, rtol=0.15)


@pytest.mark.parametrize("kind", KINDS)
def test_single_precision_is_kept(kind):
    single = [np.float32(x) for x in (NOISE, ERRORS, [1.0, 0.0], np.eye(2))]
    model = NonlinearModel(pendulum, seen, *single, (np.float32(THETA),))
    found = FILTERS[kind](np.float32(camera(10)), *model)
    assert {x.dtype.name for x in found} == {"float32"}
    expected = FILTERS[kind](camera(10), *swinging(P=np.eye(2)))
    np.testing.assert_allclose(found.filtered_state, expected.filtered_state, rtol=1e-4, atol=1e-4)


# -- bad input ---------------------------------------------------------------------------------------------

Y = camera(12)


def failing(**fields):
    return lambda: statespace.extended_loglikelihood(Y, *swinging()._replace(**fields))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (failing(transition=np.eye(2)), TypeError, "transition is a function of the state, got ndarray"),
        (failing(params=THETA), TypeError, r"write \(params,\) for one, got ndarray"),
        (failing(initial_state=np.eye(2)), ValueError, r"initial_state must be of shape \(n,\)"),
        (failing(initial_state_cov=np.eye(3)), ValueError, r"initial_state_cov of shape \(3, 3\)"),
        (failing(state_cov=-np.eye(2)), ValueError, "state_cov of shape .* has a negative variance"),
        (failing(obs_cov=np.eye(3)), ValueError, r"y of shape \(12, 2\) has 2 numbers a step.*that of 3"),
        (failing(obs_cov=1.0), ValueError, r"obs_cov must be of shape \(p, p\)"),
        (
            failing(inputs=np.ones(5)),
            ValueError,
            r"inputs of shape \(5,\) must have a row for each of the 12",
        ),
        (
            failing(transition=lambda x, t: x[0]),
            ValueError,
            r"transition returns an array of shape \(\), and",
        ),
        (
            failing(observation=lambda x, t: x[:1]),
            ValueError,
            r"observation returns an array of shape \(1,\), and \(2,\) is needed",
        ),
        (
            failing(observation=lambda x, t: np.stack([x[0], x[0]]), obs_cov=np.zeros((2, 2))),
            np.linalg.LinAlgError,
            "the covariance of the observations at step 0 is not positive definite",
        ),
        (
            lambda: statespace.extended_loglikelihood(np.stack([Y, Y]), *swinging()),
            ValueError,
            "one series at a time",
        ),
        (
            lambda: statespace.unscented_filter(Y, *swinging(), alpha=0.0),
            ValueError,
            "alpha and n . kappa must be positive, got alpha=0.0",
        ),
        (
            lambda: statespace.unscented_smoother(Y, *swinging(), kappa=-2),
            ValueError,
            "got .*kappa=-2 with n=2",
        ),
        (
            lambda: statespace.unscented_filter(Y, *swinging(), beta="2"),
            TypeError,
            "beta is a number, got str",
        ),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("kind", KINDS)
def test_states_that_are_not_finite(kind):
    def moved(x, t):
        return np.where(np.sum(x) > 5, np.inf, 1.0) * (x + 1)

    says = r"the state predicted for step \d+, or its covariance, is not finite"
    with np.errstate(all="ignore"), pytest.raises(OverflowError, match=says):
        LIKELIHOODS[kind](np.full((12, 2), np.nan), *swinging()._replace(transition=moved))


@dataclasses.dataclass(frozen=True)
class Moved:
    """Which equals others of its name, whatever their matrix."""

    name: str
    A: np.ndarray = dataclasses.field(compare=False)

    def __call__(self, x):
        return self.A @ x


def test_functions_that_are_equal_are_not_the_same():
    y = np.random.default_rng(0).standard_normal((12, 1))
    rest = (lambda x: x[:1], 0.1 * np.eye(2), np.array([0.3]), np.zeros(2), np.eye(2))

    def density(a):
        A = np.concatenate([np.stack([a, a - a + 0.1]), np.array([0.0, 0.5])]).reshape(2, 2)
        return statespace.extended_loglikelihood(y, Moved("car", A), *rest)

    def exact(a):
        A = np.concatenate([np.stack([a, a - a + 0.1]), np.array([0.0, 0.5])]).reshape(2, 2)
        return statespace.loglikelihood(
            y, A, np.eye(1, 2), 0.1 * np.eye(2), np.array([[0.3]]), np.zeros(2), np.eye(2)
        )

    for a in (0.3, 0.5, 0.9):
        np.testing.assert_allclose(ld.value_and_grad(density)(a), ld.value_and_grad(exact)(a), rtol=1e-10)
