"""The Variable: operators, attributes, the tape by hand."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import lindiff as ld
from lindiff.core.variable import Variable

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.pow,
    operator.floordiv,
    operator.mod,
    divmod,
]
OTHERS = [2, 2.5, np.float64(2.5), np.int64(2), np.array([2.0, 3.0]), [2.0, 3.0], (2, 3), np.array(2.0)]


def same(a, b):
    if isinstance(b, tuple):
        return all(same(x, y) for x, y in zip(a, b, strict=True))
    np.testing.assert_array_equal(ld.value(a), b)
    return np.asarray(ld.value(a)).dtype == np.asarray(b).dtype


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("other", OTHERS, ids=lambda o: f"{type(o).__name__}")
def test_operators_and_reflected_operators(op, other):
    x = np.array([3.0, 5.0])
    array = np.asarray(other) if isinstance(other, (list, tuple)) else other
    assert same(op(ld.Variable(x), other), op(x, array))
    assert same(op(other, ld.Variable(x)), op(array, x))
    assert same(op(ld.Variable(x), ld.Variable(x)), op(x, x))


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge])
def test_comparisons_give_plain_arrays(op):
    x, y = np.array([1.0, 2.0, np.nan]), np.array([1.0, 3.0, np.nan])
    for result in (op(ld.Variable(x), y), op(x, ld.Variable(y)), op(ld.Variable(x), ld.Variable(y))):
        assert type(result) is np.ndarray
        np.testing.assert_array_equal(result, op(x, y))
    assert type(ld.Variable(1.0) < 2) is np.bool_


def test_unary_operators():
    x = np.array([-1.0, 2.0])
    v = ld.Variable(x)
    assert same(-v, -x)
    assert same(+v, +x)
    assert same(abs(v), abs(x))
    assert same(v @ v, x @ x)
    assert same([1.0, 2.0] @ v, [1.0, 2.0] @ x)


@pytest.mark.parametrize(
    "op", [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow]
)
def test_in_place_operators(op):
    x = np.array([1.0, 2.0])

    def f(x):
        alias = y = x * 1.0
        y = op(y, 3.0)
        assert alias is y
        y = op(y, np.array([1.0, 2.0]))
        return np.sum(y * x)

    expected = ld.grad(lambda x: np.sum(getattr(operator, op.__name__[1:])(
        getattr(operator, op.__name__[1:])(x, 3.0), np.array([1.0, 2.0])) * x) if op is not operator.ipow
        else np.sum((x**3.0) ** np.array([1.0, 2.0]) * x))(x)  # fmt: skip
    np.testing.assert_allclose(ld.grad(f)(x), expected)
    np.testing.assert_array_equal(x, [1.0, 2.0])
    with pytest.raises(ValueError, match="broadcast"):
        op(ld.Variable(x) * 1.0, np.ones((2, 2)))
    with pytest.raises(TypeError, match="in place"):
        op(ld.Variable(x) * 1.0, 1j)
    single = ld.Variable(np.ones(2, "f4")) * 1.0
    single = op(single, np.ones(2))
    assert single.dtype == np.float32


def test_copies_do_not_change_with_the_original():
    for duplicate in (copy.copy, copy.deepcopy, operator.pos):

        def f(x, duplicate=duplicate):
            y = x * 2.0
            z = duplicate(y)
            y += 1.0
            z *= 3.0
            return np.sum(y) + 10.0 * np.sum(z)

        np.testing.assert_array_equal(ld.grad(f)(np.ones(2)), [62.0, 62.0])


def test_the_array_is_copied():
    x = np.array([1.0, 2.0])
    v = ld.Variable(x)
    y = np.sum(v * v)
    x[:] = 7.0
    y.backward()
    np.testing.assert_array_equal(v.grad, [2.0, 4.0])


def test_backward_accumulates():
    v, w = ld.Variable([1.0, 2.0]), ld.Variable(3.0)
    assert v.grad is None
    y = np.sum(v * v) * w
    y.backward()
    y.backward()
    np.testing.assert_array_equal(v.grad, [12.0, 24.0])
    assert w.grad == 10.0
    assert isinstance(w.grad, np.ndarray)
    assert w.grad.shape == ()
    (v * 1.0).backward([1.0, 10.0])
    np.testing.assert_array_equal(v.grad, [13.0, 34.0])
    v.grad = None
    v.backward(np.array([5.0, 6.0]))
    np.testing.assert_array_equal(v.grad, [5.0, 6.0])
    with pytest.raises(AttributeError, match="made by hand"):
        y.grad = 1.0
    assert y.grad is None


def test_cotangents_of_backward_are_checked_and_not_shared():
    v = ld.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match="backward"):
        (v * 2.0).backward()
    with pytest.raises(ValueError, match="shape"):
        (v * 2.0).backward(np.ones(3))
    with pytest.raises(TypeError, match="dtype"):
        (v * 2.0).backward(np.ones(2) * 1j)
    y_bar = np.ones(2)
    v.backward(y_bar)
    v.grad += 1.0
    np.testing.assert_array_equal(y_bar, 1.0)
    v.grad = None
    (v + 0.0).backward(np.ones(2, int))
    assert v.grad.dtype == np.float64
    (v[:1] * 2.0).backward()  # one number in an array
    np.testing.assert_array_equal(v.grad, [3.0, 1.0])


def test_backward_of_what_depends_on_no_variable_made_by_hand():
    def f(x):
        (x * x).backward()
        return x

    with pytest.raises(TypeError, match="made by hand"):
        ld.jvp(f, (1.0,), (1.0,))


def test_backward_with_a_broadcast_operand():
    v, w = ld.Variable(np.ones((2, 1))), ld.Variable(np.ones(3, "f4"))
    (v * w).backward(np.ones((2, 3)))
    np.testing.assert_array_equal(v.grad, [[3.0], [3.0]])
    np.testing.assert_array_equal(w.grad, [2.0, 2.0, 2.0])
    assert w.grad.dtype == np.float32


def test_container_protocol():
    v = ld.Variable([[1.0, 2.0], [3.0, 4.0]])
    assert len(v) == 2
    assert [row.shape for row in v] == [(2,), (2,)]
    assert 3.0 in v
    assert (v.shape, v.ndim, v.size, v.dtype) == ((2, 2), 2, 4, np.float64)
    assert bool(v[0, 0]) is True
    with pytest.raises(TypeError, match="0-d"):
        iter(v[0, 0])
    with pytest.raises(TypeError):
        len(v[0, 0])
    with pytest.raises(ValueError, match="ambiguous"):
        bool(v)
    with pytest.raises(TypeError, match="unhashable"):
        hash(v)
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(v)
    _, b = v
    np.testing.assert_array_equal(ld.value(b), [3.0, 4.0])


def test_text():
    assert repr(ld.Variable([1.0, 2.0])) == "Variable([1., 2.])"
    assert str(ld.Variable([1.0, 2.0])) == "[1. 2.]"
    assert f"{ld.Variable(1.5):.3f}" == "1.500"
    assert "Variable" in repr(ld.Variable(np.ones((2, 2))))


def test_value_reaches_through_traces_and_trees():
    seen = []

    def f(x):
        def g(y):
            seen.append(ld.value({"a": (x * y, [y])}))
            return x * y

        return ld.grad(g)(x)

    ld.grad(f)(3.0)
    assert seen == [{"a": (9.0, [3.0])}]
    assert type(seen[0]["a"][0]) is np.float64
    assert ld.value(ld.Variable([1.0])).tolist() == [1.0]
    assert ld.value("text") == "text"


def test_classes_that_refuse_ufuncs_get_their_reflected_operator():
    class Refuses:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "radd"

        def __rmatmul__(self, other):
            return "rmatmul"

    v = ld.Variable([1.0])
    assert v + Refuses() == "radd"
    assert v @ Refuses() == "rmatmul"
    with pytest.raises(TypeError, match="unsupported operand"):
        v + object()
    with pytest.raises(TypeError, match="modulus"):
        pow(v, 2, 3)


def test_variable_is_final():
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Sub", (Variable,), {})
