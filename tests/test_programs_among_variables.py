"""Programs that are given Variables: operations of any order, in both modes."""

import tracemalloc
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance
from test_recorded_programs import calls, count

import lindiff as ld
from lindiff.core import pytree
from lindiff.programs import program, taped
from lindiff.programs.tree import Unrepeatable

RNG = np.random.default_rng(0)
A = RNG.standard_normal((3, 3))
X = RNG.standard_normal(3)
Y = RNG.standard_normal(3)


def near(tree):
    return pytree.tree_map(
        lambda x: x * (1 + 0.1 * RNG.standard_normal(np.shape(x))) if np.asarray(x).dtype.kind in "fc" else x,
        tree,
    )


def assert_same(a, b):
    (xs, _), (ys, _) = pytree.flatten(a), pytree.flatten(b)
    assert len(xs) == len(ys)
    for x, y in zip(xs, ys, strict=True):
        assert type(x) is type(y)
        if isinstance(y, (np.ndarray, np.generic)):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10)
        else:
            assert x == y


def step(m, P, y):
    S = P + np.eye(3)
    L = np.linalg.cholesky(S @ S.T)
    v = y - m
    w = np.linalg.solve(L, v)
    return m + 0.5 * w, P @ P.T / 3, np.sum(w**2) + 2 * np.sum(np.log(np.diag(L)))


def loss(one, m, P, y):
    total = 0.0
    for _ in range(3):
        m, P, part = one(m, P, y)
        total = total + part
    return total


