"""The inverse and the determinant, NumPy's own functions under operators' names, and the adjugate."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.linalg._backend import operator
from lindiff.linalg._matrices import adjoint
from lindiff.linalg.diagonals import extractdiag, makediag

__all__ = ["adjugate", "det", "inverse", "slogdet"]


def inverse(A: Any) -> Any:
    """The inverse of a square matrix, ``np.linalg.inv``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (..., n, n) array

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.inverse(np.array([[2.0]]))
    array([[0.5]])
    """
    return np.linalg.inv(A)


def det(A: Any) -> Any:
    """The determinant of a square matrix, ``np.linalg.det``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    (...) array

    Notes
    -----
    The first two derivatives are right for singular matrices, too.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.grad(ld.linalg.det)(np.zeros((1, 1)))
    array([[1.]])
    """
    return np.linalg.det(A)


def slogdet(A: Any) -> Any:
    """Sign and logarithm of the absolute value of a determinant, ``np.linalg.slogdet``.

    Parameters
    ----------
    A : (..., n, n) array

    Returns
    -------
    sign, logabsdet : (...) array

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> sign, logabsdet = ld.linalg.slogdet(np.array([[2.0]]))
    >>> logabsdet
    np.float64(0.6931471805599453)
    """
    return np.linalg.slogdet(A)


def _products_of_others(s: Any) -> Any:
    """``p_i``, the product of all s but s_i, without division."""
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, np.flip(s, axis=-1)[..., :-1]], axis=-1), axis=-1)
    return before * np.flip(after, axis=-1)


def _products_without_pairs(s: Any) -> Any:
    """``p_ij``, the product of all s but s_i and s_j; 0 on the diagonal."""
    n = s.shape[-1]
    eye = np.eye(n, dtype=bool)
    return np.where(eye, 0.0, _products_of_others(np.where(eye, 1.0, s[..., None, :]))).astype(s.dtype)


def _unitary_parts(A: Any) -> Any:
    """``A = U diag(s) Vᴴ``, and ``det(U) det(Vᴴ)``."""
    U, s, Vh = np.linalg.svd(A)
    return U, s, adjoint(Vh), (np.linalg.det(U) * np.linalg.det(Vh))[..., None, None]


def _adjugate(A: Any) -> Any:
    if A.size == 0:
        return A.copy()
    U, s, V, d = _unitary_parts(A)
    return d * ((V * _products_of_others(s)[..., None, :]) @ adjoint(U))


@operator(_adjugate)
def adjugate(A: Any) -> Any:
    """The adjugate ``adj(A)``, which is ``det(A) A⁻¹`` where that exists; right for singular A.

    With ``A = U diag(s) Vᴴ``: ``adj(A) = det(U Vᴴ) V diag(p_i) Uᴴ``, and its derivative in this basis
    is ``diag(P diag(E)) - P ∘ E``, ``E = Uᴴ dA V``, where p_i, p_ij are products of all other s.
    """

    def in_basis(E: Any, P: Any) -> Any:
        return makediag((P @ extractdiag(E)[..., None])[..., 0]) - P * E

    def pushforward(A_dot: Any) -> Any:
        if A.size == 0:
            return A_dot
        U, s, V, d = _unitary_parts(A)
        return d * (V @ in_basis(adjoint(U) @ A_dot @ V, _products_without_pairs(s)) @ adjoint(U))

    def pullback(B_bar: Any) -> Any:
        if A.size == 0:
            return B_bar
        U, s, V, d = _unitary_parts(A)
        E_bar = in_basis(adjoint(V) @ B_bar @ U, _products_without_pairs(s))
        return U @ (d.conj() * E_bar) @ adjoint(V)

    return adjugate(A), Differential(pushforward, pullback)
