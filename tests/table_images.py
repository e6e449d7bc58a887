"""Records of ``lindiff.scipy.ndimage``."""

from __future__ import annotations

import numpy as np
import scipy.ndimage
from table import Operator, sample

from lindiff.scipy import ndimage

MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap"]
SMALL_STEPS = 1e-6  # places move the pixels that count: differences of splines lose digits


def of_numbers(function):
    """Older versions of SciPy know no arrays without axes."""

    def call(*args, **options):
        return function(*(x[()] if np.shape(x) == () and hasattr(x, "dtype") else x for x in args), **options)

    return call


def named(name, samples, **options):
    return Operator(
        f"scipy.ndimage.{name}",
        getattr(ndimage, name),
        samples,
        call=of_numbers(getattr(ndimage, name)),
        reference=of_numbers(getattr(scipy.ndimage, name)),
        **options,
    )


def windows(rng):
    for k, mode in enumerate(MODES):
        shape = [(3, 3), (2, 4), (2, 3)][k % 3]
        yield sample(rng.standard_normal((5, 4)), rng.standard_normal(shape), mode=mode, cval=0.5)
    yield sample(rng.standard_normal((5, 4)), rng.standard_normal((4, 3)), origin=(1, 0))
    yield sample(rng.standard_normal((2, 3)), rng.standard_normal((5, 7)), mode="mirror")
    yield sample(rng.standard_normal(4), rng.standard_normal(3), mode="constant", cval=np.array(0.25))


def lines(rng):
    for k, mode in enumerate(MODES):
        yield sample(rng.standard_normal((5, 4)), rng.standard_normal(3 + k % 2), k % 2, mode=mode, cval=0.5)
    yield sample(rng.standard_normal((5, 4)), rng.standard_normal(4), origin=1)


def bells(rng):
    sigma = np.array(0.8)
    for order in [0, 1, 2, 3, (0, 1)]:
        yield sample(rng.standard_normal((5, 4)), sigma, order)
    yield sample(rng.standard_normal((5, 4)), np.array([0.7, 1.1]), mode=["wrap", "constant"], cval=0.3)
    yield sample(rng.standard_normal((5, 4)), [0.7, 0.0], truncate=3.0)
    yield sample(rng.standard_normal(6), sigma, radius=1)


def bells_along(rng):
    for axis, order, mode in [(0, 0, "reflect"), (1, 1, "nearest"), (-1, 2, "constant")]:
        yield sample(rng.standard_normal((5, 4)), np.array(0.8), axis, order, mode=mode, cval=0.4)


def images(*arguments):
    return lambda rng: [sample(rng.standard_normal((5, 4)), *args) for args in arguments]


def places(rng):
    at = np.stack([rng.uniform(-4.0, 8.0, 6), rng.uniform(-5.0, 9.0, 6)])
    for k, mode in enumerate(MODES):
        order = [3, 1, 2, 5, 3, 4, 0, 3][k]
        yield sample(rng.standard_normal((5, 4)), at, order=order, mode=mode, cval=0.5)
    for mode in ["constant", "nearest", "grid-constant", "reflect"]:
        yield sample(rng.standard_normal((5, 4)), at, mode=mode)
    yield sample(rng.standard_normal(6), at[:1], order=2, prefilter=False)


def shifts(rng):
    for mode in MODES:
        yield sample(rng.standard_normal((5, 4)), np.array([0.3, -1.4]), mode=mode, cval=0.5)
    yield sample(rng.standard_normal((5, 4)), np.array(0.3), order=1, cval=np.array(0.7))
    yield sample(rng.standard_normal((5, 4)), 0.7, order=2, mode="nearest", prefilter=False)
    yield sample(rng.standard_normal((1, 4)), 0.2, mode="mirror")


def zooms(rng):
    for k, mode in enumerate(MODES):
        yield sample(rng.standard_normal((4, 3)), [1.6, (0.5, 2), 2][k % 3], mode=mode, cval=0.5)
    yield sample(rng.standard_normal((4, 3)), 2, mode="grid-wrap", grid_mode=True)
    yield sample(rng.standard_normal((4, 3)), 1)


def affine(rng):
    matrix, offset = np.array([[0.91, 0.21], [-0.09, 1.11]]), np.array([0.3, -0.4])
    for mode in ["constant", "reflect", "grid-wrap"]:
        yield sample(rng.standard_normal((5, 4)), matrix, offset, (4, 6), mode=mode)
    yield sample(rng.standard_normal((5, 4)), np.c_[matrix, offset], order=1)


def turns(rng):
    yield sample(rng.standard_normal((5, 4)), np.array(17.0))
    yield sample(rng.standard_normal((5, 4)), np.array(-33.0), reshape=False, mode="mirror")
    yield sample(rng.standard_normal((4, 2, 5)), np.array(40.0), axes=(0, 2), order=1)


OF_PLACES = {"rtol": SMALL_STEPS, "single": False}
OPERATORS = [
    named("convolve", windows, complex=True),
    named("correlate", windows, complex=True),
    named("convolve1d", lines, complex=True),
    named("correlate1d", lines, complex=True),
    named("gaussian_filter", bells),
    named("gaussian_filter1d", bells_along),
    named("gaussian_laplace", lambda rng: [sample(rng.standard_normal((5, 4)), np.array(0.7))]),
    named("uniform_filter", images((2,), ((3, 1),), (3, None, "constant", 0.5, (0, 1)))),
    named("uniform_filter1d", images((4, 0), (3, 1, None, "wrap", 0.0, 1))),
    named("sobel", images((), (0, None, "constant", 0.5))),
    named("prewitt", images((), (0, None, ["mirror", "wrap"]))),
    named("laplace", images((), (None, "constant", 0.5))),
    named("map_coordinates", places, **OF_PLACES),
    named("shift", shifts, **OF_PLACES),
    named("zoom", zooms, **OF_PLACES),
    named("affine_transform", affine, **OF_PLACES),
    named("rotate", turns, **OF_PLACES),
]
