"""The Kalman filter of Seeger et al. (2017), section 3.4: negative log likelihood and all its gradients.

`negative_log_likelihood` is plain NumPy; NumPy and lindiff run it as it stands. autograd and PyTorch run
the same text in their own namespaces. JAX gets the same steps as a compiled `lax.scan`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .harness import Case
from .peers import JAX, Calls, Peer

TITLE = "Kalman filter likelihood, T = 1000, 4 states, 2 observed, six parameter blocks"
PEERS = ("numpy", "lindiff", "program", "jax", "torch", "autograd")
STEPS, STATES, OBSERVED = 1000, 4, 2
COVARIANCES = (2, 3, 5)


def negative_log_likelihood(
    transition, design, state_cov, obs_cov, initial_mean, initial_cov, observations, xp=np
):
    """Run the filter over all observations and return their negative log likelihood."""
    mean, cov = initial_mean, initial_cov
    total = 0.0
    for t, observation in enumerate(observations):
        if t > 0:
            mean, cov = predict(transition, state_cov, mean, cov)
        mean, cov, term = update(design, obs_cov, mean, cov, observation, xp)
        total = total + term
    return total


def predict(transition, state_cov, mean, cov):
    """Carry mean and covariance of the state one step on."""
    return transition @ mean, transition @ cov @ transition.T + state_cov


def update(design, obs_cov, mean, cov, observation, xp):
    """Condition the state on an observation (Joseph form); return its negative log density as well."""
    residual = observation - design @ mean
    cross = cov @ design.T
    L = xp.linalg.cholesky(design @ cross + obs_cov)
    gain = xp.linalg.solve(L.T, xp.linalg.solve(L, cross.T)).T
    whitened = xp.linalg.solve(L, residual)
    rest = xp.eye(len(mean)) - gain @ design
    term = 0.5 * (whitened @ whitened) + xp.sum(xp.log(xp.diag(L))) + 0.5 * len(residual) * np.log(2 * np.pi)
    return mean + gain @ residual, rest @ cov @ rest.T + gain @ obs_cov @ gain.T, term


def scanned(transition, design, state_cov, obs_cov, initial_mean, initial_cov, observations, peer):
    """Do the same in JAX: each step of the scan updates, and predicts the next state."""

    def step(state, observation):
        mean, cov, term = update(design, obs_cov, *state, observation, peer.xp)
        return predict(transition, state_cov, mean, cov), term

    _, terms = peer.jax.lax.scan(step, (initial_mean, initial_cov), observations)
    return terms.sum()


def parameters() -> list[np.ndarray]:
    """Return the six parameter blocks: transition, design, two covariances, initial mean and covariance."""
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.standard_normal((STATES, STATES)))
    design = rng.standard_normal((OBSERVED, STATES))
    return [
        0.95 * rotation, design, covariance(rng, STATES), covariance(rng, OBSERVED),
        rng.standard_normal(STATES), covariance(rng, STATES),
    ]  # fmt: skip


def covariance(rng: np.random.Generator, n: int) -> np.ndarray:
    X = rng.standard_normal((n, 2 * n))
    return X @ X.T / n + 0.1 * np.eye(n)


def simulate(transition, design, state_cov, obs_cov, initial_mean, initial_cov) -> np.ndarray:
    """Draw observations from the model."""
    rng = np.random.default_rng(1)
    state = rng.multivariate_normal(initial_mean, initial_cov)
    observations = np.empty((STEPS, OBSERVED))
    for t in range(STEPS):
        observations[t] = rng.multivariate_normal(design @ state, obs_cov)
        state = rng.multivariate_normal(transition @ state, state_cov)
    return observations


def cases() -> list[Case]:
    return [Case("Kalman filter")]


def prepare(peer: Peer, case: Case) -> Calls:
    observations: Any = peer.asarray(simulate(*parameters()))
    if isinstance(peer, JAX):
        model = partial(scanned, observations=observations, peer=peer)
    else:
        model = partial(negative_log_likelihood, observations=observations, xp=peer.xp)
    args = [peer.asarray(parameter) for parameter in parameters()]
    return peer.gradient_calls(model, args).symmetrize(*COVARIANCES)
