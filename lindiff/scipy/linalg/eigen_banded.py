"""Eigenvalues and eigenvectors of tridiagonal and of Hermitian band matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.kernels.matmul import product
from lindiff.linalg._matrices import adjoint, conj
from lindiff.linalg.diagonals import makediag
from lindiff.linalg.eigenvectors import eigh_pullback, eigh_pushforward
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.linalg._arguments import as_checked
from lindiff.scipy.linalg.eigen import of_subset, subset

__all__ = ["eig_banded", "eigh_tridiagonal", "eigvals_banded", "eigvalsh_tridiagonal"]

# SciPy's names for all eigenvalues, those in an interval, and those of an interval of indices
SELECTIONS: dict[Any, str] = {
    0: "a",
    "a": "a",
    "all": "a",
    1: "v",
    "v": "v",
    "value": "v",
    2: "i",
    "i": "i",
    "index": "i",
}


@drop_in(scipy.linalg.eigh_tridiagonal, 1, 1)
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: Any = "a",
    select_range: Sequence[float] | None = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Differentiable in `d` and `e`.

    `tol` and `lapack_driver` are for plain arrays.

    Raises
    ------
    TypeError
        For complex arrays.
    ValueError
        If shapes do not fit together, an entry is not finite, or an option is unknown or out of range.

    Warns
    -----
    RuntimeWarning
        Where the derivative depends on vectors of equal eigenvalues.

    Notes
    -----
    On Variables all eigenvalues and vectors are found.  The derivative of eigenvalues costs some n² flops,
    that of vectors 4n³ or more.  Giles (2008), section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> eigh_tridiagonal(np.array([2.0, 2.0]), np.array([1.0]), eigvals_only=True)
    array([1., 3.])
    """
    d, e = as_checked(d, check_finite), as_checked(e, check_finite)
    if eigvals_only:
        w = _tridiagonal_values(d, e)
        chosen = _selected(w, select, select_range, "eigh_tridiagonal")
        return w if chosen is None else np.take_along_axis(w, chosen, axis=-1)
    w, V = _tridiagonal(d, e)
    chosen = _selected(w, select, select_range, "eigh_tridiagonal")
    return (w, V) if chosen is None else of_subset(w, V, chosen)


def _selected(w: Any, select: Any, select_range: Any, name: str) -> Any:
    """The indices of the ascending eigenvalues w that are asked for; None for all."""
    kind = SELECTIONS.get(select.lower() if isinstance(select, str) else select)
    if kind is None:
        raise ValueError(f"{name}: select must be 'a', 'v' or 'i', got {select!r}")
    by_index, by_value = (select_range if kind == k else None for k in "iv")
    return subset(w, by_index, by_value, name)


@rule
def _tridiagonal_values(d: Any, e: Any) -> Any:
    """``w_dot_j = v_jᵀ T_dot v_j``."""
    w, V = eigh_tridiagonal(d, e, check_finite=False)

    def pushforward(d_dot: Any, e_dot: Any) -> Any:
        return np.sum(V * _times(d_dot, e_dot, V), axis=-2)

    return w, Differential(pushforward, lambda w_bar: _against(V * w_bar[..., None, :], V))


@rule
def _tridiagonal(d: Any, e: Any) -> Any:
    """Eigenvalues and eigenvectors of the matrix with diagonals d and e."""
    w, V = eigh_tridiagonal(d, e, check_finite=False)
    name = "eigh_tridiagonal"

    def pushforward(d_dot: Any, e_dot: Any) -> Any:
        w_dot, S = eigh_pushforward(w, product(adjoint(V), _times(d_dot, e_dot, V)), name)
        return w_dot, product(V, S)

    def pullback(bars: tuple[Any, Any]) -> Any:
        w_bar, V_bar = bars
        if V_bar is None:
            return _against(V * w_bar[..., None, :], V)
        return _against(product(V, eigh_pullback(w, V, w_bar, V_bar, name)), V)

    return (w, V), Differential(pushforward, pullback, symbolic_zeros=True)