TRANSFORMS = {
    "grad": lambda f: ld.grad(f, argnums=(0, 1)),
    "value_and_grad": ld.value_and_grad,
    "jvp": lambda f: lambda *args: ld.jvp(f, args, [np.cos(x) for x in args]),
    "jacobian": ld.jacobian,
    "jacobian forward": lambda f: ld.jacobian(f, mode="forward"),
    "hessian": ld.hessian,
    "gradient of gradient": lambda f: ld.grad(lambda *args: np.sum(ld.grad(f, 1)(*args) ** 2), 0),
    "jvp of grad": lambda f: lambda *args: ld.jvp(ld.grad(f), args, [np.cos(x) for x in args]),
    "grad of jvp": lambda f: ld.grad(lambda m, P, y: ld.jvp(lambda m: f(m, P, y), (m,), (y,))[1]),
    "linearize": lambda f: lambda *args: ld.linearize(f, *args)[1](*args),
    "third order": lambda f: ld.grad(lambda *args: np.sum(ld.hessian(f)(*args) ** 2)),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_decorated_steps(transform):
    fast = program(step)
    expected, result = (transform(lambda *args, one=one: loss(one, *args)) for one in (step, fast))
    args = X, A, Y
    for _ in range(4):
        assert_same(result(*args), expected(*args))
        args = near(args)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_the_same_recorded(transform):
    """A program whose function calls one."""
    fast = program(step)
    expected = transform(lambda *args: loss(step, *args))
    result = program(transform(lambda *args: loss(fast, *args)))
    args = X, A, Y
    for _ in range(4):
        assert_same(result(*args), expected(*args))
        args = near(args)


def test_python_does_not_run_again():
    counted = calls(lambda x: np.sum(np.sin(x) ** 2))
    gradient = ld.grad(program(counted))
    for _ in range(3):
        gradient(X)
    before = count(counted)
    assert_same(gradient(Y), ld.grad(lambda x: np.sum(np.sin(x) ** 2))(Y))
    assert count(counted) == before


def test_branches():
    def f(x):
        return x**3 if x > 1 else np.sin(x) if x > 0 else -x

    fast = program(f)
    for x in [2.0, 2.5, 0.5, 3.0, 0.7, -1.0, -2.0, 0.1, -3.0, 4.0, 0.2]:
        for order in (ld.grad, lambda f: ld.grad(ld.grad(f)), ld.value_and_grad):
            assert_same(order(fast)(x), order(f)(x))


Pair = namedtuple("Pair", "a b")


@dataclass
class Point:
    x: Any
    y: Any


TREES = {
    "named tuple": (lambda p: Pair(np.sum(p.a * p.b), p.a * 2), (Pair(X, Y),)),
    "dict": (lambda d, k=2: {"z": d["x"] * d["y"], "n": 3, "k": k, "s": "name"}, ({"x": X, "y": Y},)),
    "list": (lambda xs: [x * xs[0] for x in xs], ([X, Y],)),
    "dataclass": (lambda p: Point(p.x * p.y, [p.y]), (Point(X, Y),)),
    "integers": (lambda x, k: (x * k, k + 1, np.argmax(x), x > 0), (X, np.arange(3))),
    "number": (lambda x: x * np.float64(2.0), (np.float64(0.5),)),
    "number of Python": (lambda x: np.sin(x), (0.5,)),
    "without axes": (lambda x: np.sum(x, keepdims=True)[0], (X,)),
    "array without axes": (lambda x: (np.array(2.0) * x[...], x), (np.array(0.5),)),
    "constant": (lambda x: (np.ones(2), 1, None), (X,)),
    "complex": (lambda z: np.real(z * z), (X + 1j * Y,)),
    "to complex": (lambda x: x * 1j, (X,)),
    "float32": (lambda x: x * 2, (X.astype(np.float32),)),
    "an argument": (lambda x: x, (X,)),
    "a view": (lambda x: x[::-1], (X,)),
    "the same twice": (lambda x: (lambda y: (y, y))(x * 2), (X,)),
    "views of a result": (lambda x: (lambda y: (y, y[1:]))(x * 2), (X,)),
    "nothing": (lambda x: x[:0] * 2, (X,)),
    "float": (lambda x: (x * 2, 0.5), (X,)),
}


@pytest.mark.parametrize(("f", "args"), TREES.values(), ids=TREES)
def test_trees_and_types(f, args):
    fast = program(f)

    def pulled(f, args):
        x, *others = args
        y, pullback = ld.vjp(lambda x: f(x, *others), x)
        inexact = [z for z in pytree.flatten(y)[0] if getattr(z, "dtype", np.dtype(int)).kind in "fc"]
        return y, pullback(pytree.tree_map(lambda z: np.ones_like(z), y)) if inexact else None

    for given in (args, args, near(args), near(args)):
        try:
            expected = pulled(f, given)
        except TypeError as error:
            with pytest.raises(TypeError, match=str(error)[:20]):
                pulled(fast, given)
            continue
        assert_same(pulled(fast, given), expected)


def test_types_of_variables():
    fast = program(lambda x: (np.sum(x), x * 2))
    seen = []

    def look(x):
        total, double = fast(x)
        seen.append((type(total), total.shape, double.shape))
        total += 1  # a number: nothing else changes
        double *= 2
        return total + np.sum(double) + np.sum(fast(x)[1])

    for _ in range(4):
        assert_same(ld.grad(look)(X), ld.grad(lambda x: np.sum(x) + np.sum(x * 6))(X))
    assert set(seen) == {(ld.Variable, (), (3,))}


def test_closing_over_a_variable():
    def f(x, y):
        inner = program(lambda x: x * y)
        return np.sum(inner(x) * inner(x))

    for _ in range(4):
        assert_same(
            ld.grad(f, argnums=(0, 1))(X, Y), ld.grad(lambda x, y: np.sum((x * y) ** 2), argnums=(0, 1))(X, Y)
        )


scale = None


def test_a_global_that_is_a_variable_at_times():
    global scale
    fast = program(lambda x: np.sum(x * scale))
    scale = 2.0
    for _ in range(4):
        assert_same(ld.grad(fast)(X), np.full(3, 2.0))

    def outer(s):
        global scale
        scale = s
        return fast(X) + ld.grad(fast)(X)[0]

    for _ in range(4):
        assert_same(ld.grad(outer)(3.0), np.sum(X) + 1)


def test_a_function_that_writes_to_its_argument():
    def f(x):
        x = x.copy()
        inner(x)
        return np.sum(x**2)

    def writes(x):
        x *= 2

    inner = writes
    expected = ld.grad(f)(X)
    inner = program(writes)
    for _ in range(4):
        assert_same(ld.grad(f)(X), expected)


def test_values_that_leave_for_python():
    """What raises for the function raises for its program."""
    fast = program(lambda x: x * float(x[0]))
    for _ in range(3):
        with pytest.raises(TypeError, match="plain"):
            ld.jacobian(fast)(X)
        assert_same(fast(X), X * X[0])


def test_a_result_that_leaves_as_a_number_of_python():
    fast = program(lambda x: float(x @ x))
    for _ in range(3):
        with pytest.raises(TypeError, match="plain"):
            ld.grad(fast)(X)
        assert_same(fast(X), float(X @ X))


def test_an_exception():
    fast = program(lambda A: np.sum(np.linalg.cholesky(A)))
    good, bad = A @ A.T + np.eye(3), -np.eye(3)
    for _ in range(4):
        expected = ld.grad(lambda A: np.sum(np.linalg.cholesky(A)))(good)
        assert_same(ld.grad(fast)(good), expected)
        with pytest.raises(np.linalg.LinAlgError):
            ld.grad(fast)(bad)


def test_variables_made_by_hand():
    fast = program(lambda x: np.sum(x**2))
    for _ in range(4):
        x = ld.Variable(X)
        fast(x).backward()
        assert_same(x.grad, 2 * X)


def test_pulled_twice_and_later():
    fast = program(lambda x: (np.sin(x), np.sum(x)))
    for _ in range(4):
        (_, total), pullback = ld.vjp(fast, X)
        first = pullback((Y, np.float64(0.0)))
        second = pullback((X, np.float64(1.0)))
        assert_same(first[0], np.cos(X) * Y)
        assert_same(second[0], np.cos(X) * X + 1)
        assert_same(total, np.sum(X))


def test_arguments_changed_before_the_pullback():
    """What an operation has kept is what it was given."""
    fast = program(lambda x, c: x * c)

    def f(x):
        c = np.ones(3)
        y = fast(x, c)
        c[:] = 5.0
        return np.sum(y)

    expected = []
    for _ in range(4):
        expected.append(ld.grad(f)(X))
    for gradient in expected:
        assert_same(gradient, np.ones(3))


@pytest.mark.parametrize(
    "constant",
    [lambda _: np.eye(3), lambda _: np.float64(2.0), lambda _: np.ones(3, np.float32), np.zeros_like],
)
@pytest.mark.parametrize("alone", [False, True])
def test_results_that_depend_on_nothing(constant, alone):
    """Their derivatives are programs, too."""

    @calls
    def f(x):
        return constant(x) if alone else (np.sin(x), constant(x))

    step = program(f)

    def total(x):
        y, c = (np.sin(x), step(x)) if alone else step(x)
        return np.sum(y * c)

    for transform in (ld.grad, lambda f: lambda x: ld.jvp(f, (x,), (x,)), ld.hessian):
        expected = transform(lambda x: np.sum(np.sin(x) * constant(x)))(X)
        runs = []
        for _ in range(5):
            assert_same(transform(total)(X), expected)
            runs.append(count(f))
        assert runs[-1] == runs[-2]


def test_checkpoints():
    fast = program(step)
    for _ in range(4):
        for wrapped in (ld.checkpoint(fast), program(ld.checkpoint(step))):
            assert_same(
                ld.grad(lambda *args, one=wrapped: loss(one, *args))(X, A, Y),
                ld.grad(lambda *args: loss(step, *args))(X, A, Y),
            )


def test_inside_of_rules_and_solvers():
    square = program(lambda x, a: x**2 - a)
    root = ld.implicit(lambda a: np.sqrt(a), square)
    for a in (2.0, 3.0, 4.0, 5.0):
        assert_same(ld.grad(root)(a), 0.5 / np.sqrt(a))


def test_nan_check_sees_the_operations():
    fast = program(lambda x: np.sum(np.log(x)))
    for _ in range(4):
        with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="log"), ld.nan_check():
            ld.grad(fast)(np.array([1.0, -1.0]))
        ld.grad(fast)(np.array([1.0, 2.0]))


