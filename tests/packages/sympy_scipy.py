"""sympy: lambdify to SciPy."""

import numpy as np
import sympy as sp

MODULES = []
_a, _b = sp.symbols("a b")
_of = sp.lambdify((_a, _b), sp.erf(_a) * sp.besselj(1, _b) + sp.loggamma(_a), "scipy")
START = np.array([1.2, 0.4])


def f(x):
    return _of(x[0], x[1])
