"""ahrs: quaternions and a Madgwick filter's step."""

import ahrs
import numpy as np

MODULES = ["ahrs"]
START = np.array([0.9, 0.1, 0.3, 0.2])


def f(x):
    q = x / np.linalg.norm(x)
    m = ahrs.filters.Madgwick()
    y = m.updateIMU(q, np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 9.7]))
    return np.sum(ahrs.common.orientation.q2R(y) * np.arange(9.0).reshape(3, 3))
