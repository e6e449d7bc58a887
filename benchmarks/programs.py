"""Functions called again and again: programs beside NumPy, plain lindiff and compiled JAX.

All run the same text; loops are a ``scan`` of a step, JAX's own or one in Python.
The Kalman filter as a whole, and networks, are in `kalman` and `networks`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import kalman
from .harness import Case, Ratio
from .peers import JAX, Calls, Lindiff, LindiffProgram, NumPy, Peer

TITLE = "Functions called again and again"
PEERS = ("numpy", "lindiff", "program", "jax")

CALL = "a call with three small arrays"
CHOLESKY = "Cholesky, n = 500"
LOGISTIC = "logistic regression, 100 × 5"
SCHOOLS = "eight schools"
LORENZ = "Lorenz system, 1000 steps of numbers"
KALMAN = "Kalman filter, T = 1000, its step decorated"
EXTENDED = "extended Kalman filter, T = 100, a Jacobian in each step"
LEAPFROG = "20 leapfrog steps on eight schools"
OPTIONS = "Black-Scholes, 10⁶ options"
LIKELIHOODS = "likelihood of 10⁴ sets of 5 parameters"
EXAMPLES = "gradients of 1797 digits, 2410 parameters, one by one"

VALUE, GRADIENT = "value", "value + gradient"


# -- functions of one call ---------------------------------------------------------------------------------


def negative_log_likelihood(w, X, y, xp):
    """Of logistic regression."""
    z = X @ w
    return xp.sum(xp.logaddexp(0.0, z) - y * z)


def labelled(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((rows, columns)), (rng.random(rows) > 0.5) * 1.0


EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools_density(x, xp):
    """Log posterior of x = (mu, log tau, eta): Gelman et al., Bayesian Data Analysis, section 5.5."""
    mu, log_tau, eta = x[0], x[1], x[2:]
    tau = xp.exp(log_tau)
    residuals = (EFFECTS - mu - tau * eta) / ERRORS
    prior = -0.5 * (mu / 5) ** 2 - xp.log1p((tau / 5) ** 2) - 0.5 * xp.sum(eta**2)
    return prior - 0.5 * xp.sum(residuals**2) + log_tau


def call_prices(spot, strike, volatility, rate, xp, cdf):
    """Black-Scholes prices of calls that end in a year, added up."""
    first = (xp.log(spot / strike) + rate + 0.5 * volatility**2) / volatility
    return xp.sum(spot * cdf(first) - strike * xp.exp(-rate) * cdf(first - volatility))


def options() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    lowest, highest = (80, 80, 0.1, 0.0), (120, 120, 0.4, 0.05)
    return [rng.uniform(low, high, 10**6) for low, high in zip(lowest, highest, strict=True)]


# -- loops -------------------------------------------------------------------------------------------------


def python_scan(step, state, inputs=None, length=None):
    """Step by step: the last state, and what the steps gave besides it."""
    given = []
    for x in [None] * length if inputs is None else inputs:
        state, y = step(state, x)
        given.append(y)
    return state, given


def scan_of(peer: Peer) -> Callable[..., Any]:
    return peer.jax.lax.scan if isinstance(peer, JAX) else python_scan


def total(terms, xp):
    """The sum of what the steps gave."""
    return sum(terms) if isinstance(terms, list) else xp.sum(terms)


def lorenz_step(place, parameters):
    """One step of Euler's method."""
    (x, y, z), (sigma, rho, beta) = place, parameters
    slope = sigma * (y - x), x * (rho - z) - y, x * y - beta * z
    return tuple(u + 0.01 * v for u, v in zip(place, slope, strict=True))


def lorenz(start, parameters, scan):
    """Where the system has come to, its coordinates added up."""
    parameters = parameters[0], parameters[1], parameters[2]
    place, _ = scan(
        lambda place, _: (lorenz_step(place, parameters), None), (start[0], start[1], start[2]), length=1000
    )
    return place[0] + place[1] + place[2]


def kalman_steps(step, transition, design, state_cov, obs_cov, mean, cov, observations):
    """The likelihood by a function of one step."""
    total = 0.0
    for observation in observations:
        mean, cov, term = step(transition, design, state_cov, obs_cov, mean, cov, observation)
        total = total + term
    return total


def kalman_step(transition, design, state_cov, obs_cov, mean, cov, observation, xp=np):
    """Update, then predict the next state."""
    mean, cov, term = kalman.update(design, obs_cov, mean, cov, observation, xp)
    return *kalman.predict(transition, state_cov, mean, cov), term


def pendulum(state, parameters, xp):
    """Angle and speed a moment later."""
    angle, speed = state[0], state[1]
    slope = -parameters[0] * xp.sin(angle) - parameters[1] * speed
    return xp.stack([angle + 0.05 * speed, speed + 0.05 * slope])


