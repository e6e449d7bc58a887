"""Recorded constants that operations keep for derivatives, and what is written to them before the walk."""

import numpy as np
import pytest

import lindiff as ld


def uses_a_row(a, i, v):
    return a[1:] * v[1:]


def squares(a, i, v):
    return np.where(a > 1.5, v * v, v)


@ld.rule
def scaled(x, by):
    return x * by, lambda y_bar: (y_bar * by, None)


USES = [
    uses_a_row,
    squares,
    lambda a, i, v: a * v,
    lambda a, i, v: v**a,
    lambda a, i, v: a @ np.outer(v, v),
    lambda a, i, v: np.einsum("i,i->i", a, v),
    lambda a, i, v: v[i] * 2,
    lambda a, i, v: np.where(i > 1, v * 3, v),
    lambda a, i, v: np.linalg.solve(np.diag(a), v),
    lambda a, i, v: np.convolve(a, v),
    lambda a, i, v: np.interp(v, np.arange(3.0), a),
    lambda a, i, v: scaled(v, a),
    lambda a, i, v: ld.checkpoint(lambda a, v: np.sin(a * v))(a, v),
    lambda a, i, v: a.reshape(1, 3).T * v,
    lambda a, i, v: sum(a[k] * v[k] for k in range(3)),
    lambda a, i, v: np.sin(np.array([a[0], v[0], a[2]], like=v) * v),
]


def write_whole(a, i):
    a += 1
    i -= 1


def write_element(a, i):
    a[1], i[2] = 5.0, 1


def write_view(a, i):
    a[::-1][:2] *= 3.0
    i[:2] = 1


def write_and_leave(a, i):
    np.add(a, 1, out=a)
    i[0] = 1
    np.asarray(a)[0] = 7.0


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("write", [write_whole, write_element, write_view, write_and_leave])
@pytest.mark.parametrize("transform", ["grad", "vjp", "hessian"])
def test_constants_that_are_written_to_before_the_walk(use, write, transform):
    def loss(v, x):
        a, i = x * 1.0, np.argsort(x)
        z = use(a, i, v)
        write(a, i)
        return np.sum(z * z)

    def f(x):
        if transform == "vjp":
            return ld.vjp(lambda v: loss(v, x), x)[1](2.0)[0]
        return getattr(ld, transform)(loss)(x, x)

    x = np.array([1.0, 2.0, 1.7])
    fast = ld.program(f)
    for k in range(4):
        np.testing.assert_allclose(fast(x + k / 100), f(x + k / 100), rtol=1e-13)


def test_a_pullback_that_outlives_what_was_written():
    x = np.array([1.0, 2.0, 1.7])

    def f(x):
        a = x * 1.0
        _, pullback = ld.vjp(lambda v: a * v, x)
        a[0] = 100.0
        first = pullback(np.ones(3))[0]
        a[1] = 100.0
        return first, pullback(np.ones(3))[0], a

    fast = ld.program(f)
    for k in range(4):
        for one, other in zip(fast(x + k), f(x + k), strict=True):
            np.testing.assert_array_equal(one, other)


def test_nothing_is_copied_where_nothing_is_written():
    fast = ld.program(ld.grad(lambda v, a: np.sum(np.sin(a * v) @ np.outer(a, v))))
    assert not [row for row in fast.explain(np.ones(3), np.ones(3)) if "copy" in row.text]


def aux_is_the_argument(x):
    (_, aux), gradient = ld.value_and_grad(lambda x: (np.sum(x * x), x), has_aux=True)(x)
    aux += 1.0
    return gradient * x


def value_is_the_argument(x):
    value, tangent = ld.jvp(lambda x: x, (x,), (x,))
    value += 1.0
    tangent *= 2.0
    return value * x * tangent


def value_is_kept_for_the_walk(x):
    value, pull = ld.vjp(np.exp, x)
    value *= 2.0
    return value * pull(x)[0]


def value_is_kept_for_tangents(x):
    value, push = ld.linearize(np.exp, x)
    value *= 2.0
    return value * push(x)


def value_is_closed_over(x):
    y = np.sin(x)
    value = ld.vjp(lambda x: y, x)[0]
    value *= 2.0
    return value * y


@pytest.mark.parametrize(
    "f",
    [
        *(aux_is_the_argument, value_is_the_argument, value_is_closed_over),
        *(value_is_kept_for_the_walk, value_is_kept_for_tangents),
    ],
)
def test_results_of_transforms_are_nobody_elses(f):
    x = np.array([0.5, 1.0, 2.0])
    expected = f(x.copy())
    fast = ld.program(f)
    for _ in range(4):
        given = x.copy()
        np.testing.assert_allclose(fast(given), expected, rtol=1e-12)
        np.testing.assert_array_equal(given, x)
    push = ld.program(lambda x: ld.jvp(f, (x,), (x,))[1])
    np.testing.assert_allclose(push(x), ld.jvp(f, (x,), (x,))[1], rtol=1e-12)
