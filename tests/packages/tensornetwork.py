"""tensornetwork: a contraction with the NumPy backend."""

import numpy as np
import tensornetwork as tn

MODULES = ["tensornetwork"]
START = np.array([0.1, 0.7, 1.4])


def f(x):
    a = tn.Node(x, backend="numpy")
    b = tn.Node(np.outer(x, np.ones(3)), backend="numpy")
    e = a[0] ^ b[0]
    c = tn.contract(e)
    return np.sum(c.tensor**2)
