"""lmfit: a model evaluated at parameters."""

import numpy as np
from lmfit.models import GaussianModel

MODULES = ["lmfit", "asteval"]
START = np.array([1.0, 0.2, 0.7])
_t = np.linspace(-2, 2, 9)
_model = GaussianModel()


def f(x):
    return np.sum(_model.eval(x=_t, amplitude=x[0], center=x[1], sigma=x[2]) ** 2)