def _times(d: Any, e: Any, X: Any) -> Any:
    """``T X`` with the tridiagonal T."""
    e, zero = e[..., None], np.zeros_like(X[..., :1, :])
    beside = np.concatenate([e * X[..., 1:, :], zero], axis=-2)
    return d[..., None] * X + beside + np.concatenate([zero, e * X[..., :-1, :]], axis=-2)


def _against(Y: Any, X: Any) -> tuple[Any, Any]:
    """The cotangents of d and e from the cotangent Y of ``T X``."""
    products = Y[..., :-1, :] * X[..., 1:, :] + Y[..., 1:, :] * X[..., :-1, :]
    return np.sum(Y * X, axis=-1), np.sum(products, axis=-1)


@drop_in(scipy.linalg.eigvalsh_tridiagonal, 1, 1)
def eigvalsh_tridiagonal(
    d: Any,
    e: Any,
    select: Any = "a",
    select_range: Sequence[float] | None = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Differentiable in `d` and `e`, like :func:`eigh_tridiagonal`.

    Examples
    --------
    >>> import numpy as np
    >>> eigvalsh_tridiagonal(np.zeros(2), np.ones(1), select="i", select_range=(1, 1))
    array([1.])
    """
    return eigh_tridiagonal(d, e, True, select, select_range, check_finite)


@drop_in(scipy.linalg.eig_banded, 2)
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Sequence[float] | None = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Differentiable in `a_band`.

    `max_ev` is for plain arrays.

    Raises
    ------
    ValueError
        If an entry is not finite, or an option is unknown or out of range.

    Warns
    -----
    RuntimeWarning
        Where the derivative depends on vectors of equal eigenvalues, or on the phases of complex vectors,
        which are arbitrary.

    Notes
    -----
    On Variables the whole matrix is formed, for ``numpy.linalg.eigh``: its vectors are n × n anyway.

    Examples
    --------
    >>> import numpy as np
    >>> eig_banded(np.array([[2.0, 2.0], [1.0, 0.0]]), lower=True, eigvals_only=True)
    array([1., 3.])
    """
    a = _from_band(as_checked(a_band, check_finite), lower)
    if eigvals_only:
        w = np.linalg.eigvalsh(a)
        chosen = _selected(w, select, select_range, "eig_banded")
        return w if chosen is None else np.take_along_axis(w, chosen, axis=-1)
    w, V = np.linalg.eigh(a)
    chosen = _selected(w, select, select_range, "eig_banded")
    return (w, V) if chosen is None else of_subset(w, V, chosen)


def _from_band(a_band: Any, lower: bool) -> Any:
    """The Hermitian matrix whose diagonals are the rows of ``a_band``."""
    if a_band.ndim < 2:
        raise ValueError(f"eig_banded: a_band must have at least two axes, got shape {a_band.shape}")
    above, n = a_band.shape[-2] - 1, a_band.shape[-1]
    a = makediag(a_band[..., 0 if lower else above, :])
    for k in range(1, min(above, n - 1) + 1):
        beside = a_band[..., k, : n - k] if lower else conj(a_band[..., above - k, k:])
        X = makediag(beside, -k)
        a = a + X + adjoint(X)
    return a


@drop_in(scipy.linalg.eigvals_banded, 2)
def eigvals_banded(
    a_band: Any,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Sequence[float] | None = None,
    check_finite: bool = True,
) -> Any:
    """Differentiable in `a_band`, like :func:`eig_banded`.

    Examples
    --------
    >>> import numpy as np
    >>> eigvals_banded(np.array([[0.0, 1.0], [2.0, 2.0]]))
    array([1., 3.])
    """
    return eig_banded(
        a_band, lower, True, select=select, select_range=select_range, check_finite=check_finite
    )
