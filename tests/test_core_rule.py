"""Primitives that users make with ld.rule, right and wrong ones."""

from __future__ import annotations

import collections
import dataclasses
import math

import numpy as np
import pytest
import scipy.linalg

import lindiff as ld
from lindiff.core.registry import raise_unsupported


@ld.rule
def product_and_sum(x, y):
    def product_and_sum_pullback(bars):
        p_bar, s_bar = bars
        return p_bar * y + s_bar, p_bar * x + s_bar

    return (x * y, x + y), product_and_sum_pullback


def test_only_a_pullback_with_several_inputs_and_outputs():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    (p, s), pullback = ld.vjp(product_and_sum, x, y)
    np.testing.assert_array_equal(p, x * y)
    np.testing.assert_array_equal(s, x + y)
    a, b = np.array([1.0, 10.0]), np.array([100.0, 1000.0])
    x_bar, y_bar = pullback((a, b))
    np.testing.assert_array_equal(x_bar, a * y + b)
    np.testing.assert_array_equal(y_bar, a * x + b)
    for run in (
        lambda: ld.jvp(product_and_sum, (x, y), (a, b))[1],
        lambda: ld.linearize(product_and_sum, x, y)[1](a, b),
    ):
        p_dot, s_dot = run()
        np.testing.assert_array_equal(p_dot, a * y + x * b)
        np.testing.assert_array_equal(s_dot, a + b)
    p_dot, s_dot = ld.jvp(lambda x: product_and_sum(x, y), (x,), (a,))[1]
    np.testing.assert_array_equal(p_dot, a * y)
    np.testing.assert_array_equal(s_dot, a)
    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(product_and_sum(x, y)[0]))(x), y)
    np.testing.assert_array_equal(ld.jvp(lambda x: product_and_sum(x, y)[1], (x,), (a,))[1], a)


def test_results_of_python_numbers():
    @ld.rule
    def both(x):
        return (float(x) * 2, np.float64(x) * 3), lambda bars: 2 * bars[0] + 3 * bars[1]

    assert ld.grad(lambda x: both(x)[0] + both(x)[1])(1.0) == 5.0


def test_named_tuples_are_results():
    Pair = collections.namedtuple("Pair", "double triple")

    @ld.rule
    def pair(x):
        return Pair(2 * x, 3 * x), ld.Linear(
            lambda x_dot: Pair(2 * x_dot, 3 * x_dot), lambda bars: 2 * bars.double + 3 * bars.triple
        )

    assert ld.grad(lambda x: pair(x).triple)(1.0) == 3.0
    y, pullback = ld.vjp(pair, 1.0)
    assert y == Pair(2.0, 3.0)
    assert pullback(Pair(1.0, 10.0)) == (32.0,)
    assert ld.jvp(pair, (1.0,), (2.0,))[1] == Pair(4.0, 6.0)


def test_lists_are_arguments():
    @ld.rule
    def total(xs, scale):
        def total_pullback(y_bar):
            return [k * scale * y_bar for k in range(len(xs))], None

        return scale * sum(k * x for k, x in enumerate(xs)), total_pullback

    x = np.ones(3)
    gradients = ld.grad(lambda xs: np.sum(total(xs, 2.0)))([x, x, x])
    assert [g[0] for g in gradients] == [0.0, 2.0, 4.0]
    assert ld.grad(lambda v: np.sum(total([x, v, x, v], 2.0)))(x).tolist() == [8.0] * 3
    assert ld.jvp(lambda v: total([x, v, x, v], 2.0), (x,), (x,))[1].tolist() == [8.0] * 3
    assert (
        ld.jacobian(ld.grad(lambda v: np.sum(total([v * v, v], 2.0))))(x).tolist()
        == np.zeros((3, 3)).tolist()
    )


