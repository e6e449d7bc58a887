"""quantecon: a linear state space's stationary distribution and a Lyapunov equation."""

import numpy as np
import quantecon as qe

MODULES = ["quantecon"]
START = np.array([0.7, 0.3])


def f(x):
    A = np.array([[x[0], 0.1], [0.0, x[1]]])
    X = qe.solve_discrete_lyapunov(A, np.eye(2))
    return np.sum(X * np.arange(4.0).reshape(2, 2))
