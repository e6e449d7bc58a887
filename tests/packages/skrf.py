"""scikit-rf: cascading of scattering parameters."""

import numpy as np
import skrf

MODULES = ["skrf"]
START = np.array([0.1, 0.3])


def f(x):
    S = np.array([[[x[0], 0.5], [0.5, x[1]]]]) + 0j
    return np.sum(np.abs(skrf.network.s2z(S)) ** 2) + np.sum(np.abs(skrf.network.s2t(S)))
