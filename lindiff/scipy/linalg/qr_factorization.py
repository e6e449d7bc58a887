"""QR and RQ factorizations, and products with Q."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from lindiff.core.arrays import zeros_beside
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.linalg._batches import require_host
from lindiff.linalg._degeneracy import without_rotation
from lindiff.linalg._matrices import adjoint, conj
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.linalg._arguments import as_checked, axes_of

__all__ = ["qr", "qr_multiply", "rq"]


@drop_in(scipy.linalg.qr, 2, anywhere=True)
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Differentiable in `a`, where its first ``k = min(m, n)`` columns (after pivoting) have full rank.

    P is constant: small changes of `a` do not change the exchanges.  The columns of a full Q beyond the n-th
    have a derivative only in functions of the space that they span.

    Raises
    ------
    TypeError
        For Variables with ``mode='raw'``.
    ValueError
        If `a` is no matrix, has an entry that is not finite, or the mode is unknown.

    Warns
    -----
    RuntimeWarning
        Where the derivative depends on the choice of the columns of a full Q beyond the n-th.

    Notes
    -----
    ``numpy.linalg.qr`` on Variables.  The further columns W of Q follow it by ``W_dot = -Q Q_dotᴴ W``.

    Examples
    --------
    >>> import numpy as np
    >>> Q, R = qr(np.array([[3.0], [4.0]]), mode="economic")
    >>> np.abs(R)
    array([[5.]])
    """
    a = as_checked(a, check_finite)
    if mode == "raw":
        raise TypeError(
            "qr(..., mode='raw') has no derivative: reflectors are but a way to store Q; use "
            "mode='economic', or qr_multiply for a product with Q"
        )
    if mode not in ("full", "qr", "r", "economic"):
        raise ValueError(f"qr: mode must be 'full', 'r', 'economic' or 'raw', got {mode!r}")
    order: tuple[Any, ...] = ()
    if pivoting or (mode in ("full", "qr") and a.shape[-2] > a.shape[-1]):
        require_host("qr with pivoting or a full Q", a)
    if pivoting:
        order = (qr(value(a), mode="r", pivoting=True, check_finite=False)[-1],)
        a = np.take_along_axis(a, order[0][..., None, :], axis=-1)
    if mode == "r":
        return _with_zero_rows(np.linalg.qr(a, mode="r"), a.shape[-2]), *order
    Q, R = np.linalg.qr(a)
    if mode == "economic":
        return Q, R, *order
    if a.shape[-2] > a.shape[-1]:
        Q = np.concatenate([Q, _beyond(Q)], axis=-1)
    return Q, _with_zero_rows(R, a.shape[-2]), *order


def _with_zero_rows(R: Any, m: int) -> Any:
    """R with rows of zeros below, so that it has m."""
    missing = m - R.shape[-2]
    if missing == 0:
        return R
    return np.concatenate([R, zeros_beside(R, (*R.shape[:-2], missing, R.shape[-1]), R.dtype)], axis=-2)


@rule
def _beyond(Q: Any) -> Any:
    """The columns that a full factorization adds to those of Q (they have the same reflectors)."""
    W = qr(Q, check_finite=False)[0][..., Q.shape[-1] :]

    def pullback(W_bar: Any) -> Any:
        without_rotation(product(adjoint(W), W_bar), "qr", scale=W_bar, space="complement of the range")
        return -product(W, product(adjoint(W_bar), Q))

    return W, Differential((lambda Q_dot: -product(Q, product(adjoint(Q_dot), W)),), (pullback,))


@drop_in(scipy.linalg.rq, 2)
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    check_finite: bool = True,
) -> Any:
    """Differentiable in `a`, where its last ``k = min(m, n)`` rows have full rank.

    The rows of a full Q before the last m have a derivative only in functions of the space that they span.

    Raises
    ------
    ValueError
        If `a` is no matrix, has an entry that is not finite, or the mode is unknown.

    Warns
    -----
    RuntimeWarning
        Where the derivative depends on the choice of the rows of a full Q before the last m.

    Notes
    -----
    On Variables, the QR factorization of ``aᴴ`` with its columns and the results in reverse order.

    Examples
    --------
    >>> import numpy as np
    >>> np.abs(rq(np.array([[3.0, 4.0]]), mode="economic")[0])
    array([[5.]])
    """
    a = as_checked(a, check_finite)
    if mode not in ("full", "r", "economic"):
        raise ValueError(f"rq: mode must be 'full', 'r' or 'economic', got {mode!r}")
    flipped = np.flip(adjoint(a), axis=(-2, -1))
    *Q, R = qr(flipped, mode=mode, check_finite=False)
    R = np.flip(adjoint(R), axis=(-2, -1))
    return (R, np.flip(adjoint(Q[0]), axis=(-2, -1))) if Q else R


@drop_in(scipy.linalg.qr_multiply, 2, axes_of)
def qr_multiply(
    a: Any,
    c: Any,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:
    """Differentiable in `a` and `c`, where the first ``min(m, n)`` columns of `a` have full rank.

    P is constant: small changes of `a` do not change the exchanges.

    Raises
    ------
    ValueError
        If shapes do not fit together, the mode is unknown, or an entry of `c` is not finite.

    Notes
    -----
    On Variables Q (m × k) is formed and multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> cQ, R = qr_multiply(np.array([[3.0], [4.0]]), np.array([3.0, 4.0]))
    >>> np.abs(cQ)
    array([5.])
    """
    a, c = as_checked(a, False), as_checked(c, True)
    if mode not in ("left", "right"):
        raise ValueError(f"qr_multiply: mode must be 'left' or 'right', got {mode!r}")
    Q, R, *order = qr(a, mode="economic", pivoting=pivoting, check_finite=False)
    left = mode == "left"
    if c.ndim == 0:
        raise ValueError("qr_multiply: c must be a vector or a matrix, got a number")
    inner = c.shape[0] if c.ndim == 1 else c.shape[-2 if left else -1]
    if inner != Q.shape[-1 if left else -2]:
        raise ValueError(
            f"qr_multiply: a of shape {a.shape} and c of shape {c.shape} do not fit together (mode {mode!r})"
        )
    Q = conj(Q) if conjugate else Q
    return product(Q, c) if left else product(c, Q), R, *order
