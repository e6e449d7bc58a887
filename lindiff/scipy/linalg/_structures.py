"""Factored matrices with structure: triangles, bands, and what ``solve`` is told or finds out.

Each is a factor for the operators of ``lindiff.linalg.factors``: it says how the matrix depends on the array
in which it stands, in functions that dispatch, and solves with what was made of the plain array.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from lindiff.core.arrays import foreign, padded_with_zeros, zeros_beside
from lindiff.linalg._backend import Known, kernels, trusting
from lindiff.linalg._batches import over_batch
from lindiff.linalg._factored import Factor
from lindiff.linalg._matrices import adjoint, conj, mirrored, transposed
from lindiff.linalg._one_triangle import OneTriangle

__all__ = ["BandCholesky", "BandLU", "Structured", "Triangular", "TriangularBand", "matrix_in"]

Transpose = bool | str
Solver = Callable[[Any, Transpose], Any]
# A solver, and a function that gives the reciprocal condition number.
Conditioned = tuple[Solver, Callable[[], Any]]


# -- band storage: the linear map from the array to the matrix -----------------------------------------------


class Band:
    """Band storage: ``a_ij`` is ``ab[above + i - j, j]``."""

    def __init__(self, below: int, above: int) -> None:
        self.below, self.above = below, above

    def offsets(self, n: int) -> range:
        """The diagonals, ``j - i``, from the top row of the storage."""
        n = max(n, 1)
        return range(min(self.above, n - 1), -min(self.below, n - 1) - 1, -1)

    def times(self, ab: Any, X: Any, transpose: Transpose) -> Any:
        """``a X``, ``aᵀ X`` or ``aᴴ X``, diagonal by diagonal, with the band `ab` of a."""
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
        """``Y Xᴴ`` on the band, as it is stored: what pulls ``a X`` back to a; likewise for aᵀ and aᴴ."""
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
    return padded_with_zeros(x, widths)


class HermitianBand:
    """Band storage of one triangle of a Hermitian matrix, in the upper or the lower form of LAPACK.

    The matrix is its own adjoint, the only transpose that is asked for.
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


# -- how plain arrays are factored, once, and solve ---------------------------------------------------------


def _lapack(name: str, A: Any) -> Any:
    """LAPACK's routine for the dtype of ``A``."""
    return getattr(lapack, {"f": "s", "d": "d", "F": "c", "D": "z"}[A.dtype.char] + name)


def _require(info: int, message: str) -> None:
    """Raise for the `info` that LAPACK returns; a positive one goes into the message."""
    if info > 0:
        raise np.linalg.LinAlgError(message.format(info))
    if info < 0:
        raise ValueError(f"LAPACK: illegal value in argument {-info}")


_SINGULAR = "singular matrix, entry {0} (from 1) of the diagonal of a triangular factor is zero"
_NOT_POSITIVE = "{0}-th leading minor of the matrix is not positive definite"


def _code(transpose: Transpose) -> int:
    """LAPACK's number for t."""
    return 2 if transpose == "C" else int(bool(transpose))


@over_batch(2, 2)
def _gecon(LU: Any, A: Any) -> Any:
    """Reciprocal condition number of A in the ∞-norm, from its LU factors; a triangle is its own factor."""
    return _lapack("gecon", LU)(LU, _lapack("lange", A)("I", A), norm="I")[0]


def _condition(LU: Any, A: Any) -> Any:
    """The reciprocal condition number; 1 where a solve will raise an error, so that nothing warns."""
    return _gecon(LU, A) if LU.diagonal(0, -2, -1).all() else 1.0


def lu(A: Any) -> Conditioned:
    """LU, 2n³/3 flops.

    Symmetric indefinite matrices are factored so, too: LAPACK's sytrf was not faster than getrf at any order.
    """
    of_A = kernels(A)
    LU, piv = of_A.getrf(A)

    def solve(B: Any, transpose: Transpose) -> Any:
        pivots = piv
        if B.ndim > 2:
            batch = np.broadcast_shapes(LU.shape[:-2], B.shape[:-2])
            pivots = np.broadcast_to(piv, (*batch, piv.shape[-1]))
        return of_A.getrs(LU, pivots, B, transpose=transpose)

    # LAPACK reads a row-major array as its transpose, whose factors these are.
    return solve, lambda: _condition(transposed(LU), transposed(A))


@over_batch(2, 2)
def _pocon(L: Any, A: Any, lower: bool) -> Any:
    """Reciprocal condition number of A from its Cholesky factor; a lower bound if that is large enough."""
    bound = len(A) * A.diagonal().real.max()  # on the norm, as A is positive definite
    rcond = _lapack("pocon", L)(transposed(L), bound, uplo="U" if lower else "L")[0]
    if rcond < np.finfo(A.dtype).eps:
        rcond *= bound / _lapack("lange", A)("I", transposed(mirrored(A, lower)))
    return rcond


