"""Many small matrices on a GPU, forward and backward.

``card`` is the time to read the matrices, write the results, read results and cotangents, and write the
gradients, at the speed of one large copy.
"""

from __future__ import annotations

import numpy as np

from .cuda_peers import Card
from .harness import Case
from .operators import OPERATORS, Shape, prepare_operator
from .peers import Calls, Peer

TITLE = "Batches of small matrices on a GPU, with pullbacks"
PEERS = ("lindiff", "jax", "torch", "card")
ON_GPU = True
SHAPES = ((100_000, 4, 4), (10_000, 16, 16), (10_000, 32, 32), (2000, 64, 64), (1000, 128, 128))
PASSES = {"potrf": 5, "gelqf": 13, "syevd": 5, "solve": 5, "inv": 5}
"""How many matrices (n, n) are read or written; LQ of (n, 2n), whose results are Q and L."""
CASES: dict[str, tuple[str, Shape]] = {
    f"{name} {shape}": (name, shape) for name in PASSES for shape in SHAPES
}


def cases() -> list[Case]:
    return [Case(name) for name in CASES]


def prepare(peer: Peer, case: Case) -> Calls | None:
    name, shape = CASES[case.family]
    if isinstance(peer, Card):
        return peer.time_of_bytes("forward + backward", 8.0 * PASSES[name] * np.prod(shape))
    return prepare_operator(peer, OPERATORS[name], shape)
