"""Functions along axes, windows, np.emath, insert and trim_zeros, lists of Variables: single facts."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import lindiff as ld
from lindiff.testing import check_grads

X = np.array([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]])
sliding_window_view = np.lib.stride_tricks.sliding_window_view


def test_functions_along_an_axis_may_return_lists_and_constants():
    y = np.apply_along_axis(lambda x: [x[0], x[1] * x[2]], 1, ld.Variable(X))
    assert_array_equal(ld.value(y), [[1, 8], [3, -0.5]])
    assert_array_equal(ld.value(np.apply_along_axis(lambda x: 1.0, 1, ld.Variable(X))), [1, 1])


def test_errors_of_functions_along_axes():
    with pytest.raises(ValueError, match="iteration dimensions"):
        np.apply_along_axis(np.sum, 1, ld.Variable(np.zeros((0, 2))))
    with pytest.raises(np.exceptions.AxisError):
        np.apply_along_axis(np.sum, 2, ld.Variable(X))
    with pytest.raises(ValueError, match="correct shape"):
        np.apply_over_axes(lambda x, axis: np.sum(x), ld.Variable(X), [0])


def test_windows():
    gradient = ld.grad(lambda x: np.sum(sliding_window_view(x, 2) @ np.array([1.0, 10.0])))(np.ones(4))
    assert_array_equal(gradient, [1, 11, 11, 10])
    v = ld.Variable(X)
    with pytest.raises(ValueError, match="cannot be larger"):
        sliding_window_view(v, (3, 1))
    with pytest.raises(ValueError, match="matching length"):
        sliding_window_view(v, 2)
    with pytest.raises(ValueError, match="negative"):
        sliding_window_view(v, (1, -1))


def test_windows_are_a_moving_average():
    x = np.random.default_rng(0).standard_normal(50)
    kernel = np.ones(5) / 5
    gradients = [
        ld.grad(lambda x: np.sum(np.mean(sliding_window_view(x, 5), axis=-1) ** 2))(x),
        ld.grad(lambda x: np.sum(np.convolve(x, kernel, "valid") ** 2))(x),
    ]
    assert_allclose(*gradients)


def test_emath_leaves_real_numbers_real():
    for f in [np.emath.sqrt, np.emath.log, np.emath.arcsin]:
        assert ld.vjp(f, np.array([0.25, 0.5]))[0].dtype == np.float64
    y, pullback = ld.vjp(np.emath.sqrt, np.array([-4.0, 4.0], np.float32))
    assert_array_equal(y, np.array([2j, 2], np.complex64))
    assert y.dtype == np.complex64
    (gradient,) = pullback(np.array([1j, 1], np.complex64))
    assert gradient.dtype == np.float32
    assert_allclose(gradient, [-0.25, 0.25])


def test_inserted_values_take_the_dtype_of_the_array():
    inserted = np.insert(np.array([1, 2, 3]), 1, ld.Variable(2.5))
    assert_array_equal(ld.value(inserted), [1, 2, 2, 3])
    assert ld.grad(lambda v: np.sum(np.insert(np.ones(3, np.float32), 1, v)))(2.5) == 1
    with pytest.raises(IndexError, match="out of bounds"):
        np.insert(ld.Variable(np.ones(3)), 7, 1.0)
    with pytest.raises(ValueError, match="broadcast"):
        np.insert(ld.Variable(np.ones(3)), [0, 1], [1.0, 2.0, 3.0])


@pytest.mark.filterwarnings("ignore:in the future insert:FutureWarning")
def test_booleans_say_where_to_insert_as_numpy_reads_them():
    mask = np.array([True, False, True])
    inserted = np.insert(ld.Variable(X), mask, 1.5, axis=1)
    assert_array_equal(ld.value(inserted), np.insert(X, mask, 1.5, axis=1))


def test_trim_zeros_refuses_other_sides():
    with pytest.raises(ValueError, match="unexpected"):
        np.trim_zeros(ld.Variable(X[0]), "x")


@pytest.mark.filterwarnings("ignore:.*row_stack:DeprecationWarning")
def test_row_stack():
    row_stack = getattr(np, "row_stack", np.vstack)
    check_grads(lambda x, y: row_stack((x, y)), (X, X[0]))


def test_lists_of_variables():
    check_grads(lambda a, b: sum([a, b * b]), (X, X))
    check_grads(lambda a, b: np.atleast_2d(a, [a, b, 1.0])[1], (1.0, 2.0))
    check_grads(lambda a, b: np.convolve(a, [b[0], 2.0 * b[1]]), (X[0], X[1]))
    check_grads(lambda a, b: np.interp(a, [0.0, b, 3.0], [b, 1.0, a]), (0.5, 1.5))


def test_what_does_not_dispatch_says_what_to_write():
    v = ld.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match=r"np\.stack"):
        np.vectorize(lambda x: x + 1)(v)
    with pytest.raises(TypeError, match=r"ld\.numpy\.polynomial\.Polynomial\(v\)"):
        np.polynomial.Polynomial(v)
    with pytest.raises(TypeError):
        np.ascontiguousarray(v)


def test_constants_of_variables_are_plain():
    v = ld.Variable([1.0, 2.0])
    assert not np.isscalar(v)
    assert np.iterable(v)
    assert not np.iterable(v[0])
    assert np.broadcast_shapes(v.shape, (3, 1)) == (3, 2)
    np.testing.assert_array_equal(np.mask_indices(2, np.triu), [[0, 0, 1], [0, 1, 1]])


def test_makers_of_constants_that_only_multiply():
    check_grads(lambda d: np.fft.fftfreq(5, d), (0.5,))
    check_grads(lambda d: np.fft.rfftfreq(4, d=d), (0.5,))
    check_grads(lambda a: np.fromfunction(lambda i, j: a * i - j, (2, 3)), (0.5,))


def test_layout_is_what_was_asked_for():
    v = ld.Variable(X)
    assert ld.value(np.asfortranarray(v, like=v)).flags.f_contiguous
    assert ld.value(np.ascontiguousarray(v.T, like=v)).flags.c_contiguous
    assert np.require(v, None, "O", like=v) is v
    assert not np.shares_memory(ld.value(np.require(v[1:], None, "O", like=v)), ld.value(v))
    with pytest.raises(ValueError, match='both "C" and "F"'):
        np.require(v, None, ["C", "F"], like=v)
    with pytest.raises(KeyError, match="requirements"):
        np.require(v, None, ["X"], like=v)


def test_finite_check():
    call = operator.methodcaller("__array_function__", np.asarray_chkfinite, (), (ld.Variable([np.inf]),), {})
    with pytest.raises(ValueError, match="infs or NaNs"):
        call(ld.Variable([1.0]))
