"""Plain matrices, factored once for everything that is asked of them.

``factored(A, LU)`` is the one door.  For a Variable it answers with the factor of the plain array inside, the
same one as long as the Variable lives and is not changed in place: ``np.linalg.solve(A, b)``,
``np.linalg.slogdet(A)`` and ``np.linalg.inv(A)`` share one LU, in all their derivatives of any order, and
memory is held no longer than by the Variable and by the operations recorded.  A plain array may be written to
at any time: it is factored anew in each call, and shared through the objects of ``factors.py``.

A factor never sees a Variable.  The operators which do are in ``factors.py``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from lindiff.core.arrays import foreign, placed
from lindiff.core.variable import Variable, shared_of, value
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import Known, kernels, known_of, looks
from lindiff.linalg._matrices import adjoint, conj, identity_like, op
from lindiff.linalg._one_triangle import OneTriangle
from lindiff.linalg._operation import know_constants
from lindiff.linalg.cholesky import potrf, potri
from lindiff.linalg.products import gemm2
from lindiff.linalg.triangular import trsm

__all__ = ["LU", "Cholesky", "Factor", "FromOneTriangle", "UpperCholesky", "factored"]


class Factor:
    """A factored square matrix: what its operators need of it.

    Parameters
    ----------
    A : (..., n, n) array
        Plain.
    immutable : bool
        Nobody writes to A: it need not be copied where the factor keeps it.

    Attributes
    ----------
    known : Known
        What need not be looked at again.
    """

    known: Known
    _inverse: Any = None

    def __init__(self, A: Any, immutable: bool = False) -> None:
        raise NotImplementedError

    def part(self, A_dot: Any) -> Any:
        """The tangent of the matrix, for one of the array A in which it stands."""
        return A_dot

    def gradient(self, M_bar: Any, symmetric: bool = False) -> Any:
        """The cotangent of A for one of the matrix: the adjoint of ``part`` among arrays that hold the matrix
        as a whole.  One that is as `symmetric` as the matrix may be overwritten.
        """
        return self.part(M_bar)

    def times(self, A: Any, X: Any, transpose: bool | str) -> Any:
        """``t(A) X``, linear in the array A, in which the matrix need not stand as it is."""
        return product(op(self.part(A), transpose), X)

    def against(self, Y: Any, X: Any, transpose: bool | str) -> Any:
        """What the array A gets from the cotangent Y of ``t(A) X``: the adjoint of ``times``."""
        return self.gradient(op(gemm2(Y, X, transpose_b="C"), transpose))

    def inverse(self) -> Any:
        """A⁻¹, kept for what else needs it."""
        if self._inverse is None:
            self._inverse = self.inverted()
        return self._inverse

    @property
    def has_inverse(self) -> bool:
        return self._inverse is not None

    def inverted(self) -> Any:
        """A⁻¹ in memory of the caller's own."""
        raise NotImplementedError

    def adjoint_inverted(self) -> Any:
        """A⁻ᴴ in memory of the caller's own."""
        return adjoint(self.inverted())

    def diag_inverse(self) -> Any:
        B = self.inverted() if self._inverse is None else self._inverse
        return np.diagonal(B, axis1=-2, axis2=-1).copy()


know_constants(Factor)


class LU(Factor):
    """``A = L U P`` of any square matrix; a triangle is its own factor.

    Without kernels A is kept as it is, and factored by NumPy in every call.  That A is a triangle is `known`
    of a Cholesky factor on a device, where nobody looks.
    """

    LU: Any = None
    piv: Any = None
    A: Any = None
    lower: bool | None = None

    def __init__(self, A: Any, immutable: bool = False, known: Known | None = None) -> None:
        self.kernels = kernels(A)
        self.known = Known() if known is None or known.lower is None else known
        if self.kernels is not None:
            self.lower = _triangle_of(A) if self.known.lower is None else self.known.lower
        if self.kernels is not None and self.lower is None:
            self.LU, self.piv = self.kernels.getrf(A)
        else:
            self.A = A if immutable else A.copy()

    def solve(self, B: Any, transpose: bool | str) -> Any:
        """``t(A)⁻¹ B``."""
        if self.LU is None and self.lower is None:
            return np.linalg.solve(op(self.A, transpose), B)
        if self.lower is not None:
            with self.known.dividing():
                return trsm(self.A, B, transpose=transpose, lower=self.lower)
        if B.dtype.kind == "c" and self.LU.dtype.kind != "c":
            return self.solve(B.real, transpose) + 1j * self.solve(B.imag, transpose)
        piv = self.piv
        if self.LU.shape[:-2] != B.shape[:-2]:
            batch = np.broadcast_shapes(self.LU.shape[:-2], B.shape[:-2])
            piv = np.broadcast_to(piv, (*batch, piv.shape[-1]))
        with self.known.dividing():
            return self.kernels.getrs(self.LU, piv, B, transpose=transpose or False)

    def inverted(self) -> Any:
        if self.LU is None and self.lower is None:
            return np.linalg.inv(self.A)
        with self.known.dividing():
            if self.lower is not None:
                return trsm(self.A, _identity_like(self.A), lower=self.lower)
            return self.kernels.getri(self.LU, self.piv)

    @cached_property
    def diagonal(self) -> tuple[Any, Any]:
        """The diagonal of the factors, and the sign of the exchanges."""
        if self.LU is None:
            return np.diagonal(self.A, axis1=-2, axis2=-1), 1
        order = placed(np.arange(self.piv.shape[-1], dtype=self.piv.dtype), self.piv)
        exchanges = np.sum(self.piv != order, axis=-1)
        return np.diagonal(self.LU, axis1=-2, axis2=-1), (1 - 2 * (exchanges % 2)).astype(self.LU.dtype)

    def slogdet(self) -> tuple[Any, Any]:
        if self.LU is None and self.lower is None:
            sign, logabsdet = np.linalg.slogdet(self.A)
            return sign, logabsdet
        diagonal, exchanges = self.diagonal
        with np.errstate(divide="ignore"):
            logabsdet = np.sum(np.log(np.abs(diagonal)), axis=-1)
        return exchanges * np.prod(np.sign(diagonal), axis=-1), logabsdet

    def det(self) -> Any:
        if self.LU is None and self.lower is None:
            return np.linalg.det(self.A)
        diagonal, exchanges = self.diagonal
        return exchanges * np.prod(diagonal, axis=-1)

    @cached_property
    def is_regular(self) -> bool:
        """Whether ``det(A) A⁻¹`` gives the cofactors.

        The ratio of pivots bounds the condition number from below only: stay far away from singular ones.
        """
        if self.LU is None and self.lower is None:
            return False
        size = np.abs(self.diagonal[0])
        if size.shape[-1] == 0:
            return True
        least, largest = np.min(size, axis=-1), np.max(size, axis=-1)
        if not np.all(least > largest * np.finfo(size.dtype).eps ** 0.25):
            return False
        self.known.regular = True
        return True