def test_a_view_of_an_array_that_is_written_to_later():
    """Operations keep what the view held."""

    def f(x, y):
        x = x + y
        x[1:] = x[:2] * y[1:]
        return np.sum(x * x)

    step, whole = program(f), program(ld.grad(f, 1))
    for scale in (1.0, 1.0, 2.0, 3.0, -1.0):
        args = scale * X, Y
        expected = ld.grad(f, 1)(*args)
        assert_same(whole(*args), expected)
        assert_same(ld.grad(step, 1)(*args), expected)
        assert_same(ld.hessian(step, 1)(*args), ld.hessian(f, 1)(*args))


class Decaying:
    rate = 1.0

    @program
    def step(self, x):
        return x * self.rate


def test_what_a_step_reads_must_not_change_before_the_walk():
    def f(x, change):
        model = Decaying()
        y = model.step(x)
        if change:
            model.rate = 3.0
        return np.sum(y)

    for _ in range(4):
        with pytest.raises(RuntimeError, match="has changed between its call and the walk"):
            ld.grad(f)(X, True)
        assert_same(ld.grad(f)(X, False), np.ones(3))
        assert_same(ld.jvp(lambda x: f(x, True), (X,), (Y,))[1], np.sum(Y))


def test_nested_constants_that_are_written_to_later():
    fast = program(lambda x, c: x * c["a"])

    def f(x):
        c = {"a": np.ones(3)}
        y = fast(x, c)
        c["a"][:] = 7.0
        return np.sum(y)

    for _ in range(5):
        assert_same(ld.grad(f)(X), np.ones(3))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x, x),
        lambda x: (x[::-1], x * 1),
        lambda x: (lambda y: (y, y))(x * 2),
        lambda x: (lambda y: (y, y[::-1]))(x * 2),
    ],
)
def test_results_that_share_memory_do_so_among_variables(f):
    def written(f):
        def call(x):
            x = x * 1
            a, b = f(x)
            a[0] = 5.0
            x[1] = 2.0
            return np.sum(a * b * x)

        return call

    fast = program(f)
    for _ in range(5):
        assert_same(ld.value_and_grad(written(fast))(X), ld.value_and_grad(written(f))(X))


