"""pvlib: cell temperature and spectral losses."""

import numpy as np
import pvlib

MODULES = ["pvlib"]
START = np.array([800.0, 25.0, 2.0])


def f(x):
    return (
        pvlib.temperature.sapm_cell(x[0], x[1], x[2], -3.47, -0.0594, 3)
        + pvlib.temperature.faiman(x[0], x[1], x[2])
        + pvlib.temperature.pvsyst_cell(x[0], x[1], x[2])
    )
