"""Derivatives are those of the numbers at the time of the call, whatever constants become afterwards."""

import importlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from table import _is_differentiated

import lindiff as ld
from lindiff.core import pytree
from lindiff.core.constants import copy_up_to

FAMILIES = [importlib.import_module(path.stem) for path in sorted(Path(__file__).parent.glob("table_*.py"))]
OPERATORS = [operator for family in FAMILIES for operator in family.OPERATORS if not operator.constant]


# -- every function --------------------------------------------------------------------------------------


class Buffered:
    """A case as a function of its i-th array, with arrays and lists of its own for everything else."""

    def __init__(self, case, i):
        self.case = case
        self.i = i
        self.arrays = iter(enumerate(case.arrays()))
        self.buffers = []
        self.args, self.kwargs = self.own((case.sample.args, case.sample.kwargs))

    def own(self, tree):
        if _is_differentiated(tree):
            k, array = next(self.arrays)
            if k == self.i:
                self.x = array
                return self
            tree = array
        if isinstance(tree, np.ndarray):
            self.buffers.append(tree.copy())
            return self.buffers[-1]
        if type(tree) is list:
            items = [self.own(item) for item in tree]
            self.buffers.append(items)
            return items
        if type(tree) is tuple:
            return tuple([self.own(item) for item in tree])
        return {key: self.own(item) for key, item in tree.items()} if type(tree) is dict else tree

    def put(self, tree, x):
        """``x`` in its place, in the same lists."""
        if tree is self:
            return x
        if type(tree) is list:
            tree[:] = [self.put(item, x) for item in tree]
            return tree
        if type(tree) is tuple:
            return tuple([self.put(item, x) for item in tree])
        return {key: self.put(item, x) for key, item in tree.items()} if type(tree) is dict else tree

    def __call__(self, x):
        args, kwargs = self.put(self.args, x), self.put(self.kwargs, x)
        operator = self.case.operator
        return (operator.call or operator.function)(*args, **kwargs)

    def overwrite(self, with_nan):
        for buffer in self.buffers:
            if type(buffer) is list:
                buffer.clear()
            elif buffer.dtype == bool:
                buffer[...] = ~buffer
            elif buffer.dtype.kind in "iu":
                buffer[...] = 0 if with_nan else buffer // 2 + 1
            elif buffer.dtype.kind in "fc":
                buffer[...] = np.nan if with_nan else 3 - 0.7 * buffer


def directions(tree, rng):
    """A random tangent or cotangent for what a function returned."""

    def direction(leaf):
        dtype = np.asarray(leaf).dtype
        return rng.standard_normal(np.shape(leaf)).astype(dtype) if dtype.kind in "fc" else leaf

    leaves, restore = pytree.flatten(tree)
    return restore([direction(leaf) for leaf in leaves])


def both_ways(case, i, overwritten=None):
    """What the linear map of a case does to a cotangent and to a tangent, the latter twice, with constants
    ``overwritten`` (with NaN: True) after the call."""
    function, rng = Buffered(case, i), np.random.default_rng(1)
    y, derivative = ld.linearize(function, function.x)
    y_bar, x_dot = directions(y, rng), directions(function.x, rng)
    if overwritten is not None:
        function.overwrite(overwritten)
    return derivative.T(y_bar), derivative(x_dot), derivative.T(y_bar)


