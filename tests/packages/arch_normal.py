"""arch: the log-likelihood of Student's t."""

import numpy as np
from arch.univariate import StudentsT

MODULES = ["arch"]
START = np.array([5.0, 1.3])
_r = np.random.default_rng(0).normal(size=20)


def f(x):
    return StudentsT().loglikelihood(x[:1], _r, x[1] * np.ones(20))
