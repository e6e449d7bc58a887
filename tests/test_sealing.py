"""Rules, and what is made of them, leave their arguments as they are, or raise."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lindiff as ld
import lindiff.numpy as lnp

X = np.array([1.0, 2.0, 3.0])


def in_place(x):
    x *= 2
    return x**2, lambda g: 2 * x * g


def one_element(x):
    x[1] = 0.0
    return x**2, lambda g: 2 * x * g


def by_out(x):
    np.exp(x, out=x)
    return x + 0, lambda g: x * g


def sorting(x):
    x.sort()
    return x**2, lambda g: 2 * x * g


def through_a_view(x):
    part = x.reshape(-1, 1)[1:]
    part += 1.0
    return x**2, lambda g: 2 * x * g


def in_the_pullback(x):
    def pullback(g):
        x[...] = 2 * x * ld.value(g)
        return x

    return x**2, pullback


def in_the_cotangent(x):
    def pullback(g):
        g *= 2 * x
        return g

    return x**2, pullback


def in_the_pushforward(x):
    def pushforward(x_dot):
        x_dot *= 2 * x
        return x_dot

    return x**2, ld.Differential(pushforward, lambda g: 2 * x * g)


def loss(body):
    f = ld.rule(body)
    return lambda x: np.sum(f(x) + x)


TRANSFORMS = {
    "grad": lambda f, x: ld.grad(f)(x),
    "vjp": lambda f, x: ld.vjp(f, x)[1](1.0),
    "jvp": lambda f, x: ld.jvp(f, (x,), (X,)),
    "forward": lambda f, x: ld.jacobian(f, mode="forward")(x),
    "reverse": lambda f, x: ld.jacobian(f, mode="reverse")(x),
    "linearize": lambda f, x: ld.linearize(f, x)[1](X),
    "hvp": lambda f, x: ld.hvp(f, (x,), (X,)),
    "hessian": lambda f, x: ld.hessian(f)(x),
    "grad of grad": lambda f, x: ld.grad(lambda x: np.sum(ld.grad(f)(x)))(x),
    "grad of jvp": lambda f, x: ld.grad(lambda x: ld.jvp(f, (x,), (X,))[1])(x),
    "by hand": lambda f, x: f(ld.Variable(x)).backward(),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("body", [in_place, one_element, by_out, sorting, through_a_view])
def test_a_rule_that_writes_into_its_argument(body, transform):
    x = X[::-1].copy()
    before = x.copy()
    with pytest.raises(TypeError, match=rf"{body.__name__} changes its argument 'x' in place.*x.copy\(\)"):
        TRANSFORMS[transform](loss(body), x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("name", ["x", "g", "x_dot"])
def test_its_pullback_and_pushforward(name):
    body, transforms = {
        "x": (in_the_pullback, ["grad", "vjp", "reverse"]),
        "g": (in_the_cotangent, ["grad", "vjp", "reverse", "hvp", "hessian", "grad of grad"]),
        "x_dot": (in_the_pushforward, ["jvp", "forward", "linearize", "grad of jvp"]),
    }[name]
    for transform in transforms:
        x = X.copy()
        with pytest.raises(
            (TypeError, ValueError), match=rf"changes its argument '{name}' in place|plain array|read-only"
        ):
            TRANSFORMS[transform](loss(body), x)
        np.testing.assert_array_equal(x, X)


def test_a_cotangent_that_nobody_else_has_may_be_written_to():
    f = ld.rule(in_the_cotangent)
    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(f(x) * 2.0))(X), 4 * X)


def test_constants_and_keywords():
    def fill(x, out, *, other=None):
        if other is not None:
            other[0] = 1.0
        else:
            np.multiply(x, 2, out=out)
        return x * 2, lambda g: 2 * g

    f, out = ld.rule(fill), np.zeros(3)
    for transform in ("grad", "jvp", "hessian"):
        for call, name in ((lambda x: f(x, out), "out"), (lambda x: f(x, 1.0, other=out), "other")):
            with pytest.raises(TypeError, match=f"changes its argument '{name}'|cannot write into an array"):
                TRANSFORMS[transform](lambda x, call=call: np.sum(call(x) ** 2), X)
    np.testing.assert_array_equal(out, 0.0)
    np.testing.assert_array_equal(f(X, out)[0], 2.0)  # without derivatives as NumPy
    np.testing.assert_array_equal(out, 2 * X)


def test_buffers_of_the_namespace():
    f = ld.rule(lambda x, b: (in_place(b)[0] * x, lambda g: g))

    def loss(x):
        b = lnp.ones(3)
        return np.sum(f(x, b))

    with pytest.raises(TypeError, match="changes its argument 'b'"):
        ld.grad(loss)(X)


def test_a_number_is_a_number():
    """`*=` binds a name anew where NumPy has a scalar."""

    @ld.rule
    def square(x):
        y = x
        y *= x

        def pullback(g):
            g *= 2
            return g * x

        return y, pullback

    for of in (lambda s: square(s), lambda s: square(np.sum(s * np.ones(1))) + s, lambda s: square(s) * s):
        plain = {4: lambda s: s**2, 5: lambda s: s**2 + s, 8: lambda s: s**3}
        true = next(f for f in plain.values() if f(2.0) == of(2.0))
        for transform in (ld.grad, ld.hessian, lambda f: lambda s: ld.jvp(f, (s,), (1.0,))):
            np.testing.assert_allclose(transform(of)(2.0), transform(true)(2.0))


def test_code_that_asks_for_memory_to_write_to_and_does_not_write():
    """As compiled code does that takes arrays without saying that it only reads."""

    def compiled(x):
        if not x.flags.writeable:
            raise ValueError("buffer source array is read-only")
        return 2 * np.array(x)

    in_body = ld.rule(lambda x: (compiled(x) * x, lambda g: 2 * compiled(x) * g))
    in_pullback = ld.rule(lambda x: (2 * x * x, lambda g: 2 * compiled(x) * g / 2 + compiled(g) * x))
    pushing = ld.rule(
        lambda x: (2 * x * x, ld.Differential(lambda t: compiled(x) * compiled(t), lambda g: 4 * x * g))
    )
    partial = ld.rule(lambda x: (2 * x * x, ld.Elementwise(lambda: 2 * compiled(x))))
    for rule in (in_body, in_pullback, pushing, partial):
        np.testing.assert_allclose(ld.grad(lambda x, rule=rule: np.sum(rule(x) + x))(X), 4 * X + 1)
        np.testing.assert_allclose(ld.jacobian(rule, mode="reverse")(X), np.diag(4 * X))
        if rule is not in_pullback:
            np.testing.assert_allclose(ld.jvp(rule, (X,), (X,))[1], 4 * X * X)


def test_an_error_of_its_own_stays():
    frozen = X.copy()
    frozen.flags.writeable = False
    calls = []

    @ld.rule
    def f(x):
        calls.append(1)
        frozen[0] = 1.0
        return x, lambda g: g

    with pytest.raises(ValueError, match="read-only"):
        ld.grad(lambda x: np.sum(f(x)))(X)

    @ld.rule
    def g(x):
        calls.append(2)
        raise ValueError("no")

    with pytest.raises(ValueError, match=re.escape("no")):
        ld.grad(lambda x: np.sum(g(x)))(X)
    assert calls.count(2) == 1


# -- results that are arguments ---------------------------------------------------------------------------

VIEWS = {
    "itself": (lambda x: x, lambda g: g),
    "row": (lambda x: x[1:], lambda g: np.concatenate([0 * g[:1], g])),
    "column": (lambda x: x[:, None], lambda g: g[:, 0]),
}


@pytest.mark.parametrize("view", VIEWS)
def test_results_may_be_views_of_arguments(view):
    forward, back = VIEWS[view]
    f = ld.rule(lambda x: (forward(x), back))

    def by(f):
        def loss(x):
            a = x * 1.0
            b = f(a)
            b *= 2.0
            return np.sum(a**3) + np.sum(b**2)

        return loss

    for transform in ("grad", "jvp", "hessian", "grad of grad", "hvp"):
        got, true = TRANSFORMS[transform](by(f), X), TRANSFORMS[transform](by(forward), X)
        for a, b in zip(np.atleast_1d(got), np.atleast_1d(true), strict=True):
            np.testing.assert_allclose(a, b)


def test_results_may_be_one_another():
    @ld.rule
    def twice(x):
        y = x**2
        return (y, y), lambda bars: 2 * x * (bars[0] + bars[1])

    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(twice(x)[0] * twice(x)[1]))(X), 4 * X**3)
