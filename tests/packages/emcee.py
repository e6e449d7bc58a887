"""emcee: the integrated autocorrelation time."""

import emcee
import numpy as np

MODULES = ["emcee"]
_noise = np.random.default_rng(0).normal(size=(64,))
START = np.array([0.4])


def f(x):
    y = [0.0]
    for e in _noise:
        y.append(x[0] * y[-1] + e)
    return emcee.autocorr.function_1d(np.stack([v + 0 * x[0] for v in y]))[1]
