"""Floating point operations of functions: leading terms, a multiplication and an addition count as two.

Golub and Van Loan, "Matrix Computations", 4th edition (2013): products in section 1.1, triangular systems in
3.1, LU in 3.2, Cholesky in 4.2, QR in 5.2.  Those of pullbacks: Seeger et al., "Auto-Differentiating Linear
Algebra" (2017), sections 4.2 and 4.3.  An operation on complex numbers counts as one on real numbers, a
call of a transcendental function as one operation.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

import lindiff.kernels as kernels
from lindiff.core import chain
from lindiff.programs.recorded import VIEWS, method

__all__ = ["MATRICES", "flops"]

Shape = tuple[int, ...]
Count = Callable[[list[Shape], Shape], float]


def _square(leading: float) -> Count:
    """``leading`` · n³ for each matrix."""

    def count(inputs: list[Shape], output: Shape) -> float:
        *batch, n, _ = inputs[0]
        return math.prod(batch) * leading * n**3

    return count


def _product(inputs: list[Shape], output: Shape) -> float:
    """2mnk, where k is the last axis of the first operand."""
    return 2.0 * math.prod(output) * (inputs[0][-1] if inputs[0] else 0)


def _any_product(inputs: list[Shape], output: Shape) -> float:
    """2mnk, of operands that may be transposed: the first one is mk."""
    return 2.0 * math.prod(inputs[0]) * output[-1]


def _symmetric_product(inputs: list[Shape], output: Shape) -> float:
    return math.prod(inputs[0]) * float(output[-1])


def _triangular(times: int) -> Count:
    """``times`` · m²n for an m×m triangle and mn numbers."""

    def count(inputs: list[Shape], output: Shape) -> float:
        return float(times) * math.prod(inputs[1]) * inputs[0][-1]

    return count


def _solve(inputs: list[Shape], output: Shape) -> float:
    return _square(2 / 3)(inputs, output) + _substitutions(inputs, output)


def _substitutions(inputs: list[Shape], output: Shape) -> float:
    """2n²k: forward and back, through two triangles."""
    return 2.0 * math.prod(output) * inputs[0][-1]


def _orthogonal(leading: int) -> Count:
    """``leading`` · (m²n - m³/3): Householder's reflections of m rows."""

    def count(inputs: list[Shape], output: Shape) -> float:
        *batch, m, n = inputs[0]
        return math.prod(batch) * leading * (m * m * n - m**3 / 3)

    return count


# Products, factorizations and solves.
MATRICES: dict[Any, Count] = {
    np.matmul: _product,
    np.dot: _product,
    np.inner: _product,
    method("dot"): _product,
    kernels.gemm2: _any_product,
    kernels.syrk: _symmetric_product,
    **dict.fromkeys((kernels.trmm, kernels.trsm, scipy.linalg.solve_triangular), _triangular(1)),
    **dict.fromkeys((kernels.trmm_pullback, kernels.trsm_pullback), _triangular(2)),
    **dict.fromkeys((np.linalg.cholesky, kernels.potrf), _square(1 / 3)),
    **dict.fromkeys((kernels.potrf_pullback, kernels.potri, kernels.getrf), _square(2 / 3)),
    **dict.fromkeys((np.linalg.det, np.linalg.slogdet, kernels.det, kernels.slogdet), _square(2 / 3)),
    **dict.fromkeys((np.linalg.inv, kernels.inverse), _square(2)),
    np.linalg.solve: _solve,
    kernels.getrs: _substitutions,
    kernels.gelqf: _orthogonal(4),
    kernels.gelqf_l: _orthogonal(2),
}
if hasattr(np, "matvec"):  # since NumPy 2.2
    MATRICES[np.matvec] = _product

# What does the same for each element of the result, and for each of the operand.
_ELEMENTWISE = {chain.product, operator.pow, np.round, np.nan_to_num, method("round")}
_REDUCTIONS = {
    *(np.sum, np.mean, np.prod, np.max, np.min, np.all, np.any, np.argmax, np.argmin, np.trace),
    *(np.cumsum, np.cumprod, np.nansum, np.count_nonzero),
    *map(method, ("sum", "mean", "prod", "max", "min", "all", "any", "argmax", "argmin", "trace")),
    *map(method, ("cumsum", "cumprod")),
}
# What only moves numbers, or looks at none.
_MOVES = {
    *(operator.getitem, operator.setitem, np.where, np.diag, np.diagonal, np.copy, np.copyto, np.take),
    *(np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.squeeze, np.expand_dims, np.roll),
    *(np.broadcast_to, np.concatenate, np.stack, np.hstack, np.vstack, np.column_stack, np.block, np.tile),
    *(np.repeat, np.flip, np.tril, np.triu, np.zeros_like, np.ones_like, np.empty_like, np.full_like),
    *(np.real, np.imag, np.take_along_axis, np.put_along_axis, np.split, np.array_split, np.pad),
    *(*VIEWS.values(), kernels.unpaired),
    *map(method, ("reshape", "ravel", "flatten", "transpose", "swapaxes", "squeeze", "diagonal", "copy")),
    *map(method, ("__copy__", "astype", "take", "repeat", "fill", "item", "tolist")),
}


def flops(function: Any, inputs: list[Shape], output: Shape) -> float | None:
    """How many floating point operations a call takes; None where there is no common formula.

    Parameters
    ----------
    function : callable
    inputs : list of tuple of int
        The shapes of its operands.
    output : tuple of int
        That of its (first) result.

    Examples
    --------
    >>> flops(np.matmul, [(2, 3), (3, 4)], (2, 4)), flops(np.exp, [(5,)], (5,)), flops(np.sort, [(5,)], (5,))
    (48.0, 5.0, None)
    """
    if isinstance(function, np.ufunc) and function.signature is None:
        return float(math.prod(output))
    if not inputs:
        return None
    if isinstance(getattr(function, "__self__", None), np.ufunc):
        of_all = {"reduce": inputs[0], "accumulate": inputs[0], "outer": output, "at": inputs[-1]}
        shape = of_all.get(function.__name__)
        return None if shape is None else float(math.prod(shape))
    if function in MATRICES:
        return MATRICES[function](inputs, output)
    if function in _ELEMENTWISE:
        return float(math.prod(output))
    if function in _REDUCTIONS:
        return float(math.prod(inputs[0]))
    return 0.0 if function in _MOVES else None