def cholesky(A: Any, lower: bool) -> Conditioned:
    """Cholesky of a Hermitian matrix, of which one triangle is read; n³/3 flops."""
    of_A = kernels(A)
    L = of_A.potrf(A, lower=lower)
    first, second = (False, "C") if lower else ("C", False)

    def solve(B: Any, transpose: Transpose) -> Any:
        with trusting():
            half = of_A.trsm(L, B, transpose=first, lower=lower)
            return of_A.trsm(L, half, transpose=second, lower=lower, overwrite_a=True)

    return solve, lambda: _pocon(L, A, lower)


def triangular(A: Any, lower: bool) -> Conditioned:
    """Solve with one triangle, without a factorization; the other may hold anything."""

    def condition() -> Any:
        T = transposed(np.tril(A)) if lower else np.triu(A)
        return _condition(T, T)

    def solve(B: Any, transpose: Transpose) -> Any:
        return kernels(A).trsm(A, B, transpose=transpose, lower=lower)

    return solve, condition


@over_batch(2)
def _gbtrf(ab: Any, below: int, above: int) -> Any:
    """LAPACK's LU factorization of a band matrix: its factors with the exchanges."""
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


def band_lu(ab: Any, below: int, above: int) -> Conditioned:
    """LU of a matrix in band storage, about 2n·below·(below + above) flops."""
    LU, piv = _gbtrf(ab, below, above)

    def condition() -> Any:
        has_gbcon = hasattr(lapack, "dgbcon")  # SciPy has it since 1.15
        return _gbcon(LU, piv, ab, below, above) if has_gbcon else 1.0

    return lambda B, transpose: _gbtrs(LU, piv, B, below, above, _code(transpose)), condition


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
    return lambda B, transpose: _pbtrs(L, B, lower)


@over_batch(2, 2)
def _tbtrs(ab: Any, B: Any, lower: bool, trans: int) -> Any:
    X, info = _lapack("tbtrs", ab)(ab, B, uplo="L" if lower else "U", trans="NTC"[trans])
    _require(info, _SINGULAR)
    return X


def triangular_band(ab: Any, lower: bool) -> Solver:
    """Solve with a triangle in band storage, without a factorization."""
    return lambda B, transpose: _tbtrs(ab, B, lower, _code(transpose))


def _warn_if_ill_conditioned(rcond: Any, dtype: Any) -> None:
    """Warn as ``scipy.linalg.solve`` does, for the least of the reciprocal condition numbers."""
    least = float(rcond if np.ndim(rcond) == 0 else rcond.min())
    if not least >= np.finfo(dtype).eps / 2:
        warnings.warn(
            f"Ill-conditioned matrix (rcond={least:.6g}): result may not be accurate.",
            scipy.linalg.LinAlgWarning,
            stacklevel=7,  # the caller of ``solve``
        )


# -- structure that is named or found ------------------------------------------------------------------------


def _entire(X: Any) -> Any:
    return X


# What a solver for a structure reads of a matrix: zeros elsewhere.  Others read all of it.
_PARTS: dict[str | None, Callable[[Any], Any]] = {
    "upper triangular": np.triu,
    "lower triangular": np.tril,
    "diagonal": lambda A: np.tril(np.triu(A)),
    "tridiagonal": lambda A: np.tril(np.triu(A, -1), 1),
}

_OF_ONE_TRIANGLE = ("symmetric", "hermitian", "positive definite")


class Entries:
    """A matrix that consists of the entries of an array that a solver reads; the others are zero."""

    def __init__(self, structure: str | None) -> None:
        self.tangent = self.gradient_of_any = _PARTS.get(structure, _entire)


def matrix_in(A: Any, structure: str | None, lower: bool) -> Entries | OneTriangle:
    """How the matrix of this structure depends on the array A that holds it."""
    if structure not in _OF_ONE_TRIANGLE:
        return Entries(structure)
    return OneTriangle(A, lower, hermitian=structure != "symmetric" or A.dtype.kind != "c")


def _factored(A: Any, structure: str | None, lower: bool) -> Conditioned:
    """Factor a plain matrix of known structure; without a name, find out."""
    if foreign(A) is not None:
        return _on_device(A, structure, lower)
    if structure is None:
        return _detected(A)
    if structure in ("upper triangular", "lower triangular"):
        return triangular(A, structure.startswith("lower"))
    if structure in ("diagonal", "tridiagonal"):
        return _banded(A, *((0, 0) if structure == "diagonal" else (1, 1)))
    if structure == "banded":
        return _banded(A, *_bandwidth(A))
    if structure == "positive definite":
        return cholesky(A, lower)
    if structure == "hermitian":
        A = mirrored(A, lower)
    if structure == "symmetric":
        A = mirrored(A, lower, hermitian=False)
    return lu(A)


def _on_device(A: Any, structure: str | None, lower: bool) -> Conditioned:
    """The same where a look at the entries waits for a GPU: no structure is found that is not named, nor that
    a matrix is ill-conditioned; a band is a matrix of zeros.
    """
    if structure in ("upper triangular", "lower triangular"):
        solver = triangular(A, structure.startswith("lower"))
    elif structure == "positive definite":
        solver = cholesky(A, lower)
    elif structure in ("hermitian", "symmetric"):
        solver = lu(mirrored(A, lower, hermitian=structure == "hermitian"))
    else:
        solver = lu(_PARTS.get(structure, _entire)(A))
    return solver[0], lambda: 1.0


