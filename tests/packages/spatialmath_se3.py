"""spatialmath: SE3 objects."""

import numpy as np
from spatialmath import SE3

MODULES = ["spatialmath"]
START = np.array([0.3, -0.2, 0.5])


def f(x):
    T = SE3.Rx(x[0]) * SE3.Tx(x[1]) * SE3.Rz(x[2])
    return np.sum(T.A * np.arange(16.0).reshape(4, 4))
