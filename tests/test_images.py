"""``lindiff.scipy.ndimage``: refusals and sizes; values and derivatives are in table_images.py."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage

import lindiff as ld
from lindiff.scipy import ndimage
from lindiff.testing import check_grads

X = np.random.default_rng(0).standard_normal((6, 5))


def test_the_adjoint_of_the_spline_is_that_of_long_lines_too():
    x, at = np.random.default_rng(1).standard_normal(100), np.linspace(-3.0, 102.0, 40)[None]
    for mode in ("reflect", "mirror", "grid-wrap", "nearest"):
        check_grads(lambda x, mode=mode: ndimage.map_coordinates(x, at, mode=mode, order=5), (x,), order=1)


def test_single_precision_stays():
    x = X.astype(np.float32)
    calls = [
        lambda x: ndimage.gaussian_filter(x, 1.0),
        lambda x: ndimage.shift(x, 0.3),
        lambda x: ndimage.map_coordinates(x, np.full((2, 3), 1.5)),
    ]
    for call in calls:
        gradient = ld.grad(lambda x, call=call: np.sum(call(x) ** 2))(x)
        assert gradient.dtype == np.float32
        exact = ld.grad(lambda x, call=call: np.sum(call(x) ** 2))(x.astype(np.float64))
        np.testing.assert_allclose(gradient, exact, rtol=1e-4, atol=1e-5)


def test_a_dtype_as_output_and_complex_images():
    y = ld.vjp(lambda x: ndimage.gaussian_filter(x, 1.0, output=np.float32), X)[0]
    assert y.dtype == np.float32
    z = X + 1j * X[::-1]
    check_grads(lambda z: ndimage.shift(z, 0.3), (z,))
    np.testing.assert_allclose(ld.vjp(lambda z: ndimage.shift(z, 0.3), z)[0], scipy.ndimage.shift(z, 0.3))


def test_axes_of_windows():
    """Since SciPy 1.15."""
    w = np.random.default_rng(2).standard_normal((2, 3))
    try:
        scipy.ndimage.convolve(X, w, axes=(0, 1))
    except TypeError:
        pytest.skip("SciPy has no axes here")
    stack = np.stack([X, X[::-1] ** 2], axis=1)
    check_grads(lambda x, w: ndimage.convolve(x, w, axes=(0, 2), origin=(0, -1)), (stack, w), order=1)
    check_grads(lambda x, w: ndimage.correlate(x, w[0], axes=(2,), mode="wrap"), (stack, w), order=1)
    with pytest.raises(TypeError, match="ascending order"):
        ld.vjp(lambda x: ndimage.convolve(x, w, axes=(2, 0)), stack)


def test_half_way_between_two_pixels():
    """Rounding decides which of them counts: the derivative is of the one that SciPy takes."""
    for angle in (0.0, 90.0, 180.0, -73.9):
        check_grads(lambda x, angle=angle: ndimage.rotate(x, angle, order=0), (X[:2, :3],), order=1)


MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]


@pytest.mark.parametrize("mode", MODES)
def test_linear_functions_are_their_own_derivatives(mode):
    """Also far outside, and exactly half way between pixels, where rounding decides."""
    rng = np.random.default_rng(3)
    for order in range(6):
        x, x_dot = rng.standard_normal((2, 5, 1 + order // 2))
        at, by = (
            np.round(rng.uniform(-20.0, 20.0, (2, 12)) * 2) / 2,
            np.round(rng.uniform(-9.0, 9.0, 2) * 2) / 2,
        )
        how = {"order": order, "mode": mode, "prefilter": order != 4}
        matrix = np.round(rng.standard_normal((2, 2)) * 2) / 2
        calls = [
            lambda x, at=at, how=how: ndimage.map_coordinates(x, at, **how),
            lambda x, by=by, how=how: ndimage.shift(x, by, **how),
            lambda x, matrix=matrix, how=how: ndimage.affine_transform(x, matrix, 0.5, **how),
            lambda x, how=how: ndimage.rotate(x, 30.0, **how),
            lambda x, how=how: ndimage.zoom(x, [1.7, 2.3], grid_mode=mode.startswith("grid"), **how),
        ]
        for call in calls:
            y, linear = ld.linearize(call, x)
            np.testing.assert_allclose(linear(x_dot), call(x_dot), rtol=1e-9, atol=1e-11)
            np.testing.assert_allclose(
                np.sum(y * linear(x_dot)), np.sum(linear.T(y)[0] * x_dot), rtol=1e-8, atol=1e-10
            )


def test_registration_of_two_images():
    """The shift between two images by Gauss-Newton: what such derivatives are for."""
    ticks = np.arange(20.0)
    blob = np.exp(-0.05 * ((ticks[:, None] - 9.0) ** 2 + (ticks - 10.0) ** 2))
    moved = scipy.ndimage.shift(blob, [1.3, -0.7])
    by = np.zeros(2)
    for _ in range(8):
        residual, J = moved - ndimage.shift(blob, by), ld.jacobian(lambda by: ndimage.shift(blob, by))(by)
        by = by + np.linalg.lstsq(J.reshape(-1, 2), residual.ravel(), rcond=None)[0]
    np.testing.assert_allclose(by, [1.3, -0.7], atol=1e-6)


@pytest.mark.filterwarnings("ignore:The behavior of affine_transform")
def test_affine_transform_by_factors():
    def stretched(x, factors):
        return ndimage.affine_transform(x, factors, 0.27)

    factors = np.array([0.83, 1.07])
    expected = scipy.ndimage.affine_transform(X, factors, 0.27)
    np.testing.assert_array_equal(ld.vjp(stretched, X, factors)[0], expected)
    check_grads(stretched, (X, factors), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda x: ndimage.gaussian_filter(x, 1.0, output=np.zeros((6, 5))),
            TypeError,
            "y = gaussian_filter",
        ),
        (lambda x: ndimage.zoom(x, 2, output=int), TypeError, "astype"),
        (lambda x: ndimage.convolve(x, np.ones(3)), RuntimeError, "match|shape"),
        (lambda x: ndimage.convolve(x, np.ones((3, 3)), origin=5), ValueError, "[Ii]nvalid origin"),
        (lambda x: ndimage.correlate(x, np.ones((3, 3)), mode="half"), RuntimeError, "not supported"),
        (lambda x: ndimage.shift(x, 1.0, mode="half"), RuntimeError, "not supported"),
        (lambda x: ndimage.shift(x, 1.0, order=7), RuntimeError, "order"),
        (lambda x: ndimage.shift(x, [1.0]), RuntimeError, "sequence"),
        (lambda x: ndimage.map_coordinates(x, np.ones((3, 2))), RuntimeError, "coordinate"),
        (lambda x: ndimage.gaussian_laplace(x, 1.0, axes=(0,)), TypeError, "order 2"),
        (lambda x: ndimage.median_filter(x, 3), TypeError, "scipy.ndimage.median_filter has no derivative"),
    ],
)
def test_refusals(call, error, says):
    with pytest.raises(error, match=says):
        ld.vjp(lambda x: call(x), X)
