"""Solves with a matrix that was factored once, for any order of derivative and any right-hand side.

A matrix stands in an array as it is, in part (a triangle), or in band storage; it is factored by LAPACK.
:class:`Factored` has both, the primitive :func:`solve_with` is the solve.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from lindiff.core.differential import Differential
from lindiff.core.variable import value
from lindiff.linalg._backend import kernels, operator
from lindiff.linalg._batches import over_batch
from lindiff.linalg._matrices import adjoint, conj, mirrored, op, transposed
from lindiff.scipy.linalg._arguments import columns

__all__ = [
    "Band",
    "Dense",
    "Factored",
    "HermitianBand",
    "Storage",
    "band_cholesky",
    "band_lu",
    "band_of",
    "cholesky",
    "entire",
    "lu",
    "solve_triangle",
    "solve_with",
    "symmetric_part",
    "triangular",
    "triangular_band",
]

Transpose = bool | str
Solver = Callable[[Any, Transpose], Any]

# -- where a matrix stands in its array: the linear map from the array to the matrix -------------------------


class Storage(Protocol):
    """How the matrix A depends on the array ``a``; written in functions that dispatch."""

    def times(self, a: Any, X: Any, transpose: Transpose) -> Any:
        """``t(A) X``, linear in ``a``."""

    def against(self, Y: Any, X: Any, transpose: Transpose) -> Any:
        """What ``a`` gets from the cotangent Y of ``t(A) X``: the adjoint of ``times`` in ``a``."""


def entire(a: Any) -> Any:
    return a


def symmetric_part(a: Any) -> Any:
    """½ (a + aᵀ)."""
    return 0.5 * (a + transposed(a))


class Dense:
    """The array is the matrix, of which ``part`` (a projection) matters."""

    def __init__(self, part: Callable[[Any], Any] = entire) -> None:
        self.part = part

    def times(self, a: Any, X: Any, transpose: Transpose) -> Any:
        return op(self.part(a), transpose) @ X

    def against(self, Y: Any, X: Any, transpose: Transpose) -> Any:
        return self.part(op(Y @ adjoint(X), transpose))


class Band:
    """Band storage: ``a_ij`` is ``ab[above + i - j, j]``."""

    def __init__(self, below: int, above: int) -> None:
        self.below, self.above = below, above

    def offsets(self, n: int) -> range:
        """The diagonals, ``j - i``, from the top row of the storage."""
        return range(min(self.above, n - 1), -min(self.below, n - 1) - 1, -1)

    def times(self, ab: Any, X: Any, transpose: Transpose) -> Any:
        n = ab.shape[-1]
        ab = conj(ab) if transpose == "C" else ab
        total: Any = 0.0
        for d in self.offsets(n):
            i, j = _rows(n, d), _rows(n, -d)  # of the entries of this diagonal
            into, out = (j, i) if transpose else (i, j)
            terms = ab[..., self.above - d, j, None] * X[..., out, :]
            total = total + _filled(terms, into, n, axis=-2)
        return total

    def against(self, Y: Any, X: Any, transpose: Transpose) -> Any:
        n = X.shape[-2]
        diagonals = []
        for d in self.offsets(n):
            i, j = _rows(n, d), _rows(n, -d)
            into, out = (j, i) if transpose else (i, j)
            products = np.sum(Y[..., into, :] * conj(X[..., out, :]), axis=-1)
            diagonals.append(_filled(conj(products) if transpose == "C" else products, j, n, axis=-1))
        stored = np.stack(diagonals, axis=-2)
        return _filled(stored, _stored_rows(self, n), self.below + self.above + 1, axis=-2)


def _rows(n: int, d: int) -> slice:
    """Rows of the entries ``(i, i + d)`` of a matrix of order n."""
    return slice(max(-d, 0), n - max(d, 0))


def _stored_rows(band: Band, n: int) -> slice:
    """Rows of band storage that hold anything: further diagonals lie outside of a small matrix."""
    offsets = band.offsets(n)
    return slice(band.above - offsets[0], band.above - offsets[-1] + 1)


def _filled(x: Any, place: slice, n: int, axis: int) -> Any:
    """``x`` at ``place`` of an axis of length n, zeros elsewhere."""
    before, after = place.start, n - place.stop
    if not before and not after:
        return x
    widths = [(0, 0)] * x.ndim
    widths[axis] = (before, after)
    return np.pad(x, widths)


class HermitianBand:
    """Band storage of one triangle of a Hermitian matrix, in the upper or the lower form of LAPACK.

    The matrix is its own adjoint, the only transpose that solves with it ask for.
    """

    def __init__(self, width: int, lower: bool) -> None:
        self.half = Band(width, 0) if lower else Band(0, width)
        self.diagonal = 0 if lower else width

    def times(self, ab: Any, X: Any, transpose: Transpose) -> Any:
        ab = self._with_real_diagonal(ab)
        other = self.half.times(ab, X, "C") - ab[..., self.diagonal, :, None] * X
        return self.half.times(ab, X, False) + other

    def against(self, Y: Any, X: Any, transpose: Transpose) -> Any:
        ab_bar = self.half.against(Y, X, False) + self.half.against(Y, X, "C")
        return self._with_real_diagonal(ab_bar, 0.5)

    def _with_real_diagonal(self, ab: Any, factor: float = 1.0) -> Any:
        is_diagonal = np.arange(ab.shape[-2])[:, None] == self.diagonal
        return np.where(is_diagonal, factor * np.real(ab), ab)


# -- how it is factored, once, and solves: plain arrays ------------------------------------------------------


def _lapack(name: str, A: Any) -> Any:
    """LAPACK's routine for the dtype of ``A``."""
    return getattr(lapack, {"f": "s", "d": "d", "F": "c", "D": "z"}[A.dtype.char] + name)


