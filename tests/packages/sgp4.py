"""sgp4: a satellite's place, by the pure Python propagator."""

import numpy as np
from sgp4.model import Satrec

MODULES = ["sgp4"]
START = np.array([0.0006703, 0.9])


def f(x):
    sat = Satrec()
    sat.sgp4init(1, "i", 25544, 25545.69339541, 3.8792e-05, 0.0, 0.0, x[0], 1.0, x[1], 0.5, 0.067, 1.2)
    _, r, v = sat.sgp4_tsince(10.0)
    return r[0] * 1e-3 + r[1] * 2e-3 + v[2]
