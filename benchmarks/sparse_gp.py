"""The variational bound of a sparse Gaussian process (Seeger et al. 2017, section 3.2, after Titsias 2009).

Its size is that of the paper's experiment: n = 9568 points in four dimensions and U inducing points, the
gradient with respect to inducing points, lengthscales, amplitude and noise. The data are random: times do not
depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .harness import Case
from .peers import Calls, Lindiff, Peer

TITLE = "Sparse Gaussian process bound, n = 9568, U inducing points"
PEERS = ("lindiff", "jax", "torch")
POINTS, FEATURES = 9568, 4
JITTER = 1e-6
FAMILY = "sparse GP"


def bound_of(peer: Peer, points: int, inducing: int) -> tuple[Callable[..., Any], list[Any]]:
    """The bound in the operators of a library, and where to evaluate it."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((points, FEATURES))
    X = peer.asarray(features)
    y = peer.asarray(np.sin(features).sum(axis=1) + 0.1 * rng.standard_normal(points))
    identity = peer.asarray(np.eye(inducing))
    xp, cholesky, square = peer.xp, peer.xp.linalg.cholesky, lambda B: B @ B.T
    if isinstance(peer, Lindiff):
        cholesky, square = peer.ld.linalg.potrf, peer.ld.linalg.syrk

    def kernel(X1: Any, X2: Any, lengthscales: Any, amplitude: Any) -> Any:
        Z1, Z2 = X1 / lengthscales, X2 / lengthscales
        distances = xp.sum(Z1 * Z1, 1)[:, None] + xp.sum(Z2 * Z2, 1) - 2 * (Z1 @ Z2.T)
        return amplitude**2 * xp.exp(-0.5 * distances)

    def bound(Z: Any, lengthscales: Any, amplitude: Any, noise: Any) -> Any:
        noise_var = noise**2
        L = cholesky(kernel(Z, Z, lengthscales, amplitude) + JITTER * identity)
        B = peer.solve_lower(L, kernel(Z, X, lengthscales, amplitude))
        M = cholesky(square(B) / noise_var + identity)
        z = peer.solve_lower(M, B @ y)
        return (
            points * (np.log(2 * np.pi) / 2 + xp.log(noise))
            + xp.sum(xp.log(xp.diagonal(M)))
            + (xp.sum(y * y) - xp.sum(z * z) / noise_var) / (2 * noise_var)
            + (points * amplitude**2 - xp.sum(B * B)) / (2 * noise_var)
        )

    start = (rng.standard_normal((inducing, FEATURES)), np.ones(FEATURES), np.array(1.5), np.array(0.3))
    return bound, [peer.asarray(x) for x in start]


def cases() -> list[Case]:
    return [Case(FAMILY, U) for U in (50, 200)]


def prepare(peer: Peer, case: Case) -> Calls:
    return peer.gradient_calls(*bound_of(peer, POINTS, case.size))


def memory_cases() -> list[Case]:
    return cases()


def memory_call(peer: Peer, case: Case) -> Callable[[], Any]:
    """Give value and gradient at full size, after a small run has loaded and started all that stays."""
    peer.gradient_once(*bound_of(peer, 20, 5))()
    return peer.gradient_once(*bound_of(peer, POINTS, case.size))
