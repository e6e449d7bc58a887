"""hmmlearn: the likelihood of a hidden Markov model, in compiled code."""

import numpy as np
from hmmlearn.hmm import GaussianHMM

MODULES = ["hmmlearn", "sklearn"]
START = np.array([0.0, 2.0])
_data = np.array([[0.1], [0.2], [2.2], [1.8]])


def f(x):
    m = GaussianHMM(2, covariance_type="diag", init_params="")
    m.startprob_ = np.array([0.5, 0.5])
    m.transmat_ = np.array([[0.9, 0.1], [0.1, 0.9]])
    m.means_ = x[:, None]
    m.covars_ = np.ones((2, 1))
    return m.score(_data)
