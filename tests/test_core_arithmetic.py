"""The compiled operations against NumPy: any shape, dtype, stride, and mixed with scalars."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lindiff as ld

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv]
DTYPES = ["f4", "f8", "c16", ">f8", "f2", "i4"]
EPS = {"f2": 2e-3, "f4": 2e-6, "c8": 2e-6}


def layout(x, how):
    """The same values in another memory layout."""
    if how == "fortran":
        return np.asfortranarray(x)
    if how == "reversed":
        return np.ascontiguousarray(x[..., ::-1])[..., ::-1] if x.ndim else x
    if how == "strided":
        wide = np.zeros((*x.shape, 2), x.dtype)
        wide[..., 0] = x
        return wide[..., 0]
    if how == "unaligned":
        memory = np.zeros(x.nbytes + 1, "u1")[1:]
        y = memory.view(x.dtype).reshape(x.shape)
        y[...] = x
        return y
    if how == "read-only":
        x = x.copy()
        x.setflags(write=False)
    return x


@st.composite
def operands(draw):
    shapes = draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=3, min_side=0, max_side=4)
    )
    layouts = st.sampled_from(["c", "fortran", "reversed", "strided", "unaligned", "read-only"])
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    pair = []
    for shape in shapes.input_shapes:
        dtype = draw(st.sampled_from(DTYPES))
        x = np.asarray(rng.uniform(1, 2, shape) * rng.choice([-1, 1], shape))
        if dtype == "c16":
            x = x + 1j * rng.normal(size=shape)
        elif dtype == "i4":
            x = np.sign(x) * rng.integers(1, 5, shape)
        pair.append(layout(np.asarray(x).astype(dtype), draw(layouts)))
    return pair


def check_value(got, expected):
    got = ld.value(got)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    if expected.dtype.kind == "c":  # NumPy's own products of aligned and unaligned numbers differ so
        np.testing.assert_allclose(got, expected, rtol=4 * np.finfo(expected.dtype).eps)
    else:
        np.testing.assert_array_equal(got, expected)


def adjoint_of_broadcast(x_bar, x):
    """Sum to the shape of ``x``, real where it is real."""
    x_bar = np.asarray(x_bar)
    x_bar = x_bar.sum(tuple(range(x_bar.ndim - x.ndim)))
    axes = tuple(k for k in range(x.ndim) if x.shape[k] == 1 and x_bar.shape[k] != 1)
    x_bar = x_bar.sum(axes, keepdims=True)
    return x_bar if x.dtype.kind == "c" else x_bar.real


PARTIALS = {
    operator.add: lambda x, y: (1.0, 1.0),
    operator.sub: lambda x, y: (1.0, -1.0),
    operator.mul: lambda x, y: (y, x),
    operator.truediv: lambda x, y: (1 / y, -x / y / y),
}


def wide(x):
    return np.asarray(x).astype("c16" if np.asarray(x).dtype.kind == "c" else "f8")


@settings(max_examples=200, deadline=None)
@given(operands(), st.sampled_from(OPERATORS), st.sampled_from(["both", "left", "right", "same"]))
def test_values_and_gradients(pair, op, which):
    x, y = pair
    if which == "same":
        y = x
    before = x.tobytes(), y.tobytes()
    active = {"both": (0, 1), "left": (0,), "right": (1,), "same": (0, 1)}[which]
    primals = [pair[k] if which != "same" else x for k in active]

    def f(*args):
        full = [x, y]
        for k, argument in zip(active, args, strict=True):
            full[k] = argument
        return op(*full)

    def promoted(k):  # integers become float64 where they are differentiated
        z = (x, y)[k]
        return z.astype("f8") if z.dtype.kind == "i" and k in active else z

    with np.errstate(over="ignore"):
        expected = np.asarray(op(promoted(0), promoted(1)))
    value, pullback = ld.vjp(f, *primals)
    check_value(value, expected)
    rng = np.random.default_rng(0)
    z_bar = np.asarray(rng.uniform(1, 2, expected.shape).astype(expected.dtype))
    if expected.dtype.kind == "c":
        z_bar = z_bar + 1j * z_bar[...]
        z_bar = np.asarray(z_bar.astype(expected.dtype))
    z_bar_before = z_bar.copy()
    gradients = pullback(z_bar)
    np.testing.assert_array_equal(z_bar, z_bar_before)
    partials = PARTIALS[op](wide(x), wide(y))
    scale = 1 + np.sum(np.abs(wide(z_bar))) * max(np.max(np.abs(p), initial=1) for p in partials)
    for k, x_bar in zip(active, gradients, strict=True):
        like = promoted(k)
        assert x_bar.shape == like.shape
        assert x_bar.dtype == like.dtype or (x_bar.ndim == 0 and x_bar.dtype == like.dtype.newbyteorder("="))
        wanted = adjoint_of_broadcast(
            np.broadcast_to(wide(z_bar) * np.conj(partials[k]), expected.shape), like
        )
        eps = max(EPS.get(d.str[1:], 1e-13) for d in (like.dtype, expected.dtype))
        np.testing.assert_allclose(wide(x_bar), wide(wanted), rtol=0, atol=eps * scale)
        if x_bar.ndim:
            x_bar.flags.writeable = True  # memory of its own
            assert not np.shares_memory(x_bar, x)
            assert not np.shares_memory(x_bar, z_bar)
    # forward mode: <z_bar, J x_dot> = <J^H z_bar, x_dot>
    tangents = [np.asarray(rng.uniform(1, 2, promoted(k).shape).astype(promoted(k).dtype)) for k in active]
    _, z_dot = ld.jvp(f, primals, tangents)
    assert np.asarray(z_dot).dtype == expected.dtype
    assert np.shape(z_dot) == expected.shape
    left = np.sum(np.conj(wide(z_bar)) * wide(z_dot)).real
    right = sum(np.sum(np.conj(wide(g)) * wide(t)).real for g, t in zip(gradients, tangents, strict=True))
    eps = max(EPS.get(d.str[1:], 1e-12) for d in [expected.dtype, *(promoted(k).dtype for k in active)])
    assert abs(left - right) <= 10 * eps * scale
    assert (x.tobytes(), y.tobytes()) == before


SCALARS = [
    3,
    -2.5,
    True,
    1 + 2j,
    np.float32(1.5),
    np.float64(1.5),
    np.int64(3),
    np.bool_(True),
    2**60,
    10**20,
]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda s: f"{type(s).__name__}-{s}")
@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_scalars_promote_as_numpy_promotes(scalar, op, dtype, shape):
    x = np.full(shape, 2.0, dtype)
    for f in (lambda v: op(v, scalar), lambda v: op(scalar, v)):
        value, pullback = ld.vjp(f, x)
        expected = np.asarray(f(x))
        check_value(np.asarray(value), expected)
        x_bar = pullback(np.ones(shape, expected.dtype))[0]
        assert x_bar.dtype == x.dtype
        assert x_bar.shape == shape


@pytest.mark.parametrize("op", OPERATORS)
def test_lists_and_tuples_are_operands(op):
    x = np.array([1.0, 2.0])
    for other in ([3.0, 4.0], (3, 4), [[1.0], [2.0]]):
        check_value(op(ld.Variable(x), other), op(x, np.asarray(other)))
        check_value(op(other, ld.Variable(x)), op(np.asarray(other), x))


def caught(f):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = f()
    return ld.value(result), sorted(str(w.message) for w in seen)


EXTREMES = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e308, 1e-308, 3e38, 1e-45]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("op", OPERATORS)
def test_warnings_are_those_of_numpy(op, dtype):
    with np.errstate(over="ignore"):
        extremes = np.array(EXTREMES).astype(dtype)
    for a in extremes:
        for b in extremes:
            x, y = np.full(3, a), np.full(3, b)
            value, messages = caught(lambda x=x, y=y: op(ld.Variable(x), y))
            expected, wanted = caught(lambda x=x, y=y: op(x, y))
            np.testing.assert_array_equal(value, expected)
            assert messages == wanted
    x = np.array([1.0, 2.0], dtype)
    for scalar in (1e300, -1e39, float("inf"), float("nan"), 0, 0.0):
        value, messages = caught(lambda scalar=scalar: op(ld.Variable(x), scalar))
        expected, wanted = caught(lambda scalar=scalar: op(x, scalar))
        np.testing.assert_array_equal(value, expected)
        assert messages == wanted


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "ufunc", [np.exp, np.log, np.log1p, np.expm1, np.sin, np.cos, np.tanh, np.sqrt, np.square]
)
def test_unary_warnings_are_those_of_numpy(ufunc, dtype):
    with np.errstate(over="ignore"):
        extremes = np.array([*EXTREMES, -1.0, -2.0, 100.0, 800.0]).astype(dtype)
    for a in extremes:
        for shape in ((), (3,), (4000,)):
            x = np.full(shape, a)
            value, messages = caught(lambda x=x: ufunc(ld.Variable(x)))
            expected, wanted = caught(lambda x=x: ufunc(x))
            np.testing.assert_allclose(value, expected, rtol=1e-6 if dtype == "f4" else 1e-15)
            assert value.dtype == dtype
            assert messages == wanted
            ld.Variable(x)
            caught(lambda x=x: ufunc(ld.Variable(x)).backward(np.ones(x.shape)))


def test_sum_overflow_warns_as_numpy():
    for n in (3, 100):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert np.isinf(ld.value(np.sum(ld.Variable(np.full(n, 1.7e308)))))


def test_errstate_raise_reaches_small_arrays():
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        ld.Variable([1.0, 0.0]) / np.array([0.0, 1.0])


@pytest.mark.parametrize("n", [7, 2047, 2048, 2049, 10_000])
def test_around_the_limit_of_small(n, rng):
    x, y = rng.normal(size=n), rng.uniform(1, 2, n)
    for op in OPERATORS:
        check_value(op(ld.Variable(x), y), op(x, y))
    gradient = ld.grad(lambda x: np.sum(np.sin(x * y) / y - x))(x)
    np.testing.assert_allclose(gradient, np.cos(x * y) - 1, atol=1e-14)


@pytest.mark.parametrize("zero", [0, 0.0, np.float64(0), np.zeros(2)])
def test_division_by_zero_differentiates(zero):
    with np.errstate(all="ignore"):
        _, pullback = ld.vjp(lambda x: x / zero, np.array([1.0, -2.0]))
        np.testing.assert_array_equal(pullback(np.array([1.0, 0.0]))[0], [np.inf, 0.0])
        _, y_dot = ld.jvp(lambda x: x / zero, (np.array([1.0, -2.0]),), (np.array([1.0, 0.0]),))
    np.testing.assert_array_equal(y_dot, [np.inf, 0.0])


def test_expm1_keeps_its_derivative_where_it_is_small():
    for shape in ((3,), (4000,)):
        x = np.full(shape, -50.0)
        np.testing.assert_allclose(ld.grad(lambda x: np.sum(np.expm1(x)))(x), np.exp(x), rtol=1e-14)


# -- matmul, indexing, transposition ---------------------------------------------------------------------

MATMUL_SHAPES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
    ((4, 2, 3), (3, 2)), ((2, 3), (4, 3, 2)), ((4, 1, 2, 3), (5, 3, 2)), ((3,), (4, 3, 2)), ((4, 2, 3), (3,)),
    ((20, 20), (20, 20)), ((1, 1), (1, 1)), ((2, 1), (1, 2)), ((0,), (0,)), ((40, 40), (40,)),
]  # fmt: skip


@pytest.mark.parametrize(
    "dtypes", [("f8", "f8"), ("f4", "f4"), ("f4", "f8"), ("c16", "f8"), ("f4", "i4"), ("c8", "c16")]
)
@pytest.mark.parametrize("how", ["c", "fortran", "reversed", "strided"])
@pytest.mark.parametrize("shapes", MATMUL_SHAPES, ids=str)
def test_matmul(shapes, how, dtypes, rng):
    x, y = (
        layout(rng.integers(-3, 4, shape).astype(dtype), how)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    )
    if dtypes[1] == "i4":  # a constant
        z, pullback = ld.vjp(lambda x: x @ y, x)
        inputs = [x]
    else:
        z, pullback = ld.vjp(lambda x, y: x @ y, x, y)
        inputs = [x, y]
    expected = np.asarray(x @ y)
    check_value(np.asarray(z), expected)
    z_bar = np.asarray(rng.integers(-3, 4, expected.shape).astype(expected.dtype))
    gradients = pullback(z_bar)
    x_dots = [rng.integers(-3, 4, a.shape).astype(a.dtype) for a in inputs]
    _, z_dot = ld.jvp(lambda *args: args[0] @ (args[1] if len(args) == 2 else y), inputs, x_dots)
    left = np.sum(np.conj(z_bar) * z_dot).real
    right = sum(np.sum(np.conj(g) * t).real for g, t in zip(gradients, x_dots, strict=True))
    assert left == pytest.approx(right, rel=1e-5, abs=1e-5)
    for a, gradient in zip(inputs, gradients, strict=True):
        assert gradient.dtype == a.dtype
        assert gradient.shape == a.shape


def test_matmul_accumulates_into_one_buffer(rng):
    """Vectors and matrices of one graph, several products on each operand."""
    A, b, c = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)

    def f(A, b, c):
        return b @ A @ c + (A @ b) @ (A.T @ c) + c @ (A @ A @ b) + b @ c

    gA, gb, gc = ld.grad(f, (0, 1, 2))(A, b, c)
    for k, g in enumerate((gA, gb, gc)):
        args = [A, b, c]
        for index in np.ndindex(g.shape):
            step = np.zeros(g.shape)
            step[index] = 1e-6
            plus, minus = list(args), list(args)
            plus[k], minus[k] = args[k] + step, args[k] - step
            assert g[index] == pytest.approx((f(*plus) - f(*minus)) / 2e-6, abs=1e-7)


def test_matmul_errors_are_those_of_numpy():
    v = ld.Variable(np.ones((2, 3)))
    for other in (np.ones(2), np.ones((2, 2)), 2.0):
        with pytest.raises(ValueError, match="matmul"):
            v @ other
        with pytest.raises(ValueError, match="matmul"):
            np.asarray(other) @ v if np.ndim(other) == 0 else v.T @ np.ones((3, 2))


INDICES = [
    0,
    -1,
    slice(None),
    slice(None, None, -2),
    ...,
    None,
    (0, 1),
    (slice(1), None, -1),
    [0, 0, 1],
    np.array([0, 0]),
    np.array(1),
    (np.array([0, 1, 0]), np.array([1, 1, 1])),
    np.array([True, False]),
    ([0, 0], slice(None)),
    (..., [2, 2]),
    np.zeros((0,), int),
    (slice(0, 0),),
    True,
    (),
]


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", ">f8", "f2"])
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_getitem(index, dtype, rng):
    x = rng.integers(-3, 4, (2, 3)).astype(dtype)
    y, pullback = ld.vjp(lambda x: x[index], x)
    check_value(np.asarray(y), np.asarray(x[index]))
    y_bar = np.asarray(rng.integers(-3, 4, np.shape(y)).astype(np.asarray(y).dtype))
    wanted = np.zeros((2, 3), dtype)
    np.add.at(wanted, index, y_bar)
    (x_bar,) = pullback(y_bar)
    assert x_bar.dtype == x.dtype
    np.testing.assert_array_equal(x_bar, wanted)
    _, twice = ld.vjp(lambda x: (x[index], x[index], x * 2.0), x)
    np.testing.assert_array_equal(twice((y_bar, y_bar, x))[0], 2 * wanted + 2 * x)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_a_loop_over_elements_accumulates_in_place(dtype, monkeypatch):
    n = 300
    x = np.arange(n).astype(dtype)
    calls = []
    zeros = np.zeros
    monkeypatch.setattr(np, "zeros", lambda *args, **kwargs: calls.append(args) or zeros(*args, **kwargs))

    def f(x):
        total = 0.0
        for i in range(n):
            total = total + x[i] * x[i]
        return total

    if dtype == "f8":
        np.testing.assert_array_equal(ld.grad(f)(x), 2 * x)
    else:
        np.testing.assert_array_equal(ld.grad(f, holomorphic=True)(x), 2 * x)
    assert len(calls) <= 3


def test_transposes():
    x = np.arange(6.0).reshape(2, 3)
    c = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(x.T * c + x.T * c))(x), 2 * c.T)
    _, pullback = ld.vjp(lambda x: (x.T, x.T.T, x), x)
    np.testing.assert_array_equal(pullback((c, x, x))[0], c.T + 2 * x)


# -- products with zero and infinity -----------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 3000])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_zero_times_infinity_is_zero(n, dtype):
    x = np.zeros(n, dtype)
    _, pullback = ld.vjp(np.sqrt, x)
    np.testing.assert_array_equal(pullback(np.zeros(n, dtype))[0], 0)
    np.testing.assert_array_equal(pullback(np.ones(n, dtype))[0], np.inf)
    assert ld.grad(lambda x: np.sqrt(np.sum(x * x)))(x).tolist() == [0.0] * n
    _, y_dot = ld.jvp(np.sqrt, (x,), (x,))
    assert y_dot.dtype == dtype
    np.testing.assert_array_equal(y_dot, 0)


def test_nan_cotangents_stay_where_they_are():
    _, pullback = ld.vjp(lambda x: x * np.array([2.0, 3.0, 4.0]), np.ones(3))
    np.testing.assert_array_equal(pullback(np.array([1.0, np.nan, 1.0]))[0], [2.0, np.nan, 4.0])


# -- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_operands_that_multiply_otherwise_are_refused():
    v = ld.Variable(np.ones((2, 2)))
    for other in (
        np.matrix(np.eye(2)),
        np.ma.array(np.eye(2)),
        np.array([1.0, None]),
        np.array([v, 1.0][1:], object),
    ):
        for op in OPERATORS:
            with pytest.raises(TypeError, match=r"plain array|object array"):
                op(v, other)
            with pytest.raises(TypeError):
                op(other, v)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.divide, np.matmul])
def test_ufuncs_with_keywords(ufunc):
    x = np.array([[1.0, 2.0], [3.0, 4.0]], "f4")
    y, pullback = ld.vjp(lambda x: ufunc(x, x, dtype="f8"), x)
    check_value(y, ufunc(x, x, dtype="f8"))
    (x_bar,) = pullback(np.ones((2, 2)))
    assert x_bar.dtype == "f4"
    np.testing.assert_allclose(x_bar, ld.vjp(lambda x: ufunc(x, x), x)[1](np.ones((2, 2)))[0], rtol=1e-6)
    w = ld.Variable(x) + 0
    assert ufunc(x, x, out=w) is w
    check_value(ld.value(w), ufunc(x, x))


def test_in_place_on_a_plain_array_binds_a_variable():
    a = np.ones(2)
    a += ld.Variable([1.0, 2.0])
    assert isinstance(a, ld.Variable)
    np.testing.assert_array_equal(ld.value(a), [2.0, 3.0])
    b = np.ones(2)
    with pytest.raises(ValueError, match="broadcast"):
        b *= ld.Variable(np.ones((3, 2)))
    with pytest.raises(TypeError, match="out="):
        np.add(np.ones(2), ld.Variable([1.0, 2.0]), out=np.zeros(2))
    v = ld.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match="made by hand"):
        np.add(np.ones(2), np.ones(2), out=v)


@pytest.mark.parametrize("shape", [(7,), (1, 7), (300, 1), (1, 1), (), (300, 7)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_adjoint_of_broadcasting_to_a_thin_matrix(shape, order):
    z_bar = np.asarray(np.random.default_rng(0).standard_normal((300, 7)), order=order)
    x_bar = ld.vjp(lambda x: x + z_bar, np.ones(shape))[1](z_bar)[0]
    axes = tuple(axis for axis, n in enumerate((300, 7)[2 - len(shape) :]) if shape[axis] != n)
    leading = tuple(range(2 - len(shape)))
    expected = z_bar.sum(axis=leading).sum(axis=axes, keepdims=True)
    np.testing.assert_allclose(x_bar, expected, rtol=1e-12, atol=1e-12)
    assert np.shape(x_bar) == shape
