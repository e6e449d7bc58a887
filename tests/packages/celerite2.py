"""celerite2: a Gaussian process in compiled code."""

import celerite2
import numpy as np
from celerite2 import terms

MODULES = ["celerite2"]
START = np.array([1.0, 0.7])
_t = np.sort(np.random.default_rng(0).uniform(0, 5, 12))


def f(x):
    gp = celerite2.GaussianProcess(terms.SHOTerm(S0=x[0], w0=x[1], Q=0.3), mean=0.0)
    gp.compute(_t, yerr=0.1)
    return gp.log_likelihood(np.sin(_t))
