"""statsmodels: the likelihood of a linear and of a logistic regression."""

import numpy as np
import statsmodels.api as sm

MODULES = ["statsmodels"]
_X = np.random.default_rng(0).normal(size=(8, 2))
_y = np.array([0.0, 1, 1, 0, 1, 0, 0, 1])
_ols, _logit, _poisson = sm.OLS(_y, _X), sm.Logit(_y, _X), sm.Poisson(_y, _X)
START = np.array([0.1, 0.3])


def f(x):
    return _ols.loglike(x) + _logit.loglike(x) + _poisson.loglike(x)
