"""python-control: frequency response of a state space."""

import control
import numpy as np

MODULES = ["control"]
START = np.array([1.0, 0.3])


def f(x):
    A = np.array([[0.0, 1.0], [-x[0], -x[1]]])
    G = control.ss(A, np.array([[0.0], [1.0]]), np.array([[1.0, 0.0]]), np.array([[0.0]]))
    return abs(G(1j * 0.7))
