"""Systems of linear equations, the inverse, the determinant, and norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from lindiff._docstrings import documented_like
from lindiff.core.arrays import placed
from lindiff.core.differential import Differential
from lindiff.kernels.matmul import product
from lindiff.linalg import factors
from lindiff.linalg._backend import failing_as, operator
from lindiff.linalg._batches import over_batch
from lindiff.linalg._factored import factored
from lindiff.linalg._matrices import adjoint, identity_like
from lindiff.linalg.triangular import trsm
from lindiff.scipy.linalg._arguments import (
    SCIPY,
    as_checked,
    axes_of,
    is_plain,
    of_scipy,
    on_columns,
    promoted,
    require_square,
    require_system,
    transpose_of,
)
from lindiff.scipy.linalg._structures import Structured, Triangular, matrix_in

__all__ = [
    "det",
    "inv",
    "norm",
    "solve",
    "solve_triangular",
]

# SciPy's short names of structures
FULL_NAMES = {
    "gen": "general",
    "sym": "symmetric",
    "her": "hermitian",
    "pos": "positive definite",
}


_STRUCTURES = {
    None,
    "banded",
    "diagonal",
    "general",
    "hermitian",
    "lower triangular",
    "positive definite",
    "symmetric",
    "tridiagonal",
    "upper triangular",
}

# Before 1.15 SciPy left the others to the caller.
_KNOWN_TO_SCIPY = (
    _STRUCTURES if SCIPY >= (1, 15) else {None, "general", "symmetric", "hermitian", "positive definite"}
)


# -- solve ---------------------------------------------------------------------------------------------------


def _plain_solve(a: Any, b: Any, **options: Any) -> Any:
    """SciPy's solution.  Before 1.15 it has no batches, finds no structure and knows short names only."""
    structure = options["assume_a"]
    structure = FULL_NAMES.get(structure, structure)
    if SCIPY >= (1, 17) and structure != "banded":
        return scipy.linalg.solve(a, b, **options)
    a, b = np.atleast_2d(a), np.asarray(b)
    if SCIPY < (1, 15):
        names = {full: short for short, full in FULL_NAMES.items()}
        options["assume_a"] = "gen" if structure is None else names.get(structure, structure)
    return over_batch(2, axes_of(b))(scipy.linalg.solve)(a, b, **options)


@documented_like(scipy.linalg.solve)
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """Differentiable in `a` and `b`.

    Parameters
    ----------
    assume_a : str, optional
        What `a` is: 'general', 'diagonal', 'tridiagonal', 'banded', 'upper triangular', 'lower triangular',
        'symmetric', 'hermitian', 'positive definite', or 'gen', 'sym', 'her', 'pos'.  By default it is found
        out.
    transposed : bool
        Solve ``aᵀ x = b``; for real `a` alone.

    Warns
    -----
    scipy.linalg.LinAlgWarning
        If `a` is ill-conditioned.

    Notes
    -----
    ``b_bar = a⁻ᴴ x_bar``, ``a_bar = -b_bar xᴴ`` (Giles 2008, section 2.3.1): one factorization serves value
    and derivatives of any order, each of which costs two triangular solves (2n²k flops) and a product.  LU
    takes 2n³/3 flops, Cholesky half of that, a band of width w O(nw²), a triangle none.

    The gradient is that of what is read: a named structure makes it a triangle, a band, or symmetric
    (Hermitian) but for entries whose mirror image differs or is exactly zero, which have the whole derivative
    in the triangle that is read; a structure that is found does not, so the gradient does not depend on
    chance zeros.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.linalg import solve
    >>> a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 4.0])
    >>> solve(a, b)
    array([1., 1.])
    >>> ld.grad(lambda b: solve(a, b, assume_a="pos").sum())(b)
    array([0.4, 0.2])
    """
    structure = FULL_NAMES.get(assume_a, assume_a) if assume_a else None
    if structure not in _STRUCTURES:
        raise ValueError(f"{assume_a} is not a recognized matrix structure")
    if is_plain(a, b) and structure in _KNOWN_TO_SCIPY:
        return _plain_solve(
            a,
            b,
            lower=lower,
            overwrite_a=overwrite_a,
            overwrite_b=overwrite_b,
            check_finite=check_finite,
            assume_a=assume_a,
            transposed=transposed,
        )
    a, b = as_checked(a, check_finite), as_checked(b, check_finite)
    a, b = a if a.ndim > 1 else np.atleast_2d(a), b if b.ndim else np.atleast_1d(b)
    require_square(a, "solve")
    a, b = promoted(a, b)
    if transposed and a.dtype.kind == "c":
        raise NotImplementedError("solve: transposed=True is for real matrices; write solve(a.T, b)")
    rows = b.shape[max(b.ndim - 2, 0)]
    if a.shape == (1, 1) and rows > 1:  # SciPy takes one number for a multiple of the identity
        a = a * placed(np.eye(rows, dtype=a.dtype), a)
    require_system(a.shape[-1], a, b, "solve")
    with failing_as("solve"):
        factor = factored(a, Structured, structure, bool(lower))
        return on_columns(lambda B: factors.solve(a, B, bool(transposed), factor), b)


