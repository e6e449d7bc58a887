"""thermo: a cubic equation of state."""

import numpy as np
from thermo import PR

MODULES = ["thermo", "chemicals", "fluids"]
START = np.array([299.0, 1e6])


def f(x):
    eos = PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=x[0], P=x[1])
    return eos.V_l * 1e4 + eos.H_dep_l * 1e-4
