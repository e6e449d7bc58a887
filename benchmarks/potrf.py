"""Cholesky factorization, forward and backward, from tiny to large matrices.

The cotangent is given, so that nothing but the operator is timed.
"""

from __future__ import annotations

import numpy as np

from .harness import Case
from .peers import Calls, Lindiff, Peer

TITLE = "Cholesky factorization and its pullback"
PEERS = ("numpy", "lindiff", "jax", "torch", "autograd")
SIZES = (4, 16, 64, 256, 1024)


def cases(large: bool) -> list[Case]:
    return [Case("potrf", n) for n in SIZES]


def prepare(peer: Peer, case: Case) -> Calls:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((case.size, 2 * case.size))
    A = X @ X.T / case.size + np.eye(case.size)
    L_bar = np.tril(rng.standard_normal(A.shape))
    cholesky = peer.ld.linalg.potrf if isinstance(peer, Lindiff) else peer.xp.linalg.cholesky
    return peer.vjp_calls(cholesky, [peer.asarray(A)], lambda L: L_bar).symmetrize(0)
