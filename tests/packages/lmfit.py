"""lmfit: line shapes."""

import numpy as np
from lmfit import lineshapes

MODULES = ["lmfit"]
START = np.array([1.0, 0.2, 0.7])
_t = np.linspace(-2, 2, 9)


def f(x):
    return (
        np.sum(lineshapes.gaussian(_t, *x) ** 2)
        + np.sum(lineshapes.voigt(_t, *x))
        + np.sum(lineshapes.lorentzian(_t, *x))
        + np.sum(lineshapes.pearson7(_t, x[0], x[1], x[2], 1.5))
    )