def pendulum_seen(state, parameters, xp):
    """The place of its weight, as a camera sees it."""
    return xp.stack([xp.sin(state[0]), parameters[2] * xp.cos(state[0])])


def extended_step(state, observation, parameters, xp, jacobian):
    """Särkkä (2013), Bayesian Filtering and Smoothing, algorithm 5.4."""
    mean, cov = state
    F = jacobian(lambda m: pendulum(m, parameters, xp))(mean)
    mean, cov = pendulum(mean, parameters, xp), F @ cov @ F.T + 0.01 * np.eye(2)
    H = jacobian(lambda m: pendulum_seen(m, parameters, xp))(mean)
    residual = observation - pendulum_seen(mean, parameters, xp)
    S = H @ cov @ H.T + 0.1 * np.eye(2)
    gain = xp.linalg.solve(S, H @ cov).T
    term = 0.5 * (residual @ xp.linalg.solve(S, residual) + xp.log(xp.linalg.det(S)))
    return (mean + gain @ residual, cov - gain @ S @ gain.T), term


def extended(parameters, observations, xp, jacobian, scan):
    """Negative log likelihood of an extended Kalman filter."""

    def step(state, observation):
        return extended_step(state, observation, parameters, xp, jacobian)

    return total(scan(step, (xp.array([1.0, 0.0]), xp.array(np.eye(2))), observations)[1], xp)


def leapfrog(x, p, xp, grad, scan):
    """Neal (2011), MCMC using Hamiltonian dynamics, section 2.3: place and momentum after 20 steps."""
    slope_at = grad(lambda x: schools_density(x, xp))

    def step(state, _):
        x, p = state
        p = p + 0.05 * slope_at(x)
        x = x + 0.1 * p
        return (x, p + 0.05 * slope_at(x)), None

    return scan(step, (x, p), length=20)[0]


# -- many inputs -------------------------------------------------------------------------------------------


def digit_loss(parameters, image, label, xp):
    """Negative log probability of a digit by a network of 32 hidden units."""
    W_1, b_1, W_2, b_2 = parameters
    scores = W_2 @ xp.tanh(W_1 @ image + b_1) + b_2
    return xp.log(xp.sum(xp.exp(scores))) - scores[label]


def digits() -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    images, labels = load_digits(return_X_y=True)
    first, last = rng.standard_normal((32, 64)) / 8, rng.standard_normal((10, 32)) / 6
    return (first, np.zeros(32), last, np.zeros(10)), images / 16, labels


# -- the cases ---------------------------------------------------------------------------------------------


def _call(peer: Peer) -> Calls | None:
    args = [peer.asarray(x) for x in (np.arange(3.0), np.ones(3), np.eye(3))]
    return _function(peer, lambda a, b, c: a + b, args)


def _cholesky(peer: Peer) -> Calls | None:
    X = np.random.default_rng(0).standard_normal((500, 500))
    cholesky = peer.xp.linalg.cholesky
    return _function(peer, lambda A: cholesky(A), [peer.asarray(X @ X.T + 500 * np.eye(500))])


def _logistic(peer: Peer) -> Calls:
    X, y = map(peer.asarray, labelled(100, 5))
    f = partial(negative_log_likelihood, X=X, y=y, xp=peer.xp)
    return peer.gradient_calls(f, [peer.asarray(np.full(5, 0.1))])


def _schools(peer: Peer) -> Calls:
    return peer.gradient_calls(partial(schools_density, xp=peer.xp), [peer.asarray(np.linspace(0.1, 1, 10))])


def _lorenz(peer: Peer) -> Calls:
    args = [peer.asarray(np.ones(3)), peer.asarray(np.array([10.0, 28.0, 8 / 3]))]
    return peer.gradient_calls(partial(lorenz, scan=scan_of(peer)), args)


def _kalman(peer: Peer) -> Calls:
    if isinstance(peer, JAX):
        return kalman.prepare(peer, Case(KALMAN))
    step = partial(kalman_step, xp=peer.xp)
    f = partial(kalman_steps, peer.compiled(step), observations=kalman.simulate(*kalman.parameters()))
    calls = Lindiff().gradient_calls if isinstance(peer, LindiffProgram) else peer.gradient_calls
    return calls(f, kalman.parameters()).symmetrize(*kalman.COVARIANCES)


def _extended(peer: Peer) -> Calls | None:
    if isinstance(peer, NumPy):
        return None
    angles = np.random.default_rng(0).standard_normal(100) * 0.3 + np.cos(np.arange(100) * 0.15)
    observations = peer.asarray(np.stack([np.sin(angles), np.cos(angles)], axis=1))
    f = partial(
        extended,
        observations=observations,
        xp=peer.xp,
        jacobian=peer.transforms.jacobian,
        scan=scan_of(peer),
    )
    return peer.gradient_calls(f, [peer.asarray(np.array([9.8, 0.1, 1.0]))])


