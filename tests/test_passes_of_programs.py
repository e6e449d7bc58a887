"""Each pass over programs alone: the same results with it and without, to the last bit; the same warnings."""

from __future__ import annotations

import operator
import sys
import warnings
from contextlib import nullcontext
from functools import partial

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from scipy import special

import lindiff as ld
from lindiff.programs import alike
from lindiff.programs.compiling import PASSES, compiled
from lindiff.programs.machine import MISSED, WARNED
from lindiff.programs.passes.dead import without_dead
from lindiff.programs.passes.fused import BLOCK, FEWEST, fused
from lindiff.programs.passes.repeated import without_repeats
from lindiff.programs.preparing import prepare
from lindiff.programs.program import program

rng = np.random.default_rng(18)
# Groups of small arrays, of several blocks.
small = partial(fused, block=64, fewest=2)


class Counting:
    """A pass that counts how many steps it is given, and how many it leaves."""

    def __init__(self, change):
        self.change, self.before, self.after = change, 0, 0

    def __call__(self, steps, cells):
        left = self.change(steps, cells)
        self.before += len(steps)
        self.after += len(left)
        return left


def tree_of(function, *inputs):
    """What is known of a function after two calls with each of these arguments."""
    fast = program(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args in inputs:
            fast(*args)
            fast(*args)
    (known,) = fast._known.values()
    assert known.reason is None, known.reason
    return known.tree


def machine_of(tree, count, *passes):
    made = compiled(tree, count, passes)
    assert made is not None
    return made


def leaves(x):
    return [y for part in x for y in leaves(part)] if isinstance(x, (tuple, list)) else [x]


def check(function, change, *inputs, removed=1):
    """The results of a program with and without a pass, which removes so many steps at least."""
    tree = tree_of(function, *inputs)
    counting = Counting(change)
    passed, plain = (machine_of(tree, len(inputs[0]), *made) for made in ([counting], []))
    assert counting.before - counting.after >= removed
    for args in inputs:
        for _ in range(2):  # the second run finds what the first one has left in memory
            with np.errstate(all="ignore"):
                first, second = passed(list(args)), plain(list(args))
            assert first is not MISSED
            assert first is not WARNED
            for x, y in zip(leaves(first), leaves(second), strict=True):
                np.testing.assert_array_equal(x, y)
                assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
    return tree


def normal(n, dtype=float):
    x = rng.normal(size=n)
    return (x + 1j * rng.normal(size=n) if np.dtype(dtype).kind == "c" else x * 3).astype(dtype)


# -- operations joined in groups ---------------------------------------------------------------------------


def black_scholes(S, K, T, sigma):
    d1 = (np.log(S / K) + (0.02 + 0.5 * sigma**2) * T) / (sigma * np.sqrt(T))
    d2 = d1 - sigma * np.sqrt(T)
    return np.sum(S * special.ndtr(d1) - K * np.exp(-0.02 * T) * special.ndtr(d2))


def options(n):
    return tuple(rng.uniform(low, high, n) for low, high in ((80, 120), (80, 120), (0.1, 2), (0.1, 0.5)))


@pytest.mark.parametrize("n", [64, 100, 127, 128, 129, 1000])
def test_gradients_of_many_options(n):
    args = options(n)
    check(ld.value_and_grad(black_scholes, argnums=(0, 1, 2, 3)), small, args, removed=60)


@pytest.mark.parametrize("n", [FEWEST - 1, FEWEST, FEWEST + 1, 5 * BLOCK - 1, 5 * BLOCK, 5 * BLOCK + 1])
def test_on_both_sides_of_what_is_joined(n):
    args = options(n)
    g = ld.value_and_grad(black_scholes, argnums=(0, 1, 2, 3))
    check(g, fused, args, removed=60 if n >= FEWEST else 0)


UNARY = [np.exp, np.log, np.sin, np.cos, np.tanh, np.log1p, np.expm1, np.sqrt, np.arctan, np.cbrt, np.exp2]


def every_function(x):
    y = x * x
    z = y + x
    for f in UNARY:
        z = f(y) - z * 0.5
    return z, np.hypot(z, y) + np.power(y, 1.3) + np.logaddexp(x, y) + np.arctan2(x, y)


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_functions_do_not_see_the_blocks(dtype):
    for n in [*range(2, 70, 3), *range(100, 2001, 97)]:
        check(every_function, small, (normal(n, dtype),), removed=10)


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D", "i", "l", "B", "?"])
def test_types(dtype):
    def f(x, y):
        if x.dtype == bool:
            return (x & y) | (x ^ y), ~x, x == y
        z = x * y + x
        return np.where(z > y, z - x, y * y), (z == y) & (x != y), -z + np.abs(x).astype(x.dtype)

    x, y = (normal(200, dtype) for _ in range(2))
    check(f, small, (x, y), removed=1)


def test_masks_in_a_group():
    def f(x, y):
        inside = (np.abs(x) < 1) & ~np.isnan(y)
        return np.where(inside, x * y, 0.0) + np.where(inside, 1.0, y), np.maximum(x, 0.3) * x

    x, y = normal(300), normal(300)
    y[::7] = np.nan
    check(f, small, (x, y), removed=8)


@pytest.mark.parametrize("kind", ["?", "i", "l", "f"])
def test_mixed_types(kind):
    def f(x, k):
        y = x * k + (x > 0)
        z = np.where(k > 0, y, k.astype(float)) - (x > y).astype(x.dtype)
        return z * k, np.sum(k * 1.5), np.exp(k) * x, (x > 0) + k, k / 3

    x, k = normal(200), normal(200, kind)
    tree = check(f, small, (x, k), removed=8)
    result = machine_of(tree, 2, small)([x, k])
    for y, expected in zip(result, f(x, k), strict=True):
        assert y.dtype == expected.dtype
        assert y.tobytes() == expected.tobytes()


def test_truth_values_of_other_bytes():
    def f(x, mask):
        return x * mask, mask.astype(float)

    x, mask = normal(130), np.arange(130, dtype=np.uint8).view(bool)
    result = machine_of(tree_of(f, (x, mask)), 2, small)([x, mask])
    np.testing.assert_array_equal(result, f(x, mask))


def test_an_intermediate_that_is_written_to():
    def f(x):
        y = x * 2
        z = y + 1
        y[3:20] = 0.5  # z has the numbers before, w those behind
        w = y * z
        y *= x
        y += z
        return w + y, np.sum(z)

    check(f, small, (normal(200),), removed=2)


def test_views_of_what_comes_between():
    def f(x):
        y = x * 2
        turned = y[::-1] + y
        shifted = turned[1:] * turned[:-1]
        y[::2] += turned[1::2]
        return shifted + y[1:], y[::2] * 2 + y[1::2], turned.reshape(10, -1).T * 3 - y.reshape(10, -1).T

    check(f, small, (normal(200),), removed=2)


def test_rows_of_one_array():
    def f(x):
        z = np.zeros_like(x)
        z[0] = x[0] * x[1]
        z[1] = z[0] + x[2] * z[0]
        z[2] = np.sin(z[1]) - z[0]
        return z, z[2] * 1.0

    check(f, small, (rng.normal(size=(3, 150)),), removed=3)


def test_numbers_and_repeated_rows():
    def f(x, a, row):
        s = np.sum(x)
        y = x * a + s
        z = y * y - s * a
        return z + row, np.exp(-z * z) * np.mean(y)

    check(f, small, (rng.normal(size=(20, 30)), np.float64(0.3), normal(30)), removed=2)


def test_results_that_are_used_further():
    def f(x):
        y = x + 1
        z = y * x
        return y, np.sqrt(np.abs(z)), z, np.sum(z), y - z

    tree = check(f, small, (normal(130),), removed=3)
    run = machine_of(tree, 1, *PASSES, small)
    x = normal(130)
    first = run([x])
    kept = [np.copy(y) for y in first]
    for y in run([x * 2]):
        np.asarray(y)[...] = 7  # the caller's own
    for y, before in zip(first, kept, strict=True):
        np.testing.assert_array_equal(y, before)
    assert not any(np.shares_memory(a, b) for i, a in enumerate(first) for b in first[:i])


def test_large_results_have_memory_of_their_own():
    def f(x):
        y = x + 1
        if y[0] > 1:
            return y[5:], 0.0
        z = y[::2] * 2
        y += 1
        return y, z

    n = 1 << 14
    inputs = [(np.full(n, 0.5),), (np.full(n, -0.5),)]
    run = machine_of(tree_of(f, *inputs), 1, *PASSES)
    kept = [(run([x * k]), f(x * k)) for (x,) in inputs for k in (1, 2, 3)]
    for result, expected in kept:
        for x, y in zip(result, expected, strict=True):
            np.testing.assert_array_equal(x, y)
        assert result[0].flags.owndata
        assert result[0].flags.writeable


def test_shapes_between_each_other():
    def f(x, y):
        for _ in range(3):
            x = np.sin(x) * 2 + x
            y = np.cos(y) * 3 - y
        return x, y, np.sum(x) * y

    check(f, small, (normal(150), normal(260)), removed=16)


def test_what_a_group_needs_is_done_before_and_what_needs_it_behind():
    def f(x, A):
        y = A @ x
        z = np.tanh(y) * y
        u = A @ z
        w = np.tanh(u) + z
        return w * np.sum(z), np.sort(y) * z, np.cumsum(w) + u

    check(f, small, (normal(80), rng.normal(size=(80, 80))), removed=3)


def test_views_that_python_makes():
    def f(y):
        size = np.abs(y)
        return np.sum(size[::-1] * size)

    check(ld.grad(f), small, (normal(130),))


def test_guards_end_a_group():
    def f(x):
        y = x * 2 + 1
        if np.sum(y) > 0:
            y = y * x + y
            z = y - x
        else:
            z = np.exp(y) - 1
        return z * y + x

    x = np.abs(normal(150))
    check(f, small, (x,), (-x - 1,), removed=3)


def test_many_operands():
    def f(*xs):
        total = xs[0] * 2
        for x in xs:
            total = total * x + np.cos(x)
        return total

    xs = [normal(100) for _ in range(200)]
    check(f, small, tuple(xs), removed=590)


def test_what_comes_between_takes_no_memory():
    def f(x):
        y = x
        for k in range(20):
            y = np.sin(y + k) * x
        return y

    n = 1 << 16
    tree = tree_of(f, (normal(n),))
    arenas = [arena_of(tree, passes) for passes in ((), (fused,))]
    assert arenas[0] >= 2 * 8 * n
    assert arenas[1] < 1.5 * 8 * n


def arena_of(tree, passes):
    made = []
    compiling = sys.modules["lindiff.programs.compiling"]
    layout = compiling.Layout
    try:
        compiling.Layout = lambda *args: made.append(layout(*args)) or made[0]
        compiled(tree, 1, passes)
    finally:
        compiling.Layout = layout
    return made[0].arena


# -- warnings ----------------------------------------------------------------------------------------------

BAD = {
    "divide": lambda x: 1 / (x - x[5]) + x,
    "overflow": lambda x: np.exp(x * x * 1e3) + x,
    "invalid": lambda x: np.log(-np.abs(x)) * x + 1,
    "none of it": lambda x: np.sin(x) * x + 1,
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("quiet", [False, True])
def test_warnings(name, quiet):
    """A group says that NumPy would warn where its operations do."""

    def f(x):
        y = np.cos(x) * x
        with np.errstate(all="ignore") if quiet else nullcontext():
            y = BAD[name](y)
        return y + np.cos(y) * 0 if name == "none of it" else np.where(np.isfinite(y), y, 0.0) * 2

    x = normal(200)
    tree = tree_of(f, (x,))
    outcomes = []
    for passes in ((), (small,), (without_repeats, without_dead, small)):
        with np.errstate(divide="warn", over="warn", invalid="warn", under="ignore"):
            outcomes.append(machine_of(tree, 1, *passes)([x]) is WARNED)
    assert outcomes == [name != "none of it" and not quiet] * 3


def test_a_loop_of_scipy_that_raises():
    def f(x):
        return special.gammaln(x * 2) + special.ndtr(x) * x

    x = np.abs(normal(200)) + 0.1
    pole = x.copy()
    pole[150] = 0.0
    fast = program(f)
    for _ in range(4):
        np.testing.assert_array_equal(fast(x), f(x))
    tree = tree_of(f, (x,))
    for passes in ((), (small,)):
        run = machine_of(tree, 1, *passes)
        with special.errstate(all="raise"):
            assert run([pole]) is MISSED
        np.testing.assert_array_equal(run([pole]), f(pole))


def test_the_chain_rule_s_quotient():
    """0 / 0 is 0, and nobody is told."""

    def f(x, y):
        return np.sum(np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y)) / x[0])

    x, y = np.abs(normal(130)) + 1, normal(130)
    y[::3] = 0
    check(ld.grad(f, argnums=(0, 1)), small, (x, y))

    def g(x, y):
        with np.errstate(all="ignore"):
            return np.sum((x / y)[1:])

    y[:] = 1
    y[0] = 0
    expected = ld.grad(g)(x, y)
    run = machine_of(tree_of(ld.grad(g), (x, y)), 2, small)
    with np.errstate(divide="warn", invalid="warn", over="warn"):
        result = run([x, y])
    np.testing.assert_array_equal(result, expected)
    assert result[0] == 0


