"""``vmap``: one function for many inputs, beside a loop over them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from test_programs_among_variables import assert_same
from test_recorded_programs import calls, count

import lindiff as ld
from lindiff.core import pytree
from lindiff.programs import blocks, program
from lindiff.programs.mapping import _Elements
from lindiff.transforms.vmap import vmap

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 3))
Y = RNG.standard_normal((50, 3))
B = RNG.standard_normal(3)


@pytest.fixture(params=[4, blocks.MOST_ELEMENTS], autouse=True)
def elements_of_a_block(request, monkeypatch):
    monkeypatch.setattr(blocks, "MOST_ELEMENTS", request.param)


def distance(x, y):
    return np.sqrt(np.sum((x - y) ** 2))


def branches(x, y):
    if np.sum(x) > 0:
        return np.sum(x * y) if y[0] > 0 else np.sum(np.sin(x) * y)
    return np.sum(np.exp(x - y))


def matrix(x, y):
    A = np.outer(x, x) + (3 + y @ y) * np.eye(3)
    return np.linalg.solve(A, x), np.linalg.cholesky(A).T


def loops(x, y):
    while np.sum(x**2) > 0.3:
        x = x / 2 + 0.01 * y
    return x


def loop(function, in_axes):
    """What ``vmap`` stands for."""

    def of_many(*args):
        n = next(x.shape[axis] for x, axis in zip(args, in_axes, strict=True) if axis is not None)
        results = [
            function(
                *[x if axis is None else np.take(x, i, axis) for x, axis in zip(args, in_axes, strict=True)]
            )
            for i in range(n)
        ]
        if isinstance(results[0], tuple):
            return tuple(np.stack(parts) for parts in zip(*results, strict=True))
        return np.stack(results)

    return of_many


@pytest.mark.parametrize("function", [distance, branches, matrix, loops])
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (None, 0), (1, 0)])
def test_values(function, in_axes):
    fast = vmap(function, in_axes)
    for scale in (1.0, 0.7, -1.3, 1.0):
        args = [x * scale if axis is not None else B for x, axis in zip((X, Y), in_axes, strict=True)]
        args = [x.T.copy() if axis == 1 else x for x, axis in zip(args, in_axes, strict=True)]
        assert_same(fast(*args), loop(function, in_axes)(*args))


TRANSFORMS = {
    "grad": lambda f: ld.grad(f, argnums=(0, 1)),
    "jvp": lambda f: lambda *args: ld.jvp(f, args, [np.cos(x) for x in args]),
    "hessian": lambda f: ld.hessian(f, argnums=1),
    "jvp of grad": lambda f: lambda *args: ld.jvp(ld.grad(f), args, [np.cos(x) for x in args]),
    "gradient of gradient": lambda f: ld.grad(lambda *args: np.sum(ld.grad(f, 1)(*args) ** 2), 0),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("function", [distance, branches, matrix, loops])
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None)])
def test_derivatives(function, in_axes, transform):
    def total(mapped):
        def f(x, y):
            found = mapped(x, y)
            return sum(np.sum(part**2) for part in (found if isinstance(found, tuple) else (found,)))

        return f

    got = transform(total(vmap(function, in_axes)))
    recorded = program(transform(total(vmap(function, in_axes))))
    expected = transform(total(loop(function, in_axes)))
    for n in (4, 4, 5, 4):
        args = X[:n], (Y[:n] if in_axes[1] == 0 else B)
        assert_same(got(*args), expected(*args))
        assert_same(recorded(*args), expected(*args))


@pytest.mark.parametrize(
    "derivative",
    [
        ld.grad,
        ld.value_and_grad,
        ld.jacobian,
        ld.hessian,
        lambda f: lambda x, y: ld.jvp(f, (x, y), (y, x)),
        lambda f: ld.grad(lambda x, y: f(x, y) ** 2),
    ],
)
def test_of_derivatives(derivative):
    fast = vmap(derivative(distance))
    for scale in (1.0, 2.0, 3.0):
        assert_same(fast(X * scale, Y), loop(derivative(distance), (0, 0))(X * scale, Y))


def test_nested():
    pairs = vmap(vmap(distance, (None, 0)), (0, None))
    expected = np.sqrt(((X[:, None] - Y) ** 2).sum(axis=2))
    for _ in range(3):
        np.testing.assert_allclose(pairs(X, Y), expected, rtol=1e-13)
    assert_same(
        ld.grad(lambda X: np.sum(pairs(X, Y[:4])))(X[:5]),
        ld.grad(lambda X: np.sum(np.sqrt(np.sum((X[:, None] - Y[:4]) ** 2, axis=2))))(X[:5]),
    )


def test_python_runs_for_the_first_elements_alone():
    counted = calls(distance)
    fast = vmap(counted)
    fast(X, Y)
    before = count(counted)
    assert before < 5
    fast(X, Y)
    assert count(counted) == before


@dataclass
class Point:
    x: Any
    y: Any


def test_trees():
    def f(d, pair, *, k=2, offset):
        return {"a": d["x"] * pair[0] + offset, "b": [pair[1].x, k, None], "n": np.argmax(d["x"])}

    fast = vmap(f, in_axes=({"x": 0}, (None, Point(1, 0))), out_axes={"a": 1, "b": 0, "n": 0})
    d, pair = {"x": X}, (B, Point(X.T, Y))
    for _ in range(4):
        got = fast(d, pair, offset=Y)
        np.testing.assert_array_equal(got["a"], (X * B + Y).T)
        np.testing.assert_array_equal(got["b"][0], X)
        assert got["b"][1].tolist() == [2] * 50
        assert got["b"][2] is None
        assert got["n"].tolist() == X.argmax(axis=1).tolist()
        assert got["n"].dtype == np.intp


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64, np.bool_, np.float16])
def test_types(dtype):
    x = X.astype(dtype)
    fast = vmap(lambda x: (x[0], x[::-1], x.T, np.sum(x)))
    for _ in range(3):
        assert_same(fast(x), (x[:, 0], x[:, ::-1], x, np.stack([np.sum(row) for row in x])))


def test_results_that_differ():
    promoted = vmap(lambda x: x if x > 0 else 0)
    assert_same(promoted(X[:, 0]), np.maximum(X[:, 0], 0.0))
    with pytest.raises(ValueError, match=r"have shapes \[\(1,\), \(2,\)\]"):
        vmap(lambda x: np.ones(1) if x > 0 else np.ones(2))(X[:, 0])
    for f in (
        lambda x: x if x > 0 else (x, x),
        lambda x: {"a": x} if x > 0 else {"b": x},
        lambda x: (x, None) if x > 0 else (None, x),
    ):
        with pytest.raises((ValueError, TypeError), match=r"has|differ"):
            vmap(f)(X[:, 0])


def test_dicts_in_another_order():
    fast = vmap(lambda x: {"a": x, "b": -x} if x > 0 else {"b": -x, "a": x})
    for _ in range(4):
        got = fast(X[:, 0])
        np.testing.assert_array_equal(got["a"], X[:, 0])
        np.testing.assert_array_equal(got["b"], -X[:, 0])
        gradient = ld.grad(lambda x: np.sum(fast(x)["a"]))(X[:, 0])
        np.testing.assert_array_equal(gradient, np.ones(50))


@pytest.mark.parametrize("outside", [lambda f: f, program])
def test_results_that_are_numbers_of_pythons(outside):
    cases = (
        (lambda x: 2.0, lambda x: 0 * x),
        (lambda x: (x * x, 2.0), lambda x: 2 * x),
        (lambda x: [2.0j, x * x] if x > 0 else [1j, x], lambda x: np.where(x > 0, 2 * x, 1)),
    )
    for f, slope in cases:
        fast = vmap(f)

        @outside
        def total(x, fast=fast):
            return sum(np.sum(np.real(y)) for y in pytree.flatten(fast(x))[0])

        for _ in range(4):
            assert_same(ld.grad(total)(X[:, 0]), slope(X[:, 0]))


def test_threads_know_what_numpy_is_told():
    x = np.linspace(1.0, 2.0, 100_000)
    x[90_000] = 0.0
    fast = vmap(lambda x: 1 / x)
    for _ in range(3):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            fast(x)
        with np.errstate(all="ignore"):
            assert fast(x)[90_000] == np.inf


def test_elements_lie_in_memory_as_they_do():
    A = np.asfortranarray(np.arange(8.0).reshape(2, 2, 2))
    fast = vmap(lambda x: x.ravel(order="K"))
    for _ in range(4):
        np.testing.assert_array_equal(fast(A)[1], A[1].ravel(order="K"))


def test_what_a_mapped_function_reads_must_not_change_before_the_walk():
    scale = np.ones(3)
    fast = vmap(lambda x: x * scale)

    def f(x):
        y = fast(x)
        scale[:] += 1.0
        return np.sum(y)

    for _ in range(3):
        with pytest.raises(RuntimeError, match="has changed between its call and the walk"):
            ld.grad(f)(X)


def test_functions_without_a_program():
    """Python calls them for each element."""
    stream = iter(range(1000))
    drawn = vmap(lambda x: x + next(stream))
    assert_same(drawn(X[:, 0]), X[:, 0] + np.arange(50))
    assert_same(drawn(X[:, 0]), X[:, 0] + np.arange(50, 100))


def test_closing_over_a_variable():
    def f(a):
        return np.sum(vmap(lambda x: x @ a)(X) ** 2)

    for _ in range(3):
        assert_same(ld.grad(f)(B), 2 * X.T @ (X @ B))

    def both(a, X):
        return np.sum(vmap(lambda x: x @ a)(X) ** 2)

    for _ in range(3):
        assert_same(ld.grad(both, (0, 1))(B, X), (2 * X.T @ (X @ B), 2 * np.outer(X @ B, B)))


def test_an_error_of_an_element():
    As = np.stack([np.eye(2), -np.eye(2)])
    fast = vmap(np.linalg.cholesky)
    for _ in range(4):
        with pytest.raises(np.linalg.LinAlgError):
            fast(np.concatenate([As[:1]] * 20 + [As]))
        np.testing.assert_array_equal(fast(np.stack([np.eye(2)] * 3)), np.stack([np.eye(2)] * 3))


def test_warnings_are_numpys():
    x = np.array([1.0] * 10 + [0.0] + [2.0] * 10)
    fast = vmap(lambda x: 1 / x)
    for _ in range(4):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert_same(fast(x), np.stack([np.float64(1)] * 10 + [np.inf] + [np.float64(0.5)] * 10))
        with np.errstate(all="ignore"):
            fast(x)


def test_arguments_are_left_alone():
    x = X.copy()
    fast = vmap(lambda x: np.sum(x))
    for _ in range(4):
        fast(x)
    np.testing.assert_array_equal(x, X)


def add_one(x, y):
    x += 1.0
    return np.sum(x) * y


def write_element(x, y):
    x[0] = y[-1]
    return x * y


def write_view(x, y):
    x[::-1][:1] *= 3.0
    return x + y


def write_what_is_shared(x, y):
    y[0] += x[0]
    return np.sum(y) * x


def write_in_turn(x, y):
    if x[0] > 0:
        x[0], y[1] = y[1], x[0]
    return x - y


@pytest.mark.parametrize("f", [add_one, write_element, write_view, write_what_is_shared, write_in_turn])
@pytest.mark.parametrize("axes", [(0, 0), (1, 0), (-1, 0), (0, 1), (1, 1), (0, None), (1, None)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_elements_that_are_written_to(f, axes, order):
    def loop(x, y):
        elements = [y] * 4 if axes[1] is None else np.moveaxis(y, axes[1], 0)
        return np.stack([f(*pair) for pair in zip(np.moveaxis(x, axes[0], 0), elements, strict=True)])

    def total(g):
        return lambda x, y: np.sum(g(x * 1.0, y * 1.0) ** 2)

    random, mapped = np.random.default_rng(0), vmap(f, axes)
    fast = ld.program(ld.grad(total(lambda x, y: mapped(x, y)), argnums=(0, 1)))
    for _ in range(4):
        x, y = random.normal(size=(2, 4, 4))
        x, y = np.array(x, order=order), y[0].copy() if axes[1] is None else np.array(y, order=order)
        given, expected = (x.copy(order="K"), y.copy(order="K")), (x.copy(order="K"), y.copy(order="K"))
        np.testing.assert_array_equal(mapped(*given), loop(*expected))
        for one, other in zip(given, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        bars = ld.grad(total(loop), argnums=(0, 1))(x, y)
        for gradient in (ld.grad(total(mapped), argnums=(0, 1)), fast):
            for one, other in zip(gradient(x, y), bars, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)
        hvps = [ld.hvp(total(g), (x, y), (x[::-1], y + 1)) for g in (mapped, loop)]
        for one, other in zip(*hvps, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_elements_that_are_written_to_and_have_results_of_other_dtypes():
    def f(x):
        x += 1.0
        return x.astype(np.float32) if x[0] > 2 else x * 1.0

    x = np.arange(6.0).reshape(3, 2)
    expected = x + 1
    for _ in range(3):
        given = x.copy()
        np.testing.assert_array_equal(vmap(f)(given), expected)
        np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 63, 64, 65, 100_000])
def test_numbers_of_elements(n):
    x = np.linspace(0.1, 1.0, n)
    fast = vmap(lambda x: np.sin(x) if x > 0.5 else -x)
    for _ in range(2):
        np.testing.assert_array_equal(fast(x), [np.sin(a) if a > 0.5 else -a for a in x])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vmap(distance)(X, B), "different numbers of elements"),
        (lambda: vmap(distance)(X, 1.0), "in_axes None"),
        (lambda: vmap(distance, (0,))(X, Y), "1 entries for 2"),
        (lambda: vmap(distance, (0, 2))(X, Y), "no axis 2"),
        (lambda: vmap(distance, None)(X, Y), "all of in_axes are None"),
        (lambda: vmap(distance)(X[:0], Y[:0]), "no elements"),
        (lambda: vmap(distance, 0, None)(X, Y), "out_axes has None"),
        (lambda: vmap(distance, (0, {"a": 0}))(X, Y), "in_axes has"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(ValueError, match=message):
        call()


class Named(dict):
    """Of which a program does not know what it is besides its items."""


def test_arguments_of_unknown_classes_within_a_program():
    each = vmap(lambda d: d["x"] * d.get("y", 1.0), ({"x": 0},))
    fast = program(lambda x: each(Named(x=x)) + each({"x": x}))
    for scale in (1.0, 2.0, 3.0, 4.0):
        np.testing.assert_array_equal(fast(X * scale), 2 * X * scale)


def test_made_within_a_program():
    """Anew in every run: a program then has the steps of all elements."""

    def f(x, y):
        return vmap(lambda a, b: a * b + np.sum(a))(x, y)

    fast, gradient = program(f), program(ld.grad(lambda x, y: np.sum(f(x, y) ** 2)))
    for scale in (1.0, 2.0, 3.0, 4.0):
        assert_same(fast(X[:5] * scale, Y[:5]), f(X[:5] * scale, Y[:5]))
        expected = ld.grad(lambda x, y: np.sum(f(x, y) ** 2))(X[:5] * scale, Y[:5])
        assert_same(gradient(X[:5] * scale, Y[:5]), expected)
        assert_same(ld.grad(lambda x: np.sum(fast(x, Y[:5]) ** 2))(X[:5] * scale), expected)


def test_the_machine_runs_for_the_elements(monkeypatch):
    """And not the program, one element after the other."""
    fast = vmap(lambda x: (np.sum(x), [x * 2]))
    fast(X)
    runs = []
    monkeypatch.setattr(_Elements, "result", lambda self, i: runs.append(i) or original(self, i))
    fast(X)
    assert runs == []  # of the form that was met last
    fast(X[:-1])
    assert runs == [0]


original = _Elements.result


def test_calls_of_a_form_that_was_met_last_see_all_that_others_see(rng):
    factor = 2.0

    def f(x, y, k=1.0):
        if x[0] > 0:
            return np.sum(x * y) * k * factor, x + y
        return np.sum(x - y), x * y * k

    many = vmap(f, (0, None))
    for turn in range(60):
        x, y = rng.standard_normal((rng.choice((1, 4, 15, 16, 17, 64, 65)), 3)), rng.standard_normal(3)
        x = np.asfortranarray(x) if turn % 7 == 0 else x
        y = x[0] if turn % 5 == 0 else y
        x = x.astype(np.float32) if turn % 11 == 0 else x
        factor = 5.0 if turn > 30 else factor
        options = {} if turn % 3 else {"k": np.float64(turn) if turn % 13 == 0 else float(turn % 4)}
        for _ in range(3):
            found = many(x, y, **options)
            each = [f(element, y, **options) for element in x]
            assert_same(found, tuple(np.stack(parts) for parts in zip(*each, strict=True)))
            x = x + x.dtype.type(0.1)


def test_calls_of_a_form_that_was_met_last_warn_and_write():
    def written(x):
        x[0] = 7.0
        return np.sum(x)

    total, logarithm = vmap(written), vmap(np.log)
    for _ in range(5):
        x = np.ones((3, 2))
        assert total(x).tolist() == [8.0] * 3
        assert x[:, 0].tolist() == [7.0] * 3
        first = logarithm(np.array([1.0, 2.0]))
        logarithm(np.array([3.0, 4.0]))
        np.testing.assert_allclose(first, np.log([1.0, 2.0]))
    with pytest.warns(RuntimeWarning, match="invalid value"):
        logarithm(np.array([1.0, -1.0]))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        logarithm(np.array([1.0, -1.0]))
    itself = vmap(lambda x: x)
    for _ in range(4):
        x = np.ones((3, 2))
        itself(x)[...] = 5.0
        assert x.tolist() == np.ones((3, 2)).tolist()


def test_sparse_matrices_are_not_stacked():
    x = np.ones((3, 4))
    for jacobian in (ld.jacobian(np.diff, sparse=True), ld.tensor("f[i] = x[i]*x[i + 1]").jacobian("x")):
        with pytest.raises(TypeError, match=r"returns a csr_array: .* write \[function\(x\) for x in X\]"):
            vmap(jacobian)(x)
