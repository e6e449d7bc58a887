"""logsumexp, softmax and log_softmax of plain arrays: compiled, against SciPy and their formulas."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import lindiff as ld
from lindiff.scipy import special

SHAPES = [(1,), (4,), (700,), (3, 4), (4, 1), (1, 4), (2, 3, 4), (40, 30)]
FUNCTIONS = ["logsumexp", "softmax", "log_softmax"]


def numbers(shape, dtype=float, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def pulled(name, x, y_bar, axis):
    """Jᴴ y_bar by the formula, of a cotangent whose axes are kept."""
    p = scipy.special.softmax(x, axis)
    if name == "logsumexp":
        return p * y_bar
    if name == "softmax":
        return p * (y_bar - np.sum(p * y_bar, axis=axis, keepdims=True))
    return y_bar - p * np.sum(y_bar, axis=axis, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_derivatives(shape, name, dtype):
    x = 5 * numbers(shape, dtype)
    options = {"keepdims": True} if name == "logsumexp" else {}
    tolerance = {"rtol": 2e-5, "atol": 2e-6} if dtype is np.float32 else {"rtol": 1e-11, "atol": 1e-13}
    for axis in (None, (0, -1) if len(shape) > 1 else 0, *range(-len(shape), len(shape))):

        def f(x, axis=axis):
            return getattr(special, name)(x, axis=axis, **options)

        value, pullback = ld.vjp(f, x)
        assert value.dtype == dtype
        np.testing.assert_allclose(value, getattr(scipy.special, name)(x, axis=axis, **options), **tolerance)
        y_bar, x_dot = numbers(value.shape, dtype, 1), numbers(shape, dtype, 2)
        np.testing.assert_allclose(pullback(y_bar)[0], pulled(name, x, y_bar, axis), **tolerance)
        np.testing.assert_allclose(pullback(np.asfortranarray(y_bar))[0], pullback(y_bar)[0], **tolerance)
        tangent = ld.jvp(f, (x,), (x_dot,))[1]
        np.testing.assert_allclose(
            np.sum(tangent * y_bar),
            np.sum(pullback(y_bar)[0] * x_dot),
            rtol=1e-3 if dtype is np.float32 else 1e-9,
        )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_order_and_jacobians(name):
    x = numbers((3, 4))
    for axis in (None, 0, 1):

        def f(x, axis=axis):
            return np.sin(getattr(special, name)(x, axis=axis))

        ld.testing.check_grads(f, (x,))
        np.testing.assert_allclose(
            ld.jacobian(f, mode="reverse")(x), ld.jacobian(f, mode="forward")(x), atol=1e-14
        )


def test_small_terms_are_not_lost():
    x = np.array([0.0, -40.0, -45.0])
    small = np.exp(-40.0) + np.exp(-45.0)
    np.testing.assert_allclose(ld.vjp(special.logsumexp, x)[0], small, rtol=1e-14)
    np.testing.assert_allclose(ld.vjp(special.logsumexp, np.repeat(x, 2))[0], np.log(2) + small, rtol=1e-14)
    columns = np.stack([x, x], axis=1)
    np.testing.assert_allclose(ld.vjp(lambda x: special.logsumexp(x, axis=0), columns)[0], small, rtol=1e-14)


@pytest.mark.parametrize("large", [1e3, -1e3, 1e300])
def test_no_overflow(large):
    x = np.array([large, large])
    value, gradient = ld.value_and_grad(special.logsumexp)(x)
    assert value == large + np.log(2)
    assert gradient.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("x", [[np.inf, 0.0], [-np.inf, -np.inf], [-np.inf, 1.0], [np.inf, np.inf]])
def test_infinite_terms(x):
    value, gradient = ld.value_and_grad(special.logsumexp)(np.array(x))
    assert value == scipy.special.logsumexp(x)
    top = np.equal(x, np.max(x))
    np.testing.assert_array_equal(gradient, top / np.sum(top))


def test_nan_stays():
    assert np.isnan(ld.vjp(special.logsumexp, np.array([np.nan, 1.0]))[0])
    assert np.isnan(ld.vjp(special.softmax, np.array([np.nan, 1.0]))[0]).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_axes_that_are_not_there(name):
    for axis in (2, (0, 0), (0, -2)):
        with pytest.raises((ValueError, IndexError)) as scipys:
            getattr(scipy.special, name)(np.ones((2, 3)), axis=axis)
        with pytest.raises(type(scipys.value)):
            ld.vjp(lambda x: getattr(special, name)(x, axis=axis), np.ones((2, 3)))  # noqa: B023
