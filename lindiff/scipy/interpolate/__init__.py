"""``scipy.interpolate`` with derivatives, with respect to points, data and where the data are.

Interpolants are SciPy's, whose arrays may be Variables; of plain arrays they take Variables as points.  What
SciPy has besides is here, too, for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import interpolate
>>> y = np.array([0.0, 1.0, 4.0, 9.0])
>>> ld.grad(interpolate.CubicSpline(np.arange(4.0), y))(1.5).round(6)
np.float64(3.0)
"""

import scipy.interpolate

from lindiff.scipy._rest import names_of, rest_of
from lindiff.scipy.interpolate.bsplines import BSpline, make_interp_spline
from lindiff.scipy.interpolate.grids import RegularGridInterpolator
from lindiff.scipy.interpolate.lines import interp1d
from lindiff.scipy.interpolate.piecewise import CubicSpline, PPoly

__all__ = [
    "BSpline",
    "CubicSpline",
    "PPoly",
    "RegularGridInterpolator",
    "interp1d",
    "make_interp_spline",
]

__getattr__ = rest_of(
    scipy.interpolate,
    {
        "interpn": "write RegularGridInterpolator(points, values)(xi)",
        "splev": "write BSpline(t, c, k)(x)",
        "splrep": "write make_interp_spline",
    },
)


__dir__ = names_of(scipy.interpolate, __all__)
