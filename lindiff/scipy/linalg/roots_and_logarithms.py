"""Square roots, signs, logarithms and powers of matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

import lindiff.linalg
from lindiff._docstrings import documented_like
from lindiff.core.differential import Differential
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import operator
from lindiff.linalg._matrices import adjoint, block_triangle, upper_right
from lindiff.scipy.linalg._arguments import is_plain
from lindiff.scipy.linalg._functions import (
    UNSET,
    given,
    inexact,
    of_scipy,
    primary,
    square_matrix,
    with_options,
)
from lindiff.scipy.linalg.matrix_equations import Sylvester, trsyl

__all__ = ["fractional_matrix_power", "logm", "signm", "sqrtm"]


# -- square root, sign -----------------------------------------------------------------------------------


def _plain_sqrtm(A: Any) -> Any:
    """SciPy's square root, in the precision of a complex A."""
    A = square_matrix(A, "sqrtm")
    X = of_scipy(scipy.linalg.sqrtm, A)
    # older versions give a complex matrix twice its precision
    return X.astype(A.dtype, copy=False) if A.dtype.char in "FD" else X


@operator(_plain_sqrtm)
def _sqrtm(A: Any) -> Any:
    """``X L + L X = E``; Higham (2008), equation (6.3)."""
    X = _sqrtm(A)

    @functools.cache
    def equation() -> Sylvester:
        found = Sylvester(X, X)
        found.singular = "sqrtm: A is singular, to rounding, or has eigenvalues astride the branch cut"
        return found

    return X, primary(lambda E: equation().solve(E))


@documented_like(scipy.linalg.sqrtm)
def sqrtm(A: Any, disp: Any = UNSET, blocksize: Any = UNSET) -> Any:
    """Differentiable in `A`, unless it is singular.

    Warns
    -----
    scipy.linalg.LinAlgWarning
        As SciPy does where A is singular or ill-conditioned (older versions print a message).

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if A is singular: the root has none there.

    Notes
    -----
    The derivative solves ``X L + L X = A_dot`` with the Schur form of X: 25n³ flops for it, 10n³ for each
    solution.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import sqrtm
    >>> sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]]))
    array([[2., 0.],
           [0., 3.]])
    """
    return with_options(_sqrtm, scipy.linalg.sqrtm, A, **given(disp=disp, blocksize=blocksize))


@operator(functools.partial(of_scipy, scipy.linalg.signm))
def _signm(A: Any) -> Any:
    """``N L + L N = E - S E S`` with ``N = S A``; Higham (2008), theorem 5.3."""
    S = _signm(A)

    @functools.cache
    def equation() -> Sylvester:
        N = product(S, A)
        found = Sylvester(N, N)
        found.singular = "signm: A has an eigenvalue on the imaginary axis, to rounding"
        return found

    return S, primary(lambda E: equation().solve(E - product(S, E, S)))


