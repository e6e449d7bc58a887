"""Records of the functions that change shapes, join, split, repeat and reorder."""

from __future__ import annotations

import numpy as np
from table import Operator, accepted, sample


def each(shape_of_array, *calls):
    """Samples with one array: each call is (positional arguments, keyword arguments) after it."""

    def samples(rng):
        for args, kwargs in calls:
            yield sample(rng.standard_normal(shape_of_array), *args, **kwargs)

    return samples


def arrays_of(*shapes):
    """Samples with one array of each of these shapes."""

    def samples(rng):
        for shape in shapes:
            yield sample(rng.standard_normal(shape))

    return samples


def several(*samplers):
    def samples(rng):
        for sampler in samplers:
            yield from sampler(rng)

    return samples


def call(*args, **kwargs):
    return args, kwargs


def separate(*cases):
    """Samples with several arrays as separate arguments: (shapes, keyword arguments)."""

    def samples(rng):
        for shapes, kwargs in cases:
            yield sample(*[rng.standard_normal(shape) for shape in shapes], **kwargs)

    return samples


def listed(*cases):
    """Samples with a list of arrays: (shapes, positional arguments, keyword arguments)."""

    def samples(rng):
        for shapes, args, kwargs in cases:
            yield sample([rng.standard_normal(shape) for shape in shapes], *args, **kwargs)

    return samples


def blocks(rng):
    a, b, c = (rng.standard_normal(shape) for shape in [(2, 3), (2, 1), (1, 4)])
    yield sample([[a, b], [c]])
    yield sample([rng.standard_normal(2), rng.standard_normal(())])
    yield sample([[[a]], [[a]]])
    yield sample(a)


def appended(rng):
    yield sample(rng.standard_normal((2, 3)), rng.standard_normal(2))
    yield sample(rng.standard_normal((2, 3)), rng.standard_normal((2, 1)), axis=1)


def concatenated_with_constants(rng):
    yield sample([rng.standard_normal((2, 2)), [[1, 2]]], -2)
    yield sample(rng.standard_normal((2, 3)))  # an array in place of the list


SHAPES = arrays_of((), (3,), (2, 3), (0, 3))
TILES = [call(2), call((2,)), call((2, 1, 2)), call(()), call((0, 1)), call(reps=(1, 1))]


def insertions(rng):
    x = rng.standard_normal((3, 4))
    yield sample(x, 2, rng.standard_normal(()))
    yield sample(x, [1, 1, 12], rng.standard_normal(3))
    yield sample(x, 1, rng.standard_normal(4), 0)
    yield sample(x, -1, rng.standard_normal(3), axis=1)
    yield sample(x, [1], rng.standard_normal((3, 2)), axis=1)
    yield sample(x, [3, 0], rng.standard_normal((3, 1)), axis=-1)
    yield sample(x, slice(0, 3, 2), rng.standard_normal((2, 1)), axis=0)
    yield sample(x, slice(1, 2), rng.standard_normal((2, 4)), axis=0)
    yield sample(x, [], rng.standard_normal((0, 4)), axis=0)
    yield sample([1.0, 2.0], 1, rng.standard_normal(3))
    yield sample(rng.standard_normal(()), 0, [1.0, 2.0])


BORDERED = [[0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 0]]


def bordered(rng):
    x = rng.standard_normal((4, 4))
    yield sample(x[0], BORDERED[1])
    yield sample(x[0], BORDERED[1], "f")
    yield sample(x[0], BORDERED[2], trim="B")
    yield sample(x[0], BORDERED[0])
    for axis in [None, 1, (-1, 0)]:
        yield from accepted(np.trim_zeros, sample(x, BORDERED, axis=axis))


def trimmed(x, mask, *args, **kwargs):
    """The zeros are no arguments: they stay zeros."""
    return np.trim_zeros(np.where(mask, x, 0), *args, **kwargs)


