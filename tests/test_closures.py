"""Rules that depend on more than they are given: closures, objects, trees, methods, one mode alone."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import lindiff as ld
import lindiff.numpy as lnp
from lindiff.testing import check_grads, check_rule


class Holder:
    """Something that is no tree."""

    def __init__(self, s):
        self.s = s


def formula(s, x):
    return x**2 * s**3


def closing(s, x):
    @ld.rule
    def primitive(x):
        return x**2 * s**3, lambda y_bar: 2 * x * s**3 * y_bar

    return primitive(x)


def in_an_object(s, x):
    holder = Holder(s)
    primitive = ld.rule(
        lambda holder, x: (x**2 * holder.s**3, lambda y_bar: (None, 2 * x * holder.s**3 * y_bar))
    )
    return primitive(holder, x)


def elementwise(s, x):
    return ld.rule(lambda x: (x**2 * s**3, ld.Elementwise(2 * x * s**3)))(x)


def with_a_pushforward(s, x):
    return ld.rule(
        lambda x: (
            x**2 * s**3,
            ld.Differential(lambda x_dot: 2 * x * s**3 * x_dot, lambda y_bar: 2 * x * s**3 * y_bar),
        )
    )(x)


def with_a_pushforward_alone(s, x):
    return ld.rule(lambda x: (x**2 * s**3, ld.Differential(lambda x_dot: 2 * x * s**3 * x_dot)))(x)


def of_several_results(s, x):
    @ld.rule
    def primitive(x):
        def pullback(bars):
            return 2 * x * bars["square"] + s * bars["others"][0]

        return {"square": x**2, "others": [s * x, s**2]}, pullback

    y = primitive(x)
    return y["square"] * s**3 + y["others"][0] * y["others"][1] - s**3 * x


def by_hand(f):
    def gradient(s, x):
        s, x = ld.Variable(s), ld.Variable(x)
        f(s, x).backward()
        return s.grad, x.grad

    return gradient


DERIVATIVES: dict[str, Any] = {
    "value": lambda f: f,
    "grad": lambda f: ld.grad(f, (0, 1)),
    "of s": lambda f: lambda s, x: ld.grad(lambda s: f(s, x))(s),
    "of x": lambda f: lambda s, x: ld.grad(lambda x: f(s, x))(x),
    "jvp": lambda f: lambda s, x: ld.jvp(f, (s, x), (0.7, -0.3)),
    "linearize": lambda f: lambda s, x: ld.linearize(f, s, x)[1](0.7, -0.3),
    "transpose": lambda f: lambda s, x: ld.linearize(f, s, x)[1].T(0.9),
    "by hand": by_hand,
    "hessian": lambda f: lambda s, x: np.ravel(ld.hessian(f, (0, 1))(s, x)),
    "hvp": lambda f: lambda s, x: ld.hvp(f, (s, x), (0.7, -0.3)),
    "forward": lambda f: (
        lambda s, x: ld.jacobian(lambda v: f(v[0], v[1:]), mode="forward")(np.array([s, x, 0.4]))
    ),
    "reverse": lambda f: (
        lambda s, x: ld.jacobian(lambda v: f(v[0], v[1:]), mode="reverse")(np.array([s, x, 0.4]))
    ),
    "x of s": lambda f: lambda s, x: ld.grad(lambda x: ld.grad(lambda s: f(s, x))(s))(x),
    "s of x": lambda f: lambda s, x: ld.grad(lambda s: ld.grad(lambda x: f(s, x))(x))(s),
    "x of forward s": lambda f: lambda s, x: ld.grad(lambda x: ld.jvp(lambda s: f(s, x), (s,), (1.0,))[1])(x),
    "forward x of s": lambda f: lambda s, x: ld.jvp(lambda x: ld.grad(lambda s: f(s, x))(s), (x,), (1.0,)),
    "forward twice": lambda f: (
        lambda s, x: ld.jvp(lambda x: ld.jvp(lambda s: f(s, x * s), (s,), (1.0,))[1], (x,), (1.0,))
    ),
    "third": lambda f: lambda s, x: ld.grad(ld.grad(ld.grad(lambda s: f(s, x * s))))(s),
    "third, mixed": lambda f: (
        lambda s, x: ld.grad(lambda s: ld.grad(lambda x: ld.grad(lambda s: f(s, x))(s))(x))(s)
    ),
    "checkpointed": lambda f: ld.grad(ld.checkpoint(f), (0, 1)),
    "checkpointed closure": lambda f: (
        lambda s, x: ld.grad(lambda s: ld.checkpoint(lambda x: f(s, x))(x * s))(s)
    ),
}


@pytest.mark.parametrize(
    "function",
    [
        closing,
        in_an_object,
        elementwise,
        with_a_pushforward,
        with_a_pushforward_alone,
        of_several_results,
    ],
)
@pytest.mark.parametrize("name", DERIVATIVES)
def test_what_a_rule_closes_over_is_differentiated(function, name):
    if function is of_several_results and name in ("forward", "reverse"):
        pytest.skip("s ** 2 is a number")
    got, true = DERIVATIVES[name](function)(1.3, 0.8), DERIVATIVES[name](formula)(1.3, 0.8)
    np.testing.assert_allclose(np.asarray(got, float), np.asarray(true, float), rtol=1e-13)


def test_the_issues_own_example():
    f = ld.grad(lambda s, x: ld.rule(lambda x: (s * x, lambda g: s * g))(x), (0, 1))
    assert f(2.0, 3.0) == (3.0, 2.0)


def test_a_pullback_alone_may_close_over_a_variable():
    """Gradient reversal: the value does not depend on the strength."""

    def reversed_(strength, x):
        return ld.rule(lambda x: (1.0 * x, lambda g: -strength * g))(x)

    assert ld.grad(lambda r, x: reversed_(r, x) ** 2, (0, 1))(2.0, 3.0) == (0.0, -12.0)
    assert ld.jvp(lambda r, x: reversed_(r, x) ** 2, (2.0, 3.0), (1.0, 1.0)) == (9.0, -12.0)


# -- trees ------------------------------------------------------------------------------------------------


@dataclass
class Line:
    slope: Any
    level: Any
    name: str = "line"


@ld.rule
def line_at(line, x):
    """The derivative is ten times too large, to see that it is the rule's."""

    def pullback(bars):
        return (
            Line(10 * bars["y"] * x, {"at 0": 10 * bars["y"]}, None),
            10 * bars["y"] * line.slope + bars["twice"][0],
        )

    return {"y": line.slope * x + line.level["at 0"], "twice": (x, None)}, pullback