VIEWS = {
    "slice": lambda v: v[1:],
    "turned": lambda v: v[::-1],
    "flip": np.flip,
    "reshape": lambda v: v.reshape(3, 1)[:, 0],
    "ravel": np.ravel,
    "broadcast": lambda v: np.broadcast_to(v, (2, 3))[1],
    "expanded": lambda v: np.expand_dims(v, 0)[0],
    "split": lambda v: np.split(v, [1])[1],
    "windows": lambda v: np.lib.stride_tricks.sliding_window_view(v, 2)[:, 1],
    "diagonal": lambda v: np.diag(np.outer(v, v)),
    "row": lambda v: np.outer(v, v)[1],
    "column": lambda v: np.outer(v, v).T[1],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_writes_and_views(view):
    """What is written is seen in views, and not in what operations have kept."""

    def f(x, y):
        v = y * 1
        w = view(v)
        kept = np.sin(w) * x[0]
        v += x
        v[0] = y[2] * y[1]
        return np.sum(w * np.arange(1.0, 1 + len(w))) + np.sum(kept * w) + np.prod(v)

    step = program(f)
    whole = program(ld.value_and_grad(f, (0, 1)))
    for scale in (1.0, 1.0, 2.0, 3.0, -1.0):
        args = scale * X, Y
        expected = ld.value_and_grad(f, (0, 1))(*args)
        np.testing.assert_allclose(f(*args), expected[0], rtol=1e-12)
        assert_same(whole(*args), expected)
        assert_same(ld.value_and_grad(step, (0, 1))(*args), expected)


def written_by_columns(A):
    v = A.T.copy("K")
    v[0, 1] = v[1, 0]
    return np.sum(v.ravel("K") * np.arange(v.size)) + np.sum(v.flatten("A") * np.cos(np.arange(v.size)))


def written_product_by_columns(A):
    v = A.T * 2.0
    v[0] = v[1]
    flat = v.T.reshape(-1)
    flat *= 10.0
    return np.sum(v)


def written_transposed(A):
    v = (A * 1.0).T
    v[0] += v[1]
    w = v.reshape(-1)
    v *= 10.0
    return np.sum(w * np.arange(w.size))


def written_with_gaps(A):
    v = (A * 1.0)[:, ::2]
    v[0] += 1
    w = v.ravel()
    v *= 2
    return np.sum(w * np.arange(w.size))


def written_backwards(A):
    v = (A * 1.0)[::-1, ::-1]
    v[0] *= v[1]
    w = v.reshape(-1)
    v[1] = 0.5
    return np.sum(w * np.arange(w.size)) + np.sum(v.ravel("K") * np.arange(v.size))


def written_argument(A):
    A[0] += A[1]
    w = A.ravel()
    A *= 3.0
    return np.sum(w * np.arange(w.size))


def accumulated_at_once(A):
    v = np.add.reduceat(np.stack([A.T, 2 * A.T]).transpose(1, 2, 0), [0, 2], axis=0)
    return np.sum(v.ravel("K") * np.arange(v.size))


WRITTEN_LAYOUTS = [
    *(written_by_columns, written_product_by_columns, written_transposed, written_with_gaps),
    *(written_backwards, written_argument, accumulated_at_once),
]


@pytest.mark.parametrize("lies", ["rows", "columns", "gaps"])
@pytest.mark.parametrize("f", WRITTEN_LAYOUTS, ids=[f.__name__ for f in WRITTEN_LAYOUTS])
def test_layouts_survive_writes(f, lies):
    """What is a view and what a copy, and the order of elements, are NumPy's after writing, too."""
    numbers = RNG.standard_normal((4, 3))
    lay = {
        "rows": np.ascontiguousarray,
        "columns": np.asfortranarray,
        "gaps": lambda numbers: np.repeat(numbers, 2, axis=1)[:, ::2],
    }[lies]
    given, moved = lay(numbers), np.cos(numbers)
    of_jvp = lambda x, x_dot: ld.jvp(f, (x,), (x_dot,))
    whole, forward, step = program(ld.value_and_grad(f)), program(of_jvp), program(f)
    nested = lambda f: ld.hessian(lambda x: f(x) ** 2)
    expected = ld.value_and_grad(f)(given)
    np.testing.assert_allclose(f(lay(numbers.copy())), expected[0], rtol=1e-12)
    for _ in range(4):
        assert_same(whole(given), expected)
        assert_same(ld.value_and_grad(step)(given), expected)
        assert_same(forward(given, moved), of_jvp(given, moved))
    assert_same(program(nested(f))(given), nested(f)(given))


def test_views_that_cannot_be_written_to():
    def f(view):
        def written(x):
            v = view(x)
            v *= 2
            return np.sum(v)

        return written

    windows = np.lib.stride_tricks.sliding_window_view
    for view in (lambda x: np.broadcast_to(x, (2, 3)), lambda x: windows(x, 2), lambda x: np.diagonal(A * x)):
        whole, step = program(ld.value_and_grad(f(view))), program(f(view))
        for _ in range(3):
            for derivative in (whole, ld.value_and_grad(f(view)), ld.value_and_grad(step)):
                with pytest.raises(ValueError, match="read-only"):
                    derivative(X)


def given_up(x):
    """End a recording."""
    distance.cdist(x, x)


def writes_a_row(A, x):
    given_up(x)
    row = A[1]
    row *= 10.0
    return np.sum(A * np.cos(A))


def writes_to_an_array_of_which_views_are_kept(A, x):
    v = A * 2.0
    given_up(x)
    part = np.sin(v.T) * v.T
    v[0] = v[1]
    flat = v.reshape(-1)
    flat[2:] *= part.ravel()[2:]
    return np.sum(v) + np.sum(part)


def writes_between(A, x):
    v = A * 2.0
    row = v[0]
    given_up(x)
    v[:, 1] *= 3.0
    row -= v[1]
    column = v[:, 0]
    column[...] = row
    return np.sum(v**2) + np.sum(row)


@pytest.mark.parametrize("f", [writes_a_row, writes_to_an_array_of_which_views_are_kept, writes_between])
def test_views_after_a_recording_has_ended(f):
    args = A, np.outer(X, Y)
    square = lambda f: ld.hessian(lambda *args: f(*args) ** 2)
    pushed = lambda f: lambda A, x: ld.jvp(lambda A: f(A, x), (A,), (x,))
    for transform in (ld.value_and_grad, square, pushed):
        expected, whole = transform(f)(*args), program(transform(f))
        for _ in range(3):
            assert_same(whole(*args), expected)
            assert_same(transform(program(f))(*args), expected)


# -- arrays that are constants of the inner derivative and Variables of an outer one ------------------------


def writes_into_the_other(x, y):
    v = y * 1.0
    v[0] = x[0] * y[1]
    v[1:] += x[:2] ** 2
    return np.sin(v) * x


def makes_of_both(x, y):
    v = np.zeros_like(y)
    v[1] = y[0]
    v[0] = x[2]
    return np.stack([v[0], y[1], v[1]]) * y


def writes_both_ways(x, y):
    v, w = x * 1.0, y * 1.0
    v[0], w[1] = y[0] ** 2, x[1] * y[1]
    return v * w


def total(s, n=2):
    def f(x, y):
        for _ in range(n):
            x = s(x, y)
        return np.sum(x)

    return f


NESTED = {
    "jvp of grad": lambda f, x, y: ld.jvp(ld.grad(f), (x, y), (y, x)),
    "jvp of grad by the second": lambda f, x, y: ld.jvp(lambda x: ld.grad(f, argnums=1)(x, y), (x,), (y,)),
    "grad of grad": lambda f, x, y: ld.grad(lambda y: np.sum(ld.grad(f)(x, y) ** 2))(y),
    "grad of jvp": lambda f, x, y: ld.grad(lambda y: ld.jvp(lambda x: f(x, y), (x,), (y,))[1])(y),
    "jvp of vjp": lambda f, x, y: ld.jvp(
        lambda y: ld.vjp(lambda x: f(x, y), x)[1](1.0)[0], (y,), (np.ones_like(y),)
    ),
    "jvp of jvp": lambda f, x, y: ld.jvp(
        lambda y: ld.jvp(lambda x: f(x, y), (x,), (np.ones_like(y),))[1], (y,), (x,)
    ),
    "jacobian of grad": lambda f, x, y: ld.jacobian(lambda y: ld.grad(f)(x, y))(y),
    "hessian": lambda f, x, y: ld.hessian(f, argnums=(0, 1))(x, y),
    "grad of hessian": lambda f, x, y: ld.grad(lambda y: np.sum(ld.hessian(f)(x, y) ** 2))(y),
    "three": lambda f, x, y: ld.grad(
        lambda z: np.sum(ld.grad(lambda y: np.sum(ld.grad(f)(x * z, y) ** 2))(y))
    )(y + 1),
    "in a loop": lambda f, x, y: ld.grad(
        lambda y: sum(np.sum(ld.jacobian(f)(x + k, y) * y) for k in range(3))
    )(y),
}


@pytest.mark.parametrize("nested", NESTED)
@pytest.mark.parametrize("raw", [writes_into_the_other, makes_of_both, writes_both_ways])
def test_nested_derivatives_of_steps_that_write(nested, raw):
    step, transform = program(raw), NESTED[nested]
    for k in range(5):
        x, y = X + k / 50, Y - k / 50
        assert_same(transform(total(step), x, y), transform(total(raw), x, y))


@pytest.mark.parametrize("nested", NESTED)
def test_nested_derivatives_of_vmap_of_functions_that_write(nested):
    mapped = ld.vmap(writes_both_ways)
    rows = lambda x, y: np.stack([writes_both_ways(a, b) for a, b in zip(x, y, strict=True)])
    x, y = np.stack([X, Y]), np.stack([Y, X - 1])
    for k in range(3):
        given = x + k / 50, y - k / 50
        assert_same(NESTED[nested](total(mapped), *given), NESTED[nested](total(rows), *given))


def test_arguments_that_results_do_not_depend_on():
    """On a tape they have no gradient; that of a transform is zero."""

    def raw(a, b, c):
        return np.sum(b * c if a[0] > 0 else b + 1)

    def tape(f, sign):
        a, b, c = (ld.Variable(x) for x in (sign * np.ones(3), X, Y))
        (f(a, b, c) * 3).backward()
        return [x.grad for x in (a, b, c)]

    step = program(raw)
    for sign in (1, -1, 1, -1, 1, -1, 1):
        found, expected = tape(step, sign), tape(raw, sign)
        assert [x is None for x in found] == [x is None for x in expected]
        assert_same(found, expected)
        a = sign * np.ones(3)
        assert_same(ld.grad(step, argnums=(0, 1, 2))(a, X, Y), ld.grad(raw, argnums=(0, 1, 2))(a, X, Y))


def test_elements_of_which_only_some_depend_on_an_argument():
    def raw(a, b, c):
        return a * 2 + (c if a[0] > 0 else b * b)

    def total(f):
        return lambda a, b, c: np.sum(f(a, b, c) ** 2)

    rows = lambda a, b, c: np.stack([raw(p, q, c) for p, q in zip(a, b, strict=True)])
    a = RNG.standard_normal((6, 3))
    mapped = ld.vmap(raw, (0, 0, None))
    for k in range(4):
        for transform in (ld.grad, ld.hessian):
            found = transform(total(mapped), argnums=(0, 1, 2))(a + k / 50, a, X)
            assert_same(found, transform(total(rows), argnums=(0, 1, 2))(a + k / 50, a, X))


@pytest.mark.parametrize("of", ["array", "Variable"])
def test_checkpoints_around_steps_that_hold_transforms(of):
    """The first calls of a step do operations that later ones, of its program, do not."""

    def raw(x):
        return ld.grad(lambda z: np.sum(np.sin(z) ** 2))(x)

    def of_checkpoint(x):
        return ld.checkpoint(lambda z: np.sin(z) * x)(x)

    def path(f):
        if of == "array":
            return lambda x: np.sum(ld.checkpoint(lambda x: f(X) * f(f(Y)) * x)(x))
        return lambda x: np.sum(ld.checkpoint(lambda x: f(f(x)))(x))

    for function in (raw, of_checkpoint):
        step = program(function)
        for _ in range(4):
            assert_same(ld.grad(path(step))(X), ld.grad(path(function))(X))


def test_a_step_that_changes_what_it_reads_runs_once():
    turns = {"now": 0}

    def step(x):
        turns["now"] += 1
        return x**2 * turns["now"]

    fast = program(step)
    for k in range(6):
        value, gradient = ld.value_and_grad(lambda x: np.sum(fast(x)))(np.ones(2))
        assert_same(gradient, np.full(2, value))
        assert turns["now"] == k + 1


class Momentum:
    def __init__(self):
        self.weights = np.ones(3)
        self.seen = []
        self.last = None

    def step(self, x):
        self.weights = self.weights * 0.5
        self.seen.append(len(self.seen))
        return np.sum(x**3 * self.weights)

    def keeping(self, x):
        before = 0.0 if self.last is None else self.last
        self.last = np.array(ld.value(x)) * 2
        return np.sum(x**3 * before)


@pytest.mark.parametrize("name", ["step", "keeping"])
@pytest.mark.parametrize(
    "transform",
    [
        *(ld.value_and_grad, ld.hessian, lambda f: lambda x: ld.jvp(f, (x,), (x,))),
        lambda f: ld.grad(lambda x: np.sum(ld.grad(f)(x) ** 2)),
    ],
)
def test_a_state_moves_on_once_in_each_call(name, transform):
    plain, of_program = Momentum(), Momentum()
    fast = program(getattr(of_program, name))
    for k in range(5):
        expected = transform(lambda x: getattr(plain, name)(x))(X + k)
        assert_same(transform(lambda x: fast(x))(X + k), expected)
        assert len(of_program.seen) == len(plain.seen)


@pytest.mark.filterwarnings("ignore:.*goes another way nearly every time")
@pytest.mark.parametrize("name", ["step", "keeping"])
def test_a_state_moves_on_once_in_each_call_for_an_element(name):
    plain, of_vmap = Momentum(), Momentum()
    rows = lambda xs: np.sum(np.stack([getattr(plain, name)(x) for x in xs]))
    mapped = ld.vmap(getattr(of_vmap, name))
    for k in range(5):
        xs = np.stack([X + k, Y, X - Y])
        assert_same(ld.value_and_grad(lambda xs: np.sum(mapped(xs)))(xs), ld.value_and_grad(rows)(xs))
        assert len(of_vmap.seen) == len(plain.seen)


def test_random_numbers_in_a_step():
    rng = np.random.default_rng(0)
    fast = program(lambda x: x * rng.normal(size=2))
    with pytest.raises(Unrepeatable, match="random numbers"):
        ld.grad(lambda x: np.sum(fast(x)))(np.ones(2))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.abs(np.sum(np.exp(x * (1 + 0.5j)))) ** 2,
        lambda x: np.abs(np.mean(np.exp(x * (1 + 0.5j))[::-1] * (2 - 1j))) ** 2,
        lambda x: np.sum(np.abs(np.exp(np.outer(x, x * (1 + 0.5j))).T[::2] * (1 + 2j) * x) ** 2),
    ],
)
def test_complex_cotangents_in_any_layout(function):
    whole, step = program(ld.value_and_grad(function)), program(function)
    for k in range(6):
        expected = ld.value_and_grad(function)(X + 0.1 * k)
        assert_same(whole(X + 0.1 * k), expected)
        assert_same(ld.value_and_grad(step)(X + 0.1 * k), expected)


