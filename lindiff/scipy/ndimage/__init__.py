"""``scipy.ndimage`` with derivatives: linear filters of images, and images at other places.

On plain arrays the functions are SciPy's own.  What SciPy has besides is here, too, for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import ndimage
>>> image = np.array([[0.0, 1.0], [2.0, 5.0]])
>>> ld.grad(lambda by: np.sum(ndimage.shift(image, by, order=1, mode="nearest")))(np.zeros(2) + 0.5)
array([-6., -4.])
"""

import scipy.ndimage

from lindiff.scipy._rest import names_of, rest_of
from lindiff.scipy.ndimage.filters import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_laplace,
    laplace,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from lindiff.scipy.ndimage.geometry import affine_transform, map_coordinates, rotate, shift, zoom

__all__ = [
    "affine_transform",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_laplace",
    "laplace",
    "map_coordinates",
    "prewitt",
    "rotate",
    "shift",
    "sobel",
    "uniform_filter",
    "uniform_filter1d",
    "zoom",
]

__getattr__ = rest_of(
    scipy.ndimage,
    {
        "gaussian_gradient_magnitude": "write it with gaussian_filter of order 1",
        "generic_gradient_magnitude": "write it with the filter for each axis",
        "generic_laplace": "write it with the filter for each axis",
        "geometric_transform": "write it with map_coordinates",
        "spline_filter": "map_coordinates and its kin filter by themselves",
        "spline_filter1d": "map_coordinates and its kin filter by themselves",
    },
)


__dir__ = names_of(scipy.ndimage, __all__)
