"""Peak memory of value and gradient of one operator each, n = 1024: one matrix is 8.4 MB.

The function is a sum over the operator's results with fixed weights, so that results, cotangents and
gradients are all there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .harness import Case
from .operators import OPERATORS, Shape
from .peers import Peer

TITLE = "Peak memory of value and gradient, n = 1024"
PEERS = ("lindiff", "jax", "torch")
SIZE, WARM_UP = 1024, 8


def cases() -> list[Case]:
    return []


def memory_cases() -> list[Case]:
    return [Case(name) for name in OPERATORS]


def result_shapes(name: str, n: int) -> list[Shape]:
    """Give the shapes of what the operator returns."""
    square, vector = (n, n), (n,)
    several = {
        "gelqf": [(n, 2 * n), square],
        "syevd": [square, vector],
        "svd": [square, vector, square],
        "solve": [vector],
        "slogdet": [()],
    }
    return several.get(name, [square])


def weighted_sum(peer: Peer, name: str, n: int) -> tuple[Callable[..., Any], list[Any]]:
    """Make the function and its arguments."""
    rng = np.random.default_rng(0)
    function = OPERATORS[name].function(peer)
    arguments = OPERATORS[name].arguments((n, n), rng)
    weights = [peer.asarray(rng.standard_normal(shape)) for shape in result_shapes(name, n)]

    def total(*args: Any) -> Any:
        results = function(*args)
        parts = results if isinstance(results, tuple) else (results,)
        return sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True))

    return total, [peer.asarray(argument) for argument in arguments]


def memory_call(peer: Peer, case: Case) -> Callable[[], Any]:
    """Give value and gradient at full size, after a small run has loaded and started all that stays."""
    peer.gradient_once(*weighted_sum(peer, case.family, WARM_UP))()
    return peer.gradient_once(*weighted_sum(peer, case.family, SIZE))
