"""pykalman: the log-likelihood."""

import numpy as np
from pykalman import KalmanFilter

MODULES = ["pykalman"]
START = np.array([0.9, 0.5])
_data = np.array([[0.9], [2.1], [2.9], [4.2]])


def f(x):
    kf = KalmanFilter(
        transition_matrices=np.array([[x[0]]]),
        observation_matrices=np.eye(1),
        transition_covariance=np.array([[x[1]]]),
        observation_covariance=np.eye(1),
        initial_state_mean=np.zeros(1),
        initial_state_covariance=np.eye(1),
    )
    return kf.loglikelihood(_data)
