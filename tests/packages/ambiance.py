"""ambiance: the standard atmosphere."""

import numpy as np
from ambiance import Atmosphere

MODULES = ["ambiance"]
START = np.array([1000.0, 12000.0])


def f(x):
    a = Atmosphere(x)
    return np.sum(a.temperature) + np.sum(a.pressure) * 1e-3 + np.sum(a.speed_of_sound)
