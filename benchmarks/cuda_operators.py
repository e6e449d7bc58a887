"""Large matrices on a GPU: Cholesky, LQ and symmetric eigenvalues, forward and backward.

``card`` is the time that the least number of flops for both would take in one large product of matrices.
"""

from __future__ import annotations

from .cuda_peers import Card
from .harness import Case
from .operators import OPERATORS, prepare_operator
from .peers import Calls, Peer

TITLE = "Factorizations of large matrices on a GPU, with their pullbacks"
PEERS = ("lindiff", "jax", "torch", "card")
ON_GPU = True
SIZES = (256, 1024, 4096, 8192)
FLOPS = {"potrf": 1 / 3 + 2 / 3, "gelqf": 20 / 3 + 9, "syevd": 9 + 5}
"""In n³, forward and backward: Seeger et al. (2017), section 4; LQ of (n, 2n)."""


def cases() -> list[Case]:
    return [Case(name, n) for name in FLOPS for n in SIZES]


def prepare(peer: Peer, case: Case) -> Calls | None:
    n = case.size
    if isinstance(peer, Card):
        return peer.time_of_flops("forward + backward", FLOPS[case.family] * n**3)
    return prepare_operator(peer, OPERATORS[case.family], (n, n))
