"""Records of the functions that write into their first argument."""

from __future__ import annotations

import numpy as np
from table import Operator, sample

MASK = np.array([[True, False, True], [False, True, True]])


def writing(function):
    """The array that ``function`` has written into."""

    def call(a, *args, **kwargs):
        a = a * 1
        assert function(a, *args, **kwargs) is None
        return a

    return call


def record(function, samples):
    def arrays(rng):
        return samples(rng.standard_normal((2, 3)), rng.standard_normal(3), rng.standard_normal(()))

    return Operator(name=function.__name__, function=function, samples=arrays, call=writing(function))


OPERATORS = [
    record(
        np.copyto,
        lambda A, b, s: [
            sample(A, b),
            sample(A, s, where=MASK),
            sample(A, b, casting="unsafe", where=MASK[0]),
            sample(A, 2.0),
            sample(A[:0], b),
        ],
    ),
    record(
        np.fill_diagonal,
        lambda A, b, s: [
            sample(A, s),
            sample(A, b[:2]),
            sample(A.T, b, wrap=True),
            sample(np.stack([A[:, :2], A[:, 1:]]), s),
            sample(A, 1.0),
        ],
    ),
    record(
        np.put,
        lambda A, b, s: [
            sample(A, [0, 5, -2], b),
            sample(A, [0, 5, -2, 3], b[:2]),
            sample(A, [1, 1], b[:2]),
            sample(A, [[0, 7]], b[:2], mode="wrap"),
            sample(A, [0, 7, -9], s, mode="clip"),
            sample(A, [0], b[:0]),
        ],
    ),
    record(
        np.putmask,
        lambda A, b, s: [sample(A, MASK, A[::-1]), sample(A, MASK, b[:2]), sample(A, MASK, s)],
    ),
    record(
        np.place,
        lambda A, b, s: [sample(A, MASK, b[:2]), sample(A, MASK, A), sample(A, ~MASK & MASK, b)],
    ),
    record(
        np.put_along_axis,
        lambda A, b, s: [
            sample(A, np.array([[1], [0]]), b[:2, None], 1),
            sample(A, np.array([[1, 0, 1]]), b[None], axis=0),
            sample(A, np.array([5, 0, 1]), b, None),
        ],
    ),
]