# -- repeated and dead operations --------------------------------------------------------------------------


def test_what_is_computed_twice():
    def f(x, y):
        a, b = np.sqrt(x) * y, np.sqrt(x) + 1
        return a + b, np.sqrt(x) * y - b

    check(f, without_repeats, (np.abs(normal(9)), normal(9)), removed=3)


def test_what_is_not_computed_twice():
    def f(x):
        first = x * 2
        again = x * 2
        again += 1  # its own memory
        y = x + 1
        before = np.sin(y)
        y[2] = 5.0
        behind = np.sin(y)
        return first, again, before, behind, x * 3, x * 3

    check(f, without_repeats, (normal(9),), removed=0)


def test_views_of_what_is_computed_twice():
    def f(x):
        a, b = (x * 2).reshape(3, 3), (x * 2).reshape(3, 3)
        return a[0] + b[1], b.T @ a

    check(f, without_repeats, (normal(9),), removed=1)


def test_repeats_that_numpy_may_warn_of():
    def f(x):
        with np.errstate(all="ignore"):
            y = np.log(x)
        return y[0], np.log(x) * 2

    x = np.array([1.0, -1.0, 2.0])
    for passes in ((), (without_repeats,), PASSES):
        with np.errstate(invalid="warn"):
            assert machine_of(tree_of(f, (x,)), 1, *passes)([x]) is WARNED


