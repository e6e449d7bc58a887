"""Equal eigenvalues of symmetric matrices in second order.

Of a symmetric function of eigenvalues, the Hessian by those that are equal is α I + β 11ᵀ.  So its second
derivative along M, a direction within the space of their vectors, is α M + β tr(M) I: what the Hessian makes
of the eigenvalues of M, in the basis R of the vectors of M.  That basis belongs to the direction.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.differential import Differential
from lindiff.core.directions import Apart, Directions
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.linalg._degeneracy import group_of_equal, has_equal, without_lost_limit, without_split
from lindiff.linalg._matrices import adjoint, hermitian_part
from lindiff.linalg._one_triangle import OneTriangle
from lindiff.linalg.diagonals import extractdiag
from lindiff.linalg.eigenvectors import gaps, off_diagonal, parted

__all__ = ["EqualEigenvalues", "is_lower"]


class Turn:
    """How the vectors of equal eigenvalues are turned for a second derivative, by its direction R.

    The direction is the tangent of the inner derivative, which there is before the outer one, or a cotangent
    of the inner derivative's result: ``_recomposed`` meets that in each outer walk before the eigenvalues do.
    For several inner derivatives of one record there is no one basis.  Of two tangents, the second takes the
    basis of the first.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.derivatives = 0
        self.of_tangent: Any = None
        self.of_cotangents: deque[Any] = deque()
        self.of_outer_tangents: list[Any] = []

    @property
    def is_known(self) -> bool:
        return self.derivatives == 1

    def taken(self) -> Any:
        """R for the eigenvalues, None if it is not known."""
        if not self.is_known:
            return None
        return self.of_cotangents.popleft() if self.of_cotangents else self.of_tangent

    def of_inner_tangent(self, w: Any) -> Any:
        """R for a tangent of the outer derivative; None where the inner one has none, or not yet."""
        if self.of_tangent is not None and not self.is_known:
            self._warn(w)
        return self.of_tangent

    def of_outer_tangent(self, w: Any) -> Any:
        """R for a tangent of the inner derivative, where that of the outer one has been."""
        if len(self.of_outer_tangents) > 1:
            self._warn(w)
        return self.of_outer_tangents[0] if self.of_outer_tangents else None

    def _warn(self, w: Any) -> None:
        n = w.shape[-1]
        without_lost_limit(placed(np.ones((n, n)) - np.eye(n), w), w, self.name)


def one(direction: Any) -> None:
    """Ask for each of several directions by itself."""
    if isinstance(direction, Directions):
        raise Apart


def beside(M: Any, w: Any, R: Any) -> tuple[Any, Any]:
    """The change of equal eigenvalues along M and its basis; in the basis R of another change if there is
    one."""
    if R is None:
        w_dot, R = parted(M, w)
        return w_dot, value(R)
    R = R.astype(M.dtype)
    w_dot = extractdiag(adjoint(R) @ M @ R)
    return w_dot.real if w_dot.dtype.kind == "c" else w_dot, R


def is_lower(UPLO: Any) -> bool:
    """Which triangle it names, in either case of the letter."""
    return str(UPLO).upper() == "L"


class EqualEigenvalues:
    """The eigenvalues of a Variable of an enclosing trace, some of them equal.

    Their pullback is an operation of its own.

    Parameters
    ----------
    a : (..., n, n) Variable
    UPLO : str
        Which triangle is read.
    name : str
        The operator, for warnings.

    Attributes
    ----------
    w : (..., n) Variable
    """

    def __init__(self, a: Any, UPLO: Any, name: str) -> None:
        self.a, self.UPLO, self.turn = a, UPLO, Turn(name)
        self.w = _equal_eigenvalues(a, UPLO, self.turn)
        self.matrix = OneTriangle(a, is_lower(UPLO))

    @classmethod
    def of(cls, a: Any, w: Any, UPLO: Any, name: str) -> EqualEigenvalues | None:
        """None where ``a`` is plain, or no two of its eigenvalues w are equal."""
        return cls(a, UPLO, name) if isinstance(a, Variable) and has_equal(w) else None

    def pushforward(self, a_dot: Any) -> Any:
        one(a_dot)
        self.turn.derivatives += 1
        V = np.linalg.eigh(self.a, self.UPLO)[1]
        M = adjoint(V) @ self.matrix.tangent(a_dot) @ V
        w_dot, self.turn.of_tangent = beside(M, self.w, self.turn.of_outer_tangent(self.w))
        return w_dot

    def pullback(self, w_bar: Any) -> Any:
        one(w_bar)
        self.turn.derivatives += 1
        without_split(w_bar, self.w, self.turn.name)
        return self.matrix.gradient(_recomposed(self.a, w_bar, self.UPLO, self.turn))


@rule
def _equal_eigenvalues(a: Any, UPLO: Any, turn: Turn) -> Any:
    """As ``eigvalsh``; in the pullback the vectors of equal ones are turned."""
    w, V = np.linalg.eigh(a, UPLO)
    A = OneTriangle(a, is_lower(UPLO))

    def pushforward(a_dot: Any, *_: Any) -> Any:
        one(a_dot)
        w_dot, R = beside(adjoint(V) @ A.tangent(a_dot) @ V, w, turn.of_inner_tangent(w))
        turn.of_outer_tangents.append(R)
        return w_dot

    def pullback(w_bar: Any) -> Any:
        one(w_bar)
        R = turn.taken()
        if R is None:
            without_split(w_bar, w, turn.name)
        W = V if R is None else V @ R.astype(V.dtype)
        return A.gradient_of_any((W * w_bar[..., None, :]) @ adjoint(W)), None, None

    return w, Differential(pushforward, pullback)


@rule
def _recomposed(a: Any, g: Any, UPLO: Any, turn: Turn) -> Any:
    """``Y = V diag(g) Vᴴ``, where V are the eigenvectors of ``a`` and g is equal for equal eigenvalues.

    ``Y_dot = V (M ∘ D + R diag(g_dot) Rᴴ) Vᴴ``, ``D_ij = (g_j - g_i) / (w_j - w_i)`` between groups of equal
    eigenvalues; within them, where that limit is lost, R are the vectors of the parting eigenvalues to which
    the entries of ``g_dot`` belong.
    """
    w, V = np.linalg.eigh(a, UPLO)
    group = group_of_equal(value(w))
    same = group[..., None, :] == group[..., :, None]
    D = np.where(same, 0.0, (g[..., None, :] - g[..., :, None]) / np.where(same, 1.0, gaps(w)))
    A = OneTriangle(a, is_lower(UPLO))

    def pushforward(a_dot: Any, g_dot: Any, *_: Any) -> Any:
        M = adjoint(V) @ A.tangent(a_dot) @ V
        R = parted(M, w)[1]
        return V @ (M * D + (R * g_dot[..., None, :]) @ adjoint(R)) @ adjoint(V)

    def pullback(Y_bar: Any) -> Any:
        one(Y_bar)
        Z = adjoint(V) @ hermitian_part(Y_bar) @ V
        a_bar = A.gradient_of_any(V @ (Z * D) @ adjoint(V))
        if turn.is_known:
            R = parted(value(Z), value(w))[1]
            turn.of_cotangents.append(R)
            Z = adjoint(R) @ Z @ R
        else:
            without_lost_limit(off_diagonal(Z), w, turn.name)
        g_bar = extractdiag(Z).astype(Y_bar.dtype)
        return a_bar, g_bar.real if Z.dtype.kind == "c" else g_bar, None, None

    return hermitian_part((V * g[..., None, :]) @ adjoint(V)), Differential(pushforward, pullback)
