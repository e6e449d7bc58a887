"""``scipy.signal`` with derivatives: convolutions, analytic signals, and filters along one axis.

On plain arrays the functions are SciPy's own.  What SciPy has besides is here, too, for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import signal
>>> ld.grad(lambda b: np.sum(signal.lfilter(b, [1.0], np.ones(3)) ** 2))(np.array([1.0, 0.0]))
array([6., 4.])
"""

import scipy.signal

from lindiff.scipy._rest import names_of, rest_of
from lindiff.scipy.signal.analytic import hilbert
from lindiff.scipy.signal.both_ways import filtfilt, lfilter_zi, sosfilt_zi, sosfiltfilt
from lindiff.scipy.signal.convolutions import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)
from lindiff.scipy.signal.filters import detrend, lfilter, savgol_filter, sosfilt

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "hilbert",
    "lfilter",
    "lfilter_zi",
    "oaconvolve",
    "savgol_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
]

__getattr__ = rest_of(
    scipy.signal,
    {
        "hilbert2": "write it with np.fft.fft2",
        "resample": "write it with np.fft.rfft",
        "sepfir2d": "write it with convolve",
    },
)


__dir__ = names_of(scipy.signal, __all__)
