"""Programs do without Python what only puts elements elsewhere, reduces truth values, or asks for a form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import lindiff as ld

A = np.arange(6.0).reshape(2, 3) + 0.5
V = np.arange(3.0) - 1.25

CALLS = {
    "stack numbers": lambda a, v: np.stack([v[0], a[1, 2], 3.0, v[2]]),
    "stack, last axis": lambda a, v: np.stack([a, 2 * a], axis=-1),
    "concatenate": lambda a, v: np.concatenate([a, v[None], np.zeros((1, 3))]),
    "concatenate columns": lambda a, v: np.concatenate((a.T, a.T), axis=1),
    "concatenate flat": lambda a, v: np.concatenate([a, a.T], axis=None),
    "hstack": lambda a, v: np.hstack([v, [1.0, 2.0], v[::-1]]),
    "vstack": lambda a, v: np.vstack([v, a]),
    "dstack": lambda a, v: np.dstack([a, a + 1]),
    "column_stack": lambda a, v: np.column_stack([v, a.T]),
    "block": lambda a, v: np.block([[a, np.ones((2, 1))], [v, v[:1]]]),
    "append": lambda a, v: np.append(v, 7.0),
    "append an array": lambda a, v: np.append(a, a[:, ::-1], axis=1),
    "roll": lambda a, v: np.roll(a, 2),
    "roll an axis": lambda a, v: np.roll(a, -1, axis=1),
    "tile": lambda a, v: np.tile(a, (2, 2)),
    "repeat": lambda a, v: np.repeat(a, [2, 1, 3], axis=1),
    "repeat, a method": lambda a, v: v.repeat(2),
    "pad with zeros": lambda a, v: np.pad(a, [(1, 0), (2, 1)]),
    "pad with edges": lambda a, v: np.pad(v, 2, mode="edge"),
    "pad by mirrors": lambda a, v: np.pad(v, (2, 1), "reflect"),
    "tril": lambda a, v: np.tril(a),
    "triu": lambda a, v: np.triu(a, 1),
    "diagonal matrix": lambda a, v: np.diag(v),
    "off the diagonal": lambda a, v: np.diag(v, -1),
    "diagflat": lambda a, v: np.diagflat(a),
    "take": lambda a, v: np.take(a, [[2, 0], [0, 1]], axis=1),
    "take, a method": lambda a, v: v.take([2, 2, 0]),
    "delete": lambda a, v: np.delete(a, 1, axis=1),
    "resize": lambda a, v: np.resize(v, (2, 4)),
    "fftshift": lambda a, v: np.fft.fftshift(a),
    "flip": lambda a, v: np.flip(a, 0) + np.fliplr(a),
    "rot90": lambda a, v: 2 * np.rot90(a),
    "split": lambda a, v: sum(np.split(a, 3, axis=1)),
    "any and all": lambda a, v: (np.any(a > 5), np.all(a > 0), (a > 2).any(axis=1), np.all(v[0] < 0)),
    "sum of truth": lambda a, v: (np.sum(a > 2), (a > 2).sum(axis=0), np.sum(v < 0) % 2),
    "prod": lambda a, v: (np.prod(a), np.prod(v[::2]), a.prod(axis=1)),
    "forms": lambda a, v: np.ndim(a) * v + np.shape(a)[1] * np.size(v) + np.iscomplexobj(v),
    "numbers as arrays": lambda a, v: v[0][..., None, None] * a,
}


def by_python(function, *args):
    """The names of the operations of a program that Python carries out."""
    return {row.name for row in ld.program(function).explain(*args) if row.by == "Python"}


def assert_same(result, expected):
    if isinstance(expected, tuple):
        assert type(result) is type(expected)
        assert len(result) == len(expected)
        for x, y in zip(result, expected, strict=True):
            assert_same(x, y)
        return
    assert type(result) is type(expected)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    assert_array_equal(result, expected)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_without_python(call):
    assert by_python(call, A, V) == set()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("name", [name for name in CALLS if name != "any and all"])
def test_as_the_function_does(name, dtype):
    call = CALLS[name]
    fast = ld.program(call)
    for scale in (1, -2, 3, 0.25):
        a, v = (scale * A).astype(dtype), (scale * V).astype(dtype)
        if dtype is np.complex128 and name in ("sum of truth", "prod"):
            a, v = a.real.copy(), v.real.copy()
        assert_same(fast(a, v), call(a, v))


@pytest.mark.parametrize("name", ["pad with zeros", "roll", "block", "stack numbers", "tril", "repeat"])
def test_gradients(name):
    call = CALLS[name]

    def loss(a, v):
        arranged = np.ravel(call(a, v))
        return np.sum(np.sin(arranged) * np.arange(len(arranged)))

    fast = ld.program(ld.grad(loss, argnums=(0, 1)))
    for scale in (1, -2, 3, 0.25):
        assert_same(fast(scale * A, scale * V), ld.grad(loss, argnums=(0, 1))(scale * A, scale * V))


@pytest.mark.parametrize(
    "call",
    [
        lambda v: np.pad(v, 1, constant_values=3.0),
        lambda v: np.pad(v, 1, mode="mean"),
        lambda v: np.concatenate([v, np.arange(3)]),
        lambda v: np.concatenate([v, v], dtype=np.float32, casting="unsafe"),
        lambda v: np.all(v),
        lambda v: np.sum(v > 0, dtype=np.int8),
        lambda v: np.prod(v, initial=2.0),
        lambda v: np.sum(v > 0, initial=2),
    ],
)
def test_what_else_is_done_with_elements(call):
    fast = ld.program(call)
    for scale in (1, -2, 3, 0.25):
        assert_same(fast(scale * V), call(scale * V))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_arrangement(data):
    """Views with any strides, joined and cut in any order."""
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    steps = data.draw(st.tuples(st.sampled_from([1, -1, 2]), st.sampled_from([1, -1, 2])))
    axis = data.draw(st.sampled_from([0, 1, None]))
    shift = data.draw(st.integers(-3, 3))

    def function(x, y):
        x = x[:: steps[0], :: steps[1]]
        joined = np.concatenate([x, y[: len(x), : x.shape[1]], 2 * x], axis=axis)
        return np.roll(joined, shift, axis=axis), np.tril(np.atleast_2d(joined), shift).T[::-1]

    fast = ld.program(function)
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = rng.standard_normal((2 * shape[0], 2 * shape[1]))
        y = np.asfortranarray(rng.standard_normal(x.shape))
        assert_same(fast(x, y), function(x, y))


def test_views_of_what_python_has_made():
    """Their addresses follow from where it lies, in each run."""

    def function(x):
        ordered = np.sort(x)
        rows = ordered.reshape(2, 3)
        rows[0] = rows[1] + rows[0][::-1]
        return rows.T[1:] * ordered[0], np.cumsum(rows[:, ::2])

    x = np.array([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])
    assert by_python(function, x) == {"sort", "cumsum"}
    fast = ld.program(function)
    kept = []
    for k in range(6):
        kept.append((fast(x + k), function(x + k)))
    for result, expected in kept:
        assert_same(result, expected)


def test_a_view_outlives_the_run_that_made_it():
    def function(x):
        return np.sort(x).reshape(2, 3)[::-1].T

    fast = ld.program(function)
    results = [fast(np.array([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]) + k) for k in range(200)]
    for k, result in enumerate(results):
        assert_same(result, function(np.array([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]) + k))


@pytest.mark.parametrize("filling", [-0.0, (0.0, -0.0), 0.0])
def test_padding_with_negative_zeros(filling):
    fast = ld.program(lambda x: np.pad(x, 1, constant_values=filling))
    for k in range(4):
        x = np.full(3, 1.0 + k)
        np.testing.assert_array_equal(np.signbit(fast(x)), np.signbit(fast.function(x)))


@pytest.mark.parametrize("kth", [10, [3, 700], -1])
@pytest.mark.parametrize("shape", [(1000,), (3, 800)])
def test_partitions_of_many_are_numpys(kth, shape, rng):
    def parted(x):
        return np.partition(x, kth, axis=-1)

    fast, x = ld.program(parted), rng.permutation(np.prod(shape)).reshape(shape) * 0.5
    weights = rng.standard_normal(shape)
    for _ in range(4):
        for f in (parted, fast):
            np.testing.assert_array_equal(ld.vjp(f, x)[0], parted(x))
            slope = ld.grad(lambda x, f=f: np.sum(f(x) * weights))(x)
            np.testing.assert_array_equal(np.sort(slope, axis=-1), np.sort(weights, axis=-1))
            np.testing.assert_allclose(np.sum(slope * x), np.sum(parted(x) * weights), rtol=1e-12)
