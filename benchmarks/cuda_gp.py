"""The sparse Gaussian process bound of `sparse_gp.py` on a GPU: time and peak memory.

``card`` is the time of the bound's flops in large products of matrices: n U² each for trsm and syrk forward,
twice that backward, U³ for two Cholesky factorizations and their pullbacks twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .cuda_peers import Card
from .harness import Case
from .peers import Calls, Peer
from .sparse_gp import FAMILY, PEERS, POINTS, bound_of
from .sparse_gp import TITLE as TITLE_OF_BOUND

TITLE = f"{TITLE_OF_BOUND}, on a GPU"
PEERS = (*PEERS, "lindiff-cpu", "card")
ON_GPU = True
SIZES = (50, 200, 800, 3200)


def cases() -> list[Case]:
    return [Case(FAMILY, U) for U in SIZES]


def prepare(peer: Peer, case: Case) -> Calls:
    U = case.size
    if isinstance(peer, Card):
        return peer.time_of_flops("value + gradient", 6 * POINTS * U**2 + 2 * U**3)
    return peer.gradient_calls(*bound_of(peer, POINTS, U))


def memory_cases() -> list[Case]:
    return cases()


def memory_call(peer: Peer, case: Case) -> Callable[[], Any] | None:
    """Give value and gradient at full size, after a small run has loaded and started all that stays."""
    if peer.name in ("card", "lindiff-cpu"):
        return None
    peer.gradient_once(*bound_of(peer, 20, 5))()
    return peer.gradient_once(*bound_of(peer, POINTS, case.size))
