"""Singular values and vectors, and what is made of them: range, null space, polar decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import operator
from lindiff.linalg._degeneracy import over_gaps, without_rotation
from lindiff.linalg._matrices import adjoint, hermitian_part
from lindiff.linalg.factors import solved
from lindiff.linalg.symmetric_eigen import syevd
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.linalg._arguments import as_checked, singular_means

__all__ = ["null_space", "orth", "polar", "svd", "svdvals"]


# -- singular values -----------------------------------------------------------------------------------------


@drop_in(scipy.linalg.svd, 2, anywhere=True)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Differentiable in `a`.

    What square U and Vh hold beyond the first ``min(m, n)`` vectors has a derivative only in functions of the
    space that it spans.  `lapack_driver` is for plain arrays.

    Raises
    ------
    ValueError
        If `a` is no matrix, has an entry that is not finite, or the driver is unknown.

    Warns
    -----
    RuntimeWarning
        Where the derivative depends on vectors of equal singular values, or on the phases of complex vectors,
        which are arbitrary.

    Notes
    -----
    ``numpy.linalg.svd`` on Variables: signs of vectors may differ from those for plain arrays.

    Examples
    --------
    >>> import numpy as np
    >>> svd(np.diag([1.0, 3.0]), compute_uv=False)
    array([3., 1.])
    """
    if lapack_driver not in ("gesdd", "gesvd"):
        raise ValueError(f'svd: lapack_driver must be "gesdd" or "gesvd", got {lapack_driver!r}')
    a = as_checked(a, check_finite)
    if not compute_uv:
        return np.linalg.svd(a, compute_uv=False)
    return tuple(np.linalg.svd(a, full_matrices=full_matrices))


@drop_in(scipy.linalg.svdvals, 2, anywhere=True)
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Differentiable in `a`.

    Examples
    --------
    >>> import numpy as np
    >>> svdvals(np.array([[3.0], [4.0]]))
    array([5.])
    """
    return np.linalg.svd(as_checked(a, check_finite), compute_uv=False)


@drop_in(scipy.linalg.orth, 2)
def orth(A: Any, rcond: float | None = None) -> Any:
    """Differentiable in `A`, whose rank must be the same throughout a batch and under small changes.

    Warns
    -----
    RuntimeWarning
        Where the derivative depends on the choice of the basis, which is arbitrary.

    Notes
    -----
    ``Q_dot = (I - Q Qᴴ) A_dot A⁺ Q``; Golub and Pereyra (1973).

    Examples
    --------
    >>> import numpy as np
    >>> Q = orth(np.ones((2, 2)))
    >>> np.round(Q @ Q.T, 3)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    return _orth(A, _relative_cutoff(A, rcond))


@rule
def _orth(A: Any, rcond: float) -> Any:
    """A basis Q of the range; formula at :func:`orth`."""
    Q = orth(A, rcond)
    P = np.linalg.pinv(A, rcond)

    def beside(X: Any) -> Any:
        return X - product(Q, product(adjoint(Q), X))

    def pullback(Q_bar: Any) -> Any:
        without_rotation(product(adjoint(Q), Q_bar), "orth", scale=Q_bar, space="range")
        return product(beside(Q_bar), adjoint(product(P, Q)))

    return Q, Differential((lambda A_dot: beside(product(A_dot, product(P, Q))),), (pullback,))


