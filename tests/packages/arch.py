"""arch: the variance recursion of GARCH (compiled)."""

import numpy as np
from arch.univariate import GARCH, Normal

MODULES = ["arch"]
START = np.array([0.1, 0.2, 0.7])
_r = np.random.default_rng(0).normal(size=20)


def f(x):
    s = np.ones(20)
    v = GARCH()
    s = v.compute_variance(x, _r, s, v.backcast(_r), v.variance_bounds(_r))
    return Normal().loglikelihood(np.empty(0), _r, s)
