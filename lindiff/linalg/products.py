"""Products of general matrices: ``gemm``, ``gemm2``, ``syrk``."""

from __future__ import annotations

from typing import Any

from lindiff.core.differential import Bilinear, Differential
from lindiff.linalg._backend import fused, operator
from lindiff.linalg._matrices import adjoint, conj, op, transposed

__all__ = ["gemm", "gemm2", "syrk"]

Transpose = bool | str


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

    def pull_A(C_bar: Any) -> Any:
        return op(alpha * (C_bar @ adjoint(op(B, transpose_b))), transpose_a)

    def pull_B(C_bar: Any) -> Any:
        return op(alpha * (adjoint(op(A, transpose_a)) @ C_bar), transpose_b)

    return gemm2(A, B, **options), Bilinear(
        (lambda A_dot: gemm2(A_dot, B, **options), lambda B_dot: gemm2(A, B_dot, **options)),
        (pull_A, pull_B),
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

    def pull_A(D_bar: Any) -> Any:
        return op(alpha * (D_bar @ adjoint(op(B, transpose_b))), transpose_a)

    def pull_B(D_bar: Any) -> Any:
        return op(alpha * (adjoint(op(A, transpose_a)) @ D_bar), transpose_b)

    return gemm(A, B, C, **options, beta=beta), Differential(
        (
            lambda A_dot: gemm2(A_dot, B, **options),
            lambda B_dot: gemm2(A, B_dot, **options),
            lambda C_dot: beta * C_dot,
        ),
        (pull_A, pull_B, lambda D_bar: beta * D_bar),
    )


def _syrk(A: Any, transpose: Transpose = False, alpha: float = 1.0) -> Any:
    B = op(A, transpose) @ A if transpose else A @ transposed(A)
    return B if alpha == 1 else alpha * B


@fused
def syrk_pullback(A: Any, B_bar: Any, transpose: Transpose = False, alpha: float = 1.0) -> Any:
    """``A_bar = α (B_bar + B_barᵀ) Ā``, ``α Ā (B_bar + B_barᵀ)``, or ``α A (B_bar + B_barᴴ)`` for ``"C"``.

    Seeger et al. (2017), section 4.2.
    """
    if transpose == "C":
        return alpha * (A @ (B_bar + adjoint(B_bar)))
    twice = B_bar + transposed(B_bar)
    return alpha * (conj(A) @ twice if transpose else twice @ conj(A))


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

    return syrk(A, transpose=transpose, alpha=alpha), Differential(
        pushforward,
        lambda B_bar: syrk_pullback(A, B_bar, transpose=transpose, alpha=alpha),
    )
