"""scikit-learn: metrics."""

import numpy as np
from sklearn.metrics import mean_squared_error, r2_score

MODULES = ["sklearn"]
START = np.array([0.1, 0.7, 1.4])
_y = np.array([0.0, 1.0, 1.5])


def f(x):
    return mean_squared_error(_y, x) + r2_score(_y, x)