def test_what_nobody_needs():
    def f(x):
        y = -x
        z = y.copy()
        z[0] = 3.0
        with np.errstate(all="ignore"):
            w = np.exp(np.log(x)) * y
        return y * 2, z.shape == w.shape

    check(f, without_dead, (normal(9),), removed=5)


def test_warnings_of_what_is_needed_alone():
    def warns(x):
        np.log(x)
        return x * 2

    def needs(x):
        return np.log(x) * 2

    x = -np.ones(3)
    with np.errstate(invalid="warn"):
        np.testing.assert_array_equal(machine_of(tree_of(warns, (x,)), 1, *PASSES)([x]), x * 2)
        assert machine_of(tree_of(needs, (x,)), 1, *PASSES)([x]) is WARNED


def test_what_is_needed_though_its_result_is_not():
    def fails(A):
        try:
            np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            return A * 0
        return A * 2

    good, bad = np.eye(2), -np.eye(2)
    run = machine_of(tree_of(fails, (good,), (bad,)), 1, *PASSES)
    np.testing.assert_array_equal(run([good]), good * 2)
    assert run([bad]) is MISSED or not np.any(run([bad]))

    def written(x):
        y = x * 1.0
        view = y[1:]
        view += x[:-1]
        return y

    check(written, without_dead, (normal(9),), removed=0)


