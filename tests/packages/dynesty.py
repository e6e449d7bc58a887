"""dynesty: bounding ellipsoids' utilities."""

import numpy as np
from dynesty.utils import mean_and_cov

MODULES = ["dynesty"]
START = np.array([0.1, 0.3, 0.6])


def f(x):
    m, c = mean_and_cov(np.arange(6.0).reshape(3, 2) ** 2, x)
    return np.sum(m) + np.sum(c)
