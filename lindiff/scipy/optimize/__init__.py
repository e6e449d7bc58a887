"""``scipy.optimize`` with exact derivatives: ``minimize``, ``least_squares``, ``root`` of any tree of arrays.

SciPy searches as ever; it gets gradients, Hessian products and Jacobians of the function instead of finite
differences.  What they find has derivatives itself, by the implicit function theorem.
What SciPy has besides is here, too.

Examples
--------
>>> import numpy as np
>>> from lindiff.scipy import optimize
>>> print(optimize.minimize(lambda x: np.sum((x - 3.0) ** 2), np.zeros((2, 2))).x.round(6))
[[3. 3.]
 [3. 3.]]
"""

import scipy.optimize

from lindiff.scipy._rest import names_of, rest_of
from lindiff.scipy.optimize.equations import fixed_point, least_squares, root
from lindiff.scipy.optimize.fits import curve_fit, nnls
from lindiff.scipy.optimize.minimizers import minimize
from lindiff.scipy.optimize.roots import bisect, brenth, brentq, newton, ridder, root_scalar, toms748
from lindiff.scipy.optimize.rosenbrock import rosen

__all__ = [
    "bisect",
    "brenth",
    "brentq",
    "curve_fit",
    "fixed_point",
    "least_squares",
    "minimize",
    "newton",
    "nnls",
    "ridder",
    "root",
    "root_scalar",
    "rosen",
    "toms748",
]

__getattr__ = rest_of(
    scipy.optimize,
    {"minimize_scalar": "search with minimize"},
)


__dir__ = names_of(scipy.optimize, __all__)
