"""Records of functions applied along axes, of sliding windows, and of np.emath."""

from __future__ import annotations

import inspect

import numpy as np
from table import Operator, sample, undispatched

as_strided = np.lib.stride_tricks.as_strided
sliding_window_view = np.lib.stride_tricks.sliding_window_view


def scaled_sum(x, factor=1.0, power=1):
    return factor * np.sum(x**power)


def along_axis(rng):
    x = rng.standard_normal((2, 3, 4))
    yield sample(np.sum, 1, x)
    yield sample(scaled_sum, -1, x, 2.0, power=2)
    yield sample(lambda x: x[:2] * x[1:3], 2, x)
    yield sample(lambda x: np.outer(x, x), 1, x)
    yield sample(np.diff, 0, rng.standard_normal(4))


def over_axes(rng):
    x = rng.standard_normal((2, 3, 4))
    yield sample(np.sum, x, [0, -1])
    yield sample(np.cumprod, x, 1)
    yield sample(lambda x, axis: np.sum(x * x, axis=axis, keepdims=True), x, (1, 2))


def sliding(rng):
    x = rng.standard_normal((3, 5))
    yield sample(rng.standard_normal(6), 3)
    yield sample(x, (2, 3))
    yield sample(x, 2, axis=1)
    yield sample(x, (3, 1), axis=(-1, 0))
    yield sample(x, (2, 3), axis=(1, 1))
    yield sample(x, [5], [1])
    yield sample(rng.standard_normal(()), ())


def real_numbers(rng):
    yield sample(np.array([0.3, 0.6]))
    yield sample(np.array([[-0.3, 0.6], [2.5, -4.0]]))
    yield sample(np.array(-3.0))
    yield sample(np.zeros((0, 2)))


def two_numbers(rng):
    yield sample(np.array([2.0, 3.0]), np.array([0.3, 0.6]))
    yield sample(np.array([2.0, 3.0]), np.array([[-0.3], [0.6]]))
    yield sample(-2.0, np.array([0.3, 0.6]))


def powers(rng):
    yield sample(np.array([2.0, 3.0]), np.array([0.3, -0.6]))
    yield sample(np.array([2.0, -3.0]), np.array([0.3, 0.6]))
    yield sample(np.array([2.0, -3.0]), 2)
    yield sample([2, 3], np.array([0.3, 0.6]))
    yield sample(np.array([2.0, -3.0]), [2, -2])


def corners(rng):
    """With strides of their own: those given in bytes have their tests elsewhere."""
    x = rng.standard_normal((3, 4))
    yield sample(x)
    yield sample(x, (2, 4), writeable=False)
    yield sample(x, shape=(0, 4), strides=None)
    if "check_bounds" in inspect.signature(as_strided).parameters:  # from NumPy 2.5 on
        yield sample(x, shape=(2, 4), check_bounds=True)


OPERATORS = [
    Operator("apply_along_axis", np.apply_along_axis, along_axis, complex=True),
    Operator("apply_over_axes", np.apply_over_axes, over_axes, complex=True),
    Operator("sliding_window_view", sliding_window_view, sliding, complex=True),
    Operator("as_strided", as_strided, corners, call=undispatched(as_strided), complex=True),
    *(
        Operator(f"emath.{name}", getattr(np.emath, name), real_numbers, complex=True)
        for name in ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"]
    ),
    Operator("emath.logn", np.emath.logn, two_numbers, complex=True),
    Operator("emath.power", np.emath.power, powers),
]
