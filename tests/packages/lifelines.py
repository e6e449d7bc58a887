"""lifelines: the negative log-likelihood of a Weibull fitter."""

import numpy as np
from lifelines import WeibullFitter

MODULES = ["lifelines"]
START = np.array([2.0, 1.3])
_t = np.array([1.0, 2.0, 3.0, 1.5])


def f(x):
    w = WeibullFitter()
    return np.sum(w._cumulative_hazard(x, _t)) + np.sum(w._log_hazard(x, _t))
