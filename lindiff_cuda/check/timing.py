"""What calls take, beside the copies and products of the same card."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import cupy

import lindiff_cuda
from lindiff_cuda.check.comparing import as_tuple, call_of, on_device
from lindiff_cuda.check.problems import OPERATORS, Matrices

__all__ = ["Rates", "Timing", "card_rates", "seconds", "time_operator"]


class Rates(NamedTuple):
    """Bytes a second that a large copy reads and writes, and flops a second of a large product of doubles."""

    copy: float
    gemm: float


class Timing(NamedTuple):
    """Seconds of a call, and the share of them that the card needs at the least."""

    name: str
    size: str
    seconds: float
    share: float


def seconds(call: Callable[[], Any], least: float) -> float:
    """Of the fastest of several calls, each waited for, after one that compiles."""
    stream = cupy.cuda.get_current_stream()
    fastest, end = float("inf"), None
    while end is None or time.perf_counter() < end:
        if end is None:
            call()
            stream.synchronize()
            end = time.perf_counter() + least
        begin = time.perf_counter()
        call()
        stream.synchronize()
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest


def card_rates(order: int, least: float) -> Rates:
    """Measured with matrices of double precision of this order."""
    X = cupy.ones((order, order))
    out = cupy.empty_like(X)
    copy = seconds(lambda: cupy.copyto(out, X), least)
    gemm = seconds(lambda: cupy.matmul(X, X, out=out), least)
    return Rates(2 * X.nbytes / copy, 2 * order**3 / gemm)


def time_operator(name: str, matrices: Matrices, rates: Rates, least: float) -> Timing:
    """An operator on matrices of doubles: the least that it takes is reading and writing, or its flops."""
    operator = OPERATORS[name]
    arguments = on_device(operator.arguments(matrices))
    call = call_of(name, operator, lindiff_cuda)
    arrays = [x for x in (*arguments, *as_tuple(call(*arguments))) if isinstance(x, cupy.ndarray)]
    took = seconds(lambda: call(*arguments), least)
    flops = operator.flops * matrices.count * matrices.n**3
    needed = max(sum(x.nbytes for x in arrays) / rates.copy, flops / rates.gemm)
    return Timing(name, f"{matrices}", took, needed / took)