EXISTING = """
import numpy as np
import lindiff as ld

ramp = np.frompyfunc(lambda x, low: max(x - low, 0.0), 2, 1)

@ld.rule(ramp)
def ramp_rule(x, low):
    return ramp(x, low), lambda z_bar: (z_bar * (x > low), None)

assert ld.grad(lambda x: ramp(x, 0.5))(1.0) == 1.0
assert ld.jvp(lambda x: ramp(x, 2.0), (1.0,), (1.0,))[1] == 0.0
assert ld.grad(lambda y: ramp(1.0, y))(1.0) == 0.0
assert ramp(3.0, 1.0) == 2.0
"""


def test_rule_for_an_existing_function(alone):
    """In a process of its own, as rules are there for the whole process; outside the source tree."""
    alone(EXISTING)


def test_keyword_arguments_are_bound_by_name():
    assert ld.grad(lambda x: np.sum(product_and_sum(y=x, x=2.0)[0]))(5.0) == 2.0

    @ld.rule
    def power_of(x, *, n):
        return x**n, lambda y_bar: n * x ** (n - 1) * y_bar

    with pytest.raises(TypeError, match=r"power_of.*'n'.*ld.value"):
        ld.grad(lambda n: power_of(2.0, n=n))(3.0)


def test_tuples_of_callables_call_only_what_is_needed():
    calls = []

    @ld.rule
    def scaled(x, y):
        return x * y, ld.Bilinear(
            (
                lambda x_dot: calls.append("x_dot") or x_dot * y,
                lambda y_dot: calls.append("y_dot") or x * y_dot,
            ),
            (lambda z_bar: calls.append("x_bar") or z_bar * y, None),
        )

    assert ld.grad(scaled, (0, 1))(2.0, 3.0) == (3.0, 0.0)
    assert calls == ["x_bar"]
    assert ld.jvp(lambda y: scaled(2.0, y), (3.0,), (1.0,))[1] == 2.0
    assert calls == ["x_bar", "y_dot"]


def test_pullback_alone_as_tuple_of_callables():
    @ld.rule
    def scaled(x, y):
        return x * y, ld.Differential(pullback=(lambda z_bar: z_bar * y, None))

    assert ld.jvp(scaled, (2.0, 3.0), (1.0, 1.0))[1] == 3.0


def test_symbolic_zeros():
    seen = []

    @ld.rule
    def three(x):
        def pullback(bars):
            seen.append([bar is None for bar in bars])
            return sum(bar for bar in bars if bar is not None)

        return (x, x, x), ld.Linear(lambda x_dot: (x_dot, None, x_dot), pullback, symbolic_zeros=True)

    assert ld.grad(lambda x: three(x * 1.0)[1])(2.0) == 1.0
    assert seen == [[True, False, True]]


