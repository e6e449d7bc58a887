"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.core.arrays import padded_with_zeros, placed
from lindiff.core.differential import Bilinear
from lindiff.core.registry import rule
from lindiff.rules._common import as_array, conj

__all__: list[str] = []


def completed(y_bar: Any, start: int, length: int) -> Any:
    """The cotangent of a part of the full result, as one of all of it."""
    n = y_bar.shape[0]
    return y_bar if n == length else padded_with_zeros(y_bar, [(start, length - start - n)])


@rule(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """``y_k = Σ a_{k-j} v_j``; the adjoint in each of the two is correlation with the other."""
    a, v = np.atleast_1d(placed(as_array(a), v)), np.atleast_1d(placed(as_array(v), a))
    y = np.convolve(a, v, mode)
    length = a.size + v.size - 1
    shorter = min(a.size, v.size)
    start = {"full": 0, "same": (shorter - 1) // 2, "valid": shorter - 1}[mode]
    return y, Bilinear(
        (lambda a_dot: np.convolve(a_dot, v, mode), lambda v_dot: np.convolve(a, v_dot, mode)),
        (
            lambda y_bar: np.correlate(completed(y_bar, start, length), v, "valid"),
            lambda y_bar: np.correlate(completed(y_bar, start, length), a, "valid"),
        ),
    )


@rule(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """``y_k = Σ a_{j+k} conj(v_j)``: the convolution of ``a`` with the conjugate of ``v`` turned around."""
    a, v = placed(as_array(a), v), placed(as_array(v), a)
    y = np.correlate(a, v, mode)
    length = a.size + v.size - 1
    shorter = min(a.size, v.size)
    # NumPy correlates the longer with the shorter and turns the result around where that is not (a, v)
    half = (shorter - 1) // 2 if a.size >= v.size else shorter // 2
    start = {"full": 0, "same": half, "valid": shorter - 1}[mode]
    return y, Bilinear(
        (lambda a_dot: np.correlate(a_dot, v, mode), lambda v_dot: np.correlate(a, v_dot, mode)),
        (
            lambda y_bar: np.convolve(completed(y_bar, start, length), v, "valid"),
            lambda y_bar: conj(np.flip(np.correlate(completed(y_bar, start, length), a, "valid"))),
        ),
    )
