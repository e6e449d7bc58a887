"""Many small matrices at once: the operators of `operators.py`, forward and backward."""

from __future__ import annotations

from .harness import Case
from .operators import OPERATORS, Shape, prepare_operator
from .peers import Calls, Peer

TITLE = "Batches of small matrices, with pullbacks"
PEERS = ("numpy", "lindiff", "jax", "torch")
BATCHES = ((10_000, 3, 3), (1000, 16, 16))
LARGE = (100_000, 3, 3)
CASES: dict[str, tuple[str, Shape]] = {
    f"{name} {shape}": (name, shape)
    for name in OPERATORS
    for shape in ((*BATCHES, LARGE) if name == "potrf" else BATCHES)
}


def cases() -> list[Case]:
    return [Case(name) for name in CASES]


def prepare(peer: Peer, case: Case) -> Calls | None:
    name, shape = CASES[case.family]
    return prepare_operator(peer, OPERATORS[name], shape)