OPERATORS = [
    Operator(
        "reshape",
        np.reshape,
        several(
            each((2, 3), call((3, 2)), call(-1), call([1, -1, 2]), call((3, 2), "F"), call(6, order="C")),
            each((), call((1, 1))),
            each((0, 2), call((3, 0))),
        ),
        complex=True,
    ),
    Operator("ravel", np.ravel, several(SHAPES, each((2, 3), call("F"), call(order="C"))), complex=True),
    Operator(
        "transpose",
        np.transpose,
        several(
            SHAPES, each((2, 3, 4), call(), call((1, 2, 0)), call(axes=(-1, 0, 1)), call(np.array([2, 0, 1])))
        ),
        complex=True,
    ),
    Operator("swapaxes", np.swapaxes, each((2, 3, 4), call(0, -1), call(axis1=1, axis2=1))),
    Operator("matrix_transpose", np.matrix_transpose, arrays_of((2, 3), (2, 3, 4), (0, 2)), complex=True),
    Operator("linalg.matrix_transpose", np.linalg.matrix_transpose, arrays_of((2, 3), (2, 3, 4))),
    Operator("moveaxis", np.moveaxis, each((2, 3, 4), call(0, -1), call((0, 1), (-1, 0)), call([2], [0]))),
    Operator(
        "rollaxis",
        np.rollaxis,
        each((2, 3, 4), call(2), call(0, 3), call(-1, start=1), call(axis=1, start=-1)),
    ),
    Operator("squeeze", np.squeeze, each((1, 3, 1), call(), call(0), call(axis=(0, -1)))),
    Operator(
        "expand_dims",
        np.expand_dims,
        several(each((2, 3), call(0), call(-1), call(axis=1), call((0, -1))), each((), call(0))),
        complex=True,
    ),
    Operator(
        "broadcast_to",
        np.broadcast_to,
        several(
            each((3,), call((2, 3)), call((0, 3)), call(shape=(4, 2, 3))),
            each((2, 1), call((2, 3))),
            each((), call(2)),
        ),
        complex=True,
    ),
    Operator("broadcast_arrays", np.broadcast_arrays, separate(([(3,), (2, 1)], {}), ([(), (2,), (2,)], {}))),
    Operator(
        "meshgrid",
        np.meshgrid,
        separate(
            ([(2,), (3,)], {}),
            ([(2,), (3,), ()], {"indexing": "ij"}),
            ([(2,), (3,)], {"sparse": True, "copy": False}),
            ([(2,)], {}),
        ),
    ),
    Operator("atleast_1d", np.atleast_1d, several(SHAPES, separate(([(), (2,)], {})))),
    Operator("atleast_2d", np.atleast_2d, several(SHAPES, separate(([(), (2,)], {})))),
    Operator("atleast_3d", np.atleast_3d, several(SHAPES, arrays_of((1, 2, 3, 1)))),
    Operator(
        "concatenate",
        np.concatenate,
        several(
            listed(
                ([(2, 3), (1, 3)], (), {}),
                ([(2, 3), (2, 0), (2, 1)], (1,), {}),
                ([(2, 3), (2,)], (), {"axis": None}),
                ([(2,), (2,)], (), {"dtype": np.complex128}),
                ([(2,), (2,)], (), {"dtype": np.float32, "casting": "unsafe", "axis": -1}),
            ),
            concatenated_with_constants,
        ),
        single=False,  # the differences of a result that is cast are taken in its precision
        rtol=1e-3,
    ),
    Operator("concatenate of complex", np.concatenate, listed(([(2, 3), (1, 3)], (), {})), complex=True),
    Operator(
        "stack",
        np.stack,
        several(
            listed(([(2, 3), (2, 3)], (), {}), ([(), (), ()], (), {"axis": -1}), ([(0,), (0,)], (1,), {})),
            arrays_of((2, 3)),
        ),
        complex=True,
    ),
    Operator("vstack", np.vstack, listed(([(3,), (2, 3)], (), {}), ([(), ()], (), {"casting": "no"}))),
    Operator("hstack", np.hstack, listed(([(), (2,)], (), {}), ([(2, 1), (2, 3)], (), {"casting": "no"}))),
    Operator("dstack", np.dstack, listed(([(2,), (2,)], (), {}), ([(2, 3), (2, 3, 2)], (), {}))),
    Operator("column_stack", np.column_stack, listed(([(2,), (2, 3)], (), {}), ([(2,), (2,)], (), {}))),
    Operator("append", np.append, appended),
    Operator("block", np.block, blocks),
    Operator(
        "array_split",
        np.array_split,
        each((5, 2), call(3), call([1, 3]), call([3, 1]), call([-1, 9]), call(indices_or_sections=2, axis=1)),
        complex=True,
    ),
    Operator("split", np.split, each((4, 2), call(2), call([1, 2]), call(2, axis=-1))),
    Operator("hsplit", np.hsplit, several(each((2, 4), call(2)), each((4,), call([1])))),
    Operator("vsplit", np.vsplit, each((4, 2), call(2))),
    Operator("dsplit", np.dsplit, each((1, 2, 4), call(2))),
    Operator(
        "repeat",
        np.repeat,
        several(
            each(
                (2, 3), call(2), call(3, axis=-1), call([1, 0], 0), call([2], axis=1), call(repeats=0, axis=0)
            ),
            each((), call(2)),
        ),
        complex=True,
    ),
    Operator("tile", np.tile, several(each((2, 3), *TILES), each((), call(2)))),
    Operator(
        "roll",
        np.roll,
        each(
            (2, 3),
            call(2),
            call(-1, axis=1),
            call((1, 2), axis=(0, 1)),
            call((1, 2), 0),
            call(shift=7, axis=0),
        ),
    ),
    Operator("flip", np.flip, several(SHAPES, each((2, 3), call(0), call(axis=(0, -1))))),
    Operator("flipud", np.flipud, arrays_of((3,), (2, 3))),
    Operator("fliplr", np.fliplr, arrays_of((2, 3), (2, 3, 2))),
    Operator("rot90", np.rot90, each((2, 3, 2), call(), call(-1), call(k=2, axes=(0, 2)), call(7, (1, -1)))),
    Operator("resize", np.resize, each((2, 3), call((3, 4)), call(2), call(new_shape=(0,)))),
    Operator(
        "delete",
        np.delete,
        each((2, 3), call(1), call([0, 2], 1), call(slice(0, 5, 2)), call(obj=-1, axis=-1)),
    ),
    Operator("insert", np.insert, insertions),
    Operator("trim_zeros", np.trim_zeros, bordered, call=trimmed),
    Operator("tril", np.tril, several(arrays_of((3,), (2, 3), (0, 0)), each((2, 3, 3), call(-1), call(k=1)))),
    Operator("triu", np.triu, several(arrays_of((3,), (2, 3), (0, 0)), each((2, 3, 3), call(-1), call(k=1)))),
    Operator("vander", np.vander, each((3,), call(), call(2, increasing=True), call(N=0), call(1))),
]

if hasattr(np, "unstack"):  # NumPy 2.1
    OPERATORS.append(Operator("unstack", np.unstack, each((2, 3), call(), call(axis=-1)), complex=True))
