"""quantecon: a discrete Riccati equation by doubling."""

import numpy as np
import quantecon as qe

MODULES = ["quantecon"]
START = np.array([0.9, 0.3])


def f(x):
    A = np.array([[x[0], 0.1], [0.0, x[1]]])
    B = np.array([[1.0], [0.5]])
    X = qe.solve_discrete_riccati(A, B, np.eye(2), np.array([[1.0]]))
    return np.sum(X * np.arange(4.0).reshape(2, 2))
