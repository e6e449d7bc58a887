"""fluids: the standard atmosphere."""

import numpy as np
from fluids.atmosphere import ATMOSPHERE_1976

MODULES = ["fluids"]
START = np.array([5000.0])


def f(x):
    a = ATMOSPHERE_1976(x[0])
    return a.T + a.rho * 10 + a.v_sonic
