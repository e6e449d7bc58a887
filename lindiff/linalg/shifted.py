"""``eigh_factor``: one eigendecomposition for K + s I with any number of shifts s."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import on_host, placed
from lindiff.core.differential import Differential
from lindiff.core.variable import Variable
from lindiff.kernels.matmul import product
from lindiff.linalg._factored import FromOneTriangle
from lindiff.linalg._matrices import adjoint, conj, identity_like
from lindiff.linalg._one_triangle import OneTriangle
from lindiff.linalg.factors import FactorObject, of_factor
from lindiff.linalg.symmetric_eigen import syevd

__all__ = ["EighFactor", "eigh_factor"]


class Eigen(FromOneTriangle):
    """``K = Uᴴ diag(λ) U``, so that ``K + s I = Uᴴ diag(λ + s) U``."""

    def __init__(self, A: Any, immutable: bool = False) -> None:
        self.U, self.lam = syevd(A)
        if immutable:  # the value of a Variable
            self.matrix = OneTriangle(A, True)

    def shifted(self, shift: Any) -> Any:
        d = self.lam + shift[..., None]
        if not np.all(d):
            *batch, i = (int(k) for k in np.argwhere(on_host(d) == 0)[0])
            where = f" (batch index {tuple(batch)})" if batch else ""
            raise np.linalg.LinAlgError(
                f"eigh_factor: singular matrix, eigenvalue {i} plus the shift is 0{where}"
            )
        return d

    def shifted_solve(self, shift: Any, B: Any) -> Any:
        return product(adjoint(self.U), product(self.U, B) / self.shifted(shift)[..., None])

    def shifted_inverse(self, shift: Any) -> Any:
        return product(adjoint(self.U) / self.shifted(shift)[..., None, :], self.U)

    def shifted_trace_inverse(self, shift: Any) -> Any:
        return np.sum(1 / self.shifted(shift), axis=-1)

    def shifted_logdet(self, shift: Any) -> Any:
        return np.sum(np.log(np.abs(self.shifted(shift))), axis=-1)


@of_factor
def shifted_solve(K: Any, shift: Any, B: Any, factor: Eigen) -> Any:
    """``X = (K + s I)⁻¹ B``: the pullback of ``solve`` with A = K + s I, and ``s_bar = tr K_bar``."""
    X = shifted_solve(K, shift, B, factor)

    def pull_vectors(X_bar: Any) -> Any:
        B_bar = shifted_solve(K, shift, X_bar, factor)
        return None, -np.sum((conj(B_bar) * X).real, axis=(-2, -1)), B_bar

    def pull_all(X_bar: Any) -> Any:
        _, shift_bar, B_bar = pull_vectors(X_bar)
        return factor.gradient(product(-B_bar, adjoint(X))), shift_bar, B_bar

    return X, Differential(
        (
            lambda K_dot: shifted_solve(K, shift, -product(factor.part(K_dot), X), factor),
            lambda shift_dot: shifted_solve(K, shift, -(shift_dot[..., None, None] * X), factor),
            lambda B_dot: shifted_solve(K, shift, B_dot, factor),
        ),
        {
            active: pull_all if 0 in active else pull_vectors
            for active in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
        },
    )


def shifted_inverse(K: Any, shift: Any, factor: Eigen) -> Any:
    """``(K + s I)⁻¹``."""
    if type(K) is not Variable and type(shift) is not Variable:
        return factor.shifted_inverse(shift)
    return shifted_solve(K, shift, identity_like(K), factor)


def shifted_trace_inverse(K: Any, shift: Any, factor: Eigen) -> Any:
    """``tr (K + s I)⁻¹``."""
    if type(K) is not Variable and type(shift) is not Variable:
        return factor.shifted_trace_inverse(shift)
    trace = np.trace(shifted_inverse(K, shift, factor), axis1=-2, axis2=-1)
    return trace.real if K.dtype.kind == "c" else trace


@of_factor
def shifted_logdet(K: Any, shift: Any, factor: Eigen) -> Any:
    """``d log|det(K + s I)| = tr (K + s I)⁻¹ (dK + ds I)``."""

    def push_K(K_dot: Any) -> Any:
        slope = np.sum(conj(shifted_inverse(K, shift, factor)) * factor.part(K_dot), axis=(-2, -1))
        return slope.real if K.dtype.kind == "c" else slope

    return shifted_logdet(K, shift, factor), Differential(
        (push_K, lambda shift_dot: shift_dot * shifted_trace_inverse(K, shift, factor)),
        (
            lambda y_bar: factor.gradient(y_bar[..., None, None] * shifted_inverse(K, shift, factor)),
            lambda y_bar: y_bar * shifted_trace_inverse(K, shift, factor),
        ),
    )


class EighFactor(FactorObject):
    """A symmetric matrix K, decomposed once for all ``K + s I``; made by :func:`eigh_factor`.

    Shifts are numbers or arrays (...), which broadcast with the leading axes of K, and are differentiated.
    """

    _kind = Eigen

    def _shift(self, shift: Any) -> Any:
        shift = shift if hasattr(shift, "shape") else placed(np.asarray(shift), self.matrix)
        if shift.dtype.kind not in "fiub":
            raise TypeError(f"EighFactor: the shift has dtype {shift.dtype}, real numbers are needed")
        return shift.astype(np.finfo(self.matrix.dtype).dtype)

    def solve(self, b: Any, shift: Any = 0.0) -> Any:
        """``(K + s I)⁻¹ b`` for a vector (n,) or columns (..., n, k).

        Notes
        -----
        4n²k flops a shift, and as much backward for the cotangents of b and s; n²k for that of K.
        """
        B, vector = self._columns(b, "solve")
        X = shifted_solve(self.matrix, self._shift(shift), B, self._factor)
        return X[..., 0] if vector else X

    def quad(self, b: Any, shift: Any = 0.0) -> Any:
        """``bᴴ (K + s I)⁻¹ b``, real: a number for a vector (n,), one for each of the columns (..., n, k)."""
        B, vector = self._columns(b, "quad")
        X = shifted_solve(self.matrix, self._shift(shift), B, self._factor)
        q = np.sum((conj(B) * X).real, axis=-2)
        return q[..., 0] if vector else q

    def logdet(self, shift: Any = 0.0) -> Any:
        """``log |det (K + s I)|``, (...).

        Notes
        -----
        n flops a shift, and as much backward for the cotangent of s; 2n³ for that of K, and for second
        derivatives.
        """
        return shifted_logdet(self.matrix, self._shift(shift), self._factor)


def eigh_factor(K: Any) -> EighFactor:
    """Decompose a symmetric (complex: Hermitian) matrix once, for all ``K + s I`` with any shifts s.

    Parameters
    ----------
    K : (..., n, n) array
        Only the lower triangle is read; need not be definite.  Gradients are symmetric.

    Returns
    -------
    F : EighFactor
        With ``F.solve(b, shift)``, ``F.quad(b, shift)`` and ``F.logdet(shift)``.

    Notes
    -----
    About 9n³ flops, as much as 25 Cholesky factorizations: for noise variances, ridge parameters and other
    shifts in number.  Derivatives need no gaps between eigenvalues, unlike those of ``eigh``.

    Examples
    --------
    The evidence of many noise variances, and its slopes:

    >>> import numpy as np, lindiff as ld
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    >>> F = ld.linalg.eigh_factor(K)
    >>> def evidence(noise):
    ...     return -0.5 * (F.quad(y, noise) + F.logdet(noise))
    >>> noise = np.array([0.0, 1.0, 2.0])
    >>> ld.grad(lambda noise: np.sum(evidence(noise)))(noise)
    array([ 0.33333333, -0.125     , -0.15555556])
    """
    F: EighFactor = EighFactor._of(K, "eigh_factor")
    return F
