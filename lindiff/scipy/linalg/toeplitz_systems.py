"""Systems with Toeplitz and circulant matrices, and products with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from lindiff._docstrings import documented_like
from lindiff.core.arrays import zeros_beside
from lindiff.core.differential import Differential
from lindiff.core.variable import value
from lindiff.linalg._backend import operator
from lindiff.linalg._batches import over_batch
from lindiff.linalg._matrices import conj
from lindiff.scipy.linalg._arguments import as_checked, axes_of, columns, is_plain, joined

__all__ = ["matmul_toeplitz", "solve_circulant", "solve_toeplitz"]


def _column_and_row(c_or_cr: Any, check_finite: bool) -> tuple[Any, Any]:
    """First column and first row; a single array is the column of a Hermitian matrix."""
    if isinstance(c_or_cr, tuple):
        c, r = c_or_cr
        return as_checked(c, check_finite), as_checked(r, check_finite)
    c = as_checked(c_or_cr, check_finite)
    return c, conj(c)


def _double(*arrays: Any) -> list[Any]:
    """Arrays in double precision, in which these functions compute."""
    dtype = np.result_type(np.float64, *(x.dtype for x in arrays))
    return [x if x.dtype == dtype else x.astype(dtype) for x in arrays]


def _require(fits: bool, function: str, c: Any, r: Any, b: Any) -> None:
    """Raise a ValueError that names the shapes, unless they fit."""
    if not fits:
        raise ValueError(
            f"{function}: c of shape {c.shape}, r of shape {r.shape} and right-hand sides of shape {b.shape} "
            f"do not fit together"
        )


def _correlation(Y: Any, X: Any) -> Any:
    """``z_k = Σ_j y_jk+k conj(x_j)`` for k from -(n - 1) to m - 1, columns added up; by FFT.

    Y has m rows, X n: these are the sums along the diagonals of ``Y Xᴴ``, the uppermost first.
    """
    m, n = Y.shape[-2], X.shape[-2]
    size = m + n - 1
    z: Any
    if Y.dtype.kind == "c":
        spectrum = np.fft.fft(Y, size, axis=-2) * conj(np.fft.fft(X, size, axis=-2))
        z = np.fft.ifft(np.sum(spectrum, axis=-1), axis=-1)
    else:
        spectrum = np.fft.rfft(Y, size, axis=-2) * conj(np.fft.rfft(X, size, axis=-2))
        z = np.fft.irfft(np.sum(spectrum, axis=-1), size, axis=-1)
    return np.roll(z, n - 1, axis=-1)


def _product(c: Any, r: Any, X: Any) -> Any:
    """``T X`` for the Toeplitz matrix of first column c and first row r; by FFT."""
    m, n = c.shape[-1], r.shape[-1]
    if m == 0 or n == 0:
        batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1], X.shape[:-2])
        return zeros_beside(X, (*batch, m, X.shape[-1]), np.result_type(c.dtype, X.dtype))
    size = m + n - 1
    period = joined(c, np.flip(r[..., 1:], axis=-1))[..., None]
    Y: Any
    if period.dtype.kind == "c" or X.dtype.kind == "c":
        Y = np.fft.ifft(np.fft.fft(period, axis=-2) * np.fft.fft(X, size, axis=-2), axis=-2)
    else:
        Y = np.fft.irfft(np.fft.rfft(period, axis=-2) * np.fft.rfft(X, size, axis=-2), size, axis=-2)
    return Y[..., :m, :]


def _plain_solve_toeplitz(c: Any, r: Any, b: Any) -> Any:
    """SciPy's ``solve_toeplitz`` over a batch."""

    @over_batch(1, 1, axes_of(b))
    def solve(c: Any, r: Any, b: Any) -> Any:
        return scipy.linalg.solve_toeplitz((c, r), b, check_finite=False)

    return solve(c, r, b)


@operator(_plain_solve_toeplitz)
def _solve_toeplitz(c: Any, r: Any, b: Any) -> Any:
    """``x = T⁻¹ b``, where ``t_ij`` is ``c[i - j]`` on and below the diagonal and ``r[j - i]`` above it.

    ``b_bar = T⁻ᴴ x_bar``, a system with conj(r) for c and conj(c) for r; ``c_bar`` and ``r_bar`` are the sums
    of ``-b_bar xᴴ`` along diagonals.
    """
    vector = b.ndim == 1
    x = _solve_toeplitz(c, r, b)
    X = columns(x, vector)
    n = c.shape[-1]

    def result(X: Any) -> Any:
        return X[..., 0] if vector else X

    def pushforward(c_dot: Any, r_dot: Any, b_dot: Any) -> Any:
        return result(_solve_toeplitz(c, r, columns(b_dot, vector) - _product(c_dot, r_dot, X)))

    def pullback(x_bar: Any) -> Any:
        first_column = joined(conj(c[..., :1]), conj(r[..., 1:]))
        B_bar = _solve_toeplitz(first_column, conj(c), columns(x_bar, vector))
        along = -_correlation(B_bar, X)
        above = np.flip(along[..., : n - 1], axis=-1)
        r_bar = np.concatenate([np.zeros_like(along[..., :1]), above], axis=-1)
        return along[..., n - 1 :], r_bar, result(B_bar)

    return x, Differential(pushforward, pullback, linear_in=(2,))


