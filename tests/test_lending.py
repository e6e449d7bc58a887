"""Plain arrays that have the memory of constants of `lindiff.numpy`, as `np.asarray` gives them in NumPy."""

import numpy as np
import pytest

import lindiff as ld
import lindiff.numpy as lnp


def each_sees_the_other(N):
    def f(x):
        z = N.zeros(4)
        part = z[1:3]
        b = np.asarray(z)
        z[0] = 1.0
        b[1] = 2.0
        part[1] = 3.0
        z += 10.0
        c = b[2:]
        c[1] = 5.0
        part *= 2.0
        b[0] += 0.5
        return np.sum(x * z) + np.sum(part) * x[0] + np.sum(b) + np.sum(c)

    return f


def test_constants_and_plain_arrays_of_the_same_memory_see_each_other():
    x = np.arange(1.0, 5.0)
    value, gradient = ld.value_and_grad(each_sees_the_other(lnp))(x)
    plain = each_sees_the_other(np)
    assert value == plain(x)
    np.testing.assert_allclose(gradient, [plain(x + e) - plain(x) for e in np.eye(4)])


def test_views_see_what_is_written_through_arrays_of_the_whole():
    def f(x):
        A = lnp.zeros((2, 3))
        row, T = A[1], A.T
        b = np.asarray(row)
        A[1, 0] = 1.0
        T[1, 1] = 2.0
        b[2] = 3.0
        row[1] += 4.0
        np.testing.assert_array_equal(b, [1.0, 6.0, 3.0])
        return np.sum(x * row) + np.sum(T[:, 1] * x)

    np.testing.assert_array_equal(ld.grad(f)(np.ones(3)), [2.0, 12.0, 6.0])


@pytest.mark.parametrize("n", [3, 6000])  # copied, guarded
def test_what_was_recorded_before_is_not_changed(n):
    def f(x):
        z = lnp.ones(n)
        y = z * x
        b = np.asarray(z)
        b[:] = 5.0
        return np.sum(y) + np.sum(z * x)

    np.testing.assert_array_equal(ld.grad(f)(np.ones(n)), np.full(n, 6.0))


def test_what_was_recorded_of_lent_memory_is_copied():
    def f(x):
        z = lnp.ones(3)
        b = np.asarray(z)
        y = z * x
        b[:] = 5.0
        z[0] = 7.0
        return np.sum(y)

    np.testing.assert_array_equal(ld.grad(f)(np.ones(3)), np.ones(3))


def test_large_lent_memory_that_changes_is_refused_in_the_walk():
    def f(x):
        z = lnp.ones(6000)
        b = np.asarray(z)
        y = z * x
        b[:] = 5.0
        return np.sum(y)

    with pytest.raises(RuntimeError, match="written to since"):
        ld.grad(f)(np.ones(6000))


def test_factors_of_lent_memory_are_not_shared():
    def f(x):
        A = 2.0 * lnp.eye(2)
        b = np.asarray(A)
        y = np.linalg.solve(A, x)
        b[:] = 4.0 * np.eye(2)
        return np.sum(y) + np.sum(np.linalg.solve(A, x))

    np.testing.assert_array_equal(ld.grad(f)(np.ones(2)), [0.75, 0.75])


@pytest.mark.parametrize(
    "write",
    [
        lambda z, x: z.__setitem__(0, x[0]),
        lambda z, x: z[1:].__setitem__(0, x[0]),
        lambda z, x: z.__iadd__(x),
        lambda z, x: np.add(z, x, out=z),
        lambda z, x: np.copyto(z, x),
        lambda z, x: np.put(z, [0], x[0]),
        lambda z, x: z.fill(x[0]),
        lambda z, x: np.fill_diagonal(z.reshape(1, 3), x[0]),
    ],
)
def test_variables_are_not_written_where_plain_arrays_would_not_see_them(write):
    def f(x):
        z = lnp.zeros(3)
        held = np.asarray(z)[1:]
        write(z, x)
        return np.sum(z) + np.sum(held)

    def dropped(x):
        z = lnp.zeros(3)
        held = np.asarray(z)
        held[1] = 2.0
        del held
        write(z, x)
        return np.sum(z * z)

    with pytest.raises(TypeError, match=r"np\.array\(a\)"):
        ld.grad(f)(np.ones(3))
    assert np.any(ld.grad(dropped)(np.ones(3)))


def test_copies_and_scalars_are_not_lent():
    def f(x):
        z = lnp.zeros(3)
        b, c = np.array(z), np.asarray(z, dtype=np.float32)
        z[0] = x[0]
        b[:] = c[:] = 1.0
        return np.sum(z)

    np.testing.assert_array_equal(ld.grad(f)(np.ones(3)), [1.0, 0.0, 0.0])
