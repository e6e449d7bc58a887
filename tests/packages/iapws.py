"""iapws: properties of water and steam, industrial formulation."""

import numpy as np
from iapws.iapws97 import _Region1

MODULES = ["iapws"]
START = np.array([300.0, 3.0])


def f(x):
    r = _Region1(x[0], x[1])
    return r["h"] * 1e-2 + r["s"] + r["v"] * 1e3
