"""Floating point operations of the products and factorizations whose number everyone agrees on.

Golub & Van Loan, "Matrix Computations"; leading terms, a multiplication and an addition count as two.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Shape = tuple[int, ...]


def _matrix(shape: Shape) -> tuple[int, int, int]:
    """Batch size, rows and columns."""
    return math.prod(shape[:-2]), shape[-2], shape[-1]


def _square(leading: float) -> Callable[[list[Shape], Shape], float]:
    """``leading`` · n³ for each matrix."""

    def count(inputs: list[Shape], output: Shape) -> float:
        batch, n, _ = _matrix(inputs[0])
        return batch * leading * n**3

    return count


def _product(inputs: list[Shape], output: Shape) -> float:
    return 2.0 * math.prod(output) * (inputs[0][-1] if inputs[0] else 0)


def _symmetric_product(inputs: list[Shape], output: Shape) -> float:
    return math.prod(output) * inputs[0][-1]


def _triangular(inputs: list[Shape], output: Shape) -> float:
    return math.prod(output) * inputs[0][-1]


def _solve(inputs: list[Shape], output: Shape) -> float:
    batch, n, _ = _matrix(inputs[0])
    return batch * 2 / 3 * n**3 + 2.0 * math.prod(output) * n


_COUNTS: dict[str, Callable[[list[Shape], Shape], float]] = {
    "matmul": _product,
    "dot": _product,
    "matvec": _product,
    "syrk": _symmetric_product,
    "trmm": _triangular,
    "trsm": _triangular,
    "solve_triangular": _triangular,
    "cholesky": _square(1 / 3),
    "potrf": _square(1 / 3),
    "det": _square(2 / 3),
    "slogdet": _square(2 / 3),
    "inv": _square(2),
    "potri": _square(2 / 3),
    "solve": _solve,
}


def flops(name: str, inputs: list[Shape], output: Shape) -> float | None:
    """How many floating point operations the value took; None where there is no common formula."""
    count = _COUNTS.get(name)
    if count is None or not inputs or (len(inputs[0]) < 2 and name not in ("matmul", "dot")):
        return None
    return count(inputs, output)
