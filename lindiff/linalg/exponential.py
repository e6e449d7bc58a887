"""The matrix exponential and its Fréchet derivative: ``expm``, ``expm_frechet``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.variable import Variable, value
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import kernels, operator, trusting
from lindiff.linalg._matrices import (
    adjoint,
    block_triangle,
    conj,
    identity_like,
    largest,
    transposed,
    upper_right,
)
from lindiff.linalg.factors import solved

__all__ = ["expm", "expm_frechet"]

# Numerator of the Padé approximant of order 13, and the norm up to which it is exact to rounding.
# The first is 1: in single precision their common size would be near to overflow.
PADE = tuple(
    c / 64764752532480000
    for c in (
        64764752532480000,
        32382376266240000,
        7771770303897600,
        1187353796428800,
        129060195264000,
        10559470521600,
        670442572800,
        33522128640,
        1323241920,
        40840800,
        960960,
        16380,
        182,
        1,
    )
)
BOUND = 4.25


class _Pade:
    """Scaling and squaring of the Padé approximant of order 13; Higham (2005).

    In functions that dispatch: for complex matrices and other array types.
    """

    def __init__(self, A: Any) -> None:
        check_square(A, "expm")
        plain = value(A)
        norm = largest(np.sum(np.abs(plain), axis=-2), axis=-1)
        ratio = np.where(np.isfinite(norm), norm, 0.0) / BOUND
        self.squarings = np.ceil(np.log2(np.maximum(ratio, 1.0)))
        self.half = np.exp2(-self.squarings).astype(norm.dtype)[..., None, None]
        one = identity_like(A)
        self.B = B = A * self.half
        self.B2 = product(B, B)
        self.B4 = product(self.B2, self.B2)
        self.B6 = product(self.B4, self.B2)
        self.odd, self.even = self.high(self.B2, self.B4, self.B6)
        odd, even = self.low(self.B2, self.B4, self.B6)
        self.W = product(self.B6, self.odd) + odd + PADE[1] * one
        U, V = product(B, self.W), product(self.B6, self.even) + even + PADE[0] * one
        self.Q = V - U
        self.squares = [one + 2 * solved(self.Q, U)]
        for k in range(int(largest(self.squarings))):
            E = self.squares[-1]
            self.squares.append(np.where(self.unfinished(k), product(E, E), E))

    def unfinished(self, k: int) -> Any:
        return (k < self.squarings)[..., None, None]

    @staticmethod
    def high(P2: Any, P4: Any, P6: Any) -> tuple[Any, Any]:
        """What A⁶ is multiplied with, in W and V."""
        return PADE[13] * P6 + PADE[11] * P4 + PADE[9] * P2, PADE[12] * P6 + PADE[10] * P4 + PADE[8] * P2

    @staticmethod
    def low(P2: Any, P4: Any, P6: Any) -> tuple[Any, Any]:
        """What stands beside it, without the multiples of the identity."""
        return PADE[7] * P6 + PADE[5] * P4 + PADE[3] * P2, PADE[6] * P6 + PADE[4] * P4 + PADE[2] * P2

    def derivative(self, E: Any) -> Any:
        """The same steps differentiated; Al-Mohy and Higham (2009)."""
        X = E * self.half
        M2 = product(self.B, X) + product(X, self.B)
        M4 = product(self.B2, M2) + product(M2, self.B2)
        M6 = product(self.B4, M2) + product(M4, self.B2)
        odd_dot, even_dot = self.high(M2, M4, M6)
        W_dot, V_dot = self.low(M2, M4, M6)
        W_dot = W_dot + product(self.B6, odd_dot) + product(M6, self.odd)
        V_dot = V_dot + product(self.B6, even_dot) + product(M6, self.even)
        U_dot = product(self.B, W_dot) + product(X, self.W)
        L = solved(self.Q, U_dot + V_dot + product(U_dot - V_dot, self.squares[0]))
        for k, R in enumerate(self.squares[:-1]):
            L = np.where(self.unfinished(k), product(R, L) + product(L, R), L)
        return L


def _expm(A: Any) -> Any:
    return _Pade(A).squares[-1]


def check_square(A: Any, name: str) -> None:
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"{name}: A must be square in its last two axes, got shape {A.shape}")


def _differential(L: Callable[[Any], Any]) -> Differential:
    """Of the exponential, from ``E -> L(A, E)``; its adjoint is ``Y -> L(A, Yᴴ)ᴴ``."""
    return Differential(L, lambda E_bar: adjoint(L(adjoint(E_bar))))


@operator(_expm)
def expm(A: Any) -> Any:
    """Matrix exponential, ``E = I + A + A²/2 + A³/6 + …``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array
        NaN for a matrix with entries that are not finite.

    Notes
    -----
    Scaling and squaring of a Padé approximant: at most 44n³/3 flops, and 2n³ for each squaring; the
    derivative in either direction, ``L(A, A_dot)`` and ``L(Aᴴ, E_bar)``, at most twice that: the same steps
    with the powers, the LU factors and the squares of the exponential.  Al-Mohy and Higham (2009).

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    check_square(A, "expm")
    found = kernels(A, real=True)
    if type(A) is Variable:
        return expm(A), _differential(lambda E: expm_frechet(A, E))
    if not hasattr(found, "expm_keeping"):
        steps = _Pade(A)
        return steps.squares[-1], _differential(steps.derivative)
    E, *kept = found.expm_keeping(A)

    def pushforward(A_dot: Any) -> Any:
        if kernels(A_dot, real=True) is None:
            return expm_frechet(A, A_dot)
        with trusting():
            return found.expm_pushforward(E, *kept, A_dot)

    def pullback(E_bar: Any) -> Any:
        if kernels(E_bar, real=True) is None:
            return adjoint(expm_frechet(A, adjoint(E_bar)))
        with trusting():
            return found.expm_pullback(E, *kept, E_bar)

    return E, Differential(pushforward, pullback)


