"""pymap3d: geodetic coordinates."""

import numpy as np
import pymap3d

MODULES = ["pymap3d"]
START = np.array([42.0, -82.0, 200.0])


def f(x):
    X, Y, Z = pymap3d.geodetic2ecef(x[0], x[1], x[2])
    e, n, u = pymap3d.ecef2enu(X, Y, Z, 42.1, -82.1, 100.0)
    return (e + 2 * n + 3 * u) * 1e-3
