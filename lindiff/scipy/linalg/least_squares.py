"""Least squares and pseudoinverses, among matrices of constant rank (Golub & Pereyra 1973)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from lindiff._docstrings import documented_like
from lindiff.core.arrays import zeros_beside
from lindiff.core.differential import Differential
from lindiff.core.variable import value
from lindiff.linalg._backend import operator
from lindiff.linalg._batches import over_batch
from lindiff.linalg._matrices import adjoint, largest, mirrored
from lindiff.linalg._one_triangle import OneTriangle
from lindiff.linalg.singular_values import (
    pinv_pullback,
    pinv_pushforward,
    solution_pullback,
    solution_pushforward,
    svdvals_differential,
)
from lindiff.scipy._drop_in import as_scipy_returns
from lindiff.scipy.linalg._arguments import (
    as_checked,
    axes_of,
    columns,
    is_plain,
    promoted,
    require_square,
    require_system,
)

__all__ = ["lstsq", "pinv", "pinvh"]


def _require_matrix(a: Any, function: str) -> None:
    if a.ndim < 2:
        raise ValueError(f"{function}: a must have two axes or more, got shape {a.shape}")


# -- pseudoinverse -------------------------------------------------------------------------------------------


def _plain(function: Callable[..., Any], decomposed: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function for single matrices; the same computation for a batch or for empty matrices.

    ``decomposed(a, ...)`` gives X, w and Y of ``a⁺ = X diag(1 / w) Y``.
    """

    @over_batch(2)
    def of_matrices(a: Any, return_rank: bool, **options: Any) -> Any:
        if a.size:
            return function(a, return_rank=return_rank, check_finite=False, **options)
        P = np.zeros(a.shape[::-1], np.result_type(a.dtype, np.float32))
        return (P, 0) if return_rank else P

    def pseudoinverse(
        a: Any, return_rank: bool = False, atol: Any = None, rtol: Any = None, **options: Any
    ) -> Any:
        if is_plain(a) and (a.ndim == 2 or a.size == 0 or a.dtype.char not in "fdFD"):
            return of_matrices(a, return_rank, atol=atol, rtol=rtol, **options)
        X, w, Y = decomposed(a, **options)
        atol = 0.0 if atol is None else atol
        rtol = max(a.shape[-2:]) * float(np.finfo(w.dtype).eps) if rtol is None else rtol
        if atol < 0 or rtol < 0:
            raise ValueError(f"atol and rtol must not be negative, got {atol} and {rtol}")
        counts = np.abs(w) > atol + rtol * largest(np.abs(w), axis=-1, keepdims=True)
        P = (X * _reciprocals(w, counts)[..., None, :]) @ Y
        return (P, np.sum(counts, axis=-1)) if return_rank else P

    return pseudoinverse


def _reciprocals(w: Any, counts: Any) -> Any:
    """1 / w where w counts, else 0."""
    return (counts / np.where(counts, w, 1)).astype(w.dtype)


def _by_singular_values(a: Any) -> tuple[Any, Any, Any]:
    U, s, Vh = np.linalg.svd(a, full_matrices=False)
    return adjoint(Vh), s, adjoint(U)


def _by_eigenvalues(a: Any, lower: bool) -> tuple[Any, Any, Any]:
    w, V = np.linalg.eigh(a, "L" if lower else "U")
    return V, w, adjoint(V)


_plain_pinv = _plain(scipy.linalg.pinv, _by_singular_values)
_plain_pinvh = _plain(scipy.linalg.pinvh, _by_eigenvalues)


@operator(_plain_pinv)
def _pinv(a: Any, atol: Any = None, rtol: Any = None) -> Any:
    """The pseudoinverse of plain tolerances, with its derivative at constant rank."""
    P = _pinv(a, atol=atol, rtol=rtol)
    return P, Differential(
        lambda a_dot: pinv_pushforward(a, P, a_dot), lambda P_bar: pinv_pullback(a, P, P_bar)
    )


