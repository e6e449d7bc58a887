"""The symmetric eigendecomposition: ``syevd``."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.kernels import nearly_equal
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import fused, operator
from lindiff.linalg._degeneracy import has_repeated
from lindiff.linalg._equal_eigenvalues import EqualEigenvalues
from lindiff.linalg._matrices import adjoint, conj, hermitian_part
from lindiff.linalg._one_triangle import OneTriangle
from lindiff.linalg.eigenvectors import eigh_pullback, eigh_pushforward

__all__ = ["syevd"]


def _syevd(A: Any) -> Any:
    lam, V = np.linalg.eigh(A)
    U = adjoint(V)
    if U.size == 0:
        return U, lam
    pivot = np.take_along_axis(U, np.argmax(np.abs(U), axis=-1)[..., None], axis=-1)
    phase = np.where(pivot == 0, 1, np.sign(pivot)).astype(U.dtype)
    return conj(phase) * U, lam


def formula_pullback(U: Any, lam: Any, U_bar: Any, lam_bar: Any) -> Any:
    """``A_bar = Uᴴ (sym(U_bar Uᴴ ∘ F) + diag λ_bar) U``, ``F_ij = 1 / h(λ_i - λ_j)``.

    Seeger et al. (2017), section 4.4: that of ``eigh``, with ``V = Uᴴ``.
    """
    V_bar = None if U_bar is None else adjoint(U_bar)
    return hermitian_part(
        product(adjoint(U), product(eigh_pullback(lam, adjoint(U), lam_bar, V_bar, "syevd"), U))
    )


def formula_pushforward(U: Any, lam: Any, A_dot: Any) -> Any:
    """``dλ = diag(M)``, ``dU = (M ∘ F) U``, ``M = U A_dot Uᴴ``; Seeger et al. (2017), appendix."""
    lam_dot, S = eigh_pushforward(lam, product(U, A_dot, adjoint(U)), "syevd")
    return product(adjoint(S), U), lam_dot


@fused
def syevd_pullback(U: Any, lam: Any, U_bar: Any, lam_bar: Any) -> Any:
    """The kernel has the same policy for repeated eigenvalues, but does not warn."""
    return formula_pullback(U, lam, U_bar, lam_bar)


@fused
def syevd_pushforward(U: Any, lam: Any, A_dot: Any) -> Any:
    return formula_pushforward(U, lam, A_dot)


def _pushforward(U: Any, lam: Any, M: OneTriangle, values: Any, A_dot: Any) -> Any:
    M_dot = M.tangent(A_dot)
    if not (nearly_equal if type(lam) is np.ndarray else has_repeated)(lam):
        return syevd_pushforward(U, lam, M_dot)
    U_dot, lam_dot = formula_pushforward(U, lam, M_dot)
    return U_dot, lam_dot if values is None else values.pushforward(A_dot)


def _pullback(U: Any, lam: Any, M: OneTriangle, values: Any, U_bar: Any, lam_bar: Any) -> Any:
    if not (nearly_equal if type(lam) is np.ndarray else has_repeated)(lam):
        return M.gradient(syevd_pullback(U, lam, U_bar, lam_bar), True)
    if values is None or lam_bar is None:
        return M.gradient(formula_pullback(U, lam, U_bar, lam_bar))
    A_bar = values.pullback(lam_bar)
    if U_bar is None:
        return A_bar  # else the vectors know of the values
    return A_bar + M.gradient(formula_pullback(U, lam, U_bar, 0 * lam_bar))


@operator(_syevd, (_pushforward, _pullback))
def syevd(A: Any, *, overwrite_a: bool = False) -> Any:
    """Eigendecomposition of a symmetric matrix, ``A = Uᵀ diag(λ) U``.

    Parameters
    ----------
    A : (..., n, n) array
        Only the lower triangle is read; A stands for a symmetric (complex: Hermitian) matrix.  Its gradient
        is symmetric, too, but for entries whose mirror image differs or is exactly zero: they have the whole
        derivative in the lower triangle.
    overwrite_a : bool
        U may overwrite a plain array A.

    Returns
    -------
    U : (..., n, n) array
        Rows are eigenvectors; the entry of largest absolute value in each is positive (of two, the first).
    lam : (..., n) array
        Eigenvalues, ascending.

    Warns
    -----
    RuntimeWarning
        Where two eigenvalues agree to rounding and the derivative depends on their eigenvectors: names them.

    Notes
    -----
    Gaps are replaced by ``h(t) = max(|t|, ε) sgn(t)``; where a function does not depend on the choice of
    eigenvectors the terms of repeated eigenvalues vanish; else a warning names the pair.  Seeger et al.
    (2017), section 4.4.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.linalg.syevd(np.array([[2.0, 0.0], [0.0, 1.0]]))
    (array([[0., 1.],
           [1., 0.]]), array([1., 2.]))
    """
    U, lam = syevd(A)
    values = EqualEigenvalues.of(A, lam, "L", "syevd")
    return [U, lam if values is None else values.w], U, lam, OneTriangle(A, True), values