def _banded(A: Any, below: int, above: int) -> Conditioned:
    return band_lu(band_of(A, below, above), below, above)


def _bandwidth(A: Any) -> tuple[int, int]:
    """How far the entries of all matrices of a batch reach below and above the diagonal."""
    nonzero = A != 0
    return scipy.linalg.bandwidth(nonzero.any(axis=tuple(range(A.ndim - 2))).astype(np.float64))


def _detected(A: Any) -> Conditioned:
    """Triangular, of a narrow band, positive definite, or general; a batch by what all of it has in common.

    The corners rule most matrices out.
    """
    n = A.shape[-1]
    corner, other = A[..., 0, -1], A[..., -1, 0]
    if n > 1 and not (corner.any() and other.any()):
        below, above = _bandwidth(A)
        if below == 0 or above == 0:
            return triangular(A, above == 0)
        if 2 * below + above < n // 4:
            return _banded(A, below, above)
    if n > 1 and np.array_equal(corner, np.conjugate(other)) and _may_be_positive(A):
        try:
            return cholesky(A, True)
        except np.linalg.LinAlgError:
            pass
    return lu(A)


def _may_be_positive(A: Any) -> bool:
    """Hermitian with positive diagonal."""
    diagonal = np.diagonal(A, axis1=-2, axis2=-1)
    return bool(np.all(diagonal.real > 0)) and np.array_equal(A, adjoint(A))


# -- factors -------------------------------------------------------------------------------------------------


class Solved(Factor):
    """A factor that can only solve; it is made of the plain array A, unless that is empty."""

    def __init__(self, A: Any, factor: Callable[..., Solver], *options: Any) -> None:
        self.batch = A.shape[:-2]
        self.solver = factor(A, *options) if A.size else None
        self.known = Known()

    def solve(self, B: Any, transpose: Transpose) -> Any:
        """``t(A)⁻¹ B``."""
        if self.solver is None or B.size == 0:
            return zeros_beside(B, (*np.broadcast_shapes(self.batch, B.shape[:-2]), *B.shape[-2:]), B.dtype)
        with self.known.dividing():
            return self.solver(B, transpose)


class Structured(Solved):
    """A matrix of a structure that ``solve`` knows."""

    def __init__(self, A: Any, immutable: bool, structure: str | None, lower: bool) -> None:
        self.matrix = matrix_in(A, structure, lower)
        super().__init__(A if immutable else A.copy(), self._solver, structure, lower)

    def _solver(self, A: Any, structure: str | None, lower: bool) -> Solver:
        solve, condition = _factored(A, structure, lower)
        _warn_if_ill_conditioned(condition(), A.dtype)
        return solve

    def part(self, A_dot: Any) -> Any:
        return self.matrix.tangent(A_dot)

    def gradient(self, M_bar: Any, symmetric: bool = False) -> Any:
        return self.matrix.gradient_of_any(M_bar)


class Triangular(Solved):
    """One triangle, the other may hold anything; its diagonal is taken as ones if ``unit``."""

    def __init__(self, A: Any, immutable: bool, lower: bool, unit: bool) -> None:
        self.lower, self.unit = lower, unit
        if unit or not immutable:
            A = A.copy()
        if unit:
            i = np.arange(A.shape[-1])
            A[..., i, i] = 1
        super().__init__(A, lambda A: triangular(A, lower)[0])

    def part(self, X: Any) -> Any:
        return np.tril(X, -self.unit) if self.lower else np.triu(X, self.unit)


class Stored(Solved):
    """A matrix in band storage."""

    band: Band | HermitianBand

    def times(self, A: Any, X: Any, transpose: Transpose) -> Any:
        return self.band.times(A, X, transpose)

    def against(self, Y: Any, X: Any, transpose: Transpose) -> Any:
        return self.band.against(Y, X, transpose)


class BandLU(Stored):
    """A matrix in band storage, with so many diagonals below and above the main one."""

    def __init__(self, ab: Any, immutable: bool, below: int, above: int) -> None:
        self.band = Band(below, above)
        super().__init__(ab, lambda ab: band_lu(ab, below, above)[0])


class BandCholesky(Stored):
    """A positive definite matrix, one triangle of it in band storage."""

    def __init__(self, ab: Any, immutable: bool, lower: bool) -> None:
        self.band = HermitianBand(ab.shape[-2] - 1, lower)
        super().__init__(ab, band_cholesky, lower)


class TriangularBand(Stored):
    """A triangular matrix in band storage."""

    def __init__(self, ab: Any, immutable: bool, lower: bool) -> None:
        width = ab.shape[-2] - 1
        self.band = Band(width, 0) if lower else Band(0, width)
        super().__init__(ab if immutable else ab.copy(), triangular_band, lower)
