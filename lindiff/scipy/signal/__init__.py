"""``scipy.signal`` with derivatives: convolutions, and filters along one axis.

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
from lindiff.scipy.signal.convolutions import convolve, correlate, fftconvolve, oaconvolve
from lindiff.scipy.signal.filters import detrend, lfilter, savgol_filter, sosfilt

__all__ = [
    "convolve",
    "correlate",
    "detrend",
    "fftconvolve",
    "lfilter",
    "oaconvolve",
    "savgol_filter",
    "sosfilt",
]

__getattr__ = rest_of(
    scipy.signal,
    {
        "convolve2d": "write it with convolve, and np.pad for other boundaries",
        "correlate2d": "write it with correlate, and np.pad for other boundaries",
        "filtfilt": "filter with lfilter, reverse, and filter again",
        "hilbert": "write it with np.fft.fft",
        "resample": "write it with np.fft.rfft",
        "sepfir2d": "write it with convolve",
    },
)


__dir__ = names_of(scipy.signal, __all__)
