"""Facts special to functions that move elements."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld


def test_order_a_and_k_follow_the_memory(rng):
    weights = rng.standard_normal(6)
    for a in [np.asfortranarray(rng.standard_normal((2, 3))), rng.standard_normal((3, 2)).T, np.ones((2, 3))]:
        for order in "AK":
            expected = np.zeros((2, 3))
            for i in range(6):
                unit = np.zeros_like(a)  # in the memory layout of a
                unit[np.unravel_index(i, (2, 3))] = 1
                expected[np.unravel_index(i, (2, 3))] = weights @ np.ravel(unit, order)
            gradient = ld.grad(lambda a, order=order: weights @ np.ravel(a, order))(a)
            np.testing.assert_array_equal(gradient, expected)
    a = np.asfortranarray(rng.standard_normal((2, 3)))
    value, _ = ld.vjp(lambda a: np.reshape(a, (3, 2), order="A"), a)
    np.testing.assert_array_equal(value, np.reshape(a, (3, 2), order="A"))


@pytest.mark.parametrize(
    "index", [None, (slice(None), None), (Ellipsis, None), (None, slice(None)), slice(None), ()], ids=str
)
def test_indexing_that_only_reshapes(rng, index):
    x = rng.standard_normal(3)
    weights = rng.standard_normal(x[index].shape)
    gradient = ld.grad(lambda x: np.sum(weights * x[index] ** 2))(x)
    np.testing.assert_allclose(gradient, 2 * weights.reshape(3) * x)
    hessian = ld.hessian(lambda x: np.sum(weights * x[index] ** 2))(x)
    np.testing.assert_allclose(hessian, np.diag(2 * weights.reshape(3)))


def test_indexing_that_reverses_is_not_a_reshape():
    gradient = ld.grad(lambda x: x[::-1] @ np.arange(3.0))(np.ones(3))
    np.testing.assert_array_equal(gradient, [2, 1, 0])


def test_a_view_used_twice_adds_up():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])

    def f(x):
        y = np.reshape(x, (4,))
        return np.sum(y * y) + np.sum(x) + np.sum(y[None] * 3) + np.sum(x.T)

    np.testing.assert_allclose(ld.grad(f)(x), 2 * x + 5)


def test_concatenate_adds_up_repeated_parts():
    x = np.array([1.0, 2.0])
    gradient = ld.grad(lambda x: np.concatenate([x, np.zeros(1), x]) @ np.arange(5.0))(x)
    np.testing.assert_array_equal(gradient, [0 + 3, 1 + 4])


def test_block_refuses_what_numpy_refuses():
    v = ld.Variable(np.ones(2))
    with pytest.raises(TypeError, match="tuple"):
        np.block([(v, v)])
    with pytest.raises(ValueError, match="depths"):
        np.block([[v], v])
    with pytest.raises(ValueError, match="empty"):
        np.block([[v], []])


def test_unequal_split_is_refused():
    with pytest.raises(ValueError, match="equal division"):
        np.split(ld.Variable(np.ones(5)), 2)


def test_unused_parts_of_a_split_cost_nothing_wrong():
    gradient = ld.grad(lambda x: np.sum(np.split(x, 3)[1] ** 2))(np.arange(6.0))
    np.testing.assert_array_equal(gradient, [0, 0, 4, 6, 0, 0])


def test_out_is_refused():
    v = ld.Variable(np.ones(2))
    with pytest.raises(TypeError, match="out=") as error:
        np.concatenate([v, v], out=np.zeros(4))
    assert "y = np.concatenate(...)" in str(error.value)


@pytest.mark.parametrize("function", [np.concatenate, np.stack])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_compiled_joins_equal_the_readable_rules(rng, function, axis):
    x, y, z = (rng.standard_normal((2, 3)) for _ in range(3))
    constant = rng.standard_normal((2, 3))

    def fast(x, y, z):
        return function([x, constant, y, x * y, z], axis)

    def readable(x, y, z):
        return function([x, constant, y, x * y, z], axis, dtype=float)

    result, pullback = ld.vjp(fast, x, y, z)
    expected, readable_pullback = ld.vjp(readable, x, y, z)
    np.testing.assert_array_equal(result, expected)
    y_bar = rng.standard_normal(result.shape)
    for x_bar, expected in zip(pullback(y_bar), readable_pullback(y_bar), strict=True):
        np.testing.assert_allclose(x_bar, expected)
    tangents = (z, x, y)
    np.testing.assert_allclose(ld.jvp(fast, (x, y, z), tangents)[1], ld.jvp(readable, (x, y, z), tangents)[1])
    np.testing.assert_allclose(
        ld.linearize(fast, x, y, z)[1](*tangents), ld.jvp(fast, (x, y, z), tangents)[1]
    )


def test_joins_refuse_what_numpy_refuses():
    v = ld.Variable(np.ones((2, 3)))
    with pytest.raises(ValueError, match="same shape"):
        np.stack([v, np.ones(3)])
    with pytest.raises(ValueError, match="must match exactly"):
        np.concatenate([v, np.ones((2, 2))])
    with pytest.raises(np.exceptions.AxisError):
        np.concatenate([v, v], 2)


def test_a_long_chain_of_joins_can_be_dropped():
    v = ld.Variable(np.zeros(3))
    for _ in range(20_000):
        v = np.concatenate([v[1:], v[:1], np.zeros(0)])
    del v


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (np.trapezoid, (np.arange(3.0), np.arange(6.0).reshape(2, 3) ** 2)),
        (np.resize, (np.zeros(0), (2, 2))),
        (np.cov, (np.zeros((0, 3)),)),
        (np.cov, (np.zeros((0, 3)), np.zeros(3))),
        (np.unique_values, (np.array([2 + 1j, 1 + 2j, 2 + 1j, 0.5j]),)),
        (np.linalg.tensorsolve, (np.full((1, 1), 2.0), np.full((1, 1), 4.0))),
        (np.full_like, (np.zeros(3), np.full((1, 1), 2.0))),
        (np.full_like, (np.zeros(()), np.full((1, 1), 2.0))),
        (np.geomspace, (1.0 + 1j, np.array([2.0, -1.0, 1j]), 4)),
        (np.geomspace, (np.array([1j, 2.0]), 3.0, 3, False, np.complex64, -1)),
    ],
)
def test_odd_shapes_give_what_numpy_gives(function, arguments):
    expected = function(*arguments)
    given = [
        ld.Variable(x) * 1 if isinstance(x, np.ndarray) and x.dtype.kind in "fc" else x for x in arguments
    ]
    if not any(isinstance(x, ld.Variable) for x in given):
        given[0] = ld.Variable(given[0])
    got = ld.value(function(*given))
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=1e-6 if expected.dtype == np.complex64 else 1e-12)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.choose(x, [1.0, 2.0]), TypeError),
        (lambda x: np.compress([[True, False]], x), ValueError),
        (lambda x: np.select([x], [x]), TypeError),
        (lambda x: np.geomspace(0j, x[0], 3), ValueError),
        (lambda x: np.vecdot(x, 1.0), ValueError),
    ],
)
def test_what_numpy_refuses_is_refused(call, error):
    for x in (np.ones(2), ld.Variable(np.ones(2))):
        with pytest.raises(error):
            call(x)


def test_resized_empty_array_is_zero():
    np.testing.assert_array_equal(np.resize(ld.Variable(np.zeros(0)), (2, 1)), [[0], [0]])
