"""Records of selection, sorting, creation and conversion."""

from __future__ import annotations

import numpy as np
from table import Operator, accepted, sample, undispatched

import lindiff as ld

CONDITION = np.array([[True, False, True], [False, True, False]])


def wheres(rng):
    x, y = rng.standard_normal((2, 3)), rng.standard_normal(3)
    yield sample(CONDITION, x, y)
    yield sample(CONDITION[0], x, 0.0)
    yield sample(CONDITION, 1, y)
    yield sample(True, rng.standard_normal(()), y)
    yield sample(np.zeros((0, 3), bool), y, 1.0)
    yield sample(x, x, y)


def selects(rng):
    x, y = rng.standard_normal((2, 3)), rng.standard_normal(3)
    yield sample([CONDITION, ~CONDITION], [x, y])
    yield sample([CONDITION[0], CONDITION[1]], [x, y], np.array(2.0))


def chooses(rng):
    yield sample(np.array([0, 2, 1]), [rng.standard_normal((2, 3)), rng.standard_normal(3), 1.0])
    yield sample(np.array([0, 4, -1]), rng.standard_normal((3, 3)), mode="wrap")
    yield sample(np.array([0, 4, -1]), rng.standard_normal((3, 3)), mode="clip")
    yield sample(np.array([0, 0]), [rng.standard_normal((3, 1))])
    yield sample(0, [rng.standard_normal(3)])


def pieces(rng):
    x = rng.standard_normal((2, 3))
    yield sample(x, [x < 0, x >= 0], [lambda x: x * x, np.exp])
    yield sample(x, [x < 0], [np.square, 2.0])
    yield sample(x, [x < 0, x < 0.5], [3.0, np.sin, lambda x: x])
    yield sample(np.array(1.5), [np.array(True)], [np.square])


def takes(rng):
    x = rng.standard_normal((3, 4))
    yield sample(x, 5)
    yield sample(x, [0, 5, 5])
    yield sample(x, [[0, 1], [2, 1]], axis=0)
    yield sample(x, np.array([0, -1, 0]), axis=-1)
    yield sample(x, 1, axis=1)
    yield sample(x, [0, 7, -5], axis=1, mode="wrap")
    yield sample(x, [0, 7, -5], axis=1, mode="clip")
    yield sample(x, np.zeros(0, int), axis=1)


def takes_along(rng):
    x = rng.standard_normal((3, 4))
    yield sample(x, np.argsort(x, axis=1), 1)
    yield sample(x, np.argmax(x, axis=0, keepdims=True), axis=0)
    yield sample(x, np.array([1, 1, 5]), axis=None)
    yield from accepted(np.take_along_axis, sample(x, np.zeros((3, 2), int)))


def sorts(rng):
    x = rng.standard_normal((3, 4))
    yield sample(rng.standard_normal(5))
    yield sample(x)
    yield sample(x, 0, kind="stable")
    yield sample(x, axis=None)
    yield sample(x, axis=-2, stable=True)
    yield sample(rng.standard_normal((0, 3)))


def compresses(rng):
    yield sample([True, False, True], rng.standard_normal((3, 4)), axis=0)
    yield sample([True, False, True], rng.standard_normal((3, 4)))
    yield sample([True, False], rng.standard_normal((3, 4)), axis=1)


def uniques(rng):
    x = rng.standard_normal((2, 3))
    yield sample(x)
    yield sample(x, return_index=True, return_inverse=True, return_counts=True)
    yield sample(x, axis=1, return_counts=True)


def one_set(rng):
    yield sample(rng.standard_normal((2, 3)))


def two_sets(rng):
    yield sample(rng.standard_normal(4), [0.5, -2.0])
    yield sample([0.25, 1.5], rng.standard_normal((2, 2)))


def casts(rng):
    yield sample(rng.standard_normal((2, 3)), np.dtype("f8"))
    yield sample(rng.standard_normal((2, 3)), np.dtype("c16"))
    yield sample(rng.standard_normal((2, 3)), np.dtype("f8"), copy=False)


def fills(rng):
    yield sample(np.zeros((2, 3)), rng.standard_normal(()))
    yield sample(np.zeros((2, 3)), rng.standard_normal(3))
    yield sample(np.zeros((2, 3)), 2.0)
    yield sample(np.zeros((2, 3)), rng.standard_normal(()), shape=(4,), dtype=np.float64)


def grids(rng):
    yield sample(rng.standard_normal(()), rng.standard_normal(()), 5)
    yield sample(rng.standard_normal(()), 3.0, num=4, endpoint=False)
    yield sample(rng.standard_normal(3), rng.standard_normal((2, 1)), 4, axis=-1)
    yield sample(1.0, rng.standard_normal(3), 1)
    yield sample(rng.standard_normal(()), 3.0, 0)
    yield sample(rng.standard_normal(()), 3.0, 5, dtype=np.float64)


