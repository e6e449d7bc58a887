"""py_vollib: Black and Scholes in Python."""

import numpy as np
from py_vollib.ref_python.black_scholes import black_scholes

MODULES = ["py_vollib", "vollib"]
START = np.array([100.0, 0.2])


def f(x):
    return black_scholes("c", x[0], 90.0, 0.5, 0.01, x[1])