# -- preparing ---------------------------------------------------------------------------------------------


def test_steps_that_are_alike_are_prepared_once(monkeypatch):
    def f(x, steps):
        P = x[:4, None] * np.eye(4)
        for k in range(steps):
            y = x[k : k + 4].reshape(2, 2).reshape(4) * np.log(2.0 * np.pi)
            P = np.tanh((np.eye(4) - 0.1 * P) @ P + np.where(P > 0.5, y, 0.25))
            P = P[::-1, [3, 0, 1, 2]] * 0.5 ** np.array([1.0, 2.0, 3.0, 4.0])
        return P

    def asked(steps):
        tree = tree_of(lambda x: f(x, steps), (x,))
        calls = []
        monkeypatch.setattr(alike, "prepare", lambda *args: calls.append(args) or prepare(*args))
        run = machine_of(tree, 1)
        monkeypatch.undo()
        np.testing.assert_allclose(run([x]), f(x, steps))
        return sum(step.function is not operator.getitem for step, *_ in calls)

    x = normal(20)
    assert asked(2) == asked(9)


@pytest.mark.parametrize(
    "constants", [(2, 2.0), (0.0, -0.0), (np.float64(3), 3), (True, 1), (np.float32(2), 2.0)]
)
def test_steps_that_are_not_alike(constants):
    def f(x, n):
        a, b = constants
        return [x * a, x * b, n + a, n + b, x / (a + 1), x / (b + 1), np.copysign(x, a), np.copysign(x, b)]

    args = np.abs(normal(4, np.float32)), np.array([3, 4])
    run = machine_of(tree_of(f, args), 2)
    for y, z in zip(run(list(args)), f(*args), strict=True):
        assert (y.dtype, y.tobytes()) == (z.dtype, z.tobytes())


