"""bilby: conversions of gravitational-wave parameters."""

import numpy as np
from bilby.gw import conversion

MODULES = ["bilby"]
START = np.array([30.0, 20.0])


def f(x):
    return conversion.component_masses_to_chirp_mass(
        x[0], x[1]
    ) + conversion.component_masses_to_symmetric_mass_ratio(x[0], x[1])
