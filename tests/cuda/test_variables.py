"""Variables that hold CuPy arrays: operators, writing in place, views, transforms, errors, waiting."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from standin.array import Device

import lindiff as ld
from lindiff import testing

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
W = np.array([[1.0, 2.0, -1.0], [0.5, -2.0, 3.0]])


def host(tree):
    return ld.core.pytree.tree_map(lambda x: x.get() if hasattr(x, "get") else x, tree)


def assert_same(got, expected):
    got, expected = (ld.core.pytree.flatten(tree)[0] for tree in (host(got), expected))
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def squares(x):
    return np.sum(np.sin(x) * x**2)


def rows_written(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * (i + 1.0)
    y[:, 1] += x[:, 0]
    y[0, 2] *= 3.0
    return y


def written_at(x):
    y = x * 1.0
    y[[0, 1], [1, 2]] = x[0, :2] * 2.0
    y[x > 1.0] = 0.5
    np.add.at(y, ([0, 0, 1], [1, 1, 2]), x[0])
    return y


def through_views(x):
    y = x * 1.0
    row, column, turned = y[1], y[:, 0], y.T
    row[...] = x[0] ** 2
    column += x[:, 2]
    turned[2] *= 2.0
    y.reshape(-1)[1:3] = x[0, :2]
    return y + np.sum(row)


def into_buffers(x):
    y = np.zeros((3, 2), like=x)
    np.multiply(x.T, 2.0, out=y)
    z = np.empty_like(x)
    z[...] = y.T
    np.copyto(z, x, where=x > 0)
    return z


def joined(x):
    return np.stack([x[0], np.array([1.0, x[0, 1], x[1, 0]], like=x), np.concatenate([x[1, :1], x[0, 1:]])])


FUNCTIONS = [squares, rows_written, written_at, through_views, into_buffers, joined]


@pytest.fixture(params=FUNCTIONS, ids=lambda f: f.__name__)
def f(request):
    return request.param


def test_first_order(cupy, f):
    x, w = cupy.asarray(X), cupy.asarray(W)
    y, pullback = ld.vjp(f, X)
    y_, pullback_ = ld.vjp(f, x)
    assert type(y_) is cupy.ndarray
    assert_same(y_, y)
    y_bar = np.cos(np.arange(y.size)).reshape(y.shape)
    assert_same(pullback_(cupy.asarray(y_bar)), pullback(y_bar))
    assert_same(pullback_(cupy.asarray(y_bar)), pullback(y_bar))  # again
    assert_same(ld.jvp(f, (x,), (w,)), ld.jvp(f, (X,), (W,)))
    _, linear = ld.linearize(f, x)
    assert_same(linear(w), ld.jvp(f, (X,), (W,))[1])
    assert_same(linear.T(cupy.asarray(y_bar)), pullback(y_bar))


def test_many_directions(cupy, f):
    x = cupy.asarray(X)
    for mode in ("forward", "reverse"):
        J = ld.jacobian(f, mode=mode)(x)
        assert type(J) is cupy.ndarray
        assert_same(J, ld.jacobian(f, mode=mode)(X))


def test_second_order(cupy, f):
    def g(x):
        return np.sum(np.cos(f(x)))

    x, w = cupy.asarray(X), cupy.asarray(W)
    assert_same(ld.grad(g)(x), ld.grad(g)(X))
    assert_same(ld.hessian(g)(x), ld.hessian(g)(X))
    assert_same(ld.hvp(g, (x,), (w,)), ld.hvp(g, (X,), (W,)))


def test_checkpoint_and_gauss_newton(cupy, f):
    def g(x):
        return np.sum(ld.checkpoint(f)(x) ** 2)

    def loss(y):
        return np.sum(y**2)

    x, w = cupy.asarray(X), cupy.asarray(W)
    assert_same(ld.value_and_grad(g)(x), ld.value_and_grad(g)(X))
    assert_same(ld.ggnvp(f, loss, (x,), (w,)), ld.ggnvp(f, loss, (X,), (W,)))


def test_check_grads(cupy):
    testing.check_grads(lambda x: np.sin(x) * x, (cupy.asarray(X),))


def test_trees_and_scalars(cupy):
    def f(parameters, scale):
        return {"y": parameters["a"] * scale + np.sum(parameters["b"][0])}

    arguments = {"a": X, "b": [W]}, np.array(2.0)
    device = {"a": cupy.asarray(X), "b": [cupy.asarray(W)]}, cupy.asarray(2.0)
    y, pullback = ld.vjp(f, *arguments)
    y_, pullback_ = ld.vjp(f, *device)
    assert_same(y_, y)
    assert_same(pullback_(y_), pullback(y))
    gradient = ld.grad(lambda s: s * s)(cupy.asarray(3.0))
    assert type(gradient) is cupy.ndarray
    assert float(gradient) == 6.0


def test_the_tape_by_hand(cupy):
    v = ld.Variable(cupy.asarray(X))
    np.sum(v * v).backward()
    assert type(v.grad) is cupy.ndarray
    assert_same(v.grad, 2 * X)
    (v * v).backward(cupy.asarray(W))
    assert_same(v.grad, 2 * X + 2 * W * X)
    (v * v).backward(W.tolist())
    assert_same(v.grad, 2 * X + 4 * W * X)
    with pytest.raises(TypeError, match=r"the cotangent is a numpy\.ndarray, the Variable a cupy\.ndarray"):
        (v * v).backward(W)


def test_memory_of_arguments_is_left_alone(cupy, f):
    x = cupy.asarray(X)
    y, pullback = ld.vjp(f, x)
    before = y.copy()
    pullback(y)
    assert_same([x, y], [X, before.get()])
    v = ld.Variable(x)
    x += 1.0
    assert_same(ld.value(v), X)


def test_values(cupy):
    v = ld.Variable(cupy.asarray(X))
    assert type(ld.value(v)) is cupy.ndarray
    assert_same(ld.value({"a": [v * 2.0]}), {"a": [2 * X]})
    assert type(v > 0) is cupy.ndarray
    assert (v.shape, v.ndim, v.size, v.dtype, len(v)) == ((2, 3), 2, 6, np.dtype(float), 2)
    assert_same(ld.value(copy.copy(v)), X)
    assert "cupy" not in repr(v)
    assert_same([ld.value(row) for row in v], list(X))


def test_constants_are_made_beside_variables(cupy):
    v = ld.Variable(cupy.asarray(X))
    made = [np.zeros(2, like=v), np.eye(2, like=v), np.ones((2, 1), like=v), np.arange(3.0, like=v)]
    made += [np.asarray([1.0, 2.0], like=v), np.zeros_like(v), np.full_like(v, 2.0), np.identity(3, like=v)]
    assert all(type(ld.value(array)) is cupy.ndarray for array in made)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (np.asarray, "does not turn into a plain array silently"),
        (float, "does not turn into a plain number silently"),
        (lambda v: np.zeros(3).__setitem__(0, v[0, 0]), "does not turn into a plain number silently"),
        (lambda v: np.ones((2, 3)).__iadd__(v), r"numpy\.ndarray and cupy\.ndarray do not mix"),
        (lambda v: ld.value(v).__iadd__(v), "Unsupported type"),
    ],
)
def test_nothing_becomes_a_plain_array_silently(cupy, call, message):
    with pytest.raises(TypeError, match=message):
        ld.grad(lambda x: call(np.sum(x) if call is float else x * 1.0))(cupy.asarray(X))


def test_a_failure_without_rule_is_named(cupy):
    with pytest.raises(TypeError, match=r"no implementation found for 'numpy\.polydiv'"):
        ld.grad(lambda x: np.sum(np.polydiv(x[0], x[1])[0]))(cupy.asarray(X))


def layers(x):
    y = np.tanh(x @ np.transpose(x) / 3.0) + np.exp(-x[:, :2])
    y = np.where(y > 0, np.sqrt(np.abs(y)), y / (1.0 + y**2))
    z = np.zeros_like(y)
    z[0] = y[1] * np.log1p(y[0] ** 2)
    z[:, 1] += np.mean(y, axis=0)
    z = np.maximum(z, 0.1) + np.clip(y, -1.0, 1.0)
    z = np.concatenate([z, np.flip(y, 0)]) - np.max(z) + np.var(z, axis=1).sum() + np.linalg.norm(y)
    return np.sum(np.hypot(z, 1.0) * np.arctan2(z, 2.0)) + np.prod(y)


def test_nothing_waits_for_the_device(standin):
    x = standin.asarray(X)
    expected = ld.grad(layers)(X)
    before = Device.synchronizations
    gradient = ld.grad(layers)(x)
    ld.jvp(layers, (x,), (x,))
    assert Device.synchronizations == before
    assert_same(gradient, expected)


def test_steps_write_into_one_buffer(standin, monkeypatch):
    """Reading and writing parts of an array costs their size, forward and backward."""
    copied = []
    monkeypatch.setattr(standin.ndarray, "copy", lambda x: copied.append(x.size) or standin.asarray(x.get()))

    def f(x):
        y = np.zeros_like(x)
        for i in range(len(x)):
            y[i] = x[i] * 2.0
        return y

    y_bar = standin.asarray(np.ones((50, 100)))
    ld.vjp(f, y_bar)[1](y_bar)
    assert sum(copied) < 5 * y_bar.size


def test_minimize(cupy):
    """SciPy searches on the host; the function is evaluated where the start is."""
    from lindiff.scipy import optimize

    target = cupy.asarray(W)

    def distance(x):
        return np.sum((x["a"] - target) ** 2) + x["b"] ** 2

    found = optimize.minimize(distance, {"a": cupy.asarray(X), "b": cupy.asarray(1.0)})
    assert type(found.x["a"]) is cupy.ndarray
    np.testing.assert_allclose(found.x["a"].get(), W, atol=1e-5)


def test_namespaces_on_plain_arrays(cupy):
    from lindiff.scipy import special

    x = cupy.asarray(X)
    assert_same(special.logsumexp(x, axis=0), special.logsumexp(X, axis=0))
    assert_same(special.softmax(x), special.softmax(X))


def test_what_is_kept(cupy):
    """As on the host: what the derivative needs, and no array that only tells a shape."""

    def f(x):
        return np.sum(np.exp(np.reshape(x, -1)[1:]) * 2.0)

    x = np.ones((100, 10))
    kept = ld.explain(f)(cupy.asarray(x)).total.kept
    assert kept == pytest.approx(ld.explain(f)(x).total.kept, abs=100)


def test_nans_are_found(cupy):
    gradient = ld.grad(lambda x: np.sum(np.log(x - 3.0)))
    with (
        ld.nan_check(),
        np.errstate(all="ignore"),
        pytest.raises(FloatingPointError, match="log makes a NaN"),
    ):
        gradient(cupy.asarray(X))


def test_complex_numbers(cupy):
    z = np.array([1 + 2j, 3j])
    z_ = cupy.asarray(z)

    def modulus(z):
        return np.sum(np.abs(z) ** 2)

    def cube(z):
        return np.sum(z**3)

    assert_same(ld.grad(modulus)(z_), 2 * z)
    assert_same(ld.grad(cube, holomorphic=True)(z_), 3 * z**2)
    assert_same(ld.jacobian(np.square, holomorphic=True)(z_), np.diag(2 * z))
    with pytest.raises(TypeError, match="not complex-linear"):
        ld.grad(lambda z: np.sum(np.conj(z) * z * 1j), holomorphic=True)(z_)


def test_half_precision_and_integers(cupy):
    """float16 stays, integers become float64; what has no derivative is named."""

    def f(x):
        return np.sum(x * x / 2)

    for dtype, result in [("e", "e"), ("i", "d"), ("f", "f")]:
        gradient = ld.grad(f)(cupy.asarray(np.arange(3, dtype=dtype)))
        assert (gradient.dtype.char, gradient.tolist()) == (result, [0.0, 1.0, 2.0])
    with pytest.raises(TypeError, match="dtype bool, which has no derivative"):
        ld.grad(f)(cupy.asarray(np.array([True])))


def test_the_way_to_the_host_is_named(cupy):
    with pytest.raises(AttributeError, match=r"its plain array has: ld.value\(v\).get"):
        ld.Variable(cupy.asarray(X)).get()
    assert_same(ld.value(ld.Variable(cupy.asarray(X))).get(), X)


def test_implicit_functions(cupy):
    root = ld.implicit(np.sqrt, lambda y, a: y * y - a)
    gradient = ld.grad(lambda a: np.sum(root(a)))(cupy.asarray(np.array([1.0, 4.0])))
    assert_same(gradient, np.array([0.5, 0.25]))


def test_interpolation_at_strided_points(cupy):
    knots, values = np.array([-1.0, 0.5, 2.0]), np.array([1.0, -1.0, 3.0])

    def f(x, xp, fp):
        return np.sum(np.interp(x.T, xp, fp) ** 2)

    arguments = X, knots, values
    assert_same(ld.grad(f)(*map(cupy.asarray, arguments)), ld.grad(f)(*arguments))


def test_what_windows_saw_is_not_written_to(cupy):
    """Large enough for a write in place, were the windows' memory nobody else's."""
    x = np.linspace(-1.0, 1.0, 4096)

    def f(u):
        x = u * 2.0
        windows = np.lib.stride_tricks.sliding_window_view(x, 2)
        y = np.sum(windows * windows)
        x[0] = 100.0
        return y + np.sum(x)

    np.testing.assert_allclose(ld.grad(f)(cupy.asarray(x)).get(), ld.grad(f)(x), rtol=1e-12)


BESIDE_NUMBERS = {
    "select": lambda x: np.select([x > 0.5, x < -0.5], [x, 0.5], True),
    "piecewise": lambda x: np.piecewise(x, [x > 0], [np.float64(1), lambda t: t * 2]),
    "prod": lambda x: np.prod(x, initial=2.0),
    "geomspace": lambda x: np.geomspace(2.0, x[3], 3),
    "linspace": lambda x: np.linspace(0.5, x, 3),
    "gradient": lambda x: np.gradient(x, np.float64(2)),
    "power": lambda x: (x * x) ** -1,
}


@pytest.mark.parametrize("name", BESIDE_NUMBERS)
def test_numbers_beside_arrays(cupy, name):
    f, x = BESIDE_NUMBERS[name], np.array([0.7, -0.9, 0.1, 2], np.float32)
    expected, pullback = ld.vjp(f, x)
    got, pullback_there = ld.vjp(f, cupy.asarray(x))
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got.get(), expected, rtol=1e-6)
    bar = np.ones_like(expected)
    np.testing.assert_allclose(pullback_there(cupy.asarray(bar))[0].get(), pullback(bar)[0], rtol=1e-5)