WRONG = {
    "no pair": (lambda x: x, "returns .value, pullback."),
    "three": (lambda x: (x, x, x), "returns .value, pullback."),
    "no callable": (lambda x: (x, 3.0), "returns .value, pullback."),
    "too many": (lambda x: (x * 1, lambda y_bar: (y_bar, y_bar)), "2 cotangents for 1 argument"),
    "too few": (lambda x: (x * 1, lambda y_bar: ()), "0 cotangents"),
    "wrong shape": (
        lambda x: (x * 1, lambda y_bar: np.ones(7)),
        r"shape \(7,\) for argument 0 of shape \(3,\)",
    ),
    "short tuple": (lambda x: (x * 1, ld.Differential(pullback=())), "tuple of pullbacks has 0 entries"),
    "nothing": (lambda x: (x * 1, ld.Differential()), "neither pushforward nor pullback"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_returns_are_explained(wrong):
    function, message = WRONG[wrong]
    primitive = ld.rule(function)
    with pytest.raises((TypeError, ValueError), match=message):
        ld.grad(lambda x: np.sum(primitive(x)))(np.ones(3))
    if "pair" in message or "returns" in message:
        with pytest.raises(TypeError, match=message):
            primitive(np.ones(3))


def test_wrong_pushforwards_are_explained():
    @ld.rule
    def one_tangent(x, y):
        return x * y, ld.Differential(lambda x_dot: x_dot * y, lambda z_bar: (z_bar * y, z_bar * x))

    assert ld.jvp(lambda x: one_tangent(x, 3.0), (2.0,), (1.0,))[1] == 3.0
    with pytest.raises(TypeError, match="takes 1 tangents"):
        ld.jvp(one_tangent, (2.0, 3.0), (1.0, 1.0))

    @ld.rule
    def two_results(x):
        return (x, x), ld.Linear(lambda x_dot: (x_dot,), lambda bars: bars[0] + bars[1])

    with pytest.raises(TypeError, match="each of the 2 results"):
        ld.jvp(two_results, (1.0,), (1.0,))


def test_one_differential_serves_one_call():
    kept = ld.Linear(lambda x_dot: x_dot, lambda y_bar: y_bar)
    same = ld.rule(lambda x: (x, kept))
    with pytest.raises(ValueError, match="twice"):
        ld.grad(lambda x: same(x) + same(x))(1.0)


def test_a_pullback_that_passes_its_cotangent_on_gives_no_alias():
    same = ld.rule(lambda x, y: (x + y, lambda z_bar: (z_bar, z_bar)))
    _, pullback = ld.vjp(same, np.ones(3), np.ones(3))
    z_bar = np.arange(3.0)
    x_bar, y_bar = pullback(z_bar)
    assert not np.shares_memory(x_bar, y_bar)
    assert not np.shares_memory(x_bar, z_bar)


def test_a_pullback_may_overwrite_what_nobody_else_sees():
    seen = []

    def doubled(x):
        def pullback(y_bar, overwrite):
            seen.append(overwrite)
            return np.multiply(y_bar, 2.0, out=y_bar) if overwrite else 2.0 * y_bar

        return 2.0 * x, ld.Linear(lambda x_dot: 2.0 * x_dot, pullback, overwrites=True)

    doubled = ld.rule(doubled)
    x, y_bar = np.arange(3.0), np.ones(3)
    _, pullback = ld.vjp(lambda x: doubled(doubled(np.sin(x)) * x), x)
    for _ in range(2):
        np.testing.assert_allclose(pullback(y_bar)[0], 4.0 * (np.cos(x) * x + np.sin(x)))
    assert seen[:2] == [False, True]  # the caller's own cotangent; that of the product
    np.testing.assert_array_equal(y_bar, 1.0)


def test_a_cotangent_shared_by_two_is_not_overwritten():
    def negated(y_bar, overwrite):
        return np.negative(y_bar, out=y_bar) if overwrite else -y_bar

    negate = ld.rule(lambda x: (-x, ld.Linear(lambda x_dot: -x_dot, negated, overwrites=True)))
    sums = [
        lambda x: negate(x) + 3.0 * x,
        lambda x: 3.0 * x + negate(x),
        lambda x: 4.0 * x + 2.0 * negate(x),
    ]
    for f in sums:
        np.testing.assert_array_equal(ld.grad(lambda x, f=f: np.sum(f(x) * np.ones(3)))(np.ones(3)), 2.0)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_a_pullback_may_add_to_the_cotangent_so_far(shape):
    seen = []

    def product(x, y):
        def to(other):
            def pullback(z_bar, onto=None):
                seen.append(onto is not None)
                if onto is None:
                    return z_bar * other
                onto += z_bar * other
                return onto

            return pullback

        pushforward = (lambda x_dot: x_dot * y, lambda y_dot: x * y_dot)
        return x * y, ld.Bilinear(pushforward, (to(y), to(x)), accumulates=(0, 1))

    multiply = ld.rule(product)
    x = np.full(shape, 1.5)

    def f(x):  # x⁴ + x² + 5x
        y = multiply(x, x)
        return np.sum(multiply(y, y) + y + multiply(x, np.full(shape, 5.0)))

    np.testing.assert_allclose(ld.grad(f)(x), 4 * x**3 + 2 * x + 5)
    assert any(seen) or not shape  # numbers are not written to
    second = ld.hvp(f, (x,), (np.ones(shape),))
    np.testing.assert_allclose(second, 12 * x**2 + 2)
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(ld.grad(f)(x)))(x), 12 * x**2 + 2)

    def mixed(s):  # what x has so far is a plain array, what is added to it a Variable
        return np.sum(ld.grad(lambda x: np.sum(multiply(x, x * s) + np.ones(shape) * x))(x))

    np.testing.assert_allclose(ld.grad(mixed)(2.0), np.sum(2 * x))


