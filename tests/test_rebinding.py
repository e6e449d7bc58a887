"""``a += v`` on a plain array: right where nobody else sees the array, else an error that helps."""

from __future__ import annotations

import operator
import weakref
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest

import lindiff as ld
import lindiff.numpy as lnp

X = np.arange(1.0, 4.0)


def of_a_local_name(x):
    a = np.zeros(3)
    a += x
    a *= x
    return a


def of_an_attribute(x):
    model = SimpleNamespace(a=np.zeros(3))
    model.a += x
    return model.a


def of_an_item(x):
    buffers = {"a": [np.ones(3)]}
    buffers["a"][0] -= x
    return buffers["a"][0]


def of_a_closure(x):
    a = np.ones(3)

    def add():
        nonlocal a
        a /= x

    add()
    return a


def of_a_product(x):
    a = np.eye(3)
    a @= np.diag(x)
    return a


def of_a_view_of_nothing_else(x):
    a = np.arange(6.0).reshape(2, 3)
    a += x
    return a


def of_an_array_without_axes(x):
    a = np.array(1.0)
    a += x[0]
    b = a
    a *= x[1]
    return a * b


def of_what_a_generator_makes(x):
    total = 0.0
    for a in (np.full(3, float(k)) for k in range(3)):
        a **= 2
        a += x
        total = total + a * x
    return total


ALONE = [
    of_a_local_name,
    of_a_closure,
    of_a_product,
    of_a_view_of_nothing_else,
    of_an_array_without_axes,
    of_what_a_generator_makes,
]


@pytest.mark.parametrize("f", ALONE, ids=lambda f: f.__name__)
def test_the_only_name_is_bound_anew(f):
    np.testing.assert_allclose(ld.vjp(f, X)[0], f(X))
    np.testing.assert_allclose(ld.jacobian(f)(X), ld.jacobian(f, mode="forward")(X))
    ld.testing.check_grads(f, (X,))


def of_a_class(x):
    class Layer:
        total = np.zeros(3)

    first, second = Layer(), Layer()
    first.total += x
    return second.total


def two_names(x):
    a = np.zeros(3)
    b = a
    a += x
    return b


def of_the_caller(x):
    def accumulate(b):
        b += x

    a = np.zeros(3)
    accumulate(a)
    return a


def in_a_list(x):
    buffers = [np.zeros(3), np.ones(3)]
    for b in buffers:
        b += x
    return buffers[0]


def with_a_view(x):
    a = np.zeros(3)
    v = a[:2]
    a += x
    return v


def of_a_view(x):
    a = np.zeros(3)
    v = a[:2]
    v += x[:2]
    return a


def with_a_memoryview(x):
    a = np.zeros(3)
    seen = memoryview(a)
    a += x
    return seen[0]


def swapped(x):
    a, b = np.zeros(3), np.ones(3)
    pair = (a, b)
    a -= x
    return pair[0]


HELD = [
    of_an_attribute,
    of_an_item,
    of_a_class,
    two_names,
    of_the_caller,
    in_a_list,
    with_a_view,
    of_a_view,
    with_a_memoryview,
    swapped,
]


@pytest.mark.parametrize("f", HELD, ids=lambda f: f.__name__)
def test_an_array_that_others_see_is_refused(f):
    with pytest.raises(TypeError, match=r"(?s)plain array is .*np\.(zeros|ones)\(\w+, like="):
        ld.grad(lambda x: np.sum(f(x)))(X)


def by_add(a, v):
    np.add(a, v, out=a)


def by_multiply(a, v):
    np.multiply(a, v, a)


def by_matmul(a, v):
    np.matmul(np.diag(a), v, out=a)


def by_the_function_of_the_statement(a, v):
    operator.iadd(a, v)


def by_the_method_of_the_statement(a, v):
    a.__iadd__(v)


def by_reduction(a, v):
    reduce(operator.iadd, [a, v])


