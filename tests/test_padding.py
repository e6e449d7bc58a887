"""np.pad: functions as modes, edges, errors."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import lindiff as ld
from lindiff.testing import check_grads

X = np.array([[1.0, 2.0, 4.0], [3.0, -1.0, 0.5]])


def with_sums(vector, width, axis, kwargs):
    """Pads a vector with multiples of its sum."""
    factor = kwargs.get("factor", 1.0)
    total = vector[width[0] : len(vector) - width[1]].sum()
    vector[: width[0]] = factor * total
    vector[len(vector) - width[1] :] = factor * total * (axis + 2)


@pytest.mark.parametrize("width", [1, ((1, 2), (0, 3)), ((0, 0), (2, 1))])
def test_a_function_as_mode(width):
    padded = ld.value(np.pad(ld.Variable(X), width, with_sums, factor=0.5))
    assert_array_equal(padded, np.pad(X, width, with_sums, factor=0.5))
    check_grads(lambda x: np.pad(x * x, width, with_sums, factor=0.5), (X,))


def test_a_function_as_mode_of_an_empty_array():
    assert np.pad(ld.Variable(np.zeros((0, 2))), ((0, 0), (1, 1)), with_sums).shape == (0, 4)


def test_odd_reflections_are_numpys_however_wide():
    for n in range(1, 5):
        x = np.arange(1.0, n + 1) ** 2
        for mode in ["reflect", "symmetric"]:
            for width in [(0, 11), (7, 2), (3, 3)]:
                padded = np.pad(ld.Variable(x), width, mode, reflect_type="odd")
                assert_array_equal(ld.value(padded), np.pad(x, width, mode, reflect_type="odd"))


def test_ties_of_a_padding_extreme_share():
    gradient = ld.grad(lambda x: np.pad(x, (0, 2), "maximum")[-1])(np.array([1.0, 3.0, 3.0]))
    assert_array_equal(gradient, [0, 0.5, 0.5])


def test_constants_may_be_variables_in_a_list():
    def f(a):
        return np.pad(a * np.ones(2), (1, 2), constant_values=[a, 3.0 * a])

    check_grads(f, (2.0,))


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="widths by axis came with NumPy 2.4"
)
def test_widths_by_axis():
    for width in [{-1: (1, 2)}, {0: 2, 1: (0, 1)}]:
        for mode in ["constant", "mean", "wrap"]:
            assert_array_equal(ld.value(np.pad(ld.Variable(X), width, mode)), np.pad(X, width, mode))


def test_what_is_padded_by_nothing_is_a_copy_in_nested_derivatives():
    def times_itself(z):
        y = np.pad(z, [(0, 0)])
        y[0] = 5.0
        return np.sum(y * z)

    def of_gradient(x):
        gradient = ld.grad(times_itself)(x)  # (5, 2 x_1)
        return gradient[0] + np.sum(gradient**2)

    x = np.array([2.0, 3.0])
    assert of_gradient(x) == 66.0
    assert_array_equal(ld.grad(of_gradient)(x), [0.0, 24.0])


def test_widths_are_those_of_the_call():
    widths = [(1, 0)]
    _, lin = ld.linearize(lambda x: np.pad(x, widths), np.ones(2))
    widths[0] = (0, 3)
    assert_array_equal(lin(np.ones(2)), [0.0, 1.0, 1.0])


def test_single_precision_stays():
    x = X.astype("f4")
    modes = ["linear_ramp", "mean", "median", "reflect", "edge", "constant", "maximum"]
    for mode in modes:
        assert np.pad(ld.Variable(x), 1, mode).dtype == np.float32
    assert np.pad(ld.Variable(x), 2, "reflect", reflect_type="odd").dtype == np.float32


def test_errors_are_those_of_numpy():
    v = ld.Variable(X)
    for arguments, error, message in [
        ((1.5,), TypeError, "integral type"),
        ((-1,), ValueError, "negative"),
        ((1, "other"), ValueError, "mode 'other' is not supported"),
        (([1, 2, 3],), ValueError, "broadcast"),
    ]:
        with pytest.raises(error, match=message):
            np.pad(v, *arguments)
    with pytest.raises(ValueError, match="unsupported keyword arguments for mode 'edge'"):
        np.pad(v, 1, "edge", stat_length=2)
    with pytest.raises(ValueError, match="stat_length of 0"):
        np.pad(v, 1, "maximum", stat_length=0)
    with pytest.raises(ValueError, match="empty axis"):
        np.pad(v[:0], 1, "wrap")


def test_all_modes_of_numpy_are_there():
    documented = set(inspect.getdoc(np.pad).split("mode : str")[1].split("stat_length :")[0].split("'"))
    from lindiff.rules.padding import KEYWORDS

    assert set(KEYWORDS) <= documented