def test_trees_are_arguments_and_results():
    def f(slope, level, x):
        y = line_at(Line(slope, {"at 0": level}), x)
        assert y["twice"][1] is None
        return y["y"] * 2 + y["twice"][0]

    assert f(2.0, 3.0, 5.0) == 31.0
    assert ld.grad(f, (0, 1, 2))(2.0, 3.0, 5.0) == (100.0, 20.0, 41.0)
    assert ld.grad(f, 1)(2.0, 3.0, 5.0) == 20.0
    assert ld.jvp(f, (2.0, 3.0, 5.0), (1.0, 1.0, 1.0)) == (31.0, 161.0)
    np.testing.assert_allclose(ld.jacobian(f, (0, 1, 2), mode="reverse")(2.0, 3.0, 5.0), (100, 20, 41))
    np.testing.assert_allclose(ld.jacobian(f, (0, 1, 2), mode="forward")(2.0, 3.0, 5.0), (100, 20, 41))


def test_a_dict_has_the_derivative_of_its_rule():
    @ld.rule
    def product(p):
        return p["a"] * p["b"], lambda g: {"a": g * p["b"], "b": None}

    assert ld.grad(product)({"a": 2.0, "b": 3.0}) == {"a": 3.0, "b": 0.0}


def test_a_cotangent_of_another_structure_is_refused():
    rule = ld.rule(lambda p: (p["a"] * p["b"], lambda g: {"a": g}))
    with pytest.raises(TypeError, match="a dict without 'b' as cotangent of argument 0"):
        ld.grad(rule)({"a": 2.0, "b": 3.0})


# -- one mode alone ---------------------------------------------------------------------------------------