# -- in two halves -----------------------------------------------------------------------------------------


HALVED = {
    "an output that the way back needs": lambda x, a: (np.exp(x), np.sum(np.exp(x) * a)),
    "elements": lambda x, a: (x[1:] * a[0], np.sum(x[:2] ** 2)),
    "solve": lambda x, a: np.linalg.solve(np.eye(len(x)) + np.outer(a, a), x * x),
    "by Python in the first half": lambda x, a: np.cumsum(np.sort(x) * a),
    "a branch": lambda x, a: x * a if np.sum(x) > 0 else np.sin(x),
    "an output that is an argument": lambda x, a: (x, x * a),
    "linear": lambda x, a: (x + a, 2 * x),
    "no cotangent needed": lambda x, a: (a * 1.0, np.tanh(x)),
}


@pytest.mark.parametrize("n", [4, 9000])  # large results have memory of their own
@pytest.mark.parametrize("name", HALVED)
def test_halves(name, n):
    """The call does the first half, the way back the second one, as often as it is gone."""
    if n > 4 and name == "solve":
        n = 40
    function, rng = HALVED[name], np.random.default_rng(0)
    fast = program(function)
    for k in range(7):
        x, a = rng.standard_normal(n), rng.standard_normal(n)
        value, pullback = ld.vjp(fast, x, a)
        expected, expected_pullback = ld.vjp(function, x, a)
        assert_same(value, expected)
        for scale in (1.0, -2.0, 1.0):
            y_bar = ld.tree_map(lambda y, scale=scale: scale * np.cos(y), expected)
            assert_same(pullback(y_bar), expected_pullback(y_bar))
        other = ld.vjp(fast, x + k, a)  # works on memory of its own
        y_bar = ld.tree_map(np.ones_like, expected)
        assert_same(pullback(y_bar), expected_pullback(y_bar))
        assert_same(other[1](y_bar), ld.vjp(function, x + k, a)[1](y_bar))