@documented_like(scipy.linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Differentiable in `c_or_cr` and `b`.

    The result has double precision.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a leading submatrix is singular.
    ValueError
        If shapes do not fit together, or an entry is not finite.

    Notes
    -----
    Levinson's recursion, O(n²k) flops and O(n) memory; backward is one more system, with Tᴴ, and correlations
    by FFT.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import solve_toeplitz
    >>> solve_toeplitz(np.array([2.0, 1.0]), np.array([3.0, 3.0]))
    array([1., 1.])
    """
    c, r = _column_and_row(c_or_cr, check_finite)
    b = as_checked(b, check_finite)
    fits = c.ndim > 0 and c.shape[-1:] == r.shape[-1:] and b.ndim > 0
    _require(fits and b.shape[max(b.ndim - 2, 0)] == c.shape[-1], "solve_toeplitz", c, r, b)
    c, r, b = _double(c, r, b)
    if b.size == 0 or c.size == 0:
        batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1], b.shape[:-2])
        return zeros_beside(b, (*batch, *b.shape[-2:]), b.dtype)
    return _solve_toeplitz(c, r, b)


@documented_like(scipy.linalg.matmul_toeplitz)
def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """Differentiable in `c_or_cr` and `x`.

    The result has double precision.  `workers` is for plain arrays.

    Raises
    ------
    ValueError
        If shapes do not fit together, or an entry is not finite.

    Notes
    -----
    By FFT, O((m + n) log(m + n)) flops a column, forward and backward.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import matmul_toeplitz
    >>> matmul_toeplitz(np.array([2.0, 1.0]), np.array([1.0, 1.0])).round(12)
    array([3., 3.])
    """
    c, r = _column_and_row(c_or_cr, check_finite)
    x = as_checked(x, check_finite)
    fits = c.ndim > 0 and r.ndim > 0 and x.ndim > 0
    _require(fits and x.shape[max(x.ndim - 2, 0)] == r.shape[-1], "matmul_toeplitz", c, r, x)
    if is_plain(c, r, x):
        return _plain_matmul_toeplitz(c, r, x, workers)
    c, r, x = _double(c, r, x)
    vector = x.ndim == 1
    Y = _product(c, r, columns(x, vector))
    return Y[..., 0] if vector else Y


def _plain_matmul_toeplitz(c: Any, r: Any, x: Any, workers: Any) -> Any:
    """SciPy's ``matmul_toeplitz`` over a batch."""

    @over_batch(1, 1, axes_of(x))
    def matmul(c: Any, r: Any, x: Any) -> Any:
        return scipy.linalg.matmul_toeplitz((c, r), x, workers=workers)

    return matmul(c, r, x)


@documented_like(scipy.linalg.solve_circulant)
def solve_circulant(
    c: Any,
    b: Any,
    singular: str = "raise",
    tol: Any = None,
    caxis: int = -1,
    baxis: int = 0,
    outaxis: int = 0,
) -> Any:
    """Differentiable in `c` and `b`.

    Raises
    ------
    ValueError
        If lengths differ.

    Notes
    -----
    By FFT, O(n log n) flops, forward and backward.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import solve_circulant
    >>> solve_circulant(np.array([2.0, 1.0]), np.array([3.0, 3.0])).round(12)
    array([1., 1.])
    """
    if is_plain(c, b):
        return scipy.linalg.solve_circulant(c, b, singular, tol, caxis, baxis, outaxis)
    c, b = np.atleast_1d(as_checked(c, False)), np.atleast_1d(as_checked(b, False))
    is_real = c.dtype.kind != "c" and b.dtype.kind != "c"
    c, b = np.moveaxis(c, caxis, -1), np.moveaxis(b, baxis, -1)
    n = c.shape[-1]
    if b.shape[-1] != n:
        raise ValueError(
            f"solve_circulant: columns of length {n} and right-hand sides of length {b.shape[-1]}"
        )
    if b.size == 0:
        batch = np.broadcast_shapes(c.shape, b.shape)
        return np.moveaxis(zeros_beside(b, batch, np.result_type(c.dtype, b.dtype, np.float32)), -1, outaxis)
    eigenvalues = np.fft.fft(c)
    size = np.abs(value(eigenvalues))
    if tol is None:
        tol = np.max(size, axis=-1, keepdims=True) * n * float(np.finfo(np.float64).eps)
    nearly_zero = size <= tol
    if nearly_zero.any() and singular == "raise":
        raise np.linalg.LinAlgError("solve_circulant: a circulant matrix is singular to rounding")
    quotient = np.fft.fft(b) / np.where(nearly_zero, 1.0, eigenvalues)
    x = np.fft.ifft(np.where(nearly_zero, 0.0, quotient))
    return np.moveaxis(x.real if is_real else x, -1, outaxis)