def _expm_frechet(A: Any, E: Any) -> Any:
    found = kernels(A, E, real=True)
    if hasattr(found, "expm_keeping"):
        kept = found.expm_keeping(A)
        with trusting():
            return found.expm_pushforward(*kept, E)
    return _Pade(A).derivative(E)


@operator(_expm_frechet)
def expm_frechet(A: Any, E: Any) -> Any:
    """Fréchet derivative of the matrix exponential, ``L(A, E)``: what `expm` changes by as A changes by E.

    Parameters
    ----------
    A : (..., n, n) array
    E : (..., n, n) array
        The direction.

    Returns
    -------
    (..., n, n) array

    Notes
    -----
    About three times the flops of `expm`: Al-Mohy and Higham (2009).  The derivative in A is that of
    ``expm([[A, E], [0, A]]) = [[expm(A), L(A, E)], [0, expm(A)]]``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.expm_frechet(np.zeros((2, 2)), np.array([[0.0, 1.0], [2.0, 0.0]]))
    array([[0., 1.],
           [2., 0.]])
    """
    A, E = (x if hasattr(x, "shape") else np.asarray(x) for x in (A, E))
    M = block_triangle(A, E)

    def pull_E(L_bar: Any) -> Any:
        return None, adjoint(expm_frechet(A, adjoint(L_bar)))

    def pull_both(L_bar: Any) -> Any:
        zero = np.zeros_like(L_bar)
        M_bar = adjoint(expm_frechet(M, transposed(block_triangle(zero, conj(L_bar)))))
        n = A.shape[-1]
        return M_bar[..., :n, :n] + M_bar[..., n:, n:], upper_right(M_bar)

    return expm_frechet(A, E), Differential(
        (
            lambda A_dot: upper_right(expm_frechet(M, block_triangle(A_dot, np.zeros_like(E)))),
            lambda E_dot: expm_frechet(A, E_dot),
        ),
        {(0,): pull_both, (1,): pull_E, (0, 1): pull_both},
    )
