"""What a tensor function does for arguments of given shapes, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from lindiff._tables import aligned, bytes_of, count
from lindiff.tensor.expressions import Access, Apply, Scalar, accesses
from lindiff.tensor.fillings import Filling
from lindiff.tensor.gemm import Product
from lindiff.tensor.notation import scalar_text
from lindiff.tensor.plans import Loops, Plan
from lindiff.tensor.products import matrices_of
from lindiff.tensor.updates import Update, intervals, points, size_of

__all__ = ["Explanation", "Line", "lines_of"]


@dataclass(frozen=True)
class Line:
    """One pass over memory.

    Attributes
    ----------
    tensor : str
        What it adds to.
    shape : tuple of int
    expression : str
        What is added, or multiplied, or compared.
    route : {"loops", "matrix product", "copies"}
    loops : str
        How far each goes, outermost first; of a product of matrices: the batch, rows, columns, and what is
        summed.
    flops : float
        Additions, multiplications and calls of functions.
    bytes : int
        Of the arrays that are read and written.
    """

    tensor: str
    shape: tuple[int, ...]
    expression: str
    route: str
    loops: str
    flops: float
    bytes: int


class Explanation(list[Line]):
    """The passes of a tensor function, one a line."""

    @property
    def flops(self) -> float:
        """Of all."""
        return sum(line.flops for line in self)

    @property
    def bytes(self) -> int:
        """Of all: what goes between memory and processor if no cache holds anything."""
        return sum(line.bytes for line in self)

    def __str__(self) -> str:
        titles = ["tensor", "shape", "route", "loops", "flops", "bytes", "of"]
        rows = [
            [
                line.tensor,
                " × ".join(map(str, line.shape)),
                line.route,
                line.loops,
                count(line.flops),
                bytes_of(line.bytes),
                line.expression,
            ]
            for line in self
        ]
        rows.append(["in all", "", "", "", count(self.flops), bytes_of(self.bytes), ""])
        return "\n".join(aligned(titles, rows, {0, 1, 2, 3, 6}))

    def __repr__(self) -> str:
        return str(self)


def lines_of(filling: Filling) -> Iterator[Line]:
    """The passes that fill a tensor."""
    for update, plan in filling.passes:
        arrays = {access.array for access in accesses(update.body)}
        numbers = sum(prod(filling.layouts[name].shape) for name in (*arrays, filling.name))
        route, loops = _route(update, plan)
        yield Line(
            filling.name,
            filling.shape,
            f"{update.kind} of {scalar_text(update.body)}" if update.summed else scalar_text(update.body),
            route,
            loops,
            points(update.conditions, update.loops) * (_operations(update.body) + bool(update.summed)),
            numbers * filling.layouts[filling.name].itemsize,
        )


def _route(update: Update, plan: Plan) -> tuple[str, str]:
    boxes = intervals(update.conditions, update.loops) or {}
    if isinstance(plan, Product):
        matrices = matrices_of(update)
        assert matrices is not None
        sizes = [matrices.size(x) for x in (matrices.batch, matrices.rows, matrices.columns, matrices.inner)]
        return "matrix product", " × ".join(map(str, sizes))
    names = plan.loops if isinstance(plan, Loops) else update.free
    told = " ".join(f"{name}:{size_of(boxes, [name])}" for name in names if name in boxes)
    return "loops" if isinstance(plan, Loops) else "copies", told


def _operations(x: Scalar) -> int:
    """How many functions are called for one element."""
    if not isinstance(x, Apply):
        return 0
    own = not (x.function is np.negative and isinstance(x.args[0], Access))
    return own + sum(map(_operations, x.args))
