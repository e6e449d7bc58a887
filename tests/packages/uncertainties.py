"""uncertainties: propagated errors."""

import numpy as np
from uncertainties import ufloat, umath

MODULES = ["uncertainties"]
START = np.array([1.2, 0.1])


def f(x):
    u = ufloat(x[0], x[1])
    y = umath.sin(u) * u
    return y.nominal_value + y.std_dev