def test_a_pushforward_is_enough():
    @ld.rule
    def swapped(x, A):
        return (A @ x, x[::-1]), ld.Differential(lambda x_dot, A_dot: (A @ x_dot + A_dot @ x, x_dot[::-1]))

    rng = np.random.default_rng(0)
    x, A = rng.standard_normal(3), rng.standard_normal((2, 3))
    check_grads(lambda x, A: np.sum(swapped(x, A)[0] ** 2) + swapped(x, A)[1] @ x, (x, A), order=2)
    np.testing.assert_allclose(ld.jacobian(lambda x: swapped(x, A)[0], mode="reverse")(x), A)


@pytest.mark.parametrize(
    "clip",
    [
        lambda g: np.clip(g, -1.0, 1.0),
        lambda g: g * np.minimum(1.0, 1e-3 / np.maximum(np.linalg.norm(g), 1e-300)),
        lambda g: np.sign(g),
    ],
)
def test_a_pullback_that_is_not_linear_serves_reverse_mode_alone(clip):
    clipped = ld.rule(lambda x: (1.0 * x, lambda g: clip(g)))
    x = np.array([0.5, 2.0])
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(7.0 * clipped(x)))(x), clip(np.full(2, 7.0)))
    for forward in (
        lambda: ld.jvp(clipped, (x,), (x,)),
        lambda: ld.linearize(clipped, x)[1](x),
        lambda: ld.jacobian(clipped, mode="forward")(x),
    ):
        with pytest.raises(TypeError, match="not linear"):
            forward()


def test_a_pushforward_that_is_not_linear_is_refused_in_reverse():
    bent = ld.rule(lambda x: (1.0 * x, ld.Differential(lambda x_dot: np.abs(x_dot))))
    with pytest.raises(TypeError, match="not linear"):
        ld.grad(bent)(2.0)


def test_neither_mode_is_an_error_that_says_so():
    nothing = ld.rule(lambda x: (1.0 * x, ld.Differential()))
    with pytest.raises(TypeError, match="neither pushforward nor pullback"):
        ld.grad(nothing)(2.0)


# -- methods ----------------------------------------------------------------------------------------------


class Spring:
    def __init__(self, stiffness):
        self.stiffness = stiffness

    @ld.rule
    def energy(self, x, order=2):
        """Of a spring."""
        return self.stiffness * x**order, lambda g: order * self.stiffness * x ** (order - 1) * g

    same = energy

    @staticmethod
    @ld.rule
    def square(x):
        return x**2, lambda g: 2 * x * g

    @classmethod
    @ld.rule
    def cube(cls, x):
        return x**3, lambda g: 3 * x**2 * g


square = Spring.square


class Softer(Spring):
    activation = square  # a function that is no method, as np.tanh would be


def test_methods_may_be_rules():
    spring = Spring(5.0)
    assert spring.energy(3.0) == 45.0
    assert spring.energy.__doc__ == "Of a spring."
    for energy in (spring.energy, spring.same, lambda x: Spring.energy(spring, x), Softer(5.0).energy):
        assert ld.grad(energy)(3.0) == 30.0
        assert ld.hessian(energy)(3.0) == 10.0
    assert ld.grad(spring.square)(3.0) == ld.grad(Softer(5.0).activation)(3.0) == 6.0
    assert ld.grad(spring.cube)(3.0) == 27.0
    assert ld.grad(lambda k, x: Spring(k).energy(x), (0, 1))(5.0, 3.0) == (9.0, 30.0)
    check_rule(spring.energy, 3.0)


def test_ld_rule_of_what_is_no_function():
    class Callable:
        def body(self, x):
            return x**2, lambda g: 2 * x * g

        __call__ = body

    assert ld.grad(ld.rule(Callable().body))(3.0) == 6.0
    with pytest.raises(TypeError, match="@staticmethod"):
        ld.rule(classmethod(lambda cls, x: x))
    with pytest.raises(TypeError, match="is a decorator"):
        ld.rule(Callable())(3.0)


# -- what is kept of a transform that has ended -----------------------------------------------------------


def kept_variable(x=3.0):
    kept = []
    ld.grad(lambda x: (kept.append(x * 2), np.sum(x**2))[1])(x)
    return kept[0]


