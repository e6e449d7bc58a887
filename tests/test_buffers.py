"""NumPy code that uses arrays as buffers: the right derivative, or an error that says what to write."""

import numpy as np
import pytest
import scipy.special

import lindiff as ld
import lindiff.numpy as lnp


def gradient_of_loop(step):
    def total(v):
        s = 0.0
        buffer = np.empty(2)
        for k in range(3):
            buffer[:] = k + 1
            s = s + step(v, buffer)
        return s

    return ld.grad(total)(np.ones(2))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda v, b: np.sum(v * b), 6.0),
        (lambda v, b: np.sum(b * v), 6.0),
        (lambda v, b: v @ b, 6.0),
        (lambda v, b: np.sum(v / b), 1 + 1 / 2 + 1 / 3),
        (lambda v, b: np.sum(v**b), 6.0),
        (lambda v, b: np.sum(np.linalg.solve(np.diag(b), v)), 1 + 1 / 2 + 1 / 3),
    ],
)
def test_constants_may_be_written_to_in_a_loop(step, expected):
    np.testing.assert_allclose(gradient_of_loop(step), expected)


def test_an_index_may_be_written_to_in_a_loop():
    def total(v):
        s, index = 0.0, np.zeros(1, int)
        for k in range(3):
            index[0] = k
            s = s + np.sum(v[index]) * 10.0**k
        return s

    np.testing.assert_allclose(ld.grad(total)(np.ones(3)), [1, 10, 100])


def test_a_mask_may_be_written_to_afterwards():
    def total(v):
        mask = np.array([True, False, True])
        s = np.sum(v[mask])
        mask[:] = False
        return s

    np.testing.assert_allclose(ld.grad(total)(np.ones(3)), [1, 0, 1])


def test_a_plain_array_becomes_the_variable_added_to_it():
    def total(v):
        b = np.zeros(2)
        b += v
        return np.sum(b * b)

    np.testing.assert_allclose(ld.grad(total)(np.array([1.0, 2.0])), [2, 4])


def test_adding_to_rows_of_a_plain_array_raises():
    def total(v):
        A = np.zeros((2, 3))
        for row in A:
            row += v
        return np.sum(A * A)

    with pytest.raises(TypeError, match="view of another"):
        ld.grad(total)(np.ones(3))


def test_adding_to_an_integer_array_raises():
    def total(v):
        b = np.zeros(2, int)
        b += v
        return np.sum(b)

    with pytest.raises(TypeError, match="int64"):
        ld.grad(total)(np.ones(2))


def test_changing_a_variable_made_by_hand_raises():
    w = ld.Variable([1.0])
    with pytest.raises(TypeError, match=r"ld\.value\(w\) - step"):
        w -= 0.1


def test_values_cannot_be_written_to():
    x = np.ones(2)

    def total(v):
        ld.value(v)[:] = 0
        return np.sum(v)

    with pytest.raises(ValueError, match="read-only"):
        ld.grad(total)(x)
    np.testing.assert_array_equal(x, 1.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda v: np.isin(v, [v[0], 3.0]),
        lambda v: np.floor(v, where=v > 0, out=np.zeros(2)),
        lambda v: np.less(v, 0.0, where=v > 0, out=np.zeros(2, bool)),
        lambda v: np.greater.outer(v, v),
        lambda v: np.zeros_like(v, shape=(np.ndim(v), 2)),
        lambda v: np.eye(2, like=v),
    ],
)
def test_constants_take_variables_for_their_values(call):
    """In lists, in keywords, in methods of ufuncs, and where arrays to be filled are made."""
    x = np.array([2.0, -1.5])
    np.testing.assert_array_equal(ld.value(call(ld.Variable(x))), call(x))


def test_filled_arrays_like_a_variable_accept_variables():
    def f(v):
        total = 0.0
        for x in (np.full(3, 7.0, like=v), np.full(3, 7, dtype=float, like=v), np.full_like(v, 7.0)):
            x[1] = v[0]
            total = total + np.sum(x * x)
        return total

    np.testing.assert_array_equal(ld.grad(f)(np.array([2.0, 1.0, 1.0])), [12.0, 0.0, 0.0])


@pytest.mark.parametrize(
    "write",
    [
        lambda to, c: np.copyto(to, c),
        lambda to, c: np.copyto(to, [c[0], 1.0, c[2]]),
        lambda to, c: np.put(to, [0, 2], c[:2]),
        lambda to, c: np.place(to, to < 1, c),
        lambda to, c: np.putmask(to, to < 1, c),
        lambda to, c: np.put_along_axis(to, np.array([1]), c[:1], 0),
        lambda to, c: np.fill_diagonal(to.reshape(1, 3), c[1]),
    ],
)
def test_constants_are_written_into_plain_arrays(write):
    expected = np.zeros(3)
    write(expected, np.array([3.0, 1.0, 2.0]))

    def f(x):
        to = np.zeros(3)
        write(to, lnp.array([3.0, 1.0, 2.0]))
        np.testing.assert_array_equal(to, expected)
        with pytest.raises(TypeError):
            write(to, lnp.array([3.0, 1.0, 2.0]) * x)
        return np.sum(x * to)

    np.testing.assert_array_equal(ld.grad(f)(np.ones(3)), expected)


@pytest.mark.parametrize(
    "f",
    [
        lambda c, x: scipy.special.jv(c, x),
        lambda c, x: scipy.special.jve(c, x),
        lambda c, x: scipy.special.hyp2f1(1.0, c, 5.0, x / 10),
        lambda c, x: scipy.special.zeta(c + 1, x),
    ],
)
def test_constants_where_special_functions_have_no_derivative(f):
    plain, x = np.array([1.0, 2.0]), np.array([0.5, 1.5])
    made = lambda x: np.sum(f(lnp.array(plain), x) + f(lnp.array(plain), 2.0))
    np.testing.assert_array_equal(ld.grad(made)(x), ld.grad(lambda x: np.sum(f(plain, x)))(x))
