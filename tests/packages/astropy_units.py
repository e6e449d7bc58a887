"""astropy: unit conversions of quantities."""

import numpy as np
from astropy import units as u

MODULES = ["astropy"]
START = np.array([1.2, 0.4])


def f(x):
    q = x * u.km
    return np.sum((q.to(u.m) ** 2).value)
