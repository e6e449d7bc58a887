"""Equal eigenvalues of matrices that are not symmetric, in second order.

The Hessian of a symmetric function by m equal eigenvalues is H = α I + β 11ᵀ.  Its second derivative along M,
a direction within the space of their vectors, is α (M - t I) + (α + m β) t I with t = tr(M) / m.  M need not
have eigenvectors.  So it moves the eigenvalues by t 1 + s u, where u is any vector of length 1 whose sum is 0
and s the norm of M - t I; α and α + m β are read from the share along u, and the mean, of what H makes of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import placed
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.linalg._degeneracy import DEFECTIVE, floor_of, without_split
from lindiff.linalg._equal_eigenvalues import Turn, one
from lindiff.linalg._matrices import adjoint, conj
from lindiff.linalg.diagonals import extractdiag, makediag
from lindiff.linalg.eigenvectors import gaps

__all__ = ["EqualEigenvaluesOfAny"]


class Groups:
    """Which eigenvalues are equal: ``same`` (..., n, n), their ``values``, and of each group the vector u,
    ``across``."""

    def __init__(self, w: Any, floor: Any) -> None:
        near = np.abs(w[..., :, None] - w[..., None, :]) <= floor[..., None, None]
        first = np.argmax(near, axis=-1)
        self.same = first[..., :, None] == first[..., None, :]
        real = np.finfo(w.dtype).dtype
        turn = np.sum(np.tril(self.same, -1), axis=-1)  # of a value in its group
        count = np.sum(self.same, axis=-1)
        u = np.where(count == 1, 0.0, np.where(turn == 0, 1.0, np.where(turn == 1, -1.0, 0.0)))
        self.mean = (self.same / count[..., None]).astype(real)
        self.across = (u / np.sqrt(2.0)).astype(real)
        self.along = self.same * self.across[..., None, :]
        self.values = _times(self.mean, w)

    @property
    def any(self) -> bool:
        return bool(np.any(self.across))

    def parts(self, M: Any) -> tuple[Any, Any]:
        """t of each group, for each of its values, and the blocks ``M - t I``."""
        t = _times(self.mean, extractdiag(M))
        return t, np.where(self.same, M, 0.0).astype(M.dtype) - makediag(t)

    def moved(self, M: Any, known: Any = None) -> tuple[Any, Any]:
        """How the eigenvalues move along M, and ``(M - t I) / s``; beside a ``known`` direction of that kind
        by the share of it that M has."""
        t, deviation = self.parts(M)
        if known is not None:
            share = _times(self.same, np.sum(known * np.swapaxes(deviation, -1, -2), axis=-1))
            return t + share * self.across, known
        s = np.linalg.norm(value(deviation), axis=(-2, -1))
        direction = value(deviation) / np.where(s == 0, 1.0, s).astype(s.dtype)[..., None, None]
        return t + s[..., None] * self.across, direction

    def block(self, x: Any, direction: Any) -> Any:
        """The blocks of which x are the numbers that belong to the values, turned by a direction."""
        return makediag(_times(self.mean, x)) + _times(self.along, x)[..., :, None] * direction


def _times(A: Any, x: Any) -> Any:
    return (A @ x[..., None])[..., 0]


class EqualEigenvaluesOfAny:
    """The eigenvalues of a Variable of an enclosing trace, some of them equal.

    Parameters
    ----------
    a : (..., n, n) Variable
    groups : Groups
    name : str
        The operator, for warnings.

    Attributes
    ----------
    w : (..., n) Variable
    """

    def __init__(self, a: Any, groups: Groups, name: str) -> None:
        self.a, self.groups, self.turn = a, groups, Turn(name)
        self.w = _equal_eigenvalues(a, groups, self.turn)

    @classmethod
    def of(cls, a: Any, w: Any, V: Any, name: str) -> EqualEigenvaluesOfAny | None:
        """None where ``a`` is plain, its vectors are dependent, or no two of its eigenvalues are equal."""
        if not isinstance(a, Variable) or a.size == 0:
            return None
        plain = value(w)
        condition = np.linalg.cond(value(V), 1)
        groups = Groups(plain, floor_of(plain) * np.where(condition < DEFECTIVE, condition, 0.0))
        return cls(a, groups, name) if groups.any else None

    def pushforward(self, a_dot: Any) -> Any:
        one(a_dot)
        self.turn.derivatives += 1
        V = np.linalg.eig(self.a)[1]
        M = np.linalg.solve(V, a_dot @ V)
        values = self.groups.values
        w_dot, self.turn.of_tangent = self.groups.moved(M, self.turn.of_outer_tangent(values))
        return _of_symmetric(w_dot, values, self.turn.name)

    def pullback(self, w_bar: Any) -> Any:
        one(w_bar)
        self.turn.derivatives += 1
        without_split(w_bar, self.groups.values, self.turn.name)
        return _recomposed(self.a, w_bar, self.groups, self.turn)


@rule
def _of_symmetric(w_dot: Any, values: Any, name: str) -> Any:
    """The movement of eigenvalues, to be used in functions alone that take those that are equal alike."""

    def pullback(bar: Any) -> Any:
        without_split(bar, values, name)
        return bar, None, None

    return w_dot, Differential(lambda change, *_: change, pullback)


@rule
def _equal_eigenvalues(a: Any, groups: Groups, turn: Turn) -> Any:
    """As ``eigvals``, moved by t 1 + s u where they are equal."""
    w, V = np.linalg.eig(a)

    def pushforward(a_dot: Any, *_: Any) -> Any:
        one(a_dot)
        w_dot, direction = groups.moved(np.linalg.solve(V, a_dot @ V), turn.of_inner_tangent(groups.values))
        turn.of_outer_tangents.append(direction)
        return w_dot

    def pullback(w_bar: Any) -> Any:
        one(w_bar)
        direction = turn.taken()
        if direction is None:
            without_split(w_bar, groups.values, turn.name)
            X = makediag(conj(w_bar))
        else:
            X = groups.block(conj(w_bar), direction)
        return np.linalg.solve(adjoint(V), adjoint(X) @ adjoint(V)), None, None

    return w, Differential(pushforward, pullback)


@rule
def _recomposed(a: Any, g: Any, groups: Groups, turn: Turn) -> Any:
    """``Y = (V diag(ḡ) V⁻¹)ᴴ``, where V are the eigenvectors of ``a`` and g is equal for equal eigenvalues.

    ``Y_dot = (V (M ∘ D + B) V⁻¹)ᴴ``, ``M = V⁻¹ a_dot V``, ``D_ij = (ḡ_j - ḡ_i) / (w_j - w_i)`` between groups
    of equal eigenvalues, and B the blocks within them that belong to ``ḡ_dot``.
    """
    w, V = np.linalg.eig(a)
    same = placed(groups.same, w)
    D = np.where(same, 0.0, (conj(g)[..., None, :] - conj(g)[..., :, None]) / np.where(same, 1.0, gaps(w)))

    def recomposed(X: Any) -> Any:
        """``(V X V⁻¹)ᴴ``"""
        return np.linalg.solve(adjoint(V), adjoint(X) @ adjoint(V))

    def pushforward(a_dot: Any, g_dot: Any, *_: Any) -> Any:
        one(a_dot)
        M = np.linalg.solve(V, a_dot @ V)
        return recomposed(M * D + groups.block(conj(g_dot), groups.moved(M)[1]))

    def pullback(Y_bar: Any) -> Any:
        one(Y_bar)
        N = np.linalg.solve(V, Y_bar @ V)
        g_bar, direction = groups.moved(N)
        turn.of_cotangents.append(direction)
        return recomposed(N * D), g_bar, None, None

    return recomposed(makediag(conj(g))), Differential(pushforward, pullback)