CALLS = [
    by_add,
    by_multiply,
    by_matmul,
    by_the_function_of_the_statement,
    by_the_method_of_the_statement,
    by_reduction,
]


@pytest.mark.parametrize("write", CALLS, ids=lambda f: f.__name__)
def test_a_call_binds_nothing_and_is_refused(write):
    def f(x):
        a = np.zeros(3)
        write(a, x)
        return np.sum(a)

    with pytest.raises(TypeError, match="cannot write into an array"):
        ld.grad(f)(X)


def test_the_array_keeps_its_dtype():
    def f(x):
        b = np.ones(3, np.float32)
        b *= x
        assert b.dtype == np.float32
        return np.sum(b)

    np.testing.assert_allclose(ld.grad(f)(X), 1.0)


def test_a_read_only_array_says_so():
    def f(x):
        a = np.zeros(3)
        a.flags.writeable = False
        a += x
        return np.sum(a)

    with pytest.raises(ValueError, match="read-only"):
        ld.grad(f)(X)


# -- the memory of what the name is bound to ---------------------------------------------------------------

MAKERS_OF_ORDER = {
    "rows": lambda: np.ones((2, 3)),
    "columns": lambda: np.ones((2, 3), order="F"),
    "transposed": lambda: np.ones((3, 2)).T,
    "asfortranarray": lambda: np.asfortranarray(np.ones((2, 3))),
    "of a transposed array": lambda: np.add(np.ones((3, 2)).T, 1),
    "einsum": lambda: np.einsum("ij,jk->ki", np.ones((3, 4)), np.ones((4, 2))),
    "a part of the columns": lambda: np.ones((2, 5))[:, :3],
    "every other column": lambda: np.ones((2, 6))[:, ::2],
    "every other row": lambda: np.ones((4, 3))[::2],
    "backwards": lambda: np.ones((2, 3))[::-1, ::-1],
    "columns of columns": lambda: np.ones((5, 4), order="F")[:2, 1:],
    "real parts": lambda: np.ones((2, 3), complex).real,
    "some of four axes": lambda: np.ones((2, 3, 4, 5))[:, ::-1, 1:, ::2],
    "moved axes": lambda: np.moveaxis(np.ones((3, 2, 4)), 0, 1).copy("K"),
}


@pytest.mark.parametrize("order", ["C", "F", "K"])
@pytest.mark.parametrize("make", MAKERS_OF_ORDER.values(), ids=MAKERS_OF_ORDER)
def test_the_rebound_name_has_the_order_of_the_array(make, order):
    weights = np.arange(1.0, make().size + 1)

    def f(x):
        a = make()
        a += x
        a -= 2 * x
        b = a.ravel(order)
        b[0] = 50.0
        return np.sum(a) + weights @ b

    x = np.linspace(0.5, 1.5, make().size).reshape(make().shape)
    value, gradient = ld.value_and_grad(f)(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    steps = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(x.size).reshape(x.size, *x.shape)]
    np.testing.assert_allclose(gradient.ravel(), steps, rtol=1e-7, atol=1e-7)


def test_what_is_no_variable_goes_into_the_array_that_others_hold():
    a = np.zeros((2, 3))
    held = [a]

    def f(x):
        a[...] = 0.0
        c = lnp.ones((2, 3))
        for b in held:
            b += c
        a[1] *= 2 * c[0]
        np.subtract(a, c, out=a)
        return np.sum(x * held[0])

    np.testing.assert_array_equal(ld.grad(f)(np.ones((2, 3))), [[0.0] * 3, [1.0] * 3])


def test_weak_references_see_the_array():
    def f(x):
        a = np.zeros(3)
        pool = weakref.WeakValueDictionary(a=a)
        a += x
        return np.sum(pool["a"] * x)

    with pytest.raises(TypeError, match="plain array"):
        ld.grad(f)(np.ones(3))