def test_which_programs_have_halves(monkeypatch):
    made = {}

    def halves(*args):
        made[name] = calling_halves(*args)
        return made[name]

    calling_halves = taped.halves
    monkeypatch.setattr(taped, "halves", halves)
    for name, function in HALVED.items():  # noqa: B007, `halves` reads it
        fast = program(function)
        for k in range(5):
            y, pullback = ld.vjp(fast, X + k, np.cos(X))
            pullback(ld.tree_map(np.ones_like, y))
    without = {"a branch", "an output that is an argument"}
    assert {name for name in HALVED if made.get(name) is None} == without


def test_what_becomes_of_results_between_the_halves():
    def loss(one, x, a):
        y, total = one(x, a)
        y[0] = total * y[1]
        y *= 2.0
        return np.sum(y * y) + total

    function = HALVED["an output that the way back needs"]
    fast = program(function)
    for k in range(6):
        args = X + 0.1 * k, np.cos(X) + k
        expected = ld.value_and_grad(lambda *args: loss(function, *args), argnums=(0, 1))(*args)
        assert_same(ld.value_and_grad(lambda *args: loss(fast, *args), argnums=(0, 1))(*args), expected)


def test_constants_that_change_between_the_halves():
    """The array of a loop that is filled again in each step."""

    def loss(one, x):
        buffer = np.zeros_like(X)
        total = 0.0
        for k in range(5):
            buffer[:] = np.arange(len(X)) + k
            x = one(x, buffer)
            total = total + np.sum(x)
        return total

    def step(x, a):
        return np.sin(x * a) * a + x

    fast = program(step)
    for _ in range(5):
        assert_same(
            ld.value_and_grad(lambda x: loss(fast, x))(X), ld.value_and_grad(lambda x: loss(step, x))(X)
        )


