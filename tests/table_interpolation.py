"""Records of interpolation, of phases, and of convolution."""

from __future__ import annotations

import numpy as np
from table import Operator, sample


def interpolations(rng):
    x, xp, fp = np.array([[-2.0, 0.1, 0.7], [1.3, 2.2, 5.0]]), np.array([-1.0, 0.5, 1.0, 3.0]), rng.random(4)
    yield sample(x, xp, fp)
    yield sample(x[0, 1], xp, fp)
    yield sample(x, xp, fp, left=np.array(0.25), right=np.array(-0.5))
    yield sample([-2.0, 0.1], xp, fp, -1.0)
    yield sample(x, [-1.0, 0.5, 1.0, 3.0], fp, right=2.0)
    yield sample(x, [3.0, -1.0, 0.5, 1.1], fp, period=2.7)
    yield sample(x, xp, fp, period=np.array(-2.7))
    yield sample(x, xp[:1], fp[:1])
    yield sample(np.zeros((0, 2)), xp, fp)


def complex_interpolations(rng):
    x, xp = np.array([-2.0, 0.1, 0.7, 2.2, 5.0]), np.array([-1.0, 0.5, 1.0, 3.0])
    fp = rng.random(4) + 1j * rng.random(4)
    yield sample(x, xp, fp)
    yield sample(x, xp, fp, left=1j, right=0.5j)
    yield sample(x, xp, fp, period=2.6)


def phases(rng):
    x = np.cumsum(rng.standard_normal((3, 6)) * 2.5, axis=1)
    yield sample(x % 6.0)
    yield sample(x % 6.0, axis=0)
    yield sample(x % 4.0, period=np.array(4.0))
    yield sample(x, 3.5, 1, period=4.0)
    yield sample(x[0], discont=5.0)
    yield sample(np.zeros(0))


def pairs_of_vectors(rng):
    """Every mode, both orders of lengths, odd and even."""
    for mode in ["full", "same", "valid"]:
        yield sample(rng.standard_normal(5), rng.standard_normal(3), mode)
        yield sample(rng.standard_normal(2), rng.standard_normal(4), mode)
    for n, m in [(3, 5), (4, 2), (4, 4)]:
        yield sample(rng.standard_normal(n), rng.standard_normal(m), "same")
    yield sample(rng.standard_normal(4), [1, 2])
    yield sample([1, 2], rng.standard_normal(4))


def with_numbers(rng):
    yield sample(rng.standard_normal(()), rng.standard_normal(3))
    yield sample(rng.standard_normal(3), 2.0)


OPERATORS = [
    Operator("interp", np.interp, interpolations),
    Operator("interp of complex", np.interp, complex_interpolations),
    Operator("unwrap", np.unwrap, phases),
    Operator("convolve", np.convolve, pairs_of_vectors, complex=True),
    Operator("convolve with a number", np.convolve, with_numbers, complex=True),
    Operator("correlate", np.correlate, pairs_of_vectors, complex=True),
]
