"""filterpy: an unscented filter's sigma points."""

import numpy as np
from filterpy.kalman import MerweScaledSigmaPoints, unscented_transform

MODULES = ["filterpy"]
START = np.array([1.0, 0.3])


def f(x):
    points = MerweScaledSigmaPoints(n=2, alpha=0.3, beta=2.0, kappa=1.0)
    s = points.sigma_points(x, np.array([[1.0, 0.2], [0.2, 2.0]]))
    mean, cov = unscented_transform(np.sin(s), points.Wm, points.Wc)
    return np.sum(mean) + np.sum(cov)
