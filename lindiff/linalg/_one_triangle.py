"""Matrices of which one triangle is read: how they depend on the array in which they stand.

A symmetric (Hermitian) matrix is read from one triangle of an array.  A tangent counts by that triangle
alone, which is exact for every array.  A gradient has two readings: of an array that is a symmetric matrix
both triangles are the same entries, and its gradient is symmetric; of one that was filled in one triangle
only the entries there have a gradient, twice that.  An entry whose mirror image is there, up to rounding,
is of the first kind; one whose mirror image differs or is exactly zero is *unpaired*, and gets the whole
derivative.  Along symmetric tangents both are the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.linalg._backend import fused, kernels
from lindiff.linalg._matrices import adjoint, hermitian_part, mirrored, symmetric_part, transposed

__all__ = ["OneTriangle", "from_triangle", "symmetric_from"]


def unpaired(A: Any, lower: bool = True, hermitian: bool = True) -> Any:
    """Which entries of the named triangle of a plain A have no mirror image; None if all have."""
    of_A = kernels(A)
    return (unpaired_by_formula if of_A is None else of_A.unpaired)(A, lower, hermitian)


def unpaired_by_formula(A: Any, lower: bool, hermitian: bool) -> Any:
    """Rounding changes the last quarter of the digits at most."""
    image = adjoint(A) if hermitian else transposed(A)
    rounding = np.finfo(A.dtype).eps ** 0.75
    found = ~((image != 0) & (np.abs(A - image) <= rounding * np.abs(image)))
    return np.tril(found, -1) if lower else np.triu(found, 1)


@fused
def onto_unpaired(M_bar: Any, found: Any, overwrite_m_bar: bool = False) -> Any:
    """A symmetric M_bar with the whole of a pair at an unpaired entry, and 0 opposite."""
    return np.where(found, 2 * M_bar, np.where(transposed(found), 0, M_bar)).astype(M_bar.dtype)


def from_triangle(X: Any, lower: bool, hermitian: bool = True) -> Any:
    """The Hermitian (or symmetric) matrix of which X has one triangle."""
    of_X = kernels(X) if hermitian else None
    if of_X is None:
        return mirrored(X, lower, hermitian)
    return of_X.copyltu(X if lower else adjoint(X))


class OneTriangle:
    """How a symmetric (complex: Hermitian) matrix M depends on the array A of which one triangle is read.

    Parameters
    ----------
    A : (..., n, n) array or Variable
    lower : bool
        Which triangle is read.
    hermitian : bool
        M is Hermitian; False: symmetric, also where it is complex.
    """

    __slots__ = ("hermitian", "lower", "unpaired")

    def __init__(self, A: Any, lower: bool, hermitian: bool = True) -> None:
        self.lower, self.hermitian = lower, hermitian
        self.unpaired = unpaired(value(A), lower, hermitian)

    def tangent(self, A_dot: Any) -> Any:
        """``M_dot``, which is that of the triangle."""
        return from_triangle(A_dot, self.lower, self.hermitian)

    def gradient(self, M_bar: Any, *, overwrite: bool = False) -> Any:
        """``A_bar`` of an ``M_bar`` that is symmetric as M; it may be overwritten."""
        if self.unpaired is None:
            return M_bar
        return onto_unpaired(M_bar, self.unpaired, overwrite_m_bar=overwrite)

    def gradient_of_any(self, M_bar: Any) -> Any:
        """``A_bar`` of any ``M_bar``."""
        part = hermitian_part(M_bar) if self.hermitian else symmetric_part(M_bar)
        return self.gradient(part, overwrite=True)


@rule
def symmetric_from(A: Any, lower: bool, hermitian: bool = True) -> Any:
    """The symmetric (Hermitian) matrix that stands in one triangle of A, both triangles filled in."""
    M = OneTriangle(A, lower, hermitian)
    return mirrored(A, lower, hermitian), Differential((M.tangent,), (M.gradient_of_any,))
