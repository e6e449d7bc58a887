"""astropy: distances in a flat universe."""

import numpy as np
from astropy.cosmology import FlatLambdaCDM

MODULES = ["astropy"]
START = np.array([70.0, 0.3])


def f(x):
    return FlatLambdaCDM(H0=x[0], Om0=x[1]).comoving_distance(1.0).value * 1e-3
