"""chemicals: vapor pressure by Antoine and Lee-Kesler."""

import numpy as np
from chemicals.vapor_pressure import Antoine, Lee_Kesler

MODULES = ["chemicals", "fluids"]
START = np.array([350.0, 500.0])


def f(x):
    return Antoine(x[0], 8.95894, 510.595, -15.95) * 1e-5 + Lee_Kesler(x[0], x[1], 4e6, 0.3) * 1e-5
