"""ht: correlations of heat transfer."""

import ht
import numpy as np

MODULES = ["ht", "fluids"]
START = np.array([1e5, 1.2])


def f(x):
    return (
        ht.conv_internal.turbulent_Dittus_Boelter(x[0], x[1]) * 1e-2
        + ht.conv_internal.turbulent_Gnielinski(Re=x[0], Pr=x[1], fd=0.02) * 1e-2
        + ht.radiation.blackbody_spectral_radiance(800.0, 4e-6) * 1e-9 * x[1]
    )