class FromOneTriangle(Factor):
    """A symmetric (Hermitian) matrix, of which one triangle is read."""

    matrix: OneTriangle | None = None

    def part(self, A_dot: Any) -> Any:
        return A_dot if self.matrix is None else self.matrix.tangent(A_dot)

    def gradient(self, M_bar: Any, symmetric: bool = False) -> Any:
        if self.matrix is None:  # A is plain: nobody asks
            return M_bar
        if symmetric:
            return self.matrix.gradient(M_bar, overwrite=True)
        return self.matrix.gradient_of_any(M_bar)


class Cholesky(FromOneTriangle):
    """``A = L Lᴴ`` of a positive definite matrix, of which the lower triangle is read."""

    lower = True

    def __init__(self, A: Any, immutable: bool = False) -> None:
        if immutable:  # the value of a Variable
            self.matrix = OneTriangle(A, self.lower)
        if kernels(A) is None:
            self.triangle = np.linalg.cholesky(A, upper=not self.lower)
            self.known = Known()
            return
        try:
            self.triangle = potrf(A, lower=self.lower)
        except np.linalg.LinAlgError:
            if not np.isnan(A).any():
                raise
            self.triangle = np.linalg.cholesky(A, upper=not self.lower)  # NumPy's LAPACK decides
        self.known = Known(self.lower, regular=looks())

    def whiten(self, B: Any) -> Any:
        """``L⁻¹ B``."""
        if B.dtype.kind == "c" and self.triangle.dtype.kind != "c":
            return self.whiten(B.real) + 1j * self.whiten(B.imag)
        with self.known.dividing():
            return trsm(self.triangle, B, lower=self.lower, transpose=False if self.lower else "C")

    def solve(self, B: Any, transpose: bool | str) -> Any:
        """``A⁻¹ B``; A is its own adjoint."""
        if transpose and transpose != "C":
            return conj(self.solve(conj(B), False))
        if B.dtype.kind == "c" and self.triangle.dtype.kind != "c":
            return self.solve(B.real, False) + 1j * self.solve(B.imag, False)
        Z = self.whiten(B)
        adjoint_too: Any = "C" if self.lower else False
        with self.known.dividing():
            return trsm(self.triangle, Z, lower=self.lower, transpose=adjoint_too, overwrite_a=True)

    def quad(self, B: Any) -> Any:
        """``bᴴ A⁻¹ b`` of every column."""
        Z = self.whiten(B)
        return np.sum((conj(Z) * Z).real, axis=-2)

    def inverted(self) -> Any:
        with self.known.dividing():
            return potri(self.triangle, lower=self.lower)

    def adjoint_inverted(self) -> Any:
        return self.inverted()

    def slogdet(self) -> tuple[Any, Any]:
        diagonal = np.diagonal(self.triangle, axis1=-2, axis2=-1).real
        logdet = 2 * np.sum(np.log(diagonal), axis=-1)
        return np.ones_like(logdet, dtype=self.triangle.dtype), logdet

    def diag_inverse(self) -> Any:
        return super().diag_inverse().real


class UpperCholesky(Cholesky):
    """``A = Rᴴ R``, of which the upper triangle is read."""

    lower = False


F = TypeVar("F", bound=Factor)


def factored(A: Any, kind: type[F], *options: Any) -> F:
    """The factor of the plain array inside A.

    Parameters
    ----------
    A : (..., n, n) array or Variable
    kind : LU, Cholesky or UpperCholesky, or another class of factors
    *options
        What else the class wants to be told.
    """
    if type(A) is not Variable:
        return kind(A, False, *options)
    shared = shared_of(A)
    key = (kind, *options)
    found: F | None = shared.get(key)
    if found is None:
        if kind is LU:
            options = (known_of(A),)
        found = shared[key] = kind(value(A), True, *options)
    return found


def _triangle_of(A: Any) -> bool | None:
    """Whether A is lower triangular (True) or upper triangular (False); None if neither.

    None as well for an array on a device, where a look at its entries waits for all that is under way.
    """
    if A.shape[-1] < 2 or not A.size or foreign(A) is not None:
        return None
    first = A[(0,) * (A.ndim - 2)]  # the corners of the first matrix tell most that are none
    if first[0, -1] == 0 and not np.triu(A, 1).any():
        return True
    if first[-1, 0] == 0 and not np.tril(A, -1).any():
        return False
    return None


def _identity_like(A: Any) -> Any:
    return np.broadcast_to(identity_like(A), A.shape)
