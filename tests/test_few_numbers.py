"""The compiled ways for few numbers give what NumPy gives, to the last bit, and its derivatives."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import lindiff as ld

SHAPES = [(), (1,), (4,), (7,), (8,), (13,), (130,), (3, 4), (12, 9), (1, 5), (5, 1), (2, 3, 4), (3, 20, 2)]


def numbers(shape, dtype=float, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def assert_identical(got, expected):
    assert np.shape(got) == np.shape(expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [np.sum, np.mean, np.max, np.min])
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions(shape, function, dtype):
    x = numbers(shape, dtype)
    for axis in (None, *range(-len(shape), len(shape))):
        for keepdims in (False, True):
            value, pullback = ld.vjp(lambda x: function(x, axis=axis, keepdims=keepdims), x)  # noqa: B023
            expected = function(x, axis=axis, keepdims=keepdims)
            assert_identical(value, expected)
            y_bar = numbers(expected.shape, dtype, 1)
            kept = np.reshape(y_bar, np.sum(x, axis=axis, keepdims=True).shape)
            if function in (np.sum, np.mean):
                x_bar = np.broadcast_to(kept / (1 if function is np.sum else x.size / y_bar.size), shape)
            else:
                x_bar = np.where(x == function(x, axis=axis, keepdims=True), kept, 0)
            np.testing.assert_allclose(pullback(y_bar)[0], x_bar, rtol=1e-6)


def axes_of(shape):
    return (None, *range(-len(shape), len(shape)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [np.var, np.std, np.linalg.norm])
@pytest.mark.parametrize("shape", [*SHAPES, (3000,), (60, 50)])
def test_moments_and_norms(shape, function, dtype):
    x = numbers(shape, dtype)
    for axis in axes_of(shape):
        for keepdims in (False, True):
            options = {"axis": axis, "keepdims": keepdims}
            if function is np.linalg.norm and axis is None and (keepdims or len(shape) > 2):
                options = {}
            if function is np.std and axis is None and x.size > 1:
                options["ddof"] = 1
            value, pullback = ld.vjp(lambda x: function(x, **options), x)  # noqa: B023
            expected = function(x, **options)
            if function is np.linalg.norm:  # by another BLAS
                assert value.dtype == expected.dtype
                np.testing.assert_allclose(value, expected, rtol=1e-6 if dtype is np.float32 else 1e-14)
            else:
                assert_identical(value, expected)
            y_bar = numbers(np.shape(expected), dtype, 1)
            kept = np.sum(x, axis=axis, keepdims=True).shape
            n = x.size // max(expected.size, 1) - options.get("ddof", 0)
            if function is np.linalg.norm:
                d, weight = x, y_bar / expected
            elif function is np.var:
                d, weight = x - np.mean(x, axis=axis, keepdims=True), 2 * y_bar / n
            else:
                d = x - np.mean(x, axis=axis, keepdims=True)
                weight = y_bar / np.where(expected == 0, 1, expected * n)
            x_bar = d * np.reshape(weight, kept)
            np.testing.assert_allclose(pullback(y_bar)[0], x_bar, rtol=2e-5 if dtype is np.float32 else 1e-12)


@pytest.mark.parametrize("function", [np.var, np.std, np.linalg.norm])
def test_moments_and_norms_to_second_order(function):
    x = numbers((3, 4))
    for axis in axes_of(x.shape):
        ld.testing.check_grads(lambda x: np.sin(function(x, axis=axis)), (x,))  # noqa: B023
    jacobian = ld.jacobian(lambda x: function(x, axis=1))
    np.testing.assert_allclose(jacobian(x), ld.jacobian(lambda x: function(x, axis=1), mode="forward")(x))


@pytest.mark.parametrize("function", [np.std, np.linalg.norm])
def test_zero_deviations_and_norms(function):
    x = np.array([[0.0, 0.0], [1.0, 2.0]])
    g = ld.grad(lambda x: np.sum(function(x, axis=1)))(x)
    assert not g[0].any()
    assert g[1].any()
    assert ld.grad(function)(np.zeros(3)).tolist() == [0, 0, 0]


def test_moments_that_do_not_exist():
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(ld.vjp(lambda x: np.var(x, ddof=1), np.ones(1))[0])
        assert np.isnan(ld.vjp(np.std, np.array([np.inf, 1.0]))[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_cumulative_sums(shape, dtype):
    x = numbers(shape, dtype)
    for axis in axes_of(shape):
        value, pullback = ld.vjp(lambda x: np.cumsum(x, axis=axis), x)  # noqa: B023
        assert_identical(value, np.cumsum(x, axis=axis))
        y_bar = numbers(value.shape, dtype, 1)
        k = 0 if axis is None else axis
        x_bar = np.flip(np.cumsum(np.flip(y_bar, k), axis=k), k).reshape(shape)
        assert_identical(pullback(y_bar)[0], x_bar)
        assert_identical(pullback(y_bar.copy(order="F"))[0], x_bar)
        np.testing.assert_allclose(ld.jvp(lambda x: np.cumsum(x, axis=axis), (x,), (x,))[1], value)  # noqa: B023


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_all(shape, dtype):
    x = (1 + 0.1 * numbers(shape)).astype(dtype)
    for axis in axes_of(shape):
        for keepdims in (False, True):
            value, pullback = ld.vjp(lambda x: np.prod(x, axis=axis, keepdims=keepdims), x)  # noqa: B023
            expected = np.prod(x, axis=axis, keepdims=keepdims)
            assert_identical(value, expected)
            y_bar = numbers(expected.shape, dtype, 1)
            kept = np.prod(x, axis=axis, keepdims=True)
            x_bar = np.reshape(y_bar, kept.shape) * kept / x
            np.testing.assert_allclose(pullback(y_bar)[0], x_bar, rtol=1e-5)


def test_products_with_zeros():
    gradient = ld.grad(np.prod)
    assert gradient(np.array([2.0, 0.0, 3.0])).tolist() == [0, 6, 0]
    assert gradient(np.array([0.0, 0.0, 3.0])).tolist() == [0, 0, 0]
    assert gradient(np.array([1e-200, 1e-200, 1.0])).tolist() == [1e-200, 1e-200, 0]
    ld.testing.check_grads(lambda x: np.prod(x, axis=0), (1 + 0.1 * numbers((3, 4)),))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 4, 3)])
def test_cross_products(shape, dtype):
    x, y, z_bar = (numbers(shape, dtype, seed) for seed in range(3))
    value, pullback = ld.vjp(np.cross, x, y)
    assert_identical(value, np.cross(x, y))
    x_bar, y_bar = pullback(z_bar)
    assert_identical(x_bar, np.cross(y, z_bar))
    assert_identical(y_bar, np.cross(z_bar, x))
    assert_identical(ld.vjp(lambda x: np.cross(x, y), x)[1](z_bar)[0], x_bar)
    assert_identical(ld.vjp(lambda x: np.cross(y, x), x)[0], np.cross(y, x))
    assert_identical(ld.jvp(np.cross, (x, y), (y_bar, x_bar))[1], np.cross(y_bar, y) + np.cross(x, x_bar))


def test_cross_products_to_second_order_and_by_other_ways():
    x, y = numbers((2, 3)), numbers((2, 3), seed=1)
    ld.testing.check_grads(lambda x, y: np.sin(np.cross(x, y)), (x, y))
    for b in (y[0], np.asfortranarray(y), y.astype(np.float32)):
        assert_identical(ld.vjp(np.cross, x, b)[0], np.cross(x, b))
    assert_identical(ld.vjp(lambda x, y: np.cross(x, y, axis=0), x.T, y.T)[0], np.cross(x, y).T)


@pytest.mark.parametrize(
    "move",
    [
        lambda x: np.swapaxes(x, 0, 2),
        lambda x: np.swapaxes(x, -1, 1),
        lambda x: np.swapaxes(x, 1, 1),
        lambda x: np.moveaxis(x, 0, 2),
        lambda x: np.moveaxis(x, -1, 0),
        lambda x: np.transpose(x, (1, 2, 0)),
        lambda x: np.transpose(x, (-2, 0, -1)),
        lambda x: np.transpose(x, [1, 0, 2]),
        lambda x: np.transpose(x, np.array([1, 2, 0])),
        lambda x: np.transpose(x),
    ],
)
def test_moved_axes(move):
    x = numbers((2, 3, 4))
    value, pullback = ld.vjp(move, x)
    assert_identical(value, move(x))
    assert_identical(pullback(move(x))[0], x)
    assert_identical(ld.jvp(move, (x,), (x,))[1], move(x))
    jacobian = np.reshape(ld.jacobian(move)(x), (24, 24))
    np.testing.assert_array_equal(jacobian @ np.ravel(x), np.ravel(move(x)))


@pytest.mark.parametrize(
    "move",
    [
        lambda x: np.swapaxes(x, 0, 3),
        lambda x: np.moveaxis(x, -4, 0),
        lambda x: np.transpose(x, (0, 1)),
        lambda x: np.transpose(x, (0, 0, 1)),
    ],
)
def test_axes_that_are_not_there(move):
    with pytest.raises(ValueError, match="ax") as numpys:
        move(np.zeros((2, 3, 4)))
    with pytest.raises(type(numpys.value)) as ours:
        ld.vjp(move, np.zeros((2, 3, 4)))
    assert str(ours.value) == str(numpys.value)


def test_writing_through_moved_axes():
    def f(x):
        y = np.copy(x)
        np.moveaxis(y, 0, 1)[1] = 0.0
        np.swapaxes(y, 0, 1)[0] *= 2.0
        return y

    x = numbers((3, 4))
    value, pullback = ld.vjp(f, x)
    expected = x * np.where(np.arange(4) == 1, 0.0, np.where(np.arange(4) == 0, 2.0, 1.0))
    assert_identical(value, expected)
    assert_identical(pullback(x)[0], expected)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("shape", SHAPES)
def test_parts_of_complex_numbers(shape, dtype):
    z, z_dot = numbers(shape, dtype), numbers(shape, dtype, 1)
    for function, unit in [(np.real, 1), (np.imag, 1j)]:
        value, pullback = ld.vjp(function, z)
        assert_identical(value, function(z))
        y_bar = numbers(shape, value.dtype, 2)
        assert_identical(pullback(y_bar)[0], (unit * y_bar).astype(dtype))
        assert_identical(pullback(y_bar.copy(order="F"))[0], (unit * y_bar).astype(dtype))
        assert_identical(ld.jvp(function, (z,), (z_dot,))[1], function(z_dot))


def test_parts_of_complex_numbers_otherwise():
    z = numbers((2, 3), complex)
    ld.testing.check_grads(lambda z: np.sin(np.real(z)) * np.imag(z) ** 2, (z,))
    assert_identical(ld.jacobian(np.imag)(z[0]), -1j * np.eye(3))  # dy = Re(J dz)
    for function in (np.real, np.imag):
        assert_identical(ld.grad(lambda x: np.sum(function(x)))(z.real), function(np.ones((2, 3))))  # noqa: B023


def test_writing_to_parts():
    def f(z):
        z = np.copy(z)
        np.imag(z)[0] = 0.0
        return z

    z = numbers((2, 3), complex)
    value, pullback = ld.vjp(f, z)
    assert_identical(value, np.array([z[0].real, z[1]]))
    assert_identical(pullback(z)[0], value)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shapes",
    [((50, 2, 2), (50, 2, 2)), ((7, 3, 4), (7, 4, 5)), ((2, 3, 4, 1), (2, 3, 1, 4)), ((0, 2, 2),) * 2],
)
def test_stacks_of_matrices(shapes, dtype):
    x, y = numbers(shapes[0], dtype), numbers(shapes[1], dtype, 1)
    tolerance = {"rtol": 2e-5, "atol": 1e-5} if dtype is np.float32 else {"rtol": 1e-13, "atol": 1e-14}
    value, pullback = ld.vjp(lambda x, y: x @ y, x, y)
    assert value.dtype == dtype
    np.testing.assert_allclose(value, x @ y, **tolerance)
    z_bar = numbers(value.shape, dtype, 2)
    for given in (z_bar, np.asfortranarray(z_bar)):
        x_bar, y_bar = pullback(given)
        np.testing.assert_allclose(x_bar, z_bar @ np.swapaxes(y, -1, -2), **tolerance)
        np.testing.assert_allclose(y_bar, np.swapaxes(x, -1, -2) @ z_bar, **tolerance)
    single, pullback = ld.vjp(lambda x, y: x @ y, x, numbers(shapes[1][-2:], dtype, 1))  # broadcast
    np.testing.assert_allclose(single, x @ numbers(shapes[1][-2:], dtype, 1), **tolerance)
    assert pullback(single)[1].shape == shapes[1][-2:]


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_products_of_complex_matrices(dtype):
    tolerance = 1e-4 if dtype is np.complex64 else 1e-12
    x, y = numbers((12, 10), dtype), numbers((10, 14), dtype, 1)
    wide_x, wide_y = numbers((12, 20), dtype), numbers((10, 28), dtype, 1)
    for a, b in [
        (x, y),
        (np.asfortranarray(x), y),
        (x, np.asfortranarray(y)),
        (np.asfortranarray(x), np.asfortranarray(y)),
        (wide_x[:, ::2], y),
        (wide_x[:, :10], wide_y[:, 14:]),
        (wide_x[:1, :10], wide_y),
        (numbers((100, 1), dtype), numbers((1, 12), dtype, 1)),
    ]:
        value, pullback = ld.vjp(lambda a, b: a @ b, a, b)
        assert value.dtype == dtype
        np.testing.assert_allclose(value, a @ b, rtol=tolerance, atol=tolerance)
        z_bar = numbers(value.shape, dtype, 2)
        a_bar, b_bar = pullback(z_bar)
        np.testing.assert_allclose(a_bar, z_bar @ b.conj().T, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(b_bar, a.conj().T @ z_bar, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(1,), (9,), (5, 4), (3, 4, 2)])
@pytest.mark.parametrize("reorder", [np.sort, lambda x, axis: np.partition(x, x.shape[axis] // 2, axis)])
def test_sorting(shape, reorder):
    x = numbers(shape)
    for axis in range(-len(shape), len(shape)):
        value, pullback = ld.vjp(lambda x: reorder(x, axis=axis), x)  # noqa: B023
        assert_identical(value, reorder(x, axis=axis))
        assert_identical(pullback(value)[0], x)  # every number goes back to where it was


@pytest.mark.parametrize("function", [np.sum, np.mean, np.max, np.min])
@pytest.mark.parametrize("special", [[-0.0], [-0.0, -0.0], [np.nan, 1.0], [1.0, np.inf], [0.0, -0.0, 1e308]])
def test_reductions_of_special_numbers(function, special):
    value, _ = ld.vjp(function, np.array(special))
    assert_identical(value, function(np.array(special)))
    if value != 0:  # NumPy has changed which zero it gives
        assert np.signbit(value) == np.signbit(function(np.array(special)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("compare", ["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
def test_comparisons(compare, dtype):
    x = np.append(numbers(5, dtype), [np.nan, 0.0, np.inf]).astype(dtype)
    for other in (x[::-1].copy(), x[::-1], 0.0, 1, np.float64(0.5), x[3], x[:, None], np.array(0)):
        with np.errstate(invalid="ignore"):  # complex NaN
            assert_identical(getattr(ld.Variable(x), compare)(other), getattr(x, compare)(other))
    assert type(ld.Variable(1.0) > 0.0) is type(np.array(1.0) > 0.0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("n", [4, 3000])
def test_where(n, dtype):
    x, y, mask = numbers(n, dtype), numbers(n, dtype, 1), numbers(n, seed=2) > 0
    z_bar = numbers(n, dtype, 3)
    value, pullback = ld.vjp(lambda x, y: np.where(mask, x, y), x, y)
    assert_identical(value, np.where(mask, x, y))
    x_bar, y_bar = pullback(z_bar)
    assert_identical(x_bar, np.where(mask, z_bar, 0))
    assert_identical(y_bar, np.where(mask, 0, z_bar))
    assert_identical(ld.vjp(lambda x: np.where(mask, x, 0.0), x)[1](z_bar)[0], np.where(mask, z_bar, 0))
    assert_identical(ld.jvp(lambda y: np.where(mask, 1.0, y), (y,), (z_bar,))[1], np.where(mask, 0, z_bar))
    assert_identical(ld.jvp(lambda x, y: np.where(mask, x, y), (x, y), (x, y))[1], np.where(mask, x, y))


def test_where_broadcasts():
    x, s, mask = numbers((3, 4)), np.array(2.0), numbers((3, 1)) > 0
    value, pullback = ld.vjp(lambda x, s: np.where(mask, x, s), x, s)
    assert_identical(value, np.where(mask, x, s))
    x_bar, s_bar = pullback(np.ones((3, 4)))
    assert_identical(x_bar, np.where(mask, np.ones((3, 4)), 0))
    assert s_bar == 4 * np.sum(~mask)
    value, pullback = ld.vjp(lambda v: np.where(mask, v, s), np.array(3.0))
    assert_identical(value, np.where(mask, 3.0, s))
    assert pullback(np.ones((3, 1)))[0] == np.sum(mask)


def test_the_mask_may_be_written_to_afterwards():
    mask, x = np.array([True, False]), np.array([1.0, 2.0])
    _, pullback = ld.vjp(lambda x: np.where(mask, x, 0.0), x)
    mask[:] = False
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [1.0, 0.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bounds", [(-0.5, 0.5), (0, 1), (0.5, 0.5), (0.5, -0.5)])
def test_clip(bounds, dtype):
    x = np.append(numbers(9, dtype), [*bounds, np.nan, np.inf, -np.inf]).astype(dtype)
    lower, upper = bounds
    value, pullback = ld.vjp(lambda x: np.clip(x, lower, upper), x)
    assert_identical(value, np.clip(x, lower, upper))
    slow = ld.vjp(lambda x: np.minimum(np.maximum(x, lower), upper), x)[1]
    assert_identical(pullback(np.ones_like(x))[0], slow(np.ones_like(x))[0])


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("other", [1.5, 2, 1 - 2j, "array"])
def test_complex_arithmetic(other, dtype):
    x, z_bar = numbers(4, dtype), numbers(4, dtype, 2)
    y = numbers(4, dtype, 1) if other == "array" else other
    tolerance = 1e-13 if dtype is np.complex128 else 1e-5
    for f, by_x, by_y in [
        (lambda x, y: x + y, 1, 1),
        (lambda x, y: x - y, 1, -1),
        (lambda x, y: x * y, y, x),
        (lambda x, y: x / y, 1 / y, -x / y**2),
    ]:
        value, pullback = ld.vjp(lambda x: f(x, y), x)  # noqa: B023
        assert_identical(value, f(x, y))
        np.testing.assert_allclose(pullback(z_bar)[0], z_bar * np.conj(by_x), rtol=tolerance)
        if other == "array":
            (y_bar,) = ld.vjp(lambda y: f(x, y), y)[1](z_bar)  # noqa: B023
            np.testing.assert_allclose(y_bar, z_bar * np.conj(by_y), rtol=tolerance)


def test_vectors_joined():
    x, y = numbers(3), numbers(2, seed=1)
    for f in (
        lambda x, y: np.concatenate([x, y]),
        lambda x, y: np.concatenate([x[::-1], y, x[:0]]),
        lambda x, y: np.concatenate((x, y, np.ones(2)), axis=-1),
    ):
        value, pullback = ld.vjp(f, x, y)
        assert_identical(value, f(x, y))
        weights = np.arange(1.0, 1 + value.size)
        x_bar, y_bar = pullback(weights)
        np.testing.assert_allclose(np.sum(x_bar * x) + np.sum(y_bar * y),
                                   np.sum(weights * f(x, y)) - np.sum(weights * f(0 * x, 0 * y)))  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "to"),
    [
        ((4,), ()),
        ((3, 4), (4,)),
        ((3, 4), (1,)),
        ((3, 4), (1, 4)),
        ((3, 4), (3, 1)),
        ((2, 3, 4), (3, 4)),
        ((0, 4), (4,)),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_adjoint_of_broadcasting(shape, to, dtype):
    y_bar = numbers(shape, dtype)
    (x_bar,) = ld.vjp(lambda x: x + np.zeros(shape, dtype), np.zeros(to, dtype))[1](y_bar)
    lead = tuple(range(len(shape) - len(to)))
    kept = np.sum(y_bar, axis=lead)
    for axis, n in enumerate(to):
        if n == 1:
            kept = np.sum(kept, axis=axis, keepdims=True)
    assert x_bar.dtype == dtype
    np.testing.assert_allclose(x_bar, np.reshape(kept, to), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize(
    "shapes", [((3, 4), (4, 2)), ((3, 4), (4,)), ((4,), (4, 2)), ((4,), (4,)), ((12, 12), (12, 12))]
)
@pytest.mark.parametrize("real", ["", "x", "y"])
def test_complex_products(shapes, dtype, real):
    """Also with a real operand, of a transposed one, and pushed forward."""
    x, y = (numbers(shape, dtype, seed) for seed, shape in enumerate(shapes))
    x, y = (x.real.copy() if real == "x" else x), (y.real.copy() if real == "y" else y)
    tolerance = 1e-12 if dtype is np.complex128 else 1e-4
    value, pullback = ld.vjp(np.matmul, x, y)
    np.testing.assert_allclose(value, x @ y, rtol=tolerance)
    z_bar = numbers(np.shape(value), dtype, 2)
    x_dot, y_dot = numbers(shapes[0], x.dtype, 3), numbers(shapes[1], y.dtype, 4)
    z_dot = ld.jvp(np.matmul, (x, y), (x_dot, y_dot))[1]
    np.testing.assert_allclose(z_dot, x_dot @ y + x @ y_dot, rtol=tolerance)
    x_bar, y_bar = pullback(z_bar)
    assert (x_bar.dtype, y_bar.dtype) == (x.dtype, y.dtype)
    adjoint = np.sum(np.conj(x_bar) * x_dot) + np.sum(np.conj(y_bar) * y_dot)
    np.testing.assert_allclose(adjoint.real, np.sum(np.conj(z_bar) * z_dot).real, rtol=10 * tolerance)
    (of_transposed,) = ld.vjp(lambda xt: np.matmul(xt.T, y), x.T.copy())[1](z_bar)
    np.testing.assert_allclose(of_transposed, x_bar.T, rtol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("function", [np.conjugate, np.positive, np.deg2rad, np.degrees])
def test_functions_that_are_their_own_adjoint(function, dtype):
    x, t = numbers(5, dtype), numbers(5, dtype, 1)
    if np.dtype(dtype).kind == "c" and function in (np.deg2rad, np.degrees):
        with pytest.raises(TypeError, match="not supported for the input types"):
            ld.vjp(function, x)
        return
    value, pullback = ld.vjp(function, x)
    assert_identical(value, function(x))
    assert_identical(pullback(t)[0], function(t))
    assert_identical(ld.jvp(function, (x,), (t,))[1], function(t))
    assert_identical(ld.vjp(function, x[::2])[1](t[:3])[0], function(t[:3]))
