"""haversine: a distance on the sphere."""

import numpy as np
from haversine import haversine

MODULES = ["haversine"]
START = np.array([45.7, 4.8])


def f(x):
    return haversine((x[0], x[1]), (48.8, 2.3)) * 1e-2
