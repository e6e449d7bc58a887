"""Gaussian process regression (Seeger et al. 2017, section 3.1): time and peak memory of value and gradient.

`negative_log_marginal` is plain NumPy, and lindiff runs it as it stands, with `np.linalg.solve`.
The others solve the triangular system by their own triangular solver.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .harness import Case
from .peers import Calls, Peer

TITLE = "Gaussian process marginal likelihood, n = 1000, RBF kernel, six hyperparameters"
PEERS = ("numpy", "lindiff", "jax", "torch", "autograd")
POINTS, FEATURES = 1000, 4


def negative_log_marginal(lengthscales, amplitude, noise, X, y, xp=np, solve_lower=np.linalg.solve):
    """Return the negative log marginal likelihood under an RBF kernel with a lengthscale for each feature."""
    Z = X / lengthscales
    squares = xp.sum(Z * Z, 1)
    distances = squares[:, None] + squares[None, :] - 2 * (Z @ Z.T)
    K = amplitude**2 * xp.exp(-0.5 * distances)
    L = xp.linalg.cholesky(K + noise**2 * xp.eye(len(y)))
    z = solve_lower(L, y)
    return 0.5 * (z @ z) + xp.sum(xp.log(xp.diag(L))) + 0.5 * len(y) * np.log(2 * np.pi)


def data(points: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (points, FEATURES))
    return X, np.sin(X).sum(axis=1) + 0.1 * rng.standard_normal(points)


def model_and_arguments(peer: Peer, points: int) -> tuple[Callable[..., Any], list[Any]]:
    X, y = map(peer.asarray, data(points))
    model = partial(negative_log_marginal, X=X, y=y, xp=peer.xp, solve_lower=peer.solve_lower)
    hyperparameters = (np.linspace(0.8, 1.4, FEATURES), np.array(1.5), np.array(0.3))
    return model, [peer.asarray(parameter) for parameter in hyperparameters]


def cases() -> list[Case]:
    return [Case("GP")]


def prepare(peer: Peer, case: Case) -> Calls:
    return peer.gradient_calls(*model_and_arguments(peer, POINTS))


def memory_cases() -> list[Case]:
    return [Case("memory")]


def memory_call(peer: Peer, case: Case) -> Callable[[], Any]:
    """Give value and gradient at full size, after a small run has loaded and started all that stays."""
    peer.gradient_once(*model_and_arguments(peer, 10))()
    return peer.gradient_once(*model_and_arguments(peer, POINTS))