@documented_like(scipy.linalg.signm)
def signm(A: Any, disp: Any = UNSET) -> Any:
    """Differentiable in `A`, unless an eigenvalue lies on the imaginary axis.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if an eigenvalue lies on the imaginary axis.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import signm
    >>> signm(np.diag([2.0, -3.0]))
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    return with_options(_signm, scipy.linalg.signm, A, **given(disp=disp))


# -- logarithm, powers -----------------------------------------------------------------------------------

# Gauss's nodes and weights on [0, 1]: the Padé approximant of log(I + Y) is the sum of w (I + x Y)⁻¹ Y.
_nodes, _weights = np.polynomial.legendre.leggauss(7)
NODES, WEIGHTS = (_nodes + 1) / 2, _weights / 2
NEAR_ONE = 0.25  # up to this norm of Y its derivative is exact to rounding
MOST_ROOTS = 100


class _Logarithm:
    """A matrix, decomposed for the derivative of its logarithm: roots of its Schur form, down to near I.

    Al-Mohy, Higham and Relton (2013): ``log A = 2ˢ log A^(1/2ˢ)``, each root differentiated by a Sylvester
    equation of triangles, the last logarithm by its Padé approximant.
    """

    def __init__(self, A: Any) -> None:
        T, self.Z = scipy.linalg.schur(A)
        if T.dtype.kind != "c":  # real eigenvalues stay real: rounding must not choose the side of the cut
            T, self.Z = scipy.linalg.rsf2csf(T, self.Z)
        if not np.abs(np.diagonal(T)).min(initial=np.inf) > np.finfo(T.dtype).tiny:
            raise np.linalg.LinAlgError("logm: A is singular: its logarithm has no derivative")
        one = np.eye(len(T), dtype=T.dtype)
        self.roots: list[Any] = []
        while not np.abs(T - one).sum(axis=0).max(initial=0.0) <= NEAR_ONE:
            T = np.triu(scipy.linalg.sqrtm(T)).astype(T.dtype)
            self.roots.append(T)
            if len(self.roots) > MOST_ROOTS or not np.isfinite(T).all():
                raise np.linalg.LinAlgError("logm: the square roots of A do not converge to the identity")
        self.near = [one + T.dtype.type(x) * (T - one) for x in NODES]

    def derivative(self, E: Any) -> Any:
        """The derivative of the logarithm in the direction E."""
        E = product(adjoint(self.Z), E, self.Z)
        for root in self.roots:
            E = trsyl(root, root, E, ("N", "N"))[0]
        terms = [w * self.between(M, E) for w, M in zip(WEIGHTS.tolist(), self.near, strict=True)]
        return 2.0 ** len(self.roots) * product(self.Z, sum(terms), adjoint(self.Z))

    @staticmethod
    def between(M: Any, E: Any) -> Any:
        """``M⁻¹ E M⁻¹``, M triangular."""
        left = scipy.linalg.solve_triangular(M, E, check_finite=False)
        return scipy.linalg.solve_triangular(M, left.T, trans="T", check_finite=False).T


def _logarithms(A: Any) -> Any:
    """One `_Logarithm` for each matrix of a batch."""
    found = np.empty(A.shape[:-2], dtype=object)
    for index in np.ndindex(*found.shape):
        try:
            found[index] = _Logarithm(A[index])
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(f"{error} (batch index {index})" if index else str(error)) from error
    return found


def _derivatives(logarithms: Any, E: Any) -> Any:
    """The derivative of each along its E."""
    batch = np.broadcast_shapes(logarithms.shape, E.shape[:-2])
    logarithms, E = np.broadcast_to(logarithms, batch), np.broadcast_to(E, (*batch, *E.shape[-2:]))
    L = np.empty(E.shape, np.result_type(E, np.complex64))
    for index in np.ndindex(*batch):
        L[index] = logarithms[index].derivative(E[index])
    return L


def _derivative_by_blocks(A: Any, E: Any) -> Any:
    """``L(A, E)`` of the logarithm; real blocks for a real A, so that its real eigenvalues stay real."""
    if A.dtype.kind != "c" and E.dtype.kind == "c":
        return _derivative_by_blocks(A, E.real) + 1j * _derivative_by_blocks(A, E.imag)
    return upper_right(_logm(block_triangle(A, E)))


def _derivative_of_logm(A: Any, X: Any) -> Callable[[Any], Any]:
    """``E -> L(A, E)``, ``X = log A``."""

    @functools.cache
    def logarithms() -> Any:
        return _logarithms(A)

    def L(E: Any) -> Any:
        if not is_plain(A, E):
            return _derivative_by_blocks(A, E)
        found = _derivatives(logarithms(), E)
        return found.real if X.dtype.kind != "c" and E.dtype.kind != "c" else found

    return L


@operator(functools.partial(of_scipy, scipy.linalg.logm))
def _logm(A: Any) -> Any:
    X = _logm(A)
    return X, primary(_derivative_of_logm(A, X))


@documented_like(scipy.linalg.logm)
def logm(A: Any, disp: Any = UNSET) -> Any:
    """Differentiable in `A`, unless it is singular.

    Warns
    -----
    RuntimeWarning
        As SciPy does where the result may be inaccurate.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if A is singular.

    Notes
    -----
    The derivative takes the square roots of the Schur form of A, which serve both directions, and a Sylvester
    equation of triangles for each of them: Al-Mohy, Higham and Relton (2013).

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import logm
    >>> logm(np.array([[1.0, 1.0], [0.0, 1.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    return with_options(_logm, scipy.linalg.logm, A, **given(disp=disp))


def _plain_power(A: Any, t: Any) -> Any:
    return of_scipy(scipy.linalg.fractional_matrix_power, A, t)


@operator(_plain_power)
def _power(A: Any, t: Any) -> Any:
    """``Aᵗ = exp(t M)``, ``M = log A``: ``L(A, E) = L_exp(t M, t L_log(A, E))``, ``∂/∂t = M Aᵗ``."""
    X = _power(A, t)
    real = X.dtype.kind != "c"

    @functools.cache
    def logarithm() -> tuple[Any, Any]:
        # in single precision SciPy's logarithm warns that it is inaccurate
        B = A.astype(np.result_type(A.dtype, np.float64))
        M = _logm(B)
        return M, _derivative_of_logm(B, M)

    def L(E: Any) -> Any:
        M, L_log = logarithm()
        found = lindiff.linalg.expm_frechet(t * M, t * L_log(E))
        return found.real if real and E.dtype.kind != "c" else found

    def change() -> Any:
        found = product(logarithm()[0], X)
        return found.real if real else found

    return X, Differential(
        (L, lambda t_dot: change() * t_dot),
        (
            lambda X_bar: adjoint(L(adjoint(X_bar))),
            lambda X_bar: np.sum(np.real(np.conjugate(change()) * X_bar)),
        ),
    )


@documented_like(scipy.linalg.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Differentiable in `A` and `t`.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if A is singular and t not an integer.

    Notes
    -----
    An integer t gives ``np.linalg.matrix_power``.  The derivative is that of ``expm(t * logm(A))``.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import fractional_matrix_power
    >>> fractional_matrix_power(np.array([[4.0, 0.0], [0.0, 9.0]]), 0.5)
    array([[2., 0.],
           [0., 3.]])
    """
    if is_plain(A, t):
        return _plain_power(A, t)
    A = inexact(square_matrix(A, "fractional_matrix_power"))
    if is_plain(t) and t == int(t):
        return np.linalg.matrix_power(A, int(t))
    return _power(A, t)
