"""Tensors in index notation.

``lindiff.tensor("f[i, j] = sum[l] tanh(x[i + 2*l]) * w[l, j]")`` is a function of arrays ``x`` and ``w``,
with exact derivatives that are expressions, too.  So is the same of Python objects: ``indices`` and
``arrays`` with names, Python's operators, NumPy's ufuncs, and sums over indices.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from lindiff.tensor.function import TensorFunction, tensor
from lindiff.tensor.objects import arrays, bracket, indices, max, min, prod, sum
from lindiff.tensor.reading import TensorSyntaxError

__all__ = [
    "TensorFunction",
    "TensorSyntaxError",
    "arrays",
    "bracket",
    "indices",
    "max",
    "min",
    "prod",
    "sum",
    "tensor",
]


class _Callable(ModuleType):
    """The module as the function that makes tensor functions."""

    def __call__(self, expression: Any, indices: Any = (), **options: Any) -> TensorFunction:
        return tensor(expression, indices, **options)


sys.modules[__name__].__class__ = _Callable
