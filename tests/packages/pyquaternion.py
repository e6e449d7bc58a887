"""pyquaternion: rotating a vector."""

import numpy as np
from pyquaternion import Quaternion

MODULES = ["pyquaternion"]
START = np.array([0.9, 0.1, 0.3, 0.2])


def f(x):
    q = Quaternion(w=x[0], x=x[1], y=x[2], z=x[3])
    return np.sum(q.rotate(np.array([1.0, 2.0, 3.0])) ** 2 * np.array([1.0, 2.0, 0.5]))
