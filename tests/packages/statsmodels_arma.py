"""statsmodels: an ARMA process' autocovariance and impulse response."""

import numpy as np
from statsmodels.tsa.arima_process import arma_acovf, arma_impulse_response

MODULES = ["statsmodels"]
START = np.array([0.5, 0.3])


def f(x):
    ar, ma = np.array([1.0, -x[0]]), np.array([1.0, x[1]])
    return np.sum(arma_acovf(ar, ma, 5) ** 2) + np.sum(arma_impulse_response(ar, ma, 5) ** 2)