@pytest.mark.parametrize(
    "laid", [lambda a: np.repeat(a, 2)[::2], lambda a: a[::-1], lambda a: a.reshape(2, 2).T]
)
def test_constants_of_any_layout_between_the_halves(laid):
    """Operations keep copies of them, which lie in memory in another way."""

    def step(x, a):
        return x * np.sum(a * np.arange(a.size).reshape(a.shape))

    def loss(step, x, a):
        for k in range(3):
            x = step(x, laid(a + k))
        return np.sum(x)

    fast = program(step)
    for k in range(5):
        a = np.arange(4.0) + k
        expected = ld.value_and_grad(lambda x: loss(step, x, a))(X)  # noqa: B023, called at once
        assert_same(ld.value_and_grad(lambda x: loss(fast, x, a))(X), expected)  # noqa: B023


def test_halves_in_threads():
    def step(x, a):
        return np.tanh(np.sort(x) * a) @ np.outer(a, a)

    fast = program(step)
    a = np.cos(X)
    for _ in range(5):
        ld.vjp(fast, X, a)[1](X)
    pullbacks = [ld.vjp(fast, X * k, a)[1] for k in range(1, 5)]
    expected = [ld.vjp(step, X * k, a)[1](X) for k in range(1, 5)]

    def pulled(i):
        return [pullbacks[i % 4](X) for _ in range(50)]

    with ThreadPoolExecutor(8) as pool:
        for i, results in enumerate(pool.map(pulled, range(16))):
            for result in results:
                assert_same(result, expected[i % 4])


def test_memory_of_halves_is_given_back():
    def step(x, a):
        return np.tanh(x * a) + x

    fast = program(step)

    def loss(x):
        for _ in range(50):
            x = fast(x, X)
        return np.sum(x)

    gradient = ld.grad(loss)
    for _ in range(5):
        gradient(X)
    tracemalloc.start()
    try:
        gradient(X)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            gradient(X)
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()


def test_what_is_read_changes_and_changes_back(monkeypatch):
    """Steps in two halves are those of the program that made them, whatever has been recorded since."""

    def base(y):
        return np.sin(y) * FACTOR

    def path(y, step, n):
        for _ in range(n):
            y = step(y)
        return np.sum(y)

    step = ld.program(base)
    x = np.array([0.5, 0.2, 0.3])
    for factor, n in ((1.0, 3), (2.0, 3), (1.0, 1)):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        np.testing.assert_allclose(ld.grad(path)(x, step, n), ld.grad(path)(x, base, n), rtol=1e-14)
    pullback = ld.vjp(lambda x: path(x, step, 1), x)[1]
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    with pytest.raises(RuntimeError, match="has changed between its call and the walk"):
        ld.grad(lambda c: np.sum(pullback(c)[0] ** 2))(1.0)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_other_ways_over_calls_in_two_halves(transform):
    """Forward, many directions, higher orders: of a program that has its halves."""
    fast = program(step)
    args = X, A, Y
    for k in range(6):
        ld.grad(lambda *args: loss(fast, *args), argnums=(0, 1))(X + k, A, Y)
    for _ in range(2):
        assert_same(
            transform(lambda *args: loss(fast, *args))(*args),
            transform(lambda *args: loss(step, *args))(*args),
        )


def test_halves_of_numbers_and_other_arguments():
    def one(x, scale, how, constant, number):
        y = np.sin(x * scale) if how == "sin" else np.cos(x * scale)
        return y * constant, np.sum(y) * number

    def total(one, x, scale, number):
        whole = 0.0
        for k in range(4):
            x, part = one(x, scale, "sin" if k % 2 else "cos", Y + k, number)
            whole, scale = whole + part * scale, part
        return whole * np.sum(x)

    fast = program(one)
    for k in range(7):
        args = X + k, np.float64(1.5 + k), np.float64(2.0)
        expected = ld.value_and_grad(lambda *args: total(one, *args), argnums=(0, 1, 2))(*args)
        assert_same(ld.value_and_grad(lambda *args: total(fast, *args), argnums=(0, 1, 2))(*args), expected)


@pytest.mark.parametrize("scale", [lambda y: y, lambda y: y.T.copy().T, lambda y: y[::-1], lambda y: y * 1j])
def test_cotangents_of_any_layout_for_halves(scale):
    def one(x, a):
        return np.sin(x @ a) * a

    fast = program(one)
    for k in range(6):
        y, pullback = ld.vjp(fast, A + k, A)
        _, expected = ld.vjp(one, A + k, A)
        y_bar = scale(np.cos(y))
        if y_bar.dtype == y.dtype:
            assert_same(pullback(y_bar), expected(y_bar))
        assert_same(pullback(np.cos(y)), expected(np.cos(y)))


def test_one_variable_twice_and_outputs_that_nothing_depends_on():
    def one(x, a, b):
        return x * a, a * b, np.sum(b)

    def total(one, x, a):
        for _ in range(3):
            x, _y, _ = one(x, a, a * 2)
            x, _, part = one(x, a, x)
        return np.sum(x * part)

    fast = program(one)
    for k in range(6):
        expected = ld.grad(lambda *args: total(one, *args), argnums=(0, 1))(X + k, Y)
        assert_same(ld.grad(lambda *args: total(fast, *args), argnums=(0, 1))(X + k, Y), expected)


@pytest.mark.parametrize("steps", [4095, 4096, 4097, 5000])
def test_more_calls_than_memory_is_kept_for(steps):
    def one(x, a):
        return np.tanh(x * a) + x

    def total(one, x, a, steps):
        for _ in range(steps):
            x = one(x, a)
        return np.sum(x)

    fast = program(one)
    for _ in range(5):
        ld.grad(lambda x: total(fast, x, Y / steps, 3))(X)
    for _ in range(2):
        found = ld.grad(lambda *args: total(fast, *args, steps), argnums=(0, 1))(X, Y / steps)
    assert_same(found, ld.grad(lambda *args: total(one, *args, steps), argnums=(0, 1))(X, Y / steps))


def scaled(x):
    x *= np.sin(x)


