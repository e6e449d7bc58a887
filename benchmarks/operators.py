"""Other operators of linear algebra, forward and backward, from tiny to large matrices.

All libraries compute the same thing in the same layout. LQ factors and eigenvectors are unique up to signs,
so their cotangents are made from the results: they change sign with them, and the gradients can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .harness import Case
from .peers import Calls, Lindiff, Peer

TITLE = "LQ, symmetric eigendecomposition, solve, inverse and log-determinant, with their pullbacks"
PEERS = ("numpy", "lindiff", "jax", "torch", "autograd")
SIZES = (4, 16, 64, 256)
LARGE = 1024


@dataclass(frozen=True)
class Operator:
    """How to call an operator in each library, on which arguments, and which cotangent to pull back."""

    function: Callable[[Peer], Callable[..., Any]]
    arguments: Callable[[int, np.random.Generator], list[np.ndarray]]
    cotangent: Callable[[Any], Any]
    symmetric: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()


def gelqf(peer: Peer) -> Callable[..., Any]:
    """A = L Q; in the other libraries Aᵀ = Qᵀ R with L = Rᵀ."""
    if isinstance(peer, Lindiff):
        return lambda A: tuple(peer.ld.linalg.gelqf(A))

    def lq(A: Any) -> Any:
        Q, R = peer.xp.linalg.qr(A.T)
        return Q.T, R.T

    return lq


def syevd(peer: Peer) -> Callable[..., Any]:
    """A = Uᵀ diag(λ) U; in the other libraries the eigenvectors are columns."""
    if isinstance(peer, Lindiff):
        return lambda A: tuple(peer.ld.linalg.syevd(A))

    def eigh(A: Any) -> Any:
        eigenvalues, eigenvectors = peer.xp.linalg.eigh(A)
        return eigenvectors.T, eigenvalues

    return eigh


def rectangular(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.standard_normal((n, 2 * n))]


def square(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.standard_normal((n, n)) + 3 * np.sqrt(n) * np.eye(n)]


def square_and_vector(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    return [*square(n, rng), rng.standard_normal(n)]


def symmetric(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Make a symmetric matrix with eigenvalues 1, 2, ..., n, so that eigenvectors are well determined."""
    U, _ = np.linalg.qr(rng.standard_normal((n, n)))
    A = U * np.arange(1, n + 1) @ U.T
    return [(A + A.T) / 2]


def like(y: np.ndarray) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(np.shape(y))


def lq_cotangent(y: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    Q, L = y
    return Q @ like(np.empty((Q.shape[1],) * 2)), np.tril(like(L) @ L)


def eigen_cotangent(y: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    U, eigenvalues = y
    return U @ like(U), like(eigenvalues)


OPERATORS = {
    "gelqf": Operator(gelqf, rectangular, lq_cotangent, missing=("autograd",)),
    "syevd": Operator(syevd, symmetric, eigen_cotangent, symmetric=(0,)),
    "solve": Operator(lambda peer: peer.xp.linalg.solve, square_and_vector, like),
    "inv": Operator(lambda peer: peer.xp.linalg.inv, square, like),
    "slogdet": Operator(lambda peer: lambda A: peer.xp.linalg.slogdet(A)[1], square, like),
}


def cases(large: bool) -> list[Case]:
    return [Case(name, n) for name in OPERATORS for n in SIZES + (LARGE,) * large]


def prepare(peer: Peer, case: Case) -> Calls | None:
    operator = OPERATORS[case.family]
    if peer.name in operator.missing:
        return None
    args = [peer.asarray(arg) for arg in operator.arguments(case.size, np.random.default_rng(0))]
    return peer.vjp_calls(operator.function(peer), args, operator.cotangent).symmetrize(*operator.symmetric)
