"""The matrix exponential and its Fréchet derivative: ``expm``, ``expm_frechet``."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.variable import value
from lindiff.linalg._backend import kernels, operator
from lindiff.linalg._matrices import adjoint, block_triangle, conj, transposed, upper_right

__all__ = ["expm", "expm_frechet"]

# Numerator of the Padé approximant of order 13, and the norm up to which it is exact to rounding.
PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
BOUND = 4.25


def _expm(A: Any) -> Any:
    """Scaling and squaring of the Padé approximant of order 13; Higham (2005)."""
    check_square(A, "expm")
    norm = np.max(np.sum(np.abs(value(A)), axis=-2), axis=-1, initial=0.0)
    finite = np.isfinite(norm)
    squarings = np.ceil(np.log2(np.maximum(np.where(finite, norm, 0.0) / BOUND, 1.0))).astype(int)
    one = np.eye(A.shape[-1], dtype=A.dtype)
    half = np.exp2(-squarings).astype(norm.dtype)[..., None, None]
    B = A * half
    B2 = B @ B
    B4 = B2 @ B2
    B6 = B4 @ B2
    # b_0 = 1: in single precision the largest coefficient squared is near to overflow
    b = [c / PADE[0] for c in PADE]
    W = B6 @ (b[13] * B6 + b[11] * B4 + b[9] * B2) + b[7] * B6 + b[5] * B4 + b[3] * B2 + b[1] * one
    V = B6 @ (b[12] * B6 + b[10] * B4 + b[8] * B2) + b[6] * B6 + b[4] * B4 + b[2] * B2 + b[0] * one
    U = B @ W
    E = one + 2 * np.linalg.solve(V - U, U)
    for k in range(int(np.max(squarings, initial=0))):
        E = np.where((k < squarings)[..., None, None], E @ E, E)
    return E


def check_square(A: Any, name: str) -> None:
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"{name}: A must be square in its last two axes, got shape {A.shape}")


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
    found = kernels(A)
    if not hasattr(found, "expm_keeping"):
        return expm(A), Differential(
            lambda A_dot: expm_frechet(A, A_dot),
            lambda E_bar: adjoint(expm_frechet(A, adjoint(E_bar))),
        )
    E, *kept = found.expm_keeping(A)

    def pushforward(A_dot: Any) -> Any:
        if kernels(A_dot) is None:
            return expm_frechet(A, A_dot)
        return found.expm_pushforward(E, *kept, A_dot)

    def pullback(E_bar: Any) -> Any:
        if kernels(E_bar) is None:
            return adjoint(expm_frechet(A, adjoint(E_bar)))
        return found.expm_pullback(E, *kept, E_bar)

    return E, Differential(pushforward, pullback)


def _expm_frechet(A: Any, E: Any) -> Any:
    found = kernels(A, E)
    if hasattr(found, "expm_keeping"):
        return found.expm_pushforward(*found.expm_keeping(A), E)
    return upper_right(expm(block_triangle(A, E)))


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
    About three times the flops of `expm` (in complex arithmetic eight times): Al-Mohy and Higham (2009).  The
    derivative in A is that of ``expm([[A, E], [0, A]]) = [[expm(A), L(A, E)], [0, expm(A)]]``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.expm_frechet(np.zeros((2, 2)), np.array([[0.0, 1.0], [2.0, 0.0]]))
    array([[0., 1.],
           [2., 0.]])
    """
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
