"""Operators of linear algebra, forward and backward, from tiny to large matrices.

All libraries compute the same thing in the same layout. LQ factors, eigenvectors and singular vectors are
unique up to signs, so their cotangents are made from the results: they change sign with them, and the
gradients can be compared. Matrices may have leading batch axes (see `batches.py`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .harness import Case
from .peers import Calls, Lindiff, Peer

TITLE = "Factorizations, solve, inverse, log-determinant and matrix exponential, with their pullbacks"
PEERS = ("numpy", "lindiff", "jax", "torch", "autograd")
SIZES = (4, 16, 64, 256, 1024)


Shape = tuple[int, ...]


@dataclass(frozen=True)
class Operator:
    """How to call an operator in each library, on which arguments, and which cotangent to pull back.

    The arguments are made for square matrices of a shape ``(..., n, n)``.
    """

    function: Callable[[Peer], Callable[..., Any]]
    arguments: Callable[[Shape, np.random.Generator], list[np.ndarray]]
    cotangent: Callable[[Any], Any]
    symmetric: tuple[int, ...] = ()
    missing: tuple[str, ...] = ()


def transposed(x: Any) -> Any:
    """Aᵀ in any library."""
    return x.swapaxes(-1, -2)


def potrf(peer: Peer) -> Callable[..., Any]:
    return peer.ld.linalg.potrf if isinstance(peer, Lindiff) else peer.xp.linalg.cholesky


def gelqf(peer: Peer) -> Callable[..., Any]:
    """A = L Q; in the other libraries Aᵀ = Qᵀ R with L = Rᵀ."""
    if isinstance(peer, Lindiff):
        return lambda A: tuple(peer.ld.linalg.gelqf(A))

    def lq(A: Any) -> Any:
        Q, R = peer.xp.linalg.qr(transposed(A))
        return transposed(Q), transposed(R)

    return lq


def syevd(peer: Peer) -> Callable[..., Any]:
    """A = Uᵀ diag(λ) U; in the other libraries the eigenvectors are columns."""
    if isinstance(peer, Lindiff):
        return lambda A: tuple(peer.ld.linalg.syevd(A))

    def eigh(A: Any) -> Any:
        eigenvalues, eigenvectors = peer.xp.linalg.eigh(A)
        return transposed(eigenvectors), eigenvalues

    return eigh


def svd(peer: Peer) -> Callable[..., Any]:
    return lambda A: tuple(peer.xp.linalg.svd(A, full_matrices=False))


EXPM = {
    "numpy": ("scipy.linalg", "expm"),
    "lindiff": ("lindiff.scipy.linalg", "expm"),
    "jax": ("jax.scipy.linalg", "expm"),
    "torch": ("torch", "matrix_exp"),
}


def expm(peer: Peer) -> Callable[..., Any]:
    module, name = EXPM[peer.name]
    return getattr(importlib.import_module(module), name)


def rectangular(shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.standard_normal((*shape[:-1], 2 * shape[-1]))]


def positive(shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    X = rng.standard_normal((*shape[:-1], 2 * shape[-1]))
    return [X @ transposed(X) / shape[-1] + np.eye(shape[-1])]


def square(shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.standard_normal(shape) + 3 * np.sqrt(shape[-1]) * np.eye(shape[-1])]


def small(shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    return [0.1 * A for A in square(shape, rng)]


def square_and_vector(shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    return [*square(shape, rng), rng.standard_normal((*shape[:-1], 1) if len(shape) > 2 else shape[:-1])]


def orthogonal(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.standard_normal(shape))[0]


def symmetric(shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    """Make a symmetric matrix with eigenvalues 1, 2, ..., n, so that eigenvectors are well determined."""
    U = orthogonal(shape, rng)
    A = U * np.arange(1, shape[-1] + 1) @ transposed(U)
    return [(A + transposed(A)) / 2]


def separated(shape: Shape, rng: np.random.Generator) -> list[np.ndarray]:
    """Make a matrix with singular values 1, 2, ..., n."""
    return [orthogonal(shape, rng) * np.arange(1, shape[-1] + 1) @ orthogonal(shape, rng)]


def like(y: np.ndarray) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(np.shape(y))


def turned(n: int) -> np.ndarray:
    """Make some matrix (n, n) that mixes vectors."""
    return like(np.empty((n, n)))


def triangular_cotangent(L: np.ndarray) -> np.ndarray:
    return np.tril(like(L))


def lq_cotangent(y: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    Q, L = y
    return Q @ turned(Q.shape[-1]), np.tril(turned(L.shape[-1]) @ L)


def eigen_cotangent(y: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    U, eigenvalues = y
    return U @ turned(U.shape[-1]), like(eigenvalues)


def svd_cotangent(y: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    U, S, Vh = y
    return turned(U.shape[-2]) @ U, like(S), Vh @ turned(Vh.shape[-1])


OPERATORS = {
    "potrf": Operator(potrf, positive, triangular_cotangent, symmetric=(0,)),
    "gelqf": Operator(gelqf, rectangular, lq_cotangent, missing=("autograd",)),
    "syevd": Operator(syevd, symmetric, eigen_cotangent, symmetric=(0,)),
    "svd": Operator(svd, separated, svd_cotangent),
    "solve": Operator(lambda peer: peer.xp.linalg.solve, square_and_vector, like),
    "inv": Operator(lambda peer: peer.xp.linalg.inv, square, like),
    "slogdet": Operator(lambda peer: lambda A: peer.xp.linalg.slogdet(A)[1], square, like),
    "expm": Operator(expm, small, like, missing=("autograd",)),
}


def cases() -> list[Case]:
    return [Case(name, n) for name in OPERATORS for n in SIZES]


def prepare(peer: Peer, case: Case) -> Calls | None:
    return prepare_operator(peer, OPERATORS[case.family], (case.size, case.size))


def prepare_operator(peer: Peer, operator: Operator, shape: Shape) -> Calls | None:
    """Set up one operator on matrices of this shape for one library."""
    if peer.name in operator.missing:
        return None
    args = [peer.asarray(arg) for arg in operator.arguments(shape, np.random.default_rng(0))]
    return peer.vjp_calls(operator.function(peer), args, operator.cotangent).symmetrize(*operator.symmetric)
