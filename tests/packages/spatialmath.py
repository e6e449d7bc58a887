"""spatialmath: rotations and twists."""

import numpy as np
from spatialmath import base

MODULES = ["spatialmath"]
START = np.array([0.3, -0.2, 0.5])


def f(x):
    R = base.rotx(x[0]) @ base.roty(x[1]) @ base.rotz(x[2])
    return (
        np.sum(R * np.arange(9.0).reshape(3, 3)) + np.sum(base.rpy2r(x) ** 3) + np.sum(base.exp2r(x)[0])
        if hasattr(base, "exp2r")
        else np.sum(R * np.arange(9.0).reshape(3, 3)) + np.sum(base.rpy2r(x) ** 3)
    )