def _require(info: int, message: str) -> None:
    if info > 0:
        raise np.linalg.LinAlgError(message.format(info))
    if info < 0:
        raise ValueError(f"LAPACK: illegal value in argument {-info}")


_SINGULAR = "singular matrix, entry {0} (from 1) of the diagonal of a triangular factor is zero"
_NOT_POSITIVE = "{0}-th leading minor of the matrix is not positive definite"


def _code(transpose: Transpose) -> int:
    """LAPACK's number for t."""
    return 2 if transpose == "C" else int(bool(transpose))


def _of_hermitian(solve: Callable[[Any], Any]) -> Solver:
    """Solves with t(A), A Hermitian, from those with A: ``Aᴴ = A``, ``Aᵀ`` is its conjugate."""

    def solve_any(B: Any, transpose: Transpose) -> Any:
        return conj(solve(conj(B))) if transpose is True else solve(B)

    return solve_any


@over_batch(2)
def _getrf(A: Any) -> Any:
    LU, piv, _info = _lapack("getrf", A)(A)
    return LU, piv


@over_batch(2, 1, 2)
def _getrs(LU: Any, piv: Any, B: Any, trans: int) -> Any:
    zeros = np.flatnonzero(LU.diagonal() == 0)
    _require(int(zeros[0]) + 1 if zeros.size else 0, _SINGULAR)
    X, info = _lapack("getrs", LU)(LU, piv, B, trans=trans)
    _require(info, _SINGULAR)
    return X


@over_batch(2, 2)
def _gecon(LU: Any, A: Any) -> Any:
    """Reciprocal condition number of A in the ∞-norm, from its LU factors; a triangle is its own factor."""
    return _lapack("gecon", LU)(LU, _lapack("lange", A)("I", A), norm="I")[0]


def _regular(T: Any) -> bool:
    """Whether no entry on the diagonal is zero; if one is, the solve raises an error."""
    return bool(T.diagonal(0, -2, -1).all())


def lu(A: Any, warn: bool = False) -> Solver:
    """LU, 2n³/3 flops.

    Symmetric indefinite matrices are factored so, too: LAPACK's sytrf was not faster than getrf at any order.
    """
    found = kernels(A)
    if found is None:
        LU, piv = _getrf(A)
        if warn and _regular(LU):
            _warn_if_ill_conditioned(_gecon(LU, A), A.dtype)
        return lambda B, transpose: _getrs(LU, piv, B, _code(transpose))
    LU, piv = found.getrf(A)
    if warn and _regular(LU):
        # in the row-major array stand LAPACK's factors of the transpose
        _warn_if_ill_conditioned(_gecon(transposed(LU), transposed(A)), A.dtype)

    def solve(B: Any, transpose: Transpose) -> Any:
        pivots = piv
        if B.ndim > 2:
            batch = np.broadcast_shapes(LU.shape[:-2], B.shape[:-2])
            pivots = np.broadcast_to(piv, (*batch, piv.shape[-1]))
        return found.getrs(LU, pivots, B, transpose=bool(transpose))

    return solve