# -- all together ------------------------------------------------------------------------------------------

LINES = [
    "{new} = {a} * {b}",
    "{new} = {a} + {b} * 0.5",
    "{new} = np.sin({a}) - {b}",
    "{new} = np.where({a} > {b}, {a}, 0.25)",
    "{new} = np.tanh({a})",
    "{new} = {a}[::-1] * 1.5",
    "{new} = {a}[::-1]",
    "{new} = {a} + np.sum({b})",
    "{new} = {a}.reshape(13, 10).T.reshape(-1)",
    "{new} = {a}.copy(); {new} += {b}",
    "{new} = {a}.copy(); {new}[10:70] = {b}[:60]",
    "{new} = {a}.copy(); {new}[::2] *= {b}[1::2]; {new} = {new} - {a}",
    "{new} = np.sort({a})",
    "{new} = np.maximum({a}, {b}[3])",
    "{new} = {a} * 2 if np.sum({b}) > 0 else {a} - {b}",
    "{new} = special.ndtr({a}) / (1 + {b} * {b})",
]


@st.composite
def functions(draw):
    names, lines = ["x", "y"], []
    for k in range(draw(st.integers(3, 14))):
        pick = st.sampled_from(names)
        lines.append(draw(st.sampled_from(LINES)).format(new=f"v{k}", a=draw(pick), b=draw(pick)))
        names.append(f"v{k}")
    results = draw(st.lists(st.sampled_from(names[2:]), min_size=1, max_size=3, unique=True))
    body = "\n    ".join([*lines, f"return [1.0 * r for r in ({', '.join(results)},)], {results[0]} * 3"])
    return f"def f(x, y):\n    {body}\n"


@seed(1)
@settings(max_examples=60, deadline=None)
@given(functions(), st.booleans())
def test_random_functions(text, differentiate):
    names = {"np": np, "special": special}
    exec(text, names)
    f = names["f"]
    if differentiate:

        def scalar(x, y):
            return sum(np.sum(part) for part in names["f"](x, y)[0])

        f = ld.value_and_grad(scalar, argnums=(0, 1))
    args = np.linspace(-1, 1, 130) ** 3, np.cos(np.arange(130.0))
    for change in (without_repeats, without_dead, small):
        check(f, change, args, removed=0)
    tree = tree_of(f, args)
    both = [
        machine_of(tree, 2, *passes)(list(args)) for passes in ((), (without_repeats, without_dead, small))
    ]
    for a, b in zip(*map(leaves, both), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