@documented_like(scipy.linalg.solve_triangular)
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Differentiable in `a` and `b`.

    The gradient of `a` is a triangle: the one that is read, without a diagonal that is taken as ones.

    Raises
    ------
    ValueError
        If shapes do not fit together, or an entry is not finite.

    Notes
    -----
    n²k flops, and twice that backward: ``b_bar = t(a)⁻ᴴ x_bar``, ``a_bar = -tri(b_bar xᴴ)``; Seeger et al.
    (2017), appendix, "trsm".

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import solve_triangular
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 3.0]]), np.array([2.0, 4.0]), lower=True)
    array([1., 1.])
    """
    if is_plain(a, b):
        options = (trans, lower, unit_diagonal, overwrite_b, check_finite)
        return of_scipy(lambda a, b: scipy.linalg.solve_triangular(a, b, *options), a, b)
    a, b = as_checked(a, check_finite), as_checked(b, check_finite)
    require_square(a, "solve_triangular")
    require_system(a.shape[-1], a, b, "solve_triangular")
    a, b = promoted(a, b)
    transpose, lower = transpose_of(trans, "solve_triangular"), bool(lower)
    if not unit_diagonal:
        with failing_as("solve_triangular"):
            return on_columns(lambda B: trsm(a, B, transpose=transpose, lower=lower), b)
    factor = factored(a, Triangular, lower, True)
    return on_columns(lambda B: factors.solve(a, B, transpose, factor), b)


# -- inverse and determinant ---------------------------------------------------------------------------------


def _plain_inv(a: Any, **options: Any) -> Any:
    """SciPy's inverse, over a batch where it has none."""
    if SCIPY >= (1, 17):
        return scipy.linalg.inv(a, **options)
    a = np.asarray(a)
    if a.size == 0 and a.shape[-1:] == a.shape[-2:-1]:  # not every version takes it
        return np.zeros(a.shape, np.result_type(a.dtype, np.float32))
    return over_batch(2)(scipy.linalg.inv)(a, **options)


def _inv_value(a: Any, assume_a: str | None, lower: bool) -> Any:
    """SciPy's inverse; for an array of another library, ``solve`` with the identity."""
    if is_plain(a):
        return _plain_inv(a, **_given(assume_a, lower))
    factor = Structured(a, True, FULL_NAMES.get(assume_a, assume_a) if assume_a else None, lower)
    return factor.solve(np.broadcast_to(identity_like(a), a.shape), False)


@operator(_inv_value)
def _inv(a: Any, assume_a: str | None = None, lower: bool = False) -> Any:
    """``B = a⁻¹``: ``B_dot = -B a_dot B``."""
    B = _inv(a, assume_a=assume_a, lower=lower)
    structure = FULL_NAMES.get(assume_a, assume_a) if assume_a else None
    matrix = matrix_in(a, structure, lower)
    return B, Differential(
        lambda a_dot: -product(B, matrix.tangent(a_dot), B),
        lambda B_bar: matrix.gradient_of_any(-product(adjoint(B), B_bar, adjoint(B))),
    )


def _given(assume_a: str | None, lower: bool) -> dict[str, Any]:
    """Keywords that SciPy has since 1.17."""
    return {"assume_a": assume_a, "lower": lower} if assume_a is not None or lower else {}


@documented_like(scipy.linalg.inv)
def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Any:
    """Differentiable in `a`.

    `assume_a` and `lower` need SciPy 1.17 or later.

    Notes
    -----
    2n³ flops; ``a_bar = -Bᴴ B_bar Bᴴ`` takes two products, without another factorization.  Giles (2008),
    section 2.2.3.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import inv
    >>> inv(np.array([[1.0, 0.0], [2.0, 4.0]]))
    array([[ 1.  ,  0.  ],
           [-0.5 ,  0.25]])
    """
    options = _given(assume_a, lower)
    if is_plain(a):
        return _plain_inv(a, overwrite_a=overwrite_a, check_finite=check_finite, **options)
    a = as_checked(a, check_finite)
    require_square(a, "inv")
    return _inv(a, assume_a=assume_a, lower=lower)


@documented_like(scipy.linalg.det)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Differentiable in `a`, singular or not.

    The result has double precision, also that of a matrix in single precision.

    Raises
    ------
    ValueError
        If `a` is not square, or an entry is not finite.

    Notes
    -----
    2n³/3 flops, and 4n³/3 backward from the same LU factors.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.linalg import det
    >>> ld.grad(det)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 4., -3.],
           [-2.,  1.]])
    """
    if is_plain(a) and np.size(a):  # older versions forget the dtype where there is no entry
        return scipy.linalg.det(a, overwrite_a=overwrite_a, check_finite=check_finite)
    a = as_checked(a, check_finite)
    require_square(a, "det")
    double = np.result_type(a.dtype, np.float64)
    return np.linalg.det(a if a.dtype == double else a.astype(double))


# -- norms ---------------------------------------------------------------------------------------------------


@documented_like(scipy.linalg.norm)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """Differentiable in `a`, with the subgradient 0 at 0.

    Raises
    ------
    ValueError
        If an entry is not finite, or `ord` does not go with the number of axes.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.linalg import norm
    >>> ld.grad(norm)(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    if is_plain(a):
        return scipy.linalg.norm(a, ord, axis, keepdims, check_finite)
    return np.linalg.norm(as_checked(a, check_finite), ord, axis, keepdims)
