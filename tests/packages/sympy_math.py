"""sympy: lambdify to math."""

import numpy as np
import sympy as sp

MODULES = []
_a, _b = sp.symbols("a b")
_of = sp.lambdify((_a, _b), sp.sin(_a) * sp.exp(_b) + sp.sqrt(_a) + sp.gamma(_b) + sp.Max(_a, _b), "math")
START = np.array([1.2, 0.4])


def f(x):
    return _of(x[0], x[1])
