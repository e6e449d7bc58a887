"""The LQ factorization: ``gelqf``, and ``gelqf_l`` where only L is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import fused, operator
from lindiff.linalg._matrices import adjoint, conj, copyltu, half_tril
from lindiff.linalg.triangular import trsm

__all__ = ["gelqf", "gelqf_l", "gelqf_pullback", "gelqf_pushforward"]


def _gelqf(A: Any) -> Any:
    if A.shape[-2] > A.shape[-1]:
        raise ValueError(f"gelqf: A must not have more rows than columns, got shape {A.shape}")
    Q, R = np.linalg.qr(adjoint(A))
    Q, L = adjoint(Q), adjoint(R)
    diagonal = np.diagonal(L, axis1=-2, axis2=-1)
    phase = np.where(diagonal == 0, 1, np.sign(diagonal)).astype(L.dtype)
    return phase[..., :, None] * Q, conj(phase)[..., None, :] * L


@fused
def gelqf_pullback(Q: Any, L: Any, Q_bar: Any, L_bar: Any) -> Any:
    """``A_bar = L⁻ᴴ (Q_bar + copyltu(M) Q)``, ``M = Lᴴ L_bar - Q_bar Qᴴ``; Seeger et al. (2017), 4.3."""
    if Q_bar is None:
        return trsm(L, product(copyltu(product(adjoint(L), L_bar)), Q), transpose="C")
    M = -product(Q_bar, adjoint(Q))
    if L_bar is not None:
        M = M + product(adjoint(L), L_bar)
    return trsm(L, Q_bar + product(copyltu(M), Q), transpose="C")


@fused
def gelqf_pushforward(Q: Any, L: Any, A_dot: Any) -> Any:
    """``L_dot = L Φ(C + Cᴴ)``, ``Q_dot = L⁻¹ (A_dot - L_dot Q)``, ``C = L⁻¹ A_dot Qᴴ``."""
    B = trsm(L, A_dot)
    C = product(B, adjoint(Q))
    S = half_tril(C + adjoint(C))
    return B - product(S, Q), product(L, S)


@operator(_gelqf, (gelqf_pushforward, gelqf_pullback))
def gelqf(A: Any, *, overwrite_a: bool = False) -> Any:
    """LQ factorization ``A = L Q`` of a matrix with full row rank.

    Parameters
    ----------
    A : (..., m, n) array
        With m ≤ n.
    overwrite_a : bool
        Q may overwrite a plain array A.

    Returns
    -------
    Q : (..., m, n) array
        With orthonormal rows.
    L : (..., m, m) array
        Lower triangular, with positive diagonal; where A has not full row rank an entry there is zero, or as
        small as rounding makes it.

    Notes
    -----
    The derivative exists where A has full row rank.  Seeger et al. (2017), section 4.3.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> Q, L = ld.linalg.gelqf(np.array([[3.0, 4.0]]))
    >>> L
    array([[5.]])
    """
    Q, L = gelqf(A)
    return [Q, L], Q, L


def _gelqf_l(A: Any) -> Any:
    return gelqf(A)[1]


@fused
def gelqf_l_pullback(L: Any, A: Any, L_bar: Any) -> Any:
    """``A_bar = L⁻ᴴ copyltu(Lᴴ L_bar) L⁻¹ A``: Q is never formed."""
    S = trsm(L, copyltu(product(adjoint(L), L_bar)), transpose="C")
    return product(trsm(L, S, rightside=True), A)


@operator(_gelqf_l)
def gelqf_l(A: Any) -> Any:
    """The factor L of ``A = L Q``, where Q is not needed.

    Parameters
    ----------
    A : (..., m, n) array
        With m ≤ n, of full row rank.

    Returns
    -------
    (..., m, m) array
        Lower triangular, with positive diagonal: the Cholesky factor of ``A Aᵀ``, without forming that.  An
        entry of the diagonal is zero, or as small as rounding makes it, where A has not full row rank.

    Notes
    -----
    Q is formed neither forward nor backward.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.gelqf_l(np.array([[3.0, 4.0]]))
    array([[5.]])
    """
    L = gelqf_l(A)

    def pushforward(A_dot: Any) -> Any:
        """``L_dot = L Φ(L⁻¹ (A_dot Aᴴ + A A_dotᴴ) L⁻ᴴ)``."""
        G = product(A_dot, adjoint(A))
        S = trsm(L, trsm(L, G + adjoint(G)), transpose="C", rightside=True)
        return product(L, half_tril(S))

    return L, Differential(pushforward, lambda L_bar: gelqf_l_pullback(L, A, L_bar))