@over_batch(2)
def _potrf(A: Any, lower: bool) -> Any:
    L, info = _lapack("potrf", A)(A, lower=lower)
    _require(info, _NOT_POSITIVE)
    return L


@over_batch(2, 2)
def _potrs(L: Any, B: Any, lower: bool) -> Any:
    X, info = _lapack("potrs", L)(L, B, lower=lower)
    _require(info, _NOT_POSITIVE)
    return X


@over_batch(2, 2)
def _pocon(L: Any, A: Any, lower: bool) -> Any:
    return _lapack("pocon", L)(L, _lapack("lange", A)("I", A), uplo="L" if lower else "U")[0]


def cholesky(A: Any, lower: bool, warn: bool = False) -> Solver:
    """Cholesky of a Hermitian matrix, of which one triangle is read; n³/3 flops."""
    found = kernels(A)
    L = _potrf(A, lower) if found is None else found.potrf(A, lower=lower)
    if warn:
        _warn_if_ill_conditioned(_pocon(L, mirrored(A, lower), lower), A.dtype)
    if found is None:
        return _of_hermitian(lambda B: _potrs(L, B, lower))

    def solve(B: Any) -> Any:
        half = found.trsm(L, B, transpose=not lower, lower=lower)
        return found.trsm(L, half, transpose=lower, lower=lower, overwrite_a=True)

    return lambda B, transpose: solve(B)


@over_batch(2, 2)
def _trtrs(A: Any, B: Any, lower: bool, trans: int, unit: bool) -> Any:
    X, info = _lapack("trtrs", A)(A, B, lower=lower, trans=trans, unitdiag=unit)
    _require(info, _SINGULAR)
    return X


def triangular(A: Any, lower: bool, unit: bool = False, warn: bool = False) -> Solver:
    """A triangle, its diagonal ones if ``unit``, solves as it is; the other may hold anything."""
    if warn:
        T = np.tril(A) if lower else np.triu(A)
        T = transposed(T) if lower else T
        if _regular(T):
            _warn_if_ill_conditioned(_gecon(T, T), A.dtype)
    found = kernels(A)
    if found is None:
        return lambda B, transpose: _trtrs(A, B, lower, _code(transpose), unit)
    if unit:
        A = np.array(A)
        i = np.arange(A.shape[-1])
        A[..., i, i] = 1
    return lambda B, transpose: found.trsm(A, B, transpose=bool(transpose), lower=lower)


@over_batch(2)
def _gbtrf(ab: Any, below: int, above: int) -> Any:
    room = np.zeros((2 * below + above + 1, ab.shape[-1]), ab.dtype, order="F")
    room[below:] = ab
    LU, piv, info = _lapack("gbtrf", room)(room, below, above, overwrite_ab=True)
    _require(info, _SINGULAR)
    return LU, piv


@over_batch(2, 1, 2)
def _gbtrs(LU: Any, piv: Any, B: Any, below: int, above: int, trans: int) -> Any:
    X, info = _lapack("gbtrs", LU)(LU, below, above, B, piv, trans=trans)
    _require(info, _SINGULAR)
    return X


@over_batch(2, 1, 2)
def _gbcon(LU: Any, piv: Any, ab: Any, below: int, above: int) -> Any:
    norm = np.max(np.sum(np.abs(ab), axis=-2))
    return _lapack("gbcon", LU)(below, above, LU, piv, norm)[0]


def band_lu(ab: Any, below: int, above: int, warn: bool = False) -> Solver:
    """LU of a matrix in band storage, about 2n·below·(below + above) flops."""
    LU, piv = _gbtrf(ab, below, above)
    if warn and hasattr(lapack, "dgbcon"):  # SciPy has it since 1.15
        _warn_if_ill_conditioned(_gbcon(LU, piv, ab, below, above), ab.dtype)
    return lambda B, transpose: _gbtrs(LU, piv, B, below, above, _code(transpose))


def band_of(A: Any, below: int, above: int) -> Any:
    """The band of a dense matrix, in band storage."""
    n = A.shape[-1]
    ab = np.zeros((*A.shape[:-2], below + above + 1, n), A.dtype)
    for d in Band(below, above).offsets(n):
        ab[..., above - d, _rows(n, -d)] = np.diagonal(A, d, -2, -1)
    return ab


@over_batch(2)
def _pbtrf(ab: Any, lower: bool) -> Any:
    L, info = _lapack("pbtrf", ab)(ab, lower=lower)
    _require(info, _NOT_POSITIVE)
    return L


