"""Floating point operations of the products and factorizations of a record, by their names."""

from __future__ import annotations

from lindiff.programs.flops import MATRICES, Shape

_BY_NAME = {function.__name__: count for function, count in MATRICES.items()}


def flops(name: str, inputs: list[Shape], output: Shape) -> float | None:
    """How many floating point operations the value took; None where there is no common formula."""
    count = _BY_NAME.get(name)
    if count is None or not inputs or (len(inputs[0]) < 2 and name not in ("matmul", "dot")):
        return None
    return count(inputs, output)
