"""fluids: friction factor and pressure drop of a pipe (math functions, Python numbers)."""

import fluids
import numpy as np

MODULES = ["fluids"]
START = np.array([1e5, 1e-4, 0.7])


def f(x):
    return (
        fluids.friction_factor(Re=x[0], eD=x[1]) * x[2]
        + fluids.core.Reynolds(V=x[2], rho=1.2, mu=1e-3, D=0.1) * 1e-3
    )
