"""Records of np.pad."""

from __future__ import annotations

import numpy as np
from table import Operator, sample


def constants(rng):
    x = rng.standard_normal((2, 3))
    yield sample(x, 1)
    yield sample(x, (2, 1))
    yield sample(x, [(1, 2), (0, 1)])
    yield sample(x, pad_width=((0, 0), (3, 0)))
    yield sample(x, 1, "constant", constant_values=2.0)
    yield sample(x, 1, constant_values=((1.0, 2.0), (3.0, 4.0)))
    yield sample(x, 1, constant_values=rng.standard_normal(()))
    yield sample(x, (1, 2), constant_values=rng.standard_normal(2))
    yield sample(x, 1, constant_values=rng.standard_normal((2, 2)))
    yield sample(x, 1, constant_values=rng.standard_normal((2, 1)))
    yield sample(rng.standard_normal((0, 2)), 1)
    yield sample(rng.standard_normal(()), 1)


def copies(rng):
    x = rng.standard_normal((2, 3))
    for mode in ["edge", "wrap", "reflect", "symmetric"]:
        yield sample(x, ((1, 0), (2, 7)), mode)
        yield sample(x, 1, mode=mode)
    for mode in ["reflect", "symmetric"]:
        yield sample(x, ((1, 0), (2, 7)), mode, reflect_type="odd")
        yield sample(x, ((5, 3), (0, 1)), mode=mode, reflect_type="odd")
        yield sample(x[:, :1], 3, mode=mode, reflect_type="odd")
        yield sample(x, 1, mode, reflect_type="even")
    yield sample(rng.standard_normal((0, 2)), ((0, 0), (1, 2)), "edge")


def ramps(rng):
    x = rng.standard_normal((2, 3))
    yield sample(x, ((1, 0), (2, 3)), "linear_ramp")
    yield sample(x, 2, "linear_ramp", end_values=1.5)
    yield sample(x, (2, 3), "linear_ramp", end_values=rng.standard_normal(2))
    yield sample(x, 1, "linear_ramp", end_values=[(1.0, 2.0), (-1.0, 0.0)])


def statistics(rng):
    x = rng.standard_normal((3, 4))
    for mode in ["maximum", "mean", "median", "minimum"]:
        yield sample(x, ((1, 0), (2, 3)), mode)
        yield sample(x, 1, mode, stat_length=2)
    yield sample(x, 2, "mean", stat_length=((1, 7), (2, 3)))
    yield sample(x, ((0, 1), (1, 0)), "median", stat_length=(3, 2))


def widths(rng):
    x = rng.standard_normal((2, 3))
    yield sample(x, ((1, 2), (0, 3)), "empty")
    yield sample(rng.standard_normal((0, 2)), 1, "empty")


def inside_of(array, pad_width, mode):
    """What of a padded array is not left empty."""
    padded = np.pad(array, pad_width, mode)
    (before, _), (left, _) = np.broadcast_to(pad_width, (2, 2))
    return padded[before : before + array.shape[0], left : left + array.shape[1]]


OPERATORS = [
    Operator("pad", np.pad, constants),
    Operator("pad with copies", np.pad, copies),
    Operator(
        "pad complex", np.pad, lambda rng: [*list(constants(rng))[:3], *list(copies(rng))[8:10]], complex=True
    ),
    Operator("pad with ramps", np.pad, ramps, complex=True),
    Operator("pad with statistics", np.pad, statistics),
    Operator("pad with anything", np.pad, widths, call=inside_of),
]