def test_several_directions_count_once_where_a_second_pullback_takes_one():
    def pull_y(z_bar):
        return (np.asarray(z_bar) if type(z_bar) is np.ndarray else math.sqrt(z_bar)) * x

    x = np.array([2.0, 3.0])
    pushforward = (lambda x_dot: x_dot * 5.0, lambda y_dot: x * y_dot)
    pullback = (lambda z_bar, onto: z_bar * 5.0 if onto is None else onto + z_bar * 5.0, pull_y)
    multiply = ld.rule(lambda x, y: (x * y, ld.Bilinear(pushforward, pullback, accumulates=(0,))))
    of_x, of_y = ld.jacobian(multiply, (0, 1), mode="reverse")(x, np.full(2, 5.0))
    np.testing.assert_array_equal(of_x, 5.0 * np.eye(2))
    np.testing.assert_array_equal(of_y, np.diag(x))


def test_unsupported_functions_name_the_nearest():
    def sinhh(x):
        return x

    with pytest.raises(TypeError, match=r"no derivative rule.*has one: numpy\.sinh.*ld\.rule\(.*sinhh\)"):
        raise_unsupported(sinhh)
    with pytest.raises(
        TypeError, match=r"numpy\.busday_count has no derivative in lindiff: it acts on dates"
    ):
        ld.grad(lambda x: np.busday_count(x, x))(1.0)


def test_a_fast_path_equals_its_rule():
    """Large arrays and small ones give the same numbers."""
    x = np.linspace(0.1, 1.0, 5000)
    for ufunc in (
        np.exp,
        np.log,
        np.log1p,
        np.expm1,
        np.sin,
        np.cos,
        np.tanh,
        np.sqrt,
        np.square,
        np.reciprocal,
    ):
        whole = ld.grad(lambda x, ufunc=ufunc: np.sum(ufunc(x)))(x)
        part = ld.grad(lambda x, ufunc=ufunc: np.sum(ufunc(x)))(x[:10])
        np.testing.assert_allclose(part, whole[:10], rtol=1e-14)


def test_warnings_are_hushed_wherever_numpy_keeps_its_errstate(alone):
    """NumPy's context variable is found by its effect; where there is none, np.errstate itself is entered."""
    script = """
import numpy as np
seterr, np.seterr = np.seterr, lambda **kwargs: {}
import lindiff as ld
np.seterr = seterr
np.seterr(all="raise")
print(ld.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(np.hypot(x, 0.0)), 0.0)))(np.array([0.0, 4.0])))
try:
    np.array([1.0]) / 0
except FloatingPointError:
    print("restored")
"""
    assert alone(script).splitlines() == ["[0.   0.25]", "restored"]


