"""geopy: the great-circle distance."""

import numpy as np
from geopy.distance import great_circle

MODULES = ["geopy"]
START = np.array([45.7, 4.8])


def f(x):
    return great_circle((x[0], x[1]), (48.8, 2.3)).km * 1e-2