def test_a_variable_that_is_kept_is_its_value():
    kept = kept_variable()
    assert ld.grad(lambda x: x * kept)(2.0) == 6.0
    assert type(ld.grad(lambda x: x * kept)(2.0)) is np.float64
    assert ld.grad(lambda x: kept)(2.0) == 0.0
    assert ld.jvp(lambda x: x * kept, (2.0,), (1.0,)) == (12.0, 6.0)
    assert ld.grad(lambda x: x * x)(kept) == 12.0
    assert ld.jvp(lambda x: x, (1.0,), (kept,)) == (1.0, 6.0)
    assert ld.hessian(lambda x: kept * x**2)(1.0) == 12.0
    assert float(kept) == 6.0
    assert type(kept * 2) is np.float64
    assert kept * 2 == 12.0
    x_bar = ld.vjp(lambda x: 2 * x, 1.0)[1](kept)[0]
    assert x_bar == 12.0
    assert type(x_bar) is np.float64


def test_what_an_inner_transform_leaves_belongs_to_the_outer_one():
    def f(x):
        kept = []
        ld.grad(lambda y: (kept.append(x * y), y**2)[1])(x)
        return kept[0]  # x * x, with y = x

    assert ld.grad(f)(3.0) == 6.0
    assert ld.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0)
    assert ld.hessian(f)(3.0) == 2.0


def test_a_record_does_not_change_with_what_was_kept_of_it():
    kept = []
    _, pullback = ld.vjp(lambda x: (kept.append(x * 2), np.sum(np.exp(kept[0])))[1], np.ones(3))
    before = pullback(1.0)[0].copy()
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(kept[0])[0] = 100.0
    kept[0][1:] = 7.0
    np.testing.assert_array_equal(kept[0], [2.0, 7.0, 7.0])
    np.testing.assert_array_equal(pullback(1.0)[0], before)


def test_a_buffer_from_outside_is_plain_and_the_error_makes_one_inside():
    buffer = np.zeros(3)

    def f(x):
        buffer[0] = x
        return np.sum(buffer * buffer)

    with pytest.raises(
        TypeError, match=r"made outside f; write above line \d+\n    buffer = np.zeros\(3, like=x\)"
    ):
        ld.grad(f)(2.0)

    def pasted(x):
        buffer = np.zeros(3, like=x)
        buffer[0] = x
        return np.sum(buffer * buffer)

    assert ld.grad(pasted)(2.0) == 4.0
    np.testing.assert_array_equal(f.__closure__[0].cell_contents, 0)
    given = np.random.default_rng(0).normal(size=3)

    def into_given(x):
        given[0] = x
        return np.sum(given)

    with pytest.raises(
        TypeError,
        match=r"made outside into_given; write above line \d+\n    own = lnp.array\(given, like=x\)",
    ):
        ld.grad(into_given)(2.0)
    assert given[0] != 2.0


# -- copies -----------------------------------------------------------------------------------------------

COPIES = [
    copy.copy,
    copy.deepcopy,
    np.copy,
    lambda a: +a,
    lambda a: np.array(a, copy=True),
    lambda a: pickle.loads(pickle.dumps(a)),
    lambda a: copy.deepcopy([a])[0],
    lambda a: a.copy(),
]


@pytest.mark.parametrize("copied", COPIES)
def test_copies_are_copies(copied):
    a = lnp.array([2.0, 0.0])
    b = copied(a)
    np.asarray(b)[0] = 7.0
    np.testing.assert_array_equal(a, [2.0, 0.0])
    b = copied(a)
    b[1] = 5.0
    a[0] = 9.0
    np.testing.assert_array_equal(a, [9.0, 0.0])
    np.testing.assert_array_equal(b, [2.0, 5.0])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, np.copy, lambda a: +a])
def test_copies_of_variables_keep_their_derivatives(copied):
    def f(x):
        y = x * 2
        z = copied(y)
        z[0] = 1.0
        return np.sum(y * z)

    np.testing.assert_array_equal(ld.grad(f)(np.array([1.0, 2.0])), [2.0, 16.0])
    v = ld.Variable([1.0, 2.0])
    w = copied(v)
    w *= 3.0
    np.sum(w * v).backward()
    np.testing.assert_array_equal(v.grad, [6.0, 12.0])


def test_odeint_does_not_write_to_its_start():
    y0 = lnp.array([2.0, 0.0])
    scipy.integrate.odeint(lambda y, t: [y[1], -y[0]], y0, [0.0, 1.0])
    np.testing.assert_array_equal(y0, [2.0, 0.0])
