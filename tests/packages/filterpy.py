"""filterpy: a Kalman filter."""

import numpy as np
from filterpy.kalman import KalmanFilter

MODULES = ["filterpy"]
START = np.array([0.1, 0.5])


def f(x):
    kf = KalmanFilter(dim_x=2, dim_z=1)
    kf.F = np.array([[1.0, 1.0], [0.0, 1.0]])
    kf.H = np.array([[1.0, 0.0]])
    kf.Q = np.eye(2) * x[0]
    kf.R = np.array([[1.0]]) * x[1]
    total = 0.0
    for z in [0.9, 2.1, 2.9, 4.2]:
        kf.predict()
        kf.update(z)
        total = total + kf.log_likelihood
    return total + np.sum(kf.x)