def _leapfrog(peer: Peer) -> Calls | None:
    if isinstance(peer, NumPy):
        return None
    args = [peer.asarray(np.linspace(0.1, 1, 10)), peer.asarray(np.linspace(-1, 1, 10))]
    f = partial(leapfrog, xp=peer.xp, grad=peer.transforms.grad, scan=scan_of(peer))
    return _function(peer, f, args)


def _options(peer: Peer) -> Calls:
    f = partial(call_prices, xp=peer.xp, cdf=peer.special.ndtr)
    return peer.gradient_calls(f, [peer.asarray(x) for x in options()])


def _likelihoods(peer: Peer) -> Calls | None:
    if not isinstance(peer, LindiffProgram | JAX):
        return None
    X, y = map(peer.asarray, labelled(100, 5))
    sets = peer.asarray(np.random.default_rng(1).standard_normal((10_000, 5)))
    one = partial(negative_log_likelihood, X=X, y=y, xp=peer.xp)
    vmap, grad = peer.transforms.vmap, peer.transforms.grad
    return _many(peer, {VALUE: vmap(one), "gradient": vmap(grad(one))}, [sets])


def _examples(peer: Peer) -> Calls | None:
    if not isinstance(peer, LindiffProgram | JAX):
        return None
    parameters, images, labels = digits()
    args = [tuple(map(peer.asarray, parameters)), peer.asarray(images), peer.asarray(labels)]
    gradient = peer.transforms.grad(partial(digit_loss, xp=peer.xp))
    return _many(peer, {"gradient": peer.transforms.vmap(gradient, (None, 0, 0))}, args)


def _function(peer: Peer, f: Callable[..., Any], args: list[Any]) -> Calls | None:
    """The value alone."""
    run = peer.waiting(partial(peer.compiled(f), *args))
    return Calls({VALUE: run}, _leaves(peer, run()))


def _many(peer: Peer, functions: dict[str, Callable[..., Any]], args: list[Any]) -> Calls:
    runs = {
        name: peer.waiting(partial(peer.compiled(f) if isinstance(peer, JAX) else f, *args))
        for name, f in functions.items()
    }
    checked = {f"{name} {key}": x for name, run in runs.items() for key, x in _leaves(peer, run()).items()}
    return Calls(runs, checked)


def _leaves(peer: Peer, result: Any) -> dict[str, np.ndarray]:
    parts = result if isinstance(result, tuple) else (result,)
    return {str(i): peer.asnumpy(x) for i, x in enumerate(parts)}


CASES: dict[str, Callable[[Peer], Calls | None]] = {
    CALL: _call,
    LOGISTIC: _logistic,
    SCHOOLS: _schools,
    LORENZ: _lorenz,
    KALMAN: _kalman,
    EXTENDED: _extended,
    LEAPFROG: _leapfrog,
    OPTIONS: _options,
    LIKELIHOODS: _likelihoods,
    EXAMPLES: _examples,
    CHOLESKY: _cholesky,
}


def cases() -> list[Case]:
    return [Case(name) for name in CASES]


def prepare(peer: Peer, case: Case) -> Calls | None:
    return CASES[case.family](peer)


def _ratio(case: str, peer: str, quantity: str, goal: str, own: str | None = None) -> Ratio:
    """A program's time over that of another one."""
    label = f"{case}: {own or quantity} / {peer}'s {quantity}"
    return Ratio(label, (case, "program", own or quantity), ((case, peer, quantity),), goal=goal)


RATIOS = [
    _ratio(LOGISTIC, "numpy", VALUE, "at most 0.7", GRADIENT),
    _ratio(SCHOOLS, "numpy", VALUE, "", GRADIENT),
    _ratio(LORENZ, "jax", GRADIENT, ""),
    _ratio(KALMAN, "numpy", VALUE, "at most 0.25", GRADIENT),
    _ratio(KALMAN, "jax", GRADIENT, ""),
    _ratio(EXTENDED, "jax", GRADIENT, "at most 1"),
    _ratio(LEAPFROG, "jax", VALUE, "at most 1"),
    _ratio(OPTIONS, "jax", GRADIENT, "at most 0.6"),
    _ratio(LIKELIHOODS, "jax", VALUE, "at most 1"),
    _ratio(LIKELIHOODS, "jax", "gradient", "at most 1"),
    _ratio(EXAMPLES, "jax", "gradient", "at most 1"),
    _ratio(CHOLESKY, "numpy", VALUE, "at most 1.02"),
]
