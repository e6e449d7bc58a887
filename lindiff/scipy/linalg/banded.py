"""Banded matrices in LAPACK's band storage: solves, and Cholesky.

Gradients have the shape of the storage; where it lies outside of the matrix they are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from lindiff._docstrings import documented_like
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg import factors
from lindiff.linalg._batches import over_batch, require_host
from lindiff.linalg._factored import factored
from lindiff.linalg._matrices import adjoint, conj, mirrored
from lindiff.linalg.cholesky import potrf
from lindiff.linalg.triangular import trsm
from lindiff.scipy.linalg._arguments import (
    as_checked,
    is_plain,
    of_scipy,
    on_columns,
    promoted,
    require_system,
)
from lindiff.scipy.linalg._structures import BandCholesky, BandLU, TriangularBand

__all__ = ["cho_solve_banded", "cholesky_banded", "solve_banded", "solveh_banded"]


def _checked_band(ab: Any, function: str, name: str = "ab") -> None:
    if ab.ndim < 2 or ab.shape[-2] == 0:
        raise ValueError(f"{function}: {name} must have a row for each diagonal, got shape {ab.shape}")


@documented_like(scipy.linalg.solve_banded)
def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Differentiable in `ab` and `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is singular.
    ValueError
        If shapes do not fit together, or an entry is not finite.

    Notes
    -----
    About 2nl(l + u) flops for one LU factorization (LAPACK's gbtrf), which is kept: both directions solve
    with it, 2n(2l + u)k flops.  The gradient is ``-(b_bar xᴴ)`` on the band, formed diagonal by diagonal.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.linalg import solve_banded
    >>> ab = np.array([[0.0, 1.0], [2.0, 2.0]])  # [[2, 1], [0, 2]]
    >>> solve_banded((0, 1), ab, np.array([4.0, 4.0]))
    array([1., 2.])
    >>> ld.grad(lambda b: solve_banded((0, 1), ab, b).sum())(np.array([4.0, 4.0]))
    array([0.5 , 0.25])
    """
    below, above = (int(count) for count in l_and_u)
    if is_plain(ab, b):
        options = (overwrite_ab, overwrite_b, check_finite)
        return of_scipy(lambda ab, b: scipy.linalg.solve_banded((below, above), ab, b, *options), ab, b)
    require_host("solve_banded", ab, b)
    ab, b = as_checked(ab, check_finite), as_checked(b, check_finite)
    if ab.ndim < 2 or ab.shape[-2] != below + above + 1:
        raise ValueError(
            f"solve_banded: ab must have l + u + 1 = {below + above + 1} rows, got shape {ab.shape}"
        )
    require_system(ab.shape[-1], ab, b, "solve_banded", "ab")
    ab, b = promoted(ab, b)
    factor = factored(ab, BandLU, below, above)
    return on_columns(lambda B: factors.solve(ab, B, False, factor), b)


@documented_like(scipy.linalg.solveh_banded)
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """Differentiable in `ab` and `b`.

    Of a complex matrix, the real part of the diagonal is read.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    ValueError
        If shapes do not fit together, or an entry is not finite.

    Notes
    -----
    About nw² flops for one Cholesky factorization (LAPACK's pbtrf), which is kept: both directions solve
    with it, 4nwk flops.  The gradient is with respect to what is stored: an entry beside the diagonal stands
    for two of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import solveh_banded
    >>> ab = np.array([[0.0, 1.0], [2.0, 2.0]])  # [[2, 1], [1, 2]]
    >>> solveh_banded(ab, np.array([3.0, 3.0]))
    array([1., 1.])
    """
    lower = bool(lower)
    if is_plain(ab, b):
        options = (overwrite_ab, overwrite_b, lower, check_finite)
        return of_scipy(lambda ab, b: scipy.linalg.solveh_banded(ab, b, *options), ab, b)
    require_host("solveh_banded", ab, b)
    ab, b = as_checked(ab, check_finite), as_checked(b, check_finite)
    _checked_band(ab, "solveh_banded")
    require_system(ab.shape[-1], ab, b, "solveh_banded", "ab")
    ab, b = promoted(ab, b)
    factor = factored(ab, BandCholesky, lower)
    return on_columns(lambda B: factors.solve(ab, B, False, factor), b)


