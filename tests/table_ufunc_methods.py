"""Records of the methods of ufuncs, and of their keywords ``where`` and ``dtype``."""

from __future__ import annotations

import numpy as np
from table import Operator, sample

import lindiff as ld

MASK = np.array([[True, False, True, True], [False, True, True, False]])

ASSOCIATIVE = [
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot,
]  # fmt: skip
IN_ORDER = [
    np.subtract, np.divide, np.power, np.float_power, np.arctan2, np.remainder, np.fmod, np.copysign,
    np.heaviside, np.nextafter,
]  # fmt: skip


def apart(x):
    """Positive numbers, each far from the others, so that no quotient is close to an integer."""
    return 1.3 + 0.1 * np.tanh(x) + 0.37 * np.arange(x.size).reshape(x.shape)


def reductions(rng):
    x = rng.standard_normal((2, 4))
    yield sample(rng.standard_normal(3))
    yield sample(x)
    yield sample(x, axis=1, keepdims=True)
    yield sample(x, axis=-1, initial=1.5)
    yield sample(x, axis=1, initial=1.5, where=MASK)
    yield sample(rng.standard_normal((0, 2)), axis=1)
    yield sample(rng.standard_normal(()))


def reductions_of_several_axes(rng):
    x = rng.standard_normal((2, 3, 2))
    yield from reductions(rng)
    yield sample(x, axis=None)
    yield sample(x, axis=(0, 2), keepdims=True)
    yield sample(x, axis=(0, -1), initial=1.5, where=x > 0)


def reductions_with_identity(rng):
    yield sample(rng.standard_normal((2, 4)), axis=1, where=MASK)


def empty_reductions(rng):
    yield sample(rng.standard_normal((0, 2)))
    yield sample(rng.standard_normal((0, 2)), axis=None, keepdims=True)


def accumulations(rng):
    yield sample(rng.standard_normal(4))
    yield sample(rng.standard_normal((2, 3)))
    yield sample(rng.standard_normal((2, 3)), axis=-1, dtype=np.float64)
    yield sample(rng.standard_normal((0, 2)))


def segments(rng):
    yield sample(rng.standard_normal(6), [0, 2, 5])
    yield sample(rng.standard_normal(6), [1, 4, 2, 3, 3, 5])
    yield sample(rng.standard_normal((2, 4)), [2, 0], axis=1)
    yield sample(rng.standard_normal((3, 2)), [0, 1])
    yield sample(rng.standard_normal(3), np.array([], int))


def pairs(rng):
    yield sample(rng.standard_normal((2, 2)), rng.standard_normal(3))
    yield sample(rng.standard_normal(()), rng.standard_normal((0, 2)))
    yield sample([1.5, 2.5], rng.standard_normal(2))


def masked_pairs(rng):
    yield sample(rng.standard_normal((2, 1)), rng.standard_normal(4), where=MASK)
    yield sample(rng.standard_normal(4), 1.7, where=MASK, dtype=np.float64)
    yield sample(rng.standard_normal(()), 1.7, where=np.array(False))
    yield sample(rng.standard_normal((0, 4)), 1.7, where=MASK[0])


def masked(rng):
    yield sample(rng.standard_normal((2, 4)), where=MASK)


def with_where(ufunc):
    """A masked call.  Elsewhere NumPy leaves memory uninitialized, lindiff zeros."""

    def call(*args, where, **kwargs):
        if not any(isinstance(x, ld.Variable) for x in args):
            shape = np.broadcast_shapes(where.shape, *map(np.shape, args))
            kwargs["out"] = np.zeros(shape, kwargs.get("dtype", np.result_type(*args)))
        return ufunc(*args, where=where, **kwargs)

    return Operator(
        f"{ufunc.__name__} with where",
        ufunc,
        masked_pairs if ufunc.nin == 2 else masked,
        call=call,
        domain=apart,
        order=1,
    )


def written_at(ufunc):
    """``ufunc.at`` on a copy."""

    def call(x, indices, *y):
        x = np.copy(x)
        ufunc.at(x, indices, *y)
        return x

    return Operator(
        f"{ufunc.__name__}.at",
        ufunc,
        places if ufunc.nin == 2 else some_places,
        call=call,
        domain=apart,
        order=1,
    )


def places(rng):
    x = rng.standard_normal((3, 2))
    yield sample(rng.standard_normal(4), [0, 2, 0, 0], rng.standard_normal(4))
    yield sample(x, (np.array([2, 0, 2]), np.array([1, 1, 1])), rng.standard_normal(()))
    yield sample(x, np.array([1, 1]), rng.standard_normal((2, 2)))
    yield sample(x, 1, rng.standard_normal(2))
    yield sample(x, (slice(None), [0, 0]), rng.standard_normal(2))
    yield sample(x, np.array([], int), 1.5)
    yield sample(x, x > 0, 1.5)


def some_places(rng):
    yield sample(rng.standard_normal(4), [0, 2, 0])
    yield sample(rng.standard_normal((3, 2)), (0, [1, 1]))


def one_by_one(ufunc, name):
    """``ufunc.name``, on plain arrays with the function called on two numbers at a time.

    NumPy's own reductions by ``power`` and ``arctan2`` are wrong where a processor has AVX-512
    (docs/upstream.md).
    """
    of_two_numbers = getattr(np.frompyfunc(ufunc, 2, 1), name)

    def call(x, *args, dtype=None, **kwargs):
        if isinstance(x, ld.Variable):
            return getattr(ufunc, name)(x, *args, dtype=dtype, **kwargs)
        return np.asarray(of_two_numbers(x.astype(object), *args, **kwargs)).astype(dtype or x.dtype)[()]

    return call


def method(ufunc, name, samples, suffix="", **options):
    in_order = ufunc in IN_ORDER and name != "outer"
    call = one_by_one(ufunc, name) if in_order else getattr(ufunc, name)
    return Operator(
        f"{ufunc.__name__}.{name}{suffix}",
        ufunc,
        samples,
        call=call,
        domain=apart,
        single=ufunc is not np.float_power,
        **options,
    )


OPERATORS = [
    *(method(f, "reduce", reductions_of_several_axes) for f in ASSOCIATIVE),
    *(
        method(f, "reduce", reductions_with_identity, " with identity")
        for f in ASSOCIATIVE
        if f.identity is not None
    ),
    *(method(f, "reduce", empty_reductions, " of nothing") for f in [np.add, np.multiply, np.hypot]),
    *(method(f, "reduce", reductions, order=1) for f in IN_ORDER),
    *(method(f, "accumulate", accumulations, order=1) for f in ASSOCIATIVE + IN_ORDER),
    *(method(f, "reduceat", segments, order=1) for f in ASSOCIATIVE + IN_ORDER),
    *(method(f, "outer", pairs, order=1) for f in ASSOCIATIVE + IN_ORDER),
    *map(
        written_at,
        [np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.hypot, np.negative, np.sqrt],
    ),
    *map(with_where, [np.add, np.multiply, np.power, np.arctan2, np.log, np.sin]),
]
