"""Products and solves with a triangular matrix: ``trmm``, ``trsm``."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.differential import Bilinear, Differential
from lindiff.linalg._backend import fused, fused_trusting, operator, trusting
from lindiff.linalg._matrices import adjoint, conj, op, transposed, triangle

__all__ = ["trmm", "trsm"]

Transpose = bool | str


def _trmm(
    L: Any,
    A: Any,
    transpose: Transpose = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> Any:
    M = op(triangle(L, lower), transpose)
    B = A @ M if rightside else M @ A
    return B if alpha == 1 else alpha * B


def _with_adjoint(function: Any, L: Any, X: Any, transpose: Transpose, **options: Any) -> Any:
    """``trmm`` or ``trsm`` with t(L)ᴴ."""
    if transpose and transpose != "C":
        return conj(function(L, conj(X), transpose=False, **options))
    return function(L, X, transpose=False if transpose else "C", **options)


def _triangle_pullback(Y: Any, X: Any, transpose: Transpose, rightside: bool, lower: bool) -> Any:
    """``tri(Y Xᴴ)``, ``tri(Xᴴ Y)`` on the right side, back through t: what L's cotangent is made of."""
    M_bar = adjoint(X) @ Y if rightside else Y @ adjoint(X)
    return triangle(op(M_bar, transpose), lower)


@fused
def trmm_pullback(
    L: Any,
    A: Any,
    B_bar: Any,
    transpose: Transpose = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    overwrite_b_bar: bool = False,
) -> Any:
    """``L_bar = α tri(B_bar Aᴴ)``, ``A_bar = α t(L)ᴴ B_bar``, and the other cases.

    Seeger et al. (2017), appendix.
    """
    L_bar = alpha * _triangle_pullback(B_bar, A, transpose, rightside, lower)
    return L_bar, _with_adjoint(trmm, L, B_bar, transpose, rightside=rightside, lower=lower, alpha=alpha)


@operator(_trmm)
def trmm(
    L: Any,
    A: Any,
    transpose: Transpose = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    overwrite_a: bool = False,
) -> Any:
    """Product with a triangular matrix, ``B = α t(L) A`` or ``α A t(L)``.

    Parameters
    ----------
    L : (..., m, m) array, or (..., n, n) on the right side
        Only the triangle named by `lower` is read; its gradient is a triangle, too.
    A : (..., m, n) array
    transpose : bool or "C"
        t(L) is L, Lᵀ, or Lᴴ for ``"C"``.
    rightside : bool
        L stands on the right.
    lower : bool
    alpha : float
        Real.
    overwrite_a : bool
        B may overwrite a plain array A.

    Returns
    -------
    (..., m, n) array

    Notes
    -----
    m²n flops, twice that backward.  Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.trmm(np.array([[2.0, 0.0], [1.0, 3.0]]), np.ones((2, 1)))
    array([[2.],
           [4.]])
    """
    options: dict[str, Any] = {"rightside": rightside, "lower": lower, "alpha": alpha}

    def pull_L(B_bar: Any, overwrite: bool = False) -> Any:
        return alpha * _triangle_pullback(B_bar, A, transpose, rightside, lower), None

    def pull_A(B_bar: Any, overwrite: bool = False) -> Any:
        return None, _with_adjoint(trmm, L, B_bar, transpose, **options, overwrite_a=overwrite)

    def pull_both(B_bar: Any, overwrite: bool = False) -> Any:
        return trmm_pullback(L, A, B_bar, transpose=transpose, **options, overwrite_b_bar=overwrite)

    return trmm(L, A, transpose=transpose, **options), Bilinear(
        (
            lambda L_dot: trmm(L_dot, A, transpose=transpose, **options),
            lambda A_dot: trmm(L, A_dot, transpose=transpose, **options),
        ),
        {(0,): pull_L, (1,): pull_A, (0, 1): pull_both},
        overwrites=True,
    )


def _trsm(
    L: Any,
    A: Any,
    transpose: Transpose = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
) -> Any:
    M = op(triangle(L, lower), transpose)
    if rightside:
        M, A = transposed(M), transposed(A)
    B = op(np.linalg.solve(M, A), rightside)
    return B if alpha == 1 else alpha * B


@fused_trusting
def trsm_pullback(
    L: Any,
    B: Any,
    B_bar: Any,
    transpose: Transpose = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    overwrite_b_bar: bool = False,
) -> Any:
    """``A_bar = α t(L)⁻ᴴ B_bar``, ``L_bar = -tri(t(L)⁻ᴴ B_bar Bᴴ)``, and the other cases.

    Seeger et al. (2017), appendix.
    """
    A_bar = _with_adjoint(trsm, L, B_bar, transpose, rightside=rightside, lower=lower)
    L_bar = -_triangle_pullback(A_bar, B, transpose, rightside, lower)
    return L_bar, A_bar if alpha == 1 else alpha * A_bar


@operator(_trsm, divides=True)
def trsm(
    L: Any,
    A: Any,
    transpose: Transpose = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: float = 1.0,
    *,
    overwrite_a: bool = False,
) -> Any:
    """Solve with a triangular matrix, ``B = α t(L)⁻¹ A`` or ``α A t(L)⁻¹``.

    Parameters
    ----------
    L : (..., m, m) array, or (..., n, n) on the right side
        Only the triangle named by `lower` is read; its gradient is a triangle, too.
    A : (..., m, n) array
    transpose : bool or "C"
        t(L) is L, Lᵀ, or Lᴴ for ``"C"``.
    rightside : bool
        L stands on the right.
    lower : bool
    alpha : float
        Real.
    overwrite_a : bool
        B may overwrite a plain array A.

    Returns
    -------
    (..., m, n) array

    Raises
    ------
    numpy.linalg.LinAlgError
        If an entry on the diagonal is zero.

    Notes
    -----
    m²n flops, twice that backward; A is not kept.  Seeger et al. (2017), section 4.2.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.trsm(np.array([[2.0, 0.0], [1.0, 3.0]]), np.array([[2.0], [4.0]]))
    array([[1.],
           [1.]])
    """
    options: dict[str, Any] = {"rightside": rightside, "lower": lower}
    B = trsm(L, A, transpose=transpose, **options, alpha=alpha)

    def push_L(L_dot: Any) -> Any:
        term = trmm(L_dot, B, transpose=transpose, **options)
        with trusting():
            return trsm(L, -term, transpose=transpose, **options)

    def push_A(A_dot: Any) -> Any:
        with trusting():
            return trsm(L, A_dot, transpose=transpose, **options, alpha=alpha)

    def pull_A(B_bar: Any, overwrite: bool = False) -> Any:
        flags: dict[str, Any] = {"alpha": alpha, "overwrite_a": overwrite}
        with trusting():
            return None, _with_adjoint(trsm, L, B_bar, transpose, **options, **flags)

    def pull_both(B_bar: Any, overwrite: bool = False) -> Any:
        flags: dict[str, Any] = {"transpose": transpose, "alpha": alpha, "overwrite_b_bar": overwrite}
        return trsm_pullback(L, B, B_bar, **options, **flags)

    pullbacks = {(0,): pull_both, (1,): pull_A, (0, 1): pull_both}
    return B, Differential((push_L, push_A), pullbacks, linear_in=(1,), overwrites=True)
