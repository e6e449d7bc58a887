"""python-control: gains of a linear-quadratic regulator."""

import control
import numpy as np

MODULES = ["control"]
START = np.array([1.0, 0.3])


def f(x):
    A = np.array([[0.0, 1.0], [-x[0], -x[1]]])
    K, S, _ = control.lqr(A, np.array([[0.0], [1.0]]), np.eye(2), np.array([[1.0]]), method="scipy")
    return np.sum(K) + np.sum(S)
