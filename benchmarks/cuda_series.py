"""Likelihoods of ten thousand series on a GPU: one state-space model each, or one for all.

JAX runs the filter of `kalman` under ``vmap(scan)``; ``lindiff-cpu`` is lindiff on all of the CPU's cores.
``card`` is the time that the flops of both sweeps would take in a large product of matrices, symmetry used:
(3 + 5) n³ + (4 + 9) n² p + (3 + 4) n p² a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import kalman
from .cuda_peers import Card
from .harness import Case
from .peers import JAX, Calls, Lindiff, Peer

TITLE = "Kalman likelihood and gradient on a GPU, 10 000 series, T = 200, 4 states, 2 observed"
PEERS = ("lindiff", "jax", "lindiff-cpu", "card")
ON_GPU = True
SERIES, STEPS, STATES, OBSERVED = 10_000, 200, 4, 2
SHARED, OWN = "parameters shared by all series", "parameters of each series"


def cases() -> list[Case]:
    return [Case(SHARED), Case(OWN)]


def prepare(peer: Peer, case: Case) -> Calls | None:
    n, p = STATES, OBSERVED
    if isinstance(peer, Card):
        step = 8 * n**3 + 13 * n**2 * p + 7 * n * p**2
        return peer.time_of_flops("value + gradient", SERIES * STEPS * step)
    own = case.family == OWN
    if own and peer.name == "lindiff-cpu":
        return None  # one sweep for each series: minutes
    y = peer.asarray(np.random.default_rng(2).standard_normal((SERIES, STEPS, OBSERVED)))
    args = kalman.parameters()
    if isinstance(peer, Lindiff):
        return of_lindiff(peer, y, args, own)
    assert isinstance(peer, JAX)
    every = peer.jax.vmap(
        lambda y, *args: kalman.scanned(*args, y, peer=peer), (0, *[0 if own else None] * len(args))
    )
    if own:
        args = [np.broadcast_to(arg, (SERIES, *arg.shape)) for arg in args]
    calls = peer.gradient_calls(lambda *args: every(y, *args).sum(), [peer.asarray(arg) for arg in args])
    return calls.symmetrize(*kalman.COVARIANCES)


def of_lindiff(peer: Lindiff, y: Any, args: list[np.ndarray], own: bool) -> Calls:
    """A matrix of each series has the axis of time, here of length one, after that of the series."""

    def negative(*args: Any) -> Any:
        if own:
            args = (*(arg[:, None] for arg in args[:4]), *args[4:])
        return -np.sum(peer.ld.statespace.loglikelihood(y, *args))

    if own:
        args = [np.array(np.broadcast_to(arg, (SERIES, *arg.shape))) for arg in args]
    calls = peer.gradient_calls(negative, [peer.asarray(arg) for arg in args])
    return calls.symmetrize(*kalman.COVARIANCES)
