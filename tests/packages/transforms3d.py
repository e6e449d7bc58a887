"""transforms3d: Euler angles and matrices."""

import numpy as np
from transforms3d import euler, quaternions

MODULES = ["transforms3d"]
START = np.array([0.1, 0.3, 0.2])


def f(x):
    M = euler.euler2mat(x[0], x[1], x[2])
    q = euler.euler2quat(x[0], x[1], x[2])
    return (
        np.sum(M * np.arange(9.0).reshape(3, 3))
        + np.sum(quaternions.quat2mat(q) ** 3)
        + np.sum(np.array(euler.mat2euler(M)) ** 2)
    )
