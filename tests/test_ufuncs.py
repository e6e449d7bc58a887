"""Keywords and methods of ufuncs: what the tables do not say of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld
from lindiff.testing import check_grads

X = np.array([[0.5, -1.5, 2.5], [1.25, 3.25, -0.5]])


def test_out_may_be_none():
    v = ld.Variable(X)
    for call in [
        lambda: np.exp(v, out=None),
        lambda: np.exp(v, out=(None,)),
        lambda: np.exp(v, None),
        lambda: np.add.reduce(v, out=None),
        lambda: np.sum(v, out=None),
        lambda: np.sum(v, 0, None, None, True),
        lambda: np.var(v, 0, None, None, 1),
    ]:
        assert isinstance(call(), ld.Variable)
    assert_array_equal(ld.value(np.sum(v, 0, None, None, True)), np.sum(X, 0, None, None, True))
    assert_array_equal(ld.value(np.var(v, 0, None, None, 1)), np.var(X, 0, None, None, 1))


@pytest.mark.parametrize(
    "call",
    [
        lambda v, out: np.exp(v, out=out),
        lambda v, out: np.exp(v, out),
        lambda v, out: np.multiply(v, 3.0, out=out),
        lambda v, out: np.multiply(v, v, out=out, where=X > 0),
        lambda v, out: np.clip(v, 0.0, 1.0, out),
        lambda v, out: np.clip(v, 0.0, 1.0, out=out, where=X > 0),
        lambda v, out: np.cumsum(v, 0, None, out),
        lambda v, out: np.add.accumulate(v, 1, out=out),
        lambda v, out: np.floor(v, out=out),
        lambda v, out: np.add(v[0], 1.0, out=out),
    ],
)
def test_out_is_written_into(call):
    def of(v, make):
        out = make(2 * v)
        assert call(v, out) is out
        return out

    expected = of(X, np.copy)
    assert_allclose(ld.value(of(ld.Variable(X), np.copy)), expected)
    out = ld.Variable(X) * 0
    seen = out[1]
    call(ld.Variable(X), out)
    assert_allclose(ld.value(seen), ld.value(out)[1])
    h = 1e-6
    differences = (of(X + h, np.copy) - of(X - h, np.copy)) / (2 * h)
    assert_allclose(ld.jvp(lambda x: of(x, np.copy), (X,), (np.ones_like(X),))[1], differences, atol=1e-8)


def test_out_of_reductions_and_of_several_results():
    def f(x):
        total, part, whole = np.copy(np.sum(x)), x * 0, x * 0
        assert np.add.reduce(x, axis=None, out=total) is total
        assert np.modf(x, part, whole)[0] is part
        np.divmod(x, 2.0, out=(None, whole))
        return total * np.sum(part**2) + np.sum(whole)

    part, rest = np.modf(X)[0], np.remainder(X, 2.0)
    assert_allclose(ld.vjp(f, X)[0], np.sum(X) * np.sum(part**2) + np.sum(rest))
    assert_allclose(ld.grad(f)(X), np.sum(part**2) + 2 * np.sum(X) * part + 1)


def test_out_is_refused_where_it_cannot_take_the_result():
    v = ld.Variable(X)
    with pytest.raises(TypeError, match=r"write y = np\.exp"):
        np.exp(v, out=np.zeros_like(X))
    with pytest.raises(TypeError, match=r"write y = np\.add\.reduce"):
        ld.grad(lambda v: np.add.reduce(v, out=np.zeros(3)))(X)  # NumPy never lets go of what it refuses
    with pytest.raises(TypeError, match=r"write y = np\.sum"):
        np.sum(v, 0, None, np.zeros(3))
    with pytest.raises(ValueError, match="non-broadcastable output"):
        np.add(v, 1.0, out=v[0] * 1)
    with pytest.raises(TypeError, match="complex128 to float64"):
        np.add(v, 1j, out=v * 1)
    with pytest.raises(TypeError, match="float64 to float32"):
        np.add(v, 1.0, out=v.astype(np.float32), casting="equiv")


def test_constants_are_written_into_plain_arrays():
    out = np.zeros(X.shape, int)
    assert np.argsort(ld.Variable(X)).tolist() == np.argsort(X).tolist()
    assert np.sign(ld.Variable(X), out=out, casting="unsafe") is out
    assert_array_equal(out, np.sign(X))
    largest = np.zeros(2, int)
    assert np.argmax(ld.Variable(X), 1, largest) is largest
    assert largest.tolist() == [2, 1]


def test_where_computes_only_what_it_chooses():
    f = lambda x: np.sum(np.log(x, where=x > 0, out=x * 0))
    assert_allclose(ld.grad(f)(X), np.where(X > 0, 1 / np.where(X > 0, X, 1), 0))
    assert_allclose(ld.value(np.sqrt(ld.Variable(X), where=X > 0)), np.sqrt(np.maximum(X, 0)))
    assert_array_equal(ld.grad(lambda x: np.sum(np.divide(1.0, x, where=x != 0)))(np.zeros(3)), 0)


def test_where_in_place_on_a_plain_array_binds_the_result():
    def f(x):
        a = np.zeros(3)
        a += x
        np.add(a, 1.0, out=a, where=[True, False, True])
        return np.sum(a * [1.0, 2.0, 3.0])

    assert ld.vjp(f, np.ones(3))[0] == 10
    assert_array_equal(ld.grad(f)(np.ones(3)), [1, 2, 3])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.cumsum(x[:1], 0, out=x),
        lambda x: np.cumprod(x[:, :1], 1, out=x),
        lambda x: np.add.accumulate(x[:1], out=x),
        lambda x: np.maximum.accumulate(x[:1], out=x),
        lambda x: np.add.reduceat(x, [0], out=x),
    ],
)
def test_what_accumulates_fills_its_output(call):
    """NumPy writes a part of a larger array, or along it."""
    with pytest.raises(ValueError, match="is the wrong size"):
        ld.vjp(lambda x: call(x * 1.0), np.ones((3, 4)))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.sin.reduce(x), ValueError),
        (lambda x: np.divmod.accumulate(x), ValueError),
        (lambda x: np.matmul.outer(x, x), TypeError),
        (lambda x: np.subtract.reduce(x, axis=None), ValueError),
        (lambda x: np.subtract.reduce(x[:, :0], axis=1), ValueError),
        (lambda x: np.fmax.reduce(x[:, :0], axis=1), ValueError),
        (lambda x: np.fmax.reduce(x, where=X > 0), ValueError),
        (lambda x: np.arctan2.reduce(x, where=X > 0), ValueError),
        (lambda x: np.arctan2.accumulate(x[0, 0]), TypeError),
        (lambda x: np.add.accumulate(x[0, 0]), TypeError),
        (lambda x: np.add.reduceat(x[0, 0], [0]), TypeError),
        (lambda x: np.add.reduceat(x, [0, 2]), IndexError),
        (lambda x: np.power.reduceat(x, [-1]), IndexError),
        (lambda x: np.add.at(x, [7], 1.0), IndexError),
        (lambda x: np.add.reduce(x, axis=2), np.exceptions.AxisError),
        (lambda x: np.add.reduceat(x, [0], axis=()), ValueError),
        (lambda x: np.hypot.accumulate(x, axis=(0, 1)), ValueError),
        (lambda x: np.hypot.reduce(x, axis=[0]), TypeError),
        (lambda x: np.hypot.reduce(x, dtype=int), TypeError),
        (lambda x: np.hypot.accumulate(x, dtype=int), TypeError),
        (lambda x: np.logaddexp.reduceat(x, [0], dtype=int), TypeError),
        (lambda x: np.divide.reduceat(x, [0], dtype=int), TypeError),
    ],
)
def test_errors_are_numpys(call, error):
    with pytest.raises(error) as of_numpy:
        call(X.copy())
    with pytest.raises(error) as ours:
        call(ld.Variable(X) * 1)
    assert str(ours.value)[:40] == str(of_numpy.value)[:40]


@pytest.mark.parametrize("axis", [(0,), (1,), (-1,), np.int64(1)], ids=str)
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.hypot, np.subtract, np.maximum])
def test_one_axis_in_a_tuple(ufunc, axis):
    for call in (
        lambda x: ufunc.reduceat(x, [0, 1], axis=axis),
        lambda x: ufunc.accumulate(x, axis=axis),
        lambda x: ufunc.reduce(x, axis=axis),
    ):
        assert_array_equal(ld.vjp(call, X)[0], call(X))
        check_grads(call, (X,), order=1)


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum, np.add, np.subtract])
def test_types_of_results(ufunc, method):
    for dtype in (np.float32, int):
        call = lambda x, dtype=dtype: getattr(ufunc, method)(x, dtype=dtype)
        found = ld.vjp(call, X)[0]
        assert found.dtype == dtype
        assert_array_equal(found, call(X))


def test_methods_of_functions_without_a_rule():
    with pytest.raises(TypeError, match=r"numpy\.gcd has no derivative"):
        np.gcd.reduce(ld.Variable(X))


def test_writing_into_a_plain_array_is_refused():
    with pytest.raises(TypeError, match=r"np\.add\.at cannot write Variables into a plain array"):
        np.add.at(np.zeros(3), [0], ld.Variable(1.0))


def test_ties_of_running_extremes_are_shared():
    x = np.array([2.0, 2.0, 1.0])
    assert_allclose(ld.jacobian(np.maximum.accumulate)(x), [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    assert_allclose(ld.grad(np.maximum.reduce)(x), [0.5, 0.5, 0])


def test_reduction_of_an_array_without_axes():
    for f in [
        np.add.reduce,
        np.maximum.reduce,
        np.subtract.reduce,
        lambda x: np.sum(x, axis=-1),
        np.hypot.reduce,
    ]:
        assert ld.grad(f)(2.0) == 1


def test_reduceat_of_many_segments_is_one_operation():
    x = np.arange(1e4)
    segments = np.arange(0, 10**4, 2)
    gradient = ld.grad(lambda x: np.sum(np.add.reduceat(x, segments) ** 2))(x)
    assert_allclose(gradient, 2 * np.repeat(x[::2] + x[1::2], 2))


def test_nan_to_num_in_place():
    def f(x):
        y = np.array([1.0, np.nan, 1.0]) * x
        assert np.nan_to_num(y, copy=False, nan=5.0) is y
        return np.sum(y * [1.0, 2.0, 3.0])

    x = np.array([1.0, 2.0, 4.0])
    assert_array_equal(ld.grad(f)(x), [1, 0, 3])
    with pytest.raises(TypeError, match=r"np\.where\(np\.isnan\(x\), v, x\)"):
        ld.grad(lambda v: np.sum(np.nan_to_num(v * x, nan=v)))(1.0)


def test_add_at_of_many_to_one_place_is_one_operation(rng):
    index, weights = rng.integers(0, 3, 20_000), rng.standard_normal(20_000)

    def f(weights):
        counts = np.zeros(3, like=weights)
        np.add.at(counts, index, weights)
        np.subtract.at(counts, index, 2 * weights)
        return np.sum(counts * [1.0, 2.0, 3.0])

    assert_allclose(ld.grad(f)(weights), -(index + 1.0))


def test_elements_that_floor_divide_leaves_alone_have_derivatives():
    """The first of what it accumulates, segments of one, and what ``at`` does not name."""
    x, x_dot = np.array([5.5, 2.0, 7.25, 0.5]), np.array([1.0, 2.0, 3.0, 4.0])

    def at(x):
        y = x * 1.0
        np.floor_divide.at(y, [0, 2], 2.0)
        return y

    for f, derivative in (
        (np.floor_divide.accumulate, [1.0, 0.0, 0.0, 0.0]),
        (lambda x: np.floor_divide.accumulate(x.reshape(2, 2), axis=1), [[1.0, 0.0], [3.0, 0.0]]),
        (lambda x: np.floor_divide.reduceat(x, [0, 1, 3]), [1.0, 0.0, 4.0]),
        (lambda x: np.floor_divide.reduce(x[None]), x_dot),
        (lambda x: np.floor_divide.reduce(x[:2]), 0.0),
        (at, [0.0, 2.0, 0.0, 4.0]),
    ):
        y, y_dot = ld.jvp(f, (x,), (x_dot,))
        np.testing.assert_array_equal(y, f(x))
        np.testing.assert_array_equal(y_dot, derivative)
        _, pullback = ld.vjp(f, x)
        assert np.sum(pullback(np.ones_like(y))[0] * x_dot) == np.sum(y_dot)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_reduceat_lies_in_memory_as_numpys(axis, order):
    x = np.random.default_rng(0).normal(size=(4, 3, 5))
    x = x.transpose(1, 2, 0) if order == "K" else np.asarray(x, order=order)
    strides = np.add.reduceat(x, [0, 1, 0], axis=axis).strides
    for ufunc in (np.add, np.multiply):
        seen = []
        ld.grad(
            lambda x, ufunc=ufunc, seen=seen: (
                seen.append(ufunc.reduceat(x, [0, 1, 0], axis=axis)) or x[0, 0, 0]
            )
        )(x)
        assert seen[0].strides == strides


CHOSEN = np.array([True, False, True, False])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sin(x, where=CHOSEN, out=np.zeros(4, like=x)),
        lambda x: np.multiply(x, 1.0, where=CHOSEN, out=x * 1.0),
        lambda x: np.add(x, -0.0, where=CHOSEN, out=x * 1.0),
        lambda x: np.negative(x, where=CHOSEN, out=x * 1.0),
        lambda x: np.divmod(x, 2.0, where=CHOSEN, out=(x * 1.0, x * 1.0))[1],
        lambda x: added_at(np.add, x, [0, 1], -0.0),
        lambda x: added_at(np.subtract, x, [2, 1], 0.0),
        lambda x: added_at(np.subtract, x, [[0], [3]], np.array([[-0.0], [1.0]])),
    ],
)
def test_zeros_keep_their_sign(call):
    for x in (np.array([-0.0, -0.0, 0.0, 0.0]), np.array([0.0, -0.0, -0.0, 0.0]), np.full(4, -0.0)):
        expected = call(x)
        for y in (ld.vjp(call, x)[0], ld.jvp(call, (x,), (np.ones(4),))[0]):
            np.testing.assert_array_equal(y, expected)
            np.testing.assert_array_equal(np.signbit(y), np.signbit(expected))
    check_grads(call, (np.array([0.3, -0.7, 1.1, 2.3]),), order=2)


def added_at(ufunc, x, places, y):
    x = x * 1.0
    ufunc.at(x, places, y)
    return x


def test_nothing_chosen_of_an_empty_array():
    empty = lambda x: np.sin(x, where=np.zeros(0, bool), out=np.zeros(0, like=x))
    assert ld.vjp(empty, np.zeros(0))[0].shape == (0,)
    nothing = lambda x: np.sin(x, where=False, out=x * 2.0)
    np.testing.assert_array_equal(ld.vjp(nothing, np.ones(3))[0], np.full(3, 2.0))


@pytest.mark.parametrize(
    "ufunc", [np.maximum, np.minimum, np.multiply, np.logaddexp], ids=lambda f: f.__name__
)
def test_segments_of_reduceat_go_together(ufunc):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2.0, (2, 12, 3))
    for indices in ([0, 3, 6, 9], [0, 5, 2, 2, 7, 11, 4], [3], [0, 1, 6, 6, 1]):

        def one_by_one(x, indices=indices):
            stops = [*indices[1:], x.shape[1]]
            parts = [x[:, i : max(i + 1, j)] for i, j in zip(indices, stops, strict=True)]
            return np.stack([ufunc.reduce(part, axis=1) for part in parts], axis=1)

        def together(x, indices=indices):
            return ufunc.reduceat(x, indices, axis=1)

        value, jacobian = ld.value_and_jacobian(together)(x)
        assert_allclose(value, one_by_one(x), rtol=1e-14)
        assert_allclose(jacobian, ld.jacobian(one_by_one)(x), rtol=1e-12, atol=1e-15)

    vector = rng.uniform(0.5, 2.0, 300)
    counts = {len(ld.explain(ufunc.reduceat)(vector[:n], np.arange(0, n, 3))) for n in (30, 300)}
    assert len(counts) == 1
