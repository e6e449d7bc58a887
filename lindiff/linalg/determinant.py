"""The inverse and the determinant, NumPy's own functions under operators' names, and the adjugate."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.differential import Differential
from lindiff.core.variable import Variable, value
from lindiff.linalg._backend import operator
from lindiff.linalg._matrices import adjoint, identity_like
from lindiff.linalg.diagonals import extractdiag, makediag

__all__ = ["adjugate", "adjugate_of_any_order", "det", "inverse", "slogdet"]

# Order up to which the adjugate's own derivatives are those of a polynomial: for larger ones it cancels.
LARGEST_BY_TRACES = 8


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
    Its derivatives of any order are right for singular matrices, too.

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
    eye = placed(np.eye(n, dtype=bool), s)
    return np.where(eye, 0.0, _products_of_others(np.where(eye, 1.0, s[..., None, :]))).astype(s.dtype)


def _unitary_parts(A: Any) -> Any:
    """``A = U diag(s) Vᴴ``, and ``det(U) det(Vᴴ)``; s is NaN where A holds NaN or infinity."""
    finite = np.all(np.isfinite(value(A)), axis=(-2, -1))[..., None]
    U, s, Vh = np.linalg.svd(np.where(finite[..., None], A, 0.0))
    s = np.where(finite, s, np.nan).astype(s.dtype)
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

    def pushforward(A_dot: Any) -> Any:
        return _adjugate_change(A, A_dot)

    def pullback(B_bar: Any) -> Any:
        """``tr(dadj(A)[E] F)``, the second derivative of det, is symmetric in E and F."""
        return adjoint(_adjugate_change(A, adjoint(B_bar)))

    return adjugate(A), Differential(pushforward, pullback)


def _adjugate_change(A: Any, E: Any) -> Any:
    """The derivative of the adjugate along E."""
    if A.size == 0:
        return E
    if isinstance(A, Variable) and A.shape[-1] <= LARGEST_BY_TRACES:
        return _adjugate_change_by_traces(A, E)
    U, s, V, d = _unitary_parts(A)
    E = adjoint(U) @ E @ V
    P = _products_without_pairs(s)
    change = makediag((P @ extractdiag(E)[..., None])[..., 0]) - P * E
    return d * (V @ change @ adjoint(U))


def adjugate_of_any_order(A: Any) -> Any:
    """The adjugate, in functions that have derivatives of all orders where more than two are asked for."""
    is_nested = type(A) is Variable and type(A._value) is Variable
    return _adjugate_by_blocks(A) if is_nested and A.shape[-1] > LARGEST_BY_TRACES else adjugate(A)


def _adjugate_by_blocks(A: Any) -> Any:
    """In the bases of the singular vectors, which are constant, from a regular block and its complement.

    With ``[[P, Q], [R, T]]``, P regular, and ``Z = T - R P⁻¹ Q``, which is small: ``det(P) det(Z)`` is the
    determinant, and the adjugate is ``det(P) (det(Z) [[P⁻¹, 0], [0, 0]] + L adj(Z) M)``, ``L = [-P⁻¹ Q; I]``,
    ``M = [-R P⁻¹, I]``.  That of Z is a polynomial.
    """
    U, s, V, d = _unitary_parts(value(A))
    small = s <= np.finfo(s.dtype).eps ** 0.25 * s[..., :1]
    k = A.shape[-1] - int(np.max(np.sum(small, axis=-1), initial=0))
    if k == A.shape[-1]:
        return np.linalg.det(A)[..., None, None] * np.linalg.inv(A)
    B = adjoint(U) @ A @ V
    P, Q, R, T = B[..., :k, :k], B[..., :k, k:], B[..., k:, :k], B[..., k:, k:]
    inverse_of_P = np.linalg.inv(P)
    Z = T - R @ inverse_of_P @ Q
    eye = identity_like(T)
    M = np.broadcast_to(eye, T.shape)
    for j in range(1, T.shape[-1]):
        N = Z @ M
        M = N - np.trace(N, axis1=-2, axis2=-1)[..., None, None] / j * eye
    adjugate_of_Z = M if T.shape[-1] % 2 else -M
    det_of_Z = np.sum(Z[..., :1, :] * np.swapaxes(adjugate_of_Z, -1, -2)[..., :1, :], axis=-1)[..., None]
    left = np.concatenate([-(inverse_of_P @ Q), np.broadcast_to(eye, T.shape)], axis=-2)
    right = np.concatenate([-(R @ inverse_of_P), np.broadcast_to(eye, T.shape)], axis=-1)
    of_P = np.pad(inverse_of_P, [(0, 0)] * (A.ndim - 2) + [(0, A.shape[-1] - k)] * 2)
    det_of_P = np.linalg.det(P)[..., None, None]
    return d * (V @ (det_of_P * (det_of_Z * of_P + left @ adjugate_of_Z @ right)) @ adjoint(U))


def _adjugate_change_by_traces(A: Any, E: Any) -> Any:
    """A polynomial of A and E, which has derivatives everywhere: those of singular vectors need gaps.

    With ``M₁ = I``, ``M_{k+1} = A M_k - tr(A M_k) / k I``: ``adj(A) = (-1)ⁿ⁻¹ M_n`` (Faddeev & Leverrier).
    """
    n = A.shape[-1]
    eye = identity_like(A)
    M, M_dot = np.broadcast_to(eye, A.shape), np.zeros_like(A)
    for k in range(1, n):
        N, N_dot = A @ M, E @ M + A @ M_dot
        trace, trace_dot = (np.trace(X, axis1=-2, axis2=-1)[..., None, None] for X in (N, N_dot))
        M, M_dot = N - trace / k * eye, N_dot - trace_dot / k * eye
    return M_dot if n % 2 else -M_dot
