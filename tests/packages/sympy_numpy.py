"""sympy: lambdify to NumPy, with a matrix."""

import numpy as np
import sympy as sp

MODULES = []
_a, _b = sp.symbols("a b")
_of = sp.lambdify(
    (_a, _b),
    sp.Matrix([[sp.sin(_a) * _b, sp.exp(_b)], [sp.sqrt(_a), sp.Piecewise((_a, _a > 0), (_b, True))]]),
    "numpy",
)
START = np.array([1.2, 0.4])


def f(x):
    return np.sum(_of(x[0], x[1]) ** 2)
