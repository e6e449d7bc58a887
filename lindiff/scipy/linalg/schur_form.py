"""The Schur form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._backend import operator
from lindiff.linalg._degeneracy import over_gaps, without_gauge
from lindiff.linalg._matrices import adjoint, blocks, largest
from lindiff.linalg.diagonals import extractdiag, makediag
from lindiff.linalg.eigenvectors import gaps
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.linalg._arguments import as_checked, require_square

__all__ = ["schur"]

Sort = str | Callable[..., Any] | None


@drop_in(scipy.linalg.schur, 2)
def schur(
    a: Any,
    output: str = "real",
    lwork: int | None = None,
    overwrite_a: bool = False,
    sort: Sort = None,
    check_finite: bool = True,
) -> Any:
    """T and Z are differentiable in `a`, where its eigenvalues are distinct.

    In the real form, a pair of complex eigenvalues gives a block ``[[x, y], [z, x]]``, where ``y z < 0``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the Schur form is not found.  From the derivative, where a block of size 2 is normal (``y = -z``),
        so that any rotation of it would do: ``output='complex'`` has a derivative there.
    ValueError
        If `a` is not square, has an entry that is not finite, or an option is unknown.

    Warns
    -----
    RuntimeWarning
        Where eigenvalues agree to rounding and the derivative depends on how they part; where the
        function depends on the phases of a complex Z, which are arbitrary.

    Notes
    -----
    ``Z_dot = Z X``, ``T_dot = M - X T + T X`` with ``M = Zᴴ a_dot Z`` and X skew-Hermitian; what is below the
    diagonal of X makes what is below that of T_dot zero.  6n³ flops, n steps, for the derivative; about 25n³
    for the value.

    Examples
    --------
    >>> import numpy as np
    >>> T, Z = schur(np.array([[0.0, 2.0], [-1.0, 0.0]]), output="complex")
    >>> np.round(np.sort(np.diagonal(T).imag), 3)
    array([-1.414,  1.414])
    """
    a = as_checked(a, check_finite)
    require_square(a, "schur")
    T, Z, *sdim = _schur(a, output, sort)
    return T, Z, *sdim


@rule
def _schur(a: Any, output: str, sort: Sort) -> Any:
    """T, Z and with `sort` how many eigenvalues come first; formulas at :func:`schur`."""
    T, Z, *sdim = schur(a, output, sort=sort, check_finite=False)
    within, below = blocks(value(T))
    upper = 1 - below
    rotations = _Rotations(T) if np.tril(within, -1).any() else None

    def commutator(X: Any) -> Any:
        return product(X, T) - product(T, X)

    def commutator_adjoint(Y: Any) -> Any:
        return product(Y, adjoint(T)) - product(adjoint(T), Y)

    def pushforward(a_dot: Any) -> Any:
        M = product(adjoint(Z), a_dot, Z)
        X = _below_commutator(T, M)
        X = X - adjoint(X)
        T_dot = M - commutator(X)
        if rotations is not None:
            R = rotations.push(T_dot)
            X, T_dot = X + R, T_dot - commutator(R)
        return upper * T_dot, product(Z, X), *(None for _ in sdim)

    def pullback(bars: Any) -> Any:
        T_bar, Z_bar = bars[:2]
        M_bar = np.zeros_like(T) if T_bar is None else upper * T_bar
        K = np.zeros_like(Z) if Z_bar is None else product(adjoint(Z), Z_bar)
        X_bar = K - commutator_adjoint(M_bar)
        if rotations is not None:
            M_bar = M_bar + rotations.pull(X_bar)
            X_bar = K - commutator_adjoint(M_bar)
        size = largest(np.abs(value(T)))
        without_gauge(X_bar, np.abs(value(K)) + size * np.abs(value(M_bar)), "schur")
        M_bar = M_bar + _below_commutator(T, X_bar - adjoint(X_bar), transposed=True)
        return product(Z, M_bar, adjoint(Z))

    return (T, Z, *sdim), Differential((pushforward,), (pullback,), symbolic_zeros=True)


def _pairs(T: Any) -> Any:
    """Whether the rows i and i + 1 of a plain T make a block of size 2."""
    return np.diagonal(T, -1, -2, -1) != 0


class _Rotations:
    """The turns x in each block of size 2, ``R = x J`` with ``J = [[0, -1], [1, 0]]``.

    They keep the entries on the diagonal of a block ``[[., y], [z, .]]`` of T equal:
    ``2 (y + z) x = T_dot₂₂ - T_dot₁₁``, with the T_dot that would be without them.
    """

    def __init__(self, T: Any) -> None:
        self.pairs = _pairs(value(T))
        y, z = extractdiag(T, 1), extractdiag(T, -1)
        self.sums = np.where(self.pairs, 2 * (y + z), 1.0).astype(T.dtype)
        rounding = 100 * np.finfo(T.dtype).eps * (np.abs(value(y)) + np.abs(value(z)))
        self.normal = self.pairs & (np.abs(value(self.sums)) <= rounding)

    def over_sums(self, differences: Any) -> Any:
        """Differences of diagonal entries, over ``2 (y + z)`` of each block of size 2 and 0 elsewhere."""
        if self.normal.any():
            i = int(np.nonzero(self.normal)[-1][0])
            raise np.linalg.LinAlgError(
                f"schur: the block of T in rows {i} and {i + 1} is normal: its rotation, and that of Z, is "
                f"arbitrary and has no derivative; use output='complex'"
            )
        return np.where(self.pairs, differences, 0.0).astype(differences.dtype) / self.sums

    def push(self, T_dot: Any) -> Any:
        diagonal = extractdiag(T_dot)
        x = self.over_sums(diagonal[..., 1:] - diagonal[..., :-1])
        return makediag(x, -1) - makediag(x, 1)

    def pull(self, R_bar: Any) -> Any:
        x_bar = self.over_sums(extractdiag(R_bar, -1) - extractdiag(R_bar, 1))
        zero = np.zeros_like(x_bar[..., :1])
        return makediag(np.concatenate([zero, x_bar], axis=-1) - np.concatenate([x_bar, zero], axis=-1))


# -- X below the diagonal blocks of T from what X T - T X is there -------------------------------------------


def _below_commutator_value(T: Any, M: Any, transposed: bool = False) -> Any:
    """The solution for plain arrays; blocks of size 2 are made triangular first."""
    pairs = _pairs(T)
    if not pairs.any():
        return _substituted(T, M, transposed, pairs)
    W = _triangularizing(T, pairs)
    X = _substituted(product(adjoint(W), T, W), product(adjoint(W), M, W), transposed, pairs)
    return product(W, X, adjoint(W)).real


@operator(_below_commutator_value)
def _below_commutator(T: Any, M: Any, transposed: bool = False) -> Any:
    """X below the diagonal blocks of T, so that ``X T - T X`` is M there; or the adjoint of this map of M."""
    X = _below_commutator(T, M, transposed=transposed)

    def push_T(T_dot: Any) -> Any:
        T_dot = adjoint(T_dot) if transposed else T_dot
        return _below_commutator(T, product(T_dot, X) - product(X, T_dot), transposed=transposed)

    def push_M(M_dot: Any) -> Any:
        return _below_commutator(T, M_dot, transposed=transposed)

    def pull_M(X_bar: Any) -> Any:
        return None, _below_commutator(T, X_bar, transposed=not transposed)

    def pull_both(X_bar: Any) -> Any:
        Y = pull_M(X_bar)[1]
        T_bar = product(Y, adjoint(X)) - product(adjoint(X), Y)
        return adjoint(T_bar) if transposed else T_bar, Y

    return X, Differential((push_T, push_M), {(0,): pull_both, (1,): pull_M, (0, 1): pull_both})


def _substituted(T: Any, M: Any, transposed: bool, pairs: Any) -> Any:
    """The solution for a triangle T, diagonal by diagonal: entries depend on those farther out, or in."""
    n = T.shape[-1]
    S = adjoint(T) if transposed else T
    strict = np.tril(S, -1) if transposed else np.triu(S, 1)
    w = np.diagonal(S, axis1=-2, axis2=-1)
    apart = gaps(w)
    may_repeat = bool((np.abs(apart) <= n * np.finfo(w.dtype).eps ** 0.75 * largest(np.abs(w))).any())
    X = np.zeros(np.broadcast_shapes(S.shape, M.shape), np.result_type(S, M))
    for d in range(1, n) if transposed else range(n - 1, 0, -1):
        rows, columns = slice(d, n), slice(0, n - d)
        known = np.einsum("...ik,...ki->...i", X[..., rows, :], strict[..., :, columns])
        known = known - np.einsum("...ik,...ki->...i", strict[..., rows, :], X[..., :, columns])
        numerators = np.diagonal(M, -d, -2, -1) - known
        if d == 1:
            numerators = np.where(pairs, 0.0, numerators).astype(X.dtype)
        if may_repeat:
            X += over_gaps(makediag(numerators, -d), apart, M, w, "schur")
        else:
            X[..., np.arange(d, n), np.arange(n - d)] = numerators / np.diagonal(apart, -d, -2, -1)
    return X


def _triangularizing(T: Any, pairs: Any) -> Any:
    """A unitary W, of blocks as T is, that makes a triangle ``Wᴴ T W``.

    The block ``[[x, y], [z, x]]`` has the eigenvector ``(y, i √(-y z))``.
    """
    y, z = np.diagonal(T, 1, -2, -1), np.diagonal(T, -1, -2, -1)
    second = np.sqrt(np.where(pairs, -y * z, 0.0).astype(T.dtype))
    norm = np.where(pairs, np.hypot(y, second), 1.0).astype(T.dtype)
    diagonal = np.ones(T.shape[:-1], T.dtype)
    diagonal[..., :-1][pairs] = (y / norm)[pairs]
    diagonal[..., 1:][pairs] = (y / norm)[pairs]
    off = second / norm * 1j
    return makediag(diagonal) + makediag(off, -1) + makediag(off, 1)
