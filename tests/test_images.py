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
