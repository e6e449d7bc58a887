"""bilby: priors."""

import numpy as np
from bilby.core.prior import Gaussian, PowerLaw, Uniform

MODULES = ["bilby"]
START = np.array([0.3, 1.5])


def f(x):
    return (
        Gaussian(0.1, 1.2).ln_prob(x[0])
        + PowerLaw(2.0, 1.0, 3.0).prob(x[1])
        + Uniform(0, 1).rescale(x[0])
        + Gaussian(0.0, 1.0).rescale(x[0])
    )