def assert_equal(got, expected):
    for a, b in zip(pytree.flatten(got)[0], pytree.flatten(expected)[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@contextmanager
def all_constants_large():
    before = copy_up_to(-1)
    try:
        yield
    finally:
        copy_up_to(before)


def unless_written_to(call):
    """What ``call`` returns; None where it raises because a constant has been written to."""
    try:
        return call()
    except RuntimeError as error:
        if "has been written to" not in str(error):
            raise
        return None


def assert_right_or_raises(case, i, with_nan, expected):
    got = unless_written_to(lambda: both_ways(case, i, with_nan))
    if got is not None:
        assert_equal(got, expected)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
@pytest.mark.filterwarnings("ignore")
def test_constants_may_be_written_to_afterwards(operator):
    """Small ones; large ones raise where it would be wrong, and only if they are written to."""
    for case in operator.cases():
        for i in range(len(case.arrays())):
            try:
                expected = both_ways(case, i)
            except TypeError:  # NumPy does not bring this argument alone to us, or it has no derivative
                continue
            for with_nan in (True, False):
                assert_equal(both_ways(case, i, with_nan), expected)
            with all_constants_large():
                assert_equal(both_ways(case, i), expected)
                for with_nan in (True, False):
                    assert_right_or_raises(case, i, with_nan, expected)


# -- buffers that are filled again -----------------------------------------------------------------------

N = 5000


def refilled(step, shape=N):
    """A loop that fills one buffer again and again; by ``step`` it goes into an operation."""

    def total(v):
        s, buffer = 0.0, np.empty(shape)
        for k in range(3):
            buffer[:] = k + 1
            s = s + step(v, buffer)
        return s

    return total


MASK = np.arange(N) % 2 == 0

STEPS = {
    "multiply": lambda v, b: np.sum(v * b),
    "matmul": lambda v, b: v @ b,
    "divide": lambda v, b: np.sum(b / v),
    "arctan2": lambda v, b: np.sum(np.arctan2(b, v)),
    "einsum": lambda v, b: np.sum(np.einsum("i,i->i", v, b)),
    "average": lambda v, b: np.average(v, weights=b),
    "getitem": lambda v, b: np.sum(v[b.astype(int)]),
    "interp": lambda v, b: np.sum(np.interp(v[:3], np.arange(float(N)), b)),
}


NOT_NEEDED = {"divide", "getitem"}  # the quotient is kept; the index is a new array each time


@pytest.mark.parametrize("name", STEPS)
def test_a_large_buffer_that_is_filled_again_is_never_a_wrong_gradient(name):
    step = STEPS[name]
    v = np.linspace(1.0, 2.0, N)
    expected = ld.grad(refilled(lambda v, b: step(v, b.copy())))(v)
    got = unless_written_to(lambda: ld.grad(refilled(step))(v))
    assert (got is None) == (name not in NOT_NEEDED)
    if got is not None:
        np.testing.assert_array_equal(got, expected)


def test_the_error_names_the_operation_and_the_users_line():
    def total(v):
        b = np.ones(N)
        y = np.sum(b * v)  # the line
        b[:] = 2
        return y

    with pytest.raises(RuntimeError, match=r"multiply \(File .*test_constants.py.*b \* v\)  # the line"):
        ld.grad(total)(np.ones(N))

    def average(v):
        w = np.ones(N)
        y = np.average(v, weights=w)
        w[:] = np.arange(N)
        return y

    with pytest.raises(RuntimeError, match=r"test_constants.py.*np\.average\(v, weights=w\)"):
        ld.grad(average)(np.ones(N))


def changed_after(transform):
    """What ``transform(f, v)`` returns runs after a constant of ``f`` has changed."""
    b = np.ones(N)
    walk = transform(lambda v: b * v * v, np.full(N, 2.0))
    walk()
    b[:] = 3
    with pytest.raises(RuntimeError, match="has been written to"):
        walk()


def test_every_walk_looks_at_the_constants():
    def pull(f, v):
        y, pullback = ld.vjp(f, v)
        return lambda: pullback(y)

    def push(f, v):
        _, derivative = ld.linearize(f, v)
        return lambda: derivative(v)

    def transposed(f, v):
        y, derivative = ld.linearize(f, v)
        return lambda: derivative.T(y)

    for transform in (pull, push, transposed):
        changed_after(transform)


def test_arguments_of_a_checkpointed_function_are_looked_at():
    def total(v):
        b = np.ones(N)
        y = ld.checkpoint(lambda v, b: np.sum(np.sin(v) * b))(v, b)
        b[:] = 2
        return y

    with pytest.raises(RuntimeError, match="has been written to"):
        ld.grad(total)(np.ones(N))


def test_many_directions_and_higher_orders_look_at_the_constants():
    def f(v, after):
        b = np.full((3, N), 2.0)
        y = b @ (v * v)
        if after:
            b[:] = 1
        return y

    v = np.ones(N)
    ld.jacobian(f)(v, False)
    for derivative in (
        lambda: ld.jacobian(f)(v, True),
        lambda: ld.hvp(lambda v: np.sum(f(v, True)), (v,), (v,)),
        lambda: ld.grad(lambda v: np.sum(ld.grad(lambda v: np.sum(f(v, True)))(v)))(v),
    ):
        with pytest.raises(RuntimeError, match="has been written to"):
            derivative()


def test_forward_mode_has_used_its_constants_at_once():
    expected = ld.jvp(refilled(lambda v, b: np.sum(v * v * b.copy())), (np.ones(N),), (np.ones(N),))
    assert ld.jvp(refilled(lambda v, b: np.sum(v * v * b)), (np.ones(N),), (np.ones(N),)) == expected


@pytest.mark.parametrize(
    ("shape", "step"),
    [
        (N, lambda v, b: np.sum((v + b) * v)),
        (N, lambda v, b: np.sum(np.concatenate([v, b]) ** 2)),
        (N, lambda v, b: np.sum(np.concatenate([v, b], dtype=float) ** 2)),
        (N, lambda v, b: np.sum(np.stack([v, b]) ** 2)),
        (N, lambda v, b: np.sum(np.where(MASK, v, b) ** 2)),
        ((2, N), lambda v, b: np.sum(np.where(MASK, v, b) ** 2)),
        ((2, N), lambda v, b: np.sum(np.hypot(v, b))),
        ((2, N), lambda v, b: np.sum(np.add(v, b, dtype=float) ** 2)),
        ((100, 100), lambda v, b: np.sum(ld.linalg.gemm(v[:100, None], v[None, :100], b))),
        ((100, 100), lambda v, b: np.sum(np.linalg.solve(np.diag(v[:100]), b))),
        ((2, 100, 100), lambda v, b: np.sum(np.linalg.solve(np.diag(v[:100]), b))),
    ],
)
def test_what_the_derivative_does_not_need_may_change(shape, step):
    v = np.linspace(1.0, 2.0, N)
    expected = ld.grad(refilled(lambda v, b: step(v, b.copy()), shape))(v)
    np.testing.assert_array_equal(ld.grad(refilled(step, shape))(v), expected)


def test_a_matrix_that_was_factored_may_change():
    A = np.eye(100) + 0.01

    def total(solve):
        def of(v):
            A[:] = np.eye(100) + 0.01
            y = np.sum(solve(A, v) ** 2)
            A[:] = 7
            return y

        return of

    v = np.linspace(1.0, 2.0, 100)
    expected = ld.grad(lambda v: np.sum(np.linalg.solve(np.eye(100) + 0.01, v) ** 2))(v)
    for solve in (
        np.linalg.solve,
        lambda A, v: ld.linalg.cho_factor(A).solve(v[:, None]),
        lambda A, v: ld.linalg.lu_factor(A).solve(v[:, None]),
    ):
        np.testing.assert_allclose(ld.grad(total(solve))(v), expected, rtol=1e-12)


def test_what_the_look_sees():
    """Any piece of 1/8 of the memory; in larger arrays 32 kB, or 1/500; also in an array with gaps."""

    def raises(b, write):
        y, pullback = ld.vjp(lambda v: v * b, np.ones(b.shape))
        pullback(y)
        write(b)
        with pytest.raises(RuntimeError, match="has been written to"):
            pullback(y)

    def write_piece(start, stop):
        def write(b):
            b.reshape(-1)[start:stop] += 1

        return write

    rng = np.random.default_rng(3)
    for size in (4200, 20000, 500_000):
        piece = min(size // 8, max(size // 500, 4096))
        for start in [0, size - piece, *rng.integers(0, size - piece, 5)]:
            raises(np.ones(size), write_piece(start, start + piece))
    for columns in (8, 64, 100, 128):
        for j in range(8):
            raises(np.ones((1000, columns)), lambda b, j=j: b[:, j::8].fill(3))
    raises(np.ones((200, 200))[:, :100], lambda b: b[:, :25].fill(3))
    raises(np.ones((200, 200))[::2], lambda b: b[30:44].fill(3))
    raises(np.ones((40, 30, 60)).transpose(1, 0, 2), lambda b: b[3:8].fill(3))
    raises(np.ones((200, 200)).T, lambda b: b[7:32].fill(3))


def test_a_view_that_cannot_be_written_to_is_of_memory_that_can():
    for n in (3, N):
        b = np.ones(n)
        fixed = b.view()
        fixed.flags.writeable = False
        y, pullback = ld.vjp(lambda v, fixed=fixed: v * fixed, np.ones(n))
        b[:] = 2
        if n == 3:
            np.testing.assert_array_equal(pullback(y)[0], np.ones(n))
        else:
            with pytest.raises(RuntimeError, match="has been written to"):
                pullback(y)


def test_constants_of_the_namespace_share_memory_with_plain_arrays():
    from lindiff import numpy as lnp

    for operation in (np.multiply, np.outer, lambda v, c: np.sum(v, where=c > 0)):
        b = np.ones(3)

        def total(v, b=b, operation=operation):
            y = np.sum(operation(v, lnp.asarray(b)))
            b[:] = -5
            return y

        assert ld.grad(total)(np.ones(3))[0] in (1, 3)


# -- Variables of an outer transform, constants of the inner one -----------------------------------------


@pytest.mark.parametrize(
    "operation",
    [np.multiply, np.divide, np.arctan2, np.outer, np.convolve, np.matmul, np.power],
)
def test_a_variable_of_an_outer_transform_may_be_written_to(operation):
    x = np.array([1.0, 2.0, 3.0])

    def outer(copied):
        def of(w):
            w = w * 1.0

            def inner(x):
                y = np.sum(np.sin(operation(x, w.copy() if copied else w)))
                w[0] = 100.0
                w[1:] *= 2
                return y

            return np.sum(ld.grad(inner)(x) ** 2)

        return of

    w = np.array([0.5, 0.25, 2.0])
    got, expected = (ld.value_and_grad(outer(copied))(w) for copied in (False, True))
    np.testing.assert_array_equal(got[0], expected[0])
    np.testing.assert_array_equal(got[1], expected[1])


# -- functions that are called again ---------------------------------------------------------------------


def test_extra_arguments_of_what_is_called_again_may_be_written_to():
    from lindiff.scipy import integrate

    def of_quad(k, c):
        return integrate.quad(lambda x, k, c: np.exp(-k * x) * c[0], 0.0, 1.0, args=(k, c))[0]

    def of_odeint(k, c):
        times = np.array([0.0, 1.0])
        return integrate.odeint(lambda y, t, k, c: -k * y * c, [1.0], times, args=(k, c))[-1, 0]

    def of_solve_ivp(k, c):
        return integrate.solve_ivp(lambda t, y, k, c: -k * y * c, (0.0, 1.0), [1.0], args=(k, c)).y[0, -1]

    solve = ld.implicit(lambda k, c: np.sqrt(k * c), lambda x, k, c: x**2 - k * c)

    def of_implicit(k, c):
        return np.sum(solve(k, c))

    for function in (of_quad, of_odeint, of_solve_ivp, of_implicit):
        expected = ld.grad(function)(0.7, np.ones(1))
        c = np.ones(1)
        _, pullback = ld.vjp(lambda k, c=c, function=function: function(k, c), 0.7)
        c[:] = 50
        np.testing.assert_allclose(pullback(1.0)[0], expected, rtol=1e-12)


# -- arguments -------------------------------------------------------------------------------------------


def test_arguments_that_are_differentiated_stay_and_others_change_as_in_numpy():
    def f(x, scratch):
        x[0] = 5.0
        scratch[:] = 2.0
        return np.sum(x * scratch)

    x, scratch = np.ones(3), np.zeros(3)
    np.testing.assert_array_equal(ld.grad(f)(x, scratch), [0, 2, 2])
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_array_equal(scratch, np.full(3, 2.0))


def test_constants_in_a_file_are_buffers_too(tmp_path):
    c = np.memmap(tmp_path / "c", float, "w+", shape=3)
    for operation in (np.multiply, np.outer, np.convolve):
        c[:] = 1
        expected = ld.grad(lambda v, operation=operation: np.sum(operation(v, np.ones(3)) ** 2))(np.ones(3))

        def total(v, operation=operation):
            y = np.sum(operation(v, c) ** 2)
            c[:] = 7
            return y

        np.testing.assert_array_equal(ld.grad(total)(np.ones(3)), expected)
