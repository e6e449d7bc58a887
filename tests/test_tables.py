"""Data frames and labelled arrays beside Variables."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import lindiff as ld
import lindiff.numpy as lnp
from lindiff.testing import check_grads

X = np.array([1.0, 2.0, 4.0])
Y = np.array([0.5, -1.0, 3.0])
SERIES = pandas.Series(Y, index=["a", "b", "c"])
FRAME = pandas.DataFrame(np.arange(9.0).reshape(3, 3) + 4 * np.eye(3))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y, A: np.sum((y - x) ** 2),
        lambda x, y, A: np.sum((x - y) ** 2),
        lambda x, y, A: np.sum(y * x + x / y) - np.sum(y / x),
        lambda x, y, A: np.sum(y**x - x**y) if np.all(y > 0) else np.sum(x**y),
        lambda x, y, A: np.sum(np.maximum(y, x) * np.hypot(x, y)),
        lambda x, y, A: np.dot(x, y) * np.dot(y, x),
        lambda x, y, A: np.sum(x @ A) + np.sum(np.dot(A, x) ** 2),
        lambda x, y, A: np.sum(np.linalg.solve(A, x) ** 2),
        lambda x, y, A: np.sum(np.where(y > 0, x, x**2)) + np.sum(x[y > 0]),
        lambda x, y, A: np.average(x, weights=y) + np.sum(np.interp(x, [0.0, 5.0], [1.0, 2.0]) * y),
        lambda x, y, A: np.sum(x[x > y] ** 2),
        lambda x, y, A: np.sum(np.exp(-0.5 * (y - np.mean(x)) ** 2) * x),
    ],
)
def test_pandas_counts_as_its_values(f):
    expected = f(X, Y, FRAME.to_numpy())
    value, gradient = ld.value_and_grad(lambda x: f(x, SERIES, FRAME))(X)
    np.testing.assert_allclose(value, expected)
    assert type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, ld.grad(lambda x: f(x, Y, FRAME.to_numpy()))(X))
    np.testing.assert_allclose(ld.jvp(lambda x: f(x, SERIES, FRAME), (X,), (Y,))[1], gradient @ Y)


def test_pandas_of_objects_is_refused():
    with pytest.raises(TypeError, match="object array"):
        ld.grad(lambda x: np.sum(x * pandas.Series([1.0, "a", 2.0])))(X)


def test_pandas_finds_what_is_missing():
    """In arrays, of Variables and of constants that are made inside; a number may be missing as well."""
    y = np.array([1.0, np.nan, 3.0])

    def f(x):
        constant = lnp.array(y)
        for found in (pandas.isna(x), pandas.isnull(constant), ~pandas.notna(x * constant)):
            assert found.tolist() == [False, True, False]
        assert not pandas.isna(x[0])
        assert pandas.isna(y).tolist() == [False, True, False]
        return np.nansum(x[pandas.notna(x)] ** 2)

    np.testing.assert_array_equal(ld.grad(f)(y), [2.0, 0.0, 6.0])


def test_a_series_may_be_differentiated():
    gradient = ld.grad(lambda y: np.sum(y**2))(SERIES)
    np.testing.assert_allclose(gradient, 2 * Y)


class Labelled:
    """As xarray's DataArray: arithmetic of its own, with whatever array it holds."""

    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data, dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.data if isinstance(x, Labelled) else x for x in inputs]
        return Labelled(getattr(ufunc, method)(*plain, **kwargs))

    def __add__(self, other):
        return np.add(self, other)

    def __radd__(self, other):
        return np.add(other, self)


def test_labelled_arrays_hold_variables():
    def f(x):
        labelled = Labelled(Y)
        total = x + labelled, labelled + x, np.multiply(x, labelled), np.multiply(labelled, x)
        assert all(type(part) is Labelled for part in total)
        return np.sum(sum(part.data for part in total) ** 2) + np.dot(x, labelled)

    np.testing.assert_allclose(ld.grad(f)(X), 2 * (2 * X + 2 * Y + 2 * X * Y) * (2 + 2 * Y) + Y)


def test_labelled_arrays_are_no_results():
    """Nobody would look for the derivative of what is in them."""
    for transform in (ld.grad, ld.jacobian):
        with pytest.raises(TypeError, match=r"a Labelled was returned.*return the array in it, y\.data"):
            transform(lambda x: Labelled(np.sum(x)))(X)
    constant, total = ld.vjp(lambda x: (Labelled(Y), np.sum(x)), X)[0]
    assert (constant.data is Y, total) == (True, 7.0)


class Cell:
    """An object that is an array to NumPy, written in ``lindiff.numpy``."""

    def __init__(self, array):
        self.array = lnp.asarray(array, float)

    def __array__(self, dtype=None, copy=None):
        return lnp.array(self.array, dtype=dtype)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, of: lnp.sum(lnp.asarray(of(Y)) * x),
        lambda x, of: lnp.dot(of(Y), x),
        lambda x, of: np.dot(of(Y), x) + np.sum(x * of(Y)) + np.sum(of(Y) / x),
        lambda x, of: np.sum(np.where(x > 1.5, of(Y), x)),
        lambda x, of: np.sum(lnp.asarray(of(x)) ** 2),
    ],
)
def test_objects_that_are_arrays_may_be_written_in_lindiff_numpy(f):
    of_cells, of_arrays = (lambda x: f(x, Cell)), (lambda x: f(x, lambda array: array))
    check_grads(of_arrays, (X,), order=2)
    np.testing.assert_allclose(ld.vjp(of_cells, X)[0], of_arrays(X))
    np.testing.assert_allclose(ld.grad(of_cells)(X), ld.grad(of_arrays)(X))
    for second in (ld.hvp, lambda f, x, d: ld.jvp(ld.grad(f), x, d)[1]):
        np.testing.assert_allclose(second(of_cells, (X,), (Y,)), second(of_arrays, (X,), (Y,)))


def test_objects_that_are_arrays_may_be_assigned():
    def f(x):
        z = lnp.zeros((2, 3))
        z[:] = Cell(Y)
        z[0] *= x
        return np.sum(z**2)

    np.testing.assert_allclose(ld.grad(f)(X), 2 * Y**2 * X)
