"""astropy: a model's evaluate function."""

import numpy as np
from astropy.modeling.functional_models import Gaussian1D, Lorentz1D, Sersic1D

MODULES = ["astropy"]
START = np.array([1.0, 0.2, 0.7])
_t = np.linspace(0.1, 2, 9)


def f(x):
    return (
        np.sum(Gaussian1D.evaluate(_t, *x) ** 2)
        + np.sum(Lorentz1D.evaluate(_t, *x))
        + np.sum(Sersic1D.evaluate(_t, x[0], x[2], 1.5))
    )