@pytest.mark.parametrize(
    "mask",
    [lambda c: c > 0, lambda c: c < 0, lambda c: np.abs(c) > 1e-3],
    ids=["positive", "negative", "large"],
)
def test_a_pullback_that_masks_by_its_cotangent_has_no_transpose(mask):
    @ld.rule
    def guided(x):
        return 1.0 * x, lambda y_bar: np.where(mask(y_bar), y_bar, 0.0)

    with pytest.raises(TypeError, match="is not linear"):
        ld.jvp(guided, (np.ones(2),), (np.ones(2),))
    with pytest.raises(TypeError, match="is not linear"):
        ld.jvp(guided, (1.0,), (1.0,))
    y_bar = np.array([2.0, 3.0])
    np.testing.assert_array_equal(ld.vjp(guided, np.ones(2))[1](y_bar)[0], np.where(mask(y_bar), y_bar, 0.0))

    @ld.rule
    def forward(x):
        return 1.0 * x, ld.Differential(lambda x_dot: np.where(mask(x_dot), x_dot, 0.0))

    with pytest.raises(TypeError, match="is not linear"):
        ld.grad(forward)(1.0)


# -- memory that a rule keeps ------------------------------------------------------------------------------


def rules_that_reuse_memory():
    buffer, parts, wide = np.empty(3), (np.empty(3), np.empty(3)), np.empty((3, 2))

    @ld.rule
    def whole(x):
        y = np.exp(x)
        buffer[:] = y
        return buffer, lambda y_bar: y_bar * y

    @ld.rule
    def view(x):
        y = np.exp(x)
        wide[:, 0] = y
        return wide[:, 0], ld.Differential(lambda x_dot: y * x_dot, lambda y_bar: y_bar * y)

    @ld.rule
    def several(x):
        y = np.exp(x)
        parts[0][:], parts[1][:] = y, 2 * x
        return parts, lambda bars: bars[0] * y + 2 * bars[1]

    return {"whole": whole, "view": view, "several": lambda x: several(x)[0]}