@documented_like(scipy.linalg.cho_solve_banded)
def cho_solve_banded(cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Differentiable in the factor and in `b`.

    Raises
    ------
    numpy.linalg.LinAlgError
        On Variables, if an entry on the diagonal is zero.
    ValueError
        If shapes do not fit together, or an entry is not finite.

    Notes
    -----
    Two triangular solves, 4nwk flops, and as many backward.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import cho_solve_banded
    >>> cb = np.array([[2.0, 1.0]])  # diag(4, 1)
    >>> cho_solve_banded((cb, True), np.array([4.0, 1.0]))
    array([1., 1.])
    """
    cb, lower = cb_and_lower
    lower = bool(np.all(lower))
    if is_plain(cb, b):
        options = (overwrite_b, check_finite)
        return of_scipy(lambda cb, b: scipy.linalg.cho_solve_banded((cb, lower), b, *options), cb, b)
    require_host("cho_solve_banded", cb, b)
    cb, b = as_checked(cb, check_finite), as_checked(b, check_finite)
    _checked_band(cb, "cho_solve_banded", "cb")
    require_system(cb.shape[-1], cb, b, "cho_solve_banded", "cb")
    cb, b = promoted(cb, b)
    factor = factored(cb, TriangularBand, lower)
    first, second = (False, "C") if lower else ("C", False)

    def solve(B: Any) -> Any:
        return factors.solve(cb, factors.solve(cb, B, first, factor), second, factor)

    return on_columns(solve, b)


# -- Cholesky ------------------------------------------------------------------------------------------------

# Order of the blocks of a narrow band: large enough that their arithmetic outweighs the calls.
BLOCK = 32


@documented_like(scipy.linalg.cholesky_banded)
def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """Differentiable in `ab`.

    Outside of the matrix the result holds what `ab` holds.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the matrix is not positive definite.
    ValueError
        If an entry is not finite.

    Notes
    -----
    On Variables the matrix is taken as block tridiagonal, with blocks of order p = max(w, 32): about 3np²
    flops forward and twice that backward, in n/p steps of potrf and trsm, whose derivatives these are.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import cholesky_banded
    >>> cholesky_banded(np.array([[4.0, 5.0], [2.0, 0.0]]), lower=True)  # [[4, 2], [2, 5]]
    array([[2., 2.],
           [1., 0.]])
    """
    lower = bool(lower)
    if is_plain(ab):
        ab = np.asarray(ab)
        if ab.size == 0:
            return np.zeros(ab.shape, np.result_type(ab.dtype, np.float32))
        return over_batch(2)(scipy.linalg.cholesky_banded)(ab, overwrite_ab, lower, check_finite)
    require_host("cholesky_banded", ab)
    ab = as_checked(ab, check_finite)
    _checked_band(ab, "cholesky_banded")
    (ab,) = promoted(ab)
    width, n = ab.shape[-2] - 1, ab.shape[-1]
    if ab.size == 0:
        return ab
    # LAPACK's error names the leading minor
    over_batch(2)(scipy.linalg.cholesky_banded)(value(ab), lower=lower, check_finite=False)
    return _factor_in_storage(ab, _block_columns(ab, lower, min(n, max(width, BLOCK))), lower)


def _block_columns(ab: Any, lower: bool, p: int) -> Any:
    """The factor of a matrix in band storage, by block columns: each has a diagonal block and one below it.

    ``L_kk = chol(A_kk - M Mᴴ)``, ``M = A_k,k-1 L_k-1,k-1⁻ᴴ``.
    """
    count = -(-ab.shape[-1] // p)
    A = mirrored(_blocks(ab, lower, p, 0), True) + _ones_beyond(ab, p)
    below = _blocks(ab, lower, p, 1)
    columns = []
    left: Any = None
    for k in range(count):
        D = A[..., k, :, :]
        L = potrf(D if left is None else D - product(left, adjoint(left)))
        if k + 1 < count:
            left = trsm(L, below[..., k, :, :], transpose="C", rightside=True)
        else:
            left = np.zeros_like(value(L))
        columns.append(np.concatenate([L, left], axis=-2))
    return np.stack(columns, axis=-3)


def _blocks(ab: Any, lower: bool, p: int, offset: int) -> Any:
    """The p×p blocks ``(k + offset, k)`` of the lower triangle, zeros beyond the band and the matrix."""
    width, n = ab.shape[-2] - 1, ab.shape[-1]
    k = np.arange(-(-n // p))[:, None, None]
    i = (k + offset) * p + np.arange(p)[:, None]
    j = k * p + np.arange(p)
    d = i - j
    inside = (d >= 0) & (d <= width) & (i < n)
    row, column = (d, j) if lower else (width - d, i)
    entries = ab[..., np.where(inside, row, 0), np.where(inside, column, 0)]
    entries = np.where(inside, entries, 0.0).astype(ab.dtype)
    return entries if lower else conj(entries)


def _ones_beyond(ab: Any, p: int) -> Any:
    """The identity in the part of the last block that lies outside of the matrix, so that it has a factor."""
    n = ab.shape[-1]
    diagonal = np.arange(-(-n // p) * p) >= n
    return diagonal.reshape(-1, p, 1) * np.eye(p, dtype=ab.dtype)


def _factor_in_storage(ab: Any, columns: Any, lower: bool) -> Any:
    """The factor out of its block columns, in the storage of the matrix."""
    (rows, n), p = ab.shape[-2:], columns.shape[-1]
    row, column = np.arange(rows)[:, None], np.arange(n)
    i, j = (column + row, column) if lower else (column, column - (rows - 1 - row))
    i, j = np.broadcast_arrays(i, j)
    inside = (i < n) & (j >= 0)
    i, j = np.where(inside, i, 0), np.where(inside, j, 0)
    k = j // p
    factor = columns[..., k, i - k * p, j - k * p]
    return np.where(inside, factor if lower else conj(factor), value(ab))
