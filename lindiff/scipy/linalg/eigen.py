"""Eigenvalues and eigenvectors, of one matrix and of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from lindiff.core.arrays import on_host, placed
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import failing_as
from lindiff.linalg._matrices import adjoint, conj
from lindiff.linalg._one_triangle import symmetric_from
from lindiff.linalg.cholesky import potrf
from lindiff.linalg.eigenvectors import eig_pullback, eig_pushforward
from lindiff.linalg.factors import solved
from lindiff.linalg.triangular import trmm, trsm
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.linalg._arguments import as_checked, require_square, singular_means

__all__ = [
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
]

DRIVERS = (None, "ev", "evd", "evr", "evx", "gv", "gvd", "gvx")


# -- Hermitian matrices --------------------------------------------------------------------------------------


@drop_in(scipy.linalg.eigh, 2, 2, anywhere=True)
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Sequence[float] | None = None,
    driver: str | None = None,
) -> Any:
    """Differentiable in `a` and `b`, with Hermitian gradients.

    An entry whose mirror image differs or is exactly zero has the whole derivative in the triangle that is
    read.  `driver` is for plain arrays.

    Raises
    ------
    ValueError
        If shapes do not fit together, an entry is not finite, or an option is unknown or out of range.

    Warns
    -----
    RuntimeWarning
        Where the derivative depends on vectors of equal eigenvalues, or on the phases of complex vectors,
        which are arbitrary.

    Notes
    -----
    On Variables: ``numpy.linalg.eigh``, after the Cholesky factorization of `b`, ``b = L Lᴴ``, has made one
    matrix of two, ``L⁻¹ a L⁻ᴴ`` or ``Lᴴ a L``.  It finds all eigenvalues and vectors: the derivative of some
    vectors depends on all others.  Signs of vectors may differ from those for plain arrays.

    Examples
    --------
    >>> import numpy as np
    >>> eigh(np.diag([1.0, 3.0]), np.diag([1.0, 2.0]), eigvals_only=True)
    array([1. , 1.5])
    """
    a = as_checked(a, check_finite)
    require_square(a, "eigh")
    if type not in (1, 2, 3):
        raise ValueError(f"eigh: type must be 1, 2 or 3, got {type!r}")
    if driver not in DRIVERS:
        raise ValueError(f"eigh: driver must be one of {DRIVERS}, got {driver!r}")
    if subset_by_index is not None and subset_by_value is not None:
        raise ValueError("eigh: give subset_by_index or subset_by_value, not both")
    L = None
    if b is not None:
        b = as_checked(b, check_finite)
        require_square(b, "eigh", "b")
        if a.shape[-1] != b.shape[-1]:
            raise ValueError(f"eigh: a of shape {a.shape} and b of shape {b.shape} do not fit together")
        with failing_as("eigh"):
            L = potrf(b, lower=lower)
        L = L if lower else adjoint(L)
        a, lower = _of_pair(symmetric_from(a, lower), L, type), True
    triangle: Any = "L" if lower else "U"
    if eigvals_only:
        w = np.linalg.eigvalsh(a, triangle)
        chosen = subset(w, subset_by_index, subset_by_value, "eigh")
        return w if chosen is None else np.take_along_axis(w, chosen, axis=-1)
    w, V = np.linalg.eigh(a, triangle)
    chosen = subset(w, subset_by_index, subset_by_value, "eigh")
    if chosen is not None:
        w, V = of_subset(w, V, chosen)
    if L is not None:
        V = trmm(L, V) if type == 3 else trsm(L, V, transpose="C")
    return w, V


def of_subset(w: Any, V: Any, chosen: Any) -> tuple[Any, Any]:
    return np.take_along_axis(w, chosen, axis=-1), np.take_along_axis(V, chosen[..., None, :], axis=-1)


def _of_pair(a: Any, L: Any, type: int) -> Any:
    """The matrix that has the eigenvalues of the pair ``a``, ``L Lᴴ``."""
    if type == 1:
        return trsm(L, trsm(L, a), transpose="C", rightside=True)
    return trmm(L, trmm(L, a, transpose="C"), rightside=True)


def subset(w: Any, by_index: Any, by_value: Any, name: str) -> Any:
    """The indices of the eigenvalues of a subset, as many for each matrix of a batch; None for all."""
    n = w.shape[-1]
    if by_index is not None:
        first, last = (int(i) for i in by_index)
        if not 0 <= first <= last < n:
            raise ValueError(
                f"{name}: indices of a subset must ascend within [0, {n - 1}], got {first} and {last}"
            )
        chosen = placed(np.arange(first, last + 1), w)
        return np.broadcast_to(chosen, (*w.shape[:-1], last + 1 - first))
    if by_value is None:
        return None
    low, high = by_value
    if not low < high:
        raise ValueError(f"{name}: bounds of a subset must ascend, got {low} and {high}")
    beside, w = value(w), on_host(w)
    first, count = np.sum(w <= low, axis=-1), np.sum((low < w) & (w <= high), axis=-1)
    if count.size and np.any(count != count.flat[0]):
        raise ValueError(f"{name}: ({low}, {high}] holds other numbers of eigenvalues in other matrices")
    return placed(first[..., None] + np.arange(count.flat[0] if count.size else 0), beside)


@drop_in(scipy.linalg.eigvalsh, 2, 2, anywhere=True)
def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Sequence[int] | None = None,
    subset_by_value: Sequence[float] | None = None,
    driver: str | None = None,
) -> Any:
    """Differentiable in `a` and `b`, like :func:`eigh`.

    Examples
    --------
    >>> import numpy as np
    >>> eigvalsh(np.array([[2.0, 1.0], [1.0, 2.0]]), subset_by_index=[1, 1])
    array([3.])
    """
    return eigh(
        a,
        b,
        lower=lower,
        eigvals_only=True,
        type=type,
        check_finite=check_finite,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
        driver=driver,
    )


# -- general matrices ----------------------------------------------------------------------------------------


@drop_in(scipy.linalg.eig, 2, 2)
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Differentiable in `a` and `b`, where the eigenvalues are distinct and `b` is not singular.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if `b` or the matrix of eigenvectors is singular.
    TypeError
        For Variables, with both `b` and `homogeneous_eigvals`.
    ValueError
        If shapes do not fit together, or an entry is not finite.

    Warns
    -----
    RuntimeWarning
        Where the derivative depends on vectors of equal eigenvalues, or on the phases of vectors, which are
        arbitrary.

    Notes
    -----
    Boeddeker et al. (2017), section 4, with ``M = (b V)⁻¹ (a_dot V - b_dot V diag(w))``.

    Examples
    --------
    >>> import numpy as np
    >>> eig(np.diag([2.0, 3.0]), 2 * np.eye(2), right=False)
    array([1. +0.j, 1.5+0.j])
    """
    a = as_checked(a, check_finite)
    require_square(a, "eig")
    if b is not None:
        b = as_checked(b, check_finite)
        require_square(b, "eig", "b")
        if a.shape[-1] != b.shape[-1]:
            raise ValueError(f"eig: a of shape {a.shape} and b of shape {b.shape} do not fit together")
        if homogeneous_eigvals:
            raise TypeError(
                "eig(a, b, homogeneous_eigvals=True) has no derivative: numerators and denominators are "
                "arbitrary up to common factors; use homogeneous_eigvals=False"
            )
    if b is None and not left:
        w, vr = _with_right_vectors(a) if right else (np.linalg.eigvals(a), None)
        w, vl = w.astype(np.result_type(w.dtype, np.complex64)), None
    else:
        w, vl, vr = _eig(a, b)
    if homogeneous_eigvals:
        w = np.stack([w, np.ones_like(w)], axis=-2)
    vectors = [v for v, wanted in ((vl, left), (vr, right)) if wanted]
    return (w, *vectors) if vectors else w