@drop_in(scipy.linalg.null_space, 2)
def null_space(
    A: Any,
    rcond: float | None = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Differentiable in `A`, whose rank must be the same throughout a batch and under small changes.

    `lapack_driver` is for plain arrays.

    Warns
    -----
    RuntimeWarning
        Where the derivative depends on the choice of the basis, which is arbitrary.

    Notes
    -----
    ``N_dot = -A⁺ A_dot N``; Golub and Pereyra (1973).

    Examples
    --------
    >>> import numpy as np
    >>> np.abs(null_space(np.array([[1.0, 0.0]])))
    array([[0.],
           [1.]])
    """
    A = as_checked(A, check_finite)
    return _null_space(A, _relative_cutoff(A, rcond))


@rule
def _null_space(A: Any, rcond: float) -> Any:
    """A basis N of the null space; formula at :func:`null_space`."""
    N = null_space(A, rcond)
    P = np.linalg.pinv(A, rcond)

    def pullback(N_bar: Any) -> Any:
        without_rotation(product(adjoint(N), N_bar), "null_space", scale=N_bar)
        return -product(adjoint(P), N_bar, adjoint(N))

    return N, Differential((lambda A_dot: -product(P, product(A_dot, N)),), (pullback,))


def _relative_cutoff(A: Any, rcond: float | None) -> float:
    return float(np.finfo(A.dtype).eps) * max(A.shape[-2:]) if rcond is None else rcond


# -- the polar decomposition ---------------------------------------------------------------------------------


@drop_in(scipy.linalg.polar, 2)
def polar(a: Any, side: str = "right") -> Any:
    """Differentiable in `a`, where it has full rank.

    Raises
    ------
    ValueError
        If `a` is no matrix, or `side` unknown.

    Warns
    -----
    RuntimeWarning
        From the derivative, where a square `a` has no full rank.  One that is not square raises a
        ``LinAlgError`` there.

    Notes
    -----
    ``u_dot = u Ω + (I - u uᴴ) a_dot p⁻¹`` with ``p Ω + Ω p = uᴴ a_dot - a_dotᴴ u``; Higham (2008), Functions
    of Matrices, theorem 8.9.  Equal singular values do not matter.

    Examples
    --------
    >>> import numpy as np
    >>> u, p = polar(np.array([[0.0, 2.0], [1.0, 0.0]]))
    >>> p
    array([[1., 0.],
           [0., 2.]])
    """
    if side not in ("right", "left"):
        raise ValueError(f"polar: side must be 'right' or 'left', got {side!r}")
    a = as_checked(a, False)
    if a.ndim < 2:
        raise ValueError(f"polar: a must be a matrix, got shape {a.shape}")
    wide = a.shape[-2] < a.shape[-1]
    u = adjoint(_isometry(adjoint(a))) if wide else _isometry(a)
    return u, hermitian_part(product(adjoint(u), a) if side == "right" else product(a, adjoint(u)))


@rule
def _isometry(a: Any) -> Any:
    """The factor u of a matrix with at least as many rows as columns; its differential is its own adjoint."""
    u, p = polar(a)
    square = a.shape[-2] == a.shape[-1]

    def differential(a_dot: Any) -> Any:
        across = product(adjoint(u), a_dot)
        u_dot = product(u, _anticommutator(p, across - adjoint(across)))
        if square:
            return u_dot
        with singular_means("polar: of a matrix without full rank, u has no derivative"):
            return u_dot + adjoint(solved(p, adjoint(a_dot - product(u, across))))

    return u, Differential((differential,), (differential,))


def _anticommutator_value(P: Any, C: Any) -> Any:
    """The solution Ω of ``P Ω + Ω P = C`` by the eigenvectors of P."""
    U, w = syevd(P)
    V = adjoint(U)
    inside = product(adjoint(V), C, V)
    sums = w[..., :, None] + w[..., None, :]
    return product(V, over_gaps(inside, sums, inside, w, "polar"), adjoint(V))


@operator(_anticommutator_value)
def _anticommutator(P: Any, C: Any) -> Any:
    """X of ``P X + X P = C``, P Hermitian: its own adjoint in C."""
    X = _anticommutator(P, C)

    def push_P(P_dot: Any) -> Any:
        return _anticommutator(P, -(product(P_dot, X) + product(X, P_dot)))

    def pull_P(X_bar: Any) -> Any:
        Y = _anticommutator(P, X_bar)
        return -(product(Y, adjoint(X)) + product(adjoint(X), Y)), Y

    def pull_C(X_bar: Any) -> Any:
        return None, _anticommutator(P, X_bar)

    return X, Differential(
        (push_P, lambda C_dot: _anticommutator(P, C_dot)), {(0,): pull_P, (1,): pull_C, (0, 1): pull_P}
    )
