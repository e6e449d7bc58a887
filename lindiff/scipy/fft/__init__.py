"""``scipy.fft`` with derivatives: discrete Fourier, cosine and sine transforms.

On plain arrays the functions are SciPy's own.  What SciPy has besides is here, too, for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import fft
>>> ld.grad(lambda x: np.sum(np.abs(fft.rfft(x)) ** 2))(np.array([1.0, 2.0, 3.0])).round(6)
array([10., 14., 18.])
"""

import scipy.fft

from lindiff.scipy._rest import names_of, rest_of
from lindiff.scipy.fft.cosines_and_sines import dct, dctn, dst, dstn, idct, idctn, idst, idstn
from lindiff.scipy.fft.fourier import (
    fft,
    fft2,
    fftn,
    fftshift,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]

__getattr__ = rest_of(
    scipy.fft,
    dict.fromkeys(("fht", "ifht"), "write it with rfft, irfft and its coefficients, scipy.fft.fhtcoeff"),
)


__dir__ = names_of(scipy.fft, __all__)
