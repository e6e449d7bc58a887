"""The price of one tiny operation: chains of a thousand, recorded and pulled back.

NumPy's own time for the same chain is the measure. Compilers are left out: they would fuse the chain away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .harness import Case
from .peers import Calls, Peer

TITLE = "time of one tiny operation in a chain of 1000"
PEERS = ("numpy", "lindiff", "torch", "autograd")
LENGTH = 1000


@dataclass(frozen=True)
class Chain:
    """A step that maps its first argument to something of the same shape, and the values to start from."""

    step: Callable[..., Any]
    args: tuple[Any, ...]
    operations: int = 1


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def near_one(*shape: int) -> np.ndarray:
    return _rng().uniform(0.9, 1.1, shape)


def unit_circle(n: int) -> np.ndarray:
    return np.exp(1j * _rng().uniform(0, 2 * np.pi, n))


def orthogonal(n: int) -> np.ndarray:
    return np.linalg.qr(_rng().standard_normal((n, n)))[0]


CHAINS = {
    "x + y, 4-vectors": Chain(lambda xp, x, y: x + y, (near_one(4), near_one(4))),
    "x * y, 4-vectors": Chain(lambda xp, x, y: x * y, (near_one(4), near_one(4))),
    "x * y, scalars": Chain(lambda xp, x, y: x * y, (np.float64(1.1), np.float64(0.999))),
    "2.0 - x, 4-vectors": Chain(lambda xp, x: 2.0 - x, (near_one(4),)),
    "np.sin(x), 4-vectors": Chain(lambda xp, x: xp.sin(x), (near_one(4),)),
    "np.exp(-x), 4-vectors": Chain(lambda xp, x: xp.exp(-x), (near_one(4),), operations=2),
    "np.tanh(x), 4-vectors": Chain(lambda xp, x: xp.tanh(x), (near_one(4),)),
    "np.arctan(x), 4-vectors": Chain(lambda xp, x: xp.arctan(x), (near_one(4),)),
    "np.maximum(x, y), 4-vectors": Chain(lambda xp, x, y: xp.maximum(x, y), (near_one(4), near_one(4))),
    "np.where(x > 1, x, y), 4-vectors": Chain(
        lambda xp, x, y: xp.where(x > 1.0, x, y), (near_one(4), near_one(4))
    ),
    "z * w, complex 4-vectors": Chain(lambda xp, x, y: x * y, (unit_circle(4), unit_circle(4))),
    "np.fft.fft(z), 4-vectors": Chain(lambda xp, x: xp.fft.fft(x, norm="ortho"), (unit_circle(4),)),
    "np.linalg.solve(A, x), 4×4": Chain(lambda xp, x, A: xp.linalg.solve(A, x), (near_one(4), orthogonal(4))),
    "A @ x, 4×4": Chain(lambda xp, x, A: A @ x, (near_one(4), orthogonal(4))),
    "A @ B, 4×4": Chain(lambda xp, A, B: A @ B, (near_one(4, 4), orthogonal(4))),
    "A.T + B, 4×4": Chain(lambda xp, A, B: A.T + B, (near_one(4, 4), near_one(4, 4)), operations=2),
    "s + x[i]": Chain(lambda xp, s, x: s + x[1], (np.float64(1.0), near_one(4)), operations=2),
    "s + np.sum(x)": Chain(lambda xp, s, x: s + xp.sum(x), (np.float64(1.0), near_one(4)), operations=2),
    "x - np.max(x)": Chain(lambda xp, x: x - xp.max(x), (near_one(4),), operations=2),
    "np.mean(A, axis=0) * B, 4×4": Chain(
        lambda xp, A, B: xp.mean(A, axis=0) * B, (near_one(4, 4), near_one(4, 4)), operations=2
    ),
    "np.concatenate([x[:2], y])": Chain(
        lambda xp, x, y: xp.concatenate([x[:2], y]), (near_one(4), near_one(2)), operations=2
    ),
    "x.reshape(2, 2).reshape(4)": Chain(
        lambda xp, x: x.reshape(2, 2).reshape(4), (near_one(4),), operations=2
    ),
}


def run(chain: Chain, xp: Any, x: Any, *rest: Any) -> Any:
    """Apply the step a thousand times."""
    step = chain.step
    for _ in range(LENGTH):
        x = step(xp, x, *rest)
    return x


def cases() -> list[Case]:
    return [Case(name) for name in CHAINS]


def prepare(peer: Peer, case: Case) -> Calls:
    chain = CHAINS[case.family]
    args = [peer.asarray(arg) for arg in chain.args]
    calls = peer.vjp_calls(partial(run, chain, peer.xp), args, np.ones_like)
    calls.operations = LENGTH * chain.operations
    return calls
