"""geographiclib: a geodesic's length."""

import numpy as np
from geographiclib.geodesic import Geodesic

MODULES = ["geographiclib"]
START = np.array([40.6, -73.8, 51.6])


def f(x):
    return Geodesic.WGS84.Inverse(x[0], x[1], x[2], -0.5)["s12"] * 1e-6
