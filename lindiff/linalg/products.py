"""Products of general matrices: ``gemm``, ``gemm2``, ``syrk``."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Bilinear, Differential
from lindiff.linalg._backend import fused, operator
from lindiff.linalg._matrices import adjoint, conj, op, transposed

__all__ = ["gemm", "gemm2", "syrk"]

Transpose = bool | str


def _conj_of(X: Any, transpose: Transpose) -> tuple[Any, Transpose]:
    """(Y, flag) with t(Y) the conjugate of t(X)."""
    if transpose:
        return X, True if transpose == "C" else "C"
    return conj(X), False


def _adjoint_of(X: Any, transpose: Transpose) -> tuple[Any, Transpose]:
    """(Y, flag) with t(Y) the adjoint of t(X)."""
    if transpose:
        return (X if transpose == "C" else conj(X)), False
    return X, "C"


def _product_onto(
    C: Any, A: Any, B: Any, transpose_a: Transpose, transpose_b: Transpose, alpha: float
) -> Any:
    """``α t(A) t(B)``, added to C in place where there is one."""
    if C is None:
        return gemm2(A, B, transpose_a, transpose_b, alpha)
    return gemm(A, B, C, transpose_a, transpose_b, alpha, overwrite_c=True)


def _left_pullback(
    C_bar: Any, B: Any, transpose_a: Transpose, transpose_b: Transpose, alpha: float, onto: Any = None
) -> Any:
    """``A_bar = α t(C_bar t(B)ᴴ)``, t of `transpose_a`, as one product for C = α t(A) t(B)."""
    if transpose_a == "C":
        return _product_onto(onto, B, C_bar, transpose_b, "C", alpha)
    if transpose_a:
        B, transpose_b = _conj_of(B, transpose_b)
        return _product_onto(onto, B, C_bar, transpose_b, True, alpha)
    B, transpose_b = _adjoint_of(B, transpose_b)
    return _product_onto(onto, C_bar, B, False, transpose_b, alpha)


def _right_pullback(
    C_bar: Any, A: Any, transpose_a: Transpose, transpose_b: Transpose, alpha: float, onto: Any = None
) -> Any:
    """``B_bar = α t(t(A)ᴴ C_bar)``, the outer t of `transpose_b`, as one product."""
    if transpose_b == "C":
        return _product_onto(onto, C_bar, A, "C", transpose_a, alpha)
    if transpose_b:
        A, transpose_a = _conj_of(A, transpose_a)
        return _product_onto(onto, C_bar, A, True, transpose_a, alpha)
    A, transpose_a = _adjoint_of(A, transpose_a)
    return _product_onto(onto, A, C_bar, transpose_a, False, alpha)


def _not_broadcast(C: Any, *factors: Any) -> tuple[int, ...]:
    """Which factors have the leading axes of their product; constants may be lists."""
    return tuple(i for i, A in enumerate(factors) if np.shape(A)[:-2] == C.shape[:-2])


def _gemm2(
    A: Any, B: Any, transpose_a: Transpose = False, transpose_b: Transpose = False, alpha: float = 1.0
) -> Any:
    C = op(A, transpose_a) @ op(B, transpose_b)
    return C if alpha == 1 else alpha * C


@operator(_gemm2)
def gemm2(
    A: Any, B: Any, transpose_a: Transpose = False, transpose_b: Transpose = False, alpha: float = 1.0
) -> Any:
    """Matrix product ``C = α t(A) t(B)``.

    Parameters
    ----------
    A, B : (..., m, k), (..., k, n) array
        After transposition; leading axes are broadcast.
    transpose_a, transpose_b : bool or "C"
        t(X) is X, Xᵀ, or Xᴴ for ``"C"``.
    alpha : float
        Real.

    Returns
    -------
    (..., m, n) array

    Notes
    -----
    2mkn flops, twice that backward.  Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.gemm2(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]), transpose_b=True, alpha=2.0)
    array([[22.]])
    """
    options: dict[str, Any] = {"transpose_a": transpose_a, "transpose_b": transpose_b, "alpha": alpha}
    C = gemm2(A, B, **options)
    return C, Bilinear(
        (lambda A_dot: gemm2(A_dot, B, **options), lambda B_dot: gemm2(A, B_dot, **options)),
        (
            lambda C_bar, onto=None: _left_pullback(C_bar, B, **options, onto=onto),
            lambda C_bar, onto=None: _right_pullback(C_bar, A, **options, onto=onto),
        ),
        accumulates=_not_broadcast(C, A, B),
    )


def _gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_a: Transpose = False,
    transpose_b: Transpose = False,
    alpha: float = 1.0,
    beta: float = 1.0,
) -> Any:
    return alpha * (op(A, transpose_a) @ op(B, transpose_b)) + beta * C


@operator(_gemm)
def gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_a: Transpose = False,
    transpose_b: Transpose = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    *,
    overwrite_c: bool = False,
) -> Any:
    """Matrix product onto a matrix, ``α t(A) t(B) + β C``.

    Parameters
    ----------
    A, B, C : (..., m, k), (..., k, n), (..., m, n) array
        A and B after transposition; leading axes are broadcast.
    transpose_a, transpose_b : bool or "C"
        t(X) is X, Xᵀ, or Xᴴ for ``"C"``.
    alpha, beta : float
        Real.
    overwrite_c : bool
        The result may overwrite a plain array C.

    Returns
    -------
    (..., m, n) array

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.gemm(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]), np.array([[1.0]]), beta=-1.0)
    array([[10.]])
    """
    options: dict[str, Any] = {"transpose_a": transpose_a, "transpose_b": transpose_b, "alpha": alpha}
    D = gemm(A, B, C, **options, beta=beta)
    return D, Differential(
        (
            lambda A_dot: gemm2(A_dot, B, **options),
            lambda B_dot: gemm2(A, B_dot, **options),
            lambda C_dot: beta * C_dot,
        ),
        (
            lambda D_bar, onto=None: _left_pullback(D_bar, B, **options, onto=onto),
            lambda D_bar, onto=None: _right_pullback(D_bar, A, **options, onto=onto),
            lambda D_bar: beta * D_bar,
        ),
        accumulates=_not_broadcast(D, A, B),
    )


def _syrk(A: Any, transpose: Transpose = False, alpha: float = 1.0) -> Any:
    B = op(A, transpose) @ A if transpose else A @ transposed(A)
    return B if alpha == 1 else alpha * B


@fused
def syrk_pullback(
    A: Any,
    B_bar: Any,
    transpose: Transpose = False,
    alpha: float = 1.0,
    A_bar: Any = None,
    *,
    overwrite_a_bar: bool = False,
) -> Any:
    """``A_bar += α (B_bar + B_barᵀ) Ā``, ``α Ā (B_bar + B_barᵀ)``, or ``α A (B_bar + B_barᴴ)`` for ``"C"``.

    Seeger et al. (2017), section 4.2.
    """
    if transpose == "C":
        term = alpha * (A @ (B_bar + adjoint(B_bar)))
    else:
        twice = B_bar + transposed(B_bar)
        term = alpha * (conj(A) @ twice if transpose else twice @ conj(A))
    return term if A_bar is None else A_bar + term


@operator(_syrk)
def syrk(A: Any, transpose: Transpose = False, alpha: float = 1.0) -> Any:
    """Product of a matrix with its own transpose, ``B = α A Aᵀ`` or ``α Aᵀ A``.

    Parameters
    ----------
    A : (..., m, n) array
    transpose : bool or "C"
        False: A Aᵀ; True: Aᵀ A; ``"C"``: Aᴴ A.
    alpha : float
        Real.

    Returns
    -------
    (..., m, m) or (..., n, n) array
        Both triangles are filled in.

    Notes
    -----
    m²n flops (half of a general product), twice that backward: ``A_bar = 2α sym(B_bar) A`` for real A.
    Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.syrk(np.array([[1.0, 2.0]]), transpose=True)
    array([[1., 2.],
           [2., 4.]])
    """

    def pushforward(A_dot: Any) -> Any:
        if not transpose:
            half = A_dot @ transposed(A)
            return alpha * (half + transposed(half))
        half = op(A_dot, transpose) @ A
        return alpha * (half + op(half, transpose))

    def pullback(B_bar: Any, onto: Any = None) -> Any:
        return syrk_pullback(A, B_bar, transpose, alpha, onto, overwrite_a_bar=True)

    return syrk(A, transpose=transpose, alpha=alpha), Differential(pushforward, (pullback,), accumulates=(0,))