def with_a_part_written(x):
    x[:1] = x[1:2] * np.cos(x[:1])


def written_by_a_view(x):
    first = x[:2]
    first *= x[1:]


def where_it_is_positive(x):
    if x[0] > 0:
        x *= x[::-1]
    else:
        x += x**2


WRITERS = [scaled, with_a_part_written, written_by_a_view, where_it_is_positive]


@pytest.mark.parametrize("write", WRITERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("by", ["hessian", "grad of grad", "jvp of grad", "grad of jvp", "jvp of jvp", "hvp"])
def test_what_writes_to_its_arguments_in_nested_derivatives(write, by):
    def total(step, x):
        x = x * 1.0
        step(x)
        return np.sum(x**3)

    nested = {
        "hessian": lambda f, x: ld.hessian(f)(x),
        "grad of grad": lambda f, x: ld.grad(lambda x: ld.grad(f)(x) @ Y)(x),
        "jvp of grad": lambda f, x: ld.jvp(ld.grad(f), (x,), (Y,))[1],
        "grad of jvp": lambda f, x: ld.grad(lambda x: ld.jvp(f, (x,), (Y,))[1])(x),
        "jvp of jvp": lambda f, x: ld.jvp(lambda x: ld.jvp(f, (x,), (Y,))[1], (x,), (Y,))[1],
        "hvp": lambda f, x: ld.hvp(f, (x,), (Y,)),
    }[by]
    fast = program(write)
    for x in (X, -X, X + 1.0, 1.0 - X):
        expected = nested(lambda x: total(write, x), x)
        assert_same(nested(lambda x: total(fast, x), x), expected)


FACTOR = 1.0


@pytest.mark.parametrize(
    "layout", [lambda x: x, lambda x: np.repeat(x, 2)[::2], lambda x: x[::-1].copy()[::-1]]
)
def test_a_function_that_keeps_a_state_runs_once_for_arguments_of_any_layout(layout):
    """And writes to its argument, or has a derivative of its own inside."""
    calls = [0]

    def step(x):
        calls[0] += 1
        x[0] = x[0] * calls[0]
        return np.sum(x)

    program = ld.program(step)
    x = layout(np.array([1.0, 2.0, 3.0]))
    for k in range(1, 6):
        value, _ = ld.value_and_grad(program)(x)
        assert value == k + 5
    assert calls[0] == 5


def root_by_brentq(v):
    return ld.scipy.optimize.brentq(lambda z: z * np.exp(z) - v, 0.0, 5.0, xtol=1e-14)


def root_by_newton(v):
    return ld.scipy.optimize.newton(lambda z: z * np.exp(z) - v, 1.0, tol=1e-13)


def root_of_system(v):
    return ld.scipy.optimize.root(lambda z: z * np.exp(z) - v, [1.0], tol=1e-13).x[0]


def root_of_squares(v):
    return ld.scipy.optimize.least_squares(lambda z: z * np.exp(z) - v, [1.0], xtol=1e-14).x[0]


def least(v):
    objective = lambda z: np.sum(np.exp(z) * (z - 1) - v * z)
    return ld.scipy.optimize.minimize(objective, np.ones(1), method="BFGS", tol=1e-9).x[0]


def when_it_is_met(v):
    event = lambda t, y: y[0] * np.exp(y[0]) - v
    fall = ld.scipy.integrate.solve_ivp(lambda t, y: [1.0], (0.0, 5.0), [0.0], events=event, rtol=1e-9)
    return fall.t_events[0][0]


@ld.implicit(residual=lambda z, v: z * np.exp(z) - v)
def by_its_equation(v):
    z = np.log(1 + v)
    for _ in range(9):
        z = z - (z - v * np.exp(-z)) / (1 + z)
    return z


SEARCHES = [
    root_by_brentq,
    root_by_newton,
    root_of_system,
    root_of_squares,
    least,
    when_it_is_met,
    by_its_equation,
]


@pytest.mark.filterwarnings("ignore:.*goes another way nearly every time:UserWarning")
@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("first", ["value", "gradient"])
def test_searches_are_the_same_in_a_transform_and_outside(search, first):
    fast = program(search)
    for k, v in enumerate(np.linspace(1.0, 1.5, 6)):
        order = [fast, ld.grad(fast)] if (k % 2 == 0) == (first == "value") else [ld.grad(fast), fast]
        for f in order:
            z = search(v)
            expected = z if f is fast else z / (v * (1 + z))
            np.testing.assert_allclose(f(v), expected, rtol=1e-5)


def test_searches_for_many():
    fast = program(root_by_brentq)
    vs = np.linspace(1.0, 1.5, 5)
    fast(vs[0])
    zs = ld.vmap(fast)(vs)
    slopes = ld.grad(lambda vs: np.sum(ld.vmap(fast)(vs)))(vs)
    np.testing.assert_allclose(slopes, zs / (vs * (1 + zs)), rtol=1e-9)


def test_searches_are_the_same_beside_variables_made_by_hand():
    fast = program(root_by_brentq)
    z = root_by_brentq(1.0)
    for _ in range(2):
        assert fast(np.float64(1.0)) == z
        held = ld.Variable(np.ones(2))
        assert fast(np.float64(1.0)) == z
        np.testing.assert_allclose(ld.grad(fast)(np.float64(1.0)), z / (1 + z), rtol=1e-9)
        del held


def test_searches_with_variables_made_by_hand():
    w = ld.Variable(np.float64(2.0))
    fast = program(lambda v: root_by_brentq(v * w))
    for _ in range(4):
        w.grad = None
        z = fast(np.float64(0.5))
        z.backward()
        np.testing.assert_allclose(w.grad, 0.5 * ld.value(z) / (1 + ld.value(z)), rtol=1e-9)