@pytest.mark.parametrize("name", rules_that_reuse_memory())
def test_a_buffer_that_a_rule_fills_again_is_not_what_it_gave_before(name):
    r = rules_that_reuse_memory()[name]
    x = np.array([0.1, 0.2, 0.3])

    def f(x):
        return np.sum(r(x) ** 3 * r(2 * x) ** 3)

    expected = 9 * np.exp(9 * x)
    np.testing.assert_allclose(ld.grad(f)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(ld.jvp(f, (x,), (np.ones(3),))[1], expected.sum(), rtol=1e-12)


def test_results_that_only_their_differential_holds_are_not_copied():
    made = []

    @ld.rule
    def by_pullback(x):
        y = np.exp(x)
        made.append(y.__array_interface__["data"])
        return y, lambda y_bar: y_bar * y

    @ld.rule
    def by_partial(x):
        y = np.exp(x)
        made.append(y.__array_interface__["data"])
        return y, ld.Elementwise(y)

    def f(x):
        for r in (by_pullback, by_partial):
            given.append(ld.value(r(x)).__array_interface__["data"])
        return np.sum(x)

    given = []
    ld.grad(f)(np.ones(3))
    assert [data[0] for data in given] == [data[0] for data in made]


def test_derivatives_in_a_buffer_of_the_rule():
    M, x, w = np.arange(9.0).reshape(3, 3), np.ones(3), np.array([1.0, 2.0, 3.0])
    buffer, wide = np.empty(3), np.empty((3, 2))

    @ld.rule
    def forward_into(x):
        return M @ x, ld.Linear(lambda x_dot: np.dot(M, x_dot, out=buffer), lambda y_bar: M.T @ y_bar)

    @ld.rule
    def backward_into(x):
        return M @ x, lambda y_bar: np.dot(y_bar, M, out=buffer)

    @ld.rule
    def backward_view(x):
        def pullback(y_bar):
            wide[:, 1] = y_bar @ M
            return wide[:, 1]

        return M @ x, pullback

    for f in (forward_into, backward_into, backward_view):
        np.testing.assert_allclose(ld.jacobian(f, mode="reverse")(x), M)
        both = ld.grad(lambda x, z, f=f: w @ f(x) + 10 * (w @ f(z)) + w @ f(2 * x), (0, 1))(x, x)
        np.testing.assert_allclose(both[0], 3 * w @ M)
        np.testing.assert_allclose(both[1], 10 * w @ M)
    np.testing.assert_allclose(ld.jacobian(forward_into, mode="forward")(x), M)
    np.testing.assert_allclose(
        ld.jvp(lambda x: forward_into(x) * forward_into(2 * x), (x,), (w,))[1], 4 * (M @ x) * (M @ w)
    )


WRITERS = {
    "add.at": lambda z, i, b: np.add.at(z, i, b),
    "subtract.at": lambda z, i, b: np.subtract.at(z, i, -b),
    "put": lambda z, i, b: np.put(z, i, b),
    "copyto": lambda z, i, b: np.copyto(z[: len(b)], b),
    "place": lambda z, i, b: np.place(z, np.arange(5) < len(b), b),
    "putmask": lambda z, i, b: np.putmask(z, np.arange(5) < 3, np.concatenate([b, b])),
    "put_along_axis": lambda z, i, b: np.put_along_axis(z, i, b, 0),
    "out=": lambda z, i, b: np.multiply(b, 2.0, out=z[:3]),
    "out= of a product": lambda z, i, b: np.matmul(np.eye(3) * 2, b, out=z[:3]),
    "assignment": lambda z, i, b: z.__setitem__(i, b),
}


@pytest.mark.parametrize("name", WRITERS)
def test_pullbacks_that_write_into_arrays_of_their_own_by_functions(name):
    i = np.array([4, 0, 1])

    def spread(b):
        z = np.zeros(5)
        WRITERS[name](z, i, b)
        return z

    J = np.stack([spread(e) for e in np.eye(3)])

    @ld.rule
    def pick(x):
        return J @ x, spread

    np.testing.assert_array_equal(ld.jacobian(pick, mode="reverse")(np.ones(5)), J)
    np.testing.assert_array_equal(ld.grad(lambda x: pick(x)[1])(np.ones(5)), J[1])


def test_a_class_method_has_the_differential_of_what_follows_the_class():
    class Model:
        k = 3.0

        @classmethod
        @ld.rule
        def scaled(cls, x):
            return cls.k * x, lambda y_bar: cls.k * y_bar

    class Other(Model):
        k = 5.0

    assert ld.grad(Model.scaled)(2.0) == 3.0
    assert ld.grad(Other.scaled)(2.0) == 5.0
    assert ld.grad(Other().scaled)(2.0) == 5.0
    assert Model.scaled(2.0) == 6.0


def test_compiled_code_that_overwrites_an_argument_without_asking_is_found():
    factor = scipy.linalg.cho_factor(np.array([[4.0, 1.0], [1.0, 3.0]]))

    @ld.rule
    def into_b(b):
        return scipy.linalg.cho_solve(factor, b, overwrite_b=True), lambda y: scipy.linalg.cho_solve(
            factor, y
        )

    @ld.rule
    def into_y(b):
        return scipy.linalg.cho_solve(factor, b), lambda y: scipy.linalg.cho_solve(
            factor, y, overwrite_b=True
        )

    with pytest.raises(TypeError, match=r"into_b changes its argument 'b' in place.*without overwrite_"):
        ld.grad(lambda b: np.sum(into_b(b)))(np.array([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"changes its argument 'y' in place"):
        ld.vjp(into_y, np.ones(2))[1](np.array([1.0, 2.0]))


def test_lists_and_dicts_that_a_rule_writes_to_are_refused():
    @ld.rule
    def logged(x, log):
        log.append(1)
        return 2 * x, lambda y_bar: (2 * y_bar, None)

    @ld.rule
    def counted(x, state):
        state["n"] = 1
        return 2 * x, lambda y_bar: (2 * y_bar, None)

    with pytest.raises(TypeError, match="logged changes its argument 'log', a list"):
        ld.grad(logged)(3.0, [])
    with pytest.raises(TypeError, match="counted changes its argument 'state', a dict"):
        ld.grad(counted)(3.0, {"n": 0})
    with pytest.raises(TypeError, match="changes its argument 'log', a list"):
        ld.grad(ld.checkpoint(lambda x, log: (log.append(x), 2 * x)[1]))(3.0, [])
    log = []
    assert logged(3.0, log) == 6.0
    assert log == [1]


def test_results_are_the_callers_own_with_and_without_variables():
    table = np.arange(6.0).reshape(2, 3)

    @ld.rule
    def row(x):
        return table[1], lambda y_bar: np.sum(y_bar) * np.ones(3)

    @ld.rule
    def pair(x):
        return {"row": table[1], "all": (table,)}, lambda y_bar: None

    for x in (np.ones(3), ld.Variable(np.ones(3))):
        y = row(x)
        y = y + 0.0 if isinstance(y, ld.Variable) else y
        y[0] = 50.0
        parts = pair(x)
        if not isinstance(x, ld.Variable):
            parts["row"][1], parts["all"][0][0] = 60.0, 70.0
        np.testing.assert_array_equal(table, np.arange(6.0).reshape(2, 3))
    given = np.ones(3)
    assert ld.rule(lambda x: (x, lambda y_bar: y_bar))(given) is given


def test_derivatives_in_trees_of_buffers():
    M, x = np.arange(9.0).reshape(3, 3), np.ones(3)
    buffers = [np.empty(3), np.empty(3)]

    @ld.rule
    def backward(pair):
        def pullback(y_bar):
            np.dot(y_bar, M, out=buffers[0])
            np.multiply(y_bar, 2.0, out=buffers[1])
            return (buffers,)

        return M @ pair[0] + 2 * pair[1], pullback

    @ld.rule
    def forward(x):
        def pushforward(x_dot):
            np.dot(M, x_dot, out=buffers[0])
            np.multiply(x_dot, 2.0, out=buffers[1])
            return tuple(buffers)

        return (M @ x, 2 * x), ld.Differential(pushforward)

    w = np.array([1.0, 2.0, 3.0])
    a, b = ld.grad(lambda pair: w @ backward(pair) + 10 * (w @ backward([3 * pair[0], pair[1]])))([x, x])
    np.testing.assert_allclose(a, 31 * w @ M)
    np.testing.assert_allclose(b, 22 * w)
    f = lambda x: np.sum(forward(x)[0] * forward(2 * x)[0]) + forward(3 * x)[1] @ w
    np.testing.assert_allclose(
        ld.jvp(f, (x,), (w,))[1], (f(x + 1e-6 * w) - f(x - 1e-6 * w)) / 2e-6, rtol=1e-8
    )


def test_what_a_rule_writes_into_a_dataclass_is_refused():
    @dataclasses.dataclass
    class State:
        a: object
        b: object = 0.0

    @ld.rule
    def step(s):
        y = s.a**2
        s.b = y
        return y, lambda y_bar: (State(2 * y_bar, None),)

    with pytest.raises(TypeError, match="changes its argument 's', a State"):
        ld.grad(lambda x: step(State(x)))(3.0)


def test_what_a_rule_writes_into_a_list_given_by_name_is_refused():
    @ld.rule
    def logged(x, *, log):
        log.append("called")
        return x**2, lambda y_bar: 2 * x * y_bar

    with pytest.raises(TypeError, match="changes its argument 'log', a list"):
        ld.grad(lambda x: logged(x, log=[]))(3.0)


@pytest.mark.parametrize(
    "result", [lambda x: [x, 3, "s"], lambda x: "s", lambda x: {"y": x, "how": object()}]
)
def test_results_that_are_no_arrays_are_named(result):
    f = ld.rule(lambda x: (result(x), lambda y_bar: x))
    for transform in (ld.grad(f), lambda x: ld.jvp(f, (x,), (x,))):
        with pytest.raises(TypeError, match=r"returns arrays and numbers.* a (str|object)"):
            transform(np.ones(2))


def test_pullbacks_that_add_at_an_index():
    i = np.array([0, 0, 2])

    @ld.rule
    def picked(x):
        def picked_pullback(y_bar):
            x_bar = np.zeros(3, like=y_bar)
            np.add.at(x_bar, i, y_bar)
            return x_bar

        return x[i], picked_pullback

    for mode in ("reverse", "forward"):
        np.testing.assert_array_equal(ld.jacobian(picked, mode=mode)(np.ones(3)), np.eye(3)[i])
    ld.testing.check_grads(picked, (np.ones(3),), order=2)


def test_a_pullback_of_compiled_code_says_which_mode_takes_it():
    @ld.rule
    def blurred(x):
        return scipy.linalg.solve(np.eye(3), x), lambda y_bar: scipy.linalg.solve(np.eye(3), y_bar)

    with pytest.raises(TypeError, match='mode="reverse"'):
        ld.jvp(blurred, (np.ones(3),), (np.ones(3),))
    with pytest.raises(TypeError, match='mode="reverse"'):
        ld.jacobian(blurred, mode="forward")(np.ones(3))
    np.testing.assert_array_equal(ld.jacobian(blurred, mode="reverse")(np.ones(3)), np.eye(3))


class Layer(list):
    """A list of a class of its own."""


@dataclasses.dataclass(frozen=True)
class Weights:
    W: object


@pytest.mark.parametrize("n", [3, 200])  # copied, guarded
@pytest.mark.parametrize("box", [Weights, lambda W: Layer([W]), lambda W: collections.OrderedDict(W=W)])
def test_constants_in_trees_that_hold_no_variable_are_those_of_the_call(box, n):
    @ld.rule
    def apply(params, x):
        W = (
            params.W
            if isinstance(params, Weights)
            else next(iter(getattr(params, "values", lambda: params)()))
        )
        return W @ x, ld.Differential((None, lambda x_dot: W @ x_dot), (None, lambda y_bar: W.T @ y_bar))

    def f(x):
        W = np.ones((n, n))
        y = apply(box(W), x)
        W[:] = 0.0
        return np.sum(y)

    if n > 64:
        with pytest.raises(RuntimeError, match="written to since"):
            ld.grad(f)(np.ones(n))
    else:
        np.testing.assert_array_equal(ld.grad(f)(np.ones(n)), np.full(n, n))


def test_partials_in_a_buffer_of_the_rule():
    for n in (3, 6000):
        slope, table, x = np.empty(n), np.empty((2, n)), np.linspace(0.0, 1.0, n)

        @ld.rule
        def sine(x, slope=slope):
            np.cos(x, out=slope)
            return np.sin(x), ld.Elementwise(slope)

        @ld.rule
        def of_row(x, table=table):
            np.exp(x, out=table[1])
            return table[1], ld.Elementwise(table[1])

        np.testing.assert_allclose(
            ld.grad(lambda x: np.sum(sine(x) * sine(2 * x)))(x),
            np.cos(x) * np.sin(2 * x) + 2 * np.sin(x) * np.cos(2 * x),
            atol=1e-12,
        )
        np.testing.assert_allclose(ld.grad(lambda x: np.sum(of_row(x) * of_row(2 * x)))(x), 3 * np.exp(3 * x))


def test_arguments_in_trees_of_results_are_results():
    @ld.rule
    def both(pair):
        return {"p": pair[0]}, lambda y_bar: ([y_bar["p"], None],)

    def f(x):
        given = x * 1.0
        made = both([given, x])["p"]
        made[0] = 9.0
        return np.sum(given * given)

    x = np.array([2.0, 2.0])
    assert f(x) == ld.value_and_grad(f)(x)[0] == 8.0