def _with_right_vectors(a: Any) -> tuple[Any, Any]:
    """With real vectors where all eigenvalues of a real matrix are real; NumPy since 2.5 has them complex."""
    w, V = np.linalg.eig(a)
    if V.dtype.kind == "c" and a.dtype.kind != "c" and not np.any(value(w).imag):
        V = V.real
    return w, V


@rule
def _eig(a: Any, b: Any) -> Any:
    """The left eigenvectors are the right ones of aᴴ and bᴴ, of which the eigenvalues are conj(w)."""
    w, vl, vr = eig(a, b, left=True, check_finite=False)
    values = w if vr.dtype.kind == "c" else w.real
    meaning = "eig: where b or the matrix of eigenvectors is singular, there is no derivative"

    def push(V: Any, w: Any, b: Any, a_dot: Any, b_dot: Any) -> tuple[Any, Any]:
        right_side = product(a_dot, V)
        if b_dot is not None:
            right_side = right_side - product(b_dot, V) * w[..., None, :]
        return eig_pushforward(w, V, solved(V if b is None else product(b, V), right_side), "eig")

    def pull(V: Any, w: Any, b: Any, w_bar: Any, V_bar: Any) -> tuple[Any, Any]:
        if w_bar is None and V_bar is None:
            return np.zeros_like(V), np.zeros_like(V)
        M_bar = eig_pullback(w, V, w_bar, V_bar, "eig")
        Y = solved(adjoint(V if b is None else product(b, V)), M_bar)
        return product(Y, adjoint(V)), product(-(Y * conj(w)[..., None, :]), adjoint(V))

    @singular_means(meaning)
    def both_pushforward(a_dot: Any, b_dot: Any) -> Any:
        w_dot, vr_dot = push(vr, values, b, a_dot, b_dot)
        b_h, b_dot_h = (None, None) if b is None else (adjoint(b), adjoint(b_dot))
        return w_dot, push(vl, conj(values), b_h, adjoint(a_dot), b_dot_h)[1], vr_dot

    @singular_means(meaning)
    def pullback(bars: Any) -> Any:
        w_bar, vl_bar, vr_bar = bars
        a_bar, b_bar = pull(vr, values, b, w_bar, vr_bar)
        b_h = None if b is None else adjoint(b)
        a_h_bar, b_h_bar = pull(vl, conj(values), b_h, None, vl_bar)
        return a_bar + adjoint(a_h_bar), None if b is None else b_bar + adjoint(b_h_bar)

    pushforward = (lambda a_dot: both_pushforward(a_dot, None)) if b is None else both_pushforward
    return (w, vl, vr), Differential(pushforward, pullback, symbolic_zeros=True)


@drop_in(scipy.linalg.eigvals, 2, 2)
def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Differentiable in `a` and `b`, like :func:`eig`.

    Examples
    --------
    >>> import numpy as np
    >>> eigvals(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    array([0.+1.j, 0.-1.j])
    """
    return eig(a, b, right=False, check_finite=check_finite, homogeneous_eigvals=homogeneous_eigvals)
