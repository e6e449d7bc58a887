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

# SciPy's minimizers of functions, whose results have no derivatives.
_OTHER_SEARCHES = [
    *("basinhopping", "bracket", "brent", "brute", "differential_evolution", "direct", "dual_annealing"),
    *(
        "fmin",
        "fmin_bfgs",
        "fmin_cg",
        "fmin_cobyla",
        "fmin_l_bfgs_b",
        "fmin_ncg",
        "fmin_powell",
        "fmin_slsqp",
    ),
    *("fmin_tnc", "fminbound", "golden", "minimize_scalar", "shgo"),
]

__getattr__ = rest_of(
    scipy.optimize,
    {
        "leastsq": "search with least_squares",
        **dict.fromkeys(["fsolve", "broyden1", "anderson", "newton_krylov"], "search with root"),
        **dict.fromkeys(_OTHER_SEARCHES, "give what it finds to minimize, whose x has derivatives"),
    },
)


__dir__ = names_of(scipy.optimize, __all__)
