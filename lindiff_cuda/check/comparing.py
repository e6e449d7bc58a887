"""The card's numbers against the CPU's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import cupy
import numpy as np

import lindiff_cuda
from lindiff import kernels
from lindiff_cuda.check.problems import MODELS, OPERATORS, Matrices, Operator, value_and_gradient

__all__ = ["Comparison", "compare_model", "compare_operator", "on_device", "tolerance"]


class Comparison(NamedTuple):
    """How far the card's numbers are from the CPU's, relative to each result's largest entry."""

    name: str
    size: str
    dtype: str
    distance: float
    tolerance: float
    error: str = ""

    @property
    def failed(self) -> bool:
        return bool(self.error) or not self.distance <= self.tolerance


def tolerance(dtype: Any, n: int) -> float:
    """What rounding may do to results of order n; wrong results are off by about 1."""
    return 20 * max(n, 32) * float(np.finfo(dtype).eps)


def on_device(arguments: Any) -> list[Any]:
    """NumPy's arrays as CuPy's."""
    return [cupy.asarray(x) if isinstance(x, np.ndarray) else x for x in arguments]


def call_of(name: str, operator: Operator, module: Any) -> Callable[..., Any]:
    """The operator as a function of its arguments, by `lindiff_cuda` or by `lindiff.kernels`."""
    if operator.call is None:
        return getattr(module, name)
    call = operator.call
    return lambda *arguments: call(module, *arguments)


def compare_operator(name: str, matrices: Matrices) -> Comparison:
    """One operator on these matrices."""
    operator = OPERATORS[name]

    def results() -> tuple[Any, Any]:
        arguments = operator.arguments(matrices)
        expected = operator.expected or call_of(name, operator, kernels)
        return call_of(name, operator, lindiff_cuda)(*on_device(arguments)), expected(*arguments)

    limit = tolerance(matrices.dtype, matrices.n)
    return compared(name, f"{matrices}", matrices.dtype, limit, results)


def compare_model(name: str, count: int, n: int) -> Comparison:
    """Value and gradient of a model, in double precision."""
    model = MODELS[name]

    def results() -> tuple[Any, Any]:
        arguments = model.arguments(count, n)
        on_card = value_and_gradient(model, tuple(on_device(arguments)))
        return on_card, value_and_gradient(model, arguments)

    return compared(name, f"{count}, {n}", np.dtype(float), 1000 * tolerance(float, n), results)


def compared(
    name: str, size: str, dtype: Any, limit: float, results: Callable[[], tuple[Any, Any]]
) -> Comparison:
    """The comparison of what was computed on the card and on the CPU; an error is one that has failed."""
    letters = np.dtype(dtype).name
    try:
        got, wanted = results()
        return Comparison(name, size, letters, distance(got, wanted), limit)
    except Exception as error:
        return Comparison(name, size, letters, math.inf, limit, f"{type(error).__name__}: {error}")


def distance(got: Any, wanted: Any) -> float:
    """The largest difference, relative to the largest entry of the result that it is in, or to 1."""
    pairs = zip(as_tuple(got), as_tuple(wanted), strict=True)
    return max(_distance(cupy.asnumpy(x), np.asarray(y)) for x, y in pairs if y is not None)


def as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _distance(x: Any, y: Any) -> float:
    """The largest difference, relative to entries above 1; infinity where x is not finite."""
    if x.shape != y.shape or not np.isfinite(x).all():
        return math.inf
    if x.size == 0:
        return 0.0
    difference = abs(x.astype(np.complex128) - y.astype(np.complex128))
    return float(difference.max() / max(1.0, float(abs(y).max())))