@documented_like(scipy.linalg.pinv)
def pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    """Differentiable in `a`, among matrices of constant rank: the pseudoinverse jumps where the rank does.

    Raises
    ------
    ValueError
        If `atol` or `rtol` is negative, or an entry is not finite.

    Notes
    -----
    The derivative takes six products, and no further decomposition.  Golub & Pereyra (1973), eq. 4.12.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import pinv
    >>> pinv(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    options = {"atol": atol, "rtol": rtol}
    a = as_checked(a, check_finite)
    plain = value(a)
    _require_matrix(plain, "pinv")
    if not return_rank:
        return _pinv(a, **options)
    P, rank = _plain_pinv(plain, return_rank=True, **options)
    return P if is_plain(a) else _pinv(a, **options), rank


@operator(_plain_pinvh)
def _pinvh(a: Any, atol: Any = None, rtol: Any = None, lower: bool = True) -> Any:
    """The pseudoinverse of a Hermitian matrix, with the derivative of ``pinv``."""
    P = _pinvh(a, atol=atol, rtol=rtol, lower=lower)
    A, matrix = mirrored(a, lower), OneTriangle(a, lower)
    return P, Differential(
        lambda a_dot: pinv_pushforward(A, P, matrix.tangent(a_dot)),
        lambda P_bar: matrix.gradient_of_any(pinv_pullback(A, P, P_bar)),
    )


@documented_like(scipy.linalg.pinvh)
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Differentiable in `a`, among matrices of constant rank, with a Hermitian gradient.

    An entry whose mirror image differs or is exactly zero has the whole derivative in the triangle that is
    read.

    Raises
    ------
    ValueError
        If `atol` or `rtol` is negative, or an entry is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import pinvh
    >>> pinvh(np.array([[2.0, 0.0], [0.0, 0.0]]))
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    options = {"atol": atol, "rtol": rtol, "lower": bool(lower)}
    a = as_checked(a, check_finite)
    plain = value(a)
    require_square(plain, "pinvh")
    if not return_rank:
        return _pinvh(a, **options)
    P, rank = _plain_pinvh(plain, return_rank=True, **options)
    return P if is_plain(a) else _pinvh(a, **options), rank


# -- least squares -------------------------------------------------------------------------------------------


@operator(lambda a, P: P)
def _known_pinv(a: Any, P: Any = None) -> Any:
    """The pseudoinverse of ``a``, of which the plain value P is known."""
    X = _known_pinv(a, P=P)
    return X, Differential(
        lambda a_dot: pinv_pushforward(a, X, a_dot), lambda X_bar: pinv_pullback(a, X, X_bar)
    )


@operator(lambda a, svd: svd[1])
def _known_svdvals(a: Any, svd: Any = None) -> Any:
    """The singular values of ``a``, of which the plain decomposition is known."""
    s = _known_svdvals(a, svd=svd)
    U, _, Vh = svd if is_plain(a) else np.linalg.svd(a, full_matrices=False)
    return s, svdvals_differential(U, s, Vh, "svdvals")


@operator(lambda a, B, P: P @ B)
def _solution(a: Any, B: Any, P: Any = None) -> Any:
    """``X = a⁺ B`` with the known plain pseudoinverse P."""
    X = _solution(a, B, P=P)
    P = _known_pinv(a, P=P)
    return X, Differential(
        lambda a_dot, B_dot: solution_pushforward(a, B, X, P, a_dot, B_dot),
        lambda X_bar: solution_pullback(a, B, X, P, X_bar),
        linear_in=(1,),
    )


DRIVERS = ("gelsd", "gelsy", "gelss")


def _plain_lstsq(a: Any, b: Any, *options: Any) -> Any:
    """SciPy's ``lstsq``, with real residues."""
    x, residues, rank, s = scipy.linalg.lstsq(a, b, *options)
    if residues.size:
        residues = residues.real  # SciPy 1.18 leaves the rounding errors of complex squares in them
    return x, residues, rank, s


@documented_like(scipy.linalg.lstsq)
@as_scipy_returns
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> Any:
    """`x`, `residues` and `s` are differentiable in `a` and `b`.

    On Variables `lapack_driver` decides only what is returned: for 'gelsy' neither residues nor `s`.

    Notes
    -----
    On Variables one singular value decomposition serves x, residues and s, and their derivatives of first
    order in both directions.  Those of x are among matrices of constant rank: Golub & Pereyra (1973), section
    4.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.linalg import lstsq
    >>> x, residues, rank, s = lstsq(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))
    >>> x, int(rank)
    (array([2.]), 1)
    >>> ld.grad(lambda b: lstsq(np.array([[1.0], [1.0]]), b)[0].sum())(np.array([1.0, 3.0]))
    array([0.5, 0.5])
    """
    if is_plain(a, b):
        a, b = np.asarray(a), np.asarray(b)
        return over_batch(2, axes_of(b))(_plain_lstsq)(
            a, b, cond, overwrite_a, overwrite_b, check_finite, lapack_driver
        )
    a, b = as_checked(a, check_finite), as_checked(b, check_finite)
    driver = scipy.linalg.lstsq.default_lapack_driver if lapack_driver is None else lapack_driver
    if driver not in DRIVERS:
        raise ValueError(f'LAPACK driver "{driver}" is not found')
    _require_matrix(a, "lstsq")
    require_system(a.shape[-2], a, b, "lstsq")
    a, b = promoted(a, b)
    m, n = a.shape[-2:]
    vector = b.ndim == 1
    B = columns(b, vector)
    batch = np.broadcast_shapes(a.shape[:-2], B.shape[:-2])
    a = np.broadcast_to(a, (*batch, m, n)) if a.shape[:-2] != batch else a
    if m == 0 or n == 0:
        return _of_nothing(n, B, batch, vector)
    U, s, Vh = np.linalg.svd(value(a), full_matrices=False)
    cutoff = float(np.finfo(s.dtype).eps) if cond is None or cond < 0 else cond
    counts = s > cutoff * largest(s, axis=-1, keepdims=True)
    P = (adjoint(Vh) * _reciprocals(s, counts)[..., None, :]) @ adjoint(U)
    X = _solution(a, B, P=P)
    ranks = np.sum(counts, axis=-1)
    residues = zeros_beside(a, (*batch, 0), a.dtype)
    if driver != "gelsy" and m > n and np.all(ranks == n):
        residues = _squares(B - a @ X)
        residues = residues[..., 0] if vector else residues
    rank = ranks if batch else int(ranks)
    singular_values = None if driver == "gelsy" else _known_svdvals(a, svd=(U, s, Vh))
    return X[..., 0] if vector else X, residues, rank, singular_values


def _of_nothing(n: int, B: Any, batch: tuple[int, ...], vector: bool) -> Any:
    """The results for a matrix without entries: x is zero, and without columns the residual is b."""
    X = zeros_beside(B, (*batch, n, B.shape[-1]), B.dtype)
    nothing = zeros_beside(B, (*batch, 0), np.float64)
    rank = zeros_beside(B, batch, int) if batch else 0
    if n:
        return X[..., 0] if vector else X, nothing, rank, nothing
    residues = np.broadcast_to(_squares(B), (*batch, B.shape[-1]))
    return (X[..., 0], residues[..., 0], rank, nothing) if vector else (X, residues, rank, nothing)


def _squares(R: Any) -> Any:
    """``|r|²`` by columns."""
    return np.sum(R.real**2 + R.imag**2 if R.dtype.kind == "c" else R * R, axis=-2)