@over_batch(2, 2)
def _pbtrs(L: Any, B: Any, lower: bool) -> Any:
    X, info = _lapack("pbtrs", L)(L, B, lower=lower)
    _require(info, _NOT_POSITIVE)
    return X


def band_cholesky(ab: Any, lower: bool) -> Solver:
    """Cholesky of a Hermitian matrix in band storage, about n·width² flops."""
    L = _pbtrf(ab, lower)
    return _of_hermitian(lambda B: _pbtrs(L, B, lower))


@over_batch(2, 2)
def _tbtrs(ab: Any, B: Any, lower: bool, trans: int) -> Any:
    X, info = _lapack("tbtrs", ab)(ab, B, uplo="L" if lower else "U", trans="NTC"[trans])
    _require(info, _SINGULAR)
    return X


def triangular_band(ab: Any, lower: bool) -> Solver:
    """A triangle in band storage solves as it is."""
    return lambda B, transpose: _tbtrs(ab, B, lower, _code(transpose))


def _warn_if_ill_conditioned(rcond: Any, dtype: Any) -> None:
    least = float(rcond if np.ndim(rcond) == 0 else rcond.min())
    if not least >= np.finfo(dtype).eps / 2:
        warnings.warn(
            f"Ill-conditioned matrix (rcond={least:.6g}): result may not be accurate.",
            scipy.linalg.LinAlgWarning,
            stacklevel=6,
        )


# -- the solve -----------------------------------------------------------------------------------------------


class Factored:
    """The matrix that stands in an array, factored once.

    Parameters
    ----------
    a : array or Variable
    storage : Storage
    factor : callable
        Takes the plain array and ``options``, and returns a solver, which keeps the factorization.
    """

    def __init__(self, a: Any, storage: Storage, factor: Callable[..., Solver], *options: Any) -> None:
        self.storage = storage
        self.solver = factor(value(a), *options) if a.size else None


def _solve_with(a: Any, b: Any, factored: Factored, transpose: Transpose = False) -> Any:
    vector = b.ndim == 1
    B = columns(b, vector)
    if factored.solver is None or B.size == 0:
        X = np.zeros((*np.broadcast_shapes(a.shape[:-2], B.shape[:-2]), *B.shape[-2:]), B.dtype)
    else:
        X = factored.solver(B, transpose)
    return X[..., 0] if vector else X


@operator(_solve_with)
def solve_with(a: Any, b: Any, factored: Any = None, transpose: Transpose = False) -> Any:
    """``x = t(A)⁻¹ b``: ``b_bar = t(A)⁻ᴴ x_bar``, ``A_bar = -t(b_bar xᴴ)``.

    ``a`` is the array in which A stands, ``factored`` what was made of its plain value; b has one axis, or
    more: columns in its last one.
    """
    storage = factored.storage
    vector = b.ndim == 1
    x = solve_with(a, b, factored=factored, transpose=transpose)
    X = columns(x, vector)

    def solve(B: Any) -> Any:
        return solve_with(a, B, factored=factored, transpose=transpose)

    def solve_adjoint(B: Any) -> Any:
        if transpose is True:
            return conj(solve_with(a, conj(B), factored=factored))
        return solve_with(a, B, factored=factored, transpose=False if transpose else "C")

    def result(X: Any) -> Any:
        return X[..., 0] if vector else X

    def push_a(a_dot: Any) -> Any:
        return result(solve(-storage.times(a_dot, X, transpose)))

    def push_b(b_dot: Any) -> Any:
        return result(solve(columns(b_dot, vector)))

    def pull_b(x_bar: Any) -> Any:
        return None, result(solve_adjoint(columns(x_bar, vector)))

    def pull_both(x_bar: Any) -> Any:
        B_bar = solve_adjoint(columns(x_bar, vector))
        return -storage.against(B_bar, X, transpose), result(B_bar)

    return x, Differential((push_a, push_b), {(0,): pull_both, (1,): pull_b, (0, 1): pull_both})


def solve_triangle(a: Any, b: Any, lower: bool, unit: bool = False, transpose: Any = False) -> Any:
    def part(A: Any) -> Any:
        return np.tril(A, -unit) if lower else np.triu(A, unit)

    factored = Factored(a, Dense(part), triangular, bool(lower), bool(unit))
    return solve_with(a, b, factored=factored, transpose=transpose)
