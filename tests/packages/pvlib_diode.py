"""pvlib: the single-diode equation by Lambert's W."""

import numpy as np
import pvlib

MODULES = ["pvlib"]
START = np.array([7.0, 1e-9, 0.3])


def f(x):
    return pvlib.pvsystem.i_from_v(20.0, x[0], x[1], x[2], 300.0, 1.5) + pvlib.pvsystem.v_from_i(
        3.0, x[0], x[1], x[2], 300.0, 1.5
    )
