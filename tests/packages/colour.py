"""colour-science: from XYZ to CIE Lab and a colour difference."""

import colour
import numpy as np

MODULES = ["colour"]
START = np.array([0.2, 0.3, 0.1])


def f(x):
    lab = colour.XYZ_to_Lab(x)
    return colour.delta_E(lab, np.array([50.0, 10.0, 10.0]), method="CIE 1976") + np.sum(
        colour.XYZ_to_sRGB(x)
    )
