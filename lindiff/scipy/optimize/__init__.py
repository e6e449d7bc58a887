"""``scipy.optimize`` with exact derivatives: ``minimize``, ``least_squares``, ``root`` of any tree of arrays.

SciPy searches as ever; it gets gradients, Hessian products and Jacobians of the function instead of finite
differences.  What SciPy has besides is here, too.

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
from lindiff.scipy.optimize.equations import least_squares, root
from lindiff.scipy.optimize.minimizers import minimize
from lindiff.scipy.optimize.rosenbrock import rosen

__all__ = ["least_squares", "minimize", "root", "rosen"]

__getattr__ = rest_of(
    scipy.optimize,
    {"curve_fit": "fit with least_squares", "minimize_scalar": "search with minimize"},
)


__dir__ = names_of(scipy.optimize, __all__)
