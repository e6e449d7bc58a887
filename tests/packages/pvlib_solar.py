"""pvlib: irradiance and the angle of incidence."""

import numpy as np
import pvlib

MODULES = ["pvlib"]
START = np.array([30.0, 40.0, 500.0])


def f(x):
    aoi = pvlib.irradiance.aoi(x[0], 180.0, x[1], 170.0)
    return (
        aoi
        + pvlib.irradiance.haydavies(x[0], 180.0, 100.0, x[2], 1400.0, x[1], 170.0) * 0.1
        + pvlib.atmosphere.get_relative_airmass(x[1])
        + pvlib.iam.ashrae(aoi)
    )
