"""tensorly: a mode product and a norm."""

import numpy as np
import tensorly as tl
from tensorly.tenalg import mode_dot

MODULES = ["tensorly"]
START = np.array([0.1, 0.3, 0.2, 0.5])


def f(x):
    T = np.arange(8.0).reshape(2, 2, 2)
    return tl.norm(mode_dot(T, x.reshape(2, 2), 0)) + np.sum(tl.unfold(T * x[0], 1))