def linear_grids(rng):
    yield from grids(rng)
    yield sample(rng.standard_normal(()), 3.0, 5, retstep=True)


def based_grids(rng):
    yield from grids(rng)
    yield sample(0.5, rng.standard_normal(()), 5, base=np.array(2.0))


def lists(rng):
    yield sample([rng.standard_normal(()), 1.0, rng.standard_normal(())])
    yield sample([[rng.standard_normal(()), 1.0], [0, rng.standard_normal(())]])
    yield sample([rng.standard_normal(3), rng.standard_normal(3)], dtype=np.float64)
    yield sample(rng.standard_normal(3))


def with_like(function):
    """``function`` reached through ``like=`` an array among its arguments."""

    def call(a, **kwargs):
        first = a
        while isinstance(first, list):
            first = first[0]
        return function(a, like=first if isinstance(first, ld.Variable) else None, **kwargs)

    return call


def required(rng):
    x = rng.standard_normal((3, 4))
    yield sample(x)
    yield sample(x, requirements="F")
    yield sample(x, dtype=np.float64, requirements=["C_CONTIGUOUS", "OWNDATA", "W"])


def filled_like(shape, fill_value, **kwargs):
    like = fill_value if isinstance(fill_value, ld.Variable) else None
    return np.full(shape, fill_value, like=like, **kwargs)


def one_matrix(rng):
    yield sample(rng.standard_normal((3, 4)))
    yield sample(rng.standard_normal(()))


OPERATORS = [
    Operator("where", np.where, wheres, complex=True),
    Operator("select", np.select, selects),
    Operator("choose", np.choose, chooses),
    Operator("piecewise", np.piecewise, pieces),
    Operator("take", np.take, takes, complex=True),
    Operator("take_along_axis", np.take_along_axis, takes_along, complex=True),
    Operator("sort", np.sort, sorts),
    Operator("partition", np.partition, lambda rng: [sample(c.args[0], 2) for c in list(sorts(rng))[:2]]),
    Operator("compress", np.compress, compresses, complex=True),
    Operator(
        "extract", np.extract, lambda rng: [sample(CONDITION, rng.standard_normal((2, 3)))], complex=True
    ),
    Operator("unique", np.unique, uniques),
    *(
        Operator(function.__name__, function, one_set)
        for function in [np.unique_values, np.unique_all, np.unique_counts, np.unique_inverse]
    ),
    *(
        Operator(function.__name__, function, two_sets)
        for function in [np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d]
    ),
    Operator("copy", np.copy, one_matrix, complex=True),
    Operator("astype", np.astype, casts, single=True),
    Operator("full_like", np.full_like, fills),
    Operator(
        "full",
        np.full,
        lambda rng: [
            sample((2, 3), rng.standard_normal(3)),
            sample(4, rng.standard_normal(()), dtype=np.float64),
        ],
        call=filled_like,
    ),
    Operator("array", np.array, lists, call=with_like(np.array)),
    Operator("asarray", np.asarray, lists, call=with_like(np.asarray)),
    Operator("asanyarray", np.asanyarray, lists, call=with_like(np.asanyarray)),
    Operator("ascontiguousarray", np.ascontiguousarray, one_matrix, call=with_like(np.ascontiguousarray)),
    Operator("asfortranarray", np.asfortranarray, one_matrix, call=with_like(np.asfortranarray)),
    Operator("require", np.require, required, call=with_like(np.require)),
    Operator(
        "fromiter",
        np.fromiter,
        lambda rng: [sample(rng.standard_normal((3, 4)))],
        call=lambda a: np.fromiter(
            (x[0] for x in a), a.dtype, count=2, like=a if isinstance(a, ld.Variable) else None
        ),
        reference=lambda a: a[:2, 0],
    ),
    Operator("asarray_chkfinite", np.asarray_chkfinite, one_matrix, call=undispatched(np.asarray_chkfinite)),
    Operator("ix_", np.ix_, lambda rng: [sample(rng.standard_normal(3), [0, 1], rng.standard_normal(2))]),
    Operator(
        "kaiser",
        np.kaiser,
        lambda rng: [sample(7, np.array(2.5))],
        call=undispatched(np.kaiser),
        single=False,
    ),
    Operator("linspace", np.linspace, linear_grids),
    Operator("logspace", np.logspace, based_grids, domain=lambda x: x / (1 + np.abs(x)) + 1),
    Operator("geomspace", np.geomspace, lambda rng: list(grids(rng))[:4], domain=np.exp),
    Operator(
        "complex geomspace",
        np.geomspace,
        lambda rng: [
            sample(rng.random(()) + 1 + 1j, rng.random(3) + 1, 4),
            sample(1j, rng.random(2) + 2, axis=1),
        ],
        complex=True,
        single=False,
    ),
    Operator(
        "negative geomspace",
        np.geomspace,
        lambda rng: [sample(-rng.random(()) - 1, -rng.random(3) - 1, 4)],
    ),
]
